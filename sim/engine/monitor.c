#include "sim/engine/monitor.h"

#include "sim/base/memory.h"

#include <math.h>

/* Largest relative noise of a date: rounding in replay, 1e-12 in SimGrid, with some room. */
#define DATE_NOISE  1e-11
#define MAX_PERIODS 256     /* candidates looked at, in units of the base */
#define LOOKS       7       /* the stretch doubles at every look */
#define PROOF_DATES 4194304 /* kept at most for the proof; longer periods are sampled */

static int64_t round_up(int64_t n, int64_t base)
{
    return (n + base - 1) / base * base;
}

void psim_monitor_init(struct psim_monitor *monitor, int stages, int64_t base)
{
    const int64_t warm_up = round_up(4 * (int64_t)stages, base);
    const int64_t stretch = round_up(8, base);

    *monitor = (struct psim_monitor){
        .stages = stages,
        .base = base,
        .next_look = warm_up + stretch,
        .limit = (warm_up + stretch) << LOOKS,
        .opens = -1,
        .ends = -1,
    };
}

void psim_monitor_hurry(struct psim_monitor *monitor, int looks)
{
    monitor->limit = monitor->next_look << looks;
}

void psim_monitor_fix(struct psim_monitor *monitor, int64_t backwards)
{
    monitor->opens = 0;
    monitor->ends = backwards;
}

void psim_monitor_release(struct psim_monitor *monitor)
{
    psim_free(monitor->ends_s);
    psim_free(monitor->proof_s);
    monitor->ends_s = NULL;
    monitor->proof_s = NULL;
}

/* True when the intervals of the last `stretch` backwards repeat every `period`. */
static bool repeats(const struct psim_monitor *monitor, int64_t period, int64_t stretch)
{
    const double *end = monitor->ends_s + monitor->count - 1;
    const double noise = DATE_NOISE * *end;
    const double step_s = *end - end[-period];

    for (int64_t i = 1; i + period <= stretch; i++) {
        const double difference = fabs(end[-i] - end[-i - period] - step_s);

        if (!(difference <= noise))
            return false;
    }
    return true;
}

/* Looks for a period in the newer half of what was seen, and at least in one and a half updates;
 * 0 when there is none.  What is found here still has to be proved. */
static int64_t find_period(const struct psim_monitor *monitor)
{
    const int64_t half = monitor->count / 2, updates = monitor->base + monitor->base / 2;
    const int64_t stretch = half > updates ? half : updates;

    for (int64_t n = 1; n <= MAX_PERIODS && 3 * n * monitor->base <= 2 * stretch; n++) {
        if (repeats(monitor, n * monitor->base, stretch))
            return n * monitor->base;
    }
    return 0;
}

static bool remember(struct psim_monitor *monitor, double now_s)
{
    if (monitor->count == monitor->capacity) {
        const int64_t capacity = monitor->capacity == 0 ? 256 : 2 * monitor->capacity;
        double *ends_s = psim_realloc(monitor->ends_s, (size_t)capacity, sizeof *ends_s);

        if (ends_s == NULL)
            return false;
        monitor->ends_s = ends_s;
        monitor->capacity = capacity;
    }
    monitor->ends_s[monitor->count++] = now_s;
    return true;
}

/* Opens a window in which `period` has to prove itself. */
static bool begin_proof(struct psim_monitor *monitor, int64_t period)
{
    const int64_t per_stage = PROOF_DATES / (2 * (int64_t)monitor->stages);
    const double *end = monitor->ends_s + monitor->count - 1;
    int64_t dates;

    monitor->stride =
        per_stage > 0 && period > per_stage ? (period + per_stage - 1) / per_stage : 1;
    monitor->proof_room = period / monitor->stride + 1;
    dates = 2 * (int64_t)monitor->stages * monitor->proof_room;
    psim_free(monitor->proof_s);
    monitor->proof_s = psim_alloc((size_t)dates, sizeof *monitor->proof_s);
    if (monitor->proof_s == NULL)
        return false;
    for (int64_t i = 0; i < dates; i++)
        monitor->proof_s[i] = NAN;
    monitor->period = period;
    monitor->step_s = *end - end[-period];
    monitor->refuted = false;
    return true;
}

void psim_monitor_end(struct psim_monitor *monitor, int stage, bool backward, int64_t microbatch,
                      double now_s)
{
    const int64_t place = monitor->period > 0 ? microbatch % monitor->period : 0;
    double *date_s, difference;

    if (monitor->period == 0 || monitor->refuted || place % monitor->stride != 0)
        return;
    date_s = &monitor->proof_s[(2 * stage + (backward ? 1 : 0)) * monitor->proof_room +
                               place / monitor->stride];
    difference = fabs(now_s - *date_s - monitor->step_s);
    if (!isnan(*date_s) && !(difference <= DATE_NOISE * now_s))
        monitor->refuted = true;
    *date_s = now_s;
}

/* Opens the last window: no period was proved. */
static enum psim_monitor_event give_up(struct psim_monitor *monitor)
{
    monitor->period = 0;
    monitor->refuted = false;
    monitor->opens = monitor->count;
    monitor->ends = monitor->count + round_up(monitor->count, monitor->base);
    return PSIM_MONITOR_WINDOW_OPENS;
}

static enum psim_monitor_event look(struct psim_monitor *monitor)
{
    const int64_t period = find_period(monitor);
    const int64_t reach = 2 * (int64_t)monitor->stages;

    if (period == 0 && monitor->count >= monitor->limit)
        return give_up(monitor);
    if (period == 0) {
        monitor->next_look = 2 * monitor->count;
        return PSIM_MONITOR_GO_ON;
    }
    if (!begin_proof(monitor, period))
        return PSIM_MONITOR_FAILED;
    monitor->opens = monitor->count;
    monitor->ends = monitor->count + period + round_up(reach, period);
    return PSIM_MONITOR_WINDOW_OPENS;
}

enum psim_monitor_event psim_monitor_backward(struct psim_monitor *monitor, double now_s)
{
    if (!remember(monitor, now_s))
        return PSIM_MONITOR_FAILED;
    if (monitor->opens < 0)
        return monitor->count < monitor->next_look ? PSIM_MONITOR_GO_ON : look(monitor);
    if (monitor->refuted) {
        if (monitor->count >= monitor->limit)
            return give_up(monitor);
        monitor->refuted = false;
        monitor->period = 0;
        monitor->opens = monitor->ends = -1;
        monitor->next_look = 2 * monitor->count;
        return PSIM_MONITOR_GO_ON;
    }
    if (monitor->count < monitor->ends)
        return PSIM_MONITOR_GO_ON;
    monitor->steady = monitor->period > 0;
    return PSIM_MONITOR_WINDOW_ENDS;
}

#include "sim/engine/monitor.h"

#include "sim/base/memory.h"

#include <math.h>

/* Largest relative noise of a date: rounding in replay, 1e-12 in SimGrid, with some room. */
#define DATE_NOISE  1e-11
#define MAX_PERIODS 256 /* candidates looked at, in units of the base */
#define LOOKS       6   /* the stretch doubles at every look */

static int64_t round_up(int64_t n, int64_t base)
{
    return (n + base - 1) / base * base;
}

void psim_monitor_init(struct psim_monitor *monitor, int stages, int64_t base)
{
    const int64_t warm_up = round_up(4 * (int64_t)stages, base);
    const int64_t stretch = round_up(4 * (int64_t)stages + 8, base);

    *monitor = (struct psim_monitor){
        .base = base,
        .next_look = warm_up + (stretch > 2 * base ? stretch : 2 * base),
        .limit = (warm_up + stretch) << LOOKS,
        .opens = -1,
        .ends = -1,
    };
}

void psim_monitor_release(struct psim_monitor *monitor)
{
    psim_free(monitor->ends_s);
    monitor->ends_s = NULL;
}

/* True when the intervals of the last `stretch` backwards repeat every `period`. */
static bool repeats(const struct psim_monitor *monitor, int64_t period, int64_t stretch)
{
    const double *end = monitor->ends_s + monitor->count - 1;
    const double noise = DATE_NOISE * *end;
    const double step = *end - end[-period];

    for (int64_t i = 1; i + period <= stretch; i++) {
        const double difference = fabs(end[-i] - end[-i - period] - step);

        if (!(difference <= noise))
            return false;
    }
    return true;
}

/* Looks for a period in the newer half of what was seen; 0 when there is none. */
static int64_t find_period(const struct psim_monitor *monitor)
{
    const int64_t stretch = monitor->count / 2;

    for (int64_t n = 1; n <= MAX_PERIODS && 2 * n * monitor->base <= stretch; n++) {
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

enum psim_monitor_event psim_monitor_backward(struct psim_monitor *monitor, double now_s)
{
    int64_t period;

    if (!remember(monitor, now_s))
        return PSIM_MONITOR_FAILED;
    if (monitor->opens >= 0)
        return monitor->count == monitor->ends ? PSIM_MONITOR_WINDOW_ENDS : PSIM_MONITOR_GO_ON;
    if (monitor->count < monitor->next_look)
        return PSIM_MONITOR_GO_ON;
    period = find_period(monitor);
    if (period == 0 && monitor->count < monitor->limit) {
        monitor->next_look = 2 * monitor->count;
        return PSIM_MONITOR_GO_ON;
    }
    monitor->steady = period > 0;
    monitor->opens = monitor->count;
    monitor->ends =
        monitor->count + (period > 0 ? period : round_up(monitor->count, monitor->base));
    return PSIM_MONITOR_WINDOW_OPENS;
}

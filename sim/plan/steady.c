/* Replay with the steady middle of a flushed step counted instead of simulated. */
#include "sim/plan/steady.h"

#include "sim/base/memory.h"

#include <math.h>

#define DATE_NOISE 1e-11 /* of replay: rounding of sums */

/* Ends of forwards and backwards of all stages: [2 * stages][microbatches]. */
struct dates {
    double *ends_s;
    int64_t microbatches;
};

static void note_action(void *user, int stage, int slot, const struct psim_action *action,
                        double start_s, double end_s)
{
    struct dates *dates = user;

    (void)slot;
    (void)start_s;
    if (action->microbatch < 0 || action->microbatch >= dates->microbatches)
        return;
    if (action->passes & PSIM_FORWARD)
        dates->ends_s[2 * stage * dates->microbatches + action->microbatch] = end_s;
    if (action->passes & PSIM_BACKWARD)
        dates->ends_s[(2 * stage + 1) * dates->microbatches + action->microbatch] = end_s;
}

/* One period between neighbours in [from, to) of one row; NaN where there are several. */
static double period_of(const double *ends_s, int64_t from, int64_t to)
{
    const double period_s = ends_s[from + 1] - ends_s[from];

    for (int64_t n = from + 1; n + 1 < to; n++) {
        const double difference_s = fabs(ends_s[n + 1] - ends_s[n] - period_s);

        if (!(difference_s <= DATE_NOISE * ends_s[n + 1]))
            return NAN;
    }
    /* Over the whole stretch, for the least rounding. */
    return (ends_s[to - 1] - ends_s[from]) / (double)(to - 1 - from);
}

/* The period of all dates; NaN where there is none, or not one for all. */
static double common_period(const struct dates *dates, int stages)
{
    const int64_t from = stages + 1, all = dates->microbatches;
    double period_s = NAN;

    /* Forwards and backwards must take turns: where a phase of forwards goes before one of
     * backwards, a backward depends on as many micro-batches as there are. */
    for (int j = 0; j < stages; j++) {
        if (!(dates->ends_s[(2 * j + 1) * all + from] <=
              dates->ends_s[2 * j * all + from + stages + 1]))
            return NAN;
    }
    for (int row = 0; row < 2 * stages; row++) {
        /* The last backwards drain the pipeline: no forward is between them any more. */
        const int64_t to = row % 2 == 0 ? all : all - stages;
        const double one_s = period_of(&dates->ends_s[row * all], from, to);

        if (row == 0)
            period_s = one_s;
        if (!(fabs(one_s - period_s) <= DATE_NOISE * dates->ends_s[row * all + to - 1]))
            return NAN;
    }
    return period_s;
}

/* All counts and shares with `more` micro-batches of one period each in the middle. */
static void stretch(struct psim_simulation *out, int64_t fewer, int64_t more, double period_s)
{
    const double window_s = out->window_s + (double)more * period_s;
    const double microbatches = (double)(fewer + more);
    double busy = 0, exposed = 0;

    for (int j = 0; j < out->stage_count; j++) {
        struct psim_stage_result *stage = &out->stages[j];
        const double work_s = (double)more * (stage->forward_s + stage->backward_s);

        stage->busy_fraction = (stage->busy_fraction * out->window_s + work_s) / window_s;
        stage->demand_fraction = (stage->demand_fraction * out->window_s + work_s) / window_s;
        /* What is neither is waiting; its share in a period is that of the whole at most. */
        stage->exposed_fraction = NAN;
        busy += stage->busy_fraction;
        exposed += stage->exposed_fraction;
    }
    out->window_s = window_s;
    out->window_microbatches = fewer + more;
    out->time_per_microbatch_s = window_s / microbatches;
    out->time_per_update_s = window_s;
    out->utilisation_mean = busy / out->stage_count;
    out->bubble_fraction = 1 - out->utilisation_mean;
    out->exposed_communication_fraction = exposed / out->stage_count;
}

/* As many micro-batches as the proof needs. */
static int64_t proof_microbatches(int stages)
{
    return 4 * (int64_t)stages + 8;
}

static enum psim_status run(const struct psim_program *program,
                            const struct psim_observer *observer, struct psim_simulation *out,
                            struct psim_error *err)
{
    const int stages = program->shape.stages;
    const int64_t fewer = proof_microbatches(stages), all = program->shape.accumulation;
    const struct psim_observer watch = {.action = note_action};
    struct psim_observer watching = watch;
    struct dates dates = {.microbatches = fewer};
    struct psim_program shorter = *program;
    struct psim_simulation simulation;
    enum psim_status status;
    double period_s;

    if (!program->method->flushes || program->conditions != NULL || observer != NULL ||
        program->lanes > 1 || all < fewer + fewer / 4)
        return psim_engine_replay.run(program, observer, out, err);
    dates.ends_s = psim_alloc(2 * (size_t)stages * (size_t)fewer, sizeof *dates.ends_s);
    if (dates.ends_s == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, program->method->name, "out of memory");
    watching.user = &dates;
    psim_method_set_accumulation(program->method, fewer, &shorter.shape);
    status = psim_engine_replay.run(&shorter, &watching, &simulation, err);
    period_s = status == PSIM_OK ? common_period(&dates, stages) : NAN;
    psim_free(dates.ends_s);
    if (status != PSIM_OK)
        return status;
    if (isnan(period_s)) {
        psim_simulation_release(&simulation);
        return psim_engine_replay.run(program, observer, out, err);
    }
    stretch(&simulation, fewer, all - fewer, period_s);
    *out = simulation;
    return PSIM_OK;
}

const struct psim_engine psim_engine_steady = {
    .name = "replay",
    .summary = "replay, the steady middle of a flushed step counted",
    .run = run,
    .run_flows = psim_flows_replay,
    .needs_child = false,
};

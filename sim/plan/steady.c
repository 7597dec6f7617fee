/* Replay with the steady middle of a flushed step counted instead of simulated. */
#include "sim/plan/steady.h"

#include "sim/base/memory.h"

#include <math.h>

#define DATE_NOISE 1e-11 /* of replay: rounding of sums */
#define WORTH_IT   4     /* steps this much longer than the proof: one in vain costs a quarter */

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

/* What `cycle` micro-batches take in [from, to) of one row; NaN where that is not always the same.
 */
static double cycle_of(const double *ends_s, int64_t from, int64_t to, int64_t cycle)
{
    const double cycle_s = ends_s[from + cycle] - ends_s[from];

    for (int64_t n = from; n + cycle < to; n++) {
        const double difference_s = fabs(ends_s[n + cycle] - ends_s[n] - cycle_s);

        if (!(difference_s <= DATE_NOISE * ends_s[n + cycle]))
            return NAN;
    }
    return cycle_s;
}

/* What `cycle` micro-batches take at every stage, both ways; NaN where there is no such time. */
static double common_cycle(const struct dates *dates, int stages, int64_t cycle)
{
    const int64_t from = stages + 1, all = dates->microbatches;
    double cycle_s = NAN;

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
        const double one_s = cycle_of(&dates->ends_s[row * all], from, to, cycle);

        if (row == 0)
            cycle_s = one_s;
        if (!(fabs(one_s - cycle_s) <= DATE_NOISE * dates->ends_s[row * all + to - 1]))
            return NAN;
    }
    return cycle_s;
}

/* The shortest cycle of all dates, which becomes *cycle_s; 0 where there is none. */
static int64_t find_cycle(const struct dates *dates, int stages, double *cycle_s)
{
    for (int64_t cycle = 1; cycle <= stages; cycle++) {
        *cycle_s = common_cycle(dates, stages, cycle);
        if (!isnan(*cycle_s))
            return cycle;
    }
    return 0;
}

/* All counts and shares with `more` micro-batches in the middle that take `more_s`. */
static void stretch(struct psim_simulation *out, int64_t fewer, int64_t more, double more_s)
{
    const double window_s = out->window_s + more_s;
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

/* As many micro-batches as the proof needs: a cycle of one a stage at most, seen for as long as any
 * date depends on others, twice. */
static int64_t proof_microbatches(int stages)
{
    return 5 * (int64_t)stages + 8;
}

/* A run of a shorter step, the dates noted where `dates` is given. */
static enum psim_status run_shorter(const struct psim_program *program, int64_t microbatches,
                                    struct dates *dates, struct psim_simulation *out,
                                    struct psim_error *err)
{
    const struct psim_observer observer = {.user = dates, .action = note_action};
    struct psim_program shorter = *program;

    psim_method_set_accumulation(program->method, microbatches, &shorter.shape);
    return psim_engine_replay.run(&shorter, dates == NULL ? NULL : &observer, out, err);
}

/* The shorter step that differs from the whole one by full cycles, stretched to it. */
static enum psim_status run_stretched(const struct psim_program *program, int64_t cycle,
                                      double cycle_s, struct psim_simulation *simulation,
                                      struct psim_error *err)
{
    const int64_t all = program->shape.accumulation;
    const int64_t proof = proof_microbatches(program->shape.stages);
    const int64_t fewer = proof + (all - proof) % cycle;
    enum psim_status status = PSIM_OK;

    if (fewer != proof) {
        psim_simulation_release(simulation);
        status = run_shorter(program, fewer, NULL, simulation, err);
    }
    if (status == PSIM_OK)
        stretch(simulation, fewer, all - fewer, (double)((all - fewer) / cycle) * cycle_s);
    return status;
}

static enum psim_status run(const struct psim_program *program,
                            const struct psim_observer *observer, struct psim_simulation *out,
                            struct psim_error *err)
{
    const int stages = program->shape.stages;
    const int64_t proof = proof_microbatches(stages), all = program->shape.accumulation;
    struct dates dates = {.microbatches = proof};
    struct psim_simulation simulation = {0};
    enum psim_status status;
    double cycle_s = NAN;
    int64_t cycle;

    if (!program->method->flushes || program->conditions != NULL || observer != NULL ||
        program->lanes > 1 || all < WORTH_IT * proof)
        return psim_engine_replay.run(program, observer, out, err);
    dates.ends_s = psim_alloc(2 * (size_t)stages * (size_t)proof, sizeof *dates.ends_s);
    if (dates.ends_s == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, program->method->name, "out of memory");
    status = run_shorter(program, proof, &dates, &simulation, err);
    cycle = status == PSIM_OK ? find_cycle(&dates, stages, &cycle_s) : 0;
    psim_free(dates.ends_s);
    if (status == PSIM_OK && cycle > 0) {
        status = run_stretched(program, cycle, cycle_s, &simulation, err);
    } else if (status == PSIM_OK) {
        psim_simulation_release(&simulation);
        return psim_engine_replay.run(program, observer, out, err);
    }
    if (status == PSIM_OK)
        *out = simulation;
    return status;
}

const struct psim_engine psim_engine_steady = {
    .name = "replay",
    .summary = "replay, the steady middle of a flushed step counted",
    .run = run,
    .run_flows = psim_flows_replay,
    .needs_child = false,
};

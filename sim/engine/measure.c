/* What a run yields: the difference of counters over the window, and the memory peaks. */
#include "sim/base/memory.h"
#include "sim/engine/executor_parts.h"

#include <math.h>

struct psim_counters psim_executor_counters(const struct psim_executor *x, int stage, double now)
{
    const struct psim_stage_state *s = &x->stage[stage];
    struct psim_counters counters = s->total;

    if (s->running > 0)
        counters.busy_s += now - s->busy_since_s;
    if (s->exposed)
        counters.exposed_s += now - s->exposed_since_s;
    return counters;
}

/* Sums over stages: of what happened in the window, and of what a micro-batch takes. */
struct window {
    double seconds, microbatches; /* NaN where a failure ended the run */
    double busy_s, exposed_s;
    double units, flop, base_flop, bytes[2], streams[2];
};

/* Adds what one micro-batch takes at a stage: the mean of those that it completed in the window,
 * which need not be as many on all stages. */
static void measure_work(const struct psim_executor *x, int stage, struct window *w,
                         const struct psim_counters *now, const struct psim_counters *then)
{
    const double microbatches =
        x->failure >= 0 ? (double)NAN : (double)(now->backwards - then->backwards);

    w->units += (now->units - then->units) / microbatches;
    w->flop += (now->flop - then->flop) / microbatches;
    w->base_flop += psim_program_flop(x->program, stage, PSIM_FORWARD | PSIM_BACKWARD);
    for (int direction = 0; direction < 2; direction++) {
        const int hop = direction == 0 ? stage : stage - 1;
        const struct psim_hop *way = &x->program->hops[hop < 0 ? 0 : hop];

        if (hop < 0 || hop + 1 >= x->stages)
            continue;
        w->bytes[direction] += (double)(now->sent[direction] - then->sent[direction]) /
                               microbatches * (double)way->bytes[direction];
        w->streams[direction] += (double)way->bytes[0] / x->program->shape.streams;
    }
}

static void measure_stage(struct psim_executor *x, int stage, struct window *w,
                          struct psim_stage_result *out)
{
    const struct psim_stage_state *s = &x->stage[stage];
    const struct psim_counters now = psim_executor_counters(x, stage, x->end_s), *then = &s->opened;
    const double microbatches = (double)(now.backwards - then->backwards);
    const double busy_s = now.busy_s - then->busy_s, exposed_s = now.exposed_s - then->exposed_s;

    *out = (struct psim_stage_result){
        .forward_s = x->durations[stage][PSIM_FORWARD],
        .backward_s = (now.backward_work_s - then->backward_work_s) / microbatches,
        .update_s = x->durations[stage][PSIM_UPDATE],
        .busy_fraction = busy_s / w->seconds,
        .exposed_fraction = exposed_s / w->seconds,
        .demand_fraction = (now.demand_s - then->demand_s) / w->seconds,
        .staleness_microbatches = s->stale ? s->staleness_max : 0,
        .staleness_min_microbatches =
            s->stale && s->staleness_min != INT64_MAX ? s->staleness_min : 0,
        .parameter_versions = 1 + s->stashed_max,
        .held_microbatches = s->held_max,
        .carried_microbatches = s->carried_max,
        .carried_min_microbatches = s->carried_min == INT64_MAX ? 0 : s->carried_min,
    };
    w->busy_s += busy_s;
    w->exposed_s += exposed_s;
    measure_work(x, stage, w, &now, then);
    psim_account_finish(&x->account, stage, x->end_s, s->carried_max, 1 + s->stashed_max,
                        &out->memory);
}

/* Reconstruction and recompute over all other work: by FLOP, or by passes where the costs were
 * given and FLOP are not known. */
static double extra_work(const struct psim_executor *x, const struct window *w)
{
    if (x->program->workload->given)
        return w->units / (psim_passes_units(PSIM_FORWARD | PSIM_BACKWARD) * x->stages) - 1;
    return w->flop / w->base_flop - 1;
}

/* Micro-batches that the first stage has begun and that no update of it holds. */
static int64_t lost_microbatches(const struct psim_executor *x)
{
    const struct psim_stage_state *s = &x->stage[0];
    const int64_t per_update =
        x->program->method->updates_every_microbatch ? 1 : x->program->shape.accumulation;

    return s->forwards - s->version * per_update;
}

enum psim_status psim_executor_result(struct psim_executor *x, struct psim_simulation *out,
                                      struct psim_error *err)
{
    const struct psim_program *program = x->program;
    const bool flushes = program->method->flushes;
    struct psim_stage_result *stages;
    struct window w = {.seconds = x->end_s - x->open_s};
    const int64_t fixed = program->conditions == NULL ? 0 : program->conditions->updates;
    double all;

    if (x->failed)
        return psim_fail(err, PSIM_ERR_NOMEM, program->method->name,
                         "out of memory during the simulation");
    if (!x->done)
        psim_bug("the pipeline stopped before its end: a message or a step is missing");
    stages = psim_alloc((size_t)x->stages, sizeof *stages);
    if (stages == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, program->method->name, "out of memory");
    w.microbatches = flushes ? (double)(program->shape.accumulation * x->steps_done)
                             : (double)(x->monitor.ends - x->monitor.opens);
    if (x->failure >= 0)
        w.microbatches = NAN;
    for (int j = 0; j < x->stages; j++)
        measure_stage(x, j, &w, &stages[j]);
    all = w.seconds * x->stages;
    *out = (struct psim_simulation){
        .time_per_microbatch_s = w.seconds / w.microbatches,
        .window_s = w.seconds,
        .window_microbatches = x->failure >= 0 ? 0 : (int64_t)w.microbatches,
        .start_up_s = x->first_backward_s,
        .steady = flushes || x->monitor.steady || fixed > 0,
        .updates = fixed,
        .failure = x->failure,
        .failed_at_s = x->failure >= 0 ? x->end_s : NAN,
        .lost_s = x->failure >= 0 ? x->end_s - x->stage[0].updated_s : NAN,
        .updates_done = x->stage[0].version,
        .lost_microbatches = x->failure >= 0 ? lost_microbatches(x) : 0,
        .utilisation_mean = w.busy_s / all,
        .bubble_fraction = 1 - w.busy_s / all,
        .exposed_communication_fraction = w.exposed_s / all,
        .flop_per_microbatch = w.flop,
        .flop_extra_fraction = extra_work(x, &w),
        .flop_units = w.units,
        .bytes_forward_per_microbatch = w.bytes[0],
        .bytes_backward_per_microbatch = w.bytes[1],
        .communication_forward = w.streams[0] > 0 ? w.bytes[0] / w.streams[0] : 0,
        .communication_backward = w.streams[1] > 0 ? w.bytes[1] / w.streams[1] : 0,
        .operations = x->operations,
        .stage_count = x->stages,
        .stages = stages,
    };
    out->time_per_update_s = program->method->updates_every_microbatch
                                 ? out->time_per_microbatch_s
                                 : out->time_per_microbatch_s * (double)program->shape.accumulation;
    return PSIM_OK;
}

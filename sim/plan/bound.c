/* Bounds on time and memory: docs/model.md, eq. 33 to 38. */
#include "sim/plan/bound.h"

#include <math.h>

static double pass_seconds(const struct psim_stage *s, unsigned passes)
{
    const double backward_s = s->backward_input_s + s->backward_weight_s;
    double seconds = 0;

    seconds += passes & PSIM_FORWARD ? s->forward_s : 0;
    seconds += passes & PSIM_RECONSTRUCT ? s->reconstruct_s : 0;
    seconds += passes & PSIM_REFORWARD ? s->forward_s : 0;
    seconds += passes & PSIM_BACKWARD ? backward_s : 0;
    seconds += passes & PSIM_UPDATE ? s->update_s : 0;
    return seconds;
}

/* Eq. 33: the least time of a step of one or two actions. */
static double step_seconds(const struct psim_bound_input *input, int stage,
                           const struct psim_order_kind *kind)
{
    const double a = pass_seconds(&input->stages[stage], kind->passes[0]);
    const double b =
        kind->passes[1] == 0 ? 0 : pass_seconds(&input->stages[stage], kind->passes[1]);

    if (input->overlap == PSIM_OVERLAP_SHARED)
        return 2 * fmin(a, b) / (1 + input->gains[stage]) + fabs(a - b);
    return fmax(a, b);
}

/* Seconds of all counted steps of a stage; updates apart, and (may be NULL) of those from the first
 * step with a backward on. */
static double work_seconds(const struct psim_bound_input *input, int stage, double *updates_s,
                           double *after_s)
{
    const struct psim_order_stage *order = &input->order->stage[stage];
    double seconds = 0, after = 0;

    *updates_s = 0;
    for (int i = 0; i < order->kind_count; i++) {
        const struct psim_order_kind *kind = &order->kinds[i];
        const double one_s = step_seconds(input, stage, kind);
        const double all = (double)kind->count * one_s;

        if (kind->passes[0] == PSIM_UPDATE && kind->passes[1] == 0)
            *updates_s += all;
        else
            seconds += all;
        if (kind->passes[0] != PSIM_UPDATE)
            after += (double)kind->after * one_s;
    }
    if (after_s != NULL)
        *after_s = after;
    return seconds;
}

static double sync_seconds(const struct psim_bound_input *input, int stage)
{
    return input->sync_s == NULL ? 0 : input->sync_s[stage];
}

/*
 * Eq. 36: ways from a forward at `stage` down to another stage, there to the next backward, and
 * back up to a later forward.  The longest time of one per micro-batch that it advances; *all_s
 * (may be NULL) becomes the longest time of as many of them as a flushed step has.
 */
static double loops(const struct psim_bound_input *input, int stage, double round_trip_s,
                    double *all_s)
{
    const struct psim_order_stage *order = &input->order->stage[stage];
    double way_s = 0, per_microbatch_s = 0;

    if (all_s != NULL)
        *all_s = 0;
    for (int j = stage; j < input->order->stages; j++) {
        const struct psim_order_stage *end = &input->order->stage[j];
        const int64_t advances = order->held - end->low + 1;
        const int64_t room = input->accumulation - 1 - end->low_from;
        const int64_t later = input->accumulation - 1 - order->held;

        if (j > stage)
            way_s += input->hops[j - 1].forward_s + input->hops[j - 1].backward_s;
        way_s += input->stages[j].forward_s + pass_seconds(&input->stages[j], end->backward);
        if (advances < 1)
            continue;
        per_microbatch_s = fmax(per_microbatch_s, way_s / (double)advances);
        if (all_s != NULL && room > 0)
            *all_s = fmax(*all_s, way_s * (double)(room / advances));
        /* Begun with the micro-batch that the end of the first one lets in. */
        if (all_s != NULL && later >= 0 && order->held >= end->low_from)
            *all_s = fmax(*all_s, round_trip_s + way_s * (double)(later / advances));
    }
    return per_microbatch_s;
}

/* Eq. 34 and 36: an endless pipeline. */
static double endless(const struct psim_bound_input *input)
{
    const int stages = input->order->stages;
    double round_trip_s = 0, bound_s = 0;

    for (int j = stages - 1; j >= 0; j--) {
        const struct psim_order_stage *order = &input->order->stage[j];
        double updates_s, work_s = work_seconds(input, j, &updates_s, NULL);

        work_s += updates_s + (updates_s > 0 || order->backwards > 0 ? sync_seconds(input, j) : 0);
        bound_s = fmax(bound_s, work_s / (double)order->backwards);
        round_trip_s +=
            input->stages[j].forward_s + pass_seconds(&input->stages[j], order->backward);
        if (j + 1 < stages)
            round_trip_s += input->hops[j].forward_s + input->hops[j].backward_s;
        bound_s = fmax(bound_s, round_trip_s / (double)order->held);
        bound_s = fmax(bound_s, loops(input, j, 0, NULL));
    }
    return bound_s;
}

/* Eq. 36: when the last stage has ended all its forwards, where no backward comes before; else 0.
 */
static double turn_seconds(const struct psim_bound_input *input)
{
    const int stages = input->order->stages;
    const double microbatches = (double)input->accumulation;
    double first_s = 0, last_s = 0; /* of a stage's forwards: the start of the first, the end */

    const struct psim_order_stage *last = &input->order->stage[stages - 1];
    bool single = last->held >= input->accumulation;

    for (int i = 0; i < last->kind_count; i++)
        single = single && last->kinds[i].passes[1] == 0;
    if (!single)
        return 0;
    for (int j = 0; j < stages; j++) {
        const double forward_s = input->stages[j].forward_s;
        const double hop_s = j == 0 ? 0 : input->hops[j - 1].forward_s;

        first_s += j == 0 ? 0 : hop_s + input->stages[j - 1].forward_s;
        last_s = fmax(first_s + microbatches * forward_s, last_s + hop_s + forward_s);
    }
    return last_s;
}

/* Eq. 35 to 37: a flushed step, from the last stage to the first. */
static double flushed(const struct psim_bound_input *input)
{
    const int stages = input->order->stages;
    const double microbatches = (double)input->accumulation;
    const double turn_s = turn_seconds(input);
    double head_s = 0, round_trip_s = 0, end_s = 0, bound_s = 0, gradient_s = turn_s;

    for (int j = 0; j + 1 < stages; j++)
        head_s += input->stages[j].forward_s + input->hops[j].forward_s;
    for (int j = stages - 1; j >= 0; j--) {
        const struct psim_order_stage *order = &input->order->stage[j];
        const double backward_s = pass_seconds(&input->stages[j], order->backward);
        double updates_s, loops_s = 0;
        double after_s;
        const double work_s = work_seconds(input, j, &updates_s, &after_s);
        const double start_s = order->starts_forward ? head_s : 0;

        round_trip_s += input->stages[j].forward_s + backward_s;
        if (j + 1 < stages) {
            round_trip_s += input->hops[j].forward_s + input->hops[j].backward_s;
            end_s += input->hops[j].backward_s + backward_s;
            gradient_s += input->hops[j].backward_s;
        }
        if (turn_s > 0 && j + 1 == stages)
            end_s = turn_s + work_s - microbatches * input->stages[j].forward_s;
        if (turn_s > 0)
            end_s = fmax(end_s, gradient_s + after_s);
        gradient_s += backward_s; /* the first that the stage before can have */
        end_s = fmax(end_s, start_s + work_s);
        end_s = fmax(end_s, start_s + microbatches * round_trip_s / (double)order->held);
        (void)loops(input, j, round_trip_s, &loops_s);
        end_s = fmax(end_s, start_s + loops_s + round_trip_s);
        end_s = fmax(end_s, start_s + round_trip_s - backward_s + after_s);
        bound_s = fmax(bound_s, end_s + sync_seconds(input, j) + updates_s);
        if (j > 0)
            head_s -= input->stages[j - 1].forward_s + input->hops[j - 1].forward_s;
    }
    return bound_s / microbatches;
}

/* What the method takes on these stages where messages take no time, where that is known. */
static double closed_form(const struct psim_bound_input *input)
{
    struct psim_closed_form form = {.time_per_microbatch = NAN};

    for (int j = 0; j < input->order->stages; j++) {
        const struct psim_stage *s = &input->stages[j];

        input->times[j] =
            (struct psim_stage_times){.forward = s->forward_s,
                                      .reconstruct = s->reconstruct_s,
                                      .backward = s->backward_input_s + s->backward_weight_s,
                                      .update = s->update_s,
                                      .concurrency_gain = input->gains[j],
                                      .reversible = s->reversible};
    }
    input->method->closed_form(input->shape, input->times, &form);
    return form.time_per_microbatch;
}

double psim_bound_time(const struct psim_bound_input *input)
{
    const double bound_s = input->order->flushes ? flushed(input) : endless(input);

    /* Rounding of the sums must not lift the bound above what is simulated; fmax drops a NaN. */
    return (1 - 1e-9) * fmax(bound_s, closed_form(input));
}

/* ---- Memory: eq. 37 ---- */

static int64_t message(const struct psim_bound_input *input, int stage, bool back)
{
    const int64_t bytes = input->stages[stage].input_bytes;

    return back && input->sends_activation_back ? 2 * bytes : bytes;
}

static int64_t action_bytes(const struct psim_bound_input *input, int stage,
                            const struct psim_order_instant *instant)
{
    const struct psim_stage *s = &input->stages[stage];
    const bool next = stage + 1 < input->order->stages;
    const int64_t rebuilt = s->recompute_graph_bytes - s->graph_input_bytes;
    int64_t bytes = 0;

    if (instant->passes & PSIM_FORWARD) {
        bytes += s->input_bytes + (next ? message(input, stage + 1, false) : 0);
        bytes += instant->keep == PSIM_KEEP_GRAPH ? s->graph_bytes - s->graph_input_bytes
                                                  : s->forward_work_bytes;
    }
    if (instant->passes & PSIM_RECONSTRUCT)
        bytes += rebuilt;
    if (instant->passes & PSIM_BACKWARD)
        bytes += s->backward_work_bytes + (stage > 0 ? message(input, stage, true) : 0) +
                 (next ? message(input, stage + 1, true) : 0);
    return bytes + instant->graphs * s->graph_bytes + instant->inputs * s->input_bytes +
           instant->rebuilt * rebuilt + instant->versions * s->parameter_bytes;
}

static void stage_peaks(const struct psim_bound_input *input, int stage,
                        struct psim_memory_peak *out)
{
    const struct psim_stage *s = &input->stages[stage];
    const struct psim_order_stage *order = &input->order->stage[stage];
    const int64_t standing = s->parameter_bytes + s->buffer_bytes + s->gradient_bytes +
                             s->optimizer_bytes + s->workspace_bytes + s->context_bytes;

    *out = (struct psim_memory_peak){.bytes = standing};
    for (int i = 0; i < order->instant_count; i++) {
        const struct psim_order_instant *instant = &order->instants[i];
        const bool update = (instant->passes & PSIM_UPDATE) != 0;
        const int64_t bytes = standing + action_bytes(input, stage, instant) +
                              (update ? s->optimizer_transient_bytes : 0);

        if (update && bytes > out->update_bytes)
            out->update_bytes = bytes;
        /* A level that takes no time is no peak. */
        if (pass_seconds(s, instant->passes) > 0 && bytes > out->bytes)
            out->bytes = bytes;
    }
}

double psim_bound_memory(const struct psim_bound_input *input, int64_t *needed_bytes)
{
    double fill = 0;

    *needed_bytes = 0;
    for (int j = 0; j < input->order->stages; j++) {
        struct psim_memory_peak peak;
        struct psim_fit_stage fit;
        int64_t needed;

        stage_peaks(input, j, &peak);
        psim_fit_peak_judge(&input->stages[j], &peak, input->element_bytes, input->sends,
                            input->reserve, &fit);
        needed = fit.views[fit.worst].device_bytes;
        *needed_bytes = needed > *needed_bytes ? needed : *needed_bytes;
        fill = fmax(fill, (double)needed / (double)fit.capacity_bytes);
    }
    return fill;
}

/*
 * GPipe: all forwards of a step, then all backwards, the last micro-batch first, then a flush.
 *
 * With `recompute` a stage keeps only its input and evaluates its forward again before the
 * backward; that evaluation needs no gradient, so it does not wait for one.  "all_but_last" is
 * GPipe's own: the micro-batch whose forward ran last keeps its graph.
 *
 * Source: Huang et al., arXiv 1811.06965, section 2.3: bubble (J-1)/(M+J-1).
 */
#include "sim/method/common.h"

#include <math.h>
#include <stddef.h>

enum { RECOMPUTE_NONE, RECOMPUTE_ALL_BUT_LAST, RECOMPUTE_ALL };

static const char *const recompute_names[] = {"none", "all_but_last", "all", NULL};

static const struct psim_option recompute = {
    .name = "recompute",
    .kind = PSIM_OPTION_CHOICE,
    .choices = recompute_names,
    .fallback = RECOMPUTE_NONE,
    .help = "which micro-batches keep only their input and run their forward again: none, "
            "all_but_last (GPipe's own), all",
};

static const struct psim_option *const options[] = {&recompute, NULL};

/* Backwards that are preceded by a recompute step. */
static int64_t recomputes(const struct psim_shape *shape)
{
    switch (shape->options[0]) {
    case RECOMPUTE_ALL:
        return shape->accumulation;
    case RECOMPUTE_ALL_BUT_LAST:
        return shape->accumulation - 1;
    default:
        return 0;
    }
}

static bool step(const struct psim_shape *shape, int stage, int64_t index, struct psim_step *out)
{
    const int64_t m = shape->accumulation, kept = m - recomputes(shape);
    const int64_t back = index - m;

    (void)stage;
    if (back > 2 * m - kept)
        return false;
    if (back < 0)
        psim_step_single(out, index, PSIM_FORWARD);
    else if (back == 2 * m - kept)
        psim_step_single(out, -1, PSIM_UPDATE);
    else if (back < kept)
        psim_step_single(out, m - 1 - back, PSIM_BACKWARD);
    else
        psim_step_single(out, m - 1 - kept - (back - kept) / 2,
                         (back - kept) % 2 == 0 ? PSIM_RECONSTRUCT : PSIM_BACKWARD);
    return true;
}

static enum psim_keep keep(const struct psim_shape *shape, int stage, bool reversible,
                           int64_t microbatch)
{
    (void)stage, (void)reversible;
    return microbatch < recomputes(shape) ? PSIM_KEEP_INPUT : PSIM_KEEP_GRAPH;
}

/* Stages as a flow shop with identical jobs; exact on uneven stages (model.md eq. 8). */
static double step_time(const struct psim_shape *shape, const struct psim_stage_times *times)
{
    const double more = (double)shape->accumulation - 1;
    double forward = 0, slowest_forward = 0, backward = 0, slowest_backward = 0, end = 0;

    for (int j = 0; j < shape->stages; j++) {
        forward += times[j].forward;
        slowest_forward = fmax(slowest_forward, times[j].forward);
    }
    for (int j = shape->stages - 1; j >= 0; j--) {
        backward += times[j].backward;
        slowest_backward = fmax(slowest_backward, times[j].backward);
        end = fmax(end, backward + more * slowest_backward + times[j].update);
    }
    return forward + more * slowest_forward + end;
}

static void closed_form(const struct psim_shape *shape, const struct psim_stage_times *times,
                        struct psim_closed_form *out)
{
    const double m = (double)shape->accumulation, again = (double)recomputes(shape);
    double step_s = step_time(shape, times);

    if (again > 0)
        step_s = psim_times_uniform(shape, times) ? step_s + again * times[0].reconstruct : NAN;
    out->time_per_microbatch = step_s / m;
    out->flop_units = psim_closed_flop(shape, shape->stages * again / m);
    psim_closed_communication(shape, false, out);
    psim_closed_copies(out->activation_copies, shape->accumulation, again > 0 ? "inputs" : "FG");
    psim_closed_copies(out->parameter_copies, 1, "");
}

const struct psim_method psim_method_gpipe = {
    .name = "gpipe",
    .summary = "all forwards of a step, then all backwards, flush",
    .source = "arXiv:1811.06965 section 2.3",
    .options = options,
    .flushes = true,
    .step = step,
    .keep = keep,
    .stashes_parameters = psim_stashes_never,
    .closed_form = closed_form,
};

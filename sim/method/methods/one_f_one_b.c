/*
 * One-forward-one-backward with a flush (DAPPLE, PipeDream-flush).
 *
 * Stage j (from 0) first runs w = min(J - 1 - j, M) forwards, then alternates one forward with
 * one backward, then drains the w backwards that remain.  It holds at most min(J - j, M)
 * micro-batches, where GPipe holds M; the step takes as long.
 *
 * Source: Narayanan et al., SC '21, doi:10.1145/3458817.3476209, section 2.2.
 */
#include "sim/method/common.h"

#include <math.h>
#include <stddef.h>

static int64_t warm_up(const struct psim_shape *shape, int stage)
{
    const int64_t behind = (int64_t)shape->stages - 1 - stage;

    return behind < shape->accumulation ? behind : shape->accumulation;
}

static bool step(const struct psim_shape *shape, int stage, int64_t index, struct psim_step *out)
{
    const int64_t m = shape->accumulation, w = warm_up(shape, stage);
    const int64_t alternating = 2 * (m - w), i = index - w;

    if (index > 2 * m)
        return false;
    if (index == 2 * m)
        psim_step_single(out, -1, PSIM_UPDATE);
    else if (i < 0)
        psim_step_single(out, index, PSIM_FORWARD);
    else if (i < alternating && i % 2 == 0)
        psim_step_single(out, w + i / 2, PSIM_FORWARD);
    else
        psim_step_single(out, i < alternating ? i / 2 : m - w + (i - alternating), PSIM_BACKWARD);
    return true;
}

static void closed_form(const struct psim_shape *shape, const struct psim_stage_times *times,
                        struct psim_closed_form *out)
{
    const double m = (double)shape->accumulation, j = shape->stages;
    const int64_t held =
        warm_up(shape, 0) < shape->accumulation ? warm_up(shape, 0) + 1 : shape->accumulation;

    out->time_per_microbatch =
        psim_times_uniform(shape, times)
            ? ((m + j - 1) * (times[0].forward + times[0].backward) + times[0].update) / m
            : NAN;
    out->flop_units = psim_closed_flop(shape, 0);
    psim_closed_communication(shape, false, out);
    psim_closed_copies(out->activation_copies, held, "FG");
    psim_closed_copies(out->parameter_copies, 1, "");
}

const struct psim_method psim_method_one_f_one_b = {
    .name = "one_f_one_b",
    .summary = "alternates one forward and one backward; flushes every step",
    .source = "doi:10.1145/3458817.3476209 section 2.2",
    .flushes = true,
    .step = step,
    .keep = psim_keep_graph,
    .stashes_parameters = psim_stashes_never,
    .closed_form = closed_form,
};

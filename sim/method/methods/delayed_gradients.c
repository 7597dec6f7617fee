/*
 * Delayed gradients: all stages run forward and backward at once, on different micro-batches; a
 * stage keeps the whole graph, and the parameters, of every micro-batch in between.
 *
 * Source: PETRA, arXiv 2406.02052v1, Table 1, row "Delayed gradients": 2(J-j) graphs, 2(J-j)/k
 * parameter copies, time 2 (3 on equal stages, since the last one runs forward, loss and backward
 * in sequence).
 */
#include "sim/method/common.h"

#include <stddef.h>

static const struct psim_option *const options[] = {&psim_option_accumulation, &psim_option_overlap,
                                                    NULL};

static bool step(const struct psim_shape *shape, int stage, int64_t index, struct psim_step *out)
{
    return psim_rounds_step(shape, stage, index, PSIM_BACKWARD, out);
}

static bool stashes_parameters(const struct psim_shape *shape)
{
    (void)shape;
    return true;
}

static void closed_form(const struct psim_shape *shape, const struct psim_stage_times *times,
                        struct psim_closed_form *out)
{
    const int64_t delay = psim_rounds_delay(shape, 0);

    out->time_per_microbatch = psim_rounds_time(shape, times, 0);
    out->flop_units = psim_closed_flop(shape, 0);
    psim_closed_communication(shape, false, out);
    psim_closed_copies(out->activation_copies, delay, "FG");
    psim_closed_copies(out->parameter_copies, psim_rounds_versions(shape, true), "");
}

const struct psim_method psim_method_delayed_gradients = {
    .name = "delayed_gradients",
    .summary = "decoupled passes that keep graphs and parameters until the gradient comes",
    .source = "arXiv:2406.02052v1 Table 1",
    .options = options,
    .step = step,
    .keep = psim_keep_graph,
    .stashes_parameters = stashes_parameters,
    .overlap = psim_rounds_overlap,
    .closed_form = closed_form,
};

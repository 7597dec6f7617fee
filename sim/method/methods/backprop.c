/*
 * Backpropagation through a chain of devices: one micro-batch goes all the way forward, then all
 * the way back, before the next one starts; gradients of `accumulation` micro-batches are summed.
 * Only one device works at a time.
 *
 * Source: PETRA, arXiv 2406.02052v1, Table 1, row "Backpropagation": time 3J, FLOPs 3J, one graph.
 */
#include "sim/method/common.h"

static bool step(const struct psim_shape *shape, int stage, int64_t index, struct psim_step *out)
{
    (void)stage;
    return psim_chain_step(shape, index, PSIM_BACKWARD, out);
}

/* The chain is one resource: every stage's forward and backward in turn (model.md eq. 6). */
static void closed_form(const struct psim_shape *shape, const struct psim_stage_times *times,
                        struct psim_closed_form *out)
{
    out->time_per_microbatch =
        psim_times_sum(shape, times) +
        psim_times_update_tail(shape, times, false) / (double)shape->accumulation;
    out->flop_units = psim_closed_flop(shape, 0);
    psim_closed_communication(shape, false, out);
    psim_closed_copies(out->activation_copies, 1, "FG");
    psim_closed_copies(out->parameter_copies, 1, "");
}

const struct psim_method psim_method_backprop = {
    .name = "backprop",
    .summary = "one micro-batch at a time, forward through all stages, then back",
    .source = "arXiv:2406.02052v1 Table 1",
    .flushes = true,
    .step = step,
    .keep = psim_keep_graph,
    .stashes_parameters = psim_stashes_never,
    .closed_form = closed_form,
};

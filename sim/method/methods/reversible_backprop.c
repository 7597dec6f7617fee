/*
 * Backpropagation through a reversible net: as backprop, but a reversible stage keeps nothing
 * between its passes and rebuilds its input from its output; the other stages keep their input
 * and run their forward again.  The activation travels back with the gradient.
 *
 * Sources: RevNet, arXiv 1707.04585; PETRA, arXiv 2406.02052v1, Table 1: time 4J, FLOPs 4J (the
 * last stage is counted as rebuilding too), communication 2 forward and 4 backward.
 */
#include "sim/method/common.h"

static bool step(const struct psim_shape *shape, int stage, int64_t index, struct psim_step *out)
{
    (void)stage;
    return psim_chain_step(shape, index, PSIM_RECONSTRUCT | PSIM_BACKWARD, out);
}

static enum psim_keep keep(const struct psim_shape *shape, int stage, bool reversible,
                           int64_t microbatch)
{
    (void)shape, (void)stage, (void)microbatch;
    return reversible ? PSIM_KEEP_NOTHING : PSIM_KEEP_INPUT;
}

static void closed_form(const struct psim_shape *shape, const struct psim_stage_times *times,
                        struct psim_closed_form *out)
{
    double total = psim_times_sum(shape, times);

    for (int j = 0; j < shape->stages; j++)
        total += times[j].reconstruct;
    out->time_per_microbatch =
        total + psim_times_update_tail(shape, times, true) / (double)shape->accumulation;
    out->flop_units = psim_closed_flop(shape, shape->stages);
    psim_closed_communication(shape, true, out);
    psim_closed_copies(out->activation_copies, 0, "");
    psim_closed_copies(out->parameter_copies, 1, "");
}

const struct psim_method psim_method_reversible_backprop = {
    .name = "reversible_backprop",
    .summary = "backprop that rebuilds the inputs of reversible stages instead of keeping graphs",
    .source = "arXiv:1707.04585; arXiv:2406.02052v1 Table 1",
    .flushes = true,
    .sends_activation_back = true,
    .check = psim_check_reversible,
    .step = step,
    .keep = keep,
    .stashes_parameters = psim_stashes_never,
    .closed_form = closed_form,
};

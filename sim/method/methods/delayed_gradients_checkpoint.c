/*
 * Delayed gradients with checkpointing (DSP): a stage keeps only its inputs and evaluates its
 * forward again, with its current parameters, when the gradient comes.
 *
 * Sources: Diversely Stale Parameters, arXiv 1909.02625; PETRA, arXiv 2406.02052v1, Table 1, row
 * "Delayed gradients + checkpointing": 2(J-j) inputs, time 3.  With stash_parameters the forward's
 * parameters are kept too (the first row of PETRA's Table 3).
 */
#include "sim/method/common.h"

#include <stddef.h>

static const struct psim_option *const options[] = {&psim_option_accumulation, &psim_option_overlap,
                                                    &psim_option_stash_parameters, NULL};

static bool step(const struct psim_shape *shape, int stage, int64_t index, struct psim_step *out)
{
    return psim_rounds_step(shape, stage, index, PSIM_RECONSTRUCT | PSIM_BACKWARD, out);
}

static enum psim_keep keep(const struct psim_shape *shape, int stage, bool reversible,
                           int64_t microbatch)
{
    (void)reversible, (void)microbatch;
    return psim_rounds_keep(shape, stage, PSIM_KEEP_INPUT);
}

static void closed_form(const struct psim_shape *shape, const struct psim_stage_times *times,
                        struct psim_closed_form *out)
{
    const int64_t delay = psim_rounds_delay(shape, 0);

    out->time_per_microbatch = psim_rounds_time(shape, times, 1);
    out->flop_units = psim_closed_flop(shape, shape->stages - 1);
    psim_closed_communication(shape, false, out);
    psim_closed_copies(out->activation_copies, delay, "inputs");
    psim_closed_copies(out->parameter_copies,
                       psim_rounds_versions(shape, psim_rounds_stashes(shape)), "");
}

const struct psim_method psim_method_delayed_gradients_checkpoint = {
    .name = "delayed_gradients_checkpoint",
    .summary = "decoupled passes that keep inputs and recompute with current parameters (DSP)",
    .source = "arXiv:1909.02625; arXiv:2406.02052v1 Table 1",
    .options = options,
    .step = step,
    .keep = keep,
    .stashes_parameters = psim_rounds_stashes,
    .overlap = psim_rounds_overlap,
    .closed_form = closed_form,
    .paper_memory = true,
};

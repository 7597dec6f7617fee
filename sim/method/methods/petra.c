/*
 * PETRA: decoupled forward and backward passes on all stages at once, through a reversible net.
 * A reversible stage keeps nothing between its passes: the backward rebuilds the input from the
 * output that comes back with the gradient, with the stage's current parameters.  The other
 * stages buffer their inputs and recompute.
 *
 * `backward: fused` keeps the residual function's graph from the evaluation that inverts (paper,
 * section 4.2); `naive` inverts first and runs the forward again (the authors' public code).
 *
 * Source: PETRA, arXiv 2406.02052v1, eq. 5, Algorithm 1 and Table 1: time 3, one parameter copy,
 * communication 2 forward and 4 backward.
 */
#include "sim/method/common.h"

#include <stddef.h>

enum { OPTION_BACKWARD = 3 };
enum { BACKWARD_FUSED, BACKWARD_NAIVE };

static const char *const backward_names[] = {"fused", "naive", NULL};

static const struct psim_option backward_option = {
    .name = "backward",
    .kind = PSIM_OPTION_CHOICE,
    .choices = backward_names,
    .fallback = BACKWARD_FUSED,
    .help = "fused: one evaluation inverts and builds the graph; naive: invert, forward again, "
            "then backward",
};

static const struct psim_option *const options[] = {&psim_option_accumulation, &psim_option_overlap,
                                                    &psim_option_stash_parameters, &backward_option,
                                                    NULL};

static bool naive(const struct psim_shape *shape)
{
    return shape->options[OPTION_BACKWARD] == BACKWARD_NAIVE;
}

static bool reversible(const struct psim_shape *shape, int stage)
{
    return shape->reversible != NULL && shape->reversible[stage];
}

static bool step(const struct psim_shape *shape, int stage, int64_t index, struct psim_step *out)
{
    unsigned backward = PSIM_RECONSTRUCT | PSIM_BACKWARD;

    if (naive(shape) && reversible(shape, stage))
        backward |= PSIM_REFORWARD;
    return psim_rounds_step(shape, stage, index, backward, out);
}

static enum psim_keep keep(const struct psim_shape *shape, int stage, bool reversible_stage,
                           int64_t microbatch)
{
    (void)microbatch;
    return psim_rounds_keep(shape, stage, reversible_stage ? PSIM_KEEP_NOTHING : PSIM_KEEP_INPUT);
}

static void closed_form(const struct psim_shape *shape, const struct psim_stage_times *times,
                        struct psim_closed_form *out)
{
    double extra = shape->stages - 1;

    for (int j = 0; naive(shape) && j < shape->stages - 1; j++)
        extra += times[j].reversible ? 1 : 0;
    out->time_per_microbatch = psim_rounds_time(shape, times, naive(shape) ? 2 : 1);
    out->flop_units = psim_closed_flop(shape, extra);
    psim_closed_communication(shape, true, out);
    psim_closed_copies(out->activation_copies, 0, "");
    psim_closed_copies(out->parameter_copies,
                       psim_rounds_versions(shape, psim_rounds_stashes(shape)), "");
}

const struct psim_method psim_method_petra = {
    .name = "petra",
    .summary = "decoupled passes through a reversible net: no stored activations, one copy",
    .source = "arXiv:2406.02052v1 Algorithm 1, Table 1",
    .options = options,
    .sends_activation_back = true,
    .check = psim_check_reversible,
    .step = step,
    .keep = keep,
    .stashes_parameters = psim_rounds_stashes,
    .overlap = psim_rounds_overlap,
    .closed_form = closed_form,
    .paper_memory = true,
};

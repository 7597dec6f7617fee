/*
 * PipeDream: 1F1B without a flush.  After J - 1 - j forwards (stage j from 0) a stage alternates
 * one forward with one backward and updates after every backward.  The backward reads the
 * parameters that its forward read, so a stage stashes one version per micro-batch in flight.
 *
 * Source: Narayanan et al., SOSP '19, doi:10.1145/3341301.3359646, section 3; warm-up and versions
 * as in the authors' runtime (github.com/msr-fiddle/pipedream).
 */
#include "sim/method/common.h"

#include <math.h>

static bool step(const struct psim_shape *shape, int stage, int64_t index, struct psim_step *out)
{
    const int64_t w = (int64_t)shape->stages - 1 - stage, i = index - w;

    if (i < 0)
        psim_step_single(out, index, PSIM_FORWARD);
    else if (i % 3 == 0)
        psim_step_single(out, w + i / 3, PSIM_FORWARD);
    else if (i % 3 == 1)
        psim_step_single(out, i / 3, PSIM_BACKWARD);
    else
        psim_step_single(out, -1, PSIM_UPDATE);
    return true;
}

static bool stashes_parameters(const struct psim_shape *shape)
{
    (void)shape;
    return true;
}

static void closed_form(const struct psim_shape *shape, const struct psim_stage_times *times,
                        struct psim_closed_form *out)
{
    double slowest = 0;

    for (int j = 0; j < shape->stages; j++)
        slowest = fmax(slowest, times[j].forward + times[j].backward + times[j].update);
    out->time_per_microbatch = slowest;
    out->flop_units = psim_closed_flop(shape, 0);
    psim_closed_communication(shape, false, out);
    psim_closed_copies(out->activation_copies, shape->stages, "FG");
    psim_closed_copies(out->parameter_copies, shape->stages, "");
}

const struct psim_method psim_method_pipedream = {
    .name = "pipedream",
    .summary = "1F1B without flush, an update per micro-batch, stashed parameters",
    .source = "doi:10.1145/3341301.3359646 section 3",
    .updates_every_microbatch = true,
    .step = step,
    .keep = psim_keep_graph,
    .stashes_parameters = stashes_parameters,
    .closed_form = closed_form,
};

#include "sim/method/common.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>

static const char *const overlap_names[] = {"ideal", "shared", "serial", NULL};

const struct psim_option psim_option_accumulation = {
    .name = "accumulation",
    .kind = PSIM_OPTION_COUNT,
    .minimum = 1,
    .maximum = INT64_C(1) << 20,
    .fallback = PSIM_FROM_BATCH,
    .help = "micro-batches per optimizer step, averaged (default: the batch's)",
};

const struct psim_option psim_option_overlap = {
    .name = "overlap",
    .kind = PSIM_OPTION_CHOICE,
    .choices = overlap_names,
    .fallback = PSIM_OVERLAP_SHARED,
    .help = "how forward and backward of one round share the device: ideal (both at full speed), "
            "shared (each at (1+g)/2 while both run), serial (forward first)",
};

const struct psim_option psim_option_stash_parameters = {
    .name = "stash_parameters",
    .kind = PSIM_OPTION_BOOL,
    .fallback = 0,
    .help = "the backward reads the parameters that its micro-batch's forward read",
};

void psim_step_single(struct psim_step *out, int64_t microbatch, unsigned passes)
{
    out->count = 1;
    out->actions[0] = (struct psim_action){.microbatch = microbatch, .passes = passes};
}

double psim_times_sum(const struct psim_shape *shape, const struct psim_stage_times *times)
{
    double sum = 0;

    for (int j = 0; j < shape->stages; j++)
        sum += times[j].forward + times[j].backward;
    return sum;
}

double psim_times_update_tail(const struct psim_shape *shape, const struct psim_stage_times *times,
                              bool rebuilds)
{
    double left = 0, tail = 0;

    for (int j = 0; j < shape->stages; j++) {
        tail = fmax(tail, times[j].update - left);
        left += times[j].backward + (rebuilds ? times[j].reconstruct : 0);
    }
    return tail;
}

bool psim_chain_step(const struct psim_shape *shape, int64_t index, unsigned backward,
                     struct psim_step *out)
{
    if (index > 2 * shape->accumulation)
        return false;
    if (index == 2 * shape->accumulation)
        psim_step_single(out, -1, PSIM_UPDATE);
    else
        psim_step_single(out, index / 2, index % 2 == 0 ? (unsigned)PSIM_FORWARD : backward);
    return true;
}

bool psim_stashes_never(const struct psim_shape *shape)
{
    (void)shape;
    return false;
}

enum psim_keep psim_keep_graph(const struct psim_shape *shape, int stage, bool reversible,
                               int64_t microbatch)
{
    (void)shape, (void)stage, (void)reversible, (void)microbatch;
    return PSIM_KEEP_GRAPH;
}

static bool same(double a, double b)
{
    return fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b));
}

bool psim_times_uniform(const struct psim_shape *shape, const struct psim_stage_times *times)
{
    for (int j = 1; j < shape->stages; j++) {
        if (!same(times[j].forward, times[0].forward) ||
            !same(times[j].backward, times[0].backward) ||
            !same(times[j].reconstruct, times[0].reconstruct) ||
            !same(times[j].update, times[0].update))
            return false;
    }
    return true;
}

void psim_closed_communication(const struct psim_shape *shape, bool sends_activation_back,
                               struct psim_closed_form *out)
{
    const double streams = shape->streams;

    out->communication_forward = streams;
    out->communication_backward = sends_activation_back ? 2 * streams : streams;
}

double psim_closed_flop(const struct psim_shape *shape, double extra)
{
    return 3.0 * shape->stages + extra;
}

void psim_closed_copies(char text[24], int64_t count, const char *unit)
{
    snprintf(text, 24, count == 0 || unit[0] == '\0' ? "%" PRId64 : "%" PRId64 " %s", count, unit);
}

enum psim_status psim_check_reversible(const struct psim_shape *shape,
                                       const struct psim_network_traits *traits,
                                       struct psim_error *err)
{
    (void)shape;
    if (traits->reversible_blocks > 0)
        return PSIM_OK;
    return psim_fail(err, PSIM_ERR_MODEL, "model",
                     "the method rebuilds inputs by inversion, and no block of %s is reversible",
                     traits->name);
}

/*
 * The round rule of delayed gradients, DSP and PETRA.
 *
 * Each stage counts its own rounds; there is no global clock.  A half starts when its message has
 * arrived and both halves of the round before, and its update, are done: that is what a step of
 * psim_step means.  On equal stages this is the paper's tick (arXiv 2406.02052v1, Algorithm 1 and
 * eq. 5); on uneven ones it keeps the staleness at exactly 2 (J - j), where a forward that may run
 * ahead would grow it without bound.
 */
#include "sim/method/common.h"

#include <math.h>

enum { OPTION_ACCUMULATION, OPTION_OVERLAP, OPTION_STASH };

enum psim_overlap psim_rounds_overlap(const struct psim_shape *shape)
{
    return (enum psim_overlap)shape->options[OPTION_OVERLAP];
}

bool psim_rounds_stashes(const struct psim_shape *shape)
{
    return shape->options[OPTION_STASH] != 0;
}

enum psim_keep psim_rounds_keep(const struct psim_shape *shape, int stage, enum psim_keep otherwise)
{
    return stage == shape->stages - 1 ? PSIM_KEEP_GRAPH : otherwise;
}

int64_t psim_rounds_versions(const struct psim_shape *shape, bool stashed)
{
    const int64_t k = shape->options[OPTION_ACCUMULATION];

    return stashed ? 1 + (psim_rounds_delay(shape, 0) + k - 1) / k : 1;
}

int64_t psim_rounds_delay(const struct psim_shape *shape, int stage)
{
    return 2 * ((int64_t)shape->stages - 1 - stage);
}

bool psim_rounds_step(const struct psim_shape *shape, int stage, int64_t index, unsigned backward,
                      struct psim_step *out)
{
    const int64_t delay = psim_rounds_delay(shape, stage);
    const bool last = stage == shape->stages - 1;
    const bool serial = last || psim_rounds_overlap(shape) == PSIM_OVERLAP_SERIAL;
    const int64_t k = shape->options[OPTION_ACCUMULATION];
    const int64_t steps_per_round = serial ? 2 : 1;
    const int64_t cycle = k * steps_per_round + 1;
    int64_t within, round;

    if (index < delay) {
        psim_step_single(out, index, PSIM_FORWARD);
        return true;
    }
    within = (index - delay) % cycle;
    if (within == cycle - 1) {
        psim_step_single(out, -1, PSIM_UPDATE);
        return true;
    }
    round = delay + (index - delay) / cycle * k + within / steps_per_round;
    if (last)
        backward = PSIM_BACKWARD;
    if (!serial) {
        out->count = 2;
        out->actions[0] = (struct psim_action){.microbatch = round, .passes = PSIM_FORWARD};
        out->actions[1] = (struct psim_action){.microbatch = round - delay, .passes = backward};
    } else if (within % 2 == 0) {
        psim_step_single(out, round, PSIM_FORWARD);
    } else {
        psim_step_single(out, round - delay, backward);
    }
    return true;
}

/* R_j: what the backward half of a stage takes alone. */
static double backward_half(const struct psim_stage_times *t, int rebuild)
{
    double time = t->backward;

    if (rebuild > 0)
        time += t->reconstruct;
    if (rebuild > 1 && t->reversible)
        time += t->forward;
    return time;
}

double psim_rounds_time(const struct psim_shape *shape, const struct psim_stage_times *times,
                        int rebuild)
{
    const double k = (double)shape->options[OPTION_ACCUMULATION];
    const int last = shape->stages - 1;
    double slowest = times[last].forward + times[last].backward + times[last].update / k;

    for (int j = 0; j < last; j++) {
        const double f = times[j].forward, r = backward_half(&times[j], rebuild);
        double round = 0;

        switch (psim_rounds_overlap(shape)) {
        case PSIM_OVERLAP_IDEAL:
            round = fmax(f, r);
            break;
        case PSIM_OVERLAP_SERIAL:
            round = f + r;
            break;
        case PSIM_OVERLAP_SHARED:
            round = 2 * fmin(f, r) / (1 + times[j].concurrency_gain) + fabs(r - f);
            break;
        }
        slowest = fmax(slowest, round + times[j].update / k);
    }
    return slowest;
}

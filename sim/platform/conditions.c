#include "sim/platform/conditions.h"

#include <Random123/philox.h>
#include <math.h>

double psim_conditions_factor(const struct psim_conditions *conditions,
                              enum psim_condition_kind kind, int index, double at_s)
{
    double factor = 1;

    for (int i = 0; i < conditions->event_count; i++) {
        const struct psim_condition *e = &conditions->events[i];

        if (e->kind == kind && e->index == index && e->from_s <= at_s && at_s < e->until_s)
            factor *= e->factor;
    }
    return factor;
}

double psim_conditions_next_change(const struct psim_conditions *conditions,
                                   enum psim_condition_kind kind, double at_s)
{
    double next = INFINITY;

    for (int i = 0; i < conditions->event_count; i++) {
        const struct psim_condition *e = &conditions->events[i];

        if (e->kind != kind)
            continue;
        if (e->from_s > at_s)
            next = fmin(next, e->from_s);
        if (e->until_s > at_s)
            next = fmin(next, e->until_s);
    }
    return next;
}

/* In (0, 1): never the ends, whose logarithm is infinite. */
static double to_unit(uint64_t bits)
{
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

/* Philox 2x64 with 10 rounds (Salmon et al., SC '11, doi:10.1145/2063384.2063405), then the
 * Box-Muller transform; exp(sigma z - sigma^2 / 2) has mean 1. */
double psim_conditions_jitter(const struct psim_conditions *conditions, uint32_t stage,
                              int64_t microbatch, uint32_t what)
{
    const philox2x64_ctr_t counter = {{(uint64_t)microbatch, (uint64_t)stage << 32 | what}};
    const philox2x64_key_t key = {{conditions->seed}};
    const double sigma = conditions->jitter;
    philox2x64_ctr_t random;
    double z;

    if (!(sigma > 0))
        return 1;
    random = philox2x64(counter, key);
    z = sqrt(-2 * log(to_unit(random.v[0]))) *
        cos(2 * 3.14159265358979323846 * to_unit(random.v[1]));
    return exp(sigma * z - sigma * sigma / 2);
}

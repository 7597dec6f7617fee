#include "sim/platform/conditions.h"

#include "sim/base/random.h"

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

/* The Box-Muller transform; exp(sigma z - sigma^2 / 2) has mean 1. */
double psim_conditions_jitter(const struct psim_conditions *conditions, uint32_t stage,
                              int64_t microbatch, uint32_t what)
{
    const double sigma = conditions->jitter;
    uint64_t random[2];
    double z;

    if (!(sigma > 0))
        return 1;
    psim_random_bits(conditions->seed, (uint64_t)microbatch, (uint64_t)stage << 32 | what, random);
    z = sqrt(-2 * log(psim_random_unit(random[0]))) *
        cos(2 * 3.14159265358979323846 * psim_random_unit(random[1]));
    return exp(sigma * z - sigma * sigma / 2);
}

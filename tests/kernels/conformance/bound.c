/* Error bounds of sums, and the comparison. */
#include "tests/kernels/conformance/conformance.h"

#include <float.h>
#include <math.h>
#include <string.h>

double conf_gamma(double k, double unit)
{
    return k * unit < 1 ? k * unit / (1 - k * unit) : INFINITY;
}

double conf_product(double k, const struct conf_limits *limits)
{
    const double operands = (1 + limits->operand) * (1 + limits->operand);

    return operands * (1 + conf_gamma(k, limits->unit)) - 1;
}

void conf_set_bound(struct conf_array *array, size_t i, double bound)
{
    array->bound[i] = bound + FLT_MIN;
}

bool conf_agrees(double got, double want, double bound)
{
    if (isnan(want))
        return isnan(got);
    if (isinf(want))
        return got == want;
    return fabs(got - want) <= bound;
}

/* |got - exact| <= factor sum |a| |b|, |want - exact| <= unit |want|; the sum itself was rounded
 * by ref, hence its own factor.  Terms below the normal range may have been flushed to 0. */
enum psim_status conf_bound_sum(struct conf_run *run, struct conf_case *c, struct psim_error *err)
{
    const struct conf_limits *l = &run->limits;
    const double factor = c->product ? conf_product(c->terms, l) : conf_gamma(c->terms, l->unit);
    enum psim_status status = conf_run_ref(run, c, true, err);

    if (status != PSIM_OK)
        return status;
    for (int i = 0; i < c->array_count; i++)
        for (size_t e = 0; c->arrays[i].kind == CONF_FLOAT && e < c->arrays[i].count; e++) {
            const double sum = ((const float *)c->arrays[i].want)[e];

            c->arrays[i].bound[e] = factor * sum * (1 + 2 * l->unit) + c->terms * FLT_MIN;
        }
    if (run->winograd)
        conf_bound_winograd(c, l);
    status = conf_run_ref(run, c, false, err);
    for (int i = 0; status == PSIM_OK && i < c->array_count; i++)
        for (size_t e = 0; c->arrays[i].kind == CONF_FLOAT && e < c->arrays[i].count; e++)
            c->arrays[i].bound[e] += l->unit * fabs(((const float *)c->arrays[i].want)[e]);
    return status;
}

#include "sim/platform/parameter.h"

#include <math.h>
#include <string.h>

struct psim_values psim_values_default(const struct psim_parameter *parameters)
{
    struct psim_values values = {.at = {{.given = false}}};

    for (int i = 0; parameters[i].name != NULL; i++) {
        PSIM_ASSERT(i < PSIM_PARAMETER_LIMIT);
        values.at[i].flag = parameters[i].fallback;
    }
    return values;
}

struct psim_value *psim_values_give(const struct psim_parameter *parameters,
                                    struct psim_values *values, const char *name)
{
    int i = 0;

    while (parameters[i].name != NULL && strcmp(parameters[i].name, name) != 0)
        i++;
    PSIM_ASSERT(parameters[i].name != NULL);
    values->at[i].given = true;
    return &values->at[i];
}

static enum psim_status out_of_range(const char *name, int value, int minimum, int maximum,
                                     struct psim_error *err)
{
    return psim_fail(err, PSIM_ERR_RANGE, name, "must be in [%d, %d], not %d", minimum, maximum,
                     value);
}

static enum psim_status check_items(const struct psim_parameter *p, const struct psim_value *value,
                                    struct psim_error *err)
{
    const bool edges = p->kind == PSIM_PARAMETER_EDGES;
    const int limit = edges ? 3 * PSIM_EDGES_LIMIT : PSIM_COUNTS_LIMIT;

    if (value->item_count < 1 || value->item_count > limit || (edges && value->item_count % 3 != 0))
        return psim_fail(err, PSIM_ERR_RANGE, p->name, "must have 1 to %d elements",
                         edges ? PSIM_EDGES_LIMIT : limit);
    for (int i = 0; i < value->item_count; i++) {
        const bool multiplicity = edges && i % 3 == 2;
        const int minimum = multiplicity ? 1 : p->minimum;
        const int maximum = multiplicity ? PSIM_EDGE_COUNT_LIMIT : p->maximum;

        if (value->items[i] < minimum || value->items[i] > maximum)
            return out_of_range(p->name, value->items[i], minimum, maximum, err);
    }
    return PSIM_OK;
}

static enum psim_status check_value(const struct psim_parameter *p, const struct psim_value *value,
                                    struct psim_error *err)
{
    switch (p->kind) {
    case PSIM_PARAMETER_BANDWIDTH:
        if (!(value->number > 0.0) || isinf(value->number))
            return psim_fail(err, PSIM_ERR_RANGE, p->name, "must be positive and finite, not %g",
                             value->number);
        return PSIM_OK;
    case PSIM_PARAMETER_LATENCY:
        if (!(value->number >= 0.0) || isinf(value->number))
            return psim_fail(err, PSIM_ERR_RANGE, p->name,
                             "must be finite and not negative, not %g", value->number);
        return PSIM_OK;
    case PSIM_PARAMETER_COUNT:
        if (value->count < p->minimum || value->count > p->maximum)
            return out_of_range(p->name, value->count, p->minimum, p->maximum, err);
        return PSIM_OK;
    case PSIM_PARAMETER_COUNTS:
    case PSIM_PARAMETER_EDGES:
        return check_items(p, value, err);
    case PSIM_PARAMETER_BOOL:
        break;
    }
    return PSIM_OK;
}

enum psim_status psim_values_check(const struct psim_parameter *parameters,
                                   const struct psim_values *values, struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int i = 0; status == PSIM_OK && parameters[i].name != NULL; i++) {
        if (values->at[i].given)
            status = check_value(&parameters[i], &values->at[i], err);
        else if (parameters[i].required)
            status = psim_fail(err, PSIM_ERR_SCHEMA, parameters[i].name, "must be given");
    }
    return status;
}

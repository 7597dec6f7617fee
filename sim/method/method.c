#include "sim/method/method.h"

#include <stddef.h>
#include <string.h>

const struct psim_method *psim_method_find(const char *name)
{
    for (size_t i = 0; psim_method_table[i] != NULL; i++) {
        if (strcmp(psim_method_table[i]->name, name) == 0)
            return psim_method_table[i];
    }
    return NULL;
}

void psim_method_defaults(const struct psim_method *method, int64_t accumulation,
                          struct psim_shape *shape)
{
    shape->accumulation = accumulation;
    for (size_t i = 0; method->options != NULL && method->options[i] != NULL; i++)
        shape->options[i] = method->options[i]->fallback == PSIM_FROM_BATCH
                                ? accumulation
                                : method->options[i]->fallback;
}

void psim_method_set_accumulation(const struct psim_method *method, int64_t accumulation,
                                  struct psim_shape *shape)
{
    shape->accumulation = accumulation;
    for (size_t i = 0; method->options != NULL && method->options[i] != NULL; i++) {
        if (strcmp(method->options[i]->name, "accumulation") == 0)
            shape->options[i] = accumulation;
    }
}

int64_t psim_method_option(const struct psim_method *method, const struct psim_shape *shape,
                           const char *name)
{
    for (size_t i = 0; method->options != NULL && method->options[i] != NULL; i++) {
        if (strcmp(method->options[i]->name, name) == 0)
            return shape->options[i];
    }
    psim_bug("a method asked for an option that it does not have");
}

#include "sim/collective/collective.h"

#include <stddef.h>
#include <string.h>

const char *const psim_collective_kind_names[] = {"all_reduce", "reduce_scatter", "all_gather",
                                                  "broadcast", NULL};

const struct psim_collective *psim_collective_find(const char *name)
{
    for (size_t i = 0; psim_collective_table[i] != NULL; i++) {
        if (strcmp(psim_collective_table[i]->name, name) == 0)
            return psim_collective_table[i];
    }
    return NULL;
}

double psim_collective_bus_factor(enum psim_collective_kind kind, int ranks)
{
    const double n = ranks;

    switch (kind) {
    case PSIM_ALL_REDUCE:
        return 2 * (n - 1) / n;
    case PSIM_REDUCE_SCATTER:
    case PSIM_ALL_GATHER:
        return (n - 1) / n;
    default:
        return 1;
    }
}

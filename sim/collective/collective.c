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

int psim_group_ranks_per_node(const struct psim_group *group)
{
    int per_node = 1;

    if (group->node == NULL)
        return group->ranks;
    while (per_node < group->ranks && group->node[per_node] == group->node[0])
        per_node++;
    return per_node;
}

bool psim_group_is_even(const struct psim_group *group)
{
    const int per_node = psim_group_ranks_per_node(group);

    for (int r = 1; group->node != NULL && r < group->ranks; r++) {
        const bool same = group->node[r] == group->node[r - 1];

        if (same != (r % per_node != 0))
            return false;
    }
    return group->ranks % per_node == 0;
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

#include "sim/engine/engine.h"

#include <stddef.h>
#include <string.h>

const struct psim_engine *psim_engine_find(const char *name)
{
    static const struct psim_engine *const engines[] = {&psim_engine_simgrid, &psim_engine_replay};

    for (size_t i = 0; i < sizeof engines / sizeof engines[0]; i++) {
        if (strcmp(engines[i]->name, name) == 0)
            return engines[i];
    }
    return NULL;
}

/**
 * @file sim/config/name_set.h
 * Names with a number each, found in constant time: for duplicates and references in large files.
 *
 * Start from PSIM_NAME_SET_INIT.  Names are borrowed and must outlive the set.
 */
#ifndef PSIM_CONFIG_NAME_SET_H
#define PSIM_CONFIG_NAME_SET_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct psim_name_entry {
    const char *name; /**< NULL: free */
    int value;
};

struct psim_name_set {
    struct psim_name_entry *slots;
    size_t capacity; /**< 0 or a power of two */
    size_t count;
};

#define PSIM_NAME_SET_INIT                                                                         \
    {                                                                                              \
        NULL, 0, 0                                                                                 \
    }

/** The entry of a name, NULL when there is none. */
const struct psim_name_entry *psim_name_set_find(const struct psim_name_set *set, const char *name);

/** Adds a name that is not in the set.  @return PSIM_OK or PSIM_ERR_NOMEM */
enum psim_status psim_name_set_add(struct psim_name_set *set, const char *name,
                                   int value) PSIM_CHECKED;

void psim_name_set_release(struct psim_name_set *set);

#endif

/**
 * @file sim/import/name_index.h
 * Names of an import and what they stand for: filled, sorted once, then asked.
 *
 * Private to sim/import.  Names are borrowed.
 */
#ifndef PSIM_IMPORT_NAME_INDEX_H
#define PSIM_IMPORT_NAME_INDEX_H

#include "sim/import/job.h"

struct psim_index_entry {
    const char *name;
    int value;
    struct psim_place at;
};

struct psim_name_index {
    struct psim_index_entry *items;
    size_t count, capacity;
};

void psim_index_add(struct psim_import_job *job, struct psim_name_index *index, const char *name,
                    int value, struct psim_place at);

/** Sorts, and reports every name that was added before, with `rule` as the reason. */
void psim_index_sort(struct psim_import_job *job, struct psim_name_index *index, const char *rule);

/** The value of a name; -1 when there is none, which is reported with the nearest. */
int psim_index_find(struct psim_import_job *job, const struct psim_name_index *index,
                    const char *name, struct psim_place at, const char *what);

#endif

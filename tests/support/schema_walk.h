/**
 * @file tests/support/schema_walk.h
 * Goes through a valid file beside its schema and asks the reader about every place.
 *
 * The reader names the keys, words and ranges that it knows when it is given a wrong one; the walk
 * gives it one at every place and holds the answer against the schema.  The files that the document
 * names must lie in the working folder, in which changed.json is written.
 */
#ifndef PSIM_TESTS_SUPPORT_SCHEMA_WALK_H
#define PSIM_TESTS_SUPPORT_SCHEMA_WALK_H

#include "tests/support/schema_parts.h"

/** What several walks have in common; the caller sets the first three. */
struct test_schema_walk {
    const struct test_schemas *schemas;
    bool read;    /**< by a reader, which is asked; else every key of the schema must be there */
    json_t *met;  /**< an object: the parts of schemas that were met, and their keys */
    json_t *root; /**< the document, changed for a moment and restored */
    const char *file;
    int faults;
    char first_fault[512];
};

/** Holds a document against the schema that it names; what differs is counted in `faults`.
 *  @param[in] file  what the first fault is told with */
void test_schema_walk(struct test_schema_walk *walk, const char *file, json_t *root);

/** Counts the objects of a schema and their keys that no walk has met, and prints the keys. */
int test_schema_count_unmet(const json_t *met, const json_t *schema);

#endif

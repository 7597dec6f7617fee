/**
 * @file sim/config/key_path.h
 * Paths such as ".conditions.speed["node0.gpu3"]" that name a place in a JSON document, and putting
 * a value there.
 *
 * Private to sim/config.
 */
#ifndef PSIM_CONFIG_KEY_PATH_H
#define PSIM_CONFIG_KEY_PATH_H

#include "sim/config/reader.h"

#define PSIM_KEY_PATH_STEPS 16

struct psim_key_step {
    const char *key; /**< NULL: an index */
    int index;
};

struct psim_key_path {
    struct psim_key_step steps[PSIM_KEY_PATH_STEPS];
    int count;
};

/** Reads a path; the dot before the first key may be left out.
 *  @return false when it is none; NULL keys never come out of it */
bool psim_key_path_read(const char *text, struct psim_arena *arena, struct psim_key_path *out);

/** Appends the path as faults name it: ".batch.microbatch", ".speed[\"node0.gpu3\"]". */
void psim_key_path_write(const struct psim_key_path *path, struct psim_text *out);

/** A copy of a value with all that it holds, told from `document`; NULL when memory is out. */
struct psim_node *psim_node_copy(const struct psim_node *node, const struct psim_json *document,
                                 struct psim_arena *arena);

/**
 * Puts a copy of a value at a path of a document that the reader opened and nobody has read yet.
 * Objects on the way that are not there are made; elements of lists must be there.  A fault is
 * reported at the value.
 */
void psim_node_put(struct psim_reader *reader, const struct psim_node *root,
                   const struct psim_key_path *path, const struct psim_node *value);

/** Appends a value as compact JSON, numbers as they were written. */
void psim_node_write(const struct psim_node *node, struct psim_text *out);

#endif

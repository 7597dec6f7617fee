/**
 * @file sim/config/json_text.h
 * A JSON text as a tree of nodes that know where they stand in it.
 *
 * Called by the readers of this folder.  Jansson decodes the values but drops their places and
 * silently keeps the last of two equal keys; so the text is scanned here first, which gives every
 * key and value its line and column and every syntax error a place and a reason, and the values
 * are then filled in from what Jansson read.  A document owns its nodes and texts.
 *
 * Does not know: files, formats, what a key means.
 */
#ifndef PSIM_CONFIG_JSON_TEXT_H
#define PSIM_CONFIG_JSON_TEXT_H

#include "sim/base/diagnostics.h"
#include "sim/base/memory.h"
#include "sim/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PSIM_JSON_DEPTH  128     /* levels of nesting; no format needs more than ten */
#define PSIM_JSON_VALUES 2097152 /* a model of 65536 stages with every key has half of it */

enum psim_node_type {
    PSIM_NODE_NULL,
    PSIM_NODE_BOOL,
    PSIM_NODE_INTEGER,
    PSIM_NODE_REAL,
    PSIM_NODE_STRING,
    PSIM_NODE_ARRAY,
    PSIM_NODE_OBJECT,
};

struct psim_json;

/** A value, with its key where it is a member of an object. */
struct psim_node {
    enum psim_node_type type;
    int line, column;         /**< of the value, from 1, in characters */
    int key_line, key_column; /**< of the key; 0 outside objects */
    int index;                /**< in the array or object that holds it */
    const struct psim_json *document;
    const struct psim_node *parent;
    struct psim_node *next;  /**< the next element or member, NULL after the last */
    struct psim_node *first; /**< of an array or object */
    int count;               /**< elements or members */
    const char *key;         /**< decoded; NULL outside objects */
    const char *key_token;   /**< the key as written, in its quotes */
    size_t key_token_length;
    const char *token;   /**< where the value starts in the text */
    size_t token_length; /**< of a scalar */
    union {
        bool boolean;
        int64_t integer;
        double real;
        const char *string; /**< decoded, zero-terminated, without zeros inside */
    } value;
};

struct psim_json {
    struct psim_arena arena;
    const char *name; /**< the file, as messages name it; borrowed */
    const char *text; /**< borrowed until psim_json_parse returns */
    size_t length;
    struct psim_node *root;
};

/**
 * Parses one JSON text of any type.
 *
 * @param[in]     text  need not be zero-terminated; must outlive the document
 * @param[in]     name  file name for messages; must outlive the document
 * @param[out]    out   untouched on failure; released with psim_json_release
 * @param[in,out] list  receives the error, and one error for every duplicate key, which alone is
 *                      no failure: the last of two equal keys counts, so that reading can go on
 * @return PSIM_OK; PSIM_ERR_SYNTAX; PSIM_ERR_RANGE when it is nested too deeply or has too many
 *         values; PSIM_ERR_NOMEM
 */
enum psim_status psim_json_parse(const char *text, size_t length, const char *name,
                                 struct psim_json *out, struct psim_diagnostics *list) PSIM_CHECKED;
void psim_json_release(struct psim_json *document);

/** The member of that key, NULL when there is none or `object` is not an object. */
const struct psim_node *psim_node_member(const struct psim_node *object, const char *key);

/** The element of that index, which the array has. */
const struct psim_node *psim_node_element(const struct psim_node *array, int index);

/** The value that a JSON pointer (RFC 6901) such as "/peak/bf16" names; NULL when none does. */
const struct psim_node *psim_node_at_pointer(const struct psim_node *root, const char *pointer);

struct psim_position psim_node_position(const struct psim_node *node);
struct psim_position psim_node_key_position(const struct psim_node *node);

/** ".links[2].bandwidth", "" for the root; in the arena; NULL when memory is out. */
const char *psim_node_path(const struct psim_node *node, struct psim_arena *arena);

/** Appends one step of a path: ".key", "[\"a key\"]", or "[index]" where the key is NULL. */
void psim_node_step_write(const char *key, int index, struct psim_text *out);

/**
 * What a value is, for messages: `the string "abc"`, `the number 80`, `an object`.
 * @param[out] out  at least PSIM_FOUND_BYTES
 */
#define PSIM_FOUND_BYTES 280
void psim_node_describe(const struct psim_node *node, char *out);

#endif

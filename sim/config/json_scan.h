/**
 * @file sim/config/json_scan.h
 * The grammar of JSON (RFC 8259) over a text, with the place of every key and value.
 *
 * Called by json_text.c only.  What it accepts is well-formed JSON, but for bytes that are not
 * UTF-8 and numbers too large to be represented: those Jansson refuses when it decodes.
 */
#ifndef PSIM_CONFIG_JSON_SCAN_H
#define PSIM_CONFIG_JSON_SCAN_H

#include "sim/config/json_text.h"

/**
 * Builds the tree of nodes of document->text in document->arena: types, places, tokens, and
 * booleans' values.  Keys, strings and numbers are not decoded.
 *
 * @return PSIM_OK with document->root set; else the status of the one error added to the list
 */
enum psim_status psim_scan(struct psim_json *document, struct psim_diagnostics *list) PSIM_CHECKED;

/** The place of a byte of the text, as line and column. */
struct psim_position psim_scan_position(const struct psim_json *document, size_t offset);

#endif

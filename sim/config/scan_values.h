/**
 * @file sim/config/scan_values.h
 * The values of one axis written as a text: a range, or a list for the command line.
 *
 * Private to sim/config.
 */
#ifndef PSIM_CONFIG_SCAN_VALUES_H
#define PSIM_CONFIG_SCAN_VALUES_H

#include "sim/base/text.h"

#include <stdbool.h>

/** True for FROM:TO, FROM:TO:*FACTOR and FROM:TO:+STEP, a unit behind it or not. */
bool psim_text_is_range(const char *text);

/**
 * Appends the values of a range as a JSON list: both ends are in it where the steps meet the
 * upper one.  Whole numbers stay whole; with a unit the values are texts, "8 ms".
 * @return NULL, or what is wrong with it
 */
const char *psim_range_write(const char *text, struct psim_text *out);

/**
 * Appends the values of a list "a,b,c" as a JSON list: what is JSON stays as it is, anything else
 * is a text.  Commas inside brackets and quotes do not separate.
 * @return NULL, or what is wrong with it
 */
const char *psim_list_write(const char *text, struct psim_text *out);

#endif

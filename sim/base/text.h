/**
 * @file sim/base/text.h
 * A growable text buffer, and the nearest name to a misspelt one.
 *
 * A buffer that ran out of memory stays failed (`failed` is true, further
 * appends do nothing), so a writer checks once at the end.
 */
#ifndef PSIM_BASE_TEXT_H
#define PSIM_BASE_TEXT_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>

struct psim_text {
    char *data; /**< zero-terminated once anything was appended; NULL before */
    size_t length, capacity;
    bool failed;
};

#define PSIM_TEXT_INIT                                                                             \
    {                                                                                              \
        NULL, 0, 0, false                                                                          \
    }

void psim_text_append(struct psim_text *text, const char *bytes, size_t length);
void psim_text_printf(struct psim_text *text, const char *format, ...) PSIM_PRINTF(2, 3);
void psim_text_release(struct psim_text *text);

/** Appends UTF-8 text as a JSON string, quotes included. */
void psim_text_json(struct psim_text *out, const char *text);

#define PSIM_QUOTED_CHARACTERS 40
#define PSIM_QUOTED_BYTES      (6 * PSIM_QUOTED_CHARACTERS + 8)

/**
 * Writes UTF-8 text in double quotes on one line, for messages: control characters, quotes and
 * backslashes escaped as in JSON, cut with "..." after PSIM_QUOTED_CHARACTERS.
 * @param[out] out  at least PSIM_QUOTED_BYTES
 */
void psim_text_quote(const char *text, char *out);

/**
 * The candidate with the smallest edit distance to `name` (case is ignored), or NULL when none
 * is near enough to be meant: distance at most max(1, length / 3), or one is a prefix of the
 * other with at least three letters.
 */
const char *psim_nearest_name(const char *name, const char *const *candidates, size_t count);

#endif

/**
 * @file sim/import/job.h
 * What importers share: where faults go, memory that ends with the job, lines, words, numbers.
 *
 * Private to sim/import.  A job's text holds no zero byte and is UTF-8, which is checked before an
 * importer sees it.  Memory comes from the job's arena; a call that got none has noted it.
 */
#ifndef PSIM_IMPORT_JOB_H
#define PSIM_IMPORT_JOB_H

#include "sim/base/units.h"
#include "sim/import/importer.h"

struct psim_import_job {
    const struct psim_import_input *input;
    struct psim_arena arena;
    struct psim_diagnostics *list;
    size_t errors_before; /**< of the list when the job began */
};

/** A line and a column, both from 1; {0, 0}: the file as a whole. */
struct psim_place {
    int line, column;
};

void psim_import_error(struct psim_import_job *job, struct psim_place at, enum psim_status status,
                       const char *suggestion, const char *format, ...) PSIM_PRINTF(5, 6);
void psim_import_warn(struct psim_import_job *job, struct psim_place at, const char *format, ...)
    PSIM_PRINTF(3, 4);
void psim_import_no_memory(struct psim_import_job *job);

/** True while the job has reported no error. */
bool psim_import_clean(const struct psim_import_job *job);

/** `count` zeroed elements; NULL is already noted. */
void *psim_import_alloc(struct psim_import_job *job, size_t count, size_t size);

/** printf; NULL is already noted. */
const char *psim_import_printf(struct psim_import_job *job, const char *format, ...)
    PSIM_PRINTF(2, 3);

/**
 * Room for one more element behind `count` of them: the same array or a larger copy.
 * @param[in,out] capacity  in elements, 0 before the first call
 * @return NULL is already noted; the old array stays valid
 */
void *psim_import_grow(struct psim_import_job *job, void *items, size_t count, size_t *capacity,
                       size_t size);

/** A word of a line, zero-terminated. */
struct psim_word {
    const char *text;
    struct psim_place at;
};

/** The words of one line; blanks and the escape sequences of a terminal separate them. */
struct psim_words {
    const struct psim_word *items;
    size_t count;
    int line;
};

/** Reads the next line at *text and moves it behind; false at the end, or without memory. */
bool psim_import_words(struct psim_import_job *job, const char **text, int *line,
                       struct psim_words *out);

enum psim_range { PSIM_FROM_ZERO, PSIM_ABOVE_ZERO };

/**
 * Reads a plain number that stands for a quantity in a unit of ours.
 *
 * @param[in] what  for messages: "time"
 * @param[in] unit  "us", "GB/s", "B", ...
 * @return false when an error was reported; *value is untouched then
 */
bool psim_import_number(struct psim_import_job *job, struct psim_place at, const char *what,
                        const char *text, enum psim_dimension dimension, const char *unit,
                        enum psim_range range, double *value);

/** The same without a fault reported when it is not a number. */
bool psim_import_is_number(struct psim_import_job *job, const char *text,
                           enum psim_dimension dimension, const char *unit, double *value);

/** Reads a whole number in [minimum, maximum]; false when an error was reported. */
bool psim_import_count(struct psim_import_job *job, struct psim_place at, const char *what,
                       const char *text, int minimum, int maximum, int *value);

#define PSIM_IMPORT_EXACT   17 /* digits */
#define PSIM_IMPORT_ROUNDED 6

/** Appends a JSON string such as "25 GB/s", with at most so many digits: PSIM_IMPORT_EXACT, where
 *  the value is read back up to rounding, or PSIM_IMPORT_ROUNDED.  Bytes per second or seconds. */
void psim_import_json_quantity(struct psim_text *out, double value, enum psim_dimension dimension,
                               int digits);

/** Appends a finite number, rounded to so many significant digits. */
void psim_import_json_number(struct psim_text *out, double value, int digits);

#endif

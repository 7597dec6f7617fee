/**
 * @file sim/base/diagnostics.h
 * Every fault of an input at once, with its place in the file.
 *
 * Called by the readers (sim/config) and by checks that look at what they read.
 * The list owns its texts.  Nothing here prints.
 */
#ifndef PSIM_BASE_DIAGNOSTICS_H
#define PSIM_BASE_DIAGNOSTICS_H

#include "sim/base/memory.h"
#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/** A place in a text file; line and column start at 1, 0 means "the file as a whole". */
struct psim_position {
    const char *file; /**< as the user named it; borrowed until copied by psim_diagnose */
    int line, column; /**< column in characters (code points) */
};

enum psim_severity { PSIM_SEVERITY_ERROR, PSIM_SEVERITY_WARNING };

struct psim_diagnostic {
    enum psim_severity severity;
    struct psim_position at;
    const char *path;       /**< JSON path such as ".links[2].bandwidth"; "" when there is none */
    const char *message;    /**< what is wrong; lower case, no full stop */
    const char *suggestion; /**< the nearest known name, or NULL */
};

struct psim_diagnostics {
    struct psim_arena arena;
    struct psim_diagnostic *items;
    size_t count, capacity;
    size_t errors;           /**< how many of them are errors */
    enum psim_status status; /**< of the first error; PSIM_OK while there is none */
    bool out_of_memory;      /**< an entry was lost; status is PSIM_ERR_NOMEM then */
};

#define PSIM_DIAGNOSTICS_INIT                                                                      \
    {                                                                                              \
        PSIM_ARENA_INIT, NULL, 0, 0, 0, PSIM_OK, false                                             \
    }

/** Adds an error (status not PSIM_OK) or a warning (status PSIM_OK); suggestion may be NULL. */
void psim_diagnose(struct psim_diagnostics *list, enum psim_status status, struct psim_position at,
                   const char *path, const char *suggestion, const char *format, ...)
    PSIM_PRINTF(6, 7);

/**
 * "scenario.json:3:14: error: .batch.microbatch: must be ..." and, with a suggestion, " (did you
 * mean \"microbatch\"?)"; one line without its newline, from the arena; NULL when memory is out.
 */
const char *psim_diagnostic_line(struct psim_diagnostics *list, size_t index);

void psim_diagnostics_release(struct psim_diagnostics *list);

#endif

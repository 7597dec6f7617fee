/**
 * @file sim/base/status.h
 * Status codes and the caller-owned error record.
 *
 * Called by everything.  What can fail returns `enum psim_status`, takes a
 * `struct psim_error *` last (NULL is allowed) and leaves its outputs as they
 * were unless it succeeds.  The first cause is kept: a record that already
 * holds an error is not overwritten.  Nothing here prints or exits, except
 * psim_bug(), which is for broken invariants of our own.
 */
#ifndef PSIM_BASE_STATUS_H
#define PSIM_BASE_STATUS_H

#define PSIM_STATUS_MAP(X)                                                                         \
    X(OK, 0, "success")                                                                            \
    X(ERR_NOMEM, -1, "out of memory")                                                              \
    X(ERR_IO, -2, "file could not be read or written")                                             \
    X(ERR_SYNTAX, -3, "input is not well-formed JSON")                                             \
    X(ERR_SCHEMA, -4, "input has a missing, unknown or mistyped field")                            \
    X(ERR_RANGE, -5, "value outside its documented range")                                         \
    X(ERR_UNSUPPORTED, -6, "not available in this build or on this machine")                       \
    X(ERR_NOTFOUND, -7, "no such name")                                                            \
    X(ERR_MODEL, -8, "the method cannot run on this model or platform")                            \
    X(ERR_CHILD, -9, "a simulation process died")

enum psim_status {
#define PSIM_STATUS_ENUM(name, value, text) PSIM_##name = (value),
    PSIM_STATUS_MAP(PSIM_STATUS_ENUM)
#undef PSIM_STATUS_ENUM
};

#if defined(__GNUC__)
#define PSIM_CHECKED          __attribute__((warn_unused_result))
#define PSIM_PRINTF(fmt, arg) __attribute__((format(printf, fmt, arg)))
#define PSIM_NORETURN         __attribute__((noreturn))
#else
#define PSIM_CHECKED
#define PSIM_PRINTF(fmt, arg)
#define PSIM_NORETURN
#endif

/** First cause of a failure; start from PSIM_ERROR_INIT. */
struct psim_error {
    enum psim_status status;
    char where[192];   /**< file + JSON pointer for input, the parameter's name for calls */
    char message[320]; /**< lower case, no full stop, the fault first */
};

#define PSIM_ERROR_INIT                                                                            \
    {                                                                                              \
        PSIM_OK, "", ""                                                                            \
    }

/** One sentence for a status; never NULL. */
const char *psim_status_text(enum psim_status status);

/**
 * Records a failure and returns its status, so that `return psim_fail(...)` is one line.
 * Keeps what is there if `err` already holds an error; `err` may be NULL.
 */
enum psim_status psim_fail(struct psim_error *err, enum psim_status status, const char *where,
                           const char *format, ...) PSIM_PRINTF(4, 5);

/** Ends the process with file and line: a broken invariant of ours, never a user's mistake. */
PSIM_NORETURN void psim_bug_at(const char *file, int line, const char *what);

#define psim_bug(what) psim_bug_at(__FILE__, __LINE__, (what))

/** Invariants that stay on in every build. */
#define PSIM_ASSERT(condition)                                                                     \
    do {                                                                                           \
        if (!(condition))                                                                          \
            psim_bug("broken invariant: " #condition);                                             \
    } while (0)

#endif

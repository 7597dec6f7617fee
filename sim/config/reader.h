/**
 * @file sim/config/reader.h
 * Typed reading of JSON objects from files, where every fault is reported and none is fatal.
 *
 * A reader is the state of one call of the public functions: the files read so far, what they
 * hash to, and where faults go.  A format reads an object through a table of its keys
 * (psim_read_object), which reports unknown, missing and mistyped keys and leaves the target of a
 * faulty one as it was.  Whoever builds something from what was read first asks psim_reader_clean.
 *
 * Does not know: what any format contains.
 */
#ifndef PSIM_CONFIG_READER_H
#define PSIM_CONFIG_READER_H

#include "sim/base/diagnostics.h"
#include "sim/base/units.h"
#include "sim/config/json_text.h"
#include "sim/config/scenario.h"

#include <sha256.h>

struct psim_device_entry;
struct psim_source_file;

struct psim_reader {
    struct psim_diagnostics *list;
    const struct psim_catalogue *catalogue;
    struct psim_arena *arena;       /**< of the texts that outlive the reader; the caller's */
    struct psim_source_file *files; /**< in the order of reading */
    SHA256_CTX hash;
    struct psim_device_entry *devices; /**< read so far; of read_device.c */
    size_t first_item; /**< entries of the list before that are not of this reader */
    int faults;        /**< errors reported so far */
    bool out_of_memory;
};

void psim_reader_init(struct psim_reader *reader, const struct psim_catalogue *catalogue,
                      struct psim_arena *arena, struct psim_diagnostics *list);

/**
 * Puts the entries in the order of files, lines and columns and releases the files.
 * @return PSIM_OK, or the status of the first error; PSIM_ERR_NOMEM goes before all
 */
enum psim_status psim_reader_finish(struct psim_reader *reader);

/** SHA-256 over the bytes of all files so far, lower-case hexadecimal; the reader reads no more. */
void psim_reader_hash(struct psim_reader *reader, char hex[65]);

/** True while no error was reported since `faults` was what it is given as. */
bool psim_reader_clean(const struct psim_reader *reader, int faults);

/** The first error's status or PSIM_ERR_NOMEM; PSIM_OK while there is none. */
enum psim_status psim_reader_status(const struct psim_reader *reader);

/** Reports an error at a node's value; `suggestion` may be NULL. */
void psim_reader_error(struct psim_reader *reader, const struct psim_node *node,
                       enum psim_status status, const char *suggestion, const char *format, ...)
    PSIM_PRINTF(5, 6);

/** The same at its key. */
void psim_reader_key_error(struct psim_reader *reader, const struct psim_node *node,
                           enum psim_status status, const char *suggestion, const char *format, ...)
    PSIM_PRINTF(5, 6);

/** Reports a warning at a node's value, which is no fault; `suggestion` may be NULL. */
void psim_reader_warn(struct psim_reader *reader, const struct psim_node *node,
                      const char *suggestion, const char *format, ...) PSIM_PRINTF(4, 5);

/** Reports what another folder refused, at the node's member that the error names or at the node
 *  itself; PSIM_ERR_NOMEM is noted as such. */
void psim_reader_refuse(struct psim_reader *reader, const struct psim_node *node,
                        const struct psim_error *err);

/** Notes that memory is out: one error, and psim_reader_clean is false from then on. */
void psim_reader_out_of_memory(struct psim_reader *reader);

/** Memory of the reader's arena; NULL is already noted. */
void *psim_reader_alloc(struct psim_reader *reader, size_t count, size_t size);

/** Copy of a text in the reader's arena; NULL is already noted. */
const char *psim_reader_keep(struct psim_reader *reader, const char *text);

/* ---- Files -------------------------------------------------------------------------------- */

#define PSIM_FILE_LIMIT_BYTES ((size_t)64 << 20)

/** Kinds of files, as their first key spells them before the "/1". */
enum psim_file_kind {
    PSIM_FILE_SCENARIO,
    PSIM_FILE_PLATFORM,
    PSIM_FILE_DEVICE,
    PSIM_FILE_MODEL,
    PSIM_FILE_COLLECTIVES,
    PSIM_FILE_PLAN,
    PSIM_FILE_SWEEP
};
extern const char *const psim_file_kind_names[]; /* NULL at the end */

/**
 * Reads a file, once however often it is named, and checks that it is of a kind.
 *
 * @param[in] file      as psim_reader_resolve gives it, or the user's own argument
 * @param[in] named_by  the node that names the file, which a file that cannot be read or is of
 *                      another kind is an error of; NULL when the user named it
 * @return its root, an object; NULL when an error was reported
 */
const struct psim_node *psim_reader_open(struct psim_reader *reader, const char *file,
                                         enum psim_file_kind kind,
                                         const struct psim_node *named_by);

/** Reads these bytes as the file of that name, which is not looked for when it is opened. */
void psim_reader_give(struct psim_reader *reader, const char *name, const char *text,
                      size_t length);

/** As psim_reader_open for a file that the user named, of whatever kind it says it is. */
const struct psim_node *psim_reader_open_any(struct psim_reader *reader, const char *file,
                                             enum psim_file_kind *kind);

/** A path as a file names it, made relative to that file's folder; in the reader's arena. */
const char *psim_reader_resolve(struct psim_reader *reader, const struct psim_node *path);

/* ---- Values ------------------------------------------------------------------------------- */

enum psim_field_kind {
    PSIM_FIELD_NODE, /**< any value, for the caller to look at */
    PSIM_FIELD_OBJECT,
    PSIM_FIELD_LIST,
    PSIM_FIELD_TEXT, /**< not empty, no control characters; copied to the arena */
    PSIM_FIELD_BOOL,
    PSIM_FIELD_COUNT,    /**< integer in [minimum, maximum]; 1e3 is one */
    PSIM_FIELD_REAL,     /**< number in [minimum, maximum] */
    PSIM_FIELD_CHOICE,   /**< one of `names`; the value is its index */
    PSIM_FIELD_QUANTITY, /**< text with a unit, >= minimum */
    PSIM_FIELD_BYTES,    /**< a size, rounded to bytes; a maximum of 0 stands for 2^62 */
};

/** One key of an object and where its value goes. */
struct psim_field {
    const char *key;
    enum psim_field_kind kind;
    bool required;
    bool positive;           /**< REAL, QUANTITY and BYTES: greater than 0 instead of a minimum */
    double minimum, maximum; /**< a maximum of 0 is none, except for COUNT */
    enum psim_dimension dimension;
    const char *const *names; /**< CHOICE: NULL-ended */
    union {
        const struct psim_node **node; /**< NODE, OBJECT, LIST */
        const char **text;
        bool *flag;
        int64_t *count; /**< COUNT, BYTES */
        int *choice;
        double *real; /**< REAL, QUANTITY */
    } to;
};

#define PSIM_FIELD_COUNT(fields) (sizeof(fields) / sizeof(fields)[0])

/** Reads an object through the table of its keys; keys that start with "_" are comments. */
void psim_read_object(struct psim_reader *reader, const struct psim_node *object,
                      const struct psim_field *fields, size_t count);

/** Reads the one member that decides what others the object may have, required.
 *  @return true when it was there, well-formed and stored */
bool psim_read_member(struct psim_reader *reader, const struct psim_node *object,
                      const struct psim_field *field);

/** Reads one value as a field says (its key and `required` do not matter).
 *  @return true when it was well-formed and stored */
bool psim_read_value(struct psim_reader *reader, const struct psim_node *node,
                     const struct psim_field *field);

/** A text as a field of kind TEXT has it, in the arena; NULL when an error was reported. */
const char *psim_read_text(struct psim_reader *reader, const struct psim_node *node);

/** A list of integers in [1, maximum], at most `limit` of them and not empty; in the reader's
 *  arena.  @return NULL when an error was reported */
int *psim_read_counts(struct psim_reader *reader, const struct psim_node *list, int maximum,
                      int limit);

/** Reports a key that is none of the names, with the nearest of them. */
void psim_reader_unknown_key(struct psim_reader *reader, const struct psim_node *member,
                             const char *const *names, size_t count);

/** True when the key is a comment or the kind of the file. */
bool psim_key_is_ignored(const struct psim_node *member);

/** Number of names before the NULL. */
size_t psim_name_count(const char *const *names);

#endif

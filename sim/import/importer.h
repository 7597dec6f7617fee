/**
 * @file sim/import/importer.h
 * From files of other tools to ours: topologies, measurements, per-layer times.
 *
 * Called by sim/cli.  One kind of file is one file of sim/import/importers/, which defines its
 * `const struct psim_importer psim_importer_<file name>`; the table is made from the file names.
 * What comes out is text that sim/config reads, or that belongs into a file it reads.
 *
 * Every fault is reported with file, line and column, not only the first, and with one error
 * nothing comes out.
 *
 * Does not know: catalogues; a device is the name that the caller gives.
 */
#ifndef PSIM_IMPORT_IMPORTER_H
#define PSIM_IMPORT_IMPORTER_H

#include "sim/base/diagnostics.h"
#include "sim/base/text.h"

#include <stdbool.h>

struct psim_import_job; /* sim/import/job.h */

struct psim_importer {
    const char *name;    /**< as on the command line, the file's name: "nccl_topo" */
    const char *summary; /**< one line: what is read, what comes out */
    const char *example; /**< its file under tests/data/import/ */
    bool needs_device;   /**< hosts come out, whose device the file does not name */
    /** Reports faults through the job; `out` is dropped when there is an error. */
    void (*import)(struct psim_import_job *job, struct psim_text *out);
};

/** All importers, by name; NULL at the end. */
extern const struct psim_importer *const psim_importer_table[];

/** NULL when there is none of that name. */
const struct psim_importer *psim_importer_find(const char *name);

/** What to import. */
struct psim_import_input {
    const char *file;   /**< as the user named it; for messages, and the platform's name */
    const char *device; /**< of hosts that name none; NULL: not given */
    const char *text;   /**< zero-terminated at text[length] */
    size_t length;
};

/**
 * Imports a text.
 *
 * @param[in,out] out   what comes out is appended; untouched on failure
 * @param[in,out] list  receives errors and warnings
 * @return PSIM_OK, or the status of the first error
 */
enum psim_status psim_import_text(const struct psim_importer *importer,
                                  const struct psim_import_input *input, struct psim_text *out,
                                  struct psim_diagnostics *list) PSIM_CHECKED;

/** Reads a file of at most 64 MiB and imports it as psim_import_text does. */
enum psim_status psim_import_file(const struct psim_importer *importer, const char *file,
                                  const char *device, struct psim_text *out,
                                  struct psim_diagnostics *list) PSIM_CHECKED;

#endif

/**
 * @file sim/plan/store.h
 * The results of a sweep in an SQLite database: docs/sweep.md has its schema.
 *
 * Called by sim/plan/sweep.c for writing and by sim/cli for reading and merging.  What was
 * committed stays whatever ends the process afterwards.  A database belongs to one sweep: the same
 * axes and engine on the same input files by the same version of the program.
 *
 * Does not know: how a point is run, how results are shown.
 */
#ifndef PSIM_PLAN_STORE_H
#define PSIM_PLAN_STORE_H

#include "sim/config/axes.h"
#include "sim/plan/sweep_record.h"

#define PSIM_STORE_VERSION 1 /**< of the schema; "user_version" of the database */

struct psim_store;

/** What makes two sweeps the same, beside the axes. */
struct psim_store_identity {
    const char *program; /**< version */
    const char *simgrid; /**< version */
    const char *engine;  /**< that overrides the scenario's; "" for none */
    const struct psim_sweep *sweep;
};

/**
 * Opens the database of a sweep, or makes it.
 * @param[in]  path  NULL: in memory, gone when it is closed
 * @return PSIM_OK; PSIM_ERR_SCHEMA when it is of another version or sweep or no such database,
 *         and then it is as it was; PSIM_ERR_IO
 */
enum psim_status psim_store_begin(const char *path, const struct psim_store_identity *identity,
                                  struct psim_store **out, struct psim_error *err) PSIM_CHECKED;

/** Opens a database that is there, to be read.  As psim_store_begin. */
enum psim_status psim_store_open(const char *path, struct psim_store **out,
                                 struct psim_error *err) PSIM_CHECKED;

/** NULL is allowed. */
void psim_store_close(struct psim_store *store);

/** True when the point has its results. */
bool psim_store_has(const struct psim_store *store, int64_t point);

/** Forgets the points that failed, so that they are run again. */
enum psim_status psim_store_forget_failed(struct psim_store *store,
                                          struct psim_error *err) PSIM_CHECKED;

/** Takes a record into the transaction under way; a point that is there already keeps what it
 *  has.  PSIM_ERR_CHILD when the bytes are no record. */
enum psim_status psim_store_put(struct psim_store *store, const char *bytes, size_t length,
                                struct psim_error *err) PSIM_CHECKED;

/** Makes what was put last.  After a failure nothing since the last success is there. */
enum psim_status psim_store_commit(struct psim_store *store, struct psim_error *err) PSIM_CHECKED;

/**
 * Adds the points of other databases of the same sweep, all or none.  A point that failed in one
 * and has results in another has results afterwards.
 * @param[in] out_path  made where it is not there
 */
enum psim_status psim_store_merge(const char *out_path, const char *const *paths, int count,
                                  struct psim_error *err) PSIM_CHECKED;

/* ---- Reading ------------------------------------------------------------------------------ */

/** One row of results, or a point that has none. */
struct psim_sweep_line {
    int64_t point;
    const char *status, *cause, *inputs_sha256; /**< of the point */
    const char *const *settings;                /**< [key_count], JSON */
    bool has_row;
    struct psim_sweep_cell cells[PSIM_SWEEP_COLUMNS];
};

/** All that a database holds, in the order of points and rows. */
struct psim_sweep_table {
    struct psim_arena arena;
    const char *program, *simgrid, *engine, *scenario, *inputs_sha256;
    int64_t point_count; /**< of the sweep; those that are there may be fewer */
    const char **keys;
    int key_count;
    struct psim_sweep_line *lines;
    int64_t line_count;
};

/** @param[out] out  untouched on failure; release with psim_sweep_table_release */
enum psim_status psim_store_read(struct psim_store *store, struct psim_sweep_table *out,
                                 struct psim_error *err) PSIM_CHECKED;
void psim_sweep_table_release(struct psim_sweep_table *table);

#endif

/**
 * @file sim/plan/store_sql.h
 * What the files of the store share: the connection, and SQLite's errors in ours.
 *
 * Private to sim/plan.
 */
#ifndef PSIM_PLAN_STORE_SQL_H
#define PSIM_PLAN_STORE_SQL_H

#include "sim/plan/store.h"

#include <sqlite3.h>

#define PSIM_STORE_APPLICATION 0x5053494d /* "PSIM": tells the file from any other database */

struct psim_store {
    sqlite3 *db;
    char *path; /* as given; "" in memory */
    sqlite3_stmt *put_point, *put_row;
    unsigned char *has; /* [point_count], 1: has results; NULL when opened to be read */
    int64_t point_count;
    bool writing; /* a transaction is under way */
};

/** Records SQLite's last complaint. */
enum psim_status psim_sql_fail(const struct psim_store *store, struct psim_error *err);

/** Runs statements that give no rows. */
enum psim_status psim_sql_run(struct psim_store *store, const char *sql,
                              struct psim_error *err) PSIM_CHECKED;

/** Prepares one statement; the caller finalises it. */
enum psim_status psim_sql_prepare(struct psim_store *store, const char *sql, sqlite3_stmt **out,
                                  struct psim_error *err) PSIM_CHECKED;

/** Runs a prepared statement to its end and makes it ready for the next time. */
enum psim_status psim_sql_step(struct psim_store *store, sqlite3_stmt *statement,
                               struct psim_error *err) PSIM_CHECKED;

void psim_sql_bind_cell(sqlite3_stmt *statement, int at, const struct psim_sweep_cell *cell);

/** Makes the tables and views, and writes down whose they are. */
enum psim_status psim_store_create(struct psim_store *store,
                                   const struct psim_store_identity *identity,
                                   struct psim_error *err) PSIM_CHECKED;

/** Compares what a database says of itself with the sweep, and says what differs. */
enum psim_status psim_store_compare(struct psim_store *store,
                                    const struct psim_store_identity *identity,
                                    struct psim_error *err) PSIM_CHECKED;

/** The axes as the database keeps them, as one text. */
enum psim_status psim_store_axes_text(struct psim_store *store, const char *schema,
                                      struct psim_text *out, struct psim_error *err) PSIM_CHECKED;

/** Opens a connection and checks whose file it is.  @param[out] fresh  it has nothing yet */
enum psim_status psim_store_connect(const char *path, int flags, struct psim_store **out,
                                    bool *fresh, struct psim_error *err) PSIM_CHECKED;

#endif

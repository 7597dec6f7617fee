/* Several databases of one sweep into one. */
#include "sim/plan/store_sql.h"

#include <stdio.h>
#include <string.h>

/* Statements run in one transaction over the attached database "more".  A point that failed here
 * gives way to one that did not. */
static const char take_points[] =
    "DELETE FROM main.results WHERE point IN (SELECT a.point FROM main.points a JOIN more.points b"
    " USING (point) WHERE a.status = 'failed' AND b.status <> 'failed');"
    "DELETE FROM main.points WHERE status = 'failed' AND point IN"
    " (SELECT point FROM more.points WHERE status <> 'failed');"
    "INSERT INTO main.results SELECT * FROM more.results WHERE point NOT IN"
    " (SELECT point FROM main.points);"
    "INSERT OR IGNORE INTO main.points SELECT * FROM more.points;";

/* What "more" is of: the same axes and the same facts. */
static enum psim_status compare_attached(struct psim_store *store, const char *path,
                                         struct psim_error *err)
{
    struct psim_text here = PSIM_TEXT_INIT, there = PSIM_TEXT_INIT;
    sqlite3_stmt *statement = NULL;
    enum psim_status status = psim_store_axes_text(store, "main", &here, err);

    if (status == PSIM_OK)
        status = psim_store_axes_text(store, "more", &there, err);
    if (status == PSIM_OK &&
        (here.length != there.length || memcmp(here.data, there.data, here.length) != 0))
        status = psim_fail(err, PSIM_ERR_SCHEMA, path,
                           "a database of another sweep: its axes or their values differ");
    if (status == PSIM_OK)
        status = psim_sql_prepare(store,
                                  "SELECT name, b.value, a.value FROM main.sweep a JOIN more.sweep"
                                  " b USING (name) WHERE a.value <> b.value LIMIT 1",
                                  &statement, err);
    if (status == PSIM_OK && sqlite3_step(statement) == SQLITE_ROW)
        status = psim_fail(err, PSIM_ERR_SCHEMA, path,
                           "a database of another sweep: its %s is \"%s\", not \"%s\"",
                           (const char *)sqlite3_column_text(statement, 0),
                           (const char *)sqlite3_column_text(statement, 1),
                           (const char *)sqlite3_column_text(statement, 2));
    sqlite3_finalize(statement);
    psim_text_release(&here);
    psim_text_release(&there);
    return status;
}

static enum psim_status attach(struct psim_store *store, const char *path, struct psim_error *err)
{
    sqlite3_stmt *statement;
    enum psim_status status = psim_sql_prepare(store, "ATTACH ? AS more", &statement, err);

    if (status != PSIM_OK)
        return status;
    sqlite3_bind_text(statement, 1, path, -1, SQLITE_TRANSIENT);
    status = psim_sql_step(store, statement, err);
    sqlite3_finalize(statement);
    return status;
}

/* A database that is not there yet starts as the first one's tables, views and facts. */
static enum psim_status copy_frame(struct psim_store *store, struct psim_error *err)
{
    struct psim_text sql = PSIM_TEXT_INIT;
    sqlite3_stmt *statement;
    enum psim_status status = psim_sql_prepare(
        store, "SELECT sql FROM more.sqlite_master WHERE sql IS NOT NULL ORDER BY rowid",
        &statement, err);

    if (status != PSIM_OK)
        return status;
    while (sqlite3_step(statement) == SQLITE_ROW)
        psim_text_printf(&sql, "%s;", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    psim_text_printf(&sql,
                     "INSERT INTO main.sweep SELECT * FROM more.sweep;"
                     "INSERT INTO main.axes SELECT * FROM more.axes;"
                     "INSERT INTO main.axis_values SELECT * FROM more.axis_values;"
                     "PRAGMA main.application_id = %d; PRAGMA main.user_version = %d",
                     PSIM_STORE_APPLICATION, PSIM_STORE_VERSION);
    status = sql.failed ? psim_fail(err, PSIM_ERR_NOMEM, store->path, "out of memory")
                        : psim_sql_run(store, sql.data, err);
    psim_text_release(&sql);
    return status;
}

/* All must be databases of sweeps before the first is touched. */
static enum psim_status check_paths(const char *const *paths, int count, struct psim_error *err)
{
    for (int i = 0; i < count; i++) {
        struct psim_store *store = NULL;
        const enum psim_status status = psim_store_open(paths[i], &store, err);

        if (status != PSIM_OK)
            return status;
        psim_store_close(store);
    }
    return PSIM_OK;
}

static enum psim_status merge_one(struct psim_store *store, const char *path, bool *fresh,
                                  struct psim_error *err)
{
    enum psim_status status = attach(store, path, err);

    if (status != PSIM_OK)
        return status;
    status = psim_sql_run(store, "BEGIN IMMEDIATE", err);
    if (status == PSIM_OK && *fresh)
        status = copy_frame(store, err);
    *fresh = false;
    if (status == PSIM_OK)
        status = compare_attached(store, path, err);
    if (status == PSIM_OK)
        status = psim_sql_run(store, take_points, err);
    if (status == PSIM_OK)
        status = psim_sql_run(store, "COMMIT", err);
    if (status != PSIM_OK)
        (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    (void)sqlite3_exec(store->db, "DETACH more", NULL, NULL, NULL);
    return status;
}

/* SQLite cannot attach inside a transaction, so what is merged is put together in memory first and
 * comes to the file in one step. */
static enum psim_status save(struct psim_store *whole, struct psim_store *to,
                             struct psim_error *err)
{
    sqlite3_backup *backup = sqlite3_backup_init(to->db, "main", whole->db, "main");
    int code;

    if (backup == NULL)
        return psim_sql_fail(to, err);
    code = sqlite3_backup_step(backup, -1);
    if (sqlite3_backup_finish(backup) != SQLITE_OK || code != SQLITE_DONE)
        return psim_sql_fail(to, err);
    return PSIM_OK;
}

enum psim_status psim_store_merge(const char *out_path, const char *const *paths, int count,
                                  struct psim_error *err)
{
    struct psim_store *whole = NULL, *to = NULL;
    bool fresh_whole = true, fresh = false;
    enum psim_status status = check_paths(paths, count, err);

    if (status == PSIM_OK)
        status = psim_store_connect(NULL, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &whole,
                                    &fresh_whole, err);
    if (status == PSIM_OK)
        status = psim_store_connect(out_path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &to,
                                    &fresh, err);
    if (status == PSIM_OK && !fresh)
        status = merge_one(whole, out_path, &fresh_whole, err);
    for (int i = 0; status == PSIM_OK && i < count; i++)
        status = merge_one(whole, paths[i], &fresh_whole, err);
    if (status == PSIM_OK)
        status = save(whole, to, err);
    psim_store_close(whole);
    psim_store_close(to);
    if (status != PSIM_OK && fresh)
        (void)remove(out_path);
    return status;
}

/*
 * Writing: one transaction for what came in together.  A write-ahead log, so that a commit is one
 * append and readers may look on; with synchronous = NORMAL it survives the end of the process at
 * any moment, and a power cut may take the last commits but never the database.
 */
#include "sim/plan/store.h"

#include "sim/base/memory.h"
#include "sim/plan/store_sql.h"

#include <string.h>

#define BUSY_MS 60000 /* as long as another process may take for its own commit */

enum psim_status psim_sql_fail(const struct psim_store *store, struct psim_error *err)
{
    const int code = sqlite3_errcode(store->db);

    if (code == SQLITE_NOMEM)
        return psim_fail(err, PSIM_ERR_NOMEM, store->path, "out of memory");
    return psim_fail(
        err, code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? PSIM_ERR_SCHEMA : PSIM_ERR_IO,
        store->path, "%s", sqlite3_errmsg(store->db));
}

enum psim_status psim_sql_run(struct psim_store *store, const char *sql, struct psim_error *err)
{
    return sqlite3_exec(store->db, sql, NULL, NULL, NULL) == SQLITE_OK ? PSIM_OK
                                                                       : psim_sql_fail(store, err);
}

enum psim_status psim_sql_prepare(struct psim_store *store, const char *sql, sqlite3_stmt **out,
                                  struct psim_error *err)
{
    return sqlite3_prepare_v2(store->db, sql, -1, out, NULL) == SQLITE_OK
               ? PSIM_OK
               : psim_sql_fail(store, err);
}

enum psim_status psim_sql_step(struct psim_store *store, sqlite3_stmt *statement,
                               struct psim_error *err)
{
    const int code = sqlite3_step(statement);
    enum psim_status status = PSIM_OK;

    if (code != SQLITE_DONE && code != SQLITE_ROW)
        status = psim_sql_fail(store, err);
    sqlite3_reset(statement);
    return status;
}

void psim_sql_bind_cell(sqlite3_stmt *statement, int at, const struct psim_sweep_cell *cell)
{
    switch (cell->kind) {
    case PSIM_CELL_NONE:
        sqlite3_bind_null(statement, at);
        break;
    case PSIM_CELL_INTEGER:
        sqlite3_bind_int64(statement, at, cell->integer);
        break;
    case PSIM_CELL_REAL:
        sqlite3_bind_double(statement, at, cell->real);
        break;
    case PSIM_CELL_TEXT:
        sqlite3_bind_text(statement, at, cell->text, -1, SQLITE_TRANSIENT);
        break;
    }
}

/* ---- Opening ---- */

static enum psim_status ask_number(struct psim_store *store, const char *sql, int64_t *out,
                                   struct psim_error *err)
{
    sqlite3_stmt *statement;
    enum psim_status status = psim_sql_prepare(store, sql, &statement, err);

    if (status != PSIM_OK)
        return status;
    if (sqlite3_step(statement) == SQLITE_ROW)
        *out = sqlite3_column_int64(statement, 0);
    else
        status = psim_sql_fail(store, err);
    sqlite3_finalize(statement);
    return status;
}

static enum psim_status check_kind(struct psim_store *store, bool *fresh, struct psim_error *err)
{
    int64_t application = 0, version = 0, tables = 0;
    enum psim_status status = ask_number(store, "PRAGMA application_id", &application, err);

    if (status == PSIM_OK)
        status = ask_number(store, "PRAGMA user_version", &version, err);
    if (status == PSIM_OK)
        status = ask_number(store, "SELECT count(*) FROM sqlite_master", &tables, err);
    if (status != PSIM_OK)
        return status;
    *fresh = application == 0 && version == 0 && tables == 0;
    if (*fresh || (application == PSIM_STORE_APPLICATION && version == PSIM_STORE_VERSION))
        return PSIM_OK;
    if (application != PSIM_STORE_APPLICATION)
        return psim_fail(err, PSIM_ERR_SCHEMA, store->path, "a database, but not of a sweep");
    return psim_fail(err, PSIM_ERR_SCHEMA, store->path,
                     "a database of another version: %lld; this program has %d", (long long)version,
                     PSIM_STORE_VERSION);
}

enum psim_status psim_store_connect(const char *path, int flags, struct psim_store **out,
                                    bool *fresh, struct psim_error *err)
{
    struct psim_store *store = psim_alloc(1, sizeof *store);
    const char *name = path == NULL ? "" : path;
    enum psim_status status = PSIM_OK;

    if (store != NULL)
        store->path = psim_alloc(strlen(name) + 1, 1);
    if (store == NULL || store->path == NULL) {
        status = psim_fail(err, PSIM_ERR_NOMEM, name, "out of memory");
        goto out;
    }
    strcpy(store->path, name);
    if (sqlite3_open_v2(path == NULL ? ":memory:" : path, &store->db, flags, NULL) != SQLITE_OK) {
        status = psim_sql_fail(store, err);
        goto out;
    }
    sqlite3_busy_timeout(store->db, BUSY_MS);
    status = check_kind(store, fresh, err);
out:
    if (status == PSIM_OK)
        *out = store;
    else
        psim_store_close(store);
    return status;
}

void psim_store_close(struct psim_store *store)
{
    if (store == NULL)
        return;
    sqlite3_finalize(store->put_point);
    sqlite3_finalize(store->put_row);
    sqlite3_close(store->db);
    psim_free(store->has);
    psim_free(store->path);
    psim_free(store);
}

static enum psim_status prepare_puts(struct psim_store *store, struct psim_error *err)
{
    struct psim_text sql = PSIM_TEXT_INIT;
    enum psim_status status = psim_sql_prepare(
        store, "INSERT OR IGNORE INTO points VALUES (?, ?, ?, ?)", &store->put_point, err);

    psim_text_printf(&sql, "INSERT OR IGNORE INTO results VALUES (?, ?");
    for (int i = 0; i < PSIM_SWEEP_COLUMNS; i++)
        psim_text_printf(&sql, ", ?");
    psim_text_printf(&sql, ")");
    if (status == PSIM_OK && sql.failed)
        status = psim_fail(err, PSIM_ERR_NOMEM, store->path, "out of memory");
    if (status == PSIM_OK)
        status = psim_sql_prepare(store, sql.data, &store->put_row, err);
    psim_text_release(&sql);
    return status;
}

static enum psim_status find_points(struct psim_store *store, struct psim_error *err)
{
    sqlite3_stmt *statement;
    enum psim_status status;
    int code;

    store->has = psim_alloc((size_t)store->point_count, 1);
    if (store->has == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, store->path, "out of memory");
    status = psim_sql_prepare(store, "SELECT point FROM points", &statement, err);
    if (status != PSIM_OK)
        return status;
    while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
        const int64_t point = sqlite3_column_int64(statement, 0);

        if (point >= 0 && point < store->point_count)
            store->has[point] = 1;
    }
    if (code != SQLITE_DONE)
        status = psim_sql_fail(store, err);
    sqlite3_finalize(statement);
    return status;
}

enum psim_status psim_store_begin(const char *path, const struct psim_store_identity *identity,
                                  struct psim_store **out, struct psim_error *err)
{
    struct psim_store *store = NULL;
    bool fresh = false;
    enum psim_status status =
        psim_store_connect(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &store, &fresh, err);

    if (status != PSIM_OK)
        return status;
    /* A file system without shared memory answers "delete" and is as safe, only slower. */
    if (fresh)
        status = psim_sql_run(store, "PRAGMA journal_mode = WAL", err);
    if (status == PSIM_OK)
        status = psim_sql_run(store, "PRAGMA synchronous = NORMAL", err);
    if (status == PSIM_OK && fresh)
        status = psim_store_create(store, identity, err);
    if (status == PSIM_OK)
        status = psim_store_compare(store, identity, err);
    store->point_count = identity->sweep->point_count;
    if (status == PSIM_OK)
        status = prepare_puts(store, err);
    if (status == PSIM_OK)
        status = find_points(store, err);
    if (status == PSIM_OK)
        *out = store;
    else
        psim_store_close(store);
    return status;
}

enum psim_status psim_store_open(const char *path, struct psim_store **out, struct psim_error *err)
{
    struct psim_store *store = NULL;
    bool fresh = false;
    /* Not read-only: a log that a killed sweep left behind has to be taken in first. */
    enum psim_status status = psim_store_connect(path, SQLITE_OPEN_READWRITE, &store, &fresh, err);

    if (status == PSIM_OK && fresh)
        status = psim_fail(err, PSIM_ERR_SCHEMA, path, "a database without a sweep");
    if (status == PSIM_OK)
        *out = store;
    else
        psim_store_close(store);
    return status;
}

/* ---- Writing ---- */

bool psim_store_has(const struct psim_store *store, int64_t point)
{
    return store->has[point] != 0;
}

enum psim_status psim_store_forget_failed(struct psim_store *store, struct psim_error *err)
{
    enum psim_status status = psim_sql_run(
        store,
        "BEGIN IMMEDIATE;"
        "DELETE FROM results WHERE point IN (SELECT point FROM points WHERE status = 'failed');"
        "DELETE FROM points WHERE status = 'failed';"
        "COMMIT",
        err);

    psim_free(store->has);
    store->has = NULL;
    return status == PSIM_OK ? find_points(store, err) : status;
}

static enum psim_status put_rows(struct psim_store *store, struct psim_sweep_reading *reading,
                                 struct psim_error *err)
{
    struct psim_sweep_cell cells[PSIM_SWEEP_COLUMNS];
    enum psim_status status = PSIM_OK;

    for (int row = 0; status == PSIM_OK && row < reading->row_count; row++) {
        if (!psim_sweep_record_next(reading, cells))
            return psim_fail(err, PSIM_ERR_CHILD, "sweep", "a worker sent half a result");
        sqlite3_bind_int64(store->put_row, 1, reading->point);
        sqlite3_bind_int64(store->put_row, 2, row);
        for (int i = 0; i < PSIM_SWEEP_COLUMNS; i++)
            psim_sql_bind_cell(store->put_row, i + 3, &cells[i]);
        status = psim_sql_step(store, store->put_row, err);
    }
    return status;
}

static void bind_text(sqlite3_stmt *statement, int at, const char *text)
{
    if (text[0] == '\0')
        sqlite3_bind_null(statement, at);
    else
        sqlite3_bind_text(statement, at, text, -1, SQLITE_TRANSIENT);
}

enum psim_status psim_store_put(struct psim_store *store, const char *bytes, size_t length,
                                struct psim_error *err)
{
    struct psim_sweep_reading reading;
    enum psim_status status = PSIM_OK;

    if (!psim_sweep_record_read(bytes, length, &reading) || reading.point < 0 ||
        reading.point >= store->point_count)
        return psim_fail(err, PSIM_ERR_CHILD, "sweep", "a worker sent what is no result");
    if (!store->writing)
        status = psim_sql_run(store, "BEGIN IMMEDIATE", err);
    if (status != PSIM_OK)
        return status;
    store->writing = true;
    sqlite3_bind_int64(store->put_point, 1, reading.point);
    sqlite3_bind_text(store->put_point, 2, psim_point_status_names[reading.status], -1,
                      SQLITE_STATIC);
    bind_text(store->put_point, 3, reading.cause);
    bind_text(store->put_point, 4, reading.inputs_sha256);
    status = psim_sql_step(store, store->put_point, err);
    if (status == PSIM_OK && sqlite3_changes(store->db) == 1)
        status = put_rows(store, &reading, err);
    if (status == PSIM_OK)
        store->has[reading.point] = 1;
    return status;
}

enum psim_status psim_store_commit(struct psim_store *store, struct psim_error *err)
{
    enum psim_status status;

    if (!store->writing)
        return PSIM_OK;
    store->writing = false;
    status = psim_sql_run(store, "COMMIT", err);
    if (status != PSIM_OK)
        (void)sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

/* The tables and views of a sweep, and whose they are.  docs/sweep.md describes them. */
#include "sim/plan/store_sql.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char tables[] =
    "CREATE TABLE sweep (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE axes (axis INTEGER, part INTEGER, key TEXT NOT NULL, stride INTEGER NOT NULL,"
    " value_count INTEGER NOT NULL, PRIMARY KEY (axis, part)) WITHOUT ROWID;"
    "CREATE TABLE axis_values (axis INTEGER, part INTEGER, value_index INTEGER,"
    " json TEXT NOT NULL, value, PRIMARY KEY (axis, part, value_index)) WITHOUT ROWID;"
    "CREATE TABLE points (point INTEGER PRIMARY KEY, status TEXT NOT NULL, cause TEXT,"
    " inputs_sha256 TEXT);"
    "CREATE VIEW settings AS SELECT p.point, a.axis, a.part, a.key, v.value, v.json"
    " FROM points p JOIN axes a JOIN axis_values v ON v.axis = a.axis AND v.part = a.part"
    " AND v.value_index = p.point / a.stride % a.value_count;";

/* Views of rows that have figures; %s stands for "point, the keys". */
static const struct {
    const char *name, *columns, *rest;
} views[] = {
    {"time",
     "r.label, r.time_per_microbatch_s, r.time_per_update_s, r.samples_per_s, r.bubble_fraction,"
     " r.exposed_fraction, r.bottleneck",
     ""},
    {"memory", "r.label, r.peak_bytes_max, r.peak_bytes_sum, r.fits", ""},
    {"speedup", "r.label, r.speedup, r.samples_per_s", ""},
    {"best_per_method",
     "r.label, max(r.samples_per_s) AS samples_per_s, r.time_per_microbatch_s, r.peak_bytes_max",
     " AND r.fits GROUP BY r.label"},
    {"best_per_point",
     "r.label, max(r.samples_per_s) AS samples_per_s, r.time_per_microbatch_s, r.peak_bytes_max",
     " AND r.fits GROUP BY r.point"},
};

static enum psim_status run_text(struct psim_store *store, struct psim_text *sql,
                                 struct psim_error *err)
{
    enum psim_status status = sql->failed
                                  ? psim_fail(err, PSIM_ERR_NOMEM, store->path, "out of memory")
                                  : psim_sql_run(store, sql->data, err);

    psim_text_release(sql);
    return status;
}

static enum psim_status create_results(struct psim_store *store, struct psim_error *err)
{
    static const char *const types[] = {"", " INTEGER", " REAL", " TEXT"};
    struct psim_text sql = PSIM_TEXT_INIT;

    psim_text_printf(&sql, "CREATE TABLE results (point INTEGER, row INTEGER");
    for (int i = 0; i < PSIM_SWEEP_COLUMNS; i++)
        psim_text_printf(&sql, ", %s%s", psim_sweep_columns[i].name,
                         types[psim_sweep_columns[i].kind]);
    psim_text_printf(&sql, ", PRIMARY KEY (point, row)) WITHOUT ROWID");
    return run_text(store, &sql, err);
}

/* A name in SQL's double quotes. */
static void put_name(struct psim_text *sql, const char *name)
{
    psim_text_append(sql, "\"", 1);
    for (; *name != '\0'; name++)
        psim_text_append(sql, *name == '"' ? "\"\"" : name, *name == '"' ? 2 : 1);
    psim_text_append(sql, "\"", 1);
}

/* "grid" has a column for each key that varies; the other views start with its columns. */
static enum psim_status create_views(struct psim_store *store, const struct psim_sweep *sweep,
                                     struct psim_error *err)
{
    struct psim_text sql = PSIM_TEXT_INIT;

    psim_text_printf(&sql, "CREATE VIEW grid AS SELECT p.point, p.status");
    for (int a = 0; a < sweep->axis_count; a++) {
        for (int k = 0; k < sweep->axes[a].key_count; k++) {
            psim_text_printf(&sql,
                             ", (SELECT value FROM settings s WHERE s.point = p.point AND"
                             " s.axis = %d AND s.part = %d) AS ",
                             a, k);
            put_name(&sql, sweep->axes[a].keys[k]);
        }
    }
    psim_text_printf(&sql, " FROM points p;");
    for (size_t v = 0; v < sizeof views / sizeof views[0]; v++)
        psim_text_printf(&sql,
                         "CREATE VIEW %s AS SELECT g.*, %s FROM grid g JOIN results r"
                         " ON r.point = g.point WHERE r.status = 'ok'%s;",
                         views[v].name, views[v].columns, views[v].rest);
    return run_text(store, &sql, err);
}

static enum psim_status insert(struct psim_store *store, const char *sql,
                               const struct psim_sweep_cell *cells, int count,
                               struct psim_error *err)
{
    sqlite3_stmt *statement;
    enum psim_status status = psim_sql_prepare(store, sql, &statement, err);

    if (status != PSIM_OK)
        return status;
    for (int i = 0; i < count; i++)
        psim_sql_bind_cell(statement, i + 1, &cells[i]);
    status = psim_sql_step(store, statement, err);
    sqlite3_finalize(statement);
    return status;
}

static struct psim_sweep_cell text(const char *value)
{
    return (struct psim_sweep_cell){.kind = PSIM_CELL_TEXT, .text = value};
}

static struct psim_sweep_cell integer(int64_t value)
{
    return (struct psim_sweep_cell){.kind = PSIM_CELL_INTEGER, .integer = value};
}

/* The native value of a JSON text, so that SQL can sort and compare: of lists and objects the JSON
 * itself.  SQLite converts numbers; texts lose their quotes, and escapes where they have any. */
static const char value_of_json[] =
    "INSERT INTO axis_values VALUES (?1, ?2, ?3, ?4, CASE WHEN json_type(?4) IN ('array', 'object')"
    " THEN ?4 ELSE json_extract(?4, '$') END)";

static enum psim_status insert_axis(struct psim_store *store, const struct psim_sweep_axis *axis,
                                    int index, int64_t stride, struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int k = 0; status == PSIM_OK && k < axis->key_count; k++) {
        const struct psim_sweep_cell row[] = {integer(index), integer(k), text(axis->keys[k]),
                                              integer(stride), integer(axis->value_count)};

        status = insert(store, "INSERT INTO axes VALUES (?, ?, ?, ?, ?)", row, 5, err);
        for (int v = 0; status == PSIM_OK && v < axis->value_count; v++) {
            struct psim_text json = PSIM_TEXT_INIT;

            psim_sweep_value_json(axis, v, k, &json);
            if (json.failed)
                status = psim_fail(err, PSIM_ERR_NOMEM, store->path, "out of memory");
            else
                status = insert(store, value_of_json,
                                (const struct psim_sweep_cell[]){integer(index), integer(k),
                                                                 integer(v), text(json.data)},
                                4, err);
            psim_text_release(&json);
        }
    }
    return status;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

#define FACTS 6

static void list_facts(const struct psim_store_identity *identity, char points[24],
                       const char *names[FACTS], const char *values[FACTS])
{
    snprintf(points, 24, "%" PRId64, identity->sweep->point_count);
    names[0] = "program", values[0] = identity->program;
    names[1] = "simgrid", values[1] = identity->simgrid;
    names[2] = "engine", values[2] = identity->engine;
    names[3] = "points", values[3] = points;
    names[4] = "inputs_sha256", values[4] = identity->sweep->inputs_sha256;
    names[5] = "scenario", values[5] = base_name(identity->sweep->scenario_file);
}

static enum psim_status insert_facts(struct psim_store *store,
                                     const struct psim_store_identity *identity,
                                     struct psim_error *err)
{
    const struct psim_sweep *sweep = identity->sweep;
    const char *names[FACTS], *values[FACTS];
    enum psim_status status = PSIM_OK;
    int64_t stride = sweep->point_count;
    char points[24];

    list_facts(identity, points, names, values);
    for (int i = 0; status == PSIM_OK && i < FACTS; i++)
        status = insert(store, "INSERT INTO sweep VALUES (?, ?)",
                        (const struct psim_sweep_cell[]){text(names[i]), text(values[i])}, 2, err);
    for (int a = 0; status == PSIM_OK && a < sweep->axis_count; a++) {
        stride /= sweep->axes[a].value_count;
        status = insert_axis(store, &sweep->axes[a], a, stride, err);
    }
    return status;
}

enum psim_status psim_store_create(struct psim_store *store,
                                   const struct psim_store_identity *identity,
                                   struct psim_error *err)
{
    struct psim_text sql = PSIM_TEXT_INIT;
    enum psim_status status = psim_sql_run(store, "BEGIN IMMEDIATE", err);

    if (status == PSIM_OK)
        status = psim_sql_run(store, tables, err);
    if (status == PSIM_OK)
        status = create_results(store, err);
    if (status == PSIM_OK)
        status = create_views(store, identity->sweep, err);
    if (status == PSIM_OK)
        status = insert_facts(store, identity, err);
    psim_text_printf(&sql, "PRAGMA application_id = %d; PRAGMA user_version = %d; COMMIT",
                     PSIM_STORE_APPLICATION, PSIM_STORE_VERSION);
    if (status == PSIM_OK)
        return run_text(store, &sql, err);
    psim_text_release(&sql);
    return status;
}

/* ---- Comparing ---- */

enum psim_status psim_store_axes_text(struct psim_store *store, const char *schema,
                                      struct psim_text *out, struct psim_error *err)
{
    struct psim_text sql = PSIM_TEXT_INIT;
    sqlite3_stmt *statement;
    enum psim_status status;

    psim_text_printf(&sql,
                     "SELECT key || '=' || json FROM %s.axes JOIN %s.axis_values USING (axis, part)"
                     " ORDER BY axis, part, value_index",
                     schema, schema);
    if (sql.failed)
        return psim_fail(err, PSIM_ERR_NOMEM, store->path, "out of memory");
    status = psim_sql_prepare(store, sql.data, &statement, err);
    psim_text_release(&sql);
    if (status != PSIM_OK)
        return status;
    while (sqlite3_step(statement) == SQLITE_ROW)
        psim_text_printf(out, "%s\n", (const char *)sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return out->failed ? psim_fail(err, PSIM_ERR_NOMEM, store->path, "out of memory") : PSIM_OK;
}

static void sweep_axes_text(const struct psim_sweep *sweep, struct psim_text *out)
{
    for (int a = 0; a < sweep->axis_count; a++) {
        for (int k = 0; k < sweep->axes[a].key_count; k++) {
            for (int v = 0; v < sweep->axes[a].value_count; v++) {
                psim_text_printf(out, "%s=", sweep->axes[a].keys[k]);
                psim_sweep_value_json(&sweep->axes[a], v, k, out);
                psim_text_printf(out, "\n");
            }
        }
    }
}

static enum psim_status compare_axes(struct psim_store *store, const struct psim_sweep *sweep,
                                     struct psim_error *err)
{
    struct psim_text there = PSIM_TEXT_INIT, here = PSIM_TEXT_INIT;
    enum psim_status status = psim_store_axes_text(store, "main", &there, err);

    sweep_axes_text(sweep, &here);
    if (status == PSIM_OK && here.failed)
        status = psim_fail(err, PSIM_ERR_NOMEM, store->path, "out of memory");
    if (status == PSIM_OK && (there.length != here.length ||
                              (here.length > 0 && memcmp(there.data, here.data, here.length) != 0)))
        status = psim_fail(err, PSIM_ERR_SCHEMA, store->path,
                           "a database of another sweep: its axes or their values differ");
    psim_text_release(&there);
    psim_text_release(&here);
    return status;
}

enum psim_status psim_store_compare(struct psim_store *store,
                                    const struct psim_store_identity *identity,
                                    struct psim_error *err)
{
    const char *names[FACTS], *values[FACTS];
    char points[24];
    sqlite3_stmt *statement;
    enum psim_status status = compare_axes(store, identity->sweep, err);

    if (status == PSIM_OK)
        status = psim_sql_prepare(store, "SELECT value FROM sweep WHERE name = ?", &statement, err);
    if (status != PSIM_OK)
        return status;
    list_facts(identity, points, names, values);
    for (int i = 0; status == PSIM_OK && i < FACTS; i++) {
        const char *there = "";

        sqlite3_bind_text(statement, 1, names[i], -1, SQLITE_STATIC);
        if (sqlite3_step(statement) == SQLITE_ROW)
            there = (const char *)sqlite3_column_text(statement, 0);
        if (strcmp(there, values[i]) != 0)
            status = psim_fail(err, PSIM_ERR_SCHEMA, store->path,
                               "a database of another sweep: its %s is \"%s\", not \"%s\"",
                               names[i], there, values[i]);
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
    return status;
}

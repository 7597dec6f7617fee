/* A database as a table in memory. */
#include "sim/plan/store_sql.h"

#include "sim/base/memory.h"

#include <stdlib.h>
#include <string.h>

static enum psim_status no_memory(const struct psim_store *store, struct psim_error *err)
{
    return psim_fail(err, PSIM_ERR_NOMEM, store->path, "out of memory");
}

/* A column as a text of the arena; NULL is "". NULL comes out when memory is out. */
static const char *keep(struct psim_arena *arena, sqlite3_stmt *statement, int column)
{
    const char *text = (const char *)sqlite3_column_text(statement, column);

    return psim_arena_text(arena, text == NULL ? "" : text, text == NULL ? 0 : strlen(text));
}

static enum psim_status read_fact(struct psim_store *store, struct psim_sweep_table *table,
                                  const char *name, const char **out, struct psim_error *err)
{
    sqlite3_stmt *statement;
    enum psim_status status =
        psim_sql_prepare(store, "SELECT value FROM sweep WHERE name = ?", &statement, err);

    if (status != PSIM_OK)
        return status;
    sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    *out = sqlite3_step(statement) == SQLITE_ROW ? keep(&table->arena, statement, 0) : "";
    sqlite3_finalize(statement);
    return *out == NULL ? no_memory(store, err) : PSIM_OK;
}

static enum psim_status read_facts(struct psim_store *store, struct psim_sweep_table *table,
                                   struct psim_error *err)
{
    const char *points = "";
    const struct {
        const char *name, **to;
    } facts[] = {{"program", &table->program},
                 {"simgrid", &table->simgrid},
                 {"engine", &table->engine},
                 {"scenario", &table->scenario},
                 {"inputs_sha256", &table->inputs_sha256},
                 {"points", &points}};
    enum psim_status status = PSIM_OK;

    for (size_t i = 0; status == PSIM_OK && i < sizeof facts / sizeof facts[0]; i++)
        status = read_fact(store, table, facts[i].name, facts[i].to, err);
    table->point_count = strtoll(points, NULL, 10);
    return status;
}

/* The keys that vary, and per key where its value of a point is found. */
struct axis_part {
    int64_t stride, value_count;
    const char **values; /* JSON */
};

static enum psim_status read_part(struct psim_store *store, struct psim_sweep_table *table,
                                  sqlite3_stmt *axis, struct axis_part *out, struct psim_error *err)
{
    sqlite3_stmt *statement;
    enum psim_status status = psim_sql_prepare(store,
                                               "SELECT value_index, json FROM axis_values"
                                               " WHERE axis = ? AND part = ?",
                                               &statement, err);

    if (status != PSIM_OK)
        return status;
    out->stride = sqlite3_column_int64(axis, 3);
    out->value_count = sqlite3_column_int64(axis, 4);
    if (out->stride < 1 || out->value_count < 1 || out->value_count > PSIM_SWEEP_VALUES)
        status = psim_fail(err, PSIM_ERR_SCHEMA, store->path, "its axes make no grid");
    else
        out->values =
            psim_arena_alloc(&table->arena, (size_t)out->value_count, sizeof *out->values);
    if (status == PSIM_OK && out->values == NULL)
        status = no_memory(store, err);
    sqlite3_bind_int64(statement, 1, sqlite3_column_int64(axis, 0));
    sqlite3_bind_int64(statement, 2, sqlite3_column_int64(axis, 1));
    for (int64_t v = 0; status == PSIM_OK && v < out->value_count; v++) {
        if (sqlite3_step(statement) != SQLITE_ROW || sqlite3_column_int64(statement, 0) != v)
            status = psim_fail(err, PSIM_ERR_SCHEMA, store->path, "an axis lacks values");
        else if ((out->values[v] = keep(&table->arena, statement, 1)) == NULL)
            status = no_memory(store, err);
    }
    sqlite3_finalize(statement);
    return status;
}

static enum psim_status read_keys(struct psim_store *store, struct psim_sweep_table *table,
                                  struct axis_part *parts, struct psim_error *err)
{
    sqlite3_stmt *statement;
    enum psim_status status = psim_sql_prepare(
        store, "SELECT axis, part, key, stride, value_count FROM axes ORDER BY axis, part",
        &statement, err);

    if (status != PSIM_OK)
        return status;
    table->keys =
        psim_arena_alloc(&table->arena, PSIM_SWEEP_AXES * PSIM_SWEEP_KEYS, sizeof *table->keys);
    if (table->keys == NULL)
        status = no_memory(store, err);
    while (status == PSIM_OK && sqlite3_step(statement) == SQLITE_ROW &&
           table->key_count < PSIM_SWEEP_AXES * PSIM_SWEEP_KEYS) {
        table->keys[table->key_count] = keep(&table->arena, statement, 2);
        if (table->keys[table->key_count] == NULL)
            status = no_memory(store, err);
        else
            status = read_part(store, table, statement, &parts[table->key_count], err);
        table->key_count++;
    }
    sqlite3_finalize(statement);
    return status;
}

static bool read_cells(struct psim_arena *arena, sqlite3_stmt *statement, int first,
                       struct psim_sweep_cell *cells)
{
    for (int i = 0; i < PSIM_SWEEP_COLUMNS; i++) {
        const bool unknown = sqlite3_column_type(statement, first + i) == SQLITE_NULL;
        struct psim_sweep_cell *cell = &cells[i];

        cell->kind = unknown ? PSIM_CELL_NONE : psim_sweep_columns[i].kind;
        cell->integer = sqlite3_column_int64(statement, first + i);
        cell->real = sqlite3_column_double(statement, first + i);
        cell->text = cell->kind == PSIM_CELL_TEXT ? keep(arena, statement, first + i) : "";
        if (cell->text == NULL)
            return false;
    }
    return true;
}

static bool read_line(struct psim_sweep_table *table, const struct axis_part *parts,
                      sqlite3_stmt *statement, struct psim_sweep_line *out)
{
    const char **settings =
        psim_arena_alloc(&table->arena, (size_t)table->key_count, sizeof *settings);

    out->point = sqlite3_column_int64(statement, 0);
    out->status = keep(&table->arena, statement, 1);
    out->cause = keep(&table->arena, statement, 2);
    out->inputs_sha256 = keep(&table->arena, statement, 3);
    out->has_row = sqlite3_column_type(statement, 4) != SQLITE_NULL;
    out->settings = settings;
    if (settings == NULL || out->status == NULL || out->cause == NULL || out->inputs_sha256 == NULL)
        return false;
    for (int k = 0; k < table->key_count; k++)
        settings[k] = parts[k].values[out->point / parts[k].stride % parts[k].value_count];
    return read_cells(&table->arena, statement, 5, out->cells);
}

static enum psim_status read_lines(struct psim_store *store, struct psim_sweep_table *table,
                                   const struct axis_part *parts, struct psim_error *err)
{
    struct psim_text sql = PSIM_TEXT_INIT;
    sqlite3_stmt *statement = NULL;
    enum psim_status status;
    size_t room = 0;
    int code = SQLITE_DONE;

    psim_text_printf(&sql, "SELECT p.point, p.status, p.cause, p.inputs_sha256, r.row");
    for (int i = 0; i < PSIM_SWEEP_COLUMNS; i++)
        psim_text_printf(&sql, ", r.%s", psim_sweep_columns[i].name);
    psim_text_printf(&sql, " FROM points p LEFT JOIN results r USING (point)"
                           " WHERE p.point >= 0 ORDER BY p.point, r.row");
    status =
        sql.failed ? no_memory(store, err) : psim_sql_prepare(store, sql.data, &statement, err);
    psim_text_release(&sql);
    while (status == PSIM_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        if ((size_t)table->line_count == room) {
            struct psim_sweep_line *grown;

            room = 2 * room + 64;
            grown = psim_realloc(table->lines, room, sizeof *grown);
            if (grown == NULL) {
                status = no_memory(store, err);
                break;
            }
            table->lines = grown;
        }
        if (!read_line(table, parts, statement, &table->lines[table->line_count++]))
            status = no_memory(store, err);
    }
    if (status == PSIM_OK && code != SQLITE_DONE)
        status = psim_sql_fail(store, err);
    sqlite3_finalize(statement);
    return status;
}

enum psim_status psim_store_read(struct psim_store *store, struct psim_sweep_table *out,
                                 struct psim_error *err)
{
    struct psim_sweep_table table = {.arena = PSIM_ARENA_INIT};
    struct axis_part parts[PSIM_SWEEP_AXES * PSIM_SWEEP_KEYS];
    enum psim_status status = read_facts(store, &table, err);

    if (status == PSIM_OK)
        status = read_keys(store, &table, parts, err);
    if (status == PSIM_OK)
        status = read_lines(store, &table, parts, err);
    if (status == PSIM_OK)
        *out = table;
    else
        psim_sweep_table_release(&table);
    return status;
}

void psim_sweep_table_release(struct psim_sweep_table *table)
{
    psim_free(table->lines);
    psim_arena_release(&table->arena);
    *table = (struct psim_sweep_table){.arena = PSIM_ARENA_INIT};
}

#include "tests/support/database.h"

#include "tests/support/check.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sqlite3 *open_at(const char *path)
{
    sqlite3 *db;

    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
        fail_msg("%s cannot be opened: %s", path, sqlite3_errmsg(db));
    sqlite3_busy_timeout(db, 60000);
    return db;
}

static void append(char **text, const char *more)
{
    const size_t length = *text == NULL ? 0 : strlen(*text);
    char *grown = realloc(*text, length + strlen(more) + 2);

    assert_non_null(grown);
    strcpy(grown + length, more);
    *text = grown;
}

static int append_row(void *text, int count, char **values, char **names)
{
    (void)names;
    for (int i = 0; i < count; i++) {
        append(text, values[i] == NULL ? "NULL" : values[i]);
        append(text, i + 1 < count ? "|" : "\n");
    }
    return 0;
}

static int append_table(void *data, int count, char **values, char **names)
{
    struct {
        sqlite3 *db;
        char **text;
    } *dump = data;
    char sql[128];

    (void)count, (void)names;
    snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY 1, 2, 3", values[0]);
    if (strcmp(values[0], "sweep") == 0)
        strcpy(sql, "SELECT * FROM sweep ORDER BY 1");
    append(dump->text, values[1]);
    append(dump->text, "\n");
    if (strcmp(values[2], "table") == 0)
        assert_int_equal(sqlite3_exec(dump->db, sql, append_row, dump->text, NULL), SQLITE_OK);
    return 0;
}

char *test_database_dump(const char *path)
{
    char *text = NULL;
    struct {
        sqlite3 *db;
        char **text;
    } dump = {open_at(path), &text};

    append(&text, "");
    assert_int_equal(sqlite3_exec(dump.db,
                                  "SELECT name, sql, type FROM sqlite_master WHERE sql IS NOT NULL "
                                  "ORDER BY name",
                                  append_table, &dump, NULL),
                     SQLITE_OK);
    sqlite3_close(dump.db);
    return text;
}

double test_database_number(const char *path, const char *sql)
{
    sqlite3 *db = open_at(path);
    sqlite3_stmt *statement;
    double value;

    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW)
        fail_msg("%s: %s: %s", path, sql, sqlite3_errmsg(db));
    value = sqlite3_column_double(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return value;
}

void test_database_change(const char *path, const char *sql)
{
    sqlite3 *db = open_at(path);

    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

/* docs/result.md: every key and column of real results has its row, and no row is of another. */
#include "sim/platform/device.h"
#include "sim/report/columns.h"
#include "tests/support/check.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENT  PSIM_SOURCE_DIR "/docs/result.md"
#define SMALL     PSIM_SOURCE_DIR "/scenarios/smoke/small.json"
#define KEYS      256
#define KEY_BYTES 128

/* A run of so many updates, in which "run" is an object. */
#define FIXED_RUN                                                                                  \
    "{ \"petrasim\": \"scenario/1\",\n"                                                            \
    "  \"model\": { \"stages\": [ { \"repeat\": 2, \"forward\": \"10 ms\", \"backward\": \"20 "    \
    "ms\","                                                                                        \
    " \"parameters\": \"4 MB\", \"input\": \"1 MB\", \"graph\": \"10 MB\","                        \
    " \"reversible\": true } ] },\n"                                                               \
    "  \"platform\": \"" PSIM_SOURCE_DIR "/platforms/clusters/8x-a100-nvswitch.json\",\n"          \
    "  \"methods\": [ \"petra\" ], \"conditions\": { \"updates\": 2 },\n"                          \
    "  \"batch\": { \"microbatch\": 4, \"accumulation\": 2 } }\n"

struct keys {
    char items[KEYS][KEY_BYTES];
    int count;
};

static bool has_key(const struct keys *keys, const char *key)
{
    for (int i = 0; i < keys->count; i++) {
        if (strcmp(keys->items[i], key) == 0)
            return true;
    }
    return false;
}

static void add_key(struct keys *keys, const char *key, size_t length)
{
    char text[KEY_BYTES];

    assert_true(length < sizeof text);
    memcpy(text, key, length);
    text[length] = '\0';
    if (has_key(keys, text))
        return;
    assert_true(keys->count < KEYS);
    memcpy(keys->items[keys->count++], text, length + 1);
}

/* The first cells, in backticks, of the table rows below a heading, as far as the next one. */
static void documented_keys(const char *text, const char *heading, struct keys *out)
{
    const char *section = strstr(text, heading), *end;

    assert_non_null(section);
    section += strlen(heading);
    end = strstr(section, "\n##");
    out->count = 0;
    for (const char *row = section;
         (row = strstr(row, "\n| `")) != NULL && (end == NULL || row < end);) {
        row += strlen("\n| `");
        add_key(out, row, strcspn(row, "`"));
    }
}

/* What the document calls the keys of an object that are not fixed; NULL for any other. */
static const char *placeholder(const char *parent)
{
    static const char *const names[][2] = {{"options", "OPTION"},
                                           {"speedup_vs", "LABEL"},
                                           {"by_category_at_peak", "CATEGORY"},
                                           {"memory_by_category_at_peak", "CATEGORY"},
                                           {"tags", "ORIGIN"}};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(parent, names[i][0]) == 0)
            return names[i][1];
    }
    return NULL;
}

/* Every key of the document as "results[].memory.fits". */
static void collect(const json_t *node, const char *path, const char *name, struct keys *out)
{
    char below[KEY_BYTES];
    const char *key;
    json_t *value;
    size_t i;

    if (json_is_object(node)) {
        json_object_foreach((json_t *)(uintptr_t)node, key, value)
        {
            const char *shown = placeholder(name) == NULL ? key : placeholder(name);

            snprintf(below, sizeof below, "%s%s%s", path, path[0] == '\0' ? "" : ".", shown);
            collect(value, below, key, out);
        }
        /* An object that may be null has a row of its own. */
        if (strcmp(name, "run") == 0)
            add_key(out, path, strlen(path));
    } else if (json_is_array(node)) {
        snprintf(below, sizeof below, "%s[]", path);
        json_array_foreach(node, i, value) collect(value, below, "", out);
        if (json_array_size(node) == 0)
            add_key(out, below, strlen(below));
    } else {
        add_key(out, path, strlen(path));
    }
}

/* The first key of `a` that `b` lacks, or of `b` that `a` lacks; NULL when they hold the same. */
static const char *difference(const struct keys *a, const struct keys *b)
{
    for (int i = 0; i < a->count; i++) {
        if (!has_key(b, a->items[i]))
            return a->items[i];
    }
    for (int i = 0; i < b->count; i++) {
        if (!has_key(a, b->items[i]))
            return b->items[i];
    }
    return NULL;
}

static void check_same(const struct keys *documented, const struct keys *real)
{
    const char *key = difference(documented, real);

    if (key != NULL)
        fail_msg("%s is %s", key,
                 has_key(documented, key) ? "documented, and no result has it" : "not documented");
}

static void collect_result(const char *scenario, struct keys *out)
{
    struct test_output output = test_petrasim("compare", "--format", "json", scenario);
    json_t *root;

    check_code(&output, 0);
    root = test_json_parse(output.out);
    collect(root, "", "", out);
    json_decref(root);
    test_output_free(&output);
}

static void every_key_of_a_result_is_documented_and_no_other(void **state)
{
    static struct keys documented, real;
    char *text = test_file_read(DOCUMENT, NULL);

    (void)state;
    test_file_write("fixed_run.json", FIXED_RUN);
    documented_keys(text, "\n## JSON\n", &documented);
    collect_result(SMALL, &real);
    collect_result("fixed_run.json", &real);
    check_same(&documented, &real);
    free(text);
}

static void categories_and_origins_are_documented(void **state)
{
    static struct keys documented, real;
    char *text = test_file_read(DOCUMENT, NULL);

    (void)state;
    documented_keys(text, "\n### Categories of memory\n", &documented);
    for (int i = 0; i < PSIM_MEMORY_CATEGORIES; i++)
        add_key(&real, psim_memory_category_names[i], strlen(psim_memory_category_names[i]));
    check_same(&documented, &real);
    documented_keys(text, "\n### Origins of a figure\n", &documented);
    real.count = 0;
    for (int i = 0; i < PSIM_TAGS; i++)
        add_key(&real, psim_tag_names[i], strlen(psim_tag_names[i]));
    check_same(&documented, &real);
    free(text);
}

/* The headings of a CSV, which need no quotes. */
static void csv_columns(const char *text, struct keys *out)
{
    out->count = 0;
    for (;;) {
        const size_t length = strcspn(text, ",\r");

        add_key(out, text, length);
        if (text[length] != ',')
            return;
        text += length + 1;
    }
}

static void every_column_of_csv_is_documented_and_no_other(void **state)
{
    static const char *const commands[] = {"compare", "run"};
    static struct keys documented, real;
    char *text = test_file_read(DOCUMENT, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        struct test_output output = test_petrasim(commands[i], "--format", "csv", SMALL);
        char heading[64];

        check_code(&output, 0);
        snprintf(heading, sizeof heading, "\n## CSV of %s\n", commands[i]);
        documented_keys(text, heading, &documented);
        csv_columns(output.out, &real);
        check_same(&documented, &real);
        assert_int_equal(documented.count, real.count);
        test_output_free(&output);
    }
    free(text);
}

/* The heading of a column as the document writes it: its group, and the name on one line. */
static void heading_of(const struct psim_column *column, char *out, size_t size)
{
    size_t length =
        (size_t)snprintf(out, size, "%s%s", column->group, column->group[0] == '\0' ? "" : ": ");

    if (column->panels == 0) {
        snprintf(out, size, "-");
        return;
    }
    for (const char *name = column->name; *name != '\0' && length + 1 < size; name++) {
        if (*name != '_')
            out[length++] = *name;
        else if (length > 0 && out[length - 1] != '-')
            out[length++] = ' ';
    }
    out[length] = '\0';
}

/* True when the row of a column names its heading in the third cell. */
static bool names_heading(const char *section, const char *key, const char *heading)
{
    char row[KEY_BYTES];
    const char *cell;

    snprintf(row, sizeof row, "\n| `%s` |", key);
    cell = strstr(section, row);
    if (cell == NULL)
        return false;
    cell = strchr(cell + strlen(row), '|');
    snprintf(row, sizeof row, "| %s |", heading);
    return cell != NULL && strncmp(cell, row, strlen(row)) == 0;
}

static void every_column_has_the_heading_that_tables_show(void **state)
{
    static const struct {
        const char *section;
        const struct psim_column_set *set;
    } views[] = {{"\n## CSV of compare\n", &psim_compare_columns},
                 {"\n## CSV of run\n", &psim_stage_columns}};
    char *text = test_file_read(DOCUMENT, NULL);

    (void)state;
    for (size_t i = 0; i < sizeof views / sizeof views[0]; i++) {
        const char *section = strstr(text, views[i].section);

        assert_non_null(section);
        for (int j = 0; j < views[i].set->count; j++) {
            const struct psim_column *column = &views[i].set->columns[j];
            char heading[KEY_BYTES];

            heading_of(column, heading, sizeof heading);
            if (!names_heading(section, column->key, heading))
                fail_msg("%s: %s", column->key, heading);
        }
    }
    free(text);
}

static void checkers_reject_what_is_missing_and_what_is_too_much(void **state)
{
    static const char table[] = "\n## JSON\n| key |\n|---|\n| `a` | s | x |\n| `b[].c` | - | y |\n"
                                "\n## Else\n| `d` |\n";
    static struct keys documented, real;
    json_t *root = test_json_parse("{\"a\": 1, \"b\": [{\"c\": null}], \"options\": {\"k\": 2}}");

    (void)state;
    documented_keys(table, "\n## JSON\n", &documented);
    assert_int_equal(documented.count, 2);
    collect(root, "", "", &real);
    assert_string_equal(difference(&documented, &real), "options.OPTION");
    add_key(&documented, "options.OPTION", strlen("options.OPTION"));
    assert_null(difference(&documented, &real));
    add_key(&documented, "e", 1);
    assert_string_equal(difference(&documented, &real), "e");
    assert_true(names_heading(table, "a", "x"));
    assert_false(names_heading(table, "a", "y"));
    assert_false(names_heading(table, "z", "x"));
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_of_a_result_is_documented_and_no_other),
        cmocka_unit_test(categories_and_origins_are_documented),
        cmocka_unit_test(every_column_of_csv_is_documented_and_no_other),
        cmocka_unit_test(every_column_has_the_heading_that_tables_show),
        cmocka_unit_test(checkers_reject_what_is_missing_and_what_is_too_much),
    };

    return cmocka_run_group_tests_name("result docs", tests, test_scratch_enter,
                                       test_scratch_leave);
}

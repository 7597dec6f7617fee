/*
 * The committed report is what the program gives today: reports/table1/make.sh writes it anew into
 * a scratch folder; the JSON is compared by value, the Markdown by the text of its cells.
 */
#include "tests/support/check.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPORT    PSIM_SOURCE_DIR "/reports/table1"
#define NAME      "revnet50-imagenet"
#define TOLERANCE 1e-9 /* compilers and libraries may differ in the last digits */

/* What tells which program made it, not what it found. */
static const char *const free_values[] = {"/provenance/version", "/provenance/simgrid",
                                          "/provenance/inputs_sha256", NULL};

struct report {
    json_t *json;
    char *markdown;
};

static struct report read_report(const char *folder)
{
    struct report report;
    char path[4096], *text;

    snprintf(path, sizeof path, "%s/" NAME ".json", folder);
    text = test_file_read(path, NULL);
    report.json = test_json_parse(text);
    free(text);
    snprintf(path, sizeof path, "%s/" NAME ".md", folder);
    report.markdown = test_file_read(path, NULL);
    return report;
}

static void free_report(struct report *report)
{
    json_decref(report->json);
    free(report->markdown);
}

/* The next table line at or after `at`, as a copy with the blanks round its cells taken away; NULL
 * when there is none. */
static char *next_cells(const char **at)
{
    const char *line = *at;
    size_t length, used = 0;
    char *cells;

    while (*line != '\0' && *line != '|')
        line += strcspn(line, "\n") + (strchr(line, '\n') == NULL ? 0 : 1);
    length = strcspn(line, "\n");
    *at = line + length;
    if (length == 0)
        return NULL;
    cells = malloc(length + 1);
    assert_non_null(cells);
    for (size_t i = 0; i < length; i++) {
        const bool after_bar = used > 0 && cells[used - 1] == '|';

        if (line[i] == ' ' && (after_bar || line[i + 1 + strspn(line + i + 1, " ")] == '|'))
            continue;
        cells[used++] = line[i];
    }
    cells[used] = '\0';
    return cells;
}

/* Number of table lines that two Markdown documents share before they differ in a cell; *same is
 * false when they do. */
static int compare_cells(const char *got, const char *want, bool *same)
{
    int lines = 0;

    *same = true;
    for (;;) {
        char *a = next_cells(&got), *b = next_cells(&want);

        *same = a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
        if (!*same)
            print_error("cells differ:\n  %s\n  %s\n", a == NULL ? "" : a, b == NULL ? "" : b);
        if (!*same || a == NULL) {
            free(a);
            free(b);
            return lines;
        }
        free(a);
        free(b);
        lines++;
    }
}

static void the_report_is_what_its_script_writes(void **state)
{
    struct test_output output = test_program(
        &(struct test_start){.stdout_path = NULL},
        (const char *const[]){"/usr/bin/env", "bash", REPORT "/make.sh", PSIM_PROGRAM, ".", NULL});
    struct report made, kept = read_report(REPORT);
    char where[512];
    bool same;

    (void)state;
    check_code(&output, 0);
    test_output_free(&output);
    made = read_report(".");
    if (!test_json_same(made.json, kept.json, TOLERANCE, free_values, where, sizeof where))
        fail_msg("reports/table1/" NAME ".json differs at %s; see reports/table1/README.md", where);
    assert_true(compare_cells(made.markdown, kept.markdown, &same) > 20);
    assert_true(same);
    free_report(&made);
    free_report(&kept);
}

static void the_readme_has_the_commands_of_the_script(void **state)
{
    char *readme = test_file_read(REPORT "/README.md", NULL);
    char *script = test_file_read(REPORT "/make.sh", NULL);

    (void)state;
    check_contains(script, "scenario=scenarios/table1/revnet50-imagenet.json\n");
    check_contains(script, "compare --format md --out \"$folder/" NAME ".md\" \"$scenario\"\n");
    check_contains(script, "compare --format json --out \"$folder/" NAME ".json\" \"$scenario\"\n");
    check_contains(readme, "`build/petrasim compare --format md --out reports/table1/" NAME
                           ".md scenarios/table1/revnet50-imagenet.json`");
    check_contains(readme, "`build/petrasim compare --format json --out reports/table1/" NAME
                           ".json scenarios/table1/revnet50-imagenet.json`");
    free(readme);
    free(script);
}

static void a_figure_that_moved_is_noticed(void **state)
{
    static const struct {
        const char *object, *key, *pointer;
    } changes[] = {
        {"/results/8", "time_per_microbatch_s", "/results/8/time_per_microbatch_s"},
        {"/results/0/stages/17", "memory_peak_bytes", "/results/0/stages/17/memory_peak_bytes"},
    };
    char where[512];

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct report kept = read_report(REPORT);
        json_t *changed = json_deep_copy(kept.json);
        json_t *object = test_json_at(changed, changes[i].object);
        const double value = json_number_value(json_object_get(object, changes[i].key));

        json_object_set_new(object, changes[i].key, json_real((1 + 3e-9) * value));
        assert_false(
            test_json_same(changed, kept.json, TOLERANCE, free_values, where, sizeof where));
        assert_string_equal(where, changes[i].pointer);
        json_object_set_new(object, changes[i].key, json_real((1 + 3e-10) * value));
        assert_true(
            test_json_same(changed, kept.json, TOLERANCE, free_values, where, sizeof where));
        json_decref(changed);
        free_report(&kept);
    }
}

static void another_text_or_key_is_noticed_but_for_the_provenance(void **state)
{
    struct report kept = read_report(REPORT);
    json_t *changed = json_deep_copy(kept.json);
    json_t *provenance = json_object_get(changed, "provenance");
    char where[512];

    (void)state;
    json_object_set_new(provenance, "version", json_string("another"));
    assert_true(test_json_same(changed, kept.json, TOLERANCE, free_values, where, sizeof where));
    json_object_del(provenance, "version");
    assert_false(test_json_same(changed, kept.json, TOLERANCE, free_values, where, sizeof where));
    assert_string_equal(where, "/provenance");
    json_object_set_new(provenance, "version", json_string("another"));
    json_object_set_new(test_json_at(changed, "/results/3"), "bottleneck", json_string("none"));
    assert_false(test_json_same(changed, kept.json, TOLERANCE, free_values, where, sizeof where));
    assert_string_equal(where, "/results/3/bottleneck");
    json_decref(changed);
    free_report(&kept);
}

static void a_changed_cell_is_noticed_and_blanks_are_not(void **state)
{
    static const char want[] = "# a\n\n| x | y \\| z |\n| :--- | ---: |\n| a b | 1.0 |\nend\n";
    bool same;

    (void)state;
    assert_int_equal(compare_cells(want, want, &same), 3);
    assert_true(same);
    assert_int_equal(
        compare_cells("| x  | y \\| z |\n|:--- | ---: |\n|  a b | 1.0|\n", want, &same), 3);
    assert_true(same);
    assert_int_equal(
        compare_cells("| x | y \\| z |\n| :--- | ---: |\n| a b | 1.1 |\n", want, &same), 2);
    assert_false(same);
    assert_int_equal(compare_cells("| x | y \\| z |\n| :--- | ---: |\n| ab | 1.0 |\n", want, &same),
                     2);
    assert_false(same);
    assert_int_equal(compare_cells("| x | y \\| z |\n| :--- | ---: |\n", want, &same), 2);
    assert_false(same);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_report_is_what_its_script_writes),
        cmocka_unit_test(the_readme_has_the_commands_of_the_script),
        cmocka_unit_test(a_figure_that_moved_is_noticed),
        cmocka_unit_test(another_text_or_key_is_noticed_but_for_the_provenance),
        cmocka_unit_test(a_changed_cell_is_noticed_and_blanks_are_not),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

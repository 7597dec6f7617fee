/*
 * Published figures: scenarios/published/<key>/scenario.json must give every value of the
 * expected.json beside it, within the tolerance that stands with the value.
 */
#include "tests/support/check.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PUBLISHED PSIM_SOURCE_DIR "/scenarios/published"
#define WRONG     PSIM_SOURCE_DIR "/tests/data/cli/wrong_expectations"

struct expectation {
    const char *label, *pointer, *source;
    double value, tolerance;
};

static void enter(const char *folder)
{
    if (chdir(folder) != 0)
        fail_msg("%s is no folder", folder);
}

/* The expected.json of the working folder. */
static json_t *read_expected(void)
{
    char *text = test_file_read("expected.json", NULL);
    json_t *root = test_json_parse(text);

    free(text);
    assert_string_equal(test_json_text(root, "/petrasim"), "expected/1");
    assert_true(json_array_size(json_object_get(root, "expected")) > 0);
    return root;
}

/* The result of the scenario.json of the working folder. */
static json_t *compare(void)
{
    struct test_output output = test_petrasim("compare", "--format", "json", "scenario.json");
    json_t *root;

    check_code(&output, 0);
    root = test_json_parse(output.out);
    test_output_free(&output);
    return root;
}

static bool read_expectation(const json_t *entry, struct expectation *out)
{
    json_t *unpackable = (json_t *)(uintptr_t)entry;

    return json_unpack(unpackable, "{s:s, s:s, s:F, s:F, s:s!}", "label", &out->label, "pointer",
                       &out->pointer, "value", &out->value, "tolerance", &out->tolerance, "source",
                       &out->source) == 0 &&
           out->tolerance >= 0 && out->source[0] != '\0';
}

static const json_t *find_row(const json_t *result, const char *label)
{
    const json_t *rows = json_object_get(result, "results");

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        if (strcmp(test_json_text(row, "/label"), label) == 0)
            return row;
    }
    return NULL;
}

/* What is wrong, starting with the words by which wrong_expectations names it; NULL: it holds. */
static const char *verdict(const json_t *result, const json_t *entry)
{
    static char text[512];
    struct expectation e;
    const json_t *row, *value;

    if (!read_expectation(entry, &e))
        return "not an expectation";
    row = find_row(result, e.label);
    value = row == NULL ? NULL : test_json_at(row, e.pointer);
    if (row == NULL) {
        snprintf(text, sizeof text, "no row \"%s\"", e.label);
    } else if (!json_is_number(value)) {
        snprintf(text, sizeof text, "no number at %s of \"%s\"", e.pointer, e.label);
    } else if (!(fabs(json_number_value(value) - e.value) <= e.tolerance)) {
        snprintf(text, sizeof text, "not within %.10g of %.10g: %s of \"%s\" is %.10g (%s)",
                 e.tolerance, e.value, e.pointer, e.label, json_number_value(value), e.source);
    } else {
        return NULL;
    }
    return text;
}

/* Number of expectations of the working folder that do not hold; prints each. */
static int count_faults(const char *name)
{
    json_t *expected = read_expected(), *result = compare();
    const json_t *list = json_object_get(expected, "expected");
    int faults = 0;

    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *wrong = verdict(result, json_array_get(list, i));

        if (wrong == NULL)
            continue;
        print_error("%s: %s\n", name, wrong);
        faults++;
    }
    json_decref(expected);
    json_decref(result);
    return faults;
}

static void every_published_value_is_met(void **state)
{
    DIR *folder = opendir(PUBLISHED);
    const struct dirent *entry;
    int studies = 0, faults = 0;

    (void)state;
    assert_non_null(folder);
    while ((entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        enter(PUBLISHED);
        enter(entry->d_name);
        faults += count_faults(entry->d_name);
        studies++;
    }
    closedir(folder);
    assert_true(studies > 0);
    assert_int_equal(faults, 0);
}

static void every_wrong_expectation_is_rejected_for_its_reason(void **state)
{
    json_t *expected, *result;
    const json_t *list;

    (void)state;
    enter(WRONG);
    expected = read_expected();
    result = compare();
    list = json_object_get(expected, "expected");
    assert_null(verdict(result, json_array_get(list, 0)));
    for (size_t i = 1; i < json_array_size(list); i++) {
        const json_t *entry = json_array_get(list, i);
        const char *reason = test_json_text(entry, "/source"), *wrong = verdict(result, entry);

        if (wrong == NULL || strncmp(wrong, reason, strlen(reason)) != 0)
            fail_msg("expectation %zu: \"%s\" instead of \"%s\"", i,
                     wrong == NULL ? "holds" : wrong, reason);
    }
    json_decref(expected);
    json_decref(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_published_value_is_met),
        cmocka_unit_test(every_wrong_expectation_is_rejected_for_its_reason),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

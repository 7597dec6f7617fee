/* docs/platforms.md: its files are valid, and no key of a topology is missing. */
#include "sim/config/scenario.h"
#include "tests/support/check.h"
#include "tests/support/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOCUMENT PSIM_SOURCE_DIR "/docs/platforms.md"

/* A heading "### `kind`" and, in its section, a row for each key. */
static bool has_section(const char *text, const char *kind, const struct psim_parameter *parameters)
{
    char heading[64], row[64];
    const char *section = text;

    snprintf(heading, sizeof heading, "\n### `%s`", kind);
    while ((section = strstr(section, heading)) != NULL) {
        const char *end = strstr(section + 1, "\n## ");
        const char *next = strstr(section + 1, "\n### ");
        bool whole = true;

        if (end == NULL || (next != NULL && next < end))
            end = next;
        for (int i = 0; parameters[i].name != NULL; i++) {
            const char *found;

            snprintf(row, sizeof row, "\n| `%s` |", parameters[i].name);
            found = strstr(section, row);
            whole = whole && found != NULL && (end == NULL || found < end);
        }
        if (whole)
            return true;
        section++;
    }
    return false;
}

static void every_key_of_every_topology_has_its_row(void **state)
{
    char *text = test_file_read(DOCUMENT, NULL);

    (void)state;
    for (int i = 0; psim_interconnect_table[i] != NULL; i++) {
        if (!has_section(text, psim_interconnect_table[i]->name,
                         psim_interconnect_table[i]->parameters))
            fail_msg("interconnect %s", psim_interconnect_table[i]->name);
    }
    for (int i = 0; psim_network_kind_table[i] != NULL; i++) {
        if (!has_section(text, psim_network_kind_table[i]->name,
                         psim_network_kind_table[i]->parameters))
            fail_msg("network %s", psim_network_kind_table[i]->name);
    }
    free(text);
}

static void checker_rejects_a_missing_section_and_a_missing_row(void **state)
{
    static const struct psim_parameter keys[] = {{.name = "a"}, {.name = "b"}, {.name = NULL}};
    static const char whole[] = "\n### `k`: x\n| `a` | x |\n| `b` | x |\n## y\n";

    (void)state;
    assert_true(has_section(whole, "k", keys));
    assert_false(has_section(whole, "l", keys));
    assert_false(has_section("\n### `k`: x\n| `a` | x |\n", "k", keys));
    assert_false(has_section("\n### `k`: x\n| `a` | x |\n## y\n| `b` | x |\n", "k", keys));
}

/* Writes every file that the document shows; the device under the name that it says. */
static int write_files(char *text)
{
    int files = 0;

    for (char *block = text; (block = strstr(block, "```json\n")) != NULL; files++) {
        char *start = block + strlen("```json\n"), *end = strstr(start, "```");
        char name[32];

        assert_non_null(end);
        *end = '\0';
        snprintf(name, sizeof name, "platform%d.json", files);
        test_file_write(strstr(start, "\"device/1\"") != NULL ? "my-gpu.json" : name, start);
        block = end + 1;
    }
    return files;
}

static void every_file_in_it_is_valid(void **state)
{
    static const char *const files[] = {"platform0.json", "platform1.json", "my-gpu.json",
                                        "platform3.json"};
    char *text = test_file_read(DOCUMENT, NULL);

    (void)state;
    assert_int_equal(write_files(text), 4);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct test_output output = test_petrasim("check", files[i]);

        check_code(&output, 0);
        assert_null(strstr(output.err, "warning"));
        test_output_free(&output);
    }
    free(text);
}

/* The cluster with a device of its own runs a pipeline through both kinds of machine. */
static void a_cluster_of_ones_own_simulates(void **state)
{
    char *text = test_file_read(DOCUMENT, NULL);
    struct test_output output;

    (void)state;
    (void)write_files(text);
    free(text);
    test_file_write(
        "scenario.json",
        "{ \"petrasim\": \"scenario/1\", \"model\": { \"name\": \"revnet18\" }, "
        "\"platform\": \"platform1.json\", \"methods\": [\"petra\"], \"batch\": { "
        "\"microbatch\": 8 }, \"precision\": \"bf16\", \"placement\": [\"big0.gpu0\", "
        "\"big0.gpu3\", \"big1.gpu0\", \"desk0.gpu0\", \"desk0.gpu1\", \"desk2.gpu1\"], "
        "\"partition\": \"balanced\" }");
    output = test_petrasim("run", "scenario.json");
    check_code(&output, 0);
    check_contains(output.out, "My GPU");
    check_contains(output.out, "desk2.gpu1");
    test_output_free(&output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_of_every_topology_has_its_row),
        cmocka_unit_test(checker_rejects_a_missing_section_and_a_missing_row),
        cmocka_unit_test(every_file_in_it_is_valid),
        cmocka_unit_test(a_cluster_of_ones_own_simulates),
    };

    return cmocka_run_group_tests_name("platform docs", tests, test_scratch_enter,
                                       test_scratch_leave);
}

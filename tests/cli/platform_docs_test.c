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

static void every_file_in_it_is_valid(void **state)
{
    char *text = test_file_read(DOCUMENT, NULL);
    int files = 0;

    (void)state;
    for (char *block = text; (block = strstr(block, "```json\n")) != NULL; files++) {
        char *start = block + strlen("```json\n"), *end = strstr(start, "```");
        struct test_output output;

        assert_non_null(end);
        *end = '\0';
        test_file_write("platform.json", start);
        output = test_petrasim("check", "platform.json");
        check_code(&output, 0);
        test_output_free(&output);
        block = end + 1;
    }
    assert_int_equal(files, 2);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_of_every_topology_has_its_row),
        cmocka_unit_test(checker_rejects_a_missing_section_and_a_missing_row),
        cmocka_unit_test(every_file_in_it_is_valid),
    };

    return cmocka_run_group_tests_name("platform docs", tests, test_scratch_enter,
                                       test_scratch_leave);
}

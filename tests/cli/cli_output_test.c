/* Where results go: five formats, standard output, --out whole or not at all. */
#include "sim/cli/cli.h"
#include "tests/support/check.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DATA   PSIM_SOURCE_DIR "/tests/data/cli"
#define LABELS DATA "/labels.json"
#define FAULTY DATA "/two_faults.json"

/* A label with what the format gives a meaning to, as it must be written. */
static const struct {
    const char *begin, *label;
} looks[PSIM_FORMATS] = {
    [PSIM_FORMAT_TABLE] = {"labels.json\n\n", "50 % & \\delayed_$"},
    [PSIM_FORMAT_MARKDOWN] = {"# labels.json\n", "| gpipe \\| \"recompute\" |"},
    [PSIM_FORMAT_CSV] = {"method,label,", ",\"petra, \"\"shared\"\"\","},
    [PSIM_FORMAT_LATEX] = {"% needs \\usepackage{booktabs}\n", "50 \\% \\& "},
    [PSIM_FORMAT_JSON] = {"{\n  \"petrasim\": \"result/1\",", "\"petra, \\\"shared\\\"\""},
};

static void both_views_are_written_in_all_five_formats(void **state)
{
    static const char *const views[] = {"compare", "run"};

    (void)state;
    for (size_t v = 0; v < 2; v++) {
        for (int f = 0; f < PSIM_FORMATS; f++) {
            struct test_output output =
                test_petrasim(views[v], "--format", psim_format_names[f], LABELS);

            check_code(&output, 0);
            assert_string_equal(output.err, "");
            assert_int_equal(strncmp(output.out, looks[f].begin, strlen(looks[f].begin)), 0);
            check_contains(output.out, v == 0 ? looks[f].label : "backprop");
            assert_int_equal(output.out[output.out_length - 1], '\n');
            test_output_free(&output);
        }
    }
}

static void the_table_is_the_default_and_the_views_differ(void **state)
{
    struct test_output plain = test_petrasim("compare", LABELS);
    struct test_output table = test_petrasim("compare", "--format=table", LABELS);
    struct test_output run = test_petrasim("run", LABELS);

    (void)state;
    assert_string_equal(plain.out, table.out);
    assert_string_not_equal(plain.out, run.out);
    check_contains(run.out, "\nStages\n");
    test_output_free(&plain);
    test_output_free(&table);
    test_output_free(&run);
}

static void no_column_of_the_table_is_coloured(void **state)
{
    struct test_output output = test_petrasim("compare", LABELS);

    (void)state;
    assert_null(strchr(output.out, '\033'));
    test_output_free(&output);
}

static void out_receives_what_stdout_would(void **state)
{
    struct test_output shown = test_petrasim("compare", "--format=json", LABELS);
    struct test_output written =
        test_petrasim("compare", "--format=json", "-o", "new.json", LABELS);
    char *text;

    (void)state;
    check_code(&written, 0);
    assert_string_equal(written.out, "");
    text = test_file_read("new.json", NULL);
    assert_string_equal(text, shown.out);
    free(text);
    test_output_free(&shown);
    test_output_free(&written);
}

static void out_serves_every_command(void **state)
{
    static const char *const words[][3] = {
        {"list", "methods", NULL}, {"show", "method", "petra"}, {"check", LABELS, NULL}};

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct test_output shown = test_petrasim(words[i][0], words[i][1], words[i][2]);
        struct test_output written =
            test_petrasim("--out=every", words[i][0], words[i][1], words[i][2]);
        char *text = test_file_read("every", NULL);

        check_code(&written, 0);
        assert_string_equal(written.out, "");
        assert_string_equal(text, shown.out);
        free(text);
        test_output_free(&shown);
        test_output_free(&written);
    }
}

/* "kept" holds "before" before and after; nothing else is left behind. */
static void check_kept(struct test_output output, int code, const char *err)
{
    char *text = test_file_read("kept", NULL);

    check_code(&output, code);
    assert_string_equal(output.out, "");
    check_contains(output.err, err);
    assert_string_equal(text, "before");
    free(text);
    test_output_free(&output);
}

static void an_existing_file_is_replaced_whole(void **state)
{
    struct test_output output;
    char *text;

    (void)state;
    test_file_write("kept", "before");
    output = test_petrasim("compare", "--format=csv", "--out", "kept", LABELS);
    check_code(&output, 0);
    text = test_file_read("kept", NULL);
    assert_memory_equal(text, "method,", 7);
    free(text);
    test_output_free(&output);
}

static void an_invalid_scenario_makes_no_file_and_keeps_the_old_one(void **state)
{
    struct test_output output = test_petrasim("compare", "--out", "not-made", FAULTY);

    (void)state;
    check_code(&output, 3);
    assert_string_equal(output.out, "");
    assert_false(test_file_exists("not-made"));
    test_output_free(&output);
    test_file_write("kept", "before");
    check_kept(test_petrasim("compare", "--out", "kept", FAULTY), 3, FAULTY ":5:28: error: ");
    check_kept(test_petrasim("compare", "--out", "kept", "missing.json"), 3, "cannot be read");
    check_kept(test_petrasim("compare", "--out", "kept", "."), 3, "is a folder");
    check_kept(test_petrasim("show", "device", "A1000", "--out", "kept"), 3, "A1000");
}

static void what_cannot_be_written_is_said_and_nothing_is_left(void **state)
{
    int before;

    (void)state;
    assert_int_equal(mkdir("folder", 0777), 0);
    test_file_write("kept", "before");
    before = test_folder_count(".");
    check_kept(test_petrasim("compare", "--out", "nowhere/x.json", LABELS), 5,
               "nowhere/x.json: cannot be written: No such file or directory");
    check_kept(test_petrasim("compare", "--out", "folder", LABELS), 5,
               "folder: cannot be written: Is a directory");
    check_kept(test_petrasim("compare", "--out", "kept/x.json", LABELS), 5, "Not a directory");
    check_kept(test_petrasim("compare", "--out", "/proc/x.json", LABELS), 5, "cannot be written");
    check_kept(test_petrasim("compare", "--out", "/dev/full", LABELS), 5, "No space left");
    check_kept(test_petrasim("list", "methods", "--out", "nowhere/x"), 5, "cannot be written");
    assert_int_equal(test_folder_count("."), before);
    assert_int_equal(test_folder_count("folder"), 0);
}

static void a_file_that_breaks_off_half_way_leaves_the_old_one(void **state)
{
    const struct test_start full = {.file_bytes_max = 2000};
    int before;

    (void)state;
    test_file_write("kept", "before");
    before = test_folder_count(".");
    check_kept(
        test_petrasim_as(&full, "compare", "--engine=replay", "--format=json", "-okept", LABELS), 2,
        "unknown option '-okept'");
    check_kept(test_petrasim_as(&full, "compare", "--engine=replay", "--format=json", "-o", "kept",
                                LABELS),
               5, "kept: cannot be written: File too large");
    assert_int_equal(test_folder_count("."), before);
}

static void what_may_not_be_written_is_kept(void **state)
{
    (void)state;
    if (geteuid() == 0)
        skip(); /* root may write everything */
    test_file_write("kept", "before");
    assert_int_equal(chmod("kept", 0444), 0);
    check_kept(test_petrasim("compare", "--out", "kept", LABELS), 5, "Permission denied");
    assert_int_equal(unlink("kept"), 0);
    test_file_write("kept", "before");
    assert_int_equal(mkdir("closed", 0555), 0);
    check_kept(test_petrasim("compare", "--out", "closed/x", LABELS), 5, "Permission denied");
}

static void a_full_stdout_is_a_failure(void **state)
{
    static const char *const words[][3] = {{"compare", LABELS, NULL},   {"list", "methods", NULL},
                                           {"show", "method", "petra"}, {"check", LABELS, NULL},
                                           {"--help", NULL, NULL},      {"compare", "--help", NULL},
                                           {"--version", NULL, NULL}};
    const struct test_start start = {.stdout_path = "/dev/full"};

    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        struct test_output output = test_petrasim_as(&start, words[i][0], words[i][1], words[i][2]);

        check_code(&output, 5);
        check_contains(output.err, "petrasim: standard output");
        test_output_free(&output);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_views_are_written_in_all_five_formats),
        cmocka_unit_test(the_table_is_the_default_and_the_views_differ),
        cmocka_unit_test(no_column_of_the_table_is_coloured),
        cmocka_unit_test(out_receives_what_stdout_would),
        cmocka_unit_test(out_serves_every_command),
        cmocka_unit_test(an_existing_file_is_replaced_whole),
        cmocka_unit_test(an_invalid_scenario_makes_no_file_and_keeps_the_old_one),
        cmocka_unit_test(what_cannot_be_written_is_said_and_nothing_is_left),
        cmocka_unit_test(a_file_that_breaks_off_half_way_leaves_the_old_one),
        cmocka_unit_test(what_may_not_be_written_is_kept),
        cmocka_unit_test(a_full_stdout_is_a_failure),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

/* `petrasim collective`, and the report that is made with it. */
#include "tests/support/check.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"
#include <string.h>

#include <stdio.h>
#include <stdlib.h>

#define REPORT PSIM_SOURCE_DIR "/reports/collectives"

static void check_answer(struct test_output output, int code, const char *out, const char *err)
{
    check_code(&output, code);
    check_contains(output.out, out);
    check_contains(output.err, err);
    test_output_free(&output);
}

static void every_figure_has_its_tag(void **state)
{
    (void)state;
    /* 2 MiB is a measured size: 37.46 us.  Four ranks by tree: 2 (2 * 2 us + 1 MiB / 396 GB/s). */
    check_answer(test_petrasim("collective", "8x-h200", "--bytes", "2MiB", "--format", "csv"), 0,
                 "\n2097152,3.746e-05,", "");
    check_answer(test_petrasim("collective", "8x-h200", "--bytes", "1 MiB:2 MiB"), 0, "estimated",
                 "");
    check_answer(test_petrasim("collective", "8x-h200", "--bytes", "2MiB"), 0, "measured", "");
    check_answer(
        test_petrasim("collective", "8x-h200", "--bytes=1MiB", "--ranks=4", "--algorithm=tree"), 0,
        "13.30       78.86      118.30           13.30  assumed", "");
    check_answer(test_petrasim("collective", "8x-h200", "--kind", "broadcast", "--bytes", "1GiB",
                               "--engine", "replay"),
                 0, "broadcast of 8 ranks by ring, replay engine, links alone", "");
}

static void json_is_well_formed(void **state)
{
    struct test_output output = test_petrasim("collective", "8x-a100-nvswitch", "--format", "json",
                                              "--ranks", "1", "--bytes", "1KiB:1MiB");
    json_t *json;

    (void)state;
    check_code(&output, 0);
    json = test_json_parse(output.out);
    assert_int_equal(json_array_size(json_object_get(json, "sizes")), 11);
    json_decref(json);
    test_output_free(&output);
}

static void one_rank_has_no_bandwidth(void **state)
{
    struct test_output output =
        test_petrasim("collective", "8x-a100-nvswitch", "--ranks", "1", "--bytes", "1KiB:1MiB");

    (void)state;
    check_code(&output, 0);
    assert_null(strstr(output.out, "inf"));
    assert_null(strstr(output.out, "nan"));
    check_contains(output.out, " - ");
    test_output_free(&output);
}

static void what_cannot_be_is_named(void **state)
{
    (void)state;
    check_answer(test_petrasim("collective", "8x-h200", "--algorithm", "rin"), 2, "",
                 "there is no algorithm \"rin\"; nearest: ring");
    check_answer(test_petrasim("collective", "8x-h200", "--ranks", "9"), 2, "",
                 "8x-h200 has 8 devices");
    check_answer(test_petrasim("collective", "8x-h200", "--bytes", "2GiB:1GiB"), 2, "",
                 "sizes must rise");
    check_answer(test_petrasim("collective", "8x-h200", "--bytes", "2 parsec"), 2, "", "parsec");
    check_answer(test_petrasim("collective", "8x-h200", "--bytes", "2 MIB"), 2, "",
                 "petrasim: --bytes: unknown unit \"MIB\" of a size (did you mean \"MiB\"?)");
    check_answer(test_petrasim("collective", "8x-h200", "--ranks", "0"), 2, "",
                 "--ranks must be a whole number");
    check_answer(test_petrasim("collective", "8x-h20"), 3, "", "8x-h200");
    check_answer(test_petrasim("collective", "8x-h200", "--kind", "gather"), 2, "",
                 "must be one of all_reduce");
    check_answer(test_petrasim("collective", "8x-h200", "--format", "latex"), 2, "",
                 "--format must be one of table|csv|json, not 'latex'");
    check_answer(
        test_petrasim("collective", "8x-h200", "--kind", "broadcast", "--algorithm", "tree"), 2, "",
        "tree does not run broadcast");
}

/* A bad option is a bad command line whatever the platform is. */
static void options_are_read_before_the_platform(void **state)
{
    (void)state;
    check_answer(test_petrasim("collective", "no-such-platform", "--bytes", "many"), 2, "",
                 "petrasim: --bytes: a size is expected");
    check_answer(test_petrasim("collective", "no-such-platform", "--algorithm", "rin"), 2, "",
                 "nearest: ring");
}

static void help_offers_the_formats_that_are_written(void **state)
{
    struct test_output help = test_petrasim("collective", "--help");

    (void)state;
    check_code(&help, 0);
    check_contains(help.out, "--format table|csv|json ");
    assert_null(strstr(help.out, "latex"));
    test_output_free(&help);
    help = test_petrasim("compare", "--help");
    check_contains(help.out, "--format table|md|csv|latex|json");
    test_output_free(&help);
}

static void same_file(const char *name)
{
    char path[4096];
    char *kept, *made = test_file_read(name, NULL);

    snprintf(path, sizeof path, "%s/%s", REPORT, name);
    kept = test_file_read(path, NULL);
    assert_string_equal(made, kept);
    free(made);
    free(kept);
}

static void the_committed_report_is_what_comes_out(void **state)
{
    (void)state;
    assert_int_equal(system("bash '" REPORT "/make.sh' '" PSIM_PROGRAM "' ."), 0);
    same_file("README.md");
    same_file("accuracy.json");
}

static void check_copies(const char *methods_and_copies, const char *note, const char *algorithm)
{
    const char *path = "copies.json";
    char text[1024];
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    snprintf(text, sizeof text,
             "{ \"petrasim\": \"scenario/1\", \"model\": { \"stages\": [ { \"forward\": \"1 ms\", "
             "\"backward\": \"2 ms\", \"input\": \"1 MB\", \"parameters\": \"1 GB\" } ] }, "
             "\"platform\": \"" PSIM_SOURCE_DIR "/platforms/clusters/8x-h100.json\", "
             "\"batch\": { \"microbatch\": 1 }, \"methods\": [\"gpipe\"], %s }",
             methods_and_copies);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    check_answer(test_petrasim("run", path, "--format", "json"), 0, note, "");
    check_answer(test_petrasim("run", path, "--format", "json"), 0, algorithm, "");
    assert_int_equal(remove(path), 0);
}

/* A step sums its gradients by what was measured on such a group, unless it is told how. */
static void a_step_chooses_as_the_collective_does(void **state)
{
    (void)state;
    check_copies("\"data_parallel\": { \"replicas\": 8 }", "by nvls at measured rates before",
                 "\"collective\": \"nvls\"");
    check_copies("\"data_parallel\": { \"replicas\": 4 }", "by ring at measured rates before",
                 "\"collective\": \"ring\"");
    check_copies(
        "\"data_parallel\": { \"replicas\": 8, \"collective\": \"tree\", \"overlap\": false }",
        "by tree before each update, once all stages have theirs", "\"collective\": \"tree\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_step_chooses_as_the_collective_does, test_scratch_enter,
                                        test_scratch_leave),
        cmocka_unit_test(every_figure_has_its_tag),
        cmocka_unit_test(json_is_well_formed),
        cmocka_unit_test(one_rank_has_no_bandwidth),
        cmocka_unit_test(what_cannot_be_is_named),
        cmocka_unit_test(options_are_read_before_the_platform),
        cmocka_unit_test(help_offers_the_formats_that_are_written),
        cmocka_unit_test(the_committed_report_is_what_comes_out),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

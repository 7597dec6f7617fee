/*
 * Same input, same bytes: twice, whatever the number of workers, and wherever the machine puts
 * code, stack and heap.
 */
#include "tests/support/check.h"
#include "tests/support/program.h"

#include <stdlib.h>
#include <string.h>

#define LABELS PSIM_SOURCE_DIR "/tests/data/cli/labels.json"
#define TABLE1 PSIM_SOURCE_DIR "/scenarios/table1/revnet50-imagenet.json"

static const char *const formats[] = {"--format=json", "--format=table"};

struct files {
    struct test_output report;
    char *timeline, *trace;
};

static struct files run(const char *format, const char *workers, enum test_addresses addresses)
{
    const struct test_start start = {.addresses = addresses};
    struct files files = {
        .report = test_petrasim_as(&start, "compare", format, "--workers", workers, "--timeline",
                                   "timeline.csv", "--trace", "trace.json", LABELS),
    };

    if (files.report.code < 0)
        return files;
    check_code(&files.report, 0);
    files.timeline = test_file_read("timeline.csv", NULL);
    files.trace = test_file_read("trace.json", NULL);
    return files;
}

static void free_files(struct files *files)
{
    test_output_free(&files->report);
    free(files->timeline);
    free(files->trace);
}

static void check_same(const struct files *got, const struct files *want)
{
    assert_true(want->report.out_length > 1000);
    assert_int_equal(got->report.out_length, want->report.out_length);
    assert_memory_equal(got->report.out, want->report.out, want->report.out_length);
    assert_string_equal(got->timeline, want->timeline);
    assert_string_equal(got->trace, want->trace);
}

static void two_runs_give_the_same_bytes_with_one_worker_and_with_two(void **state)
{
    static const char *const workers[] = {"1", "2", "2", "64"};

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        struct files first = run(formats[f], "1", TEST_ADDRESSES_AS_IS);

        for (size_t i = 0; i < sizeof workers / sizeof workers[0]; i++) {
            struct files other = run(formats[f], workers[i], TEST_ADDRESSES_AS_IS);

            check_same(&other, &first);
            free_files(&other);
        }
        free_files(&first);
    }
}

static void fixed_and_random_addresses_give_the_same_bytes(void **state)
{
    bool possible = true;

    (void)state;
    for (size_t f = 0; f < 2; f++) {
        struct files fixed = run(formats[f], "2", TEST_ADDRESSES_FIXED);
        struct files random[2] = {run(formats[f], "2", TEST_ADDRESSES_RANDOM),
                                  run(formats[f], "2", TEST_ADDRESSES_RANDOM)};

        possible = fixed.report.code == 0 && random[0].report.code == 0;
        for (size_t i = 0; i < 2; i++) {
            if (possible)
                check_same(&random[i], &fixed);
            free_files(&random[i]);
        }
        free_files(&fixed);
    }
    if (!possible)
        skip(); /* this machine does not let the setting be changed */
}

static void the_main_job_gives_the_same_bytes(void **state)
{
    (void)state;
    for (size_t f = 0; f < 2; f++) {
        struct test_output first = test_petrasim("compare", formats[f], "--workers=1", TABLE1);
        struct test_output second = test_petrasim("compare", formats[f], "--workers=2", TABLE1);

        check_code(&first, 0);
        check_code(&second, 0);
        assert_string_equal(first.out, second.out);
        test_output_free(&first);
        test_output_free(&second);
    }
}

static void another_input_gives_another_digest(void **state)
{
    struct test_output first = test_petrasim("compare", "--format=json", LABELS);
    struct test_output second =
        test_petrasim("compare", "--format=json", "--engine=replay", TABLE1);
    static const char key[] = "\"inputs_sha256\": \"";
    const char *a = strstr(first.out, key), *b = strstr(second.out, key);

    (void)state;
    assert_true(a != NULL && b != NULL);
    assert_memory_not_equal(a, b, strlen(key) + 64);
    test_output_free(&first);
    test_output_free(&second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_runs_give_the_same_bytes_with_one_worker_and_with_two),
        cmocka_unit_test(fixed_and_random_addresses_give_the_same_bytes),
        cmocka_unit_test(the_main_job_gives_the_same_bytes),
        cmocka_unit_test(another_input_gives_another_digest),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

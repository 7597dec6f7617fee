/* `check`, `list` and `show`. */
#include "sim/method/method.h"
#include "tests/support/check.h"
#include "tests/support/program.h"

#include <stdio.h>
#include <string.h>

#define DATA      PSIM_SOURCE_DIR "/tests/data/cli"
#define PLATFORMS PSIM_SOURCE_DIR "/platforms"
#define UNIT      PSIM_SOURCE_DIR "/scenarios/smoke/unit.json"
#define FAULTY    DATA "/two_faults.json"

static void check_answer(struct test_output output, int code, const char *out, const char *err)
{
    check_code(&output, code);
    check_contains(output.out, out);
    check_contains(output.err, err);
    if (code != 0)
        assert_string_equal(output.out, "");
    if (code == 0)
        assert_string_equal(output.err, "");
    test_output_free(&output);
}

static void valid_files_of_every_kind_are_said_to_be_valid(void **state)
{
    struct test_output output = test_petrasim(
        "check", UNIT, PLATFORMS "/clusters/10x-a100.json", PLATFORMS "/devices/p40.json",
        PSIM_SOURCE_DIR "/tests/data/config/valid/layers.json");

    (void)state;
    check_code(&output, 0);
    assert_string_equal(output.err, "");
    assert_string_equal(output.out, UNIT ": scenario, valid\n" PLATFORMS
                                         "/clusters/10x-a100.json: platform, valid\n" PLATFORMS
                                         "/devices/p40.json: device, valid\n" PSIM_SOURCE_DIR
                                         "/tests/data/config/valid/layers.json: model, valid\n");
    test_output_free(&output);
}

static void every_fault_of_a_file_is_told_at_once_and_nothing_of_it_goes_to_stdout(void **state)
{
    (void)state;
    check_answer(test_petrasim("check", FAULTY), 3, "",
                 FAULTY ":5:28: error: .batch.microbatch: must be in [1, 1048576], not 0\n" FAULTY
                        ":6:3: error: .precison: unknown key \"precison\" (did you mean "
                        "\"precision\"?)\n");
}

static void one_bad_file_does_not_keep_the_others_from_being_checked(void **state)
{
    struct test_output output = test_petrasim("check", "missing.json", FAULTY, ".", UNIT);

    (void)state;
    check_code(&output, 3);
    assert_string_equal(output.out, UNIT ": scenario, valid\n");
    check_contains(output.err, "missing.json: error: cannot be read: No such file or directory\n");
    check_contains(output.err, FAULTY ":5:28: error: .batch.microbatch");
    check_contains(output.err, ".: error: is a folder\n");
    test_output_free(&output);
}

static void methods_are_all_listed(void **state)
{
    struct test_output output = test_petrasim("list", "methods");

    (void)state;
    check_code(&output, 0);
    for (size_t i = 0; psim_method_table[i] != NULL; i++) {
        check_contains(output.out, psim_method_table[i]->name);
        check_contains(output.out, psim_method_table[i]->summary);
    }
    test_output_free(&output);
}

/* Shows each first word of the list's lines; returns how many there are. */
static int show_all(const char *topic, const char *topics, bool heading)
{
    struct test_output list = test_petrasim("list", topics);
    int count = 0;

    check_code(&list, 0);
    assert_string_equal(list.err, "");
    for (char *line = strtok(list.out, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        struct test_output shown;

        if (heading && count++ == 0)
            continue;
        line[strcspn(line, " ")] = '\0';
        shown = test_petrasim("show", topic, line);
        check_code(&shown, 0);
        assert_string_equal(shown.err, "");
        assert_memory_equal(shown.out, line, strlen(line));
        test_output_free(&shown);
        count += heading ? 0 : 1;
    }
    test_output_free(&list);
    return heading ? count - 1 : count;
}

static void everything_listed_can_be_shown(void **state)
{
    (void)state;
    assert_int_equal(show_all("device", "devices", true), test_folder_count(PLATFORMS "/devices"));
    assert_int_equal(show_all("platform", "platforms", false),
                     test_folder_count(PLATFORMS "/clusters"));
    assert_true(show_all("model", "models", false) >= 8);
    assert_true(show_all("method", "methods", false) >= 8);
}

static void a_device_answers_to_its_alias_in_any_case(void **state)
{
    static const char *const names[] = {"A100", "a100", "A100-80GB", "A100-SXM4-80GB"};
    struct test_output first = test_petrasim("show", "device", "A100-SXM4-80GB");

    (void)state;
    check_code(&first, 0);
    check_contains(first.out, "2039 GB/s");
    check_contains(first.out, "published");
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct test_output output = test_petrasim("show", "device", names[i]);

        check_code(&output, 0);
        assert_string_equal(output.out, first.out);
        test_output_free(&output);
    }
    test_output_free(&first);
}

/* Parameters of RevNet-18 with 10 classes: arXiv 2406.02052v1 by its public code's layer shapes. */
static void a_model_is_shown_for_the_input_and_classes_asked_for(void **state)
{
    (void)state;
    check_answer(
        test_petrasim("show", "model", "revnet18", "--input", "3x32x32", "--classes", "10"), 0,
        "input 3x32x32, 10 classes, 11185802 parameters", "");
    check_answer(test_petrasim("show", "--classes=1000", "model", "revnet18"), 0,
                 "input 3x224x224, 1000 classes, 12215912 parameters", "");
}

static void a_method_is_shown_with_its_options_and_source(void **state)
{
    (void)state;
    check_answer(test_petrasim("show", "method", "petra"), 0, "stash_parameters", "");
    check_answer(test_petrasim("show", "method", "petra"), 0, "source: ", "");
    check_answer(test_petrasim("show", "method", "petra"), 0, "ideal", "");
}

static void a_file_may_stand_for_a_name(void **state)
{
    (void)state;
    check_answer(test_petrasim("show", "device", PLATFORMS "/devices/p40.json"), 0, "P40 (", "");
    check_answer(test_petrasim("show", "platform", DATA "/three.json"), 0,
                 "three in a row (" DATA "/three.json): 3 devices, 2 links\n", "");
}

static void unknown_names_are_answered_with_the_nearest(void **state)
{
    (void)state;
    check_answer(test_petrasim("show", "device", "A1000"), 3, "",
                 "the catalogue has no device \"A1000\" (did you mean \"A100\"?)");
    check_answer(test_petrasim("show", "platform", "10x-a10"), 3, "",
                 "the catalogue has no platform \"10x-a10\" (did you mean \"10x-a100\"?)");
    check_answer(test_petrasim("show", "model", "revnet5"), 3, "", "did you mean \"revnet50\"?");
    check_answer(test_petrasim("show", "method", "petr"), 3, "",
                 "unknown method \"petr\" (did you mean \"petra\"?)");
    check_answer(test_petrasim("show", "platform", "zzzzzzzz"), 3, "",
                 "the catalogue has no platform \"zzzzzzzz\"\n");
}

static void a_catalogue_that_is_not_there_is_an_input_fault(void **state)
{
    (void)state;
    check_answer(test_petrasim("list", "devices", "--catalogue", "nowhere"), 3, "", "nowhere");
    check_answer(test_petrasim("list", "platforms", "--catalogue=nowhere"), 3, "", "nowhere");
    check_answer(test_petrasim("list", "devices", "--catalogue",
                               PSIM_SOURCE_DIR "/tests/data/config/catalogue"),
                 3, "", "broken.json");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_files_of_every_kind_are_said_to_be_valid),
        cmocka_unit_test(every_fault_of_a_file_is_told_at_once_and_nothing_of_it_goes_to_stdout),
        cmocka_unit_test(one_bad_file_does_not_keep_the_others_from_being_checked),
        cmocka_unit_test(methods_are_all_listed),
        cmocka_unit_test(everything_listed_can_be_shown),
        cmocka_unit_test(a_device_answers_to_its_alias_in_any_case),
        cmocka_unit_test(a_model_is_shown_for_the_input_and_classes_asked_for),
        cmocka_unit_test(a_method_is_shown_with_its_options_and_source),
        cmocka_unit_test(a_file_may_stand_for_a_name),
        cmocka_unit_test(unknown_names_are_answered_with_the_nearest),
        cmocka_unit_test(a_catalogue_that_is_not_there_is_an_input_fault),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

/*
 * `petrasim fit` against hand calculation: the three views, the three moments, the verdict and the
 * nearest that fits.
 *
 * One stage of backprop on one device, times and bytes given: P parameters in fp32 with
 * sgd_momentum stand 3 times 4 bytes, the graph and the input stand while a micro-batch is on.
 */
#include "tests/support/check.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GIB        1073741824.0
#define PARAMETERS (100.0 * 1048576) /* bytes */
#define GRAPH      (700.0 * 1048576)
#define INPUT      (30.0 * 1048576)
#define WORKSPACE  (8.0 * 1048576)
#define CONTEXT    (256.0 * 1048576)

static void write_files(const char *memory, const char *graph, int devices)
{
    char text[2048];

    snprintf(text, sizeof text,
             "{ \"petrasim\": \"device/1\", \"name\": \"gpu\", \"memory\": \"%s\", "
             "\"memory_bandwidth\": \"2 TB/s\", \"peak\": { \"fp32\": \"20 TFLOP/s\", \"fp16\": "
             "\"40 TFLOP/s\" }, \"cost\": { \"default\": { \"any\": { \"compute\": 1, \"memory\": "
             "1, \"launch\": \"0 s\", \"norm\": 2 } } }, \"reserve\": { \"context\": \"256 MiB\", "
             "\"workspace\": \"8 MiB\", \"fragmentation\": 0.25 } }",
             memory);
    test_file_write("device.json", text);
    snprintf(text, sizeof text,
             "{ \"petrasim\": \"platform/1\", \"name\": \"p\", \"devices\": { \"gpu\": { "
             "\"file\": \"device.json\" } }, \"nodes\": [ { \"name\": \"n\", \"devices\": [ { "
             "\"type\": \"gpu\", \"count\": %d } ], \"interconnect\": { \"kind\": \"switch\", "
             "\"bandwidth\": \"100 GB/s\" } } ] }",
             devices);
    test_file_write("platform.json", text);
    snprintf(text, sizeof text,
             "{ \"petrasim\": \"scenario/1\", \"platform\": \"platform.json\", \"model\": { "
             "\"stages\": [ { \"repeat\": %d, \"forward\": \"1 s\", \"backward\": \"2 s\", "
             "\"update\": \"1 s\", \"input\": \"30 MiB\", \"graph\": \"%s\", \"parameters\": "
             "\"100 MiB\" } ] }, \"methods\": [ \"%s\" ], \"batch\": { \"microbatch\": 4, "
             "\"accumulation\": 4 } }",
             devices, graph, devices == 1 ? "backprop" : "pipedream");
    test_file_write("scenario.json", text);
}

static json_t *fit_json(const char *reserve, int code)
{
    struct test_output output =
        test_petrasim("fit", "--format", "json", "--check", "--reserve", reserve, "scenario.json");
    json_t *root;

    check_code(&output, code);
    root = test_json_parse(output.out);
    test_output_free(&output);
    return root;
}

static void check_bytes(const json_t *root, const char *pointer, double want)
{
    check_near(test_json_number(root, pointer), want, 1e-9);
}

static void the_views_are_those_of_the_hand(void **state)
{
    const double standing = 3 * PARAMETERS + WORKSPACE;
    const double peak = standing + GRAPH + INPUT; /* the input's buffer beside the graph */
    json_t *root;

    (void)state;
    write_files("4 GiB", "700 MiB", 1);
    root = fit_json("context=256MiB", 0);
    check_bytes(root, "/stages/0/allocated_bytes", peak);
    check_bytes(root, "/stages/0/reserved_bytes", 1.25 * peak);
    /* One device sends nothing: no communicator. */
    check_bytes(root, "/stages/0/device_bytes", 1.25 * peak + CONTEXT);
    /* During the update the graph is gone, and temporaries of 4 B a parameter stand. */
    check_bytes(root, "/stages/0/optimizer_step_device_bytes",
                1.25 * (standing + PARAMETERS) + CONTEXT);
    check_bytes(root, "/stages/0/start_up_device_bytes", 1.25 * (PARAMETERS + WORKSPACE) + CONTEXT);
    check_bytes(root, "/stages/0/room_bytes", 4 * GIB - (1.25 * peak + CONTEXT));
    assert_string_equal(test_json_text(root, "/stages/0/worst_moment"), "step");
    assert_string_equal(test_json_text(root, "/headline"),
                        "fits: 1.5 of 4.0 GiB on stage 1, margin 2.5 GiB");
    json_decref(root);
}

static void the_reserve_can_be_changed(void **state)
{
    const double peak = 3 * PARAMETERS + WORKSPACE + GRAPH + INPUT;
    json_t *root;

    (void)state;
    write_files("4 GiB", "700 MiB", 1);
    root = fit_json("context=0,fragmentation=0,optimizer=0", 0);
    check_bytes(root, "/stages/0/device_bytes", peak);
    check_bytes(root, "/stages/0/optimizer_step_device_bytes", 3 * PARAMETERS + WORKSPACE);
    json_decref(root);
    /* Temporaries that make the optimizer step the worst moment. */
    root = fit_json("context=0,fragmentation=0,optimizer=64B", 0);
    check_bytes(root, "/stages/0/optimizer_step_device_bytes",
                3 * PARAMETERS + WORKSPACE + 16 * PARAMETERS);
    assert_string_equal(test_json_text(root, "/stages/0/worst_moment"), "optimizer step");
    json_decref(root);
}

/* 1.5 GiB and a byte less than what is needed: the verdict turns at the byte. */
static void the_verdict_turns_at_the_byte(void **state)
{
    const double peak = 3 * PARAMETERS + WORKSPACE + GRAPH + INPUT;
    char memory[40];

    (void)state;
    for (int less = 0; less < 2; less++) {
        json_t *root;

        snprintf(memory, sizeof memory, "%.0f B", peak - less);
        write_files(memory, "700 MiB", 1);
        root = fit_json("context=0,fragmentation=0", less);
        check_bytes(root, "/stages/0/room_bytes", -less);
        assert_string_equal(test_json_text(root, "/stages/0/fits"), less ? "no" : "yes");
        json_decref(root);
    }
}

static void the_default_reserve_counts_the_communicator(void **state)
{
    struct test_output output;

    (void)state;
    write_files("4 GiB", "700 MiB", 2);
    output = test_petrasim("fit", "scenario.json");
    check_code(&output, 0);
    check_contains(output.out, "communicator 1.45");
    /* pipedream's first stage holds two graphs; another method holds one. */
    check_contains(output.out, "does not fit: stage 1 needs 4.");
    check_contains(output.out, "nearest that fits: ");
    check_contains(output.out, " instead of pipedream");
    test_output_free(&output);
    output = test_petrasim("fit", "--check", "scenario.json");
    check_code(&output, 1);
    test_output_free(&output);
}

#define CNN                                                                                        \
    "{ \"petrasim\": \"scenario/1\", \"platform\": \"%s\", \"model\": { \"name\": "                \
    "\"resnet50\" }, \"methods\": [ \"pipedream\" ], \"batch\": { \"microbatch\": %d, "            \
    "\"accumulation\": 1 }, \"partition\": \"balanced\", \"engine\": \"replay\" }"

static void write_cnn(int microbatch)
{
    char text[1024];

    snprintf(text, sizeof text, CNN, PSIM_SOURCE_DIR "/platforms/clusters/dgx-1-v100.json",
             microbatch);
    test_file_write("cnn.json", text);
}

/* What is named as nearest fits, and one more sample does not. */
static void the_nearest_micro_batch_is_the_largest(void **state)
{
    struct test_output output;
    const char *at;
    int nearest;

    (void)state;
    write_cnn(256);
    output = test_petrasim("fit", "--check", "cnn.json");
    check_code(&output, 1);
    check_contains(output.out, "micro-batch 256 -> ");
    at = strstr(output.out, "256 -> ");
    nearest = atoi(at + 7);
    test_output_free(&output);
    for (int more = 0; more < 2; more++) {
        write_cnn(nearest + more);
        output = test_petrasim("fit", "--check", "cnn.json");
        check_code(&output, more);
        test_output_free(&output);
    }
}

static void every_format_says_it(void **state)
{
    static const char *const formats[] = {"table", "md", "csv", "latex", "json"};

    (void)state;
    write_files("4 GiB", "700 MiB", 1);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct test_output output =
            test_petrasim("fit", "--quiet", "--format", formats[i], "scenario.json");

        check_code(&output, 0);
        check_contains(output.out, "backprop");
        test_output_free(&output);
    }
}

static void a_bad_reserve_is_refused(void **state)
{
    static const char *const bad[][2] = {
        {"contxt=1GiB", "did you mean 'context'"},
        {"context=1", "unit"},
        {"fragmentation=nan", "in [0, 1]"},
        {"fragmentation=1.5", "in [0, 1]"},
        {"context", "NAME=VALUE"},
        {"communicator=-1GiB", "0 B"},
    };

    (void)state;
    write_files("4 GiB", "700 MiB", 1);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct test_output output = test_petrasim("fit", "--reserve", bad[i][0], "scenario.json");

        check_code(&output, 2);
        check_contains(output.err, bad[i][1]);
        assert_string_equal(output.out, "");
        test_output_free(&output);
    }
}

/* Line breaks apart, which the README has where its lines end. */
static void unfold(char *text)
{
    for (; *text != '\0'; text++)
        *text = (char)(*text == '\n' ? ' ' : *text);
}

static void the_readme_shows_what_comes_out(void **state)
{
    struct test_output output =
        test_petrasim("fit", "--check", PSIM_SOURCE_DIR "/scenarios/fit/revnet50-batch-160.json");
    char *readme = test_file_read(PSIM_SOURCE_DIR "/README.md", NULL);

    (void)state;
    check_code(&output, 1);
    check_contains(readme, "petrasim fit --check scenarios/fit/revnet50-batch-160.json\n");
    output.out[strcspn(output.out, "\n")] = '\0';
    unfold(readme);
    check_contains(readme, output.out);
    free(readme);
    test_output_free(&output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_views_are_those_of_the_hand),
        cmocka_unit_test(the_reserve_can_be_changed),
        cmocka_unit_test(the_verdict_turns_at_the_byte),
        cmocka_unit_test(the_default_reserve_counts_the_communicator),
        cmocka_unit_test(the_nearest_micro_batch_is_the_largest),
        cmocka_unit_test(every_format_says_it),
        cmocka_unit_test(a_bad_reserve_is_refused),
        cmocka_unit_test(the_readme_shows_what_comes_out),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

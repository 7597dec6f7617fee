/* Axes of a sweep: ranges and lists spelled out, and the points that come of them. */
#include "sim/config/axes.h"
#include "sim/config/scan_values.h"
#include "tests/support/check.h"
#include "tests/support/program.h"

#include <stdio.h>
#include <string.h>

#define SMALL PSIM_SOURCE_DIR "/scenarios/smoke/small.json"

static const struct psim_catalogue catalogue = {PSIM_SOURCE_DIR "/platforms"};

static void check_written(const char *(*write)(const char *, struct psim_text *), const char *text,
                          const char *json)
{
    struct psim_text out = PSIM_TEXT_INIT;
    const char *fault = write(text, &out);

    if (fault != NULL)
        fail_msg("%s: %s", text, fault);
    assert_string_equal(out.data, json);
    psim_text_release(&out);
}

static void check_refused(const char *(*write)(const char *, struct psim_text *), const char *text)
{
    struct psim_text out = PSIM_TEXT_INIT;

    if (write(text, &out) == NULL)
        fail_msg("%s was taken as %s", text, out.data);
    psim_text_release(&out);
}

static void ranges_have_both_ends_where_the_steps_meet_the_upper_one(void **state)
{
    (void)state;
    check_written(psim_range_write, "8:256:*2", "[8,16,32,64,128,256]");
    check_written(psim_range_write, "8:255:*2", "[8,16,32,64,128]");
    check_written(psim_range_write, "1:3", "[1,2,3]");
    check_written(psim_range_write, "-2:2:+2", "[-2,0,2]");
    check_written(psim_range_write, "5:5:*2", "[5]");
    check_written(psim_range_write, "0:0.3:+0.1", "[0,0.1,0.2,0.3]");
    check_written(psim_range_write, "1:100:*10 ms", "[\"1 ms\",\"10 ms\",\"100 ms\"]");
    check_written(psim_range_write, "1:2GB/s", "[\"1 GB/s\",\"2 GB/s\"]");
    check_written(psim_range_write, "1e-3:1e-1:*10", "[0.001,0.01,0.1]");
}

static void ranges_that_do_not_rise_or_never_end_are_refused(void **state)
{
    static const char *const bad[] = {
        "",       "8",        "8:",      "8:4",     "1:2:3",   "1:2:*1",
        "0:8:*2", "-1:8:*2",  "1:2:+0",  "1:2:+-1", "nan:2",   "1:inf",
        "0x1:3",  "1:2:*nan", "1::2",    "1:2:*2:", "1:70000", "0:1:+1e-9",
        "1:2 \"", ":1:2",     "1:1e999", "a:b",     " 1:2",    "1:9007199254740994:*2"};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        check_refused(psim_range_write, bad[i]);
}

static void lists_keep_json_and_quote_the_rest(void **state)
{
    (void)state;
    check_written(psim_list_write, "1,2.5,true,null", "[1,2.5,true,null]");
    check_written(psim_list_write, "fp32,\"fp16\"", "[\"fp32\",\"fp16\"]");
    check_written(psim_list_write, "[1,2],[3]", "[[1,2],[3]]");
    check_written(psim_list_write, "{\"a\":\"x,]\",\"b\":[1,2]},9",
                  "[{\"a\":\"x,]\",\"b\":[1,2]},9]");
    check_written(psim_list_write, "a\"b,c\\d", "[\"a\\\"b,c\\\\d\"]");
    check_written(psim_list_write, "1 ms", "[\"1 ms\"]");
    check_written(psim_list_write, "01", "[\"01\"]");
    check_refused(psim_list_write, "");
    check_refused(psim_list_write, "1,,2");
    check_refused(psim_list_write, "1,");
    check_refused(psim_list_write, "[1,2");
    check_refused(psim_list_write, "{a:1}");
}

static struct psim_sweep read_scans(const char *file, const char *const *scans, int count)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_sweep sweep;

    if (psim_sweep_read(file, scans, count, &catalogue, &sweep, &list) != PSIM_OK)
        fail_msg("%s", psim_diagnostic_line(&list, 0));
    psim_diagnostics_release(&list);
    return sweep;
}

static struct psim_scenario read_point(const struct psim_sweep *sweep, int64_t point)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_scenario scenario;

    if (psim_sweep_point(sweep, point, &catalogue, &scenario, &list) != PSIM_OK)
        fail_msg("%s", psim_diagnostic_line(&list, 0));
    psim_diagnostics_release(&list);
    return scenario;
}

static void the_last_axis_varies_fastest_and_every_key_reaches_the_scenario(void **state)
{
    static const char *const scans[] = {"batch.microbatch=8:32:*2", "data_parallel.replicas=1,2",
                                        ".methods=[\"petra\"],[\"gpipe\",\"petra\"]",
                                        "model.stages[0].forward=5:10:+5 ms"};
    struct psim_sweep sweep = read_scans(SMALL, scans, 4);

    (void)state;
    assert_int_equal(sweep.axis_count, 4);
    assert_int_equal(sweep.point_count, 3 * 2 * 2 * 2);
    assert_string_equal(sweep.axes[2].keys[0], "methods");
    for (int64_t point = 0; point < sweep.point_count; point++) {
        struct psim_scenario scenario = read_point(&sweep, point);

        assert_int_equal(scenario.workload.microbatch, 8 << (point / 8));
        assert_int_equal(scenario.data_parallel.replicas, 1 + point / 4 % 2);
        assert_int_equal(scenario.method_count, 1 + point / 2 % 2);
        check_near(scenario.model->given[0].forward_s, point % 2 == 0 ? 0.005 : 0.01, 0);
        assert_int_equal(scenario.accumulation, 4); /* the base's */
        psim_scenario_release(&scenario);
    }
    psim_sweep_release(&sweep);
}

static void keys_together_change_together(void **state)
{
    struct psim_sweep sweep;

    (void)state;
    test_file_write("base.json", "{ \"petrasim\": \"scenario/1\", \"model\": { \"stages\": [ "
                                 "{ \"repeat\": 2, \"forward\": \"1 s\", \"backward\": \"2 s\", "
                                 "\"input\": \"1 MB\" } ] },"
                                 " \"platform\": \"8x-a100-nvswitch\", \"methods\": [\"gpipe\"],"
                                 " \"batch\": { \"microbatch\": 1 } }");
    test_file_write("both.json",
                    "{ \"petrasim\": \"sweep/1\", \"scenario\": \"base.json\", \"axes\": [ { "
                    "\"keys\": [\"batch.accumulation\", \"seed\"], "
                    "\"values\": [[1, 7], [2, 8], [4, 9]] } ] }");
    sweep = read_scans("both.json", NULL, 0);
    assert_int_equal(sweep.point_count, 3);
    for (int64_t point = 0; point < 3; point++) {
        struct psim_scenario scenario = read_point(&sweep, point);

        assert_int_equal(scenario.accumulation, 1 << point);
        assert_int_equal(scenario.seed, 7 + point);
        psim_scenario_release(&scenario);
    }
    psim_sweep_release(&sweep);
}

/* A point is read from the bytes of the time when the sweep was, whatever becomes of the file. */
static void points_do_not_follow_a_file_that_changes(void **state)
{
    static const char *const scans[] = {"seed=1,2"};
    struct psim_sweep sweep = read_scans("base.json", scans, 1);
    struct psim_scenario scenario;

    (void)state;
    test_file_write("base.json", "{}");
    scenario = read_point(&sweep, 1);
    assert_int_equal(scenario.seed, 2);
    psim_scenario_release(&scenario);
    psim_sweep_release(&sweep);
}

static void the_hash_follows_every_file_that_a_value_names(void **state)
{
    static const char *const scans[] = {"platform=one.json,two.json"};
    static const char platform[] =
        "{ \"petrasim\": \"platform/1\", \"name\": \"%s\", \"devices\": { \"g\": { \"catalogue\": "
        "\"A100\" } }, \"nodes\": [ { \"name\": \"n\", \"devices\": [ { \"type\": \"g\", "
        "\"count\": "
        "8 } ], \"interconnect\": { \"kind\": \"switch\", \"bandwidth\": \"1 GB/s\" } } ] }";
    struct psim_sweep before, after, again;
    char text[512];

    (void)state;
    snprintf(text, sizeof text, platform, "p");
    test_file_write("one.json", text);
    test_file_write("two.json", text);
    before = read_scans(SMALL, scans, 1);
    again = read_scans(SMALL, scans, 1);
    snprintf(text, sizeof text, platform, "q");
    test_file_write("two.json", text);
    after = read_scans(SMALL, scans, 1);
    assert_string_equal(before.inputs_sha256, again.inputs_sha256);
    assert_string_not_equal(before.inputs_sha256, after.inputs_sha256);
    psim_sweep_release(&before);
    psim_sweep_release(&again);
    psim_sweep_release(&after);
}

/* Two stages go with the second partition, not with the first: that is found at the point. */
static void a_value_that_only_fails_beside_others_is_no_error_of_the_sweep(void **state)
{
    static const char *const scans[] = {"model.stages[0].repeat=4,2", "partition=[1,3],balanced"};
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_sweep sweep = read_scans(SMALL, scans, 2);
    struct psim_scenario scenario;

    (void)state;
    assert_int_not_equal(psim_sweep_point(&sweep, 2, &catalogue, &scenario, &list), PSIM_OK);
    check_contains(psim_diagnostic_line(&list, 0), ".partition: the list adds up to 4");
    psim_diagnostics_release(&list);
    scenario = read_point(&sweep, 3);
    psim_scenario_release(&scenario);
    psim_sweep_release(&sweep);
}

static void memory_that_runs_out_anywhere_is_said_and_nothing_is_left(void **state)
{
    static const char *const scans[] = {"batch.microbatch=8:16:*2",
                                        "methods=[\"petra\"],[\"gpipe\"]"};
    enum psim_status status = PSIM_ERR_NOMEM;

    (void)state;
    for (unsigned long n = 1; status != PSIM_OK; n++) {
        struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
        struct psim_sweep sweep = {.axis_count = -1};

        psim_alloc_fail_at(n);
        status = psim_sweep_read(SMALL, scans, 2, &catalogue, &sweep, &list);
        psim_alloc_fail_at(0);
        if (status == PSIM_OK)
            psim_sweep_release(&sweep);
        else
            assert_int_equal(sweep.axis_count, -1);
        psim_diagnostics_release(&list);
        assert_true(n < 100000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_have_both_ends_where_the_steps_meet_the_upper_one),
        cmocka_unit_test(ranges_that_do_not_rise_or_never_end_are_refused),
        cmocka_unit_test(lists_keep_json_and_quote_the_rest),
        cmocka_unit_test(the_last_axis_varies_fastest_and_every_key_reaches_the_scenario),
        cmocka_unit_test(keys_together_change_together),
        cmocka_unit_test(points_do_not_follow_a_file_that_changes),
        cmocka_unit_test(the_hash_follows_every_file_that_a_value_names),
        cmocka_unit_test(a_value_that_only_fails_beside_others_is_no_error_of_the_sweep),
        cmocka_unit_test(memory_that_runs_out_anywhere_is_said_and_nothing_is_left),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

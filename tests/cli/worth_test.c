/*
 * Energy and money against hand calculation, what is said when a power or a price is missing, and
 * where warnings about inputs go.
 *
 * Two stages of 3 s run one after the other (backprop, free network): an update takes 6 s and each
 * device is busy half of it.  A device draws 300 W busy and 100 W idle, so 200 W with a stage.
 */
#include "tests/support/check.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UPDATE_S 6.0
#define POWER    "\"power\": { \"idle\": \"100 W\", \"busy\": \"300 W\" }"
#define PRICE(usd, date)                                                                           \
    "\"price\": { \"per_hour\": \"" usd " USD/h\", \"date\": \"" date "\", \"source\": \"test\" }"
#define DEVICE_PRICE PRICE("2", "2026-02-03")
#define FREE_PLATFORM                                                                              \
    "\"hosts\": [ { \"name\": \"a\", \"device\": \"gpu\" }, { \"name\": \"b\", \"device\": "       \
    "\"gpu\" }, { \"name\": \"c\", \"device\": \"gpu\" } ], \"links\": [ { \"name\": \"ab\", "     \
    "\"between\": [\"a\", \"b\"], \"bandwidth\": \"unlimited\" } ]"
#define NODES(rest)                                                                                \
    "\"nodes\": [ { \"name\": \"n\", \"count\": 2, \"devices\": [ { \"type\": \"gpu\", "           \
    "\"count\": 4 } ], \"interconnect\": { \"kind\": \"switch\", \"bandwidth\": \"1000000 TB/s\" " \
    "}, \"nics\": { \"bandwidth\": \"1000000 Tb/s\" }" rest " } ], \"network\": { \"kind\": "      \
    "\"switch\" }"

static void write_device(const char *rest)
{
    char text[2048];

    snprintf(text, sizeof text,
             "{ \"petrasim\": \"device/1\", \"name\": \"gpu\", \"memory\": \"80 GiB\", "
             "\"memory_bandwidth\": \"2 TB/s\", \"peak\": { \"fp32\": \"20 TFLOP/s\" }, \"cost\": "
             "{ \"default\": { \"any\": { \"compute\": 1, \"memory\": 1, \"launch\": \"0 s\", "
             "\"norm\": 2 } } }%s%s }",
             rest[0] == '\0' ? "" : ", ", rest);
    test_file_write("device.json", text);
}

static void write_platform(const char *rest)
{
    char text[2048];

    snprintf(text, sizeof text,
             "{ \"petrasim\": \"platform/1\", \"name\": \"p\", \"devices\": { \"gpu\": { "
             "\"file\": \"device.json\" } }, %s }",
             rest);
    test_file_write("platform.json", text);
}

static void write_scenario(const char *method, const char *rest)
{
    char text[2048];

    snprintf(text, sizeof text,
             "{ \"petrasim\": \"scenario/1\", \"platform\": \"platform.json\", \"model\": { "
             "\"stages\": [ { \"repeat\": 2, \"forward\": \"1 s\", \"backward\": \"2 s\", "
             "\"input\": \"1 B\" } ] }, \"methods\": [%s], \"batch\": { \"microbatch\": 4 }, "
             "\"engine\": \"replay\"%s%s }",
             method, rest[0] == '\0' ? "" : ", ", rest);
    test_file_write("scenario.json", text);
}

/* The result document; fails when the program says anything beside it. */
static json_t *simulate(void)
{
    struct test_output output = test_petrasim("compare", "--format", "json", "scenario.json");
    json_t *root;

    check_code(&output, 0);
    assert_string_equal(output.err, "");
    root = test_json_parse(output.out);
    test_output_free(&output);
    check_near(test_json_number(root, "/results/0/time_per_update_s"), UPDATE_S, 1e-12);
    return root;
}

static bool is_null(const json_t *root, const char *pointer)
{
    return json_is_null(test_json_at(root, pointer));
}

static void check_cost(const char *platform, const char *rest, double usd_per_hour)
{
    json_t *root;

    write_platform(platform);
    write_scenario("\"backprop\"", rest);
    root = simulate();
    check_near(test_json_number(root, "/results/0/cost_per_update_usd"),
               usd_per_hour / 3600 * UPDATE_S, 1e-9);
    json_decref(root);
}

static void check_energy(const char *platform, double power_w)
{
    json_t *root;

    write_platform(platform);
    write_scenario("\"backprop\"", "");
    root = simulate();
    check_near(test_json_number(root, "/results/0/energy_per_update_j"), power_w * UPDATE_S, 1e-9);
    json_decref(root);
}

static void energy_is_of_busy_and_idle_time_and_of_idle_devices(void **state)
{
    (void)state;
    write_device(POWER);
    check_energy(FREE_PLATFORM, 200 + 200 + 100);
    check_energy(NODES(""), 2 * 200 + 6 * 100);
    check_energy(NODES("") ", \"use\": 3", 2 * 200 + 100);
}

static void whole_nodes_that_hold_a_stage_are_paid_for(void **state)
{
    (void)state;
    write_device(DEVICE_PRICE);
    check_cost(FREE_PLATFORM, "", 2 * 2);
    check_cost(NODES(""), "", 4 * 2);
    check_cost(NODES("") ", \"use\": 2", "", 4 * 2);
    check_cost(NODES(", " PRICE("7.2", "2026-01-02")), "", 7.2);
    check_cost(NODES(", " PRICE("7.2", "2026-01-02")), "\"placement\": [\"n0.gpu3\", \"n1.gpu0\"]",
               2 * 7.2);
    check_cost(NODES(", " PRICE("0", "2026-01-02")), "", 0);
}

static void figures_per_sample_and_epoch_follow(void **state)
{
    json_t *root;

    (void)state;
    write_device(POWER ", " DEVICE_PRICE);
    write_platform(FREE_PLATFORM);
    write_scenario("\"backprop\"", "\"epoch_samples\": 1000");
    root = simulate();
    check_near(test_json_number(root, "/results/0/energy_per_sample_j"), 750, 1e-9);
    check_near(test_json_number(root, "/results/0/energy_per_epoch_j"), 750e3, 1e-9);
    check_near(test_json_number(root, "/results/0/cost_per_sample_usd"), 4 * 6 / 3600.0 / 4, 1e-9);
    check_near(test_json_number(root, "/results/0/cost_per_epoch_usd"), 4 * 1500 / 3600.0, 1e-9);
    check_near(test_json_number(root, "/results/0/time_per_epoch_s"), 1500, 1e-9);
    assert_string_equal(test_json_text(root, "/results/0/price_date"), "2026-02-03");
    assert_string_equal(test_json_text(root, "/results/0/energy_note"), "");
    assert_string_equal(test_json_text(root, "/results/0/cost_note"), "");
    check_near(test_json_number(root, "/scenario/resolved/epoch_samples"), 1000, 0);
    json_decref(root);
}

static void an_update_of_one_microbatch_has_its_samples_alone(void **state)
{
    json_t *root;

    (void)state;
    write_device(POWER);
    write_platform(FREE_PLATFORM);
    test_file_write("scenario.json",
                    "{ \"petrasim\": \"scenario/1\", \"platform\": \"platform.json\", \"model\": { "
                    "\"stages\": [ { \"repeat\": 2, \"forward\": \"2 s\", \"backward\": \"4 s\", "
                    "\"input\": \"1 B\" } ] }, \"methods\": [\"pipedream\", \"backprop\"], "
                    "\"batch\": { \"microbatch\": 4, \"accumulation\": 8 } }");
    root = simulate(); /* pipedream keeps both devices busy all the time */
    check_near(test_json_number(root, "/results/0/energy_per_update_j"), 700 * 6, 1e-9);
    check_near(test_json_number(root, "/results/0/energy_per_sample_j"), 700 * 6 / 4.0, 1e-9);
    check_near(test_json_number(root, "/results/1/energy_per_sample_j"), 500 * 12 / 4.0, 1e-9);
    json_decref(root);
}

/* A device, and what then is not known. */
struct lack {
    const char *device, *energy_note, *cost_note;
};

static void what_is_missing_gives_null_and_is_named(void **state)
{
    static const char price[] = "the price of gpu is not known";
    static const struct lack lacks[] = {
        {"", "the busy power of gpu is not known", price},
        {"\"power\": { \"busy\": \"300 W\" }", "the idle power of gpu is not known", price},
        {"\"power\": { \"idle\": \"100 W\" }", "the busy power of gpu is not known", price},
        {POWER, "", price},
        {DEVICE_PRICE, "the busy power of gpu is not known", ""},
        {POWER ", " DEVICE_PRICE, "", ""},
    };

    (void)state;
    write_platform(FREE_PLATFORM);
    write_scenario("\"backprop\"", "");
    for (size_t i = 0; i < sizeof lacks / sizeof lacks[0]; i++) {
        const bool cost_lacks = lacks[i].cost_note[0] != '\0';
        const bool energy_lacks = lacks[i].energy_note[0] != '\0';
        json_t *root;

        write_device(lacks[i].device);
        root = simulate();
        assert_string_equal(test_json_text(root, "/results/0/energy_note"), lacks[i].energy_note);
        assert_string_equal(test_json_text(root, "/results/0/cost_note"), lacks[i].cost_note);
        assert_int_equal(is_null(root, "/results/0/energy_per_update_j"), energy_lacks);
        assert_int_equal(is_null(root, "/results/0/energy_per_sample_j"), energy_lacks);
        assert_int_equal(is_null(root, "/results/0/cost_per_update_usd"), cost_lacks);
        assert_int_equal(is_null(root, "/results/0/cost_per_sample_usd"), cost_lacks);
        assert_int_equal(is_null(root, "/results/0/price_date"), cost_lacks);
        assert_true(is_null(root, "/results/0/energy_per_epoch_j")); /* no epoch was given */
        assert_true(is_null(root, "/results/0/time_per_epoch_s"));
        json_decref(root);
    }
}

static void the_oldest_price_gives_the_date(void **state)
{
    json_t *root;

    (void)state;
    write_device(POWER ", " DEVICE_PRICE);
    write_platform(NODES(
        ", " PRICE("7.2", "2026-01-02")) ", \"hosts\": [ { \"name\": \"h\", \"device\": \"gpu\" } "
                                         "], \"links\": [ { \"name\": \"l\", \"between\": [\"h\", "
                                         "\"n0.gpu0\"], \"bandwidth\": \"unlimited\" } ]");
    write_scenario("\"backprop\"", "\"placement\": [\"h\", \"n0.gpu0\"]");
    root = simulate();
    assert_string_equal(test_json_text(root, "/results/0/price_date"), "2026-01-02");
    check_near(test_json_number(root, "/results/0/cost_per_update_usd"), 9.2 / 3600 * 6, 1e-9);
    json_decref(root);
}

static void a_run_that_failed_has_neither(void **state)
{
    struct test_output output;
    json_t *root;

    (void)state;
    write_device(POWER ", " DEVICE_PRICE);
    write_platform(FREE_PLATFORM);
    write_scenario("\"backprop\"",
                   "\"epoch_samples\": 10, \"conditions\": { \"updates\": 3, \"events\": [ { "
                   "\"device\": \"b\", \"from\": \"7 s\", \"fails\": true } ] }");
    output = test_petrasim("compare", "--format", "json", "scenario.json");
    check_code(&output, 0);
    root = test_json_parse(output.out);
    assert_true(is_null(root, "/results/0/energy_per_update_j"));
    assert_true(is_null(root, "/results/0/cost_per_epoch_usd"));
    assert_true(is_null(root, "/results/0/time_per_epoch_s"));
    assert_string_equal(test_json_text(root, "/results/0/cost_note"),
                        "the time of an update is not known");
    json_decref(root);
    test_output_free(&output);
}

static void tables_show_energy_and_money_where_a_row_knows_one(void **state)
{
    struct test_output output;

    (void)state;
    write_platform(FREE_PLATFORM);
    write_scenario("\"backprop\"", "\"epoch_samples\": 1000");
    write_device("");
    output = test_petrasim("compare", "scenario.json");
    assert_null(strstr(output.out, "Energy and money"));
    assert_null(strstr(output.out, "not known"));
    test_output_free(&output);
    write_device(DEVICE_PRICE);
    output = test_petrasim("compare", "scenario.json");
    check_contains(output.out, "Energy and money");
    check_contains(output.out, "energy: the busy power of gpu is not known");
    check_contains(output.out, "cost: prices of 2026-02-03");
    test_output_free(&output);
    output = test_petrasim("run", "scenario.json");
    check_contains(output.out, "unknown: the busy power of gpu is not known");
    check_contains(output.out, "0.006667 USD per update, 0.001667 USD per sample; prices of "
                               "2026-02-03");
    check_contains(output.out, "1000 samples: time 1500 s, energy unknown, cost 1.667 USD");
    test_output_free(&output);
}

static void an_answer_that_no_network_changes_is_noted(void **state)
{
    static const char note[] = "no message takes time: no figure of the network matters";
    struct test_output output;

    (void)state;
    write_device("");
    write_scenario("\"backprop\"", "");
    write_platform(FREE_PLATFORM);
    output = test_petrasim("compare", "scenario.json");
    check_contains(output.out, note);
    test_output_free(&output);
    write_platform(NODES(""));
    output = test_petrasim("compare", "scenario.json");
    assert_null(strstr(output.out, note));
    test_output_free(&output);
    write_scenario("\"backprop\"", "\"partition\": [2]");
    output = test_petrasim("compare", "scenario.json");
    check_contains(output.out, "one stage sends nothing: no figure of the network matters");
    test_output_free(&output);
}

static void warnings_go_to_standard_error_and_quiet_hides_them(void **state)
{
    static const char *const spellings[] = {"--quiet", "-q"};
    struct test_output loud;

    (void)state;
    write_device("");
    write_scenario("\"backprop\"", "\"conditions\": { \"speed\": { \"c\": 0.5 } }");
    write_platform(FREE_PLATFORM);
    loud = test_petrasim("run", "scenario.json");
    check_code(&loud, 0);
    check_contains(loud.err, "scenario.json:1:");
    check_contains(loud.err, ": warning: .conditions.speed.c: the device holds no stage (rule: ");
    assert_null(strstr(loud.out, "rule:"));
    for (size_t i = 0; i < 2; i++) {
        struct test_output output = test_petrasim("run", spellings[i], "scenario.json");

        check_code(&output, 0);
        assert_string_equal(output.err, "");
        assert_string_equal(output.out, loud.out);
        test_output_free(&output);
        output = test_petrasim("check", spellings[i], "scenario.json", "missing.json");
        check_code(&output, 3);
        check_contains(output.err, "missing.json");
        assert_null(strstr(output.err, "warning"));
        test_output_free(&output);
    }
    test_output_free(&loud);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_is_of_busy_and_idle_time_and_of_idle_devices),
        cmocka_unit_test(whole_nodes_that_hold_a_stage_are_paid_for),
        cmocka_unit_test(figures_per_sample_and_epoch_follow),
        cmocka_unit_test(an_update_of_one_microbatch_has_its_samples_alone),
        cmocka_unit_test(what_is_missing_gives_null_and_is_named),
        cmocka_unit_test(the_oldest_price_gives_the_date),
        cmocka_unit_test(a_run_that_failed_has_neither),
        cmocka_unit_test(tables_show_energy_and_money_where_a_row_knows_one),
        cmocka_unit_test(an_answer_that_no_network_changes_is_noted),
        cmocka_unit_test(warnings_go_to_standard_error_and_quiet_hides_them),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

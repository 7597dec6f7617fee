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

static void check_devices(const char *platform, double power_w)
{
    json_t *root;

    write_platform(platform);
    write_scenario("\"backprop\"", "");
    root = simulate();
    check_near(test_json_number(root, "/results/0/energy_devices_per_update_j"), power_w * UPDATE_S,
               1e-9);
    json_decref(root);
}

/* A scenario of two stages of 3 s that send each other 1 GB, and copies of it. */
static void write_traffic(const char *engine, const char *rest)
{
    char text[2048];

    snprintf(text, sizeof text,
             "{ \"petrasim\": \"scenario/1\", \"platform\": \"platform.json\", \"model\": { "
             "\"stages\": [ { \"repeat\": 2, \"forward\": \"1 s\", \"backward\": \"2 s\", "
             "\"parameters\": \"2 GB\", \"input\": \"1 GB\" } ] }, \"methods\": [\"backprop\"], "
             "\"engine\": \"%s\", %s }",
             engine, rest);
    test_file_write("scenario.json", text);
}

static void check_links(double links_j, double update_s, const char *note)
{
    struct test_output output = test_petrasim("compare", "--format", "json", "scenario.json");
    json_t *root;

    check_code(&output, 0);
    root = test_json_parse(output.out);
    check_near(test_json_number(root, "/results/0/time_per_update_s"), update_s, 1e-12);
    assert_string_equal(test_json_text(root, "/results/0/energy_note"), note);
    if (note[0] == '\0') {
        check_near(test_json_number(root, "/results/0/energy_links_per_update_j"), links_j, 1e-9);
        check_near(test_json_number(root, "/results/0/energy_per_update_j"),
                   test_json_number(root, "/results/0/energy_devices_per_update_j") + links_j,
                   1e-9);
    } else {
        assert_true(is_null(root, "/results/0/energy_links_per_update_j"));
        assert_true(is_null(root, "/results/0/energy_per_update_j"));
    }
    json_decref(root);
    test_output_free(&output);
}

static const char *const engines[] = {"simgrid", "replay"};

/*
 * Two hosts, a switch between them, links without a limit that draw 5 W and 1 nJ/b, the switch 20 W
 * and 0.5 nJ/b.  An update of two micro-batches takes 12 s and sends 1 GB over all three four
 * times: 30 W * 12 s + 4 * 8e9 b * 2.5 nJ/b = 360 J + 80 J.
 */
static void links_draw_power_and_energy_for_every_bit(void **state)
{
    static const char platform[] =
        "\"hosts\": [ { \"name\": \"a\", \"device\": \"gpu\" }, { \"name\": \"b\", \"device\": "
        "\"gpu\" } ], \"switches\": [ { \"name\": \"s\"%s } ], \"links\": [ { \"name\": \"as\", "
        "\"between\": [\"a\", \"s\"], \"bandwidth\": \"unlimited\", \"power\": { \"static\": \"5 "
        "W\", "
        "\"per_bit\": \"1 nJ/b\" } }, { \"name\": \"sb\", \"between\": [\"s\", \"b\"], "
        "\"bandwidth\": \"unlimited\", \"power\": { \"static\": \"5 W\", \"per_bit\": \"1000 "
        "pJ/b\" } } ]";
    static const struct {
        const char *power, *note;
    } switches[] = {
        {", \"power\": { \"static\": \"20 W\", \"per_bit\": \"0.5 nJ/b\" }", ""},
        {", \"power\": { \"static\": \"20 W\" }", "the energy per bit of s is not known"},
        {", \"power\": { \"per_bit\": \"1 nJ/b\" }", "the static power of s is not known"},
        {"", "the static power of s is not known"},
    };

    (void)state;
    write_device(POWER);
    for (size_t i = 0; i < 2 * sizeof switches / sizeof switches[0]; i++) {
        char text[1024];

        snprintf(text, sizeof text, platform, switches[i / 2].power);
        write_platform(text);
        write_traffic(engines[i % 2], "\"batch\": { \"microbatch\": 4, \"accumulation\": 2 }");
        check_links(440, 12, switches[i / 2].note);
    }
}

static void what_is_not_known_of_devices_and_of_links_is_named_together(void **state)
{
    struct test_output output;

    (void)state;
    write_platform(NODES(""));
    write_scenario("\"backprop\"", "");
    write_device("");
    check_links(0, UPDATE_S,
                "the busy power of gpu is not known; the static power of n0.switch is not known");
    write_device(POWER);
    output = test_petrasim("run", "scenario.json", "--format", "md");
    check_contains(output.out, "unknown: the static power of n0.switch is not known; devices alone "
                               "6.000 kJ per update");
    test_output_free(&output);
}

/* Four hosts on one switch, links of 1 nJ/b but for the last. */
static void write_star(const char *last_per_bit)
{
    char platform[2048] = "\"hosts\": [ ", text[512];

    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "%s{ \"name\": \"h%d\", \"device\": \"gpu\" }",
                 i == 0 ? "" : ", ", i);
        strcat(platform, text);
    }
    strcat(platform, " ], \"switches\": [ { \"name\": \"s\", \"power\": { \"static\": \"0 W\", "
                     "\"per_bit\": \"0 pJ/b\" } } ], \"links\": [ ");
    for (int i = 0; i < 4; i++) {
        snprintf(text, sizeof text,
                 "%s{ \"name\": \"l%d\", \"between\": [\"h%d\", \"s\"], \"bandwidth\": "
                 "\"unlimited\", \"power\": { \"static\": \"0 W\", \"per_bit\": \"%s\" } }",
                 i == 0 ? "" : ", ", i, i, i == 3 ? last_per_bit : "1 nJ/b");
        strcat(platform, text);
    }
    strcat(platform, " ]");
    write_platform(platform);
}

/*
 * Two copies send 1 GB forward and back in each of three micro-batches, and by ring the 2 GB of
 * each stage's gradients once a copy; every message crosses two links: (2 * 3 * 2 + 2 * 2 * 2) GB *
 * 2 * 8 b/B * 1 nJ/b.  A dearer link of one copy keeps the copies from standing for each other:
 * that copy's 6 GB and the 4 GB of its stage's sum cross it, for 2 nJ/b more.
 */
static void copies_and_their_all_reduce_count_folded_or_not(void **state)
{
    static const char *const folds[] = {"true", "false"};
    static const char *const last[] = {"1 nJ/b", "3 nJ/b"};
    static const double energy_j[] = {320, 320 + 10 * 8 * 2};

    (void)state;
    write_device(POWER);
    for (int i = 0; i < 8; i++) {
        char text[512];

        write_star(last[i / 4]);
        snprintf(text, sizeof text,
                 "\"batch\": { \"microbatch\": 4, \"accumulation\": 3 }, \"data_parallel\": { "
                 "\"replicas\": 2, \"collective\": \"ring\", \"fold\": %s }",
                 folds[i / 2 % 2]);
        write_traffic(engines[i % 2], text);
        check_links(energy_j[i / 4], 18, "");
    }
}

#define NOTHING_PER_BIT(watt) "\"power\": { \"static\": \"" watt "\", \"per_bit\": \"0 pJ/b\" }"

/* Two nodes: 8 ports of 1 W, two NICs of 10 W, one switch of 50 W. */
static void short_forms_say_what_their_parts_draw(void **state)
{
    static const char platform[] =
        "\"nodes\": [ { \"name\": \"n\", \"count\": 2, \"devices\": [ { \"type\": \"gpu\", "
        "\"count\": 4 } ], \"interconnect\": { \"kind\": \"switch\", \"bandwidth\": \"1000000 "
        "TB/s\", " NOTHING_PER_BIT(
            "1 W") " }, \"nics\": { \"bandwidth\": \"1000000 Tb/s\", "
                   "\"power\": { \"static\": \"10 W\", \"per_bit\": \"3 pJ/b\", \"source\": \"a "
                   "sheet\" } } } "
                   "], \"network\": { \"kind\": \"switch\", " NOTHING_PER_BIT("50 W") " }";
    struct test_output output;

    (void)state;
    write_device(POWER);
    write_platform(platform);
    write_scenario("\"backprop\"", "");
    check_links(78 * UPDATE_S, UPDATE_S, "");
    output = test_petrasim("show", "platform", "platform.json");
    check_contains(output.out, "power   n0.nic0                 10 W                  published  a "
                               "sheet\n");
    check_contains(output.out, "3 pJ/b                published  a sheet\n");
    check_contains(output.out,
                   "power   network                 50 W                  assumed    no "
                   "source given\n");
    test_output_free(&output);
    output = test_petrasim("show", "platform", "platform.json", "--expanded");
    check_contains(output.out, "\"power\": { \"static\": \"10 W\", \"per_bit\": \"3 pJ/b\", "
                               "\"source\": \"a sheet\" } }");
    test_file_write("platform.json", output.out);
    test_output_free(&output);
    check_links(78 * UPDATE_S, UPDATE_S, "");
}

static void energy_is_of_busy_and_idle_time_and_of_idle_devices(void **state)
{
    (void)state;
    write_device(POWER);
    check_devices(FREE_PLATFORM, 200 + 200 + 100);
    check_devices(NODES(""), 2 * 200 + 6 * 100);
    check_devices(NODES("") ", \"use\": 3", 2 * 200 + 100);
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
    assert_true(is_null(root, "/results/0/energy_per_token_j"));
    assert_true(is_null(root, "/results/0/cost_per_token_usd"));
    assert_string_equal(test_json_text(root, "/results/0/token_note"),
                        "the scenario gives no \"tokens_per_sample\"");
    json_decref(root);
}

static void figures_per_token_need_the_tokens_of_a_sample(void **state)
{
    struct test_output output;
    json_t *root;

    (void)state;
    write_device(POWER ", " DEVICE_PRICE);
    write_platform(FREE_PLATFORM);
    write_scenario("\"backprop\"", "\"tokens_per_sample\": 500");
    root = simulate();
    check_near(test_json_number(root, "/results/0/energy_per_token_j"), 1.5, 1e-9);
    check_near(test_json_number(root, "/results/0/cost_per_token_usd"), 4 * 6 / 3600.0 / 2000,
               1e-9);
    check_near(test_json_number(root, "/scenario/resolved/tokens_per_sample"), 500, 0);
    assert_string_equal(test_json_text(root, "/results/0/token_note"), "");
    json_decref(root);
    output = test_petrasim("run", "scenario.json", "--format", "md");
    check_contains(output.out, "500 a sample: energy 1.5");
    check_contains(output.out, "3.000 kJ per update (devices 3.000 kJ, links 0");
    test_output_free(&output);
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
        cmocka_unit_test(links_draw_power_and_energy_for_every_bit),
        cmocka_unit_test(what_is_not_known_of_devices_and_of_links_is_named_together),
        cmocka_unit_test(copies_and_their_all_reduce_count_folded_or_not),
        cmocka_unit_test(short_forms_say_what_their_parts_draw),
        cmocka_unit_test(figures_per_token_need_the_tokens_of_a_sample),
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

/*
 * `petrasim plan` against exhaustive search over small spaces, and against hand calculation; what
 * is said where nothing is feasible; plans as scenarios.
 */
#include "tests/support/check.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEVICE(name, memory, peak, price)                                                          \
    "{ \"petrasim\": \"device/1\", \"name\": \"" name "\", \"memory\": \"" memory "\", "           \
    "\"memory_bandwidth\": \"1 TB/s\", \"peak\": { \"fp32\": \"" peak " TFLOP/s\" }, \"cost\": { " \
    "\"default\": { \"any\": { \"compute\": 0.6, \"memory\": 0.6, \"launch\": \"5 us\", "          \
    "\"norm\": 2 } } }, \"power\": { \"idle\": \"100 W\", \"busy\": \"300 W\" }, \"price\": { "    \
    "\"per_hour\": \"" price " USD/h\", \"date\": \"2026-01-02\", \"source\": \"test\" } }"

#define POWER "\"power\": { \"static\": \"5 W\", \"per_bit\": \"10 pJ/b\", \"source\": \"test\" }"

/* Six devices in one row: with two types, old ones first; `node` makes three nodes of two. */
static void write_platforms(void)
{
    test_file_write("new.json", DEVICE("new", "16 GiB", "20", "3"));
    test_file_write("old.json", DEVICE("old", "8 GiB", "7", "1"));
    test_file_write(
        "even.json",
        "{ \"petrasim\": \"platform/1\", \"name\": \"even\", \"devices\": { \"gpu\": { "
        "\"file\": \"new.json\" } }, \"nodes\": [ { \"name\": \"n\", \"count\": 3, "
        "\"devices\": [ { \"type\": \"gpu\", \"count\": 2 } ], \"interconnect\": { "
        "\"kind\": \"switch\", \"bandwidth\": \"50 GB/s\", \"latency\": \"2 us\", " POWER " }, "
        "\"nics\": { \"bandwidth\": \"20 Gb/s\", \"latency\": \"5 us\", " POWER " } } ], "
        "\"network\": { \"kind\": \"switch\", \"latency\": \"1 us\", " POWER " } }");
    test_file_write(
        "mixed.json",
        "{ \"petrasim\": \"platform/1\", \"name\": \"mixed\", \"devices\": { \"old\": "
        "{ \"file\": \"old.json\" }, \"new\": { \"file\": \"new.json\" } }, "
        "\"nodes\": [ { \"name\": \"n\", \"devices\": [ { \"type\": \"old\", "
        "\"count\": 2 }, { \"type\": \"new\", \"count\": 2 } ], \"interconnect\": { "
        "\"kind\": \"switch\", \"bandwidth\": \"10 GB/s\", \"latency\": \"5 us\", " POWER " } } ] "
        "}");
}

#define METHODS                                                                                    \
    "\"backprop\", \"gpipe\", { \"name\": \"gpipe\", \"label\": \"gpipe, recompute\", "            \
    "\"recompute\": \"all\" }, \"one_f_one_b\", \"pipedream\", \"delayed_gradients\", "            \
    "\"delayed_gradients_checkpoint\", \"petra\", \"reversible_backprop\""

static void write_goal(const char *objective, const char *constraints, const char *rest)
{
    char text[4096];

    snprintf(text, sizeof text,
             "{ \"petrasim\": \"plan/1\", \"models\": [ { \"name\": \"revnet18\", \"input\": [3, "
             "64, 64], \"width\": [1, 2] }, { \"name\": \"resnet18\", \"input\": [3, 64, 64] } ], "
             "\"platforms\": [ \"even.json\", \"mixed.json\" ], \"methods\": [ " METHODS " ], "
             "\"batch\": { \"microbatch\": [16, 128], \"accumulation\": [1, 6] }, "
             "\"replicas\": [1, 2, 3], \"objective\": \"%s\", \"constraints\": { %s }%s%s }",
             objective, constraints, rest[0] == '\0' ? "" : ", ", rest);
    test_file_write("goal.json", text);
}

static json_t *plan(const char *more, int code)
{
    struct test_output output = test_petrasim("plan", "--format", "json", "--check", "goal.json",
                                              more == NULL ? "--quiet" : more);
    json_t *root;

    check_code(&output, code);
    root = test_json_parse(output.out);
    test_output_free(&output);
    return root;
}

/* Everything but how many plans were replayed is that of the exhaustive search. */
static void check_against_exhaustive(const char *objective, const char *constraints,
                                     const char *rest, int code)
{
    static const char *const free_values[] = {"/space", NULL};
    json_t *pruned, *exhaustive;
    char where[256];

    write_goal(objective, constraints, rest);
    pruned = plan(NULL, code);
    exhaustive = plan("--exhaustive", code);
    if (!test_json_same(pruned, exhaustive, 0, free_values, where, sizeof where))
        fail_msg("%s, %s: %s differs from the exhaustive search", objective, constraints, where);
    json_decref(pruned);
    json_decref(exhaustive);
}

#define TRAINING "\"training\": { \"epoch_samples\": 1000000, \"epochs\": 2 }"

static void every_objective_is_that_of_exhaustive_search(void **state)
{
    static const char *const objectives[] = {"fastest",         "cheapest",      "fewest_gpus",
                                             "largest_model",   "largest_batch", "least_memory",
                                             "least_bandwidth", "least_energy"};

    (void)state;
    write_platforms();
    for (size_t i = 0; i < sizeof objectives / sizeof objectives[0]; i++)
        check_against_exhaustive(objectives[i], "\"samples_per_s\": 2000", "", 0);
}

static void constraints_are_those_of_exhaustive_search(void **state)
{
    (void)state;
    write_platforms();
    check_against_exhaustive("cheapest", "\"deadline\": \"20 min\"", TRAINING, 0);
    check_against_exhaustive("fastest", "\"cost\": \"1.5 USD\"", TRAINING, 0);
    check_against_exhaustive("fastest", "\"power\": \"900 W\", \"memory\": \"6 GiB\"", "", 0);
    check_against_exhaustive("fastest", "\"staleness\": 0, \"gpus\": 4", "", 0);
    check_against_exhaustive("fastest", "\"energy\": \"0.2 kWh\"", TRAINING, 0);
    check_against_exhaustive("fewest_gpus",
                             "\"least_samples_per_update\": 500, \"most_samples_per_update\": "
                             "1000, \"time_per_epoch\": \"10 min\"",
                             TRAINING, 0);
}

static void what_contradicts_is_a_minimal_set(void **state)
{
    json_t *root;

    (void)state;
    write_platforms();
    /* The staleness is no part of it: what is fast enough with few GPUs does not exist at all. */
    write_goal("fastest", "\"samples_per_s\": 1e6, \"gpus\": 2, \"staleness\": 100", "");
    root = plan(NULL, 1);
    assert_string_equal(test_json_text(root, "/conflict"), "samples_per_s 1e+06 samples/s");
    check_contains(test_json_text(root, "/headline"), "infeasible: no plan meets samples_per_s");
    check_contains(test_json_text(root, "/violates"), "samples_per_s: ");
    json_decref(root);
    /* Each alone can be met. */
    write_goal("fastest", "\"samples_per_s\": 15000, \"gpus\": 1, \"staleness\": 100", "");
    root = plan(NULL, 1);
    assert_string_equal(test_json_text(root, "/conflict"),
                        "samples_per_s 15000 samples/s and gpus 1");
    json_decref(root);
    check_against_exhaustive("fastest", "\"samples_per_s\": 15000, \"gpus\": 1", "", 1);
}

static void what_is_unsupported_is_not_infeasible(void **state)
{
    json_t *root;

    (void)state;
    write_platforms();
    test_file_write("goal.json",
                    "{ \"petrasim\": \"plan/1\", \"models\": [ { \"name\": \"resnet18\" } ], "
                    "\"platforms\": [ \"even.json\" ], \"methods\": [ \"petra\" ], \"batch\": { "
                    "\"microbatch\": [1] }, \"objective\": \"fastest\" }");
    root = plan(NULL, 1);
    check_contains(test_json_text(root, "/headline"), "unsupported: petra: ");
    json_decref(root);
}

/*
 * By hand: 12 blocks of 1 s forward and 2 s backward, messages that take no time, no memory to
 * speak of.  On J devices the longest stage of pipedream has ceil(12 / J) blocks and takes 3 s for
 * each, so that one micro-batch of 4 samples every 6 s needs ceil(12 / J) = 2: six devices.
 */
static void the_fewest_gpus_are_those_of_the_hand(void **state)
{
    json_t *root;

    (void)state;
    write_platforms();
    test_file_write("row.json",
                    "{ \"petrasim\": \"platform/1\", \"name\": \"row\", \"devices\": { \"gpu\": { "
                    "\"file\": \"new.json\" } }, \"nodes\": [ { \"name\": \"n\", \"devices\": [ { "
                    "\"type\": \"gpu\", \"count\": 12 } ], \"interconnect\": { \"kind\": "
                    "\"switch\", \"bandwidth\": \"1000000 TB/s\" } } ] }");
    test_file_write("goal.json",
                    "{ \"petrasim\": \"plan/1\", \"models\": [ { \"stages\": [ { \"repeat\": 12, "
                    "\"forward\": \"1 s\", \"backward\": \"2 s\", \"input\": \"1 B\" } ] } ], "
                    "\"platforms\": [ \"row.json\" ], \"methods\": [ \"pipedream\" ], \"batch\": { "
                    "\"microbatch\": [4] }, \"objective\": \"fewest_gpus\", \"constraints\": { "
                    "\"samples_per_s\": 0.6666666 } }");
    root = plan(NULL, 0);
    check_near(test_json_number(root, "/plans/0/gpus"), 6, 0);
    check_near(test_json_number(root, "/plans/0/samples_per_s"), 4.0 / 6.0, 1e-9);
    check_near(test_json_number(root, "/plans/0/samples_per_s_simgrid"), 4.0 / 6.0, 1e-9);
    /* The node's 12 devices at 3 USD/h for 1.5 s a sample. */
    check_near(test_json_number(root, "/plans/0/usd_per_sample"), 12 * 3 * 1.5 / 3600, 1e-9);
    json_decref(root);
}

/* The slow devices get less work, and stand where the cut serves them best. */
static void a_mixed_pipeline_takes_the_best_order(void **state)
{
    json_t *root;

    (void)state;
    write_platforms();
    test_file_write("goal.json",
                    "{ \"petrasim\": \"plan/1\", \"models\": [ { \"name\": \"resnet18\" } ], "
                    "\"platforms\": [ \"mixed.json\" ], \"methods\": [ \"pipedream\" ], \"batch\": "
                    "{ \"microbatch\": [8] }, \"stages\": [2], \"objective\": \"fastest\" }");
    root = plan(NULL, 0);
    /* Two of the new ones beat the two old ones that come first in the platform. */
    check_contains(test_json_text(root, "/plans/0/placement"), "new then old");
    json_decref(root);
}

/* A plan written as a scenario gives compare the same figures. */
static void every_plan_is_a_scenario(void **state)
{
    static const char *const files[] = {"out/plan-1.json", "out/plan-2.json", "out/front-1.json",
                                        "out/method-1.json"};
    static const char *const rows[] = {"/plans/0", "/plans/1", "/front/0", "/best_of_methods/0"};
    struct test_output output;
    json_t *root;

    (void)state;
    write_platforms();
    write_goal("fastest", "\"gpus\": 4", TRAINING);
    output = test_petrasim("plan", "--format", "json", "--scenario-out", "out", "goal.json");
    check_code(&output, 0);
    root = test_json_parse(output.out);
    test_output_free(&output);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        json_t *result, *row = test_json_at(root, rows[i]);

        output = test_petrasim("compare", "--format", "json", files[i]);
        check_code(&output, 0);
        result = test_json_parse(output.out);
        check_near(test_json_number(result, "/results/0/samples_per_s"),
                   test_json_number(row, "/samples_per_s_simgrid"), 1e-12);
        check_near(test_json_number(result, "/results/0/cost_per_sample_usd"),
                   test_json_number(row, "/usd_per_sample"), 1e-12);
        check_near(test_json_number(result, "/results/0/energy_per_sample_j"),
                   test_json_number(row, "/joule_per_sample"), 1e-12);
        json_decref(result);
        test_output_free(&output);
    }
    json_decref(root);
}

static void workers_do_not_change_the_answer(void **state)
{
    struct test_output one, two;

    (void)state;
    write_platforms();
    write_goal("cheapest", "\"samples_per_s\": 1000", "");
    one = test_petrasim("plan", "--workers", "1", "goal.json");
    two = test_petrasim("plan", "--workers", "2", "goal.json");
    check_code(&one, 0);
    assert_string_equal(one.out, two.out);
    test_output_free(&one);
    test_output_free(&two);
}

static void bad_goals_are_refused_whole(void **state)
{
    struct test_output output;

    (void)state;
    write_platforms();
    test_file_write("goal.json",
                    "{ \"petrasim\": \"plan/1\", \"models\": [ { \"name\": \"revnet5O\" } ],\n"
                    "  \"platforms\": [ \"even.json\" ], \"methods\": [ { \"name\": \"petra\", "
                    "\"accumulation\": 4 } ],\n"
                    "  \"batch\": { \"microbatch\": { \"from\": 8, \"to\": 4 } }, \"objective\": "
                    "\"fastes\",\n  \"constraints\": { \"deadline\": \"5 h\", \"gpu\": 3 } }");
    output = test_petrasim("plan", "goal.json");
    check_code(&output, 3);
    assert_string_equal(output.out, "");
    check_contains(output.err, "goal.json:1:47: error: .models[0].name: the catalogue has no model "
                               "\"revnet5O\" (did you mean \"revnet50\"?)");
    check_contains(output.err, "is what the plan chooses");
    check_contains(output.err, "\"to\" is less than \"from\"");
    check_contains(output.err, "did you mean \"fastest\"?");
    check_contains(output.err, "needs \"training\"");
    check_contains(output.err, "(did you mean \"gpus\"?)");
    test_output_free(&output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_objective_is_that_of_exhaustive_search),
        cmocka_unit_test(constraints_are_those_of_exhaustive_search),
        cmocka_unit_test(what_contradicts_is_a_minimal_set),
        cmocka_unit_test(what_is_unsupported_is_not_infeasible),
        cmocka_unit_test(the_fewest_gpus_are_those_of_the_hand),
        cmocka_unit_test(a_mixed_pipeline_takes_the_best_order),
        cmocka_unit_test(every_plan_is_a_scenario),
        cmocka_unit_test(workers_do_not_change_the_answer),
        cmocka_unit_test(bad_goals_are_refused_whole),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

/*
 * Every method is held to its own claims on the unit pipeline (f = 1, b = 2, r = 1, no
 * communication), and to what the papers and the definitions say of staleness, versions and what
 * is held, for J = 1..8 stages and M = 1..16 micro-batches.
 */
#include "tests/support/check.h"
#include "tests/support/pipeline.h"

#include <string.h>

static const char *const method_names[] = {
    "backprop", "delayed_gradients", "delayed_gradients_checkpoint", "gpipe", "one_f_one_b",
    "petra",    "pipedream",         "reversible_backprop"};

static struct psim_simulation run_unit(const char *name, int stages, int64_t m, const char *option,
                                       const char *value, struct psim_closed_form *claim)
{
    const struct psim_method *method = psim_method_find(name);
    struct psim_shape shape = test_shape(method, m);
    struct psim_stage_times times[64];
    struct test_pipeline pipeline;
    struct psim_simulation simulation;
    bool reversible[64];

    assert_non_null(method);
    if (option != NULL)
        test_set(method, &shape, option, value);
    if (method->overlap != NULL && (option == NULL || strcmp(option, "overlap") != 0))
        test_set(method, &shape, "overlap", "ideal");
    test_pipeline_unit(&pipeline, stages, true);
    simulation = test_run(&pipeline, method, &shape, &psim_engine_replay);
    for (int j = 0; j < stages; j++) {
        times[j] = (struct psim_stage_times){1, 1, 2, 0, 0, true};
        reversible[j] = true;
    }
    shape.stages = stages;
    shape.reversible = reversible;
    shape.streams = 2;
    method->closed_form(&shape, times, claim);
    test_pipeline_release(&pipeline);
    return simulation;
}

static void hold_to_claims(const char *name, int stages, int64_t m, const char *option,
                           const char *value)
{
    struct psim_closed_form claim;
    struct psim_simulation got = run_unit(name, stages, m, option, value, &claim);

    if (!psim_near(got.time_per_microbatch_s, claim.time_per_microbatch, 1e-9) ||
        !psim_near(got.flop_units, claim.flop_units, 1e-9))
        print_error("%s J=%d M=%d %s=%s\n", name, stages, (int)m, option ? option : "", value);
    check_near(got.time_per_microbatch_s, claim.time_per_microbatch, 1e-9);
    check_near(got.flop_units, claim.flop_units, 1e-9);
    if (stages > 1) {
        check_near(got.communication_forward, claim.communication_forward, 1e-12);
        check_near(got.communication_backward, claim.communication_backward, 1e-12);
    }
    assert_true(got.steady);
    psim_simulation_release(&got);
}

static void every_method_keeps_its_closed_form(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof method_names / sizeof method_names[0]; i++) {
        for (int stages = 1; stages <= 8; stages++) {
            for (int m = 1; m <= 16; m++)
                hold_to_claims(method_names[i], stages, m, NULL, "");
        }
    }
}

static void every_option_keeps_its_closed_form(void **state)
{
    static const struct {
        const char *method, *option, *value;
    } cases[] = {
        {"gpipe", "recompute", "all"},
        {"gpipe", "recompute", "all_but_last"},
        {"petra", "overlap", "serial"},
        {"petra", "overlap", "shared"},
        {"petra", "backward", "naive"},
        {"petra", "stash_parameters", "1"},
        {"delayed_gradients", "overlap", "serial"},
        {"delayed_gradients", "overlap", "shared"},
        {"delayed_gradients_checkpoint", "overlap", "serial"},
        {"delayed_gradients_checkpoint", "overlap", "shared"},
        {"delayed_gradients_checkpoint", "stash_parameters", "1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int stages = 1; stages <= 8; stages++) {
            for (int m = 1; m <= 16; m += 3)
                hold_to_claims(cases[i].method, stages, m, cases[i].option, cases[i].value);
        }
    }
}

static double unit_time(const char *name, int stages, const char *option, const char *value)
{
    struct psim_closed_form claim;
    struct psim_simulation got = run_unit(name, stages, 1, option, value, &claim);
    const double time = got.time_per_microbatch_s;

    psim_simulation_release(&got);
    return time;
}

/* The figures of PETRA's Table 1 as the design restates them, J = 10. */
static void ten_stages_give_the_published_units(void **state)
{
    (void)state;
    check_near(unit_time("backprop", 10, NULL, NULL), 30, 1e-12);
    check_near(unit_time("reversible_backprop", 10, NULL, NULL), 40, 1e-12);
    check_near(unit_time("delayed_gradients_checkpoint", 10, "overlap", "ideal"), 3, 1e-12);
    check_near(unit_time("delayed_gradients_checkpoint", 10, "overlap", "serial"), 4, 1e-12);
    check_near(unit_time("petra", 10, "overlap", "ideal"), 3, 1e-12);
    check_near(unit_time("petra", 10, "overlap", "serial"), 4, 1e-12);
    check_near(unit_time("petra", 10, "backward", "naive"), 4, 1e-12);
    check_near(unit_time("delayed_gradients", 10, "overlap", "ideal"), 3, 1e-12);
    check_near(unit_time("pipedream", 10, NULL, NULL), 3, 1e-12);
}

static void one_stage_takes_three_units(void **state)
{
    static const char *const three[] = {
        "backprop", "delayed_gradients", "delayed_gradients_checkpoint", "gpipe", "one_f_one_b",
        "petra",    "pipedream"};

    (void)state;
    for (size_t i = 0; i < sizeof three / sizeof three[0]; i++)
        check_near(unit_time(three[i], 1, NULL, NULL), 3, 1e-12);
    check_near(unit_time("reversible_backprop", 1, NULL, NULL), 4, 1e-12);
    check_near(unit_time("gpipe", 1, "recompute", "all"), 4, 1e-12);
}

/* Table 1 prints 2 for delayed gradients: right when the last stage is short. */
static void a_short_last_stage_gives_delayed_gradients_two_units(void **state)
{
    const struct psim_method *method = psim_method_find("delayed_gradients");
    struct psim_shape shape = test_shape(method, 1);
    struct test_stage stages[10];
    struct test_pipeline pipeline;
    struct psim_simulation got;

    (void)state;
    for (int j = 0; j < 10; j++)
        stages[j] = (struct test_stage){1, 1, 2, 0, 0, false};
    stages[9].forward = 0.5;
    stages[9].backward = 1;
    test_set(method, &shape, "overlap", "ideal");
    test_pipeline_init(&pipeline, stages, 10, 1e9, 0, 0);
    got = test_run(&pipeline, method, &shape, &psim_engine_replay);
    check_near(got.time_per_microbatch_s, 2, 1e-12);
    psim_simulation_release(&got);
    test_pipeline_release(&pipeline);
}

static void flops_of_petra_and_dsp_are_4j_less_the_last_stage(void **state)
{
    struct psim_closed_form claim;
    struct psim_simulation got;

    (void)state;
    got = run_unit("petra", 10, 1, NULL, NULL, &claim);
    check_near(got.flop_units, 39, 1e-12);
    psim_simulation_release(&got);
    got = run_unit("delayed_gradients_checkpoint", 10, 1, NULL, NULL, &claim);
    check_near(got.flop_units, 39, 1e-12);
    psim_simulation_release(&got);
}

static double step_units(const char *name, double backward, int64_t *peak_sum)
{
    const struct psim_method *method = psim_method_find(name);
    const struct psim_shape shape = test_shape(method, 32);
    struct test_stage stages[8];
    struct test_pipeline pipeline;
    struct psim_simulation got;
    double units;

    for (int j = 0; j < 8; j++)
        stages[j] = (struct test_stage){1, 1, backward, 0, 0, false};
    test_pipeline_init(&pipeline, stages, 8, 1e9, 0, 0);
    got = test_run(&pipeline, method, &shape, &psim_engine_replay);
    units = got.time_per_update_s;
    *peak_sum = 0;
    for (int j = 0; j < 8; j++)
        *peak_sum += got.stages[j].memory.by_category[PSIM_MEMORY_ACTIVATIONS];
    psim_simulation_release(&got);
    test_pipeline_release(&pipeline);
    return units;
}

static void gpipe_and_1f1b_take_as_long_with_different_memory(void **state)
{
    int64_t gpipe, one_f_one_b;

    (void)state;
    check_near(step_units("gpipe", 2, &gpipe), 117, 1e-12);
    check_near(step_units("one_f_one_b", 2, &one_f_one_b), 117, 1e-12);
    assert_int_equal(gpipe, 8 * 32 * 100);
    assert_int_equal(one_f_one_b, (8 + 7 + 6 + 5 + 4 + 3 + 2 + 1) * 100);
    check_near(step_units("gpipe", 1, &gpipe), 78, 1e-12);
    check_near(step_units("one_f_one_b", 1, &one_f_one_b), 78, 1e-12);
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What a stage holds, how stale it is and how many versions it has: methods.md, tables. */
static void check_counts(const char *name, int j, int stages, int64_t m,
                         const struct psim_stage_result *got, bool stash)
{
    const int64_t behind = stages - j, delay = 2 * (stages - j); /* j from 1 */

    if (strcmp(name, "gpipe") == 0) {
        assert_int_equal(got->held_microbatches, m);
        assert_int_equal(got->staleness_microbatches, 0);
    } else if (strcmp(name, "one_f_one_b") == 0) {
        assert_int_equal(got->held_microbatches, min64(behind + 1, m));
        assert_int_equal(got->staleness_microbatches, 0);
    } else if (strcmp(name, "pipedream") == 0) {
        assert_int_equal(got->held_microbatches, behind + 1);
        assert_int_equal(got->staleness_microbatches, behind);
        assert_int_equal(got->staleness_min_microbatches, behind);
        assert_int_equal(got->parameter_versions, behind + 1);
        return;
    } else if (strstr(name, "backprop") != NULL) {
        assert_int_equal(got->held_microbatches, 1);
        assert_int_equal(got->staleness_microbatches, 0);
    } else {
        assert_int_equal(got->held_microbatches, j == stages ? 1 : delay + 1);
        assert_int_equal(got->carried_microbatches, delay);
        assert_int_equal(got->carried_min_microbatches, delay);
        assert_int_equal(got->staleness_microbatches, delay);
        assert_int_equal(got->staleness_min_microbatches, delay);
        if (stash) {
            assert_int_equal(got->parameter_versions, 1 + (delay + m - 1) / m);
            return;
        }
    }
    assert_int_equal(got->parameter_versions, 1);
}

static void held_stale_and_versions_are_as_tabled(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof method_names / sizeof method_names[0]; i++) {
        const bool stash = strcmp(method_names[i], "delayed_gradients") == 0;

        for (int stages = 1; stages <= 8; stages++) {
            for (int m = 1; m <= 16; m++) {
                struct psim_closed_form claim;
                struct psim_simulation got =
                    run_unit(method_names[i], stages, m, NULL, NULL, &claim);

                for (int j = 1; j <= stages; j++)
                    check_counts(method_names[i], j, stages, m, &got.stages[j - 1], stash);
                psim_simulation_release(&got);
            }
        }
    }
}

static void stashing_methods_hold_the_tabled_versions(void **state)
{
    static const char *const names[] = {"petra", "delayed_gradients_checkpoint"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        for (int m = 1; m <= 16; m++) {
            struct psim_closed_form claim;
            struct psim_simulation got = run_unit(names[i], 8, m, "stash_parameters", "1", &claim);

            for (int j = 1; j <= 8; j++)
                check_counts(names[i], j, 8, m, &got.stages[j - 1], true);
            psim_simulation_release(&got);
        }
    }
}

static void petra_keeps_no_activation_on_reversible_stages(void **state)
{
    struct psim_closed_form claim;
    struct psim_simulation got = run_unit("petra", 8, 1, NULL, NULL, &claim);

    (void)state;
    for (int j = 0; j < 7; j++) {
        assert_int_equal(got.stages[j].memory.by_category[PSIM_MEMORY_ACTIVATIONS], 0);
        assert_int_equal(got.stages[j].memory.by_category[PSIM_MEMORY_INPUTS], 0);
    }
    psim_simulation_release(&got);
}

static void petra_refuses_a_net_without_reversible_blocks(void **state)
{
    const struct psim_method *method = psim_method_find("petra");
    const struct psim_shape shape = test_shape(method, 1);
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_program program;
    struct test_pipeline pipeline;

    (void)state;
    test_pipeline_unit(&pipeline, 3, false);
    assert_int_equal(psim_program_build(method, &shape, &pipeline.workload, &pipeline.platform,
                                        PSIM_ACCOUNTING_FULL, &program, &err),
                     PSIM_ERR_MODEL);
    check_contains(err.message, "no block of test is reversible");
    test_pipeline_release(&pipeline);
}

static void the_table_is_sorted_and_complete(void **state)
{
    size_t count = 0;

    (void)state;
    for (; psim_method_table[count] != NULL; count++) {
        assert_non_null(psim_method_table[count]->summary);
        assert_non_null(psim_method_table[count]->source);
        assert_string_equal(psim_method_table[count]->name, method_names[count]);
    }
    assert_int_equal(count, sizeof method_names / sizeof method_names[0]);
    assert_null(psim_method_find("petraa"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_method_keeps_its_closed_form),
        cmocka_unit_test(every_option_keeps_its_closed_form),
        cmocka_unit_test(ten_stages_give_the_published_units),
        cmocka_unit_test(one_stage_takes_three_units),
        cmocka_unit_test(a_short_last_stage_gives_delayed_gradients_two_units),
        cmocka_unit_test(flops_of_petra_and_dsp_are_4j_less_the_last_stage),
        cmocka_unit_test(gpipe_and_1f1b_take_as_long_with_different_memory),
        cmocka_unit_test(held_stale_and_versions_are_as_tabled),
        cmocka_unit_test(stashing_methods_hold_the_tabled_versions),
        cmocka_unit_test(petra_keeps_no_activation_on_reversible_stages),
        cmocka_unit_test(petra_refuses_a_net_without_reversible_blocks),
        cmocka_unit_test(the_table_is_sorted_and_complete),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

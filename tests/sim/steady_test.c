/*
 * The steady middle of a flushed step, counted instead of simulated: the full replay to 1e-9, on
 * random pipelines, for every method and option; and not where forwards and backwards keep apart.
 */
#include "sim/plan/steady.h"
#include "tests/support/check.h"
#include "tests/support/pipeline.h"

#include <math.h>
#include <stdio.h>

static uint64_t state_of_random = 7;

static double random_share(void)
{
    state_of_random =
        state_of_random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(state_of_random >> 11) / 9007199254740992.0;
}

static void make_pipeline(struct test_pipeline *pipeline, int stages, bool alike)
{
    struct test_stage list[8];

    for (int j = 0; j < stages; j++) {
        list[j] = (struct test_stage){.forward = alike ? 1 : 0.2 + random_share(),
                                      .reconstruct = alike ? 1 : 0.2 + random_share(),
                                      .backward = alike ? 1 : 0.2 + random_share(),
                                      .update = random_share(),
                                      .message = 1000,
                                      .reversible = true};
    }
    test_pipeline_init(pipeline, list, stages, 1e4, 0.01 * random_share(), random_share());
}

static void check_same(const struct psim_simulation *got, const struct psim_simulation *want)
{
    check_near(got->time_per_microbatch_s, want->time_per_microbatch_s, 1e-9);
    check_near(got->time_per_update_s, want->time_per_update_s, 1e-9);
    check_near(got->utilisation_mean, want->utilisation_mean, 1e-9);
    check_near(got->bytes_forward_per_microbatch, want->bytes_forward_per_microbatch, 1e-9);
    assert_int_equal(got->window_microbatches, want->window_microbatches);
    for (int j = 0; j < want->stage_count; j++) {
        const struct psim_stage_result *a = &got->stages[j], *b = &want->stages[j];

        check_near(a->busy_fraction, b->busy_fraction, 1e-9);
        check_near(a->demand_fraction, b->demand_fraction, 1e-9);
        assert_int_equal(a->memory.bytes, b->memory.bytes);
        assert_int_equal(a->memory.update_bytes, b->memory.update_bytes);
        assert_int_equal(a->held_microbatches, b->held_microbatches);
        assert_int_equal(a->staleness_microbatches, b->staleness_microbatches);
    }
}

static int64_t operations; /* simulated by the last run of compare_runs, and by full replay */
static int64_t all_operations;

static void compare_runs(const struct test_pipeline *pipeline, const struct psim_method *method,
                         int64_t accumulation)
{
    const struct psim_shape shape = test_shape(method, accumulation);
    struct psim_simulation full = test_run(pipeline, method, &shape, &psim_engine_replay);
    struct psim_simulation steady = test_run(pipeline, method, &shape, &psim_engine_steady);

    check_same(&steady, &full);
    operations = steady.operations;
    all_operations = full.operations;
    psim_simulation_release(&full);
    psim_simulation_release(&steady);
}

static void it_is_the_full_replay(void **state)
{
    int shorter = 0, runs = 0;

    (void)state;
    for (int round = 0; round < 60; round++) {
        struct test_pipeline pipeline;
        const int stages = 1 + (int)(random_share() * 7);

        make_pipeline(&pipeline, stages, round % 4 == 0);
        for (int m = 0; psim_method_table[m] != NULL; m++) {
            compare_runs(&pipeline, psim_method_table[m], 50 + (int)(random_share() * 200));
            shorter += operations < all_operations ? 1 : 0;
            runs++;
        }
        test_pipeline_release(&pipeline);
    }
    printf("%d of %d runs were shortened\n", shorter, runs);
    assert_true(shorter > runs / 6);
}

/* gpipe's forwards and backwards have equal periods here, and come one after the other. */
static void phases_are_not_a_steady_state(void **state)
{
    struct test_pipeline pipeline;

    (void)state;
    make_pipeline(&pipeline, 4, true);
    compare_runs(&pipeline, psim_method_find("gpipe"), 300);
    assert_int_equal(operations, all_operations);
    compare_runs(&pipeline, psim_method_find("one_f_one_b"), 300);
    assert_true(operations * 4 < all_operations);
    test_pipeline_release(&pipeline);
}

/* A stage far down that is a little slower than the first: the first one's pace is not the last. */
static void a_slow_start_is_no_steady_state(void **state)
{
    struct test_stage list[6];
    struct test_pipeline pipeline;

    (void)state;
    for (int j = 0; j < 6; j++)
        list[j] = (struct test_stage){1, 1, 2 + (j == 5 ? 1e-3 : 0), 0, 1, true};
    test_pipeline_init(&pipeline, list, 6, 1e9, 0.3, 0);
    compare_runs(&pipeline, psim_method_find("one_f_one_b"), 2000);
    test_pipeline_release(&pipeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_the_full_replay),
        cmocka_unit_test(phases_are_not_a_steady_state),
        cmocka_unit_test(a_slow_start_is_no_steady_state),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Conditions under a run, by hand and alike on both engines: slow devices, stragglers, slow links,
 * jitter, failures.
 */
#include "tests/support/check.h"
#include "tests/support/pipeline.h"

#include <math.h>

static const struct psim_engine *const engines[] = {&psim_engine_replay, &psim_engine_simgrid};

/* Two stages, f = 1, b = 2, a message of 1 s each way. */
static void make_two(struct test_pipeline *pipeline, const struct psim_conditions *conditions)
{
    const struct test_stage stages[2] = {{1, 1, 2, 0, 0, false}, {1, 1, 2, 0, 1000000000, false}};

    test_pipeline_init(pipeline, stages, 2, 1e9, 0, 0);
    pipeline->conditions = conditions;
}

static void check_end(const struct test_log *log, int stage, int direction, unsigned passes,
                      double end_s)
{
    check_near(test_log_find(log, stage, direction, passes, 0)->end_s, end_s, 1e-9);
}

/*
 * Stage 1 at half speed from 0.5 to 1 s: its forward has done 0.5 + 0.25 by then, and ends at 1.25.
 * The link at half its bandwidth from 1.75 to 2.25 s: the message has 0.5 + 0.25 of its second by
 * then, and arrives at 2.5.
 */
static void a_straggler_and_a_slow_link_are_as_by_hand(void **state)
{
    const struct psim_condition events[] = {
        {PSIM_CONDITION_DEVICE_SPEED, 0, 0.5, 1, 0.5},
        {PSIM_CONDITION_LINK_BANDWIDTH, 0, 1.75, 2.25, 0.5},
    };
    const struct psim_conditions conditions = {.events = events, .event_count = 2, .updates = 1};
    const struct psim_method *method = psim_method_find("backprop");
    const struct psim_shape shape = test_shape(method, 1);

    (void)state;
    for (int e = 0; e < 2; e++) {
        struct test_pipeline pipeline;
        struct test_log *log;

        make_two(&pipeline, &conditions);
        log = test_run_logged(&pipeline, method, &shape, engines[e], 100);
        check_end(log, 0, -1, PSIM_FORWARD, 1.25);
        check_end(log, 0, 0, 0, 2.5);
        check_end(log, 1, -1, PSIM_BACKWARD, 5.5);
        check_end(log, 0, -1, PSIM_BACKWARD, 8.5);
        test_log_free(log);
        test_pipeline_release(&pipeline);
    }
}

/* Two kernels that share a device when it slows down: both at half of (1+g)/2. */
static void sharing_and_slowing_down_multiply(void **state)
{
    const struct psim_condition events[] = {{PSIM_CONDITION_DEVICE_SPEED, 0, 0, 1e9, 0.5}};
    const struct psim_conditions conditions = {.events = events, .event_count = 1, .updates = 200};
    const struct psim_method *method = psim_method_find("delayed_gradients");
    const struct psim_shape shape = test_shape(method, 1);
    const struct test_stage stages[2] = {{1, 1, 3, 0, 0, false}, {0.1, 1, 0.1, 0, 0, false}};

    (void)state;
    for (int e = 0; e < 2; e++) {
        struct test_pipeline pipeline;
        struct psim_simulation got;

        test_pipeline_init(&pipeline, stages, 2, 1e9, 0, 0.25);
        pipeline.conditions = &conditions;
        got = test_run(&pipeline, method, &shape, engines[e]);
        /* 2 (2 / 1.25 + 2) a round; the two rounds of the fill are shorter. */
        check_near(got.time_per_microbatch_s, 2 * (2 / 1.25 + 2), 0.01);
        psim_simulation_release(&got);
        test_pipeline_release(&pipeline);
    }
}

static void a_slow_device_sets_the_pace(void **state)
{
    const double speed[] = {1, 0.5, 1, 1};
    const struct psim_conditions conditions = {.speed = speed};
    const struct psim_method *method = psim_method_find("pipedream");
    const struct psim_shape shape = test_shape(method, 1);
    struct test_pipeline pipeline;
    struct psim_simulation got;

    (void)state;
    test_pipeline_unit(&pipeline, 4, false);
    pipeline.conditions = &conditions;
    got = test_run(&pipeline, method, &shape, &psim_engine_simgrid);
    check_near(got.time_per_microbatch_s, 6, 1e-9);
    assert_true(got.steady);
    psim_simulation_release(&got);
    test_pipeline_release(&pipeline);
}

static double jittered(uint64_t seed, double sigma, const struct psim_engine *engine)
{
    const struct psim_conditions conditions = {.jitter = sigma, .updates = 300, .seed = seed};
    const struct psim_method *method = psim_method_find("petra");
    struct psim_shape shape = test_shape(method, 2);
    struct test_pipeline pipeline;
    struct psim_simulation got;
    double time;

    test_set(method, &shape, "overlap", "serial");
    test_pipeline_unit(&pipeline, 4, true);
    pipeline.conditions = &conditions;
    got = test_run(&pipeline, method, &shape, engine);
    time = got.time_per_microbatch_s;
    psim_simulation_release(&got);
    test_pipeline_release(&pipeline);
    return time;
}

static void jitter_is_the_seeds_alone(void **state)
{
    const double calm = jittered(1, 0, &psim_engine_replay);

    (void)state;
    assert_true(jittered(1, 0.1, &psim_engine_replay) == jittered(1, 0.1, &psim_engine_replay));
    check_near(jittered(1, 0.1, &psim_engine_replay), jittered(1, 0.1, &psim_engine_simgrid), 1e-9);
    assert_true(jittered(1, 0.1, &psim_engine_replay) != jittered(2, 0.1, &psim_engine_replay));
    /* Stages wait for the slowest of them: jitter costs time on average. */
    assert_true(jittered(1, 0.1, &psim_engine_replay) > calm);
    assert_true(jittered(1, 0.1, &psim_engine_replay) < 1.3 * calm);
}

static void jitter_has_mean_one_and_the_given_spread(void **state)
{
    const struct psim_conditions conditions = {.jitter = 0.2, .seed = 5};
    const int n = 100000;
    double sum = 0, squares = 0;

    (void)state;
    for (int i = 0; i < n; i++) {
        const double x = psim_conditions_jitter(&conditions, 3, i, 1);

        assert_true(x > 0);
        sum += x;
        squares += log(x) * log(x);
    }
    check_near(sum / n, 1, 0.005);
    check_near(squares / n, 0.2 * 0.2 + 0.02 * 0.02, 0.02);
}

/*
 * 1F1B with one stage, f + b = 3, two micro-batches an update: 6 s an update.  At 20 s three
 * updates are done; the fourth has run since 18 s and begun one micro-batch.
 */
static void a_failure_ends_the_run_and_says_what_is_lost(void **state)
{
    const struct psim_condition events[] = {
        {PSIM_CONDITION_DEVICE_FAILS, 1, 5, 0, 1}, /* holds no stage: does not matter */
        {PSIM_CONDITION_DEVICE_FAILS, 0, 20, 0, 1},
    };
    const struct psim_conditions conditions = {.events = events, .event_count = 2, .updates = 10};
    const struct psim_method *method = psim_method_find("one_f_one_b");
    const struct psim_shape shape = test_shape(method, 2);

    (void)state;
    for (int e = 0; e < 2; e++) {
        struct test_pipeline pipeline;
        struct psim_simulation got;

        test_pipeline_unit(&pipeline, 1, false);
        pipeline.conditions = &conditions;
        got = test_run(&pipeline, method, &shape, engines[e]);
        assert_int_equal(got.failure, 1);
        check_near(got.failed_at_s, 20, 1e-9);
        assert_int_equal(got.updates_done, 3);
        assert_int_equal(got.lost_microbatches, 1);
        check_near(got.lost_s, 2, 1e-9);
        assert_true(isnan(got.time_per_microbatch_s));
        psim_simulation_release(&got);
        test_pipeline_release(&pipeline);
    }
}

static void many_updates_of_a_flushed_step_take_as_many_times_as_long(void **state)
{
    const struct psim_conditions conditions = {.updates = 7};
    const struct psim_method *method = psim_method_find("gpipe");
    const struct psim_shape shape = test_shape(method, 4);
    struct test_pipeline pipeline;
    struct psim_simulation got;

    (void)state;
    test_pipeline_unit(&pipeline, 3, false);
    pipeline.conditions = &conditions;
    got = test_run(&pipeline, method, &shape, &psim_engine_replay);
    check_near(got.time_per_update_s, 18, 1e-12);
    check_near(got.window_s, 7 * 18, 1e-12);
    assert_int_equal(got.failure, -1);
    psim_simulation_release(&got);
    test_pipeline_release(&pipeline);
}

/*
 * Seven updates from a cold start end with the pipeline full: stages further on have begun, and
 * sent, more micro-batches than the first one has completed.  What one micro-batch takes is as by
 * hand all the same: every stage but the last sends 8 bytes on and gets them back, every stage
 * works 1 + 2 units, and with petra every stage but the last rebuilds for 1 more and sends the
 * activation along.
 */
static void work_of_a_micro_batch_is_whole_where_the_run_cuts_through_it(void **state)
{
    static const struct {
        const char *method;
        double units, extra, backward_bytes;
    } cases[] = {
        {"pipedream", 12, 0, 24}, {"delayed_gradients", 12, 0, 24}, {"petra", 15, 3.0 / 12, 48}};
    const struct psim_conditions conditions = {.jitter = 0.3, .updates = 7, .seed = 4};
    struct test_stage stages[4];

    (void)state;
    for (int j = 0; j < 4; j++)
        stages[j] = (struct test_stage){1, 1, 2, 0, 8, true};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        const struct psim_method *method = psim_method_find(cases[i / 2].method);
        const struct psim_shape shape = test_shape(method, 2);
        struct test_pipeline pipeline;
        struct psim_simulation got;

        test_pipeline_init(&pipeline, stages, 4, 1e9, 0, 0);
        pipeline.conditions = &conditions;
        got = test_run(&pipeline, method, &shape, engines[i % 2]);
        check_near(got.flop_units, cases[i / 2].units, 1e-12);
        check_near(got.flop_extra_fraction, cases[i / 2].extra, 1e-12);
        check_near(got.bytes_forward_per_microbatch, 24, 1e-12);
        check_near(got.bytes_backward_per_microbatch, cases[i / 2].backward_bytes, 1e-12);
        check_near(got.stages[1].backward_s, i / 2 == 2 ? 3 : 2, 1e-12);
        psim_simulation_release(&got);
        test_pipeline_release(&pipeline);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_straggler_and_a_slow_link_are_as_by_hand),
        cmocka_unit_test(sharing_and_slowing_down_multiply),
        cmocka_unit_test(a_slow_device_sets_the_pace),
        cmocka_unit_test(jitter_is_the_seeds_alone),
        cmocka_unit_test(jitter_has_mean_one_and_the_given_spread),
        cmocka_unit_test(a_failure_ends_the_run_and_says_what_is_lost),
        cmocka_unit_test(many_updates_of_a_flushed_step_take_as_many_times_as_long),
        cmocka_unit_test(work_of_a_micro_batch_is_whole_where_the_run_cuts_through_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

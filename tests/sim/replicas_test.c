/*
 * Data parallelism: copies of a pipeline whose gradients are summed before each update.  By hand,
 * and one copy of each kind (folded) against all copies simulated.
 */
#include "sim/config/scenario.h"
#include "sim/engine/collectives.h"
#include "tests/support/check.h"
#include "tests/support/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct psim_engine *const engines[] = {&psim_engine_replay, &psim_engine_simgrid};

static void must(enum psim_status status, const struct psim_error *err)
{
    if (status != PSIM_OK)
        fail_msg("%s: %s", err->where, err->message);
}

/* A platform of the catalogue, or a test's own by its path. */
static struct psim_platform read_platform(const char *name)
{
    const struct psim_catalogue catalogue = {PSIM_SOURCE_DIR "/platforms"};
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_platform platform = {0};
    char path[512];

    snprintf(path, sizeof path, PSIM_SOURCE_DIR "/%s%s.json",
             strchr(name, '/') == NULL ? "platforms/clusters/" : "", name);
    assert_int_equal(psim_platform_read(path, &catalogue, &platform, &list), PSIM_OK);
    psim_diagnostics_release(&list);
    return platform;
}

enum order { STAGES_FIRST, REPLICAS_FIRST };

/* Runs copies as `how` says, its devices aside; *lanes (may be NULL) are those simulated.  The
 * simulation is released by the caller. */
static struct psim_simulation replicate_and_run(const struct test_pipeline *pipeline,
                                                const struct psim_method *method,
                                                const struct psim_shape *shape,
                                                struct psim_replication how, enum order order,
                                                const struct psim_engine *engine, int *lanes)
{
    const int replicas = how.replicas;
    const int stages = pipeline->workload.stage_count;
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_simulation simulation = {0};
    struct psim_program program;
    int *devices = calloc((size_t)(replicas * stages), sizeof *devices);

    for (int r = 0; r < replicas; r++) {
        for (int j = 0; j < stages; j++)
            devices[r * stages + j] = order == STAGES_FIRST ? r * stages + j : j * replicas + r;
    }
    must(psim_program_build(method, shape, &pipeline->workload, &pipeline->platform,
                            PSIM_ACCOUNTING_FULL, &program, &err),
         &err);
    how.devices = devices;
    must(psim_program_replicate(&program, &how, &err), &err);
    must(psim_engine_run(engine, &program, NULL, &simulation, &err), &err);
    if (lanes != NULL)
        *lanes = program.lanes;
    psim_program_release(&program);
    free(devices);
    return simulation;
}

static struct psim_simulation run_copies(const struct test_pipeline *pipeline,
                                         const struct psim_method *method,
                                         const struct psim_shape *shape, int replicas,
                                         enum order order, bool folded,
                                         const struct psim_engine *engine, int *lanes)
{
    const struct psim_replication how = {
        .replicas = replicas, .folded = folded, .collective = psim_collective_find("ring")};

    return replicate_and_run(pipeline, method, shape, how, order, engine, lanes);
}

static void make_pipeline(struct test_pipeline *pipeline, const char *platform, int stages,
                          int64_t gradient_bytes)
{
    struct test_stage list[8];
    struct psim_platform read = read_platform(platform);
    int placement[8];

    for (int j = 0; j < stages; j++) {
        list[j] = (struct test_stage){0.01 + 0.001 * (j % 3), 0.01, 0.02, 0.001, 20000000, true};
        placement[j] = j;
    }
    test_pipeline_init(pipeline, list, stages, 1e9, 0, 0);
    test_pipeline_place(pipeline, &read, placement);
    for (int j = 0; j < stages; j++)
        pipeline->workload.stages[j].gradient_bytes = gradient_bytes;
}

/*
 * Four copies of one stage on an NVSwitch: 276 GB/s and 2 us device to device.  A ring all-reduce
 * of 4.6 GB takes 2 x 3 rounds: 6 (2 us) + 6/4 x 4.6 GB / (276 GB/s) = 25.012 ms; f + b = 30 ms,
 * one micro-batch, an update of 1 ms.
 */
static void an_all_reduce_comes_between_backward_and_update(void **state)
{
    const struct psim_method *method = psim_method_find("gpipe");
    const struct psim_shape shape = test_shape(method, 1);

    (void)state;
    for (int e = 0; e < 2; e++) {
        for (int folded = 0; folded < 2; folded++) {
            struct test_pipeline pipeline;
            struct psim_simulation got;

            make_pipeline(&pipeline, "8x-a100-nvswitch", 1, INT64_C(4600000000));
            got = run_copies(&pipeline, method, &shape, 4, STAGES_FIRST, folded == 1, engines[e],
                             NULL);
            check_near(got.time_per_update_s, 0.030 + 0.025012 + 0.001, 1e-9);
            check_near(got.stages[0].exposed_fraction, 0.025012 / got.time_per_update_s, 1e-9);
            psim_simulation_release(&got);
            test_pipeline_release(&pipeline);
        }
    }
}

static void one_copy_is_the_plain_pipeline(void **state)
{
    const struct psim_method *method = psim_method_find("petra");
    const struct psim_shape shape = test_shape(method, 2);
    struct test_pipeline pipeline;
    struct psim_simulation plain, one;

    (void)state;
    make_pipeline(&pipeline, "64x-a100", 6, 1000000);
    plain = test_run(&pipeline, method, &shape, &psim_engine_simgrid);
    one = run_copies(&pipeline, method, &shape, 1, STAGES_FIRST, false, &psim_engine_simgrid, NULL);
    assert_true(plain.time_per_microbatch_s == one.time_per_microbatch_s);
    psim_simulation_release(&plain);
    psim_simulation_release(&one);
    test_pipeline_release(&pipeline);
}

static void simulations_agree(const struct psim_simulation *a, const struct psim_simulation *b)
{
    check_near(a->time_per_update_s, b->time_per_update_s, 1e-9);
    check_near(a->start_up_s, b->start_up_s, 1e-9);
    assert_int_equal(a->window_microbatches, b->window_microbatches);
    for (int j = 0; j < a->stage_count; j++) {
        check_near(a->stages[j].busy_fraction, b->stages[j].busy_fraction, 1e-9);
        check_near(a->stages[j].exposed_fraction, b->stages[j].exposed_fraction, 1e-9);
        assert_int_equal(a->stages[j].memory.bytes, b->stages[j].memory.bytes);
        assert_int_equal(a->stages[j].staleness_microbatches, b->stages[j].staleness_microbatches);
    }
}

/* Folded and unfolded are the same, and so many kinds of copies were found. */
static void one_order_folds(const struct test_pipeline *pipeline, int replicas, enum order order,
                            int kinds)
{
    for (size_t m = 0; psim_method_table[m] != NULL; m++) {
        const struct psim_method *method = psim_method_table[m];
        const struct psim_shape shape = test_shape(method, 4);

        for (int e = 0; e < 2; e++) {
            int lanes, all_lanes;
            struct psim_simulation folded =
                run_copies(pipeline, method, &shape, replicas, order, true, engines[e], &lanes);
            struct psim_simulation all = run_copies(pipeline, method, &shape, replicas, order,
                                                    false, engines[e], &all_lanes);

            assert_int_equal(lanes, kinds);
            assert_int_equal(all_lanes, replicas);
            simulations_agree(&folded, &all);
            assert_true(replicas == kinds || folded.operations < all.operations);
            psim_simulation_release(&folded);
            psim_simulation_release(&all);
        }
    }
}

static void folds(const char *platform, int stages, int replicas, int kinds_stages_first,
                  int kinds_replicas_first)
{
    struct test_pipeline pipeline;

    make_pipeline(&pipeline, platform, stages, 200000000);
    one_order_folds(&pipeline, replicas, STAGES_FIRST, kinds_stages_first);
    one_order_folds(&pipeline, replicas, REPLICAS_FIRST, kinds_replicas_first);
    test_pipeline_release(&pipeline);
}

/* Along the nodes and across them, and over the ports that the all-reduce uses too. */
static void folded_copies_take_as_long_as_all_of_them(void **state)
{
    (void)state;
    folds("64x-a100", 8, 8, 1, 1);
    folds("8x-a100-nvswitch", 2, 4, 1, 1);
}

/* Eight devices of a node share a NIC: the copies' messages wait for each other, all alike. */
static void copies_that_share_a_link_load_it_as_all_do(void **state)
{
    (void)state;
    folds("4x8-a100-opa100", 4, 8, 2, 1);
    folds("8x-3090-pcie", 2, 4, 1, 1);
}

/* Both directions share a link: what a copy sends waits for what it receives. */
static void copies_fold_over_half_duplex_links(void **state)
{
    struct test_pipeline pipeline;

    (void)state;
    make_pipeline(&pipeline, "8x-3090-pcie", 2, 200000000);
    for (int i = 0; i < pipeline.platform.link_count; i++)
        pipeline.platform.links[i].sharing = PSIM_SHARED;
    one_order_folds(&pipeline, 4, STAGES_FIRST, 1);
    one_order_folds(&pipeline, 4, REPLICAS_FIRST, 1);
    test_pipeline_release(&pipeline);
}

/* 64 devices in four pods of two leaves: what a copy sends the next one stays in a pod or leaves
 * it, so that there are two kinds of copies; with copies of half a leaf, four. */
static void copies_in_pods_fold_by_their_place_in_the_pod(void **state)
{
    (void)state;
    folds("tests/data/sim/pods-64", 8, 8, 2, 1);
    folds("tests/data/sim/pods-64", 4, 16, 4, 8);
    folds("tests/data/sim/pods-64-thin", 8, 8, 2, 1);
}

/* A copy's way from its device 26 is a third as fast as its like. */
static void slow_one_folds(const char *platform_name, int to, double bytes_per_s, int kinds)
{
    struct test_pipeline pipeline;
    const struct psim_platform *platform = &pipeline.platform;
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_route route;
    int hop = 0;

    make_pipeline(&pipeline, platform_name, 8, 200000000);
    must(psim_platform_route(platform, 26, to, &route, &err), &err);
    while (platform->links[route.hops[hop].link].bandwidth_bytes_per_s != bytes_per_s)
        assert_true(++hop < route.hop_count);
    platform->links[route.hops[hop].link].bandwidth_bytes_per_s /= 3;
    psim_route_release(&route);
    one_order_folds(&pipeline, 8, STAGES_FIRST, kinds);
    test_pipeline_release(&pipeline);
}

/* Inside the node only its own copy is another one; at a NIC that only the all-reduce uses none is,
 * but its messages; at one that both use, all others wait for it in other places. */
static void a_slower_link_is_seen(void **state)
{
    (void)state;
    slow_one_folds("64x-a100", 27, 276e9, 2);
    slow_one_folds("64x-a100", 34, 190e9 / 8, 1);
    slow_one_folds("tests/data/sim/pods-64", 27, 100e9 / 8, 8);
}

static bool never_applies(enum psim_collective_kind kind, const struct psim_group *group)
{
    (void)kind, (void)group;
    return false;
}

static void an_algorithm_that_cannot_is_refused(void **state)
{
    const struct psim_method *method = psim_method_find("gpipe");
    const struct psim_shape shape = test_shape(method, 1);
    const int devices[] = {0, 1};
    struct psim_collective never = *psim_collective_find("ring");
    struct psim_error err = PSIM_ERROR_INIT;
    struct test_pipeline pipeline;
    struct psim_program program;

    (void)state;
    never.applies = never_applies;
    make_pipeline(&pipeline, "8x-a100-nvswitch", 1, 1000);
    must(psim_program_build(method, &shape, &pipeline.workload, &pipeline.platform,
                            PSIM_ACCOUNTING_FULL, &program, &err),
         &err);
    assert_int_equal(psim_program_replicate(&program,
                                            &(struct psim_replication){.replicas = 2,
                                                                       .folded = true,
                                                                       .collective = &never,
                                                                       .devices = devices},
                                            &err),
                     PSIM_ERR_MODEL);
    check_contains(err.message, "does not do this all-reduce");
    assert_int_equal(program.replicas, 1);
    psim_program_release(&program);
    test_pipeline_release(&pipeline);
}

/* Seconds that the all-reduce of 4.6 GB adds to a step of one stage, see above. */
static double all_reduce_seconds(const struct psim_replication *how,
                                 const struct psim_engine *engine)
{
    const struct psim_method *method = psim_method_find("gpipe");
    const struct psim_shape shape = test_shape(method, 1);
    struct test_pipeline pipeline;
    struct psim_simulation got;
    double seconds;

    make_pipeline(&pipeline, "8x-a100-nvswitch", 1, INT64_C(4600000000));
    got = replicate_and_run(&pipeline, method, &shape, *how, STAGES_FIRST, engine, NULL);
    seconds = got.time_per_update_s - 0.031;
    psim_simulation_release(&got);
    test_pipeline_release(&pipeline);
    return seconds;
}

/* In the switch: two latencies of 2 us and n (1 + 1/4) over a port, 4.6 GB at 276 GB/s. */
static void a_switch_adds_up_gradients(void **state)
{
    (void)state;
    for (int e = 0; e < 2; e++) {
        for (int folded = 0; folded < 2; folded++) {
            const struct psim_replication how = {
                .replicas = 4, .folded = folded == 1, .collective = psim_collective_find("nvls")};

            check_near(all_reduce_seconds(&how, engines[e]), 4e-6 + 1.25 * 4.6 / 276, 1e-9);
        }
    }
}

/* Measured at 138 GB/s of bus bandwidth: 2 x 3/4 x 4.6 GB / (138 GB/s) = 50 ms, base and all. */
static void measured_rates_hold_in_a_step(void **state)
{
    const double bytes[] = {1e6, 1e12}, rate[] = {138e9, 138e9};
    const struct psim_rate_curve curve = {.kind = PSIM_ALL_REDUCE,
                                          .algorithm = psim_collective_find("ring"),
                                          .nodes = 1,
                                          .ranks = 4,
                                          .base_s = 10e-6,
                                          .reference_bytes_per_s = 276e9,
                                          .points = 2,
                                          .bytes = bytes,
                                          .rate = rate};
    const struct psim_protocol protocol = {.name = "test", .curves = &curve, .curve_count = 1};

    (void)state;
    for (int e = 0; e < 2; e++) {
        struct psim_replication how = {.replicas = 4, .folded = true, .protocol = &protocol};

        check_near(all_reduce_seconds(&how, engines[e]), 0.050, 1e-9);
        /* What was measured with another algorithm says nothing of this one. */
        how.collective = psim_collective_find("nvls");
        check_near(all_reduce_seconds(&how, engines[e]), 4e-6 + 1.25 * 4.6 / 276, 1e-9);
    }
}

/* A step's all-reduce is the one that `petrasim collective` runs. */
static void every_algorithm_is_the_collective_alone(void **state)
{
    const int devices[] = {0, 1, 2, 3, 4, 5, 6, 7};
    struct psim_platform platform = read_platform("8x-a100-nvswitch");
    struct psim_error err = PSIM_ERROR_INIT;

    (void)state;
    for (size_t i = 0; psim_collective_table[i] != NULL; i++) {
        for (int e = 0; e < 2; e++) {
            const struct psim_replication how = {
                .replicas = 8, .folded = true, .collective = psim_collective_table[i]};
            struct psim_collective_job job = {.algorithm = psim_collective_table[i],
                                              .kind = PSIM_ALL_REDUCE,
                                              .devices = devices,
                                              .ranks = 8,
                                              .in_switch = true,
                                              .bytes = 4.6e9};

            must(psim_collectives_run(&platform, engines[e], &job, 1, &err), &err);
            check_near(all_reduce_seconds(&how, engines[e]), job.seconds, 1e-9);
        }
    }
    psim_platform_release(&platform);
}

/*
 * Two copies of two stages, the second one with 13.8 GB of gradients: its all-reduce starts at
 * t = 10 + 11 + 20 ms and a message m, takes 4 us and 13.8 GB / (276 GB/s) = 50 ms, and the update
 * of 1 ms follows.  Meanwhile stage 1 does its backward.  On simgrid the gradient that stage 2
 * sends back is in its way: the 20 MB less what went in the 2 us before.  Without overlap it starts
 * 20 ms and a message later.
 */
static void an_all_reduce_overlaps_the_backward_of_other_stages(void **state)
{
    const struct psim_method *method = psim_method_find("gpipe");
    const struct psim_shape shape = test_shape(method, 1);
    const double message_s = 2e-6 + 20e6 / 276e9, start_s = 0.041 + message_s;
    const double sum_s = 4e-6 + 0.050, in_the_way_s = 20e6 / 276e9 - 2e-6;

    (void)state;
    for (int e = 0; e < 2; e++) {
        for (int overlap = 0; overlap < 2; overlap++) {
            const struct psim_replication how = {.replicas = 2,
                                                 .folded = true,
                                                 .not_before = overlap == 0,
                                                 .collective = psim_collective_find("ring")};
            double want_s = start_s + sum_s + 0.001;
            struct test_pipeline pipeline;
            struct psim_simulation got;

            make_pipeline(&pipeline, "8x-a100-nvswitch", 2, 0);
            pipeline.workload.stages[1].gradient_bytes = INT64_C(13800000000);
            got = replicate_and_run(&pipeline, method, &shape, how, STAGES_FIRST, engines[e], NULL);
            if (overlap == 0)
                want_s += message_s + 0.020;
            else if (engines[e] == &psim_engine_simgrid)
                want_s += in_the_way_s;
            check_near(got.time_per_update_s, want_s, 1e-9);
            psim_simulation_release(&got);
            test_pipeline_release(&pipeline);
        }
    }
}

/* No method stops for ever where every stage waits for all others, and none gets faster. */
static void every_method_runs_without_overlap(void **state)
{
    struct test_pipeline pipeline;

    (void)state;
    make_pipeline(&pipeline, "8x-a100-nvswitch", 4, 200000000);
    for (size_t m = 0; psim_method_table[m] != NULL; m++) {
        const struct psim_method *method = psim_method_table[m];
        const struct psim_shape shape = test_shape(method, 4);
        struct psim_replication how = {
            .replicas = 2, .folded = true, .collective = psim_collective_find("ring")};
        struct psim_simulation with, without;

        with = replicate_and_run(&pipeline, method, &shape, how, STAGES_FIRST, engines[0], NULL);
        how.not_before = true;
        without = replicate_and_run(&pipeline, method, &shape, how, STAGES_FIRST, engines[0], NULL);
        assert_true(with.time_per_update_s <= without.time_per_update_s * (1 + 1e-9));
        psim_simulation_release(&with);
        psim_simulation_release(&without);
    }
    test_pipeline_release(&pipeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_all_reduce_comes_between_backward_and_update),
        cmocka_unit_test(one_copy_is_the_plain_pipeline),
        cmocka_unit_test(folded_copies_take_as_long_as_all_of_them),
        cmocka_unit_test(copies_that_share_a_link_load_it_as_all_do),
        cmocka_unit_test(copies_fold_over_half_duplex_links),
        cmocka_unit_test(copies_in_pods_fold_by_their_place_in_the_pod),
        cmocka_unit_test(a_slower_link_is_seen),
        cmocka_unit_test(a_switch_adds_up_gradients),
        cmocka_unit_test(measured_rates_hold_in_a_step),
        cmocka_unit_test(every_algorithm_is_the_collective_alone),
        cmocka_unit_test(an_all_reduce_overlaps_the_backward_of_other_stages),
        cmocka_unit_test(every_method_runs_without_overlap),
        cmocka_unit_test(an_algorithm_that_cannot_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

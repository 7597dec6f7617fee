/*
 * Data parallelism: copies of a pipeline whose gradients are summed before each update.  By hand,
 * and one copy that stands for all (folded) against all copies simulated.
 */
#include "sim/config/scenario.h"
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

static struct psim_platform read_platform(const char *name)
{
    const struct psim_catalogue catalogue = {PSIM_SOURCE_DIR "/platforms"};
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_platform platform = {0};
    char path[512];

    snprintf(path, sizeof path, PSIM_SOURCE_DIR "/platforms/clusters/%s.json", name);
    assert_int_equal(psim_platform_read(path, &catalogue, &platform, &list), PSIM_OK);
    psim_diagnostics_release(&list);
    return platform;
}

enum order { STAGES_FIRST, REPLICAS_FIRST };

/* Runs R copies; *simulation is released by the caller. */
static struct psim_simulation run_copies(const struct test_pipeline *pipeline,
                                         const struct psim_method *method,
                                         const struct psim_shape *shape, int replicas,
                                         enum order order, bool folded,
                                         const struct psim_engine *engine)
{
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
    must(psim_program_replicate(
             &program,
             &(struct psim_replication){.replicas = replicas,
                                        .folded = folded,
                                        .collective = psim_collective_find("ring"),
                                        .devices = devices},
             &err),
         &err);
    must(psim_engine_run(engine, &program, NULL, &simulation, &err), &err);
    psim_program_release(&program);
    free(devices);
    return simulation;
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
            got = run_copies(&pipeline, method, &shape, 4, STAGES_FIRST, folded == 1, engines[e]);
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
    one = run_copies(&pipeline, method, &shape, 1, STAGES_FIRST, false, &psim_engine_simgrid);
    assert_true(plain.time_per_microbatch_s == one.time_per_microbatch_s);
    psim_simulation_release(&plain);
    psim_simulation_release(&one);
    test_pipeline_release(&pipeline);
}

static void folded_equals_all(const char *platform, int stages, int replicas, bool foldable)
{
    for (size_t m = 0; psim_method_table[m] != NULL; m++) {
        for (int order = STAGES_FIRST; order <= REPLICAS_FIRST; order++) {
            const struct psim_method *method = psim_method_table[m];
            const struct psim_shape shape = test_shape(method, 4);
            struct test_pipeline pipeline;

            make_pipeline(&pipeline, platform, stages, 200000000);
            for (int e = 0; e < 2; e++) {
                struct psim_simulation folded = run_copies(&pipeline, method, &shape, replicas,
                                                           (enum order)order, true, engines[e]);
                struct psim_simulation all = run_copies(&pipeline, method, &shape, replicas,
                                                        (enum order)order, false, engines[e]);

                check_near(folded.time_per_update_s, all.time_per_update_s, 1e-9);
                for (int j = 0; j < stages; j++) {
                    check_near(folded.stages[j].busy_fraction, all.stages[j].busy_fraction, 1e-9);
                    assert_int_equal(folded.stages[j].memory.bytes, all.stages[j].memory.bytes);
                }
                if (foldable)
                    assert_true(all.operations >= replicas / 2 * folded.operations);
                else
                    assert_true(all.operations == folded.operations);
                psim_simulation_release(&folded);
                psim_simulation_release(&all);
            }
            test_pipeline_release(&pipeline);
        }
    }
}

/* Along the nodes and across them, and over the ports that the all-reduce uses too. */
static void folded_copies_take_as_long_as_all_of_them(void **state)
{
    (void)state;
    folded_equals_all("64x-a100", 8, 8, true);
    folded_equals_all("8x-a100-nvswitch", 2, 4, true);
}

/* Eight devices of a node share a NIC: the copies' messages wait for each other. */
static void copies_that_share_a_link_are_not_folded(void **state)
{
    (void)state;
    folded_equals_all("4x8-a100-opa100", 4, 8, false);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_all_reduce_comes_between_backward_and_update),
        cmocka_unit_test(one_copy_is_the_plain_pipeline),
        cmocka_unit_test(folded_copies_take_as_long_as_all_of_them),
        cmocka_unit_test(copies_that_share_a_link_are_not_folded),
        cmocka_unit_test(an_algorithm_that_cannot_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

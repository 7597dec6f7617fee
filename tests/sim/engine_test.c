/*
 * The two engines agree where nothing is contended; where links and devices are shared, simgrid
 * gives what is computed by hand; a child that dies is an error of its own simulation alone.
 */
#include "tests/support/check.h"
#include "tests/support/pipeline.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct test_stage uneven[] = {
    {0.11, 0.12, 0.25, 0.01, 1000000, true},  {0.17, 0.15, 0.21, 0.02, 1200000, true},
    {0.13, 0.13, 0.29, 0.015, 800000, false}, {0.10, 0.11, 0.31, 0.01, 700000, true},
    {0.19, 0.10, 0.15, 0.03, 900000, true},   {0.12, 0.12, 0.24, 0.01, 500000, false},
};

static void agree(const struct psim_simulation *a, const struct psim_simulation *b)
{
    check_near(a->time_per_microbatch_s, b->time_per_microbatch_s, 1e-9);
    check_near(a->time_per_update_s, b->time_per_update_s, 1e-9);
    check_near(a->utilisation_mean, b->utilisation_mean, 1e-9);
    check_near(a->bytes_forward_per_microbatch, b->bytes_forward_per_microbatch, 1e-12);
    check_near(a->bytes_backward_per_microbatch, b->bytes_backward_per_microbatch, 1e-12);
    if (a->exposed_communication_fraction > 1e-9)
        check_near(a->exposed_communication_fraction, b->exposed_communication_fraction, 1e-6);
    for (int j = 0; j < a->stage_count; j++) {
        const struct psim_stage_result *x = &a->stages[j], *y = &b->stages[j];

        check_near(x->busy_fraction, y->busy_fraction, 1e-9);
        assert_int_equal(x->staleness_microbatches, y->staleness_microbatches);
        assert_int_equal(x->parameter_versions, y->parameter_versions);
        assert_int_equal(x->held_microbatches, y->held_microbatches);
        assert_int_equal(x->memory.bytes, y->memory.bytes);
        check_near(x->memory.at_s, y->memory.at_s, 1e-9);
    }
}

static void engines_agree_without_contention(void **state)
{
    static const char *const overlaps[] = {"ideal", "shared", "serial"};

    (void)state;
    for (size_t i = 0; psim_method_table[i] != NULL; i++) {
        const struct psim_method *method = psim_method_table[i];

        for (int o = 0; o < (method->overlap == NULL ? 1 : 3); o++) {
            struct psim_shape shape = test_shape(method, 5);
            struct test_pipeline pipeline;
            struct psim_simulation replay, simgrid;

            if (method->overlap != NULL)
                test_set(method, &shape, "overlap", overlaps[o]);
            test_pipeline_init(&pipeline, uneven, 6, 1e9, 3e-6, 0.2);
            replay = test_run(&pipeline, method, &shape, &psim_engine_replay);
            simgrid = test_run(&pipeline, method, &shape, &psim_engine_simgrid);
            agree(&replay, &simgrid);
            psim_simulation_release(&replay);
            psim_simulation_release(&simgrid);
            test_pipeline_release(&pipeline);
        }
    }
}

/* Two kernels on one device: 2 min(f, R) / (1 + g) + |R - f| a round (docs/model.md eq. 3). */
static void shared_kernels_run_at_half_of_one_plus_g(void **state)
{
    static const double gains[] = {0, 0.25, 1};
    const struct psim_method *method = psim_method_find("delayed_gradients");
    const struct psim_engine *const engines[] = {&psim_engine_replay, &psim_engine_simgrid};

    (void)state;
    for (size_t i = 0; i < 6; i++) {
        const double g = gains[i / 2];
        struct psim_shape shape = test_shape(method, 1);
        struct test_stage stages[3] = {
            {1, 1, 3, 0, 0, false}, {1, 1, 3, 0, 0, false}, {0.1, 1, 0.1, 0, 0, false}};
        struct test_pipeline pipeline;
        struct psim_simulation got;

        test_pipeline_init(&pipeline, stages, 3, 1e9, 0, g);
        got = test_run(&pipeline, method, &shape, engines[i % 2]);
        check_near(got.time_per_microbatch_s, 2 / (1 + g) + 2, 1e-9);
        psim_simulation_release(&got);
        test_pipeline_release(&pipeline);
    }
}

static void must_be_ok(enum psim_status status)
{
    assert_int_equal(status, PSIM_OK);
}

/* Two nodes of two devices, one NIC each, behind a switch; 1 GB/s a NIC, no latency. */
static struct psim_platform two_nodes(void)
{
    const struct psim_device device = {.name = "test", .memory_bytes = INT64_C(1) << 40};
    const struct psim_interconnect *inside = psim_interconnect_find("switch");
    const struct psim_network_kind *network = psim_network_kind_find("switch");
    const struct psim_values no_latency = psim_values_default(network->parameters);
    struct psim_platform platform = {0};
    int type, types[2];

    must_be_ok(psim_platform_init(&platform, "two nodes", NULL));
    must_be_ok(psim_platform_add_type(&platform, "gpu", &device, &type, NULL));
    types[0] = types[1] = type;
    for (int node = 0; node < 2; node++) {
        struct psim_node_spec spec = {
            .name = node == 0 ? "a" : "b",
            .device_types = types,
            .devices = 2,
            .interconnect = inside,
            .interconnect_values = psim_values_default(inside->parameters),
            .nics = 1,
            .nic_bandwidth_bytes_per_s = 1e9,
        };

        psim_values_give(inside->parameters, &spec.interconnect_values, "bandwidth")->number =
            100e9;
        must_be_ok(psim_platform_add_node(&platform, node, &spec, NULL));
    }
    must_be_ok(psim_platform_add_network(&platform, network, &no_latency, NULL, NULL));
    must_be_ok(psim_platform_finish(&platform, 0, NULL));
    return platform;
}

/* One node: two PCIe switches of two devices each; 1 GB/s a device and an uplink. */
static struct psim_platform pcie_tree(void)
{
    const struct psim_device device = {.name = "test", .memory_bytes = INT64_C(1) << 40};
    const struct psim_interconnect *tree = psim_interconnect_find("pcie_tree");
    struct psim_values values = psim_values_default(tree->parameters);
    struct psim_platform platform = {0};
    int type, types[4];

    psim_values_give(tree->parameters, &values, "bandwidth")->number = 1e9;
    psim_values_give(tree->parameters, &values, "per_switch")->count = 2;
    must_be_ok(psim_platform_init(&platform, "pcie", NULL));
    must_be_ok(psim_platform_add_type(&platform, "gpu", &device, &type, NULL));
    for (int i = 0; i < 4; i++)
        types[i] = type;
    must_be_ok(psim_platform_add_node(&platform, 0,
                                      &(struct psim_node_spec){.name = "n",
                                                               .device_types = types,
                                                               .devices = 4,
                                                               .interconnect = tree,
                                                               .interconnect_values = values},
                                      NULL));
    must_be_ok(psim_platform_finish(&platform, 0, NULL));
    return platform;
}

/*
 * Four stages, zig-zag over the two halves of a platform: 0 and 2 on one side, 1 and 3 on the
 * other, so hops 0 and 2 go one way over the same link and hop 1 comes back.  A message takes
 * 0.25 s alone.  f = 1, 0.75, 0.75, 1:
 *   t = 1    hop 0 carries micro-batch 0 alone               -> 1.25
 *   t = 2    hop 0 carries 1 while hop 1 carries 0 back       -> 2.25 both if duplex, 2.5 if shared
 *   t = 3    hop 0 carries 2 while hop 2 carries 0, same way  -> 3.5 both
 */
static struct test_log *run_zig_zag(struct psim_platform *platform, const int *placement,
                                    const struct psim_engine *engine)
{
    const struct psim_method *method = psim_method_find("gpipe");
    const struct psim_shape shape = test_shape(method, 4);
    const struct test_stage stages[4] = {{1, 1, 2, 0, 250000000, false},
                                         {0.75, 1, 2, 0, 250000000, false},
                                         {0.75, 1, 2, 0, 250000000, false},
                                         {1, 1, 2, 0, 250000000, false}};
    struct test_pipeline pipeline;
    struct test_log *log;

    test_pipeline_init(&pipeline, stages, 4, 1e9, 0, 0);
    test_pipeline_place(&pipeline, platform, placement);
    log = test_run_logged(&pipeline, method, &shape, engine, 1000);
    test_pipeline_release(&pipeline);
    return log;
}

static void check_flow(const struct test_log *log, int hop, int64_t microbatch, double start_s,
                       double end_s)
{
    const struct test_event *e = test_log_find(log, hop, 0, 0, microbatch);

    check_near(e->start_s, start_s, 1e-9);
    check_near(e->end_s, end_s, 1e-9);
}

static void two_flows_share_one_nic_and_directions_do_not(void **state)
{
    struct psim_platform platform = two_nodes();
    const int placement[] = {0, 2, 1, 3}; /* a0 b0 a1 b1 */
    struct test_log *log = run_zig_zag(&platform, placement, &psim_engine_simgrid);

    (void)state;
    check_flow(log, 0, 0, 1, 1.25);
    check_flow(log, 0, 1, 2, 2.25);
    check_flow(log, 1, 0, 2, 2.25);
    check_flow(log, 0, 2, 3, 3.5);
    check_flow(log, 2, 0, 3, 3.5);
    test_log_free(log);
}

static void replay_knows_no_contention(void **state)
{
    struct psim_platform platform = two_nodes();
    const int placement[] = {0, 2, 1, 3};
    struct test_log *log = run_zig_zag(&platform, placement, &psim_engine_replay);

    (void)state;
    check_flow(log, 0, 2, 3, 3.25);
    check_flow(log, 2, 0, 3, 3.25);
    test_log_free(log);
}

static void two_flows_share_one_pcie_uplink(void **state)
{
    struct psim_platform platform = pcie_tree();
    const int placement[] = {0, 2, 1, 3};
    struct test_log *log = run_zig_zag(&platform, placement, &psim_engine_simgrid);

    (void)state;
    check_flow(log, 0, 1, 2, 2.25);
    check_flow(log, 1, 0, 2, 2.25);
    check_flow(log, 0, 2, 3, 3.5);
    check_flow(log, 2, 0, 3, 3.5);
    test_log_free(log);
}

/* Devices a and b on each side of one link of the given kind, two of each. */
static struct psim_platform one_link(enum psim_sharing sharing)
{
    const struct psim_device device = {.name = "test", .memory_bytes = INT64_C(1) << 40};
    struct psim_platform platform = {0};
    int type, left, right, vertex;

    must_be_ok(psim_platform_init(&platform, "one link", NULL));
    must_be_ok(psim_platform_add_type(&platform, "gpu", &device, &type, NULL));
    must_be_ok(psim_platform_add_vertex(&platform, "left", -1, -1, &left, NULL));
    must_be_ok(psim_platform_add_vertex(&platform, "right", -1, -1, &right, NULL));
    must_be_ok(psim_platform_add_link(&platform, "middle", left, right, 1e9, 0, sharing, NULL));
    for (int i = 0; i < 4; i++) {
        static const char *const names[] = {"a0", "a1", "b0", "b1"};
        char port[8];

        memcpy(port, names[i], 3);
        port[2] = 'p';
        port[3] = '\0';
        must_be_ok(psim_platform_add_vertex(&platform, names[i], type, -1, &vertex, NULL));
        must_be_ok(psim_platform_add_link(&platform, port, vertex, i < 2 ? left : right, 100e9, 0,
                                          PSIM_DUPLEX, NULL));
    }
    must_be_ok(psim_platform_finish(&platform, 0, NULL));
    return platform;
}

static void a_duplex_link_gives_each_direction_all(void **state)
{
    struct psim_platform platform = one_link(PSIM_DUPLEX);
    const int placement[] = {0, 2, 1, 3};
    struct test_log *log = run_zig_zag(&platform, placement, &psim_engine_simgrid);

    (void)state;
    check_flow(log, 0, 1, 2, 2.25);
    check_flow(log, 1, 0, 2, 2.25);
    check_flow(log, 0, 2, 3, 3.5);
    check_flow(log, 2, 0, 3, 3.5);
    test_log_free(log);
}

static void both_directions_share_a_shared_link(void **state)
{
    struct psim_platform platform = one_link(PSIM_SHARED);
    const int placement[] = {0, 2, 1, 3};
    struct test_log *log = run_zig_zag(&platform, placement, &psim_engine_simgrid);

    (void)state;
    check_flow(log, 0, 0, 1, 1.25);
    check_flow(log, 0, 1, 2, 2.5);
    check_flow(log, 1, 0, 2, 2.5);
    test_log_free(log);
}

static enum psim_status run_abort(const struct psim_program *program,
                                  const struct psim_observer *observer, struct psim_simulation *out,
                                  struct psim_error *err)
{
    (void)program, (void)observer, (void)out, (void)err;
    abort();
}

static enum psim_status run_exit(const struct psim_program *program,
                                 const struct psim_observer *observer, struct psim_simulation *out,
                                 struct psim_error *err)
{
    (void)program, (void)observer, (void)out, (void)err;
    _exit(7);
}

static enum psim_status run_silent(const struct psim_program *program,
                                   const struct psim_observer *observer,
                                   struct psim_simulation *out, struct psim_error *err)
{
    (void)program, (void)observer, (void)out, (void)err;
    _exit(0);
}

static void a_dead_child_is_its_simulations_error(void **state)
{
    static const struct {
        enum psim_status (*run)(const struct psim_program *, const struct psim_observer *,
                                struct psim_simulation *, struct psim_error *);
        const char *message;
    } cases[] = {{run_abort, "signal 6"}, {run_exit, "status 7"}, {run_silent, "wrote no result"}};
    const struct psim_method *method = psim_method_find("backprop");
    const struct psim_shape shape = test_shape(method, 1);
    struct test_pipeline pipeline;
    struct psim_program program;

    (void)state;
    test_pipeline_unit(&pipeline, 2, false);
    must_be_ok(psim_program_build(method, &shape, &pipeline.workload, &pipeline.platform,
                                  PSIM_ACCOUNTING_FULL, &program, NULL));
    for (size_t i = 0; i < 3; i++) {
        const struct psim_engine broken = {
            .name = "broken", .run = cases[i].run, .needs_child = true};
        struct psim_error err = PSIM_ERROR_INIT;
        struct psim_simulation untouched = {.stage_count = 42};

        assert_int_equal(psim_engine_run(&broken, &program, NULL, &untouched, &err),
                         PSIM_ERR_CHILD);
        check_contains(err.message, cases[i].message);
        assert_int_equal(untouched.stage_count, 42);
    }
    psim_program_release(&program);
    test_pipeline_release(&pipeline);
}

/* Everything but the pointer to the stages. */
static void same_bytes(const struct psim_simulation *a, const struct psim_simulation *b)
{
    struct psim_simulation x = *a, y = *b;

    x.stages = y.stages = NULL;
    assert_memory_equal(&x, &y, sizeof x);
    assert_memory_equal(a->stages, b->stages, (size_t)a->stage_count * sizeof *a->stages);
}

static void results_do_not_depend_on_the_number_of_workers(void **state)
{
    struct psim_program programs[8];
    struct test_pipeline pipeline;
    struct psim_job jobs[3][8];

    (void)state;
    test_pipeline_init(&pipeline, uneven, 6, 1e8, 3e-6, 0.2);
    for (int i = 0; i < 8; i++) {
        const struct psim_shape shape = test_shape(psim_method_table[i], 3);

        must_be_ok(psim_program_build(psim_method_table[i], &shape, &pipeline.workload,
                                      &pipeline.platform, PSIM_ACCOUNTING_FULL, &programs[i],
                                      NULL));
    }
    for (int w = 0; w < 3; w++) {
        for (int i = 0; i < 8; i++)
            jobs[w][i] = (struct psim_job){.program = &programs[i]};
        must_be_ok(psim_engine_run_all(&psim_engine_simgrid, jobs[w], 8, 1 << w, NULL));
        for (int i = 0; i < 8; i++) {
            must_be_ok(jobs[w][i].status);
            same_bytes(&jobs[0][i].simulation, &jobs[w][i].simulation);
        }
    }
    for (int i = 0; i < 8; i++) {
        for (int w = 0; w < 3; w++)
            psim_simulation_release(&jobs[w][i].simulation);
        psim_program_release(&programs[i]);
    }
    test_pipeline_release(&pipeline);
}

static double period(double bandwidth, double scale)
{
    const struct psim_method *method = psim_method_find("petra");
    const struct psim_shape shape = test_shape(method, 2);
    struct test_stage stages[6];
    struct test_pipeline pipeline;
    struct psim_simulation got;
    double time;

    for (int j = 0; j < 6; j++) {
        stages[j] = uneven[j];
        stages[j].forward *= scale;
        stages[j].reconstruct *= scale;
        stages[j].backward *= scale;
        stages[j].update *= scale;
    }
    test_pipeline_init(&pipeline, stages, 6, bandwidth, 0, 0.1);
    got = test_run(&pipeline, method, &shape, &psim_engine_simgrid);
    time = got.time_per_microbatch_s;
    psim_simulation_release(&got);
    test_pipeline_release(&pipeline);
    return time;
}

static void more_bandwidth_is_never_slower_and_time_scales(void **state)
{
    double before = 1e300;

    (void)state;
    for (double bandwidth = 1e6; bandwidth <= 1e9; bandwidth *= 4) {
        const double now = period(bandwidth, 1);

        assert_true(now <= before * (1 + 1e-9));
        before = now;
    }
    check_near(period(1e7, 1), period(1e7 / 3, 3) / 3, 1e-9);
}

static void time_free_stages_end_and_give_zero(void **state)
{
    struct test_stage stages[4] = {
        {0, 0, 0, 0, 0, true}, {0, 0, 0, 0, 0, true}, {0, 0, 0, 0, 0, true}, {0, 0, 0, 0, 0, true}};
    struct test_pipeline pipeline;

    (void)state;
    test_pipeline_init(&pipeline, stages, 4, 1e9, 0, 0);
    for (size_t i = 0; psim_method_table[i] != NULL; i++) {
        const struct psim_shape shape = test_shape(psim_method_table[i], 3);
        struct psim_simulation got =
            test_run(&pipeline, psim_method_table[i], &shape, &psim_engine_simgrid);

        assert_true(got.time_per_microbatch_s == 0);
        psim_simulation_release(&got);
    }
    test_pipeline_release(&pipeline);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(engines_agree_without_contention),
        cmocka_unit_test(shared_kernels_run_at_half_of_one_plus_g),
        cmocka_unit_test(two_flows_share_one_nic_and_directions_do_not),
        cmocka_unit_test(replay_knows_no_contention),
        cmocka_unit_test(two_flows_share_one_pcie_uplink),
        cmocka_unit_test(a_duplex_link_gives_each_direction_all),
        cmocka_unit_test(both_directions_share_a_shared_link),
        cmocka_unit_test(a_dead_child_is_its_simulations_error),
        cmocka_unit_test(results_do_not_depend_on_the_number_of_workers),
        cmocka_unit_test(more_bandwidth_is_never_slower_and_time_scales),
        cmocka_unit_test(time_free_stages_end_and_give_zero),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

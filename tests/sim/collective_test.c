/* Collective operations on links, against closed forms and hand calculation. */
#include "sim/engine/collectives.h"
#include "tests/support/check.h"

#include <math.h>
#include <stdio.h>

#define GB    1e9
#define EXACT 1e-9
#define MOST  128

static void must_be_ok(enum psim_status status)
{
    assert_int_equal(status, PSIM_OK);
}

/* Devices in nodes, each with a port to its node's hub; the hubs or the devices have a port to the
 * network between nodes. */
struct layout {
    int nodes, per_node;
    double port, nic; /* bytes per second; nic 0: no network */
    double latency_s; /* of one crossing, two links */
    bool nic_per_device;
};

static void add_link(struct psim_platform *platform, const char *name, int number, int from, int to,
                     double bandwidth, double latency_s)
{
    char text[32];

    snprintf(text, sizeof text, "%s%d", name, number);
    must_be_ok(
        psim_platform_add_link(platform, text, from, to, bandwidth, latency_s, PSIM_DUPLEX, NULL));
}

static int add_vertex(struct psim_platform *platform, const char *name, int number, int type,
                      int node)
{
    char text[32];
    int vertex;

    snprintf(text, sizeof text, "%s%d", name, number);
    must_be_ok(psim_platform_add_vertex(platform, text, type, node, &vertex, NULL));
    return vertex;
}

static struct psim_platform empty_platform(void)
{
    const struct psim_device device = {.name = "test", .memory_bytes = INT64_C(1) << 40};
    struct psim_platform platform = {0};
    int type;

    must_be_ok(psim_platform_init(&platform, "test", NULL));
    must_be_ok(psim_platform_add_type(&platform, "gpu", &device, &type, NULL));
    return platform;
}

static struct psim_platform make(const struct layout *layout)
{
    struct psim_platform platform = empty_platform();
    const double half_s = layout->latency_s / 2;
    const int network = layout->nic > 0 ? add_vertex(&platform, "network", 0, -1, -1) : -1;

    for (int n = 0; n < layout->nodes; n++) {
        const int hub = add_vertex(&platform, "hub", n, -1, n);

        if (layout->nic > 0 && !layout->nic_per_device)
            add_link(&platform, "nic", n, hub, network, layout->nic, half_s);
        for (int i = n * layout->per_node; i < (n + 1) * layout->per_node; i++) {
            const int device = add_vertex(&platform, "gpu", i, 0, n);

            add_link(&platform, "port", i, device, hub, layout->port, half_s);
            if (layout->nic > 0 && layout->nic_per_device)
                add_link(&platform, "nic", i, device, network, layout->nic, half_s);
        }
    }
    must_be_ok(psim_platform_finish(&platform, 0, NULL));
    return platform;
}

/* One link from each device to the next, 1 us. */
static struct psim_platform circle(int ranks, double bandwidth)
{
    struct psim_platform platform = empty_platform();
    int vertices[MOST];

    for (int i = 0; i < ranks; i++)
        vertices[i] = add_vertex(&platform, "gpu", i, 0, -1);
    for (int i = 0; i < ranks; i++)
        add_link(&platform, "link", i, vertices[i], vertices[(i + 1) % ranks], bandwidth, 1e-6);
    must_be_ok(psim_platform_finish(&platform, 0, NULL));
    return platform;
}

static const int in_order[MOST] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
    20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39,
    40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59,
    60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71, 72, 73, 74, 75, 76, 77, 78, 79,
    80, 81, 82, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99};

static struct psim_collective_job job(const char *algorithm, int ranks, double bytes)
{
    return (struct psim_collective_job){.algorithm = psim_collective_find(algorithm),
                                        .kind = PSIM_ALL_REDUCE,
                                        .devices = in_order,
                                        .ranks = ranks,
                                        .in_switch = true,
                                        .bytes = bytes};
}

static double seconds(const struct psim_platform *platform, const struct psim_engine *engine,
                      struct psim_collective_job what)
{
    struct psim_error err = PSIM_ERROR_INIT;

    if (psim_collectives_run(platform, engine, &what, 1, &err) != PSIM_OK)
        fail_msg("%s: %s", err.where, err.message);
    return what.seconds;
}

/* 14 rounds of 1 us + 1 GB / (8 * 25 GB/s), and of 2 us where a round crosses two links of 1 us. */
static void ring_on_disjoint_links_equals_the_closed_form(void **state)
{
    struct psim_platform direct = circle(8, 25 * GB);
    struct psim_platform star = make(&(struct layout){1, 8, 25 * GB, 0, 2e-6, false});

    (void)state;
    check_near(seconds(&direct, &psim_engine_simgrid, job("ring", 8, GB)), 0.070014, EXACT);
    check_near(seconds(&star, &psim_engine_simgrid, job("ring", 8, GB)), 0.070028, EXACT);
    check_near(seconds(&star, &psim_engine_replay, job("ring", 8, GB)), 0.070028, EXACT);
    psim_platform_release(&direct);
    psim_platform_release(&star);
}

static void two_rings_over_one_link_take_twice_as_long(void **state)
{
    struct psim_platform platform = make(&(struct layout){2, 2, 100 * GB, 10 * GB, 0, false});
    const int first[] = {0, 2}, second[] = {1, 3};
    struct psim_collective_job jobs[2] = {job("ring", 2, GB), job("ring", 2, GB)};
    double alone;

    (void)state;
    jobs[0].devices = first;
    jobs[1].devices = second;
    alone = seconds(&platform, &psim_engine_simgrid, jobs[0]);
    check_near(alone, 0.1, EXACT);
    must_be_ok(psim_collectives_run(&platform, &psim_engine_simgrid, jobs, 2, NULL));
    check_near(jobs[0].seconds, 0.2, EXACT);
    check_near(jobs[1].seconds, 0.2, EXACT);
    must_be_ok(psim_collectives_run(&platform, &psim_engine_replay, jobs, 2, NULL));
    check_near(jobs[1].seconds, 0.1, EXACT);
    psim_platform_release(&platform);
}

/*
 * Four devices a node at 100 GB/s, one NIC of 10 GB/s, 1 GB, no latency:
 *   inside   3/4 GB a device at 100 GB/s, before and after        2 * 0.0075 s
 *   between  each of 4 rails passes 2 * 1/2 * 1/4 GB through the NIC: 1 GB at 10 GB/s    0.1 s
 */
static void rails_of_a_node_share_its_one_nic(void **state)
{
    struct psim_platform one = make(&(struct layout){2, 4, 100 * GB, 10 * GB, 0, false});
    struct psim_platform each = make(&(struct layout){2, 4, 100 * GB, 10 * GB, 0, true});

    (void)state;
    check_near(seconds(&one, &psim_engine_simgrid, job("hierarchical", 8, GB)), 0.115, EXACT);
    check_near(seconds(&each, &psim_engine_simgrid, job("hierarchical", 8, GB)), 0.04, EXACT);
    check_near(seconds(&one, &psim_engine_replay, job("hierarchical", 8, GB)), 0.04, EXACT);
    psim_platform_release(&one);
    psim_platform_release(&each);
}

/*
 * The switch: (1 + 1/4) GB at 100 GB/s = 0.0125 s.  Rails of 10 GB/s each: 1/4 GB, 0.025 s, which
 * counts; of 100 GB/s the switch does.
 */
static void the_switch_and_the_rails_run_at_the_same_time(void **state)
{
    struct psim_platform slow = make(&(struct layout){2, 4, 100 * GB, 10 * GB, 0, true});
    struct psim_platform fast = make(&(struct layout){2, 4, 100 * GB, 100 * GB, 0, true});

    (void)state;
    check_near(seconds(&slow, &psim_engine_simgrid, job("nvls", 8, GB)), 0.025, EXACT);
    check_near(seconds(&fast, &psim_engine_simgrid, job("nvls", 8, GB)), 0.0125, EXACT);
    psim_platform_release(&slow);
    psim_platform_release(&fast);
}

#define EVEN 61261200.0 /* a multiple of 1..17 and of 16: every message is of whole bytes */

static void check_closed_forms(const struct psim_platform *platform, int ranks)
{
    for (size_t i = 0; psim_collective_table[i] != NULL; i++) {
        for (int k = 0; k < PSIM_COLLECTIVE_KINDS; k++) {
            const struct psim_group group = {.ranks = ranks, .in_switch = true};
            struct psim_collective_job what = job(psim_collective_table[i]->name, ranks, EVEN);

            what.kind = (enum psim_collective_kind)k;
            if (what.algorithm->applies(what.kind, &group))
                check_near(seconds(platform, &psim_engine_simgrid, what),
                           what.algorithm->time(what.kind, &group, EVEN, 2e-6, 100 * GB), EXACT);
        }
    }
}

static void every_algorithm_takes_its_closed_form_on_a_switch(void **state)
{
    (void)state;
    for (int ranks = 1; ranks <= 9; ranks++) {
        struct psim_platform platform = make(&(struct layout){1, ranks, 100 * GB, 0, 2e-6, false});

        check_closed_forms(&platform, ranks);
        psim_platform_release(&platform);
    }
}

/* More pairs of hosts than one zone of the engine holds. */
static void a_hundred_ranks_take_the_closed_form(void **state)
{
    struct psim_platform platform = make(&(struct layout){1, 100, 100 * GB, 0, 2e-6, false});

    (void)state;
    check_near(seconds(&platform, &psim_engine_simgrid, job("ring", 100, GB)),
               198 * (2e-6 + GB / (100 * 100 * GB)), EXACT);
    psim_platform_release(&platform);
}

/* 20 us and 14/8 GB of twice the size at 25 GB/s, no latency of the links. */
static void measured_terms_replace_latencies_and_scale_bytes(void **state)
{
    struct psim_platform platform = make(&(struct layout){1, 8, 25 * GB, 0, 2e-6, false});
    struct psim_collective_job what = job("ring", 8, GB);

    (void)state;
    what.terms = (struct psim_collective_terms){true, 20e-6, 2};
    check_near(seconds(&platform, &psim_engine_simgrid, what), 0.14002, EXACT);
    check_near(seconds(&platform, &psim_engine_replay, what), 0.14002, EXACT);
    psim_platform_release(&platform);
}

static void check_refused(const struct psim_platform *platform, struct psim_collective_job what,
                          enum psim_status status, const char *message)
{
    struct psim_error err = PSIM_ERROR_INIT;

    what.seconds = 42;
    assert_int_equal(psim_collectives_run(platform, &psim_engine_simgrid, &what, 1, &err), status);
    check_contains(err.message, message);
    assert_true(what.seconds == 42);
}

static void what_cannot_run_is_refused(void **state)
{
    struct psim_platform platform = circle(4, GB);
    struct psim_collective_job what = job("nvls", 4, GB);

    (void)state;
    check_refused(&platform, what, PSIM_ERR_NOTFOUND, "on no switch");
    check_refused(&platform, job("tree", 4, GB), PSIM_ERR_NOTFOUND, "no path");
    what.in_switch = false;
    check_refused(&platform, what, PSIM_ERR_UNSUPPORTED, "nvls does not run all_reduce");
    check_refused(&platform, job("ring", 4, (double)NAN), PSIM_ERR_RANGE, "must be in");
    what = job("ring", 4, GB);
    what.terms = (struct psim_collective_terms){true, 0, (double)NAN};
    check_refused(&platform, what, PSIM_ERR_RANGE, "out of range");
    psim_platform_release(&platform);
}

static void phases_of_flows_follow_each_other(void **state)
{
    struct psim_platform platform = make(&(struct layout){1, 4, GB, 0, 0, false});
    struct psim_flow flows[] = {
        {.from = 0, .to = 1, .bytes = 1000000000, .phase = 3, .start_s = 0.5},
        {.from = 0, .to = 1, .bytes = 1000000000, .phase = 0},
        {.from = 2, .to = 3, .bytes = 0, .phase = 1},
        {.from = 2, .to = PSIM_FLOW_SWITCH, .bytes = 500000000, .stream = 1, .phase = 7},
    };
    struct psim_flow replayed[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        replayed[i] = flows[i];
    must_be_ok(psim_flows_run(&platform, flows, 4, NULL));
    must_be_ok(psim_flows_replay(&platform, replayed, 4, NULL));
    for (int i = 0; i < 4; i++) {
        static const double ends_s[] = {2.5, 1, 1, 0.5};

        check_near(flows[i].end_s, ends_s[i], EXACT);
        check_near(replayed[i].end_s, ends_s[i], EXACT);
    }
    flows[2].to = flows[2].from = PSIM_FLOW_SWITCH;
    assert_int_equal(psim_flows_run(&platform, flows, 4, NULL), PSIM_ERR_RANGE);
    psim_platform_release(&platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_on_disjoint_links_equals_the_closed_form),
        cmocka_unit_test(two_rings_over_one_link_take_twice_as_long),
        cmocka_unit_test(rails_of_a_node_share_its_one_nic),
        cmocka_unit_test(the_switch_and_the_rails_run_at_the_same_time),
        cmocka_unit_test(every_algorithm_takes_its_closed_form_on_a_switch),
        cmocka_unit_test(a_hundred_ranks_take_the_closed_form),
        cmocka_unit_test(measured_terms_replace_latencies_and_scale_bytes),
        cmocka_unit_test(what_cannot_run_is_refused),
        cmocka_unit_test(phases_of_flows_follow_each_other),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

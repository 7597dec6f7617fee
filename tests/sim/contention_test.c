/* Messages that share links, against hand calculation. */
#include "sim/engine/flows.h"
#include "tests/support/check.h"
#include "tests/support/cluster.h"

#include <math.h>
#include <stdio.h>

#define GB    1000000000
#define NIC   10e9
#define EXACT 1e-9

static struct psim_flow flow(const struct psim_platform *platform, const char *from, const char *to,
                             int64_t bytes)
{
    return (struct psim_flow){.from = psim_platform_find_device(platform, from),
                              .to = psim_platform_find_device(platform, to),
                              .bytes = bytes};
}

/* node<a>.gpu<i> to node<b>.gpu<j> */
static struct psim_flow between(const struct psim_platform *platform, int a, int i, int b, int j,
                                int64_t bytes)
{
    char from[32], to[32];

    snprintf(from, sizeof from, "node%d.gpu%d", a, i);
    snprintf(to, sizeof to, "node%d.gpu%d", b, j);
    return flow(platform, from, to, bytes);
}

static void run(const struct psim_platform *platform, struct psim_flow *flows, int count)
{
    struct psim_error err = PSIM_ERROR_INIT;

    if (psim_flows_run(platform, flows, count, &err) != PSIM_OK)
        fail_msg("%s: %s", err.where, err.message);
}

static bool all_end_at(const struct psim_flow *flows, int count, double end_s)
{
    bool good = true;

    for (int i = 0; i < count; i++)
        good = good && psim_near(flows[i].end_s, end_s, EXACT);
    return good;
}

static struct psim_platform behind_switch(int nodes, int devices, int nics, const char *network,
                                          const char *values)
{
    return test_cluster_make(&(struct test_cluster){.nodes = nodes,
                                                    .devices = devices,
                                                    .nics = nics,
                                                    .interconnect = "switch",
                                                    .inside = "bandwidth=100e9",
                                                    .network = network,
                                                    .between = values,
                                                    .nic_bandwidth_bytes_per_s = NIC});
}

static void checker_rejects_times_without_contention(void **state)
{
    struct psim_platform platform = behind_switch(2, 2, 1, "switch", NULL);
    struct psim_flow flows[2] = {between(&platform, 0, 0, 1, 0, GB),
                                 between(&platform, 0, 1, 1, 1, GB)};

    (void)state;
    run(&platform, flows, 2);
    assert_false(all_end_at(flows, 2, 0.1));
    assert_true(all_end_at(flows, 2, 0.2));
    psim_platform_release(&platform);
}

static void eight_devices_share_one_nic(void **state)
{
    struct psim_platform platform = behind_switch(2, 8, 1, "switch", NULL);
    struct psim_flow flows[8];

    (void)state;
    for (int i = 0; i < 8; i++)
        flows[i] = between(&platform, 0, i, 1, i, GB);
    run(&platform, flows, 8);
    assert_true(all_end_at(flows, 8, 0.8));
    psim_platform_release(&platform);
}

/* Eight messages from one leaf to another: 8 NICs over 8, 4, 2 and 1 uplinks of a NIC's rate. */
static void fat_tree_uplinks_set_the_oversubscription(void **state)
{
    static const int uplinks[] = {8, 4, 2, 1};
    static const char *const formats[] = {"nodes_per_leaf=8 spines=%d",
                                          "nodes_per_leaf=8 spines=1 uplinks=%d"};

    (void)state;
    for (int i = 0; i < 8; i++) {
        struct psim_platform platform;
        struct psim_flow flows[8];
        char values[64];

        snprintf(values, sizeof values, formats[i / 4], uplinks[i % 4]);
        platform = behind_switch(16, 1, 1, "fat_tree", values);
        for (int j = 0; j < 8; j++)
            flows[j] = between(&platform, j, 0, 8 + j, 0, GB);
        run(&platform, flows, 8);
        assert_true(all_end_at(flows, 8, 0.1 * 8 / uplinks[i % 4]));
        psim_platform_release(&platform);
    }
}

static void rails_carry_in_parallel(void **state)
{
    struct psim_platform platform =
        behind_switch(2, 8, 8, "fat_tree", "nodes_per_leaf=2 spines=1 rail_optimised=1");
    struct psim_flow flows[8];

    (void)state;
    for (int i = 0; i < 8; i++)
        flows[i] = between(&platform, 0, i, 1, i, GB);
    run(&platform, flows, 8);
    assert_true(all_end_at(flows, 8, 0.1));
    psim_platform_release(&platform);
}

/* All to one rail: the receiving NIC is the bottleneck, whatever rails they come from. */
static void messages_to_one_rail_share_its_nic(void **state)
{
    struct psim_platform platform =
        behind_switch(5, 2, 2, "fat_tree", "nodes_per_leaf=8 spines=4 rail_optimised=1");
    struct psim_flow flows[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        flows[i] = between(&platform, i, i % 2, 4, 0, GB);
    run(&platform, flows, 4);
    assert_true(all_end_at(flows, 4, 0.4));
    psim_platform_release(&platform);
}

/* Two GPUs of one PCIe switch to two of the other share an uplink; behind one switch they do not.
 */
static void two_devices_share_a_pcie_uplink(void **state)
{
    struct psim_platform platform =
        test_cluster_make(&(struct test_cluster){.nodes = 1,
                                                 .devices = 4,
                                                 .interconnect = "pcie_tree",
                                                 .inside = "bandwidth=10e9 per_switch=2"});
    struct psim_flow across[2] = {between(&platform, 0, 0, 0, 2, GB),
                                  between(&platform, 0, 1, 0, 3, GB)};
    struct psim_flow inside[2] = {between(&platform, 0, 0, 0, 1, GB),
                                  between(&platform, 0, 2, 0, 3, GB)};

    (void)state;
    run(&platform, across, 2);
    assert_true(all_end_at(across, 2, 0.2));
    run(&platform, inside, 2);
    assert_true(all_end_at(inside, 2, 0.1));
    psim_platform_release(&platform);
}

/* Without peer access both directions of one uplink carry the message, and both are full. */
static void message_through_the_host_crosses_the_uplink_twice(void **state)
{
    struct psim_platform platform =
        test_cluster_make(&(struct test_cluster){.nodes = 1,
                                                 .devices = 4,
                                                 .interconnect = "pcie_tree",
                                                 .inside = "bandwidth=10e9 peer_to_peer=0"});
    struct psim_flow flows[2] = {between(&platform, 0, 0, 0, 1, GB),
                                 between(&platform, 0, 2, 0, 3, GB)};

    (void)state;
    run(&platform, flows, 2);
    assert_true(all_end_at(flows, 2, 0.2));
    psim_platform_release(&platform);
}

/* Devices a and b on the two ends of one link. */
static struct psim_platform one_link(enum psim_sharing sharing)
{
    static const struct psim_device device = {.name = "gpu", .memory_bytes = 1};
    struct psim_platform platform;
    int type, a, b;

    assert_int_equal(psim_platform_init(&platform, "link", NULL), PSIM_OK);
    assert_int_equal(psim_platform_add_type(&platform, "gpu", &device, &type, NULL), PSIM_OK);
    assert_int_equal(psim_platform_add_vertex(&platform, "a", type, -1, &a, NULL), PSIM_OK);
    assert_int_equal(psim_platform_add_vertex(&platform, "b", type, -1, &b, NULL), PSIM_OK);
    assert_int_equal(psim_platform_add_link(&platform, "ab", a, b, NIC, 0, sharing, NULL), PSIM_OK);
    assert_int_equal(psim_platform_finish(&platform, 0, NULL), PSIM_OK);
    return platform;
}

static void directions_of_a_duplex_link_do_not_disturb_each_other(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        struct psim_platform platform = one_link(shared == 1 ? PSIM_SHARED : PSIM_DUPLEX);
        struct psim_flow flows[2] = {flow(&platform, "a", "b", GB), flow(&platform, "b", "a", GB)};

        run(&platform, flows, 2);
        assert_true(all_end_at(flows, 2, shared == 1 ? 0.2 : 0.1));
        psim_platform_release(&platform);
    }
}

/* All-reduce of `bytes` over rings of four, two devices of each node: 6 steps of a quarter each,
 * every step when the one before is over.  Ring r has devices 2r and 2r + 1 of both nodes. */
static double run_rings(const struct psim_platform *platform, int rings, int64_t bytes)
{
    double now_s = 0;

    for (int step = 0; step < 6; step++) {
        struct psim_flow flows[16];
        double end_s = 0;

        for (int i = 0; i < 4 * rings; i++) {
            const int ring = i / 4, from = i % 4, to = (from + 1) % 4;

            flows[i] = between(platform, from / 2, 2 * ring + from % 2, to / 2, 2 * ring + to % 2,
                               bytes / 4);
            flows[i].start_s = now_s;
        }
        run(platform, flows, 4 * rings);
        for (int i = 0; i < 4 * rings; i++)
            end_s = flows[i].end_s > end_s ? flows[i].end_s : end_s;
        now_s = end_s;
    }
    return now_s;
}

static void two_rings_over_one_link_take_twice_as_long(void **state)
{
    struct psim_platform platform = behind_switch(2, 4, 1, "switch", NULL);
    struct psim_platform rails = behind_switch(2, 4, 4, "switch", NULL);

    (void)state;
    check_near(run_rings(&platform, 1, GB), 6 * 0.25 * 0.1, EXACT);
    check_near(run_rings(&platform, 2, GB), 2 * 6 * 0.25 * 0.1, EXACT);
    check_near(run_rings(&rails, 2, GB), 6 * 0.25 * 0.1, EXACT);
    psim_platform_release(&platform);
    psim_platform_release(&rails);
}

/* 2 (N - 1) steps of latency + S / N / B on links of their own. */
static void ring_on_disjoint_links_is_the_closed_form(void **state)
{
    struct psim_platform platform =
        test_cluster_make(&(struct test_cluster){.nodes = 8,
                                                 .devices = 1,
                                                 .nics = 1,
                                                 .network = "switch",
                                                 .between = "latency=2e-6",
                                                 .nic_bandwidth_bytes_per_s = 25e9,
                                                 .nic_latency_s = 0});
    double now_s = 0;

    (void)state;
    for (int step = 0; step < 14; step++) {
        struct psim_flow flows[8];

        for (int i = 0; i < 8; i++) {
            flows[i] = between(&platform, i, 0, (i + 1) % 8, 0, GB / 8);
            flows[i].start_s = now_s;
        }
        run(&platform, flows, 8);
        assert_true(all_end_at(flows, 8, flows[0].end_s));
        now_s = flows[0].end_s;
    }
    check_near(now_s, 14 * (2e-6 + 0.125 / 25), EXACT);
    psim_platform_release(&platform);
}

/* a and b reach c over one link, a in 1 us and b in 10 us: from then on each has half of it. */
static void shares_are_equal_whatever_the_latencies(void **state)
{
    static const struct psim_device device = {.name = "gpu", .memory_bytes = 1};
    static const double latencies_s[] = {1e-6, 10e-6, 0};
    struct psim_platform platform;
    struct psim_flow flows[2];
    int type, hub;

    (void)state;
    assert_int_equal(psim_platform_init(&platform, "three", NULL), PSIM_OK);
    assert_int_equal(psim_platform_add_type(&platform, "gpu", &device, &type, NULL), PSIM_OK);
    assert_int_equal(psim_platform_add_vertex(&platform, "s", -1, -1, &hub, NULL), PSIM_OK);
    for (int i = 0; i < 3; i++) {
        const char name[2] = {(char)('a' + i), '\0'}, link[3] = {'l', (char)('a' + i), '\0'};
        int vertex;

        assert_int_equal(psim_platform_add_vertex(&platform, name, type, -1, &vertex, NULL),
                         PSIM_OK);
        assert_int_equal(psim_platform_add_link(&platform, link, vertex, hub, i < 2 ? 100e9 : NIC,
                                                latencies_s[i], PSIM_DUPLEX, NULL),
                         PSIM_OK);
    }
    assert_int_equal(psim_platform_finish(&platform, 0, NULL), PSIM_OK);
    flows[0] = flow(&platform, "a", "c", GB);
    flows[1] = flow(&platform, "b", "c", GB);
    run(&platform, flows, 2);
    check_near(flows[0].end_s, 10e-6 + (GB - 9e-6 * NIC) / (NIC / 2), EXACT);
    check_near(flows[1].end_s, 1e-6 + 2.0 * GB / NIC, EXACT);
    psim_platform_release(&platform);
}

/* The second starts when the first is half done: 0.05 s alone, then half of the link each. */
static void flows_start_when_they_are_told(void **state)
{
    struct psim_platform platform = one_link(PSIM_DUPLEX);
    struct psim_flow flows[3] = {flow(&platform, "a", "b", GB), flow(&platform, "a", "b", GB),
                                 flow(&platform, "a", "b", 0)};

    (void)state;
    flows[1].start_s = 0.05;
    flows[2].start_s = 0.07;
    run(&platform, flows, 3);
    check_near(flows[0].end_s, 0.15, EXACT);
    check_near(flows[1].end_s, 0.2, EXACT);
    check_near(flows[2].end_s, 0.07, EXACT);
    psim_platform_release(&platform);
}

static void bad_flow_names_its_member(void **state)
{
    static const struct {
        struct psim_flow flow;
        const char *where;
    } cases[] = {
        {{.from = 2, .to = 1}, "flows[1].from"},
        {{.from = -2, .to = 1}, "flows[1].from"},
        {{.from = 0, .to = 0}, "flows[1].to"},
        {{.from = 0, .to = 2}, "flows[1].to"},
        {{.from = 0, .to = 1, .bytes = -1}, "flows[1].bytes"},
        {{.from = 0, .to = 1, .start_s = -1}, "flows[1].start_s"},
        {{.from = 0, .to = 1, .start_s = NAN}, "flows[1].start_s"},
        {{.from = 0, .to = 1, .start_s = INFINITY}, "flows[1].start_s"},
    };
    struct psim_platform platform = one_link(PSIM_DUPLEX);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct psim_flow flows[2] = {{.from = 0, .to = 1, .end_s = 7}, cases[i].flow};
        struct psim_error err = PSIM_ERROR_INIT;

        assert_int_equal(psim_flows_run(&platform, flows, 2, &err), PSIM_ERR_RANGE);
        assert_string_equal(err.where, cases[i].where);
        check_near(flows[0].end_s, 7, 0);
    }
    psim_platform_release(&platform);
}

static void flow_without_a_path_is_an_error_of_the_run(void **state)
{
    struct psim_platform platform = behind_switch(2, 1, 0, "switch", NULL);
    struct psim_flow one = between(&platform, 0, 0, 1, 0, GB);
    struct psim_error err = PSIM_ERROR_INIT;

    (void)state;
    assert_int_equal(psim_flows_run(&platform, &one, 1, &err), PSIM_ERR_NOTFOUND);
    check_contains(err.message, "no path from \"node0.gpu0\" to \"node1.gpu0\"");
    psim_platform_release(&platform);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checker_rejects_times_without_contention),
        cmocka_unit_test(eight_devices_share_one_nic),
        cmocka_unit_test(fat_tree_uplinks_set_the_oversubscription),
        cmocka_unit_test(rails_carry_in_parallel),
        cmocka_unit_test(messages_to_one_rail_share_its_nic),
        cmocka_unit_test(two_devices_share_a_pcie_uplink),
        cmocka_unit_test(message_through_the_host_crosses_the_uplink_twice),
        cmocka_unit_test(directions_of_a_duplex_link_do_not_disturb_each_other),
        cmocka_unit_test(two_rings_over_one_link_take_twice_as_long),
        cmocka_unit_test(ring_on_disjoint_links_is_the_closed_form),
        cmocka_unit_test(shares_are_equal_whatever_the_latencies),
        cmocka_unit_test(flows_start_when_they_are_told),
        cmocka_unit_test(bad_flow_names_its_member),
        cmocka_unit_test(flow_without_a_path_is_an_error_of_the_run),
    };

    return cmocka_run_group_tests_name("contention", tests, NULL, NULL);
}

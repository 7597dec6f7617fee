#include "sim/platform/platform.h"
#include "tests/support/check.h"
#include "tests/support/cluster.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define GPU        300e9 /* an NVLink-like port */
#define NIC        25e9
#define GPU_US     2e-6
#define NIC_US     3e-6
#define NETWORK_US 1e-6

static const struct psim_device some_device = {.name = "gpu", .memory_bytes = 1};

/* --- building -------------------------------------------------------------------------------- */

/* Nodes behind one switch, if they have NICs at all. */
static struct test_cluster cluster(int nodes, int devices, int nics, const char *interconnect,
                                   const char *inside)
{
    return (struct test_cluster){.nodes = nodes,
                                 .devices = devices,
                                 .nics = nics,
                                 .interconnect = interconnect,
                                 .inside = inside,
                                 .network = "switch",
                                 .between = "latency=1e-6",
                                 .nic_bandwidth_bytes_per_s = NIC,
                                 .nic_latency_s = NIC_US};
}

static struct psim_platform make_cluster(int nodes, int devices, int nics, const char *interconnect,
                                         const char *inside)
{
    const struct test_cluster made = cluster(nodes, devices, nics, interconnect, inside);

    return test_cluster_make(&made);
}

static const char fast_switch[] = "bandwidth=300e9 latency=2e-6";

/* A free graph: hosts a, b, ... first, then switches s, t, ... */
static struct psim_platform make_graph(int hosts, int switches)
{
    struct psim_platform platform;
    int type, vertex;

    assert_int_equal(psim_platform_init(&platform, "graph", NULL), PSIM_OK);
    assert_int_equal(psim_platform_add_type(&platform, "gpu", &some_device, &type, NULL), PSIM_OK);
    for (int i = 0; i < hosts + switches; i++) {
        const char name[2] = {(char)(i < hosts ? 'a' + i : 's' + i - hosts), '\0'};

        assert_int_equal(
            psim_platform_add_vertex(&platform, name, i < hosts ? type : -1, -1, &vertex, NULL),
            PSIM_OK);
    }
    return platform;
}

static int vertex_named(const struct psim_platform *platform, char name)
{
    for (int i = 0; i < platform->vertex_count; i++) {
        if (platform->vertices[i].name[0] == name)
            return i;
    }
    fail_msg("no vertex \"%c\"", name);
    return -1;
}

/* A link "ab" between vertices a and b. */
static void join(struct psim_platform *platform, const char *ends, double bandwidth_bytes_per_s,
                 double latency_s)
{
    assert_int_equal(psim_platform_add_link(platform, ends, vertex_named(platform, ends[0]),
                                            vertex_named(platform, ends[1]), bandwidth_bytes_per_s,
                                            latency_s, PSIM_DUPLEX, NULL),
                     PSIM_OK);
}

static void finish(struct psim_platform *platform)
{
    assert_int_equal(psim_platform_finish(platform, 0, NULL), PSIM_OK);
}

/* --- short forms ----------------------------------------------------------------------------- */

static void switch_node_is_crossed_over_two_ports(void **state)
{
    struct psim_platform platform = make_cluster(1, 8, 0, "switch", fast_switch);

    (void)state;
    assert_int_equal(platform.device_count, 8);
    assert_int_equal(platform.vertex_count, 9);
    assert_int_equal(platform.link_count, 8);
    assert_string_equal(psim_platform_device_name(&platform, 3), "node0.gpu3");
    assert_int_equal(psim_platform_find_device(&platform, "node0.gpu3"), 3);
    assert_int_equal(psim_platform_find_device(&platform, "node0.switch"), -1);
    assert_ptr_equal(psim_platform_device(&platform, 3), &platform.types[0].device);
    test_check_route(&platform, "node0.gpu0", "node0.gpu7", "+node0.gpu0.port -node0.gpu7.port",
                     GPU_US, GPU);
    psim_platform_release(&platform);
}

static void nodes_are_crossed_over_the_nics_of_both_devices(void **state)
{
    struct psim_platform platform = make_cluster(3, 8, 8, "switch", fast_switch);

    (void)state;
    test_check_route(&platform, "node0.gpu3", "node2.gpu5",
                     "+node0.gpu3.nic3 +node0.nic3.port -node2.nic5.port -node2.gpu5.nic5",
                     2 * NIC_US + NETWORK_US, NIC);
    psim_platform_release(&platform);
}

static void devices_share_nics_in_equal_parts(void **state)
{
    struct psim_platform platform = make_cluster(2, 8, 2, "switch", fast_switch);

    (void)state;
    test_check_route(&platform, "node0.gpu3", "node1.gpu4",
                     "+node0.gpu3.nic0 +node0.nic0.port -node1.nic1.port -node1.gpu4.nic1",
                     2 * NIC_US + NETWORK_US, NIC);
    psim_platform_release(&platform);
}

/* The connection to a NIC costs nothing, so a search that let it through would take it. */
static void message_inside_a_node_does_not_pass_a_nic(void **state)
{
    struct psim_platform platform = make_cluster(2, 4, 1, "switch", fast_switch);

    (void)state;
    test_check_route(&platform, "node1.gpu0", "node1.gpu1", "+node1.gpu0.port -node1.gpu1.port",
                     GPU_US, GPU);
    psim_platform_release(&platform);
}

static void single_device_node_needs_no_interconnect(void **state)
{
    struct psim_platform platform = make_cluster(2, 1, 1, NULL, NULL);

    (void)state;
    test_check_route(&platform, "node0.gpu0", "node1.gpu0",
                     "+node0.gpu0.nic0 +node0.nic0.port -node1.nic0.port -node1.gpu0.nic0",
                     2 * NIC_US + NETWORK_US, NIC);
    psim_platform_release(&platform);
}

static const char tree[] = "bandwidth=12e9 latency=2e-6 uplink_bandwidth=6e9";

static void pcie_tree_crosses_uplinks_only_between_switches(void **state)
{
    struct psim_platform platform = make_cluster(1, 8, 0, "pcie_tree", tree);

    (void)state;
    test_check_route(&platform, "node0.gpu4", "node0.gpu7", "+node0.gpu4.port -node0.gpu7.port",
                     GPU_US, 12e9);
    test_check_route(&platform, "node0.gpu0", "node0.gpu7",
                     "+node0.gpu0.port +node0.pcie0.uplink -node0.pcie1.uplink -node0.gpu7.port",
                     2 * GPU_US, 6e9);
    psim_platform_release(&platform);
}

static void pcie_tree_without_peering_goes_up_and_down_again(void **state)
{
    struct psim_platform platform = make_cluster(
        2, 4, 4, "pcie_tree", "bandwidth=12e9 latency=2e-6 per_switch=2 peer_to_peer=0");

    (void)state;
    test_check_route(&platform, "node0.gpu0", "node0.gpu1",
                     "+node0.gpu0.port +node0.pcie0.uplink -node0.pcie0.uplink -node0.gpu1.port",
                     2 * GPU_US, 12e9);
    test_check_route(&platform, "node0.gpu1", "node0.gpu2",
                     "+node0.gpu1.port +node0.pcie0.uplink -node0.pcie1.uplink -node0.gpu2.port",
                     2 * GPU_US, 12e9);
    test_check_route(&platform, "node0.gpu1", "node1.gpu3",
                     "+node0.gpu1.port +node0.pcie0.uplink +node0.gpu1.nic1 +node0.nic1.port "
                     "-node1.nic3.port -node1.gpu3.nic3 -node1.pcie1.uplink -node1.gpu3.port",
                     2 * NIC_US + NETWORK_US + 2 * GPU_US, 12e9);
    psim_platform_release(&platform);
}

/* One NIC sits behind one PCIe switch; devices of the other reach it through the root complex. */
static void shared_nic_of_a_pcie_tree_loads_the_uplinks(void **state)
{
    struct psim_platform platform = make_cluster(2, 8, 1, "pcie_tree", tree);

    (void)state;
    test_check_route(&platform, "node0.gpu3", "node1.gpu4",
                     "+node0.gpu3.port +node0.gpu0.nic0 +node0.nic0.port -node1.nic0.port "
                     "-node1.gpu0.nic0 +node1.pcie0.uplink -node1.pcie1.uplink -node1.gpu4.port",
                     2 * NIC_US + NETWORK_US + 2 * GPU_US, 6e9);
    psim_platform_release(&platform);
}

static void nodes_with_other_nics_share_one_network(void **state)
{
    struct psim_platform platform = make_cluster(3, 2, 2, "switch", fast_switch);
    int networks = 0;

    (void)state;
    for (int i = 0; i < platform.vertex_count; i++)
        networks += strcmp(platform.vertices[i].name, "network") == 0 ? 1 : 0;
    assert_int_equal(networks, 1);
    psim_platform_release(&platform);
}

static void node_without_nics_is_not_reached(void **state)
{
    struct psim_platform platform = make_cluster(2, 2, 0, "switch", fast_switch);
    struct psim_route route = {.hop_count = 7};
    struct psim_error err = PSIM_ERROR_INIT;

    (void)state;
    assert_int_equal(psim_platform_route(&platform, 1, 2, &route, &err), PSIM_ERR_NOTFOUND);
    check_contains(err.message, "\"node0.gpu1\"");
    check_contains(err.message, "\"node1.gpu0\"");
    assert_int_equal(route.hop_count, 7);
    psim_platform_release(&platform);
}

static void bad_node_names_the_field(void **state)
{
    const struct {
        struct test_cluster cluster;
        const char *where;
    } cases[] = {
        {cluster(1, 2, 0, NULL, NULL), "interconnect"},
        {cluster(1, 0, 0, NULL, NULL), "devices"},
        {cluster(1, 1, -1, NULL, NULL), "nics"},
        {cluster(1, 1, 0, "pcie_tree", "bandwidth=1e9 per_switch=-1"), "per_switch"},
        {cluster(1, 1, 0, "pcie_tree", "bandwidth=0"), "bandwidth"},
        {cluster(1, 1, 0, "pcie_tree", "bandwidth=nan"), "bandwidth"},
        {cluster(1, 1, 0, "pcie_tree", "bandwidth=inf"), "bandwidth"},
        {cluster(1, 1, 0, "pcie_tree", "bandwidth=1e9 latency=-1e-6"), "latency"},
        {cluster(1, 1, 0, "pcie_tree", "bandwidth=1e9 latency=nan"), "latency"},
        {cluster(1, 1, 0, "pcie_tree", "latency=1e-6"), "bandwidth"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct psim_platform platform;
        struct psim_error err = PSIM_ERROR_INIT;

        assert_int_not_equal(test_cluster_build(&platform, &cases[i].cluster, &err), PSIM_OK);
        assert_string_equal(err.where, cases[i].where);
    }
}

static void name_too_long_is_refused_not_cut(void **state)
{
    char name[600];
    const int types[1] = {0};
    const struct psim_node_spec spec = {.name = name, .device_types = types, .devices = 1};
    struct psim_platform platform = make_graph(1, 0);
    struct psim_error err = PSIM_ERROR_INIT;

    (void)state;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(psim_platform_add_node(&platform, 0, &spec, &err), PSIM_ERR_RANGE);
    assert_string_equal(err.where, "name");
    psim_platform_release(&platform);
}

static void topologies_are_found_by_name(void **state)
{
    (void)state;
    for (int i = 0; psim_interconnect_table[i] != NULL; i++)
        assert_ptr_equal(psim_interconnect_find(psim_interconnect_table[i]->name),
                         psim_interconnect_table[i]);
    for (int i = 0; psim_network_kind_table[i] != NULL; i++)
        assert_ptr_equal(psim_network_kind_find(psim_network_kind_table[i]->name),
                         psim_network_kind_table[i]);
    assert_null(psim_interconnect_find("no such kind"));
    assert_null(psim_network_kind_find("no such kind"));
}

/* --- free graphs ----------------------------------------------------------------------------- */

static void least_latency_beats_fewest_links(void **state)
{
    struct psim_platform platform = make_graph(2, 2);

    (void)state;
    join(&platform, "ab", 1e9, 10e-6);
    join(&platform, "as", 2e9, 1e-6);
    join(&platform, "ts", 3e9, 1e-6);
    join(&platform, "bt", 2e9, 1e-6);
    finish(&platform);
    test_check_route(&platform, "a", "b", "+as -ts -bt", 3e-6, 2e9);
    test_check_route(&platform, "b", "a", "+bt +ts -as", 3e-6, 2e9);
    psim_platform_release(&platform);
}

static void fewest_links_win_at_equal_latency(void **state)
{
    struct psim_platform platform = make_graph(2, 1);

    (void)state;
    join(&platform, "as", 1e9, 1e-6);
    join(&platform, "sb", 1e9, 1e-6);
    join(&platform, "ab", 1e9, 2e-6);
    finish(&platform);
    test_check_route(&platform, "a", "b", "+ab", 2e-6, 1e9);
    psim_platform_release(&platform);
}

/* The destination's number chooses among the neighbours it is reached from: a is 0, b is 1. */
static void destination_breaks_ties(void **state)
{
    struct psim_platform platform = make_graph(2, 3);

    (void)state;
    /* s is a dead end, so that u is settled before t although t's first link is the lower. */
    join(&platform, "as", 1e9, 1e-6);
    join(&platform, "at", 1e9, 1e-6);
    join(&platform, "au", 1e9, 1e-6);
    join(&platform, "ub", 1e9, 1e-6);
    join(&platform, "tb", 1e9, 1e-6);
    finish(&platform);
    test_check_route(&platform, "a", "b", "+at +tb", 2e-6, 1e9);
    test_check_route(&platform, "b", "a", "-tb -at", 2e-6, 1e9);
    psim_platform_release(&platform);
}

static void ties_far_from_the_target_are_settled_too(void **state)
{
    struct psim_platform platform = make_graph(2, 4);

    (void)state;
    /* a - {s, t} - u - v - b, all alike: to b over the second, to a over the first. */
    join(&platform, "su", 1e9, 0.0);
    join(&platform, "tu", 1e9, 0.0);
    join(&platform, "at", 1e9, 0.0);
    join(&platform, "as", 1e9, 0.0);
    join(&platform, "uv", 1e9, 0.0);
    join(&platform, "vb", 1e9, 0.0);
    finish(&platform);
    test_check_route(&platform, "a", "b", "+at +tu +uv +vb", 0.0, 1e9);
    test_check_route(&platform, "b", "a", "-vb -uv -tu -at", 0.0, 1e9);
    psim_platform_release(&platform);
}

static void parallel_links_are_allowed(void **state)
{
    struct psim_platform platform = make_graph(2, 0);

    (void)state;
    join(&platform, "ab", 1e9, 2e-6);
    join(&platform, "ab2", 5e9, 1e-6);
    join(&platform, "ba3", 9e9, 1e-6);
    finish(&platform);
    test_check_route(&platform, "a", "b", "-ba3", 1e-6, 9e9);
    test_check_route(&platform, "b", "a", "-ab2", 1e-6, 5e9);
    psim_platform_release(&platform);
}

static void link_without_limit_never_limits(void **state)
{
    struct psim_platform platform = make_graph(3, 1);

    (void)state;
    join(&platform, "as", INFINITY, 0.0);
    join(&platform, "bs", INFINITY, 0.0);
    join(&platform, "cs", 1e9, 0.0);
    finish(&platform);
    test_check_route(&platform, "a", "b", "+as -bs", 0.0, INFINITY);
    test_check_route(&platform, "a", "c", "+as -cs", 0.0, 1e9);
    psim_platform_release(&platform);
}

static void hosts_relay_only_where_they_may(void **state)
{
    struct psim_platform platform = make_graph(3, 0);
    struct psim_route route;

    (void)state;
    join(&platform, "ab", 1e9, 1e-6);
    join(&platform, "bc", 2e9, 1e-6);
    finish(&platform);
    assert_int_equal(psim_platform_route(&platform, 0, 2, &route, NULL), PSIM_ERR_NOTFOUND);
    platform.hosts_forward = true;
    test_check_route(&platform, "a", "c", "+ab +bc", 2e-6, 1e9);
    psim_platform_release(&platform);
}

static void bad_link_names_the_field(void **state)
{
    static const struct {
        int from, to;
        double bandwidth_bytes_per_s, latency_s;
        const char *field;
    } cases[] = {
        {0, 0, 1e9, 0.0, "between"},      {0, 2, 1e9, 0.0, "between"},
        {-1, 1, 1e9, 0.0, "between"},     {0, 1, 0.0, 0.0, "bandwidth"},
        {0, 1, -1.0, 0.0, "bandwidth"},   {0, 1, NAN, 0.0, "bandwidth"},
        {0, 1, 1e9, -1e-9, "latency"},    {0, 1, 1e9, NAN, "latency"},
        {0, 1, 1e9, INFINITY, "latency"},
    };
    struct psim_platform platform = make_graph(2, 0);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct psim_error err = PSIM_ERROR_INIT;

        assert_int_equal(psim_platform_add_link(&platform, "l", cases[i].from, cases[i].to,
                                                cases[i].bandwidth_bytes_per_s, cases[i].latency_s,
                                                PSIM_DUPLEX, &err),
                         PSIM_ERR_RANGE);
        assert_string_equal(err.where, cases[i].field);
    }
    assert_int_equal(platform.link_count, 0);
    psim_platform_release(&platform);
}

static void unknown_device_type_is_refused(void **state)
{
    struct psim_platform platform = make_graph(1, 0);
    int vertex = 7;

    (void)state;
    assert_int_equal(psim_platform_add_vertex(&platform, "x", 1, -1, &vertex, NULL),
                     PSIM_ERR_RANGE);
    assert_int_equal(psim_platform_add_vertex(&platform, "x", -2, -1, &vertex, NULL),
                     PSIM_ERR_RANGE);
    assert_int_equal(vertex, 7);
    psim_platform_release(&platform);
}

/* --- finish, limits -------------------------------------------------------------------------- */

static void use_keeps_the_first_devices(void **state)
{
    struct psim_platform platform = make_graph(3, 0);

    (void)state;
    assert_int_equal(psim_platform_finish(&platform, 4, NULL), PSIM_ERR_RANGE);
    assert_int_equal(psim_platform_finish(&platform, -1, NULL), PSIM_ERR_RANGE);
    assert_int_equal(platform.device_count, 3);
    assert_int_equal(psim_platform_finish(&platform, 2, NULL), PSIM_OK);
    assert_int_equal(platform.device_count, 2);
    assert_int_equal(psim_platform_find_device(&platform, "c"), -1);
    psim_platform_release(&platform);
}

static void large_cluster_routes_every_neighbour(void **state)
{
    struct psim_platform platform = make_cluster(128, 8, 8, "switch", fast_switch);

    (void)state;
    assert_int_equal(platform.device_count, 1024);
    for (int i = 0; i + 1 < platform.device_count; i++) {
        struct psim_route route;

        assert_int_equal(psim_platform_route(&platform, i, i + 1, &route, NULL), PSIM_OK);
        assert_int_equal(route.hop_count, i % 8 == 7 ? 4 : 2);
        psim_route_release(&route);
    }
    psim_platform_release(&platform);
}

static void every_failing_allocation_is_reported(void **state)
{
    const struct test_cluster spec = cluster(6, 4, 2, "pcie_tree", tree);
    enum psim_status status = PSIM_ERR_NOMEM;
    unsigned long n;

    (void)state;
    for (n = 1; status == PSIM_ERR_NOMEM; n++) {
        struct psim_platform platform;
        struct psim_route route = {.hop_count = 0};
        struct psim_error err = PSIM_ERROR_INIT;

        psim_alloc_fail_at(n);
        status = test_cluster_build(&platform, &spec, &err);
        if (status == PSIM_OK) {
            status = psim_platform_route(&platform, 0, 9, &route, &err);
            psim_route_release(&route);
            psim_platform_release(&platform);
        }
        psim_alloc_fail_at(0);
        assert_int_equal(err.status, status);
        assert_true(n < 10000);
    }
    assert_int_equal(status, PSIM_OK);
    assert_true(n > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(switch_node_is_crossed_over_two_ports),
        cmocka_unit_test(nodes_are_crossed_over_the_nics_of_both_devices),
        cmocka_unit_test(devices_share_nics_in_equal_parts),
        cmocka_unit_test(message_inside_a_node_does_not_pass_a_nic),
        cmocka_unit_test(single_device_node_needs_no_interconnect),
        cmocka_unit_test(pcie_tree_crosses_uplinks_only_between_switches),
        cmocka_unit_test(pcie_tree_without_peering_goes_up_and_down_again),
        cmocka_unit_test(shared_nic_of_a_pcie_tree_loads_the_uplinks),
        cmocka_unit_test(nodes_with_other_nics_share_one_network),
        cmocka_unit_test(node_without_nics_is_not_reached),
        cmocka_unit_test(bad_node_names_the_field),
        cmocka_unit_test(name_too_long_is_refused_not_cut),
        cmocka_unit_test(topologies_are_found_by_name),
        cmocka_unit_test(least_latency_beats_fewest_links),
        cmocka_unit_test(fewest_links_win_at_equal_latency),
        cmocka_unit_test(destination_breaks_ties),
        cmocka_unit_test(ties_far_from_the_target_are_settled_too),
        cmocka_unit_test(parallel_links_are_allowed),
        cmocka_unit_test(link_without_limit_never_limits),
        cmocka_unit_test(hosts_relay_only_where_they_may),
        cmocka_unit_test(bad_link_names_the_field),
        cmocka_unit_test(unknown_device_type_is_refused),
        cmocka_unit_test(use_keeps_the_first_devices),
        cmocka_unit_test(large_cluster_routes_every_neighbour),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };

    return cmocka_run_group_tests_name("platform", tests, NULL, NULL);
}

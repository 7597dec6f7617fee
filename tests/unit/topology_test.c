/* Topologies by hand: which links a message crosses, with what latency and bandwidth. */
#include "sim/platform/platform.h"
#include "tests/support/check.h"
#include "tests/support/cluster.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NIC       25e9
#define NIC_US    3e-6
#define MAX_LINKS 8192

static const char fast_switch[] = "bandwidth=300e9 latency=2e-6";

static struct psim_platform make_node(int devices, const char *kind, const char *inside)
{
    return test_cluster_make(&(struct test_cluster){
        .nodes = 1, .devices = devices, .interconnect = kind, .inside = inside});
}

/* Nodes of `devices` GPUs behind a switch with a NIC each. */
static struct test_cluster networked(int nodes, int devices, const char *network,
                                     const char *between)
{
    return (struct test_cluster){.nodes = nodes,
                                 .devices = devices,
                                 .nics = devices,
                                 .interconnect = "switch",
                                 .inside = fast_switch,
                                 .network = network,
                                 .between = between,
                                 .nic_bandwidth_bytes_per_s = NIC,
                                 .nic_latency_s = NIC_US};
}

static struct psim_platform make_network(int nodes, int devices, const char *network,
                                         const char *between)
{
    const struct test_cluster cluster = networked(nodes, devices, network, between);

    return test_cluster_make(&cluster);
}

/* Status and place of what is refused. */
static void check_refused(const struct test_cluster *cluster, enum psim_status want,
                          const char *where, const char *message)
{
    struct psim_platform platform;
    struct psim_error err = PSIM_ERROR_INIT;

    assert_int_equal(test_cluster_build(&platform, cluster, &err), want);
    assert_string_equal(err.where, where);
    check_contains(err.message, message);
}

static struct psim_route route_between(const struct psim_platform *platform, int from_node,
                                       int from_gpu, int to_node, int to_gpu)
{
    char from[32], to[32];

    snprintf(from, sizeof from, "node%d.gpu%d", from_node, from_gpu);
    snprintf(to, sizeof to, "node%d.gpu%d", to_node, to_gpu);
    return test_route(platform, from, to);
}

/* How many messages cross each link, by direction; the largest number of one, NICs left out. */
struct load {
    int messages[MAX_LINKS][2];
};

static void count_route(struct load *load, struct psim_route *route)
{
    for (int i = 0; i < route->hop_count; i++) {
        assert_true(route->hops[i].link < MAX_LINKS);
        load->messages[route->hops[i].link][route->hops[i].forward ? 1 : 0]++;
    }
    psim_route_release(route);
}

static int largest_load(const struct psim_platform *platform, const struct load *load,
                        const char *part, bool forward)
{
    int largest = 0;

    for (int i = 0; i < platform->link_count; i++) {
        const int messages = load->messages[i][forward ? 1 : 0];

        if (strstr(platform->links[i].name, part) != NULL && messages > largest)
            largest = messages;
    }
    return largest;
}

/* --- inside a node --------------------------------------------------------------------------- */

static void mesh_pairs_use_their_own_links(void **state)
{
    struct psim_platform platform =
        make_node(4, "mesh",
                  "edges=0,1,2,2,3,1 bandwidth=25e9 latency=1e-6 host_bandwidth=12e9 "
                  "host_latency=10e-6");

    (void)state;
    test_check_route(&platform, "node0.gpu0", "node0.gpu1", "+node0.gpu0.gpu1", 1e-6, 50e9);
    test_check_route(&platform, "node0.gpu3", "node0.gpu2", "-node0.gpu2.gpu3", 1e-6, 25e9);
    test_check_route(&platform, "node0.gpu1", "node0.gpu2", "+node0.gpu1.host -node0.gpu2.host",
                     10e-6, 12e9);
    psim_platform_release(&platform);
}

/* Two edges would be shorter than the host, but a device passes nothing on. */
static void mesh_never_passes_another_device(void **state)
{
    struct psim_platform platform = make_node(
        3, "mesh", "edges=0,1,1,1,2,1 bandwidth=25e9 host_bandwidth=1e9 host_latency=1e-3");

    (void)state;
    test_check_route(&platform, "node0.gpu0", "node0.gpu2", "+node0.gpu0.host -node0.gpu2.host",
                     1e-3, 1e9);
    psim_platform_release(&platform);
}

static void mesh_pair_keeps_its_link_where_the_host_is_nearer(void **state)
{
    struct psim_platform platform =
        make_node(2, "mesh", "edges=0,1,1 bandwidth=25e9 latency=5e-6 host_bandwidth=1e9");

    (void)state;
    test_check_route(&platform, "node0.gpu0", "node0.gpu1", "+node0.gpu0.gpu1", 5e-6, 25e9);
    psim_platform_release(&platform);
}

static void mesh_without_a_host_must_be_complete(void **state)
{
    const struct {
        const char *values, *where, *message;
    } cases[] = {
        {"edges=0,1,1,1,2,1 bandwidth=1e9", "host_bandwidth", "devices 0 and 2 have no edge"},
        {"edges=0,3,1 bandwidth=1e9", "edges", "[0, 3] is no pair of the node's devices 0 to 2"},
        {"edges=1,1,1 bandwidth=1e9", "edges", "joins a device to itself"},
        {"edges=0,1,1,1,0,1 bandwidth=1e9", "edges", "given twice"},
        {"edges=0,1,0 bandwidth=1e9", "edges", "must be in [1, 1024], not 0"},
        {"edges=0,1 bandwidth=1e9", "edges", "must have 1 to"},
        {"edges=-1,1,1 bandwidth=1e9", "edges", "must be in [0, 1023], not -1"},
    };
    struct psim_platform platform = make_node(3, "mesh", "edges=0,1,1,1,2,1,0,2,3 bandwidth=1e9");

    (void)state;
    test_check_route(&platform, "node0.gpu2", "node0.gpu0", "-node0.gpu0.gpu2", 0, 3e9);
    psim_platform_release(&platform);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        check_refused(
            &(struct test_cluster){
                .nodes = 1, .devices = 3, .interconnect = "mesh", .inside = cases[i].values},
            PSIM_ERR_RANGE, cases[i].where, cases[i].message);
}

static void nic_of_a_mesh_is_reached_over_the_host(void **state)
{
    struct psim_platform platform = test_cluster_make(&(struct test_cluster){
        .nodes = 2,
        .devices = 2,
        .nics = 1,
        .interconnect = "mesh",
        .inside = "edges=0,1,1 bandwidth=25e9 host_bandwidth=12e9 host_latency=2e-6",
        .network = "switch",
        .nic_bandwidth_bytes_per_s = NIC,
    });

    (void)state;
    test_check_route(&platform, "node0.gpu1", "node1.gpu0",
                     "+node0.gpu1.host +node0.gpu0.nic0 +node0.nic0.port -node1.nic0.port "
                     "-node1.gpu0.nic0 -node1.gpu0.host",
                     2e-6, 12e9);
    psim_platform_release(&platform);
}

/* Links by pair, from 0 to 7; six for every device. */
static void cube_mesh_has_six_links_a_device(void **state)
{
    static const int links[8][8] = {
        {0, 1, 1, 2, 2, 0, 0, 0}, {1, 0, 2, 1, 0, 2, 0, 0}, {1, 2, 0, 2, 0, 0, 1, 0},
        {2, 1, 2, 0, 0, 0, 0, 1}, {2, 0, 0, 0, 0, 1, 1, 2}, {0, 2, 0, 0, 1, 0, 2, 1},
        {0, 0, 1, 0, 1, 2, 0, 2}, {0, 0, 0, 1, 2, 1, 2, 0},
    };
    struct psim_platform platform = make_node(
        8, "cube_mesh", "bandwidth=25e9 latency=2e-6 host_bandwidth=12e9 host_latency=15e-6");

    (void)state;
    for (int a = 0; a < 8; a++) {
        int sum = 0;

        for (int b = 0; b < 8; b++) {
            struct psim_route route;

            if (a == b)
                continue;
            route = route_between(&platform, 0, a, 0, b);
            sum += links[a][b];
            check_near(route.bandwidth_bytes_per_s, links[a][b] > 0 ? links[a][b] * 25e9 : 12e9,
                       1e-12);
            check_near(route.latency_s, links[a][b] > 0 ? 2e-6 : 15e-6, 1e-12);
            psim_route_release(&route);
        }
        assert_int_equal(sum, 6);
    }
    psim_platform_release(&platform);
    check_refused(&(struct test_cluster){.nodes = 1,
                                         .devices = 4,
                                         .interconnect = "cube_mesh",
                                         .inside = "bandwidth=25e9 host_bandwidth=12e9"},
                  PSIM_ERR_RANGE, "kind", "joins 8 devices, not 4");
}

/* --- fat trees ------------------------------------------------------------------------------- */

static void fat_tree_crosses_one_or_three_switches(void **state)
{
    struct psim_platform platform =
        make_network(4, 2, "fat_tree", "nodes_per_leaf=2 spines=2 latency=1e-6");

    (void)state;
    test_check_route(&platform, "node0.gpu0", "node1.gpu1",
                     "+node0.gpu0.nic0 +node0.nic0.port -node1.nic1.port -node1.gpu1.nic1",
                     2 * NIC_US + 1e-6, NIC);
    test_check_route(&platform, "node0.gpu0", "node2.gpu0",
                     "+node0.gpu0.nic0 +node0.nic0.port +network.leaf0.up0 -network.leaf1.up0 "
                     "-node2.nic0.port -node2.gpu0.nic0",
                     2 * NIC_US + 3e-6, NIC);
    test_check_route(&platform, "node0.gpu0", "node2.gpu1",
                     "+node0.gpu0.nic0 +node0.nic0.port +network.leaf0.up1 -network.leaf1.up1 "
                     "-node2.nic1.port -node2.gpu1.nic1",
                     2 * NIC_US + 3e-6, NIC);
    psim_platform_release(&platform);
}

/* Same rail, same group: one leaf; other rail or other group: a spine. */
static void rails_meet_in_the_spine(void **state)
{
    struct psim_platform platform =
        make_network(4, 2, "fat_tree", "nodes_per_leaf=2 spines=1 latency=1e-6 rail_optimised=1");

    (void)state;
    test_check_route(&platform, "node0.gpu1", "node1.gpu1",
                     "+node0.gpu1.nic1 +node0.nic1.port -node1.nic1.port -node1.gpu1.nic1",
                     2 * NIC_US + 1e-6, NIC);
    test_check_route(&platform, "node0.gpu0", "node1.gpu1",
                     "+node0.gpu0.nic0 +node0.nic0.port +network.leaf0.rail0.up0 "
                     "-network.leaf0.rail1.up0 -node1.nic1.port -node1.gpu1.nic1",
                     2 * NIC_US + 3e-6, NIC);
    test_check_route(&platform, "node0.gpu1", "node3.gpu1",
                     "+node0.gpu1.nic1 +node0.nic1.port +network.leaf0.rail1.up0 "
                     "-network.leaf1.rail1.up0 -node3.nic1.port -node3.gpu1.nic1",
                     2 * NIC_US + 3e-6, NIC);
    psim_platform_release(&platform);
}

static void uplink_bandwidth_defaults_to_the_nics(void **state)
{
    struct psim_platform platform =
        make_network(2, 1, "fat_tree", "nodes_per_leaf=1 spines=1 uplink_bandwidth=10e9");
    struct psim_route route = route_between(&platform, 0, 0, 1, 0);

    (void)state;
    check_near(route.bandwidth_bytes_per_s, 10e9, 0);
    psim_route_release(&route);
    psim_platform_release(&platform);
    platform = make_network(2, 1, "fat_tree", "nodes_per_leaf=1 spines=1");
    route = route_between(&platform, 0, 0, 1, 0);
    check_near(route.bandwidth_bytes_per_s, NIC, 0);
    psim_route_release(&route);
    psim_platform_release(&platform);
}

/* Every device of one leaf sends to the one of the same number of another: with as many uplinks
 * as NICs no link carries two, with half as many each carries two, and so on. */
static void destinations_are_spread_over_all_uplinks(void **state)
{
    static const char *const shapes[] = {"spines=16", "spines=4 uplinks=16", "spines=1 uplinks=16",
                                         "spines=8",  "spines=2 uplinks=8",  "spines=2"};
    static const int expected[] = {1, 1, 1, 2, 2, 8};

    (void)state;
    for (size_t s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        struct load load = {{{0}}};
        struct psim_platform platform;
        char between[96];

        snprintf(between, sizeof between, "nodes_per_leaf=4 %s", shapes[s]);
        platform = make_network(8, 4, "fat_tree", between);
        for (int i = 0; i < 16; i++) {
            struct psim_route route = route_between(&platform, i / 4, i % 4, 4 + i / 4, i % 4);

            count_route(&load, &route);
        }
        assert_int_equal(largest_load(&platform, &load, ".up", true), expected[s]);
        assert_int_equal(largest_load(&platform, &load, ".up", false), expected[s]);
        psim_platform_release(&platform);
    }
}

/* A rail's leaf holds one NIC of every node, so the spread must not go by the device's number. */
static void destinations_of_one_rail_are_spread_too(void **state)
{
    struct psim_platform platform =
        make_network(32, 8, "fat_tree", "nodes_per_leaf=16 spines=16 rail_optimised=1");
    struct load load = {{{0}}};

    (void)state;
    for (int i = 0; i < 16; i++) {
        struct psim_route route = route_between(&platform, i, 0, 16 + i, 0);

        count_route(&load, &route);
    }
    assert_int_equal(largest_load(&platform, &load, ".up", true), 1);
    assert_int_equal(largest_load(&platform, &load, ".up", false), 1);
    psim_platform_release(&platform);
}

static void routes_repeat_themselves(void **state)
{
    struct psim_platform platform = make_network(8, 4, "fat_tree", "nodes_per_leaf=2 spines=8");

    (void)state;
    for (int i = 4; i < 32; i++) {
        struct psim_route one, other;
        char texts[2][512];

        assert_int_equal(psim_platform_route(&platform, 0, i, &one, NULL), PSIM_OK);
        assert_int_equal(psim_platform_route(&platform, 0, i, &other, NULL), PSIM_OK);
        test_route_text(&platform, &one, texts[0], sizeof texts[0]);
        test_route_text(&platform, &other, texts[1], sizeof texts[1]);
        assert_string_equal(texts[0], texts[1]);
        psim_route_release(&one);
        psim_route_release(&other);
    }
    psim_platform_release(&platform);
}

/* k-ary: 2 pods of 2 groups, 2 spines each, 4 cores of which spine s reaches 2s and 2s + 1. */
static void pods_are_joined_by_cores(void **state)
{
    struct psim_platform platform = make_network(
        8, 2, "fat_tree", "nodes_per_leaf=2 spines=2 uplinks=4 latency=1e-6 pods=2 cores=4");
    struct load load = {{{0}}};
    struct psim_route route;

    (void)state;
    route = route_between(&platform, 0, 0, 3, 1);
    check_near(route.latency_s, 2 * NIC_US + 3e-6, 1e-12);
    assert_int_equal(route.hop_count, 6);
    psim_route_release(&route);
    route = route_between(&platform, 0, 0, 7, 1);
    check_near(route.latency_s, 2 * NIC_US + 5e-6, 1e-12);
    assert_int_equal(route.hop_count, 8);
    psim_route_release(&route);
    for (int i = 0; i < 8; i++) {
        route = route_between(&platform, i / 2, i % 2, 4 + i / 2, i % 2);
        count_route(&load, &route);
    }
    /* Eight messages: an uplink of a leaf each, two on each of the four ways to a core. */
    assert_int_equal(largest_load(&platform, &load, "leaf0.up", true), 1);
    assert_int_equal(largest_load(&platform, &load, "leaf3.up", false), 1);
    assert_int_equal(largest_load(&platform, &load, "pod0.spine", true), 2);
    assert_int_equal(largest_load(&platform, &load, "pod1.spine", false), 2);
    psim_platform_release(&platform);
}

static void bad_fat_tree_names_the_key(void **state)
{
    static const struct {
        const char *values, *where, *message;
        enum psim_status status;
    } cases[] = {
        {"spines=1", "nodes_per_leaf", "must be given", PSIM_ERR_SCHEMA},
        {"nodes_per_leaf=0 spines=1", "nodes_per_leaf", "not 0", PSIM_ERR_RANGE},
        {"nodes_per_leaf=1 spines=4 uplinks=2", "uplinks", "at least the 4 spines", PSIM_ERR_RANGE},
        {"nodes_per_leaf=1 spines=1 cores=2", "cores", "only for a tree", PSIM_ERR_SCHEMA},
        {"nodes_per_leaf=1 spines=1 pods=2", "cores", "must be given", PSIM_ERR_SCHEMA},
        {"nodes_per_leaf=1 spines=2 pods=2 cores=8 core_uplinks=3", "core_uplinks",
         "do not reach 8 cores", PSIM_ERR_RANGE},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct test_cluster cluster = networked(4, 2, "fat_tree", cases[i].values);

        check_refused(&cluster, cases[i].status, cases[i].where, cases[i].message);
    }
}

/* --- torus and dragonfly --------------------------------------------------------------------- */

static int distance(int a, int b, int side)
{
    const int d = a > b ? a - b : b - a;

    return d < side - d ? d : side - d;
}

static void torus_takes_the_shorter_way_round_in_every_dimension(void **state)
{
    struct psim_platform platform =
        make_network(24, 1, "torus", "dims=4,3,2 bandwidth=10e9 latency=1e-6");

    (void)state;
    for (int to = 1; to < 24; to++) {
        const int hops = distance(0, to % 4, 4) + distance(0, to / 4 % 3, 3) + to / 12;
        struct psim_route route = route_between(&platform, 0, 0, to, 0);

        assert_int_equal(route.hop_count, hops + 4);
        check_near(route.latency_s, 2 * NIC_US + hops * 1e-6, 1e-12);
        check_near(route.bandwidth_bytes_per_s, 10e9, 0);
        psim_route_release(&route);
    }
    psim_platform_release(&platform);
}

static void torus_goes_dimension_by_dimension(void **state)
{
    struct psim_platform platform = make_network(16, 1, "torus", "dims=4,4 latency=1e-6");

    (void)state;
    test_check_route(&platform, "node0.gpu0", "node5.gpu0",
                     "+node0.gpu0.nic0 +node0.nic0.port +network.router0.y +network.router4.x "
                     "-node5.nic0.port -node5.gpu0.nic0",
                     2 * NIC_US + 2e-6, NIC);
    test_check_route(&platform, "node0.gpu0", "node15.gpu0",
                     "+node0.gpu0.nic0 +node0.nic0.port -network.router12.y -network.router15.x "
                     "-node15.nic0.port -node15.gpu0.nic0",
                     2 * NIC_US + 2e-6, NIC);
    psim_platform_release(&platform);
}

static void torus_of_two_has_one_link_a_pair(void **state)
{
    struct psim_platform platform = make_network(4, 1, "torus", "dims=2,2");
    int links = 0;

    (void)state;
    for (int i = 0; i < platform.link_count; i++)
        links += strncmp(platform.links[i].name, "network.router", 14) == 0 ? 1 : 0;
    assert_int_equal(links, 4);
    psim_platform_release(&platform);
}

static void bad_torus_names_the_key(void **state)
{
    static const char *const values[] = {"dims=4,", "dims=2,1", "dims=4096,4096", "dims=2,0"};

    (void)state;
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        const struct test_cluster cluster = networked(4, 1, "torus", values[i]);

        check_refused(&cluster, PSIM_ERR_RANGE, "dims",
                      i == 1 ? "2 routers, fewer than the 4 nodes" : "m");
    }
}

/* Local, global, local at most, and one global link at most, even where two would be nearer. */
static void dragonfly_routes_are_minimal(void **state)
{
    struct psim_platform platform =
        make_network(36, 1, "dragonfly",
                     "groups=9 routers_per_group=4 nodes_per_router=1 local_bandwidth=20e9 "
                     "global_bandwidth=10e9 latency=1e-6");

    (void)state;
    for (int from = 0; from < 36; from++) {
        for (int to = 0; to < 36; to++) {
            struct psim_route route;
            int global = 0;

            if (from == to)
                continue;
            route = route_between(&platform, from, 0, to, 0);
            for (int i = 0; i < route.hop_count; i++)
                global +=
                    strstr(platform.links[route.hops[i].link].name, ".global") != NULL ? 1 : 0;
            assert_int_equal(global, from / 4 == to / 4 ? 0 : 1);
            assert_true(route.hop_count <= 4 + (from / 4 == to / 4 ? 1 : 3));
            check_near(route.latency_s, 2 * NIC_US + (route.hop_count - 3) * 1e-6, 1e-12);
            check_near(route.bandwidth_bytes_per_s, from / 4 == to / 4 ? 20e9 : 10e9, 0);
            psim_route_release(&route);
        }
    }
    psim_platform_release(&platform);
}

static void dragonfly_spreads_global_links_over_the_routers(void **state)
{
    struct psim_platform platform =
        make_network(36, 1, "dragonfly", "groups=9 routers_per_group=4 nodes_per_router=1");
    int ends[36] = {0};

    (void)state;
    for (int i = 0; i < platform.link_count; i++) {
        const struct psim_link *link = &platform.links[i];

        if (strstr(link->name, ".global") == NULL)
            continue;
        for (int router = 0; router < 36; router++) {
            char name[48];

            snprintf(name, sizeof name, "network.group%d.router%d", router / 4, router % 4);
            ends[router] += strcmp(platform.vertices[link->from].name, name) == 0 ? 1 : 0;
            ends[router] += strcmp(platform.vertices[link->to].name, name) == 0 ? 1 : 0;
        }
    }
    for (int router = 0; router < 36; router++)
        assert_int_equal(ends[router], 2);
    psim_platform_release(&platform);
}

static void dragonfly_too_small_is_refused(void **state)
{
    const struct test_cluster cluster =
        networked(9, 1, "dragonfly", "groups=2 routers_per_group=2 nodes_per_router=2");

    (void)state;
    check_refused(&cluster, PSIM_ERR_RANGE, "groups", "no place for 9 nodes");
}

/* --- all of them ----------------------------------------------------------------------------- */

static void every_failing_allocation_is_reported(void **state)
{
    static const struct {
        const char *kind, *values;
    } networks[] = {
        {"fat_tree", "nodes_per_leaf=1 spines=4 pods=2 cores=4 rail_optimised=1"},
        {"torus", "dims=2,3"},
        {"dragonfly", "groups=3 routers_per_group=2 nodes_per_router=1"},
    };

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct test_cluster cluster = networked(6, 2, networks[i].kind, networks[i].values);
        enum psim_status status = PSIM_ERR_NOMEM;

        cluster.interconnect = "mesh";
        cluster.inside = "edges=0,1,1 bandwidth=1e9 host_bandwidth=1e9";
        for (unsigned long n = 1; status == PSIM_ERR_NOMEM; n++) {
            struct psim_platform platform;
            struct psim_route route = {.hop_count = 0};
            struct psim_error err = PSIM_ERROR_INIT;

            psim_alloc_fail_at(n);
            status = test_cluster_build(&platform, &cluster, &err);
            if (status == PSIM_OK) {
                status = psim_platform_route(&platform, 0, 11, &route, &err);
                psim_route_release(&route);
                psim_platform_release(&platform);
            }
            psim_alloc_fail_at(0);
            assert_int_equal(err.status, status);
            assert_true(n < 10000);
        }
        assert_int_equal(status, PSIM_OK);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mesh_pairs_use_their_own_links),
        cmocka_unit_test(mesh_never_passes_another_device),
        cmocka_unit_test(mesh_pair_keeps_its_link_where_the_host_is_nearer),
        cmocka_unit_test(mesh_without_a_host_must_be_complete),
        cmocka_unit_test(nic_of_a_mesh_is_reached_over_the_host),
        cmocka_unit_test(cube_mesh_has_six_links_a_device),
        cmocka_unit_test(fat_tree_crosses_one_or_three_switches),
        cmocka_unit_test(rails_meet_in_the_spine),
        cmocka_unit_test(uplink_bandwidth_defaults_to_the_nics),
        cmocka_unit_test(destinations_are_spread_over_all_uplinks),
        cmocka_unit_test(destinations_of_one_rail_are_spread_too),
        cmocka_unit_test(routes_repeat_themselves),
        cmocka_unit_test(pods_are_joined_by_cores),
        cmocka_unit_test(bad_fat_tree_names_the_key),
        cmocka_unit_test(torus_takes_the_shorter_way_round_in_every_dimension),
        cmocka_unit_test(torus_goes_dimension_by_dimension),
        cmocka_unit_test(torus_of_two_has_one_link_a_pair),
        cmocka_unit_test(bad_torus_names_the_key),
        cmocka_unit_test(dragonfly_routes_are_minimal),
        cmocka_unit_test(dragonfly_spreads_global_links_over_the_routers),
        cmocka_unit_test(dragonfly_too_small_is_refused),
        cmocka_unit_test(every_failing_allocation_is_reported),
    };

    return cmocka_run_group_tests_name("topology", tests, NULL, NULL);
}

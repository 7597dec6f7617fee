/*
 * Fat tree: leaf switches below spines, and with "pods" the spines of each pod below cores.
 *
 * Nodes form groups of `nodes_per_leaf`.  A group has one leaf, or one for every NIC of a node
 * where the tree is rail-optimised: NICs of one number, in all nodes of the group, are then one
 * switch apart, and NICs of different numbers meet in a spine.  Up- and downlinks are one duplex
 * link; uplink u of a leaf goes to spine u modulo the number of spines, so that the number of
 * uplinks sets the oversubscription.  A link between switches carries a switch's whole latency and
 * a NIC's link half of it, so that every switch on a way is paid once.
 *
 * NICs are numbered through, with one number for every uplink of a leaf, so that their digits
 * choose an uplink by the place on the leaf and a core by the leaf.
 *
 * Leaves are zones (whole pods where there are pods): a message passes only those of its two ends,
 * as up-down routing has it, which also bounds the search.
 */
#include "sim/platform/graph.h"
#include "sim/platform/platform.h"

#include "sim/base/memory.h"

#include <stddef.h>

#define MAX_NODES    65536
#define MAX_SWITCHES 4096 /* of one level and group, pod or tree */

enum {
    NODES_PER_LEAF,
    SPINES,
    UPLINKS,
    UPLINK_BANDWIDTH,
    LATENCY,
    RAIL_OPTIMISED,
    PODS,
    CORES,
    CORE_UPLINKS,
    CORE_BANDWIDTH
};

static const struct psim_parameter parameters[] = {
    [NODES_PER_LEAF] = {.name = "nodes_per_leaf",
                        .kind = PSIM_PARAMETER_COUNT,
                        .required = true,
                        .minimum = 1,
                        .maximum = MAX_NODES,
                        .help = "nodes of one group, which share their leaves"},
    [SPINES] = {.name = "spines",
                .kind = PSIM_PARAMETER_COUNT,
                .required = true,
                .minimum = 1,
                .maximum = MAX_SWITCHES,
                .help = "switches above the leaves, of the tree or of each pod"},
    [UPLINKS] = {.name = "uplinks",
                 .kind = PSIM_PARAMETER_COUNT,
                 .minimum = 1,
                 .maximum = MAX_SWITCHES,
                 .help = "of each leaf, spread over the spines; at least, and by default, one to "
                         "each"},
    [UPLINK_BANDWIDTH] = {.name = "uplink_bandwidth",
                          .kind = PSIM_PARAMETER_BANDWIDTH,
                          .help = "of one uplink, by default that of the fastest NIC"},
    [LATENCY] = {.name = "latency",
                 .kind = PSIM_PARAMETER_LATENCY,
                 .help = "of crossing one switch, 0 by default"},
    [RAIL_OPTIMISED] = {.name = "rail_optimised",
                        .kind = PSIM_PARAMETER_BOOL,
                        .help = "true: NIC r of every node joins leaf r of its group; false, the "
                                "default: all NICs join the group's one leaf"},
    [PODS] = {.name = "pods",
              .kind = PSIM_PARAMETER_COUNT,
              .minimum = 1,
              .maximum = MAX_SWITCHES,
              .help = "groups of leaves with spines of their own, joined by cores; without it the "
                      "tree has two levels"},
    [CORES] = {.name = "cores",
               .kind = PSIM_PARAMETER_COUNT,
               .minimum = 1,
               .maximum = MAX_SWITCHES,
               .help = "switches above the pods; required with pods"},
    [CORE_UPLINKS] = {.name = "core_uplinks",
                      .kind = PSIM_PARAMETER_COUNT,
                      .minimum = 1,
                      .maximum = MAX_SWITCHES,
                      .help =
                          "of each spine; by default the fewest that reach every core from each "
                          "pod"},
    [CORE_BANDWIDTH] = {.name = "core_bandwidth",
                        .kind = PSIM_PARAMETER_BANDWIDTH,
                        .help = "of one core uplink, by default as uplink_bandwidth"},
    {.name = NULL},
};

struct tree {
    struct psim_platform *platform;
    int nodes_per_leaf, rails; /* rails: leaves of a group */
    int groups, pods, groups_per_pod;
    int spines, uplinks, cores, core_uplinks; /* cores 0: two levels */
    double uplink_bytes_per_s, core_bytes_per_s, latency_s;
    int *leaf_vertices;  /* [groups * rails] */
    int *spine_vertices; /* [pods * spines] */
    int *core_vertices;  /* [cores] */
};

static int divided_up(int a, int b)
{
    return a / b + (a % b != 0 ? 1 : 0);
}

static void measure(struct tree *tree, const struct psim_port *ports, int count,
                    const struct psim_value *at)
{
    const int nodes = ports[count - 1].node + 1;
    int rails = 1;

    for (int i = 0; i < count; i++)
        rails = ports[i].nic + 1 > rails ? ports[i].nic + 1 : rails;
    tree->nodes_per_leaf = at[NODES_PER_LEAF].count;
    tree->rails = at[RAIL_OPTIMISED].flag ? rails : 1;
    tree->groups = divided_up(nodes, tree->nodes_per_leaf);
    tree->pods = at[PODS].given ? at[PODS].count : 1;
    tree->groups_per_pod = divided_up(tree->groups, tree->pods);
    tree->spines = at[SPINES].count;
    tree->uplinks = at[UPLINKS].given ? at[UPLINKS].count : tree->spines;
    tree->cores = at[PODS].given ? at[CORES].count : 0;
    tree->core_uplinks =
        at[CORE_UPLINKS].given ? at[CORE_UPLINKS].count : divided_up(tree->cores, tree->spines);
    tree->uplink_bytes_per_s = at[UPLINK_BANDWIDTH].given
                                   ? at[UPLINK_BANDWIDTH].number
                                   : psim_network_port_bandwidth(ports, count);
    tree->core_bytes_per_s =
        at[CORE_BANDWIDTH].given ? at[CORE_BANDWIDTH].number : tree->uplink_bytes_per_s;
    tree->latency_s = at[LATENCY].number;
}

static enum psim_status check(const struct tree *tree, const struct psim_value *at,
                              struct psim_error *err)
{
    for (int i = CORES; !at[PODS].given && i <= CORE_BANDWIDTH; i++) {
        if (at[i].given)
            return psim_fail(err, PSIM_ERR_SCHEMA, parameters[i].name,
                             "is only for a tree with \"pods\"");
    }
    if (at[PODS].given && !at[CORES].given)
        return psim_fail(err, PSIM_ERR_SCHEMA, "cores", "must be given: \"pods\" are joined by it");
    if (tree->uplinks < tree->spines)
        return psim_fail(err, PSIM_ERR_RANGE, "uplinks",
                         "must be at least the %d spines, not %d: every leaf reaches every spine",
                         tree->spines, tree->uplinks);
    if ((long long)tree->core_uplinks * tree->spines < tree->cores)
        return psim_fail(err, PSIM_ERR_RANGE, "core_uplinks",
                         "%d spines with %d uplinks each do not reach %d cores", tree->spines,
                         tree->core_uplinks, tree->cores);
    return psim_network_check_links((long long)tree->groups * tree->rails * tree->uplinks +
                                        (long long)tree->pods * tree->spines *
                                            (tree->core_uplinks + 1),
                                    err);
}

static enum psim_status add_leaves(struct tree *tree, struct psim_error *err)
{
    for (int leaf = 0; leaf < tree->groups * tree->rails; leaf++) {
        const int group = leaf / tree->rails, rail = leaf % tree->rails;
        int *vertex = &tree->leaf_vertices[leaf];
        const enum psim_status status =
            tree->rails == 1 ? psim_platform_add_named(tree->platform, -1, -1, vertex, err,
                                                       "network.leaf%d", group)
                             : psim_platform_add_named(tree->platform, -1, -1, vertex, err,
                                                       "network.leaf%d.rail%d", group, rail);

        if (status != PSIM_OK)
            return status;
        tree->platform->adjacency->passages[*vertex].zone =
            tree->cores > 0 ? group / tree->groups_per_pod : leaf;
        tree->platform->adjacency->passages[*vertex].ports = leaf * tree->uplinks;
    }
    return PSIM_OK;
}

static enum psim_status add_spines(struct tree *tree, struct psim_error *err)
{
    for (int i = 0; i < tree->pods * tree->spines; i++) {
        const int pod = i / tree->spines, spine = i % tree->spines;
        int *vertex = &tree->spine_vertices[i];
        const enum psim_status status =
            tree->cores == 0 ? psim_platform_add_named(tree->platform, -1, -1, vertex, err,
                                                       "network.spine%d", spine)
                             : psim_platform_add_named(tree->platform, -1, -1, vertex, err,
                                                       "network.pod%d.spine%d", pod, spine);

        if (status != PSIM_OK)
            return status;
        if (tree->cores > 0)
            tree->platform->adjacency->passages[*vertex].zone = pod;
    }
    return PSIM_OK;
}

/* Uplinks from..from + count - 1 of a switch, dealt out to the switches above. */
static enum psim_status add_uplinks(struct tree *tree, int vertex, const int *above,
                                    int above_count, int from, int count, double bytes_per_s,
                                    struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int u = 0; status == PSIM_OK && u < count; u++)
        status = psim_platform_join(tree->platform, vertex, above[(from + u) % above_count],
                                    bytes_per_s, tree->latency_s, err, "%s.up%d",
                                    tree->platform->vertices[vertex].name, u);
    return status;
}

/* Spine s of every pod reaches the same cores, so that a way up has a way down. */
static enum psim_status join_switches(struct tree *tree, struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int leaf = 0; status == PSIM_OK && leaf < tree->groups * tree->rails; leaf++) {
        const int pod = leaf / tree->rails / tree->groups_per_pod;

        status =
            add_uplinks(tree, tree->leaf_vertices[leaf], &tree->spine_vertices[pod * tree->spines],
                        tree->spines, 0, tree->uplinks, tree->uplink_bytes_per_s, err);
    }
    for (int i = 0; status == PSIM_OK && tree->cores > 0 && i < tree->pods * tree->spines; i++) {
        const int from = (int)((long long)(i % tree->spines) * tree->core_uplinks % tree->cores);

        status = add_uplinks(tree, tree->spine_vertices[i], tree->core_vertices, tree->cores, from,
                             tree->core_uplinks, tree->core_bytes_per_s, err);
    }
    return status;
}

static enum psim_status join_ports(struct tree *tree, const struct psim_port *ports, int count,
                                   struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int i = 0; status == PSIM_OK && i < count; i++) {
        const int group = ports[i].node / tree->nodes_per_leaf;
        const int rail = tree->rails == 1 ? 0 : ports[i].nic;

        status = psim_network_join_port(tree->platform, &ports[i],
                                        tree->leaf_vertices[group * tree->rails + rail],
                                        tree->latency_s / 2.0, err);
    }
    return status;
}

static enum psim_status expand(struct psim_platform *platform, const struct psim_port *ports,
                               int count, const struct psim_values *values, struct psim_error *err)
{
    struct tree tree = {.platform = platform};
    enum psim_status status;

    measure(&tree, ports, count, values->at);
    status = check(&tree, values->at, err);
    if (status != PSIM_OK)
        return status;
    tree.leaf_vertices = psim_alloc((size_t)tree.groups * (size_t)tree.rails, sizeof(int));
    tree.spine_vertices = psim_alloc((size_t)tree.pods * (size_t)tree.spines, sizeof(int));
    tree.core_vertices = psim_alloc((size_t)tree.cores, sizeof(int));
    if (tree.leaf_vertices == NULL || tree.spine_vertices == NULL || tree.core_vertices == NULL) {
        status = psim_fail(err, PSIM_ERR_NOMEM, "network", "out of memory");
        goto out;
    }
    status = add_leaves(&tree, err);
    if (status == PSIM_OK)
        status = add_spines(&tree, err);
    if (status == PSIM_OK)
        status = psim_network_add_switches(platform, "network.core", tree.cores, tree.core_vertices,
                                           err);
    if (status == PSIM_OK)
        status = join_switches(&tree, err);
    if (status == PSIM_OK)
        status = join_ports(&tree, ports, count, err);
out:
    psim_free(tree.leaf_vertices);
    psim_free(tree.spine_vertices);
    psim_free(tree.core_vertices);
    return status;
}

const struct psim_network_kind psim_network_kind_fat_tree = {
    .name = "fat_tree",
    .summary = "leaves below spines, plain or rail-optimised, two or three levels",
    .parameters = parameters,
    .expand = expand,
};

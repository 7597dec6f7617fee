/*
 * Dragonfly: groups of routers, all joined inside a group, one global link between two groups.
 *
 * Group g's link to the group d + 1 places after it, counted in a circle, starts at router d modulo
 * the group's routers.  Groups are zones, so that a message passes its own and its destination's
 * group alone and takes their one global link: minimal routing.  A link between routers carries a
 * router's whole latency and a NIC's link half of it, so that every router on a way is paid once.
 */
#include "sim/platform/graph.h"
#include "sim/platform/platform.h"

#include "sim/base/memory.h"

#include <stddef.h>

#define MAX_GROUPS  1024
#define MAX_ROUTERS 256 /* of one group */
#define MAX_NODES   65536

enum { GROUPS, ROUTERS_PER_GROUP, NODES_PER_ROUTER, LOCAL_BANDWIDTH, GLOBAL_BANDWIDTH, LATENCY };

static const struct psim_parameter parameters[] = {
    [GROUPS] = {.name = "groups",
                .kind = PSIM_PARAMETER_COUNT,
                .required = true,
                .minimum = 1,
                .maximum = MAX_GROUPS,
                .help = "groups of routers"},
    [ROUTERS_PER_GROUP] = {.name = "routers_per_group",
                           .kind = PSIM_PARAMETER_COUNT,
                           .required = true,
                           .minimum = 1,
                           .maximum = MAX_ROUTERS,
                           .help = "routers of a group, each joined to all others"},
    [NODES_PER_ROUTER] = {.name = "nodes_per_router",
                          .kind = PSIM_PARAMETER_COUNT,
                          .required = true,
                          .minimum = 1,
                          .maximum = MAX_NODES,
                          .help = "nodes whose NICs join one router"},
    [LOCAL_BANDWIDTH] = {.name = "local_bandwidth",
                         .kind = PSIM_PARAMETER_BANDWIDTH,
                         .help = "of a link inside a group, by default that of the fastest NIC"},
    [GLOBAL_BANDWIDTH] = {.name = "global_bandwidth",
                          .kind = PSIM_PARAMETER_BANDWIDTH,
                          .help = "of a link between groups, by default as local_bandwidth"},
    [LATENCY] = {.name = "latency",
                 .kind = PSIM_PARAMETER_LATENCY,
                 .help = "of crossing one router, 0 by default"},
    {.name = NULL},
};

struct dragonfly {
    struct psim_platform *platform;
    int groups, routers; /* routers: of a group */
    double local_bytes_per_s, global_bytes_per_s, latency_s;
    int *vertices; /* [groups * routers] */
};

static enum psim_status add_routers(struct dragonfly *fly, struct psim_error *err)
{
    for (int i = 0; i < fly->groups * fly->routers; i++) {
        const enum psim_status status =
            psim_platform_add_named(fly->platform, -1, -1, &fly->vertices[i], err,
                                    "network.group%d.router%d", i / fly->routers, i % fly->routers);

        if (status != PSIM_OK)
            return status;
        fly->platform->adjacency->passages[fly->vertices[i]].zone = i / fly->routers;
    }
    return PSIM_OK;
}

static enum psim_status join_group(struct dragonfly *fly, int group, struct psim_error *err)
{
    const int *routers = &fly->vertices[group * fly->routers];
    enum psim_status status = PSIM_OK;

    for (int a = 0; status == PSIM_OK && a < fly->routers; a++) {
        for (int b = a + 1; status == PSIM_OK && b < fly->routers; b++)
            status = psim_platform_join(fly->platform, routers[a], routers[b],
                                        fly->local_bytes_per_s, fly->latency_s, err, "%s.local%d",
                                        fly->platform->vertices[routers[a]].name, b);
    }
    return status;
}

/* The router of a group from which the link to another group starts. */
static int gateway(const struct dragonfly *fly, int group, int other)
{
    const int places = (other - group - 1 + fly->groups) % fly->groups;

    return fly->vertices[group * fly->routers + places % fly->routers];
}

static enum psim_status join_groups(struct dragonfly *fly, struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int a = 0; status == PSIM_OK && a < fly->groups; a++) {
        for (int b = a + 1; status == PSIM_OK && b < fly->groups; b++)
            status = psim_platform_join(fly->platform, gateway(fly, a, b), gateway(fly, b, a),
                                        fly->global_bytes_per_s, fly->latency_s, err,
                                        "network.group%d.global%d", a, b);
    }
    return status;
}

static enum psim_status join_all(struct dragonfly *fly, const struct psim_port *ports, int count,
                                 int nodes_per_router, struct psim_error *err)
{
    enum psim_status status = add_routers(fly, err);

    for (int group = 0; status == PSIM_OK && group < fly->groups; group++)
        status = join_group(fly, group, err);
    if (status == PSIM_OK)
        status = join_groups(fly, err);
    for (int i = 0; status == PSIM_OK && i < count; i++)
        status = psim_network_join_port(fly->platform, &ports[i],
                                        fly->vertices[ports[i].node / nodes_per_router],
                                        fly->latency_s / 2.0, err);
    return status;
}

static enum psim_status expand(struct psim_platform *platform, const struct psim_port *ports,
                               int count, const struct psim_values *values, struct psim_error *err)
{
    const struct psim_value *at = values->at;
    const int nodes = ports[count - 1].node + 1;
    const int nodes_per_router = at[NODES_PER_ROUTER].count;
    struct dragonfly fly = {
        .platform = platform,
        .groups = at[GROUPS].count,
        .routers = at[ROUTERS_PER_GROUP].count,
        .latency_s = at[LATENCY].number,
    };
    enum psim_status status;

    fly.local_bytes_per_s = at[LOCAL_BANDWIDTH].given ? at[LOCAL_BANDWIDTH].number
                                                      : psim_network_port_bandwidth(ports, count);
    fly.global_bytes_per_s =
        at[GLOBAL_BANDWIDTH].given ? at[GLOBAL_BANDWIDTH].number : fly.local_bytes_per_s;
    if ((long long)fly.groups * fly.routers * nodes_per_router < nodes)
        return psim_fail(err, PSIM_ERR_RANGE, "groups",
                         "%d groups of %d routers with %d nodes each have no place for %d nodes",
                         fly.groups, fly.routers, nodes_per_router, nodes);
    status = psim_network_check_links((long long)fly.groups * fly.routers * (fly.routers - 1) / 2 +
                                          (long long)fly.groups * (fly.groups - 1) / 2,
                                      err);
    if (status != PSIM_OK)
        return status;
    fly.vertices = psim_alloc((size_t)fly.groups * (size_t)fly.routers, sizeof *fly.vertices);
    if (fly.vertices == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "network", "out of memory");
    status = join_all(&fly, ports, count, nodes_per_router, err);
    psim_free(fly.vertices);
    return status;
}

const struct psim_network_kind psim_network_kind_dragonfly = {
    .name = "dragonfly",
    .summary = "groups of routers, all joined inside, one link between two groups",
    .parameters = parameters,
    .expand = expand,
};

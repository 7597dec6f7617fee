/*
 * Torus of two or three dimensions: one router a node, which all its NICs join.
 *
 * Nodes fill the routers with x running fastest.  A dimension of two has one link, not two between
 * the same routers.  Links are numbered dimension by dimension, and a message takes the last
 * dimensions first: among ways of equal length the first NIC's are the ordered ones, those of
 * further NICs of a node are spread.
 */
#include "sim/platform/graph.h"
#include "sim/platform/platform.h"

#include "sim/base/memory.h"

#include <stddef.h>

#define MAX_SIDE    4096
#define MAX_ROUTERS 65536

enum { DIMS, BANDWIDTH, LATENCY };

static const struct psim_parameter parameters[] = {
    [DIMS] = {.name = "dims",
              .kind = PSIM_PARAMETER_COUNTS,
              .required = true,
              .minimum = 1,
              .maximum = MAX_SIDE,
              .help = "routers along each dimension, [x, y] or [x, y, z]"},
    [BANDWIDTH] = {.name = "bandwidth",
                   .kind = PSIM_PARAMETER_BANDWIDTH,
                   .help = "of the link between two routers, by default that of the fastest NIC"},
    [LATENCY] = {.name = "latency",
                 .kind = PSIM_PARAMETER_LATENCY,
                 .help = "of one hop between routers, 0 by default"},
    {.name = NULL},
};

/* Number of routers, 0 where it is too large. */
static int router_count(const struct psim_value *dims)
{
    long long routers = 1;

    for (int d = 0; d < dims->item_count && routers <= MAX_ROUTERS; d++)
        routers *= dims->items[d];
    return routers <= MAX_ROUTERS ? (int)routers : 0;
}

static enum psim_status check(const struct psim_value *dims, int nodes, struct psim_error *err)
{
    const int routers = router_count(dims);

    if (dims->item_count < 2)
        return psim_fail(err, PSIM_ERR_RANGE, "dims", "must have 2 or 3 elements, not %d",
                         dims->item_count);
    if (routers == 0)
        return psim_fail(err, PSIM_ERR_RANGE, "dims", "make more than %d routers", MAX_ROUTERS);
    if (routers < nodes)
        return psim_fail(err, PSIM_ERR_RANGE, "dims", "make %d routers, fewer than the %d nodes",
                         routers, nodes);
    return PSIM_OK;
}

/* Links of one dimension: from every router to the next, the last one to the first. */
static enum psim_status join_dimension(struct psim_platform *platform, const int *routers,
                                       int count, int side, int stride, int dimension,
                                       double bytes_per_s, double latency_s, struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int i = 0; status == PSIM_OK && i < count; i++) {
        const int place = i / stride % side;
        const int next = place + 1 < side ? i + stride : i - (side - 1) * stride;

        if (side == 1 || (side == 2 && place == 1))
            continue;
        status =
            psim_platform_join(platform, routers[i], routers[next], bytes_per_s, latency_s, err,
                               "%s.%c", platform->vertices[routers[i]].name, "xyz"[dimension]);
    }
    return status;
}

static enum psim_status expand(struct psim_platform *platform, const struct psim_port *ports,
                               int count, const struct psim_values *values, struct psim_error *err)
{
    const struct psim_value *dims = &values->at[DIMS];
    const int routers = router_count(dims);
    const double bytes_per_s = values->at[BANDWIDTH].given
                                   ? values->at[BANDWIDTH].number
                                   : psim_network_port_bandwidth(ports, count);
    int *vertices, stride = 1;
    enum psim_status status = check(dims, ports[count - 1].node + 1, err);

    if (status != PSIM_OK)
        return status;
    vertices = psim_alloc((size_t)routers, sizeof *vertices);
    if (vertices == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "network", "out of memory");
    status = psim_network_add_switches(platform, "network.router", routers, vertices, err);
    for (int d = 0; status == PSIM_OK && d < dims->item_count; d++) {
        status = join_dimension(platform, vertices, routers, dims->items[d], stride, d, bytes_per_s,
                                values->at[LATENCY].number, err);
        stride *= dims->items[d];
    }
    for (int i = 0; status == PSIM_OK && i < count; i++)
        status = psim_network_join_port(platform, &ports[i], vertices[ports[i].node], 0.0, err);
    psim_free(vertices);
    return status;
}

const struct psim_network_kind psim_network_kind_torus = {
    .name = "torus",
    .summary = "rings of routers in two or three dimensions, one router a node",
    .parameters = parameters,
    .expand = expand,
};

/*
 * Direct links between devices, NVLink without a switch, and the host for all other pairs.
 *
 * The links of one pair carry a message together, so they are one link of their sum.  A pair that
 * has a link uses it even where the way through the host has less latency: that is how peer access
 * works, and the search for routes holds to it.  NICs are reached from the host, over the same
 * links as the traffic between devices without a link.
 */
#include "sim/platform/interconnect/mesh.h"

#include "sim/base/memory.h"
#include "sim/platform/graph.h"

#include <stddef.h>

#define MAX_DEVICE 1023 /* the largest number of a device in a node of a file */

enum { EDGES, BANDWIDTH, LATENCY, HOST_BANDWIDTH, HOST_LATENCY };

static const struct psim_parameter parameters[] = {
    [EDGES] = {.name = "edges",
               .kind = PSIM_PARAMETER_EDGES,
               .required = true,
               .maximum = MAX_DEVICE,
               .help = "pairs of devices with a number of links each: [[0, 1, 2], ...]"},
    [BANDWIDTH] = {.name = "bandwidth",
                   .kind = PSIM_PARAMETER_BANDWIDTH,
                   .required = true,
                   .help = "of one link"},
    [LATENCY] = {.name = "latency",
                 .kind = PSIM_PARAMETER_LATENCY,
                 .help = "device to device over their own links, 0 by default"},
    [HOST_BANDWIDTH] = {.name = "host_bandwidth",
                        .kind = PSIM_PARAMETER_BANDWIDTH,
                        .help = "of a device's way to the host; required where a pair has no edge"},
    [HOST_LATENCY] = {.name = "host_latency",
                      .kind = PSIM_PARAMETER_LATENCY,
                      .help = "device to device through the host, 0 by default"},
    {.name = NULL},
};

static enum psim_status add_edge(struct psim_platform *platform, const char *prefix,
                                 const int *devices, int count, const struct psim_mesh *mesh,
                                 const int edge[3], struct psim_error *err)
{
    if (edge[0] >= count || edge[1] >= count)
        return psim_fail(err, PSIM_ERR_RANGE, "edges",
                         "[%d, %d] is no pair of the node's devices 0 to %d", edge[0], edge[1],
                         count - 1);
    if (edge[0] == edge[1])
        return psim_fail(err, PSIM_ERR_RANGE, "edges", "[%d, %d] joins a device to itself", edge[0],
                         edge[1]);
    return psim_platform_join(platform, devices[edge[0]], devices[edge[1]],
                              edge[2] * mesh->bandwidth_bytes_per_s, mesh->latency_s, err,
                              "%s.gpu%d.gpu%d", prefix, edge[0], edge[1]);
}

/* Notes the edges' pairs; refuses a pair given twice and, without a host, one without an edge. */
static enum psim_status check_pairs(const struct psim_mesh *mesh, int count, struct psim_error *err)
{
    bool *joined = psim_alloc((size_t)count * (size_t)count, sizeof *joined);
    enum psim_status status = PSIM_OK;

    if (joined == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "edges", "out of memory");
    for (int i = 0; status == PSIM_OK && i < mesh->edge_count; i++) {
        const int a = mesh->edges[3 * i], b = mesh->edges[3 * i + 1];

        if (joined[a * count + b])
            status = psim_fail(err, PSIM_ERR_RANGE, "edges",
                               "the pair [%d, %d] is given twice: give it once, with its number of "
                               "links",
                               a, b);
        joined[a * count + b] = joined[b * count + a] = true;
    }
    for (int i = 0; status == PSIM_OK && !mesh->has_host && i < count * count; i++) {
        if (i / count < i % count && !joined[i])
            status =
                psim_fail(err, PSIM_ERR_RANGE, "host_bandwidth",
                          "must be given: devices %d and %d have no edge", i / count, i % count);
    }
    psim_free(joined);
    return status;
}

static enum psim_status add_host(struct psim_platform *platform, const char *prefix, int node,
                                 const int *devices, int count, const struct psim_mesh *mesh,
                                 int *attach, struct psim_error *err)
{
    int host;
    enum psim_status status =
        psim_platform_add_named(platform, -1, node, &host, err, "%s.host", prefix);

    for (int i = 0; status == PSIM_OK && i < count; i++) {
        attach[i] = host;
        status = psim_platform_join(platform, devices[i], host, mesh->host_bandwidth_bytes_per_s,
                                    mesh->host_latency_s / 2.0, err, "%s.gpu%d.host", prefix, i);
    }
    return status;
}

enum psim_status psim_mesh_expand(struct psim_platform *platform, const char *prefix, int node,
                                  const int *devices, int count, const struct psim_mesh *mesh,
                                  int *attach, struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int i = 0; status == PSIM_OK && i < mesh->edge_count; i++)
        status = add_edge(platform, prefix, devices, count, mesh, &mesh->edges[3 * i], err);
    if (status == PSIM_OK)
        status = check_pairs(mesh, count, err);
    if (status == PSIM_OK && mesh->has_host)
        status = add_host(platform, prefix, node, devices, count, mesh, attach, err);
    return status;
}

static enum psim_status expand(struct psim_platform *platform, const char *prefix, int node,
                               const int *devices, int count, const struct psim_values *values,
                               int *attach, struct psim_error *err)
{
    const struct psim_mesh mesh = {
        .edges = values->at[EDGES].items,
        .edge_count = values->at[EDGES].item_count / 3,
        .bandwidth_bytes_per_s = values->at[BANDWIDTH].number,
        .latency_s = values->at[LATENCY].number,
        .has_host = values->at[HOST_BANDWIDTH].given,
        .host_bandwidth_bytes_per_s = values->at[HOST_BANDWIDTH].number,
        .host_latency_s = values->at[HOST_LATENCY].number,
    };

    return psim_mesh_expand(platform, prefix, node, devices, count, &mesh, attach, err);
}

const struct psim_interconnect psim_interconnect_mesh = {
    .name = "mesh",
    .summary = "links between pairs of devices, the host between all others",
    .parameters = parameters,
    .expand = expand,
};

/*
 * The way between a device and the switch inside its node that in-switch reductions use.
 */
#include "sim/base/memory.h"
#include "sim/platform/graph.h"

#include <stddef.h>

enum psim_status psim_platform_switch_route(const struct psim_platform *platform, int device,
                                            bool towards, struct psim_route *out,
                                            struct psim_error *err)
{
    const struct psim_adjacency *graph = platform->adjacency;
    const int vertex = platform->devices[device];
    struct psim_route_hop *hop;

    for (int i = graph->first[vertex]; i < graph->first[vertex + 1]; i++) {
        const struct psim_edge *edge = &graph->edges[i];
        const struct psim_link *link = &platform->links[edge->link];

        if (platform->vertices[edge->to].device_type >= 0 || graph->passages[edge->to].is_nic ||
            platform->vertices[edge->to].node != platform->vertices[vertex].node)
            continue;
        hop = psim_alloc(1, sizeof *hop);
        if (hop == NULL)
            return psim_fail(err, PSIM_ERR_NOMEM, "route", "out of memory");
        *hop = (struct psim_route_hop){.link = edge->link,
                                       .forward = (link->from == vertex) == towards};
        *out = (struct psim_route){.hops = hop,
                                   .hop_count = 1,
                                   .latency_s = link->latency_s,
                                   .bandwidth_bytes_per_s = link->bandwidth_bytes_per_s};
        return PSIM_OK;
    }
    return psim_fail(err, PSIM_ERR_NOTFOUND, platform->name,
                     "device \"%s\" is on no switch inside its node",
                     platform->vertices[vertex].name);
}

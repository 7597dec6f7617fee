/*
 * Bytes that one update sends over every link and into every switch: what energy is reckoned by.
 * Counted before copies are folded, since the routes of those that stay stand for others then.
 */
#include "sim/base/memory.h"
#include "sim/program/program_parts.h"

static void add_way(const struct psim_platform *platform, const struct psim_route *route,
                    double bytes, double *link_bytes, double *vertex_bytes)
{
    for (int h = 0; h < route->hop_count; h++) {
        link_bytes[route->hops[h].link] += bytes;
        vertex_bytes[psim_platform_hop_end(platform, &route->hops[h])] += bytes;
    }
}

enum psim_status psim_program_count_traffic(const struct psim_program *all, struct psim_program *to,
                                            struct psim_error *err)
{
    const struct psim_platform *platform = all->platform;
    const int stages = all->shape.stages, flows = psim_program_sync_count(all);
    const double microbatches =
        all->method->updates_every_microbatch ? 1 : (double)all->shape.accumulation;
    double *link_bytes = psim_alloc((size_t)platform->link_count, sizeof *link_bytes);
    double *vertex_bytes = psim_alloc((size_t)platform->vertex_count, sizeof *vertex_bytes);

    if (link_bytes == NULL || vertex_bytes == NULL) {
        psim_free(link_bytes);
        psim_free(vertex_bytes);
        return psim_fail(err, PSIM_ERR_NOMEM, "program", "out of memory");
    }
    for (int q = 0; q < all->lanes * stages; q++) {
        for (int d = 0; d < 2 && (q + 1) % stages != 0; d++)
            add_way(platform, &all->hops[q].route[d], microbatches * (double)all->hops[q].bytes[d],
                    link_bytes, vertex_bytes);
    }
    for (int f = 0; f < flows; f++)
        add_way(platform, &all->sync_flows[f].route, all->sync_flows[f].bytes, link_bytes,
                vertex_bytes);
    psim_free(to->link_bytes);
    psim_free(to->vertex_bytes);
    to->link_bytes = link_bytes;
    to->vertex_bytes = vertex_bytes;
    return PSIM_OK;
}

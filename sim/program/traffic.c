/*
 * Bytes that one update sends over every link and into every switch: what energy is reckoned by.
 * Folding counts them first, since the routes of the copies that stay stand for others then.
 */
#include "sim/base/memory.h"
#include "sim/program/program.h"

#include <string.h>

static enum psim_status new_traffic(const struct psim_platform *platform, struct psim_traffic *out,
                                    struct psim_error *err)
{
    struct psim_traffic made = {
        .link_bytes = psim_alloc((size_t)platform->link_count, sizeof(double)),
        .vertex_bytes = psim_alloc((size_t)platform->vertex_count, sizeof(double)),
    };

    if (made.link_bytes != NULL && made.vertex_bytes != NULL) {
        *out = made;
        return PSIM_OK;
    }
    psim_traffic_release(&made);
    return psim_fail(err, PSIM_ERR_NOMEM, "program", "out of memory for %d links",
                     platform->link_count);
}

void psim_traffic_release(struct psim_traffic *traffic)
{
    psim_free(traffic->link_bytes);
    psim_free(traffic->vertex_bytes);
    *traffic = (struct psim_traffic){NULL, NULL};
}

static void add_way(const struct psim_platform *platform, const struct psim_route *route,
                    double bytes, struct psim_traffic *traffic)
{
    for (int h = 0; h < route->hop_count; h++) {
        traffic->link_bytes[route->hops[h].link] += bytes;
        traffic->vertex_bytes[psim_platform_hop_end(platform, &route->hops[h])] += bytes;
    }
}

static void count(const struct psim_program *program, struct psim_traffic *traffic)
{
    const struct psim_platform *platform = program->platform;
    const int stages = program->shape.stages, flows = psim_program_sync_count(program);
    const double microbatches =
        program->method->updates_every_microbatch ? 1 : (double)program->shape.accumulation;

    for (int q = 0; q < program->lanes * stages; q++) {
        for (int d = 0; d < 2 && (q + 1) % stages != 0; d++)
            add_way(platform, &program->hops[q].route[d],
                    microbatches * (double)program->hops[q].bytes[d], traffic);
    }
    for (int f = 0; f < flows; f++)
        add_way(platform, &program->sync_flows[f].route, program->sync_flows[f].bytes, traffic);
}

enum psim_status psim_program_traffic(const struct psim_program *program, struct psim_traffic *out,
                                      struct psim_error *err)
{
    const struct psim_platform *platform = program->platform;
    const struct psim_traffic *unfolded = &program->unfolded;
    struct psim_traffic made;
    const enum psim_status status = new_traffic(platform, &made, err);

    if (status != PSIM_OK)
        return status;
    if (unfolded->link_bytes == NULL) {
        count(program, &made);
    } else {
        memcpy(made.link_bytes, unfolded->link_bytes,
               (size_t)platform->link_count * sizeof(double));
        memcpy(made.vertex_bytes, unfolded->vertex_bytes,
               (size_t)platform->vertex_count * sizeof(double));
    }
    *out = made;
    return PSIM_OK;
}

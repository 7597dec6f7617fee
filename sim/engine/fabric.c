#include "sim/engine/fabric.h"

#include "sim/base/memory.h"
#include "sim/engine/simgrid_shim.h"

#include <math.h>

enum psim_status psim_fabric_init(struct psim_fabric *fabric, const struct psim_platform *platform,
                                  struct psim_error *err)
{
    int *links = psim_alloc((size_t)platform->link_count, sizeof *links);

    if (links == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "simgrid", "out of memory for links");
    for (int i = 0; i < platform->link_count; i++)
        links[i] = -1;
    *fabric = (struct psim_fabric){.platform = platform, .links = links};
    return PSIM_OK;
}

void psim_fabric_release(struct psim_fabric *fabric)
{
    psim_free(fabric->links);
    *fabric = (struct psim_fabric){.links = NULL};
}

void psim_fabric_add_links(struct psim_fabric *fabric, const struct psim_route *route)
{
    for (int i = 0; i < route->hop_count; i++) {
        const int index = route->hops[i].link;
        const struct psim_link *link = &fabric->platform->links[index];

        if (fabric->links[index] < 0 && isfinite(link->bandwidth_bytes_per_s))
            fabric->links[index] = psim_shim_add_link(link->name, link->bandwidth_bytes_per_s,
                                                      link->sharing == PSIM_DUPLEX);
    }
}

enum psim_status psim_fabric_add_route(const struct psim_fabric *fabric, int from, int to,
                                       const struct psim_route *route, struct psim_error *err)
{
    int *links = psim_alloc((size_t)route->hop_count, sizeof *links);
    bool *forward = psim_alloc((size_t)route->hop_count, sizeof *forward);
    enum psim_status status = PSIM_OK;
    int count = 0;

    if (links == NULL || forward == NULL) {
        status = psim_fail(err, PSIM_ERR_NOMEM, "simgrid", "out of memory for a route");
        goto out;
    }
    for (int i = 0; i < route->hop_count; i++) {
        if (fabric->links[route->hops[i].link] < 0)
            continue;
        links[count] = fabric->links[route->hops[i].link];
        forward[count++] = route->hops[i].forward;
    }
    if (count > 0)
        psim_shim_add_route(from, to, links, forward, count);
out:
    psim_free(links);
    psim_free(forward);
    return status;
}

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

/* The links of a route that were built, as the shim numbers them. */
struct shim_route {
    int *links;
    bool *forward;
    int count;
};

static void shim_route_release(struct shim_route *made)
{
    psim_free(made->links);
    psim_free(made->forward);
}

static enum psim_status shim_route_init(struct shim_route *made, const struct psim_fabric *fabric,
                                        const struct psim_route *route, struct psim_error *err)
{
    made->links = psim_alloc((size_t)route->hop_count, sizeof *made->links);
    made->forward = psim_alloc((size_t)route->hop_count, sizeof *made->forward);
    made->count = 0;
    if (made->links == NULL || made->forward == NULL) {
        shim_route_release(made);
        return psim_fail(err, PSIM_ERR_NOMEM, "simgrid", "out of memory for a route");
    }
    for (int i = 0; i < route->hop_count; i++) {
        const int link = fabric->links[route->hops[i].link];

        if (link < 0)
            continue;
        made->links[made->count] = link;
        made->forward[made->count++] = route->hops[i].forward;
    }
    return PSIM_OK;
}

enum psim_status psim_fabric_add_route(const struct psim_fabric *fabric, int from, int to,
                                       const struct psim_route *route, struct psim_error *err)
{
    struct shim_route made;
    const enum psim_status status = shim_route_init(&made, fabric, route, err);

    if (status != PSIM_OK)
        return status;
    if (made.count > 0)
        psim_shim_add_route(from, to, made.links, made.forward, made.count);
    shim_route_release(&made);
    return PSIM_OK;
}

enum psim_status psim_fabric_add_way(struct psim_fabric *fabric, const struct psim_route *route,
                                     int *from, struct psim_error *err)
{
    struct shim_route made;
    enum psim_status status;

    psim_fabric_add_links(fabric, route);
    status = shim_route_init(&made, fabric, route, err);
    if (status != PSIM_OK)
        return status;
    *from = made.count > 0 ? psim_shim_add_way(made.links, made.forward, made.count) : -1;
    shim_route_release(&made);
    return PSIM_OK;
}

void psim_fabric_set_factor(const struct psim_fabric *fabric, int link, double factor)
{
    if (fabric->links[link] >= 0)
        psim_shim_set_bandwidth(fabric->links[link],
                                factor * fabric->platform->links[link].bandwidth_bytes_per_s);
}

#include "sim/import/simgrid_routes.h"

#define COMPARED_LIMIT 16384 /* each compared route is searched for anew */

struct settling {
    struct psim_import_job *job;
    struct psim_import_graph *graph;
    bool *directed; /* links whose UP is from `from` to `to` for certain */
};

static bool is_settled(const struct settling *s, int link)
{
    return s->graph->links[link].from >= 0;
}

static void conflict(struct settling *s, const struct psim_simgrid_route *route, int link)
{
    const struct psim_import_link *l = &s->graph->links[link];

    psim_import_error(s->job, route->at, PSIM_ERR_UNSUPPORTED, NULL,
                      "the link \"%.40s\" joins \"%.40s\" and \"%.40s\" elsewhere: a link between "
                      "more than two places cannot be expressed",
                      l->name, s->graph->vertices[l->from].name, s->graph->vertices[l->to].name);
}

/* UP of one route must be UP of all; the first that says a direction turns the link to fit. */
static void check_direction(struct settling *s, const struct psim_simgrid_route *route,
                            const struct psim_hop *hop, int from)
{
    struct psim_import_link *link = &s->graph->links[hop->link];
    const bool fits = (hop->direction == PSIM_HOP_UP) == (link->from == from);

    if (hop->direction == PSIM_HOP_NONE || link->sharing != PSIM_DUPLEX)
        return;
    if (!fits && s->directed[hop->link])
        psim_import_error(s->job, route->at, PSIM_ERR_UNSUPPORTED, NULL,
                          "the link \"%.40s\" is crossed against the direction of other routes",
                          link->name);
    if (!fits && !s->directed[hop->link]) {
        link->from = link->to;
        link->to = from;
    }
    s->directed[hop->link] = true;
}

static void settle(struct settling *s, const struct psim_simgrid_route *route,
                   const struct psim_hop *hop, int from, int to)
{
    struct psim_import_link *link = &s->graph->links[hop->link];

    if (from < 0 || to < 0)
        return; /* memory is out */
    if (!is_settled(s, hop->link)) {
        link->from = from;
        link->to = to;
    }
    if ((link->from == from && link->to == to) || (link->from == to && link->to == from))
        check_direction(s, route, hop, from);
    else
        conflict(s, route, hop->link);
}

/* The other end of a settled link; -1 when it does not touch the vertex. */
static int other_end(const struct settling *s, int link, int vertex)
{
    const struct psim_import_link *l = &s->graph->links[link];

    return l->from == vertex ? l->to : l->to == vertex ? l->from : -1;
}

/* Walks over settled links; false after a conflict.  `step` is 1 from the start of the route and
 * -1 from its end. */
static bool walk(struct settling *s, const struct psim_simgrid_route *route, size_t *next,
                 size_t left, int step, int *at)
{
    for (; left > 0; left--) {
        const struct psim_hop *hop = &route->hops[*next];
        const int there = is_settled(s, hop->link) ? other_end(s, hop->link, *at) : -1;

        if (!is_settled(s, hop->link))
            return true;
        if (there < 0) {
            conflict(s, route, hop->link);
            return false;
        }
        check_direction(s, route, hop, step > 0 ? *at : there);
        *at = there;
        *next += (size_t)step;
    }
    return true;
}

/* Where the link of hop `i`, which is not settled, meets the next one. */
static int meeting_point(struct settling *s, const struct psim_simgrid_route *route, size_t i)
{
    const struct psim_import_link *link = &s->graph->links[route->hops[i].link];
    const struct psim_import_link *next = &s->graph->links[route->hops[i + 1].link];

    if (is_settled(s, route->hops[i + 1].link))
        return route->hops[i + 1].direction == PSIM_HOP_DOWN ? next->to : next->from;
    return psim_graph_vertex(s->graph, psim_import_printf(s->job, "%s|%s", link->name, next->name),
                             NULL, route->at);
}

/* The links from `first` to `last` are not settled at the ends; the others may be. */
static void fill(struct settling *s, const struct psim_simgrid_route *route, size_t first,
                 size_t last, int from, int to)
{
    for (size_t i = first; i <= last && psim_import_clean(s->job); i++) {
        const struct psim_hop *hop = &route->hops[i];
        int there = to;

        if (is_settled(s, hop->link)) {
            there = other_end(s, hop->link, from);
            if (there < 0) {
                conflict(s, route, hop->link);
                return;
            }
        } else if (i < last) {
            there = meeting_point(s, route, i);
        }
        if (there == from) {
            psim_import_error(s->job, route->at, PSIM_ERR_UNSUPPORTED, NULL,
                              "the route comes back to \"%.40s\"", s->graph->vertices[from].name);
            return;
        }
        settle(s, route, hop, from, there);
        from = there;
    }
}

static void settle_route(struct settling *s, const struct psim_simgrid_route *route)
{
    size_t first = 0, last = route->hop_count - 1;
    int from = route->from, to = route->to;

    if (route->hop_count == 1) {
        settle(s, route, &route->hops[0], from, to);
        return;
    }
    if (!walk(s, route, &first, route->hop_count, 1, &from))
        return;
    if (first == route->hop_count) {
        if (from != to)
            psim_import_error(s->job, route->at, PSIM_ERR_UNSUPPORTED, NULL,
                              "the route ends at \"%.40s\", by what other routes say of its links",
                              s->graph->vertices[from].name);
        return;
    }
    if (walk(s, route, &last, last - first, -1, &to))
        fill(s, route, first, last, from, to);
}

static void warn_of_idle_links(struct settling *s)
{
    for (size_t i = 0; i < s->graph->link_count; i++) {
        if (!is_settled(s, (int)i))
            psim_import_warn(s->job, s->graph->links[i].at,
                             "the link \"%.40s\" is in no route between two places and is left out",
                             s->graph->links[i].name);
    }
}

/* ---- Comparison with our own routes ---- */

static enum psim_status build(struct psim_platform *platform, const struct psim_import_graph *graph,
                              int *device_of, int *link_of)
{
    static const struct psim_device device = {.name = ""};
    int type, vertex;
    enum psim_status status = psim_platform_add_type(platform, "", &device, &type, NULL);

    platform->hosts_forward = true;
    for (size_t i = 0; status == PSIM_OK && i < graph->vertex_count; i++) {
        const bool host = graph->vertices[i].device != NULL;

        device_of[i] = host ? platform->device_count : -1;
        status = psim_platform_add_vertex(platform, graph->vertices[i].name, host ? type : -1, -1,
                                          &vertex, NULL);
    }
    for (size_t i = 0; status == PSIM_OK && i < graph->link_count; i++) {
        const struct psim_import_link *link = &graph->links[i];

        link_of[i] = platform->link_count;
        if (link->from >= 0)
            status = psim_platform_add_link(platform, link->name, link->from, link->to,
                                            link->bandwidth_bytes_per_s, link->latency_s,
                                            link->sharing, NULL);
    }
    return status == PSIM_OK ? psim_platform_finish(platform, 0, NULL) : status;
}

static bool same_route(const struct psim_route *ours, const struct psim_simgrid_route *theirs,
                       const int *link_of)
{
    bool same = (size_t)ours->hop_count == theirs->hop_count;

    for (size_t i = 0; same && i < theirs->hop_count; i++)
        same = ours->hops[i].link == link_of[theirs->hops[i].link];
    return same;
}

static enum psim_status compare(struct psim_import_job *job, const struct psim_platform *platform,
                                const struct psim_simgrid_route *routes, size_t count,
                                const int *device_of, const int *link_of)
{
    size_t compared = 0;

    for (size_t i = 0; i < count && compared < COMPARED_LIMIT; i++) {
        struct psim_route ours;
        const int from = device_of[routes[i].from], to = device_of[routes[i].to];
        enum psim_status status;
        bool same;

        if (!routes[i].complete || from < 0 || to < 0)
            continue;
        compared++;
        status = psim_platform_route(platform, from, to, &ours, NULL);
        if (status != PSIM_OK)
            return status;
        same = same_route(&ours, &routes[i], link_of);
        psim_route_release(&ours);
        if (!same) {
            psim_import_warn(job, routes[i].at,
                             "petrasim takes another way from \"%.40s\" to \"%.40s\": the one of "
                             "least latency, then of fewest links",
                             psim_platform_device_name(platform, from),
                             psim_platform_device_name(platform, to));
            return PSIM_OK;
        }
    }
    return PSIM_OK;
}

static void compare_routes(struct settling *s, const struct psim_simgrid_route *routes,
                           size_t count)
{
    int *device_of = psim_import_alloc(s->job, s->graph->vertex_count, sizeof *device_of);
    int *link_of = psim_import_alloc(s->job, s->graph->link_count, sizeof *link_of);
    struct psim_platform platform;
    enum psim_status status;

    if (device_of == NULL || link_of == NULL)
        return;
    status = psim_platform_init(&platform, "", NULL);
    if (status == PSIM_OK) {
        status = build(&platform, s->graph, device_of, link_of);
        if (status == PSIM_OK)
            status = compare(s->job, &platform, routes, count, device_of, link_of);
        psim_platform_release(&platform);
    }
    if (status != PSIM_OK)
        psim_import_no_memory(s->job);
}

void psim_simgrid_settle(struct psim_import_graph *graph, const struct psim_simgrid_route *routes,
                         size_t count)
{
    struct settling s = {
        .job = graph->job,
        .graph = graph,
        .directed = psim_import_alloc(graph->job, graph->link_count, sizeof *s.directed),
    };

    for (int several = 0; s.directed != NULL && several < 2; several++) {
        for (size_t i = 0; i < count; i++) {
            if ((routes[i].hop_count > 1) == (several == 1))
                settle_route(&s, &routes[i]);
        }
    }
    if (!psim_import_clean(s.job))
        return;
    warn_of_idle_links(&s);
    compare_routes(&s, routes, count);
}

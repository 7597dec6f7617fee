/*
 * Routes: Dijkstra's algorithm over (latency, links), stopped at the target.
 *
 * A state is a vertex, twice: a switch without peering is another place for a message that just
 * came from a device than for one that comes from above, because the first may not go straight to
 * another device.  Each link crossed makes (latency, links) strictly larger, so a settled label is
 * final even where links have no latency.
 */
#include "sim/platform/graph.h"
#include "sim/platform/platform.h"

#include <math.h>
#include <stddef.h>

/** The best way found to a state. */
struct label {
    double latency_s;
    int links; /* 0: not reached yet, except for the source */
    int link;  /* the last one */
    int from;  /* the state before it */
    int place; /* in the heap */
};

struct search {
    const struct psim_platform *platform;
    int source, target; /* vertices */
    int inside;         /* the node of both, -1 when they have none in common */
    struct label *labels;
    int *heap;
    int heaped;
};

static int vertex_of(int state)
{
    return state / 2;
}

static int state_of(int vertex, bool barred)
{
    return 2 * vertex + (barred ? 1 : 0);
}

static const struct psim_passage *passage_of(const struct search *search, int vertex)
{
    return &search->platform->adjacency->passages[vertex];
}

static bool is_device(const struct search *search, int vertex)
{
    return search->platform->vertices[vertex].device_type >= 0;
}

/* May a message between source and target come to this vertex at all? */
static bool may_enter(const struct search *search, int vertex)
{
    const struct psim_vertex *vertices = search->platform->vertices;
    const int node = vertices[vertex].node;

    if (vertex == search->target)
        return true;
    if (is_device(search, vertex))
        return search->platform->hosts_forward && node < 0;
    if (search->inside >= 0)
        return node == search->inside && !passage_of(search, vertex)->is_nic;
    if (passage_of(search, vertex)->is_nic)
        return vertex == passage_of(search, search->source)->nic ||
               vertex == passage_of(search, search->target)->nic;
    return node < 0 || node == vertices[search->source].node ||
           node == vertices[search->target].node;
}

static bool precedes(const struct label *a, const struct label *b)
{
    return a->latency_s < b->latency_s || (a->latency_s == b->latency_s && a->links < b->links);
}

static void place(struct search *search, int index, int state)
{
    search->heap[index] = state;
    search->labels[state].place = index;
}

static void sift_up(struct search *search, int index)
{
    const int state = search->heap[index];

    while (index > 0) {
        const int parent = (index - 1) / 2;

        if (!precedes(&search->labels[state], &search->labels[search->heap[parent]]))
            break;
        place(search, index, search->heap[parent]);
        index = parent;
    }
    place(search, index, state);
}

static void sift_down(struct search *search, int index)
{
    const int state = search->heap[index];

    for (;;) {
        int child = 2 * index + 1;

        if (child >= search->heaped)
            break;
        if (child + 1 < search->heaped && precedes(&search->labels[search->heap[child + 1]],
                                                   &search->labels[search->heap[child]]))
            child++;
        if (!precedes(&search->labels[search->heap[child]], &search->labels[state]))
            break;
        place(search, index, search->heap[child]);
        index = child;
    }
    place(search, index, state);
}

static int pop(struct search *search)
{
    const int state = search->heap[0];

    search->heaped--;
    if (search->heaped > 0) {
        place(search, 0, search->heap[search->heaped]);
        sift_down(search, 0);
    }
    return state;
}

/*
 * Of two ways with as many links, is the first one's list of link numbers the lower?  Walking
 * back until they meet, the difference nearest to the source is the one that counts.
 */
static bool lower_links(const struct search *search, const struct label *a, const struct label *b)
{
    bool lower = false;

    for (;;) {
        if (a->link != b->link)
            lower = a->link < b->link;
        if (a->from == b->from)
            return lower;
        a = &search->labels[a->from];
        b = &search->labels[b->from];
    }
}

static void offer(struct search *search, int state, const struct label *way)
{
    struct label *label = &search->labels[state];

    if (label->links == 0) {
        *label = *way;
        place(search, search->heaped++, state);
        sift_up(search, label->place);
    } else if (precedes(way, label)) {
        const int index = label->place;

        *label = *way;
        label->place = index;
        sift_up(search, index);
    } else if (!precedes(label, way) && lower_links(search, way, label)) {
        label->link = way->link;
        label->from = way->from;
    }
}

/* Offers every way on from a settled state.  A settled label cannot be improved: see above. */
static void relax(struct search *search, int state)
{
    const struct psim_adjacency *graph = search->platform->adjacency;
    const int vertex = vertex_of(state);
    const bool barred = state != state_of(vertex, false);
    const bool from_device = is_device(search, vertex);

    for (int i = graph->first[vertex]; i < graph->first[vertex + 1]; i++) {
        const struct psim_edge *edge = &graph->edges[i];
        const struct label way = {
            .latency_s =
                search->labels[state].latency_s + search->platform->links[edge->link].latency_s,
            .links = search->labels[state].links + 1,
            .link = edge->link,
            .from = state,
        };

        if (edge->to == search->source || !may_enter(search, edge->to) ||
            (barred && is_device(search, edge->to)))
            continue;
        offer(search, state_of(edge->to, from_device && passage_of(search, edge->to)->no_peering),
              &way);
    }
}

/* The settled state of the target, -1 when there is no way to it. */
static int search_run(struct search *search)
{
    int state = state_of(search->source, false);

    while (vertex_of(state) != search->target) {
        relax(search, state);
        if (search->heaped == 0)
            return -1;
        state = pop(search);
    }
    return state;
}

static enum psim_status read_route(const struct search *search, int state, struct psim_route *out,
                                   struct psim_error *err)
{
    const struct psim_link *links = search->platform->links;
    struct psim_route route = {.hop_count = search->labels[state].links,
                               .latency_s = search->labels[state].latency_s,
                               .bandwidth_bytes_per_s = INFINITY};

    route.hops = psim_alloc((size_t)route.hop_count, sizeof *route.hops);
    if (route.hops == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "route", "out of memory");
    for (int i = route.hop_count - 1; i >= 0; i--) {
        const struct label *label = &search->labels[state];

        route.hops[i] = (struct psim_route_hop){
            .link = label->link, .forward = links[label->link].to == vertex_of(state)};
        route.bandwidth_bytes_per_s =
            fmin(route.bandwidth_bytes_per_s, links[label->link].bandwidth_bytes_per_s);
        state = label->from;
    }
    *out = route;
    return PSIM_OK;
}

enum psim_status psim_platform_route(const struct psim_platform *platform, int from, int to,
                                     struct psim_route *out, struct psim_error *err)
{
    const size_t states = 2 * (size_t)platform->vertex_count;
    struct search search = {.platform = platform, .inside = -1};
    enum psim_status status = PSIM_OK;
    int reached;

    PSIM_ASSERT(platform->adjacency->first != NULL);
    PSIM_ASSERT(from >= 0 && from < platform->device_count);
    PSIM_ASSERT(to >= 0 && to < platform->device_count && to != from);
    search.source = platform->devices[from];
    search.target = platform->devices[to];
    if (platform->vertices[search.source].node == platform->vertices[search.target].node)
        search.inside = platform->vertices[search.source].node;
    search.labels = psim_alloc(states, sizeof *search.labels);
    search.heap = psim_alloc(states, sizeof *search.heap);
    if (search.labels == NULL || search.heap == NULL) {
        status = psim_fail(err, PSIM_ERR_NOMEM, "route", "out of memory");
        goto out;
    }
    reached = search_run(&search);
    status = reached >= 0 ? read_route(&search, reached, out, err)
                          : psim_fail(err, PSIM_ERR_NOTFOUND, platform->name,
                                      "no path from \"%s\" to \"%s\"",
                                      psim_platform_device_name(platform, from),
                                      psim_platform_device_name(platform, to));
out:
    psim_free(search.labels);
    psim_free(search.heap);
    return status;
}

void psim_route_release(struct psim_route *route)
{
    psim_free(route->hops);
    *route = (struct psim_route){.hops = NULL};
}

/*
 * Routes: Dijkstra's algorithm over (latency, links), stopped at the target, then one of the equal
 * ways by the destination.
 *
 * A state is a vertex, twice: a switch without peering is another place for a message that just
 * came from a device than for one that comes from above, because the first may not go straight to
 * another device.  Each link crossed makes (latency, links) strictly larger, so a settled label is
 * final even where links have no latency.
 *
 * Only the states reached are stored, in a hash table, so that a route inside a node costs the same
 * whatever the size of the cluster.
 */
#include "sim/platform/graph.h"
#include "sim/platform/platform.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define NONE         (-1)
#define FIRST_LABELS 64

/** The best ways found to a state. */
struct label {
    int state;
    int links;
    double latency_s;
    int arrival; /* the latest of the equal last steps, in the order of finding */
    int place;   /* in the heap */
};

/** One last step to a label, and the one found before it. */
struct arrival {
    int from; /* label */
    int link;
    int before; /* arrival */
};

struct search {
    const struct psim_platform *platform;
    int source, target;    /* vertices */
    int inside;            /* the node of both, -1 when they have none in common */
    int nics[2], zones[2]; /* of source and target, -1: none */
    struct label *labels;  /* in the order of reaching */
    int *heap;             /* labels; as many places as there are labels */
    int *slots;            /* hash table: label + 1; twice as many as there are labels */
    struct arrival *arrivals;
    int label_count, label_capacity, heaped;
    int arrival_count, arrival_capacity;
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

/* A zone is closed to messages between two others; an end without a NIC may be anywhere. */
static bool zone_is_open(const struct search *search, int zone)
{
    return zone < 0 || search->zones[0] < 0 || search->zones[1] < 0 || zone == search->zones[0] ||
           zone == search->zones[1];
}

/* May a message between source and target come to this vertex at all? */
static bool may_enter(const struct search *search, int vertex)
{
    const struct psim_vertex *vertices = search->platform->vertices;
    const struct psim_passage *passage = passage_of(search, vertex);
    const int node = vertices[vertex].node;

    if (vertex == search->target)
        return true;
    if (is_device(search, vertex))
        return search->platform->hosts_forward && node < 0;
    if (search->inside >= 0)
        return node == search->inside && !passage->is_nic;
    if (passage->is_nic)
        return vertex == search->nics[0] || vertex == search->nics[1];
    return zone_is_open(search, passage->zone) &&
           (node < 0 || node == vertices[search->source].node ||
            node == vertices[search->target].node);
}

/* ---- Labels by state ---------------------------------------------------------------------- */

/* Where the table has a state, or would have it. */
static int *slot_of(const struct search *search, int state)
{
    const unsigned mask = 2 * (unsigned)search->label_capacity - 1;
    unsigned index = (unsigned)state * 2654435761u & mask; /* Knuth's multiplier: 2^32 / phi */

    while (search->slots[index] != 0 && search->labels[search->slots[index] - 1].state != state)
        index = (index + 1) & mask;
    return &search->slots[index];
}

/* Doubles the room for labels; the table is filled again. */
static bool grow_labels(struct search *search)
{
    const int capacity = search->label_capacity == 0 ? FIRST_LABELS : 2 * search->label_capacity;
    int *slots = psim_alloc(2 * (size_t)capacity, sizeof *slots);
    struct label *labels = psim_realloc(search->labels, (size_t)capacity, sizeof *labels);
    int *heap = NULL;

    if (labels != NULL)
        search->labels = labels;
    if (slots != NULL && labels != NULL)
        heap = psim_realloc(search->heap, (size_t)capacity, sizeof *heap);
    if (heap == NULL) {
        psim_free(slots);
        return false;
    }
    search->heap = heap;
    psim_free(search->slots);
    search->slots = slots;
    search->label_capacity = capacity;
    for (int i = 0; i < search->label_count; i++)
        *slot_of(search, search->labels[i].state) = i + 1;
    return true;
}

/* The label of a state, a new one without a way where it was not reached before; NONE when memory
 * is out. */
static int label_of(struct search *search, int state)
{
    int *slot;

    if (search->label_count == search->label_capacity && !grow_labels(search))
        return NONE;
    slot = slot_of(search, state);
    if (*slot == 0) {
        search->labels[search->label_count] =
            (struct label){.state = state, .latency_s = INFINITY, .arrival = NONE, .place = NONE};
        *slot = ++search->label_count;
    }
    return *slot - 1;
}

static bool add_arrival(struct search *search, int from, int link, int before)
{
    if (search->arrival_count == search->arrival_capacity) {
        const int capacity =
            search->arrival_capacity == 0 ? FIRST_LABELS : 2 * search->arrival_capacity;
        struct arrival *arrivals =
            psim_realloc(search->arrivals, (size_t)capacity, sizeof *arrivals);

        if (arrivals == NULL)
            return false;
        search->arrivals = arrivals;
        search->arrival_capacity = capacity;
    }
    search->arrivals[search->arrival_count++] =
        (struct arrival){.from = from, .link = link, .before = before};
    return true;
}

/* ---- The heap ----------------------------------------------------------------------------- */

static bool precedes(const struct label *a, const struct label *b)
{
    return a->latency_s < b->latency_s || (a->latency_s == b->latency_s && a->links < b->links);
}

static void place(struct search *search, int index, int label)
{
    search->heap[index] = label;
    search->labels[label].place = index;
}

static void sift_up(struct search *search, int index)
{
    const int label = search->heap[index];

    while (index > 0) {
        const int parent = (index - 1) / 2;

        if (!precedes(&search->labels[label], &search->labels[search->heap[parent]]))
            break;
        place(search, index, search->heap[parent]);
        index = parent;
    }
    place(search, index, label);
}

static void sift_down(struct search *search, int index)
{
    const int label = search->heap[index];

    for (;;) {
        int child = 2 * index + 1;

        if (child >= search->heaped)
            break;
        if (child + 1 < search->heaped && precedes(&search->labels[search->heap[child + 1]],
                                                   &search->labels[search->heap[child]]))
            child++;
        if (!precedes(&search->labels[search->heap[child]], &search->labels[label]))
            break;
        place(search, index, search->heap[child]);
        index = child;
    }
    place(search, index, label);
}

static int pop(struct search *search)
{
    const int label = search->heap[0];

    search->heaped--;
    if (search->heaped > 0) {
        place(search, 0, search->heap[search->heaped]);
        sift_down(search, 0);
    }
    return label;
}

/* ---- The search --------------------------------------------------------------------------- */

/* A way to a state over a link from a settled label; false when memory is out. */
static bool offer(struct search *search, int state, int from, int link)
{
    const struct label way = {
        .latency_s = search->labels[from].latency_s + search->platform->links[link].latency_s,
        .links = search->labels[from].links + 1,
    };
    const int index = label_of(search, state);
    struct label *label;

    if (index == NONE)
        return false;
    label = &search->labels[index];
    if (precedes(label, &way))
        return true;
    if (!precedes(&way, label)) {
        const int before = label->arrival;

        label->arrival = search->arrival_count;
        return add_arrival(search, from, link, before);
    }
    label->latency_s = way.latency_s;
    label->links = way.links;
    label->arrival = search->arrival_count;
    if (label->place == NONE)
        place(search, search->heaped++, index);
    sift_up(search, label->place);
    return add_arrival(search, from, link, NONE);
}

/* Offers every way on from a settled label; false when memory is out. */
static bool relax(struct search *search, int label)
{
    const struct psim_adjacency *graph = search->platform->adjacency;
    const int vertex = vertex_of(search->labels[label].state);
    const bool barred = search->labels[label].state != state_of(vertex, false);
    const bool from_device = is_device(search, vertex);

    for (int i = graph->first[vertex]; i < graph->first[vertex + 1]; i++) {
        const struct psim_edge *edge = &graph->edges[i];
        const bool bars = from_device && passage_of(search, edge->to)->no_peering;

        if (edge->to == search->source || !may_enter(search, edge->to) ||
            (barred && is_device(search, edge->to)))
            continue;
        if (!offer(search, state_of(edge->to, bars), label, edge->link))
            return false;
    }
    return true;
}

/* The settled label of the target; NONE when there is no way to it. */
static enum psim_status search_run(struct search *search, int *reached)
{
    int label = label_of(search, state_of(search->source, false));

    if (label == NONE)
        return PSIM_ERR_NOMEM;
    search->labels[label].latency_s = 0.0;
    *reached = NONE;
    while (vertex_of(search->labels[label].state) != search->target) {
        if (!relax(search, label))
            return PSIM_ERR_NOMEM;
        if (search->heaped == 0)
            return PSIM_OK;
        label = pop(search);
    }
    *reached = label;
    return PSIM_OK;
}

/* ---- One of the equal ways ---------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/** One hop of the way that is taken. */
struct choice {
    int step;   /* arrival: the highest of the parallel links */
    int links;  /* how many there are */
    int digits; /* of the destination's number, to choose among them */
};

/*
 * The last step to a label: origins are numbered by their lowest link, and the destination's number
 * chooses one, modulo their number.  What is left of it, as in a mixed-radix system, chooses among
 * the links from there and then among the next origins: the digits of D-mod-K routing.
 *
 * Links are offered in the order of their numbers, one origin after the other, so that a list of
 * arrivals has an origin's links together, the highest first.  The heap's memory is free by now.
 */
static struct choice choose(struct search *search, const struct label *label, int *digits)
{
    const struct arrival *arrivals = search->arrivals;
    struct choice choice = {.step = label->arrival};
    int *lowest = search->heap;
    int origins = 0, origin = label->arrival;

    for (int i = label->arrival; i != NONE; i = arrivals[i].before) {
        if (arrivals[i].before == NONE || arrivals[arrivals[i].before].from != arrivals[i].from)
            lowest[origins++] = arrivals[i].link;
    }
    qsort(lowest, (size_t)origins, sizeof *lowest, by_number);
    while (arrivals[origin].link != lowest[*digits % origins])
        origin = arrivals[origin].before;
    while (arrivals[choice.step].from != arrivals[origin].from)
        choice.step = arrivals[choice.step].before;
    for (int i = choice.step; i != NONE && arrivals[i].from == arrivals[origin].from;
         i = arrivals[i].before)
        choice.links++;
    choice.digits = *digits / origins;
    *digits = choice.digits / choice.links;
    return choice;
}

/* Parallel links on the way up are chosen by the digits of those on the same level down. */
static void mirror(struct choice *choices, int count)
{
    int up = 0, down = count - 1;

    for (;; up++, down--) {
        while (up < down && choices[up].links == 1)
            up++;
        while (up < down && choices[down].links == 1)
            down--;
        if (up >= down)
            return;
        choices[up].digits = choices[down].digits;
    }
}

static int chosen_link(const struct search *search, const struct choice *choice)
{
    int step = choice->step;

    for (int skipped = choice->links - 1 - choice->digits % choice->links; skipped > 0; skipped--)
        step = search->arrivals[step].before;
    return search->arrivals[step].link;
}

/* Fills the hops, each with room in `choices`. */
static void follow(struct search *search, int reached, int digits, struct choice *choices,
                   struct psim_route *route)
{
    const struct psim_link *links = search->platform->links;
    int label = reached;

    for (int i = route->hop_count - 1; i >= 0; i--) {
        choices[i] = choose(search, &search->labels[label], &digits);
        label = search->arrivals[choices[i].step].from;
    }
    mirror(choices, route->hop_count);
    for (int i = 0, vertex = search->source; i < route->hop_count; i++) {
        const int link = chosen_link(search, &choices[i]);
        const bool forward = links[link].from == vertex;

        route->hops[i] = (struct psim_route_hop){.link = link, .forward = forward};
        route->bandwidth_bytes_per_s =
            fmin(route->bandwidth_bytes_per_s, links[link].bandwidth_bytes_per_s);
        vertex = forward ? links[link].to : links[link].from;
    }
}

static enum psim_status read_route(struct search *search, int reached, int digits,
                                   struct psim_route *out, struct psim_error *err)
{
    const struct label *label = &search->labels[reached];
    struct psim_route route = {.hop_count = label->links,
                               .latency_s = label->latency_s,
                               .bandwidth_bytes_per_s = INFINITY};
    struct choice *choices = psim_alloc((size_t)route.hop_count, sizeof *choices);

    route.hops = psim_alloc((size_t)route.hop_count, sizeof *route.hops);
    if (route.hops == NULL || choices == NULL) {
        psim_free(route.hops);
        psim_free(choices);
        return psim_fail(err, PSIM_ERR_NOMEM, "route", "out of memory");
    }
    follow(search, reached, digits, choices, &route);
    psim_free(choices);
    *out = route;
    return PSIM_OK;
}

/* ---- The two ends ------------------------------------------------------------------------- */

/* The link of two devices' own with the least latency; NONE where they have none. */
static int own_link(const struct psim_platform *platform, int source, int target)
{
    const struct psim_adjacency *graph = platform->adjacency;
    int best = NONE;

    for (int i = graph->first[source]; i < graph->first[source + 1]; i++) {
        const int link = graph->edges[i].link;

        if (graph->edges[i].to == target &&
            (best == NONE || platform->links[link].latency_s < platform->links[best].latency_s))
            best = link;
    }
    return best;
}

static enum psim_status follow_link(const struct psim_platform *platform, int link, int target,
                                    struct psim_route *out, struct psim_error *err)
{
    struct psim_route_hop *hop = psim_alloc(1, sizeof *hop);

    if (hop == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "route", "out of memory");
    *hop = (struct psim_route_hop){.link = link, .forward = platform->links[link].to == target};
    *out = (struct psim_route){
        .hops = hop,
        .hop_count = 1,
        .latency_s = platform->links[link].latency_s,
        .bandwidth_bytes_per_s = platform->links[link].bandwidth_bytes_per_s,
    };
    return PSIM_OK;
}

static void note_end(struct search *search, int end, int device)
{
    search->nics[end] = passage_of(search, device)->nic;
    search->zones[end] = search->nics[end] < 0 ? NONE : passage_of(search, search->nics[end])->zone;
}

static enum psim_status find_route(struct search *search, int to, struct psim_route *out,
                                   struct psim_error *err)
{
    const struct psim_platform *platform = search->platform;
    int reached;

    if (search_run(search, &reached) != PSIM_OK)
        return psim_fail(err, PSIM_ERR_NOMEM, "route", "out of memory");
    if (reached == NONE)
        return psim_fail(err, PSIM_ERR_NOTFOUND, platform->name, "no path from \"%s\" to \"%s\"",
                         platform->vertices[search->source].name,
                         platform->vertices[search->target].name);
    return read_route(search, reached,
                      search->nics[1] < 0 ? to : passage_of(search, search->nics[1])->order, out,
                      err);
}

enum psim_status psim_platform_route(const struct psim_platform *platform, int from, int to,
                                     struct psim_route *out, struct psim_error *err)
{
    struct search search = {.platform = platform, .inside = NONE};
    enum psim_status status;

    PSIM_ASSERT(platform->adjacency->first != NULL);
    PSIM_ASSERT(from >= 0 && from < platform->device_count);
    PSIM_ASSERT(to >= 0 && to < platform->device_count && to != from);
    search.source = platform->devices[from];
    search.target = platform->devices[to];
    if (platform->vertices[search.source].node == platform->vertices[search.target].node)
        search.inside = platform->vertices[search.source].node;
    if (search.inside >= 0) {
        const int link = own_link(platform, search.source, search.target);

        if (link != NONE)
            return follow_link(platform, link, search.target, out, err);
    }
    note_end(&search, 0, search.source);
    note_end(&search, 1, search.target);
    status = find_route(&search, to, out, err);
    psim_free(search.labels);
    psim_free(search.heap);
    psim_free(search.slots);
    psim_free(search.arrivals);
    return status;
}

void psim_route_release(struct psim_route *route)
{
    psim_free(route->hops);
    *route = (struct psim_route){.hops = NULL};
}

/*
 * Which copies of a pipeline are alike, so that one may stand for each kind: docs/model.md, "Data
 * parallelism".  Copies, messages of all-reduces and what messages compete for (directions of
 * links) are sorted into classes until the members of a class see the same classes around them;
 * then that is checked member by member.
 */
#include "sim/base/memory.h"
#include "sim/program/program_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Classes that still split after so many rounds are given up. */
#define ROUNDS_MAX 256

/* Messages come copy by copy, each in the order of the pipeline, then those of the all-reduces. */
struct folding {
    struct psim_program *all;
    int per_copy, copies, messages, directions;
    int *crossed_first; /* [messages + 1] into crossed */
    int *crossed;       /* directions that limit a message, as often as it crosses them */
    int *carried_first; /* [directions + 1] into carried */
    int *carried;       /* messages of a direction */
    uint64_t *message;  /* [messages]: colours */
    uint64_t *direction;
    uint64_t *copy;
    uint64_t *next; /* scratch, the longest of the three */
    uint64_t *sorted;
    int *message_class; /* [messages]: the first member */
    int *direction_class;
    int *copy_class;
    int *scratch; /* [2][the longest list] */
};

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b;

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static uint64_t mix_number(uint64_t a, double number)
{
    uint64_t bits;

    memcpy(&bits, &number, sizeof bits);
    return mix(a, bits);
}

static bool is_sync(const struct folding *f, int message)
{
    return message >= f->copies * f->per_copy;
}

static struct psim_sync_flow *sync_flow(const struct folding *f, int message)
{
    return &f->all->sync_flows[message - f->copies * f->per_copy];
}

/* The hop of a pipeline's message and, as *way, its direction. */
static struct psim_hop *pipeline_hop(const struct folding *f, int message, int *way)
{
    const int place = message % f->per_copy;

    *way = place % 2;
    return &f->all->hops[message / f->per_copy * f->all->shape.stages + place / 2];
}

static struct psim_route *route_of(const struct folding *f, int message)
{
    int way;
    struct psim_hop *hop;

    if (is_sync(f, message))
        return &sync_flow(f, message)->route;
    hop = pipeline_hop(f, message, &way);
    return &hop->route[way];
}

/* ---- What crosses what -------------------------------------------------------------------- */

static bool limits(const struct folding *f, const struct psim_route_hop *hop)
{
    return isfinite(f->all->platform->links[hop->link].bandwidth_bytes_per_s);
}

static bool list_crossings(struct folding *f)
{
    int crossings = 0;

    for (int m = 0; m < f->messages; m++) {
        const struct psim_route *route = route_of(f, m);

        for (int h = 0; h < route->hop_count; h++)
            crossings += limits(f, &route->hops[h]) ? 1 : 0;
    }
    f->crossed = psim_alloc((size_t)crossings, sizeof *f->crossed);
    f->carried = psim_alloc((size_t)crossings, sizeof *f->carried);
    f->scratch = psim_alloc(2 * (size_t)crossings, sizeof *f->scratch);
    if (f->crossed == NULL || f->carried == NULL || f->scratch == NULL)
        return false;
    crossings = 0;
    for (int m = 0; m < f->messages; m++) {
        const struct psim_route *route = route_of(f, m);

        f->crossed_first[m] = crossings;
        for (int h = 0; h < route->hop_count; h++) {
            if (limits(f, &route->hops[h]))
                f->crossed[crossings++] =
                    psim_platform_direction(f->all->platform, &route->hops[h]);
        }
    }
    f->crossed_first[f->messages] = crossings;
    return true;
}

/* The same from the other side: the messages of a direction, rising. */
static void list_carried(struct folding *f)
{
    int *const next = f->carried_first + 1; /* while filling: where the next message goes */

    for (int i = 0; i < f->crossed_first[f->messages]; i++) {
        if (f->crossed[i] + 1 < f->directions)
            next[f->crossed[i] + 1]++;
    }
    for (int d = 1; d < f->directions; d++)
        next[d] += next[d - 1];
    for (int m = 0; m < f->messages; m++) {
        for (int i = f->crossed_first[m]; i < f->crossed_first[m + 1]; i++)
            f->carried[next[f->crossed[i]]++] = m;
    }
}

/* ---- Sorting into classes ----------------------------------------------------------------- */

static void colour_first(struct folding *f)
{
    const struct psim_platform *p = f->all->platform;
    const int stages = f->all->shape.stages;

    for (int d = 0; d < f->directions; d++)
        f->direction[d] =
            mix_number((uint64_t)p->links[d / 2].sharing, p->links[d / 2].bandwidth_bytes_per_s);
    for (int r = 0; r < f->copies; r++) {
        for (int j = 0; j < stages; j++)
            f->copy[r] = mix(f->copy[r], (uint64_t)psim_program_device_type(f->all, r, j));
        for (int i = 0; i < f->per_copy; i++) {
            const int m = r * f->per_copy + i;

            f->copy[r] = mix_number(f->copy[r], route_of(f, m)->latency_s);
        }
    }
    for (int t = 0; t < stages * f->all->sync_phases; t++) {
        for (int i = f->all->sync_first[t]; i < f->all->sync_first[t + 1]; i++) {
            const struct psim_sync_flow *flow = &f->all->sync_flows[i];

            f->message[f->copies * f->per_copy + i] =
                mix_number(mix_number((uint64_t)(f->per_copy + t), flow->bytes), flow->latency_s);
        }
    }
}

/* What a message crosses, whatever the order. */
static uint64_t crossed_colour(const struct folding *f, int message)
{
    uint64_t sum = 0;

    for (int i = f->crossed_first[message]; i < f->crossed_first[message + 1]; i++)
        sum += mix(1, f->direction[f->crossed[i]]);
    return sum;
}

static void colour_messages(struct folding *f)
{
    for (int r = 0; r < f->copies; r++) {
        for (int i = 0; i < f->per_copy; i++)
            f->copy[r] = mix(f->copy[r], crossed_colour(f, r * f->per_copy + i));
        for (int i = 0; i < f->per_copy; i++)
            f->message[r * f->per_copy + i] = mix(f->copy[r], (uint64_t)i);
    }
    for (int m = f->copies * f->per_copy; m < f->messages; m++)
        f->message[m] = mix(f->message[m], crossed_colour(f, m));
}

static void colour_directions(struct folding *f)
{
    for (int d = 0; d < f->directions; d++) {
        uint64_t sum = 0;

        for (int i = f->carried_first[d]; i < f->carried_first[d + 1]; i++)
            sum += mix(2, f->message[f->carried[i]]);
        f->next[d] = mix(f->direction[d], sum);
    }
    memcpy(f->direction, f->next, (size_t)f->directions * sizeof *f->direction);
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

static int count_colours(struct folding *f, const uint64_t *colours, int count)
{
    int different = 0;

    memcpy(f->sorted, colours, (size_t)count * sizeof *colours);
    qsort(f->sorted, (size_t)count, sizeof *f->sorted, by_value);
    for (int i = 0; i < count; i++)
        different += i == 0 || f->sorted[i] != f->sorted[i - 1] ? 1 : 0;
    return different;
}

/* False where nothing is gained, or no end was seen. */
static bool sort_into_classes(struct folding *f)
{
    int before = 0;

    colour_first(f);
    for (int round = 0; round < ROUNDS_MAX; round++) {
        int now;

        colour_messages(f);
        colour_directions(f);
        if (count_colours(f, f->copy, f->copies) == f->copies)
            return false;
        now = count_colours(f, f->message, f->messages) +
              count_colours(f, f->direction, f->directions);
        if (now == before)
            return true;
        before = now;
    }
    return false;
}

struct member {
    uint64_t colour;
    int index;
};

static int by_colour(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->colour != y->colour)
        return x->colour < y->colour ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* A class is named by its first member. */
static bool name_classes(const uint64_t *colours, int count, int *class)
{
    struct member *members = psim_alloc((size_t)count, sizeof *members);
    int first = 0;

    if (members == NULL)
        return false;
    for (int i = 0; i < count; i++)
        members[i] = (struct member){colours[i], i};
    qsort(members, (size_t)count, sizeof *members, by_colour);
    for (int i = 0; i < count; i++) {
        if (members[i].colour != members[first].colour)
            first = i;
        class[members[i].index] = members[first].index;
    }
    psim_free(members);
    return true;
}

/* ---- The proof ---------------------------------------------------------------------------- */

static int by_int(const void *a, const void *b)
{
    const int x = *(const int *)a, y = *(const int *)b;

    return (x > y) - (x < y);
}

/* Do two lists name the same classes, each as often? */
static bool lists_are_alike(const struct folding *f, const int *first, const int *list,
                            const int *class, int a, int b)
{
    const int count = first[a + 1] - first[a];

    if (first[b + 1] - first[b] != count)
        return false;
    for (int i = 0; i < count; i++) {
        f->scratch[i] = class[list[first[a] + i]];
        f->scratch[count + i] = class[list[first[b] + i]];
    }
    qsort(f->scratch, (size_t)count, sizeof(int), by_int);
    qsort(f->scratch + count, (size_t)count, sizeof(int), by_int);
    return memcmp(f->scratch, f->scratch + count, (size_t)count * sizeof(int)) == 0;
}

static bool messages_are_alike(const struct folding *f, int a, int b)
{
    int way;

    if (is_sync(f, a) != is_sync(f, b))
        return false;
    if (is_sync(f, a)) {
        const struct psim_sync_flow *x = sync_flow(f, a), *y = sync_flow(f, b);

        if (x->bytes != y->bytes || x->latency_s != y->latency_s || x->part != y->part)
            return false;
    } else {
        const struct psim_hop *x = pipeline_hop(f, a, &way), *y = pipeline_hop(f, b, &way);

        if (a % f->per_copy != b % f->per_copy || x->bytes[way] != y->bytes[way] ||
            x->route[way].latency_s != y->route[way].latency_s ||
            f->copy_class[a / f->per_copy] != f->copy_class[b / f->per_copy])
            return false;
    }
    return route_of(f, a)->bandwidth_bytes_per_s == route_of(f, b)->bandwidth_bytes_per_s &&
           lists_are_alike(f, f->crossed_first, f->crossed, f->direction_class, a, b);
}

static bool copies_are_alike(const struct folding *f, int a, int b)
{
    for (int j = 0; j < f->all->shape.stages; j++) {
        if (psim_program_device_type(f->all, a, j) != psim_program_device_type(f->all, b, j))
            return false;
    }
    for (int i = 0; i < f->per_copy; i++) {
        if (f->message_class[a * f->per_copy + i] != f->message_class[b * f->per_copy + i])
            return false;
    }
    return true;
}

static bool directions_are_alike(const struct folding *f, int a, int b)
{
    const struct psim_link *x = &f->all->platform->links[a / 2],
                           *y = &f->all->platform->links[b / 2];

    return x->bandwidth_bytes_per_s == y->bandwidth_bytes_per_s && x->sharing == y->sharing &&
           lists_are_alike(f, f->carried_first, f->carried, f->message_class, a, b);
}

/* Every member is what the first of its class is: an equitable partition.  The colours only
 * proposed it: two that are equal by chance are found out here. */
static bool classes_hold(const struct folding *f)
{
    for (int r = 0; r < f->copies; r++) {
        if (!copies_are_alike(f, r, f->copy_class[r]))
            return false;
    }
    for (int m = 0; m < f->messages; m++) {
        if (!messages_are_alike(f, m, f->message_class[m]))
            return false;
    }
    for (int d = 0; d < f->directions; d++) {
        if (!directions_are_alike(f, d, f->direction_class[d]))
            return false;
    }
    return true;
}

/* ---- The ways of those that stay ---------------------------------------------------------- */

/* How many messages of a class a direction carries. */
static int carried_of(const struct folding *f, int direction, int class)
{
    int count = 0;

    for (int i = f->carried_first[direction]; i < f->carried_first[direction + 1]; i++)
        count += f->message_class[f->carried[i]] == class ? 1 : 0;
    return count;
}

static bool seen_before(const struct folding *f, int from, int at)
{
    for (int i = from; i < at; i++) {
        if (f->direction_class[f->crossed[i]] == f->direction_class[f->crossed[at]])
            return true;
    }
    return false;
}

/*
 * Leads a message over the first direction of each class it crosses, as often as that one carries
 * messages of its class: there the message stands for all of them.
 */
static bool fold_route(struct folding *f, int message)
{
    struct psim_route *route = route_of(f, message);
    struct psim_route_hop *hops = NULL;
    int count = 0;

    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) {
            hops = psim_alloc((size_t)count, sizeof *hops);
            if (hops == NULL)
                return false;
            count = 0;
        }
        for (int i = f->crossed_first[message]; i < f->crossed_first[message + 1]; i++) {
            const int direction = f->direction_class[f->crossed[i]];
            int times;

            if (seen_before(f, f->crossed_first[message], i))
                continue;
            times = carried_of(f, direction, message);
            for (int t = 0; pass == 1 && t < times; t++)
                hops[count + t] =
                    (struct psim_route_hop){.link = direction / 2, .forward = direction % 2 == 1};
            count += times;
        }
    }
    psim_free(route->hops);
    route->hops = hops;
    route->hop_count = count;
    return true;
}

static bool fold_routes(struct folding *f)
{
    for (int m = 0; m < f->messages; m++) {
        if (f->message_class[m] == m && !fold_route(f, m))
            return false;
    }
    return true;
}

/* ---- All of it ---------------------------------------------------------------------------- */

static bool begin(struct folding *f, struct psim_program *all)
{
    const int stages = all->shape.stages;
    size_t longest;

    *f = (struct folding){.all = all,
                          .per_copy = 2 * (stages - 1),
                          .copies = all->replicas,
                          .directions = 2 * all->platform->link_count};
    f->messages = f->copies * f->per_copy + psim_program_sync_count(all);
    longest = (size_t)(f->messages > f->directions ? f->messages : f->directions);
    if (longest < (size_t)f->copies)
        longest = (size_t)f->copies;
    f->crossed_first = psim_alloc((size_t)f->messages + 1, sizeof(int));
    f->carried_first = psim_alloc((size_t)f->directions + 1, sizeof(int));
    f->message = psim_alloc((size_t)f->messages, sizeof(uint64_t));
    f->direction = psim_alloc((size_t)f->directions, sizeof(uint64_t));
    f->copy = psim_alloc((size_t)f->copies, sizeof(uint64_t));
    f->next = psim_alloc(longest, sizeof(uint64_t));
    f->sorted = psim_alloc(longest, sizeof(uint64_t));
    f->message_class = psim_alloc((size_t)f->messages, sizeof(int));
    f->direction_class = psim_alloc((size_t)f->directions, sizeof(int));
    f->copy_class = psim_alloc((size_t)f->copies, sizeof(int));
    return f->crossed_first != NULL && f->carried_first != NULL && f->message != NULL &&
           f->direction != NULL && f->copy != NULL && f->next != NULL && f->sorted != NULL &&
           f->message_class != NULL && f->direction_class != NULL && f->copy_class != NULL &&
           list_crossings(f);
}

static void end(struct folding *f)
{
    psim_free(f->crossed_first);
    psim_free(f->crossed);
    psim_free(f->carried_first);
    psim_free(f->carried);
    psim_free(f->message);
    psim_free(f->direction);
    psim_free(f->copy);
    psim_free(f->next);
    psim_free(f->sorted);
    psim_free(f->message_class);
    psim_free(f->direction_class);
    psim_free(f->copy_class);
    psim_free(f->scratch);
}

enum psim_status psim_program_fold(struct psim_program *all, bool *copy_stays, bool *flow_stays,
                                   struct psim_error *err)
{
    const int sync_count = psim_program_sync_count(all);
    struct folding f;
    bool ok = begin(&f, all);

    for (int r = 0; r < all->replicas; r++)
        copy_stays[r] = true;
    for (int i = 0; i < sync_count; i++)
        flow_stays[i] = true;
    if (!ok)
        goto out;
    list_carried(&f);
    if (!sort_into_classes(&f))
        goto out;
    ok = name_classes(f.copy, f.copies, f.copy_class) &&
         name_classes(f.message, f.messages, f.message_class) &&
         name_classes(f.direction, f.directions, f.direction_class);
    if (!ok || !classes_hold(&f))
        goto out;
    ok = fold_routes(&f);
    for (int r = 0; ok && r < all->replicas; r++)
        copy_stays[r] = f.copy_class[r] == r;
    for (int i = 0; ok && i < sync_count; i++)
        flow_stays[i] = f.message_class[f.copies * f.per_copy + i] == f.copies * f.per_copy + i;
out:
    end(&f);
    return ok ? PSIM_OK : psim_fail(err, PSIM_ERR_NOMEM, "data_parallel", "out of memory");
}

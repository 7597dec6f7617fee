/*
 * Whether one copy of a pipeline may stand for all: docs/model.md, "Data parallelism".  An orbit is
 * what one message of each copy crosses at the same place of its way, a link or a direction of one.
 */
#include "sim/base/memory.h"
#include "sim/program/program_parts.h"

#include <math.h>

/* A message as the comparison of two copies sees it. */
struct use {
    const struct psim_route *route;
    double bytes;
    int messages;
};

struct comparison {
    const struct psim_platform *platform;
    struct use *uses; /* copy by copy, each in the same order */
    int *first;       /* [replicas + 1] */
    int *rank_of;     /* [platform devices] */
    int *orbit;       /* [directions]: a forest; the root names the orbit */
    int *size;        /* [directions]: of an orbit, at its root */
    int *seen;        /* [directions]: the last stamp */
    int stamps;
};

static void collect_uses(const struct psim_program *all, struct comparison *c)
{
    const int stages = all->shape.stages;
    const int flows = all->sync_first == NULL ? 0 : all->sync_first[stages * all->sync_phases];
    int *const next = c->first + 1; /* while filling: where the copy's next one goes */

    for (int r = 1; r < all->replicas; r++)
        next[r] = 2 * (stages - 1);
    for (int f = 0; f < flows; f++) {
        const int r = c->rank_of[all->sync_flows[f].from_device];

        if (r + 1 < all->replicas)
            next[r + 1]++;
    }
    for (int r = 1; r < all->replicas; r++)
        next[r] += next[r - 1];
    for (int q = 0; q < all->replicas * stages; q++) {
        for (int d = 0; d < 2 && (q + 1) % stages != 0; d++)
            c->uses[next[q / stages]++] = (struct use){.route = &all->hops[q].route[d],
                                                       .bytes = (double)all->hops[q].bytes[d]};
    }
    for (int f = 0; f < flows; f++) {
        const struct psim_sync_flow *flow = &all->sync_flows[f];

        c->uses[next[c->rank_of[flow->from_device]]++] =
            (struct use){.route = &flow->route, .bytes = flow->bytes, .messages = flow->messages};
    }
}

static int find_orbit(struct comparison *c, int direction)
{
    while (c->orbit[direction] != direction)
        direction = c->orbit[direction] = c->orbit[c->orbit[direction]];
    return direction;
}

static bool links_are_equal(const struct psim_link *a, const struct psim_link *b)
{
    return a->bandwidth_bytes_per_s == b->bandwidth_bytes_per_s && a->latency_s == b->latency_s &&
           a->sharing == b->sharing;
}

/* Two figures that may both be unknown. */
static bool figures_are_equal(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* What a byte costs in energy, which one copy's links and switches tell for all. */
static bool powers_are_equal(const struct psim_power *a, const struct psim_power *b)
{
    return a->given == b->given && figures_are_equal(a->joule_per_byte, b->joule_per_byte);
}

static bool hops_are_equal(const struct psim_platform *platform, const struct psim_route_hop *a,
                           const struct psim_route_hop *b)
{
    const struct psim_link *x = &platform->links[a->link], *y = &platform->links[b->link];

    return links_are_equal(x, y) && (x->sharing == PSIM_DUPLEX || a->forward == b->forward) &&
           powers_are_equal(&x->power, &y->power) &&
           powers_are_equal(&platform->vertices[psim_platform_hop_end(platform, a)].power,
                            &platform->vertices[psim_platform_hop_end(platform, b)].power);
}

/* Joins the directions that this message of every copy crosses at one place of its way; false
 * where two copies cross the same one, or unequal ones. */
static bool join_hop(struct comparison *c, int replicas, int use, int hop)
{
    const struct psim_route_hop *first = &c->uses[use].route->hops[hop];
    const int stamp = ++c->stamps;

    for (int r = 0; r < replicas; r++) {
        const struct psim_route_hop *other = &c->uses[c->first[r] + use].route->hops[hop];
        const int direction = psim_platform_direction(c->platform, other);
        const int a = find_orbit(c, psim_platform_direction(c->platform, first)),
                  b = find_orbit(c, direction);

        if (c->seen[direction] == stamp || !hops_are_equal(c->platform, first, other))
            return false;
        c->seen[direction] = stamp;
        if (a != b) {
            c->orbit[b] = a;
            c->size[a] += c->size[b];
        }
    }
    return true;
}

static bool uses_are_alike(const struct psim_program *all, struct comparison *c, int use)
{
    const struct use *first = &c->uses[use];

    for (int r = 1; r < all->replicas; r++) {
        const struct use *other = &c->uses[c->first[r] + use];

        if (first->bytes != other->bytes || first->messages != other->messages ||
            first->route->hop_count != other->route->hop_count)
            return false;
    }
    for (int h = 0; h < first->route->hop_count; h++) {
        if (!join_hop(c, all->replicas, use, h))
            return false;
    }
    return true;
}

static bool copies_have_alike_devices(const struct psim_program *all)
{
    const struct psim_platform *p = all->platform;
    const int stages = all->shape.stages;

    for (int q = stages; q < all->replicas * stages; q++) {
        const int a = p->devices[all->places[q % stages].device];
        const int b = p->devices[all->places[q].device];

        if (p->vertices[a].device_type != p->vertices[b].device_type)
            return false;
    }
    return true;
}

/*
 * Every orbit has one direction a copy, and every message crosses each of them once over the
 * copies: then all of an orbit carry the same, and the fair shares are the same (an equitable
 * partition of messages and links).
 */
static bool copies_are_alike(const struct psim_program *all, struct comparison *c)
{
    const int count = c->first[1];

    if (!copies_have_alike_devices(all))
        return false;
    for (int r = 1; r < all->replicas; r++) {
        if (c->first[r + 1] - c->first[r] != count)
            return false;
    }
    for (int u = 0; u < count; u++) {
        if (!uses_are_alike(all, c, u))
            return false;
    }
    for (int u = 0; u < count; u++) {
        for (int h = 0; h < c->uses[u].route->hop_count; h++) {
            const int direction = psim_platform_direction(c->platform, &c->uses[u].route->hops[h]);

            if (c->size[find_orbit(c, direction)] != all->replicas)
                return false;
        }
    }
    return true;
}

/* One direction for all of an orbit: the first that the first copy's messages cross. */
static void choose_images(struct comparison *c, int directions, int *image)
{
    for (int d = 0; d < directions; d++)
        c->seen[d] = -1;
    for (int u = 0; u < c->first[1]; u++) {
        for (int h = 0; h < c->uses[u].route->hop_count; h++) {
            const int direction = psim_platform_direction(c->platform, &c->uses[u].route->hops[h]);
            int *chosen = &c->seen[find_orbit(c, direction)];

            if (*chosen < 0)
                *chosen = direction;
        }
    }
    for (int d = 0; d < directions; d++)
        image[d] = c->seen[find_orbit(c, d)];
}

static enum psim_status begin(struct comparison *c, const struct psim_program *all, int flows,
                              int directions, struct psim_error *err)
{
    const size_t uses = (size_t)all->replicas * 2 * (size_t)(all->shape.stages - 1);

    c->uses = psim_alloc(uses + (size_t)flows, sizeof *c->uses);
    c->first = psim_alloc((size_t)all->replicas + 1, sizeof *c->first);
    c->rank_of = psim_alloc((size_t)all->platform->device_count, sizeof *c->rank_of);
    c->orbit = psim_alloc((size_t)directions, sizeof *c->orbit);
    c->size = psim_alloc((size_t)directions, sizeof *c->size);
    c->seen = psim_alloc((size_t)directions, sizeof *c->seen);
    if (c->uses == NULL || c->first == NULL || c->rank_of == NULL || c->orbit == NULL ||
        c->size == NULL || c->seen == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "data_parallel", "out of memory");
    for (int d = 0; d < directions; d++) {
        c->orbit[d] = d;
        c->size[d] = 1;
    }
    return PSIM_OK;
}

enum psim_status psim_program_fold(const struct psim_program *all, const int *devices, int **image,
                                   struct psim_error *err)
{
    const int stages = all->shape.stages;
    const int flows = all->sync_first == NULL ? 0 : all->sync_first[stages * all->sync_phases];
    const int directions = 2 * all->platform->link_count;
    struct comparison c = {.platform = all->platform};
    int *chosen = NULL;
    enum psim_status status = begin(&c, all, flows, directions, err);

    if (status != PSIM_OK)
        goto out;
    for (int q = 0; q < all->replicas * stages; q++)
        c.rank_of[devices[q]] = q / stages;
    collect_uses(all, &c);
    if (copies_are_alike(all, &c)) {
        chosen = psim_alloc((size_t)directions, sizeof *chosen);
        if (chosen == NULL) {
            status = psim_fail(err, PSIM_ERR_NOMEM, "data_parallel", "out of memory");
            goto out;
        }
        choose_images(&c, directions, chosen);
    }
    *image = chosen;
out:
    psim_free(c.uses);
    psim_free(c.first);
    psim_free(c.rank_of);
    psim_free(c.orbit);
    psim_free(c.size);
    psim_free(c.seen);
    return status;
}

void psim_route_fold(const struct psim_platform *platform, const int *image,
                     struct psim_route *route)
{
    for (int h = 0; h < route->hop_count; h++) {
        struct psim_route_hop *hop = &route->hops[h];
        const int direction = image[psim_platform_direction(platform, hop)];
        const bool split = platform->links[hop->link].sharing == PSIM_DUPLEX;

        hop->link = direction / 2;
        if (split)
            hop->forward = direction % 2 == 1;
    }
}

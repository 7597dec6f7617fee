/*
 * The replay engine: a binary heap of dates, no contention.
 *
 * A message takes latency + bytes / bandwidth of its route, whatever else is on the way; where a
 * condition changes a link's bandwidth, it changes under the message.  Ties are broken by the order
 * in which the events were made.
 */
#include "sim/base/memory.h"
#include "sim/engine/engine.h"

#include <math.h>

struct event {
    double date_s;
    uint64_t order;
    uint64_t token;
};

struct replay {
    const struct psim_program *program;
    struct psim_executor *executor;
    double now_s;
    struct event *heap;
    size_t count, capacity;
    uint64_t order;
    double (*message_s)[2]; /* [places] */
    bool failed;
};

static bool earlier(const struct event *a, const struct event *b)
{
    return a->date_s < b->date_s || (a->date_s == b->date_s && a->order < b->order);
}

static void push(struct replay *r, double date_s, uint64_t token)
{
    const struct event event = {date_s, r->order++, token};
    size_t i;

    if (r->count == r->capacity) {
        const size_t capacity = r->capacity == 0 ? 256 : 2 * r->capacity;
        struct event *heap = psim_realloc(r->heap, capacity, sizeof *heap);

        if (heap == NULL) {
            r->failed = true;
            return;
        }
        r->heap = heap;
        r->capacity = capacity;
    }
    for (i = r->count++; i > 0 && earlier(&event, &r->heap[(i - 1) / 2]); i = (i - 1) / 2)
        r->heap[i] = r->heap[(i - 1) / 2];
    r->heap[i] = event;
}

static struct event pop(struct replay *r)
{
    const struct event first = r->heap[0], last = r->heap[--r->count];
    size_t i = 0;

    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= r->count)
            break;
        if (child + 1 < r->count && earlier(&r->heap[child + 1], &r->heap[child]))
            child++;
        if (!earlier(&r->heap[child], &last))
            break;
        r->heap[i] = r->heap[child];
        i = child;
    }
    r->heap[i] = last;
    return first;
}

static void timer(void *self, double delay_s, uint64_t token)
{
    struct replay *r = self;

    push(r, r->now_s + delay_s, token);
}

/* Bytes a second of a route at a moment. */
static double bandwidth_at(const struct replay *r, const struct psim_route *route, double at_s)
{
    double slowest = INFINITY;

    for (int i = 0; i < route->hop_count; i++) {
        const int link = route->hops[i].link;
        const double factor = psim_conditions_factor(r->program->conditions,
                                                     PSIM_CONDITION_LINK_BANDWIDTH, link, at_s);

        slowest = fmin(slowest, factor * r->program->platform->links[link].bandwidth_bytes_per_s);
    }
    return slowest;
}

/* Date at which a message that starts now has arrived, through all changes of its links. */
static double arrival(const struct replay *r, int hop, int direction)
{
    const struct psim_hop *h = &r->program->hops[hop];
    const struct psim_route *route = &h->route[direction];
    double at_s = r->now_s + route->latency_s, left = (double)h->bytes[direction];

    for (;;) {
        const double rate = bandwidth_at(r, route, at_s);
        const double change_s = psim_conditions_next_change(r->program->conditions,
                                                            PSIM_CONDITION_LINK_BANDWIDTH, at_s);

        if (at_s + left / rate <= change_s)
            return at_s + left / rate;
        left -= (change_s - at_s) * rate;
        at_s = change_s;
    }
}

static void transfer(void *self, int hop, int direction, uint64_t token)
{
    struct replay *r = self;

    if (r->program->conditions == NULL || r->program->conditions->event_count == 0)
        push(r, r->now_s + r->message_s[hop][direction], token);
    else
        push(r, arrival(r, hop, direction), token);
}

static void sync(void *self, int flow, uint64_t token)
{
    struct replay *r = self;
    const struct psim_sync_flow *f = &r->program->sync_flows[flow];

    push(r, r->now_s + f->latency_s + f->bytes / f->route.bandwidth_bytes_per_s, token);
}

/* The changes are known beforehand: arrival() has them. */
static void set_link(void *self, int link, double factor)
{
    (void)self, (void)link, (void)factor;
}

static double now(void *self)
{
    return ((struct replay *)self)->now_s;
}

static bool init(struct replay *r, const struct psim_program *program)
{
    const int places = program->lanes * program->shape.stages;

    r->program = program;
    r->message_s = psim_alloc((size_t)places, sizeof *r->message_s);
    if (r->message_s == NULL)
        return false;
    for (int hop = 0; hop < places; hop++) {
        for (int d = 0; d < 2; d++) {
            const struct psim_route *route = &program->hops[hop].route[d];

            r->message_s[hop][d] = route->latency_s + (double)program->hops[hop].bytes[d] /
                                                          route->bandwidth_bytes_per_s;
        }
    }
    return true;
}

static enum psim_status run(const struct psim_program *program,
                            const struct psim_observer *observer, struct psim_simulation *out,
                            struct psim_error *err)
{
    struct replay r = {0};
    const struct psim_clock clock = {&r, timer, transfer, sync, set_link, now};
    enum psim_status status;

    status =
        init(&r, program) ? PSIM_OK : psim_fail(err, PSIM_ERR_NOMEM, "replay", "out of memory");
    if (status == PSIM_OK)
        status = psim_executor_new(program, &clock, observer, &r.executor, err);
    if (status != PSIM_OK)
        goto out;
    psim_executor_start(r.executor);
    while (!psim_executor_done(r.executor) && !r.failed && r.count > 0) {
        const struct event event = pop(&r);

        r.now_s = event.date_s;
        psim_executor_complete(r.executor, event.token);
    }
    status = r.failed ? psim_fail(err, PSIM_ERR_NOMEM, "replay", "out of memory")
                      : psim_executor_result(r.executor, out, err);
out:
    psim_executor_free(r.executor);
    psim_free(r.heap);
    psim_free(r.message_s);
    return status;
}

const struct psim_engine psim_engine_replay = {
    .name = "replay",
    .summary = "event heap without contention: latency + bytes / bandwidth per transfer",
    .run = run,
    .run_flows = psim_flows_replay,
};

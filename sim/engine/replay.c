/*
 * The replay engine: a binary heap of dates, no contention.
 *
 * Exclusive work ends at start + duration; a message takes latency + bytes / bandwidth of its
 * route; two works that share a device run at (1+g)/2 each while both run (processor sharing,
 * docs/model.md eq. 3).  Ties are broken by the order in which the events were made.
 */
#include "sim/base/memory.h"
#include "sim/engine/engine.h"

#include <math.h>

struct event {
    double date_s;
    uint64_t order;
    uint32_t token;
    uint32_t generation; /* of the shared device it belongs to; 0 for all others */
};

/* A device on which up to two works share. */
struct shared_device {
    double left_s[2]; /* alone-seconds still to do */
    bool runs[2];
    double since_s;
    uint32_t generation; /* events of an older generation are void */
};

struct replay {
    const struct psim_program *program;
    struct psim_executor *executor;
    double now_s;
    struct event *heap;
    size_t count, capacity;
    uint64_t order;
    struct shared_device *devices; /* [stages] */
    double (*message_s)[2];        /* [stages - 1] */
    bool failed;
};

static bool earlier(const struct event *a, const struct event *b)
{
    return a->date_s < b->date_s || (a->date_s == b->date_s && a->order < b->order);
}

static void push(struct replay *r, double date_s, uint32_t token, uint32_t generation)
{
    const struct event event = {date_s, r->order++, token, generation};
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

static double speed(const struct replay *r, int stage)
{
    const struct shared_device *d = &r->devices[stage];
    const int device = r->program->workload->stages[stage].device;
    const double gain = psim_platform_device(r->program->platform, device)->concurrency_gain;

    return d->runs[0] && d->runs[1] ? (1 + gain) / 2 : 1;
}

/* Takes what was done since the last change off what is left. */
static void advance(struct replay *r, int stage)
{
    struct shared_device *d = &r->devices[stage];
    const double done_s = (r->now_s - d->since_s) * speed(r, stage);

    for (int i = 0; i < 2; i++) {
        if (d->runs[i])
            d->left_s[i] = fmax(0, d->left_s[i] - done_s);
    }
    d->since_s = r->now_s;
}

/* The set of works has changed: dates given out before are void. */
static void reschedule(struct replay *r, int stage)
{
    struct shared_device *d = &r->devices[stage];

    d->generation++;
    for (uint32_t i = 0; i < 2; i++) {
        if (d->runs[i])
            push(r, r->now_s + d->left_s[i] / speed(r, stage), (uint32_t)stage << 1 | i,
                 d->generation);
    }
}

static void compute(void *self, int stage, double seconds, bool shared, uint32_t token)
{
    struct replay *r = self;

    if (!shared) {
        push(r, r->now_s + seconds, token, 0);
        return;
    }
    advance(r, stage);
    r->devices[stage].runs[token & 1] = true;
    r->devices[stage].left_s[token & 1] = seconds;
    reschedule(r, stage);
}

static void transfer(void *self, int hop, int direction, uint32_t token)
{
    struct replay *r = self;

    push(r, r->now_s + r->message_s[hop][direction], token, 0);
}

static double now(void *self)
{
    return ((struct replay *)self)->now_s;
}

/* False when the event is void. */
static bool take(struct replay *r, const struct event *event)
{
    struct shared_device *d;
    const int stage = (int)(event->token >> 1);

    if (event->generation == 0) {
        r->now_s = event->date_s;
        return true;
    }
    d = &r->devices[stage];
    if (event->generation != d->generation)
        return false;
    r->now_s = event->date_s;
    advance(r, stage);
    d->runs[event->token & 1] = false;
    reschedule(r, stage);
    return true;
}

static bool init(struct replay *r, const struct psim_program *program)
{
    const int stages = program->shape.stages;

    r->program = program;
    r->devices = psim_alloc((size_t)stages, sizeof *r->devices);
    r->message_s = psim_alloc((size_t)stages, sizeof *r->message_s);
    if (r->devices == NULL || r->message_s == NULL)
        return false;
    for (int hop = 0; hop + 1 < stages; hop++) {
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
    const struct psim_clock clock = {&r, compute, transfer, now};
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

        if (take(&r, &event))
            psim_executor_complete(r.executor, event.token);
    }
    status = r.failed ? psim_fail(err, PSIM_ERR_NOMEM, "replay", "out of memory")
                      : psim_executor_result(r.executor, out, err);
out:
    psim_executor_free(r.executor);
    psim_free(r.heap);
    psim_free(r.devices);
    psim_free(r.message_s);
    return status;
}

const struct psim_engine psim_engine_replay = {
    .name = "replay",
    .summary = "event heap without contention: latency + bytes / bandwidth per transfer",
    .run = run,
    .run_flows = psim_flows_replay,
};

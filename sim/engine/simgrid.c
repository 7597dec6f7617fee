/*
 * The simgrid engine: the executor on SimGrid's clock, with shared links.
 *
 * A message is a timer for the latency and then a flow over links without latency, which share
 * equally (docs/model.md eq. 2).  Messages of one sender to one receiver go one after the other, as
 * a send queue has it; those of different pairs share what they cross.  What runs on a device is
 * the executor's affair, for both engines alike.  Only what the program uses is built: the hosts of
 * its stages and the links of its routes.
 */
#include "sim/base/memory.h"
#include "sim/engine/engine.h"
#include "sim/engine/executor_parts.h"
#include "sim/engine/fabric.h"
#include "sim/engine/simgrid_shim.h"

#include <math.h>

/* Marks the token of a message whose latency is over; the executor leaves these bits free. */
#define READY (UINT64_C(1) << 32)

/* One way of one hop: the message under way, and those that wait for it, oldest first. */
struct channel {
    bool busy;
    uint64_t *waiting;
    size_t first, count, capacity; /* a ring */
};

struct simgrid {
    const struct psim_program *program;
    struct psim_executor *executor;
    int (*ways)[2];                /* [places] of the shim: forward, back; -1: nothing limits it */
    int *sync_ways;                /* [sync flows] */
    struct channel (*channels)[2]; /* [places] */
    struct channel **of_message;   /* channel of a message, by the executor's number for it */
    size_t of_message_capacity;
    bool no_memory;
    struct psim_fabric fabric;
};

static void start_flow(const struct simgrid *s, const struct channel *channel, uint64_t token)
{
    const size_t index = (size_t)(channel - s->channels[0]);
    const size_t hop = index / 2, direction = index % 2;
    const int way = s->ways[hop][direction];

    psim_shim_flow(way, way + 1, 0, (uint64_t)s->program->hops[hop].bytes[direction], token);
}

static bool push_waiting(struct channel *channel, uint64_t token)
{
    if (channel->count == channel->capacity) {
        const size_t capacity = channel->capacity == 0 ? 8 : 2 * channel->capacity;
        uint64_t *ring = psim_alloc(capacity, sizeof *ring);

        if (ring == NULL)
            return false;
        for (size_t i = 0; i < channel->count; i++)
            ring[i] = channel->waiting[(channel->first + i) % channel->capacity];
        psim_free(channel->waiting);
        channel->waiting = ring;
        channel->capacity = capacity;
        channel->first = 0;
    }
    channel->waiting[(channel->first + channel->count++) % channel->capacity] = token;
    return true;
}

/* A message's latency is over: its bytes follow those sent before it. */
static void message_ready(struct simgrid *s, uint64_t token)
{
    struct channel *channel = s->of_message[(uint32_t)token];

    if (!channel->busy) {
        channel->busy = true;
        start_flow(s, channel, token);
    } else if (!push_waiting(channel, token)) {
        s->no_memory = true;
        psim_shim_stop();
    }
}

/* A message has arrived: the next one of its channel starts. */
static void message_over(const struct simgrid *s, uint64_t token)
{
    struct channel *channel = s->of_message[(uint32_t)token];

    channel->busy = channel->count > 0;
    if (channel->count == 0)
        return;
    start_flow(s, channel, channel->waiting[channel->first]);
    channel->first = (channel->first + 1) % channel->capacity;
    channel->count--;
}

static void complete(void *user, uint64_t token)
{
    struct simgrid *s = user;

    if (psim_token_kind(token) == PSIM_TOKEN_TRANSFER) {
        if (token & READY) {
            message_ready(s, token & ~READY);
            return;
        }
        if (s->of_message[(uint32_t)token] != NULL)
            message_over(s, token);
    }
    psim_executor_complete(s->executor, token);
    if (psim_executor_done(s->executor))
        psim_shim_stop();
}

static void timer(void *self, double delay_s, uint64_t token)
{
    (void)self;
    psim_shim_timer(delay_s, token);
}

static bool note_channel(struct simgrid *s, uint32_t message, struct channel *channel)
{
    if (message >= s->of_message_capacity) {
        const size_t capacity = 2 * (size_t)message + 64;
        struct channel **list = psim_realloc(s->of_message, capacity, sizeof(struct channel *));

        if (list == NULL)
            return false;
        s->of_message = list;
        s->of_message_capacity = capacity;
    }
    s->of_message[message] = channel;
    return true;
}

/* A route that nothing limits, or an empty message, is latency alone. */
static void transfer(void *self, int hop, int direction, uint64_t token)
{
    struct simgrid *s = self;
    const struct psim_hop *h = &s->program->hops[hop];
    const struct psim_route *route = &h->route[direction];
    const bool flows = h->bytes[direction] > 0 && s->ways[hop][direction] >= 0;

    if (!note_channel(s, (uint32_t)token, flows ? &s->channels[hop][direction] : NULL)) {
        s->no_memory = true;
        psim_shim_stop();
        return;
    }
    if (!flows)
        psim_shim_timer(route->latency_s, token);
    else if (route->latency_s > 0)
        psim_shim_timer(route->latency_s, token | READY);
    else
        message_ready(s, token);
}

static void sync(void *self, int flow, uint64_t token)
{
    const struct simgrid *s = self;
    const struct psim_sync_flow *f = &s->program->sync_flows[flow];

    if (f->bytes >= 1 && s->sync_ways[flow] >= 0)
        psim_shim_flow(s->sync_ways[flow], s->sync_ways[flow] + 1, f->latency_s,
                       (uint64_t)llround(f->bytes), token);
    else
        psim_shim_timer(f->latency_s, token);
}

static void set_link(void *self, int link, double factor)
{
    const struct simgrid *s = self;

    psim_fabric_set_factor(&s->fabric, link, factor);
}

static double now(void *self)
{
    (void)self;
    return psim_shim_now();
}

/* A way of its own for every hop, each direction, and every message of an all-reduce. */
static enum psim_status build_ways(struct simgrid *s, struct psim_error *err)
{
    const struct psim_program *program = s->program;
    const int places = program->lanes * program->shape.stages;
    enum psim_status status = PSIM_OK;

    for (int q = 0; q < places && status == PSIM_OK; q++) {
        if ((q + 1) % program->shape.stages == 0)
            continue;
        for (int d = 0; d < 2 && status == PSIM_OK; d++)
            status =
                psim_fabric_add_way(&s->fabric, &program->hops[q].route[d], &s->ways[q][d], err);
    }
    for (int i = 0; i < psim_program_sync_count(program) && status == PSIM_OK; i++)
        status =
            psim_fabric_add_way(&s->fabric, &program->sync_flows[i].route, &s->sync_ways[i], err);
    if (status == PSIM_OK)
        psim_shim_seal();
    return status;
}

static enum psim_status run(const struct psim_program *program,
                            const struct psim_observer *observer, struct psim_simulation *out,
                            struct psim_error *err)
{
    struct simgrid s = {.program = program};
    const struct psim_clock clock = {&s, timer, transfer, sync, set_link, now};
    const int places = program->lanes * program->shape.stages;
    const char *why = "";
    enum psim_status status = PSIM_OK;

    s.ways = psim_alloc((size_t)places, sizeof *s.ways);
    s.sync_ways = psim_alloc((size_t)psim_program_sync_count(program), sizeof *s.sync_ways);
    s.channels = psim_alloc((size_t)places, sizeof *s.channels);
    if (s.ways == NULL || s.sync_ways == NULL || s.channels == NULL) {
        status = psim_fail(err, PSIM_ERR_NOMEM, "simgrid", "out of memory");
        goto out;
    }
    status = psim_fabric_init(&s.fabric, program->platform, err);
    if (status != PSIM_OK)
        goto out;
    if (!psim_shim_open(complete, &s, &why)) {
        status = psim_fail(err, PSIM_ERR_UNSUPPORTED, "simgrid", "%s", why);
        goto out;
    }
    status = build_ways(&s, err);
    if (status == PSIM_OK)
        status = psim_executor_new(program, &clock, observer, &s.executor, err);
    if (status != PSIM_OK)
        goto out;
    psim_executor_start(s.executor);
    if (psim_executor_done(s.executor))
        psim_shim_stop();
    else if (!psim_shim_run(&why))
        status = psim_fail(err, PSIM_ERR_CHILD, "simgrid", "%s", why);
    if (s.no_memory)
        status = psim_fail(err, PSIM_ERR_NOMEM, "simgrid", "out of memory for messages");
    if (status == PSIM_OK)
        status = psim_executor_result(s.executor, out, err);
out:
    psim_executor_free(s.executor);
    for (int j = 0; s.channels != NULL && j < places; j++) {
        psim_free(s.channels[j][0].waiting);
        psim_free(s.channels[j][1].waiting);
    }
    psim_free(s.channels);
    psim_free(s.of_message);
    psim_free(s.ways);
    psim_free(s.sync_ways);
    psim_fabric_release(&s.fabric);
    return status;
}

const struct psim_engine psim_engine_simgrid = {
    .name = "simgrid",
    .summary = "SimGrid: transfers share links, messages of a pair queue",
    .run = run,
    .run_flows = psim_flows_run,
    .needs_child = true,
};

const char *psim_engine_simgrid_version(void)
{
    return psim_shim_version();
}

/*
 * The simgrid engine: the executor on SimGrid's clock, with shared links and devices.
 *
 * Exclusive work is a timer; a message is a timer for the latency and then a flow over links
 * without latency, which share equally; two works that may share a device are Execs on a host of
 * speed 1 + g, each bounded to 1 (docs/model.md eq. 2 and 3).  Only what the program uses is
 * built: the hosts of its stages and the links of its routes.
 */
#include "sim/base/memory.h"
#include "sim/engine/engine.h"
#include "sim/engine/simgrid_shim.h"

#include <math.h>

/* Work per second of an unshared device: large, so that SimGrid's absolute precisions (1e-5 of
 * work) do not show. */
#define WORK_PER_S 1e9

struct simgrid {
    const struct psim_program *program;
    struct psim_executor *executor;
    int *hosts; /* [stages] */
    int *links; /* [platform links]; -1: not used */
};

static void complete(void *user, uint32_t token)
{
    struct simgrid *s = user;

    psim_executor_complete(s->executor, token);
    if (psim_executor_done(s->executor))
        psim_shim_stop();
}

static void compute(void *self, int stage, double seconds, bool shared, uint32_t token)
{
    const struct simgrid *s = self;

    if (shared)
        psim_shim_execute(s->hosts[stage], seconds * WORK_PER_S, WORK_PER_S, token);
    else
        psim_shim_timer(seconds, token);
}

/* A route that nothing limits, or an empty message, is latency alone. */
static void transfer(void *self, int hop, int direction, uint32_t token)
{
    const struct simgrid *s = self;
    const struct psim_hop *h = &s->program->hops[hop];
    const struct psim_route *route = &h->route[direction];
    const int from = direction == 0 ? hop : hop + 1, to = direction == 0 ? hop + 1 : hop;

    if (h->bytes[direction] > 0 && isfinite(route->bandwidth_bytes_per_s))
        psim_shim_flow(s->hosts[from], s->hosts[to], route->latency_s,
                       (uint64_t)h->bytes[direction], token);
    else
        psim_shim_timer(route->latency_s, token);
}

static double now(void *self)
{
    (void)self;
    return psim_shim_now();
}

static void add_links(struct simgrid *s, const struct psim_route *route)
{
    for (int i = 0; i < route->hop_count; i++) {
        const int index = route->hops[i].link;
        const struct psim_link *link = &s->program->platform->links[index];

        if (s->links[index] < 0 && isfinite(link->bandwidth_bytes_per_s))
            s->links[index] = psim_shim_add_link(link->name, link->bandwidth_bytes_per_s,
                                                 link->sharing == PSIM_DUPLEX);
    }
}

static enum psim_status add_route(struct simgrid *s, int from, int to,
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
        if (s->links[route->hops[i].link] < 0)
            continue;
        links[count] = s->links[route->hops[i].link];
        forward[count++] = route->hops[i].forward;
    }
    if (count > 0)
        psim_shim_add_route(s->hosts[from], s->hosts[to], links, forward, count);
out:
    psim_free(links);
    psim_free(forward);
    return status;
}

static enum psim_status build_platform(struct simgrid *s, struct psim_error *err)
{
    const struct psim_program *program = s->program;
    const int stages = program->shape.stages;
    enum psim_status status = PSIM_OK;

    for (int i = 0; i < program->platform->link_count; i++)
        s->links[i] = -1;
    for (int j = 0; j < stages; j++) {
        const int device = program->workload->stages[j].device;
        const double gain = psim_platform_device(program->platform, device)->concurrency_gain;

        s->hosts[j] = psim_shim_add_host(psim_platform_device_name(program->platform, device),
                                         (1 + gain) * WORK_PER_S);
    }
    for (int hop = 0; hop + 1 < stages; hop++) {
        add_links(s, &program->hops[hop].route[0]);
        add_links(s, &program->hops[hop].route[1]);
    }
    for (int hop = 0; hop + 1 < stages && status == PSIM_OK; hop++) {
        status = add_route(s, hop, hop + 1, &program->hops[hop].route[0], err);
        if (status == PSIM_OK)
            status = add_route(s, hop + 1, hop, &program->hops[hop].route[1], err);
    }
    if (status == PSIM_OK)
        psim_shim_seal();
    return status;
}

static enum psim_status run(const struct psim_program *program,
                            const struct psim_observer *observer, struct psim_simulation *out,
                            struct psim_error *err)
{
    struct simgrid s = {.program = program};
    const struct psim_clock clock = {&s, compute, transfer, now};
    const char *why = "";
    enum psim_status status = PSIM_OK;

    s.hosts = psim_alloc((size_t)program->shape.stages, sizeof *s.hosts);
    s.links = psim_alloc((size_t)program->platform->link_count, sizeof *s.links);
    if (s.hosts == NULL || s.links == NULL) {
        status = psim_fail(err, PSIM_ERR_NOMEM, "simgrid", "out of memory");
        goto out;
    }
    if (!psim_shim_open(complete, &s, &why)) {
        status = psim_fail(err, PSIM_ERR_UNSUPPORTED, "simgrid", "%s", why);
        goto out;
    }
    status = build_platform(&s, err);
    if (status == PSIM_OK)
        status = psim_executor_new(program, &clock, observer, &s.executor, err);
    if (status != PSIM_OK)
        goto out;
    psim_executor_start(s.executor);
    if (psim_executor_done(s.executor))
        psim_shim_stop();
    else if (!psim_shim_run(&why))
        status = psim_fail(err, PSIM_ERR_CHILD, "simgrid", "%s", why);
    if (status == PSIM_OK)
        status = psim_executor_result(s.executor, out, err);
out:
    psim_executor_free(s.executor);
    psim_free(s.hosts);
    psim_free(s.links);
    return status;
}

const struct psim_engine psim_engine_simgrid = {
    .name = "simgrid",
    .summary = "SimGrid: transfers share links, kernels share devices",
    .run = run,
    .needs_child = true,
};

const char *psim_engine_simgrid_version(void)
{
    return psim_shim_version();
}

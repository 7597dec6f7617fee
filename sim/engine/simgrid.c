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
#include "sim/engine/fabric.h"
#include "sim/engine/simgrid_shim.h"

#include <math.h>

/* Work per second of an unshared device: large, so that SimGrid's absolute precisions (1e-5 of
 * work) do not show. */
#define WORK_PER_S 1e9

struct simgrid {
    const struct psim_program *program;
    struct psim_executor *executor;
    int *hosts; /* [stages] */
    struct psim_fabric fabric;
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

static enum psim_status add_routes(struct simgrid *s, int hop, struct psim_error *err)
{
    const struct psim_route *route = s->program->hops[hop].route;
    const int from = s->hosts[hop], to = s->hosts[hop + 1];
    const enum psim_status status = psim_fabric_add_route(&s->fabric, from, to, &route[0], err);

    return status == PSIM_OK ? psim_fabric_add_route(&s->fabric, to, from, &route[1], err) : status;
}

static enum psim_status build_platform(struct simgrid *s, struct psim_error *err)
{
    const struct psim_program *program = s->program;
    const int stages = program->shape.stages;
    enum psim_status status = PSIM_OK;

    for (int j = 0; j < stages; j++) {
        const int device = program->workload->stages[j].device;
        const double gain = psim_platform_device(program->platform, device)->concurrency_gain;

        s->hosts[j] = psim_shim_add_host(psim_platform_device_name(program->platform, device),
                                         (1 + gain) * WORK_PER_S);
    }
    for (int hop = 0; hop + 1 < stages; hop++) {
        psim_fabric_add_links(&s->fabric, &program->hops[hop].route[0]);
        psim_fabric_add_links(&s->fabric, &program->hops[hop].route[1]);
    }
    for (int hop = 0; hop + 1 < stages && status == PSIM_OK; hop++)
        status = add_routes(s, hop, err);
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
    if (s.hosts == NULL) {
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
    psim_fabric_release(&s.fabric);
    return status;
}

const struct psim_engine psim_engine_simgrid = {
    .name = "simgrid",
    .summary = "SimGrid: transfers share links, kernels share devices",
    .run = run,
    .run_flows = psim_flows_run,
    .needs_child = true,
};

const char *psim_engine_simgrid_version(void)
{
    return psim_shim_version();
}

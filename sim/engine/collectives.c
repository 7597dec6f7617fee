#include "sim/engine/collectives.h"

#include "sim/base/memory.h"
#include "sim/engine/flows.h"

#include <limits.h>
#include <math.h>

/* More would not fit psim_flow.bytes. */
#define BYTES_LIMIT 1e18

enum psim_status psim_collective_group(const struct psim_platform *platform, const int *devices,
                                       int ranks, bool in_switch, struct psim_group *out,
                                       struct psim_error *err)
{
    int *node = psim_alloc((size_t)ranks, sizeof *node);

    if (node == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "collective", "out of memory");
    for (int r = 0; r < ranks; r++)
        node[r] = platform->vertices[platform->devices[devices[r]]].node;
    *out = (struct psim_group){.ranks = ranks, .node = node, .in_switch = in_switch};
    return PSIM_OK;
}

/* Flows of all jobs; job i is stream i. */
struct messages {
    struct psim_flow *flows;
    int count, capacity;
};

static enum psim_status push(struct messages *m, const struct psim_flow *flow,
                             struct psim_error *err)
{
    if (m->count == m->capacity) {
        const int capacity = m->capacity == 0 ? 64 : 2 * m->capacity;
        struct psim_flow *grown = m->capacity > INT_MAX / 2
                                      ? NULL
                                      : psim_realloc(m->flows, (size_t)capacity, sizeof *grown);

        if (grown == NULL)
            return psim_fail(err, PSIM_ERR_NOMEM, "collective", "out of memory for messages");
        m->flows = grown;
        m->capacity = capacity;
    }
    m->flows[m->count++] = *flow;
    return PSIM_OK;
}

/* One message of one rank: to a rank, or to the switch and as much back. */
static enum psim_status add_message(struct messages *m, const struct psim_collective_job *job,
                                    int rank, const struct psim_collective_flow *what,
                                    struct psim_flow flow, struct psim_error *err)
{
    const double factor = job->terms.measured ? job->terms.byte_factor : 1;
    enum psim_status status;

    flow.bytes = (int64_t)llround(what->bytes * factor);
    flow.from = job->devices[rank];
    if (what->to == PSIM_IN_SWITCH) {
        /* A message crosses the switch over two links, of which each flow sees one. */
        flow.extra_latencies = job->terms.measured ? -1 : 2 * what->messages - 1;
        flow.to = PSIM_FLOW_SWITCH;
        status = push(m, &flow, err);
        if (status != PSIM_OK)
            return status;
        flow.to = flow.from;
        flow.from = PSIM_FLOW_SWITCH;
        return push(m, &flow, err);
    }
    flow.extra_latencies = job->terms.measured ? -1 : what->messages - 1;
    flow.to = job->devices[what->to];
    return push(m, &flow, err);
}

static enum psim_status add_job(struct messages *m, const struct psim_collective_job *job,
                                const struct psim_group *group, int stream, struct psim_error *err)
{
    const int phases = job->algorithm->phases(job->kind, group);
    enum psim_status status = PSIM_OK;

    for (int phase = 0; phase < phases; phase++) {
        const struct psim_flow flow = {
            .stream = stream,
            .phase = phase,
            .start_s = phase == 0 && job->terms.measured ? job->terms.base_s : 0};

        for (int rank = 0; rank < job->ranks; rank++) {
            struct psim_collective_flow out[PSIM_COLLECTIVE_FLOWS];
            const int count = job->algorithm->flows(job->kind, group, job->bytes, phase, rank, out);

            for (int i = 0; i < count && status == PSIM_OK; i++)
                status = add_message(m, job, rank, &out[i], flow, err);
            if (status != PSIM_OK)
                return status;
        }
    }
    return PSIM_OK;
}

static enum psim_status check_and_add(struct messages *m, const struct psim_platform *platform,
                                      const struct psim_collective_job *job, int stream,
                                      struct psim_error *err)
{
    struct psim_group group;
    enum psim_status status;

    if (!(job->bytes >= 0) || job->bytes > BYTES_LIMIT)
        return psim_fail(err, PSIM_ERR_RANGE, "bytes", "must be in [0, 1e18], not %g", job->bytes);
    if (job->terms.measured &&
        !(job->terms.byte_factor >= 0 && job->bytes * job->terms.byte_factor <= BYTES_LIMIT))
        return psim_fail(err, PSIM_ERR_RANGE, "byte_factor", "%g is out of range",
                         job->terms.byte_factor);
    status = psim_collective_group(platform, job->devices, job->ranks, job->in_switch, &group, err);
    if (status != PSIM_OK)
        return status;
    if (job->algorithm->applies(job->kind, &group))
        status = add_job(m, job, &group, stream, err);
    else
        status = psim_fail(err, PSIM_ERR_UNSUPPORTED, "algorithm",
                           "%s does not run %s on this group of %d", job->algorithm->name,
                           psim_collective_kind_names[job->kind], job->ranks);
    psim_free((void *)group.node);
    return status;
}

enum psim_status psim_collectives_run(const struct psim_platform *platform,
                                      const struct psim_engine *engine,
                                      struct psim_collective_job *jobs, int count,
                                      struct psim_error *err)
{
    struct messages m = {.flows = NULL};
    enum psim_status status = PSIM_OK;

    for (int i = 0; status == PSIM_OK && i < count; i++)
        status = check_and_add(&m, platform, &jobs[i], i, err);
    if (status == PSIM_OK && m.count > 0)
        status = engine->run_flows(platform, m.flows, m.count, err);
    if (status != PSIM_OK)
        goto out;
    for (int i = 0; i < count; i++)
        jobs[i].seconds = 0;
    for (int i = 0; i < m.count; i++) {
        struct psim_collective_job *job = &jobs[m.flows[i].stream];

        job->seconds = fmax(job->seconds, m.flows[i].end_s);
    }
out:
    psim_free(m.flows);
    return status;
}

#include "sim/engine/flows.h"

#include "sim/base/memory.h"
#include "sim/engine/child.h"
#include "sim/engine/fabric.h"
#include "sim/engine/simgrid_shim.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FLOW_LIMIT (1 << 24)

/* What precedes the ends in the pipe. */
struct verdict {
    enum psim_status status;
    struct psim_error error;
};

/* One message while it is simulated. */
struct message {
    const struct psim_flow *flow;
    double latency_s;
    bool limited; /* by a bandwidth: it is a flow, and not latency alone */
};

struct flows {
    struct psim_fabric fabric;
    struct message *messages; /* [count] */
    int *hosts;               /* [devices] of the shim; -1: not used */
    double *ends_s;           /* [count] */
    int count;
};

/* ---- The child ---------------------------------------------------------------------------- */

/* Tokens below `count` start a message, those from there on end one. */
static void start_message(const struct flows *f, int index)
{
    const struct message *m = &f->messages[index];
    const uint32_t token = (uint32_t)(f->count + index);

    if (m->limited)
        psim_shim_flow(f->hosts[m->flow->from], f->hosts[m->flow->to], m->latency_s,
                       (uint64_t)m->flow->bytes, token);
    else if (m->latency_s > 0.0)
        psim_shim_timer(m->latency_s, token);
    else
        f->ends_s[index] = psim_shim_now();
}

static void complete(void *user, uint32_t token)
{
    const struct flows *f = user;

    if (token < (uint32_t)f->count)
        start_message(f, (int)token);
    else
        f->ends_s[token - (uint32_t)f->count] = psim_shim_now();
}

static int host_of(struct flows *f, int device)
{
    if (f->hosts[device] < 0)
        f->hosts[device] =
            psim_shim_add_host(psim_platform_device_name(f->fabric.platform, device), 1.0);
    return f->hosts[device];
}

static int by_ends(const void *a, const void *b)
{
    const struct psim_flow *x = *(const struct psim_flow *const *)a;
    const struct psim_flow *y = *(const struct psim_flow *const *)b;

    return x->from != y->from ? (x->from > y->from) - (x->from < y->from)
                              : (x->to > y->to) - (x->to < y->to);
}

/* The route of one pair, to be followed by `count` messages. */
static enum psim_status add_pair(struct flows *f, const struct psim_flow *flows,
                                 const struct psim_flow *const *pair, int count,
                                 struct psim_error *err)
{
    struct psim_route route;
    enum psim_status status =
        psim_platform_route(f->fabric.platform, pair[0]->from, pair[0]->to, &route, err);

    if (status != PSIM_OK)
        return status;
    for (int i = 0; i < count; i++)
        f->messages[pair[i] - flows] = (struct message){
            .flow = pair[i],
            .latency_s = route.latency_s,
            .limited = pair[i]->bytes > 0 && isfinite(route.bandwidth_bytes_per_s)};
    psim_fabric_add_links(&f->fabric, &route);
    status = psim_fabric_add_route(&f->fabric, host_of(f, pair[0]->from), host_of(f, pair[0]->to),
                                   &route, err);
    psim_route_release(&route);
    return status;
}

/* A route is added once for a pair, so that the flows of one are brought together. */
static enum psim_status add_routes(struct flows *f, const struct psim_flow *flows,
                                   struct psim_error *err)
{
    const struct psim_flow **sorted = psim_alloc((size_t)f->count, sizeof *sorted);
    enum psim_status status = PSIM_OK;
    int first = 0;

    if (sorted == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "flows", "out of memory");
    for (int i = 0; i < f->count; i++)
        sorted[i] = &flows[i];
    qsort(sorted, (size_t)f->count, sizeof *sorted, by_ends);
    while (status == PSIM_OK && first < f->count) {
        int after = first + 1;

        while (after < f->count && by_ends(&sorted[first], &sorted[after]) == 0)
            after++;
        status = add_pair(f, flows, &sorted[first], after - first, err);
        first = after;
    }
    psim_free(sorted);
    return status;
}

static enum psim_status simulate(struct flows *f, const struct psim_flow *flows,
                                 struct psim_error *err)
{
    const char *why = "";
    enum psim_status status;

    if (!psim_shim_open(complete, f, &why))
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, "simgrid", "%s", why);
    status = add_routes(f, flows, err);
    if (status != PSIM_OK)
        return status;
    psim_shim_seal();
    for (int i = 0; i < f->count; i++) {
        if (flows[i].start_s > 0.0)
            psim_shim_timer(flows[i].start_s, (uint32_t)i);
        else
            start_message(f, i);
    }
    return psim_shim_run(&why) ? PSIM_OK : psim_fail(err, PSIM_ERR_CHILD, "simgrid", "%s", why);
}

static void run_in_child(const struct psim_platform *platform, const struct psim_flow *flows,
                         int count, int pipe)
{
    struct verdict verdict = {.error = PSIM_ERROR_INIT};
    struct flows f = {.count = count};

    f.messages = psim_alloc((size_t)count, sizeof *f.messages);
    f.hosts = psim_alloc((size_t)platform->device_count, sizeof *f.hosts);
    f.ends_s = psim_alloc((size_t)count, sizeof *f.ends_s);
    if (f.messages == NULL || f.hosts == NULL || f.ends_s == NULL)
        verdict.status = psim_fail(&verdict.error, PSIM_ERR_NOMEM, "flows", "out of memory");
    for (int i = 0; f.hosts != NULL && i < platform->device_count; i++)
        f.hosts[i] = -1;
    if (verdict.status == PSIM_OK)
        verdict.status = psim_fabric_init(&f.fabric, platform, &verdict.error);
    if (verdict.status == PSIM_OK)
        verdict.status = simulate(&f, flows, &verdict.error);
    psim_child_write(pipe, &verdict, sizeof verdict);
    if (verdict.status == PSIM_OK)
        psim_child_write(pipe, f.ends_s, (size_t)count * sizeof *f.ends_s);
    fflush(NULL);
    _exit(0);
}

/* ---- The parent --------------------------------------------------------------------------- */

/* Bytes read before the end of the pipe. */
static size_t read_all(int file, void *bytes, size_t length)
{
    size_t got = 0;

    while (got < length) {
        const ssize_t n = read(file, (char *)bytes + got, length - got);

        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return got;
}

static enum psim_status collect(pid_t pid, int pipe, double *ends_s, int count,
                                struct psim_error *err)
{
    const size_t length = (size_t)count * sizeof *ends_s;
    struct verdict verdict;
    const bool told = read_all(pipe, &verdict, sizeof verdict) == sizeof verdict;
    const bool whole =
        told && (verdict.status != PSIM_OK || read_all(pipe, ends_s, length) == length);
    int wait_status = 0;

    while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR)
        continue;
    if (!whole || !WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0)
        return psim_child_explain(wait_status, err);
    if (verdict.status != PSIM_OK)
        return psim_fail(err, verdict.status, verdict.error.where, "%s", verdict.error.message);
    return PSIM_OK;
}

static enum psim_status check_flow(const struct psim_flow *flow, int index, int devices,
                                   struct psim_error *err)
{
    const char *member = flow->from < 0 || flow->from >= devices                         ? "from"
                         : flow->to < 0 || flow->to >= devices || flow->to == flow->from ? "to"
                         : flow->bytes < 0                                               ? "bytes"
                         : !(flow->start_s >= 0.0) || isinf(flow->start_s)               ? "start_s"
                                                                                         : NULL;
    char where[48];

    if (member == NULL)
        return PSIM_OK;
    snprintf(where, sizeof where, "flows[%d].%s", index, member);
    return psim_fail(err, PSIM_ERR_RANGE, where, "is out of range");
}

enum psim_status psim_flows_run(const struct psim_platform *platform, struct psim_flow *flows,
                                int count, struct psim_error *err)
{
    enum psim_status status = PSIM_OK;
    double *ends_s;
    int ends[2];
    pid_t pid;

    if (count < 1 || count > FLOW_LIMIT)
        return psim_fail(err, PSIM_ERR_RANGE, "count", "must be in [1, %d], not %d", FLOW_LIMIT,
                         count);
    for (int i = 0; status == PSIM_OK && i < count; i++)
        status = check_flow(&flows[i], i, platform->device_count, err);
    if (status != PSIM_OK)
        return status;
    ends_s = psim_alloc((size_t)count, sizeof *ends_s);
    if (ends_s == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "flows", "out of memory");
    if (pipe(ends) != 0) {
        psim_free(ends_s);
        return psim_fail(err, PSIM_ERR_IO, "flows", "no pipe for a child: %s", strerror(errno));
    }
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        run_in_child(platform, flows, count, ends[1]);
    }
    close(ends[1]);
    status = pid < 0
                 ? psim_fail(err, PSIM_ERR_NOMEM, "flows", "no child process: %s", strerror(errno))
                 : collect(pid, ends[0], ends_s, count, err);
    close(ends[0]);
    for (int i = 0; status == PSIM_OK && i < count; i++)
        flows[i].end_s = ends_s[i];
    psim_free(ends_s);
    return status;
}

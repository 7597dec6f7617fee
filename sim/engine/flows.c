#include "sim/engine/flows.h"

#include "sim/base/memory.h"
#include "sim/engine/child.h"
#include "sim/engine/fabric.h"
#include "sim/engine/flow_plan.h"
#include "sim/engine/simgrid_shim.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What precedes the ends in the pipe. */
struct verdict {
    enum psim_status status;
    struct psim_error error;
};

struct flows {
    const struct psim_flow_plan *plan;
    struct psim_fabric fabric;
    int *hosts;      /* [routes]: the sending host of the shim; -1: nothing limits the route */
    int *phase_of;   /* [flows] */
    int *left;       /* [phases]: flows that have not ended */
    double *ends_s;  /* [flows] */
    int ended_phase; /* of which the next one is to start; -1: none */
};

/* ---- The child ---------------------------------------------------------------------------- */

static void end_flow(struct flows *f, int index)
{
    const int phase = f->phase_of[index];

    f->ends_s[index] = psim_shim_now();
    if (--f->left[phase] == 0 && phase + 1 < f->plan->phase_count &&
        f->plan->phases[phase + 1].follows)
        f->ended_phase = phase;
}

/* Tokens below `count` start a flow, those from there on end one. */
static void start_flow(struct flows *f, int index)
{
    const struct psim_flow *flow = &f->plan->flows[index];
    const double latency_s = psim_flow_latency(f->plan, index);
    const int host = f->hosts[f->plan->way_of[index]];
    const uint64_t token = (uint32_t)(f->plan->count + index);

    if (host >= 0 && flow->bytes > 0)
        psim_shim_flow(host, host + 1, latency_s, (uint64_t)flow->bytes, token);
    else if (latency_s > 0.0)
        psim_shim_timer(latency_s, token);
    else
        end_flow(f, index);
}

static void start_phase(struct flows *f, int index)
{
    const struct psim_flow_phase *phase = &f->plan->phases[index];

    for (int i = phase->first; i < phase->first + phase->count; i++) {
        const int flow = f->plan->order[i];

        if (f->plan->flows[flow].start_s > 0.0)
            psim_shim_timer(f->plan->flows[flow].start_s, (uint32_t)flow);
        else
            start_flow(f, flow);
    }
}

/* Starts what waited for a phase that has ended, as often as flows without time end it at once. */
static void start_next_phases(struct flows *f)
{
    while (f->ended_phase >= 0) {
        const int next = f->ended_phase + 1;

        f->ended_phase = -1;
        start_phase(f, next);
    }
}

static void complete(void *user, uint64_t token)
{
    struct flows *f = user;

    if (token < (uint32_t)f->plan->count)
        start_flow(f, (int)token);
    else
        end_flow(f, (int)(token - (uint32_t)f->plan->count));
    start_next_phases(f);
}

static enum psim_status simulate(struct flows *f, struct psim_error *err)
{
    const struct psim_flow_plan *plan = f->plan;
    const char *why = "";
    enum psim_status status = PSIM_OK;

    if (!psim_shim_open(complete, f, &why))
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, "simgrid", "%s", why);
    for (int i = 0; status == PSIM_OK && i < plan->route_count; i++)
        status = psim_fabric_add_way(&f->fabric, &plan->routes[i], &f->hosts[i], err);
    if (status != PSIM_OK)
        return status;
    psim_shim_seal();
    for (int i = 0; i < plan->phase_count; i++) {
        if (!plan->phases[i].follows)
            start_phase(f, i);
        start_next_phases(f);
    }
    return psim_shim_run(&why) ? PSIM_OK : psim_fail(err, PSIM_ERR_CHILD, "simgrid", "%s", why);
}

static enum psim_status run_plan(struct flows *f, struct psim_error *err)
{
    const struct psim_flow_plan *plan = f->plan;
    enum psim_status status;

    f->hosts = psim_alloc((size_t)plan->route_count, sizeof *f->hosts);
    f->phase_of = psim_alloc((size_t)plan->count, sizeof *f->phase_of);
    f->left = psim_alloc((size_t)plan->phase_count, sizeof *f->left);
    f->ends_s = psim_alloc((size_t)plan->count, sizeof *f->ends_s);
    if (f->hosts == NULL || f->phase_of == NULL || f->left == NULL || f->ends_s == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "flows", "out of memory");
    for (int phase = 0; phase < plan->phase_count; phase++) {
        f->left[phase] = plan->phases[phase].count;
        for (int i = 0; i < f->left[phase]; i++)
            f->phase_of[plan->order[plan->phases[phase].first + i]] = phase;
    }
    status = psim_fabric_init(&f->fabric, plan->platform, err);
    return status == PSIM_OK ? simulate(f, err) : status;
}

/* What was allocated ends with the process. */
static void run_in_child(const struct psim_flow_plan *plan, int pipe)
{
    struct verdict verdict = {.error = PSIM_ERROR_INIT};
    struct flows f = {.plan = plan, .ended_phase = -1};

    verdict.status = run_plan(&f, &verdict.error);
    psim_child_write(pipe, &verdict, sizeof verdict);
    if (verdict.status == PSIM_OK)
        psim_child_write(pipe, f.ends_s, (size_t)plan->count * sizeof *f.ends_s);
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

static enum psim_status fork_and_collect(const struct psim_flow_plan *plan, double *ends_s,
                                         struct psim_error *err)
{
    enum psim_status status;
    int ends[2];
    pid_t pid;

    if (pipe(ends) != 0)
        return psim_fail(err, PSIM_ERR_IO, "flows", "no pipe for a child: %s", strerror(errno));
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        run_in_child(plan, ends[1]);
    }
    close(ends[1]);
    status = pid < 0
                 ? psim_fail(err, PSIM_ERR_NOMEM, "flows", "no child process: %s", strerror(errno))
                 : collect(pid, ends[0], ends_s, plan->count, err);
    close(ends[0]);
    return status;
}

/* Without contention a phase ends with the latest of its flows. */
static void replay(const struct psim_flow_plan *plan, double *ends_s)
{
    double start_s = 0, end_s = 0;

    for (int phase = 0; phase < plan->phase_count; phase++) {
        const struct psim_flow_phase *p = &plan->phases[phase];

        start_s = p->follows ? end_s : 0;
        end_s = start_s;
        for (int i = p->first; i < p->first + p->count; i++) {
            const int flow = plan->order[i];
            const double bandwidth = plan->routes[plan->way_of[flow]].bandwidth_bytes_per_s;

            ends_s[flow] = start_s + plan->flows[flow].start_s + psim_flow_latency(plan, flow) +
                           (double)plan->flows[flow].bytes / bandwidth;
            end_s = fmax(end_s, ends_s[flow]);
        }
    }
}

static enum psim_status run(const struct psim_platform *platform, struct psim_flow *flows,
                            int count, bool contention, struct psim_error *err)
{
    struct psim_flow_plan plan;
    double *ends_s;
    enum psim_status status = psim_flow_plan_init(&plan, platform, flows, count, err);

    if (status != PSIM_OK)
        return status;
    ends_s = psim_alloc((size_t)count, sizeof *ends_s);
    if (ends_s == NULL)
        status = psim_fail(err, PSIM_ERR_NOMEM, "flows", "out of memory");
    else if (contention)
        status = fork_and_collect(&plan, ends_s, err);
    else
        replay(&plan, ends_s);
    for (int i = 0; status == PSIM_OK && i < count; i++)
        flows[i].end_s = ends_s[i];
    psim_free(ends_s);
    psim_flow_plan_release(&plan);
    return status;
}

enum psim_status psim_flows_run(const struct psim_platform *platform, struct psim_flow *flows,
                                int count, struct psim_error *err)
{
    return run(platform, flows, count, true, err);
}

enum psim_status psim_flows_replay(const struct psim_platform *platform, struct psim_flow *flows,
                                   int count, struct psim_error *err)
{
    return run(platform, flows, count, false, err);
}

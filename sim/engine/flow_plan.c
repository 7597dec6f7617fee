#include "sim/engine/flow_plan.h"

#include "sim/base/memory.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define FLOW_LIMIT (1 << 24)

static bool is_end(int end, int other, int devices)
{
    return end == PSIM_FLOW_SWITCH ? other != PSIM_FLOW_SWITCH : end >= 0 && end < devices;
}

static enum psim_status check_flow(const struct psim_flow *flow, int index, int devices,
                                   struct psim_error *err)
{
    const char *member = !is_end(flow->from, flow->to, devices)                             ? "from"
                         : !is_end(flow->to, flow->from, devices) || flow->to == flow->from ? "to"
                         : flow->bytes < 0                                 ? "bytes"
                         : !(flow->start_s >= 0.0) || isinf(flow->start_s) ? "start_s"
                         : flow->extra_latencies < -1                      ? "extra_latencies"
                         : flow->stream < 0                                ? "stream"
                         : flow->phase < 0                                 ? "phase"
                                                                           : NULL;
    char where[48];

    if (member == NULL)
        return PSIM_OK;
    snprintf(where, sizeof where, "flows[%d].%s", index, member);
    return psim_fail(err, PSIM_ERR_RANGE, where, "is out of range");
}

static int compare(int a, int b)
{
    return (a > b) - (a < b);
}

/* Equal ones keep the order in which they came: they lie in one array. */
static int by_place(const struct psim_flow *x, const struct psim_flow *y)
{
    return (x > y) - (x < y);
}

static int by_start(const void *a, const void *b)
{
    const struct psim_flow *x = *(const struct psim_flow *const *)a;
    const struct psim_flow *y = *(const struct psim_flow *const *)b;

    return x->stream != y->stream ? compare(x->stream, y->stream)
           : x->phase != y->phase ? compare(x->phase, y->phase)
                                  : by_place(x, y);
}

static bool same_ends(const struct psim_flow *x, const struct psim_flow *y)
{
    return x->from == y->from && x->to == y->to;
}

static int by_ends(const void *a, const void *b)
{
    const struct psim_flow *x = *(const struct psim_flow *const *)a;
    const struct psim_flow *y = *(const struct psim_flow *const *)b;

    return x->from != y->from ? compare(x->from, y->from)
           : x->to != y->to   ? compare(x->to, y->to)
                              : by_place(x, y);
}

static void fill_phases(struct psim_flow_plan *plan, const struct psim_flow **sorted)
{
    qsort(sorted, (size_t)plan->count, sizeof *sorted, by_start);
    for (int i = 0; i < plan->count; i++) {
        const struct psim_flow *before = i > 0 ? sorted[i - 1] : NULL;
        const bool follows = before != NULL && before->stream == sorted[i]->stream;

        plan->order[i] = (int)(sorted[i] - plan->flows);
        if (!follows || before->phase != sorted[i]->phase)
            plan->phases[plan->phase_count++] =
                (struct psim_flow_phase){.first = i, .follows = follows};
        plan->phases[plan->phase_count - 1].count++;
    }
}

static enum psim_status find_route(const struct psim_platform *platform,
                                   const struct psim_flow *flow, struct psim_route *out,
                                   struct psim_error *err)
{
    if (flow->to == PSIM_FLOW_SWITCH)
        return psim_platform_switch_route(platform, flow->from, true, out, err);
    if (flow->from == PSIM_FLOW_SWITCH)
        return psim_platform_switch_route(platform, flow->to, false, out, err);
    return psim_platform_route(platform, flow->from, flow->to, out, err);
}

static enum psim_status find_routes(struct psim_flow_plan *plan, const struct psim_flow **sorted,
                                    struct psim_error *err)
{
    qsort(sorted, (size_t)plan->count, sizeof *sorted, by_ends);
    for (int i = 0; i < plan->count; i++) {
        if (i == 0 || !same_ends(sorted[i - 1], sorted[i])) {
            const enum psim_status status =
                find_route(plan->platform, sorted[i], &plan->routes[plan->route_count], err);

            if (status != PSIM_OK)
                return status;
            plan->route_count++;
        }
        plan->way_of[sorted[i] - plan->flows] = plan->route_count - 1;
    }
    return PSIM_OK;
}

static enum psim_status check(const struct psim_platform *platform, const struct psim_flow *flows,
                              int count, struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    if (count < 1 || count > FLOW_LIMIT)
        return psim_fail(err, PSIM_ERR_RANGE, "count", "must be in [1, %d], not %d", FLOW_LIMIT,
                         count);
    for (int i = 0; status == PSIM_OK && i < count; i++)
        status = check_flow(&flows[i], i, platform->device_count, err);
    return status;
}

enum psim_status psim_flow_plan_init(struct psim_flow_plan *plan,
                                     const struct psim_platform *platform,
                                     const struct psim_flow *flows, int count,
                                     struct psim_error *err)
{
    struct psim_flow_plan made = {.platform = platform, .flows = flows, .count = count};
    const struct psim_flow **sorted;
    enum psim_status status = check(platform, flows, count, err);

    if (status != PSIM_OK)
        return status;
    sorted = psim_alloc((size_t)count, sizeof *sorted);
    made.order = psim_alloc((size_t)count, sizeof *made.order);
    made.phases = psim_alloc((size_t)count, sizeof *made.phases);
    made.way_of = psim_alloc((size_t)count, sizeof *made.way_of);
    made.routes = psim_alloc((size_t)count, sizeof *made.routes);
    if (sorted == NULL || made.order == NULL || made.phases == NULL || made.way_of == NULL ||
        made.routes == NULL) {
        status = psim_fail(err, PSIM_ERR_NOMEM, "flows", "out of memory");
        goto out;
    }
    for (int i = 0; i < count; i++)
        sorted[i] = &flows[i];
    fill_phases(&made, sorted);
    status = find_routes(&made, sorted, err);
out:
    psim_free(sorted);
    if (status == PSIM_OK)
        *plan = made;
    else
        psim_flow_plan_release(&made);
    return status;
}

void psim_flow_plan_release(struct psim_flow_plan *plan)
{
    for (int i = 0; i < plan->route_count; i++)
        psim_route_release(&plan->routes[i]);
    psim_free(plan->routes);
    psim_free(plan->way_of);
    psim_free(plan->phases);
    psim_free(plan->order);
    *plan = (struct psim_flow_plan){.order = NULL};
}

double psim_flow_latency(const struct psim_flow_plan *plan, int flow)
{
    return plan->routes[plan->way_of[flow]].latency_s * (1 + plan->flows[flow].extra_latencies);
}

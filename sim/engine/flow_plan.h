/**
 * @file sim/engine/flow_plan.h
 * What is known of a set of flows before they run: their order and their routes.
 *
 * Private to flows.c and flow_plan.c.
 */
#ifndef PSIM_ENGINE_FLOW_PLAN_H
#define PSIM_ENGINE_FLOW_PLAN_H

#include "sim/engine/flows.h"

/** Flows that start together. */
struct psim_flow_phase {
    int first, count; /**< in psim_flow_plan.order */
    bool follows;     /**< the phase before it in the list is of the same stream */
};

struct psim_flow_plan {
    const struct psim_platform *platform;
    const struct psim_flow *flows; /**< borrowed */
    int count;
    int *order; /**< [count]: flows by stream and phase */
    struct psim_flow_phase *phases;
    int phase_count;
    int *way_of;               /**< [count]: the flow's route */
    struct psim_route *routes; /**< of different pairs of ends */
    int route_count;
};

/** Checks the flows and plans them; release with psim_flow_plan_release. */
enum psim_status psim_flow_plan_init(struct psim_flow_plan *plan,
                                     const struct psim_platform *platform,
                                     const struct psim_flow *flows, int count,
                                     struct psim_error *err) PSIM_CHECKED;
void psim_flow_plan_release(struct psim_flow_plan *plan);

/** Seconds before the bytes of a flow move. */
double psim_flow_latency(const struct psim_flow_plan *plan, int flow);

#endif

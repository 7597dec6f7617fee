/**
 * @file sim/engine/flows.h
 * Messages alone, without a program: when each ends where all share the links of a platform.
 *
 * Called by collectives.c, by tests of contention and by whatever needs the time of a pattern of
 * messages.  Messages may be ordered: those of one stream start phase by phase.
 */
#ifndef PSIM_ENGINE_FLOWS_H
#define PSIM_ENGINE_FLOWS_H

#include "sim/platform/platform.h"

/** In place of a device: the switch inside the node of the other one. */
#define PSIM_FLOW_SWITCH (-1)

/** One message between two devices of the platform, or between one and the switch of its node. */
struct psim_flow {
    int from, to;        /**< indices into platform->devices; different */
    int64_t bytes;       /**< >= 0 */
    double start_s;      /**< >= 0; after the start of its phase */
    double end_s;        /**< set on success: its last byte has arrived */
    int extra_latencies; /**< paid beside the route's one, >= -1; -1: none at all is paid */
    int stream;          /**< >= 0; streams do not wait for each other */
    int phase;           /**< >= 0; starts when all flows of the stream's phase before it ended */
};

/**
 * Runs the flows on SimGrid, in a forked child: a flow waits for the latencies of its route and
 * then shares every link of it equally with the others there (max-min).
 * @return PSIM_OK; PSIM_ERR_RANGE with `where` "flows[<i>].<member>"; PSIM_ERR_NOTFOUND when two
 *         devices have no path or one has no switch; PSIM_ERR_NOMEM, PSIM_ERR_IO, PSIM_ERR_CHILD
 */
enum psim_status psim_flows_run(const struct psim_platform *platform, struct psim_flow *flows,
                                int count, struct psim_error *err) PSIM_CHECKED;

/** The same without contention: a flow takes its latencies + bytes / bandwidth of its route. */
enum psim_status psim_flows_replay(const struct psim_platform *platform, struct psim_flow *flows,
                                   int count, struct psim_error *err) PSIM_CHECKED;

#endif

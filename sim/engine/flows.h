/**
 * @file sim/engine/flows.h
 * Messages alone, without a program: when each ends where all share the links of a platform.
 *
 * Called by tests of contention and by whatever needs the time of a pattern of messages.
 */
#ifndef PSIM_ENGINE_FLOWS_H
#define PSIM_ENGINE_FLOWS_H

#include "sim/platform/platform.h"

/** One message between two devices of the platform. */
struct psim_flow {
    int from, to;   /**< indices into platform->devices; different */
    int64_t bytes;  /**< >= 0 */
    double start_s; /**< >= 0 */
    double end_s;   /**< set by psim_flows_run: its last byte has arrived */
};

/**
 * Runs the flows on SimGrid, in a forked child: a flow waits for the latency of its route and then
 * shares every link of it equally with the others there (max-min).
 * @return PSIM_OK; PSIM_ERR_RANGE with `where` "flows[<i>].<member>"; PSIM_ERR_NOTFOUND when two
 *         devices have no path; PSIM_ERR_NOMEM, PSIM_ERR_IO, PSIM_ERR_CHILD
 */
enum psim_status psim_flows_run(const struct psim_platform *platform, struct psim_flow *flows,
                                int count, struct psim_error *err) PSIM_CHECKED;

#endif

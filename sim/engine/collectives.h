/**
 * @file sim/engine/collectives.h
 * Runs collective operations alone on a platform and says how long each takes.
 *
 * Called by the command line and by tests; the operations of one call share the links.
 */
#ifndef PSIM_ENGINE_COLLECTIVES_H
#define PSIM_ENGINE_COLLECTIVES_H

#include "sim/collective/collective.h"
#include "sim/collective/protocol.h"
#include "sim/engine/engine.h"

/** One operation on one group, started at 0. */
struct psim_collective_job {
    const struct psim_collective *algorithm;
    enum psim_collective_kind kind;
    const int *devices; /**< [ranks], indices into platform->devices; borrowed */
    int ranks;          /**< >= 1 */
    bool in_switch;     /**< the switches inside the nodes can reduce */
    double bytes;       /**< >= 0; as psim_collective.flows takes them */
    struct psim_collective_terms terms;
    double seconds; /**< set on success */
};

/** The group of devices with their nodes as the platform has them; the devices of a free graph are
 *  all of one.  Release `node` with psim_free. */
enum psim_status psim_collective_group(const struct psim_platform *platform, const int *devices,
                                       int ranks, bool in_switch, struct psim_group *out,
                                       struct psim_error *err) PSIM_CHECKED;

/**
 * Phases in order, the next one when all messages of one have arrived.
 * @return PSIM_OK; PSIM_ERR_UNSUPPORTED where an algorithm does not apply; PSIM_ERR_RANGE of bytes;
 *         what psim_flows_run returns
 */
enum psim_status psim_collectives_run(const struct psim_platform *platform,
                                      const struct psim_engine *engine,
                                      struct psim_collective_job *jobs, int count,
                                      struct psim_error *err) PSIM_CHECKED;

#endif

/**
 * @file sim/engine/fabric.h
 * The part of a platform's links that a simulation uses, built in SimGrid as it is asked for.
 *
 * Called by what runs on SimGrid, between psim_shim_open and psim_shim_seal; hosts are the
 * caller's.
 */
#ifndef PSIM_ENGINE_FABRIC_H
#define PSIM_ENGINE_FABRIC_H

#include "sim/platform/platform.h"

struct psim_fabric {
    const struct psim_platform *platform; /**< borrowed */
    int *links;                           /**< [platform links] of the shim; -1: not built */
};

enum psim_status psim_fabric_init(struct psim_fabric *fabric, const struct psim_platform *platform,
                                  struct psim_error *err) PSIM_CHECKED;
void psim_fabric_release(struct psim_fabric *fabric);

/** Builds the links of a route. */
void psim_fabric_add_links(struct psim_fabric *fabric, const struct psim_route *route);

/** Adds a one-way route between two hosts of the shim over links that were built; none where
 *  nothing limits it.  Once for a pair. */
enum psim_status psim_fabric_add_route(const struct psim_fabric *fabric, int from, int to,
                                       const struct psim_route *route,
                                       struct psim_error *err) PSIM_CHECKED;

/**
 * A route between two hosts of its own (psim_shim_add_way), with its links built.
 * @param[out] from  the sending host, the receiving one's number is one more; -1: nothing limits
 *                   the route and no host was made
 */
enum psim_status psim_fabric_add_way(struct psim_fabric *fabric, const struct psim_route *route,
                                     int *from, struct psim_error *err) PSIM_CHECKED;

/** From now on a link has `factor` of its bandwidth; nothing happens where it was not built. */
void psim_fabric_set_factor(const struct psim_fabric *fabric, int link, double factor);

#endif

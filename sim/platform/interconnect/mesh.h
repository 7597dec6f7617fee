/**
 * @file sim/platform/interconnect/mesh.h
 * Expansion of direct links between devices, for every interconnect that consists of them.
 */
#ifndef PSIM_PLATFORM_INTERCONNECT_MESH_H
#define PSIM_PLATFORM_INTERCONNECT_MESH_H

#include "sim/platform/platform.h"

struct psim_mesh {
    const int *edges; /**< [3 * edge_count]: device, device, number of links */
    int edge_count;
    double bandwidth_bytes_per_s, latency_s; /**< of one link */
    bool has_host;
    double host_bandwidth_bytes_per_s; /**< of a device's way to the host */
    double host_latency_s;             /**< device to device through the host */
};

/** Joins the devices; `attach` becomes the host where there is one.  Every pair of devices must
 *  have an edge or the host between them.
 *  @return PSIM_ERR_RANGE, with `where` "edges" or "host_bandwidth" */
enum psim_status psim_mesh_expand(struct psim_platform *platform, const char *prefix, int node,
                                  const int *devices, int count, const struct psim_mesh *mesh,
                                  int *attach, struct psim_error *err) PSIM_CHECKED;

#endif

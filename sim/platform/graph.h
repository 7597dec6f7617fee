/**
 * @file sim/platform/graph.h
 * What the files of sim/platform share and nobody else needs: rules of passage and the index.
 *
 * The rules are kept beside the vertices rather than in them because only the search for routes
 * reads them.
 */
#ifndef PSIM_PLATFORM_GRAPH_H
#define PSIM_PLATFORM_GRAPH_H

#include "sim/platform/platform.h"

/** Rules of passage of one vertex. */
struct psim_passage {
    int nic;         /**< device: the NIC through which it leaves its node; -1: none */
    bool is_nic;     /**< passed only on the way of a device that uses it */
    bool no_peering; /**< switch: never from one device straight to another */
};

/** One end of a link as seen from a vertex. */
struct psim_edge {
    int link;
    int to;
};

/** Private part of a platform; made by psim_platform_init. */
struct psim_adjacency {
    struct psim_passage *passages; /**< [vertex_count] */
    int network;                   /**< the switch between nodes; -1: none yet */
    int vertex_capacity, passage_capacity, link_capacity, type_capacity, device_capacity;
    struct psim_edge *edges; /**< by vertex, then by link number; NULL before finish */
    int *first;              /**< [vertex_count + 1] into edges */
};

/** psim_platform_add_vertex with a printed name. */
enum psim_status psim_platform_add_named(struct psim_platform *platform, int device_type, int node,
                                         int *vertex, struct psim_error *err, const char *format,
                                         ...) PSIM_CHECKED PSIM_PRINTF(6, 7);

/** psim_platform_add_link for a duplex link, with a printed name. */
enum psim_status psim_platform_join(struct psim_platform *platform, int from, int to,
                                    double bandwidth_bytes_per_s, double latency_s,
                                    struct psim_error *err, const char *format, ...) PSIM_CHECKED
    PSIM_PRINTF(7, 8);

#endif

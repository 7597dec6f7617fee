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
    int zone;        /**< switch: passed only on the way from or to a NIC of this zone; -1: any.
                          NIC: its zone, that of the switch it is joined to */
    int ports;       /**< switch of the network: the next number of a NIC that joins it */
    int order;       /**< NIC: its number, by which equal ways to it are chosen */
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
    struct psim_port *ports;       /**< NICs of the nodes added so far */
    int port_count, nodes_with_nics;
    int vertex_capacity, passage_capacity, link_capacity, type_capacity, device_capacity,
        port_capacity;
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

/** Notes a NIC, of the node after those that have NICs so far. */
enum psim_status psim_platform_add_port(struct psim_platform *platform,
                                        const struct psim_port *port,
                                        struct psim_error *err) PSIM_CHECKED;

/** Adds `count` switches of the network, named <prefix><i>; vertices[i] receives them. */
enum psim_status psim_network_add_switches(struct psim_platform *platform, const char *prefix,
                                           int count, int *vertices,
                                           struct psim_error *err) PSIM_CHECKED;

/** Joins a NIC to a switch of the network, over a link with the NIC's bandwidth and with its
 *  latency plus `latency_s`; the NIC gets the switch's zone and the next of its numbers. */
enum psim_status psim_network_join_port(struct psim_platform *platform,
                                        const struct psim_port *port, int vertex, double latency_s,
                                        struct psim_error *err) PSIM_CHECKED;

/** Refuses a network of more links than any real one has, before they fill the memory. */
enum psim_status psim_network_check_links(long long links, struct psim_error *err) PSIM_CHECKED;

/** The largest bandwidth of the ports: the default of links between switches. */
double psim_network_port_bandwidth(const struct psim_port *ports, int count);

#endif

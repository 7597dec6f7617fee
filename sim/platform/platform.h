/**
 * @file sim/platform/platform.h
 * A cluster as a graph of devices, switches and links, and the routes through it.
 *
 * Filled by sim/config (free graph) or by the short forms of this folder, which expand to the
 * same plain vertices and links; read by sim/program and sim/engine.  Every bandwidth is one
 * direction's.  A platform owns everything it points to through its arena.
 *
 * Does not know: SimGrid, methods, seconds of simulation.
 */
#ifndef PSIM_PLATFORM_PLATFORM_H
#define PSIM_PLATFORM_PLATFORM_H

#include "sim/base/memory.h"
#include "sim/base/status.h"
#include "sim/platform/device.h"

#include <stdbool.h>
#include <stdint.h>

enum psim_sharing {
    PSIM_DUPLEX, /**< each direction has the whole bandwidth */
    PSIM_SHARED, /**< both directions share it */
};

/** A device's host or a switch. */
struct psim_vertex {
    const char *name; /**< unique, "node0.gpu3" */
    int device_type;  /**< index into platform->types, -1 for a switch */
    int node; /**< node of a short form, -1 for the network between nodes and in free graphs */
};

struct psim_link {
    const char *name;             /**< unique */
    int from, to;                 /**< vertices */
    double bandwidth_bytes_per_s; /**< > 0; INFINITY for a connection that never limits */
    double latency_s;             /**< >= 0 */
    enum psim_sharing sharing;
};

struct psim_device_type {
    const char *alias; /**< the key under "devices" in the platform file */
    struct psim_device device;
};

struct psim_platform {
    struct psim_arena arena;
    const char *name;
    struct psim_device_type *types;
    int type_count;
    struct psim_vertex *vertices;
    int vertex_count;
    struct psim_link *links;
    int link_count;
    int *devices;       /**< vertices that hold a device, in file order */
    int device_count;   /**< the first `use` of them where the file says so */
    bool hosts_forward; /**< messages may pass through a device (free graphs) */
    /* What follows is private to sim/platform. */
    struct psim_adjacency *adjacency;
};

/** One link of a route, with the direction it is crossed in. */
struct psim_route_hop {
    int link;
    bool forward; /**< from `from` to `to` */
};

/** The path of a message between two devices; released with psim_route_release. */
struct psim_route {
    struct psim_route_hop *hops;
    int hop_count;
    double latency_s;             /**< sum over the hops */
    double bandwidth_bytes_per_s; /**< the smallest; INFINITY when nothing limits */
};

/**
 * Least latency, then fewest links, then lowest link numbers; inside a node of a short form a
 * message never leaves it, and there it never passes through another device.
 *
 * @param from, to  indices into platform->devices; different
 * @return PSIM_OK; PSIM_ERR_NOTFOUND when no path exists; PSIM_ERR_NOMEM
 */
enum psim_status psim_platform_route(const struct psim_platform *platform, int from, int to,
                                     struct psim_route *out, struct psim_error *err) PSIM_CHECKED;
/** From a device to the switch that it has a link to inside its node (in a free graph: to any), or
 *  back.  @return PSIM_OK; PSIM_ERR_NOTFOUND when it has none; PSIM_ERR_NOMEM */
enum psim_status psim_platform_switch_route(const struct psim_platform *platform, int device,
                                            bool towards, struct psim_route *out,
                                            struct psim_error *err) PSIM_CHECKED;
void psim_route_release(struct psim_route *route);

/** Device of the i-th entry of platform->devices. */
const struct psim_device *psim_platform_device(const struct psim_platform *platform, int index);
const char *psim_platform_device_name(const struct psim_platform *platform, int index);

/** Index into platform->devices of a vertex name, -1 when there is none. */
int psim_platform_find_device(const struct psim_platform *platform, const char *name);

/*
 * Building.  Names are copied.  Vertices and links may come in any order; psim_platform_finish
 * indexes the graph and trims the devices to `use` (0: all).
 */
enum psim_status psim_platform_init(struct psim_platform *platform, const char *name,
                                    struct psim_error *err) PSIM_CHECKED;
enum psim_status psim_platform_add_type(struct psim_platform *platform, const char *alias,
                                        const struct psim_device *device, int *type,
                                        struct psim_error *err) PSIM_CHECKED;
enum psim_status psim_platform_add_vertex(struct psim_platform *platform, const char *name,
                                          int device_type, int node, int *vertex,
                                          struct psim_error *err) PSIM_CHECKED;
enum psim_status psim_platform_add_link(struct psim_platform *platform, const char *name, int from,
                                        int to, double bandwidth_bytes_per_s, double latency_s,
                                        enum psim_sharing sharing,
                                        struct psim_error *err) PSIM_CHECKED;
enum psim_status psim_platform_finish(struct psim_platform *platform, int use,
                                      struct psim_error *err) PSIM_CHECKED;
void psim_platform_release(struct psim_platform *platform);

/*
 * Short forms.  One topology of a node's inside is one file of sim/platform/interconnect/, with
 * its `const struct psim_interconnect psim_interconnect_<file name>`.
 */
struct psim_interconnect_spec {
    double bandwidth_bytes_per_s; /**< per device */
    double latency_s;             /**< device to device, one crossing */
    /* pcie_tree only: */
    int per_switch;                      /**< devices behind one PCIe switch */
    double uplink_bandwidth_bytes_per_s; /**< of one PCIe switch to the root complex */
    bool peer_to_peer; /**< false: traffic goes through the root complex even between
                            devices of one PCIe switch */
};

struct psim_interconnect {
    const char *name; /**< as in files: "switch", "pcie_tree" */
    const char *summary;
    const char *const *keys; /**< the keys it reads beside kind, bandwidth, latency; NULL-ended */
    /** Adds what lies between the given device vertices of one node. `prefix` is the node's name.
     *  attach[i] receives the vertex that device i's way to a NIC starts from. */
    enum psim_status (*expand)(struct psim_platform *platform, const char *prefix, int node,
                               const int *devices, int count,
                               const struct psim_interconnect_spec *spec, int *attach,
                               struct psim_error *err);
};

extern const struct psim_interconnect *const psim_interconnect_table[]; /* NULL at the end */

struct psim_node_spec {
    const char *name;        /**< of the instance: "node0" */
    const int *device_types; /**< [devices], in order */
    int devices;
    const struct psim_interconnect *interconnect; /**< NULL only where devices is 1 */
    struct psim_interconnect_spec interconnect_spec;
    int nics;                         /**< 0: no way out of the node */
    double nic_bandwidth_bytes_per_s; /**< per NIC */
    double nic_latency_s;             /**< of one crossing of a NIC */
};

/** Adds one node; device i uses NIC i * nics / devices.  Device names: <node>.gpu<i>.
 *  `nic_vertices` [nics] receives the vertices that the network connects. */
enum psim_status psim_platform_add_node(struct psim_platform *platform, int node,
                                        const struct psim_node_spec *spec, int *nic_vertices,
                                        struct psim_error *err) PSIM_CHECKED;

/** Adds the switch between nodes, "network", and joins every NIC to it; the NIC's link carries
 *  bandwidth and latency of the NIC plus half of the network's latency.  Called again (nodes with
 *  other NICs), it joins them to the same switch. */
enum psim_status psim_platform_add_network_switch(struct psim_platform *platform,
                                                  const int *nic_vertices, int count,
                                                  double nic_bandwidth_bytes_per_s,
                                                  double nic_latency_s, double network_latency_s,
                                                  struct psim_error *err) PSIM_CHECKED;

#endif

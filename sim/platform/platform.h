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
#include "sim/platform/parameter.h"

#include <stdbool.h>
#include <stdint.h>

enum psim_sharing {
    PSIM_DUPLEX, /**< each direction has the whole bandwidth */
    PSIM_SHARED, /**< both directions share it */
};

/** What a link, a switch or a NIC draws.  One that is not `given` has all members zero. */
struct psim_power {
    bool given;
    double static_w;       /**< all the time, W; >= 0; NAN: not known */
    double joule_per_byte; /**< on top, for every byte that crosses it; >= 0; NAN: not known */
    const char *source;    /**< borrowed; NULL: nobody is named, so the figures are assumed */
};

/** A device's host or a switch. */
struct psim_vertex {
    const char *name; /**< unique, "node0.gpu3" */
    int device_type;  /**< index into platform->types, -1 for a switch */
    int node; /**< node of a short form, -1 for the network between nodes and in free graphs */
    struct psim_power power; /**< of a switch or NIC; a device has its own */
};

struct psim_link {
    const char *name;             /**< unique */
    int from, to;                 /**< vertices */
    double bandwidth_bytes_per_s; /**< > 0; INFINITY for a connection that never limits */
    double latency_s;             /**< >= 0 */
    enum psim_sharing sharing;
    struct psim_power power;
};

struct psim_device_type {
    const char *alias; /**< the key under "devices" in the platform file */
    const char *file;  /**< of the device; NULL: in the catalogue, by the device's name */
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
    int *devices;                         /**< vertices that hold a device, in file order */
    int device_count;                     /**< the first `use` of them where the file says so */
    bool hosts_forward;                   /**< messages may pass through a device (free graphs) */
    struct psim_node_prices *node_prices; /**< see psim_platform_node_price */
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
 * Least latency, then fewest links.  Among equals the destination decides, as in a fabric with
 * destination-based routing (D-mod-K): ways to different NICs of one switch, or to different
 * devices of a free graph, are spread evenly over the links, and a way is the same every time.
 *
 * Inside a node of a short form a message never leaves it and never passes through another device,
 * and devices with a link of their own use it.
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

/** What messages compete for, a link or one direction of a duplex link, as a number in
 *  [0, 2 * link_count): 2 * link, + 1 for the forward direction of a duplex link. */
static inline int psim_platform_direction(const struct psim_platform *platform,
                                          const struct psim_route_hop *hop)
{
    const bool split = platform->links[hop->link].sharing == PSIM_DUPLEX;

    return 2 * hop->link + (split && hop->forward ? 1 : 0);
}

/** The vertex that a message comes to over a link. */
static inline int psim_platform_hop_end(const struct psim_platform *platform,
                                        const struct psim_route_hop *hop)
{
    const struct psim_link *link = &platform->links[hop->link];

    return hop->forward ? link->to : link->from;
}

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
/** The type's `file` is NULL; a reader that knows better sets it. */
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
/** Messages do not pass a vertex from one device straight to another. */
void psim_platform_bar_peering(struct psim_platform *platform, int vertex);
/** True of a vertex that was barred so, and of a NIC. */
bool psim_platform_peering_is_barred(const struct psim_platform *platform, int vertex);
enum psim_status psim_platform_finish(struct psim_platform *platform, int use,
                                      struct psim_error *err) PSIM_CHECKED;
void psim_platform_release(struct psim_platform *platform);

/*
 * Short forms.  One topology is one file: of a node's inside in sim/platform/interconnect/, with
 * its `const struct psim_interconnect psim_interconnect_<file name>`, and between nodes in
 * sim/platform/network/, with its `const struct psim_network_kind psim_network_kind_<file name>`.
 * Each has its own table of parameters (sim/platform/parameter.h), from which files are read.
 */
struct psim_interconnect {
    const char *name; /**< as in files: "switch", "pcie_tree" */
    const char *summary;
    const struct psim_parameter *parameters;
    /** Adds what lies between the given device vertices of one node; the values have been checked.
     *  `prefix` is the node's name.  attach[i] receives the vertex that device i's way to a NIC
     *  starts from; it comes in as the device itself. */
    enum psim_status (*expand)(struct psim_platform *platform, const char *prefix, int node,
                               const int *devices, int count, const struct psim_values *values,
                               int *attach, struct psim_error *err);
};

extern const struct psim_interconnect *const psim_interconnect_table[]; /* NULL at the end */

/** The interconnect of a name as in files; NULL when there is none. */
const struct psim_interconnect *psim_interconnect_find(const char *name);

struct psim_node_spec {
    const char *name;        /**< of the instance: "node0" */
    const int *device_types; /**< [devices], in order */
    int devices;
    const struct psim_interconnect *interconnect; /**< NULL only where devices is 1 */
    struct psim_values interconnect_values;       /**< of the interconnect's parameters */
    int nics;                                     /**< 0: no way out of the node */
    double nic_bandwidth_bytes_per_s;             /**< per NIC */
    double nic_latency_s;                         /**< of one crossing of a NIC */
    struct psim_power interconnect_power; /**< of each of its links, its switches counted there */
    struct psim_power nic_power;          /**< of each NIC */
};

/** Every switch beyond the first `vertices`, and every link beyond the first `links`, draws this;
 *  its source is borrowed. */
void psim_platform_set_power(struct psim_platform *platform, int vertices, int links,
                             const struct psim_power *of_switch, const struct psim_power *of_link);

/** Notes what an hour of one node costs; called once for a node.  Its texts are borrowed. */
enum psim_status psim_platform_set_node_price(struct psim_platform *platform, int node,
                                              const struct psim_price *price,
                                              struct psim_error *err) PSIM_CHECKED;

/** What an hour of a node (psim_vertex.node) costs, with all its devices; NULL: not known. */
const struct psim_price *psim_platform_node_price(const struct psim_platform *platform, int node);

/** Adds one node; device i uses NIC i * nics / devices.  Names: <node>.gpu<i>, <node>.nic<i>. */
enum psim_status psim_platform_add_node(struct psim_platform *platform, int node,
                                        const struct psim_node_spec *spec,
                                        struct psim_error *err) PSIM_CHECKED;

/** A NIC as the network between nodes sees it. */
struct psim_port {
    int vertex;
    int node; /**< number of its node among those that have NICs, from 0 */
    int nic;  /**< its number inside the node: the rail */
    double bandwidth_bytes_per_s, latency_s;
};

struct psim_network_kind {
    const char *name; /**< as in files: "switch", "fat_tree" */
    const char *summary;
    const struct psim_parameter *parameters;
    /** Adds what lies between the ports, of which there is one at least and which come node by
     *  node; the values have been checked. */
    enum psim_status (*expand)(struct psim_platform *platform, const struct psim_port *ports,
                               int count, const struct psim_values *values, struct psim_error *err);
};

extern const struct psim_network_kind *const psim_network_kind_table[]; /* NULL at the end */

/** The kind of network of a name as in files; NULL when there is none. */
const struct psim_network_kind *psim_network_kind_find(const char *name);

/** Adds the network between the NICs of all nodes added so far, none where there are no NICs;
 *  called once, after the nodes.
 *  @param power  of each of its switches, its links counted there; NULL: not known */
enum psim_status psim_platform_add_network(struct psim_platform *platform,
                                           const struct psim_network_kind *kind,
                                           const struct psim_values *values,
                                           const struct psim_power *power,
                                           struct psim_error *err) PSIM_CHECKED;

#endif

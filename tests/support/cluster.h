/**
 * @file tests/support/cluster.h
 * Clusters of equal nodes made in a test, and their routes as text.
 */
#ifndef PSIM_TESTS_SUPPORT_CLUSTER_H
#define PSIM_TESTS_SUPPORT_CLUSTER_H

#include "sim/platform/platform.h"

/** Values are written "bandwidth=3e11 peer_to_peer=0 dims=4,4"; edges are flat, "edges=0,1,2". */
struct test_cluster {
    int nodes, devices, nics;
    const char *interconnect, *inside; /**< kind and values; NULL: none */
    const char *network, *between;     /**< kind and values; NULL: none */
    double nic_bandwidth_bytes_per_s, nic_latency_s;
};

/** Devices of one type, named node<i>.gpu<j>; all that was made is released on failure. */
enum psim_status test_cluster_build(struct psim_platform *platform,
                                    const struct test_cluster *cluster,
                                    struct psim_error *err) PSIM_CHECKED;

/** The same; fails the test on any error. */
struct psim_platform test_cluster_make(const struct test_cluster *cluster);

/** "+node0.gpu0.port -node0.gpu1.port": the links in order, - where crossed against from -> to. */
void test_route_text(const struct psim_platform *platform, const struct psim_route *route,
                     char *text, size_t size);

/** The route between two devices by name; fails the test when there is none. */
struct psim_route test_route(const struct psim_platform *platform, const char *from,
                             const char *to);

/** Holds a route against its links, latency and bandwidth. */
void test_check_route(const struct psim_platform *platform, const char *from, const char *to,
                      const char *links, double latency_s, double bandwidth_bytes_per_s);

#endif

/*
 * PCIe: devices behind switches, the switches behind the root complex.
 *
 * Every link carries half of the latency: a message between devices of one PCIe switch crosses two
 * links and costs the latency, one through the root complex crosses four and costs it twice.
 *
 * Without peer-to-peer a message between devices goes through the host's memory: up the uplink of
 * its switch and down one again, the same one's other direction where both devices share it.  The
 * switch is marked as passing nothing from one of its devices straight to another, and NICs are
 * reached from the root complex.
 */
#include "sim/platform/graph.h"
#include "sim/platform/platform.h"

#include <stddef.h>

#define DEFAULT_PER_SWITCH 4

static enum psim_status add_pcie_switch(struct psim_platform *platform, const char *prefix,
                                        int node, int index, int root,
                                        const struct psim_interconnect_spec *spec, int *vertex,
                                        struct psim_error *err)
{
    const double uplink_bytes_per_s = spec->uplink_bandwidth_bytes_per_s == 0.0
                                          ? spec->bandwidth_bytes_per_s
                                          : spec->uplink_bandwidth_bytes_per_s;
    const enum psim_status status =
        psim_platform_add_named(platform, -1, node, vertex, err, "%s.pcie%d", prefix, index);

    if (status != PSIM_OK)
        return status;
    platform->adjacency->passages[*vertex].no_peering = !spec->peer_to_peer;
    return psim_platform_join(platform, *vertex, root, uplink_bytes_per_s, spec->latency_s / 2.0,
                              err, "%s.pcie%d.uplink", prefix, index);
}

static enum psim_status expand(struct psim_platform *platform, const char *prefix, int node,
                               const int *devices, int count,
                               const struct psim_interconnect_spec *spec, int *attach,
                               struct psim_error *err)
{
    const int per_switch = spec->per_switch == 0 ? DEFAULT_PER_SWITCH : spec->per_switch;
    int root, pcie_switch = -1;
    enum psim_status status;

    if (per_switch < 0)
        return psim_fail(err, PSIM_ERR_RANGE, "per_switch", "must be at least 1, not %d",
                         per_switch);
    status = psim_platform_add_named(platform, -1, node, &root, err, "%s.root", prefix);
    for (int i = 0; status == PSIM_OK && i < count; i++) {
        if (i % per_switch == 0) {
            status = add_pcie_switch(platform, prefix, node, i / per_switch, root, spec,
                                     &pcie_switch, err);
            if (status != PSIM_OK)
                break;
        }
        attach[i] = spec->peer_to_peer ? pcie_switch : root;
        status = psim_platform_join(platform, devices[i], pcie_switch, spec->bandwidth_bytes_per_s,
                                    spec->latency_s / 2.0, err, "%s.gpu%d.port", prefix, i);
    }
    return status;
}

static const char *const keys[] = {"per_switch", "uplink_bandwidth", "peer_to_peer", NULL};

const struct psim_interconnect psim_interconnect_pcie_tree = {
    .name = "pcie_tree",
    .summary = "devices behind PCIe switches behind one root complex, uplinks shared",
    .keys = keys,
    .expand = expand,
};

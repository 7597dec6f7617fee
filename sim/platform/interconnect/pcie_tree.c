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
#define MAX_PER_SWITCH     1024

enum { BANDWIDTH, LATENCY, PER_SWITCH, UPLINK_BANDWIDTH, PEER_TO_PEER };

static const struct psim_parameter parameters[] = {
    [BANDWIDTH] = {.name = "bandwidth",
                   .kind = PSIM_PARAMETER_BANDWIDTH,
                   .required = true,
                   .help = "of every device's link to its PCIe switch"},
    [LATENCY] = {.name = "latency",
                 .kind = PSIM_PARAMETER_LATENCY,
                 .help = "device to device behind one PCIe switch, 0 by default"},
    [PER_SWITCH] = {.name = "per_switch",
                    .kind = PSIM_PARAMETER_COUNT,
                    .minimum = 1,
                    .maximum = MAX_PER_SWITCH,
                    .help = "devices behind one PCIe switch, 4 by default"},
    [UPLINK_BANDWIDTH] = {.name = "uplink_bandwidth",
                          .kind = PSIM_PARAMETER_BANDWIDTH,
                          .help = "of a PCIe switch to the root complex, by default as bandwidth"},
    [PEER_TO_PEER] = {.name = "peer_to_peer",
                      .kind = PSIM_PARAMETER_BOOL,
                      .fallback = true,
                      .help = "false: all traffic goes through the root complex, true by default"},
    {.name = NULL},
};

static enum psim_status add_pcie_switch(struct psim_platform *platform, const char *prefix,
                                        int node, int index, int root,
                                        const struct psim_values *values, int *vertex,
                                        struct psim_error *err)
{
    const int uplink = values->at[UPLINK_BANDWIDTH].given ? UPLINK_BANDWIDTH : BANDWIDTH;
    const enum psim_status status =
        psim_platform_add_named(platform, -1, node, vertex, err, "%s.pcie%d", prefix, index);

    if (status != PSIM_OK)
        return status;
    if (!values->at[PEER_TO_PEER].flag)
        psim_platform_bar_peering(platform, *vertex);
    return psim_platform_join(platform, *vertex, root, values->at[uplink].number,
                              values->at[LATENCY].number / 2.0, err, "%s.pcie%d.uplink", prefix,
                              index);
}

static enum psim_status expand(struct psim_platform *platform, const char *prefix, int node,
                               const int *devices, int count, const struct psim_values *values,
                               int *attach, struct psim_error *err)
{
    const int per_switch =
        values->at[PER_SWITCH].given ? values->at[PER_SWITCH].count : DEFAULT_PER_SWITCH;
    int root, pcie_switch = -1;
    enum psim_status status =
        psim_platform_add_named(platform, -1, node, &root, err, "%s.root", prefix);

    for (int i = 0; status == PSIM_OK && i < count; i++) {
        if (i % per_switch == 0)
            status = add_pcie_switch(platform, prefix, node, i / per_switch, root, values,
                                     &pcie_switch, err);
        if (status != PSIM_OK)
            break;
        attach[i] = values->at[PEER_TO_PEER].flag ? pcie_switch : root;
        status =
            psim_platform_join(platform, devices[i], pcie_switch, values->at[BANDWIDTH].number,
                               values->at[LATENCY].number / 2.0, err, "%s.gpu%d.port", prefix, i);
    }
    return status;
}

const struct psim_interconnect psim_interconnect_pcie_tree = {
    .name = "pcie_tree",
    .summary = "devices behind PCIe switches behind one root complex, uplinks shared",
    .parameters = parameters,
    .expand = expand,
};

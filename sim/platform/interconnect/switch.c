/*
 * One non-blocking switch: NVSwitch, or any crossbar that every device has its own port on.
 *
 * Each port carries half of the latency, so that one crossing, device to device, costs all of it.
 */
#include "sim/platform/graph.h"
#include "sim/platform/platform.h"

#include <stddef.h>

enum { BANDWIDTH, LATENCY };

static const struct psim_parameter parameters[] = {
    [BANDWIDTH] = {.name = "bandwidth",
                   .kind = PSIM_PARAMETER_BANDWIDTH,
                   .required = true,
                   .help = "of every device's port"},
    [LATENCY] = {.name = "latency",
                 .kind = PSIM_PARAMETER_LATENCY,
                 .help = "device to device, 0 by default"},
    {.name = NULL},
};

static enum psim_status expand(struct psim_platform *platform, const char *prefix, int node,
                               const int *devices, int count, const struct psim_values *values,
                               int *attach, struct psim_error *err)
{
    int hub;
    enum psim_status status =
        psim_platform_add_named(platform, -1, node, &hub, err, "%s.switch", prefix);

    (void)attach;
    for (int i = 0; status == PSIM_OK && i < count; i++) {
        status =
            psim_platform_join(platform, devices[i], hub, values->at[BANDWIDTH].number,
                               values->at[LATENCY].number / 2.0, err, "%s.gpu%d.port", prefix, i);
    }
    return status;
}

const struct psim_interconnect psim_interconnect_switch = {
    .name = "switch",
    .summary = "one non-blocking switch, a port for every device",
    .parameters = parameters,
    .expand = expand,
};

/*
 * One non-blocking switch: NVSwitch, or any crossbar that every device has its own port on.
 *
 * Each port carries half of the latency, so that one crossing, device to device, costs all of it.
 */
#include "sim/platform/graph.h"
#include "sim/platform/platform.h"

#include <stddef.h>

static enum psim_status expand(struct psim_platform *platform, const char *prefix, int node,
                               const int *devices, int count,
                               const struct psim_interconnect_spec *spec, int *attach,
                               struct psim_error *err)
{
    int hub;
    enum psim_status status =
        psim_platform_add_named(platform, -1, node, &hub, err, "%s.switch", prefix);

    for (int i = 0; status == PSIM_OK && i < count; i++) {
        attach[i] = devices[i];
        status = psim_platform_join(platform, devices[i], hub, spec->bandwidth_bytes_per_s,
                                    spec->latency_s / 2.0, err, "%s.gpu%d.port", prefix, i);
    }
    return status;
}

static const char *const keys[] = {NULL};

const struct psim_interconnect psim_interconnect_switch = {
    .name = "switch",
    .summary = "one non-blocking switch, a port for every device",
    .keys = keys,
    .expand = expand,
};

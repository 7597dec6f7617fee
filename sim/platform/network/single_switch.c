/*
 * One non-blocking switch between all NICs.
 *
 * Each NIC's link carries half of the latency, so that one crossing costs all of it.
 */
#include "sim/platform/graph.h"
#include "sim/platform/platform.h"

#include <stddef.h>

enum { LATENCY };

static const struct psim_parameter parameters[] = {
    [LATENCY] = {.name = "latency",
                 .kind = PSIM_PARAMETER_LATENCY,
                 .help = "of crossing the switch, 0 by default"},
    {.name = NULL},
};

static enum psim_status expand(struct psim_platform *platform, const struct psim_port *ports,
                               int count, const struct psim_values *values, struct psim_error *err)
{
    int network;
    enum psim_status status = psim_platform_add_vertex(platform, "network", -1, -1, &network, err);

    for (int i = 0; status == PSIM_OK && i < count; i++)
        status = psim_network_join_port(platform, &ports[i], network,
                                        values->at[LATENCY].number / 2.0, err);
    return status;
}

const struct psim_network_kind psim_network_kind_single_switch = {
    .name = "switch",
    .summary = "one non-blocking switch",
    .parameters = parameters,
    .expand = expand,
};

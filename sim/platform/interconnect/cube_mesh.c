/*
 * The hybrid cube mesh of eight V100 with six NVLinks each: DGX-1, HGX-1, AWS p3.16xlarge.
 *
 * Two fully joined squares 0-3 and 4-7 and four links across, with two links on as many edges as
 * bring every device to six.  Edges: `nvidia-smi topo -m` of a server with eight V100-SXM2 in
 * github.com/Oneflow-Inc/DLPerf HugeCTR/reports/hugectr_test_8v100_report.md (2020), which agrees
 * with the NVLink counts of devices 0 and 1 of a DGX-1 V100 in github.com/NVIDIA/nccl issue 671.
 */
#include "sim/platform/interconnect/mesh.h"

#include <stddef.h>

#define DEVICES 8

static const int edges[] = {
    0, 1, 1, 0, 2, 1, 0, 3, 2, 1, 2, 2, 1, 3, 1, 2, 3, 2, /* square 0 to 3 */
    4, 5, 1, 4, 6, 1, 4, 7, 2, 5, 6, 2, 5, 7, 1, 6, 7, 2, /* square 4 to 7 */
    0, 4, 2, 1, 5, 2, 2, 6, 1, 3, 7, 1,                   /* across */
};

enum { BANDWIDTH, LATENCY, HOST_BANDWIDTH, HOST_LATENCY };

static const struct psim_parameter parameters[] = {
    [BANDWIDTH] = {.name = "bandwidth",
                   .kind = PSIM_PARAMETER_BANDWIDTH,
                   .required = true,
                   .help = "of one link, of which a device has six"},
    [LATENCY] = {.name = "latency",
                 .kind = PSIM_PARAMETER_LATENCY,
                 .help = "device to device over their own links, 0 by default"},
    [HOST_BANDWIDTH] = {.name = "host_bandwidth",
                        .kind = PSIM_PARAMETER_BANDWIDTH,
                        .required = true,
                        .help = "of a device's way to the host"},
    [HOST_LATENCY] = {.name = "host_latency",
                      .kind = PSIM_PARAMETER_LATENCY,
                      .help = "device to device through the host, 0 by default"},
    {.name = NULL},
};

static enum psim_status expand(struct psim_platform *platform, const char *prefix, int node,
                               const int *devices, int count, const struct psim_values *values,
                               int *attach, struct psim_error *err)
{
    const struct psim_mesh mesh = {
        .edges = edges,
        .edge_count = (int)(sizeof edges / sizeof edges[0]) / 3,
        .bandwidth_bytes_per_s = values->at[BANDWIDTH].number,
        .latency_s = values->at[LATENCY].number,
        .has_host = true,
        .host_bandwidth_bytes_per_s = values->at[HOST_BANDWIDTH].number,
        .host_latency_s = values->at[HOST_LATENCY].number,
    };

    if (count != DEVICES)
        return psim_fail(err, PSIM_ERR_RANGE, "kind", "\"cube_mesh\" joins %d devices, not %d",
                         DEVICES, count);
    return psim_mesh_expand(platform, prefix, node, devices, count, &mesh, attach, err);
}

const struct psim_interconnect psim_interconnect_cube_mesh = {
    .name = "cube_mesh",
    .summary = "hybrid cube mesh of eight devices with six links each (DGX-1 V100)",
    .parameters = parameters,
    .expand = expand,
};

/**
 * @file sim/import/gpu_links.h
 * What links of GPUs were measured to carry, where an imported file says only which links there
 * are.
 *
 * Private to sim/import.  Rates are one direction's.
 */
#ifndef PSIM_IMPORT_GPU_LINKS_H
#define PSIM_IMPORT_GPU_LINKS_H

/** A family of GPUs, told by the beginning of its catalogue name or by its compute capability. */
struct psim_gpu_family {
    const char *prefix;
    int capability;            /**< 70 for 7.0 */
    int nvlinks;               /**< of one GPU; 0: none */
    double nvlink_bytes_per_s; /**< of one NVLink */
    const char *nvlink_source; /**< of that rate */
    int pcie_generation;
};

/** NULL when the family is not known; the case of the name does not matter. */
const struct psim_gpu_family *psim_gpu_family_named(const char *device);
const struct psim_gpu_family *psim_gpu_family_capable(int capability);

struct psim_pcie_rate {
    const char *transfers; /**< per second and lane, in GT/s: "8" */
    double lane_bytes_per_s;
    const char *source;
};

/** Rate of a generation from 1 to 5. */
const struct psim_pcie_rate *psim_pcie_generation(int generation);

/** Generation of a link speed such as "16.0 GT/s PCIe"; 0 when it is none. */
int psim_pcie_generation_of(const char *link_speed);

/** Speeds that are known, for messages. */
#define PSIM_PCIE_KNOWN "2.5, 5, 8, 16 and 32 GT/s"

#define PSIM_PCIE_LANES 16

/** Device to device over NVLink, also through NVSwitch: between 1.8 and 2.3 us in
 *  p2pBandwidthLatencyTest with peer-to-peer, github.com/NVIDIA/cuda-samples issue 230. */
#define PSIM_NVLINK_LATENCY_S 2e-6
#define PSIM_NVLINK_LATENCY_REMARK                                                                 \
    "latency: 2 us from device to device, between 1.8 and 2.3 us in p2pBandwidthLatencyTest, "     \
    "github.com/NVIDIA/cuda-samples issue 230; not measured on this machine"

/** One PCIe switch or root complex crossed: the 5.7 us of a PCIe step (Simple protocol) of NCCL's
 *  model, github.com/NVIDIA/nccl@5067397c src/graph/tuning.cc. */
#define PSIM_PCIE_STEP_S 5.7e-6
#define PSIM_PCIE_LATENCY_REMARK                                                                   \
    "latency: 5.7 us a switch crossed, half of it on each of its links, a PCIe step of NCCL's "    \
    "model, github.com/NVIDIA/nccl@5067397c src/graph/tuning.cc"

/** Between CPU sockets: NCCL's SKL_QPI_BW, src/graph/topo.h. */
#define PSIM_SOCKET_INTEL_BYTES_PER_S 10e9
/** AMD_ZEN12_BW of the same. */
#define PSIM_SOCKET_AMD_BYTES_PER_S 16e9
#define PSIM_SOCKET_SOURCE                                                                         \
    "bandwidth: what NCCL takes between sockets, "                                                 \
    "github.com/NVIDIA/nccl src/graph/topo.h"

#endif

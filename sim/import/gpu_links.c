#include "sim/import/gpu_links.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#define NCCL_TOPO "github.com/NVIDIA/nccl src/graph/topo.h"

/* Links per GPU: NVIDIA's data sheets, as github.com/stas00/ml-engineering@744d01e1
 * network/README.md has them. */
static const struct psim_gpu_family families[] = {
    {"V100", 70, 6, 20e9, "bandwidth: 20 of 25 GB/s an NVLink 2, NCCL's SM70_NVLINK_BW, " NCCL_TOPO,
     3},
    {"A100", 80, 12, 23e9,
     "bandwidth: 276 of 300 GB/s over 12 NVLink 3 in a pairwise copy, "
     "github.com/NVIDIA/nvbandwidth@66746a3b README.md",
     4},
    {"H100", 90, 18, 22e9,
     "bandwidth: 396 of 450 GB/s over 18 NVLink 4 in a pairwise copy on an H200, "
     "github.com/stas00/ml-engineering@744d01e1 network/README.md",
     5},
    {"H200", 90, 18, 22e9,
     "bandwidth: 396 of 450 GB/s over 18 NVLink 4 in a pairwise copy, "
     "github.com/stas00/ml-engineering@744d01e1 network/README.md",
     5},
    {"B200", 100, 18, 40.1e9,
     "bandwidth: 40.1 of 50 GB/s an NVLink 5, NCCL's SM100_NVLINK_BW, " NCCL_TOPO, 5},
    {"P100", 60, 4, 18e9, "bandwidth: 18 of 20 GB/s an NVLink 1, NCCL's SM60_NVLINK_BW, " NCCL_TOPO,
     3},
    {"RTX-3090", 86, 4, 12e9,
     "bandwidth: 12 of 14 GB/s an NVLink 3 of this family, NCCL's SM86_NVLINK_BW, " NCCL_TOPO, 4},
    {"P40", 61, 0, 0, NULL, 3},
    {"L40", 89, 0, 0, NULL, 4},
    {NULL, 0, 0, 0, NULL, 0},
};

const struct psim_gpu_family *psim_gpu_family_named(const char *device)
{
    for (const struct psim_gpu_family *family = families; family->prefix != NULL; family++) {
        size_t i = 0;

        while (family->prefix[i] != '\0' && toupper((unsigned char)device[i]) == family->prefix[i])
            i++;
        if (family->prefix[i] == '\0')
            return family;
    }
    return NULL;
}

const struct psim_gpu_family *psim_gpu_family_capable(int capability)
{
    for (const struct psim_gpu_family *family = families; family->prefix != NULL; family++) {
        if (family->capability == capability)
            return family;
    }
    return NULL;
}

/* By lane of 16; generations 1 and 2 were not measured and get generation 3's part of nominal. */
static const struct psim_pcie_rate rates[] = {
    {"2.5", 3e9 / PSIM_PCIE_LANES,
     "bandwidth: 3 of 4 GB/s over 16 lanes of PCIe 1, PCIe 3's part of the nominal rate"},
    {"5", 6e9 / PSIM_PCIE_LANES,
     "bandwidth: 6 of 8 GB/s over 16 lanes of PCIe 2, PCIe 3's part of the nominal rate"},
    {"8", 12e9 / PSIM_PCIE_LANES,
     "bandwidth: 12 of 15.75 GB/s over 16 lanes of PCIe 3, NCCL's PCI_BW, " NCCL_TOPO},
    {"16", 26e9 / PSIM_PCIE_LANES,
     "bandwidth: 26 of 31 GB/s over 16 lanes of PCIe 4, host to device on an A100, "
     "github.com/NVIDIA/nvbandwidth@66746a3b README.md"},
    {"32", 55.4e9 / PSIM_PCIE_LANES,
     "bandwidth: 55.4 of 63 GB/s over 16 lanes of PCIe 5, host to device on an H200, "
     "github.com/stas00/ml-engineering@744d01e1 network/README.md"},
};

const struct psim_pcie_rate *psim_pcie_generation(int generation)
{
    return &rates[generation - 1];
}

/* Both "8 GT/s" and "8.0 GT/s PCIe" are seen. */
int psim_pcie_generation_of(const char *link_speed)
{
    for (int i = 0; i < (int)(sizeof rates / sizeof rates[0]); i++) {
        const size_t length = strlen(rates[i].transfers);
        const char *rest = link_speed + length;

        if (strncmp(link_speed, rates[i].transfers, length) != 0)
            continue;
        if (strncmp(rest, ".0", 2) == 0)
            rest += 2;
        if (strncmp(rest, " GT/s", 5) == 0)
            return i + 1;
    }
    return 0;
}

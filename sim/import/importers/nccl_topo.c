/*
 * NCCL's topology file, as NCCL_TOPO_DUMP_FILE has it written: system, cpu, pci, gpu, nvlink, nic,
 * net, one inside the other as the hardware is.
 *
 * A cpu and every pci that is not a GPU become switches; the links between them get what PCIe of
 * their generation and width was measured to carry.  NVLinks to NVSwitch chips, however many
 * chips there are, go to one switch, as NCCL takes them.
 */
#include "sim/import/gpu_links.h"
#include "sim/import/import_graph.h"
#include "sim/import/xml.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define CPU_LIMIT 256
#define GPU_LIMIT 1024

/* PCI classes of the far end of an NVLink: the first two bytes of three. */
#define CLASS_VGA      "0x0300"
#define CLASS_3D       "0x0302"
#define CLASS_NVSWITCH "0x0680"
#define CLASS_DIGITS   6

struct gpu {
    const struct psim_xml_element *element;
    const char *busid;
    int vertex;
    const struct psim_gpu_family *family;
};

struct topology {
    struct psim_import_job *job;
    struct psim_import_graph graph;
    struct gpu gpus[GPU_LIMIT];
    int gpu_count;
    int cpus[CPU_LIMIT]; /* vertices */
    int cpu_count;
};

static const struct psim_xml_element *child(const struct psim_xml_element *element,
                                            const char *name)
{
    const struct psim_xml_element *found = element->first;

    while (found != NULL && !psim_xml_is(found, name))
        found = found->next;
    return found;
}

static void pass_over(struct topology *t, const struct psim_xml_element *element)
{
    psim_import_warn(t->job, element->at, "<%.40s> inside <%.40s> is passed over", element->name,
                     element->parent == NULL ? "" : element->parent->name);
}

/* ---- PCIe ---- */

/* Lanes and generation; what a virtual machine hides is taken as NCCL takes it, and said. */
static const struct psim_pcie_rate *read_rate(struct topology *t,
                                              const struct psim_xml_element *pci, int *lanes)
{
    const char *speed = psim_xml_attribute(pci, "link_speed");
    const char *width = psim_xml_attribute(pci, "link_width");
    char quoted[PSIM_QUOTED_BYTES];
    int generation;

    *lanes = PSIM_PCIE_LANES;
    if (width != NULL)
        (void)psim_import_count(t->job, pci->at, "link_width", width, 0, 64, lanes);
    if (speed == NULL || speed[0] == '\0' || strncasecmp(speed, "unknown", 7) == 0 || *lanes == 0) {
        *lanes = PSIM_PCIE_LANES;
        psim_import_warn(t->job, pci->at,
                         "the PCIe link is not known; 16 lanes of PCIe 3 are assumed, as by NCCL");
        return psim_pcie_generation(3);
    }
    generation = psim_pcie_generation_of(speed);
    if (generation > 0)
        return psim_pcie_generation(generation);
    psim_text_quote(speed, quoted);
    psim_import_error(t->job, pci->at, PSIM_ERR_NOTFOUND, NULL,
                      "what a PCIe link of %s carries is not known; known: " PSIM_PCIE_KNOWN,
                      quoted);
    return NULL;
}

static void join_pci(struct topology *t, const struct psim_xml_element *pci, int vertex, int above)
{
    const bool is_bridge = child(pci, "pci") != NULL;
    int lanes;
    const struct psim_pcie_rate *rate = read_rate(t, pci, &lanes);

    if (rate == NULL)
        return;
    psim_graph_join(&t->graph, vertex, above,
                    &(struct psim_import_link){
                        .bandwidth_bytes_per_s = lanes * rate->lane_bytes_per_s,
                        .latency_s = is_bridge ? PSIM_PCIE_STEP_S : PSIM_PCIE_STEP_S / 2.0,
                        .source = rate->source,
                        .assumed = PSIM_PCIE_LATENCY_REMARK,
                        .at = pci->at,
                    });
}

static void add_net(struct topology *t, const struct psim_xml_element *net, int above)
{
    const char *name = psim_xml_required(t->job, net, "name");
    const char *speed = psim_xml_required(t->job, net, "speed");
    const char *latency = psim_xml_attribute(net, "latency");
    struct psim_import_link link = {.bandwidth_bytes_per_s = 1, .at = net->at};

    if (speed != NULL)
        (void)psim_import_number(t->job, net->at, "speed", speed, PSIM_DIMENSION_BYTES_PER_S,
                                 "Mb/s", PSIM_ABOVE_ZERO, &link.bandwidth_bytes_per_s);
    if (latency != NULL)
        (void)psim_import_number(t->job, net->at, "latency", latency, PSIM_DIMENSION_SECONDS, "us",
                                 PSIM_FROM_ZERO, &link.latency_s);
    if (name != NULL)
        psim_graph_join(&t->graph, psim_graph_vertex(&t->graph, name, NULL, net->at), above, &link);
}

static void add_nic(struct topology *t, const struct psim_xml_element *nic, int above)
{
    for (const struct psim_xml_element *net = nic->first; net != NULL; net = net->next) {
        if (psim_xml_is(net, "net"))
            add_net(t, net, above);
        else
            pass_over(t, net);
    }
}

/* ---- GPUs ---- */

static int add_gpu(struct topology *t, const struct psim_xml_element *element, const char *busid)
{
    const char *dev = psim_xml_required(t->job, element, "dev");
    const char *sm = psim_xml_required(t->job, element, "sm");
    int number = 0, capability = 0;
    struct gpu *gpu = &t->gpus[t->gpu_count];

    if (t->gpu_count == GPU_LIMIT) {
        psim_import_error(t->job, element->at, PSIM_ERR_RANGE, NULL, "there can be at most %d GPUs",
                          GPU_LIMIT);
        return -1;
    }
    if (dev == NULL || sm == NULL ||
        !psim_import_count(t->job, element->at, "dev", dev, 0, 1 << 20, &number) ||
        !psim_import_count(t->job, element->at, "sm", sm, 1, 1000, &capability))
        return -1;
    gpu->vertex = psim_graph_vertex(&t->graph, psim_import_printf(t->job, "gpu%d", number),
                                    t->job->input->device, element->at);
    gpu->element = element;
    gpu->busid = busid;
    gpu->family = psim_gpu_family_capable(capability);
    t->gpu_count++;
    if (child(element, "nvlink") != NULL && (gpu->family == NULL || gpu->family->nvlinks == 0))
        psim_import_error(t->job, element->at, PSIM_ERR_NOTFOUND, NULL,
                          "what an NVLink of a GPU with sm=\"%d\" carries is not known here",
                          capability);
    return gpu->vertex;
}

static void add_pci(struct topology *t, const struct psim_xml_element *pci, int above)
{
    const struct psim_xml_element *gpu = child(pci, "gpu");
    const char *busid = psim_xml_required(t->job, pci, "busid");
    int vertex;

    if (busid == NULL)
        return;
    vertex =
        gpu != NULL ? add_gpu(t, gpu, busid) : psim_graph_vertex(&t->graph, busid, NULL, pci->at);
    join_pci(t, pci, vertex, above);
    for (const struct psim_xml_element *e = pci->first; e != NULL; e = e->next) {
        if (psim_xml_is(e, "pci"))
            add_pci(t, e, vertex);
        else if (psim_xml_is(e, "nic"))
            add_nic(t, e, vertex);
        else if (e != gpu)
            pass_over(t, e);
    }
}

/* ---- CPUs ---- */

static void add_cpu(struct topology *t, const struct psim_xml_element *cpu)
{
    const char *numaid = psim_xml_required(t->job, cpu, "numaid");
    int vertex;

    if (numaid == NULL)
        return;
    if (t->cpu_count == CPU_LIMIT) {
        psim_import_error(t->job, cpu->at, PSIM_ERR_RANGE, NULL, "there can be at most %d CPUs",
                          CPU_LIMIT);
        return;
    }
    vertex =
        psim_graph_vertex(&t->graph, psim_import_printf(t->job, "cpu%s", numaid), NULL, cpu->at);
    t->cpus[t->cpu_count++] = vertex;
    for (const struct psim_xml_element *e = cpu->first; e != NULL; e = e->next) {
        if (psim_xml_is(e, "pci"))
            add_pci(t, e, vertex);
        else if (psim_xml_is(e, "nic"))
            add_nic(t, e, vertex);
        else
            pass_over(t, e);
    }
}

/* What the file says of the makers decides; every pair of CPUs has its own link. */
static void join_cpus(struct topology *t, const struct psim_xml_element *system)
{
    const struct psim_xml_element *cpu = child(system, "cpu");
    const char *vendor = cpu == NULL ? NULL : psim_xml_attribute(cpu, "vendor");
    const bool amd = vendor != NULL && strcmp(vendor, "AuthenticAMD") == 0;
    const struct psim_import_link link = {
        .bandwidth_bytes_per_s = amd ? PSIM_SOCKET_AMD_BYTES_PER_S : PSIM_SOCKET_INTEL_BYTES_PER_S,
        .latency_s = PSIM_PCIE_STEP_S,
        .source = PSIM_SOCKET_SOURCE,
        .assumed = amd ? "a Zen 1 or 2; " PSIM_PCIE_LATENCY_REMARK
                       : "Intel's Skylake; " PSIM_PCIE_LATENCY_REMARK,
        .at = system->at,
    };

    for (int a = 0; a < t->cpu_count; a++) {
        for (int b = a + 1; b < t->cpu_count; b++)
            psim_graph_join(&t->graph, t->cpus[a], t->cpus[b], &link);
    }
}

/* ---- NVLink ---- */

static bool leads_to(const struct psim_xml_element *nvlink, const char *class)
{
    const char *tclass = psim_xml_attribute(nvlink, "tclass");

    return tclass != NULL && strncmp(tclass, class, CLASS_DIGITS) == 0;
}

static bool leads_to_gpu(const struct psim_xml_element *nvlink)
{
    return leads_to(nvlink, CLASS_3D) || leads_to(nvlink, CLASS_VGA);
}

/* Every nvlink element is checked once; what is left can be counted without looking back. */
static void check_nvlinks(struct topology *t, const struct gpu *gpu)
{
    for (const struct psim_xml_element *e = gpu->element->first; e != NULL; e = e->next) {
        const char *target, *count;
        int known = 0, number = 0;

        if (!psim_xml_is(e, "nvlink")) {
            pass_over(t, e);
            continue;
        }
        target = psim_xml_required(t->job, e, "target");
        count = psim_xml_required(t->job, e, "count");
        if (count != NULL)
            (void)psim_import_count(t->job, e->at, "count", count, 1, 1024, &number);
        if (psim_xml_required(t->job, e, "tclass") == NULL || target == NULL)
            continue;
        for (int i = 0; i < t->gpu_count; i++)
            known += strcasecmp(t->gpus[i].busid, target) == 0 ? 1 : 0;
        if (leads_to_gpu(e) && known == 0)
            psim_import_error(t->job, e->at, PSIM_ERR_NOTFOUND, NULL,
                              "no GPU has the busid \"%.40s\"", target);
        else if (!leads_to_gpu(e) && !leads_to(e, CLASS_NVSWITCH))
            psim_import_warn(t->job, e->at,
                             "this NVLink leads to neither a GPU nor an NVSwitch and is passed "
                             "over");
    }
}

/* NVLinks from a GPU to another, or with NULL to NVSwitches. */
static int count_nvlinks(const struct gpu *from, const struct gpu *to)
{
    int total = 0;

    for (const struct psim_xml_element *e = from->element->first; e != NULL; e = e->next) {
        if (!psim_xml_is(e, "nvlink"))
            continue;
        if (to == NULL
                ? leads_to(e, CLASS_NVSWITCH)
                : leads_to_gpu(e) && strcasecmp(psim_xml_attribute(e, "target"), to->busid) == 0)
            total += (int)strtod(psim_xml_attribute(e, "count"), NULL);
    }
    return total;
}

static void join_nvlinks(struct topology *t, const struct gpu *gpu, int to, int nvlinks,
                         double latency_s)
{
    psim_graph_join(&t->graph, gpu->vertex, to,
                    &(struct psim_import_link){
                        .bandwidth_bytes_per_s = nvlinks * gpu->family->nvlink_bytes_per_s,
                        .latency_s = latency_s,
                        .source = gpu->family->nvlink_source,
                        .assumed = PSIM_NVLINK_LATENCY_REMARK,
                        .at = gpu->element->at,
                    });
}

static void add_nvlinks(struct topology *t)
{
    int nvswitch = -1;

    for (int a = 0; a < t->gpu_count; a++) {
        const struct gpu *gpu = &t->gpus[a];
        const int to_switch = count_nvlinks(gpu, NULL);

        if (to_switch > 0 && nvswitch < 0)
            nvswitch = psim_graph_vertex(&t->graph, "nvswitch", NULL, gpu->element->at);
        if (to_switch > 0)
            join_nvlinks(t, gpu, nvswitch, to_switch, PSIM_NVLINK_LATENCY_S / 2.0);
        for (int b = a + 1; b < t->gpu_count; b++) {
            const int there = count_nvlinks(gpu, &t->gpus[b]);
            const int back = count_nvlinks(&t->gpus[b], gpu);

            if (there != back)
                psim_import_error(t->job, t->gpus[b].element->at, PSIM_ERR_SCHEMA, NULL,
                                  "has %d NVLinks to the GPU of line %d, which has %d to it", back,
                                  gpu->element->at.line, there);
            else if (there > 0)
                join_nvlinks(t, gpu, t->gpus[b].vertex, there, PSIM_NVLINK_LATENCY_S);
        }
    }
}

static void read_system(struct topology *t, const struct psim_xml_element *system,
                        struct psim_text *out)
{
    if (!psim_xml_is(system, "system")) {
        psim_import_error(t->job, system->at, PSIM_ERR_SCHEMA, NULL,
                          "the root must be <system>, not <%.40s>", system->name);
        return;
    }
    for (const struct psim_xml_element *e = system->first; e != NULL; e = e->next) {
        if (psim_xml_is(e, "cpu"))
            add_cpu(t, e);
        else
            pass_over(t, e);
    }
    for (int i = 0; i < t->gpu_count; i++)
        check_nvlinks(t, &t->gpus[i]);
    if (!psim_import_clean(t->job))
        return;
    join_cpus(t, system);
    add_nvlinks(t);
    psim_graph_write(&t->graph, out);
}

static void import(struct psim_import_job *job, struct psim_text *out)
{
    const struct psim_xml_element *system = psim_xml_parse(job);
    struct topology *t = system == NULL ? NULL : psim_import_alloc(job, 1, sizeof *t);

    if (t == NULL)
        return;
    t->job = job;
    t->graph = (struct psim_import_graph){
        .job = job,
        .comment = "From NCCL's topology file. CPUs, PCIe bridges and NICs are switches; the NICs' "
                   "ports are for you to join. Between GPUs a message may pass through another "
                   "GPU."};
    read_system(t, system, out);
}

const struct psim_importer psim_importer_nccl_topo = {
    .name = "nccl_topo",
    .summary = "topology XML of NCCL_TOPO_DUMP_FILE to a platform",
    .example = "nccl_topo.xml",
    .needs_device = true,
    .import = import,
};

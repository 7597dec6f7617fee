/*
 * What is suspicious in a device or platform file: figures that vendors state in another way than
 * petrasim reads them.
 */
#include "sim/config/plausibility.h"

#include "sim/base/text.h"
#include "sim/config/formats.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define QUANTITY_BYTES 64

/* A quantity that a node holds as text; false where it is something else, such as "unlimited". */
static bool quantity_of(const struct psim_node *node, enum psim_dimension dimension, double *value)
{
    const char *nearest;

    return node != NULL && node->type == PSIM_NODE_STRING &&
           psim_quantity_parse(node->value.string, dimension, value, &nearest, NULL) == PSIM_OK;
}

/* The member of an object that may be missing itself. */
static const struct psim_node *member_of(const struct psim_node *object, const char *key)
{
    return object == NULL ? NULL : psim_node_member(object, key);
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), size = strlen(end);

    return length >= size && strcmp(text + length - size, end) == 0;
}

/* ---- Devices ---- */

/* Peaks with structured sparsity of A100, H100 and H200 in FP16 and BF16, and of H100 and H200 in
 * FP8: twice the dense figures of platforms/PROVENANCE.md. */
static const double sparse_peaks[] = {624e12, 1979e12, 3958e12};

/* Reads the catalogue's device of that name or alias; what is wrong with it is said elsewhere. */
static bool find_twin(struct psim_reader *reader, const char *name, struct psim_arena *arena,
                      struct psim_device *twin)
{
    struct psim_diagnostics ignored = PSIM_DIAGNOSTICS_INIT;
    const struct psim_node *root;
    struct psim_reader nested;
    const char *file, *nearest;
    enum psim_status status =
        psim_catalogue_search_device(reader->catalogue, name, arena, &file, &nearest);
    bool found = false;

    if (status == PSIM_OK) {
        psim_reader_init(&nested, NULL, arena, &ignored);
        root = psim_reader_open(&nested, file, PSIM_FILE_DEVICE, NULL);
        found = root != NULL && psim_read_device(&nested, root, twin);
        status = psim_reader_finish(&nested);
        psim_diagnostics_release(&ignored);
    }
    if (status == PSIM_ERR_NOMEM)
        psim_reader_out_of_memory(reader);
    return found && status == PSIM_OK;
}

static bool twin_of(struct psim_reader *reader, const struct psim_device *device,
                    struct psim_arena *arena, struct psim_device *twin)
{
    bool found = find_twin(reader, device->name, arena, twin);

    for (int i = 0; !found && i < device->alias_count; i++)
        found = find_twin(reader, device->aliases[i], arena, twin);
    return found;
}

/* A file of the catalogue itself has no twin to be compared with. */
static bool is_of_catalogue(const struct psim_reader *reader, const struct psim_node *root)
{
    const size_t length = strlen(reader->catalogue->root);

    return strncmp(root->document->name, reader->catalogue->root, length) == 0 &&
           strncmp(root->document->name + length, "/devices/", strlen("/devices/")) == 0;
}

static bool is_sparse_peak(double flop_per_s)
{
    for (size_t i = 0; i < sizeof sparse_peaks / sizeof sparse_peaks[0]; i++) {
        if (fabs(flop_per_s / sparse_peaks[i] - 1) < 0.001)
            return true;
    }
    return false;
}

/* The vector units have no sparsity, so FP32 is not looked at. */
static void judge_peaks(struct psim_reader *reader, const struct psim_node *peaks,
                        const struct psim_device *device, const struct psim_device *twin)
{
    char dense[QUANTITY_BYTES];

    for (int i = PSIM_TF32; i < PSIM_PRECISIONS; i++) {
        const double peak = device->peak_flop_per_s[i];
        const struct psim_node *node = psim_node_member(peaks, psim_precision_names[i]);

        if (twin != NULL && fabs(peak / twin->peak_flop_per_s[i] - 2) < 0.01) {
            snprintf(dense, sizeof dense, "%g TFLOP/s", twin->peak_flop_per_s[i] / 1e12);
            psim_reader_warn(reader, node, dense,
                             "%g TFLOP/s is twice what the catalogue has for %s (rule: peaks are "
                             "dense, without structured sparsity)",
                             peak / 1e12, twin->name);
        } else if (i != PSIM_TF32 && is_sparse_peak(peak)) {
            snprintf(dense, sizeof dense, "%g TFLOP/s", peak / 2e12);
            psim_reader_warn(reader, node, dense,
                             "%g TFLOP/s is known as a peak with structured sparsity (rule: peaks "
                             "are dense)",
                             peak / 1e12);
        }
    }
}

/* 1 GiB is 1.074 GB; a little more than that covers what the driver keeps of the nominal size. */
static void judge_memory(struct psim_reader *reader, const struct psim_node *memory,
                         const struct psim_device *device, const struct psim_device *twin)
{
    const double ratio = (double)twin->memory_bytes / (double)device->memory_bytes;
    char binary[QUANTITY_BYTES];

    if (!(ratio > 1.02 && ratio <= 1.08) || ends_with(memory->value.string, "iB"))
        return;
    snprintf(binary, sizeof binary, "%g GiB", (double)device->memory_bytes / 1e9);
    psim_reader_warn(
        reader, memory, binary,
        "%g GB is %.1f GiB, and the catalogue has %.1f GiB for %s (rule: the memory of "
        "devices is counted in GiB)",
        (double)device->memory_bytes / 1e9, (double)device->memory_bytes / 1073741824.0,
        (double)twin->memory_bytes / 1073741824.0, twin->name);
}

void psim_judge_device(struct psim_reader *reader, const struct psim_node *root,
                       const struct psim_device *device)
{
    struct psim_arena arena = PSIM_ARENA_INIT;
    struct psim_device twin;
    const bool known = reader->catalogue != NULL && !is_of_catalogue(reader, root) &&
                       twin_of(reader, device, &arena, &twin);

    judge_peaks(reader, psim_node_member(root, "peak"), device, known ? &twin : NULL);
    if (known)
        judge_memory(reader, psim_node_member(root, "memory"), device, &twin);
    psim_arena_release(&arena);
}

/* ---- Platforms ---- */

#define NIC_BYTES_PER_S     100e9 /* 800 Gb/s, the fastest adapter that the catalogue knows of */
#define NODE_LATENCY_S      1e-3  /* a hundred times the slowest path inside a node, PCIe's */
#define BOTH_DIRECTIONS_MIN 1.7   /* of one direction's nominal rate: measured rates lie lower */
#define BOTH_DIRECTIONS_MAX 2.02

/* Nominal rate of a device's NVLinks together, one direction; the longer name goes first.
 * Source: platforms/PROVENANCE.md, links. */
static const struct {
    const char *device; /* how its name or an alias starts */
    double bytes_per_s;
} nvlinks[] = {{"V100-SXM2", 150e9}, {"A100", 300e9}, {"H100-PCIe", 300e9}, {"H100", 450e9},
               {"H200", 450e9},      {"B200", 900e9}, {"GB200", 900e9}};

static double nvlink_of_name(const char *name)
{
    for (size_t i = 0; i < sizeof nvlinks / sizeof nvlinks[0]; i++) {
        if (strncmp(name, nvlinks[i].device, strlen(nvlinks[i].device)) == 0)
            return nvlinks[i].bytes_per_s;
    }
    return NAN;
}

/* NaN where none is known. */
static double nvlink_of(const struct psim_device *device)
{
    double bytes_per_s = nvlink_of_name(device->name);

    for (int i = 0; isnan(bytes_per_s) && i < device->alias_count; i++)
        bytes_per_s = nvlink_of_name(device->aliases[i]);
    return bytes_per_s;
}

static void judge_directions(struct psim_reader *reader, const struct psim_node *bandwidth,
                             const struct psim_device *device)
{
    const double one_way = nvlink_of(device);
    char half[QUANTITY_BYTES];
    double given;

    if (!quantity_of(bandwidth, PSIM_DIMENSION_BYTES_PER_S, &given) ||
        !(given / one_way > BOTH_DIRECTIONS_MIN && given / one_way < BOTH_DIRECTIONS_MAX))
        return;
    snprintf(half, sizeof half, "%g GB/s", given / 2e9);
    psim_reader_warn(reader, bandwidth, half,
                     "%g GB/s looks like both directions of the NVLink of %s, nominally %g GB/s "
                     "each way (rule: a bandwidth is one direction's)",
                     given / 1e9, device->name, one_way / 1e9);
}

static void judge_nic(struct psim_reader *reader, const struct psim_node *bandwidth)
{
    char bits[QUANTITY_BYTES];
    double given;

    if (!quantity_of(bandwidth, PSIM_DIMENSION_BYTES_PER_S, &given) ||
        !(given >= NIC_BYTES_PER_S) || !ends_with(bandwidth->value.string, "B/s"))
        return;
    snprintf(bits, sizeof bits, "%g Gb/s", given / 1e9);
    psim_reader_warn(reader, bandwidth, bits,
                     "%g GB/s is a NIC of %g Gb/s (rule: 100 GB/s or more of one NIC, given in "
                     "bytes, looks like Gb/s)",
                     given / 1e9, given * 8 / 1e9);
}

static void judge_latency(struct psim_reader *reader, const struct psim_node *latency)
{
    double given_s;

    if (quantity_of(latency, PSIM_DIMENSION_SECONDS, &given_s) && given_s >= NODE_LATENCY_S)
        psim_reader_warn(reader, latency, NULL,
                         "%g ms inside a node (rule: there a latency is microseconds, below 1 ms)",
                         given_s * 1e3);
}

static const struct psim_device *device_of_alias(const struct psim_platform *platform,
                                                 const struct psim_node *alias)
{
    for (int i = 0; alias != NULL && i < platform->type_count; i++) {
        if (strcmp(platform->types[i].alias, alias->value.string) == 0)
            return &platform->types[i].device;
    }
    return NULL;
}

static void judge_node(struct psim_reader *reader, const struct psim_node *entry,
                       const struct psim_platform *platform, bool torus)
{
    const struct psim_node *interconnect = psim_node_member(entry, "interconnect");
    const struct psim_node *devices = psim_node_member(entry, "devices");
    const struct psim_node *kind = member_of(interconnect, "kind");
    const struct psim_node *nic = member_of(psim_node_member(entry, "nics"), "bandwidth");
    const struct psim_device *device =
        device_of_alias(platform, psim_node_member(devices->first, "type"));

    for (const struct psim_node *member = interconnect == NULL ? NULL : interconnect->first;
         member != NULL; member = member->next)
        judge_latency(reader, member);
    if (kind != NULL && strcmp(kind->value.string, "pcie_tree") != 0 && device != NULL)
        judge_directions(reader, psim_node_member(interconnect, "bandwidth"), device);
    if (!torus) /* there a NIC is all of a device's own links to its neighbours */
        judge_nic(reader, nic);
}

/* The links of the list are the last that the platform has, in the list's order. */
static void judge_links(struct psim_reader *reader, const struct psim_node *list,
                        const struct psim_platform *platform)
{
    for (const struct psim_node *entry = list->first; entry != NULL; entry = entry->next) {
        const struct psim_link *link =
            &platform->links[platform->link_count - list->count + entry->index];
        const struct psim_vertex *from = &platform->vertices[link->from];
        const struct psim_vertex *to = &platform->vertices[link->to];
        const int type = from->device_type >= 0 ? from->device_type : to->device_type;

        if (type >= 0)
            judge_directions(reader, psim_node_member(entry, "bandwidth"),
                             &platform->types[type].device);
        if (from->node >= 0 && from->node == to->node)
            judge_latency(reader, psim_node_member(entry, "latency"));
    }
}

void psim_judge_platform(struct psim_reader *reader, const struct psim_node *root,
                         const struct psim_platform *platform)
{
    const struct psim_node *nodes = psim_node_member(root, "nodes");
    const struct psim_node *links = psim_node_member(root, "links");
    const struct psim_node *kind = member_of(psim_node_member(root, "network"), "kind");
    const bool torus = kind != NULL && strcmp(kind->value.string, "torus") == 0;

    for (const struct psim_node *entry = nodes == NULL ? NULL : nodes->first; entry != NULL;
         entry = entry->next)
        judge_node(reader, entry, platform, torus);
    if (links != NULL)
        judge_links(reader, links, platform);
}

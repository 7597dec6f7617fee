/*
 * The shipped catalogue as the program reads it: every entry is read without a word, devices answer
 * to one name each, and figures that are usually confused (sparse peaks, both directions of a link,
 * bits and bytes) are not.  That every figure names its source is tested in device_test.c.
 */
#include "sim/config/scenario.h"
#include "tests/support/check.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PLATFORMS  PSIM_SOURCE_DIR "/platforms"
#define PATH_BYTES 512

static const struct psim_catalogue catalogue = {PLATFORMS};

/* All devices of the catalogue; their texts live in the arena. */
struct devices {
    struct psim_arena arena;
    const char *const *entries;
    struct psim_device items[128];
    int count;
};

static void no_diagnostics(struct psim_diagnostics *list)
{
    for (size_t i = 0; i < list->count; i++)
        print_error("%s\n", psim_diagnostic_line(list, i));
    assert_int_equal(list->count, 0);
    psim_diagnostics_release(list);
}

static void read_devices(struct devices *devices)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    char path[PATH_BYTES];

    *devices = (struct devices){.arena = PSIM_ARENA_INIT};
    assert_int_equal(psim_catalogue_list(&catalogue, "devices", &devices->arena, &devices->entries,
                                         &devices->count, NULL),
                     PSIM_OK);
    assert_in_range(devices->count, 31, 128);
    for (int i = 0; i < devices->count; i++) {
        snprintf(path, sizeof path, PLATFORMS "/devices/%s.json", devices->entries[i]);
        assert_int_equal(psim_device_read(path, &devices->arena, &devices->items[i], &list),
                         PSIM_OK);
    }
    no_diagnostics(&list);
}

static struct psim_platform read_cluster(const char *name)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_platform platform = {0};
    char path[PATH_BYTES];

    snprintf(path, sizeof path, PLATFORMS "/clusters/%s.json", name);
    if (psim_platform_read(path, &catalogue, &platform, &list) != PSIM_OK)
        print_error("%s cannot be read\n", path);
    no_diagnostics(&list);
    return platform;
}

/* --- devices --------------------------------------------------------------------------------- */

static bool within(double value, double least, double most)
{
    return value >= least && value <= most;
}

/* Unknown peaks compare as if they fitted. */
static bool at_most(double slow, double fast)
{
    return isnan(slow) || isnan(fast) || slow <= fast;
}

/* What is odd about the peaks of a device; NULL when nothing is. */
static const char *odd_peaks(const struct psim_device *device)
{
    const double *peak = device->peak_flop_per_s;
    int known = 0;

    for (int p = 0; p < PSIM_PRECISIONS; p++) {
        if (isnan(peak[p]))
            continue;
        known++;
        if (!within(peak[p], 1e12, 5e15))
            return "a peak is no accelerator's";
        if (psim_device_rate(device, PSIM_WORK_GEMM, (enum psim_precision)p, NULL) == NULL)
            return "a peak has no shares";
    }
    if (known == 0)
        return "no peak is known";
    if (!at_most(peak[PSIM_FP32], peak[PSIM_TF32]) || !at_most(peak[PSIM_FP32], peak[PSIM_FP16]))
        return "fp32 is faster than a smaller format";
    if (!at_most(peak[PSIM_TF32], peak[PSIM_FP16]) || !at_most(peak[PSIM_TF32], peak[PSIM_BF16]))
        return "tf32 is faster than a 16-bit format";
    if (!isnan(peak[PSIM_FP16]) && !isnan(peak[PSIM_BF16]) && peak[PSIM_FP16] != peak[PSIM_BF16])
        return "fp16 and bf16 differ";
    if (!isnan(peak[PSIM_TF32]) && !at_most(peak[PSIM_FP16], 2.1 * peak[PSIM_TF32]))
        return "fp16 is more than twice tf32, as a sparse figure is";
    return NULL;
}

/* Shares for a precision that the device does not have. */
static bool has_shares_without_peak(const struct psim_device *device)
{
    for (int kind = 0; kind < PSIM_WORK_KINDS; kind++) {
        for (int p = 0; p < PSIM_PRECISIONS; p++) {
            if (device->rates[kind][p].given && isnan(device->peak_flop_per_s[p]))
                return true;
        }
    }
    return false;
}

static const char *odd_device(const struct psim_device *device)
{
    const char *odd = odd_peaks(device);

    if (odd != NULL)
        return odd;
    if (has_shares_without_peak(device))
        return "shares of a peak that is not there";
    if (!within((double)device->memory_bytes, 8e9, 512e9))
        return "memory";
    if (!within(device->memory_bandwidth_bytes_per_s, 200e9, 20e12))
        return "memory bandwidth";
    if (!isnan(device->busy_w) && !within(device->busy_w, 50, 2000))
        return "busy power";
    if (!isnan(device->idle_w) && !(device->idle_w < device->busy_w))
        return "idle power is not below busy power";
    return NULL;
}

static void every_device_is_read_without_a_word_and_is_plausible(void **state)
{
    static struct devices devices;

    (void)state;
    read_devices(&devices);
    for (int i = 0; i < devices.count; i++) {
        const char *odd = odd_device(&devices.items[i]);

        if (odd != NULL)
            fail_msg("%s: %s", devices.entries[i], odd);
    }
    psim_arena_release(&devices.arena);
}

static struct psim_device sample_device(void)
{
    struct psim_device device = {
        .name = "sample",
        .memory_bytes = INT64_C(80) << 30,
        .memory_bandwidth_bytes_per_s = 2e12,
        .peak_flop_per_s =
            {[PSIM_FP32] = 20e12, [PSIM_TF32] = 150e12, [PSIM_FP16] = 300e12, [PSIM_BF16] = 300e12},
        .idle_w = NAN,
        .busy_w = 400};

    device.rates[PSIM_WORK_DEFAULT][PSIM_ANY_PRECISION].given = true;
    return device;
}

static void odd_devices_are_noticed(void **state)
{
    struct psim_device device = sample_device();

    (void)state;
    assert_null(odd_device(&device));
    device.peak_flop_per_s[PSIM_FP16] = device.peak_flop_per_s[PSIM_BF16] = 600e12;
    assert_string_equal(odd_device(&device), "fp16 is more than twice tf32, as a sparse figure is");
    device = sample_device();
    device.peak_flop_per_s[PSIM_FP32] = 156e12;
    assert_string_equal(odd_device(&device), "fp32 is faster than a smaller format");
    device = sample_device();
    device.peak_flop_per_s[PSIM_TF32] = 312e12;
    assert_string_equal(odd_device(&device), "tf32 is faster than a 16-bit format");
    device = sample_device();
    device.peak_flop_per_s[PSIM_BF16] = 299e12;
    assert_string_equal(odd_device(&device), "fp16 and bf16 differ");
    device = sample_device();
    device.peak_flop_per_s[PSIM_TF32] = NAN;
    assert_null(odd_device(&device));
    device.rates[PSIM_WORK_GEMM][PSIM_TF32].given = true;
    assert_string_equal(odd_device(&device), "shares of a peak that is not there");
    device = sample_device();
    device.memory_bandwidth_bytes_per_s = 2e9;
    assert_string_equal(odd_device(&device), "memory bandwidth");
    device = sample_device();
    device.idle_w = 500;
    assert_string_equal(odd_device(&device), "idle power is not below busy power");
}

/* The makers print the sparse figures, twice these, at least as large. */
static void well_known_bf16_peaks_are_the_dense_ones(void **state)
{
    static const struct {
        const char *name;
        double tflop_per_s;
    } dense[] = {{"A100-SXM4-80GB", 312}, {"A100-PCIe-40GB", 312},
                 {"H100-SXM", 989},       {"H100-PCIe", 756},
                 {"H200-SXM", 989},       {"B200-SXM", 2250},
                 {"GB200", 2500},         {"L40S", 362},
                 {"RTX-4090", 165.2},     {"A10", 125},
                 {"MI300X", 1307},        {"L4", 121}};
    static struct devices devices;
    size_t found = 0;

    (void)state;
    read_devices(&devices);
    for (int i = 0; i < devices.count; i++) {
        for (size_t j = 0; j < sizeof dense / sizeof dense[0]; j++) {
            if (strcmp(devices.items[i].name, dense[j].name) != 0)
                continue;
            check_near(devices.items[i].peak_flop_per_s[PSIM_BF16], 1e12 * dense[j].tflop_per_s,
                       1e-12);
            found++;
        }
    }
    assert_int_equal(found, sizeof dense / sizeof dense[0]);
    psim_arena_release(&devices.arena);
}

/* --- names ----------------------------------------------------------------------------------- */

static bool same_name(const char *a, const char *b)
{
    while (*a != '\0' && tolower((unsigned char)*a) == tolower((unsigned char)*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

/* Whether a device answers to a name, as the search of the catalogue sees it. */
static bool answers_to(const struct psim_device *device, const char *entry, const char *name)
{
    bool found = same_name(device->name, name) || same_name(entry, name);

    for (int i = 0; i < device->alias_count; i++)
        found = found || same_name(device->aliases[i], name);
    return found;
}

/* The first name of device `of` that another answers to as well; NULL when there is none. */
static const char *shared_name(const struct devices *devices, int of)
{
    const struct psim_device *device = &devices->items[of];

    for (int other = 0; other < devices->count; other++) {
        if (other == of)
            continue;
        if (answers_to(&devices->items[other], devices->entries[other], device->name))
            return device->name;
        for (int i = 0; i < device->alias_count; i++) {
            if (answers_to(&devices->items[other], devices->entries[other], device->aliases[i]))
                return device->aliases[i];
        }
    }
    return NULL;
}

static void every_name_and_alias_belongs_to_one_device(void **state)
{
    static struct devices devices;

    (void)state;
    read_devices(&devices);
    for (int i = 0; i < devices.count; i++) {
        const char *shared = shared_name(&devices, i);

        if (shared != NULL)
            fail_msg("%s shares the name \"%s\"", devices.entries[i], shared);
    }
    psim_arena_release(&devices.arena);
}

static void a_name_of_two_devices_is_noticed(void **state)
{
    static const char *const entries[] = {"a", "b"};
    static const char *const aliases[] = {"first", "Both"}, *const others[] = {"both"};
    static struct devices devices = {
        .entries = entries,
        .items = {{.name = "A1", .aliases = aliases, .alias_count = 2}, {.name = "B1"}},
        .count = 2};

    (void)state;
    assert_null(shared_name(&devices, 0));
    devices.items[1].aliases = others;
    devices.items[1].alias_count = 1;
    assert_string_equal(shared_name(&devices, 0), "Both");
    devices.items[1] = (struct psim_device){.name = "a1"};
    assert_string_equal(shared_name(&devices, 1), "a1");
}

static void devices_are_found_under_the_names_people_use(void **state)
{
    static const char *const names[][2] = {{"H200", "h200-sxm"},
                                           {"H100", "h100-sxm"},
                                           {"h100 pcie", "h100-pcie"},
                                           {"B200", "b200-sxm"},
                                           {"GB200", "gb200"},
                                           {"A100", "a100-sxm4-80gb"},
                                           {"A100-40", "a100-sxm4-40gb"},
                                           {"V100", "v100-sxm2-16gb"},
                                           {"P100", "p100-pcie"},
                                           {"T4", "t4"},
                                           {"L4", "l4"},
                                           {"L40S", "l40s"},
                                           {"A10", "a10"},
                                           {"3090", "rtx-3090"},
                                           {"4090", "rtx-4090"},
                                           {"RTX 5090", "rtx-5090"},
                                           {"MI250X", "mi250x"},
                                           {"MI300X", "mi300x"},
                                           {"TPU v2", "tpu-v2"},
                                           {"TPU v5p", "tpu-v5p"},
                                           {"tpu v6e", "tpu-v6e"}};
    struct psim_arena arena = PSIM_ARENA_INIT;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[PATH_BYTES];
        const char *file = NULL;

        snprintf(path, sizeof path, PLATFORMS "/devices/%s.json", names[i][1]);
        assert_int_equal(psim_catalogue_find_device(&catalogue, names[i][0], &arena, &file, NULL),
                         PSIM_OK);
        assert_string_equal(file, path);
    }
    psim_arena_release(&arena);
}

static void a_device_that_is_not_there_brings_up_a_near_name(void **state)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_arena arena = PSIM_ARENA_INIT;
    const char *file = "untouched";

    (void)state;
    assert_int_equal(psim_catalogue_find_device(&catalogue, "MI300", &arena, &file, &err),
                     PSIM_ERR_NOTFOUND);
    check_contains(err.message, "did you mean \"mi300x\"?");
    assert_string_equal(file, "untouched");
    psim_arena_release(&arena);
}

/* --- clusters -------------------------------------------------------------------------------- */

/* What a device sends at most inside its node, in GB/s: the makers' nominal rate of one direction,
 * NVLink or xGMI and the PCIe slot together. */
static double sends_at_most(const char *device)
{
    static const struct {
        const char *prefix;
        double gb_per_s;
    } limits[] = {{"A100-SXM", 300 + 31.5},
                  {"H100-SXM", 450 + 63},
                  {"H200-SXM", 450 + 63},
                  {"B200-SXM", 900 + 63},
                  {"GB200", 900 + 450},
                  {"V100-SXM", 150 + 15.75},
                  {"MI300X", 448 + 63},
                  {"A100-PCIe", 300 + 31.5},
                  {"H100-PCIe", 300 + 63},
                  {"RTX-5090", 63},
                  {"TPU", 300}};

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        if (strncmp(device, limits[i].prefix, strlen(limits[i].prefix)) == 0)
            return 1e9 * limits[i].gb_per_s;
    }
    return 31.5e9;
}

#define LATENCY_S 50e-6 /* more is a unit mistaken, inside a node or between them */

/* Of one cable between nodes: InfiniBand XDR, 800 Gb/s; a TPU's router is on the chip. */
static double network_carries_at_most(const struct psim_platform *platform)
{
    return strncmp(platform->types[0].device.name, "TPU", 3) == 0 ? 300e9 : 100e9;
}

/* The name of the first link whose figures no such link has; NULL when there is none. */
static const char *odd_link(const struct psim_platform *platform)
{
    for (int i = 0; i < platform->link_count; i++) {
        const struct psim_link *link = &platform->links[i];
        const struct psim_vertex *from = &platform->vertices[link->from];
        const struct psim_vertex *to = &platform->vertices[link->to];
        const int type = from->device_type >= 0 ? from->device_type : to->device_type;
        double most = INFINITY;

        if (from->node < 0 || to->node < 0)
            most = network_carries_at_most(platform);
        else if (type >= 0)
            most = sends_at_most(platform->types[type].device.name);
        if (!(link->latency_s >= 0 && link->latency_s <= LATENCY_S))
            return link->name;
        if (!isinf(link->bandwidth_bytes_per_s) && !within(link->bandwidth_bytes_per_s, 1e9, most))
            return link->name;
    }
    return NULL;
}

static void every_cluster_is_read_without_a_word_and_is_plausible(void **state)
{
    struct psim_arena arena = PSIM_ARENA_INIT;
    const char *const *names;
    int count;

    (void)state;
    assert_int_equal(psim_catalogue_list(&catalogue, "clusters", &arena, &names, &count, NULL),
                     PSIM_OK);
    assert_true(count >= 40);
    for (int i = 0; i < count; i++) {
        struct psim_platform platform = read_cluster(names[i]);
        const char *odd = odd_link(&platform);

        assert_string_equal(platform.name, names[i]);
        assert_true(platform.device_count > 0);
        if (odd != NULL)
            fail_msg("%s: link \"%s\"", names[i], odd);
        psim_platform_release(&platform);
    }
    psim_arena_release(&arena);
}

/* A platform of two A100 in a node and a switch outside, whose links have the given figures. */
static const char *odd_link_of(double inside_bytes_per_s, double outside_bytes_per_s,
                               double latency_s)
{
    struct psim_device_type type = {.device = {.name = "A100-SXM4-80GB"}};
    struct psim_vertex vertices[] = {{.name = "a", .device_type = 0, .node = 0},
                                     {.name = "b", .device_type = 0, .node = 0},
                                     {.name = "s", .device_type = -1, .node = -1}};
    struct psim_link links[] = {{.name = "inside",
                                 .from = 0,
                                 .to = 1,
                                 .bandwidth_bytes_per_s = inside_bytes_per_s,
                                 .latency_s = latency_s},
                                {.name = "outside",
                                 .from = 0,
                                 .to = 2,
                                 .bandwidth_bytes_per_s = outside_bytes_per_s,
                                 .latency_s = latency_s}};
    const struct psim_platform platform = {.types = &type,
                                           .type_count = 1,
                                           .vertices = vertices,
                                           .vertex_count = 3,
                                           .links = links,
                                           .link_count = 2};

    return odd_link(&platform);
}

static void links_with_mistaken_units_are_noticed(void **state)
{
    (void)state;
    assert_null(odd_link_of(276e9, 25e9, 2e-6));
    assert_null(odd_link_of(INFINITY, 25e9, 2e-6));
    assert_string_equal(odd_link_of(600e9, 25e9, 2e-6), "inside");   /* both directions */
    assert_string_equal(odd_link_of(276e9, 200e9, 2e-6), "outside"); /* GB/s for Gb/s */
    assert_string_equal(odd_link_of(276e9, 25e9, 2e-3), "inside");   /* ms for us */
    assert_string_equal(odd_link_of(276e9, 25e9, NAN), "inside");
    assert_string_equal(odd_link_of(NAN, 25e9, 2e-6), "inside");
}

static void clusters_have_the_devices_their_names_say(void **state)
{
    static const struct {
        const char *name;
        int devices;
    } sizes[] = {{"dgx-1-v100", 8},       {"dgx-2", 16},       {"gb200-nvl72", 72},
                 {"4x8-a100-opa100", 32}, {"selene-80", 640},  {"mi300x-x8", 8},
                 {"tpu-v4-4x4x4", 64},    {"pipedream-a", 16}, {"workstation-4x-rtx-4090", 4},
                 {"h100-10752", 10752}};

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct psim_platform platform = read_cluster(sizes[i].name);

        assert_int_equal(platform.device_count, sizes[i].devices);
        psim_platform_release(&platform);
    }
}

/* --- prices ---------------------------------------------------------------------------------- */

static void clusters_of_a_cloud_have_their_price_and_its_date(void **state)
{
    struct psim_platform rented = read_cluster("aws-p4de-24xlarge-x2");
    struct psim_platform owned = read_cluster("dgx-h100-x4");

    (void)state;
    for (int node = 0; node < 2; node++) {
        const struct psim_price *price = psim_platform_node_price(&rented, node);

        assert_non_null(price);
        check_near(price->usd_per_hour, 27.44705, 1e-12);
        assert_string_equal(price->date, "2026-11-09");
        check_contains(price->source, "on demand");
    }
    assert_null(psim_platform_node_price(&rented, 2));
    assert_null(psim_platform_node_price(&owned, 0));
    psim_platform_release(&rented);
    psim_platform_release(&owned);
}

static void a_price_holds_for_its_nodes_alone(void **state)
{
    const struct psim_price dear = {true, 98.5, "2026-11-09", "a list"};
    const struct psim_price cheap = {true, 0.5, "2026-11-09", "a list"};
    const struct psim_price *const prices[] = {&dear, &dear, &cheap, NULL, &dear};
    struct psim_platform platform;

    (void)state;
    assert_int_equal(psim_platform_init(&platform, "p", NULL), PSIM_OK);
    for (int node = 0; node < 5; node++) {
        if (prices[node] != NULL)
            assert_int_equal(psim_platform_set_node_price(&platform, node, prices[node], NULL),
                             PSIM_OK);
    }
    for (int node = 0; node < 5; node++) {
        const struct psim_price *price = psim_platform_node_price(&platform, node);

        assert_int_equal(price == NULL, prices[node] == NULL);
        if (price != NULL)
            check_near(price->usd_per_hour, prices[node]->usd_per_hour, 0.0);
    }
    assert_null(psim_platform_node_price(&platform, -1));
    assert_null(psim_platform_node_price(&platform, 5));
    psim_platform_release(&platform);
}

static void chips_rented_one_by_one_have_a_price_of_their_own(void **state)
{
    static struct devices devices;
    int priced = 0;

    (void)state;
    read_devices(&devices);
    for (int i = 0; i < devices.count; i++) {
        const struct psim_price *price = &devices.items[i].price;

        if (strcmp(devices.items[i].name, "TPU-v5p") == 0) {
            assert_true(price->given);
            check_near(price->usd_per_hour, 4.2, 1e-12);
            assert_string_equal(price->date, "2024-12-23");
        }
        priced += price->given ? 1 : 0;
    }
    assert_int_equal(priced, 5);
    psim_arena_release(&devices.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_device_is_read_without_a_word_and_is_plausible),
        cmocka_unit_test(odd_devices_are_noticed),
        cmocka_unit_test(well_known_bf16_peaks_are_the_dense_ones),
        cmocka_unit_test(every_name_and_alias_belongs_to_one_device),
        cmocka_unit_test(a_name_of_two_devices_is_noticed),
        cmocka_unit_test(devices_are_found_under_the_names_people_use),
        cmocka_unit_test(a_device_that_is_not_there_brings_up_a_near_name),
        cmocka_unit_test(every_cluster_is_read_without_a_word_and_is_plausible),
        cmocka_unit_test(links_with_mistaken_units_are_noticed),
        cmocka_unit_test(clusters_have_the_devices_their_names_say),
        cmocka_unit_test(clusters_of_a_cloud_have_their_price_and_its_date),
        cmocka_unit_test(a_price_holds_for_its_nodes_alone),
        cmocka_unit_test(chips_rented_one_by_one_have_a_price_of_their_own),
    };

    return cmocka_run_group_tests_name("catalogue", tests, NULL, NULL);
}

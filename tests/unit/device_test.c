#include "sim/platform/device.h"
#include "tests/support/check.h"

#include <dirent.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 512

/* --- rates and sources ----------------------------------------------------------------------- */

static void set_rate(struct psim_device *device, int kind, int precision, double compute)
{
    device->rates[kind][precision] = (struct psim_rate){
        .given = true, .compute = compute, .memory = 0.5, .launch_s = 1e-6, .norm = 2.0};
}

static void rate_falls_back_in_four_steps(void **state)
{
    struct psim_device device = {.name = "d"};
    char pointer[64];

    (void)state;
    set_rate(&device, PSIM_WORK_GEMM, PSIM_BF16, 0.1);
    set_rate(&device, PSIM_WORK_GEMM, PSIM_ANY_PRECISION, 0.2);
    set_rate(&device, PSIM_WORK_DEFAULT, PSIM_FP16, 0.3);
    set_rate(&device, PSIM_WORK_DEFAULT, PSIM_ANY_PRECISION, 0.4);
    check_near(psim_device_rate(&device, PSIM_WORK_GEMM, PSIM_BF16, pointer)->compute, 0.1, 0.0);
    assert_string_equal(pointer, "/cost/gemm/bf16");
    check_near(psim_device_rate(&device, PSIM_WORK_GEMM, PSIM_FP32, pointer)->compute, 0.2, 0.0);
    assert_string_equal(pointer, "/cost/gemm/any");
    check_near(psim_device_rate(&device, PSIM_WORK_CONVOLUTION, PSIM_FP16, pointer)->compute, 0.3,
               0.0);
    assert_string_equal(pointer, "/cost/default/fp16");
    check_near(psim_device_rate(&device, PSIM_WORK_OPTIMIZER, PSIM_FP32, NULL)->compute, 0.4, 0.0);
    psim_device_rate(&device, PSIM_WORK_OPTIMIZER, PSIM_FP32, pointer);
    assert_string_equal(pointer, "/cost/default/any");
}

static void device_without_rates_has_none(void **state)
{
    const struct psim_device device = {.name = "d"};
    char pointer[64] = "untouched";

    (void)state;
    assert_null(psim_device_rate(&device, PSIM_WORK_GEMM, PSIM_FP32, pointer));
    assert_string_equal(pointer, "untouched");
}

static void source_is_the_longest_pointer_that_covers(void **state)
{
    static const struct psim_source sources[] = {
        {"/cost", PSIM_TAG_ASSUMED, "all"},
        {"/cost/gemm/bf16", PSIM_TAG_MEASURED, "one"},
        {"/cost/gemm", PSIM_TAG_ESTIMATED, "kind"},
        {"/peak/fp", PSIM_TAG_PUBLISHED, "no boundary"},
    };
    const struct psim_device device = {.name = "d", .sources = sources, .source_count = 4};

    (void)state;
    assert_string_equal(psim_device_source(&device, "/cost/gemm/bf16/launch")->source, "one");
    assert_string_equal(psim_device_source(&device, "/cost/gemm/fp32")->source, "kind");
    assert_string_equal(psim_device_source(&device, "/cost/gemm")->source, "kind");
    assert_string_equal(psim_device_source(&device, "/cost/gemm2")->source, "all");
    assert_null(psim_device_source(&device, "/peak/fp32"));
    assert_null(psim_device_source(&device, "/memory"));
}

static void names_follow_the_enumerations(void **state)
{
    (void)state;
    assert_string_equal(psim_work_kind_names[PSIM_WORK_GEMM], "gemm");
    assert_string_equal(psim_work_kind_names[PSIM_WORK_CONVOLUTION], "convolution");
    assert_string_equal(psim_work_kind_names[PSIM_WORK_MEMORY], "memory");
    assert_string_equal(psim_work_kind_names[PSIM_WORK_ATTENTION], "attention");
    assert_string_equal(psim_work_kind_names[PSIM_WORK_OPTIMIZER], "optimizer");
    assert_string_equal(psim_work_kind_names[PSIM_WORK_DEFAULT], "default");
    assert_null(psim_work_kind_names[PSIM_WORK_KINDS]);
    assert_string_equal(psim_tag_names[PSIM_TAG_MEASURED], "measured");
    assert_string_equal(psim_tag_names[PSIM_TAG_ASSUMED], "assumed");
    assert_null(psim_tag_names[PSIM_TAGS]);
}

/* --- the shipped catalogue: every figure names its source ------------------------------------- */

/* Keys that name or describe and are no figures. */
static bool describes(const char *key)
{
    static const char *const keys[] = {"petrasim", "name", "aliases",  "sources",
                                       "kind",     "type", "catalogue"};

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(key, keys[i]) == 0)
            return true;
    }
    return key[0] == '_';
}

static bool known_tag(const char *tag)
{
    for (int i = 0; i < PSIM_TAGS; i++) {
        if (tag != NULL && strcmp(tag, psim_tag_names[i]) == 0)
            return true;
    }
    return false;
}

static bool has_source(json_t *sources, const char *pointer)
{
    char prefix[PATH_BYTES];

    snprintf(prefix, sizeof prefix, "%s", pointer);
    while (prefix[0] != '\0') {
        json_t *entry = json_object_get(sources, prefix);
        const char *text = json_string_value(json_object_get(entry, "source"));

        if (entry != NULL)
            return known_tag(json_string_value(json_object_get(entry, "tag"))) && text != NULL &&
                   strlen(text) > 10;
        *strrchr(prefix, '/') = '\0';
    }
    return false;
}

/* A price says itself when it held and who says so. */
static bool names_its_source(json_t *value)
{
    const char *source = json_string_value(json_object_get(value, "source"));

    return json_object_get(value, "per_hour") != NULL && json_object_get(value, "date") != NULL &&
           source != NULL && strlen(source) > 10;
}

static int figures_without_source(json_t *sources, json_t *value, const char *pointer);

static int count_members(json_t *sources, json_t *value, const char *pointer)
{
    char inner[PATH_BYTES];
    const char *key;
    json_t *item;
    int missing = 0;

    json_object_foreach(value, key, item)
    {
        snprintf(inner, sizeof inner, "%s/%s", pointer, key);
        if (!describes(key))
            missing += figures_without_source(sources, item, inner);
    }
    return missing;
}

/* How many figures under `value` no source covers; prints each. */
static int figures_without_source(json_t *sources, json_t *value, const char *pointer)
{
    char inner[PATH_BYTES];
    int missing = 0;

    if (json_is_object(value))
        return names_its_source(value) ? 0 : count_members(sources, value, pointer);
    if (json_is_array(value)) {
        for (size_t i = 0; i < json_array_size(value); i++) {
            snprintf(inner, sizeof inner, "%s/%zu", pointer, i);
            missing += figures_without_source(sources, json_array_get(value, i), inner);
        }
        return missing;
    }
    if (json_is_null(value) || has_source(sources, pointer))
        return 0;
    print_message("no source for %s\n", pointer);
    return 1;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), tail = strlen(end);

    return length > tail && strcmp(text + length - tail, end) == 0;
}

/* How many files of a catalogue folder were checked; fails on the first fault. */
static int check_folder(const char *folder, const char *kind, const char *sources_key)
{
    char path[PATH_BYTES];
    DIR *directory = opendir(folder);
    const struct dirent *entry;
    int files = 0;

    assert_non_null(directory);
    while ((entry = readdir(directory)) != NULL) {
        json_error_t error;
        json_t *root;

        if (!ends_with(entry->d_name, ".json"))
            continue;
        snprintf(path, sizeof path, "%s/%.255s", folder, entry->d_name);
        root = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
        if (root == NULL)
            print_error("%s:%d: %s\n", path, error.line, error.text);
        assert_non_null(root);
        assert_string_equal(json_string_value(json_object_get(root, "petrasim")), kind);
        if (figures_without_source(json_object_get(root, sources_key), root, "") > 0) {
            print_error("%s has figures without a source\n", path);
            fail();
        }
        json_decref(root);
        files++;
    }
    closedir(directory);
    return files;
}

static void every_shipped_device_figure_names_its_source(void **state)
{
    (void)state;
    assert_true(check_folder(PSIM_SOURCE_DIR "/platforms/devices", "device/1", "sources") >= 31);
}

static void every_shipped_cluster_figure_names_its_source(void **state)
{
    (void)state;
    assert_true(check_folder(PSIM_SOURCE_DIR "/platforms/clusters", "platform/1", "_sources") >=
                40);
}

static int count_missing(const char *text)
{
    json_t *root = json_loads(text, 0, NULL);
    const int missing = figures_without_source(json_object_get(root, "sources"), root, "");

    assert_non_null(root);
    json_decref(root);
    return missing;
}

static void figure_without_a_good_source_is_noticed(void **state)
{
    (void)state;
    assert_int_equal(count_missing("{\"name\": \"d\", \"memory\": \"1 GB\", \"sources\": {"
                                   "\"/memory\": {\"tag\": \"assumed\", \"source\": "
                                   "\"a choice made here\"}}}"),
                     0);
    assert_int_equal(count_missing("{\"memory\": \"1 GB\", \"sources\": {}}"), 1);
    assert_int_equal(count_missing("{\"memory\": \"1 GB\", \"sources\": {"
                                   "\"/memory\": {\"tag\": \"guessed\", \"source\": "
                                   "\"a choice made here\"}}}"),
                     1);
    assert_int_equal(count_missing("{\"memory\": \"1 GB\", \"sources\": {"
                                   "\"/memory\": {\"tag\": \"assumed\", \"source\": \"\"}}}"),
                     1);
    assert_int_equal(count_missing("{\"peak\": {\"fp32\": \"1 TFLOP/s\", \"tf32\": null},"
                                   "\"nodes\": [{\"count\": 3}], \"sources\": {"
                                   "\"/pea\": {\"tag\": \"assumed\", \"source\": "
                                   "\"a choice made here\"}}}"),
                     2);
    assert_int_equal(count_missing("{\"price\": {\"per_hour\": \"1 USD/h\", \"date\": "
                                   "\"2026-11-09\", \"source\": \"a price list of one\"},"
                                   "\"sources\": {}}"),
                     0);
    assert_int_equal(count_missing("{\"price\": {\"per_hour\": \"1 USD/h\", \"source\": "
                                   "\"a price list of one\"}, \"sources\": {}}"),
                     2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rate_falls_back_in_four_steps),
        cmocka_unit_test(device_without_rates_has_none),
        cmocka_unit_test(source_is_the_longest_pointer_that_covers),
        cmocka_unit_test(names_follow_the_enumerations),
        cmocka_unit_test(every_shipped_device_figure_names_its_source),
        cmocka_unit_test(every_shipped_cluster_figure_names_its_source),
        cmocka_unit_test(figure_without_a_good_source_is_noticed),
    };

    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}

/*
 * What readers make of valid files: values, defaults, units, catalogue, hash; and that a failing
 * allocation anywhere ends in PSIM_ERR_NOMEM with nothing left behind.
 */
#include "sim/config/scenario.h"

#include "tests/support/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define DATA PSIM_SOURCE_DIR "/tests/data/config"

static const struct psim_catalogue catalogue = {DATA "/catalogue"};

static struct psim_scenario read_valid(const char *name)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_scenario scenario;
    char path[256];

    snprintf(path, sizeof path, DATA "/valid/%s", name);
    assert_int_equal(psim_scenario_read(path, &catalogue, &scenario, &list), PSIM_OK);
    assert_int_equal(list.count, 0);
    psim_diagnostics_release(&list);
    return scenario;
}

static void defaults_are_filled_in(void **state)
{
    struct psim_scenario scenario = read_valid("minimal.json");
    const struct psim_given_stage *stage = scenario.model->given;

    (void)state;
    assert_int_equal(scenario.workload.microbatch, 1);
    assert_int_equal(scenario.accumulation, 1);
    assert_int_equal(scenario.workload.precision, PSIM_FP32);
    assert_int_equal(scenario.workload.optimizer, PSIM_SGD_MOMENTUM);
    assert_int_equal(scenario.workload.partition, PSIM_PARTITION_PER_BLOCK);
    assert_null(scenario.workload.placement);
    assert_int_equal(scenario.engine, PSIM_ENGINE_SIMGRID);
    assert_int_equal(scenario.accounting, PSIM_ACCOUNTING_FULL);
    assert_string_equal(scenario.baseline, "backprop");
    assert_int_equal(scenario.seed, 1);
    assert_false(scenario.memory_fail);
    assert_string_equal(scenario.model->name, "stages");
    assert_null(scenario.model->network);
    assert_int_equal(scenario.model->given_count, 1);
    assert_string_equal(stage->name, "stage1");
    check_near(stage->forward_s, 1.0, 0.0);
    check_near(stage->reconstruct_s, 1.0, 0.0);
    check_near(stage->backward_input_s, 1.0, 0.0);
    check_near(stage->backward_weight_s, 1.0, 0.0);
    check_near(stage->update_s, 0.0, 0.0);
    assert_int_equal(stage->input_bytes, 1000000);
    assert_int_equal(stage->parameter_bytes, 0);
    assert_int_equal(stage->graph_bytes, 0);
    assert_false(stage->reversible);
    assert_null(stage->measured_on);
    psim_scenario_release(&scenario);
}

static int64_t option(const struct psim_scenario_method *row, const char *name)
{
    return psim_method_option(row->method, &row->shape, name);
}

static void everything_given_is_taken(void **state)
{
    struct psim_scenario scenario = read_valid("full.json");
    const struct psim_scenario_method *rows = scenario.methods;

    (void)state;
    assert_int_equal(scenario.workload.microbatch, 64);
    assert_int_equal(scenario.accumulation, 8);
    assert_int_equal(scenario.workload.precision, PSIM_FP16);
    assert_int_equal(scenario.workload.optimizer, PSIM_ADAMW);
    assert_int_equal(scenario.workload.partition, PSIM_PARTITION_BALANCED);
    assert_int_equal(scenario.engine, PSIM_ENGINE_REPLAY);
    assert_int_equal(scenario.accounting, PSIM_ACCOUNTING_PAPER);
    assert_string_equal(scenario.baseline, "petra on a file");
    assert_true(scenario.seed == UINT64_C(9007199254740992));
    assert_true(scenario.memory_fail);
    assert_string_equal(scenario.model->name, "revnet50");
    assert_string_equal(scenario.platform.name, "three nodes");
    assert_string_equal(scenario.platform_file, DATA "/valid/nodes.json");
    assert_int_equal(scenario.platform.device_count, 20);
    assert_int_equal(scenario.method_count, 7);
    assert_string_equal(rows[1].label, "baseline");
    assert_string_equal(rows[1].method->name, "reversible_backprop");
    assert_int_equal(rows[1].shape.accumulation, 8);
    assert_int_equal(rows[3].shape.accumulation, 16);
    assert_int_equal(option(&rows[3], "accumulation"), 16);
    assert_int_equal(option(&rows[3], "overlap"), PSIM_OVERLAP_IDEAL);
    assert_int_equal(option(&rows[3], "stash_parameters"), 1);
    assert_int_equal(option(&rows[4], "accumulation"), 8);
    assert_int_equal(option(&rows[4], "overlap"), PSIM_OVERLAP_SHARED);
    assert_ptr_equal(rows[3].model, scenario.model);
    assert_string_equal(rows[4].model->name, "tiny-revnet");
    assert_int_equal(rows[4].model->network->block_count, 5);
    assert_int_equal(rows[4].shape.streams, 2);
    assert_int_equal(rows[5].shape.streams, 1);
    assert_ptr_equal(rows[5].model, rows[6].model);
    assert_string_equal(rows[4].path, ".methods[4]");
    assert_int_equal(rows[4].position.line, 7);
    assert_int_equal(rows[4].position.column, 15);
    assert_string_equal(rows[4].position.file, DATA "/valid/full.json");
    assert_int_equal(scenario.platform_position.line, 3);
    assert_int_equal(scenario.partition_position.column, 59);
    psim_scenario_release(&scenario);
}

static void given_stages_are_unrolled_and_placed(void **state)
{
    struct psim_scenario scenario = read_valid("stages.json");
    const struct psim_workload_model *model = scenario.model;

    (void)state;
    assert_int_equal(model->given_count, 5);
    assert_string_equal(model->given[0].name, "first");
    assert_string_equal(model->given[1].name, "mid1");
    assert_string_equal(model->given[3].name, "mid3");
    assert_string_equal(model->given[4].name, "stage5");
    check_near(model->given[0].backward_input_s, 12e-3, 0.0);
    check_near(model->given[0].backward_weight_s, 8e-3, 0.0);
    check_near(model->given[0].reconstruct_s, 10e-3, 0.0);
    check_near(model->given[0].update_s, 1e-3, 0.0);
    check_near(model->given[2].backward_input_s, 10e-3, 0.0);
    check_near(model->given[2].reconstruct_s, 11e-3, 0.0);
    assert_int_equal(model->given[2].input_bytes, 1500000);
    assert_true(model->given[2].reversible);
    assert_string_equal(model->given[2].measured_on->name, "TEST-SLOW");
    assert_ptr_equal(model->given[1].measured_on, model->given[3].measured_on);
    assert_int_equal(model->output_bytes, 4);
    assert_int_equal(scenario.workload.microbatch, 1000);
    assert_int_equal(scenario.workload.partition, PSIM_PARTITION_LIST);
    assert_int_equal(scenario.workload.partition_count, 3);
    assert_int_equal(scenario.workload.partition_list[2], 2);
    assert_int_equal(scenario.workload.placement_count, 3);
    assert_int_equal(scenario.workload.placement[0], 19);
    assert_int_equal(scenario.workload.placement[1], 0);
    assert_string_equal(psim_platform_device_name(&scenario.platform, 10), "node1.gpu3");
    assert_int_equal(scenario.workload.placement[2], 10);
    assert_string_equal(scenario.baseline, "reversible_backprop");
    assert_int_equal(scenario.methods[0].shape.streams, 2);
    psim_scenario_release(&scenario);
}

static void device_figures_are_in_base_units(void **state)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_arena arena = PSIM_ARENA_INIT;
    struct psim_device device;
    const struct psim_rate *rate;

    (void)state;
    assert_int_equal(psim_device_read(DATA "/valid/device.json", &arena, &device, &list), PSIM_OK);
    assert_string_equal(device.name, "mine");
    assert_int_equal(device.alias_count, 2);
    assert_string_equal(device.aliases[1], "m\xC3\xBCnchen");
    assert_true(device.memory_bytes == INT64_C(24) << 30);
    check_near(device.memory_bandwidth_bytes_per_s, 936e9, 0.0);
    check_near(device.peak_flop_per_s[PSIM_FP32], 35.6e12, 0.0);
    assert_true(isnan(device.peak_flop_per_s[PSIM_TF32]));
    assert_true(isnan(device.peak_flop_per_s[PSIM_BF16]));
    rate = &device.rates[PSIM_WORK_GEMM][PSIM_FP16];
    assert_true(rate->given);
    check_near(rate->compute, 0.85, 0.0);
    check_near(rate->memory, 0.8, 0.0);
    check_near(rate->launch_s, 5e-6, 0.0);
    check_near(rate->norm, 1.5, 0.0);
    check_near(device.rates[PSIM_WORK_MEMORY][PSIM_ANY_PRECISION].launch_s, 4e-6, 0.0);
    assert_false(device.rates[PSIM_WORK_ATTENTION][PSIM_ANY_PRECISION].given);
    check_near(device.concurrency_gain, 0.1, 0.0);
    assert_int_equal(device.reserve_context_bytes, 500 << 20);
    assert_int_equal(device.reserve_workspace_bytes, 64 << 20);
    check_near(device.reserve_fragmentation, 0.05, 0.0);
    check_near(device.idle_w, 25.0, 0.0);
    check_near(device.busy_w, 350.0, 0.0);
    assert_int_equal(device.source_count, 3);
    assert_int_equal(device.sources[1].tag, PSIM_TAG_MEASURED);
    assert_string_equal(device.sources[1].pointer, "/cost/gemm/fp16/compute");
    psim_arena_release(&arena);
    psim_diagnostics_release(&list);
}

static struct psim_platform read_platform(const char *name)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_platform platform;
    char path[256];

    snprintf(path, sizeof path, DATA "/valid/%s", name);
    assert_int_equal(psim_platform_read(path, &catalogue, &platform, &list), PSIM_OK);
    psim_diagnostics_release(&list);
    return platform;
}

static void free_graph_keeps_its_links(void **state)
{
    struct psim_platform platform = read_platform("graph.json");

    (void)state;
    assert_int_equal(platform.device_count, 2);
    assert_int_equal(platform.vertex_count, 3);
    assert_int_equal(platform.link_count, 2);
    assert_string_equal(platform.links[0].name, "la");
    check_near(platform.links[0].bandwidth_bytes_per_s, 25e9, 0.0);
    check_near(platform.links[0].latency_s, 1e-6, 0.0);
    assert_int_equal(platform.links[0].sharing, PSIM_DUPLEX);
    check_near(platform.links[1].latency_s, 0.0, 0.0);
    assert_int_equal(platform.links[1].sharing, PSIM_SHARED);
    assert_true(platform.hosts_forward);
    psim_platform_release(&platform);
}

static void nodes_are_expanded_named_and_trimmed(void **state)
{
    struct psim_platform platform = read_platform("nodes.json");
    struct psim_route route;

    (void)state;
    assert_int_equal(platform.device_count, 20);
    assert_string_equal(psim_platform_device_name(&platform, 0), "node0.gpu0");
    assert_string_equal(psim_platform_device_name(&platform, 19), "node2.gpu5");
    assert_string_equal(psim_platform_device(&platform, 5)->name, "TEST-FAST");
    assert_string_equal(psim_platform_device(&platform, 6)->name, "mine");
    assert_string_equal(platform.types[1].alias, "my-own");
    assert_int_equal(psim_platform_find_device(&platform, "lone.gpu0"), -1);
    assert_int_equal(psim_platform_route(&platform, 0, 19, &route, NULL), PSIM_OK);
    check_near(route.bandwidth_bytes_per_s, 25e9, 0.0);
    check_near(route.latency_s, 5e-6, 1e-12); /* two NICs and the switch between them */
    psim_route_release(&route);
    psim_platform_release(&platform);
}

static void devices_of_both_forms_are_in_file_order(void **state)
{
    struct psim_platform platform = read_platform("mixed.json");

    (void)state;
    assert_int_equal(platform.device_count, 3);
    assert_string_equal(psim_platform_device_name(&platform, 0), "front");
    assert_string_equal(psim_platform_device_name(&platform, 1), "n.gpu0");
    psim_platform_release(&platform);
}

static void interconnect_keys_reach_the_tree(void **state)
{
    struct psim_platform platform = read_platform("pcie.json");
    int uplinks = 0;

    (void)state;
    for (int i = 0; i < platform.link_count; i++)
        uplinks += strstr(platform.links[i].name, ".uplink") != NULL ? 1 : 0;
    assert_int_equal(uplinks, 4); /* eight devices, two a switch */
    psim_platform_release(&platform);
}

static void layers_get_the_documented_defaults(void **state)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_network network;
    const struct psim_layer *layers;

    (void)state;
    assert_int_equal(psim_network_read(DATA "/valid/layers.json", &network, &list), PSIM_OK);
    layers = network.blocks[0].layers;
    assert_int_equal(network.streams, 1);
    assert_int_equal(layers[0].stride, 1);
    assert_int_equal(layers[0].pad, 0);
    assert_true(layers[0].bias);
    assert_int_equal(layers[2].stride, 2); /* a pool's window does not overlap */
    assert_false(network.blocks[1].layers[0].bias);
    assert_int_equal(network.parameters, 8 * 25 + 8 + 8 * 12 * 12 * 10);
    psim_network_release(&network);
    psim_diagnostics_release(&list);
}

static void wrong_kind_is_an_error_at_the_kind(void **state)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_scenario scenario = {.file = "untouched"};

    (void)state;
    assert_int_equal(psim_scenario_read(DATA "/valid/graph.json", &catalogue, &scenario, &list),
                     PSIM_ERR_SCHEMA);
    assert_string_equal(scenario.file, "untouched");
    assert_int_equal(list.count, 1);
    assert_string_equal(
        psim_diagnostic_line(&list, 0), DATA
        "/valid/graph.json:1:15: error: .petrasim: this is a platform/1 file; a scenario/1 file is "
        "expected");
    psim_diagnostics_release(&list);
}

static void earlier_entries_of_the_list_stay_first(void **state)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_network network;

    (void)state;
    psim_diagnose(&list, PSIM_OK, (struct psim_position){"zzz", 9, 9}, "", NULL, "a warning");
    assert_int_equal(psim_network_read(DATA "/invalid/model_file/input.json", &network, &list),
                     PSIM_ERR_SCHEMA);
    assert_string_equal(list.items[0].message, "a warning");
    for (size_t i = 2; i < list.count; i++)
        assert_true(list.items[i - 1].at.line <= list.items[i].at.line);
    psim_diagnostics_release(&list);
}

static void find(const char *name, enum psim_status status, const char *part)
{
    struct psim_arena arena = PSIM_ARENA_INIT;
    struct psim_error err = PSIM_ERROR_INIT;
    const char *file = "untouched";

    assert_int_equal(psim_catalogue_find_device(&catalogue, name, &arena, &file, &err), status);
    check_contains(status == PSIM_OK ? file : err.message, part);
    if (status != PSIM_OK)
        assert_string_equal(file, "untouched");
    psim_arena_release(&arena);
}

static void devices_are_found_by_file_name_name_and_alias(void **state)
{
    (void)state;
    find("TEST-FAST", PSIM_OK, "/catalogue/devices/TEST-FAST.json");
    find("test-slow", PSIM_OK, "TEST-SLOW.json");
    find("SPEEDY", PSIM_OK, "TEST-FAST.json");
    find("TEST-FASR", PSIM_ERR_NOTFOUND, "did you mean \"TEST-FAST\"?");
    find("nothing like it", PSIM_ERR_NOTFOUND, "no device \"nothing like it\"");
}

static void catalogue_without_its_folder_is_an_error(void **state)
{
    static const struct psim_catalogue nowhere = {"/nonexistent/platforms"};
    struct psim_arena arena = PSIM_ARENA_INIT;
    struct psim_error err = PSIM_ERROR_INIT;
    const char *const *names = NULL;
    const char *file;
    int count = -1;

    (void)state;
    assert_int_equal(psim_catalogue_find_device(&nowhere, "x", &arena, &file, &err), PSIM_ERR_IO);
    err = (struct psim_error)PSIM_ERROR_INIT;
    assert_int_equal(psim_catalogue_list(&nowhere, "clusters", &arena, &names, &count, &err),
                     PSIM_ERR_IO);
    check_contains(err.message, "/nonexistent/platforms/clusters");
    assert_int_equal(count, -1);
    psim_arena_release(&arena);
}

static void catalogue_entries_are_listed_in_order(void **state)
{
    struct psim_arena arena = PSIM_ARENA_INIT;
    const char *const *names;
    int count;

    (void)state;
    assert_int_equal(psim_catalogue_list(&catalogue, "devices", &arena, &names, &count, NULL),
                     PSIM_OK);
    assert_int_equal(count, 3);
    assert_string_equal(names[0], "TEST-FAST");
    assert_string_equal(names[1], "TEST-SLOW");
    assert_string_equal(names[2], "broken");
    assert_null(names[3]);
    psim_arena_release(&arena);
}

/* coreutils' sha256sum over the same bytes, in the documented order of reading. */
static void hash_covers_all_files_in_reading_order(void **state)
{
    struct psim_scenario scenario = read_valid("minimal.json");
    char line[128] = "";
    FILE *pipe = popen("cd '" DATA "' && cat valid/minimal.json valid/graph.json "
                       "catalogue/devices/TEST-FAST.json | sha256sum",
                       "r");

    (void)state;
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof line, pipe));
    pclose(pipe);
    assert_int_equal(strcspn(line, " "), 64);
    line[64] = '\0';
    assert_string_equal(scenario.inputs_sha256, line);
    psim_scenario_release(&scenario);
}

static void any_kind_is_checked_by_what_it_says(void **state)
{
    static const struct {
        const char *file, *kind;
    } cases[] = {{"full.json", "scenario"},
                 {"mixed.json", "platform"},
                 {"device.json", "device"},
                 {"revnet.json", "model"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
        const char *kind = NULL;
        char path[256];

        snprintf(path, sizeof path, DATA "/valid/%s", cases[i].file);
        assert_int_equal(psim_file_check(path, &catalogue, &kind, &list), PSIM_OK);
        assert_string_equal(kind, cases[i].kind);
        psim_diagnostics_release(&list);
    }
}

/* ---- Allocation failures ---- */

static enum psim_status check_with_failure_at(const char *path, unsigned long n)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    enum psim_status status;
    const char *kind;

    psim_alloc_fail_at(n);
    status = psim_file_check(path, &catalogue, &kind, &list);
    psim_alloc_fail_at(0);
    assert_int_equal(status == PSIM_OK, list.errors == 0);
    psim_diagnostics_release(&list);
    return status;
}

/* Reads with the n-th allocation failing, n = 1, 2, ..., until nothing fails any more: from there
 * on everything must succeed, else a failure before was passed over. */
static void exhaust(const char *name, unsigned long at_least)
{
    unsigned long n = 1;
    char path[256];

    snprintf(path, sizeof path, DATA "/valid/%s", name);
    for (;; n++) {
        const enum psim_status status = check_with_failure_at(path, n);

        if (status == PSIM_OK)
            break;
        if (status != PSIM_ERR_NOMEM)
            fail_msg("%s, allocation %lu: status %d", name, n, status);
    }
    assert_true(n > at_least);
    for (unsigned long more = 1; more <= 30; more++)
        assert_int_equal(check_with_failure_at(path, n + more), PSIM_OK);
}

/* Jansson's own allocations are left out: version 2.14 does not look whether its token buffer could
 * grow (strbuffer_append_byte in load.c), so it decodes wrongly or writes past the end there. */
static void any_failing_allocation_ends_in_out_of_memory(void **state)
{
    (void)state;
    exhaust("minimal.json", 20);
    exhaust("stages.json", 50);
    exhaust("full.json", 100);
    exhaust("device.json", 4);
    exhaust("mixed.json", 15);
    exhaust("pcie.json", 15);
    exhaust("revnet.json", 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_filled_in),
        cmocka_unit_test(everything_given_is_taken),
        cmocka_unit_test(given_stages_are_unrolled_and_placed),
        cmocka_unit_test(device_figures_are_in_base_units),
        cmocka_unit_test(free_graph_keeps_its_links),
        cmocka_unit_test(nodes_are_expanded_named_and_trimmed),
        cmocka_unit_test(devices_of_both_forms_are_in_file_order),
        cmocka_unit_test(interconnect_keys_reach_the_tree),
        cmocka_unit_test(layers_get_the_documented_defaults),
        cmocka_unit_test(wrong_kind_is_an_error_at_the_kind),
        cmocka_unit_test(earlier_entries_of_the_list_stay_first),
        cmocka_unit_test(devices_are_found_by_file_name_name_and_alias),
        cmocka_unit_test(catalogue_without_its_folder_is_an_error),
        cmocka_unit_test(catalogue_entries_are_listed_in_order),
        cmocka_unit_test(hash_covers_all_files_in_reading_order),
        cmocka_unit_test(any_kind_is_checked_by_what_it_says),
        cmocka_unit_test(any_failing_allocation_ends_in_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Files of other tools: one complete example of each kind becomes what the readers accept, with the
 * figures that the example's form implies; platforms go to SimGrid and come back.
 */
#include "sim/import/importer.h"

#include "sim/config/scenario.h"
#include "sim/import/simgrid_export.h"

#include "tests/support/check.h"
#include "tests/support/importing.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct psim_platform import_example(const char *kind, const char *device)
{
    char *text = test_import_example(kind);
    struct psim_platform platform = test_import_platform(kind, device, text);

    free(text);
    return platform;
}

static const struct psim_link *link_named(const struct psim_platform *platform, const char *name)
{
    for (int i = 0; i < platform->link_count; i++) {
        if (strcmp(platform->links[i].name, name) == 0)
            return &platform->links[i];
    }
    fail_msg("no link \"%s\"", name);
    return NULL;
}

static void check_link(const struct psim_platform *platform, const char *name,
                       double bandwidth_bytes_per_s, double latency_s)
{
    const struct psim_link *link = link_named(platform, name);

    check_near(link->bandwidth_bytes_per_s, bandwidth_bytes_per_s, 1e-12);
    check_near(link->latency_s, latency_s, 1e-12);
}

static void check_route(const struct psim_platform *platform, const char *from, const char *to,
                        double bandwidth_bytes_per_s, double latency_s)
{
    struct psim_route route;

    assert_int_equal(psim_platform_route(platform, psim_platform_find_device(platform, from),
                                         psim_platform_find_device(platform, to), &route, NULL),
                     PSIM_OK);
    check_near(route.bandwidth_bytes_per_s, bandwidth_bytes_per_s, 1e-12);
    check_near(route.latency_s, latency_s, 1e-12);
    psim_route_release(&route);
}

/* ---- nvidia-smi topo -m ---- */

/* DGX-1: 8 GPUs x 4 neighbours / 2 = 16 NVLink edges; 12 devices behind 4 PCIe switches, those
 * behind 2 sockets, joined by one vertex: 12 + 4 + 2 links. */
static void hybrid_cube_mesh_has_its_edges_and_a_pcie_tree(void **state)
{
    struct psim_platform platform = import_example("nvidia_smi_topo", "V100-SXM2-16GB");

    (void)state;
    assert_int_equal(platform.device_count, 8);
    assert_int_equal(platform.vertex_count, 8 + 4 + 4 + 2 + 1);
    assert_int_equal(platform.link_count, 16 + 18);
    check_link(&platform, "GPU0-GPU1", 20e9, 2e-6);
    check_link(&platform, "GPU0-GPU3", 40e9, 2e-6);
    check_link(&platform, "GPU7-pix3", 12e9, 2.85e-6);
    check_link(&platform, "mlx5_3-pix3", 12e9, 2.85e-6);
    check_link(&platform, "pix3-node1", 12e9, 5.7e-6);
    check_link(&platform, "node0-sys0", 10e9, 5.7e-6);
    check_route(&platform, "GPU0", "GPU3", 40e9, 2e-6);
    /* No edge of its own, but two over a neighbour. */
    check_route(&platform, "GPU0", "GPU5", 20e9, 4e-6);
    assert_string_equal(psim_platform_device(&platform, 7)->name, "V100-SXM2-16GB");
    psim_platform_release(&platform);
}

static void all_links_to_every_gpu_are_one_nvswitch(void **state)
{
    struct psim_platform platform =
        test_import_platform("nvidia_smi_topo", "A100",
                             "$ nvidia-smi topo -m\n      GPU0 GPU1 GPU2  CPU Affinity\r\n"
                             "GPU0  X    NV12 NV12  0-31\r\nGPU1  NV12 X    NV12  0-31\r\n"
                             "GPU2  NV12 NV12 X     0-31\r\n");

    (void)state;
    assert_int_equal(platform.vertex_count, 4);
    assert_int_equal(platform.link_count, 3);
    check_link(&platform, "GPU2-nvswitch", 276e9, 1e-6);
    check_route(&platform, "GPU0", "GPU2", 276e9, 2e-6);
    psim_platform_release(&platform);
}

/* HGX with 4 A100: 4 of 12 links to each of 3 neighbours. */
static void part_of_the_links_to_every_gpu_is_a_mesh(void **state)
{
    struct psim_platform platform =
        test_import_platform("nvidia_smi_topo", "A100",
                             "GPU0 GPU1 GPU2 GPU3\nGPU0 X NV4 NV4 NV4\nGPU1 NV4 X NV4 NV4\n"
                             "GPU2 NV4 NV4 X NV4\nGPU3 NV4 NV4 NV4 X\n");

    (void)state;
    assert_int_equal(platform.vertex_count, 4);
    assert_int_equal(platform.link_count, 6);
    check_link(&platform, "GPU1-GPU3", 92e9, 2e-6);
    psim_platform_release(&platform);
}

/* Three switches crossed: 3 x 5.7 us. */
static void pcie_classes_nest(void **state)
{
    struct psim_platform platform =
        test_import_platform("nvidia_smi_topo", "P40",
                             "GPU0 GPU1 GPU2\nGPU0 X PIX PHB\nGPU1 PIX X PHB\nGPU2 PHB PHB X\n");

    (void)state;
    assert_int_equal(platform.vertex_count, 5);
    check_route(&platform, "GPU0", "GPU1", 12e9, 5.7e-6);
    check_route(&platform, "GPU0", "GPU2", 12e9, 2 * 5.7e-6);
    psim_platform_release(&platform);
}

/* ---- NCCL topology ---- */

/* 4 GPUs, 2 CPUs, 2 bridges, 2 adapters, 2 ports; 8 PCIe links, 2 to ports, 1 between CPUs, and
 * every one of 6 pairs of GPUs. */
static void nccl_topology_keeps_every_level(void **state)
{
    struct psim_platform platform = import_example("nccl_topo", "V100-SXM2-16GB");

    (void)state;
    assert_int_equal(platform.device_count, 4);
    assert_int_equal(platform.vertex_count, 12);
    assert_int_equal(platform.link_count, 8 + 2 + 1 + 6);
    check_link(&platform, "gpu0-gpu3", 40e9, 2e-6);
    check_link(&platform, "gpu1-0000:18:00.0", 12e9, 2.85e-6);
    check_link(&platform, "0000:d4:00.0-cpu1", 12e9, 5.7e-6);
    check_link(&platform, "mlx5_1-0000:d8:00.0", 12.5e9, 0.5e-6);
    check_link(&platform, "cpu0-cpu1", 10e9, 5.7e-6);
    psim_platform_release(&platform);
}

#define NVSWITCH_GPU(bus, dev)                                                                     \
    "<pci busid='" bus "' class='0x030200' link_speed='32 GT/s' link_width='8'>"                   \
    "<gpu dev='" dev "' sm='90'><nvlink target='a' count='10' tclass='0x068000'/>"                 \
    "<nvlink target='b' count='8' tclass='0x068000'/></gpu></pci>"

static void nvswitch_chips_are_one_switch(void **state)
{
    struct psim_platform platform = test_import_platform(
        "nccl_topo", "H100",
        "<system version='1'><cpu numaid='0' vendor='AuthenticAMD'>" NVSWITCH_GPU("1", "0")
            NVSWITCH_GPU("2", "1") "</cpu></system>");

    (void)state;
    assert_int_equal(platform.vertex_count, 4);
    assert_int_equal(platform.link_count, 4);
    check_link(&platform, "gpu1-nvswitch", 18 * 22e9, 1e-6);
    /* Half the lanes of 55.4 GB/s. */
    check_link(&platform, "gpu0-cpu0", 27.7e9, 2.85e-6);
    psim_platform_release(&platform);
}

/* ---- SimGrid ---- */

static void simgrid_routes_show_where_links_meet(void **state)
{
    struct psim_platform platform = import_example("simgrid_xml", "V100-SXM2-16GB");

    (void)state;
    assert_int_equal(platform.device_count, 4);
    assert_int_equal(platform.vertex_count, 6);
    assert_int_equal(platform.link_count, 5);
    check_link(&platform, "s1", 1.25e9, 10e-6);
    check_link(&platform, "trunk", 500e6, 50e-6);
    assert_int_equal(link_named(&platform, "trunk")->sharing, PSIM_SHARED);
    assert_int_equal(link_named(&platform, "n2")->sharing, PSIM_DUPLEX);
    check_route(&platform, "north-1", "north-2", 1.25e9, 20e-6);
    check_route(&platform, "north-1", "south-2", 500e6, 70e-6);
    assert_string_equal(psim_platform_device(&platform, 0)->name, "V100-SXM2-16GB");
    assert_string_equal(psim_platform_device(&platform, 3)->name, "A100-SXM4-80GB");
    psim_platform_release(&platform);
}

static void simgrid_cluster_is_a_star(void **state)
{
    struct psim_platform platform = test_import_platform(
        "simgrid_xml", "P40",
        "<platform version='4.1'><zone id='z' routing='None'><cluster id='c' prefix='h' "
        "suffix='.x' radical='0-2,7' speed='1Gf' bw='125MBps' lat='50us'/></zone></platform>");

    (void)state;
    assert_int_equal(platform.device_count, 4);
    assert_int_equal(platform.vertex_count, 5);
    check_route(&platform, "h0.x", "h7.x", 125e6, 100e-6);
    psim_platform_release(&platform);
}

static int shown(const char *what, const char *from, const char *to)
{
    fprintf(stderr, "SimGrid: %s differs, %s %s\n", what, from, to);
    return 1;
}

/* In the child: does SimGrid load the file, with our vertices and our routes? */
static int compare_with_simgrid(const char *file, const struct psim_platform *platform, int hosts)
{
    char name[] = "import_test", quiet[] = "--log=root.thres:error";
    char *arguments[] = {name, quiet, NULL};
    int count = 2, different = 0;

    simgrid_init(&count, arguments);
    simgrid_load_platform(file);
    if (sg_host_count() != (size_t)hosts)
        return shown("the number of hosts", "", "");
    for (int from = 0; from < platform->device_count; from++) {
        for (int to = 0; to < platform->device_count; to++) {
            const char *a = psim_platform_device_name(platform, from);
            const char *b = psim_platform_device_name(platform, to);
            struct psim_route route;

            if (from == to || psim_platform_route(platform, from, to, &route, NULL) != PSIM_OK)
                continue;
            if (!psim_near(sg_host_get_route_latency(sg_host_by_name(a), sg_host_by_name(b)),
                           route.latency_s, 1e-12) ||
                !psim_near(sg_host_get_route_bandwidth(sg_host_by_name(a), sg_host_by_name(b)),
                           route.bandwidth_bytes_per_s, 1e-12))
                different += shown("the route", a, b);
            psim_route_release(&route);
        }
    }
    return different;
}

static void simgrid_loads(const char *file, const struct psim_platform *platform, int hosts)
{
    pid_t child;
    int status;

    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(compare_with_simgrid(file, platform, hosts) == 0 ? 0 : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static int hosts_of(const struct psim_platform *platform)
{
    int hosts = 0;

    for (int i = 0; i < platform->vertex_count; i++)
        hosts += platform->vertices[i].device_type >= 0 ? 1 : 0;
    return hosts;
}

static const char *end_name(const struct psim_platform *platform, const struct psim_link *link,
                            bool second)
{
    return platform->vertices[second ? link->to : link->from].name;
}

static void check_same_graph(const struct psim_platform *got, const struct psim_platform *want)
{
    assert_int_equal(hosts_of(got), hosts_of(want));
    assert_int_equal(got->vertex_count, want->vertex_count);
    assert_int_equal(got->link_count, want->link_count);
    for (int i = 0; i < want->link_count; i++) {
        const struct psim_link *w = &want->links[i], *g = link_named(got, w->name);
        const bool unlimited = !(w->bandwidth_bytes_per_s < 1e18);

        check_near(g->bandwidth_bytes_per_s, unlimited ? 1e18 : w->bandwidth_bytes_per_s, 1e-14);
        check_near(g->latency_s, w->latency_s, 1e-14);
        assert_int_equal(g->sharing, w->sharing);
        assert_string_equal(end_name(got, g, false), end_name(want, w, false));
        assert_string_equal(end_name(got, g, true), end_name(want, w, true));
    }
}

static void export_and_import(const char *file)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_text xml = PSIM_TEXT_INIT;
    struct psim_platform platform, again;

    assert_int_equal(psim_platform_read(file, &test_catalogue, &platform, &list), PSIM_OK);
    assert_int_equal(psim_export_simgrid(&platform, &xml, NULL), PSIM_OK);
    test_file_write("exported.xml", xml.data);
    simgrid_loads("exported.xml", &platform, hosts_of(&platform));
    again = test_import_platform("simgrid_xml", NULL, xml.data);
    check_same_graph(&again, &platform);
    psim_platform_release(&again);
    psim_platform_release(&platform);
    psim_text_release(&xml);
    psim_diagnostics_release(&list);
}

static void exported_platforms_load_in_simgrid_and_come_back(void **state)
{
    static const char *const names[] = {"8x-a100-nvswitch", "8x-p40-pcie", "18x-a100",
                                        "a100-v100-mixed"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[512];

        snprintf(path, sizeof path, PSIM_SOURCE_DIR "/platforms/clusters/%s.json", names[i]);
        export_and_import(path);
    }
}

static void imported_example_comes_back_through_simgrid(void **state)
{
    struct psim_platform platform = import_example("simgrid_xml", "V100-SXM2-16GB");

    (void)state;
    psim_platform_release(&platform);
    export_and_import(TEST_IMPORTED);
}

static void names_are_escaped_in_xml(void **state)
{
    (void)state;
    test_file_write(
        "odd.json",
        "{\"petrasim\":\"platform/1\",\"name\":\"n\",\"devices\":{\"d\":{\"catalogue\":"
        "\"P40\"}},\"hosts\":[{\"name\":\"<a> & 'b'\",\"device\":\"d\"},{\"name\":"
        "\"\\\"\xC3\xA9\\\"\",\"device\":\"d\"}],\"links\":[{\"name\":\"l\",\"between\":"
        "[\"<a> & 'b'\",\"\\\"\xC3\xA9\\\"\"],\"bandwidth\":\"0.3 GB/s\",\"latency\":"
        "\"1.7 us\",\"sharing\":\"shared\"}]}");
    export_and_import("odd.json");
}

static void exporting_without_a_path_is_refused(void **state)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_text xml = PSIM_TEXT_INIT;
    struct psim_platform platform;

    (void)state;
    test_file_write("apart.json",
                    "{\"petrasim\":\"platform/1\",\"name\":\"n\",\"devices\":{\"d\":{\"catalogue\":"
                    "\"P40\"}},\"hosts\":[{\"name\":\"a\",\"device\":\"d\"},{\"name\":\"b\","
                    "\"device\":\"d\"}],\"links\":[]}");
    assert_int_equal(psim_platform_read("apart.json", &test_catalogue, &platform, &list), PSIM_OK);
    assert_int_equal(psim_export_simgrid(&platform, &xml, &err), PSIM_ERR_NOTFOUND);
    assert_null(xml.data);
    psim_platform_release(&platform);
    psim_diagnostics_release(&list);
}

/* ---- nccl-tests ---- */

#define HEADING "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"

/* time = 10 us + size x 1.75 / (175 GB/s): 10 us more a MB; algbw = size / time. */
static void exact_times_give_latency_and_bandwidth_back(void **state)
{
    static const char text[] =
        "# Collective test starting: all_reduce_perf\n" HEADING
        "1000000 250000 float sum -1 20 50.00 87.50 0 21 47.62 83.33 0\n"
        "2000000 500000 float sum -1 30 66.667 116.667 0 31 64.52 112.90 0\n"
        "100000000 25000000 float sum -1 1010 99.01 173.2675 0 1011 98.91 173.10 N/A\n";
    struct test_imported r = test_import("nccl_tests", NULL, text, sizeof text - 1);
    json_t *root;

    (void)state;
    test_imported_check(&r);
    root = test_json_parse(r.text.data);
    assert_string_equal(test_json_text(root, "/kind"), "all_reduce");
    assert_string_equal(test_json_text(root, "/latency"), "10 us");
    assert_string_equal(test_json_text(root, "/bandwidth"), "175 GB/s");
    assert_string_equal(test_json_text(root, "/link/bandwidth"), "175 GB/s");
    check_near(test_json_number(root, "/factor"), 1.75, 1e-12);
    check_near(test_json_number(root, "/points"), 3, 0);
    assert_true(test_json_number(root, "/median_error") < 1e-12);
    json_decref(root);
    test_imported_release(&r);
}

/* Made from 22.6 us and 234.9 GB/s, each time off by up to 3 %. */
static void noisy_times_are_fitted_within_their_noise(void **state)
{
    char *text = test_import_example("nccl_tests");
    struct test_imported r = test_import("nccl_tests", NULL, text, strlen(text));
    json_t *root;

    (void)state;
    test_imported_check(&r);
    root = test_json_parse(r.text.data);
    check_near(strtod(test_json_text(root, "/latency"), NULL), 22.6, 0.02);
    check_near(strtod(test_json_text(root, "/bandwidth"), NULL), 234.9, 0.02);
    check_near(test_json_number(root, "/points"), 30, 0);
    assert_true(test_json_number(root, "/median_error") < 0.03);
    assert_true(test_json_number(root, "/p90_error") >= test_json_number(root, "/median_error"));
    assert_true(test_json_number(root, "/p90_error") < 0.05);
    json_decref(root);
    test_imported_release(&r);
    free(text);
}

/* sendrecv_perf leaves redop and root out. */
static void rows_with_fewer_columns_are_counted_from_the_end(void **state)
{
    static const char text[] = HEADING "0 0 float 5 0.00 0.00 0 5 0.00 0.00 0\n"
                                       "1000000 250000 float 25 40.00 40.00 0 26 38.46 38.46 0\n";
    struct test_imported r = test_import("nccl_tests", NULL, text, sizeof text - 1);

    (void)state;
    test_imported_check(&r);
    check_contains(r.text.data, "\"kind\": null");
    check_contains(r.text.data, "\"bandwidth\": \"50 GB/s\", \"latency\": \"5 us\"");
    test_imported_release(&r);
}

/* ---- CSV ---- */

static void layers_become_stages(void **state)
{
    char *text = test_import_example("layer_csv");
    struct test_imported r = test_import("layer_csv", NULL, text, strlen(text));
    struct psim_scenario scenario;
    const struct psim_given_stage *stages;

    (void)state;
    test_imported_check(&r);
    scenario = test_scenario_of(r.text.data);
    stages = scenario.model->given;
    assert_int_equal(scenario.model->given_count, 5);
    assert_string_equal(stages[0].name, "stem, 7x7");
    check_near(stages[1].forward_s, 610.5e-6, 1e-15);
    check_near(stages[1].backward_input_s + stages[1].backward_weight_s, 1305.25e-6, 1e-15);
    check_near(stages[3].reconstruct_s, 702.3e-6, 1e-15);
    assert_int_equal(stages[0].input_bytes, 0);
    assert_int_equal(stages[3].input_bytes, 25690112);
    assert_int_equal(stages[3].graph_bytes, 12845056);
    assert_int_equal(stages[4].parameter_bytes, 8196000);
    assert_true(stages[2].reversible && !stages[4].reversible);
    assert_int_equal(scenario.model->output_bytes, 256000);
    psim_scenario_release(&scenario);
    test_imported_release(&r);
    free(text);
}

static void csv_with_mark_crlf_quotes_and_halves_is_read(void **state)
{
    static const char text[] = "\xEF\xBB\xBFlayer,fwd_us,act_bytes,param_bytes,bwd_weight_us,"
                               "bwd_input_us,input_bytes\r\n"
                               "\"a \"\"b\"\", c\", 1 ,2e3,0,4,3,64\r\n\r\n";
    struct test_imported r = test_import("layer_csv", NULL, text, sizeof text - 1);
    struct psim_scenario scenario;

    (void)state;
    test_imported_check(&r);
    scenario = test_scenario_of(r.text.data);
    assert_string_equal(scenario.model->given[0].name, "a \"b\", c");
    check_near(scenario.model->given[0].backward_input_s, 3e-6, 1e-15);
    check_near(scenario.model->given[0].backward_weight_s, 4e-6, 1e-15);
    assert_int_equal(scenario.model->given[0].input_bytes, 64);
    assert_int_equal(scenario.model->given[0].graph_bytes, 2000);
    psim_scenario_release(&scenario);
    test_imported_release(&r);
}

/* ---- The command ---- */

static void command_writes_or_names_the_faults(void **state)
{
    struct test_output output =
        test_petrasim("import", "nvidia_smi_topo", TEST_IMPORT_DATA "nvidia_smi_topo.txt",
                      "--device", "V100", "--out", "made.json");

    (void)state;
    check_code(&output, 0);
    assert_string_equal(output.out, "");
    test_output_free(&output);
    output = test_petrasim("check", "made.json");
    check_code(&output, 0);
    test_output_free(&output);
    /* The alias became the name. */
    output = test_petrasim("show", "platform", "./made.json");
    check_contains(output.out, "V100-SXM2-16GB");
    test_output_free(&output);
    test_file_write("bad.csv", "layer,fwd_us,bwd_us,act_bytes,param_bytes\na,1,2,3,?\nb,1,2,!,4\n");
    output = test_petrasim("import", "layer_csv", "bad.csv", "--out", "never.json");
    check_code(&output, 3);
    check_contains(output.err, "bad.csv:2:9: error: param_bytes must be a number");
    check_contains(output.err, "bad.csv:3:7: error: act_bytes must be a number");
    assert_false(test_file_exists("never.json"));
    test_output_free(&output);
    output = test_petrasim("import", "layer_csv", "missing.csv");
    check_code(&output, 3);
    test_output_free(&output);
    output = test_petrasim("export", "simgrid_xml", "made.json");
    check_code(&output, 0);
    check_contains(output.out, "<platform version=\"4.1\">");
    test_output_free(&output);
}

static void command_says_which_device_and_kind_are_missing(void **state)
{
    struct test_output output =
        test_petrasim("import", "nccl_topo", TEST_IMPORT_DATA "nccl_topo.xml", "--device", "V10");

    (void)state;
    check_code(&output, 3);
    check_contains(output.err, "V10");
    test_output_free(&output);
    output = test_petrasim("import", "nccl_topo", TEST_IMPORT_DATA "nccl_topo.xml");
    check_code(&output, 2);
    check_contains(output.err, "--device");
    test_output_free(&output);
    output = test_petrasim("import", "nccl_topology", "x");
    check_code(&output, 2);
    check_contains(output.err, "did you mean 'nccl_topo'?");
    test_output_free(&output);
    output = test_petrasim("export", "xml", "x");
    check_code(&output, 2);
    test_output_free(&output);
}

static void help_names_every_importer(void **state)
{
    struct test_output output = test_petrasim("import", "--help");

    (void)state;
    check_code(&output, 0);
    for (size_t k = 0; psim_importer_table[k] != NULL; k++)
        check_contains(output.out, psim_importer_table[k]->name);
    test_output_free(&output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hybrid_cube_mesh_has_its_edges_and_a_pcie_tree),
        cmocka_unit_test(all_links_to_every_gpu_are_one_nvswitch),
        cmocka_unit_test(part_of_the_links_to_every_gpu_is_a_mesh),
        cmocka_unit_test(pcie_classes_nest),
        cmocka_unit_test(nccl_topology_keeps_every_level),
        cmocka_unit_test(nvswitch_chips_are_one_switch),
        cmocka_unit_test(simgrid_routes_show_where_links_meet),
        cmocka_unit_test(simgrid_cluster_is_a_star),
        cmocka_unit_test(exported_platforms_load_in_simgrid_and_come_back),
        cmocka_unit_test(imported_example_comes_back_through_simgrid),
        cmocka_unit_test(names_are_escaped_in_xml),
        cmocka_unit_test(exporting_without_a_path_is_refused),
        cmocka_unit_test(exact_times_give_latency_and_bandwidth_back),
        cmocka_unit_test(noisy_times_are_fitted_within_their_noise),
        cmocka_unit_test(rows_with_fewer_columns_are_counted_from_the_end),
        cmocka_unit_test(layers_become_stages),
        cmocka_unit_test(csv_with_mark_crlf_quotes_and_halves_is_read),
        cmocka_unit_test(command_writes_or_names_the_faults),
        cmocka_unit_test(command_says_which_device_and_kind_are_missing),
        cmocka_unit_test(help_names_every_importer),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

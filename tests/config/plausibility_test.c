/*
 * Warnings about suspicious and unused inputs: the exact lines, a neighbour of every case that must
 * stay silent, and silence over everything that is shipped.
 */
#define _XOPEN_SOURCE 700 /* nftw */
#include "sim/config/scenario.h"

#include "sim/base/text.h"
#include "tests/support/check.h"
#include "tests/support/program.h"

#include <ftw.h>
#include <stdio.h>
#include <string.h>

#define SHIPPED PSIM_SOURCE_DIR "/platforms"

static const struct psim_catalogue catalogue = {SHIPPED};

/* All lines that checking a file gives; released with psim_free. */
static char *lines_of(const char *file)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_text text = PSIM_TEXT_INIT;
    const char *kind = "none";
    const enum psim_status status = psim_file_check(file, &catalogue, &kind, &list);

    psim_text_append(&text, "", 0);
    for (size_t i = 0; i < list.count; i++)
        psim_text_printf(&text, "%s\n", psim_diagnostic_line(&list, i));
    if (status != PSIM_OK)
        fail_msg("%s is not valid: %s", file, text.data);
    psim_diagnostics_release(&list);
    return text.data;
}

/* A file with one value filled in, and the line that it must give: "" for none. */
struct judged {
    const char *value, *line;
};

/* True when every case gives its line behind "FILE:LINE:COLUMN: warning: PATH: "; else says which
 * does not. */
static bool are_judged(const char *format, const char *place, const struct judged *cases,
                       size_t count)
{
    bool good = true;

    for (size_t i = 0; i < count; i++) {
        char text[4096], expected[512];
        char *got;

        assert_in_range(snprintf(text, sizeof text, format, cases[i].value), 1, sizeof text - 1);
        test_file_write("input.json", text);
        got = lines_of("input.json");
        snprintf(expected, sizeof expected, "input.json:%s: %s\n", place, cases[i].line);
        if (strcmp(got, cases[i].line[0] == '\0' ? "" : expected) != 0) {
            print_error("%s: got:\n%sexpected:\n%s", cases[i].value, got, expected);
            good = false;
        }
        psim_free(got);
    }
    return good;
}

#define CHECK_JUDGED(format, place, cases)                                                         \
    assert_true(are_judged(format, place, cases, sizeof(cases) / sizeof(cases)[0]))

/* ---- Devices ---- */

#define COST                                                                                       \
    "\"cost\": { \"default\": { \"any\": { \"compute\": 0.5, \"memory\": 0.8, \"launch\": "        \
    "\"5 us\", \"norm\": 2 } } }"

static void memory_in_gb_of_a_device_known_in_gib_is_suspicious(void **state)
{
    static const char format[] = "{ \"petrasim\": \"device/1\", \"name\": \"A100\",\n"
                                 "\"memory\": \"%s\", \"memory_bandwidth\": \"2 TB/s\",\n"
                                 "\"peak\": { \"fp32\": \"19.5 TFLOP/s\" }, " COST " }\n";
    static const struct judged cases[] = {
        {"80 GB", "80 GB is 74.5 GiB, and the catalogue has 79.2 GiB for A100-SXM4-80GB (rule: the "
                  "memory of devices is counted in GiB) (did you mean \"80 GiB\"?)"},
        {"80000 MB", "80 GB is 74.5 GiB, and the catalogue has 79.2 GiB for A100-SXM4-80GB (rule: "
                     "the memory of devices is counted in GiB) (did you mean \"80 GiB\"?)"},
        {"80 GiB", ""},
        {"79 GiB", ""},
        {"75 GiB", ""}, /* as much, in the unit that is meant */
        {"85 GB", ""},
        {"40 GB", ""}, /* another device */
    };

    (void)state;
    CHECK_JUDGED(format, "2:11: warning: .memory", cases);
}

static void the_sparse_peak_of_a_known_device_is_suspicious(void **state)
{
    static const char format[] =
        "{ \"petrasim\": \"device/1\", \"name\": \"my own\", \"aliases\": [\"other\", \"A10\"],\n"
        "\"memory\": \"24 GiB\", \"memory_bandwidth\": \"600 GB/s\",\n"
        "\"peak\": { \"fp32\": \"62.4 TFLOP/s\", \"bf16\": \"%s\" }, " COST " }\n";
    static const struct judged cases[] = {
        {"250 TFLOP/s", "250 TFLOP/s is twice what the catalogue has for A10 (rule: peaks are "
                        "dense, without structured sparsity) (did you mean \"125 TFLOP/s\"?)"},
        {"125 TFLOP/s", ""},
        {"200 TFLOP/s", ""},
        {"300 TFLOP/s", ""},
    };

    (void)state;
    CHECK_JUDGED(format, "3:43: warning: .peak.bf16", cases);
}

static void known_sparse_peaks_of_any_device_are_suspicious(void **state)
{
    static const char format[] =
        "{ \"petrasim\": \"device/1\", \"name\": \"nobody's\",\n"
        "\"memory\": \"80 GB\", \"memory_bandwidth\": \"3 TB/s\",\n"
        "\"peak\": { \"tf32\": \"624 TFLOP/s\", \"fp16\": \"%s\" }, " COST " }\n";
    static const struct judged cases[] = {
        {"624 TFLOP/s", "624 TFLOP/s is known as a peak with structured sparsity (rule: peaks are "
                        "dense) (did you mean \"312 TFLOP/s\"?)"},
        {"1979 TFLOP/s", "1979 TFLOP/s is known as a peak with structured sparsity (rule: peaks "
                         "are dense) (did you mean \"989.5 TFLOP/s\"?)"},
        {"3.958 PFLOP/s", "3958 TFLOP/s is known as a peak with structured sparsity (rule: peaks "
                          "are dense) (did you mean \"1979 TFLOP/s\"?)"},
        {"989 TFLOP/s", ""},
        {"1900 TFLOP/s", ""},
    };

    (void)state;
    CHECK_JUDGED(format, "3:42: warning: .peak.fp16", cases);
}

/* ---- Platforms ---- */

static void a_nic_of_100_gigabytes_is_suspicious_outside_a_torus(void **state)
{
    static const char format[] =
        "{ \"petrasim\": \"platform/1\", \"name\": \"two\",\n"
        "\"devices\": { \"gpu\": { \"catalogue\": \"A100\" } },\n"
        "\"nodes\": [ { \"name\": \"node\", \"count\": 4, \"devices\": [ { \"type\": \"gpu\" } ],\n"
        "\"nics\": { \"bandwidth\": \"%s } } ],\n"
        "\"network\": { \"kind\": \"switch\" } }\n";
    static const char torus[] =
        "{ \"petrasim\": \"platform/1\", \"name\": \"two\",\n"
        "\"devices\": { \"gpu\": { \"catalogue\": \"A100\" } },\n"
        "\"nodes\": [ { \"name\": \"node\", \"count\": 4, \"devices\": [ { \"type\": \"gpu\" } ],\n"
        "\"nics\": { \"bandwidth\": \"%s } } ],\n"
        "\"network\": { \"kind\": \"torus\", \"dims\": [2, 2], \"bandwidth\": \"50 GB/s\" "
        "} }\n";
    static const struct judged cases[] = {
        {"200 GB/s\"",
         "200 GB/s is a NIC of 1600 Gb/s (rule: 100 GB/s or more of one NIC, given in "
         "bytes, looks like Gb/s) (did you mean \"200 Gb/s\"?)"},
        {"100 GB/s\"", "100 GB/s is a NIC of 800 Gb/s (rule: 100 GB/s or more of one NIC, given in "
                       "bytes, looks like Gb/s) (did you mean \"100 Gb/s\"?)"},
        {"99 GB/s\"", ""},
        {"200 Gb/s\", \"latency\": \"2 ms\"", ""}, /* the way between nodes may be long */
        {"800 Gb/s\"", ""},
        {"1.6 Tb/s\"", ""},
    };
    static const struct judged own_links[] = {{"200 GB/s\"", ""}};

    (void)state;
    CHECK_JUDGED(format, "4:24: warning: .nodes[0].nics.bandwidth", cases);
    CHECK_JUDGED(torus, "", own_links);
}

#define NODE(device, kind)                                                                         \
    "{ \"petrasim\": \"platform/1\", \"name\": \"one\",\n"                                         \
    "\"devices\": { \"gpu\": { \"catalogue\": \"" device "\" } },\n"                               \
    "\"nodes\": [ { \"name\": \"node\", \"devices\": [ { \"type\": \"gpu\", \"count\": 2 } ],\n"   \
    "\"interconnect\": { \"kind\": \"" kind "\", \"bandwidth\": \"%s } } ] }\n"

static void nvlink_figures_of_both_directions_are_suspicious(void **state)
{
    static const struct judged ampere[] = {
        {"600 GB/s\"",
         "600 GB/s looks like both directions of the NVLink of A100-SXM4-80GB, nominally 300 GB/s "
         "each way (rule: a bandwidth is one direction's) (did you mean \"300 GB/s\"?)"},
        {"300 GB/s\"", ""},
        {"450 GB/s\"", ""},
        {"900 GB/s\"", ""},
    };
    static const struct judged hopper[] = {
        {"900 GB/s\"",
         "900 GB/s looks like both directions of the NVLink of H100-SXM, nominally 450 GB/s each "
         "way (rule: a bandwidth is one direction's) (did you mean \"450 GB/s\"?)"},
        {"783.7 GB/s\"",
         "783.7 GB/s looks like both directions of the NVLink of H100-SXM, nominally 450 GB/s each "
         "way (rule: a bandwidth is one direction's) (did you mean \"391.85 GB/s\"?)"},
        {"450 GB/s\"", ""},
        {"600 GB/s\"", ""},
    };
    static const struct judged blackwell[] = {
        {"1800 GB/s\"",
         "1800 GB/s looks like both directions of the NVLink of GB200, nominally 900 GB/s each way "
         "(rule: a bandwidth is one direction's) (did you mean \"900 GB/s\"?)"},
        {"900 GB/s\"", ""},
    };
    static const struct judged without[] = {{"600 GB/s\"", ""}};

    (void)state;
    CHECK_JUDGED(NODE("A100", "switch"), "4:50: warning: .nodes[0].interconnect.bandwidth", ampere);
    CHECK_JUDGED(NODE("H100", "switch"), "4:50: warning: .nodes[0].interconnect.bandwidth", hopper);
    CHECK_JUDGED(NODE("GB200", "switch"), "4:50: warning: .nodes[0].interconnect.bandwidth",
                 blackwell);
    CHECK_JUDGED(NODE("A100", "pcie_tree"), "", without);
    CHECK_JUDGED(NODE("MI300X", "switch"), "", without);
}

static void nvlink_figures_of_free_links_are_judged_at_their_device(void **state)
{
    static const char format[] =
        "{ \"petrasim\": \"platform/1\", \"name\": \"free\",\n"
        "\"devices\": { \"gpu\": { \"catalogue\": \"H100\" } },\n"
        "\"hosts\": [ { \"name\": \"a\", \"device\": \"gpu\" } ],\n"
        "\"switches\": [ { \"name\": \"s\" }, { \"name\": \"t\" } ], \"links\": [\n"
        "{ \"name\": \"la\", \"between\": [\"s\", \"a\"], \"bandwidth\": \"%s\", "
        "\"latency\": \"5 ms\" },\n"
        "{ \"name\": \"lt\", \"between\": [\"s\", \"t\"], \"bandwidth\": \"900 GB/s\" } ] }\n";
    static const struct judged cases[] = {
        {"900 GB/s",
         "900 GB/s looks like both directions of the NVLink of H100-SXM, nominally 450 GB/s each "
         "way (rule: a bandwidth is one direction's) (did you mean \"450 GB/s\"?)"},
        {"450 GB/s", ""},
        {"unlimited", ""},
    };

    (void)state;
    CHECK_JUDGED(format, "5:53: warning: .links[0].bandwidth", cases);
}

static void milliseconds_inside_a_node_are_suspicious(void **state)
{
    static const struct judged cases[] = {
        {"200 GB/s\", \"latency\": \"2 ms\"",
         "2 ms inside a node (rule: there a latency is microseconds, below 1 ms)"},
        {"200 GB/s\", \"latency\": \"1 ms\"",
         "1 ms inside a node (rule: there a latency is microseconds, below 1 ms)"},
        {"200 GB/s\", \"latency\": \"999 us\"", ""},
    };

    (void)state;
    CHECK_JUDGED(NODE("A100", "switch"), "4:73: warning: .nodes[0].interconnect.latency", cases);
}

/* ---- Scenarios ---- */

#define STAGES(count, figures)                                                                     \
    "\"model\": { \"stages\": [ { \"repeat\": " count ", \"forward\": \"1 ms\", \"backward\": "    \
    "\"2 ms\", \"input\": \"1 MB\"" figures " } ] },\n"

static void write_free_platform(void)
{
    test_file_write(
        "free.json",
        "{ \"petrasim\": \"platform/1\", \"name\": \"free\",\n"
        "\"devices\": { \"gpu\": { \"catalogue\": \"A100\" } },\n"
        "\"hosts\": [ { \"name\": \"a\", \"device\": \"gpu\" }, { \"name\": \"b\", "
        "\"device\": \"gpu\" }, { \"name\": \"c\", \"device\": \"gpu\" } ],\n"
        "\"switches\": [ { \"name\": \"s\" }, { \"name\": \"t\" } ], \"links\": [\n"
        "{ \"name\": \"ab\", \"between\": [\"a\", \"b\"], \"bandwidth\": \"9 GB/s\" },\n"
        "{ \"name\": \"bc\", \"between\": [\"b\", \"c\"], \"bandwidth\": \"9 GB/s\" },\n"
        "{ \"name\": \"ca\", \"between\": [\"c\", \"a\"], \"bandwidth\": \"9 GB/s\" },\n"
        "{ \"name\": \"t1\", \"between\": [\"s\", \"t\"], \"bandwidth\": \"9 GB/s\" },\n"
        "{ \"name\": \"t2\", \"between\": [\"s\", \"t\"], \"bandwidth\": \"9 GB/s\" },\n"
        "{ \"name\": \"t3\", \"between\": [\"s\", \"t\"], \"bandwidth\": \"9 GB/s\" },\n"
        "{ \"name\": \"t4\", \"between\": [\"s\", \"t\"], \"bandwidth\": \"9 GB/s\" },\n"
        "{ \"name\": \"t5\", \"between\": [\"s\", \"t\"], \"bandwidth\": \"9 GB/s\" "
        "} ] }\n");
}

static void links_without_messages_are_named_once_and_five_at_most(void **state)
{
    static const char format[] = "{ \"petrasim\": \"scenario/1\", \"platform\": \"free.json\",\n"
                                 "\"methods\": [\"one_f_one_b\"], \"batch\": { \"microbatch\": 1 "
                                 "},\n" STAGES("%s", "") "\"seed\": 1 }\n";
    static const char *const expected[][2] = {
        {"1", ""}, /* no link at all is used: the report says that */
        {"2", "free.json:4:60: warning: .links: no route between neighbouring stages uses \"t1\", "
              "\"t2\", \"t3\", \"t4\", \"t5\" (rule: a link without messages changes no answer)\n"},
        {"3", "free.json:4:60: warning: .links: no route between neighbouring stages uses \"ca\", "
              "\"t1\", \"t2\", \"t3\", \"t4\" and 1 more (rule: a link without messages changes no "
              "answer)\n"},
    };

    (void)state;
    write_free_platform();
    for (size_t i = 0; i < 3; i++) {
        char text[1024];
        char *got;

        snprintf(text, sizeof text, format, expected[i][0]);
        test_file_write("input.json", text);
        got = lines_of("input.json");
        assert_string_equal(got, expected[i][1]);
        psim_free(got);
    }
}

#define SCENARIO(stages, rest)                                                                     \
    "{ \"petrasim\": \"scenario/1\", \"platform\": \"" SHIPPED "/clusters/8x-a100-nvswitch.json"   \
    "\",\n" stages rest " }\n"
#define BATCH "\"methods\": [\"one_f_one_b\"], \"batch\": { \"microbatch\": 1 }"

static void conditions_of_what_is_idle_are_named(void **state)
{
    static const struct judged speeds[] = {
        {"node.gpu2", "the device holds no stage (rule: the speed of an idle device changes no "
                      "answer)"},
        {"node.gpu1", ""},
        {"_node.gpu2", ""},
    };
    static const struct judged devices[] = {
        {"gpu2\", \"speed\": 0.5", "the device holds no stage (rule: an event on an idle device "
                                   "changes no answer)"},
        {"gpu7\", \"fails\": true", "the device holds no stage (rule: an event on an idle device "
                                    "changes no answer)"},
        {"gpu0\", \"speed\": 0.5", ""},
    };
    static const struct judged links[] = {
        {"gpu2.port\", \"bandwidth\": 0.5", "no message crosses the link (rule: an event on an "
                                            "unused link changes no answer)"},
        {"gpu1.port\", \"bandwidth\": 0.5", ""},
    };

    (void)state;
    CHECK_JUDGED(
        SCENARIO(STAGES("2", ""), BATCH ",\n\"conditions\": { \"speed\": { \"%s\": 0.5 } }"),
        "4:41: warning: .conditions.speed[\"node.gpu2\"]", speeds);
    CHECK_JUDGED(SCENARIO(STAGES("2", ""), BATCH ",\n\"conditions\": { \"updates\": 9, \"events\": "
                                                 "[ { \"from\": \"1 s\", \"device\": \"node.%s } "
                                                 "] }"),
                 "4:70: warning: .conditions.events[0].device", devices);
    CHECK_JUDGED(SCENARIO(STAGES("2", ""), BATCH ",\n\"conditions\": { \"updates\": 9, \"events\": "
                                                 "[ { \"from\": \"1 s\", \"link\": \"node.%s } "
                                                 "] }"),
                 "4:68: warning: .conditions.events[0].link", links);
}

static void an_accumulation_that_no_method_reads_is_named(void **state)
{
    static const char line[] = "every method has an \"accumulation\" of its own or updates after "
                               "each micro-batch (rule: an input that no method uses changes no "
                               "answer)";
    static const struct judged cases[] = {
        {"\"pipedream\"", line},
        {"{ \"name\": \"delayed_gradients\", \"accumulation\": 2 }", line},
        {"\"pipedream\", { \"name\": \"delayed_gradients\", \"accumulation\": 4 }", line},
        {"\"pipedream\", \"gpipe\"", ""},
        {"\"delayed_gradients\"", ""},
    };
    static const struct judged of_one[] = {{"\"pipedream\"", ""}};

    (void)state;
    CHECK_JUDGED(SCENARIO(STAGES("2", ""), "\"batch\": { \"microbatch\": 1, \"accumulation\": 4 },"
                                           "\n\"methods\": [%s]"),
                 "3:45: warning: .batch.accumulation", cases);
    CHECK_JUDGED(SCENARIO(STAGES("2", ""), "\"batch\": { \"microbatch\": 1, \"accumulation\": 1 },"
                                           "\n\"methods\": [%s]"),
                 "", of_one);
}

static void stage_figures_that_no_method_reads_are_named(void **state)
{
    static const struct judged reconstruct[] = {
        {"\"one_f_one_b\", \"pipedream\", \"delayed_gradients\"",
         "no method of this model reconstructs (rule: an input that no method uses changes no "
         "answer)"},
        {"\"one_f_one_b\", \"petra\"", ""},
        {"\"reversible_backprop\"", ""},
        {"\"delayed_gradients_checkpoint\"", ""},
    };
    static const struct judged graph[] = {
        {"paper", "the accounting \"paper\" reads no graph (rule: an input that no method uses "
                  "changes no answer)"},
        {"full", ""},
    };

    (void)state;
    CHECK_JUDGED(SCENARIO(STAGES("2", ", \"reversible\": true,\n\"reconstruct\": \"1 ms\""),
                          "\"batch\": { \"microbatch\": 1 }, \"methods\": [%s]"),
                 "3:16: warning: .model.stages[0].reconstruct", reconstruct);
    CHECK_JUDGED(SCENARIO(STAGES("2", ",\n\"graph\": \"1 MB\""), BATCH ", \"accounting\": \"%s\""),
                 "3:10: warning: .model.stages[0].graph", graph);
}

/* ---- Memory, the checker, and what is shipped ---- */

static void memory_that_runs_out_while_judging_is_an_error(void **state)
{
    enum psim_status status = PSIM_ERR_NOMEM;
    unsigned long failed = 0;

    (void)state;
    write_free_platform();
    test_file_write("own.json", "{ \"petrasim\": \"device/1\", \"name\": \"A100\",\n"
                                "\"memory\": \"80 GB\", \"memory_bandwidth\": \"2 TB/s\",\n"
                                "\"peak\": { \"bf16\": \"624 TFLOP/s\" }, " COST " }\n");
    test_file_write("input.json",
                    "{ \"petrasim\": \"scenario/1\", \"platform\": \"free.json\",\n" STAGES(
                        "2", ", \"reconstruct\": \"1 ms\"") BATCH
                    ",\n\"conditions\": { \"speed\": { \"c\": 0.5 } } }\n");
    while (status == PSIM_ERR_NOMEM) {
        struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
        struct psim_scenario scenario;
        const char *kind;

        psim_alloc_fail_at(++failed);
        status = psim_scenario_read("input.json", &catalogue, &scenario, &list);
        if (status == PSIM_OK)
            psim_scenario_release(&scenario);
        if (status == PSIM_OK && psim_file_check("own.json", &catalogue, &kind, &list) != PSIM_OK)
            status = PSIM_ERR_NOMEM;
        psim_alloc_fail_at(0);
        if (status == PSIM_OK)
            assert_int_equal(list.count, 5);
        psim_diagnostics_release(&list);
    }
    assert_int_equal(status, PSIM_OK);
    assert_true(failed > 20);
}

static void checker_rejects_a_missing_a_needless_and_another_line(void **state)
{
    static const char line[] = "5 ms inside a node (rule: there a latency is microseconds, below 1 "
                               "ms)";
    static const char place[] = "4:73: warning: .nodes[0].interconnect.latency";
    const struct judged right = {"200 GB/s\", \"latency\": \"5 ms\"", line};
    const struct judged wrong[] = {{"200 GB/s\", \"latency\": \"5 ms\"", ""},
                                   {"200 GB/s\", \"latency\": \"6 ms\"", line},
                                   {"200 GB/s\", \"latency\": \"6 us\"", line}};

    (void)state;
    assert_true(are_judged(NODE("A100", "switch"), place, &right, 1));
    assert_false(are_judged(NODE("A100", "switch"), "4:72: warning: .nodes[0].interconnect.latency",
                            &right, 1));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_false(are_judged(NODE("A100", "switch"), place, &wrong[i], 1));
}

static int files_seen, lines_seen;

static int look(const char *path, const struct stat *status, int type, struct FTW *at)
{
    const size_t length = strlen(path);
    char *lines;

    (void)status;
    (void)at;
    if (type != FTW_F || length < 5 || strcmp(path + length - 5, ".json") != 0 ||
        strstr(path, "/expected.json") != NULL)
        return 0;
    lines = lines_of(path);
    files_seen++;
    lines_seen += lines[0] == '\0' ? 0 : 1;
    if (lines[0] != '\0')
        print_error("%s", lines);
    psim_free(lines);
    return 0;
}

static void everything_shipped_gives_no_warning(void **state)
{
    (void)state;
    files_seen = lines_seen = 0;
    assert_int_equal(nftw(SHIPPED, look, 8, FTW_PHYS), 0);
    assert_int_equal(nftw(PSIM_SOURCE_DIR "/scenarios", look, 8, FTW_PHYS), 0);
    assert_true(files_seen > 80);
    assert_int_equal(lines_seen, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_in_gb_of_a_device_known_in_gib_is_suspicious),
        cmocka_unit_test(the_sparse_peak_of_a_known_device_is_suspicious),
        cmocka_unit_test(known_sparse_peaks_of_any_device_are_suspicious),
        cmocka_unit_test(a_nic_of_100_gigabytes_is_suspicious_outside_a_torus),
        cmocka_unit_test(nvlink_figures_of_both_directions_are_suspicious),
        cmocka_unit_test(nvlink_figures_of_free_links_are_judged_at_their_device),
        cmocka_unit_test(milliseconds_inside_a_node_are_suspicious),
        cmocka_unit_test(links_without_messages_are_named_once_and_five_at_most),
        cmocka_unit_test(conditions_of_what_is_idle_are_named),
        cmocka_unit_test(an_accumulation_that_no_method_reads_is_named),
        cmocka_unit_test(stage_figures_that_no_method_reads_are_named),
        cmocka_unit_test(memory_that_runs_out_while_judging_is_an_error),
        cmocka_unit_test(checker_rejects_a_missing_a_needless_and_another_line),
        cmocka_unit_test(everything_shipped_gives_no_warning),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

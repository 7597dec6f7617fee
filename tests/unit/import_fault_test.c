/*
 * Faulty files of other tools: refused with the place of every fault; damaged anywhere, they
 * neither crash an importer nor become a file that its reader does not take.
 */
#include "sim/import/simgrid_export.h"

#include "tests/support/check.h"
#include "tests/support/importing.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <stdlib.h>
#include <string.h>

#define FAULTS_MAX 4

#define ZONE(inside)                                                                               \
    "<platform version='4.1'>\n<zone id='z' routing='Full'>\n" inside "\n</zone></platform>"
#define TWO_HOSTS "<host id='a' speed='1f'/><host id='b' speed='1f'/>\n"
#define HEADING   "# size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
#define COLUMNS   "layer,fwd_us,bwd_us,act_bytes,param_bytes\n"

static const struct {
    const char *kind, *device, *text;
    const char *faults[FAULTS_MAX]; /* parts of the report, in any order */
} cases[] = {
    {"nvidia_smi_topo", "A100", "no matrix\n", {"given:1:1: error: no line with the columns"}},
    {"nvidia_smi_topo",
     "A100",
     "GPU0 GPU1\nGPU0 X PIK\nGPU1 PIX PIX\n",
     {"given:2:8: error: one of NV#", "(did you mean \"PIX\"?)", "given:3:10: error: X stands"}},
    {"nvidia_smi_topo",
     "A100",
     "GPU0 GPU1\nGPU0 X NV2\nGPU1 NV3 X\n",
     {"given:3:6: error: \"GPU1\" and \"GPU0\" meet differently"}},
    {"nvidia_smi_topo",
     "A100",
     "GPU0 GPU1 NIC0\nGPU0 X NV2\nGPU1 NV2 X NV1\n",
     {"given:2:8: error: the row has 2 of 3", "given:3:12: error: NVLink joins GPUs"}},
    {"nvidia_smi_topo",
     "A100",
     "GPU0 GPU1\nGPU0 X SYS\n",
     {"given:1:6: error: \"GPU1\" has a column but no row"}},
    {"nvidia_smi_topo",
     "A100",
     "GPU0 GPU0\nGPU0 X SYS\nGPU0 SYS X\n",
     {"given:3:1: error: a second row"}},
    {"nvidia_smi_topo",
     "P40",
     "GPU0 GPU1\nGPU0 X NV1\nGPU1 NV1 X\n",
     {"given:2:8: error: the device \"P40\" has no NVLink"}},
    {"nvidia_smi_topo",
     "TPU",
     "GPU0 GPU1\nGPU0 X SYS\nGPU1 SYS X\n",
     {"given: error: what the links of the device \"TPU\" carry is not known"}},
    {"nccl_topo", "A100", "<system>\n<cpu>", {"given:2:6: error: not well-formed XML"}},
    {"nccl_topo", "A100", "<graph/>", {"given:1:1: error: the root must be <system>"}},
    {"nccl_topo",
     "A100",
     "<system>\n<cpu numaid='0'>\n<pci busid='1' link_speed='7 GT/s' link_width='x'>\n"
     "<gpu dev='0' sm='80'><nvlink target='2' count='0' tclass='0x030200'/></gpu></pci>\n"
     "<nic><net name='n' speed='-1'/></nic></cpu></system>",
     {"given:3:1: error: what a PCIe link of \"7 GT/s\"", "given:3:1: error: link_width",
      "given:4:22: error: count must be in [1, 1024]", "given:5:6: error: speed must be greater"}},
    {"nccl_topo",
     "A100",
     "<system><cpu numaid='0'>\n<pci busid='1'>"
     "<gpu dev='0' sm='80'><nvlink target='2' count='4' tclass='0x030200'/></gpu></pci>\n"
     "<pci busid='2'><gpu dev='1' sm='80'/></pci></cpu></system>",
     {"given:3:16: error: has 0 NVLinks to the GPU of line 2, which has 4",
      "given:2:1: warning: the PCIe link is not known"}},
    {"nccl_topo",
     "A100",
     "<system><cpu/>\n<cpu numaid='0'/></system>",
     {"given:1:9: error: <cpu> lacks the attribute \"numaid\""}},
    {"simgrid_xml",
     NULL,
     ZONE("<host id='a' speed='1f'/>"),
     {"given:3:1: error: the device of this host is not known: name one with --device"}},
    {"simgrid_xml",
     "A100",
     "<platform version='3'/>",
     {"given:1:1: error: version 4 or 4.1 is expected"}},
    {"simgrid_xml",
     "A100",
     ZONE(TWO_HOSTS "<link id='l' bandwidth='1Gbp' latency='1h' sharing_policy='WIFI'/>\n"
                    "<storage id='s'/>"),
     {"given:4:1: error: bandwidth must be a bandwidth such as", "latency must be a time such as",
      "the sharing policy \"WIFI\"", "given:5:1: error: <storage> cannot be expressed"}},
    {"simgrid_xml",
     "A100",
     ZONE(TWO_HOSTS "<link id='link' bandwidth='1Gbps'/>\n"
                    "<route src='a' dst='c'><link_ctn id='lnk'/></route>"),
     {"given:5:1: error: no host or router is named \"c\"",
      "given:5:24: error: no link is named \"lnk\" (did you mean \"link\"?)"}},
    {"simgrid_xml",
     "A100",
     ZONE(TWO_HOSTS "<host id='a' speed='1f'/><link id='l' bandwidth='1Gbps'/>\n"),
     {"given:4:1: error: the name \"a\" is taken: hosts and routers"}},
    {"simgrid_xml",
     "A100",
     ZONE(TWO_HOSTS "<link id='a' bandwidth='1Gbps'/>\n"
                    "<route src='a' dst='b'><link_ctn id='a'/></route>"),
     {"given:4:1: error: the name \"a\" is taken: hosts, switches and links"}},
    {"simgrid_xml",
     "A100",
     ZONE(TWO_HOSTS "<host id='c' speed='1f'/><link id='bus' bandwidth='1Gbps'/>\n"
                    "<route src='a' dst='b'><link_ctn id='bus'/></route>\n"
                    "<route src='a' dst='c'><link_ctn id='bus'/></route>"),
     {"given:6:1: error: the link \"bus\" joins \"a\" and \"b\" elsewhere"}},
    {"simgrid_xml",
     "A100",
     ZONE("<cluster id='c' radical='3-1' speed='1f' bw='1Gbps' lat='0' bb_bw='1Gbps'/>"),
     {"given:3:1: error: a cluster with a backbone"}},
    {"nccl_tests", NULL, "nothing\n", {"given:1:1: error: no heading with the columns size"}},
    {"nccl_tests",
     NULL,
     HEADING "8 2 float sum -1 x 0.00 0.00 0 5 0 0 0\n16 4 float\n",
     {"given:2:18: error: time must be a number", "given:3:1: error: a row of 10 to 13 columns"}},
    {"nccl_tests",
     NULL,
     HEADING "8 2 float sum -1 5 1.00 1.00 0 5 0 0 0\n",
     {"given: error: latency and bandwidth need rows of at least two sizes"}},
    {"nccl_tests",
     NULL,
     HEADING "8 2 float sum -1 5 1 1 0 5 0 0 0\n9 2 float sum -1 4 1 1 0 5 0 0 0\n",
     {"given: error: the times do not grow with the size"}},
    {"layer_csv",
     NULL,
     "layer,fwd,bwd_us,act_bytes,act_bytes\n",
     {"given:1:7: error: unknown column \"fwd\" (did you mean \"fwd_us\"?)",
      "given:1:1: error: missing column \"param_bytes\"", "given:1:28: error: a second column",
      "given:1:1: error: missing column \"fwd_us\""}},
    {"layer_csv",
     NULL,
     COLUMNS "a,1,2,3\n\"b\",-1,x,1e30,\n",
     {"given:2:1: error: the row has 4 fields, the heading 5",
      "given:3:5: error: fwd_us must be at least 0, not \"-1\"",
      "given:3:8: error: bwd_us must be a number, not \"x\"",
      "given:3:10: error: act_bytes must be at most"}},
    {"layer_csv",
     NULL,
     COLUMNS "a,1,2,3,4\n\"\xC3\xA9\" b,1\n",
     {"given:3:4: error: a comma or the end of the line is expected"}},
    {"layer_csv", NULL, COLUMNS "\"a,1,2,3,4\n", {"given:2:1: error: the quote is not closed"}},
    {"layer_csv", NULL, COLUMNS, {"given: error: at least one layer must take longer than 0 us"}},
    {"layer_csv",
     NULL,
     "layer,fwd_us,bwd_us,act_bytes,param_bytes,bwd_input_us,bwd_weight_us,reversible\n"
     "a,1,2,3,4,1,0.5,yes\n",
     {"given:2:1: error: bwd_input_us and bwd_weight_us must add up",
      "given:2:17: error: reversible must be true or false, not \"yes\""}},
    {"layer_csv", NULL, "layer\xFF\n", {"given:1:6: error: a text in UTF-8 is expected"}},
};

static void check_faults(struct test_imported *r, const char *const faults[FAULTS_MAX])
{
    struct psim_text report = PSIM_TEXT_INIT;

    assert_int_not_equal(r->status, PSIM_OK);
    assert_int_equal(r->text.length, 0);
    for (size_t i = 0; i < r->list.count; i++)
        psim_text_printf(&report, "%s\n", psim_diagnostic_line(&r->list, i));
    for (size_t i = 0; i < FAULTS_MAX && faults[i] != NULL; i++)
        check_contains(report.data, faults[i]);
    psim_text_release(&report);
}

static void every_fault_has_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct test_imported r =
            test_import(cases[i].kind, cases[i].device, cases[i].text, strlen(cases[i].text));

        check_faults(&r, cases[i].faults);
        test_imported_release(&r);
    }
}

static void a_zero_byte_is_refused(void **state)
{
    struct test_imported r = test_import("layer_csv", NULL, "layer\0,", 7);

    (void)state;
    check_faults(&r, (const char *const[FAULTS_MAX]){"given:1:6: error: a text in UTF-8"});
    test_imported_release(&r);
}

static void check_warning(const char *kind, const char *text, const char *warning)
{
    struct test_imported r = test_import(kind, "A100", text, strlen(text));

    test_imported_check(&r);
    assert_int_equal(r.list.count, 1);
    check_contains(psim_diagnostic_line(&r.list, 0), warning);
    test_imported_release(&r);
}

static void what_changes_in_meaning_is_warned_of(void **state)
{
    (void)state;
    check_warning("nvidia_smi_topo",
                  "GPU0 GPU1 GPU2\nGPU0 X PIX SYS\nGPU1 PIX X PIX\nGPU2 SYS PIX X\n",
                  "given:4:6: warning: \"GPU2\" and \"GPU0\" are SYS here and PIX through");
    check_warning("simgrid_xml",
                  ZONE(TWO_HOSTS "<link id='l' bandwidth='1Gbps' sharing_policy='FATPIPE'/>\n"
                                 "<route src='a' dst='b'><link_ctn id='l'/></route>"),
                  "given:4:1: warning: a FATPIPE link gives each message all");
    check_warning("simgrid_xml",
                  ZONE(TWO_HOSTS "<link id='l' bandwidth='1Gbps'/><link id='idle' "
                                 "bandwidth='1Gbps'/>\n"
                                 "<route src='a' dst='b'><link_ctn id='l'/></route>"),
                  "warning: the link \"idle\" is in no route");
    check_warning("simgrid_xml",
                  ZONE(TWO_HOSTS
                       "<router id='r'/><link id='l' bandwidth='1Gbps' latency='9us'/>"
                       "<link id='m' bandwidth='1Gbps'/><link id='n' bandwidth='1Gbps'/>\n"
                       "<route src='a' dst='r'><link_ctn id='m'/></route>"
                       "<route src='r' dst='b'><link_ctn id='n'/></route>\n"
                       "<route src='a' dst='b'><link_ctn id='l'/></route>"),
                  "given:6:1: warning: petrasim takes another way from \"a\" to \"b\"");
}

/* ---- Memory, damaged files ---- */

static void failing_allocations_end_in_no_memory(void **state)
{
    (void)state;
    for (size_t k = 0; psim_importer_table[k] != NULL; k++) {
        char *text = test_import_example(psim_importer_table[k]->name);
        enum psim_status status = PSIM_ERR_NOMEM;

        for (unsigned long n = 1; status != PSIM_OK; n++) {
            struct test_imported r;

            psim_alloc_fail_at(n);
            r = test_import(psim_importer_table[k]->name, "V100", text, strlen(text));
            psim_alloc_fail_at(0);
            status = r.status;
            assert_true(status == PSIM_OK || status == PSIM_ERR_NOMEM);
            assert_true(status == PSIM_OK || r.text.length == 0);
            test_imported_release(&r);
        }
        free(text);
    }
}

static void failing_allocations_of_the_export_end_in_no_memory(void **state)
{
    char *example = test_import_example("simgrid_xml");
    struct psim_platform platform = test_import_platform("simgrid_xml", "V100", example);
    enum psim_status status = PSIM_ERR_NOMEM;

    (void)state;
    for (unsigned long n = 1; status != PSIM_OK; n++) {
        struct psim_text text = PSIM_TEXT_INIT;

        psim_alloc_fail_at(n);
        status = psim_export_simgrid(&platform, &text, NULL);
        psim_alloc_fail_at(0);
        assert_true(status == PSIM_OK || (status == PSIM_ERR_NOMEM && text.length == 0));
        psim_text_release(&text);
    }
    psim_platform_release(&platform);
    free(example);
}

static void check_read(const char *text)
{
    json_t *root = test_json_parse(text);

    if (json_object_get(root, "petrasim") != NULL) {
        struct psim_platform platform = test_platform_of(text);

        psim_platform_release(&platform);
    } else if (json_object_get(root, "model") != NULL) {
        struct psim_scenario scenario = test_scenario_of(text);

        psim_scenario_release(&scenario);
    }
    json_decref(root);
}

/* Whatever is imported from a damaged file must still be sound.  What came out before, and is in
 * `known`, need not be read again. */
static void import_damaged(const char *kind, const char *text, size_t length,
                           struct psim_text *known)
{
    struct test_imported r = test_import(kind, "V100", text, length);

    if (r.status != PSIM_OK) {
        assert_true(r.list.errors > 0);
        assert_int_equal(r.text.length, 0);
    } else if (known->data == NULL || strcmp(r.text.data, known->data) != 0) {
        check_read(r.text.data);
        psim_text_release(known);
        psim_text_append(known, r.text.data, r.text.length);
    }
    test_imported_release(&r);
}

/* To the importer the device in the SimGrid example is a name like any other, so that one which the
 * catalogue lacks is the reader's to refuse: bytes from `first` on are not flipped. */
static void damage(const char *kind, char *text, size_t first, size_t bytes)
{
    static const char flips[] = {0x01, 0x04, 0x10};
    const size_t length = strlen(text);
    struct psim_text known = PSIM_TEXT_INIT;

    for (size_t at = 0; at < length; at++) {
        const char kept = text[at];

        text[at] = '\0';
        import_damaged(kind, text, at, &known);
        text[at] = (char)(kept ^ flips[at % sizeof flips]);
        if (at < first || at >= first + bytes)
            import_damaged(kind, text, length, &known);
        text[at] = kept;
    }
    psim_text_release(&known);
}

static void damaged_files_neither_crash_nor_give_what_no_reader_takes(void **state)
{
    static const char device[] = "A100-SXM4-80GB";

    (void)state;
    for (size_t k = 0; psim_importer_table[k] != NULL; k++) {
        const char *kind = psim_importer_table[k]->name;
        char *text = test_import_example(kind);
        const char *name = strstr(text, device);

        damage(kind, text, name == NULL ? 0 : (size_t)(name - text),
               name == NULL ? 0 : strlen(device));
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_has_its_place),
        cmocka_unit_test(a_zero_byte_is_refused),
        cmocka_unit_test(what_changes_in_meaning_is_warned_of),
        cmocka_unit_test(failing_allocations_end_in_no_memory),
        cmocka_unit_test(failing_allocations_of_the_export_end_in_no_memory),
        cmocka_unit_test(damaged_files_neither_crash_nor_give_what_no_reader_takes),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

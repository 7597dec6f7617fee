/*
 * Every output format against golden files under tests/data/report, and against readers.
 *
 * With PSIM_UPDATE_GOLDEN set in the environment the golden files are written first.
 */
#include "sim/report/report.h"

#include "sim/base/memory.h"
#include "tests/support/check.h"
#include "tests/unit/report_sample.h"

#include <jansson.h>

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct psim_text render(const struct psim_comparison *comparison, enum psim_format format,
                               enum psim_view view)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_text text = PSIM_TEXT_INIT;

    assert_int_equal(psim_report_render(comparison, format, view, &text, &err), PSIM_OK);
    assert_non_null(text.data);
    assert_int_equal(strlen(text.data), text.length);
    return text;
}

/* The whole file, to be freed; NULL when it cannot be read. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    size_t length;

    if (file == NULL)
        return NULL;
    fseek(file, 0, SEEK_END);
    length = (size_t)ftell(file);
    rewind(file);
    data = calloc(length + 1, 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, length, file), length);
    fclose(file);
    return data;
}

/* True when they are equal; otherwise says where they part. */
static bool same_text(const char *got, const char *want)
{
    size_t at = 0, line = 1;

    while (got[at] == want[at] && got[at] != '\0')
        line += got[at++] == '\n' ? 1 : 0;
    if (got[at] == want[at])
        return true;
    print_message("texts part in line %zu: \"%.40s\" instead of \"%.40s\"\n", line, got + at,
                  want + at);
    return false;
}

static void check_golden(enum psim_format format, enum psim_view view, const char *name)
{
    const struct psim_comparison comparison = sample();
    struct psim_text text = render(&comparison, format, view);
    char path[1024];
    char *want;

    snprintf(path, sizeof path, "%s/tests/data/report/%s", PSIM_SOURCE_DIR, name);
    if (getenv("PSIM_UPDATE_GOLDEN") != NULL)
        assert_int_equal(psim_output_write(path, text.data, text.length, NULL), PSIM_OK);
    want = read_file(path);
    assert_non_null(want);
    assert_true(same_text(text.data, want));
    free(want);
    psim_text_release(&text);
}

static void table_is_as_recorded(void **state)
{
    (void)state;
    check_golden(PSIM_FORMAT_TABLE, PSIM_VIEW_COMPARE, "compare.txt");
    check_golden(PSIM_FORMAT_TABLE, PSIM_VIEW_RUN, "run.txt");
}

static void markdown_is_as_recorded(void **state)
{
    (void)state;
    check_golden(PSIM_FORMAT_MARKDOWN, PSIM_VIEW_COMPARE, "compare.md");
    check_golden(PSIM_FORMAT_MARKDOWN, PSIM_VIEW_RUN, "run.md");
}

static void csv_is_as_recorded(void **state)
{
    (void)state;
    check_golden(PSIM_FORMAT_CSV, PSIM_VIEW_COMPARE, "compare.csv");
    check_golden(PSIM_FORMAT_CSV, PSIM_VIEW_RUN, "run.csv");
}

static void latex_is_as_recorded(void **state)
{
    (void)state;
    check_golden(PSIM_FORMAT_LATEX, PSIM_VIEW_COMPARE, "compare.tex");
    check_golden(PSIM_FORMAT_LATEX, PSIM_VIEW_RUN, "run.tex");
}

static void json_is_as_recorded(void **state)
{
    (void)state;
    check_golden(PSIM_FORMAT_JSON, PSIM_VIEW_COMPARE, "compare.json");
    check_golden(PSIM_FORMAT_JSON, PSIM_VIEW_RUN, "compare.json");
}

static void golden_check_rejects_a_changed_byte(void **state)
{
    (void)state;
    assert_false(same_text("a 1\nb 2\n", "a 1\nb 3\n"));
    assert_false(same_text("a 1\n", "a 1\nb 2\n"));
}

static json_t *load(const struct psim_text *text)
{
    json_error_t error;
    json_t *root = json_loadb(text->data, text->length, JSON_REJECT_DUPLICATES, &error);

    if (root == NULL)
        print_error("line %d: %s\n", error.line, error.text);
    assert_non_null(root);
    return root;
}

/* The member at a path such as "results.0.memory.fits"; fails the test when there is none. */
static const json_t *at(const json_t *node, const char *path)
{
    char part[64];

    while (*path != '\0') {
        const size_t length = strcspn(path, ".");

        assert_true(length < sizeof part);
        memcpy(part, path, length);
        part[length] = '\0';
        node = json_is_array(node) ? json_array_get(node, strtoul(part, NULL, 10))
                                   : json_object_get(node, part);
        if (node == NULL)
            print_error("no member at \"%s\"\n", path);
        assert_non_null(node);
        path += length + (path[length] == '.' ? 1 : 0);
    }
    return node;
}

/* The figures that architecture.md names, of one result. */
static const char *const figures[] = {
    "time_per_microbatch_s",
    "time_per_update_s",
    "samples_per_s",
    "speedup_vs.pipedream",
    "utilisation_mean",
    "bubble_fraction",
    "exposed_communication_fraction",
    "flop_per_microbatch",
    "flop_extra_fraction",
    "bytes_forward_per_microbatch",
    "bytes_backward_per_microbatch",
    "memory.peak_bytes_max",
    "memory.peak_bytes_sum",
    "memory.worst_device",
    "memory.worst_stage",
    "memory.at_s",
    "memory.reserved_bytes",
    "memory.capacity_bytes",
    "memory.by_category_at_peak.activations",
    "memory.by_category_at_peak.framework_context",
    "closed_form.time_per_microbatch_units",
    "closed_form.time_per_microbatch_s",
    "closed_form.flop_units",
    "closed_form.activation_copies",
    "closed_form.parameter_copies",
    "closed_form.communication_forward",
    "closed_form.communication_backward",
    "simulated_units.time_per_microbatch",
    "simulated_units.flop",
    "simulated_units.communication_forward",
    "simulated_units.communication_backward",
    "window_s",
    "window_microbatches",
    "start_up_s",
    "stages.0.forward_s",
    "stages.0.backward_s",
    "stages.0.update_s",
    "stages.0.busy_fraction",
    "stages.0.exposed_fraction",
    "stages.0.staleness_microbatches",
    "stages.0.parameter_versions",
    "stages.0.held_microbatches",
    "stages.0.carried_microbatches",
    "stages.0.memory_peak_bytes",
    "stages.0.memory_peak_at_s",
    "stages.0.memory_by_category_at_peak.parameters",
    "energy_per_update_j",
    "energy_per_sample_j",
    "energy_per_epoch_j",
    "energy_per_token_j",
    "energy_devices_per_update_j",
    "energy_links_per_update_j",
    "cost_per_token_usd",
    "cost_per_update_usd",
    "cost_per_sample_usd",
    "cost_per_epoch_usd",
    "price_date",
    "time_per_epoch_s",
};

static void json_writes_null_for_what_is_not_known_and_misses_no_key(void **state)
{
    const struct psim_comparison comparison = sample();
    struct psim_text text = render(&comparison, PSIM_FORMAT_JSON, PSIM_VIEW_COMPARE);
    json_t *root = load(&text);
    const json_t *known = at(root, "results.0"), *unknown = at(root, "results.1");

    (void)state;
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        if (json_is_null(at(known, figures[i])) || !json_is_null(at(unknown, figures[i])))
            fail_msg("%s", figures[i]);
    }
    json_decref(root);
    psim_text_release(&text);
}

static void json_reads_back_to_the_same_values(void **state)
{
    struct psim_comparison comparison = sample();
    struct psim_text text;
    json_t *root;

    (void)state;
    rows[0].simulation.time_per_microbatch_s = 0.1 + 0.2;
    rows[0].simulation.time_per_update_s = 5e-324;
    rows[0].simulation.window_s = 1.7976931348623157e308;
    rows[0].samples_per_s = 1e22;
    text = render(&comparison, PSIM_FORMAT_JSON, PSIM_VIEW_COMPARE);
    root = load(&text);
    assert_true(json_real_value(at(root, "results.0.time_per_microbatch_s")) == 0.1 + 0.2);
    assert_true(json_real_value(at(root, "results.0.time_per_update_s")) == 5e-324);
    assert_true(json_real_value(at(root, "results.0.window_s")) == 1.7976931348623157e308);
    assert_true(json_real_value(at(root, "results.0.samples_per_s")) == 1e22);
    assert_true(json_is_real(at(root, "results.0.speedup_vs.pipedream")));
    assert_true(json_real_value(at(root, "results.0.simulated_units.time_per_microbatch")) ==
                (0.1 + 0.2) / 0.01115);
    assert_string_equal(json_string_value(at(root, "petrasim")), "result/1");
    assert_string_equal(json_string_value(at(root, "scenario.resolved.file")), "sample.json");
    assert_string_equal(json_string_value(at(root, "scenario.resolved.placement.1")), "node0.gpu1");
    assert_string_equal(json_string_value(at(root, "results.1.label")), rows[1].label);
    assert_int_equal(json_integer_value(at(root, "results.0.memory.peak_bytes_max")), 14 * GIB);
    assert_int_equal(json_integer_value(at(root, "results.0.memory.worst_stage")), 1);
    assert_int_equal(json_integer_value(at(root, "results.0.stages.1.stage")), 2);
    assert_int_equal(json_integer_value(at(root, "results.0.options.accumulation")), 8);
    assert_true(json_is_false(at(root, "results.0.options.stash_parameters")));
    assert_string_equal(json_string_value(at(root, "results.0.options.overlap")), "ideal");
    assert_true(json_is_false(at(root, "results.2.memory.fits")));
    check_near(json_real_value(at(root, "results.0.tags.published")), 0.5, 0.0);
    json_decref(root);
    psim_text_release(&text);
}

static void file_name_that_is_not_utf8_still_gives_json(void **state)
{
    struct psim_comparison comparison = sample();
    struct psim_text text;
    json_t *root;

    (void)state;
    comparison.scenario_file = "a/\xff\xfe.json";
    text = render(&comparison, PSIM_FORMAT_JSON, PSIM_VIEW_COMPARE);
    root = load(&text);
    assert_string_equal(json_string_value(at(root, "scenario.resolved.file")), "?\?.json");
    json_decref(root);
    psim_text_release(&text);
}

/* Cells of a CSV record by RFC 4180; *text moves behind it.  *label receives cell 1. */
static int csv_cells(const char **text, char *label, size_t size)
{
    const char *c = *text;
    size_t length = 0;
    bool quoted = false;
    int cells = 1;

    for (; *c != '\0' && (quoted || *c != '\r'); c++) {
        if (*c == '"' && quoted && c[1] == '"')
            c++;
        else if (*c == '"') {
            quoted = !quoted;
            continue;
        } else if (*c == ',' && !quoted) {
            cells++;
            continue;
        }
        if (cells == 2 && length + 1 < size)
            label[length++] = *c;
    }
    label[length] = '\0';
    *text = c[0] == '\r' && c[1] == '\n' ? c + 2 : "";
    return cells;
}

static void csv_reader_finds_equal_records_and_the_label(void **state)
{
    const struct psim_comparison comparison = sample();
    struct psim_text text = render(&comparison, PSIM_FORMAT_CSV, PSIM_VIEW_COMPARE);
    const char *rest = text.data;
    char label[64];
    const int columns = csv_cells(&rest, label, sizeof label);

    (void)state;
    assert_string_equal(label, "label");
    for (int i = 0; i < ROWS; i++) {
        assert_int_equal(csv_cells(&rest, label, sizeof label), columns);
        assert_string_equal(label, rows[i].label);
    }
    assert_string_equal(rest, "");
    psim_text_release(&text);
}

/* Separators in a line that no backslash escapes. */
static int bare_separators(const char *line, size_t length, char separator)
{
    int found = 0;

    for (size_t i = 0; i < length; i++) {
        if (line[i] == '\\')
            i++;
        else if (line[i] == separator)
            found++;
    }
    return found;
}

/* All lines of a table have the same number of separators; tables end where a line has none. */
static bool tables_are_regular(const char *text, char separator, const char *skip)
{
    int columns = 0;

    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");
        const int found = bare_separators(text, length, separator);

        if (found == 0)
            columns = 0;
        else if (text[0] != '%' && strncmp(text, skip, strlen(skip)) != 0) {
            if (columns != 0 && found != columns)
                return false;
            columns = found;
        }
        text += length + (text[length] == '\n' ? 1 : 0);
    }
    return true;
}

static void markup_keeps_its_columns_whatever_the_label(void **state)
{
    const struct psim_comparison comparison = sample();
    struct psim_text md = render(&comparison, PSIM_FORMAT_MARKDOWN, PSIM_VIEW_COMPARE);
    struct psim_text tex = render(&comparison, PSIM_FORMAT_LATEX, PSIM_VIEW_RUN);

    (void)state;
    assert_true(tables_are_regular(md.data, '|', "- "));
    assert_true(tables_are_regular(tex.data, '&', " & "));
    assert_false(tables_are_regular("| a | b |\n| c|d | e |\n", '|', "- "));
    psim_text_release(&md);
    psim_text_release(&tex);
}

static void terminal_table_stays_within_its_width(void **state)
{
    struct psim_comparison comparison = sample();
    struct psim_text text;

    (void)state;
    rows[0].label = "delayed_gradients_checkpoint";
    text = render(&comparison, PSIM_FORMAT_TABLE, PSIM_VIEW_COMPARE);
    for (const char *line = text.data; *line != '\0'; line += strcspn(line, "\n") + 1)
        assert_true(strcspn(line, "\n") <= 130);
    psim_text_release(&text);
}

static void control_characters_do_not_reach_the_terminal(void **state)
{
    struct psim_comparison comparison = sample();
    struct psim_text text;

    (void)state;
    rows[0].label = "red\x1b[31m";
    text = render(&comparison, PSIM_FORMAT_TABLE, PSIM_VIEW_RUN);
    assert_null(strchr(text.data, '\x1b'));
    check_contains(text.data, "red?[31m");
    psim_text_release(&text);
}

static void paper_accounting_counts_memory_in_powers_of_1000(void **state)
{
    /* PETRA (arXiv 2406.02052v1), Table 3: 44.5 / 43.6 / 21.2 / 20.3 GB. */
    struct psim_comparison comparison = sample();
    struct psim_text text;

    (void)state;
    comparison.accounting = "paper";
    rows[0].peak_bytes_sum = INT64_C(20330000000);
    rows[2].peak_bytes_sum = INT64_C(44450000000);
    rows[0].peak_bytes_max = rows[2].peak_bytes_max = -1;
    text = render(&comparison, PSIM_FORMAT_MARKDOWN, PSIM_VIEW_COMPARE);
    check_contains(text.data, "peak memory: all devices (GB)");
    check_contains(text.data, "| 20.33 |");
    check_contains(text.data, "| 44.45 |");
    psim_text_release(&text);
}

static void verdict_names_the_stage_without_room(void **state)
{
    const struct psim_comparison comparison = sample();
    struct psim_text text = render(&comparison, PSIM_FORMAT_TABLE, PSIM_VIEW_RUN);

    (void)state;
    check_contains(text.data, "does not fit 20.00 GiB of 16.00 GiB reserved on stage 2 "
                              "(node0.gpu1), the tightest; over by 4.000 GiB");
    check_contains(text.data, "fits         15.00 GiB of 80.00 GiB reserved on stage 1");
    psim_text_release(&text);
}

static void comparison_without_rows_renders(void **state)
{
    struct psim_comparison comparison = sample();

    (void)state;
    comparison.result_count = 0;
    for (int format = 0; format < PSIM_FORMATS; format++) {
        for (int view = 0; view <= PSIM_VIEW_RUN; view++) {
            struct psim_text text =
                render(&comparison, (enum psim_format)format, (enum psim_view)view);

            psim_text_release(&text);
        }
    }
}

static void *json_block(size_t size)
{
    return psim_alloc(size, 1);
}

static void every_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    const struct psim_comparison comparison = sample();

    (void)state;
    json_set_alloc_funcs(json_block, psim_free);
    for (int format = 0; format < PSIM_FORMATS; format++) {
        for (int view = 0; view <= PSIM_VIEW_RUN; view++) {
            enum psim_status status = PSIM_ERR_NOMEM;

            for (unsigned long n = 1; status != PSIM_OK; n++) {
                struct psim_error err = PSIM_ERROR_INIT;
                struct psim_text text = PSIM_TEXT_INIT;

                assert_true(n < 100000);
                psim_alloc_fail_at(n);
                status = psim_report_render(&comparison, (enum psim_format)format,
                                            (enum psim_view)view, &text, &err);
                psim_alloc_fail_at(0);
                if (status != PSIM_OK) {
                    assert_int_equal(status, PSIM_ERR_NOMEM);
                    assert_int_equal(err.status, PSIM_ERR_NOMEM);
                    assert_null(text.data);
                }
                psim_text_release(&text);
            }
        }
    }
    json_set_alloc_funcs(malloc, free);
}

static void bytes_do_not_depend_on_the_locale(void **state)
{
    static const char *const commas[] = {"de_DE.UTF-8", "de_DE.utf8",  "fr_FR.UTF-8",
                                         "de_DE",       "it_IT.UTF-8", "nl_NL.UTF-8"};
    const char *found = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof commas / sizeof commas[0] && found == NULL; i++)
        found = setlocale(LC_ALL, commas[i]);
    if (found == NULL)
        skip();
    assert_string_equal(localeconv()->decimal_point, ",");
    check_golden(PSIM_FORMAT_TABLE, PSIM_VIEW_RUN, "run.txt");
    check_golden(PSIM_FORMAT_CSV, PSIM_VIEW_COMPARE, "compare.csv");
    check_golden(PSIM_FORMAT_JSON, PSIM_VIEW_COMPARE, "compare.json");
    assert_string_equal(localeconv()->decimal_point, ",");
    setlocale(LC_ALL, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_as_recorded),
        cmocka_unit_test(markdown_is_as_recorded),
        cmocka_unit_test(csv_is_as_recorded),
        cmocka_unit_test(latex_is_as_recorded),
        cmocka_unit_test(json_is_as_recorded),
        cmocka_unit_test(golden_check_rejects_a_changed_byte),
        cmocka_unit_test(json_writes_null_for_what_is_not_known_and_misses_no_key),
        cmocka_unit_test(json_reads_back_to_the_same_values),
        cmocka_unit_test(file_name_that_is_not_utf8_still_gives_json),
        cmocka_unit_test(csv_reader_finds_equal_records_and_the_label),
        cmocka_unit_test(markup_keeps_its_columns_whatever_the_label),
        cmocka_unit_test(terminal_table_stays_within_its_width),
        cmocka_unit_test(control_characters_do_not_reach_the_terminal),
        cmocka_unit_test(paper_accounting_counts_memory_in_powers_of_1000),
        cmocka_unit_test(verdict_names_the_stage_without_room),
        cmocka_unit_test(comparison_without_rows_renders),
        cmocka_unit_test(every_failed_allocation_is_reported_and_leaks_nothing),
        cmocka_unit_test(bytes_do_not_depend_on_the_locale),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

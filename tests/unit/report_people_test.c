/* What a reader of the table, Markdown and LaTeX must find in them. */
#include "sim/report/report.h"

#include "tests/support/check.h"
#include "tests/unit/report_sample.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define DEPTH 32

static struct psim_text render(const struct psim_comparison *comparison, enum psim_format format,
                               enum psim_view view)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_text text = PSIM_TEXT_INIT;

    assert_int_equal(psim_report_render(comparison, format, view, &text, &err), PSIM_OK);
    return text;
}

static void check_rendered(const struct psim_comparison *comparison, enum psim_format format,
                           enum psim_view view, const char *const *wanted)
{
    struct psim_text text = render(comparison, format, view);

    for (; *wanted != NULL; wanted++)
        check_contains(text.data, *wanted);
    psim_text_release(&text);
}

static void columns_of_a_group_have_units_of_their_own(void **state)
{
    static const char *const wanted[] = {"| time per: micro-batch (ms) | time per: update (s) |",
                                         "| 7.89 | 2.10 |", "| 123.00 | 1260.00 |", NULL};
    struct psim_comparison comparison = sample();

    (void)state;
    rows[0].simulation.time_per_microbatch_s = 0.00789;
    rows[0].simulation.time_per_update_s = 2.1;
    rows[2].simulation.time_per_microbatch_s = 0.123;
    rows[2].simulation.time_per_update_s = 1260.0;
    check_rendered(&comparison, PSIM_FORMAT_MARKDOWN, PSIM_VIEW_COMPARE, wanted);
}

static void memory_that_is_kept_is_counted_beside_the_claim(void **state)
{
    static const char *const wanted[] = {
        "| kept at the peak (GiB) | kept (claim) |", "| 12.00 | 1 input |", "| 68.00 | 0 |",
        "kept (claim): closed form at the first stage of equal stages", NULL};
    struct psim_comparison comparison = sample();

    (void)state;
    strcpy(rows[0].closed_form.activation_copies, "1 inputs");
    check_rendered(&comparison, PSIM_FORMAT_MARKDOWN, PSIM_VIEW_COMPARE, wanted);
}

static void misfit_says_that_reserved_bytes_on_some_device_decide(void **state)
{
    static const char *const table[] = {"70.00!",
                                        "!            does not fit on at least one device; see the "
                                        "note: what is reserved decides, not the peak",
                                        NULL};
    static const char *const stages[] = {"16.70!", "15.00*", "*            the stage with",
                                         "does not fit 16.70 GiB of 16.00 GiB reserved on stage 2",
                                         NULL};
    const struct psim_comparison comparison = sample();
    struct psim_text text;

    (void)state;
    misfit_stages[1].memory.bytes = 15 * GIB;
    misfit_stages[1].memory.reserved_bytes = 167 * GIB / 10;
    check_rendered(&comparison, PSIM_FORMAT_TABLE, PSIM_VIEW_COMPARE, table);
    check_rendered(&comparison, PSIM_FORMAT_TABLE, PSIM_VIEW_RUN, stages);
    rows[2].fits = true;
    text = render(&comparison, PSIM_FORMAT_TABLE, PSIM_VIEW_COMPARE);
    assert_null(strchr(text.data, '!'));
    psim_text_release(&text);
}

static void each_bottleneck_has_its_line_with_its_labels(void **state)
{
    static const char *const wanted[] = {
        "\nbottleneck   stage 1 compute, of 2: petra, shared; pipedream\nbottleneck   unknown: ",
        NULL};
    struct psim_comparison comparison = sample();

    (void)state;
    rows[0].label = "petra, shared";
    rows[0].bottleneck = rows[2].bottleneck = "stage 1 compute, of 2";
    check_rendered(&comparison, PSIM_FORMAT_TABLE, PSIM_VIEW_COMPARE, wanted);
}

static void units_of_different_nets_are_said_not_to_compare(void **state)
{
    static const char *const wanted[] = {"\nunits        of the row's own net", NULL};
    struct psim_comparison comparison = sample();
    struct psim_text text;

    (void)state;
    check_rendered(&comparison, PSIM_FORMAT_TABLE, PSIM_VIEW_COMPARE, wanted);
    rows[2].model = rows[0].model;
    text = render(&comparison, PSIM_FORMAT_TABLE, PSIM_VIEW_COMPARE);
    assert_null(strstr(text.data, wanted[0]));
    psim_text_release(&text);
}

static void one_of_a_kind_is_singular(void **state)
{
    static const char *const wanted[] = {"1 micro-batch of 1 = 1 sample per update",
                                         "1 of its 1 device\n", "in 1 stage, ",
                                         "1 micro-batch in 396.0 ms", NULL};
    struct psim_comparison comparison = sample();

    (void)state;
    comparison.microbatch = comparison.accumulation = comparison.devices = 1;
    for (int i = 0; i < ROWS; i++)
        rows[i].simulation.stage_count = 1;
    rows[0].simulation.window_microbatches = 1;
    check_rendered(&comparison, PSIM_FORMAT_TABLE, PSIM_VIEW_RUN, wanted);
}

static void wide_characters_keep_columns_aligned(void **state)
{
    /* Six columns of name, padded to the widest label. */
    static const char *const wanted[] = {
        "\n\xe5\xb1\x82\xe4\xba\x8c\xe4\xb8\x89                      revnet50  ",
        "\n--------------------------  --------  ", NULL};
    struct psim_comparison comparison = sample();

    (void)state;
    rows[0].label = "\xe5\xb1\x82\xe4\xba\x8c\xe4\xb8\x89";
    check_rendered(&comparison, PSIM_FORMAT_TABLE, PSIM_VIEW_COMPARE, wanted);
}

/* The length of the control sequence at `text`, its backslash included. */
static size_t command_length(const char *text)
{
    size_t length = 1;

    while (isalpha((unsigned char)text[length]))
        length++;
    return length > 1 ? length : 2;
}

static bool is_known_command(const char *text, size_t length)
{
    static const char *const known[] = {"\\begin",
                                        "\\end",
                                        "\\centering",
                                        "\\caption",
                                        "\\footnotesize",
                                        "\\scriptsize",
                                        "\\setlength",
                                        "\\tabcolsep",
                                        "\\toprule",
                                        "\\midrule",
                                        "\\bottomrule",
                                        "\\cmidrule",
                                        "\\multicolumn",
                                        "\\\\",
                                        "\\smallskip",
                                        "\\linewidth",
                                        "\\textit",
                                        "\\textsuperscript",
                                        "\\rlap",
                                        "\\par",
                                        "\\times",
                                        "\\clearpage",
                                        "\\&",
                                        "\\%",
                                        "\\$",
                                        "\\#",
                                        "\\_",
                                        "\\{",
                                        "\\}",
                                        "\\textasciitilde",
                                        "\\textasciicircum",
                                        "\\textbackslash",
                                        "\\textless",
                                        "\\textgreater",
                                        "\\textbar"};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strlen(known[i]) == length && strncmp(text, known[i], length) == 0)
            return true;
    }
    return false;
}

/* What a compiler with booktabs accepts, as far as it can be told without one: only the commands
 * above, braces and environments that nest, nothing that a row's end takes for its argument. */
static bool is_sound_latex(const char *text)
{
    const char *open[DEPTH];
    int environments = 0, braces = 0;

    for (; *text != '\0'; text++) {
        if (*text == '%') {
            text += strcspn(text, "\n");
        } else if (*text == '{' || *text == '}') {
            braces += *text == '{' ? 1 : -1;
        } else if (*text == '\\') {
            const size_t length = command_length(text);
            const char *name = text + length;

            if (!is_known_command(text, length))
                return false;
            if (strncmp(text, "\\\\", 2) == 0 && strchr("[*", name[strspn(name, " \n")]) != NULL)
                return false;
            if (strncmp(text, "\\begin", length) == 0 && environments < DEPTH)
                open[environments++] = name;
            else if (strncmp(text, "\\end", length) == 0 &&
                     (--environments < 0 ||
                      strncmp(open[environments], name, strcspn(name, "}") + 1) != 0))
                return false;
            text += length - 1;
        }
        if (braces < 0)
            return false;
    }
    return environments == 0 && braces == 0;
}

static void latex_is_sound_whatever_the_label(void **state)
{
    static const char *const labels[] = {"[x] {y} \\z", "*", "50% & ~^<|>$#_", "\\\\[2ex]"};
    struct psim_comparison comparison = sample();

    (void)state;
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        rows[1].label = labels[i];
        rows[2].note = labels[i];
        for (int view = 0; view <= PSIM_VIEW_RUN; view++) {
            struct psim_text text = render(&comparison, PSIM_FORMAT_LATEX, (enum psim_view)view);

            assert_true(is_sound_latex(text.data));
            psim_text_release(&text);
        }
    }
}

static void latex_checker_rejects_what_would_not_compile(void **state)
{
    (void)state;
    assert_true(is_sound_latex("\\begin{table}\\textit{a}: 5 \\% \\\\\n{[}b] \\end{table} % {\n"));
    assert_false(is_sound_latex("\\begin{table}"));
    assert_false(is_sound_latex("\\begin{table}\\end{tabular}"));
    assert_false(is_sound_latex("\\end{table}"));
    assert_false(is_sound_latex("\\textit{a"));
    assert_false(is_sound_latex("\\resizebox{a}"));
    assert_false(is_sound_latex("a \\\\\n[b] & c \\\\\n"));
    assert_false(is_sound_latex("a \\\\\n* & c \\\\\n"));
}

/* Everything but the tables' bodies, in the table that it belongs to. */
static void latex_says_below_each_table_what_its_marks_mean(void **state)
{
    const struct psim_comparison comparison = sample();
    struct psim_text text = render(&comparison, PSIM_FORMAT_LATEX, PSIM_VIEW_COMPARE);
    char *second;

    (void)state;
    assert_null(strstr(strchr(text.data, '\n'), "\n%"));
    second = strstr(text.data, "\\end{table}");
    assert_non_null(second);
    check_contains(second, "\\caption{Memory, traffic and work: sample.json}");
    check_contains(second, "\n\\textsuperscript{1} 64 samples per update");
    check_contains(second, "\n\\textsuperscript{!} does not fit on at least one device");
    check_contains(second, "\\textit{note}: 2 surplus devices idle");
    check_contains(second, "\\textit{kept (claim)}: ");
    *second = '\0';
    check_contains(text.data, "\\caption{Time: sample.json}");
    check_contains(text.data, "\n\\textsuperscript{1} 64 samples per update");
    check_contains(text.data, "\\textit{batch}: 8 micro-batches of 64");
    check_contains(text.data, " & (ms) & (ms) &  & ");
    assert_null(strstr(text.data, "\\textsuperscript{!}"));
    psim_text_release(&text);
}

static void latex_writes_exponents_as_powers_of_ten(void **state)
{
    static const char *const wanted[] = {"$1.00\\times10^{-291}$", "$1.000\\times10^{300}$", NULL};
    struct psim_comparison comparison = sample();

    (void)state;
    rows[0].simulation.time_per_microbatch_s = rows[2].simulation.time_per_microbatch_s = 1e-300;
    rows[0].samples_per_s = 1e300;
    check_rendered(&comparison, PSIM_FORMAT_LATEX, PSIM_VIEW_COMPARE, wanted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_of_a_group_have_units_of_their_own),
        cmocka_unit_test(memory_that_is_kept_is_counted_beside_the_claim),
        cmocka_unit_test(misfit_says_that_reserved_bytes_on_some_device_decide),
        cmocka_unit_test(each_bottleneck_has_its_line_with_its_labels),
        cmocka_unit_test(units_of_different_nets_are_said_not_to_compare),
        cmocka_unit_test(one_of_a_kind_is_singular),
        cmocka_unit_test(wide_characters_keep_columns_aligned),
        cmocka_unit_test(latex_is_sound_whatever_the_label),
        cmocka_unit_test(latex_checker_rejects_what_would_not_compile),
        cmocka_unit_test(latex_says_below_each_table_what_its_marks_mean),
        cmocka_unit_test(latex_writes_exponents_as_powers_of_ten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "sim/report/document.h"
#include "sim/report/format.h"

#include <string.h>

/* LaTeX with booktabs: one tabular a grid; what a caption would say stands in comments. */

static const char *escaped(unsigned char byte)
{
    switch (byte) {
    case '&':
        return "\\&";
    case '%':
        return "\\%";
    case '$':
        return "\\$";
    case '#':
        return "\\#";
    case '_':
        return "\\_";
    case '{':
        return "\\{";
    case '}':
        return "\\}";
    case '~':
        return "\\textasciitilde{}";
    case '^':
        return "\\textasciicircum{}";
    case '\\':
        return "\\textbackslash{}";
    case '<':
        return "\\textless{}";
    case '>':
        return "\\textgreater{}";
    case '|':
        return "\\textbar{}";
    default:
        return NULL;
    }
}

static void put(struct psim_text *out, const char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char byte = (unsigned char)*text;
        const char *replacement = escaped(byte);

        if (byte < 0x20 || byte == 0x7F)
            psim_text_printf(out, " ");
        else if (replacement != NULL)
            psim_text_printf(out, "%s", replacement);
        else
            psim_text_append(out, text, 1);
    }
}

/* A comment ends with its line, so no line break may get into it. */
static void put_comment(struct psim_text *out, const char *text)
{
    for (; *text != '\0'; text++) {
        const unsigned char byte = (unsigned char)*text;

        psim_text_append(out, byte < 0x20 || byte == 0x7F ? " " : text, 1);
    }
}

static void put_facts(struct psim_text *out, const struct psim_facts *facts)
{
    for (int i = 0; i < facts->count; i++) {
        psim_text_printf(out, "%% ");
        put_comment(out, facts->items[i].title);
        psim_text_printf(out, ": ");
        put_comment(out, facts->items[i].text);
        psim_text_printf(out, "\n");
    }
}

static void put_groups(struct psim_text *out, const struct psim_grid *grid)
{
    for (int at = 0; at < grid->column_count; at += psim_grid_span(grid, at)) {
        const int span = psim_grid_span(grid, at);

        if (at > 0)
            psim_text_printf(out, " & ");
        if (grid->columns[at].group[0] == '\0')
            continue;
        psim_text_printf(out, "\\multicolumn{%d}{c}{", span);
        put(out, grid->columns[at].group);
        psim_text_printf(out, "}");
    }
    psim_text_printf(out, " \\\\\n");
    for (int at = 0; at < grid->column_count; at += psim_grid_span(grid, at)) {
        if (grid->columns[at].group[0] != '\0')
            psim_text_printf(out, "\\cmidrule(lr){%d-%d}", at + 1, at + psim_grid_span(grid, at));
    }
    psim_text_printf(out, "\n");
}

static void put_headings(struct psim_text *out, const struct psim_grid *grid)
{
    if (psim_grid_has_groups(grid))
        put_groups(out, grid);
    for (int i = 0; i < grid->column_count; i++) {
        const struct psim_grid_column *column = &grid->columns[i];

        psim_text_printf(out, i == 0 ? "" : " & ");
        put(out, column->heading);
        if (column->unit[0] != '\0') {
            psim_text_printf(out, " (");
            put(out, column->unit);
            psim_text_printf(out, ")");
        }
    }
    psim_text_printf(out, " \\\\\n\\midrule\n");
}

static void put_grid(struct psim_text *out, const struct psim_grid *grid)
{
    psim_text_printf(out, "\n%% %s\n\\begin{tabular}{", grid->title);
    for (int i = 0; i < grid->column_count; i++)
        psim_text_printf(out, grid->columns[i].numeric ? "r" : "l");
    psim_text_printf(out, "}\n\\toprule\n");
    put_headings(out, grid);
    for (int row = 0; row < grid->row_count; row++) {
        for (int i = 0; i < grid->column_count; i++) {
            const struct psim_cell *cell = &grid->cells[row * grid->column_count + i];

            psim_text_printf(out, i == 0 ? "" : " & ");
            put(out, strcmp(cell->text, PSIM_UNKNOWN_CELL) == 0 ? "--" : cell->text);
            if (cell->mark[0] != '\0')
                psim_text_printf(out, "\\rlap{\\textsuperscript{%s}}", cell->mark);
        }
        psim_text_printf(out, " \\\\\n");
    }
    psim_text_printf(out, "\\bottomrule\n\\end{tabular}\n");
}

enum psim_status psim_render_latex(const struct psim_comparison *comparison, enum psim_view view,
                                   struct psim_text *out, struct psim_error *err)
{
    struct psim_document document;
    const enum psim_status status = psim_document_build(comparison, view, &document, err);

    if (status != PSIM_OK)
        return status;
    psim_text_printf(out, "%% needs \\usepackage{booktabs}\n%% caption: ");
    put_comment(out, document.title);
    psim_text_printf(out, "\n");
    put_facts(out, &document.facts);
    for (int i = 0; i < document.section_count; i++) {
        const struct psim_section *section = &document.sections[i];

        if (section->title[0] != '\0') {
            psim_text_printf(out, "\n%% caption: ");
            put_comment(out, section->title);
            psim_text_printf(out, "\n");
            put_facts(out, &section->facts);
        }
        for (int j = 0; j < PSIM_SECTION_GRIDS; j++) {
            if (section->grids[j].column_count > 0)
                put_grid(out, &section->grids[j]);
        }
    }
    psim_text_printf(out, "\n");
    put_facts(out, &document.remarks);
    psim_document_release(&document);
    return PSIM_OK;
}

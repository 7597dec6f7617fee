#include "sim/report/document.h"
#include "sim/report/format.h"

#include <stdlib.h>
#include <string.h>

/* LaTeX with booktabs: one floating table a grid, with what its reader must know below it. */

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
    case '[': /* both would be arguments of the "\\" that ends the row before */
        return "{[}";
    case '*':
        return "{*}";
    default:
        return NULL;
    }
}

static void put_bytes(struct psim_text *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const unsigned char byte = (unsigned char)text[i];
        const char *replacement = escaped(byte);

        if (byte < 0x20 || byte == 0x7F)
            psim_text_printf(out, " ");
        else if (replacement != NULL)
            psim_text_printf(out, "%s", replacement);
        else
            psim_text_append(out, &text[i], 1);
    }
}

static void put(struct psim_text *out, const char *text)
{
    put_bytes(out, text, strlen(text));
}

static void put_facts(struct psim_text *out, const struct psim_facts *facts)
{
    for (int i = 0; i < facts->count; i++) {
        psim_text_printf(out, "\\textit{");
        put(out, facts->items[i].title);
        psim_text_printf(out, "}: ");
        put(out, facts->items[i].text);
        psim_text_printf(out, "\\par\n");
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

/* One row of the heading: a line of the names, counted from the last, or below them the units. */
static void put_heading_row(struct psim_text *out, const struct psim_grid *grid, int line)
{
    for (int i = 0; i < grid->column_count; i++) {
        const struct psim_grid_column *column = &grid->columns[i];
        size_t length;

        psim_text_printf(out, i == 0 ? "" : " & ");
        if (line >= 0) {
            const char *part = psim_heading_line(column->name, line, &length);

            put_bytes(out, part, length);
        } else if (column->unit[0] != '\0') {
            psim_text_printf(out, "(");
            put(out, column->unit);
            psim_text_printf(out, ")");
        }
    }
    psim_text_printf(out, " \\\\\n");
}

/* "1.23e-12" as a power of ten; every other text as it is. */
static void put_cell_text(struct psim_text *out, bool numeric, const char *text)
{
    const char *exponent = numeric ? strchr(text, 'e') : NULL;

    if (strcmp(text, PSIM_UNKNOWN_CELL) == 0)
        psim_text_printf(out, "--");
    else if (exponent == NULL)
        put(out, text);
    else
        psim_text_printf(out, "$%.*s\\times10^{%ld}$", (int)(exponent - text), text,
                         strtol(exponent + 1, NULL, 10));
}

static void put_grid(struct psim_text *out, const struct psim_grid *grid)
{
    psim_text_printf(out, "\\begin{tabular}{");
    for (int i = 0; i < grid->column_count; i++)
        psim_text_printf(out, grid->columns[i].numeric ? "r" : "l");
    psim_text_printf(out, "}\n\\toprule\n");
    if (psim_grid_has_groups(grid))
        put_groups(out, grid);
    for (int line = psim_grid_heading_lines(grid) - 1; line >= -1; line--)
        put_heading_row(out, grid, line);
    psim_text_printf(out, "\\midrule\n");
    for (int row = 0; row < grid->row_count; row++) {
        for (int i = 0; i < grid->column_count; i++) {
            const struct psim_cell *cell = &grid->cells[row * grid->column_count + i];

            psim_text_printf(out, i == 0 ? "" : " & ");
            put_cell_text(out, grid->columns[i].numeric, cell->text);
            if (cell->mark[0] != '\0')
                psim_text_printf(out, "\\rlap{\\textsuperscript{%s}}", cell->mark);
        }
        psim_text_printf(out, " \\\\\n");
    }
    psim_text_printf(out, "\\bottomrule\n\\end{tabular}\n");
}

static bool uses_mark(const struct psim_grid *grid, const char *mark)
{
    for (int i = 0; i < grid->row_count * grid->column_count; i++) {
        if (strcmp(grid->cells[i].mark, mark) == 0)
            return true;
    }
    return false;
}

static void put_marks(struct psim_text *out, const struct psim_facts *marks,
                      const struct psim_grid *grid)
{
    for (int i = 0; i < marks->count; i++) {
        if (!uses_mark(grid, marks->items[i].title))
            continue;
        psim_text_printf(out, "\\textsuperscript{%s} ", marks->items[i].title);
        put(out, marks->items[i].text);
        psim_text_printf(out, "\\par\n");
    }
}

static void put_legend(struct psim_text *out, const struct psim_grid *grid)
{
    for (int i = 0; i < grid->column_count; i++) {
        if (grid->columns[i].legend[0] == '\0')
            continue;
        psim_text_printf(out, "\\textit{");
        put(out, grid->columns[i].heading);
        psim_text_printf(out, "}: ");
        put(out, grid->columns[i].legend);
        psim_text_printf(out, ".\n");
    }
}

/* A float may end up far from the others, so each explains its own marks and columns. */
static void put_table(struct psim_text *out, const struct psim_document *document, int at, int part)
{
    const struct psim_section *section = &document->sections[at];
    const struct psim_grid *grid = &section->grids[part];
    bool last = at + 1 == document->section_count;

    if (grid->column_count == 0)
        return;
    for (int later = part + 1; later < PSIM_SECTION_GRIDS; later++)
        last = last && section->grids[later].column_count == 0;
    psim_text_printf(out, "\n\\begin{table}[htbp]\n\\centering\n\\caption{");
    put(out, grid->title);
    psim_text_printf(out, ": ");
    put(out, section->title[0] == '\0' ? document->title : section->title);
    psim_text_printf(out, "}\n\\footnotesize\n\\setlength{\\tabcolsep}{4pt}\n");
    put_grid(out, grid);
    psim_text_printf(out, "\n\\smallskip\n\\begin{minipage}{\\linewidth}\n\\scriptsize\n");
    put_marks(out, &document->marks, grid);
    if (part == 0) {
        if (at == 0)
            put_facts(out, &document->facts);
        put_facts(out, &section->facts);
    }
    if (last)
        put_facts(out, &document->remarks);
    put_legend(out, grid);
    psim_text_printf(out, "\\end{minipage}\n\\end{table}\n");
}

enum psim_status psim_document_latex(const struct psim_document *document, struct psim_text *out,
                                     struct psim_error *err)
{
    (void)err; /* memory that ran out stays in the buffer's own flag */
    psim_text_printf(out, "%% needs \\usepackage{booktabs}\n");
    for (int i = 0; i < document->section_count; i++) {
        for (int j = 0; j < PSIM_SECTION_GRIDS; j++)
            put_table(out, document, i, j);
        /* LaTeX keeps only so many floats waiting. */
        if (document->section_count > 1)
            psim_text_printf(out, "\\clearpage\n");
    }
    return PSIM_OK;
}

enum psim_status psim_render_latex(const struct psim_comparison *comparison, enum psim_view view,
                                   struct psim_text *out, struct psim_error *err)
{
    return psim_document_render(comparison, view, psim_document_latex, out, err);
}

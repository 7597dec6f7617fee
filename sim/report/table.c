#include "sim/base/memory.h"
#include "sim/report/display.h"
#include "sim/report/document.h"
#include "sim/report/format.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Plain text for a terminal: aligned columns, no colour. */

#define LINE_WIDTH  110 /* of the sentences; tables take what they need */
#define TITLE_WIDTH 13
#define GAP         2 /* between columns */

struct layout {
    int text, mark; /* widths of the widest text and of the widest mark beside it */
    int width;      /* of the column, headings included */
};

static int text_width(const char *text)
{
    return psim_display_width(text, strlen(text));
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static void put_repeated(struct psim_text *out, char byte, int count)
{
    for (int i = 0; i < count; i++)
        psim_text_append(out, &byte, 1);
}

/* Names come from files: control characters must not reach a terminal. */
static void put(struct psim_text *out, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const bool control = (unsigned char)text[i] < 0x20 || text[i] == 0x7F;

        psim_text_append(out, control ? "?" : &text[i], 1);
    }
}

static void put_text(struct psim_text *out, const char *text)
{
    put(out, text, strlen(text));
}

/* Breaks at blanks; later lines start below the first. */
static void put_fact(struct psim_text *out, const struct psim_fact *fact, int indent)
{
    const int margin = indent + TITLE_WIDTH;
    const char *rest = fact->text;
    int column = margin;

    put_repeated(out, ' ', indent);
    put_text(out, fact->title);
    put_repeated(out, ' ', larger(TITLE_WIDTH - text_width(fact->title), 1));
    while (*rest != '\0') {
        const size_t length = strcspn(rest, " ");
        const int width = psim_display_width(rest, length);

        if (column > margin && column + 1 + width > LINE_WIDTH) {
            psim_text_printf(out, "\n");
            put_repeated(out, ' ', margin);
            column = margin;
        } else if (column > margin) {
            psim_text_printf(out, " ");
            column++;
        }
        put(out, rest, length);
        column += width;
        rest += length;
        rest += strspn(rest, " ");
    }
    psim_text_printf(out, "\n");
}

static void put_facts(struct psim_text *out, const struct psim_facts *facts, int indent)
{
    for (int i = 0; i < facts->count; i++)
        put_fact(out, &facts->items[i], indent);
}

/* A footnote's mark as it stands in the cells. */
static void put_marks(struct psim_text *out, const struct psim_facts *marks)
{
    for (int i = 0; i < marks->count; i++) {
        struct psim_fact fact = marks->items[i];
        char title[TITLE_WIDTH];

        snprintf(title, sizeof title, isdigit((unsigned char)fact.title[0]) ? "[%s]" : "%s",
                 fact.title);
        fact.title = title;
        put_fact(out, &fact, 0);
    }
}

/* "!" beside a number, " [1]" beside a text. */
static void put_mark(struct psim_text *out, const struct psim_grid_column *column, const char *mark)
{
    if (mark[0] != '\0')
        psim_text_printf(out, column->numeric ? "%s" : " [%s]", mark);
}

static int mark_width(const struct psim_grid_column *column, const char *mark)
{
    return mark[0] == '\0' ? 0 : text_width(mark) + (column->numeric ? 0 : 3);
}

static struct layout measure(const struct psim_grid *grid, int at)
{
    const struct psim_grid_column *column = &grid->columns[at];
    struct layout layout = {0, 0, 0};

    for (int row = 0; row < grid->row_count; row++) {
        const struct psim_cell *cell = &grid->cells[row * grid->column_count + at];
        const int text = text_width(cell->text), mark = mark_width(column, cell->mark);

        layout.text = larger(layout.text, text);
        if (column->numeric)
            layout.mark = larger(layout.mark, mark);
        else
            layout.text = larger(layout.text, text + mark);
    }
    layout.width = layout.text + layout.mark;
    for (int line = 0; line < psim_heading_lines(column->name); line++) {
        size_t length;

        psim_heading_line(column->name, line, &length);
        layout.width = larger(layout.width, (int)length);
    }
    if (column->unit[0] != '\0')
        layout.width = larger(layout.width, text_width(column->unit) + 2);
    return layout;
}

static int span_width(const struct layout *layouts, int at, int span)
{
    int width = (span - 1) * GAP;

    for (int i = at; i < at + span; i++)
        width += layouts[i].width;
    return width;
}

/* A group's heading must fit over its columns. */
static void widen_groups(const struct psim_grid *grid, struct layout *layouts)
{
    for (int at = 0; at < grid->column_count; at += psim_grid_span(grid, at)) {
        const int span = psim_grid_span(grid, at);
        const int missing = text_width(grid->columns[at].group) - span_width(layouts, at, span);

        for (int i = 0; i < missing; i++)
            layouts[at + i % span].width++;
    }
}

static void put_aligned(struct psim_text *out, bool right, const char *text, size_t length,
                        int width)
{
    if (right)
        put_repeated(out, ' ', width - (int)length);
    psim_text_append(out, text, length);
    if (!right)
        put_repeated(out, ' ', width - (int)length);
}

/* Blanks at a line's end would only disturb comparisons of texts. */
static void end_line(struct psim_text *out)
{
    while (out->length > 0 && out->data[out->length - 1] == ' ')
        out->length--;
    psim_text_printf(out, "\n");
}

static void put_groups(struct psim_text *out, const struct psim_grid *grid,
                       const struct layout *layouts)
{
    for (int at = 0; at < grid->column_count; at += psim_grid_span(grid, at)) {
        const char *group = grid->columns[at].group;
        const int free_width =
            span_width(layouts, at, psim_grid_span(grid, at)) - text_width(group);
        const char fill = group[0] == '\0' || free_width < 4 ? ' ' : '-';
        const int left = free_width / 2;

        put_repeated(out, fill, fill == '-' ? left - 1 : left);
        psim_text_printf(out, fill == '-' ? " %s " : "%s", group);
        put_repeated(out, fill, fill == '-' ? free_width - left - 1 : free_width - left);
        put_repeated(out, ' ', GAP);
    }
    end_line(out);
}

static void put_headings(struct psim_text *out, const struct psim_grid *grid,
                         const struct layout *layouts)
{
    if (psim_grid_has_groups(grid))
        put_groups(out, grid, layouts);
    for (int line = psim_grid_heading_lines(grid) - 1; line >= 0; line--) {
        for (int i = 0; i < grid->column_count; i++) {
            const struct psim_grid_column *column = &grid->columns[i];
            size_t length;
            const char *part = psim_heading_line(column->name, line, &length);

            put_aligned(out, column->numeric, part, length, layouts[i].width);
            put_repeated(out, ' ', GAP);
        }
        end_line(out);
    }
    for (int i = 0; i < grid->column_count; i++) {
        const char *unit = grid->columns[i].unit;

        put_repeated(out, ' ', layouts[i].width - (unit[0] == '\0' ? 0 : text_width(unit) + 2));
        psim_text_printf(out, unit[0] == '\0' ? "%s" : "(%s)", unit);
        put_repeated(out, ' ', GAP);
    }
    end_line(out);
    for (int i = 0; i < grid->column_count; i++) {
        put_repeated(out, '-', layouts[i].width);
        put_repeated(out, ' ', GAP);
    }
    end_line(out);
}

static void put_cell(struct psim_text *out, const struct psim_grid_column *column,
                     const struct psim_cell *cell, const struct layout *layout)
{
    const int mark = mark_width(column, cell->mark);

    if (column->numeric)
        put_repeated(out, ' ', layout->width - layout->mark - text_width(cell->text));
    put_text(out, cell->text);
    put_mark(out, column, cell->mark);
    if (column->numeric)
        put_repeated(out, ' ', layout->mark - mark);
    else
        put_repeated(out, ' ', layout->width - text_width(cell->text) - mark);
    put_repeated(out, ' ', GAP);
}

/* False when memory is out. */
static bool put_grid(struct psim_text *out, const struct psim_grid *grid)
{
    struct layout *layouts = psim_alloc((size_t)grid->column_count, sizeof *layouts);

    if (layouts == NULL)
        return false;
    for (int i = 0; i < grid->column_count; i++)
        layouts[i] = measure(grid, i);
    widen_groups(grid, layouts);
    psim_text_printf(out, "\n%s\n", grid->title);
    put_headings(out, grid, layouts);
    for (int row = 0; row < grid->row_count; row++) {
        for (int i = 0; i < grid->column_count; i++)
            put_cell(out, &grid->columns[i], &grid->cells[row * grid->column_count + i],
                     &layouts[i]);
        end_line(out);
    }
    psim_free(layouts);
    return true;
}

enum psim_status psim_document_table(const struct psim_document *document, struct psim_text *out,
                                     struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    put_text(out, document->title);
    psim_text_printf(out, "\n\n");
    put_facts(out, &document->facts, 0);
    for (int i = 0; i < document->section_count; i++) {
        const struct psim_section *section = &document->sections[i];

        if (section->title[0] != '\0') {
            psim_text_printf(out, "\n");
            put_text(out, section->title);
            psim_text_printf(out, "\n");
            put_facts(out, &section->facts, 2);
        }
        for (int j = 0; j < PSIM_SECTION_GRIDS; j++) {
            if (section->grids[j].column_count > 0 && !put_grid(out, &section->grids[j]))
                status = psim_fail(err, PSIM_ERR_NOMEM, "report", "no memory for a table");
        }
    }
    psim_text_printf(out, "\n");
    put_marks(out, &document->marks);
    put_facts(out, &document->remarks, 0);
    put_facts(out, &document->legend, 0);
    return status;
}

enum psim_status psim_render_table(const struct psim_comparison *comparison, enum psim_view view,
                                   struct psim_text *out, struct psim_error *err)
{
    return psim_document_render(comparison, view, psim_document_table, out, err);
}

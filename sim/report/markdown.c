#include "sim/report/document.h"
#include "sim/report/format.h"

#include <ctype.h>
#include <string.h>

/* GitHub's Markdown: one pipe table a grid, the rest as lists. */

/* An underscore inside a word means nothing to Markdown and reads better bare. */
static bool is_inner_underscore(const char *text, size_t at)
{
    return text[at] == '_' && at > 0 && isalnum((unsigned char)text[at - 1]) &&
           isalnum((unsigned char)text[at + 1]);
}

static void put(struct psim_text *out, const char *text)
{
    for (size_t i = 0; text[i] != '\0'; i++) {
        const unsigned char byte = (unsigned char)text[i];

        if (byte < 0x20 || byte == 0x7F)
            psim_text_printf(out, " ");
        else if (byte == '<')
            psim_text_printf(out, "&lt;");
        else if (byte == '>')
            psim_text_printf(out, "&gt;");
        else if (byte == '&')
            psim_text_printf(out, "&amp;");
        else if (strchr("\\`*_[]|~#", byte) != NULL && !is_inner_underscore(text, i))
            psim_text_printf(out, "\\%c", byte);
        else
            psim_text_append(out, &text[i], 1);
    }
}

static void put_facts(struct psim_text *out, const struct psim_facts *facts)
{
    for (int i = 0; i < facts->count; i++) {
        psim_text_printf(out, "- **");
        put(out, facts->items[i].title);
        psim_text_printf(out, "**: ");
        put(out, facts->items[i].text);
        psim_text_printf(out, "\n");
    }
}

static void put_marks(struct psim_text *out, const struct psim_facts *marks)
{
    for (int i = 0; i < marks->count; i++) {
        psim_text_printf(out, "- <sup>");
        put(out, marks->items[i].title);
        psim_text_printf(out, "</sup> ");
        put(out, marks->items[i].text);
        psim_text_printf(out, "\n");
    }
}

static void put_heading(struct psim_text *out, const struct psim_grid_column *column)
{
    if (column->group[0] != '\0') {
        put(out, column->group);
        psim_text_printf(out, ": ");
    }
    put(out, column->heading);
    if (column->unit[0] != '\0') {
        psim_text_printf(out, " (");
        put(out, column->unit);
        psim_text_printf(out, ")");
    }
}

static void put_grid(struct psim_text *out, const struct psim_grid *grid)
{
    psim_text_printf(out, "\n### %s\n\n|", grid->title);
    for (int i = 0; i < grid->column_count; i++) {
        psim_text_printf(out, " ");
        put_heading(out, &grid->columns[i]);
        psim_text_printf(out, " |");
    }
    psim_text_printf(out, "\n|");
    for (int i = 0; i < grid->column_count; i++)
        psim_text_printf(out, grid->columns[i].numeric ? " ---: |" : " :--- |");
    psim_text_printf(out, "\n");
    for (int row = 0; row < grid->row_count; row++) {
        psim_text_printf(out, "|");
        for (int i = 0; i < grid->column_count; i++) {
            const struct psim_cell *cell = &grid->cells[row * grid->column_count + i];

            psim_text_printf(out, " ");
            put(out, cell->text);
            if (cell->mark[0] != '\0') {
                psim_text_printf(out, " <sup>");
                put(out, cell->mark);
                psim_text_printf(out, "</sup>");
            }
            psim_text_printf(out, " |");
        }
        psim_text_printf(out, "\n");
    }
}

enum psim_status psim_document_markdown(const struct psim_document *document, struct psim_text *out,
                                        struct psim_error *err)
{
    (void)err; /* memory that ran out stays in the buffer's own flag */
    psim_text_printf(out, "# ");
    put(out, document->title);
    psim_text_printf(out, "\n\n");
    put_facts(out, &document->facts);
    for (int i = 0; i < document->section_count; i++) {
        const struct psim_section *section = &document->sections[i];

        if (section->title[0] != '\0') {
            psim_text_printf(out, "\n## ");
            put(out, section->title);
            psim_text_printf(out, "\n\n");
            put_facts(out, &section->facts);
        }
        for (int j = 0; j < PSIM_SECTION_GRIDS; j++) {
            if (section->grids[j].column_count > 0)
                put_grid(out, &section->grids[j]);
        }
    }
    psim_text_printf(out, "\n");
    put_marks(out, &document->marks);
    put_facts(out, &document->remarks);
    put_facts(out, &document->legend);
    return PSIM_OK;
}

enum psim_status psim_render_markdown(const struct psim_comparison *comparison, enum psim_view view,
                                      struct psim_text *out, struct psim_error *err)
{
    return psim_document_render(comparison, view, psim_document_markdown, out, err);
}

#include "sim/report/sheet.h"

#include "sim/report/document.h"
#include "sim/report/format.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- Documents: table, Markdown, LaTeX ---- */

static const char *heading_of(struct psim_arena *arena, const char *name)
{
    char *heading = psim_arena_text(arena, name, strlen(name));

    for (char *at = heading; at != NULL && *at != '\0'; at++)
        *at = *at == '_' ? ' ' : *at;
    return heading;
}

/* A column of which nothing is known is left out for people. */
static bool is_known(const struct psim_sheet *sheet, int at)
{
    for (int row = 0; row < sheet->row_count; row++) {
        const struct psim_sheet_value *value = &sheet->values[row * sheet->column_count + at];

        if (sheet->columns[at].quantity == PSIM_QUANTITY_TEXT
                ? value->text != NULL && value->text[0] != '\0'
                : isfinite(value->number))
            return true;
    }
    return false;
}

/* Column `at` of the sheet as column `to` of a grid of so many. */
static bool fill_column(struct psim_arena *arena, const struct psim_sheet *sheet, int at,
                        struct psim_grid *grid, int to)
{
    const struct psim_sheet_column *column = &sheet->columns[at];
    const bool numeric = column->quantity != PSIM_QUANTITY_TEXT;
    struct psim_extent extent = {0};
    struct psim_scale scale;

    for (int row = 0; numeric && row < sheet->row_count; row++)
        psim_extent_include(&extent, column->quantity,
                            sheet->values[row * sheet->column_count + at].number);
    scale = numeric ? psim_scale_fit(column->quantity, &extent)
                    : (struct psim_scale){"", 1.0, 0, false};
    grid->columns[to] = (struct psim_grid_column){column->group,  column->name,
                                                  column->legend, heading_of(arena, column->name),
                                                  scale.unit,     numeric};
    for (int row = 0; row < sheet->row_count; row++) {
        const struct psim_sheet_value *value = &sheet->values[row * sheet->column_count + at];
        struct psim_cell *cell = &grid->cells[row * grid->column_count + to];

        cell->text = numeric ? psim_number_text(arena, &scale, value->number) : value->text;
        cell->mark = "";
        if (cell->text == NULL && numeric)
            return false;
        if (cell->text == NULL || cell->text[0] == '\0')
            cell->text = PSIM_UNKNOWN_CELL;
    }
    return grid->columns[to].heading != NULL;
}

static bool fill_grid(struct psim_arena *arena, const struct psim_sheet *sheet,
                      struct psim_grid *grid)
{
    grid->title = sheet->title;
    for (int i = 0; i < sheet->column_count; i++)
        grid->column_count += is_known(sheet, i) ? 1 : 0;
    grid->row_count = sheet->row_count;
    grid->columns = psim_arena_alloc(arena, (size_t)sheet->column_count, sizeof *grid->columns);
    grid->cells = psim_arena_alloc(arena, (size_t)sheet->column_count * (size_t)sheet->row_count,
                                   sizeof *grid->cells);
    if (grid->columns == NULL || grid->cells == NULL)
        return false;
    for (int i = 0, to = 0; i < sheet->column_count; i++) {
        if (is_known(sheet, i) && !fill_column(arena, sheet, i, grid, to++))
            return false;
    }
    return true;
}

/* True of columns that an earlier sheet has too. */
static bool was_explained(const struct psim_sheet_report *report, int sheet)
{
    for (int i = 0; i < sheet; i++) {
        if (report->sheets[i].columns == report->sheets[sheet].columns &&
            report->sheets[i].row_count > 0)
            return true;
    }
    return report->sheets[sheet].row_count == 0;
}

/* One fact for all legends, "" where there is none. */
static const char *legend_of(struct psim_arena *arena, const struct psim_sheet_report *report)
{
    struct psim_text text = PSIM_TEXT_INIT;
    const char *legend;

    for (int s = 0; s < report->sheet_count; s++) {
        for (int i = 0; !was_explained(report, s) && i < report->sheets[s].column_count; i++) {
            const struct psim_sheet_column *column = &report->sheets[s].columns[i];
            const char *heading = heading_of(arena, column->name);

            if (column->legend[0] != '\0' && is_known(&report->sheets[s], i))
                psim_text_printf(&text, "%s%s: %s", text.length == 0 ? "" : "; ",
                                 heading == NULL ? "" : heading, column->legend);
        }
    }
    legend =
        text.failed ? NULL : psim_arena_text(arena, text.length == 0 ? "" : text.data, text.length);
    psim_text_release(&text);
    return legend;
}

static bool fill_facts(struct psim_arena *arena, const struct psim_sheet_report *report,
                       struct psim_document *out)
{
    const char *legend = legend_of(arena, report);

    out->facts.items =
        psim_arena_alloc(arena, (size_t)report->fact_count, sizeof *out->facts.items);
    out->remarks.items =
        psim_arena_alloc(arena, (size_t)report->note_count, sizeof *out->remarks.items);
    out->legend.items = psim_arena_alloc(arena, 1, sizeof *out->legend.items);
    if (legend == NULL || out->facts.items == NULL || out->remarks.items == NULL ||
        out->legend.items == NULL)
        return false;
    for (int i = 0; i < report->fact_count; i++)
        out->facts.items[out->facts.count++] =
            (struct psim_fact){report->facts[i].title, report->facts[i].text};
    for (int i = 0; i < report->note_count; i++)
        out->remarks.items[out->remarks.count++] = (struct psim_fact){"note", report->notes[i]};
    if (legend[0] != '\0')
        out->legend.items[out->legend.count++] = (struct psim_fact){"columns", legend};
    return true;
}

static bool build_document(const struct psim_sheet_report *report, struct psim_document *out)
{
    struct psim_arena *arena = &out->arena;

    out->title = report->headline;
    out->sections = psim_arena_alloc(arena, (size_t)report->sheet_count, sizeof *out->sections);
    if (out->sections == NULL || !fill_facts(arena, report, out))
        return false;
    for (int i = 0; i < report->sheet_count; i++) {
        struct psim_section *section = &out->sections[out->section_count++];

        section->title = "";
        if (report->sheets[i].row_count > 0 &&
            !fill_grid(arena, &report->sheets[i], &section->grids[0]))
            return false;
    }
    return true;
}

/* ---- CSV and JSON ---- */

static void put_csv(const struct psim_sheet *sheet, struct psim_text *out)
{
    for (int row = -1; row < sheet->row_count; row++) {
        for (int i = 0; i < sheet->column_count; i++) {
            const struct psim_sheet_column *column = &sheet->columns[i];
            const struct psim_sheet_value *value =
                row < 0 ? NULL : &sheet->values[row * sheet->column_count + i];

            psim_text_printf(out, i == 0 ? "" : ",");
            if (value == NULL)
                psim_csv_text(out, column->key);
            else if (column->quantity == PSIM_QUANTITY_TEXT)
                psim_csv_text(out, value->text == NULL ? "" : value->text);
            else
                psim_csv_number(out, value->number);
        }
        psim_text_append(out, "\r\n", 2);
    }
}

static json_t *json_of(const struct psim_sheet_column *column, const struct psim_sheet_value *value)
{
    if (column->quantity == PSIM_QUANTITY_TEXT)
        return value->text == NULL || value->text[0] == '\0' ? json_null()
                                                             : json_string(value->text);
    if (!isfinite(value->number))
        return json_null();
    if (column->quantity == PSIM_QUANTITY_COUNT || column->quantity == PSIM_QUANTITY_MEMORY)
        return json_integer((json_int_t)value->number);
    return json_real(value->number);
}

static json_t *json_rows(const struct psim_sheet *sheet, bool *failed)
{
    json_t *rows = json_array();

    for (int row = 0; row < sheet->row_count; row++) {
        json_t *object = json_object();

        for (int i = 0; i < sheet->column_count; i++) {
            const int at = row * sheet->column_count + i;

            if (json_object_set_new(object, sheet->columns[i].key,
                                    json_of(&sheet->columns[i], &sheet->values[at])) != 0)
                *failed = true;
        }
        if (json_array_append_new(rows, object) != 0)
            *failed = true;
    }
    return rows;
}

static enum psim_status put_json(const struct psim_sheet_report *report, struct psim_text *out,
                                 struct psim_error *err)
{
    json_t *root = json_object(), *notes = json_array();
    bool failed = false;
    char *text;

    failed = json_object_set_new(root, "petrasim", json_string(report->kind)) != 0 ||
             json_object_set_new(root, "headline", json_string(report->headline)) != 0;
    for (int i = 0; i < report->fact_count; i++)
        failed = json_object_set_new(root, report->facts[i].key,
                                     json_string(report->facts[i].text)) != 0 ||
                 failed;
    for (int i = 0; i < report->sheet_count; i++) {
        json_t *rows = json_rows(&report->sheets[i], &failed);

        failed = json_object_set_new(root, report->sheets[i].key, rows) != 0 || failed;
    }
    for (int i = 0; i < report->note_count; i++)
        failed = json_array_append_new(notes, json_string(report->notes[i])) != 0 || failed;
    failed = json_object_set_new(root, "notes", notes) != 0 || failed;
    text = failed ? NULL : json_dumps(root, JSON_INDENT(2));
    json_decref(root);
    if (text == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "report", "no memory for a JSON document");
    psim_text_printf(out, "%s\n", text);
    free(text);
    return PSIM_OK;
}

/* ---- Any format ---- */

struct sheet_work {
    const struct psim_sheet_report *report;
    enum psim_format format;
};

static psim_document_writer *writer_of(enum psim_format format)
{
    return format == PSIM_FORMAT_TABLE      ? psim_document_table
           : format == PSIM_FORMAT_MARKDOWN ? psim_document_markdown
                                            : psim_document_latex;
}

static enum psim_status render(void *user, struct psim_text *out, struct psim_error *err)
{
    const struct sheet_work *work = user;
    struct psim_document document = {.arena = PSIM_ARENA_INIT};
    enum psim_status status;

    if (work->format == PSIM_FORMAT_CSV) {
        put_csv(&work->report->sheets[0], out);
        return PSIM_OK;
    }
    if (work->format == PSIM_FORMAT_JSON)
        return put_json(work->report, out, err);
    status = build_document(work->report, &document)
                 ? writer_of(work->format)(&document, out, err)
                 : psim_fail(err, PSIM_ERR_NOMEM, "report", "no memory for a table");
    psim_arena_release(&document.arena);
    return status;
}

enum psim_status psim_sheet_render(const struct psim_sheet_report *report, enum psim_format format,
                                   struct psim_text *out, struct psim_error *err)
{
    struct sheet_work work = {report, format};

    PSIM_ASSERT(report->sheet_count > 0);
    return psim_report_with_plain_locale(render, &work, out, err);
}

#include "sim/plan/sweep_report.h"

#include "sim/base/memory.h"
#include "sim/report/format.h"
#include "sim/report/sheet.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As people read it: a text without its quotes, anything else as it is. */
static void put_setting(const char *json, struct psim_text *out)
{
    const size_t length = strlen(json);

    if (json[0] == '"' && length >= 2 && strchr(json, '\\') == NULL)
        psim_text_append(out, json + 1, length - 2);
    else
        psim_text_append(out, json, length);
}

static void put_cell(const struct psim_sweep_cell *cell, struct psim_text *out)
{
    if (cell->kind == PSIM_CELL_INTEGER)
        psim_text_printf(out, "%" PRId64, cell->integer);
    else if (cell->kind == PSIM_CELL_REAL)
        psim_csv_number(out, cell->real);
}

/* ---- CSV ---- */

static void put_csv_setting(const char *json, struct psim_text *out)
{
    struct psim_text plain = PSIM_TEXT_INIT;

    put_setting(json, &plain);
    out->failed = out->failed || plain.failed;
    if (!plain.failed && plain.length > 0)
        psim_csv_text(out, plain.data);
    psim_text_release(&plain);
}

static void put_csv(const struct psim_sweep_table *table, struct psim_text *out)
{
    psim_text_printf(out, "point,point_status,point_cause");
    for (int k = 0; k < table->key_count; k++) {
        psim_text_append(out, ",", 1);
        psim_csv_text(out, table->keys[k]);
    }
    for (int i = 0; i < PSIM_SWEEP_COLUMNS; i++)
        psim_text_printf(out, ",%s", psim_sweep_columns[i].name);
    psim_text_append(out, "\r\n", 2);
    for (int64_t at = 0; at < table->line_count; at++) {
        const struct psim_sweep_line *line = &table->lines[at];

        psim_text_printf(out, "%" PRId64 ",%s,", line->point, line->status);
        psim_csv_text(out, line->cause);
        for (int k = 0; k < table->key_count; k++) {
            psim_text_append(out, ",", 1);
            put_csv_setting(line->settings[k], out);
        }
        for (int i = 0; i < PSIM_SWEEP_COLUMNS; i++) {
            psim_text_append(out, ",", 1);
            if (line->cells[i].kind == PSIM_CELL_TEXT)
                psim_csv_text(out, line->cells[i].text);
            else
                put_cell(&line->cells[i], out);
        }
        psim_text_append(out, "\r\n", 2);
    }
}

/* ---- JSON ---- */

static void put_json_row(const struct psim_sweep_line *line, struct psim_text *out)
{
    const int options = psim_sweep_column_find("options");

    psim_text_printf(out, "      {");
    for (int i = 0; i < PSIM_SWEEP_COLUMNS; i++) {
        const struct psim_sweep_cell *cell = &line->cells[i];

        psim_text_printf(out, "%s\"%s\": ", i > 0 ? ", " : "", psim_sweep_columns[i].name);
        if (cell->kind == PSIM_CELL_NONE)
            psim_text_printf(out, "null");
        else if (i == options)
            psim_text_printf(out, "%s", cell->text);
        else if (cell->kind == PSIM_CELL_TEXT)
            psim_text_json(out, cell->text);
        else
            put_cell(cell, out);
    }
    psim_text_printf(out, "}");
}

static void put_json_point(const struct psim_sweep_table *table, const struct psim_sweep_line *line,
                           struct psim_text *out)
{
    psim_text_printf(out,
                     "    {\"point\": %" PRId64 ", \"status\": \"%s\", \"cause\": ", line->point,
                     line->status);
    if (line->cause[0] == '\0')
        psim_text_printf(out, "null");
    else
        psim_text_json(out, line->cause);
    psim_text_printf(out, ", \"settings\": {");
    for (int k = 0; k < table->key_count; k++) {
        psim_text_printf(out, "%s", k > 0 ? ", " : "");
        psim_text_json(out, table->keys[k]);
        psim_text_printf(out, ": %s", line->settings[k]);
    }
    psim_text_printf(out, "}, \"results\": [\n");
}

static void put_json(const struct psim_sweep_table *table, struct psim_text *out)
{
    psim_text_printf(out,
                     "{\n  \"petrasim\": \"sweep_results/1\",\n  \"program\": \"%s\",\n"
                     "  \"simgrid\": \"%s\",\n  \"engine\": ",
                     table->program, table->simgrid);
    if (table->engine[0] == '\0')
        psim_text_printf(out, "null");
    else
        psim_text_json(out, table->engine);
    psim_text_printf(out, ",\n  \"scenario\": ");
    psim_text_json(out, table->scenario);
    psim_text_printf(out,
                     ",\n  \"inputs_sha256\": \"%s\",\n  \"points_of_sweep\": %" PRId64
                     ",\n  \"points\": [",
                     table->inputs_sha256, table->point_count);
    for (int64_t at = 0; at < table->line_count; at++) {
        const struct psim_sweep_line *line = &table->lines[at];
        const bool first = at == 0 || line[-1].point != line->point;
        const bool last = at + 1 == table->line_count || line[1].point != line->point;

        if (first) {
            psim_text_printf(out, at == 0 ? "\n" : ",\n");
            put_json_point(table, line, out);
        }
        if (line->has_row) {
            put_json_row(line, out);
            psim_text_printf(out, last ? "\n" : ",\n");
        }
        if (last)
            psim_text_printf(out, "    ]}");
    }
    psim_text_printf(out, "\n  ]\n}\n");
}

/* ---- For people ---- */

static const struct {
    const char *column;
    struct psim_sheet_column shown;
} shown[] = {
    {"label", {"label", "", "method", "", PSIM_QUANTITY_TEXT}},
    {"time_per_microbatch_s",
     {"time_per_microbatch_s", "time per", "micro-batch", "", PSIM_QUANTITY_SECONDS}},
    {"time_per_update_s", {"time_per_update_s", "time per", "update", "", PSIM_QUANTITY_SECONDS}},
    {"samples_per_s", {"samples_per_s", "", "samples_per s", "", PSIM_QUANTITY_NUMBER}},
    {"speedup",
     {"speedup", "", "speed-up", "over the baseline of the same point", PSIM_QUANTITY_RATIO}},
    {"bubble_fraction", {"bubble_fraction", "", "bubble", "", PSIM_QUANTITY_SHARE}},
    {"exposed_fraction", {"exposed_fraction", "", "exposed_comm.", "", PSIM_QUANTITY_SHARE}},
    {"peak_bytes_max", {"peak_bytes_max", "memory", "worst_device", "", PSIM_QUANTITY_MEMORY}},
    {"fits", {"fits", "memory", "fits", "", PSIM_QUANTITY_TEXT}},
    {"bottleneck", {"bottleneck", "", "limited by", "", PSIM_QUANTITY_TEXT}},
};

enum { SHOWN = sizeof shown / sizeof shown[0] };

static struct psim_sheet_value value_of(const struct psim_sweep_line *line, int index)
{
    const struct psim_sweep_cell *cell = &line->cells[psim_sweep_column_find(shown[index].column)];
    struct psim_sheet_value value = {NAN, NULL};

    if (strcmp(shown[index].column, "fits") == 0)
        value.text = cell->kind == PSIM_CELL_NONE ? NULL : cell->integer != 0 ? "yes" : "no";
    else if (cell->kind == PSIM_CELL_TEXT)
        value.text = cell->text;
    else if (cell->kind == PSIM_CELL_INTEGER)
        value.number = (double)cell->integer;
    else if (cell->kind == PSIM_CELL_REAL)
        value.number = cell->real;
    return value;
}

/* How the values of a key are shown: as whole numbers, numbers or texts, all alike. */
static enum psim_quantity quantity_of(const struct psim_sweep_table *table, int key)
{
    enum psim_quantity quantity = PSIM_QUANTITY_COUNT;

    for (int64_t at = 0; at < table->line_count; at++) {
        const char *json = table->lines[at].settings[key];

        if (strchr("-0123456789", json[0]) == NULL)
            return PSIM_QUANTITY_TEXT;
        if (strpbrk(json, ".eE") != NULL)
            quantity = PSIM_QUANTITY_NUMBER;
    }
    return quantity;
}

/* A key as a heading: an underscore would break the line. */
static const char *heading_of(struct psim_arena *arena, const char *key)
{
    char *text = psim_arena_text(arena, key, strlen(key));

    for (char *at = text; at != NULL && *at != '\0'; at++) {
        if (*at == '_')
            *at = ' ';
    }
    return text;
}

static bool fill_line(struct psim_arena *arena, const struct psim_sweep_table *table,
                      const struct psim_sheet_column *columns, const struct psim_sweep_line *line,
                      struct psim_sheet_value *values)
{
    values[0].number = (double)line->point;
    for (int k = 0; k < table->key_count; k++) {
        struct psim_text plain = PSIM_TEXT_INIT;

        if (columns[1 + k].quantity != PSIM_QUANTITY_TEXT) {
            values[1 + k].number = strtod(line->settings[k], NULL);
            continue;
        }
        put_setting(line->settings[k], &plain);
        values[1 + k].text = plain.failed || plain.data == NULL
                                 ? NULL
                                 : psim_arena_text(arena, plain.data, plain.length);
        psim_text_release(&plain);
        if (values[1 + k].text == NULL)
            return false;
    }
    for (int i = 0; i < SHOWN; i++)
        values[1 + table->key_count + i] = value_of(line, i);
    return true;
}

static bool fill_sheet(struct psim_arena *arena, const struct psim_sweep_table *table,
                       struct psim_sheet *sheet)
{
    const int count = 1 + table->key_count + SHOWN;
    struct psim_sheet_column *columns = psim_arena_alloc(arena, (size_t)count, sizeof *columns);
    struct psim_sheet_value *values =
        psim_arena_alloc(arena, (size_t)count * (size_t)table->line_count, sizeof *values);

    if (columns == NULL || values == NULL)
        return false;
    columns[0] = (struct psim_sheet_column){"point", "", "point", "", PSIM_QUANTITY_COUNT};
    for (int k = 0; k < table->key_count; k++) {
        const char *heading = heading_of(arena, table->keys[k]);

        if (heading == NULL)
            return false;
        columns[1 + k] =
            (struct psim_sheet_column){table->keys[k], "", heading, "", quantity_of(table, k)};
    }
    for (int i = 0; i < SHOWN; i++)
        columns[1 + table->key_count + i] = shown[i].shown;
    for (int64_t at = 0; at < table->line_count; at++) {
        if (!fill_line(arena, table, columns, &table->lines[at], &values[at * count]))
            return false;
    }
    *sheet = (struct psim_sheet){.key = "points",
                                 .title = "Points",
                                 .columns = columns,
                                 .column_count = count,
                                 .values = values,
                                 .row_count = (int)table->line_count};
    return true;
}

/* A line for each point or row without figures. */
static bool fill_notes(struct psim_arena *arena, const struct psim_sweep_table *table,
                       struct psim_sheet_report *report)
{
    const int cause = psim_sweep_column_find("cause"), label = psim_sweep_column_find("label");
    const char **notes = psim_arena_alloc(arena, (size_t)table->line_count, sizeof *notes);

    for (int64_t at = 0; notes != NULL && at < table->line_count; at++) {
        const struct psim_sweep_line *line = &table->lines[at];
        const bool of_row = line->has_row && line->cells[cause].kind == PSIM_CELL_TEXT;
        const char *note;

        if (!of_row && line->cause[0] == '\0')
            continue;
        note = psim_arena_printf(arena, "point %" PRId64 " %s: %s%s%s", line->point, line->status,
                                 of_row ? line->cells[label].text : "", of_row ? ": " : "",
                                 of_row ? line->cells[cause].text : line->cause);
        if (note == NULL)
            return false;
        notes[report->note_count++] = note;
    }
    report->notes = notes;
    return notes != NULL;
}

static enum psim_status render_for_people(const struct psim_sweep_table *table,
                                          enum psim_format format, struct psim_text *out,
                                          struct psim_error *err)
{
    struct psim_arena arena = PSIM_ARENA_INIT;
    struct psim_sheet sheet;
    struct psim_sheet_report report = {
        .kind = "sweep_results/1", .sheets = &sheet, .sheet_count = 1};
    int64_t points = 0;
    enum psim_status status = PSIM_ERR_NOMEM;

    for (int64_t at = 0; at < table->line_count; at++)
        points += at == 0 || table->lines[at].point != table->lines[at - 1].point ? 1 : 0;
    report.headline = psim_arena_printf(&arena, "%s: %" PRId64 " of %" PRId64 " points",
                                        table->scenario, points, table->point_count);
    if (report.headline != NULL && table->line_count <= INT32_MAX / 64 &&
        fill_sheet(&arena, table, &sheet) && fill_notes(&arena, table, &report))
        status = psim_sheet_render(&report, format, out, err);
    else
        status = psim_fail(err, PSIM_ERR_NOMEM, "sweep", "out of memory for a table");
    psim_arena_release(&arena);
    return status;
}

struct work {
    const struct psim_sweep_table *table;
    enum psim_format format;
};

static enum psim_status render(void *user, struct psim_text *out, struct psim_error *err)
{
    const struct work *work = user;

    (void)err; /* memory that ran out stays in the buffer's own flag */
    if (work->format == PSIM_FORMAT_CSV)
        put_csv(work->table, out);
    else
        put_json(work->table, out);
    return PSIM_OK;
}

enum psim_status psim_sweep_render(const struct psim_sweep_table *table, enum psim_format format,
                                   struct psim_text *out, struct psim_error *err)
{
    struct work work = {table, format};

    if (format != PSIM_FORMAT_CSV && format != PSIM_FORMAT_JSON)
        return render_for_people(table, format, out, err);
    return psim_report_with_plain_locale(render, &work, out, err);
}

/* ---- The picture ---- */

/* What a curve is of: the method and the keys that are not on the axis. */
static void put_curve_name(const struct psim_sweep_table *table, const struct psim_sweep_line *line,
                           int axis, struct psim_text *out)
{
    const struct psim_sweep_cell *label = &line->cells[psim_sweep_column_find("label")];

    psim_text_printf(out, "%s", label->kind == PSIM_CELL_TEXT ? label->text : "");
    for (int k = 0; k < table->key_count; k++) {
        if (k == axis)
            continue;
        psim_text_printf(out, ", %s ", table->keys[k]);
        put_setting(line->settings[k], out);
    }
}

struct curve_point {
    char *name;
    double x, y;
};

static int compare_points(const void *a, const void *b)
{
    const struct curve_point *p = a, *q = b;
    const int names = strcmp(p->name, q->name);

    return names != 0 ? names : (p->x > q->x) - (p->x < q->x);
}

static int64_t collect(const struct psim_sweep_table *table, int axis, struct curve_point *points)
{
    const int time = psim_sweep_column_find("time_per_microbatch_s");
    int64_t count = 0;

    for (int64_t at = 0; at < table->line_count; at++) {
        const struct psim_sweep_line *line = &table->lines[at];
        struct psim_text name = PSIM_TEXT_INIT;

        if (line->cells[time].kind != PSIM_CELL_REAL)
            continue;
        put_curve_name(table, line, axis, &name);
        if (name.failed) {
            psim_text_release(&name);
            return -1;
        }
        points[count++] = (struct curve_point){.name = name.data,
                                               .x = strtod(line->settings[axis], NULL),
                                               .y = line->cells[time].real};
    }
    qsort(points, (size_t)count, sizeof *points, compare_points);
    return count;
}

/* One block a curve, told apart by an empty line pair; titles quoted for gnuplot. */
static void put_curves(const char *key, const struct curve_point *points, int64_t count,
                       struct psim_text *out)
{
    int curves = 0;

    psim_text_printf(out, "$points << PETRASIM_END\n");
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(points[i].name, points[i - 1].name) != 0)
            psim_text_printf(out, "\n\n");
        psim_text_printf(out, "%.9g %.9g\n", points[i].x, 1e3 * points[i].y);
    }
    psim_text_printf(out,
                     "PETRASIM_END\nset grid\nset key outside right noenhanced\n"
                     "set xlabel '%s' noenhanced\nset ylabel 'time per micro-batch (ms)'\n"
                     "set yrange [0:*]\nplot ",
                     key);
    for (int64_t i = 0; i < count; i++) {
        if (i > 0 && strcmp(points[i].name, points[i - 1].name) == 0)
            continue;
        psim_text_printf(out, "%s$points index %d using 1:2 with linespoints title '",
                         curves > 0 ? ", " : "", curves);
        curves++;
        for (const char *c = points[i].name; *c != '\0'; c++)
            psim_text_append(out, *c == '\'' ? "''" : c, *c == '\'' ? 2 : 1);
        psim_text_printf(out, "'");
    }
    psim_text_printf(out, "\n");
}

enum psim_status psim_sweep_plot(const struct psim_sweep_table *table, struct psim_text *out,
                                 struct psim_error *err)
{
    int axis = table->key_count - 1;
    struct curve_point *points;
    enum psim_status status = PSIM_OK;
    int64_t count;

    while (axis >= 0 && quantity_of(table, axis) == PSIM_QUANTITY_TEXT)
        axis--;
    if (axis < 0)
        return psim_fail(err, PSIM_ERR_SCHEMA, "--plot",
                         "no key that varies is a number to draw against");
    points = psim_alloc((size_t)table->line_count, sizeof *points);
    if (points == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "--plot", "out of memory");
    count = collect(table, axis, points);
    if (count < 0)
        status = psim_fail(err, PSIM_ERR_NOMEM, "--plot", "out of memory");
    else if (count == 0)
        status = psim_fail(err, PSIM_ERR_SCHEMA, "--plot", "no point has a time");
    else
        put_curves(table->keys[axis], points, count, out);
    for (int64_t i = 0; i < table->line_count; i++)
        psim_free(points[i].name);
    psim_free(points);
    return status;
}

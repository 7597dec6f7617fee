/*
 * A table of measured times, one row a layer (RFC 4180): to the "model" of a scenario whose stages
 * are the layers, in order.
 *
 *   layer, fwd_us, bwd_us, act_bytes, param_bytes           required
 *   bwd_input_us, bwd_weight_us                             both or none; bwd_us may then be left
 * out reversible, reconstruct_us, input_bytes                 optional
 *
 * act_bytes is what a layer sends on, for one micro-batch.  The input of a layer is what the one
 * before it sends.  Numbers go through as they are written, with the unit that the column has.
 */
#include "sim/import/job.h"

#include <math.h>
#include <string.h>

#define STAGE_LIMIT   65536
#define TIME_LIMIT_S  1e9             /* as in scenario/1 */
#define BYTES_LIMIT   1099511627776.0 /* as in scenario/1 */
#define COLUMN_LIMIT  64
#define SUM_TOLERANCE 0.01 /* the halves of a backward pass are measured apart from the whole */

enum column_id {
    LAYER,
    FWD,
    BWD,
    ACT,
    PARAM,
    BWD_INPUT,
    BWD_WEIGHT,
    REVERSIBLE,
    RECONSTRUCT,
    INPUT,
    COLUMNS
};

static const struct column {
    const char *name;
    const char *unit; /* NULL: no number */
    bool required;
} columns[COLUMNS] = {
    [LAYER] = {"layer", NULL, true},
    [FWD] = {"fwd_us", "us", true},
    [BWD] = {"bwd_us", "us", false},
    [ACT] = {"act_bytes", "B", true},
    [PARAM] = {"param_bytes", "B", true},
    [BWD_INPUT] = {"bwd_input_us", "us", false},
    [BWD_WEIGHT] = {"bwd_weight_us", "us", false},
    [REVERSIBLE] = {"reversible", NULL, false},
    [RECONSTRUCT] = {"reconstruct_us", "us", false},
    [INPUT] = {"input_bytes", "B", false},
};

struct field {
    const char *text; /* NULL: the column is not there */
    struct psim_place at;
};

struct layer {
    struct field fields[COLUMNS];
};

struct sheet {
    struct psim_import_job *job;
    const char *at;              /* next character of the text */
    struct psim_place place;     /* of it */
    int column_of[COLUMN_LIMIT]; /* enum column_id of each column of the file */
    size_t column_count;
    bool has[COLUMNS];
    struct layer *layers;
    size_t count, capacity;
    double total_s;
};

/* ---- Fields ---- */

static void advance(struct sheet *s)
{
    if (*s->at == '\n') {
        s->place.line++;
        s->place.column = 1;
    } else if ((s->at[1] & 0xC0) != 0x80) {
        s->place.column++;
    }
    s->at++;
}

static bool at_line_end(const struct sheet *s)
{
    return *s->at == '\0' || *s->at == '\n' || (*s->at == '\r' && s->at[1] == '\n');
}

/* The inside of a field in quotes, where "" stands for one of them. */
static bool read_quoted(struct sheet *s, char *out)
{
    const struct psim_place start = s->place;
    size_t length = 0;

    advance(s);
    while (*s->at != '\0' && (*s->at != '"' || s->at[1] == '"')) {
        if (*s->at == '"')
            advance(s);
        out[length++] = *s->at;
        advance(s);
    }
    if (*s->at == '\0') {
        psim_import_error(s->job, start, PSIM_ERR_SYNTAX, NULL, "the quote is not closed");
        return false;
    }
    advance(s);
    if (at_line_end(s) || *s->at == ',')
        return true;
    psim_import_error(s->job, s->place, PSIM_ERR_SYNTAX, NULL,
                      "a comma or the end of the line is expected behind a quoted field");
    return false;
}

static void read_plain(struct sheet *s, char *out)
{
    size_t length = 0;

    while (!at_line_end(s) && *s->at != ',') {
        out[length++] = *s->at;
        advance(s);
    }
    while (length > 0 && (out[length - 1] == ' ' || out[length - 1] == '\t'))
        length--;
    out[length] = '\0';
}

/* An upper bound of the bytes of the field that begins here. */
static size_t field_bytes(const struct sheet *s)
{
    const char *end = s->at + 1;

    if (*s->at != '"')
        return strcspn(s->at, ",\n") + 1;
    while (*end != '\0' && (*end != '"' || end[1] == '"'))
        end += *end == '"' ? 2 : 1;
    return (size_t)(end - s->at) + 1;
}

/* Reads one field; false when an error was reported. */
static bool read_field(struct sheet *s, struct field *out)
{
    char *copy;

    while (*s->at == ' ' || *s->at == '\t')
        advance(s);
    out->at = s->place;
    copy = psim_import_alloc(s->job, field_bytes(s), 1);
    out->text = copy;
    if (copy == NULL)
        return false;
    if (*s->at == '"')
        return read_quoted(s, copy);
    read_plain(s, copy);
    return true;
}

/* Moves behind the end of the line; false at the end of the text. */
static bool next_line(struct sheet *s)
{
    while (!at_line_end(s))
        advance(s);
    while (*s->at == '\r' || *s->at == '\n')
        advance(s);
    return *s->at != '\0';
}

/* ---- Heading ---- */

static int find_column(const char *name)
{
    for (int i = 0; i < COLUMNS; i++) {
        if (strcmp(columns[i].name, name) == 0)
            return i;
    }
    return COLUMNS;
}

static void take_column(struct sheet *s, const struct field *field)
{
    const int id = find_column(field->text);
    const char *names[COLUMNS];
    char quoted[PSIM_QUOTED_BYTES];

    psim_text_quote(field->text, quoted);
    for (int i = 0; i < COLUMNS; i++)
        names[i] = columns[i].name;
    if (id == COLUMNS)
        psim_import_error(s->job, field->at, PSIM_ERR_SCHEMA,
                          psim_nearest_name(field->text, names, COLUMNS), "unknown column %s",
                          quoted);
    else if (s->has[id])
        psim_import_error(s->job, field->at, PSIM_ERR_SCHEMA, NULL, "a second column %s", quoted);
    else
        s->has[id] = true;
    s->column_of[s->column_count++] = id;
}

static void check_columns(struct sheet *s, struct psim_place at)
{
    for (int i = 0; i < COLUMNS; i++) {
        if (columns[i].required && !s->has[i])
            psim_import_error(s->job, at, PSIM_ERR_SCHEMA, NULL, "missing column \"%s\"",
                              columns[i].name);
    }
    if (s->has[BWD_INPUT] != s->has[BWD_WEIGHT])
        psim_import_error(s->job, at, PSIM_ERR_SCHEMA, NULL, "missing column \"%s\"",
                          columns[s->has[BWD_INPUT] ? BWD_WEIGHT : BWD_INPUT].name);
    else if (!s->has[BWD] && !s->has[BWD_INPUT])
        psim_import_error(s->job, at, PSIM_ERR_SCHEMA, NULL, "missing column \"bwd_us\"");
}

static bool read_heading(struct sheet *s)
{
    const struct psim_place start = s->place;
    struct field field;

    for (;;) {
        if (s->column_count == COLUMN_LIMIT) {
            psim_import_error(s->job, s->place, PSIM_ERR_RANGE, NULL,
                              "there can be at most %d columns", COLUMN_LIMIT);
            return false;
        }
        if (!read_field(s, &field))
            return false;
        take_column(s, &field);
        if (*s->at != ',')
            break;
        advance(s);
    }
    check_columns(s, start);
    return psim_import_clean(s->job);
}

/* ---- Rows ---- */

static void check_number(struct sheet *s, int id, const struct field *field, double *value)
{
    const bool bytes = strcmp(columns[id].unit, "B") == 0;
    const double limit = bytes ? BYTES_LIMIT : TIME_LIMIT_S;

    if (psim_import_number(s->job, field->at, columns[id].name, field->text,
                           bytes ? PSIM_DIMENSION_BYTES : PSIM_DIMENSION_SECONDS, columns[id].unit,
                           PSIM_FROM_ZERO, value) &&
        !(*value <= limit))
        psim_import_error(s->job, field->at, PSIM_ERR_RANGE, NULL, "%s must be at most %g %s",
                          columns[id].name, bytes ? limit : 1e6 * limit, columns[id].unit);
}

static void check_text(struct sheet *s, int id, const struct field *field)
{
    char quoted[PSIM_QUOTED_BYTES];
    bool plain = field->text[0] != '\0';

    psim_text_quote(field->text, quoted);
    for (const char *c = field->text; *c != '\0'; c++)
        plain = plain && (unsigned char)*c >= 0x20 && *c != 0x7F;
    if (id == LAYER && !plain)
        psim_import_error(s->job, field->at, PSIM_ERR_RANGE, NULL,
                          "layer must be a name without control characters, not %s", quoted);
    if (id == REVERSIBLE && strcmp(field->text, "true") != 0 && strcmp(field->text, "false") != 0)
        psim_import_error(s->job, field->at, PSIM_ERR_SCHEMA, NULL,
                          "reversible must be true or false, not %s", quoted);
}

static void check_layer(struct sheet *s, const struct layer *layer)
{
    const struct psim_place at = layer->fields[LAYER].at;
    double value[COLUMNS] = {0};

    for (int i = 0; i < COLUMNS; i++) {
        if (layer->fields[i].text == NULL)
            continue;
        if (columns[i].unit == NULL)
            check_text(s, i, &layer->fields[i]);
        else
            check_number(s, i, &layer->fields[i], &value[i]);
    }
    s->total_s += value[FWD] + value[BWD] + value[BWD_INPUT] + value[BWD_WEIGHT];
    if (s->has[BWD] && s->has[BWD_INPUT] &&
        !(fabs(value[BWD] - value[BWD_INPUT] - value[BWD_WEIGHT]) <= SUM_TOLERANCE * value[BWD]))
        psim_import_error(s->job, at, PSIM_ERR_SCHEMA, NULL,
                          "bwd_input_us and bwd_weight_us must add up to bwd_us within 1 %%");
}

static bool read_layer(struct sheet *s)
{
    struct layer *layers =
        psim_import_grow(s->job, s->layers, s->count, &s->capacity, sizeof *layers);
    const struct psim_place start = s->place;
    size_t read = 0;

    if (layers == NULL)
        return false;
    s->layers = layers;
    for (;; advance(s)) {
        struct field field;

        if (!read_field(s, &field))
            return false;
        if (read < s->column_count)
            layers[s->count].fields[s->column_of[read]] = field;
        read++;
        if (*s->at != ',')
            break;
    }
    if (read != s->column_count)
        psim_import_error(s->job, start, PSIM_ERR_SCHEMA, NULL,
                          "the row has %zu fields, the heading %zu", read, s->column_count);
    else
        check_layer(s, &layers[s->count]);
    s->count++;
    return true;
}

static void read_layers(struct sheet *s)
{
    while (next_line(s) && read_layer(s)) {
        if (s->count > STAGE_LIMIT) {
            psim_import_error(s->job, s->place, PSIM_ERR_RANGE, NULL,
                              "there can be at most %d layers", STAGE_LIMIT);
            return;
        }
    }
    if (psim_import_clean(s->job) && !(s->total_s > 0.0))
        psim_import_error(s->job, (struct psim_place){0, 0}, PSIM_ERR_RANGE, NULL,
                          "at least one layer must take longer than 0 us");
}

/* ---- Output ---- */

static void write_figure(struct psim_text *out, const char *key, int id, const struct field *field)
{
    if (field->text != NULL)
        psim_text_printf(out, ", \"%s\": \"%s %s\"", key, field->text, columns[id].unit);
}

static void write_layer(const struct sheet *s, size_t index, struct psim_text *out)
{
    const struct field *fields = s->layers[index].fields;
    const bool halves = fields[BWD_INPUT].text != NULL;

    psim_text_printf(out, "%s\n      { \"name\": ", index == 0 ? "" : ",");
    psim_text_json(out, fields[LAYER].text);
    write_figure(out, "forward", FWD, &fields[FWD]);
    if (!halves)
        write_figure(out, "backward", BWD, &fields[BWD]);
    write_figure(out, "backward_input", BWD_INPUT, &fields[BWD_INPUT]);
    write_figure(out, "backward_weight", BWD_WEIGHT, &fields[BWD_WEIGHT]);
    write_figure(out, "reconstruct", RECONSTRUCT, &fields[RECONSTRUCT]);
    psim_text_printf(out, ",\n       ");
    psim_text_printf(out, " \"parameters\": \"%s B\"", fields[PARAM].text);
    if (fields[INPUT].text != NULL)
        write_figure(out, "input", INPUT, &fields[INPUT]);
    else if (index > 0)
        write_figure(out, "input", ACT, &s->layers[index - 1].fields[ACT]);
    else
        psim_text_printf(out, ", \"input\": \"0 B\"");
    write_figure(out, "graph", ACT, &fields[ACT]);
    if (fields[REVERSIBLE].text != NULL)
        psim_text_printf(out, ", \"reversible\": %s", fields[REVERSIBLE].text);
    psim_text_printf(out, " }");
}

static void write_model(const struct sheet *s, struct psim_text *out)
{
    psim_text_printf(
        out,
        "{\n  \"model\": {\n"
        "    \"_comment\": \"From a table of measured times; goes into a scenario.\",\n"
        "    \"_assumed\": \"graph: a layer keeps its output for the backward "
        "pass.%s\",\n    \"stages\": [",
        s->has[INPUT] ? "" : " input: what the layer before sends; 0 B of the first.");
    for (size_t i = 0; i < s->count; i++)
        write_layer(s, i, out);
    psim_text_printf(out, "\n    ],\n    \"output\": \"%s B\"\n  }\n}\n",
                     s->layers[s->count - 1].fields[ACT].text);
}

static void import(struct psim_import_job *job, struct psim_text *out)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    struct sheet s = {.job = job, .at = job->input->text, .place = {1, 1}};

    if (strncmp(s.at, byte_order_mark, 3) == 0)
        s.at += 3;
    if (!read_heading(&s))
        return;
    read_layers(&s);
    if (psim_import_clean(job))
        write_model(&s, out);
}

const struct psim_importer psim_importer_layer_csv = {
    .name = "layer_csv",
    .summary = "CSV of per-layer times to the \"model\" of a scenario",
    .example = "layer_csv.csv",
    .import = import,
};

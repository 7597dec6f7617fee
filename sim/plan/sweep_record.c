#include "sim/plan/sweep_record.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const char *const psim_point_status_names[] = {"ok", "failed", "invalid", NULL};

/* Where a figure lies in a result, and how: what is not a number there is not known. */
enum field_kind { FIELD_TEXT, FIELD_REAL, FIELD_COUNT, FIELD_INT, FIELD_FLAG, FIELD_OF_RECORD };

struct field {
    enum field_kind kind;
    size_t offset;
};

/* Name, kind of cell, kind of field, place in struct psim_result, meaning. */
#define COLUMN_MAP(X)                                                                              \
    X(method, TEXT, TEXT, method, "name of the method")                                            \
    X(label, TEXT, TEXT, label, "of the row in the scenario; unique within a point")               \
    X(status, TEXT, OF_RECORD, label, "ok, or failed: then the figures are missing")               \
    X(cause, TEXT, OF_RECORD, label, "why it failed")                                              \
    X(model, TEXT, TEXT, model, "name of the network")                                             \
    X(options, TEXT, OF_RECORD, label, "of the method, as a JSON object")                          \
    X(stages, INTEGER, INT, simulation.stage_count, "of the pipeline")                             \
    X(accumulation, INTEGER, COUNT, accumulation, "micro-batches per update")                      \
    X(time_per_microbatch_s, REAL, REAL, simulation.time_per_microbatch_s,                         \
      "steady state, or step / micro-batches")                                                     \
    X(time_per_update_s, REAL, REAL, simulation.time_per_update_s, "one optimizer step")           \
    X(samples_per_s, REAL, REAL, samples_per_s, "throughput of all copies")                        \
    X(speedup, REAL, REAL, speedup, "over the baseline of the same point")                         \
    X(bubble_fraction, REAL, REAL, simulation.bubble_fraction, "devices compute nothing")          \
    X(exposed_fraction, REAL, REAL, simulation.exposed_communication_fraction,                     \
      "devices wait for a message alone")                                                          \
    X(utilisation, REAL, REAL, simulation.utilisation_mean, "devices compute")                     \
    X(start_up_s, REAL, REAL, simulation.start_up_s, "until the first backward's end")             \
    X(steady, INTEGER, FLAG, simulation.steady, "1: a period repeats exactly")                     \
    X(closed_form_s, REAL, REAL, closed_form_s, "per micro-batch without communication")           \
    X(peak_bytes_max, INTEGER, COUNT, peak_bytes_max, "memory of the worst device")                \
    X(peak_bytes_sum, INTEGER, COUNT, peak_bytes_sum, "memory of all devices")                     \
    X(fits, INTEGER, FLAG, fits, "1: on every device")                                             \
    X(sent_forward_bytes, REAL, REAL, simulation.bytes_forward_per_microbatch,                     \
      "per micro-batch, all hops")                                                                 \
    X(sent_backward_bytes, REAL, REAL, simulation.bytes_backward_per_microbatch, "the same back")  \
    X(flop_per_microbatch, REAL, REAL, simulation.flop_per_microbatch, "work of all stages")       \
    X(flop_extra_fraction, REAL, REAL, simulation.flop_extra_fraction,                             \
      "reconstruction and recompute over the rest")                                                \
    X(operations, INTEGER, COUNT, simulation.operations, "computes and transfers simulated")       \
    X(energy_per_update_j, REAL, REAL, worth.energy_per_update_j, "of the platform")               \
    X(energy_per_sample_j, REAL, REAL, worth.energy_per_sample_j, "of the platform")               \
    X(energy_per_epoch_j, REAL, REAL, worth.energy_per_epoch_j, "of the platform")                 \
    X(cost_per_update_usd, REAL, REAL, worth.cost_per_update_usd, "at the platform's prices")      \
    X(cost_per_sample_usd, REAL, REAL, worth.cost_per_sample_usd, "at the platform's prices")      \
    X(cost_per_epoch_usd, REAL, REAL, worth.cost_per_epoch_usd, "at the platform's prices")        \
    X(time_per_epoch_s, REAL, REAL, worth.time_per_epoch_s, "of epoch_samples")                    \
    X(unit_s, REAL, REAL, unit_s, "mean forward of a stage")                                       \
    X(bottleneck, TEXT, TEXT, bottleneck, "what limits")                                           \
    X(note, TEXT, TEXT, note, "what the reader must know of this row")

const struct psim_sweep_column psim_sweep_columns[PSIM_SWEEP_COLUMNS] = {
#define COLUMN(name, cell, field, place, meaning) {#name, meaning, PSIM_CELL_##cell},
    COLUMN_MAP(COLUMN)
#undef COLUMN
};

static const struct field fields[PSIM_SWEEP_COLUMNS] = {
#define FIELD(name, cell, field, place, meaning)                                                   \
    {FIELD_##field, offsetof(struct psim_result, place)},
    COLUMN_MAP(FIELD)
#undef FIELD
};

int psim_sweep_column_find(const char *name)
{
    for (int i = 0; i < PSIM_SWEEP_COLUMNS; i++) {
        if (strcmp(psim_sweep_columns[i].name, name) == 0)
            return i;
    }
    psim_bug("no column of a sweep has this name");
}

/* ---- Writing ---- */

static void put_integer(struct psim_text *out, int64_t value)
{
    psim_text_append(out, (const char *)&value, sizeof value);
}

static void put_text(struct psim_text *out, const char *text)
{
    const size_t length = strlen(text) + 1;

    put_integer(out, (int64_t)length);
    psim_text_append(out, text, length);
}

static void put_cell(struct psim_text *out, const struct psim_sweep_cell *cell)
{
    put_integer(out, (int64_t)cell->kind);
    if (cell->kind == PSIM_CELL_INTEGER)
        put_integer(out, cell->integer);
    else if (cell->kind == PSIM_CELL_REAL)
        psim_text_append(out, (const char *)&cell->real, sizeof cell->real);
    else if (cell->kind == PSIM_CELL_TEXT)
        put_text(out, cell->text);
}

static struct psim_sweep_cell cell_of(const struct psim_result *row, const struct field *field)
{
    const char *at = (const char *)row + field->offset;
    struct psim_sweep_cell cell = {.kind = PSIM_CELL_INTEGER};
    int small;

    switch (field->kind) {
    case FIELD_TEXT:
        memcpy(&cell.text, at, sizeof cell.text);
        cell.kind = cell.text == NULL || cell.text[0] == '\0' ? PSIM_CELL_NONE : PSIM_CELL_TEXT;
        break;
    case FIELD_REAL:
        memcpy(&cell.real, at, sizeof cell.real);
        cell.kind = isfinite(cell.real) ? PSIM_CELL_REAL : PSIM_CELL_NONE;
        break;
    case FIELD_COUNT:
        memcpy(&cell.integer, at, sizeof cell.integer);
        cell.kind = cell.integer < 0 ? PSIM_CELL_NONE : PSIM_CELL_INTEGER;
        break;
    case FIELD_INT:
        memcpy(&small, at, sizeof small);
        cell.integer = small;
        break;
    case FIELD_FLAG:
        cell.integer = *(const bool *)(const void *)at ? 1 : 0;
        break;
    case FIELD_OF_RECORD:
        cell.kind = PSIM_CELL_NONE;
        break;
    }
    return cell;
}

static void write_options(const struct psim_result *row, struct psim_text *out)
{
    psim_text_append(out, "{", 1);
    for (int i = 0; i < row->option_count; i++) {
        const char *value = row->option_values[i];
        const bool bare = strcmp(value, "true") == 0 || strcmp(value, "false") == 0 ||
                          strspn(value, "0123456789") == strlen(value);

        psim_text_printf(out, bare ? "%s\"%s\":%s" : "%s\"%s\":\"%s\"", i > 0 ? "," : "",
                         row->option_names[i], value);
    }
    psim_text_append(out, "}", 1);
}

void psim_sweep_record_begin(struct psim_sweep_record *record, int64_t point)
{
    *record = (struct psim_sweep_record){.bytes = PSIM_TEXT_INIT};
    put_integer(&record->bytes, point);
}

static struct psim_sweep_cell text_cell(const char *text)
{
    return (struct psim_sweep_cell){.kind = PSIM_CELL_TEXT, .text = text};
}

void psim_sweep_record_row(struct psim_sweep_record *record, const struct psim_result *row)
{
    struct psim_text options = PSIM_TEXT_INIT;

    write_options(row, &options);
    record->bytes.failed = record->bytes.failed || options.failed;
    for (int i = 0; i < PSIM_SWEEP_COLUMNS; i++) {
        struct psim_sweep_cell cell = cell_of(row, &fields[i]);

        if (i == psim_sweep_column_find("status"))
            cell = text_cell("ok");
        else if (i == psim_sweep_column_find("options") && options.data != NULL)
            cell = text_cell(options.data);
        put_cell(&record->bytes, &cell);
    }
    record->row_count++;
    psim_text_release(&options);
}

void psim_sweep_record_failure(struct psim_sweep_record *record, const char *method,
                               const char *label, const char *cause)
{
    struct psim_sweep_cell cells[PSIM_SWEEP_COLUMNS] = {{.kind = PSIM_CELL_NONE}};

    cells[psim_sweep_column_find("method")] = text_cell(method);
    cells[psim_sweep_column_find("label")] = text_cell(label);
    cells[psim_sweep_column_find("status")] = text_cell("failed");
    cells[psim_sweep_column_find("cause")] = text_cell(cause);
    for (int i = 0; i < PSIM_SWEEP_COLUMNS; i++)
        put_cell(&record->bytes, &cells[i]);
    record->row_count++;
    record->status = PSIM_POINT_FAILED;
}

/* The end is read first: status, rows, texts, and where they start. */
void psim_sweep_record_end(struct psim_sweep_record *record, enum psim_point_status status,
                           const char *cause, const char *inputs_sha256)
{
    const int64_t start = (int64_t)record->bytes.length;

    record->status = status;
    put_text(&record->bytes, cause);
    put_text(&record->bytes, inputs_sha256);
    put_integer(&record->bytes, status);
    put_integer(&record->bytes, record->row_count);
    put_integer(&record->bytes, start);
}

void psim_sweep_record_release(struct psim_sweep_record *record)
{
    psim_text_release(&record->bytes);
    *record = (struct psim_sweep_record){.bytes = PSIM_TEXT_INIT};
}

/* ---- Reading ---- */

static bool get(const char **at, const char *end, void *out, size_t length)
{
    if ((size_t)(end - *at) < length)
        return false;
    memcpy(out, *at, length);
    *at += length;
    return true;
}

static bool get_text(const char **at, const char *end, const char **out)
{
    int64_t length;

    if (!get(at, end, &length, sizeof length) || length < 1 || length > end - *at ||
        (*at)[length - 1] != '\0')
        return false;
    *out = *at;
    *at += length;
    return true;
}

bool psim_sweep_record_read(const char *bytes, size_t length, struct psim_sweep_reading *out)
{
    const char *end = bytes + length, *at;
    struct psim_sweep_reading reading = {.at = bytes};
    int64_t tail[3];

    if (length < sizeof reading.point + sizeof tail)
        return false;
    at = end - sizeof tail;
    (void)get(&at, end, tail, sizeof tail);
    (void)get(&reading.at, end, &reading.point, sizeof reading.point);
    if (tail[0] < PSIM_POINT_OK || tail[0] > PSIM_POINT_INVALID || tail[1] < 0 ||
        tail[1] > INT32_MAX || tail[2] < (int64_t)sizeof reading.point ||
        tail[2] > (int64_t)(length - sizeof tail))
        return false;
    reading.status = (enum psim_point_status)tail[0];
    reading.row_count = (int)tail[1];
    at = bytes + tail[2];
    end -= sizeof tail;
    if (!get_text(&at, end, &reading.cause) || !get_text(&at, end, &reading.inputs_sha256))
        return false;
    reading.end = bytes + tail[2];
    *out = reading;
    return true;
}

static bool get_cell(const char **at, const char *end, struct psim_sweep_cell *out)
{
    int64_t kind;

    *out = (struct psim_sweep_cell){.kind = PSIM_CELL_NONE};
    if (!get(at, end, &kind, sizeof kind) || kind < PSIM_CELL_NONE || kind > PSIM_CELL_TEXT)
        return false;
    out->kind = (enum psim_cell_kind)kind;
    if (out->kind == PSIM_CELL_INTEGER)
        return get(at, end, &out->integer, sizeof out->integer);
    if (out->kind == PSIM_CELL_REAL)
        return get(at, end, &out->real, sizeof out->real);
    return out->kind == PSIM_CELL_NONE || get_text(at, end, &out->text);
}

bool psim_sweep_record_next(struct psim_sweep_reading *reading,
                            struct psim_sweep_cell out[PSIM_SWEEP_COLUMNS])
{
    for (int i = 0; i < PSIM_SWEEP_COLUMNS; i++) {
        if (!get_cell(&reading->at, reading->end, &out[i]))
            return false;
    }
    return true;
}

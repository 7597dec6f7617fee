/* `fit` as a report: verdicts first, then the stages' memory in three views, then by category. */
#include "sim/base/memory.h"
#include "sim/plan/fit.h"
#include "sim/report/columns.h"

#include <math.h>
#include <string.h>

#define TEXT(key, group, name)                                                                     \
    {                                                                                              \
        key, group, name, "", PSIM_QUANTITY_TEXT                                                   \
    }
#define COUNT(key, group, name)                                                                    \
    {                                                                                              \
        key, group, name, "", PSIM_QUANTITY_COUNT                                                  \
    }
#define MEMORY(key, group, name, legend)                                                           \
    {                                                                                              \
        key, group, name, legend, PSIM_QUANTITY_MEMORY                                             \
    }

static const struct psim_sheet_column view_columns[] = {
    TEXT("method", "", "method"),
    COUNT("stage", "", "stage"),
    TEXT("device", "", "device"),
    MEMORY("allocated_bytes", "step's peak", "allocated", "what tensors occupy"),
    MEMORY("reserved_bytes", "step's peak", "reserved",
           "allocated and the allocator's share of it"),
    MEMORY("device_bytes", "step's peak", "device",
           "reserved, context and communicator: what the system reports"),
    {"peak_at_s", "step's peak", "at", "moment of the peak", PSIM_QUANTITY_SECONDS},
    MEMORY("optimizer_step_device_bytes", "device", "optimizer_step", ""),
    MEMORY("start_up_device_bytes", "device", "start-up",
           "parameters in fp32 and in the precision, no step yet"),
    TEXT("worst_moment", "", "worst_moment"),
    MEMORY("capacity_bytes", "", "capacity", ""),
    MEMORY("room_bytes", "", "room", "capacity less the worst moment"),
    TEXT("fits", "", "fits"),
};

enum { VIEW_COLUMNS = sizeof view_columns / sizeof view_columns[0] };
enum { CATEGORY_COLUMNS = 3 + PSIM_MEMORY_CATEGORIES + 3 };

static struct psim_sheet_value text(const char *value)
{
    return (struct psim_sheet_value){NAN, value};
}

static struct psim_sheet_value number(double value)
{
    return (struct psim_sheet_value){value, NULL};
}

static int stage_rows(const struct psim_fit *fit)
{
    int rows = 0;

    for (int i = 0; i < fit->scenario->method_count; i++)
        rows += fit->rows[i].result == NULL ? 0 : fit->rows[i].result->simulation.stage_count;
    return rows;
}

static int put_view(const struct psim_fit_row *row, int stage, struct psim_sheet_value *out)
{
    const struct psim_fit_stage *s = &row->stages[stage];
    const struct psim_sheet_value values[VIEW_COLUMNS] = {
        text(row->result->label),
        number(stage + 1),
        text(row->result->device_names[stage]),
        number((double)s->views[PSIM_FIT_STEP].allocated_bytes),
        number((double)s->views[PSIM_FIT_STEP].reserved_bytes),
        number((double)s->views[PSIM_FIT_STEP].device_bytes),
        number(s->views[PSIM_FIT_STEP].at_s),
        number((double)s->views[PSIM_FIT_UPDATE].device_bytes),
        number((double)s->views[PSIM_FIT_START_UP].device_bytes),
        text(psim_fit_moment_names[s->worst]),
        number((double)s->capacity_bytes),
        number((double)psim_fit_room(s)),
        text(psim_fit_room(s) >= 0 ? "yes" : "no"),
    };

    memcpy(out, values, sizeof values);
    return VIEW_COLUMNS;
}

static int put_categories(const struct psim_fit_row *row, int stage, struct psim_sheet_value *out)
{
    const struct psim_fit_stage *s = &row->stages[stage];
    int at = 0;

    out[at++] = text(row->result->label);
    out[at++] = number(stage + 1);
    out[at++] = text(row->result->stage_names[stage]);
    for (int c = 0; c < PSIM_MEMORY_CATEGORIES; c++)
        out[at++] = number((double)s->by_category[c]);
    out[at++] = number(
        (double)(s->views[PSIM_FIT_STEP].reserved_bytes - s->views[PSIM_FIT_STEP].allocated_bytes));
    out[at++] = number((double)s->communicator_bytes);
    out[at++] = number((double)s->transient_bytes);
    return at;
}

static bool category_columns(struct psim_arena *arena, struct psim_sheet_column *out)
{
    int at = 0;

    out[at++] = (struct psim_sheet_column)TEXT("method", "", "method");
    out[at++] = (struct psim_sheet_column)COUNT("stage", "", "stage");
    out[at++] = (struct psim_sheet_column)TEXT("stage_name", "", "holds");
    for (int c = 0; c < PSIM_MEMORY_CATEGORIES; c++) {
        const char *key = psim_arena_printf(arena, "%s_bytes", psim_memory_category_names[c]);

        if (key == NULL)
            return false;
        out[at++] = (struct psim_sheet_column)MEMORY(key, "", psim_memory_category_names[c], "");
    }
    out[at++] = (struct psim_sheet_column)MEMORY("allocator_bytes", "", "allocator", "");
    out[at++] = (struct psim_sheet_column)MEMORY("communicator_bytes", "", "communicator", "");
    out[at++] =
        (struct psim_sheet_column)MEMORY("optimizer_temporaries_bytes", "", "optimizer_temporaries",
                                         "alive during an optimizer step alone");
    return true;
}

typedef int put_stage(const struct psim_fit_row *row, int stage, struct psim_sheet_value *out);

static struct psim_sheet_value *fill(struct psim_fit *fit, int columns, put_stage *put)
{
    struct psim_sheet_value *values =
        psim_arena_alloc(&fit->arena, (size_t)stage_rows(fit) * (size_t)columns, sizeof *values);
    int at = 0;

    for (int i = 0; values != NULL && i < fit->scenario->method_count; i++) {
        const struct psim_fit_row *row = &fit->rows[i];

        for (int j = 0; row->result != NULL && j < row->result->simulation.stage_count; j++)
            at += put(row, j, &values[at]);
    }
    return values;
}

static const char *headline(struct psim_fit *fit)
{
    const int count = fit->scenario->method_count;
    int fitting = 0;

    if (count == 1)
        return fit->rows[0].verdict;
    for (int i = 0; i < count; i++)
        fitting += fit->rows[i].fits ? 1 : 0;
    if (fitting == count)
        return psim_arena_printf(&fit->arena, "fits: all %d methods", count);
    return psim_arena_printf(&fit->arena, "does not fit: %d of %d methods", count - fitting, count);
}

/* What was set aside, with where the figures come from. */
static const char *reserve_note(struct psim_fit *fit)
{
    const struct psim_fit_reserve *reserve = &fit->reserve;
    const char *context =
        reserve->context_bytes < 0
            ? "the device's"
            : psim_quantity_text(&fit->arena, PSIM_QUANTITY_MEMORY, (double)reserve->context_bytes);
    const char *fragmentation = isnan(reserve->fragmentation)
                                    ? "the device's share"
                                    : psim_arena_printf(&fit->arena, "%g", reserve->fragmentation);
    const char *communicator =
        psim_quantity_text(&fit->arena, PSIM_QUANTITY_MEMORY, (double)reserve->communicator_bytes);

    if (context == NULL || fragmentation == NULL || communicator == NULL)
        return NULL;
    return psim_arena_printf(
        &fit->arena,
        "set aside: context %s, allocator %s, communicator %s where a device sends, optimizer "
        "temporaries %g B a parameter; --reserve changes them, docs/model.md has their sources",
        context, fragmentation, communicator, reserve->transient_bytes);
}

enum psim_status psim_fit_report(struct psim_fit *fit, struct psim_sheet_report *out,
                                 struct psim_error *err)
{
    const int count = fit->scenario->method_count;
    struct psim_arena *arena = &fit->arena;
    struct psim_sheet_fact *facts = psim_arena_alloc(arena, (size_t)count, sizeof *facts);
    struct psim_sheet *sheets = psim_arena_alloc(arena, 2, sizeof *sheets);
    const char **notes = psim_arena_alloc(arena, 1, sizeof *notes);
    struct psim_sheet_column *columns = psim_arena_alloc(arena, CATEGORY_COLUMNS, sizeof *columns);
    struct psim_sheet_value *views = fill(fit, VIEW_COLUMNS, put_view);
    struct psim_sheet_value *categories = fill(fit, CATEGORY_COLUMNS, put_categories);
    const char *first = headline(fit), *note = reserve_note(fit);

    if (facts == NULL || sheets == NULL || notes == NULL || columns == NULL || views == NULL ||
        categories == NULL || first == NULL || note == NULL || !category_columns(arena, columns))
        return psim_fail(err, PSIM_ERR_NOMEM, "fit", "out of memory");
    for (int i = 0; count > 1 && i < count; i++)
        facts[i] = (struct psim_sheet_fact){fit->scenario->methods[i].label,
                                            fit->scenario->methods[i].label, fit->rows[i].verdict};
    notes[0] = note;
    sheets[0] = (struct psim_sheet){"stages", "Memory of each stage", view_columns, VIEW_COLUMNS,
                                    views,    stage_rows(fit)};
    sheets[1] = (struct psim_sheet){"categories", "What fills it at the step's peak",
                                    columns,      CATEGORY_COLUMNS,
                                    categories,   stage_rows(fit)};
    *out = (struct psim_sheet_report){"fit/1", first, facts, count > 1 ? count : 0,
                                      sheets,  2,     notes, 1};
    return PSIM_OK;
}

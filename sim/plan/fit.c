/* The three views of a device's memory, and the verdict of a row. */
#include "sim/plan/fit.h"

#include "sim/base/memory.h"
#include "sim/base/text.h"
#include "sim/base/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MASTER_BYTES 4 /* a parameter is initialised in fp32 whatever it is kept in */

/*
 * The communicator: 2.00 - 0.55 GiB that a process grows by at its first barrier of two ranks with
 * NCCL (github.com/stas00/ml-engineering@744d01e1 training/performance/README.md); 342 to 392 MiB
 * is what github.com/ai-dynamo/aiconfigurator@095f58a5 reserves for it.  The larger one stands,
 * since "fits" must not be said too early.  The optimizer: a list of fp32 temporaries as large as
 * the parameters, github.com/hiyouga/LlamaFactory issue 1221 (3.14 GiB = 6.74e9 * 4 B / 8).
 */
const struct psim_fit_reserve psim_fit_reserve_default = {
    .context_bytes = -1,
    .fragmentation = NAN,
    .communicator_bytes = INT64_C(1556925645), /* 1.45 GiB */
    .transient_bytes = 4,
};

const char *const psim_fit_moment_names[PSIM_FIT_MOMENTS] = {"step", "optimizer step", "start-up"};

/* ---- Reading ---- */

static enum psim_status set_size(const char *name, const char *text, double *out,
                                 struct psim_error *err)
{
    const char *nearest = NULL;
    double bytes;
    enum psim_status status;

    if (strcmp(text, "0") == 0) {
        *out = 0;
        return PSIM_OK;
    }
    status = psim_quantity_parse(text, PSIM_DIMENSION_BYTES, &bytes, &nearest, err);
    if (status != PSIM_OK)
        return status;
    if (!(bytes >= 0) || !(bytes <= 0x1p50))
        return psim_fail(err, PSIM_ERR_RANGE, name, "must be in [0 B, 1 PiB], not %s", text);
    *out = bytes;
    return PSIM_OK;
}

static enum psim_status set_entry(const char *name, const char *text,
                                  struct psim_fit_reserve *reserve, struct psim_error *err)
{
    static const char *const names[] = {"context", "fragmentation", "communicator", "optimizer"};
    double value = NAN;
    char *end;
    const char *near;
    enum psim_status status = PSIM_OK;

    if (strcmp(name, "fragmentation") == 0) {
        value = strtod(text, &end);
        if (end == text || *end != '\0' || !(value >= 0) || !(value <= 1))
            return psim_fail(err, PSIM_ERR_RANGE, name, "must be a share in [0, 1], not %s", text);
        reserve->fragmentation = value;
        return PSIM_OK;
    }
    near = psim_nearest_name(name, names, 4);
    if (near == NULL || strcmp(near, name) != 0)
        return psim_fail(err, PSIM_ERR_NOTFOUND, name,
                         "is none of context, fragmentation, "
                         "communicator and optimizer%s%s%s",
                         near == NULL ? "" : " (did you mean '", near == NULL ? "" : near,
                         near == NULL ? "" : "'?)");
    status = set_size(name, text, &value, err);
    if (status != PSIM_OK)
        return status;
    if (strcmp(name, "context") == 0)
        reserve->context_bytes = (int64_t)value;
    else if (strcmp(name, "communicator") == 0)
        reserve->communicator_bytes = (int64_t)value;
    else
        reserve->transient_bytes = value;
    return PSIM_OK;
}

enum psim_status psim_fit_reserve_parse(const char *text, struct psim_fit_reserve *reserve,
                                        struct psim_error *err)
{
    struct psim_fit_reserve read = *reserve;

    while (*text != '\0') {
        char entry[128];
        const size_t length = strcspn(text, ",");
        char *equals;
        enum psim_status status;

        if (length >= sizeof entry)
            return psim_fail(err, PSIM_ERR_SCHEMA, "reserve", "an entry is too long");
        memcpy(entry, text, length);
        entry[length] = '\0';
        equals = strchr(entry, '=');
        if (equals == NULL)
            return psim_fail(err, PSIM_ERR_SCHEMA, "reserve", "'%s' is not NAME=VALUE", entry);
        *equals = '\0';
        status = set_entry(entry, equals + 1, &read, err);
        if (status != PSIM_OK)
            return status;
        text += length + (text[length] == ',' ? 1 : 0);
    }
    *reserve = read;
    return PSIM_OK;
}

/* ---- One stage ---- */

void psim_fit_prepare_stage(struct psim_stage *s, int element_bytes,
                            const struct psim_fit_reserve *reserve)
{
    if (reserve->context_bytes >= 0)
        s->context_bytes = reserve->context_bytes;
    if (!isnan(reserve->fragmentation))
        s->fragmentation = reserve->fragmentation;
    s->optimizer_transient_bytes =
        (int64_t)ceil(reserve->transient_bytes * (double)s->parameter_bytes / element_bytes);
}

void psim_fit_prepare(struct psim_program *program, const struct psim_fit_reserve *reserve)
{
    for (int q = 0; q < program->lanes * program->shape.stages; q++)
        psim_fit_prepare_stage(&program->places[q], program->workload->element_bytes, reserve);
}

/* docs/model.md eq. 32. */
static struct psim_fit_view view(const struct psim_stage *s, int64_t communicator_bytes,
                                 int64_t allocated_bytes, double at_s)
{
    struct psim_fit_view out = {.allocated_bytes = allocated_bytes, .at_s = at_s};

    out.reserved_bytes =
        allocated_bytes + (int64_t)ceil(s->fragmentation * (double)allocated_bytes);
    out.device_bytes = out.reserved_bytes + s->context_bytes + communicator_bytes;
    return out;
}

void psim_fit_peak_judge(const struct psim_stage *s, const struct psim_memory_peak *peak,
                         int element_bytes, bool sends, const struct psim_fit_reserve *reserve,
                         struct psim_fit_stage *out)
{
    const int64_t parameters = s->parameter_bytes / element_bytes;
    const int64_t beside = element_bytes < MASTER_BYTES ? s->parameter_bytes : 0;
    struct psim_fit_stage filled = {.capacity_bytes = s->memory_bytes,
                                    .transient_bytes = s->optimizer_transient_bytes,
                                    .communicator_bytes = sends ? reserve->communicator_bytes : 0};

    memcpy(filled.by_category, peak->by_category, sizeof filled.by_category);
    filled.views[PSIM_FIT_STEP] =
        view(s, filled.communicator_bytes, peak->bytes - s->context_bytes, peak->at_s);
    filled.views[PSIM_FIT_UPDATE] = view(s, filled.communicator_bytes,
                                         peak->update_bytes - s->context_bytes, peak->update_at_s);
    filled.views[PSIM_FIT_START_UP] =
        view(s, filled.communicator_bytes,
             MASTER_BYTES * parameters + beside + s->buffer_bytes + s->workspace_bytes, NAN);
    for (int m = 1; m < PSIM_FIT_MOMENTS; m++) {
        if (filled.views[m].device_bytes >= filled.views[filled.worst].device_bytes)
            filled.worst = (enum psim_fit_moment)m;
    }
    *out = filled;
}

void psim_fit_stage_judge(const struct psim_program *program, int stage,
                          const struct psim_stage_result *result,
                          const struct psim_fit_reserve *reserve, struct psim_fit_stage *out)
{
    psim_fit_peak_judge(&program->places[stage], &result->memory, program->workload->element_bytes,
                        program->shape.stages > 1 || program->replicas > 1, reserve, out);
}

int64_t psim_fit_room(const struct psim_fit_stage *stage)
{
    return stage->capacity_bytes - stage->views[stage->worst].device_bytes;
}

/* ---- Rows ---- */

static enum psim_status no_memory(struct psim_error *err)
{
    return psim_fail(err, PSIM_ERR_NOMEM, "fit", "out of memory");
}

static const char *gib(struct psim_arena *arena, int64_t bytes)
{
    return psim_arena_printf(arena, "%.1f", (double)bytes / 0x1p30);
}

/* Rounded so that "fits" never shows more than there is. */
static bool judge_row(struct psim_fit *fit, int method, const struct psim_result *result)
{
    const struct psim_program *program = &fit->study.programs[method];
    struct psim_fit_row *row = &fit->rows[method];
    const int stages = result->simulation.stage_count;
    const struct psim_fit_stage *tightest;
    const char *needed, *capacity, *margin;

    row->result = result;
    row->stages = psim_arena_alloc(&fit->arena, (size_t)stages, sizeof *row->stages);
    if (row->stages == NULL)
        return false;
    for (int j = 0; j < stages; j++) {
        psim_fit_stage_judge(program, j, &result->simulation.stages[j], &fit->reserve,
                             &row->stages[j]);
        if (psim_fit_room(&row->stages[j]) < psim_fit_room(&row->stages[row->tightest]))
            row->tightest = j;
    }
    tightest = &row->stages[row->tightest];
    row->fits = psim_fit_room(tightest) >= 0;
    needed = gib(&fit->arena, tightest->views[tightest->worst].device_bytes);
    capacity = gib(&fit->arena, tightest->capacity_bytes);
    margin = gib(&fit->arena, row->fits ? psim_fit_room(tightest) : -psim_fit_room(tightest));
    if (needed == NULL || capacity == NULL || margin == NULL)
        return false;
    row->verdict =
        row->fits ? psim_arena_printf(&fit->arena, "fits: %s of %s GiB on stage %d, margin %s GiB",
                                      needed, capacity, row->tightest + 1, margin)
                  : psim_arena_printf(&fit->arena,
                                      "does not fit: stage %d needs %s GiB, %s over the %s GiB of "
                                      "its %s",
                                      row->tightest + 1, needed, margin, capacity,
                                      result->device_types[row->tightest]);
    return row->verdict != NULL;
}

static const char *failure(struct psim_fit *fit, int method)
{
    return psim_arena_printf(&fit->arena, "no verdict: %s", fit->study.jobs[method].error.message);
}

static enum psim_status judge(struct psim_fit *fit, const struct psim_engine *engine,
                              struct psim_error *err)
{
    const struct psim_comparison *comparison = &fit->study.comparison;

    fit->fits = true;
    for (int i = 0, at = 0; i < fit->scenario->method_count; i++) {
        struct psim_fit_row *row = &fit->rows[i];

        if (fit->study.jobs[i].status != PSIM_OK) {
            row->verdict = failure(fit, i);
        } else if (!judge_row(fit, i, &comparison->results[at++])) {
            return no_memory(err);
        } else if (!row->fits) {
            const char *nearest = psim_fit_nearest(fit, i, engine);

            row->verdict = nearest == NULL
                               ? NULL
                               : psim_arena_printf(&fit->arena, "%s; %s", row->verdict, nearest);
        }
        if (row->verdict == NULL)
            return no_memory(err);
        fit->fits = fit->fits && row->fits;
    }
    return PSIM_OK;
}

enum psim_status psim_fit_run(const struct psim_scenario *scenario,
                              const struct psim_engine *engine,
                              const struct psim_fit_reserve *reserve, int workers,
                              struct psim_fit *out, struct psim_diagnostics *list,
                              struct psim_error *err)
{
    struct psim_fit fit = {.arena = PSIM_ARENA_INIT, .scenario = scenario, .reserve = *reserve};
    enum psim_status status = psim_study_build(scenario, engine, &fit.study, list);

    PSIM_ASSERT(scenario->accounting == PSIM_ACCOUNTING_FULL);
    if (status != PSIM_OK)
        return status; /* what is wrong is in the list */
    for (int i = 0; i < scenario->method_count; i++)
        psim_fit_prepare(&fit.study.programs[i], reserve);
    fit.rows = psim_arena_alloc(&fit.arena, (size_t)scenario->method_count, sizeof *fit.rows);
    status = fit.rows == NULL ? no_memory(err) : psim_study_run(&fit.study, workers, err);
    if (status == PSIM_OK)
        status = judge(&fit, engine, err);
    if (status == PSIM_OK)
        *out = fit;
    else
        psim_fit_release(&fit);
    return status;
}

void psim_fit_release(struct psim_fit *fit)
{
    psim_study_release(&fit->study);
    psim_arena_release(&fit->arena);
    *fit = (struct psim_fit){.arena = PSIM_ARENA_INIT};
}

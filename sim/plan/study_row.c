/* One row of a comparison: what follows from a simulation and its program. */
#include "sim/base/memory.h"
#include "sim/plan/study.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static enum psim_status no_memory(struct psim_error *err)
{
    return psim_fail(err, PSIM_ERR_NOMEM, "comparison", "out of memory");
}

/* The options as a file spells them. */
static bool fill_options(struct psim_arena *arena, const struct psim_program *program,
                         struct psim_result *row)
{
    const struct psim_option *const *options = program->method->options;
    const char **names, **values;
    int count = 0;

    while (options != NULL && options[count] != NULL)
        count++;
    names = psim_arena_alloc(arena, (size_t)count, sizeof *names);
    values = psim_arena_alloc(arena, (size_t)count, sizeof *values);
    if (names == NULL || values == NULL)
        return false;
    for (int i = 0; i < count; i++) {
        const int64_t value = program->shape.options[i];

        names[i] = options[i]->name;
        if (options[i]->kind == PSIM_OPTION_CHOICE)
            values[i] = options[i]->choices[value];
        else if (options[i]->kind == PSIM_OPTION_BOOL)
            values[i] = value != 0 ? "true" : "false";
        else
            values[i] = psim_arena_printf(arena, "%" PRId64, value);
        if (values[i] == NULL)
            return false;
    }
    row->option_names = names;
    row->option_values = values;
    row->option_count = count;
    return true;
}

static bool fill_names(struct psim_arena *arena, const struct psim_program *program,
                       struct psim_result *row)
{
    const size_t stages = (size_t)program->shape.stages;
    const char **devices = psim_arena_alloc(arena, stages, sizeof *devices);
    const char **types = psim_arena_alloc(arena, stages, sizeof *types);
    const char **names = psim_arena_alloc(arena, stages, sizeof *names);

    if (devices == NULL || types == NULL || names == NULL)
        return false;
    for (size_t j = 0; j < stages; j++) {
        const struct psim_stage *stage = &program->workload->stages[j];

        devices[j] = psim_platform_device_name(program->platform, stage->device);
        types[j] = psim_platform_device(program->platform, stage->device)->name;
        names[j] = stage->name;
    }
    row->device_names = devices;
    row->device_types = types;
    row->stage_names = names;
    return true;
}

/* The claim on equal stages (f = r = 1, b = 2), and the same formula on these stages. */
static bool fill_closed_form(struct psim_arena *arena, const struct psim_program *program,
                             struct psim_result *row)
{
    const int stages = program->shape.stages;
    struct psim_stage_times *times = psim_arena_alloc(arena, (size_t)stages, sizeof *times);
    struct psim_closed_form here = {.time_per_microbatch = NAN};
    double forward_s = 0;

    if (times == NULL)
        return false;
    psim_program_times(program, times);
    program->method->closed_form(&program->shape, times, &here);
    row->closed_form_s = here.time_per_microbatch;
    for (int j = 0; j < stages; j++) {
        forward_s += times[j].forward;
        times[j].forward = times[j].reconstruct = 1;
        times[j].backward = 2;
        times[j].update = 0;
    }
    row->unit_s = forward_s / stages;
    program->method->closed_form(&program->shape, times, &row->closed_form);
    return true;
}

static void fill_memory(struct psim_result *row)
{
    const struct psim_simulation *simulation = &row->simulation;

    row->worst_stage = -1;
    row->peak_bytes_max = -1;
    row->fits = true;
    for (int j = 0; j < simulation->stage_count; j++) {
        const struct psim_memory_peak *peak = &simulation->stages[j].memory;

        if (peak->bytes < 0) {
            row->worst_stage = -1;
            row->peak_bytes_max = row->peak_bytes_sum = -1;
            return;
        }
        row->peak_bytes_sum += peak->bytes;
        row->fits = row->fits && peak->reserved_bytes <= peak->capacity_bytes;
        if (peak->bytes > row->peak_bytes_max) {
            row->peak_bytes_max = peak->bytes;
            row->worst_stage = j;
        }
    }
}

/* A run of so many updates from a cold start, and what ended it early. */
static const char *run_note(struct psim_arena *arena, const struct psim_scenario *scenario,
                            const struct psim_simulation *simulation)
{
    const struct psim_platform *platform = &scenario->platform;
    const struct psim_condition *condition;
    const char *what;

    if (simulation->failure < 0)
        return psim_arena_printf(arena, "means over %" PRId64 " updates from a cold start",
                                 simulation->updates);
    condition = &scenario->conditions->events[simulation->failure];
    what = condition->kind == PSIM_CONDITION_LINK_FAILS
               ? platform->links[condition->index].name
               : psim_platform_device_name(platform, condition->index);
    return psim_arena_printf(arena,
                             "%s failed at %.6g s: %" PRId64 " of %" PRId64
                             " updates done, %" PRId64 " micro-batches and %.4g s lost",
                             what, simulation->failed_at_s, simulation->updates_done,
                             simulation->updates, simulation->lost_microbatches,
                             simulation->lost_s);
}

enum psim_status psim_study_row(struct psim_study *study, int method, struct psim_result *row,
                                struct psim_error *err)
{
    const struct psim_scenario_method *entry = &study->scenario->methods[method];
    const struct psim_program *program = &study->programs[method];
    struct psim_arena *arena = &study->arena;

    *row = (struct psim_result){
        .method = entry->method->name,
        .label = entry->label,
        .model = program->workload->model_name,
        .accumulation = program->shape.accumulation,
        .updates_every_microbatch = entry->method->updates_every_microbatch,
        .simulation = study->jobs[method].simulation,
        .speedup = NAN,
        .note = "",
    };
    memcpy(row->tag_share, program->workload->tag_share, sizeof row->tag_share);
    row->samples_per_s = study->scenario->data_parallel.replicas *
                         (double)study->scenario->workload.microbatch /
                         row->simulation.time_per_microbatch_s;
    if (!isfinite(row->samples_per_s))
        row->samples_per_s = NAN;
    fill_memory(row);
    if (study->scenario->accounting == PSIM_ACCOUNTING_PAPER) {
        row->fits = true;
        if (row->peak_bytes_max < 0)
            row->note = "the published memory formula does not cover this row";
    }
    if (entry->method->updates_every_microbatch && study->scenario->accumulation > 1)
        row->note = "updates after every micro-batch: not the other rows' optimizer step";
    if (!row->simulation.steady)
        row->note = "no exact period was found: times are means over the last stretch simulated";
    if (row->simulation.updates > 0)
        row->note = run_note(arena, study->scenario, &row->simulation);
    if (row->note == NULL)
        return no_memory(err);
    row->bottleneck = psim_study_bottleneck(arena, program, &row->simulation);
    if (row->bottleneck == NULL || !fill_options(arena, program, row) ||
        !fill_names(arena, program, row) || !fill_closed_form(arena, program, row))
        return no_memory(err);
    return PSIM_OK;
}

#include "sim/plan/study.h"

#include "sim/base/memory.h"
#include "sim/base/text.h"
#include "sim/report/facts.h"
#include "sim/report/quantity.h"

#include <math.h>
#include <string.h>

static enum psim_status no_memory(struct psim_error *err)
{
    return psim_fail(err, PSIM_ERR_NOMEM, "comparison", "out of memory");
}

/* A stage that is spread over several devices has its part of everything on each. */
static enum psim_status spread_stages(struct psim_workload *workload, int devices,
                                      struct psim_error *err)
{
    if (devices > 1 && !workload->given)
        return psim_fail(err, PSIM_ERR_MODEL, "devices_per_stage",
                         "needs stages with given times: how a layer's time falls with the devices "
                         "that share it is not modelled");
    for (int j = 0; j < workload->stage_count; j++) {
        struct psim_stage *s = &workload->stages[j];

        s->input_bytes /= devices;
        s->output_bytes /= devices;
        s->parameter_bytes /= devices;
        s->gradient_bytes /= devices;
        s->optimizer_bytes /= devices;
        s->buffer_bytes /= devices;
        s->graph_bytes /= devices;
        s->recompute_graph_bytes /= devices;
    }
    return PSIM_OK;
}

int psim_study_device(const struct psim_scenario *scenario, const struct psim_program *program,
                      int copy, int stage)
{
    const struct psim_data_parallel *parallel = &scenario->data_parallel;
    const int stages = program->shape.stages, copies = parallel->replicas;

    if (copies == 1)
        return program->workload->stages[stage].device;
    return parallel->devices_per_stage *
           (parallel->stages_first ? copy * stages + stage : stage * copies + copy);
}

/* Makes a row's program one of the scenario's copies. */
static enum psim_status replicate(const struct psim_scenario *scenario,
                                  struct psim_program *program, struct psim_error *err)
{
    const struct psim_data_parallel *parallel = &scenario->data_parallel;
    const int stages = program->shape.stages, copies = parallel->replicas;
    struct psim_replication replication = {.replicas = copies,
                                           .folded = parallel->fold && scenario->conditions == NULL,
                                           .not_before = !parallel->overlap,
                                           .protocol = &scenario->protocol};
    int *devices;
    enum psim_status status;

    if (copies == 1)
        return PSIM_OK;
    devices = psim_alloc((size_t)copies * (size_t)stages, sizeof *devices);
    if (devices == NULL)
        return no_memory(err);
    for (int r = 0; r < copies; r++) {
        for (int j = 0; j < stages; j++)
            devices[r * stages + j] = psim_study_device(scenario, program, r, j);
    }
    replication.devices = devices;
    if (parallel->collective != NULL)
        replication.collective = psim_collective_find(parallel->collective);
    status = psim_program_replicate(program, &replication, err);
    psim_free(devices);
    return status;
}

/* The stages of a model, built once however many rows run it. */
static enum psim_status find_workload(struct psim_study *study,
                                      const struct psim_workload_model *model,
                                      struct psim_workload **out, struct psim_error *err)
{
    struct psim_study_model *entry;
    enum psim_status status;

    for (int i = 0; i < study->model_count; i++) {
        if (study->models[i].model == model) {
            *out = &study->models[i].workload;
            return PSIM_OK;
        }
    }
    entry = &study->models[study->model_count];
    status = psim_workload_build(model, &study->scenario->platform, &study->scenario->workload,
                                 &entry->workload, err);
    if (status == PSIM_OK)
        status =
            spread_stages(&entry->workload, study->scenario->data_parallel.devices_per_stage, err);
    if (status != PSIM_OK) {
        psim_workload_release(&entry->workload);
        return status;
    }
    entry->model = model;
    study->model_count++;
    *out = &entry->workload;
    return PSIM_OK;
}

static enum psim_status build_program(struct psim_study *study, int index, struct psim_error *err)
{
    const struct psim_scenario *scenario = study->scenario;
    const struct psim_scenario_method *entry = &scenario->methods[index];
    struct psim_workload *workload;
    enum psim_status status = find_workload(study, entry->model, &workload, err);

    if (status != PSIM_OK)
        return status;
    status = psim_program_build(entry->method, &entry->shape, workload, &scenario->platform,
                                scenario->accounting, &study->programs[index], err);
    if (status == PSIM_OK)
        status = replicate(scenario, &study->programs[index], err);
    study->programs[index].conditions = scenario->conditions;
    study->jobs[index].program = &study->programs[index];
    return status;
}

enum psim_status psim_study_build(const struct psim_scenario *scenario,
                                  const struct psim_engine *engine, struct psim_study *out,
                                  struct psim_diagnostics *list)
{
    const size_t methods = (size_t)scenario->method_count;
    struct psim_study study = {.scenario = scenario, .engine = engine};
    enum psim_status status = PSIM_OK;

    study.models = psim_alloc(methods, sizeof *study.models);
    study.programs = psim_alloc(methods, sizeof *study.programs);
    study.jobs = psim_alloc(methods, sizeof *study.jobs);
    if (study.models == NULL || study.programs == NULL || study.jobs == NULL)
        status = PSIM_ERR_NOMEM;
    for (int i = 0; i < scenario->method_count && status != PSIM_ERR_NOMEM; i++) {
        const struct psim_scenario_method *entry = &scenario->methods[i];
        struct psim_error err = PSIM_ERROR_INIT;
        const enum psim_status one = build_program(&study, i, &err);

        if (one != PSIM_OK)
            psim_diagnose(list, one, entry->position, entry->path, NULL, "%s: %s", err.where,
                          err.message);
        if (status == PSIM_OK)
            status = one;
    }
    if (status == PSIM_OK)
        *out = study;
    else
        psim_study_release(&study);
    return status;
}

/* What the rows share beside the figures: one line each. */
static bool add_line(struct psim_arena *arena, const char **lines, int *count, const char *line)
{
    (void)arena;
    if (line == NULL)
        return false;
    if (line[0] != '\0')
        lines[(*count)++] = line;
    return true;
}

static bool uses_sharing(const struct psim_study *study)
{
    for (int i = 0; i < study->scenario->method_count; i++) {
        if (study->programs[i].method->overlap != NULL &&
            study->programs[i].overlap == PSIM_OVERLAP_SHARED)
            return true;
    }
    return false;
}

static bool gain_is_assumed(const struct psim_study *study, const struct psim_device **device)
{
    const struct psim_workload *workload = &study->models[0].workload;

    for (int j = 0; j < workload->stage_count; j++) {
        const struct psim_source *source;

        *device = psim_platform_device(&study->scenario->platform, workload->stages[j].device);
        source = psim_device_source(*device, "/concurrency_gain");
        if (source == NULL || source->tag == PSIM_TAG_ASSUMED)
            return true;
    }
    return false;
}

static bool fill_assumptions(struct psim_study *study)
{
    struct psim_comparison *c = &study->comparison;
    const size_t room = (size_t)study->model_count + 2;
    const char **lines = psim_arena_alloc(&study->arena, room, sizeof *lines);
    const struct psim_device *device;
    bool ok = lines != NULL;

    for (int i = 0; ok && i < study->model_count; i++) {
        bool said = study->models[i].workload.assumed[0] == '\0';

        for (int k = 0; k < c->assumption_count; k++)
            said = said || strcmp(lines[k], study->models[i].workload.assumed) == 0;
        if (!said)
            ok = add_line(&study->arena, lines, &c->assumption_count,
                          study->models[i].workload.assumed);
    }
    if (ok && uses_sharing(study) && gain_is_assumed(study, &device))
        ok =
            add_line(&study->arena, lines, &c->assumption_count,
                     psim_arena_printf(&study->arena,
                                       "overlap \"shared\": two kernels at once gain %.0f %% on %s",
                                       100 * device->concurrency_gain, device->name));
    if (ok && study->scenario->accounting == PSIM_ACCOUNTING_FULL)
        ok = add_line(&study->arena, lines, &c->assumption_count,
                      "optimizer in place; unfused convolution, norm and ReLU keep what "
                      "docs/model.md says");
    c->assumptions = lines;
    return ok;
}

/* The tightest stage: the one with the highest peak may be on a larger device. */
static const char *misfit_note(struct psim_arena *arena, const struct psim_result *row)
{
    const int stage = psim_tightest_stage(&row->simulation);
    const struct psim_memory_peak *peak;
    const char *texts[4];
    int64_t figures[4];

    PSIM_ASSERT(stage >= 0);
    peak = &row->simulation.stages[stage].memory;
    figures[0] = peak->reserved_bytes;
    figures[1] = peak->capacity_bytes;
    figures[2] = peak->reserved_bytes - peak->capacity_bytes;
    figures[3] = peak->bytes;
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        texts[i] = psim_quantity_text(arena, PSIM_QUANTITY_MEMORY, (double)figures[i]);
        if (texts[i] == NULL)
            return NULL;
    }
    return psim_arena_printf(arena,
                             "%s does not fit: stage %d (%s) needs %s of %s, %s too much "
                             "(reserved, for a peak of %s)",
                             row->label, stage + 1, row->device_names[stage], texts[0], texts[1],
                             texts[2], texts[3]);
}

/* True where no message of any row takes time, so that no figure of the network matters. */
static bool network_is_free(const struct psim_study *study)
{
    if (study->scenario->data_parallel.replicas > 1)
        return false;
    for (int i = 0; i < study->scenario->method_count; i++) {
        const struct psim_program *program = &study->programs[i];

        for (int hop = 0; hop + 1 < program->shape.stages; hop++) {
            for (int direction = 0; direction < 2; direction++) {
                const struct psim_route *route = &program->hops[hop].route[direction];

                if (route->latency_s > 0 || (program->hops[hop].bytes[direction] > 0 &&
                                             isfinite(route->bandwidth_bytes_per_s)))
                    return false;
            }
        }
    }
    return true;
}

/* Where any row knows its energy or its cost: as of when, and what keeps the others from it. */
static bool add_worth_notes(struct psim_study *study, const char **lines)
{
    struct psim_comparison *c = &study->comparison;
    const char *energy = NULL, *cost = NULL, *date = NULL;
    bool known = false, ok = true;

    for (int i = c->result_count - 1; i >= 0; i--) {
        const struct psim_worth *worth = &c->results[i].worth;

        known = known || isfinite(worth->energy_devices_per_update_j) ||
                worth->energy_links_per_update_j > 0 || worth->cost_note[0] == '\0';
        energy = worth->energy_note[0] == '\0' ? energy : worth->energy_note;
        cost = worth->cost_note[0] == '\0' ? cost : worth->cost_note;
        date = worth->price_date[0] == '\0' ? date : worth->price_date;
    }
    if (known && energy != NULL)
        ok = add_line(&study->arena, lines, &c->note_count,
                      psim_arena_printf(&study->arena, "energy: %s", energy));
    if (ok && known && cost != NULL)
        ok = add_line(&study->arena, lines, &c->note_count,
                      psim_arena_printf(&study->arena, "cost: %s", cost));
    if (ok && date != NULL)
        ok = add_line(&study->arena, lines, &c->note_count,
                      psim_arena_printf(&study->arena, "cost: prices of %s", date));
    return ok;
}

/* Kinds of copies, of the row that has most. */
static int kinds_of_copies(const struct psim_study *study)
{
    int kinds = 1;

    for (int i = 0; i < study->comparison.result_count; i++)
        kinds = study->programs[i].lanes > kinds ? study->programs[i].lanes : kinds;
    return kinds;
}

/* Does any stage of any row sum its gradients by this algorithm? */
static bool sums_by(const struct psim_study *study, const struct psim_collective *algorithm)
{
    for (int i = 0; i < study->scenario->method_count; i++) {
        const struct psim_program *program = &study->programs[i];

        for (int j = 0; program->sync_choices != NULL && j < program->shape.stages; j++) {
            if (program->sync_choices[j].algorithm == algorithm)
                return true;
        }
    }
    return false;
}

/* "ring", or "nvls and ring" where stages differ; NULL when memory is out. */
static const char *name_collectives(struct psim_study *study)
{
    const char *text = "";

    for (size_t i = 0; text != NULL && psim_collective_table[i] != NULL; i++) {
        if (sums_by(study, psim_collective_table[i]))
            text = psim_arena_printf(&study->arena, "%s%s%s", text, text[0] == '\0' ? "" : " and ",
                                     psim_collective_table[i]->name);
    }
    return text;
}

/* Are the messages of a stage's all-reduce scaled to measured times? */
static bool sums_as_measured(const struct psim_study *study)
{
    for (int i = 0; i < study->scenario->method_count; i++) {
        const struct psim_program *program = &study->programs[i];

        for (int j = 0; program->sync_choices != NULL && j < program->shape.stages; j++) {
            if (program->sync_choices[j].curve != NULL)
                return true;
        }
    }
    return false;
}

static const char *copies_note(struct psim_study *study)
{
    const struct psim_data_parallel *parallel = &study->scenario->data_parallel;
    const int kinds = kinds_of_copies(study);
    const char *folded = "";

    if (kinds == 1)
        folded = "; copies are folded into one";
    else if (kinds < parallel->replicas)
        folded = psim_arena_printf(&study->arena, "; copies are folded into %d", kinds);
    if (folded == NULL)
        return NULL;
    return psim_arena_printf(
        &study->arena,
        "%d copies of the pipeline, %d device%s a stage; gradients summed by %s%s before each "
        "update, %s; samples per s are of all copies, all else is of one%s",
        parallel->replicas, parallel->devices_per_stage,
        parallel->devices_per_stage == 1 ? "" : "s", study->comparison.collective,
        sums_as_measured(study) ? " at measured rates" : "",
        parallel->overlap ? "each stage's while others still work" : "once all stages have theirs",
        folded);
}

static bool fill_notes(struct psim_study *study)
{
    struct psim_comparison *c = &study->comparison;
    const struct psim_data_parallel *parallel = &study->scenario->data_parallel;
    const int used =
        study->models[0].workload.stage_count * parallel->replicas * parallel->devices_per_stage;
    const char **lines =
        psim_arena_alloc(&study->arena, (size_t)c->result_count + 6, sizeof *lines);
    bool ok = lines != NULL;

    if (ok && parallel->replicas > 1)
        ok = add_line(&study->arena, lines, &c->note_count, copies_note(study));
    if (ok && c->devices > used)
        ok = add_line(&study->arena, lines, &c->note_count,
                      psim_arena_printf(&study->arena, "%d of %d devices hold%s a stage, %d idle",
                                        used, c->devices, used == 1 ? "s" : "", c->devices - used));
    if (ok && network_is_free(study))
        ok = add_line(&study->arena, lines, &c->note_count,
                      used == 1 ? "one stage sends nothing: no figure of the network matters"
                                : "no message takes time: no figure of the network matters");
    ok = ok && add_worth_notes(study, lines);
    for (int i = 0; ok && i < c->result_count; i++) {
        const struct psim_result *row = &c->results[i];

        if (!row->fits)
            ok = add_line(&study->arena, lines, &c->note_count, misfit_note(&study->arena, row));
    }
    c->notes = lines;
    return ok;
}

static void fill_speedups(struct psim_comparison *c)
{
    double baseline_s = NAN;

    for (int i = 0; i < c->result_count; i++) {
        if (strcmp(c->results[i].label, c->baseline) == 0)
            baseline_s = c->results[i].simulation.time_per_microbatch_s;
    }
    for (int i = 0; i < c->result_count; i++) {
        const double time_s = c->results[i].simulation.time_per_microbatch_s;

        c->results[i].speedup = time_s > 0 ? baseline_s / time_s : NAN;
    }
}

static const char *partition_text(struct psim_study *study)
{
    static const char *const names[] = {"per_block", "balanced"};
    const struct psim_workload_options *options = &study->scenario->workload;
    struct psim_text text = PSIM_TEXT_INIT;
    const char *result;

    if (options->partition != PSIM_PARTITION_LIST)
        return names[options->partition];
    for (int i = 0; i < options->partition_count; i++)
        psim_text_printf(&text, "%s%d", i == 0 ? "[" : ", ", options->partition_list[i]);
    psim_text_printf(&text, "]");
    result = text.failed ? NULL : psim_arena_text(&study->arena, text.data, text.length);
    psim_text_release(&text);
    return result;
}

static bool fill_header(struct psim_study *study)
{
    const struct psim_scenario *s = study->scenario;
    const struct psim_workload *workload = &study->models[0].workload;
    const char **placement =
        psim_arena_alloc(&study->arena, (size_t)workload->stage_count, sizeof *placement);

    if (placement == NULL)
        return false;
    for (int j = 0; j < workload->stage_count; j++)
        placement[j] = psim_platform_device_name(&s->platform, workload->stages[j].device);
    study->comparison = (struct psim_comparison){
        .version = PSIM_VERSION,
        .simgrid_version = psim_engine_simgrid_version(),
        .inputs_sha256 = s->inputs_sha256,
        .engine = study->engine->name,
        .seed = s->seed,
        .scenario_file = s->file,
        .model = s->model->name,
        .platform = s->platform.name,
        .precision = psim_precision_names[s->workload.precision],
        .optimizer = psim_optimizer_names[s->workload.optimizer],
        .partition = partition_text(study),
        .accounting = psim_accounting_names[s->accounting],
        .memory_check = s->memory_fail ? "fail" : "note",
        .microbatch = s->workload.microbatch,
        .accumulation = s->accumulation,
        .replicas = s->data_parallel.replicas,
        .devices_per_stage = s->data_parallel.devices_per_stage,
        .collective = s->data_parallel.replicas > 1 ? name_collectives(study) : NULL,
        .epoch_samples = s->epoch_samples,
        .tokens_per_sample = s->tokens_per_sample,
        .placement = placement,
        .placement_count = workload->stage_count,
        .devices = s->platform.device_count,
        .baseline = s->baseline,
    };
    return study->comparison.partition != NULL &&
           (s->data_parallel.replicas == 1 || study->comparison.collective != NULL);
}

/* simgrid runs in children, several at a time; replay needs none and is faster here. */
static enum psim_status simulate(struct psim_study *study, int workers, struct psim_error *err)
{
    const int count = study->scenario->method_count;

    if (study->engine->needs_child)
        return psim_engine_run_all(study->engine, study->jobs, count, workers, err);
    for (int i = 0; i < count; i++) {
        struct psim_job *job = &study->jobs[i];

        job->status =
            psim_engine_run(study->engine, job->program, NULL, &job->simulation, &job->error);
    }
    return PSIM_OK;
}

enum psim_status psim_study_collect(struct psim_study *study, struct psim_error *err)
{
    const int count = study->scenario->method_count;
    struct psim_comparison *c = &study->comparison;
    enum psim_status status;

    if (!fill_header(study))
        return no_memory(err);
    c->results = psim_arena_alloc(&study->arena, (size_t)count, sizeof *c->results);
    if (c->results == NULL)
        return no_memory(err);
    for (int i = 0; i < count; i++) {
        if (study->jobs[i].status != PSIM_OK) {
            study->failed++;
            continue;
        }
        status = psim_study_row(study, i, &c->results[c->result_count++], err);
        if (status == PSIM_OK)
            status = psim_study_worth(study, i, &c->results[c->result_count - 1], err);
        if (status != PSIM_OK)
            return status;
    }
    fill_speedups(c);
    return fill_assumptions(study) && fill_notes(study) ? PSIM_OK : no_memory(err);
}

enum psim_status psim_study_run(struct psim_study *study, int workers, struct psim_error *err)
{
    const enum psim_status status = simulate(study, workers, err);

    return status == PSIM_OK ? psim_study_collect(study, err) : status;
}

bool psim_study_fits(const struct psim_study *study)
{
    for (int i = 0; i < study->comparison.result_count; i++) {
        if (!study->comparison.results[i].fits)
            return false;
    }
    return true;
}

void psim_study_release(struct psim_study *study)
{
    const int methods = study->scenario == NULL ? 0 : study->scenario->method_count;

    for (int i = 0; i < methods; i++) {
        if (study->jobs != NULL)
            psim_simulation_release(&study->jobs[i].simulation);
        if (study->programs != NULL)
            psim_program_release(&study->programs[i]);
    }
    for (int i = 0; i < study->model_count; i++)
        psim_workload_release(&study->models[i].workload);
    psim_free(study->models);
    psim_free(study->programs);
    psim_free(study->jobs);
    psim_arena_release(&study->arena);
    *study = (struct psim_study){0};
}

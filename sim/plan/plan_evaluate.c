/* Plans as scenarios, and their figures by either engine. */
#include "sim/base/memory.h"
#include "sim/plan/plan.h"
#include "sim/plan/steady.h"

#include <math.h>
#include <string.h>

/* Where no period shows soon, a mean over 8 times the first stretch is taken for the steady state.
 */
#define LOOKS 3

static enum psim_status no_memory(struct psim_error *err)
{
    return psim_fail(err, PSIM_ERR_NOMEM, "plan", "out of memory");
}

struct psim_scenario psim_plan_scenario(const struct psim_plan *plan,
                                        const struct psim_plan_point *point, int *placement,
                                        struct psim_scenario_method *method)
{
    const struct psim_goal *goal = plan->goal;
    const struct psim_goal_platform *platform = &goal->platforms[point->platform];
    const int *devices = plan->platforms[point->platform].arrangements[point->arrangement].devices;
    const int step = point->replicas_first ? point->replicas : 1;
    struct psim_scenario scenario = goal->base;

    *method = goal->base.methods[point->method];
    method->model = goal->models[point->model].model;
    psim_method_set_accumulation(method->method, point->accumulation, &method->shape);
    for (int j = 0; j < point->stages; j++)
        placement[j] = devices == NULL ? j * step : devices[j];
    scenario.model = method->model;
    scenario.platform = platform->platform;
    scenario.platform_file = platform->file;
    if (devices == NULL)
        scenario.platform.device_count = point->stages * point->replicas;
    scenario.methods = method;
    scenario.method_count = 1;
    scenario.baseline = method->label;
    scenario.accumulation = point->accumulation;
    scenario.workload.microbatch = point->microbatch;
    scenario.workload.partition = PSIM_PARTITION_BALANCED;
    scenario.workload.placement = placement;
    scenario.workload.placement_count = point->stages;
    scenario.data_parallel.replicas = point->replicas;
    scenario.data_parallel.stages_first = !point->replicas_first;
    if (point->replicas > 1)
        scenario.protocol = platform->protocol;
    return scenario;
}

/* A plan that is being run: its scenario and what it is made of. */
struct run {
    struct psim_scenario_method method;
    struct psim_scenario scenario;
    struct psim_study study;
    int *placement;
    bool built;
};

static void release_run(struct run *run)
{
    if (run->built)
        psim_study_release(&run->study);
    psim_free(run->placement);
}

/* A plan that turns out not to be one is no failure: the error is the plan's. */
static enum psim_status build_run(const struct psim_plan *plan, const struct psim_plan_point *point,
                                  const struct psim_engine *engine, struct run *run,
                                  struct psim_diagnostics *list, struct psim_error *err)
{
    enum psim_status status;

    *run = (struct run){.built = false};
    run->placement = psim_alloc((size_t)point->stages, sizeof *run->placement);
    if (run->placement == NULL)
        return no_memory(err);
    run->scenario = psim_plan_scenario(plan, point, run->placement, &run->method);
    status = psim_study_build(&run->scenario, engine, &run->study, list);
    run->built = status == PSIM_OK;
    if (run->built) {
        psim_fit_prepare(&run->study.programs[0], &plan->reserve);
        run->study.programs[0].looks = LOOKS;
    }
    return status == PSIM_ERR_NOMEM ? no_memory(err) : PSIM_OK;
}

/* Bytes of the busiest boundary, both ways, a second. */
static double busiest_boundary(const struct psim_program *program,
                               const struct psim_simulation *simulation)
{
    double most = 0;

    for (int j = 0; j + 1 < program->shape.stages; j++) {
        const double bytes = (double)(program->hops[j].bytes[0] + program->hops[j].bytes[1]);

        most = fmax(most, bytes / simulation->time_per_microbatch_s);
    }
    return most;
}

static struct psim_plan_figures
figures_of(const struct psim_plan *plan, const struct psim_plan_point *point, const struct run *run)
{
    const struct psim_program *program = &run->study.programs[0];
    const struct psim_result *row = &run->study.comparison.results[0];
    struct psim_plan_figures out = point->bound;

    out.seconds_per_sample = 1 / row->samples_per_s;
    out.usd_per_sample = row->worth.cost_per_sample_usd;
    out.joule_per_sample = row->worth.energy_per_sample_j;
    out.power_w = out.joule_per_sample / out.seconds_per_sample;
    out.bandwidth_bytes_per_s = busiest_boundary(program, &row->simulation);
    out.memory_bytes = out.fill = out.staleness = 0;
    for (int j = 0; j < row->simulation.stage_count; j++) {
        const struct psim_stage_result *stage = &row->simulation.stages[j];
        struct psim_fit_stage fit;
        double needed;

        psim_fit_stage_judge(program, j, stage, &plan->reserve, &fit);
        needed = (double)fit.views[fit.worst].device_bytes;
        out.memory_bytes = fmax(out.memory_bytes, needed);
        out.fill = fmax(out.fill, needed / (double)fit.capacity_bytes);
        out.staleness = fmax(out.staleness, (double)stage->staleness_microbatches);
    }
    return out;
}

static const char *keep_text(struct psim_plan *plan, const char *text)
{
    return psim_arena_text(&plan->arena, text, strlen(text));
}

/* What a run came to, into the evaluation of its plan. */
static enum psim_status settle(struct psim_plan *plan, const struct psim_plan_point *point,
                               struct run *run, bool confirmed, struct psim_diagnostics *list,
                               struct psim_error *err)
{
    struct psim_plan_evaluation *evaluation = &plan->evaluations[point->evaluation];
    struct psim_plan_figures *figures = confirmed ? &evaluation->confirmed : &evaluation->replayed;
    enum psim_status status = PSIM_OK;

    if (run->built && run->study.jobs[0].status == PSIM_OK)
        status = psim_study_collect(&run->study, err);
    if (status != PSIM_OK)
        return status;
    if (!run->built || run->study.jobs[0].status != PSIM_OK) {
        const char *why = run->built        ? run->study.jobs[0].error.message
                          : list->count > 0 ? list->items[0].message
                                            : "it cannot be built";

        for (size_t i = 0; i < sizeof *figures / sizeof(double); i++)
            ((double *)figures)[i] = NAN;
        evaluation->error = keep_text(plan, why);
        return evaluation->error == NULL ? no_memory(err) : PSIM_OK;
    }
    *figures = figures_of(plan, point, run);
    evaluation->is_confirmed = confirmed;
    if (!confirmed)
        return PSIM_OK;
    evaluation->bottleneck = keep_text(plan, run->study.comparison.results[0].bottleneck);
    evaluation->price_date = keep_text(plan, run->study.comparison.results[0].worth.price_date);
    return evaluation->bottleneck == NULL || evaluation->price_date == NULL ? no_memory(err)
                                                                            : PSIM_OK;
}

static enum psim_status add_evaluation(struct psim_plan *plan, struct psim_plan_point *point,
                                       struct psim_error *err)
{
    if (plan->evaluation_count == plan->evaluation_capacity) {
        const int64_t capacity =
            plan->evaluation_capacity == 0 ? 64 : 2 * plan->evaluation_capacity;
        struct psim_plan_evaluation *list =
            psim_realloc(plan->evaluations, (size_t)capacity, sizeof *list);

        if (list == NULL)
            return no_memory(err);
        plan->evaluations = list;
        plan->evaluation_capacity = capacity;
    }
    plan->evaluations[plan->evaluation_count] =
        (struct psim_plan_evaluation){.bottleneck = "", .price_date = ""};
    point->evaluation = (int)plan->evaluation_count++;
    return PSIM_OK;
}

enum psim_status psim_plan_replay(struct psim_plan *plan, int64_t at, struct psim_error *err)
{
    struct psim_plan_point *point = &plan->points[at];
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct run run;
    enum psim_status status;

    if (point->evaluation >= 0)
        return PSIM_OK;
    status = add_evaluation(plan, point, err);
    if (status != PSIM_OK)
        return status;
    status = build_run(plan, point, &psim_engine_steady, &run, &list, err);
    if (status == PSIM_OK && run.built) {
        struct psim_job *job = &run.study.jobs[0];

        job->status = psim_engine_steady.run(job->program, NULL, &job->simulation, &job->error);
    }
    if (status == PSIM_OK)
        status = settle(plan, point, &run, false, &list, err);
    plan->counts.replayed++;
    release_run(&run);
    psim_diagnostics_release(&list);
    return status;
}

enum psim_status psim_plan_confirm(struct psim_plan *plan, const int64_t *points, int count,
                                   int workers, struct psim_error *err)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct run *runs = psim_alloc((size_t)count, sizeof *runs);
    struct psim_job *jobs = psim_alloc((size_t)count, sizeof *jobs);
    int job_count = 0, built = 0;
    enum psim_status status = runs == NULL || jobs == NULL ? no_memory(err) : PSIM_OK;

    for (; built < count && status == PSIM_OK; built++) {
        status = build_run(plan, &plan->points[points[built]], &psim_engine_simgrid, &runs[built],
                           &list, err);
        if (runs[built].built)
            jobs[job_count++] = runs[built].study.jobs[0];
    }
    if (status == PSIM_OK && job_count > 0)
        status = psim_engine_run_all(&psim_engine_simgrid, jobs, job_count, workers, err);
    for (int i = 0, at = 0; i < built && status == PSIM_OK; i++) {
        if (runs[i].built)
            runs[i].study.jobs[0] = jobs[at++];
        status = settle(plan, &plan->points[points[i]], &runs[i], true, &list, err);
        plan->counts.confirmed++;
    }
    for (int i = 0; i < built; i++)
        release_run(&runs[i]);
    psim_free(runs);
    psim_free(jobs);
    psim_diagnostics_release(&list);
    return status;
}

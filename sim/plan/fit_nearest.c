/*
 * What near a row that does not fit does: a smaller micro-batch, more devices, another method.
 *
 * Every variant that is named was simulated whole and judged like the row itself.
 */
#include "sim/base/memory.h"
#include "sim/base/text.h"
#include "sim/plan/fit.h"

#include <inttypes.h>
#include <math.h>

/* Simulates one method of a changed scenario.  False when it does not fit or cannot be. */
static bool variant_fits(const struct psim_fit *fit, const struct psim_scenario *scenario,
                         const struct psim_engine *engine, double *time_s)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_study study = {0};
    bool fits = false;

    if (psim_study_build(scenario, engine, &study, &list) == PSIM_OK) {
        psim_fit_prepare(&study.programs[0], &fit->reserve);
        fits = psim_study_run(&study, 1, &err) == PSIM_OK && study.failed == 0;
    }
    for (int j = 0; fits && j < study.comparison.results[0].simulation.stage_count; j++) {
        struct psim_fit_stage stage;

        psim_fit_stage_judge(&study.programs[0], j,
                             &study.comparison.results[0].simulation.stages[j], &fit->reserve,
                             &stage);
        fits = psim_fit_room(&stage) >= 0;
    }
    if (fits && time_s != NULL)
        *time_s = study.comparison.results[0].simulation.time_per_microbatch_s;
    psim_study_release(&study);
    psim_diagnostics_release(&list);
    return fits;
}

/* The scenario with one of its methods alone. */
static struct psim_scenario only(const struct psim_fit *fit, struct psim_scenario_method *method)
{
    struct psim_scenario scenario = *fit->scenario;

    scenario.methods = method;
    scenario.method_count = 1;
    scenario.baseline = method->label;
    return scenario;
}

/* The largest smaller micro-batch that bisection finds to fit; 0: not even one sample. */
static int64_t smaller_microbatch(const struct psim_fit *fit, struct psim_scenario_method method,
                                  const struct psim_engine *engine)
{
    struct psim_scenario scenario = only(fit, &method);
    int64_t low = 0, high = scenario.workload.microbatch;

    if (method.model->network == NULL)
        return 0; /* bytes of given stages are those of the micro-batch they were given for */
    while (high - low > 1) {
        const int64_t middle = low == 0 && high > 2 ? high / 2 : low + (high - low) / 2;

        scenario.workload.microbatch = middle;
        if (variant_fits(fit, &scenario, engine, NULL))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The least number of devices above the present one that fits, cut anew; 0: none of the platform's.
 * A cut of one block a stage has no more stages to give. */
static int more_devices(const struct psim_fit *fit, struct psim_scenario_method method, int stages,
                        const struct psim_engine *engine)
{
    struct psim_scenario scenario = only(fit, &method);
    const struct psim_workload_model *model = method.model;
    const int blocks = model->network != NULL ? model->network->block_count : model->given_count;
    const int devices = scenario.platform.device_count;

    if (scenario.data_parallel.replicas > 1 || scenario.data_parallel.devices_per_stage > 1)
        return 0;
    scenario.workload.partition = PSIM_PARTITION_BALANCED;
    scenario.workload.placement = NULL;
    for (int n = stages + 1; n <= devices && n <= blocks; n++) {
        scenario.platform.device_count = n;
        if (variant_fits(fit, &scenario, engine, NULL))
            return n;
    }
    return 0;
}

/* The fastest other method, with its default options, that fits. */
static const char *other_method(const struct psim_fit *fit, struct psim_scenario_method method,
                                const struct psim_engine *engine)
{
    struct psim_scenario scenario = only(fit, &method);
    const struct psim_method *present = method.method;
    const int64_t accumulation = fit->scenario->accumulation;
    const char *best = NULL;
    double best_s = INFINITY;

    for (int i = 0; psim_method_table[i] != NULL; i++) {
        double time_s;

        if (psim_method_table[i] == present)
            continue;
        method.method = psim_method_table[i];
        method.label = method.method->name;
        psim_method_defaults(method.method, accumulation, &method.shape);
        scenario.baseline = method.label;
        if (variant_fits(fit, &scenario, engine, &time_s) && time_s < best_s) {
            best = method.method->name;
            best_s = time_s;
        }
    }
    return best;
}

const char *psim_fit_nearest(struct psim_fit *fit, int method, const struct psim_engine *engine)
{
    const struct psim_scenario_method *entry = &fit->scenario->methods[method];
    const int stages = fit->study.programs[method].shape.stages;
    const int64_t microbatch = smaller_microbatch(fit, *entry, engine);
    const int devices = more_devices(fit, *entry, stages, engine);
    const char *other = other_method(fit, *entry, engine), *result;
    struct psim_text text = PSIM_TEXT_INIT;

    if (microbatch > 0)
        psim_text_printf(&text, "micro-batch %" PRId64 " -> %" PRId64,
                         fit->scenario->workload.microbatch, microbatch);
    if (devices > 0)
        psim_text_printf(&text, "%s%d -> %d GPUs", text.length > 0 ? ", or " : "", stages, devices);
    if (other != NULL)
        psim_text_printf(&text, "%s%s instead of %s", text.length > 0 ? ", or " : "", other,
                         entry->label);
    result = text.failed ? NULL
             : text.length > 0
                 ? psim_arena_printf(&fit->arena, "nearest that fits: %s", text.data)
                 : psim_arena_printf(&fit->arena,
                                     "nothing near fits: no smaller micro-batch, no more of the "
                                     "platform's %d devices, no other method",
                                     fit->scenario->platform.device_count);
    psim_text_release(&text);
    return result;
}

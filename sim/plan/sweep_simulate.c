/* What a worker makes of a scenario: the comparison that the user would get of it alone. */
#include "sim/plan/study.h"
#include "sim/plan/sweep.h"

#include <string.h>

enum psim_status psim_sweep_simulate(const void *engine, const struct psim_scenario *scenario,
                                     struct psim_sweep_record *record,
                                     struct psim_diagnostics *list, struct psim_error *err)
{
    const char *name = engine != NULL ? engine : psim_engine_names[scenario->engine];
    struct psim_study study = {.scenario = NULL};
    const struct psim_result *row;
    enum psim_status status = psim_study_build(scenario, psim_engine_find(name), &study, list);

    if (status != PSIM_OK)
        return list->errors > 0 ? status : psim_fail(err, status, "sweep", "out of memory");
    status = psim_study_run(&study, 1, err);
    row = study.comparison.results;
    for (int i = 0; status == PSIM_OK && i < scenario->method_count; i++) {
        const struct psim_scenario_method *method = &scenario->methods[i];

        if (study.jobs[i].status == PSIM_OK)
            psim_sweep_record_row(record, row++);
        else
            psim_sweep_record_failure(record, method->method->name, method->label,
                                      study.jobs[i].error.message);
    }
    psim_study_release(&study);
    return status;
}

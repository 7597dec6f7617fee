/* `plan`: the best plan of a goal. */
#include "sim/cli/cli.h"
#include "sim/cli/plan_files.h"

static enum psim_exit answer(const struct psim_cli_values *values, struct psim_plan *plan)
{
    struct psim_sheet_report report;
    struct psim_error err = PSIM_ERROR_INIT;
    const enum psim_status status = psim_plan_report(plan, &report, &err);
    enum psim_exit code = psim_cli_write_report(values, status, &report, &err);

    if (code == PSIM_EXIT_OK && values->scenario_out != NULL)
        code = psim_plan_files_scenarios(plan, values->scenario_out);
    if (code == PSIM_EXIT_OK && values->plot != NULL)
        code = psim_plan_files_picture(plan, values->plot);
    if (code == PSIM_EXIT_OK && values->check &&
        (plan->best_count == 0 || !psim_plan_is_feasible(plan, plan->best[0])))
        return PSIM_EXIT_EXPECTATION;
    return code;
}

enum psim_exit psim_command_plan(const struct psim_cli_values *values, char *const operands[],
                                 int count)
{
    const struct psim_catalogue catalogue = psim_cli_catalogue(values);
    const struct psim_plan_options options = {
        .workers = (int)values->workers, .exhaustive = values->exhaustive, .confirm = true};
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_goal goal = {.base = {.arena = PSIM_ARENA_INIT}};
    struct psim_plan plan = {.arena = PSIM_ARENA_INIT};
    enum psim_status status = psim_goal_read(operands[0], &catalogue, &goal, &list);
    enum psim_exit code = psim_cli_exit(status, true);

    (void)count;
    psim_cli_diagnose(values, &list);
    if (status == PSIM_OK) {
        status = psim_plan_run(&goal, &options, &plan, &err);
        code = psim_cli_exit(status, false);
        if (status != PSIM_OK)
            psim_cli_complain(&err);
    }
    if (status == PSIM_OK)
        code = answer(values, &plan);
    psim_plan_release(&plan);
    psim_goal_release(&goal);
    psim_diagnostics_release(&list);
    return code;
}

/* `fit`: the verdict on a scenario's memory. */
#include "sim/cli/cli.h"
#include "sim/plan/fit.h"

static enum psim_exit answer(const struct psim_cli_values *values, struct psim_fit *fit)
{
    struct psim_sheet_report report;
    struct psim_error err = PSIM_ERROR_INIT;
    const enum psim_status status = psim_fit_report(fit, &report, &err);
    enum psim_exit code = psim_cli_write_report(values, status, &report, &err);

    if (code == PSIM_EXIT_OK && fit->study.failed > 0)
        return PSIM_EXIT_FAILED;
    if (code == PSIM_EXIT_OK && values->check && !fit->fits)
        return PSIM_EXIT_EXPECTATION;
    return code;
}

enum psim_exit psim_command_fit(const struct psim_cli_values *values, char *const operands[],
                                int count)
{
    const struct psim_catalogue catalogue = psim_cli_catalogue(values);
    struct psim_fit_reserve reserve = psim_fit_reserve_default;
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_scenario scenario = {0};
    struct psim_fit fit = {.arena = PSIM_ARENA_INIT};
    enum psim_exit code;
    enum psim_status status;

    (void)count;
    if (values->reserve != NULL &&
        psim_fit_reserve_parse(values->reserve, &reserve, &err) != PSIM_OK) {
        fprintf(stderr, "petrasim: --reserve: %s: %s\n", err.where, err.message);
        return PSIM_EXIT_USAGE;
    }
    status = psim_scenario_read(operands[0], &catalogue, &scenario, &list);
    if (status == PSIM_OK) {
        const struct psim_engine *engine = psim_engine_find(
            values->engine != NULL ? values->engine : psim_engine_names[scenario.engine]);

        scenario.accounting = PSIM_ACCOUNTING_FULL; /* the published formula judges no device */
        status = psim_fit_run(&scenario, engine, &reserve, (int)values->workers, &fit, &list, &err);
    }
    if (!psim_cli_diagnose(values, &list) || status == PSIM_OK) {
        code = psim_cli_exit(status, true);
    } else {
        psim_cli_complain(&err);
        code = psim_cli_exit(status, false);
    }
    if (status == PSIM_OK)
        code = answer(values, &fit);
    psim_fit_release(&fit);
    psim_scenario_release(&scenario);
    psim_diagnostics_release(&list);
    return code;
}

/* `run` and `compare`: the same simulations, two views. */
#include "sim/cli/cli.h"
#include "sim/cli/recording.h"
#include "sim/plan/study.h"

#include <string.h>
#include <sys/stat.h>

static enum psim_exit report(const struct psim_cli_values *values, const struct psim_study *study,
                             enum psim_view view)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_text text = PSIM_TEXT_INIT;
    enum psim_exit code;

    if (psim_report_render(&study->comparison, (enum psim_format)values->format, view, &text,
                           &err) != PSIM_OK) {
        psim_cli_complain(&err);
        code = psim_cli_exit(err.status, false);
    } else {
        code = psim_cli_write(values->out, &text);
    }
    psim_text_release(&text);
    return code;
}

static enum psim_exit simulate(const struct psim_cli_values *values, struct psim_study *study,
                               enum psim_view view)
{
    struct psim_error err = PSIM_ERROR_INIT;
    enum psim_exit code;

    if (psim_study_run(study, (int)values->workers, &err) != PSIM_OK) {
        psim_cli_complain(&err);
        return psim_cli_exit(err.status, false);
    }
    for (int i = 0; i < study->scenario->method_count; i++) {
        const struct psim_job *job = &study->jobs[i];

        if (job->status != PSIM_OK)
            fprintf(stderr, "petrasim: %s: %s\n", study->scenario->methods[i].label,
                    job->error.message);
    }
    if (study->comparison.result_count == 0)
        return PSIM_EXIT_FAILED;
    code = report(values, study, view);
    if (code == PSIM_EXIT_OK)
        code = psim_recording_write(values, study);
    if (code != PSIM_EXIT_OK)
        return code;
    if (study->failed > 0)
        return PSIM_EXIT_FAILED;
    if ((values->check || study->scenario->memory_fail) && !psim_study_fits(study))
        return PSIM_EXIT_EXPECTATION;
    return PSIM_EXIT_OK;
}

/* Device and file number of what a path leads to; false where there is nothing yet. */
static bool identify(const char *path, struct stat *out)
{
    return path != NULL && stat(path, out) == 0 && S_ISREG(out->st_mode);
}

static bool same_file(const char *a, const char *b)
{
    struct stat x, y;

    if (a == NULL || b == NULL)
        return false;
    if (identify(a, &x) && identify(b, &y))
        return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    return strcmp(a, b) == 0 && !psim_cli_is_stdout(a);
}

/* An output may be neither an input nor another output. */
static bool outputs_are_apart(const struct psim_cli_values *values, const char *scenario,
                              const char *platform)
{
    const char *const outputs[] = {values->out, values->timeline, values->trace};

    for (size_t i = 0; i < 3; i++) {
        const char *other = NULL;

        if (same_file(outputs[i], scenario))
            other = scenario;
        else if (same_file(outputs[i], platform))
            other = platform;
        for (size_t k = 0; k < i; k++) {
            if (same_file(outputs[i], outputs[k]))
                other = outputs[k];
        }
        if (other != NULL) {
            fprintf(stderr, "petrasim: %s would be overwritten: it is another file of this run\n",
                    other);
            return false;
        }
    }
    return true;
}

static enum psim_exit command(const struct psim_cli_values *values, const char *file,
                              enum psim_view view)
{
    const struct psim_catalogue catalogue = psim_cli_catalogue(values);
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_scenario scenario = {0};
    struct psim_study study = {0};
    const struct psim_engine *engine;
    enum psim_exit code;
    enum psim_status status;

    status = psim_scenario_read(file, &catalogue, &scenario, &list);
    if (!outputs_are_apart(values, file, status == PSIM_OK ? scenario.platform_file : NULL)) {
        code = PSIM_EXIT_USAGE;
        goto out;
    }
    if (status == PSIM_OK) {
        engine = psim_engine_find(values->engine != NULL ? values->engine
                                                         : psim_engine_names[scenario.engine]);
        status = psim_study_build(&scenario, engine, &study, &list);
    }
    psim_cli_diagnose(values, &list);
    code = psim_cli_exit(status, true);
    if (status == PSIM_OK)
        code = simulate(values, &study, view);
out:
    psim_study_release(&study);
    psim_scenario_release(&scenario);
    psim_diagnostics_release(&list);
    return code;
}

enum psim_exit psim_command_run(const struct psim_cli_values *values, char *const operands[],
                                int count)
{
    (void)count;
    return command(values, operands[0], PSIM_VIEW_RUN);
}

enum psim_exit psim_command_compare(const struct psim_cli_values *values, char *const operands[],
                                    int count)
{
    (void)count;
    return command(values, operands[0], PSIM_VIEW_COMPARE);
}

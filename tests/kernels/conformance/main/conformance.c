/*
 * conformance BACKEND: holds a backend's operations against ref's on this machine.
 *
 * Exit 0: every operation passed.  1: some case failed; with --complete also if the backend is not
 * there or lacks an operation.  2: bad command line.  77: not checked, or not in full, because the
 * backend or some operation is not there; what was run has passed.
 */
#include "tests/kernels/conformance/conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_SKIPPED 77

struct arguments {
    const char *backend, *only;
    struct pk_options options;
    bool json, complete;
};

static const char usage[] =
    "usage: conformance BACKEND [--math fp32|tf32|bf16] [--device N] [--operation NAME]\n"
    "                   [--json] [--complete]\n";

static bool known_operation(const char *name)
{
    for (int i = 0; i < CONF_OPERATIONS; i++)
        if (strcmp(conf_operation_names[i], name) == 0)
            return true;
    return false;
}

static bool read_number(const char *text, int *number)
{
    char *end;
    const long value = strtol(text, &end, 10);

    *number = (int)value;
    return end != text && *end == '\0' && value >= 0 && value < 4096;
}

static bool read_arguments(int count, char **words, struct arguments *out)
{
    for (int i = 1; i < count; i++) {
        const char *value = i + 1 < count ? words[i + 1] : "";

        if (strcmp(words[i], "--json") == 0)
            out->json = true;
        else if (strcmp(words[i], "--complete") == 0)
            out->complete = true;
        else if (strcmp(words[i], "--math") == 0 && pk_find_math(value, &out->options.math))
            i++;
        else if (strcmp(words[i], "--device") == 0 && read_number(value, &out->options.device))
            i++;
        else if (strcmp(words[i], "--operation") == 0 && known_operation(value))
            out->only = words[++i];
        else if (words[i][0] != '-' && out->backend == NULL)
            out->backend = words[i];
        else
            return false;
    }
    return out->backend != NULL;
}

static enum psim_status open_by_name(void *state, const struct pk_options *options,
                                     struct pk_context **context, struct psim_error *err)
{
    return pk_context_open(state, options, context, err);
}

/* JSON strings here hold no control characters: names, and messages of ours. */
static void print_text(const char *key, const char *text)
{
    printf("\"%s\": \"", key);
    for (; *text != '\0'; text++)
        printf(*text == '"' || *text == '\\' ? "\\%c" : "%c", *text);
    printf("\"");
}

static void print_json(const struct arguments *arguments, const struct conf_run *run)
{
    struct pk_description is;
    const char *separator = "";

    run->contexts[0]->backend->describe(run->contexts[0], &is);
    printf("{");
    print_text("backend", arguments->backend);
    printf(", ");
    print_text("math", pk_math_names[arguments->options.math]);
    printf(", ");
    print_text("device", is.device);
    printf(", ");
    print_text("driver", is.driver);
    printf(", ");
    print_text("libraries", is.libraries);
    printf(", ");
    print_text("convolution", is.convolution);
    printf(", \"operations\": [");
    for (int i = 0; i < CONF_OPERATIONS; i++) {
        const struct conf_result *r = &run->results[i];

        if (r->cases == 0 && !r->missing)
            continue;
        printf("%s\n  {", separator);
        print_text("name", conf_operation_names[i]);
        printf(", \"missing\": %s, \"cases\": %d, \"failures\": %d, \"worst_ratio\": %.3g, ",
               r->missing ? "true" : "false", r->cases, r->failures, r->worst_ratio);
        print_text("worst", r->worst);
        printf(", ");
        print_text("first_failure", r->first_failure);
        printf("}");
        separator = ",";
    }
    printf("\n]}\n");
}

static void print_table(const struct conf_run *run)
{
    printf("%-24s %6s %8s  %-11s %s\n", "operation", "cases", "failures", "error/bound", "worst");
    for (int i = 0; i < CONF_OPERATIONS; i++) {
        const struct conf_result *r = &run->results[i];

        if (r->missing)
            printf("%-24s MISSING\n", conf_operation_names[i]);
        else if (r->cases > 0)
            printf("%-24s %6d %8d  %-11.3g %s\n", conf_operation_names[i], r->cases, r->failures,
                   r->worst_ratio, r->worst);
        if (r->failures > 0)
            printf("    FAILED %s\n", r->first_failure);
    }
}

static int verdict(const struct arguments *arguments, const struct conf_run *run)
{
    int missing = 0, failures = 0, cases = 0;

    for (int i = 0; i < CONF_OPERATIONS; i++) {
        missing += run->results[i].missing;
        failures += run->results[i].failures;
        cases += run->results[i].cases;
    }
    fprintf(stderr, "conformance: %s: %d cases, %d failures, %d operations missing\n",
            arguments->backend, cases, failures, missing);
    if (failures > 0 || (arguments->complete && missing > 0))
        return 1;
    return missing > 0 || cases == 0 ? EXIT_SKIPPED : 0;
}

int main(int count, char **words)
{
    struct arguments arguments = {0};
    struct conf_run run = {0};
    struct psim_error err = PSIM_ERROR_INIT;
    enum psim_status status;
    int code;

    if (!read_arguments(count, words, &arguments)) {
        fputs(usage, stderr);
        return 2;
    }
    run.only = arguments.only;
    status = conf_start(&run, open_by_name, (void *)(uintptr_t)arguments.backend,
                        &arguments.options, &err);
    if (status != PSIM_OK) {
        const bool skipped = status == PSIM_ERR_UNSUPPORTED && !arguments.complete;

        fprintf(stderr, "conformance: %s: %s\n", skipped ? "SKIPPED" : "FAILED", err.message);
        conf_close(&run);
        return skipped ? EXIT_SKIPPED : status == PSIM_ERR_NOTFOUND ? 2 : 1;
    }
    conf_run_all(&run);
    if (arguments.json)
        print_json(&arguments, &run);
    else
        print_table(&run);
    code = verdict(&arguments, &run);
    conf_close(&run);
    return code;
}

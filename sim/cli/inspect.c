/* `check`, `list` and `show`: what the files and catalogues hold. */
#include "sim/base/memory.h"
#include "sim/cli/cli.h"
#include "sim/cli/listing.h"

#include <string.h>

enum psim_exit psim_command_check(const struct psim_cli_values *values, char *const operands[],
                                  int count)
{
    const struct psim_catalogue catalogue = psim_cli_catalogue(values);
    struct psim_text text = PSIM_TEXT_INIT;
    enum psim_exit code = PSIM_EXIT_OK, written;

    for (int i = 0; i < count; i++) {
        struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
        const char *kind = "";
        const enum psim_status status = psim_file_check(operands[i], &catalogue, &kind, &list);

        psim_cli_diagnose(values, &list);
        if (status == PSIM_OK)
            psim_text_printf(&text, "%s: %s, valid\n", operands[i], kind);
        else if (code == PSIM_EXIT_OK || status == PSIM_ERR_NOMEM)
            code = psim_cli_exit(status, true);
        psim_diagnostics_release(&list);
    }
    written = psim_cli_write(values->out, &text);
    psim_text_release(&text);
    return code == PSIM_EXIT_OK ? written : code;
}

struct topic {
    const char *name;
    enum psim_status (*write)(const struct psim_cli_values *values, const char *name,
                              struct psim_text *text, struct psim_diagnostics *list);
};

static const struct topic *find_topic(const struct topic *topics, size_t count, const char *name)
{
    const char *names[8] = {NULL}, *near;

    for (size_t i = 0; i < count; i++) {
        names[i] = topics[i].name;
        if (strcmp(names[i], name) == 0)
            return &topics[i];
    }
    near = psim_nearest_name(name, names, count);
    fprintf(stderr, "petrasim: '%s' is none of", name);
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, " %s", names[i]);
    if (near != NULL)
        fprintf(stderr, " (did you mean '%s'?)", near);
    fprintf(stderr, "\n");
    return NULL;
}

static enum psim_exit write_topic(const struct psim_cli_values *values, const struct topic *topic,
                                  const char *name)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_text text = PSIM_TEXT_INIT;
    enum psim_exit code;

    if (topic == NULL)
        return PSIM_EXIT_USAGE;
    code = psim_cli_exit(topic->write(values, name, &text, &list), true);
    psim_cli_diagnose(values, &list);
    if (code == PSIM_EXIT_OK)
        code = psim_cli_write(values->out, &text);
    psim_text_release(&text);
    psim_diagnostics_release(&list);
    return code;
}

enum psim_exit psim_command_list(const struct psim_cli_values *values, char *const operands[],
                                 int count)
{
    static const struct topic topics[] = {{"models", psim_list_models},
                                          {"devices", psim_list_devices},
                                          {"platforms", psim_list_platforms},
                                          {"methods", psim_list_methods}};

    (void)count;
    return write_topic(values, find_topic(topics, 4, operands[0]), NULL);
}

enum psim_exit psim_command_show(const struct psim_cli_values *values, char *const operands[],
                                 int count)
{
    static const struct topic topics[] = {{"device", psim_show_device},
                                          {"platform", psim_show_platform},
                                          {"model", psim_show_model},
                                          {"method", psim_show_method}};

    (void)count;
    return write_topic(values, find_topic(topics, 4, operands[0]), operands[1]);
}

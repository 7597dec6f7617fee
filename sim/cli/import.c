/* `import` and `export`: between our files and those of other tools. */
#include "sim/import/importer.h"

#include "sim/base/memory.h"
#include "sim/cli/cli.h"
#include "sim/import/simgrid_export.h"

#include <string.h>

#define KINDS       16
#define EXPORT_KIND "simgrid_xml"

/* NULL after saying which kinds there are. */
static const struct psim_importer *find_importer(const char *name)
{
    const struct psim_importer *importer = psim_importer_find(name);
    const char *names[KINDS], *near;
    size_t count = 0;

    if (importer != NULL)
        return importer;
    for (; psim_importer_table[count] != NULL; count++) {
        PSIM_ASSERT(count < KINDS);
        names[count] = psim_importer_table[count]->name;
    }
    near = psim_nearest_name(name, names, count);
    fprintf(stderr, "petrasim: cannot import '%s'", name);
    if (near != NULL)
        fprintf(stderr, " (did you mean '%s'?)", near);
    fprintf(stderr, "; there are:\n");
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "  %-18s%s\n", names[i], psim_importer_table[i]->summary);
    return NULL;
}

/* The catalogue's own name of --device, an alias of which nobody else need know; NULL where there
 * is none.  Its text is in the arena. */
static enum psim_exit find_device(const struct psim_cli_values *values,
                                  const struct psim_importer *importer, struct psim_arena *arena,
                                  struct psim_diagnostics *list, const char **name)
{
    const struct psim_catalogue catalogue = psim_cli_catalogue(values);
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_device device;
    const char *file;
    enum psim_status status;

    *name = NULL;
    if (importer->needs_device && values->device == NULL) {
        fprintf(stderr, "petrasim: the file does not say which device the GPUs are: name one with "
                        "--device; 'petrasim list devices' has them\n");
        return PSIM_EXIT_USAGE;
    }
    if (values->device == NULL)
        return PSIM_EXIT_OK;
    status = psim_catalogue_find_device(&catalogue, values->device, arena, &file, &err);
    if (status != PSIM_OK)
        psim_cli_complain(&err);
    else
        status = psim_device_read(file, arena, &device, list);
    if (status == PSIM_OK)
        *name = device.name;
    return psim_cli_exit(status, true);
}

enum psim_exit psim_command_import(const struct psim_cli_values *values, char *const operands[],
                                   int count)
{
    const struct psim_importer *importer = find_importer(operands[0]);
    struct psim_arena arena = PSIM_ARENA_INIT;
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_text text = PSIM_TEXT_INIT;
    const char *device;
    enum psim_exit code;

    (void)count;
    if (importer == NULL)
        return PSIM_EXIT_USAGE;
    code = find_device(values, importer, &arena, &list, &device);
    if (code == PSIM_EXIT_OK)
        code = psim_cli_exit(psim_import_file(importer, operands[1], device, &text, &list), true);
    psim_cli_diagnose(values, &list);
    if (code == PSIM_EXIT_OK)
        code = psim_cli_write(values->out, &text);
    psim_text_release(&text);
    psim_diagnostics_release(&list);
    psim_arena_release(&arena);
    return code;
}

enum psim_exit psim_command_export(const struct psim_cli_values *values, char *const operands[],
                                   int count)
{
    const struct psim_catalogue catalogue = psim_cli_catalogue(values);
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_text text = PSIM_TEXT_INIT;
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_platform platform;
    enum psim_status status;
    enum psim_exit code;

    (void)count;
    if (strcmp(operands[0], EXPORT_KIND) != 0) {
        fprintf(stderr, "petrasim: cannot export '%s'; there is " EXPORT_KIND "\n", operands[0]);
        return PSIM_EXIT_USAGE;
    }
    status = psim_platform_read(operands[1], &catalogue, &platform, &list);
    psim_cli_diagnose(values, &list);
    psim_diagnostics_release(&list);
    if (status != PSIM_OK)
        return psim_cli_exit(status, true);
    status = psim_export_simgrid(&platform, &text, &err);
    if (status != PSIM_OK)
        psim_cli_complain(&err);
    code = status == PSIM_OK ? psim_cli_write(values->out, &text) : psim_cli_exit(status, true);
    psim_text_release(&text);
    psim_platform_release(&platform);
    return code;
}

/* `list`: one line per entry of a catalogue. */
#include "sim/cli/listing.h"

#include "sim/base/memory.h"

#include <math.h>

void psim_listing_fault(struct psim_diagnostics *list, const struct psim_error *err)
{
    psim_diagnose(list, err->status, (struct psim_position){.file = err->where}, "", NULL, "%s",
                  err->message);
}

enum psim_status psim_list_models(const struct psim_cli_values *values, const char *name,
                                  struct psim_text *text, struct psim_diagnostics *list)
{
    (void)values, (void)name, (void)list;
    for (size_t i = 0; psim_network_catalogue[i].name != NULL; i++) {
        const struct psim_network_entry *entry = &psim_network_catalogue[i];

        psim_text_printf(text, "%-12s%-14s%s\n", entry->name,
                         entry->reversible ? "reversible" : "-", entry->summary);
    }
    return PSIM_OK;
}

enum psim_status psim_list_methods(const struct psim_cli_values *values, const char *name,
                                   struct psim_text *text, struct psim_diagnostics *list)
{
    (void)values, (void)name, (void)list;
    for (size_t i = 0; psim_method_table[i] != NULL; i++)
        psim_text_printf(text, "%-30s%s\n", psim_method_table[i]->name,
                         psim_method_table[i]->summary);
    return PSIM_OK;
}

static void append_peak(struct psim_text *text, double flop_per_s)
{
    if (isnan(flop_per_s))
        psim_text_printf(text, "%9s", "-");
    else
        psim_text_printf(text, "%9.4g", flop_per_s / 1e12);
}

static enum psim_status list_device(const struct psim_catalogue *catalogue, const char *name,
                                    struct psim_text *text, struct psim_diagnostics *list)
{
    struct psim_arena arena = PSIM_ARENA_INIT;
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_device device;
    const char *file;
    enum psim_status status = psim_catalogue_find_device(catalogue, name, &arena, &file, &err);

    if (status != PSIM_OK)
        psim_listing_fault(list, &err);
    else
        status = psim_device_read(file, &arena, &device, list);
    if (status == PSIM_OK) {
        psim_text_printf(text, "%-18s%10.1f%9.0f", device.name,
                         (double)device.memory_bytes / 1073741824.0,
                         device.memory_bandwidth_bytes_per_s / 1e9);
        for (int p = 0; p < PSIM_PRECISIONS; p++)
            append_peak(text, device.peak_flop_per_s[p]);
        psim_text_printf(text, "  ");
        for (int i = 0; i < device.alias_count; i++)
            psim_text_printf(text, "%s%s", i == 0 ? "" : ", ", device.aliases[i]);
        psim_text_printf(text, "\n");
    }
    psim_arena_release(&arena);
    return status;
}

static enum psim_status list_platform(const struct psim_catalogue *catalogue, const char *name,
                                      struct psim_text *text, struct psim_diagnostics *list)
{
    struct psim_platform platform = {0};
    struct psim_text path = PSIM_TEXT_INIT;
    enum psim_status status = PSIM_ERR_NOMEM;

    psim_text_printf(&path, "%s/clusters/%s.json", catalogue->root, name);
    if (!path.failed)
        status = psim_platform_read(path.data, catalogue, &platform, list);
    if (status == PSIM_OK) {
        psim_text_printf(text, "%-22s%5d devices:", name, platform.device_count);
        for (int t = 0; t < platform.type_count; t++)
            psim_text_printf(text, "%s %s", t == 0 ? "" : ",", platform.types[t].device.name);
        psim_text_printf(text, "\n");
    }
    psim_platform_release(&platform);
    psim_text_release(&path);
    return status;
}

typedef enum psim_status list_one(const struct psim_catalogue *catalogue, const char *name,
                                  struct psim_text *text, struct psim_diagnostics *list);

static enum psim_status list_folder(const struct psim_cli_values *values, const char *folder,
                                    list_one *list_entry, struct psim_text *text,
                                    struct psim_diagnostics *list)
{
    const struct psim_catalogue catalogue = psim_cli_catalogue(values);
    struct psim_arena arena = PSIM_ARENA_INIT;
    struct psim_error err = PSIM_ERROR_INIT;
    const char *const *names;
    int count;
    enum psim_status status = psim_catalogue_list(&catalogue, folder, &arena, &names, &count, &err);

    if (status != PSIM_OK)
        psim_listing_fault(list, &err);
    for (int i = 0; status == PSIM_OK && i < count; i++)
        status = list_entry(&catalogue, names[i], text, list);
    psim_arena_release(&arena);
    return status;
}

enum psim_status psim_list_devices(const struct psim_cli_values *values, const char *name,
                                   struct psim_text *text, struct psim_diagnostics *list)
{
    (void)name;
    psim_text_printf(text, "%-18s%10s%9s%9s%9s%9s%9s  %s\n", "device", "GiB", "GB/s", "fp32",
                     "tf32", "fp16", "bf16", "aliases (peaks in dense TFLOP/s)");
    return list_folder(values, "devices", list_device, text, list);
}

enum psim_status psim_list_platforms(const struct psim_cli_values *values, const char *name,
                                     struct psim_text *text, struct psim_diagnostics *list)
{
    (void)name;
    return list_folder(values, "clusters", list_platform, text, list);
}

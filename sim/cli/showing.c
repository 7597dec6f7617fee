/* `show`: one entry of a catalogue, with its figures and where they come from. */
#include "sim/base/memory.h"
#include "sim/cli/listing.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A catalogue lies anywhere; its files are known by name. */
static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

static bool is_file(const char *name)
{
    return strchr(name, '/') != NULL || access(name, F_OK) == 0;
}

/* One figure: value, tag and source; what has no source is assumed. */
static void figure(struct psim_text *text, const struct psim_device *device, const char *pointer,
                   const char *value)
{
    const struct psim_source *source = psim_device_source(device, pointer);

    psim_text_printf(text, "  %-30s%-26s%-11s%s\n", pointer, value,
                     psim_tag_names[source == NULL ? PSIM_TAG_ASSUMED : source->tag],
                     source == NULL ? "no source given" : source->source);
}

static void number(struct psim_text *text, const struct psim_device *device, const char *pointer,
                   double value, const char *unit)
{
    char shown[64];

    if (isnan(value)) {
        psim_text_printf(text, "  %-30s%-26s%-11s\n", pointer, "not known", "-");
        return;
    }
    snprintf(shown, sizeof shown, "%.6g%s%s", value, unit[0] == '\0' ? "" : " ", unit);
    figure(text, device, pointer, shown);
}

static void show_rates(struct psim_text *text, const struct psim_device *device)
{
    for (int kind = 0; kind < PSIM_WORK_KINDS; kind++) {
        for (int p = 0; p <= PSIM_PRECISIONS; p++) {
            const struct psim_rate *rate = &device->rates[kind][p];
            char pointer[64], value[64];

            if (!rate->given)
                continue;
            snprintf(pointer, sizeof pointer, "/cost/%s/%s", psim_work_kind_names[kind],
                     p == PSIM_ANY_PRECISION ? "any" : psim_precision_names[p]);
            snprintf(value, sizeof value, "%.3g / %.3g, %.3g us, p %.3g", rate->compute,
                     rate->memory, 1e6 * rate->launch_s, rate->norm);
            figure(text, device, pointer, value);
        }
    }
}

static void show_price(struct psim_text *text, const struct psim_price *price)
{
    char value[64];

    if (!price->given)
        return;
    snprintf(value, sizeof value, "%.6g USD/h", price->usd_per_hour);
    psim_text_printf(text, "  %-30s%-26s%-11s%s, %s\n", "/price", value,
                     psim_tag_names[PSIM_TAG_PUBLISHED], price->date, price->source);
}

static void show_device(struct psim_text *text, const struct psim_device *device, const char *file)
{
    psim_text_printf(text, "%s (%s)\n", device->name, file);
    number(text, device, "/memory", (double)device->memory_bytes / 1073741824.0, "GiB");
    number(text, device, "/memory_bandwidth", device->memory_bandwidth_bytes_per_s / 1e9, "GB/s");
    for (int p = 0; p < PSIM_PRECISIONS; p++) {
        char pointer[64];

        snprintf(pointer, sizeof pointer, "/peak/%s", psim_precision_names[p]);
        if (!isnan(device->peak_flop_per_s[p]))
            number(text, device, pointer, device->peak_flop_per_s[p] / 1e12, "TFLOP/s");
    }
    psim_text_printf(text,
                     "  shares of peak / of bandwidth, launch, norm (docs/model.md eq. 1):\n");
    show_rates(text, device);
    number(text, device, "/concurrency_gain", device->concurrency_gain, "");
    number(text, device, "/reserve/context", (double)device->reserve_context_bytes / 1048576.0,
           "MiB");
    number(text, device, "/reserve/workspace", (double)device->reserve_workspace_bytes / 1048576.0,
           "MiB");
    number(text, device, "/reserve/fragmentation", device->reserve_fragmentation, "");
    number(text, device, "/power/idle", device->idle_w, "W");
    number(text, device, "/power/busy", device->busy_w, "W");
    show_price(text, &device->price);
}

enum psim_status psim_show_device(const struct psim_cli_values *values, const char *name,
                                  struct psim_text *text, struct psim_diagnostics *list)
{
    const struct psim_catalogue catalogue = psim_cli_catalogue(values);
    struct psim_arena arena = PSIM_ARENA_INIT;
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_device device;
    const char *file = name;
    enum psim_status status = PSIM_OK;

    if (!is_file(name))
        status = psim_catalogue_find_device(&catalogue, name, &arena, &file, &err);
    if (status != PSIM_OK)
        psim_listing_fault(list, &err);
    else
        status = psim_device_read(file, &arena, &device, list);
    if (status == PSIM_OK)
        show_device(text, &device, base_name(file));
    psim_arena_release(&arena);
    return status;
}

static const char *connection_rate(const struct psim_link *link, char text[32])
{
    if (isinf(link->bandwidth_bytes_per_s))
        snprintf(text, 32, "no limit");
    else
        snprintf(text, 32, "%.4g GB/s", link->bandwidth_bytes_per_s / 1e9);
    return text;
}

/* Appends the file of a cluster of the catalogue. */
static enum psim_status find_platform(const struct psim_catalogue *catalogue, const char *name,
                                      struct psim_text *path, struct psim_diagnostics *list)
{
    struct psim_arena arena = PSIM_ARENA_INIT;
    struct psim_error err = PSIM_ERROR_INIT;
    const char *const *names;
    bool found = false;
    int count;
    enum psim_status status =
        psim_catalogue_list(catalogue, "clusters", &arena, &names, &count, &err);

    if (status != PSIM_OK)
        psim_listing_fault(list, &err);
    for (int i = 0; status == PSIM_OK && i < count; i++)
        found = found || strcmp(names[i], name) == 0;
    if (status == PSIM_OK && !found) {
        status = PSIM_ERR_NOTFOUND;
        psim_diagnose(list, status, (struct psim_position){.file = "platform"}, "",
                      psim_nearest_name(name, names, (size_t)count),
                      "the catalogue has no platform \"%s\"", name);
    }
    psim_arena_release(&arena);
    psim_text_printf(path, "%s/clusters/%s.json", catalogue->root, name);
    return status;
}

enum psim_status psim_find_platform_file(const struct psim_catalogue *catalogue, const char *name,
                                         struct psim_text *path, struct psim_diagnostics *list)
{
    enum psim_status status = PSIM_OK;

    if (is_file(name))
        psim_text_printf(path, "%s", name);
    else
        status = find_platform(catalogue, name, path, list);
    return path->failed ? PSIM_ERR_NOMEM : status;
}

/* Lines of what a link, switch or NIC draws, where its file says so. */
static void show_power(struct psim_text *text, const char *name, const struct psim_power *power)
{
    const double figures[] = {power->static_w, power->joule_per_byte * 1e12 / 8};
    static const char *const units[] = {"W", "pJ/b"};

    for (int i = 0; power->given && i < 2; i++) {
        char value[48];

        if (isnan(figures[i]))
            continue;
        snprintf(value, sizeof value, "%.6g %s", figures[i], units[i]);
        psim_text_printf(
            text, "  power   %-24s%-22s%-11s%s\n", name, value,
            psim_tag_names[power->source == NULL ? PSIM_TAG_ASSUMED : PSIM_TAG_PUBLISHED],
            power->source == NULL ? "no source given" : power->source);
    }
}

static void show_platform(struct psim_text *text, const struct psim_platform *platform,
                          const char *file)
{
    psim_text_printf(text, "%s (%s): %d devices, %d links\n", platform->name, file,
                     platform->device_count, platform->link_count);
    for (int i = 0; i < platform->device_count; i++)
        psim_text_printf(text, "  device  %-24s%s\n", psim_platform_device_name(platform, i),
                         psim_platform_device(platform, i)->name);
    for (int i = 0; i < platform->link_count; i++) {
        const struct psim_link *link = &platform->links[i];
        char rate[32];

        psim_text_printf(text, "  link    %-24s%-22s%-22s%12s%10.6g us  %s\n", link->name,
                         platform->vertices[link->from].name, platform->vertices[link->to].name,
                         connection_rate(link, rate), 1e6 * link->latency_s,
                         link->sharing == PSIM_DUPLEX ? "duplex" : "shared");
    }
    for (int v = 0; v < platform->vertex_count; v++)
        show_power(text, platform->vertices[v].name, &platform->vertices[v].power);
    for (int i = 0; i < platform->link_count; i++)
        show_power(text, platform->links[i].name, &platform->links[i].power);
}

enum psim_status psim_show_platform(const struct psim_cli_values *values, const char *name,
                                    struct psim_text *text, struct psim_diagnostics *list)
{
    const struct psim_catalogue catalogue = psim_cli_catalogue(values);
    struct psim_platform platform = {0};
    struct psim_text path = PSIM_TEXT_INIT;
    enum psim_status status = psim_find_platform_file(&catalogue, name, &path, list);

    if (status == PSIM_OK)
        status = psim_platform_read(path.data, &catalogue, &platform, list);
    if (status == PSIM_OK && values->expanded)
        psim_expand_platform(text, &platform);
    else if (status == PSIM_OK)
        show_platform(text, &platform, path.data);
    psim_platform_release(&platform);
    psim_text_release(&path);
    return status;
}

static void show_network(struct psim_text *text, const struct psim_network *network)
{
    psim_text_printf(text,
                     "%s: input %dx%dx%d, %d classes, %" PRId64 " parameters, %.4g GMAC forward, "
                     "%d blocks\nper sample:\n%5s %-22s%-12s%13s%12s%14s%14s%14s\n",
                     network->name, network->input[0], network->input[1], network->input[2],
                     network->classes, network->parameters, (double)network->macs / 1e9,
                     network->block_count, "block", "name", "", "parameters", "MMAC", "input elem.",
                     "output elem.", "kept elem.");
    for (int i = 0; i < network->block_count; i++) {
        const struct psim_block *block = &network->blocks[i];

        psim_text_printf(
            text, "%5d %-22s%-12s%13" PRId64 "%12.1f%14" PRId64 "%14" PRId64 "%14" PRId64 "\n",
            i + 1, block->name, block->reversible ? "reversible" : "-", block->parameters,
            (double)block->macs / 1e6, block->input_elements, block->output_elements,
            block->kept_elements);
    }
}

enum psim_status psim_show_model(const struct psim_cli_values *values, const char *name,
                                 struct psim_text *text, struct psim_diagnostics *list)
{
    struct psim_network network = {0};
    struct psim_error err = PSIM_ERROR_INIT;
    enum psim_status status;

    if (is_file(name)) {
        status = psim_network_read(name, &network, list);
    } else {
        status = psim_network_build(name, values->input, (int)values->classes, &network, &err);
        if (status != PSIM_OK)
            psim_listing_fault(list, &err);
    }
    if (status == PSIM_OK)
        show_network(text, &network);
    psim_network_release(&network);
    return status;
}

static void show_option(struct psim_text *text, const struct psim_option *option)
{
    psim_text_printf(text, "  %-18s", option->name);
    if (option->kind == PSIM_OPTION_CHOICE) {
        for (size_t i = 0; option->choices[i] != NULL; i++)
            psim_text_printf(text, "%s%s%s", i == 0 ? "" : " | ", option->choices[i],
                             (int64_t)i == option->fallback ? " (default)" : "");
    } else if (option->kind == PSIM_OPTION_BOOL) {
        psim_text_printf(text, "true | false, default %s", option->fallback ? "true" : "false");
    } else {
        psim_text_printf(text, "whole number in [%" PRId64 ", %" PRId64 "]", option->minimum,
                         option->maximum);
    }
    psim_text_printf(text, "\n  %-18s%s\n", "", option->help);
}

enum psim_status psim_show_method(const struct psim_cli_values *values, const char *name,
                                  struct psim_text *text, struct psim_diagnostics *list)
{
    const struct psim_method *method = psim_method_find(name);
    const char *names[64];
    size_t count = 0;

    (void)values;
    if (method == NULL) {
        for (; psim_method_table[count] != NULL && count < 64; count++)
            names[count] = psim_method_table[count]->name;
        psim_diagnose(list, PSIM_ERR_NOTFOUND, (struct psim_position){.file = ""}, "",
                      psim_nearest_name(name, names, count), "unknown method \"%s\"", name);
        return PSIM_ERR_NOTFOUND;
    }
    psim_text_printf(
        text, "%s: %s\nsource: %s\n%s; %s; %s\n", method->name, method->summary, method->source,
        method->flushes ? "flushes after every optimizer step"
                        : "endless: the steady state is measured",
        method->updates_every_microbatch ? "updates after every micro-batch"
                                         : "updates after `accumulation` micro-batches",
        method->sends_activation_back ? "the activation travels back with the gradient"
                                      : "only the gradient travels back");
    for (size_t i = 0; method->options != NULL && method->options[i] != NULL; i++)
        show_option(text, method->options[i]);
    return PSIM_OK;
}

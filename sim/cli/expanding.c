/*
 * `show platform --expanded`: a platform as a platform/1 file of hosts, switches and links.
 *
 * What only short forms have cannot be said in a free graph: that a message inside a node never
 * leaves it, which NIC a device uses where several could be reached, and the zones of a network.
 */
#include "sim/base/units.h"
#include "sim/cli/listing.h"

#include <math.h>

/* Names hold no control characters; the readers refuse them. */
static void put_quoted(struct psim_text *text, const char *name)
{
    psim_text_append(text, "\"", 1);
    for (; *name != '\0'; name++) {
        if (*name == '"' || *name == '\\')
            psim_text_append(text, "\\", 1);
        psim_text_append(text, name, 1);
    }
    psim_text_append(text, "\"", 1);
}

/* The shortest of a few spellings that reads back as the same number. */
static void put_quantity(struct psim_text *text, double value, double scale, const char *unit,
                         const char *base_unit, enum psim_dimension dimension)
{
    char spelling[64];
    const char *nearest;
    double read = NAN;

    for (int digits = 6; digits <= 15; digits += 9) {
        snprintf(spelling, sizeof spelling, "%.*g %s", digits, value / scale, unit);
        if (psim_quantity_parse(spelling, dimension, &read, &nearest, NULL) == PSIM_OK &&
            read == value)
            break;
    }
    if (read != value)
        snprintf(spelling, sizeof spelling, "%.17g %s", value, base_unit);
    psim_text_printf(text, "\"%s\"", spelling);
}

static void put_power(struct psim_text *text, const struct psim_power *power)
{
    const char *separator = "";

    if (!power->given)
        return;
    psim_text_printf(text, ", \"power\": {");
    if (!isnan(power->static_w)) {
        psim_text_printf(text, " \"static\": ");
        put_quantity(text, power->static_w, 1, "W", "W", PSIM_DIMENSION_WATT);
        separator = ",";
    }
    if (!isnan(power->joule_per_byte)) {
        psim_text_printf(text, "%s \"per_bit\": ", separator);
        put_quantity(text, power->joule_per_byte, 8e-12, "pJ/b", "J/B",
                     PSIM_DIMENSION_JOULE_PER_BYTE);
        separator = ",";
    }
    if (power->source != NULL) {
        psim_text_printf(text, "%s \"source\": ", separator);
        put_quoted(text, power->source);
    }
    psim_text_printf(text, " }");
}

static void put_types(struct psim_text *text, const struct psim_platform *platform)
{
    psim_text_printf(text, "  \"devices\": {");
    for (int i = 0; i < platform->type_count; i++) {
        const struct psim_device_type *type = &platform->types[i];

        psim_text_printf(text, "%s\n    ", i == 0 ? "" : ",");
        put_quoted(text, type->alias);
        psim_text_printf(text, ": { \"%s\": ", type->file == NULL ? "catalogue" : "file");
        put_quoted(text, type->file == NULL ? type->device.name : type->file);
        psim_text_printf(text, " }");
    }
    psim_text_printf(text, "\n  },\n");
}

/* The hosts or the switches; returns how many there are. */
static int put_vertices(struct psim_text *text, const struct psim_platform *platform, bool hosts)
{
    int count = 0;

    psim_text_printf(text, "  \"%s\": [", hosts ? "hosts" : "switches");
    for (int i = 0; i < platform->vertex_count; i++) {
        const struct psim_vertex *vertex = &platform->vertices[i];

        if ((vertex->device_type >= 0) != hosts)
            continue;
        psim_text_printf(text, "%s\n    { \"name\": ", count++ == 0 ? "" : ",");
        put_quoted(text, vertex->name);
        if (hosts) {
            psim_text_printf(text, ", \"device\": ");
            put_quoted(text, platform->types[vertex->device_type].alias);
        } else if (psim_platform_peering_is_barred(platform, i)) {
            psim_text_printf(text, ", \"peering\": false");
        }
        if (!hosts)
            put_power(text, &vertex->power);
        psim_text_printf(text, " }");
    }
    psim_text_printf(text, "\n  ],\n");
    return count;
}

static void put_link(struct psim_text *text, const struct psim_platform *platform,
                     const struct psim_link *link)
{
    psim_text_printf(text, "    { \"name\": ");
    put_quoted(text, link->name);
    psim_text_printf(text, ", \"between\": [");
    put_quoted(text, platform->vertices[link->from].name);
    psim_text_printf(text, ", ");
    put_quoted(text, platform->vertices[link->to].name);
    psim_text_printf(text, "], \"bandwidth\": ");
    if (isinf(link->bandwidth_bytes_per_s))
        psim_text_printf(text, "\"unlimited\"");
    else
        put_quantity(text, link->bandwidth_bytes_per_s, 1e9, "GB/s", "B/s",
                     PSIM_DIMENSION_BYTES_PER_S);
    psim_text_printf(text, ", \"latency\": ");
    put_quantity(text, link->latency_s, 1e-6, "us", "s", PSIM_DIMENSION_SECONDS);
    psim_text_printf(text, ", \"sharing\": \"%s\"",
                     link->sharing == PSIM_DUPLEX ? "duplex" : "shared");
    put_power(text, &link->power);
    psim_text_printf(text, " }");
}

void psim_expand_platform(struct psim_text *text, const struct psim_platform *platform)
{
    int hosts;

    psim_text_printf(text, "{\n  \"petrasim\": \"platform/1\",\n  \"name\": ");
    put_quoted(text, platform->name);
    psim_text_printf(text, ",\n");
    put_types(text, platform);
    hosts = put_vertices(text, platform, true);
    (void)put_vertices(text, platform, false);
    psim_text_printf(text, "  \"links\": [");
    for (int i = 0; i < platform->link_count; i++) {
        psim_text_printf(text, "%s\n", i == 0 ? "" : ",");
        put_link(text, platform, &platform->links[i]);
    }
    psim_text_printf(text, "\n  ],\n  \"routes\": \"shortest\",\n  \"relay\": %s",
                     platform->hosts_forward ? "true" : "false");
    if (platform->device_count < hosts)
        psim_text_printf(text, ",\n  \"use\": %d", platform->device_count);
    psim_text_printf(text, "\n}\n");
}

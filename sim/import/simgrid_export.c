#include "sim/import/simgrid_export.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_BYTES 40

/* Where our graph has a connection that never limits, and SimGrid needs a number. */
#define UNLIMITED_BYTES_PER_S 1e18

/* SimGrid wants a speed of every host, which the routes do not depend on: where the device's is
 * not known, one that cannot be mistaken for a real one. */
#define UNKNOWN_FLOP_PER_S 1.0

static void attribute(struct psim_text *out, const char *name, const char *value)
{
    psim_text_printf(out, " %s=\"", name);
    for (; *value != '\0'; value++) {
        if (*value == '&' || *value == '<' || *value == '>' || *value == '"' ||
            (unsigned char)*value < 0x20)
            psim_text_printf(out, "&#%d;", *value);
        else
            psim_text_append(out, value, 1);
    }
    psim_text_append(out, "\"", 1);
}

/* All digits, and a dot whatever the process's locale. */
static void quantity(struct psim_text *out, const char *name, double value, const char *unit)
{
    char text[NUMBER_BYTES];
    char *point;

    snprintf(text, sizeof text, "%.17g%s", value, unit);
    point = strchr(text, localeconv()->decimal_point[0]);
    if (point != NULL)
        *point = '.';
    attribute(out, name, text);
}

static void write_vertices(const struct psim_platform *platform, struct psim_text *out)
{
    for (int i = 0; i < platform->vertex_count; i++) {
        const struct psim_vertex *vertex = &platform->vertices[i];
        const struct psim_device *device;
        double speed;

        if (vertex->device_type < 0) {
            psim_text_printf(out, "    <router");
            attribute(out, "id", vertex->name);
            psim_text_printf(out, "/>\n");
            continue;
        }
        device = &platform->types[vertex->device_type].device;
        speed = device->peak_flop_per_s[PSIM_FP32];
        psim_text_printf(out, "    <host");
        attribute(out, "id", vertex->name);
        quantity(out, "speed", speed > 0.0 ? speed : UNKNOWN_FLOP_PER_S, "f");
        psim_text_printf(out, "><prop id=\"device\"");
        attribute(out, "value", device->name);
        psim_text_printf(out, "/></host>\n");
    }
}

static void write_links(const struct psim_platform *platform, struct psim_text *out)
{
    for (int i = 0; i < platform->link_count; i++) {
        const struct psim_link *link = &platform->links[i];
        const double bandwidth_bytes_per_s = isinf(link->bandwidth_bytes_per_s)
                                                 ? UNLIMITED_BYTES_PER_S
                                                 : link->bandwidth_bytes_per_s;

        psim_text_printf(out, "    <link");
        attribute(out, "id", link->name);
        quantity(out, "bandwidth", bandwidth_bytes_per_s, "Bps");
        quantity(out, "latency", link->latency_s, "s");
        attribute(out, "sharing_policy", link->sharing == PSIM_DUPLEX ? "SPLITDUPLEX" : "SHARED");
        psim_text_printf(out, "/>\n");
    }
}

static void write_hop(const struct psim_link *link, bool forward, struct psim_text *out)
{
    psim_text_printf(out, "<link_ctn");
    attribute(out, "id", link->name);
    if (link->sharing == PSIM_DUPLEX)
        attribute(out, "direction", forward ? "UP" : "DOWN");
    psim_text_printf(out, "/>");
}

static void open_route(struct psim_text *out, const char *from, const char *to, bool symmetrical)
{
    psim_text_printf(out, "    <route");
    attribute(out, "src", from);
    attribute(out, "dst", to);
    attribute(out, "symmetrical", symmetrical ? "YES" : "NO");
    psim_text_printf(out, ">");
}

/* Links that are no pair of devices' own way: between switches, or to one. */
static void write_steps(const struct psim_platform *platform, const bool *in_use,
                        struct psim_text *out)
{
    for (int i = 0; i < platform->link_count; i++) {
        const struct psim_link *link = &platform->links[i];

        if (in_use[link->from] && in_use[link->to])
            continue;
        open_route(out, platform->vertices[link->from].name, platform->vertices[link->to].name,
                   true);
        write_hop(link, true, out);
        psim_text_printf(out, "</route>\n");
    }
}

static enum psim_status write_route(const struct psim_platform *platform, int from, int to,
                                    struct psim_text *out, struct psim_error *err)
{
    struct psim_route route;
    const enum psim_status status = psim_platform_route(platform, from, to, &route, err);

    if (status != PSIM_OK)
        return status;
    open_route(out, psim_platform_device_name(platform, from),
               psim_platform_device_name(platform, to), false);
    for (int i = 0; i < route.hop_count; i++)
        write_hop(&platform->links[route.hops[i].link], route.hops[i].forward, out);
    psim_text_printf(out, "</route>\n");
    psim_route_release(&route);
    return PSIM_OK;
}

static enum psim_status write_routes(const struct psim_platform *platform, struct psim_text *out,
                                     struct psim_error *err)
{
    bool *in_use = psim_alloc((size_t)platform->vertex_count, sizeof *in_use);
    enum psim_status status = PSIM_OK;

    if (in_use == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "export", "out of memory");
    for (int i = 0; i < platform->device_count; i++)
        in_use[platform->devices[i]] = true;
    write_steps(platform, in_use, out);
    psim_free(in_use);
    for (int from = 0; status == PSIM_OK && from < platform->device_count; from++) {
        for (int to = 0; status == PSIM_OK && to < platform->device_count; to++) {
            if (to != from)
                status = write_route(platform, from, to, out, err);
        }
    }
    return status;
}

enum psim_status psim_export_simgrid(const struct psim_platform *platform, struct psim_text *out,
                                     struct psim_error *err)
{
    struct psim_text text = PSIM_TEXT_INIT;
    enum psim_status status;

    if (platform->device_count > PSIM_EXPORT_DEVICES)
        return psim_fail(err, PSIM_ERR_RANGE, platform->name,
                         "a platform of at most %d devices can be exported, not of %d",
                         PSIM_EXPORT_DEVICES, platform->device_count);
    psim_text_printf(&text, "<?xml version='1.0' encoding='UTF-8'?>\n"
                            "<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
                            "<platform version=\"4.1\">\n"
                            "  <config>\n"
                            "    <prop id=\"network/model\" value=\"CM02\"/>\n"
                            "    <prop id=\"network/crosstraffic\" value=\"0\"/>\n"
                            "    <prop id=\"network/TCP-gamma\" value=\"1e300\"/>\n"
                            "    <prop id=\"network/weight-S\" value=\"0\"/>\n"
                            "  </config>\n"
                            "  <zone");
    attribute(&text, "id", "platform");
    psim_text_printf(&text, " routing=\"Full\">\n");
    write_vertices(platform, &text);
    write_links(platform, &text);
    status = write_routes(platform, &text, err);
    psim_text_printf(&text, "  </zone>\n</platform>\n");
    if (status == PSIM_OK && !text.failed)
        psim_text_append(out, text.data, text.length);
    if (text.failed || out->failed)
        status = psim_fail(err, PSIM_ERR_NOMEM, "export", "out of memory");
    psim_text_release(&text);
    return status;
}

/* `collective`: time and bandwidth of one collective operation at many sizes. */
#include "sim/base/memory.h"
#include "sim/base/units.h"
#include "sim/cli/listing.h"
#include "sim/engine/collectives.h"
#include "sim/report/quantity.h"

#include <math.h>
#include <string.h>

/* What one call is about. */
struct request {
    enum psim_collective_kind kind;
    const struct psim_collective *algorithm;
    const struct psim_engine *engine;
    const struct psim_rate_curve *curve; /* NULL: nothing measured, or by another algorithm */
    struct psim_platform platform;
    struct psim_arena arena;
    int *devices;
    struct psim_group group;
    double hop_latency_s, hop_bytes_per_s; /* of the slowest hop between neighbours */
    double first_bytes, last_bytes;
};

struct line {
    double bytes, seconds, closed_form_s;
    enum psim_tag tag;
};

static enum psim_status read_size(const char *text, double *bytes, struct psim_error *err)
{
    struct psim_error fault = PSIM_ERROR_INIT;
    const char *nearest;

    if (psim_quantity_parse(text, PSIM_DIMENSION_BYTES, bytes, &nearest, &fault) == PSIM_OK)
        return PSIM_OK;
    return psim_fail(err, fault.status, "--bytes", "%s%s%s%s", fault.message,
                     nearest == NULL ? "" : " (did you mean \"", nearest == NULL ? "" : nearest,
                     nearest == NULL ? "" : "\"?)");
}

static enum psim_status read_sizes(const char *text, double *first, double *last,
                                   struct psim_error *err)
{
    const char *colon = strchr(text, ':');
    char head[64];
    enum psim_status status;

    if (colon != NULL && (size_t)(colon - text) >= sizeof head)
        return psim_fail(err, PSIM_ERR_SCHEMA, "--bytes", "'%s' is no size", text);
    snprintf(head, sizeof head, "%.*s", colon == NULL ? 63 : (int)(colon - text), text);
    status = read_size(head, first, err);
    if (status == PSIM_OK)
        status = read_size(colon == NULL ? text : colon + 1, last, err);
    if (status == PSIM_OK && !(*first >= 1 && *last >= *first && *last <= 1e18))
        return psim_fail(err, PSIM_ERR_RANGE, "--bytes", "sizes must rise from 1 B to 1 EB");
    return status;
}

static enum psim_status find_algorithm(const char *name, const struct psim_collective **out,
                                       struct psim_error *err)
{
    const char *names[64];
    const char *near;
    size_t count = 0;

    *out = psim_collective_find(name);
    if (*out != NULL)
        return PSIM_OK;
    for (; psim_collective_table[count] != NULL && count < 64; count++)
        names[count] = psim_collective_table[count]->name;
    near = psim_nearest_name(name, names, count);
    return psim_fail(err, PSIM_ERR_NOTFOUND, "--algorithm", "there is no algorithm \"%s\"%s%s",
                     name, near == NULL ? "" : "; nearest: ", near == NULL ? "" : near);
}

/* The algorithm that was asked for, else the one that a training step would take. */
static enum psim_status choose_algorithm(struct request *r, const struct psim_protocol *protocol,
                                         struct psim_error *err)
{
    const struct psim_collective_choice choice =
        psim_protocol_choose(protocol, r->kind, &r->group, r->algorithm);

    r->algorithm = choice.algorithm;
    r->curve = choice.curve;
    r->group.in_switch = choice.in_switch;
    if (r->algorithm->applies(r->kind, &r->group))
        return PSIM_OK;
    return psim_fail(err, PSIM_ERR_UNSUPPORTED, "--algorithm",
                     "%s does not run %s on this group of %d", r->algorithm->name,
                     psim_collective_kind_names[r->kind], r->group.ranks);
}

static enum psim_status find_slowest_hop(struct request *r, struct psim_error *err)
{
    r->hop_bytes_per_s = INFINITY;
    for (int i = 0; r->group.ranks > 1 && i < r->group.ranks; i++) {
        struct psim_route route;
        const enum psim_status status = psim_platform_route(
            &r->platform, r->devices[i], r->devices[(i + 1) % r->group.ranks], &route, err);

        if (status != PSIM_OK)
            return status;
        r->hop_latency_s = fmax(r->hop_latency_s, route.latency_s);
        r->hop_bytes_per_s = fmin(r->hop_bytes_per_s, route.bandwidth_bytes_per_s);
        psim_route_release(&route);
    }
    return PSIM_OK;
}

static enum psim_status make_group(struct request *r, int64_t ranks, struct psim_error *err)
{
    if (ranks > r->platform.device_count)
        return psim_fail(err, PSIM_ERR_RANGE, "--ranks", "%s has %d devices", r->platform.name,
                         r->platform.device_count);
    if (ranks == 0)
        ranks = r->platform.device_count;
    r->devices = psim_alloc((size_t)ranks, sizeof *r->devices);
    if (r->devices == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "collective", "out of memory");
    for (int i = 0; i < ranks; i++)
        r->devices[i] = i;
    return psim_collective_group(&r->platform, r->devices, (int)ranks, false, &r->group, err);
}

/* What the options say without a platform. */
static enum psim_status read_options(struct request *r, const struct psim_cli_values *values,
                                     struct psim_error *err)
{
    enum psim_status status;

    r->kind = (enum psim_collective_kind)values->collective_kind;
    r->engine = psim_engine_find(values->engine == NULL ? "simgrid" : values->engine);
    status = read_sizes(values->bytes == NULL ? "1MiB:16GiB" : values->bytes, &r->first_bytes,
                        &r->last_bytes, err);
    if (status == PSIM_OK && values->algorithm != NULL)
        status = find_algorithm(values->algorithm, &r->algorithm, err);
    return status;
}

static enum psim_status read_files(struct request *r, const struct psim_cli_values *values,
                                   const char *name, struct psim_protocol *protocol,
                                   struct psim_diagnostics *list)
{
    const struct psim_catalogue catalogue = psim_cli_catalogue(values);
    struct psim_text path = PSIM_TEXT_INIT;
    enum psim_status status = psim_find_platform_file(&catalogue, name, &path, list);

    if (status == PSIM_OK)
        status = psim_platform_read(path.data, &catalogue, &r->platform, list);
    if (status == PSIM_OK)
        status = psim_catalogue_find_collectives(&catalogue, r->platform.name, &r->arena, protocol,
                                                 list);
    psim_text_release(&path);
    return status;
}

/* Exit code of an option's value that this platform cannot do. */
static enum psim_exit option_exit(enum psim_status status)
{
    return status == PSIM_OK || status == PSIM_ERR_NOMEM ? psim_cli_exit(status, true)
                                                         : PSIM_EXIT_USAGE;
}

/* Prints what is wrong. */
static enum psim_exit request_read(struct request *r, const struct psim_cli_values *values,
                                   const char *name)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_protocol protocol = {.name = NULL};
    struct psim_error err = PSIM_ERROR_INIT;
    enum psim_exit code = option_exit(read_options(r, values, &err));

    if (code == PSIM_EXIT_OK)
        code = psim_cli_exit(read_files(r, values, name, &protocol, &list), true);
    psim_cli_diagnose(values, &list);
    psim_diagnostics_release(&list);
    if (code == PSIM_EXIT_OK)
        code = option_exit(make_group(r, values->ranks, &err));
    if (code == PSIM_EXIT_OK)
        code = option_exit(choose_algorithm(r, &protocol, &err));
    if (code == PSIM_EXIT_OK)
        code = psim_cli_exit(find_slowest_hop(r, &err), true);
    if (err.status != PSIM_OK)
        psim_cli_complain(&err);
    return code;
}

static void request_release(struct request *r)
{
    psim_free((void *)r->group.node);
    psim_free(r->devices);
    psim_platform_release(&r->platform);
    psim_arena_release(&r->arena);
}

static bool was_measured(const struct psim_rate_curve *curve, double bytes)
{
    for (int i = 0; i < curve->points; i++) {
        if (curve->bytes[i] == bytes)
            return true;
    }
    return false;
}

static enum psim_status simulate(const struct request *r, double bytes, struct line *out,
                                 struct psim_error *err)
{
    struct psim_collective_job job = {.algorithm = r->algorithm,
                                      .kind = r->kind,
                                      .devices = r->devices,
                                      .ranks = r->group.ranks,
                                      .in_switch = r->group.in_switch,
                                      .bytes = bytes};
    enum psim_status status;

    if (r->curve != NULL)
        job.terms = psim_rate_curve_terms(r->curve, job.ranks, bytes);
    status = psim_collectives_run(&r->platform, r->engine, &job, 1, err);
    if (status != PSIM_OK)
        return status;
    *out = (struct line){.bytes = bytes,
                         .seconds = job.seconds,
                         .closed_form_s = job.algorithm->time(job.kind, &r->group, bytes,
                                                              r->hop_latency_s, r->hop_bytes_per_s),
                         .tag = r->curve == NULL ? PSIM_TAG_ASSUMED
                                : r->curve->ranks == job.ranks && was_measured(r->curve, bytes)
                                    ? PSIM_TAG_MEASURED
                                    : PSIM_TAG_ESTIMATED};
    return PSIM_OK;
}

/* ---- Formats ------------------------------------------------------------------------------ */

static double bus_bytes_per_s(const struct request *r, const struct line *line)
{
    return psim_collective_bus_factor(r->kind, r->group.ranks) * line->bytes / line->seconds;
}

static void begin(struct psim_text *text, const struct request *r, enum psim_format format)
{
    char quoted[PSIM_QUOTED_BYTES];

    psim_text_quote(r->platform.name, quoted);
    if (format == PSIM_FORMAT_TABLE)
        psim_text_printf(text,
                         "%s: %s of %d ranks by %s, %s engine, %s\n%16s%14s%12s%12s%16s  %s\n",
                         r->platform.name, psim_collective_kind_names[r->kind], r->group.ranks,
                         r->algorithm->name, r->engine->name,
                         r->curve == NULL ? "links alone" : r->curve->source, "bytes", "time us",
                         "alg GB/s", "bus GB/s", "closed form us", "tag");
    else if (format == PSIM_FORMAT_CSV)
        psim_text_printf(text, "bytes,time_s,algorithm_bytes_per_s,bus_bytes_per_s,closed_form_s,"
                               "tag\r\n");
    else
        psim_text_printf(text,
                         "{\n  \"petrasim\": \"collective_times/1\",\n  \"platform\": %s,\n"
                         "  \"kind\": \"%s\",\n  \"ranks\": %d,\n  \"algorithm\": \"%s\",\n"
                         "  \"engine\": \"%s\",\n  \"sizes\": [",
                         quoted, psim_collective_kind_names[r->kind], r->group.ranks,
                         r->algorithm->name, r->engine->name);
}

/* One rank alone takes no time: its bandwidths are not known. */
static void exact(char out[PSIM_NUMBER_BYTES], double value, const char *unknown)
{
    if (isfinite(value))
        psim_number_exact(value, out);
    else
        snprintf(out, PSIM_NUMBER_BYTES, "%s", unknown);
}

static void rounded(char out[PSIM_NUMBER_BYTES], double value)
{
    snprintf(out, PSIM_NUMBER_BYTES, isfinite(value) ? "%.2f" : "-", value);
}

static void add_line(struct psim_text *text, const struct request *r, const struct line *line,
                     enum psim_format format, bool first)
{
    const double values[] = {line->bytes, line->seconds, line->bytes / line->seconds,
                             bus_bytes_per_s(r, line), line->closed_form_s};
    const bool json = format == PSIM_FORMAT_JSON;
    char shown[5][PSIM_NUMBER_BYTES];

    if (format == PSIM_FORMAT_TABLE) {
        rounded(shown[1], 1e6 * values[1]);
        rounded(shown[2], values[2] / 1e9);
        rounded(shown[3], values[3] / 1e9);
        rounded(shown[4], 1e6 * values[4]);
        psim_text_printf(text, "%16.0f%14s%12s%12s%16s  %s\n", values[0], shown[1], shown[2],
                         shown[3], shown[4], psim_tag_names[line->tag]);
        return;
    }
    for (int i = 0; i < 5; i++)
        exact(shown[i], values[i], json ? "null" : "");
    psim_text_printf(text,
                     json ? "%s\n    {\"bytes\": %s, \"time_s\": %s, \"algorithm_bytes_per_s\": %s,"
                            " \"bus_bytes_per_s\": %s, \"closed_form_s\": %s, \"tag\": \"%s\"}"
                          : "%s%s,%s,%s,%s,%s,%s\r\n",
                     json && !first ? "," : "", shown[0], shown[1], shown[2], shown[3], shown[4],
                     psim_tag_names[line->tag]);
}

static enum psim_status write_lines(const struct request *r, enum psim_format format,
                                    struct psim_text *text, struct psim_error *err)
{
    begin(text, r, format);
    for (double bytes = r->first_bytes; bytes <= r->last_bytes; bytes *= 2) {
        struct line line;
        const enum psim_status status = simulate(r, bytes, &line, err);

        if (status != PSIM_OK)
            return status;
        add_line(text, r, &line, format, bytes == r->first_bytes);
    }
    if (format == PSIM_FORMAT_JSON)
        psim_text_printf(text, "\n  ]\n}\n");
    return PSIM_OK;
}

enum psim_exit psim_command_collective(const struct psim_cli_values *values, char *const operands[],
                                       int count)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_text text = PSIM_TEXT_INIT;
    struct request r = {.arena = PSIM_ARENA_INIT};
    enum psim_exit code = request_read(&r, values, operands[0]);
    enum psim_status status;

    (void)count;
    if (code == PSIM_EXIT_OK) {
        status = write_lines(&r, (enum psim_format)values->format, &text, &err);
        code = status == PSIM_OK ? psim_cli_write(values->out, &text) : psim_cli_exit(status, true);
        if (status != PSIM_OK)
            psim_cli_complain(&err);
    }
    psim_text_release(&text);
    request_release(&r);
    return code;
}

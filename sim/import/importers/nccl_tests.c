/*
 * Output of nccl-tests (all_reduce_perf, sendrecv_perf, ...): latency and bandwidth from its rows.
 *
 * A row has size, count, type, redop and root, of which some programs leave one out, then time,
 * algbw, busbw and #wrong, out of place and in place.  Read are size and, out of place, time and
 * the two rates; their columns are counted from the end of the heading.
 *
 * The model is time = latency + size * factor / bandwidth with factor = busbw / algbw, what a link
 * carries for each byte of the size (doc/PERFORMANCE.md of nccl-tests), so that the bandwidth is
 * a link's.  Errors are relative: sizes span nine decades, and a fit of absolute errors would see
 * the last few rows only.
 */
#include "sim/import/job.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define KIND_BYTES 48

struct point {
    double bytes, time_s, error;
};

struct table {
    struct psim_import_job *job;
    size_t columns, time; /* of the heading without its "#"; that of the first "time" */
    char kind[KIND_BYTES];
    struct point *points;
    size_t count, capacity;
    double factor, factor_rate; /* from the row of the highest algbw, where rounding is least */
};

struct fit {
    double latency_s, bandwidth_bytes_per_s, median, p90;
};

/* ---- Reading ---- */

/* The name of the program, wherever a line before the rows has it. */
static void find_kind(struct table *table, const struct psim_words *words)
{
    static const char ending[] = "_perf";

    for (size_t i = 0; i < words->count && table->kind[0] == '\0'; i++) {
        const char *slash = strrchr(words->items[i].text, '/');
        const char *name = slash == NULL ? words->items[i].text : slash + 1;
        const char *end = strstr(name, ending);

        if (end == NULL || end[sizeof ending - 1] != '\0' || end == name ||
            (size_t)(end - name) >= KIND_BYTES)
            continue;
        memcpy(table->kind, name, (size_t)(end - name));
        table->kind[end - name] = '\0';
    }
}

/* "# size count type redop root time algbw busbw #wrong time ...". */
static void find_heading(struct table *table, const struct psim_words *words)
{
    if (words->count < 2 || strcmp(words->items[0].text, "#") != 0 ||
        strcmp(words->items[1].text, "size") != 0)
        return;
    for (size_t i = 2; i + 2 < words->count; i++) {
        if (strcmp(words->items[i].text, "time") == 0 &&
            strcmp(words->items[i + 1].text, "algbw") == 0 &&
            strcmp(words->items[i + 2].text, "busbw") == 0) {
            table->columns = words->count - 1;
            table->time = i - 1;
            return;
        }
    }
}

static void add_point(struct table *table, double bytes, double time_s)
{
    struct point *points =
        psim_import_grow(table->job, table->points, table->count, &table->capacity, sizeof *points);

    if (points == NULL)
        return;
    points[table->count++] = (struct point){bytes, time_s, 0};
    table->points = points;
}

static void read_row(struct table *table, const struct psim_words *words)
{
    struct psim_import_job *job = table->job;
    const size_t behind = table->columns - table->time; /* columns from "time" to the end */
    const struct psim_word *size = &words->items[0], *time;
    double bytes, time_s, algbw, busbw;
    bool good;

    if (words->count < behind + 2 || words->count > table->columns) {
        psim_import_error(job, size->at, PSIM_ERR_SCHEMA, NULL,
                          "a row of %zu to %zu columns is expected, not of %zu", behind + 2,
                          table->columns, words->count);
        return;
    }
    time = &words->items[words->count - behind];
    good = psim_import_number(job, size->at, "size", size->text, PSIM_DIMENSION_BYTES, "B",
                              PSIM_FROM_ZERO, &bytes);
    good = psim_import_number(job, time[0].at, "time", time[0].text, PSIM_DIMENSION_SECONDS, "us",
                              PSIM_ABOVE_ZERO, &time_s) &&
           good;
    good = psim_import_number(job, time[1].at, "algbw", time[1].text, PSIM_DIMENSION_BYTES_PER_S,
                              "GB/s", PSIM_FROM_ZERO, &algbw) &&
           good;
    good = psim_import_number(job, time[2].at, "busbw", time[2].text, PSIM_DIMENSION_BYTES_PER_S,
                              "GB/s", PSIM_FROM_ZERO, &busbw) &&
           good;
    if (!good)
        return;
    add_point(table, bytes, time_s);
    if (algbw > table->factor_rate && busbw > 0.0) {
        table->factor_rate = algbw;
        table->factor = busbw / algbw;
    }
}

/* Rows begin with a digit; around them other programs may have written. */
static void read_table(struct table *table)
{
    const char *text = table->job->input->text;
    struct psim_words words;
    int line = 0;

    while (psim_import_words(table->job, &text, &line, &words)) {
        if (words.count == 0)
            continue;
        if (table->count == 0)
            find_kind(table, &words);
        find_heading(table, &words);
        if (table->columns > 0 && words.items[0].text[0] >= '0' && words.items[0].text[0] <= '9')
            read_row(table, &words);
    }
    if (table->columns == 0)
        psim_import_error(table->job, (struct psim_place){1, 1}, PSIM_ERR_SYNTAX, NULL,
                          "no heading with the columns size, time, algbw and busbw is in it");
}

/* ---- Fit ---- */

/* Least squares of the relative error: weights of 1 / time^2.  A latency below 0 is none, and the
 * slope is fitted again without it. */
static bool fit_line(struct table *table, struct fit *fit)
{
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0, slope, determinant;

    for (size_t i = 0; i < table->count; i++) {
        const struct point *p = &table->points[i];
        const double weight = 1.0 / (p->time_s * p->time_s);

        w += weight;
        wx += weight * p->bytes;
        wy += weight * p->time_s;
        wxx += weight * p->bytes * p->bytes;
        wxy += weight * p->bytes * p->time_s;
    }
    determinant = w * wxx - wx * wx;
    if (!(determinant > 1e-12 * w * wxx)) {
        psim_import_error(table->job, (struct psim_place){0, 0}, PSIM_ERR_RANGE, NULL,
                          "latency and bandwidth need rows of at least two sizes");
        return false;
    }
    slope = (w * wxy - wx * wy) / determinant;
    fit->latency_s = (wxx * wy - wx * wxy) / determinant;
    if (!(fit->latency_s >= 0.0)) {
        fit->latency_s = 0.0;
        slope = wxy / wxx;
    }
    fit->bandwidth_bytes_per_s = table->factor / slope;
    if (slope > 0.0 && table->factor > 0.0 && isfinite(fit->bandwidth_bytes_per_s) &&
        isfinite(fit->latency_s))
        return true;
    psim_import_error(table->job, (struct psim_place){0, 0}, PSIM_ERR_RANGE, NULL,
                      "the times do not grow with the size, so there is no bandwidth");
    return false;
}

static int compare_errors(const void *a, const void *b)
{
    const struct point *x = a, *y = b;

    return x->error < y->error ? -1 : x->error > y->error;
}

/* The smallest error that at least this share of the points does not exceed. */
static double quantile(const struct table *table, double share)
{
    const size_t rank = (size_t)ceil(share * (double)table->count);

    return table->points[rank == 0 ? 0 : rank - 1].error;
}

static void measure_errors(struct table *table, struct fit *fit)
{
    for (size_t i = 0; i < table->count; i++) {
        struct point *p = &table->points[i];
        const double time_s =
            fit->latency_s + p->bytes * table->factor / fit->bandwidth_bytes_per_s;

        p->error = fabs(time_s - p->time_s) / p->time_s;
    }
    qsort(table->points, table->count, sizeof *table->points, compare_errors);
    fit->median = quantile(table, 0.5);
    fit->p90 = quantile(table, 0.9);
}

/* ---- Output ---- */

static void write_figures(const struct fit *fit, struct psim_text *out)
{
    psim_text_printf(out, "\"bandwidth\": ");
    psim_import_json_quantity(out, fit->bandwidth_bytes_per_s, PSIM_DIMENSION_BYTES_PER_S,
                              PSIM_IMPORT_ROUNDED);
    psim_text_printf(out, ", \"latency\": ");
    psim_import_json_quantity(out, fit->latency_s, PSIM_DIMENSION_SECONDS, PSIM_IMPORT_ROUNDED);
}

static void write_fit(const struct table *table, const struct fit *fit, struct psim_text *out)
{
    psim_text_printf(out, "{\n  \"kind\": ");
    if (table->kind[0] == '\0')
        psim_text_printf(out, "null");
    else
        psim_text_json(out, table->kind);
    psim_text_printf(out, ",\n  ");
    write_figures(fit, out);
    psim_text_printf(out, ",\n  \"factor\": ");
    psim_import_json_number(out, table->factor, PSIM_IMPORT_ROUNDED);
    psim_text_printf(out, ",\n  \"points\": %zu,\n  \"median_error\": ", table->count);
    psim_import_json_number(out, fit->median, 3);
    psim_text_printf(out, ",\n  \"p90_error\": ");
    psim_import_json_number(out, fit->p90, 3);
    psim_text_printf(out,
                     ",\n  \"_comment\": \"time = latency + size x factor / bandwidth. For a link "
                     "of a platform file; name it and say what it is between. The latency of a "
                     "collective is that of all its steps.\",\n"
                     "  \"link\": { \"name\": \"link\", \"between\": [\"a\", \"b\"], ");
    write_figures(fit, out);
    psim_text_printf(out, ", \"sharing\": \"duplex\" }\n}\n");
}

static void import(struct psim_import_job *job, struct psim_text *out)
{
    struct table table = {.job = job};
    struct fit fit;

    read_table(&table);
    if (!psim_import_clean(job) || !fit_line(&table, &fit))
        return;
    measure_errors(&table, &fit);
    write_fit(&table, &fit, out);
}

const struct psim_importer psim_importer_nccl_tests = {
    .name = "nccl_tests",
    .summary = "output of nccl-tests to latency and bandwidth of a link",
    .example = "nccl_tests.txt",
    .import = import,
};

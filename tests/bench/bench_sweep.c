/*
 * Benchmark of sweeps: what a point costs above its bare simulation, and points a second by
 * workers; prints one JSON object.
 *
 *   build/bench_sweep
 *
 * The bare run of a point reads its scenario, builds its stages and simulates it in one child, in
 * this process and without a database; all else is overhead: trying the values, workers, pipes,
 * records, commits.  Figures are of whatever machine this is; nothing here is asserted.
 */
#define _DEFAULT_SOURCE /* mkdtemp */
#include "sim/cli/cli.h"
#include "sim/plan/sweep.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define REPEATS 5

static const char *const scans[] = {"batch.microbatch=1:50", "batch.accumulation=1:8:*2",
                                    "methods=[\"petra\"]"};

static double wall_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_sweep: %s\n", what);
    exit(1);
}

static void read_sweep(const struct psim_catalogue *catalogue, struct psim_sweep *sweep)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;

    if (psim_sweep_read(PSIM_BENCH_SCENARIO, scans, 3, catalogue, sweep, &list) != PSIM_OK)
        die("the sweep cannot be read");
    psim_diagnostics_release(&list);
}

/* Seconds of a whole sweep into a new database, from reading its axes to closing it. */
static double sweep_s(const struct psim_catalogue *catalogue, const char *engine, int workers,
                      const char *path)
{
    const double start_s = wall_s();
    const struct psim_sweep_options options = {.workers = workers, .shard = {0, 1}};
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_store *store = NULL;
    struct psim_sweep_counts counts;
    struct psim_sweep sweep;
    const struct psim_sweep_task task = {
        .sweep = &sweep, .catalogue = catalogue, .run = psim_sweep_simulate, .context = engine};
    const struct psim_store_identity identity = {"bench", "", engine, &sweep};

    read_sweep(catalogue, &sweep);
    if (psim_store_begin(path, &identity, &store, &err) != PSIM_OK ||
        psim_sweep_run(&task, store, &options, &counts, &err) != PSIM_OK)
        die(err.message);
    if (counts.done != sweep.point_count || counts.failed > 0)
        die("points failed");
    psim_store_close(store);
    psim_sweep_release(&sweep);
    (void)unlink(path);
    return wall_s() - start_s;
}

/* Seconds of the points alone, one after the other. */
static double bare_s(const struct psim_catalogue *catalogue, const char *engine, int64_t *points)
{
    struct psim_sweep sweep;
    double start_s, seconds;

    read_sweep(catalogue, &sweep);
    start_s = wall_s();
    for (int64_t point = 0; point < sweep.point_count; point++) {
        struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
        struct psim_error err = PSIM_ERROR_INIT;
        struct psim_sweep_record record;
        struct psim_scenario scenario;

        psim_sweep_record_begin(&record, point);
        if (psim_sweep_point(&sweep, point, catalogue, &scenario, &list) != PSIM_OK ||
            psim_sweep_simulate(engine, &scenario, &record, &list, &err) != PSIM_OK)
            die("a point cannot be run");
        psim_sweep_record_release(&record);
        psim_scenario_release(&scenario);
        psim_diagnostics_release(&list);
    }
    seconds = wall_s() - start_s;
    *points = sweep.point_count;
    psim_sweep_release(&sweep);
    return seconds;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double values[REPEATS])
{
    qsort(values, REPEATS, sizeof values[0], compare);
    return values[REPEATS / 2];
}

static void measure(const struct psim_catalogue *catalogue, const char *engine, const char *path,
                    const char *end)
{
    static const int workers[] = {1, 2, 4};
    double bare[REPEATS], swept[3][REPEATS], one_s, bare_each_s;
    int64_t points = 0;

    for (int i = 0; i < REPEATS; i++) {
        bare[i] = bare_s(catalogue, engine, &points);
        for (int w = 0; w < 3; w++)
            swept[w][i] = sweep_s(catalogue, engine, workers[w], path);
    }
    bare_each_s = median(bare) / (double)points;
    one_s = median(swept[0]);
    printf("  \"%s\": {\"points\": %lld, \"bare_ms_per_point\": %.3f, "
           "\"overhead_ms_per_point\": %.3f, \"points_per_s\": {",
           engine, (long long)points, 1e3 * bare_each_s,
           1e3 * (one_s / (double)points - bare_each_s));
    for (int w = 0; w < 3; w++)
        printf("%s\"%d\": %.0f", w == 0 ? "" : ", ", workers[w], (double)points / median(swept[w]));
    printf("}}%s\n", end);
}

int main(void)
{
    const struct psim_cli_values values = {.catalogue = NULL};
    const struct psim_catalogue catalogue = psim_cli_catalogue(&values);
    char folder[] = "/tmp/bench_sweep_XXXXXX", path[64];

    if (mkdtemp(folder) == NULL)
        die("no folder for the database");
    snprintf(path, sizeof path, "%s/r.sqlite", folder);
    printf("{\n  \"scenario\": \"small.json: 4 stages, 1 method, 1 to 50 x 1, 2, 4, 8\",\n");
    measure(&catalogue, "simgrid", path, ",");
    measure(&catalogue, "replay", path, "");
    printf("}\n");
    (void)rmdir(folder);
    return 0;
}

/*
 * Benchmark of the two engines; prints one JSON object.
 *
 *   build/bench_engine            all figures
 *   build/bench_engine --quick    the small pipeline only
 *   build/bench_engine --bare     opens SimGrid, runs nothing, prints nothing
 *
 * The pipeline is 1F1B on devices behind one switch; an operation is a compute or a transfer,
 * timers do not count.  Every run has its own process, so that its resident set is its own.
 * Figures are medians of several runs on whatever machine this is; nothing here is asserted.
 */
#include "sim/base/memory.h"
#include "sim/engine/engine.h"
#include "sim/engine/simgrid_shim.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_RUNS 32

static double wall_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what, const struct psim_error *err)
{
    fprintf(stderr, "bench_engine: %s: %s %s\n", what, err->where, err->message);
    exit(1);
}

/* Devices behind one switch, 25 GB/s and 0.5 us each way to it. */
static void build_platform(struct psim_platform *platform, int devices)
{
    struct psim_error err = PSIM_ERROR_INIT;
    const struct psim_device device = {.name = "bench", .memory_bytes = INT64_C(1) << 40};
    int type, hub;
    bool ok = psim_platform_init(platform, "bench", &err) == PSIM_OK &&
              psim_platform_add_type(platform, "gpu", &device, &type, &err) == PSIM_OK &&
              psim_platform_add_vertex(platform, "switch", -1, -1, &hub, &err) == PSIM_OK;

    for (int i = 0; ok && i < devices; i++) {
        char name[32];
        int vertex;

        snprintf(name, sizeof name, "gpu%d", i);
        ok = psim_platform_add_vertex(platform, name, type, -1, &vertex, &err) == PSIM_OK;
        snprintf(name, sizeof name, "gpu%d.port", i);
        ok = ok && psim_platform_add_link(platform, name, vertex, hub, 25e9, 0.5e-6, PSIM_DUPLEX,
                                          &err) == PSIM_OK;
    }
    if (!ok || psim_platform_finish(platform, 0, &err) != PSIM_OK)
        die("platform", &err);
}

static void build_workload(struct psim_workload *workload, int stages)
{
    *workload = (struct psim_workload){.model_name = "bench", .stage_count = stages, .given = true};
    workload->stages =
        psim_arena_alloc(&workload->arena, (size_t)stages, sizeof(struct psim_stage));
    for (int j = 0; j < stages; j++)
        workload->stages[j] = (struct psim_stage){
            .device = j,
            .forward_s = 10e-3,
            .reconstruct_s = 10e-3,
            .backward_input_s = 10e-3,
            .backward_weight_s = 10e-3,
            .input_bytes = 8000000,
            .output_bytes = 8000000,
            .graph_bytes = 40000000,
            .parameter_bytes = 4000000,
            .memory_bytes = INT64_C(1) << 40,
        };
}

struct figure {
    double seconds, operations, resident_bytes;
};

/* One run in a process of its own. */
static struct figure run_once(const struct psim_engine *engine, const struct psim_program *program)
{
    struct figure figure = {0};
    int ends[2], status;
    pid_t pid;

    if (pipe(ends) != 0)
        exit(1);
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        struct psim_error err = PSIM_ERROR_INIT;
        struct psim_simulation simulation;
        struct rusage usage;
        const double start_s = wall_s();

        if (engine->run(program, NULL, &simulation, &err) != PSIM_OK)
            die(engine->name, &err);
        figure.seconds = wall_s() - start_s;
        figure.operations = (double)simulation.operations;
        getrusage(RUSAGE_SELF, &usage);
        figure.resident_bytes = (double)usage.ru_maxrss * 1024;
        if (write(ends[1], &figure, sizeof figure) != (ssize_t)sizeof figure)
            _exit(1);
        _exit(0);
    }
    close(ends[1]);
    if (read(ends[0], &figure, sizeof figure) != (ssize_t)sizeof figure ||
        waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "bench_engine: a run failed\n");
        exit(1);
    }
    close(ends[0]);
    return figure;
}

static int by_seconds(const void *a, const void *b)
{
    const double x = ((const struct figure *)a)->seconds, y = ((const struct figure *)b)->seconds;

    return (x > y) - (x < y);
}

static struct figure median_run(const struct psim_engine *engine, int stages, int64_t microbatches,
                                int runs)
{
    struct figure figures[MAX_RUNS];
    struct psim_error err = PSIM_ERROR_INIT;
    const struct psim_shape shape = {.accumulation = microbatches};
    struct psim_platform platform = {0};
    struct psim_workload workload;
    struct psim_program program;

    build_platform(&platform, stages);
    build_workload(&workload, stages);
    if (psim_program_build(psim_method_find("one_f_one_b"), &shape, &workload, &platform,
                           PSIM_ACCOUNTING_FULL, &program, &err) != PSIM_OK)
        die("program", &err);
    for (int i = 0; i < runs; i++)
        figures[i] = run_once(engine, &program);
    psim_program_release(&program);
    psim_arena_release(&workload.arena);
    psim_platform_release(&platform);
    qsort(figures, (size_t)runs, sizeof figures[0], by_seconds);
    return figures[runs / 2];
}

static void print_run(const char *name, const struct psim_engine *engine, int stages,
                      int64_t microbatches, int runs, const char *end)
{
    const struct figure f = median_run(engine, stages, microbatches, runs);

    printf("    {\"name\": \"%s\", \"engine\": \"%s\", \"stages\": %d, \"microbatches\": %lld, "
           "\"runs\": %d, \"operations\": %.0f, \"seconds\": %.4f, \"ops_per_s\": %.0f, "
           "\"resident_mb\": %.1f}%s\n",
           name, engine->name, stages, (long long)microbatches, runs, f.operations, f.seconds,
           f.operations / f.seconds, f.resident_bytes / 1e6, end);
    fflush(stdout);
}

static double median_command_s(char *const arguments[], int runs)
{
    struct figure figures[MAX_RUNS];

    for (int i = 0; i < runs; i++) {
        const double start_s = wall_s();
        int status;
        pid_t pid;

        fflush(NULL);
        pid = fork();

        if (pid == 0) {
            if (freopen("/dev/null", "w", stdout) == NULL)
                _exit(127);
            execv(arguments[0], arguments);
            _exit(127);
        }
        if (waitpid(pid, &status, 0) != pid || status != 0)
            return NAN;
        figures[i] = (struct figure){.seconds = wall_s() - start_s};
    }
    qsort(figures, (size_t)runs, sizeof figures[0], by_seconds);
    return figures[runs / 2].seconds;
}

static void ignore(void *user, uint64_t token)
{
    (void)user, (void)token;
}

static int run_bare(void)
{
    const char *why = "";

    if (!psim_shim_open(ignore, NULL, &why) || !psim_shim_run(&why)) {
        fprintf(stderr, "bench_engine: %s\n", why);
        return 1;
    }
    fflush(NULL);
    _exit(0);
}

static void print_start_up(const char *self)
{
    char bare_flag[] = "--bare", run[] = "run", scenario[] = PSIM_BENCH_SCENARIO,
         cluster[] = PSIM_BENCH_CLUSTER, straddling[] = PSIM_BENCH_STRADDLING,
         program[] = PSIM_BENCH_PROGRAM, own[4096];
    char *bare[] = {own, bare_flag, NULL}, *small[] = {program, run, scenario, NULL},
         *large[] = {program, run, cluster, NULL}, *unfolded[] = {program, run, straddling, NULL};
    double bare_s, small_s;

    snprintf(own, sizeof own, "%s", self);
    bare_s = median_command_s(bare, 21);
    small_s = median_command_s(small, 21);
    printf("  \"bare_simgrid_ms\": %.2f, \"small_run_ms\": %.2f, \"difference_ms\": %.2f,\n",
           1e3 * bare_s, 1e3 * small_s, 1e3 * (small_s - bare_s));
    printf("  \"step_on_10752_gpus_s\": %.3f,\n", median_command_s(large, 9));
    printf("  \"straddling_step_on_10752_gpus_s\": %.3f,\n", median_command_s(unfolded, 9));
}

int main(int argc, char **argv)
{
    const struct psim_engine *simgrid = psim_engine_find("simgrid");
    const struct psim_engine *replay = psim_engine_find("replay");
    const bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    struct figure f;

    if (argc > 1 && strcmp(argv[1], "--bare") == 0)
        return run_bare();
    printf("{ \"benchmark\": \"engine\", \"simgrid\": \"%s\",\n", psim_engine_simgrid_version());
    f = median_run(simgrid, 64, 2048, 5);
    printf("  \"simgrid_ops_per_s\": %.0f,\n", f.operations / f.seconds);
    f = median_run(replay, 64, 2048, 9);
    printf("  \"replay_ops_per_s\": %.0f,\n", f.operations / f.seconds);
    if (!quick)
        print_start_up(argv[0]);
    printf("  \"runs\": [\n");
    print_run("64x2048", simgrid, 64, 2048, 5, ",");
    print_run("64x2048", replay, 64, 2048, 9, quick ? "" : ",");
    if (!quick) {
        print_run("64x512", simgrid, 64, 512, 5, ",");
        print_run("64x8192", simgrid, 64, 8192, 3, ",");
        print_run("64x512", replay, 64, 512, 9, ",");
        print_run("64x8192", replay, 64, 8192, 5, ",");
        print_run("1024x1024", simgrid, 1024, 1024, 3, ",");
        print_run("1024x1024", replay, 1024, 1024, 3, "");
    }
    printf("  ] }\n");
    return fflush(stdout) == 0 ? 0 : 1;
}

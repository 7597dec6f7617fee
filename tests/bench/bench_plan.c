/*
 * Benchmark of plans: how many are decided a second, bounded, replayed whole and with the steady
 * middle counted, and how long a plan over 100,000 takes with its confirmation; prints one JSON
 * object.
 *
 *   build/bench_plan
 *
 * Pipelines of 1 to 64 stages, 1 to 512 micro-batches a step, ten methods.  Figures are of whatever
 * machine this is; nothing here is asserted.
 */
#include "sim/cli/cli.h"
#include "sim/plan/plan.h"
#include "sim/plan/steady.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static const char goal_text[] =
    "{ \"petrasim\": \"plan/1\",\n"
    "  \"models\": [ { \"name\": \"revnet101\", \"depth\": [2] } ],\n"
    "  \"platforms\": [ \"64x-a100\" ],\n"
    "  \"methods\": [ \"backprop\", \"reversible_backprop\", \"gpipe\",\n"
    "    { \"name\": \"gpipe\", \"label\": \"gpipe, recompute\", \"recompute\": \"all\" },\n"
    "    \"one_f_one_b\", \"pipedream\", \"delayed_gradients\",\n"
    "    \"delayed_gradients_checkpoint\", \"petra\",\n"
    "    { \"name\": \"petra\", \"label\": \"petra, ideal\", \"overlap\": \"ideal\" } ],\n"
    "  \"batch\": { \"microbatch\": { \"from\": 2, \"to\": 42, \"step\": 2 },\n"
    "             \"accumulation\": { \"from\": 1, \"to\": 512, \"times\": 2 } },\n"
    "  \"objective\": \"fastest\" }\n";

static double wall_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_plan: %s\n", what);
    exit(1);
}

static void read_goal(struct psim_goal *goal)
{
    const struct psim_cli_values values = {.catalogue = NULL};
    const struct psim_catalogue catalogue = psim_cli_catalogue(&values);
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    char path[] = "/tmp/bench_plan_XXXXXX";
    const int file = mkstemp(path);

    if (file < 0 || write(file, goal_text, sizeof goal_text - 1) != (ssize_t)sizeof goal_text - 1)
        die("no file for the goal");
    close(file);
    if (psim_goal_read(path, &catalogue, goal, &list) != PSIM_OK)
        die("the goal cannot be read");
    unlink(path);
    psim_diagnostics_release(&list);
}

/* A plan without confirmation, or with it. */
static void measure_plan(const struct psim_goal *goal, bool confirm, int workers, const char *end)
{
    const struct psim_plan_options options = {.workers = workers, .confirm = confirm};
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_plan plan;
    const double start_s = wall_s();
    double seconds;

    if (psim_plan_run(goal, &options, &plan, &err) != PSIM_OK)
        die(err.message);
    seconds = wall_s() - start_s;
    printf("  \"%s\": {\"plans\": %lld, \"seconds\": %.2f, \"plans_per_s\": %.0f, "
           "\"discarded_by_bound\": %lld, \"replayed\": %lld, \"confirmed\": %lld}%s\n",
           confirm ? "with_confirmation" : "decided", (long long)plan.counts.plans, seconds,
           (double)plan.counts.plans / seconds,
           (long long)(plan.counts.over_memory + plan.counts.over_limit + plan.counts.dominated),
           (long long)plan.counts.replayed, (long long)plan.counts.confirmed, end);
    psim_plan_release(&plan);
}

/* Bounds alone. */
static void measure_bounds(const struct psim_goal *goal)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_plan plan = {.arena = PSIM_ARENA_INIT,
                             .goal = goal,
                             .unsupported = "",
                             .reserve = psim_fit_reserve_default};
    const double start_s = wall_s();
    double seconds;

    if (psim_plan_space(&plan, &err) != PSIM_OK)
        die(err.message);
    seconds = wall_s() - start_s;
    printf("  \"bounded\": {\"plans\": %lld, \"seconds\": %.2f, \"plans_per_s\": %.0f},\n",
           (long long)plan.counts.plans, seconds, (double)plan.counts.plans / seconds);
    psim_plan_release(&plan);
}

/* The same plan again and again: one_f_one_b of so many stages and micro-batches. */
static void measure_replay(const struct psim_goal *goal, int stages, int64_t microbatches,
                           const struct psim_engine *engine, const char *name, const char *end)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_workload_options options = goal->base.workload;
    const struct psim_method *method = psim_method_find("one_f_one_b");
    struct psim_shape shape = {.streams = 2};
    struct psim_workload workload;
    struct psim_program program;
    struct psim_platform platform = goal->platforms[0].platform;
    double start_s, seconds = 0;
    int runs = 0;

    options.microbatch = 16;
    options.partition = PSIM_PARTITION_BALANCED;
    platform.device_count = stages;
    psim_method_defaults(method, microbatches, &shape);
    if (psim_workload_build(goal->models[0].model, &platform, &options, &workload, &err) !=
            PSIM_OK ||
        psim_program_build(method, &shape, &workload, &platform, PSIM_ACCOUNTING_FULL, &program,
                           &err) != PSIM_OK)
        die(err.message);
    start_s = wall_s();
    for (; seconds < 1 || runs < 3; seconds = wall_s() - start_s, runs++) {
        struct psim_simulation simulation;

        if (engine->run(&program, NULL, &simulation, &err) != PSIM_OK)
            die(err.message);
        psim_simulation_release(&simulation);
    }
    printf("    {\"engine\": \"%s\", \"stages\": %d, \"microbatches\": %lld, \"plans_per_s\": "
           "%.1f}%s\n",
           name, stages, (long long)microbatches, runs / seconds, end);
    psim_program_release(&program);
    psim_workload_release(&workload);
}

int main(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    struct psim_goal goal;

    read_goal(&goal);
    printf("{\n  \"cores\": %ld,\n", cores);
    measure_bounds(&goal);
    fflush(stdout);
    measure_plan(&goal, false, (int)cores, ",");
    fflush(stdout);
    measure_plan(&goal, true, (int)cores, ",");
    printf("  \"replayed\": [\n");
    measure_replay(&goal, 8, 512, &psim_engine_replay, "whole", ",");
    measure_replay(&goal, 8, 512, &psim_engine_steady, "steady state counted", ",");
    measure_replay(&goal, 32, 512, &psim_engine_replay, "whole", ",");
    measure_replay(&goal, 32, 512, &psim_engine_steady, "steady state counted", ",");
    measure_replay(&goal, 64, 512, &psim_engine_replay, "whole", ",");
    measure_replay(&goal, 64, 512, &psim_engine_steady, "steady state counted", "");
    printf("  ]\n}\n");
    psim_goal_release(&goal);
    return 0;
}

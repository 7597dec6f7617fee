/* MAP_ANONYMOUS is not POSIX 2008. */
#define _DEFAULT_SOURCE
#include "tests/support/pipeline.h"

#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static void must(enum psim_status status, const struct psim_error *err)
{
    if (status != PSIM_OK)
        fail_msg("%s: %s", err->where, err->message);
}

static void build_chain(struct psim_platform *platform, int count, double bandwidth_bytes_per_s,
                        double latency_s, double gain)
{
    struct psim_error err = PSIM_ERROR_INIT;
    const struct psim_device device = {
        .name = "test", .memory_bytes = INT64_C(1) << 50, .concurrency_gain = gain};
    int type, before = -1;

    must(psim_platform_init(platform, "chain", &err), &err);
    must(psim_platform_add_type(platform, "gpu", &device, &type, &err), &err);
    for (int i = 0; i < count; i++) {
        char name[32];
        int vertex;

        snprintf(name, sizeof name, "gpu%d", i);
        must(psim_platform_add_vertex(platform, name, type, -1, &vertex, &err), &err);
        snprintf(name, sizeof name, "link%d", i);
        if (before >= 0)
            must(psim_platform_add_link(platform, name, before, vertex, bandwidth_bytes_per_s,
                                        latency_s, PSIM_DUPLEX, &err),
                 &err);
        before = vertex;
    }
    must(psim_platform_finish(platform, 0, &err), &err);
}

void test_pipeline_init(struct test_pipeline *pipeline, const struct test_stage *stages, int count,
                        double bandwidth_bytes_per_s, double latency_s, double gain)
{
    struct psim_workload *w = &pipeline->workload;

    *pipeline = (struct test_pipeline){.gain = gain};
    build_chain(&pipeline->platform, count, bandwidth_bytes_per_s, latency_s, gain);
    w->model_name = "test";
    w->given = true;
    w->stage_count = count;
    w->stages = psim_arena_alloc(&w->arena, (size_t)count, sizeof *w->stages);
    for (int j = 0; j < count; j++) {
        w->reversible_blocks += stages[j].reversible ? 1 : 0;
        w->stages[j] = (struct psim_stage){
            .name = "stage",
            .first_block = j,
            .block_count = 1,
            .device = j,
            .reversible = stages[j].reversible,
            .forward_s = stages[j].forward,
            .reconstruct_s = stages[j].reconstruct,
            .backward_input_s = stages[j].backward / 2,
            .backward_weight_s = stages[j].backward / 2,
            .update_s = stages[j].update,
            .input_bytes = stages[j].message,
            .output_bytes = j + 1 < count ? stages[j + 1].message : 0,
            .parameter_bytes = 1000,
            .gradient_bytes = 1000,
            .graph_bytes = 100,
            .recompute_graph_bytes = 100,
            .memory_bytes = INT64_C(1) << 50,
        };
    }
}

void test_pipeline_unit(struct test_pipeline *pipeline, int count, bool reversible)
{
    struct test_stage *stages = calloc((size_t)count, sizeof *stages);

    for (int j = 0; j < count; j++)
        stages[j] = (struct test_stage){1, 1, 2, 0, 4, reversible};
    test_pipeline_init(pipeline, stages, count, 1e30, 0, 0);
    free(stages);
}

void test_pipeline_place(struct test_pipeline *pipeline, struct psim_platform *platform,
                         const int *placement)
{
    psim_platform_release(&pipeline->platform);
    pipeline->platform = *platform;
    *platform = (struct psim_platform){0};
    for (int j = 0; j < pipeline->workload.stage_count; j++)
        pipeline->workload.stages[j].device = placement[j];
}

void test_pipeline_release(struct test_pipeline *pipeline)
{
    psim_platform_release(&pipeline->platform);
    psim_arena_release(&pipeline->workload.arena);
}

struct psim_shape test_shape(const struct psim_method *method, int64_t accumulation)
{
    struct psim_shape shape = {.accumulation = accumulation};

    for (int i = 0; method->options != NULL && method->options[i] != NULL; i++) {
        const int64_t fallback = method->options[i]->fallback;

        shape.options[i] = fallback == PSIM_FROM_BATCH ? accumulation : fallback;
    }
    return shape;
}

void test_set(const struct psim_method *method, struct psim_shape *shape, const char *option,
              const char *value)
{
    for (int i = 0; method->options != NULL && method->options[i] != NULL; i++) {
        const struct psim_option *o = method->options[i];

        if (strcmp(o->name, option) != 0)
            continue;
        if (o->kind != PSIM_OPTION_CHOICE) {
            shape->options[i] = atoll(value);
            return;
        }
        for (int c = 0; o->choices[c] != NULL; c++) {
            if (strcmp(o->choices[c], value) == 0) {
                shape->options[i] = c;
                return;
            }
        }
    }
    fail_msg("%s has no option %s = %s", method->name, option, value);
}

static void build(const struct test_pipeline *pipeline, const struct psim_method *method,
                  const struct psim_shape *shape, struct psim_program *program)
{
    struct psim_error err = PSIM_ERROR_INIT;

    must(psim_program_build(method, shape, &pipeline->workload, &pipeline->platform,
                            PSIM_ACCOUNTING_FULL, program, &err),
         &err);
    program->conditions = pipeline->conditions;
}

struct psim_simulation test_run(const struct test_pipeline *pipeline,
                                const struct psim_method *method, const struct psim_shape *shape,
                                const struct psim_engine *engine)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_simulation simulation = {0};
    struct psim_program program;

    build(pipeline, method, shape, &program);
    must(psim_engine_run(engine, &program, NULL, &simulation, &err), &err);
    psim_program_release(&program);
    return simulation;
}

static void log_event(struct test_log *log, struct test_event event)
{
    if (log->count < log->capacity)
        log->events[log->count++] = event;
}

static void log_action(void *user, int stage, int slot, const struct psim_action *action,
                       double start_s, double end_s)
{
    (void)slot;
    log_event(user,
              (struct test_event){stage, -1, action->passes, action->microbatch, start_s, end_s});
}

static void log_transfer(void *user, int hop, int direction, int64_t microbatch, double start_s,
                         double end_s)
{
    log_event(user, (struct test_event){hop, direction, 0, microbatch, start_s, end_s});
}

static size_t log_bytes(int capacity)
{
    return sizeof(struct test_log) + (size_t)capacity * sizeof(struct test_event);
}

/* The log lies in memory that the engine's child shares. */
struct test_log *test_run_logged(const struct test_pipeline *pipeline,
                                 const struct psim_method *method, const struct psim_shape *shape,
                                 const struct psim_engine *engine, int capacity)
{
    struct test_log *log =
        mmap(NULL, log_bytes(capacity), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const struct psim_observer observer = {
        .user = log, .action = log_action, .transfer = log_transfer};
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_simulation simulation = {0};
    struct psim_program program;

    assert_true(log != MAP_FAILED);
    log->capacity = capacity;
    build(pipeline, method, shape, &program);
    must(psim_engine_run(engine, &program, &observer, &simulation, &err), &err);
    psim_program_release(&program);
    psim_simulation_release(&simulation);
    return log;
}

void test_log_free(struct test_log *log)
{
    munmap(log, log_bytes(log->capacity));
}

const struct test_event *test_log_find(const struct test_log *log, int stage, int direction,
                                       unsigned passes, int64_t microbatch)
{
    for (int i = 0; i < log->count; i++) {
        const struct test_event *e = &log->events[i];

        if (e->stage == stage && e->direction == direction && e->microbatch == microbatch &&
            (passes == 0 || (e->passes & passes) != 0))
            return e;
    }
    fail_msg("no event at %d, direction %d, passes %u, micro-batch %lld", stage, direction, passes,
             (long long)microbatch);
    return NULL;
}

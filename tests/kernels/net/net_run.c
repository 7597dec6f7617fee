#include "tests/kernels/net/net_run.h"

#include "sim/base/memory.h"
#include "sim/base/random.h"

#include <math.h>
#include <string.h>

#define EVERY_PASS ((1U << PK_PASSES) - 1)

static size_t largest(const size_t bytes[PK_PASSES], unsigned passes)
{
    size_t most = 0;

    for (int i = 0; i < PK_PASSES; i++)
        if ((passes >> i & 1U) && bytes[i] > most)
            most = bytes[i];
    return most;
}

/* Every block of a stage's memory: what it is counted as, how large, and where its pointer is. */
struct part {
    enum pk_category category;
    size_t bytes;
    void **block;
};

#define PARTS 11

static void list_parts(struct net_memory *m, struct part parts[PARTS])
{
    const struct pk_stage_sizes *s = m->sizes;
    const size_t labels = s->loss_rows * sizeof(int32_t);
    const struct part all[PARTS] = {
        {PK_PARAMETERS, s->parameter_bytes, (void **)&m->call.parameters},
        {PK_GRADIENTS, s->gradient_bytes, (void **)&m->call.gradients},
        {PK_OPTIMIZER_STATE, s->velocity_bytes, (void **)&m->velocity},
        {PK_STATISTICS, s->statistics_bytes, (void **)&m->call.statistics},
        {PK_GRAPH, m->graph_bytes, &m->call.graph},
        {PK_WORKSPACE, m->workspace_bytes, &m->call.workspace},
        {PK_INPUTS, s->input_bytes, &m->call.in},
        {PK_MESSAGES, s->input_bytes, (void **)&m->call.din},
        {PK_MESSAGES, s->output_bytes, (void **)&m->call.out},
        {PK_DATA, labels, (void **)&m->call.labels},
        {PK_DATA, s->loss_rows * sizeof(float), (void **)&m->call.loss},
    };

    memcpy(parts, all, sizeof(all));
}

static enum psim_status start_values(struct pk_stage *stage, uint64_t seed, struct net_memory *m,
                                     struct psim_error *err)
{
    const struct pk_backend *backend = m->context->backend;
    float *parameters = psim_alloc(m->sizes->parameter_bytes + 1, 1);
    float *statistics = psim_alloc(m->sizes->statistics_bytes + 1, 1);
    enum psim_status status = PSIM_OK;

    if (parameters == NULL || statistics == NULL)
        status = psim_fail(err, PSIM_ERR_NOMEM, "memory", "out of memory");
    if (status == PSIM_OK) {
        pk_stage_initial(stage, seed, false, parameters, statistics);
        if (m->sizes->parameter_bytes > 0)
            status = backend->upload(m->context, (void *)(uintptr_t)m->call.parameters, parameters,
                                     m->sizes->parameter_bytes, err);
    }
    if (status == PSIM_OK && m->sizes->statistics_bytes > 0)
        status = backend->upload(m->context, m->call.statistics, statistics,
                                 m->sizes->statistics_bytes, err);
    if (status == PSIM_OK && m->sizes->parameter_bytes > 0) {
        status = backend->clear(m->context, m->call.gradients, m->sizes->gradient_bytes, err);
        if (status == PSIM_OK)
            status = backend->clear(m->context, m->velocity, m->sizes->velocity_bytes, err);
    }
    psim_free(parameters);
    psim_free(statistics);
    return status;
}

enum psim_status net_memory_new(struct pk_stage *stage, struct pk_context *context, unsigned passes,
                                uint64_t seed, struct net_memory *memory, struct psim_error *err)
{
    struct net_memory made = {.context = context, .sizes = pk_stage_sizes(stage)};
    struct part parts[PARTS];
    enum psim_status status = PSIM_OK;

    made.graph_bytes = largest(made.sizes->graph_bytes, passes);
    made.workspace_bytes = largest(made.sizes->workspace_bytes, passes);
    list_parts(&made, parts);
    for (int i = 0; i < PARTS && status == PSIM_OK; i++)
        status = pk_allocate(context, parts[i].category, parts[i].bytes, parts[i].block, err);
    if (status == PSIM_OK)
        status = start_values(stage, seed, &made, err);
    if (status == PSIM_OK)
        *memory = made;
    else
        net_memory_release(&made);
    return status;
}

void net_memory_release(struct net_memory *memory)
{
    struct part parts[PARTS];

    if (memory->sizes == NULL)
        return;
    list_parts(memory, parts);
    for (int i = 0; i < PARTS; i++)
        pk_release(memory->context, parts[i].category, parts[i].bytes, *parts[i].block);
    *memory = (struct net_memory){.context = NULL};
}

enum psim_status net_run_new(struct pk_context *context, const struct pk_net *net, int microbatch,
                             enum pk_statistics statistics, uint64_t seed, struct net_run *run,
                             struct psim_error *err)
{
    const struct pk_stage_spec spec = {.microbatch = microbatch, .statistics = statistics};
    enum psim_status status;

    memset(run, 0, sizeof(*run));
    run->context = context;
    status = pk_net_stages(context, net, &spec, run->stages, err);
    if (status != PSIM_OK)
        return status;
    run->count = net->block_count;
    for (int i = 0; i < run->count && status == PSIM_OK; i++)
        status = net_memory_new(run->stages[i], context, EVERY_PASS, seed, &run->memory[i], err);
    run->account = context->account;
    return status;
}

void net_run_release(struct net_run *run)
{
    for (int i = 0; i < run->count; i++) {
        net_memory_release(&run->memory[i]);
        pk_stage_free(run->stages[i]);
    }
    run->count = 0;
}

static enum pk_pass backward_pass(const struct net_run *run, int index, enum net_way way)
{
    if (way == NET_STORED || index == run->count - 1)
        return PK_BACKWARD_GRAPH;
    if (way == NET_RECOMPUTED || !pk_stage_is_reversible(run->stages[index]))
        return PK_BACKWARD_INPUT;
    return way == NET_REVERSED ? PK_BACKWARD_OUTPUT : PK_BACKWARD_NAIVE;
}

/* The reversible stages' inputs are overwritten before, so that only a rebuilt one can serve. */
static enum psim_status spoil(struct net_run *run, int index, struct psim_error *err)
{
    const struct net_memory *m = &run->memory[index];

    return run->context->backend->clear(run->context, m->call.in, m->sizes->input_bytes, err);
}

static enum psim_status backward(struct net_run *run, enum net_way way, struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int i = run->count - 1; i >= 0 && status == PSIM_OK; i--) {
        const enum pk_pass pass = backward_pass(run, i, way);
        struct net_memory *m = &run->memory[i];

        if (i < run->count - 1)
            m->call.dout = run->memory[i + 1].call.din;
        if (pass == PK_BACKWARD_OUTPUT || pass == PK_BACKWARD_NAIVE) {
            /* What the stage after it rebuilt, or kept, is this one's output. */
            status = run->context->backend->copy(
                run->context, m->call.out, run->memory[i + 1].call.in, m->sizes->output_bytes, err);
            if (status == PSIM_OK)
                status = spoil(run, i, err);
        }
        if (status == PSIM_OK)
            status = pk_stage_run(run->stages[i], pass, &m->call, err);
    }
    return status;
}

static enum psim_status forward(struct net_run *run, enum net_way way, struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int i = 0; i < run->count && status == PSIM_OK; i++) {
        const bool graph = backward_pass(run, i, way) == PK_BACKWARD_GRAPH;
        struct net_memory *m = &run->memory[i];

        status = pk_stage_run(run->stages[i], graph ? PK_FORWARD_GRAPH : PK_FORWARD, &m->call, err);
        if (status == PSIM_OK && i < run->count - 1)
            status = run->context->backend->copy(run->context, run->memory[i + 1].call.in,
                                                 m->call.out, m->sizes->output_bytes, err);
    }
    return status;
}

static enum psim_status prepare(struct net_run *run, const void *samples, const int32_t *labels,
                                struct psim_error *err)
{
    const struct pk_backend *backend = run->context->backend;
    const struct net_memory *last = &run->memory[run->count - 1];
    enum psim_status status = backend->upload(run->context, run->memory[0].call.in, samples,
                                              run->memory[0].sizes->input_bytes, err);

    if (status == PSIM_OK)
        status = backend->upload(run->context, (void *)(uintptr_t)last->call.labels, labels,
                                 last->sizes->loss_rows * sizeof(*labels), err);
    for (int i = 0; i < run->count && status == PSIM_OK; i++)
        if (run->memory[i].sizes->gradient_bytes > 0)
            status = backend->clear(run->context, run->memory[i].call.gradients,
                                    run->memory[i].sizes->gradient_bytes, err);
    return status;
}

static enum psim_status mean_loss(struct net_run *run, double *loss, struct psim_error *err)
{
    const struct net_memory *last = &run->memory[run->count - 1];
    const size_t rows = last->sizes->loss_rows;
    float *values = psim_alloc(rows, sizeof(*values));
    enum psim_status status;
    double sum = 0;

    if (values == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "loss", "out of memory");
    status = run->context->backend->download(run->context, values, last->call.loss,
                                             rows * sizeof(*values), err);
    for (size_t i = 0; i < rows; i++)
        sum += (double)values[i];
    if (status == PSIM_OK)
        *loss = sum / (double)rows;
    psim_free(values);
    return status;
}

enum psim_status net_run_step(struct net_run *run, const void *samples, const int32_t *labels,
                              enum net_way way, double *loss, struct psim_error *err)
{
    enum psim_status status = prepare(run, samples, labels, err);

    if (status == PSIM_OK)
        status = forward(run, way, err);
    if (status == PSIM_OK)
        status = backward(run, way, err);
    if (status == PSIM_OK)
        status = run->context->backend->wait(run->context, err);
    if (status == PSIM_OK && loss != NULL)
        status = mean_loss(run, loss, err);
    return status;
}

void net_fill(float *values, size_t count, uint64_t seed, uint64_t what)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits[2];

        psim_random_bits(seed, i, what, bits);
        values[i] = (float)(2 * psim_random_unit(bits[0]) - 1);
    }
}

double net_worse(double a, double b)
{
    return isnan(a) || b <= a ? a : b;
}

double net_distance(const float *a, const float *b, size_t count)
{
    double difference = 0, norm = 0;

    for (size_t i = 0; i < count; i++) {
        const double d = (double)a[i] - (double)b[i];

        difference += d * d;
        norm += (double)b[i] * (double)b[i];
    }
    return difference == 0 ? 0 : sqrt(difference / norm);
}

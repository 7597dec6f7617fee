#include "tests/kernels/net/reversal.h"

#include "sim/base/memory.h"
#include "sim/base/random.h"
#include "tests/kernels/net/net_run.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BLOCKS_MAX 128

/* Box-Muller. */
static void fill_normal(float *values, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t bits[2];

        psim_random_bits(seed, i, UINT64_MAX, bits);
        values[i] = (float)(sqrt(-2 * log(psim_random_unit(bits[0]))) *
                            cos(2 * 3.14159265358979323846 * psim_random_unit(bits[1])));
    }
}

/* The default's bound is sqrt(1 / fan in). */
static enum psim_status use_he(struct pk_stage *stage, const struct net_memory *memory,
                               uint64_t seed, struct psim_error *err)
{
    const size_t bytes = memory->sizes->parameter_bytes;
    float *values = psim_alloc(bytes, 1);
    const struct pk_tensor *tensors;
    enum psim_status status;
    int count;

    if (values == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "parameters", "out of memory");
    pk_stage_initial(stage, seed, false, values, NULL);
    tensors = pk_stage_tensors(stage, &count);
    for (int i = 0; i < count; i++)
        for (size_t k = 0; tensors[i].decay && k < tensors[i].count; k++)
            values[tensors[i].offset + k] *= sqrtf(6);
    status = memory->context->backend->upload(
        memory->context, (void *)(uintptr_t)memory->call.parameters, values, bytes, err);
    psim_free(values);
    return status;
}

static enum psim_status there_and_back(struct pk_stage *stage, const struct net_memory *memory,
                                       float *values, struct psim_error *err)
{
    const struct pk_backend *backend = memory->context->backend;
    const size_t bytes = memory->sizes->input_bytes;
    enum psim_status status = backend->upload(memory->context, memory->call.in, values, bytes, err);

    if (status == PSIM_OK)
        status = pk_stage_run(stage, PK_FORWARD, &memory->call, err);
    if (status == PSIM_OK)
        status = backend->clear(memory->context, memory->call.in, bytes, err);
    if (status == PSIM_OK)
        status = pk_stage_run(stage, PK_INVERSE, &memory->call, err);
    if (status == PSIM_OK)
        status = backend->wait(memory->context, err);
    return status == PSIM_OK
               ? backend->download(memory->context, values, memory->call.in, bytes, err)
               : status;
}

static struct reversal_error compare(const float *got, const float *want, size_t count)
{
    struct reversal_error error = {.relative = net_distance(got, want, count)};

    for (size_t i = 0; i < count; i++) {
        const double off = fabs((double)got[i] - (double)want[i]);

        error.max_absolute = net_worse(error.max_absolute, off);
        error.input_rms += (double)want[i] * (double)want[i];
    }
    error.input_rms = sqrt(error.input_rms / (double)count);
    return error;
}

static enum psim_status measure(struct pk_stage *stage, struct pk_context *context,
                                const struct reversal *what, struct reversal_error *out,
                                struct psim_error *err)
{
    const size_t count = pk_stage_sizes(stage)->input_bytes / sizeof(float);
    float *want = psim_alloc(count, sizeof(*want)), *got = psim_alloc(count, sizeof(*got));
    struct net_memory memory = {.context = NULL};
    enum psim_status status = PSIM_OK;

    if (want == NULL || got == NULL)
        status = psim_fail(err, PSIM_ERR_NOMEM, "input", "out of memory");
    if (status == PSIM_OK)
        status = net_memory_new(stage, context, 1U << PK_FORWARD | 1U << PK_INVERSE, what->seed,
                                &memory, err);
    if (status == PSIM_OK && what->he)
        status = use_he(stage, &memory, what->seed, err);
    if (status == PSIM_OK) {
        fill_normal(want, count, what->seed);
        memcpy(got, want, count * sizeof(*got));
        status = there_and_back(stage, &memory, got, err);
    }
    if (status == PSIM_OK)
        *out = compare(got, want, count);
    net_memory_release(&memory);
    psim_free(want);
    psim_free(got);
    return status;
}

enum psim_status reversal_measure(struct pk_context *context, const struct reversal *what,
                                  struct reversal_error *out, struct psim_error *err)
{
    struct pk_block_spec blocks[BLOCKS_MAX];
    char names[BLOCKS_MAX][16];
    struct pk_stage_spec spec = {
        .blocks = blocks,
        .block_count = what->blocks,
        .input = {.streams = 2, .channels = what->width, .height = what->size, .width = what->size},
        .microbatch = what->microbatch};
    struct pk_stage *stage = NULL;
    enum psim_status status;

    if (what->blocks > BLOCKS_MAX)
        return psim_fail(err, PSIM_ERR_RANGE, "blocks", "are more than %d", BLOCKS_MAX);
    for (int i = 0; i < what->blocks; i++) {
        snprintf(names[i], sizeof(names[i]), "%d", i);
        blocks[i] = (struct pk_block_spec){.kind = what->kind,
                                           .name = names[i],
                                           .ordinal = i,
                                           .width = what->width,
                                           .stride = 1,
                                           .kernel = what->kernel};
    }
    status = pk_stage_new(context, &spec, &stage, err);
    if (status == PSIM_OK)
        status = measure(stage, context, what, out, err);
    pk_stage_free(stage);
    return status;
}

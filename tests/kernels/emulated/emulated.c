#include "tests/kernels/emulated/emulated.h"

#include "kernels/cuda/cuda.h"
#include "kernels/host/host.h"
#include "kernels/ref/ref.h"

#include "sim/base/memory.h"

#include <stdio.h>
#include <string.h>

/* The thread that runs as number i: forward, backward, or scattered. */
static uint32_t thread_at(const struct cuda_context *context, uint32_t i)
{
    switch (context->base.options.threads) {
    case 2:
        return PK_THREADS - 1 - i;
    case 3:
        return i * 89 % PK_THREADS; /* 89 is odd: every thread once */
    default:
        return i;
    }
}

/* Shared memory begins as NaN, so that what no thread has written shows. */
#define LAUNCH(kernel, phases, memory)                                                             \
    static enum psim_status launch_##kernel(struct cuda_context *context, size_t blocks,           \
                                            const struct cuda_##kernel *args,                      \
                                            struct psim_error *err)                                \
    {                                                                                              \
        struct memory shared;                                                                      \
        (void)err;                                                                                 \
        for (size_t block = 0; block < blocks; block++) {                                          \
            memset(&shared, 0xff, sizeof(shared));                                                 \
            for (int phase = 0; phase < (phases); phase++)                                         \
                for (uint32_t i = 0; i < PK_THREADS; i++)                                          \
                    cuda_##kernel##_body(args,                                                     \
                                         (struct cuda_at){(uint32_t)block, (uint32_t)blocks,       \
                                                          thread_at(context, i)},                  \
                                         &shared, phase);                                          \
        }                                                                                          \
        return PSIM_OK;                                                                            \
    }
CUDA_KERNEL_MAP(LAUNCH)
#undef LAUNCH

static double element(const struct cuda_factor *factor, size_t i, enum pk_math math)
{
    const uint16_t *rounded = factor->data;
    uint32_t bits;
    float value;

    if (!factor->rounded)
        return ref_operand(((const float *)factor->data)[i], math);
    bits = (uint32_t)rounded[i] << 16;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void multiply_one(const struct cuda_product *p, size_t image, enum pk_math math)
{
    const size_t a_outer = p->a.transposed ? 1 : (size_t)p->a.row;
    const size_t a_inner = p->a.transposed ? (size_t)p->a.row : 1;
    const size_t b_outer = p->b.transposed ? (size_t)p->b.row : 1;
    const size_t b_inner = p->b.transposed ? 1 : (size_t)p->b.row;

    for (size_t i = 0; i < (size_t)p->m; i++)
        for (size_t j = 0; j < (size_t)p->n; j++) {
            float *c = p->c + image * p->c_stride + i * (size_t)p->c_row + j;
            double sum = 0;

            for (size_t l = 0; l < (size_t)p->k; l++)
                sum += element(&p->a, image * p->a.stride + i * a_outer + l * a_inner, math) *
                       element(&p->b, image * p->b.stride + j * b_outer + l * b_inner, math);
            *c = (float)(p->alpha * sum + (p->beta == 0 ? 0 : (double)p->beta * *c));
        }
}

/* What cuBLAS asks of its arguments holds here too. */
static enum psim_status multiply(struct cuda_context *context, const struct cuda_product *p,
                                 struct psim_error *err)
{
    (void)err;
    PSIM_ASSERT(p->m > 0 && p->n > 0 && p->k > 0 && p->batch > 0 && p->batch <= 65535);
    PSIM_ASSERT(p->a.rounded == p->b.rounded && p->c_row >= p->n);
    PSIM_ASSERT(p->a.row >= (p->a.transposed ? p->m : p->k));
    PSIM_ASSERT(p->b.row >= (p->b.transposed ? p->k : p->n));
    PSIM_ASSERT(p->a.rounded == (context->base.options.math == PK_MATH_BF16));
    for (size_t image = 0; image < (size_t)p->batch; image++)
        multiply_one(p, image, context->base.options.math);
    return PSIM_OK;
}

static const struct cuda_device device = {
#define MEMBER(kernel, phases, memory) .launch_##kernel = launch_##kernel,
    CUDA_KERNEL_MAP(MEMBER)
#undef MEMBER
        .multiply = multiply,
};

/* As cuDNN: asks for a workspace and for arrays at multiples of 16 bytes; takes what it can. */
#define LIBRARY_BYTES 1000

static bool library_plan(const struct cuda_context *context, enum cuda_pass pass,
                         const struct pk_conv_shape *shape, size_t *bytes)
{
    (void)context;
    *bytes = LIBRARY_BYTES + (size_t)pass;
    return shape->kernel == 3;
}

static enum psim_status library_run(struct cuda_context *context, enum cuda_pass pass,
                                    const struct pk_conv_shape *shape, const float *a,
                                    const float *b, float *out, bool accumulate,
                                    const struct pk_workspace *workspace, struct psim_error *err)
{
    const struct pk_conv_forward forward = {.shape = *shape, .x = a, .weight = b, .y = out};
    const struct pk_conv_backward_data data = {
        .shape = *shape, .dy = a, .weight = b, .dx = out, .accumulate = accumulate};
    const struct pk_conv_backward_weight weight = {
        .shape = *shape, .x = a, .dy = b, .dweight = out};

    PSIM_ASSERT(workspace->bytes >= LIBRARY_BYTES + (size_t)pass);
    PSIM_ASSERT(CUDA_ALIGNED(a, b, out));
    PSIM_ASSERT(accumulate ? pass != CUDA_FORWARD : pass != CUDA_BACKWARD_WEIGHT);
    memset(workspace->data, 0, LIBRARY_BYTES);
    switch (pass) {
    case CUDA_FORWARD:
        return ref_conv_forward(&context->base, &forward, workspace, err);
    case CUDA_BACKWARD_DATA:
        return ref_conv_backward_data(&context->base, &data, workspace, err);
    default:
        return ref_conv_backward_weight(&context->base, &weight, workspace, err);
    }
}

static const struct cuda_convolver library = {library_plan, library_run};

static void emulated_close(struct pk_context *context)
{
    psim_free(context);
}

static void emulated_describe(const struct pk_context *context, struct pk_description *description)
{
    *description = (struct pk_description){.threads = context->options.threads};
    snprintf(description->device, sizeof(description->device), "the host, for tests");
    snprintf(description->convolution, sizeof(description->convolution), "im2col + loops");
}

static const struct pk_backend backend = {
    .name = "cuda-emulated",
    .summary = "kernels of cuda, thread by thread on the host: for tests",
    .operations = &cuda_operations,
    .close = emulated_close,
    .describe = emulated_describe,
    PK_HOST_MEMORY,
};

enum psim_status emulated_open(void *state, const struct pk_options *options,
                               struct pk_context **context, struct psim_error *err)
{
    const struct emulated_device *like = state;
    struct cuda_context *made = psim_alloc(1, sizeof(*made));

    if (made == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "context", "out of memory");
    made->base.backend = &backend;
    made->base.options = *options;
    made->device = &device;
    made->processors = like->processors;
    made->grain = like->grain;
    made->column_limit = like->column_limit;
    made->convolver = like->library ? &library : NULL;
    *context = &made->base;
    return PSIM_OK;
}

/*
 * Convolutions by cuDNN, through its classic interface, which versions 8 and 9 share.
 *
 * Of the algorithms that it proposes only deterministic ones are taken, and neither Winograd's nor
 * Fourier's: their rounding is not that of a sum of products, to which the conformance program
 * and the inversion of reversible blocks hold a convolution.  A choice is made once per pass and
 * shape, when its workspace is asked for, and kept with its descriptors.
 */
#include "kernels/cuda/machine/cuda_machine.h"

#include "sim/base/memory.h"

#include <cudnn.h>
#include <stdio.h>

#define PROPOSALS       16
#define WORKSPACE_BYTES ((size_t)256 << 20) /* an algorithm that wants more is passed over */

/* One pass of one shape. */
struct choice {
    enum cuda_pass pass;
    struct pk_conv_shape shape;
    bool usable;
    int algorithm;
    size_t bytes;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t weight;
    cudnnConvolutionDescriptor_t convolution;
    struct choice *next;
};

struct cuda_cudnn {
    cudnnHandle_t handle;
    struct choice *choices;
};

static enum psim_status result(cudnnStatus_t code, const char *what, struct psim_error *err)
{
    if (code == CUDNN_STATUS_SUCCESS)
        return PSIM_OK;
    return psim_fail(err, code == CUDNN_STATUS_ALLOC_FAILED ? PSIM_ERR_NOMEM : PSIM_ERR_IO,
                     "device", "%s failed: cuDNN says %s", what, cudnnGetErrorString(code));
}

/* What the three kinds of proposal have in common. */
struct proposal {
    int algorithm;
    bool success, deterministic;
    cudnnMathType_t math;
};

static bool sums_products(enum cuda_pass pass, int algorithm)
{
    switch (pass) {
    case CUDA_FORWARD:
        return algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ||
               algorithm == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM ||
               algorithm == CUDNN_CONVOLUTION_FWD_ALGO_GEMM ||
               algorithm == CUDNN_CONVOLUTION_FWD_ALGO_DIRECT;
    case CUDA_BACKWARD_DATA:
        return algorithm == CUDNN_CONVOLUTION_BWD_DATA_ALGO_1;
    default:
        return algorithm == CUDNN_CONVOLUTION_BWD_FILTER_ALGO_1;
    }
}

#define TAKE_PROPOSALS(from)                                                                       \
    for (int i = 0; i < count; i++)                                                                \
        proposals[i] = (struct proposal)                                                           \
        {                                                                                          \
            (int)(from)[i].algo, (from)[i].status == CUDNN_STATUS_SUCCESS,                         \
                (from)[i].determinism == CUDNN_DETERMINISTIC, (from)[i].mathType                   \
        }

/* The proposals for a pass, best first; returns their number. */
static int proposals_of(cudnnHandle_t handle, const struct choice *c, struct proposal *proposals)
{
    cudnnConvolutionFwdAlgoPerf_t forward[PROPOSALS];
    cudnnConvolutionBwdDataAlgoPerf_t data[PROPOSALS];
    cudnnConvolutionBwdFilterAlgoPerf_t weight[PROPOSALS];
    int count = 0;

    switch (c->pass) {
    case CUDA_FORWARD:
        if (cudnnGetConvolutionForwardAlgorithm_v7(handle, c->x, c->weight, c->convolution, c->y,
                                                   PROPOSALS, &count,
                                                   forward) != CUDNN_STATUS_SUCCESS)
            return 0;
        TAKE_PROPOSALS(forward);
        return count;
    case CUDA_BACKWARD_DATA:
        if (cudnnGetConvolutionBackwardDataAlgorithm_v7(handle, c->weight, c->y, c->convolution,
                                                        c->x, PROPOSALS, &count,
                                                        data) != CUDNN_STATUS_SUCCESS)
            return 0;
        TAKE_PROPOSALS(data);
        return count;
    default:
        if (cudnnGetConvolutionBackwardFilterAlgorithm_v7(handle, c->x, c->y, c->convolution,
                                                          c->weight, PROPOSALS, &count,
                                                          weight) != CUDNN_STATUS_SUCCESS)
            return 0;
        TAKE_PROPOSALS(weight);
        return count;
    }
}

static cudnnStatus_t workspace_of(cudnnHandle_t handle, struct choice *c)
{
    switch (c->pass) {
    case CUDA_FORWARD:
        return cudnnGetConvolutionForwardWorkspaceSize(
            handle, c->x, c->weight, c->convolution, c->y, (cudnnConvolutionFwdAlgo_t)c->algorithm,
            &c->bytes);
    case CUDA_BACKWARD_DATA:
        return cudnnGetConvolutionBackwardDataWorkspaceSize(
            handle, c->weight, c->y, c->convolution, c->x,
            (cudnnConvolutionBwdDataAlgo_t)c->algorithm, &c->bytes);
    default:
        return cudnnGetConvolutionBackwardFilterWorkspaceSize(
            handle, c->x, c->y, c->convolution, c->weight,
            (cudnnConvolutionBwdFilterAlgo_t)c->algorithm, &c->bytes);
    }
}

/* In fp32 the descriptor itself forbids tensor cores. */
static bool choose(cudnnHandle_t handle, struct choice *c, enum pk_math math)
{
    struct proposal proposals[PROPOSALS];
    const int count = proposals_of(handle, c, proposals);

    for (int i = 0; i < count; i++) {
        const cudnnMathType_t with = math == PK_MATH_FP32 ? CUDNN_FMA_MATH : proposals[i].math;

        /* The last would round operands to fp16. */
        if (!proposals[i].success || !proposals[i].deterministic ||
            with == CUDNN_TENSOR_OP_MATH_ALLOW_CONVERSION ||
            !sums_products(c->pass, proposals[i].algorithm))
            continue;
        c->algorithm = proposals[i].algorithm;
        if (cudnnSetConvolutionMathType(c->convolution, with) == CUDNN_STATUS_SUCCESS &&
            workspace_of(handle, c) == CUDNN_STATUS_SUCCESS && c->bytes <= WORKSPACE_BYTES)
            return true;
    }
    return false;
}

static bool describe(struct choice *c, enum pk_math math)
{
    const struct pk_conv_shape *s = &c->shape;
    const int p = pk_window_out(s->h, s), q = pk_window_out(s->w, s);

    return cudnnCreateTensorDescriptor(&c->x) == CUDNN_STATUS_SUCCESS &&
           cudnnCreateTensorDescriptor(&c->y) == CUDNN_STATUS_SUCCESS &&
           cudnnCreateFilterDescriptor(&c->weight) == CUDNN_STATUS_SUCCESS &&
           cudnnCreateConvolutionDescriptor(&c->convolution) == CUDNN_STATUS_SUCCESS &&
           cudnnSetTensor4dDescriptor(c->x, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, s->n, s->c, s->h,
                                      s->w) == CUDNN_STATUS_SUCCESS &&
           cudnnSetTensor4dDescriptor(c->y, CUDNN_TENSOR_NCHW, CUDNN_DATA_FLOAT, s->n, s->k, p,
                                      q) == CUDNN_STATUS_SUCCESS &&
           cudnnSetFilter4dDescriptor(c->weight, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, s->k, s->c,
                                      s->kernel, s->kernel) == CUDNN_STATUS_SUCCESS &&
           cudnnSetConvolution2dDescriptor(c->convolution, s->pad, s->pad, s->stride, s->stride, 1,
                                           1, CUDNN_CROSS_CORRELATION,
                                           CUDNN_DATA_FLOAT) == CUDNN_STATUS_SUCCESS &&
           cudnnSetConvolutionMathType(c->convolution, math == PK_MATH_FP32 ? CUDNN_FMA_MATH
                                                                            : CUDNN_DEFAULT_MATH) ==
               CUDNN_STATUS_SUCCESS;
}

static void choice_free(struct choice *c)
{
    if (c->convolution != NULL)
        (void)cudnnDestroyConvolutionDescriptor(c->convolution);
    if (c->weight != NULL)
        (void)cudnnDestroyFilterDescriptor(c->weight);
    if (c->y != NULL)
        (void)cudnnDestroyTensorDescriptor(c->y);
    if (c->x != NULL)
        (void)cudnnDestroyTensorDescriptor(c->x);
    psim_free(c);
}

static bool same_shape(const struct pk_conv_shape *a, const struct pk_conv_shape *b)
{
    return a->n == b->n && a->c == b->c && a->h == b->h && a->w == b->w && a->k == b->k &&
           a->kernel == b->kernel && a->stride == b->stride && a->pad == b->pad;
}

/* Made when it is first asked for; NULL where host memory is out, which only loses the choice. */
static struct choice *choice_of(const struct cuda_context *context, enum cuda_pass pass,
                                const struct pk_conv_shape *shape)
{
    struct cuda_cudnn *cudnn = context->machine->cudnn;
    const enum pk_math math = context->base.options.math;
    struct choice *c = cudnn->choices;

    while (c != NULL && (c->pass != pass || !same_shape(&c->shape, shape)))
        c = c->next;
    if (c != NULL)
        return c;
    c = psim_alloc(1, sizeof(*c));
    if (c == NULL)
        return NULL;
    c->pass = pass;
    c->shape = *shape;
    c->usable =
        cuda_enter(context, NULL) == PSIM_OK && describe(c, math) && choose(cudnn->handle, c, math);
    c->next = cudnn->choices;
    cudnn->choices = c;
    return c;
}

static bool plan(const struct cuda_context *context, enum cuda_pass pass,
                 const struct pk_conv_shape *shape, size_t *bytes)
{
    const struct choice *c = choice_of(context, pass, shape);

    if (c == NULL || !c->usable)
        return false;
    *bytes = c->bytes;
    return true;
}

static enum psim_status run(struct cuda_context *context, enum cuda_pass pass,
                            const struct pk_conv_shape *shape, const float *a, const float *b,
                            float *out, bool accumulate, const struct pk_workspace *workspace,
                            struct psim_error *err)
{
    const struct choice *c = choice_of(context, pass, shape);
    cudnnHandle_t handle = context->machine->cudnn->handle;
    const float one = 1, old = accumulate ? 1 : 0;
    const enum psim_status status = cuda_enter(context, err);

    if (status != PSIM_OK)
        return status;
    PSIM_ASSERT(c != NULL && c->usable); /* it was planned */
    switch (pass) {
    case CUDA_FORWARD:
        return result(cudnnConvolutionForward(handle, &one, c->x, a, c->weight, b, c->convolution,
                                              (cudnnConvolutionFwdAlgo_t)c->algorithm,
                                              workspace->data, c->bytes, &old, c->y, out),
                      "a convolution", err);
    case CUDA_BACKWARD_DATA:
        return result(cudnnConvolutionBackwardData(handle, &one, c->weight, b, c->y, a,
                                                   c->convolution,
                                                   (cudnnConvolutionBwdDataAlgo_t)c->algorithm,
                                                   workspace->data, c->bytes, &old, c->x, out),
                      "a convolution", err);
    default:
        return result(cudnnConvolutionBackwardFilter(handle, &one, c->x, a, c->y, b, c->convolution,
                                                     (cudnnConvolutionBwdFilterAlgo_t)c->algorithm,
                                                     workspace->data, c->bytes, &old, c->weight,
                                                     out),
                      "a convolution", err);
    }
}

static const struct cuda_convolver convolver = {plan, run};

/* bf16 would come out of cuDNN rounded once more: there the columns are used throughout. */
enum psim_status cuda_cudnn_open(struct cuda_context *context, struct psim_error *err)
{
    struct cuda_cudnn *cudnn = psim_alloc(1, sizeof(*cudnn));
    enum psim_status status;

    if (cudnn == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "context", "out of memory");
    context->machine->cudnn = cudnn;
    status = result(cudnnCreate(&cudnn->handle), "opening cuDNN", err);
    if (status == PSIM_OK)
        status =
            result(cudnnSetStream(cudnn->handle, context->machine->stream), "cudnnSetStream", err);
    if (status == PSIM_OK && context->base.options.math != PK_MATH_BF16)
        context->convolver = &convolver;
    return status;
}

void cuda_cudnn_close(struct cuda_context *context)
{
    struct cuda_cudnn *cudnn = context->machine->cudnn;

    if (cudnn == NULL)
        return;
    while (cudnn->choices != NULL) {
        struct choice *next = cudnn->choices->next;

        choice_free(cudnn->choices);
        cudnn->choices = next;
    }
    if (cudnn->handle != NULL)
        (void)cudnnDestroy(cudnn->handle);
    psim_free(cudnn);
}

void cuda_cudnn_version(char *text, size_t size)
{
    const size_t v = cudnnGetVersion(), major = v >= 90000 ? 10000 : 1000; /* 9.x.y, 8.x.y */

    snprintf(text, size, "cuDNN %zu.%zu.%zu", v / major, v % major / 100, v % 100);
}

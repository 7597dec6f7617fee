/* The table of operations, and those on single elements. */
#include "kernels/cuda/cuda.h"

/* What a loop over spans of 4 is launched with. */
static size_t span_blocks(const struct cuda_context *context, size_t count)
{
    return cuda_blocks(context, count / 4 + 1);
}

enum psim_status cuda_run_relu_forward(struct pk_context *base, const struct pk_relu_forward *op,
                                       const struct pk_workspace *workspace, struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct cuda_relu relu = {.op = *op, .wide = CUDA_ALIGNED(op->x, op->y)};

    (void)workspace;
    return cuda_launch_relu(context, span_blocks(context, op->count), &relu, err);
}

enum psim_status cuda_run_relu_backward(struct pk_context *base, const struct pk_relu_backward *op,
                                        const struct pk_workspace *workspace,
                                        struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct cuda_relu_gradient relu = {.op = *op, .wide = CUDA_ALIGNED(op->y, op->dy, op->dx)};

    (void)workspace;
    return cuda_launch_relu_gradient(context, span_blocks(context, op->count), &relu, err);
}

enum psim_status cuda_run_add(struct pk_context *base, const struct pk_add *op,
                              const struct pk_workspace *workspace, struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct cuda_sum sum = {.op = *op, .wide = CUDA_ALIGNED(op->a, op->b, op->y)};

    (void)workspace;
    return cuda_launch_sum(context, span_blocks(context, op->count), &sum, err);
}

enum psim_status cuda_run_copy_rows(struct pk_context *base, const struct pk_copy_rows *op,
                                    const struct pk_workspace *workspace, struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const bool wide = (op->columns | op->source_stride | op->target_stride) % 4 == 0 &&
                      CUDA_ALIGNED(op->source, op->target);
    const size_t per_row = wide ? op->columns / 4 : op->columns;
    const struct cuda_rows rows = {
        .op = *op, .per_row = cuda_divider_of((uint32_t)per_row), .wide = wide};

    (void)workspace;
    return cuda_launch_rows(context, cuda_blocks(context, op->rows * per_row), &rows, err);
}

enum psim_status cuda_run_sgd(struct pk_context *base, const struct pk_sgd *op,
                              const struct pk_workspace *workspace, struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct cuda_step step = {.op = *op,
                                   .wide = CUDA_ALIGNED(op->gradient, op->velocity, op->weight)};

    (void)workspace;
    return cuda_launch_step(context, span_blocks(context, op->count), &step, err);
}

enum psim_status cuda_run_gelu_forward(struct pk_context *base, const struct pk_gelu_forward *op,
                                       const struct pk_workspace *workspace, struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct cuda_gelu gelu = {.op = *op, .wide = CUDA_ALIGNED(op->x, op->y)};

    (void)workspace;
    return cuda_launch_gelu(context, span_blocks(context, op->count), &gelu, err);
}

enum psim_status cuda_run_gelu_backward(struct pk_context *base, const struct pk_gelu_backward *op,
                                        const struct pk_workspace *workspace,
                                        struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct cuda_gelu_gradient gelu = {.op = *op, .wide = CUDA_ALIGNED(op->x, op->dy, op->dx)};

    (void)workspace;
    return cuda_launch_gelu_gradient(context, span_blocks(context, op->count), &gelu, err);
}

size_t cuda_workspace_count_bad(const struct pk_context *context, const struct pk_count_bad *op)
{
    return cuda_blocks(cuda_context_read(context), op->count) * sizeof(int64_t);
}

enum psim_status cuda_run_count_bad(struct pk_context *base, const struct pk_count_bad *op,
                                    const struct pk_workspace *workspace, struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const size_t blocks = cuda_blocks(context, op->count);
    const struct cuda_bad bad = {.op = *op, .partial = workspace->data};
    const struct cuda_total total = {
        .count = (int)blocks, .partial = workspace->data, .total = op->bad};
    const enum psim_status status = cuda_launch_bad(context, blocks, &bad, err);

    return status != PSIM_OK ? status : cuda_launch_total(context, 1, &total, err);
}

const struct pk_operations cuda_operations = {
#define CUDA_MEMBER(name, type) .run_##name = cuda_run_##name,
    PK_OPERATION_MAP(CUDA_MEMBER)
#undef CUDA_MEMBER
#define CUDA_MEMBER(name, type) .workspace_##name = cuda_workspace_##name,
        CUDA_WORKSPACE_MAP(CUDA_MEMBER)
#undef CUDA_MEMBER
};

/* Matrix products and linear layers. */
#include "kernels/cuda/cuda.h"

/* One product of whole matrices; rounds both factors first where the arithmetic asks. */
static enum psim_status multiply(struct cuda_context *context, struct cuda_product *product,
                                 const float *a, const float *b, struct cuda_scratch *scratch,
                                 struct psim_error *err)
{
    const size_t m = (size_t)product->m, n = (size_t)product->n, k = (size_t)product->k;
    enum psim_status status;

    product->batch = 1;
    product->a.row = product->a.transposed ? product->m : product->k;
    product->b.row = product->b.transposed ? product->k : product->n;
    product->c_row = product->n;
    status = cuda_operand(context, scratch, a, m * k, &product->a, err);
    if (status == PSIM_OK)
        status = cuda_operand(context, scratch, b, k * n, &product->b, err);
    return status != PSIM_OK ? status : cuda_multiply(context, product, err);
}

static size_t multiply_bytes(const struct cuda_context *context, size_t m, size_t n, size_t k)
{
    return cuda_operand_bytes(context, m * k) + cuda_operand_bytes(context, k * n);
}

static void *data_of(const struct pk_workspace *workspace)
{
    return workspace == NULL ? NULL : workspace->data;
}

size_t cuda_workspace_gemm(const struct pk_context *base, const struct pk_gemm *op)
{
    return multiply_bytes(cuda_context_read(base), (size_t)op->m, (size_t)op->n, (size_t)op->k);
}

enum psim_status cuda_run_gemm(struct pk_context *base, const struct pk_gemm *op,
                               const struct pk_workspace *workspace, struct psim_error *err)
{
    struct cuda_scratch scratch = {data_of(workspace)};
    struct cuda_product product = {.m = op->m,
                                   .n = op->n,
                                   .k = op->k,
                                   .a = {.transposed = op->transpose_a},
                                   .b = {.transposed = op->transpose_b},
                                   .c = op->c,
                                   .alpha = op->alpha,
                                   .beta = op->beta};

    return multiply(cuda_context_of(base), &product, op->a, op->b, &scratch, err);
}

size_t cuda_workspace_linear_forward(const struct pk_context *base,
                                     const struct pk_linear_forward *op)
{
    return multiply_bytes(cuda_context_read(base), (size_t)op->rows, (size_t)op->out,
                          (size_t)op->in);
}

/* y [rows, out] = x [rows, in] weight^T + bias */
enum psim_status cuda_run_linear_forward(struct pk_context *base,
                                         const struct pk_linear_forward *op,
                                         const struct pk_workspace *workspace,
                                         struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    struct cuda_scratch scratch = {data_of(workspace)};
    struct cuda_product product = {.m = op->rows,
                                   .n = op->out,
                                   .k = op->in,
                                   .b = {.transposed = true},
                                   .c = op->y,
                                   .alpha = 1};
    const enum psim_status status = multiply(context, &product, op->x, op->weight, &scratch, err);

    if (status != PSIM_OK)
        return status;
    return cuda_add_bias(context, op->y, op->bias, (size_t)op->rows * (size_t)op->out,
                         (size_t)op->out, 1, false, err);
}

size_t cuda_workspace_linear_backward_data(const struct pk_context *base,
                                           const struct pk_linear_backward_data *op)
{
    return multiply_bytes(cuda_context_read(base), (size_t)op->rows, (size_t)op->in,
                          (size_t)op->out);
}

/* dx [rows, in] = dy [rows, out] weight */
enum psim_status cuda_run_linear_backward_data(struct pk_context *base,
                                               const struct pk_linear_backward_data *op,
                                               const struct pk_workspace *workspace,
                                               struct psim_error *err)
{
    struct cuda_scratch scratch = {data_of(workspace)};
    struct cuda_product product = {.m = op->rows,
                                   .n = op->in,
                                   .k = op->out,
                                   .c = op->dx,
                                   .alpha = 1,
                                   .beta = op->accumulate ? 1 : 0};

    return multiply(cuda_context_of(base), &product, op->dy, op->weight, &scratch, err);
}

size_t cuda_workspace_linear_backward_weight(const struct pk_context *base,
                                             const struct pk_linear_backward_weight *op)
{
    const struct cuda_context *context = cuda_context_read(base);

    return multiply_bytes(context, (size_t)op->out, (size_t)op->in, (size_t)op->rows) +
           cuda_row_sums_bytes(context, (size_t)op->rows, (size_t)op->out);
}

/* dweight [out, in] += dy^T x, dbias += sums of dy */
enum psim_status cuda_run_linear_backward_weight(struct pk_context *base,
                                                 const struct pk_linear_backward_weight *op,
                                                 const struct pk_workspace *workspace,
                                                 struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    struct cuda_scratch scratch = {workspace->data};
    const struct cuda_row_sums sums = {
        .rows = (size_t)op->rows, .columns = (size_t)op->out, .dy = op->dy, .dshift = op->dbias};
    struct cuda_product product = {.m = op->out,
                                   .n = op->in,
                                   .k = op->rows,
                                   .a = {.transposed = true},
                                   .c = op->dweight,
                                   .alpha = 1,
                                   .beta = 1};
    const enum psim_status status = multiply(context, &product, op->dy, op->x, &scratch, err);

    if (status != PSIM_OK || op->dbias == NULL)
        return status;
    return cuda_row_sums(context, &sums, &scratch, err);
}

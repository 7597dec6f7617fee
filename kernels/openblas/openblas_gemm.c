/* Matrix products: OpenBLAS's sgemm on blocks of the result, one thread each. */
#include "kernels/openblas/openblas.h"

#include <string.h>

/* A side of a block; large enough for sgemm's best rate, small enough to share out. */
#define BLOCK 256

struct job {
    const struct ob_product *product;
    int64_t columns; /* blocks in a row of blocks */
};

void ob_multiply(const struct ob_product *p)
{
    if (p->m == 0 || p->n == 0)
        return;
    cblas_sgemm(CblasRowMajor, p->transpose_a ? CblasTrans : CblasNoTrans,
                p->transpose_b ? CblasTrans : CblasNoTrans, (blasint)p->m, (blasint)p->n,
                (blasint)p->k, p->alpha, p->a, (blasint)ob_max(1, p->lda), p->b,
                (blasint)ob_max(1, p->ldb), p->beta, p->c, (blasint)ob_max(1, p->ldc));
}

static void multiply_block(const void *argument, int64_t task, int thread)
{
    const struct job *job = argument;
    struct ob_product block = *job->product;
    const int64_t row = task / job->columns * BLOCK, column = task % job->columns * BLOCK;

    (void)thread;
    block.m = ob_min(BLOCK, block.m - row);
    block.n = ob_min(BLOCK, block.n - column);
    block.a += block.transpose_a ? row : row * block.lda;
    block.b += block.transpose_b ? column * block.ldb : column;
    block.c += row * block.ldc + column;
    ob_multiply(&block);
}

void ob_multiply_parallel(struct pk_context *context, const struct ob_product *product)
{
    const struct job job = {.product = product, .columns = ob_ceil(product->n, BLOCK)};

    ob_run(context, multiply_block, &job, ob_ceil(product->m, BLOCK) * job.columns);
}

enum psim_status ob_gemm(struct pk_context *context, const struct pk_gemm *op,
                         const struct pk_workspace *workspace, struct psim_error *err)
{
    const struct ob_product product = {.transpose_a = op->transpose_a,
                                       .transpose_b = op->transpose_b,
                                       .m = op->m,
                                       .n = op->n,
                                       .k = op->k,
                                       .alpha = op->alpha,
                                       .a = op->a,
                                       .lda = op->transpose_a ? op->m : op->k,
                                       .b = op->b,
                                       .ldb = op->transpose_b ? op->k : op->n,
                                       .beta = op->beta,
                                       .c = op->c,
                                       .ldc = op->n};

    (void)workspace;
    (void)err;
    ob_multiply_parallel(context, &product);
    return PSIM_OK;
}

/* Rows of biases that a task writes. */
#define BIAS_ROWS 64

static void write_bias(const void *argument, int64_t row)
{
    const struct pk_linear_forward *op = argument;

    memcpy(op->y + row * op->out, op->bias, (size_t)op->out * sizeof(float));
}

enum psim_status ob_linear_forward(struct pk_context *context, const struct pk_linear_forward *op,
                                   const struct pk_workspace *workspace, struct psim_error *err)
{
    const struct ob_product product = {.transpose_b = true,
                                       .m = op->rows,
                                       .n = op->out,
                                       .k = op->in,
                                       .alpha = 1,
                                       .a = op->x,
                                       .lda = op->in,
                                       .b = op->weight,
                                       .ldb = op->in,
                                       .beta = op->bias != NULL ? 1.0F : 0.0F,
                                       .c = op->y,
                                       .ldc = op->out};

    (void)workspace;
    (void)err;
    if (op->bias != NULL)
        ob_run_rows(context, write_bias, op, op->rows, BIAS_ROWS);
    ob_multiply_parallel(context, &product);
    return PSIM_OK;
}

enum psim_status ob_linear_backward_data(struct pk_context *context,
                                         const struct pk_linear_backward_data *op,
                                         const struct pk_workspace *workspace,
                                         struct psim_error *err)
{
    const struct ob_product product = {.m = op->rows,
                                       .n = op->in,
                                       .k = op->out,
                                       .alpha = 1,
                                       .a = op->dy,
                                       .lda = op->out,
                                       .b = op->weight,
                                       .ldb = op->in,
                                       .beta = op->accumulate ? 1.0F : 0.0F,
                                       .c = op->dx,
                                       .ldc = op->in};

    (void)workspace;
    (void)err;
    ob_multiply_parallel(context, &product);
    return PSIM_OK;
}

enum psim_status ob_linear_backward_weight(struct pk_context *context,
                                           const struct pk_linear_backward_weight *op,
                                           const struct pk_workspace *workspace,
                                           struct psim_error *err)
{
    const struct ob_product product = {.transpose_a = true,
                                       .m = op->out,
                                       .n = op->in,
                                       .k = op->rows,
                                       .alpha = 1,
                                       .a = op->dy,
                                       .lda = op->out,
                                       .b = op->x,
                                       .ldb = op->in,
                                       .beta = 1,
                                       .c = op->dweight,
                                       .ldc = op->in};

    (void)workspace;
    (void)err;
    ob_multiply_parallel(context, &product);
    if (op->dbias != NULL)
        ob_sum_planes(context, op->dy, op->rows, op->out, 1, op->dbias);
    return PSIM_OK;
}

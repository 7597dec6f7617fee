/* Matrix products. */
#include "kernels/ref/ref.h"

/* A factor of a product: element (i, l) is data[i outer + l inner], l being summed over. */
struct factor {
    const float *data;
    size_t outer, inner;
};

static double dot(struct factor a, size_t i, struct factor b, size_t j, int k, enum pk_math math)
{
    double sum = 0;

    for (size_t l = 0; l < (size_t)k; l++)
        sum += ref_operand(a.data[i * a.outer + l * a.inner], math) *
               ref_operand(b.data[j * b.outer + l * b.inner], math);
    return sum;
}

/* c[m, n] = sum, plus what was there where asked, plus bias[n] where there is one. */
static void product(struct factor a, struct factor b, const float *bias, float *c, int m, int n,
                    int k, bool accumulate, enum pk_math math)
{
    for (size_t i = 0; i < (size_t)m; i++)
        for (size_t j = 0; j < (size_t)n; j++, c++) {
            const double sum = dot(a, i, b, j, k, math) + (bias == NULL ? 0 : bias[j]);

            *c = (float)(accumulate ? *c + sum : sum);
        }
}

enum psim_status ref_gemm(struct pk_context *context, const struct pk_gemm *op,
                          const struct pk_workspace *workspace, struct psim_error *err)
{
    const size_t m = (size_t)op->m, n = (size_t)op->n, k = (size_t)op->k;
    const struct factor a = {op->a, op->transpose_a ? 1 : k, op->transpose_a ? m : 1};
    const struct factor b = {op->b, op->transpose_b ? k : 1, op->transpose_b ? 1 : n};
    float *c = op->c;

    (void)workspace;
    (void)err;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < n; j++, c++) {
            const double sum = (double)op->alpha * dot(a, i, b, j, op->k, context->options.math);

            *c = (float)(op->beta == 0 ? sum : sum + (double)op->beta * *c);
        }
    return PSIM_OK;
}

enum psim_status ref_linear_forward(struct pk_context *context, const struct pk_linear_forward *op,
                                    const struct pk_workspace *workspace, struct psim_error *err)
{
    const size_t in = (size_t)op->in;

    (void)workspace;
    (void)err;
    product((struct factor){op->x, in, 1}, (struct factor){op->weight, in, 1}, op->bias, op->y,
            op->rows, op->out, op->in, false, context->options.math);
    return PSIM_OK;
}

enum psim_status ref_linear_backward_data(struct pk_context *context,
                                          const struct pk_linear_backward_data *op,
                                          const struct pk_workspace *workspace,
                                          struct psim_error *err)
{
    const size_t in = (size_t)op->in, out = (size_t)op->out;

    (void)workspace;
    (void)err;
    product((struct factor){op->dy, out, 1}, (struct factor){op->weight, 1, in}, NULL, op->dx,
            op->rows, op->in, op->out, op->accumulate, context->options.math);
    return PSIM_OK;
}

enum psim_status ref_linear_backward_weight(struct pk_context *context,
                                            const struct pk_linear_backward_weight *op,
                                            const struct pk_workspace *workspace,
                                            struct psim_error *err)
{
    const size_t in = (size_t)op->in, out = (size_t)op->out;

    (void)workspace;
    (void)err;
    product((struct factor){op->dy, 1, out}, (struct factor){op->x, 1, in}, NULL, op->dweight,
            op->out, op->in, op->rows, true, context->options.math);
    for (size_t o = 0; op->dbias != NULL && o < out; o++) {
        double sum = 0;

        for (size_t row = 0; row < (size_t)op->rows; row++)
            sum += op->dy[row * out + o];
        op->dbias[o] = (float)(op->dbias[o] + sum);
    }
    return PSIM_OK;
}

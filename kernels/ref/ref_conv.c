/* Convolutions, direct: each output element is one sum.  Source: arXiv:1603.07285, chapters 2, 4.
 */
#include "kernels/ref/ref.h"

/* Where the element [a, b, y, x] of an array [., bs, h, w] is. */
static size_t at(int a, int b, int y, int x, int bs, int h, int w)
{
    return (((size_t)a * (size_t)bs + (size_t)b) * (size_t)h + (size_t)y) * (size_t)w + (size_t)x;
}

static double forward_sum(const struct pk_conv_forward *op, int n, int k, int p, int q,
                          enum pk_math math)
{
    const struct pk_conv_shape *s = &op->shape;
    const struct ref_taps rows = ref_taps(p, s, s->h), columns = ref_taps(q, s, s->w);
    double sum = 0;

    for (int c = 0; c < s->c; c++)
        for (int r = rows.first; r < rows.end; r++) {
            const float *x = op->x + at(n, c, p * s->stride - s->pad + r, 0, s->c, s->h, s->w);
            const float *weight = op->weight + at(k, c, r, 0, s->c, s->kernel, s->kernel);

            for (int t = columns.first; t < columns.end; t++)
                sum +=
                    ref_operand(x[q * s->stride - s->pad + t], math) * ref_operand(weight[t], math);
        }
    return sum;
}

enum psim_status ref_conv_forward(struct pk_context *context, const struct pk_conv_forward *op,
                                  const struct pk_workspace *workspace, struct psim_error *err)
{
    const struct pk_conv_shape *s = &op->shape;
    const int height = pk_window_out(s->h, s), width = pk_window_out(s->w, s);
    float *y = op->y;

    (void)workspace;
    (void)err;
    for (int n = 0; n < s->n; n++)
        for (int k = 0; k < s->k; k++)
            for (int p = 0; p < height; p++)
                for (int q = 0; q < width; q++) {
                    const double sum = forward_sum(op, n, k, p, q, context->options.math) +
                                       (op->bias == NULL ? 0 : op->bias[k]);

                    *y++ = (float)(op->relu ? ref_relu(sum) : sum);
                }
    return PSIM_OK;
}

/* The output row whose tap r lies on input row y; -1: none has. */
static int output_row(int y, int r, const struct pk_conv_shape *shape, int rows)
{
    const int top = y + shape->pad - r;

    return top >= 0 && top % shape->stride == 0 && top / shape->stride < rows ? top / shape->stride
                                                                              : -1;
}

static double backward_data_sum(const struct pk_conv_backward_data *op, int n, int c, int y, int x,
                                enum pk_math math)
{
    const struct pk_conv_shape *s = &op->shape;
    const int height = pk_window_out(s->h, s), width = pk_window_out(s->w, s);
    double sum = 0;

    for (int r = 0; r < s->kernel; r++)
        for (int t = 0; t < s->kernel; t++) {
            const int p = output_row(y, r, s, height), q = output_row(x, t, s, width);

            if (p < 0 || q < 0)
                continue;
            for (int k = 0; k < s->k; k++)
                sum += ref_operand(op->dy[at(n, k, p, q, s->k, height, width)], math) *
                       ref_operand(op->weight[at(k, c, r, t, s->c, s->kernel, s->kernel)], math);
        }
    return sum;
}

enum psim_status ref_conv_backward_data(struct pk_context *context,
                                        const struct pk_conv_backward_data *op,
                                        const struct pk_workspace *workspace,
                                        struct psim_error *err)
{
    const struct pk_conv_shape *s = &op->shape;
    float *dx = op->dx;

    (void)workspace;
    (void)err;
    for (int n = 0; n < s->n; n++)
        for (int c = 0; c < s->c; c++)
            for (int y = 0; y < s->h; y++)
                for (int x = 0; x < s->w; x++, dx++) {
                    const double sum = backward_data_sum(op, n, c, y, x, context->options.math);

                    *dx = (float)(op->accumulate ? *dx + sum : sum);
                }
    return PSIM_OK;
}

static double backward_weight_sum(const struct pk_conv_backward_weight *op, int k, int c, int r,
                                  int t, enum pk_math math)
{
    const struct pk_conv_shape *s = &op->shape;
    const int height = pk_window_out(s->h, s), width = pk_window_out(s->w, s);
    double sum = 0;

    for (int n = 0; n < s->n; n++)
        for (int p = 0; p < height; p++) {
            const int y = p * s->stride - s->pad + r;
            const float *dy = op->dy + at(n, k, p, 0, s->k, height, width);

            if (y < 0 || y >= s->h)
                continue;
            for (int q = 0; q < width; q++) {
                const int x = q * s->stride - s->pad + t;

                if (x >= 0 && x < s->w)
                    sum += ref_operand(dy[q], math) *
                           ref_operand(op->x[at(n, c, y, x, s->c, s->h, s->w)], math);
            }
        }
    return sum;
}

static void backward_bias(const struct pk_conv_backward_weight *op)
{
    const struct pk_conv_shape *s = &op->shape;
    const int height = pk_window_out(s->h, s), width = pk_window_out(s->w, s);

    for (int k = 0; k < s->k; k++) {
        double sum = 0;

        for (int n = 0; n < s->n; n++)
            for (int i = 0; i < height * width; i++)
                sum += op->dy[at(n, k, 0, i, s->k, height, width)];
        op->dbias[k] = (float)(op->dbias[k] + sum);
    }
}

enum psim_status ref_conv_backward_weight(struct pk_context *context,
                                          const struct pk_conv_backward_weight *op,
                                          const struct pk_workspace *workspace,
                                          struct psim_error *err)
{
    const struct pk_conv_shape *s = &op->shape;
    float *dweight = op->dweight;

    (void)workspace;
    (void)err;
    for (int k = 0; k < s->k; k++)
        for (int c = 0; c < s->c; c++)
            for (int r = 0; r < s->kernel; r++)
                for (int t = 0; t < s->kernel; t++, dweight++)
                    *dweight = (float)(*dweight +
                                       backward_weight_sum(op, k, c, r, t, context->options.math));
    if (op->dbias != NULL)
        backward_bias(op);
    return PSIM_OK;
}

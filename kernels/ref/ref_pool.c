/* Max-pooling and the mean over an image. */
#include "kernels/ref/ref.h"

/* Position in [h, w] of the first maximum of a window; a NaN is larger than all else. */
static int maximum_of(const float *x, const struct pk_conv_shape *s, int p, int q)
{
    const struct ref_taps rows = ref_taps(p, s, s->h), columns = ref_taps(q, s, s->w);
    const int top = p * s->stride - s->pad, left = q * s->stride - s->pad;
    int best = (top + rows.first) * s->w + left + columns.first;

    for (int r = rows.first; r < rows.end; r++)
        for (int t = columns.first; t < columns.end; t++) {
            const int i = (top + r) * s->w + left + t;

            if (x[i] > x[best] || (isnan(x[i]) && !isnan(x[best])))
                best = i;
        }
    return best;
}

enum psim_status ref_pool_forward(struct pk_context *context, const struct pk_pool_forward *op,
                                  const struct pk_workspace *workspace, struct psim_error *err)
{
    const struct pk_conv_shape *s = &op->shape;
    const int height = pk_window_out(s->h, s), width = pk_window_out(s->w, s);
    size_t out = 0;

    (void)context;
    (void)workspace;
    (void)err;
    for (size_t plane = 0; plane < (size_t)s->n * (size_t)s->c; plane++)
        for (int p = 0; p < height; p++)
            for (int q = 0; q < width; q++, out++) {
                const float *x = op->x + plane * (size_t)s->h * (size_t)s->w;
                const int best = maximum_of(x, s, p, q);

                op->y[out] = x[best];
                if (op->index != NULL)
                    op->index[out] = best;
            }
    return PSIM_OK;
}

enum psim_status ref_pool_backward(struct pk_context *context, const struct pk_pool_backward *op,
                                   const struct pk_workspace *workspace, struct psim_error *err)
{
    const struct pk_conv_shape *s = &op->shape;
    const int height = pk_window_out(s->h, s), width = pk_window_out(s->w, s);
    const size_t outs = (size_t)height * (size_t)width, ins = (size_t)s->h * (size_t)s->w;

    (void)context;
    (void)workspace;
    (void)err;
    for (size_t plane = 0; plane < (size_t)s->n * (size_t)s->c; plane++) {
        const float *dy = op->dy + plane * outs;
        const int32_t *index = op->index + plane * outs;

        for (int i = 0; i < (int)ins; i++) {
            /* The windows that reach row y start at rows y - kernel + 1 to y. */
            const int y = i / s->w + s->pad, x = i % s->w + s->pad;
            const int first_p = y < s->kernel ? 0 : (y - s->kernel) / s->stride + 1;
            const int first_q = x < s->kernel ? 0 : (x - s->kernel) / s->stride + 1;
            double sum = 0;

            for (int p = first_p; p < height && p * s->stride <= y; p++)
                for (int q = first_q; q < width && q * s->stride <= x; q++)
                    if (index[p * width + q] == i)
                        sum += dy[p * width + q];
            op->dx[plane * ins + (size_t)i] = (float)sum;
        }
    }
    return PSIM_OK;
}

enum psim_status ref_average_forward(struct pk_context *context,
                                     const struct pk_average_forward *op,
                                     const struct pk_workspace *workspace, struct psim_error *err)
{
    const float *x = op->x;

    (void)context;
    (void)workspace;
    (void)err;
    for (size_t n = 0; n < (size_t)op->n; n++)
        for (size_t c = 0; c < (size_t)op->c; c++) {
            double sum = 0;

            for (int i = 0; i < op->hw; i++)
                sum += *x++;
            op->y[n * op->y_stride + c] = (float)(sum / op->hw);
        }
    return PSIM_OK;
}

enum psim_status ref_average_backward(struct pk_context *context,
                                      const struct pk_average_backward *op,
                                      const struct pk_workspace *workspace, struct psim_error *err)
{
    float *dx = op->dx;

    (void)context;
    (void)workspace;
    (void)err;
    for (size_t n = 0; n < (size_t)op->n; n++)
        for (size_t c = 0; c < (size_t)op->c; c++)
            for (int i = 0; i < op->hw; i++)
                *dx++ = (float)((double)op->dy[n * op->dy_stride + c] / op->hw);
    return PSIM_OK;
}

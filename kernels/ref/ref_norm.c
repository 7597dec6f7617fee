/* Batch normalisation (arXiv:1502.03167) and layer normalisation (arXiv:1607.06450). */
#include "kernels/ref/ref.h"

/* The values of one channel lie in n runs of hw, c hw apart; those of one row in one run. */
struct slice {
    size_t runs, length, stride;
};

static struct slice channel_slice(int n, int c, int hw)
{
    return (struct slice){(size_t)n, (size_t)hw, (size_t)c * (size_t)hw};
}

/* Mean and biased variance, in two passes. */
struct moments {
    double mean, variance;
};

static struct moments moments_of(const float *x, struct slice slice)
{
    const double count = (double)(slice.runs * slice.length);
    struct moments m = {0, 0};

    for (size_t n = 0; n < slice.runs; n++)
        for (size_t i = 0; i < slice.length; i++)
            m.mean += x[n * slice.stride + i];
    m.mean /= count;
    for (size_t n = 0; n < slice.runs; n++)
        for (size_t i = 0; i < slice.length; i++) {
            const double d = x[n * slice.stride + i] - m.mean;

            m.variance += d * d;
        }
    m.variance /= count;
    return m;
}

/* f of one element.  The forward uses the statistics as they are kept, in float, so that the
 * backward finds the very same sign of f, and with it the mask of the ReLU. */
static double normalised(double x, double mean, double inv_std, double scale, double shift)
{
    return scale * ((x - mean) * inv_std) + shift;
}

static float with_base(double f, const float *base, float sign)
{
    return (float)(base == NULL ? f : *base + sign * f);
}

enum psim_status ref_norm_forward(struct pk_context *context, const struct pk_norm_forward *op,
                                  const struct pk_workspace *workspace, struct psim_error *err)
{
    const struct slice slice = channel_slice(op->n, op->c, op->hw);
    const double count = (double)op->n * op->hw, momentum = op->momentum;

    (void)context;
    (void)workspace;
    (void)err;
    for (size_t c = 0; c < (size_t)op->c; c++) {
        const struct moments m = moments_of(op->x + c * slice.length, slice);

        op->mean[c] = (float)m.mean;
        op->inv_std[c] = (float)(1 / sqrt(m.variance + op->epsilon));
        if (op->running_mean != NULL) {
            op->running_mean[c] = (float)((1 - momentum) * op->running_mean[c] + momentum * m.mean);
            op->running_variance[c] = (float)((1 - momentum) * op->running_variance[c] +
                                              momentum * m.variance * count / (count - 1));
        }
        for (size_t n = 0; n < slice.runs; n++)
            for (size_t i = n * slice.stride + c * slice.length, last = i + slice.length; i < last;
                 i++) {
                double f =
                    normalised(op->x[i], op->mean[c], op->inv_std[c], op->scale[c], op->shift[c]);

                f = op->relu ? ref_relu(f) : f;
                op->y[i] = with_base(f, op->base == NULL ? NULL : &op->base[i], op->base_sign);
                if (op->f != NULL)
                    op->f[i] = (float)f;
            }
    }
    return PSIM_OK;
}

enum psim_status ref_norm_inference(struct pk_context *context, const struct pk_norm_inference *op,
                                    const struct pk_workspace *workspace, struct psim_error *err)
{
    const struct slice slice = channel_slice(op->n, op->c, op->hw);

    (void)context;
    (void)workspace;
    (void)err;
    for (size_t c = 0; c < (size_t)op->c; c++) {
        const double inv_std = 1 / sqrt((double)op->running_variance[c] + op->epsilon);

        for (size_t n = 0; n < slice.runs; n++)
            for (size_t i = n * slice.stride + c * slice.length, last = i + slice.length; i < last;
                 i++) {
                double f =
                    normalised(op->x[i], op->running_mean[c], inv_std, op->scale[c], op->shift[c]);

                f = op->relu ? ref_relu(f) : f;
                op->y[i] = with_base(f, op->base == NULL ? NULL : &op->base[i], op->base_sign);
            }
    }
    return PSIM_OK;
}

/* Gradient of f at one element, behind the ReLU. */
static double masked(const struct pk_norm_backward *op, size_t c, size_t i)
{
    const double f = normalised(op->x[i], op->mean[c], op->inv_std[c], op->scale[c], op->shift[c]);

    return op->relu && !(f > 0) ? 0 : op->dy[i];
}

/* With z = (x - mean) inv_std and m = n hw values:
 *     dx = scale inv_std (g - sum g / m - z sum(g z) / m)
 * The statistics depend on x, hence the two means.  Source: arXiv:1502.03167 section 3. */
enum psim_status ref_norm_backward(struct pk_context *context, const struct pk_norm_backward *op,
                                   const struct pk_workspace *workspace, struct psim_error *err)
{
    const struct slice slice = channel_slice(op->n, op->c, op->hw);
    const double count = (double)op->n * op->hw;

    (void)context;
    (void)workspace;
    (void)err;
    for (size_t c = 0; c < (size_t)op->c; c++) {
        const double mean = op->mean[c], inv_std = op->inv_std[c];
        double sum = 0, sum_z = 0;

        for (size_t n = 0; n < slice.runs; n++)
            for (size_t i = n * slice.stride + c * slice.length, last = i + slice.length; i < last;
                 i++) {
                sum += masked(op, c, i);
                sum_z += masked(op, c, i) * ((op->x[i] - mean) * inv_std);
            }
        op->dshift[c] = (float)(op->dshift[c] + sum);
        op->dscale[c] = (float)(op->dscale[c] + sum_z);
        for (size_t n = 0; op->dx != NULL && n < slice.runs; n++)
            for (size_t i = n * slice.stride + c * slice.length, last = i + slice.length; i < last;
                 i++)
                op->dx[i] = (float)(op->scale[c] * inv_std *
                                    (masked(op, c, i) - sum / count -
                                     (op->x[i] - mean) * inv_std * sum_z / count));
    }
    return PSIM_OK;
}

enum psim_status ref_layer_norm_forward(struct pk_context *context,
                                        const struct pk_layer_norm_forward *op,
                                        const struct pk_workspace *workspace,
                                        struct psim_error *err)
{
    const size_t columns = (size_t)op->columns;

    (void)context;
    (void)workspace;
    (void)err;
    for (size_t row = 0; row < (size_t)op->rows; row++) {
        const float *x = op->x + row * columns;
        const struct moments m = moments_of(x, (struct slice){1, columns, 0});

        op->mean[row] = (float)m.mean;
        op->inv_std[row] = (float)(1 / sqrt(m.variance + op->epsilon));
        for (size_t i = 0; i < columns; i++)
            op->y[row * columns + i] = (float)normalised(x[i], op->mean[row], op->inv_std[row],
                                                         op->scale[i], op->shift[i]);
    }
    return PSIM_OK;
}

static void layer_norm_parameters(const struct pk_layer_norm_backward *op)
{
    const size_t columns = (size_t)op->columns;

    for (size_t i = 0; i < columns; i++) {
        double sum = 0, sum_z = 0;

        for (size_t row = 0; row < (size_t)op->rows; row++) {
            const double z = ((double)op->x[row * columns + i] - op->mean[row]) * op->inv_std[row];

            sum += op->dy[row * columns + i];
            sum_z += op->dy[row * columns + i] * z;
        }
        op->dshift[i] = (float)(op->dshift[i] + sum);
        op->dscale[i] = (float)(op->dscale[i] + sum_z);
    }
}

/* As the batch norm's, with g = scale dy and the sums over one row. */
enum psim_status ref_layer_norm_backward(struct pk_context *context,
                                         const struct pk_layer_norm_backward *op,
                                         const struct pk_workspace *workspace,
                                         struct psim_error *err)
{
    const size_t columns = (size_t)op->columns;

    (void)context;
    (void)workspace;
    (void)err;
    layer_norm_parameters(op); /* first: dx may be dy */
    for (size_t row = 0; row < (size_t)op->rows; row++) {
        const float *x = op->x + row * columns, *dy = op->dy + row * columns;
        const double mean = op->mean[row], inv_std = op->inv_std[row];
        double sum = 0, sum_z = 0;

        for (size_t i = 0; i < columns; i++) {
            sum += (double)op->scale[i] * dy[i];
            sum_z += (double)op->scale[i] * dy[i] * ((x[i] - mean) * inv_std);
        }
        for (size_t i = 0; i < columns; i++)
            op->dx[row * columns + i] =
                (float)(inv_std * ((double)op->scale[i] * dy[i] - sum / (double)columns -
                                   (x[i] - mean) * inv_std * sum_z / (double)columns));
    }
    return PSIM_OK;
}

/* Operations on one element at a time, copies, and the count of bad values. */
#include "kernels/ref/ref.h"

enum psim_status ref_relu_forward(struct pk_context *context, const struct pk_relu_forward *op,
                                  const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)context;
    (void)workspace;
    (void)err;
    for (size_t i = 0; i < op->count; i++)
        op->y[i] = (float)ref_relu(op->x[i]);
    return PSIM_OK;
}

enum psim_status ref_relu_backward(struct pk_context *context, const struct pk_relu_backward *op,
                                   const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)context;
    (void)workspace;
    (void)err;
    for (size_t i = 0; i < op->count; i++) {
        const float gradient = op->y[i] > 0 ? op->dy[i] : 0;

        op->dx[i] = op->accumulate ? op->dx[i] + gradient : gradient;
    }
    return PSIM_OK;
}

enum psim_status ref_add(struct pk_context *context, const struct pk_add *op,
                         const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)context;
    (void)workspace;
    (void)err;
    for (size_t i = 0; i < op->count; i++) {
        const double sum = (double)op->alpha * op->a[i] + (double)op->beta * op->b[i];

        op->y[i] = (float)(op->relu ? ref_relu(sum) : sum);
    }
    return PSIM_OK;
}

enum psim_status ref_copy_rows(struct pk_context *context, const struct pk_copy_rows *op,
                               const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)context;
    (void)workspace;
    (void)err;
    for (size_t row = 0; row < op->rows; row++)
        for (size_t i = 0; i < op->columns; i++) {
            const float value = op->source[row * op->source_stride + i];
            float *target = &op->target[row * op->target_stride + i];

            *target = op->accumulate ? *target + value : value;
        }
    return PSIM_OK;
}

enum psim_status ref_sgd(struct pk_context *context, const struct pk_sgd *op,
                         const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)context;
    (void)workspace;
    (void)err;
    for (size_t i = 0; i < op->count; i++) {
        const double g =
            (double)op->gradient_scale * op->gradient[i] + (double)op->weight_decay * op->weight[i];
        double step = g;

        if (op->momentum != 0) {
            op->velocity[i] = (float)((double)op->momentum * op->velocity[i] + g);
            step = op->nesterov ? g + (double)op->momentum * op->velocity[i] : op->velocity[i];
        }
        op->weight[i] = (float)(op->weight[i] - op->rate * step);
    }
    return PSIM_OK;
}

/* Phi(x), the distribution function of the standard normal; erfc keeps its small tail exact. */
static double normal_distribution(double x)
{
    return 0.5 * erfc(-x * 0.70710678118654752440 /* 1 / sqrt(2) */);
}

enum psim_status ref_gelu_forward(struct pk_context *context, const struct pk_gelu_forward *op,
                                  const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)context;
    (void)workspace;
    (void)err;
    for (size_t i = 0; i < op->count; i++)
        op->y[i] = (float)(op->x[i] * normal_distribution(op->x[i]));
    return PSIM_OK;
}

enum psim_status ref_gelu_backward(struct pk_context *context, const struct pk_gelu_backward *op,
                                   const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)context;
    (void)workspace;
    (void)err;
    for (size_t i = 0; i < op->count; i++) {
        const double x = op->x[i];
        const double density = 0.39894228040143267794 /* 1 / sqrt(2 pi) */ * exp(-0.5 * x * x);

        op->dx[i] = (float)(op->dy[i] * (normal_distribution(x) + x * density));
    }
    return PSIM_OK;
}

enum psim_status ref_count_bad(struct pk_context *context, const struct pk_count_bad *op,
                               const struct pk_workspace *workspace, struct psim_error *err)
{
    int64_t bad = 0;

    (void)context;
    (void)workspace;
    (void)err;
    for (size_t i = 0; i < op->count; i++)
        bad += !isfinite(op->x[i]);
    *op->bad = bad;
    return PSIM_OK;
}

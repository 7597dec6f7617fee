/*
 * Batch norm.  A task has some channels and makes both passes over them, so that the second finds
 * in the cache what the first has read: memory sees each array once.
 */
#include "kernels/openblas/openblas.h"

#include "kernels/openblas/openblas_functions.h"

#include <math.h>

/* Values of neighbouring channels that a task takes at least: short planes share cache lines. */
#define SPAN 256

static int channels_of_task(int hw)
{
    return hw >= SPAN ? 1 : SPAN / hw;
}

static size_t plane(int sample, int channels, int64_t channel, int hw)
{
    return ((size_t)sample * (size_t)channels + (size_t)channel) * (size_t)hw;
}

/* Doubles hold the square of a float exactly, so E[x^2] - mean^2 loses nothing that matters. */
OB_INLINE void add_moments(const float *x, int count, double *sum, double *squares)
{
    double first[OB_LANES] = {0}, second[OB_LANES] = {0};
    int i = 0;

    for (; i + OB_LANES <= count; i += OB_LANES)
        for (int lane = 0; lane < OB_LANES; lane++) {
            const double value = x[i + lane];

            first[lane] += value;
            second[lane] += value * value;
        }
    for (; i < count; i++) {
        const double value = x[i];

        first[i % OB_LANES] += value;
        second[i % OB_LANES] += value * value;
    }
    *sum += ob_lane_sum(first);
    *squares += ob_lane_sum(second);
}

/* What a norm does to one channel: f = slope (x - mean) + shift, and what stands around it.  Arrays
 * are those of the operation. */
struct affine {
    float mean, slope, shift;
    bool relu;
    const float *x, *base;
    float base_sign;
    float *y, *f;
};

OB_INLINE void apply_plane(const struct affine *a, size_t at, int count)
{
    const float mean = a->mean, slope = a->slope, shift = a->shift, sign = a->base_sign;
    const float lowest = a->relu ? 0 : -INFINITY;
    const float *x = a->x + at, *base = a->base == NULL ? NULL : a->base + at;
    float *y = a->y + at, *f = a->f == NULL ? NULL : a->f + at;

    if (base == NULL) {
        for (int i = 0; i < count; i++) {
            const float value = (x[i] - mean) * slope + shift;

            y[i] = value < lowest ? lowest : value;
        }
        return;
    }
    for (int i = 0; i < count; i++) {
        const float value = (x[i] - mean) * slope + shift;
        const float bounded = value < lowest ? lowest : value;

        if (f != NULL)
            f[i] = bounded;
        y[i] = base[i] + sign * bounded;
    }
}

OB_CLONES static void apply(const struct affine *a, int n, int c, int64_t channel, int hw)
{
    for (int sample = 0; sample < n; sample++)
        apply_plane(a, plane(sample, c, channel, hw), hw);
}

/* Writes the statistics of one channel. */
OB_CLONES static void find_statistics(const struct pk_norm_forward *op, int64_t channel)
{
    const double count = (double)op->n * op->hw;
    double sum = 0, squares = 0, mean, variance;

    for (int sample = 0; sample < op->n; sample++)
        add_moments(op->x + plane(sample, op->c, channel, op->hw), op->hw, &sum, &squares);
    mean = sum / count;
    variance = squares / count - mean * mean;
    variance = variance < 0 ? 0 : variance;
    op->mean[channel] = (float)mean;
    op->inv_std[channel] = (float)(1 / sqrt(variance + (double)op->epsilon));
    if (op->running_mean != NULL) {
        const double old = 1 - (double)op->momentum, momentum = op->momentum;
        const double unbiased = variance * count / (count - 1);

        op->running_mean[channel] = (float)(old * op->running_mean[channel] + momentum * mean);
        op->running_variance[channel] =
            (float)(old * op->running_variance[channel] + momentum * unbiased);
    }
}

static void normalise(const struct pk_norm_forward *op, int64_t channel)
{
    const struct affine affine = {.mean = op->mean[channel],
                                  .slope = op->inv_std[channel] * op->scale[channel],
                                  .shift = op->shift[channel],
                                  .relu = op->relu,
                                  .x = op->x,
                                  .base = op->base,
                                  .base_sign = op->base_sign,
                                  .y = op->y,
                                  .f = op->f};

    apply(&affine, op->n, op->c, channel, op->hw);
}

static void forward_task(const void *argument, int64_t task, int thread)
{
    const struct pk_norm_forward *op = argument;
    const int64_t each = channels_of_task(op->hw), first = task * each;
    const int64_t end = ob_min(first + each, op->c);

    (void)thread;
    for (int64_t channel = first; channel < end; channel++)
        find_statistics(op, channel);
    for (int64_t channel = first; channel < end; channel++)
        normalise(op, channel);
}

enum psim_status ob_norm_forward(struct pk_context *context, const struct pk_norm_forward *op,
                                 const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)workspace;
    (void)err;
    ob_run(context, forward_task, op, ob_ceil(op->c, channels_of_task(op->hw)));
    return PSIM_OK;
}

static void infer_channel(const void *argument, int64_t channel)
{
    const struct pk_norm_inference *op = argument;
    const double spread = (double)op->running_variance[channel] + (double)op->epsilon;
    const struct affine affine = {.mean = op->running_mean[channel],
                                  .slope = (float)(op->scale[channel] / sqrt(spread)),
                                  .shift = op->shift[channel],
                                  .relu = op->relu,
                                  .x = op->x,
                                  .base = op->base,
                                  .base_sign = op->base_sign,
                                  .y = op->y};

    apply(&affine, op->n, op->c, channel, op->hw);
}

enum psim_status ob_norm_inference(struct pk_context *context, const struct pk_norm_inference *op,
                                   const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)workspace;
    (void)err;
    ob_run_rows(context, infer_channel, op, op->c, channels_of_task(op->hw));
    return PSIM_OK;
}

/* The gradient of f, through the ReLU whose sign is rebuilt exactly as `apply` has found it. */
#define GRADIENT(i) ((relu && (x[i] - mean) * slope + shift <= 0) ? 0 : dy[i])

/* Values whose gradients of f are made before they are summed: with the ReLU's choice in the same
 * loop as the sums the compiler makes no vectors of it. */
#define SLICE 256

OB_INLINE void add_products(const float *x, const float *g, int count, float mean, double *sum,
                            double *product)
{
    double first[OB_LANES] = {0}, second[OB_LANES] = {0};
    int i = 0;

    for (; i + OB_LANES <= count; i += OB_LANES)
        for (int lane = 0; lane < OB_LANES; lane++) {
            const double value = g[i + lane];

            first[lane] += value;
            second[lane] += value * (double)(x[i + lane] - mean);
        }
    for (; i < count; i++) {
        const double value = g[i];

        first[i % OB_LANES] += value;
        second[i % OB_LANES] += value * (double)(x[i] - mean);
    }
    *sum += ob_lane_sum(first);
    *product += ob_lane_sum(second);
}

OB_INLINE void add_gradients(const float *x, const float *dy, int count, float mean, float slope,
                             float shift, bool relu, double *sum, double *product)
{
    float g[SLICE];

    for (; count > 0; count -= SLICE, x += SLICE, dy += SLICE) {
        const int slice = count < SLICE ? count : SLICE;

        for (int i = 0; i < slice; i++)
            g[i] = GRADIENT(i);
        add_products(x, g, slice, mean, sum, product);
    }
}

/* dx = slope (g - mean(g) - x^ mean(g x^)) with x^ = (x - mean) inv_std; arXiv:1502.03167
 * section 3. */
OB_CLONES static void backward_channel(const void *argument, int64_t channel)
{
    const struct pk_norm_backward *op = argument;
    const float mean = op->mean[channel], inv_std = op->inv_std[channel];
    const float slope = inv_std * op->scale[channel], shift = op->shift[channel];
    const double count = (double)op->n * op->hw;
    const bool relu = op->relu;
    double sum = 0, product = 0;
    float of_mean, of_x;

    for (int sample = 0; sample < op->n; sample++) {
        const size_t at = plane(sample, op->c, channel, op->hw);

        add_gradients(op->x + at, op->dy + at, op->hw, mean, slope, shift, relu, &sum, &product);
    }
    op->dshift[channel] = (float)((double)op->dshift[channel] + sum);
    op->dscale[channel] = (float)((double)op->dscale[channel] + product * inv_std);
    if (op->dx == NULL)
        return;
    of_mean = (float)(sum / count);
    of_x = (float)(product / count * inv_std * inv_std);
    for (int sample = 0; sample < op->n; sample++) {
        const size_t at = plane(sample, op->c, channel, op->hw);
        const float *x = op->x + at, *dy = op->dy + at;
        float *dx = op->dx + at;

        for (int i = 0; i < op->hw; i++)
            dx[i] = slope * (GRADIENT(i) - of_mean - (x[i] - mean) * of_x);
    }
}

enum psim_status ob_norm_backward(struct pk_context *context, const struct pk_norm_backward *op,
                                  const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)workspace;
    (void)err;
    ob_run_rows(context, backward_channel, op, op->c, channels_of_task(op->hw));
    return PSIM_OK;
}

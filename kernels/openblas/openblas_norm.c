/*
 * Batch norm.  A task has some channels and makes both passes over them, so that the second finds
 * in the cache what the first has read: memory sees each array once.
 */
#include "kernels/openblas/openblas.h"

#include "kernels/openblas/openblas_functions.h"

#include <math.h>

/* Values of neighbouring channels that a task takes at least: short planes share cache lines. */
#define SPAN 256

/* Channels [first, end) of a task. */
struct channels {
    int first, end;
};

static int channels_of_task(int hw)
{
    return hw >= SPAN ? 1 : SPAN / (hw > 0 ? hw : 1);
}

static struct channels channels_of(int64_t task, int c, int hw)
{
    const int64_t count = channels_of_task(hw);

    return (struct channels){(int)(task * count), (int)ob_min((task + 1) * count, c)};
}

static size_t plane(int sample, int channels, int channel, int hw)
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

/* What a norm does to one plane: f = slope (x - mean) + shift, and what stands around it. */
struct affine {
    float mean, slope, shift;
    bool relu;
    const float *base;
    float base_sign;
    float *y, *f;
};

OB_INLINE void apply(const struct affine *a, const float *x, int count)
{
    const float mean = a->mean, slope = a->slope, shift = a->shift, sign = a->base_sign;
    const float lowest = a->relu ? 0 : -INFINITY;
    const float *base = a->base;
    float *y = a->y, *f = a->f;

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

/* Writes the statistics of one channel. */
OB_CLONES static void find_statistics(const struct pk_norm_forward *op, int channel)
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

OB_CLONES static void normalise(const struct pk_norm_forward *op, int channel)
{
    struct affine affine = {.mean = op->mean[channel],
                            .slope = op->inv_std[channel] * op->scale[channel],
                            .shift = op->shift[channel],
                            .relu = op->relu,
                            .base_sign = op->base_sign};

    for (int sample = 0; sample < op->n; sample++) {
        const size_t at = plane(sample, op->c, channel, op->hw);

        affine.base = op->base == NULL ? NULL : op->base + at;
        affine.y = op->y + at;
        affine.f = op->f == NULL ? NULL : op->f + at;
        apply(&affine, op->x + at, op->hw);
    }
}

static void forward_task(void *argument, int64_t task, int thread)
{
    const struct pk_norm_forward *op = argument;
    const struct channels part = channels_of(task, op->c, op->hw);

    (void)thread;
    for (int channel = part.first; channel < part.end; channel++)
        find_statistics(op, channel);
    for (int channel = part.first; channel < part.end; channel++)
        normalise(op, channel);
}

enum psim_status ob_norm_forward(struct pk_context *context, const struct pk_norm_forward *op,
                                 const struct pk_workspace *workspace, struct psim_error *err)
{
    struct pk_norm_forward copy = *op;

    (void)workspace;
    (void)err;
    if (op->n > 0 && op->hw > 0)
        ob_run(context, forward_task, &copy, ob_ceil(op->c, channels_of_task(op->hw)));
    return PSIM_OK;
}

OB_CLONES static void infer_channel(const struct pk_norm_inference *op, int channel)
{
    const double spread = (double)op->running_variance[channel] + (double)op->epsilon;
    struct affine affine = {.mean = op->running_mean[channel],
                            .slope = (float)(op->scale[channel] / sqrt(spread)),
                            .shift = op->shift[channel],
                            .relu = op->relu,
                            .base_sign = op->base_sign};

    for (int sample = 0; sample < op->n; sample++) {
        const size_t at = plane(sample, op->c, channel, op->hw);

        affine.base = op->base == NULL ? NULL : op->base + at;
        affine.y = op->y + at;
        apply(&affine, op->x + at, op->hw);
    }
}

static void inference_task(void *argument, int64_t task, int thread)
{
    const struct pk_norm_inference *op = argument;
    const struct channels part = channels_of(task, op->c, op->hw);

    (void)thread;
    for (int channel = part.first; channel < part.end; channel++)
        infer_channel(op, channel);
}

enum psim_status ob_norm_inference(struct pk_context *context, const struct pk_norm_inference *op,
                                   const struct pk_workspace *workspace, struct psim_error *err)
{
    struct pk_norm_inference copy = *op;

    (void)workspace;
    (void)err;
    if (op->n > 0 && op->hw > 0)
        ob_run(context, inference_task, &copy, ob_ceil(op->c, channels_of_task(op->hw)));
    return PSIM_OK;
}

/* The gradient of f, through the ReLU whose sign is rebuilt exactly as `apply` has found it. */
#define GRADIENT(i) ((relu && (x[i] - mean) * slope + shift <= 0) ? 0 : dy[i])

OB_INLINE void add_gradients(const float *x, const float *dy, int count, float mean, float slope,
                             float shift, bool relu, double *sum, double *product)
{
    double first[OB_LANES] = {0}, second[OB_LANES] = {0};
    int i = 0;

    for (; i + OB_LANES <= count; i += OB_LANES)
        for (int lane = 0; lane < OB_LANES; lane++) {
            const double g = GRADIENT(i + lane);

            first[lane] += g;
            second[lane] += g * (double)(x[i + lane] - mean);
        }
    for (; i < count; i++) {
        const double g = GRADIENT(i);

        first[i % OB_LANES] += g;
        second[i % OB_LANES] += g * (double)(x[i] - mean);
    }
    *sum += ob_lane_sum(first);
    *product += ob_lane_sum(second);
}

/* dx = slope (g - mean(g) - x^ mean(g x^)) with x^ = (x - mean) inv_std; arXiv:1502.03167
 * section 3. */
OB_CLONES static void backward_channel(const struct pk_norm_backward *op, int channel)
{
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

static void backward_task(void *argument, int64_t task, int thread)
{
    const struct pk_norm_backward *op = argument;
    const struct channels part = channels_of(task, op->c, op->hw);

    (void)thread;
    for (int channel = part.first; channel < part.end; channel++)
        backward_channel(op, channel);
}

enum psim_status ob_norm_backward(struct pk_context *context, const struct pk_norm_backward *op,
                                  const struct pk_workspace *workspace, struct psim_error *err)
{
    struct pk_norm_backward copy = *op;

    (void)workspace;
    (void)err;
    if (op->n > 0 && op->hw > 0)
        ob_run(context, backward_task, &copy, ob_ceil(op->c, channels_of_task(op->hw)));
    return PSIM_OK;
}

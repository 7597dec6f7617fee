/**
 * @file kernels/cuda/body_element.h
 * Kernels on one element at a time, copies of rows, rounding, and the count of bad values.
 *
 * `wide`: all arrays start at multiples of 16 bytes and move 4 values at a time.
 */
#ifndef PK_CUDA_BODY_ELEMENT_H
#define PK_CUDA_BODY_ELEMENT_H

#include "kernels/cuda/body.h"
#include "kernels/pk.h"

struct cuda_relu {
    struct pk_relu_forward op;
    bool wide;
};

PK_BODY void cuda_relu_span(const struct cuda_relu *a, size_t i, int width)
{
    float x[4];

    cuda_load(a->op.x + i, x, width);
    for (int j = 0; j < width; j++)
        x[j] = cuda_rectified(x[j], true);
    cuda_store(a->op.y + i, x, width);
}

PK_BODY void cuda_relu_body(const struct cuda_relu *a, struct cuda_at at,
                            struct cuda_unshared *shared, int phase)
{
    (void)shared;
    (void)phase;
    CUDA_EACH_SPAN(cuda_relu_span, a, at, a->op.count, a->wide);
}

struct cuda_relu_gradient {
    struct pk_relu_backward op;
    bool wide;
};

PK_BODY void cuda_relu_gradient_span(const struct cuda_relu_gradient *a, size_t i, int width)
{
    float y[4], dy[4], dx[4];

    cuda_load(a->op.y + i, y, width);
    cuda_load(a->op.dy + i, dy, width);
    if (a->op.accumulate)
        cuda_load(a->op.dx + i, dx, width);
    for (int j = 0; j < width; j++) {
        const float gradient = y[j] > 0 ? dy[j] : 0;

        dx[j] = a->op.accumulate ? dx[j] + gradient : gradient;
    }
    cuda_store(a->op.dx + i, dx, width);
}

PK_BODY void cuda_relu_gradient_body(const struct cuda_relu_gradient *a, struct cuda_at at,
                                     struct cuda_unshared *shared, int phase)
{
    (void)shared;
    (void)phase;
    CUDA_EACH_SPAN(cuda_relu_gradient_span, a, at, a->op.count, a->wide);
}

struct cuda_sum {
    struct pk_add op;
    bool wide;
};

PK_BODY void cuda_sum_span(const struct cuda_sum *a, size_t i, int width)
{
    float x[4], y[4];

    cuda_load(a->op.a + i, x, width);
    cuda_load(a->op.b + i, y, width);
    for (int j = 0; j < width; j++)
        y[j] = cuda_rectified(a->op.alpha * x[j] + a->op.beta * y[j], a->op.relu);
    cuda_store(a->op.y + i, y, width);
}

PK_BODY void cuda_sum_body(const struct cuda_sum *a, struct cuda_at at,
                           struct cuda_unshared *shared, int phase)
{
    (void)shared;
    (void)phase;
    CUDA_EACH_SPAN(cuda_sum_span, a, at, a->op.count, a->wide);
}

struct cuda_step {
    struct pk_sgd op;
    bool wide;
};

PK_BODY void cuda_step_span(const struct cuda_step *a, size_t i, int width)
{
    const float momentum = a->op.momentum;
    float gradient[4], v[4], w[4];

    cuda_load(a->op.gradient + i, gradient, width);
    cuda_load(a->op.weight + i, w, width);
    if (momentum != 0)
        cuda_load(a->op.velocity + i, v, width);
    for (int j = 0; j < width; j++) {
        const float g = a->op.gradient_scale * gradient[j] + a->op.weight_decay * w[j];
        float step = g;

        if (momentum != 0) {
            v[j] = momentum * v[j] + g;
            step = a->op.nesterov ? g + momentum * v[j] : v[j];
        }
        w[j] -= a->op.rate * step;
    }
    if (momentum != 0)
        cuda_store(a->op.velocity + i, v, width);
    cuda_store(a->op.weight + i, w, width);
}

PK_BODY void cuda_step_body(const struct cuda_step *a, struct cuda_at at,
                            struct cuda_unshared *shared, int phase)
{
    (void)shared;
    (void)phase;
    CUDA_EACH_SPAN(cuda_step_span, a, at, a->op.count, a->wide);
}

/* Phi(x), the distribution function of the standard normal; erfc keeps its small tail exact. */
PK_BODY float cuda_normal_distribution(float x)
{
    return 0.5f * erfcf(-x * 0.70710678118654752440f /* 1 / sqrt(2) */);
}

struct cuda_gelu {
    struct pk_gelu_forward op;
    bool wide;
};

PK_BODY void cuda_gelu_span(const struct cuda_gelu *a, size_t i, int width)
{
    float x[4];

    cuda_load(a->op.x + i, x, width);
    for (int j = 0; j < width; j++)
        x[j] *= cuda_normal_distribution(x[j]);
    cuda_store(a->op.y + i, x, width);
}

PK_BODY void cuda_gelu_body(const struct cuda_gelu *a, struct cuda_at at,
                            struct cuda_unshared *shared, int phase)
{
    (void)shared;
    (void)phase;
    CUDA_EACH_SPAN(cuda_gelu_span, a, at, a->op.count, a->wide);
}

struct cuda_gelu_gradient {
    struct pk_gelu_backward op;
    bool wide;
};

PK_BODY void cuda_gelu_gradient_span(const struct cuda_gelu_gradient *a, size_t i, int width)
{
    float x[4], dy[4];

    cuda_load(a->op.x + i, x, width);
    cuda_load(a->op.dy + i, dy, width);
    for (int j = 0; j < width; j++) {
        const float density =
            0.39894228040143267794f /* 1 / sqrt(2 pi) */ * expf(-0.5f * x[j] * x[j]);

        dy[j] *= cuda_normal_distribution(x[j]) + x[j] * density;
    }
    cuda_store(a->op.dx + i, dy, width);
}

PK_BODY void cuda_gelu_gradient_body(const struct cuda_gelu_gradient *a, struct cuda_at at,
                                     struct cuda_unshared *shared, int phase)
{
    (void)shared;
    (void)phase;
    CUDA_EACH_SPAN(cuda_gelu_gradient_span, a, at, a->op.count, a->wide);
}

/** Rows; where wide, columns and strides are multiples of 4 and `per_row` counts groups. */
struct cuda_rows {
    struct pk_copy_rows op;
    struct cuda_divider per_row;
    bool wide;
};

PK_BODY void cuda_rows_span(const struct cuda_rows *a, size_t i, int width)
{
    const size_t row = cuda_quotient((uint32_t)i, a->per_row);
    const size_t column = (i - row * a->per_row.divisor) * (size_t)width;
    float *target = a->op.target + row * a->op.target_stride + column;
    float value[4], old[4];

    cuda_load(a->op.source + row * a->op.source_stride + column, value, width);
    if (a->op.accumulate) {
        cuda_load(target, old, width);
        for (int j = 0; j < width; j++)
            value[j] += old[j];
    }
    cuda_store(target, value, width);
}

PK_BODY void cuda_rows_body(const struct cuda_rows *a, struct cuda_at at,
                            struct cuda_unshared *shared, int phase)
{
    const size_t step = (size_t)at.blocks * PK_THREADS;
    const size_t count = a->op.rows * a->per_row.divisor;

    (void)shared;
    (void)phase;
    for (size_t i = (size_t)at.block * PK_THREADS + at.thread; i < count; i += step)
        if (a->wide)
            cuda_rows_span(a, i, 4);
        else
            cuda_rows_span(a, i, 1);
}

/** Adds a bias to y [., channels, inner] in place, and the ReLU; bias may be NULL. */
struct cuda_bias {
    size_t count;
    struct cuda_divider channels, inner;
    const float *bias;
    float *y;
    bool relu, wide;
};

PK_BODY void cuda_bias_span(const struct cuda_bias *a, size_t i, int width)
{
    float y[4];

    cuda_load(a->y + i, y, width);
    for (int j = 0; j < width; j++) {
        const uint32_t plane = cuda_quotient((uint32_t)i + (uint32_t)j, a->inner);
        const float bias = a->bias == NULL ? 0 : a->bias[cuda_remainder(plane, a->channels)];

        y[j] = cuda_rectified(y[j] + bias, a->relu);
    }
    cuda_store(a->y + i, y, width);
}

PK_BODY void cuda_bias_body(const struct cuda_bias *a, struct cuda_at at,
                            struct cuda_unshared *shared, int phase)
{
    (void)shared;
    (void)phase;
    CUDA_EACH_SPAN(cuda_bias_span, a, at, a->count, a->wide);
}

/** y = x rounded to bf16. */
struct cuda_rounding {
    size_t count;
    const float *x;
    uint16_t *y;
    bool wide;
};

PK_BODY void cuda_rounding_span(const struct cuda_rounding *a, size_t i, int width)
{
    float x[4];

    cuda_load(a->x + i, x, width);
    for (int j = 0; j < width; j++)
        a->y[i + (size_t)j] = cuda_bf16(x[j]);
}

PK_BODY void cuda_rounding_body(const struct cuda_rounding *a, struct cuda_at at,
                                struct cuda_unshared *shared, int phase)
{
    (void)shared;
    (void)phase;
    CUDA_EACH_SPAN(cuda_rounding_span, a, at, a->count, a->wide);
}

/** Bad values that each block finds: partial [blocks]. */
struct cuda_bad {
    struct pk_count_bad op;
    int64_t *partial;
};

struct cuda_counts {
    int64_t slots[PK_THREADS];
};

PK_BODY void cuda_counts_fold(struct cuda_counts *shared, uint32_t thread)
{
    int64_t sum = 0;

    if (thread >= 16)
        return;
    for (uint32_t j = thread; j < PK_THREADS; j += 16)
        sum += shared->slots[j];
    shared->slots[thread] = sum;
}

PK_BODY int64_t cuda_counts_folded(const struct cuda_counts *shared)
{
    int64_t sum = 0;

    for (int j = 0; j < 16; j++)
        sum += shared->slots[j];
    return sum;
}

PK_BODY void cuda_bad_body(const struct cuda_bad *a, struct cuda_at at, struct cuda_counts *shared,
                           int phase)
{
    const size_t step = (size_t)at.blocks * PK_THREADS;

    if (phase == 0) {
        int64_t bad = 0;

        for (size_t i = (size_t)at.block * PK_THREADS + at.thread; i < a->op.count; i += step)
            bad += isfinite(a->op.x[i]) ? 0 : 1;
        shared->slots[at.thread] = bad;
    } else if (phase == 1) {
        cuda_counts_fold(shared, at.thread);
    } else if (at.thread == 0) {
        a->partial[at.block] = cuda_counts_folded(shared);
    }
}

/** total = the sum of partial [count]; one block. */
struct cuda_total {
    int count;
    const int64_t *partial;
    int64_t *total;
};

PK_BODY void cuda_total_body(const struct cuda_total *a, struct cuda_at at,
                             struct cuda_counts *shared, int phase)
{
    if (phase == 0) {
        int64_t sum = 0;

        for (int i = (int)at.thread; i < a->count; i += PK_THREADS)
            sum += a->partial[i];
        shared->slots[at.thread] = sum;
    } else if (phase == 1) {
        cuda_counts_fold(shared, at.thread);
    } else if (at.thread == 0) {
        *a->total = cuda_counts_folded(shared);
    }
}

#endif

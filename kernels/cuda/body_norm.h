/**
 * @file kernels/cuda/body_norm.h
 * Kernels of batch norm and of sums over channels.
 *
 * A channel's values lie in n runs of hw.  Its reduction is cut into `splits` blocks, so that few
 * channels still fill the device; a second kernel joins what they found.
 */
#ifndef PK_CUDA_BODY_NORM_H
#define PK_CUDA_BODY_NORM_H

#include "kernels/cuda/body.h"

/** Values of [n, c, hw] by channel; where wide, hw is a multiple of 4. */
struct cuda_channels {
    int n, c, hw, splits;
    bool wide;
};

/** A thread's way through one block's share of one channel, in units of 1 or 4 values. */
struct cuda_walk {
    uint32_t unit, end, image, place, per_image, width, channel;
};

PK_BODY struct cuda_walk cuda_walk_of(const struct cuda_channels *s, struct cuda_at at)
{
    const uint32_t split = at.block % (uint32_t)s->splits;
    struct cuda_walk w;
    uint32_t units, share;

    w.channel = at.block / (uint32_t)s->splits;
    w.width = s->wide ? 4 : 1;
    w.per_image = (uint32_t)s->hw / w.width;
    units = (uint32_t)s->n * w.per_image;
    share = (units + (uint32_t)s->splits - 1) / (uint32_t)s->splits;
    w.end = units < (split + 1) * share ? units : (split + 1) * share;
    w.unit = split * share + at.thread;
    w.image = w.unit / w.per_image;
    w.place = w.unit % w.per_image;
    return w;
}

PK_BODY void cuda_walk_next(struct cuda_walk *w)
{
    w->unit += PK_THREADS;
    w->image += PK_THREADS / w->per_image;
    w->place += PK_THREADS % w->per_image;
    if (w->place >= w->per_image) {
        w->place -= w->per_image;
        w->image++;
    }
}

PK_BODY size_t cuda_walk_at(const struct cuda_walk *w, const struct cuda_channels *s)
{
    return ((size_t)w->image * (size_t)s->c + w->channel) * (size_t)s->hw +
           (size_t)w->place * w->width;
}

/**
 * Count, mean and sum of squared distances from the mean of some values; joined by Chan, Golub
 * and LeVeque (Amer. Stat. 37(3), 1983, doi:10.1080/00031305.1983.10483115, eq. 2.1).
 */
struct cuda_moments {
    float count, mean, squares;
};

PK_BODY struct cuda_moments cuda_joined(struct cuda_moments a, struct cuda_moments b)
{
    const float distance = b.mean - a.mean, count = a.count + b.count;

    if (b.count == 0)
        return a;
    if (a.count == 0)
        return b;
    a.mean += distance * (b.count / count);
    a.squares += b.squares + distance * distance * (a.count * b.count / count);
    a.count = count;
    return a;
}

/** Moments of each block's share: partial [c, splits]. */
struct cuda_norm_moments {
    struct cuda_channels shape;
    const float *x;
    struct cuda_moments *partial;
};

struct cuda_moments_shared {
    struct cuda_moments slots[PK_THREADS];
};

/* One pass, less the first value of the thread: its distance from the mean is small beside what
 * the mean may be, so that little is lost to cancellation. */
PK_BODY struct cuda_moments cuda_thread_moments(const struct cuda_norm_moments *a,
                                                struct cuda_at at)
{
    struct cuda_walk w = cuda_walk_of(&a->shape, at);
    struct cuda_moments m = {0, 0, 0};
    float origin = 0, sum = 0;

    for (; w.unit < w.end; cuda_walk_next(&w)) {
        float x[4];

        cuda_load(a->x + cuda_walk_at(&w, &a->shape), x, w.width == 4 ? 4 : 1);
        if (m.count == 0)
            origin = x[0];
        for (uint32_t j = 0; j < w.width; j++) {
            const float distance = x[j] - origin;

            sum += distance;
            m.squares += distance * distance;
        }
        m.count += (float)w.width;
    }
    if (m.count > 0) {
        m.mean = origin + sum / m.count;
        m.squares -= sum * (sum / m.count);
        m.squares = m.squares < 0 ? 0 : m.squares;
    }
    return m;
}

PK_BODY void cuda_norm_moments_body(const struct cuda_norm_moments *a, struct cuda_at at,
                                    struct cuda_moments_shared *shared, int phase)
{
    struct cuda_moments m;

    if (phase == 0) {
        shared->slots[at.thread] = cuda_thread_moments(a, at);
    } else if (phase == 1 && at.thread < 16) {
        m = shared->slots[at.thread];
        for (uint32_t j = at.thread + 16; j < PK_THREADS; j += 16)
            m = cuda_joined(m, shared->slots[j]);
        shared->slots[at.thread] = m;
    } else if (phase == 2 && at.thread == 0) {
        m = shared->slots[0];
        for (uint32_t j = 1; j < 16; j++)
            m = cuda_joined(m, shared->slots[j]);
        a->partial[at.block] = m;
    }
}

/** Joins the shares; a thread is a channel. */
struct cuda_norm_finish {
    int c, splits;
    float epsilon, momentum;
    const struct cuda_moments *partial;
    float *mean, *inv_std, *running_mean, *running_variance;
};

PK_BODY void cuda_norm_finish_body(const struct cuda_norm_finish *a, struct cuda_at at,
                                   struct cuda_unshared *shared, int phase)
{
    const size_t channel = (size_t)at.block * PK_THREADS + at.thread;
    const struct cuda_moments *partial = a->partial + channel * (size_t)a->splits;
    struct cuda_moments m;

    (void)shared;
    (void)phase;
    if (channel >= (size_t)a->c)
        return;
    m = partial[0];
    for (int i = 1; i < a->splits; i++)
        m = cuda_joined(m, partial[i]);
    a->mean[channel] = m.mean;
    a->inv_std[channel] = 1 / sqrtf(m.squares / m.count + a->epsilon);
    if (a->running_mean == NULL)
        return;
    a->running_mean[channel] = (1 - a->momentum) * a->running_mean[channel] + a->momentum * m.mean;
    a->running_variance[channel] = (1 - a->momentum) * a->running_variance[channel] +
                                   a->momentum * (m.squares / (m.count - 1));
}

/** What turns one channel's values into f. */
struct cuda_affine {
    float mean, inv_std, scale, shift;
};

/* The forward and the backward both ask here, so that they find the same sign of f. */
PK_BODY float cuda_normalised(float x, struct cuda_affine c)
{
    return c.scale * ((x - c.mean) * c.inv_std) + c.shift;
}

/** y = base + sign f, f = scale (x - mean) inv_std + shift; see struct pk_norm_forward. */
struct cuda_norm_apply {
    size_t count;
    struct cuda_divider c, hw;
    const float *x, *mean, *inv_std, *scale, *shift, *base;
    const float *variance; /**< instead of inv_std, with epsilon; or NULL */
    float epsilon, sign;
    float *y, *f; /**< f may be NULL */
    bool relu, wide;
};

PK_BODY struct cuda_affine cuda_apply_channel(const struct cuda_norm_apply *a, uint32_t channel)
{
    struct cuda_affine c;

    c.mean = a->mean[channel];
    c.inv_std =
        a->variance == NULL ? a->inv_std[channel] : 1 / sqrtf(a->variance[channel] + a->epsilon);
    c.scale = a->scale[channel];
    c.shift = a->shift[channel];
    return c;
}

PK_BODY void cuda_norm_apply_span(const struct cuda_norm_apply *a, size_t i, int width)
{
    uint32_t plane = cuda_quotient((uint32_t)i, a->hw);
    uint32_t place = (uint32_t)i - plane * a->hw.divisor;
    struct cuda_affine c = cuda_apply_channel(a, cuda_remainder(plane, a->c));
    float f[4], y[4];

    cuda_load(a->x + i, f, width);
    if (a->base != NULL)
        cuda_load(a->base + i, y, width);
    for (int j = 0; j < width; j++, place++) {
        if (place == a->hw.divisor) {
            place = 0;
            c = cuda_apply_channel(a, cuda_remainder(++plane, a->c));
        }
        f[j] = cuda_rectified(cuda_normalised(f[j], c), a->relu);
        y[j] = a->base == NULL ? f[j] : y[j] + a->sign * f[j];
    }
    cuda_store(a->y + i, y, width);
    if (a->f != NULL)
        cuda_store(a->f + i, f, width);
}

PK_BODY void cuda_norm_apply_body(const struct cuda_norm_apply *a, struct cuda_at at,
                                  struct cuda_unshared *shared, int phase)
{
    (void)shared;
    (void)phase;
    CUDA_EACH_SPAN(cuda_norm_apply_span, a, at, a->count, a->wide);
}

/** Statistics and parameters of a norm; x is NULL where a plain sum of dy is wanted. */
struct cuda_norm_input {
    const float *x, *dy, *mean, *inv_std, *scale, *shift;
    bool relu;
};

PK_BODY struct cuda_affine cuda_input_channel(const struct cuda_norm_input *a, uint32_t channel)
{
    struct cuda_affine c;

    c.mean = a->mean[channel];
    c.inv_std = a->inv_std[channel];
    c.scale = a->scale[channel];
    c.shift = a->shift[channel];
    return c;
}

/* The gradient behind the ReLU. */
PK_BODY float cuda_masked(float x, float dy, struct cuda_affine c, bool relu)
{
    return relu && !(cuda_normalised(x, c) > 0) ? 0 : dy;
}

/** Sums of g and of g z by channel, z = (x - mean) inv_std: partial [splits, 2, c]. */
struct cuda_channel_sums {
    struct cuda_channels shape;
    struct cuda_norm_input in;
    float *partial;
};

struct cuda_sums_shared {
    float g[PK_THREADS], z[PK_THREADS];
};

PK_BODY void cuda_channel_sums_share(const struct cuda_channel_sums *a, struct cuda_at at,
                                     struct cuda_sums_shared *shared)
{
    struct cuda_walk w = cuda_walk_of(&a->shape, at);
    struct cuda_affine c = {0, 0, 0, 0};
    float sum = 0, sum_z = 0;

    if (a->in.x != NULL)
        c = cuda_input_channel(&a->in, w.channel);
    for (; w.unit < w.end; cuda_walk_next(&w)) {
        const size_t i = cuda_walk_at(&w, &a->shape);
        float x[4] = {0, 0, 0, 0}, dy[4];

        cuda_load(a->in.dy + i, dy, w.width == 4 ? 4 : 1);
        if (a->in.x != NULL)
            cuda_load(a->in.x + i, x, w.width == 4 ? 4 : 1);
        for (uint32_t j = 0; j < w.width; j++) {
            const float g = cuda_masked(x[j], dy[j], c, a->in.relu);

            sum += g;
            sum_z += g * ((x[j] - c.mean) * c.inv_std);
        }
    }
    shared->g[at.thread] = sum;
    shared->z[at.thread] = sum_z;
}

PK_BODY void cuda_channel_sums_body(const struct cuda_channel_sums *a, struct cuda_at at,
                                    struct cuda_sums_shared *shared, int phase)
{
    const struct cuda_group g = cuda_group_of(at.thread, PK_THREADS);
    const size_t channel = at.block / (uint32_t)a->shape.splits;
    const size_t split = at.block % (uint32_t)a->shape.splits, c = (size_t)a->shape.c;

    if (phase == 0) {
        cuda_channel_sums_share(a, at, shared);
    } else if (phase == 1) {
        cuda_fold(shared->g, g);
        cuda_fold(shared->z, g);
    } else if (at.thread == 0) {
        a->partial[2 * split * c + channel] = cuda_folded(shared->g, g);
        a->partial[(2 * split + 1) * c + channel] = cuda_folded(shared->z, g);
    }
}

/** Joins partial [splits, 2, columns]: into sums [2, columns], and adds to dshift and dscale. */
struct cuda_sums_finish {
    int columns, splits;
    const float *partial;
    float *sums, *dshift, *dscale; /**< each may be NULL */
};

PK_BODY void cuda_sums_finish_body(const struct cuda_sums_finish *a, struct cuda_at at,
                                   struct cuda_unshared *shared, int phase)
{
    const size_t columns = (size_t)a->columns;
    const size_t i = (size_t)at.block * PK_THREADS + at.thread;
    float sum = 0, sum_z = 0;

    (void)shared;
    (void)phase;
    if (i >= columns)
        return;
    for (size_t split = 0; split < (size_t)a->splits; split++) {
        sum += a->partial[2 * split * columns + i];
        sum_z += a->partial[(2 * split + 1) * columns + i];
    }
    if (a->sums != NULL) {
        a->sums[i] = sum;
        a->sums[columns + i] = sum_z;
    }
    if (a->dshift != NULL)
        a->dshift[i] += sum;
    if (a->dscale != NULL)
        a->dscale[i] += sum_z;
}

/** dx = scale inv_std (g - sum g / m - z sum(g z) / m); sums [2, c]; m: values of a channel. */
struct cuda_norm_gradient {
    size_t count;
    struct cuda_divider c, hw;
    struct cuda_norm_input in;
    const float *sums;
    float m;
    float *dx;
    bool wide;
};

PK_BODY void cuda_norm_gradient_span(const struct cuda_norm_gradient *a, size_t i, int width)
{
    float x[4], dy[4];

    cuda_load(a->in.x + i, x, width);
    cuda_load(a->in.dy + i, dy, width);
    for (int j = 0; j < width; j++) {
        const uint32_t plane = cuda_quotient((uint32_t)i + (uint32_t)j, a->hw);
        const uint32_t channel = cuda_remainder(plane, a->c);
        const struct cuda_affine c = cuda_input_channel(&a->in, channel);
        const float z = (x[j] - c.mean) * c.inv_std;
        const float g = cuda_masked(x[j], dy[j], c, a->in.relu);

        dy[j] = c.scale * c.inv_std *
                (g - a->sums[channel] / a->m - z * (a->sums[a->c.divisor + channel] / a->m));
    }
    cuda_store(a->dx + i, dy, width);
}

PK_BODY void cuda_norm_gradient_body(const struct cuda_norm_gradient *a, struct cuda_at at,
                                     struct cuda_unshared *shared, int phase)
{
    (void)shared;
    (void)phase;
    CUDA_EACH_SPAN(cuda_norm_gradient_span, a, at, a->count, a->wide);
}

#endif

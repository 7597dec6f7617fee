/**
 * @file kernels/cuda/body_image.h
 * Kernels of images: column matrices for convolutions, pooling, means over an image.
 *
 * The column matrix of an image has a row for each (channel, row of the window, column of the
 * window) and a column for each output pixel: a convolution is a product with it (see
 * docs/cuda.md).  Windows that reach over the border meet zeros.
 */
#ifndef PK_CUDA_BODY_IMAGE_H
#define PK_CUDA_BODY_IMAGE_H

#include "kernels/cuda/body.h"

/** A window moving over an image [channels, h, w], giving `pixels` = p q positions. */
struct cuda_window {
    int channels, h, w, kernel, stride, pad, p, q;
    struct cuda_divider side, across; /**< kernel, q */
};

/** What a tap of a window at an output pixel lies on: place in [h, w], negative where outside. */
PK_BODY int cuda_window_place(const struct cuda_window *s, uint32_t tap, uint32_t pixel)
{
    const uint32_t r = cuda_quotient(tap, s->side), p = cuda_quotient(pixel, s->across);
    const int y = (int)p * s->stride - s->pad + (int)r;
    const int x = (int)(pixel - p * s->across.divisor) * s->stride - s->pad +
                  (int)(tap - r * s->side.divisor);

    return y < 0 || y >= s->h || x < 0 || x >= s->w ? -1 : y * s->w + x;
}

/**
 * Columns of `images` images from x on, output pixels from `first` on: row r of image n begins at
 * r row_stride + n image_stride.  Into fp32, or rounded to bf16.
 */
struct cuda_columns {
    struct cuda_window window;
    struct cuda_divider area; /**< kernel^2 */
    int images;
    uint32_t first;
    struct cuda_divider rows, pixels; /**< channels kernel^2; pixels of this piece */
    size_t row_stride, image_stride;
    const float *x;
    float *target; /**< or NULL */
    uint16_t *rounded;
};

PK_BODY void cuda_columns_body(const struct cuda_columns *a, struct cuda_at at,
                               struct cuda_unshared *shared, int phase)
{
    const struct cuda_window *s = &a->window;
    const size_t plane = (size_t)s->h * (size_t)s->w;
    const size_t count = (size_t)a->images * a->rows.divisor * a->pixels.divisor;
    const size_t step = (size_t)at.blocks * PK_THREADS;

    (void)shared;
    (void)phase;
    for (size_t i = (size_t)at.block * PK_THREADS + at.thread; i < count; i += step) {
        const uint32_t line = cuda_quotient((uint32_t)i, a->pixels);
        const uint32_t pixel = (uint32_t)i - line * a->pixels.divisor;
        const uint32_t image = cuda_quotient(line, a->rows);
        const uint32_t row = line - image * a->rows.divisor;
        const uint32_t channel = cuda_quotient(row, a->area);
        const int place = cuda_window_place(s, row - channel * a->area.divisor, a->first + pixel);
        const size_t source = ((size_t)image * (size_t)s->channels + channel) * plane;
        const size_t target = row * a->row_stride + image * a->image_stride + pixel;
        const float value = place < 0 ? 0 : a->x[source + (size_t)place];

        if (a->target != NULL)
            a->target[target] = value;
        else
            a->rounded[target] = cuda_bf16(value);
    }
}

/**
 * Adds up columns [images, channels kernel^2, pixels] into the images that they were taken from:
 * each element of dx gathers from all windows over it, in a fixed order.
 */
struct cuda_scatter {
    struct cuda_window window;
    int images;
    uint32_t first, end; /**< output pixels that the columns hold */
    struct cuda_divider channels, plane, width;
    const float *columns;
    float *dx;
    bool accumulate;
};

/* The first output row (or column) whose window reaches y: windows start at y - kernel + 1. */
PK_BODY int cuda_first_window(int y, const struct cuda_window *s)
{
    return y < s->kernel ? 0 : (y - s->kernel) / s->stride + 1;
}

PK_BODY float cuda_gathered(const struct cuda_scatter *a, uint32_t image, uint32_t channel, int y,
                            int x)
{
    const struct cuda_window *s = &a->window;
    const size_t pixels = a->end - a->first;
    const size_t area = (size_t)s->kernel * (size_t)s->kernel;
    const float *columns =
        a->columns + ((size_t)image * a->channels.divisor + channel) * area * pixels;
    float sum = 0;

    for (int p = cuda_first_window(y, s); p < s->p && p * s->stride <= y; p++)
        for (int q = cuda_first_window(x, s); q < s->q && q * s->stride <= x; q++) {
            const uint32_t pixel = (uint32_t)p * (uint32_t)s->q + (uint32_t)q;
            const int tap = (y - p * s->stride) * s->kernel + x - q * s->stride;

            if (pixel >= a->first && pixel < a->end)
                sum += columns[(size_t)tap * pixels + (pixel - a->first)];
        }
    return sum;
}

PK_BODY void cuda_scatter_body(const struct cuda_scatter *a, struct cuda_at at,
                               struct cuda_unshared *shared, int phase)
{
    const struct cuda_window *s = &a->window;
    const size_t count = (size_t)a->images * a->channels.divisor * a->plane.divisor;
    const size_t step = (size_t)at.blocks * PK_THREADS;

    (void)shared;
    (void)phase;
    for (size_t i = (size_t)at.block * PK_THREADS + at.thread; i < count; i += step) {
        const uint32_t map = cuda_quotient((uint32_t)i, a->plane);
        const uint32_t place = (uint32_t)i - map * a->plane.divisor;
        const uint32_t image = cuda_quotient(map, a->channels);
        const uint32_t y = cuda_quotient(place, a->width);
        const float sum =
            cuda_gathered(a, image, map - image * a->channels.divisor, (int)y + s->pad,
                          (int)(place - y * a->width.divisor) + s->pad);

        a->dx[i] = a->accumulate ? a->dx[i] + sum : sum;
    }
}

/** Largest of each window, and where it is. */
struct cuda_pool {
    struct cuda_window window;
    size_t count;
    struct cuda_divider pixels;
    const float *x;
    float *y;
    int32_t *index; /**< or NULL */
};

PK_BODY void cuda_pool_body(const struct cuda_pool *a, struct cuda_at at,
                            struct cuda_unshared *shared, int phase)
{
    const struct cuda_window *s = &a->window;
    const size_t step = (size_t)at.blocks * PK_THREADS;

    (void)shared;
    (void)phase;
    for (size_t i = (size_t)at.block * PK_THREADS + at.thread; i < a->count; i += step) {
        const uint32_t map = cuda_quotient((uint32_t)i, a->pixels);
        const uint32_t pixel = (uint32_t)i - map * a->pixels.divisor;
        const uint32_t p = cuda_quotient(pixel, s->across);
        const int top = (int)p * s->stride - s->pad;
        const int left = (int)(pixel - p * s->across.divisor) * s->stride - s->pad;
        const float *x = a->x + (size_t)map * (size_t)s->h * (size_t)s->w;
        float best = 0;
        int found = -1;

        for (int r = top < 0 ? -top : 0; r < s->kernel && top + r < s->h; r++)
            for (int t = left < 0 ? -left : 0; t < s->kernel && left + t < s->w; t++) {
                const int place = (top + r) * s->w + left + t;

                if (found < 0 || x[place] > best || (x[place] != x[place] && best == best)) {
                    best = x[place];
                    found = place;
                }
            }
        a->y[i] = best;
        if (a->index != NULL)
            a->index[i] = found;
    }
}

/** dx gathers from the windows whose largest it was. */
struct cuda_pool_gradient {
    struct cuda_window window;
    size_t count;
    struct cuda_divider plane, width;
    const float *dy;
    const int32_t *index;
    float *dx;
};

PK_BODY void cuda_pool_gradient_body(const struct cuda_pool_gradient *a, struct cuda_at at,
                                     struct cuda_unshared *shared, int phase)
{
    const struct cuda_window *s = &a->window;
    const size_t step = (size_t)at.blocks * PK_THREADS;

    (void)shared;
    (void)phase;
    for (size_t i = (size_t)at.block * PK_THREADS + at.thread; i < a->count; i += step) {
        const uint32_t map = cuda_quotient((uint32_t)i, a->plane);
        const int place = (int)((uint32_t)i - map * a->plane.divisor);
        const uint32_t row = cuda_quotient((uint32_t)place, a->width);
        const int y = (int)row + s->pad, x = place - (int)(row * a->width.divisor) + s->pad;
        const size_t start = (size_t)map * (size_t)s->p * (size_t)s->q;
        float sum = 0;

        for (int p = cuda_first_window(y, s); p < s->p && p * s->stride <= y; p++)
            for (int q = cuda_first_window(x, s); q < s->q && q * s->stride <= x; q++) {
                const size_t pixel = start + (size_t)p * (size_t)s->q + (size_t)q;

                if (a->index[pixel] == place)
                    sum += a->dy[pixel];
            }
        a->dx[i] = sum;
    }
}

/** Mean over each plane of hw values; 32 threads a plane. */
struct cuda_mean {
    uint32_t planes;
    int hw;
    struct cuda_divider c;
    const float *x;
    float *y;
    size_t y_stride;
};

struct cuda_slots {
    float slots[PK_THREADS];
};

PK_BODY void cuda_mean_body(const struct cuda_mean *a, struct cuda_at at, struct cuda_slots *shared,
                            int phase)
{
    const struct cuda_group g = cuda_group_of(at.thread, 32);
    const uint32_t plane = at.block * (PK_THREADS / 32) + at.thread / 32;

    if (plane >= a->planes)
        return;
    if (phase == 0) {
        float sum = 0;

        for (int i = (int)g.lane; i < a->hw; i += 32)
            sum += a->x[(size_t)plane * (size_t)a->hw + (size_t)i];
        shared->slots[at.thread] = sum;
    } else if (phase == 1) {
        cuda_fold(shared->slots, g);
    } else if (g.lane == 0) {
        const uint32_t n = cuda_quotient(plane, a->c);

        a->y[n * a->y_stride + (plane - n * a->c.divisor)] =
            cuda_folded(shared->slots, g) / (float)a->hw;
    }
}

/** dx [n, c, hw] = dy [n, c] / hw */
struct cuda_mean_gradient {
    size_t count;
    struct cuda_divider hw, c;
    const float *dy;
    size_t dy_stride;
    float *dx;
    bool wide;
};

PK_BODY void cuda_mean_gradient_span(const struct cuda_mean_gradient *a, size_t i, int width)
{
    float dx[4];

    for (int j = 0; j < width; j++) {
        const uint32_t plane = cuda_quotient((uint32_t)i + (uint32_t)j, a->hw);
        const uint32_t n = cuda_quotient(plane, a->c);

        dx[j] = a->dy[n * a->dy_stride + (plane - n * a->c.divisor)] / (float)a->hw.divisor;
    }
    cuda_store(a->dx + i, dx, width);
}

PK_BODY void cuda_mean_gradient_body(const struct cuda_mean_gradient *a, struct cuda_at at,
                                     struct cuda_unshared *shared, int phase)
{
    (void)shared;
    (void)phase;
    CUDA_EACH_SPAN(cuda_mean_gradient_span, a, at, a->count, a->wide);
}

#endif

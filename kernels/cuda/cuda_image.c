/* Pooling and means over an image. */
#include "kernels/cuda/cuda_image.h"

struct cuda_window cuda_window_of(const struct pk_conv_shape *s)
{
    const int p = pk_window_out(s->h, s), q = pk_window_out(s->w, s);

    return (struct cuda_window){.channels = s->c,
                                .h = s->h,
                                .w = s->w,
                                .kernel = s->kernel,
                                .stride = s->stride,
                                .pad = s->pad,
                                .p = p,
                                .q = q,
                                .side = cuda_divider_of((uint32_t)s->kernel),
                                .across = cuda_divider_of((uint32_t)q)};
}

enum psim_status cuda_run_pool_forward(struct pk_context *base, const struct pk_pool_forward *op,
                                       const struct pk_workspace *workspace, struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct cuda_window window = cuda_window_of(&op->shape);
    const uint32_t pixels = (uint32_t)window.p * (uint32_t)window.q;
    const struct cuda_pool pool = {.window = window,
                                   .count = (size_t)op->shape.n * (size_t)op->shape.c * pixels,
                                   .pixels = cuda_divider_of(pixels),
                                   .x = op->x,
                                   .y = op->y,
                                   .index = op->index};

    (void)workspace;
    return cuda_launch_pool(context, cuda_blocks(context, pool.count), &pool, err);
}

enum psim_status cuda_run_pool_backward(struct pk_context *base, const struct pk_pool_backward *op,
                                        const struct pk_workspace *workspace,
                                        struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct pk_conv_shape *s = &op->shape;
    const uint32_t plane = (uint32_t)s->h * (uint32_t)s->w;
    const struct cuda_pool_gradient pool = {.window = cuda_window_of(s),
                                            .count = (size_t)s->n * (size_t)s->c * plane,
                                            .plane = cuda_divider_of(plane),
                                            .width = cuda_divider_of((uint32_t)s->w),
                                            .dy = op->dy,
                                            .index = op->index,
                                            .dx = op->dx};

    (void)workspace;
    return cuda_launch_pool_gradient(context, cuda_blocks(context, pool.count), &pool, err);
}

enum psim_status cuda_run_average_forward(struct pk_context *base,
                                          const struct pk_average_forward *op,
                                          const struct pk_workspace *workspace,
                                          struct psim_error *err)
{
    const struct cuda_mean mean = {.planes = (uint32_t)op->n * (uint32_t)op->c,
                                   .hw = op->hw,
                                   .c = cuda_divider_of((uint32_t)op->c),
                                   .x = op->x,
                                   .y = op->y,
                                   .y_stride = op->y_stride};
    const size_t each = PK_THREADS / 32; /* planes of a block */

    (void)workspace;
    return cuda_launch_mean(cuda_context_of(base), (mean.planes + each - 1) / each, &mean, err);
}

enum psim_status cuda_run_average_backward(struct pk_context *base,
                                           const struct pk_average_backward *op,
                                           const struct pk_workspace *workspace,
                                           struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct cuda_mean_gradient mean = {.count = (size_t)op->n * (size_t)op->c * (size_t)op->hw,
                                            .hw = cuda_divider_of((uint32_t)op->hw),
                                            .c = cuda_divider_of((uint32_t)op->c),
                                            .dy = op->dy,
                                            .dy_stride = op->dy_stride,
                                            .dx = op->dx,
                                            .wide = CUDA_ALIGNED(op->dx)};

    (void)workspace;
    return cuda_launch_mean_gradient(context, cuda_blocks(context, mean.count / 4 + 1), &mean, err);
}

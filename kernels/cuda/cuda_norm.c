/* Batch and layer normalisation. */
#include "kernels/cuda/cuda.h"

/* Shares of one channel's n hw values. */
static int channel_splits(const struct cuda_context *context, int n, int c, int hw)
{
    return cuda_splits(context, (size_t)c, (size_t)n * (size_t)hw);
}

static struct cuda_channels channels_of(const struct cuda_context *context, int n, int c, int hw,
                                        bool aligned)
{
    return (struct cuda_channels){.n = n,
                                  .c = c,
                                  .hw = hw,
                                  .splits = channel_splits(context, n, c, hw),
                                  .wide = aligned && hw % 4 == 0};
}

size_t cuda_workspace_norm_forward(const struct pk_context *base, const struct pk_norm_forward *op)
{
    const int splits = channel_splits(cuda_context_read(base), op->n, op->c, op->hw);

    return (size_t)op->c * (size_t)splits * sizeof(struct cuda_moments);
}

static enum psim_status find_statistics(struct cuda_context *context,
                                        const struct pk_norm_forward *op,
                                        struct cuda_moments *partial, struct psim_error *err)
{
    const struct cuda_norm_moments moments = {
        .shape = channels_of(context, op->n, op->c, op->hw, CUDA_ALIGNED(op->x)),
        .x = op->x,
        .partial = partial};
    const struct cuda_norm_finish finish = {.c = op->c,
                                            .splits = moments.shape.splits,
                                            .epsilon = op->epsilon,
                                            .momentum = op->momentum,
                                            .partial = partial,
                                            .mean = op->mean,
                                            .inv_std = op->inv_std,
                                            .running_mean = op->running_mean,
                                            .running_variance = op->running_variance};
    const enum psim_status status =
        cuda_launch_norm_moments(context, (size_t)op->c * (size_t)finish.splits, &moments, err);

    if (status != PSIM_OK)
        return status;
    return cuda_launch_norm_finish(context, ((size_t)op->c + PK_THREADS - 1) / PK_THREADS, &finish,
                                   err);
}

static enum psim_status apply(struct cuda_context *context, struct cuda_norm_apply *apply, int n,
                              int c, int hw, struct psim_error *err)
{
    apply->count = (size_t)n * (size_t)c * (size_t)hw;
    apply->c = cuda_divider_of((uint32_t)c);
    apply->hw = cuda_divider_of((uint32_t)hw);
    apply->wide = CUDA_ALIGNED(apply->x, apply->base, apply->y, apply->f);
    return cuda_launch_norm_apply(context, cuda_blocks(context, apply->count / 4 + 1), apply, err);
}

enum psim_status cuda_run_norm_forward(struct pk_context *base, const struct pk_norm_forward *op,
                                       const struct pk_workspace *workspace, struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    struct cuda_norm_apply with = {.x = op->x,
                                   .mean = op->mean,
                                   .inv_std = op->inv_std,
                                   .scale = op->scale,
                                   .shift = op->shift,
                                   .base = op->base,
                                   .sign = op->base_sign,
                                   .y = op->y,
                                   .f = op->f,
                                   .relu = op->relu};
    const enum psim_status status = find_statistics(context, op, workspace->data, err);

    return status != PSIM_OK ? status : apply(context, &with, op->n, op->c, op->hw, err);
}

enum psim_status cuda_run_norm_inference(struct pk_context *base,
                                         const struct pk_norm_inference *op,
                                         const struct pk_workspace *workspace,
                                         struct psim_error *err)
{
    struct cuda_norm_apply with = {.x = op->x,
                                   .mean = op->running_mean,
                                   .variance = op->running_variance,
                                   .epsilon = op->epsilon,
                                   .scale = op->scale,
                                   .shift = op->shift,
                                   .base = op->base,
                                   .sign = op->base_sign,
                                   .y = op->y,
                                   .relu = op->relu};

    (void)workspace;
    return apply(cuda_context_of(base), &with, op->n, op->c, op->hw, err);
}

size_t cuda_channel_totals_bytes(const struct cuda_context *context, int n, int c, int hw)
{
    const int splits = channel_splits(context, n, c, hw);

    return pk_padded(2 * (size_t)c * (size_t)splits * sizeof(float));
}

enum psim_status cuda_channel_totals(struct cuda_context *context,
                                     const struct cuda_channel_totals *totals,
                                     struct cuda_scratch *scratch, struct psim_error *err)
{
    const size_t c = (size_t)totals->c;
    float *partial =
        cuda_take(scratch, cuda_channel_totals_bytes(context, totals->n, totals->c, totals->hw));
    const struct cuda_channel_sums sums = {
        .shape = channels_of(context, totals->n, totals->c, totals->hw,
                             CUDA_ALIGNED(totals->in.x, totals->in.dy)),
        .in = totals->in,
        .partial = partial};
    const struct cuda_sums_finish finish = {.columns = totals->c,
                                            .splits = sums.shape.splits,
                                            .partial = partial,
                                            .sums = totals->sums,
                                            .dshift = totals->dshift,
                                            .dscale = totals->dscale};
    const enum psim_status status =
        cuda_launch_channel_sums(context, c * (size_t)sums.shape.splits, &sums, err);

    if (status != PSIM_OK)
        return status;
    return cuda_launch_sums_finish(context, (c + PK_THREADS - 1) / PK_THREADS, &finish, err);
}

size_t cuda_workspace_norm_backward(const struct pk_context *base,
                                    const struct pk_norm_backward *op)
{
    return pk_padded(2 * (size_t)op->c * sizeof(float)) +
           cuda_channel_totals_bytes(cuda_context_read(base), op->n, op->c, op->hw);
}

enum psim_status cuda_run_norm_backward(struct pk_context *base, const struct pk_norm_backward *op,
                                        const struct pk_workspace *workspace,
                                        struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    struct cuda_scratch scratch = {workspace->data};
    const struct cuda_channel_totals totals = {
        .n = op->n,
        .c = op->c,
        .hw = op->hw,
        .in = {op->x, op->dy, op->mean, op->inv_std, op->scale, op->shift, op->relu},
        .sums = cuda_take(&scratch, 2 * (size_t)op->c * sizeof(float)),
        .dshift = op->dshift,
        .dscale = op->dscale};
    const struct cuda_norm_gradient gradient = {.count =
                                                    (size_t)op->n * (size_t)op->c * (size_t)op->hw,
                                                .c = cuda_divider_of((uint32_t)op->c),
                                                .hw = cuda_divider_of((uint32_t)op->hw),
                                                .in = totals.in,
                                                .sums = totals.sums,
                                                .m = (float)op->n * (float)op->hw,
                                                .dx = op->dx,
                                                .wide = CUDA_ALIGNED(op->x, op->dy, op->dx)};
    const enum psim_status status = cuda_channel_totals(context, &totals, &scratch, err);

    if (status != PSIM_OK || op->dx == NULL)
        return status;
    return cuda_launch_norm_gradient(context, cuda_blocks(context, gradient.count / 4 + 1),
                                     &gradient, err);
}

enum psim_status cuda_run_layer_norm_forward(struct pk_context *base,
                                             const struct pk_layer_norm_forward *op,
                                             const struct pk_workspace *workspace,
                                             struct psim_error *err)
{
    const struct cuda_layer layer = {.op = *op, .lanes = cuda_lanes((size_t)op->columns)};

    (void)workspace;
    return cuda_launch_layer(cuda_context_of(base), cuda_row_blocks((size_t)op->rows, layer.lanes),
                             &layer, err);
}

size_t cuda_workspace_layer_norm_backward(const struct pk_context *base,
                                          const struct pk_layer_norm_backward *op)
{
    return cuda_row_sums_bytes(cuda_context_read(base), (size_t)op->rows, (size_t)op->columns);
}

enum psim_status cuda_run_layer_norm_backward(struct pk_context *base,
                                              const struct pk_layer_norm_backward *op,
                                              const struct pk_workspace *workspace,
                                              struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    struct cuda_scratch scratch = {workspace->data};
    const struct cuda_row_sums sums = {.rows = (size_t)op->rows,
                                       .columns = (size_t)op->columns,
                                       .x = op->x,
                                       .dy = op->dy,
                                       .mean = op->mean,
                                       .inv_std = op->inv_std,
                                       .dshift = op->dshift,
                                       .dscale = op->dscale};
    const struct cuda_layer_gradient layer = {.op = *op, .lanes = cuda_lanes((size_t)op->columns)};
    /* The sums first: dx may be dy. */
    const enum psim_status status = cuda_row_sums(context, &sums, &scratch, err);

    if (status != PSIM_OK)
        return status;
    return cuda_launch_layer_gradient(context, cuda_row_blocks((size_t)op->rows, layer.lanes),
                                      &layer, err);
}

enum psim_status cuda_run_cross_entropy(struct pk_context *base, const struct pk_cross_entropy *op,
                                        const struct pk_workspace *workspace,
                                        struct psim_error *err)
{
    const struct cuda_entropy entropy = {.op = *op, .lanes = cuda_lanes((size_t)op->classes)};

    (void)workspace;
    return cuda_launch_entropy(cuda_context_of(base),
                               cuda_row_blocks((size_t)op->rows, entropy.lanes), &entropy, err);
}

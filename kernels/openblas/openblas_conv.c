/* Convolution: Winograd's method where it saves work, column matrices elsewhere. */
#include "kernels/openblas/openblas_columns.h"
#include "kernels/openblas/openblas_winograd.h"

static struct ob_winograd winograd_forward(const struct pk_conv_forward *op)
{
    const struct pk_conv_shape *s = &op->shape;

    return (struct ob_winograd){.n = s->n,
                                .c = s->c,
                                .h = s->h,
                                .w = s->w,
                                .k = s->k,
                                .p = pk_window_out(s->h, s),
                                .q = pk_window_out(s->w, s),
                                .pad = s->pad,
                                .x = op->x,
                                .weight = op->weight,
                                .bias = op->bias,
                                .relu = op->relu,
                                .y = op->y};
}

/* dx is the convolution of dy with the turned filters, padded by kernel - 1 - pad. */
static struct ob_winograd winograd_data(const struct pk_conv_backward_data *op)
{
    const struct pk_conv_shape *s = &op->shape;

    return (struct ob_winograd){.n = s->n,
                                .c = s->k,
                                .h = pk_window_out(s->h, s),
                                .w = pk_window_out(s->w, s),
                                .k = s->c,
                                .p = s->h,
                                .q = s->w,
                                .pad = 2 - s->pad,
                                .x = op->dy,
                                .weight = op->weight,
                                .turned = true,
                                .accumulate = op->accumulate,
                                .y = op->dx};
}

size_t ob_conv_forward_workspace(const struct pk_context *context, const struct pk_conv_forward *op)
{
    const struct ob_winograd winograd = winograd_forward(op);

    return ob_winograd_fits(&op->shape) ? ob_winograd_workspace(context, &winograd)
                                        : ob_columns_forward_workspace(context, op);
}

enum psim_status ob_conv_forward(struct pk_context *context, const struct pk_conv_forward *op,
                                 const struct pk_workspace *workspace, struct psim_error *err)
{
    const struct ob_winograd winograd = winograd_forward(op);

    (void)err;
    if (ob_winograd_fits(&op->shape))
        ob_winograd_run(context, &winograd, workspace);
    else
        ob_columns_forward(context, op, workspace);
    return PSIM_OK;
}

size_t ob_conv_backward_data_workspace(const struct pk_context *context,
                                       const struct pk_conv_backward_data *op)
{
    const struct ob_winograd winograd = winograd_data(op);

    return ob_winograd_fits(&op->shape) ? ob_winograd_workspace(context, &winograd)
                                        : ob_columns_data_workspace(context, op);
}

enum psim_status ob_conv_backward_data(struct pk_context *context,
                                       const struct pk_conv_backward_data *op,
                                       const struct pk_workspace *workspace, struct psim_error *err)
{
    const struct ob_winograd winograd = winograd_data(op);

    (void)err;
    if (ob_winograd_fits(&op->shape))
        ob_winograd_run(context, &winograd, workspace);
    else
        ob_columns_data(context, op, workspace);
    return PSIM_OK;
}

size_t ob_conv_backward_weight_workspace(const struct pk_context *context,
                                         const struct pk_conv_backward_weight *op)
{
    return ob_winograd_fits(&op->shape) ? ob_winograd_weight_workspace(context, op)
                                        : ob_columns_weight_workspace(context, op);
}

enum psim_status ob_conv_backward_weight(struct pk_context *context,
                                         const struct pk_conv_backward_weight *op,
                                         const struct pk_workspace *workspace,
                                         struct psim_error *err)
{
    const struct pk_conv_shape *s = &op->shape;

    (void)err;
    if (ob_winograd_fits(s))
        ob_winograd_weight_run(context, op, workspace);
    else
        ob_columns_weight(context, op, workspace);
    if (op->dbias != NULL)
        ob_sum_planes(context, op->dy, s->n, s->k, pk_window_out(s->h, s) * pk_window_out(s->w, s),
                      op->dbias);
    return PSIM_OK;
}

/* Pooling and sums of planes; a task has one plane, or as many short ones as make some work. */
#include "kernels/openblas/openblas.h"

#include "kernels/openblas/openblas_functions.h"

#include <math.h>
#include <string.h>

/* The window of output (i, j) inside the image: rows [top, bottom), columns [left, right). */
struct window {
    int top, bottom, left, right;
};

OB_INLINE struct window window_of(const struct pk_conv_shape *shape, int i, int j)
{
    const int top = i * shape->stride - shape->pad, left = j * shape->stride - shape->pad;
    struct window window = {top < 0 ? 0 : top, top + shape->kernel, left < 0 ? 0 : left,
                            left + shape->kernel};

    window.bottom = window.bottom > shape->h ? shape->h : window.bottom;
    window.right = window.right > shape->w ? shape->w : window.right;
    return window;
}

/* The first largest value wins, and the first NaN over all. */
OB_INLINE int find_largest(const float *x, int width, struct window window)
{
    int best = window.top * width + window.left;
    float largest = x[best];

    for (int row = window.top; row < window.bottom; row++)
        for (int column = window.left; column < window.right; column++) {
            const int at = row * width + column;
            const float value = x[at];
            /* Data decide at random: chosen without a branch. */
            const bool better = (largest == largest) & !(value <= largest);

            largest = better ? value : largest;
            best = better ? at : best;
        }
    return best;
}

static void pool_plane(const void *argument, int64_t at)
{
    const struct pk_pool_forward *op = argument;
    const struct pk_conv_shape *s = &op->shape;
    const int p = pk_window_out(s->h, s), q = pk_window_out(s->w, s);
    const float *x = op->x + at * s->h * s->w;
    float *y = op->y + at * p * q;
    int32_t *index = op->index == NULL ? NULL : op->index + at * p * q;

    for (int i = 0; i < p; i++)
        for (int j = 0; j < q; j++) {
            const int best = find_largest(x, s->w, window_of(s, i, j));

            y[i * q + j] = x[best];
            if (index != NULL)
                index[i * q + j] = best;
        }
}

enum psim_status ob_pool_forward(struct pk_context *context, const struct pk_pool_forward *op,
                                 const struct pk_workspace *workspace, struct psim_error *err)
{
    const struct pk_conv_shape *s = &op->shape;

    (void)workspace;
    (void)err;
    ob_run_rows(context, pool_plane, op, (int64_t)s->n * s->c,
                ob_rows_of_task((int64_t)s->h * s->w));
    return PSIM_OK;
}

static void pool_backward_plane(const void *argument, int64_t at)
{
    const struct pk_pool_backward *op = argument;
    const struct pk_conv_shape *s = &op->shape;
    const int64_t outputs = (int64_t)pk_window_out(s->h, s) * pk_window_out(s->w, s);
    const int64_t inputs = (int64_t)s->h * s->w;
    const float *dy = op->dy + at * outputs;
    const int32_t *index = op->index + at * outputs;
    float *dx = op->dx + at * inputs;

    memset(dx, 0, (size_t)inputs * sizeof(float));
    for (int64_t i = 0; i < outputs; i++)
        dx[index[i]] += dy[i];
}

enum psim_status ob_pool_backward(struct pk_context *context, const struct pk_pool_backward *op,
                                  const struct pk_workspace *workspace, struct psim_error *err)
{
    const struct pk_conv_shape *s = &op->shape;

    (void)workspace;
    (void)err;
    ob_run_rows(context, pool_backward_plane, op, (int64_t)s->n * s->c,
                ob_rows_of_task((int64_t)s->h * s->w));
    return PSIM_OK;
}

OB_CLONES static void average_plane(const void *argument, int64_t at)
{
    const struct pk_average_forward *op = argument;

    op->y[(size_t)(at / op->c) * op->y_stride + (size_t)(at % op->c)] =
        (float)(ob_sum(op->x + at * op->hw, op->hw) / op->hw);
}

enum psim_status ob_average_forward(struct pk_context *context, const struct pk_average_forward *op,
                                    const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)workspace;
    (void)err;
    ob_run_rows(context, average_plane, op, (int64_t)op->n * op->c, ob_rows_of_task(op->hw));
    return PSIM_OK;
}

static void average_backward_plane(const void *argument, int64_t at)
{
    const struct pk_average_backward *op = argument;
    const float dy = op->dy[(size_t)(at / op->c) * op->dy_stride + (size_t)(at % op->c)];
    const float share = dy / (float)op->hw;

    for (int i = 0; i < op->hw; i++)
        op->dx[at * op->hw + i] = share;
}

enum psim_status ob_average_backward(struct pk_context *context,
                                     const struct pk_average_backward *op,
                                     const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)workspace;
    (void)err;
    ob_run_rows(context, average_backward_plane, op, (int64_t)op->n * op->c,
                ob_rows_of_task(op->hw));
    return PSIM_OK;
}

struct sum_job {
    const float *values;
    int n, rows, hw, rows_of_task;
    float *sum;
};

/* Planes of one value (a matrix) are summed down its columns, all columns of a task abreast. */
OB_CLONES static void sum_task(const void *argument, int64_t task, int thread)
{
    const struct sum_job *job = argument;
    const int first = (int)task * job->rows_of_task;
    const int end = (int)ob_min(first + job->rows_of_task, job->rows);
    double sums[64] = {0};

    (void)thread;
    for (int64_t sample = 0; sample < job->n; sample++)
        for (int row = first; row < end; row++) {
            const float *values = job->values + (sample * job->rows + row) * job->hw;

            sums[row - first] += job->hw == 1 ? (double)*values : ob_sum(values, job->hw);
        }
    for (int row = first; row < end; row++)
        job->sum[row] = (float)((double)job->sum[row] + sums[row - first]);
}

void ob_sum_planes(struct pk_context *context, const float *values, int n, int rows, int hw,
                   float *sum)
{
    const struct sum_job job = {values, n, rows, hw, hw >= 64 ? 1 : 64, sum};

    ob_run(context, sum_task, &job, ob_ceil(rows, job.rows_of_task));
}

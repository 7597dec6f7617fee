/* Loops over plain arrays; each is bound by memory, so one pass does all that an operation asks. */
#include "kernels/openblas/openblas.h"

#include "kernels/openblas/openblas_functions.h"

#include <stdatomic.h>
#include <string.h>

/* The part of an array that a task has. */
struct part {
    size_t first, end;
};

static struct part part_of(int64_t task, size_t count)
{
    const size_t first = (size_t)task * OB_CHUNK;

    return (struct part){first, first + OB_CHUNK < count ? first + OB_CHUNK : count};
}

static int64_t chunks(size_t count)
{
    return ob_ceil((int64_t)count, (int64_t)OB_CHUNK);
}

/* An operation whose task is one chunk of `count` values: OB_CHUNKED(name) names the loop NAME_part
 * that computes values [first, end). */
#define OB_CHUNKED(name)                                                                           \
    static void name##_task(const void *op, int64_t task, int thread)                              \
    {                                                                                              \
        (void)thread;                                                                              \
        name##_part(op, part_of(task, ((const struct pk_##name *)op)->count));                     \
    }                                                                                              \
    enum psim_status ob_##name(struct pk_context *context, const struct pk_##name *op,             \
                               const struct pk_workspace *workspace, struct psim_error *err)       \
    {                                                                                              \
        (void)workspace;                                                                           \
        (void)err;                                                                                 \
        ob_run(context, name##_task, op, chunks(op->count));                                       \
        return PSIM_OK;                                                                            \
    }

OB_CLONES static void relu_forward_part(const struct pk_relu_forward *op, struct part part)
{
    const float *x = op->x;
    float *y = op->y;

    for (size_t i = part.first; i < part.end; i++)
        y[i] = ob_relu(x[i]);
}
OB_CHUNKED(relu_forward)

OB_CLONES static void relu_backward_part(const struct pk_relu_backward *op, struct part part)
{
    const float *y = op->y, *dy = op->dy;
    float *dx = op->dx;

    if (op->accumulate) {
        for (size_t i = part.first; i < part.end; i++)
            dx[i] += y[i] > 0 ? dy[i] : 0;
    } else {
        for (size_t i = part.first; i < part.end; i++)
            dx[i] = y[i] > 0 ? dy[i] : 0;
    }
}
OB_CHUNKED(relu_backward)

OB_CLONES static void add_part(const struct pk_add *op, struct part part)
{
    const float *a = op->a, *b = op->b;
    const float alpha = op->alpha, beta = op->beta;
    float *y = op->y;

    if (op->relu) {
        for (size_t i = part.first; i < part.end; i++)
            y[i] = ob_relu(alpha * a[i] + beta * b[i]);
    } else {
        for (size_t i = part.first; i < part.end; i++)
            y[i] = alpha * a[i] + beta * b[i];
    }
}
OB_CHUNKED(add)

OB_CLONES static void sgd_part(const struct pk_sgd *op, struct part part)
{
    const float *gradient = op->gradient;
    float *velocity = op->velocity, *weight = op->weight;
    const float scale = op->gradient_scale, decay = op->weight_decay, momentum = op->momentum;
    const float rate = op->rate;
    /* w -= rate (g + m v) or rate v, as rate (a g + b v) with the new v. */
    const float of_g = op->nesterov ? 1 : 0, of_v = op->nesterov ? momentum : 1;

    if (momentum == 0) {
        for (size_t i = part.first; i < part.end; i++)
            weight[i] -= rate * (scale * gradient[i] + decay * weight[i]);
        return;
    }
    for (size_t i = part.first; i < part.end; i++) {
        const float g = scale * gradient[i] + decay * weight[i];
        const float v = momentum * velocity[i] + g;

        velocity[i] = v;
        weight[i] -= rate * (of_g * g + of_v * v);
    }
}
OB_CHUNKED(sgd)

OB_CLONES static void gelu_forward_part(const struct pk_gelu_forward *op, struct part part)
{
    const float *x = op->x;
    float *y = op->y;

    for (size_t i = part.first; i < part.end; i++)
        y[i] = x[i] * ob_normal_cdf(x[i]);
}
OB_CHUNKED(gelu_forward)

OB_CLONES static void gelu_backward_part(const struct pk_gelu_backward *op, struct part part)
{
    const float *x = op->x, *dy = op->dy;
    float *dx = op->dx;

    for (size_t i = part.first; i < part.end; i++)
        dx[i] = dy[i] * (ob_normal_cdf(x[i]) + x[i] * ob_normal_density(x[i]));
}
OB_CHUNKED(gelu_backward)

static void copy_row(const void *argument, int64_t row)
{
    const struct pk_copy_rows *op = argument;
    const float *source = op->source + (size_t)row * op->source_stride;
    float *target = op->target + (size_t)row * op->target_stride;

    if (op->accumulate)
        ob_add_to(target, source, op->columns);
    else
        memcpy(target, source, op->columns * sizeof(float));
}

enum psim_status ob_copy_rows(struct pk_context *context, const struct pk_copy_rows *op,
                              const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)workspace;
    (void)err;
    ob_run_rows(context, copy_row, op, (int64_t)op->rows, ob_rows_of_task((int64_t)op->columns));
    return PSIM_OK;
}

struct count_job {
    const struct pk_count_bad *op;
    atomic_llong *bad;
};

/* x - x is 0 for a finite x, NaN for any other. */
OB_CLONES static int64_t count_bad_part(const float *x, struct part part)
{
    int32_t bad = 0;

    for (size_t i = part.first; i < part.end; i++)
        bad += x[i] - x[i] == 0 ? 0 : 1;
    return bad;
}

static void count_task(const void *argument, int64_t task, int thread)
{
    const struct count_job *job = argument;

    (void)thread;
    atomic_fetch_add(job->bad, count_bad_part(job->op->x, part_of(task, job->op->count)));
}

enum psim_status ob_count_bad(struct pk_context *context, const struct pk_count_bad *op,
                              const struct pk_workspace *workspace, struct psim_error *err)
{
    atomic_llong bad;
    const struct count_job job = {.op = op, .bad = &bad};

    (void)workspace;
    (void)err;
    atomic_init(&bad, 0);
    ob_run(context, count_task, &job, chunks(op->count));
    *op->bad = atomic_load(&bad);
    return PSIM_OK;
}

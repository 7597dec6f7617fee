/* The gradients of a convolution by column matrices. */
#include "kernels/openblas/openblas_columns.h"

#include "kernels/openblas/openblas_functions.h"

#include <string.h>

/* A column matrix in the cache, as in the forward. */
#define BLOCK_FLOATS (128 << 10)

/*
 * Of the input: columns = weight' dy, [channels kernel kernel, p q], for one image and so many
 * channels as fit; then each channel's plane takes its taps in their order.  A plane belongs to one
 * task.
 */
struct data_job {
    const struct pk_conv_backward_data *op;
    int p, q;
    int channels; /* of a task */
    int64_t channel_blocks;
    size_t per_thread;
    float *threads;
};

static struct data_job data_job_of(const struct pk_conv_backward_data *op)
{
    const struct pk_conv_shape *s = &op->shape;
    struct data_job job = {
        .op = op, .p = pk_window_out(s->h, s), .q = pk_window_out(s->w, s), .channels = s->c};
    const int64_t of_channel = (int64_t)s->kernel * s->kernel * job.p * job.q;

    if (of_channel > 0)
        job.channels = (int)ob_max(1, ob_min(s->c, BLOCK_FLOATS / of_channel));
    job.channel_blocks = ob_ceil(s->c, ob_max(1, job.channels));
    job.per_thread = ob_is_pointwise(s) ? 0 : ob_line((size_t)(job.channels * of_channel));
    return job;
}

size_t ob_columns_data_workspace(const struct pk_context *context,
                                 const struct pk_conv_backward_data *op)
{
    return (size_t)ob_threads(context) * data_job_of(op).per_thread * sizeof(float);
}

/* target[j stride + offset] += source[j] inside [0, w). */
OB_INLINE void add_row(const float *source, int q, int stride, int offset, int w, float *target)
{
    const int first = offset < 0 ? (-offset + stride - 1) / stride : 0;
    int end = w - offset <= 0 ? 0 : (w - offset - 1) / stride + 1;

    end = end < q ? end : q;
    if (stride == 1) {
        for (int j = first; j < end; j++)
            target[j + offset] += source[j];
    } else if (stride == 2) {
        for (int j = first; j < end; j++)
            target[2 * j + offset] += source[j];
    } else {
        for (int j = first; j < end; j++)
            target[j * stride + offset] += source[j];
    }
}

/* dx of one channel takes its rows of the column matrix. */
OB_CLONES static void add_columns(const struct pk_conv_shape *s, int p, int q, const float *columns,
                                  float *dx)
{
    for (int r = 0; r < s->kernel; r++)
        for (int t = 0; t < s->kernel; t++)
            for (int i = 0; i < p; i++, columns += q) {
                const int row = i * s->stride + r - s->pad;

                if (row >= 0 && row < s->h)
                    add_row(columns, q, s->stride, t - s->pad, s->w, dx + (int64_t)row * s->w);
            }
}

static void data_task(const void *argument, int64_t task, int thread)
{
    const struct data_job *job = argument;
    const struct pk_conv_backward_data *op = job->op;
    const struct pk_conv_shape *s = &op->shape;
    const int64_t image = task / job->channel_blocks, taps = (int64_t)s->kernel * s->kernel;
    const int64_t first = task % job->channel_blocks * job->channels;
    const int64_t channels = ob_min(job->channels, s->c - first);
    const int64_t plane = (int64_t)s->h * s->w, outputs = (int64_t)job->p * job->q;
    float *dx = op->dx + (image * s->c + first) * plane;
    float *columns = job->threads + (size_t)thread * job->per_thread;
    struct ob_product product = {.transpose_a = true,
                                 .m = channels * taps,
                                 .n = outputs,
                                 .k = s->k,
                                 .alpha = 1,
                                 .a = op->weight + first * taps,
                                 .lda = s->c * taps,
                                 .b = op->dy + image * s->k * outputs,
                                 .ldb = outputs,
                                 .c = columns,
                                 .ldc = outputs};

    if (ob_is_pointwise(s)) {
        product.c = dx;
        product.beta = op->accumulate ? 1.0F : 0.0F;
        ob_multiply(&product);
        return;
    }
    ob_multiply(&product);
    if (!op->accumulate)
        memset(dx, 0, (size_t)(channels * plane) * sizeof(float));
    for (int64_t channel = 0; channel < channels && outputs > 0; channel++)
        add_columns(s, job->p, job->q, columns + channel * taps * outputs, dx + channel * plane);
}

void ob_columns_data(struct pk_context *context, const struct pk_conv_backward_data *op,
                     const struct pk_workspace *workspace)
{
    struct data_job job = data_job_of(op);

    job.threads = workspace->data;
    if (op->shape.h > 0 && op->shape.w > 0)
        ob_run(context, data_task, &job, op->shape.n * job.channel_blocks);
}

/*
 * Of the weights: a task has some input channels and a part of the batch, and adds up dy columns'
 * over the blocks of its part, into dweight itself where the batch is one part, else into a matrix
 * of its own; these are added in their order.
 */
struct weight_job {
    const struct pk_conv_backward_weight *op;
    struct ob_outputs outputs;
    int channels; /* of a task */
    int64_t channel_blocks, parts, blocks, height;
    size_t columns, per_thread, sums; /* floats; sums: of one part */
    float *threads, *parts_sums;
};

/* Rows of the column matrix in a task at least, and tasks that leave the batch in one part. */
#define ROWS_MIN  64
#define TASKS_MIN 8

static struct weight_job weight_job_of(const struct pk_conv_backward_weight *op)
{
    const struct pk_conv_shape *s = &op->shape;
    const int64_t taps = (int64_t)s->kernel * s->kernel;
    struct weight_job job = {.op = op, .height = s->c * taps};

    job.channels = (int)ob_max(1, ob_min(s->c, ob_ceil(ROWS_MIN, taps)));
    job.channel_blocks = ob_ceil(s->c, job.channels);
    job.outputs = ob_outputs_of(s, job.channels * taps, BLOCK_FLOATS);
    job.parts = job.channel_blocks >= TASKS_MIN ? 1 : ob_min(TASKS_MIN, job.outputs.blocks);
    job.blocks = ob_ceil(job.outputs.blocks, ob_max(1, job.parts));
    job.parts = job.blocks == 0 ? 0 : ob_ceil(job.outputs.blocks, job.blocks);
    job.columns = (size_t)(job.channels * taps * job.outputs.pitch);
    job.per_thread = job.columns;
    if (job.outputs.images > 1)
        job.per_thread += (size_t)s->k * (size_t)job.outputs.pitch;
    job.sums = job.parts > 1 ? (size_t)(s->k * job.height) : 0;
    return job;
}

size_t ob_columns_weight_workspace(const struct pk_context *context,
                                   const struct pk_conv_backward_weight *op)
{
    const struct weight_job job = weight_job_of(op);

    return ((size_t)job.parts * job.sums + (size_t)ob_threads(context) * job.per_thread) *
           sizeof(float);
}

/* dy of several images as one matrix [k, outputs]. */
static void join_images(const struct weight_job *job, const struct ob_output_block *block,
                        float *target)
{
    const int64_t k = job->op->shape.k, plane = (int64_t)job->outputs.p * job->outputs.q;

    for (int64_t output = 0; output < k; output++)
        for (int64_t image = 0; image < block->images; image++)
            memcpy(target + output * job->outputs.pitch + image * plane,
                   job->op->dy + ((block->image + image) * k + output) * plane,
                   (size_t)plane * sizeof(float));
}

static void add_block(const struct weight_job *job, int64_t number, int64_t first, int64_t channels,
                      float *own, float beta, float *sums)
{
    const struct pk_conv_shape *s = &job->op->shape;
    const struct ob_output_block block = ob_output_block_of(&job->outputs, s->n, number);
    const int64_t plane = (int64_t)job->outputs.p * job->outputs.q, taps = s->kernel * s->kernel;
    const int64_t at = (int64_t)block.row * job->outputs.q;
    struct ob_product product = {.transpose_b = true,
                                 .m = s->k,
                                 .n = channels * taps,
                                 .k = block.count,
                                 .alpha = 1,
                                 .a = job->op->dy + block.image * s->k * plane + at,
                                 .lda = plane,
                                 .b = own,
                                 .ldb = job->outputs.pitch,
                                 .beta = beta,
                                 .c = sums + first * taps,
                                 .ldc = job->height};

    if (job->outputs.images > 1) {
        join_images(job, &block, own + job->columns);
        product.a = own + job->columns;
        product.lda = job->outputs.pitch;
    }
    if (ob_is_pointwise(s) && job->outputs.images == 1) {
        product.b = job->op->x + (block.image * (int64_t)s->c + first) * plane + at;
        product.ldb = plane;
    } else {
        ob_make_columns(s, job->op->x, (int)first, (int)(first + channels), &job->outputs, &block,
                        job->outputs.pitch, own);
    }
    ob_multiply(&product);
}

static void weight_task(const void *argument, int64_t task, int thread)
{
    const struct weight_job *job = argument;
    const int64_t part = task / job->channel_blocks, first_block = part * job->blocks;
    const int64_t end = ob_min(first_block + job->blocks, job->outputs.blocks);
    const int64_t first = task % job->channel_blocks * job->channels;
    const int64_t channels = ob_min(job->channels, job->op->shape.c - first);
    const bool alone = job->parts == 1;
    float *sums = alone ? job->op->dweight : job->parts_sums + (size_t)part * job->sums;

    for (int64_t block = first_block; block < end; block++)
        add_block(job, block, first, channels, job->threads + (size_t)thread * job->per_thread,
                  alone || block > first_block ? 1.0F : 0.0F, sums);
}

static void add_parts_task(const void *argument, int64_t task, int thread)
{
    const struct weight_job *job = argument;
    const size_t first = (size_t)task * OB_CHUNK;
    const size_t count = first + OB_CHUNK < job->sums ? OB_CHUNK : job->sums - first;
    float *sum = job->parts_sums + first;

    (void)thread;
    for (int64_t part = 1; part < job->parts; part++)
        ob_add_to(sum, sum + (size_t)part * job->sums, count);
    ob_add_to(job->op->dweight + first, sum, count);
}

void ob_columns_weight(struct pk_context *context, const struct pk_conv_backward_weight *op,
                       const struct pk_workspace *workspace)
{
    struct weight_job job = weight_job_of(op);

    job.parts_sums = workspace->data;
    job.threads = job.parts_sums + (size_t)job.parts * job.sums;
    ob_run(context, weight_task, &job, job.parts * job.channel_blocks);
    if (job.parts > 1)
        ob_run(context, add_parts_task, &job, ob_ceil((int64_t)job.sums, (int64_t)OB_CHUNK));
}

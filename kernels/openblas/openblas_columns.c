/* Column matrices, and the forward convolution by them. */
#include "kernels/openblas/openblas_columns.h"

#include "kernels/openblas/openblas_functions.h"

#include <string.h>

/* A block's column matrix: half of a usual second-level cache. */
#define BLOCK_FLOATS (128 << 10)

/* Fewer outputs in a product leave sgemm below its rate: several images share one. */
#define OUTPUTS_MIN 64
#define OUTPUTS_MAX 512

bool ob_is_pointwise(const struct pk_conv_shape *shape)
{
    return shape->kernel == 1 && shape->stride == 1;
}

struct ob_outputs ob_outputs_of(const struct pk_conv_shape *shape, int64_t height, int64_t floats)
{
    struct ob_outputs o = {.p = pk_window_out(shape->h, shape),
                           .q = pk_window_out(shape->w, shape)};
    const int64_t image = (int64_t)o.p * o.q;
    const int64_t wanted = ob_max(OUTPUTS_MIN, ob_min(OUTPUTS_MAX, floats / height));

    o.images = image >= OUTPUTS_MIN ? 1 : (int)ob_min(shape->n, wanted / image);
    o.rows = (int)ob_max(1, ob_min(o.p, wanted / o.q));
    if (o.images > 1)
        o.rows = o.p;
    o.row_blocks = (int)ob_ceil(o.p, o.rows);
    o.rows = (int)ob_ceil(o.p, o.row_blocks);
    o.blocks = ob_ceil(shape->n, o.images) * o.row_blocks;
    o.pitch = (int64_t)ob_line((size_t)o.images * (size_t)o.rows * (size_t)o.q);
    return o;
}

struct ob_output_block ob_output_block_of(const struct ob_outputs *outputs, int n, int64_t block)
{
    const int image = (int)(block / outputs->row_blocks) * outputs->images;
    const int row = (int)(block % outputs->row_blocks) * outputs->rows;
    struct ob_output_block b = {.image = image,
                                .images = (int)ob_min(outputs->images, n - image),
                                .row = row,
                                .rows = (int)ob_min(outputs->rows, outputs->p - row)};

    b.count = (int64_t)b.images * b.rows * outputs->q;
    return b;
}

/* target[j] = source[j stride + offset], 0 outside of [0, w). */
OB_INLINE void make_row(const float *source, int w, int stride, int offset, int q, float *target)
{
    int first = offset < 0 ? (-offset + stride - 1) / stride : 0;
    int end = w - offset <= 0 ? 0 : (w - offset - 1) / stride + 1, j = 0;

    first = first < q ? first : q;
    end = end < q ? end : q;
    for (; j < first; j++)
        target[j] = 0;
    if (stride == 1) {
        for (; j < end; j++)
            target[j] = source[j + offset];
    } else if (stride == 2) {
        for (; j < end; j++)
            target[j] = source[2 * j + offset];
    } else {
        for (; j < end; j++)
            target[j] = source[j * stride + offset];
    }
    for (; j < q; j++)
        target[j] = 0;
}

/* One row of the column matrix: one channel at one place (r, s) of the window. */
OB_INLINE void make_column_row(const struct pk_conv_shape *shape, const float *x, int channel,
                               int r, int s, int q, const struct ob_output_block *block,
                               float *target)
{
    const size_t plane = (size_t)shape->h * (size_t)shape->w;

    for (int image = 0; image < block->images; image++) {
        const size_t at = (size_t)(block->image + image) * (size_t)shape->c + (size_t)channel;

        for (int i = 0; i < block->rows; i++, target += q) {
            const int row = (block->row + i) * shape->stride + r - shape->pad;

            if (row < 0 || row >= shape->h)
                memset(target, 0, (size_t)q * sizeof(float));
            else
                make_row(x + at * plane + (size_t)row * (size_t)shape->w, shape->w, shape->stride,
                         s - shape->pad, q, target);
        }
    }
}

OB_CLONES void ob_make_columns(const struct pk_conv_shape *shape, const float *x, int first,
                               int end, const struct ob_outputs *outputs,
                               const struct ob_output_block *block, int64_t pitch, float *columns)
{
    for (int channel = first; channel < end; channel++)
        for (int r = 0; r < shape->kernel; r++)
            for (int s = 0; s < shape->kernel; s++, columns += pitch)
                make_column_row(shape, x, channel, r, s, outputs->q, block, columns);
}

struct job {
    const struct pk_conv_forward *op;
    struct ob_outputs outputs;
    int64_t height;
    bool direct; /* no column matrix */
    size_t columns, per_thread;
    float *threads;
};

/* Several images' products go through a buffer [k, outputs] behind the column matrix. */
static struct job job_of(const struct pk_conv_forward *op)
{
    const struct pk_conv_shape *s = &op->shape;
    struct job job = {.op = op, .height = (int64_t)s->c * s->kernel * s->kernel};

    job.outputs = ob_outputs_of(s, job.height, BLOCK_FLOATS);
    job.direct = ob_is_pointwise(s) && job.outputs.images == 1;
    job.columns = job.direct ? 0 : (size_t)(job.height * job.outputs.pitch);
    job.per_thread = job.columns;
    if (job.outputs.images > 1)
        job.per_thread += (size_t)s->k * (size_t)job.outputs.pitch;
    return job;
}

size_t ob_columns_forward_workspace(const struct pk_context *context,
                                    const struct pk_conv_forward *op)
{
    return (size_t)ob_threads(context) * job_of(op).per_thread * sizeof(float);
}

OB_CLONES static void finish_row(const float *source, float bias, bool relu, int64_t count,
                                 float *target)
{
    for (int64_t i = 0; i < count; i++) {
        const float value = source[i] + bias;

        target[i] = relu ? ob_relu(value) : value;
    }
}

/* Bias and ReLU, and the way from [k, outputs] into the images. */
static void finish(const struct job *job, const struct ob_output_block *block, const float *product)
{
    const struct pk_conv_forward *op = job->op;
    const int64_t plane = (int64_t)job->outputs.p * job->outputs.q;
    const int64_t part = (int64_t)block->rows * job->outputs.q;

    if (product == NULL && op->bias == NULL && !op->relu)
        return;
    for (int64_t k = 0; k < op->shape.k; k++)
        for (int image = 0; image < block->images; image++) {
            float *y = op->y + ((block->image + image) * (int64_t)op->shape.k + k) * plane +
                       (int64_t)block->row * job->outputs.q;
            const float *from = y;

            if (product != NULL)
                from = product + k * job->outputs.pitch + image * part;
            finish_row(from, op->bias == NULL ? 0 : op->bias[k], op->relu, part, y);
        }
}

static void forward_task(const void *argument, int64_t task, int thread)
{
    const struct job *job = argument;
    const struct pk_conv_forward *op = job->op;
    const struct pk_conv_shape *s = &op->shape;
    const struct ob_output_block block = ob_output_block_of(&job->outputs, s->n, task);
    const int64_t plane = (int64_t)job->outputs.p * job->outputs.q;
    const int64_t at = (int64_t)block.row * job->outputs.q;
    float *columns = job->threads + (size_t)thread * job->per_thread;
    float *products = job->outputs.images > 1 ? columns + job->columns : NULL;
    struct ob_product product = {.m = s->k,
                                 .n = block.count,
                                 .k = job->height,
                                 .alpha = 1,
                                 .a = op->weight,
                                 .lda = job->height,
                                 .b = columns,
                                 .ldb = job->outputs.pitch,
                                 .c = products,
                                 .ldc = job->outputs.pitch};

    if (products == NULL) {
        product.c = op->y + block.image * (int64_t)s->k * plane + at;
        product.ldc = plane;
    }
    if (job->direct) {
        product.b = op->x + block.image * (int64_t)s->c * plane + at;
        product.ldb = plane;
    } else {
        ob_make_columns(s, op->x, 0, s->c, &job->outputs, &block, job->outputs.pitch, columns);
    }
    ob_multiply(&product);
    finish(job, &block, products);
}

void ob_columns_forward(struct pk_context *context, const struct pk_conv_forward *op,
                        const struct pk_workspace *workspace)
{
    struct job job = job_of(op);

    job.threads = workspace->data;
    ob_run(context, forward_task, &job, job.outputs.blocks);
}

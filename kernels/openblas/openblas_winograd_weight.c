/*
 * Gradient of 3x3 filters by Winograd's method.
 *
 * A task has a part of the batch and some output channels, and adds up its own 16 matrices
 * [outputs, c] over the blocks of tiles of its part; the parts are then added in their order.  How
 * the batch is cut depends on the shape alone.
 */
#include "kernels/openblas/openblas_winograd.h"

#include "kernels/openblas/openblas_functions.h"

#include <string.h>

/* Tiles of a block. */
#define TILES 128

/* Output channels of a task. */
#define OUTPUTS 128

/* Parts of the batch: no more than this, nor so many that their sums take more memory than this. */
#define PARTS_MAX     16
#define PARTS_BYTES   ((size_t)32 << 20)
#define TILES_OF_PART 128

struct layout {
    struct ob_tiles tiles;
    size_t pitch;
    size_t input, gradient, sum; /* floats of one position */
    size_t sums, per_thread;     /* floats of one part's sums, and of a thread */
    size_t inputs, gradients;    /* offsets in a thread's part */
    int64_t parts, blocks, outputs_of /* blocks of a part, tasks of a part */;
};

static struct layout layout_of(const struct pk_conv_shape *shape)
{
    const int p = pk_window_out(shape->h, shape), q = pk_window_out(shape->w, shape);
    struct layout l = {.tiles = ob_tiles_of(shape->n, p, q, TILES)};
    int64_t tiles;

    l.pitch = ob_tiles_pitch(&l.tiles);
    tiles = (int64_t)shape->n * l.tiles.rows * l.tiles.columns;
    l.input = ob_position_pitch((size_t)shape->c, l.pitch);
    l.gradient = ob_position_pitch(OUTPUTS, l.pitch);
    l.sum = ob_position_pitch((size_t)shape->k, (size_t)shape->c);
    l.sums = OB_POSITIONS * l.sum;
    l.parts = ob_min(PARTS_MAX, (int64_t)(PARTS_BYTES / (l.sums * sizeof(float))));
    l.parts = ob_max(1, ob_min(ob_min(l.parts, l.tiles.blocks), tiles / TILES_OF_PART));
    l.blocks = ob_ceil(l.tiles.blocks, l.parts);
    l.parts = l.blocks == 0 ? 0 : ob_ceil(l.tiles.blocks, l.blocks);
    l.outputs_of = ob_ceil(shape->k, OUTPUTS);
    l.inputs = ob_line(ob_gather_floats(&l.tiles));
    l.gradients = l.inputs + OB_POSITIONS * l.input;
    l.per_thread = l.gradients + OB_POSITIONS * l.gradient;
    return l;
}

size_t ob_winograd_weight_workspace(const struct pk_context *context,
                                    const struct pk_conv_backward_weight *op)
{
    const struct layout l = layout_of(&op->shape);

    return ((size_t)l.parts * l.sums + (size_t)ob_threads(context) * l.per_thread) * sizeof(float);
}

struct job {
    const struct pk_conv_backward_weight *op;
    struct layout layout;
    float *sums, *threads;
};

/* A d A' of one tile row: d[2 i + j][tile] to position [4 i + j]. */
OB_INLINE void transform_gradient(const float *d, size_t pitch, int count, float *v,
                                  size_t positions)
{
#define ROW(i, first, second)                                                                      \
    v[(4 * i + 0) * positions + t] = first;                                                        \
    v[(4 * i + 1) * positions + t] = first + second;                                               \
    v[(4 * i + 2) * positions + t] = first - second;                                               \
    v[(4 * i + 3) * positions + t] = -second
    OB_INDEPENDENT
    for (size_t t = 0; t < (size_t)count; t++) {
        const float d00 = d[t], d01 = d[pitch + t];
        const float d10 = d[2 * pitch + t], d11 = d[3 * pitch + t];
        const float sum0 = d00 + d10, sum1 = d01 + d11;
        const float difference0 = d00 - d10, difference1 = d01 - d11;

        ROW(0, d00, d01);
        ROW(1, sum0, sum1);
        ROW(2, difference0, difference1);
        ROW(3, -d10, -d11);
    }
#undef ROW
}

/* A row of dy by even and odd columns; 0 where the tiles reach over the edge. */
OB_INLINE void split_row(const float *dy, int q, int columns, float *even, float *odd)
{
    const int pairs = q / 2;

    for (int t = 0; t < pairs; t++) {
        even[t] = dy[2 * t];
        odd[t] = dy[2 * t + 1];
    }
    if (pairs < columns) {
        even[pairs] = dy[q - 1];
        odd[pairs] = 0;
    }
}

/* A dY A' of output channels [first, first + count). */
OB_CLONES static void gather_gradients(const struct pk_conv_backward_weight *op, int first,
                                       int outputs, const struct ob_block *block,
                                       const struct layout *l, float *scratch, float *v)
{
    const int p = pk_window_out(op->shape.h, &op->shape),
              q = pk_window_out(op->shape.w, &op->shape);
    const int count = block->images * block->columns;

    for (int k = 0; k < outputs; k++)
        for (int i = 0; i < block->rows; i++) {
            for (int r = 0; r < 2; r++)
                for (int image = 0; image < block->images; image++) {
                    const size_t plane =
                        (size_t)(block->image + image) * (size_t)op->shape.k + (size_t)(first + k);
                    const int row = 2 * (block->row + i) + r;
                    float *even = scratch + (size_t)(2 * r) * l->pitch + image * block->columns;
                    const size_t bytes = (size_t)block->columns * sizeof(float);

                    if (row < p) {
                        split_row(op->dy + (plane * (size_t)p + (size_t)row) * (size_t)q, q,
                                  block->columns, even, even + l->pitch);
                    } else {
                        memset(even, 0, bytes);
                        memset(even + l->pitch, 0, bytes);
                    }
                }
            transform_gradient(scratch, l->pitch, count,
                               v + (size_t)k * l->pitch + (size_t)(i * count), l->gradient);
        }
}

static void sum_task(const void *argument, int64_t task, int thread)
{
    const struct job *job = argument;
    const struct layout *l = &job->layout;
    const struct pk_conv_shape *s = &job->op->shape;
    const int64_t part = task / l->outputs_of;
    const int first = (int)(task % l->outputs_of) * OUTPUTS;
    const int outputs = (int)ob_min(OUTPUTS, s->k - first);
    const int64_t end = ob_min((part + 1) * l->blocks, l->tiles.blocks);
    float *own = job->threads + (size_t)thread * l->per_thread;

    for (int64_t number = part * l->blocks; number < end; number++) {
        const struct ob_block block = ob_block_of(&l->tiles, s->n, number);

        gather_gradients(job->op, first, outputs, &block, l, own, own + l->gradients);
        ob_gather_tiles(job->op->x, s->c, s->h, s->w, s->pad, &block, l->pitch, own,
                        own + l->inputs);
        for (size_t position = 0; position < OB_POSITIONS; position++) {
            const struct ob_product product = {
                .transpose_b = true,
                .m = outputs,
                .n = s->c,
                .k = (int64_t)block.rows * block.images * block.columns,
                .alpha = 1,
                .a = own + l->gradients + position * l->gradient,
                .lda = (int64_t)l->pitch,
                .b = own + l->inputs + position * l->input,
                .ldb = (int64_t)l->pitch,
                .beta = number == part * l->blocks ? 0.0F : 1.0F,
                .c = job->sums + (size_t)part * l->sums + position * l->sum + first * (int64_t)s->c,
                .ldc = s->c,
            };

            ob_multiply(&product);
        }
    }
}

/* Channels that the last step takes abreast. */
#define ABREAST 64

/* g[3 i + j] = G' s G of `count` channels. */
OB_INLINE void transform_sums(float s[OB_POSITIONS][ABREAST], int count, float g[9][ABREAST])
{
    for (int lane = 0; lane < count; lane++) {
        float a[3][4];

        for (int j = 0; j < 4; j++) {
            const float first = s[4 + j][lane], second = s[8 + j][lane];

            a[0][j] = s[j][lane] + 0.5F * (first + second);
            a[1][j] = 0.5F * (first - second);
            a[2][j] = 0.5F * (first + second) + s[12 + j][lane];
        }
        for (int i = 0; i < 3; i++) {
            g[3 * i][lane] = a[i][0] + 0.5F * (a[i][1] + a[i][2]);
            g[3 * i + 1][lane] = 0.5F * (a[i][1] - a[i][2]);
            g[3 * i + 2][lane] = 0.5F * (a[i][1] + a[i][2]) + a[i][3];
        }
    }
}

OB_CLONES static void add_filter_row(const struct job *job, int64_t k)
{
    const struct layout *l = &job->layout;
    const int c = job->op->shape.c;
    float s[OB_POSITIONS][ABREAST], g[9][ABREAST];

    for (int first = 0; first < c; first += ABREAST) {
        const int count = (int)ob_min(ABREAST, c - first);
        float *target = job->op->dweight + (k * c + first) * 9;

        for (size_t position = 0; position < OB_POSITIONS; position++) {
            const float *sums = job->sums + position * l->sum + k * c + first;

            memcpy(s[position], sums, (size_t)count * sizeof(float));
            for (int64_t part = 1; part < l->parts; part++)
                ob_add_to(s[position], sums + (size_t)part * l->sums, (size_t)count);
        }
        transform_sums(s, count, g);
        for (int i = 0; i < count; i++)
            for (int tap = 0; tap < 9; tap++)
                target[i * 9 + tap] += g[tap][i];
    }
}

static void filter_task(const void *argument, int64_t k, int thread)
{
    (void)thread;
    add_filter_row(argument, k);
}

void ob_winograd_weight_run(struct pk_context *context, const struct pk_conv_backward_weight *op,
                            const struct pk_workspace *workspace)
{
    struct job job = {.op = op, .layout = layout_of(&op->shape), .sums = workspace->data};

    job.threads = job.sums + (size_t)job.layout.parts * job.layout.sums;
    ob_run(context, sum_task, &job, job.layout.parts * job.layout.outputs_of);
    if (job.layout.parts > 0)
        ob_run(context, filter_task, &job, op->shape.k);
}

/*
 * Winograd convolution: a task has a block of tiles, transforms its inputs, multiplies and writes
 * its outputs, all in one thread's cache.  The transformed filters are made first and shared.
 */
#include "kernels/openblas/openblas_winograd.h"

#include <math.h>

/* Tiles of a block: enough for sgemm's rate, few enough for 16 (c + k) of them in the cache; fewer
 * where there would be less than some blocks to share out. */
#define TILES_MAX  128
#define TILES_MIN  64
#define BLOCKS_MIN 8

/* Fewer channels leave the transforms no work to save. */
#define CHANNELS_MIN 16

/* Channels that the filters' transform takes abreast. */
#define ABREAST 64

bool ob_winograd_fits(const struct pk_conv_shape *shape)
{
    const int64_t p = pk_window_out(shape->h, shape), q = pk_window_out(shape->w, shape);
    const int64_t tiles = (p + 1) / 2 * ((q + 1) / 2);

    /* At least 5/4 fewer multiplications, 16 a tile against 9 an output. */
    return shape->kernel == 3 && shape->stride == 1 && shape->c >= CHANNELS_MIN &&
           shape->k >= CHANNELS_MIN && 5 * 16 * tiles <= 4 * 9 * p * q;
}

struct layout {
    struct ob_tiles tiles;
    size_t pitch;                    /* of a row of tiles */
    size_t filter, input, output;    /* floats of one position */
    size_t filters, per_thread;      /* floats */
    size_t gather, inputs, products; /* offsets in a thread's part */
};

static struct layout layout_of(const struct ob_winograd *op)
{
    const int64_t tiles = op->n * ob_ceil(op->p, 2) * ob_ceil(op->q, 2);
    const int64_t wanted = ob_max(TILES_MIN, ob_min(TILES_MAX, tiles / BLOCKS_MIN));
    struct layout l = {.tiles = ob_tiles_of(op->n, op->p, op->q, (int)wanted)};
    size_t scatter;

    l.pitch = ob_tiles_pitch(&l.tiles);
    l.filter = ob_position_pitch((size_t)op->k, (size_t)op->c);
    l.input = ob_position_pitch((size_t)op->c, l.pitch);
    l.output = ob_position_pitch((size_t)op->k, l.pitch);
    l.filters = OB_POSITIONS * l.filter;
    l.gather = 0;
    scatter = 4 * l.pitch;
    l.inputs = ob_line(ob_gather_floats(&l.tiles));
    l.inputs = l.inputs < scatter ? scatter : l.inputs;
    l.products = l.inputs + OB_POSITIONS * l.input;
    l.per_thread = l.products + OB_POSITIONS * l.output;
    return l;
}

size_t ob_winograd_workspace(const struct pk_context *context, const struct ob_winograd *op)
{
    const struct layout l = layout_of(op);

    return (l.filters + (size_t)ob_threads(context) * l.per_thread) * sizeof(float);
}

struct job {
    const struct ob_winograd *op;
    struct layout layout;
    float *filters, *threads;
};

/* G g G' of filters abreast: g[3 i + j][lane] to u[position][lane]. */
OB_INLINE void transform_filters(float g[9][ABREAST], int count, float *u, size_t positions)
{
    for (int lane = 0; lane < count; lane++) {
        float a[4][3];

        for (int j = 0; j < 3; j++) {
            const float ends = 0.5F * (g[j][lane] + g[6 + j][lane]), middle = 0.5F * g[3 + j][lane];

            a[0][j] = g[j][lane];
            a[1][j] = ends + middle;
            a[2][j] = ends - middle;
            a[3][j] = g[6 + j][lane];
        }
        for (int i = 0; i < 4; i++) {
            const float ends = 0.5F * (a[i][0] + a[i][2]), middle = 0.5F * a[i][1];

            u[(size_t)(4 * i + 0) * positions + (size_t)lane] = a[i][0];
            u[(size_t)(4 * i + 1) * positions + (size_t)lane] = ends + middle;
            u[(size_t)(4 * i + 2) * positions + (size_t)lane] = ends - middle;
            u[(size_t)(4 * i + 3) * positions + (size_t)lane] = a[i][2];
        }
    }
}

/* Row `row` of weights [rows, columns, 3, 3] to U[position, row, column]. */
OB_CLONES static void transform_filter_row(const float *weight, int columns, bool turned, float *u,
                                           size_t positions)
{
    float g[9][ABREAST];

    for (int first = 0; first < columns; first += ABREAST) {
        const int count = (int)ob_min(ABREAST, columns - first);
        const float *source = weight + (size_t)first * 9;

        for (int i = 0; i < count; i++)
            for (int tap = 0; tap < 9; tap++)
                g[turned ? 8 - tap : tap][i] = source[i * 9 + tap];
        transform_filters(g, count, u + first, positions);
    }
}

/* Rows of the weights as they are stored: outputs, or inputs where the convolution is turned. */
static void filter_task(const void *argument, int64_t row, int thread)
{
    const struct job *job = argument;
    const struct ob_winograd *op = job->op;
    const int columns = op->turned ? op->k : op->c;

    (void)thread;
    transform_filter_row(op->weight + row * columns * 9, columns, op->turned,
                         job->filters + row * columns, job->layout.filter);
}

/* A' m A of `count` tiles: y[2 i + j][tile]; nothing below `lowest`. */
OB_INLINE void transform_output(const float *m, size_t positions, int count, float bias,
                                float lowest, float *y, size_t pitch)
{
#define COLUMN(j)                                                                                  \
    const float m1##j = m[(4 + j) * positions + t], m2##j = m[(8 + j) * positions + t];            \
    const float a0##j = m[j * positions + t] + m1##j + m2##j;                                      \
    const float a1##j = m1##j - m2##j - m[(12 + j) * positions + t]
#define ROW(i)                                                                                     \
    const float even##i = a##i##0 + a##i##1 + a##i##2 + bias;                                      \
    const float odd##i = a##i##1 - a##i##2 - a##i##3 + bias;                                       \
    y[2 * i * pitch + t] = even##i < lowest ? lowest : even##i;                                    \
    y[(2 * i + 1) * pitch + t] = odd##i < lowest ? lowest : odd##i
    OB_INDEPENDENT
    for (size_t t = 0; t < (size_t)count; t++) {
        COLUMN(0);
        COLUMN(1);
        COLUMN(2);
        COLUMN(3);
        ROW(0);
        ROW(1);
    }
#undef COLUMN
#undef ROW
}

/* One output row of one image from its even and odd columns. */
OB_INLINE void write_row(const float *even, const float *odd, int q, bool accumulate, float *y)
{
    const int pairs = q / 2;

    if (accumulate) {
        for (int t = 0; t < pairs; t++) {
            y[2 * t] += even[t];
            y[2 * t + 1] += odd[t];
        }
        if (q % 2 != 0)
            y[q - 1] += even[pairs];
        return;
    }
    for (int t = 0; t < pairs; t++) {
        y[2 * t] = even[t];
        y[2 * t + 1] = odd[t];
    }
    if (q % 2 != 0)
        y[q - 1] = even[pairs];
}

OB_CLONES static void scatter_tiles(const struct ob_winograd *op, const struct ob_block *block,
                                    const struct layout *l, const float *products, float *scratch)
{
    const int count = block->images * block->columns;
    const size_t plane = (size_t)op->p * (size_t)op->q;

    for (int k = 0; k < op->k; k++)
        for (int i = 0; i < block->rows; i++) {
            const int row = 2 * (block->row + i);

            transform_output(products + (size_t)k * l->pitch + (size_t)(i * count), l->output,
                             count, op->bias == NULL ? 0 : op->bias[k], op->relu ? 0 : -INFINITY,
                             scratch, l->pitch);
            for (int image = 0; image < block->images; image++) {
                float *y =
                    op->y + ((size_t)(block->image + image) * (size_t)op->k + (size_t)k) * plane;

                for (int r = 0; r < 2 && row + r < op->p; r++)
                    write_row(scratch + (size_t)(2 * r) * l->pitch + image * block->columns,
                              scratch + (size_t)(2 * r + 1) * l->pitch + image * block->columns,
                              op->q, op->accumulate, y + (size_t)(row + r) * (size_t)op->q);
            }
        }
}

static void block_task(const void *argument, int64_t task, int thread)
{
    const struct job *job = argument;
    const struct ob_winograd *op = job->op;
    const struct layout *l = &job->layout;
    const struct ob_block block = ob_block_of(&l->tiles, op->n, task);
    float *own = job->threads + (size_t)thread * l->per_thread;

    ob_gather_tiles(op->x, op->c, op->h, op->w, op->pad, &block, l->pitch, own, own + l->inputs);
    for (size_t position = 0; position < OB_POSITIONS; position++) {
        const struct ob_product product = {
            .transpose_a = op->turned,
            .m = op->k,
            .n = (int64_t)block.rows * block.images * block.columns,
            .k = op->c,
            .alpha = 1,
            .a = job->filters + position * l->filter,
            .lda = op->turned ? op->k : op->c,
            .b = own + l->inputs + position * l->input,
            .ldb = (int64_t)l->pitch,
            .c = own + l->products + position * l->output,
            .ldc = (int64_t)l->pitch,
        };

        ob_multiply(&product);
    }
    scatter_tiles(op, &block, l, own + l->products, own);
}

void ob_winograd_run(struct pk_context *context, const struct ob_winograd *op,
                     const struct pk_workspace *workspace)
{
    struct job job = {.op = op, .layout = layout_of(op), .filters = workspace->data};

    job.threads = job.filters + job.layout.filters;
    ob_run(context, filter_task, &job, op->turned ? op->c : op->k);
    ob_run(context, block_task, &job, job.layout.tiles.blocks);
}

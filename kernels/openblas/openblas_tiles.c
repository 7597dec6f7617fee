/* Blocks of tiles, and their inputs transformed. */
#include "kernels/openblas/openblas_winograd.h"

#include <string.h>

struct ob_tiles ob_tiles_of(int n, int p, int q, int wanted)
{
    struct ob_tiles tiles = {.rows = (p + 1) / 2, .columns = (q + 1) / 2};
    const int64_t in_image = (int64_t)tiles.rows * tiles.columns;

    if (n == 0 || in_image == 0)
        return (struct ob_tiles){0};
    tiles.images = (int)ob_max(1, ob_min(n, wanted / in_image));
    tiles.block_rows = (int)ob_max(1, ob_min(tiles.rows, wanted / tiles.columns));
    tiles.row_blocks = (int)ob_ceil(tiles.rows, tiles.block_rows);
    tiles.block_rows = (int)ob_ceil(tiles.rows, tiles.row_blocks);
    tiles.blocks = ob_ceil(n, tiles.images) * tiles.row_blocks;
    return tiles;
}

struct ob_block ob_block_of(const struct ob_tiles *tiles, int n, int64_t block)
{
    const int image = (int)(block / tiles->row_blocks) * tiles->images;
    const int row = (int)(block % tiles->row_blocks) * tiles->block_rows;

    return (struct ob_block){.image = image,
                             .images = (int)ob_min(tiles->images, n - image),
                             .row = row,
                             .rows = (int)ob_min(tiles->block_rows, tiles->rows - row),
                             .columns = tiles->columns};
}

size_t ob_tiles_pitch(const struct ob_tiles *tiles)
{
    return ob_line((size_t)tiles->block_rows * (size_t)tiles->images * (size_t)tiles->columns);
}

static size_t phase_pitch(int images, int columns)
{
    return ob_line((size_t)images * (size_t)columns) + 16;
}

size_t ob_gather_floats(const struct ob_tiles *tiles)
{
    return (size_t)(2 * tiles->block_rows + 2) * 4 * phase_pitch(tiles->images, tiles->columns);
}

/* target[t] = source[2 t + phase - pad], 0 outside of [0, w). */
OB_INLINE void gather_phase(const float *source, int w, int offset, int columns, float *target)
{
    const int first = offset < 0 ? (1 - offset) / 2 : 0;
    const int room = w - offset; /* 2 t < room */
    int end = room <= 0 ? 0 : (room + 1) / 2, t = 0;

    end = end < columns ? end : columns;
    for (; t < first && t < columns; t++)
        target[t] = 0;
    for (; t < end; t++)
        target[t] = source[2 * t + offset];
    for (; t < columns; t++)
        target[t] = 0;
}

/* Where the four columns of a row of tiles are behind the row's start.  Columns 2 and 3 are columns
 * 0 and 1 of the next tile: where the next tile is a neighbour, they are the same values. */
struct phases {
    int gathered; /* phases that are gathered, 2 or 4 */
    size_t row;   /* values of one row */
    size_t at[4];
};

static struct phases phases_of(int images, int columns)
{
    const size_t pitch = phase_pitch(images, columns);

    if (images == 1)
        return (struct phases){2, 2 * pitch, {0, pitch, 1, pitch + 1}};
    return (struct phases){4, 4 * pitch, {0, pitch, 2 * pitch, 3 * pitch}};
}

/* The rows of one channel that a block needs, split by the column in the tile.  Those of the
 * channel `ahead` are asked for: rows of channels are too short for the processor to foresee the
 * next. */
OB_INLINE void split_channel(const float *x, size_t image_pitch, int h, int w, int pad,
                             size_t ahead, const struct ob_block *block,
                             const struct phases *phases, float *scratch)
{
    const int columns = block->columns + (phases->gathered == 2 ? 1 : 0);

    for (int r = 0; r < 2 * block->rows + 2; r++) {
        const int row = 2 * block->row - pad + r;
        float *target = scratch + (size_t)r * phases->row;

        if (row < 0 || row >= h) {
            memset(target, 0, phases->row * sizeof(float));
            continue;
        }
        for (int image = 0; image < block->images; image++) {
            const float *source = x + (size_t)image * image_pitch + (size_t)row * (size_t)w;

            for (int i = 0; i < w; i += 16)
                OB_PREFETCH(source + ahead + i);
            for (int phase = 0; phase < phases->gathered; phase++)
                gather_phase(source, w, phase - pad, columns,
                             target + phases->at[phase] + image * block->columns);
        }
    }
}

/* B' d B of `count` tiles.  Written out, or the compiler does not see one vector in each value. */
OB_INLINE void transform_input(const float *d, const struct phases *phases, int count, float *v,
                               size_t positions)
{
    const size_t row = phases->row;
    const float *const d0 = d + phases->at[0], *const d1 = d + phases->at[1];
    const float *const d2 = d + phases->at[2], *const d3 = d + phases->at[3];

#define COLUMN(j)                                                                                  \
    const float r0##j = d##j[t], r1##j = d##j[row + t], r2##j = d##j[2 * row + t];                 \
    const float a0##j = r0##j - r2##j, a1##j = r1##j + r2##j, a2##j = r2##j - r1##j;               \
    const float a3##j = r1##j - d##j[3 * row + t]
#define ROW(i)                                                                                     \
    v[(4 * i + 0) * positions + t] = a##i##0 - a##i##2;                                            \
    v[(4 * i + 1) * positions + t] = a##i##1 + a##i##2;                                            \
    v[(4 * i + 2) * positions + t] = a##i##2 - a##i##1;                                            \
    v[(4 * i + 3) * positions + t] = a##i##1 - a##i##3
    OB_INDEPENDENT
    for (size_t t = 0; t < (size_t)count; t++) {
        COLUMN(0);
        COLUMN(1);
        COLUMN(2);
        COLUMN(3);
        ROW(0);
        ROW(1);
        ROW(2);
        ROW(3);
    }
#undef COLUMN
#undef ROW
}

OB_CLONES void ob_gather_tiles(const float *x, int c, int h, int w, int pad,
                               const struct ob_block *block, size_t pitch, float *scratch, float *v)
{
    const size_t plane = (size_t)h * (size_t)w, image_pitch = (size_t)c * plane;
    const struct phases phases = phases_of(block->images, block->columns);
    const size_t positions = ob_position_pitch((size_t)c, pitch);
    const int count = block->images * block->columns;

    x += (size_t)block->image * image_pitch;
    for (int channel = 0; channel < c; channel++) {
        split_channel(x + (size_t)channel * plane, image_pitch, h, w, pad,
                      channel + 1 < c ? plane : 0, block, &phases, scratch);
        for (int i = 0; i < block->rows; i++)
            transform_input(scratch + (size_t)(2 * i) * phases.row, &phases, count,
                            v + (size_t)channel * pitch + (size_t)(i * count), positions);
    }
}

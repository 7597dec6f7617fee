/* Blocks of tiles, and their inputs transformed. */
#include "kernels/openblas/winograd.h"

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

/* The rows of one channel that a block needs, split by the position in the tile. */
OB_INLINE void split_channel(const float *x, size_t image_pitch, int h, int w, int pad,
                             const struct ob_block *block, size_t phases, float *scratch)
{
    for (int r = 0; r < 2 * block->rows + 2; r++) {
        const int row = 2 * block->row - pad + r;
        float *target = scratch + (size_t)r * 4 * phases;

        if (row < 0 || row >= h) {
            memset(target, 0, 4 * phases * sizeof(float));
            continue;
        }
        for (int image = 0; image < block->images; image++) {
            const float *source = x + (size_t)image * image_pitch + (size_t)row * (size_t)w;

            for (int phase = 0; phase < 4; phase++)
                gather_phase(source, w, phase - pad, block->columns,
                             target + (size_t)phase * phases + image * block->columns);
        }
    }
}

/* B' d B of `count` tiles; d[row][phase] at d + (4 row + phase) pitch. */
OB_INLINE void transform_input(const float *restrict d, size_t pitch, int count, float *restrict v,
                               size_t positions)
{
#define D(i, j) d[(size_t)(4 * (i) + (j)) * pitch + (size_t)t]
    for (int t = 0; t < count; t++) {
        float a[4][4];

        for (int j = 0; j < 4; j++) {
            a[0][j] = D(0, j) - D(2, j);
            a[1][j] = D(1, j) + D(2, j);
            a[2][j] = D(2, j) - D(1, j);
            a[3][j] = D(1, j) - D(3, j);
        }
        for (int i = 0; i < 4; i++) {
            v[(size_t)(4 * i + 0) * positions + (size_t)t] = a[i][0] - a[i][2];
            v[(size_t)(4 * i + 1) * positions + (size_t)t] = a[i][1] + a[i][2];
            v[(size_t)(4 * i + 2) * positions + (size_t)t] = a[i][2] - a[i][1];
            v[(size_t)(4 * i + 3) * positions + (size_t)t] = a[i][1] - a[i][3];
        }
    }
#undef D
}

OB_CLONES void ob_gather_tiles(const float *x, int c, int h, int w, int pad,
                               const struct ob_block *block, size_t pitch, float *scratch, float *v)
{
    const size_t plane = (size_t)h * (size_t)w, image_pitch = (size_t)c * plane;
    const size_t phases = phase_pitch(block->images, block->columns);
    const size_t positions = ob_position_pitch((size_t)c, pitch);
    const int count = block->images * block->columns;

    x += (size_t)block->image * image_pitch;
    for (int channel = 0; channel < c; channel++) {
        split_channel(x + (size_t)channel * plane, image_pitch, h, w, pad, block, phases, scratch);
        for (int i = 0; i < block->rows; i++)
            transform_input(scratch + (size_t)(2 * i) * 4 * phases, phases, count,
                            v + (size_t)channel * pitch + (size_t)i * (size_t)count, positions);
    }
}

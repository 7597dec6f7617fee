/**
 * @file kernels/openblas/openblas_winograd.h
 * 3x3 convolutions of stride 1 by Winograd's minimal filtering, F(2x2, 3x3).
 *
 * A tile of 4x4 inputs d gives 2x2 outputs
 *
 *     Y = A' [(G g G') . (B' d B)] A
 *
 * with 16 multiplications instead of 36, summed over channels by 16 matrix products.  All constants
 * are 0, 1 and 1/2, so the error stays near that of the direct sum; F(4x4, 3x3) would save more and
 * lose about a decimal digit.  Source: Lavin and Gray, arXiv:1509.09308 section 4.1.
 *
 * The gradient of the input is such a convolution too, of dy with the turned filter; that of the
 * filter is the transpose of the formula above,
 *
 *     dg = G' [sum over tiles (B' d B) . (A dY A')] G.
 *
 * An infinity or NaN spreads to the whole tile that it is in.
 */
#ifndef PK_OPENBLAS_WINOGRAD_H
#define PK_OPENBLAS_WINOGRAD_H

#include "kernels/openblas/openblas.h"

/** The positions of a transformed tile. */
#define OB_POSITIONS 16

struct ob_winograd {
    int n, c, h, w; /* input */
    int k, p, q;    /* output, p = h + 2 pad - 2 */
    int pad;        /* 0, 1, 2 */
    const float *x;
    const float *weight; /* [k, c, 3, 3]; [c, k, 3, 3] and turned by 180 degrees where `turned` */
    bool turned;
    const float *bias; /* [k], or NULL */
    bool relu, accumulate;
    float *y;
};

/** Whether it saves work: enough channels, little waste at the edges. */
bool ob_winograd_fits(const struct pk_conv_shape *shape);

/** y [n, k, p, q] of x [n, c, h, w]; workspace in bytes. */
size_t ob_winograd_workspace(const struct pk_context *context, const struct ob_winograd *op);
void ob_winograd_run(struct pk_context *context, const struct ob_winograd *op,
                     const struct pk_workspace *workspace);

/** dweight += of a shape that fits; dbias is not touched; workspace in bytes. */
size_t ob_winograd_weight_workspace(const struct pk_context *context,
                                    const struct pk_conv_backward_weight *op);
void ob_winograd_weight_run(struct pk_context *context, const struct pk_conv_backward_weight *op,
                            const struct pk_workspace *workspace);

/*
 * Blocks of tiles, for both files.  Tiles of a block are in the order [tile row, image, tile], so
 * that a loop over one tile row is long even where images are small.
 */
struct ob_tiles {
    int rows, columns; /* of tiles in an image */
    int images;        /* in a block: 1 where a block is a part of an image */
    int block_rows;    /* tile rows in a block */
    int row_blocks;    /* in an image, or group of images */
    int64_t blocks;    /* in all of the batch */
};

/* One block: its images and tile rows. */
struct ob_block {
    int image, images, row, rows;
    int columns; /* tiles in an image's tile row */
};

/** Blocks of some `wanted` tiles for outputs of p x q; n images in all. */
struct ob_tiles ob_tiles_of(int n, int p, int q, int wanted);
/** `block` in [0, tiles->blocks). */
struct ob_block ob_block_of(const struct ob_tiles *tiles, int n, int64_t block);

/** Most tiles in a block, rounded up so that rows of it start on cache lines. */
size_t ob_tiles_pitch(const struct ob_tiles *tiles);

/** Values from one position's matrix [rows, pitch] to the next: off any power of two. */
OB_INLINE size_t ob_position_pitch(size_t rows, size_t pitch)
{
    return ob_line(rows * pitch) + 16;
}

/** Scratch that ob_gather_tiles needs for a block: [2 rows + 2][4][images * columns]. */
size_t ob_gather_floats(const struct ob_tiles *tiles);

/** V[position, channel, tile] = B' d B for all c channels of x [n, c, h, w]: rows of tiles are
 * `pitch` values apart, positions ob_position_pitch(c, pitch). */
void ob_gather_tiles(const float *x, int c, int h, int w, int pad, const struct ob_block *block,
                     size_t pitch, float *scratch, float *v);
#endif

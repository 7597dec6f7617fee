/**
 * @file kernels/openblas/openblas_columns.h
 * Convolutions of any window as matrix products on column matrices (im2col).
 *
 * The column matrix of a block of outputs, [c kernel kernel, outputs], is made for a block that
 * stays in the cache.  A 1x1 convolution of stride 1 is a product on the image itself.
 */
#ifndef PK_OPENBLAS_COLUMNS_H
#define PK_OPENBLAS_COLUMNS_H

#include "kernels/openblas/openblas.h"

/* The convolutions of pk.h, any shape that it lets through; workspaces in bytes. */

size_t ob_columns_forward_workspace(const struct pk_context *context,
                                    const struct pk_conv_forward *op);
void ob_columns_forward(struct pk_context *context, const struct pk_conv_forward *op,
                        const struct pk_workspace *workspace);

size_t ob_columns_data_workspace(const struct pk_context *context,
                                 const struct pk_conv_backward_data *op);
void ob_columns_data(struct pk_context *context, const struct pk_conv_backward_data *op,
                     const struct pk_workspace *workspace);

size_t ob_columns_weight_workspace(const struct pk_context *context,
                                   const struct pk_conv_backward_weight *op);
void ob_columns_weight(struct pk_context *context, const struct pk_conv_backward_weight *op,
                       const struct pk_workspace *workspace);

/*
 * Blocks of outputs: some rows of one image, or some whole images where these are small.
 */
struct ob_outputs {
    int p, q;
    int images; /* in a block */
    int rows;   /* output rows in a block; p where it has several images */
    int row_blocks;
    int64_t blocks, pitch; /* pitch: most outputs in a block */
};

struct ob_output_block {
    int image, images, row, rows;
    int64_t count; /* outputs */
};

/** Blocks whose column matrix of `height` >= 1 rows has some `floats` values, so that it stays in
 * the cache; but 64 outputs at least where there are as many, and 512 at most. */
struct ob_outputs ob_outputs_of(const struct pk_conv_shape *shape, int64_t height, int64_t floats);
/** `block` in [0, outputs->blocks) of a batch of n images; the last ones may be smaller. */
struct ob_output_block ob_output_block_of(const struct ob_outputs *outputs, int n, int64_t block);

/** Whether the image is its own column matrix. */
bool ob_is_pointwise(const struct pk_conv_shape *shape);

/** columns[channel, tap, output] of channels [first, end) of x [n, c, h, w], 0 where a tap is
 * outside of the image; rows of it are `pitch` >= block->count values apart. */
void ob_make_columns(const struct pk_conv_shape *shape, const float *x, int first, int end,
                     const struct ob_outputs *outputs, const struct ob_output_block *block,
                     int64_t pitch, float *columns);
#endif

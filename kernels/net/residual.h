/**
 * @file kernels/net/residual.h
 * Parts that several kinds of residual blocks are made of; private to kernels/net.
 */
#ifndef PK_NET_RESIDUAL_H
#define PK_NET_RESIDUAL_H

#include "kernels/net/nodes.h"

/** Fails the program and gives false unless streams, width and stride fit the block. */
bool pk_residual_check(struct pk_block_build *build, int streams);
/** The same unless the width is a multiple of 4, that of the hidden layers. */
bool pk_residual_check_hidden(struct pk_block_build *build);

/** The output's width or size is not the input's. */
bool pk_residual_changes_shape(const struct pk_block_build *build);

/** Images x [n, c, h, w] -> [n, unit->out, p, q]: convolution "conv<name>", BN "bn<name>" and ReLU.
 */
int pk_residual_unit(struct pk_program *program, int x, const struct pk_unit *unit);

/** The bottleneck's convolutions on stream 0, up to the last one's output [n, width, p, q]: 1x1 to
 * a quarter of the width, 3x3 with the block's stride, 1x1 (arXiv:1512.03385, figure 5). */
int pk_residual_neck(struct pk_block_build *build, bool bias);

/** Images x -> [n, width, p, q]: 1x1 convolution "<name>.conv" of the block's stride, and BN
 *  "<name>.bn" (arXiv:1512.03385, section 3.3, option B). */
int pk_residual_shortcut(struct pk_block_build *build, const char *name, int x, bool bias);

#endif

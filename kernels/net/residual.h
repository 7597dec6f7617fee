/**
 * @file kernels/net/residual.h
 * Parts that several kinds of residual blocks are made of; private to kernels/net.
 */
#ifndef PK_NET_RESIDUAL_H
#define PK_NET_RESIDUAL_H

#include "kernels/net/nodes.h"

/** Fails the program and gives false unless streams, width and stride fit the block. */
bool pk_residual_check(struct pk_block_build *build, int streams);
bool pk_residual_check_hidden(struct pk_block_build *build);

/** The output's width or size is not the input's. */
bool pk_residual_changes_shape(const struct pk_block_build *build);

/** Convolution "conv<name>", BN "bn<name>" and ReLU. */
int pk_residual_unit(struct pk_program *program, int x, const struct pk_unit *unit);

/** The bottleneck's convolutions on stream 0, up to the last one's output. */
int pk_residual_neck(struct pk_block_build *build, bool bias);

/** 1x1 convolution and BN to the block's width and stride. */
int pk_residual_shortcut(struct pk_block_build *build, const char *name, int x, bool bias);

#endif

/**
 * @file kernels/net/nets.h
 * PETRA's RevNets and the ResNets as lists of blocks, to be cut into stages.
 *
 * Called by training, calibration and tests.  The same nets as sim/model's catalogue, from the
 * same sources (arXiv:2406.02052 section 4.1, arXiv:1512.03385 table 1).
 */
#ifndef PK_NET_NETS_H
#define PK_NET_NETS_H

#include "kernels/net/stage.h"

#define PK_NET_BLOCKS_MAX 40

/** Plain data; may not be copied, since the blocks' names lie in it. */
struct pk_net {
    struct pk_shape input;
    int block_count;
    struct pk_block_spec blocks[PK_NET_BLOCKS_MAX]; /**< stem, residual blocks, head */
    char names[PK_NET_BLOCKS_MAX][16];              /**< "stem", "layer1.0", ..., "head" */
};

/**
 * @param[in]  name     "revnet18", "revnet34", "revnet50", "resnet18", "resnet34", "resnet50"
 * @param[in]  size     height and width of the images; the stem has a 7x7 convolution of stride 2
 *                      and a max-pool from 64 on, else a 3x3 one of stride 1
 * @param[in]  classes  of the head
 * @return PSIM_OK; PSIM_ERR_NOTFOUND (the nearest is named); PSIM_ERR_RANGE
 */
enum psim_status pk_net_build(const char *name, int size, int classes, struct pk_net *net,
                              struct psim_error *err) PSIM_CHECKED;

/**
 * The stages of one block each, planned one after the other.
 *
 * @param[in]  spec    microbatch, statistics, epsilon, momentum; the rest is filled in
 * @param[out] stages  [block_count]; all or none are made
 */
enum psim_status pk_net_stages(struct pk_context *context, const struct pk_net *net,
                               const struct pk_stage_spec *spec, struct pk_stage **stages,
                               struct psim_error *err) PSIM_CHECKED;

#endif

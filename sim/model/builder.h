/**
 * @file sim/model/builder.h
 * Inside of the builder of networks: the values that flow through a block, and one step of it.
 *
 * Private to sim/model.  builder.c keeps the account of what a forward must keep; blocks.c knows
 * how a residual block is wired; layer.c knows the arithmetic of one layer.
 */
#ifndef PSIM_MODEL_BUILDER_H
#define PSIM_MODEL_BUILDER_H

#include "sim/model/network.h"

/** Largest count of anything over a whole network: every one is exact in a double. */
#define PSIM_COUNT_MAX 0x1p53

/** A value between two layers. */
struct psim_tensor {
    int channels, height, width;
    bool kept;  /**< some layer of the open block keeps it for its backward */
    bool data;  /**< depends on no parameter: images, and what is made of them without any */
    int source; /**< stream of the open block's input that this is, -1 for all others */
};

struct psim_builder {
    struct psim_network *network;
    struct psim_block *blocks; /**< finished ones; moved to the network's arena at the end */
    int block_count, block_capacity;
    double counted;            /**< elements, parameters and multiply-accumulates so far */
    struct psim_layer *layers; /**< of the open block */
    int layer_count, layer_capacity;
    struct psim_block block; /**< the open one */
    bool open;
    /** What the next layer reads: two streams of one shape, or one undivided value. */
    struct psim_tensor streams[2];
    int stream_count;
    /* Of the open block's input, by stream. */
    int64_t input_stream_elements;
    bool kept_before[2]; /**< by the block before, as its output */
    bool kept_input[2];  /**< by the open block */
};

int64_t psim_tensor_elements(const struct psim_tensor *tensor);

/**
 * Appends one layer to the open block.
 *
 * @param[in,out] inputs  operands: one; two of one shape for an addition; or the streams that the
 *                        layer reads side by side.  Marked as kept where the layer needs them.
 * @param[out]    out     the result; may be one of the inputs
 */
enum psim_status psim_builder_push(struct psim_builder *builder, const struct psim_layer_spec *spec,
                                   struct psim_tensor *const *inputs, int count,
                                   struct psim_tensor *out, struct psim_error *err) PSIM_CHECKED;

/** Divides the current value into two streams; false when its channels are odd. */
bool psim_builder_split(struct psim_builder *builder);

/**
 * Output shape and counts of one layer, all but its name and what is kept.
 * `layer` holds kind and input shape; PSIM_ERR_RANGE names the field of the spec.
 */
enum psim_status psim_layer_shape(struct psim_layer *layer, const struct psim_layer_spec *spec,
                                  struct psim_error *err) PSIM_CHECKED;

#endif

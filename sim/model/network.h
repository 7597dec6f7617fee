/**
 * @file sim/model/network.h
 * Networks as plain data: layers with shapes, gathered in blocks that no stage boundary cuts.
 *
 * Built by sim/model from a catalogue name or by sim/config from a model/1 file; read by
 * sim/cost (work of a layer) and sim/program (stages).  All counts are per sample and exact.
 * A network owns everything it points to through its arena.
 *
 * Does not know: devices, seconds, precision, batch size, partition.
 */
#ifndef PSIM_MODEL_NETWORK_H
#define PSIM_MODEL_NETWORK_H

#include "sim/base/memory.h"
#include "sim/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum psim_layer_kind {
    PSIM_LAYER_CONV2D,
    PSIM_LAYER_BATCH_NORM,
    PSIM_LAYER_RELU,
    PSIM_LAYER_ADD, /**< sum of two streams or of a residual and its shortcut */
    PSIM_LAYER_MAX_POOL,
    PSIM_LAYER_GLOBAL_AVERAGE_POOL,
    PSIM_LAYER_LINEAR,
    PSIM_LAYER_CROSS_ENTROPY,
};

/** One layer; every figure is for one sample. */
struct psim_layer {
    enum psim_layer_kind kind;
    const char *name; /**< "conv1", "shortcut.bn"; unique inside its block */
    int in_channels, in_height, in_width;
    int out_channels, out_height, out_width;
    int kernel, stride, pad; /**< square; 1, 1, 0 where they do not apply */
    bool bias;
    int64_t parameters;   /**< weights and biases; BN: scale and shift */
    int64_t buffers;      /**< running statistics: elements that are not trained */
    int64_t macs;         /**< multiply-accumulates of convolution and linear layers, forward */
    int64_t in_elements;  /**< read by the forward (all operands, parameters not counted) */
    int64_t out_elements; /**< written by the forward */
    /** Elements that this layer alone makes the forward keep for its backward, and that no other
     *  layer of the block keeps already: a convolution's input when it is the block's own input
     *  or another layer's output that is not kept, a BN's input, a ReLU's output, ... */
    int64_t kept_elements;
    int64_t kept_index_bytes; /**< kept and not of the activation's type: max-pool indices, int32 */
    /** ADD whose operands part from one tensor: elements of that tensor, whose two gradients the
     *  backward adds up; 0 where the sum only passes its gradient on. */
    int64_t fork_elements;
    bool needs_input_gradient; /**< false where the input depends on no parameter (images) */
};

/** The unit of partition: stem, residual block, head, or a stage of a model/1 file. */
struct psim_block {
    const char *name;
    bool reversible; /**< its input can be rebuilt from its output */
    struct psim_layer *layers;
    int layer_count;
    int64_t
        input_elements; /**< message received per sample in the forward direction, all streams */
    int64_t output_elements; /**< message sent per sample; 0 for the last block */
    /** One stream of the input: the operand of the residual function.  Equals input_elements in a
     *  net with one stream and in the first block. */
    int64_t stream_elements;
    bool downsampling; /**< changes the shape of a residual net's streams; not reversible */
    /** Kept elements of this block that the block before keeps too, as its own output (a ReLU's):
     *  a stage that holds both blocks keeps them once. */
    int64_t shared_elements;
    /* Sums over the layers. */
    int64_t parameters, buffers, macs, kept_elements, kept_index_bytes;
};

struct psim_network {
    struct psim_arena arena;
    const char *name; /**< "revnet50" */
    int input[3];     /**< channels, height, width */
    int classes;
    int streams; /**< 2 in a reversible net, else 1 */
    struct psim_block *blocks;
    int block_count;
    /** Sums over the blocks; kept_elements without what two blocks share. */
    int64_t parameters, buffers, macs, kept_elements, kept_index_bytes;
};

/** One network of the catalogue. */
struct psim_network_entry {
    const char *name, *summary, *source;
    bool reversible;
};

/** The catalogue, ended by an entry whose name is NULL. */
extern const struct psim_network_entry psim_network_catalogue[];

/**
 * Builds a network of the catalogue.
 *
 * The stem follows the input: 7x7 stride 2 and a max-pool where height >= 64 (ImageNet), else
 * 3x3 stride 1 without pooling (CIFAR, ImageNet32).
 *
 * @param[in]  name     as in psim_network_catalogue
 * @param[in]  input    channels, height, width; each in [1, 65536]
 * @param[in]  classes  in [1, 2^20]
 * @param[out] out      released with psim_network_release; untouched on failure
 * @return PSIM_OK; PSIM_ERR_NOTFOUND (err->message names the nearest); PSIM_ERR_RANGE when the
 *         input is too small for the net; PSIM_ERR_NOMEM
 */
enum psim_status psim_network_build(const char *name, const int input[3], int classes,
                                    struct psim_network *out, struct psim_error *err) PSIM_CHECKED;

/** A member of the family of a catalogue network: `depth` times as many residual blocks in every
 *  section, and `width` times as many channels everywhere. */
struct psim_network_scale {
    int depth;    /**< in [1, PSIM_DEPTH_MAX] */
    double width; /**< in [PSIM_WIDTH_MIN, PSIM_WIDTH_MAX]; the stem's and the sections' channels
                       are rounded to multiples of 8 */
};

#define PSIM_DEPTH_MAX 256
#define PSIM_WIDTH_MIN 0.125
#define PSIM_WIDTH_MAX 64.0

/** As psim_network_build, scaled; the name tells by how much, "revnet50-d2-w1.5", where it is. */
enum psim_status psim_network_build_scaled(const char *name, const int input[3], int classes,
                                           const struct psim_network_scale *scale,
                                           struct psim_network *out,
                                           struct psim_error *err) PSIM_CHECKED;

void psim_network_release(struct psim_network *network);

/*
 * Building block by block; used by the catalogue and by the reader of model/1 files.
 * psim_builder_* follow the shape from layer to layer, so a layer needs only what is new in it.
 */
struct psim_builder;

/** NULL when memory is out.  The builder fills `network`, which starts zeroed. */
struct psim_builder *psim_builder_new(struct psim_network *network, const char *name,
                                      const int input[3], int classes, int streams);
void psim_builder_free(struct psim_builder *builder);

/** Parameters of one explicit layer; fields that do not apply to the kind are ignored. */
struct psim_layer_spec {
    enum psim_layer_kind kind;
    const char *name; /**< NULL: kind and number */
    int out;          /**< channels or features of a convolution or linear layer */
    int kernel, stride, pad;
    bool bias;
};

enum psim_status psim_builder_begin_block(struct psim_builder *builder, const char *name,
                                          struct psim_error *err) PSIM_CHECKED;
enum psim_status psim_builder_add_layer(struct psim_builder *builder,
                                        const struct psim_layer_spec *spec,
                                        struct psim_error *err) PSIM_CHECKED;
enum psim_status psim_builder_end_block(struct psim_builder *builder,
                                        struct psim_error *err) PSIM_CHECKED;

/** Block kinds that a model/1 file may name: "petra_basic", "petra_bottleneck" (stride 1:
 *  reversible; else or on a change of width: the down-sampling form), "basic", "bottleneck". */
extern const char *const psim_block_kinds[]; /* NULL at the end */

/**
 * Adds a whole block of a named kind.
 * @param[in] width   channels of one stream of the block's output (a bottleneck's hidden width is
 *                    a quarter of it)
 * @param[in] stride  1 or 2
 */
enum psim_status psim_builder_add_block(struct psim_builder *builder, const char *kind,
                                        const char *name, int width, int stride,
                                        struct psim_error *err) PSIM_CHECKED;

/** Checks the whole, sums up, and hands the blocks to the network. */
enum psim_status psim_builder_finish(struct psim_builder *builder,
                                     struct psim_error *err) PSIM_CHECKED;

/** Writes the layer's kind as files spell it: "conv2d", "batch_norm", ... */
const char *psim_layer_kind_name(enum psim_layer_kind kind);

/** @return true and *kind when `name` is a layer kind of model/1 files. */
bool psim_layer_kind_from_name(const char *name, enum psim_layer_kind *kind);

/** The names above, NULL at the end. */
extern const char *const psim_layer_kind_names[];

#endif

/**
 * @file kernels/net/nodes.h
 * Inside of kernels/net: the layers of a stage as a list of nodes over numbered values.
 *
 * A block kind (kernels/net/blocks) appends nodes; passes.c derives every pass from the list.  A
 * node that fails, or whose operand is that of a failed one, gives PK_NO_VALUE and the program
 * keeps the first cause, so a block's wiring reads straight through.
 */
#ifndef PK_NET_NODES_H
#define PK_NET_NODES_H

#include "kernels/net/stage.h"

#include "sim/base/memory.h"

#define PK_NO_VALUE  (-1)
#define PK_NO_OFFSET SIZE_MAX

enum pk_node_kind {
    PK_NODE_CONV,
    PK_NODE_NORM, /**< with ReLU and residual sum (pk_norm_forward) */
    PK_NODE_RELU,
    PK_NODE_ADD, /**< base + x */
    PK_NODE_POOL,
    PK_NODE_AVERAGE, /**< of one or two streams into one row */
    PK_NODE_LINEAR,
    PK_NODE_LAYER_NORM,
    PK_NODE_GELU,
    PK_NODE_ATTENTION,
    PK_NODE_EMBEDDING,
    PK_NODE_SPLIT, /**< halves of the channels, or of the features of tokens */
    PK_NODE_JOIN,
    PK_NODE_LOSS,
};

/** A tensor of one micro-batch. */
struct pk_value {
    struct pk_shape shape; /**< streams = 1 */
    size_t bytes;
    int input, output; /**< stream of the program's message, -1 for none */
    bool kept;         /**< some node's backward reads it */
    bool gradient;     /**< depends on a parameter or on an input that does */
};

struct pk_node {
    enum pk_node_kind kind;
    int x[2], y[2], base; /**< values; PK_NO_VALUE where there is none */
    int aux[2];           /**< kept beside: mean and 1/deviation, index, probabilities, dlogits */
    size_t weight, bias;  /**< offsets into the parameters; PK_NO_OFFSET */
    size_t statistics;    /**< offset of [2 c] running statistics */
    struct pk_conv_shape conv;
    int n, c, hw;          /**< norm, average: as in pk.h */
    int rows, in, out;     /**< linear, layer norm, loss, embedding, split and join (of one half) */
    int heads, head_width; /**< attention */
    bool relu, causal;
    bool coupling;         /**< its base can be had back from its output */
    bool inversion_counts; /**< in PK_STATISTICS_CODE also a graph-less inversion updates */
};

struct pk_program {
    struct psim_arena arena;
    struct psim_error *err;
    enum psim_status status;
    const char *block; /**< name of the one being built */
    int ordinal, tensor_index;
    int n;
    float epsilon, momentum;
    bool inversion_counts;
    struct pk_value *values;
    struct pk_node *nodes;
    struct pk_tensor *tensors, *norms;
    int value_count, node_count, tensor_count, norm_count;
    int value_capacity, node_capacity, tensor_capacity, norm_capacity;
    size_t parameter_count, statistics_count; /**< so far; offsets of what comes next */
    int in[2], out[2];                        /**< values of the messages */
    struct pk_shape input, output;
    bool loss;
};

/** What a block kind works on. */
struct pk_block_build {
    struct pk_program *program;
    const struct pk_block_spec *spec;
    int x[2]; /**< in and out: the streams */
    int streams;
    bool reversible; /**< out; starts false */
};

struct pk_block_kind {
    const char *name, *summary;
    void (*build)(struct pk_block_build *);
};

extern const struct pk_block_kind *const pk_block_kind_table[];

struct pk_unit {
    const char *name; /**< "conv1" */
    int out, kernel, stride, pad;
    bool bias;
};

/**
 * Starts an empty program whose first values are the streams of `input`.
 *
 * @param[in] spec        of the stage; its blocks are not looked at
 * @param[in] parameters  offset of the first tensor in the stage's parameters, in floats
 * @param[in] statistics  the same in one set of running statistics
 * @param[in] err         filled by the first failure of any pk_program_X
 */
void pk_program_init(struct pk_program *program, const struct pk_stage_spec *spec,
                     const struct pk_shape *input, size_t parameters, size_t statistics,
                     struct psim_error *err);
void pk_program_release(struct pk_program *program); /* also after a failure */

/** Appends a block to the streams `state->x`, which become its results. */
void pk_program_block(struct pk_program *program, const struct pk_block_spec *spec,
                      struct pk_block_build *state);
/** What the last block left becomes the program's output. */
void pk_program_finish(struct pk_program *program, const struct pk_block_build *state);

/** Records a failure under the block's name and the field's. */
void pk_program_fail(struct pk_program *program, enum psim_status status, const char *field,
                     const char *format, ...) PSIM_PRINTF(4, 5);

/** A tensor [n, channels, height, width], at most 2^31 - 1 elements, since kernels count in int;
 *  of tokens: [n, tokens, 1, features]. */
int pk_program_value(struct pk_program *program, int channels, int height, int width, bool tokens);

const struct pk_shape *pk_program_shape(const struct pk_program *program, int value);

/*
 * Layers.  `x` is a value of images [n, c, h, w] or of tokens [n, tokens, 1, features]; `name` is
 * the part between the block's name and ".weight" in the names of its tensors.  Each gives its
 * result, PK_NO_VALUE where an operand is that or where the program has failed: PSIM_ERR_RANGE for
 * an operand of the other sort or a size that does not fit, PSIM_ERR_NOMEM.  What is computed is
 * told with the operation of the same name in pk.h.
 */

/** Images -> [n, out, p, q]. */
int pk_program_conv(struct pk_program *program, int x, const struct pk_unit *unit);
/** Batch norm of images, n h w >= 2; then max(0, .) where relu; added to `base` of the same shape,
 *  or PK_NO_VALUE.  `last`: ends a residual function. */
int pk_program_norm(struct pk_program *program, const char *name, int x, bool relu, int base,
                    bool last);
int pk_program_relu(struct pk_program *program, int x);
/** base + x, of the same shape. */
int pk_program_add(struct pk_program *program, int base, int x);
/** Images -> maxima [n, c, p, q]. */
int pk_program_pool(struct pk_program *program, int x, int kernel, int stride, int pad);
/** Images -> means [n, c, 1, 1]; with `other`, of the same shape, [n, 2 c, 1, 1]; or PK_NO_VALUE.
 */
int pk_program_average(struct pk_program *program, int x, int other);
/** Tokens -> [n, tokens, 1, out]; of images all values of a sample -> [n, out, 1, 1]. */
int pk_program_linear(struct pk_program *program, const char *name, int x, int out, bool bias);
/** Over the features of a token, or all values of a sample. */
int pk_program_layer_norm(struct pk_program *program, const char *name, int x);
int pk_program_gelu(struct pk_program *program, int x);
/** Tokens of 3 d heads features, queries, keys and values -> [n, tokens, 1, d heads]. */
int pk_program_attention(struct pk_program *program, int x, int heads, bool causal);
/** Indices [n, tokens, 1, 1] in [0, entries) -> [n, tokens, 1, width], a learnt position added. */
int pk_program_embedding(struct pk_program *program, const char *name, int x, int entries,
                         int width);
/** Halves of the channels, or of the features: an even number. */
void pk_program_split(struct pk_program *program, int x, int halves[2]);
/** The inverse of a split. */
int pk_program_join(struct pk_program *program, int x, int other);
/** Cross entropy with one label a row: the last node. */
void pk_program_loss(struct pk_program *program, int x);

/** The node just added is the coupling that ends a residual function. */
void pk_program_couple(struct pk_program *program);

#endif

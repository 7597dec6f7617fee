/**
 * @file kernels/net/stage.h
 * A stage: consecutive blocks of a network, their passes, and the bytes that each pass needs.
 *
 * Called by calibration, by training in simulated time, by benchmarks and tests; runs on any
 * backend of kernels/pk.h.  A stage owns a plan, no memory of the backend: the caller allocates
 * what pk_stage_sizes says (with pk_allocate, so that it is counted) and hands it to each pass.
 * No pass allocates.  One stage and its context belong to one thread at a time.
 *
 * Parameters are one flat vector, so that a stashed version is a plain copy; gradients and
 * velocities have the same layout.  A message of two streams is [2][n, c, h, w], x then x~; of one
 * stream [n, c, h, w]; of tokens [n, tokens, features] instead of [n, c, h, w].
 *
 * What a graph keeps (per micro-batch, each tensor once however many layers read it):
 *   convolution, linear, layer norm, GELU   its input
 *   batch norm                              its input; mean and 1/deviation, [c] each.  A ReLU that
 *                                           follows a batch norm is part of it and keeps nothing:
 *                                           its mask is rebuilt from the norm's input
 *   ReLU elsewhere                          its output
 *   max-pool                                indices, int32
 *   attention                               its input (q, k, v) and the probabilities
 *   cross-entropy                           the gradient of the logits
 *   sum, average pool, split, join          nothing
 * What is kept of the stage's own input stays where the caller has it (`kept_input`): the caller
 * must leave those streams untouched until the backward.  Where the graph is built by inverting
 * the block, tensors that are the block's output are read from there instead of kept again.
 *
 * Not here: when passes run, messages between stages, data sets, simulated time.
 */
#ifndef PK_NET_STAGE_H
#define PK_NET_STAGE_H

#include "kernels/pk.h"

/** What a message holds per sample and stream. */
struct pk_shape {
    int streams; /**< 1 or 2 */
    int channels, height, width;
    bool tokens; /**< [n, channels = tokens, height = 1, width = features]; layers act per token */
};

enum pk_layer_kind {
    PK_LAYER_CONV2D,
    PK_LAYER_BATCH_NORM,
    PK_LAYER_RELU,
    PK_LAYER_ADD, /**< of two streams; other layers read two streams side by side */
    PK_LAYER_MAX_POOL,
    PK_LAYER_GLOBAL_AVERAGE_POOL,
    PK_LAYER_LINEAR,
    PK_LAYER_CROSS_ENTROPY,
    PK_LAYER_LAYER_NORM,
    PK_LAYER_GELU,
};

/** One layer of a block of kind "layers"; fields that do not apply are ignored. */
struct pk_layer_spec {
    enum pk_layer_kind kind;
    const char *name; /**< unique in its block */
    int out;          /**< channels or features */
    int kernel, stride, pad;
    bool bias;
};

/** One block; fields that its kind does not name are ignored. */
struct pk_block_spec {
    const char *kind; /**< of pk_block_kind_names */
    const char *name; /**< prefix of its tensors' names: "layer1.0" */
    int ordinal;      /**< place in the network: its initial values do not depend on the cut */
    int width;        /**< channels of one stream of the output; features of an embedding */
    int stride;       /**< 1 or 2 */
    int kernel;       /**< stem, revnet */
    int pool_kernel, pool_pad; /**< stem: max-pool of stride 2 after it; 0: none */
    int streams;               /**< stem: of its output */
    bool bias;                 /**< stem: of its convolution */
    int classes;               /**< head */
    int heads, hidden;         /**< transformer: attention heads; features inside the MLP */
    bool causal;               /**< transformer */
    int entries;               /**< embedding: rows of its table */
    const struct pk_layer_spec *layers;
    int layer_count;
};

/** NULL at the end. */
const char *pk_block_kind_name(int index);

/** Which evaluations of a block update the running statistics of its batch norms (petra.md 3.4). */
enum pk_statistics {
    /** One set, once per micro-batch: by the evaluation that builds the graph. */
    PK_STATISTICS_PAPER,
    /** As the public code: a forward set, updated by every training forward and used for
     *  inference; a backward set, updated by recomputation and by PETRA bottlenecks' inversion. */
    PK_STATISTICS_CODE,
};

struct pk_stage_spec {
    const struct pk_block_spec *blocks; /**< copied, and all that it points to */
    int block_count;
    struct pk_shape input;
    bool input_is_data; /**< first stage: no gradient of the input */
    int microbatch;     /**< n >= 1 */
    enum pk_statistics statistics;
    float epsilon, momentum; /**< of the norms; 0 means 1e-5 and 0.1 */
};

enum pk_pass {
    PK_FORWARD,         /**< in -> out; nothing kept */
    PK_FORWARD_GRAPH,   /**< in -> out, graph */
    PK_INFERENCE,       /**< in -> out with running statistics */
    PK_INVERSE,         /**< out -> in; reversible stages only */
    PK_BACKWARD_GRAPH,  /**< in (its kept streams), graph, dout -> din */
    PK_BACKWARD_INPUT,  /**< in, dout -> din: recomputes the graph */
    PK_BACKWARD_OUTPUT, /**< out, dout -> in, din: one evaluation inverts and builds the graph,
                             block by block; reversible stages only */
    PK_BACKWARD_NAIVE,  /**< the same by inversion, then forward with graph, then backward */
    PK_PASSES
};

/** "forward", "forward_graph", ...; NULL at the end. */
extern const char *const pk_pass_names[];

/** All in bytes, exact: what is handed to a pass must have this size or more. */
struct pk_stage_sizes {
    int64_t parameters;                                     /**< count */
    size_t parameter_bytes, gradient_bytes, velocity_bytes; /**< equal */
    size_t statistics_bytes; /**< [1 or 2 sets][mean, variance of every norm] */
    size_t input_bytes;      /**< forward message in; its gradient has the same size */
    size_t output_bytes;     /**< forward message out; 0 where the stage ends in its loss */
    bool kept_input[2];      /**< streams of the input that a graph refers to */
    size_t kept_input_bytes;
    size_t graph_bytes[PK_PASSES]; /**< 0 where the pass has none; kept input not counted */
    size_t workspace_bytes[PK_PASSES];
    size_t loss_rows; /**< labels, loss and predictions of a stage with a loss; else 0 */
};

/** Operands of one pass, all in the backend's memory; those that the pass does not name are not
 *  looked at.  No two overlap. */
struct pk_stage_call {
    const float *parameters;
    float *gradients;  /**< += */
    float *statistics; /**< NULL: none are updated (inference needs them) */
    void *graph, *workspace;
    void *in; /**< written by the passes that invert; int32 indices for an embedding */
    float *out;
    const float *dout; /**< not for a stage with a loss, whose gradient is that of the mean loss */
    float *din;        /**< not where the input is data */
    const int32_t *labels; /**< [loss_rows] */
    float *loss;           /**< [loss_rows], or NULL */
    int32_t *predicted;    /**< [loss_rows], or NULL */
};

/** How a tensor starts. */
enum pk_initial { PK_INITIAL_UNIFORM, PK_INITIAL_ONE, PK_INITIAL_ZERO };

/** One tensor of the flat vector. */
struct pk_tensor {
    const char *name; /**< "layer1.0.conv1.weight" */
    size_t offset, count;
    int shape[4], dimensions;
    bool decay; /**< weight decay applies: neither norms nor biases */
    enum pk_initial initial;
    float bound;        /**< uniform in (-bound, bound) */
    bool last_norm;     /**< scale of the norm that ends a residual function */
    int ordinal, index; /**< block's ordinal, place in the block: the seed of its values */
};

struct pk_stage;

/**
 * Plans a stage.
 *
 * @param[in]  context  whose backend will run it; must outlive the stage
 * @param[out] stage    freed with pk_stage_free; untouched on failure
 * @return PSIM_OK; PSIM_ERR_NOTFOUND for a block kind (the nearest is named); PSIM_ERR_RANGE for a
 *         shape or width that does not fit; PSIM_ERR_NOMEM; err->where names block and field
 */
enum psim_status pk_stage_new(struct pk_context *context, const struct pk_stage_spec *spec,
                              struct pk_stage **stage, struct psim_error *err) PSIM_CHECKED;
void pk_stage_free(struct pk_stage *stage); /* NULL is allowed */

const struct pk_stage_sizes *pk_stage_sizes(const struct pk_stage *stage);
struct pk_shape pk_stage_output(const struct pk_stage *stage);
bool pk_stage_is_reversible(const struct pk_stage *stage); /**< all its blocks are */

/** Tensors in the order of their offsets, and [2 c] running mean and variance per norm. */
const struct pk_tensor *pk_stage_tensors(const struct pk_stage *stage, int *count);
const struct pk_tensor *pk_stage_norms(const struct pk_stage *stage, int *count);

/**
 * Queues one pass.
 * @return PSIM_OK; PSIM_ERR_RANGE where a needed operand is NULL; PSIM_ERR_UNSUPPORTED for an
 *         inverse of a stage that has none, or an operation that the backend lacks; PSIM_ERR_IO
 */
enum psim_status pk_stage_run(struct pk_stage *stage, enum pk_pass pass,
                              const struct pk_stage_call *call,
                              struct psim_error *err) PSIM_CHECKED;

/**
 * Starting values, in host memory: Kaiming uniform with a = sqrt(5), that is
 * U(+-1 / sqrt(fan in)), for weights and biases; norms 1 and 0.  Philox, counter-based: the same
 * on every machine and for every cut into stages.  Source: arXiv:1502.01852, as in PyTorch.
 *
 * @param[in]  zero_last_norm  the norm that ends a residual function starts at 0
 * @param[out] parameters      [parameters]
 * @param[out] statistics      means 0, variances 1; may be NULL
 */
void pk_stage_initial(const struct pk_stage *stage, uint64_t seed, bool zero_last_norm,
                      float *parameters, float *statistics);

/** Queues SGD on all parameters (pk.h); weight_decay applies where a tensor says so. */
struct pk_stage_update {
    float rate, momentum, weight_decay, gradient_scale;
    bool nesterov;
    float *parameters;
    const float *gradients;
    float *velocity; /**< may be NULL where momentum is 0 */
};
enum psim_status pk_stage_update(struct pk_stage *stage, const struct pk_stage_update *update,
                                 struct psim_error *err) PSIM_CHECKED;

#endif

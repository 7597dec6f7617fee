/**
 * @file kernels/pk.h
 * Kernels of neural networks: one table of operations per backend.
 *
 * Called by kernels/net (blocks and stages), by the benchmarks and by the conformance program.
 * "ref" is plain C with double accumulation and has every operation; every other backend is judged
 * against it.  Nothing falls back from one backend to another: a measurement that ran somewhere
 * else than it says is a wrong one.
 *
 * Arrays are dense and row-major; a shape in brackets, such as [n, c, h, w], lists the slowest
 * dimension first.  Images are NCHW in every backend: a convolution of one image is then one
 * matrix product on its column matrix, and a stream of a reversible net is a plain array.  Values
 * are float, indices and labels int32.  Pointers are device pointers for a backend whose memory is
 * PK_MEMORY_DEVICE, host pointers otherwise; they need the alignment of one element only.
 *
 * Gradients: an operation adds (+=) to the gradient of a parameter and writes (=) the gradient of
 * an activation, unless its `accumulate` says that it adds.  Operations work in place only where
 * that is said.  A count or dimension of 0 is allowed everywhere and does nothing: outputs stay as
 * they were, and the backend is not called; only count_bad still writes its 0.
 *
 * Operations are queued: on a device they may run after the call returns, and their faults may
 * show in `wait`.  No operation allocates: what it needs beside its operands is `workspace`, whose
 * size pk_X_workspace tells beforehand.
 *
 * Not here: networks, training, data sets, simulated time.
 *
 * Threads: a context belongs to one thread at a time; the backend may use threads of its own, and
 * its results do not depend on how many.
 */
#ifndef PK_PK_H
#define PK_PK_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Blocks of memory and workspaces start at multiples of this many bytes: what cudaMalloc gives
 *  (CUDA C++ Programming Guide, section "Device Memory Accesses"). */
#define PK_ALIGNMENT 256

/** `bytes`, at most SIZE_MAX - 255, rounded up to where another block may start. */
static inline size_t pk_padded(size_t bytes)
{
    return (bytes + PK_ALIGNMENT - 1) / PK_ALIGNMENT * PK_ALIGNMENT;
}

enum pk_memory { PK_MEMORY_HOST, PK_MEMORY_DEVICE };

/** Arithmetic of matrix products and convolutions; all else is fp32 always. */
enum pk_math {
    PK_MATH_FP32, /**< operands and sums in fp32, no TF32 */
    PK_MATH_TF32, /**< operands rounded to 10 bits of mantissa, sums in fp32 */
    PK_MATH_BF16, /**< operands rounded to bf16, sums in fp32 */
    PK_MATHS
};

/** "fp32", "tf32", "bf16"; NULL at the end. */
extern const char *const pk_math_names[];

/** False where no arithmetic has this name; `math` is then untouched. */
bool pk_find_math(const char *name, enum pk_math *math);

/** What a block of memory is for; every byte of a context is counted under one of these. */
enum pk_category {
    PK_PARAMETERS,
    PK_PARAMETER_VERSIONS, /**< stashed copies */
    PK_GRADIENTS,
    PK_OPTIMIZER_STATE,
    PK_STATISTICS, /**< running mean and variance of batch norms */
    PK_GRAPH,      /**< what a forward keeps for its backward */
    PK_INPUTS,     /**< buffered stage inputs */
    PK_MESSAGES,   /**< activations and gradients on their way between stages */
    PK_WORKSPACE,
    PK_DATA, /**< samples and labels */
    PK_CATEGORIES
};

/** "parameters", "parameter_versions", ...; NULL at the end. */
extern const char *const pk_category_names[];

/** Bytes of one context; the peak is that of the total, with the shares of that moment. */
struct pk_account {
    int64_t now_bytes[PK_CATEGORIES], now_total_bytes;
    int64_t peak_bytes[PK_CATEGORIES], peak_total_bytes;
};

struct pk_options {
    int device;        /**< number of the accelerator; 0 for a host backend */
    int threads;       /**< host backends: >= 1; 0 means all processors of this process */
    enum pk_math math; /**< PSIM_ERR_UNSUPPORTED at open where the backend lacks it */
};

/** Where a measurement was made. */
struct pk_description {
    char device[128];     /**< "AMD EPYC ...", "NVIDIA H200" */
    char driver[64];      /**< "" on a host */
    char libraries[256];  /**< "OpenBLAS 0.3.21 (SkylakeX)", "cuBLAS 13.0.0, no cuDNN" */
    char convolution[64]; /**< how convolutions are done: "im2col + sgemm", "cuDNN 9.1", ... */
    int threads;
};

struct pk_context; /* one device and one stream */

/** C = alpha op(A) op(B) + beta C. */
struct pk_gemm {
    int m, n, k;
    bool transpose_a, transpose_b;
    const float *a; /**< [m, k], or [k, m] where transposed */
    const float *b; /**< [k, n], or [n, k] where transposed */
    float *c;       /**< [m, n]; overlaps neither a nor b; not read when beta is 0 */
    float alpha, beta;
};

/** Shape of a 2-D convolution with a square window; the output is [n, k, p, q]. */
struct pk_conv_shape {
    int n, c, h, w;          /**< input; >= 0 */
    int k;                   /**< output channels */
    int kernel, stride, pad; /**< kernel, stride >= 1; 0 <= pad < kernel */
};

struct pk_conv_forward {
    struct pk_conv_shape shape;
    const float *x;      /**< [n, c, h, w] */
    const float *weight; /**< [k, c, kernel, kernel] */
    const float *bias;   /**< [k], or NULL */
    float *y;            /**< [n, k, p, q] */
    bool relu;           /**< y = max(0, y) */
};

struct pk_conv_backward_data {
    struct pk_conv_shape shape;
    const float *dy;     /**< [n, k, p, q] */
    const float *weight; /**< [k, c, kernel, kernel] */
    float *dx;           /**< [n, c, h, w] */
    bool accumulate;     /**< dx += instead of dx = */
};

struct pk_conv_backward_weight {
    struct pk_conv_shape shape;
    const float *x;  /**< [n, c, h, w] */
    const float *dy; /**< [n, k, p, q] */
    float *dweight;  /**< [k, c, kernel, kernel], += */
    float *dbias;    /**< [k], +=, or NULL */
};

/**
 * Batch normalisation over n and hw, with what stands around it in a residual net:
 *
 *     f = scale (x - mean) inv_std + shift,  f = max(0, f) where relu,
 *     y = f                    without a base
 *     y = base + base_sign f   with one: a residual sum (+1), or its inversion (-1)
 *
 * Batch statistics: biased variance in inv_std = 1 / sqrt(variance + epsilon); the running
 * variance is the unbiased one.  Source: arXiv:1502.03167 algorithm 1.
 */
struct pk_norm_forward {
    int n, c, hw;               /**< n hw >= 2 where running statistics are given */
    const float *x;             /**< [n, c, hw] */
    const float *scale, *shift; /**< [c] */
    float epsilon;
    float *mean, *inv_std;                  /**< [c], out: for the backward */
    float *running_mean, *running_variance; /**< [c], or both NULL: not updated */
    float momentum; /**< running = (1 - momentum) running + momentum batch */
    bool relu;
    const float *base; /**< [n, c, hw], or NULL; may be y */
    float base_sign;   /**< +1 or -1 */
    float *y;          /**< [n, c, hw]; may be x unless x is needed afterwards */
    float *f;          /**< [n, c, hw], or NULL: f as well as y, where there is a base */
};

/** As pk_norm_forward with given statistics (evaluation); nothing is kept. */
struct pk_norm_inference {
    int n, c, hw;
    const float *x;
    const float *scale, *shift, *running_mean, *running_variance; /**< [c] */
    float epsilon;
    bool relu;
    const float *base;
    float base_sign;
    float *y;
};

/** Where the forward had `relu`, its mask is rebuilt from x and the statistics. */
struct pk_norm_backward {
    int n, c, hw;
    const float *x, *dy;                         /**< [n, c, hw]; dy: gradient of f */
    const float *scale, *shift, *mean, *inv_std; /**< [c] */
    bool relu;
    float *dscale, *dshift; /**< [c], += */
    float *dx;              /**< [n, c, hw]; may be dy; NULL where not needed */
};

/** y = max(0, x); NaN stays NaN.  y may be x. */
struct pk_relu_forward {
    size_t count;
    const float *x;
    float *y;
};

/** dx = dy where y > 0, else 0.  dx may be dy. */
struct pk_relu_backward {
    size_t count;
    const float *y, *dy;
    float *dx;
    bool accumulate;
};

/** y = alpha a + beta b, and the ReLU of that where asked.  y may be a or b. */
struct pk_add {
    size_t count;
    float alpha, beta;
    const float *a, *b;
    bool relu;
    float *y;
};

/** Copies `rows` rows of `columns` values between arrays of other row lengths. */
struct pk_copy_rows {
    size_t rows, columns;
    const float *source;
    size_t source_stride; /**< values from one row to the next, >= columns */
    float *target;
    size_t target_stride;
    bool accumulate; /**< target += */
};

struct pk_pool_forward {
    struct pk_conv_shape shape; /**< k = c */
    const float *x;             /**< [n, c, h, w]; a NaN in a window is its maximum */
    float *y;                   /**< [n, c, p, q] */
    int32_t *index; /**< [n, c, p, q], position in [h, w] of the first maximum; NULL: not kept */
};

struct pk_pool_backward {
    struct pk_conv_shape shape;
    const float *dy;      /**< [n, c, p, q] */
    const int32_t *index; /**< [n, c, p, q] */
    float *dx;            /**< [n, c, h, w] */
};

/** Mean over hw; row n of y starts at n * y_stride, so that two streams may share one row. */
struct pk_average_forward {
    int n, c, hw;
    const float *x; /**< [n, c, hw] */
    float *y;       /**< [n, c] in rows of y_stride */
    size_t y_stride;
};

struct pk_average_backward {
    int n, c, hw;
    const float *dy; /**< [n, c] in rows of dy_stride */
    size_t dy_stride;
    float *dx; /**< [n, c, hw] */
};

struct pk_linear_forward {
    int rows, in, out;
    const float *x;      /**< [rows, in] */
    const float *weight; /**< [out, in] */
    const float *bias;   /**< [out], or NULL */
    float *y;            /**< [rows, out] */
};

struct pk_linear_backward_data {
    int rows, in, out;
    const float *dy;     /**< [rows, out] */
    const float *weight; /**< [out, in] */
    float *dx;           /**< [rows, in] */
    bool accumulate;
};

struct pk_linear_backward_weight {
    int rows, in, out;
    const float *x, *dy;
    float *dweight; /**< [out, in], += */
    float *dbias;   /**< [out], +=, or NULL */
};

/**
 * loss = log sum_c exp(logits_c) - logits_label, per row; dlogits = gradient_scale (softmax -
 * one-hot).  A label outside [0, classes) makes that row's loss and gradient NaN.
 */
struct pk_cross_entropy {
    int rows, classes;
    const float *logits;   /**< [rows, classes] */
    const int32_t *labels; /**< [rows] */
    float gradient_scale;  /**< 1 / rows for the gradient of the mean */
    float *loss;           /**< [rows], or NULL */
    int32_t *predicted;    /**< [rows], the first largest logit; or NULL */
    float *dlogits;        /**< [rows, classes], or NULL; may be logits */
};

/**
 * SGD with momentum m and weight decay d:
 *
 *     g = gradient_scale gradient + d w;  v = m v + g;  w -= rate (nesterov ? g + m v : v)
 *
 * Without momentum v is not read or written.  Source: PyTorch's torch.optim.SGD, dampening 0.
 */
struct pk_sgd {
    size_t count;
    float rate, momentum, weight_decay, gradient_scale;
    bool nesterov;
    const float *gradient; /**< [count] */
    float *velocity;       /**< [count]; may be NULL where momentum is 0 */
    float *weight;         /**< [count] */
};

/** Per row: y = scale (x - mean) inv_std + shift.  Source: arXiv:1607.06450 eq. 4. */
struct pk_layer_norm_forward {
    int rows, columns;
    const float *x;             /**< [rows, columns] */
    const float *scale, *shift; /**< [columns] */
    float epsilon;
    float *mean, *inv_std; /**< [rows], out */
    float *y;
};

struct pk_layer_norm_backward {
    int rows, columns;
    const float *x, *dy;
    const float *scale;          /**< [columns] */
    const float *mean, *inv_std; /**< [rows] */
    float *dscale, *dshift;      /**< [columns], += */
    float *dx;                   /**< may be dy */
};

/** y = x Phi(x), Phi of the normal distribution (erf, not tanh).  arXiv:1606.08415 section 2. */
struct pk_gelu_forward {
    size_t count;
    const float *x;
    float *y;
};

struct pk_gelu_backward {
    size_t count;
    const float *x, *dy;
    float *dx; /**< may be dy */
};

/**
 * Softmax attention, O = softmax(Q K^T / sqrt(d)) V for every sample and head, where a row of
 * `qkv` is [3, heads, d].  Source: arXiv:1706.03762 eq. 1.
 */
struct pk_attention_forward {
    int n, tokens, heads, d;
    bool causal;
    const float *qkv;     /**< [n, tokens, 3, heads, d] */
    float *probabilities; /**< [n, heads, tokens, tokens], out: for the backward */
    float *y;             /**< [n, tokens, heads, d] */
};

struct pk_attention_backward {
    int n, tokens, heads, d;
    bool causal;
    const float *qkv, *probabilities;
    const float *dy; /**< [n, tokens, heads, d] */
    float *dqkv;     /**< [n, tokens, 3, heads, d] */
};

/** y = table[index] + position[row mod tokens]; an index outside [0, entries) gives a NaN row. */
struct pk_embedding_forward {
    int rows, entries, columns, tokens;
    const int32_t *index;  /**< [rows] */
    const float *table;    /**< [entries, columns] */
    const float *position; /**< [tokens, columns], or NULL */
    float *y;              /**< [rows, columns] */
};

struct pk_embedding_backward {
    int rows, entries, columns, tokens;
    const int32_t *index; /**< rows outside [0, entries) add nothing */
    const float *dy;      /**< [rows, columns] */
    float *dtable;        /**< [entries, columns], += */
    float *dposition;     /**< [tokens, columns], +=, or NULL */
};

/** *bad = count of values that are NaN or infinite; written when `wait` has returned. */
struct pk_count_bad {
    size_t count;
    const float *x;
    int64_t *bad; /**< in the backend's memory */
};

/**
 * Every operation: X(name, struct).  Expanded for the table's members, for the checks of shapes
 * and for the conformance program, so that none of them can miss one.
 */
#define PK_OPERATION_MAP(X)                                                                        \
    X(gemm, pk_gemm)                                                                               \
    X(conv_forward, pk_conv_forward)                                                               \
    X(conv_backward_data, pk_conv_backward_data)                                                   \
    X(conv_backward_weight, pk_conv_backward_weight)                                               \
    X(norm_forward, pk_norm_forward)                                                               \
    X(norm_inference, pk_norm_inference)                                                           \
    X(norm_backward, pk_norm_backward)                                                             \
    X(relu_forward, pk_relu_forward)                                                               \
    X(relu_backward, pk_relu_backward)                                                             \
    X(add, pk_add)                                                                                 \
    X(copy_rows, pk_copy_rows)                                                                     \
    X(pool_forward, pk_pool_forward)                                                               \
    X(pool_backward, pk_pool_backward)                                                             \
    X(average_forward, pk_average_forward)                                                         \
    X(average_backward, pk_average_backward)                                                       \
    X(linear_forward, pk_linear_forward)                                                           \
    X(linear_backward_data, pk_linear_backward_data)                                               \
    X(linear_backward_weight, pk_linear_backward_weight)                                           \
    X(cross_entropy, pk_cross_entropy)                                                             \
    X(sgd, pk_sgd)                                                                                 \
    X(layer_norm_forward, pk_layer_norm_forward)                                                   \
    X(layer_norm_backward, pk_layer_norm_backward)                                                 \
    X(gelu_forward, pk_gelu_forward)                                                               \
    X(gelu_backward, pk_gelu_backward)                                                             \
    X(attention_forward, pk_attention_forward)                                                     \
    X(attention_backward, pk_attention_backward)                                                   \
    X(embedding_forward, pk_embedding_forward)                                                     \
    X(embedding_backward, pk_embedding_backward)                                                   \
    X(count_bad, pk_count_bad)

/** Scratch memory of one operation; contents do not outlive it. */
struct pk_workspace {
    void *data; /**< in the backend's memory, aligned to PK_ALIGNMENT; NULL where bytes is 0 */
    size_t bytes;
};

/**
 * One backend's operations.  `run_X` trusts its argument: it is called through pk_X, which checks
 * the shape first.  `workspace_X` may be NULL: none is needed.
 */
struct pk_operations {
#define PK_MEMBER(name, type)                                                                      \
    enum psim_status (*run_##name)(struct pk_context *, const struct type *,                       \
                                   const struct pk_workspace *, struct psim_error *);              \
    size_t (*workspace_##name)(const struct pk_context *, const struct type *);
    PK_OPERATION_MAP(PK_MEMBER)
#undef PK_MEMBER
};

struct pk_backend {
    const char *name; /**< "ref", "openblas", "cuda" */
    const char *summary;
    const char *absent; /**< why it is not in this build; NULL where it is, and all else is set */
    enum pk_memory memory;
    const struct pk_operations *operations;
    enum psim_status (*open)(const struct pk_options *, struct pk_context **, struct psim_error *);
    void (*close)(struct pk_context *);
    void (*describe)(const struct pk_context *, struct pk_description *);
    /** Not zeroed; aligned to PK_ALIGNMENT; PSIM_ERR_NOMEM. */
    enum psim_status (*allocate)(struct pk_context *, size_t bytes, void **, struct psim_error *);
    void (*release)(struct pk_context *, void *);
    /** Between host and backend memory; the host's block may be reused on return. */
    enum psim_status (*upload)(struct pk_context *, void *target, const void *source, size_t bytes,
                               struct psim_error *);
    enum psim_status (*download)(struct pk_context *, void *target, const void *source,
                                 size_t bytes, struct psim_error *);
    /** Inside the backend's memory, queued; no overlap. */
    enum psim_status (*copy)(struct pk_context *, void *target, const void *source, size_t bytes,
                             struct psim_error *);
    enum psim_status (*clear)(struct pk_context *, void *target, size_t bytes, struct psim_error *);
    /** Until all that is queued is done; reports what failed meanwhile. */
    enum psim_status (*wait)(struct pk_context *, struct psim_error *);
};

/** First member of every backend's own context. */
struct pk_context {
    const struct pk_backend *backend;
    struct pk_options options;
    struct pk_account account;
};

/** All backends that petrasim knows, those left out of this build too; NULL at the end. */
extern const struct pk_backend *const pk_backend_table[];

/**
 * Opens a context.
 *
 * @param[in]  name     of a backend
 * @param[in]  options  copied
 * @param[out] context  closed with pk_context_close; untouched on failure
 * @return PSIM_OK; PSIM_ERR_NOTFOUND (the message lists the names); PSIM_ERR_UNSUPPORTED where the
 *         backend is not in this build, the machine lacks its device or has too old a driver, or
 *         the arithmetic is not offered; PSIM_ERR_RANGE for the options; PSIM_ERR_NOMEM
 */
enum psim_status pk_context_open(const char *name, const struct pk_options *options,
                                 struct pk_context **context, struct psim_error *err) PSIM_CHECKED;

/** Everything allocated from it must have been released; NULL is allowed. */
void pk_context_close(struct pk_context *context);

/**
 * Memory of the context's backend, counted under a category; 0 bytes give NULL.
 *
 * @param[out] block  not zeroed, aligned to PK_ALIGNMENT; untouched on failure
 * @return PSIM_OK or PSIM_ERR_NOMEM (the message says how much was asked and in use)
 */
enum psim_status pk_allocate(struct pk_context *context, enum pk_category category, size_t bytes,
                             void **block, struct psim_error *err) PSIM_CHECKED;

/** The same category and bytes as at pk_allocate; NULL is allowed. */
void pk_release(struct pk_context *context, enum pk_category category, size_t bytes, void *block);

/*
 * pk_X(context, &op, &workspace, err): one operation, its shape and pointers checked first.
 *
 * Returns PSIM_OK; PSIM_ERR_RANGE (err->where names the field) for a shape that is negative, too
 * large to count in 2^31 - 1 elements a dimension product, or whose window does not fit; a NULL
 * operand that is needed; a workspace that is too small; PSIM_ERR_UNSUPPORTED where the backend
 * lacks the operation; PSIM_ERR_IO for a fault of the device.
 *
 * pk_X_workspace(context, &op): bytes that the operation needs, 0 where the shape is refused.
 * Pointers in the op are not looked at but for being NULL.
 */
#define PK_DECLARE(name, type)                                                                     \
    enum psim_status pk_##name(struct pk_context *context, const struct type *op,                  \
                               const struct pk_workspace *workspace, struct psim_error *err)       \
        PSIM_CHECKED;                                                                              \
    size_t pk_##name##_workspace(const struct pk_context *context, const struct type *op);
PK_OPERATION_MAP(PK_DECLARE)
#undef PK_DECLARE

/** Output height for input height h (or width): (h + 2 pad - kernel) / stride + 1, 0 if none. */
static inline int pk_window_out(int h, const struct pk_conv_shape *shape)
{
    const int room = h + 2 * shape->pad - shape->kernel;

    return room < 0 || h == 0 ? 0 : room / shape->stride + 1;
}

#endif

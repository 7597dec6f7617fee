/**
 * @file kernels/cuda/cuda.h
 * The cuda backend between its two halves.
 *
 * The files cuda_*.c turn operations into launches and matrix products, and know nothing of CUDA;
 * machine/ carries these out on a device, and a test (tests/kernels/emulated) on the host, so that
 * all sizes, strides and workspaces are tried where there is no GPU.
 *
 * All pointers are to the backend's memory.  Everything is queued on the context's one stream.
 */
#ifndef PK_CUDA_CUDA_H
#define PK_CUDA_CUDA_H

#include "kernels/cuda/kernels.h"
#include "kernels/pk.h"

#ifdef __cplusplus
extern "C" {
#endif

enum cuda_pass { CUDA_FORWARD, CUDA_BACKWARD_DATA, CUDA_BACKWARD_WEIGHT };

struct cuda_context;

/** Convolutions of a library.  Arrays as in pk.h: image, weight or dy, and what comes out. */
struct cuda_convolver {
    /** False where the library has no fitting algorithm; *bytes of workspace where it has. */
    bool (*plan)(const struct cuda_context *, enum cuda_pass, const struct pk_conv_shape *,
                 size_t *bytes);
    /**
     * @param[in] a, b  x and weight; dy and weight; or x and dy, by pass
     * @param     out   y, dx or dweight
     */
    enum psim_status (*run)(struct cuda_context *, enum cuda_pass, const struct pk_conv_shape *,
                            const float *a, const float *b, float *out, bool accumulate,
                            const struct pk_workspace *, struct psim_error *);
};

/** A factor of products: matrix i of a batch starts `stride` values after the one before. */
struct cuda_factor {
    const void *data; /**< float, or bf16 */
    bool rounded;     /**< bf16 */
    bool transposed;
    int row;       /**< values from one row to the next as stored */
    size_t stride; /**< 0: the same matrix for all */
};

/** batch times C [m, n] = alpha op(A) op(B) + beta C; both factors rounded, or neither. */
struct cuda_product {
    int m, n, k, batch;
    struct cuda_factor a, b;
    float *c;
    int c_row;
    size_t c_stride;
    float alpha, beta;
};

/** What carries out launches and products: a device, or a test's loops. */
struct cuda_device {
#define CUDA_LAUNCH_MEMBER(kernel, phases, shared)                                                 \
    enum psim_status (*launch_##kernel)(struct cuda_context *, size_t blocks,                      \
                                        const struct cuda_##kernel *, struct psim_error *);
    CUDA_KERNEL_MAP(CUDA_LAUNCH_MEMBER)
#undef CUDA_LAUNCH_MEMBER
    enum psim_status (*multiply)(struct cuda_context *, const struct cuda_product *,
                                 struct psim_error *);
};

struct cuda_context {
    struct pk_context base;
    const struct cuda_device *device;
    int processors;      /**< multiprocessors of the device */
    size_t grain;        /**< values that a block of a reduction takes at least */
    size_t column_limit; /**< values of a column matrix that are made at once */
    const struct cuda_convolver *convolver; /**< NULL: by column matrices */
    struct cuda_machine *machine;           /**< what machine/ keeps */
};

static inline struct cuda_context *cuda_context_of(struct pk_context *context)
{
    return (struct cuda_context *)context;
}

static inline const struct cuda_context *cuda_context_read(const struct pk_context *context)
{
    return (const struct cuda_context *)context;
}

/** Launches a kernel on `blocks` blocks (>= 1); PSIM_ERR_IO where that fails. */
#define CUDA_LAUNCH_DEFINE(kernel, phases, shared)                                                 \
    PSIM_CHECKED static inline enum psim_status cuda_launch_##kernel(                              \
        struct cuda_context *context, size_t blocks, const struct cuda_##kernel *args,             \
        struct psim_error *err)                                                                    \
    {                                                                                              \
        return context->device->launch_##kernel(context, blocks, args, err);                       \
    }
CUDA_KERNEL_MAP(CUDA_LAUNCH_DEFINE)
#undef CUDA_LAUNCH_DEFINE

/** In the arithmetic of the context's options; PSIM_ERR_IO where it cannot be queued. */
PSIM_CHECKED static inline enum psim_status cuda_multiply(struct cuda_context *context,
                                                          const struct cuda_product *product,
                                                          struct psim_error *err)
{
    return context->device->multiply(context, product, err);
}

/* Shared by the operations (cuda_plan.c). */

/** Blocks for a loop over `items` by single threads: enough to fill the device, not more. */
size_t cuda_blocks(const struct cuda_context *context, size_t items);

/** Threads for a row of `columns`: 32 or 256. */
uint32_t cuda_lanes(size_t columns);

/** Blocks for rows that take `lanes` threads each. */
size_t cuda_row_blocks(size_t rows, uint32_t lanes);

/** Into how many shares a reduction of `values` is cut, when there are `parallel` of them. */
int cuda_splits(const struct cuda_context *context, size_t parallel, size_t values);

/** Whether all of some arrays (NULL ends them, and is aligned) move 4 values at a time. */
bool cuda_aligned(const void *const *arrays, int count);
#define CUDA_ALIGNED(...)                                                                          \
    cuda_aligned((const void *const[]){__VA_ARGS__},                                               \
                 (int)(sizeof((const void *const[]){__VA_ARGS__}) / sizeof(void *)))

/** A walk through a workspace; every piece is pk_padded. */
struct cuda_scratch {
    char *next;
};

void *cuda_take(struct cuda_scratch *scratch, size_t bytes);

/** Whether operands of products are bf16. */
bool cuda_rounds(const struct cuda_context *context);

/** Workspace of cuda_operand for `count` values. */
size_t cuda_operand_bytes(const struct cuda_context *context, size_t count);

/** `count` values from `data` as a factor: rounded into scratch where the arithmetic asks. */
enum psim_status cuda_operand(struct cuda_context *context, struct cuda_scratch *scratch,
                              const float *data, size_t count, struct cuda_factor *factor,
                              struct psim_error *err) PSIM_CHECKED;

/** Sums of [rows, columns] over rows, and of products with z where x is given. */
struct cuda_row_sums {
    size_t rows, columns;
    const float *x, *dy, *mean, *inv_std;
    float *dshift, *dscale; /**< +=; dscale may be NULL */
};
size_t cuda_row_sums_bytes(const struct cuda_context *context, size_t rows, size_t columns);
enum psim_status cuda_row_sums(struct cuda_context *context, const struct cuda_row_sums *sums,
                               struct cuda_scratch *scratch, struct psim_error *err) PSIM_CHECKED;

/** Sums of [n, c, hw] over n and hw (cuda_norm.c): into sums [2, c], dshift, dscale where given. */
struct cuda_channel_totals {
    int n, c, hw;
    struct cuda_norm_input in;
    float *sums, *dshift, *dscale;
};
size_t cuda_channel_totals_bytes(const struct cuda_context *context, int n, int c, int hw);
enum psim_status cuda_channel_totals(struct cuda_context *context,
                                     const struct cuda_channel_totals *totals,
                                     struct cuda_scratch *scratch,
                                     struct psim_error *err) PSIM_CHECKED;

/** y [rows.., channels, inner] += bias, and the ReLU; nothing where there is neither. */
enum psim_status cuda_add_bias(struct cuda_context *context, float *y, const float *bias,
                               size_t count, size_t channels, size_t inner, bool relu,
                               struct psim_error *err) PSIM_CHECKED;

/** The operations, and the workspaces of those that need one (cuda_operations.c). */
#define CUDA_DECLARE(name, type)                                                                   \
    enum psim_status cuda_run_##name(struct pk_context *, const struct type *,                     \
                                     const struct pk_workspace *, struct psim_error *);
PK_OPERATION_MAP(CUDA_DECLARE)
#undef CUDA_DECLARE
#define CUDA_WORKSPACE_MAP(X)                                                                      \
    X(gemm, pk_gemm)                                                                               \
    X(conv_forward, pk_conv_forward)                                                               \
    X(conv_backward_data, pk_conv_backward_data)                                                   \
    X(conv_backward_weight, pk_conv_backward_weight)                                               \
    X(norm_forward, pk_norm_forward)                                                               \
    X(norm_backward, pk_norm_backward)                                                             \
    X(linear_forward, pk_linear_forward)                                                           \
    X(linear_backward_data, pk_linear_backward_data)                                               \
    X(linear_backward_weight, pk_linear_backward_weight)                                           \
    X(layer_norm_backward, pk_layer_norm_backward)                                                 \
    X(attention_forward, pk_attention_forward)                                                     \
    X(attention_backward, pk_attention_backward)                                                   \
    X(count_bad, pk_count_bad)
#define CUDA_DECLARE(name, type)                                                                   \
    size_t cuda_workspace_##name(const struct pk_context *, const struct type *);
CUDA_WORKSPACE_MAP(CUDA_DECLARE)
#undef CUDA_DECLARE

extern const struct pk_operations cuda_operations;

#ifdef __cplusplus
}
#endif

#endif

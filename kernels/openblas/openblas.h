/**
 * @file kernels/openblas/openblas.h
 * What the files of this backend share: its context, its threads, its matrix product.
 *
 * Work is cut into tasks whose number and bounds depend on the shape of an operation alone; a task
 * is computed by one thread from its first to its last sum.  So results do not depend on how many
 * threads there are, nor on which of them took which task.
 *
 * OpenBLAS itself runs on one thread (openblas_set_num_threads(1), which is global to the process)
 * and is called by many: its pthread build supports that.
 */
#ifndef PK_OPENBLAS_OPENBLAS_H
#define PK_OPENBLAS_OPENBLAS_H

#include "kernels/pk.h"

#include <cblas.h>

/** Loops over arrays are compiled for several instruction sets; the loader picks one. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__gnu_linux__) &&   \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define OB_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define OB_CLONES
#endif

/** Part of a clone: without this GCC would call one plain copy from all of them. */
#if defined(__GNUC__)
#define OB_INLINE static inline __attribute__((always_inline))
#else
#define OB_INLINE static inline
#endif

/** Before a loop whose passes touch no common memory, though the compiler cannot see it. */
#if defined(__clang__)
#define OB_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define OB_INDEPENDENT _Pragma("GCC ivdep")
#else
#define OB_INDEPENDENT
#endif

/** Asks for a cache line that will be read soon. */
#if defined(__GNUC__)
#define OB_PREFETCH(address) __builtin_prefetch(address)
#else
#define OB_PREFETCH(address) ((void)(address))
#endif

struct ob_pool;

struct ob_context {
    struct pk_context base; /* first: a pk_context is this */
    struct ob_pool *pool;
    int threads;
};

/** One task of a job, `thread` in [0, threads): which scratch memory it may use. */
typedef void ob_task(const void *job, int64_t task, int thread);

/** `threads` >= 1 with the caller's; PSIM_ERR_NOMEM also where the system gives no thread. */
enum psim_status ob_pool_open(int threads, struct ob_pool **pool,
                              struct psim_error *err) PSIM_CHECKED;
void ob_pool_close(struct ob_pool *pool);

/** Runs all tasks and returns when they are done.  Tasks are small against `job`, not nested. */
void ob_run(struct pk_context *context, ob_task *task, const void *job, int64_t tasks);

/** Whatever of a job stands for itself: one row of a matrix, one plane, one channel. */
typedef void ob_row(const void *job, int64_t row);

/** As ob_run, `each` >= 1 rows a task, the last may have fewer; in any order, so that a row may
 *  write nothing that another one reads. */
void ob_run_rows(struct pk_context *context, ob_row *row, const void *job, int64_t rows,
                 int64_t each);

int ob_threads(const struct pk_context *context);

/** Elements of an array that one task of an elementwise loop takes. */
#define OB_CHUNK ((size_t)1 << 14)

OB_INLINE int64_t ob_ceil(int64_t count, int64_t size)
{
    return (count + size - 1) / size;
}

OB_INLINE int64_t ob_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

OB_INLINE int64_t ob_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/** Rows of `values` >= 1 values that make a task of some OB_CHUNK values. */
OB_INLINE int64_t ob_rows_of_task(int64_t values)
{
    return ob_max(1, (int64_t)OB_CHUNK / values);
}

/** Rounded up to whole cache lines of floats. */
OB_INLINE size_t ob_line(size_t floats)
{
    return (floats + 15) / 16 * 16;
}

/** C = alpha op(A) op(B) + beta C on the calling thread, rows `lda`, `ldb`, `ldc` values apart. */
struct ob_product {
    bool transpose_a, transpose_b;
    int64_t m, n, k;
    float alpha;
    const float *a;
    int64_t lda;
    const float *b;
    int64_t ldb;
    float beta;
    float *c;
    int64_t ldc;
};

void ob_multiply(const struct ob_product *product);

/** As ob_multiply, in blocks of C over the threads. */
void ob_multiply_parallel(struct pk_context *context, const struct ob_product *product);

/** sum[row] += the sum over n and hw of values[n, rows, hw]: gradients of biases. */
void ob_sum_planes(struct pk_context *context, const float *values, int n, int rows, int hw,
                   float *sum);

/** Every operation that this backend has: run_X, and workspace_X where it needs memory. */
#define OB_DECLARE(name, type)                                                                     \
    enum psim_status ob_##name(struct pk_context *context, const struct type *op,                  \
                               const struct pk_workspace *workspace, struct psim_error *err);
PK_OPERATION_MAP(OB_DECLARE)
#undef OB_DECLARE

size_t ob_conv_forward_workspace(const struct pk_context *context,
                                 const struct pk_conv_forward *op);
size_t ob_conv_backward_data_workspace(const struct pk_context *context,
                                       const struct pk_conv_backward_data *op);
size_t ob_conv_backward_weight_workspace(const struct pk_context *context,
                                         const struct pk_conv_backward_weight *op);
size_t ob_attention_backward_workspace(const struct pk_context *context,
                                       const struct pk_attention_backward *op);
#endif

/**
 * @file tests/bench/bench_kernels/cases.h
 * What bench_kernels times: operations, their shapes and what their operands are.
 *
 * For bench_kernels alone.  A case has no memory: the pointers of its operation are NULL until the
 * benchmark places the operands in a backend's memory.
 */
#ifndef PSIM_TESTS_BENCH_KERNELS_CASES_H
#define PSIM_TESTS_BENCH_KERNELS_CASES_H

#include "tests/kernels/conformance/conformance.h"

#define BENCH_OPERANDS 12

/** What an operand is filled with, and its type. */
enum bench_kind {
    BENCH_VALUES,   /**< float in (-1, 1) */
    BENCH_POSITIVE, /**< float in (0.25, 0.75) */
    BENCH_INDICES,  /**< int32 in [0, limit) */
    BENCH_WINDOWS,  /**< int32: the first place of each 2x2 window of a 112x112 plane */
    BENCH_COUNT     /**< int64, written only */
};

struct bench_operand {
    size_t offset; /**< of its pointer in the operation */
    size_t count;  /**< elements */
    enum conf_role role;
    enum bench_kind kind;
    int limit; /**< BENCH_INDICES are below it */
};

struct bench_case {
    enum conf_operation operation;
    char shape[64];
    double flop; /**< of the direct formula, whatever the method */
    _Alignas(max_align_t) unsigned char op[CONF_OPERATION];
    struct bench_operand operands[BENCH_OPERANDS];
    int count;
};

/**
 * @param[out] c      overwritten
 * @param[in]  index  >= 0, of the operation's cases
 * @param[in]  n      >= 1, the batch; some shapes have a smaller one at most
 * @return false where the operation has no such case: `c` is then undefined
 */
bool bench_case_make(struct bench_case *c, enum conf_operation operation, int index, int n);

/** C = A B with matrices of m x k and k x n values. */
void bench_case_product(struct bench_case *c, int m, int n, int k);

/** A copy of rows x columns values, rows one after the other. */
void bench_case_copy(struct bench_case *c, size_t rows, size_t columns);

/** Bytes of one element. */
size_t bench_element_bytes(const struct bench_operand *operand);

/** Bytes of all operands, each once; twice what is read and written. */
double bench_case_bytes(const struct bench_case *c);

#endif

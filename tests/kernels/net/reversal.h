/**
 * @file tests/kernels/net/reversal.h
 * How exactly a stack of reversible blocks gets its input back.
 */
#ifndef PK_TESTS_NET_REVERSAL_H
#define PK_TESTS_NET_REVERSAL_H

#include "kernels/net/stage.h"

struct reversal {
    const char *kind; /**< of all blocks */
    int blocks, kernel, width, size, microbatch;
    bool he; /**< weights U(+-sqrt(6 / fan in)) (arXiv:1502.01852 eq. 10) instead of the default */
    uint64_t seed;
};

struct reversal_error {
    double max_absolute, relative; /**< largest entry; ||rebuilt - x|| / ||x|| over both streams */
    double input_rms;
};

/** Forward through all blocks of one stage, then the inverse; normal inputs of deviation 1. */
enum psim_status reversal_measure(struct pk_context *context, const struct reversal *what,
                                  struct reversal_error *out, struct psim_error *err) PSIM_CHECKED;

#endif

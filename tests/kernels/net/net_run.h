/**
 * @file tests/kernels/net/net_run.h
 * Memory of stages, and one training step through all stages of a net on one device.
 *
 * Used by the tests of kernels/net and by the benchmarks; fails by its status, prints nothing.
 */
#ifndef PK_TESTS_NET_RUN_H
#define PK_TESTS_NET_RUN_H

#include "kernels/net/nets.h"

/** All that one stage of one micro-batch needs for any of the passes. */
struct net_memory {
    struct pk_context *context;
    const struct pk_stage_sizes *sizes;
    size_t graph_bytes, workspace_bytes; /**< the most over the passes asked for */
    struct pk_stage_call call;
    float *velocity;
};

/** Allocates for the passes whose bit is set; parameters and statistics start as seeded. */
enum psim_status net_memory_new(struct pk_stage *stage, struct pk_context *context, unsigned passes,
                                uint64_t seed, struct net_memory *memory,
                                struct psim_error *err) PSIM_CHECKED;
void net_memory_release(struct net_memory *memory);

/** How the stages between stem and head go backward. */
enum net_way {
    NET_STORED,     /**< graphs kept by the forward */
    NET_RECOMPUTED, /**< inputs kept, graphs rebuilt */
    NET_REVERSED,   /**< reversible stages rebuild their input; the others as NET_RECOMPUTED */
    NET_NAIVE       /**< as NET_REVERSED by inversion and recomputation */
};

struct net_run {
    struct pk_context *context;
    int count;
    struct pk_stage *stages[PK_NET_BLOCKS_MAX];
    struct net_memory memory[PK_NET_BLOCKS_MAX];
    struct pk_account account; /**< when all was allocated */
};

/** A net of one block per stage with its memory; released also after a failure. */
enum psim_status net_run_new(struct pk_context *context, const struct pk_net *net, int microbatch,
                             enum pk_statistics statistics, uint64_t seed, struct net_run *run,
                             struct psim_error *err) PSIM_CHECKED;
void net_run_release(struct net_run *run);

/** One step: gradients are cleared, then forward, loss, backward.  Host pointers.
 *  @param[out] loss  mean over the rows; may be NULL */
enum psim_status net_run_step(struct net_run *run, const void *samples, const int32_t *labels,
                              enum net_way way, double *loss, struct psim_error *err) PSIM_CHECKED;

/** Values in (-1, 1) from (seed, what, index). */
void net_fill(float *values, size_t count, uint64_t seed, uint64_t what);

/** The larger of two errors; a NaN stays. */
double net_worse(double a, double b);

/** ||a - b|| / ||b||; 0 where both are 0. */
double net_distance(const float *a, const float *b, size_t count);

#endif

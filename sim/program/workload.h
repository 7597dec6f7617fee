/**
 * @file sim/program/workload.h
 * From a model and a platform to pipeline stages with their times, bytes and FLOP.
 *
 * Called by sim/cli (and later sim/plan) with what sim/config read.  Produces the array of
 * stages that sim/program/program.h turns into operations.
 *
 * Does not know: methods, engines, JSON.
 */
#ifndef PSIM_PROGRAM_WORKLOAD_H
#define PSIM_PROGRAM_WORKLOAD_H

#include "sim/base/memory.h"
#include "sim/base/status.h"
#include "sim/model/spec.h"
#include "sim/platform/platform.h"

#include <stdbool.h>
#include <stdint.h>

/** One stage on its device; bytes and seconds are per micro-batch. */
struct psim_stage {
    const char *name; /**< first block, or "first..last" */
    int first_block, block_count;
    int device; /**< index into platform->devices */
    bool reversible;
    double forward_s, reconstruct_s, backward_input_s, backward_weight_s, update_s;
    double forward_flop, reconstruct_flop, backward_flop; /**< NaN with given costs */
    int64_t input_bytes, output_bytes; /**< forward messages; output 0 at the last stage */
    int64_t parameter_bytes, gradient_bytes, optimizer_bytes, buffer_bytes;
    int64_t graph_bytes;           /**< kept by a forward for its backward, whole stage */
    int64_t recompute_graph_bytes; /**< alive while a backward rebuilds what it needs */
    int64_t graph_input_bytes;     /**< part of the graph that is the stage's own input */
    int64_t forward_work_bytes;    /**< alive during a forward beside input, output and graph */
    int64_t backward_work_bytes;   /**< gradients of activations alive during a backward */
    int64_t workspace_bytes, context_bytes;
    int64_t optimizer_transient_bytes; /**< alive during an update; 0 (in place) unless the caller
                                            of psim_program_build sets it */
    double fragmentation;
    int64_t memory_bytes; /**< of the device */
    /* For accounting "paper"; 0 with given costs. */
    int64_t paper_model_bytes, paper_input_bytes, paper_parameter_bytes;
    bool paper_always_buffers; /**< a down-sampling stage keeps its input whatever the method */
};

struct psim_workload {
    struct psim_arena arena;
    const char *model_name;
    struct psim_stage *stages;
    int stage_count;
    int reversible_blocks;
    int element_bytes; /**< of a parameter in the precision asked for */
    bool given;        /**< costs were given, FLOP are unknown */
    /** Share of the simulated compute time whose cost figures carry each tag; sums to 1. */
    double tag_share[PSIM_TAGS];
    const char *assumed; /**< one line: which figures are assumed; "" when none */
};

/**
 * Cuts the model into stages and places them.
 *
 * "per_block": one stage a block (or given stage).  "balanced": as many stages as there are
 * devices, at most one a block, the slowest stage's forward + backward as short as possible
 * (exact, dynamic programming over blocks with each stage's own device).
 *
 * The graph of a merged stage counts once what two neighbouring blocks both keep.  While a
 * reversible merged stage rebuilds, one block's graph is alive at a time; another one rebuilds its
 * whole graph.
 *
 * Given times that were measured on another device are scaled by peak * compute of the two devices
 * (the precision's peak, the default rate) and count as estimated.
 *
 * @return PSIM_OK; PSIM_ERR_RANGE when devices are fewer than stages, a list does not sum up or an
 *         amount of a stage exceeds 4 TiB per micro-batch;
 *         PSIM_ERR_UNSUPPORTED when a device has no peak for the precision; PSIM_ERR_NOMEM
 */
enum psim_status psim_workload_build(const struct psim_workload_model *model,
                                     const struct psim_platform *platform,
                                     const struct psim_workload_options *options,
                                     struct psim_workload *out,
                                     struct psim_error *err) PSIM_CHECKED;
void psim_workload_release(struct psim_workload *workload);

#endif

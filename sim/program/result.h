/**
 * @file sim/program/result.h
 * What one simulation yields, and what a comparison of several is: plain data for sim/report.
 *
 * NaN means "not known" (null in JSON).  Stages are counted from 0 here and printed from 1.
 */
#ifndef PSIM_PROGRAM_RESULT_H
#define PSIM_PROGRAM_RESULT_H

#include "sim/method/method.h"
#include "sim/platform/device.h"

#include <stdbool.h>
#include <stdint.h>

#define PSIM_MEMORY_CATEGORY_MAP(X)                                                                \
    X(PARAMETERS, "parameters")                                                                    \
    X(PARAMETER_VERSIONS, "parameter_versions")                                                    \
    X(GRADIENTS, "gradients")                                                                      \
    X(OPTIMIZER_STATE, "optimizer_state")                                                          \
    X(ACTIVATIONS, "activations")                                                                  \
    X(INPUTS, "buffered_inputs")                                                                   \
    X(RECOMPUTE, "recompute_workspace")                                                            \
    X(COMMUNICATION, "communication_buffers")                                                      \
    X(WORKSPACE, "kernel_workspace")                                                               \
    X(OPTIMIZER_TRANSIENT, "optimizer_transient")                                                  \
    X(CONTEXT, "framework_context")

enum psim_memory_category {
#define PSIM_MEMORY_ENUM(name, text) PSIM_MEMORY_##name,
    PSIM_MEMORY_CATEGORY_MAP(PSIM_MEMORY_ENUM)
#undef PSIM_MEMORY_ENUM
        PSIM_MEMORY_CATEGORIES
};

/** Names as in the result JSON, in the enum's order. */
extern const char *const psim_memory_category_names[PSIM_MEMORY_CATEGORIES];

/** Peak of one device; -1 where the accounting cannot say. */
struct psim_memory_peak {
    int64_t bytes;
    double at_s;                                 /**< the moment, in simulated seconds */
    int64_t by_category[PSIM_MEMORY_CATEGORIES]; /**< at that moment; sums to bytes */
    int64_t reserved_bytes;                      /**< with the allocator's share on top */
    int64_t capacity_bytes;
    /** Largest total during an update, counted at its start with all that is simultaneous; its
     *  moment; 0 where none was simulated. */
    int64_t update_bytes;
    double update_at_s;
};

struct psim_stage_result {
    double forward_s, backward_s; /**< busy seconds per micro-batch on an idle device; backward
                                       includes reconstruction */
    double update_s;              /**< one optimizer update */
    double busy_fraction;         /**< of the window, union over streams */
    double exposed_fraction;      /**< waiting only for a transfer */
    double demand_fraction;       /**< what its work takes at least, over the window: 1 limits */
    int64_t staleness_microbatches;
    int64_t parameter_versions;   /**< including the current one */
    int64_t held_microbatches;    /**< most between start of forward and end of backward */
    int64_t carried_microbatches; /**< most held at the end of a step with a backward */
    /* The least of both once the pipeline is filled: equal to the above in a round pipeline. */
    int64_t staleness_min_microbatches, carried_min_microbatches;
    struct psim_memory_peak memory;
};

/** Where the time goes. */
enum psim_bottleneck_kind {
    PSIM_BOTTLENECK_STAGE,
    PSIM_BOTTLENECK_LINK,
    PSIM_BOTTLENECK_LATENCY,
    PSIM_BOTTLENECK_DEPENDENCY
};

/** One method on one model and platform, simulated. */
struct psim_simulation {
    double time_per_microbatch_s, time_per_update_s;
    double window_s; /**< steady period or flushed step that the fractions refer to */
    int64_t window_microbatches;
    double start_up_s; /**< first forward to the first backward's end at the first stage */
    bool steady;       /**< a period was found that repeats exactly; true for a flushed step */
    double utilisation_mean, bubble_fraction, exposed_communication_fraction;
    double flop_per_microbatch; /**< NaN with given costs */
    double flop_extra_fraction; /**< reconstruction and recompute over the rest; with given costs
                                        by passes, forward 1 and backward 2 */
    double flop_units; /**< measured: passes run, forward = 1, backward = 2, per micro-batch */
    double bytes_forward_per_microbatch, bytes_backward_per_microbatch;
    double communication_forward, communication_backward; /**< bytes in streams of the boundary */
    int64_t operations;                                   /**< computes and transfers simulated */
    int64_t updates; /**< optimizer updates simulated from a cold start; 0: the steady state */
    /* A run that a failure ended; its times are NaN. */
    int failure;                /**< index of the condition; -1: none */
    double failed_at_s, lost_s; /**< lost: since the first stage's last update */
    int64_t updates_done, lost_microbatches;
    int stage_count;
    struct psim_stage_result *stages; /**< [stage_count], owned */
};

void psim_simulation_release(struct psim_simulation *simulation);

/** What training takes in energy and money; NaN where a figure is not known, never a guess. */
struct psim_worth {
    double energy_per_update_j, energy_per_sample_j, energy_per_epoch_j, energy_per_token_j;
    double energy_devices_per_update_j, energy_links_per_update_j; /**< parts of the first */
    double cost_per_update_usd, cost_per_sample_usd, cost_per_epoch_usd, cost_per_token_usd;
    double time_per_epoch_s;
    const char *energy_note; /**< what is not known of the energy; "" where all is */
    const char *cost_note;
    const char *token_note; /**< why no figure per token is known; "" where tokens are given */
    const char *price_date; /**< of the oldest price that counts; "" where the cost is not known */
};

struct psim_result {
    const char *method, *label, *model; /**< borrowed */
    const char *const *option_names;    /**< [option_count], borrowed */
    const char *const *option_values;   /**< as files spell them: "ideal", "true", "8" */
    int option_count;
    int64_t accumulation;
    bool updates_every_microbatch;
    struct psim_simulation simulation;
    const char *const *device_names; /**< [stages] */
    const char *const *device_types; /**< [stages] */
    const char *const *stage_names;  /**< [stages] */
    double samples_per_s;
    double speedup;                      /**< over the comparison's baseline */
    struct psim_closed_form closed_form; /**< of the unit pipeline with this J and accumulation */
    double closed_form_s; /**< time per micro-batch on these stages without communication */
    double unit_s;        /**< seconds of one unit: the mean forward of a stage */
    int worst_stage;      /**< largest memory peak */
    int64_t peak_bytes_max, peak_bytes_sum; /**< -1 where the accounting cannot say */
    bool fits;                              /**< on every device; true in accounting "paper" */
    const char *bottleneck;                 /**< "stage 2 compute" and why */
    const char *note;                       /**< what the reader must know of this row; "" */
    double tag_share[PSIM_TAGS];
    struct psim_worth worth;
};

/** Everything a report prints. */
struct psim_comparison {
    const char *version, *simgrid_version, *inputs_sha256, *engine;
    uint64_t seed;
    /* The scenario as resolved, defaults filled in. */
    const char *scenario_file, *model, *platform, *precision, *optimizer, *partition, *accounting,
        *memory_check;
    int64_t microbatch, accumulation;
    int replicas, devices_per_stage; /**< copies of the pipeline; 0 is read as 1 */
    const char *collective;          /**< of their gradients; NULL: one copy */
    int64_t epoch_samples;           /**< 0: not given */
    int64_t tokens_per_sample;       /**< 0: not given */
    const char *const *placement;    /**< device names in stage order */
    int placement_count;
    int devices;          /**< of the platform */
    const char *baseline; /**< label */
    struct psim_result *results;
    int result_count;
    const char *const *assumptions; /**< one line each */
    int assumption_count;
    const char *const *notes; /**< surplus devices, rows that do not fit, ... */
    int note_count;
};

#endif

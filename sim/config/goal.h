/**
 * @file sim/config/goal.h
 * What a plan is asked for, as typed data: a space of plans, an objective, constraints.
 *
 * Filled by psim_goal_read from a plan/1 file and what it names; read by sim/plan.  A goal owns
 * everything it points to.
 */
#ifndef PSIM_CONFIG_GOAL_H
#define PSIM_CONFIG_GOAL_H

#include "sim/config/scenario.h"

enum psim_objective {
    PSIM_OBJECTIVE_FASTEST,         /**< most samples per second */
    PSIM_OBJECTIVE_CHEAPEST,        /**< least money a sample */
    PSIM_OBJECTIVE_FEWEST_GPUS,     /**< then the fastest of these */
    PSIM_OBJECTIVE_LARGEST_MODEL,   /**< most parameters, then the fastest of these */
    PSIM_OBJECTIVE_LARGEST_BATCH,   /**< largest micro-batch, then the fastest of these */
    PSIM_OBJECTIVE_LEAST_MEMORY,    /**< on the fullest device */
    PSIM_OBJECTIVE_LEAST_BANDWIDTH, /**< that the busiest boundary of two stages needs */
    PSIM_OBJECTIVE_LEAST_ENERGY,    /**< a sample */
    PSIM_OBJECTIVES
};

/** "fastest", "cheapest", ...; NULL at the end. */
extern const char *const psim_objective_names[];

enum psim_constraint {
    PSIM_CONSTRAINT_THROUGHPUT,    /**< at least so many samples per second */
    PSIM_CONSTRAINT_EPOCH_TIME,    /**< at most so many seconds an epoch */
    PSIM_CONSTRAINT_DEADLINE,      /**< at most so many seconds for all epochs */
    PSIM_CONSTRAINT_MEMORY,        /**< at most so many bytes on any device */
    PSIM_CONSTRAINT_COST,          /**< at most so many dollars for all epochs */
    PSIM_CONSTRAINT_ENERGY,        /**< at most so many joules for all epochs */
    PSIM_CONSTRAINT_POWER,         /**< at most so many watts on the mean */
    PSIM_CONSTRAINT_STALENESS,     /**< at most so many micro-batches on any stage */
    PSIM_CONSTRAINT_GPUS,          /**< at most so many devices */
    PSIM_CONSTRAINT_LEAST_SAMPLES, /**< at least so many samples per update */
    PSIM_CONSTRAINT_MOST_SAMPLES,  /**< at most so many samples per update */
    PSIM_CONSTRAINTS
};

/** Keys of "constraints", in the enum's order; NULL at the end. */
extern const char *const psim_constraint_names[];

/** A list of counts, in the order of the file. */
struct psim_axis {
    const int64_t *values; /**< [count]; NULL: not given */
    int count;
};

/** One network to be planned for. */
struct psim_goal_model {
    const struct psim_workload_model *model;
    const char *file; /**< of a model/1 file; NULL: else */
    const char *name; /**< catalogue name; NULL: else */
    int input[3], classes;
    struct psim_network_scale scale;
};

struct psim_goal_platform {
    struct psim_platform platform;
    struct psim_protocol protocol; /**< measured collectives of it */
    const char *file;              /**< as opened */
    const char *name;              /**< as the goal names it */
};

/** Memory to be kept free, as in psim_fit_reserve; NaN: not given. */
struct psim_goal_reserve {
    double context_bytes, communicator_bytes, optimizer_bytes, fragmentation;
};

struct psim_goal {
    /** Owns models and texts; its methods are those to plan with, its workload has precision and
     *  optimizer, its data_parallel the collective.  It has no platform and no model. */
    struct psim_scenario base;
    struct psim_goal_model *models;
    int model_count;
    struct psim_goal_platform *platforms;
    int platform_count;
    struct psim_axis stages, replicas, microbatches, accumulations;
    enum psim_objective objective;
    double limits[PSIM_CONSTRAINTS]; /**< NaN: none */
    int64_t epochs;                  /**< 0: not given; base.epoch_samples likewise */
    struct psim_goal_reserve reserve;
    int64_t runners_up;
};

/**
 * Reads and checks a goal and every file it names.  All faults are reported, not the first.
 * @param[out]    out   untouched unless the call succeeds; release with psim_goal_release
 * @param[in,out] list  receives errors and warnings
 */
enum psim_status psim_goal_read(const char *file, const struct psim_catalogue *catalogue,
                                struct psim_goal *out, struct psim_diagnostics *list) PSIM_CHECKED;
void psim_goal_release(struct psim_goal *goal);

#endif

/**
 * @file sim/model/spec.h
 * What a user asks to be trained and how it is to be cut, as plain data.
 *
 * Filled by sim/config; read by sim/program, which makes stages of it.  Owned by whoever filled
 * it.
 */
#ifndef PSIM_MODEL_SPEC_H
#define PSIM_MODEL_SPEC_H

#include "sim/base/precision.h"
#include "sim/model/network.h"

#include <stdbool.h>
#include <stdint.h>

struct psim_device;

enum psim_optimizer { PSIM_SGD, PSIM_SGD_MOMENTUM, PSIM_ADAM, PSIM_ADAMW };
extern const char *const psim_optimizer_names[]; /* "sgd", "sgd_momentum", "adam", "adamw", NULL */

enum psim_accounting { PSIM_ACCOUNTING_FULL, PSIM_ACCOUNTING_PAPER };
extern const char *const psim_accounting_names[]; /* "full", "paper", NULL */

/** A stage whose costs the user gives: per micro-batch, in bytes and seconds. */
struct psim_given_stage {
    const char *name;
    double forward_s, reconstruct_s, backward_input_s, backward_weight_s, update_s;
    int64_t parameter_bytes;
    int64_t input_bytes; /**< message received in the forward direction (a reversible stage's both
                            streams) */
    int64_t graph_bytes; /**< what a forward keeps for its backward */
    bool reversible;
    const struct psim_device *measured_on; /**< NULL: the times hold on every device */
};

/** Either a network of layers or stages with given costs. */
struct psim_workload_model {
    const char *name;
    const struct psim_network *network;   /**< NULL for given stages */
    const struct psim_given_stage *given; /**< [given_count], `repeat` already unrolled */
    int given_count;
    int64_t output_bytes; /**< given stages: of the last one's output; informative */
};

enum psim_partition_kind { PSIM_PARTITION_PER_BLOCK, PSIM_PARTITION_BALANCED, PSIM_PARTITION_LIST };

struct psim_workload_options {
    int64_t microbatch; /**< samples */
    enum psim_precision precision;
    enum psim_optimizer optimizer;
    enum psim_partition_kind partition;
    const int *partition_list; /**< blocks (or given stages) per stage, sums to the model's */
    int partition_count;
    const int *placement; /**< platform device of each stage; NULL: in order */
    int placement_count;
};

#endif

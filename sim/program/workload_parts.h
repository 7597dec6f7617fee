/**
 * @file sim/program/workload_parts.h
 * Inside of psim_workload_build: what is known of the units before and after they are cut.
 *
 * A unit is a block of a network or a given stage: what no stage boundary cuts.  A slot is the i-th
 * device in the order of placement, which stage i gets.  A column is one type of device, so that
 * equal devices share one row of costs.
 *
 * Private to sim/program/workload*.c: workload.c makes costs and cuts, workload_partition.c
 * balances, workload_stage.c adds up units to stages, workload_tags.c tells where costs are from.
 */
#ifndef PSIM_PROGRAM_WORKLOAD_PARTS_H
#define PSIM_PROGRAM_WORKLOAD_PARTS_H

#include "sim/cost/work.h"
#include "sim/program/workload.h"

struct psim_unit_cost {
    double forward_s, reconstruct_s, backward_input_s, backward_weight_s, update_s;
    double forward_flop, backward_flop; /**< NaN with given costs */
    double kind_s[PSIM_WORK_KINDS];     /**< forward and backward, by kind of work; 0 if given */
};

struct psim_cut {
    const struct psim_workload_model *model;
    const struct psim_platform *platform;
    const struct psim_workload_options *options;
    int units, slots, stages;
    int *slot_columns;                  /**< [slots] */
    const struct psim_device **columns; /**< [column_count], devices */
    int column_count;
    struct psim_unit_cost *costs; /**< [column_count][units] */
    int *bounds;                  /**< [stages + 1]: stage i holds units bounds[i] .. */
};

/** Index into platform->devices of a slot. */
int psim_cut_device(const struct psim_cut *cut, int slot);

const struct psim_unit_cost *psim_cut_cost(const struct psim_cut *cut, int stage, int unit);

/**
 * The cut into `stages` non-empty runs of units whose longest is as short as possible.
 *
 * @param[in]  prefix  prefix[s][i] = time of units 0 .. i-1 on stage s's device; [stages][units +
 * 1]
 * @param[out] bounds  [stages + 1]
 */
enum psim_status psim_partition_balance(const double *const *prefix, int units, int stages,
                                        int *bounds, struct psim_error *err) PSIM_CHECKED;

/** Fills stages[stage] from its units; the name goes to the arena. */
enum psim_status psim_stage_fill(const struct psim_cut *cut, int stage, struct psim_arena *arena,
                                 struct psim_stage *out, struct psim_error *err) PSIM_CHECKED;

/** Fills tag_share and assumed. */
enum psim_status psim_workload_tags(const struct psim_cut *cut, struct psim_workload *workload,
                                    struct psim_error *err) PSIM_CHECKED;

#endif

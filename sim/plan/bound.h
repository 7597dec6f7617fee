/**
 * @file sim/plan/bound.h
 * What no run of a plan can beat: bounds on time and memory from the order of work alone.
 *
 * Called by sim/plan/plan*.c to discard plans without simulating them.  A method's steps at a
 * stage are read once, as counts (psim_order); bounds of many plans follow from them by arithmetic.
 * The proofs are in docs/model.md, eq. 33 to 38: no simulated figure, of either engine, is below.
 *
 * Does not know: goals, JSON.
 */
#ifndef PSIM_PLAN_BOUND_H
#define PSIM_PLAN_BOUND_H

#include "sim/plan/fit.h"

#define PSIM_ORDER_KINDS    8
#define PSIM_ORDER_INSTANTS 12

/** Steps of one kind: the passes of their one or two actions, and how many there are. */
struct psim_order_kind {
    unsigned passes[2]; /**< the second is 0 for a single action */
    int64_t count;
    int64_t after; /**< of these, from the first step with a backward on */
};

/** What stands at one stage while an action runs, whatever the dates. */
struct psim_order_instant {
    unsigned passes;
    enum psim_keep keep;    /**< of the action's micro-batch; not of an update */
    int64_t graphs, inputs; /**< kept for other micro-batches, or its own before a backward */
    int64_t rebuilt;        /**< graphs rebuilt before, whose backward is still to come */
    int64_t versions;       /**< old parameters */
};

struct psim_order_stage {
    struct psim_order_kind kinds[PSIM_ORDER_KINDS];
    int kind_count;
    struct psim_order_instant instants[PSIM_ORDER_INSTANTS];
    int instant_count;
    int64_t backwards; /**< in what `kinds` counts: a flushed step, else one update's worth */
    int64_t held;      /**< most micro-batches from the start of forward to the end of backward */
    /** From the forward of micro-batch `low_from` on, at least so many are in flight whenever a
     * step with a forward ends. */
    int64_t low, low_from;
    bool starts_forward; /**< the first step has a forward */
    unsigned backward;   /**< passes common to all actions with a backward */
};

/** A method's order of work on one shape. */
struct psim_order {
    int stages;
    bool flushes;
    struct psim_order_stage *stage; /**< [stages] */
};

/**
 * Reads the order of a method.
 * @param[in]  shape  stages, accumulation, options and reversible as for the method's step()
 * @return PSIM_OK; PSIM_ERR_UNSUPPORTED when a stage has more kinds of steps than are counted
 *         here; PSIM_ERR_NOMEM
 */
enum psim_status psim_order_read(const struct psim_method *method, const struct psim_shape *shape,
                                 struct psim_order *out, struct psim_error *err) PSIM_CHECKED;
void psim_order_release(struct psim_order *order);

/** Seconds that one message takes alone to the next stage, and back: [stages - 1]. */
struct psim_bound_hop {
    double forward_s, backward_s;
};

/** What a bound is computed from; everything is borrowed. */
struct psim_bound_input {
    const struct psim_order *order;
    const struct psim_method *method;
    enum psim_overlap overlap;
    int64_t accumulation;
    const struct psim_shape *shape;    /**< as the method sees it */
    struct psim_stage_times *times;    /**< [stages], written to; for the method's closed form */
    const struct psim_stage *stages;   /**< [stages] */
    const double *gains;               /**< [stages], concurrency gain of each device */
    const struct psim_bound_hop *hops; /**< [stages - 1] */
    const double *sync_s;              /**< [stages], least time of an all-reduce; NULL: 0 */
    bool sends_activation_back;
    bool sends; /**< a communicator is there */
    int element_bytes;
    const struct psim_fit_reserve *reserve;
};

/** Seconds per micro-batch that no run is below. */
double psim_bound_time(const struct psim_bound_input *input);

/** Need over capacity of the tightest device that no run is below; *needed_bytes becomes the
 *  largest device's need that none is below.  Above 1: it does not fit. */
double psim_bound_memory(const struct psim_bound_input *input, int64_t *needed_bytes);

#endif

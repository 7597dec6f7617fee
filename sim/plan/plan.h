/**
 * @file sim/plan/plan.h
 * The best plan of a space, by objective and constraints; why nothing fits where nothing does.
 *
 * Called by sim/cli (`plan`), benchmarks and tests.  A plan is a network, a platform with the
 * devices used, a method, a number of stages and copies, a micro-batch and an accumulation.  Every
 * plan is either discarded by a bound that is proved (sim/plan/bound.h) or replayed; what is
 * reported was also run by the simgrid engine.  The answer does not depend on what was discarded.
 *
 * Does not know: JSON, options of the command line.
 */
#ifndef PSIM_PLAN_PLAN_H
#define PSIM_PLAN_PLAN_H

#include "sim/config/goal.h"
#include "sim/plan/fit.h"

/** The device's own memory, a limit beside those of a goal. */
#define PSIM_LIMIT_CAPACITY PSIM_CONSTRAINTS
#define PSIM_LIMITS         (PSIM_CONSTRAINTS + 1)

/** What a plan comes to; NaN where it is not known.  Of a bound: what no run is below. */
struct psim_plan_figures {
    double seconds_per_sample, usd_per_sample, joule_per_sample, power_w;
    double memory_bytes;          /**< of the fullest device, as the system sees it */
    double fill;                  /**< need over capacity of the tightest device */
    double bandwidth_bytes_per_s; /**< mean over the busiest boundary of stages, both ways */
    double staleness;
    double gpus, parameters, microbatch, samples_per_update;
};

struct psim_plan_point {
    int model, platform, method; /**< indices into the goal */
    int arrangement;             /**< of the platform's devices; see psim_arrangement */
    int stages, replicas;
    bool replicas_first; /**< the copies of a stage are neighbours */
    int64_t microbatch, accumulation;
    struct psim_plan_figures bound;
    int evaluation; /**< index into evaluations, -1: not replayed */
};

struct psim_plan_evaluation {
    struct psim_plan_figures replayed, confirmed;
    bool is_confirmed;
    const char *error;      /**< NULL; why one of the engines gave nothing */
    const char *bottleneck; /**< as the last engine that ran says it */
    const char *price_date; /**< "" */
};

/** An order of a platform's devices: as they come, or type by type. */
struct psim_arrangement {
    const int *devices; /**< [device_count]; NULL: as they come */
    const char *name;   /**< "in order", "A100 then V100" */
};

struct psim_plan_platform {
    struct psim_arrangement *arrangements;
    int arrangement_count;
    double *in_bytes_per_s; /**< [device_count], sum over the links of a device */
    double *usd_per_hour;   /**< [device_count + 1], of the first so many devices; NaN: not known */
};

struct psim_plan_counts {
    int64_t plans;       /**< in the space */
    int64_t unsupported; /**< the method cannot run on the network or devices */
    int64_t over_memory; /**< discarded by the bound on memory */
    int64_t over_limit;  /**< by a bound against a constraint */
    int64_t replayed;
    int64_t dominated; /**< by a bound against plans already found */
    int64_t confirmed;
};

struct psim_plan {
    struct psim_arena arena;
    const struct psim_goal *goal; /**< borrowed */
    struct psim_fit_reserve reserve;
    struct psim_plan_platform *platforms;
    struct psim_plan_point *points;
    int64_t point_count, point_capacity;
    struct psim_plan_evaluation *evaluations;
    int64_t evaluation_count, evaluation_capacity;
    struct psim_plan_counts counts;
    const char *unsupported; /**< the first reason; "" for none */
    bool exhaustive;
    /* The answer: indices of points. */
    int64_t *best; /**< best plan, runners-up */
    int best_count;
    int64_t *best_of_method; /**< [base.method_count], -1: none */
    int64_t *front;          /**< by time; every plan is within 10 % of one of these in
                                  all costs, or more where there would be many of them */
    int front_count;
    int64_t *by_gpus; /**< the fastest plan of each number of devices, rising; by replay alone */
    int by_gpus_count;
    int64_t nearest;            /**< where nothing is feasible, -1: none */
    bool conflict[PSIM_LIMITS]; /**< a minimal set of limits that no plan meets together */
};

struct psim_plan_options {
    int workers;
    bool exhaustive; /**< replay everything instead of discarding by bounds */
    bool confirm;    /**< run what is reported by the simgrid engine */
};

/**
 * @param[out] out  released with psim_plan_release; untouched on failure
 * @return PSIM_OK whether or not a plan is feasible; PSIM_ERR_RANGE when the space is empty or has
 *         more than PSIM_PLAN_POINTS_MAX plans; PSIM_ERR_NOMEM; PSIM_ERR_CHILD
 */
enum psim_status psim_plan_run(const struct psim_goal *goal,
                               const struct psim_plan_options *options, struct psim_plan *out,
                               struct psim_error *err) PSIM_CHECKED;
void psim_plan_release(struct psim_plan *plan);

#define PSIM_PLAN_POINTS_MAX INT64_C(20000000)

/** Value of a limit's figure, and how far it is beyond the limit, relatively: 0 where it is met,
 *  infinite where the figure is not known. */
double psim_plan_value(const struct psim_goal *goal, const struct psim_plan_figures *figures,
                       int limit);
double psim_plan_violation(const struct psim_goal *goal, const struct psim_plan_figures *figures,
                           int limit);

/** True when a goal sets a limit; the devices' capacity always is one. */
bool psim_plan_limits(const struct psim_goal *goal, int limit);

/** True when a replayed plan meets every limit, by the figures that count. */
bool psim_plan_is_feasible(const struct psim_plan *plan, int64_t point);

/** The figures that count: those of simgrid where it ran, else of replay. */
const struct psim_plan_figures *psim_plan_figures_of(const struct psim_plan *plan, int64_t point);

/* ---- Private to sim/plan/plan*.c ---- */

/** Fills what is known of a platform before any plan; false when memory is out. */
bool psim_plan_prepare_platform(struct psim_plan *plan, int platform);

/** What the first so many devices of a platform cost an hour; NaN: not known. */
double psim_plan_price(struct psim_plan *plan, int platform, int devices);

/** Type of a platform's device. */
int psim_plan_device_type(const struct psim_platform *platform, int device);

/** Enumerates the space and bounds every plan. */
enum psim_status psim_plan_space(struct psim_plan *plan, struct psim_error *err) PSIM_CHECKED;

/** A plan as a scenario; `placement` has room for its stages.  Borrows from goal and plan. */
struct psim_scenario psim_plan_scenario(const struct psim_plan *plan,
                                        const struct psim_plan_point *point, int *placement,
                                        struct psim_scenario_method *method);

/** Replays a plan unless that was done before. */
enum psim_status psim_plan_replay(struct psim_plan *plan, int64_t point,
                                  struct psim_error *err) PSIM_CHECKED;

/** Runs plans by the simgrid engine, `workers` at a time. */
enum psim_status psim_plan_confirm(struct psim_plan *plan, const int64_t *points, int count,
                                   int workers, struct psim_error *err) PSIM_CHECKED;

/** Finds best plans, the best of each method, the front, or what stands in the way. */
enum psim_status psim_plan_search(struct psim_plan *plan, struct psim_error *err) PSIM_CHECKED;

/** Finds the fastest plan of each number of devices, by what is known so far; none where nothing is
 *  feasible. */
enum psim_status psim_plan_search_gpus(struct psim_plan *plan, struct psim_error *err) PSIM_CHECKED;

/** The objective of a plan, smaller is better, compared in turn. */
void psim_plan_key(const struct psim_plan *plan, const struct psim_plan_figures *figures,
                   double key[3]);

/** True when all platforms have prices; else money is counted as seconds of a GPU. */
bool psim_plan_is_priced(const struct psim_plan *plan);

/** Everything as a report; texts in plan->arena. */
enum psim_status psim_plan_report(struct psim_plan *plan, struct psim_sheet_report *out,
                                  struct psim_error *err) PSIM_CHECKED;

/** A plan as the text of a scenario/1 file. */
enum psim_status psim_plan_scenario_text(const struct psim_plan *plan, int64_t point,
                                         struct psim_text *out,
                                         struct psim_error *err) PSIM_CHECKED;

#endif

/**
 * @file sim/platform/conditions.h
 * What real clusters do beside what their data sheets say: slow devices, jitter, stragglers,
 * slow links, failures.  Off unless a scenario asks for it.
 *
 * Filled by sim/config; read by sim/engine.  Random numbers are counter-based: the same seed gives
 * the same run, whatever the engine or the number of workers.
 */
#ifndef PSIM_PLATFORM_CONDITIONS_H
#define PSIM_PLATFORM_CONDITIONS_H

#include <stdbool.h>
#include <stdint.h>

enum psim_condition_kind {
    PSIM_CONDITION_DEVICE_SPEED,   /**< index: platform device; factor: of its speed */
    PSIM_CONDITION_LINK_BANDWIDTH, /**< index: platform link; factor: of its bandwidth */
    PSIM_CONDITION_DEVICE_FAILS,   /**< at from_s the run ends */
    PSIM_CONDITION_LINK_FAILS,
};

struct psim_condition {
    enum psim_condition_kind kind;
    int index;
    double from_s, until_s; /**< from_s < until_s; a failure looks at from_s only */
    double factor;          /**< in (0, 1000] */
};

struct psim_conditions {
    double jitter;       /**< sigma of the log-normal factor of each pass, mean 1; 0: none */
    const double *speed; /**< [platform devices], factors > 0; NULL: all 1 */
    const struct psim_condition *events;
    int event_count;
    int64_t updates; /**< simulate so many optimizer updates from a cold start; 0: the
                          steady state */
    uint64_t seed;
};

/** Product of the factors of one kind that hold for `index` at a moment; 1 when none does. */
double psim_conditions_factor(const struct psim_conditions *conditions,
                              enum psim_condition_kind kind, int index, double at_s);

/** The next moment after `at_s` at which a factor of this kind changes; INFINITY: none. */
double psim_conditions_next_change(const struct psim_conditions *conditions,
                                   enum psim_condition_kind kind, double at_s);

/** Log-normal factor with mean 1 for one piece of work, named by three numbers. */
double psim_conditions_jitter(const struct psim_conditions *conditions, uint32_t stage,
                              int64_t microbatch, uint32_t what);

#endif

/**
 * @file sim/engine/executor.h
 * Runs a program on a clock: dependencies, messages, memory events, what is measured.
 *
 * Shared by all engines, so that a method behaves the same under each.  Memory grows with the
 * micro-batches in flight, not with those simulated.
 *
 * Does not know: SimGrid, heaps.
 */
#ifndef PSIM_ENGINE_EXECUTOR_H
#define PSIM_ENGINE_EXECUTOR_H

#include "sim/engine/clock.h"
#include "sim/program/account.h"
#include "sim/program/program.h"

struct psim_executor;

/** Observer of what runs; any member may be NULL.  Times in simulated seconds. */
struct psim_observer {
    void *user;
    void (*action)(void *user, int stage, int slot, const struct psim_action *action,
                   double start_s, double end_s);
    void (*transfer)(void *user, int hop, int direction, int64_t microbatch, double start_s,
                     double end_s);
    psim_account_observer *memory;
};

/** `program`, `clock` and `observer` (may be NULL) are borrowed until psim_executor_free. */
enum psim_status psim_executor_new(const struct psim_program *program,
                                   const struct psim_clock *clock,
                                   const struct psim_observer *observer, struct psim_executor **out,
                                   struct psim_error *err) PSIM_CHECKED;
void psim_executor_free(struct psim_executor *executor);

/** Starts what can start at time 0. */
void psim_executor_start(struct psim_executor *executor);

/** The engine's call when the work or message of `token` is over. */
void psim_executor_complete(struct psim_executor *executor, uint64_t token);

/** True once everything that was to be measured has been, or the run has failed. */
bool psim_executor_done(const struct psim_executor *executor);

/**
 * Writes what was measured.  Called once, after the engine has returned.
 * @param[out] out  stages are allocated; psim_simulation_release
 */
enum psim_status psim_executor_result(struct psim_executor *executor, struct psim_simulation *out,
                                      struct psim_error *err) PSIM_CHECKED;

#endif

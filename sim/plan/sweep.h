/**
 * @file sim/plan/sweep.h
 * Runs the points of a sweep that have no results yet and keeps what they come to.
 *
 * Called by sim/cli, which says how a scenario is simulated.  Results do not depend on how many
 * work at a time, where, or in which order they end.
 */
#ifndef PSIM_PLAN_SWEEP_H
#define PSIM_PLAN_SWEEP_H

#include "sim/config/axes.h"
#include "sim/plan/store.h"

#include <signal.h>

/** What a worker does. */
struct psim_sweep_task {
    const struct psim_sweep *sweep;
    const struct psim_catalogue *catalogue;
    /**
     * Simulates a scenario and adds a row or a failure per method to the record, in the order of
     * the scenario; called in a process of its own.
     * @param[in,out] list  receives why the scenario cannot be simulated
     * @return PSIM_OK; the status of an input that cannot be simulated, with a reason in the list;
     *         another failure, with the reason in err
     */
    enum psim_status (*run)(const void *context, const struct psim_scenario *scenario,
                            struct psim_sweep_record *record, struct psim_diagnostics *list,
                            struct psim_error *err);
    const void *context;
};

/** A part of the points for one of several jobs: those with point % count == index. */
struct psim_sweep_shard {
    int64_t index, count; /**< index in [0, count) */
};

struct psim_sweep_counts {
    int64_t total;           /**< of the shard */
    int64_t before;          /**< had results when the sweep started */
    int64_t done;            /**< have results now */
    int64_t failed, invalid; /**< of those that this run did */
};

struct psim_sweep_options {
    int workers; /**< 1 or more; under MPI the ranks count instead */
    bool ranks;  /**< the workers are the other ranks */
    struct psim_sweep_shard shard;
    const volatile sig_atomic_t *stop; /**< not 0: end now; points under way are dropped */
    /** Called after each commit and at least twice a second; may be NULL. */
    void (*progress)(void *context, const struct psim_sweep_counts *counts);
    void *context;
};

/**
 * Runs every point of the shard that the store has not.
 *
 * Each point is committed before it is counted as done.  A point whose worker dies is kept as
 * failed with the cause, one whose values do not go together as invalid; the rest goes on.
 *
 * @param[out] counts  filled whether the call succeeds or not
 * @return PSIM_OK, also when `stop` ended it; PSIM_ERR_IO when a commit failed
 */
enum psim_status psim_sweep_run(const struct psim_sweep_task *task, struct psim_store *store,
                                const struct psim_sweep_options *options,
                                struct psim_sweep_counts *counts,
                                struct psim_error *err) PSIM_CHECKED;

/** The `run` of a task that simulates as `compare` does; its context is the name of the engine that
 *  overrides the scenario's, or NULL. */
enum psim_status psim_sweep_simulate(const void *engine, const struct psim_scenario *scenario,
                                     struct psim_sweep_record *record,
                                     struct psim_diagnostics *list, struct psim_error *err);

/* ---- Under mpirun -------------------------------------------------------------------------- */

/** True when this build has MPI. */
bool psim_mpi_is_built(void);

/** Starts MPI.  @return PSIM_ERR_UNSUPPORTED where the build has none */
enum psim_status psim_mpi_begin(int *rank, int *size, struct psim_error *err) PSIM_CHECKED;

/**
 * All ranks say whether they are ready and what they have read.
 * @return true on every rank when all are ready with the hash of rank 0
 */
bool psim_mpi_agree(bool ready, const char inputs_sha256[65]);

/** What ranks other than 0 do: points until rank 0 sends them home. */
enum psim_status psim_mpi_work(const struct psim_sweep_task *task,
                               struct psim_error *err) PSIM_CHECKED;

void psim_mpi_end(void);

#endif

/**
 * @file sim/engine/engine.h
 * Runs a program and returns what was measured.
 *
 * Called by sim/cli, sim/plan and benchmarks.  Results do not depend on how many run at once.
 */
#ifndef PSIM_ENGINE_ENGINE_H
#define PSIM_ENGINE_ENGINE_H

#include "sim/engine/executor.h"
#include "sim/engine/flows.h"

/** One way of advancing simulated time. */
struct psim_engine {
    const char *name, *summary;
    /**
     * Runs to the end of the measured window.
     * @param[in]  observer  may be NULL
     * @param[out] out       release with psim_simulation_release; untouched on failure
     */
    enum psim_status (*run)(const struct psim_program *program,
                            const struct psim_observer *observer, struct psim_simulation *out,
                            struct psim_error *err);
    /** Runs messages alone, in a child of its own where it needs one: psim_flows_run or _replay. */
    enum psim_status (*run_flows)(const struct psim_platform *platform, struct psim_flow *flows,
                                  int count, struct psim_error *err);
    bool needs_child; /**< state of the engine is once per process: run it in a child */
};

/** Binary heap, no contention: a transfer takes latency + bytes / bandwidth whatever else runs. */
extern const struct psim_engine psim_engine_replay;

/** SimGrid: transfers share links (max-min), kernels share devices. */
extern const struct psim_engine psim_engine_simgrid;

/** "simgrid" or "replay"; NULL when there is none of that name. */
const struct psim_engine *psim_engine_find(const char *name);

/** Version of the SimGrid library in use, such as "3.32"; static text. */
const char *psim_engine_simgrid_version(void);

/**
 * As engine->run, in a forked child if the engine needs one.  A child that dies is
 * PSIM_ERR_CHILD with the signal or exit status in err.
 */
enum psim_status psim_engine_run(const struct psim_engine *engine,
                                 const struct psim_program *program,
                                 const struct psim_observer *observer, struct psim_simulation *out,
                                 struct psim_error *err) PSIM_CHECKED;

/** One simulation of a batch. */
struct psim_job {
    const struct psim_program *program;
    struct psim_simulation simulation; /**< set when status is PSIM_OK */
    enum psim_status status;
    struct psim_error error;
};

/**
 * Runs all jobs, at most `workers` at a time (1 or more), each in a forked child.  The results
 * are the same whatever `workers` is.
 * @return PSIM_OK when every job has its own status; PSIM_ERR_NOMEM or PSIM_ERR_IO when none ran
 */
enum psim_status psim_engine_run_all(const struct psim_engine *engine, struct psim_job *jobs,
                                     int count, int workers, struct psim_error *err) PSIM_CHECKED;

#endif

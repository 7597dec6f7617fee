/**
 * @file sim/plan/sweep_crew.h
 * Who runs the points of a sweep: processes on this machine, or ranks under mpirun.
 *
 * Private to sim/plan, but for the MPI part, which sim/cli starts and ends.  A crew takes a point a
 * worker at a time and gives back records (sweep_record.h).  A worker that dies gives a record that
 * says so, and there is a new one for its next point.
 */
#ifndef PSIM_PLAN_SWEEP_CREW_H
#define PSIM_PLAN_SWEEP_CREW_H

#include "sim/plan/sweep.h"

/** Takes one answer of a worker, which is idle then; bytes are borrowed. */
typedef enum psim_status psim_crew_take(void *context, int worker, const char *bytes, size_t length,
                                        struct psim_error *err);

struct psim_crew {
    void *own;
    int workers;
    /** Hands a point to a worker that is idle. */
    enum psim_status (*start)(struct psim_crew *crew, int worker, int64_t point,
                              struct psim_error *err);
    /** Waits at most so long for answers and takes all that are there. */
    enum psim_status (*wait)(struct psim_crew *crew, int timeout_ms, psim_crew_take *take,
                             void *context, struct psim_error *err);
    /** Sends everybody home; with `at_once` in the middle of a point too. */
    void (*end)(struct psim_crew *crew, bool at_once);
};

/** Forked processes.  @param[out] out  ended with its `end` */
enum psim_status psim_pool_begin(const struct psim_sweep_task *task, int workers,
                                 struct psim_crew *out, struct psim_error *err) PSIM_CHECKED;

/** The other ranks, as rank 0 sees them; each has one process of its own for a point. */
enum psim_status psim_ranks_begin(struct psim_crew *out, struct psim_error *err) PSIM_CHECKED;

#endif

/**
 * @file sim/engine/monitor.h
 * Decides when an endless pipeline is in its steady state, and what window to measure.
 *
 * Fed with the end of every forward and backward.  After a warm-up it looks for the shortest
 * number of micro-batches q, a multiple of the optimizer's, after which the first stage's
 * backwards repeat.  Then the window opens, and the candidate is put to the proof: over at least
 * 2 J more rounds every forward and backward of every stage must end exactly as much later than
 * its predecessor q micro-batches before.  Nothing in a pipeline looks back further than 2 J
 * rounds, so what passes goes on for ever (docs/model.md section "Steady state").  What fails is
 * looked at again after twice as long; a pipeline that shows no period within the limit is
 * measured over its last stretch, and says so.
 */
#ifndef PSIM_ENGINE_MONITOR_H
#define PSIM_ENGINE_MONITOR_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum psim_monitor_event {
    PSIM_MONITOR_GO_ON,
    PSIM_MONITOR_WINDOW_OPENS, /**< the window starts now; an earlier one is forgotten */
    PSIM_MONITOR_WINDOW_ENDS,  /**< measured: stop */
    PSIM_MONITOR_FAILED        /**< out of memory */
};

struct psim_monitor {
    int stages;
    int64_t base;      /**< micro-batches per update: periods are multiples of it */
    int64_t next_look; /**< backwards after which to look for a period */
    int64_t limit;     /**< stop looking after so many */
    double *ends_s;    /**< end of backward n at the first stage */
    int64_t count, capacity;
    int64_t opens, ends; /**< window: after this many backwards; -1 while not known */
    bool steady;
    /* The proof: dates of the last `period` micro-batches, every `stride`-th, of each stage. */
    int64_t period, stride;
    double step_s;      /**< a period's length */
    double *proof_s;    /**< [stages][2][period / stride + 1]; NaN: not seen yet */
    int64_t proof_room; /**< entries of one stage and direction */
    bool refuted;
};

/** @param stages J; the warm-up is 4 J rounds or more. */
void psim_monitor_init(struct psim_monitor *monitor, int stages, int64_t base);

/** Ends the search after the stretch has doubled so many times instead of 7. */
void psim_monitor_hurry(struct psim_monitor *monitor, int looks);

/** No search: the window is the first `backwards` backwards of the first stage. */
void psim_monitor_fix(struct psim_monitor *monitor, int64_t backwards);
void psim_monitor_release(struct psim_monitor *monitor);

/** A forward (backward false) or backward of a stage has ended. */
void psim_monitor_end(struct psim_monitor *monitor, int stage, bool backward, int64_t microbatch,
                      double now_s);

/** A backward of the first stage has ended; comes after psim_monitor_end for it. */
enum psim_monitor_event psim_monitor_backward(struct psim_monitor *monitor, double now_s);

#endif

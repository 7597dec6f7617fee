/**
 * @file sim/engine/monitor.h
 * Decides when an endless pipeline is in its steady state, and what window to measure.
 *
 * Fed with the end of every backward of the first stage.  After a warm-up it looks for the
 * shortest number of micro-batches, a multiple of the optimizer's, after which the intervals
 * repeat; then a window of whole periods is measured.  A pipeline that shows no period within
 * the limit is measured over its last stretch, and says so (docs/model.md section "Steady
 * state").
 */
#ifndef PSIM_ENGINE_MONITOR_H
#define PSIM_ENGINE_MONITOR_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum psim_monitor_event {
    PSIM_MONITOR_GO_ON,
    PSIM_MONITOR_WINDOW_OPENS, /**< the window starts now */
    PSIM_MONITOR_WINDOW_ENDS,  /**< measured: stop */
    PSIM_MONITOR_FAILED        /**< out of memory */
};

struct psim_monitor {
    int64_t base;      /**< micro-batches per update: periods are multiples of it */
    int64_t next_look; /**< backwards after which to look for a period */
    int64_t limit;     /**< stop looking after so many */
    double *ends_s;    /**< end of backward n at the first stage */
    int64_t count, capacity;
    int64_t opens, ends; /**< window: after this many backwards; -1 while not known */
    bool steady;
};

/** @param stages J; the warm-up is 4 J rounds or more. */
void psim_monitor_init(struct psim_monitor *monitor, int stages, int64_t base);
void psim_monitor_release(struct psim_monitor *monitor);

/** A backward of the first stage has ended. */
enum psim_monitor_event psim_monitor_backward(struct psim_monitor *monitor, double now_s);

#endif

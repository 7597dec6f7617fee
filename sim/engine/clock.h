/**
 * @file sim/engine/clock.h
 * What an engine offers the executor: simulated time, timers, messages on routes.
 *
 * Two engines fill it: replay (replay.c, no contention) and simgrid (simgrid.c).  Each calls
 * psim_executor_complete() with the token of what is over.
 */
#ifndef PSIM_ENGINE_CLOCK_H
#define PSIM_ENGINE_CLOCK_H

#include <stdint.h>

struct psim_clock {
    void *self;
    /** After `delay_s` >= 0. */
    void (*timer)(void *self, double delay_s, uint64_t token);
    /** Message over hop `hop` (between stages hop and hop + 1), direction 0 forward, 1 back. */
    void (*transfer)(void *self, int hop, int direction, uint64_t token);
    /** Message of the gradients' all-reduce: program->sync_flows[flow]. */
    void (*sync)(void *self, int flow, uint64_t token);
    /** From now on a platform link has `factor` of its bandwidth; an engine that knows the
     *  conditions beforehand ignores it. */
    void (*set_link)(void *self, int link, double factor);
    double (*now)(void *self);
};

#endif

/**
 * @file sim/engine/clock.h
 * What an engine offers the executor: simulated time, work on devices, messages on routes.
 *
 * Two engines fill it: replay (replay.c, no contention) and simgrid (simgrid.c).  Each calls
 * psim_executor_complete() when something that was started is over.
 */
#ifndef PSIM_ENGINE_CLOCK_H
#define PSIM_ENGINE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct psim_clock {
    void *self;
    /** Work on the device of `stage` that takes `seconds` alone.  `shared`: it may have to share
     *  the device with one other such work, each then at (1+g)/2 speed. */
    void (*compute)(void *self, int stage, double seconds, bool shared, uint32_t token);
    /** Message over hop `hop` (between stages hop and hop + 1), direction 0 forward, 1 back. */
    void (*transfer)(void *self, int hop, int direction, uint32_t token);
    double (*now)(void *self);
};

#endif

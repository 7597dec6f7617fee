/**
 * @file sim/engine/device_state.h
 * One device with at most two works at once: who runs, how fast, what ends next.
 *
 * One work alone runs at the device's speed; two at once at (1+g)/2 of it each, with g = 1 where
 * they are taken not to disturb each other (docs/model.md eq. 3).  The speed may change while they
 * run.  Time is the caller's; the caller asks for the next end after every change and sets a
 * timer; `generation` tells which timers are out of date.
 */
#ifndef PSIM_ENGINE_DEVICE_STATE_H
#define PSIM_ENGINE_DEVICE_STATE_H

#include <stdbool.h>
#include <stdint.h>

struct psim_device_state {
    double left_s[2]; /* seconds of work to do, alone and at speed 1 */
    bool runs[2];
    double since_s; /* left_s is as of then */
    double speed;   /* > 0 */
    double gain;    /* g, in [0, 1] */
    uint32_t generation;
};

/** Takes what was done up to now off what is left. */
void psim_device_advance(struct psim_device_state *device, double now_s);

/** A work of `seconds` > 0 starts in a free slot (0 or 1). */
void psim_device_start(struct psim_device_state *device, int slot, double seconds, double now_s);

/** The slot that ends next and the seconds until then; false when nothing runs. */
bool psim_device_next_end(const struct psim_device_state *device, int *slot, double *delay_s);

/** The work of a slot is over. */
void psim_device_finish(struct psim_device_state *device, int slot, double now_s);

void psim_device_set_speed(struct psim_device_state *device, double speed, double now_s);

#endif

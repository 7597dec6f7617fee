/**
 * @file sim/plan/steady.h
 * The replay engine with the middle of a flushed step left out where that is exact.
 *
 * A flushed step of many micro-batches is replayed with fewer once the end of every forward and
 * every backward of every stage has come one and the same period after that of the micro-batch
 * before, for more micro-batches than any date depends on; the rest of them are counted
 * (docs/model.md eq. 39).  Where dates do not repeat so, and for endless methods, which do this by
 * themselves, it is the replay engine.
 *
 * Called by sim/plan and benchmarks.
 */
#ifndef PSIM_PLAN_STEADY_H
#define PSIM_PLAN_STEADY_H

#include "sim/engine/engine.h"

/** Named "replay", since it gives what that gives, to rounding. */
extern const struct psim_engine psim_engine_steady;

#endif

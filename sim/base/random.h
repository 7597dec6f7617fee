/**
 * @file sim/base/random.h
 * Counter-based random numbers: the same for the same seed and counter, on every machine.
 *
 * Called by the jitter of conditions, by starting values of parameters and by tests.  Philox 2x64
 * with 10 rounds.  Source: Salmon et al., SC '11, doi:10.1145/2063384.2063405.
 */
#ifndef PSIM_BASE_RANDOM_H
#define PSIM_BASE_RANDOM_H

#include <stdint.h>

/** Two independent numbers for (seed, high, low); high and low say what they are for. */
void psim_random_bits(uint64_t seed, uint64_t low, uint64_t high, uint64_t out[2]);

/** In (0, 1), from the upper 52 bits: never the ends, whose logarithm is infinite. */
double psim_random_unit(uint64_t bits);

#endif

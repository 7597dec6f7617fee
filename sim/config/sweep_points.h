/**
 * @file sim/config/sweep_points.h
 * Trying the values of a sweep that is being read.
 *
 * Private to sim/config.
 */
#ifndef PSIM_CONFIG_SWEEP_POINTS_H
#define PSIM_CONFIG_SWEEP_POINTS_H

#include "sim/config/axes.h"
#include "sim/config/reader.h"

/** Reads every value of every axis once, with the first values of the others; reports what is
 *  wrong with it and fills the hash of the inputs. */
void psim_sweep_try_values(struct psim_reader *reader, struct psim_sweep *sweep);

#endif

/**
 * @file sim/cli/recording.h
 * What happened when: memory over time as CSV, passes and messages as a Perfetto/Chrome trace.
 *
 * Called after the report has been written, when --timeline or --trace asks for it: every row is
 * simulated once more with an observer, one after the other.
 */
#ifndef PSIM_CLI_RECORDING_H
#define PSIM_CLI_RECORDING_H

#include "sim/cli/cli.h"
#include "sim/plan/study.h"

/** Writes the files asked for, each whole or not at all; prints what went wrong. */
enum psim_exit psim_recording_write(const struct psim_cli_values *values,
                                    const struct psim_study *study);

#endif

/**
 * @file tests/kernels/emulated/emulated.h
 * The cuda backend's operations and kernel bodies, run on the host.
 *
 * Never in the table of backends: it is for tests of indices, reductions, barriers, strides and
 * workspaces where there is no GPU.  Products are plain loops in double.
 */
#ifndef PSIM_TESTS_KERNELS_EMULATED_H
#define PSIM_TESTS_KERNELS_EMULATED_H

#include "kernels/pk.h"

#include <stdbool.h>
#include <stddef.h>

/** What a device would be like; small numbers cut even small arrays into many shares. */
struct emulated_device {
    int processors;
    size_t grain, column_limit;
    bool library; /**< one for convolutions, which takes windows of 3 alone */
};

/**
 * As pk_backend.open.  `threads` of the options is the order in which the threads of a block run
 * between two barriers: results that depend on it miss a barrier.
 *
 * @param[in] state  const struct emulated_device *
 */
enum psim_status emulated_open(void *state, const struct pk_options *options,
                               struct pk_context **context, struct psim_error *err) PSIM_CHECKED;

#endif

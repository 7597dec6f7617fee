/**
 * @file sim/engine/child.h
 * What every simulation in a forked child needs: writing its result, and telling how it died.
 */
#ifndef PSIM_ENGINE_CHILD_H
#define PSIM_ENGINE_CHILD_H

#include "sim/base/status.h"

#include <stddef.h>

/** In the child: writes all bytes to the pipe; ends the process when that is not possible. */
void psim_child_write(int file, const void *bytes, size_t length);

/** In the parent: PSIM_ERR_CHILD with the signal or exit status of a child that gave no result. */
enum psim_status psim_child_explain(int wait_status, struct psim_error *err) PSIM_CHECKED;

#endif

/**
 * @file kernels/host/host.h
 * Memory of the backends that compute on the host: allocation and copies.
 *
 * Used by kernels/ref and kernels/openblas to fill their tables.  Every call runs at once, so
 * `wait` has nothing to do.
 */
#ifndef PK_HOST_HOST_H
#define PK_HOST_HOST_H

#include "kernels/pk.h"

/** Blocks start at multiples of this. */
#define PK_HOST_ALIGNMENT 256

enum psim_status pk_host_allocate(struct pk_context *context, size_t bytes, void **block,
                                  struct psim_error *err) PSIM_CHECKED;
void pk_host_release(struct pk_context *context, void *block);
enum psim_status pk_host_copy(struct pk_context *context, void *target, const void *source,
                              size_t bytes, struct psim_error *err) PSIM_CHECKED;
enum psim_status pk_host_clear(struct pk_context *context, void *target, size_t bytes,
                               struct psim_error *err) PSIM_CHECKED;
enum psim_status pk_host_wait(struct pk_context *context, struct psim_error *err) PSIM_CHECKED;

/** Name of the processor, "host" where it cannot be told. */
void pk_host_processor(char *name, size_t size);

#endif

/**
 * @file kernels/host/host.h
 * Memory of the backends that compute on the host: allocation and copies.
 *
 * Used by kernels/ref and kernels/openblas to fill their tables.  Each function does what the
 * member of struct pk_backend that it fills promises; every call runs at once, so `wait` has
 * nothing to do.
 */
#ifndef PK_HOST_HOST_H
#define PK_HOST_HOST_H

#include "kernels/pk.h"

enum psim_status pk_host_allocate(struct pk_context *context, size_t bytes, void **block,
                                  struct psim_error *err) PSIM_CHECKED;
void pk_host_release(struct pk_context *context, void *block);
enum psim_status pk_host_copy(struct pk_context *context, void *target, const void *source,
                              size_t bytes, struct psim_error *err) PSIM_CHECKED;
enum psim_status pk_host_clear(struct pk_context *context, void *target, size_t bytes,
                               struct psim_error *err) PSIM_CHECKED;
enum psim_status pk_host_wait(struct pk_context *context, struct psim_error *err) PSIM_CHECKED;

/** The members of a backend whose memory is the host's. */
#define PK_HOST_MEMORY                                                                             \
    .memory = PK_MEMORY_HOST, .allocate = pk_host_allocate, .release = pk_host_release,            \
    .upload = pk_host_copy, .download = pk_host_copy, .copy = pk_host_copy,                        \
    .clear = pk_host_clear, .wait = pk_host_wait

/** Name of the processor, cut to `size` bytes; "host" where it cannot be told. */
void pk_host_processor(char *name, size_t size);

#endif

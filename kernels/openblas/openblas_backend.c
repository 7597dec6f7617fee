/* "openblas": matrix products from OpenBLAS, our own loops for the rest, threads over the batch. */
#include "kernels/host/host.h"

#include "sim/base/memory.h"

#include <stdio.h>

static enum psim_status openblas_open(const struct pk_options *options, struct pk_context **context,
                                      struct psim_error *err)
{
    struct pk_context *made = psim_alloc(1, sizeof(*made));

    (void)options;
    if (made == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "context", "out of memory");
    *context = made;
    return PSIM_OK;
}

static void openblas_close(struct pk_context *context)
{
    psim_free(context);
}

static void openblas_describe(const struct pk_context *context, struct pk_description *description)
{
    (void)context;
    *description = (struct pk_description){.threads = 1};
    pk_host_processor(description->device, sizeof(description->device));
    snprintf(description->convolution, sizeof(description->convolution), "im2col + sgemm");
}

static const struct pk_operations operations = {
    .run_gemm = NULL,
};

const struct pk_backend pk_backend_openblas = {
    .name = "openblas",
    .summary = "sgemm from OpenBLAS, threads over the batch",
    .memory = PK_MEMORY_HOST,
    .operations = &operations,
    .open = openblas_open,
    .close = openblas_close,
    .describe = openblas_describe,
    .allocate = pk_host_allocate,
    .release = pk_host_release,
    .upload = pk_host_copy,
    .download = pk_host_copy,
    .copy = pk_host_copy,
    .clear = pk_host_clear,
    .wait = pk_host_wait,
};

/*
 * "ref": plain C with double accumulation, complete, on one thread.  What every other backend is
 * judged against; written to be read, not to be fast.
 */
#include "kernels/host/host.h"
#include "kernels/ref/ref.h"

#include "sim/base/memory.h"

#include <stdio.h>

static enum psim_status ref_open(const struct pk_options *options, struct pk_context **context,
                                 struct psim_error *err)
{
    struct pk_context *made = psim_alloc(1, sizeof(*made));

    (void)options;
    if (made == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "context", "out of memory");
    *context = made;
    return PSIM_OK;
}

static void ref_close(struct pk_context *context)
{
    psim_free(context);
}

static void ref_describe(const struct pk_context *context, struct pk_description *description)
{
    (void)context;
    *description = (struct pk_description){.threads = 1};
    pk_host_processor(description->device, sizeof(description->device));
    snprintf(description->convolution, sizeof(description->convolution), "direct");
}

static const struct pk_operations operations = {
#define REF_MEMBER(name, type) .run_##name = ref_##name,
    PK_OPERATION_MAP(REF_MEMBER)
#undef REF_MEMBER
        .workspace_attention_backward = ref_attention_backward_workspace,
};

const struct pk_backend pk_backend_ref = {
    .name = "ref",
    .summary = "plain C with double accumulation: the reference",
    .operations = &operations,
    .open = ref_open,
    .close = ref_close,
    .describe = ref_describe,
    PK_HOST_MEMORY,
};

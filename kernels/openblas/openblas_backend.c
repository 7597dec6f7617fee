/* "openblas": matrix products from OpenBLAS, our own loops for the rest, threads over the batch. */
#include "kernels/openblas/openblas.h"

#include "kernels/host/host.h"
#include "sim/base/memory.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 1024

static enum psim_status check_options(const struct pk_options *options, struct psim_error *err)
{
    if (options->math != PK_MATH_FP32)
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, "math",
                         "\"openblas\" computes in fp32 only, not in %s",
                         pk_math_names[options->math]);
    if (options->device != 0)
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, "device",
                         "\"openblas\" has device 0 only, not %d", options->device);
    if (options->threads > THREADS_MAX)
        return psim_fail(err, PSIM_ERR_RANGE, "threads", "must be at most %d, not %d", THREADS_MAX,
                         options->threads);
    return PSIM_OK;
}

static enum psim_status openblas_open(const struct pk_options *options, struct pk_context **context,
                                      struct psim_error *err)
{
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    enum psim_status status = check_options(options, err);
    struct ob_context *made;

    if (status != PSIM_OK)
        return status;
    made = psim_alloc(1, sizeof(*made));
    if (made == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "context", "out of memory");
    made->threads = options->threads;
    if (made->threads == 0)
        made->threads = (int)ob_max(1, ob_min(processors, THREADS_MAX));
    status = ob_pool_open(made->threads, &made->pool, err);
    if (status != PSIM_OK) {
        psim_free(made);
        return status;
    }
    openblas_set_num_threads(1);
    *context = &made->base;
    return PSIM_OK;
}

static void openblas_close(struct pk_context *context)
{
    ob_pool_close(((struct ob_context *)context)->pool);
    psim_free(context);
}

/* Whether OpenBLAS runs kernels for AVX2 on a processor that has AVX-512, at half the rate: because
 * OPENBLAS_CORETYPE in the environment says so, or because a release does not know the processor.
 */
static bool core_is_behind(const char *core)
{
#if defined(__x86_64__) && defined(__GNUC__)
    return (strcmp(core, "Haswell") == 0 || strcmp(core, "Zen") == 0) &&
           __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq");
#else
    (void)core;
    return false;
#endif
}

/* The configuration begins with "OpenBLAS 0.3.21 "; the core is the one whose kernels run. */
static void openblas_describe(const struct pk_context *context, struct pk_description *description)
{
    char version[128];
    size_t end;

    snprintf(version, sizeof(version), "%s", openblas_get_config());
    end = strcspn(version, " ");
    if (version[end] == ' ')
        end += 1 + strcspn(version + end + 1, " ");
    version[end] = '\0';
    *description = (struct pk_description){.threads = ob_threads(context)};
    pk_host_processor(description->device, sizeof(description->device));
    snprintf(description->libraries, sizeof(description->libraries), "%s (%s%s)", version,
             openblas_get_corename(),
             core_is_behind(openblas_get_corename()) ? ", though the processor has AVX-512" : "");
    snprintf(description->convolution, sizeof(description->convolution),
             "Winograd F(2x2, 3x3) or im2col, and sgemm");
}

static const struct pk_operations operations = {
#define OB_MEMBER(name, type) .run_##name = ob_##name,
    PK_OPERATION_MAP(OB_MEMBER)
#undef OB_MEMBER
        .workspace_conv_forward = ob_conv_forward_workspace,
    .workspace_conv_backward_data = ob_conv_backward_data_workspace,
    .workspace_conv_backward_weight = ob_conv_backward_weight_workspace,
    .workspace_attention_backward = ob_attention_backward_workspace,
};

const struct pk_backend pk_backend_openblas = {
    .name = "openblas",
    .summary = "sgemm from OpenBLAS, threads over the batch",
    .operations = &operations,
    .open = openblas_open,
    .close = openblas_close,
    .describe = openblas_describe,
    PK_HOST_MEMORY,
};

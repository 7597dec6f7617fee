/* "cuda": one NVIDIA GPU and one stream; opening it, its memory, and its faults. */
#include "kernels/cuda/machine/cuda_machine.h"

#include "sim/base/memory.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <string.h>

/* A block of a reduction takes at least this many values: 16 for each of its threads. */
#define GRAIN ((size_t)4096)
/* 256 MB of columns at once: large enough to fill the device, small beside its memory. */
#define COLUMN_LIMIT ((size_t)1 << 26)

extern const struct pk_backend pk_backend_cuda;

/* The runtime keeps the last error for whoever asks next: it is ours, so it is taken away. */
enum psim_status cuda_result(unsigned code, const char *what, struct psim_error *err)
{
    if (code == cudaSuccess)
        return PSIM_OK;
    (void)cudaGetLastError();
    return psim_fail(err, code == cudaErrorMemoryAllocation ? PSIM_ERR_NOMEM : PSIM_ERR_IO,
                     "device", "%s failed: %s", what, cudaGetErrorString((cudaError_t)code));
}

enum psim_status cuda_enter(const struct cuda_context *context, struct psim_error *err)
{
    return cuda_result(cudaSetDevice(context->machine->number), "cudaSetDevice", err);
}

static enum psim_status lacking_driver(struct psim_error *err)
{
    int driver = 0, runtime = 0;

    (void)cudaDriverGetVersion(&driver);
    (void)cudaRuntimeGetVersion(&runtime);
    if (driver == 0)
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, "device",
                         "this machine has no NVIDIA driver, or none that works");
    return psim_fail(err, PSIM_ERR_UNSUPPORTED, "device",
                     "the NVIDIA driver is older than this build: it knows CUDA %d.%d, the build "
                     "is for CUDA %d.%d",
                     driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
}

/* Every way in which a machine may lack the device. */
static enum psim_status find_device(int number, struct psim_error *err)
{
    int count = 0, major = 0, minor = 0;
    cudaError_t code = cudaGetDeviceCount(&count);

    if (code == cudaErrorInsufficientDriver)
        return lacking_driver(err);
    if (code == cudaErrorNoDevice || (code == cudaSuccess && count == 0))
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, "device", "this machine has no NVIDIA GPU");
    if (code != cudaSuccess)
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, "device", "the GPU cannot be used: %s",
                         cudaGetErrorString(code));
    if (number >= count)
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, "device",
                         "there is no GPU %d: this machine has %d", number, count);
    code = cudaSetDevice(number);
    if (code != cudaSuccess)
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, "device", "GPU %d cannot be used: %s", number,
                         cudaGetErrorString(code));
    code = (cudaError_t)cuda_probe();
    if (code == cudaSuccess)
        return PSIM_OK;
    (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, number);
    (void)cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, number);
    return psim_fail(err, PSIM_ERR_UNSUPPORTED, "device",
                     "this build has no code for GPU %d (compute capability %d.%d): %s", number,
                     major, minor, cudaGetErrorString(code));
}

static void cuda_close(struct pk_context *base)
{
    struct cuda_context *context = cuda_context_of(base);
    struct cuda_machine *machine = context->machine;

    if (machine != NULL) {
        /* After a fault of the device all this fails, but for the host's share. */
        (void)cudaSetDevice(machine->number);
#ifdef PK_HAS_CUDNN
        cuda_cudnn_close(context);
#endif
        cuda_product_close(context);
        if (machine->stream != NULL)
            (void)cudaStreamDestroy(machine->stream);
    }
    psim_free(machine);
    psim_free(context);
}

static enum psim_status open_machine(struct cuda_context *context, struct psim_error *err)
{
    struct cuda_machine *machine = context->machine;
    struct cudaDeviceProp properties;
    enum psim_status status;

    status = cuda_result(cudaGetDeviceProperties(&properties, machine->number),
                         "cudaGetDeviceProperties", err);
    if (status != PSIM_OK)
        return status;
    snprintf(machine->name, sizeof(machine->name), "%.120s", properties.name);
    context->processors = properties.multiProcessorCount;
    /* Not ordered with the default stream, where other libraries of the process may be. */
    status = cuda_result(cudaStreamCreateWithFlags(&machine->stream, cudaStreamNonBlocking),
                         "cudaStreamCreate", err);
    if (status == PSIM_OK)
        status = cuda_product_open(context, err);
#ifdef PK_HAS_CUDNN
    if (status == PSIM_OK)
        status = cuda_cudnn_open(context, err);
#endif
    return status;
}

static enum psim_status cuda_open(const struct pk_options *options, struct pk_context **context,
                                  struct psim_error *err)
{
    enum psim_status status = find_device(options->device, err);
    struct cuda_context *made = NULL;

    if (status != PSIM_OK) {
        (void)cudaGetLastError(); /* it is told: no other context shall find it */
        return status;
    }
    made = psim_alloc(1, sizeof(*made));
    if (made == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "context", "out of memory");
    made->base.backend = &pk_backend_cuda; /* for pk_allocate, before pk_context_open sets it */
    made->base.options = *options;
    made->device = &cuda_device_real;
    made->grain = GRAIN;
    made->column_limit = COLUMN_LIMIT;
    made->machine = psim_alloc(1, sizeof(*made->machine));
    if (made->machine == NULL) {
        status = psim_fail(err, PSIM_ERR_NOMEM, "context", "out of memory");
    } else {
        made->machine->number = options->device;
        status = open_machine(made, err);
    }
    if (status != PSIM_OK) {
        cuda_close(&made->base);
        return status;
    }
    *context = &made->base;
    return PSIM_OK;
}

/* The version of the kernel's driver, where Linux tells it: a word of digits and dots. */
static void driver_version(char *text, size_t size)
{
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    char line[256];
    int driver = 0;

    (void)cudaDriverGetVersion(&driver);
    snprintf(text, size, "CUDA %d.%d", driver / 1000, driver % 1000 / 10);
    if (file == NULL)
        return;
    if (fgets(line, sizeof(line), file) != NULL)
        for (char *rest = line, *word; (word = strtok_r(rest, " \t\n", &rest)) != NULL;)
            if (strchr(word, '.') != NULL && strspn(word, "0123456789.") == strlen(word)) {
                snprintf(text, size, "%.30s (CUDA %d.%d)", word, driver / 1000, driver % 1000 / 10);
                break;
            }
    fclose(file);
}

static void cuda_describe(const struct pk_context *base, struct pk_description *description)
{
    const struct cuda_context *context = cuda_context_read(base);
    char blas[64], cudnn[64] = "no cuDNN";

    *description = (struct pk_description){.threads = 1};
    cuda_product_version(context, blas, sizeof(blas));
    snprintf(description->convolution, sizeof(description->convolution), "im2col + cuBLAS");
#ifdef PK_HAS_CUDNN
    cuda_cudnn_version(cudnn, sizeof(cudnn));
    if (context->convolver != NULL)
        snprintf(description->convolution, sizeof(description->convolution),
                 "%.24s, else im2col + cuBLAS", cudnn);
#endif
    snprintf(description->device, sizeof(description->device), "%s", context->machine->name);
    driver_version(description->driver, sizeof(description->driver));
    snprintf(description->libraries, sizeof(description->libraries), "%s, %s", blas, cudnn);
}

static enum psim_status cuda_allocate(struct pk_context *base, size_t bytes, void **block,
                                      struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    enum psim_status status = cuda_enter(context, err);
    void *made = NULL;
    cudaError_t code;

    if (status != PSIM_OK)
        return status;
    code = cudaMalloc(&made, bytes);
    if (code == cudaErrorMemoryAllocation) {
        (void)cudaGetLastError();
        return psim_fail(err, PSIM_ERR_NOMEM, "memory",
                         "out of memory on %s: %zu bytes asked, %lld in use",
                         context->machine->name, bytes, (long long)base->account.now_total_bytes);
    }
    status = cuda_result(code, "cudaMalloc", err);
    if (status == PSIM_OK)
        *block = made;
    return status;
}

/* cudaFree waits for what is queued. */
static void cuda_release(struct pk_context *base, void *block)
{
    if (cuda_enter(cuda_context_of(base), NULL) == PSIM_OK)
        (void)cudaFree(block);
}

static enum psim_status transfer(struct pk_context *base, void *target, const void *source,
                                 size_t bytes, enum cudaMemcpyKind kind, struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const enum psim_status status = cuda_enter(context, err);

    if (status != PSIM_OK || bytes == 0)
        return status;
    return cuda_result(cudaMemcpyAsync(target, source, bytes, kind, context->machine->stream),
                       "a copy", err);
}

static enum psim_status cuda_wait(struct pk_context *base, struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const enum psim_status status = cuda_enter(context, err);

    if (status != PSIM_OK)
        return status;
    return cuda_result(cudaStreamSynchronize(context->machine->stream),
                       "something queued on the device", err);
}

/* The host's block may be pinned, and then only the wait says that it was read. */
static enum psim_status cuda_upload(struct pk_context *base, void *target, const void *source,
                                    size_t bytes, struct psim_error *err)
{
    const enum psim_status status =
        transfer(base, target, source, bytes, cudaMemcpyHostToDevice, err);

    return status != PSIM_OK ? status : cuda_wait(base, err);
}

static enum psim_status cuda_download(struct pk_context *base, void *target, const void *source,
                                      size_t bytes, struct psim_error *err)
{
    const enum psim_status status =
        transfer(base, target, source, bytes, cudaMemcpyDeviceToHost, err);

    return status != PSIM_OK ? status : cuda_wait(base, err);
}

static enum psim_status cuda_copy(struct pk_context *base, void *target, const void *source,
                                  size_t bytes, struct psim_error *err)
{
    return transfer(base, target, source, bytes, cudaMemcpyDeviceToDevice, err);
}

static enum psim_status cuda_clear(struct pk_context *base, void *target, size_t bytes,
                                   struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const enum psim_status status = cuda_enter(context, err);

    if (status != PSIM_OK || bytes == 0)
        return status;
    return cuda_result(cudaMemsetAsync(target, 0, bytes, context->machine->stream), "clearing",
                       err);
}

const struct pk_backend pk_backend_cuda = {
    .name = "cuda",
#ifdef PK_HAS_CUDNN
    .summary = "one NVIDIA GPU: cuBLAS, cuDNN, own kernels for the rest",
#else
    .summary = "one NVIDIA GPU: cuBLAS, own kernels for the rest",
#endif
    .memory = PK_MEMORY_DEVICE,
    .operations = &cuda_operations,
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .allocate = cuda_allocate,
    .release = cuda_release,
    .upload = cuda_upload,
    .download = cuda_download,
    .copy = cuda_copy,
    .clear = cuda_clear,
    .wait = cuda_wait,
};

/* Device code: every kernel of the table with its phases unrolled, and its launch. */
#include <math.h>
extern "C" {
#include "kernels/pk.h"
}
#include "kernels/cuda/machine/cuda_machine.h"

#include <cuda_runtime.h>

/* The arguments stay in constant memory, the phase is a constant in each copy of the body. */
#define CUDA_KERNEL(kernel, phases, memory)                                                        \
    static __global__ void __launch_bounds__(PK_THREADS)                                           \
        kernel##_kernel(const __grid_constant__ struct cuda_##kernel args)                         \
    {                                                                                              \
        __shared__ struct memory shared;                                                           \
        struct cuda_at at;                                                                         \
        at.block = blockIdx.x;                                                                     \
        at.blocks = gridDim.x;                                                                     \
        at.thread = threadIdx.x;                                                                   \
        _Pragma("unroll") for (int phase = 0; phase < (phases); phase++)                           \
        {                                                                                          \
            if (phase > 0)                                                                         \
                __syncthreads();                                                                   \
            cuda_##kernel##_body(&args, at, &shared, phase);                                       \
        }                                                                                          \
    }                                                                                              \
    static enum psim_status launch_##kernel(struct cuda_context *context, size_t blocks,           \
                                            const struct cuda_##kernel *args,                      \
                                            struct psim_error *err)                                \
    {                                                                                              \
        const enum psim_status status = cuda_enter(context, err);                                  \
        if (status != PSIM_OK)                                                                     \
            return status;                                                                         \
        kernel##_kernel<<<(unsigned)blocks, PK_THREADS, 0, context->machine->stream>>>(*args);     \
        return cuda_result(cudaGetLastError(), "launch of " #kernel, err);                         \
    }
CUDA_KERNEL_MAP(CUDA_KERNEL)
#undef CUDA_KERNEL

extern "C" const struct cuda_device cuda_device_real = {
#define CUDA_MEMBER(kernel, phases, memory) launch_##kernel,
    CUDA_KERNEL_MAP(CUDA_MEMBER)
#undef CUDA_MEMBER
        cuda_product_run};

extern "C" unsigned cuda_probe(void)
{
    cudaFuncAttributes attributes;

    return cudaFuncGetAttributes(&attributes, relu_kernel);
}

/**
 * @file kernels/cuda/machine/cuda_machine.h
 * What the cuda backend keeps of a device, and what the files of this folder offer one another.
 *
 * The handles are named by their tags, so that this header needs no toolkit.
 */
#ifndef PK_CUDA_MACHINE_CUDA_MACHINE_H
#define PK_CUDA_MACHINE_CUDA_MACHINE_H

#include "kernels/cuda/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;
struct cublasContext;
struct cuda_cudnn;

struct cuda_machine {
    int number; /**< of the device */
    struct CUstream_st *stream;
    struct cublasContext *blas;
    void *blas_workspace; /**< counted under PK_WORKSPACE */
    struct cuda_cudnn *cudnn;
    char name[128];
};

/** Launches and products on the device. */
extern const struct cuda_device cuda_device_real;

/** @param[in] code  a cudaError_t
 *  @return PSIM_OK for cudaSuccess; else PSIM_ERR_NOMEM or PSIM_ERR_IO, and the runtime forgets it.
 */
enum psim_status cuda_result(unsigned code, const char *what, struct psim_error *err) PSIM_CHECKED;

/** Makes the context's device the calling thread's. */
enum psim_status cuda_enter(const struct cuda_context *context,
                            struct psim_error *err) PSIM_CHECKED;

/** Whether device code for the current device is in this build: a cudaError_t. */
unsigned cuda_probe(void);

/** See cuda_multiply. */
enum psim_status cuda_product_run(struct cuda_context *context, const struct cuda_product *product,
                                  struct psim_error *err);

/** cuBLAS on the context's stream, with a workspace of ours; undone by cuda_product_close. */
enum psim_status cuda_product_open(struct cuda_context *context,
                                   struct psim_error *err) PSIM_CHECKED;
void cuda_product_close(struct cuda_context *context);

/** "cuBLAS 13.0.2" */
void cuda_product_version(const struct cuda_context *context, char *text, size_t size);

/* Only where PK_HAS_CUDNN. */
enum psim_status cuda_cudnn_open(struct cuda_context *context, struct psim_error *err) PSIM_CHECKED;
void cuda_cudnn_close(struct cuda_context *context);
/** "cuDNN 9.1.0" */
void cuda_cudnn_version(char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif

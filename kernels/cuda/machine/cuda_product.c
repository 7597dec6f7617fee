/* Matrix products by cuBLAS. */
#include "kernels/cuda/machine/cuda_machine.h"

#include <cublas_v2.h>
#include <stdio.h>

/* What cuBLAS recommends for Hopper; others need less. */
#define WORKSPACE_BYTES ((size_t)32 << 20)

static enum psim_status result(cublasStatus_t code, const char *what, struct psim_error *err)
{
    if (code == CUBLAS_STATUS_SUCCESS)
        return PSIM_OK;
    return psim_fail(err, code == CUBLAS_STATUS_ALLOC_FAILED ? PSIM_ERR_NOMEM : PSIM_ERR_IO,
                     "device", "%s failed: cuBLAS says %s", what, cublasGetStatusString(code));
}

/* Sums of bf16 products must not be rounded to bf16 on their way. */
enum psim_status cuda_product_open(struct cuda_context *context, struct psim_error *err)
{
    struct cuda_machine *machine = context->machine;
    enum psim_status status = result(cublasCreate(&machine->blas), "opening cuBLAS", err);

    if (status == PSIM_OK)
        status = result(cublasSetStream(machine->blas, machine->stream), "cublasSetStream", err);
    if (status == PSIM_OK)
        status = pk_allocate(&context->base, PK_WORKSPACE, WORKSPACE_BYTES,
                             &machine->blas_workspace, err);
    if (status == PSIM_OK)
        status = result(cublasSetWorkspace(machine->blas, machine->blas_workspace, WORKSPACE_BYTES),
                        "cublasSetWorkspace", err);
    if (status == PSIM_OK)
        status = result(
            cublasSetMathMode(machine->blas, CUBLAS_DEFAULT_MATH |
                                                 CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION),
            "cublasSetMathMode", err);
    return status;
}

void cuda_product_close(struct cuda_context *context)
{
    if (context->machine->blas != NULL)
        (void)cublasDestroy(context->machine->blas);
    pk_release(&context->base, PK_WORKSPACE, WORKSPACE_BYTES, context->machine->blas_workspace);
}

void cuda_product_version(const struct cuda_context *context, char *text, size_t size)
{
    int version = 0;

    (void)cublasGetVersion(context->machine->blas, &version);
    if (version >= 100000)
        snprintf(text, size, "cuBLAS %d.%d.%d", version / 10000, version / 100 % 100,
                 version % 100);
    else
        snprintf(text, size, "cuBLAS version %d", version);
}

static cublasOperation_t operation(const struct cuda_factor *factor)
{
    return factor->transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
}

/* cuBLAS counts columns first, so it sees the transposes of all matrices: C^T = op(B)^T op(A)^T. */
enum psim_status cuda_product_run(struct cuda_context *context, const struct cuda_product *p,
                                  struct psim_error *err)
{
    const cudaDataType_t type = p->a.rounded ? CUDA_R_16BF : CUDA_R_32F;
    const cublasComputeType_t compute = context->base.options.math == PK_MATH_TF32
                                            ? CUBLAS_COMPUTE_32F_FAST_TF32
                                            : CUBLAS_COMPUTE_32F;
    cublasHandle_t blas = context->machine->blas;
    enum psim_status status = cuda_enter(context, err);
    cublasStatus_t code;

    if (status != PSIM_OK)
        return status;
    if (p->batch == 1)
        code = cublasGemmEx(blas, operation(&p->b), operation(&p->a), p->n, p->m, p->k, &p->alpha,
                            p->b.data, type, p->b.row, p->a.data, type, p->a.row, &p->beta, p->c,
                            CUDA_R_32F, p->c_row, compute, CUBLAS_GEMM_DEFAULT);
    else
        code = cublasGemmStridedBatchedEx(
            blas, operation(&p->b), operation(&p->a), p->n, p->m, p->k, &p->alpha, p->b.data, type,
            p->b.row, (long long)p->b.stride, p->a.data, type, p->a.row, (long long)p->a.stride,
            &p->beta, p->c, CUDA_R_32F, p->c_row, (long long)p->c_stride, p->batch, compute,
            CUBLAS_GEMM_DEFAULT);
    return result(code, "a matrix product", err);
}

/**
 * @file kernels/cuda/kernels.h
 * The table of all kernels.
 *
 * Included by what launches them: machine/cuda_kernels.cu on a device, and a test on the host.
 * Expanding one map in both, neither can miss a kernel.
 */
#ifndef PK_CUDA_KERNELS_H
#define PK_CUDA_KERNELS_H

#include "kernels/cuda/body_element.h"
#include "kernels/cuda/body_image.h"
#include "kernels/cuda/body_norm.h"
#include "kernels/cuda/body_row.h"

/** X(kernel, phases, shared memory): cuda_<kernel>_body with struct cuda_<kernel>. */
#define CUDA_KERNEL_MAP(X)                                                                         \
    X(relu, 1, cuda_unshared)                                                                      \
    X(relu_gradient, 1, cuda_unshared)                                                             \
    X(sum, 1, cuda_unshared)                                                                       \
    X(step, 1, cuda_unshared)                                                                      \
    X(gelu, 1, cuda_unshared)                                                                      \
    X(gelu_gradient, 1, cuda_unshared)                                                             \
    X(rows, 1, cuda_unshared)                                                                      \
    X(bias, 1, cuda_unshared)                                                                      \
    X(rounding, 1, cuda_unshared)                                                                  \
    X(bad, 3, cuda_counts)                                                                         \
    X(total, 3, cuda_counts)                                                                       \
    X(norm_moments, 3, cuda_moments_shared)                                                        \
    X(norm_finish, 1, cuda_unshared)                                                               \
    X(norm_apply, 1, cuda_unshared)                                                                \
    X(channel_sums, 3, cuda_sums_shared)                                                           \
    X(sums_finish, 1, cuda_unshared)                                                               \
    X(norm_gradient, 1, cuda_unshared)                                                             \
    X(columns, 1, cuda_unshared)                                                                   \
    X(scatter, 1, cuda_unshared)                                                                   \
    X(pool, 1, cuda_unshared)                                                                      \
    X(pool_gradient, 1, cuda_unshared)                                                             \
    X(mean, 3, cuda_slots)                                                                         \
    X(mean_gradient, 1, cuda_unshared)                                                             \
    X(softmax, 5, cuda_row_shared)                                                                 \
    X(softmax_gradient, 3, cuda_row_shared)                                                        \
    X(entropy, 5, cuda_row_shared)                                                                 \
    X(layer, 5, cuda_row_shared)                                                                   \
    X(layer_gradient, 3, cuda_row_shared)                                                          \
    X(column_sums, 2, cuda_row_shared)                                                             \
    X(lookup, 1, cuda_unshared)                                                                    \
    X(lookup_gradient, 3, cuda_row_shared)                                                         \
    X(position_gradient, 1, cuda_unshared)

#endif

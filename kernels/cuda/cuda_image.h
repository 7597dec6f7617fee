/**
 * @file kernels/cuda/cuda_image.h
 * Windows over images, for pooling and convolutions.
 */
#ifndef PK_CUDA_CUDA_IMAGE_H
#define PK_CUDA_CUDA_IMAGE_H

#include "kernels/cuda/cuda.h"

/** The window of a shape of which no dimension is 0. */
struct cuda_window cuda_window_of(const struct pk_conv_shape *shape);

#endif

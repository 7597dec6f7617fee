/**
 * @file kernels/cuda/body.h
 * What kernel bodies are written in: C that is also CUDA C++.
 *
 * A kernel is a function of (arguments, place, shared memory, phase) that is called for phase 0,
 * 1, ... with a barrier of the block between two phases; what a thread knows at the end of a phase
 * is lost but for what it left in shared memory.  CUDA unrolls the phases into one kernel
 * (machine/cuda_kernels.cu); a test runs the same source thread by thread on the host, so that
 * indices, reductions and barriers are tried where there is no GPU.
 *
 * Reductions have a fixed order: results are the same from run to run.  There are no atomics.
 */
#ifndef PK_CUDA_BODY_H
#define PK_CUDA_BODY_H

#include "sim/base/status.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#define PK_BODY static __device__ __forceinline__
#else
#define PK_BODY static inline
#endif

/** Threads of every block. */
#define PK_THREADS 256

/** Where a thread is. */
struct cuda_at {
    uint32_t block, blocks, thread;
};

/** Shared memory of a kernel that needs none. */
struct cuda_unshared {
    char unused;
};

/**
 * Division by a divisor that is known beforehand, for dividends below 2^31.  Source: Granlund and
 * Montgomery, PLDI 1994, doi:10.1145/178243.178249, section 4.
 */
struct cuda_divider {
    uint32_t divisor, magic, shift;
};

/** @param[in] divisor  in [1, 2^31) */
static inline struct cuda_divider cuda_divider_of(uint32_t divisor)
{
    struct cuda_divider d;

    d.divisor = divisor;
    d.shift = 0;
    while ((UINT32_C(1) << d.shift) < divisor)
        d.shift++;
    d.magic =
        (uint32_t)(((UINT64_C(1) << 32) * ((UINT64_C(1) << d.shift) - divisor)) / divisor + 1);
    return d;
}

PK_BODY uint32_t cuda_quotient(uint32_t value, struct cuda_divider d)
{
    return ((uint32_t)(((uint64_t)value * d.magic) >> 32) + value) >> d.shift;
}

PK_BODY uint32_t cuda_remainder(uint32_t value, struct cuda_divider d)
{
    return value - cuda_quotient(value, d) * d.divisor;
}

/** `width` values, 1 or 4; 4 only from a multiple of 16 bytes, in one access. */
PK_BODY void cuda_load(const float *from, float *to, int width)
{
#ifdef __CUDACC__
    if (width == 4) {
        const float4 four = *(const float4 *)from;
        to[0] = four.x;
        to[1] = four.y;
        to[2] = four.z;
        to[3] = four.w;
        return;
    }
#else
    PSIM_ASSERT(width == 1 || (uintptr_t)from % (4 * sizeof(float)) == 0);
#endif
    for (int j = 0; j < width; j++)
        to[j] = from[j];
}

PK_BODY void cuda_store(float *to, const float *from, int width)
{
#ifdef __CUDACC__
    if (width == 4) {
        *(float4 *)to = make_float4(from[0], from[1], from[2], from[3]);
        return;
    }
#else
    PSIM_ASSERT(width == 1 || (uintptr_t)to % (4 * sizeof(float)) == 0);
#endif
    for (int j = 0; j < width; j++)
        to[j] = from[j];
}

/** Calls span(args, first, width) for all elements, shared among all threads of the grid. */
#define CUDA_EACH_SPAN(span, args, at, count, wide)                                                \
    do {                                                                                           \
        const size_t step_ = (size_t)(at).blocks * PK_THREADS;                                     \
        const size_t mine_ = (size_t)(at).block * PK_THREADS + (at).thread;                        \
        const size_t groups_ = (wide) ? (count) / 4 : 0;                                           \
        for (size_t g_ = mine_; g_ < groups_; g_ += step_)                                         \
            span(args, g_ * 4, 4);                                                                 \
        for (size_t i_ = groups_ * 4 + mine_; i_ < (count); i_ += step_)                           \
            span(args, i_, 1);                                                                     \
    } while (0)

/** max(0, value), but that NaN stays NaN. */
PK_BODY float cuda_rectified(float value, bool relu)
{
    return relu && value < 0 ? 0 : value;
}

/** bf16 by rounding to nearest even; a NaN stays one. */
PK_BODY uint16_t cuda_bf16(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    if (value != value)
        return (uint16_t)((bits >> 16) | 0x40u);
    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/**
 * A group of threads of a block that reduces together.  Each leaves its share in slots[thread]; a
 * phase later cuda_fold leaves `kept` sums, and another phase later cuda_folded adds these in
 * every thread of the group, which spares a barrier and a broadcast.
 */
struct cuda_group {
    uint32_t first, lane, lanes, kept;
};

/** @param[in] lanes  32 or 256 */
PK_BODY struct cuda_group cuda_group_of(uint32_t thread, uint32_t lanes)
{
    struct cuda_group g;

    g.lanes = lanes;
    g.kept = lanes == PK_THREADS ? 16 : 4;
    g.lane = thread % lanes;
    g.first = thread - g.lane;
    return g;
}

PK_BODY void cuda_fold(float *slots, struct cuda_group g)
{
    float sum = 0;

    if (g.lane >= g.kept)
        return;
    for (uint32_t j = g.lane; j < g.lanes; j += g.kept)
        sum += slots[g.first + j];
    slots[g.first + g.lane] = sum;
}

PK_BODY float cuda_folded(const float *slots, struct cuda_group g)
{
    float sum = 0;

    for (uint32_t j = 0; j < g.kept; j++)
        sum += slots[g.first + j];
    return sum;
}

/* The same for the largest; a NaN is passed over, and shows in the sums that follow. */
PK_BODY void cuda_fold_largest(float *slots, struct cuda_group g)
{
    float largest = -INFINITY;

    if (g.lane >= g.kept)
        return;
    for (uint32_t j = g.lane; j < g.lanes; j += g.kept)
        largest = slots[g.first + j] > largest ? slots[g.first + j] : largest;
    slots[g.first + g.lane] = largest;
}

PK_BODY float cuda_folded_largest(const float *slots, struct cuda_group g)
{
    float largest = -INFINITY;

    for (uint32_t j = 0; j < g.kept; j++)
        largest = slots[g.first + j] > largest ? slots[g.first + j] : largest;
    return largest;
}

#endif

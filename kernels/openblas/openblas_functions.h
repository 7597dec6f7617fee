/**
 * @file kernels/openblas/openblas_functions.h
 * Functions of one value, written so that a compiler can put them in the lanes of a vector.
 *
 * No calls, no branches; the C library's expf and erff are neither.
 */
#ifndef PK_OPENBLAS_FUNCTIONS_H
#define PK_OPENBLAS_FUNCTIONS_H

#include "kernels/openblas/openblas.h"

#include <string.h>

/** max(0, x); NaN stays NaN. */
OB_INLINE float ob_relu(float x)
{
    return x < 0 ? 0 : x;
}

/**
 * e^x within 2 ulp where the result is normal; 0 below -104, infinite above 88.8, NaN of NaN.
 *
 * x = n ln 2 + r with |r| <= ln(2) / 2, ln 2 in two parts (Cody and Waite); e^r by its Taylor
 * series to the 7th power, whose remainder is below 2^-27; 2^n goes into the exponent in two
 * halves, so that n = 128 does not overflow early.
 */
OB_INLINE float ob_exp(float x)
{
    const float magic = 12582912.0F; /* 1.5 * 2^23: adding it rounds to an integer */
    const float bounded = x < -104.0F ? -104.0F : (x > 89.0F ? 89.0F : x);
    const float shifted = bounded * 1.44269504F + magic;
    const float n = shifted - magic;
    const float r = (bounded - n * 0.693359375F) + n * 2.12194440e-4F;
    float e = 1.0F / 5040;
    uint32_t bits, half;
    float low, high;

    e = e * r + 1.0F / 720;
    e = e * r + 1.0F / 120;
    e = e * r + 1.0F / 24;
    e = e * r + 1.0F / 6;
    e = e * r + 0.5F;
    e = e * r * r + r + 1.0F;
    memcpy(&bits, &shifted, sizeof(bits));
    bits -= 0x4b400000U; /* n, two's complement */
    half = (uint32_t)((int32_t)bits >> 1);
    bits = (bits - half + 127U) << 23;
    half = (half + 127U) << 23;
    memcpy(&low, &half, sizeof(low));
    memcpy(&high, &bits, sizeof(high));
    return e * low * high;
}

/** Density of the normal distribution, e^(-x^2 / 2) / sqrt(2 pi). */
OB_INLINE float ob_normal_density(float x)
{
    return 0.398942280F * ob_exp(-0.5F * x * x);
}

/**
 * Phi(x), the normal distribution's, within 3e-7 of itself (that of e^(-x^2 / 2) comes on top).
 *
 * Phi(-a) e^(a^2 / 2) is smooth and falls as 1 / a: with t = 1 / (1 + 0.3 a) it is t times a
 * polynomial in t, here fitted at the Chebyshev nodes of [0, 1] for the least relative error
 * (2.3e-8 before rounding).
 */
OB_INLINE float ob_normal_cdf(float x)
{
    static const float fitted[] = {0.0403069193F, -0.03337616F, -0.0292460841F, 0.0209609357F,
                                   0.0166445269F, 0.060438202F, 0.087036183F,   0.108932905F,
                                   0.119682154F,  0.119682686F};
    const float a = x < 0 ? -x : x;
    const float t = 1.0F / (1.0F + 0.3F * a);
    float tail = -0.0110622789F;

    for (int i = 0; i < 10; i++)
        tail = tail * t + fitted[i];
    tail *= t * ob_exp(-0.5F * a * a);
    return x < 0 ? tail : 1.0F - tail;
}

/** y += x. */
OB_INLINE void ob_add_to(float *y, const float *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] += x[i];
}

/** Sums of doubles that a vector holds side by side; added up in one fixed order. */
#define OB_LANES 16

OB_INLINE double ob_lane_sum(const double lane[OB_LANES])
{
    double sum = 0;

    for (int i = 0; i < OB_LANES; i++)
        sum += lane[i];
    return sum;
}

/** The sum of x[0 .. count). */
OB_INLINE double ob_sum(const float *x, int count)
{
    double lanes[OB_LANES] = {0};
    int i = 0;

    for (; i + OB_LANES <= count; i += OB_LANES)
        for (int lane = 0; lane < OB_LANES; lane++)
            lanes[lane] += (double)x[i + lane];
    for (; i < count; i++)
        lanes[i % OB_LANES] += (double)x[i];
    return ob_lane_sum(lanes);
}

#endif

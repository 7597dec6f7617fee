/**
 * @file kernels/ref/ref.h
 * What the files of the reference backend share: its operations, and the rounding of operands.
 *
 * Only for kernels/ref.  Every sum runs in double, in the order of the loops, and is rounded to
 * float once, when it is stored.  Under PK_MATH_TF32 and PK_MATH_BF16 the operands of products
 * (matrices, convolutions, attention) are rounded first; their sums stay in double, so that what
 * is seen is the rounding of the operands alone.
 */
#ifndef PK_REF_REF_H
#define PK_REF_REF_H

#include "kernels/pk.h"

#include <math.h>
#include <string.h>

#define REF_DECLARE(name, type)                                                                    \
    enum psim_status ref_##name(struct pk_context *context, const struct type *op,                 \
                                const struct pk_workspace *workspace, struct psim_error *err);
PK_OPERATION_MAP(REF_DECLARE)
#undef REF_DECLARE

/** Scratch of one head: its [tokens, tokens] gradient of the scores, in double. */
size_t ref_attention_backward_workspace(const struct pk_context *context,
                                        const struct pk_attention_backward *op);

/** A product's operand: rounded to nearest even, to 10 bits of mantissa (TF32) or 7 (BF16). */
static inline double ref_operand(float value, enum pk_math math)
{
    const unsigned dropped = math == PK_MATH_TF32 ? 13 : 16;
    uint32_t bits;

    if (math == PK_MATH_FP32 || isnan(value))
        return value;
    memcpy(&bits, &value, sizeof(bits));
    bits += (UINT32_C(1) << (dropped - 1)) - 1 + (bits >> dropped & 1);
    bits &= ~((UINT32_C(1) << dropped) - 1);
    memcpy(&value, &bits, sizeof(bits));
    return value;
}

/** max(0, value), but that NaN stays NaN. */
static inline double ref_relu(double value)
{
    return value < 0 ? 0 : value;
}

/** The taps first <= r < end of a window that lie on an image of h rows. */
struct ref_taps {
    int first, end;
};

static inline struct ref_taps ref_taps(int p, const struct pk_conv_shape *shape, int h)
{
    const int top = p * shape->stride - shape->pad;

    return (struct ref_taps){
        .first = top < 0 ? -top : 0,
        .end = h - top < shape->kernel ? h - top : shape->kernel,
    };
}

#endif

/**
 * @file sim/base/precision.h
 * Number formats of the matrix work, as files spell them.
 */
#ifndef PSIM_BASE_PRECISION_H
#define PSIM_BASE_PRECISION_H

/** fp32 never means TF32; fp16 and bf16 keep fp32 master parameters. */
enum psim_precision { PSIM_FP32, PSIM_TF32, PSIM_FP16, PSIM_BF16, PSIM_PRECISIONS };

/** "fp32", "tf32", "fp16", "bf16"; NULL at the end. */
extern const char *const psim_precision_names[];

#endif

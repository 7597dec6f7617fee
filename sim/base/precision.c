#include "sim/base/precision.h"

#include <stddef.h>

const char *const psim_precision_names[] = {"fp32", "tf32", "fp16", "bf16", NULL};

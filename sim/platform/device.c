#include "sim/platform/device.h"

#include <stdio.h>
#include <string.h>

#define POINTER_BYTES ((size_t)64)

const char *const psim_work_kind_names[] = {"gemm",      "convolution", "memory", "attention",
                                            "optimizer", "default",     NULL};

const char *const psim_tag_names[] = {"measured", "published", "estimated", "assumed", NULL};

static const char *precision_key(int precision)
{
    return precision == PSIM_ANY_PRECISION ? "any" : psim_precision_names[precision];
}

const struct psim_rate *psim_device_rate(const struct psim_device *device, enum psim_work_kind kind,
                                         enum psim_precision precision, char *pointer)
{
    const int fallback[4][2] = {{(int)kind, (int)precision},
                                {(int)kind, PSIM_ANY_PRECISION},
                                {PSIM_WORK_DEFAULT, (int)precision},
                                {PSIM_WORK_DEFAULT, PSIM_ANY_PRECISION}};

    for (int i = 0; i < 4; i++) {
        const int work = fallback[i][0], number = fallback[i][1];

        if (!device->rates[work][number].given)
            continue;
        if (pointer != NULL)
            snprintf(pointer, POINTER_BYTES, "/cost/%s/%s", psim_work_kind_names[work],
                     precision_key(number));
        return &device->rates[work][number];
    }
    return NULL;
}

/* "/cost/gemm" covers itself and "/cost/gemm/fp32", not "/cost/gemm2"; "" covers the whole file. */
static bool covers(const char *prefix, const char *pointer)
{
    const size_t length = strlen(prefix);

    return strncmp(prefix, pointer, length) == 0 &&
           (pointer[length] == '\0' || pointer[length] == '/');
}

const struct psim_source *psim_device_source(const struct psim_device *device, const char *pointer)
{
    const struct psim_source *nearest = NULL;

    for (int i = 0; i < device->source_count; i++) {
        const struct psim_source *source = &device->sources[i];

        if (covers(source->pointer, pointer) &&
            (nearest == NULL || strlen(source->pointer) > strlen(nearest->pointer)))
            nearest = source;
    }
    return nearest;
}

/**
 * @file sim/platform/device.h
 * What one accelerator can do, as plain data with the origin of every figure.
 *
 * Filled by sim/config from a device/1 file; read by sim/cost and sim/program.
 * Peaks are dense; bandwidths are one direction's.  A peak that is not known is
 * NaN, never a guess.  The device owns its texts through the platform's arena.
 */
#ifndef PSIM_PLATFORM_DEVICE_H
#define PSIM_PLATFORM_DEVICE_H

#include "sim/base/precision.h"
#include "sim/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum psim_work_kind {
    PSIM_WORK_GEMM,
    PSIM_WORK_CONVOLUTION,
    PSIM_WORK_MEMORY, /**< element-wise work, norms, pooling: bytes decide */
    PSIM_WORK_ATTENTION,
    PSIM_WORK_OPTIMIZER,
    PSIM_WORK_DEFAULT, /**< used where a kind has no figures of its own */
    PSIM_WORK_KINDS
};

/** "gemm", "convolution", "memory", "attention", "optimizer", "default"; NULL at the end. */
extern const char *const psim_work_kind_names[];

enum psim_tag {
    PSIM_TAG_MEASURED,
    PSIM_TAG_PUBLISHED,
    PSIM_TAG_ESTIMATED,
    PSIM_TAG_ASSUMED,
    PSIM_TAGS
};

/** "measured", "published", "estimated", "assumed"; NULL at the end. */
extern const char *const psim_tag_names[];

/** How much of a peak one kind of operation reaches; docs/model.md eq. 1. */
struct psim_rate {
    bool given;      /**< false: the fields below are not set, look at the next fallback */
    double compute;  /**< share of the peak, in (0, 1] */
    double memory;   /**< share of the memory bandwidth, in (0, 1] */
    double launch_s; /**< per kernel, >= 0 */
    double norm;     /**< p of the p-norm, >= 1 */
};

/** Where a figure comes from; `pointer` is a JSON pointer into the device file. */
struct psim_source {
    const char *pointer;
    enum psim_tag tag;
    const char *source;
};

/** What an hour costs, of one device or of one node. */
struct psim_price {
    bool given;          /**< false: not known, and the fields below are not set */
    double usd_per_hour; /**< US dollars, >= 0 */
    const char *date;    /**< when the price held, "2026-11-09" */
    const char *source;
};

#define PSIM_ANY_PRECISION PSIM_PRECISIONS

struct psim_device {
    const char *name; /**< "A100-SXM4-80GB" */
    const char *const *aliases;
    int alias_count;
    int64_t memory_bytes;
    double memory_bandwidth_bytes_per_s;
    double peak_flop_per_s[PSIM_PRECISIONS]; /**< NaN where the device has no such unit */
    struct psim_rate rates[PSIM_WORK_KINDS][PSIM_PRECISIONS + 1]; /**< last: any precision */
    double concurrency_gain;         /**< g in [0, 1]: two kernels at once run at (1+g)/2 each */
    int64_t reserve_context_bytes;   /**< framework and driver context */
    int64_t reserve_workspace_bytes; /**< kernel library workspace */
    double reserve_fragmentation;    /**< share of the allocated bytes lost to the allocator */
    double idle_w, busy_w;           /**< NaN when not known */
    struct psim_price price;         /**< of this device alone */
    const struct psim_source *sources;
    int source_count;
};

/**
 * The rate that applies: kind and precision, kind and any, default and precision, default and any.
 * @param[out] pointer  where it stands in the device file, such as "/cost/gemm/fp32"; at least 64
 *                      bytes, may be NULL
 * @return NULL when the device gives none of the four
 */
const struct psim_rate *psim_device_rate(const struct psim_device *device, enum psim_work_kind kind,
                                         enum psim_precision precision, char *pointer);

/** Origin of a figure: the source with the longest pointer that covers it; NULL means assumed. */
const struct psim_source *psim_device_source(const struct psim_device *device, const char *pointer);

#endif

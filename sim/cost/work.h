/**
 * @file sim/cost/work.h
 * The work of a layer's passes, and the time that a device takes for it.
 *
 * A pass of a layer is one piece of work: FLOP, bytes moved, kernels launched.  Its time is
 * (docs/model.md eq. 1)
 *
 *     t = kernels * launch + ((flop / (e * peak))^p + (bytes / (b * bandwidth))^p)^(1/p)
 *
 * with e (compute), b (memory), launch and p (norm) the device's rate for the kind of work and the
 * precision.  Element-wise work, norms and pooling do no FLOP that count: bytes decide.
 *
 * What is counted, with every operand read once and every result written once:
 *
 *     layer            forward        backward, input            backward, weight
 *     conv2d, linear   x, w -> y      dy, w -> dx                x, dy -> dw    2 FLOP per MAC each
 *     batch_norm       2 x -> y       2 x, 2 dy -> dx            with the input's
 *     relu             x -> y         y, dy -> dx
 *     add              a, b -> y      2 gradients -> 1           only where a and b have one origin
 *     max_pool         x -> y, index  dy, index -> dx
 *     average_pool     x -> y         dy -> dx
 *     cross_entropy    x -> p         p -> dx
 *
 * A BN reads twice, for the statistics and for the result: two kernels.  A layer that reads only
 * images has no backward for its input.
 *
 * All functions are pure and thread-safe.  Does not know: stages, methods.
 */
#ifndef PSIM_COST_WORK_H
#define PSIM_COST_WORK_H

#include "sim/base/status.h"
#include "sim/model/network.h"
#include "sim/model/spec.h"
#include "sim/platform/device.h"

enum psim_cost_pass {
    PSIM_COST_FORWARD,
    PSIM_COST_BACKWARD_INPUT,
    PSIM_COST_BACKWARD_WEIGHT,
    PSIM_COST_PASSES
};

struct psim_work {
    enum psim_work_kind kind;
    double flop, bytes;
    int kernels; /**< 0: there is nothing to do */
};

/** Bytes of an activation, a parameter or a gradient: 4 (fp32, tf32) or 2 (fp16, bf16). */
int psim_element_bytes(enum psim_precision precision);

/** Work of one pass of a layer over a micro-batch. */
struct psim_work psim_layer_work(const struct psim_layer *layer, enum psim_cost_pass pass,
                                 int64_t microbatch, enum psim_precision precision);

/**
 * One optimizer step over `parameters` parameters: one fused kernel that reads and writes each
 * parameter and state once and reads the gradient.  fp16 and bf16 read gradient and write parameter
 * in 2 bytes, and read and write a master copy in fp32; states are fp32 always.
 */
struct psim_work psim_optimizer_work(enum psim_optimizer optimizer, enum psim_precision precision,
                                     int64_t parameters);

/** fp32 bytes per parameter that an optimizer keeps between steps, a master copy not counted. */
int psim_optimizer_state_bytes(enum psim_optimizer optimizer);

/** Bytes per parameter of the fp32 master copy: 0 (fp32, tf32) or 4. */
int psim_master_bytes(enum psim_precision precision);

/**
 * Time of a piece of work, eq. 1.
 * @return PSIM_OK; PSIM_ERR_UNSUPPORTED when the device has no peak for the precision (and the work
 *         has FLOP) or no rate for the kind
 */
enum psim_status psim_work_time(const struct psim_device *device, enum psim_precision precision,
                                const struct psim_work *work, double *time_s,
                                struct psim_error *err) PSIM_CHECKED;

/** Times and FLOP of a block on one device. */
struct psim_block_cost {
    double pass_s[PSIM_COST_PASSES], pass_flop[PSIM_COST_PASSES];
    double update_s;
    double kind_s[PSIM_WORK_KINDS]; /**< of the three passes, by kind of work */
};

/**
 * Sums the layers of a block, pass by pass; layers run one after another.  What a
 * framework does between kernels is in the launch time.
 */
enum psim_status psim_block_cost(const struct psim_block *block,
                                 const struct psim_workload_options *options,
                                 const struct psim_device *device, struct psim_block_cost *out,
                                 struct psim_error *err) PSIM_CHECKED;

#endif

#include "sim/cost/work.h"

#include <math.h>

#define INDEX_BYTES  4.0 /* int32 indices of max-pooling */
#define FLOP_PER_MAC 2.0 /* one multiplication, one addition */

int psim_element_bytes(enum psim_precision precision)
{
    return precision == PSIM_FP16 || precision == PSIM_BF16 ? 2 : 4;
}

int psim_master_bytes(enum psim_precision precision)
{
    return precision == PSIM_FP16 || precision == PSIM_BF16 ? 4 : 0;
}

int psim_optimizer_state_bytes(enum psim_optimizer optimizer)
{
    switch (optimizer) {
    case PSIM_SGD:
        return 0;
    case PSIM_SGD_MOMENTUM: /* momentum */
        return 4;
    case PSIM_ADAM: /* first and second moment */
    case PSIM_ADAMW:
        return 8;
    }
    psim_bug("unknown optimizer");
}

struct psim_work psim_optimizer_work(enum psim_optimizer optimizer, enum psim_precision precision,
                                     int64_t parameters)
{
    const int element = psim_element_bytes(precision);
    const int per_parameter =
        3 * element + 2 * (psim_master_bytes(precision) + psim_optimizer_state_bytes(optimizer));

    return (struct psim_work){.kind = PSIM_WORK_OPTIMIZER,
                              .bytes = (double)per_parameter * (double)parameters,
                              .kernels = parameters > 0 ? 1 : 0};
}

/* Convolution and linear: the three passes read two operands and write the third. */
static struct psim_work matrix_work(const struct psim_layer *layer, enum psim_cost_pass pass,
                                    double batch, int element)
{
    const double activations = batch * ((double)layer->in_elements + (double)layer->out_elements);
    const bool needed = pass != PSIM_COST_BACKWARD_INPUT || layer->needs_input_gradient;

    if (!needed)
        return (struct psim_work){.kind = PSIM_WORK_MEMORY};
    return (struct psim_work){.kind = layer->kind == PSIM_LAYER_LINEAR ? PSIM_WORK_GEMM
                                                                       : PSIM_WORK_CONVOLUTION,
                              .flop = FLOP_PER_MAC * (double)layer->macs * batch,
                              .bytes = element * (activations + (double)layer->parameters),
                              .kernels = 1};
}

/* Elements that a BN moves; without an input gradient only the sums for scale and shift remain. */
static double norm_elements(const struct psim_layer *layer, enum psim_cost_pass pass, int *kernels)
{
    const double x = (double)layer->in_elements;

    *kernels = 2;
    if (pass == PSIM_COST_FORWARD)
        return 3.0 * x;
    if (layer->needs_input_gradient && pass == PSIM_COST_BACKWARD_INPUT)
        return 5.0 * x;
    *kernels = 1;
    if (!layer->needs_input_gradient && pass == PSIM_COST_BACKWARD_WEIGHT)
        return 2.0 * x;
    *kernels = 0;
    return 0.0;
}

/* Elements that a layer without parameters moves in its backward. */
static double backward_elements(const struct psim_layer *layer)
{
    const double in = (double)layer->in_elements, out = (double)layer->out_elements;

    switch (layer->kind) {
    case PSIM_LAYER_RELU:
        return 2.0 * out + in;
    case PSIM_LAYER_ADD:
        return 3.0 * (double)layer->fork_elements;
    case PSIM_LAYER_MAX_POOL:
    case PSIM_LAYER_GLOBAL_AVERAGE_POOL:
    case PSIM_LAYER_CROSS_ENTROPY:
        return out + in;
    case PSIM_LAYER_CONV2D:
    case PSIM_LAYER_LINEAR:
    case PSIM_LAYER_BATCH_NORM:
        break;
    }
    psim_bug("a layer with parameters");
}

struct psim_work psim_layer_work(const struct psim_layer *layer, enum psim_cost_pass pass,
                                 int64_t microbatch, enum psim_precision precision)
{
    const int element = psim_element_bytes(precision);
    const double batch = (double)microbatch;
    double elements = 0.0;
    int kernels = 1;
    struct psim_work work = {.kind = PSIM_WORK_MEMORY};

    if (layer->kind == PSIM_LAYER_CONV2D || layer->kind == PSIM_LAYER_LINEAR)
        return matrix_work(layer, pass, batch, element);
    if (layer->kind == PSIM_LAYER_BATCH_NORM)
        elements = norm_elements(layer, pass, &kernels);
    else if (pass == PSIM_COST_FORWARD)
        elements = (double)layer->in_elements + (double)layer->out_elements;
    else if (pass == PSIM_COST_BACKWARD_INPUT && layer->needs_input_gradient)
        elements = backward_elements(layer);
    if (!(elements > 0.0))
        return work;
    work.bytes = batch * elements * element;
    work.kernels = kernels;
    if (layer->kind == PSIM_LAYER_MAX_POOL)
        work.bytes += batch * INDEX_BYTES * (double)layer->out_elements;
    return work;
}

/* (a^p + b^p)^(1/p), scaled by the larger so that no power overflows. */
static double p_norm(double a, double b, double p)
{
    const double larger = fmax(a, b);

    if (!(larger > 0.0))
        return 0.0;
    return larger * pow(pow(a / larger, p) + pow(b / larger, p), 1.0 / p);
}

enum psim_status psim_work_time(const struct psim_device *device, enum psim_precision precision,
                                const struct psim_work *work, double *time_s,
                                struct psim_error *err)
{
    const struct psim_rate *rate = psim_device_rate(device, work->kind, precision, NULL);
    double compute_s = 0.0;

    if (rate == NULL)
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, "precision",
                         "device \"%s\" has no cost figures for %s work in %s", device->name,
                         psim_work_kind_names[work->kind], psim_precision_names[precision]);
    if (work->flop > 0.0) {
        const double peak = device->peak_flop_per_s[precision];

        if (!(peak > 0.0))
            return psim_fail(err, PSIM_ERR_UNSUPPORTED, "precision",
                             "device \"%s\" has no peak for %s", device->name,
                             psim_precision_names[precision]);
        compute_s = work->flop / (rate->compute * peak);
    }
    *time_s = work->kernels * rate->launch_s +
              p_norm(compute_s, work->bytes / (rate->memory * device->memory_bandwidth_bytes_per_s),
                     rate->norm);
    return PSIM_OK;
}

/* Adds one layer's passes and update to the sums. */
static enum psim_status add_layer(const struct psim_layer *layer,
                                  const struct psim_workload_options *options,
                                  const struct psim_device *device, struct psim_block_cost *cost,
                                  struct psim_error *err)
{
    const struct psim_work update =
        psim_optimizer_work(options->optimizer, options->precision, layer->parameters);
    double time_s = 0.0;
    enum psim_status status = PSIM_OK;

    for (int pass = 0; pass < PSIM_COST_PASSES && status == PSIM_OK; pass++) {
        const struct psim_work work = psim_layer_work(layer, (enum psim_cost_pass)pass,
                                                      options->microbatch, options->precision);

        if (work.kernels == 0)
            continue;
        status = psim_work_time(device, options->precision, &work, &time_s, err);
        cost->pass_s[pass] += time_s;
        cost->pass_flop[pass] += work.flop;
        cost->kind_s[work.kind] += time_s;
    }
    if (status == PSIM_OK && update.kernels > 0) {
        status = psim_work_time(device, options->precision, &update, &time_s, err);
        cost->update_s += time_s;
    }
    return status;
}

enum psim_status psim_block_cost(const struct psim_block *block,
                                 const struct psim_workload_options *options,
                                 const struct psim_device *device, struct psim_block_cost *out,
                                 struct psim_error *err)
{
    struct psim_block_cost cost = {.update_s = 0.0};
    enum psim_status status = PSIM_OK;

    for (int i = 0; i < block->layer_count && status == PSIM_OK; i++)
        status = add_layer(&block->layers[i], options, device, &cost, err);
    if (status == PSIM_OK)
        *out = cost;
    return status;
}

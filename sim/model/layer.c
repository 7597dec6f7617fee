/*
 * The arithmetic of one layer: output shape, parameters, multiply-accumulates.
 *
 * A convolution has out * in * k^2 weights and as many multiply-accumulates per output pixel;
 * divisions of the shape round down, as frameworks do.
 */
#include "sim/model/builder.h"

#include <string.h>

#define DIMENSION_MAX 65536
#define FEATURES_MAX  (1 << 20)

const char *const psim_layer_kind_names[] = {"conv2d", "batch_norm",    "relu",
                                             "add",    "max_pool",      "global_average_pool",
                                             "linear", "cross_entropy", NULL};

const char *psim_layer_kind_name(enum psim_layer_kind kind)
{
    return psim_layer_kind_names[kind];
}

bool psim_layer_kind_from_name(const char *name, enum psim_layer_kind *kind)
{
    for (int i = 0; psim_layer_kind_names[i] != NULL; i++)
        if (strcmp(name, psim_layer_kind_names[i]) == 0) {
            *kind = (enum psim_layer_kind)i;
            return true;
        }
    return false;
}

static enum psim_status check_field(const char *field, int value, int minimum, int maximum,
                                    struct psim_error *err)
{
    if (value >= minimum && value <= maximum)
        return PSIM_OK;
    return psim_fail(err, PSIM_ERR_RANGE, field, "must be in [%d, %d], not %d", minimum, maximum,
                     value);
}

/* Kernel, stride and pad of a window, and the shape that it leaves. */
static enum psim_status shape_window(struct psim_layer *layer, const struct psim_layer_spec *spec,
                                     struct psim_error *err)
{
    int height, width;
    enum psim_status status = check_field("kernel", spec->kernel, 1, DIMENSION_MAX, err);

    if (status == PSIM_OK)
        status = check_field("stride", spec->stride, 1, DIMENSION_MAX, err);
    if (status == PSIM_OK)
        status = check_field("pad", spec->pad, 0, spec->kernel - 1, err);
    if (status != PSIM_OK)
        return status;
    height = layer->in_height + 2 * spec->pad - spec->kernel;
    width = layer->in_width + 2 * spec->pad - spec->kernel;
    if (height < 0 || width < 0)
        return psim_fail(err, PSIM_ERR_RANGE, "input",
                         "too small for the net: nothing is left of %dx%d under a window of %dx%d",
                         layer->in_height, layer->in_width, spec->kernel, spec->kernel);
    layer->kernel = spec->kernel;
    layer->stride = spec->stride;
    layer->pad = spec->pad;
    layer->out_height = height / spec->stride + 1;
    layer->out_width = width / spec->stride + 1;
    return PSIM_OK;
}

/* The rest of the output shape, by kind; the input's stays where nothing changes it. */
static enum psim_status shape_output(struct psim_layer *layer, const struct psim_layer_spec *spec,
                                     struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    layer->out_channels = layer->in_channels;
    layer->out_height = layer->in_height;
    layer->out_width = layer->in_width;
    layer->kernel = 1;
    layer->stride = 1;
    switch (layer->kind) {
    case PSIM_LAYER_CONV2D:
    case PSIM_LAYER_MAX_POOL:
        status = shape_window(layer, spec, err);
        break;
    case PSIM_LAYER_GLOBAL_AVERAGE_POOL:
    case PSIM_LAYER_LINEAR:
        layer->out_height = 1;
        layer->out_width = 1;
        break;
    case PSIM_LAYER_BATCH_NORM:
    case PSIM_LAYER_RELU:
    case PSIM_LAYER_ADD:
    case PSIM_LAYER_CROSS_ENTROPY:
        break;
    }
    if (status == PSIM_OK &&
        (layer->kind == PSIM_LAYER_CONV2D || layer->kind == PSIM_LAYER_LINEAR)) {
        status = check_field("out", spec->out, 1, FEATURES_MAX, err);
        layer->out_channels = spec->out;
        layer->bias = spec->bias;
    }
    return status;
}

enum psim_status psim_layer_shape(struct psim_layer *layer, const struct psim_layer_spec *spec,
                                  struct psim_error *err)
{
    const double in = (double)layer->in_channels * layer->in_height * layer->in_width;
    const enum psim_status status = shape_output(layer, spec, err);
    const double out = (double)layer->out_channels * layer->out_height * layer->out_width;
    double weights = 0.0; /* of one output channel */
    double pixels = 0.0;  /* that each weight is used for */

    if (status != PSIM_OK)
        return status;
    if (layer->kind == PSIM_LAYER_CONV2D) {
        weights = (double)layer->in_channels * layer->kernel * layer->kernel;
        pixels = (double)layer->out_height * layer->out_width;
    } else if (layer->kind == PSIM_LAYER_LINEAR) {
        weights = in;
        pixels = 1.0;
    }
    /* The products below never exceed this one, but for additions of the same order. */
    if (!(2.0 * in + out + layer->out_channels * (weights + 1.0) * (pixels + 1.0) <=
          PSIM_COUNT_MAX))
        return psim_fail(err, PSIM_ERR_RANGE, "input", "the layer's work is too large to count");
    layer->parameters = (int64_t)(layer->out_channels * weights);
    layer->macs = (int64_t)(layer->out_channels * weights * pixels);
    if (layer->bias)
        layer->parameters += layer->out_channels;
    if (layer->kind == PSIM_LAYER_BATCH_NORM) {
        layer->parameters = 2 * (int64_t)layer->in_channels;
        layer->buffers = 2 * (int64_t)layer->in_channels;
    }
    layer->in_elements = (int64_t)(layer->kind == PSIM_LAYER_ADD ? 2.0 * in : in);
    layer->out_elements = (int64_t)out;
    return PSIM_OK;
}

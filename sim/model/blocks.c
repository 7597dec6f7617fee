/*
 * How a residual block is wired.
 *
 * F is a chain of convolution, BN and ReLU: two 3x3, or 1x1, 3x3, 1x1 with a hidden width of a
 * quarter; the stride is on the 3x3 (the first one of the two).
 *
 * ResNet (He et al., arXiv:1512.03385): y = ReLU(x + F(x)) with no ReLU at F's end; a 1x1
 * convolution and BN on x where the shape changes; no biases.
 *
 * PETRA (arXiv:2406.02052 section 4.1), two streams x and x~: y = x~ + F(x), y~ = x with a ReLU at
 * F's end and none after the sum; all convolutions have biases.  Where the shape changes the block
 * cannot be inverted: x~ goes through a 1x1 convolution and BN before the sum; y~ is the output of
 * F's first ReLU (basic) or x through a second 1x1 convolution and BN (bottleneck).
 */
#include "sim/model/builder.h"

#include "sim/base/text.h"

#include <string.h>

#define WIDTH_MAX (1 << 20)

const char *const psim_block_kinds[] = {"petra_basic", "petra_bottleneck", "basic", "bottleneck",
                                        NULL};

struct block_kind {
    bool petra, bottleneck;
};

/* In the order of psim_block_kinds. */
static const struct block_kind block_kinds[] = {
    {true, false}, {true, true}, {false, false}, {false, true}};

/* Convolution and BN, and a ReLU where it has a name. */
struct unit {
    const char *convolution, *norm, *relu;
    int out, kernel, stride;
    bool bias;
};

static enum psim_status push_one(struct psim_builder *builder, const struct psim_layer_spec *spec,
                                 struct psim_tensor *in, struct psim_tensor *out,
                                 struct psim_error *err)
{
    return psim_builder_push(builder, spec, &in, 1, out, err);
}

static enum psim_status push_unit(struct psim_builder *builder, const struct unit *unit,
                                  struct psim_tensor *in, struct psim_tensor *out,
                                  struct psim_error *err)
{
    const struct psim_layer_spec convolution = {.kind = PSIM_LAYER_CONV2D,
                                                .name = unit->convolution,
                                                .out = unit->out,
                                                .kernel = unit->kernel,
                                                .stride = unit->stride,
                                                .pad = unit->kernel / 2,
                                                .bias = unit->bias};
    const struct psim_layer_spec norm = {.kind = PSIM_LAYER_BATCH_NORM, .name = unit->norm};
    const struct psim_layer_spec relu = {.kind = PSIM_LAYER_RELU, .name = unit->relu};
    struct psim_tensor value;
    enum psim_status status = push_one(builder, &convolution, in, &value, err);

    if (status == PSIM_OK)
        status = push_one(builder, &norm, &value, &value, err);
    if (status == PSIM_OK && unit->relu != NULL)
        status = push_one(builder, &relu, &value, &value, err);
    if (status == PSIM_OK)
        *out = value;
    return status;
}

/* The chain F; *first is what leaves its first unit. */
static enum psim_status push_residual(struct psim_builder *builder, struct block_kind kind,
                                      int width, int stride, struct psim_tensor *in,
                                      struct psim_tensor *first, struct psim_tensor *out,
                                      struct psim_error *err)
{
    struct unit units[] = {{"conv1", "bn1", "relu1", width, 3, stride, kind.petra},
                           {"conv2", "bn2", "relu2", width, 3, 1, kind.petra},
                           {"conv3", "bn3", "relu3", width, 1, 1, kind.petra}};
    const int count = kind.bottleneck ? 3 : 2;
    struct psim_tensor value;
    enum psim_status status = PSIM_OK;

    if (kind.bottleneck) {
        units[0].kernel = 1;
        units[0].stride = 1;
        units[1].stride = stride;
        units[0].out = units[1].out = width / 4;
    }
    if (!kind.petra)
        units[count - 1].relu = NULL;
    for (int i = 0; i < count && status == PSIM_OK; i++) {
        status = push_unit(builder, &units[i], i == 0 ? in : &value, &value, err);
        if (i == 0 && status == PSIM_OK)
            *first = value;
    }
    if (status == PSIM_OK)
        *out = value;
    return status;
}

/* out = a + b.  The backward adds up two gradients of `fork`, where the two paths part. */
static enum psim_status push_sum(struct psim_builder *builder, struct psim_tensor *a,
                                 struct psim_tensor *b, const struct psim_tensor *fork,
                                 struct psim_tensor *out, struct psim_error *err)
{
    const struct psim_layer_spec spec = {.kind = PSIM_LAYER_ADD, .name = "add"};
    struct psim_tensor *const inputs[2] = {a, b};
    const enum psim_status status = psim_builder_push(builder, &spec, inputs, 2, out, err);

    if (status == PSIM_OK && !fork->data)
        builder->layers[builder->layer_count - 1].fork_elements = psim_tensor_elements(fork);
    return status;
}

static enum psim_status push_resnet(struct psim_builder *builder, struct block_kind kind, int width,
                                    int stride, struct psim_error *err)
{
    const struct psim_layer_spec relu = {.kind = PSIM_LAYER_RELU, .name = "relu"};
    const struct unit projection = {"shortcut.conv", "shortcut.bn", NULL, width, 1, stride, false};
    struct psim_tensor *x = &builder->streams[0];
    struct psim_tensor shortcut, first, residual, y;
    enum psim_status status =
        push_residual(builder, kind, width, stride, x, &first, &residual, err);

    shortcut = *x;
    if (status == PSIM_OK && builder->block.downsampling)
        status = push_unit(builder, &projection, x, &shortcut, err);
    if (status == PSIM_OK)
        status = push_sum(builder, &residual, &shortcut, x, &y, err);
    if (status == PSIM_OK)
        status = push_one(builder, &relu, &y, &y, err);
    if (status == PSIM_OK)
        *x = y;
    return status;
}

static enum psim_status push_petra(struct psim_builder *builder, struct block_kind kind, int width,
                                   int stride, struct psim_error *err)
{
    const struct unit projection = {"shortcut.conv", "shortcut.bn", NULL, width, 1, stride, true};
    const struct unit projection_of_x = {
        "shortcut2.conv", "shortcut2.bn", NULL, width, 1, stride, true};
    struct psim_tensor *x = &builder->streams[0], *other = &builder->streams[1];
    struct psim_tensor first, residual, y, y_other;
    const struct psim_tensor *fork = x;
    enum psim_status status =
        push_residual(builder, kind, width, stride, x, &first, &residual, err);

    y_other = *x;
    if (status == PSIM_OK && builder->block.downsampling) {
        status = push_unit(builder, &projection, other, other, err);
        if (kind.bottleneck && status == PSIM_OK) {
            status = push_unit(builder, &projection_of_x, x, &y_other, err);
        } else {
            y_other = first;
            fork = &first;
        }
    }
    if (status == PSIM_OK)
        status = push_sum(builder, other, &residual, fork, &y, err);
    if (status == PSIM_OK) {
        *x = y;
        *other = y_other;
    }
    return status;
}

static enum psim_status check_block(const struct psim_builder *builder, struct block_kind kind,
                                    int width, int stride, struct psim_error *err)
{
    const int streams = kind.petra ? 2 : 1;

    if (builder->network->streams != streams)
        return psim_fail(err, PSIM_ERR_SCHEMA, "block", "needs a network of %d stream%s, not of %d",
                         streams, streams == 1 ? "" : "s", builder->network->streams);
    if (stride != 1 && stride != 2)
        return psim_fail(err, PSIM_ERR_RANGE, "stride", "must be 1 or 2, not %d", stride);
    if (width < 1 || width > WIDTH_MAX)
        return psim_fail(err, PSIM_ERR_RANGE, "width", "must be in [1, %d], not %d", WIDTH_MAX,
                         width);
    if (kind.bottleneck && width % 4 != 0)
        return psim_fail(err, PSIM_ERR_RANGE, "width",
                         "of a bottleneck must be a multiple of 4, not %d", width);
    return PSIM_OK;
}

/* The layers of an open block. */
static enum psim_status push_block(struct psim_builder *builder, struct block_kind kind, int width,
                                   int stride, struct psim_error *err)
{
    if (kind.petra && !psim_builder_split(builder))
        return psim_fail(err, PSIM_ERR_RANGE, "block",
                         "needs an even number of channels to make two streams of, not %d",
                         builder->streams[0].channels);
    builder->block.downsampling = stride != 1 || builder->streams[0].channels != width;
    builder->block.reversible = kind.petra && !builder->block.downsampling;
    return kind.petra ? push_petra(builder, kind, width, stride, err)
                      : push_resnet(builder, kind, width, stride, err);
}

enum psim_status psim_builder_add_block(struct psim_builder *builder, const char *kind,
                                        const char *name, int width, int stride,
                                        struct psim_error *err)
{
    const size_t kinds = sizeof(block_kinds) / sizeof(block_kinds[0]);
    size_t index = 0;
    enum psim_status status;

    while (index < kinds && strcmp(psim_block_kinds[index], kind) != 0)
        index++;
    if (index == kinds) {
        const char *nearest = psim_nearest_name(kind, psim_block_kinds, kinds);

        return psim_fail(err, PSIM_ERR_NOTFOUND, "block", "no block is called \"%s\"%s%s%s", kind,
                         nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest,
                         nearest == NULL ? "" : "\"?");
    }
    status = check_block(builder, block_kinds[index], width, stride, err);
    if (status == PSIM_OK)
        status = psim_builder_begin_block(builder, name, err);
    if (status != PSIM_OK)
        return status;
    status = push_block(builder, block_kinds[index], width, stride, err);
    if (status != PSIM_OK) {
        builder->open = false; /* so that a caller may look at the next block */
        return status;
    }
    return psim_builder_end_block(builder, err);
}

/*
 * The catalogue: ResNet and PETRA's RevNet, built from a row of depths.
 *
 * Stem and head follow the public definitions.  ResNet: 7x7 stride 2 and a max-pool of 3x3 stride
 * 2; RevNet: the same convolution to twice the channels and a max-pool of 2x2 stride 2, the head
 * reads both streams side by side.  Small images get a 3x3 convolution and no pooling in both.
 */
#include "sim/model/network.h"

#include "sim/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LARGE_IMAGE  64 /* height from which the stem reduces the image */
#define STEM_WIDTH   64
#define SECTIONS     4
#define CATALOGUE_N  8
#define RESNET_PAPER "He et al., arXiv:1512.03385 table 1; stride on the 3x3 as in torchvision"
#define PETRA_PAPER  "arXiv:2406.02052 section 4.1; github.com/stephane-rivaud/PETRA"

const struct psim_network_entry psim_network_catalogue[] = {
    {"revnet18", "PETRA's reversible ResNet-18, 10 blocks", PETRA_PAPER, true},
    {"revnet34", "PETRA's reversible ResNet-34, 18 blocks", PETRA_PAPER, true},
    {"revnet50", "PETRA's reversible ResNet-50, 18 blocks", PETRA_PAPER, true},
    {"revnet101", "PETRA's reversible ResNet-101, 35 blocks (its code only)", PETRA_PAPER, true},
    {"resnet18", "ResNet-18, 10 blocks", RESNET_PAPER, false},
    {"resnet34", "ResNet-34, 18 blocks", RESNET_PAPER, false},
    {"resnet50", "ResNet-50, 18 blocks", RESNET_PAPER, false},
    {"resnet101", "ResNet-101, 35 blocks", RESNET_PAPER, false},
    {NULL, NULL, NULL, false},
};

struct recipe {
    const char *block;    /* kind */
    int depths[SECTIONS]; /* residual blocks in each section */
    int width;            /* of a stream in the first section; doubles from section to section */
};

/* In the order of the catalogue. */
static const struct recipe recipes[CATALOGUE_N] = {
    {"petra_basic", {2, 2, 2, 2}, 64},
    {"petra_basic", {3, 4, 6, 3}, 64},
    {"petra_bottleneck", {3, 4, 6, 3}, 256},
    {"petra_bottleneck", {3, 4, 23, 3}, 256},
    {"basic", {2, 2, 2, 2}, 64},
    {"basic", {3, 4, 6, 3}, 64},
    {"bottleneck", {3, 4, 6, 3}, 256},
    {"bottleneck", {3, 4, 23, 3}, 256},
};

static enum psim_status add_chain(struct psim_builder *builder, const char *name,
                                  const struct psim_layer_spec *layers, int count,
                                  struct psim_error *err)
{
    enum psim_status status = psim_builder_begin_block(builder, name, err);

    for (int i = 0; i < count && status == PSIM_OK; i++)
        status = psim_builder_add_layer(builder, &layers[i], err);
    return status == PSIM_OK ? psim_builder_end_block(builder, err) : status;
}

/* Channels of a scaled network: multiples of 8, since a bottleneck takes a quarter of them and a
 * reversible net halves them. */
static int scaled_channels(int channels, double width)
{
    const int scaled = 8 * (int)lround(channels * width / 8);

    return scaled < 8 ? 8 : scaled;
}

static enum psim_status add_stem(struct psim_builder *builder, bool reversible, bool large,
                                 double width, struct psim_error *err)
{
    const int channels = scaled_channels(STEM_WIDTH, width);
    const struct psim_layer_spec layers[] = {
        {.kind = PSIM_LAYER_CONV2D,
         .name = "conv",
         .out = reversible ? 2 * channels : channels,
         .kernel = large ? 7 : 3,
         .stride = large ? 2 : 1,
         .pad = large ? 3 : 1,
         .bias = reversible},
        {.kind = PSIM_LAYER_BATCH_NORM, .name = "bn"},
        {.kind = PSIM_LAYER_RELU, .name = "relu"},
        {.kind = PSIM_LAYER_MAX_POOL,
         .name = "max_pool",
         .kernel = reversible ? 2 : 3,
         .stride = 2,
         .pad = reversible ? 0 : 1},
    };

    return add_chain(builder, "stem", layers, large ? 4 : 3, err);
}

static enum psim_status add_head(struct psim_builder *builder, int classes, struct psim_error *err)
{
    const struct psim_layer_spec layers[] = {
        {.kind = PSIM_LAYER_GLOBAL_AVERAGE_POOL, .name = "average_pool"},
        {.kind = PSIM_LAYER_LINEAR, .name = "linear", .out = classes, .bias = true},
        {.kind = PSIM_LAYER_CROSS_ENTROPY, .name = "cross_entropy"},
    };

    return add_chain(builder, "head", layers, 3, err);
}

static enum psim_status add_sections(struct psim_builder *builder, const struct recipe *recipe,
                                     const struct psim_network_scale *scale, struct psim_error *err)
{
    const int width = scaled_channels(recipe->width, scale->width);

    for (int section = 0; section < SECTIONS; section++)
        for (int i = 0; i < scale->depth * recipe->depths[section]; i++) {
            const int stride = section > 0 && i == 0 ? 2 : 1;
            char name[32];
            enum psim_status status;

            (void)snprintf(name, sizeof(name), "layer%d.%d", section + 1, i);
            status =
                psim_builder_add_block(builder, recipe->block, name, width << section, stride, err);
            if (status != PSIM_OK)
                return status;
        }
    return PSIM_OK;
}

/* Index of a name, or -1 with the nearest name in the error. */
static int find_entry(const char *name, struct psim_error *err)
{
    const char *names[CATALOGUE_N];
    const char *nearest;

    for (int i = 0; i < CATALOGUE_N; i++) {
        names[i] = psim_network_catalogue[i].name;
        if (strcmp(names[i], name) == 0)
            return i;
    }
    nearest = psim_nearest_name(name, names, CATALOGUE_N);
    (void)psim_fail(err, PSIM_ERR_NOTFOUND, "name", "no model is called \"%s\"%s%s%s", name,
                    nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest,
                    nearest == NULL ? "" : "\"?");
    return -1;
}

enum psim_status psim_network_build(const char *name, const int input[3], int classes,
                                    struct psim_network *out, struct psim_error *err)
{
    const struct psim_network_scale scale = {1, 1};

    return psim_network_build_scaled(name, input, classes, &scale, out, err);
}

/* "revnet50", "revnet50-d2", "revnet50-w1.5". */
static void name_of(const char *name, const struct psim_network_scale *scale, char *out,
                    size_t size)
{
    const int length = snprintf(out, size, "%s", name);
    int more = 0;

    if (scale->depth != 1)
        more = snprintf(out + length, size - (size_t)length, "-d%d", scale->depth);
    if (scale->width != 1)
        (void)snprintf(out + length + more, size - (size_t)(length + more), "-w%g", scale->width);
}

enum psim_status psim_network_build_scaled(const char *name, const int input[3], int classes,
                                           const struct psim_network_scale *scale,
                                           struct psim_network *out, struct psim_error *err)
{
    const int index = find_entry(name, err);
    char full[96];
    struct psim_network network = {PSIM_ARENA_INIT, NULL, {0, 0, 0}, 0, 0, NULL, 0, 0, 0, 0, 0, 0};
    struct psim_builder *builder = NULL;
    enum psim_status status;
    bool reversible;

    if (index < 0)
        return PSIM_ERR_NOTFOUND;
    if (scale->depth < 1 || scale->depth > PSIM_DEPTH_MAX)
        return psim_fail(err, PSIM_ERR_RANGE, "depth", "must be in [1, %d], not %d", PSIM_DEPTH_MAX,
                         scale->depth);
    if (!(scale->width >= PSIM_WIDTH_MIN && scale->width <= PSIM_WIDTH_MAX))
        return psim_fail(err, PSIM_ERR_RANGE, "width", "must be in [%g, %g], not %g",
                         PSIM_WIDTH_MIN, PSIM_WIDTH_MAX, scale->width);
    name_of(name, scale, full, sizeof full);
    reversible = psim_network_catalogue[index].reversible;
    builder = psim_builder_new(&network, full, input, classes, reversible ? 2 : 1);
    if (builder == NULL) {
        status = psim_fail(err, PSIM_ERR_NOMEM, "name", "%s", psim_status_text(PSIM_ERR_NOMEM));
        goto out;
    }
    status = add_stem(builder, reversible, input[1] >= LARGE_IMAGE, scale->width, err);
    if (status == PSIM_OK)
        status = add_sections(builder, &recipes[index], scale, err);
    if (status == PSIM_OK)
        status = add_head(builder, classes, err);
    if (status == PSIM_OK)
        status = psim_builder_finish(builder, err);
out:
    psim_builder_free(builder);
    if (status == PSIM_OK)
        *out = network;
    else
        psim_network_release(&network);
    return status;
}

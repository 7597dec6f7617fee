#include "kernels/net/nets.h"

#include "sim/base/text.h"

#include <stdio.h>
#include <string.h>

#define LARGE_IMAGE 64 /* height from which the stem reduces the image */
#define STEM_WIDTH  64
#define SECTIONS    4

struct recipe {
    const char *name, *block;
    int depths[SECTIONS]; /* residual blocks in each section */
    int width;            /* of a stream in the first section; doubles from section to section */
    bool reversible;
};

static const struct recipe recipes[] = {
    {"revnet18", "petra_basic", {2, 2, 2, 2}, 64, true},
    {"revnet34", "petra_basic", {3, 4, 6, 3}, 64, true},
    {"revnet50", "petra_bottleneck", {3, 4, 6, 3}, 256, true},
    {"resnet18", "basic", {2, 2, 2, 2}, 64, false},
    {"resnet34", "basic", {3, 4, 6, 3}, 64, false},
    {"resnet50", "bottleneck", {3, 4, 6, 3}, 256, false},
};

#define RECIPES (sizeof(recipes) / sizeof(recipes[0]))

static const struct recipe *find_recipe(const char *name, struct psim_error *err)
{
    const char *names[RECIPES];
    const char *nearest;

    for (size_t i = 0; i < RECIPES; i++) {
        names[i] = recipes[i].name;
        if (strcmp(names[i], name) == 0)
            return &recipes[i];
    }
    nearest = psim_nearest_name(name, names, RECIPES);
    (void)psim_fail(err, PSIM_ERR_NOTFOUND, "name", "no net is called \"%s\"%s%s%s", name,
                    nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest,
                    nearest == NULL ? "" : "\"?");
    return NULL;
}

static struct pk_block_spec *add_block(struct pk_net *net, const char *kind, const char *name)
{
    struct pk_block_spec *block = &net->blocks[net->block_count];

    snprintf(net->names[net->block_count], sizeof(net->names[0]), "%.15s", name);
    block->kind = kind;
    block->name = net->names[net->block_count];
    block->ordinal = net->block_count++;
    return block;
}

static void add_stem(struct pk_net *net, const struct recipe *recipe, bool large)
{
    struct pk_block_spec *stem = add_block(net, "stem", "stem");

    stem->width = STEM_WIDTH;
    stem->streams = recipe->reversible ? 2 : 1;
    stem->bias = recipe->reversible;
    stem->kernel = large ? 7 : 3;
    stem->stride = large ? 2 : 1;
    stem->pool_kernel = large ? (recipe->reversible ? 2 : 3) : 0;
    stem->pool_pad = recipe->reversible ? 0 : 1;
}

enum psim_status pk_net_build(const char *name, int size, int classes, struct pk_net *net,
                              struct psim_error *err)
{
    const struct recipe *recipe = find_recipe(name, err);

    if (recipe == NULL)
        return PSIM_ERR_NOTFOUND;
    if (size < 1)
        return psim_fail(err, PSIM_ERR_RANGE, "size", "must be at least 1, not %d", size);
    if (classes < 1)
        return psim_fail(err, PSIM_ERR_RANGE, "classes", "must be at least 1, not %d", classes);
    memset(net, 0, sizeof(*net));
    net->input = (struct pk_shape){.streams = 1, .channels = 3, .height = size, .width = size};
    add_stem(net, recipe, size >= LARGE_IMAGE);
    for (int section = 0; section < SECTIONS; section++)
        for (int i = 0; i < recipe->depths[section]; i++) {
            struct pk_block_spec *block;
            char label[32];

            snprintf(label, sizeof(label), "layer%d.%d", section + 1, i);
            block = add_block(net, recipe->block, label);
            block->width = recipe->width << section;
            block->stride = section > 0 && i == 0 ? 2 : 1;
        }
    add_block(net, "head", "head")->classes = classes;
    return PSIM_OK;
}

enum psim_status pk_net_stages(struct pk_context *context, const struct pk_net *net,
                               const struct pk_stage_spec *spec, struct pk_stage **stages,
                               struct psim_error *err)
{
    struct pk_stage *made[PK_NET_BLOCKS_MAX] = {NULL};
    struct pk_stage_spec one = *spec;
    enum psim_status status = PSIM_OK;

    one.input = net->input;
    one.block_count = 1;
    for (int i = 0; i < net->block_count && status == PSIM_OK; i++) {
        one.blocks = &net->blocks[i];
        one.input_is_data = i == 0;
        status = pk_stage_new(context, &one, &made[i], err);
        if (status == PSIM_OK)
            one.input = pk_stage_output(made[i]);
    }
    for (int i = 0; i < net->block_count; i++) {
        if (status == PSIM_OK)
            stages[i] = made[i];
        else
            pk_stage_free(made[i]);
    }
    return status;
}

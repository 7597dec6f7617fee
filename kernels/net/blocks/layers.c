/* Any list of layers on one stream; two streams are added up or read side by side by the first. */
#include "kernels/net/nodes.h"

static bool is_relu(const struct pk_block_spec *spec, int index)
{
    return index < spec->layer_count && spec->layers[index].kind == PK_LAYER_RELU;
}

static int add_layer(struct pk_program *p, const struct pk_layer_spec *layer, int x, bool relu)
{
    switch (layer->kind) {
    case PK_LAYER_CONV2D:
        return pk_program_conv(p, x,
                               &(struct pk_unit){layer->name, layer->out, layer->kernel,
                                                 layer->stride, layer->pad, layer->bias});
    case PK_LAYER_BATCH_NORM:
        return pk_program_norm(p, layer->name, x, relu, PK_NO_VALUE, false);
    case PK_LAYER_RELU:
        return pk_program_relu(p, x);
    case PK_LAYER_MAX_POOL:
        return pk_program_pool(p, x, layer->kernel, layer->stride, layer->pad);
    case PK_LAYER_GLOBAL_AVERAGE_POOL:
        return pk_program_average(p, x, PK_NO_VALUE);
    case PK_LAYER_LINEAR:
        return pk_program_linear(p, layer->name, x, layer->out, layer->bias);
    case PK_LAYER_LAYER_NORM:
        return pk_program_layer_norm(p, layer->name, x);
    case PK_LAYER_GELU:
        return pk_program_gelu(p, x);
    case PK_LAYER_CROSS_ENTROPY:
        pk_program_loss(p, x);
        break;
    case PK_LAYER_ADD:
        pk_program_fail(p, PSIM_ERR_RANGE, "layers", "there are no two streams to add up");
        break;
    }
    return x;
}

static void build(struct pk_block_build *b)
{
    const struct pk_block_spec *spec = b->spec;
    struct pk_program *p = b->program;
    int x = b->x[0], first = 0;

    if (spec->layer_count < 1)
        pk_program_fail(p, PSIM_ERR_RANGE, "layers", "are none");
    if (b->streams == 2 && p->status == PSIM_OK) {
        const enum pk_layer_kind kind = spec->layers[0].kind;

        first = kind == PK_LAYER_ADD || kind == PK_LAYER_GLOBAL_AVERAGE_POOL;
        x = kind == PK_LAYER_ADD                   ? pk_program_add(p, b->x[1], x)
            : kind == PK_LAYER_GLOBAL_AVERAGE_POOL ? pk_program_average(p, x, b->x[1])
                                                   : pk_program_join(p, x, b->x[1]);
    }
    for (int i = first; i < spec->layer_count && p->status == PSIM_OK; i++) {
        const bool fused = spec->layers[i].kind == PK_LAYER_BATCH_NORM && is_relu(spec, i + 1);

        if (p->loss)
            pk_program_fail(p, PSIM_ERR_RANGE, "layers", "nothing may follow the loss");
        x = add_layer(p, &spec->layers[i], x, fused);
        i += fused;
    }
    b->x[0] = x;
    b->streams = 1;
}

const struct pk_block_kind pk_block_kind_layers = {
    .name = "layers",
    .summary = "a list of layers",
    .build = build,
};

/*
 * Networks block by block, with the account of what a forward keeps for its backward.
 *
 * A tensor that several layers need is kept once, by the first that asks for it.  A block keeps its
 * own input itself, even where the block before keeps the same values as its output: apart, they
 * are on two devices; together, shared_elements says what was counted twice.  A BN also keeps one
 * mean and one inverse deviation per channel and batch, too few to count per sample.
 */
#include "sim/model/builder.h"

#include <string.h>

#define INPUT_MAX   65536
#define CLASSES_MAX (1 << 20)
#define BLOCKS_MAX  16384
#define LAYERS_MAX  4096 /* of one block */
#define INDEX_BYTES 4    /* int32 indices of max-pooling */

static enum psim_status out_of_memory(struct psim_error *err)
{
    return psim_fail(err, PSIM_ERR_NOMEM, "model", "%s", psim_status_text(PSIM_ERR_NOMEM));
}

int64_t psim_tensor_elements(const struct psim_tensor *tensor)
{
    return (int64_t)tensor->channels * tensor->height * tensor->width;
}

struct psim_builder *psim_builder_new(struct psim_network *network, const char *name,
                                      const int input[3], int classes, int streams)
{
    struct psim_builder *builder = psim_alloc(1, sizeof(*builder));

    if (builder == NULL)
        return NULL;
    network->name = psim_arena_text(&network->arena, name, strlen(name));
    if (network->name == NULL) {
        psim_free(builder);
        return NULL;
    }
    for (int i = 0; i < 3; i++)
        network->input[i] = input[i];
    network->classes = classes;
    network->streams = streams;
    builder->network = network;
    builder->stream_count = 1;
    builder->streams[0] = (struct psim_tensor){
        .channels = input[0], .height = input[1], .width = input[2], .data = true, .source = -1};
    return builder;
}

void psim_builder_free(struct psim_builder *builder)
{
    if (builder == NULL)
        return;
    psim_free(builder->blocks);
    psim_free(builder->layers);
    psim_free(builder);
}

bool psim_builder_split(struct psim_builder *builder)
{
    if (builder->stream_count == 2)
        return true;
    if (builder->streams[0].channels % 2 != 0)
        return false;
    builder->streams[0].channels /= 2;
    builder->streams[1] = builder->streams[0];
    builder->stream_count = 2;
    return true;
}

static enum psim_status check_network(const struct psim_network *network, struct psim_error *err)
{
    for (int i = 0; i < 3; i++)
        if (network->input[i] < 1 || network->input[i] > INPUT_MAX)
            return psim_fail(err, PSIM_ERR_RANGE, "input", "must be in [1, %d], not %d", INPUT_MAX,
                             network->input[i]);
    if (network->classes < 1 || network->classes > CLASSES_MAX)
        return psim_fail(err, PSIM_ERR_RANGE, "classes", "must be in [1, %d], not %d", CLASSES_MAX,
                         network->classes);
    return PSIM_OK;
}

enum psim_status psim_builder_begin_block(struct psim_builder *builder, const char *name,
                                          struct psim_error *err)
{
    const enum psim_status status = check_network(builder->network, err);
    void *blocks = builder->blocks;

    PSIM_ASSERT(!builder->open);
    if (status != PSIM_OK)
        return status;
    for (int i = 0; i < builder->block_count; i++)
        if (strcmp(builder->blocks[i].name, name) == 0)
            return psim_fail(err, PSIM_ERR_SCHEMA, "name", "two blocks are named \"%s\"", name);
    if (builder->block_count >= BLOCKS_MAX)
        return psim_fail(err, PSIM_ERR_RANGE, "model", "has more than %d blocks", BLOCKS_MAX);
    if (!psim_grow(&blocks, builder->block_count, &builder->block_capacity,
                   sizeof(struct psim_block)))
        return out_of_memory(err);
    builder->blocks = blocks;
    builder->block =
        (struct psim_block){.name = psim_arena_text(&builder->network->arena, name, strlen(name))};
    if (builder->block.name == NULL)
        return out_of_memory(err);

    if (builder->network->streams == 2 && builder->block_count > 0)
        (void)psim_builder_split(builder); /* odd channels: past the last residual block */
    builder->input_stream_elements = psim_tensor_elements(&builder->streams[0]);
    builder->block.stream_elements = builder->input_stream_elements;
    builder->block.input_elements = builder->stream_count * builder->input_stream_elements;
    for (int i = 0; i < 2; i++) {
        builder->kept_before[i] = builder->streams[i].kept;
        builder->kept_input[i] = false;
        builder->streams[i].kept = false;
        builder->streams[i].source = i;
    }
    builder->layer_count = 0;
    builder->open = true;
    return PSIM_OK;
}

static void keep(struct psim_builder *builder, struct psim_layer *layer, struct psim_tensor *tensor)
{
    if (tensor->kept)
        return;
    tensor->kept = true;
    layer->kept_elements += psim_tensor_elements(tensor);
    if (tensor->source >= 0)
        builder->kept_input[tensor->source] = true;
}

/* What the backward of one layer needs of its forward. */
static void keep_operands(struct psim_builder *builder, struct psim_layer *layer,
                          struct psim_tensor *const *inputs, int count, struct psim_tensor *out)
{
    switch (layer->kind) {
    case PSIM_LAYER_CONV2D:
    case PSIM_LAYER_BATCH_NORM:
    case PSIM_LAYER_LINEAR:
        for (int i = 0; i < count; i++)
            keep(builder, layer, inputs[i]);
        break;
    case PSIM_LAYER_RELU:          /* the output's sign is the mask */
    case PSIM_LAYER_CROSS_ENTROPY: /* the probabilities */
        keep(builder, layer, out);
        break;
    case PSIM_LAYER_MAX_POOL:
        layer->kept_index_bytes = INDEX_BYTES * layer->out_elements;
        break;
    case PSIM_LAYER_ADD:
    case PSIM_LAYER_GLOBAL_AVERAGE_POOL:
        break;
    }
}

static enum psim_status name_layer(struct psim_builder *builder, const char *name,
                                   struct psim_layer *layer, struct psim_error *err)
{
    struct psim_arena *arena = &builder->network->arena;

    layer->name = name != NULL ? psim_arena_text(arena, name, strlen(name))
                               : psim_arena_printf(arena, "%s%d", psim_layer_kind_name(layer->kind),
                                                   builder->layer_count + 1);
    if (layer->name == NULL)
        return out_of_memory(err);
    for (int i = 0; i < builder->layer_count; i++)
        if (strcmp(builder->layers[i].name, layer->name) == 0)
            return psim_fail(err, PSIM_ERR_SCHEMA, "name", "two layers are named \"%s\"",
                             layer->name);
    return PSIM_OK;
}

/* Refuses what would make a sum over the network inexact. */
static enum psim_status count_layer(struct psim_builder *builder, const struct psim_layer *layer,
                                    struct psim_error *err)
{
    const double counted = builder->counted + (double)layer->macs + (double)layer->parameters +
                           (double)layer->in_elements + (double)layer->out_elements;

    if (builder->layer_count >= LAYERS_MAX)
        return psim_fail(err, PSIM_ERR_RANGE, "layers", "are more than %d in one block",
                         LAYERS_MAX);
    if (!(counted <= PSIM_COUNT_MAX))
        return psim_fail(err, PSIM_ERR_RANGE, "input", "the network's work is too large to count");
    builder->counted = counted;
    return PSIM_OK;
}

enum psim_status psim_builder_push(struct psim_builder *builder, const struct psim_layer_spec *spec,
                                   struct psim_tensor *const *inputs, int count,
                                   struct psim_tensor *out, struct psim_error *err)
{
    const bool sum = spec->kind == PSIM_LAYER_ADD;
    struct psim_layer layer = {.kind = spec->kind,
                               .in_channels = inputs[0]->channels * (sum ? 1 : count),
                               .in_height = inputs[0]->height,
                               .in_width = inputs[0]->width};
    struct psim_tensor result = {.data = true, .source = -1};
    enum psim_status status = psim_layer_shape(&layer, spec, err);
    void *layers = builder->layers;

    if (status == PSIM_OK)
        status = name_layer(builder, spec->name, &layer, err);
    if (status == PSIM_OK)
        status = count_layer(builder, &layer, err);
    if (status != PSIM_OK)
        return status;
    if (!psim_grow(&layers, builder->layer_count, &builder->layer_capacity, sizeof(layer)))
        return out_of_memory(err);
    builder->layers = layers;

    for (int i = 0; i < count; i++)
        result.data = result.data && inputs[i]->data;
    layer.needs_input_gradient = !result.data;
    result.data = result.data && layer.parameters == 0;
    result.channels = layer.out_channels;
    result.height = layer.out_height;
    result.width = layer.out_width;
    keep_operands(builder, &layer, inputs, count, &result);
    builder->layers[builder->layer_count++] = layer;
    *out = result;
    return PSIM_OK;
}

enum psim_status psim_builder_add_layer(struct psim_builder *builder,
                                        const struct psim_layer_spec *spec, struct psim_error *err)
{
    struct psim_tensor *const inputs[2] = {&builder->streams[0], &builder->streams[1]};
    enum psim_status status;

    PSIM_ASSERT(builder->open);
    if (spec->kind == PSIM_LAYER_ADD && !psim_builder_split(builder))
        return psim_fail(err, PSIM_ERR_SCHEMA, "kind", "there are no two streams to add up");
    status =
        psim_builder_push(builder, spec, inputs, builder->stream_count, &builder->streams[0], err);
    if (status == PSIM_OK)
        builder->stream_count = 1;
    return status;
}

/* Adds a layer's or a block's counts to a sum. */
#define ADD_COUNTS(sum, part)                                                                      \
    do {                                                                                           \
        (sum)->parameters += (part)->parameters;                                                   \
        (sum)->buffers += (part)->buffers;                                                         \
        (sum)->macs += (part)->macs;                                                               \
        (sum)->kept_elements += (part)->kept_elements;                                             \
        (sum)->kept_index_bytes += (part)->kept_index_bytes;                                       \
    } while (0)

enum psim_status psim_builder_end_block(struct psim_builder *builder, struct psim_error *err)
{
    struct psim_block *block = &builder->block;

    PSIM_ASSERT(builder->open);
    builder->open = false; /* also on failure, so that a caller may look at the next block */
    if (builder->layer_count == 0)
        return psim_fail(err, PSIM_ERR_SCHEMA, "layers", "block \"%s\" has no layers", block->name);
    block->layers = psim_arena_alloc(&builder->network->arena, (size_t)builder->layer_count,
                                     sizeof(*block->layers));
    if (block->layers == NULL)
        return out_of_memory(err);
    memcpy(block->layers, builder->layers, (size_t)builder->layer_count * sizeof(*block->layers));
    block->layer_count = builder->layer_count;
    for (int i = 0; i < block->layer_count; i++)
        ADD_COUNTS(block, &block->layers[i]);
    for (int i = 0; i < 2; i++)
        if (builder->kept_before[i] && builder->kept_input[i])
            block->shared_elements += builder->input_stream_elements;
    block->output_elements = builder->stream_count * psim_tensor_elements(&builder->streams[0]);
    builder->blocks[builder->block_count++] = *block;
    return PSIM_OK;
}

/* A net ends in its loss, and has it nowhere else. */
static enum psim_status check_loss(const struct psim_builder *builder, struct psim_error *err)
{
    const struct psim_network *network = builder->network;

    for (int i = 0; i < builder->block_count; i++) {
        const struct psim_block *block = &builder->blocks[i];

        for (int k = 0; k < block->layer_count; k++) {
            const struct psim_layer *layer = &block->layers[k];
            const bool last = i == builder->block_count - 1 && k == block->layer_count - 1;

            if ((layer->kind == PSIM_LAYER_CROSS_ENTROPY) != last)
                return psim_fail(err, PSIM_ERR_SCHEMA, "layers",
                                 "a network ends in one cross_entropy layer; see \"%s\" of \"%s\"",
                                 layer->name, block->name);
            if (last && layer->in_elements != network->classes)
                return psim_fail(err, PSIM_ERR_RANGE, "classes",
                                 "are %d, but the last layer has %lld outputs", network->classes,
                                 (long long)layer->in_elements);
        }
    }
    return PSIM_OK;
}

enum psim_status psim_builder_finish(struct psim_builder *builder, struct psim_error *err)
{
    struct psim_network *network = builder->network;
    const size_t count = (size_t)builder->block_count;
    enum psim_status status;

    PSIM_ASSERT(!builder->open);
    if (builder->block_count == 0)
        return psim_fail(err, PSIM_ERR_SCHEMA, "stages", "the network has no blocks");
    status = check_loss(builder, err);
    if (status != PSIM_OK)
        return status;
    network->blocks = psim_arena_alloc(&network->arena, count, sizeof(*network->blocks));
    if (network->blocks == NULL)
        return out_of_memory(err);
    memcpy(network->blocks, builder->blocks, count * sizeof(*network->blocks));
    network->block_count = builder->block_count;
    network->blocks[count - 1].output_elements = 0; /* the loss stays where it is */
    for (size_t i = 0; i < count; i++) {
        ADD_COUNTS(network, &network->blocks[i]);
        network->kept_elements -= network->blocks[i].shared_elements;
    }
    return PSIM_OK;
}

void psim_network_release(struct psim_network *network)
{
    psim_arena_release(&network->arena);
    memset(network, 0, sizeof(*network));
}

/*
 * model/1: a network as stages of layers or of named residual blocks.
 */
#include "sim/config/formats.h"

#include <string.h>

#define SIZE_LIMIT    65536   /* of an image's side, a kernel, a stride */
#define FEATURE_LIMIT 1048576 /* channels, features, classes */
#define STAGE_LIMIT   16384

/* Keys that a layer has beside its kind and name. */
enum { LAYER_OUT = 1 << 0, LAYER_WINDOW = 1 << 1, LAYER_BIAS = 1 << 2 };

static unsigned layer_keys(enum psim_layer_kind kind)
{
    switch (kind) {
    case PSIM_LAYER_CONV2D:
        return LAYER_OUT | LAYER_WINDOW | LAYER_BIAS;
    case PSIM_LAYER_LINEAR:
        return LAYER_OUT | LAYER_BIAS;
    case PSIM_LAYER_MAX_POOL:
        return LAYER_WINDOW;
    case PSIM_LAYER_BATCH_NORM:
    case PSIM_LAYER_RELU:
    case PSIM_LAYER_ADD:
    case PSIM_LAYER_GLOBAL_AVERAGE_POOL:
    case PSIM_LAYER_CROSS_ENTROPY:
        break;
    }
    return 0;
}

bool psim_read_input(struct psim_reader *reader, const struct psim_node *list, int out[3])
{
    const int *sizes;

    if (list->type == PSIM_NODE_ARRAY && list->count != 3) {
        psim_reader_error(reader, list, PSIM_ERR_SCHEMA, NULL,
                          "must have three elements, channels, height and width, not %d",
                          list->count);
        return false;
    }
    sizes = psim_read_counts(reader, list, SIZE_LIMIT, 3);
    if (sizes != NULL)
        memcpy(out, sizes, 3 * sizeof *sizes);
    return sizes != NULL;
}

/* Where a layer's numbers are read to; a stride of 0 was not given. */
struct layer_counts {
    int64_t out, kernel, stride, pad;
};

/* Adds the fields of a kind's keys; returns how many there are then. */
static size_t add_layer_fields(unsigned keys, struct layer_counts *counts, bool *bias,
                               struct psim_field *fields, size_t count)
{
    const struct psim_field number = {
        .kind = PSIM_FIELD_COUNT, .required = true, .minimum = 1, .maximum = SIZE_LIMIT};
    struct psim_field *field;

    if (keys & LAYER_OUT) {
        field = &fields[count++];
        *field = number;
        field->key = "out";
        field->maximum = FEATURE_LIMIT;
        field->to.count = &counts->out;
    }
    if (keys & LAYER_WINDOW) {
        fields[count] = fields[count + 1] = fields[count + 2] = number;
        fields[count].key = "kernel";
        fields[count].to.count = &counts->kernel;
        fields[count + 1].key = "stride";
        fields[count + 1].required = false;
        fields[count + 1].to.count = &counts->stride;
        fields[count + 2].key = "pad";
        fields[count + 2].required = false;
        fields[count + 2].minimum = 0;
        fields[count + 2].to.count = &counts->pad;
        count += 3;
    }
    if (keys & LAYER_BIAS)
        fields[count++] =
            (struct psim_field){.key = "bias", .kind = PSIM_FIELD_BOOL, .to.flag = bias};
    return count;
}

/* A pooling window's stride is its size unless the file says otherwise; a convolution's is 1. */
static bool read_layer(struct psim_reader *reader, const struct psim_node *layer,
                       struct psim_layer_spec *out)
{
    const int faults = reader->faults;
    struct layer_counts counts = {.kernel = 1};
    const struct psim_node *node;
    int kind = 0;
    const struct psim_field deciding = {.key = "kind",
                                        .kind = PSIM_FIELD_CHOICE,
                                        .names = psim_layer_kind_names,
                                        .to.choice = &kind};
    struct psim_field fields[8] = {
        {.key = "kind", .kind = PSIM_FIELD_NODE, .to.node = &node},
        {.key = "name", .kind = PSIM_FIELD_TEXT, .to.text = &out->name},
    };
    size_t count;

    if (!psim_read_member(reader, layer, &deciding))
        return false;
    out->kind = (enum psim_layer_kind)kind;
    out->bias = true;
    count = add_layer_fields(layer_keys(out->kind), &counts, &out->bias, fields, 2);
    psim_read_object(reader, layer, fields, count);
    if (counts.stride == 0)
        counts.stride = out->kind == PSIM_LAYER_MAX_POOL ? counts.kernel : 1;
    out->out = (int)counts.out;
    out->kernel = (int)counts.kernel;
    out->stride = (int)counts.stride;
    out->pad = (int)counts.pad;
    return psim_reader_clean(reader, faults);
}

/* Once something is wrong the shapes that follow are not known: the rest is read, not built. */
struct construction {
    struct psim_reader *reader;
    struct psim_builder *builder;
    int faults; /* of the reader when it began */
};

static bool sound(const struct construction *construction)
{
    return psim_reader_clean(construction->reader, construction->faults);
}

static void read_layers(struct construction *construction, const struct psim_node *list)
{
    for (const struct psim_node *layer = list->first; layer != NULL; layer = layer->next) {
        struct psim_error err = PSIM_ERROR_INIT;
        struct psim_layer_spec spec = {0};

        if (read_layer(construction->reader, layer, &spec) && sound(construction) &&
            psim_builder_add_layer(construction->builder, &spec, &err) != PSIM_OK)
            psim_reader_refuse(construction->reader, layer, &err);
    }
}

static void build_stage(struct construction *construction, const struct psim_node *stage,
                        const char *name, const struct psim_node *layers)
{
    struct psim_error err = PSIM_ERROR_INIT;

    if (sound(construction) &&
        psim_builder_begin_block(construction->builder, name, &err) != PSIM_OK)
        psim_reader_refuse(construction->reader, stage, &err);
    read_layers(construction, layers);
    if (sound(construction) && psim_builder_end_block(construction->builder, &err) != PSIM_OK)
        psim_reader_refuse(construction->reader, stage, &err);
}

static void read_stage(struct construction *construction, const struct psim_node *stage)
{
    struct psim_reader *reader = construction->reader;
    const bool is_block = psim_node_member(stage, "block") != NULL;
    struct psim_error err = PSIM_ERROR_INIT;
    const struct psim_node *layers = NULL;
    const char *name = "";
    int64_t width = 1, stride = 1;
    int block = 0;
    const struct psim_field of_layers[] = {
        {.key = "name", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &name},
        {.key = "layers", .kind = PSIM_FIELD_LIST, .required = true, .to.node = &layers},
    };
    const struct psim_field of_block[] = {
        {.key = "name", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &name},
        {.key = "block", .kind = PSIM_FIELD_CHOICE, .names = psim_block_kinds, .to.choice = &block},
        {.key = "width",
         .kind = PSIM_FIELD_COUNT,
         .required = true,
         .minimum = 1,
         .maximum = FEATURE_LIMIT,
         .to.count = &width},
        {.key = "stride",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = 2,
         .to.count = &stride},
    };

    if (!is_block) {
        psim_read_object(reader, stage, of_layers, PSIM_FIELD_COUNT(of_layers));
        if (layers != NULL)
            build_stage(construction, stage, name, layers);
        return;
    }
    psim_read_object(reader, stage, of_block, PSIM_FIELD_COUNT(of_block));
    if (sound(construction) &&
        psim_builder_add_block(construction->builder, psim_block_kinds[block], name, (int)width,
                               (int)stride, &err) != PSIM_OK)
        psim_reader_refuse(reader, stage, &err);
}

/* A network with a PETRA block has two streams from its start. */
static int count_streams(const struct psim_node *stages)
{
    for (const struct psim_node *stage = stages->first; stage != NULL; stage = stage->next) {
        const struct psim_node *block = psim_node_member(stage, "block");

        if (block != NULL && block->type == PSIM_NODE_STRING &&
            strncmp(block->value.string, "petra_", strlen("petra_")) == 0)
            return 2;
    }
    return 1;
}

static void read_stages(struct psim_reader *reader, const struct psim_node *root,
                        const struct psim_node *stages, struct psim_builder *builder, int faults)
{
    struct construction construction = {reader, builder, faults};
    struct psim_error err = PSIM_ERROR_INIT;

    if (stages->count > STAGE_LIMIT) {
        psim_reader_error(reader, stages, PSIM_ERR_RANGE, NULL,
                          "must have 1 to %d elements, not %d", STAGE_LIMIT, stages->count);
        return;
    }
    for (const struct psim_node *stage = stages->first; stage != NULL; stage = stage->next)
        read_stage(&construction, stage);
    if (sound(&construction) && psim_builder_finish(builder, &err) != PSIM_OK)
        psim_reader_refuse(reader, root, &err);
}

bool psim_read_network(struct psim_reader *reader, const struct psim_node *root,
                       struct psim_network *out)
{
    const int faults = reader->faults;
    const struct psim_node *input_node = NULL, *stages = NULL;
    struct psim_network network = {.arena = PSIM_ARENA_INIT};
    struct psim_builder *builder = NULL;
    const char *name = "";
    int64_t classes = 1;
    int input[3] = {1, 1, 1};
    const struct psim_field fields[] = {
        {.key = "name", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &name},
        {.key = "input", .kind = PSIM_FIELD_NODE, .required = true, .to.node = &input_node},
        {.key = "classes",
         .kind = PSIM_FIELD_COUNT,
         .required = true,
         .minimum = 1,
         .maximum = FEATURE_LIMIT,
         .to.count = &classes},
        {.key = "stages", .kind = PSIM_FIELD_LIST, .required = true, .to.node = &stages},
    };

    psim_read_object(reader, root, fields, PSIM_FIELD_COUNT(fields));
    if (input_node != NULL)
        (void)psim_read_input(reader, input_node, input);
    if (stages != NULL) {
        builder = psim_builder_new(&network, name, input, (int)classes, count_streams(stages));
        if (builder == NULL)
            psim_reader_out_of_memory(reader);
        else
            read_stages(reader, root, stages, builder, faults);
        psim_builder_free(builder);
    }
    if (!psim_reader_clean(reader, faults)) {
        psim_network_release(&network);
        return false;
    }
    *out = network;
    return true;
}

/* Values, nodes and tensors of a program, and what a backward must find of each. */
#include "kernels/net/nodes.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void pk_program_fail(struct pk_program *program, enum psim_status status, const char *field,
                     const char *format, ...)
{
    char where[160], message[256];
    va_list arguments;

    if (program->status != PSIM_OK)
        return;
    snprintf(where, sizeof(where), "%s.%s", program->block == NULL ? "stage" : program->block,
             field);
    va_start(arguments, format);
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    program->status = psim_fail(program->err, status, where, "%s", message);
}

static void fail_memory(struct pk_program *program)
{
    pk_program_fail(program, PSIM_ERR_NOMEM, "memory", "%s", psim_status_text(PSIM_ERR_NOMEM));
}

/* One more element, zeroed; NULL, with the program failed, where there is no memory. */
static void *next(struct pk_program *program, void **array, int *count, int *capacity, size_t size)
{
    if (program->status != PSIM_OK)
        return NULL;
    if (!psim_grow(array, *count, capacity, size)) {
        fail_memory(program);
        return NULL;
    }
    return memset((char *)*array + size * (size_t)(*count)++, 0, size);
}

#define NEXT(program, what, type)                                                                  \
    ((struct type *)next((program), (void **)&(program)->what##s, &(program)->what##_count,        \
                         &(program)->what##_capacity, sizeof(struct type)))

const struct pk_shape *pk_program_shape(const struct pk_program *program, int value)
{
    return &program->values[value].shape;
}

/* A tensor of `count` elements of 4 bytes, no stream's; NULL where it is too large. */
static struct pk_value *add_value(struct pk_program *program, double count)
{
    struct pk_value *value;

    if (!(count <= (double)INT32_MAX)) {
        pk_program_fail(program, PSIM_ERR_RANGE, "microbatch",
                        "a tensor of %.0f elements is larger than 2^31 - 1", count);
        return NULL;
    }
    value = NEXT(program, value, pk_value);
    if (value == NULL)
        return NULL;
    value->bytes = sizeof(float) * (size_t)count;
    value->input = value->output = -1;
    return value;
}

int pk_program_value(struct pk_program *program, int channels, int height, int width, bool tokens)
{
    struct pk_value *value;

    if (channels < 1 || height < 1 || width < 1) {
        pk_program_fail(program, PSIM_ERR_RANGE, "input",
                        "is too small: a layer's output would be [%d, %d, %d]", channels, height,
                        width);
        return PK_NO_VALUE;
    }
    value = add_value(program, (double)program->n * channels * height * width);
    if (value == NULL)
        return PK_NO_VALUE;
    value->shape = (struct pk_shape){1, channels, height, width, tokens};
    return program->value_count - 1;
}

/* What a node keeps beside its operands; any 4-byte type. */
static int add_aux(struct pk_program *program, double count)
{
    struct pk_value *value = add_value(program, count);

    if (value == NULL)
        return PK_NO_VALUE;
    value->kept = true;
    return program->value_count - 1;
}

/* A node on `x` and perhaps `other`, without results yet; NULL where an operand has failed. */
static struct pk_node *add_node(struct pk_program *program, enum pk_node_kind kind, int x,
                                int other)
{
    struct pk_node *node;

    if (program->status != PSIM_OK || x < 0)
        return NULL;
    node = NEXT(program, node, pk_node);
    if (node == NULL)
        return NULL;
    *node = (struct pk_node){.kind = kind,
                             .x = {x, other},
                             .y = {PK_NO_VALUE, PK_NO_VALUE},
                             .base = PK_NO_VALUE,
                             .aux = {PK_NO_VALUE, PK_NO_VALUE},
                             .weight = PK_NO_OFFSET,
                             .bias = PK_NO_OFFSET,
                             .statistics = PK_NO_OFFSET,
                             .n = program->n};
    return node;
}

/* The node's result, which needs a gradient where an operand or a parameter of it does. */
static int add_result(struct pk_program *program, struct pk_node *node, int channels, int height,
                      int width, bool tokens)
{
    const int value = pk_program_value(program, channels, height, width, tokens);
    const int operands[3] = {node->x[0], node->x[1], node->base};
    bool gradient = node->weight != PK_NO_OFFSET;

    if (value < 0)
        return value;
    for (int i = 0; i < 3; i++)
        gradient = gradient || (operands[i] >= 0 && program->values[operands[i]].gradient);
    program->values[value].gradient = gradient;
    node->y[node->y[0] < 0 ? 0 : 1] = value;
    return value;
}

static int add_like(struct pk_program *program, struct pk_node *node)
{
    const struct pk_shape like = *pk_program_shape(program, node->x[0]);

    return add_result(program, node, like.channels, like.height, like.width, like.tokens);
}

static void keep(struct pk_program *program, int value)
{
    if (value >= 0)
        program->values[value].kept = true;
}

/* A tensor of parameters; its offset. */
static size_t add_tensor(struct pk_program *program, const char *layer, const char *part,
                         const struct pk_tensor *like)
{
    struct pk_tensor *tensor = NEXT(program, tensor, pk_tensor);
    const size_t offset = program->parameter_count;

    if (tensor == NULL)
        return PK_NO_OFFSET;
    *tensor = *like;
    tensor->name = psim_arena_printf(&program->arena, "%s.%s.%s", program->block, layer, part);
    if (tensor->name == NULL)
        fail_memory(program);
    tensor->count = 1;
    for (int i = 0; i < tensor->dimensions; i++)
        tensor->count *= (size_t)tensor->shape[i];
    tensor->offset = offset;
    tensor->ordinal = program->ordinal;
    tensor->index = program->tensor_index++;
    program->parameter_count += tensor->count;
    return offset;
}

/* Weight and perhaps bias of a convolution or linear layer. */
static void add_weights(struct pk_program *program, struct pk_node *node, const char *name,
                        const int shape[4], int dimensions, bool bias)
{
    struct pk_tensor weight = {.dimensions = dimensions, .decay = true};
    double fan_in = 1;

    for (int i = 0; i < dimensions; i++)
        weight.shape[i] = shape[i];
    for (int i = 1; i < dimensions; i++)
        fan_in *= shape[i];
    weight.bound = (float)(1 / sqrt(fan_in));
    node->weight = add_tensor(program, name, "weight", &weight);
    if (bias) {
        const struct pk_tensor like = {.dimensions = 1, .shape = {shape[0]}, .bound = weight.bound};

        node->bias = add_tensor(program, name, "bias", &like);
    }
}

/* Scale and shift of a norm. */
static void add_affine(struct pk_program *program, struct pk_node *node, const char *name,
                       int count, bool last)
{
    const struct pk_tensor scale = {
        .dimensions = 1, .shape = {count}, .initial = PK_INITIAL_ONE, .last_norm = last};
    const struct pk_tensor shift = {.dimensions = 1, .shape = {count}, .initial = PK_INITIAL_ZERO};

    node->weight = add_tensor(program, name, "weight", &scale);
    node->bias = add_tensor(program, name, "bias", &shift);
}

/* Layers act on every token, or on the whole of a sample. */
static void rows_of(const struct pk_program *program, int value, int *rows, int *columns)
{
    const struct pk_shape *shape = pk_program_shape(program, value);

    *rows = program->n * (shape->tokens ? shape->channels : 1);
    *columns = shape->width * (shape->tokens ? 1 : shape->channels * shape->height);
}

static bool is_image(struct pk_program *program, int x, const char *what)
{
    if (program->status == PSIM_OK && x >= 0 && pk_program_shape(program, x)->tokens)
        pk_program_fail(program, PSIM_ERR_RANGE, "input", "%s needs images, not tokens", what);
    return program->status == PSIM_OK && x >= 0;
}

static bool is_tokens(struct pk_program *program, int x, const char *what)
{
    if (program->status == PSIM_OK && x >= 0 && !pk_program_shape(program, x)->tokens)
        pk_program_fail(program, PSIM_ERR_RANGE, "input", "%s needs tokens, not images", what);
    return program->status == PSIM_OK && x >= 0;
}

/* The window of a convolution or pooling on x; false where it does not fit. */
static bool window(struct pk_program *program, int x, const struct pk_unit *unit,
                   struct pk_conv_shape *conv)
{
    const struct pk_shape *in = pk_program_shape(program, x);

    if (unit->kernel < 1 || unit->stride < 1 || unit->pad < 0 || unit->pad >= unit->kernel ||
        unit->out < 1) {
        pk_program_fail(program, PSIM_ERR_RANGE, "kernel",
                        "out %d, kernel %d, stride %d, pad %d do not make a window", unit->out,
                        unit->kernel, unit->stride, unit->pad);
        return false;
    }
    *conv = (struct pk_conv_shape){program->n, in->channels, in->height,   in->width,
                                   unit->out,  unit->kernel, unit->stride, unit->pad};
    return true;
}

int pk_program_conv(struct pk_program *program, int x, const struct pk_unit *unit)
{
    struct pk_conv_shape conv;
    struct pk_node *node;

    if (!is_image(program, x, "a convolution") || !window(program, x, unit, &conv))
        return PK_NO_VALUE;
    node = add_node(program, PK_NODE_CONV, x, PK_NO_VALUE);
    if (node == NULL)
        return PK_NO_VALUE;
    node->conv = conv;
    add_weights(program, node, unit->name, (int[4]){conv.k, conv.c, conv.kernel, conv.kernel}, 4,
                unit->bias);
    keep(program, x);
    return add_result(program, node, conv.k, pk_window_out(conv.h, &conv),
                      pk_window_out(conv.w, &conv), false);
}

int pk_program_norm(struct pk_program *program, const char *name, int x, bool relu, int base,
                    bool last)
{
    struct pk_node *node;
    struct pk_tensor *norm;
    const struct pk_shape *shape;

    if (!is_image(program, x, "a batch norm"))
        return PK_NO_VALUE;
    shape = pk_program_shape(program, x);
    node = add_node(program, PK_NODE_NORM, x, PK_NO_VALUE);
    norm = NEXT(program, norm, pk_tensor);
    if (node == NULL || norm == NULL)
        return PK_NO_VALUE;
    node->c = shape->channels;
    node->hw = shape->height * shape->width;
    if (node->n * node->hw < 2)
        pk_program_fail(program, PSIM_ERR_RANGE, "microbatch",
                        "a batch norm needs at least two values of each channel");
    node->relu = relu;
    node->base = base;
    node->inversion_counts = program->inversion_counts;
    add_affine(program, node, name, node->c, last);
    for (int i = 0; i < 2; i++)
        node->aux[i] = add_aux(program, node->c);
    node->statistics = program->statistics_count;
    program->statistics_count += 2 * (size_t)node->c;
    *norm = (struct pk_tensor){
        .name = psim_arena_printf(&program->arena, "%s.%s", program->block, name),
        .offset = node->statistics,
        .count = 2 * (size_t)node->c,
        .dimensions = 2,
        .shape = {2, node->c}};
    if (norm->name == NULL)
        fail_memory(program);
    keep(program, x);
    return add_like(program, node);
}

int pk_program_relu(struct pk_program *program, int x)
{
    struct pk_node *node = add_node(program, PK_NODE_RELU, x, PK_NO_VALUE);
    const int y = node == NULL ? PK_NO_VALUE : add_like(program, node);

    keep(program, y);
    return y;
}

int pk_program_add(struct pk_program *program, int base, int x)
{
    struct pk_node *node = base < 0 ? NULL : add_node(program, PK_NODE_ADD, x, PK_NO_VALUE);

    if (node == NULL)
        return PK_NO_VALUE;
    node->base = base;
    return add_like(program, node);
}

int pk_program_pool(struct pk_program *program, int x, int kernel, int stride, int pad)
{
    struct pk_conv_shape conv;
    struct pk_node *node;

    if (!is_image(program, x, "a max-pool") ||
        !window(program, x,
                &(struct pk_unit){NULL, pk_program_shape(program, x)->channels, kernel, stride, pad,
                                  false},
                &conv))
        return PK_NO_VALUE;
    node = add_node(program, PK_NODE_POOL, x, PK_NO_VALUE);
    if (node == NULL)
        return PK_NO_VALUE;
    node->conv = conv;
    node->aux[0] = add_aux(program, (double)conv.n * conv.c * pk_window_out(conv.h, &conv) *
                                        pk_window_out(conv.w, &conv));
    return add_result(program, node, conv.c, pk_window_out(conv.h, &conv),
                      pk_window_out(conv.w, &conv), false);
}

int pk_program_average(struct pk_program *program, int x, int other)
{
    struct pk_node *node;
    const struct pk_shape *shape;

    if (!is_image(program, x, "a global average pool"))
        return PK_NO_VALUE;
    node = add_node(program, PK_NODE_AVERAGE, x, other);
    if (node == NULL)
        return PK_NO_VALUE;
    shape = pk_program_shape(program, x);
    node->c = shape->channels;
    node->hw = shape->height * shape->width;
    return add_result(program, node, node->c * (other < 0 ? 1 : 2), 1, 1, false);
}

int pk_program_linear(struct pk_program *program, const char *name, int x, int out, bool bias)
{
    struct pk_node *node = add_node(program, PK_NODE_LINEAR, x, PK_NO_VALUE);
    const struct pk_shape *shape;

    if (node == NULL)
        return PK_NO_VALUE;
    rows_of(program, x, &node->rows, &node->in);
    node->out = out;
    if (out < 1)
        pk_program_fail(program, PSIM_ERR_RANGE, "out", "must be at least 1, not %d", out);
    add_weights(program, node, name, (int[4]){out, node->in, 0, 0}, 2, bias);
    keep(program, x);
    shape = pk_program_shape(program, x);
    return shape->tokens ? add_result(program, node, shape->channels, 1, out, true)
                         : add_result(program, node, out, 1, 1, false);
}

int pk_program_layer_norm(struct pk_program *program, const char *name, int x)
{
    struct pk_node *node = add_node(program, PK_NODE_LAYER_NORM, x, PK_NO_VALUE);

    if (node == NULL)
        return PK_NO_VALUE;
    rows_of(program, x, &node->rows, &node->in);
    add_affine(program, node, name, node->in, false);
    for (int i = 0; i < 2; i++)
        node->aux[i] = add_aux(program, node->rows);
    keep(program, x);
    return add_like(program, node);
}

int pk_program_gelu(struct pk_program *program, int x)
{
    struct pk_node *node = add_node(program, PK_NODE_GELU, x, PK_NO_VALUE);

    keep(program, node == NULL ? PK_NO_VALUE : x);
    return node == NULL ? PK_NO_VALUE : add_like(program, node);
}

int pk_program_attention(struct pk_program *program, int x, int heads, bool causal)
{
    struct pk_node *node;
    struct pk_shape shape;

    if (!is_tokens(program, x, "attention"))
        return PK_NO_VALUE;
    shape = *pk_program_shape(program, x);
    if (heads < 1 || shape.width % (3 * heads) != 0) {
        pk_program_fail(program, PSIM_ERR_RANGE, "heads", "%d do not divide %d features", heads,
                        shape.width / 3);
        return PK_NO_VALUE;
    }
    node = add_node(program, PK_NODE_ATTENTION, x, PK_NO_VALUE);
    if (node == NULL)
        return PK_NO_VALUE;
    node->rows = shape.channels;
    node->heads = heads;
    node->head_width = shape.width / (3 * heads);
    node->causal = causal;
    node->aux[0] = add_aux(program, (double)node->n * heads * node->rows * node->rows);
    keep(program, x);
    return add_result(program, node, shape.channels, 1, shape.width / 3, true);
}

int pk_program_embedding(struct pk_program *program, const char *name, int x, int entries,
                         int width)
{
    struct pk_node *node;
    struct pk_shape shape;

    if (!is_tokens(program, x, "an embedding"))
        return PK_NO_VALUE;
    shape = *pk_program_shape(program, x);
    if (entries < 1 || width < 1 || shape.width != 1 || program->values[x].gradient) {
        pk_program_fail(program, PSIM_ERR_RANGE, "entries",
                        "an embedding needs entries and width of at least 1, and indices as input");
        return PK_NO_VALUE;
    }
    node = add_node(program, PK_NODE_EMBEDDING, x, PK_NO_VALUE);
    if (node == NULL)
        return PK_NO_VALUE;
    node->rows = node->n * shape.channels;
    node->in = shape.channels;
    node->c = entries;
    node->out = width;
    add_weights(program, node, name, (int[4]){entries, width, 0, 0}, 2, false);
    node->bias = add_tensor(program, "position", "weight",
                            &(struct pk_tensor){.dimensions = 2,
                                                .shape = {shape.channels, width},
                                                .decay = true,
                                                .bound = (float)(1 / sqrt(width))});
    keep(program, x);
    return add_result(program, node, shape.channels, 1, width, true);
}

/* Rows and columns of one half. */
static void halves_of(const struct pk_program *program, struct pk_node *node, int half)
{
    rows_of(program, half, &node->rows, &node->out);
}

void pk_program_split(struct pk_program *program, int x, int halves[2])
{
    struct pk_node *node = add_node(program, PK_NODE_SPLIT, x, PK_NO_VALUE);
    struct pk_shape shape;

    halves[0] = halves[1] = PK_NO_VALUE;
    if (node == NULL)
        return;
    shape = *pk_program_shape(program, x);
    if ((shape.tokens ? shape.width : shape.channels) % 2 != 0) {
        pk_program_fail(program, PSIM_ERR_RANGE, "width",
                        "two streams need an even number of channels, not %d",
                        shape.tokens ? shape.width : shape.channels);
        return;
    }
    if (shape.tokens)
        shape.width /= 2;
    else
        shape.channels /= 2;
    for (int i = 0; i < 2; i++)
        halves[i] =
            add_result(program, node, shape.channels, shape.height, shape.width, shape.tokens);
    if (halves[1] >= 0)
        halves_of(program, node, halves[0]);
}

int pk_program_join(struct pk_program *program, int x, int other)
{
    struct pk_node *node = other < 0 ? NULL : add_node(program, PK_NODE_JOIN, x, other);
    struct pk_shape shape;

    if (node == NULL)
        return PK_NO_VALUE;
    halves_of(program, node, x);
    shape = *pk_program_shape(program, x);
    if (shape.tokens)
        shape.width *= 2;
    else
        shape.channels *= 2;
    return add_result(program, node, shape.channels, shape.height, shape.width, shape.tokens);
}

void pk_program_loss(struct pk_program *program, int x)
{
    struct pk_node *node = add_node(program, PK_NODE_LOSS, x, PK_NO_VALUE);

    if (node == NULL)
        return;
    rows_of(program, x, &node->rows, &node->out);
    node->aux[0] = add_aux(program, (double)node->rows * node->out);
    program->loss = true;
}

void pk_program_couple(struct pk_program *program)
{
    if (program->status == PSIM_OK)
        program->nodes[program->node_count - 1].coupling = true;
}

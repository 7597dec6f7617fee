/*
 * The cases.  Convolutions, batch norms and the products beside them are those of RevNet-18 at
 * 32x32 (kernels/net/nets.c) and a few of ResNet-50 at 224x224 (arXiv:1512.03385, table 1);
 * transformers' operations have the sizes of BERT-base (arXiv:1810.04805, section 3: width 768, 12
 * heads) on 128 tokens; all other sizes are assumed.  So are the flop of what is not a product:
 * additions and multiplications of one value, roots and exponentials counted as one.
 */
#include "tests/bench/bench_kernels/cases.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define TOKENS   128
#define WIDTH    768
#define HEADS    12
#define ENTRIES  8192
#define CLASSES  1000
#define ELEMENTS ((size_t)1 << 16) /* of an elementwise operation, for each of the batch */

static void add_operand(struct bench_case *c, size_t offset, size_t count, enum conf_role role,
                        enum bench_kind kind, int limit)
{
    PSIM_ASSERT(c->count < BENCH_OPERANDS);
    c->operands[c->count++] = (struct bench_operand){offset, count, role, kind, limit};
}

static void begin(struct bench_case *c, enum conf_operation operation, const void *op, size_t size)
{
    PSIM_ASSERT(size <= sizeof(c->op));
    *c = (struct bench_case){.operation = operation};
    memcpy(c->op, op, size);
}

/* Starts a case and names the operation's type, for the operands that follow. */
#define BEGIN(name, ...)                                                                           \
    typedef struct pk_##name op_type;                                                              \
    const op_type op = {__VA_ARGS__};                                                              \
    begin(c, CONF_##name, &op, sizeof(op))
#define ARRAY(member, count, role)                                                                 \
    add_operand(c, offsetof(op_type, member), count, CONF_##role, BENCH_VALUES, 0)
#define ARRAY_OF(kind, member, count, role, limit)                                                 \
    add_operand(c, offsetof(op_type, member), count, CONF_##role, BENCH_##kind, limit)

static void describe(struct bench_case *c, double flop, const char *format, ...) PSIM_PRINTF(3, 4);

static void describe(struct bench_case *c, double flop, const char *format, ...)
{
    va_list arguments;

    c->flop = flop;
    va_start(arguments, format);
    vsnprintf(c->shape, sizeof(c->shape), format, arguments);
    va_end(arguments);
}

void bench_case_product(struct bench_case *c, int m, int n, int k)
{
    BEGIN(gemm, .m = m, .n = n, .k = k, .alpha = 1);

    describe(c, 2.0 * m * n * k, "%d x %d x %d", m, n, k);
    ARRAY(a, (size_t)m * (size_t)k, READ);
    ARRAY(b, (size_t)k * (size_t)n, READ);
    ARRAY(c, (size_t)m * (size_t)n, WRITTEN);
}

static bool make_gemm(struct bench_case *c, int index, int n)
{
    static const int sides[][3] = {{1024, 1024, 1024}, {64, 1024, 576}};

    (void)n;
    if (index >= 2)
        return false;
    bench_case_product(c, sides[index][0], sides[index][1], sides[index][2]);
    return true;
}

static const struct {
    const char *text;
    struct pk_conv_shape conv; /* n is the most that the batch may be, 0: anything */
} convs[] = {
    {"stem 3->128 3x3 32x32", {0, 3, 32, 32, 128, 3, 1, 1}},
    {"64->64 3x3 32x32", {0, 64, 32, 32, 64, 3, 1, 1}},
    {"128->128 3x3 16x16", {0, 128, 16, 16, 128, 3, 1, 1}},
    {"256->256 3x3 8x8", {0, 256, 8, 8, 256, 3, 1, 1}},
    {"512->512 3x3 4x4", {0, 512, 4, 4, 512, 3, 1, 1}},
    {"64->128 3x3/2 32x32", {0, 64, 32, 32, 128, 3, 2, 1}},
    {"128->256 3x3/2 16x16", {0, 128, 16, 16, 256, 3, 2, 1}},
    {"256->512 3x3/2 8x8", {0, 256, 8, 8, 512, 3, 2, 1}},
    {"64->128 1x1/2 32x32", {0, 64, 32, 32, 128, 1, 2, 0}},
    {"256->1024 1x1 14x14", {0, 256, 14, 14, 1024, 1, 1, 0}},
    {"3->64 7x7/2 224x224, batch 8", {8, 3, 224, 224, 64, 7, 2, 3}},
};

#define CONVS ((int)(sizeof(convs) / sizeof(convs[0])))

static struct pk_conv_shape conv_of(int index, int n)
{
    struct pk_conv_shape shape = convs[index].conv;

    shape.n = shape.n > 0 && shape.n < n ? shape.n : n;
    return shape;
}

/* Elements of the arrays of a window's operation. */
struct sizes {
    size_t x, y, weight;
    double flop; /* of the convolution */
};

static struct sizes sizes_of(const struct pk_conv_shape *s)
{
    const size_t outputs = (size_t)pk_window_out(s->h, s) * (size_t)pk_window_out(s->w, s);
    struct sizes sizes = {.x = (size_t)s->n * (size_t)s->c * (size_t)s->h * (size_t)s->w,
                          .y = (size_t)s->n * (size_t)s->k * outputs,
                          .weight = (size_t)(s->k * s->c * s->kernel * s->kernel)};

    sizes.flop = 2.0 * (double)sizes.y * s->c * s->kernel * s->kernel;
    return sizes;
}

static bool make_conv_forward(struct bench_case *c, int index, int n)
{
    if (index >= CONVS)
        return false;
    BEGIN(conv_forward, .shape = conv_of(index, n));
    const struct sizes sizes = sizes_of(&op.shape);

    describe(c, sizes.flop, "%s", convs[index].text);
    ARRAY(x, sizes.x, READ);
    ARRAY(weight, sizes.weight, READ);
    ARRAY(bias, (size_t)op.shape.k, READ);
    ARRAY(y, sizes.y, WRITTEN);
    return true;
}

static bool make_conv_backward_data(struct bench_case *c, int index, int n)
{
    if (index >= CONVS)
        return false;
    BEGIN(conv_backward_data, .shape = conv_of(index, n));
    const struct sizes sizes = sizes_of(&op.shape);

    describe(c, sizes.flop, "%s", convs[index].text);
    ARRAY(dy, sizes.y, READ);
    ARRAY(weight, sizes.weight, READ);
    ARRAY(dx, sizes.x, WRITTEN);
    return true;
}

static bool make_conv_backward_weight(struct bench_case *c, int index, int n)
{
    if (index >= CONVS)
        return false;
    BEGIN(conv_backward_weight, .shape = conv_of(index, n));
    const struct sizes sizes = sizes_of(&op.shape);

    describe(c, sizes.flop, "%s", convs[index].text);
    ARRAY(x, sizes.x, READ);
    ARRAY(dy, sizes.y, READ);
    ARRAY(dweight, sizes.weight, BOTH);
    ARRAY(dbias, (size_t)op.shape.k, BOTH);
    return true;
}

/* Channels and sides of the planes that batch norms work on. */
static const int planes[][2] = {{64, 32}, {128, 16}, {256, 8}, {512, 4}};

#define PLANES ((int)(sizeof(planes) / sizeof(planes[0])))

/* The last case is the first shape again, with a residual sum. */
static bool make_norm_forward(struct bench_case *c, int index, int n)
{
    const int channels = planes[index % PLANES][0], side = planes[index % PLANES][1];
    const size_t each = (size_t)channels;

    if (index > PLANES)
        return false;
    BEGIN(norm_forward, .n = n, .c = channels, .hw = side * side, .epsilon = 1e-5F,
          .momentum = 0.1F, .relu = true, .base_sign = 1);
    const size_t count = (size_t)n * each * (size_t)op.hw;

    describe(c, 8.0 * (double)count, "%d x %dx%d%s", channels, side, side,
             index == PLANES ? ", relu, residual sum" : "");
    ARRAY(x, count, READ);
    ARRAY(scale, each, READ);
    ARRAY(shift, each, READ);
    ARRAY(mean, each, WRITTEN);
    ARRAY(inv_std, each, WRITTEN);
    ARRAY(running_mean, each, BOTH);
    ARRAY(running_variance, each, BOTH);
    if (index == PLANES)
        ARRAY(base, count, READ);
    ARRAY(y, count, WRITTEN);
    return true;
}

static bool make_norm_inference(struct bench_case *c, int index, int n)
{
    BEGIN(norm_inference, .n = n, .c = 64, .hw = 32 * 32, .epsilon = 1e-5F, .relu = true);
    const size_t count = (size_t)n * 64 * 32 * 32;

    describe(c, 4.0 * (double)count, "64 x 32x32");
    ARRAY(x, count, READ);
    ARRAY(scale, 64, READ);
    ARRAY(shift, 64, READ);
    ARRAY(running_mean, 64, READ);
    ARRAY_OF(POSITIVE, running_variance, 64, READ, 0);
    ARRAY(y, count, WRITTEN);
    return index < 1;
}

static bool make_norm_backward(struct bench_case *c, int index, int n)
{
    const int channels = planes[index % PLANES][0], side = planes[index % PLANES][1];
    const size_t each = (size_t)channels;

    if (index >= PLANES)
        return false;
    BEGIN(norm_backward, .n = n, .c = channels, .hw = side * side, .relu = true);
    const size_t count = (size_t)n * each * (size_t)op.hw;

    describe(c, 12.0 * (double)count, "%d x %dx%d", channels, side, side);
    ARRAY(x, count, READ);
    ARRAY(dy, count, READ);
    ARRAY(scale, each, READ);
    ARRAY(shift, each, READ);
    ARRAY(mean, each, READ);
    ARRAY_OF(POSITIVE, inv_std, each, READ, 0);
    ARRAY(dscale, each, BOTH);
    ARRAY(dshift, each, BOTH);
    ARRAY(dx, count, WRITTEN);
    return true;
}

static bool make_relu_forward(struct bench_case *c, int index, int n)
{
    BEGIN(relu_forward, .count = (size_t)n * ELEMENTS);

    describe(c, (double)op.count, "%zu", op.count);
    ARRAY(x, op.count, READ);
    ARRAY(y, op.count, WRITTEN);
    return index < 1;
}

static bool make_relu_backward(struct bench_case *c, int index, int n)
{
    BEGIN(relu_backward, .count = (size_t)n * ELEMENTS);

    describe(c, (double)op.count, "%zu", op.count);
    ARRAY(y, op.count, READ);
    ARRAY(dy, op.count, READ);
    ARRAY(dx, op.count, WRITTEN);
    return index < 1;
}

static bool make_add(struct bench_case *c, int index, int n)
{
    BEGIN(add, .count = (size_t)n * ELEMENTS, .alpha = 1, .beta = 1);

    describe(c, (double)op.count, "%zu", op.count);
    ARRAY(a, op.count, READ);
    ARRAY(b, op.count, READ);
    ARRAY(y, op.count, WRITTEN);
    return index < 1;
}

static void copy_rows(struct bench_case *c, size_t rows, size_t columns, size_t target_stride)
{
    BEGIN(copy_rows, .rows = rows, .columns = columns, .source_stride = columns,
          .target_stride = target_stride);

    describe(c, (double)(rows * columns), "%zu x %zu, %zu apart", rows, columns, target_stride);
    ARRAY(source, rows * columns, READ);
    add_operand(c, offsetof(op_type, target), rows * target_stride,
                target_stride > columns ? CONF_BOTH : CONF_WRITTEN, BENCH_VALUES, 0);
}

void bench_case_copy(struct bench_case *c, size_t rows, size_t columns)
{
    copy_rows(c, rows, columns, columns);
}

static bool make_copy_rows(struct bench_case *c, int index, int n)
{
    copy_rows(c, (size_t)n * ELEMENTS / 64, 64, 128);
    return index < 1;
}

/* A map of ResNet-50's stem, in windows that do not overlap. */
static const struct pk_conv_shape pool = {0, 64, 112, 112, 64, 2, 2, 0};

static bool make_pool_forward(struct bench_case *c, int index, int n)
{
    struct pk_conv_shape shape = pool;

    shape.n = n;
    BEGIN(pool_forward, .shape = shape);
    const struct sizes sizes = sizes_of(&shape);

    describe(c, (double)sizes.x, "64 x 112x112, 2x2/2");
    ARRAY(x, sizes.x, READ);
    ARRAY(y, sizes.y, WRITTEN);
    ARRAY_OF(INDICES, index, sizes.y, WRITTEN, 0);
    return index < 1;
}

static bool make_pool_backward(struct bench_case *c, int index, int n)
{
    struct pk_conv_shape shape = pool;

    shape.n = n;
    BEGIN(pool_backward, .shape = shape);
    const struct sizes sizes = sizes_of(&shape);

    describe(c, (double)sizes.x, "64 x 112x112, 2x2/2");
    ARRAY(dy, sizes.y, READ);
    ARRAY_OF(WINDOWS, index, sizes.y, READ, 0);
    ARRAY(dx, sizes.x, WRITTEN);
    return index < 1;
}

static bool make_average_forward(struct bench_case *c, int index, int n)
{
    BEGIN(average_forward, .n = n, .c = 512, .hw = 49, .y_stride = 512);
    const size_t count = (size_t)n * 512 * 49;

    describe(c, (double)count, "512 x 7x7");
    ARRAY(x, count, READ);
    ARRAY(y, (size_t)n * 512, WRITTEN);
    return index < 1;
}

static bool make_average_backward(struct bench_case *c, int index, int n)
{
    BEGIN(average_backward, .n = n, .c = 512, .hw = 49, .dy_stride = 512);
    const size_t count = (size_t)n * 512 * 49;

    describe(c, (double)count, "512 x 7x7");
    ARRAY(dy, (size_t)n * 512, READ);
    ARRAY(dx, count, WRITTEN);
    return index < 1;
}

/* RevNet-18's head on 10 classes, and the first layer of a transformer's perceptron. */
struct linear {
    const char *text;
    size_t rows, in, out;
};

static struct linear linear_of(int index, int n)
{
    return index == 0 ? (struct linear){"1024 -> 10", (size_t)n, 1024, 10}
                      : (struct linear){"768 -> 3072, 128 tokens", (size_t)n * TOKENS, WIDTH,
                                        (size_t)4 * WIDTH};
}

static double linear_flop(const struct linear *l)
{
    return 2.0 * (double)l->rows * (double)l->in * (double)l->out;
}

static bool make_linear_forward(struct bench_case *c, int index, int n)
{
    const struct linear l = linear_of(index, n);
    BEGIN(linear_forward, .rows = (int)l.rows, .in = (int)l.in, .out = (int)l.out);

    describe(c, linear_flop(&l), "%s", l.text);
    ARRAY(x, l.rows * l.in, READ);
    ARRAY(weight, l.in * l.out, READ);
    ARRAY(bias, l.out, READ);
    ARRAY(y, l.rows * l.out, WRITTEN);
    return index < 2;
}

static bool make_linear_backward_data(struct bench_case *c, int index, int n)
{
    const struct linear l = linear_of(index, n);
    BEGIN(linear_backward_data, .rows = (int)l.rows, .in = (int)l.in, .out = (int)l.out);

    describe(c, linear_flop(&l), "%s", l.text);
    ARRAY(dy, l.rows * l.out, READ);
    ARRAY(weight, l.in * l.out, READ);
    ARRAY(dx, l.rows * l.in, WRITTEN);
    return index < 2;
}

static bool make_linear_backward_weight(struct bench_case *c, int index, int n)
{
    const struct linear l = linear_of(index, n);
    BEGIN(linear_backward_weight, .rows = (int)l.rows, .in = (int)l.in, .out = (int)l.out);

    describe(c, linear_flop(&l), "%s", l.text);
    ARRAY(x, l.rows * l.in, READ);
    ARRAY(dy, l.rows * l.out, READ);
    ARRAY(dweight, l.in * l.out, BOTH);
    ARRAY(dbias, l.out, BOTH);
    return index < 2;
}

static bool make_cross_entropy(struct bench_case *c, int index, int n)
{
    BEGIN(cross_entropy, .rows = n, .classes = CLASSES, .gradient_scale = 1.0F / (float)n);
    const size_t rows = (size_t)n, count = rows * CLASSES;

    describe(c, 5.0 * (double)count, "%d classes", CLASSES);
    ARRAY(logits, count, READ);
    ARRAY_OF(INDICES, labels, rows, READ, CLASSES);
    ARRAY(loss, rows, WRITTEN);
    ARRAY(dlogits, count, WRITTEN);
    return index < 1;
}

static bool make_sgd(struct bench_case *c, int index, int n)
{
    BEGIN(sgd, .count = (size_t)n * ELEMENTS, .rate = 1e-3F, .momentum = 0.9F,
          .weight_decay = 5e-4F, .gradient_scale = 1, .nesterov = true);

    describe(c, 8.0 * (double)op.count, "%zu", op.count);
    ARRAY(gradient, op.count, READ);
    ARRAY(velocity, op.count, BOTH);
    ARRAY(weight, op.count, BOTH);
    return index < 1;
}

static bool make_layer_norm_forward(struct bench_case *c, int index, int n)
{
    BEGIN(layer_norm_forward, .rows = n * TOKENS, .columns = WIDTH, .epsilon = 1e-5F);
    const size_t rows = (size_t)op.rows, count = rows * WIDTH;

    describe(c, 10.0 * (double)count, "%d, %d tokens", WIDTH, TOKENS);
    ARRAY(x, count, READ);
    ARRAY(scale, WIDTH, READ);
    ARRAY(shift, WIDTH, READ);
    ARRAY(mean, rows, WRITTEN);
    ARRAY(inv_std, rows, WRITTEN);
    ARRAY(y, count, WRITTEN);
    return index < 1;
}

static bool make_layer_norm_backward(struct bench_case *c, int index, int n)
{
    BEGIN(layer_norm_backward, .rows = n * TOKENS, .columns = WIDTH);
    const size_t rows = (size_t)op.rows, count = rows * WIDTH;

    describe(c, 10.0 * (double)count, "%d, %d tokens", WIDTH, TOKENS);
    ARRAY(x, count, READ);
    ARRAY(dy, count, READ);
    ARRAY(scale, WIDTH, READ);
    ARRAY(mean, rows, READ);
    ARRAY_OF(POSITIVE, inv_std, rows, READ, 0);
    ARRAY(dscale, WIDTH, BOTH);
    ARRAY(dshift, WIDTH, BOTH);
    ARRAY(dx, count, WRITTEN);
    return index < 1;
}

static bool make_gelu_forward(struct bench_case *c, int index, int n)
{
    BEGIN(gelu_forward, .count = (size_t)n * ELEMENTS);

    describe(c, (double)op.count, "%zu", op.count);
    ARRAY(x, op.count, READ);
    ARRAY(y, op.count, WRITTEN);
    return index < 1;
}

static bool make_gelu_backward(struct bench_case *c, int index, int n)
{
    BEGIN(gelu_backward, .count = (size_t)n * ELEMENTS);

    describe(c, (double)op.count, "%zu", op.count);
    ARRAY(x, op.count, READ);
    ARRAY(dy, op.count, READ);
    ARRAY(dx, op.count, WRITTEN);
    return index < 1;
}

static bool make_attention_forward(struct bench_case *c, int index, int n)
{
    BEGIN(attention_forward, .n = n, .tokens = TOKENS, .heads = HEADS, .d = WIDTH / HEADS);
    const size_t y = (size_t)n * TOKENS * WIDTH,
                 probabilities = (size_t)n * HEADS * TOKENS * TOKENS;

    describe(c, 4.0 * (double)probabilities * op.d, "%d heads, %d tokens", HEADS, TOKENS);
    ARRAY(qkv, 3 * y, READ);
    ARRAY(probabilities, probabilities, WRITTEN);
    ARRAY(y, y, WRITTEN);
    return index < 1;
}

static bool make_attention_backward(struct bench_case *c, int index, int n)
{
    BEGIN(attention_backward, .n = n, .tokens = TOKENS, .heads = HEADS, .d = WIDTH / HEADS);
    const size_t y = (size_t)n * TOKENS * WIDTH,
                 probabilities = (size_t)n * HEADS * TOKENS * TOKENS;

    describe(c, 8.0 * (double)probabilities * op.d, "%d heads, %d tokens", HEADS, TOKENS);
    ARRAY(qkv, 3 * y, READ);
    ARRAY_OF(POSITIVE, probabilities, probabilities, READ, 0);
    ARRAY(dy, y, READ);
    ARRAY(dqkv, 3 * y, WRITTEN);
    return index < 1;
}

static bool make_embedding_forward(struct bench_case *c, int index, int n)
{
    BEGIN(embedding_forward, .rows = n * TOKENS, .entries = ENTRIES, .columns = WIDTH,
          .tokens = TOKENS);
    const size_t rows = (size_t)op.rows;

    describe(c, (double)rows * WIDTH, "%d entries of %d, %d tokens", ENTRIES, WIDTH, TOKENS);
    ARRAY_OF(INDICES, index, rows, READ, ENTRIES);
    ARRAY(table, (size_t)ENTRIES * WIDTH, READ);
    ARRAY(position, (size_t)TOKENS * WIDTH, READ);
    ARRAY(y, rows * WIDTH, WRITTEN);
    return index < 1;
}

static bool make_embedding_backward(struct bench_case *c, int index, int n)
{
    BEGIN(embedding_backward, .rows = n * TOKENS, .entries = ENTRIES, .columns = WIDTH,
          .tokens = TOKENS);
    const size_t rows = (size_t)op.rows;

    describe(c, (double)rows * WIDTH, "%d entries of %d, %d tokens", ENTRIES, WIDTH, TOKENS);
    ARRAY_OF(INDICES, index, rows, READ, ENTRIES);
    ARRAY(dy, rows * WIDTH, READ);
    ARRAY(dtable, (size_t)ENTRIES * WIDTH, BOTH);
    ARRAY(dposition, (size_t)TOKENS * WIDTH, BOTH);
    return index < 1;
}

static bool make_count_bad(struct bench_case *c, int index, int n)
{
    BEGIN(count_bad, .count = (size_t)n * ELEMENTS);

    describe(c, (double)op.count, "%zu", op.count);
    ARRAY(x, op.count, READ);
    ARRAY_OF(COUNT, bad, 1, WRITTEN, 0);
    return index < 1;
}

bool bench_case_make(struct bench_case *c, enum conf_operation operation, int index, int n)
{
    switch (operation) {
#define MAKE(name, type)                                                                           \
    case CONF_##name:                                                                              \
        return make_##name(c, index, n);
        PK_OPERATION_MAP(MAKE)
#undef MAKE
    default:
        psim_bug("no such operation");
    }
}

size_t bench_element_bytes(const struct bench_operand *operand)
{
    return operand->kind == BENCH_COUNT ? sizeof(int64_t) : sizeof(float);
}

double bench_case_bytes(const struct bench_case *c)
{
    double bytes = 0;

    for (int i = 0; i < c->count; i++)
        bytes += (double)c->operands[i].count * (double)bench_element_bytes(&c->operands[i]) *
                 (c->operands[i].role == CONF_BOTH ? 2 : 1);
    return bytes;
}

/*
 * Benchmark of the operations of one backend; prints one JSON object.
 *
 *   build/bench_kernels [--backend NAME] [--threads N] [--math fp32|tf32|bf16] [--quick]
 *                       [--only OPERATION]
 *
 * Shapes are those of RevNet-18 at 32x32 with a batch of 64, and a few of larger nets.  Every
 * operation is first held against "ref" on a batch of one or two of the same shape (a coarse check:
 * the conformance program is the judge); a wrong one ends the program with 1.  Then it is timed,
 * median of 30 runs, each of as many calls as take half a millisecond, with `wait` inside the time.
 * flop are those of the direct formula whatever the method, so a rate may exceed sgemm's; bytes are
 * those of the operands, each once.  Operands are in the cache where they fit.
 */
#include "tests/bench/bench_common.h"

#include "sim/base/memory.h"

#include <math.h>
#include <stddef.h>

#define RUNS        30
#define ARRAYS      12
#define OP_BYTES    256
#define COPY_FLOATS ((size_t)1 << 25)

enum operation {
#define BENCH_ENUM(name, type) OPERATION_##name,
    PK_OPERATION_MAP(BENCH_ENUM)
#undef BENCH_ENUM
        OPERATIONS
};

static const char *const operation_names[] = {
#define BENCH_NAME(name, type) #name,
    PK_OPERATION_MAP(BENCH_NAME)
#undef BENCH_NAME
};

enum role { READ = 1, WRITTEN = 2, BOTH = 3 };
enum kind { VALUES, POSITIVE, INDICES, WINDOWS, COUNT };

/* One operand: where its pointer is in the op. */
struct operand {
    size_t offset, count;
    enum role role;
    enum kind kind;
    int limit; /* indices are below it */
};

struct bench_case {
    enum operation operation;
    const char *shape;
    double flop;
    unsigned char op[OP_BYTES];
    struct operand operands[ARRAYS];
    int count;
};

static void add_operand(struct bench_case *c, size_t offset, size_t count, enum role role,
                        enum kind kind, int limit)
{
    c->operands[c->count++] = (struct operand){offset, count, role, kind, limit};
}

#define BEGIN(name, ...)                                                                           \
    const struct pk_##name op = {__VA_ARGS__};                                                     \
    typedef struct pk_##name op_type;                                                              \
    c->operation = OPERATION_##name;                                                               \
    memcpy(c->op, &op, sizeof(op))
#define ARRAY(member, count, role) add_operand(c, offsetof(op_type, member), count, role, VALUES, 0)

/* What a case is made from; `n` is the batch. */
struct shape {
    const char *text;
    struct pk_conv_shape conv; /* n is set later */
};

static const struct shape shapes[] = {
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

#define SHAPES ((int)(sizeof(shapes) / sizeof(shapes[0])))

struct sizes {
    size_t x, y, weight;
    double flop;
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

static void make_conv(struct bench_case *c, enum operation operation, struct pk_conv_shape s)
{
    const struct sizes sizes = sizes_of(&s);
    const size_t k = (size_t)s.k;

    c->flop = sizes.flop;
    if (operation == OPERATION_conv_forward) {
        BEGIN(conv_forward, .shape = s);
        ARRAY(x, sizes.x, READ);
        ARRAY(weight, sizes.weight, READ);
        ARRAY(bias, k, READ);
        ARRAY(y, sizes.y, WRITTEN);
    } else if (operation == OPERATION_conv_backward_data) {
        BEGIN(conv_backward_data, .shape = s);
        ARRAY(dy, sizes.y, READ);
        ARRAY(weight, sizes.weight, READ);
        ARRAY(dx, sizes.x, WRITTEN);
    } else {
        BEGIN(conv_backward_weight, .shape = s);
        ARRAY(x, sizes.x, READ);
        ARRAY(dy, sizes.y, READ);
        ARRAY(dweight, sizes.weight, BOTH);
        ARRAY(dbias, k, BOTH);
    }
}

static void make_norm_forward(struct bench_case *c, int n, int channels, int hw, bool base)
{
    const size_t count = (size_t)n * (size_t)channels * (size_t)hw, each = (size_t)channels;
    BEGIN(norm_forward, .n = n, .c = channels, .hw = hw, .epsilon = 1e-5F, .momentum = 0.1F,
          .relu = true, .base_sign = 1);

    c->flop = 8.0 * (double)count;
    ARRAY(x, count, READ);
    ARRAY(scale, each, READ);
    ARRAY(shift, each, READ);
    ARRAY(mean, each, WRITTEN);
    ARRAY(inv_std, each, WRITTEN);
    ARRAY(running_mean, each, BOTH);
    ARRAY(running_variance, each, BOTH);
    if (base)
        ARRAY(base, count, READ);
    ARRAY(y, count, WRITTEN);
}

static void make_norm_backward(struct bench_case *c, int n, int channels, int hw)
{
    const size_t count = (size_t)n * (size_t)channels * (size_t)hw, each = (size_t)channels;
    BEGIN(norm_backward, .n = n, .c = channels, .hw = hw, .relu = true);

    c->flop = 12.0 * (double)count;
    ARRAY(x, count, READ);
    ARRAY(dy, count, READ);
    ARRAY(scale, each, READ);
    ARRAY(shift, each, READ);
    ARRAY(mean, each, READ);
    add_operand(c, offsetof(op_type, inv_std), each, READ, POSITIVE, 0);
    ARRAY(dscale, each, BOTH);
    ARRAY(dshift, each, BOTH);
    ARRAY(dx, count, WRITTEN);
}

static void make_inference(struct bench_case *c, int n)
{
    const size_t count = (size_t)n * 64 * 1024;
    BEGIN(norm_inference, .n = n, .c = 64, .hw = 1024, .epsilon = 1e-5F, .relu = true);

    c->flop = 4.0 * (double)count;
    ARRAY(x, count, READ);
    ARRAY(scale, 64, READ);
    ARRAY(shift, 64, READ);
    ARRAY(running_mean, 64, READ);
    add_operand(c, offsetof(op_type, running_variance), 64, READ, POSITIVE, 0);
    ARRAY(y, count, WRITTEN);
}

static void make_product(struct bench_case *c, int m, int n, int k)
{
    BEGIN(gemm, .m = m, .n = n, .k = k, .alpha = 1);

    c->flop = 2.0 * m * n * k;
    ARRAY(a, (size_t)m * (size_t)k, READ);
    ARRAY(b, (size_t)k * (size_t)n, READ);
    ARRAY(c, (size_t)m * (size_t)n, WRITTEN);
}

static void make_linear(struct bench_case *c, enum operation operation, int rows, int in, int out)
{
    const size_t x = (size_t)rows * (size_t)in, y = (size_t)rows * (size_t)out;
    const size_t weight = (size_t)in * (size_t)out;

    c->flop = 2.0 * (double)weight * rows;
    if (operation == OPERATION_linear_forward) {
        BEGIN(linear_forward, .rows = rows, .in = in, .out = out);
        ARRAY(x, x, READ);
        ARRAY(weight, weight, READ);
        ARRAY(bias, (size_t)out, READ);
        ARRAY(y, y, WRITTEN);
    } else if (operation == OPERATION_linear_backward_data) {
        BEGIN(linear_backward_data, .rows = rows, .in = in, .out = out);
        ARRAY(dy, y, READ);
        ARRAY(weight, weight, READ);
        ARRAY(dx, x, WRITTEN);
    } else {
        BEGIN(linear_backward_weight, .rows = rows, .in = in, .out = out);
        ARRAY(x, x, READ);
        ARRAY(dy, y, READ);
        ARRAY(dweight, weight, BOTH);
        ARRAY(dbias, (size_t)out, BOTH);
    }
}

static void make_elementwise(struct bench_case *c, enum operation operation, size_t count)
{
    c->flop = (double)count;
    if (operation == OPERATION_relu_forward) {
        BEGIN(relu_forward, .count = count);
        ARRAY(x, count, READ);
        ARRAY(y, count, WRITTEN);
    } else if (operation == OPERATION_relu_backward) {
        BEGIN(relu_backward, .count = count);
        ARRAY(y, count, READ);
        ARRAY(dy, count, READ);
        ARRAY(dx, count, WRITTEN);
    } else if (operation == OPERATION_add) {
        BEGIN(add, .count = count, .alpha = 1, .beta = 1);
        ARRAY(a, count, READ);
        ARRAY(b, count, READ);
        ARRAY(y, count, WRITTEN);
    } else if (operation == OPERATION_sgd) {
        BEGIN(sgd, .count = count, .rate = 1e-3F, .momentum = 0.9F, .weight_decay = 5e-4F,
              .gradient_scale = 1, .nesterov = true);
        c->flop = 8.0 * (double)count;
        ARRAY(gradient, count, READ);
        ARRAY(velocity, count, BOTH);
        ARRAY(weight, count, BOTH);
    } else if (operation == OPERATION_gelu_forward) {
        BEGIN(gelu_forward, .count = count);
        ARRAY(x, count, READ);
        ARRAY(y, count, WRITTEN);
    } else if (operation == OPERATION_gelu_backward) {
        BEGIN(gelu_backward, .count = count);
        ARRAY(x, count, READ);
        ARRAY(dy, count, READ);
        ARRAY(dx, count, WRITTEN);
    } else if (operation == OPERATION_count_bad) {
        BEGIN(count_bad, .count = count);
        ARRAY(x, count, READ);
        add_operand(c, offsetof(op_type, bad), 1, WRITTEN, COUNT, 0);
    } else {
        BEGIN(copy_rows, .rows = count / 64, .columns = 64, .source_stride = 64,
              .target_stride = 128);
        ARRAY(source, count, READ);
        ARRAY(target, count * 2, BOTH);
    }
}

static void make_pool(struct bench_case *c, enum operation operation, int n)
{
    const struct pk_conv_shape s = {n, 64, 112, 112, 64, 2, 2, 0};
    const struct sizes sizes = sizes_of(&s);

    c->flop = (double)sizes.x;
    if (operation == OPERATION_pool_forward) {
        BEGIN(pool_forward, .shape = s);
        ARRAY(x, sizes.x, READ);
        ARRAY(y, sizes.y, WRITTEN);
        add_operand(c, offsetof(op_type, index), sizes.y, WRITTEN, INDICES, 0);
    } else {
        BEGIN(pool_backward, .shape = s);
        ARRAY(dy, sizes.y, READ);
        add_operand(c, offsetof(op_type, index), sizes.y, READ, WINDOWS, 0);
        ARRAY(dx, sizes.x, WRITTEN);
    }
}

static void make_average(struct bench_case *c, enum operation operation, int n)
{
    const size_t count = (size_t)n * 512 * 49;

    c->flop = (double)count;
    if (operation == OPERATION_average_forward) {
        BEGIN(average_forward, .n = n, .c = 512, .hw = 49, .y_stride = 512);
        ARRAY(x, count, READ);
        ARRAY(y, (size_t)n * 512, WRITTEN);
    } else {
        BEGIN(average_backward, .n = n, .c = 512, .hw = 49, .dy_stride = 512);
        ARRAY(dy, (size_t)n * 512, READ);
        ARRAY(dx, count, WRITTEN);
    }
}

static void make_cross_entropy(struct bench_case *c, int rows)
{
    const size_t count = (size_t)rows * 1000;
    BEGIN(cross_entropy, .rows = rows, .classes = 1000, .gradient_scale = 1.0F / (float)rows);

    c->flop = 5.0 * (double)count;
    ARRAY(logits, count, READ);
    add_operand(c, offsetof(op_type, labels), (size_t)rows, READ, INDICES, 1000);
    ARRAY(loss, (size_t)rows, WRITTEN);
    ARRAY(dlogits, count, WRITTEN);
}

static void make_layer_norm(struct bench_case *c, enum operation operation, int rows)
{
    const size_t count = (size_t)rows * 768;

    c->flop = 10.0 * (double)count;
    if (operation == OPERATION_layer_norm_forward) {
        BEGIN(layer_norm_forward, .rows = rows, .columns = 768, .epsilon = 1e-5F);
        ARRAY(x, count, READ);
        ARRAY(scale, 768, READ);
        ARRAY(shift, 768, READ);
        ARRAY(mean, (size_t)rows, WRITTEN);
        ARRAY(inv_std, (size_t)rows, WRITTEN);
        ARRAY(y, count, WRITTEN);
    } else {
        BEGIN(layer_norm_backward, .rows = rows, .columns = 768);
        ARRAY(x, count, READ);
        ARRAY(dy, count, READ);
        ARRAY(scale, 768, READ);
        ARRAY(mean, (size_t)rows, READ);
        add_operand(c, offsetof(op_type, inv_std), (size_t)rows, READ, POSITIVE, 0);
        ARRAY(dscale, 768, BOTH);
        ARRAY(dshift, 768, BOTH);
        ARRAY(dx, count, WRITTEN);
    }
}

static void make_attention(struct bench_case *c, enum operation operation, int n)
{
    const size_t y = (size_t)n * 128 * 768, probabilities = (size_t)n * 12 * 128 * 128;

    if (operation == OPERATION_attention_forward) {
        BEGIN(attention_forward, .n = n, .tokens = 128, .heads = 12, .d = 64);
        c->flop = 4.0 * (double)probabilities * 64;
        ARRAY(qkv, 3 * y, READ);
        ARRAY(probabilities, probabilities, WRITTEN);
        ARRAY(y, y, WRITTEN);
    } else {
        BEGIN(attention_backward, .n = n, .tokens = 128, .heads = 12, .d = 64);
        c->flop = 8.0 * (double)probabilities * 64;
        ARRAY(qkv, 3 * y, READ);
        add_operand(c, offsetof(op_type, probabilities), probabilities, READ, POSITIVE, 0);
        ARRAY(dy, y, READ);
        ARRAY(dqkv, 3 * y, WRITTEN);
    }
}

static void make_embedding(struct bench_case *c, enum operation operation, int n)
{
    const size_t rows = (size_t)n * 128, table = (size_t)8192 * 768;

    c->flop = (double)rows * 768;
    if (operation == OPERATION_embedding_forward) {
        BEGIN(embedding_forward, .rows = (int)rows, .entries = 8192, .columns = 768, .tokens = 128);
        add_operand(c, offsetof(op_type, index), rows, READ, INDICES, 8192);
        ARRAY(table, table, READ);
        ARRAY(position, 128 * 768, READ);
        ARRAY(y, rows * 768, WRITTEN);
    } else {
        BEGIN(embedding_backward, .rows = (int)rows, .entries = 8192, .columns = 768,
              .tokens = 128);
        add_operand(c, offsetof(op_type, index), rows, READ, INDICES, 8192);
        ARRAY(dy, rows * 768, READ);
        ARRAY(dtable, table, BOTH);
        ARRAY(dposition, 128 * 768, BOTH);
    }
}

/* Case `index` of one operation with batch n; false where there are no more. */
static bool make_case(struct bench_case *c, enum operation operation, int index, int n)
{
    static const int planes[][2] = {{64, 1024}, {128, 256}, {256, 64}, {512, 16}};
    static const char *const plane_names[] = {"64 x 32x32", "128 x 16x16", "256 x 8x8",
                                              "512 x 4x4"};
    const int tokens = n * 128;

    memset(c, 0, sizeof(*c));
    switch (operation) {
    case OPERATION_conv_forward:
    case OPERATION_conv_backward_data:
    case OPERATION_conv_backward_weight: {
        struct pk_conv_shape conv;

        if (index >= SHAPES)
            return false;
        conv = shapes[index].conv;
        c->shape = shapes[index].text;
        conv.n = conv.n > 0 && conv.n < n ? conv.n : n;
        make_conv(c, operation, conv);
        return true;
    }
    case OPERATION_norm_forward:
    case OPERATION_norm_backward:
        if (index >= (operation == OPERATION_norm_forward ? 5 : 4))
            return false;
        c->shape = index == 4 ? "64 x 32x32, relu, residual sum" : plane_names[index];
        if (operation == OPERATION_norm_forward)
            make_norm_forward(c, n, planes[index % 4][0], planes[index % 4][1], index == 4);
        else
            make_norm_backward(c, n, planes[index][0], planes[index][1]);
        return true;
    case OPERATION_gemm:
        c->shape = index == 0 ? "1024 x 1024 x 1024" : "64 x 1024 x 576";
        make_product(c, index == 0 ? 1024 : 64, 1024, index == 0 ? 1024 : 576);
        return index < 2;
    case OPERATION_linear_forward:
    case OPERATION_linear_backward_data:
    case OPERATION_linear_backward_weight:
        c->shape = index == 0 ? "1024 -> 10" : "768 -> 3072, 128 tokens";
        make_linear(c, operation, index == 0 ? n : tokens, index == 0 ? 1024 : 768,
                    index == 0 ? 10 : 3072);
        return index < 2;
    default:
        break;
    }
    c->shape = "one of its kind";
    if (operation == OPERATION_norm_inference)
        make_inference(c, n);
    else if (operation == OPERATION_pool_forward || operation == OPERATION_pool_backward)
        make_pool(c, operation, n);
    else if (operation == OPERATION_average_forward || operation == OPERATION_average_backward)
        make_average(c, operation, n);
    else if (operation == OPERATION_cross_entropy)
        make_cross_entropy(c, n);
    else if (operation == OPERATION_layer_norm_forward ||
             operation == OPERATION_layer_norm_backward)
        make_layer_norm(c, operation, tokens);
    else if (operation == OPERATION_attention_forward || operation == OPERATION_attention_backward)
        make_attention(c, operation, n);
    else if (operation == OPERATION_embedding_forward || operation == OPERATION_embedding_backward)
        make_embedding(c, operation, n);
    else
        make_elementwise(c, operation, (size_t)n << 16);
    return index < 1;
}

static size_t element_bytes(const struct operand *operand)
{
    return operand->kind == COUNT ? sizeof(int64_t) : sizeof(float);
}

/* One case in one context's memory. */
struct placed {
    struct bench_case c;
    struct pk_context *context;
    void *blocks[ARRAYS];
    struct pk_workspace workspace;
};

static size_t workspace_of(const struct placed *p)
{
    switch (p->c.operation) {
#define BENCH_WORKSPACE(name, type)                                                                \
    case OPERATION_##name:                                                                         \
        return pk_##name##_workspace(p->context, (const struct type *)(const void *)p->c.op);
        PK_OPERATION_MAP(BENCH_WORKSPACE)
#undef BENCH_WORKSPACE
    default:
        return 0;
    }
}

static enum psim_status run_case(const struct placed *p, struct psim_error *err)
{
    switch (p->c.operation) {
#define BENCH_RUN(name, type)                                                                      \
    case OPERATION_##name:                                                                         \
        return pk_##name(p->context, (const struct type *)(const void *)p->c.op, &p->workspace,    \
                         err);
        PK_OPERATION_MAP(BENCH_RUN)
#undef BENCH_RUN
    default:
        return PSIM_OK;
    }
}

static void fill(const struct operand *operand, void *host, uint64_t *seed)
{
    for (size_t i = 0; i < operand->count && operand->kind != COUNT; i++) {
        const float value = bench_random(seed);

        if (operand->kind == WINDOWS) /* the first of each 2x2 window of a 112x112 plane */
            ((int32_t *)host)[i] = (int32_t)(i % 3136 / 56 * 224 + i % 56 * 2);
        else if (operand->kind == INDICES)
            ((int32_t *)host)[i] = (int32_t)(fabsf(value) * (float)operand->limit);
        else
            ((float *)host)[i] = operand->kind == POSITIVE ? 0.5F + 0.25F * value : value;
    }
}

static void place(struct pk_context *context, const struct bench_case *c, struct placed *p)
{
    struct psim_error err = PSIM_ERROR_INIT;
    uint64_t seed = 1;

    *p = (struct placed){.c = *c, .context = context};
    for (int i = 0; i < c->count; i++) {
        const struct operand *operand = &c->operands[i];
        const size_t bytes = operand->count * element_bytes(operand);
        void *host = psim_alloc(1, bytes);

        if (host == NULL)
            bench_need(psim_fail(&err, PSIM_ERR_NOMEM, "memory", "out of memory"), &err);
        fill(operand, host, &seed);
        bench_need(pk_allocate(context, PK_DATA, bytes, &p->blocks[i], &err), &err);
        bench_need(context->backend->upload(context, p->blocks[i], host, bytes, &err), &err);
        memcpy(p->c.op + operand->offset, &p->blocks[i], sizeof(void *));
        psim_free(host);
    }
    p->workspace.bytes = workspace_of(p);
    bench_need(pk_allocate(context, PK_WORKSPACE, p->workspace.bytes, &p->workspace.data, &err),
               &err);
}

static void remove_case(struct placed *p)
{
    for (int i = 0; i < p->c.count; i++)
        pk_release(p->context, PK_DATA, p->c.operands[i].count * element_bytes(&p->c.operands[i]),
                   p->blocks[i]);
    pk_release(p->context, PK_WORKSPACE, p->workspace.bytes, p->workspace.data);
}

/* Relative L2 distance of two operands of floats; indices count as values. */
static double distance(const struct operand *operand, const void *got, const void *want)
{
    double error = 0, size = 0;

    for (size_t i = 0; i < operand->count; i++) {
        double a, b;

        if (operand->kind == COUNT) {
            a = (double)((const int64_t *)got)[i];
            b = (double)((const int64_t *)want)[i];
        } else if (operand->kind == INDICES || operand->kind == WINDOWS) {
            a = ((const int32_t *)got)[i];
            b = ((const int32_t *)want)[i];
        } else {
            a = (double)((const float *)got)[i];
            b = (double)((const float *)want)[i];
        }
        error += (a - b) * (a - b);
        size += b * b;
    }
    return size > 0 ? sqrt(error / size) : sqrt(error);
}

/* The largest distance from ref over all outputs of a small instance. */
static double check_case(struct pk_context *context, struct pk_context *ref,
                         const struct bench_case *c)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct placed got, want;
    double worst = 0;

    place(context, c, &got);
    place(ref, c, &want);
    bench_need(run_case(&got, &err), &err);
    bench_need(context->backend->wait(context, &err), &err);
    bench_need(run_case(&want, &err), &err);
    for (int i = 0; i < c->count; i++) {
        const struct operand *operand = &c->operands[i];
        const size_t bytes = operand->count * element_bytes(operand);
        void *host = psim_alloc(1, bytes);
        double d;

        if (host == NULL)
            bench_need(psim_fail(&err, PSIM_ERR_NOMEM, "memory", "out of memory"), &err);
        bench_need(context->backend->download(context, host, got.blocks[i], bytes, &err), &err);
        d = distance(operand, host, want.blocks[i]);
        worst = d <= worst ? worst : d; /* a NaN stays */
        psim_free(host);
    }
    remove_case(&got);
    remove_case(&want);
    return worst;
}

static double timed_s(const struct placed *p, int calls)
{
    struct psim_error err = PSIM_ERROR_INIT;
    const double start_s = bench_now_s();

    for (int i = 0; i < calls; i++)
        bench_need(run_case(p, &err), &err);
    bench_need(p->context->backend->wait(p->context, &err), &err);
    return (bench_now_s() - start_s) / calls;
}

struct timing {
    double median_s, fastest_s, slowest_s;
};

static struct timing time_case(struct pk_context *context, const struct bench_case *c, int runs)
{
    struct placed p;
    double times[RUNS], once_s;
    int calls;

    place(context, c, &p);
    (void)timed_s(&p, 2);
    once_s = timed_s(&p, 1);
    calls = once_s >= 5e-4 ? 1 : (int)(5e-4 / (once_s > 1e-7 ? once_s : 1e-7)) + 1;
    for (int i = 0; i < runs; i++)
        times[i] = timed_s(&p, calls);
    remove_case(&p);
    return (struct timing){bench_median(times, runs), times[0], times[runs - 1]};
}

static double bytes_of(const struct bench_case *c)
{
    double bytes = 0;

    for (int i = 0; i < c->count; i++)
        bytes += (double)c->operands[i].count * (double)element_bytes(&c->operands[i]) *
                 (c->operands[i].role == BOTH ? 2 : 1);
    return bytes;
}

struct values {
    const char *backend, *only;
    struct pk_options options;
    int runs;
};

/* This machine's rates, by the same operations and threads: flop/s of sgemm, bytes/s of a copy. */
struct rates {
    double flop_per_s, bytes_per_s;
};

static struct rates measure_rates(struct pk_context *context, int runs)
{
    const bool device = context->backend->memory == PK_MEMORY_DEVICE;
    const int side = device ? 8192 : 2048;
    struct bench_case product = {0}, made = {0}, *c = &made;
    struct rates rates;
    BEGIN(copy_rows, .rows = COPY_FLOATS / 1024, .columns = 1024, .source_stride = 1024,
          .target_stride = 1024);

    ARRAY(source, COPY_FLOATS, READ);
    ARRAY(target, COPY_FLOATS, WRITTEN);
    rates.bytes_per_s = bytes_of(c) / time_case(context, c, runs).median_s;
    make_product(&product, side, side, side);
    rates.flop_per_s = product.flop / time_case(context, &product, runs).median_s;
    return rates;
}

static void print_case(const struct bench_case *c, double error, struct timing t,
                       const struct rates *rates, const char *before)
{
    const double flop_per_s = c->flop / t.median_s, bytes_per_s = bytes_of(c) / t.median_s;

    printf("%s    {\"operation\": \"%s\", \"shape\": \"%s\", \"error\": %.2g, \"median_s\": %.4g, "
           "\"fastest_s\": %.4g, \"slowest_s\": %.4g, \"gflop_per_s\": %.4g, \"gb_per_s\": %.4g, "
           "\"of_sgemm\": %.3f, \"of_copy\": %.3f}",
           before, operation_names[c->operation], c->shape, error, t.median_s, t.fastest_s,
           t.slowest_s, flop_per_s * 1e-9, bytes_per_s * 1e-9, flop_per_s / rates->flop_per_s,
           bytes_per_s / rates->bytes_per_s);
}

/* Coarse: what no rounding explains.  Half the digits of fp32; bf16 has 8 bits. */
static double allowed_error(enum pk_math math)
{
    return math == PK_MATH_FP32 ? 1e-4 : 3e-2;
}

/* False when a result is wrong. */
static bool run_all(struct pk_context *context, struct pk_context *ref, const struct values *values)
{
    const struct rates rates = measure_rates(context, values->runs);
    bool good = true;
    const char *before = "";

    printf("  \"sgemm_gflop_per_s\": %.4g,\n  \"copy_gb_per_s\": %.4g,\n  \"operations\": [\n",
           rates.flop_per_s * 1e-9, rates.bytes_per_s * 1e-9);
    for (int operation = 0; operation < OPERATIONS; operation++) {
        struct bench_case c, small;

        if (values->only != NULL && strcmp(values->only, operation_names[operation]) != 0)
            continue;
        for (int i = 0; make_case(&c, (enum operation)operation, i, 64); i++) {
            double error;

            make_case(&small, (enum operation)operation, i, 2);
            error = check_case(context, ref, &small);
            good = good && error <= allowed_error(values->options.math);
            print_case(&c, error, time_case(context, &c, values->runs), &rates, before);
            before = ",\n";
            fflush(stdout);
        }
    }
    printf("\n  ],\n  \"load_after\": %.2f,\n  \"correct\": %s\n}\n", bench_load(),
           good ? "true" : "false");
    return good;
}

static int usage(void)
{
    fprintf(stderr, "usage: bench_kernels [--backend NAME] [--threads N] [--math fp32|tf32|bf16] "
                    "[--quick] [--only OPERATION]\n");
    return 2;
}

static bool read_arguments(int count, char **arguments, struct values *values)
{
    for (int i = 1; i < count; i++) {
        const char *name = arguments[i], *value = i + 1 < count ? arguments[i + 1] : NULL;

        if (strcmp(name, "--quick") == 0) {
            values->runs = 5;
            continue;
        }
        if (value == NULL)
            return false;
        i++;
        if (strcmp(name, "--backend") == 0) {
            values->backend = value;
        } else if (strcmp(name, "--only") == 0) {
            values->only = value;
        } else if (strcmp(name, "--threads") == 0) {
            values->options.threads = (int)strtol(value, NULL, 10);
        } else if (strcmp(name, "--math") == 0) {
            int math = 0;

            while (pk_math_names[math] != NULL && strcmp(pk_math_names[math], value) != 0)
                math++;
            values->options.math = (enum pk_math)math;
        } else {
            return false;
        }
    }
    return true;
}

int main(int count, char **arguments)
{
    struct values values = {.backend = "openblas", .runs = RUNS, .options = {.threads = 1}};
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_context *context = NULL, *ref = NULL;
    bool good;

    if (!read_arguments(count, arguments, &values))
        return usage();
    bench_need(pk_context_open(values.backend, &values.options, &context, &err), &err);
    bench_need(pk_context_open("ref", &(struct pk_options){.threads = 1}, &ref, &err), &err);
    printf("{\n  \"benchmark\": \"kernels\",\n  \"runs\": %d,\n", values.runs);
    bench_print_provenance(context);
    good = run_all(context, ref, &values);
    pk_context_close(ref);
    pk_context_close(context);
    return fflush(stdout) == 0 && good ? 0 : 1;
}

/*
 * Attention and the embedding of tokens.
 *
 * A row of qkv is [3, heads, d]: the heads of one sample are a batch of products with a stride of
 * d, and the samples of one head are one with a stride of a whole sample.  Whichever batch is
 * longer is given to one call.
 */
#include "kernels/cuda/cuda.h"

/* Sizes of an attention, in values. */
struct sizes {
    int n, tokens, heads, d;
    size_t model, sample, plane; /* heads d; of qkv; tokens tokens */
};

static struct sizes sizes_of(int n, int tokens, int heads, int d)
{
    const size_t model = (size_t)heads * (size_t)d;

    return (struct sizes){.n = n,
                          .tokens = tokens,
                          .heads = heads,
                          .d = d,
                          .model = model,
                          .sample = 3 * model * (size_t)tokens,
                          .plane = (size_t)tokens * (size_t)tokens};
}

static size_t qkv_values(const struct sizes *s)
{
    return (size_t)s->n * s->sample;
}

static size_t plane_values(const struct sizes *s)
{
    return (size_t)s->n * (size_t)s->heads * s->plane;
}

/* An array with a matrix for each sample and head. */
struct heads {
    struct cuda_factor all; /* data, rounded, transposed, row */
    size_t start, per_sample, per_head;
};

/* q (0), k (1) or v (2) of an array like qkv. */
static struct heads part_of(struct cuda_factor qkv, const struct sizes *s, int part)
{
    qkv.row = (int)(3 * s->model);
    return (struct heads){qkv, (size_t)part * s->model, s->sample, (size_t)s->d};
}

/* An array like y. */
static struct heads rows_of(struct cuda_factor y, const struct sizes *s)
{
    y.row = (int)s->model;
    return (struct heads){y, 0, s->model * (size_t)s->tokens, (size_t)s->d};
}

/* An array like probabilities. */
static struct heads planes_of(struct cuda_factor p, const struct sizes *s)
{
    p.row = s->tokens;
    return (struct heads){p, 0, s->plane * (size_t)s->heads, s->plane};
}

static struct heads transposed(struct heads heads)
{
    heads.all.transposed = true;
    return heads;
}

/* Turns the matrix of the i-th call into a factor, the batch being over heads or over samples. */
static struct cuda_factor factor_of(const struct heads *h, size_t i, bool over_heads)
{
    const size_t at = h->start + i * (over_heads ? h->per_sample : h->per_head);
    struct cuda_factor factor = h->all;

    factor.stride = over_heads ? h->per_head : h->per_sample;
    if (factor.rounded)
        factor.data = (const uint16_t *)factor.data + at;
    else
        factor.data = (const float *)factor.data + at;
    return factor;
}

/* c = alpha a b for every sample and head; `out` is where c's heads are. */
static enum psim_status multiply(struct cuda_context *context, const struct sizes *s,
                                 struct heads a, struct heads b, float *c, struct heads out,
                                 struct cuda_product product, struct psim_error *err)
{
    const bool over_heads = s->heads >= s->n;
    const int calls = over_heads ? s->n : s->heads;
    enum psim_status status = PSIM_OK;

    product.batch = over_heads ? s->heads : s->n;
    product.c_row = out.all.row;
    product.c_stride = over_heads ? out.per_head : out.per_sample;
    for (size_t i = 0; status == PSIM_OK && i < (size_t)calls; i++) {
        product.a = factor_of(&a, i, over_heads);
        product.b = factor_of(&b, i, over_heads);
        product.c = c + out.start + i * (over_heads ? out.per_sample : out.per_head);
        status = cuda_multiply(context, &product, err);
    }
    return status;
}

size_t cuda_workspace_attention_forward(const struct pk_context *base,
                                        const struct pk_attention_forward *op)
{
    const struct cuda_context *context = cuda_context_read(base);
    const struct sizes s = sizes_of(op->n, op->tokens, op->heads, op->d);

    return cuda_operand_bytes(context, qkv_values(&s)) +
           cuda_operand_bytes(context, plane_values(&s));
}

enum psim_status cuda_run_attention_forward(struct pk_context *base,
                                            const struct pk_attention_forward *op,
                                            const struct pk_workspace *workspace,
                                            struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct sizes s = sizes_of(op->n, op->tokens, op->heads, op->d);
    struct cuda_scratch scratch = {workspace == NULL ? NULL : workspace->data};
    const struct cuda_softmax softmax = {.rows = plane_values(&s) / (size_t)s.tokens,
                                         .tokens = (uint32_t)s.tokens,
                                         .lanes = cuda_lanes((size_t)s.tokens),
                                         .causal = op->causal,
                                         .scores = op->probabilities};
    const struct cuda_product scores = {
        .m = s.tokens, .n = s.tokens, .k = s.d, .alpha = 1 / sqrtf((float)s.d)};
    const struct cuda_product mix = {.m = s.tokens, .n = s.d, .k = s.tokens, .alpha = 1};
    struct cuda_factor qkv = {0}, p = {0}, none = {0};
    enum psim_status status = cuda_operand(context, &scratch, op->qkv, qkv_values(&s), &qkv, err);

    if (status == PSIM_OK)
        status = multiply(context, &s, part_of(qkv, &s, 0), transposed(part_of(qkv, &s, 1)),
                          op->probabilities, planes_of(none, &s), scores, err);
    if (status == PSIM_OK)
        status = cuda_launch_softmax(context, cuda_row_blocks(softmax.rows, softmax.lanes),
                                     &softmax, err);
    if (status == PSIM_OK)
        status = cuda_operand(context, &scratch, op->probabilities, plane_values(&s), &p, err);
    if (status == PSIM_OK)
        status = multiply(context, &s, planes_of(p, &s), part_of(qkv, &s, 2), op->y,
                          rows_of(none, &s), mix, err);
    return status;
}

size_t cuda_workspace_attention_backward(const struct pk_context *base,
                                         const struct pk_attention_backward *op)
{
    const struct cuda_context *context = cuda_context_read(base);
    const struct sizes s = sizes_of(op->n, op->tokens, op->heads, op->d);

    return pk_padded(plane_values(&s) * sizeof(float)) +
           cuda_operand_bytes(context, qkv_values(&s)) +
           cuda_operand_bytes(context, qkv_values(&s) / 3) +
           2 * cuda_operand_bytes(context, plane_values(&s));
}

/* dv = p^T dy, ds = p (dp - sum p dp) with dp = dy v^T, dq = ds k / sqrt(d), dk = ds^T q / sqrt(d)
 */
enum psim_status cuda_run_attention_backward(struct pk_context *base,
                                             const struct pk_attention_backward *op,
                                             const struct pk_workspace *workspace,
                                             struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct sizes s = sizes_of(op->n, op->tokens, op->heads, op->d);
    struct cuda_scratch scratch = {workspace->data};
    float *dp = cuda_take(&scratch, plane_values(&s) * sizeof(float));
    const struct cuda_softmax_gradient softmax = {.rows = plane_values(&s) / (size_t)s.tokens,
                                                  .tokens = (uint32_t)s.tokens,
                                                  .lanes = cuda_lanes((size_t)s.tokens),
                                                  .causal = op->causal,
                                                  .p = op->probabilities,
                                                  .dp = dp};
    const struct cuda_product rows = {.m = s.tokens, .n = s.d, .k = s.tokens, .alpha = 1};
    const struct cuda_product planes = {.m = s.tokens, .n = s.tokens, .k = s.d, .alpha = 1};
    struct cuda_product scaled = rows;
    struct cuda_factor qkv = {0}, dy = {0}, p = {0}, ds = {0}, none = {0};
    enum psim_status status = cuda_operand(context, &scratch, op->qkv, qkv_values(&s), &qkv, err);

    scaled.alpha = 1 / sqrtf((float)s.d);
    if (status == PSIM_OK)
        status = cuda_operand(context, &scratch, op->dy, qkv_values(&s) / 3, &dy, err);
    if (status == PSIM_OK)
        status = cuda_operand(context, &scratch, op->probabilities, plane_values(&s), &p, err);
    if (status == PSIM_OK)
        status = multiply(context, &s, transposed(planes_of(p, &s)), rows_of(dy, &s), op->dqkv,
                          part_of(none, &s, 2), rows, err);
    if (status == PSIM_OK)
        status = multiply(context, &s, rows_of(dy, &s), transposed(part_of(qkv, &s, 2)), dp,
                          planes_of(none, &s), planes, err);
    if (status == PSIM_OK)
        status = cuda_launch_softmax_gradient(context, cuda_row_blocks(softmax.rows, softmax.lanes),
                                              &softmax, err);
    if (status == PSIM_OK)
        status = cuda_operand(context, &scratch, dp, plane_values(&s), &ds, err);
    if (status == PSIM_OK)
        status = multiply(context, &s, planes_of(ds, &s), part_of(qkv, &s, 1), op->dqkv,
                          part_of(none, &s, 0), scaled, err);
    if (status == PSIM_OK)
        status = multiply(context, &s, transposed(planes_of(ds, &s)), part_of(qkv, &s, 0), op->dqkv,
                          part_of(none, &s, 1), scaled, err);
    return status;
}

enum psim_status cuda_run_embedding_forward(struct pk_context *base,
                                            const struct pk_embedding_forward *op,
                                            const struct pk_workspace *workspace,
                                            struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct cuda_lookup lookup = {.op = *op,
                                       .columns = cuda_divider_of((uint32_t)op->columns)};

    (void)workspace;
    return cuda_launch_lookup(context, cuda_blocks(context, (size_t)op->rows * (size_t)op->columns),
                              &lookup, err);
}

enum psim_status cuda_run_embedding_backward(struct pk_context *base,
                                             const struct pk_embedding_backward *op,
                                             const struct pk_workspace *workspace,
                                             struct psim_error *err)
{
    struct cuda_context *context = cuda_context_of(base);
    const struct cuda_lookup_gradient lookup = {.op = *op};
    const struct cuda_position_gradient position = {
        .op = *op, .columns = cuda_divider_of((uint32_t)op->columns)};
    const enum psim_status status =
        cuda_launch_lookup_gradient(context, (size_t)op->rows, &lookup, err);

    (void)workspace;
    if (status != PSIM_OK || op->dposition == NULL)
        return status;
    return cuda_launch_position_gradient(
        context, cuda_blocks(context, (size_t)op->tokens * (size_t)op->columns), &position, err);
}

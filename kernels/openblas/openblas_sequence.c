/* Transformers' operations on rows, and the loss. */
#include "kernels/openblas/openblas.h"

#include "kernels/openblas/openblas_functions.h"

#include <math.h>
#include <string.h>

/* The sum of (a - mean) b; of squares where b is NULL. */
OB_INLINE double sum_of_products(const float *a, double mean, const float *b, int count)
{
    double lanes[OB_LANES] = {0};
    int i = 0;

    for (; i + OB_LANES <= count; i += OB_LANES)
        for (int lane = 0; lane < OB_LANES; lane++) {
            const double value = (double)a[i + lane] - mean;

            lanes[lane] += value * (b == NULL ? value : (double)b[i + lane]);
        }
    for (; i < count; i++) {
        const double value = (double)a[i] - mean;

        lanes[i % OB_LANES] += value * (b == NULL ? value : (double)b[i]);
    }
    return ob_lane_sum(lanes);
}

OB_CLONES static void layer_norm_row(const void *argument, int64_t row)
{
    const struct pk_layer_norm_forward *op = argument;
    const int columns = op->columns;
    const float *x = op->x + row * columns, *scale = op->scale, *shift = op->shift;
    const double mean = ob_sum(x, columns) / columns;
    const double variance = sum_of_products(x, mean, NULL, columns) / columns;
    const double inv_std = 1 / sqrt(variance + (double)op->epsilon);
    const float centre = (float)mean, slope = (float)inv_std;
    float *y = op->y + row * columns;

    op->mean[row] = centre;
    op->inv_std[row] = slope;
    for (int i = 0; i < columns; i++)
        y[i] = (x[i] - centre) * slope * scale[i] + shift[i];
}

enum psim_status ob_layer_norm_forward(struct pk_context *context,
                                       const struct pk_layer_norm_forward *op,
                                       const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)workspace;
    (void)err;
    ob_run_rows(context, layer_norm_row, op, op->rows, ob_rows_of_task(op->columns));
    return PSIM_OK;
}

/* Columns of the sums over all rows that one task has. */
#define COLUMNS 64

OB_CLONES static void layer_norm_sums(const struct pk_layer_norm_backward *op, int first, int count)
{
    double scale[COLUMNS] = {0}, shift[COLUMNS] = {0};

    for (int64_t row = 0; row < op->rows; row++) {
        const float *x = op->x + row * op->columns + first,
                    *dy = op->dy + row * op->columns + first;
        const float mean = op->mean[row], inv_std = op->inv_std[row];

        for (int i = 0; i < count; i++) {
            scale[i] += (double)dy[i] * (double)((x[i] - mean) * inv_std);
            shift[i] += (double)dy[i];
        }
    }
    for (int i = 0; i < count; i++) {
        op->dscale[first + i] = (float)((double)op->dscale[first + i] + scale[i]);
        op->dshift[first + i] = (float)((double)op->dshift[first + i] + shift[i]);
    }
}

static void layer_norm_sums_task(const void *argument, int64_t task, int thread)
{
    const struct pk_layer_norm_backward *op = argument;
    const int first = (int)task * COLUMNS;

    (void)thread;
    layer_norm_sums(op, first, (int)ob_min(COLUMNS, op->columns - first));
}

/* dx = inv_std (g - mean(g) - x^ mean(g x^)) with g = scale dy. */
OB_CLONES static void layer_norm_backward_row(const void *argument, int64_t row)
{
    const struct pk_layer_norm_backward *op = argument;
    const int columns = op->columns;
    const float *x = op->x + row * columns, *dy = op->dy + row * columns, *scale = op->scale;
    const float mean = op->mean[row], inv_std = op->inv_std[row];
    float *dx = op->dx + row * columns;
    double lanes[OB_LANES] = {0}, products[OB_LANES] = {0};
    float of_mean, of_x;
    int i = 0;

    for (; i + OB_LANES <= columns; i += OB_LANES)
        for (int lane = 0; lane < OB_LANES; lane++) {
            const double g = (double)dy[i + lane] * (double)scale[i + lane];

            lanes[lane] += g;
            products[lane] += g * (double)(x[i + lane] - mean);
        }
    for (; i < columns; i++) {
        const double g = (double)dy[i] * (double)scale[i];

        lanes[i % OB_LANES] += g;
        products[i % OB_LANES] += g * (double)(x[i] - mean);
    }
    of_mean = (float)(ob_lane_sum(lanes) / columns);
    of_x = (float)(ob_lane_sum(products) / columns * inv_std * inv_std);
    for (i = 0; i < columns; i++)
        dx[i] = inv_std * (dy[i] * scale[i] - of_mean - (x[i] - mean) * of_x);
}

/* The sums come first: dx may be dy. */
enum psim_status ob_layer_norm_backward(struct pk_context *context,
                                        const struct pk_layer_norm_backward *op,
                                        const struct pk_workspace *workspace,
                                        struct psim_error *err)
{
    (void)workspace;
    (void)err;
    ob_run(context, layer_norm_sums_task, op, ob_ceil(op->columns, COLUMNS));
    ob_run_rows(context, layer_norm_backward_row, op, op->rows, ob_rows_of_task(op->columns));
    return PSIM_OK;
}

/* The largest of x[0 .. count), NaN if one is; -infinity for none. */
OB_INLINE float largest_of(const float *x, int count)
{
    float largest[OB_LANES];
    float all = -INFINITY;
    int i = 0;

    for (int lane = 0; lane < OB_LANES; lane++)
        largest[lane] = -INFINITY;
    for (; i + OB_LANES <= count; i += OB_LANES)
        for (int lane = 0; lane < OB_LANES; lane++)
            largest[lane] = x[i + lane] <= largest[lane] ? largest[lane] : x[i + lane];
    for (; i < count; i++)
        largest[0] = x[i] <= largest[0] ? largest[0] : x[i];
    for (int lane = 0; lane < OB_LANES; lane++)
        all = largest[lane] <= all ? all : largest[lane];
    return all;
}

/* y = exp(x - largest) where y is given; the sum of these.  y may be x. */
OB_INLINE double exponentials(const float *x, float largest, int count, float *y)
{
    double lanes[OB_LANES] = {0};
    int i = 0;

    for (; i + OB_LANES <= count; i += OB_LANES)
        for (int lane = 0; lane < OB_LANES; lane++) {
            const float e = ob_exp(x[i + lane] - largest);

            lanes[lane] += (double)e;
            if (y != NULL)
                y[i + lane] = e;
        }
    for (; i < count; i++) {
        const float e = ob_exp(x[i] - largest);

        lanes[i % OB_LANES] += (double)e;
        if (y != NULL)
            y[i] = e;
    }
    return ob_lane_sum(lanes);
}

OB_CLONES static void softmax(float *x, int count)
{
    const double sum = exponentials(x, largest_of(x, count), count, x);
    const float share = (float)(1 / sum);

    for (int i = 0; i < count; i++)
        x[i] *= share;
}

static int32_t first_largest(const float *x, int count)
{
    int32_t best = 0;

    for (int i = 1; i < count; i++)
        if (x[i] > x[best])
            best = i;
    return best;
}

OB_CLONES static void cross_entropy_row(const void *argument, int64_t row)
{
    const struct pk_cross_entropy *op = argument;
    const int classes = op->classes;
    const int32_t label = op->labels[row];
    const float *x = op->logits + row * classes;
    float *dx = op->dlogits == NULL ? NULL : op->dlogits + row * classes;
    const bool known = label >= 0 && label < classes;
    const float largest = largest_of(x, classes), of_label = known ? x[label] : NAN;
    double sum;

    if (op->predicted != NULL)
        op->predicted[row] = first_largest(x, classes);
    sum = exponentials(x, largest, classes, dx);
    if (op->loss != NULL)
        op->loss[row] = (float)(log(sum) + (double)largest - (double)of_label);
    if (dx != NULL) {
        const float share = known ? (float)(1 / sum) : NAN, scale = op->gradient_scale;

        for (int i = 0; i < classes; i++)
            dx[i] = scale * (dx[i] * share - (i == label ? 1.0F : 0.0F));
    }
}

enum psim_status ob_cross_entropy(struct pk_context *context, const struct pk_cross_entropy *op,
                                  const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)workspace;
    (void)err;
    ob_run_rows(context, cross_entropy_row, op, op->rows, ob_rows_of_task(op->classes));
    return PSIM_OK;
}

static void embed_row(const void *argument, int64_t row)
{
    const struct pk_embedding_forward *op = argument;
    const int64_t columns = op->columns;
    const int32_t index = op->index[row];
    const bool known = index >= 0 && index < op->entries;
    float *y = op->y + row * columns;

    if (known)
        memcpy(y, op->table + index * columns, (size_t)columns * sizeof(float));
    for (int64_t i = 0; i < columns && !known; i++)
        y[i] = NAN;
    if (op->position != NULL)
        ob_add_to(y, op->position + row % op->tokens * columns, (size_t)columns);
}

enum psim_status ob_embedding_forward(struct pk_context *context,
                                      const struct pk_embedding_forward *op,
                                      const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)workspace;
    (void)err;
    ob_run_rows(context, embed_row, op, op->rows, ob_rows_of_task(op->columns));
    return PSIM_OK;
}

/* A task has some columns of the tables and adds all rows to them in their order. */
static void embed_backward_task(const void *argument, int64_t task, int thread)
{
    const struct pk_embedding_backward *op = argument;
    const int64_t columns = op->columns, first = task * COLUMNS;
    const size_t count = (size_t)ob_min(COLUMNS, columns - first);

    (void)thread;
    for (int64_t row = 0; row < op->rows; row++) {
        const float *dy = op->dy + row * columns + first;
        const int32_t index = op->index[row];

        if (index < 0 || index >= op->entries)
            continue;
        ob_add_to(op->dtable + index * columns + first, dy, count);
        if (op->dposition != NULL)
            ob_add_to(op->dposition + row % op->tokens * columns + first, dy, count);
    }
}

enum psim_status ob_embedding_backward(struct pk_context *context,
                                       const struct pk_embedding_backward *op,
                                       const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)workspace;
    (void)err;
    ob_run(context, embed_backward_task, op, ob_ceil(op->columns, COLUMNS));
    return PSIM_OK;
}

/* One head of one sample: its matrices inside qkv and y, rows so many values apart. */
struct head {
    int64_t tokens, d, qkv_row, y_row;
    size_t qkv, y, probabilities; /* offsets */
    float scale;
};

static struct head head_of(int64_t task, int tokens, int heads, int d)
{
    const int64_t sample = task / heads, number = task % heads, width = (int64_t)heads * d;
    const struct head head = {
        .tokens = tokens,
        .d = d,
        .qkv_row = 3 * width,
        .y_row = width,
        .qkv = (size_t)(sample * tokens * 3 * width + number * d),
        .y = (size_t)(sample * tokens * width + number * d),
        .probabilities = (size_t)(task * tokens * tokens),
        .scale = (float)(1 / sqrt((double)d)),
    };

    return head;
}

/* [tokens, tokens] = alpha A B^T of two heads' matrices. */
static void multiply_heads(const struct head *head, float alpha, const float *a, int64_t lda,
                           const float *b, float *c)
{
    const struct ob_product product = {.transpose_b = true,
                                       .m = head->tokens,
                                       .n = head->tokens,
                                       .k = head->d,
                                       .alpha = alpha,
                                       .a = a,
                                       .lda = lda,
                                       .b = b,
                                       .ldb = head->qkv_row,
                                       .c = c,
                                       .ldc = head->tokens};

    ob_multiply(&product);
}

/* [tokens, d] = alpha op(P) B, P of [tokens, tokens]. */
static void weigh_head(const struct head *head, bool transpose, float alpha, const float *p,
                       const float *b, int64_t ldb, float *c, int64_t ldc)
{
    const struct ob_product product = {.transpose_a = transpose,
                                       .m = head->tokens,
                                       .n = head->d,
                                       .k = head->tokens,
                                       .alpha = alpha,
                                       .a = p,
                                       .lda = head->tokens,
                                       .b = b,
                                       .ldb = ldb,
                                       .c = c,
                                       .ldc = ldc};

    ob_multiply(&product);
}

static void attention_task(const void *argument, int64_t task, int thread)
{
    const struct pk_attention_forward *op = argument;
    const struct head head = head_of(task, op->tokens, op->heads, op->d);
    const float *q = op->qkv + head.qkv, *k = q + head.y_row, *v = k + head.y_row;
    float *p = op->probabilities + head.probabilities;

    (void)thread;
    multiply_heads(&head, head.scale, q, head.qkv_row, k, p);
    for (int token = 0; token < op->tokens; token++) {
        const int seen = op->causal ? token + 1 : op->tokens;
        float *row = p + (int64_t)token * op->tokens;

        softmax(row, seen);
        memset(row + seen, 0, (size_t)(op->tokens - seen) * sizeof(float));
    }
    weigh_head(&head, false, 1, p, v, head.qkv_row, op->y + head.y, head.y_row);
}

enum psim_status ob_attention_forward(struct pk_context *context,
                                      const struct pk_attention_forward *op,
                                      const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)workspace;
    (void)err;
    ob_run(context, attention_task, op, (int64_t)op->n * op->heads);
    return PSIM_OK;
}

struct attention_job {
    const struct pk_attention_backward *op;
    float *scratch; /* [threads, tokens, tokens] */
};

/* ds = p (dp - sum(p dp)), the softmax's gradient, in place of dp. */
OB_CLONES static void softmax_backward(const float *p, float *dp, int count)
{
    const float mean = (float)sum_of_products(dp, 0, p, count);

    for (int i = 0; i < count; i++)
        dp[i] = p[i] * (dp[i] - mean);
}

static void attention_backward_task(const void *argument, int64_t task, int thread)
{
    const struct attention_job *job = argument;
    const struct pk_attention_backward *op = job->op;
    const struct head head = head_of(task, op->tokens, op->heads, op->d);
    const float *q = op->qkv + head.qkv, *k = q + head.y_row, *v = k + head.y_row;
    const float *p = op->probabilities + head.probabilities, *dy = op->dy + head.y;
    float *dq = op->dqkv + head.qkv, *dk = dq + head.y_row, *dv = dk + head.y_row;
    float *dp = job->scratch + (int64_t)thread * op->tokens * op->tokens;

    multiply_heads(&head, 1, dy, head.y_row, v, dp);
    for (int64_t token = 0; token < op->tokens; token++)
        softmax_backward(p + token * op->tokens, dp + token * op->tokens, op->tokens);
    weigh_head(&head, true, 1, p, dy, head.y_row, dv, head.qkv_row);
    weigh_head(&head, false, head.scale, dp, k, head.qkv_row, dq, head.qkv_row);
    weigh_head(&head, true, head.scale, dp, q, head.qkv_row, dk, head.qkv_row);
}

size_t ob_attention_backward_workspace(const struct pk_context *context,
                                       const struct pk_attention_backward *op)
{
    return (size_t)ob_threads(context) * (size_t)op->tokens * (size_t)op->tokens * sizeof(float);
}

enum psim_status ob_attention_backward(struct pk_context *context,
                                       const struct pk_attention_backward *op,
                                       const struct pk_workspace *workspace, struct psim_error *err)
{
    const struct attention_job job = {.op = op, .scratch = workspace->data};

    (void)err;
    ob_run(context, attention_backward_task, &job, (int64_t)op->n * op->heads);
    return PSIM_OK;
}

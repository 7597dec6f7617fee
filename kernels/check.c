/*
 * One check per operation.  Dimensions come first: what they make of an array's size is only
 * looked at when each of them is sound.  The first fault is the one that is told.
 */
#include "kernels/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

static void refuse(struct pk_check *check, const char *field, const char *format, ...)
    PSIM_PRINTF(3, 4);

static void refuse(struct pk_check *check, const char *field, const char *format, ...)
{
    char what[160];
    va_list arguments;

    if (check->status != PSIM_OK)
        return;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    check->status = psim_fail(check->err, PSIM_ERR_RANGE, field, "%s: %s", check->operation, what);
}

static void dimension(struct pk_check *check, const char *field, int value)
{
    if (value < 0)
        refuse(check, field, "must not be negative, is %d", value);
    else if (value == 0)
        check->empty = true;
}

static void count(struct pk_check *check, const char *field, size_t value)
{
    if (value > INT32_MAX)
        refuse(check, field, "must be at most %ld, is %zu", (long)INT32_MAX, value);
    else if (value == 0)
        check->empty = true;
}

static void needed(struct pk_check *check, const char *field, const void *data)
{
    if (check->pointers && !check->empty && data == NULL)
        refuse(check, field, "must not be NULL");
}

/* Sizes are >= 0 here, or something was refused already. */
static void fits(struct pk_check *check, const char *field, const int *sizes, int size_count)
{
    int64_t product = 1;

    if (check->status != PSIM_OK || check->empty)
        return;
    for (int i = 0; i < size_count; i++)
        if (product <= INT32_MAX)
            product *= sizes[i];
    if (product > INT32_MAX)
        refuse(check, field, "has more than %ld elements", (long)INT32_MAX);
}

static void stride(struct pk_check *check, const char *field, size_t value, size_t columns,
                   size_t rows)
{
    if (value < columns)
        refuse(check, field, "must be at least %zu, is %zu", columns, value);
    else if (rows > 0 && value > INT32_MAX / rows)
        refuse(check, field, "has more than %ld elements in %zu rows", (long)INT32_MAX, rows);
}

static void epsilon(struct pk_check *check, float value)
{
    if (!(value >= 0) || isinf(value))
        refuse(check, "epsilon", "must be finite and not negative, is %g", (double)value);
}

/* Inside a check: `check` and `op` are its parameters, the field names the member. */
#define DIMENSION(field) dimension(check, #field, op->field)
#define SIZE(field, ...)                                                                           \
    fits(check, #field, (const int[]){__VA_ARGS__},                                                \
         (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)))
#define NEEDED(field) needed(check, #field, op->field)

/* Output sizes of a window that fits; 0, 0 otherwise. */
struct window {
    int p, q;
};

static void window_side(struct pk_check *check, const char *field, int size,
                        const struct pk_conv_shape *s)
{
    if (size > INT32_MAX - 2 * (int64_t)s->pad)
        refuse(check, field, "is too large with its padding, is %d", size);
    else if (size > 0 && size + 2 * s->pad < s->kernel)
        refuse(check, "shape.kernel", "a window of %d does not fit on %d with padding %d",
               s->kernel, size, s->pad);
}

static struct window window_of(struct pk_check *check, const struct pk_conv_shape *s)
{
    const struct window none = {0, 0};

    dimension(check, "shape.n", s->n);
    dimension(check, "shape.c", s->c);
    dimension(check, "shape.h", s->h);
    dimension(check, "shape.w", s->w);
    dimension(check, "shape.k", s->k);
    if (s->kernel < 1)
        refuse(check, "shape.kernel", "must be at least 1, is %d", s->kernel);
    if (s->stride < 1)
        refuse(check, "shape.stride", "must be at least 1, is %d", s->stride);
    if (s->pad < 0 || s->pad >= s->kernel)
        refuse(check, "shape.pad", "must be in [0, kernel), is %d", s->pad);
    if (check->status != PSIM_OK)
        return none;
    window_side(check, "shape.h", s->h, s);
    window_side(check, "shape.w", s->w, s);
    if (check->status != PSIM_OK)
        return none;
    return (struct window){pk_window_out(s->h, s), pk_window_out(s->w, s)};
}

void pk_check_gemm(struct pk_check *check, const struct pk_gemm *op)
{
    DIMENSION(m);
    DIMENSION(n);
    DIMENSION(k);
    SIZE(a, op->m, op->k);
    SIZE(b, op->k, op->n);
    SIZE(c, op->m, op->n);
    NEEDED(a);
    NEEDED(b);
    NEEDED(c);
}

/* The three arrays that all convolutions have, whatever they are called there. */
static void conv_sizes(struct pk_check *check, const struct pk_conv_shape *s, const char *input,
                       const char *weight, const char *output)
{
    const struct window out = window_of(check, s);

    fits(check, input, (const int[]){s->n, s->c, s->h, s->w}, 4);
    fits(check, weight, (const int[]){s->k, s->c, s->kernel, s->kernel}, 4);
    fits(check, output, (const int[]){s->n, s->k, out.p, out.q}, 4);
}

void pk_check_conv_forward(struct pk_check *check, const struct pk_conv_forward *op)
{
    conv_sizes(check, &op->shape, "x", "weight", "y");
    NEEDED(x);
    NEEDED(weight);
    NEEDED(y);
}

void pk_check_conv_backward_data(struct pk_check *check, const struct pk_conv_backward_data *op)
{
    conv_sizes(check, &op->shape, "dx", "weight", "dy");
    NEEDED(dy);
    NEEDED(weight);
    NEEDED(dx);
}

void pk_check_conv_backward_weight(struct pk_check *check, const struct pk_conv_backward_weight *op)
{
    conv_sizes(check, &op->shape, "x", "dweight", "dy");
    NEEDED(x);
    NEEDED(dy);
    NEEDED(dweight);
}

/* [n, c, hw] of the array `field`. */
static void plane_sizes(struct pk_check *check, const char *field, int n, int c, int hw)
{
    dimension(check, "n", n);
    dimension(check, "c", c);
    dimension(check, "hw", hw);
    fits(check, field, (const int[]){n, c, hw}, 3);
}

/* Adding and taking away are the two that invert each other; all else is a mistake. */
static void base_sign(struct pk_check *check, const float *base, float sign)
{
    if (base != NULL && sign != 1 && sign != -1)
        refuse(check, "base_sign", "must be 1 or -1, is %g", (double)sign);
}

static void running(struct pk_check *check, const struct pk_norm_forward *op)
{
    if ((op->running_mean == NULL) != (op->running_variance == NULL))
        refuse(check, op->running_mean == NULL ? "running_mean" : "running_variance",
               "must be given where the other is");
    if (op->running_mean == NULL || check->empty)
        return;
    if ((int64_t)op->n * op->hw < 2)
        refuse(check, "running_variance", "the unbiased variance needs n hw of 2 or more");
    if (!(op->momentum >= 0 && op->momentum <= 1))
        refuse(check, "momentum", "must be in [0, 1], is %g", (double)op->momentum);
}

void pk_check_norm_forward(struct pk_check *check, const struct pk_norm_forward *op)
{
    plane_sizes(check, "x", op->n, op->c, op->hw);
    NEEDED(x);
    NEEDED(scale);
    NEEDED(shift);
    NEEDED(mean);
    NEEDED(inv_std);
    NEEDED(y);
    epsilon(check, op->epsilon);
    base_sign(check, op->base, op->base_sign);
    running(check, op);
}

void pk_check_norm_inference(struct pk_check *check, const struct pk_norm_inference *op)
{
    plane_sizes(check, "x", op->n, op->c, op->hw);
    NEEDED(x);
    NEEDED(scale);
    NEEDED(shift);
    NEEDED(running_mean);
    NEEDED(running_variance);
    NEEDED(y);
    epsilon(check, op->epsilon);
    base_sign(check, op->base, op->base_sign);
}

void pk_check_norm_backward(struct pk_check *check, const struct pk_norm_backward *op)
{
    plane_sizes(check, "x", op->n, op->c, op->hw);
    NEEDED(x);
    NEEDED(dy);
    NEEDED(scale);
    NEEDED(shift);
    NEEDED(mean);
    NEEDED(inv_std);
    NEEDED(dscale);
    NEEDED(dshift);
}

void pk_check_relu_forward(struct pk_check *check, const struct pk_relu_forward *op)
{
    count(check, "count", op->count);
    NEEDED(x);
    NEEDED(y);
}

void pk_check_relu_backward(struct pk_check *check, const struct pk_relu_backward *op)
{
    count(check, "count", op->count);
    NEEDED(y);
    NEEDED(dy);
    NEEDED(dx);
}

void pk_check_add(struct pk_check *check, const struct pk_add *op)
{
    count(check, "count", op->count);
    NEEDED(a);
    NEEDED(b);
    NEEDED(y);
}

void pk_check_copy_rows(struct pk_check *check, const struct pk_copy_rows *op)
{
    count(check, "rows", op->rows);
    count(check, "columns", op->columns);
    if (!check->empty) {
        stride(check, "source_stride", op->source_stride, op->columns, op->rows);
        stride(check, "target_stride", op->target_stride, op->columns, op->rows);
    }
    NEEDED(source);
    NEEDED(target);
}

static void pool_sizes(struct pk_check *check, const struct pk_conv_shape *s, const char *input,
                       const char *output)
{
    const struct window out = window_of(check, s);

    if (s->k != s->c)
        refuse(check, "shape.k", "must be shape.c, %d, is %d", s->c, s->k);
    fits(check, input, (const int[]){s->n, s->c, s->h, s->w}, 4);
    fits(check, output, (const int[]){s->n, s->c, out.p, out.q}, 4);
}

void pk_check_pool_forward(struct pk_check *check, const struct pk_pool_forward *op)
{
    pool_sizes(check, &op->shape, "x", "y");
    NEEDED(x);
    NEEDED(y);
}

void pk_check_pool_backward(struct pk_check *check, const struct pk_pool_backward *op)
{
    pool_sizes(check, &op->shape, "dx", "dy");
    NEEDED(dy);
    NEEDED(index);
    NEEDED(dx);
}

/* n rows of c values whose starts are `row_stride` apart. */
static void rows_of(struct pk_check *check, const char *field, int n, int c, size_t row_stride)
{
    if (check->status == PSIM_OK && !check->empty)
        stride(check, field, row_stride, (size_t)c, (size_t)n);
}

void pk_check_average_forward(struct pk_check *check, const struct pk_average_forward *op)
{
    plane_sizes(check, "x", op->n, op->c, op->hw);
    rows_of(check, "y_stride", op->n, op->c, op->y_stride);
    NEEDED(x);
    NEEDED(y);
}

void pk_check_average_backward(struct pk_check *check, const struct pk_average_backward *op)
{
    plane_sizes(check, "dx", op->n, op->c, op->hw);
    rows_of(check, "dy_stride", op->n, op->c, op->dy_stride);
    NEEDED(dy);
    NEEDED(dx);
}

static void linear_sizes(struct pk_check *check, int rows, int in, int out)
{
    dimension(check, "rows", rows);
    dimension(check, "in", in);
    dimension(check, "out", out);
    SIZE(rows, rows, in);
    SIZE(out, rows, out);
    SIZE(in, out, in);
}

void pk_check_linear_forward(struct pk_check *check, const struct pk_linear_forward *op)
{
    linear_sizes(check, op->rows, op->in, op->out);
    NEEDED(x);
    NEEDED(weight);
    NEEDED(y);
}

void pk_check_linear_backward_data(struct pk_check *check, const struct pk_linear_backward_data *op)
{
    linear_sizes(check, op->rows, op->in, op->out);
    NEEDED(dy);
    NEEDED(weight);
    NEEDED(dx);
}

void pk_check_linear_backward_weight(struct pk_check *check,
                                     const struct pk_linear_backward_weight *op)
{
    linear_sizes(check, op->rows, op->in, op->out);
    NEEDED(x);
    NEEDED(dy);
    NEEDED(dweight);
}

void pk_check_cross_entropy(struct pk_check *check, const struct pk_cross_entropy *op)
{
    DIMENSION(rows);
    DIMENSION(classes);
    SIZE(logits, op->rows, op->classes);
    NEEDED(logits);
    NEEDED(labels);
}

void pk_check_sgd(struct pk_check *check, const struct pk_sgd *op)
{
    count(check, "count", op->count);
    NEEDED(gradient);
    NEEDED(weight);
    if (op->momentum != 0)
        NEEDED(velocity);
}

void pk_check_layer_norm_forward(struct pk_check *check, const struct pk_layer_norm_forward *op)
{
    DIMENSION(rows);
    DIMENSION(columns);
    SIZE(x, op->rows, op->columns);
    NEEDED(x);
    NEEDED(scale);
    NEEDED(shift);
    NEEDED(mean);
    NEEDED(inv_std);
    NEEDED(y);
    epsilon(check, op->epsilon);
}

void pk_check_layer_norm_backward(struct pk_check *check, const struct pk_layer_norm_backward *op)
{
    DIMENSION(rows);
    DIMENSION(columns);
    SIZE(x, op->rows, op->columns);
    NEEDED(x);
    NEEDED(dy);
    NEEDED(scale);
    NEEDED(mean);
    NEEDED(inv_std);
    NEEDED(dscale);
    NEEDED(dshift);
    NEEDED(dx);
}

void pk_check_gelu_forward(struct pk_check *check, const struct pk_gelu_forward *op)
{
    count(check, "count", op->count);
    NEEDED(x);
    NEEDED(y);
}

void pk_check_gelu_backward(struct pk_check *check, const struct pk_gelu_backward *op)
{
    count(check, "count", op->count);
    NEEDED(x);
    NEEDED(dy);
    NEEDED(dx);
}

static void attention_sizes(struct pk_check *check, int n, int tokens, int heads, int d)
{
    dimension(check, "n", n);
    dimension(check, "tokens", tokens);
    dimension(check, "heads", heads);
    dimension(check, "d", d);
    SIZE(qkv, n, tokens, 3, heads, d);
    SIZE(probabilities, n, heads, tokens, tokens);
}

void pk_check_attention_forward(struct pk_check *check, const struct pk_attention_forward *op)
{
    attention_sizes(check, op->n, op->tokens, op->heads, op->d);
    NEEDED(qkv);
    NEEDED(probabilities);
    NEEDED(y);
}

void pk_check_attention_backward(struct pk_check *check, const struct pk_attention_backward *op)
{
    attention_sizes(check, op->n, op->tokens, op->heads, op->d);
    NEEDED(qkv);
    NEEDED(probabilities);
    NEEDED(dy);
    NEEDED(dqkv);
}

/* Tokens count only where there is an array of positions. */
static void embedding_sizes(struct pk_check *check, int rows, int entries, int columns,
                            const float *positions, int tokens)
{
    dimension(check, "rows", rows);
    dimension(check, "entries", entries);
    dimension(check, "columns", columns);
    SIZE(entries, entries, columns);
    SIZE(rows, rows, columns);
    if (positions != NULL) {
        dimension(check, "tokens", tokens);
        SIZE(tokens, tokens, columns);
    }
}

void pk_check_embedding_forward(struct pk_check *check, const struct pk_embedding_forward *op)
{
    embedding_sizes(check, op->rows, op->entries, op->columns, op->position, op->tokens);
    NEEDED(index);
    NEEDED(table);
    NEEDED(y);
}

void pk_check_embedding_backward(struct pk_check *check, const struct pk_embedding_backward *op)
{
    embedding_sizes(check, op->rows, op->entries, op->columns, op->dposition, op->tokens);
    NEEDED(index);
    NEEDED(dy);
    NEEDED(dtable);
}

/* The one operation whose answer of nothing is something: 0. */
void pk_check_count_bad(struct pk_check *check, const struct pk_count_bad *op)
{
    NEEDED(bad);
    count(check, "count", op->count);
    NEEDED(x);
    check->empty = false;
}

void pk_check_workspace(struct pk_check *check, const struct pk_workspace *workspace, size_t bytes)
{
    const size_t given = workspace == NULL ? 0 : workspace->bytes;

    if (bytes == 0)
        return;
    if (given < bytes)
        refuse(check, "workspace", "%zu bytes are needed, %zu given", bytes, given);
    else if (workspace->data == NULL)
        refuse(check, "workspace", "must not be NULL");
    else if ((uintptr_t)workspace->data % PK_ALIGNMENT != 0)
        refuse(check, "workspace", "must be aligned to %d bytes", PK_ALIGNMENT);
}

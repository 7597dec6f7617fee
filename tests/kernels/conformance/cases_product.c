/* Matrix products, linear layers and convolutions: sums of products, see conf_bound_sum. */
#include "tests/kernels/conformance/conformance.h"

#include <math.h>
#include <string.h>

/* Nothing, one, a prime, round the tiles of 16, 64 and 128 that implementations like. */
static const int sizes[] = {0, 1, 7, 15, 16, 17};
static const int large_sizes[][3] = {{63, 64, 65},    {64, 65, 63},    {65, 63, 64}, {127, 129, 61},
                                     {128, 128, 128}, {129, 127, 257}, {3, 2, 1031}, {1031, 3, 2}};

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

static size_t product2(int a, int b)
{
    return (size_t)a * (size_t)b;
}

static size_t product4(int a, int b, int c, int d)
{
    return product2(a, b) * product2(c, d);
}

static void gemm_case(struct conf_run *run, const struct pk_gemm *given)
{
    struct pk_gemm op = *given;
    struct conf_case c;

    CONF_BEGIN(&c, gemm, op, "m %d n %d k %d %s%s alpha %g beta %g", op.m, op.n, op.k,
               op.transpose_a ? "T" : "N", op.transpose_b ? "T" : "N", (double)op.alpha,
               (double)op.beta);
    op.alpha = fabsf(op.alpha);
    op.beta = fabsf(op.beta);
    memcpy(c.absolute, &op, sizeof(op));
    c.terms = op.k + 4;
    c.product = true;
    c.empty = op.m == 0 || op.n == 0 || op.k == 0;
    /* A factor alpha of 0 may, as in BLAS, hide what is in a and b. */
    CONF_ADD(&c, pk_gemm, a, product2(op.m, op.k), READ)->spoil = op.alpha != 0 && op.k == 7;
    CONF_ADD(&c, pk_gemm, b, product2(op.k, op.n), READ)->spoil = op.alpha != 0 && op.k == 7;
    if (op.beta == 0)
        CONF_ADD(&c, pk_gemm, c, product2(op.m, op.n), WRITTEN);
    else
        CONF_ADD(&c, pk_gemm, c, product2(op.m, op.n), BOTH);
    conf_run_case(run, &c);
}

void conf_cases_gemm(struct conf_run *run)
{
    static const float scales[][2] = {{1, 0}, {1, 1}, {0, 0.5F}, {-0.75F, 0}, {1.5F, -2}};

    for (int i = 0; i < COUNT(sizes) * COUNT(sizes) * COUNT(sizes); i++)
        gemm_case(run, &(struct pk_gemm){.m = sizes[i % COUNT(sizes)],
                                         .n = sizes[i / COUNT(sizes) % COUNT(sizes)],
                                         .k = sizes[i / COUNT(sizes) / COUNT(sizes)],
                                         .transpose_a = i % 2 == 0,
                                         .transpose_b = i / 2 % 2 == 0,
                                         .alpha = scales[i % COUNT(scales)][0],
                                         .beta = scales[i % COUNT(scales)][1]});
    for (int i = 0; i < COUNT(large_sizes) * 4; i++)
        gemm_case(run, &(struct pk_gemm){.m = large_sizes[i / 4][0],
                                         .n = large_sizes[i / 4][1],
                                         .k = large_sizes[i / 4][2],
                                         .transpose_a = i % 2 == 0,
                                         .transpose_b = i / 2 % 2 == 0,
                                         .alpha = scales[i % COUNT(scales)][0],
                                         .beta = scales[i % COUNT(scales)][1]});
}

static bool next_linear(int *i, int *rows, int *in, int *out)
{
    const int small = COUNT(sizes) * COUNT(sizes) * COUNT(sizes);

    if (*i < small) {
        *rows = sizes[*i % COUNT(sizes)];
        *in = sizes[*i / COUNT(sizes) % COUNT(sizes)];
        *out = sizes[*i / COUNT(sizes) / COUNT(sizes)];
    } else if (*i < small + COUNT(large_sizes)) {
        *rows = large_sizes[*i - small][0];
        *in = large_sizes[*i - small][1];
        *out = large_sizes[*i - small][2];
    } else {
        return false;
    }
    ++*i;
    return true;
}

/* What all cases of linear layers and convolutions have in common, after conf_begin. */
static void set_product(struct conf_case *c, const void *op, size_t size, double terms, bool empty)
{
    memcpy(c->absolute, op, size);
    c->terms = terms + 3;
    c->product = true;
    c->empty = empty;
}

void conf_cases_linear_forward(struct conf_run *run)
{
    struct pk_linear_forward op = {0};
    struct conf_case c;

    for (int i = 0; next_linear(&i, &op.rows, &op.in, &op.out);) {
        CONF_BEGIN(&c, linear_forward, op, "rows %d in %d out %d%s", op.rows, op.in, op.out,
                   i % 2 == 0 ? " bias" : "");
        set_product(&c, &op, sizeof(op), op.in, op.rows == 0 || op.in == 0 || op.out == 0);
        CONF_ADD(&c, pk_linear_forward, x, product2(op.rows, op.in), READ)->spoil = op.in == 7;
        CONF_ADD(&c, pk_linear_forward, weight, product2(op.out, op.in), READ)->spoil = op.in == 7;
        if (i % 2 == 0)
            CONF_ADD(&c, pk_linear_forward, bias, (size_t)op.out, READ)->spoil = op.in == 7;
        CONF_ADD(&c, pk_linear_forward, y, product2(op.rows, op.out), WRITTEN);
        conf_run_case(run, &c);
    }
}

void conf_cases_linear_backward_data(struct conf_run *run)
{
    struct pk_linear_backward_data op = {0};
    struct conf_case c;

    for (int i = 0; next_linear(&i, &op.rows, &op.in, &op.out);) {
        op.accumulate = i % 2 == 0;
        CONF_BEGIN(&c, linear_backward_data, op, "rows %d in %d out %d%s", op.rows, op.in, op.out,
                   op.accumulate ? " accumulate" : "");
        set_product(&c, &op, sizeof(op), op.out, op.rows == 0 || op.in == 0 || op.out == 0);
        CONF_ADD(&c, pk_linear_backward_data, dy, product2(op.rows, op.out), READ)->spoil =
            op.out == 7;
        CONF_ADD(&c, pk_linear_backward_data, weight, product2(op.out, op.in), READ);
        if (op.accumulate)
            CONF_ADD(&c, pk_linear_backward_data, dx, product2(op.rows, op.in), BOTH);
        else
            CONF_ADD(&c, pk_linear_backward_data, dx, product2(op.rows, op.in), WRITTEN);
        conf_run_case(run, &c);
    }
}

void conf_cases_linear_backward_weight(struct conf_run *run)
{
    struct pk_linear_backward_weight op = {0};
    struct conf_case c;

    for (int i = 0; next_linear(&i, &op.rows, &op.in, &op.out);) {
        CONF_BEGIN(&c, linear_backward_weight, op, "rows %d in %d out %d%s", op.rows, op.in, op.out,
                   i % 2 == 0 ? " bias" : "");
        set_product(&c, &op, sizeof(op), op.rows, op.rows == 0 || op.in == 0 || op.out == 0);
        CONF_ADD(&c, pk_linear_backward_weight, x, product2(op.rows, op.in), READ);
        CONF_ADD(&c, pk_linear_backward_weight, dy, product2(op.rows, op.out), READ)->spoil =
            op.rows == 7;
        CONF_ADD(&c, pk_linear_backward_weight, dweight, product2(op.out, op.in), BOTH);
        if (i % 2 == 0)
            CONF_ADD(&c, pk_linear_backward_weight, dbias, (size_t)op.out, BOTH);
        conf_run_case(run, &c);
    }
}

/* n, c, h, w, k, kernel, stride, pad */
static const struct pk_conv_shape shapes[] = {
    {0, 3, 5, 5, 4, 3, 1, 1},    {2, 0, 5, 5, 4, 3, 1, 1},     {2, 3, 0, 5, 4, 3, 1, 1},
    {2, 3, 5, 0, 4, 3, 1, 1},    {2, 3, 5, 5, 0, 3, 1, 1},     {1, 1, 1, 1, 1, 1, 1, 0},
    {1, 1, 1, 1, 1, 3, 1, 1},    {1, 1, 3, 3, 1, 3, 1, 0},     {2, 3, 7, 5, 4, 1, 1, 0},
    {3, 5, 8, 9, 7, 1, 2, 0},    {2, 3, 7, 5, 4, 2, 1, 1},     {2, 3, 7, 6, 4, 2, 2, 0},
    {2, 5, 7, 11, 3, 3, 1, 1},   {2, 5, 8, 8, 3, 3, 2, 1},     {1, 3, 9, 9, 5, 3, 2, 0},
    {2, 4, 9, 10, 6, 3, 3, 2},   {2, 3, 14, 15, 8, 7, 2, 3},   {1, 2, 13, 7, 3, 7, 1, 3},
    {1, 2, 9, 9, 3, 7, 1, 6},    {1, 1, 2, 2, 1, 3, 5, 2},     {4, 16, 8, 8, 16, 3, 1, 1},
    {3, 15, 7, 7, 17, 3, 1, 1},  {2, 17, 9, 7, 15, 1, 1, 0},   {5, 31, 4, 4, 33, 3, 2, 1},
    {2, 64, 8, 8, 64, 3, 1, 1},  {2, 63, 7, 9, 65, 3, 1, 1},   {3, 65, 8, 8, 63, 1, 1, 0},
    {7, 3, 33, 31, 16, 3, 1, 1}, {2, 16, 17, 16, 32, 1, 2, 0}, {1, 128, 5, 5, 129, 3, 1, 1},
    {130, 2, 3, 3, 2, 3, 1, 1},  {2, 3, 40, 37, 24, 7, 2, 3},
};

struct conv_counts {
    size_t x, weight, y;
    bool empty;
};

static struct conv_counts counts_of(const struct pk_conv_shape *s)
{
    const int p = pk_window_out(s->h, s), q = pk_window_out(s->w, s);

    return (struct conv_counts){
        .x = product4(s->n, s->c, s->h, s->w),
        .weight = product4(s->k, s->c, s->kernel, s->kernel),
        .y = product4(s->n, s->k, p, q),
        .empty = s->n == 0 || s->c == 0 || s->k == 0 || p == 0 || q == 0,
    };
}

#define CONV_BEGIN(case, kind, op, flag)                                                           \
    CONF_BEGIN(case, kind, op, "[%d,%d,%d,%d] k %d kernel %d stride %d pad %d%s", (op).shape.n,    \
               (op).shape.c, (op).shape.h, (op).shape.w, (op).shape.k, (op).shape.kernel,          \
               (op).shape.stride, (op).shape.pad, (flag))

void conf_cases_conv_forward(struct conf_run *run)
{
    static const char *const flags[] = {"", " bias", " relu", " bias relu"};
    struct conf_case c;

    for (int i = 0; i < COUNT(shapes) * 4; i++) {
        struct pk_conv_forward op = {.shape = shapes[i / 4], .relu = i % 4 >= 2};
        const struct conv_counts counts = counts_of(&op.shape);
        const bool spoil = op.shape.c == 5;

        CONV_BEGIN(&c, conv_forward, op, flags[i % 4]);
        op.relu = false;
        set_product(&c, &op, sizeof(op), op.shape.c * op.shape.kernel * op.shape.kernel,
                    counts.empty);
        CONF_ADD(&c, pk_conv_forward, x, counts.x, READ)->spoil = spoil;
        CONF_ADD(&c, pk_conv_forward, weight, counts.weight, READ)->spoil = spoil;
        if (i % 2 == 1)
            CONF_ADD(&c, pk_conv_forward, bias, (size_t)op.shape.k, READ)->spoil = spoil;
        CONF_ADD(&c, pk_conv_forward, y, counts.y, WRITTEN);
        conf_run_case(run, &c);
    }
}

void conf_cases_conv_backward_data(struct conf_run *run)
{
    struct conf_case c;

    for (int i = 0; i < COUNT(shapes) * 2; i++) {
        const struct pk_conv_backward_data op = {.shape = shapes[i / 2], .accumulate = i % 2 == 1};
        const struct conv_counts counts = counts_of(&op.shape);

        CONV_BEGIN(&c, conv_backward_data, op, op.accumulate ? " accumulate" : "");
        set_product(&c, &op, sizeof(op), op.shape.k * op.shape.kernel * op.shape.kernel,
                    counts.empty);
        CONF_ADD(&c, pk_conv_backward_data, dy, counts.y, READ)->spoil = op.shape.c == 5;
        CONF_ADD(&c, pk_conv_backward_data, weight, counts.weight, READ);
        if (op.accumulate)
            CONF_ADD(&c, pk_conv_backward_data, dx, counts.x, BOTH);
        else
            CONF_ADD(&c, pk_conv_backward_data, dx, counts.x, WRITTEN);
        conf_run_case(run, &c);
    }
}

void conf_cases_conv_backward_weight(struct conf_run *run)
{
    struct conf_case c;

    for (int i = 0; i < COUNT(shapes) * 2; i++) {
        const struct pk_conv_backward_weight op = {.shape = shapes[i / 2]};
        const struct conv_counts counts = counts_of(&op.shape);
        const double terms =
            counts.empty ? 0 : (double)counts.y / op.shape.k; /* n p q: bias has them too */

        CONV_BEGIN(&c, conv_backward_weight, op, i % 2 == 1 ? " bias" : "");
        set_product(&c, &op, sizeof(op), terms, counts.empty);
        CONF_ADD(&c, pk_conv_backward_weight, x, counts.x, READ)->spoil = op.shape.c == 5;
        CONF_ADD(&c, pk_conv_backward_weight, dy, counts.y, READ)->spoil = op.shape.c == 5;
        CONF_ADD(&c, pk_conv_backward_weight, dweight, counts.weight, BOTH);
        if (i % 2 == 1)
            CONF_ADD(&c, pk_conv_backward_weight, dbias, (size_t)op.shape.k, BOTH);
        conf_run_case(run, &c);
    }
}

/* Operations on one element at a time, copies, pooling, means, SGD and the count of bad values. */
#include "tests/kernels/conformance/conformance.h"

#include <math.h>
#include <string.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Nothing, one, a prime, round vectors of 4 to 16, blocks of 256 and 1024, and several of them. */
static const size_t counts[] = {0,   1,   3,   4,    5,    15,   16,   17,
                                255, 256, 257, 1023, 1024, 1025, 4099, 70001};

/* What each case of one count has; absolute is the operation as given. */
static void set_local(struct conf_case *c, const void *op, size_t size, size_t count, double terms)
{
    memcpy(c->absolute, op, size);
    c->terms = terms;
    c->empty = count == 0;
    c->local = true;
}

/* No rounding is allowed: the bound is 0. */
static void exact(struct conf_case *c, const struct conf_limits *limits)
{
    (void)limits;
    for (int i = 0; i < c->array_count; i++)
        for (size_t e = 0; e < c->arrays[i].count; e++)
            c->arrays[i].bound[e] = 0;
}

/* One addition to what was there. */
static void one_rounding(struct conf_case *c, const struct conf_limits *limits)
{
    struct conf_array *dx = conf_find(c, "dx");

    for (size_t i = 0; i < dx->count; i++)
        dx->bound[i] = limits->unit * fabs((double)((const float *)dx->want)[i]);
}

void conf_cases_relu_forward(struct conf_run *run)
{
    struct conf_case c;

    for (int i = 0; i < COUNT(counts) * 2; i++) {
        const struct pk_relu_forward op = {.count = counts[i / 2]};
        const bool in_place = i % 2 == 1;
        struct conf_array *x;

        CONF_BEGIN(&c, relu_forward, op, "count %zu%s", op.count, in_place ? " in place" : "");
        set_local(&c, &op, sizeof(op), op.count, 0);
        c.bound = exact;
        x = CONF_ADD(&c, pk_relu_forward, x, op.count, READ);
        x->spoil = true;
        if (in_place)
            CONF_IN_PLACE(x, pk_relu_forward, y);
        else
            CONF_ADD(&c, pk_relu_forward, y, op.count, WRITTEN);
        conf_run_case(run, &c);
    }
}

void conf_cases_relu_backward(struct conf_run *run)
{
    static const char *const flags[] = {"", " in place", " accumulate"};
    struct conf_case c;

    for (int i = 0; i < COUNT(counts) * 3; i++) {
        const struct pk_relu_backward op = {.count = counts[i / 3], .accumulate = i % 3 == 2};
        struct conf_array *dy;

        CONF_BEGIN(&c, relu_backward, op, "count %zu%s", op.count, flags[i % 3]);
        set_local(&c, &op, sizeof(op), op.count, 0);
        c.bound = op.accumulate ? one_rounding : exact;
        CONF_ADD(&c, pk_relu_backward, y, op.count, READ)->spoil = true;
        dy = CONF_ADD(&c, pk_relu_backward, dy, op.count, READ);
        dy->spoil = true;
        if (i % 3 == 1)
            CONF_IN_PLACE(dy, pk_relu_backward, dx);
        else if (op.accumulate)
            CONF_ADD(&c, pk_relu_backward, dx, op.count, BOTH);
        else
            CONF_ADD(&c, pk_relu_backward, dx, op.count, WRITTEN);
        conf_run_case(run, &c);
    }
}

void conf_cases_add(struct conf_run *run)
{
    static const float scales[][2] = {{1, 1}, {1, -1}, {0.25F, -1.5F}, {0, 1}};
    static const char *const places[] = {"", " into a", " into b"};
    struct conf_case c;

    for (int i = 0; i < COUNT(counts) * 12; i++) {
        struct pk_add op = {.count = counts[i / 12],
                            .alpha = scales[i % 4][0],
                            .beta = scales[i % 4][1],
                            .relu = i / 4 % 3 == 1};
        const int place = i % 12 / 4;
        struct conf_array *a, *b;

        CONF_BEGIN(&c, add, op, "count %zu alpha %g beta %g%s%s", op.count, (double)op.alpha,
                   (double)op.beta, places[place], op.relu ? " relu" : "");
        op.relu = false;
        op.alpha = fabsf(op.alpha);
        op.beta = fabsf(op.beta);
        set_local(&c, &op, sizeof(op), op.count, 3);
        a = CONF_ADD(&c, pk_add, a, op.count, READ);
        b = CONF_ADD(&c, pk_add, b, op.count, READ);
        a->spoil = op.alpha != 0;
        b->spoil = true;
        if (place == 0)
            CONF_ADD(&c, pk_add, y, op.count, WRITTEN);
        else
            CONF_IN_PLACE(place == 1 ? a : b, pk_add, y);
        conf_run_case(run, &c);
    }
}

void conf_cases_copy_rows(struct conf_run *run)
{
    static const size_t shapes[][4] = {
        /* rows, columns, strides */
        {0, 5, 5, 5},      {5, 0, 1, 1},          {1, 1, 1, 1},          {7, 3, 3, 5},
        {7, 3, 5, 3},      {1, 1025, 1025, 1025}, {1025, 1, 2, 3},       {16, 64, 128, 64},
        {17, 65, 65, 130}, {255, 257, 514, 300},  {3, 4096, 4096, 8192}, {5, 8, 8, 9},
        {5, 8, 9, 12},     {6, 10, 12, 16},       {6, 12, 12, 16}};
    struct conf_case c;

    for (int i = 0; i < COUNT(shapes) * 2; i++) {
        const size_t *s = shapes[i / 2];
        const struct pk_copy_rows op = {.rows = s[0],
                                        .columns = s[1],
                                        .source_stride = s[2],
                                        .target_stride = s[3],
                                        .accumulate = i % 2 == 1};

        CONF_BEGIN(&c, copy_rows, op, "rows %zu columns %zu strides %zu %zu%s", s[0], s[1], s[2],
                   s[3], op.accumulate ? " accumulate" : "");
        set_local(&c, &op, sizeof(op), s[0] * s[1], 1);
        CONF_ADD(&c, pk_copy_rows, source, s[0] * s[2], READ)->spoil = true;
        if (op.accumulate)
            CONF_ADD(&c, pk_copy_rows, target, s[0] * s[3], BOTH);
        else
            CONF_ADD(&c, pk_copy_rows, target, s[0] * s[3], WRITTEN);
        if (!op.accumulate)
            c.bound = exact;
        conf_run_case(run, &c);
    }
}

/* n, c, h, w, k, kernel, stride, pad */
static const struct pk_conv_shape pools[] = {
    {0, 3, 5, 5, 3, 3, 2, 1},   {2, 0, 5, 5, 0, 3, 2, 1},  {2, 3, 0, 5, 3, 3, 2, 1},
    {1, 1, 1, 1, 1, 1, 1, 0},   {1, 1, 1, 1, 1, 3, 2, 1},  {2, 3, 7, 5, 3, 2, 2, 0},
    {2, 3, 8, 8, 3, 3, 2, 1},   {2, 5, 9, 11, 5, 3, 1, 1}, {1, 7, 16, 17, 7, 3, 2, 1},
    {1, 2, 15, 15, 2, 7, 3, 6}, {1, 2, 9, 9, 2, 2, 5, 1},  {3, 16, 32, 33, 16, 3, 2, 1},
};

static size_t plane_count(const struct pk_conv_shape *s, int h, int w)
{
    return (size_t)s->n * (size_t)s->c * (size_t)h * (size_t)w;
}

void conf_cases_pool_forward(struct conf_run *run)
{
    struct conf_case c;

    for (int i = 0; i < COUNT(pools) * 2; i++) {
        const struct pk_pool_forward op = {.shape = pools[i / 2]};
        const struct pk_conv_shape *s = &op.shape;
        const size_t out = plane_count(s, pk_window_out(s->h, s), pk_window_out(s->w, s));

        CONF_BEGIN(&c, pool_forward, op, "[%d,%d,%d,%d] kernel %d stride %d pad %d%s", s->n, s->c,
                   s->h, s->w, s->kernel, s->stride, s->pad, i % 2 == 1 ? " index" : "");
        set_local(&c, &op, sizeof(op), out, 0);
        c.bound = exact;
        CONF_ADD(&c, pk_pool_forward, x, plane_count(s, s->h, s->w), READ)->spoil = true;
        CONF_ADD(&c, pk_pool_forward, y, out, WRITTEN);
        if (i % 2 == 1)
            CONF_ADD_INT(&c, pk_pool_forward, index, out, WRITTEN);
        conf_run_case(run, &c);
    }
}

/* Any position that the window of output (p, q) holds. */
static void fill_indices(struct conf_array *index, const struct pk_conv_shape *s)
{
    const int width = pk_window_out(s->w, s), outs = pk_window_out(s->h, s) * width;
    int32_t *values = index->input;

    for (size_t i = 0; i < index->count; i++) {
        const int p = (int)(i % (size_t)outs) / width, q = (int)(i % (size_t)outs) % width;
        const int taps = s->kernel * s->kernel;
        const int first = (int)(conf_random((uint64_t)taps, i) * taps);

        for (int t = 0; t < taps; t++) {
            const int y = p * s->stride - s->pad + (first + t) % taps / s->kernel;
            const int x = q * s->stride - s->pad + (first + t) % taps % s->kernel;

            if (y < 0 || y >= s->h || x < 0 || x >= s->w)
                continue;
            values[i] = y * s->w + x;
            break;
        }
    }
}

void conf_cases_pool_backward(struct conf_run *run)
{
    struct conf_case c;

    for (int i = 0; i < COUNT(pools); i++) {
        const struct pk_pool_backward op = {.shape = pools[i]};
        const struct pk_conv_shape *s = &op.shape;
        const size_t out = plane_count(s, pk_window_out(s->h, s), pk_window_out(s->w, s));

        CONF_BEGIN(&c, pool_backward, op, "[%d,%d,%d,%d] kernel %d stride %d pad %d", s->n, s->c,
                   s->h, s->w, s->kernel, s->stride, s->pad);
        set_local(&c, &op, sizeof(op), out, s->kernel * s->kernel);
        CONF_ADD(&c, pk_pool_backward, dy, out, READ)->spoil = true;
        fill_indices(CONF_ADD_INT(&c, pk_pool_backward, index, out, READ), s);
        CONF_ADD(&c, pk_pool_backward, dx, plane_count(s, s->h, s->w), WRITTEN);
        conf_run_case(run, &c);
    }
}

/* n, c, hw, more columns per row than c */
static const int averages[][4] = {{0, 3, 4, 0},    {3, 0, 4, 1},    {3, 4, 0, 0},   {1, 1, 1, 0},
                                  {7, 5, 3, 2},    {2, 3, 1, 3},    {3, 17, 49, 0}, {4, 33, 64, 31},
                                  {2, 5, 1025, 0}, {65, 64, 16, 64}};

void conf_cases_average_forward(struct conf_run *run)
{
    struct conf_case c;

    for (int i = 0; i < COUNT(averages); i++) {
        const int *s = averages[i];
        const struct pk_average_forward op = {
            .n = s[0], .c = s[1], .hw = s[2], .y_stride = (size_t)(s[1] + s[3])};
        const size_t rows = (size_t)op.n;

        CONF_BEGIN(&c, average_forward, op, "[%d,%d,%d] stride %zu", op.n, op.c, op.hw,
                   op.y_stride);
        set_local(&c, &op, sizeof(op), rows * (size_t)op.c * (size_t)op.hw, op.hw + 2);
        c.local = false;
        CONF_ADD(&c, pk_average_forward, x, rows * (size_t)op.c * (size_t)op.hw, READ)->spoil =
            true;
        CONF_ADD(&c, pk_average_forward, y, rows * op.y_stride, WRITTEN);
        conf_run_case(run, &c);
    }
}

void conf_cases_average_backward(struct conf_run *run)
{
    struct conf_case c;

    for (int i = 0; i < COUNT(averages); i++) {
        const int *s = averages[i];
        const struct pk_average_backward op = {
            .n = s[0], .c = s[1], .hw = s[2], .dy_stride = (size_t)(s[1] + s[3])};
        const size_t rows = (size_t)op.n;

        CONF_BEGIN(&c, average_backward, op, "[%d,%d,%d] stride %zu", op.n, op.c, op.hw,
                   op.dy_stride);
        /* 1 / hw, times dy: two roundings. */
        set_local(&c, &op, sizeof(op), rows * (size_t)op.c * (size_t)op.hw, 2);
        CONF_ADD(&c, pk_average_backward, dy, rows * op.dy_stride, READ)->spoil = true;
        CONF_ADD(&c, pk_average_backward, dx, rows * (size_t)op.c * (size_t)op.hw, WRITTEN);
        conf_run_case(run, &c);
    }
}

/* Each line of pk_sgd's formula: the error of its terms, and one rounding for each operation; ref
 * itself rounds the velocity and the weight. */
static void sgd_bound(struct conf_case *c, const struct conf_limits *limits)
{
    struct pk_sgd op;
    struct conf_array *weight = conf_find(c, "weight"), *velocity = conf_find(c, "velocity");
    const float *gradient = conf_input(c, "gradient"), *w = weight->input;
    const double u = 1.01 * limits->unit; /* 1.01: the terms of second order */

    memcpy(&op, c->op, sizeof(op));
    for (size_t i = 0; i < weight->count; i++) {
        const double scaled = fabs((double)op.gradient_scale * gradient[i]);
        const double decay = fabs((double)op.weight_decay * w[i]);
        const double g = scaled + decay, error_g = 2 * u * g;
        double step = g, error = error_g;

        if (op.momentum != 0) {
            const double old = fabs((double)op.momentum * ((const float *)velocity->input)[i]);
            const double error_v = error_g + 2 * u * (old + g);
            const double new = (double)op.momentum *(old + g);

            conf_set_bound(velocity, i, error_v + u * (old + g));
            step = op.nesterov ? g + new : old + g;
            error = op.nesterov ? error_g + op.momentum * error_v + 2 * u * step : error_v;
        }
        conf_set_bound(weight, i,
                       (double)op.rate * (error + 2 * u * step) +
                           2 * u * (fabs((double)w[i]) + (double)op.rate * step));
    }
}

void conf_cases_sgd(struct conf_run *run)
{
    struct conf_case c;

    for (int i = 0; i < COUNT(counts) * 6; i++) {
        const struct pk_sgd op = {.count = counts[i / 6],
                                  .rate = 0.1F,
                                  .momentum = i % 3 == 0 ? 0 : 0.9F,
                                  .weight_decay = i % 2 == 0 ? 0 : 5e-4F,
                                  .gradient_scale = i % 2 == 0 ? 1 : 0.125F,
                                  .nesterov = i % 3 == 2};

        CONF_BEGIN(&c, sgd, op, "count %zu momentum %g decay %g%s", op.count, (double)op.momentum,
                   (double)op.weight_decay, op.nesterov ? " nesterov" : "");
        /* Not local: an infinity may become a NaN by the order of the formula's terms. */
        c.empty = op.count == 0;
        c.bound = sgd_bound;
        CONF_ADD(&c, pk_sgd, gradient, op.count, READ)->spoil = true;
        CONF_ADD(&c, pk_sgd, weight, op.count, BOTH)->spoil = true;
        if (op.momentum != 0)
            CONF_ADD(&c, pk_sgd, velocity, op.count, BOTH)->spoil = true;
        conf_run_case(run, &c);
    }
}

void conf_cases_count_bad(struct conf_run *run)
{
    struct conf_case c;

    for (int i = 0; i < COUNT(counts) * 2; i++) {
        const struct pk_count_bad op = {.count = counts[i / 2]};
        struct conf_array *x;
        float *values;

        CONF_BEGIN(&c, count_bad, op, "count %zu %s", op.count,
                   i % 2 == 0 ? "all good" : "some bad");
        c.bound = exact;
        c.local = true;
        x = CONF_ADD(&c, pk_count_bad, x, op.count, READ);
        x->spoil = true;
        values = x->input;
        for (size_t k = 0; i % 2 == 1 && k < op.count; k += 3)
            values[k] = k % 2 == 0 ? NAN : -INFINITY;
        conf_add(&c, "bad", offsetof(struct pk_count_bad, bad), 1, CONF_INT64, CONF_WRITTEN);
        conf_run_case(run, &c);
    }
}

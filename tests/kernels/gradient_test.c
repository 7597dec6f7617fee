/*
 * Every backward of ref against central differences of its forward, both in double (in_double.h).
 *
 * L = sum r y, with r as the gradient of y, is differentiated by D(h) = (L(x+h) - L(x-h)) / 2h.
 * Its error is of order h^2, so that of D(h) is about a third of |D(2h) - D(h)|, to which comes the
 * rounding of L, some units of sum |r y|, over h.
 */
#include "kernels/ref/ref.h"

#include <float.h>

#define VALUES_MAX 4096
#define STEP       1e-4

static struct pk_context context;

/* A forward and the arrays between which it is differentiated. */
struct function {
    const char *name;
    void (*forward)(const void *op);
    const void *op;
    const double *y, *r; /* output, and the weights of L */
    size_t count;
};

static double random_state;

/* Weyl's sequence of the golden ratio, in [-1, 1): never twice the same, which a maximum needs. */
static void fill(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        random_state += 0.6180339887498949;
        random_state -= floor(random_state);
        values[i] = 2 * random_state - 1;
    }
}

static double loss(const struct function *f, double *rounding)
{
    double sum = 0, absolute = 0;

    f->forward(f->op);
    for (size_t i = 0; i < f->count; i++) {
        sum += f->r[i] * f->y[i];
        absolute += fabs(f->r[i] * f->y[i]);
    }
    *rounding = 64 * DBL_EPSILON * absolute;
    return sum;
}

static double difference(const struct function *f, double *x, double h, double *rounding)
{
    const double kept = *x;
    double up, down, of_up, of_down;

    *x = kept + h;
    up = loss(f, &of_up);
    *x = kept - h;
    down = loss(f, &of_down);
    *x = kept;
    *rounding = (of_up + of_down) / (2 * h);
    return (up - down) / (2 * h);
}

/* The gradient of one input, `got`, was added to `before` (NULL: written). */
static int count_wrong(const struct function *f, double *x, size_t count, const double *got,
                       const double *before)
{
    int wrong = 0;

    for (size_t i = 0; i < count; i++) {
        double rounding, coarse_rounding;
        const double fine = difference(f, &x[i], STEP, &rounding);
        const double coarse = difference(f, &x[i], 2 * STEP, &coarse_rounding);
        const double want = fine + (before == NULL ? 0 : before[i]);
        const double bound =
            fabs(coarse - fine) + rounding + coarse_rounding + 16 * DBL_EPSILON * fabs(want);

        if (fabs(got[i] - want) <= bound)
            continue;
        if (wrong++ == 0)
            print_error("%s: derivative %zu is %.12g, not %.12g within %.3g\n", f->name, i, got[i],
                        want, bound);
    }
    return wrong;
}

static void check(const struct function *f, double *x, size_t count, const double *got,
                  const double *before)
{
    assert_int_equal(count_wrong(f, x, count, got, before), 0);
}

#define FORWARD(name)                                                                              \
    static void forward_##name(const void *op)                                                     \
    {                                                                                              \
        assert_int_equal(ref_##name(&context, op, NULL, NULL), PSIM_OK);                           \
    }
FORWARD(conv_forward)
FORWARD(norm_forward)
FORWARD(relu_forward)
FORWARD(pool_forward)
FORWARD(average_forward)
FORWARD(linear_forward)
FORWARD(cross_entropy)
FORWARD(layer_norm_forward)
FORWARD(gelu_forward)
FORWARD(attention_forward)
FORWARD(embedding_forward)

/* Arrays that most operations have; filled anew for every test. */
static double x[VALUES_MAX], y[VALUES_MAX], dy[VALUES_MAX], dx[VALUES_MAX];
static double weight[VALUES_MAX], bias[VALUES_MAX], dweight[VALUES_MAX], dbias[VALUES_MAX];
static double before_weight[VALUES_MAX], before_bias[VALUES_MAX], before_x[VALUES_MAX];
static double mean[VALUES_MAX], inv_std[VALUES_MAX], scratch[VALUES_MAX];
static int32_t indices[VALUES_MAX];

static int fill_all(void **state)
{
    double *const arrays[] = {x, dy, weight, bias, dweight, dbias, dx};

    (void)state;
    random_state = 0.25;
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        fill(arrays[i], VALUES_MAX);
    memcpy(before_weight, dweight, sizeof(dweight));
    memcpy(before_bias, dbias, sizeof(dbias));
    memcpy(before_x, dx, sizeof(dx));
    return 0;
}

static void run(enum psim_status status)
{
    assert_int_equal(status, PSIM_OK);
}

static void conv_case(struct pk_conv_shape s)
{
    const int p = pk_window_out(s.h, &s), q = pk_window_out(s.w, &s);
    const size_t inputs = (size_t)(s.n * s.c * s.h * s.w), outputs = (size_t)(s.n * s.k * p * q);
    const struct pk_conv_forward op = {.shape = s, .x = x, .weight = weight, .bias = bias, .y = y};
    const struct function f = {"conv", forward_conv_forward, &op, y, dy, outputs};

    fill_all(NULL);
    run(ref_conv_backward_data(
        &context,
        &(struct pk_conv_backward_data){
            .shape = s, .dy = dy, .weight = weight, .dx = dx, .accumulate = s.stride == 2},
        NULL, NULL));
    run(ref_conv_backward_weight(
        &context,
        &(struct pk_conv_backward_weight){
            .shape = s, .x = x, .dy = dy, .dweight = dweight, .dbias = dbias},
        NULL, NULL));
    check(&f, x, inputs, dx, s.stride == 2 ? before_x : NULL);
    check(&f, weight, (size_t)(s.k * s.c * s.kernel * s.kernel), dweight, before_weight);
    check(&f, bias, (size_t)s.k, dbias, before_bias);
}

static void convolution(void **state)
{
    (void)state;
    conv_case((struct pk_conv_shape){2, 3, 5, 4, 2, 3, 1, 1});
    conv_case((struct pk_conv_shape){2, 2, 6, 5, 3, 3, 2, 1});
    conv_case((struct pk_conv_shape){1, 3, 5, 5, 2, 1, 2, 0});
    conv_case((struct pk_conv_shape){1, 2, 9, 8, 2, 7, 2, 3});
}

static void norm_case(bool relu)
{
    enum { N = 3, C = 2, HW = 5 };
    const struct pk_norm_forward op = {.n = N,
                                       .c = C,
                                       .hw = HW,
                                       .x = x,
                                       .scale = weight,
                                       .shift = bias,
                                       .epsilon = 1e-5,
                                       .mean = mean,
                                       .inv_std = inv_std,
                                       .relu = relu,
                                       .y = y};
    const struct function f = {"norm", forward_norm_forward, &op, y, dy, N * C * HW};

    fill_all(NULL);
    forward_norm_forward(&op);
    run(ref_norm_backward(&context,
                          &(struct pk_norm_backward){.n = N,
                                                     .c = C,
                                                     .hw = HW,
                                                     .x = x,
                                                     .dy = dy,
                                                     .scale = weight,
                                                     .shift = bias,
                                                     .mean = mean,
                                                     .inv_std = inv_std,
                                                     .relu = relu,
                                                     .dscale = dweight,
                                                     .dshift = dbias,
                                                     .dx = dx},
                          NULL, NULL));
    check(&f, x, N * C * HW, dx, NULL);
    check(&f, weight, C, dweight, before_weight);
    check(&f, bias, C, dbias, before_bias);
}

static void batch_norm(void **state)
{
    (void)state;
    norm_case(false);
    norm_case(true);
}

static void layer_norm(void **state)
{
    enum { ROWS = 4, COLUMNS = 7 };
    const struct pk_layer_norm_forward op = {.rows = ROWS,
                                             .columns = COLUMNS,
                                             .x = x,
                                             .scale = weight,
                                             .shift = bias,
                                             .epsilon = 1e-5,
                                             .mean = mean,
                                             .inv_std = inv_std,
                                             .y = y};
    const struct function f = {"layer_norm",  forward_layer_norm_forward, &op, y, dy,
                               ROWS * COLUMNS};

    (void)state;
    forward_layer_norm_forward(&op);
    run(ref_layer_norm_backward(&context,
                                &(struct pk_layer_norm_backward){.rows = ROWS,
                                                                 .columns = COLUMNS,
                                                                 .x = x,
                                                                 .dy = dy,
                                                                 .scale = weight,
                                                                 .mean = mean,
                                                                 .inv_std = inv_std,
                                                                 .dscale = dweight,
                                                                 .dshift = dbias,
                                                                 .dx = dx},
                                NULL, NULL));
    check(&f, x, ROWS * COLUMNS, dx, NULL);
    check(&f, weight, COLUMNS, dweight, before_weight);
    check(&f, bias, COLUMNS, dbias, before_bias);
}

static void relu(void **state)
{
    enum { COUNT = 50 };
    const struct pk_relu_forward op = {COUNT, x, y};
    const struct function f = {"relu", forward_relu_forward, &op, y, dy, COUNT};

    (void)state;
    forward_relu_forward(&op);
    run(ref_relu_backward(
        &context, &(struct pk_relu_backward){COUNT, .y = y, .dy = dy, .dx = dx, .accumulate = true},
        NULL, NULL));
    check(&f, x, COUNT, dx, before_x);
}

static void gelu(void **state)
{
    enum { COUNT = 200 };
    const struct pk_gelu_forward op = {COUNT, x, y};
    const struct function f = {"gelu", forward_gelu_forward, &op, y, dy, COUNT};

    (void)state;
    for (int i = 0; i < COUNT; i++)
        x[i] *= 6;
    run(ref_gelu_backward(&context, &(struct pk_gelu_backward){COUNT, x, dy, dx}, NULL, NULL));
    check(&f, x, COUNT, dx, NULL);
}

static void max_pool(void **state)
{
    const struct pk_conv_shape s = {2, 3, 7, 6, 3, 3, 2, 1};
    const struct pk_pool_forward op = {s, x, y, indices};
    const struct function f = {"pool", forward_pool_forward, &op, y, dy, 2 * 3 * 4 * 3};

    (void)state;
    forward_pool_forward(&op);
    run(ref_pool_backward(&context, &(struct pk_pool_backward){s, dy, indices, dx}, NULL, NULL));
    check(&f, x, (size_t)(2 * 3 * 7 * 6), dx, NULL);
}

static void average(void **state)
{
    enum { N = 2, C = 3, HW = 7 };
    const struct pk_average_forward op = {N, C, HW, x, y, C};
    const struct function f = {"average", forward_average_forward, &op, y, dy, N * C};

    (void)state;
    run(ref_average_backward(&context, &(struct pk_average_backward){N, C, HW, dy, C, dx}, NULL,
                             NULL));
    check(&f, x, N * C * HW, dx, NULL);
}

static void linear(void **state)
{
    enum { ROWS = 3, IN = 5, OUT = 4 };
    const struct pk_linear_forward op = {ROWS, IN, OUT, x, weight, bias, y};
    const struct function f = {"linear", forward_linear_forward, &op, y, dy, ROWS * OUT};

    (void)state;
    run(ref_linear_backward_data(
        &context,
        &(struct pk_linear_backward_data){ROWS, IN, OUT, dy, weight, dx, .accumulate = true}, NULL,
        NULL));
    run(ref_linear_backward_weight(
        &context, &(struct pk_linear_backward_weight){ROWS, IN, OUT, x, dy, dweight, dbias}, NULL,
        NULL));
    check(&f, x, ROWS * IN, dx, before_x);
    check(&f, weight, OUT * IN, dweight, before_weight);
    check(&f, bias, OUT, dbias, before_bias);
}

/* L is the sum of all losses times the gradient's scale. */
static void cross_entropy(void **state)
{
    enum { ROWS = 4, CLASSES = 6 };
    const double scale = 0.25;
    struct pk_cross_entropy op = {.rows = ROWS,
                                  .classes = CLASSES,
                                  .logits = x,
                                  .labels = indices,
                                  .gradient_scale = scale,
                                  .loss = y,
                                  .dlogits = dx};
    const struct function f = {"cross_entropy", forward_cross_entropy, &op, y, dy, ROWS};

    (void)state;
    for (int i = 0; i < ROWS; i++) {
        indices[i] = i * 5 % CLASSES;
        dy[i] = scale;
    }
    forward_cross_entropy(&op);
    op.dlogits = NULL;
    check(&f, x, ROWS * CLASSES, dx, NULL);
}

static void attention_case(bool causal)
{
    enum { N = 2, TOKENS = 4, HEADS = 2, D = 3, ROWS = N * TOKENS * HEADS * D };
    const struct pk_attention_forward op = {N, TOKENS, HEADS, D, causal, x, weight, y};
    const struct function f = {"attention", forward_attention_forward, &op, y, dy, ROWS};

    fill_all(NULL);
    forward_attention_forward(&op);
    run(ref_attention_backward(
        &context, &(struct pk_attention_backward){N, TOKENS, HEADS, D, causal, x, weight, dy, dx},
        &(struct pk_workspace){scratch, sizeof(scratch)}, NULL));
    check(&f, x, (size_t)(3 * ROWS), dx, NULL);
}

static void attention(void **state)
{
    (void)state;
    attention_case(false);
    attention_case(true);
}

static void embedding(void **state)
{
    enum { ROWS = 7, ENTRIES = 4, COLUMNS = 3, TOKENS = 5 };
    const struct pk_embedding_forward op = {ROWS,    ENTRIES, COLUMNS, TOKENS,
                                            indices, weight,  bias,    y};
    const struct function f = {"embedding", forward_embedding_forward, &op, y, dy, ROWS * COLUMNS};

    (void)state;
    for (int i = 0; i < ROWS; i++)
        indices[i] = i * 3 % ENTRIES;
    run(ref_embedding_backward(&context,
                               &(struct pk_embedding_backward){ROWS, ENTRIES, COLUMNS, TOKENS,
                                                               indices, dy, dweight, dbias},
                               NULL, NULL));
    check(&f, weight, ENTRIES * COLUMNS, dweight, before_weight);
    check(&f, bias, TOKENS * COLUMNS, dbias, before_bias);
}

/* What this file's own check must not let pass. */
static void a_wrong_gradient_is_rejected(void **state)
{
    enum { COUNT = 10 };
    const struct pk_gelu_forward op = {COUNT, x, y};
    const struct function f = {"gelu, wrong on purpose", forward_gelu_forward, &op, y, dy, COUNT};

    (void)state;
    run(ref_gelu_backward(&context, &(struct pk_gelu_backward){COUNT, x, dy, dx}, NULL, NULL));
    dx[3] *= 1 + 1e-6;
    dx[7] = NAN;
    assert_int_equal(count_wrong(&f, x, COUNT, dx, NULL), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(convolution, fill_all),
        cmocka_unit_test_setup(batch_norm, fill_all),
        cmocka_unit_test_setup(layer_norm, fill_all),
        cmocka_unit_test_setup(relu, fill_all),
        cmocka_unit_test_setup(gelu, fill_all),
        cmocka_unit_test_setup(max_pool, fill_all),
        cmocka_unit_test_setup(average, fill_all),
        cmocka_unit_test_setup(linear, fill_all),
        cmocka_unit_test_setup(cross_entropy, fill_all),
        cmocka_unit_test_setup(attention, fill_all),
        cmocka_unit_test_setup(embedding, fill_all),
        cmocka_unit_test_setup(a_wrong_gradient_is_rejected, fill_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

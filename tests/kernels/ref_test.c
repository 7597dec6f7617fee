/* ref itself, against values that can be worked out by hand, and its rounding of operands. */
#include "kernels/ref/ref.h"

#include "tests/support/check.h"

static struct pk_context context;

static void same(const float *got, const float *want, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_near((double)got[i], (double)want[i], 1e-6);
}

static void run(enum psim_status status)
{
    assert_int_equal(status, PSIM_OK);
}

static void operands_round_to_nearest_even(void **state)
{
    (void)state;
    assert_true(ref_operand(1 + 0x1p-11F, PK_MATH_FP32) == 1 + 0x1p-11);
    assert_true(ref_operand(1 + 0x1p-11F, PK_MATH_TF32) == 1);
    assert_true(ref_operand(1 + 0x1.8p-10F, PK_MATH_TF32) == 1 + 0x1p-9);
    assert_true(ref_operand(1 + 0x1.04p-11F, PK_MATH_TF32) == 1 + 0x1p-10);
    assert_true(ref_operand(-1 - 0x1p-10F, PK_MATH_TF32) == -1 - 0x1p-10);
    assert_true(ref_operand(1 + 0x1p-8F, PK_MATH_BF16) == 1);
    assert_true(ref_operand(1 + 0x1.8p-7F, PK_MATH_BF16) == 1 + 0x1p-6);
    assert_true(ref_operand(1 + 0x1p-7F, PK_MATH_BF16) == 1 + 0x1p-7);
    assert_true(ref_operand(2 - 0x1p-23F, PK_MATH_BF16) == 2);
    assert_true(isinf(ref_operand(0x1.fffffep127F, PK_MATH_BF16)));
    for (int math = 0; math < PK_MATHS; math++) {
        assert_true(isnan(ref_operand(NAN, (enum pk_math)math)));
        assert_true(ref_operand(-INFINITY, (enum pk_math)math) == -INFINITY);
        assert_true(ref_operand(0, (enum pk_math)math) == 0);
    }
}

/* [1 2; 3 4] [5 6; 7 8], with each factor also given transposed. */
static void matrices_multiply(void **state)
{
    static const float a[2][4] = {{1, 2, 3, 4}, {1, 3, 2, 4}};
    static const float b[2][4] = {{5, 6, 7, 8}, {5, 7, 6, 8}};
    static const float want[] = {2 * 19 - 1, 2 * 22 - 1, 2 * 43 - 1, 2 * 50 - 1};

    (void)state;
    for (int i = 0; i < 4; i++) {
        float c[] = {2, 2, 2, 2};

        run(ref_gemm(
            &context,
            &(struct pk_gemm){2, 2, 2, i % 2 == 1, i / 2 == 1, a[i % 2], b[i / 2], c, 2, -0.5F},
            NULL, NULL));
        same(c, want, 4);
    }
}

/* A window of 3 with weights 1 to 9 on an image of ones: corners see four of them. */
static void a_convolution_correlates(void **state)
{
    static const float weight[] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, bias[] = {-30};
    static const float ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const float corners[] = {28, 24, 16, 12};
    struct pk_conv_forward op = {.shape = {1, 1, 3, 3, 1, 3, 1, 1}, .x = ones, .weight = weight};
    float y[9];

    (void)state;
    op.y = y;
    op.bias = bias;
    run(ref_conv_forward(&context, &op, NULL, NULL));
    same(y, (const float[]){-2, 9, -6, 3, 15, -3, -14, -9, -18}, 9);
    op.relu = true;
    run(ref_conv_forward(&context, &op, NULL, NULL));
    same(y, (const float[]){0, 9, 0, 3, 15, 0, 0, 0, 0}, 9);
    op = (struct pk_conv_forward){
        .shape = {1, 1, 3, 3, 1, 3, 2, 1}, .x = ones, .weight = weight, .y = y};
    run(ref_conv_forward(&context, &op, NULL, NULL));
    same(y, corners, 4);
}

/* 1, 3 and 5, 7 in one channel: mean 4, biased variance 5, unbiased 20 / 3. */
static void a_batch_norm_normalises(void **state)
{
    const float x[] = {1, 3, 5, 7}, base[] = {10, 10, 10, 10}, scale[] = {2}, shift[] = {1};
    const double inv = 1 / sqrt(5);
    float mean[1], inv_std[1], y[4], f[4], running[] = {1, 1};

    (void)state;
    run(ref_norm_forward(&context,
                         &(struct pk_norm_forward){.n = 2,
                                                   .c = 1,
                                                   .hw = 2,
                                                   .x = x,
                                                   .scale = scale,
                                                   .shift = shift,
                                                   .mean = mean,
                                                   .inv_std = inv_std,
                                                   .running_mean = running,
                                                   .running_variance = running + 1,
                                                   .momentum = 0.25F,
                                                   .relu = true,
                                                   .base = base,
                                                   .base_sign = -1,
                                                   .y = y,
                                                   .f = f},
                         NULL, NULL));
    same(mean, (const float[]){4}, 1);
    same(inv_std, (const float[]){(float)inv}, 1);
    same(running, (const float[]){1.75F, (float)(0.75 + 0.25 * 20 / 3)}, 2);
    same(f, (const float[]){0, (float)(1 - 2 * inv), (float)(1 + 2 * inv), (float)(1 + 6 * inv)},
         4);
    for (int i = 0; i < 4; i++)
        check_near((double)y[i], 10 - (double)f[i], 1e-6);
}

static void a_pool_takes_the_first_maximum(void **state)
{
    const float x[] = {1, 4, 4, NAN, -1, -2, -3, NAN, 0};
    float y[4];
    int32_t index[4];

    (void)state;
    run(ref_pool_forward(&context, &(struct pk_pool_forward){{1, 1, 3, 3, 1, 2, 1, 0}, x, y, index},
                         NULL, NULL));
    assert_int_equal(index[0], 3);
    assert_int_equal(index[1], 1);
    assert_int_equal(index[2], 3);
    assert_int_equal(index[3], 7);
    assert_true(isnan(y[0]) && y[1] == 4 && isnan(y[3]));
}

/* Equal logits: log of their number; a label that is none, NaN. */
static void a_loss_is_that_of_its_label(void **state)
{
    const float logits[] = {2, 2, 2, 2, 0, 0, 1, 1};
    const int32_t labels[] = {3, 4};
    float loss[2], gradient[8];
    int32_t predicted[2];

    (void)state;
    run(ref_cross_entropy(
        &context, &(struct pk_cross_entropy){2, 4, logits, labels, 0.5F, loss, predicted, gradient},
        NULL, NULL));
    check_near((double)loss[0], log(4), 1e-6);
    assert_true(isnan(loss[1]));
    assert_int_equal(predicted[0], 0);
    assert_int_equal(predicted[1], 2);
    same(gradient, (const float[]){0.125F, 0.125F, 0.125F, -0.375F}, 4);
    for (int i = 4; i < 8; i++)
        assert_true(isnan(gradient[i]));
}

/* Two steps with gradient 1, momentum 1/2, rate 1: v = 1, then 1.5. */
static void sgd_keeps_its_momentum(void **state)
{
    const float gradient[] = {2};

    (void)state;
    for (int nesterov = 0; nesterov < 2; nesterov++) {
        float weight[] = {10}, velocity[] = {0};
        const struct pk_sgd op = {.count = 1,
                                  .rate = 1,
                                  .momentum = 0.5F,
                                  .gradient_scale = 0.5F,
                                  .nesterov = nesterov == 1,
                                  .gradient = gradient,
                                  .velocity = velocity,
                                  .weight = weight};

        run(ref_sgd(&context, &op, NULL, NULL));
        run(ref_sgd(&context, &op, NULL, NULL));
        same(velocity, (const float[]){1.5F}, 1);
        /* Plain: 10 - 1 - 1.5; Nesterov: 10 - (1 + 0.5) - (1 + 0.75). */
        same(weight, (const float[]){nesterov == 1 ? 6.75F : 7.5F}, 1);
    }
}

/* Phi(1) = 0.841344746..., and both tails. */
static void gelu_weighs_by_the_normal_distribution(void **state)
{
    const float x[] = {1, -1, 0, 30, -30};
    float y[5];

    (void)state;
    run(ref_gelu_forward(&context, &(struct pk_gelu_forward){5, x, y}, NULL, NULL));
    same(y, (const float[]){0.8413447461F, -0.1586552539F, 0, 30}, 4);
    assert_true(y[4] <= 0 && y[4] > -1e-30F);
}

/* Keys that are all alike give the mean of the values that a query may see. */
static void attention_averages_values(void **state)
{
    const float qkv[] = {1, 0, 2, 5, 0, 4, -3, 0, 9}; /* three tokens of q, k, v */
    float p[9], y[3];

    (void)state;
    for (int causal = 0; causal < 2; causal++) {
        run(ref_attention_forward(
            &context, &(struct pk_attention_forward){1, 3, 1, 1, causal == 1, qkv, p, y}, NULL,
            NULL));
        same(y, causal == 1 ? (const float[]){2, 3, 5} : (const float[]){5, 5, 5}, 3);
    }
    same(p, (const float[]){1, 0, 0, 0.5F, 0.5F, 0, 1 / 3.0F, 1 / 3.0F, 1 / 3.0F}, 9);
}

static void bad_values_are_counted(void **state)
{
    const float x[] = {1, NAN, INFINITY, -INFINITY, 0, 3e38F};
    int64_t bad;

    (void)state;
    run(ref_count_bad(&context, &(struct pk_count_bad){6, x, &bad}, NULL, NULL));
    assert_int_equal(bad, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operands_round_to_nearest_even),
        cmocka_unit_test(matrices_multiply),
        cmocka_unit_test(a_convolution_correlates),
        cmocka_unit_test(a_batch_norm_normalises),
        cmocka_unit_test(a_pool_takes_the_first_maximum),
        cmocka_unit_test(a_loss_is_that_of_its_label),
        cmocka_unit_test(sgd_keeps_its_momentum),
        cmocka_unit_test(gelu_weighs_by_the_normal_distribution),
        cmocka_unit_test(attention_averages_values),
        cmocka_unit_test(bad_values_are_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

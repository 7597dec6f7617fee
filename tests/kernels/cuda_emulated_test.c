/* The cuda backend's operations and kernel bodies against ref, run on the host (no GPU here). */
#include "kernels/cuda/body.h"
#include "tests/kernels/conformance/conformance.h"
#include "tests/kernels/emulated/emulated.h"
#include "tests/kernels/net/net_run.h"
#include "tests/support/check.h"

#include <stdio.h>

/* Cut into many shares and pieces; as an H200 would be; with a library for some convolutions. */
static struct emulated_device devices[] = {
    {.processors = 2, .grain = 5, .column_limit = 700},
    {.processors = 132, .grain = 4096, .column_limit = (size_t)1 << 26},
    {.processors = 3, .grain = 64, .column_limit = 5000, .library = true},
};

static void conforms(struct emulated_device *device, enum pk_math math, const char *only)
{
    const struct pk_options options = {.math = math};
    struct conf_run run = {.only = only};
    struct psim_error err = PSIM_ERROR_INIT;
    int cases = 0;

    assert_int_equal(conf_start(&run, emulated_open, device, &options, &err), PSIM_OK);
    conf_run_all(&run);
    for (int i = 0; i < CONF_OPERATIONS; i++) {
        const struct conf_result *r = &run.results[i];

        cases += r->cases;
        if (r->failures > 0 || r->missing)
            print_error("%s: %d of %d failed: %s\n", conf_operation_names[i], r->failures, r->cases,
                        r->missing ? "missing" : r->first_failure);
        assert_false(r->failures > 0 || r->missing);
    }
    assert_true(cases > 0);
    conf_close(&run);
}

static void every_operation_conforms_in_many_shares(void **state)
{
    (void)state;
    conforms(&devices[0], PK_MATH_FP32, NULL);
}

static void every_operation_conforms_on_a_large_device(void **state)
{
    (void)state;
    conforms(&devices[1], PK_MATH_FP32, NULL);
}

/* The operations whose operands are rounded. */
static void products_conform_in_other_arithmetic(void **state)
{
    static const char *const products[] = {"gemm",
                                           "conv_forward",
                                           "conv_backward_data",
                                           "conv_backward_weight",
                                           "linear_forward",
                                           "linear_backward_data",
                                           "linear_backward_weight",
                                           "attention_forward",
                                           "attention_backward"};

    (void)state;
    for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
        conforms(&devices[0], PK_MATH_BF16, products[i]);
        conforms(&devices[1], PK_MATH_TF32, products[i]);
    }
}

static void convolutions_conform_where_a_library_does_some(void **state)
{
    (void)state;
    conforms(&devices[2], PK_MATH_FP32, "conv_forward");
    conforms(&devices[2], PK_MATH_FP32, "conv_backward_data");
    conforms(&devices[2], PK_MATH_TF32, "conv_backward_weight");
    conforms(&devices[2], PK_MATH_BF16, "conv_backward_weight");
}

/* One step of RevNet-18 on 16x16 images, inputs rebuilt: loss and gradients of all stages. */
struct step {
    struct net_run run;
    double loss;
};

static void take_step(struct pk_context *context, struct step *step)
{
    const int32_t labels[4] = {1, 7, 0, 9};
    struct psim_error err = PSIM_ERROR_INIT;
    float images[4 * 3 * 16 * 16];
    struct pk_net net;

    net_fill(images, sizeof(images) / sizeof(images[0]), 3, 0);
    assert_int_equal(pk_net_build("revnet18", 16, 10, &net, &err), PSIM_OK);
    assert_int_equal(net_run_new(context, &net, 4, PK_STATISTICS_PAPER, 5, &step->run, &err),
                     PSIM_OK);
    if (net_run_step(&step->run, images, labels, NET_REVERSED, &step->loss, &err) != PSIM_OK)
        fail_msg("%s: %s", err.where, err.message);
}

static void a_reversible_step_is_that_of_ref(void **state)
{
    const struct pk_options options = {.threads = 3};
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_context *contexts[2];
    static struct step steps[2];

    (void)state;
    assert_int_equal(pk_context_open("ref", &options, &contexts[0], &err), PSIM_OK);
    assert_int_equal(emulated_open(&devices[0], &options, &contexts[1], &err), PSIM_OK);
    for (int i = 0; i < 2; i++)
        take_step(contexts[i], &steps[i]);
    check_near(steps[1].loss, steps[0].loss, 1e-5);
    for (int i = 0; i < steps[0].run.count; i++) {
        const size_t count = steps[0].run.memory[i].sizes->gradient_bytes / sizeof(float);
        const double off = net_distance(steps[1].run.memory[i].call.gradients,
                                        steps[0].run.memory[i].call.gradients, count);

        print_message("stage %d: gradients off by %.3g\n", i, off);
        /* Rounding alone, through 18 layers of batch norm over few values. */
        assert_true(off <= 1e-3);
        assert_true(off > 0);
    }
    for (int i = 0; i < 2; i++) {
        net_run_release(&steps[i].run);
        assert_true(contexts[i]->account.now_total_bytes == 0);
        pk_context_close(contexts[i]);
    }
}

static void division_by_a_known_divisor_is_exact(void **state)
{
    static const uint32_t ends[] = {1,     2,     3,          7,          9,         49,
                                    640,   641,   65535,      65536,      65537,     46341,
                                    12345, 99991, 1073741824, 2147483646, 2147483647};

    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        const struct cuda_divider d = cuda_divider_of(ends[i]);

        for (uint32_t j = 0; j < 4000; j++) {
            /* From both ends, round the multiples of the divisor, and anywhere. */
            const uint32_t values[] = {j, UINT32_C(2147483647) - j,
                                       (uint32_t)((uint64_t)ends[i] * j % 2147483648u),
                                       (uint32_t)((uint64_t)ends[i] * j % 2147483648u) > 0
                                           ? (uint32_t)((uint64_t)ends[i] * j % 2147483648u) - 1
                                           : 0,
                                       j * UINT32_C(2654435761) >> 1};

            for (size_t v = 0; v < sizeof(values) / sizeof(values[0]); v++) {
                assert_int_equal(cuda_quotient(values[v], d), values[v] / ends[i]);
                assert_int_equal(cuda_remainder(values[v], d), values[v] % ends[i]);
            }
        }
    }
}

static void bf16_rounds_to_nearest_even_and_keeps_nan(void **state)
{
    (void)state;
    assert_int_equal(cuda_bf16(1), 0x3f80);
    assert_int_equal(cuda_bf16(0x1.01p0f), 0x3f80); /* half way, to even */
    assert_int_equal(cuda_bf16(0x1.03p0f), 0x3f82);
    assert_int_equal(cuda_bf16(0x1.010002p0f), 0x3f81);
    assert_int_equal(cuda_bf16(-INFINITY), 0xff80);
    assert_int_equal(cuda_bf16(0x1.fffffep127f), 0x7f80);
    assert_true((cuda_bf16(NAN) & 0x7fff) > 0x7f80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_operation_conforms_in_many_shares),
        cmocka_unit_test(every_operation_conforms_on_a_large_device),
        cmocka_unit_test(products_conform_in_other_arithmetic),
        cmocka_unit_test(convolutions_conform_where_a_library_does_some),
        cmocka_unit_test(a_reversible_step_is_that_of_ref),
        cmocka_unit_test(division_by_a_known_divisor_is_exact),
        cmocka_unit_test(bf16_rounds_to_nearest_even_and_keeps_nan),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

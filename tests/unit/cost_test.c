/*
 * Time of work against figures worked out by hand.
 */
#include "sim/cost/work.h"
#include "tests/support/check.h"

#include <math.h>
#include <string.h>

/* 10 TFLOP/s at half of the peak, 1 TB/s at 80 %, no launch time, plain sum unless a test says. */
static struct psim_device make_device(void)
{
    struct psim_device device;

    memset(&device, 0, sizeof(device));
    device.name = "toy";
    device.memory_bandwidth_bytes_per_s = 1e12;
    for (int i = 0; i < PSIM_PRECISIONS; i++)
        device.peak_flop_per_s[i] = NAN;
    device.peak_flop_per_s[PSIM_FP32] = 10e12;
    device.rates[PSIM_WORK_DEFAULT][PSIM_ANY_PRECISION] =
        (struct psim_rate){.given = true, .compute = 0.5, .memory = 0.8, .norm = 1.0};
    return device;
}

static struct psim_rate *rate_of(struct psim_device *device)
{
    return &device->rates[PSIM_WORK_DEFAULT][PSIM_ANY_PRECISION];
}

static double time_of(const struct psim_device *device, struct psim_work work)
{
    double time_s = NAN;

    assert_int_equal(psim_work_time(device, PSIM_FP32, &work, &time_s, NULL), PSIM_OK);
    return time_s;
}

static void norm_joins_compute_and_memory_time(void **state)
{
    struct psim_device device = make_device();
    const struct psim_work work = {PSIM_WORK_GEMM, 15e12, 3.2e12, 2}; /* 3 s and 4 s */

    (void)state;
    check_near(time_of(&device, work), 7.0, 1e-15);
    rate_of(&device)->norm = 2.0;
    check_near(time_of(&device, work), 5.0, 1e-15);
    rate_of(&device)->norm = 1e6; /* the maximum */
    check_near(time_of(&device, work), 4.0, 1e-6);
    rate_of(&device)->launch_s = 0.25;
    check_near(time_of(&device, work), 4.5, 1e-6);
    assert_false(psim_near(time_of(&device, work), 4.25, 1e-3)); /* one launch is not two */
}

static void half_the_rates_take_twice_the_time(void **state)
{
    struct psim_device device = make_device();
    const struct psim_work work = {PSIM_WORK_CONVOLUTION, 7e11, 3e11, 1};
    double whole_s;

    (void)state;
    rate_of(&device)->norm = 1.7;
    whole_s = time_of(&device, work);
    rate_of(&device)->compute *= 0.5;
    rate_of(&device)->memory *= 0.5;
    check_near(time_of(&device, work), 2.0 * whole_s, 1e-14);
}

static void tiny_and_huge_work_neither_under_nor_overflows(void **state)
{
    struct psim_device device = make_device();

    (void)state;
    rate_of(&device)->norm = 40.0;
    assert_true(time_of(&device, (struct psim_work){PSIM_WORK_GEMM, 1e-20, 1e-20, 0}) > 0.0);
    assert_true(isfinite(time_of(&device, (struct psim_work){PSIM_WORK_GEMM, 1e40, 1e40, 0})));
    assert_true(time_of(&device, (struct psim_work){PSIM_WORK_GEMM, 0.0, 0.0, 0}) <= 0.0);
}

static void kinds_use_their_own_rates(void **state)
{
    struct psim_device device = make_device();

    (void)state;
    device.rates[PSIM_WORK_GEMM][PSIM_FP32] =
        (struct psim_rate){.given = true, .compute = 1.0, .memory = 1.0, .norm = 1.0};
    check_near(time_of(&device, (struct psim_work){PSIM_WORK_GEMM, 10e12, 0.0, 1}), 1.0, 1e-15);
    check_near(time_of(&device, (struct psim_work){PSIM_WORK_CONVOLUTION, 10e12, 0.0, 1}), 2.0,
               1e-15);
}

static void missing_figures_name_the_device(void **state)
{
    struct psim_device device = make_device();
    const struct psim_work matrix = {PSIM_WORK_GEMM, 1.0, 1.0, 1};
    const struct psim_work memory = {PSIM_WORK_MEMORY, 0.0, 0.8e12, 1};
    struct psim_error err = PSIM_ERROR_INIT;
    double time_s = 42.0;

    (void)state;
    assert_int_equal(psim_work_time(&device, PSIM_BF16, &matrix, &time_s, &err),
                     PSIM_ERR_UNSUPPORTED);
    check_contains(err.message, "toy");
    check_contains(err.message, "bf16");
    check_near(time_s, 42.0, 0.0);
    /* Memory work needs no peak. */
    assert_int_equal(psim_work_time(&device, PSIM_BF16, &memory, &time_s, NULL), PSIM_OK);
    check_near(time_s, 1.0, 1e-15);
    rate_of(&device)->given = false;
    assert_int_equal(psim_work_time(&device, PSIM_FP32, &memory, &time_s, NULL),
                     PSIM_ERR_UNSUPPORTED);
}

/* A convolution of 2 channels to 3, kernel 1, on 4x4. */
static struct psim_layer convolution(void)
{
    struct psim_layer layer;

    memset(&layer, 0, sizeof(layer));
    layer.kind = PSIM_LAYER_CONV2D;
    layer.in_elements = 32;
    layer.out_elements = 48;
    layer.parameters = 6;
    layer.macs = 96;
    layer.needs_input_gradient = true;
    return layer;
}

static void check_work(struct psim_work work, enum psim_work_kind kind, double flop, double bytes,
                       int kernels)
{
    check_near(work.flop, flop, 0.0);
    check_near(work.bytes, bytes, 0.0);
    assert_int_equal(work.kernels, kernels);
    assert_int_equal(work.kind, kind);
}

static void convolution_reads_two_operands_and_writes_one(void **state)
{
    struct psim_layer layer = convolution();

    (void)state;
    for (int pass = 0; pass < PSIM_COST_PASSES; pass++)
        check_work(psim_layer_work(&layer, (enum psim_cost_pass)pass, 10, PSIM_FP32),
                   PSIM_WORK_CONVOLUTION, 1920.0, 4.0 * (800.0 + 6.0), 1);
    check_work(psim_layer_work(&layer, PSIM_COST_FORWARD, 10, PSIM_BF16), PSIM_WORK_CONVOLUTION,
               1920.0, 2.0 * (800.0 + 6.0), 1);
    layer.kind = PSIM_LAYER_LINEAR;
    check_work(psim_layer_work(&layer, PSIM_COST_FORWARD, 1, PSIM_TF32), PSIM_WORK_GEMM, 192.0,
               4.0 * 86.0, 1);
}

static void layer_on_images_has_no_input_gradient(void **state)
{
    struct psim_layer layer = convolution();

    (void)state;
    layer.needs_input_gradient = false;
    assert_int_equal(psim_layer_work(&layer, PSIM_COST_BACKWARD_INPUT, 10, PSIM_FP32).kernels, 0);
    assert_int_equal(psim_layer_work(&layer, PSIM_COST_BACKWARD_WEIGHT, 10, PSIM_FP32).kernels, 1);
    layer.kind = PSIM_LAYER_BATCH_NORM; /* scale and shift still need x and dy */
    check_work(psim_layer_work(&layer, PSIM_COST_BACKWARD_WEIGHT, 1, PSIM_FP32), PSIM_WORK_MEMORY,
               0.0, 4.0 * 64.0, 1);
}

static void memory_layers_move_what_the_header_says(void **state)
{
    static const struct {
        enum psim_layer_kind kind;
        double forward, backward; /* bytes of 1 sample in fp32: 32 elements in, 16 out, fork 16 */
        int forward_kernels, backward_kernels;
    } rows[] = {
        {PSIM_LAYER_BATCH_NORM, 4.0 * 3 * 32, 4.0 * 5 * 32, 2, 2},
        {PSIM_LAYER_RELU, 4.0 * 48, 4.0 * 64, 1, 1},
        {PSIM_LAYER_ADD, 4.0 * 48, 4.0 * 48, 1, 1},
        {PSIM_LAYER_MAX_POOL, 4.0 * 48 + 64, 4.0 * 48 + 64, 1, 1},
        {PSIM_LAYER_GLOBAL_AVERAGE_POOL, 4.0 * 48, 4.0 * 48, 1, 1},
        {PSIM_LAYER_CROSS_ENTROPY, 4.0 * 48, 4.0 * 48, 1, 1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct psim_layer layer = convolution();

        layer.kind = rows[i].kind;
        layer.out_elements = 16;
        layer.fork_elements = 16;
        layer.macs = 0;
        check_work(psim_layer_work(&layer, PSIM_COST_FORWARD, 1, PSIM_FP32), PSIM_WORK_MEMORY, 0.0,
                   rows[i].forward, rows[i].forward_kernels);
        check_work(psim_layer_work(&layer, PSIM_COST_BACKWARD_INPUT, 1, PSIM_FP32),
                   PSIM_WORK_MEMORY, 0.0, rows[i].backward, rows[i].backward_kernels);
        assert_int_equal(psim_layer_work(&layer, PSIM_COST_BACKWARD_WEIGHT, 1, PSIM_FP32).kernels,
                         0);
    }
}

static void sum_without_a_fork_passes_its_gradient_on(void **state)
{
    struct psim_layer layer = convolution();

    (void)state;
    layer.kind = PSIM_LAYER_ADD;
    assert_int_equal(psim_layer_work(&layer, PSIM_COST_BACKWARD_INPUT, 1, PSIM_FP32).kernels, 0);
}

static void optimizers_move_the_bytes_of_their_states(void **state)
{
    static const struct {
        enum psim_optimizer optimizer;
        double fp32, bf16;
    } rows[] = {
        {PSIM_SGD, 12.0, 6.0 + 8.0},
        {PSIM_SGD_MOMENTUM, 20.0, 6.0 + 16.0},
        {PSIM_ADAM, 28.0, 6.0 + 24.0},
        {PSIM_ADAMW, 28.0, 6.0 + 24.0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        check_work(psim_optimizer_work(rows[i].optimizer, PSIM_TF32, 1000), PSIM_WORK_OPTIMIZER,
                   0.0, 1000.0 * rows[i].fp32, 1);
        check_work(psim_optimizer_work(rows[i].optimizer, PSIM_BF16, 1000), PSIM_WORK_OPTIMIZER,
                   0.0, 1000.0 * rows[i].bf16, 1);
    }
    assert_int_equal(psim_optimizer_work(PSIM_SGD, PSIM_FP32, 0).kernels, 0);
}

/* Over a whole net, launches aside: 2 FLOP per MAC, backward twice that but for the images. */
static void block_costs_add_up_over_a_net(void **state)
{
    static const int input[3] = {3, 32, 32};
    struct psim_workload_options options = {
        .microbatch = 4, .precision = PSIM_FP32, .optimizer = PSIM_SGD_MOMENTUM};
    struct psim_device device = make_device();
    struct psim_network network;
    double forward_flop = 0.0, backward_flop = 0.0, update_s = 0.0;
    double first;

    (void)state;
    assert_int_equal(psim_network_build("resnet18", input, 10, &network, NULL), PSIM_OK);
    for (int i = 0; i < network.block_count; i++) {
        struct psim_block_cost cost;
        double kinds_s = 0.0, passes_s = 0.0;

        assert_int_equal(psim_block_cost(&network.blocks[i], &options, &device, &cost, NULL),
                         PSIM_OK);
        for (int kind = 0; kind < PSIM_WORK_KINDS; kind++)
            kinds_s += cost.kind_s[kind];
        for (int pass = 0; pass < PSIM_COST_PASSES; pass++)
            passes_s += cost.pass_s[pass];
        check_near(kinds_s, passes_s, 1e-12);
        forward_flop += cost.pass_flop[PSIM_COST_FORWARD];
        backward_flop +=
            cost.pass_flop[PSIM_COST_BACKWARD_INPUT] + cost.pass_flop[PSIM_COST_BACKWARD_WEIGHT];
        update_s += cost.update_s;
    }
    first = 2.0 * 4.0 * (double)network.blocks[0].layers[0].macs;
    check_near(forward_flop, 2.0 * 4.0 * (double)network.macs, 1e-15);
    check_near(backward_flop, 2.0 * forward_flop - first, 1e-15);
    check_near(update_s, 20.0 * (double)network.parameters / 0.8e12, 1e-12);

    options.precision = PSIM_FP16;
    {
        struct psim_block_cost untouched = {.update_s = 42.0};

        assert_int_equal(psim_block_cost(&network.blocks[1], &options, &device, &untouched, NULL),
                         PSIM_ERR_UNSUPPORTED);
        check_near(untouched.update_s, 42.0, 0.0);
    }
    psim_network_release(&network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(norm_joins_compute_and_memory_time),
        cmocka_unit_test(half_the_rates_take_twice_the_time),
        cmocka_unit_test(tiny_and_huge_work_neither_under_nor_overflows),
        cmocka_unit_test(kinds_use_their_own_rates),
        cmocka_unit_test(missing_figures_name_the_device),
        cmocka_unit_test(convolution_reads_two_operands_and_writes_one),
        cmocka_unit_test(layer_on_images_has_no_input_gradient),
        cmocka_unit_test(memory_layers_move_what_the_header_says),
        cmocka_unit_test(sum_without_a_fork_passes_its_gradient_on),
        cmocka_unit_test(optimizers_move_the_bytes_of_their_states),
        cmocka_unit_test(block_costs_add_up_over_a_net),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Reversible backwards on whole nets against stored activations, and how exactly a stack of blocks
 * gets its input back.  On openblas where it is in the build, else on ref with smaller batches; or
 * on the backend that PSIM_TEST_BACKEND names in the environment.
 */
#include "tests/kernels/net/net_run.h"
#include "tests/kernels/net/reversal.h"
#include "tests/support/check.h"

#include "sim/base/memory.h"

#include <stdlib.h>
#include <string.h>

#define CLASSES 10

/* The backend that was asked for, or `usual`. */
static const char *backend_or(const char *usual)
{
    const char *asked = getenv("PSIM_TEST_BACKEND");

    return asked != NULL ? asked : usual;
}

static struct pk_context *open_fastest(int *microbatch)
{
    const struct pk_options options = {.threads = 2};
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_context *context = NULL;

    *microbatch = 4;
    if (pk_context_open(backend_or("openblas"), &options, &context, &err) == PSIM_OK)
        return context;
    if (getenv("PSIM_TEST_BACKEND") != NULL)
        fail_msg("%s: %s", err.where, err.message);
    *microbatch = 2;
    print_message("on ref: %s\n", err.message);
    err = (struct psim_error)PSIM_ERROR_INIT;
    assert_int_equal(pk_context_open("ref", &options, &context, &err), PSIM_OK);
    return context;
}

struct gradients {
    float *of[PK_NET_BLOCKS_MAX];
    double loss;
};

static void step(struct net_run *run, enum net_way way, struct gradients *out)
{
    const size_t samples = run->memory[0].sizes->input_bytes / sizeof(float);
    const int32_t labels[4] = {1, 7, 0, 9};
    float *images = psim_alloc(samples, sizeof(*images));
    struct psim_error err = PSIM_ERROR_INIT;

    assert_non_null(images);
    net_fill(images, samples, 3, 0);
    if (net_run_step(run, images, labels, way, &out->loss, &err) != PSIM_OK)
        fail_msg("%s: %s", err.where, err.message);
    psim_free(images);
    for (int i = 0; i < run->count; i++) {
        const size_t bytes = run->memory[i].sizes->gradient_bytes;

        out->of[i] = psim_alloc(bytes, 1);
        assert_non_null(out->of[i]);
        assert_int_equal(run->context->backend->download(
                             run->context, out->of[i], run->memory[i].call.gradients, bytes, &err),
                         PSIM_OK);
    }
}

static void drop(struct gradients *g)
{
    for (int i = 0; i < PK_NET_BLOCKS_MAX; i++)
        psim_free(g->of[i]);
}

/*
 * Largest relative difference of one layer's gradients, weight and bias together: a bias in front
 * of a batch norm, and the shift of a norm that only 1x1 convolutions and norms follow, have the
 * gradient 0 in real arithmetic, and what is left of it is rounding.
 */
static double worst_layer(const struct net_run *run, const struct gradients *got,
                          const struct gradients *want)
{
    double worst = 0;

    for (int i = 0; i < run->count; i++) {
        const struct pk_tensor *tensors;
        int count;

        tensors = pk_stage_tensors(run->stages[i], &count);
        for (int k = 0, end; k < count; k = end) {
            const size_t layer = (size_t)(strrchr(tensors[k].name, '.') - tensors[k].name);
            size_t size = 0;
            double off;

            for (end = k;
                 end < count && strncmp(tensors[end].name, tensors[k].name, layer + 1) == 0; end++)
                size += tensors[end].count;
            off =
                net_distance(got->of[i] + tensors[k].offset, want->of[i] + tensors[k].offset, size);
            worst = net_worse(worst, off);
        }
    }
    return worst;
}

static void check_net(const char *name)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct gradients stored = {{NULL}, 0}, other = {{NULL}, 0};
    const enum net_way ways[] = {NET_RECOMPUTED, NET_REVERSED, NET_NAIVE};
    struct net_run run;
    struct pk_net net;
    int microbatch;
    struct pk_context *context = open_fastest(&microbatch);

    assert_int_equal(pk_net_build(name, 32, CLASSES, &net, &err), PSIM_OK);
    if (net_run_new(context, &net, microbatch, PK_STATISTICS_PAPER, 5, &run, &err) != PSIM_OK)
        fail_msg("%s: %s", err.where, err.message);
    step(&run, NET_STORED, &stored);
    for (int i = 0; i < 3; i++) {
        double worst;

        step(&run, ways[i], &other);
        worst = worst_layer(&run, &other, &stored);
        print_message("%s way %d: loss %.9g, worst layer's gradients off by %.3g\n", name,
                      (int)ways[i], other.loss, worst);
        assert_true(worst <= (ways[i] == NET_RECOMPUTED ? 0 : 1e-4));
        assert_true(other.loss == stored.loss);
        drop(&other);
        memset(&other, 0, sizeof(other));
    }
    /* The comparison does reject: one layer off by 1e-3. */
    step(&run, NET_STORED, &other);
    for (size_t i = 0; i < run.memory[1].sizes->gradient_bytes / sizeof(float); i++)
        other.of[1][i] *= 1.001F;
    assert_false(worst_layer(&run, &other, &stored) <= 1e-4);
    drop(&other);
    drop(&stored);
    net_run_release(&run);
    pk_context_close(context);
}

static void revnet18_reversed_equals_stored(void **state)
{
    (void)state;
    check_net("revnet18");
}

static void revnet34_reversed_equals_stored(void **state)
{
    (void)state;
    check_net("revnet34");
}

static void revnet50_reversed_equals_stored(void **state)
{
    (void)state;
    check_net("revnet50");
}

/* The bounds of tests/bench/bench_reversibility.c, for the usual linear blocks and for PETRA's. */
static void input_comes_back_within_bounds(void **state)
{
    const struct reversal kinds[] = {
        {.kind = "revnet", .kernel = 1, .width = 64, .size = 1, .microbatch = 256, .he = true},
        {.kind = "petra_basic", .width = 16, .size = 8, .microbatch = 8},
        {.kind = "petra_bottleneck", .width = 32, .size = 8, .microbatch = 8}};
    const struct {
        int blocks;
        double bound;
    } depths[] = {{27, 2e-5}, {100, 2e-4}};
    const struct pk_options options = {.threads = 1};
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_context *context;

    (void)state;
    assert_int_equal(pk_context_open(backend_or("ref"), &options, &context, &err), PSIM_OK);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++) {
            struct reversal what = kinds[i];
            struct reversal_error error;

            what.blocks = depths[k].blocks;
            what.seed = 1;
            assert_int_equal(reversal_measure(context, &what, &error, &err), PSIM_OK);
            print_message("%s, %d blocks: %.3g\n", what.kind, what.blocks, error.relative);
            assert_true(error.relative <= depths[k].bound);
            assert_true(error.relative > 0); /* a comparison of a thing with itself gives 0 */
        }
    pk_context_close(context);
}

/* Rounding operands to bf16 loses what fp32 keeps: the bound above does reject. */
static void bf16_is_beyond_the_bound(void **state)
{
    const struct reversal what = {.kind = "revnet",
                                  .blocks = 27,
                                  .kernel = 1,
                                  .width = 64,
                                  .size = 1,
                                  .microbatch = 256,
                                  .he = true,
                                  .seed = 1};
    const struct pk_options options = {.threads = 1, .math = PK_MATH_BF16};
    struct psim_error err = PSIM_ERROR_INIT;
    struct reversal_error error;
    struct pk_context *context;

    (void)state;
    assert_int_equal(pk_context_open("ref", &options, &context, &err), PSIM_OK);
    assert_int_equal(reversal_measure(context, &what, &error, &err), PSIM_OK);
    assert_false(error.relative <= 2e-5);
    pk_context_close(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(revnet18_reversed_equals_stored),
        cmocka_unit_test(revnet34_reversed_equals_stored),
        cmocka_unit_test(revnet50_reversed_equals_stored),
        cmocka_unit_test(input_comes_back_within_bounds),
        cmocka_unit_test(bf16_is_beyond_the_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

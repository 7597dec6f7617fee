/* Stages of kernels/net: sizes said beforehand, running statistics, starting values, failures. */
#include "tests/kernels/net/net_run.h"
#include "tests/support/check.h"

#include "sim/base/memory.h"
#include "sim/model/network.h"

#include <math.h>
#include <string.h>

#define EVERY_PASS ((1U << PK_PASSES) - 1)

static struct pk_context *open_ref(void)
{
    const struct pk_options options = {.threads = 1};
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_context *context = NULL;

    assert_int_equal(pk_context_open("ref", &options, &context, &err), PSIM_OK);
    return context;
}

static struct pk_stage *make(struct pk_context *context, const struct pk_stage_spec *spec)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_stage *stage = NULL;

    if (pk_stage_new(context, spec, &stage, &err) != PSIM_OK)
        fail_msg("%s: %s", err.where, err.message);
    return stage;
}

static void run(struct pk_stage *stage, enum pk_pass pass, const struct net_memory *memory)
{
    struct psim_error err = PSIM_ERROR_INIT;

    if (pk_stage_run(stage, pass, &memory->call, &err) != PSIM_OK)
        fail_msg("%s: %s: %s", pk_pass_names[pass], err.where, err.message);
}

/* One block on [3, c, 6, 6]. */
static struct pk_stage_spec one_block(const struct pk_block_spec *block, int streams, int channels,
                                      enum pk_statistics statistics)
{
    return (struct pk_stage_spec){.blocks = block,
                                  .block_count = 1,
                                  .input = {streams, channels, 6, 6, false},
                                  .microbatch = 3,
                                  .statistics = statistics};
}

static const struct pk_block_spec petra_basic = {
    .kind = "petra_basic", .name = "b", .width = 4, .stride = 1};
static const struct pk_block_spec petra_bottleneck = {
    .kind = "petra_bottleneck", .name = "b", .width = 8, .stride = 1};

/* The same nets as sim/model's, block by block. */
static void nets_have_the_parameters_of_the_model(void **state)
{
    const char *names[] = {"revnet18", "revnet34", "revnet50", "resnet18", "resnet34", "resnet50"};
    struct pk_context *context = open_ref();

    (void)state;
    for (int size = 32; size <= 224; size += 192)
        for (int i = 0; i < 6; i++) {
            const int input[3] = {3, size, size};
            struct psim_error err = PSIM_ERROR_INIT;
            struct psim_network model;
            struct pk_net net;
            struct pk_stage *stages[PK_NET_BLOCKS_MAX];
            int64_t sum = 0;

            memset(&model, 0, sizeof(model));
            assert_int_equal(psim_network_build(names[i], input, 1000, &model, &err), PSIM_OK);
            assert_int_equal(pk_net_build(names[i], size, 1000, &net, &err), PSIM_OK);
            assert_int_equal(pk_net_stages(context, &net, &(struct pk_stage_spec){.microbatch = 1},
                                           stages, &err),
                             PSIM_OK);
            assert_int_equal(net.block_count, model.block_count);
            for (int k = 0; k < net.block_count; k++) {
                const struct pk_stage_sizes *s = pk_stage_sizes(stages[k]);
                const struct psim_block *block = &model.blocks[k];

                assert_string_equal(net.blocks[k].name, block->name);
                assert_int_equal(s->parameters, block->parameters);
                assert_int_equal(s->statistics_bytes, 4 * block->buffers);
                assert_int_equal(s->input_bytes, 4 * block->input_elements);
                assert_int_equal(s->output_bytes, 4 * block->output_elements);
                assert_int_equal(pk_stage_is_reversible(stages[k]), block->reversible);
                sum += s->parameters;
                pk_stage_free(stages[k]);
            }
            /* Counted from the public code's layers. */
            if (size == 224 && strcmp(names[i], "revnet18") == 0)
                assert_int_equal(sum, 12215912);
            if (size == 224 && strcmp(names[i], "revnet34") == 0)
                assert_int_equal(sum, 22327784);
            if (size == 224 && strcmp(names[i], "revnet50") == 0)
                assert_int_equal(sum, 30421608);
            psim_network_release(&model);
        }
    pk_context_close(context);
}

/* By hand, for n = 3, c = 4, 6 x 6: one tensor has 3 * 4 * 36 * 4 = 1728 bytes, in the graph 1792.
 */
static void a_graph_keeps_what_the_rule_says(void **state)
{
    struct pk_context *context = open_ref();
    const struct pk_block_spec basic = {.kind = "basic", .name = "b", .width = 4, .stride = 1};
    struct pk_stage_spec spec = one_block(&petra_basic, 2, 4, PK_STATISTICS_PAPER);
    struct pk_stage *stage = make(context, &spec);
    const struct pk_stage_sizes *s = pk_stage_sizes(stage);

    (void)state;
    /* Both convolutions' outputs, the second one's input, four vectors of [4]. */
    assert_int_equal(s->graph_bytes[PK_FORWARD_GRAPH], 3 * 1792 + 4 * 256);
    assert_int_equal(s->graph_bytes[PK_BACKWARD_OUTPUT], 3 * 1792 + 4 * 256);
    assert_int_equal(s->kept_input_bytes, 1728); /* x; x~ is only added */
    assert_true(s->kept_input[0] && !s->kept_input[1]);
    assert_int_equal(s->graph_bytes[PK_FORWARD], 0);
    pk_stage_free(stage);

    spec = one_block(&basic, 1, 4, PK_STATISTICS_PAPER);
    stage = make(context, &spec);
    s = pk_stage_sizes(stage);
    /* And the last ReLU's output. */
    assert_int_equal(s->graph_bytes[PK_FORWARD_GRAPH], 4 * 1792 + 4 * 256);
    assert_int_equal(s->kept_input_bytes, 1728);
    pk_stage_free(stage);
    pk_context_close(context);
}

static void sizes_said_beforehand_are_what_is_counted(void **state)
{
    struct pk_context *context = open_ref();
    struct psim_error err = PSIM_ERROR_INIT;
    int64_t want[PK_CATEGORIES] = {0};
    const int32_t labels[2] = {0, 1};
    float images[2 * 3 * 64] = {0};
    struct net_run net_run;
    struct pk_account before;
    struct pk_net net;

    (void)state;
    assert_int_equal(pk_net_build("revnet18", 8, 10, &net, &err), PSIM_OK);
    assert_int_equal(net_run_new(context, &net, 2, PK_STATISTICS_CODE, 1, &net_run, &err), PSIM_OK);
    for (int i = 0; i < net_run.count; i++) {
        const struct pk_stage_sizes *s = net_run.memory[i].sizes;

        want[PK_PARAMETERS] += (int64_t)s->parameter_bytes;
        want[PK_GRADIENTS] += (int64_t)s->gradient_bytes;
        want[PK_OPTIMIZER_STATE] += (int64_t)s->velocity_bytes;
        want[PK_STATISTICS] += (int64_t)s->statistics_bytes;
        want[PK_INPUTS] += (int64_t)s->input_bytes;
        want[PK_MESSAGES] += (int64_t)(s->input_bytes + s->output_bytes);
        want[PK_GRAPH] += (int64_t)net_run.memory[i].graph_bytes;
        want[PK_WORKSPACE] += (int64_t)net_run.memory[i].workspace_bytes;
        want[PK_DATA] += (int64_t)(8 * s->loss_rows);
    }
    for (int i = 0; i < PK_CATEGORIES; i++)
        assert_int_equal(context->account.now_bytes[i], want[i]);
    before = context->account;
    net_fill(images, 2 * 3 * 64, 1, 0);
    for (int way = NET_STORED; way <= NET_NAIVE; way++)
        assert_int_equal(net_run_step(&net_run, images, labels, (enum net_way)way, NULL, &err),
                         PSIM_OK);
    assert_memory_equal(&before, &context->account, sizeof(before)); /* no step allocates */
    net_run_release(&net_run);
    assert_int_equal(context->account.now_total_bytes, 0);
    pk_context_close(context);
}

/* A byte less than said is written past by some pass, a byte more never: guard words after each. */
static void passes_stay_inside_the_sizes_said(void **state)
{
    const struct pk_block_spec blocks[] = {petra_basic, petra_bottleneck};
    struct pk_context *context = open_ref();

    (void)state;
    for (int i = 0; i < 2; i++) {
        const struct pk_stage_spec spec =
            one_block(&blocks[i], 2, blocks[i].width, PK_STATISTICS_PAPER);
        struct pk_stage *stage = make(context, &spec);

        for (int pass = 0; pass < PK_PASSES; pass++) {
            const size_t bytes = pk_stage_sizes(stage)->workspace_bytes[pass];
            const size_t graph = pk_stage_sizes(stage)->graph_bytes[pass];
            struct psim_error err = PSIM_ERROR_INIT;
            struct net_memory memory;
            unsigned char *work = psim_alloc(bytes + 512, 1), *kept = psim_alloc(graph + 512, 1);
            unsigned char *at;

            assert_non_null(work);
            assert_non_null(kept);
            assert_int_equal(net_memory_new(stage, context, EVERY_PASS, 1, &memory, &err), PSIM_OK);
            if (pass == PK_BACKWARD_GRAPH) {
                run(stage, PK_FORWARD_GRAPH, &memory);
                memcpy(kept, memory.call.graph, graph);
            }
            memory.call.dout = memory.call.out;
            memset(work + bytes, 0xa5, 512);
            memset(kept + graph, 0xa5, 512);
            {
                struct net_memory moved = memory;

                moved.call.workspace = work;
                moved.call.graph = kept;
                run(stage, (enum pk_pass)pass, &moved);
            }
            for (at = work + bytes; at < work + bytes + 512; at++)
                assert_int_equal(*at, 0xa5);
            for (at = kept + graph; at < kept + graph + 512; at++)
                assert_int_equal(*at, 0xa5);
            net_memory_release(&memory);
            psim_free(work);
            psim_free(kept);
        }
        pk_stage_free(stage);
    }
    pk_context_close(context);
}

/* How often a pass updates the first running mean of one set: from 0 by (1 - momentum)^k. */
static int updates_of(const struct pk_block_spec *block, enum pk_statistics statistics,
                      enum pk_pass pass, int set)
{
    struct pk_context *context = open_ref();
    struct pk_stage_spec spec = one_block(block, 2, block->width, statistics);
    struct pk_stage *stage = make(context, &spec);
    const size_t count = pk_stage_sizes(stage)->statistics_bytes / sizeof(float) /
                         (statistics == PK_STATISTICS_CODE ? 2 : 1);
    struct psim_error err = PSIM_ERROR_INIT;
    struct net_memory memory;
    float once, got;

    assert_int_equal(net_memory_new(stage, context, EVERY_PASS, 1, &memory, &err), PSIM_OK);
    net_fill(memory.call.in, memory.sizes->input_bytes / sizeof(float), 2, 0);
    memory.call.dout = memory.call.in;
    run(stage, PK_FORWARD_GRAPH, &memory); /* updates set 0 once, in both readings */
    once = memory.call.statistics[0];
    pk_stage_initial(stage, 1, false, (float *)(uintptr_t)memory.call.parameters,
                     memory.call.statistics);
    run(stage, PK_FORWARD,
        &(struct net_memory){.call = {.parameters = memory.call.parameters,
                                      .in = memory.call.in,
                                      .out = memory.call.out,
                                      .workspace = memory.call.workspace}});
    memory.call.dout = memory.call.out;
    run(stage, pass, &memory);
    got = memory.call.statistics[(size_t)set * count];
    net_memory_release(&memory);
    pk_stage_free(stage);
    pk_context_close(context);
    assert_true(fabsf(once) > 1e-4F);
    for (int k = 0; k < 3; k++)
        if (fabs((double)got - (double)once / 0.1 * (1 - pow(0.9, k))) <= 1e-4 * fabs((double)once))
            return k;
    return -1;
}

static void statistics_follow_the_two_readings(void **state)
{
    /* By pass: the paper's one set; the code's forward and backward sets; the same of a bottleneck.
     */
    static const int want[PK_PASSES][4] = {
        [PK_FORWARD] = {0, 1, 0, 0},         [PK_FORWARD_GRAPH] = {1, 1, 0, 0},
        [PK_INFERENCE] = {0, 0, 0, 0},       [PK_INVERSE] = {0, 0, 0, 0},
        [PK_BACKWARD_GRAPH] = {0, 0, 0, 0},  [PK_BACKWARD_INPUT] = {1, 0, 1, 1},
        [PK_BACKWARD_OUTPUT] = {1, 0, 1, 1}, [PK_BACKWARD_NAIVE] = {1, 0, 1, 2}};

    (void)state;
    for (int pass = 0; pass < PK_PASSES; pass++) {
        const enum pk_pass p = (enum pk_pass)pass;

        assert_int_equal(updates_of(&petra_basic, PK_STATISTICS_PAPER, p, 0), want[pass][0]);
        assert_int_equal(updates_of(&petra_bottleneck, PK_STATISTICS_PAPER, p, 0), want[pass][0]);
        assert_int_equal(updates_of(&petra_basic, PK_STATISTICS_CODE, p, 0), want[pass][1]);
        assert_int_equal(updates_of(&petra_basic, PK_STATISTICS_CODE, p, 1), want[pass][2]);
        assert_int_equal(updates_of(&petra_bottleneck, PK_STATISTICS_CODE, p, 1), want[pass][3]);
    }
}

/* One norm: y = scale (x - mean) / sqrt(variance + epsilon) + shift, from the first set. */
static void inference_uses_the_running_statistics(void **state)
{
    const struct pk_layer_spec norm = {.kind = PK_LAYER_BATCH_NORM, .name = "bn"};
    const struct pk_block_spec block = {
        .kind = "layers", .name = "b", .layers = &norm, .layer_count = 1};
    struct pk_context *context = open_ref();
    const struct pk_stage_spec spec = one_block(&block, 1, 1, PK_STATISTICS_CODE);
    struct pk_stage *stage = make(context, &spec);
    struct psim_error err = PSIM_ERROR_INIT;
    struct net_memory memory;
    float *parameters, *in;

    (void)state;
    assert_int_equal(net_memory_new(stage, context, EVERY_PASS, 1, &memory, &err), PSIM_OK);
    parameters = (float *)(uintptr_t)memory.call.parameters;
    in = memory.call.in;
    net_fill(in, 108, 1, 0);
    parameters[0] = 2;
    parameters[1] = 0.5F;
    memory.call.statistics[0] = 0.25F;
    memory.call.statistics[1] = 4;
    memory.call.statistics[2] = memory.call.statistics[3] = NAN;
    run(stage, PK_INFERENCE, &memory);
    for (int i = 0; i < 108; i++)
        check_near(memory.call.out[i], 2 * ((double)in[i] - 0.25) / sqrt(4 + 1e-5) + 0.5, 1e-5);
    net_memory_release(&memory);
    pk_stage_free(stage);
    pk_context_close(context);
}

/* However a net is cut: the same starting values, and tensors named and laid out the same. */
static void starting_values_do_not_depend_on_the_cut(void **state)
{
    struct pk_context *context = open_ref();
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_net net;
    struct pk_stage *stages[PK_NET_BLOCKS_MAX], *whole;
    struct pk_stage_spec spec = {.microbatch = 2};
    float *all, *part;
    size_t at = 0, count;

    (void)state;
    assert_int_equal(pk_net_build("revnet18", 8, 10, &net, &err), PSIM_OK);
    assert_int_equal(pk_net_stages(context, &net, &spec, stages, &err), PSIM_OK);
    spec.blocks = net.blocks;
    spec.block_count = net.block_count;
    spec.input = net.input;
    spec.input_is_data = true;
    whole = make(context, &spec);
    count = (size_t)pk_stage_sizes(whole)->parameters;
    all = psim_alloc(count, sizeof(*all));
    part = psim_alloc(count, sizeof(*part));
    assert_non_null(all);
    assert_non_null(part);
    pk_stage_initial(whole, 11, true, all, NULL);
    for (int i = 0; i < net.block_count; i++) {
        pk_stage_initial(stages[i], 11, true, part + at, NULL);
        at += (size_t)pk_stage_sizes(stages[i])->parameters;
        pk_stage_free(stages[i]);
    }
    assert_int_equal(at, count);
    assert_memory_equal(all, part, count * sizeof(*all));
    pk_stage_initial(whole, 12, true, part, NULL);
    assert_memory_not_equal(all, part, count * sizeof(*all));
    psim_free(all);
    psim_free(part);
    pk_stage_free(whole);
    pk_context_close(context);
}

/* Without gradients only what decays moves: weights, neither biases nor norms. */
static void weight_decay_spares_norms_and_biases(void **state)
{
    struct pk_context *context = open_ref();
    const struct pk_stage_spec spec = one_block(&petra_basic, 2, 4, PK_STATISTICS_PAPER);
    struct pk_stage *stage = make(context, &spec);
    struct psim_error err = PSIM_ERROR_INIT;
    struct net_memory memory;
    const struct pk_tensor *tensors;
    float *before, *now;
    int count;

    (void)state;
    assert_int_equal(net_memory_new(stage, context, EVERY_PASS, 1, &memory, &err), PSIM_OK);
    now = (float *)(uintptr_t)memory.call.parameters;
    before = psim_alloc(memory.sizes->parameter_bytes, 1);
    assert_non_null(before);
    memcpy(before, now, memory.sizes->parameter_bytes);
    assert_int_equal(pk_stage_update(stage,
                                     &(struct pk_stage_update){.rate = 0.5F,
                                                               .momentum = 0.9F,
                                                               .weight_decay = 0.1F,
                                                               .gradient_scale = 1,
                                                               .parameters = now,
                                                               .gradients = memory.call.gradients,
                                                               .velocity = memory.velocity},
                                     &err),
                     PSIM_OK);
    tensors = pk_stage_tensors(stage, &count);
    assert_int_equal(count, 8);
    for (int i = 0; i < count; i++) {
        const bool decays =
            strstr(tensors[i].name, "conv") != NULL && strstr(tensors[i].name, "weight") != NULL;

        for (size_t k = tensors[i].offset; k < tensors[i].offset + tensors[i].count; k++)
            check_near(now[k], (double)before[k] * (decays ? 0.95 : 1), 1e-6);
    }
    psim_free(before);
    net_memory_release(&memory);
    pk_stage_free(stage);
    pk_context_close(context);
}

static void failed_allocations_leak_nothing(void **state)
{
    struct pk_context *context = open_ref();
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_net net;
    bool failed = true;

    (void)state;
    assert_int_equal(pk_net_build("revnet18", 8, 10, &net, &err), PSIM_OK);
    net.block_count = 4; /* stem, two reversible blocks, one that is not */
    for (unsigned long n = 1; failed; n++) {
        struct net_run net_run;

        err = (struct psim_error)PSIM_ERROR_INIT;
        psim_alloc_fail_at(n);
        failed = net_run_new(context, &net, 2, PK_STATISTICS_PAPER, 1, &net_run, &err) != PSIM_OK;
        psim_alloc_fail_at(0);
        if (failed)
            assert_int_equal(err.status, PSIM_ERR_NOMEM);
        net_run_release(&net_run);
        assert_int_equal(context->account.now_total_bytes, 0);
        assert_true(failed || n > 100);
    }
    pk_context_close(context);
}

static void check_refused(struct pk_context *context, const struct pk_stage_spec *spec,
                          enum psim_status status, const char *where, const char *message)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_stage *stage = NULL;

    assert_int_equal(pk_stage_new(context, spec, &stage, &err), status);
    assert_null(stage);
    check_contains(err.where, where);
    check_contains(err.message, message);
}

static void what_does_not_fit_is_refused(void **state)
{
    struct pk_context *context = open_ref();
    struct pk_block_spec block = petra_basic;
    struct pk_stage_spec spec = one_block(&block, 2, 4, PK_STATISTICS_PAPER);

    (void)state;
    block.kind = "petra_basik";
    check_refused(context, &spec, PSIM_ERR_NOTFOUND, "b.kind", "did you mean \"petra_basic\"?");
    block = petra_basic;
    block.width = 0;
    check_refused(context, &spec, PSIM_ERR_RANGE, "b.width", "at least 1, not 0");
    block = petra_basic;
    block.stride = 3;
    check_refused(context, &spec, PSIM_ERR_RANGE, "b.stride", "1 or 2, not 3");
    block = petra_bottleneck;
    block.width = 6;
    check_refused(context, &spec, PSIM_ERR_RANGE, "b.width", "multiple of 4");
    block = petra_basic;
    spec.input.streams = 1;
    check_refused(context, &spec, PSIM_ERR_RANGE, "b.input", "needs 2 streams, not 1");
    spec.input.streams = 2;
    spec.microbatch = 0;
    check_refused(context, &spec, PSIM_ERR_RANGE, "microbatch", "not 0");
    spec.microbatch = INT32_MAX;
    check_refused(context, &spec, PSIM_ERR_RANGE, "microbatch", "larger than 2^31 - 1");
    spec.microbatch = 1;
    spec.input.height = spec.input.width = 1;
    check_refused(context, &spec, PSIM_ERR_RANGE, "b.microbatch", "at least two values");
    spec.block_count = 0;
    check_refused(context, &spec, PSIM_ERR_RANGE, "blocks", "at least one");
    pk_context_close(context);
}

static void missing_operands_and_inverses_are_refused(void **state)
{
    struct pk_context *context = open_ref();
    struct pk_block_spec block = petra_basic;
    const struct pk_stage_spec spec = one_block(&block, 2, 4, PK_STATISTICS_PAPER);
    struct psim_error err = PSIM_ERROR_INIT;
    struct net_memory memory;
    struct pk_stage *stage;

    (void)state;
    block.stride = 2;
    stage = make(context, &spec);
    assert_int_equal(net_memory_new(stage, context, EVERY_PASS, 1, &memory, &err), PSIM_OK);
    assert_int_equal(pk_stage_run(stage, PK_INVERSE, &memory.call, &err), PSIM_ERR_UNSUPPORTED);
    err = (struct psim_error)PSIM_ERROR_INIT;
    assert_int_equal(pk_stage_run(stage, PK_BACKWARD_INPUT, &memory.call, &err), PSIM_ERR_RANGE);
    assert_string_equal(err.where, "dout");
    net_memory_release(&memory);
    pk_stage_free(stage);
    pk_context_close(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nets_have_the_parameters_of_the_model),
        cmocka_unit_test(a_graph_keeps_what_the_rule_says),
        cmocka_unit_test(sizes_said_beforehand_are_what_is_counted),
        cmocka_unit_test(passes_stay_inside_the_sizes_said),
        cmocka_unit_test(statistics_follow_the_two_readings),
        cmocka_unit_test(inference_uses_the_running_statistics),
        cmocka_unit_test(starting_values_do_not_depend_on_the_cut),
        cmocka_unit_test(weight_decay_spares_norms_and_biases),
        cmocka_unit_test(failed_allocations_leak_nothing),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(missing_operands_and_inverses_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

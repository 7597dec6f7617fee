/*
 * Stages from networks and from given costs: cuts, placement, times, bytes, tags.
 */
#include "sim/program/workload.h"
#include "sim/program/workload_parts.h"
#include "tests/support/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct psim_source toy_sources[] = {
    {"/cost/memory/any", PSIM_TAG_PUBLISHED, "a paper"},
    {"/cost/gemm", PSIM_TAG_ASSUMED, "a guess"},
};

/* Work at `speed` times 10 TFLOP/s and 1 TB/s; convolutions have no figures of their own. */
static struct psim_device make_device(const char *name, double speed)
{
    const struct psim_rate rate = {.given = true, .compute = 0.5, .memory = 0.8, .norm = 1.0};
    struct psim_device device;

    memset(&device, 0, sizeof(device));
    device.name = name;
    device.memory_bytes = INT64_C(16) << 30;
    device.memory_bandwidth_bytes_per_s = speed * 1e12;
    for (int i = 0; i < PSIM_PRECISIONS; i++)
        device.peak_flop_per_s[i] = speed * 10e12;
    device.peak_flop_per_s[PSIM_TF32] = NAN;
    device.rates[PSIM_WORK_DEFAULT][PSIM_ANY_PRECISION] = rate;
    device.rates[PSIM_WORK_MEMORY][PSIM_ANY_PRECISION] = rate;
    device.rates[PSIM_WORK_GEMM][PSIM_FP32] = rate;
    device.reserve_workspace_bytes = 11;
    device.reserve_context_bytes = 13;
    device.reserve_fragmentation = 0.25;
    device.idle_w = NAN;
    device.busy_w = NAN;
    device.sources = toy_sources;
    device.source_count = 2;
    return device;
}

/* `count` devices, of speed[i % speeds] each: equal speeds are one type. */
static struct psim_platform make_platform(int count, const double *speed, int speeds)
{
    struct psim_platform platform;
    int types[4];

    memset(&platform, 0, sizeof(platform));
    assert_in_range(speeds, 1, 4);
    assert_int_equal(psim_platform_init(&platform, "toy", NULL), PSIM_OK);
    for (int i = 0; i < speeds; i++) {
        static const char *const names[] = {"type0", "type1", "type2", "type3"};
        const struct psim_device device = make_device(names[i], speed[i]);

        assert_int_equal(psim_platform_add_type(&platform, names[i], &device, &types[i], NULL),
                         PSIM_OK);
    }
    for (int i = 0; i < count; i++) {
        char name[16];
        int vertex;

        (void)snprintf(name, sizeof(name), "gpu%d", i);
        assert_int_equal(
            psim_platform_add_vertex(&platform, name, types[i % speeds], -1, &vertex, NULL),
            PSIM_OK);
    }
    assert_int_equal(psim_platform_finish(&platform, 0, NULL), PSIM_OK);
    return platform;
}

static const double one_speed[] = {1.0};

static struct psim_workload_options make_options(enum psim_partition_kind partition)
{
    return (struct psim_workload_options){.microbatch = 64,
                                          .precision = PSIM_FP32,
                                          .optimizer = PSIM_SGD_MOMENTUM,
                                          .partition = partition};
}

static struct psim_workload build(const struct psim_workload_model *model,
                                  const struct psim_platform *platform,
                                  const struct psim_workload_options *options)
{
    struct psim_workload workload;
    struct psim_error err = PSIM_ERROR_INIT;

    memset(&workload, 0, sizeof(workload));
    if (psim_workload_build(model, platform, options, &workload, &err) != PSIM_OK)
        fail_msg("%s: %s", err.where, err.message);
    return workload;
}

static void check_refused(const struct psim_workload_model *model,
                          const struct psim_platform *platform,
                          const struct psim_workload_options *options, enum psim_status status,
                          const char *where, const char *part)
{
    struct psim_workload workload;
    struct psim_error err = PSIM_ERROR_INIT;

    memset(&workload, 0xA5, sizeof(workload));
    assert_int_equal(psim_workload_build(model, platform, options, &workload, &err), status);
    assert_int_equal(((unsigned char *)&workload)[0], 0xA5); /* untouched */
    assert_string_equal(err.where, where);
    check_contains(err.message, part);
}

static struct psim_network make_network(const char *name, int size, int classes)
{
    const int input[3] = {3, size, size};
    struct psim_network network;

    assert_int_equal(psim_network_build(name, input, classes, &network, NULL), PSIM_OK);
    return network;
}

/*
 * arXiv:2406.02052 table 3: RevNet-50, ImageNet, 64 samples, one micro-batch per update.  A stage
 * is 2 (J - j) micro-batches stale; it holds as many inputs and parameter versions.
 */
static void paper_account_gives_the_published_gigabytes(void **state)
{
    const struct psim_workload_options options = make_options(PSIM_PARTITION_PER_BLOCK);
    struct psim_network network = make_network("revnet50", 224, 1000);
    const struct psim_workload_model model = {.name = "revnet50", .network = &network};
    struct psim_platform platform = make_platform(18, one_speed, 1);
    struct psim_workload workload = build(&model, &platform, &options);
    double model_gb = 0.0, all_gb = 0.0, always_gb = 0.0, parameters_gb = 0.0;

    (void)state;
    for (int i = 0; i < 18; i++) {
        const struct psim_stage *stage = &workload.stages[i];
        const double stale = 2.0 * (17 - i);

        model_gb += 1e-9 * (double)stage->paper_model_bytes;
        all_gb += 1e-9 * stale * (double)stage->paper_input_bytes;
        parameters_gb += 1e-9 * stale * (double)stage->paper_parameter_bytes;
        if (stage->paper_always_buffers)
            always_gb += 1e-9 * stale * (double)stage->paper_input_bytes;
    }
    check_near(model_gb, 2.04, 0.005 / 2.04);
    check_near(all_gb, 41.54, 0.005 / 41.54);
    check_near(always_gb, 18.29, 0.005 / 18.29);
    check_near(parameters_gb, 0.88, 0.005 / 0.88);
    check_near(model_gb + all_gb + parameters_gb, 44.5, 0.05 / 44.5);
    check_near(model_gb + all_gb, 43.6, 0.05 / 43.6);
    check_near(model_gb + always_gb + parameters_gb, 21.2, 0.05 / 21.2);
    check_near(model_gb + always_gb, 20.3, 0.05 / 20.3);
    assert_false(psim_near(model_gb + all_gb, 44.5, 0.05 / 44.5));
    psim_workload_release(&workload);
    psim_platform_release(&platform);
    psim_network_release(&network);
}

static void block_stage_has_the_bytes_of_its_block(void **state)
{
    struct psim_workload_options options = make_options(PSIM_PARTITION_PER_BLOCK);
    struct psim_network network = make_network("revnet18", 32, 10);
    const struct psim_workload_model model = {.name = "revnet18", .network = &network};
    struct psim_platform platform = make_platform(12, one_speed, 1);
    struct psim_workload workload = build(&model, &platform, &options);
    const struct psim_stage *stage = &workload.stages[1];
    const int64_t stream = 64 * 32 * 32, parameters = 2 * (64 * 64 * 9 + 64) + 2 * 2 * 64;

    (void)state;
    assert_int_equal(workload.stage_count, 10);
    assert_int_equal(workload.reversible_blocks, 5);
    assert_string_equal(stage->name, "layer1.0");
    assert_true(stage->reversible);
    assert_int_equal(stage->input_bytes, 64 * 4 * 2 * stream);
    assert_int_equal(stage->output_bytes, 64 * 4 * 2 * stream);
    assert_int_equal(stage->parameter_bytes, 4 * parameters);
    assert_int_equal(stage->gradient_bytes, 4 * parameters);
    assert_int_equal(stage->optimizer_bytes, 4 * parameters);
    assert_int_equal(stage->buffer_bytes, 4 * 2 * 2 * 64);
    assert_int_equal(stage->graph_bytes, 64 * 4 * 5 * stream);
    assert_int_equal(stage->recompute_graph_bytes, stage->graph_bytes);
    assert_int_equal(stage->forward_work_bytes, 64 * 4 * 2 * stream);
    assert_int_equal(stage->backward_work_bytes, 64 * 4 * 3 * stream); /* the sum: 2 in, 1 out */
    assert_int_equal(stage->workspace_bytes, 11);
    assert_int_equal(stage->context_bytes, 13);
    assert_int_equal(stage->memory_bytes, INT64_C(16) << 30);
    check_near(stage->fragmentation, 0.25, 0.0);
    check_near(stage->reconstruct_s, stage->forward_s, 0.0);
    check_near(stage->forward_flop, 2.0 * 64.0 * (double)network.blocks[1].macs, 1e-15);
    check_near(stage->backward_flop, 2.0 * stage->forward_flop, 1e-15);
    assert_int_equal(workload.stages[9].output_bytes, 0);
    psim_workload_release(&workload);

    options.precision = PSIM_BF16; /* 2-byte tensors; master copy and both moments in fp32 */
    options.optimizer = PSIM_ADAM;
    workload = build(&model, &platform, &options);
    assert_int_equal(workload.stages[1].parameter_bytes, 2 * parameters);
    assert_int_equal(workload.stages[1].optimizer_bytes, 12 * parameters);
    assert_int_equal(workload.stages[1].graph_bytes, 64 * 2 * 5 * stream);
    assert_int_equal(workload.stages[1].buffer_bytes, 4 * 2 * 2 * 64);
    psim_workload_release(&workload);
    psim_platform_release(&platform);
    psim_network_release(&network);
}

static void merged_stage_sums_its_blocks_and_keeps_shared_values_once(void **state)
{
    const int list[] = {3, 1, 1, 1, 4}, all[] = {10};
    struct psim_workload_options options = make_options(PSIM_PARTITION_LIST);
    struct psim_network network = make_network("revnet18", 32, 10);
    const struct psim_workload_model model = {.name = "revnet18", .network = &network};
    struct psim_platform platform = make_platform(10, one_speed, 1);
    struct psim_workload parts, merged;
    const int64_t stream = 64 * 32 * 32;
    double forward_s = 0.0, update_s = 0.0;

    (void)state;
    options.partition = PSIM_PARTITION_PER_BLOCK;
    parts = build(&model, &platform, &options);
    options.partition = PSIM_PARTITION_LIST;
    options.partition_list = list;
    options.partition_count = 5;
    merged = build(&model, &platform, &options);
    assert_string_equal(merged.stages[0].name, "stem..layer1.1");
    assert_int_equal(merged.stages[0].block_count, 3);
    assert_false(merged.stages[0].reversible);
    assert_int_equal(merged.stages[0].graph_bytes, parts.stages[0].graph_bytes +
                                                       2 * parts.stages[1].graph_bytes -
                                                       64 * 4 * stream);
    assert_int_equal(merged.stages[0].recompute_graph_bytes, merged.stages[0].graph_bytes);
    assert_int_equal(merged.stages[0].input_bytes, parts.stages[0].input_bytes);
    assert_int_equal(merged.stages[0].output_bytes, parts.stages[2].output_bytes);
    psim_workload_release(&merged);

    options.partition_list = all;
    options.partition_count = 1;
    merged = build(&model, &platform, &options);
    assert_int_equal(merged.stages[0].graph_bytes,
                     64 * (4 * network.kept_elements + network.kept_index_bytes));
    for (int i = 0; i < 10; i++) {
        forward_s += parts.stages[i].forward_s;
        update_s += parts.stages[i].update_s;
    }
    check_near(merged.stages[0].forward_s, forward_s, 1e-14);
    check_near(merged.stages[0].update_s, update_s, 1e-14);
    psim_workload_release(&merged);
    psim_workload_release(&parts);
    psim_platform_release(&platform);
    psim_network_release(&network);
}

/* One graph at a time of the five equal blocks. */
static void merged_reversible_stage_rebuilds_block_by_block(void **state)
{
    const int list[] = {10, 5, 3};
    struct psim_workload_options options = make_options(PSIM_PARTITION_LIST);
    struct psim_network network = make_network("revnet50", 32, 10);
    const struct psim_workload_model model = {.name = "revnet50", .network = &network};
    struct psim_platform platform = make_platform(3, one_speed, 1);
    struct psim_workload workload;

    (void)state;
    options.partition_list = list;
    options.partition_count = 3;
    workload = build(&model, &platform, &options);
    assert_false(workload.stages[1].reversible); /* ends in layer4.0 */
    psim_workload_release(&workload);
    options.partition_list = (const int[]){9, 5, 4};
    workload = build(&model, &platform, &options);
    assert_string_equal(workload.stages[1].name, "layer3.1..layer3.5");
    assert_true(workload.stages[1].reversible);
    assert_int_equal(workload.stages[1].graph_bytes, 5 * workload.stages[1].recompute_graph_bytes);
    psim_workload_release(&workload);
    psim_platform_release(&platform);
    psim_network_release(&network);
}

static void stages_run_on_the_devices_they_are_placed_on(void **state)
{
    static const double speeds[] = {1.0, 2.0};
    static const int placement[] = {1, 3, 0};
    struct psim_workload_options options = make_options(PSIM_PARTITION_BALANCED);
    struct psim_network network = make_network("resnet18", 32, 10);
    const struct psim_workload_model model = {.name = "resnet18", .network = &network};
    struct psim_platform platform = make_platform(4, speeds, 2);
    struct psim_workload fast, mixed;

    (void)state;
    options.placement = placement;
    options.placement_count = 3;
    mixed = build(&model, &platform, &options);
    assert_int_equal(mixed.stage_count, 3);
    assert_int_equal(mixed.stages[1].device, 3);
    assert_int_equal(mixed.stages[2].device, 0);
    options.placement_count = 1; /* everything on a device of twice the speed */
    fast = build(&model, &platform, &options);
    options.placement = NULL;
    options.placement_count = 0;
    options.partition = PSIM_PARTITION_LIST;
    options.partition_list = (const int[]){10};
    options.partition_count = 1;
    psim_workload_release(&mixed);
    mixed = build(&model, &platform, &options);
    check_near(mixed.stages[0].forward_s, 2.0 * fast.stages[0].forward_s, 1e-12);
    psim_workload_release(&mixed);
    psim_workload_release(&fast);
    psim_platform_release(&platform);
    psim_network_release(&network);
}

static void tags_follow_the_rates(void **state)
{
    struct psim_workload_options options = make_options(PSIM_PARTITION_PER_BLOCK);
    struct psim_network network = make_network("resnet18", 32, 10);
    const struct psim_workload_model model = {.name = "resnet18", .network = &network};
    struct psim_platform platform = make_platform(10, one_speed, 1);
    struct psim_workload workload = build(&model, &platform, &options);
    double sum = 0.0, memory_s = 0.0, total_s = 0.0;

    (void)state;
    for (int i = 0; i < network.block_count; i++) {
        const struct psim_device *device = psim_platform_device(&platform, 0);
        struct psim_block_cost cost;

        assert_int_equal(psim_block_cost(&network.blocks[i], &options, device, &cost, NULL),
                         PSIM_OK);
        memory_s += cost.kind_s[PSIM_WORK_MEMORY];
        for (int kind = 0; kind < PSIM_WORK_KINDS; kind++)
            total_s += cost.kind_s[kind];
    }
    for (int tag = 0; tag < PSIM_TAGS; tag++)
        sum += workload.tag_share[tag];
    check_near(sum, 1.0, 1e-12);
    check_near(workload.tag_share[PSIM_TAG_PUBLISHED], memory_s / total_s, 1e-12);
    check_near(workload.tag_share[PSIM_TAG_ASSUMED], 1.0 - memory_s / total_s, 1e-12);
    /* The optimizer falls back on the same figure as the convolutions: named once. */
    assert_string_equal(workload.assumed, "type0: /cost/gemm/fp32, /cost/default/any");
    psim_workload_release(&workload);
    psim_platform_release(&platform);
    psim_network_release(&network);
}

static void network_faults_name_what_is_wrong(void **state)
{
    struct psim_workload_options options = make_options(PSIM_PARTITION_PER_BLOCK);
    struct psim_network network = make_network("revnet18", 224, 1000);
    const struct psim_workload_model model = {.name = "revnet18", .network = &network};
    struct psim_platform platform = make_platform(4, one_speed, 1);

    (void)state;
    check_refused(&model, &platform, &options, PSIM_ERR_RANGE, "platform", "10 stages");
    check_refused(&model, &platform, &options, PSIM_ERR_RANGE, "platform", "there are 4");
    options.placement = (const int[]){0, 2};
    options.placement_count = 2;
    check_refused(&model, &platform, &options, PSIM_ERR_RANGE, "placement", "there are 2");
    options.partition = PSIM_PARTITION_BALANCED;
    options.placement = (const int[]){0, 4};
    check_refused(&model, &platform, &options, PSIM_ERR_RANGE, "placement", "stage 2");
    options.placement = (const int[]){1, 1};
    check_refused(&model, &platform, &options, PSIM_ERR_RANGE, "placement", "gpu1");
    options.placement = NULL;
    options.partition = PSIM_PARTITION_LIST;
    options.partition_list = (const int[]){5, 4};
    options.partition_count = 2;
    check_refused(&model, &platform, &options, PSIM_ERR_RANGE, "partition", "sums to 9");
    options.partition_list = (const int[]){10, 0};
    check_refused(&model, &platform, &options, PSIM_ERR_RANGE, "partition", "stage 2");
    options.partition = PSIM_PARTITION_BALANCED;
    options.precision = PSIM_TF32;
    check_refused(&model, &platform, &options, PSIM_ERR_UNSUPPORTED, "precision", "tf32");
    options.precision = PSIM_FP32;
    options.microbatch = 0;
    check_refused(&model, &platform, &options, PSIM_ERR_RANGE, "microbatch", "not 0");
    options.microbatch = 1 << 20; /* 2^20 images keep more than 4 TiB in the stem's stage */
    check_refused(&model, &platform, &options, PSIM_ERR_RANGE, "microbatch", "4 TiB");
    psim_platform_release(&platform);
    psim_network_release(&network);
}

static struct psim_given_stage unit_stage(void)
{
    return (struct psim_given_stage){.name = "unit",
                                     .forward_s = 1.0,
                                     .reconstruct_s = 1.0,
                                     .backward_input_s = 1.25,
                                     .backward_weight_s = 0.75,
                                     .update_s = 0.5,
                                     .parameter_bytes = 4000,
                                     .input_bytes = 1000,
                                     .graph_bytes = 10000,
                                     .reversible = true};
}

static void given_stages_keep_their_costs(void **state)
{
    const struct psim_given_stage given[2] = {unit_stage(), unit_stage()};
    const struct psim_workload_model model = {.name = "units", .given = given, .given_count = 2};
    struct psim_workload_options options = make_options(PSIM_PARTITION_PER_BLOCK);
    struct psim_platform platform = make_platform(3, one_speed, 1);
    struct psim_workload workload = build(&model, &platform, &options);
    const struct psim_stage *stage = &workload.stages[0];

    (void)state;
    assert_true(workload.given);
    assert_int_equal(workload.stage_count, 2);
    assert_int_equal(workload.reversible_blocks, 2);
    check_near(stage->forward_s, 1.0, 0.0);
    check_near(stage->reconstruct_s, 1.0, 0.0);
    check_near(stage->backward_input_s, 1.25, 0.0);
    check_near(stage->backward_weight_s, 0.75, 0.0);
    check_near(stage->update_s, 0.5, 0.0);
    assert_true(isnan(stage->forward_flop) && isnan(stage->backward_flop) &&
                isnan(stage->reconstruct_flop));
    assert_int_equal(stage->input_bytes, 1000);
    assert_int_equal(stage->output_bytes, 1000);
    assert_int_equal(workload.stages[1].output_bytes, 0);
    assert_int_equal(stage->parameter_bytes, 4000);
    assert_int_equal(stage->gradient_bytes, 4000);
    assert_int_equal(stage->optimizer_bytes, 4000);
    assert_int_equal(stage->graph_bytes, 10000);
    assert_int_equal(stage->recompute_graph_bytes, 10000);
    assert_int_equal(stage->forward_work_bytes + stage->backward_work_bytes, 0);
    assert_int_equal(stage->paper_model_bytes, 0);
    check_near(workload.tag_share[PSIM_TAG_ASSUMED], 1.0, 0.0);
    assert_string_equal(workload.assumed, "stage times as given");
    psim_workload_release(&workload);

    options.precision = PSIM_FP16; /* 2000 elements: master 8000, moments 16000 */
    options.optimizer = PSIM_ADAMW;
    options.partition = PSIM_PARTITION_LIST;
    options.partition_list = (const int[]){2};
    options.partition_count = 1;
    workload = build(&model, &platform, &options);
    assert_int_equal(workload.stages[0].optimizer_bytes, 2 * 24000);
    assert_int_equal(workload.stages[0].graph_bytes, 20000);
    assert_int_equal(workload.stages[0].recompute_graph_bytes, 10000);
    check_near(workload.stages[0].forward_s, 2.0, 0.0);
    assert_string_equal(workload.stages[0].name, "unit..unit");
    psim_workload_release(&workload);
    psim_platform_release(&platform);
}

static void measured_times_scale_with_the_device(void **state)
{
    static const double speeds[] = {1.0, 4.0};
    const struct psim_device origin = make_device("type0", 1.0);
    struct psim_given_stage given[2] = {unit_stage(), unit_stage()};
    const struct psim_workload_model model = {.name = "units", .given = given, .given_count = 2};
    struct psim_workload_options options = make_options(PSIM_PARTITION_PER_BLOCK);
    struct psim_platform platform = make_platform(2, speeds, 2);
    struct psim_workload workload;

    (void)state;
    given[0].measured_on = &origin;
    given[1].measured_on = &origin;
    workload = build(&model, &platform, &options);
    check_near(workload.stages[0].forward_s, 1.0, 0.0);
    check_near(workload.stages[1].forward_s, 0.25, 1e-15);
    check_near(workload.stages[1].update_s, 0.125, 1e-15);
    check_near(workload.tag_share[PSIM_TAG_MEASURED], 0.8, 1e-12);
    check_near(workload.tag_share[PSIM_TAG_ESTIMATED], 0.2, 1e-12);
    assert_string_equal(workload.assumed, "");
    psim_workload_release(&workload);
    options.precision = PSIM_TF32; /* no such peak */
    check_refused(&model, &platform, &options, PSIM_ERR_UNSUPPORTED, "measured_on", "type1");
    psim_platform_release(&platform);
}

/* Deterministic numbers; a linear congruential step is enough for test data. */
static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 16;
}

#define UNITS_MAX  9
#define STAGES_MAX 5

/* Slowest stage of the best cut of units first.. into the stages s.., by trying all cuts. */
static double best_of_all(double prefix[STAGES_MAX][UNITS_MAX + 1], int units, int stages, int s,
                          int first)
{
    double best = INFINITY;

    if (s == stages - 1)
        return prefix[s][units] - prefix[s][first];
    for (int last = first + 1; last <= units - (stages - 1 - s); last++) {
        const double here = prefix[s][last] - prefix[s][first];
        const double rest = best_of_all(prefix, units, stages, s + 1, last);

        best = fmin(best, fmax(here, rest));
    }
    return best;
}

static double slowest(double prefix[STAGES_MAX][UNITS_MAX + 1], const int *bounds, int stages)
{
    double worst = 0.0;

    for (int s = 0; s < stages; s++) {
        assert_true(bounds[s + 1] > bounds[s]);
        worst = fmax(worst, prefix[s][bounds[s + 1]] - prefix[s][bounds[s]]);
    }
    return worst;
}

static void balanced_cut_is_the_best_of_all_cuts(void **state)
{
    unsigned seed = 1;
    int worse_than_even = 0;

    (void)state;
    for (int trial = 0; trial < 2000; trial++) {
        const int units = 1 + (int)(next(&seed) % UNITS_MAX);
        const int limit = units < STAGES_MAX ? units : STAGES_MAX;
        const int stages = 1 + (int)(next(&seed) % (unsigned)limit);
        double prefix[STAGES_MAX][UNITS_MAX + 1] = {{0.0}};
        const double *rows[STAGES_MAX];
        int bounds[STAGES_MAX + 1], even[STAGES_MAX + 1];
        double unit_s[UNITS_MAX], best;

        for (int i = 0; i < units; i++) /* powers of ten make the order of devices matter */
            unit_s[i] = trial % 3 == 0 ? 1.0 : pow(10.0, (double)(next(&seed) % 4));
        for (int s = 0; s < stages; s++) {
            const double speed = trial % 2 == 0 ? 1.0 : pow(2.0, (double)(next(&seed) % 6));

            for (int i = 0; i < units; i++)
                prefix[s][i + 1] = prefix[s][i] + unit_s[i] / speed;
            rows[s] = prefix[s];
        }
        assert_int_equal(psim_partition_balance(rows, units, stages, bounds, NULL), PSIM_OK);
        assert_int_equal(bounds[0], 0);
        assert_int_equal(bounds[stages], units);
        best = best_of_all(prefix, units, stages, 0, 0);
        check_near(slowest(prefix, bounds, stages), best, 1e-12);
        for (int s = 0; s <= stages; s++)
            even[s] = s * units / stages;
        if (!psim_near(slowest(prefix, even, stages), best, 1e-12))
            worse_than_even++;
    }
    assert_true(worse_than_even > 100); /* the comparison does tell cuts apart */
}

static void balanced_workload_uses_every_device_and_no_more_than_blocks(void **state)
{
    struct psim_workload_options options = make_options(PSIM_PARTITION_BALANCED);
    struct psim_network network = make_network("revnet18", 32, 10);
    const struct psim_workload_model model = {.name = "revnet18", .network = &network};
    int next_block = 0;

    (void)state;
    for (int devices = 4; devices <= 12; devices += 8) {
        struct psim_platform platform = make_platform(devices, one_speed, 1);
        struct psim_workload workload = build(&model, &platform, &options);

        assert_int_equal(workload.stage_count, devices < 10 ? devices : 10);
        next_block = 0;
        for (int i = 0; i < workload.stage_count; i++) {
            assert_int_equal(workload.stages[i].first_block, next_block);
            next_block += workload.stages[i].block_count;
        }
        assert_int_equal(next_block, 10);
        psim_workload_release(&workload);
        psim_platform_release(&platform);
    }
    psim_network_release(&network);
}

static void every_failed_allocation_is_reported_and_nothing_leaks(void **state)
{
    const struct psim_workload_options options = make_options(PSIM_PARTITION_BALANCED);
    struct psim_network network = make_network("revnet18", 32, 10);
    const struct psim_workload_model model = {.name = "revnet18", .network = &network};
    struct psim_platform platform = make_platform(4, one_speed, 1);
    enum psim_status status = PSIM_ERR_NOMEM;
    unsigned long n = 0;

    (void)state;
    while (status != PSIM_OK) {
        struct psim_workload workload;

        psim_alloc_fail_at(++n);
        status = psim_workload_build(&model, &platform, &options, &workload, NULL);
        psim_alloc_fail_at(0);
        if (status == PSIM_OK)
            psim_workload_release(&workload);
        else
            assert_int_equal(status, PSIM_ERR_NOMEM);
    }
    assert_true(n > 10);
    psim_platform_release(&platform);
    psim_network_release(&network);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paper_account_gives_the_published_gigabytes),
        cmocka_unit_test(block_stage_has_the_bytes_of_its_block),
        cmocka_unit_test(merged_stage_sums_its_blocks_and_keeps_shared_values_once),
        cmocka_unit_test(merged_reversible_stage_rebuilds_block_by_block),
        cmocka_unit_test(stages_run_on_the_devices_they_are_placed_on),
        cmocka_unit_test(tags_follow_the_rates),
        cmocka_unit_test(network_faults_name_what_is_wrong),
        cmocka_unit_test(given_stages_keep_their_costs),
        cmocka_unit_test(measured_times_scale_with_the_device),
        cmocka_unit_test(balanced_cut_is_the_best_of_all_cuts),
        cmocka_unit_test(balanced_workload_uses_every_device_and_no_more_than_blocks),
        cmocka_unit_test(every_failed_allocation_is_reported_and_nothing_leaks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

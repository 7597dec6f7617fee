/*
 * Networks against published and independently computed counts.
 *
 * Figures of RevNets: parameters as the public code of PETRA has them (arXiv:2406.02052 section 4.1
 * rounds them to 12.2, 22.3 and 30.4 million); multiply-accumulates and boundaries by hand from the
 * layer shapes.
 */
#include "sim/model/network.h"
#include "tests/support/check.h"

#include <stdio.h>
#include <string.h>

static const int imagenet[3] = {3, 224, 224};
static const int cifar[3] = {3, 32, 32};

static struct psim_network build(const char *name, const int input[3], int classes)
{
    struct psim_network network;
    struct psim_error err = PSIM_ERROR_INIT;

    memset(&network, 0, sizeof(network));
    if (psim_network_build(name, input, classes, &network, &err) != PSIM_OK)
        fail_msg("%s: %s", name, err.message);
    return network;
}

static void revnets_have_the_published_parameters_and_macs(void **state)
{
    static const struct {
        const char *name;
        const int *input;
        int classes, blocks;
        int64_t parameters;
        double gmac;
    } rows[] = {
        {"revnet18", imagenet, 1000, 10, 12215912, 1.933},
        {"revnet34", imagenet, 1000, 18, 22327784, 3.782},
        {"revnet50", imagenet, 1000, 18, 30421608, 4.569},
        {"revnet18", cifar, 10, 10, 11185802, 0.558 - 1024.0 * 990e-9},
        {"revnet34", cifar, 10, 18, 21297674, 1.162 - 1024.0 * 990e-9},
        {"revnet50", cifar, 10, 18, 26350218, 1.421 - 4096.0 * 990e-9},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct psim_network network = build(rows[i].name, rows[i].input, rows[i].classes);

        assert_int_equal(network.parameters, rows[i].parameters);
        assert_int_equal(network.block_count, rows[i].blocks);
        check_near((double)network.macs * 1e-9, rows[i].gmac, 1e-3);
        assert_int_equal(network.streams, 2);
        psim_network_release(&network);
    }
}

struct block_row {
    double mmac;
    int64_t output; /* elements, both streams */
    bool reversible;
};

/* The sources round; `half` is half a unit of their last digit. */
static bool matches(const struct psim_network *network, const struct block_row *rows, double half)
{
    for (int i = 0; i < network->block_count; i++) {
        const struct psim_block *block = &network->blocks[i];
        const double mmac = (double)block->macs * 1e-6;

        if (!(mmac <= rows[i].mmac + half && mmac >= rows[i].mmac - half))
            return false;
        if (block->output_elements != rows[i].output || block->reversible != rows[i].reversible)
            return false;
        if (i > 0 && block->input_elements != rows[i - 1].output)
            return false;
    }
    return true;
}

static void revnet18_matches_stage_by_stage(void **state)
{
    struct block_row large[10] = {{236, 401408, false}, {231, 401408, true}, {231, 401408, true},
                                  {180, 200704, false}, {231, 200704, true}, {180, 100352, false},
                                  {231, 100352, true},  {180, 50176, false}, {231, 50176, true},
                                  {1, 0, false}};
    const struct block_row small[10] = {
        {3.5, 131072, false}, {75.5, 131072, true}, {75.5, 131072, true}, {58.7, 65536, false},
        {75.5, 65536, true},  {58.7, 32768, false}, {75.5, 32768, true},  {58.7, 16384, false},
        {75.5, 16384, true},  {1.0, 0, false}};
    struct psim_network network = build("revnet18", imagenet, 1000);

    (void)state;
    assert_true(matches(&network, large, 0.5));
    large[4].mmac = 232.0; /* the checker must reject a wrong figure */
    assert_false(matches(&network, large, 0.5));
    large[4].mmac = 231.0;
    large[6].output++;
    assert_false(matches(&network, large, 0.5));
    psim_network_release(&network);
    network = build("revnet18", cifar, 1000);
    assert_true(matches(&network, small, 0.05));
    psim_network_release(&network);
}

static void revnet50_matches_stage_by_stage(void **state)
{
    const struct block_row rows[18] = {
        {236, 401408, false}, {283, 1605632, false}, {218, 1605632, true}, {218, 1605632, true},
        {475, 802816, false}, {218, 802816, true},   {218, 802816, true},  {218, 802816, true},
        {475, 401408, false}, {218, 401408, true},   {218, 401408, true},  {218, 401408, true},
        {218, 401408, true},  {218, 401408, true},   {475, 200704, false}, {218, 200704, true},
        {218, 200704, true},  {4, 0, false}};
    struct psim_network network = build("revnet50", imagenet, 1000);

    (void)state;
    assert_true(matches(&network, rows, 0.5));
    assert_true(network.blocks[1].downsampling); /* the width changes, the stride does not */
    assert_int_equal(network.blocks[1].stream_elements, 64 * 56 * 56);
    psim_network_release(&network);
}

static void revnet34_is_not_reversible_at_five_stages(void **state)
{
    struct psim_network network = build("revnet34", imagenet, 1000);

    (void)state;
    for (int i = 0; i < network.block_count; i++)
        assert_int_equal(network.blocks[i].reversible,
                         !(i == 0 || i == 4 || i == 8 || i == 14 || i == 17));
    psim_network_release(&network);
}

/* 488, 809 and 2929 MB at 64 samples in fp32. */
static void forward_bytes_over_all_boundaries_match(void **state)
{
    static const char *const names[] = {"revnet18", "revnet34", "revnet50"};
    static const double megabytes[] = {488.0, 809.0, 2929.0};

    (void)state;
    for (int i = 0; i < 3; i++) {
        struct psim_network network = build(names[i], imagenet, 1000);
        double elements = 0.0;

        for (int k = 0; k < network.block_count; k++)
            elements += (double)network.blocks[k].output_elements;
        assert_true(psim_near(elements * 64.0 * 4.0 * 1e-6, megabytes[i], 1e-3));
        assert_false(psim_near(elements * 64.0 * 4.0 * 1e-6, megabytes[i] + 5.0, 1e-3));
        psim_network_release(&network);
    }
}

/* Counts of a net from its layer list. */
struct counts {
    long long parameters, macs, conv_linear_out, bn_in, relu_out;
    long long other_kept; /* images, pooled inputs of a convolution, features, probabilities */
};

static struct counts count(const struct psim_network *network)
{
    struct counts counts = {0, 0, 0, 0, 0, 0};

    for (int i = 0; i < network->block_count; i++)
        for (int k = 0; k < network->blocks[i].layer_count; k++) {
            const struct psim_layer *layer = &network->blocks[i].layers[k];

            counts.parameters += layer->parameters;
            counts.macs += layer->macs;
            if (layer->kind == PSIM_LAYER_CONV2D || layer->kind == PSIM_LAYER_LINEAR)
                counts.conv_linear_out += layer->out_elements;
            if (layer->kind == PSIM_LAYER_BATCH_NORM)
                counts.bn_in += layer->in_elements;
            if (layer->kind == PSIM_LAYER_RELU)
                counts.relu_out += layer->out_elements;
            if (layer->kind == PSIM_LAYER_MAX_POOL || layer->kind == PSIM_LAYER_CROSS_ENTROPY)
                counts.other_kept += layer->out_elements;
            if (layer->kind == PSIM_LAYER_LINEAR || (i == 0 && k == 0))
                counts.other_kept += layer->in_elements;
        }
    return counts;
}

static bool same_counts(const struct counts *a, const struct counts *b)
{
    return a->parameters == b->parameters && a->macs == b->macs &&
           a->conv_linear_out == b->conv_linear_out && a->bn_in == b->bn_in &&
           a->relu_out == b->relu_out;
}

static void check_resnet(const char *line)
{
    char name[32];
    int input[3], classes;
    struct counts want, got;
    struct psim_network network;

    assert_int_equal(sscanf(line, "%31[^,],%d,%d,%d,%d,%lld,%lld,%lld,%lld,%lld", name, &input[0],
                            &input[1], &input[2], &classes, &want.parameters, &want.macs,
                            &want.conv_linear_out, &want.bn_in, &want.relu_out),
                     10);
    network = build(name, input, classes);
    got = count(&network);
    assert_true(same_counts(&got, &want));
    assert_int_equal(network.parameters, want.parameters);
    assert_int_equal(network.macs, want.macs);
    /* Nothing but BN inputs and ReLU outputs is kept inside the net, and nothing twice. */
    assert_int_equal(network.kept_elements, want.bn_in + want.relu_out + got.other_kept);
    want.relu_out++;
    assert_false(same_counts(&got, &want));
    psim_network_release(&network);
}

static void resnets_match_the_table(void **state)
{
    FILE *file = fopen(PSIM_SOURCE_DIR "/tests/data/model/resnets.csv", "r");
    char line[256];
    int rows = 0;

    (void)state;
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "resnet", 6) != 0)
            continue;
        check_resnet(line);
        rows++;
    }
    (void)fclose(file);
    assert_int_equal(rows, 8);
}

/* x, then input of a BN and output of a ReLU for each convolution: the other stream is only added.
 */
static void petra_block_keeps_one_stream_of_its_input(void **state)
{
    struct psim_network network = build("revnet18", cifar, 10);
    const struct psim_block *reversible = &network.blocks[1], *shrinking = &network.blocks[3];
    const int64_t wide = 64 * 32 * 32, narrow = 128 * 16 * 16;

    (void)state;
    assert_int_equal(reversible->kept_elements, wide + 4 * wide);
    assert_int_equal(reversible->stream_elements, wide);
    assert_int_equal(shrinking->kept_elements, 2 * wide + (4 + 1) * narrow);
    /* y~ leaves after the first ReLU: two gradients meet there; else they meet at x. */
    assert_int_equal(shrinking->layers[shrinking->layer_count - 1].fork_elements, narrow);
    assert_int_equal(reversible->layers[reversible->layer_count - 1].fork_elements, wide);
    /* The stem's ReLU is kept by the stem too; a sum is not kept by the block that makes it. */
    assert_int_equal(reversible->shared_elements, wide);
    assert_int_equal(network.blocks[2].shared_elements, 0);
    /* y~ = x, which the block before keeps, goes into the shrinking block's shortcut. */
    assert_int_equal(shrinking->shared_elements, wide);
    psim_network_release(&network);
}

static void bottleneck_shrinks_with_two_shortcuts(void **state)
{
    struct psim_network network = build("revnet50", imagenet, 1000);
    const struct psim_block *block = &network.blocks[4];
    int shortcuts = 0;

    (void)state;
    for (int i = 0; i < block->layer_count; i++)
        if (strncmp(block->layers[i].name, "shortcut", 8) == 0 &&
            block->layers[i].kind == PSIM_LAYER_CONV2D)
            shortcuts++;
    assert_int_equal(shortcuts, 2);
    assert_int_equal(block->layers[block->layer_count - 1].kind, PSIM_LAYER_ADD);
    assert_int_equal(block->layers[block->layer_count - 1].fork_elements, 256 * 56 * 56);
    psim_network_release(&network);
}

static void only_the_first_convolution_reads_images(void **state)
{
    struct psim_network network = build("resnet18", imagenet, 1000);

    (void)state;
    for (int i = 0; i < network.block_count; i++)
        for (int k = 0; k < network.blocks[i].layer_count; k++)
            assert_int_equal(network.blocks[i].layers[k].needs_input_gradient, i > 0 || k > 0);
    assert_int_equal(network.blocks[0].kept_index_bytes, 4 * 64 * 56 * 56);
    psim_network_release(&network);
}

static void catalogue_builds_for_odd_inputs(void **state)
{
    static const int inputs[][3] = {{3, 33, 47}, {1, 1, 1}, {3, 65, 129}, {4, 512, 64}};

    (void)state;
    for (int i = 0; psim_network_catalogue[i].name != NULL; i++)
        for (size_t k = 0; k < sizeof(inputs) / sizeof(inputs[0]); k++) {
            struct psim_network network = build(psim_network_catalogue[i].name, inputs[k], 7);

            assert_int_equal(network.streams == 2, psim_network_catalogue[i].reversible);
            assert_int_equal(network.blocks[network.block_count - 1].output_elements, 0);
            psim_network_release(&network);
        }
}

static void check_refused(const char *name, const int input[3], int classes,
                          enum psim_status status, const char *where, const char *part)
{
    struct psim_network network;
    struct psim_error err = PSIM_ERROR_INIT;

    memset(&network, 0xA5, sizeof(network));
    assert_int_equal(psim_network_build(name, input, classes, &network, &err), status);
    assert_int_equal(((unsigned char *)&network)[0], 0xA5); /* untouched */
    assert_string_equal(err.where, where);
    check_contains(err.message, part);
}

static void bad_arguments_name_the_field(void **state)
{
    (void)state;
    check_refused("revnet81", imagenet, 1000, PSIM_ERR_NOTFOUND, "name", "revnet");
    check_refused("revnet18", (const int[]){3, 64, 1}, 10, PSIM_ERR_RANGE, "input", "too small");
    check_refused("resnet18", (const int[]){0, 32, 32}, 10, PSIM_ERR_RANGE, "input", "not 0");
    check_refused("resnet18", (const int[]){3, 65537, 32}, 10, PSIM_ERR_RANGE, "input", "65537");
    check_refused("resnet18", cifar, 0, PSIM_ERR_RANGE, "classes", "not 0");
    check_refused("resnet18", cifar, 2097152, PSIM_ERR_RANGE, "classes", "2097152");
    check_refused("resnet18", (const int[]){65536, 65536, 65536}, 10, PSIM_ERR_RANGE, "input",
                  "too large");
}

static void every_failed_allocation_is_reported_and_nothing_leaks(void **state)
{
    enum psim_status status = PSIM_ERR_NOMEM;
    unsigned long n = 0;

    (void)state;
    while (status != PSIM_OK) {
        struct psim_network network;

        psim_alloc_fail_at(++n);
        status = psim_network_build("revnet101", cifar, 10, &network, NULL);
        psim_alloc_fail_at(0);
        if (status == PSIM_OK)
            psim_network_release(&network);
        else
            assert_int_equal(status, PSIM_ERR_NOMEM);
    }
    assert_true(n > 5);
}

/* One net built by hand; `builder` and `network` are released by the caller. */
static struct psim_builder *begin(struct psim_network *network, int streams)
{
    static const int input[3] = {2, 8, 8};
    struct psim_builder *builder;

    memset(network, 0, sizeof(*network));
    builder = psim_builder_new(network, "by-hand", input, 5, streams);
    assert_non_null(builder);
    return builder;
}

static enum psim_status add(struct psim_builder *builder, const struct psim_layer_spec *spec,
                            struct psim_error *err)
{
    memset(err, 0, sizeof(*err));
    return psim_builder_add_layer(builder, spec, err);
}

static const struct psim_layer_spec head[] = {
    {.kind = PSIM_LAYER_GLOBAL_AVERAGE_POOL},
    {.kind = PSIM_LAYER_LINEAR, .out = 5, .bias = true},
    {.kind = PSIM_LAYER_CROSS_ENTROPY},
};

static void layers_follow_the_shape(void **state)
{
    struct psim_network network;
    struct psim_builder *builder = begin(&network, 1);
    struct psim_error err = PSIM_ERROR_INIT;
    const struct psim_layer_spec conv = {
        .kind = PSIM_LAYER_CONV2D, .out = 3, .kernel = 3, .stride = 2, .pad = 1, .bias = true};
    const struct psim_layer_spec relu = {.kind = PSIM_LAYER_RELU, .name = "act"};

    (void)state;
    assert_int_equal(psim_builder_begin_block(builder, "all", &err), PSIM_OK);
    assert_int_equal(add(builder, &conv, &err), PSIM_OK);
    assert_int_equal(add(builder, &relu, &err), PSIM_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(add(builder, &head[i], &err), PSIM_OK);
    assert_int_equal(psim_builder_end_block(builder, &err), PSIM_OK);
    assert_int_equal(psim_builder_finish(builder, &err), PSIM_OK);
    psim_builder_free(builder);

    assert_string_equal(network.blocks[0].layers[0].name, "conv2d1");
    assert_string_equal(network.blocks[0].layers[1].name, "act");
    assert_int_equal(network.blocks[0].layers[0].out_height, 4);
    assert_int_equal(network.parameters, 3 * 2 * 9 + 3 + 3 * 5 + 5);
    assert_int_equal(network.macs, 3 * 2 * 9 * 16 + 15);
    /* images, ReLU output, features, probabilities */
    assert_int_equal(network.kept_elements, 2 * 64 + 3 * 16 + 3 + 5);
    psim_network_release(&network);
}

static void bad_layers_name_the_field(void **state)
{
    static const struct {
        struct psim_layer_spec spec;
        enum psim_status status;
        const char *where;
    } rows[] = {
        {{.kind = PSIM_LAYER_CONV2D, .out = 1, .stride = 1}, PSIM_ERR_RANGE, "kernel"},
        {{.kind = PSIM_LAYER_CONV2D, .out = 1, .kernel = 3}, PSIM_ERR_RANGE, "stride"},
        {{.kind = PSIM_LAYER_CONV2D, .out = 1, .kernel = 3, .stride = 1, .pad = 3},
         PSIM_ERR_RANGE,
         "pad"},
        {{.kind = PSIM_LAYER_CONV2D, .out = 1, .kernel = 3, .stride = 1, .pad = -1},
         PSIM_ERR_RANGE,
         "pad"},
        {{.kind = PSIM_LAYER_CONV2D, .out = 1, .kernel = 9, .stride = 1}, PSIM_ERR_RANGE, "input"},
        {{.kind = PSIM_LAYER_CONV2D, .kernel = 3, .stride = 1}, PSIM_ERR_RANGE, "out"},
        {{.kind = PSIM_LAYER_LINEAR, .out = 2147483647}, PSIM_ERR_RANGE, "out"},
        {{.kind = PSIM_LAYER_RELU, .name = "first"}, PSIM_ERR_SCHEMA, "name"},
    };
    struct psim_network network;
    struct psim_builder *builder = begin(&network, 1);
    struct psim_error err = PSIM_ERROR_INIT;
    const struct psim_layer_spec first = {.kind = PSIM_LAYER_RELU, .name = "first"};

    (void)state;
    assert_int_equal(psim_builder_begin_block(builder, "a", &err), PSIM_OK);
    assert_int_equal(add(builder, &first, &err), PSIM_OK);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(add(builder, &rows[i].spec, &err), rows[i].status);
        assert_string_equal(err.where, rows[i].where);
    }
    assert_int_equal(psim_builder_end_block(builder, &err), PSIM_OK);
    assert_int_equal(psim_builder_begin_block(builder, "a", NULL), PSIM_ERR_SCHEMA);
    assert_int_equal(psim_builder_finish(builder, NULL), PSIM_ERR_SCHEMA); /* no loss */
    psim_builder_free(builder);
    psim_network_release(&network);
}

static void undivided_image_cannot_be_added_up(void **state)
{
    const struct psim_layer_spec sum = {.kind = PSIM_LAYER_ADD};
    const struct psim_layer_spec odd = {
        .kind = PSIM_LAYER_CONV2D, .out = 3, .kernel = 1, .stride = 1};
    struct psim_network network;
    struct psim_builder *builder = begin(&network, 2);
    struct psim_error err = PSIM_ERROR_INIT;

    (void)state;
    assert_int_equal(psim_builder_begin_block(builder, "a", &err), PSIM_OK);
    assert_int_equal(add(builder, &odd, &err), PSIM_OK);
    assert_int_equal(add(builder, &sum, &err), PSIM_ERR_SCHEMA);
    psim_builder_free(builder);
    psim_network_release(&network);
}

static void bad_blocks_name_the_field(void **state)
{
    struct psim_network network;
    struct psim_builder *builder = begin(&network, 2);
    struct psim_error err = PSIM_ERROR_INIT;

    (void)state;
    assert_int_equal(psim_builder_add_block(builder, "petra_basik", "a", 8, 1, &err),
                     PSIM_ERR_NOTFOUND);
    check_contains(err.message, "petra_basic");
    assert_int_equal(psim_builder_add_block(builder, "basic", "a", 8, 1, NULL), PSIM_ERR_SCHEMA);
    assert_int_equal(psim_builder_add_block(builder, "petra_basic", "a", 8, 3, NULL),
                     PSIM_ERR_RANGE);
    assert_int_equal(psim_builder_add_block(builder, "petra_bottleneck", "a", 6, 1, NULL),
                     PSIM_ERR_RANGE);
    assert_int_equal(psim_builder_add_block(builder, "petra_basic", "a", 0, 1, NULL),
                     PSIM_ERR_RANGE);
    /* A block that fails half-way can be followed by the next one. */
    assert_int_equal(psim_builder_begin_block(builder, "odd", NULL), PSIM_OK);
    assert_int_equal(add(builder,
                         &(struct psim_layer_spec){
                             .kind = PSIM_LAYER_CONV2D, .out = 3, .kernel = 1, .stride = 1},
                         &err),
                     PSIM_OK);
    assert_int_equal(psim_builder_end_block(builder, NULL), PSIM_OK);
    memset(&err, 0, sizeof(err));
    assert_int_equal(psim_builder_add_block(builder, "petra_basic", "b", 8, 1, &err),
                     PSIM_ERR_RANGE);
    check_contains(err.message, "even number");
    assert_int_equal(psim_builder_add_block(builder, "petra_basic", "c", 8, 1, NULL),
                     PSIM_ERR_RANGE);
    psim_builder_free(builder);
    psim_network_release(&network);
}

/* A change of width makes a PETRA block the down-sampling form; equal shapes keep it reversible. */
static void petra_block_is_reversible_where_the_shape_stays(void **state)
{
    struct psim_network network;
    struct psim_builder *builder = begin(&network, 2);
    struct psim_error err = PSIM_ERROR_INIT;

    (void)state;
    assert_int_equal(psim_builder_add_block(builder, "petra_basic", "a", 1, 1, &err), PSIM_OK);
    assert_int_equal(psim_builder_add_block(builder, "petra_basic", "b", 4, 1, &err), PSIM_OK);
    assert_int_equal(psim_builder_add_block(builder, "petra_basic", "c", 4, 2, &err), PSIM_OK);
    assert_int_equal(psim_builder_begin_block(builder, "head", &err), PSIM_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(add(builder, &head[i], &err), PSIM_OK);
    assert_int_equal(psim_builder_end_block(builder, &err), PSIM_OK);
    assert_int_equal(psim_builder_finish(builder, &err), PSIM_OK);
    psim_builder_free(builder);
    assert_true(network.blocks[0].reversible);
    assert_false(network.blocks[1].reversible);
    assert_false(network.blocks[2].reversible);
    assert_int_equal(network.blocks[3].input_elements, 2 * 4 * 4 * 4);
    assert_int_equal(network.blocks[0].layers[0].needs_input_gradient, false);
    assert_int_equal(network.blocks[0].layers[6].fork_elements, 0); /* images: no gradient */
    psim_network_release(&network);
}

static void classes_must_be_the_outputs(void **state)
{
    struct psim_network network;
    struct psim_builder *builder = begin(&network, 1);
    struct psim_error err = PSIM_ERROR_INIT;

    (void)state;
    assert_int_equal(psim_builder_begin_block(builder, "a", &err), PSIM_OK);
    assert_int_equal(add(builder, &head[2], &err), PSIM_OK); /* 2 x 8 x 8, not 5 */
    assert_int_equal(psim_builder_end_block(builder, &err), PSIM_OK);
    assert_int_equal(psim_builder_finish(builder, &err), PSIM_ERR_RANGE);
    assert_string_equal(err.where, "classes");
    psim_builder_free(builder);
    psim_network_release(&network);
}

static void layer_kinds_have_names(void **state)
{
    enum psim_layer_kind kind = PSIM_LAYER_CONV2D;

    (void)state;
    for (int i = 0; psim_layer_kind_names[i] != NULL; i++) {
        assert_true(psim_layer_kind_from_name(psim_layer_kind_names[i], &kind));
        assert_int_equal(kind, i);
        assert_string_equal(psim_layer_kind_name(kind), psim_layer_kind_names[i]);
    }
    assert_int_equal(kind, PSIM_LAYER_CROSS_ENTROPY);
    assert_false(psim_layer_kind_from_name("conv", &kind));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(revnets_have_the_published_parameters_and_macs),
        cmocka_unit_test(revnet18_matches_stage_by_stage),
        cmocka_unit_test(revnet50_matches_stage_by_stage),
        cmocka_unit_test(revnet34_is_not_reversible_at_five_stages),
        cmocka_unit_test(forward_bytes_over_all_boundaries_match),
        cmocka_unit_test(resnets_match_the_table),
        cmocka_unit_test(petra_block_keeps_one_stream_of_its_input),
        cmocka_unit_test(bottleneck_shrinks_with_two_shortcuts),
        cmocka_unit_test(only_the_first_convolution_reads_images),
        cmocka_unit_test(catalogue_builds_for_odd_inputs),
        cmocka_unit_test(bad_arguments_name_the_field),
        cmocka_unit_test(every_failed_allocation_is_reported_and_nothing_leaks),
        cmocka_unit_test(layers_follow_the_shape),
        cmocka_unit_test(bad_layers_name_the_field),
        cmocka_unit_test(undivided_image_cannot_be_added_up),
        cmocka_unit_test(bad_blocks_name_the_field),
        cmocka_unit_test(petra_block_is_reversible_where_the_shape_stays),
        cmocka_unit_test(classes_must_be_the_outputs),
        cmocka_unit_test(layer_kinds_have_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

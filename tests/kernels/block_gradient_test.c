/*
 * Every kind of block against central differences, all in double (in_double.h): the gradients of
 * parameters and input by each pass that goes backward, and the inversion.
 *
 * L = sum r y for r as the gradient of y, or the mean loss.  D(h) = (L(x+h) - L(x-h)) / 2h is off
 * by about a third of |D(2h) - D(h)|, and by the rounding of L over h.
 */
#include "tests/kernels/net/net_run.h"

#include "sim/base/memory.h"

#include <float.h>

#define STEP         1e-5
#define SAMPLES      6 /* entries looked at in each tensor */
#define EVERY_PASS   ((1U << PK_PASSES) - 1)
#define REVERSIBLE_N 4 /* blocks in a reversible stage of several */

extern const struct pk_backend pk_backend_ref;

/* This program's kernels are ref's in double; no other backend is linked. */
const struct pk_backend *const pk_backend_table[] = {&pk_backend_ref, NULL};

struct stage_case {
    const char *name;
    struct pk_block_spec blocks[REVERSIBLE_N];
    int block_count;
    struct pk_shape input;
    bool indices;
};

static const struct pk_layer_spec layers[] = {
    {.kind = PK_LAYER_CONV2D, .name = "conv", .out = 5, .kernel = 3, .stride = 2, .pad = 1},
    {.kind = PK_LAYER_RELU},
    {.kind = PK_LAYER_BATCH_NORM, .name = "bn"},
    {.kind = PK_LAYER_MAX_POOL, .kernel = 2, .stride = 1},
    {.kind = PK_LAYER_GELU},
    {.kind = PK_LAYER_LINEAR, .name = "linear", .out = 7, .bias = true},
    {.kind = PK_LAYER_LAYER_NORM, .name = "norm"},
    {.kind = PK_LAYER_RELU},
    {.kind = PK_LAYER_LINEAR, .name = "classes", .out = 3},
    {.kind = PK_LAYER_CROSS_ENTROPY},
};
static const struct pk_layer_spec sum_layers[] = {
    {.kind = PK_LAYER_ADD}, {.kind = PK_LAYER_BATCH_NORM, .name = "bn"}, {.kind = PK_LAYER_RELU}};

#define ONE(...) {{.name = "b", __VA_ARGS__}}, 1
#define IMAGES(s)                                                                                  \
    {                                                                                              \
        .streams = (s), .channels = 4, .height = 5, .width = 4                                     \
    }
#define TOKENS(s)                                                                                  \
    {                                                                                              \
        .streams = (s), .channels = 5, .height = 1, .width = 8, .tokens = true                     \
    }
#define LIST(array) .layers = (array), .layer_count = sizeof(array) / sizeof((array)[0])

static const struct stage_case cases[] = {
    {"petra basic", ONE(.kind = "petra_basic", .width = 4, .stride = 1), IMAGES(2), false},
    {"petra basic, smaller", ONE(.kind = "petra_basic", .width = 6, .stride = 2), IMAGES(2), false},
    {"petra bottleneck", ONE(.kind = "petra_bottleneck", .width = 4, .stride = 1), IMAGES(2),
     false},
    {"petra bottleneck, smaller", ONE(.kind = "petra_bottleneck", .width = 8, .stride = 2),
     IMAGES(2), false},
    {"basic", ONE(.kind = "basic", .width = 4, .stride = 1), IMAGES(1), false},
    {"basic, smaller", ONE(.kind = "basic", .width = 6, .stride = 2), IMAGES(1), false},
    {"bottleneck", ONE(.kind = "bottleneck", .width = 4, .stride = 1), IMAGES(1), false},
    {"bottleneck, wider", ONE(.kind = "bottleneck", .width = 8, .stride = 1), IMAGES(1), false},
    {"revnet", ONE(.kind = "revnet", .width = 4, .stride = 1, .kernel = 3), IMAGES(2), false},
    {"transformer", ONE(.kind = "transformer", .heads = 2, .hidden = 6), TOKENS(2), false},
    {"causal transformer", ONE(.kind = "transformer", .heads = 4, .hidden = 9, .causal = true),
     TOKENS(2), false},
    {"stem", ONE(.kind = "stem", .width = 3, .streams = 2, .kernel = 3, .stride = 1, .bias = true),
     IMAGES(1), false},
    {"stem with a pool",
     ONE(.kind = "stem", .width = 3, .streams = 1, .kernel = 3, .stride = 1, .pool_kernel = 3,
         .pool_pad = 1),
     IMAGES(1), false},
    {"embedding",
     ONE(.kind = "embedding", .entries = 6, .width = 8),
     {.streams = 1, .channels = 5, .height = 1, .width = 1, .tokens = true},
     true},
    {"head", ONE(.kind = "head", .classes = 5), IMAGES(2), false},
    {"head of one stream", ONE(.kind = "head", .classes = 5), IMAGES(1), false},
    {"head over tokens", ONE(.kind = "head", .classes = 5), TOKENS(2), false},
    {"layers", ONE(.kind = "layers", LIST(layers)), IMAGES(2), false},
    {"layers after a sum", ONE(.kind = "layers", LIST(sum_layers)), IMAGES(2), false},
    {"several reversible blocks",
     {{.kind = "petra_basic", .name = "a", .width = 4, .stride = 1},
      {.kind = "revnet", .name = "b", .ordinal = 1, .width = 4, .stride = 1, .kernel = 1},
      {.kind = "petra_bottleneck", .name = "c", .ordinal = 2, .width = 4, .stride = 1},
      {.kind = "petra_basic", .name = "d", .ordinal = 3, .width = 4, .stride = 1}},
     4,
     IMAGES(2),
     false},
    {"several blocks and a head",
     {{.kind = "petra_basic", .name = "a", .width = 4, .stride = 1},
      {.kind = "petra_basic", .name = "b", .ordinal = 1, .width = 6, .stride = 2},
      {.kind = "petra_basic", .name = "c", .ordinal = 2, .width = 6, .stride = 1},
      {.kind = "head", .name = "d", .ordinal = 3, .classes = 3}},
     4,
     IMAGES(2),
     false},
};

struct fixture {
    struct pk_context *context;
    struct pk_stage *stage;
    struct net_memory memory;
    float *statistics; /* taken out of the memory: no pass updates them */
    float *in, *r;     /* the true input; weights of L, [output] */
    size_t in_count, out_count;
};

static void run(struct fixture *f, enum pk_pass pass)
{
    struct psim_error err = PSIM_ERROR_INIT;

    if (pk_stage_run(f->stage, pass, &f->memory.call, &err) != PSIM_OK)
        fail_msg("%s: %s: %s", pk_pass_names[pass], err.where, err.message);
}

/* Away from 1 and 0, where a wrong scale or shift would not show. */
static void start(struct fixture *f, const struct stage_case *c)
{
    const struct net_memory *m = &f->memory;
    const struct pk_tensor *tensors;
    int count;

    tensors = pk_stage_tensors(f->stage, &count);
    for (int i = 0; i < count; i++) {
        float *values = (float *)(uintptr_t)m->call.parameters + tensors[i].offset;

        net_fill(values, tensors[i].count, 7, (uint64_t)i);
        for (size_t k = 0; k < tensors[i].count; k++)
            values[k] = 0.5 * values[k] + (tensors[i].initial == PK_INITIAL_ONE ? 1 : 0);
    }
    net_fill(f->in, f->in_count, 8, 0);
    net_fill(f->r, f->out_count, 9, 0);
    if (c->indices)
        for (size_t i = 0; i < f->in_count; i++)
            ((int32_t *)f->in)[i] = (int32_t)(i * i % 6);
    for (size_t i = 0; i < m->sizes->loss_rows; i++)
        ((int32_t *)(uintptr_t)m->call.labels)[i] = (int32_t)(i * 2 % 3);
    memcpy(m->call.in, f->in, m->sizes->input_bytes);
}

static void make(struct fixture *f, const struct stage_case *c)
{
    const struct pk_options options = {.threads = 1};
    const struct pk_stage_spec spec = {.blocks = c->blocks,
                                       .block_count = c->block_count,
                                       .input = c->input,
                                       .input_is_data = c->indices,
                                       .microbatch = 3};
    struct psim_error err = PSIM_ERROR_INIT;

    memset(f, 0, sizeof(*f));
    if (pk_context_open("ref", &options, &f->context, &err) != PSIM_OK ||
        pk_stage_new(f->context, &spec, &f->stage, &err) != PSIM_OK ||
        net_memory_new(f->stage, f->context, EVERY_PASS, 1, &f->memory, &err) != PSIM_OK)
        fail_msg("%s: %s: %s", c->name, err.where, err.message);
    f->statistics = f->memory.call.statistics;
    f->memory.call.statistics = NULL;
    f->in_count = f->memory.sizes->input_bytes / sizeof(float);
    f->out_count = f->memory.sizes->output_bytes / sizeof(float);
    f->in = psim_alloc(f->in_count, sizeof(float));
    f->r = psim_alloc(f->out_count, sizeof(float));
    f->memory.call.dout = f->r;
    start(f, c);
}

static void drop(struct fixture *f)
{
    psim_free(f->in);
    psim_free(f->r);
    f->memory.call.statistics = f->statistics;
    net_memory_release(&f->memory);
    pk_stage_free(f->stage);
    pk_context_close(f->context);
}

static double loss(struct fixture *f, double *rounding)
{
    const struct net_memory *m = &f->memory;
    double sum = 0, absolute = 0;

    run(f, PK_FORWARD);
    for (size_t i = 0; i < f->out_count; i++) {
        sum += f->r[i] * m->call.out[i];
        absolute += fabs(f->r[i] * m->call.out[i]);
    }
    for (size_t i = 0; i < m->sizes->loss_rows; i++) {
        sum += m->call.loss[i] / (double)m->sizes->loss_rows;
        absolute += fabs(sum);
    }
    *rounding += 256 * DBL_EPSILON * absolute;
    return sum;
}

static double difference(struct fixture *f, float *x, double h, double *rounding)
{
    const double kept = *x;
    double of_loss = 0, up, down;

    *x = kept + h;
    up = loss(f, &of_loss);
    *x = kept - h;
    down = loss(f, &of_loss);
    *x = kept;
    *rounding += of_loss / (2 * h);
    return (up - down) / (2 * h);
}

/* Some entries of one tensor. */
static int count_wrong(struct fixture *f, const char *name, float *x, const float *got,
                       size_t count)
{
    const size_t stride = count / SAMPLES + 1;
    int wrong = 0;

    for (size_t i = 0; i < count; i += stride) {
        double rounding = 0;
        const double fine = difference(f, &x[i], STEP, &rounding);
        const double coarse = difference(f, &x[i], 2 * STEP, &rounding);
        const double bound = fabs(coarse - fine) + rounding + 1e-9 * fabs(fine);

        if (fabs(got[i] - fine) <= bound)
            continue;
        print_message("%s[%zu]: %.12g, by differences %.12g +- %.2g\n", name, i, got[i], fine,
                      bound);
        wrong++;
    }
    return wrong;
}

static int check_pass(struct fixture *f, enum pk_pass pass)
{
    struct net_memory *m = &f->memory;
    const struct pk_tensor *tensors;
    int count, wrong = 0;

    tensors = pk_stage_tensors(f->stage, &count);
    memset(m->call.gradients, 0, m->sizes->gradient_bytes);
    if (m->call.din != NULL)
        memset(m->call.din, 0xff, m->sizes->input_bytes); /* NaN */
    memset(m->call.workspace, 0xff, m->workspace_bytes);
    if (m->call.graph != NULL)
        memset(m->call.graph, 0xff, m->graph_bytes);
    if (pass == PK_BACKWARD_GRAPH)
        run(f, PK_FORWARD_GRAPH);
    if (pass == PK_BACKWARD_OUTPUT || pass == PK_BACKWARD_NAIVE || pass == PK_INVERSE) {
        run(f, PK_FORWARD);
        memset(m->call.in, 0xff, m->sizes->input_bytes);
    }
    run(f, pass);
    assert_true(net_distance(m->call.in, f->in, f->in_count) <= 1e-12);
    memcpy(m->call.in, f->in, m->sizes->input_bytes);
    if (pass == PK_INVERSE)
        return 0;
    for (int i = 0; i < count; i++)
        wrong += count_wrong(f, tensors[i].name,
                             (float *)(uintptr_t)m->call.parameters + tensors[i].offset,
                             m->call.gradients + tensors[i].offset, tensors[i].count);
    if (pk_stage_sizes(f->stage)->input_bytes > 0 && f->memory.call.din != NULL &&
        strcmp(tensors[0].name, "b.table.weight") != 0)
        wrong += count_wrong(f, "input", m->call.in, m->call.din, f->in_count);
    return wrong;
}

static void every_backward_is_the_derivative_of_the_forward(void **state)
{
    const enum pk_pass passes[] = {PK_BACKWARD_GRAPH, PK_BACKWARD_INPUT, PK_INVERSE,
                                   PK_BACKWARD_OUTPUT, PK_BACKWARD_NAIVE};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture f;

        make(&f, &cases[i]);
        for (int k = 0; k < (pk_stage_is_reversible(f.stage) ? 5 : 2); k++)
            if (check_pass(&f, passes[k]) != 0)
                fail_msg("%s: %s", cases[i].name, pk_pass_names[passes[k]]);
        drop(&f);
    }
}

static void a_wrong_gradient_is_found(void **state)
{
    struct fixture f;

    (void)state;
    make(&f, &cases[0]);
    run(&f, PK_BACKWARD_INPUT);
    f.memory.call.gradients[0] *= 1 + 1e-5;
    assert_int_equal(count_wrong(&f, "provoked", (float *)(uintptr_t)f.memory.call.parameters,
                                 f.memory.call.gradients, 1),
                     1);
    drop(&f);
}

static void which_blocks_are_reversible(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *name = cases[i].name;
        struct fixture f;

        make(&f, &cases[i]);
        assert_int_equal(pk_stage_is_reversible(f.stage),
                         strcmp(name, "petra basic") == 0 ||
                             strcmp(name, "petra bottleneck") == 0 || strcmp(name, "revnet") == 0 ||
                             strstr(name, "transformer") != NULL ||
                             strcmp(name, "several reversible blocks") == 0);
        drop(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_backward_is_the_derivative_of_the_forward),
        cmocka_unit_test(a_wrong_gradient_is_found),
        cmocka_unit_test(which_blocks_are_reversible),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What pk_X refuses before a backend sees it, and what fails round the operations. */
#include "kernels/pk.h"
#include "sim/base/memory.h"
#include "tests/kernels/conformance/conformance.h"
#include "tests/support/check.h"

#include <limits.h>
#include <math.h>
#include <string.h>

static struct pk_context *context;

static int open_ref(void **state)
{
    struct psim_error err = PSIM_ERROR_INIT;

    (void)state;
    return pk_context_open("ref", &(struct pk_options){.threads = 1}, &context, &err) == PSIM_OK
               ? 0
               : -1;
}

static int close_ref(void **state)
{
    (void)state;
    pk_context_close(context);
    return 0;
}

/* Something that operands may point to; nothing is written where an operation is refused. */
static float room[64];
static int32_t words[64];

static void refused_at(int line, enum conf_operation operation, const void *op, const char *field)
{
    struct psim_error err = PSIM_ERROR_INIT;
    float before[64];

    memcpy(before, room, sizeof(room));
    if (conf_call(context, operation, op, NULL, &err) != PSIM_ERR_RANGE ||
        strcmp(err.where, field) != 0) {
        print_error("line %d: %s, \"%s\": %s\n", line, psim_status_text(err.status), err.where,
                    err.message);
        _fail(__FILE__, line);
    }
    check_contains(err.message, conf_operation_names[operation]);
    assert_memory_equal(before, room, sizeof(room));
}

#define REFUSED(operation, field, ...)                                                             \
    refused_at(__LINE__, CONF_##operation, &(struct pk_##operation)__VA_ARGS__, (field))

static void bad_sizes_name_the_field(void **state)
{
    (void)state;
    REFUSED(gemm, "m", {.m = -1});
    REFUSED(gemm, "n", {.n = INT_MIN});
    REFUSED(gemm, "k", {.m = 1, .k = -7});
    REFUSED(gemm, "a", {.m = 65536, .n = 1, .k = 65536});
    REFUSED(gemm, "b", {.m = 1, .n = 65536, .k = 32768});
    REFUSED(gemm, "c", {.m = INT_MAX, .n = 2, .k = 1});
    REFUSED(linear_forward, "rows", {.rows = -1});
    REFUSED(linear_backward_data, "in", {.in = -1});
    REFUSED(linear_backward_weight, "out", {.out = -1});
    REFUSED(norm_forward, "x", {.n = 65536, .c = 65536, .hw = 65536});
    REFUSED(norm_backward, "hw", {.hw = -1});
    REFUSED(norm_inference, "c", {.c = -1});
    REFUSED(layer_norm_forward, "columns", {.columns = -1});
    REFUSED(layer_norm_backward, "x", {.rows = 65536, .columns = 65536});
    REFUSED(cross_entropy, "logits", {.rows = 65536, .classes = 65536});
    REFUSED(attention_forward, "heads", {.heads = -2});
    REFUSED(attention_forward, "probabilities", {.n = 1, .tokens = 65536, .heads = 1, .d = 1});
    REFUSED(attention_backward, "qkv", {.n = 1 << 15, .tokens = 1 << 15, .heads = 1, .d = 1});
    REFUSED(embedding_forward, "entries", {.entries = -1});
    REFUSED(embedding_backward, "tokens",
            {.rows = 1, .entries = 1, .columns = 1, .tokens = -1, .dposition = room});
    REFUSED(average_forward, "n", {.n = -1});
    REFUSED(average_backward, "dx", {.n = 65536, .c = 65536, .hw = 1});
    REFUSED(relu_forward, "count", {.count = SIZE_MAX});
    REFUSED(relu_backward, "count", {.count = (size_t)INT32_MAX + 1});
    REFUSED(add, "count", {.count = SIZE_MAX});
    REFUSED(sgd, "count", {.count = SIZE_MAX});
    REFUSED(gelu_forward, "count", {.count = SIZE_MAX});
    REFUSED(gelu_backward, "count", {.count = SIZE_MAX});
    REFUSED(count_bad, "count", {.count = SIZE_MAX, .bad = (int64_t *)(void *)room});
    REFUSED(copy_rows, "rows", {.rows = SIZE_MAX});
}

static void bad_windows_name_the_field(void **state)
{
#define SHAPE(...) {.shape = {.n = 1, .c = 1, .h = 5, .w = 5, .k = 1, __VA_ARGS__}}
    (void)state;
    REFUSED(conv_forward, "shape.kernel", SHAPE(.kernel = 0, .stride = 1));
    REFUSED(conv_forward, "shape.stride", SHAPE(.kernel = 1, .stride = 0));
    REFUSED(conv_forward, "shape.pad", SHAPE(.kernel = 3, .stride = 1, .pad = 3));
    REFUSED(conv_forward, "shape.pad", SHAPE(.kernel = 3, .stride = 1, .pad = -1));
    REFUSED(conv_forward, "shape.kernel", SHAPE(.kernel = 6, .stride = 1));
    REFUSED(conv_backward_data, "shape.kernel", SHAPE(.kernel = INT_MAX, .stride = 1));
    REFUSED(conv_backward_weight, "shape.h",
            SHAPE(.kernel = INT_MAX, .stride = 1, .pad = INT_MAX - 1));
    REFUSED(conv_forward, "shape.n", {.shape = {.n = -1, .kernel = 1, .stride = 1}});
    REFUSED(conv_forward, "weight",
            {.shape = {.n = 1, .c = 65536, .h = 1, .w = 1, .k = 65536, .kernel = 1, .stride = 1}});
    REFUSED(pool_forward, "shape.k",
            {.shape = {.n = 1, .c = 2, .h = 3, .w = 3, .k = 1, .kernel = 1, .stride = 1}});
    REFUSED(pool_backward, "shape.stride", SHAPE(.kernel = 1, .stride = -1));
#undef SHAPE
}

static void bad_strides_and_numbers_name_the_field(void **state)
{
    (void)state;
    REFUSED(copy_rows, "source_stride",
            {.rows = 2, .columns = 3, .source_stride = 2, .target_stride = 3});
    REFUSED(copy_rows, "target_stride",
            {.rows = 1 << 20, .columns = 3, .source_stride = 3, .target_stride = 1 << 20});
    REFUSED(average_forward, "y_stride", {.n = 1, .c = 4, .hw = 1, .y_stride = 3});
    REFUSED(average_backward, "dy_stride", {.n = 1, .c = 4, .hw = 1, .dy_stride = 0});
#define NORM                                                                                       \
    .n = 1, .c = 1, .x = room, .scale = room, .shift = room, .mean = room, .inv_std = room,        \
    .y = room
    REFUSED(norm_forward, "epsilon", {NORM, .hw = 2, .epsilon = -1});
    REFUSED(norm_forward, "epsilon", {NORM, .hw = 2, .epsilon = NAN});
    REFUSED(norm_forward, "base_sign", {NORM, .hw = 2, .base = room});
    REFUSED(norm_forward, "base_sign", {NORM, .hw = 2, .base = room, .base_sign = NAN});
    REFUSED(norm_forward, "running_mean", {NORM, .hw = 2, .running_variance = room});
    REFUSED(norm_forward, "running_variance", {NORM, .hw = 2, .running_mean = room});
    REFUSED(norm_forward, "running_variance",
            {NORM, .hw = 1, .running_mean = room, .running_variance = room});
    REFUSED(norm_forward, "momentum",
            {NORM, .hw = 2, .running_mean = room, .running_variance = room, .momentum = NAN});
#undef NORM
}

static void missing_operands_name_the_field(void **state)
{
    (void)state;
    REFUSED(gemm, "a", {.m = 1, .n = 1, .k = 1, .b = room, .c = room});
    REFUSED(gemm, "c", {.m = 1, .n = 1, .k = 1, .a = room, .b = room});
    REFUSED(relu_backward, "dx", {.count = 1, .y = room, .dy = room});
    REFUSED(cross_entropy, "labels", {.rows = 1, .classes = 2, .logits = room});
    REFUSED(sgd, "velocity", {.count = 1, .momentum = 0.5F, .gradient = room, .weight = room});
    REFUSED(count_bad, "bad", {.count = 1, .x = room});
    REFUSED(pool_backward, "index",
            {.shape = {.n = 1, .c = 1, .h = 1, .w = 1, .k = 1, .kernel = 1, .stride = 1},
             .dy = room,
             .dx = room});
    REFUSED(embedding_forward, "table",
            {.rows = 1, .entries = 1, .columns = 1, .index = words, .y = room});
}

static void a_bad_workspace_is_refused(void **state)
{
    const struct pk_attention_backward op = {.n = 1,
                                             .tokens = 2,
                                             .heads = 1,
                                             .d = 1,
                                             .qkv = room,
                                             .probabilities = room + 16,
                                             .dy = room + 32,
                                             .dqkv = room + 48};
    const size_t bytes = pk_attention_backward_workspace(context, &op);
    struct pk_workspace workspaces[] = {{NULL, 0}, {NULL, bytes}, {NULL, bytes - 1}, {NULL, bytes}};
    struct psim_error err = PSIM_ERROR_INIT;
    void *block = NULL;

    (void)state;
    assert_true(bytes > 0);
    assert_int_equal(pk_allocate(context, PK_WORKSPACE, bytes + 1, &block, &err), PSIM_OK);
    workspaces[2].data = block;
    workspaces[3].data = (char *)block + 1;
    for (int i = -1; i < 4; i++) {
        err = (struct psim_error)PSIM_ERROR_INIT;
        assert_int_equal(pk_attention_backward(context, &op, i < 0 ? NULL : &workspaces[i], &err),
                         PSIM_ERR_RANGE);
        assert_string_equal(err.where, "workspace");
    }
    workspaces[2].bytes = bytes;
    assert_int_equal(pk_attention_backward(context, &op, &workspaces[2], NULL), PSIM_OK);
    pk_release(context, PK_WORKSPACE, bytes + 1, block);
}

static void a_workspace_is_asked_for_without_operands(void **state)
{
    (void)state;
    assert_true(
        pk_attention_backward_workspace(
            context, &(struct pk_attention_backward){.n = 1, .tokens = 3, .heads = 2, .d = 1}) > 0);
    assert_int_equal(
        pk_attention_backward_workspace(
            context, &(struct pk_attention_backward){.n = -1, .tokens = 3, .heads = 2, .d = 1}),
        0);
}

/* All of them, with every dimension 0 and no operand at all. */
static void nothing_to_do_is_done(void **state)
{
    int64_t bad = 7;
    (void)state;
    for (int i = 0; i < CONF_OPERATIONS; i++) {
        _Alignas(max_align_t) unsigned char op[CONF_OPERATION] = {0};
        struct psim_error err = PSIM_ERROR_INIT;

        if (i == CONF_count_bad)
            memcpy(op, &(struct pk_count_bad){.bad = &bad}, sizeof(struct pk_count_bad));
        if (strncmp(conf_operation_names[i], "conv", 4) == 0 ||
            strncmp(conf_operation_names[i], "pool", 4) == 0)
            memcpy(op, &(struct pk_conv_shape){.kernel = 1, .stride = 1},
                   sizeof(struct pk_conv_shape));
        assert_int_equal(conf_call(context, (enum conf_operation)i, op, NULL, &err), PSIM_OK);
    }
    assert_int_equal(bad, 0);
}

static void contexts_that_cannot_be_opened(void **state)
{
    struct pk_context *const untouched = (struct pk_context *)(void *)room;
    struct pk_context *made = untouched;
    struct psim_error err = PSIM_ERROR_INIT;

    (void)state;
    assert_int_equal(pk_context_open("reff", &(struct pk_options){0}, &made, &err),
                     PSIM_ERR_NOTFOUND);
    check_contains(err.message, "ref, openblas, cuda");
    for (int i = 0; pk_backend_table[i] != NULL; i++) {
        if (pk_backend_table[i]->absent == NULL)
            continue;
        err = (struct psim_error)PSIM_ERROR_INIT;
        assert_int_equal(
            pk_context_open(pk_backend_table[i]->name, &(struct pk_options){0}, &made, &err),
            PSIM_ERR_UNSUPPORTED);
        check_contains(err.message, pk_backend_table[i]->absent);
    }
    assert_int_equal(pk_context_open("ref", &(struct pk_options){.device = -1}, &made, NULL),
                     PSIM_ERR_RANGE);
    assert_int_equal(pk_context_open("ref", &(struct pk_options){.threads = -1}, &made, NULL),
                     PSIM_ERR_RANGE);
    assert_int_equal(pk_context_open("ref", &(struct pk_options){.math = PK_MATHS}, &made, NULL),
                     PSIM_ERR_RANGE);
    assert_ptr_equal(made, untouched);
}

/* Every allocation of opening and of one block fails once; nothing stays, nothing is counted. */
static void every_allocation_may_fail(void **state)
{
    (void)state;
    for (int i = 0; pk_backend_table[i] != NULL; i++) {
        const struct pk_backend *backend = pk_backend_table[i];
        bool done = backend->absent != NULL || backend->memory == PK_MEMORY_DEVICE;

        for (unsigned long n = 1; !done; n++) {
            struct psim_error err = PSIM_ERROR_INIT;
            struct pk_context *made = NULL;
            void *block = NULL;
            enum psim_status status;

            psim_alloc_fail_at(n);
            status =
                pk_context_open(backend->name, &(struct pk_options){.threads = 2}, &made, &err);
            if (status == PSIM_OK) {
                status = pk_allocate(made, PK_DATA, 1000, &block, &err);
                assert_int_equal(made->account.now_total_bytes, status == PSIM_OK ? 1000 : 0);
            } else {
                assert_null(made);
            }
            psim_alloc_fail_at(0);
            done = status == PSIM_OK;
            if (!done) {
                assert_int_equal(status, PSIM_ERR_NOMEM);
                assert_int_equal(err.status, PSIM_ERR_NOMEM);
                assert_null(block);
            }
            if (made != NULL) {
                pk_release(made, PK_DATA, 1000, block);
                assert_int_equal(made->account.now_total_bytes, 0);
            }
            pk_context_close(made);
        }
    }
}

static void more_than_there_is_says_how_much(void **state)
{
    struct psim_error err = PSIM_ERROR_INIT;
    void *block = NULL;

    (void)state;
    assert_int_equal(pk_allocate(context, PK_GRAPH, SIZE_MAX - 8, &block, &err), PSIM_ERR_NOMEM);
    check_contains(err.message, "asked");
    assert_null(block);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_sizes_name_the_field),
        cmocka_unit_test(bad_windows_name_the_field),
        cmocka_unit_test(bad_strides_and_numbers_name_the_field),
        cmocka_unit_test(missing_operands_name_the_field),
        cmocka_unit_test(a_bad_workspace_is_refused),
        cmocka_unit_test(a_workspace_is_asked_for_without_operands),
        cmocka_unit_test(nothing_to_do_is_done),
        cmocka_unit_test(contexts_that_cannot_be_opened),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(more_than_there_is_says_how_much),
    };

    return cmocka_run_group_tests(tests, open_ref, close_ref);
}

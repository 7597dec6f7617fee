/*
 * What the cuda backend says of a machine that lacks it, and, where there is a GPU, how it opens,
 * counts its memory, and fails.
 */
#include "kernels/pk.h"
#include "tests/support/check.h"

#include "sim/base/memory.h"

#include <string.h>

static const struct pk_options options = {.device = 0};

/* NULL where this machine or build lacks the device; what it lacks must have been said. */
static struct pk_context *open_or_say(void)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_context *context = NULL;
    const enum psim_status status = pk_context_open("cuda", &options, &context, &err);

    if (status == PSIM_OK)
        return context;
    assert_int_equal(status, PSIM_ERR_UNSUPPORTED);
    assert_null(context);
    assert_true(strlen(err.message) > 10);
    print_message("no device: %s\n", err.message);
    return NULL;
}

static void a_machine_without_a_device_is_told_so(void **state)
{
    struct pk_context *context = open_or_say(), *ref = NULL;
    struct psim_error err = PSIM_ERROR_INIT;

    (void)state;
    pk_context_close(context);
    /* The other backends are unharmed. */
    assert_int_equal(pk_context_open("ref", &options, &ref, &err), PSIM_OK);
    pk_context_close(ref);
}

static struct pk_context *open_or_skip(void)
{
    struct pk_context *context = open_or_say();

    if (context == NULL)
        skip();
    return context;
}

static void a_device_that_is_not_there_is_refused(void **state)
{
    const struct pk_options far = {.device = 4000};
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_context *context = NULL;

    (void)state;
    pk_context_close(open_or_skip());
    assert_int_equal(pk_context_open("cuda", &far, &context, &err), PSIM_ERR_UNSUPPORTED);
    assert_null(context);
    check_contains(err.message, "4000");
}

static void failed_host_allocations_leave_nothing_behind(void **state)
{
    enum psim_status status = PSIM_ERR_NOMEM;

    (void)state;
    pk_context_close(open_or_skip());
    for (unsigned long n = 1; status != PSIM_OK; n++) {
        struct psim_error err = PSIM_ERROR_INIT;
        struct pk_context *context = NULL;

        psim_alloc_fail_at(n);
        status = pk_context_open("cuda", &options, &context, &err);
        psim_alloc_fail_at(0);
        assert_true(status == PSIM_OK || (status == PSIM_ERR_NOMEM && context == NULL));
        pk_context_close(context);
        assert_true(n < 20);
    }
}

/* relu of one value, there and back. */
static float relu_of(struct pk_context *context, float *block, float x)
{
    const struct pk_relu_forward relu = {.count = 1, .x = block, .y = block};
    struct psim_error err = PSIM_ERROR_INIT;
    float y = -1;

    assert_int_equal(context->backend->upload(context, block, &x, sizeof(x), &err), PSIM_OK);
    assert_int_equal(pk_relu_forward(context, &relu, NULL, &err), PSIM_OK);
    assert_int_equal(context->backend->download(context, &y, block, sizeof(y), &err), PSIM_OK);
    return y;
}

static void memory_that_is_not_there_is_refused_and_the_device_goes_on(void **state)
{
    struct pk_context *context = open_or_skip();
    const int64_t before_bytes = context->account.now_total_bytes;
    struct psim_error err = PSIM_ERROR_INIT;
    void *large = NULL, *small = NULL;

    (void)state;
    assert_true(context->account.now_bytes[PK_WORKSPACE] > 0); /* cuBLAS's */
    assert_int_equal(pk_allocate(context, PK_DATA, (size_t)1 << 50, &large, &err), PSIM_ERR_NOMEM);
    assert_null(large);
    assert_true(context->account.now_total_bytes == before_bytes);
    err = (struct psim_error)PSIM_ERROR_INIT;
    assert_int_equal(pk_allocate(context, PK_DATA, sizeof(float), &small, &err), PSIM_OK);
    assert_int_equal((uintptr_t)small % 256, 0);
    check_near(relu_of(context, small, 3), 3, 0);
    check_near(relu_of(context, small, -3), 0, 0);
    pk_release(context, PK_DATA, sizeof(float), small);
    assert_true(context->account.now_total_bytes == before_bytes);
    pk_context_close(context);
}

/* The last test: after such a fault the process has no device any more. */
static void a_fault_on_the_device_shows_in_wait(void **state)
{
    struct pk_context *context = open_or_skip();
    const struct pk_relu_forward wild = {
        .count = 1, .x = (float *)(uintptr_t)256, .y = (float *)(uintptr_t)256};
    struct psim_error err = PSIM_ERROR_INIT;

    (void)state;
    assert_int_equal(pk_relu_forward(context, &wild, NULL, &err), PSIM_OK);
    assert_int_equal(context->backend->wait(context, &err), PSIM_ERR_IO);
    assert_true(strlen(err.message) > 10);
    pk_context_close(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_without_a_device_is_told_so),
        cmocka_unit_test(a_device_that_is_not_there_is_refused),
        cmocka_unit_test(failed_host_allocations_leave_nothing_behind),
        cmocka_unit_test(memory_that_is_not_there_is_refused_and_the_device_goes_on),
        cmocka_unit_test(a_fault_on_the_device_shows_in_wait),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

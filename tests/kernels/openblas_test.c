/* The openblas backend beside its operations: what it refuses, its failures, its threads. */
#include "kernels/pk.h"
#include "sim/base/memory.h"
#include "tests/support/check.h"

#include <string.h>

static struct pk_context *open_or_skip(int threads)
{
    struct pk_context *context = NULL;
    struct psim_error err = PSIM_ERROR_INIT;
    const enum psim_status status =
        pk_context_open("openblas", &(struct pk_options){.threads = threads}, &context, &err);

    if (status == PSIM_ERR_UNSUPPORTED)
        skip();
    assert_int_equal(status, PSIM_OK);
    return context;
}

static void refused(const struct pk_options *options, enum psim_status status, const char *where,
                    const char *text)
{
    struct pk_context *context = NULL;
    struct psim_error err = PSIM_ERROR_INIT;

    assert_int_equal(pk_context_open("openblas", options, &context, &err), status);
    assert_null(context);
    assert_string_equal(err.where, where);
    check_contains(err.message, text);
}

static void other_arithmetic_and_devices_are_refused(void **state)
{
    (void)state;
    pk_context_close(open_or_skip(1));
    refused(&(struct pk_options){.math = PK_MATH_TF32}, PSIM_ERR_UNSUPPORTED, "math", "tf32");
    refused(&(struct pk_options){.math = PK_MATH_BF16}, PSIM_ERR_UNSUPPORTED, "math", "bf16");
    refused(&(struct pk_options){.device = 1}, PSIM_ERR_UNSUPPORTED, "device", "not 1");
    refused(&(struct pk_options){.threads = 5000}, PSIM_ERR_RANGE, "threads", "5000");
}

static void description_names_library_and_threads(void **state)
{
    struct pk_context *context = open_or_skip(3);
    struct pk_description description;

    (void)state;
    context->backend->describe(context, &description);
    pk_context_close(context);
    assert_int_equal(description.threads, 3);
    check_contains(description.libraries, "OpenBLAS ");
    check_contains(description.convolution, "sgemm");
}

static void all_processors_by_default(void **state)
{
    struct pk_context *context = open_or_skip(0);
    struct pk_description description;

    (void)state;
    context->backend->describe(context, &description);
    pk_context_close(context);
    assert_in_range(description.threads, 1, 1024);
}

static void failed_allocations_of_open_leave_nothing(void **state)
{
    struct psim_error err;
    enum psim_status status = PSIM_ERR_NOMEM;

    (void)state;
    pk_context_close(open_or_skip(1));
    for (unsigned long n = 1; status != PSIM_OK; n++) {
        struct pk_context *context = NULL;

        assert_in_range(n, 1, 10);
        err = (struct psim_error)PSIM_ERROR_INIT;
        psim_alloc_fail_at(n);
        status = pk_context_open("openblas", &(struct pk_options){.threads = 2}, &context, &err);
        psim_alloc_fail_at(0);
        assert_true(status == PSIM_OK || (status == PSIM_ERR_NOMEM && context == NULL));
        pk_context_close(context);
    }
}

/* Contexts have threads of their own: a job of one is none of another's. */
static void two_contexts_at_once(void **state)
{
    struct pk_context *contexts[2] = {open_or_skip(2), open_or_skip(3)};
    static float x[100000], y[100000];
    struct psim_error err = PSIM_ERROR_INIT;
    const struct pk_relu_forward relu = {.count = 100000, .x = x, .y = y};

    (void)state;
    for (int i = 0; i < 100000; i++)
        x[i] = (float)(i % 7 - 3);
    for (int round = 0; round < 200; round++) {
        memset(y, 0xff, sizeof(y));
        assert_int_equal(pk_relu_forward(contexts[round % 2], &relu, NULL, &err), PSIM_OK);
        for (int i = 0; i < 100000; i++)
            if (!(y[i] == (x[i] > 0 ? x[i] : 0)))
                fail();
    }
    pk_context_close(contexts[0]);
    pk_context_close(contexts[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_arithmetic_and_devices_are_refused),
        cmocka_unit_test(description_names_library_and_threads),
        cmocka_unit_test(all_processors_by_default),
        cmocka_unit_test(failed_allocations_of_open_leave_nothing),
        cmocka_unit_test(two_contexts_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

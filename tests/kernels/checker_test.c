/* The conformance checker is shown backends that are wrong in one way each, and must say so. */
#include "tests/kernels/conformance/conformance.h"
#include "tests/support/check.h"

#include <math.h>
#include <string.h>

/* How the backend under test goes wrong. */
enum fault {
    NO_FAULT,
    WRONG_VALUE,
    NAN_LEFT,
    HIDDEN_NAN,
    PAST_THE_END,
    BEFORE_THE_START,
    CHANGED_INPUT,
    THREADS_MATTER,
    FAILED_CALL,
    FAULTS
};

static enum fault fault;
static struct pk_operations operations;
static struct pk_backend backend;
static enum psim_status (*right_add)(struct pk_context *, const struct pk_add *,
                                     const struct pk_workspace *, struct psim_error *);
static enum psim_status (*right_attention)(struct pk_context *,
                                           const struct pk_attention_backward *,
                                           const struct pk_workspace *, struct psim_error *);

static enum psim_status wrong_add(struct pk_context *context, const struct pk_add *op,
                                  const struct pk_workspace *workspace, struct psim_error *err)
{
    const enum psim_status status = right_add(context, op, workspace, err);
    float *last = &op->y[op->count - 1];

    switch (fault) {
    case WRONG_VALUE:
        *last = nextafterf(nextafterf(nextafterf(*last, 99), 99), 99) + 0x1p-20F;
        break;
    case NAN_LEFT:
        *last = NAN;
        break;
    case HIDDEN_NAN:
        for (size_t i = 0; i < op->count; i++)
            op->y[i] = isnan(op->y[i]) ? 0 : op->y[i];
        break;
    case PAST_THE_END:
        last[1] = 0;
        break;
    case BEFORE_THE_START:
        op->y[-1] = 0;
        break;
    case CHANGED_INPUT:
        if (op->y != op->b)
            ((float *)(uintptr_t)op->b)[0] += 1;
        break;
    case THREADS_MATTER:
        /* Within the bound of a, but not the same. */
        *last = context->options.threads == 3 ? nextafterf(*last, 99) : *last;
        break;
    case FAILED_CALL:
        return psim_fail(err, PSIM_ERR_IO, "device", "it burns");
    default:
        break;
    }
    return status;
}

/* The mean of the squares less the square of the mean: sum (x - mean)^2 / m only on paper. */
static enum psim_status textbook_norm(struct pk_context *context, const struct pk_norm_forward *op,
                                      const struct pk_workspace *workspace, struct psim_error *err)
{
    (void)context;
    (void)workspace;
    (void)err;
    for (int c = 0; c < op->c; c++) {
        const float m = (float)op->n * (float)op->hw;
        float sum = 0, squares = 0;

        for (int n = 0; n < op->n; n++)
            for (int i = 0; i < op->hw; i++) {
                const float x = op->x[(n * op->c + c) * op->hw + i];

                sum += x;
                squares += x * x;
            }
        op->mean[c] = sum / m;
        op->inv_std[c] = 1 / sqrtf(fmaxf(0, squares / m - op->mean[c] * op->mean[c]) + op->epsilon);
    }
    return PSIM_OK;
}

/* Writes behind the workspace that it was given. */
static enum psim_status wrong_attention(struct pk_context *context,
                                        const struct pk_attention_backward *op,
                                        const struct pk_workspace *workspace,
                                        struct psim_error *err)
{
    ((char *)workspace->data)[workspace->bytes] = 0;
    return right_attention(context, op, workspace, err);
}

static enum psim_status open_faulty(void *state, const struct pk_options *options,
                                    struct pk_context **context, struct psim_error *err)
{
    const enum psim_status status = pk_context_open("ref", options, context, err);

    (void)state;
    if (status != PSIM_OK)
        return status;
    backend = *(*context)->backend;
    operations = *backend.operations;
    right_add = operations.run_add;
    right_attention = operations.run_attention_backward;
    operations.run_add = wrong_add;
    operations.run_attention_backward = wrong_attention;
    operations.run_norm_forward = textbook_norm;
    operations.run_gelu_forward = NULL;
    backend.operations = &operations;
    (*context)->backend = &backend;
    return PSIM_OK;
}

/* Rounds the operands although fp32 was asked for. */
static enum psim_status open_rounding(void *state, const struct pk_options *options,
                                      struct pk_context **context, struct psim_error *err)
{
    struct pk_options with = *options;

    (void)state;
    with.math = PK_MATH_TF32;
    return pk_context_open("ref", &with, context, err);
}

static struct conf_result result_of(conf_open *open, enum conf_operation operation)
{
    const struct pk_options options = {.math = PK_MATH_FP32};
    struct psim_error err = PSIM_ERROR_INIT;
    struct conf_run run = {.only = conf_operation_names[operation]};
    struct conf_result result;

    assert_int_equal(conf_start(&run, open, NULL, &options, &err), PSIM_OK);
    conf_run_all(&run);
    result = run.results[operation];
    conf_close(&run);
    return result;
}

static void every_fault_is_told(void **state)
{
    static const char *const words[FAULTS] = {
        [WRONG_VALUE] = "expected",
        [NAN_LEFT] = "is nan",
        [HIDDEN_NAN] = "expected nan",
        [PAST_THE_END] = "guard words round y",
        [BEFORE_THE_START] = "guard words round y",
        [CHANGED_INPUT] = "b was changed",
        [THREADS_MATTER] = "with 1 and 3 threads",
        [FAILED_CALL] = "it burns",
    };

    (void)state;
    for (fault = NO_FAULT + 1; fault < FAULTS; fault++) {
        const struct conf_result result = result_of(open_faulty, CONF_add);

        assert_true(result.failures > 0);
        check_contains(result.first_failure, words[fault]);
    }
}

static void a_right_backend_passes(void **state)
{
    struct conf_result result;

    (void)state;
    fault = NO_FAULT;
    result = result_of(open_faulty, CONF_add);
    assert_int_equal(result.failures, 0);
    assert_true(result.cases > 100);
    assert_false(result.missing);
}

static void a_write_behind_the_workspace_is_told(void **state)
{
    const struct conf_result result = result_of(open_faulty, CONF_attention_backward);

    (void)state;
    assert_true(result.failures > 0);
    check_contains(result.first_failure, "guard words round the workspace");
}

static void an_unstable_variance_is_told(void **state)
{
    struct conf_result result;

    (void)state;
    result = result_of(open_faulty, CONF_norm_forward);
    assert_true(result.failures > 0);
    assert_true(result.worst_ratio > 0);
}

static void silent_tf32_is_told(void **state)
{
    static const enum conf_operation products[] = {CONF_gemm,
                                                   CONF_conv_forward,
                                                   CONF_conv_backward_data,
                                                   CONF_linear_forward,
                                                   CONF_conv_backward_weight,
                                                   CONF_linear_backward_data,
                                                   CONF_attention_forward,
                                                   CONF_attention_backward,
                                                   CONF_linear_backward_weight};

    (void)state;
    for (size_t i = 0; i < sizeof(products) / sizeof(products[0]); i++) {
        const struct conf_result result = result_of(open_rounding, products[i]);

        assert_true(result.failures > 0);
        check_contains(result.first_failure, "expected");
    }
    assert_int_equal(result_of(open_rounding, CONF_add).failures, 0);
}

static void a_missing_operation_is_no_passed_one(void **state)
{
    const struct conf_result result = result_of(open_faulty, CONF_gelu_forward);

    (void)state;
    assert_true(result.missing);
    assert_int_equal(result.cases, 0);
}

static void only_what_is_within_the_bound_agrees(void **state)
{
    (void)state;
    assert_true(conf_agrees(1, 1, 0));
    assert_true(conf_agrees(1, 1.5, 0.5));
    assert_false(conf_agrees(1, 1.5, 0.25));
    assert_false(conf_agrees(NAN, 1, INFINITY));
    assert_false(conf_agrees(1, 1.5, NAN));
    assert_false(conf_agrees(0, NAN, INFINITY));
    assert_false(conf_agrees(1, INFINITY, INFINITY));
    assert_false(conf_agrees(-INFINITY, INFINITY, INFINITY));
    assert_true(conf_agrees(NAN, NAN, 0));
    assert_true(conf_agrees(INFINITY, INFINITY, NAN));
    assert_true(isinf(conf_gamma(0x1p24, 0x1p-24)));
    assert_true(conf_gamma(3, 0x1p-24) > 3 * 0x1p-24);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fault_is_told),
        cmocka_unit_test(a_right_backend_passes),
        cmocka_unit_test(a_write_behind_the_workspace_is_told),
        cmocka_unit_test(an_unstable_variance_is_told),
        cmocka_unit_test(silent_tf32_is_told),
        cmocka_unit_test(a_missing_operation_is_no_passed_one),
        cmocka_unit_test(only_what_is_within_the_bound_agrees),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

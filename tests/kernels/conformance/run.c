/* Running a case on a backend, and judging what came out. */
#include "tests/kernels/conformance/conformance.h"

#include "sim/base/memory.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define GUARD_BYTES PK_ALIGNMENT /* before and after; keeps the alignment */
#define GUARD_VALUE 0xa5

const char *const conf_operation_names[] = {
#define CONF_NAME(name, type) #name,
    PK_OPERATION_MAP(CONF_NAME)
#undef CONF_NAME
        NULL};

enum psim_status conf_call(struct pk_context *context, enum conf_operation operation,
                           const void *op, const struct pk_workspace *workspace,
                           struct psim_error *err)
{
    switch (operation) {
#define CONF_CALL(name, type)                                                                      \
    case CONF_##name:                                                                              \
        return pk_##name(context, op, workspace, err);
        PK_OPERATION_MAP(CONF_CALL)
#undef CONF_CALL
    default:
        psim_bug("no such operation");
    }
}

size_t conf_workspace(const struct pk_context *context, enum conf_operation operation,
                      const void *op)
{
    switch (operation) {
#define CONF_WORKSPACE(name, type)                                                                 \
    case CONF_##name:                                                                              \
        return pk_##name##_workspace(context, op);
        PK_OPERATION_MAP(CONF_WORKSPACE)
#undef CONF_WORKSPACE
    default:
        psim_bug("no such operation");
    }
}

static void fail(struct conf_run *run, const struct conf_case *c, const char *format, ...)
    PSIM_PRINTF(3, 4);

static void fail(struct conf_run *run, const struct conf_case *c, const char *format, ...)
{
    struct conf_result *result = &run->results[c->operation];
    char what[300];
    va_list arguments;

    if (result->failures++ > 0)
        return;
    va_start(arguments, format);
    vsnprintf(what, sizeof(what), format, arguments);
    va_end(arguments);
    snprintf(result->first_failure, sizeof(result->first_failure), "%s: %s", c->label, what);
}

/* A block in the backend's memory and its image on the host, guards included. */
struct block {
    size_t bytes, start; /* start: where the contents begin */
    unsigned char *image;
    void *device;
};

/* One run of a case on one context. */
struct attempt {
    struct pk_context *context;
    struct block blocks[CONF_ARRAYS + 1]; /* the last is the workspace */
    struct pk_workspace workspace;
    _Alignas(max_align_t) unsigned char op[CONF_OPERATION];
};

static enum psim_status block_new(struct attempt *a, struct block *block, size_t bytes,
                                  size_t shift, struct psim_error *err)
{
    block->start = GUARD_BYTES + shift;
    block->bytes = block->start + bytes + GUARD_BYTES;
    block->image = psim_alloc(block->bytes, 1);
    if (block->image == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "image", "out of memory");
    memset(block->image, GUARD_VALUE, block->bytes);
    return pk_allocate(a->context, PK_DATA, block->bytes, &block->device, err);
}

static void attempt_release(struct attempt *a)
{
    for (int i = 0; i <= CONF_ARRAYS; i++) {
        pk_release(a->context, PK_DATA, a->blocks[i].bytes, a->blocks[i].device);
        psim_free(a->blocks[i].image);
    }
}

/* One array in four starts one element off the alignment: nothing promises more, and what moves
 * several elements at a time must look at each of its arrays. */
static size_t shift_of(const struct conf_case *c, int i)
{
    return conf_random(c->seed, (uint64_t)i + 1000) < 0.25 ? conf_element_bytes(c->arrays[i].kind)
                                                           : 0;
}

static enum psim_status attempt_prepare(struct attempt *a, const struct conf_case *c,
                                        struct psim_error *err)
{
    enum psim_status status = PSIM_OK;
    struct block *scratch = &a->blocks[CONF_ARRAYS];

    memcpy(a->op, c->op, sizeof(a->op));
    for (int i = 0; status == PSIM_OK && i < c->array_count; i++) {
        const struct conf_array *array = &c->arrays[i];
        const size_t bytes = array->count * conf_element_bytes(array->kind);
        struct block *block = &a->blocks[i];
        char *data;

        status = block_new(a, block, bytes, shift_of(c, i), err);
        if (status != PSIM_OK)
            return status;
        if (bytes > 0)
            memcpy(block->image + block->start, array->input, bytes);
        status =
            a->context->backend->upload(a->context, block->device, block->image, block->bytes, err);
        data = (char *)block->device + block->start;
        memcpy(a->op + array->offset, &data, sizeof(data));
        if (array->also_name != NULL)
            memcpy(a->op + array->also_offset, &data, sizeof(data));
    }
    a->workspace.bytes = conf_workspace(a->context, c->operation, a->op);
    if (status == PSIM_OK)
        status = block_new(a, scratch, a->workspace.bytes, 0, err);
    if (status == PSIM_OK) {
        /* The guards' bytes, repeated, are no NaN: poison the inside. */
        memset(scratch->image + scratch->start, 0xff, a->workspace.bytes);
        status = a->context->backend->upload(a->context, scratch->device, scratch->image,
                                             scratch->bytes, err);
        a->workspace.data = (char *)scratch->device + scratch->start;
    }
    return status;
}

static enum psim_status attempt_run(struct attempt *a, const struct conf_case *c,
                                    struct psim_error *err)
{
    enum psim_status status = attempt_prepare(a, c, err);

    if (status == PSIM_OK)
        status = conf_call(a->context, c->operation, a->op, &a->workspace, err);
    if (status == PSIM_OK)
        status = a->context->backend->wait(a->context, err);
    for (int i = 0; status == PSIM_OK && i <= CONF_ARRAYS; i++)
        if (a->blocks[i].image != NULL)
            status = a->context->backend->download(a->context, a->blocks[i].image,
                                                   a->blocks[i].device, a->blocks[i].bytes, err);
    return status;
}

static bool guards_hold(const struct block *block)
{
    for (size_t i = 0; i < block->start; i++)
        if (block->image[i] != GUARD_VALUE)
            return false;
    for (size_t i = block->bytes - GUARD_BYTES; i < block->bytes; i++)
        if (block->image[i] != GUARD_VALUE)
            return false;
    return true;
}

static void note_ratio(struct conf_run *run, const struct conf_case *c, double error, double bound)
{
    struct conf_result *result = &run->results[c->operation];

    if (error > 0 && error / bound > result->worst_ratio) {
        result->worst_ratio = error / bound;
        snprintf(result->worst, sizeof(result->worst), "%s", c->label);
    }
}

/* Whether anything of a case may be told apart by value, or only that badness is not hidden. */
enum judgement { BY_BOUND, BY_BADNESS };

static void judge_floats(struct conf_run *run, const struct conf_case *c,
                         const struct conf_array *array, const unsigned char *data,
                         enum judgement judgement)
{
    for (size_t i = 0; i < array->count; i++) {
        const double want = ((const float *)array->want)[i];
        float got;

        memcpy(&got, data + i * sizeof(got), sizeof(got));
        if (judgement == BY_BADNESS ? isfinite(want) || !isfinite(got)
                                    : conf_agrees(got, want, array->bound[i])) {
            if (judgement == BY_BOUND)
                note_ratio(run, c, fabs(got - want), array->bound[i]);
            continue;
        }
        fail(run, c, "%s[%zu] of %zu is %.9g, expected %.9g within %.3g", array->name, i,
             array->count, (double)got, want,
             judgement == BY_BOUND ? array->bound[i] : (double)NAN);
        return;
    }
}

static void judge(struct conf_run *run, const struct conf_case *c, const struct attempt *a,
                  enum judgement judgement)
{
    for (int i = 0; i < c->array_count; i++) {
        const struct conf_array *array = &c->arrays[i];
        const unsigned char *data = a->blocks[i].image + a->blocks[i].start;
        const size_t bytes = array->count * conf_element_bytes(array->kind);

        if (!guards_hold(&a->blocks[i]))
            fail(run, c, "guard words round %s were overwritten", array->name);
        if (array->role == CONF_READ) {
            if (bytes > 0 && memcmp(data, array->input, bytes) != 0)
                fail(run, c, "%s was changed", array->name);
        } else if (array->kind == CONF_FLOAT)
            judge_floats(run, c, array, data, judgement);
        else if (judgement == BY_BOUND && bytes > 0 && memcmp(data, array->want, bytes) != 0)
            fail(run, c, "the integers of %s differ", array->name);
    }
    if (!guards_hold(&a->blocks[CONF_ARRAYS]))
        fail(run, c, "guard words round the workspace were overwritten");
}

static void judge_same(struct conf_run *run, const struct conf_case *c, const struct attempt *a,
                       const struct attempt *b)
{
    for (int i = 0; i < c->array_count; i++)
        if (memcmp(a->blocks[i].image, b->blocks[i].image, a->blocks[i].bytes) != 0)
            fail(run, c, "the bytes of %s differ with %d and %d threads, or from run to run",
                 c->arrays[i].name, a->context->options.threads, b->context->options.threads);
}

static void run_once(struct conf_run *run, struct conf_case *c, enum judgement judgement)
{
    struct attempt attempts[CONF_CONTEXTS] = {0};
    struct psim_error err = PSIM_ERROR_INIT;
    const bool sum = judgement == BY_BOUND && c->bound == NULL && !c->empty;
    enum psim_status status =
        sum ? conf_bound_sum(run, c, &err) : conf_run_ref(run, c, false, &err);

    run->results[c->operation].cases++;
    if (status == PSIM_OK && c->bound != NULL && judgement == BY_BOUND && !c->empty)
        c->bound(c, &run->limits);
    for (int i = 0; i < CONF_CONTEXTS; i++) {
        attempts[i].context = run->contexts[i % run->context_count];
        if (status == PSIM_OK)
            status = attempt_run(&attempts[i], c, &err);
    }
    if (status != PSIM_OK) {
        fail(run, c, "%s: %s", err.where, err.message);
    } else {
        judge(run, c, &attempts[0], judgement);
        for (int i = 1; i < CONF_CONTEXTS; i++)
            judge_same(run, c, &attempts[0], &attempts[i]);
    }
    for (int i = 0; i < CONF_CONTEXTS; i++)
        attempt_release(&attempts[i]);
}

/* A NaN, then an infinity, in one place of each array that is marked. */
static void run_spoiled(struct conf_run *run, const struct conf_case *c)
{
    for (int i = 0; i < c->array_count; i++)
        for (int kind = 0; c->arrays[i].spoil && c->arrays[i].count > 0 && kind < 2; kind++) {
            struct conf_case copy = conf_copy(c);
            const size_t place = (size_t)(conf_random(c->seed, (uint64_t)(i + 100 * kind)) *
                                          (double)c->arrays[i].count);

            ((float *)copy.arrays[i].input)[place] = kind == 0 ? NAN : INFINITY;
            snprintf(copy.label, sizeof(copy.label), "%.100s, %s in %s[%zu]", c->label,
                     kind == 0 ? "NaN" : "inf", c->arrays[i].name, place);
            run_once(run, &copy, c->local ? BY_BOUND : BY_BADNESS);
            conf_release(&copy);
        }
}

void conf_run_case(struct conf_run *run, struct conf_case *c)
{
    run_once(run, c, BY_BOUND);
    if (!c->empty)
        run_spoiled(run, c);
    conf_release(c);
}

/* Unit roundoffs: fp32 2^-24.  Products under TF32 keep 10 bits and, in hardware, may cut instead
 * of round; BF16 rounds to 8 significant bits.  Tensor cores cut their fp32 sums. */
static struct conf_limits limits_of(enum pk_math math)
{
    if (math == PK_MATH_FP32)
        return (struct conf_limits){.unit = 0x1p-24};
    return (struct conf_limits){.unit = 0x1p-23,
                                .operand = math == PK_MATH_TF32 ? 0x1p-10 : 0x1p-8};
}

enum psim_status conf_start(struct conf_run *run, conf_open *open, void *state,
                            const struct pk_options *options, struct psim_error *err)
{
    const struct pk_options exact = {.math = PK_MATH_FP32};
    enum psim_status status;

    run->limits = limits_of(options->math);
    status = pk_context_open("ref", &exact, &run->ref, err);
    for (int i = 0; status == PSIM_OK && i < CONF_CONTEXTS; i++) {
        struct pk_options with = *options;

        with.threads = i + 1;
        status = open(state, &with, &run->contexts[i], err);
        if (status == PSIM_OK)
            run->context_count++;
        if (status == PSIM_OK && run->contexts[i]->backend->memory == PK_MEMORY_DEVICE)
            break;
    }
    if (status == PSIM_OK) {
        struct pk_description is;

        run->contexts[0]->backend->describe(run->contexts[0], &is);
        run->winograd = strstr(is.convolution, "Winograd F(2x2, 3x3)") != NULL;
    }
    return status;
}

void conf_close(struct conf_run *run)
{
    for (int i = 0; i < run->context_count; i++)
        pk_context_close(run->contexts[i]);
    pk_context_close(run->ref);
    run->context_count = 0;
    run->ref = NULL;
}

void conf_run_all(struct conf_run *run)
{
    const struct pk_operations *operations = run->contexts[0]->backend->operations;

#define CONF_RUN(kind, type)                                                                       \
    if (run->only == NULL || strcmp(run->only, #kind) == 0) {                                      \
        run->results[CONF_##kind].missing = operations->run_##kind == NULL;                        \
        if (operations->run_##kind != NULL)                                                        \
            conf_cases_##kind(run);                                                                \
    }
    PK_OPERATION_MAP(CONF_RUN)
#undef CONF_RUN
}

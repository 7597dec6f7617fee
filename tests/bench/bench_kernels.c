/*
 * Benchmark of the operations of one backend; prints one JSON object.
 *
 *   build/bench_kernels [--backend NAME] [--threads N] [--math fp32|tf32|bf16] [--quick]
 *                       [--only OPERATION]
 *
 * Shapes are those of RevNet-18 at 32x32 with a batch of 64, and a few of larger nets.  Every
 * operation is first held against "ref" on a batch of one or two of the same shape (a coarse check:
 * the conformance program is the judge); a wrong one ends the program with 1.  Then it is timed,
 * median of 30 runs, each of as many calls as take half a millisecond, with `wait` inside the time.
 * flop are those of the direct formula whatever the method, so a rate may exceed sgemm's; bytes are
 * those of the operands, each once.  Operands are in the cache where they fit.
 */
#include "tests/bench/bench_common.h"

#include "tests/bench/bench_kernels/cases.h"

#include "sim/base/memory.h"

#include <math.h>

#define RUNS         30
#define COPY_ROWS    ((size_t)1 << 15) /* of 1024 values: 128 MB */
#define LEAST_RUN_S  5e-4              /* a run is as many calls as take this long */
#define LEAST_CALL_S 1e-7              /* what the clock tells apart */

/* One case in one context's memory. */
struct placed {
    struct bench_case c;
    struct pk_context *context;
    void *blocks[BENCH_OPERANDS];
    struct pk_workspace workspace;
};

static enum psim_status run_case(const struct placed *p, struct psim_error *err)
{
    return conf_call(p->context, p->c.operation, p->c.op, &p->workspace, err);
}

static void fill(const struct bench_operand *operand, void *host, uint64_t *seed)
{
    for (size_t i = 0; i < operand->count && operand->kind != BENCH_COUNT; i++) {
        const float value = bench_random(seed);

        if (operand->kind == BENCH_WINDOWS) /* the first of each 2x2 window of a 112x112 plane */
            ((int32_t *)host)[i] = (int32_t)(i % 3136 / 56 * 224 + i % 56 * 2);
        else if (operand->kind == BENCH_INDICES)
            ((int32_t *)host)[i] = (int32_t)(0.5 * ((double)value + 1) * operand->limit);
        else
            ((float *)host)[i] = operand->kind == BENCH_POSITIVE ? 0.5F + 0.25F * value : value;
    }
}

static void place(struct pk_context *context, const struct bench_case *c, struct placed *p)
{
    struct psim_error err = PSIM_ERROR_INIT;
    uint64_t seed = 1;

    *p = (struct placed){.c = *c, .context = context};
    for (int i = 0; i < c->count; i++) {
        const struct bench_operand *operand = &c->operands[i];
        const size_t bytes = operand->count * bench_element_bytes(operand);
        void *host = psim_alloc(1, bytes);

        if (host == NULL)
            bench_need(psim_fail(&err, PSIM_ERR_NOMEM, "memory", "out of memory"), &err);
        fill(operand, host, &seed);
        bench_need(pk_allocate(context, PK_DATA, bytes, &p->blocks[i], &err), &err);
        bench_need(context->backend->upload(context, p->blocks[i], host, bytes, &err), &err);
        memcpy(p->c.op + operand->offset, &p->blocks[i], sizeof(void *));
        psim_free(host);
    }
    p->workspace.bytes = conf_workspace(context, c->operation, p->c.op);
    bench_need(pk_allocate(context, PK_WORKSPACE, p->workspace.bytes, &p->workspace.data, &err),
               &err);
}

static void remove_case(struct placed *p)
{
    for (int i = 0; i < p->c.count; i++)
        pk_release(p->context, PK_DATA,
                   p->c.operands[i].count * bench_element_bytes(&p->c.operands[i]), p->blocks[i]);
    pk_release(p->context, PK_WORKSPACE, p->workspace.bytes, p->workspace.data);
}

/* Relative L2 distance of two operands of floats; indices count as values. */
static double distance(const struct bench_operand *operand, const void *got, const void *want)
{
    double error = 0, size = 0;

    for (size_t i = 0; i < operand->count; i++) {
        double a, b;

        if (operand->kind == BENCH_COUNT) {
            a = (double)((const int64_t *)got)[i];
            b = (double)((const int64_t *)want)[i];
        } else if (operand->kind == BENCH_INDICES || operand->kind == BENCH_WINDOWS) {
            a = ((const int32_t *)got)[i];
            b = ((const int32_t *)want)[i];
        } else {
            a = (double)((const float *)got)[i];
            b = (double)((const float *)want)[i];
        }
        error += (a - b) * (a - b);
        size += b * b;
    }
    return size > 0 ? sqrt(error / size) : sqrt(error);
}

/* The largest distance from ref over all outputs of a small instance. */
static double check_case(struct pk_context *context, struct pk_context *ref,
                         const struct bench_case *c)
{
    struct psim_error err = PSIM_ERROR_INIT;
    struct placed got, want;
    double worst = 0;

    place(context, c, &got);
    place(ref, c, &want);
    bench_need(run_case(&got, &err), &err);
    bench_need(context->backend->wait(context, &err), &err);
    bench_need(run_case(&want, &err), &err);
    for (int i = 0; i < c->count; i++) {
        const struct bench_operand *operand = &c->operands[i];
        const size_t bytes = operand->count * bench_element_bytes(operand);
        void *host = psim_alloc(1, bytes);
        double d;

        if (host == NULL)
            bench_need(psim_fail(&err, PSIM_ERR_NOMEM, "memory", "out of memory"), &err);
        bench_need(context->backend->download(context, host, got.blocks[i], bytes, &err), &err);
        d = distance(operand, host, want.blocks[i]);
        worst = d <= worst ? worst : d; /* a NaN stays */
        psim_free(host);
    }
    remove_case(&got);
    remove_case(&want);
    return worst;
}

static double timed_s(const struct placed *p, int calls)
{
    struct psim_error err = PSIM_ERROR_INIT;
    const double start_s = bench_now_s();

    for (int i = 0; i < calls; i++)
        bench_need(run_case(p, &err), &err);
    bench_need(p->context->backend->wait(p->context, &err), &err);
    return (bench_now_s() - start_s) / calls;
}

struct timing {
    double median_s, fastest_s, slowest_s;
};

static struct timing time_case(struct pk_context *context, const struct bench_case *c, int runs)
{
    struct placed p;
    double times[RUNS], once_s;
    int calls;

    place(context, c, &p);
    (void)timed_s(&p, 2);
    once_s = timed_s(&p, 1);
    calls = once_s >= LEAST_RUN_S ? 1 : (int)(LEAST_RUN_S / fmax(once_s, LEAST_CALL_S)) + 1;
    for (int i = 0; i < runs; i++)
        times[i] = timed_s(&p, calls);
    remove_case(&p);
    return (struct timing){bench_median(times, runs), times[0], times[runs - 1]};
}

struct values {
    const char *backend, *only;
    struct pk_options options;
    int runs;
};

/* This machine's rates, by the same operations and threads: flop/s of sgemm, bytes/s of a copy. */
struct rates {
    double flop_per_s, bytes_per_s;
};

static struct rates measure_rates(struct pk_context *context, int runs)
{
    const bool device = context->backend->memory == PK_MEMORY_DEVICE;
    const int side = device ? 8192 : 2048;
    struct bench_case product, copy;
    struct rates rates;

    bench_case_copy(&copy, COPY_ROWS, 1024);
    rates.bytes_per_s = bench_case_bytes(&copy) / time_case(context, &copy, runs).median_s;
    bench_case_product(&product, side, side, side);
    rates.flop_per_s = product.flop / time_case(context, &product, runs).median_s;
    return rates;
}

static void print_case(const struct bench_case *c, double error, struct timing t,
                       const struct rates *rates, const char *before)
{
    const double flop_per_s = c->flop / t.median_s, bytes_per_s = bench_case_bytes(c) / t.median_s;

    printf("%s    {\"operation\": \"%s\", \"shape\": \"%s\", \"error\": %.2g, \"median_s\": %.4g, "
           "\"fastest_s\": %.4g, \"slowest_s\": %.4g, \"gflop_per_s\": %.4g, \"gb_per_s\": %.4g, "
           "\"of_sgemm\": %.3f, \"of_copy\": %.3f}",
           before, conf_operation_names[c->operation], c->shape, error, t.median_s, t.fastest_s,
           t.slowest_s, flop_per_s * 1e-9, bytes_per_s * 1e-9, flop_per_s / rates->flop_per_s,
           bytes_per_s / rates->bytes_per_s);
}

/* Coarse: what no rounding explains.  Half the digits of fp32; bf16 has 8 bits. */
static double allowed_error(enum pk_math math)
{
    return math == PK_MATH_FP32 ? 1e-4 : 3e-2;
}

/* False when a result is wrong. */
static bool run_all(struct pk_context *context, struct pk_context *ref, const struct values *values)
{
    const struct rates rates = measure_rates(context, values->runs);
    bool good = true;
    const char *before = "";

    printf("  \"sgemm_gflop_per_s\": %.4g,\n  \"copy_gb_per_s\": %.4g,\n  \"operations\": [\n",
           rates.flop_per_s * 1e-9, rates.bytes_per_s * 1e-9);
    for (int operation = 0; operation < CONF_OPERATIONS; operation++) {
        struct bench_case c, small;

        if (values->only != NULL && strcmp(values->only, conf_operation_names[operation]) != 0)
            continue;
        for (int i = 0; bench_case_make(&c, (enum conf_operation)operation, i, 64); i++) {
            double error;

            (void)bench_case_make(&small, (enum conf_operation)operation, i, 2);
            error = check_case(context, ref, &small);
            good = good && error <= allowed_error(values->options.math);
            print_case(&c, error, time_case(context, &c, values->runs), &rates, before);
            before = ",\n";
            fflush(stdout);
        }
    }
    printf("\n  ],\n  \"load_after\": %.2f,\n  \"correct\": %s\n}\n", bench_load(),
           good ? "true" : "false");
    return good;
}

static int usage(void)
{
    fprintf(stderr, "usage: bench_kernels [--backend NAME] [--threads N] [--math fp32|tf32|bf16] "
                    "[--quick] [--only OPERATION]\n");
    return 2;
}

static bool read_arguments(int count, char **arguments, struct values *values)
{
    for (int i = 1; i < count; i++) {
        const char *name = arguments[i], *value = i + 1 < count ? arguments[i + 1] : NULL;

        if (strcmp(name, "--quick") == 0) {
            values->runs = 5;
            continue;
        }
        if (value == NULL)
            return false;
        i++;
        if (strcmp(name, "--backend") == 0) {
            values->backend = value;
        } else if (strcmp(name, "--only") == 0) {
            values->only = value;
        } else if (strcmp(name, "--threads") == 0) {
            values->options.threads = (int)strtol(value, NULL, 10);
        } else if (strcmp(name, "--math") == 0) {
            if (!pk_find_math(value, &values->options.math))
                return false;
        } else {
            return false;
        }
    }
    return true;
}

int main(int count, char **arguments)
{
    struct values values = {.backend = "openblas", .runs = RUNS, .options = {.threads = 1}};
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_context *context = NULL, *ref = NULL;
    bool good;

    if (!read_arguments(count, arguments, &values))
        return usage();
    bench_need(pk_context_open(values.backend, &values.options, &context, &err), &err);
    bench_need(pk_context_open("ref", &(struct pk_options){.threads = 1}, &ref, &err), &err);
    printf("{\n  \"benchmark\": \"kernels\",\n  \"runs\": %d,\n", values.runs);
    bench_print_provenance(context);
    good = run_all(context, ref, &values);
    pk_context_close(ref);
    pk_context_close(context);
    return fflush(stdout) == 0 && good ? 0 : 1;
}

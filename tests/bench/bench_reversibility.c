/*
 * How exactly reversible blocks get their input back, by depth and arithmetic: JSON on stdout.
 *
 *   build/bench_reversibility [--backend NAME]
 *
 * Exit 1 where fp32 is off by more than 2e-5 after 27 blocks or 2e-4 after 100, relative in L2.
 *
 * Kinds: "revnet" of 1x1 kernels on single pixels, which are linear layers on rows (as in the
 * usual small experiment, N = 256, C = 64, weights after He), and PETRA's two blocks on images with
 * the default starting values.  of ref, tf32 and bf16 round the operands of products alone.
 */
#include "tests/bench/bench_common.h"
#include "tests/kernels/net/reversal.h"

static const int depths[] = {1, 4, 9, 16, 27, 50, 100};

static const struct reversal kinds[] = {
    {.kind = "revnet",
     .kernel = 1,
     .width = 64,
     .size = 1,
     .microbatch = 256,
     .he = true,
     .seed = 1},
    {.kind = "petra_basic", .kernel = 3, .width = 16, .size = 8, .microbatch = 8, .seed = 1},
    {.kind = "petra_bottleneck", .kernel = 3, .width = 32, .size = 8, .microbatch = 8, .seed = 1},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static double allowed(int blocks)
{
    return blocks <= 27 ? 2e-5 : 2e-4;
}

/* False where the error is beyond what is allowed, which is fp32's alone to keep. */
static bool print_case(struct pk_context *context, const struct reversal *kind, int blocks,
                       const char *separator)
{
    const enum pk_math math = context->options.math;
    struct psim_error err = PSIM_ERROR_INIT;
    struct reversal what = *kind;
    struct reversal_error error = {0, 0, 0};

    what.blocks = blocks;
    bench_need(reversal_measure(context, &what, &error, &err), &err);
    printf("%s\n    {\"kind\": \"%s\", \"math\": \"%s\", \"blocks\": %d, \"shape\": [%d, %d, %d, "
           "%d], \"start\": \"%s\", \"max_absolute\": %.3g, \"relative_l2\": %.3g, "
           "\"input_rms\": %.3g}",
           separator, what.kind, pk_math_names[math], blocks, what.microbatch, what.width,
           what.size, what.size, what.he ? "he" : "default", error.max_absolute, error.relative,
           error.input_rms);
    return math != PK_MATH_FP32 || error.relative <= allowed(blocks);
}

/* The backend's context, NULL where it lacks the arithmetic but has others. */
static struct pk_context *open_math(const char *backend, enum pk_math math)
{
    const struct pk_options options = {.threads = 1, .math = math};
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_context *context = NULL;
    const enum psim_status status = pk_context_open(backend, &options, &context, &err);

    if (status != PSIM_ERR_UNSUPPORTED || math == PK_MATH_FP32)
        bench_need(status, &err);
    return context;
}

int main(int count, char **arguments)
{
    const bool named = count == 3 && strcmp(arguments[1], "--backend") == 0;
    struct pk_context *contexts[PK_MATHS];
    const char *separator = "";
    bool good = true;

    if (count != 1 && !named) {
        fprintf(stderr, "usage: bench_reversibility [--backend NAME]\n");
        return 2;
    }
    for (int math = 0; math < PK_MATHS; math++)
        contexts[math] = open_math(named ? arguments[2] : "ref", (enum pk_math)math);
    printf("{\n  \"benchmark\": \"reversibility\",\n");
    bench_print_provenance(contexts[PK_MATH_FP32]);
    printf("  \"results\": [");
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (int math = 0; math < PK_MATHS; math++)
            for (size_t i = 0; contexts[math] != NULL && i < COUNT(depths); i++) {
                good = print_case(contexts[math], &kinds[k], depths[i], separator) && good;
                separator = ",";
            }
    printf("\n  ],\n  \"fp32_within_bounds\": %s\n}\n", good ? "true" : "false");
    for (int math = 0; math < PK_MATHS; math++)
        pk_context_close(contexts[math]);
    return fflush(stdout) == 0 && good ? 0 : 1;
}

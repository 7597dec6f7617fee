/*
 * How exactly reversible blocks get their input back, by depth and arithmetic: JSON on stdout.
 *
 * Kinds: "revnet" of 1x1 kernels on single pixels, which are linear layers on rows (as in the
 * usual small experiment, N = 256, C = 64, weights after He), and PETRA's two blocks on images with
 * the default starting values.  tf32 and bf16 are ref's, which rounds the operands of products.
 */
#include "tests/kernels/net/reversal.h"

#include <stdio.h>
#include <stdlib.h>

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

static enum psim_status print_case(const struct reversal *kind, enum pk_math math, int blocks,
                                   const char *separator, struct psim_error *err)
{
    const struct pk_options options = {.threads = 1, .math = math};
    struct reversal what = *kind;
    struct reversal_error error = {0, 0, 0};
    struct pk_context *context = NULL;
    enum psim_status status = pk_context_open("ref", &options, &context, err);

    what.blocks = blocks;
    if (status == PSIM_OK)
        status = reversal_measure(context, &what, &error, err);
    if (status == PSIM_OK)
        printf(
            "%s\n    {\"kind\": \"%s\", \"math\": \"%s\", \"blocks\": %d, \"shape\": [%d, %d, %d, "
            "%d], \"start\": \"%s\", \"max_absolute\": %.3g, \"relative_l2\": %.3g, "
            "\"input_rms\": %.3g}",
            separator, what.kind, pk_math_names[math], blocks, what.microbatch, what.width,
            what.size, what.size, what.he ? "he" : "default", error.max_absolute, error.relative,
            error.input_rms);
    pk_context_close(context);
    return status;
}

int main(void)
{
    struct psim_error err = PSIM_ERROR_INIT;
    const char *separator = "";

    printf("{\n  \"backend\": \"ref\",\n  \"results\": [");
    for (size_t k = 0; k < COUNT(kinds); k++)
        for (int math = 0; math < PK_MATHS; math++)
            for (size_t i = 0; i < COUNT(depths); i++) {
                if (print_case(&kinds[k], (enum pk_math)math, depths[i], separator, &err) !=
                    PSIM_OK) {
                    fprintf(stderr, "bench_reversibility: %s: %s\n", err.where, err.message);
                    return EXIT_FAILURE;
                }
                separator = ",";
            }
    printf("\n  ]\n}\n");
    return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

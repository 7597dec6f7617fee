/*
 * RevNet-18's loss and gradients on one batch, on every backend here, against PyTorch in double
 * (golden/make_revnet18.py).
 *
 * The bound: a product of k terms in fp32 is off by about sqrt(k) u of its size for roundings of
 * random sign (Higham and Mary, doi:10.1137/18M1226312), k at most 9 * 512.  A gradient has passed
 * 20 layers forward and 20 backward, whose errors add up where the layers neither amplify nor damp:
 * 40 sqrt(4608) 2^-24 = 1.6e-4 of the largest gradient in the layer.  What is 0 in real arithmetic
 * (biases in front of a norm) is thereby measured by its weight's gradient.
 */
#include "tests/kernels/net/net_run.h"
#include "tests/support/check.h"

#include "sim/base/memory.h"
#include "sim/base/random.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SEED        18
#define BATCH       4
#define CLASSES     10
#define SAMPLES     1000
#define PROJECTIONS 4
#define BOUND       (40 * sqrt(4608) * 0x1p-24)

static uint64_t name_hash(const char *name)
{
    uint64_t value = 0xcbf29ce484222325ULL; /* FNV-1a */

    for (; *name != '\0'; name++)
        value = (value ^ (unsigned char)*name) * 0x100000001b3ULL;
    return value;
}

static double uniform(uint64_t seed, size_t index, uint64_t what)
{
    uint64_t bits[2];

    psim_random_bits(seed, index, what, bits);
    return 2 * psim_random_unit(bits[0]) - 1;
}

/* One tensor of the golden file. */
struct golden {
    char name[64];
    size_t count, entry_count;
    double norm, largest, projections[PROJECTIONS];
    float entries[SAMPLES];
};

static FILE *open_golden(void)
{
    FILE *file = fopen(PSIM_SOURCE_DIR "/tests/kernels/golden/revnet18.txt", "r");

    assert_non_null(file);
    return file;
}

static bool read_tensor(FILE *file, struct golden *out)
{
    if (fscanf(file, " tensor %63s %zu %lf %lf", out->name, &out->count, &out->norm,
               &out->largest) != 4)
        return false;
    for (int i = 0; i < PROJECTIONS; i++)
        assert_int_equal(fscanf(file, "%lf", &out->projections[i]), 1);
    out->entry_count = out->count > SAMPLES ? SAMPLES : out->count;
    assert_int_equal(fscanf(file, " "), 0);
    for (size_t i = 0; i < out->entry_count; i++) {
        unsigned bits;

        assert_int_equal(fscanf(file, "%8x", &bits), 1);
        memcpy(&out->entries[i], &bits, sizeof(bits));
    }
    return true;
}

/* The value that both sides give a parameter; norms are near 1 and 0. */
static void set_parameters(struct net_run *run, struct psim_error *err)
{
    for (int i = 0; i < run->count; i++) {
        const struct net_memory *m = &run->memory[i];
        float *values = psim_alloc(m->sizes->parameter_bytes, 1);
        const struct pk_tensor *tensors;
        int count;

        assert_non_null(values);
        tensors = pk_stage_tensors(run->stages[i], &count);
        for (int k = 0; k < count; k++) {
            const struct pk_tensor *t = &tensors[k];
            const bool norm = t->initial != PK_INITIAL_UNIFORM;
            const double base = t->initial == PK_INITIAL_ONE ? 1 : 0;

            for (size_t e = 0; e < t->count; e++)
                values[t->offset + e] = (float)(base + (norm ? 0.2 : (double)t->bound) *
                                                           uniform(SEED, e, name_hash(t->name)));
        }
        assert_int_equal(run->context->backend->upload(run->context,
                                                       (void *)(uintptr_t)m->call.parameters,
                                                       values, m->sizes->parameter_bytes, err),
                         PSIM_OK);
        psim_free(values);
    }
}

/* A tensor's gradient in host memory. */
static float *download(const struct net_run *run, const char *name, size_t *size)
{
    for (int i = 0; i < run->count; i++) {
        const struct pk_tensor *tensors;
        int count;

        tensors = pk_stage_tensors(run->stages[i], &count);
        for (int k = 0; k < count; k++)
            if (strcmp(tensors[k].name, name) == 0) {
                float *values = psim_alloc(tensors[k].count, sizeof(*values));
                struct psim_error err = PSIM_ERROR_INIT;

                assert_non_null(values);
                assert_int_equal(run->context->backend->download(
                                     run->context, values,
                                     run->memory[i].call.gradients + tensors[k].offset,
                                     tensors[k].count * sizeof(*values), &err),
                                 PSIM_OK);
                *size = tensors[k].count;
                return values;
            }
    }
    fail_msg("no tensor is called %s", name);
    return NULL;
}

/*
 * Largest difference of a tensor over what the bound is a share of: for entries the largest entry
 * of the layer; for the norm and the projections, sums of `count` such, that times sqrt(count).
 */
static double worst_of(const struct golden *want, const float *got, double layer)
{
    const double whole = layer * sqrt((double)want->count);
    double norm = 0, projections[PROJECTIONS] = {0}, worst = 0, off;
    char drawn[80];
    uint64_t places;

    snprintf(drawn, sizeof(drawn), "%s.samples", want->name);
    places = name_hash(drawn);

    for (size_t i = 0; i < want->count; i++) {
        norm += (double)got[i] * (double)got[i];
        for (int k = 0; k < PROJECTIONS; k++)
            projections[k] +=
                (double)got[i] * uniform(SEED + 1 + (uint64_t)k, i, name_hash(want->name));
    }
    off = fabs(sqrt(norm) - want->norm) / whole;
    worst = net_worse(worst, off);
    for (int k = 0; k < PROJECTIONS; k++) {
        off = fabs(projections[k] - want->projections[k]) / whole;
        worst = net_worse(worst, off);
    }
    for (size_t i = 0; i < want->entry_count; i++) {
        uint64_t bits[2] = {i, 0};

        if (want->count > SAMPLES)
            psim_random_bits(SEED, i, places, bits);
        off = fabs((double)got[bits[0] % want->count] - (double)want->entries[i]) / layer;
        worst = net_worse(worst, off);
    }
    return worst;
}

/* Over all tensors of the file; a NaN anywhere stays. */
static double compare(const struct net_run *run, double *loss)
{
    FILE *file = open_golden();
    double layer = 0, worst = 0;
    struct golden want;
    char last[64] = "";
    int count = 0;

    assert_int_equal(fscanf(file, "loss %lf", loss), 1);
    for (; read_tensor(file, &want); count++) {
        const size_t length = (size_t)(strrchr(want.name, '.') - want.name);
        const bool same = strncmp(want.name, last, length + 1) == 0;
        size_t size;
        float *got = download(run, want.name, &size);
        double off;

        assert_int_equal(size, want.count);
        layer = same && layer > want.largest ? layer : want.largest; /* weight, then bias */
        off = worst_of(&want, got, layer);
        worst = net_worse(worst, off);
        psim_free(got);
        snprintf(last, sizeof(last), "%s", want.name);
    }
    fclose(file);
    assert_int_equal(count, 82); /* 18 + 3 convolutions and norms, 2 tensors each, and the head */
    return worst;
}

static void check_backend(const char *name)
{
    const int32_t labels[BATCH] = {3, 0, 9, 4};
    const struct pk_options options = {.threads = 2};
    const size_t pixels = (size_t)BATCH * 3 * 32 * 32;
    struct psim_error err = PSIM_ERROR_INIT;
    struct pk_context *context = NULL;
    float *images = psim_alloc(pixels, sizeof(*images));
    double loss, want_loss, worst;
    struct net_run run;
    struct pk_net net;

    assert_non_null(images);
    if (pk_context_open(name, &options, &context, &err) != PSIM_OK) {
        print_message("%s: not checked: %s\n", name, err.message);
        psim_free(images);
        skip();
    }
    assert_int_equal(pk_net_build("revnet18", 32, CLASSES, &net, &err), PSIM_OK);
    assert_int_equal(net_run_new(context, &net, BATCH, PK_STATISTICS_PAPER, 1, &run, &err),
                     PSIM_OK);
    set_parameters(&run, &err);
    for (size_t i = 0; i < pixels; i++)
        images[i] = (float)uniform(SEED, i, name_hash("images"));
    /* ref is slow, and its two ways are compared elsewhere. */
    for (int way = NET_STORED; way <= (strcmp(name, "ref") == 0 ? NET_STORED : NET_REVERSED);
         way += NET_REVERSED - NET_STORED) {
        if (net_run_step(&run, images, labels, (enum net_way)way, &loss, &err) != PSIM_OK)
            fail_msg("%s: %s", err.where, err.message);
        worst = compare(&run, &want_loss);
        print_message("%s, way %d: loss %.9g of %.9g, gradients off by %.3g, bound %.3g\n", name,
                      way, loss, want_loss, worst, BOUND);
        assert_true(fabs(loss - want_loss) <= BOUND * want_loss);
        assert_true(worst <= BOUND);
    }
    /* The comparison does reject: one convolution's gradients off by one in a hundred. */
    if (context->backend->memory == PK_MEMORY_HOST) {
        for (int i = 0; i < 64 * 64 * 9; i++)
            run.memory[1].call.gradients[i] *= 1.01F;
        assert_false(compare(&run, &want_loss) <= BOUND);
    }
    net_run_release(&run);
    pk_context_close(context);
    psim_free(images);
}

static void ref_agrees_with_pytorch(void **state)
{
    (void)state;
    check_backend("ref");
}

static void openblas_agrees_with_pytorch(void **state)
{
    (void)state;
    check_backend("openblas");
}

static void cuda_agrees_with_pytorch(void **state)
{
    (void)state;
    check_backend("cuda");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ref_agrees_with_pytorch),
        cmocka_unit_test(openblas_agrees_with_pytorch),
        cmocka_unit_test(cuda_agrees_with_pytorch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Predicted all-reduce bus bandwidth against measured curves from 1 MiB up: within 10 %, at the
 * sizes that the curves were made from and at those held out.
 */
#include "sim/base/memory.h"
#include "sim/config/scenario.h"
#include "sim/engine/collectives.h"
#include "tests/support/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define ALLOWED 0.10
#define MOST    64

static const struct psim_catalogue catalogue = {PSIM_SOURCE_DIR "/platforms"};

/* A platform with the measured curve of its whole group. */
struct subject {
    struct psim_platform platform;
    struct psim_arena arena;
    const struct psim_rate_curve *curve;
    int devices[MOST];
};

static void subject_init(struct subject *s, const char *file, enum psim_collective_kind kind)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_protocol protocol;

    s->arena = (struct psim_arena)PSIM_ARENA_INIT;
    assert_int_equal(psim_platform_read(file, &catalogue, &s->platform, &list), PSIM_OK);
    assert_int_equal(
        psim_catalogue_find_collectives(&catalogue, s->platform.name, &s->arena, &protocol, &list),
        PSIM_OK);
    psim_diagnostics_release(&list);
    assert_true(s->platform.device_count <= MOST);
    for (int i = 0; i < s->platform.device_count; i++)
        s->devices[i] = i;
    s->curve = psim_protocol_curve(&protocol, kind, s->platform.device_count / 8,
                                   s->platform.device_count);
    assert_non_null(s->curve);
}

static void subject_release(struct subject *s)
{
    psim_platform_release(&s->platform);
    psim_arena_release(&s->arena);
}

/* Bus bandwidth; scaled to what was measured or, with a size without terms, as the links are. */
static double predict(const struct subject *s, double bytes, struct psim_collective_terms terms)
{
    struct psim_collective_job job = {.algorithm = s->curve->algorithm,
                                      .kind = s->curve->kind,
                                      .devices = s->devices,
                                      .ranks = s->platform.device_count,
                                      .in_switch = true,
                                      .bytes = bytes,
                                      .terms = terms};
    struct psim_error err = PSIM_ERROR_INIT;

    if (psim_collectives_run(&s->platform, &psim_engine_simgrid, &job, 1, &err) != PSIM_OK)
        fail_msg("%s: %s", err.where, err.message);
    return psim_collective_bus_factor(job.kind, job.ranks) * bytes / job.seconds;
}

static bool was_fitted(const struct psim_rate_curve *curve, double bytes)
{
    for (int i = 0; i < curve->points; i++)
        if (curve->bytes[i] == bytes)
            return true;
    return false;
}

struct tally {
    int fitted, held_out;
    double worst;
};

/* Compares every measured point of kind "target" of a platform. */
static struct tally compare(const char *platform, const char *file, double distortion)
{
    FILE *data = fopen(PSIM_SOURCE_DIR "/tests/data/collectives/all_reduce.csv", "r");
    struct tally tally = {0};
    struct subject s;
    char line[256];

    assert_non_null(data);
    subject_init(&s, file, PSIM_ALL_REDUCE);
    while (fgets(line, sizeof line, data) != NULL) {
        char name[64], kind[16];
        double ranks, bytes, time_us, got, error;

        if (sscanf(line, "%63[^,],%lf,%lf,%lf,%15s", name, &ranks, &bytes, &time_us, kind) != 5 ||
            strcmp(name, platform) != 0 || strcmp(kind, "target") != 0)
            continue;
        got = predict(&s, bytes, psim_rate_curve_terms(s.curve, (int)ranks, bytes));
        error =
            got * distortion /
                (psim_collective_bus_factor(PSIM_ALL_REDUCE, (int)ranks) * bytes * 1e6 / time_us) -
            1;
        tally.worst = fmax(tally.worst, fabs(error));
        *(was_fitted(s.curve, bytes) ? &tally.fitted : &tally.held_out) += 1;
    }
    fclose(data);
    subject_release(&s);
    return tally;
}

static const struct {
    const char *name, *file;
    int fitted, held_out;
} systems[] = {
    {"8x-a100-nvswitch", PSIM_SOURCE_DIR "/platforms/clusters/8x-a100-nvswitch.json", 7, 8},
    {"8x-h200", PSIM_SOURCE_DIR "/platforms/clusters/8x-h200.json", 7, 8},
    {"aws-p4de-24xlarge-x2", PSIM_SOURCE_DIR "/tests/data/collectives/aws-p4de-24xlarge-x2.json", 6,
     6},
    {"aws-p5-48xlarge-x2", PSIM_SOURCE_DIR "/tests/data/collectives/aws-p5-48xlarge-x2.json", 7, 8},
};

#define SYSTEMS (sizeof systems / sizeof systems[0])

static void fitted_and_held_out_sizes_are_within_ten_percent(void **state)
{
    (void)state;
    for (size_t i = 0; i < SYSTEMS; i++) {
        const struct tally tally = compare(systems[i].name, systems[i].file, 1);

        assert_int_equal(tally.fitted, systems[i].fitted);
        assert_int_equal(tally.held_out, systems[i].held_out);
        if (!(tally.worst <= ALLOWED))
            fail_msg("%s: off by %.1f %%", systems[i].name, 100 * tally.worst);
    }
}

static void a_prediction_a_fifth_too_high_is_noticed(void **state)
{
    (void)state;
    assert_true(compare(systems[0].name, systems[0].file, 1.2).worst > ALLOWED);
}

/* The reference of a curve is what the links of the platform give its algorithm. */
static void references_are_what_the_links_give(void **state)
{
    const struct psim_collective_terms unscaled = {.measured = true, .byte_factor = 1};

    (void)state;
    for (size_t i = 0; i < SYSTEMS; i++) {
        for (int kind = PSIM_ALL_REDUCE; kind <= PSIM_ALL_GATHER; kind++) {
            struct subject s;

            if (kind != PSIM_ALL_REDUCE && i >= 2)
                continue;
            subject_init(&s, systems[i].file, (enum psim_collective_kind)kind);
            check_near(predict(&s, 1e9, unscaled), s.curve->reference_bytes_per_s, 1e-4);
            subject_release(&s);
        }
    }
}

static void the_nearest_measured_group_stands_in(void **state)
{
    struct psim_arena arena = PSIM_ARENA_INIT;
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_protocol p;

    (void)state;
    assert_int_equal(
        psim_catalogue_find_collectives(&catalogue, "aws-p5-48xlarge-x2", &arena, &p, &list),
        PSIM_OK);
    assert_int_equal(psim_protocol_curve(&p, PSIM_ALL_REDUCE, 1, 3)->ranks, 4);
    assert_int_equal(psim_protocol_curve(&p, PSIM_ALL_REDUCE, 1, 16)->ranks, 8);
    assert_int_equal(psim_protocol_curve(&p, PSIM_ALL_REDUCE, 4, 32)->nodes, 2);
    assert_null(psim_protocol_curve(&p, PSIM_ALL_GATHER, 2, 16));
    assert_null(psim_protocol_curve(&p, PSIM_BROADCAST, 1, 8));
    assert_int_equal(psim_catalogue_find_collectives(&catalogue, "nowhere", &arena, &p, &list),
                     PSIM_OK);
    assert_int_equal(p.curve_count, 0);
    psim_diagnostics_release(&list);
    psim_arena_release(&arena);
}

/* 4 and 16 units in 10 and 20 units a second: 8 at the geometric mean, outside as at the ends. */
static void rates_are_interpolated_in_the_logarithms(void **state)
{
    static const double bytes[] = {4, 16}, rate[] = {10, 40};
    const struct psim_rate_curve curve = {.kind = PSIM_BROADCAST,
                                          .base_s = 0.1,
                                          .reference_bytes_per_s = 100,
                                          .points = 2,
                                          .bytes = bytes,
                                          .rate = rate};
    struct psim_collective_terms terms;

    (void)state;
    check_near(psim_rate_curve_at(&curve, 8), 20, 1e-12);
    check_near(psim_rate_curve_at(&curve, 1), 10, 1e-12);
    check_near(psim_rate_curve_at(&curve, 1e9), 40, 1e-12);
    terms = psim_rate_curve_terms(&curve, 2, 8); /* 0.4 s in all, 0.08 s unscaled */
    check_near(terms.base_s, 0.1, 1e-12);
    check_near(terms.byte_factor, 0.3 / 0.08, 1e-12);
    assert_true(psim_rate_curve_terms(&curve, 2, 0.5).byte_factor == 0); /* 0.05 s < base */
    assert_true(psim_rate_curve_terms(&curve, 2, 0).byte_factor == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fitted_and_held_out_sizes_are_within_ten_percent),
        cmocka_unit_test(a_prediction_a_fifth_too_high_is_noticed),
        cmocka_unit_test(references_are_what_the_links_give),
        cmocka_unit_test(the_nearest_measured_group_stands_in),
        cmocka_unit_test(rates_are_interpolated_in_the_logarithms),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

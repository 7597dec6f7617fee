/*
 * The memory account: by hand on two stages, and what must hold for every method: categories sum
 * up, nothing is left over after a flushed step, nothing grows from period to period.
 */
#include "tests/support/check.h"
#include "tests/support/pipeline.h"

#include <stdlib.h>
#include <string.h>

#define LEVELS_MAX 200000

struct level {
    int stage;
    double at_s;
    int64_t total;
};

struct levels {
    int count;
    int64_t last[8][PSIM_MEMORY_CATEGORIES];
    struct level list[LEVELS_MAX];
};

static void note_level(void *user, int stage, double at_s,
                       const int64_t by_category[PSIM_MEMORY_CATEGORIES])
{
    struct levels *levels = user;
    int64_t total = 0;

    for (int c = 0; c < PSIM_MEMORY_CATEGORIES; c++) {
        assert_true(by_category[c] >= 0);
        total += by_category[c];
    }
    memcpy(levels->last[stage], by_category, sizeof levels->last[stage]);
    if (levels->count < LEVELS_MAX)
        levels->list[levels->count++] = (struct level){stage, at_s, total};
}

static struct psim_simulation run_levels(const struct test_pipeline *pipeline,
                                         const struct psim_method *method,
                                         const struct psim_shape *shape, struct levels *levels)
{
    const struct psim_observer observer = {.user = levels, .memory = note_level};
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_simulation simulation = {0};
    struct psim_program program;

    memset(levels, 0, sizeof *levels);
    assert_int_equal(psim_program_build(method, shape, &pipeline->workload, &pipeline->platform,
                                        PSIM_ACCOUNTING_FULL, &program, &err),
                     PSIM_OK);
    assert_int_equal(psim_engine_run(&psim_engine_replay, &program, &observer, &simulation, &err),
                     PSIM_OK);
    psim_program_release(&program);
    return simulation;
}

/*
 * Backprop, one micro-batch, f = 1, b = 2, messages of 7 bytes that take no time; parameters and
 * gradients 1000 bytes each, graph 100.
 *   stage 1: t = 0 forward: graph 100, its own input 10, the message's send buffer 7; t = 1: both
 *            buffers gone; t = 4 the gradient's 7 bytes arrive; t = 6 all gone.
 *   stage 2: t = 1: the message 7, graph 100; t = 2: the gradient's send buffer 7 instead.
 */
static void backprop_on_two_stages_is_as_by_hand(void **state)
{
    const struct psim_method *method = psim_method_find("backprop");
    const struct psim_shape shape = test_shape(method, 1);
    const struct test_stage stages[2] = {{1, 1, 2, 0, 10, false}, {1, 1, 2, 0, 7, false}};
    static const struct level expected[] = {{0, 0, 2117}, {1, 1, 2107}, {0, 1, 2100}, {1, 2, 2107},
                                            {1, 4, 2000}, {0, 4, 2107}, {0, 6, 2000}};
    struct levels *levels = malloc(sizeof *levels);
    struct test_pipeline pipeline;
    struct psim_simulation got;
    size_t found = 0;

    (void)state;
    test_pipeline_init(&pipeline, stages, 2, 1e30, 0, 0);
    got = run_levels(&pipeline, method, &shape, levels);
    assert_int_equal(got.stages[0].memory.bytes, 2117);
    assert_int_equal(got.stages[0].memory.by_category[PSIM_MEMORY_ACTIVATIONS], 100);
    assert_int_equal(got.stages[0].memory.by_category[PSIM_MEMORY_COMMUNICATION], 17);
    assert_int_equal(got.stages[1].memory.bytes, 2107);
    for (size_t e = 0; e < sizeof expected / sizeof expected[0]; e++) {
        for (int i = 0; i < levels->count; i++) {
            const struct level *l = &levels->list[i];

            if (l->stage == expected[e].stage && psim_near(l->at_s, expected[e].at_s, 1e-12) &&
                l->total == expected[e].total) {
                found++;
                break;
            }
        }
    }
    assert_int_equal(found, sizeof expected / sizeof expected[0]);
    psim_simulation_release(&got);
    test_pipeline_release(&pipeline);
    free(levels);
}

static void every_method_gives_back_what_it_took(void **state)
{
    const struct test_stage stages[5] = {{1, 1, 2, 0.1, 10, true},
                                         {1.2, 1, 2.1, 0.1, 7, true},
                                         {0.9, 1, 2.2, 0.1, 5, false},
                                         {1.1, 1, 1.9, 0.1, 6, true},
                                         {0.7, 1, 2, 0.1, 8, false}};
    struct levels *levels = malloc(sizeof *levels);

    (void)state;
    for (size_t i = 0; psim_method_table[i] != NULL; i++) {
        const struct psim_method *method = psim_method_table[i];
        const struct psim_shape shape = test_shape(method, 3);
        struct test_pipeline pipeline;
        struct psim_simulation got;

        test_pipeline_init(&pipeline, stages, 5, 1e3, 1e-3, 0.1);
        got = run_levels(&pipeline, method, &shape, levels);
        for (int j = 0; j < 5; j++) {
            const struct psim_memory_peak *peak = &got.stages[j].memory;
            int64_t sum = 0, most = 0;

            for (int c = 0; c < PSIM_MEMORY_CATEGORIES; c++)
                sum += peak->by_category[c];
            assert_int_equal(sum, peak->bytes);
            for (int l = 0; l < levels->count; l++) {
                if (levels->list[l].stage == j && levels->list[l].total > most)
                    most = levels->list[l].total;
            }
            assert_int_equal(most, peak->bytes);
            if (!method->flushes)
                continue;
            assert_int_equal(levels->last[j][PSIM_MEMORY_ACTIVATIONS], 0);
            assert_int_equal(levels->last[j][PSIM_MEMORY_INPUTS], 0);
            assert_int_equal(levels->last[j][PSIM_MEMORY_RECOMPUTE], 0);
            assert_int_equal(levels->last[j][PSIM_MEMORY_COMMUNICATION], 0);
            assert_int_equal(levels->last[j][PSIM_MEMORY_PARAMETER_VERSIONS], 0);
        }
        psim_simulation_release(&got);
        test_pipeline_release(&pipeline);
    }
    free(levels);
}

/* What stays between two halves of a long run must not grow: the peak is reached early. */
static void an_endless_method_reaches_its_peak_early(void **state)
{
    static const char *const names[] = {"petra", "pipedream", "delayed_gradients",
                                        "delayed_gradients_checkpoint"};
    struct levels *levels = malloc(sizeof *levels);

    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const struct psim_method *method = psim_method_find(names[i]);
        const struct psim_shape shape = test_shape(method, 2);
        struct test_pipeline pipeline;
        struct psim_simulation got;

        test_pipeline_unit(&pipeline, 6, true);
        got = run_levels(&pipeline, method, &shape, levels);
        for (int j = 0; j < 6; j++)
            assert_true(got.stages[j].memory.at_s < 100);
        psim_simulation_release(&got);
        test_pipeline_release(&pipeline);
    }
    free(levels);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backprop_on_two_stages_is_as_by_hand),
        cmocka_unit_test(every_method_gives_back_what_it_took),
        cmocka_unit_test(an_endless_method_reaches_its_peak_early),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

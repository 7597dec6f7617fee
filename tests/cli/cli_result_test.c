/* The result JSON read back: its keys, its figures against each other, and what memory decides. */
#include "tests/support/check.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA      PSIM_SOURCE_DIR "/tests/data/cli"
#define LABELS    DATA "/labels.json"
#define UNIT      PSIM_SOURCE_DIR "/scenarios/smoke/unit.json"
#define TABLE1    PSIM_SOURCE_DIR "/scenarios/table1/revnet50-imagenet.json"
#define ROUNDING  1e-9
#define KEY_BYTES 256

static const char *const document_keys[] = {
    "/petrasim",        "/provenance/version", "/provenance/simgrid", "/provenance/inputs_sha256",
    "/provenance/seed", "/provenance/engine",  "/scenario/resolved",  "/results",
};

static const char *const row_keys[] = {
    "method",
    "label",
    "model",
    "time_per_microbatch_s",
    "time_per_update_s",
    "samples_per_s",
    "speedup_vs",
    "utilisation_mean",
    "bubble_fraction",
    "exposed_communication_fraction",
    "flop_per_microbatch",
    "bytes_forward_per_microbatch",
    "bytes_backward_per_microbatch",
    "memory/peak_bytes_max",
    "memory/peak_bytes_sum",
    "memory/worst_device",
    "memory/by_category_at_peak",
    "stages",
    "closed_form/time_per_microbatch_units",
    "closed_form/flop_units",
    "closed_form/activation_copies",
    "closed_form/parameter_copies",
    "closed_form/communication_forward",
    "closed_form/communication_backward",
    "bottleneck",
};

static const char *const stage_keys[] = {
    "stage",
    "device",
    "forward_s",
    "backward_s",
    "busy_fraction",
    "staleness_microbatches",
    "parameter_versions",
    "memory_peak_bytes",
};

static json_t *result_of(const char *scenario, const char *engine)
{
    struct test_output output =
        test_petrasim("compare", "--format", "json", "--engine", engine, scenario);
    json_t *root;

    check_code(&output, 0);
    root = test_json_parse(output.out);
    test_output_free(&output);
    return root;
}

/* The first of the keys that is not there, under a prefix; NULL when all are. */
static const char *missing(const json_t *root, const char *prefix, const char *const *keys,
                           size_t count)
{
    static char pointer[KEY_BYTES];

    for (size_t i = 0; i < count; i++) {
        snprintf(pointer, sizeof pointer, "%s%s", prefix, keys[i]);
        if (test_json_at(root, pointer) == NULL)
            return pointer;
    }
    return NULL;
}

static const char *missing_key(const json_t *root)
{
    const size_t rows = json_array_size(json_object_get(root, "results"));
    const char *key =
        missing(root, "", document_keys, sizeof document_keys / sizeof document_keys[0]);

    for (size_t i = 0; key == NULL && i < rows; i++) {
        char prefix[KEY_BYTES];
        size_t stages;

        snprintf(prefix, sizeof prefix, "/results/%zu/", i);
        key = missing(root, prefix, row_keys, sizeof row_keys / sizeof row_keys[0]);
        snprintf(prefix, sizeof prefix, "/results/%zu/stages", i);
        stages = json_array_size(test_json_at(root, prefix));
        for (size_t j = 0; key == NULL && j < stages; j++) {
            snprintf(prefix, sizeof prefix, "/results/%zu/stages/%zu/", i, j);
            key = missing(root, prefix, stage_keys, sizeof stage_keys / sizeof stage_keys[0]);
        }
    }
    return key;
}

static double sum_of_values(const json_t *object)
{
    const char *key;
    json_t *value;
    double sum = 0;

    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        sum += json_number_value(value);
    }
    return sum;
}

/* What the stages of a row say together. */
struct totals {
    double busy, exposed, peak_max, peak_sum;
    size_t worst, stages;
    bool categories_add_up;
};

static struct totals add_stages(const json_t *row)
{
    const json_t *list = json_object_get(row, "stages");
    struct totals t = {.stages = json_array_size(list), .categories_add_up = true};

    for (size_t j = 0; j < t.stages; j++) {
        const json_t *stage = json_array_get(list, j);
        const double peak = test_json_number(stage, "/memory_peak_bytes");

        t.busy += test_json_number(stage, "/busy_fraction");
        t.exposed += test_json_number(stage, "/exposed_fraction");
        t.peak_sum += peak;
        if (peak > t.peak_max) {
            t.peak_max = peak;
            t.worst = j;
        }
        if (sum_of_values(test_json_at(stage, "/memory_by_category_at_peak")) != peak)
            t.categories_add_up = false;
    }
    return t;
}

static bool near_key(const json_t *row, const char *pointer, double want)
{
    return psim_near(test_json_number(row, pointer), want, ROUNDING);
}

static const char *wrong_memory(const json_t *row, const struct totals *t)
{
    const char *worst = test_json_text(row, "/memory/worst_device");
    const json_t *stage = json_array_get(json_object_get(row, "stages"), t->worst);

    if (!t->categories_add_up)
        return "categories of a stage";
    if (test_json_number(row, "/memory/peak_bytes_max") != t->peak_max)
        return "largest peak";
    if (test_json_number(row, "/memory/peak_bytes_sum") != t->peak_sum)
        return "sum of the peaks";
    if (strcmp(worst, test_json_text(stage, "/device")) != 0)
        return "worst device";
    if (sum_of_values(test_json_at(row, "/memory/by_category_at_peak")) != t->peak_max)
        return "categories of the worst device";
    return NULL;
}

/* Micro-batches an update: all of the batch, but for the method that updates after each. */
static double update_microbatches(const json_t *row, double accumulation)
{
    return strcmp(test_json_text(row, "/method"), "pipedream") == 0 ? 1 : accumulation;
}

static const char *wrong_times(const json_t *root, const json_t *row, const struct totals *t,
                               double baseline_s)
{
    const double time_s = test_json_number(row, "/time_per_microbatch_s");
    const double stages = (double)t->stages;
    char pointer[KEY_BYTES];

    snprintf(pointer, sizeof pointer, "/speedup_vs/%s",
             test_json_text(root, "/scenario/resolved/baseline"));
    if (!near_key(row, pointer, baseline_s / time_s))
        return "speed-up";
    if (!near_key(row, "/samples_per_s",
                  test_json_number(root, "/scenario/resolved/microbatch") / time_s))
        return "samples per second";
    if (!near_key(row, "/time_per_update_s",
                  time_s * update_microbatches(
                               row, test_json_number(root, "/scenario/resolved/accumulation"))))
        return "time per update";
    if (!near_key(row, "/utilisation_mean", t->busy / stages))
        return "utilisation";
    if (!(fabs(test_json_number(row, "/bubble_fraction") - (1 - t->busy / stages)) <= ROUNDING))
        return "bubble";
    if (!(fabs(test_json_number(row, "/exposed_communication_fraction") - t->exposed / stages) <=
          ROUNDING))
        return "exposed communication";
    return NULL;
}

/* The figure that does not follow from the others; NULL when all do. */
static const char *inconsistency(const json_t *root)
{
    const json_t *rows = json_object_get(root, "results");
    const char *baseline = test_json_text(root, "/scenario/resolved/baseline"), *wrong = NULL;
    double baseline_s = NAN;

    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        if (strcmp(test_json_text(row, "/label"), baseline) == 0)
            baseline_s = test_json_number(row, "/time_per_microbatch_s");
    }
    for (size_t i = 0; wrong == NULL && i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        const struct totals t = add_stages(row);

        wrong = wrong_memory(row, &t);
        if (wrong == NULL)
            wrong = wrong_times(root, row, &t, baseline_s);
    }
    return wrong;
}

static void every_documented_key_is_there(void **state)
{
    json_t *root = result_of(LABELS, "simgrid");
    const char *key = missing_key(root);

    (void)state;
    if (key != NULL)
        fail_msg("no %s", key);
    assert_string_equal(test_json_text(root, "/petrasim"), "result/1");
    assert_int_equal(strspn(test_json_text(root, "/provenance/inputs_sha256"), "0123456789abcdef"),
                     64);
    assert_int_equal(strlen(test_json_text(root, "/provenance/inputs_sha256")), 64);
    assert_true(json_is_null(test_json_at(root, "/results/0/flop_per_microbatch")));
    json_decref(root);
}

static void a_missing_key_is_noticed(void **state)
{
    json_t *root = result_of(LABELS, "replay");

    (void)state;
    json_object_del(test_json_at(root, "/results/7/stages/2"), "parameter_versions");
    assert_string_equal(missing_key(root), "/results/7/stages/2/parameter_versions");
    json_object_del(test_json_at(root, "/results/3/closed_form"), "flop_units");
    assert_string_equal(missing_key(root), "/results/3/closed_form/flop_units");
    json_object_del(test_json_at(root, "/provenance"), "seed");
    assert_string_equal(missing_key(root), "/provenance/seed");
    json_decref(root);
}

static void the_figures_follow_from_each_other(void **state)
{
    static const char *const scenarios[] = {LABELS, TABLE1};
    static const char *const engines[] = {"simgrid", "replay"};

    (void)state;
    for (size_t s = 0; s < 2; s++) {
        for (size_t e = 0; e < 2; e++) {
            json_t *root = result_of(scenarios[s], engines[e]);
            const char *wrong = inconsistency(root);

            if (wrong != NULL)
                fail_msg("%s, %s: %s", scenarios[s], engines[e], wrong);
            json_decref(root);
        }
    }
}

static void a_figure_that_does_not_follow_is_noticed(void **state)
{
    static const struct {
        const char *object, *key, *what;
    } changes[] = {
        {"/results/0", "bubble_fraction", "bubble"},
        {"/results/1", "utilisation_mean", "utilisation"},
        {"/results/2", "samples_per_s", "samples per second"},
        {"/results/3", "time_per_update_s", "time per update"},
        {"/results/4", "exposed_communication_fraction", "exposed communication"},
        {"/results/5/speedup_vs", "reversible", "speed-up"},
        {"/results/6/memory", "peak_bytes_max", "largest peak"},
        {"/results/7/memory", "peak_bytes_sum", "sum of the peaks"},
        {"/results/0/memory/by_category_at_peak", "gradients", "categories of the worst device"},
        {"/results/1/stages/2/memory_by_category_at_peak", "gradients", "categories of a stage"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        json_t *root = result_of(LABELS, "replay");
        json_t *object = test_json_at(root, changes[i].object);
        const double value = json_number_value(json_object_get(object, changes[i].key));

        json_object_set_new(object, changes[i].key, json_real(1.001 * value));
        if (inconsistency(root) == NULL)
            fail_msg("a changed %s is not noticed", changes[i].what);
        assert_string_equal(inconsistency(root), changes[i].what);
        json_decref(root);
    }
}

static void the_baseline_is_the_listed_reversible_backprop_and_its_speedup_is_one(void **state)
{
    json_t *root = result_of(LABELS, "simgrid");

    (void)state;
    assert_string_equal(test_json_text(root, "/scenario/resolved/baseline"), "reversible");
    check_near(test_json_number(root, "/results/1/speedup_vs/reversible"), 1, 0);
    json_decref(root);
}

static void both_engines_agree_where_nothing_is_shared(void **state)
{
    static const char *const free_values[] = {"/provenance/engine", "/scenario/resolved/engine",
                                              NULL};
    json_t *simgrid = result_of(UNIT, "simgrid"), *replay = result_of(UNIT, "replay");
    char where[KEY_BYTES];

    (void)state;
    assert_string_equal(test_json_text(simgrid, "/provenance/engine"), "simgrid");
    assert_string_equal(test_json_text(replay, "/provenance/engine"), "replay");
    if (!test_json_same(replay, simgrid, ROUNDING, free_values, where, sizeof where))
        fail_msg("the engines differ at %s", where);
    json_decref(simgrid);
    json_decref(replay);
}

/* In 1F1B both ways of the last link, which share it, are in use at once. */
static void contention_is_seen_by_simgrid_alone(void **state)
{
    json_t *simgrid = result_of(LABELS, "simgrid"), *replay = result_of(LABELS, "replay");
    static const char row[] = "/results/3/time_per_microbatch_s";

    (void)state;
    assert_true(test_json_number(simgrid, row) > 1.005 * test_json_number(replay, row));
    json_decref(simgrid);
    json_decref(replay);
}

static void run_and_compare_write_the_same_document(void **state)
{
    struct test_output run = test_petrasim("run", "--format=json", LABELS);
    struct test_output compare = test_petrasim("compare", "--format=json", LABELS);

    (void)state;
    check_code(&run, 0);
    assert_string_equal(run.out, compare.out);
    test_output_free(&run);
    test_output_free(&compare);
}

/* Eight graphs of 20 GB are 149 GiB. */
static void a_row_that_does_not_fit_is_marked_and_fails_on_demand_alone(void **state)
{
    static const struct {
        const char *scenario, *option;
        int code;
    } cases[] = {{DATA "/does_not_fit.json", "--format=table", 0},
                 {DATA "/does_not_fit.json", "--check", 1},
                 {DATA "/must_fit.json", "--format=table", 1},
                 {LABELS, "--check", 0}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct test_output output = test_petrasim("compare", cases[i].option, cases[i].scenario);

        check_code(&output, cases[i].code);
        if (i < 3) {
            check_contains(output.out, "149.5!");
            check_contains(output.out, "gpipe does not fit: stage 1 (left) needs");
            assert_null(strstr(output.out, "petra does not fit"));
        } else {
            assert_null(strstr(output.out, "does not fit"));
        }
        test_output_free(&output);
    }
}

static void the_result_says_which_row_fits(void **state)
{
    json_t *root = result_of(DATA "/does_not_fit.json", "replay");

    (void)state;
    assert_true(json_is_false(test_json_at(root, "/results/0/memory/fits")));
    assert_true(json_is_true(test_json_at(root, "/results/1/memory/fits")));
    json_decref(root);
}

static void a_result_that_does_not_fit_is_written_all_the_same(void **state)
{
    struct test_output output =
        test_petrasim("compare", "--check", "--out=full.txt", DATA "/does_not_fit.json");
    char *text;

    (void)state;
    check_code(&output, 1);
    text = test_file_read("full.txt", NULL);
    check_contains(text, "149.5!");
    free(text);
    test_output_free(&output);
}

static void a_method_that_cannot_run_on_the_model_says_why(void **state)
{
    static const char *const commands[] = {"compare", "run", "check"};

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct test_output output = test_petrasim(commands[i], DATA "/petra_on_resnet18.json");

        check_code(&output, 3);
        assert_string_equal(output.out, "");
        check_contains(output.err, DATA "/petra_on_resnet18.json:5:28: error: .methods[1]: petra "
                                        "cannot run: ");
        check_contains(output.err, "no block of resnet18 is reversible");
        test_output_free(&output);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_documented_key_is_there),
        cmocka_unit_test(a_missing_key_is_noticed),
        cmocka_unit_test(the_figures_follow_from_each_other),
        cmocka_unit_test(a_figure_that_does_not_follow_is_noticed),
        cmocka_unit_test(the_baseline_is_the_listed_reversible_backprop_and_its_speedup_is_one),
        cmocka_unit_test(both_engines_agree_where_nothing_is_shared),
        cmocka_unit_test(contention_is_seen_by_simgrid_alone),
        cmocka_unit_test(run_and_compare_write_the_same_document),
        cmocka_unit_test(a_row_that_does_not_fit_is_marked_and_fails_on_demand_alone),
        cmocka_unit_test(the_result_says_which_row_fits),
        cmocka_unit_test(a_result_that_does_not_fit_is_written_all_the_same),
        cmocka_unit_test(a_method_that_cannot_run_on_the_model_says_why),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

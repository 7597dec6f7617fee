/* `petrasim sweep`: points, formats, shards, whose database it is, and what is said of bad input.
 */
#include "sim/plan/sweep_record.h"
#include "tests/support/check.h"
#include "tests/support/database.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SMALL PSIM_SOURCE_DIR "/scenarios/smoke/small.json"
#define UNIT  PSIM_SOURCE_DIR "/scenarios/smoke/unit.json"
#define AXES                                                                                       \
    "--scan", "batch.microbatch=8:64:*2", "--scan", "methods=[\"gpipe\",\"petra\"],[\"petra\"]"
#define POINTS 8
#define ROWS   12

static void list_names_every_point_and_simulates_none(void **state)
{
    struct test_output output = test_petrasim("sweep", SMALL, "--scan", "batch.microbatch=8:16:*2",
                                              "--scan", "precision=fp32,fp16", "--list");

    (void)state;
    check_code(&output, 0);
    assert_string_equal(output.out, "0  batch.microbatch=8  precision=\"fp32\"\n"
                                    "1  batch.microbatch=8  precision=\"fp16\"\n"
                                    "2  batch.microbatch=16  precision=\"fp32\"\n"
                                    "3  batch.microbatch=16  precision=\"fp16\"\n");
    test_output_free(&output);
}

/* A point gives what the scenario gives that says the same itself. */
static void a_point_is_the_scenario_with_its_values(void **state)
{
    struct test_output sweep = test_petrasim("sweep", SMALL, AXES, "--format=json");
    json_t *points = test_json_parse(sweep.out), *alone;
    struct test_output one;

    (void)state;
    check_code(&sweep, 0);
    test_file_write("alone.json",
                    "{ \"petrasim\": \"scenario/1\", \"model\": { \"stages\": [ { \"repeat\": 4,"
                    " \"forward\": \"10 ms\", \"backward\": \"20 ms\", \"parameters\": \"4 MB\","
                    " \"input\": \"1 MB\", \"graph\": \"10 MB\", \"reversible\": true } ] },"
                    " \"platform\": \"8x-a100-nvswitch\", \"methods\": [\"gpipe\", \"petra\"],"
                    " \"batch\": { \"microbatch\": 32, \"accumulation\": 4 } }");
    one = test_petrasim("compare", "alone.json", "--format=json");
    check_code(&one, 0);
    alone = test_json_parse(one.out);
    assert_int_equal(test_json_number(points, "/points/4/settings/batch.microbatch"), 32);
    for (int row = 0; row < 2; row++) {
        static const char *const same[] = {"label", NULL};
        char ours[64], theirs[96];

        for (int i = 0; same[i] != NULL; i++) {
            snprintf(ours, sizeof ours, "/points/4/results/%d/%s", row, same[i]);
            snprintf(theirs, sizeof theirs, "/results/%d/%s", row, same[i]);
            assert_string_equal(test_json_text(points, ours), test_json_text(alone, theirs));
        }
        snprintf(ours, sizeof ours, "/points/4/results/%d/time_per_microbatch_s", row);
        snprintf(theirs, sizeof theirs, "/results/%d/time_per_microbatch_s", row);
        check_near(test_json_number(points, ours), test_json_number(alone, theirs), 0);
    }
    json_decref(points);
    json_decref(alone);
    test_output_free(&sweep);
    test_output_free(&one);
}

static void results_are_the_same_bytes_for_any_number_of_workers(void **state)
{
    static const char *const workers[] = {"1", "2", "4"};
    struct test_output first = {0};
    char *first_dump = NULL;

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char path[32], *dump;
        struct test_output output;

        snprintf(path, sizeof path, "workers%s.sqlite", workers[i]);
        output = test_petrasim("sweep", SMALL, AXES, "--workers", workers[i], "--format=csv",
                               "--db", path);
        check_code(&output, 0);
        dump = test_database_dump(path);
        if (i == 0) {
            first = output;
            first_dump = dump;
            continue;
        }
        assert_string_equal(output.out, first.out);
        assert_string_equal(dump, first_dump);
        test_output_free(&output);
        free(dump);
    }
    assert_true(first.out_length > 2000);
    test_output_free(&first);
    free(first_dump);
}

static void show_gives_what_the_sweep_printed_in_every_format(void **state)
{
    static const char *const formats[] = {"table", "md", "csv", "latex", "json"};

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        struct test_output run =
            test_petrasim("sweep", SMALL, AXES, "--db", "workers1.sqlite", "--format", formats[i]);
        struct test_output show =
            test_petrasim("sweep", "show", "workers1.sqlite", "--format", formats[i]);

        check_code(&run, 0);
        check_code(&show, 0);
        assert_true(run.out_length > 500);
        assert_string_equal(run.out, show.out);
        test_output_free(&run);
        test_output_free(&show);
    }
}

static void views_hold_the_usual_tables(void **state)
{
    static const char db[] = "workers1.sqlite";

    (void)state;
    check_near(test_database_number(db, "PRAGMA user_version"), 1, 0);
    check_near(test_database_number(db, "SELECT count(*) FROM points"), POINTS, 0);
    check_near(test_database_number(db, "SELECT count(*) FROM results"), ROWS, 0);
    check_near(test_database_number(db, "SELECT count(*) FROM time"), ROWS, 0);
    check_near(test_database_number(db, "SELECT count(*) FROM memory WHERE fits"), ROWS, 0);
    check_near(test_database_number(db, "SELECT count(*) FROM speedup"), ROWS, 0);
    check_near(test_database_number(db, "SELECT count(*) FROM best_per_point"), POINTS, 0);
    check_near(test_database_number(db, "SELECT count(*) FROM best_per_method"), 2, 0);
    check_near(test_database_number(
                   db, "SELECT \"batch.microbatch\" FROM best_per_method WHERE label = 'gpipe'"),
               64, 0);
    check_near(test_database_number(db, "SELECT sum(\"batch.microbatch\") FROM grid"),
               2 * (8 + 16 + 32 + 64), 0);
    check_near(test_database_number(
                   db, "SELECT count(*) FROM settings WHERE key = 'methods' AND value = json"),
               POINTS, 0);
}

static void shards_merged_are_the_whole(void **state)
{
    char *whole = test_database_dump("workers1.sqlite"), *merged;
    struct test_output output;

    (void)state;
    output = test_petrasim("sweep", SMALL, AXES, "--shard=1/3", "--db", "a.sqlite");
    check_code(&output, 0);
    test_output_free(&output);
    output = test_petrasim("sweep", SMALL, AXES, "--shard=3/3", "--db", "c.sqlite");
    check_code(&output, 0);
    test_output_free(&output);
    output = test_petrasim("sweep", SMALL, AXES, "--shard=2/3", "--db", "b.sqlite");
    check_code(&output, 0);
    test_output_free(&output);
    check_near(test_database_number("a.sqlite", "SELECT count(*) FROM points"), 3, 0);
    output = test_petrasim("sweep", "merge", "all.sqlite", "c.sqlite", "a.sqlite", "b.sqlite");
    check_code(&output, 0);
    test_output_free(&output);
    merged = test_database_dump("all.sqlite");
    assert_string_equal(merged, whole);
    free(merged);
    output = test_petrasim("sweep", "merge", "a.sqlite", "b.sqlite", "c.sqlite", "a.sqlite");
    check_code(&output, 0);
    test_output_free(&output);
    merged = test_database_dump("a.sqlite");
    assert_string_equal(merged, whole);
    free(merged);
    free(whole);
}

static void merging_prefers_results_to_failures(void **state)
{
    struct test_output output;

    (void)state;
    output = test_petrasim("sweep", "merge", "broken.sqlite", "workers1.sqlite");
    check_code(&output, 0);
    test_output_free(&output);
    test_database_change("broken.sqlite",
                         "UPDATE points SET status = 'failed', cause = 'x' WHERE point = 3;"
                         "DELETE FROM results WHERE point = 3");
    output = test_petrasim("sweep", "merge", "mended.sqlite", "broken.sqlite", "workers1.sqlite");
    check_code(&output, 0);
    test_output_free(&output);
    check_near(
        test_database_number("mended.sqlite", "SELECT count(*) FROM points WHERE status = 'ok'"),
        POINTS, 0);
    check_near(test_database_number("mended.sqlite", "SELECT count(*) FROM results"), ROWS, 0);
    /* A failed point stays one, unless it is asked for again. */
    output = test_petrasim("sweep", SMALL, AXES, "--db", "broken.sqlite");
    check_code(&output, 0);
    test_output_free(&output);
    check_near(
        test_database_number("broken.sqlite", "SELECT count(*) FROM points WHERE status = 'ok'"),
        POINTS - 1, 0);
    output = test_petrasim("sweep", SMALL, AXES, "--db", "broken.sqlite", "--retry");
    check_code(&output, 0);
    test_output_free(&output);
    check_near(
        test_database_number("broken.sqlite", "SELECT count(*) FROM points WHERE status = 'ok'"),
        POINTS, 0);
}

static void check_refused(struct test_output output, int code, const char *said)
{
    check_code(&output, code);
    assert_string_equal(output.out, "");
    check_contains(output.err, said);
    test_output_free(&output);
}

static void a_database_of_something_else_is_refused_and_stays_as_it_was(void **state)
{
    char *before = test_database_dump("workers1.sqlite"), *after;

    (void)state;
    check_refused(test_petrasim("sweep", SMALL, "--scan", "seed=1,2", "--db", "workers1.sqlite"), 3,
                  "a database of another sweep: its axes or their values differ");
    check_refused(test_petrasim("sweep", UNIT, AXES, "--db", "workers1.sqlite"), 3,
                  "a database of another sweep: its inputs_sha256 is");
    check_refused(test_petrasim("sweep", SMALL, AXES, "--engine=replay", "--db", "workers1.sqlite"),
                  3, "its engine is \"\", not \"replay\"");
    check_refused(test_petrasim("sweep", "merge", "x.sqlite", "workers1.sqlite", "absent"), 5,
                  "absent: unable to open");
    assert_false(test_file_exists("x.sqlite"));
    after = test_database_dump("workers1.sqlite");
    assert_string_equal(after, before);
    free(before);
    free(after);
    test_database_change("workers2.sqlite", "PRAGMA user_version = 2");
    check_refused(test_petrasim("sweep", SMALL, AXES, "--db", "workers2.sqlite"), 3,
                  "a database of another version: 2; this program has 1");
    check_refused(test_petrasim("sweep", "show", "workers2.sqlite"), 3, "another version: 2");
    check_refused(test_petrasim("sweep", "merge", "workers1.sqlite", "workers2.sqlite"), 3,
                  "another version: 2");
    test_file_write("text.sqlite", "this is no database, and longer than a hundred bytes, which is "
                                   "what SQLite reads first of a file that it is given to open.");
    check_refused(test_petrasim("sweep", SMALL, AXES, "--db", "text.sqlite"), 3,
                  "file is not a database");
    check_refused(test_petrasim("sweep", "show", "absent.sqlite"), 3, "unable to open");
    assert_false(test_file_exists("absent.sqlite"));
}

static void every_fault_of_the_axes_is_said_and_nothing_is_written(void **state)
{
    struct test_output output = test_petrasim(
        "sweep", SMALL, "--scan", "batch.microbatch=0,8,-3", "--scan", "batch.acumulation=1,4",
        "--scan", "methods[7]=petra", "--scan", "methods[0].overlap=ideal", "--db", "none.sqlite");

    (void)state;
    check_refused(output, 3,
                  "--scan: error: .methods[7]: the scenario's list has 2 elements\n"
                  "--scan: error: .methods[0].overlap: the scenario's .methods[0] is no object but "
                  "the string \"one_f_one_b\"\n"
                  "--scan: error: .batch.microbatch: must be in [1, 1048576], not 0\n"
                  "--scan: error: .batch.acumulation: unknown key \"acumulation\" (did you mean "
                  "\"accumulation\"?)\n"
                  "--scan: error: .batch.microbatch: must be in [1, 1048576], not -3\n");
    assert_false(test_file_exists("none.sqlite"));
    check_refused(test_petrasim("sweep", SMALL, "--scan", "seed=8:1", "--scan", "a b=1", "--scan",
                                "seed", "--scan", "batch=1", "--scan", "batch.microbatch=2"),
                  3,
                  "--scan: error: .seed: \"8:1\": a range must rise\n"
                  "--scan: error: \"a b\": not a path such as batch.microbatch or "
                  "methods[0].overlap\n"
                  "--scan: error: \"seed\": not KEY=VALUES\n"
                  "--scan: error: \"batch.microbatch\": varies already, itself or what holds it\n");
    check_refused(test_petrasim("sweep", PSIM_SOURCE_DIR "/platforms/devices/A100.json"), 3,
                  "file");
}

static void a_bad_command_line_is_refused(void **state)
{
    (void)state;
    check_refused(test_petrasim("sweep", SMALL), 2, "nothing varies");
    check_refused(test_petrasim("sweep", "merge", "one.sqlite"), 2, "usage");
    check_refused(test_petrasim("sweep", "show"), 2, "usage");
    check_refused(test_petrasim("sweep", SMALL, AXES, "--shard", "4/3"), 2, "--shard must be");
    check_refused(test_petrasim("sweep", SMALL, AXES, "--shard", "0/3"), 2, "--shard must be");
    check_refused(test_petrasim("sweep", SMALL, AXES, "--shard", "1/3x"), 2, "--shard must be");
    check_refused(test_petrasim("sweep", SMALL, AXES, "--plot", "a.gif"), 2, ".svg or .png");
    check_refused(test_petrasim("sweep", SMALL, AXES, "--workers", "0"), 2, "--workers must be");
}

/* Four stages do not go with a cut of two blocks: only that point is invalid. */
static void values_that_do_not_go_together_are_their_points_alone(void **state)
{
    struct test_output output =
        test_petrasim("sweep", SMALL, "--engine=replay", "--scan", "model.stages[0].repeat=4,2",
                      "--scan", "partition=[1,3],balanced", "--format=csv", "--db", "odd.sqlite");

    (void)state;
    check_code(&output, 3);
    check_contains(output.err, "0 failed and 1 have values that do not go together");
    check_contains(output.out, "2,invalid,\"--scan: error: .partition: the list adds up to 4");
    check_near(test_database_number("odd.sqlite", "SELECT count(*) FROM points"), 4, 0);
    check_near(test_database_number("odd.sqlite", "SELECT count(*) FROM time"), 6, 0);
    test_output_free(&output);
}

static void a_picture_is_drawn_where_gnuplot_is(void **state)
{
    struct test_output output =
        test_petrasim("sweep", "show", "workers1.sqlite", "--plot", "time.svg");

    (void)state;
    if (output.code == 4) {
        test_output_free(&output);
        skip();
    }
    check_code(&output, 0);
    test_output_free(&output);
    {
        char *svg = test_file_read("time.svg", NULL);

        check_contains(svg, "<svg");
        check_contains(svg, "gpipe");
        free(svg);
    }
    check_refused(test_petrasim("sweep", SMALL, "--scan", "precision=fp32,fp16", "--plot", "no.svg",
                                "--out", "/dev/null"),
                  3, "no key that varies is a number");
    assert_false(test_file_exists("no.svg"));
}

static void a_sweep_file_is_read_checked_and_run(void **state)
{
    struct test_output output;

    (void)state;
    test_file_write("sweep.json",
                    "{ \"petrasim\": \"sweep/1\", \"scenario\": \"" SMALL "\", \"axes\": [\n"
                    "  { \"key\": \"batch.microbatch\", \"range\": \"8:16:*2\" },\n"
                    "  { \"keys\": [\"seed\", \"batch.accumulation\"], "
                    "\"values\": [[1, 2], [2, 4]] } ] }\n");
    output = test_petrasim("check", "sweep.json");
    check_code(&output, 0);
    assert_string_equal(output.out, "sweep.json: sweep, valid\n");
    test_output_free(&output);
    output = test_petrasim("sweep", "sweep.json", "--scan", "optimizer=sgd,adam", "--list");
    check_code(&output, 0);
    check_contains(output.out,
                   "7  batch.microbatch=16  seed=2  batch.accumulation=4  optimizer=\"adam\"\n");
    test_output_free(&output);
}

static void every_column_is_documented(void **state)
{
    static const char *const types[] = {"", "INTEGER", "REAL", "TEXT"};
    char *text = test_file_read(PSIM_SOURCE_DIR "/docs/sweep.md", NULL);

    (void)state;
    for (int i = 0; i < PSIM_SWEEP_COLUMNS; i++) {
        const struct psim_sweep_column *column = &psim_sweep_columns[i];
        char row[256];

        snprintf(row, sizeof row, "\n| `%s` | %s | %s |\n", column->name, types[column->kind],
                 column->meaning);
        check_contains(text, row);
    }
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(list_names_every_point_and_simulates_none),
        cmocka_unit_test(a_point_is_the_scenario_with_its_values),
        cmocka_unit_test(results_are_the_same_bytes_for_any_number_of_workers),
        cmocka_unit_test(show_gives_what_the_sweep_printed_in_every_format),
        cmocka_unit_test(views_hold_the_usual_tables),
        cmocka_unit_test(shards_merged_are_the_whole),
        cmocka_unit_test(merging_prefers_results_to_failures),
        cmocka_unit_test(a_database_of_something_else_is_refused_and_stays_as_it_was),
        cmocka_unit_test(every_fault_of_the_axes_is_said_and_nothing_is_written),
        cmocka_unit_test(a_bad_command_line_is_refused),
        cmocka_unit_test(values_that_do_not_go_together_are_their_points_alone),
        cmocka_unit_test(a_picture_is_drawn_where_gnuplot_is),
        cmocka_unit_test(a_sweep_file_is_read_checked_and_run),
        cmocka_unit_test(every_column_is_documented),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

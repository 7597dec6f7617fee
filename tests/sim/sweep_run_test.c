/* Points that go wrong, and the rest that must not mind: what a worker does is the test's own. */
#define _DEFAULT_SOURCE /* usleep */
#include "sim/plan/sweep.h"
#include "tests/support/check.h"
#include "tests/support/database.h"
#include "tests/support/program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SMALL PSIM_SOURCE_DIR "/scenarios/smoke/small.json"

static const struct psim_catalogue catalogue = {PSIM_SOURCE_DIR "/platforms"};

/* The seed of the scenario says what becomes of its point. */
enum fate {
    FATE_FINE = 1,
    FATE_ABORT,
    FATE_KILLED,
    FATE_EXIT,
    FATE_ONE_ROW_FAILS,
    FATE_FAILS,
    FATE_INVALID,
    FATES
};

static enum psim_status meet_fate(const void *context, const struct psim_scenario *scenario,
                                  struct psim_sweep_record *record, struct psim_diagnostics *list,
                                  struct psim_error *err)
{
    struct psim_result row = {
        .method = "petra", .label = "petra", .model = "m", .bottleneck = "b", .note = ""};

    (void)context;
    switch ((enum fate)scenario->seed) {
    case FATE_ABORT:
        abort();
    case FATE_KILLED:
        raise(SIGKILL);
        break;
    case FATE_EXIT:
        _exit(7);
    case FATE_ONE_ROW_FAILS:
        psim_sweep_record_failure(record, "gpipe", "gpipe", "it died");
        break;
    case FATE_FAILS:
        return psim_fail(err, PSIM_ERR_NOMEM, "simulation", "out of memory for this");
    case FATE_INVALID:
        psim_diagnose(list, PSIM_ERR_MODEL, (struct psim_position){"s.json", 3, 4}, ".methods[0]",
                      NULL, "cannot run on this");
        return PSIM_ERR_MODEL;
    default:
        break;
    }
    row.samples_per_s = (double)scenario->seed;
    psim_sweep_record_row(record, &row);
    return PSIM_OK;
}

static void run_fates(int workers, const char *path, struct psim_sweep_counts *counts)
{
    static const char *const scans[] = {"seed=1,2,3,4,5,6,7,1,2,1"};
    const struct psim_sweep_options options = {.workers = workers, .shard = {0, 1}};
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_store *store = NULL;
    struct psim_sweep sweep;
    struct psim_sweep_task task = {.sweep = &sweep, .catalogue = &catalogue, .run = meet_fate};
    struct psim_store_identity identity = {"test", "none", "", &sweep};

    assert_int_equal(psim_sweep_read(SMALL, scans, 1, &catalogue, &sweep, &list), PSIM_OK);
    assert_int_equal(psim_store_begin(path, &identity, &store, &err), PSIM_OK);
    assert_int_equal(psim_sweep_run(&task, store, &options, counts, &err), PSIM_OK);
    psim_store_close(store);
    psim_sweep_release(&sweep);
    psim_diagnostics_release(&list);
}

static void check_cause(const char *path, int point, const char *status, const char *cause)
{
    char sql[256];

    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM points WHERE point = %d AND status = '%s' AND "
             "coalesce(cause, '') LIKE '%%%s%%'",
             point, status, cause);
    if (!psim_near(test_database_number(path, sql), 1, 0))
        fail_msg("point %d is not %s by %s", point, status, cause);
}

static void points_that_die_are_kept_with_their_cause_and_the_rest_goes_on(void **state)
{
    struct psim_sweep_counts counts;

    (void)state;
    run_fates(2, "fates.sqlite", &counts);
    assert_int_equal(counts.total, 10);
    assert_int_equal(counts.done, 10);
    assert_int_equal(counts.failed, 6);
    assert_int_equal(counts.invalid, 1);
    check_cause("fates.sqlite", 0, "ok", "");
    check_cause("fates.sqlite", 1, "failed", "signal 6");
    check_cause("fates.sqlite", 2, "failed", "signal 9");
    check_cause("fates.sqlite", 3, "failed", "status 7");
    check_cause("fates.sqlite", 4, "failed", "");
    check_cause("fates.sqlite", 5, "failed", "out of memory for this");
    check_cause("fates.sqlite", 6, "invalid", "s.json:3:4: error: .methods[0]: cannot run on this");
    check_cause("fates.sqlite", 9, "ok", "");
    check_near(test_database_number("fates.sqlite", "SELECT count(*) FROM results"), 5, 0);
    check_near(test_database_number("fates.sqlite",
                                    "SELECT count(*) FROM results WHERE point = 4 AND status = "
                                    "'failed' AND cause = 'it died' AND samples_per_s IS NULL"),
               1, 0);
    check_near(test_database_number("fates.sqlite", "SELECT sum(samples_per_s) FROM time"), 8, 0);
}

static void what_dies_does_not_depend_on_the_workers_either(void **state)
{
    static const int workers[] = {1, 4, 16};
    char *first = test_database_dump("fates.sqlite");

    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct psim_sweep_counts counts;
        char path[32], *dump;

        snprintf(path, sizeof path, "fates%zu.sqlite", i);
        run_fates(workers[i], path, &counts);
        dump = test_database_dump(path);
        assert_string_equal(dump, first);
        free(dump);
    }
    free(first);
}

static void what_is_there_is_not_run_again(void **state)
{
    struct psim_sweep_counts counts;

    (void)state;
    run_fates(2, "fates.sqlite", &counts);
    assert_int_equal(counts.before, 10);
    assert_int_equal(counts.done, 10);
    assert_int_equal(counts.failed, 0);
}

static void bytes_that_are_no_record_are_refused(void **state)
{
    struct psim_sweep_cell cells[PSIM_SWEEP_COLUMNS];
    struct psim_sweep_record record;
    struct psim_sweep_reading reading;
    struct psim_result row = {
        .method = "petra", .label = "a", .model = "m", .note = "", .bottleneck = "b"};
    size_t whole = 0;

    (void)state;
    psim_sweep_record_begin(&record, 3);
    psim_sweep_record_row(&record, &row);
    psim_sweep_record_end(&record, PSIM_POINT_OK, "", "hash");
    assert_true(psim_sweep_record_read(record.bytes.data, record.bytes.length, &reading));
    assert_int_equal(reading.point, 3);
    assert_string_equal(reading.inputs_sha256, "hash");
    assert_true(psim_sweep_record_next(&reading, cells));
    assert_string_equal(cells[psim_sweep_column_find("label")].text, "a");
    assert_int_equal(cells[psim_sweep_column_find("bottleneck")].kind, PSIM_CELL_TEXT);
    assert_false(psim_sweep_record_next(&reading, cells));
    for (size_t length = 0; length < record.bytes.length; length++)
        whole += psim_sweep_record_read(record.bytes.data, length, &reading) ? 1 : 0;
    assert_int_equal(whole, 0);
    record.bytes.data[record.bytes.length - 1] = 0x7f; /* of where the texts start */
    assert_false(psim_sweep_record_read(record.bytes.data, record.bytes.length, &reading));
    psim_sweep_record_release(&record);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_that_die_are_kept_with_their_cause_and_the_rest_goes_on),
        cmocka_unit_test(what_dies_does_not_depend_on_the_workers_either),
        cmocka_unit_test(what_is_there_is_not_run_again),
        cmocka_unit_test(bytes_that_are_no_record_are_refused),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

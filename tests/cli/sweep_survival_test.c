/*
 * What ends a sweep in the middle loses nothing that was done: kill -9 at fifty moments, Ctrl-C, a
 * disk that is full.
 */
#define _DEFAULT_SOURCE /* usleep */
#include "sim/plan/sweep.h"
#include "tests/support/check.h"
#include "tests/support/database.h"
#include "tests/support/program.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SMALL  PSIM_SOURCE_DIR "/scenarios/smoke/small.json"
#define KILLS  50
#define SCAN_A "batch.microbatch=1:15"
#define SCAN_B "batch.accumulation=1:10"
#define POINTS 150

static const struct psim_catalogue catalogue = {PSIM_SOURCE_DIR "/platforms"};

static void tell(void *pipe, const struct psim_sweep_counts *counts)
{
    (void)!write(*(int *)pipe, &counts->done, sizeof counts->done);
}

/* In a child: sweeps, and tells at the pipe what is done. */
static void sweep_and_tell(const char *path, int pipe)
{
    static const char *const scans[] = {SCAN_A, SCAN_B};
    const struct psim_sweep_options options = {
        .workers = 2, .shard = {0, 1}, .progress = tell, .context = &pipe};
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_store *store = NULL;
    struct psim_sweep_counts counts;
    struct psim_sweep sweep;
    const struct psim_sweep_task task = {
        .sweep = &sweep, .catalogue = &catalogue, .run = psim_sweep_simulate, .context = "replay"};
    const struct psim_store_identity identity = {"test", "none", "replay", &sweep};

    if (psim_sweep_read(SMALL, scans, 2, &catalogue, &sweep, &list) != PSIM_OK ||
        psim_store_begin(path, &identity, &store, &err) != PSIM_OK ||
        psim_sweep_run(&task, store, &options, &counts, &err) != PSIM_OK)
        _exit(1);
    psim_store_close(store);
    _exit(counts.done == POINTS ? 0 : 2);
}

static int64_t last_told(int pipe)
{
    int64_t told = 0, done;

    while (read(pipe, &done, sizeof done) == (ssize_t)sizeof done)
        told = done;
    return told;
}

/* Sweeps, and kills that at a moment, or never where it is NULL.
 * Returns how many points were told of as done; *ended: by itself. */
static int64_t sweep_and_kill(const char *path, const useconds_t *moment_us, bool *ended)
{
    int ends[2], status;
    int64_t told;
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(ends[0]);
        sweep_and_tell(path, ends[1]);
    }
    close(ends[1]);
    if (moment_us != NULL) {
        usleep(*moment_us);
        kill(child, SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    told = last_told(ends[0]);
    close(ends[0]);
    *ended = WIFEXITED(status);
    if (*ended)
        assert_int_equal(WEXITSTATUS(status), 0);
    return told;
}

/* How long it takes here if nobody ends it: what moments are drawn from. */
static double duration_us(void)
{
    struct timespec start, end;
    bool ended;

    clock_gettime(CLOCK_MONOTONIC, &start);
    assert_int_equal(sweep_and_kill("whole.sqlite", NULL, &ended), POINTS);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(ended);
    return 1e6 * (double)(end.tv_sec - start.tv_sec) + 1e-3 * (double)(end.tv_nsec - start.tv_nsec);
}

/* After every second end nobody looks in, so that the next sweep itself finds what was left. */
static void check_points(const char *path, int64_t told, int round, int64_t *before)
{
    int64_t there;

    if (round % 2 == 1 || told == 0)
        return;
    there = (int64_t)test_database_number(path, "SELECT count(*) FROM points");
    assert_true(there >= told);
    assert_true(there >= *before);
    *before = there;
}

static void kill_9_at_fifty_moments_loses_nothing(void **state)
{
    const double longest_us = duration_us();
    int kills = 0, in_the_middle = 0;
    char *whole = test_database_dump("whole.sqlite");

    (void)state;
    srand(20240601);
    for (int database = 0; kills < KILLS; database++) {
        int64_t told = 0, before = 0;
        bool ended = false;
        char path[32], *dump;

        snprintf(path, sizeof path, "killed%d.sqlite", database);
        while (!ended) {
            const useconds_t moment = (useconds_t)(longest_us * rand() / RAND_MAX);
            const int64_t now = sweep_and_kill(path, &moment, &ended);

            told = now > told ? now : told;
            check_points(path, told, kills, &before);
            kills += ended ? 0 : 1;
            in_the_middle += !ended && now > 0 && now < POINTS ? 1 : 0;
        }
        assert_int_equal(told, POINTS);
        dump = test_database_dump(path);
        assert_string_equal(dump, whole);
        free(dump);
    }
    assert_true(in_the_middle >= 5);
    free(whole);
}

/* The database as the program leaves it; `start` may limit what can be written. */
static struct test_output sweep(const struct test_start *start, const char *path, const char *more)
{
    return test_petrasim_as(start, "sweep", SMALL, "--engine=replay", "--scan", SCAN_A, "--scan",
                            SCAN_B, "--format=csv", "--workers=2", "--db", path, more);
}

static void a_full_disk_keeps_what_was_done_and_room_lets_it_go_on(void **state)
{
    const struct test_start plain = {.file_bytes_max = 0};
    struct test_output whole = sweep(&plain, "room.sqlite", NULL);
    char *want = test_database_dump("room.sqlite");
    long limit = 0, there = 0;

    (void)state;
    check_code(&whole, 0);
    for (limit = 100000; there < POINTS; limit += 40000) {
        const struct test_start full = {.file_bytes_max = limit};
        struct test_output output = sweep(&full, "full.sqlite", NULL);
        const long before = there;
        char said[64];

        there = (long)test_database_number("full.sqlite", "SELECT count(*) FROM points");
        assert_true(there >= before);
        if (there == POINTS) {
            check_code(&output, 0);
            assert_string_equal(output.out, whole.out);
        } else {
            check_code(&output, 5);
            assert_string_equal(output.out, "");
            snprintf(said, sizeof said, "%ld of %d points are done and kept", there, POINTS);
            check_contains(output.err, said);
        }
        test_output_free(&output);
        assert_true(limit < 100000000);
    }
    assert_true(limit > 140000); /* it was full at least once */
    {
        char *got = test_database_dump("full.sqlite");

        assert_string_equal(got, want);
        free(got);
    }
    free(want);
    test_output_free(&whole);
}

static long points_of(const char *path)
{
    if (!test_file_exists(path) ||
        test_database_number(path, "SELECT count(*) FROM sqlite_master WHERE name = 'points'") < 1)
        return 0;
    return (long)test_database_number(path, "SELECT count(*) FROM points");
}

/* Starts the program, interrupts it as a terminal does, so long after it has added a point or come
 * to its end, and gives its wait status. */
static int interrupt(const char *path, int signal, useconds_t after_us)
{
    const long before = points_of(path);
    int status;
    pid_t child;

    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setpgid(0, 0);
        (void)(freopen("/dev/null", "w", stdout) == NULL || freopen("said", "w", stderr) == NULL);
        execl(PSIM_PROGRAM, PSIM_PROGRAM, "sweep", SMALL, "--engine=simgrid", "--scan", SCAN_A,
              "--scan", SCAN_B, "--workers=2", "--db", path, (char *)NULL);
        _exit(99);
    }
    setpgid(child, child);
    for (int i = 0; i < 10000 && before < POINTS && points_of(path) == before; i++)
        usleep(2000);
    usleep(after_us);
    kill(-child, signal);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void an_interrupt_keeps_what_was_done_and_ends_by_its_signal(void **state)
{
    static const int signals[] = {SIGINT, SIGTERM};
    int caught = 0;

    (void)state;
    for (int round = 0; round < 8; round++) {
        const int status =
            interrupt("interrupted.sqlite", signals[round % 2], 7000 * (useconds_t)round);
        char *said = test_file_read("said", NULL);

        assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == signals[round % 2]
                                        : WEXITSTATUS(status) == 0);
        if (strstr(said, "points are done and kept") != NULL) {
            long there =
                (long)test_database_number("interrupted.sqlite", "SELECT count(*) FROM points");
            char want[64];

            snprintf(want, sizeof want, "stopped; %ld of %d points are done and kept", there,
                     POINTS);
            check_contains(said, want);
            check_near(test_database_number("interrupted.sqlite",
                                            "SELECT count(*) FROM points WHERE status <> 'ok'"),
                       0, 0);
            caught++;
        }
        free(said);
    }
    assert_true(caught >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kill_9_at_fifty_moments_loses_nothing),
        cmocka_unit_test(a_full_disk_keeps_what_was_done_and_room_lets_it_go_on),
        cmocka_unit_test(an_interrupt_keeps_what_was_done_and_ends_by_its_signal),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

/* A sweep under mpirun: the same results, and what is left when a rank dies. */
#define _DEFAULT_SOURCE /* usleep */
#include "tests/support/check.h"
#include "tests/support/database.h"
#include "tests/support/program.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SMALL  PSIM_SOURCE_DIR "/scenarios/smoke/small.json"
#define AXES   "--scan", "batch.microbatch=1:40", "--scan", "batch.accumulation=1,4"
#define POINTS 80

/* True where ranks can be started; OpenMPI is told that a test may have few cores and be root. */
static bool has_mpirun(void)
{
    if (PSIM_MPIRUN[0] == '\0' || access(PSIM_MPIRUN, X_OK) != 0)
        return false;
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* OpenMPI's own, in a build that looks for them */
    return true;
}

static struct test_output run_ranks(const char *ranks, const char *db, const char *file)
{
    const struct test_start start = {.file_bytes_max = 0};

    return test_program(&start,
                        (const char *const[]){PSIM_MPIRUN, "-n", ranks, PSIM_PROGRAM, "sweep", file,
                                              AXES, "--format=csv", "--db", db, NULL});
}

static void ranks_give_the_same_bytes_as_one_process(void **state)
{
    static const char *const ranks[] = {"2", "4"};
    struct test_output alone;
    char *want;

    (void)state;
    if (!has_mpirun())
        skip();
    alone = test_petrasim("sweep", SMALL, AXES, "--format=csv", "--db", "alone.sqlite");
    check_code(&alone, 0);
    want = test_database_dump("alone.sqlite");
    for (size_t i = 0; i < 2; i++) {
        char path[32], *got;
        struct test_output output;

        snprintf(path, sizeof path, "ranks%s.sqlite", ranks[i]);
        output = run_ranks(ranks[i], path, SMALL);
        check_code(&output, 0);
        assert_string_equal(output.out, alone.out);
        got = test_database_dump(path);
        assert_string_equal(got, want);
        free(got);
        test_output_free(&output);
    }
    free(want);
    test_output_free(&alone);
}

static void a_fault_is_said_once_and_ends_all_ranks(void **state)
{
    struct test_output output;
    const char *first;

    (void)state;
    if (!has_mpirun())
        skip();
    output = run_ranks("3", "none.sqlite", "absent.json");
    check_code(&output, 3);
    first = strstr(output.err, "absent.json: error");
    assert_non_null(first);
    assert_null(strstr(first + 1, "absent.json: error"));
    assert_false(test_file_exists("none.sqlite"));
    test_output_free(&output);
}

/* The last process whose parent is mpirun's daemon of this test: a rank other than 0, since ranks
 * are started in order. */
static pid_t last_rank(pid_t parent)
{
    DIR *processes = opendir("/proc");
    const struct dirent *entry;
    pid_t last = 0;

    while (processes != NULL && (entry = readdir(processes)) != NULL) {
        const pid_t pid = atoi(entry->d_name);
        char path[64], text[512];
        FILE *file;
        int above = 0;

        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        file = pid > 0 ? fopen(path, "r") : NULL;
        if (file == NULL)
            continue;
        if (fgets(text, sizeof text, file) != NULL && strrchr(text, ')') != NULL &&
            sscanf(strrchr(text, ')') + 1, " %*c %d", &above) == 1 && above == parent && pid > last)
            last = pid;
        fclose(file);
    }
    if (processes != NULL)
        closedir(processes);
    return last;
}

/* MPI's default: the run ends; the points that were done stay, and the same command goes on. */
static void a_rank_that_dies_costs_no_point_that_was_done(void **state)
{
    struct test_output output;
    char *got, *want;
    int status;
    double there;
    pid_t child;

    (void)state;
    if (!has_mpirun())
        skip();
    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)(freopen("/dev/null", "w", stdout) == NULL ||
               freopen("/dev/null", "w", stderr) == NULL);
        execl(PSIM_MPIRUN, PSIM_MPIRUN, "-n", "3", PSIM_PROGRAM, "sweep", SMALL, AXES, "--db",
              "killed.sqlite", (char *)NULL);
        _exit(99);
    }
    for (int i = 0; i < 3000 && !test_file_exists("killed.sqlite-wal"); i++)
        usleep(10000);
    if (last_rank(child) > 0)
        kill(last_rank(child), SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 99);
    there = test_database_number("killed.sqlite", "SELECT count(*) FROM points");
    assert_true(there <= POINTS);
    output = run_ranks("3", "killed.sqlite", SMALL);
    check_code(&output, 0);
    got = test_database_dump("killed.sqlite");
    want = test_database_dump("alone.sqlite");
    assert_string_equal(got, want);
    free(got);
    free(want);
    test_output_free(&output);
}

static void a_build_without_mpi_says_so(void **state)
{
    struct test_output output;

    (void)state;
    if (PSIM_MPIRUN[0] != '\0')
        skip();
    setenv("OMPI_COMM_WORLD_SIZE", "2", 1);
    output = test_petrasim("sweep", SMALL, AXES);
    unsetenv("OMPI_COMM_WORLD_SIZE");
    check_code(&output, 4);
    check_contains(output.err, "this build has no MPI");
    test_output_free(&output);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_give_the_same_bytes_as_one_process),
        cmocka_unit_test(a_fault_is_said_once_and_ends_all_ranks),
        cmocka_unit_test(a_rank_that_dies_costs_no_point_that_was_done),
        cmocka_unit_test(a_build_without_mpi_says_so),
    };

    return cmocka_run_group_tests(tests, test_scratch_enter, test_scratch_leave);
}

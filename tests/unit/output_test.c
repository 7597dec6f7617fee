/*
 * Writing a result: whole or not at all, and every failure with the system's reason.
 */
#include "sim/report/report.h"

#include "tests/support/check.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The whole file, to be freed; NULL when it cannot be read. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *data = NULL;
    size_t length;

    if (file == NULL)
        return NULL;
    fseek(file, 0, SEEK_END);
    length = (size_t)ftell(file);
    rewind(file);
    data = calloc(length + 1, 1);
    assert_non_null(data);
    assert_int_equal(fread(data, 1, length, file), length);
    fclose(file);
    return data;
}

/* A new folder for one test; *state is its path. */
static int make_folder(void **state)
{
    static char folder[64];

    strcpy(folder, "/tmp/psim_report_XXXXXX");
    *state = mkdtemp(folder);
    return *state == NULL ? -1 : 0;
}

static int count_entries(const char *folder)
{
    DIR *directory = opendir(folder);
    int count = -2; /* "." and ".." */

    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static int remove_folder(void **state)
{
    char path[512];

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", (const char *)*state, i == 0 ? "link" : "result");
        unlink(path);
    }
    return rmdir(*state);
}

static void file_is_replaced_whole_and_keeps_its_mode(void **state)
{
    char path[512], link_path[512];
    struct stat info;
    char *text;

    snprintf(path, sizeof path, "%s/result", (const char *)*state);
    snprintf(link_path, sizeof link_path, "%s/link", (const char *)*state);
    assert_int_equal(psim_output_write(path, "first", 5, NULL), PSIM_OK);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(symlink("result", link_path), 0);
    assert_int_equal(psim_output_write(link_path, "second\n", 7, NULL), PSIM_OK);
    text = read_file(path);
    assert_string_equal(text, "second\n");
    free(text);
    assert_int_equal(lstat(link_path, &info), 0);
    assert_true(S_ISLNK(info.st_mode));
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    assert_int_equal(count_entries(*state), 2);
}

static void folder_missing_folder_and_full_device_are_io_errors(void **state)
{
    static const char *const names[] = {"", "/missing/result", "/missing/"};
    char path[512];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct psim_error err = PSIM_ERROR_INIT;

        snprintf(path, sizeof path, "%s%s", (const char *)*state, names[i]);
        assert_int_equal(psim_output_write(path, "x", 1, &err), PSIM_ERR_IO);
        assert_string_equal(err.where, path);
        check_contains(err.message, i == 0 ? "Is a directory" : "No such file");
    }
    if (access("/dev/full", W_OK) == 0) {
        struct psim_error err = PSIM_ERROR_INIT;

        assert_int_equal(psim_output_write("/dev/full", "x", 1, &err), PSIM_ERR_IO);
        check_contains(err.message, "No space left");
    }
    assert_int_equal(count_entries(*state), 0);
}

/* Exit code of `body` in a child of its own. */
static int in_child(void (*body)(const char *argument), const char *argument)
{
    const pid_t child = fork();
    int status = 0;

    assert_true(child >= 0);
    if (child == 0) {
        body(argument);
        _exit(9);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Every file of this process ends after ten bytes: the disk is full, as far as it can tell. */
static void write_beyond_the_limit(const char *path)
{
    const struct rlimit limit = {10, 10};
    struct psim_error err = PSIM_ERROR_INIT;

    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(1);
    if (psim_output_write(path, "more than ten bytes", 19, &err) != PSIM_ERR_IO)
        _exit(2);
    _exit(strstr(err.message, "too large") == NULL ? 3 : 0);
}

static void existing_file_survives_a_failed_write(void **state)
{
    char path[512];
    char *text;

    snprintf(path, sizeof path, "%s/result", (const char *)*state);
    assert_int_equal(psim_output_write(path, "old", 3, NULL), PSIM_OK);
    assert_int_equal(in_child(write_beyond_the_limit, path), 0);
    text = read_file(path);
    assert_string_equal(text, "old");
    free(text);
    assert_int_equal(count_entries(*state), 1);
}

static void write_to_closed_stdout(const char *device)
{
    struct psim_error err = PSIM_ERROR_INIT;

    if (freopen(device, "w", stdout) == NULL)
        _exit(1);
    _exit(psim_output_write(NULL, "x", 1, &err) == PSIM_ERR_IO ? 0 : 2);
}

static void stdout_that_cannot_be_written_is_an_io_error(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(in_child(write_to_closed_stdout, "/dev/full"), 0);
    assert_int_equal(in_child(write_to_closed_stdout, "/dev/null"), 2);
}

#define file_test(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        file_test(file_is_replaced_whole_and_keeps_its_mode),
        file_test(folder_missing_folder_and_full_device_are_io_errors),
        file_test(existing_file_survives_a_failed_write),
        cmocka_unit_test(stdout_that_cannot_be_written_is_an_io_error),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

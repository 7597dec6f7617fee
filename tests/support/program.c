#define _DEFAULT_SOURCE /* mkdtemp */
#include "tests/support/program.h"

#include "tests/support/check.h"

#include <dirent.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_STARTED  99 /* of the child; the program itself never exits with it */
#define FOLDERS_OPEN 16

int test_scratch_enter(void **state)
{
    const char *parent = getenv("TMPDIR");
    const char *above = parent == NULL || parent[0] == '\0' ? "/tmp" : parent;
    char *path = malloc(strlen(above) + 32);

    if (path == NULL)
        return -1;
    sprintf(path, "%s/petrasim-test.XXXXXX", above);
    if (mkdtemp(path) == NULL || chdir(path) != 0) {
        free(path);
        return -1;
    }
    *state = path;
    return 0;
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
    (void)status, (void)type, (void)walk;
    return remove(path);
}

int test_scratch_leave(void **state)
{
    char *path = *state;
    const int result =
        chdir("/") == 0 ? nftw(path, remove_entry, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS) : -1;

    free(path);
    return result;
}

/* The personality is kept over exec; false when this machine does not let it be changed. */
static bool set_addresses(enum test_addresses addresses)
{
    const int old = personality(0xffffffff);
    int wanted;

    if (addresses == TEST_ADDRESSES_AS_IS)
        return true;
    if (old < 0)
        return false;
    wanted = addresses == TEST_ADDRESSES_FIXED ? old | ADDR_NO_RANDOMIZE : old & ~ADDR_NO_RANDOMIZE;
    return personality((unsigned long)wanted) >= 0 && personality(0xffffffff) == wanted;
}

/* With its signal ignored, a write past the limit fails with EFBIG. */
static bool set_file_limit(long bytes)
{
    const struct rlimit limit = {(rlim_t)bytes, (rlim_t)bytes};

    if (bytes == 0)
        return true;
    return signal(SIGXFSZ, SIG_IGN) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

static void become_program(const struct test_start *start, const char *const arguments[], FILE *out,
                           FILE *err)
{
    const bool opened = start->stdout_path == NULL
                            ? dup2(fileno(out), STDOUT_FILENO) >= 0
                            : freopen(start->stdout_path, "w", stdout) != NULL;

    if (opened && dup2(fileno(err), STDERR_FILENO) >= 0 && set_addresses(start->addresses) &&
        set_file_limit(start->file_bytes_max))
        execv(arguments[0], (char *const *)(uintptr_t)arguments);
    _exit(NOT_STARTED);
}

static char *take_text(FILE *file, size_t *length)
{
    char *text;
    long size;

    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    assert_true(size >= 0);
    rewind(file);
    text = malloc((size_t)size + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)size, file), size);
    text[size] = '\0';
    *length = (size_t)size;
    fclose(file);
    return text;
}

struct test_output test_program(const struct test_start *start, const char *const arguments[])
{
    FILE *out = tmpfile(), *err = tmpfile();
    struct test_output output;
    size_t err_length;
    pid_t child;
    int status;

    assert_true(out != NULL && err != NULL);
    fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
        become_program(start, arguments, out, err);
    assert_int_equal(waitpid(child, &status, 0), child);
    output.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (output.code == NOT_STARTED)
        output.code = -1;
    output.out = take_text(out, &output.out_length);
    output.err = take_text(err, &err_length);
    return output;
}

void test_output_free(struct test_output *output)
{
    free(output->out);
    free(output->err);
    *output = (struct test_output){0};
}

void test_check_code_at(const char *file, int line, const struct test_output *output, int code)
{
    if (output->code == code)
        return;
    print_error("%s:%d: exit status %d, expected %d\nstderr:\n%s\n", file, line, output->code, code,
                output->err);
    _fail(file, line);
}

char *test_file_read(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    size_t ignored;

    if (file == NULL)
        fail_msg("%s cannot be read", path);
    return take_text(file, length == NULL ? &ignored : length);
}

void test_file_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

bool test_file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int test_folder_count(const char *path)
{
    DIR *folder = opendir(path);
    int count = -2; /* "." and ".." */

    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

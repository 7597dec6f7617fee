/**
 * @file tests/support/program.h
 * Starts the program as a user would, in a scratch folder, and keeps what it left behind.
 */
#ifndef PSIM_TESTS_SUPPORT_PROGRAM_H
#define PSIM_TESTS_SUPPORT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/** cmocka group fixtures: a new folder under $TMPDIR becomes the working folder; the second
 *  removes it with all it holds. */
int test_scratch_enter(void **state);
int test_scratch_leave(void **state);

enum test_addresses { TEST_ADDRESSES_AS_IS, TEST_ADDRESSES_FIXED, TEST_ADDRESSES_RANDOM };

/** How to start the program; all zero is the ordinary way. */
struct test_start {
    const char *stdout_path; /**< NULL: standard output is captured */
    enum test_addresses addresses;
    long file_bytes_max; /**< 0: no limit; else a write past it fails as on a full disk */
};

struct test_output {
    int code;        /**< exit status; 128 + signal; -1: the start asked for could not be had */
    char *out, *err; /**< zero-terminated; out is "" when it went to a path */
    size_t out_length;
};

/** @param[in] arguments  the program's path first, NULL last */
struct test_output test_program(const struct test_start *start, const char *const arguments[]);
void test_output_free(struct test_output *output);

/** Runs the built program; at least one argument, NULL for none. */
#define test_petrasim_as(start, ...)                                                               \
    test_program((start), (const char *const[]){PSIM_PROGRAM, __VA_ARGS__, NULL})
#define test_petrasim(...) test_petrasim_as(&(struct test_start){.stdout_path = NULL}, __VA_ARGS__)

/** Fails unless the program ended with this status; prints what it said. */
void test_check_code_at(const char *file, int line, const struct test_output *output, int code);

#define check_code(output, code) test_check_code_at(__FILE__, __LINE__, (output), (code))

/** Whole file as a zero-terminated text to be freed; fails the test when it cannot be read. */
char *test_file_read(const char *path, size_t *length);
void test_file_write(const char *path, const char *text);
bool test_file_exists(const char *path);

/** Number of entries of the folder, hidden ones too. */
int test_folder_count(const char *path);

#endif

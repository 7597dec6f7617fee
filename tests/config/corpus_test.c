/*
 * The corpus of input files: valid/ must be read, as given and without white space; every case of
 * invalid/ must give exactly the lines of its file `expected`, all of them and in that order.
 */
#include "sim/config/scenario.h"

#include "sim/base/text.h"
#include "tests/support/check.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_BYTES ((off_t)64 << 20) /* the documented limit of an input file */

#define DATA PSIM_SOURCE_DIR "/tests/data/config"

static const struct psim_catalogue catalogue = {DATA "/catalogue"};

static char *read_file(const char *path)
{
    FILE *stream = fopen(path, "rb");
    struct psim_text text = PSIM_TEXT_INIT;
    char buffer[4096];
    size_t got;

    if (stream == NULL)
        fail_msg("%s cannot be opened", path);
    psim_text_append(&text, "", 0);
    while ((got = fread(buffer, 1, sizeof buffer, stream)) > 0)
        psim_text_append(&text, buffer, got);
    fclose(stream);
    return text.data;
}

static void write_file(const char *path, const char *bytes, size_t length)
{
    FILE *stream = fopen(path, "wb");

    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, length, stream), length);
    assert_int_equal(fclose(stream), 0);
}

/* All lines that checking a file gives; released with psim_free. */
static char *lines_of(const char *file, enum psim_status *status)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_text text = PSIM_TEXT_INIT;
    const char *kind = "none";

    *status = psim_file_check(file, &catalogue, &kind, &list);
    psim_text_append(&text, "", 0);
    for (size_t i = 0; i < list.count; i++)
        psim_text_printf(&text, "%s\n", psim_diagnostic_line(&list, i));
    psim_diagnostics_release(&list);
    return text.data;
}

/* Checks the case in the current folder; says whether it is as expected, and if not, why. */
static bool case_is_as_expected(const char *name)
{
    enum psim_status status;
    char *got = lines_of("input.json", &status), *expected = read_file("expected");
    const bool good = status != PSIM_OK && got[0] != '\0' && strcmp(got, expected) == 0;

    if (!good)
        print_error("%s: status %d, got:\n%sexpected:\n%s", name, status, got, expected);
    psim_free(got);
    psim_free(expected);
    return good;
}

static int not_hidden(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void every_invalid_file_gives_exactly_its_lines(void **state)
{
    struct dirent **entries;
    const int count = scandir(DATA "/invalid", &entries, not_hidden, alphasort);
    int failed = 0;

    (void)state;
    assert_true(count >= 80);
    for (int i = 0; i < count; i++) {
        char folder[512];

        snprintf(folder, sizeof folder, DATA "/invalid/%s", entries[i]->d_name);
        assert_int_equal(chdir(folder), 0);
        failed += case_is_as_expected(entries[i]->d_name) ? 0 : 1;
        free(entries[i]);
    }
    free(entries);
    assert_int_equal(failed, 0);
}

/* A folder of its own for files that a test writes. */
static void enter_scratch_folder(char *folder)
{
    strcpy(folder, "/tmp/psim-corpus-XXXXXX");
    assert_non_null(mkdtemp(folder));
    assert_int_equal(chdir(folder), 0);
}

static void leave_scratch_folder(const char *folder)
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, not_hidden, alphasort);

    for (int i = 0; i < count; i++) {
        unlink(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(folder), 0);
}

static void checker_rejects_another_position_and_a_missing_line(void **state)
{
    static const char input[] = "{ \"petrasim\": \"device/2\" }\n";
    static const char elsewhere[] = "input.json:1:16: error: .petrasim: unknown version "
                                    "\"device/2\"; this program reads \"device/1\"\n";
    static const char *const wrong[] = {elsewhere, "",
                                        "input.json:1:15: error: .petrasim: something else\n"};
    static const char right[] = "input.json:1:15: error: .petrasim: unknown version \"device/2\"; "
                                "this program reads \"device/1\"\n";
    char folder[64];

    (void)state;
    enter_scratch_folder(folder);
    write_file("input.json", input, sizeof input - 1);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        write_file("expected", wrong[i], strlen(wrong[i]));
        assert_false(case_is_as_expected("a case that must be rejected"));
    }
    write_file("expected", right, sizeof right - 1);
    assert_true(case_is_as_expected("the same with the right line"));
    leave_scratch_folder(folder);
}

/* Calls `look` with the name and text of every valid file. */
static void for_each_valid(void (*look)(const char *name, const char *text))
{
    struct dirent **entries;
    const int count = scandir(DATA "/valid", &entries, not_hidden, alphasort);

    assert_true(count >= 10);
    for (int i = 0; i < count; i++) {
        char path[512], *text;

        snprintf(path, sizeof path, DATA "/valid/%s", entries[i]->d_name);
        text = read_file(path);
        look(entries[i]->d_name, text);
        psim_free(text);
        free(entries[i]);
    }
    free(entries);
}

static void must_be_accepted(const char *name, const char *text)
{
    enum psim_status status;
    char *got = lines_of(name, &status);

    (void)text;
    if (status != PSIM_OK || got[0] != '\0')
        fail_msg("%s: status %d\n%s", name, status, got);
    psim_free(got);
}

static void write_without_space(const char *name, const char *text)
{
    struct psim_text stripped = PSIM_TEXT_INIT;
    bool inside = false;

    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' && (c == text || c[-1] != '\\'))
            inside = !inside;
        if (inside || strchr(" \t\r\n", *c) == NULL)
            psim_text_append(&stripped, c, 1);
    }
    if (stripped.failed || stripped.data == NULL) {
        fail();
        return;
    }
    assert_null(strchr(stripped.data, '\n'));
    write_file(name, stripped.data, stripped.length);
    psim_text_release(&stripped);
}

static void valid_files_are_accepted(void **state)
{
    (void)state;
    assert_int_equal(chdir(DATA "/valid"), 0);
    for_each_valid(must_be_accepted);
}

static void valid_files_without_white_space_are_accepted(void **state)
{
    char folder[64];

    (void)state;
    enter_scratch_folder(folder);
    for_each_valid(write_without_space);
    for_each_valid(must_be_accepted);
    leave_scratch_folder(folder);
}

/* A file with a hole: its zero bytes would be a syntax error if they were read. */
static void file_above_64_mib_is_refused_unread(void **state)
{
    static const char scenario[] =
        "{ \"petrasim\": \"scenario/1\", \"platform\": \"large.json\", \"methods\": [\"gpipe\"],\n"
        "  \"model\": { \"file\": \"large.json\" }, \"batch\": { \"microbatch\": 1 } }\n";
    char folder[64], *got;
    enum psim_status status;

    (void)state;
    enter_scratch_folder(folder);
    write_file("large.json", "", 0);
    assert_int_equal(truncate("large.json", LIMIT_BYTES + 1), 0);
    write_file("input.json", scenario, sizeof scenario - 1);
    got = lines_of("large.json", &status);
    assert_string_equal(got, "large.json: error: is larger than 64 MiB\n");
    assert_int_equal(status, PSIM_ERR_IO);
    psim_free(got);
    got = lines_of("input.json", &status);
    assert_string_equal(
        got,
        "input.json:1:41: error: .platform: the file \"large.json\" is larger than 64 MiB\n"
        "input.json:2:22: error: .model.file: the file \"large.json\" is larger than 64 MiB\n");
    psim_free(got);
    assert_int_equal(truncate("large.json", LIMIT_BYTES), 0);
    got = lines_of("large.json", &status);
    assert_string_equal(got, "large.json:1:1: error: a value is expected, not a zero byte\n");
    assert_int_equal(status, PSIM_ERR_SYNTAX);
    psim_free(got);
    leave_scratch_folder(folder);
}

static void missing_file_and_folder_are_errors_of_the_file(void **state)
{
    enum psim_status status;
    char *got;

    (void)state;
    assert_int_equal(chdir(DATA), 0);
    got = lines_of("nowhere.json", &status);
    assert_string_equal(got, "nowhere.json: error: cannot be read: No such file or directory\n");
    assert_int_equal(status, PSIM_ERR_IO);
    psim_free(got);
    got = lines_of("valid", &status);
    assert_string_equal(got, "valid: error: is a folder\n");
    psim_free(got);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_invalid_file_gives_exactly_its_lines),
        cmocka_unit_test(checker_rejects_another_position_and_a_missing_line),
        cmocka_unit_test(valid_files_are_accepted),
        cmocka_unit_test(valid_files_without_white_space_are_accepted),
        cmocka_unit_test(file_above_64_mib_is_refused_unread),
        cmocka_unit_test(missing_file_and_folder_are_errors_of_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

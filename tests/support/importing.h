/**
 * @file tests/support/importing.h
 * Importing a text in a test, and reading what came out through the readers of sim/config.
 *
 * What is read is first written to a file, so a test that does it has a scratch folder
 * (tests/support/program.h).
 */
#ifndef PSIM_TESTS_SUPPORT_IMPORTING_H
#define PSIM_TESTS_SUPPORT_IMPORTING_H

#include "sim/config/scenario.h"
#include "sim/import/importer.h"

#define TEST_IMPORT_DATA PSIM_SOURCE_DIR "/tests/data/import/"
#define TEST_IMPORTED    "imported.json" /* in the scratch folder: the last platform */

/** The project's own. */
extern const struct psim_catalogue test_catalogue;

struct test_imported {
    struct psim_text text;
    struct psim_diagnostics list;
    enum psim_status status;
};

/** Imports a text as the file "given". */
struct test_imported test_import(const char *kind, const char *device, const char *text,
                                 size_t length);
void test_imported_release(struct test_imported *r);

/** Fails the test, with what was reported, unless something came out. */
void test_imported_check(struct test_imported *r);

/** What a text, or the import of one, is read as; fails the test when the reader refuses it. */
struct psim_platform test_platform_of(const char *text);
struct psim_platform test_import_platform(const char *kind, const char *device, const char *text);

/** The scenario that has this "model", on eight devices. */
struct psim_scenario test_scenario_of(const char *model);

/** The example of a kind, to be freed. */
char *test_import_example(const char *kind);

#endif

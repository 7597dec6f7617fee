/**
 * @file tests/support/database.h
 * Looks into the SQLite database that a sweep leaves behind.
 */
#ifndef PSIM_TESTS_SUPPORT_DATABASE_H
#define PSIM_TESTS_SUPPORT_DATABASE_H

/** Everything that a database holds, tables in the order of their names and rows in that of their
 *  keys, as one text to be freed; fails the test when it cannot be read. */
char *test_database_dump(const char *path);

/** The first number that a query gives; fails the test when there is none. */
double test_database_number(const char *path, const char *sql);

/** Runs statements; fails the test when one fails. */
void test_database_change(const char *path, const char *sql);

#endif

/**
 * @file tests/support/json_values.h
 * JSON read back in a test: values by pointer (RFC 6901), documents compared by value.
 */
#ifndef PSIM_TESTS_SUPPORT_JSON_VALUES_H
#define PSIM_TESTS_SUPPORT_JSON_VALUES_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/** The document; fails the test when the text is not JSON, or a key is given twice. */
json_t *test_json_parse(const char *text);

/** The value at a pointer such as "/results/0/label"; NULL when there is none. */
json_t *test_json_at(const json_t *root, const char *pointer);

/** The number or text at a pointer; fails the test when there is none. */
double test_json_number(const json_t *root, const char *pointer);
const char *test_json_text(const json_t *root, const char *pointer);

/**
 * Compares two documents: the same keys, the same texts, numbers within a relative tolerance.
 * @param[in]  free_values  pointers whose values may differ, NULL last; their keys must be there
 * @param[out] where        the pointer of the first difference
 */
bool test_json_same(const json_t *got, const json_t *want, double tolerance,
                    const char *const free_values[], char *where, size_t size);

#endif

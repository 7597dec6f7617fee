/**
 * @file tests/support/schema_parts.h
 * Which parts of the JSON Schemas of docs/schemas apply to a value.
 *
 * Called by schema_walk.c and by the tests of schemas.  References are followed and conditions
 * decided; values are not validated.  A keyword that an "if" has and that is not known here fails
 * the test.
 */
#ifndef PSIM_TESTS_SUPPORT_SCHEMA_PARTS_H
#define PSIM_TESTS_SUPPORT_SCHEMA_PARTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define TEST_SCHEMAS      9
#define TEST_SCHEMA_PARTS 64 /* that apply to one value */

/** The schemas of all formats, and what they share. */
struct test_schemas {
    json_t *roots[TEST_SCHEMAS];
};

void test_schemas_load(struct test_schemas *out);
void test_schemas_free(struct test_schemas *schemas);

/** The schema whose file's name starts so: "scenario"; fails the test when there is none. */
json_t *test_schemas_find(const struct test_schemas *schemas, const char *name, size_t length);

/** A part of a schema, and the document that its references start from; borrowed. */
struct test_schema_part {
    json_t *schema, *document;
    bool choice; /**< one of several that may hold: what it demands is not demanded by itself */
};

struct test_schema_parts {
    struct test_schema_part at[TEST_SCHEMA_PARTS];
    int count;
};

/** All parts that apply to a value, from those where its schemas begin. */
struct test_schema_parts test_schema_parts(const struct test_schemas *schemas,
                                           const struct test_schema_parts *from,
                                           const json_t *value);

/** Where the schemas of a member begin or, with key NULL, those of an element. */
struct test_schema_parts test_schema_inner(const struct test_schema_parts *parts, const char *key,
                                           size_t index);

/** The value of a keyword in the first part that has it and is no choice; NULL: none has. */
const json_t *test_schema_keyword(const struct test_schema_parts *parts, const char *keyword);

/** True when a list, which may be NULL, has the text. */
bool test_schema_lists(const json_t *list, const char *text);

/** True when an object has all keys of a list, which may be NULL. */
bool test_schema_has_all(const json_t *object, const json_t *keys);

#endif

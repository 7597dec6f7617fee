#include "tests/support/schema_parts.h"

#include "tests/support/check.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const schema_names[] = {
    "collectives-1.schema.json", "common.schema.json",     "device-1.schema.json",
    "model-1.schema.json",       "plan-1.schema.json",     "platform-1.schema.json",
    "result-1.schema.json",      "scenario-1.schema.json", "sweep-1.schema.json"};

void test_schemas_load(struct test_schemas *out)
{
    for (size_t i = 0; i < TEST_SCHEMAS; i++) {
        char path[512], *text;

        snprintf(path, sizeof path, PSIM_SOURCE_DIR "/docs/schemas/%s", schema_names[i]);
        text = test_file_read(path, NULL);
        out->roots[i] = test_json_parse(text);
        free(text);
    }
}

void test_schemas_free(struct test_schemas *schemas)
{
    for (size_t i = 0; i < TEST_SCHEMAS; i++)
        json_decref(schemas->roots[i]);
}

json_t *test_schemas_find(const struct test_schemas *schemas, const char *name, size_t length)
{
    for (size_t i = 0; i < TEST_SCHEMAS; i++) {
        if (strncmp(schema_names[i], name, length) == 0)
            return schemas->roots[i];
    }
    fail_msg("there is no schema %.*s", (int)length, name);
    return NULL;
}

bool test_schema_lists(const json_t *list, const char *text)
{
    size_t i;
    json_t *entry;

    json_array_foreach(list, i, entry)
    {
        if (json_is_string(entry) && strcmp(json_string_value(entry), text) == 0)
            return true;
    }
    return false;
}

static bool holds(const json_t *condition, const json_t *value);

static bool holds_for_members(const json_t *members, const json_t *object)
{
    const char *key;
    json_t *condition;

    json_object_foreach((json_t *)members, key, condition)
    {
        const json_t *member = json_object_get(object, key);

        if (member != NULL && !holds(condition, member))
            return false;
    }
    return true;
}

bool test_schema_has_all(const json_t *object, const json_t *keys)
{
    size_t i;
    json_t *key;

    json_array_foreach(keys, i, key)
    {
        if (json_object_get(object, json_string_value(key)) == NULL)
            return false;
    }
    return true;
}

static bool any_holds(const json_t *conditions, const json_t *value)
{
    size_t i;
    json_t *condition;

    json_array_foreach(conditions, i, condition)
    {
        if (holds(condition, value))
            return true;
    }
    return false;
}

static bool contains(const json_t *list, const json_t *condition)
{
    size_t i;
    json_t *entry;

    json_array_foreach(list, i, entry)
    {
        if (holds(condition, entry))
            return true;
    }
    return false;
}

static bool has_type(const json_t *value, const char *type)
{
    return strcmp(type, "array") == 0    ? json_is_array(value)
           : strcmp(type, "object") == 0 ? json_is_object(value)
                                         : json_is_string(value);
}

/* Of the keywords of JSON Schema those that stand in an "if". */
static bool holds(const json_t *condition, const json_t *value)
{
    const char *keyword;
    json_t *wanted;

    json_object_foreach((json_t *)condition, keyword, wanted)
    {
        bool good = false;

        if (strcmp(keyword, "type") == 0)
            good = has_type(value, json_string_value(wanted));
        else if (strcmp(keyword, "required") == 0)
            good = test_schema_has_all(value, wanted);
        else if (strcmp(keyword, "properties") == 0)
            good = holds_for_members(wanted, value);
        else if (strcmp(keyword, "const") == 0)
            good = json_equal(wanted, value) != 0;
        else if (strcmp(keyword, "enum") == 0)
            good = json_is_string(value) && test_schema_lists(wanted, json_string_value(value));
        else if (strcmp(keyword, "anyOf") == 0)
            good = any_holds(wanted, value);
        else if (strcmp(keyword, "contains") == 0)
            good = contains(value, wanted);
        else if (strcmp(keyword, "exclusiveMinimum") == 0)
            good = json_number_value(value) > json_number_value(wanted);
        else
            fail_msg("the keyword \"%s\" in an \"if\" is not known to this test", keyword);
        if (!good)
            return false;
    }
    return true;
}

static void collect(const struct test_schemas *schemas, struct test_schema_part part,
                    const json_t *value, struct test_schema_parts *out);

static void collect_list(const struct test_schemas *schemas, struct test_schema_part part,
                         const char *keyword, const json_t *value, struct test_schema_parts *out)
{
    size_t i;
    json_t *entry;

    json_array_foreach(json_object_get(part.schema, keyword), i, entry)
    {
        const bool choice = part.choice || strcmp(keyword, "allOf") != 0;

        collect(schemas, (struct test_schema_part){entry, part.document, choice}, value, out);
    }
}

/* Adds a part and all that it refers to, as far as it applies to the value. */
static void collect(const struct test_schemas *schemas, struct test_schema_part part,
                    const json_t *value, struct test_schema_parts *out)
{
    const char *reference = json_string_value(json_object_get(part.schema, "$ref"));
    const json_t *condition = json_object_get(part.schema, "if");

    if (part.schema == NULL)
        return;
    assert_true(out->count < TEST_SCHEMA_PARTS);
    out->at[out->count++] = part;
    if (reference != NULL) {
        const size_t length = strcspn(reference, "#");
        json_t *document =
            length == 0 ? part.document : test_schemas_find(schemas, reference, length);
        json_t *target = test_json_at(document, reference + length + 1);

        assert_non_null(target);
        collect(schemas, (struct test_schema_part){target, document, part.choice}, value, out);
    }
    collect_list(schemas, part, "allOf", value, out);
    collect_list(schemas, part, "anyOf", value, out);
    collect_list(schemas, part, "oneOf", value, out);
    if (condition != NULL) {
        part.schema = json_object_get(part.schema, holds(condition, value) ? "then" : "else");
        collect(schemas, part, value, out);
    }
}

struct test_schema_parts test_schema_parts(const struct test_schemas *schemas,
                                           const struct test_schema_parts *from,
                                           const json_t *value)
{
    struct test_schema_parts all = {.count = 0};

    for (int i = 0; i < from->count; i++)
        collect(schemas, from->at[i], value, &all);
    return all;
}

struct test_schema_parts test_schema_inner(const struct test_schema_parts *parts, const char *key,
                                           size_t index)
{
    struct test_schema_parts inner = {.count = 0};

    for (int i = 0; i < parts->count; i++) {
        const json_t *schema = parts->at[i].schema;
        json_t *found = json_array_get(json_object_get(schema, "prefixItems"), index);

        if (key != NULL)
            found = json_object_get(json_object_get(schema, "properties"), key);
        else if (found == NULL)
            found = json_object_get(schema, "items");
        if (key != NULL && found == NULL && key[0] != '_')
            found = json_object_get(schema, "additionalProperties");
        if (json_is_object(found))
            inner.at[inner.count++] =
                (struct test_schema_part){found, parts->at[i].document, parts->at[i].choice};
    }
    return inner;
}

const json_t *test_schema_keyword(const struct test_schema_parts *parts, const char *keyword)
{
    for (int i = 0; i < parts->count; i++) {
        const json_t *found = json_object_get(parts->at[i].schema, keyword);

        if (found != NULL && !parts->at[i].choice)
            return found;
    }
    return NULL;
}

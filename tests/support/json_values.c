#include "tests/support/json_values.h"

#include "tests/support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define POINTER_BYTES 512

json_t *test_json_parse(const char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

    if (root == NULL)
        fail_msg("not JSON, line %d column %d: %s", error.line, error.column, error.text);
    return root;
}

/* Copies one step of a pointer with ~1 and ~0 resolved; returns what follows it. */
static const char *take_step(const char *pointer, char *step, size_t size)
{
    size_t used = 0;

    for (pointer++; *pointer != '\0' && *pointer != '/'; pointer++) {
        char c = *pointer;

        if (c == '~' && (pointer[1] == '0' || pointer[1] == '1'))
            c = *++pointer == '0' ? '~' : '/';
        assert_true(used + 1 < size);
        step[used++] = c;
    }
    step[used] = '\0';
    return pointer;
}

json_t *test_json_at(const json_t *root, const char *pointer)
{
    json_t *value = (json_t *)(uintptr_t)root;
    char step[128], *end;

    while (value != NULL && *pointer != '\0') {
        if (*pointer != '/')
            return NULL;
        pointer = take_step(pointer, step, sizeof step);
        if (json_is_array(value)) {
            const unsigned long index = strtoul(step, &end, 10);

            value = step[0] == '\0' || *end != '\0' ? NULL : json_array_get(value, index);
        } else {
            value = json_object_get(value, step);
        }
    }
    return value;
}

double test_json_number(const json_t *root, const char *pointer)
{
    const json_t *value = test_json_at(root, pointer);

    if (!json_is_number(value))
        fail_msg("no number at %s", pointer);
    return json_number_value(value);
}

const char *test_json_text(const json_t *root, const char *pointer)
{
    const json_t *value = test_json_at(root, pointer);

    if (!json_is_string(value))
        fail_msg("no text at %s", pointer);
    return json_string_value(value);
}

struct comparison {
    double tolerance;
    const char *const *free_values;
    char *where;
    size_t size;
};

/* A share of nearly nothing is a difference of dates: it carries their rounding. */
#define ROUNDING_FLOOR 1e-12

static bool same(const struct comparison *c, const char *pointer, const json_t *got,
                 const json_t *want);

static bool differs(const struct comparison *c, const char *pointer)
{
    snprintf(c->where, c->size, "%s", pointer);
    return false;
}

static bool is_free(const struct comparison *c, const char *pointer)
{
    for (size_t i = 0; c->free_values[i] != NULL; i++) {
        if (strcmp(c->free_values[i], pointer) == 0)
            return true;
    }
    return false;
}

static bool same_objects(const struct comparison *c, const char *pointer, const json_t *got,
                         const json_t *want)
{
    char below[POINTER_BYTES];
    const char *key;
    json_t *value;

    if (json_object_size(got) != json_object_size(want))
        return differs(c, pointer);
    json_object_foreach((json_t *)(uintptr_t)want, key, value)
    {
        snprintf(below, sizeof below, "%s/%s", pointer, key);
        if (!same(c, below, json_object_get(got, key), value))
            return false;
    }
    return true;
}

static bool same_arrays(const struct comparison *c, const char *pointer, const json_t *got,
                        const json_t *want)
{
    char below[POINTER_BYTES];

    if (json_array_size(got) != json_array_size(want))
        return differs(c, pointer);
    for (size_t i = 0; i < json_array_size(want); i++) {
        snprintf(below, sizeof below, "%s/%zu", pointer, i);
        if (!same(c, below, json_array_get(got, i), json_array_get(want, i)))
            return false;
    }
    return true;
}

static bool same(const struct comparison *c, const char *pointer, const json_t *got,
                 const json_t *want)
{
    if (got == NULL || want == NULL)
        return differs(c, pointer);
    if (is_free(c, pointer))
        return true;
    if (json_is_number(got) && json_is_number(want))
        return psim_near(json_number_value(got), json_number_value(want), c->tolerance) ||
               fabs(json_number_value(got) - json_number_value(want)) <= ROUNDING_FLOOR ||
               differs(c, pointer);
    if (json_typeof(got) != json_typeof(want))
        return differs(c, pointer);
    if (json_is_object(want))
        return same_objects(c, pointer, got, want);
    if (json_is_array(want))
        return same_arrays(c, pointer, got, want);
    return json_equal(got, want) || differs(c, pointer);
}

bool test_json_same(const json_t *got, const json_t *want, double tolerance,
                    const char *const free_values[], char *where, size_t size)
{
    const struct comparison c = {tolerance, free_values, where, size};

    return same(&c, "", got, want);
}

#include "tests/support/schema_walk.h"

#include "sim/base/text.h"
#include "sim/config/scenario.h"
#include "tests/support/check.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STRANGE "@@@@@@@@@@@@@@@@@@@@" /* near no key and no word */
#define CHANGED "changed.json"

static const struct psim_catalogue catalogue = {PSIM_SOURCE_DIR "/tests/data/config/catalogue"};

static void note(struct test_schema_walk *walk, const char *path, const char *what,
                 const char *detail)
{
    if (walk->faults++ == 0)
        snprintf(walk->first_fault, sizeof walk->first_fault, "%s: %s: %s: %s", walk->file, path,
                 what, detail);
}

/* What the reader says at a path of the file as it is now, where that starts with `start`; "" when
 * it says no such thing.  The text is the caller's. */
static char *reader_says(struct test_schema_walk *walk, const char *path, const char *start)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    char *text = json_dumps(walk->root, 0), *message = NULL;
    const char *kind;

    assert_non_null(text);
    test_file_write(CHANGED, text);
    free(text);
    if (psim_file_check(CHANGED, &catalogue, &kind, &list) == PSIM_ERR_NOMEM)
        fail_msg("out of memory");
    for (size_t i = 0; message == NULL && i < list.count; i++) {
        if (list.items[i].severity == PSIM_SEVERITY_ERROR &&
            strcmp(list.items[i].at.file, CHANGED) == 0 && strcmp(list.items[i].path, path) == 0 &&
            strncmp(list.items[i].message, start, strlen(start)) == 0)
            message = strdup(list.items[i].message);
    }
    psim_diagnostics_release(&list);
    return message != NULL ? message : strdup("");
}

/* Compares "a, b, c", up to `end`, with the schema's keys (an object) or words (a list). */
static void compare_names(struct test_schema_walk *walk, const char *path, const char *text,
                          const char *end, const json_t *names)
{
    const size_t length = end == NULL ? strlen(text) : (size_t)(end - text);
    size_t count = json_is_object(names) ? json_object_size(names) : json_array_size(names);
    char copy[512];

    count -= json_object_get(names, "petrasim") != NULL ? 1 : 0;
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    for (char *name = strtok(copy, ", "); name != NULL; name = strtok(NULL, ", ")) {
        if (json_object_get(names, name) == NULL && !test_schema_lists(names, name))
            note(walk, path, "only the reader knows", name);
        count--;
    }
    if (count != 0)
        note(walk, path, "only the schema knows more than", text);
}

static void inner_path(char *out, size_t size, const char *path, const char *key, size_t index)
{
    char quoted[PSIM_QUOTED_BYTES];

    if (key == NULL) {
        snprintf(out, size, "%s[%zu]", path, index);
    } else if (key[strspn(key,
                          "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")] ==
               '\0') {
        snprintf(out, size, "%s.%s", path, key);
    } else {
        psim_text_quote(key, quoted);
        snprintf(out, size, "%s[%s]", path, quoted);
    }
}

/* The reader lists the keys that it knows when it is given a strange one. */
static void check_keys(struct test_schema_walk *walk, json_t *object, const char *path,
                       const json_t *closed)
{
    static const char start[] = "unknown key \"" STRANGE "\"; known here: ";
    char *message, strange_path[512];

    inner_path(strange_path, sizeof strange_path, path, STRANGE, 0);
    json_object_set_new(object, STRANGE, json_true());
    message = reader_says(walk, strange_path, start);
    json_object_del(object, STRANGE);
    if (message[0] == '\0')
        note(walk, path, "the reader takes any key", STRANGE);
    else
        compare_names(walk, path, message + strlen(start), NULL,
                      json_object_get(closed, "properties"));
    free(message);
}

static bool requires(const struct test_schema_parts *parts, const char *key, bool choices)
{
    for (int i = 0; i < parts->count; i++) {
        const json_t *schema = parts->at[i].schema;

        if ((choices || !parts->at[i].choice) &&
            test_schema_lists(json_object_get(schema, "required"), key))
            return true;
        if (choices && json_object_get(json_object_get(schema, "dependentRequired"), key) != NULL)
            return true;
    }
    return false;
}

/* Takes a key away: the reader must miss it if and only if the schema does. */
static void check_required(struct test_schema_walk *walk, json_t *object, const char *path,
                           const char *key, const struct test_schema_parts *from)
{
    json_t *value = json_incref(json_object_get(object, key));
    struct test_schema_parts parts;
    char start[160], *missing, *any;

    json_object_del(object, key);
    parts = test_schema_parts(walk->schemas, from, object);
    snprintf(start, sizeof start, "missing key \"%s\"", key);
    missing = reader_says(walk, path, start);
    any = reader_says(walk, path, "");
    if (requires(&parts, key, false) && any[0] == '\0')
        note(walk, path, "only the schema requires", key);
    /* What follows a colon says that the key is needed here, because of something else. */
    if (missing[0] != '\0' && missing[strlen(start)] != ':' && !requires(&parts, key, true))
        note(walk, path, "only the reader requires", key);
    free(missing);
    free(any);
    json_object_set_new(object, key, value);
}

/* The file is valid: what the schema requires must be there. */
static void check_present(struct test_schema_walk *walk, const json_t *object, const char *path,
                          const struct test_schema_parts *parts)
{
    for (int i = 0; i < parts->count; i++) {
        if (!parts->at[i].choice &&
            !test_schema_has_all(object, json_object_get(parts->at[i].schema, "required")))
            note(walk, path, "only the schema requires a key that is not there", "");
    }
}

/* The part that says which keys an object has; there must be one, and only one. */
static const struct test_schema_part *
closed_part(struct test_schema_walk *walk, const struct test_schema_parts *parts, const char *path)
{
    const struct test_schema_part *closed = NULL;
    int count = 0;

    for (int i = 0; i < parts->count; i++) {
        if (json_object_get(parts->at[i].schema, "additionalProperties") != NULL) {
            closed = &parts->at[i];
            count++;
        }
    }
    if (count != 1)
        note(walk, path, "not one schema says which keys there are",
             count == 0 ? "none" : "several");
    return count == 1 ? closed : NULL;
}

/* What a walk has met of a schema: the part itself and, with a key, one of its keys. */
static void met_name(char *out, size_t size, const json_t *schema, const char *key)
{
    snprintf(out, size, "%p %s", (const void *)schema, key);
}

static void check_object(struct test_schema_walk *walk, json_t *object, const char *path,
                         const struct test_schema_parts *from,
                         const struct test_schema_parts *parts)
{
    const struct test_schema_part *closed = closed_part(walk, parts, path);
    json_t *copy = json_copy(object), *member;
    char name[256];
    const char *key;

    if (closed == NULL)
        goto out;
    check_present(walk, object, path, parts);
    met_name(name, sizeof name, closed->schema, "");
    json_object_set_new(walk->met, name, json_true());
    json_object_foreach(copy, key, member)
    {
        met_name(name, sizeof name, closed->schema, key);
        json_object_set_new(walk->met, name, json_true());
        if (walk->read && key[0] != '_')
            check_required(walk, object, path, key, from);
    }
    if (!json_is_false(json_object_get(closed->schema, "additionalProperties")))
        goto out;
    if (walk->read)
        check_keys(walk, object, path, closed->schema);
    else if (json_object_size(object) !=
             json_array_size(json_object_get(closed->schema, "required")))
        note(walk, path, "not every key is required", "");
out:
    json_decref(copy);
}

/* Where a value stands in its file, to be replaced for a moment. */
struct slot {
    json_t *parent;
    const char *key; /* NULL: an element */
    size_t index;
};

static char *reader_says_of(struct test_schema_walk *walk, struct slot slot, json_t *value,
                            const char *path, const char *start)
{
    json_t *was = slot.key != NULL ? json_object_get(slot.parent, slot.key)
                                   : json_array_get(slot.parent, slot.index);
    char *message;

    json_incref(was);
    if (slot.key != NULL)
        json_object_set_new(slot.parent, slot.key, value);
    else
        json_array_set_new(slot.parent, slot.index, value);
    message = reader_says(walk, path, start);
    if (slot.key != NULL)
        json_object_set_new(slot.parent, slot.key, was);
    else
        json_array_set_new(slot.parent, slot.index, was);
    return message;
}

/* The longest of the lists of words: the others are of what a part of them has in common. */
static const json_t *words_of(const struct test_schema_parts *parts)
{
    const json_t *words = NULL;

    for (int i = 0; i < parts->count; i++) {
        const json_t *found = json_object_get(parts->at[i].schema, "enum");

        if (json_array_size(found) > json_array_size(words))
            words = found;
    }
    return words;
}

/* The reader lists the words that it knows when it is given a strange one, unless there are names
 * among them that come from elsewhere. */
static void check_words(struct test_schema_walk *walk, struct slot slot, const char *path,
                        const struct test_schema_parts *parts)
{
    static const char list[] = "must be one of ", alone[] = " is expected, not ";
    const json_t *words = words_of(parts);
    size_t i;
    json_t *word;
    char *message;

    if (words == NULL)
        return;
    message = reader_says_of(walk, slot, json_string(STRANGE), path, "");
    if (message[0] == '\0')
        note(walk, path, "the reader takes any word", "");
    else if (strncmp(message, list, strlen(list)) == 0)
        compare_names(walk, path, message + strlen(list), strstr(message, ", not \""), words);
    else if (strstr(message, alone) != NULL) {
        json_array_foreach(words, i, word)
        {
            if (strstr(message, json_string_value(word)) == NULL)
                note(walk, path, "only the schema knows", json_string_value(word));
        }
    }
    free(message);
}

/* The reader names the range when it is given a number out of it. */
static void check_range(struct test_schema_walk *walk, struct slot slot, const char *path,
                        const struct test_schema_parts *parts)
{
    const json_t *minimum = test_schema_keyword(parts, "minimum"),
                 *maximum = test_schema_keyword(parts, "maximum");
    const json_t *above = test_schema_keyword(parts, "exclusiveMinimum");
    const double least = json_number_value(above != NULL ? above : minimum);
    const double most = json_number_value(maximum);
    char range[96], *message;

    if (minimum == NULL && above == NULL) {
        note(walk, path, "the schema gives no range", "");
        return;
    }
    if (maximum != NULL)
        snprintf(range, sizeof range, "must be in %s%.17g, %.17g], not ", above != NULL ? "(" : "[",
                 least, most);
    else
        snprintf(range, sizeof range, "must be at least %.17g, not ", least);
    message = reader_says_of(walk, slot,
                             json_integer((json_int_t)(maximum != NULL ? most + 2 : least - 2)),
                             path, range);
    if (message[0] == '\0')
        note(walk, path, "not the reader's range", range);
    free(message);
}

/* The reader says how many elements there may be when there are none. */
static void check_length(struct test_schema_walk *walk, struct slot slot, const char *path,
                         const struct test_schema_parts *parts)
{
    const json_t *least = test_schema_keyword(parts, "minItems"),
                 *most = test_schema_keyword(parts, "maxItems");
    char *message = reader_says_of(walk, slot, json_array(), path, "");
    long minimum, maximum;

    if (least == NULL && message[0] != '\0')
        note(walk, path, "the schema takes no elements, the reader", message);
    if (least != NULL && message[0] == '\0')
        note(walk, path, "the reader takes no elements", "");
    if (least != NULL && most != NULL &&
        sscanf(message, "must have %ld to %ld elements", &minimum, &maximum) == 2 &&
        (minimum != json_integer_value(least) || maximum != json_integer_value(most)))
        note(walk, path, "not the reader's length", message);
    free(message);
}

static void walk_value(struct test_schema_walk *walk, struct slot slot, json_t *value,
                       const char *path, const struct test_schema_parts *from)
{
    const struct test_schema_parts parts = test_schema_parts(walk->schemas, from, value);
    char name[512];
    const char *key;
    json_t *inner;
    size_t i;

    if (json_is_object(value)) {
        json_t *copy = json_copy(value); /* whose order stays */

        check_object(walk, value, path, from, &parts);
        json_object_foreach(copy, key, inner)
        {
            const struct test_schema_parts begin = test_schema_inner(&parts, key, 0);

            inner_path(name, sizeof name, path, key, 0);
            if (begin.count > 0)
                walk_value(walk, (struct slot){value, key, 0}, inner, name, &begin);
        }
        json_decref(copy);
        return;
    }
    if (json_is_array(value)) {
        json_array_foreach(value, i, inner)
        {
            const struct test_schema_parts begin = test_schema_inner(&parts, NULL, i);

            inner_path(name, sizeof name, path, NULL, i);
            if (begin.count > 0)
                walk_value(walk, (struct slot){value, NULL, i}, inner, name, &begin);
        }
    }
    if (!walk->read || strcmp(path, ".petrasim") == 0)
        return;
    if (json_is_array(value))
        check_length(walk, slot, path, &parts);
    else if (json_is_string(value))
        check_words(walk, slot, path, &parts);
    else if (json_is_number(value))
        check_range(walk, slot, path, &parts);
}

void test_schema_walk(struct test_schema_walk *walk, const char *file, json_t *root)
{
    const char *kind = test_json_text(root, "/petrasim");
    json_t *schema = test_schemas_find(walk->schemas, kind, strcspn(kind, "/"));
    const struct test_schema_parts from = {.at = {{schema, schema, false}}, .count = 1};

    walk->root = root;
    walk->file = file;
    walk_value(walk, (struct slot){NULL, NULL, 0}, root, "", &from);
}

int test_schema_count_unmet(const json_t *met, const json_t *schema)
{
    const json_t *keys = json_object_get(schema, "properties");
    char name[256];
    const char *key;
    json_t *inner;
    size_t i;
    int unmet = 0;

    if (json_object_get(schema, "additionalProperties") != NULL) {
        met_name(name, sizeof name, schema, "");
        unmet += json_object_get(met, name) == NULL ? 1 : 0;
        json_object_foreach((json_t *)keys, key, inner)
        {
            met_name(name, sizeof name, schema, key);
            if (json_is_object(inner) && json_object_get(met, name) == NULL) {
                print_error("no file has the key \"%s\" of \"%s\"\n", key,
                            json_string_value(json_object_get(schema, "description")));
                unmet++;
            }
        }
    }
    json_object_foreach((json_t *)schema, key, inner) unmet += test_schema_count_unmet(met, inner);
    json_array_foreach(schema, i, inner) unmet += test_schema_count_unmet(met, inner);
    return unmet;
}

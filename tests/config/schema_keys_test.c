/*
 * The JSON Schemas of docs/schemas against the readers: for every object of the valid files the
 * keys, required keys, words and ranges of its schema are those that the reader names when it is
 * given a wrong one; and every key of every schema is met in some file.
 *
 * tests/schemas holds the same schemas against an independent validator, where there is one.
 */
#include "sim/base/units.h"
#include "sim/collective/collective.h"
#include "sim/method/method.h"
#include "sim/model/network.h"
#include "tests/support/check.h"
#include "tests/support/json_values.h"
#include "tests/support/program.h"
#include "tests/support/schema_walk.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATA     PSIM_SOURCE_DIR "/tests/data/config"
#define EXAMPLES PSIM_SOURCE_DIR "/tests/schemas/examples"

static int is_json(const struct dirent *entry)
{
    const size_t length = strlen(entry->d_name);

    return length > 5 && strcmp(entry->d_name + length - 5, ".json") == 0;
}

/* Calls `use` for every JSON file of a folder, in a fixed order. */
static int for_each_file(const char *folder, void *data,
                         void (*use)(void *data, const char *name, const char *text))
{
    struct dirent **entries;
    const int count = scandir(folder, &entries, is_json, alphasort);

    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        char path[768], *text;

        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        text = test_file_read(path, NULL);
        use(data, entries[i]->d_name, text);
        free(text);
        free(entries[i]);
    }
    free(entries);
    return count;
}

static void copy_here(void *data, const char *name, const char *text)
{
    (void)data;
    test_file_write(name, text);
}

static void walk_text(void *data, const char *name, const char *text)
{
    struct test_schema_walk *walk = data;
    json_t *root = test_json_parse(text);

    test_schema_walk(walk, name, root);
    json_decref(root);
}

static void walk_valid_files(struct test_schema_walk *walk)
{
    (void)for_each_file(DATA "/valid", walk, walk_text);
    (void)for_each_file(EXAMPLES, walk, walk_text);
}

static void check_no_fault(const struct test_schema_walk *walk)
{
    if (walk->faults > 0)
        fail_msg("%d differences, the first: %s", walk->faults, walk->first_fault);
}

static void walk_result(struct test_schema_walk *walk, const char *scenario)
{
    struct test_output output =
        test_petrasim("run", scenario, "--catalogue", DATA "/catalogue", "--format", "json");

    check_code(&output, 0);
    walk->read = false;
    walk_text(walk, "the result", output.out);
    walk->read = true;
    test_output_free(&output);
}

static void every_key_word_and_range_is_the_readers(void **state)
{
    struct test_schemas schemas;
    struct test_schema_walk walk = {.schemas = &schemas, .read = true, .met = json_object()};
    int unmet = 0;

    (void)state;
    test_schemas_load(&schemas);
    walk_valid_files(&walk);
    walk_result(&walk, EXAMPLES "/conditions.json");
    walk_result(&walk, EXAMPLES "/failure.json");
    check_no_fault(&walk);
    for (size_t i = 0; i < TEST_SCHEMAS; i++)
        unmet += test_schema_count_unmet(walk.met, schemas.roots[i]);
    assert_int_equal(unmet, 0);
    json_decref(walk.met);
    test_schemas_free(&schemas);
}

/* A schema with one thing wrong, at a pointer: the walk must find that. */
static void check_is_found(const char *schema, const char *pointer, const char *key, json_t *wrong)
{
    struct test_schemas schemas;
    struct test_schema_walk walk = {.schemas = &schemas, .read = true, .met = json_object()};
    json_t *place;

    test_schemas_load(&schemas);
    place = test_json_at(test_schemas_find(&schemas, schema, strlen(schema)), pointer);
    assert_non_null(place);
    if (wrong == NULL)
        assert_int_equal(json_object_del(place, key), 0);
    else
        json_object_set_new(place, key, wrong);
    walk_text(&walk, "a file that must be found at odds with its schema",
              "{ \"petrasim\": \"scenario/1\", \"model\": { \"name\": \"revnet18\" },"
              "  \"platform\": \"nodes.json\", \"methods\": [ { \"name\": \"gpipe\" } ],"
              "  \"batch\": { \"microbatch\": 1 }, \"precision\": \"fp32\", \"seed\": 3 }");
    if (walk.faults == 0)
        fail_msg("a change of \"%s\" at %s went unnoticed", key, pointer);
    json_decref(walk.met);
    test_schemas_free(&schemas);
}

static void a_wrong_schema_is_found_out(void **state)
{
    (void)state;
    check_is_found("scenario", "/properties", "baseline", NULL);
    check_is_found("scenario", "/properties", "more", json_object());
    check_is_found("scenario", "/properties/batch", "required", json_array());
    check_is_found("scenario", "/properties/batch", "required",
                   json_pack("[ss]", "microbatch", "platform"));
    check_is_found("scenario", "/properties/batch", "additionalProperties", NULL);
    check_is_found("scenario", "/properties/precision", "enum", json_pack("[ss]", "fp32", "fp16"));
    check_is_found("scenario", "/properties/precision", "enum",
                   json_pack("[sssss]", "fp32", "tf32", "fp16", "bf16", "fp8"));
    check_is_found("scenario", "/properties/seed", "maximum", json_integer(100));
    check_is_found("scenario", "/properties/methods", "minItems", NULL);
    check_is_found("scenario", "/properties/methods", "maxItems", json_integer(100));
}

/* "methods": one entry, an object with the name. */
static char *scenario_with_method(const char *name)
{
    json_t *root = json_pack("{s:s, s:{s:s}, s:s, s:[{s:s}], s:{s:i}}", "petrasim", "scenario/1",
                             "model", "name", "revnet18", "platform", "nodes.json", "methods",
                             "name", name, "batch", "microbatch", 1);
    char *text = json_dumps(root, 0);

    assert_non_null(text);
    json_decref(root);
    return text;
}

static void every_method_model_and_collective_is_in_the_schema(void **state)
{
    struct test_schemas schemas;
    struct test_schema_walk walk = {.schemas = &schemas, .read = true, .met = json_object()};
    const json_t *scenario, *names;
    size_t count = 0;

    (void)state;
    test_schemas_load(&schemas);
    scenario = test_schemas_find(&schemas, "scenario", strlen("scenario"));
    names = test_json_at(scenario, "/$defs/method_name/enum");
    for (; psim_method_table[count] != NULL; count++) {
        char *text = scenario_with_method(psim_method_table[count]->name);

        if (!test_schema_lists(names, psim_method_table[count]->name))
            fail_msg("the schema has no method \"%s\"", psim_method_table[count]->name);
        walk_text(&walk, psim_method_table[count]->name, text);
        free(text);
    }
    assert_int_equal(json_array_size(names), count);
    check_no_fault(&walk);
    names = test_json_at(scenario, "/$defs/model_of_catalogue/properties/name/enum");
    for (count = 0; psim_network_catalogue[count].name != NULL; count++) {
        if (!test_schema_lists(names, psim_network_catalogue[count].name))
            fail_msg("the schema has no model \"%s\"", psim_network_catalogue[count].name);
    }
    assert_int_equal(json_array_size(names), count);
    names = test_json_at(test_schemas_find(&schemas, "common", strlen("common")),
                         "/$defs/collective/enum");
    for (count = 0; psim_collective_table[count] != NULL; count++) {
        if (!test_schema_lists(names, psim_collective_table[count]->name))
            fail_msg("the schema has no collective \"%s\"", psim_collective_table[count]->name);
    }
    assert_int_equal(json_array_size(names), count);
    json_decref(walk.met);
    test_schemas_free(&schemas);
}

/* The units of a pattern that ends in " *(a|b|c)$" are all those of a dimension and no others. */
static bool has_units_of(const char *pattern, enum psim_dimension dimension)
{
    char copy[512], *units = strrchr(pattern, '(');
    int more = 0;

    snprintf(copy, sizeof copy, "|%.*s|", (int)strcspn(units + 1, ")"), units + 1);
    for (const char *c = copy + 1; *c != '\0'; c++)
        more += *c == '|' ? 1 : 0;
    for (const struct psim_unit *unit = psim_units; unit->name != NULL; unit++) {
        char wanted[32];

        snprintf(wanted, sizeof wanted, "|%s|", unit->name);
        if (unit->dimension == dimension && strstr(copy, wanted) == NULL)
            return false;
        more -= unit->dimension == dimension ? 1 : 0;
    }
    return more == 0;
}

static void every_unit_is_in_the_patterns(void **state)
{
    static const struct {
        const char *name;
        enum psim_dimension dimension;
    } quantities[] = {
        {"size", PSIM_DIMENSION_BYTES},
        {"positive_size", PSIM_DIMENSION_BYTES},
        {"bandwidth", PSIM_DIMENSION_BYTES_PER_S},
        {"time", PSIM_DIMENSION_SECONDS},
        {"positive_time", PSIM_DIMENSION_SECONDS},
        {"computing_rate", PSIM_DIMENSION_FLOP_PER_S},
        {"power", PSIM_DIMENSION_WATT},
        {"energy_per_bit", PSIM_DIMENSION_JOULE_PER_BYTE},
        {"positive_power", PSIM_DIMENSION_WATT},
        {"hourly_price", PSIM_DIMENSION_USD_PER_HOUR},
        {"money", PSIM_DIMENSION_USD},
        {"energy", PSIM_DIMENSION_JOULE},
    };
    struct test_schemas schemas;

    (void)state;
    test_schemas_load(&schemas);
    for (size_t i = 0; i < sizeof quantities / sizeof quantities[0]; i++) {
        char pointer[64];
        const char *pattern;

        snprintf(pointer, sizeof pointer, "/$defs/%s/pattern", quantities[i].name);
        pattern = test_json_text(test_schemas_find(&schemas, "common", strlen("common")), pointer);
        if (!has_units_of(pattern, quantities[i].dimension))
            fail_msg("not the units of %s: %s", quantities[i].name, pattern);
    }
    assert_false(has_units_of("^[0-9]+ *(s|ms|us)$", PSIM_DIMENSION_SECONDS));
    assert_false(has_units_of("^[0-9]+ *(s|ms|us|ns|h)$", PSIM_DIMENSION_SECONDS));
    test_schemas_free(&schemas);
}

static int enter(void **state)
{
    const int entered = test_scratch_enter(state);

    if (entered != 0)
        return entered;
    (void)for_each_file(DATA "/valid", NULL, copy_here);
    (void)for_each_file(EXAMPLES, NULL, copy_here);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_word_and_range_is_the_readers),
        cmocka_unit_test(a_wrong_schema_is_found_out),
        cmocka_unit_test(every_method_model_and_collective_is_in_the_schema),
        cmocka_unit_test(every_unit_is_in_the_patterns),
    };

    return cmocka_run_group_tests(tests, enter, test_scratch_leave);
}

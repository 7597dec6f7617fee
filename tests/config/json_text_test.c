/*
 * JSON with places: positions of keys and values, duplicate keys, limits, JSON pointers.
 */
#include "sim/config/json_text.h"

#include "tests/support/check.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

struct parsed {
    struct psim_json document;
    struct psim_diagnostics list;
    enum psim_status status;
};

static struct parsed *parse_bytes(const char *text, size_t length)
{
    struct parsed *parsed = calloc(1, sizeof *parsed);

    assert_non_null(parsed);
    parsed->status = psim_json_parse(text, length, "t.json", &parsed->document, &parsed->list);
    return parsed;
}

static struct parsed *parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

static void drop(struct parsed *parsed)
{
    psim_json_release(&parsed->document);
    psim_diagnostics_release(&parsed->list);
    free(parsed);
}

static void check_place(const struct psim_node *node, int line, int column)
{
    assert_non_null(node);
    assert_int_equal(node->line, line);
    assert_int_equal(node->column, column);
}

static void every_key_and_value_has_its_place(void **state)
{
    struct parsed *parsed = parse("{ \"a\": [1,\n  null,\ttrue],\r\n \"b\":{\"c\" : -1.5e3 }}");
    const struct psim_node *root = parsed->document.root, *a, *c;

    (void)state;
    assert_int_equal(parsed->status, PSIM_OK);
    check_place(root, 1, 1);
    a = psim_node_member(root, "a");
    check_place(a, 1, 8);
    assert_int_equal(a->key_column, 3);
    check_place(psim_node_element(a, 0), 1, 9);
    check_place(psim_node_element(a, 1), 2, 3);
    check_place(psim_node_element(a, 2), 2, 9);
    c = psim_node_at_pointer(root, "/b/c");
    check_place(c, 3, 13);
    assert_int_equal(c->key_line, 3);
    assert_int_equal(c->key_column, 7);
    check_near(c->value.real, -1500.0, 0.0);
    assert_string_equal(psim_node_path(c, &parsed->list.arena), ".b.c");
    drop(parsed);
}

static void columns_count_characters_not_bytes(void **state)
{
    /* U+00E9, U+65E5, U+1F680: two, three and four bytes; after a byte order mark */
    struct parsed *parsed = parse(
        "\xEF\xBB\xBF{\"\xC3\xA9\xE6\x97\xA5\xF0\x9F\x9A\x80\": \"\\uD83D\\uDE80\", \"x\": 1}");
    const struct psim_node *first = parsed->document.root->first;

    (void)state;
    assert_int_equal(parsed->status, PSIM_OK);
    check_place(first, 1, 9);
    assert_string_equal(first->value.string, "\xF0\x9F\x9A\x80");
    check_place(psim_node_member(parsed->document.root, "x"), 1, 30);
    drop(parsed);
}

static void keys_that_are_no_identifiers_are_quoted_in_paths(void **state)
{
    struct parsed *parsed = parse("{\"my-gpu\": {\"\": [0, {\"a\\nb\": 1}], \"2x\": 0}}");
    const struct psim_node *object = parsed->document.root->first;

    (void)state;
    assert_string_equal(
        psim_node_path(psim_node_element(object->first, 1)->first, &parsed->list.arena),
        "[\"my-gpu\"][\"\"][1][\"a\\u000ab\"]");
    assert_string_equal(psim_node_path(psim_node_member(object, "2x"), &parsed->list.arena),
                        "[\"my-gpu\"][\"2x\"]");
    drop(parsed);
}

static void pointers_follow_rfc_6901(void **state)
{
    /* The escapes are those of the RFC's section 5. */
    struct parsed *parsed =
        parse("{\"foo\": [\"bar\", \"baz\"], \"\": 0, \"a/b\": 1, \"m~n\": 8, \"x\": {\"10\": 2}}");
    const struct psim_node *root = parsed->document.root;

    (void)state;
    assert_ptr_equal(psim_node_at_pointer(root, ""), root);
    assert_string_equal(psim_node_at_pointer(root, "/foo/1")->value.string, "baz");
    assert_int_equal(psim_node_at_pointer(root, "/")->value.integer, 0);
    assert_int_equal(psim_node_at_pointer(root, "/a~1b")->value.integer, 1);
    assert_int_equal(psim_node_at_pointer(root, "/m~0n")->value.integer, 8);
    assert_int_equal(psim_node_at_pointer(root, "/x/10")->value.integer, 2);
    assert_null(psim_node_at_pointer(root, "/foo/2"));
    assert_null(psim_node_at_pointer(root, "/foo/01"));
    assert_null(psim_node_at_pointer(root, "/foo/1/0"));
    assert_null(psim_node_at_pointer(root, "/m~2n"));
    assert_null(psim_node_at_pointer(root, "/a~"));
    assert_null(psim_node_at_pointer(root, "foo"));
    drop(parsed);
}

static void last_of_equal_keys_counts_and_each_is_reported(void **state)
{
    struct parsed *parsed = parse("{\"a\": {\"x\": 1}, \"b\": 2,\n \"\\u0061\": [1], \"a\": 3}");
    const struct psim_node *root = parsed->document.root;

    (void)state;
    assert_int_equal(parsed->status, PSIM_OK);
    assert_int_equal(parsed->list.errors, 2);
    assert_int_equal(parsed->list.status, PSIM_ERR_SCHEMA);
    assert_string_equal(psim_diagnostic_line(&parsed->list, 0),
                        "t.json:2:2: error: .a: duplicate key, first given in line 1, column 2");
    assert_int_equal(root->count, 2);
    assert_int_equal(psim_node_member(root, "a")->value.integer, 3);
    assert_int_equal(psim_node_member(root, "b")->value.integer, 2);
    drop(parsed);
}

static void many_equal_keys_take_no_quadratic_time(void **state)
{
    const int count = 200000;
    char *text = malloc((size_t)count * 8 + 16), *at = text;
    struct parsed *parsed;

    (void)state;
    assert_non_null(text);
    *at++ = '{';
    for (int i = 0; i < count; i++)
        at += sprintf(at, "\"k\":%d,", i % 10);
    strcpy(at, "\"z\":0}");
    parsed = parse(text);
    assert_int_equal(parsed->list.errors, count - 1);
    assert_int_equal(parsed->document.root->count, 2);
    drop(parsed);
    free(text);
}

static struct parsed *nested(int depth)
{
    char *text = malloc(2 * (size_t)depth + 1);
    struct parsed *parsed;

    assert_non_null(text);
    memset(text, '[', (size_t)depth);
    memset(text + depth, ']', (size_t)depth);
    parsed = parse_bytes(text, 2 * (size_t)depth);
    free(text);
    return parsed;
}

static void depth_has_a_limit(void **state)
{
    struct parsed *parsed = nested(PSIM_JSON_DEPTH);

    (void)state;
    assert_int_equal(parsed->status, PSIM_OK);
    drop(parsed);
    parsed = nested(PSIM_JSON_DEPTH + 1);
    assert_int_equal(parsed->status, PSIM_ERR_RANGE);
    assert_string_equal(psim_diagnostic_line(&parsed->list, 0),
                        "t.json:1:129: error: more than 128 levels of nesting");
    drop(parsed);
    parsed = nested(1000000);
    assert_int_equal(parsed->status, PSIM_ERR_RANGE);
    drop(parsed);
}

static void number_of_values_has_a_limit(void **state)
{
    const size_t length = 2 * (size_t)PSIM_JSON_VALUES + 2;
    char *text = malloc(length);
    struct parsed *parsed;

    (void)state;
    assert_non_null(text);
    for (size_t i = 0; i < length; i++)
        text[i] = i % 2 == 0 ? ',' : '0';
    text[0] = '[';
    text[length - 1] = ']';
    parsed = parse_bytes(text, length);
    assert_int_equal(parsed->status, PSIM_ERR_RANGE);
    check_contains(psim_diagnostic_line(&parsed->list, 0), "more than 2097152 values");
    drop(parsed);
    free(text);
}

static void output_is_untouched_on_failure(void **state)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_json document = {.name = "before"};

    (void)state;
    assert_int_equal(psim_json_parse("[1,", 3, "t.json", &document, &list), PSIM_ERR_SYNTAX);
    assert_string_equal(document.name, "before");
    assert_null(document.root);
    psim_diagnostics_release(&list);
}

/* Every prefix of a text with all of the grammar is an error, never a crash or an acceptance. */
static void every_prefix_is_refused(void **state)
{
    static const char text[] = "{\"a\": [1, -2.5e+3, \"x\\u00e9\\n\\uD83D\\uDE80\xC3\xA9\", true, "
                               "false, null, {}, []], \"b\": {\"c\": 0}}";

    (void)state;
    for (size_t length = 0; length + 1 < sizeof text; length++) {
        /* A copy of exactly that length, so that reading past it is seen. */
        char *copy = malloc(length + 1);
        struct parsed *parsed;

        assert_non_null(copy);
        memcpy(copy, text, length);
        copy = realloc(copy, length == 0 ? 1 : length);
        parsed = parse_bytes(copy, length);
        assert_int_equal(parsed->status, PSIM_ERR_SYNTAX);
        assert_int_equal(parsed->list.errors, 1);
        drop(parsed);
        free(copy);
    }
}

/* The scanner and Jansson must agree on what JSON is: one byte of the text is changed at a time. */
static void scanner_agrees_with_the_decoder(void **state)
{
    static const char text[] = "{\"a\": [10, -2.5e+3, \"x\\n\\u0041\", true, null], \"b\": {}}";
    static const char bytes[] = "\"\\{}[]:,0-+.eEtu /\t\n\x01\x7f\x80\xc3";
    char copy[sizeof text];

    (void)state;
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        for (size_t k = 0; k + 1 < sizeof bytes; k++) {
            struct parsed *parsed;
            json_t *value;

            memcpy(copy, text, sizeof text);
            copy[i] = bytes[k];
            value = json_loadb(copy, sizeof text - 1, JSON_DECODE_ANY, NULL);
            parsed = parse_bytes(copy, sizeof text - 1);
            if ((value != NULL) != (parsed->status == PSIM_OK))
                fail_msg("byte 0x%02x at %zu: %s", (unsigned char)bytes[k], i, copy);
            assert_int_equal(parsed->list.errors == 0, parsed->status == PSIM_OK);
            json_decref(value);
            drop(parsed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_and_value_has_its_place),
        cmocka_unit_test(columns_count_characters_not_bytes),
        cmocka_unit_test(keys_that_are_no_identifiers_are_quoted_in_paths),
        cmocka_unit_test(pointers_follow_rfc_6901),
        cmocka_unit_test(last_of_equal_keys_counts_and_each_is_reported),
        cmocka_unit_test(many_equal_keys_take_no_quadratic_time),
        cmocka_unit_test(depth_has_a_limit),
        cmocka_unit_test(number_of_values_has_a_limit),
        cmocka_unit_test(output_is_untouched_on_failure),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(scanner_agrees_with_the_decoder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#include "sim/config/json_text.h"

#include "sim/config/json_scan.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum psim_status fill(struct psim_node *node, const json_t *value, struct psim_arena *arena,
                             struct psim_diagnostics *list);

/* Decodes a key: Jansson undoes the escapes of a text that has any. */
static const char *decode_key(const struct psim_node *member, struct psim_arena *arena)
{
    const char *token = member->key_token;
    const size_t length = member->key_token_length;
    const char *key = NULL;
    json_t *decoded;

    if (memchr(token, '\\', length) == NULL)
        return psim_arena_text(arena, token + 1, length - 2);
    decoded = json_loadb(token, length, JSON_DECODE_ANY, NULL);
    if (decoded != NULL)
        key = psim_arena_text(arena, json_string_value(decoded), json_string_length(decoded));
    json_decref(decoded);
    return key;
}

static int compare_keys(const void *a, const void *b)
{
    const struct psim_node *x = *(struct psim_node *const *)a, *y = *(struct psim_node *const *)b;
    const int order = strcmp(x->key, y->key);

    return order != 0 ? order : (x->index > y->index) - (x->index < y->index);
}

/* Takes the members whose key comes again later out of the object, and reports the later one. */
static enum psim_status drop_duplicates(struct psim_node *object, struct psim_diagnostics *list)
{
    struct psim_node **sorted = psim_alloc((size_t)object->count, sizeof(struct psim_node *));
    struct psim_node **link = &object->first;
    enum psim_status status = PSIM_OK;
    int count = 0;

    if (sorted == NULL)
        return PSIM_ERR_NOMEM;
    for (struct psim_node *member = object->first; member != NULL; member = member->next)
        sorted[count++] = member;
    qsort(sorted, (size_t)count, sizeof(struct psim_node *), compare_keys);
    for (int i = 1; i < count; i++) {
        if (strcmp(sorted[i - 1]->key, sorted[i]->key) == 0) {
            const char *path = psim_node_path(sorted[i], &list->arena);

            if (path == NULL)
                status = PSIM_ERR_NOMEM;
            psim_diagnose(list, PSIM_ERR_SCHEMA, psim_node_key_position(sorted[i]), path, NULL,
                          "duplicate key, first given in line %d, column %d",
                          sorted[i - 1]->key_line, sorted[i - 1]->key_column);
            sorted[i - 1]->key = NULL;
        }
    }
    psim_free(sorted);
    while (*link != NULL) {
        if ((*link)->key == NULL) {
            *link = (*link)->next;
            object->count--;
        } else {
            link = &(*link)->next;
        }
    }
    return status;
}

static enum psim_status fill_object(struct psim_node *node, const json_t *value,
                                    struct psim_arena *arena, struct psim_diagnostics *list)
{
    enum psim_status status = PSIM_OK;

    for (struct psim_node *member = node->first; member != NULL; member = member->next) {
        member->key = decode_key(member, arena);
        if (member->key == NULL)
            return PSIM_ERR_NOMEM;
    }
    if (json_object_size(value) != (size_t)node->count)
        status = drop_duplicates(node, list);
    for (struct psim_node *m = node->first; status == PSIM_OK && m != NULL; m = m->next)
        status = fill(m, json_object_get(value, m->key), arena, list);
    return status;
}

/* Gives a scanned node and what it holds the decoded values. */
static enum psim_status fill(struct psim_node *node, const json_t *value, struct psim_arena *arena,
                             struct psim_diagnostics *list)
{
    enum psim_status status = PSIM_OK;

    switch (node->type) {
    case PSIM_NODE_NULL:
    case PSIM_NODE_BOOL:
        break;
    case PSIM_NODE_INTEGER:
        node->value.integer = json_integer_value(value);
        break;
    case PSIM_NODE_REAL:
        node->value.real = json_real_value(value);
        break;
    case PSIM_NODE_STRING:
        node->value.string =
            psim_arena_text(arena, json_string_value(value), json_string_length(value));
        status = node->value.string == NULL ? PSIM_ERR_NOMEM : PSIM_OK;
        break;
    case PSIM_NODE_ARRAY:
        for (struct psim_node *e = node->first; status == PSIM_OK && e != NULL; e = e->next)
            status = fill(e, json_array_get(value, (size_t)e->index), arena, list);
        break;
    case PSIM_NODE_OBJECT:
        status = fill_object(node, value, arena, list);
        break;
    }
    return status;
}

/* What the scanner cannot see: bytes that are not UTF-8 and numbers that are too large. */
static enum psim_status decode_error(const struct psim_json *document, const json_error_t *error,
                                     struct psim_diagnostics *list)
{
    size_t at = error->position < 0 ? 0 : (size_t)error->position;

    if (at > document->length)
        at = document->length;
    if (json_error_code(error) == json_error_invalid_utf8) {
        psim_diagnose(list, PSIM_ERR_SYNTAX, psim_scan_position(document, at), "", NULL,
                      "this byte is not UTF-8");
        return PSIM_ERR_SYNTAX;
    }
    if (json_error_code(error) == json_error_numeric_overflow) {
        while (at > 0 && strchr("0123456789+-.eE", document->text[at - 1]) != NULL)
            at--; /* Jansson names the place behind the number */
        psim_diagnose(list, PSIM_ERR_SYNTAX, psim_scan_position(document, at), "", NULL,
                      "this number is too large");
        return PSIM_ERR_SYNTAX;
    }
    return PSIM_ERR_NOMEM;
}

/* Nodes point to their document, so it must have its final address when it is scanned. */
enum psim_status psim_json_parse(const char *text, size_t length, const char *name,
                                 struct psim_json *out, struct psim_diagnostics *list)
{
    static const char byte_order_mark[] = "\xEF\xBB\xBF";
    const struct psim_json before = *out;
    json_error_t error = {0};
    json_t *values = NULL;
    enum psim_status status;

    if (length >= 3 && memcmp(text, byte_order_mark, 3) == 0) {
        text += 3;
        length -= 3;
    }
    *out = (struct psim_json){
        .arena = PSIM_ARENA_INIT,
        .name = name,
        .text = text,
        .length = length,
    };
    status = psim_scan(out, list);
    if (status != PSIM_OK)
        goto out;
    values = json_loadb(text, length, JSON_DECODE_ANY, &error);
    if (values == NULL) {
        status = decode_error(out, &error, list);
        goto out;
    }
    status = fill(out->root, values, &out->arena, list);
out:
    json_decref(values);
    if (status != PSIM_OK) {
        psim_json_release(out);
        *out = before;
    }
    return status;
}

void psim_json_release(struct psim_json *document)
{
    psim_arena_release(&document->arena);
    document->root = NULL;
}

const struct psim_node *psim_node_member(const struct psim_node *object, const char *key)
{
    if (object->type != PSIM_NODE_OBJECT)
        return NULL;
    for (const struct psim_node *member = object->first; member != NULL; member = member->next) {
        if (strcmp(member->key, key) == 0)
            return member;
    }
    return NULL;
}

const struct psim_node *psim_node_element(const struct psim_node *array, int index)
{
    const struct psim_node *element = array->first;

    while (element->index != index)
        element = element->next;
    return element;
}

/* Compares a key with one part of a JSON pointer, whose "~1" is "/" and "~0" is "~". */
static bool part_is(const char *part, size_t length, const char *key)
{
    size_t at = 0;

    for (; *key != '\0'; key++) {
        char c;

        if (at >= length)
            return false;
        c = part[at++];
        if (c == '~') {
            if (at >= length || (part[at] != '0' && part[at] != '1'))
                return false;
            c = part[at++] == '0' ? '~' : '/';
        }
        if (c != *key)
            return false;
    }
    return at == length;
}

const struct psim_node *psim_node_at_pointer(const struct psim_node *root, const char *pointer)
{
    const struct psim_node *node = root;

    while (node != NULL && *pointer == '/') {
        const size_t length = strcspn(++pointer, "/");
        const struct psim_node *child = node->first;
        char index[16];

        for (; child != NULL; child = child->next) {
            snprintf(index, sizeof index, "%d", child->index);
            if (part_is(pointer, length, child->key != NULL ? child->key : index))
                break;
        }
        node = child;
        pointer += length;
    }
    return *pointer == '\0' ? node : NULL;
}

struct psim_position psim_node_position(const struct psim_node *node)
{
    return (struct psim_position){node->document->name, node->line, node->column};
}

struct psim_position psim_node_key_position(const struct psim_node *node)
{
    return (struct psim_position){node->document->name, node->key_line, node->key_column};
}

static bool is_identifier(const char *key)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
    const size_t length = strspn(key, "0123456789abcdefghijklmnopqrstuvwxyz"
                                      "ABCDEFGHIJKLMNOPQRSTUVWXYZ_");

    return key[0] != '\0' && strchr(letters, key[0]) != NULL && key[length] == '\0';
}

void psim_node_step_write(const char *key, int index, struct psim_text *out)
{
    char quoted[PSIM_QUOTED_BYTES];

    if (key == NULL) {
        psim_text_printf(out, "[%d]", index);
    } else if (is_identifier(key)) {
        psim_text_printf(out, ".%s", key);
    } else {
        psim_text_quote(key, quoted);
        psim_text_printf(out, "[%s]", quoted);
    }
}

const char *psim_node_path(const struct psim_node *node, struct psim_arena *arena)
{
    const struct psim_node *chain[PSIM_JSON_DEPTH + 1];
    struct psim_text text = PSIM_TEXT_INIT;
    const char *path = NULL;
    int depth = 0;

    for (; node->parent != NULL; node = node->parent)
        chain[depth++] = node;
    psim_text_append(&text, "", 0);
    while (depth-- > 0)
        psim_node_step_write(chain[depth]->key, chain[depth]->index, &text);
    if (!text.failed)
        path = psim_arena_text(arena, text.data, text.length);
    psim_text_release(&text);
    return path;
}

void psim_node_describe(const struct psim_node *node, char *out)
{
    const int length = (int)(node->token_length < 48 ? node->token_length : 48);
    const char *cut = node->token_length > 48 ? "..." : "";

    switch (node->type) {
    case PSIM_NODE_STRING:
        out += sprintf(out, "the string ");
        psim_text_quote(node->value.string, out);
        break;
    case PSIM_NODE_ARRAY:
        strcpy(out, "a list");
        break;
    case PSIM_NODE_OBJECT:
        strcpy(out, "an object");
        break;
    case PSIM_NODE_INTEGER:
    case PSIM_NODE_REAL:
        sprintf(out, "the number %.*s%s", length, node->token, cut);
        break;
    case PSIM_NODE_NULL:
    case PSIM_NODE_BOOL:
        sprintf(out, "%.*s", length, node->token);
        break;
    }
}

#include "sim/config/key_path.h"

#include "sim/base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Reading a path ---- */

static bool read_name(const char **at, struct psim_arena *arena, struct psim_key_step *step)
{
    size_t length = 0;

    while (isalnum((unsigned char)(*at)[length]) || (*at)[length] == '_' || (*at)[length] == '-')
        length++;
    step->key = length == 0 ? NULL : psim_arena_text(arena, *at, length);
    *at += length;
    return step->key != NULL;
}

/* What stands after "[": an index, or a key in double quotes without a quote inside. */
static bool read_bracket(const char **at, struct psim_arena *arena, struct psim_key_step *step)
{
    char *end;

    if (**at == '"') {
        const size_t length = strcspn(*at + 1, "\"");

        if ((*at)[length + 1] != '"')
            return false;
        step->key = psim_arena_text(arena, *at + 1, length);
        *at += length + 2;
        if (step->key == NULL)
            return false;
    } else {
        const long index = isdigit((unsigned char)**at) ? strtol(*at, &end, 10) : -1;

        if (index < 0 || index > PSIM_JSON_VALUES)
            return false;
        step->index = (int)index;
        *at = end;
    }
    return *(*at)++ == ']';
}

bool psim_key_path_read(const char *text, struct psim_arena *arena, struct psim_key_path *out)
{
    const char *at = text;

    *out = (struct psim_key_path){.count = 0};
    while (*at != '\0') {
        struct psim_key_step *step = &out->steps[out->count];
        bool sound;

        if (out->count++ == PSIM_KEY_PATH_STEPS)
            return false;
        if (*at == '[') {
            at++;
            sound = read_bracket(&at, arena, step);
        } else {
            if (*at == '.')
                at++;
            else if (out->count > 1)
                return false;
            sound = read_name(&at, arena, step);
        }
        if (!sound)
            return false;
    }
    return out->count > 0;
}

void psim_key_path_write(const struct psim_key_path *path, struct psim_text *out)
{
    for (int i = 0; i < path->count; i++) {
        const struct psim_key_step *step = &path->steps[i];

        psim_node_step_write(step->key, step->index, out);
    }
}

/* ---- Copies ---- */

static struct psim_node *copy(const struct psim_node *node, const struct psim_json *document,
                              const struct psim_node *parent, struct psim_arena *arena)
{
    struct psim_node *to = psim_arena_alloc(arena, 1, sizeof *to), **link;

    if (to == NULL)
        return NULL;
    *to = *node;
    to->document = document;
    to->parent = parent;
    to->next = to->first = NULL;
    to->token = psim_arena_text(arena, node->token, node->token_length);
    if (node->key != NULL) {
        to->key = psim_arena_text(arena, node->key, strlen(node->key));
        to->key_token = psim_arena_text(arena, node->key_token, node->key_token_length);
    }
    if (node->type == PSIM_NODE_STRING)
        to->value.string = psim_arena_text(arena, node->value.string, strlen(node->value.string));
    if (to->token == NULL || (node->key != NULL && (to->key == NULL || to->key_token == NULL)) ||
        (node->type == PSIM_NODE_STRING && to->value.string == NULL))
        return NULL;
    link = &to->first;
    for (const struct psim_node *inner = node->first; inner != NULL; inner = inner->next) {
        *link = copy(inner, document, to, arena);
        if (*link == NULL)
            return NULL;
        link = &(*link)->next;
    }
    return to;
}

struct psim_node *psim_node_copy(const struct psim_node *node, const struct psim_json *document,
                                 struct psim_arena *arena)
{
    return copy(node, document, NULL, arena);
}

/* ---- Putting a value in its place ---- */

/* Where the member or element is linked, or where a new one would be. */
static struct psim_node **find_link(struct psim_node *parent, const struct psim_key_step *step)
{
    struct psim_node **link = &parent->first;

    for (; *link != NULL; link = &(*link)->next) {
        if (step->key != NULL ? strcmp((*link)->key, step->key) == 0
                              : (*link)->index == step->index)
            break;
    }
    return link;
}

/* Said at the value, of the place where it was to go. */
static void refuse(struct psim_reader *reader, const struct psim_key_path *path,
                   const struct psim_node *value, enum psim_status status, const char *what)
{
    struct psim_text place = PSIM_TEXT_INIT;

    psim_key_path_write(path, &place);
    if (place.failed)
        psim_reader_out_of_memory(reader);
    else
        psim_diagnose(reader->list, status, psim_node_position(value), place.data, NULL, "%s",
                      what);
    reader->faults++;
    psim_text_release(&place);
}

static bool can_hold(struct psim_reader *reader, const struct psim_node *parent,
                     const struct psim_key_path *path, const struct psim_key_step *step,
                     const struct psim_node *value)
{
    char found[PSIM_FOUND_BYTES], what[PSIM_FOUND_BYTES + 320];
    const char *holder;

    if (parent->type == (step->key != NULL ? PSIM_NODE_OBJECT : PSIM_NODE_ARRAY))
        return true;
    holder = psim_node_path(parent, reader->arena);
    if (holder == NULL) {
        psim_reader_out_of_memory(reader);
        return false;
    }
    psim_node_describe(parent, found);
    snprintf(what, sizeof what, "the scenario's %.256s is no %s but %s", holder,
             step->key != NULL ? "object" : "list", found);
    refuse(reader, path, value, PSIM_ERR_SCHEMA, what);
    return false;
}

/* A new member takes its place in the report from the value that it was made for. */
static void name_member(struct psim_node *node, struct psim_node *parent,
                        const struct psim_key_step *step, const struct psim_node *value)
{
    node->parent = parent;
    node->key = step->key;
    node->key_line = step->key == NULL ? 0 : value->line;
    node->key_column = step->key == NULL ? 0 : value->column;
}

static struct psim_node *new_object(struct psim_reader *reader, const struct psim_node *value)
{
    struct psim_node *object = psim_reader_alloc(reader, 1, sizeof *object);

    if (object != NULL)
        *object = (struct psim_node){.type = PSIM_NODE_OBJECT,
                                     .line = value->line,
                                     .column = value->column,
                                     .document = value->document,
                                     .token = "{}",
                                     .token_length = 2};
    return object;
}

void psim_node_put(struct psim_reader *reader, const struct psim_node *root,
                   const struct psim_key_path *path, const struct psim_node *value)
{
    /* The reader parsed this document for itself alone, and its values are still unread. */
    struct psim_node *parent = (struct psim_node *)(uintptr_t)root;

    for (int i = 0; i < path->count; i++) {
        const struct psim_key_step *step = &path->steps[i];
        const bool last = i + 1 == path->count;
        struct psim_node **link, *old, *new;

        if (!can_hold(reader, parent, path, step, value))
            return;
        link = find_link(parent, step);
        old = *link;
        if (old == NULL && step->key == NULL) {
            char what[80];

            snprintf(what, sizeof what, "the scenario's list has %d elements", parent->count);
            refuse(reader, path, value, PSIM_ERR_RANGE, what);
            return;
        }
        if (!last && old != NULL) {
            parent = old;
            continue;
        }
        new = last ? psim_node_copy(value, value->document, reader->arena)
                   : new_object(reader, value);
        if (new == NULL) {
            psim_reader_out_of_memory(reader);
            return;
        }
        name_member(new, parent, step, value);
        new->index = old != NULL ? old->index : parent->count++;
        new->next = old != NULL ? old->next : NULL;
        *link = new;
        parent = new;
    }
}

/* ---- Writing ---- */

void psim_node_write(const struct psim_node *node, struct psim_text *out)
{
    const bool list = node->type == PSIM_NODE_ARRAY;

    if (node->type == PSIM_NODE_STRING) {
        psim_text_json(out, node->value.string);
        return;
    }
    if (!list && node->type != PSIM_NODE_OBJECT) {
        psim_text_append(out, node->token, node->token_length);
        return;
    }
    psim_text_append(out, list ? "[" : "{", 1);
    for (const struct psim_node *inner = node->first; inner != NULL; inner = inner->next) {
        if (inner != node->first)
            psim_text_append(out, ",", 1);
        if (!list) {
            psim_text_json(out, inner->key);
            psim_text_append(out, ":", 1);
        }
        psim_node_write(inner, out);
    }
    psim_text_append(out, list ? "]" : "}", 1);
}

#include "sim/config/reader.h"

#include "sim/base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define BYTES_LIMIT 4611686018427387904.0 /* 2^62: sums of two stay in int64_t */
#define EXACT_LIMIT 9007199254740992.0    /* 2^53: integers that a real number holds exactly */

bool psim_reader_clean(const struct psim_reader *reader, int faults)
{
    return reader->faults == faults && !reader->out_of_memory;
}

enum psim_status psim_reader_status(const struct psim_reader *reader)
{
    if (reader->out_of_memory || reader->list->out_of_memory)
        return PSIM_ERR_NOMEM;
    return reader->faults > 0 ? reader->list->status : PSIM_OK;
}

void psim_reader_out_of_memory(struct psim_reader *reader)
{
    static const struct psim_position nowhere = {"", 0, 0};

    if (!reader->out_of_memory)
        psim_diagnose(reader->list, PSIM_ERR_NOMEM, nowhere, "", NULL, "out of memory");
    reader->out_of_memory = true;
    reader->faults++;
}

static void report(struct psim_reader *reader, const struct psim_node *node,
                   struct psim_position at, enum psim_status status, const char *suggestion,
                   const char *message)
{
    const char *path = psim_node_path(node, &reader->list->arena);

    if (path == NULL) {
        psim_reader_out_of_memory(reader);
        return;
    }
    psim_diagnose(reader->list, status, at, path, suggestion, "%s", message);
    if (status != PSIM_OK)
        reader->faults++;
    else if (reader->list->out_of_memory)
        psim_reader_out_of_memory(reader); /* a warning was lost: what was read is let go */
}

void psim_reader_warn(struct psim_reader *reader, const struct psim_node *node,
                      const char *suggestion, const char *format, ...)
{
    char message[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    report(reader, node, psim_node_position(node), PSIM_OK, suggestion, message);
}

void psim_reader_error(struct psim_reader *reader, const struct psim_node *node,
                       enum psim_status status, const char *suggestion, const char *format, ...)
{
    char message[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    report(reader, node, psim_node_position(node), status, suggestion, message);
}

void psim_reader_key_error(struct psim_reader *reader, const struct psim_node *node,
                           enum psim_status status, const char *suggestion, const char *format, ...)
{
    char message[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    report(reader, node, psim_node_key_position(node), status, suggestion, message);
}

void psim_reader_refuse(struct psim_reader *reader, const struct psim_node *node,
                        const struct psim_error *err)
{
    const struct psim_node *member = psim_node_member(node, err->where);

    if (err->status == PSIM_ERR_NOMEM)
        psim_reader_out_of_memory(reader);
    else if (member != NULL)
        psim_reader_error(reader, member, err->status, NULL, "%s", err->message);
    else
        psim_reader_error(reader, node, err->status, NULL, "%s%s%s", err->where,
                          err->where[0] == '\0' ? "" : ": ", err->message);
}

void *psim_reader_alloc(struct psim_reader *reader, size_t count, size_t size)
{
    void *block = psim_arena_alloc(reader->arena, count, size);

    if (block == NULL)
        psim_reader_out_of_memory(reader);
    return block;
}

const char *psim_reader_keep(struct psim_reader *reader, const char *text)
{
    const char *copy = psim_arena_text(reader->arena, text, strlen(text));

    if (copy == NULL)
        psim_reader_out_of_memory(reader);
    return copy;
}

size_t psim_name_count(const char *const *names)
{
    size_t count = 0;

    while (names[count] != NULL)
        count++;
    return count;
}

bool psim_key_is_ignored(const struct psim_node *member)
{
    return member->key[0] == '_' ||
           (member->parent->parent == NULL && strcmp(member->key, "petrasim") == 0);
}

/* "a, b, c" of as many names as the buffer holds. */
static void join_names(const char *const *names, size_t count, char *out, size_t size)
{
    size_t at = 0;

    out[0] = '\0';
    for (size_t i = 0; i < count && at < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%s", i == 0 ? "" : ", ", names[i]);
}

void psim_reader_unknown_key(struct psim_reader *reader, const struct psim_node *member,
                             const char *const *names, size_t count)
{
    const char *nearest = psim_nearest_name(member->key, names, count);
    char quoted[PSIM_QUOTED_BYTES], known[256];

    psim_text_quote(member->key, quoted);
    join_names(names, count, known, sizeof known);
    if (nearest != NULL || count == 0)
        psim_reader_key_error(reader, member, PSIM_ERR_SCHEMA, nearest, "unknown key %s", quoted);
    else
        psim_reader_key_error(reader, member, PSIM_ERR_SCHEMA, NULL,
                              "unknown key %s; known here: %s", quoted, known);
}

static bool wrong_type(struct psim_reader *reader, const struct psim_node *node,
                       const char *expected)
{
    char found[PSIM_FOUND_BYTES];

    psim_node_describe(node, found);
    psim_reader_error(reader, node, PSIM_ERR_SCHEMA, NULL, "%s is expected, not %s", expected,
                      found);
    return false;
}

static bool is_number(const struct psim_node *node)
{
    return node->type == PSIM_NODE_INTEGER || node->type == PSIM_NODE_REAL;
}

static double number_of(const struct psim_node *node)
{
    return node->type == PSIM_NODE_INTEGER ? (double)node->value.integer : node->value.real;
}

/* Checks a value that came out finite; prints the range and the value as the file spells it. */
static bool in_range(struct psim_reader *reader, const struct psim_node *node,
                     const struct psim_field *field, double value, double maximum)
{
    const bool above = field->positive ? value > 0.0 : value >= field->minimum;
    const double minimum = field->positive ? 0.0 : field->minimum;
    char range[80], found[PSIM_QUOTED_BYTES];

    if (above && value <= maximum)
        return true;
    if (isfinite(maximum) && maximum < BYTES_LIMIT)
        snprintf(range, sizeof range, "in %s%.17g, %.17g]", field->positive ? "(" : "[", minimum,
                 maximum);
    else if (above)
        snprintf(range, sizeof range, "at most %.17g", maximum);
    else if (field->positive)
        snprintf(range, sizeof range, "greater than 0");
    else
        snprintf(range, sizeof range, "at least %.17g", minimum);
    if (node->type == PSIM_NODE_STRING)
        psim_text_quote(node->value.string, found);
    else
        snprintf(found, sizeof found, "%.*s",
                 (int)(node->token_length < 48 ? node->token_length : 48), node->token);
    psim_reader_error(reader, node, PSIM_ERR_RANGE, NULL, "must be %s, not %s", range, found);
    return false;
}

const char *psim_read_text(struct psim_reader *reader, const struct psim_node *node)
{
    if (node->type != PSIM_NODE_STRING) {
        wrong_type(reader, node, "a text");
        return NULL;
    }
    if (node->value.string[0] == '\0') {
        psim_reader_error(reader, node, PSIM_ERR_RANGE, NULL, "must not be empty");
        return NULL;
    }
    for (const char *c = node->value.string; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7F) {
            psim_reader_error(reader, node, PSIM_ERR_RANGE, NULL,
                              "must not contain control characters");
            return NULL;
        }
    }
    return psim_reader_keep(reader, node->value.string);
}

static bool read_text(struct psim_reader *reader, const struct psim_node *node, const char **out)
{
    const char *text = psim_read_text(reader, node);

    if (text != NULL)
        *out = text;
    return text != NULL;
}

/* An integer is compared as one: a double cannot tell 2^53 from 2^53 + 1. */
static bool read_count(struct psim_reader *reader, const struct psim_node *node,
                       const struct psim_field *field)
{
    const double maximum = fmin(field->maximum, EXACT_LIMIT);
    double value;

    if (!is_number(node) ||
        (node->type == PSIM_NODE_REAL && node->value.real != floor(node->value.real)))
        return wrong_type(reader, node, "an integer");
    value = number_of(node);
    if (node->type == PSIM_NODE_INTEGER && node->value.integer > (int64_t)maximum)
        value = INFINITY;
    if (!in_range(reader, node, field, value, maximum))
        return false;
    *field->to.count = (int64_t)value;
    return true;
}

static bool read_choice(struct psim_reader *reader, const struct psim_node *node,
                        const struct psim_field *field)
{
    const size_t count = psim_name_count(field->names);
    char quoted[PSIM_QUOTED_BYTES], known[256];

    join_names(field->names, count, known, sizeof known);
    if (node->type != PSIM_NODE_STRING) {
        char expected[288];

        snprintf(expected, sizeof expected, "one of the texts %s", known);
        return wrong_type(reader, node, expected);
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(field->names[i], node->value.string) == 0) {
            *field->to.choice = (int)i;
            return true;
        }
    }
    psim_text_quote(node->value.string, quoted);
    psim_reader_error(reader, node, PSIM_ERR_SCHEMA,
                      psim_nearest_name(node->value.string, field->names, count),
                      "must be one of %s, not %s", known, quoted);
    return false;
}

/* A text with a unit, in the base unit of its dimension. */
static bool parse_quantity(struct psim_reader *reader, const struct psim_node *node,
                           enum psim_dimension dimension, double *value)
{
    struct psim_error err = PSIM_ERROR_INIT;
    const char *nearest;
    char examples[96], expected[160], number[32];

    if (is_number(node)) {
        snprintf(number, sizeof number, "%.*s",
                 (int)(node->token_length < 24 ? node->token_length : 24), node->token);
        psim_unit_examples(dimension, number, examples);
        psim_reader_error(reader, node, PSIM_ERR_SCHEMA, NULL, "a unit is required (%s)", examples);
        return false;
    }
    if (node->type != PSIM_NODE_STRING) {
        psim_unit_examples(dimension, "1", examples);
        snprintf(expected, sizeof expected, "%s (%s)", psim_dimension_name(dimension), examples);
        return wrong_type(reader, node, expected);
    }
    if (psim_quantity_parse(node->value.string, dimension, value, &nearest, &err) == PSIM_OK)
        return true;
    psim_reader_error(reader, node, err.status, nearest, "%s", err.message);
    return false;
}

static bool read_measure(struct psim_reader *reader, const struct psim_node *node,
                         const struct psim_field *field)
{
    const bool bytes = field->kind == PSIM_FIELD_BYTES;
    const double unlimited = bytes ? BYTES_LIMIT : INFINITY;
    const double maximum = field->maximum > 0.0 ? field->maximum : unlimited;
    double value;

    if (field->kind == PSIM_FIELD_REAL) {
        if (!is_number(node))
            return wrong_type(reader, node, "a number");
        value = number_of(node);
    } else if (!parse_quantity(reader, node, bytes ? PSIM_DIMENSION_BYTES : field->dimension,
                               &value)) {
        return false;
    }
    if (bytes)
        value = round(value);
    if (!in_range(reader, node, field, value, maximum))
        return false;
    if (bytes)
        *field->to.count = (int64_t)value;
    else
        *field->to.real = value;
    return true;
}

static void missing_key(struct psim_reader *reader, const struct psim_node *object, const char *key)
{
    psim_reader_error(reader, object, PSIM_ERR_SCHEMA, NULL, "missing key \"%s\"", key);
}

bool psim_read_value(struct psim_reader *reader, const struct psim_node *node,
                     const struct psim_field *field)
{
    switch (field->kind) {
    case PSIM_FIELD_NODE:
        *field->to.node = node;
        return true;
    case PSIM_FIELD_OBJECT:
        if (node->type != PSIM_NODE_OBJECT)
            return wrong_type(reader, node, "an object");
        *field->to.node = node;
        return true;
    case PSIM_FIELD_LIST:
        if (node->type != PSIM_NODE_ARRAY)
            return wrong_type(reader, node, "a list");
        *field->to.node = node;
        return true;
    case PSIM_FIELD_TEXT:
        return read_text(reader, node, field->to.text);
    case PSIM_FIELD_BOOL:
        if (node->type != PSIM_NODE_BOOL)
            return wrong_type(reader, node, "true or false");
        *field->to.flag = node->value.boolean;
        return true;
    case PSIM_FIELD_COUNT:
        return read_count(reader, node, field);
    case PSIM_FIELD_CHOICE:
        return read_choice(reader, node, field);
    case PSIM_FIELD_REAL:
    case PSIM_FIELD_QUANTITY:
    case PSIM_FIELD_BYTES:
        break;
    }
    return read_measure(reader, node, field);
}

bool psim_read_member(struct psim_reader *reader, const struct psim_node *object,
                      const struct psim_field *field)
{
    const struct psim_node *member = psim_node_member(object, field->key);

    if (object->type != PSIM_NODE_OBJECT)
        return wrong_type(reader, object, "an object");
    if (member == NULL) {
        missing_key(reader, object, field->key);
        return false;
    }
    return psim_read_value(reader, member, field);
}

static const struct psim_field *find_field(const struct psim_field *fields, size_t count,
                                           const char *key)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].key, key) == 0)
            return &fields[i];
    }
    return NULL;
}

#define FIELDS_LIMIT 32

void psim_read_object(struct psim_reader *reader, const struct psim_node *object,
                      const struct psim_field *fields, size_t count)
{
    const char *names[FIELDS_LIMIT];

    PSIM_ASSERT(count <= FIELDS_LIMIT);
    if (object->type != PSIM_NODE_OBJECT) {
        wrong_type(reader, object, "an object");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = fields[i].key;
        if (fields[i].required && psim_node_member(object, fields[i].key) == NULL)
            missing_key(reader, object, fields[i].key);
    }
    for (const struct psim_node *member = object->first; member != NULL; member = member->next) {
        const struct psim_field *field = find_field(fields, count, member->key);

        if (field != NULL)
            (void)psim_read_value(reader, member, field);
        else if (!psim_key_is_ignored(member))
            psim_reader_unknown_key(reader, member, names, count);
    }
}

int *psim_read_counts(struct psim_reader *reader, const struct psim_node *list, int maximum,
                      int limit)
{
    const int faults = reader->faults;
    int64_t value = 1;
    const struct psim_field field = {
        .kind = PSIM_FIELD_COUNT, .minimum = 1, .maximum = maximum, .to.count = &value};
    int *counts;

    if (list->type != PSIM_NODE_ARRAY) {
        wrong_type(reader, list, "a list");
        return NULL;
    }
    if (list->count < 1 || list->count > limit) {
        psim_reader_error(reader, list, PSIM_ERR_RANGE, NULL, "must have 1 to %d elements, not %d",
                          limit, list->count);
        return NULL;
    }
    counts = psim_reader_alloc(reader, (size_t)list->count, sizeof *counts);
    for (const struct psim_node *e = list->first; counts != NULL && e != NULL; e = e->next) {
        if (psim_read_value(reader, e, &field))
            counts[e->index] = (int)value;
    }
    return psim_reader_clean(reader, faults) ? counts : NULL;
}

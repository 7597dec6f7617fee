#include "sim/config/json_scan.h"

#include "sim/base/text.h"

#include <stdio.h>
#include <string.h>

struct scanner {
    struct psim_json *document;
    struct psim_diagnostics *list;
    const char *text;
    size_t length, at;
    int line, column; /* of text[at] */
    int depth, values;
};

static enum psim_status scan_value(struct scanner *scanner, struct psim_node *node);

static bool at_end(const struct scanner *scanner)
{
    return scanner->at >= scanner->length;
}

/* The byte at the scanner; 0 at the end, which no grammar rule below accepts. */
static char peek(const struct scanner *scanner)
{
    if (at_end(scanner))
        return '\0';
    return scanner->text[scanner->at];
}

static void advance(struct scanner *scanner, size_t bytes)
{
    for (; bytes > 0 && !at_end(scanner); bytes--) {
        scanner->at++;
        if (scanner->text[scanner->at - 1] == '\n') {
            scanner->line++;
            scanner->column = 1;
        } else if (at_end(scanner) || ((unsigned char)peek(scanner) & 0xC0) != 0x80) {
            scanner->column++; /* bytes that continue a character do not count */
        }
    }
}

static void skip_space(struct scanner *scanner)
{
    while (!at_end(scanner) && strchr(" \t\r\n", peek(scanner)) != NULL && peek(scanner) != '\0')
        advance(scanner, 1);
}

static struct psim_position here(const struct scanner *scanner)
{
    return (struct psim_position){scanner->document->name, scanner->line, scanner->column};
}

static enum psim_status syntax_error(struct scanner *scanner, struct psim_position at,
                                     const char *message)
{
    psim_diagnose(scanner->list, PSIM_ERR_SYNTAX, at, "", NULL, "%s", message);
    return scanner->list->out_of_memory ? PSIM_ERR_NOMEM : PSIM_ERR_SYNTAX;
}

/* Letters, digits and signs that stand together, as a reader sees a word: "NaN", "-01", "True". */
static size_t word_length(const struct scanner *scanner)
{
    size_t length = 0;

    while (scanner->at + length < scanner->length) {
        const char c = scanner->text[scanner->at + length];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              c == '+' || c == '-' || c == '.' || c == '_'))
            break;
        length++;
    }
    return length;
}

/* The error at the scanner where `expected` ("a value") should stand. */
static enum psim_status unexpected(struct scanner *scanner, const char *expected)
{
    char found[8] = "", quoted[PSIM_QUOTED_BYTES], message[PSIM_QUOTED_BYTES + 128];
    size_t length = 1;

    if (at_end(scanner)) {
        snprintf(message, sizeof message, "the file ends here, where %s is expected", expected);
        return syntax_error(scanner, here(scanner), message);
    }
    while (length < 4 && scanner->at + length < scanner->length &&
           ((unsigned char)scanner->text[scanner->at + length] & 0xC0) == 0x80)
        length++;
    memcpy(found, scanner->text + scanner->at, length);
    psim_text_quote(found, quoted);
    snprintf(message, sizeof message, "%s is expected, not %s%s", expected,
             found[0] == '\0' ? "a zero byte" : quoted,
             found[0] == '/' || found[0] == '#' ? " (JSON has no comments; a key that starts with "
                                                  "\"_\" is one)"
             : found[0] == '\''                 ? " (strings stand in double quotes)"
                                                : "");
    return syntax_error(scanner, here(scanner), message);
}

static const char hex_digits[] = "0123456789abcdef";

/* The code unit of "\uXXXX" at `text`, -1 when it is none. */
static int code_unit(const char *text, size_t left)
{
    int unit = 0;

    if (left < 6 || text[0] != '\\' || text[1] != 'u')
        return -1;
    for (size_t i = 2; i < 6; i++) {
        const char *digit = text[i] == '\0' ? NULL : strchr(hex_digits, text[i] | 0x20);

        if (digit == NULL)
            return -1;
        unit = 16 * unit + (int)(digit - hex_digits);
    }
    return unit;
}

/* One escape sequence, at its backslash. */
static enum psim_status scan_escape(struct scanner *scanner)
{
    const char *text = scanner->text + scanner->at;
    const size_t left = scanner->length - scanner->at;
    int unit;

    if (left < 2)
        return syntax_error(scanner, here(scanner), "the file ends inside a string");
    if (text[1] != 'u') {
        if (text[1] == '\0' || strchr("\"\\/bfnrt", text[1]) == NULL)
            return syntax_error(scanner, here(scanner),
                                "unknown escape; a backslash is written \"\\\\\"");
        advance(scanner, 2);
        return PSIM_OK;
    }
    unit = code_unit(text, left);
    if (unit < 0)
        return syntax_error(scanner, here(scanner), "\\u needs four hexadecimal digits");
    if (unit == 0)
        return syntax_error(scanner, here(scanner), "a string cannot hold the character \\u0000");
    if (unit >= 0xD800 && unit < 0xE000) {
        const int low = code_unit(text + 6, left - 6);

        if (unit >= 0xDC00 || low < 0xDC00 || low >= 0xE000)
            return syntax_error(scanner, here(scanner), "half of a surrogate pair");
        advance(scanner, 6);
    }
    advance(scanner, 6);
    return PSIM_OK;
}

/* A string at its opening quote; *length includes both quotes. */
static enum psim_status scan_string(struct scanner *scanner, size_t *length)
{
    const struct psim_position start = here(scanner);
    const size_t from = scanner->at;

    advance(scanner, 1);
    while (peek(scanner) != '"') {
        enum psim_status status = PSIM_OK;

        if (at_end(scanner))
            return syntax_error(scanner, start, "the file ends inside this string");
        if (peek(scanner) == '\n' || peek(scanner) == '\r')
            return syntax_error(scanner, start, "the line ends inside this string");
        if ((unsigned char)peek(scanner) < 0x20)
            return syntax_error(scanner, here(scanner),
                                "a control character in a string must be "
                                "escaped");
        if (peek(scanner) == '\\')
            status = scan_escape(scanner);
        else
            advance(scanner, 1);
        if (status != PSIM_OK)
            return status;
    }
    advance(scanner, 1);
    *length = scanner->at - from;
    return PSIM_OK;
}

static size_t count_digits(const char *word, size_t length, size_t at)
{
    size_t count = 0;

    while (at + count < length && word[at + count] >= '0' && word[at + count] <= '9')
        count++;
    return count;
}

/* True when the word is a number of JSON; *integer: without fraction and exponent. */
static bool is_number(const char *word, size_t length, bool *integer)
{
    size_t at = length > 0 && word[0] == '-' ? 1 : 0;
    size_t digits = count_digits(word, length, at);

    if (digits == 0 || (digits > 1 && word[at] == '0'))
        return false;
    at += digits;
    *integer = at == length;
    if (at < length && word[at] == '.') {
        digits = count_digits(word, length, at + 1);
        if (digits == 0)
            return false;
        at += 1 + digits;
    }
    if (at < length && (word[at] == 'e' || word[at] == 'E')) {
        at++;
        if (at < length && (word[at] == '+' || word[at] == '-'))
            at++;
        digits = count_digits(word, length, at);
        if (digits == 0)
            return false;
        at += digits;
    }
    return at == length;
}

/* true, false, null or a number. */
static enum psim_status scan_word(struct scanner *scanner, struct psim_node *node)
{
    const char *word = scanner->text + scanner->at;
    const size_t length = word_length(scanner);
    char copy[PSIM_QUOTED_CHARACTERS + 2], quoted[PSIM_QUOTED_BYTES];
    char message[PSIM_QUOTED_BYTES + 128];
    bool integer = false;

    if (length == 0)
        return unexpected(scanner, "a value");
    if (length == 4 && memcmp(word, "null", 4) == 0) {
        node->type = PSIM_NODE_NULL;
    } else if ((length == 4 && memcmp(word, "true", 4) == 0) ||
               (length == 5 && memcmp(word, "false", 5) == 0)) {
        node->type = PSIM_NODE_BOOL;
        node->value.boolean = length == 4;
    } else if (is_number(word, length, &integer)) {
        node->type = integer ? PSIM_NODE_INTEGER : PSIM_NODE_REAL;
    } else {
        snprintf(copy, sizeof copy, "%.*s", (int)(length < sizeof copy ? length : sizeof copy - 1),
                 word);
        psim_text_quote(copy, quoted);
        snprintf(message, sizeof message,
                 "%s is not a value of JSON: numbers are finite and written like 12 or -1.5e3, "
                 "texts stand in double quotes",
                 quoted);
        return syntax_error(scanner, here(scanner), message);
    }
    node->token_length = length;
    advance(scanner, length);
    return PSIM_OK;
}

static struct psim_node *add_child(struct scanner *scanner, struct psim_node *parent,
                                   struct psim_node **last)
{
    struct psim_node *node = psim_arena_alloc(&scanner->document->arena, 1, sizeof *node);

    if (node == NULL)
        return NULL;
    node->parent = parent;
    node->document = scanner->document;
    node->index = parent->count++;
    if (*last == NULL)
        parent->first = node;
    else
        (*last)->next = node;
    *last = node;
    return node;
}

/* The key and the colon of a member. */
static enum psim_status scan_key(struct scanner *scanner, struct psim_node *node)
{
    enum psim_status status;

    if (peek(scanner) != '"')
        return unexpected(scanner, "a key in double quotes");
    node->key_line = scanner->line;
    node->key_column = scanner->column;
    node->key_token = scanner->text + scanner->at;
    status = scan_string(scanner, &node->key_token_length);
    if (status != PSIM_OK)
        return status;
    skip_space(scanner);
    if (peek(scanner) != ':')
        return unexpected(scanner, "\":\" after the key");
    advance(scanner, 1);
    skip_space(scanner);
    return PSIM_OK;
}

/* An array or object at its opening bracket. */
static enum psim_status scan_container(struct scanner *scanner, struct psim_node *node)
{
    const bool object = peek(scanner) == '{';
    const char close = object ? '}' : ']';
    struct psim_node *last = NULL;
    enum psim_status status = PSIM_OK;

    node->type = object ? PSIM_NODE_OBJECT : PSIM_NODE_ARRAY;
    advance(scanner, 1);
    skip_space(scanner);
    if (peek(scanner) == close) {
        advance(scanner, 1);
        return PSIM_OK;
    }
    for (;;) {
        struct psim_node *child = add_child(scanner, node, &last);

        if (child == NULL)
            return PSIM_ERR_NOMEM;
        if (object)
            status = scan_key(scanner, child);
        if (status == PSIM_OK)
            status = scan_value(scanner, child);
        if (status != PSIM_OK)
            return status;
        skip_space(scanner);
        if (peek(scanner) == close)
            break;
        if (peek(scanner) != ',')
            return unexpected(scanner, object ? "\",\" or \"}\"" : "\",\" or \"]\"");
        advance(scanner, 1);
        skip_space(scanner);
        if (peek(scanner) == close)
            return unexpected(scanner, object ? "another key after the comma"
                                              : "another value after the comma");
    }
    advance(scanner, 1);
    return PSIM_OK;
}

static enum psim_status scan_value(struct scanner *scanner, struct psim_node *node)
{
    enum psim_status status;

    node->line = scanner->line;
    node->column = scanner->column;
    node->token = scanner->text + scanner->at;
    if (++scanner->values > PSIM_JSON_VALUES) {
        psim_diagnose(scanner->list, PSIM_ERR_RANGE, here(scanner), "", NULL,
                      "more than %d values in one file", PSIM_JSON_VALUES);
        return PSIM_ERR_RANGE;
    }
    if (peek(scanner) == '"') {
        node->type = PSIM_NODE_STRING;
        return scan_string(scanner, &node->token_length);
    }
    if (peek(scanner) != '{' && peek(scanner) != '[')
        return scan_word(scanner, node);
    if (++scanner->depth > PSIM_JSON_DEPTH) {
        psim_diagnose(scanner->list, PSIM_ERR_RANGE, here(scanner), "", NULL,
                      "more than %d levels of nesting", PSIM_JSON_DEPTH);
        return PSIM_ERR_RANGE;
    }
    status = scan_container(scanner, node);
    scanner->depth--;
    return status;
}

enum psim_status psim_scan(struct psim_json *document, struct psim_diagnostics *list)
{
    struct scanner scanner = {
        .document = document,
        .list = list,
        .text = document->text,
        .length = document->length,
        .line = 1,
        .column = 1,
    };
    struct psim_node *root = psim_arena_alloc(&document->arena, 1, sizeof *root);
    enum psim_status status;

    if (root == NULL)
        return PSIM_ERR_NOMEM;
    root->document = document;
    skip_space(&scanner);
    if (at_end(&scanner))
        return syntax_error(&scanner, (struct psim_position){document->name, 1, 1},
                            "the file is empty");
    status = scan_value(&scanner, root);
    if (status != PSIM_OK)
        return status;
    skip_space(&scanner);
    if (!at_end(&scanner))
        return unexpected(&scanner, "the end of the file");
    document->root = root;
    return PSIM_OK;
}

struct psim_position psim_scan_position(const struct psim_json *document, size_t offset)
{
    struct scanner scanner = {
        .text = document->text,
        .length = document->length,
        .line = 1,
        .column = 1,
    };

    advance(&scanner, offset < document->length ? offset : document->length);
    return (struct psim_position){document->name, scanner.line, scanner.column};
}

#include "sim/base/text.h"

#include "sim/base/memory.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NAME_LIMIT 64 /* names longer than this are compared by their first letters */

static bool reserve(struct psim_text *text, size_t more)
{
    size_t capacity = text->capacity == 0 ? 256 : text->capacity;
    char *data;

    if (text->failed || more > SIZE_MAX / 4 || text->length > SIZE_MAX / 4)
        return false;
    while (capacity < text->length + more + 1)
        capacity *= 2;
    if (capacity == text->capacity)
        return true;
    data = psim_realloc(text->data, capacity, 1);
    if (data == NULL) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void psim_text_append(struct psim_text *text, const char *bytes, size_t length)
{
    if (!reserve(text, length))
        return;
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void psim_text_printf(struct psim_text *text, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !reserve(text, (size_t)length))
        return;
    va_start(arguments, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

void psim_text_json(struct psim_text *out, const char *text)
{
    psim_text_append(out, "\"", 1);
    for (; *text != '\0'; text++) {
        const unsigned char byte = (unsigned char)*text;

        if (byte == '"' || byte == '\\')
            psim_text_printf(out, "\\%c", byte);
        else if (byte < 0x20)
            psim_text_printf(out, "\\u%04x", byte);
        else
            psim_text_append(out, text, 1);
    }
    psim_text_append(out, "\"", 1);
}

void psim_text_release(struct psim_text *text)
{
    psim_free(text->data);
    *text = (struct psim_text)PSIM_TEXT_INIT;
}

/* Bytes of the character at `text`: its lead byte and what continues it. */
static size_t character_length(const char *text)
{
    size_t length = 1;

    if ((unsigned char)text[0] < 0x80)
        return 1;
    while (length < 4 && ((unsigned char)text[length] & 0xC0) == 0x80)
        length++;
    return length;
}

void psim_text_quote(const char *text, char *out)
{
    int characters = 0;

    *out++ = '"';
    for (; *text != '\0' && characters < PSIM_QUOTED_CHARACTERS; characters++) {
        const unsigned char c = (unsigned char)*text;
        const size_t length = character_length(text);

        if (c < 0x20 || c == 0x7F)
            out += sprintf(out, "\\u%04x", (unsigned)c);
        else if (c == '"' || c == '\\')
            out += sprintf(out, "\\%c", c);
        else {
            memcpy(out, text, length);
            out += length;
        }
        text += length;
    }
    strcpy(out, *text == '\0' ? "\"" : "...\"");
}

static size_t bounded_length(const char *name)
{
    const size_t length = strlen(name);

    return length < NAME_LIMIT ? length : NAME_LIMIT;
}

/* Edits that turn a into b: insert, delete, replace, swap of neighbours. */
static size_t edit_distance(const char *a, const char *b)
{
    const size_t m = bounded_length(a), n = bounded_length(b);
    size_t row[3][NAME_LIMIT + 1];

    for (size_t j = 0; j <= n; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t *now = row[i % 3], *above = row[(i + 2) % 3], *before = row[(i + 1) % 3];

        now[0] = i;
        for (size_t j = 1; j <= n; j++) {
            const int x = tolower((unsigned char)a[i - 1]), y = tolower((unsigned char)b[j - 1]);
            size_t best = above[j - 1] + (x == y ? 0 : 1);

            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (now[j - 1] + 1 < best)
                best = now[j - 1] + 1;
            if (i > 1 && j > 1 && x == tolower((unsigned char)b[j - 2]) &&
                y == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            now[j] = best;
        }
    }
    return row[m % 3][n];
}

static bool shares_prefix(const char *a, const char *b)
{
    const size_t m = bounded_length(a), n = bounded_length(b);
    const size_t shorter = m < n ? m : n;

    if (shorter < 3)
        return false;
    for (size_t i = 0; i < shorter; i++) {
        if (tolower((unsigned char)a[i]) != tolower((unsigned char)b[i]))
            return false;
    }
    return true;
}

const char *psim_nearest_name(const char *name, const char *const *candidates, size_t count)
{
    const size_t third = bounded_length(name) / 3;
    const size_t limit = third > 1 ? third : 1;
    const char *nearest = NULL, *prefix = NULL;
    size_t nearest_distance = limit + 1;

    for (size_t i = 0; i < count; i++) {
        const size_t distance = edit_distance(name, candidates[i]);

        if (distance < nearest_distance) {
            nearest_distance = distance;
            nearest = candidates[i];
        }
        if (prefix == NULL && shares_prefix(name, candidates[i]))
            prefix = candidates[i];
    }
    return nearest != NULL ? nearest : prefix;
}

#include "sim/import/job.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_BYTES  64 /* longer ones psim_quantity_parse refuses */
#define MESSAGE_BYTES 512
#define FEWEST_DIGITS 6     /* enough for most, and without an exponent up to 999999 */
#define ROUNDING      1e-15 /* of a value through its unit and back */

static void report(struct psim_import_job *job, struct psim_place at, enum psim_status status,
                   const char *suggestion, const char *format, va_list arguments)
{
    const struct psim_position position = {job->input->file, at.line, at.column};
    char message[MESSAGE_BYTES];

    vsnprintf(message, sizeof message, format, arguments);
    psim_diagnose(job->list, status, position, "", suggestion, "%s", message);
}

void psim_import_error(struct psim_import_job *job, struct psim_place at, enum psim_status status,
                       const char *suggestion, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    report(job, at, status, suggestion, format, arguments);
    va_end(arguments);
}

void psim_import_warn(struct psim_import_job *job, struct psim_place at, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    report(job, at, PSIM_OK, NULL, format, arguments);
    va_end(arguments);
}

void psim_import_no_memory(struct psim_import_job *job)
{
    if (job->list->status != PSIM_ERR_NOMEM)
        psim_import_error(job, (struct psim_place){0, 0}, PSIM_ERR_NOMEM, NULL, "out of memory");
    job->list->status = PSIM_ERR_NOMEM;
}

bool psim_import_clean(const struct psim_import_job *job)
{
    return job->list->errors == job->errors_before && !job->list->out_of_memory;
}

void *psim_import_alloc(struct psim_import_job *job, size_t count, size_t size)
{
    void *block = psim_arena_alloc(&job->arena, count, size);

    if (block == NULL)
        psim_import_no_memory(job);
    return block;
}

const char *psim_import_printf(struct psim_import_job *job, const char *format, ...)
{
    char text[MESSAGE_BYTES], *longer = text;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    PSIM_ASSERT(length >= 0);
    longer = psim_import_alloc(job, (size_t)length + 1, 1);
    if (longer == NULL)
        return NULL;
    va_start(arguments, format);
    vsnprintf(longer, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return longer;
}

void *psim_import_grow(struct psim_import_job *job, void *items, size_t count, size_t *capacity,
                       size_t size)
{
    const size_t larger = *capacity == 0 ? 16 : 2 * *capacity;
    void *copy;

    if (count < *capacity)
        return items;
    copy = psim_import_alloc(job, larger, size);
    if (copy == NULL)
        return NULL;
    if (count > 0)
        memcpy(copy, items, count * size);
    *capacity = larger;
    return copy;
}

/* ---- Lines and words ---- */

/* Length of a terminal's escape sequence "ESC [ ... letter", 0 where there is none. */
static size_t escape_length(const char *text)
{
    size_t length = 2;

    if (text[0] != '\033' || text[1] != '[')
        return 0;
    while (text[length] >= 0x20 && text[length] < 0x40)
        length++;
    return text[length] >= 0x40 && text[length] < 0x7F ? length + 1 : length;
}

/* Bytes that separate words at `text`; 0 at a word or at the end of the line. */
static size_t gap_length(const char *text)
{
    if (*text == ' ' || *text == '\t' || *text == '\r')
        return 1;
    return escape_length(text);
}

static size_t word_length(const char *text)
{
    size_t length = 0;

    while (text[length] != '\0' && text[length] != '\n' && gap_length(text + length) == 0)
        length++;
    return length;
}

/* Continuation bytes of UTF-8 take no column. */
static int columns(const char *text, size_t length)
{
    int count = 0;

    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)text[i] & 0xC0) != 0x80 ? 1 : 0;
    return count;
}

static bool add_word(struct psim_import_job *job, struct psim_word **items, size_t *capacity,
                     struct psim_words *out, const char *text, size_t length, int column)
{
    struct psim_word *grown = psim_import_grow(job, *items, out->count, capacity, sizeof **items);
    const char *copy = psim_import_printf(job, "%.*s", (int)length, text);

    if (grown == NULL || copy == NULL)
        return false;
    grown[out->count++] = (struct psim_word){copy, {out->line, column}};
    out->items = *items = grown;
    return true;
}

bool psim_import_words(struct psim_import_job *job, const char **text, int *line,
                       struct psim_words *out)
{
    const char *at = *text;
    struct psim_word *items = NULL;
    size_t capacity = 0;
    int column = 1;

    if (*at == '\0')
        return false;
    *out = (struct psim_words){.line = ++*line};
    while (*at != '\0' && *at != '\n') {
        const size_t gap = gap_length(at), length = gap > 0 ? gap : word_length(at);

        if (gap == 0 && !add_word(job, &items, &capacity, out, at, length, column))
            return false;
        column += columns(at, length);
        at += length;
    }
    *text = *at == '\n' ? at + 1 : at;
    return true;
}

/* ---- Numbers ---- */

bool psim_import_is_number(struct psim_import_job *job, const char *text,
                           enum psim_dimension dimension, const char *unit, double *value)
{
    const char *quantity = psim_import_printf(job, "%s %s", text, unit), *nearest;

    return quantity != NULL &&
           psim_quantity_parse(quantity, dimension, value, &nearest, NULL) == PSIM_OK;
}

bool psim_import_number(struct psim_import_job *job, struct psim_place at, const char *what,
                        const char *text, enum psim_dimension dimension, const char *unit,
                        enum psim_range range, double *value)
{
    char quoted[PSIM_QUOTED_BYTES];
    double parsed;

    psim_text_quote(text, quoted);
    if (!psim_import_is_number(job, text, dimension, unit, &parsed)) {
        psim_import_error(job, at, PSIM_ERR_SCHEMA, NULL, "%s must be a number, not %s", what,
                          quoted);
        return false;
    }
    if (range == PSIM_ABOVE_ZERO ? !(parsed > 0.0) : !(parsed >= 0.0)) {
        psim_import_error(job, at, PSIM_ERR_RANGE, NULL, "%s must be %s, not %s", what,
                          range == PSIM_ABOVE_ZERO ? "greater than 0" : "at least 0", quoted);
        return false;
    }
    *value = parsed;
    return true;
}

bool psim_import_count(struct psim_import_job *job, struct psim_place at, const char *what,
                       const char *text, int minimum, int maximum, int *value)
{
    char quoted[PSIM_QUOTED_BYTES];
    double parsed;

    psim_text_quote(text, quoted);
    if (!psim_import_is_number(job, text, PSIM_DIMENSION_BYTES, "B", &parsed) ||
        parsed != floor(parsed)) {
        psim_import_error(job, at, PSIM_ERR_SCHEMA, NULL, "%s must be a whole number, not %s", what,
                          quoted);
        return false;
    }
    if (!(parsed >= minimum && parsed <= maximum)) {
        psim_import_error(job, at, PSIM_ERR_RANGE, NULL, "%s must be in [%d, %d], not %s", what,
                          minimum, maximum, quoted);
        return false;
    }
    *value = (int)parsed;
    return true;
}

/* ---- Output ---- */

/* The largest unit in which the value is at least 1, of those that people write. */
static const struct psim_unit *readable_unit(double value, enum psim_dimension dimension)
{
    static const char *const names[] = {"GB/s", "MB/s", "kB/s", "B/s", "s", "ms", "us", "ns"};
    const struct psim_unit *smallest = NULL;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        for (const struct psim_unit *unit = psim_units; unit->name != NULL; unit++) {
            if (unit->dimension != dimension || strcmp(unit->name, names[i]) != 0)
                continue;
            if (value == 0.0 || value * unit->denominator >= unit->numerator)
                return unit;
            smallest = unit;
        }
    }
    PSIM_ASSERT(smallest != NULL);
    return smallest;
}

/* Files have a dot whatever the process's locale. */
static void print_number(char text[NUMBER_BYTES], int digits, double number, const char *behind)
{
    char *point;

    snprintf(text, NUMBER_BYTES, "%.*g%s", digits, number, behind);
    point = strchr(text, localeconv()->decimal_point[0]);
    if (point != NULL)
        *point = '.';
}

static void print_quantity(char text[NUMBER_BYTES], int digits, double number, const char *unit)
{
    char behind[16];

    snprintf(behind, sizeof behind, " %s", unit);
    print_number(text, digits, number, behind);
}

void psim_import_json_number(struct psim_text *out, double value, int digits)
{
    char text[NUMBER_BYTES];

    print_number(text, digits, value, "");
    psim_text_printf(out, "%s", text);
}

static bool reads_back(const char *text, enum psim_dimension dimension, double value)
{
    const char *nearest;
    double parsed;

    return psim_quantity_parse(text, dimension, &parsed, &nearest, NULL) == PSIM_OK &&
           fabs(parsed - value) <= ROUNDING * value;
}

void psim_import_json_quantity(struct psim_text *out, double value, enum psim_dimension dimension,
                               int digits)
{
    const struct psim_unit *unit = readable_unit(value, dimension);
    const double scaled = value * unit->denominator / unit->numerator;
    char text[NUMBER_BYTES];
    int used = FEWEST_DIGITS;

    print_quantity(text, used, scaled, unit->name);
    while (used < digits && !reads_back(text, dimension, value))
        print_quantity(text, ++used, scaled, unit->name);
    psim_text_printf(out, "\"%s\"", text);
}

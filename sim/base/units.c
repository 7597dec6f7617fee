#include "sim/base/units.h"

#include "sim/base/text.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_LIMIT 64 /* characters of a number; more digits than a double can tell apart */

/* Fractions are divided by a power of ten, which is exact, so that "3 us" is the double 3e-6. */
const struct psim_unit psim_units[] = {
    {"B", PSIM_DIMENSION_BYTES, 1, 1},
    {"kB", PSIM_DIMENSION_BYTES, 1e3, 1},
    {"MB", PSIM_DIMENSION_BYTES, 1e6, 1},
    {"GB", PSIM_DIMENSION_BYTES, 1e9, 1},
    {"TB", PSIM_DIMENSION_BYTES, 1e12, 1},
    {"KiB", PSIM_DIMENSION_BYTES, 1024.0, 1},
    {"MiB", PSIM_DIMENSION_BYTES, 1048576.0, 1},
    {"GiB", PSIM_DIMENSION_BYTES, 1073741824.0, 1},
    {"TiB", PSIM_DIMENSION_BYTES, 1099511627776.0, 1},
    {"B/s", PSIM_DIMENSION_BYTES_PER_S, 1, 1},
    {"kB/s", PSIM_DIMENSION_BYTES_PER_S, 1e3, 1},
    {"MB/s", PSIM_DIMENSION_BYTES_PER_S, 1e6, 1},
    {"GB/s", PSIM_DIMENSION_BYTES_PER_S, 1e9, 1},
    {"TB/s", PSIM_DIMENSION_BYTES_PER_S, 1e12, 1},
    {"KiB/s", PSIM_DIMENSION_BYTES_PER_S, 1024.0, 1},
    {"MiB/s", PSIM_DIMENSION_BYTES_PER_S, 1048576.0, 1},
    {"GiB/s", PSIM_DIMENSION_BYTES_PER_S, 1073741824.0, 1},
    {"TiB/s", PSIM_DIMENSION_BYTES_PER_S, 1099511627776.0, 1},
    {"b/s", PSIM_DIMENSION_BYTES_PER_S, 1, 8},
    {"kb/s", PSIM_DIMENSION_BYTES_PER_S, 1e3, 8},
    {"Mb/s", PSIM_DIMENSION_BYTES_PER_S, 1e6, 8},
    {"Gb/s", PSIM_DIMENSION_BYTES_PER_S, 1e9, 8},
    {"Tb/s", PSIM_DIMENSION_BYTES_PER_S, 1e12, 8},
    {"s", PSIM_DIMENSION_SECONDS, 1, 1},
    {"ms", PSIM_DIMENSION_SECONDS, 1, 1e3},
    {"us", PSIM_DIMENSION_SECONDS, 1, 1e6},
    {"ns", PSIM_DIMENSION_SECONDS, 1, 1e9},
    {"min", PSIM_DIMENSION_SECONDS, 60, 1},
    {"h", PSIM_DIMENSION_SECONDS, 3600, 1},
    {"GFLOP/s", PSIM_DIMENSION_FLOP_PER_S, 1e9, 1},
    {"TFLOP/s", PSIM_DIMENSION_FLOP_PER_S, 1e12, 1},
    {"PFLOP/s", PSIM_DIMENSION_FLOP_PER_S, 1e15, 1},
    {"W", PSIM_DIMENSION_WATT, 1, 1},
    {"pJ/b", PSIM_DIMENSION_JOULE_PER_BYTE, 8, 1e12},
    {"nJ/b", PSIM_DIMENSION_JOULE_PER_BYTE, 8, 1e9},
    {"J/B", PSIM_DIMENSION_JOULE_PER_BYTE, 1, 1},
    {"USD/h", PSIM_DIMENSION_USD_PER_HOUR, 1, 1},
    {"USD", PSIM_DIMENSION_USD, 1, 1},
    {"J", PSIM_DIMENSION_JOULE, 1, 1},
    {"kWh", PSIM_DIMENSION_JOULE, 3.6e6, 1},
    {NULL, PSIM_DIMENSIONS, 0, 1},
};

#define UNIT_LIMIT (sizeof psim_units / sizeof psim_units[0])

static const struct {
    const char *name;
    const char *examples[2]; /* units; the second may be NULL */
} dimensions[PSIM_DIMENSIONS] = {
    [PSIM_DIMENSION_BYTES] = {"a size", {"GiB", "GB"}},
    [PSIM_DIMENSION_BYTES_PER_S] = {"a bandwidth", {"GB/s", "Gb/s"}},
    [PSIM_DIMENSION_SECONDS] = {"a time", {"us", "s"}},
    [PSIM_DIMENSION_FLOP_PER_S] = {"a computing rate", {"TFLOP/s", "GFLOP/s"}},
    [PSIM_DIMENSION_WATT] = {"a power", {"W", NULL}},
    [PSIM_DIMENSION_JOULE_PER_BYTE] = {"an energy per bit", {"pJ/b", "nJ/b"}},
    [PSIM_DIMENSION_USD_PER_HOUR] = {"a price", {"USD/h", NULL}},
    [PSIM_DIMENSION_USD] = {"an amount of money", {"USD", NULL}},
    [PSIM_DIMENSION_JOULE] = {"an energy", {"kWh", "J"}},
};

const char *psim_dimension_name(enum psim_dimension dimension)
{
    return dimensions[dimension].name;
}

void psim_unit_examples(enum psim_dimension dimension, const char *number, char *text)
{
    const char *const *units = dimensions[dimension].examples;

    if (units[1] == NULL)
        snprintf(text, 96, "\"%.24s %s\"", number, units[0]);
    else
        snprintf(text, 96, "\"%.24s %s\" or \"%.24s %s\"", number, units[0], number, units[1]);
}

static size_t digits(const char *text)
{
    size_t length = 0;

    while (isdigit((unsigned char)text[length]))
        length++;
    return length;
}

/* Length of the JSON number at the start of `text`; 0 when there is none. */
static size_t number_length(const char *text)
{
    size_t at = text[0] == '-' || text[0] == '+' ? 1 : 0;
    size_t more = digits(text + at);

    if (more == 0)
        return 0;
    at += more;
    if (text[at] == '.') {
        more = digits(text + at + 1);
        if (more == 0)
            return 0;
        at += 1 + more;
    }
    if (text[at] == 'e' || text[at] == 'E') {
        const size_t sign = text[at + 1] == '-' || text[at + 1] == '+' ? 1 : 0;

        more = digits(text + at + 1 + sign);
        if (more > 0)
            at += 1 + sign + more;
    }
    return at;
}

/* strtod reads the decimal point of the process's locale; files always have a dot. */
static bool number_value(const char *text, size_t length, double *value)
{
    char copy[NUMBER_LIMIT + 1];
    char *dot, *end;

    if (length > NUMBER_LIMIT)
        return false;
    memcpy(copy, text, length);
    copy[length] = '\0';
    dot = strchr(copy, '.');
    if (dot != NULL)
        *dot = localeconv()->decimal_point[0];
    *value = strtod(copy, &end);
    return end == copy + length;
}

static const struct psim_unit *find_unit(const char *name)
{
    for (const struct psim_unit *unit = psim_units; unit->name != NULL; unit++) {
        if (strcmp(unit->name, name) == 0)
            return unit;
    }
    return NULL;
}

static int same_letters(const char *a, const char *b)
{
    int same = 0;

    for (size_t i = 0; a[i] != '\0' && b[i] != '\0'; i++)
        same += a[i] == b[i] ? 1 : 0;
    return same;
}

static bool equal_ignoring_case(const char *a, const char *b)
{
    size_t i = 0;

    while (a[i] != '\0' && tolower((unsigned char)a[i]) == tolower((unsigned char)b[i]))
        i++;
    return a[i] == b[i];
}

/* "s, ms, us, ns": the units of a dimension. */
static void list_units(enum psim_dimension dimension, char *out, size_t size)
{
    size_t at = 0;

    out[0] = '\0';
    for (const struct psim_unit *unit = psim_units; unit->name != NULL && at < size; unit++) {
        if (unit->dimension == dimension)
            at += (size_t)snprintf(out + at, size - at, "%s%s", at == 0 ? "" : ", ", unit->name);
    }
}

/* The nearest unit of the dimension.  Names are compared without case, but here case tells bits
 * from bytes: among units that differ in nothing else, the one that keeps most letters wins. */
static const char *nearest_unit(const char *name, enum psim_dimension dimension)
{
    const char *candidates[UNIT_LIMIT];
    const char *best;
    size_t count = 0;

    for (const struct psim_unit *unit = psim_units; unit->name != NULL; unit++) {
        if (unit->dimension == dimension)
            candidates[count++] = unit->name;
    }
    best = psim_nearest_name(name, candidates, count);
    for (size_t i = 0; best != NULL && i < count; i++) {
        if (equal_ignoring_case(candidates[i], best) &&
            same_letters(name, candidates[i]) > same_letters(name, best))
            best = candidates[i];
    }
    return best;
}

static enum psim_status reject_unit(const char *text, size_t number, const char *name,
                                    enum psim_dimension dimension, const char **nearest,
                                    struct psim_error *err)
{
    const struct psim_unit *other = find_unit(name);
    char examples[96], found[NUMBER_LIMIT + 1], quoted[PSIM_QUOTED_BYTES], known[128];

    snprintf(found, sizeof found, "%.*s", (int)number, text);
    psim_unit_examples(dimension, found, examples);
    if (name[0] == '\0')
        return psim_fail(err, PSIM_ERR_SCHEMA, "", "a unit is required (%s)", examples);
    if (other != NULL)
        return psim_fail(err, PSIM_ERR_SCHEMA, "",
                         "%s is expected (%s), not %s: the unit is \"%s\"",
                         psim_dimension_name(dimension), examples,
                         psim_dimension_name(other->dimension), other->name);
    *nearest = nearest_unit(name, dimension);
    psim_text_quote(name, quoted);
    list_units(dimension, known, sizeof known);
    return psim_fail(err, PSIM_ERR_SCHEMA, "", "unknown unit %s of %s%s%s", quoted,
                     psim_dimension_name(dimension), *nearest == NULL ? "; known: " : "",
                     *nearest == NULL ? known : "");
}

enum psim_status psim_quantity_parse(const char *text, enum psim_dimension dimension, double *value,
                                     const char **nearest, struct psim_error *err)
{
    const size_t number = number_length(text);
    const char *name = text + number;
    const struct psim_unit *unit;
    char examples[96], quoted[PSIM_QUOTED_BYTES];
    double parsed;

    *nearest = NULL;
    psim_unit_examples(dimension, "1", examples);
    psim_text_quote(text, quoted);
    if (number == 0 || !number_value(text, number, &parsed))
        return psim_fail(err, PSIM_ERR_SCHEMA, "", "%s is expected (%s), not %s",
                         psim_dimension_name(dimension), examples, quoted);
    while (*name == ' ')
        name++;
    unit = find_unit(name);
    if (unit == NULL || unit->dimension != dimension)
        return reject_unit(text, number, name, dimension, nearest, err);
    parsed = parsed * unit->numerator / unit->denominator;
    if (!isfinite(parsed))
        return psim_fail(err, PSIM_ERR_RANGE, "", "must be finite, not %s", quoted);
    *value = parsed;
    return PSIM_OK;
}

#include "sim/config/scan_values.h"

#include "sim/config/axes.h"
#include "sim/config/key_path.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Ranges ---- */

struct range {
    double from, to, step;
    bool whole, multiplies;
    const char *unit;
};

/* A number as JSON has it; strtod alone would take "inf", "0x10" and " 1". */
static bool take_number(const char **at, double *out, bool *whole)
{
    const size_t length = strspn(*at, "+-.0123456789eE");
    char *end;

    if (length == 0 || strchr("-0123456789", **at) == NULL)
        return false;
    *out = strtod(*at, &end);
    if (end == *at || (size_t)(end - *at) > length)
        return false;
    *whole = *whole && strcspn(*at, ".eE") >= (size_t)(end - *at);
    *at = end;
    return isfinite(*out);
}

static bool take(const char **at, char wanted)
{
    if (**at != wanted)
        return false;
    ++*at;
    return true;
}

static bool read_range(const char *text, struct range *out)
{
    const char *at = text;

    *out = (struct range){.step = 1, .whole = true};
    if (!take_number(&at, &out->from, &out->whole) || !take(&at, ':') ||
        !take_number(&at, &out->to, &out->whole))
        return false;
    if (take(&at, ':')) {
        out->multiplies = take(&at, '*');
        if ((!out->multiplies && !take(&at, '+')) || !take_number(&at, &out->step, &out->whole))
            return false;
    }
    out->unit = at + strspn(at, " ");
    return strcspn(out->unit, ":,\"\\") == strlen(out->unit);
}

bool psim_text_is_range(const char *text)
{
    struct range range;

    return read_range(text, &range);
}

static void write_number(const struct range *range, double value, struct psim_text *out)
{
    char digits[40];

    if (range->whole) {
        snprintf(digits, sizeof digits, "%" PRId64, (int64_t)value);
    } else {
        snprintf(digits, sizeof digits, "%.15g", value); /* without the rounding of the steps */
    }
    psim_text_printf(out, range->unit[0] == '\0' ? "%s" : "\"%s %s\"", digits, range->unit);
}

#define WHOLE_LIMIT 9007199254740992.0 /* 2^53: whole numbers up to here are exact */

static const char *refuse(const struct range *range)
{
    if (!(range->from <= range->to))
        return "a range must rise";
    if (range->multiplies && !(range->from > 0 && range->step > 1))
        return "a range that multiplies must start above 0 and have a factor above 1";
    if (!range->multiplies && !(range->step > 0))
        return "the step of a range must be above 0";
    if (range->whole && !(range->from >= -WHOLE_LIMIT && range->to <= WHOLE_LIMIT))
        return "the numbers of a range must be in [-2^53, 2^53]";
    return NULL;
}

/* Each value from the first one, so that the steps do not add up their rounding; the last one may
 * miss the end by that much. */
static double value_at(const struct range *range, int index)
{
    return range->multiplies ? range->from * pow(range->step, index)
                             : range->from + range->step * index;
}

const char *psim_range_write(const char *text, struct psim_text *out)
{
    struct range range;
    const char *fault;
    double slack;

    if (!read_range(text, &range))
        return "not FROM:TO, FROM:TO:*FACTOR or FROM:TO:+STEP, with or without a unit";
    fault = refuse(&range);
    if (fault != NULL)
        return fault;
    slack = range.whole ? 0.0 : 1e-12 * fabs(range.to);
    psim_text_append(out, "[", 1);
    for (int i = 0; value_at(&range, i) <= range.to + slack; i++) {
        if (i == PSIM_SWEEP_VALUES)
            return "a range has 65536 values at most";
        if (i > 0)
            psim_text_append(out, ",", 1);
        write_number(&range, value_at(&range, i), out);
    }
    psim_text_append(out, "]", 1);
    return NULL;
}

/* ---- Lists ---- */

/* Length up to a comma outside brackets and quotes. */
static size_t item_length(const char *text)
{
    bool quoted = false;
    int depth = 0;
    size_t i = 0;

    for (; text[i] != '\0' && (quoted || depth > 0 || text[i] != ','); i++) {
        if (quoted && text[i] == '\\' && text[i + 1] != '\0')
            i++;
        else if (text[i] == '"')
            quoted = !quoted;
        else if (!quoted && strchr("[{", text[i]) != NULL)
            depth++;
        else if (!quoted && strchr("]}", text[i]) != NULL)
            depth--;
    }
    return i;
}

static bool is_json(const char *text, size_t length)
{
    struct psim_diagnostics list = PSIM_DIAGNOSTICS_INIT;
    struct psim_json document;
    const bool is = psim_json_parse(text, length, PSIM_SCAN_NAME, &document, &list) == PSIM_OK;

    if (is)
        psim_json_release(&document);
    psim_diagnostics_release(&list);
    return is;
}

static const char *write_item(const char *text, size_t length, struct psim_text *out)
{
    char *copy;

    if (length == 0)
        return "a value is empty";
    if (is_json(text, length)) {
        psim_text_append(out, text, length);
        return NULL;
    }
    if (strchr("[{\"", text[0]) != NULL)
        return "a value that starts as JSON is not JSON";
    copy = psim_alloc(length + 1, 1);
    if (copy == NULL) {
        out->failed = true;
        return NULL;
    }
    memcpy(copy, text, length);
    psim_text_json(out, copy);
    psim_free(copy);
    return NULL;
}

const char *psim_list_write(const char *text, struct psim_text *out)
{
    const char *fault = NULL;

    psim_text_append(out, "[", 1);
    while (fault == NULL) {
        const size_t length = item_length(text);

        fault = write_item(text, length, out);
        text += length;
        if (*text == '\0')
            break;
        psim_text_append(out, ",", 1);
        text++;
    }
    psim_text_append(out, "]", 1);
    return fault;
}

#include "sim/report/quantity.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_DIGITS   3     /* significant, of every number but zero */
#define LARGEST_DIGITS 4     /* significant, of the largest number of a column, at least */
#define COLUMN_DIGITS  8     /* of the largest number, at most, to show the smallest as well */
#define SHARE_DIGITS   5     /* the same for shares */
#define MOST_DECIMALS  6     /* below them a number is written with an exponent */
#define LONGEST        1e10  /* from here on too */
#define SHARE_NOISE    1e-12 /* of the whole */

struct unit {
    const char *name; /* NULL at the end */
    double factor;
};

static const struct unit plain_units[] = {{"", 1.0}, {NULL, 0.0}};
static const struct unit percent_units[] = {{"%", 0.01}, {NULL, 0.0}};
static const struct unit second_units[] = {
    {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}, {NULL, 0.0}};
static const struct unit flop_units[] = {{"FLOP", 1.0},  {"kFLOP", 1e3},  {"MFLOP", 1e6},
                                         {"GFLOP", 1e9}, {"TFLOP", 1e12}, {"PFLOP", 1e15},
                                         {NULL, 0.0}};
static const struct unit decimal_units[] = {{"B", 1.0},  {"kB", 1e3},  {"MB", 1e6},
                                            {"GB", 1e9}, {"TB", 1e12}, {NULL, 0.0}};
static const struct unit binary_units[] = {{"B", 1.0},
                                           {"KiB", 1024.0},
                                           {"MiB", 1048576.0},
                                           {"GiB", 1073741824.0},
                                           {"TiB", 1099511627776.0},
                                           {NULL, 0.0}};

static const struct unit joule_units[] = {{"mJ", 1e-3}, {"J", 1.0},  {"kJ", 1e3},
                                          {"MJ", 1e6},  {"GJ", 1e9}, {NULL, 0.0}};
static const struct unit dollar_units[] = {{"USD", 1.0}, {NULL, 0.0}};

static const struct unit *units_of(enum psim_quantity quantity)
{
    switch (quantity) {
    case PSIM_QUANTITY_SHARE:
        return percent_units;
    case PSIM_QUANTITY_SECONDS:
        return second_units;
    case PSIM_QUANTITY_FLOP:
        return flop_units;
    case PSIM_QUANTITY_TRAFFIC:
    case PSIM_QUANTITY_MEMORY_DECIMAL:
        return decimal_units;
    case PSIM_QUANTITY_MEMORY:
        return binary_units;
    case PSIM_QUANTITY_ENERGY:
        return joule_units;
    case PSIM_QUANTITY_MONEY:
        return dollar_units;
    default:
        return plain_units;
    }
}

/* Rounding noise must not read as a share. */
static bool is_noise(enum psim_quantity quantity, double value)
{
    return quantity == PSIM_QUANTITY_SHARE && fabs(value) < SHARE_NOISE;
}

void psim_extent_include(struct psim_extent *extent, enum psim_quantity quantity, double value)
{
    const double size = fabs(value);

    if (!isfinite(value))
        return;
    extent->known = true;
    if (!(size > 0.0) || is_noise(quantity, value))
        return;
    if (extent->largest <= 0.0 || size < extent->smallest)
        extent->smallest = size;
    if (size > extent->largest)
        extent->largest = size;
}

/* The largest unit that is not above the size as printed: 999.96 us are 1.000 ms. */
static const struct unit *unit_below(const struct unit *unit, double size)
{
    while (unit[1].name != NULL && size * (1.0 + 5e-5) >= unit[1].factor)
        unit++;
    return unit;
}

/* Memory is read against a device's size, so its largest figure picks the unit unless that leaves
 * hundredths of the smallest; elsewhere the smallest does.  In both cases the largest keeps to
 * four digits before the point. */
static const struct unit *fit_unit(enum psim_quantity quantity, const struct psim_extent *extent)
{
    const struct unit *const units = units_of(quantity);
    const struct unit *unit;

    if (extent->largest <= 0.0) {
        for (unit = units; unit[1].name != NULL && unit->factor < 1.0;)
            unit++;
        return unit;
    }
    if (quantity != PSIM_QUANTITY_MEMORY && quantity != PSIM_QUANTITY_MEMORY_DECIMAL) {
        unit = unit_below(units, extent->smallest);
        while (unit[1].name != NULL && extent->largest >= 1e4 * unit->factor)
            unit++;
        return unit;
    }
    unit = unit_below(units, extent->largest);
    while (unit > units && extent->smallest < 0.01 * unit->factor &&
           extent->largest < 1e4 * unit[-1].factor)
        unit--;
    return unit;
}

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* Decimals that show `digits` significant digits of a positive number. */
static int decimals_for(double value, int digits)
{
    char text[PSIM_NUMBER_BYTES];
    int decimals;

    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    decimals = digits - 1 - (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    return decimals < 0 ? 0 : decimals;
}

static int least_decimals(enum psim_quantity quantity)
{
    return quantity == PSIM_QUANTITY_RATIO ? 2 : quantity == PSIM_QUANTITY_SHARE ? 1 : 0;
}

struct psim_scale psim_scale_fit(enum psim_quantity quantity, const struct psim_extent *extent)
{
    const struct unit *unit = fit_unit(quantity, extent);
    const double smallest = extent->smallest / unit->factor;
    const double largest = extent->largest / unit->factor;
    struct psim_scale scale = {unit->name, unit->factor, 0, false};
    const int digits = quantity == PSIM_QUANTITY_SHARE ? SHARE_DIGITS : COLUMN_DIGITS;
    int most, wanted;

    if (!extent->known)
        scale.unit = "";
    scale.whole = quantity == PSIM_QUANTITY_COUNT || strcmp(scale.unit, "B") == 0;
    if (scale.whole)
        return scale;
    if (!(largest > 0.0)) {
        scale.decimals = least_decimals(quantity);
        return scale;
    }
    most = smaller(decimals_for(largest, digits), MOST_DECIMALS);
    if (quantity == PSIM_QUANTITY_SHARE || quantity == PSIM_QUANTITY_RATIO)
        scale.decimals = smaller(least_decimals(quantity), most);
    else
        scale.decimals = smaller(decimals_for(largest, LARGEST_DIGITS), most);
    /* More where that shows the smallest number too; else it gets decimals of its own. */
    wanted = decimals_for(smallest, LEAST_DIGITS);
    if (wanted > scale.decimals && wanted <= most)
        scale.decimals = wanted;
    return scale;
}

const char *psim_number_text(struct psim_arena *arena, const struct psim_scale *scale, double value)
{
    const double scaled = value / scale->factor, size = fabs(scaled);
    int own;

    if (!isfinite(scaled))
        return PSIM_UNKNOWN_CELL;
    /* Never a negative zero. */
    if (!(size > 0.0) || (strcmp(scale->unit, "%") == 0 && is_noise(PSIM_QUANTITY_SHARE, value)))
        return psim_arena_printf(arena, "%.*f", scale->decimals, 0.0);
    if (size >= LONGEST)
        return psim_arena_printf(arena, "%.*e", LARGEST_DIGITS - 1, scaled);
    if (scale->whole && size == floor(size))
        return psim_arena_printf(arena, "%.0f", scaled);
    own = decimals_for(size, LEAST_DIGITS);
    if (own > MOST_DECIMALS)
        return psim_arena_printf(arena, "%.*e", LEAST_DIGITS - 1, scaled);
    return psim_arena_printf(arena, "%.*f", own > scale->decimals ? own : scale->decimals, scaled);
}

const char *psim_quantity_text(struct psim_arena *arena, enum psim_quantity quantity, double value)
{
    struct psim_extent extent = {0.0, 0.0, false};
    struct psim_scale scale;
    const char *number;

    if (!isfinite(value))
        return "unknown";
    psim_extent_include(&extent, quantity, value);
    scale = psim_scale_fit(quantity, &extent);
    number = psim_number_text(arena, &scale, value);
    if (number == NULL || scale.unit[0] == '\0')
        return number;
    return psim_arena_printf(arena, "%s %s", number, scale.unit);
}

void psim_number_exact(double value, char buffer[PSIM_NUMBER_BYTES])
{
    if (fabs(value) < 9007199254740992.0 && value == floor(value)) { /* 2^53: every whole number */
        snprintf(buffer, PSIM_NUMBER_BYTES, "%.0f", value + 0.0);
        return;
    }
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, PSIM_NUMBER_BYTES, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            return;
    }
}

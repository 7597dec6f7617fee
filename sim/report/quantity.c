#include "sim/report/quantity.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DECIMALS 9

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

void psim_extent_include(struct psim_extent *extent, double value)
{
    if (!(value > 0.0) || isinf(value))
        return;
    if (extent->largest <= 0.0 || value < extent->smallest)
        extent->smallest = value;
    if (value > extent->largest)
        extent->largest = value;
}

/* Memory is read against a device's size, so its largest figure picks the unit; elsewhere the
 * smallest does, unless that makes the largest longer than four digits. */
static const struct unit *fit_unit(enum psim_quantity quantity, const struct psim_extent *extent)
{
    const struct unit *unit = units_of(quantity);
    const bool by_largest =
        quantity == PSIM_QUANTITY_MEMORY || quantity == PSIM_QUANTITY_MEMORY_DECIMAL;
    const double guide = by_largest ? extent->largest : extent->smallest;

    if (extent->largest <= 0.0) {
        while (unit[1].name != NULL && unit->factor < 1.0)
            unit++;
        return unit;
    }
    while (unit[1].name != NULL && guide >= unit[1].factor)
        unit++;
    while (unit[1].name != NULL && extent->largest >= 1e4 * unit->factor)
        unit++;
    return unit;
}

/* Decimals that show `digits` significant digits of a positive number. */
static int decimals_for(double value, int digits)
{
    char text[PSIM_NUMBER_BYTES];
    int decimals;

    snprintf(text, sizeof text, "%.*e", digits - 1, value);
    decimals = digits - 1 - (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (decimals < 0)
        return 0;
    return decimals < MOST_DECIMALS ? decimals : MOST_DECIMALS;
}

/* Three digits of the smallest, within four and five of the largest. */
static int fit_decimals(double smallest, double largest)
{
    const int wanted = decimals_for(smallest, 3);
    const int least = decimals_for(largest, 4), most = decimals_for(largest, 5);

    if (wanted < least)
        return least;
    return wanted < most ? wanted : most;
}

struct psim_scale psim_scale_fit(enum psim_quantity quantity, const struct psim_extent *extent)
{
    const struct unit *unit = fit_unit(quantity, extent);
    struct psim_scale scale = {unit->name, unit->factor, 0};

    if (quantity == PSIM_QUANTITY_COUNT)
        return scale;
    if (quantity == PSIM_QUANTITY_RATIO)
        scale.decimals = 2;
    else if (quantity == PSIM_QUANTITY_SHARE)
        scale.decimals = 1;
    else if (extent->largest > 0.0 && strcmp(scale.unit, "B") != 0)
        scale.decimals =
            fit_decimals(extent->smallest / unit->factor, extent->largest / unit->factor);
    return scale;
}

const char *psim_number_text(struct psim_arena *arena, const struct psim_scale *scale, double value)
{
    const double scaled = value / scale->factor;
    const double half = 0.5 * pow(10.0, -scale->decimals);

    if (!isfinite(scaled))
        return PSIM_UNKNOWN_CELL;
    /* Rounding noise must not read as a share, nor as a negative zero. */
    if (fabs(scaled) < half) {
        if (scaled > 0.0 && strcmp(scale->unit, "%") != 0)
            return psim_arena_printf(arena, "<%.*f", scale->decimals, 2.0 * half);
        return psim_arena_printf(arena, "%.*f", scale->decimals, 0.0);
    }
    return psim_arena_printf(arena, "%.*f", scale->decimals, scaled);
}

const char *psim_quantity_text(struct psim_arena *arena, enum psim_quantity quantity, double value)
{
    struct psim_extent extent = {0.0, 0.0};
    struct psim_scale scale;
    const char *number;

    if (!isfinite(value))
        return "unknown";
    psim_extent_include(&extent, value);
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

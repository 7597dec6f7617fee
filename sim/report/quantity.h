/**
 * @file sim/report/quantity.h
 * Numbers as people read them, in a unit that suits, and as machines read them, exactly.
 *
 * NaN and infinity mean "not known".  The caller sets a numeric locale with a decimal point.
 */
#ifndef PSIM_REPORT_QUANTITY_H
#define PSIM_REPORT_QUANTITY_H

#include "sim/base/memory.h"

#include <stdbool.h>
#include <stddef.h>

/** Stands where a number or a text is not known. */
#define PSIM_UNKNOWN_CELL "-"

enum psim_quantity {
    PSIM_QUANTITY_TEXT,
    PSIM_QUANTITY_COUNT,          /**< whole numbers */
    PSIM_QUANTITY_NUMBER,         /**< four significant digits of the largest */
    PSIM_QUANTITY_RATIO,          /**< two decimals or more */
    PSIM_QUANTITY_SHARE,          /**< shown in percent, one decimal or more */
    PSIM_QUANTITY_SECONDS,        /**< ns to s */
    PSIM_QUANTITY_FLOP,           /**< FLOP to PFLOP */
    PSIM_QUANTITY_TRAFFIC,        /**< bytes in powers of 1000 */
    PSIM_QUANTITY_MEMORY,         /**< bytes in powers of 1024 */
    PSIM_QUANTITY_MEMORY_DECIMAL, /**< bytes in powers of 1000 */
    PSIM_QUANTITY_ENERGY,         /**< mJ to GJ */
    PSIM_QUANTITY_MONEY,          /**< US dollars */
};

/** Unit and decimals that a set of numbers shares. */
struct psim_scale {
    const char *unit; /**< "" for a plain number, or where no number is known */
    double factor;
    int decimals;
    bool whole; /**< whole numbers are written without decimals, however few their digits */
};

/** Smallest and largest size of the numbers of a set that are not zero; both 0 when there is
 *  none. */
struct psim_extent {
    double smallest, largest;
    bool known; /**< a number is there, if only zero */
};

/** Leaves out what is not known, and rounding noise where a share is meant. */
void psim_extent_include(struct psim_extent *extent, enum psim_quantity quantity, double value);

struct psim_scale psim_scale_fit(enum psim_quantity quantity, const struct psim_extent *extent);

/**
 * "12.30", or "-" when not known.  A number of which the scale's decimals would show fewer than
 * three significant digits has decimals of its own, "0.00123", or an exponent, "1.23e-12", as have
 * numbers that are too long.
 * @return NULL when memory is out
 */
const char *psim_number_text(struct psim_arena *arena, const struct psim_scale *scale,
                             double value);

/** One number alone with its unit, "12.30 ms" or "unknown"; NULL when memory is out. */
const char *psim_quantity_text(struct psim_arena *arena, enum psim_quantity quantity, double value);

#define PSIM_NUMBER_BYTES 40

/** The fewest digits that read back to the same double; `value` is finite. */
void psim_number_exact(double value, char buffer[PSIM_NUMBER_BYTES]);

#endif

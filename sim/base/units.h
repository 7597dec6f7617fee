/**
 * @file sim/base/units.h
 * Quantities as files spell them: a number and a unit, "80 GiB", "200 Gb/s", "2 us".
 *
 * Called by the readers of sim/config and by command-line options.  Values come out in the base
 * unit of their dimension: bytes, bytes per second, seconds, FLOP per second, watt, joule per byte,
 * US dollars per hour, US dollars, joule.  kB, MB, ... are powers of 1000, KiB, MiB, ... powers of
 * 1024; a small b is a bit.
 *
 * Does not know: which range a quantity must lie in, other than that it must be finite.
 */
#ifndef PSIM_BASE_UNITS_H
#define PSIM_BASE_UNITS_H

#include "sim/base/status.h"

enum psim_dimension {
    PSIM_DIMENSION_BYTES,
    PSIM_DIMENSION_BYTES_PER_S,
    PSIM_DIMENSION_SECONDS,
    PSIM_DIMENSION_FLOP_PER_S,
    PSIM_DIMENSION_WATT,
    PSIM_DIMENSION_JOULE_PER_BYTE,
    PSIM_DIMENSION_USD_PER_HOUR,
    PSIM_DIMENSION_USD,
    PSIM_DIMENSION_JOULE,
    PSIM_DIMENSIONS
};

/** One unit; a value in it times `numerator` / `denominator` is in the dimension's base unit. */
struct psim_unit {
    const char *name;
    enum psim_dimension dimension;
    double numerator, denominator;
};

/** All units, ended by one whose name is NULL. */
extern const struct psim_unit psim_units[];

/** "a size", "a bandwidth", ...; static text. */
const char *psim_dimension_name(enum psim_dimension dimension);

/** Two spellings of a value that lack a unit, such as `"80 GiB" or "80 GB"`, for messages.
 *  @param[out] text  at least 96 bytes */
void psim_unit_examples(enum psim_dimension dimension, const char *number, char *text);

/**
 * Reads "<number><spaces><unit>"; the number as in JSON, a sign allowed.
 *
 * @param[out] value    in the base unit, finite; untouched on failure
 * @param[out] nearest  the unit that may be meant when the unit is not known; else NULL
 * @return PSIM_OK; PSIM_ERR_SCHEMA when there is no number, no unit or one that does not fit;
 *         PSIM_ERR_RANGE when the value is too large to be represented
 */
enum psim_status psim_quantity_parse(const char *text, enum psim_dimension dimension, double *value,
                                     const char **nearest, struct psim_error *err) PSIM_CHECKED;

#endif

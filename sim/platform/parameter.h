/**
 * @file sim/platform/parameter.h
 * Keys of a short form as data: what a topology reads, checked and read without knowing it.
 *
 * A topology has one table of `struct psim_parameter`, ended by a name that is NULL, and gets its
 * values by the index in that table.  Called by sim/config, which reads any table from JSON, and by
 * whoever builds a platform in C.
 *
 * Does not know: JSON, what any parameter means.
 */
#ifndef PSIM_PLATFORM_PARAMETER_H
#define PSIM_PLATFORM_PARAMETER_H

#include "sim/base/status.h"

#include <stdbool.h>

enum psim_parameter_kind {
    PSIM_PARAMETER_BANDWIDTH, /**< bytes per second, one direction's; > 0 */
    PSIM_PARAMETER_LATENCY,   /**< seconds; >= 0 */
    PSIM_PARAMETER_COUNT,     /**< integer in [minimum, maximum] */
    PSIM_PARAMETER_BOOL,
    PSIM_PARAMETER_COUNTS, /**< 1 to PSIM_COUNTS_LIMIT integers in [minimum, maximum] */
    PSIM_PARAMETER_EDGES,  /**< triples: two numbers in [0, maximum], then a count >= 1 */
};

#define PSIM_COUNTS_LIMIT     3
#define PSIM_EDGES_LIMIT      4096
#define PSIM_EDGE_COUNT_LIMIT 1024

struct psim_parameter {
    const char *name; /**< the key in files; NULL ends a table */
    enum psim_parameter_kind kind;
    bool required;
    int minimum, maximum;
    bool fallback;    /**< BOOL alone; any other default is said in `help` */
    const char *help; /**< meaning and default */
};

/** Value of one parameter; `given` is false where the topology takes its default. */
struct psim_value {
    bool given;
    double number; /**< BANDWIDTH, LATENCY; 0 where not given */
    int count;     /**< COUNT; 0 where not given */
    bool flag;
    const int *items; /**< COUNTS, EDGES (three a piece); borrowed */
    int item_count;
};

#define PSIM_PARAMETER_LIMIT 12 /* parameters of one topology */

/** Values of one topology, in the order of its table. */
struct psim_values {
    struct psim_value at[PSIM_PARAMETER_LIMIT];
};

/** Values of which none is given. */
struct psim_values psim_values_default(const struct psim_parameter *parameters);

/** The value of a parameter, to be set; marks it as given.  The name must be in the table. */
struct psim_value *psim_values_give(const struct psim_parameter *parameters,
                                    struct psim_values *values, const char *name);

/**
 * Holds all values against the table.
 * @return PSIM_OK; PSIM_ERR_SCHEMA for one that is missing, PSIM_ERR_RANGE; `where` is its name
 */
enum psim_status psim_values_check(const struct psim_parameter *parameters,
                                   const struct psim_values *values,
                                   struct psim_error *err) PSIM_CHECKED;

#endif

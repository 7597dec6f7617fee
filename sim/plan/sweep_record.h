/**
 * @file sim/plan/sweep_record.h
 * What a point of a sweep came to, as columns, and as bytes between processes.
 *
 * Filled by the caller of a sweep in a worker, carried by sim/plan, kept by store.h.  One column is
 * one row of the table in sweep_record.c: the database, the exports and docs/sweep.md follow it.
 */
#ifndef PSIM_PLAN_SWEEP_RECORD_H
#define PSIM_PLAN_SWEEP_RECORD_H

#include "sim/base/text.h"
#include "sim/program/result.h"

#include <stdint.h>

enum psim_cell_kind { PSIM_CELL_NONE, PSIM_CELL_INTEGER, PSIM_CELL_REAL, PSIM_CELL_TEXT };

/** One figure; NONE is what is not known. */
struct psim_sweep_cell {
    enum psim_cell_kind kind;
    int64_t integer;
    double real;
    const char *text; /**< borrowed */
};

struct psim_sweep_column {
    const char *name;    /**< in the database and in exports; the unit is part of it */
    const char *meaning; /**< for the documentation */
    enum psim_cell_kind kind;
};

#define PSIM_SWEEP_COLUMNS 36
extern const struct psim_sweep_column psim_sweep_columns[PSIM_SWEEP_COLUMNS];

/** Index of a column; the name is one of the table. */
int psim_sweep_column_find(const char *name);

enum psim_point_status {
    PSIM_POINT_OK,      /**< every method has its figures */
    PSIM_POINT_FAILED,  /**< a simulation or its worker died */
    PSIM_POINT_INVALID, /**< the values do not go together */
};
extern const char *const psim_point_status_names[]; /**< "ok", "failed", "invalid", NULL */

/**
 * A record being written, and afterwards its bytes.  Start from psim_sweep_record_begin.
 */
struct psim_sweep_record {
    struct psim_text bytes;
    enum psim_point_status status;
    int row_count;
};

void psim_sweep_record_begin(struct psim_sweep_record *record, int64_t point);

/** A method's figures. */
void psim_sweep_record_row(struct psim_sweep_record *record, const struct psim_result *row);

/** A method that has none, and why. */
void psim_sweep_record_failure(struct psim_sweep_record *record, const char *method,
                               const char *label, const char *cause);

/**
 * Ends a record; what it says of the point as a whole stands at the end of the bytes.
 * @param[in] cause  of a point without rows; "" else
 * @param[in] inputs_sha256  of the files of the point; "" where they could not be read
 */
void psim_sweep_record_end(struct psim_sweep_record *record, enum psim_point_status status,
                           const char *cause, const char *inputs_sha256);
void psim_sweep_record_release(struct psim_sweep_record *record);

/** A record read back; its texts point into the bytes. */
struct psim_sweep_reading {
    const char *at, *end; /**< of the rows that are left */
    int64_t point;
    enum psim_point_status status;
    int row_count;
    const char *cause, *inputs_sha256;
};

/** False when the bytes are no record, which is a fault of the worker. */
bool psim_sweep_record_read(const char *bytes, size_t length, struct psim_sweep_reading *out);

/** The next row; false at the end, or where the bytes are no row. */
bool psim_sweep_record_next(struct psim_sweep_reading *reading,
                            struct psim_sweep_cell out[PSIM_SWEEP_COLUMNS]);

#endif

/**
 * @file sim/report/sheet.h
 * Tables that are no comparison, such as those of `fit` and `plan`, in every output format.
 *
 * A sheet is columns of numbers or texts; a report is a headline, facts, sheets and notes.  All
 * texts are borrowed.  Numbers are in base units, NaN where they are not known.  CSV holds the
 * first sheet alone; JSON holds everything, `kind` as its first key.
 *
 * Does not know: what any of it means.
 */
#ifndef PSIM_REPORT_SHEET_H
#define PSIM_REPORT_SHEET_H

#include "sim/report/quantity.h"
#include "sim/report/report.h"

struct psim_sheet_column {
    const char *key;    /**< of JSON and CSV, with its unit */
    const char *group;  /**< heading above several columns; "" */
    const char *name;   /**< heading; "_" breaks the line in a narrow table, else it is a space */
    const char *legend; /**< "" where the heading says it */
    enum psim_quantity quantity;
};

/** `text` in a column of texts, else `number`. */
struct psim_sheet_value {
    double number;
    const char *text;
};

struct psim_sheet {
    const char *key; /**< of JSON: "plans" */
    const char *title;
    const struct psim_sheet_column *columns;
    int column_count;
    const struct psim_sheet_value *values; /**< [row_count][column_count] */
    int row_count;
};

/** A line under the headline; `key` is that of JSON. */
struct psim_sheet_fact {
    const char *key, *title, *text;
};

struct psim_sheet_report {
    const char *kind;     /**< "fit/1" */
    const char *headline; /**< the first line */
    const struct psim_sheet_fact *facts;
    int fact_count;
    const struct psim_sheet *sheets;
    int sheet_count;
    const char *const *notes; /**< one line each */
    int note_count;
};

/**
 * Writes a report in one format.
 * @param[in,out] out  replaced on success, untouched on failure
 * @return PSIM_OK or PSIM_ERR_NOMEM
 */
enum psim_status psim_sheet_render(const struct psim_sheet_report *report, enum psim_format format,
                                   struct psim_text *out, struct psim_error *err) PSIM_CHECKED;

#endif

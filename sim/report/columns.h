/**
 * @file sim/report/columns.h
 * The columns of both views, defined once for all formats.
 *
 * A column knows its machine name, its heading, and how to read its value in base units from a
 * result; the formats add only their syntax.
 */
#ifndef PSIM_REPORT_COLUMNS_H
#define PSIM_REPORT_COLUMNS_H

#include "sim/program/result.h"
#include "sim/report/quantity.h"
#include "sim/report/report.h"

/** One row of a table: a method, or one stage of it. */
struct psim_row {
    const struct psim_comparison *comparison;
    const struct psim_result *result;
    int stage;             /**< -1: the method as a whole */
    const char *footnote;  /**< mark of the remark that belongs to the row, "" for none */
    const char *room_mark; /**< PSIM_MARK_MISFIT, PSIM_MARK_TIGHTEST, "" for none */
};

#define PSIM_MARK_MISFIT   "!"
#define PSIM_MARK_TIGHTEST "*" /* the stage with the least room, where all fit */

/** Which tables for people show a column; CSV has all of them. */
enum psim_panel {
    PSIM_PANEL_FIRST = 1 << 0,
    PSIM_PANEL_SECOND = 1 << 1,
    PSIM_PANEL_THIRD = 1 << 2
};

#define PSIM_PANEL_BOTH (PSIM_PANEL_FIRST | PSIM_PANEL_SECOND)
#define PSIM_PANEL_ALL  (PSIM_PANEL_BOTH | PSIM_PANEL_THIRD)

enum psim_column_flag {
    PSIM_COLUMN_HIDE_ZERO = 1 << 0,     /**< left out when every row has zero or nothing */
    PSIM_COLUMN_HIDE_SAME = 1 << 1,     /**< left out when every row has the same text */
    PSIM_COLUMN_MARK_FOOTNOTE = 1 << 2, /**< cells carry the row's footnote */
    PSIM_COLUMN_MARK_ROOM = 1 << 3,     /**< cells carry the row's mark for memory */
    PSIM_COLUMN_CSV_LAST = 1 << 4,      /**< behind the others in CSV, whose order is kept */
};

struct psim_column {
    const char *key;    /**< as in CSV, with its unit */
    const char *group;  /**< heading above several columns; "" */
    const char *name;   /**< heading; "_" is where a narrow table breaks the line, else a space, or
                             nothing after a hyphen */
    const char *legend; /**< what the column means, where the heading does not say it; "" */
    enum psim_quantity quantity;
    unsigned panels;                                 /**< enum psim_panel, or-ed; 0: CSV only */
    unsigned flags;                                  /**< enum psim_column_flag, or-ed */
    const char *(*text)(const struct psim_row *row); /**< PSIM_QUANTITY_TEXT */
    double (*value)(const struct psim_row *row);     /**< else; base units, NaN when not known */
};

struct psim_column_set {
    const struct psim_column *columns;
    int count;
    const char *titles[3]; /**< of the panels; NULL where there is none */
};

extern const struct psim_column_set psim_compare_columns; /* sim/report/columns.c */
extern const struct psim_column_set psim_stage_columns;   /* sim/report/stage_columns.c */

#define PSIM_EXTRA_LEGEND                                                                          \
    "reconstruction and recompute over all other work; by passes (forward 1, backward 2) where "   \
    "the stages' times are given"

/* Getters of a row differ only in the member that they read. */
#define PSIM_COLUMN_VALUE(name, expression)                                                        \
    static double name(const struct psim_row *row)                                                 \
    {                                                                                              \
        return (expression);                                                                       \
    }
#define PSIM_COLUMN_TEXT(name, expression)                                                         \
    static const char *name(const struct psim_row *row)                                            \
    {                                                                                              \
        return (expression);                                                                       \
    }

/** A count where negative means "not known". */
double psim_count_value(int64_t count);

/** The method's claim, "17 FG" or "1 input"; "" for none; borrowed. */
const char *psim_activation_copies(const struct psim_result *result);

/** Copies of the pipeline, 1 or more. */
int64_t psim_replicas(const struct psim_comparison *comparison);

/** Samples that one optimizer update of the row's method sees, over all copies. */
double psim_samples_per_update(const struct psim_row *row);

#endif

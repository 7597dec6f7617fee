/**
 * @file sim/report/grid.h
 * A table of finished texts: columns chosen, units and decimals settled.
 */
#ifndef PSIM_REPORT_GRID_H
#define PSIM_REPORT_GRID_H

#include "sim/report/columns.h"

struct psim_grid_column {
    const char *group, *name, *legend; /**< as in psim_column */
    const char *heading;               /**< the name on one line */
    const char *unit;                  /**< "" for a plain number */
    bool numeric;                      /**< to be aligned at the right */
};

struct psim_cell {
    const char *text;
    const char *mark; /**< "" or a footnote's number or a row's mark */
};

struct psim_grid {
    const char *title;
    struct psim_grid_column *columns;
    struct psim_cell *cells; /**< [row_count * column_count] */
    int column_count, row_count;
};

/** The columns of one panel over the rows, in the arena.  False when memory is out. */
bool psim_grid_build(struct psim_arena *arena, const struct psim_column_set *set,
                     enum psim_panel panel, const struct psim_row *rows, int row_count,
                     struct psim_grid *out);

/** Columns from `at` on that stand under the same group; 1 for a column without. */
int psim_grid_span(const struct psim_grid *grid, int at);

/** True when any column stands under a group. */
bool psim_grid_has_groups(const struct psim_grid *grid);

/** Lines of a column's name. */
int psim_heading_lines(const char *name);

/** Most lines of any column's name. */
int psim_grid_heading_lines(const struct psim_grid *grid);

/** Line `index` of a name, counted from the last line upwards, borrowed and not terminated;
 *  length 0 where it has none. */
const char *psim_heading_line(const char *name, int index, size_t *length);

/** How memory is counted in a comparison: powers of 1000 where it follows a publication. */
enum psim_quantity psim_memory_quantity(const struct psim_comparison *comparison);

#endif

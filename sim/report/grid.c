#include "sim/report/grid.h"

#include <string.h>

enum psim_quantity psim_memory_quantity(const struct psim_comparison *comparison)
{
    return strcmp(comparison->accounting, "paper") == 0 ? PSIM_QUANTITY_MEMORY_DECIMAL
                                                        : PSIM_QUANTITY_MEMORY;
}

static bool is_hidden(const struct psim_column *column, const struct psim_row *rows, int row_count)
{
    if ((column->flags & PSIM_COLUMN_HIDE_ZERO) != 0) {
        for (int i = 0; i < row_count; i++) {
            if (column->value(&rows[i]) > 0.0)
                return false;
        }
        return true;
    }
    if ((column->flags & PSIM_COLUMN_HIDE_SAME) != 0) {
        for (int i = 1; i < row_count; i++) {
            if (strcmp(column->text(&rows[i]), column->text(&rows[0])) != 0)
                return false;
        }
        return true;
    }
    return false;
}

/* From the column's own values: one that shared its unit with another would lose digits. */
static struct psim_scale fit_scale(const struct psim_column *column, const struct psim_row *rows,
                                   int row_count)
{
    struct psim_extent extent = {0.0, 0.0, false};
    enum psim_quantity quantity = column->quantity;

    for (int i = 0; i < row_count; i++)
        psim_extent_include(&extent, quantity, column->value(&rows[i]));
    if (quantity == PSIM_QUANTITY_MEMORY && row_count > 0)
        quantity = psim_memory_quantity(rows[0].comparison);
    return psim_scale_fit(quantity, &extent);
}

static const char *mark_of(const struct psim_column *column, const struct psim_row *row)
{
    if ((column->flags & PSIM_COLUMN_MARK_FOOTNOTE) != 0)
        return row->footnote;
    return (column->flags & PSIM_COLUMN_MARK_ROOM) != 0 ? row->room_mark : "";
}

static const char *one_line(struct psim_arena *arena, const char *name)
{
    char *text = psim_arena_text(arena, name, strlen(name));
    char *to = text;

    if (text == NULL)
        return NULL;
    for (const char *from = name; *from != '\0'; from++) {
        if (*from != '_')
            *to++ = *from;
        else if (from == name || from[-1] != '-')
            *to++ = ' ';
    }
    *to = '\0';
    return text;
}

/* Fills column `at` of the grid. */
static bool fill_column(struct psim_arena *arena, const struct psim_column *column,
                        const struct psim_scale *scale, const struct psim_row *rows,
                        struct psim_grid *grid, int at)
{
    const bool numeric = column->quantity != PSIM_QUANTITY_TEXT;

    grid->columns[at] = (struct psim_grid_column){column->group,  column->name,
                                                  column->legend, one_line(arena, column->name),
                                                  scale->unit,    numeric};
    if (grid->columns[at].heading == NULL)
        return false;
    for (int i = 0; i < grid->row_count; i++) {
        struct psim_cell *cell = &grid->cells[i * grid->column_count + at];

        cell->mark = mark_of(column, &rows[i]);
        if (numeric)
            cell->text = psim_number_text(arena, scale, column->value(&rows[i]));
        else
            cell->text = column->text(&rows[i]);
        if (cell->text == NULL && numeric)
            return false;
        if (cell->text == NULL || cell->text[0] == '\0')
            cell->text = PSIM_UNKNOWN_CELL;
    }
    return true;
}

static bool is_shown(const struct psim_column *column, enum psim_panel panel,
                     const struct psim_row *rows, int row_count)
{
    return (column->panels & (unsigned)panel) != 0 && !is_hidden(column, rows, row_count);
}

bool psim_grid_build(struct psim_arena *arena, const struct psim_column_set *set,
                     enum psim_panel panel, const struct psim_row *rows, int row_count,
                     struct psim_grid *out)
{
    struct psim_grid grid = {0};
    int at = 0;

    grid.title = set->titles[panel == PSIM_PANEL_FIRST ? 0 : panel == PSIM_PANEL_SECOND ? 1 : 2];
    grid.row_count = row_count;
    for (int i = 0; i < set->count; i++) {
        if (is_shown(&set->columns[i], panel, rows, row_count))
            grid.column_count++;
    }
    grid.columns = psim_arena_alloc(arena, (size_t)grid.column_count, sizeof *grid.columns);
    grid.cells =
        psim_arena_alloc(arena, (size_t)grid.column_count * (size_t)row_count, sizeof *grid.cells);
    if (grid.columns == NULL || grid.cells == NULL)
        return false;
    for (int i = 0; i < set->count; i++) {
        const struct psim_column *column = &set->columns[i];
        struct psim_scale scale = {"", 1.0, 0, false};

        if (!is_shown(column, panel, rows, row_count))
            continue;
        if (column->quantity != PSIM_QUANTITY_TEXT)
            scale = fit_scale(column, rows, row_count);
        if (!fill_column(arena, column, &scale, rows, &grid, at++))
            return false;
    }
    *out = grid;
    return true;
}

int psim_grid_span(const struct psim_grid *grid, int at)
{
    const char *group = grid->columns[at].group;
    int span = 1;

    if (group[0] == '\0')
        return 1;
    while (at + span < grid->column_count && strcmp(grid->columns[at + span].group, group) == 0)
        span++;
    return span;
}

int psim_heading_lines(const char *name)
{
    int lines = 1;

    for (; *name != '\0'; name++)
        lines += *name == '_' ? 1 : 0;
    return lines;
}

const char *psim_heading_line(const char *name, int index, size_t *length)
{
    const char *end = name + strlen(name);

    for (;;) {
        const char *start = end;

        while (start > name && start[-1] != '_')
            start--;
        *length = (size_t)(end - start);
        if (index-- == 0)
            return start;
        if (start == name) {
            *length = 0;
            return start;
        }
        end = start - 1;
    }
}

int psim_grid_heading_lines(const struct psim_grid *grid)
{
    int most = 1;

    for (int i = 0; i < grid->column_count; i++) {
        const int lines = psim_heading_lines(grid->columns[i].name);

        most = lines > most ? lines : most;
    }
    return most;
}

bool psim_grid_has_groups(const struct psim_grid *grid)
{
    for (int i = 0; i < grid->column_count; i++) {
        if (grid->columns[i].group[0] != '\0')
            return true;
    }
    return false;
}

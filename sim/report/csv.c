#include "sim/report/columns.h"
#include "sim/report/format.h"

#include <math.h>
#include <string.h>

/* RFC 4180: base units in full precision, an empty cell for what is not known. */

void psim_csv_text(struct psim_text *out, const char *text)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        psim_text_append(out, text, strlen(text));
        return;
    }
    psim_text_append(out, "\"", 1);
    for (; *text != '\0'; text++)
        psim_text_append(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
    psim_text_append(out, "\"", 1);
}

void psim_csv_number(struct psim_text *out, double value)
{
    char number[PSIM_NUMBER_BYTES];

    if (!isfinite(value))
        return;
    psim_number_exact(value, number);
    psim_text_append(out, number, strlen(number));
}

static void put_cell(struct psim_text *out, const struct psim_column *column,
                     const struct psim_row *row)
{
    if (row == NULL)
        psim_csv_text(out, column->key);
    else if (column->quantity == PSIM_QUANTITY_TEXT)
        psim_csv_text(out, column->text(row));
    else
        psim_csv_number(out, column->value(row));
}

/* The headings where there is no row. */
static void put_row(struct psim_text *out, const struct psim_column_set *set,
                    const struct psim_row *row)
{
    static const unsigned turns[] = {0, PSIM_COLUMN_CSV_LAST};
    const char *separator = "";

    for (size_t turn = 0; turn < sizeof turns / sizeof turns[0]; turn++) {
        for (int i = 0; i < set->count; i++) {
            const struct psim_column *column = &set->columns[i];

            if ((column->flags & PSIM_COLUMN_CSV_LAST) != turns[turn])
                continue;
            psim_text_append(out, separator, strlen(separator));
            put_cell(out, column, row);
            separator = ",";
        }
    }
    psim_text_append(out, "\r\n", 2);
}

enum psim_status psim_render_csv(const struct psim_comparison *comparison, enum psim_view view,
                                 struct psim_text *out, struct psim_error *err)
{
    const bool by_stage = view == PSIM_VIEW_RUN;
    const struct psim_column_set *set = by_stage ? &psim_stage_columns : &psim_compare_columns;

    (void)err; /* memory that ran out stays in the buffer's own flag */
    put_row(out, set, NULL);
    for (int i = 0; i < comparison->result_count; i++) {
        const struct psim_result *result = &comparison->results[i];
        const int rows = by_stage ? result->simulation.stage_count : 1;

        for (int j = 0; j < rows; j++) {
            const struct psim_row row = {comparison, result, by_stage ? j : -1, "", ""};

            put_row(out, set, &row);
        }
    }
    return PSIM_OK;
}

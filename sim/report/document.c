#include "sim/report/document.h"

#include "sim/report/facts.h"
#include "sim/report/format.h"

#include <math.h>
#include <string.h>

/* Assumed, figures, units, streams, extra. */
#define FIXED_REMARKS 5

/* Misfit and tightest stage. */
#define ROOM_MARKS 2

static void add_legend(struct psim_fact_writer *writer, const struct psim_section *section)
{
    const char *text = "";

    for (int i = 0; i < PSIM_SECTION_GRIDS; i++) {
        const struct psim_grid *grid = &section->grids[i];

        for (int j = 0; j < grid->column_count; j++) {
            const struct psim_grid_column *column = &grid->columns[j];

            if (column->legend[0] != '\0')
                text = psim_fact_join(
                    writer, text, "; ",
                    psim_fact_text(writer, "%s: %s", column->heading, column->legend));
        }
    }
    psim_fact_add(writer, "columns", text);
}

/* What a reader of this row must know, or "". */
static const char *row_remark(struct psim_fact_writer *writer, const struct psim_row *row)
{
    const struct psim_comparison *comparison = row->comparison;
    const double samples = psim_samples_per_update(row);
    const char *text = "";

    if (samples != (double)psim_replicas(comparison) * (double)comparison->microbatch *
                       (double)comparison->accumulation)
        text = psim_fact_text(writer, "%s per update",
                              psim_fact_count(writer, (int64_t)samples, "sample", "samples"));
    if (row->result->note[0] != '\0')
        text = psim_fact_join(writer, text, "; ", row->result->note);
    return text;
}

/* Numbers the remarks of the rows; equal ones share a number. */
static void add_footnotes(struct psim_fact_writer *writer, struct psim_row *rows, int row_count)
{
    const int first = writer->facts->count;

    for (int i = 0; i < row_count; i++) {
        const char *remark = row_remark(writer, &rows[i]);
        int at = first;

        if (remark[0] == '\0')
            continue;
        while (at < writer->facts->count && strcmp(writer->facts->items[at].text, remark) != 0)
            at++;
        rows[i].footnote = psim_fact_text(writer, "%d", at - first + 1);
        if (at == writer->facts->count)
            psim_fact_add(writer, rows[i].footnote, remark);
    }
}

static const char *room_mark(const struct psim_result *result, int stage)
{
    const struct psim_memory_peak *peak;

    if (stage < 0)
        return result->fits ? "" : PSIM_MARK_MISFIT;
    peak = &result->simulation.stages[stage].memory;
    if (result->fits)
        return stage == psim_tightest_stage(&result->simulation) ? PSIM_MARK_TIGHTEST : "";
    return peak->reserved_bytes > peak->capacity_bytes ? PSIM_MARK_MISFIT : "";
}

/* What the marks for memory mean, of those that the view uses. */
static void add_room_marks(struct psim_fact_writer *writer,
                           const struct psim_comparison *comparison, enum psim_view view)
{
    bool fit = false, misfit = false, reserved_alone = false;

    for (int i = 0; i < comparison->result_count; i++) {
        const struct psim_result *result = &comparison->results[i];
        const int stage = psim_tightest_stage(&result->simulation);
        const struct psim_memory_peak *peak =
            stage < 0 ? NULL : &result->simulation.stages[stage].memory;

        fit = fit || (result->fits && peak != NULL);
        misfit = misfit || !result->fits;
        reserved_alone = reserved_alone ||
                         (!result->fits && peak != NULL && peak->bytes <= peak->capacity_bytes);
    }
    if (misfit)
        psim_fact_add(
            writer, PSIM_MARK_MISFIT,
            psim_fact_text(writer, "does not fit on %s; see the note%s",
                           view == PSIM_VIEW_COMPARE ? "at least one device" : "the device",
                           reserved_alone ? ": what is reserved decides, not the peak" : ""));
    if (fit && view == PSIM_VIEW_RUN)
        psim_fact_add(writer, PSIM_MARK_TIGHTEST, "the stage with the least room left");
}

static bool nets_differ(const struct psim_comparison *comparison)
{
    for (int i = 1; i < comparison->result_count; i++) {
        if (strcmp(comparison->results[i].model, comparison->results[0].model) != 0)
            return true;
    }
    return false;
}

static void add_closing_remarks(struct psim_fact_writer *writer,
                                const struct psim_comparison *comparison, enum psim_view view)
{
    const char *assumed = "";

    for (int i = 0; i < comparison->assumption_count; i++)
        assumed = psim_fact_join(writer, assumed, "; ", comparison->assumptions[i]);
    psim_fact_add(writer, "assumed", assumed[0] == '\0' ? "nothing" : assumed);
    psim_facts_of_origin(writer, comparison);
    if (nets_differ(comparison))
        psim_fact_add(writer, "units",
                      "of the row's own net, so rows of different nets do not "
                      "compare in units");
    if (view == PSIM_VIEW_COMPARE) {
        psim_facts_of_bottleneck(writer, comparison);
    } else {
        psim_fact_add(writer, "streams",
                      "bytes sent over those of one stream of every stage "
                      "boundary (a reversible net has two)");
        psim_fact_add(writer, "extra", PSIM_EXTRA_LEGEND);
    }
    for (int i = 0; i < comparison->note_count; i++)
        psim_fact_add(writer, "note", comparison->notes[i]);
}

static bool build_grids(struct psim_arena *arena, const struct psim_column_set *set,
                        const struct psim_row *rows, int row_count, struct psim_section *section)
{
    return psim_grid_build(arena, set, PSIM_PANEL_FIRST, rows, row_count, &section->grids[0]) &&
           psim_grid_build(arena, set, PSIM_PANEL_SECOND, rows, row_count, &section->grids[1]);
}

/* True where the energy or the cost of any row is known. */
static bool knows_worth(const struct psim_comparison *comparison)
{
    for (int i = 0; i < comparison->result_count; i++) {
        const struct psim_worth *worth = &comparison->results[i].worth;

        if (isfinite(worth->energy_per_update_j) || isfinite(worth->cost_per_update_usd))
            return true;
    }
    return false;
}

/* One section whose rows are the methods. */
static bool build_comparison(const struct psim_comparison *comparison,
                             struct psim_document *document, struct psim_fact_writer *marks)
{
    const int count = comparison->result_count;
    struct psim_arena *arena = &document->arena;
    struct psim_row *rows = psim_arena_alloc(arena, (size_t)count, sizeof *rows);

    document->sections = psim_arena_alloc(arena, 1, sizeof *document->sections);
    if (rows == NULL || document->sections == NULL)
        return false;
    document->section_count = 1;
    document->sections[0].title = "";
    for (int i = 0; i < count; i++)
        rows[i] = (struct psim_row){comparison, &comparison->results[i], -1, "",
                                    room_mark(&comparison->results[i], -1)};
    add_footnotes(marks, rows, count);
    return build_grids(arena, &psim_compare_columns, rows, count, &document->sections[0]) &&
           (!knows_worth(comparison) ||
            psim_grid_build(arena, &psim_compare_columns, PSIM_PANEL_THIRD, rows, count,
                            &document->sections[0].grids[2]));
}

/* The figures of one method and a row for each of its stages. */
static bool build_method(const struct psim_comparison *comparison, const struct psim_result *result,
                         struct psim_arena *arena, struct psim_section *section)
{
    const int stages = result->simulation.stage_count;
    struct psim_row *rows = psim_arena_alloc(arena, (size_t)stages, sizeof *rows);
    const struct psim_row whole = {comparison, result, -1, "", ""};
    struct psim_fact_writer facts =
        psim_fact_writer_start(arena, &section->facts, PSIM_METHOD_FACTS + 2);
    const char *remark;

    if (rows == NULL || facts.failed)
        return false;
    section->title = result->label;
    psim_facts_of_method(&facts, comparison, result);
    psim_fact_add(&facts, "bottleneck", result->bottleneck);
    remark = row_remark(&facts, &whole);
    if (remark[0] != '\0')
        psim_fact_add(&facts, "note", remark);
    for (int i = 0; i < stages; i++)
        rows[i] = (struct psim_row){comparison, result, i, "", room_mark(result, i)};
    return !facts.failed && build_grids(arena, &psim_stage_columns, rows, stages, section);
}

static bool build_methods(const struct psim_comparison *comparison, struct psim_document *document)
{
    const int count = comparison->result_count;

    document->sections =
        psim_arena_alloc(&document->arena, (size_t)count, sizeof *document->sections);
    if (document->sections == NULL)
        return false;
    document->section_count = count;
    for (int i = 0; i < count; i++) {
        if (!build_method(comparison, &comparison->results[i], &document->arena,
                          &document->sections[i]))
            return false;
    }
    return true;
}

/* False when memory is out. */
static bool build(const struct psim_comparison *comparison, enum psim_view view,
                  struct psim_document *document)
{
    const int results = comparison->result_count;
    struct psim_arena *arena = &document->arena;
    struct psim_fact_writer facts =
        psim_fact_writer_start(arena, &document->facts, PSIM_SCENARIO_FACTS);
    struct psim_fact_writer marks =
        psim_fact_writer_start(arena, &document->marks, ROOM_MARKS + results);
    struct psim_fact_writer remarks = psim_fact_writer_start(
        arena, &document->remarks, FIXED_REMARKS + results + comparison->note_count);
    struct psim_fact_writer legend = psim_fact_writer_start(arena, &document->legend, 1);

    if (facts.failed || marks.failed || remarks.failed || legend.failed)
        return false;
    document->title = psim_report_file_name(comparison);
    psim_facts_of_scenario(&facts, comparison);
    if (view == PSIM_VIEW_COMPARE ? !build_comparison(comparison, document, &marks)
                                  : !build_methods(comparison, document))
        return false;
    add_room_marks(&marks, comparison, view);
    add_closing_remarks(&remarks, comparison, view);
    if (document->section_count > 0)
        add_legend(&legend, &document->sections[0]);
    return !facts.failed && !marks.failed && !remarks.failed && !legend.failed;
}

enum psim_status psim_document_build(const struct psim_comparison *comparison, enum psim_view view,
                                     struct psim_document *out, struct psim_error *err)
{
    struct psim_document document = {0};

    if (!build(comparison, view, &document)) {
        psim_document_release(&document);
        return psim_fail(err, PSIM_ERR_NOMEM, "report", "no memory for the document");
    }
    *out = document;
    return PSIM_OK;
}

void psim_document_release(struct psim_document *document)
{
    psim_arena_release(&document->arena);
}

enum psim_status psim_document_render(const struct psim_comparison *comparison, enum psim_view view,
                                      psim_document_writer *writer, struct psim_text *out,
                                      struct psim_error *err)
{
    struct psim_document document;
    enum psim_status status = psim_document_build(comparison, view, &document, err);

    if (status != PSIM_OK)
        return status;
    status = writer(&document, out, err);
    psim_document_release(&document);
    return status;
}

/**
 * @file sim/report/document.h
 * What table, Markdown and LaTeX say, before it gets their syntax.
 */
#ifndef PSIM_REPORT_DOCUMENT_H
#define PSIM_REPORT_DOCUMENT_H

#include "sim/report/grid.h"

/** "platform", "18x-a100: 18 of its 24 devices". */
struct psim_fact {
    const char *title, *text;
};

struct psim_facts {
    struct psim_fact *items;
    int count;
};

#define PSIM_SECTION_GRIDS 3

struct psim_section {
    const char *title; /**< "" for none */
    struct psim_facts facts;
    struct psim_grid grids[PSIM_SECTION_GRIDS]; /**< one that is not shown has no columns */
};

struct psim_document {
    struct psim_arena arena;
    const char *title;
    struct psim_facts facts;
    struct psim_section *sections;
    int section_count;
    struct psim_facts marks;   /**< the title is a cell's mark */
    struct psim_facts remarks; /**< assumptions, bottlenecks, notes */
    struct psim_facts legend;  /**< of the columns of all grids, in one fact, or none */
};

enum psim_status psim_document_build(const struct psim_comparison *comparison, enum psim_view view,
                                     struct psim_document *out,
                                     struct psim_error *err) PSIM_CHECKED;
void psim_document_release(struct psim_document *document);

/** Appends a document in the syntax of one format; NOMEM also where `out` stays failed. */
typedef enum psim_status psim_document_writer(const struct psim_document *document,
                                              struct psim_text *out, struct psim_error *err);

psim_document_writer psim_document_table, psim_document_markdown, psim_document_latex;

/** Builds the document of a comparison and writes it. */
enum psim_status psim_document_render(const struct psim_comparison *comparison, enum psim_view view,
                                      psim_document_writer *writer, struct psim_text *out,
                                      struct psim_error *err) PSIM_CHECKED;

#endif

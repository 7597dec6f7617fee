/**
 * @file sim/report/facts.h
 * The sentences of a document: about the scenario, about one method, about the whole table.
 *
 * A writer that ran out of memory or room stays failed, so its user checks once at the end.
 */
#ifndef PSIM_REPORT_FACTS_H
#define PSIM_REPORT_FACTS_H

#include "sim/report/document.h"

struct psim_fact_writer {
    struct psim_arena *arena;
    struct psim_facts *facts;
    int capacity;
    bool failed;
};

/** Room for `capacity` facts, in the arena. */
struct psim_fact_writer psim_fact_writer_start(struct psim_arena *arena, struct psim_facts *facts,
                                               int capacity);

/** Adds one fact; both texts are borrowed; a NULL text is memory that ran out. */
void psim_fact_add(struct psim_fact_writer *writer, const char *title, const char *text);

/** printf into the arena; "" when memory is out. */
const char *psim_fact_text(struct psim_fact_writer *writer, const char *format, ...)
    PSIM_PRINTF(2, 3);

/** `list`, a separator and `item`; `item` alone when the list is empty. */
const char *psim_fact_join(struct psim_fact_writer *writer, const char *list, const char *separator,
                           const char *item);

/** "1 input", "8 inputs". */
const char *psim_fact_count(struct psim_fact_writer *writer, int64_t count, const char *singular,
                            const char *plural);

/** The stage with the least room left, which need not be the one with the highest peak where
 *  devices differ; -1 when no stage's room is known. */
int psim_tightest_stage(const struct psim_simulation *simulation);

#define PSIM_SCENARIO_FACTS 5
#define PSIM_METHOD_FACTS   16

/** What was compared: PSIM_SCENARIO_FACTS at most. */
void psim_facts_of_scenario(struct psim_fact_writer *writer,
                            const struct psim_comparison *comparison);

/** One method's figures: PSIM_METHOD_FACTS at most. */
void psim_facts_of_method(struct psim_fact_writer *writer, const struct psim_comparison *comparison,
                          const struct psim_result *result);

/** Share of the time that rests on figures of each origin, over all results. */
void psim_facts_of_origin(struct psim_fact_writer *writer,
                          const struct psim_comparison *comparison);

/** Which methods are limited by what: a fact for each limit, so no more than results. */
void psim_facts_of_bottleneck(struct psim_fact_writer *writer,
                              const struct psim_comparison *comparison);

#endif

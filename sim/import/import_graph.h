/**
 * @file sim/import/import_graph.h
 * A platform while it is imported, and how it is written: platform/1 as a free graph.
 *
 * Private to sim/import.  Texts are borrowed, best from the job's arena.
 */
#ifndef PSIM_IMPORT_IMPORT_GRAPH_H
#define PSIM_IMPORT_IMPORT_GRAPH_H

#include "sim/import/job.h"
#include "sim/platform/platform.h"

struct psim_import_vertex {
    const char *name;
    const char *device; /**< as the catalogue names it; NULL: a switch */
    struct psim_place at;
};

struct psim_import_link {
    const char *name;
    int from, to; /**< vertices; -1: not known yet, such a link is not written */
    double bandwidth_bytes_per_s, latency_s;
    enum psim_sharing sharing;
    const char *source;  /**< where the figures come from; NULL: from the imported file */
    const char *assumed; /**< which of them nobody measured; NULL: none */
    struct psim_place at;
};

struct psim_import_graph {
    struct psim_import_job *job;
    const char *comment;
    struct psim_import_vertex *vertices;
    size_t vertex_count, vertex_capacity;
    struct psim_import_link *links;
    size_t link_count, link_capacity;
};

/** Adds a host or switch whose name may be NULL, for memory that was out.
 *  @return its number; -1 when memory is out */
int psim_graph_vertex(struct psim_import_graph *graph, const char *name, const char *device,
                      struct psim_place at);

/** Adds a link; nothing happens when memory is out or an end or the name is missing for it. */
void psim_graph_link(struct psim_import_graph *graph, const struct psim_import_link *link);

/** Adds a duplex link named "<from>-<to>"; ends of -1 are passed over. */
void psim_graph_join(struct psim_import_graph *graph, int from, int to,
                     const struct psim_import_link *figures);

/** Reports what the graph lacks as a whole, and writes it. */
void psim_graph_write(const struct psim_import_graph *graph, struct psim_text *out);

#endif

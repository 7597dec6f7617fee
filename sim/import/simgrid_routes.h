/**
 * @file sim/import/simgrid_routes.h
 * From SimGrid's routes to a graph: which vertices each link joins.
 *
 * Private to sim/import.  A SimGrid file names the links of a route, but not where they meet.  A
 * route of one link says what the link joins; along a longer one the meeting points follow from the
 * links already known, and where several in a row are not known, new switches stand between them.
 */
#ifndef PSIM_IMPORT_SIMGRID_ROUTES_H
#define PSIM_IMPORT_SIMGRID_ROUTES_H

#include "sim/import/import_graph.h"

enum psim_hop_direction { PSIM_HOP_NONE, PSIM_HOP_UP, PSIM_HOP_DOWN };

struct psim_hop {
    int link; /**< of the graph */
    enum psim_hop_direction direction;
};

struct psim_simgrid_route {
    int from, to; /**< vertices */
    struct psim_hop *hops;
    size_t hop_count;
    bool complete; /**< the whole way, not a step that SimGrid joins to others (routing "Full") */
    struct psim_place at;
};

/**
 * Gives ends to the links of the graph; reports routes that no graph can have, warns of links
 * without a route, and of the first route that petrasim would not take.
 */
void psim_simgrid_settle(struct psim_import_graph *graph, const struct psim_simgrid_route *routes,
                         size_t count);

#endif

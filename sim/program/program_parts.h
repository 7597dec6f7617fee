/**
 * @file sim/program/program_parts.h
 * What program.c, replicate.c and fold.c share.  Private to sim/program.
 */
#ifndef PSIM_PROGRAM_PROGRAM_PARTS_H
#define PSIM_PROGRAM_PROGRAM_PARTS_H

#include "sim/program/program.h"

/** Ways between the neighbours of every lane. */
enum psim_status psim_program_build_hops(const struct psim_program *program, int places,
                                         const struct psim_stage *list, struct psim_hop *hops,
                                         struct psim_error *err) PSIM_CHECKED;
void psim_program_release_hops(struct psim_hop *hops, int places);
void psim_program_release_flows(struct psim_sync_flow *flows, int count);

/**
 * Can one copy stand for all?  Where the messages of all copies cross equal links at every place of
 * their ways, no two copies the same one, so that each link carries what its like of any other copy
 * does.  A message of an all-reduce is its sender's.
 * @param[in] all      the program with every copy as a lane
 * @param[in] devices  [replicas][stages], platform devices
 * @param[out] image   NULL: it cannot.  Else [2 * links], the caller frees it: for each direction
 *                     (2 * link, + 1 for the forward one of a duplex link) the one of the first
 *                     copy that stands for it, -1 where nothing crosses it
 * @return PSIM_OK; PSIM_ERR_NOMEM
 */
enum psim_status psim_program_fold(const struct psim_program *all, const int *devices, int **image,
                                   struct psim_error *err) PSIM_CHECKED;

/** Leads a route over the links that stand for its own. */
void psim_route_fold(const struct psim_platform *platform, const int *image,
                     struct psim_route *route);

#endif

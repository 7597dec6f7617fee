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
 * Finds copies that are alike and leads the messages of those that stay over links that are loaded
 * as if all were there: a link comes in a route as often as it carries such messages.
 *
 * Two copies are alike where an equitable partition of copies, messages and link directions has
 * them in one class; found by refinement of colours, then checked member by member.
 * @param[in,out] all      the program with every copy as a lane; only routes change
 * @param[out] copy_stays  [replicas]: the first of its class; all true where nothing is gained or
 *                         nothing was proved, and then no route has changed
 * @param[out] flow_stays  [psim_program_sync_count(all)]
 * @return PSIM_OK; PSIM_ERR_NOMEM
 */
enum psim_status psim_program_fold(struct psim_program *all, bool *copy_stays, bool *flow_stays,
                                   struct psim_error *err) PSIM_CHECKED;

#endif

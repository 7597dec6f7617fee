/**
 * @file sim/collective/collective.h
 * Collective operations as messages between ranks, one algorithm a file.
 *
 * An algorithm turns an operation on a group into phases; in a phase every rank sends a few
 * messages, all at once, and the next phase starts when all of them have arrived.  The many rounds
 * of a ring are one phase: what a rank sends its neighbour over all rounds is one flow, with the
 * latency of each round paid (`messages`), because the rounds keep the same links busy.
 * Run by sim/engine; the closed forms are oracles for tests and never a result.
 *
 * Does not know: links, devices, seconds other than those of the closed forms, SimGrid.
 */
#ifndef PSIM_COLLECTIVE_COLLECTIVE_H
#define PSIM_COLLECTIVE_COLLECTIVE_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum psim_collective_kind {
    PSIM_ALL_REDUCE,
    PSIM_REDUCE_SCATTER,
    PSIM_ALL_GATHER,
    PSIM_BROADCAST,
    PSIM_COLLECTIVE_KINDS
};

/** "all_reduce", ... in the enum's order, NULL at the end. */
extern const char *const psim_collective_kind_names[];

/** Ranks in their order, with the node that each lives on. */
struct psim_group {
    int ranks;       /**< >= 1 */
    const int *node; /**< [ranks]; NULL: all on one node */
    bool in_switch;  /**< the switch inside the nodes can reduce and multicast (NVLink SHARP) */
};

/** What one rank sends one other in one phase. */
struct psim_collective_flow {
    int to;       /**< rank; PSIM_IN_SWITCH: the switch of its node, which sends as much back */
    double bytes; /**< over all rounds of the phase */
    int messages; /**< rounds: latencies paid one after the other, >= 1 */
};

#define PSIM_IN_SWITCH (-1)

/** No algorithm sends more messages than this at once from one rank. */
#define PSIM_COLLECTIVE_FLOWS 2

struct psim_collective {
    const char *name; /**< as in files */
    const char *summary;
    const char *source; /**< doi or arXiv + place */
    /** Can it run this operation on this group? */
    bool (*applies)(enum psim_collective_kind kind, const struct psim_group *group);
    /** Number of phases; 0 for one rank. */
    int (*phases)(enum psim_collective_kind kind, const struct psim_group *group);
    /**
     * What `rank` sends in `phase`.
     * @param[in]  bytes  the buffer of one rank (all-reduce, broadcast) or of all ranks together
     *                    (reduce-scatter's input, all-gather's output)
     * @param[out] out    [PSIM_COLLECTIVE_FLOWS]
     * @return how many; 0: the rank only listens
     */
    int (*flows)(enum psim_collective_kind kind, const struct psim_group *group, double bytes,
                 int phase, int rank, struct psim_collective_flow *out);
    /** Seconds where nothing else runs and every rank has a port of its own with this bandwidth
     *  each way, another one to a switch that reduces, and every message pays latency_s. */
    double (*time)(enum psim_collective_kind kind, const struct psim_group *group, double bytes,
                   double latency_s, double bandwidth_bytes_per_s);
};

/** All algorithms, by name; NULL at the end. */
extern const struct psim_collective *const psim_collective_table[];

/** NULL when there is none of that name. */
const struct psim_collective *psim_collective_find(const char *name);

/** Do the ranks of a node follow each other, with as many on every node?  A node
 *  that comes again later counts as another.  Rank r is then on node
 *  r / m with the rail r % m. */
bool psim_group_is_even(const struct psim_group *group);

/** The m of an even group. */
int psim_group_ranks_per_node(const struct psim_group *group);

/** busbw / algbw of NCCL's reports: 2 (n-1)/n, (n-1)/n or 1. */
double psim_collective_bus_factor(enum psim_collective_kind kind, int ranks);

#endif

/*
 * Ring: reduce-scatter and all-gather take p - 1 rounds each, in each of which every rank sends
 * n / p bytes to the next one; an all-reduce is both.  All rounds use the same links, so they are
 * one flow a rank.  A broadcast from rank 0 goes along the ring in pieces so small that every
 * rank passes them on while they come; the last rank passes nothing on.
 *
 * Source: Patarasuk and Yuan, J. Parallel Distrib. Comput. 69(2), 2009,
 * doi:10.1016/j.jpdc.2008.09.002.
 */
#include "sim/collective/collective.h"

/* Rounds of the whole operation. */
static int rounds(enum psim_collective_kind kind, int ranks)
{
    return kind == PSIM_ALL_REDUCE ? 2 * (ranks - 1) : ranks - 1;
}

/* What one rank sends the next over all rounds. */
static double sent(enum psim_collective_kind kind, int ranks, double bytes)
{
    return kind == PSIM_BROADCAST ? bytes : bytes / ranks * rounds(kind, ranks);
}

static bool applies(enum psim_collective_kind kind, const struct psim_group *group)
{
    (void)kind, (void)group;
    return true;
}

static int phases(enum psim_collective_kind kind, const struct psim_group *group)
{
    (void)kind;
    return group->ranks > 1 ? 1 : 0;
}

static int flows(enum psim_collective_kind kind, const struct psim_group *group, double bytes,
                 int phase, int rank, struct psim_collective_flow *out)
{
    (void)phase;
    if (kind == PSIM_BROADCAST && rank == group->ranks - 1)
        return 0;
    out[0] = (struct psim_collective_flow){
        .to = (rank + 1) % group->ranks,
        .bytes = sent(kind, group->ranks, bytes),
        .messages = rounds(kind, group->ranks),
    };
    return 1;
}

/* T = rounds (a + n / (p B)), of a broadcast (p - 1) a + n / B (model.md eq. 30). */
static double time(enum psim_collective_kind kind, const struct psim_group *group, double bytes,
                   double latency_s, double bandwidth_bytes_per_s)
{
    if (group->ranks == 1)
        return 0;
    return rounds(kind, group->ranks) * latency_s +
           sent(kind, group->ranks, bytes) / bandwidth_bytes_per_s;
}

const struct psim_collective psim_collective_ring = {
    .name = "ring",
    .summary = "each rank passes pieces to the next; bandwidth-optimal",
    .source = "doi:10.1016/j.jpdc.2008.09.002",
    .applies = applies,
    .phases = phases,
    .flows = flows,
    .time = time,
};

/*
 * Ring: reduce-scatter and all-gather take p - 1 rounds each, in each of which every rank sends
 * n / p bytes to the next one; an all-reduce is both.  All rounds use the same links, so they are
 * one flow a rank.
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

static bool applies(enum psim_collective_kind kind, const struct psim_group *group)
{
    (void)group;
    return kind != PSIM_BROADCAST;
}

static int phases(enum psim_collective_kind kind, const struct psim_group *group)
{
    (void)kind;
    return group->ranks > 1 ? 1 : 0;
}

static int flows(enum psim_collective_kind kind, const struct psim_group *group, double bytes,
                 int phase, int rank, struct psim_collective_flow *out)
{
    const int messages = rounds(kind, group->ranks);

    (void)phase;
    out[0] = (struct psim_collective_flow){
        .to = (rank + 1) % group->ranks,
        .bytes = bytes / group->ranks * messages,
        .messages = messages,
    };
    return 1;
}

/* T = rounds (a + n / (p B)) (model.md eq. 30). */
static double time(enum psim_collective_kind kind, const struct psim_group *group, double bytes,
                   double latency_s, double bandwidth_bytes_per_s)
{
    return rounds(kind, group->ranks) *
           (latency_s + bytes / (group->ranks * bandwidth_bytes_per_s));
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

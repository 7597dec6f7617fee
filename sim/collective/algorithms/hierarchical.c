/*
 * Hierarchical: rings inside the nodes and rings between the nodes, one for each rail (the ranks
 * with the same place in their nodes).  An all-reduce is a reduce-scatter inside, an all-reduce of
 * n / m on every rail, an all-gather inside, m being the ranks of a node; a reduce-scatter and an
 * all-gather leave out what they do not need.
 *
 * The phases follow each other; an implementation that overlaps them in pieces is faster by at
 * most what the shorter ones take.
 *
 * Source: Jia et al. 2018, arXiv:1807.11205, (hierarchical all-reduce), with all ranks of a node
 * instead of one taking part between the nodes.
 */
#include "sim/collective/collective.h"

extern const struct psim_collective psim_collective_ring;

/* One ring of a phase. */
struct stage {
    enum psim_collective_kind kind;
    bool between; /* nodes */
};

static const struct stage all_reduce[] = {
    {PSIM_REDUCE_SCATTER, false}, {PSIM_ALL_REDUCE, true}, {PSIM_ALL_GATHER, false}};
static const struct stage reduce_scatter[] = {{PSIM_REDUCE_SCATTER, false},
                                              {PSIM_REDUCE_SCATTER, true}};
static const struct stage all_gather[] = {{PSIM_ALL_GATHER, true}, {PSIM_ALL_GATHER, false}};

static const struct {
    const struct stage *stages;
    int count;
} plans[PSIM_COLLECTIVE_KINDS] = {
    [PSIM_ALL_REDUCE] = {all_reduce, 3},
    [PSIM_REDUCE_SCATTER] = {reduce_scatter, 2},
    [PSIM_ALL_GATHER] = {all_gather, 2},
};

/* The ring that a rank of a stage is in; stages with one rank are no phase. */
static struct psim_group ring_of(const struct psim_group *group, const struct stage *stage)
{
    const int per_node = psim_group_ranks_per_node(group);

    return (struct psim_group){.ranks = stage->between ? group->ranks / per_node : per_node};
}

static double bytes_of(const struct psim_group *group, const struct stage *stage, double bytes)
{
    return stage->between ? bytes / psim_group_ranks_per_node(group) : bytes;
}

static bool applies(enum psim_collective_kind kind, const struct psim_group *group)
{
    return kind != PSIM_BROADCAST && psim_group_is_even(group);
}

static int phases(enum psim_collective_kind kind, const struct psim_group *group)
{
    int count = 0;

    for (int i = 0; i < plans[kind].count; i++)
        count += ring_of(group, &plans[kind].stages[i]).ranks > 1 ? 1 : 0;
    return count;
}

static const struct stage *stage_of(enum psim_collective_kind kind, const struct psim_group *group,
                                    int phase)
{
    const struct stage *stage = plans[kind].stages;

    for (;; stage++) {
        if (ring_of(group, stage).ranks > 1 && phase-- == 0)
            return stage;
    }
}

static int flows(enum psim_collective_kind kind, const struct psim_group *group, double bytes,
                 int phase, int rank, struct psim_collective_flow *out)
{
    const struct stage *stage = stage_of(kind, group, phase);
    const struct psim_group ring = ring_of(group, stage);
    const int per_node = psim_group_ranks_per_node(group);
    const int node = rank / per_node, rail = rank % per_node;
    const int count = psim_collective_ring.flows(stage->kind, &ring, bytes_of(group, stage, bytes),
                                                 0, stage->between ? node : rail, out);

    for (int i = 0; i < count; i++)
        out[i].to = stage->between ? out[i].to * per_node + rail : node * per_node + out[i].to;
    return count;
}

/* T = the sum of the rings' times. */
static double time(enum psim_collective_kind kind, const struct psim_group *group, double bytes,
                   double latency_s, double bandwidth_bytes_per_s)
{
    double total = 0;

    for (int i = 0; i < plans[kind].count; i++) {
        const struct stage *stage = &plans[kind].stages[i];
        const struct psim_group ring = ring_of(group, stage);

        total += psim_collective_ring.time(stage->kind, &ring, bytes_of(group, stage, bytes),
                                           latency_s, bandwidth_bytes_per_s);
    }
    return total;
}

const struct psim_collective psim_collective_hierarchical = {
    .name = "hierarchical",
    .summary = "rings inside the nodes, and between them one for each rail",
    .source = "arXiv:1807.11205",
    .applies = applies,
    .phases = phases,
    .flows = flows,
    .time = time,
};

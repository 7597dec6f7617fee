/*
 * All-reduce by a switch that adds up and multicasts (NVLink SHARP, NCCL's NVLS).
 *
 * Each of the m ranks of a node owns one m-th of the buffer.  It reads the sum of its part from
 * the switch, which fetches that part from all ranks, and writes the sum back to the switch, which
 * sends it to all.  A port so carries n for the fetches and n / m for what is owned, each way.
 *
 * Between nodes, the owners of the same part form a ring over their rail.  Pieces are pipelined
 * through the switch and the rails, so that both run at the same time and the slower one counts.
 * A crossing of the switch is a message; there and back are two.
 *
 * Source: the algorithms NVLS and NVLSTree of NCCL, github.com/NVIDIA/nccl@5067397c
 * src/graph/tuning.cc.
 */
#include "sim/collective/collective.h"

#define CROSSINGS 2

extern const struct psim_collective psim_collective_ring;

/* The ring between nodes that a rank is in. */
static struct psim_group rail_of(const struct psim_group *group)
{
    return (struct psim_group){.ranks = group->ranks / psim_group_ranks_per_node(group)};
}

/* What a port carries each way. */
static double in_switch_bytes(int per_node, double bytes)
{
    return bytes + bytes / per_node;
}

static bool applies(enum psim_collective_kind kind, const struct psim_group *group)
{
    return kind == PSIM_ALL_REDUCE && group->in_switch && psim_group_is_even(group);
}

static int phases(enum psim_collective_kind kind, const struct psim_group *group)
{
    (void)kind;
    return group->ranks > 1 ? 1 : 0;
}

static int flows(enum psim_collective_kind kind, const struct psim_group *group, double bytes,
                 int phase, int rank, struct psim_collective_flow *out)
{
    const int per_node = psim_group_ranks_per_node(group);
    const struct psim_group rail = rail_of(group);
    int count = 0;

    if (per_node > 1)
        out[count++] = (struct psim_collective_flow){
            .to = PSIM_IN_SWITCH, .bytes = in_switch_bytes(per_node, bytes), .messages = CROSSINGS};
    if (rail.ranks > 1) {
        psim_collective_ring.flows(kind, &rail, bytes / per_node, phase, rank / per_node,
                                   &out[count]);
        out[count].to = out[count].to * per_node + rank % per_node;
        count++;
    }
    return count;
}

/* T = max(2 a + n (1 + 1/m) / B, ring of n / m over the nodes). */
static double time(enum psim_collective_kind kind, const struct psim_group *group, double bytes,
                   double latency_s, double bandwidth_bytes_per_s)
{
    const int per_node = psim_group_ranks_per_node(group);
    const struct psim_group rail = rail_of(group);
    const double inside = per_node == 1 ? 0
                                        : CROSSINGS * latency_s + in_switch_bytes(per_node, bytes) /
                                                                      bandwidth_bytes_per_s;
    const double between =
        psim_collective_ring.time(kind, &rail, bytes / per_node, latency_s, bandwidth_bytes_per_s);

    return inside > between ? inside : between;
}

const struct psim_collective psim_collective_nvls = {
    .name = "nvls",
    .summary = "the switch of a node adds up and multicasts; rings between nodes",
    .source = "github.com/NVIDIA/nccl@5067397c src/graph/tuning.cc",
    .applies = applies,
    .phases = phases,
    .flows = flows,
    .time = time,
};

/*
 * Double binary tree: half of the buffer is reduced up one tree and half up another, then both
 * come down again.  A rank that has children in one tree is a leaf of the other (rank 0 with an
 * odd number of ranks has one child in each), so no port carries more than n in a phase.
 * Pieces are taken to be so small that a tree is filled after one latency for each of its levels.
 *
 * The first tree is the one in which a rank's level is its lowest set bit, with rank 0 on top; the
 * second is the first with the ranks counted from the other end (even number of ranks) or moved on
 * by one (odd).
 *
 * Source: Sanders, Speck and Traeff, Parallel Computing 35(12), 2009,
 * doi:10.1016/j.parco.2009.09.001; used by NCCL for all-reduce.
 */
#include "sim/collective/collective.h"

enum { TREES = 2, REDUCE = 0, PHASES = 2 };

/* Between a rank and its place in a tree. */
static int place_of(int tree, int ranks, int rank)
{
    if (tree == 0)
        return rank;
    return ranks % 2 == 0 ? ranks - 1 - rank : (rank + ranks - 1) % ranks;
}

static int rank_at(int tree, int ranks, int place)
{
    if (tree == 0)
        return place;
    return ranks % 2 == 0 ? ranks - 1 - place : (place + 1) % ranks;
}

/* Place of the parent; the top is place 0. */
static int parent_of(int place, int ranks)
{
    const int level = place & -place;
    const bool right = (place & (2 * level)) != 0 || place + level >= ranks;

    return right ? place - level : place + level;
}

/* Places of the children, at most two. */
static int children_of(int place, int ranks, int children[2])
{
    int level = place & -place;
    int count = 0;

    if (place == 0) {
        for (level = 1; 2 * level < ranks; level *= 2)
            continue;
        children[0] = level;
        return 1;
    }
    if (level > 1)
        children[count++] = place - level / 2;
    for (level /= 2; level > 0 && place + level >= ranks; level /= 2)
        continue;
    if (level > 0)
        children[count++] = place + level;
    return count;
}

/* Levels below the top: ceil(log2 p). */
static int depth_of(int ranks)
{
    int depth = 0;

    while ((1LL << depth) < ranks)
        depth++;
    return depth;
}

static bool applies(enum psim_collective_kind kind, const struct psim_group *group)
{
    (void)group;
    return kind == PSIM_ALL_REDUCE;
}

static int phases(enum psim_collective_kind kind, const struct psim_group *group)
{
    (void)kind;
    return group->ranks > 1 ? PHASES : 0;
}

static int flows(enum psim_collective_kind kind, const struct psim_group *group, double bytes,
                 int phase, int rank, struct psim_collective_flow *out)
{
    int count = 0;

    (void)kind;
    for (int tree = 0; tree < TREES; tree++) {
        const int place = place_of(tree, group->ranks, rank);
        int ends[2];
        int end_count = 1;

        if (phase != REDUCE)
            end_count = children_of(place, group->ranks, ends);
        else if (place == 0)
            continue;
        else
            ends[0] = parent_of(place, group->ranks);
        for (int i = 0; i < end_count; i++)
            out[count++] = (struct psim_collective_flow){
                .to = rank_at(tree, group->ranks, ends[i]),
                .bytes = bytes / TREES,
                .messages = depth_of(group->ranks),
            };
    }
    return count;
}

/* T = 2 (ceil(log2 p) a + n / B); with two ranks a port carries half of that. */
static double time(enum psim_collective_kind kind, const struct psim_group *group, double bytes,
                   double latency_s, double bandwidth_bytes_per_s)
{
    const double carried = group->ranks == 2 ? bytes / TREES : bytes;

    (void)kind;
    if (group->ranks == 1)
        return 0;
    return PHASES * (depth_of(group->ranks) * latency_s + carried / bandwidth_bytes_per_s);
}

const struct psim_collective psim_collective_tree = {
    .name = "tree",
    .summary = "two binary trees with half of the buffer each; few latencies",
    .source = "doi:10.1016/j.parco.2009.09.001",
    .applies = applies,
    .phases = phases,
    .flows = flows,
    .time = time,
};

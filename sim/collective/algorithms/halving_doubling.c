/*
 * Recursive halving and doubling: a reduce-scatter exchanges ever smaller halves with ever nearer
 * ranks, an all-gather the same backwards, an all-reduce is both.
 *
 * With a number of ranks that is no power of two, the first 2 r ranks form pairs, r being the
 * surplus over the power below.  The even one of a pair hands its data to the odd one before
 * ("fold"), sits out, and is handed the result after; a reduce-scatter leaves an odd one of these
 * with two blocks until then.
 *
 * Source: Thakur, Rabenseifner and Gropp, Int. J. High Perform. Comput. Appl. 19(1), 2005,
 * doi:10.1177/1094342005051521.
 */
#include "sim/collective/collective.h"

/* One group as the algorithm sees it. */
struct shape {
    enum psim_collective_kind kind;
    int ranks;
    int active; /* the largest power of two <= ranks */
    int steps;  /* its logarithm */
    int folded; /* ranks - active */
    double bytes;
};

static struct shape shape_of(enum psim_collective_kind kind, const struct psim_group *group,
                             double bytes)
{
    struct shape s = {.kind = kind, .ranks = group->ranks, .active = 1, .bytes = bytes};

    while (s.active <= s.ranks / 2) {
        s.active *= 2;
        s.steps++;
    }
    s.folded = s.ranks - s.active;
    return s;
}

/* Active ranks are numbered without those that sit out. */
static int number_of(const struct shape *s, int rank)
{
    return rank < 2 * s->folded ? rank / 2 : rank - s->folded;
}

static int rank_of(const struct shape *s, int number)
{
    return number < s->folded ? 2 * number + 1 : number + s->folded;
}

/* Bytes of the blocks of `count` active ranks from number `first` on. */
static double blocks(const struct shape *s, int first, int count)
{
    const int pairs = s->folded <= first          ? 0
                      : s->folded < first + count ? s->folded - first
                                                  : count;

    if (s->kind == PSIM_ALL_REDUCE)
        return s->bytes / s->active * count;
    return s->bytes / s->ranks * (count + pairs);
}

/* Distance to the partner of an exchange, the last halving being with the neighbour. */
static int distance_of(const struct shape *s, int step)
{
    return step < s->steps && s->kind != PSIM_ALL_GATHER
               ? s->active >> (step + 1)
               : 1 << (s->kind == PSIM_ALL_GATHER ? step : step - s->steps);
}

static bool is_halving(const struct shape *s, int step)
{
    return s->kind != PSIM_ALL_GATHER && step < s->steps;
}

/* What an active rank sends its partner: the partner's half of what both have, or all it has. */
static double exchanged(const struct shape *s, int step, int number)
{
    const int distance = distance_of(s, step);
    const int whose = is_halving(s, step) ? number ^ distance : number;

    return blocks(s, whose / distance * distance, distance);
}

static int exchanges(const struct shape *s)
{
    return s->kind == PSIM_ALL_REDUCE ? 2 * s->steps : s->steps;
}

/* What a folded rank hands over before (in) and is handed after. */
static double handed(const struct shape *s, bool in)
{
    const double others = s->bytes / s->ranks * (s->ranks - 1);

    if (s->kind == PSIM_ALL_REDUCE)
        return s->bytes;
    return in == (s->kind == PSIM_REDUCE_SCATTER) ? others : s->bytes / s->ranks;
}

static bool applies(enum psim_collective_kind kind, const struct psim_group *group)
{
    (void)group;
    return kind != PSIM_BROADCAST;
}

static int phases(enum psim_collective_kind kind, const struct psim_group *group)
{
    const struct shape s = shape_of(kind, group, 0);

    return exchanges(&s) + (s.folded > 0 ? 2 : 0);
}

static int flows(enum psim_collective_kind kind, const struct psim_group *group, double bytes,
                 int phase, int rank, struct psim_collective_flow *out)
{
    const struct shape s = shape_of(kind, group, bytes);
    const int step = s.folded > 0 ? phase - 1 : phase;
    const bool paired = rank < 2 * s.folded, sits_out = paired && rank % 2 == 0;
    const bool hands_in = step < 0, hands_back = step == exchanges(&s);

    out[0].messages = 1;
    if (hands_in || hands_back) {
        if (!paired || sits_out != hands_in)
            return 0;
        out[0].to = hands_in ? rank + 1 : rank - 1;
        out[0].bytes = handed(&s, hands_in);
        return 1;
    }
    if (sits_out)
        return 0;
    out[0].to = rank_of(&s, number_of(&s, rank) ^ distance_of(&s, step));
    out[0].bytes = exchanged(&s, step, number_of(&s, rank));
    return 1;
}

/*
 * T = sum over the exchanges of a + (largest message) / B, and as much for the hands before and
 * after.  Pairs have the first numbers, so rank 0's half and the other half of its exchange show
 * the largest message.
 */
static double time(enum psim_collective_kind kind, const struct psim_group *group, double bytes,
                   double latency_s, double bandwidth_bytes_per_s)
{
    const struct shape s = shape_of(kind, group, bytes);
    double total = 0;

    for (int step = 0; step < exchanges(&s); step++)
        total += latency_s + blocks(&s, 0, distance_of(&s, step)) / bandwidth_bytes_per_s;
    if (s.folded > 0)
        total += 2 * latency_s + (handed(&s, true) + handed(&s, false)) / bandwidth_bytes_per_s;
    return total;
}

const struct psim_collective psim_collective_halving_doubling = {
    .name = "halving_doubling",
    .summary = "exchanges of halves with partners at distances of powers of two",
    .source = "doi:10.1177/1094342005051521",
    .applies = applies,
    .phases = phases,
    .flows = flows,
    .time = time,
};

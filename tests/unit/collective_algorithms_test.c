/*
 * Every algorithm, operation and group of 1 to 17 ranks on 1 to 3 nodes: what goes out comes in,
 * every rank gets what the operation needs, and the closed form is the time of the phases.  Ring,
 * tree and halving_doubling are also carried out on vectors.
 */
#include "sim/collective/collective.h"
#include "tests/support/check.h"

#include <math.h>
#include <string.h>

#define RANKS 17
#define BYTES 61261200.0 /* a multiple of 1..17 and of 16 */

/* What each rank must at least be sent, whoever adds up. */
static double needed(enum psim_collective_kind kind, int ranks, double bytes)
{
    switch (kind) {
    case PSIM_REDUCE_SCATTER:
        return ranks == 1 ? 0 : bytes / ranks;
    case PSIM_ALL_GATHER:
        return bytes / ranks * (ranks - 1);
    default:
        return ranks == 1 ? 0 : bytes;
    }
}

/* Ranks in order over the nodes, the first ones with one more where they do not divide. */
static void place(int ranks, int nodes, int *node)
{
    for (int r = 0; r < ranks; r++)
        node[r] = (int)((long)r * nodes / ranks);
}

struct totals {
    double sent[RANKS], received[RANKS];
    double time; /* of the phases, each as long as its busiest port and its longest latency */
    bool in_range;
};

/* What goes through the ports of the ranks, and through those to a switch that reduces. */
struct ports {
    double out[RANKS], in[RANKS];
    int messages;
};

static bool is_sound(const struct psim_group *group, int rank, const struct psim_collective_flow *f)
{
    return f->bytes >= 0 && f->messages >= 1 &&
           (f->to == PSIM_IN_SWITCH || (f->to >= 0 && f->to < group->ranks && f->to != rank));
}

static double busiest(const struct ports *ports, int ranks, double latency_s, double bandwidth)
{
    double most = 0;

    for (int r = 0; r < ranks; r++)
        most = fmax(most, fmax(ports->out[r], ports->in[r]));
    return ports->messages * latency_s + most / bandwidth;
}

static struct totals sum_up(const struct psim_collective *algorithm, enum psim_collective_kind kind,
                            const struct psim_group *group, double latency_s, double bandwidth)
{
    struct totals t = {.in_range = true};

    for (int phase = 0; phase < algorithm->phases(kind, group); phase++) {
        struct ports ports[2] = {{.messages = 0}, {.messages = 0}};

        for (int rank = 0; rank < group->ranks; rank++) {
            struct psim_collective_flow f[PSIM_COLLECTIVE_FLOWS];
            const int count = algorithm->flows(kind, group, BYTES, phase, rank, f);

            for (int i = 0; i < count; i++) {
                struct ports *p = &ports[f[i].to == PSIM_IN_SWITCH ? 1 : 0];
                const int to = f[i].to == PSIM_IN_SWITCH ? rank : f[i].to;

                t.in_range =
                    t.in_range && count <= PSIM_COLLECTIVE_FLOWS && is_sound(group, rank, &f[i]);
                if (!t.in_range)
                    return t;
                p->out[rank] += f[i].bytes;
                p->in[to] += f[i].bytes;
                p->messages = f[i].messages > p->messages ? f[i].messages : p->messages;
                t.sent[rank] += f[i].bytes;
                t.received[to] += f[i].bytes;
            }
        }
        t.time += fmax(busiest(&ports[0], group->ranks, latency_s, bandwidth),
                       busiest(&ports[1], group->ranks, latency_s, bandwidth));
    }
    return t;
}

/* Why a group's totals are not those of the operation; NULL: they are. */
static const char *fault(const struct psim_collective *algorithm, enum psim_collective_kind kind,
                         const struct psim_group *group)
{
    const double a = 1e-6, b = 25e9, p = group->ranks;
    const struct totals t = sum_up(algorithm, kind, group, a, b);
    const double time = algorithm->time(kind, group, BYTES, a, b);
    double sent = 0, received = 0;

    if (!t.in_range)
        return "a flow out of range";
    for (int r = 0; r < group->ranks; r++) {
        sent += t.sent[r];
        received += t.received[r];
        if (!(kind == PSIM_BROADCAST && r == 0) &&
            !(t.received[r] >= needed(kind, group->ranks, BYTES) * (1 - 1e-12)))
            return "a rank receives too little";
    }
    if (!psim_near(sent, received, 1e-12))
        return "not all that is sent is received";
    /* Together they move at least what any all-reduce over links must: 2 (p - 1) n. */
    if (kind == PSIM_ALL_REDUCE && !group->in_switch &&
        !(sent >= 2 * (p - 1) * BYTES * (1 - 1e-12)))
        return "an all-reduce that moves too little";
    if (!psim_near(time, t.time, 1e-12))
        return "the closed form is not the time of the phases";
    return NULL;
}

static void every_group_gets_what_the_operation_needs(void **state)
{
    int seen = 0;

    (void)state;
    for (size_t i = 0; psim_collective_table[i] != NULL; i++) {
        const struct psim_collective *algorithm = psim_collective_table[i];

        for (int k = 0; k < PSIM_COLLECTIVE_KINDS; k++) {
            for (int ranks = 1; ranks <= RANKS; ranks++) {
                for (int nodes = 1; nodes <= 3 && nodes <= ranks; nodes++) {
                    int node[RANKS];
                    const struct psim_group group = {.ranks = ranks,
                                                     .node = node,
                                                     .in_switch =
                                                         strcmp(algorithm->name, "nvls") == 0};
                    const char *why;

                    place(ranks, nodes, node);
                    if (!algorithm->applies((enum psim_collective_kind)k, &group))
                        continue;
                    why = fault(algorithm, (enum psim_collective_kind)k, &group);
                    if (why != NULL)
                        fail_msg("%s %s, %d ranks on %d nodes: %s", algorithm->name,
                                 psim_collective_kind_names[k], ranks, nodes, why);
                    seen++;
                }
            }
        }
    }
    assert_true(seen > 400);
}

/* Planted faults: a ring that sends too little, one that sends to nobody, one with another time. */
static const struct psim_collective *broken_from;
static int broken_how;

static int broken_flows(enum psim_collective_kind kind, const struct psim_group *group,
                        double bytes, int phase, int rank, struct psim_collective_flow *out)
{
    const int count = broken_from->flows(kind, group, bytes, phase, rank, out);

    if (broken_how == 0)
        out[0].bytes *= 0.4;
    if (broken_how == 1)
        out[0].to = group->ranks;
    if (broken_how == 2)
        out[0].messages += 1;
    return count;
}

static void the_check_rejects_planted_faults(void **state)
{
    static const char *const expected[] = {"a rank receives too little", "a flow out of range",
                                           "the closed form is not the time of the phases"};
    struct psim_collective broken = *psim_collective_find("ring");
    const struct psim_group group = {.ranks = 5};

    (void)state;
    broken_from = psim_collective_find("ring");
    broken.flows = broken_flows;
    for (broken_how = 0; broken_how < 3; broken_how++)
        assert_string_equal(fault(&broken, PSIM_ALL_REDUCE, &group), expected[broken_how]);
}

static void uneven_nodes_are_no_group_of_rails(void **state)
{
    const int uneven[] = {0, 0, 0, 1, 1}, mixed[] = {0, 1, 0, 1}, back[] = {0, 0, 1, 1, 0, 0};
    const int even[] = {3, 3, 1, 1};

    (void)state;
    assert_false(psim_group_is_even(&(struct psim_group){.ranks = 5, .node = uneven}));
    assert_true(psim_group_is_even(&(struct psim_group){.ranks = 4, .node = mixed}));
    assert_int_equal(psim_group_ranks_per_node(&(struct psim_group){.ranks = 4, .node = mixed}), 1);
    assert_true(psim_group_is_even(&(struct psim_group){.ranks = 6, .node = back}));
    assert_true(psim_group_is_even(&(struct psim_group){.ranks = 4, .node = even}));
    assert_int_equal(psim_group_ranks_per_node(&(struct psim_group){.ranks = 4, .node = even}), 2);
    assert_false(psim_collective_find("hierarchical")
                     ->applies(PSIM_ALL_REDUCE, &(struct psim_group){.ranks = 5, .node = uneven}));
    assert_false(psim_collective_find("nvls")->applies(
        PSIM_ALL_REDUCE, &(struct psim_group){.ranks = 4, .node = even}));
}

/* ---- On vectors: rank r's element e is r + 1 + 100 e, small whole numbers that add exactly ----
 */

#define ELEMENTS 17

static double sum_of(int ranks, int element)
{
    return ranks * (ranks + 1) / 2.0 + 100.0 * element * ranks;
}

static void fill(int ranks, double data[RANKS][ELEMENTS])
{
    for (int r = 0; r < ranks; r++)
        for (int e = 0; e < ELEMENTS; e++)
            data[r][e] = r + 1 + 100.0 * e;
}

static bool all_have_the_sum(int ranks, double data[RANKS][ELEMENTS], int elements)
{
    for (int r = 0; r < ranks; r++)
        for (int e = 0; e < elements; e++)
            if (!(data[r][e] == sum_of(ranks, e)))
                return false;
    return true;
}

/* p elements; in round k rank r passes on element r - k, adding in the first p - 1 rounds. */
static bool ring_adds_up(const struct psim_collective *ring, int p)
{
    const struct psim_group group = {.ranks = p};
    double data[RANKS][ELEMENTS];
    struct psim_collective_flow f[PSIM_COLLECTIVE_FLOWS];

    fill(p, data);
    ring->flows(PSIM_ALL_REDUCE, &group, p, 0, 0, f);
    for (int k = 0; k < f[0].messages; k++) {
        double passed[RANKS];

        for (int r = 0; r < p; r++)
            passed[r] = data[r][((r - k) % p + p) % p];
        for (int r = 0; r < p; r++) {
            const int e = ((r - k) % p + p) % p;

            ring->flows(PSIM_ALL_REDUCE, &group, p, 0, r, f);
            data[f[0].to][e] = k < p - 1 ? data[f[0].to][e] + passed[r] : passed[r];
        }
    }
    return f[0].bytes == (double)f[0].messages && all_have_the_sum(p, data, p);
}

static void ring_brings_the_sum_to_all(void **state)
{
    (void)state;
    for (int p = 2; p <= RANKS; p++)
        assert_true(ring_adds_up(psim_collective_find("ring"), p));
}

static void a_round_too_many_is_noticed(void **state)
{
    struct psim_collective broken = *psim_collective_find("ring");

    (void)state;
    broken_from = psim_collective_find("ring");
    broken_how = 2;
    broken.flows = broken_flows;
    assert_false(ring_adds_up(&broken, 5));
}

/* Interval of elements that each rank holds; with p' active ranks there are p'. */
struct held {
    int first, count;
};

/* One exchange of all ranks: the lower of two partners keeps the lower half and adds it, or both
 * take over what the other has.  False when a message is not as large as what it carries. */
static bool exchange(int p, const struct psim_collective_flow *f, const int *count,
                     struct held *held, double data[RANKS][ELEMENTS], bool halving, double unit)
{
    double before[RANKS][ELEMENTS];
    struct held had[RANKS];

    memcpy(before, data, sizeof before);
    memcpy(had, held, sizeof had);
    for (int r = 0; r < p; r++) {
        const struct held *other = count[r] > 0 ? &had[f[r].to] : NULL;

        if (other == NULL)
            continue;
        if (halving) {
            held[r].count = had[r].count / 2;
            held[r].first = had[r].first + (r > f[r].to ? held[r].count : 0);
            if (f[r].bytes != unit * held[r].count || other->first != had[r].first)
                return false;
            for (int e = held[r].first; e < held[r].first + held[r].count; e++)
                data[r][e] += before[f[r].to][e];
            continue;
        }
        if (f[r].bytes != unit * had[r].count || other->count != had[r].count)
            return false;
        held[r].first = had[r].first < other->first ? had[r].first : other->first;
        held[r].count = 2 * had[r].count;
        for (int e = other->first; e < other->first + other->count; e++)
            data[r][e] = before[f[r].to][e];
    }
    return true;
}

/* A whole vector from each sender, added before the exchanges and taken over after. */
static void hand(int p, const struct psim_collective_flow *f, const int *count,
                 double data[RANKS][ELEMENTS], int elements, bool add)
{
    for (int r = 0; r < p; r++)
        for (int e = 0; count[r] > 0 && e < elements; e++)
            data[f[r].to][e] = data[r][e] + (add ? data[f[r].to][e] : 0);
}

static bool halving_doubling_adds_up(int p)
{
    const struct psim_collective *algorithm = psim_collective_find("halving_doubling");
    const struct psim_group group = {.ranks = p};
    const int phases = algorithm->phases(PSIM_ALL_REDUCE, &group);
    double data[RANKS][ELEMENTS];
    struct held held[RANKS];
    int active = 1, done = 0;

    while (2 * active <= p)
        active *= 2;
    fill(p, data);
    for (int r = 0; r < p; r++)
        held[r] = (struct held){0, active};
    for (int phase = 0; phase < phases; phase++) {
        const bool fold = active < p && phase == 0, unfold = active < p && phase == phases - 1;
        struct psim_collective_flow f[RANKS][PSIM_COLLECTIVE_FLOWS];
        struct psim_collective_flow sent[RANKS];
        int count[RANKS];

        for (int r = 0; r < p; r++) {
            count[r] = algorithm->flows(PSIM_ALL_REDUCE, &group, 16, phase, r, f[r]);
            sent[r] = f[r][0];
        }
        if (fold || unfold) {
            hand(p, sent, count, data, active, fold);
            continue;
        }
        if (!exchange(p, sent, count, held, data, (1 << done) < active, 16.0 / active))
            return false;
        done++;
    }
    return all_have_the_sum(p, data, active);
}

static void halving_doubling_brings_the_sum_to_all(void **state)
{
    (void)state;
    for (int p = 2; p <= RANKS; p++)
        if (!halving_doubling_adds_up(p))
            fail_msg("not with %d ranks", p);
}

/* A tree as parents, -1 for the top; ranks whose flow belongs to it are known by the order of
 * flows: the first tree's comes first. */
static void read_trees(int p, const int tops[2], int parents[2][RANKS])
{
    const struct psim_collective *tree = psim_collective_find("tree");
    const struct psim_group group = {.ranks = p};

    for (int r = 0; r < p; r++) {
        struct psim_collective_flow f[PSIM_COLLECTIVE_FLOWS];
        int next = 0;

        tree->flows(PSIM_ALL_REDUCE, &group, 2, 0, r, f);
        for (int t = 0; t < 2; t++)
            parents[t][r] = r == tops[t] ? -1 : f[next++].to;
    }
}

/* Adds up along the tree, the deepest ranks first; false when it does not end at the top. */
static bool climb(int p, const int *parents, int top, double *value)
{
    int waiting[RANKS] = {0}, done = 0;
    bool passed[RANKS] = {false};

    for (int r = 0; r < p; r++)
        if (parents[r] >= 0)
            waiting[parents[r]]++;
    for (int round = 0; round < p; round++) {
        for (int r = 0; r < p; r++) {
            if (passed[r] || waiting[r] > 0 || r == top)
                continue;
            value[parents[r]] += value[r];
            waiting[parents[r]]--;
            passed[r] = true;
            done++;
        }
    }
    return done == p - 1;
}

/* What comes down from the top: every rank is sent each half once, by its parent in a tree. */
static bool comes_down(int p, const int parents[2][RANKS])
{
    const struct psim_collective *tree = psim_collective_find("tree");
    const struct psim_group group = {.ranks = p};
    int got[RANKS][RANKS] = {{0}};

    for (int r = 0; r < p; r++) {
        struct psim_collective_flow f[PSIM_COLLECTIVE_FLOWS];
        const int count = tree->flows(PSIM_ALL_REDUCE, &group, 2, 1, r, f);

        for (int i = 0; i < count; i++)
            got[r][f[i].to]++;
    }
    for (int t = 0; t < 2; t++)
        for (int r = 0; r < p; r++)
            if (parents[t][r] >= 0 && got[parents[t][r]][r]-- <= 0)
                return false;
    return true;
}

static void double_tree_brings_both_halves_to_all(void **state)
{
    (void)state;
    for (int p = 2; p <= RANKS; p++) {
        const int tops[2] = {0, p % 2 == 0 ? p - 1 : 1};
        int parents[2][RANKS];

        read_trees(p, tops, parents);
        for (int t = 0; t < 2; t++) {
            double value[RANKS];

            for (int r = 0; r < p; r++)
                value[r] = r + 1;
            assert_true(climb(p, parents[t], tops[t], value));
            assert_true(value[tops[t]] == sum_of(p, 0));
        }
        assert_true(comes_down(p, (const int(*)[RANKS])parents));
    }
}

static void a_circle_is_no_tree(void **state)
{
    const int parents[] = {-1, 2, 1};
    double value[] = {1, 2, 3};

    (void)state;
    assert_false(climb(3, parents, 0, value));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_group_gets_what_the_operation_needs),
        cmocka_unit_test(the_check_rejects_planted_faults),
        cmocka_unit_test(uneven_nodes_are_no_group_of_rails),
        cmocka_unit_test(ring_brings_the_sum_to_all),
        cmocka_unit_test(a_round_too_many_is_noticed),
        cmocka_unit_test(halving_doubling_brings_the_sum_to_all),
        cmocka_unit_test(double_tree_brings_both_halves_to_all),
        cmocka_unit_test(a_circle_is_no_tree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

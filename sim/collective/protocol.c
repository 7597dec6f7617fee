#include "sim/collective/protocol.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static double distance(int a, int b)
{
    return fabs(log((double)a / b));
}

/* Is `a` a better stand-in for the group than `b`? */
static bool closer(const struct psim_rate_curve *a, const struct psim_rate_curve *b, int nodes,
                   int ranks)
{
    const double a_nodes = distance(a->nodes, nodes), b_nodes = distance(b->nodes, nodes);

    return a_nodes < b_nodes ||
           (a_nodes == b_nodes && distance(a->ranks, ranks) < distance(b->ranks, ranks));
}

const struct psim_rate_curve *psim_protocol_curve(const struct psim_protocol *protocol,
                                                  enum psim_collective_kind kind, int nodes,
                                                  int ranks)
{
    const struct psim_rate_curve *best = NULL;

    for (int i = 0; i < protocol->curve_count; i++) {
        const struct psim_rate_curve *curve = &protocol->curves[i];

        if (curve->kind != kind || (curve->nodes > 1) != (nodes > 1))
            continue;
        if (best == NULL || closer(curve, best, nodes, ranks))
            best = curve;
    }
    return best;
}

double psim_rate_curve_at(const struct psim_rate_curve *curve, double bytes)
{
    const int last = curve->points - 1;
    double share;
    int i = 1;

    if (!(bytes > curve->bytes[0]))
        return curve->rate[0];
    if (bytes >= curve->bytes[last])
        return curve->rate[last];
    while (curve->bytes[i] < bytes)
        i++;
    share = log(bytes / curve->bytes[i - 1]) / log(curve->bytes[i] / curve->bytes[i - 1]);
    return curve->rate[i - 1] * pow(curve->rate[i] / curve->rate[i - 1], share);
}

/* The base latency is part of the measured time, so that the messages get the rest of it. */
struct psim_collective_terms psim_rate_curve_terms(const struct psim_rate_curve *curve, int ranks,
                                                   double bytes)
{
    const double factor = psim_collective_bus_factor(curve->kind, ranks);
    const double unscaled_s = factor * bytes / curve->reference_bytes_per_s;
    const double total_s = factor * bytes / psim_rate_curve_at(curve, bytes);
    struct psim_collective_terms terms = {.measured = true, .base_s = curve->base_s};

    if (unscaled_s > 0 && total_s > curve->base_s)
        terms.byte_factor = (total_s - curve->base_s) / unscaled_s;
    return terms;
}

static int nodes_of(const struct psim_group *group)
{
    int nodes = 1;

    for (int r = 1; group->node != NULL && r < group->ranks; r++)
        nodes += group->node[r] != group->node[r - 1] ? 1 : 0;
    return nodes;
}

static bool reduces_in_switch(const struct psim_collective *algorithm)
{
    return strcmp(algorithm->name, "nvls") == 0;
}

static bool applies(const struct psim_collective *algorithm, enum psim_collective_kind kind,
                    const struct psim_group *group)
{
    struct psim_group with_switch = *group;

    with_switch.in_switch = reduces_in_switch(algorithm);
    return algorithm->applies(kind, &with_switch);
}

struct psim_collective_choice psim_protocol_choose(const struct psim_protocol *protocol,
                                                   enum psim_collective_kind kind,
                                                   const struct psim_group *group,
                                                   const struct psim_collective *algorithm)
{
    struct psim_collective_choice choice = {.algorithm = algorithm};

    if (protocol != NULL)
        choice.curve = psim_protocol_curve(protocol, kind, nodes_of(group), group->ranks);
    if (algorithm == NULL && choice.curve != NULL && applies(choice.curve->algorithm, kind, group))
        choice.algorithm = choice.curve->algorithm;
    else if (algorithm == NULL)
        choice.algorithm = psim_collective_find("ring");
    if (choice.curve != NULL && choice.curve->algorithm != choice.algorithm)
        choice.curve = NULL;
    choice.in_switch = reduces_in_switch(choice.algorithm);
    return choice;
}

struct psim_collective_terms psim_collective_choice_terms(const struct psim_collective_choice *c,
                                                          int ranks, double bytes)
{
    if (c->curve == NULL)
        return (struct psim_collective_terms){.measured = false};
    return psim_rate_curve_terms(c->curve, ranks, bytes);
}

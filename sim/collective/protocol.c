#include "sim/collective/protocol.h"

#include <math.h>
#include <stddef.h>

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

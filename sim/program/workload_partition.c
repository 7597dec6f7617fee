/*
 * Balanced partition by dynamic programming.
 *
 * best(s, i) = min over k < i of max(best(s-1, k), time of units k..i-1 on stage s's device).
 *
 * best(s-1, k) need not grow with k, since no stage may be empty and devices differ.  But a k is
 * never needed when a later one has no larger best: its own run would be longer.  What is left is a
 * stack on which best grows and the run shrinks, so the minimum is where the two cross, found by
 * bisection: O(stages * units * log units) in all.
 */
#include "sim/program/workload_parts.h"

#include <math.h>
#include <string.h>

struct table {
    double *before, *best; /* [units + 1], of s - 1 and of s stages */
    int *stack;            /* [units] */
    int *choice;           /* [stages][width]: k of best(s, s + column) */
    size_t width;
};

/* The k on the stack that minimises max(before[k], run(k, i)); *best receives the minimum. */
static int cross(const struct table *table, int depth, const double *prefix, int i, double *best)
{
    int low = 0, high = depth; /* first position whose best is not less than its run */
    int chosen;

    while (low < high) {
        const int middle = low + (high - low) / 2;
        const int k = table->stack[middle];

        if (table->before[k] < prefix[i] - prefix[k])
            low = middle + 1;
        else
            high = middle;
    }
    chosen = low < depth ? low : depth - 1;
    *best = fmax(table->before[table->stack[chosen]], prefix[i] - prefix[table->stack[chosen]]);
    if (low > 0 && low < depth) {
        const int k = table->stack[low - 1];

        if (prefix[i] - prefix[k] < *best) {
            *best = prefix[i] - prefix[k];
            chosen = low - 1;
        }
    }
    return table->stack[chosen];
}

/* best(s, .) from best(s - 1, .), for s >= 2 stages. */
static void add_stage(struct table *table, const double *prefix, int s)
{
    int depth = 0;
    double *const swap = table->before;

    table->before = table->best;
    table->best = swap;
    for (int i = s; i < s + (int)table->width; i++) {
        while (depth > 0 && table->before[table->stack[depth - 1]] >= table->before[i - 1])
            depth--;
        table->stack[depth++] = i - 1;
        table->choice[(size_t)(s - 1) * table->width + (size_t)(i - s)] =
            cross(table, depth, prefix, i, &table->best[i]);
    }
}

enum psim_status psim_partition_balance(const double *const *prefix, int units, int stages,
                                        int *bounds, struct psim_error *err)
{
    const size_t length = (size_t)units + 1;
    struct table table = {.width = (size_t)(units - stages) + 1};
    enum psim_status status = PSIM_OK;

    table.before = psim_alloc(length, sizeof(*table.before));
    table.best = psim_alloc(length, sizeof(*table.best));
    table.stack = psim_alloc(length, sizeof(*table.stack));
    table.choice = psim_alloc((size_t)stages * table.width, sizeof(*table.choice));
    if (table.before == NULL || table.best == NULL || table.stack == NULL || table.choice == NULL) {
        status =
            psim_fail(err, PSIM_ERR_NOMEM, "partition", "%s", psim_status_text(PSIM_ERR_NOMEM));
        goto out;
    }
    memcpy(table.best, prefix[0], length * sizeof(*table.best));
    for (int s = 2; s <= stages; s++)
        add_stage(&table, prefix[s - 1], s);
    bounds[stages] = units;
    for (int s = stages; s >= 1; s--)
        bounds[s - 1] = table.choice[(size_t)(s - 1) * table.width + (size_t)(bounds[s] - s)];
out:
    psim_free(table.before);
    psim_free(table.best);
    psim_free(table.stack);
    psim_free(table.choice);
    return status;
}

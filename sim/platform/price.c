/* What the nodes of short forms cost: runs of nodes with one price, the latest first. */
#include "sim/platform/platform.h"

struct psim_node_prices {
    struct psim_node_prices *next;
    int first_node, last_node;
    struct psim_price price;
};

static bool same_price(const struct psim_price *a, const struct psim_price *b)
{
    return a->usd_per_hour == b->usd_per_hour && a->date == b->date && a->source == b->source;
}

enum psim_status psim_platform_set_node_price(struct psim_platform *platform, int node,
                                              const struct psim_price *price,
                                              struct psim_error *err)
{
    struct psim_node_prices *latest = platform->node_prices;

    if (latest != NULL && latest->last_node + 1 == node && same_price(&latest->price, price)) {
        latest->last_node = node;
        return PSIM_OK;
    }
    latest = psim_arena_alloc(&platform->arena, 1, sizeof *latest);
    if (latest == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "price", "%s", psim_status_text(PSIM_ERR_NOMEM));
    *latest = (struct psim_node_prices){platform->node_prices, node, node, *price};
    platform->node_prices = latest;
    return PSIM_OK;
}

const struct psim_price *psim_platform_node_price(const struct psim_platform *platform, int node)
{
    for (const struct psim_node_prices *run = platform->node_prices; run != NULL; run = run->next) {
        if (node >= run->first_node && node <= run->last_node)
            return &run->price;
    }
    return NULL;
}

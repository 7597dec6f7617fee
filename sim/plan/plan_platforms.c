/* What is known of a platform before any plan: orders of its devices, links, prices. */
#include "sim/base/memory.h"
#include "sim/plan/plan.h"

#define TYPES_MAX 4 /* arrangements are all orders of so many types */

int psim_plan_device_type(const struct psim_platform *platform, int device)
{
    return platform->vertices[platform->devices[device]].device_type;
}

/* The devices, type by type in the given order; equal ones keep the platform's. */
static bool arrange(struct psim_plan *plan, int at, const int *types, int type_count)
{
    const struct psim_platform *platform = &plan->goal->platforms[at].platform;
    struct psim_plan_platform *out = &plan->platforms[at];
    int *devices = psim_arena_alloc(&plan->arena, (size_t)platform->device_count, sizeof *devices);
    const char *name = "";
    bool same = true;
    int count = 0;

    if (devices == NULL)
        return false;
    for (int t = 0; t < type_count && name != NULL; t++) {
        for (int i = 0; i < platform->device_count; i++) {
            if (psim_plan_device_type(platform, i) == types[t])
                devices[count++] = i;
        }
        name = psim_arena_printf(&plan->arena, "%s%s%s", name, t == 0 ? "" : " then ",
                                 platform->types[types[t]].device.name);
    }
    for (int i = 0; i < count; i++)
        same = same && devices[i] == i;
    if (!same)
        out->arrangements[out->arrangement_count++] = (struct psim_arrangement){devices, name};
    return name != NULL;
}

/* All orders of the types, by exchanging. */
static bool permute(struct psim_plan *plan, int at, int types[TYPES_MAX], int fixed, int count)
{
    bool ok = true;

    if (fixed >= count || fixed >= TYPES_MAX)
        return arrange(plan, at, types, count);
    for (int i = fixed; i < count && ok; i++) {
        const int moved = types[i];

        types[i] = types[fixed];
        types[fixed] = moved;
        ok = permute(plan, at, types, fixed + 1, count);
        types[fixed] = types[i];
        types[i] = moved;
    }
    return ok;
}

/* All that can come into each device at once: the sum over its links. */
static bool sum_links(struct psim_plan *plan, int at)
{
    const struct psim_platform *platform = &plan->goal->platforms[at].platform;
    double *by_vertex = psim_alloc((size_t)platform->vertex_count, sizeof *by_vertex);
    double *sums = psim_arena_alloc(&plan->arena, (size_t)platform->device_count, sizeof *sums);

    for (int i = 0; by_vertex != NULL && i < platform->link_count; i++) {
        by_vertex[platform->links[i].from] += platform->links[i].bandwidth_bytes_per_s;
        by_vertex[platform->links[i].to] += platform->links[i].bandwidth_bytes_per_s;
    }
    for (int i = 0; by_vertex != NULL && sums != NULL && i < platform->device_count; i++)
        sums[i] = by_vertex[platform->devices[i]];
    plan->platforms[at].in_bytes_per_s = sums;
    psim_free(by_vertex);
    return by_vertex != NULL && sums != NULL;
}

bool psim_plan_prepare_platform(struct psim_plan *plan, int at)
{
    const struct psim_platform *platform = &plan->goal->platforms[at].platform;
    struct psim_plan_platform *out = &plan->platforms[at];
    int types[TYPES_MAX], count = 0;
    bool many = false;

    out->arrangements = psim_arena_alloc(&plan->arena, 25, sizeof *out->arrangements); /* 4! + 1 */
    out->usd_per_hour = psim_arena_alloc(&plan->arena, (size_t)platform->device_count + 1,
                                         sizeof *out->usd_per_hour);
    if (out->arrangements == NULL || out->usd_per_hour == NULL || !sum_links(plan, at))
        return false;
    out->arrangements[out->arrangement_count++] = (struct psim_arrangement){NULL, "in order"};
    for (int n = 0; n <= platform->device_count; n++)
        out->usd_per_hour[n] = -1; /* not asked for yet */
    for (int i = 0; i < platform->device_count && !many; i++) {
        bool known = false;

        for (int t = 0; t < count; t++)
            known = known || types[t] == psim_plan_device_type(platform, i);
        many = !known && count == TYPES_MAX;
        if (!known && !many)
            types[count++] = psim_plan_device_type(platform, i);
    }
    return count < 2 || many || permute(plan, at, types, 0, count);
}

double psim_plan_price(struct psim_plan *plan, int at, int devices)
{
    double *price = &plan->platforms[at].usd_per_hour[devices];

    if (*price < 0)
        *price = psim_study_hourly_usd(&plan->goal->platforms[at].platform, devices);
    return *price;
}

/*
 * What limits a row.  In this order: a stage whose work alone takes nearly all the time; a link
 * that is nearly always in use; messages that devices wait for; else the order of work itself.
 */
#include "sim/base/memory.h"
#include "sim/plan/study.h"

#include <math.h>

#define NEARLY_ALWAYS 0.95

struct busiest {
    int index;
    double share;
};

static struct busiest busiest_stage(const struct psim_simulation *simulation)
{
    struct busiest best = {0, 0};

    for (int j = 0; j < simulation->stage_count; j++) {
        if (simulation->stages[j].demand_fraction > best.share)
            best = (struct busiest){j, simulation->stages[j].demand_fraction};
    }
    return best;
}

/* Adds one message's seconds to each link of its route; a duplex link has a place a direction. */
static void load_route(const struct psim_platform *platform, const struct psim_route *route,
                       double bytes, double *seconds)
{
    for (int i = 0; i < route->hop_count; i++) {
        const struct psim_route_hop *hop = &route->hops[i];
        const struct psim_link *link = &platform->links[hop->link];

        seconds[psim_platform_direction(platform, hop)] += bytes / link->bandwidth_bytes_per_s;
    }
}

/* index: link, or -1 when memory is out. */
static struct busiest busiest_link(const struct psim_program *program,
                                   const struct psim_simulation *simulation)
{
    const int links = program->platform->link_count;
    struct busiest best = {0, 0};
    double *seconds = psim_alloc(2 * (size_t)links, sizeof *seconds);

    if (seconds == NULL)
        return (struct busiest){-1, 0};
    for (int hop = 0; hop < program->lanes * program->shape.stages; hop++) {
        for (int d = 0; d < 2 && (hop + 1) % program->shape.stages != 0; d++)
            load_route(program->platform, &program->hops[hop].route[d],
                       (double)program->hops[hop].bytes[d], seconds);
    }
    for (int i = 0; i < 2 * links; i++) {
        const double share = seconds[i] / simulation->time_per_microbatch_s;

        if (share > best.share)
            best = (struct busiest){i / 2, share};
    }
    psim_free(seconds);
    return best;
}

/* Mean over the stages of what their work takes at least, over the window. */
static double mean_demand(const struct psim_simulation *simulation)
{
    double sum = 0;

    for (int j = 0; j < simulation->stage_count; j++)
        sum += simulation->stages[j].demand_fraction;
    return sum / simulation->stage_count;
}

/* True when no micro-batch begins before the one before it has gone all the way back. */
static bool one_at_a_time(const struct psim_simulation *simulation)
{
    for (int j = 0; j < simulation->stage_count; j++) {
        if (simulation->stages[j].held_microbatches > 1)
            return false;
    }
    return true;
}

static const char *name_link(struct psim_arena *arena, const struct psim_program *program,
                             const struct busiest *link)
{
    const char *name = program->platform->links[link->index].name;

    /* Only an engine without contention uses more of a link than there is. */
    if (link->share > 1 + 1e-6)
        return psim_arena_printf(arena,
                                 "link %s: %.0f %% of its bandwidth used, which only an engine "
                                 "without contention allows",
                                 name, 100 * link->share);
    return psim_arena_printf(arena, "link %s bandwidth (in use %.0f %%)", name,
                             100 * fmin(1, link->share));
}

/* Nothing is in use nearly always: what do the devices wait for? */
static const char *name_waiting(struct psim_arena *arena, const struct psim_program *program,
                                const struct psim_simulation *simulation,
                                const struct busiest *stage, const struct busiest *link)
{
    const double exposed = simulation->exposed_communication_fraction;
    const double mean = mean_demand(simulation);

    if (exposed >= 0.5 * simulation->bubble_fraction && exposed > 0) {
        if (link->share >= stage->share)
            return psim_arena_printf(arena, "transfers over link %s (in use %.0f %%)",
                                     program->platform->links[link->index].name, 100 * link->share);
        return psim_arena_printf(arena, "transfers (devices wait %.0f %% for messages)",
                                 100 * exposed);
    }
    if (one_at_a_time(simulation) && simulation->stage_count > 1)
        return "one stage works at a time";
    if (program->method->flushes)
        return "fill and drain of the flushed pipeline";
    if (stage->share >= 1.1 * mean)
        return psim_arena_printf(
            arena, "uneven stages: stage %d (%s) works %.0f %% of the time, the mean %.0f %%",
            stage->index + 1, program->workload->stages[stage->index].name, 100 * stage->share,
            100 * mean);
    return psim_arena_printf(arena,
                             "micro-batches in flight: the way there and back takes longer "
                             "than the stages' work (stages work %.0f %% of the time)",
                             100 * mean);
}

const char *psim_study_bottleneck(struct psim_arena *arena, const struct psim_program *program,
                                  const struct psim_simulation *simulation)
{
    const struct busiest stage = busiest_stage(simulation);
    const struct busiest link = busiest_link(program, simulation);
    const struct psim_stage *s = &program->workload->stages[stage.index];

    if (link.index < 0)
        return NULL;
    if (simulation->failure >= 0)
        return "the failure";
    if (!(simulation->time_per_microbatch_s > 0))
        return "nothing takes time";
    if (link.share > 1 + 1e-6 || (link.share >= NEARLY_ALWAYS && link.share > stage.share))
        return name_link(arena, program, &link);
    if (stage.share >= NEARLY_ALWAYS)
        return psim_arena_printf(
            arena, "stage %d compute (%s on %s, %.0f %% of the time)", stage.index + 1, s->name,
            psim_platform_device_name(program->platform, s->device), 100 * stage.share);
    return name_waiting(arena, program, simulation, &stage, &link);
}

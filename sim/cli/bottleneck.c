/*
 * What limits a row.  In this order: a stage whose work alone takes nearly all the time; a link
 * that is nearly always in use; messages that devices wait for; else the order of work itself.
 */
#include "sim/base/memory.h"
#include "sim/cli/comparison.h"

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
        const int direction = link->sharing == PSIM_DUPLEX && hop->forward ? 1 : 0;

        seconds[2 * hop->link + direction] += bytes / link->bandwidth_bytes_per_s;
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
    for (int hop = 0; hop + 1 < program->shape.stages; hop++) {
        for (int d = 0; d < 2; d++)
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

const char *psim_study_bottleneck(struct psim_arena *arena, const struct psim_program *program,
                                  const struct psim_simulation *simulation)
{
    const struct busiest stage = busiest_stage(simulation);
    const struct busiest link = busiest_link(program, simulation);
    const struct psim_stage *s = &program->workload->stages[stage.index];
    const double bubble = simulation->bubble_fraction;
    const double exposed = simulation->exposed_communication_fraction;

    if (link.index < 0)
        return NULL;
    if (simulation->failure >= 0)
        return "the failure";
    if (!(simulation->time_per_microbatch_s > 0))
        return "nothing takes time";
    if (stage.share >= NEARLY_ALWAYS)
        return psim_arena_printf(
            arena, "stage %d compute (%s on %s, %.0f %% of the time)", stage.index + 1, s->name,
            psim_platform_device_name(program->platform, s->device), 100 * stage.share);
    if (link.share >= NEARLY_ALWAYS)
        return psim_arena_printf(arena, "link %s bandwidth (in use %.0f %%)",
                                 program->platform->links[link.index].name,
                                 100 * fmin(1, link.share));
    if (exposed >= 0.5 * bubble && exposed > 0)
        return psim_arena_printf(arena, "transfers (devices wait %.0f %% for messages)",
                                 100 * exposed);
    if (program->method->flushes && simulation->utilisation_mean * program->shape.stages <= 1.001)
        return "one stage works at a time";
    if (program->method->flushes)
        return "fill and drain of the flushed pipeline";
    return psim_arena_printf(
        arena, "uneven stages: stage %d (%s) works %.0f %% of the time, the mean %.0f %%",
        stage.index + 1, s->name, 100 * stage.share, 100 * simulation->utilisation_mean);
}

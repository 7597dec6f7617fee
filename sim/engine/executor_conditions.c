/* Conditions under a run: devices and links that change speed, and failures that end it. */
#include "sim/engine/executor_parts.h"

#include <math.h>
#include <stddef.h>

/* Conditions that touch what this run uses; a condition of something idle changes nothing. */
static bool concerns(const struct psim_executor *x, const struct psim_condition *c)
{
    if (c->kind == PSIM_CONDITION_DEVICE_SPEED || c->kind == PSIM_CONDITION_DEVICE_FAILS) {
        for (int j = 0; j < x->places; j++) {
            if (x->program->places[j].device == c->index)
                return true;
        }
        return false;
    }
    for (int hop = 0; hop < x->places; hop++) {
        for (int d = 0; d < 2; d++) {
            const struct psim_route *route = &x->program->hops[hop].route[d];

            for (int i = 0; i < route->hop_count; i++) {
                if (route->hops[i].link == c->index)
                    return true;
            }
        }
    }
    return false;
}

void psim_executor_start_conditions(struct psim_executor *x)
{
    const struct psim_conditions *conditions = x->program->conditions;

    for (int i = 0; conditions != NULL && i < conditions->event_count; i++) {
        const struct psim_condition *c = &conditions->events[i];
        const bool lasts =
            c->kind == PSIM_CONDITION_DEVICE_SPEED || c->kind == PSIM_CONDITION_LINK_BANDWIDTH;

        if (!concerns(x, c))
            continue;
        x->clock->timer(x->clock->self, c->from_s,
                        psim_token(PSIM_TOKEN_CONDITION, 0, 2 * (uint32_t)i));
        if (lasts && isfinite(c->until_s))
            x->clock->timer(x->clock->self, c->until_s,
                            psim_token(PSIM_TOKEN_CONDITION, 0, 2 * (uint32_t)i + 1));
    }
}

void psim_executor_condition(struct psim_executor *x, uint32_t index)
{
    const double now = x->clock->now(x->clock->self);
    const struct psim_conditions *conditions = x->program->conditions;
    const struct psim_condition *c = &conditions->events[index / 2];
    const double at_s = index % 2 == 0 ? c->from_s : c->until_s;
    const double factor = psim_conditions_factor(conditions, c->kind, c->index, at_s);

    if (c->kind == PSIM_CONDITION_DEVICE_FAILS || c->kind == PSIM_CONDITION_LINK_FAILS) {
        x->failure = (int)(index / 2);
        psim_executor_finish(x, now);
        return;
    }
    if (c->kind == PSIM_CONDITION_LINK_BANDWIDTH) {
        x->clock->set_link(x->clock->self, c->index, factor);
        return;
    }
    for (int j = 0; j < x->places; j++) {
        const double speed = conditions->speed == NULL ? 1 : conditions->speed[c->index];

        if (x->program->places[j].device != c->index)
            continue;
        psim_device_set_speed(&x->stage[j].device, speed * factor, now);
        psim_executor_schedule(x, j);
    }
}

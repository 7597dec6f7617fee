/* What a stage holds between passes: micro-batches, and the parameter versions that they read. */
#include "sim/engine/executor_parts.h"

#include <math.h>
#include <stddef.h>

/* A forward starts: the micro-batch is held, and reads the step's parameters. */
void psim_executor_hold(struct psim_executor *x, int stage, int64_t microbatch)
{
    struct psim_stage_state *s = &x->stage[stage];
    struct psim_entry *tag = psim_tagring_insert(&s->held, microbatch);

    if (tag == NULL) {
        psim_executor_fail(x);
        return;
    }
    tag->version = s->version;
    tag->backwards = s->backwards_at_step;
    if (s->held.count > s->held_max)
        s->held_max = s->held.count;
    if (x->program->stash) {
        struct psim_entry *version = psim_tagring_find(&s->versions, s->version);

        if (version == NULL)
            version = psim_tagring_insert(&s->versions, s->version);
        if (version == NULL)
            psim_executor_fail(x);
        else
            version->backwards++;
    }
}

/* Adds a complete micro-batch's work and messages to what the stage has done. */
static void count_work(struct psim_executor *x, int stage, const struct psim_entry *tag)
{
    struct psim_counters *total = &x->stage[stage].total;
    const int place = psim_program_stage(x->program, stage);

    for (int i = 0; i < tag->action_count; i++) {
        const unsigned passes = tag->actions[i];

        total->units += psim_passes_units(passes);
        total->flop += psim_program_flop(x->program, stage, passes);
        if (!(passes & PSIM_FORWARD))
            total->backward_work_s += x->durations[stage][passes];
        total->sent[0] += (passes & PSIM_FORWARD) && place + 1 < x->stages ? 1 : 0;
        total->sent[1] += (passes & PSIM_BACKWARD) && place > 0 ? 1 : 0;
    }
    total->backwards++;
}

/* A backward has ended: its micro-batch no longer needs the parameters that its forward read. */
void psim_executor_let_go(struct psim_executor *x, int stage, int64_t microbatch, double now)
{
    struct psim_stage_state *s = &x->stage[stage];
    struct psim_entry *tag = psim_tagring_find(&s->held, microbatch);
    int64_t delay;

    PSIM_ASSERT(tag != NULL && tag->arrived);
    delay = s->total.backwards - tag->backwards;
    s->stale = s->stale || tag->version != s->version;
    if (delay > s->staleness_max)
        s->staleness_max = delay;
    if (microbatch >= 2 * (int64_t)x->stages && delay < s->staleness_min)
        s->staleness_min = delay;
    if (x->program->stash) {
        struct psim_entry *version = psim_tagring_find(&s->versions, tag->version);

        PSIM_ASSERT(version != NULL);
        if (--version->backwards == 0) {
            if (tag->version != s->version) {
                s->stashed--;
                psim_account_stash(&x->account, stage, -1, now);
            }
            psim_tagring_remove(&s->versions, version);
        }
    }
    count_work(x, stage, tag);
    psim_tagring_remove(&s->held, tag);
}

/* What a step takes at least: on a device of its own, with every message there. */
static double step_demand(const struct psim_executor *x, int stage)
{
    const struct psim_step *step = &x->stage[stage].step;
    const double a = x->durations[stage][step->actions[0].passes];
    double b;

    if (step->count == 1)
        return a;
    b = x->durations[stage][step->actions[1].passes];
    if (x->program->overlap == PSIM_OVERLAP_SHARED)
        return 2 * fmin(a, b) / (1 + x->stage[stage].device.gain) + fabs(a - b);
    return fmax(a, b);
}

/* A step has ended: its work is added up, and what is held now is carried to the next one. */
void psim_executor_note_step(struct psim_executor *x, int stage)
{
    struct psim_stage_state *s = &x->stage[stage];

    s->total.demand_s += step_demand(x, stage);
    for (int i = 0; i < s->step.count; i++) {
        const struct psim_action *action = &s->step.actions[i];

        if (!(action->passes & PSIM_BACKWARD))
            continue;
        if (s->held.count > s->carried_max)
            s->carried_max = s->held.count;
        if (action->microbatch >= 2 * (int64_t)x->stages && s->held.count < s->carried_min)
            s->carried_min = s->held.count;
    }
}

/* The optimizer has written new parameters; the old ones stay while somebody needs them. */
void psim_executor_update(struct psim_executor *x, int stage, double now)
{
    struct psim_stage_state *s = &x->stage[stage];

    if (x->program->stash && psim_tagring_find(&s->versions, s->version) != NULL) {
        s->stashed++;
        if (s->stashed > s->stashed_max)
            s->stashed_max = s->stashed;
        psim_account_stash(&x->account, stage, 1, now);
    }
    s->version++;
    s->updated_s = now;
    s->at_sync = s->synced = false;
}

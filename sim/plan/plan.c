/* A plan from its goal: the space, the search, the confirmation. */
#include "sim/plan/plan.h"

#include "sim/base/memory.h"

#include <math.h>
#include <stdlib.h>

#define ROUNDS 40 /* of search and confirmation: enough for any space that was met */

static enum psim_status no_memory(struct psim_error *err)
{
    return psim_fail(err, PSIM_ERR_NOMEM, "plan", "out of memory");
}

static struct psim_fit_reserve reserve_of(const struct psim_goal_reserve *given)
{
    struct psim_fit_reserve reserve = psim_fit_reserve_default;

    if (!isnan(given->context_bytes))
        reserve.context_bytes = (int64_t)given->context_bytes;
    if (!isnan(given->communicator_bytes))
        reserve.communicator_bytes = (int64_t)given->communicator_bytes;
    if (!isnan(given->optimizer_bytes))
        reserve.transient_bytes = given->optimizer_bytes;
    if (!isnan(given->fragmentation))
        reserve.fragmentation = given->fragmentation;
    return reserve;
}

const struct psim_plan_figures *psim_plan_figures_of(const struct psim_plan *plan, int64_t point)
{
    const struct psim_plan_evaluation *evaluation;

    PSIM_ASSERT(plan->points[point].evaluation >= 0);
    evaluation = &plan->evaluations[plan->points[point].evaluation];
    return evaluation->is_confirmed ? &evaluation->confirmed : &evaluation->replayed;
}

/* Adds a plan to those that are to be confirmed, once. */
static void add_reported(const struct psim_plan *plan, int64_t *list, int *count, int64_t point)
{
    for (int i = 0; i < *count; i++) {
        if (list[i] == point)
            return;
    }
    if (point >= 0 && !plan->evaluations[plan->points[point].evaluation].is_confirmed &&
        plan->evaluations[plan->points[point].evaluation].error == NULL)
        list[(*count)++] = point;
}

/* By time. */
static void sort_front(struct psim_plan *plan)
{
    for (int i = 1; i < plan->front_count; i++) {
        const int64_t moved = plan->front[i];
        const double moved_s = psim_plan_figures_of(plan, moved)->seconds_per_sample;
        int at = i;

        for (; at > 0 &&
               psim_plan_figures_of(plan, plan->front[at - 1])->seconds_per_sample > moved_s;
             at--)
            plan->front[at] = plan->front[at - 1];
        plan->front[at] = moved;
    }
}

/* Runs what is reported and was not run yet; *confirmed becomes how many. */
static enum psim_status confirm(struct psim_plan *plan, int workers, int *confirmed,
                                struct psim_error *err)
{
    const int methods = plan->goal->base.method_count;
    const int room = plan->best_count + methods + plan->front_count + 1;
    int64_t *list = psim_alloc((size_t)room, sizeof *list);
    int count = 0;
    enum psim_status status;

    if (list == NULL)
        return no_memory(err);
    for (int i = 0; i < plan->best_count; i++)
        add_reported(plan, list, &count, plan->best[i]);
    for (int m = 0; m < methods; m++)
        add_reported(plan, list, &count, plan->best_of_method[m]);
    for (int i = 0; i < plan->front_count; i++)
        add_reported(plan, list, &count, plan->front[i]);
    add_reported(plan, list, &count, plan->nearest);
    status = count == 0 ? PSIM_OK : psim_plan_confirm(plan, list, count, workers, err);
    *confirmed = count;
    psim_free(list);
    return status;
}

/*
 * A plan that simgrid was run on counts by simgrid's figures from then on, so that one that sharing
 * links slows down falls behind, or breaks a limit, and others come up that replay alone knows.
 * Once nothing reported is left to run, the answer is what simgrid on every plan would give, as far
 * as no message gains by sharing.
 */
static enum psim_status search_and_confirm(struct psim_plan *plan, int workers,
                                           struct psim_error *err)
{
    enum psim_status status = PSIM_OK;
    int confirmed = 1;

    for (int round = 0; round < ROUNDS && confirmed > 0 && status == PSIM_OK; round++) {
        status = psim_plan_search(plan, err);
        if (status == PSIM_OK)
            status = confirm(plan, workers, &confirmed, err);
    }
    return status;
}

bool psim_plan_is_feasible(const struct psim_plan *plan, int64_t point)
{
    const struct psim_plan_figures *figures = psim_plan_figures_of(plan, point);

    for (int i = 0; i < PSIM_LIMITS; i++) {
        if (psim_plan_limits(plan->goal, i) && psim_plan_violation(plan->goal, figures, i) > 0)
            return false;
    }
    return true;
}

enum psim_status psim_plan_run(const struct psim_goal *goal,
                               const struct psim_plan_options *options, struct psim_plan *out,
                               struct psim_error *err)
{
    struct psim_plan plan = {.arena = PSIM_ARENA_INIT,
                             .goal = goal,
                             .reserve = reserve_of(&goal->reserve),
                             .unsupported = "",
                             .exhaustive = options->exhaustive,
                             .nearest = -1};
    enum psim_status status = psim_plan_space(&plan, err);

    if (status == PSIM_OK)
        status = options->confirm ? search_and_confirm(&plan, options->workers, err)
                                  : psim_plan_search(&plan, err);
    if (status == PSIM_OK && plan.best_count > 0)
        status = psim_plan_search_gpus(&plan, err);
    if (status == PSIM_OK)
        sort_front(&plan);
    if (status == PSIM_OK)
        *out = plan;
    else
        psim_plan_release(&plan);
    return status;
}

void psim_plan_release(struct psim_plan *plan)
{
    psim_free(plan->points);
    psim_free(plan->evaluations);
    psim_arena_release(&plan->arena);
    *plan = (struct psim_plan){.arena = PSIM_ARENA_INIT};
}

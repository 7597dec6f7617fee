/*
 * Best-first search over bounded plans.
 *
 * Plans are looked at in the order of the bound on what is sought; once the bound is above what the
 * wanted number of replayed plans reach, no later plan can be among them, whatever the engines
 * would say (docs/model.md eq. 38).
 */
#include "sim/base/memory.h"
#include "sim/plan/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum psim_status no_memory(struct psim_error *err)
{
    return psim_fail(err, PSIM_ERR_NOMEM, "plan", "out of memory");
}

/* ---- Limits ---- */

bool psim_plan_limits(const struct psim_goal *goal, int limit)
{
    return limit == PSIM_LIMIT_CAPACITY || !isnan(goal->limits[limit]);
}

double psim_plan_value(const struct psim_goal *goal, const struct psim_plan_figures *f, int limit)
{
    const double epoch = goal->base.epoch_samples > 0 ? (double)goal->base.epoch_samples : NAN;
    const double all = epoch * (double)goal->epochs;

    switch (limit) {
    case PSIM_CONSTRAINT_THROUGHPUT:
        return 1 / f->seconds_per_sample;
    case PSIM_CONSTRAINT_EPOCH_TIME:
        return f->seconds_per_sample * epoch;
    case PSIM_CONSTRAINT_DEADLINE:
        return f->seconds_per_sample * all;
    case PSIM_CONSTRAINT_MEMORY:
        return f->memory_bytes;
    case PSIM_CONSTRAINT_COST:
        return f->usd_per_sample * all;
    case PSIM_CONSTRAINT_ENERGY:
        return f->joule_per_sample * all;
    case PSIM_CONSTRAINT_POWER:
        return f->power_w;
    case PSIM_CONSTRAINT_STALENESS:
        return f->staleness;
    case PSIM_CONSTRAINT_GPUS:
        return f->gpus;
    case PSIM_CONSTRAINT_LEAST_SAMPLES:
    case PSIM_CONSTRAINT_MOST_SAMPLES:
        return f->samples_per_update;
    default:
        return f->fill;
    }
}

double psim_plan_violation(const struct psim_goal *goal, const struct psim_plan_figures *figures,
                           int limit)
{
    const double value = psim_plan_value(goal, figures, limit);
    const double bound = limit == PSIM_LIMIT_CAPACITY ? 1 : goal->limits[limit];
    const bool at_least =
        limit == PSIM_CONSTRAINT_THROUGHPUT || limit == PSIM_CONSTRAINT_LEAST_SAMPLES;

    if (isnan(value))
        return INFINITY;
    if (at_least)
        return value >= bound ? 0 : bound / value - 1;
    if (value <= bound)
        return 0;
    return bound > 0 ? value / bound - 1 : value;
}

/* Limits that are looked at, by their bits. */
typedef unsigned limit_set;

static limit_set limits_of(const struct psim_goal *goal)
{
    limit_set set = 0;

    for (int i = 0; i < PSIM_LIMITS; i++)
        set |= psim_plan_limits(goal, i) ? 1u << i : 0;
    return set;
}

static double violation(const struct psim_goal *goal, const struct psim_plan_figures *figures,
                        limit_set set)
{
    double sum = 0;

    for (int i = 0; i < PSIM_LIMITS; i++)
        sum += set & 1u << i ? psim_plan_violation(goal, figures, i) : 0;
    return sum;
}

/* ---- Objectives ---- */

void psim_plan_key(const struct psim_plan *plan, const struct psim_plan_figures *f, double key[3])
{
    double first = f->seconds_per_sample;

    switch (plan->goal->objective) {
    case PSIM_OBJECTIVE_CHEAPEST:
        first = f->usd_per_sample;
        break;
    case PSIM_OBJECTIVE_FEWEST_GPUS:
        first = f->gpus;
        break;
    case PSIM_OBJECTIVE_LARGEST_MODEL:
        first = -f->parameters;
        break;
    case PSIM_OBJECTIVE_LARGEST_BATCH:
        first = -f->microbatch;
        break;
    case PSIM_OBJECTIVE_LEAST_MEMORY:
        first = f->memory_bytes;
        break;
    case PSIM_OBJECTIVE_LEAST_BANDWIDTH:
        first = f->bandwidth_bytes_per_s;
        break;
    case PSIM_OBJECTIVE_LEAST_ENERGY:
        first = f->joule_per_sample;
        break;
    default:
        break;
    }
    key[0] = isnan(first) ? INFINITY : first;
    key[1] = f->seconds_per_sample;
    key[2] = f->gpus;
}

static int compare_keys(const double a[3], const double b[3])
{
    for (int i = 0; i < 3; i++) {
        if (a[i] < b[i] || a[i] > b[i])
            return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

/* ---- Best-first ---- */

/* A plan to be looked at, with what it cannot be below. */
struct candidate {
    double key[3];
    int64_t point;
};

static int compare_candidates(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    const int order = compare_keys(x->key, y->key);

    return order != 0 ? order : (x->point > y->point) - (x->point < y->point);
}

/* The best found so far, sorted; at most `wanted`. */
struct best_list {
    struct candidate *items;
    int count, wanted;
};

static void take(struct best_list *best, const struct candidate *found)
{
    int at = best->count;

    if (best->count == best->wanted && compare_candidates(found, &best->items[at - 1]) >= 0)
        return;
    if (best->count < best->wanted)
        best->count++;
    at = best->count - 1;
    while (at > 0 && compare_candidates(found, &best->items[at - 1]) < 0) {
        best->items[at] = best->items[at - 1];
        at--;
    }
    best->items[at] = *found;
}

/* What is sought: the plans with the smallest keys. */
struct search {
    struct psim_plan *plan;
    limit_set limits;
    bool by_violation; /* the key is the violation of the limits, else the objective */
    int method;        /* of this method alone; -1: any */
    int gpus;          /* on so many devices alone; 0: any.  The key is then the time */
};

static void key_of(const struct search *s, const struct psim_plan_figures *figures, double key[3])
{
    if (s->by_violation) {
        key[0] = violation(s->plan->goal, figures, s->limits);
        key[1] = figures->seconds_per_sample;
        key[2] = figures->gpus;
    } else if (s->gpus > 0) {
        key[0] = key[1] = figures->seconds_per_sample;
        key[2] = 0;
    } else {
        psim_plan_key(s->plan, figures, key);
    }
}

/* A bound's unknown figures break nothing. */
static struct psim_plan_figures optimistic(const struct psim_plan_figures *bound)
{
    struct psim_plan_figures f = *bound;

    f.usd_per_sample = isnan(f.usd_per_sample) ? 0 : f.usd_per_sample;
    return f;
}

/* Candidates in the order of their bounds; those that a bound rules out are counted, not taken. */
static enum psim_status line_up(struct search *s, struct candidate **out, int64_t *count,
                                struct psim_error *err)
{
    const struct psim_plan *plan = s->plan;
    struct candidate *list = psim_alloc((size_t)plan->point_count, sizeof *list);

    *count = 0;
    if (list == NULL)
        return no_memory(err);
    for (int64_t i = 0; i < plan->point_count; i++) {
        const struct psim_plan_figures bound = optimistic(&plan->points[i].bound);

        if ((s->method >= 0 && plan->points[i].method != s->method) ||
            (s->gpus > 0 && (int)bound.gpus != s->gpus) ||
            (!s->by_violation && !plan->exhaustive && violation(plan->goal, &bound, s->limits) > 0))
            continue;
        list[*count].point = i;
        key_of(s, &bound, list[(*count)++].key);
    }
    qsort(list, (size_t)*count, sizeof *list, compare_candidates);
    *out = list;
    return PSIM_OK;
}

static enum psim_status run_search(struct search *s, struct best_list *best, struct psim_error *err)
{
    struct psim_plan *plan = s->plan;
    struct candidate *list = NULL;
    int64_t count;
    enum psim_status status = line_up(s, &list, &count, err);

    best->count = 0;
    for (int64_t i = 0; i < count && status == PSIM_OK; i++) {
        const struct psim_plan_figures *figures;
        struct candidate found = {.point = list[i].point};

        if (!plan->exhaustive && best->count == best->wanted &&
            compare_keys(list[i].key, best->items[best->count - 1].key) > 0)
            break;
        status = psim_plan_replay(plan, list[i].point, err);
        figures = status == PSIM_OK ? psim_plan_figures_of(plan, list[i].point) : NULL;
        if (status != PSIM_OK || isnan(figures->seconds_per_sample) ||
            (!s->by_violation && violation(plan->goal, figures, s->limits) > 0))
            continue;
        key_of(s, figures, found.key);
        take(best, &found);
    }
    psim_free(list);
    return status;
}

/* ---- The front of time, money and memory ---- */

struct costs {
    double seconds, money, memory;
};

static struct costs costs_of(const struct psim_plan_figures *f, bool priced)
{
    return (struct costs){f->seconds_per_sample,
                          priced ? f->usd_per_sample : f->seconds_per_sample * f->gpus,
                          f->memory_bytes};
}

/* Plans of the front are this far apart in some cost: nearer ones are not worth the reading. */
#define FRONT_STEP 0.1

/* More than these are not read, and each is confirmed: the step is widened until they are few. */
#define FRONT_MOST 12

/* True when `a` is as good as `b` in all costs, to a step. */
static bool covers(const struct costs *a, const struct costs *b, double step)
{
    const double room = 1 + step;

    return a->seconds <= room * b->seconds && a->money <= room * b->money &&
           a->memory <= room * b->memory;
}

static bool dominates(const struct costs *a, const struct costs *b)
{
    return a->seconds <= b->seconds && a->money <= b->money && a->memory <= b->memory &&
           (a->seconds < b->seconds || a->money < b->money || a->memory < b->memory);
}

bool psim_plan_is_priced(const struct psim_plan *plan)
{
    for (int p = 0; p < plan->goal->platform_count; p++) {
        if (isnan(psim_study_hourly_usd(&plan->goal->platforms[p].platform, 1)))
            return false;
    }
    return true;
}

struct front {
    struct costs *costs;
    int64_t *points;
    int count, capacity;
};

static bool is_covered(const struct front *front, const struct costs *costs)
{
    for (int i = 0; i < front->count; i++) {
        if (covers(&front->costs[i], costs, FRONT_STEP))
            return true;
    }
    return false;
}

static enum psim_status join_front(struct front *front, const struct costs *costs, int64_t point,
                                   struct psim_error *err)
{
    int kept = 0;

    for (int i = 0; i < front->count; i++) {
        if (dominates(costs, &front->costs[i]))
            continue;
        front->costs[kept] = front->costs[i];
        front->points[kept++] = front->points[i];
    }
    front->count = kept;
    if (front->count == front->capacity) {
        const int capacity = front->capacity == 0 ? 64 : 2 * front->capacity;
        struct costs *list = psim_realloc(front->costs, (size_t)capacity, sizeof *list);
        int64_t *points;

        if (list == NULL)
            return no_memory(err);
        front->costs = list;
        points = psim_realloc(front->points, (size_t)capacity, sizeof *points);
        if (points == NULL)
            return no_memory(err);
        front->points = points;
        front->capacity = capacity;
    }
    front->costs[front->count] = *costs;
    front->points[front->count++] = point;
    return PSIM_OK;
}

static void thin_front(struct front *front)
{
    for (double step = 2 * FRONT_STEP; front->count > FRONT_MOST; step *= 1.5) {
        int kept = 0;

        for (int i = 0; i < front->count; i++) {
            bool covered = false;

            for (int k = 0; k < kept; k++)
                covered = covered || covers(&front->costs[k], &front->costs[i], step);
            if (covered)
                continue;
            front->costs[kept] = front->costs[i];
            front->points[kept++] = front->points[i];
        }
        front->count = kept;
    }
}

/* By the bound on time, so that what dominates others is found early. */
static enum psim_status find_front(struct psim_plan *plan, struct psim_error *err)
{
    const bool priced = psim_plan_is_priced(plan);
    struct search s = {.plan = plan, .limits = limits_of(plan->goal), .method = -1};
    struct front front = {0};
    struct candidate *list = NULL;
    int64_t count;
    enum psim_status status = line_up(&s, &list, &count, err);

    for (int64_t i = 0; i < count && status == PSIM_OK; i++) {
        const struct psim_plan_figures *f = &plan->points[list[i].point].bound;

        list[i].key[0] = f->seconds_per_sample;
        list[i].key[1] = f->gpus;
        list[i].key[2] = f->memory_bytes;
    }
    if (status == PSIM_OK)
        qsort(list, (size_t)count, sizeof *list, compare_candidates);
    for (int64_t i = 0; i < count && status == PSIM_OK; i++) {
        const struct costs bound = costs_of(&plan->points[list[i].point].bound, priced);
        struct costs costs;

        if (!plan->exhaustive && is_covered(&front, &bound))
            continue;
        status = psim_plan_replay(plan, list[i].point, err);
        if (status != PSIM_OK)
            break;
        costs = costs_of(psim_plan_figures_of(plan, list[i].point), priced);
        if (violation(plan->goal, psim_plan_figures_of(plan, list[i].point), s.limits) > 0 ||
            isnan(costs.seconds) || is_covered(&front, &costs))
            continue;
        status = join_front(&front, &costs, list[i].point, err);
    }
    thin_front(&front);
    plan->front = psim_arena_alloc(&plan->arena, (size_t)front.count, sizeof *plan->front);
    if (status == PSIM_OK && plan->front == NULL)
        status = no_memory(err);
    for (int i = 0; status == PSIM_OK && i < front.count; i++)
        plan->front[plan->front_count++] = front.points[i];
    psim_free(front.costs);
    psim_free(front.points);
    psim_free(list);
    return status;
}

/* ---- Where nothing is feasible ---- */

/* True when some plan meets all limits of the set. */
static enum psim_status is_feasible(struct psim_plan *plan, limit_set set, bool *feasible,
                                    struct psim_error *err)
{
    struct candidate item;
    struct best_list best = {&item, 0, 1};
    struct search s = {.plan = plan, .limits = set, .by_violation = true, .method = -1};
    enum psim_status status = PSIM_OK;

    if (set == 0) {
        *feasible = plan->point_count > 0;
        return PSIM_OK;
    }
    status = run_search(&s, &best, err);
    *feasible = best.count == 1 && !(item.key[0] > 0);
    return status;
}

/* Leaves out limits one by one while what is left cannot be met: what remains is minimal. */
static enum psim_status find_conflict(struct psim_plan *plan, struct psim_error *err)
{
    limit_set set = limits_of(plan->goal);
    enum psim_status status = PSIM_OK;

    for (int i = 0; i < PSIM_LIMITS && status == PSIM_OK; i++) {
        bool feasible = false;

        if (!(set & 1u << i))
            continue;
        status = is_feasible(plan, set & ~(1u << i), &feasible, err);
        set &= feasible ? ~0u : ~(1u << i);
    }
    for (int i = 0; i < PSIM_LIMITS; i++)
        plan->conflict[i] = (set & 1u << i) != 0;
    return status;
}

static enum psim_status find_nearest(struct psim_plan *plan, struct psim_error *err)
{
    struct candidate item;
    struct best_list best = {&item, 0, 1};
    struct search s = {
        .plan = plan, .limits = limits_of(plan->goal), .by_violation = true, .method = -1};
    enum psim_status status = run_search(&s, &best, err);

    plan->nearest = best.count == 1 ? item.point : -1;
    if (status != PSIM_OK || plan->point_count == 0)
        return status;
    return find_conflict(plan, err);
}

/* ---- All of it ---- */

static void count_discarded(struct psim_plan *plan)
{
    const struct psim_goal *goal = plan->goal;
    const limit_set all = limits_of(goal);

    plan->counts.over_memory = plan->counts.over_limit = plan->counts.dominated = 0;
    for (int64_t i = 0; i < plan->point_count; i++) {
        const struct psim_plan_figures bound = optimistic(&plan->points[i].bound);

        if (plan->points[i].evaluation >= 0)
            continue;
        if (psim_plan_violation(goal, &bound, PSIM_LIMIT_CAPACITY) > 0)
            plan->counts.over_memory++;
        else if (violation(goal, &bound, all) > 0)
            plan->counts.over_limit++;
        else
            plan->counts.dominated++;
    }
}

static enum psim_status find_best_of_methods(struct psim_plan *plan, struct psim_error *err)
{
    const int methods = plan->goal->base.method_count;
    enum psim_status status = PSIM_OK;

    plan->best_of_method =
        psim_arena_alloc(&plan->arena, (size_t)methods, sizeof *plan->best_of_method);
    if (plan->best_of_method == NULL)
        return no_memory(err);
    for (int m = 0; m < methods && status == PSIM_OK; m++) {
        struct candidate item;
        struct best_list best = {&item, 0, 1};
        struct search s = {.plan = plan, .limits = limits_of(plan->goal), .method = m};

        status = run_search(&s, &best, err);
        plan->best_of_method[m] = best.count == 1 ? item.point : -1;
    }
    return status;
}

/* The space says which numbers there are. */
enum psim_status psim_plan_search_gpus(struct psim_plan *plan, struct psim_error *err)
{
    int most = 0;
    bool *there;
    enum psim_status status = PSIM_OK;

    for (int64_t i = 0; i < plan->point_count; i++) {
        const int gpus = (int)plan->points[i].bound.gpus;

        most = gpus > most ? gpus : most;
    }
    there = psim_alloc((size_t)most + 1, sizeof *there);
    plan->by_gpus = psim_arena_alloc(&plan->arena, (size_t)most + 1, sizeof *plan->by_gpus);
    if (there == NULL || plan->by_gpus == NULL)
        status = no_memory(err);
    for (int64_t i = 0; status == PSIM_OK && i < plan->point_count; i++)
        there[(int)plan->points[i].bound.gpus] = true;
    for (int n = 1; n <= most && status == PSIM_OK; n++) {
        struct candidate item;
        struct best_list best = {&item, 0, 1};
        struct search s = {.plan = plan, .limits = limits_of(plan->goal), .method = -1, .gpus = n};

        if (!there[n])
            continue;
        status = run_search(&s, &best, err);
        if (best.count == 1)
            plan->by_gpus[plan->by_gpus_count++] = item.point;
    }
    psim_free(there);
    count_discarded(plan);
    return status;
}

enum psim_status psim_plan_search(struct psim_plan *plan, struct psim_error *err)
{
    struct best_list best = {.wanted = 1 + (int)plan->goal->runners_up};
    struct search s = {.plan = plan, .limits = limits_of(plan->goal), .method = -1};
    enum psim_status status;

    plan->nearest = -1;
    plan->best_count = plan->front_count = 0;
    best.items = psim_alloc((size_t)best.wanted, sizeof *best.items);
    plan->best = psim_arena_alloc(&plan->arena, (size_t)best.wanted, sizeof *plan->best);
    status = best.items == NULL || plan->best == NULL ? no_memory(err) : PSIM_OK;
    if (status == PSIM_OK)
        status = run_search(&s, &best, err);
    for (int i = 0; i < best.count; i++)
        plan->best[plan->best_count++] = best.items[i].point;
    psim_free(best.items);
    if (status == PSIM_OK)
        status = find_best_of_methods(plan, err);
    if (status == PSIM_OK)
        status = plan->best_count > 0 ? find_front(plan, err) : find_nearest(plan, err);
    count_discarded(plan);
    return status;
}

/* A plan's answer as a report: the best, its rivals, the front, and what stands in the way. */
#include "sim/base/memory.h"
#include "sim/base/text.h"
#include "sim/plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const struct psim_sheet_column columns[] = {
    {"role", "", "role", "", PSIM_QUANTITY_TEXT},
    {"method", "", "method", "", PSIM_QUANTITY_TEXT},
    {"model", "", "model", "", PSIM_QUANTITY_TEXT},
    {"platform", "", "platform", "", PSIM_QUANTITY_TEXT},
    {"gpus", "", "GPUs", "", PSIM_QUANTITY_COUNT},
    {"stages", "", "stages", "", PSIM_QUANTITY_COUNT},
    {"replicas", "", "copies", "", PSIM_QUANTITY_COUNT},
    {"placement", "", "placement", "", PSIM_QUANTITY_TEXT},
    {"microbatch", "", "micro-_batch", "", PSIM_QUANTITY_COUNT},
    {"accumulation", "", "accumu-_lation", "", PSIM_QUANTITY_COUNT},
    {"parameters", "", "parameters", "", PSIM_QUANTITY_NUMBER},
    {"samples_per_s", "samples per s", "replay", "", PSIM_QUANTITY_NUMBER},
    {"samples_per_s_simgrid", "samples per s", "simgrid",
     "confirmed by the engine that shares links", PSIM_QUANTITY_NUMBER},
    {"device_bytes", "memory", "fullest_device", "as the system sees it, reserve included",
     PSIM_QUANTITY_MEMORY},
    {"fill", "memory", "of its_capacity", "", PSIM_QUANTITY_SHARE},
    {"usd_per_sample", "per sample", "money", "", PSIM_QUANTITY_MONEY},
    {"joule_per_sample", "per sample", "energy", "", PSIM_QUANTITY_ENERGY},
    {"time_s", "all epochs", "time", "", PSIM_QUANTITY_SECONDS},
    {"usd", "all epochs", "money", "", PSIM_QUANTITY_MONEY},
    {"power_w", "", "power_(W)", "", PSIM_QUANTITY_NUMBER},
    {"bandwidth_bytes_per_s", "", "bandwidth_a second",
     "bytes that the busiest boundary of stages carries a second, both ways",
     PSIM_QUANTITY_TRAFFIC},
    {"staleness_microbatches", "", "staleness", "", PSIM_QUANTITY_COUNT},
    {"limited_by", "", "limited by", "", PSIM_QUANTITY_TEXT},
};

enum { COLUMNS = sizeof columns / sizeof columns[0], SHEETS = 4, FACTS = 10 };

static struct psim_sheet_value text(const char *value)
{
    return (struct psim_sheet_value){NAN, value};
}

static struct psim_sheet_value number(double value)
{
    return (struct psim_sheet_value){value, NULL};
}

static double samples_per_s(const struct psim_plan_figures *f)
{
    return 1 / f->seconds_per_sample;
}

static void put_plan(const struct psim_plan *plan, int64_t at, const char *role,
                     struct psim_sheet_value out[COLUMNS])
{
    const struct psim_goal *goal = plan->goal;
    const struct psim_plan_point *point = &plan->points[at];
    const struct psim_plan_evaluation *evaluation = &plan->evaluations[point->evaluation];
    const struct psim_plan_figures *f = psim_plan_figures_of(plan, at);
    const struct psim_sheet_value values[COLUMNS] = {
        text(role),
        text(goal->base.methods[point->method].label),
        text(goal->models[point->model].model->name),
        text(goal->platforms[point->platform].platform.name),
        number(f->gpus),
        number(point->stages),
        number(point->replicas),
        text(point->replicas_first
                 ? "copies of a stage side by side"
                 : plan->platforms[point->platform].arrangements[point->arrangement].name),
        number((double)point->microbatch),
        number((double)point->accumulation),
        number(f->parameters),
        number(samples_per_s(&evaluation->replayed)),
        number(evaluation->is_confirmed ? samples_per_s(&evaluation->confirmed) : NAN),
        number(f->memory_bytes),
        number(f->fill),
        number(f->usd_per_sample),
        number(f->joule_per_sample),
        number(psim_plan_value(goal, f, PSIM_CONSTRAINT_DEADLINE)),
        number(psim_plan_value(goal, f, PSIM_CONSTRAINT_COST)),
        number(f->power_w),
        number(f->bandwidth_bytes_per_s),
        number(f->staleness),
        text(evaluation->error != NULL ? evaluation->error : evaluation->bottleneck),
    };

    memcpy(out, values, sizeof values);
}

/* ---- Limits as sentences ---- */

static const char *limit_text(struct psim_plan *plan, int limit, double value)
{
    struct psim_arena *arena = &plan->arena;

    switch (limit) {
    case PSIM_CONSTRAINT_THROUGHPUT:
        return psim_arena_printf(arena, "%.6g samples/s", value);
    case PSIM_CONSTRAINT_EPOCH_TIME:
    case PSIM_CONSTRAINT_DEADLINE:
        return value >= 3600 ? psim_arena_printf(arena, "%.4g h", value / 3600)
                             : psim_arena_printf(arena, "%.4g s", value);
    case PSIM_CONSTRAINT_MEMORY:
        return psim_quantity_text(arena, PSIM_QUANTITY_MEMORY, value);
    case PSIM_CONSTRAINT_COST:
        return psim_arena_printf(arena, "%.6g USD", value);
    case PSIM_CONSTRAINT_ENERGY:
        return psim_arena_printf(arena, "%.4g kWh", value / 3.6e6);
    case PSIM_CONSTRAINT_POWER:
        return psim_arena_printf(arena, "%.6g W", value);
    case PSIM_LIMIT_CAPACITY:
        return psim_arena_printf(arena, "%.1f %% of the device's memory", 100 * value);
    default:
        return psim_arena_printf(arena, "%.6g", value);
    }
}

static const char *limit_name(int limit)
{
    return limit == PSIM_LIMIT_CAPACITY ? "memory of the devices" : psim_constraint_names[limit];
}

/* "deadline 1 h and gpus 2". */
static const char *conflict_text(struct psim_plan *plan)
{
    const char *result = "";

    for (int i = 0; i < PSIM_LIMITS && result != NULL; i++) {
        const char *value;

        if (!plan->conflict[i])
            continue;
        value = i == PSIM_LIMIT_CAPACITY ? "" : limit_text(plan, i, plan->goal->limits[i]);
        result = value == NULL ? NULL
                               : psim_arena_printf(&plan->arena, "%s%s%s%s%s", result,
                                                   result[0] == '\0' ? "" : " and ", limit_name(i),
                                                   value[0] == '\0' ? "" : " ", value);
    }
    return result;
}

/* "deadline: 3.2 h instead of 1 h". */
static const char *violations_text(struct psim_plan *plan, int64_t at)
{
    const struct psim_plan_figures *f = psim_plan_figures_of(plan, at);
    const char *result = "";

    for (int i = 0; i < PSIM_LIMITS && result != NULL; i++) {
        const char *is, *want;

        if (!psim_plan_limits(plan->goal, i) || !(psim_plan_violation(plan->goal, f, i) > 0))
            continue;
        is = limit_text(plan, i, psim_plan_value(plan->goal, f, i));
        want = limit_text(plan, i, i == PSIM_LIMIT_CAPACITY ? 1 : plan->goal->limits[i]);
        result = is == NULL || want == NULL
                     ? NULL
                     : psim_arena_printf(&plan->arena, "%s%s%s: %s instead of %s", result,
                                         result[0] == '\0' ? "" : "; ", limit_name(i), is, want);
    }
    return result;
}

/* ---- Sheets and facts ---- */

static const char *describe(struct psim_plan *plan, int64_t at)
{
    const struct psim_plan_point *point = &plan->points[at];
    const struct psim_goal *goal = plan->goal;

    return psim_arena_printf(
        &plan->arena,
        "%s, %s in %d stages%s on %d of %s, micro-batch %" PRId64 " x %" PRId64
        ": %.6g samples/s%s",
        goal->base.methods[point->method].label, goal->models[point->model].model->name,
        point->stages,
        point->replicas == 1 ? ""
                             : psim_arena_printf(&plan->arena, " x %d copies", point->replicas),
        point->stages * point->replicas, goal->platforms[point->platform].platform.name,
        point->microbatch, point->accumulation, samples_per_s(psim_plan_figures_of(plan, at)),
        plan->evaluations[point->evaluation].is_confirmed ? "" : " (replay alone)");
}

static const char *headline(struct psim_plan *plan)
{
    const char *objective = psim_objective_names[plan->goal->objective], *what;

    if (plan->best_count > 0 && psim_plan_is_feasible(plan, plan->best[0])) {
        what = describe(plan, plan->best[0]);
        return what == NULL ? NULL : psim_arena_printf(&plan->arena, "%s: %s", objective, what);
    }
    if (plan->point_count == 0)
        return psim_arena_printf(&plan->arena, "unsupported: %s", plan->unsupported);
    if (plan->nearest < 0)
        return psim_arena_printf(&plan->arena,
                                 "infeasible: a plan was found by replay, but messages "
                                 "that share links make it break a limit");
    what = conflict_text(plan);
    return what == NULL ? NULL
                        : psim_arena_printf(&plan->arena, "infeasible: no plan meets %s", what);
}

static bool add_fact(struct psim_sheet_fact *facts, int *count, const char *key, const char *title,
                     const char *value)
{
    if (value == NULL)
        return false;
    facts[(*count)++] = (struct psim_sheet_fact){key, title, value};
    return true;
}

static bool fill_facts(struct psim_plan *plan, struct psim_sheet_fact *facts, int *count)
{
    const struct psim_plan_counts *c = &plan->counts;
    const char *counted = psim_arena_printf(
        &plan->arena,
        "%" PRId64 " plans: %" PRId64 " unsupported, %" PRId64 " over memory and %" PRId64
        " over a limit by a bound, %" PRId64 " behind others by a bound, %" PRId64
        " replayed, %" PRId64 " confirmed by simgrid",
        c->plans, c->unsupported, c->over_memory, c->over_limit, c->dominated, c->replayed,
        c->confirmed);
    bool ok = add_fact(facts, count, "objective", "objective",
                       psim_objective_names[plan->goal->objective]);

    for (int i = 0; ok && plan->best_count > 0 && i < 1; i++)
        ok = add_fact(facts, count, "limited_by", "limited by",
                      plan->evaluations[plan->points[plan->best[0]].evaluation].bottleneck);
    if (ok && plan->nearest >= 0) {
        ok = add_fact(facts, count, "nearest", "nearest", describe(plan, plan->nearest));
        ok = ok &&
             add_fact(facts, count, "violates", "violates", violations_text(plan, plan->nearest));
        ok = ok && add_fact(facts, count, "conflict", "conflict", conflict_text(plan));
    }
    if (ok && plan->unsupported[0] != '\0')
        ok = add_fact(facts, count, "unsupported", "unsupported", plan->unsupported);
    return ok && add_fact(facts, count, "space", "space", counted);
}

/* What the price of a plan is of, and what is behind its figures. */
static bool fill_notes(struct psim_plan *plan, const char **notes, int *count)
{
    const char *date = "";

    for (int64_t i = 0; i < plan->evaluation_count; i++) {
        const char *of = plan->evaluations[i].price_date;

        if (of[0] != '\0' && (date[0] == '\0' || strcmp(of, date) < 0))
            date = of;
    }
    if (date[0] != '\0') {
        notes[*count] = psim_arena_printf(&plan->arena, "prices of %s", date);
        if (notes[(*count)++] == NULL)
            return false;
    }
    if (!psim_plan_is_priced(plan))
        notes[(*count)++] =
            "a price is not known: the front counts seconds of a GPU instead of money";
    notes[(*count)++] = "replay knows no contention; plans are ordered by simgrid's figure where "
                        "it ran, which it did "
                        "on all but those by GPUs, and times, money and memory are simgrid's";
    return true;
}

static bool fill_sheet(struct psim_plan *plan, struct psim_sheet *sheet, const char *key,
                       const char *title, const int64_t *points, const char *const *roles,
                       int count)
{
    struct psim_sheet_value *values =
        psim_arena_alloc(&plan->arena, (size_t)count * COLUMNS, sizeof *values);
    int rows = 0;

    for (int i = 0; values != NULL && i < count; i++) {
        if (points[i] >= 0)
            put_plan(plan, points[i], roles[i], &values[COLUMNS * rows++]);
    }
    *sheet = (struct psim_sheet){key, title, columns, COLUMNS, values, rows};
    return values != NULL;
}

static bool fill_sheets(struct psim_plan *plan, struct psim_sheet *sheets)
{
    const int methods = plan->goal->base.method_count;
    const int room = plan->best_count + methods + plan->front_count + plan->by_gpus_count + 1;
    const char **roles = psim_arena_alloc(&plan->arena, (size_t)room, sizeof *roles);
    bool ok = roles != NULL;

    for (int i = 0; ok && i < plan->best_count; i++)
        roles[i] = i == 0 ? "best" : "runner-up";
    if (plan->best_count > 0) {
        ok = ok && fill_sheet(plan, &sheets[0], "plans", "Best plan and runners-up", plan->best,
                              roles, plan->best_count);
    } else {
        if (ok)
            roles[0] = "nearest";
        ok = ok && fill_sheet(plan, &sheets[0], "plans", "Nearest plan", &plan->nearest, roles, 1);
    }
    for (int i = 0; ok && i < room; i++)
        roles[i] = "best of its method";
    ok = ok && fill_sheet(plan, &sheets[1], "best_of_methods", "Best plan of each method",
                          plan->best_of_method, roles, methods);
    for (int i = 0; ok && i < room; i++)
        roles[i] = "front";
    ok = ok && fill_sheet(plan, &sheets[2], "front",
                          psim_plan_is_priced(plan) ? "Front of time, money and memory"
                                                    : "Front of time, GPU time and memory",
                          plan->front, roles, plan->front_count);
    for (int i = 0; ok && i < room; i++)
        roles[i] = "fastest of its GPUs";
    return ok && fill_sheet(plan, &sheets[3], "by_gpus", "Fastest plan for so many GPUs, by replay",
                            plan->by_gpus, roles, plan->by_gpus_count);
}

enum psim_status psim_plan_report(struct psim_plan *plan, struct psim_sheet_report *out,
                                  struct psim_error *err)
{
    struct psim_sheet *sheets = psim_arena_alloc(&plan->arena, SHEETS, sizeof *sheets);
    struct psim_sheet_fact *facts = psim_arena_alloc(&plan->arena, FACTS, sizeof *facts);
    const char **notes = psim_arena_alloc(&plan->arena, 4, sizeof *notes);
    const char *first = headline(plan);
    int fact_count = 0, note_count = 0;

    if (sheets == NULL || facts == NULL || notes == NULL || first == NULL ||
        !fill_facts(plan, facts, &fact_count) || !fill_notes(plan, notes, &note_count) ||
        !fill_sheets(plan, sheets))
        return psim_fail(err, PSIM_ERR_NOMEM, "plan", "out of memory");
    *out = (struct psim_sheet_report){"planned/1", first,  facts, fact_count,
                                      sheets,      SHEETS, notes, note_count};
    return PSIM_OK;
}

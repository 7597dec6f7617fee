/*
 * Reads a method's steps at each stage as counts.
 *
 * What is in flight at a stage depends on the stage's own order alone: a step starts when the one
 * before it is over, whatever the dates.
 */
#include "sim/base/memory.h"
#include "sim/plan/bound.h"

#include <string.h>

/* A micro-batch between its forward and its backward. */
struct flight {
    int64_t microbatch, version;
    enum psim_keep keep;
    bool rebuilt;
};

struct reading {
    const struct psim_method *method;
    const struct psim_shape *shape;
    int stage;
    bool stash, reversible;
    struct flight *flights; /* in the order of their forwards */
    int first, count, capacity;
    int64_t version, graphs, inputs, rebuilt, most;
    struct psim_order_stage *out;
    bool failed, full; /* out of memory; too many kinds */
};

static struct flight *find_flight(struct reading *r, int64_t microbatch)
{
    struct flight *list = r->flights + r->first;

    if (r->count > 0 && list[0].microbatch == microbatch)
        return list;
    for (int i = r->count - 1; i >= 0; i--) {
        if (list[i].microbatch == microbatch)
            return &list[i];
    }
    return NULL;
}

static void push_flight(struct reading *r, int64_t microbatch, enum psim_keep keep)
{
    if (r->first + r->count == r->capacity) {
        const int capacity = r->count * 2 < r->capacity ? r->capacity : 2 * r->capacity + 16;
        struct flight *flights = psim_alloc((size_t)capacity, sizeof *flights);

        if (flights == NULL) {
            r->failed = true;
            return;
        }
        if (r->count > 0)
            memcpy(flights, r->flights + r->first, (size_t)r->count * sizeof *flights);
        psim_free(r->flights);
        r->flights = flights;
        r->first = 0;
        r->capacity = capacity;
    }
    r->flights[r->first + r->count++] = (struct flight){microbatch, r->version, keep, false};
    r->graphs += keep == PSIM_KEEP_GRAPH ? 1 : 0;
    r->inputs += keep == PSIM_KEEP_INPUT ? 1 : 0;
}

static void pop_flight(struct reading *r, struct flight *flight)
{
    struct flight *list = r->flights + r->first;

    r->graphs -= flight->keep == PSIM_KEEP_GRAPH ? 1 : 0;
    r->inputs -= flight->keep == PSIM_KEEP_INPUT ? 1 : 0;
    r->rebuilt -= flight->rebuilt ? 1 : 0;
    if (flight == list)
        r->first++;
    else
        memmove(flight, flight + 1, (size_t)(list + r->count - flight - 1) * sizeof *flight);
    r->count--;
}

/* Old versions that micro-batches in flight have read; `without` (may be NULL) is not looked at. */
static int64_t old_versions(const struct reading *r, const struct flight *without)
{
    int64_t count = 0, last = -1;

    for (int i = 0; r->stash && i < r->count; i++) {
        const struct flight *flight = &r->flights[r->first + i];

        if (flight == without || flight->version == last || flight->version == r->version)
            continue;
        last = flight->version;
        count++;
    }
    return count;
}

/* True when `a` holds at least what `b` holds, so that `b` need not be remembered. */
static bool covers(const struct psim_order_instant *a, const struct psim_order_instant *b)
{
    return a->passes == b->passes && a->keep == b->keep && a->graphs >= b->graphs &&
           a->inputs >= b->inputs && a->rebuilt >= b->rebuilt && a->versions >= b->versions;
}

static void note_instant(struct reading *r, const struct psim_order_instant *instant)
{
    struct psim_order_stage *s = r->out;
    int kept = 0;

    for (int i = 0; i < s->instant_count; i++) {
        if (covers(&s->instants[i], instant))
            return;
    }
    for (int i = 0; i < s->instant_count; i++) {
        if (!covers(instant, &s->instants[i]))
            s->instants[kept++] = s->instants[i];
    }
    s->instant_count = kept;
    if (kept < PSIM_ORDER_INSTANTS) /* what is left out only weakens a bound */
        s->instants[s->instant_count++] = *instant;
}

/* What stands while an action runs; the other action of its step may be over, or not begun. */
static void note_action(struct reading *r, const struct psim_action *action,
                        const struct psim_action *other)
{
    struct flight *own = find_flight(r, action->microbatch), *gone = NULL;
    struct psim_order_instant instant = {
        .passes = action->passes, .graphs = r->graphs, .inputs = r->inputs, .rebuilt = r->rebuilt};

    if (other != NULL && (other->passes & PSIM_BACKWARD))
        gone = find_flight(r, other->microbatch);
    if (gone != NULL) {
        instant.graphs -= gone->keep == PSIM_KEEP_GRAPH ? 1 : 0;
        instant.inputs -= gone->keep == PSIM_KEEP_INPUT ? 1 : 0;
        instant.rebuilt -= gone->rebuilt ? 1 : 0;
    }
    instant.versions = old_versions(r, gone);
    if (action->passes & PSIM_FORWARD)
        instant.keep = r->method->keep(r->shape, r->stage, r->reversible, action->microbatch);
    else if (own != NULL)
        instant.keep = own->keep;
    note_instant(r, &instant);
}

static void apply_action(struct reading *r, const struct psim_action *action)
{
    struct flight *own;

    if (action->passes & PSIM_FORWARD)
        push_flight(r, action->microbatch,
                    r->method->keep(r->shape, r->stage, r->reversible, action->microbatch));
    if (r->failed)
        return;
    own = find_flight(r, action->microbatch);
    if ((action->passes & PSIM_RECONSTRUCT) && own != NULL && !own->rebuilt) {
        own->rebuilt = true;
        r->rebuilt++;
    }
    if ((action->passes & PSIM_BACKWARD) && own != NULL)
        pop_flight(r, own);
    if (action->passes & PSIM_UPDATE)
        r->version++;
}

/* The least in flight after a forward, counted anew whenever there are more than ever before. */
static void note_low(struct reading *r, int64_t microbatch)
{
    if (r->count > r->most) {
        r->most = r->out->low = r->count;
        r->out->low_from = microbatch;
    } else if (r->count < r->out->low) {
        r->out->low = r->count;
    }
}

static void note_step(struct reading *r, const struct psim_step *step)
{
    int64_t held;

    for (int i = 0; i < step->count; i++) {
        const struct psim_action *action = &step->actions[i];

        note_action(r, action, step->count == 2 ? &step->actions[1 - i] : NULL);
        if (action->passes & PSIM_BACKWARD)
            r->out->backward =
                r->out->backward == 0 ? action->passes : r->out->backward & action->passes;
    }
    /* A forward and a backward side by side may both be under way. */
    held = r->count;
    for (int i = 0; i < step->count; i++)
        held += step->actions[i].passes & PSIM_FORWARD ? 1 : 0;
    if (held > r->out->held)
        r->out->held = held;
    for (int i = 0; i < step->count; i++)
        apply_action(r, &step->actions[i]);
    for (int i = 0; i < step->count; i++) {
        if (step->actions[i].passes & PSIM_FORWARD)
            note_low(r, step->actions[i].microbatch);
    }
}

static void count_step(struct reading *r, const struct psim_step *step)
{
    const unsigned first = step->actions[0].passes;
    const unsigned second = step->count == 2 ? step->actions[1].passes : 0;
    struct psim_order_stage *s = r->out;
    int i = 0;

    while (i < s->kind_count && (s->kinds[i].passes[0] != first || s->kinds[i].passes[1] != second))
        i++;
    if (i == PSIM_ORDER_KINDS) {
        r->full = true;
        return;
    }
    if (i == s->kind_count)
        s->kinds[s->kind_count++] = (struct psim_order_kind){{first, second}, 0, 0};
    s->kinds[i].count++;
    s->kinds[i].after += r->out->backward != 0 ? 1 : 0;
    s->backwards += (first & PSIM_BACKWARD ? 1 : 0) + (second & PSIM_BACKWARD ? 1 : 0);
}

static bool has_backward(const struct psim_step *step)
{
    return (step->actions[0].passes & PSIM_BACKWARD) ||
           (step->count == 2 && (step->actions[1].passes & PSIM_BACKWARD));
}

/* A flushed step to its end; else the steps from the first one with a backward up to the one with
 * the backward that begins the next round of updates. */
static void read_stage(struct reading *r)
{
    const bool flushes = r->method->flushes;
    const int64_t wanted = r->method->updates_every_microbatch ? 1 : r->shape->accumulation;
    struct psim_step step;
    bool counting = flushes;

    for (int64_t i = 0; !r->failed && !r->full && r->method->step(r->shape, r->stage, i, &step);
         i++) {
        if (i == 0)
            r->out->starts_forward = (step.actions[0].passes & PSIM_FORWARD) != 0 ||
                                     (step.count == 2 && (step.actions[1].passes & PSIM_FORWARD));
        counting = counting || has_backward(&step);
        if (!flushes && counting && has_backward(&step) && r->out->backwards >= wanted)
            break;
        note_step(r, &step);
        if (counting)
            count_step(r, &step);
    }
}

enum psim_status psim_order_read(const struct psim_method *method, const struct psim_shape *shape,
                                 struct psim_order *out, struct psim_error *err)
{
    struct psim_order order = {.stages = shape->stages, .flushes = method->flushes};
    struct reading r = {
        .method = method, .shape = shape, .stash = method->stashes_parameters(shape)};

    order.stage = psim_alloc((size_t)shape->stages, sizeof *order.stage);
    if (order.stage == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, method->name, "out of memory");
    for (int j = 0; j < shape->stages && !r.failed && !r.full; j++) {
        r.stage = j;
        r.reversible = shape->reversible != NULL && shape->reversible[j];
        r.first = r.count = 0;
        r.version = r.graphs = r.inputs = r.rebuilt = r.most = 0;
        r.out = &order.stage[j];
        read_stage(&r);
    }
    psim_free(r.flights);
    if (r.failed || r.full) {
        psim_order_release(&order);
        return r.failed ? psim_fail(err, PSIM_ERR_NOMEM, method->name, "out of memory")
                        : psim_fail(err, PSIM_ERR_UNSUPPORTED, method->name,
                                    "has more than %d kinds of steps", PSIM_ORDER_KINDS);
    }
    *out = order;
    return PSIM_OK;
}

void psim_order_release(struct psim_order *order)
{
    psim_free(order->stage);
    *order = (struct psim_order){0};
}

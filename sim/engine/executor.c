#include "sim/base/memory.h"
#include "sim/engine/executor_parts.h"

#include <math.h>
#include <string.h>

static double now_s(const struct psim_executor *x)
{
    return x->clock->now(x->clock->self);
}

void psim_executor_fail(struct psim_executor *x)
{
    x->failed = true;
    x->done = true;
}

static bool is_first(const struct psim_executor *x, int stage)
{
    return psim_program_stage(x->program, stage) == 0;
}

static bool is_last(const struct psim_executor *x, int stage)
{
    return psim_program_stage(x->program, stage) + 1 == x->stages;
}

/* The message that an action needs, NULL when it needs none; *needed tells the two apart. */
static struct psim_entry *needed_message(const struct psim_executor *x, int stage,
                                         const struct psim_action *action, bool *needed)
{
    const struct psim_stage_state *s = &x->stage[stage];

    if (action->passes & PSIM_FORWARD) {
        *needed = !is_first(x, stage);
        return *needed ? psim_tagring_find(&s->inbox[0], action->microbatch) : NULL;
    }
    *needed = (action->passes & PSIM_BACKWARD) != 0 && !is_last(x, stage);
    return *needed ? psim_tagring_find(&s->inbox[1], action->microbatch) : NULL;
}

/* Keeps account of the time in which a device idles for want of a message that is on its way. */
static void watch_exposure(struct psim_executor *x, int stage, double now)
{
    struct psim_stage_state *s = &x->stage[stage];
    bool exposed = false;

    for (int i = 0; s->running == 0 && s->pending > 0 && i < s->step.count; i++) {
        bool needed;
        const struct psim_entry *message;

        if (s->started[i])
            continue;
        if (s->at_sync && x->sync[psim_program_stage(x->program, stage)].running)
            exposed = true;
        message = needed_message(x, stage, &s->step.actions[i], &needed);
        exposed = exposed || (message != NULL && !message->arrived);
    }
    if (exposed == s->exposed)
        return;
    s->exposed = exposed;
    if (exposed)
        s->exposed_since_s = now;
    else
        s->total.exposed_s += now - s->exposed_since_s;
}

static uint32_t new_transfer(struct psim_executor *x)
{
    uint32_t index = x->free_transfer;

    if (index != UINT32_MAX) {
        x->free_transfer = x->transfers[index].next_free;
        return index;
    }
    if (x->transfer_count == x->transfer_capacity) {
        const uint32_t capacity = x->transfer_capacity == 0 ? 64 : 2 * x->transfer_capacity;
        struct psim_transfer *list = psim_realloc(x->transfers, capacity, sizeof *list);

        if (list == NULL)
            return UINT32_MAX;
        x->transfers = list;
        x->transfer_capacity = capacity;
    }
    return x->transfer_count++;
}

/* direction 0: from `stage` to the next; 1: to the one before. */
static void send(struct psim_executor *x, int stage, int direction, int64_t microbatch, double now)
{
    const int to = direction == 0 ? stage + 1 : stage - 1;
    const int hop = direction == 0 ? stage : stage - 1;
    const uint32_t index = new_transfer(x);
    struct psim_entry *tag;

    if (index == UINT32_MAX) {
        psim_executor_fail(x);
        return;
    }
    tag = psim_tagring_insert(&x->stage[to].inbox[direction], microbatch);
    if (tag == NULL) {
        psim_executor_fail(x);
        return;
    }
    x->transfers[index] = (struct psim_transfer){
        .hop = hop, .direction = direction, .microbatch = microbatch, .start_s = now};
    x->in_flight++;
    psim_account_receive(&x->account, to, direction, now);
    watch_exposure(x, to, now);
    x->clock->transfer(x->clock->self, hop, direction, psim_token(PSIM_TOKEN_TRANSFER, 0, index));
}

static void run_instantly(struct psim_executor *x, uint32_t token)
{
    if (x->instant_count == x->instant_capacity) {
        const size_t capacity = x->instant_capacity == 0 ? 64 : 2 * x->instant_capacity;
        uint32_t *list = psim_realloc(x->instant, capacity, sizeof *list);

        if (list == NULL) {
            psim_executor_fail(x);
            return;
        }
        x->instant = list;
        x->instant_capacity = capacity;
    }
    x->instant[x->instant_count++] = token;
}

void psim_executor_schedule(struct psim_executor *x, int stage)
{
    struct psim_stage_state *s = &x->stage[stage];
    double delay_s;
    int slot;

    if (s->scheduled == s->device.generation)
        return;
    s->scheduled = s->device.generation;
    if (psim_device_next_end(&s->device, &slot, &delay_s))
        x->clock->timer(x->clock->self, delay_s,
                        psim_token(PSIM_TOKEN_DEVICE, s->device.generation, (uint32_t)stage));
}

/* Seconds of an action on a device of speed 1, as this run has them. */
static double action_seconds(const struct psim_executor *x, int stage,
                             const struct psim_action *action)
{
    const struct psim_conditions *conditions = x->program->conditions;
    const double seconds = x->durations[stage][action->passes];
    int64_t number = action->microbatch;

    if (conditions == NULL)
        return seconds;
    number = number < 0 ? x->stage[stage].version
                        : number + x->steps_done * x->program->shape.accumulation;
    return seconds * psim_conditions_jitter(conditions, (uint32_t)stage, number, action->passes);
}

static void start_action(struct psim_executor *x, int stage, int slot, double now)
{
    struct psim_stage_state *s = &x->stage[stage];
    const struct psim_action *action = &s->step.actions[slot];
    const double seconds = action_seconds(x, stage, action);

    s->started[slot] = true;
    s->started_s[slot] = now;
    if (action->passes & PSIM_FORWARD) {
        s->forwards++;
        psim_executor_hold(x, stage, action->microbatch);
    }
    psim_account_start(&x->account, stage, action, now);
    if (s->running++ == 0)
        s->busy_since_s = now;
    if (seconds > 0)
        psim_device_start(&s->device, slot, seconds, now);
    else
        run_instantly(x, (uint32_t)stage << 1 | (uint32_t)slot);
}

/* Starts the messages of a phase of an all-reduce; after the last phase every lane may update. */
static void start_phase(struct psim_executor *x, int stage)
{
    const struct psim_program *program = x->program;
    struct psim_sync_state *sync = &x->sync[stage];

    while (sync->phase < program->sync_phases) {
        const int *first = &program->sync_first[stage * program->sync_phases + sync->phase];

        sync->pending = first[1] - first[0];
        for (int flow = first[0]; flow < first[1]; flow++)
            x->clock->sync(x->clock->self, flow, psim_token(PSIM_TOKEN_SYNC, 0, (uint32_t)stage));
        if (sync->pending > 0)
            return;
        sync->phase++;
    }
}

static void start_sync(struct psim_executor *x, int stage, double now)
{
    x->sync[stage] = (struct psim_sync_state){.running = true};
    for (int lane = 0; lane < x->program->lanes; lane++)
        watch_exposure(x, lane * x->stages + stage, now);
    start_phase(x, stage);
}

/* A stage has summed its own gradients: the all-reduce starts once all copies have, or once all
 * stages of all copies have. */
static void arrive_at_sync(struct psim_executor *x, int place, double now)
{
    const int stage = psim_program_stage(x->program, place);

    if (x->stage[place].at_sync)
        return;
    x->stage[place].at_sync = true;
    if (++x->sync[stage].arrived < x->program->lanes)
        return;
    if (!x->program->sync_not_before) {
        start_sync(x, stage, now);
        return;
    }
    if (++x->gathered < x->stages)
        return;
    x->gathered = 0;
    for (int j = 0; j < x->stages; j++)
        start_sync(x, j, now);
}

/* Starts whatever actions of the current step can start. */
static void try_step(struct psim_executor *x, int stage, double now)
{
    struct psim_stage_state *s = &x->stage[stage];

    for (int i = 0; s->pending > 0 && i < s->step.count && !x->done; i++) {
        const struct psim_action *action = &s->step.actions[i];
        const int inbox = (action->passes & PSIM_FORWARD) ? 0 : 1;
        struct psim_entry *message;
        bool needed;

        if (s->started[i])
            continue;
        message = needed_message(x, stage, action, &needed);
        if (needed && (message == NULL || !message->arrived))
            continue;
        if (needed)
            psim_tagring_remove(&s->inbox[inbox], message);
        if ((action->passes & PSIM_UPDATE) && x->program->replicas > 1 && !s->synced) {
            arrive_at_sync(x, stage, now);
            continue;
        }
        start_action(x, stage, i, now);
    }
    psim_executor_schedule(x, stage);
    watch_exposure(x, stage, now);
}

static void next_step(struct psim_executor *x, int stage, double now)
{
    struct psim_stage_state *s = &x->stage[stage];

    s->pending = 0;
    s->started[0] = s->started[1] = false;
    if (!x->program->method->step(&x->program->shape, psim_program_stage(x->program, stage),
                                  s->index, &s->step)) {
        s->finished = true;
        x->finished_stages++;
        return;
    }
    s->index++;
    s->pending = s->step.count;
    s->backwards_at_step = s->total.backwards;
    try_step(x, stage, now);
}

void psim_executor_finish(struct psim_executor *x, double now)
{
    x->end_s = now;
    x->done = true;
}

static void watch_first_stage(struct psim_executor *x, double now)
{
    if (x->stage[0].total.backwards == 1)
        x->first_backward_s = now;
    if (x->program->method->flushes)
        return;
    switch (psim_monitor_backward(&x->monitor, now)) {
    case PSIM_MONITOR_GO_ON:
        break;
    case PSIM_MONITOR_WINDOW_OPENS:
        x->open_s = now;
        for (int j = 0; j < x->stages; j++)
            x->stage[j].opened = psim_executor_counters(x, j, now);
        break;
    case PSIM_MONITOR_WINDOW_ENDS:
        psim_executor_finish(x, now);
        break;
    case PSIM_MONITOR_FAILED:
        psim_executor_fail(x);
        break;
    }
}

/* Notes an action with its micro-batch, to be counted when that is complete. */
static void note_action(struct psim_executor *x, int stage, const struct psim_action *action)
{
    struct psim_entry *held;

    if (action->passes & PSIM_UPDATE)
        return;
    x->operations++;
    held = psim_tagring_find(&x->stage[stage].held, action->microbatch);
    PSIM_ASSERT(held != NULL && held->action_count < PSIM_ENTRY_ACTIONS);
    held->actions[held->action_count++] = (uint8_t)action->passes;
}

static void complete_action(struct psim_executor *x, int stage, int slot, double now)
{
    struct psim_stage_state *s = &x->stage[stage];
    const struct psim_action action = s->step.actions[slot];

    if (--s->running == 0)
        s->total.busy_s += now - s->busy_since_s;
    if (x->observer.action != NULL && stage < x->stages)
        x->observer.action(x->observer.user, stage, slot, &action, s->started_s[slot], now);
    psim_account_end(&x->account, stage, &action, now);
    note_action(x, stage, &action);
    if (!x->program->method->flushes && stage < x->stages &&
        (action.passes & (PSIM_FORWARD | PSIM_BACKWARD)))
        psim_monitor_end(&x->monitor, stage, (action.passes & PSIM_BACKWARD) != 0,
                         action.microbatch, now);
    if (action.passes & PSIM_FORWARD) {
        psim_tagring_find(&s->held, action.microbatch)->arrived = true;
        if (!is_last(x, stage))
            send(x, stage, 0, action.microbatch, now);
    }
    if (action.passes & PSIM_BACKWARD) {
        psim_executor_let_go(x, stage, action.microbatch, now);
        if (!is_first(x, stage))
            send(x, stage, 1, action.microbatch, now);
        else if (stage == 0)
            watch_first_stage(x, now);
    }
    if (action.passes & PSIM_UPDATE)
        psim_executor_update(x, stage, now);
    if (x->done)
        return;
    if (--s->pending > 0) {
        watch_exposure(x, stage, now);
        return;
    }
    psim_executor_note_step(x, stage);
    next_step(x, stage, now);
}

static void complete_transfer(struct psim_executor *x, uint32_t index, double now)
{
    const struct psim_transfer transfer = x->transfers[index];
    const int direction = transfer.direction;
    const int to = direction == 0 ? transfer.hop + 1 : transfer.hop;
    const int from = direction == 0 ? transfer.hop : transfer.hop + 1;
    struct psim_entry *message =
        psim_tagring_find(&x->stage[to].inbox[direction], transfer.microbatch);

    PSIM_ASSERT(message != NULL && !message->arrived);
    if (x->observer.transfer != NULL && transfer.hop < x->stages)
        x->observer.transfer(x->observer.user, transfer.hop, direction, transfer.microbatch,
                             transfer.start_s, now);
    x->transfers[index].next_free = x->free_transfer;
    x->free_transfer = index;
    x->in_flight--;
    x->operations++;
    message->arrived = true;
    psim_account_sent(&x->account, from, direction, now);
    try_step(x, to, now);
}

/* The flushed step is over on every stage: the next one starts, if there is to be one. */
static void end_step(struct psim_executor *x, double now)
{
    const struct psim_conditions *conditions = x->program->conditions;
    const int64_t steps = conditions != NULL && conditions->updates > 0 ? conditions->updates : 1;

    x->steps_done++;
    if (x->steps_done >= steps) {
        psim_executor_finish(x, now);
        return;
    }
    x->finished_stages = 0;
    for (int q = 0; q < x->places; q++) {
        x->stage[q].finished = false;
        x->stage[q].index = 0;
    }
    for (int q = 0; q < x->places; q++)
        next_step(x, q, now);
}

/* A message of an all-reduce has arrived. */
static void complete_sync(struct psim_executor *x, int stage, double now)
{
    struct psim_sync_state *sync = &x->sync[stage];

    x->operations++;
    if (--sync->pending > 0)
        return;
    sync->phase++;
    start_phase(x, stage);
    if (sync->phase < x->program->sync_phases)
        return;
    *sync = (struct psim_sync_state){.running = false};
    for (int lane = 0; lane < x->program->lanes && !x->done; lane++) {
        x->stage[lane * x->stages + stage].synced = true;
        try_step(x, lane * x->stages + stage, now);
    }
}

static void complete_device(struct psim_executor *x, int stage, double now)
{
    struct psim_stage_state *s = &x->stage[stage];
    double delay_s;
    int slot;

    if (!psim_device_next_end(&s->device, &slot, &delay_s))
        psim_bug("a timer for a device on which nothing runs");
    psim_device_finish(&s->device, slot, now);
    complete_action(x, stage, slot, now);
    if (!x->done)
        psim_executor_schedule(x, stage);
}

/* Work that takes no time is completed one by one, instead of by recursion. */
static void drain(struct psim_executor *x)
{
    while (!x->done) {
        uint32_t work;

        if (x->instant_count == 0 && x->finished_stages == x->places && x->in_flight == 0)
            end_step(x, now_s(x));
        if (x->instant_count == 0 || x->done)
            return;
        work = x->instant[--x->instant_count];
        complete_action(x, (int)(work >> 1), (int)(work & 1), now_s(x));
        psim_executor_schedule(x, (int)(work >> 1));
    }
}

void psim_executor_complete(struct psim_executor *x, uint64_t token)
{
    const uint32_t index = (uint32_t)token;
    const uint32_t generation = (uint32_t)(token >> 32) & UINT32_C(0x3fffffff);
    const double now = now_s(x);

    if (x->done)
        return;
    switch (psim_token_kind(token)) {
    case PSIM_TOKEN_DEVICE:
        if (generation != (x->stage[index].device.generation & UINT32_C(0x3fffffff)))
            return;
        complete_device(x, (int)index, now);
        break;
    case PSIM_TOKEN_TRANSFER:
        complete_transfer(x, index, now);
        break;
    case PSIM_TOKEN_SYNC:
        complete_sync(x, (int)index, now);
        break;
    case PSIM_TOKEN_CONDITION:
        psim_executor_condition(x, index);
        break;
    }
    drain(x);
}

void psim_executor_start(struct psim_executor *x)
{
    psim_executor_start_conditions(x);
    for (int q = 0; q < x->places; q++)
        next_step(x, q, 0);
    drain(x);
}

bool psim_executor_done(const struct psim_executor *x)
{
    return x->done;
}

static bool init_stage(struct psim_executor *x, int stage)
{
    const struct psim_conditions *conditions = x->program->conditions;
    const int device = x->program->places[stage].device;
    struct psim_stage_state *s = &x->stage[stage];

    s->staleness_min = s->carried_min = INT64_MAX;
    s->device.gain = 1;
    if (x->program->overlap == PSIM_OVERLAP_SHARED)
        s->device.gain = psim_platform_device(x->program->platform, device)->concurrency_gain;
    s->device.speed =
        conditions == NULL || conditions->speed == NULL ? 1 : conditions->speed[device];
    for (unsigned passes = 0; passes < PSIM_PASS_SETS; passes++)
        x->durations[stage][passes] = psim_program_duration(x->program, stage, passes);
    return psim_tagring_init(&s->inbox[0]) && psim_tagring_init(&s->inbox[1]) &&
           psim_tagring_init(&s->held) && psim_tagring_init(&s->versions);
}

enum psim_status psim_executor_new(const struct psim_program *program,
                                   const struct psim_clock *clock,
                                   const struct psim_observer *observer, struct psim_executor **out,
                                   struct psim_error *err)
{
    const int stages = program->shape.stages, places = program->lanes * stages;
    const struct psim_method *method = program->method;
    struct psim_executor *x = psim_alloc(1, sizeof *x);
    enum psim_status status = PSIM_OK;
    int64_t base;

    if (x == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "executor", "out of memory");
    x->program = program;
    x->clock = clock;
    x->stages = stages;
    x->places = places;
    x->free_transfer = UINT32_MAX;
    x->first_backward_s = NAN;
    x->failure = -1;
    base = method->updates_every_microbatch ? 1 : program->shape.accumulation;
    psim_monitor_init(&x->monitor, stages, base);
    if (program->looks > 0)
        psim_monitor_hurry(&x->monitor, program->looks);
    if (program->conditions != NULL && program->conditions->updates > 0)
        psim_monitor_fix(&x->monitor, base * program->conditions->updates);
    x->stage = psim_alloc((size_t)places, sizeof *x->stage);
    x->sync = psim_alloc((size_t)stages, sizeof *x->sync);
    x->durations = psim_alloc((size_t)places, sizeof *x->durations);
    status = psim_account_init(&x->account, program, err);
    for (int q = 0; status == PSIM_OK && x->stage != NULL && x->durations != NULL && q < places;
         q++) {
        if (!init_stage(x, q))
            status = PSIM_ERR_NOMEM;
    }
    if (status != PSIM_OK || x->stage == NULL || x->durations == NULL || x->sync == NULL) {
        psim_executor_free(x);
        return psim_fail(err, PSIM_ERR_NOMEM, "executor", "out of memory for %d stages", stages);
    }
    if (observer != NULL) {
        x->observer = *observer;
        x->account.observer = observer->memory;
        x->account.observer_user = observer->user;
    }
    *out = x;
    return PSIM_OK;
}

void psim_executor_free(struct psim_executor *x)
{
    if (x == NULL)
        return;
    for (int j = 0; x->stage != NULL && j < x->places; j++) {
        psim_tagring_release(&x->stage[j].inbox[0]);
        psim_tagring_release(&x->stage[j].inbox[1]);
        psim_tagring_release(&x->stage[j].held);
        psim_tagring_release(&x->stage[j].versions);
    }
    psim_free(x->stage);
    psim_free(x->durations);
    psim_free(x->sync);
    psim_free(x->transfers);
    psim_free(x->instant);
    psim_account_release(&x->account);
    psim_monitor_release(&x->monitor);
    psim_free(x);
}

#include "sim/plan/sweep.h"

#include "sim/base/memory.h"
#include "sim/plan/sweep_crew.h"

#include <string.h>

#define WAIT_MS 500 /* between two looks at the wish to stop */

struct state {
    struct psim_store *store;
    const struct psim_sweep_options *options;
    struct psim_sweep_counts *counts;
    int64_t next, point_count;
    bool *busy; /* [workers] */
    int busy_count;
    /* Since the last commit. */
    int64_t taken, taken_failed, taken_invalid;
};

static bool stops(const struct state *state)
{
    return state->options->stop != NULL && *state->options->stop != 0;
}

/* Moves on to the next point of the shard without results; false when there is none. */
static bool find_next(struct state *state)
{
    while (state->next < state->point_count && psim_store_has(state->store, state->next))
        state->next += state->options->shard.count;
    return state->next < state->point_count;
}

static enum psim_status hand_out(struct state *state, struct psim_crew *crew,
                                 struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int w = 0; status == PSIM_OK && w < crew->workers; w++) {
        if (state->busy[w] || !find_next(state))
            continue;
        status = crew->start(crew, w, state->next, err);
        state->next += state->options->shard.count;
        state->busy[w] = true;
        state->busy_count++;
    }
    return status;
}

static enum psim_status take(void *context, int worker, const char *bytes, size_t length,
                             struct psim_error *err)
{
    struct state *state = context;
    struct psim_sweep_reading reading;

    state->busy[worker] = false;
    state->busy_count--;
    if (stops(state))
        return PSIM_OK; /* what ends us may have ended the worker too */
    if (psim_sweep_record_read(bytes, length, &reading)) {
        state->taken++;
        state->taken_failed += reading.status == PSIM_POINT_FAILED ? 1 : 0;
        state->taken_invalid += reading.status == PSIM_POINT_INVALID ? 1 : 0;
    }
    return psim_store_put(state->store, bytes, length, err);
}

static enum psim_status commit(struct state *state, struct psim_error *err)
{
    const enum psim_status status = psim_store_commit(state->store, err);

    if (status != PSIM_OK)
        return status;
    state->counts->done += state->taken;
    state->counts->failed += state->taken_failed;
    state->counts->invalid += state->taken_invalid;
    state->taken = state->taken_failed = state->taken_invalid = 0;
    if (state->options->progress != NULL)
        state->options->progress(state->options->context, state->counts);
    return PSIM_OK;
}

static enum psim_status run(struct state *state, struct psim_crew *crew, struct psim_error *err)
{
    enum psim_status status = hand_out(state, crew, err);

    while (status == PSIM_OK && state->busy_count > 0 && !stops(state)) {
        status = crew->wait(crew, WAIT_MS, take, state, err);
        if (status == PSIM_OK && !stops(state))
            status = hand_out(state, crew, err); /* they work while this process writes */
        if (status == PSIM_OK)
            status = commit(state, err);
    }
    return status;
}

static void count(struct state *state)
{
    const struct psim_sweep_shard *shard = &state->options->shard;

    *state->counts = (struct psim_sweep_counts){0};
    for (int64_t point = shard->index; point < state->point_count; point += shard->count) {
        state->counts->total++;
        state->counts->before += psim_store_has(state->store, point) ? 1 : 0;
    }
    state->counts->done = state->counts->before;
}

enum psim_status psim_sweep_run(const struct psim_sweep_task *task, struct psim_store *store,
                                const struct psim_sweep_options *options,
                                struct psim_sweep_counts *counts, struct psim_error *err)
{
    struct state state = {.store = store,
                          .options = options,
                          .counts = counts,
                          .next = options->shard.index,
                          .point_count = task->sweep->point_count};
    struct psim_crew crew;
    enum psim_status status;

    count(&state);
    status = options->ranks ? psim_ranks_begin(&crew, err)
                            : psim_pool_begin(task, options->workers, &crew, err);
    if (status != PSIM_OK)
        return status;
    state.busy = psim_alloc((size_t)crew.workers, sizeof *state.busy);
    if (state.busy == NULL)
        status = psim_fail(err, PSIM_ERR_NOMEM, "sweep", "out of memory");
    if (status == PSIM_OK)
        status = run(&state, &crew, err);
    crew.end(&crew, status != PSIM_OK || stops(&state));
    psim_free(state.busy);
    return status;
}

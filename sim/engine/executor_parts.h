/**
 * @file sim/engine/executor_parts.h
 * State of the executor, shared by executor.c (what runs) and measure.c (what is measured).
 * Private to sim/engine.
 */
#ifndef PSIM_ENGINE_EXECUTOR_PARTS_H
#define PSIM_ENGINE_EXECUTOR_PARTS_H

#include "sim/engine/device_state.h"
#include "sim/engine/executor.h"
#include "sim/engine/monitor.h"
#include "sim/engine/tagring.h"

#define PSIM_PASS_SETS 32 /* every combination of enum psim_pass */

/* Tokens: what kind of thing is over, and which.  A timer of a device also carries the generation
 * it was set for, so that one that is out of date is known; a transfer has no generation, and an
 * engine may use those bits. */
enum psim_token_kind {
    PSIM_TOKEN_DEVICE,
    PSIM_TOKEN_TRANSFER,
    PSIM_TOKEN_CONDITION,
    PSIM_TOKEN_SYNC, /* index: the stage whose gradients are summed */
};

static inline uint64_t psim_token(enum psim_token_kind kind, uint32_t generation, uint32_t index)
{
    return (uint64_t)kind << 62 | (uint64_t)(generation & UINT32_C(0x3fffffff)) << 32 | index;
}

static inline enum psim_token_kind psim_token_kind(uint64_t token)
{
    return (enum psim_token_kind)(token >> 62);
}

/* What a stage has done since the start; the window is the difference of two of these.  Work is
 * that of micro-batches whose backward has ended, all of it: what a window cuts through would count
 * in part, and a figure per micro-batch would depend on where the window lies. */
struct psim_counters {
    double busy_s, exposed_s, demand_s, backward_work_s, units, flop;
    int64_t backwards, sent[2]; /* sent: messages to the next and to the previous stage */
};

struct psim_stage_state {
    int64_t index; /* of the next step */
    struct psim_step step;
    struct psim_device_state device;
    uint32_t scheduled; /* generation of the device that a timer is set for */
    double started_s[2], updated_s;
    bool started[2], finished;
    bool at_sync, synced; /* waits for the other copies' gradients; has their sum */
    int pending;          /* actions of the step that are not over */
    int running;          /* of those, the ones on the device now */
    bool exposed;         /* idle, and an action waits only for a message on its way */
    double busy_since_s, exposed_since_s;
    struct psim_tagring inbox[2]; /* messages for this stage; 0 forward, 1 backward */
    struct psim_tagring held;     /* micro-batches between their forward and their backward */
    struct psim_tagring versions; /* parameter versions that held micro-batches have read */
    int64_t version, backwards_at_step, forwards;
    int64_t stashed, stashed_max; /* versions beside the current one */
    int64_t held_max, carried_max, carried_min, staleness_max, staleness_min;
    bool stale; /* an update came between a forward and its backward */
    struct psim_counters total, opened;
};

/* The all-reduce of one stage's gradients over all copies. */
struct psim_sync_state {
    int arrived; /* lanes that have their own sum */
    int phase, pending;
    bool running;
};

struct psim_transfer {
    int hop, direction;
    int64_t microbatch;
    double start_s;
    uint32_t next_free;
};

struct psim_executor {
    const struct psim_program *program;
    const struct psim_clock *clock;
    struct psim_observer observer;
    int stages, places;                  /* of one pipeline; of all lanes */
    struct psim_stage_state *stage;      /* [places] */
    struct psim_sync_state *sync;        /* [stages] */
    int gathered;                        /* stages whose gradients all lanes have */
    double (*durations)[PSIM_PASS_SETS]; /* [places] */
    struct psim_account account;
    struct psim_monitor monitor;
    struct psim_transfer *transfers;
    uint32_t transfer_count, transfer_capacity, free_transfer;
    int64_t in_flight;
    uint32_t *instant; /* stage and slot of work that takes no time, to be completed now */
    size_t instant_count, instant_capacity;
    int64_t operations;
    int finished_stages;
    int64_t steps_done; /* of a method that flushes */
    int failure;        /* condition that ended the run; -1: none */
    double open_s, end_s, first_backward_s;
    bool done, failed;
};

/** The run has failed for want of memory. */
void psim_executor_fail(struct psim_executor *executor);

/** A forward starts: the micro-batch is held, and reads the step's parameters. */
void psim_executor_hold(struct psim_executor *executor, int place, int64_t microbatch);

/** A backward has ended: its micro-batch no longer needs what its forward read. */
void psim_executor_let_go(struct psim_executor *executor, int place, int64_t microbatch,
                          double now_s);

/** A step has ended: its work is added up, and what is held now is carried to the next one. */
void psim_executor_note_step(struct psim_executor *executor, int place);

/** The optimizer has written new parameters; the old ones stay while somebody needs them. */
void psim_executor_update(struct psim_executor *executor, int place, double now_s);

/** Sets a timer for the end of what runs on a stage's device, unless one is set already. */
void psim_executor_schedule(struct psim_executor *executor, int stage);

/** The run is over: what was to be measured has been, or something failed. */
void psim_executor_finish(struct psim_executor *executor, double now_s);

/** Timers for the conditions that concern this run. */
void psim_executor_start_conditions(struct psim_executor *executor);

/** Condition index / 2 begins (even index) or ends (odd). */
void psim_executor_condition(struct psim_executor *executor, uint32_t index);

/** Counters of a stage as of now, running intervals included. */
struct psim_counters psim_executor_counters(const struct psim_executor *executor, int stage,
                                            double now_s);

#endif

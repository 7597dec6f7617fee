/**
 * @file sim/program/account.h
 * The memory account: what each event of a stage adds to and takes from its device.
 *
 * Called by the executor at every start and end, once for all methods.  The rules are in
 * docs/model.md section "Memory".  Amounts that change at one moment are settled together, so a
 * peak is a level that lasted, and does not depend on the order of simultaneous events.
 *
 * Does not know: engines.
 */
#ifndef PSIM_PROGRAM_ACCOUNT_H
#define PSIM_PROGRAM_ACCOUNT_H

#include "sim/program/program.h"

/** Observer of every settled level; NULL where nobody looks. */
typedef void psim_account_observer(void *user, int stage, double at_s,
                                   const int64_t by_category[PSIM_MEMORY_CATEGORIES]);

struct psim_account_stage {
    int64_t level[PSIM_MEMORY_CATEGORIES];
    int64_t total;
    double changed_s; /**< time of the last change; the level before it is settled */
    bool dirty;       /**< changed since it was last settled */
    int64_t peak_total;
    double peak_s;
    int64_t peak[PSIM_MEMORY_CATEGORIES];
    int64_t update_total; /**< largest at the start of an update */
    double update_s;
};

struct psim_account {
    const struct psim_program *program;
    struct psim_account_stage *stages; /**< [stages] */
    psim_account_observer *observer;
    void *observer_user;
};

enum psim_status psim_account_init(struct psim_account *account, const struct psim_program *program,
                                   struct psim_error *err) PSIM_CHECKED;
void psim_account_release(struct psim_account *account);

/** A message for `stage` starts on its way: the receiver's buffer. direction 0 forward, 1 back. */
void psim_account_receive(struct psim_account *account, int stage, int direction, double now_s);
/** A message of `stage` has left: its send buffer is free. */
void psim_account_sent(struct psim_account *account, int stage, int direction, double now_s);
void psim_account_start(struct psim_account *account, int stage, const struct psim_action *action,
                        double now_s);
void psim_account_end(struct psim_account *account, int stage, const struct psim_action *action,
                      double now_s);
/** The parameters now in use are kept for micro-batches that have read them, or no longer are. */
void psim_account_stash(struct psim_account *account, int stage, int versions, double now_s);

/**
 * Settles what is open and writes the peak.  With accounting "paper" the published formula is
 * applied to what was measured: micro-batches carried and parameter versions.
 */
void psim_account_finish(struct psim_account *account, int stage, double now_s, int64_t carried,
                         int64_t versions, struct psim_memory_peak *out);

#endif

/**
 * @file sim/plan/fit.h
 * Does every row of a scenario fit in its devices' memory, and if not, what near it does?
 *
 * Called by sim/cli (`fit`) and by plans.  A device's memory is seen in three ways
 * (docs/model.md eq. 32): what tensors occupy, what the allocator has reserved for them, and what
 * the system reports, which is what must fit.  The largest of three moments counts, on the device
 * with the least room: the step's peak, an optimizer step, and start-up.
 *
 * Does not know: JSON, options of the command line.
 */
#ifndef PSIM_PLAN_FIT_H
#define PSIM_PLAN_FIT_H

#include "sim/plan/study.h"
#include "sim/report/sheet.h"

/** What must stay free of tensors; docs/model.md has the source of each default. */
struct psim_fit_reserve {
    int64_t context_bytes;      /**< of framework and driver; -1: the device's own figure */
    double fragmentation;       /**< allocator's share of what is allocated; NaN: the device's */
    int64_t communicator_bytes; /**< of the communication library, where a device sends */
    double transient_bytes;     /**< of the optimizer's temporaries, a parameter */
};

/** The defaults, chosen so that "fits" is never said too early. */
extern const struct psim_fit_reserve psim_fit_reserve_default;

/**
 * Reads "context=600MiB,fragmentation=0.2,communicator=0B,optimizer=0B"; what is not named keeps
 * its value.
 * @return PSIM_OK; PSIM_ERR_SCHEMA or PSIM_ERR_RANGE with what is wrong
 */
enum psim_status psim_fit_reserve_parse(const char *text, struct psim_fit_reserve *reserve,
                                        struct psim_error *err) PSIM_CHECKED;

/** One moment of one device. */
struct psim_fit_view {
    int64_t allocated_bytes, reserved_bytes, device_bytes;
    double at_s; /**< NaN before the first step */
};

enum psim_fit_moment { PSIM_FIT_STEP, PSIM_FIT_UPDATE, PSIM_FIT_START_UP, PSIM_FIT_MOMENTS };

/** "step", "optimizer step", "start-up". */
extern const char *const psim_fit_moment_names[PSIM_FIT_MOMENTS];

struct psim_fit_stage {
    struct psim_fit_view views[PSIM_FIT_MOMENTS];
    enum psim_fit_moment worst;                  /**< with the largest device_bytes */
    int64_t by_category[PSIM_MEMORY_CATEGORIES]; /**< at the step's peak */
    int64_t communicator_bytes, transient_bytes;
    int64_t capacity_bytes;
};

/** A method of the scenario; from psim_fit_run. */
struct psim_fit_row {
    const struct psim_result *result; /**< NULL where its simulation failed */
    struct psim_fit_stage *stages;    /**< [result->simulation.stage_count] */
    int tightest;                     /**< stage with the least room */
    bool fits;
    const char *verdict; /**< "fits: 61.3 of 80.0 GiB on stage 3, margin 18.7 GiB" */
};

struct psim_fit {
    struct psim_arena arena;
    struct psim_study study;
    const struct psim_scenario *scenario; /**< borrowed */
    struct psim_fit_reserve reserve;
    struct psim_fit_row *rows; /**< [scenario->method_count] */
    bool fits;                 /**< every row does */
};

/**
 * Simulates every row and judges it; a row that does not fit gets the nearest that does.
 * @param[in]     scenario  outlives `out`; its accounting must be "full"
 * @param[in,out] list      receives what a row's building refuses
 * @param[out]    out       released with psim_fit_release; untouched on failure
 */
enum psim_status psim_fit_run(const struct psim_scenario *scenario,
                              const struct psim_engine *engine,
                              const struct psim_fit_reserve *reserve, int workers,
                              struct psim_fit *out, struct psim_diagnostics *list,
                              struct psim_error *err) PSIM_CHECKED;
void psim_fit_release(struct psim_fit *fit);

/** The views of one simulated stage, from what the simulation measured. */
void psim_fit_stage_judge(const struct psim_program *program, int stage,
                          const struct psim_stage_result *result,
                          const struct psim_fit_reserve *reserve, struct psim_fit_stage *out);

/** The same from a peak alone; `sends`: the device holds a communicator. */
void psim_fit_peak_judge(const struct psim_stage *s, const struct psim_memory_peak *peak,
                         int element_bytes, bool sends, const struct psim_fit_reserve *reserve,
                         struct psim_fit_stage *out);

/** Sets what the reserve says on a stage; a parameter has so many bytes. */
void psim_fit_prepare_stage(struct psim_stage *s, int element_bytes,
                            const struct psim_fit_reserve *reserve);

/** Sets what the reserve says on all places of a program, before it is simulated. */
void psim_fit_prepare(struct psim_program *program, const struct psim_fit_reserve *reserve);

/** Bytes of room on the tightest stage, negative where it does not fit. */
int64_t psim_fit_room(const struct psim_fit_stage *stage);

/** One variant of a row that was simulated and fits; private to sim/plan/fit*.c. */
const char *psim_fit_nearest(struct psim_fit *fit, int method, const struct psim_engine *engine);

/** Everything as a report, verdict first; texts in fit->arena.  NOMEM. */
enum psim_status psim_fit_report(struct psim_fit *fit, struct psim_sheet_report *out,
                                 struct psim_error *err) PSIM_CHECKED;

#endif

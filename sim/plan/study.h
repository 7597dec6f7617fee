/**
 * @file sim/plan/study.h
 * From a scenario to a comparison: stages, programs, simulations, and what is derived from them.
 */
#ifndef PSIM_PLAN_STUDY_H
#define PSIM_PLAN_STUDY_H

#include "sim/config/scenario.h"
#include "sim/engine/engine.h"
#include "sim/program/program.h"
#include "sim/program/result.h"

/** One distinct model of the scenario, cut into stages. */
struct psim_study_model {
    const struct psim_workload_model *model;
    struct psim_workload workload;
};

struct psim_study {
    struct psim_arena arena;              /**< texts and arrays of the comparison */
    const struct psim_scenario *scenario; /**< borrowed */
    const struct psim_engine *engine;
    struct psim_study_model *models;
    int model_count;
    struct psim_program *programs; /**< [methods] */
    struct psim_job *jobs;         /**< [methods] */
    struct psim_comparison comparison;
    int failed; /**< simulations that gave no result; they have no row */
};

/**
 * Builds the stages and programs of every row.
 * @param[in,out] list  receives what only shows here, at the place of the entry concerned
 */
enum psim_status psim_study_build(const struct psim_scenario *scenario,
                                  const struct psim_engine *engine, struct psim_study *out,
                                  struct psim_diagnostics *list) PSIM_CHECKED;

/** Simulates every row, `workers` at a time, and fills the comparison.  Rows whose simulation
 *  failed are left out and counted; their errors are in the jobs. */
enum psim_status psim_study_run(struct psim_study *study, int workers,
                                struct psim_error *err) PSIM_CHECKED;

/** The first of the devices that a stage of one copy of a row's pipeline holds. */
int psim_study_device(const struct psim_scenario *scenario, const struct psim_program *program,
                      int copy, int stage);

/** What follows the simulation of the jobs in psim_study_run, for those who ran them otherwise. */
enum psim_status psim_study_collect(struct psim_study *study, struct psim_error *err) PSIM_CHECKED;

/** What an hour of the platform's first so many devices costs, nodes as a whole; NaN: not known. */
double psim_study_hourly_usd(const struct psim_platform *platform, int devices);

/** True when every row fits on every device. */
bool psim_study_fits(const struct psim_study *study);

void psim_study_release(struct psim_study *study);

/** Derives a row from a simulation; texts go to the arena. NOMEM when one cannot be had. */
enum psim_status psim_study_row(struct psim_study *study, int method, struct psim_result *row,
                                struct psim_error *err) PSIM_CHECKED;

/** Fills a row's energy and money, which need its times; the comparison's header is filled. */
enum psim_status psim_study_worth(struct psim_study *study, int method, struct psim_result *row,
                                  struct psim_error *err) PSIM_CHECKED;

/** What limits a row, as one line in the arena; NULL when memory is out. */
const char *psim_study_bottleneck(struct psim_arena *arena, const struct psim_program *program,
                                  const struct psim_simulation *simulation);

#endif

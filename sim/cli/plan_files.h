/**
 * @file sim/cli/plan_files.h
 * What `plan` leaves beside its answer.
 */
#ifndef PSIM_CLI_PLAN_FILES_H
#define PSIM_CLI_PLAN_FILES_H

#include "sim/cli/cli.h"
#include "sim/plan/plan.h"

/** Writes every reported plan as a scenario: plan-1.json (the best), method-, front-, nearest-.
 *  The folder is made where there is none. */
enum psim_exit psim_plan_files_scenarios(const struct psim_plan *plan, const char *folder);

/** Draws the front, and throughput against GPUs, as .svg or .png by gnuplot; LACKING without it. */
enum psim_exit psim_plan_files_picture(const struct psim_plan *plan, const char *path);

#endif

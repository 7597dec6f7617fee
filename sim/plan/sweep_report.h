/**
 * @file sim/plan/sweep_report.h
 * Results of a sweep in every output format.
 *
 * CSV and JSON hold everything in full precision, in the order of points and rows, and depend on
 * nothing but the results: equal results give equal bytes.  The others show what people look at.
 */
#ifndef PSIM_PLAN_SWEEP_REPORT_H
#define PSIM_PLAN_SWEEP_REPORT_H

#include "sim/plan/store.h"
#include "sim/report/report.h"

/** @param[in,out] out  replaced on success, untouched on failure */
enum psim_status psim_sweep_render(const struct psim_sweep_table *table, enum psim_format format,
                                   struct psim_text *out, struct psim_error *err) PSIM_CHECKED;

/**
 * A script of gnuplot: time per micro-batch against the last numeric key, one curve for each method
 * and each setting of the other keys.
 * @return PSIM_ERR_SCHEMA when no key that varies is a number
 */
enum psim_status psim_sweep_plot(const struct psim_sweep_table *table, struct psim_text *out,
                                 struct psim_error *err) PSIM_CHECKED;

#endif

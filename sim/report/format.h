/**
 * @file sim/report/format.h
 * What one output format provides.
 *
 * Each renderer appends to `out`, which starts empty; a buffer left `failed` means that memory
 * ran out.  The numeric locale is "C" while a renderer runs.
 */
#ifndef PSIM_REPORT_FORMAT_H
#define PSIM_REPORT_FORMAT_H

#include "sim/report/report.h"

typedef enum psim_status psim_render(const struct psim_comparison *comparison, enum psim_view view,
                                     struct psim_text *out, struct psim_error *err);

#define PSIM_FORMAT_DECLARE(name, text, render) psim_render render;
PSIM_FORMAT_MAP(PSIM_FORMAT_DECLARE)
#undef PSIM_FORMAT_DECLARE

typedef enum psim_status psim_report_work(void *user, struct psim_text *out,
                                          struct psim_error *err);

/**
 * Runs a renderer with the locale "C", of this thread only, so that a host program's own locale
 * neither leaks in nor changes.
 * @param[in,out] out  replaced on success, untouched on failure
 */
enum psim_status psim_report_with_plain_locale(psim_report_work *work, void *user,
                                               struct psim_text *out,
                                               struct psim_error *err) PSIM_CHECKED;

/** A cell of a CSV file: quoted where it must be; in full, empty where it is not finite. */
void psim_csv_text(struct psim_text *out, const char *text);
void psim_csv_number(struct psim_text *out, double value);

/** The scenario's file without its folder, which would tie a result to the machine it ran on. */
const char *psim_report_file_name(const struct psim_comparison *comparison);

#endif

/**
 * @file sim/report/report.h
 * From a comparison to bytes: every output format, and writing them where the user wants them.
 *
 * Called by sim/cli.  One format is one file of this folder and one row of PSIM_FORMAT_MAP.
 * The same comparison gives the same bytes, whatever the process's locale.
 *
 * Does not know: scenarios, engines, how a figure came about.
 */
#ifndef PSIM_REPORT_REPORT_H
#define PSIM_REPORT_REPORT_H

#include "sim/base/status.h"
#include "sim/base/text.h"
#include "sim/program/result.h"

/** Member of the enum, name on the command line, renderer (sim/report/format.h). */
#define PSIM_FORMAT_MAP(X)                                                                         \
    X(TABLE, "table", psim_render_table)                                                           \
    X(MARKDOWN, "md", psim_render_markdown)                                                        \
    X(CSV, "csv", psim_render_csv)                                                                 \
    X(LATEX, "latex", psim_render_latex)                                                           \
    X(JSON, "json", psim_render_json)

enum psim_format {
#define PSIM_FORMAT_ENUM(name, text, render) PSIM_FORMAT_##name,
    PSIM_FORMAT_MAP(PSIM_FORMAT_ENUM)
#undef PSIM_FORMAT_ENUM
        PSIM_FORMATS
};

/** "table", "md", "csv", "latex", "json"; NULL at the end. */
extern const char *const psim_format_names[];

enum psim_view {
    PSIM_VIEW_COMPARE, /**< one row per method */
    PSIM_VIEW_RUN,     /**< per method a summary and one row per stage */
};

/**
 * Writes a comparison in one format.  JSON holds everything and is the same for both views.
 *
 * @param[in,out] out  starts as PSIM_TEXT_INIT or holds an earlier text, which is replaced;
 *                     untouched on failure
 * @return PSIM_OK or PSIM_ERR_NOMEM
 */
enum psim_status psim_report_render(const struct psim_comparison *comparison,
                                    enum psim_format format, enum psim_view view,
                                    struct psim_text *out, struct psim_error *err) PSIM_CHECKED;

/**
 * Writes a result where the user wants it.
 *
 * A file appears whole or not at all: the bytes go to a new file in the same folder, which then
 * takes the name; whatever stood there is kept until that moment.  A symbolic link is followed.
 * What is neither a file nor a folder (a device, a pipe) is written to directly.
 *
 * @param[in] path  NULL: standard output
 * @return PSIM_OK; PSIM_ERR_IO with the system's reason; PSIM_ERR_NOMEM
 */
enum psim_status psim_output_write(const char *path, const char *text, size_t length,
                                   struct psim_error *err) PSIM_CHECKED;

#endif

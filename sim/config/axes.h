/**
 * @file sim/config/axes.h
 * A scenario of which some values vary: sweep/1 files and the axes of the command line.
 *
 * Called by sim/plan and sim/cli.  A sweep is a grid: every combination of the values of its axes
 * is a point, the last axis varies fastest.  A point is a scenario like any other: its values are
 * put in place of those of the base scenario before that is read, so that whatever the reader of
 * scenarios knows of a key holds here too, and a fault is named where the value was written.
 *
 * Does not know: what a point comes to, where results go.
 */
#ifndef PSIM_CONFIG_AXES_H
#define PSIM_CONFIG_AXES_H

#include "sim/base/text.h"
#include "sim/config/scenario.h"

#include <stdbool.h>

#define PSIM_SWEEP_AXES   16
#define PSIM_SWEEP_KEYS   8        /**< of one axis */
#define PSIM_SWEEP_VALUES 65536    /**< of one axis */
#define PSIM_SWEEP_POINTS 16777216 /**< 2^24 */
#define PSIM_SCAN_NAME    "--scan" /**< stands for the file of what the command line says */

struct psim_node;

/** Keys that change together, and the values that they take. */
struct psim_sweep_axis {
    const char *keys[PSIM_SWEEP_KEYS]; /**< paths such as "methods[0].overlap", as given */
    int key_count;
    int value_count;
    const struct psim_node **values; /**< [value_count, key_count] */
    const char *path;                /**< of the list or range in the sweep/1 file; NULL: a scan */
    bool is_range, is_listed;        /**< each value is a list with one for each key */
};

struct psim_sweep {
    struct psim_arena arena;
    const char *scenario_file;
    const char *scenario_text; /**< its bytes, which every point is read from */
    size_t scenario_length;
    struct psim_sweep_axis axes[PSIM_SWEEP_AXES];
    int axis_count;
    int64_t point_count;
    /** SHA-256 over the files that the points name, each value of each axis once: two sweeps
     *  with equal hashes and equal axes have equal points. */
    char inputs_sha256[65];
};

/**
 * Reads a sweep/1 file, or a scenario/1 file to which the scans add the axes.
 *
 * Every value is tried with the first values of the other axes.  What is wrong with the value
 * itself, with a file that it names or with the first point is an error; that a value does not go
 * with the first ones of the others is not, since it may go with others.
 *
 * @param[in]     scans  [scan_count], "KEY=VALUE,...", "KEY=FROM:TO:*FACTOR", "KEY=FROM:TO:+STEP"
 * @param[out]    out    untouched unless the call succeeds; release with psim_sweep_release
 * @param[in,out] list   receives errors, and the warnings of the first point
 * @return PSIM_OK, or the status of the first error
 */
enum psim_status psim_sweep_read(const char *file, const char *const *scans, int scan_count,
                                 const struct psim_catalogue *catalogue, struct psim_sweep *out,
                                 struct psim_diagnostics *list) PSIM_CHECKED;
void psim_sweep_release(struct psim_sweep *sweep);

/** The value that an axis has at a point, an index in [0, value_count). */
int psim_sweep_value_index(const struct psim_sweep *sweep, int axis, int64_t point);

/** Appends one value as compact JSON, numbers as they were written. */
void psim_sweep_value_json(const struct psim_sweep_axis *axis, int value, int key,
                           struct psim_text *out);

/**
 * Reads the scenario of a point.
 * @param[in]  point  in [0, point_count)
 * @param[out] out    untouched unless the call succeeds; release with psim_scenario_release
 */
enum psim_status psim_sweep_point(const struct psim_sweep *sweep, int64_t point,
                                  const struct psim_catalogue *catalogue, struct psim_scenario *out,
                                  struct psim_diagnostics *list) PSIM_CHECKED;

#endif

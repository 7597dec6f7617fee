/**
 * @file sim/import/simgrid_export.h
 * A platform as a SimGrid platform file, so that others can check it, or simulate on it.
 *
 * Called by sim/cli.  The file has one zone with routing "Full": every pair of devices in use gets
 * exactly the route that psim_platform_route gives, other links the route between their own ends,
 * from which sim/import reads the same graph back.  It also sets SimGrid's network model to what
 * petrasim simulates with: figures as they are, no correction factors.
 */
#ifndef PSIM_IMPORT_SIMGRID_EXPORT_H
#define PSIM_IMPORT_SIMGRID_EXPORT_H

#include "sim/base/text.h"
#include "sim/platform/platform.h"

#define PSIM_EXPORT_DEVICES 1024 /* limit, because routes grow with its square */

/**
 * @param[in,out] out  the file is appended; untouched on failure
 * @return PSIM_OK; PSIM_ERR_RANGE for more devices than the limit; PSIM_ERR_NOTFOUND where two
 *         devices have no path; PSIM_ERR_NOMEM
 */
enum psim_status psim_export_simgrid(const struct psim_platform *platform, struct psim_text *out,
                                     struct psim_error *err) PSIM_CHECKED;

#endif

/**
 * @file kernels/check.h
 * What an operation must satisfy before a backend sees it: shapes, operands, workspace.
 *
 * Called by pk.c alone.  PK_OPERATION_MAP declares one check per operation, so that an operation
 * without one does not link.  Values inside the arrays are never looked at, nor whether arrays
 * overlap.
 */
#ifndef PK_CHECK_H
#define PK_CHECK_H

#include "kernels/pk.h"

/** One check on its way; zeroed but for the first three, which the caller sets. */
struct pk_check {
    const char *operation;   /**< begins the message */
    bool pointers;           /**< operands must be there; false while only sizes are asked for */
    struct psim_error *err;  /**< may be NULL */
    enum psim_status status; /**< PSIM_ERR_RANGE once something was refused */
    bool empty;              /**< a dimension is 0: nothing is to be done */
};

#define PK_CHECK_DECLARE(name, type)                                                               \
    void pk_check_##name(struct pk_check *check, const struct type *op);
PK_OPERATION_MAP(PK_CHECK_DECLARE)
#undef PK_CHECK_DECLARE

/** The workspace: at least `bytes` at a multiple of PK_ALIGNMENT; may be NULL where bytes is 0. */
void pk_check_workspace(struct pk_check *check, const struct pk_workspace *workspace, size_t bytes);

#endif

#include "sim/report/columns.h"

/* Columns of the per-stage table: one row per stage of a method. */

#define STAGE row->result->simulation.stages[row->stage]

PSIM_COLUMN_TEXT(method, row->result->method)
PSIM_COLUMN_TEXT(label, row->result->label)
PSIM_COLUMN_TEXT(model, row->result->model)
PSIM_COLUMN_TEXT(name, row->result->stage_names[row->stage])
PSIM_COLUMN_TEXT(device, row->result->device_names[row->stage])
PSIM_COLUMN_TEXT(device_type, row->result->device_types[row->stage])
PSIM_COLUMN_VALUE(number, row->stage + 1.0)
PSIM_COLUMN_VALUE(forward, STAGE.forward_s)
PSIM_COLUMN_VALUE(backward, STAGE.backward_s)
PSIM_COLUMN_VALUE(update, STAGE.update_s)
PSIM_COLUMN_VALUE(busy, STAGE.busy_fraction)
PSIM_COLUMN_VALUE(exposed, STAGE.exposed_fraction)
PSIM_COLUMN_VALUE(staleness, psim_count_value(STAGE.staleness_microbatches))
PSIM_COLUMN_VALUE(versions, psim_count_value(STAGE.parameter_versions))
PSIM_COLUMN_VALUE(held, psim_count_value(STAGE.held_microbatches))
PSIM_COLUMN_VALUE(carried, psim_count_value(STAGE.carried_microbatches))
PSIM_COLUMN_VALUE(peak, psim_count_value(STAGE.memory.bytes))
PSIM_COLUMN_VALUE(peak_at, STAGE.memory.at_s)
PSIM_COLUMN_VALUE(reserved, psim_count_value(STAGE.memory.reserved_bytes))
PSIM_COLUMN_VALUE(capacity, psim_count_value(STAGE.memory.capacity_bytes))

#define CATEGORY_VALUE(id, text)                                                                   \
    PSIM_COLUMN_VALUE(category_##id, psim_count_value(STAGE.memory.by_category[PSIM_MEMORY_##id]))
PSIM_MEMORY_CATEGORY_MAP(CATEGORY_VALUE)

#define WORK   PSIM_PANEL_FIRST
#define MEMORY PSIM_PANEL_SECOND

/* clang-format off */
static const struct psim_column columns[] = {
    {"method", "", "", "", PSIM_QUANTITY_TEXT, 0, 0, method, NULL},
    {"label", "", "", "", PSIM_QUANTITY_TEXT, 0, 0, label, NULL},
    {"model", "", "", "", PSIM_QUANTITY_TEXT, 0, 0, model, NULL},
    {"stage", "", "stage", "", PSIM_QUANTITY_COUNT, PSIM_PANEL_BOTH, 0, NULL, number},
    {"stage_name", "", "name", "", PSIM_QUANTITY_TEXT, WORK, 0, name, NULL},
    {"device", "", "device", "", PSIM_QUANTITY_TEXT, PSIM_PANEL_BOTH, 0, device, NULL},
    {"device_type", "", "type", "", PSIM_QUANTITY_TEXT, WORK, PSIM_COLUMN_HIDE_SAME,
     device_type, NULL},
    {"forward_s", "busy per micro-batch", "forward", "", PSIM_QUANTITY_SECONDS, WORK, 0,
     NULL, forward},
    {"backward_s", "busy per micro-batch", "backward", "reconstruction included",
     PSIM_QUANTITY_SECONDS, WORK, 0, NULL, backward},
    {"update_s", "", "update", "one optimizer step", PSIM_QUANTITY_SECONDS, WORK, 0,
     NULL, update},
    {"busy_fraction", "", "busy", "share of the window, over all streams", PSIM_QUANTITY_SHARE,
     WORK, 0, NULL, busy},
    {"exposed_fraction", "", "exposed_comm.", "share of the window spent waiting only for a "
     "transfer", PSIM_QUANTITY_SHARE, WORK, 0, NULL, exposed},
    {"staleness_microbatches", "", "staleness", "micro-batches between a forward and its backward",
     PSIM_QUANTITY_COUNT, WORK, 0, NULL, staleness},
    {"parameter_versions", "", "parameter_copies", "the current one included",
     PSIM_QUANTITY_COUNT, WORK, 0, NULL, versions},
    {"held_microbatches", "", "", "", PSIM_QUANTITY_COUNT, 0, 0, NULL, held},
    {"carried_microbatches", "", "", "", PSIM_QUANTITY_COUNT, 0, 0, NULL, carried},
    {"memory_peak_bytes", "memory", "peak", "", PSIM_QUANTITY_MEMORY, PSIM_PANEL_BOTH, 0,
     NULL, peak},
    {"memory_peak_at_s", "", "", "", PSIM_QUANTITY_SECONDS, 0, 0, NULL, peak_at},
    {"memory_reserved_bytes", "memory", "reserved", "with the allocator's share on top",
     PSIM_QUANTITY_MEMORY, MEMORY, PSIM_COLUMN_MARK_ROOM, NULL, reserved},
    {"memory_capacity_bytes", "memory", "capacity", "", PSIM_QUANTITY_MEMORY, MEMORY, 0,
     NULL, capacity},
#define CATEGORY_COLUMN(id, text)                                                                  \
    {"memory_" text "_bytes", "of the peak", text, "", PSIM_QUANTITY_MEMORY, MEMORY,               \
     PSIM_COLUMN_HIDE_ZERO, NULL, category_##id},
    PSIM_MEMORY_CATEGORY_MAP(CATEGORY_COLUMN)
#undef CATEGORY_COLUMN
};
/* clang-format on */

const struct psim_column_set psim_stage_columns = {columns,
                                                   (int)(sizeof columns / sizeof columns[0]),
                                                   {"Stages", "Memory at each stage's peak", NULL}};

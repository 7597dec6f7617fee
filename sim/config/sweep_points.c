/* From a point of a sweep to its scenario. */
#include "sim/config/sweep_points.h"

#include "sim/config/formats.h"
#include "sim/config/key_path.h"

#include <stdio.h>
#include <string.h>

int psim_sweep_value_index(const struct psim_sweep *sweep, int axis, int64_t point)
{
    for (int a = sweep->axis_count - 1; a > axis; a--)
        point /= sweep->axes[a].value_count;
    return (int)(point % sweep->axes[axis].value_count);
}

void psim_sweep_value_json(const struct psim_sweep_axis *axis, int value, int key,
                           struct psim_text *out)
{
    psim_node_write(axis->values[value * axis->key_count + key], out);
}

static void put_values(struct psim_reader *reader, const struct psim_sweep *sweep, int64_t point,
                       const struct psim_node *root)
{
    for (int a = 0; a < sweep->axis_count; a++) {
        const struct psim_sweep_axis *axis = &sweep->axes[a];
        const int value = psim_sweep_value_index(sweep, a, point);

        for (int k = 0; k < axis->key_count; k++) {
            struct psim_key_path path;

            if (psim_key_path_read(axis->keys[k], reader->arena, &path))
                psim_node_put(reader, root, &path, axis->values[value * axis->key_count + k]);
            else
                psim_reader_out_of_memory(reader); /* it was a path when the axis was read */
        }
    }
}

enum psim_status psim_sweep_point(const struct psim_sweep *sweep, int64_t point,
                                  const struct psim_catalogue *catalogue, struct psim_scenario *out,
                                  struct psim_diagnostics *list)
{
    struct psim_arena arena = PSIM_ARENA_INIT; /* of the values, until the scenario is read */
    struct psim_scenario scenario;
    struct psim_reader reader;
    const struct psim_node *root;
    enum psim_status status;

    psim_reader_init(&reader, catalogue, &arena, list);
    psim_reader_give(&reader, sweep->scenario_file, sweep->scenario_text, sweep->scenario_length);
    root = psim_reader_open(&reader, sweep->scenario_file, PSIM_FILE_SCENARIO, NULL);
    if (root != NULL)
        put_values(&reader, sweep, point, root);
    /* Also without the values that had no place, for what is wrong with the others. */
    if (root != NULL && psim_read_scenario(&reader, root, &scenario)) {
        if (psim_reader_clean(&reader, 0))
            *out = scenario;
        else
            psim_scenario_release(&scenario);
    }
    status = psim_reader_finish(&reader);
    psim_arena_release(&arena);
    return status;
}

/* ---- Trying ---- */

/* The key of the axis that a fault is of: at the key, or inside its value; -1: of none. */
static int key_of_fault(const struct psim_sweep_axis *axis, const char *path)
{
    for (int k = 0; k < axis->key_count; k++) {
        const char *key = axis->keys[k], *at = path + (path[0] == '.' ? 1 : 0);
        const size_t length = strlen(key);

        if (strncmp(at, key, length) == 0 && strchr(".[", at[length]) != NULL)
            return k;
    }
    return -1;
}

static bool is_of_points(const struct psim_sweep *sweep, const char *file)
{
    for (int a = 0; a < sweep->axis_count; a++) {
        if (strcmp(sweep->axes[a].values[0]->document->name, file) == 0)
            return true;
    }
    return strcmp(sweep->scenario_file, file) == 0;
}

static bool is_known(const struct psim_diagnostics *list, const struct psim_diagnostic *item)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct psim_diagnostic *known = &list->items[i];

        if (known->at.line == item->at.line && known->at.column == item->at.column &&
            strcmp(known->at.file, item->at.file) == 0 && strcmp(known->path, item->path) == 0 &&
            strcmp(known->message, item->message) == 0)
            return true;
    }
    return false;
}

/* Says of a value in a sweep/1 file where it stands there, and what it does to the scenario. */
static void take_over(struct psim_reader *reader, const struct psim_sweep *sweep, int value,
                      const struct psim_diagnostic *item)
{
    const enum psim_status status =
        item->severity == PSIM_SEVERITY_ERROR ? PSIM_ERR_SCHEMA : PSIM_OK;
    struct psim_text place = PSIM_TEXT_INIT;
    struct psim_diagnostic told = *item;
    char message[640];

    for (int a = 0; a < sweep->axis_count; a++) {
        const struct psim_sweep_axis *axis = &sweep->axes[a];
        const int key = key_of_fault(axis, item->path);

        if (key < 0 || axis->path == NULL ||
            strcmp(axis->values[0]->document->name, item->at.file) != 0)
            continue;
        psim_text_printf(&place, "%s", axis->path);
        if (!axis->is_range)
            psim_text_printf(&place, axis->is_listed ? "[%d][%d]" : "[%d]", value, key);
        snprintf(message, sizeof message, "%s: %s", item->path, item->message);
        told.path = place.failed ? axis->path : place.data;
        told.message = message;
    }
    if (!is_known(reader->list, &told)) {
        psim_diagnose(reader->list, status, told.at, told.path, told.suggestion, "%s",
                      told.message);
        reader->faults += status != PSIM_OK ? 1 : 0;
    }
    psim_text_release(&place);
}

/* Takes over what counts; with axis < 0 of the first point, of which everything does. */
static void report(struct psim_reader *reader, const struct psim_sweep *sweep, int axis, int value,
                   const struct psim_diagnostics *found)
{
    for (size_t i = 0; i < found->count; i++) {
        const struct psim_diagnostic *item = &found->items[i];

        if (axis < 0 || (item->severity == PSIM_SEVERITY_ERROR &&
                         (!is_of_points(sweep, item->at.file) ||
                          key_of_fault(&sweep->axes[axis], item->path) >= 0)))
            take_over(reader, sweep, value, item);
    }
    if (found->out_of_memory)
        psim_reader_out_of_memory(reader);
}

static void try_point(struct psim_reader *reader, const struct psim_sweep *sweep, int axis,
                      int value, int64_t point, SHA256_CTX *hash)
{
    struct psim_diagnostics found = PSIM_DIAGNOSTICS_INIT;
    struct psim_scenario scenario;

    if (psim_sweep_point(sweep, point, reader->catalogue, &scenario, &found) == PSIM_OK) {
        SHA256Update(hash, (const uint8_t *)scenario.inputs_sha256, 64);
        psim_scenario_release(&scenario);
    }
    report(reader, sweep, axis, value, &found);
    psim_diagnostics_release(&found);
}

void psim_sweep_try_values(struct psim_reader *reader, struct psim_sweep *sweep)
{
    int64_t stride = sweep->point_count;
    SHA256_CTX hash;

    SHA256Init(&hash);
    SHA256Update(&hash, (const uint8_t *)sweep->scenario_text, sweep->scenario_length);
    try_point(reader, sweep, -1, 0, 0, &hash);
    for (int a = 0; a < sweep->axis_count; a++) {
        stride /= sweep->axes[a].value_count;
        for (int v = 1; v < sweep->axes[a].value_count; v++)
            try_point(reader, sweep, a, v, v * stride, &hash);
    }
    SHA256End(&hash, sweep->inputs_sha256);
}

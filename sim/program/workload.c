/*
 * From blocks and devices to stages: what each unit costs on each type of device, where to cut.
 */
#include "sim/program/workload_parts.h"

#include <math.h>
#include <string.h>

#define MICROBATCH_MAX (INT64_C(1) << 20)

static enum psim_status out_of_memory(struct psim_error *err)
{
    return psim_fail(err, PSIM_ERR_NOMEM, "model", "%s", psim_status_text(PSIM_ERR_NOMEM));
}

int psim_cut_device(const struct psim_cut *cut, int slot)
{
    return cut->options->placement != NULL ? cut->options->placement[slot] : slot;
}

const struct psim_unit_cost *psim_cut_cost(const struct psim_cut *cut, int stage, int unit)
{
    return &cut->costs[(size_t)cut->slot_columns[stage] * (size_t)cut->units + (size_t)unit];
}

/* Every named device exists and holds one stage. */
static enum psim_status check_placement(const struct psim_cut *cut, struct psim_error *err)
{
    const int devices = cut->platform->device_count;
    bool *taken = psim_alloc((size_t)devices, sizeof(*taken));
    enum psim_status status = PSIM_OK;

    if (taken == NULL)
        return out_of_memory(err);
    for (int slot = 0; slot < cut->slots && status == PSIM_OK; slot++) {
        const int device = psim_cut_device(cut, slot);

        if (device < 0 || device >= devices)
            status = psim_fail(err, PSIM_ERR_RANGE, "placement",
                               "stage %d is on device %d of a platform with %d", slot + 1, device,
                               devices);
        else if (taken[device])
            status =
                psim_fail(err, PSIM_ERR_RANGE, "placement", "device \"%s\" is named for two stages",
                          psim_platform_device_name(cut->platform, device));
        else
            taken[device] = true;
    }
    psim_free(taken);
    return status;
}

/* Number of stages, and that a list adds up. */
static enum psim_status count_stages(struct psim_cut *cut, struct psim_error *err)
{
    const struct psim_workload_options *options = cut->options;
    int64_t listed = 0;

    switch (options->partition) {
    case PSIM_PARTITION_PER_BLOCK:
        cut->stages = cut->units;
        break;
    case PSIM_PARTITION_BALANCED:
        cut->stages = cut->slots < cut->units ? cut->slots : cut->units;
        break;
    case PSIM_PARTITION_LIST:
        cut->stages = options->partition_count;
        for (int i = 0; i < options->partition_count; i++) {
            if (options->partition_list[i] < 1)
                return psim_fail(err, PSIM_ERR_RANGE, "partition",
                                 "every stage needs a block, stage %d has %d", i + 1,
                                 options->partition_list[i]);
            listed += options->partition_list[i];
        }
        if (listed != cut->units)
            return psim_fail(err, PSIM_ERR_RANGE, "partition",
                             "the list sums to %lld blocks, model \"%s\" has %d", (long long)listed,
                             cut->model->name, cut->units);
        break;
    }
    if (cut->stages > cut->slots)
        return psim_fail(err, PSIM_ERR_RANGE, options->placement != NULL ? "placement" : "platform",
                         "%d stages need as many devices, but there %s %d%s", cut->stages,
                         cut->slots == 1 ? "is" : "are", cut->slots,
                         options->partition == PSIM_PARTITION_PER_BLOCK
                             ? "; partition \"balanced\" makes do with fewer"
                             : "");
    return PSIM_OK;
}

static enum psim_status check_input(struct psim_cut *cut, struct psim_error *err)
{
    const struct psim_workload_options *options = cut->options;
    enum psim_status status;

    if (options->microbatch < 1 || options->microbatch > MICROBATCH_MAX)
        return psim_fail(err, PSIM_ERR_RANGE, "microbatch", "must be in [1, %lld], not %lld",
                         (long long)MICROBATCH_MAX, (long long)options->microbatch);
    if (cut->units < 1 || cut->slots < 1)
        return psim_fail(err, PSIM_ERR_RANGE, cut->units < 1 ? "model" : "platform",
                         "%d stages and %d devices: at least one of each is needed", cut->units,
                         cut->slots);
    status = check_placement(cut, err);
    return status == PSIM_OK ? count_stages(cut, err) : status;
}

/* Gives every type of device in use a column, in the order of first use. */
static enum psim_status find_columns(struct psim_cut *cut, struct psim_error *err)
{
    const struct psim_platform *platform = cut->platform;
    int *column_of_type = psim_alloc((size_t)platform->type_count, sizeof(int));
    enum psim_status status = PSIM_OK;

    cut->slot_columns = psim_alloc((size_t)cut->stages, sizeof(int));
    cut->columns = psim_alloc((size_t)platform->type_count, sizeof(*cut->columns));
    cut->bounds = psim_alloc((size_t)cut->stages + 1, sizeof(int));
    if (column_of_type == NULL || cut->slot_columns == NULL || cut->columns == NULL ||
        cut->bounds == NULL) {
        status = out_of_memory(err);
        goto out;
    }
    for (int slot = 0; slot < cut->stages; slot++) {
        const int device = psim_cut_device(cut, slot);
        int *column = &column_of_type[platform->vertices[platform->devices[device]].device_type];

        if (*column == 0) { /* counted from 1 here: 0 is "none yet" */
            cut->columns[cut->column_count++] = psim_platform_device(platform, device);
            *column = cut->column_count;
        }
        cut->slot_columns[slot] = *column - 1;
    }
out:
    psim_free(column_of_type);
    return status;
}

static enum psim_status network_unit(const struct psim_cut *cut, const struct psim_device *device,
                                     int unit, struct psim_unit_cost *out, struct psim_error *err)
{
    struct psim_block_cost cost;
    const enum psim_status status =
        psim_block_cost(&cut->model->network->blocks[unit], cut->options, device, &cost, err);

    if (status != PSIM_OK)
        return status;
    out->forward_s = cost.pass_s[PSIM_COST_FORWARD];
    out->reconstruct_s = out->forward_s; /* one evaluation of the same layers */
    out->backward_input_s = cost.pass_s[PSIM_COST_BACKWARD_INPUT];
    out->backward_weight_s = cost.pass_s[PSIM_COST_BACKWARD_WEIGHT];
    out->update_s = cost.update_s;
    out->forward_flop = cost.pass_flop[PSIM_COST_FORWARD];
    out->backward_flop =
        cost.pass_flop[PSIM_COST_BACKWARD_INPUT] + cost.pass_flop[PSIM_COST_BACKWARD_WEIGHT];
    memcpy(out->kind_s, cost.kind_s, sizeof(out->kind_s));
    return PSIM_OK;
}

/* Rate of a device that given times scale with; NaN when it is not known. */
static double speed_of(const struct psim_device *device, enum psim_precision precision)
{
    const struct psim_rate *rate = psim_device_rate(device, PSIM_WORK_DEFAULT, precision, NULL);

    return rate == NULL ? NAN : device->peak_flop_per_s[precision] * rate->compute;
}

static enum psim_status given_unit(const struct psim_cut *cut, const struct psim_device *device,
                                   int unit, struct psim_unit_cost *out, struct psim_error *err)
{
    const struct psim_given_stage *given = &cut->model->given[unit];
    const struct psim_device *origin = given->measured_on;
    const enum psim_precision precision = cut->options->precision;
    double scale = 1.0;

    if (origin != NULL && strcmp(origin->name, device->name) != 0)
        scale = speed_of(origin, precision) / speed_of(device, precision);
    if (!(scale > 0.0) || isinf(scale))
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, "measured_on",
                         "times of \"%s\" cannot be scaled from \"%s\" to \"%s\": a peak or a "
                         "default rate for %s is missing",
                         given->name, origin->name, device->name, psim_precision_names[precision]);
    out->forward_s = scale * given->forward_s;
    out->reconstruct_s = scale * given->reconstruct_s;
    out->backward_input_s = scale * given->backward_input_s;
    out->backward_weight_s = scale * given->backward_weight_s;
    out->update_s = scale * given->update_s;
    out->forward_flop = NAN;
    out->backward_flop = NAN;
    return PSIM_OK;
}

static enum psim_status find_costs(struct psim_cut *cut, struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    cut->costs = psim_alloc((size_t)cut->column_count * (size_t)cut->units, sizeof(*cut->costs));
    if (cut->costs == NULL)
        return out_of_memory(err);
    for (int column = 0; column < cut->column_count; column++)
        for (int unit = 0; unit < cut->units && status == PSIM_OK; unit++) {
            struct psim_unit_cost *cost =
                &cut->costs[(size_t)column * (size_t)cut->units + (size_t)unit];

            status = cut->model->network != NULL
                         ? network_unit(cut, cut->columns[column], unit, cost, err)
                         : given_unit(cut, cut->columns[column], unit, cost, err);
        }
    return status;
}

/* Sums per column that psim_partition_balance takes differences of. */
static enum psim_status balance(struct psim_cut *cut, struct psim_error *err)
{
    const size_t length = (size_t)cut->units + 1;
    double *sums = psim_alloc((size_t)cut->column_count * length, sizeof(*sums));
    const double **prefix = psim_alloc((size_t)cut->stages, sizeof(*prefix));
    enum psim_status status;

    if (sums == NULL || prefix == NULL) {
        status = out_of_memory(err);
        goto out;
    }
    for (int column = 0; column < cut->column_count; column++)
        for (size_t unit = 0; unit + 1 < length; unit++) {
            const struct psim_unit_cost *cost =
                &cut->costs[(size_t)column * (size_t)cut->units + unit];
            const double *before = &sums[(size_t)column * length + unit];

            sums[(size_t)column * length + unit + 1] =
                *before + cost->forward_s + cost->backward_input_s + cost->backward_weight_s;
        }
    for (int stage = 0; stage < cut->stages; stage++)
        prefix[stage] = &sums[(size_t)cut->slot_columns[stage] * length];
    status = psim_partition_balance(prefix, cut->units, cut->stages, cut->bounds, err);
out:
    psim_free(sums);
    psim_free(prefix);
    return status;
}

static enum psim_status find_bounds(struct psim_cut *cut, struct psim_error *err)
{
    const bool list = cut->options->partition == PSIM_PARTITION_LIST;

    if (cut->options->partition == PSIM_PARTITION_BALANCED)
        return balance(cut, err);
    for (int stage = 0; stage < cut->stages; stage++)
        cut->bounds[stage + 1] =
            cut->bounds[stage] + (list ? cut->options->partition_list[stage] : 1);
    return PSIM_OK;
}

static enum psim_status fill(const struct psim_cut *cut, struct psim_workload *workload,
                             struct psim_error *err)
{
    const struct psim_workload_model *model = cut->model;
    enum psim_status status = PSIM_OK;

    workload->given = model->network == NULL;
    workload->element_bytes = psim_element_bytes(cut->options->precision);
    workload->stage_count = cut->stages;
    workload->model_name = psim_arena_text(&workload->arena, model->name, strlen(model->name));
    workload->stages =
        psim_arena_alloc(&workload->arena, (size_t)cut->stages, sizeof(*workload->stages));
    if (workload->model_name == NULL || workload->stages == NULL)
        return out_of_memory(err);
    for (int unit = 0; unit < cut->units; unit++)
        if (workload->given ? model->given[unit].reversible
                            : model->network->blocks[unit].reversible)
            workload->reversible_blocks++;
    for (int stage = 0; stage < cut->stages && status == PSIM_OK; stage++)
        status = psim_stage_fill(cut, stage, &workload->arena, &workload->stages[stage], err);
    return status == PSIM_OK ? psim_workload_tags(cut, workload, err) : status;
}

enum psim_status psim_workload_build(const struct psim_workload_model *model,
                                     const struct psim_platform *platform,
                                     const struct psim_workload_options *options,
                                     struct psim_workload *out, struct psim_error *err)
{
    struct psim_cut cut = {
        .model = model,
        .platform = platform,
        .options = options,
        .units = model->network != NULL ? model->network->block_count : model->given_count,
        .slots = options->placement != NULL ? options->placement_count : platform->device_count};
    struct psim_workload workload = {.arena = PSIM_ARENA_INIT};
    enum psim_status status = check_input(&cut, err);

    if (status == PSIM_OK)
        status = find_columns(&cut, err);
    if (status == PSIM_OK)
        status = find_costs(&cut, err);
    if (status == PSIM_OK)
        status = find_bounds(&cut, err);
    if (status == PSIM_OK)
        status = fill(&cut, &workload, err);
    psim_free(cut.slot_columns);
    psim_free(cut.columns);
    psim_free(cut.costs);
    psim_free(cut.bounds);
    if (status == PSIM_OK)
        *out = workload;
    else
        psim_workload_release(&workload);
    return status;
}

void psim_workload_release(struct psim_workload *workload)
{
    psim_arena_release(&workload->arena);
    memset(workload, 0, sizeof(*workload));
}

/*
 * What can be said of a scenario without simulating it: do stages, devices, routes and methods go
 * together?
 */
#include "sim/config/formats.h"
#include "sim/config/plausibility.h"

#include <math.h>

struct check {
    struct psim_reader *reader;
    const struct psim_scenario *scenario;
    const struct psim_node *platform, *partition, *placement, *precision, *data_parallel;
};

static int block_count(const struct psim_workload_model *model)
{
    return model->network != NULL ? model->network->block_count : model->given_count;
}

static bool block_is_reversible(const struct psim_workload_model *model, int block)
{
    return model->network != NULL ? model->network->blocks[block].reversible
                                  : model->given[block].reversible;
}

static int available_devices(const struct psim_scenario *scenario)
{
    return scenario->workload.placement != NULL ? scenario->workload.placement_count
                                                : scenario->platform.device_count;
}

int psim_scenario_device(const struct psim_scenario *scenario, int stage)
{
    return scenario->workload.placement != NULL ? scenario->workload.placement[stage] : stage;
}

/* Stages that a model is cut into; with "balanced", the most it may be. */
static int stage_count(const struct psim_scenario *scenario,
                       const struct psim_workload_model *model)
{
    const int blocks = block_count(model), devices = available_devices(scenario);

    switch (scenario->workload.partition) {
    case PSIM_PARTITION_LIST:
        return scenario->workload.partition_count;
    case PSIM_PARTITION_BALANCED:
        return blocks < devices ? blocks : devices;
    case PSIM_PARTITION_PER_BLOCK:
        break;
    }
    return blocks;
}

/* A stage of merged blocks is reversible if all its blocks are. */
static int reversible_stages(const struct psim_scenario *scenario,
                             const struct psim_workload_model *model, int reversible_blocks)
{
    const struct psim_workload_options *options = &scenario->workload;
    const int stages = stage_count(scenario, model);
    int count = 0, block = 0;

    /* A list that does not fit the model was reported; it is not followed past the last block. */
    if (options->partition == PSIM_PARTITION_PER_BLOCK)
        return reversible_blocks;
    if (options->partition == PSIM_PARTITION_BALANCED)
        return stages < reversible_blocks ? stages : reversible_blocks;
    for (int stage = 0; stage < stages; stage++) {
        const int end = block + options->partition_list[stage];
        bool reversible = true;

        for (; block < end && block < block_count(model); block++)
            reversible = reversible && block_is_reversible(model, block);
        count += reversible ? 1 : 0;
    }
    return count;
}

static void check_list_sum(const struct check *check, const struct psim_workload_model *model)
{
    const struct psim_workload_options *options = &check->scenario->workload;
    int64_t sum = 0;

    for (int i = 0; i < options->partition_count; i++)
        sum += options->partition_list[i];
    if (options->partition == PSIM_PARTITION_LIST && sum != block_count(model))
        psim_reader_error(check->reader, check->partition, PSIM_ERR_RANGE, NULL,
                          "the list adds up to %lld blocks, but the model \"%s\" has %d",
                          (long long)sum, model->name, block_count(model));
}

static void check_device_count(const struct check *check, const struct psim_workload_model *model)
{
    const int stages = stage_count(check->scenario, model);
    const int devices = available_devices(check->scenario);

    if (stages <= devices)
        return;
    if (check->placement == NULL && check->scenario->workload.placement != NULL)
        psim_reader_error(check->reader, check->data_parallel, PSIM_ERR_RANGE, NULL,
                          "leaves each copy %d stages' devices, but the model \"%s\" has %d "
                          "stages",
                          devices, model->name, stages);
    else if (check->scenario->workload.placement != NULL)
        psim_reader_error(check->reader, check->placement, PSIM_ERR_RANGE, NULL,
                          "names %d devices, but the model \"%s\" has %d stages", devices,
                          model->name, stages);
    else
        psim_reader_error(check->reader, check->platform, PSIM_ERR_RANGE, NULL,
                          "the platform has %d devices, but the model \"%s\" has %d stages%s",
                          devices, model->name, stages,
                          check->scenario->workload.partition == PSIM_PARTITION_PER_BLOCK
                              ? "; \"partition\": \"balanced\" cuts it to fit"
                              : "");
}

/* Neighbours in the pipeline must reach each other; names the first pair that does not. */
static void check_routes(const struct check *check, int stages)
{
    const struct psim_platform *platform = &check->scenario->platform;
    int from = -1, to = -1, unreachable = 0;

    for (int i = 0; i + 1 < stages; i++) {
        const int here = psim_scenario_device(check->scenario, i),
                  there = psim_scenario_device(check->scenario, i + 1);
        struct psim_route route = {0};
        const enum psim_status status = psim_platform_route(platform, here, there, &route, NULL);

        psim_route_release(&route);
        if (status == PSIM_ERR_NOMEM) {
            psim_reader_out_of_memory(check->reader);
            return;
        }
        if (status != PSIM_OK && unreachable++ == 0) {
            from = here;
            to = there;
        }
    }
    if (unreachable > 0)
        psim_reader_error(check->reader,
                          check->placement != NULL ? check->placement : check->platform,
                          PSIM_ERR_MODEL, NULL,
                          "no route joins \"%s\" and \"%s\", neighbours in the pipeline (pairs of "
                          "stages without a route: %d)",
                          psim_platform_device_name(platform, from),
                          psim_platform_device_name(platform, to), unreachable);
}

/* A network's layers need the peak of every device that they run on. */
static void check_peaks(const struct check *check, int stages)
{
    const struct psim_scenario *scenario = check->scenario;
    const struct psim_platform *platform = &scenario->platform;

    for (int type = 0; type < platform->type_count; type++) {
        const struct psim_device *device = &platform->types[type].device;
        bool used = false;

        for (int i = 0; i < stages; i++)
            used =
                used || psim_platform_device(platform, psim_scenario_device(scenario, i)) == device;
        if (used && isnan(device->peak_flop_per_s[scenario->workload.precision]))
            psim_reader_error(check->reader,
                              check->precision != NULL ? check->precision : check->platform,
                              PSIM_ERR_MODEL, NULL, "the device \"%s\" has no peak for %s",
                              device->name, psim_precision_names[scenario->workload.precision]);
    }
}

static void check_method(const struct check *check, const struct psim_node *entry,
                         const struct psim_scenario_method *row)
{
    struct psim_network_traits traits = {
        .name = row->model->name,
        .stages = stage_count(check->scenario, row->model),
    };
    struct psim_shape shape = row->shape;
    struct psim_error err = PSIM_ERROR_INIT;

    for (int i = 0; i < block_count(row->model); i++)
        traits.reversible_blocks += block_is_reversible(row->model, i) ? 1 : 0;
    traits.reversible_stages =
        reversible_stages(check->scenario, row->model, traits.reversible_blocks);
    shape.stages = traits.stages;
    if (row->method->check != NULL && row->method->check(&shape, &traits, &err) != PSIM_OK)
        psim_reader_error(check->reader, entry, err.status, NULL, "%s cannot run: %s",
                          row->method->name, err.message);
}

/* True for the first row of a model: what concerns models is said once. */
static bool is_first_use(const struct psim_scenario *scenario, int index)
{
    for (int i = 0; i < index; i++) {
        if (scenario->methods[i].model == scenario->methods[index].model)
            return false;
    }
    return true;
}

/* Stages and devices of each model; *stages becomes the longest pipeline, *layered the longest of
 * a network. */
static void check_models(const struct check *check, int *stages, int *layered)
{
    const struct psim_scenario *scenario = check->scenario;

    for (int i = 0; i < scenario->method_count; i++) {
        const struct psim_workload_model *model = scenario->methods[i].model;
        int count;

        if (model == NULL || !is_first_use(scenario, i))
            continue;
        count = stage_count(scenario, model);
        check_list_sum(check, model);
        check_device_count(check, model);
        if (count > *stages)
            *stages = count;
        if (count > *layered && model->network != NULL)
            *layered = count;
    }
}

void psim_check_scenario(struct psim_reader *reader, const struct psim_node *root,
                         const struct psim_scenario *scenario)
{
    const int faults = reader->faults;
    const struct check check = {
        .reader = reader,
        .scenario = scenario,
        .platform = psim_node_member(root, "platform"),
        .partition = psim_node_member(root, "partition"),
        .placement = psim_node_member(root, "placement"),
        .precision = psim_node_member(root, "precision"),
        .data_parallel = psim_node_member(root, "data_parallel"),
    };
    const struct psim_node *methods = psim_node_member(root, "methods");
    int stages = 0, layered = 0;

    check_models(&check, &stages, &layered);
    if (psim_reader_clean(reader, faults)) {
        check_routes(&check, stages);
        check_peaks(&check, layered);
    }
    for (int i = 0; i < scenario->method_count; i++) {
        const struct psim_scenario_method *row = &scenario->methods[i];

        if (row->method != NULL && row->model != NULL)
            check_method(&check, psim_node_element(methods, i), row);
    }
    if (psim_reader_status(reader) == PSIM_OK)
        psim_judge_scenario(reader, root, scenario, stages);
}

/*
 * The space of a goal, and a bound on every plan of it.
 *
 * The loops are ordered so that what is dear is done once: networks are cut once for a platform, an
 * arrangement, a number of stages and a micro-batch; a method's order of work is read once for a
 * number of stages and an accumulation.
 */
#include "sim/base/memory.h"
#include "sim/plan/bound.h"
#include "sim/plan/plan.h"

#include <math.h>
#include <string.h>

#define ORDERS 8 /* remembered a method and accumulation, by which stages are reversible */

/* A network cut into stages on a platform. */
struct cell {
    int platform, arrangement;
    int64_t microbatch;
    struct psim_workload workload;
    double *gains, *sync_in_bytes_per_s; /* [stages] */
    bool *reversible;                    /* [stages] */
};

/* Times of messages between devices that are `stride` apart. */
struct stride {
    int platform, arrangement, stride;
    struct psim_route *routes; /* [2 * (stages - 1)] forward, back; lazily */
    int count;
};

struct space {
    struct psim_plan *plan;
    int model, stages;
    struct cell *cells;
    int cell_count, cell_capacity;
    struct stride *strides;
    int stride_count, stride_capacity;
    struct psim_order orders[ORDERS];
    bool *order_patterns[ORDERS];
    int order_count;
    struct psim_bound_hop *hops;    /* [stages] */
    double *sync_s;                 /* [stages] */
    struct psim_stage_times *times; /* [stages] */
};

static enum psim_status no_memory(struct psim_error *err)
{
    return psim_fail(err, PSIM_ERR_NOMEM, "plan", "out of memory");
}

static const struct psim_platform *platform_of(const struct space *space, int platform)
{
    return &space->plan->goal->platforms[platform].platform;
}

static int blocks_of(const struct psim_workload_model *model)
{
    return model->network != NULL ? model->network->block_count : model->given_count;
}

static int device_at(const struct space *space, int platform, int arrangement, int slot)
{
    const int *devices = space->plan->platforms[platform].arrangements[arrangement].devices;

    return devices == NULL ? slot : devices[slot];
}

/* ---- Cells ---- */

static void release_cell(struct cell *cell)
{
    psim_workload_release(&cell->workload);
    psim_free(cell->gains);
    psim_free(cell->sync_in_bytes_per_s);
    psim_free(cell->reversible);
}

static enum psim_status fill_cell(struct space *space, struct cell *cell, struct psim_error *err)
{
    const struct psim_goal *goal = space->plan->goal;
    const struct psim_platform *platform = platform_of(space, cell->platform);
    const struct psim_workload_model *model = goal->models[space->model].model;
    struct psim_workload_options options = goal->base.workload;
    const size_t stages = (size_t)space->stages;
    int *placement = psim_alloc(stages, sizeof *placement);
    enum psim_status status;

    cell->gains = psim_alloc(stages, sizeof *cell->gains);
    cell->sync_in_bytes_per_s = psim_alloc(stages, sizeof *cell->sync_in_bytes_per_s);
    cell->reversible = psim_alloc(stages, sizeof *cell->reversible);
    if (placement == NULL || cell->gains == NULL || cell->sync_in_bytes_per_s == NULL ||
        cell->reversible == NULL) {
        psim_free(placement);
        return no_memory(err);
    }
    for (int j = 0; j < space->stages; j++)
        placement[j] = device_at(space, cell->platform, cell->arrangement, j);
    options.microbatch = cell->microbatch;
    options.partition = PSIM_PARTITION_BALANCED;
    options.placement = placement;
    options.placement_count = space->stages;
    status = psim_workload_build(model, platform, &options, &cell->workload, err);
    for (int j = 0; status == PSIM_OK && j < space->stages; j++) {
        struct psim_stage *s = &cell->workload.stages[j];

        psim_fit_prepare_stage(s, cell->workload.element_bytes, &space->plan->reserve);
        cell->gains[j] = psim_platform_device(platform, s->device)->concurrency_gain;
        cell->sync_in_bytes_per_s[j] =
            space->plan->platforms[cell->platform].in_bytes_per_s[s->device];
        cell->reversible[j] = s->reversible;
    }
    psim_free(placement);
    return status;
}

/* A combination that cannot be cut (a device without the precision) is unsupported, not a fault. */
static enum psim_status add_cell(struct space *space, int platform, int arrangement,
                                 int64_t microbatch, struct psim_error *err)
{
    struct psim_plan *plan = space->plan;
    struct psim_error refused = PSIM_ERROR_INIT;
    struct cell cell = {.platform = platform, .arrangement = arrangement, .microbatch = microbatch};
    enum psim_status status;

    if (space->cell_count == space->cell_capacity) {
        const int capacity = space->cell_capacity == 0 ? 64 : 2 * space->cell_capacity;
        struct cell *cells = psim_realloc(space->cells, (size_t)capacity, sizeof *cells);

        if (cells == NULL)
            return no_memory(err);
        space->cells = cells;
        space->cell_capacity = capacity;
    }
    status = fill_cell(space, &cell, &refused);
    if (status == PSIM_OK) {
        space->cells[space->cell_count++] = cell;
        return PSIM_OK;
    }
    release_cell(&cell);
    if (status == PSIM_ERR_NOMEM)
        return no_memory(err);
    plan->counts.plans++;
    plan->counts.unsupported++;
    if (plan->unsupported[0] == '\0')
        plan->unsupported =
            psim_arena_printf(&plan->arena, "%s: %s", refused.where, refused.message);
    return plan->unsupported == NULL ? no_memory(err) : PSIM_OK;
}

static enum psim_status make_cells(struct space *space, struct psim_error *err)
{
    const struct psim_goal *goal = space->plan->goal;
    enum psim_status status = PSIM_OK;

    for (int p = 0; p < goal->platform_count && status == PSIM_OK; p++) {
        if (space->stages > goal->platforms[p].platform.device_count)
            continue;
        for (int a = 0; a < space->plan->platforms[p].arrangement_count; a++) {
            for (int b = 0; b < goal->microbatches.count && status == PSIM_OK; b++)
                status = add_cell(space, p, a, goal->microbatches.values[b], err);
        }
    }
    return status;
}

/* ---- Messages ---- */

static enum psim_status find_stride(struct space *space, const struct cell *cell, int stride,
                                    struct stride **out, struct psim_error *err)
{
    struct stride *entry;

    for (int i = 0; i < space->stride_count; i++) {
        entry = &space->strides[i];
        if (entry->platform == cell->platform && entry->arrangement == cell->arrangement &&
            entry->stride == stride) {
            *out = entry;
            return PSIM_OK;
        }
    }
    if (space->stride_count == space->stride_capacity) {
        const int capacity = space->stride_capacity == 0 ? 16 : 2 * space->stride_capacity;
        struct stride *strides = psim_realloc(space->strides, (size_t)capacity, sizeof *strides);

        if (strides == NULL)
            return no_memory(err);
        space->strides = strides;
        space->stride_capacity = capacity;
    }
    entry = &space->strides[space->stride_count++];
    *entry = (struct stride){cell->platform, cell->arrangement, stride, NULL, 0};
    *out = entry;
    return PSIM_OK;
}

/* Fills the times of a cell's messages, to neighbours that are `stride` apart. */
static enum psim_status fill_hops(struct space *space, const struct cell *cell, int stride,
                                  bool sends_back, struct psim_error *err)
{
    const struct psim_platform *platform = platform_of(space, cell->platform);
    struct stride *entry = NULL;
    enum psim_status status = find_stride(space, cell, stride, &entry, err);

    if (status == PSIM_OK && entry->count < 2 * (space->stages - 1)) {
        struct psim_route *routes =
            psim_realloc(entry->routes, 2 * (size_t)space->stages, sizeof *routes);

        if (routes == NULL)
            return no_memory(err);
        entry->routes = routes;
        while (entry->count < 2 * (space->stages - 1) && status == PSIM_OK) {
            const int hop = entry->count / 2, back = entry->count % 2;
            const int near = device_at(space, cell->platform, cell->arrangement, hop * stride);
            const int far = device_at(space, cell->platform, cell->arrangement, (hop + 1) * stride);

            status = psim_platform_route(platform, back ? far : near, back ? near : far,
                                         &routes[entry->count], err);
            entry->count += status == PSIM_OK ? 1 : 0;
        }
    }
    for (int j = 0; status == PSIM_OK && j + 1 < space->stages; j++) {
        const struct psim_route *route = &entry->routes[2 * j];
        const double bytes = (double)cell->workload.stages[j + 1].input_bytes;

        space->hops[j].forward_s = route[0].latency_s + bytes / route[0].bandwidth_bytes_per_s;
        space->hops[j].backward_s =
            route[1].latency_s + (sends_back ? 2 : 1) * bytes / route[1].bandwidth_bytes_per_s;
    }
    return status;
}

/* ---- Orders ---- */

static void forget_orders(struct space *space)
{
    for (int i = 0; i < space->order_count; i++) {
        psim_order_release(&space->orders[i]);
        psim_free(space->order_patterns[i]);
    }
    space->order_count = 0;
}

static struct psim_shape shape_of(const struct space *space, const struct cell *cell, int method,
                                  int64_t accumulation)
{
    const struct psim_scenario_method *entry = &space->plan->goal->base.methods[method];
    struct psim_shape shape = entry->shape;

    psim_method_set_accumulation(entry->method, accumulation, &shape);
    shape.stages = space->stages;
    shape.reversible = cell->reversible;
    shape.streams = cell->workload.reversible_blocks > 0 ? 2 : 1;
    return shape;
}

/* The order of a method on a cell's stages: read once for equal patterns of reversible stages. */
static enum psim_status find_order(struct space *space, const struct cell *cell,
                                   const struct psim_method *method, const struct psim_shape *shape,
                                   const struct psim_order **out, struct psim_error *err)
{
    const size_t size = (size_t)space->stages * sizeof(bool);
    bool *pattern;
    enum psim_status status;

    for (int i = 0; i < space->order_count; i++) {
        if (memcmp(space->order_patterns[i], cell->reversible, size) == 0) {
            *out = &space->orders[i];
            return PSIM_OK;
        }
    }
    if (space->order_count == ORDERS)
        forget_orders(space);
    pattern = psim_alloc((size_t)space->stages, sizeof *pattern);
    if (pattern == NULL)
        return no_memory(err);
    memcpy(pattern, cell->reversible, size);
    status = psim_order_read(method, shape, &space->orders[space->order_count], err);
    if (status != PSIM_OK) {
        psim_free(pattern);
        return status;
    }
    space->order_patterns[space->order_count] = pattern;
    *out = &space->orders[space->order_count++];
    return PSIM_OK;
}

/* ---- Points ---- */

static enum psim_status add_point(struct psim_plan *plan, const struct psim_plan_point *point,
                                  struct psim_error *err)
{
    if (plan->point_count == plan->point_capacity) {
        const int64_t capacity = plan->point_capacity == 0 ? 1024 : 2 * plan->point_capacity;
        struct psim_plan_point *points =
            psim_realloc(plan->points, (size_t)capacity, sizeof *points);

        if (points == NULL)
            return no_memory(err);
        plan->points = points;
        plan->point_capacity = capacity;
    }
    plan->points[plan->point_count++] = *point;
    return PSIM_OK;
}

static double parameters_of(const struct psim_workload_model *model, int element_bytes)
{
    double bytes = 0;

    if (model->network != NULL)
        return (double)model->network->parameters;
    for (int i = 0; i < model->given_count; i++)
        bytes += (double)model->given[i].parameter_bytes;
    return bytes / element_bytes;
}

static struct psim_plan_figures bound_figures(struct space *space, const struct cell *cell,
                                              const struct psim_bound_input *input,
                                              const struct psim_plan_point *point)
{
    struct psim_plan *plan = space->plan;
    const struct psim_scenario_method *entry = &plan->goal->base.methods[point->method];
    const int gpus = point->stages * point->replicas;
    const double samples = (double)point->microbatch * point->replicas;
    const double updates =
        entry->method->updates_every_microbatch ? 1 : (double)point->accumulation;
    int64_t needed;
    const double fill = psim_bound_memory(input, &needed);
    struct psim_plan_figures figures = {
        .seconds_per_sample = psim_bound_time(input) / samples,
        .memory_bytes = (double)needed,
        .fill = fill,
        .gpus = gpus,
        .parameters =
            parameters_of(plan->goal->models[point->model].model, cell->workload.element_bytes),
        .microbatch = (double)point->microbatch,
        .samples_per_update = samples * updates,
    };

    figures.usd_per_sample =
        figures.seconds_per_sample * psim_plan_price(plan, point->platform, gpus) / 3600;
    return figures;
}

/* Copies must find the devices that the first one has: only equal ones are supported. */
static bool copies_are_alike(const struct space *space, const struct cell *cell, int gpus)
{
    const struct psim_platform *platform = platform_of(space, cell->platform);

    for (int i = 1; i < gpus; i++) {
        if (psim_plan_device_type(platform, i) != psim_plan_device_type(platform, 0))
            return false;
    }
    return cell->arrangement == 0;
}

static enum psim_status bound_point(struct space *space, const struct cell *cell, int method,
                                    const struct psim_shape *shape, int replicas,
                                    bool replicas_first, struct psim_error *err)
{
    struct psim_plan *plan = space->plan;
    const struct psim_method *kind = plan->goal->base.methods[method].method;
    struct psim_plan_point point = {.model = space->model,
                                    .platform = cell->platform,
                                    .method = method,
                                    .arrangement = cell->arrangement,
                                    .stages = space->stages,
                                    .replicas = replicas,
                                    .replicas_first = replicas_first,
                                    .microbatch = cell->microbatch,
                                    .accumulation = shape->accumulation,
                                    .evaluation = -1};
    struct psim_bound_input input = {.method = kind,
                                     .accumulation = shape->accumulation,
                                     .shape = shape,
                                     .times = space->times,
                                     .stages = cell->workload.stages,
                                     .gains = cell->gains,
                                     .hops = space->hops,
                                     .sync_s = space->sync_s,
                                     .sends_activation_back = kind->sends_activation_back,
                                     .sends = space->stages > 1 || replicas > 1,
                                     .element_bytes = cell->workload.element_bytes,
                                     .reserve = &plan->reserve};
    enum psim_status status = find_order(space, cell, kind, shape, &input.order, err);

    if (status == PSIM_OK)
        status =
            fill_hops(space, cell, replicas_first ? replicas : 1, kind->sends_activation_back, err);
    if (status != PSIM_OK)
        return status;
    input.overlap = kind->overlap == NULL ? PSIM_OVERLAP_IDEAL : kind->overlap(shape);
    for (int j = 0; j < space->stages; j++)
        space->sync_s[j] = replicas == 1 ? 0
                                         : (double)cell->workload.stages[j].gradient_bytes /
                                               cell->sync_in_bytes_per_s[j];
    point.bound = bound_figures(space, cell, &input, &point);
    plan->counts.plans++;
    if (plan->counts.plans > PSIM_PLAN_POINTS_MAX)
        return psim_fail(err, PSIM_ERR_RANGE, "plan", "the space has more than %lld plans",
                         (long long)PSIM_PLAN_POINTS_MAX);
    return add_point(plan, &point, err);
}

/* One method and accumulation on one cell, with all numbers of copies that the platform holds. */
static enum psim_status bound_cell(struct space *space, const struct cell *cell, int method,
                                   int64_t accumulation, struct psim_error *err)
{
    struct psim_plan *plan = space->plan;
    const struct psim_goal *goal = plan->goal;
    const struct psim_method *kind = goal->base.methods[method].method;
    const struct psim_shape shape = shape_of(space, cell, method, accumulation);
    const int devices = platform_of(space, cell->platform)->device_count;
    struct psim_network_traits traits = {.name = cell->workload.model_name,
                                         .stages = space->stages,
                                         .reversible_blocks = cell->workload.reversible_blocks};
    struct psim_error refused = PSIM_ERROR_INIT;
    enum psim_status status = PSIM_OK;

    for (int j = 0; j < space->stages; j++)
        traits.reversible_stages += cell->reversible[j] ? 1 : 0;
    if (kind->check != NULL && kind->check(&shape, &traits, &refused) != PSIM_OK) {
        plan->counts.plans += goal->replicas.count;
        plan->counts.unsupported += goal->replicas.count;
        if (plan->unsupported[0] == '\0')
            plan->unsupported =
                psim_arena_printf(&plan->arena, "%s: %s", kind->name, refused.message);
        return plan->unsupported == NULL ? no_memory(err) : PSIM_OK;
    }
    for (int i = 0; i < goal->replicas.count && status == PSIM_OK; i++) {
        const int64_t replicas = goal->replicas.values[i];

        if (replicas * space->stages > devices)
            break;
        if (replicas > 1 && !copies_are_alike(space, cell, (int)replicas * space->stages)) {
            plan->counts.plans++;
            plan->counts.unsupported++;
            continue;
        }
        status = bound_point(space, cell, method, &shape, (int)replicas, false, err);
        if (status == PSIM_OK && replicas > 1 && space->stages > 1)
            status = bound_point(space, cell, method, &shape, (int)replicas, true, err);
    }
    return status;
}

static enum psim_status bound_stages(struct space *space, struct psim_error *err)
{
    const struct psim_goal *goal = space->plan->goal;
    enum psim_status status = make_cells(space, err);

    for (int m = 0; m < goal->base.method_count && status == PSIM_OK; m++) {
        /* One that updates after every micro-batch accumulates nothing. */
        const int accumulations =
            goal->base.methods[m].method->updates_every_microbatch ? 1 : goal->accumulations.count;

        for (int k = 0; k < accumulations && status == PSIM_OK; k++) {
            for (int c = 0; c < space->cell_count && status == PSIM_OK; c++)
                status = bound_cell(space, &space->cells[c], m, goal->accumulations.values[k], err);
            forget_orders(space);
        }
    }
    forget_orders(space);
    for (int c = 0; c < space->cell_count; c++)
        release_cell(&space->cells[c]);
    space->cell_count = 0;
    return status;
}

static int most_devices(const struct psim_goal *goal)
{
    int most = 0;

    for (int p = 0; p < goal->platform_count; p++) {
        if (goal->platforms[p].platform.device_count > most)
            most = goal->platforms[p].platform.device_count;
    }
    return most;
}

static bool wants_stages(const struct psim_goal *goal, int stages)
{
    for (int i = 0; i < goal->stages.count; i++) {
        if (goal->stages.values[i] == stages)
            return true;
    }
    return goal->stages.values == NULL;
}

enum psim_status psim_plan_space(struct psim_plan *plan, struct psim_error *err)
{
    const struct psim_goal *goal = plan->goal;
    const int devices = most_devices(goal);
    struct space space = {.plan = plan};
    enum psim_status status = PSIM_OK;

    space.hops = psim_alloc((size_t)devices, sizeof *space.hops);
    space.sync_s = psim_alloc((size_t)devices, sizeof *space.sync_s);
    space.times = psim_alloc((size_t)devices, sizeof *space.times);
    plan->platforms =
        psim_arena_alloc(&plan->arena, (size_t)goal->platform_count, sizeof *plan->platforms);
    if (space.hops == NULL || space.sync_s == NULL || space.times == NULL ||
        plan->platforms == NULL)
        status = no_memory(err);
    for (int p = 0; p < goal->platform_count && status == PSIM_OK; p++)
        status = psim_plan_prepare_platform(plan, p) ? PSIM_OK : no_memory(err);
    for (space.model = 0; space.model < goal->model_count && status == PSIM_OK; space.model++) {
        const int blocks = blocks_of(goal->models[space.model].model);

        for (int j = 1; j <= devices && j <= blocks && status == PSIM_OK; j++) {
            space.stages = j;
            if (wants_stages(goal, j))
                status = bound_stages(&space, err);
        }
    }
    for (int i = 0; i < space.stride_count; i++) {
        for (int k = 0; k < space.strides[i].count; k++)
            psim_route_release(&space.strides[i].routes[k]);
        psim_free(space.strides[i].routes);
    }
    psim_free(space.strides);
    psim_free(space.cells);
    psim_free(space.hops);
    psim_free(space.sync_s);
    psim_free(space.times);
    if (status == PSIM_OK && plan->counts.plans == 0)
        status =
            psim_fail(err, PSIM_ERR_RANGE, "plan",
                      "the space is empty: no number of stages suits a network and a platform");
    return status;
}

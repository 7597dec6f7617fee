/*
 * plan/1: a space of plans, an objective, constraints.
 */
#include "sim/config/formats.h"
#include "sim/config/goal.h"

#include "sim/base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AXIS_LIMIT     4096
#define COUNT_LIMIT    1048576
#define LIST_LIMIT     256
#define EXACT_LIMIT    9007199254740992.0
#define REPLICAS_LIMIT 65536

const char *const psim_objective_names[] = {"fastest",         "cheapest",      "fewest_gpus",
                                            "largest_model",   "largest_batch", "least_memory",
                                            "least_bandwidth", "least_energy",  NULL};

const char *const psim_constraint_names[] = {"samples_per_s",
                                             "time_per_epoch",
                                             "deadline",
                                             "memory",
                                             "cost",
                                             "energy",
                                             "power",
                                             "staleness",
                                             "gpus",
                                             "least_samples_per_update",
                                             "most_samples_per_update",
                                             NULL};

/* ---- Axes ---- */

static int compare_counts(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void read_range(struct psim_reader *reader, const struct psim_node *object, int64_t maximum,
                       struct psim_axis *out)
{
    int64_t from = 1, to = 1, times = 0, step = 0;
    const struct psim_field fields[] = {
        {.key = "from",
         .kind = PSIM_FIELD_COUNT,
         .required = true,
         .minimum = 1,
         .maximum = (double)maximum,
         .to.count = &from},
        {.key = "to",
         .kind = PSIM_FIELD_COUNT,
         .required = true,
         .minimum = 1,
         .maximum = (double)maximum,
         .to.count = &to},
        {.key = "times",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 2,
         .maximum = 1024,
         .to.count = &times},
        {.key = "step",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = COUNT_LIMIT,
         .to.count = &step},
    };
    const int faults = reader->faults;
    int64_t *values;
    int count = 0;

    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
    if (!psim_reader_clean(reader, faults))
        return;
    if (to < from || (times > 0 && step > 0)) {
        psim_reader_error(reader, object, PSIM_ERR_RANGE, NULL,
                          to < from ? "\"to\" is less than \"from\""
                                    : "has \"times\" or \"step\", not both");
        return;
    }
    times = times == 0 && step == 0 ? 2 : times;
    for (int64_t v = from; v <= to && count <= AXIS_LIMIT; v = step > 0 ? v + step : v * times)
        count++;
    if (count > AXIS_LIMIT) {
        psim_reader_error(reader, object, PSIM_ERR_RANGE, NULL, "has more than %d values",
                          AXIS_LIMIT);
        return;
    }
    values = psim_reader_alloc(reader, (size_t)count, sizeof *values);
    for (int64_t v = from, i = 0; values != NULL && i<count; v = step> 0 ? v + step : v * times)
        values[i++] = v;
    *out = (struct psim_axis){values, values == NULL ? 0 : count};
}

static void read_list(struct psim_reader *reader, const struct psim_node *list, int maximum,
                      struct psim_axis *out)
{
    const int *counts = psim_read_counts(reader, list, maximum, AXIS_LIMIT);
    int64_t *values =
        counts == NULL ? NULL : psim_reader_alloc(reader, (size_t)list->count, sizeof *values);

    for (int i = 0; values != NULL && i < list->count; i++)
        values[i] = counts[i];
    *out = (struct psim_axis){values, values == NULL ? 0 : list->count};
}

/* A list of counts or {"from", "to", "times" or "step"}, sorted, each once. */
static void read_axis(struct psim_reader *reader, const struct psim_node *node, int maximum,
                      struct psim_axis *out)
{
    int64_t *values;
    int count = 0;

    if (node == NULL)
        return;
    if (node->type == PSIM_NODE_ARRAY)
        read_list(reader, node, maximum, out);
    else
        read_range(reader, node, maximum, out);
    values = (int64_t *)(uintptr_t)out->values;
    if (values == NULL)
        return;
    qsort(values, (size_t)out->count, sizeof *values, compare_counts);
    for (int i = 0; i < out->count; i++) {
        if (count == 0 || values[count - 1] != values[i])
            values[count++] = values[i];
    }
    out->count = count;
}

static void read_batch(struct psim_reader *reader, const struct psim_node *object,
                       struct psim_goal *out)
{
    const struct psim_node *microbatch = NULL, *accumulation = NULL;
    const struct psim_field fields[] = {
        {.key = "microbatch", .kind = PSIM_FIELD_NODE, .required = true, .to.node = &microbatch},
        {.key = "accumulation", .kind = PSIM_FIELD_NODE, .to.node = &accumulation},
    };

    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
    read_axis(reader, microbatch, COUNT_LIMIT, &out->microbatches);
    read_axis(reader, accumulation, COUNT_LIMIT, &out->accumulations);
}

/* ---- Models and platforms ---- */

/* Multiples of the width: a list of numbers. */
static double *read_widths(struct psim_reader *reader, const struct psim_node *list, int *count)
{
    double *widths, width = 1;
    const struct psim_field field = {.kind = PSIM_FIELD_REAL,
                                     .minimum = PSIM_WIDTH_MIN,
                                     .maximum = PSIM_WIDTH_MAX,
                                     .to.real = &width};

    if (list->count < 1 || list->count > LIST_LIMIT) {
        psim_reader_error(reader, list, PSIM_ERR_RANGE, NULL, "must have 1 to %d elements, not %d",
                          LIST_LIMIT, list->count);
        return NULL;
    }
    widths = psim_reader_alloc(reader, (size_t)list->count, sizeof *widths);
    for (const struct psim_node *e = list->first; widths != NULL && e != NULL; e = e->next) {
        if (psim_read_value(reader, e, &field))
            widths[e->index] = width;
    }
    *count = list->count;
    return widths;
}

/* The models of all goal entries, in a list that grows. */
struct model_list {
    struct psim_goal_model *items;
    int count, capacity;
};

static void add_model(struct psim_reader *reader, struct model_list *list,
                      const struct psim_goal_model *model)
{
    if (list->count == list->capacity) {
        const int capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
        struct psim_goal_model *items = psim_reader_alloc(reader, (size_t)capacity, sizeof *items);

        if (items == NULL)
            return;
        if (list->count > 0)
            memcpy(items, list->items, (size_t)list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = *model;
}

static void read_family(struct psim_reader *reader, const struct psim_node *node,
                        struct psim_goal *goal, struct model_list *list)
{
    const int faults = reader->faults;
    const struct psim_node *name = NULL, *input = NULL, *depth = NULL, *width = NULL;
    struct psim_goal_model model = {.input = {3, 224, 224}, .classes = 1000};
    struct psim_axis depths = {0};
    double one = 1, *widths = &one;
    int64_t classes = 1000;
    int width_count = 1;
    const struct psim_field fields[] = {
        {.key = "name", .kind = PSIM_FIELD_NODE, .required = true, .to.node = &name},
        {.key = "input", .kind = PSIM_FIELD_NODE, .to.node = &input},
        {.key = "classes",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = COUNT_LIMIT,
         .to.count = &classes},
        {.key = "depth", .kind = PSIM_FIELD_NODE, .to.node = &depth},
        {.key = "width", .kind = PSIM_FIELD_LIST, .to.node = &width},
    };

    psim_read_object(reader, node, fields, PSIM_FIELD_COUNT(fields));
    if (input != NULL)
        (void)psim_read_input(reader, input, model.input);
    if (name != NULL)
        (void)psim_read_known_network(reader, name);
    read_axis(reader, depth, PSIM_DEPTH_MAX, &depths);
    if (width != NULL)
        widths = read_widths(reader, width, &width_count);
    if (!psim_reader_clean(reader, faults))
        return;
    model.classes = (int)classes;
    model.name = psim_reader_keep(reader, name->value.string);
    for (int d = 0; d < (depths.values == NULL ? 1 : depths.count); d++) {
        for (int w = 0; w < width_count; w++) {
            model.scale = (struct psim_network_scale){
                depths.values == NULL ? 1 : (int)depths.values[d], widths[w]};
            model.model = psim_read_catalogue_network(reader, node, &goal->base, model.name,
                                                      model.input, model.classes, &model.scale);
            if (model.model == NULL)
                return;
            add_model(reader, list, &model);
        }
    }
}

static void read_models(struct psim_reader *reader, const struct psim_node *nodes,
                        struct psim_goal *out)
{
    struct model_list list = {0};

    if (nodes->count < 1 || nodes->count > LIST_LIMIT) {
        psim_reader_error(reader, nodes, PSIM_ERR_RANGE, NULL, "must have 1 to %d elements, not %d",
                          LIST_LIMIT, nodes->count);
        return;
    }
    for (const struct psim_node *node = nodes->first; node != NULL; node = node->next) {
        const struct psim_node *file = psim_node_member(node, "file");
        struct psim_goal_model model = {.scale = {1, 1}};

        if (psim_node_member(node, "name") != NULL && file == NULL &&
            psim_node_member(node, "stages") == NULL) {
            read_family(reader, node, out, &list);
            continue;
        }
        model.model = psim_read_model(reader, node, &out->base);
        if (model.model != NULL && file != NULL)
            model.file = psim_reader_resolve(reader, file);
        if (model.model != NULL)
            add_model(reader, &list, &model);
    }
    out->models = list.items;
    out->model_count = list.count;
}

static void read_platforms(struct psim_reader *reader, const struct psim_node *nodes,
                           struct psim_goal *out)
{
    if (nodes->count < 1 || nodes->count > LIST_LIMIT) {
        psim_reader_error(reader, nodes, PSIM_ERR_RANGE, NULL, "must have 1 to %d elements, not %d",
                          LIST_LIMIT, nodes->count);
        return;
    }
    out->platforms = psim_reader_alloc(reader, (size_t)nodes->count, sizeof *out->platforms);
    if (out->platforms == NULL)
        return;
    out->platform_count = nodes->count;
    for (const struct psim_node *node = nodes->first; node != NULL; node = node->next) {
        struct psim_goal_platform *platform = &out->platforms[node->index];

        platform->name = psim_read_text(reader, node);
        platform->file = platform->name == NULL
                             ? NULL
                             : psim_read_platform_named(reader, node, &platform->platform);
        if (platform->file != NULL && platform->platform.device_count > 0)
            psim_read_catalogue_collectives(reader, node, platform->platform.name,
                                            &platform->protocol);
    }
}

/* ---- Constraints and the rest ---- */

#define LIMIT(what, field_kind, unit)                                                              \
    {                                                                                              \
        .key = psim_constraint_names[PSIM_CONSTRAINT_##what], .kind = (field_kind),                \
        .positive = true, .dimension = (unit), .to.real = &out->limits[PSIM_CONSTRAINT_##what]     \
    }
#define COUNT_OF(what, slot)                                                                       \
    {                                                                                              \
        .key = psim_constraint_names[PSIM_CONSTRAINT_##what], .kind = PSIM_FIELD_COUNT,            \
        .minimum = PSIM_CONSTRAINT_##what == PSIM_CONSTRAINT_STALENESS ? 0 : 1,                    \
        .maximum = EXACT_LIMIT, .to.count = &counts[slot]                                          \
    }

static void read_constraints(struct psim_reader *reader, const struct psim_node *object,
                             struct psim_goal *out)
{
    static const enum psim_constraint counted[] = {
        PSIM_CONSTRAINT_MEMORY, PSIM_CONSTRAINT_STALENESS, PSIM_CONSTRAINT_GPUS,
        PSIM_CONSTRAINT_LEAST_SAMPLES, PSIM_CONSTRAINT_MOST_SAMPLES};
    int64_t counts[5] = {-1, -1, -1, -1, -1};
    const struct psim_field fields[PSIM_CONSTRAINTS] = {
        {.key = psim_constraint_names[PSIM_CONSTRAINT_THROUGHPUT],
         .kind = PSIM_FIELD_REAL,
         .to.real = &out->limits[PSIM_CONSTRAINT_THROUGHPUT]},
        LIMIT(EPOCH_TIME, PSIM_FIELD_QUANTITY, PSIM_DIMENSION_SECONDS),
        LIMIT(DEADLINE, PSIM_FIELD_QUANTITY, PSIM_DIMENSION_SECONDS),
        {.key = psim_constraint_names[PSIM_CONSTRAINT_MEMORY],
         .kind = PSIM_FIELD_BYTES,
         .positive = true,
         .to.count = &counts[0]},
        LIMIT(COST, PSIM_FIELD_QUANTITY, PSIM_DIMENSION_USD),
        LIMIT(ENERGY, PSIM_FIELD_QUANTITY, PSIM_DIMENSION_JOULE),
        LIMIT(POWER, PSIM_FIELD_QUANTITY, PSIM_DIMENSION_WATT),
        COUNT_OF(STALENESS, 1),
        COUNT_OF(GPUS, 2),
        COUNT_OF(LEAST_SAMPLES, 3),
        COUNT_OF(MOST_SAMPLES, 4),
    };

    psim_read_object(reader, object, fields, PSIM_CONSTRAINTS);
    for (size_t i = 0; i < sizeof counted / sizeof counted[0]; i++) {
        if (counts[i] >= 0)
            out->limits[counted[i]] = (double)counts[i];
    }
}

static void read_training(struct psim_reader *reader, const struct psim_node *object,
                          struct psim_goal *out)
{
    const struct psim_field fields[] = {
        {.key = "epoch_samples",
         .kind = PSIM_FIELD_COUNT,
         .required = true,
         .minimum = 1,
         .maximum = EXACT_LIMIT,
         .to.count = &out->base.epoch_samples},
        {.key = "epochs",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = COUNT_LIMIT,
         .to.count = &out->epochs},
    };

    out->epochs = 1;
    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
}

static void read_reserve(struct psim_reader *reader, const struct psim_node *object,
                         struct psim_goal_reserve *out)
{
    int64_t sizes[3] = {-1, -1, -1};
    const struct psim_field fields[] = {
        {.key = "context", .kind = PSIM_FIELD_BYTES, .to.count = &sizes[0]},
        {.key = "communicator", .kind = PSIM_FIELD_BYTES, .to.count = &sizes[1]},
        {.key = "optimizer", .kind = PSIM_FIELD_BYTES, .to.count = &sizes[2]},
        {.key = "fragmentation",
         .kind = PSIM_FIELD_REAL,
         .maximum = 1,
         .to.real = &out->fragmentation},
    };

    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
    out->context_bytes = sizes[0] < 0 ? NAN : (double)sizes[0];
    out->communicator_bytes = sizes[1] < 0 ? NAN : (double)sizes[1];
    out->optimizer_bytes = sizes[2] < 0 ? NAN : (double)sizes[2];
}

struct goal_parts {
    const struct psim_node *models, *platforms, *methods, *batch, *stages, *replicas, *constraints,
        *training, *reserve;
};

static void read_keys(struct psim_reader *reader, const struct psim_node *root,
                      struct goal_parts *parts, struct psim_goal *out)
{
    int precision = PSIM_FP32, optimizer = PSIM_SGD_MOMENTUM, objective = 0;
    const struct psim_field fields[] = {
        {.key = "models", .kind = PSIM_FIELD_LIST, .required = true, .to.node = &parts->models},
        {.key = "platforms",
         .kind = PSIM_FIELD_LIST,
         .required = true,
         .to.node = &parts->platforms},
        {.key = "methods", .kind = PSIM_FIELD_LIST, .required = true, .to.node = &parts->methods},
        {.key = "batch", .kind = PSIM_FIELD_OBJECT, .required = true, .to.node = &parts->batch},
        {.key = "objective",
         .kind = PSIM_FIELD_CHOICE,
         .required = true,
         .names = psim_objective_names,
         .to.choice = &objective},
        {.key = "stages", .kind = PSIM_FIELD_NODE, .to.node = &parts->stages},
        {.key = "replicas", .kind = PSIM_FIELD_NODE, .to.node = &parts->replicas},
        {.key = "precision",
         .kind = PSIM_FIELD_CHOICE,
         .names = psim_precision_names,
         .to.choice = &precision},
        {.key = "optimizer",
         .kind = PSIM_FIELD_CHOICE,
         .names = psim_optimizer_names,
         .to.choice = &optimizer},
        {.key = "constraints", .kind = PSIM_FIELD_OBJECT, .to.node = &parts->constraints},
        {.key = "training", .kind = PSIM_FIELD_OBJECT, .to.node = &parts->training},
        {.key = "reserve", .kind = PSIM_FIELD_OBJECT, .to.node = &parts->reserve},
        {.key = "runners_up",
         .kind = PSIM_FIELD_COUNT,
         .maximum = 100,
         .to.count = &out->runners_up},
    };

    psim_read_object(reader, root, fields, PSIM_FIELD_COUNT(fields));
    out->objective = (enum psim_objective)objective;
    out->base.workload.precision = (enum psim_precision)precision;
    out->base.workload.optimizer = (enum psim_optimizer)optimizer;
}

/* Limits that mean nothing without the size of the training, and entries that fix what is planned.
 */
static void check_goal(struct psim_reader *reader, const struct psim_node *root,
                       const struct goal_parts *parts)
{
    static const enum psim_constraint of_training[] = {
        PSIM_CONSTRAINT_EPOCH_TIME, PSIM_CONSTRAINT_DEADLINE, PSIM_CONSTRAINT_COST,
        PSIM_CONSTRAINT_ENERGY};

    for (size_t i = 0; i < sizeof of_training / sizeof of_training[0]; i++) {
        const struct psim_node *node =
            parts->constraints == NULL
                ? NULL
                : psim_node_member(parts->constraints, psim_constraint_names[of_training[i]]);

        if (node != NULL && psim_node_member(root, "training") == NULL)
            psim_reader_key_error(reader, node, PSIM_ERR_SCHEMA, NULL,
                                  "needs \"training\": how many samples an epoch has");
    }
    for (int i = 0; parts->methods != NULL && i < parts->methods->count; i++) {
        const struct psim_node *entry = psim_node_element(parts->methods, i);
        const struct psim_node *fixed =
            entry->type != PSIM_NODE_OBJECT ? NULL : psim_node_member(entry, "accumulation");

        if (fixed == NULL && entry->type == PSIM_NODE_OBJECT)
            fixed = psim_node_member(entry, "model");
        if (fixed != NULL)
            psim_reader_key_error(reader, fixed, PSIM_ERR_SCHEMA, NULL,
                                  "is what the plan chooses: see \"models\" and \"batch\"");
    }
}

bool psim_read_goal(struct psim_reader *reader, const struct psim_node *root, struct psim_goal *out)
{
    static const int64_t one = 1;
    const int faults = reader->faults;
    struct psim_goal goal = {
        .base = {.arena = PSIM_ARENA_INIT,
                 .accumulation = 1,
                 .data_parallel = {.replicas = 1,
                                   .devices_per_stage = 1,
                                   .stages_first = true,
                                   .fold = true,
                                   .overlap = true,
                                   .collective = "ring"}},
        .reserve = {NAN, NAN, NAN, NAN},
        .runners_up = 5,
    };
    struct goal_parts parts = {0};

    for (int i = 0; i < PSIM_CONSTRAINTS; i++)
        goal.limits[i] = NAN;
    reader->arena = &goal.base.arena;
    goal.base.file = psim_reader_keep(reader, root->document->name);
    read_keys(reader, root, &parts, &goal);
    if (parts.models != NULL)
        read_models(reader, parts.models, &goal);
    if (parts.platforms != NULL)
        read_platforms(reader, parts.platforms, &goal);
    if (parts.batch != NULL)
        read_batch(reader, parts.batch, &goal);
    if (parts.methods != NULL)
        psim_read_methods(reader, parts.methods, &goal.base);
    read_axis(reader, parts.stages, REPLICAS_LIMIT, &goal.stages);
    read_axis(reader, parts.replicas, REPLICAS_LIMIT, &goal.replicas);
    if (parts.constraints != NULL)
        read_constraints(reader, parts.constraints, &goal);
    if (parts.training != NULL)
        read_training(reader, parts.training, &goal);
    if (parts.reserve != NULL)
        read_reserve(reader, parts.reserve, &goal.reserve);
    check_goal(reader, root, &parts);
    if (goal.replicas.values == NULL)
        goal.replicas = (struct psim_axis){&one, 1};
    if (goal.accumulations.values == NULL)
        goal.accumulations = (struct psim_axis){&one, 1};
    reader->arena = NULL;
    if (!psim_reader_clean(reader, faults)) {
        psim_goal_release(&goal);
        return false;
    }
    psim_reader_hash(reader, goal.base.inputs_sha256);
    *out = goal;
    return true;
}

enum psim_status psim_goal_read(const char *file, const struct psim_catalogue *catalogue,
                                struct psim_goal *out, struct psim_diagnostics *list)
{
    struct psim_reader reader;
    const struct psim_node *root;

    psim_reader_init(&reader, catalogue, NULL, list);
    root = psim_reader_open(&reader, file, PSIM_FILE_PLAN, NULL);
    if (root != NULL)
        (void)psim_read_goal(&reader, root, out);
    return psim_reader_finish(&reader);
}

void psim_goal_release(struct psim_goal *goal)
{
    for (int i = 0; i < goal->platform_count; i++)
        psim_platform_release(&goal->platforms[i].platform);
    psim_scenario_release(&goal->base);
    *goal = (struct psim_goal){.base = {.arena = PSIM_ARENA_INIT}};
}

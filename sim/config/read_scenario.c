/*
 * scenario/1, and the public functions that read a file of each kind.
 */
#include "sim/config/formats.h"
#include "sim/config/goal.h"

#include "sim/base/text.h"
#include "sim/config/name_set.h"

#include <string.h>
#include <unistd.h>

#define BATCH_LIMIT     1048576            /* 2^20: micro-batch and accumulation */
#define EXACT_LIMIT     9007199254740992.0 /* 2^53: exact in every JSON reader */
#define PARTITION_LIMIT 65536
#define TOKENS_LIMIT    1073741824 /* 2^30: of one sample */
#define USE_LIMIT       65536      /* devices, as in platform files */

const char *const psim_engine_names[] = {"simgrid", "replay", NULL};

static const char *const memory_check_names[] = {"note", "fail", NULL};
static const char *const partition_names[] = {"per_block", "balanced", NULL};
static const char *const placement_names[] = {"in_order", NULL};

/* The parts of a scenario that are read after all keys are known. */
struct scenario_parts {
    const struct psim_node *model, *platform, *use, *methods, *batch, *partition, *placement,
        *baseline, *conditions, *data_parallel;
};

static void read_batch(struct psim_reader *reader, const struct psim_node *object,
                       struct psim_scenario *out)
{
    const struct psim_field fields[] = {
        {.key = "microbatch",
         .kind = PSIM_FIELD_COUNT,
         .required = true,
         .minimum = 1,
         .maximum = BATCH_LIMIT,
         .to.count = &out->workload.microbatch},
        {.key = "accumulation",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = BATCH_LIMIT,
         .to.count = &out->accumulation},
    };

    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
}

/* A value that is a list, or one of a few texts: reports what is neither. */
static bool read_word(struct psim_reader *reader, const struct psim_node *node,
                      const char *const *names, const char *expected, int *choice)
{
    const struct psim_field field = {
        .kind = PSIM_FIELD_CHOICE, .names = names, .to.choice = choice};
    char found[PSIM_FOUND_BYTES];

    for (size_t i = 0; node->type == PSIM_NODE_STRING && names[i] != NULL; i++) {
        if (strcmp(names[i], node->value.string) == 0)
            return psim_read_value(reader, node, &field);
    }
    psim_node_describe(node, found);
    psim_reader_error(reader, node, PSIM_ERR_SCHEMA,
                      node->type == PSIM_NODE_STRING
                          ? psim_nearest_name(node->value.string, names, psim_name_count(names))
                          : NULL,
                      "%s is expected, not %s", expected, found);
    return false;
}

static void read_partition(struct psim_reader *reader, const struct psim_node *node,
                           struct psim_workload_options *out)
{
    int choice = PSIM_PARTITION_PER_BLOCK;

    if (node->type == PSIM_NODE_ARRAY) {
        out->partition = PSIM_PARTITION_LIST;
        out->partition_list = psim_read_counts(reader, node, PARTITION_LIMIT, PARTITION_LIMIT);
        out->partition_count = node->count;
    } else if (read_word(reader, node, partition_names,
                         "\"per_block\", \"balanced\" or a list with the blocks of each stage",
                         &choice)) {
        out->partition = (enum psim_partition_kind)choice;
    }
}

/* Devices by name; `indices` maps names to platform devices. */
static void read_device_list(struct psim_reader *reader, const struct psim_node *list,
                             const struct psim_platform *platform, struct psim_name_set *indices,
                             int *out)
{
    const char **names = psim_reader_alloc(reader, (size_t)platform->device_count, sizeof *names);
    char quoted[PSIM_QUOTED_BYTES];
    unsigned char *used = psim_reader_alloc(reader, (size_t)platform->device_count, 1);

    for (int i = 0; names != NULL && i < platform->device_count; i++) {
        names[i] = psim_platform_device_name(platform, i);
        if (psim_name_set_add(indices, names[i], i) != PSIM_OK) {
            psim_reader_out_of_memory(reader);
            return;
        }
    }
    for (const struct psim_node *node = list->first; names != NULL && used != NULL && node != NULL;
         node = node->next) {
        const char *text = psim_read_text(reader, node);
        const struct psim_name_entry *entry;

        if (text == NULL)
            continue;
        entry = psim_name_set_find(indices, text);
        psim_text_quote(text, quoted);
        if (entry == NULL) {
            psim_reader_error(reader, node, PSIM_ERR_NOTFOUND,
                              psim_nearest_name(text, names, (size_t)platform->device_count),
                              "the platform has no device %s in use", quoted);
        } else if (used[entry->value]++ != 0) {
            psim_reader_error(reader, node, PSIM_ERR_SCHEMA, NULL,
                              "a device can hold one stage only, and is named before");
        } else {
            out[node->index] = entry->value;
        }
    }
}

static void read_placement(struct psim_reader *reader, const struct psim_node *node,
                           struct psim_scenario *scenario)
{
    struct psim_name_set indices = PSIM_NAME_SET_INIT;
    int *placement, choice;

    if (node->type != PSIM_NODE_ARRAY) {
        (void)read_word(reader, node, placement_names, "\"in_order\" or a list of device names",
                        &choice);
        return;
    }
    if (scenario->platform.device_count == 0)
        return; /* faulty, and reported: which names there are is not known */
    if (node->count < 1 || node->count > scenario->platform.device_count) {
        psim_reader_error(reader, node, PSIM_ERR_RANGE, NULL,
                          "must have 1 to %d elements, the platform's devices, not %d",
                          scenario->platform.device_count, node->count);
        return;
    }
    placement = psim_reader_alloc(reader, (size_t)node->count, sizeof *placement);
    if (placement == NULL)
        return;
    read_device_list(reader, node, &scenario->platform, &indices, placement);
    psim_name_set_release(&indices);
    scenario->workload.placement = placement;
    scenario->workload.placement_count = node->count;
}

/* A path, or the name of a cluster of the catalogue where there is no such file. */
static const char *find_platform_file(struct psim_reader *reader, const struct psim_node *node)
{
    const char *file = psim_reader_resolve(reader, node), *cluster;

    if (file == NULL || access(file, F_OK) == 0 || reader->catalogue == NULL ||
        strchr(node->value.string, '/') != NULL)
        return file;
    cluster = psim_arena_printf(reader->arena, "%s/clusters/%s.json", reader->catalogue->root,
                                node->value.string);
    if (cluster == NULL) {
        psim_reader_out_of_memory(reader);
        return NULL;
    }
    return access(cluster, F_OK) == 0 ? cluster : file;
}

const char *psim_read_platform_named(struct psim_reader *reader, const struct psim_node *node,
                                     struct psim_platform *out)
{
    const struct psim_node *root;
    const char *file;

    if (psim_read_text(reader, node) == NULL)
        return NULL;
    file = find_platform_file(reader, node);
    if (file == NULL)
        return NULL;
    root = psim_reader_open(reader, file, PSIM_FILE_PLATFORM, node);
    if (root != NULL)
        (void)psim_read_platform(reader, root, out);
    return file;
}

/* Of the devices of the platform, in its order, the first so many. */
static void read_use(struct psim_reader *reader, const struct psim_node *node,
                     struct psim_platform *platform)
{
    int64_t use = 0;
    const struct psim_field field = {
        .kind = PSIM_FIELD_COUNT, .minimum = 1, .maximum = USE_LIMIT, .to.count = &use};

    if (!psim_read_value(reader, node, &field) || platform->device_count == 0)
        return;
    if (use > platform->device_count)
        psim_reader_error(reader, node, PSIM_ERR_RANGE, NULL,
                          "the platform has %d devices in use, not %lld", platform->device_count,
                          (long long)use);
    else
        platform->device_count = (int)use;
}

/* The row that others are compared with: as named, else the reversible net's plain training. */
static void settle_baseline(struct psim_reader *reader, const struct psim_node *node,
                            struct psim_scenario *scenario)
{
    const int count = scenario->method_count;
    const char **labels = psim_reader_alloc(reader, (size_t)count, sizeof *labels);
    const char *text = node == NULL ? NULL : psim_read_text(reader, node);
    char quoted[PSIM_QUOTED_BYTES];

    if (labels == NULL || (node != NULL && text == NULL))
        return;
    scenario->baseline = count == 0 ? NULL : scenario->methods[0].label;
    for (int i = count - 1; i >= 0; i--) {
        const struct psim_scenario_method *row = &scenario->methods[i];

        if (row->method == NULL)
            return; /* a faulty entry: its label is not known */
        labels[i] = row->label;
        if (text == NULL && strcmp(row->method->name, "reversible_backprop") == 0)
            scenario->baseline = row->label;
        if (text != NULL && strcmp(text, row->label) == 0) {
            scenario->baseline = row->label;
            return;
        }
    }
    if (text == NULL || count == 0)
        return;
    psim_text_quote(text, quoted);
    psim_reader_error(reader, node, PSIM_ERR_NOTFOUND,
                      psim_nearest_name(text, labels, (size_t)count), "no method has the label %s",
                      quoted);
}

static struct psim_position position_of(const struct psim_scenario *scenario,
                                        const struct psim_node *node,
                                        const struct psim_node *otherwise)
{
    struct psim_position position = psim_node_position(node != NULL ? node : otherwise);

    position.file = scenario->file;
    return position;
}

static void read_parts(struct psim_reader *reader, const struct psim_node *root,
                       const struct scenario_parts *parts, struct psim_scenario *out)
{
    int faults;
    bool cut_and_placed; /* stages and their devices are known */

    if (parts->batch != NULL)
        read_batch(reader, parts->batch, out);
    if (parts->model != NULL)
        out->model = psim_read_model(reader, parts->model, out);
    faults = reader->faults;
    if (parts->partition != NULL)
        read_partition(reader, parts->partition, &out->workload);
    if (parts->platform != NULL)
        out->platform_file = psim_read_platform_named(reader, parts->platform, &out->platform);
    if (parts->use != NULL)
        read_use(reader, parts->use, &out->platform);
    if (parts->placement != NULL)
        read_placement(reader, parts->placement, out);
    if (parts->data_parallel != NULL)
        psim_read_data_parallel(reader, parts->data_parallel, out);
    if (parts->conditions != NULL)
        out->conditions =
            psim_read_conditions(reader, parts->conditions, &out->platform, out->seed);
    cut_and_placed = psim_reader_clean(reader, faults) && out->platform.device_count > 0;
    if (parts->methods != NULL)
        psim_read_methods(reader, parts->methods, out);
    settle_baseline(reader, parts->baseline, out);
    if (cut_and_placed)
        psim_check_scenario(reader, root, out);
    out->platform_position = position_of(out, parts->platform, root);
    out->partition_position = position_of(out, parts->partition, root);
    out->placement_position = position_of(out, parts->placement, root);
}

/* All keys of a scenario; the enumerations through int, as fields store them. */
static void read_keys(struct psim_reader *reader, const struct psim_node *root,
                      struct scenario_parts *parts, struct psim_scenario *out)
{
    int precision = PSIM_FP32, optimizer = PSIM_SGD_MOMENTUM, engine = PSIM_ENGINE_SIMGRID,
        accounting = PSIM_ACCOUNTING_FULL, memory_check = 0;
    int64_t seed = 1;
    const struct psim_field fields[] = {
        {.key = "model", .kind = PSIM_FIELD_OBJECT, .required = true, .to.node = &parts->model},
        {.key = "platform", .kind = PSIM_FIELD_NODE, .required = true, .to.node = &parts->platform},
        {.key = "use", .kind = PSIM_FIELD_NODE, .to.node = &parts->use},
        {.key = "methods", .kind = PSIM_FIELD_LIST, .required = true, .to.node = &parts->methods},
        {.key = "batch", .kind = PSIM_FIELD_OBJECT, .required = true, .to.node = &parts->batch},
        {.key = "precision",
         .kind = PSIM_FIELD_CHOICE,
         .names = psim_precision_names,
         .to.choice = &precision},
        {.key = "optimizer",
         .kind = PSIM_FIELD_CHOICE,
         .names = psim_optimizer_names,
         .to.choice = &optimizer},
        {.key = "partition", .kind = PSIM_FIELD_NODE, .to.node = &parts->partition},
        {.key = "placement", .kind = PSIM_FIELD_NODE, .to.node = &parts->placement},
        {.key = "engine",
         .kind = PSIM_FIELD_CHOICE,
         .names = psim_engine_names,
         .to.choice = &engine},
        {.key = "accounting",
         .kind = PSIM_FIELD_CHOICE,
         .names = psim_accounting_names,
         .to.choice = &accounting},
        {.key = "baseline", .kind = PSIM_FIELD_NODE, .to.node = &parts->baseline},
        {.key = "data_parallel", .kind = PSIM_FIELD_OBJECT, .to.node = &parts->data_parallel},
        {.key = "conditions", .kind = PSIM_FIELD_OBJECT, .to.node = &parts->conditions},
        {.key = "seed", .kind = PSIM_FIELD_COUNT, .maximum = EXACT_LIMIT, .to.count = &seed},
        {.key = "epoch_samples",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = EXACT_LIMIT,
         .to.count = &out->epoch_samples},
        {.key = "tokens_per_sample",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = TOKENS_LIMIT,
         .to.count = &out->tokens_per_sample},
        {.key = "memory_check",
         .kind = PSIM_FIELD_CHOICE,
         .names = memory_check_names,
         .to.choice = &memory_check},
    };

    psim_read_object(reader, root, fields, PSIM_FIELD_COUNT(fields));
    out->workload.precision = (enum psim_precision)precision;
    out->workload.optimizer = (enum psim_optimizer)optimizer;
    out->engine = (enum psim_engine_kind)engine;
    out->accounting = (enum psim_accounting)accounting;
    out->memory_fail = memory_check != 0;
    out->seed = (uint64_t)seed;
}

bool psim_read_scenario(struct psim_reader *reader, const struct psim_node *root,
                        struct psim_scenario *out)
{
    const int faults = reader->faults;
    struct psim_scenario scenario = {.arena = PSIM_ARENA_INIT,
                                     .accumulation = 1,
                                     .data_parallel = {.replicas = 1, .devices_per_stage = 1}};
    struct scenario_parts parts = {0};

    reader->arena = &scenario.arena;
    scenario.file = psim_reader_keep(reader, root->document->name);
    read_keys(reader, root, &parts, &scenario);
    read_parts(reader, root, &parts, &scenario);
    reader->arena = NULL;
    if (!psim_reader_clean(reader, faults)) {
        psim_scenario_release(&scenario);
        return false;
    }
    psim_reader_hash(reader, scenario.inputs_sha256);
    *out = scenario;
    return true;
}

void psim_scenario_release(struct psim_scenario *scenario)
{
    for (struct psim_model_entry *entry = scenario->model_entries; entry != NULL;
         entry = entry->next) {
        if (entry->model.network != NULL)
            psim_network_release(&entry->network);
    }
    psim_platform_release(&scenario->platform);
    psim_arena_release(&scenario->arena);
    *scenario = (struct psim_scenario){.arena = PSIM_ARENA_INIT};
}

enum psim_status psim_scenario_read(const char *file, const struct psim_catalogue *catalogue,
                                    struct psim_scenario *out, struct psim_diagnostics *list)
{
    struct psim_reader reader;
    const struct psim_node *root;

    psim_reader_init(&reader, catalogue, NULL, list);
    root = psim_reader_open(&reader, file, PSIM_FILE_SCENARIO, NULL);
    if (root != NULL)
        (void)psim_read_scenario(&reader, root, out);
    return psim_reader_finish(&reader);
}

enum psim_status psim_platform_read(const char *file, const struct psim_catalogue *catalogue,
                                    struct psim_platform *out, struct psim_diagnostics *list)
{
    struct psim_reader reader;
    const struct psim_node *root;

    psim_reader_init(&reader, catalogue, NULL, list);
    root = psim_reader_open(&reader, file, PSIM_FILE_PLATFORM, NULL);
    if (root != NULL)
        (void)psim_read_platform(&reader, root, out);
    return psim_reader_finish(&reader);
}

enum psim_status psim_device_read(const char *file, struct psim_arena *arena,
                                  struct psim_device *out, struct psim_diagnostics *list)
{
    struct psim_reader reader;
    const struct psim_node *root;

    psim_reader_init(&reader, NULL, arena, list);
    root = psim_reader_open(&reader, file, PSIM_FILE_DEVICE, NULL);
    if (root != NULL)
        (void)psim_read_device(&reader, root, out);
    return psim_reader_finish(&reader);
}

enum psim_status psim_network_read(const char *file, struct psim_network *out,
                                   struct psim_diagnostics *list)
{
    struct psim_arena arena = PSIM_ARENA_INIT;
    struct psim_reader reader;
    const struct psim_node *root;
    enum psim_status status;

    psim_reader_init(&reader, NULL, &arena, list);
    root = psim_reader_open(&reader, file, PSIM_FILE_MODEL, NULL);
    if (root != NULL)
        (void)psim_read_network(&reader, root, out);
    status = psim_reader_finish(&reader);
    psim_arena_release(&arena); /* the network has copies of its texts */
    return status;
}

/* Reads a file of a known kind and lets go of what came out. */
static void check_root(struct psim_reader *reader, const struct psim_node *root,
                       enum psim_file_kind kind, struct psim_arena *arena)
{
    struct psim_scenario scenario;
    struct psim_platform platform;
    struct psim_network network;
    struct psim_device device;
    struct psim_protocol protocol;
    struct psim_goal goal;
    struct psim_sweep sweep;

    switch (kind) {
    case PSIM_FILE_SCENARIO:
        if (psim_read_scenario(reader, root, &scenario))
            psim_scenario_release(&scenario);
        break;
    case PSIM_FILE_PLATFORM:
        if (psim_read_platform(reader, root, &platform))
            psim_platform_release(&platform);
        break;
    case PSIM_FILE_DEVICE:
        reader->arena = arena;
        (void)psim_read_device(reader, root, &device);
        break;
    case PSIM_FILE_MODEL:
        reader->arena = arena;
        if (psim_read_network(reader, root, &network))
            psim_network_release(&network);
        break;
    case PSIM_FILE_COLLECTIVES:
        reader->arena = arena;
        (void)psim_read_collectives(reader, root, &protocol);
        break;
    case PSIM_FILE_PLAN:
        if (psim_read_goal(reader, root, &goal))
            psim_goal_release(&goal);
        break;
    case PSIM_FILE_SWEEP:
        psim_read_sweep(reader, root, &sweep);
        psim_sweep_release(&sweep);
        break;
    }
}

enum psim_status psim_file_check(const char *file, const struct psim_catalogue *catalogue,
                                 const char **kind, struct psim_diagnostics *list)
{
    struct psim_arena arena = PSIM_ARENA_INIT;
    enum psim_file_kind found = PSIM_FILE_SCENARIO;
    struct psim_reader reader;
    const struct psim_node *root;
    enum psim_status status;

    psim_reader_init(&reader, catalogue, NULL, list);
    root = psim_reader_open_any(&reader, file, &found);
    if (root != NULL) {
        *kind = psim_file_kind_names[found];
        check_root(&reader, root, found, &arena);
    }
    status = psim_reader_finish(&reader);
    psim_arena_release(&arena);
    return status;
}

/*
 * The "model" of a scenario: a catalogue name, a model/1 file, or stages with their costs given.
 */
#include "sim/config/formats.h"

#include "sim/base/text.h"

#include <string.h>

#define STAGE_LIMIT   65536
#define CLASS_LIMIT   1048576
#define TIME_LIMIT_S  1e9             /* of one pass of one stage */
#define BYTES_LIMIT   1099511627776.0 /* 1 TiB a stage: times 2^20 micro-batches still counts */
#define NETWORK_LIMIT 64              /* names compared for a suggestion */

/* One entry of "stages" before `repeat` is unrolled. */
struct repeated_stage {
    struct psim_given_stage stage;
    int64_t repeat;
};

static struct psim_model_entry *add_entry(struct psim_reader *reader,
                                          struct psim_scenario *scenario)
{
    struct psim_model_entry *entry = psim_reader_alloc(reader, 1, sizeof *entry);

    if (entry == NULL)
        return NULL;
    entry->next = scenario->model_entries;
    scenario->model_entries = entry;
    return entry;
}

static const struct psim_workload_model *take_network(struct psim_model_entry *entry)
{
    entry->model.name = entry->network.name;
    entry->model.network = &entry->network;
    return &entry->model;
}

/* ---- Given stages ---- */

#define SECONDS_FIELD(name, needed, target)                                                        \
    {                                                                                              \
        .key = (name), .kind = PSIM_FIELD_QUANTITY, .required = (needed), .maximum = TIME_LIMIT_S, \
        .dimension = PSIM_DIMENSION_SECONDS, .to.real = (target)                                   \
    }
#define BYTES_FIELD(name, needed, target)                                                          \
    {                                                                                              \
        .key = (name), .kind = PSIM_FIELD_BYTES, .required = (needed), .maximum = BYTES_LIMIT,     \
        .to.count = (target)                                                                       \
    }

/* `backward` as a whole, of which each half is half, or the halves. */
static void settle_backward(struct psim_reader *reader, const struct psim_node *node,
                            double backward_s, struct psim_given_stage *stage)
{
    const struct psim_node *whole = psim_node_member(node, "backward");
    const struct psim_node *input = psim_node_member(node, "backward_input");
    const struct psim_node *weight = psim_node_member(node, "backward_weight");

    if (whole != NULL && (input != NULL || weight != NULL))
        psim_reader_key_error(reader, input != NULL ? input : weight, PSIM_ERR_SCHEMA, NULL,
                              "excludes \"backward\", which is the sum of \"backward_input\" and "
                              "\"backward_weight\"");
    else if (whole == NULL && input == NULL && weight == NULL)
        psim_reader_error(reader, node, PSIM_ERR_SCHEMA, NULL, "missing key \"backward\"");
    else if (whole == NULL && (input == NULL || weight == NULL))
        psim_reader_error(reader, node, PSIM_ERR_SCHEMA, NULL, "missing key \"backward_%s\"",
                          input == NULL ? "input" : "weight");
    if (whole != NULL) {
        stage->backward_input_s = backward_s / 2.0;
        stage->backward_weight_s = backward_s / 2.0;
    }
}

static void read_given_stage(struct psim_reader *reader, const struct psim_node *node,
                             struct repeated_stage *out)
{
    struct psim_given_stage *stage = &out->stage;
    const struct psim_node *measured_on = NULL;
    double backward_s = 0;
    const struct psim_field fields[] = {
        {.key = "name", .kind = PSIM_FIELD_TEXT, .to.text = &stage->name},
        {.key = "repeat",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = STAGE_LIMIT,
         .to.count = &out->repeat},
        SECONDS_FIELD("forward", true, &stage->forward_s),
        SECONDS_FIELD("backward", false, &backward_s),
        SECONDS_FIELD("backward_input", false, &stage->backward_input_s),
        SECONDS_FIELD("backward_weight", false, &stage->backward_weight_s),
        SECONDS_FIELD("reconstruct", false, &stage->reconstruct_s),
        SECONDS_FIELD("update", false, &stage->update_s),
        BYTES_FIELD("parameters", false, &stage->parameter_bytes),
        BYTES_FIELD("input", true, &stage->input_bytes),
        BYTES_FIELD("graph", false, &stage->graph_bytes),
        {.key = "reversible", .kind = PSIM_FIELD_BOOL, .to.flag = &stage->reversible},
        {.key = "measured_on", .kind = PSIM_FIELD_NODE, .to.node = &measured_on},
    };

    out->repeat = 1;
    psim_read_object(reader, node, fields, PSIM_FIELD_COUNT(fields));
    if (node->type != PSIM_NODE_OBJECT)
        return;
    settle_backward(reader, node, backward_s, stage);
    if (psim_node_member(node, "reconstruct") == NULL)
        stage->reconstruct_s = stage->forward_s;
    if (measured_on != NULL && psim_read_text(reader, measured_on) != NULL)
        stage->measured_on = psim_read_catalogue_device(reader, measured_on);
}

static const char *stage_name(struct psim_reader *reader, const struct repeated_stage *from,
                              int64_t copy, int64_t stage)
{
    const char *name = from->stage.name;

    if (name != NULL && from->repeat == 1)
        return name;
    name = name == NULL ? psim_arena_printf(reader->arena, "stage%lld", (long long)stage + 1)
                        : psim_arena_printf(reader->arena, "%s%lld", name, (long long)copy + 1);
    if (name == NULL)
        psim_reader_out_of_memory(reader);
    return name;
}

static void unroll(struct psim_reader *reader, const struct repeated_stage *from, int entries,
                   int64_t total, struct psim_workload_model *model)
{
    struct psim_given_stage *stages = psim_reader_alloc(reader, (size_t)total, sizeof *stages);
    int64_t count = 0;

    for (int i = 0; stages != NULL && i < entries; i++) {
        for (int64_t copy = 0; copy < from[i].repeat; copy++) {
            stages[count] = from[i].stage;
            stages[count].name = stage_name(reader, &from[i], copy, count);
            count++;
        }
    }
    model->given = stages;
    model->given_count = (int)total;
}

/* The entries are sound; what they add up to must be too. */
static void read_total(struct psim_reader *reader, const struct psim_node *list,
                       const struct repeated_stage *stages, struct psim_workload_model *model)
{
    int64_t total = 0;
    double total_s = 0;

    for (int i = 0; i < list->count; i++) {
        const struct psim_given_stage *stage = &stages[i].stage;

        total += stages[i].repeat;
        total_s += stage->forward_s + stage->backward_input_s + stage->backward_weight_s;
    }
    if (total > STAGE_LIMIT)
        psim_reader_error(reader, list, PSIM_ERR_RANGE, NULL,
                          "must be at most %d stages, with \"repeat\" %lld", STAGE_LIMIT,
                          (long long)total);
    else if (!(total_s > 0.0))
        psim_reader_error(reader, list, PSIM_ERR_RANGE, NULL,
                          "at least one stage must take longer than 0 s");
    else
        unroll(reader, stages, list->count, total, model);
}

static void read_given(struct psim_reader *reader, const struct psim_node *node,
                       struct psim_workload_model *model)
{
    const int faults = reader->faults;
    const struct psim_node *list = NULL;
    struct repeated_stage *stages;
    const struct psim_field fields[] = {
        {.key = "stages", .kind = PSIM_FIELD_LIST, .required = true, .to.node = &list},
        BYTES_FIELD("output", false, &model->output_bytes),
    };

    model->name = "stages";
    psim_read_object(reader, node, fields, PSIM_FIELD_COUNT(fields));
    if (list == NULL)
        return;
    if (list->count < 1 || list->count > STAGE_LIMIT) {
        psim_reader_error(reader, list, PSIM_ERR_RANGE, NULL, "must have 1 to %d elements, not %d",
                          STAGE_LIMIT, list->count);
        return;
    }
    stages = psim_alloc((size_t)list->count, sizeof *stages);
    if (stages == NULL) {
        psim_reader_out_of_memory(reader);
        return;
    }
    for (const struct psim_node *stage = list->first; stage != NULL; stage = stage->next)
        read_given_stage(reader, stage, &stages[stage->index]);
    if (psim_reader_clean(reader, faults))
        read_total(reader, list, stages, model);
    psim_free(stages);
}

/* ---- Networks ---- */

bool psim_read_known_network(struct psim_reader *reader, const struct psim_node *node)
{
    const char *names[NETWORK_LIMIT];
    const char *text = psim_read_text(reader, node);
    char quoted[PSIM_QUOTED_BYTES];
    size_t count = 0;

    if (text == NULL)
        return false;
    for (; psim_network_catalogue[count].name != NULL; count++) {
        PSIM_ASSERT(count < NETWORK_LIMIT);
        names[count] = psim_network_catalogue[count].name;
    }
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], text) == 0)
            return true;
    }
    psim_text_quote(text, quoted);
    psim_reader_error(reader, node, PSIM_ERR_NOTFOUND, psim_nearest_name(text, names, count),
                      "the catalogue has no model %s", quoted);
    return false;
}

const struct psim_workload_model *
psim_read_catalogue_network(struct psim_reader *reader, const struct psim_node *node,
                            struct psim_scenario *scenario, const char *name, const int input[3],
                            int classes, const struct psim_network_scale *scale)
{
    struct psim_model_entry *entry = add_entry(reader, scenario);
    struct psim_error err = PSIM_ERROR_INIT;

    if (entry == NULL)
        return NULL;
    if (psim_network_build_scaled(name, input, classes, scale, &entry->network, &err) != PSIM_OK) {
        psim_reader_refuse(reader, node, &err);
        return NULL;
    }
    return take_network(entry);
}

static const struct psim_workload_model *read_catalogue_model(struct psim_reader *reader,
                                                              const struct psim_node *node,
                                                              struct psim_scenario *scenario)
{
    const int faults = reader->faults;
    const struct psim_node *name = NULL, *input_node = NULL;
    int input[3] = {3, 224, 224};
    int64_t classes = 1000, depth = 1;
    struct psim_network_scale scale = {1, 1};
    const struct psim_field fields[] = {
        {.key = "name", .kind = PSIM_FIELD_NODE, .required = true, .to.node = &name},
        {.key = "input", .kind = PSIM_FIELD_NODE, .to.node = &input_node},
        {.key = "classes",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = CLASS_LIMIT,
         .to.count = &classes},
        {.key = "depth",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = PSIM_DEPTH_MAX,
         .to.count = &depth},
        {.key = "width",
         .kind = PSIM_FIELD_REAL,
         .minimum = PSIM_WIDTH_MIN,
         .maximum = PSIM_WIDTH_MAX,
         .to.real = &scale.width},
    };

    psim_read_object(reader, node, fields, PSIM_FIELD_COUNT(fields));
    scale.depth = (int)depth;
    if (input_node != NULL)
        (void)psim_read_input(reader, input_node, input);
    if (name != NULL)
        (void)psim_read_known_network(reader, name);
    if (name == NULL || !psim_reader_clean(reader, faults))
        return NULL;
    return psim_read_catalogue_network(reader, node, scenario, name->value.string, input,
                                       (int)classes, &scale);
}

/* A file that several methods name is built once. */
static const struct psim_workload_model *read_model_file(struct psim_reader *reader,
                                                         const struct psim_node *node,
                                                         struct psim_scenario *scenario)
{
    const struct psim_node *root;
    struct psim_model_entry *entry = scenario->model_entries;
    const char *path = NULL, *file;
    const struct psim_field field = {
        .key = "file", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &path};

    psim_read_object(reader, node, &field, 1);
    file = path == NULL ? NULL : psim_reader_resolve(reader, psim_node_member(node, "file"));
    root = file == NULL
               ? NULL
               : psim_reader_open(reader, file, PSIM_FILE_MODEL, psim_node_member(node, "file"));
    if (root == NULL)
        return NULL;
    while (entry != NULL && entry->root != root)
        entry = entry->next;
    if (entry != NULL)
        return entry->model.network == NULL ? NULL : &entry->model;
    entry = add_entry(reader, scenario);
    if (entry == NULL)
        return NULL;
    entry->root = root;
    return psim_read_network(reader, root, &entry->network) ? take_network(entry) : NULL;
}

const struct psim_workload_model *psim_read_model(struct psim_reader *reader,
                                                  const struct psim_node *node,
                                                  struct psim_scenario *scenario)
{
    const bool named = psim_node_member(node, "name") != NULL;
    const bool file = psim_node_member(node, "file") != NULL;
    const bool stages = psim_node_member(node, "stages") != NULL;
    const int faults = reader->faults;
    struct psim_model_entry *entry;

    if (node->type == PSIM_NODE_OBJECT && (int)named + (int)file + (int)stages != 1) {
        psim_reader_error(reader, node, PSIM_ERR_SCHEMA, NULL,
                          "needs one of the keys \"name\" (of the catalogue), \"file\" and "
                          "\"stages\"");
        return NULL;
    }
    if (file)
        return read_model_file(reader, node, scenario);
    if (!stages)
        return read_catalogue_model(reader, node, scenario);
    entry = add_entry(reader, scenario);
    if (entry == NULL)
        return NULL;
    read_given(reader, node, &entry->model);
    return psim_reader_clean(reader, faults) ? &entry->model : NULL;
}

/*
 * The "methods" of a scenario: a name, or an object with the method's own options.
 */
#include "sim/config/formats.h"

#include "sim/base/text.h"
#include "sim/config/name_set.h"

#include <string.h>

#define METHOD_LIMIT 256 /* rows of a comparison */
#define NAME_LIMIT   128 /* methods compared for a suggestion */

struct method_reading {
    struct psim_reader *reader;
    struct psim_scenario *scenario;
    struct psim_name_set labels; /* label -> index of the entry */
};

static const struct psim_method *find_method(struct psim_reader *reader,
                                             const struct psim_node *name)
{
    const char *names[NAME_LIMIT];
    const struct psim_method *method;
    char quoted[PSIM_QUOTED_BYTES];
    const char *text = psim_read_text(reader, name);
    size_t count = 0;

    if (text == NULL)
        return NULL;
    method = psim_method_find(text);
    if (method != NULL)
        return method;
    for (; psim_method_table[count] != NULL; count++) {
        PSIM_ASSERT(count < NAME_LIMIT);
        names[count] = psim_method_table[count]->name;
    }
    psim_text_quote(text, quoted);
    psim_reader_error(reader, name, PSIM_ERR_NOTFOUND, psim_nearest_name(text, names, count),
                      "no method is named %s", quoted);
    return NULL;
}

/* Values of a method's options as they are read, one of the three for each. */
struct option_value {
    int64_t count;
    int choice;
    bool flag;
};

static struct psim_field option_field(const struct psim_option *option, struct option_value *value)
{
    struct psim_field field = {.key = option->name};

    switch (option->kind) {
    case PSIM_OPTION_CHOICE:
        field.kind = PSIM_FIELD_CHOICE;
        field.names = option->choices;
        field.to.choice = &value->choice;
        break;
    case PSIM_OPTION_BOOL:
        field.kind = PSIM_FIELD_BOOL;
        field.to.flag = &value->flag;
        break;
    case PSIM_OPTION_COUNT:
        field.kind = PSIM_FIELD_COUNT;
        field.minimum = (double)option->minimum;
        field.maximum = (double)option->maximum;
        field.to.count = &value->count;
        break;
    }
    return field;
}

static int64_t option_result(const struct psim_option *option, const struct option_value *value)
{
    switch (option->kind) {
    case PSIM_OPTION_CHOICE:
        return value->choice;
    case PSIM_OPTION_BOOL:
        return value->flag ? 1 : 0;
    case PSIM_OPTION_COUNT:
        break;
    }
    return value->count;
}

/* Reads an entry that is an object; an entry that is a name has the defaults. */
static void read_entry(struct psim_reader *reader, const struct psim_node *entry,
                       struct psim_scenario_method *out, int64_t accumulation,
                       const struct psim_node **model)
{
    const struct psim_option *const *options = out->method->options;
    struct option_value values[PSIM_METHOD_OPTIONS];
    const struct psim_node *name;
    struct psim_field fields[3 + PSIM_METHOD_OPTIONS] = {
        {.key = "name", .kind = PSIM_FIELD_NODE, .to.node = &name},
        {.key = "label", .kind = PSIM_FIELD_TEXT, .to.text = &out->label},
        {.key = "model", .kind = PSIM_FIELD_NODE, .to.node = model},
    };
    size_t count = 0;

    out->shape.accumulation = accumulation;
    for (; options != NULL && options[count] != NULL; count++) {
        const struct psim_option *option = options[count];
        const int64_t fallback =
            option->fallback == PSIM_FROM_BATCH ? accumulation : option->fallback;

        PSIM_ASSERT(count < PSIM_METHOD_OPTIONS);
        values[count] = (struct option_value){fallback, (int)fallback, fallback != 0};
        fields[3 + count] = option_field(option, &values[count]);
    }
    if (entry->type == PSIM_NODE_OBJECT)
        psim_read_object(reader, entry, fields, 3 + count);
    for (size_t i = 0; i < count; i++) {
        out->shape.options[i] = option_result(options[i], &values[i]);
        if (strcmp(options[i]->name, "accumulation") == 0)
            out->shape.accumulation = out->shape.options[i];
    }
}

/* The label must tell the rows apart. */
static void take_label(struct method_reading *reading, const struct psim_node *entry,
                       const char *label)
{
    const struct psim_name_entry *taken = psim_name_set_find(&reading->labels, label);
    const struct psim_node *at = psim_node_member(entry, "label");
    char quoted[PSIM_QUOTED_BYTES];

    if (taken != NULL) {
        psim_text_quote(label, quoted);
        psim_reader_error(reading->reader, at == NULL ? entry : at, PSIM_ERR_SCHEMA, NULL,
                          "the label %s is taken by .methods[%d]; give each entry a \"label\" of "
                          "its own",
                          quoted, taken->value);
    } else if (psim_name_set_add(&reading->labels, label, entry->index) != PSIM_OK) {
        psim_reader_out_of_memory(reading->reader);
    }
}

static int streams_of(const struct psim_workload_model *model)
{
    if (model->network != NULL)
        return model->network->streams;
    for (int i = 0; i < model->given_count; i++) {
        if (model->given[i].reversible)
            return 2;
    }
    return 1;
}

static void read_method(struct method_reading *reading, const struct psim_node *entry,
                        struct psim_scenario_method *out)
{
    struct psim_reader *reader = reading->reader;
    const struct psim_node *name = entry, *model = NULL;
    const struct psim_field name_field = {.key = "name", .kind = PSIM_FIELD_NODE, .to.node = &name};

    if (entry->type != PSIM_NODE_STRING && !psim_read_member(reader, entry, &name_field))
        return;
    out->method = find_method(reader, name);
    if (out->method == NULL)
        return; /* which options it has is not known */
    out->label = out->method->name;
    read_entry(reader, entry, out, reading->scenario->accumulation, &model);
    take_label(reading, entry, out->label);
    out->model = model == NULL ? reading->scenario->model
                               : psim_read_model(reader, model, reading->scenario);
    if (out->model != NULL)
        out->shape.streams = streams_of(out->model);
    out->position = psim_node_position(entry);
    out->position.file = reading->scenario->file;
    out->path = psim_node_path(entry, reader->arena);
    if (out->path == NULL)
        psim_reader_out_of_memory(reader);
}

void psim_read_methods(struct psim_reader *reader, const struct psim_node *list,
                       struct psim_scenario *scenario)
{
    struct method_reading reading = {reader, scenario, PSIM_NAME_SET_INIT};
    struct psim_scenario_method *methods;

    if (list->count < 1 || list->count > METHOD_LIMIT) {
        psim_reader_error(reader, list, PSIM_ERR_RANGE, NULL, "must have 1 to %d elements, not %d",
                          METHOD_LIMIT, list->count);
        return;
    }
    methods = psim_reader_alloc(reader, (size_t)list->count, sizeof *methods);
    for (const struct psim_node *entry = list->first; methods != NULL && entry != NULL;
         entry = entry->next)
        read_method(&reading, entry, &methods[entry->index]);
    scenario->methods = methods;
    scenario->method_count = methods == NULL ? 0 : list->count;
    psim_name_set_release(&reading.labels);
}

/*
 * device/1: what one accelerator can do, and where each figure comes from.
 */
#include "sim/config/formats.h"

#include "sim/base/text.h"
#include "sim/config/plausibility.h"

#include <math.h>
#include <string.h>

/* A device of one reading, so that a file named twice is read, and found faulty, once. */
struct psim_device_entry {
    struct psim_device_entry *next;
    const struct psim_node *root;
    struct psim_device device;
    bool good;
};

static void read_aliases(struct psim_reader *reader, const struct psim_node *list,
                         struct psim_device *out)
{
    const char **aliases = psim_reader_alloc(reader, (size_t)list->count, sizeof *aliases);

    if (aliases == NULL)
        return;
    for (const struct psim_node *node = list->first; node != NULL; node = node->next)
        aliases[node->index] = psim_read_text(reader, node);
    out->aliases = aliases;
    out->alias_count = list->count;
}

/* Peaks by precision; null says that the device has no such unit. */
static void read_peaks(struct psim_reader *reader, const struct psim_node *object,
                       struct psim_device *out)
{
    const struct psim_node *no_unit;
    struct psim_field fields[PSIM_PRECISIONS];

    for (int i = 0; i < PSIM_PRECISIONS; i++) {
        const struct psim_node *value = psim_node_member(object, psim_precision_names[i]);
        fields[i] = (struct psim_field){.key = psim_precision_names[i],
                                        .kind = PSIM_FIELD_QUANTITY,
                                        .positive = true,
                                        .dimension = PSIM_DIMENSION_FLOP_PER_S,
                                        .to.real = &out->peak_flop_per_s[i]};
        if (value != NULL && value->type == PSIM_NODE_NULL) {
            fields[i].kind = PSIM_FIELD_NODE;
            fields[i].to.node = &no_unit;
        }
    }
    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
}

static void read_rate(struct psim_reader *reader, const struct psim_node *object,
                      struct psim_rate *out)
{
    const struct psim_field fields[] = {
        {.key = "compute",
         .kind = PSIM_FIELD_REAL,
         .required = true,
         .positive = true,
         .maximum = 1,
         .to.real = &out->compute},
        {.key = "memory",
         .kind = PSIM_FIELD_REAL,
         .required = true,
         .positive = true,
         .maximum = 1,
         .to.real = &out->memory},
        {.key = "launch",
         .kind = PSIM_FIELD_QUANTITY,
         .required = true,
         .dimension = PSIM_DIMENSION_SECONDS,
         .to.real = &out->launch_s},
        {.key = "norm",
         .kind = PSIM_FIELD_REAL,
         .required = true,
         .minimum = 1,
         .to.real = &out->norm},
    };

    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
    out->given = true;
}

static void read_rates(struct psim_reader *reader, const struct psim_node *object,
                       struct psim_rate *out)
{
    const struct psim_node *rates[PSIM_PRECISIONS + 1] = {NULL};
    struct psim_field fields[PSIM_PRECISIONS + 1];

    for (int i = 0; i <= PSIM_PRECISIONS; i++)
        fields[i] =
            (struct psim_field){.key = i < PSIM_PRECISIONS ? psim_precision_names[i] : "any",
                                .kind = PSIM_FIELD_OBJECT,
                                .to.node = &rates[i]};
    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
    for (int i = 0; i <= PSIM_PRECISIONS; i++) {
        if (rates[i] != NULL)
            read_rate(reader, rates[i], &out[i]);
    }
}

static void read_cost(struct psim_reader *reader, const struct psim_node *object,
                      struct psim_device *out)
{
    const struct psim_node *kinds[PSIM_WORK_KINDS] = {NULL};
    const struct psim_node *fallback;
    struct psim_field fields[PSIM_WORK_KINDS];

    for (int i = 0; i < PSIM_WORK_KINDS; i++)
        fields[i] = (struct psim_field){.key = psim_work_kind_names[i],
                                        .kind = PSIM_FIELD_OBJECT,
                                        .required = i == PSIM_WORK_DEFAULT,
                                        .to.node = &kinds[i]};
    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
    for (int i = 0; i < PSIM_WORK_KINDS; i++) {
        if (kinds[i] != NULL)
            read_rates(reader, kinds[i], out->rates[i]);
    }
    fallback = kinds[PSIM_WORK_DEFAULT];
    if (fallback != NULL && psim_node_member(fallback, "any") == NULL)
        psim_reader_error(reader, fallback, PSIM_ERR_SCHEMA, NULL,
                          "missing key \"any\", the last resort of every kind and precision");
}

static void read_reserve(struct psim_reader *reader, const struct psim_node *object,
                         struct psim_device *out)
{
    const struct psim_field fields[] = {
        {.key = "context", .kind = PSIM_FIELD_BYTES, .to.count = &out->reserve_context_bytes},
        {.key = "workspace", .kind = PSIM_FIELD_BYTES, .to.count = &out->reserve_workspace_bytes},
        {.key = "fragmentation",
         .kind = PSIM_FIELD_REAL,
         .maximum = 1,
         .to.real = &out->reserve_fragmentation},
    };

    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
}

static void read_power(struct psim_reader *reader, const struct psim_node *object,
                       struct psim_device *out)
{
    const struct psim_field fields[] = {
        {.key = "idle",
         .kind = PSIM_FIELD_QUANTITY,
         .dimension = PSIM_DIMENSION_WATT,
         .to.real = &out->idle_w},
        {.key = "busy",
         .kind = PSIM_FIELD_QUANTITY,
         .dimension = PSIM_DIMENSION_WATT,
         .to.real = &out->busy_w},
    };

    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
}

static void read_source(struct psim_reader *reader, const struct psim_node *node,
                        struct psim_source *out)
{
    int tag = PSIM_TAG_ASSUMED;
    const struct psim_field fields[] = {
        {.key = "tag",
         .kind = PSIM_FIELD_CHOICE,
         .required = true,
         .names = psim_tag_names,
         .to.choice = &tag},
        {.key = "source", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &out->source},
    };

    psim_read_object(reader, node, fields, PSIM_FIELD_COUNT(fields));
    out->tag = (enum psim_tag)tag;
    out->pointer = psim_reader_keep(reader, node->key);
}

static void read_sources(struct psim_reader *reader, const struct psim_node *root,
                         const struct psim_node *object, struct psim_device *out)
{
    struct psim_source *sources = psim_reader_alloc(reader, (size_t)object->count, sizeof *sources);
    char quoted[PSIM_QUOTED_BYTES];
    int count = 0;

    for (const struct psim_node *node = object->first; sources != NULL && node != NULL;
         node = node->next) {
        if (psim_key_is_ignored(node))
            continue;
        if (node->key[0] != '/' || psim_node_at_pointer(root, node->key) == NULL) {
            psim_text_quote(node->key, quoted);
            psim_reader_key_error(reader, node, PSIM_ERR_SCHEMA, NULL,
                                  "%s is no JSON pointer to a value of this file, such as "
                                  "\"/memory\"",
                                  quoted);
        }
        read_source(reader, node, &sources[count++]);
    }
    out->sources = sources;
    out->source_count = count;
}

static struct psim_device empty_device(void)
{
    struct psim_device device = {.idle_w = NAN, .busy_w = NAN};

    for (int i = 0; i < PSIM_PRECISIONS; i++)
        device.peak_flop_per_s[i] = NAN;
    return device;
}

bool psim_read_device(struct psim_reader *reader, const struct psim_node *root,
                      struct psim_device *out)
{
    const int faults = reader->faults;
    const struct psim_node *aliases = NULL, *peak = NULL, *cost = NULL, *reserve = NULL,
                           *power = NULL, *price = NULL, *sources = NULL;
    struct psim_device device = empty_device();
    const struct psim_field fields[] = {
        {.key = "name", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &device.name},
        {.key = "aliases", .kind = PSIM_FIELD_LIST, .to.node = &aliases},
        {.key = "memory",
         .kind = PSIM_FIELD_BYTES,
         .required = true,
         .positive = true,
         .to.count = &device.memory_bytes},
        {.key = "memory_bandwidth",
         .kind = PSIM_FIELD_QUANTITY,
         .required = true,
         .positive = true,
         .dimension = PSIM_DIMENSION_BYTES_PER_S,
         .to.real = &device.memory_bandwidth_bytes_per_s},
        {.key = "peak", .kind = PSIM_FIELD_OBJECT, .required = true, .to.node = &peak},
        {.key = "cost", .kind = PSIM_FIELD_OBJECT, .required = true, .to.node = &cost},
        {.key = "concurrency_gain",
         .kind = PSIM_FIELD_REAL,
         .maximum = 1,
         .to.real = &device.concurrency_gain},
        {.key = "reserve", .kind = PSIM_FIELD_OBJECT, .to.node = &reserve},
        {.key = "power", .kind = PSIM_FIELD_OBJECT, .to.node = &power},
        {.key = "price", .kind = PSIM_FIELD_OBJECT, .to.node = &price},
        {.key = "sources", .kind = PSIM_FIELD_OBJECT, .to.node = &sources},
    };

    psim_read_object(reader, root, fields, PSIM_FIELD_COUNT(fields));
    if (aliases != NULL)
        read_aliases(reader, aliases, &device);
    if (peak != NULL)
        read_peaks(reader, peak, &device);
    if (cost != NULL)
        read_cost(reader, cost, &device);
    if (reserve != NULL)
        read_reserve(reader, reserve, &device);
    if (power != NULL)
        read_power(reader, power, &device);
    if (price != NULL)
        psim_read_price(reader, price, &device.price);
    if (sources != NULL)
        read_sources(reader, root, sources, &device);
    if (psim_reader_clean(reader, faults))
        psim_judge_device(reader, root, &device);
    if (!psim_reader_clean(reader, faults))
        return false;
    *out = device;
    return true;
}

/* Reads a device file at its first use in a reading. */
static const struct psim_device *read_once(struct psim_reader *reader, const char *file,
                                           const struct psim_node *named_by)
{
    const struct psim_node *root = psim_reader_open(reader, file, PSIM_FILE_DEVICE, named_by);
    struct psim_device_entry *entry = reader->devices;

    if (root == NULL)
        return NULL;
    while (entry != NULL && entry->root != root)
        entry = entry->next;
    if (entry == NULL) {
        entry = psim_reader_alloc(reader, 1, sizeof *entry);
        if (entry == NULL)
            return NULL;
        entry->root = root;
        entry->good = psim_read_device(reader, root, &entry->device);
        entry->next = reader->devices;
        reader->devices = entry;
    }
    return entry->good ? &entry->device : NULL;
}

const struct psim_device *psim_read_device_file(struct psim_reader *reader,
                                                const struct psim_node *path)
{
    const char *file = psim_reader_resolve(reader, path);

    return file == NULL ? NULL : read_once(reader, file, path);
}

const struct psim_device *psim_read_catalogue_device(struct psim_reader *reader,
                                                     const struct psim_node *name)
{
    const char *file = NULL, *nearest = NULL;
    char quoted[PSIM_QUOTED_BYTES];
    enum psim_status status;

    psim_text_quote(name->value.string, quoted);
    if (reader->catalogue == NULL) {
        psim_reader_error(reader, name, PSIM_ERR_NOTFOUND, NULL,
                          "there is no catalogue to find the device %s in", quoted);
        return NULL;
    }
    status = psim_catalogue_search_device(reader->catalogue, name->value.string, reader->arena,
                                          &file, &nearest);
    if (status == PSIM_ERR_NOMEM)
        psim_reader_out_of_memory(reader);
    else if (status == PSIM_ERR_IO)
        psim_reader_error(reader, name, status, NULL,
                          "the folder of catalogue devices, "
                          "\"%s/devices\", cannot be read",
                          reader->catalogue->root);
    else if (status != PSIM_OK)
        psim_reader_error(reader, name, status, nearest, "the catalogue has no device %s", quoted);
    return status == PSIM_OK ? read_once(reader, file, name) : NULL;
}

/*
 * The short forms of platform/1: nodes with an interconnect and NICs, and the network between them.
 */
#include "sim/config/formats.h"
#include "sim/config/platform_draft.h"

#include "sim/base/text.h"

#include <string.h>

#define NODE_LIMIT        65536
#define NODE_DEVICE_LIMIT 1024
#define NIC_LIMIT         1024
#define KINDS             32 /* of interconnects, of networks */

static void read_devices(struct psim_platform_draft *draft, const struct psim_node *list,
                         struct psim_node_spec *spec)
{
    struct psim_reader *reader = draft->reader;
    int *types = psim_reader_alloc(reader, NODE_DEVICE_LIMIT, sizeof *types);

    for (const struct psim_node *entry = list->first; types != NULL && entry != NULL;
         entry = entry->next) {
        const struct psim_node *type = NULL;
        int64_t count = 1;
        int index = PSIM_NAME_FAULTY;
        const struct psim_field fields[] = {
            {.key = "type", .kind = PSIM_FIELD_NODE, .required = true, .to.node = &type},
            {.key = "count",
             .kind = PSIM_FIELD_COUNT,
             .minimum = 1,
             .maximum = NODE_DEVICE_LIMIT,
             .to.count = &count},
        };

        psim_read_object(reader, entry, fields, PSIM_FIELD_COUNT(fields));
        if (type != NULL)
            index = psim_draft_type(draft, type);
        if (spec->devices + count > NODE_DEVICE_LIMIT) {
            psim_reader_error(reader, list, PSIM_ERR_RANGE, NULL,
                              "a node can have at most %d devices", NODE_DEVICE_LIMIT);
            return;
        }
        for (int64_t i = 0; i < count; i++)
            types[spec->devices++] = index;
    }
    if (list->count == 0)
        psim_reader_error(reader, list, PSIM_ERR_RANGE, NULL, "a node needs at least one device");
    spec->device_types = types;
}

static void read_interconnect(struct psim_reader *reader, const struct psim_node *object,
                              struct psim_node_spec *out)
{
    const char *names[KINDS + 1] = {NULL};
    int kind;

    for (size_t i = 0; psim_interconnect_table[i] != NULL; i++) {
        PSIM_ASSERT(i < KINDS);
        names[i] = psim_interconnect_table[i]->name;
    }
    kind = psim_read_kind(reader, object, names);
    if (kind < 0)
        return; /* which keys belong here is not known */
    out->interconnect = psim_interconnect_table[kind];
    psim_read_parameters(reader, object, out->interconnect->parameters, &out->interconnect_values,
                         &out->interconnect_power);
}

static void read_nics(struct psim_reader *reader, const struct psim_node *object,
                      struct psim_node_spec *out)
{
    const struct psim_node *power = NULL;
    int64_t count = 1;
    const struct psim_field fields[] = {
        {.key = "count",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = NIC_LIMIT,
         .to.count = &count},
        {.key = "bandwidth",
         .kind = PSIM_FIELD_QUANTITY,
         .required = true,
         .positive = true,
         .dimension = PSIM_DIMENSION_BYTES_PER_S,
         .to.real = &out->nic_bandwidth_bytes_per_s},
        {.key = "latency",
         .kind = PSIM_FIELD_QUANTITY,
         .dimension = PSIM_DIMENSION_SECONDS,
         .to.real = &out->nic_latency_s},
        {.key = "power", .kind = PSIM_FIELD_OBJECT, .to.node = &power},
    };

    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
    if (power != NULL)
        psim_read_power(reader, power, &out->nic_power);
    out->nics = (int)count;
}

/* Takes the names of what a builder of sim/platform added beyond the given counts. */
static bool take_added_names(struct psim_platform_draft *draft, const struct psim_node *at,
                             int vertices, int links)
{
    const struct psim_platform *platform = draft->platform;
    bool free = true;

    for (int i = vertices; free && i < platform->vertex_count; i++)
        free = psim_draft_take_name(draft, at, platform->vertices[i].name, i);
    for (int i = links; free && i < platform->link_count; i++)
        free = psim_draft_take_name(draft, at, platform->links[i].name, PSIM_NAME_LINK);
    return free;
}

static void expand_instances(struct psim_platform_draft *draft, const struct psim_node *entry,
                             const struct psim_node_spec *spec, int count)
{
    const struct psim_node *interconnect = psim_node_member(entry, "interconnect");

    for (int i = 0; i < count; i++) {
        const int vertices = draft->platform->vertex_count, links = draft->platform->link_count;
        struct psim_error err = PSIM_ERROR_INIT;
        struct psim_node_spec instance = *spec;

        instance.name = count == 1 ? spec->name
                                   : psim_arena_printf(draft->reader->arena, "%s%d", spec->name, i);
        if (instance.name == NULL) {
            psim_reader_out_of_memory(draft->reader);
            return;
        }
        if (psim_platform_add_node(draft->platform, draft->nodes++, &instance, &err) != PSIM_OK) {
            psim_reader_refuse(draft->reader, interconnect != NULL ? interconnect : entry, &err);
            return;
        }
        if (!take_added_names(draft, entry, vertices, links))
            return;
    }
}

static void expand_node(struct psim_platform_draft *draft, const struct psim_node *entry,
                        const struct psim_node_spec *spec, int count)
{
    if (draft->platform->device_count + (int64_t)count * spec->devices > PSIM_PLATFORM_DEVICES) {
        psim_reader_error(draft->reader, entry, PSIM_ERR_RANGE, NULL,
                          "a platform can have at most %d devices", PSIM_PLATFORM_DEVICES);
        return;
    }
    expand_instances(draft, entry, spec, count);
    if (spec->nics > 0)
        draft->nodes_with_nics += count;
}

/* Notes the price of the instances that are expanded next. */
static void note_price(struct psim_platform_draft *draft, const struct psim_node *entry,
                       const struct psim_price *price, int count)
{
    struct psim_error err = PSIM_ERROR_INIT;

    for (int i = 0; price->given && i < count; i++) {
        if (psim_platform_set_node_price(draft->platform, draft->nodes + i, price, &err) !=
            PSIM_OK) {
            psim_reader_refuse(draft->reader, entry, &err);
            return;
        }
    }
}

static void read_node(struct psim_platform_draft *draft, const struct psim_node *entry)
{
    struct psim_reader *reader = draft->reader;
    const int faults = reader->faults;
    const struct psim_node *devices = NULL, *interconnect = NULL, *nics = NULL, *price = NULL;
    struct psim_node_spec spec = {0};
    struct psim_price per_node = {0};
    int64_t count = 1;
    const struct psim_field fields[] = {
        {.key = "name", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &spec.name},
        {.key = "count",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = NODE_LIMIT,
         .to.count = &count},
        {.key = "devices", .kind = PSIM_FIELD_LIST, .required = true, .to.node = &devices},
        {.key = "interconnect", .kind = PSIM_FIELD_OBJECT, .to.node = &interconnect},
        {.key = "nics", .kind = PSIM_FIELD_OBJECT, .to.node = &nics},
        {.key = "price", .kind = PSIM_FIELD_OBJECT, .to.node = &price},
    };

    psim_read_object(reader, entry, fields, PSIM_FIELD_COUNT(fields));
    if (devices != NULL)
        read_devices(draft, devices, &spec);
    if (interconnect != NULL)
        read_interconnect(reader, interconnect, &spec);
    else if (spec.devices > 1 && psim_node_member(entry, "interconnect") == NULL)
        psim_reader_error(reader, entry, PSIM_ERR_SCHEMA, NULL,
                          "missing key \"interconnect\": nothing joins the node's %d devices",
                          spec.devices);
    if (nics != NULL)
        read_nics(reader, nics, &spec);
    if (price != NULL)
        psim_read_price(reader, price, &per_node);
    if (psim_reader_clean(reader, faults)) {
        note_price(draft, entry, &per_node, (int)count);
        expand_node(draft, entry, &spec, (int)count);
    }
}

void psim_draft_read_nodes(struct psim_platform_draft *draft, const struct psim_node *list)
{
    for (const struct psim_node *entry = list->first; entry != NULL; entry = entry->next)
        read_node(draft, entry);
}

void psim_draft_read_network(struct psim_platform_draft *draft)
{
    const int vertices = draft->platform->vertex_count, links = draft->platform->link_count;
    const int faults = draft->reader->faults;
    const char *names[KINDS + 1] = {NULL};
    struct psim_error err = PSIM_ERROR_INIT;
    struct psim_values values;
    struct psim_power power = {.given = false};
    int kind;

    for (size_t i = 0; psim_network_kind_table[i] != NULL; i++) {
        PSIM_ASSERT(i < KINDS);
        names[i] = psim_network_kind_table[i]->name;
    }
    kind = psim_read_kind(draft->reader, draft->network, names);
    if (kind < 0)
        return;
    psim_read_parameters(draft->reader, draft->network, psim_network_kind_table[kind]->parameters,
                         &values, &power);
    if (!psim_reader_clean(draft->reader, faults))
        return;
    if (psim_platform_add_network(draft->platform, psim_network_kind_table[kind], &values, &power,
                                  &err) != PSIM_OK)
        psim_reader_refuse(draft->reader, draft->network, &err);
    else
        (void)take_added_names(draft, draft->network, vertices, links);
}

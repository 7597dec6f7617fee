/*
 * The short forms of platform/1: nodes with an interconnect and NICs, and the network between them.
 */
#include "sim/config/platform_draft.h"

#include "sim/base/text.h"

#include <string.h>

#define NODE_LIMIT        65536
#define NODE_DEVICE_LIMIT 1024
#define NIC_LIMIT         1024
#define INTERCONNECTS     32

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

/* Where a key that only some kinds of interconnect have is read to; false: not such a key. */
static bool extra_field(const char *key, struct psim_interconnect_spec *spec, int64_t *per_switch,
                        struct psim_field *out)
{
    if (strcmp(key, "per_switch") == 0)
        *out = (struct psim_field){.kind = PSIM_FIELD_COUNT,
                                   .minimum = 1,
                                   .maximum = NODE_DEVICE_LIMIT,
                                   .to.count = per_switch};
    else if (strcmp(key, "uplink_bandwidth") == 0)
        *out = (struct psim_field){.kind = PSIM_FIELD_QUANTITY,
                                   .positive = true,
                                   .dimension = PSIM_DIMENSION_BYTES_PER_S,
                                   .to.real = &spec->uplink_bandwidth_bytes_per_s};
    else if (strcmp(key, "peer_to_peer") == 0)
        *out = (struct psim_field){.kind = PSIM_FIELD_BOOL, .to.flag = &spec->peer_to_peer};
    else
        return false;
    out->key = key;
    return true;
}

/* The kind alone, because it decides which keys there are; NULL when it was reported. */
static const struct psim_interconnect *read_kind(struct psim_reader *reader,
                                                 const struct psim_node *object)
{
    const char *names[INTERCONNECTS + 1] = {NULL};
    int choice = 0;
    const struct psim_field field = {
        .key = "kind", .kind = PSIM_FIELD_CHOICE, .names = names, .to.choice = &choice};

    for (size_t i = 0; psim_interconnect_table[i] != NULL; i++) {
        PSIM_ASSERT(i < INTERCONNECTS);
        names[i] = psim_interconnect_table[i]->name;
    }
    return psim_read_member(reader, object, &field) ? psim_interconnect_table[choice] : NULL;
}

static void read_interconnect(struct psim_reader *reader, const struct psim_node *object,
                              struct psim_node_spec *out)
{
    struct psim_interconnect_spec *spec = &out->interconnect_spec;
    const struct psim_interconnect *interconnect = read_kind(reader, object);
    const struct psim_node *kind;
    int64_t per_switch = 0;
    struct psim_field fields[16] = {
        {.key = "kind", .kind = PSIM_FIELD_NODE, .to.node = &kind},
        {.key = "bandwidth",
         .kind = PSIM_FIELD_QUANTITY,
         .required = true,
         .positive = true,
         .dimension = PSIM_DIMENSION_BYTES_PER_S,
         .to.real = &spec->bandwidth_bytes_per_s},
        {.key = "latency",
         .kind = PSIM_FIELD_QUANTITY,
         .dimension = PSIM_DIMENSION_SECONDS,
         .to.real = &spec->latency_s},
    };
    size_t count = 3;

    spec->peer_to_peer = true;
    if (interconnect == NULL)
        return; /* which keys belong here is not known */
    for (size_t i = 0; interconnect->keys != NULL && interconnect->keys[i] != NULL; i++) {
        PSIM_ASSERT(count < PSIM_FIELD_COUNT(fields));
        if (!extra_field(interconnect->keys[i], spec, &per_switch, &fields[count++]))
            psim_bug("an interconnect has a key that no one reads");
    }
    psim_read_object(reader, object, fields, count);
    spec->per_switch = (int)per_switch;
    out->interconnect = interconnect;
}

static void read_nics(struct psim_reader *reader, const struct psim_node *object,
                      struct psim_node_spec *out)
{
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
    };

    psim_read_object(reader, object, fields, PSIM_FIELD_COUNT(fields));
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

/* Adds the instances of one entry; `nics` has room for the NICs of all. */
static bool expand_instances(struct psim_platform_draft *draft, const struct psim_node *entry,
                             const struct psim_node_spec *spec, int count, int *nics)
{
    for (int i = 0; i < count; i++) {
        const int vertices = draft->platform->vertex_count, links = draft->platform->link_count;
        struct psim_error err = PSIM_ERROR_INIT;
        struct psim_node_spec instance = *spec;

        instance.name = count == 1 ? spec->name
                                   : psim_arena_printf(draft->reader->arena, "%s%d", spec->name, i);
        if (instance.name == NULL) {
            psim_reader_out_of_memory(draft->reader);
            return false;
        }
        if (psim_platform_add_node(draft->platform, draft->nodes++, &instance,
                                   nics + (size_t)i * (size_t)spec->nics, &err) != PSIM_OK) {
            psim_reader_refuse(draft->reader, entry, &err);
            return false;
        }
        if (!take_added_names(draft, entry, vertices, links))
            return false;
    }
    return true;
}

static void join_network(struct psim_platform_draft *draft, const struct psim_node_spec *spec,
                         const int *nics, int count)
{
    const int vertices = draft->platform->vertex_count, links = draft->platform->link_count;
    struct psim_error err = PSIM_ERROR_INIT;

    if (psim_platform_add_network_switch(draft->platform, nics, count,
                                         spec->nic_bandwidth_bytes_per_s, spec->nic_latency_s,
                                         draft->network_latency_s, &err) != PSIM_OK)
        psim_reader_refuse(draft->reader, draft->network, &err);
    else
        (void)take_added_names(draft, draft->network, vertices, links);
}

static void expand_node(struct psim_platform_draft *draft, const struct psim_node *entry,
                        const struct psim_node_spec *spec, int count)
{
    const size_t nics = (size_t)spec->nics * (size_t)count;
    int *vertices;

    if (draft->platform->device_count + (int64_t)count * spec->devices > PSIM_PLATFORM_DEVICES) {
        psim_reader_error(draft->reader, entry, PSIM_ERR_RANGE, NULL,
                          "a platform can have at most %d devices", PSIM_PLATFORM_DEVICES);
        return;
    }
    vertices = psim_alloc(nics, sizeof *vertices);
    if (vertices == NULL) {
        psim_reader_out_of_memory(draft->reader);
        return;
    }
    if (expand_instances(draft, entry, spec, count, vertices) && draft->network != NULL && nics > 0)
        join_network(draft, spec, vertices, (int)nics);
    if (nics > 0)
        draft->nodes_with_nics += count;
    psim_free(vertices);
}

static void read_node(struct psim_platform_draft *draft, const struct psim_node *entry)
{
    struct psim_reader *reader = draft->reader;
    const int faults = reader->faults;
    const struct psim_node *devices = NULL, *interconnect = NULL, *nics = NULL;
    struct psim_node_spec spec = {0};
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
    if (psim_reader_clean(reader, faults))
        expand_node(draft, entry, &spec, (int)count);
}

void psim_draft_read_nodes(struct psim_platform_draft *draft, const struct psim_node *list)
{
    for (const struct psim_node *entry = list->first; entry != NULL; entry = entry->next)
        read_node(draft, entry);
}

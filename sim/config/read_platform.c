/*
 * platform/1: device types, then nodes (read_nodes.c), hosts, switches and links.
 */
#include "sim/config/formats.h"

#include "sim/base/text.h"
#include "sim/config/platform_draft.h"
#include "sim/config/plausibility.h"

#include <math.h>
#include <string.h>

#define SUGGESTION_LIMIT 4096 /* names compared to find what may be meant */

static const char *const sharing_names[] = {"duplex", "shared", NULL};
static const char *const route_kinds[] = {"shortest", NULL};

/* Reports a name that is not known, with the nearest of those that are. */
static void unknown_name(struct psim_reader *reader, const struct psim_node *node, const char *what,
                         const char *const *names, size_t count)
{
    char quoted[PSIM_QUOTED_BYTES];

    psim_text_quote(node->value.string, quoted);
    psim_reader_error(reader, node, PSIM_ERR_NOTFOUND,
                      psim_nearest_name(node->value.string, names, count), "no %s is named %s",
                      what, quoted);
}

/* Names of a set's entries whose value is at least `least`; in reader memory that lives shortly. */
static void unknown_in_set(struct psim_reader *reader, const struct psim_node *node,
                           const char *what, const struct psim_name_set *set, int least)
{
    const char **names = psim_alloc(SUGGESTION_LIMIT, sizeof *names);
    size_t count = 0;

    if (names == NULL) {
        psim_reader_out_of_memory(reader);
        return;
    }
    for (size_t i = 0; i < set->capacity && count < SUGGESTION_LIMIT; i++) {
        if (set->slots[i].name != NULL && set->slots[i].value >= least)
            names[count++] = set->slots[i].name;
    }
    unknown_name(reader, node, what, names, count);
    psim_free(names);
}

int psim_draft_type(struct psim_platform_draft *draft, const struct psim_node *alias)
{
    const struct psim_name_entry *entry;

    if (psim_read_text(draft->reader, alias) == NULL)
        return PSIM_NAME_FAULTY;
    entry = psim_name_set_find(&draft->types, alias->value.string);
    if (entry != NULL)
        return entry->value;
    unknown_in_set(draft->reader, alias, "entry of \"devices\"", &draft->types, PSIM_NAME_FAULTY);
    return PSIM_NAME_FAULTY;
}

bool psim_draft_take_name(struct psim_platform_draft *draft, const struct psim_node *at,
                          const char *name, int value)
{
    char quoted[PSIM_QUOTED_BYTES];

    if (psim_name_set_find(&draft->names, name) != NULL) {
        psim_text_quote(name, quoted);
        psim_reader_error(draft->reader, at, PSIM_ERR_SCHEMA, NULL,
                          "the name %s is taken: nodes, hosts, switches and links share one set "
                          "of names",
                          quoted);
        return false;
    }
    if (psim_name_set_add(&draft->names, name, value) == PSIM_OK)
        return true;
    psim_reader_out_of_memory(draft->reader);
    return false;
}

/* One entry of "devices": the device, from the catalogue or, as `*path` then says, a file. */
static const struct psim_device *read_type(struct psim_reader *reader, const struct psim_node *node,
                                           const char **path)
{
    const struct psim_node *catalogue = NULL, *file = NULL;
    const struct psim_field fields[] = {
        {.key = "catalogue", .kind = PSIM_FIELD_NODE, .to.node = &catalogue},
        {.key = "file", .kind = PSIM_FIELD_NODE, .to.node = &file},
    };

    psim_read_object(reader, node, fields, PSIM_FIELD_COUNT(fields));
    if (node->type != PSIM_NODE_OBJECT)
        return NULL;
    if ((catalogue == NULL) == (file == NULL)) {
        psim_reader_error(reader, node, PSIM_ERR_SCHEMA, NULL,
                          "needs one key, \"catalogue\" or \"file\"");
        return NULL;
    }
    if (psim_read_text(reader, catalogue != NULL ? catalogue : file) == NULL)
        return NULL;
    if (catalogue != NULL)
        return psim_read_catalogue_device(reader, catalogue);
    *path = psim_reader_resolve(reader, file);
    return psim_read_device_file(reader, file);
}

static void read_types(struct psim_platform_draft *draft, const struct psim_node *object)
{
    struct psim_error err = PSIM_ERROR_INIT;

    for (const struct psim_node *node = object->first; node != NULL; node = node->next) {
        const struct psim_device *device;
        const char *path = NULL;
        int type = PSIM_NAME_FAULTY;

        if (psim_key_is_ignored(node))
            continue;
        device = read_type(draft->reader, node, &path);
        if (device != NULL &&
            psim_platform_add_type(draft->platform, node->key, device, &type, &err) != PSIM_OK)
            psim_reader_refuse(draft->reader, node, &err);
        if (type != PSIM_NAME_FAULTY)
            draft->platform->types[type].file = path;
        if (psim_name_set_add(&draft->types, node->key, type) != PSIM_OK)
            psim_reader_out_of_memory(draft->reader);
    }
}

/* Adds a host (type >= 0), a switch (-1), or only its name when the host's device is faulty.
 * Returns the vertex, or PSIM_NAME_FAULTY. */
static int add_vertex(struct psim_platform_draft *draft, const struct psim_node *entry,
                      const char *name, int type, bool faulty)
{
    const struct psim_node *at = psim_node_member(entry, "name");
    struct psim_error err = PSIM_ERROR_INIT;
    int vertex = PSIM_NAME_FAULTY;

    if (type >= 0 && draft->platform->device_count >= PSIM_PLATFORM_DEVICES) {
        psim_reader_error(draft->reader, entry, PSIM_ERR_RANGE, NULL,
                          "a platform can have at most %d devices", PSIM_PLATFORM_DEVICES);
        return vertex;
    }
    if (!psim_draft_take_name(draft, at, name, faulty ? vertex : draft->platform->vertex_count))
        return vertex;
    if (!faulty &&
        psim_platform_add_vertex(draft->platform, name, type, -1, &vertex, &err) != PSIM_OK)
        psim_reader_refuse(draft->reader, entry, &err);
    return vertex;
}

static void read_hosts(struct psim_platform_draft *draft, const struct psim_node *list)
{
    for (const struct psim_node *entry = list->first; entry != NULL; entry = entry->next) {
        const struct psim_node *device = NULL;
        const char *name = NULL;
        const struct psim_field fields[] = {
            {.key = "name", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &name},
            {.key = "device", .kind = PSIM_FIELD_NODE, .required = true, .to.node = &device},
        };
        int type = PSIM_NAME_FAULTY;

        psim_read_object(draft->reader, entry, fields, PSIM_FIELD_COUNT(fields));
        if (device != NULL)
            type = psim_draft_type(draft, device);
        if (name != NULL)
            (void)add_vertex(draft, entry, name, type, type == PSIM_NAME_FAULTY);
    }
}

static void read_switches(struct psim_platform_draft *draft, const struct psim_node *list)
{
    for (const struct psim_node *entry = list->first; entry != NULL; entry = entry->next) {
        const struct psim_node *draws = NULL;
        struct psim_power power = {.given = false};
        const char *name = NULL;
        bool peering = true;
        int vertex = PSIM_NAME_FAULTY;
        const struct psim_field fields[] = {
            {.key = "name", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &name},
            {.key = "peering", .kind = PSIM_FIELD_BOOL, .to.flag = &peering},
            {.key = "power", .kind = PSIM_FIELD_OBJECT, .to.node = &draws},
        };

        psim_read_object(draft->reader, entry, fields, PSIM_FIELD_COUNT(fields));
        if (draws != NULL)
            psim_read_power(draft->reader, draws, &power);
        if (name != NULL)
            vertex = add_vertex(draft, entry, name, -1, false);
        if (vertex >= 0)
            draft->platform->vertices[vertex].power = power;
        if (vertex >= 0 && !peering)
            psim_platform_bar_peering(draft->platform, vertex);
    }
}

/* The two ends of a link; false when one is not known or could not be built. */
static bool read_ends(struct psim_platform_draft *draft, const struct psim_node *list, int ends[2])
{
    struct psim_reader *reader = draft->reader;
    bool good = true;

    if (list->count != 2) {
        psim_reader_error(reader, list, PSIM_ERR_SCHEMA, NULL,
                          "must name two hosts or switches, not %d", list->count);
        return false;
    }
    for (const struct psim_node *node = list->first; node != NULL; node = node->next) {
        const struct psim_name_entry *entry;

        if (psim_read_text(reader, node) == NULL) {
            good = false;
            continue;
        }
        entry = psim_name_set_find(&draft->names, node->value.string);
        if (entry == NULL || entry->value == PSIM_NAME_LINK) {
            unknown_in_set(reader, node, "host or switch", &draft->names, PSIM_NAME_FAULTY);
            good = false;
        } else {
            ends[node->index] = entry->value;
            good = good && entry->value >= 0;
        }
    }
    if (good && ends[0] == ends[1]) {
        psim_reader_error(reader, list, PSIM_ERR_SCHEMA, NULL,
                          "a link must join two different hosts or switches");
        good = false;
    }
    return good;
}

/* A bandwidth, or the word for a connection that never limits. */
static void read_bandwidth(struct psim_reader *reader, const struct psim_node *node,
                           double *bandwidth_bytes_per_s)
{
    const struct psim_field field = {.kind = PSIM_FIELD_QUANTITY,
                                     .positive = true,
                                     .dimension = PSIM_DIMENSION_BYTES_PER_S,
                                     .to.real = bandwidth_bytes_per_s};

    if (node->type == PSIM_NODE_STRING && strcmp(node->value.string, "unlimited") == 0)
        *bandwidth_bytes_per_s = INFINITY;
    else
        (void)psim_read_value(reader, node, &field);
}

static void read_link(struct psim_platform_draft *draft, const struct psim_node *entry)
{
    const int faults = draft->reader->faults;
    const struct psim_node *between = NULL, *bandwidth = NULL, *draws = NULL;
    struct psim_power power = {.given = false};
    const char *name = NULL;
    double bandwidth_bytes_per_s = 0, latency_s = 0;
    int sharing = PSIM_DUPLEX, ends[2] = {0, 0};
    struct psim_error err = PSIM_ERROR_INIT;
    const struct psim_field fields[] = {
        {.key = "name", .kind = PSIM_FIELD_TEXT, .required = true, .to.text = &name},
        {.key = "between", .kind = PSIM_FIELD_LIST, .required = true, .to.node = &between},
        {.key = "bandwidth", .kind = PSIM_FIELD_NODE, .required = true, .to.node = &bandwidth},
        {.key = "latency",
         .kind = PSIM_FIELD_QUANTITY,
         .dimension = PSIM_DIMENSION_SECONDS,
         .to.real = &latency_s},
        {.key = "sharing",
         .kind = PSIM_FIELD_CHOICE,
         .names = sharing_names,
         .to.choice = &sharing},
        {.key = "power", .kind = PSIM_FIELD_OBJECT, .to.node = &draws},
    };

    psim_read_object(draft->reader, entry, fields, PSIM_FIELD_COUNT(fields));
    if (bandwidth != NULL)
        read_bandwidth(draft->reader, bandwidth, &bandwidth_bytes_per_s);
    if (draws != NULL)
        psim_read_power(draft->reader, draws, &power);
    if (name != NULL)
        (void)psim_draft_take_name(draft, psim_node_member(entry, "name"), name, PSIM_NAME_LINK);
    if (between == NULL || !read_ends(draft, between, ends) ||
        !psim_reader_clean(draft->reader, faults))
        return;
    if (psim_platform_add_link(draft->platform, name, ends[0], ends[1], bandwidth_bytes_per_s,
                               latency_s, (enum psim_sharing)sharing, &err) != PSIM_OK)
        psim_reader_refuse(draft->reader, entry, &err);
    else
        draft->platform->links[draft->platform->link_count - 1].power = power;
}

/* Devices are numbered in the order of the file, whichever form they come in. */
static void read_vertices(struct psim_platform_draft *draft, const struct psim_node *root)
{
    for (const struct psim_node *part = root->first; part != NULL; part = part->next) {
        if (part->type != PSIM_NODE_ARRAY)
            continue;
        if (strcmp(part->key, "nodes") == 0)
            psim_draft_read_nodes(draft, part);
        else if (strcmp(part->key, "hosts") == 0)
            read_hosts(draft, part);
        else if (strcmp(part->key, "switches") == 0)
            read_switches(draft, part);
    }
}

/* What only the whole shows; asked when every part of it is sound. */
static void check_whole(struct psim_platform_draft *draft, const struct psim_node *root, int use)
{
    struct psim_reader *reader = draft->reader;
    const int devices = draft->platform->device_count;

    if (devices == 0)
        psim_reader_error(reader, root, PSIM_ERR_RANGE, NULL,
                          "the platform has no device: give \"nodes\" or \"hosts\"");
    else if (use > devices)
        psim_reader_error(reader, psim_node_member(root, "use"), PSIM_ERR_RANGE, NULL,
                          "must be in [1, %d], the platform's devices, not %d", devices, use);
    if (draft->network != NULL && draft->nodes_with_nics == 0)
        psim_reader_key_error(reader, draft->network, PSIM_ERR_SCHEMA, NULL,
                              "joins nothing: no node has \"nics\"");
    if (draft->network == NULL && draft->nodes_with_nics > 1 &&
        psim_node_member(root, "links") == NULL)
        psim_reader_error(reader, root, PSIM_ERR_SCHEMA, NULL,
                          "missing key \"network\": nothing joins the NICs of %d nodes",
                          draft->nodes_with_nics);
}

static void read_parts(struct psim_platform_draft *draft, const struct psim_node *root)
{
    struct psim_reader *reader = draft->reader;
    const int faults = reader->faults;
    const struct psim_node *devices = NULL, *links = NULL, *list;
    struct psim_error err = PSIM_ERROR_INIT;
    int64_t use = 0;
    int routes;
    const struct psim_field fields[] = {
        {.key = "name",
         .kind = PSIM_FIELD_TEXT,
         .required = true,
         .to.text = &draft->platform->name},
        {.key = "devices", .kind = PSIM_FIELD_OBJECT, .required = true, .to.node = &devices},
        {.key = "nodes", .kind = PSIM_FIELD_LIST, .to.node = &list},
        {.key = "network", .kind = PSIM_FIELD_OBJECT, .to.node = &draft->network},
        {.key = "hosts", .kind = PSIM_FIELD_LIST, .to.node = &list},
        {.key = "switches", .kind = PSIM_FIELD_LIST, .to.node = &list},
        {.key = "links", .kind = PSIM_FIELD_LIST, .to.node = &links},
        {.key = "routes", .kind = PSIM_FIELD_CHOICE, .names = route_kinds, .to.choice = &routes},
        {.key = "relay", .kind = PSIM_FIELD_BOOL, .to.flag = &draft->platform->hosts_forward},
        {.key = "use",
         .kind = PSIM_FIELD_COUNT,
         .minimum = 1,
         .maximum = PSIM_PLATFORM_DEVICES,
         .to.count = &use},
    };

    draft->platform->hosts_forward = psim_node_member(root, "hosts") != NULL;
    psim_read_object(reader, root, fields, PSIM_FIELD_COUNT(fields));
    if (devices != NULL)
        read_types(draft, devices);
    read_vertices(draft, root);
    if (draft->network != NULL)
        psim_draft_read_network(draft);
    for (const struct psim_node *link = links == NULL ? NULL : links->first; link != NULL;
         link = link->next)
        read_link(draft, link);
    if (psim_reader_clean(reader, faults))
        check_whole(draft, root, (int)use);
    if (psim_reader_clean(reader, faults) &&
        psim_platform_finish(draft->platform, (int)use, &err) != PSIM_OK)
        psim_reader_refuse(reader, root, &err);
    if (psim_reader_clean(reader, faults))
        psim_judge_platform(reader, root, draft->platform);
}

bool psim_read_platform(struct psim_reader *reader, const struct psim_node *root,
                        struct psim_platform *out)
{
    const int faults = reader->faults;
    const bool own_arena = reader->arena == NULL;
    struct psim_platform platform;
    struct psim_platform_draft draft = {
        .reader = reader,
        .platform = &platform,
        .types = PSIM_NAME_SET_INIT,
        .names = PSIM_NAME_SET_INIT,
    };
    bool good;

    if (psim_platform_init(&platform, "", NULL) != PSIM_OK) {
        psim_reader_out_of_memory(reader);
        return false;
    }
    if (own_arena)
        reader->arena = &platform.arena;
    read_parts(&draft, root);
    if (own_arena)
        reader->arena = NULL;
    psim_name_set_release(&draft.types);
    psim_name_set_release(&draft.names);
    good = psim_reader_clean(reader, faults);
    if (good)
        *out = platform;
    else
        psim_platform_release(&platform);
    return good;
}

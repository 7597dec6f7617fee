#include "sim/platform/platform.h"

#include "sim/platform/graph.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define NAME_BYTES 512

static enum psim_status no_memory(struct psim_error *err)
{
    return psim_fail(err, PSIM_ERR_NOMEM, "platform", "out of memory");
}

enum psim_status psim_platform_init(struct psim_platform *platform, const char *name,
                                    struct psim_error *err)
{
    struct psim_platform made = {.arena = PSIM_ARENA_INIT};

    made.name = psim_arena_text(&made.arena, name, strlen(name));
    made.adjacency = psim_alloc(1, sizeof *made.adjacency);
    if (made.name == NULL || made.adjacency == NULL) {
        psim_platform_release(&made);
        return no_memory(err);
    }
    *platform = made;
    return PSIM_OK;
}

void psim_platform_release(struct psim_platform *platform)
{
    if (platform->adjacency != NULL) {
        psim_free(platform->adjacency->passages);
        psim_free(platform->adjacency->ports);
        psim_free(platform->adjacency->edges);
        psim_free(platform->adjacency->first);
        psim_free(platform->adjacency);
    }
    psim_free(platform->types);
    psim_free(platform->vertices);
    psim_free(platform->links);
    psim_free(platform->devices);
    psim_arena_release(&platform->arena);
    *platform = (struct psim_platform){.arena = PSIM_ARENA_INIT};
}

/* The array with room for one more element, or NULL with the old array still valid. */
static void *with_room(void *array, int count, int *capacity, size_t size)
{
    const int larger = *capacity == 0 ? 16 : *capacity < INT_MAX / 2 ? 2 * *capacity : INT_MAX;
    void *block;

    if (count < *capacity)
        return array;
    if (count == INT_MAX)
        return NULL;
    block = psim_realloc(array, (size_t)larger, size);
    if (block != NULL)
        *capacity = larger;
    return block;
}

static bool room_for_type(struct psim_platform *platform)
{
    void *types = with_room(platform->types, platform->type_count,
                            &platform->adjacency->type_capacity, sizeof *platform->types);

    if (types == NULL)
        return false;
    platform->types = types;
    return true;
}

static bool room_for_link(struct psim_platform *platform)
{
    void *links = with_room(platform->links, platform->link_count,
                            &platform->adjacency->link_capacity, sizeof *platform->links);

    if (links == NULL)
        return false;
    platform->links = links;
    return true;
}

/* Vertex, its rules of passage and its place among the devices. */
static bool room_for_vertex(struct psim_platform *platform)
{
    struct psim_adjacency *graph = platform->adjacency;
    void *block = with_room(platform->vertices, platform->vertex_count, &graph->vertex_capacity,
                            sizeof *platform->vertices);

    if (block == NULL)
        return false;
    platform->vertices = block;
    block = with_room(graph->passages, platform->vertex_count, &graph->passage_capacity,
                      sizeof *graph->passages);
    if (block == NULL)
        return false;
    graph->passages = block;
    block = with_room(platform->devices, platform->device_count, &graph->device_capacity,
                      sizeof *platform->devices);
    if (block == NULL)
        return false;
    platform->devices = block;
    return true;
}

enum psim_status psim_platform_add_type(struct psim_platform *platform, const char *alias,
                                        const struct psim_device *device, int *type,
                                        struct psim_error *err)
{
    const char *copy = psim_arena_text(&platform->arena, alias, strlen(alias));

    if (copy == NULL || !room_for_type(platform))
        return no_memory(err);
    platform->types[platform->type_count] =
        (struct psim_device_type){.alias = copy, .device = *device};
    *type = platform->type_count++;
    return PSIM_OK;
}

enum psim_status psim_platform_add_vertex(struct psim_platform *platform, const char *name,
                                          int device_type, int node, int *vertex,
                                          struct psim_error *err)
{
    const char *copy;

    if (device_type < -1 || device_type >= platform->type_count)
        return psim_fail(err, PSIM_ERR_RANGE, "device_type", "no such device type");
    copy = psim_arena_text(&platform->arena, name, strlen(name));
    if (copy == NULL || !room_for_vertex(platform))
        return no_memory(err);
    if (device_type >= 0)
        platform->devices[platform->device_count++] = platform->vertex_count;
    platform->vertices[platform->vertex_count] =
        (struct psim_vertex){.name = copy, .device_type = device_type, .node = node};
    platform->adjacency->passages[platform->vertex_count] =
        (struct psim_passage){.nic = -1, .zone = -1};
    *vertex = platform->vertex_count++;
    return PSIM_OK;
}

enum psim_status psim_platform_add_link(struct psim_platform *platform, const char *name, int from,
                                        int to, double bandwidth_bytes_per_s, double latency_s,
                                        enum psim_sharing sharing, struct psim_error *err)
{
    const int vertices = platform->vertex_count;
    const char *copy;

    if (from < 0 || from >= vertices || to < 0 || to >= vertices || from == to)
        return psim_fail(err, PSIM_ERR_RANGE, "between", "link \"%s\" must join two vertices",
                         name);
    if (!(bandwidth_bytes_per_s > 0.0))
        return psim_fail(err, PSIM_ERR_RANGE, "bandwidth",
                         "bandwidth of link \"%s\" must be positive, not %g", name,
                         bandwidth_bytes_per_s);
    if (!(latency_s >= 0.0) || isinf(latency_s))
        return psim_fail(err, PSIM_ERR_RANGE, "latency",
                         "latency of link \"%s\" must be finite and not negative, not %g", name,
                         latency_s);
    copy = psim_arena_text(&platform->arena, name, strlen(name));
    if (copy == NULL || !room_for_link(platform))
        return no_memory(err);
    platform->links[platform->link_count++] =
        (struct psim_link){.name = copy,
                           .from = from,
                           .to = to,
                           .bandwidth_bytes_per_s = bandwidth_bytes_per_s,
                           .latency_s = latency_s,
                           .sharing = sharing};
    return PSIM_OK;
}

enum psim_status psim_platform_add_port(struct psim_platform *platform,
                                        const struct psim_port *port, struct psim_error *err)
{
    struct psim_adjacency *graph = platform->adjacency;
    void *ports =
        with_room(graph->ports, graph->port_count, &graph->port_capacity, sizeof *graph->ports);

    if (ports == NULL)
        return no_memory(err);
    graph->ports = ports;
    graph->ports[graph->port_count++] = *port;
    return PSIM_OK;
}

void psim_platform_bar_peering(struct psim_platform *platform, int vertex)
{
    PSIM_ASSERT(vertex >= 0 && vertex < platform->vertex_count);
    platform->adjacency->passages[vertex].no_peering = true;
}

bool psim_platform_peering_is_barred(const struct psim_platform *platform, int vertex)
{
    const struct psim_passage *passage = &platform->adjacency->passages[vertex];

    return passage->no_peering || passage->is_nic;
}

/* A name cut short could be another's, so too long a one is refused. */
static enum psim_status print_name(char name[NAME_BYTES], struct psim_error *err,
                                   const char *format, va_list arguments)
{
    const int length = vsnprintf(name, NAME_BYTES, format, arguments);

    if (length < 0 || length >= NAME_BYTES)
        return psim_fail(err, PSIM_ERR_RANGE, "name", "names longer than %d bytes are not possible",
                         NAME_BYTES - 1);
    return PSIM_OK;
}

enum psim_status psim_platform_add_named(struct psim_platform *platform, int device_type, int node,
                                         int *vertex, struct psim_error *err, const char *format,
                                         ...)
{
    char name[NAME_BYTES];
    enum psim_status status;
    va_list arguments;

    va_start(arguments, format);
    status = print_name(name, err, format, arguments);
    va_end(arguments);
    if (status != PSIM_OK)
        return status;
    return psim_platform_add_vertex(platform, name, device_type, node, vertex, err);
}

enum psim_status psim_platform_join(struct psim_platform *platform, int from, int to,
                                    double bandwidth_bytes_per_s, double latency_s,
                                    struct psim_error *err, const char *format, ...)
{
    char name[NAME_BYTES];
    enum psim_status status;
    va_list arguments;

    va_start(arguments, format);
    status = print_name(name, err, format, arguments);
    va_end(arguments);
    if (status != PSIM_OK)
        return status;
    return psim_platform_add_link(platform, name, from, to, bandwidth_bytes_per_s, latency_s,
                                  PSIM_DUPLEX, err);
}

/* Edges sorted by vertex and, as links are visited in order, by link number within each. */
static void fill_index(const struct psim_platform *platform, struct psim_edge *edges, int *first)
{
    const int vertices = platform->vertex_count;

    for (int i = 0; i < platform->link_count; i++) {
        first[platform->links[i].from]++;
        first[platform->links[i].to]++;
    }
    for (int v = 0, before = 0; v <= vertices; v++) {
        const int degree = first[v];

        first[v] = before;
        before += degree;
    }
    for (int i = 0; i < platform->link_count; i++) {
        const struct psim_link *link = &platform->links[i];

        edges[first[link->from]++] = (struct psim_edge){.link = i, .to = link->to};
        edges[first[link->to]++] = (struct psim_edge){.link = i, .to = link->from};
    }
    /* Filling moved every start to the next vertex's. */
    memmove(&first[1], &first[0], (size_t)vertices * sizeof *first);
    first[0] = 0;
}

enum psim_status psim_platform_finish(struct psim_platform *platform, int use,
                                      struct psim_error *err)
{
    struct psim_edge *edges;
    int *first;

    if (use < 0 || use > platform->device_count)
        return psim_fail(err, PSIM_ERR_RANGE, "use", "%d devices asked for, the platform has %d",
                         use, platform->device_count);
    if (platform->link_count > INT_MAX / 2)
        return no_memory(err);
    edges = psim_alloc(2 * (size_t)platform->link_count, sizeof *edges);
    first = psim_alloc((size_t)platform->vertex_count + 1, sizeof *first);
    if (edges == NULL || first == NULL) {
        psim_free(edges);
        psim_free(first);
        return no_memory(err);
    }
    fill_index(platform, edges, first);
    psim_free(platform->adjacency->edges);
    psim_free(platform->adjacency->first);
    platform->adjacency->edges = edges;
    platform->adjacency->first = first;
    if (use > 0)
        platform->device_count = use;
    return PSIM_OK;
}

const struct psim_device *psim_platform_device(const struct psim_platform *platform, int index)
{
    return &platform->types[platform->vertices[platform->devices[index]].device_type].device;
}

const char *psim_platform_device_name(const struct psim_platform *platform, int index)
{
    return platform->vertices[platform->devices[index]].name;
}

int psim_platform_find_device(const struct psim_platform *platform, const char *name)
{
    for (int i = 0; i < platform->device_count; i++) {
        if (strcmp(psim_platform_device_name(platform, i), name) == 0)
            return i;
    }
    return -1;
}

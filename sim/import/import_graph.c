#include "sim/import/import_graph.h"

#include "sim/import/name_index.h"

#include <string.h>

#define DEVICE_LIMIT 65536 /* of one platform file */

int psim_graph_vertex(struct psim_import_graph *graph, const char *name, const char *device,
                      struct psim_place at)
{
    struct psim_import_vertex *vertices =
        psim_import_grow(graph->job, graph->vertices, graph->vertex_count, &graph->vertex_capacity,
                         sizeof *vertices);

    if (vertices == NULL || name == NULL)
        return -1;
    graph->vertices = vertices;
    vertices[graph->vertex_count] = (struct psim_import_vertex){name, device, at};
    return (int)graph->vertex_count++;
}

void psim_graph_link(struct psim_import_graph *graph, const struct psim_import_link *link)
{
    struct psim_import_link *links = psim_import_grow(graph->job, graph->links, graph->link_count,
                                                      &graph->link_capacity, sizeof *links);

    if (links == NULL || link->name == NULL)
        return;
    graph->links = links;
    links[graph->link_count++] = *link;
}

void psim_graph_join(struct psim_import_graph *graph, int from, int to,
                     const struct psim_import_link *figures)
{
    struct psim_import_link link = *figures;

    if (from < 0 || to < 0)
        return;
    link.name = psim_import_printf(graph->job, "%s-%s", graph->vertices[from].name,
                                   graph->vertices[to].name);
    link.from = from;
    link.to = to;
    link.sharing = PSIM_DUPLEX;
    psim_graph_link(graph, &link);
}

/* ---- What the whole shows ---- */

/* The reader of platform/1 takes neither an empty name nor control characters. */
static void check_name(struct psim_import_job *job, const char *name, struct psim_place at)
{
    char quoted[PSIM_QUOTED_BYTES];
    bool plain = name[0] != '\0';

    for (const char *c = name; *c != '\0'; c++)
        plain = plain && (unsigned char)*c >= 0x20 && *c != 0x7F;
    psim_text_quote(name, quoted);
    if (!plain)
        psim_import_error(job, at, PSIM_ERR_RANGE, NULL,
                          "a name must not be empty or contain control characters: %s", quoted);
}

static void check_whole(const struct psim_import_graph *graph)
{
    struct psim_import_job *job = graph->job;
    struct psim_name_index names = {NULL, 0, 0};
    size_t hosts = 0;

    for (size_t i = 0; i < graph->vertex_count; i++) {
        const struct psim_import_vertex *vertex = &graph->vertices[i];

        hosts += vertex->device != NULL ? 1 : 0;
        check_name(job, vertex->name, vertex->at);
        psim_index_add(job, &names, vertex->name, 0, vertex->at);
    }
    for (size_t i = 0; i < graph->link_count; i++) {
        check_name(job, graph->links[i].name, graph->links[i].at);
        psim_index_add(job, &names, graph->links[i].name, 0, graph->links[i].at);
    }
    psim_index_sort(job, &names, "hosts, switches and links of a platform share one set of names");
    if (hosts == 0)
        psim_import_error(job, (struct psim_place){0, 0}, PSIM_ERR_RANGE, NULL,
                          "there is no host in it");
    if (hosts > DEVICE_LIMIT)
        psim_import_error(job, (struct psim_place){0, 0}, PSIM_ERR_RANGE, NULL,
                          "a platform can have at most %d devices", DEVICE_LIMIT);
}

/* ---- Writing ---- */

/* The file's name without its folder and the last extension; what is not plain becomes "_". */
static const char *platform_name(struct psim_import_job *job)
{
    const char *slash = strrchr(job->input->file, '/');
    const char *name = slash == NULL ? job->input->file : slash + 1, *dot = strrchr(name, '.');
    const size_t length = dot == NULL || dot == name ? strlen(name) : (size_t)(dot - name);
    char *copy = psim_import_alloc(job, length + 1, 1);

    for (size_t i = 0; copy != NULL && i < length; i++)
        copy[i] = name[i] >= 0x20 && name[i] < 0x7F ? name[i] : '_';
    return length == 0 ? "imported" : copy;
}

static void write_devices(const struct psim_import_graph *graph, struct psim_text *out)
{
    struct psim_name_index devices = {NULL, 0, 0};
    const char *before = NULL;

    for (size_t i = 0; i < graph->vertex_count; i++) {
        const char *device = graph->vertices[i].device;

        if (device == NULL || (before != NULL && strcmp(before, device) == 0))
            continue;
        before = device;
        for (size_t k = 0; k < devices.count && device != NULL; k++)
            device = strcmp(devices.items[k].name, device) == 0 ? NULL : device;
        if (device != NULL)
            psim_index_add(graph->job, &devices, device, 0, graph->vertices[i].at);
    }
    psim_text_printf(out, "  \"devices\": {");
    for (size_t k = 0; k < devices.count; k++) {
        psim_text_printf(out, "%s\n    ", k == 0 ? "" : ",");
        psim_text_json(out, devices.items[k].name);
        psim_text_printf(out, ": { \"catalogue\": ");
        psim_text_json(out, devices.items[k].name);
        psim_text_printf(out, " }");
    }
    psim_text_printf(out, "\n  },\n");
}

/* Hosts, or switches. */
static void write_vertices(const struct psim_import_graph *graph, bool hosts, struct psim_text *out)
{
    bool first = true;

    psim_text_printf(out, "  \"%s\": [", hosts ? "hosts" : "switches");
    for (size_t i = 0; i < graph->vertex_count; i++) {
        const struct psim_import_vertex *vertex = &graph->vertices[i];

        if ((vertex->device != NULL) != hosts)
            continue;
        psim_text_printf(out, "%s\n    { \"name\": ", first ? "" : ",");
        psim_text_json(out, vertex->name);
        if (hosts) {
            psim_text_printf(out, ", \"device\": ");
            psim_text_json(out, vertex->device);
        }
        psim_text_printf(out, " }");
        first = false;
    }
    psim_text_printf(out, "%s],\n", first ? "" : "\n  ");
}

static void write_remark(struct psim_text *out, const char *key, const char *remark)
{
    if (remark == NULL)
        return;
    psim_text_printf(out, ",\n      \"%s\": ", key);
    psim_text_json(out, remark);
}

static void write_link(const struct psim_import_graph *graph, const struct psim_import_link *link,
                       struct psim_text *out)
{
    psim_text_printf(out, "\n    { \"name\": ");
    psim_text_json(out, link->name);
    psim_text_printf(out, ", \"between\": [");
    psim_text_json(out, graph->vertices[link->from].name);
    psim_text_printf(out, ", ");
    psim_text_json(out, graph->vertices[link->to].name);
    psim_text_printf(out, "],\n      \"bandwidth\": ");
    psim_import_json_quantity(out, link->bandwidth_bytes_per_s, PSIM_DIMENSION_BYTES_PER_S,
                              PSIM_IMPORT_EXACT);
    psim_text_printf(out, ", \"latency\": ");
    psim_import_json_quantity(out, link->latency_s, PSIM_DIMENSION_SECONDS, PSIM_IMPORT_EXACT);
    psim_text_printf(out, ", \"sharing\": \"%s\"",
                     link->sharing == PSIM_DUPLEX ? "duplex" : "shared");
    write_remark(out, "_source", link->source);
    write_remark(out, "_assumed", link->assumed);
    psim_text_printf(out, " }");
}

void psim_graph_write(const struct psim_import_graph *graph, struct psim_text *out)
{
    const char *name = platform_name(graph->job);
    bool first = true;

    check_whole(graph);
    if (!psim_import_clean(graph->job))
        return;
    psim_text_printf(out, "{\n  \"petrasim\": \"platform/1\",\n  \"name\": ");
    psim_text_json(out, name);
    psim_text_printf(out, ",\n  \"_comment\": ");
    psim_text_json(out, graph->comment);
    psim_text_printf(out, ",\n");
    write_devices(graph, out);
    write_vertices(graph, true, out);
    write_vertices(graph, false, out);
    psim_text_printf(out, "  \"links\": [");
    for (size_t i = 0; i < graph->link_count; i++) {
        if (graph->links[i].from < 0)
            continue;
        psim_text_printf(out, "%s", first ? "" : ",");
        write_link(graph, &graph->links[i], out);
        first = false;
    }
    psim_text_printf(out, "%s],\n  \"routes\": \"shortest\"\n}\n", first ? "" : "\n  ");
}

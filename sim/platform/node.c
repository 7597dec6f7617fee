/*
 * Short forms: nodes of devices and NICs, and what the networks between them have in common.
 *
 * A NIC is a vertex inside its node.  The way to it costs nothing, for a device's own link to the
 * inside of the node already bounds it where the two share wires; what a NIC can carry is on its
 * link to the network.  Where the way starts from a switch (a PCIe tree), a NIC sits behind the
 * switch of the first device that uses it, and devices elsewhere reach it through the tree, as
 * their traffic does in a real node.
 */
#include "sim/platform/graph.h"
#include "sim/platform/platform.h"

#include <math.h>
#include <string.h>

#define NETWORK_LINKS (1 << 22)

/* Of what belongs to a part whose figures count it. */
static const struct psim_power counted_elsewhere = {.given = true};

void psim_platform_set_power(struct psim_platform *platform, int vertices, int links,
                             const struct psim_power *of_switch, const struct psim_power *of_link)
{
    for (int v = vertices; v < platform->vertex_count; v++) {
        if (platform->vertices[v].device_type < 0)
            platform->vertices[v].power = *of_switch;
    }
    for (int i = links; i < platform->link_count; i++)
        platform->links[i].power = *of_link;
}

static enum psim_status check_node(const struct psim_node_spec *spec, struct psim_error *err)
{
    if (spec->devices < 1)
        return psim_fail(err, PSIM_ERR_RANGE, "devices", "node \"%s\" needs at least one device",
                         spec->name);
    if (spec->nics < 0)
        return psim_fail(err, PSIM_ERR_RANGE, "nics", "node \"%s\" cannot have %d NICs", spec->name,
                         spec->nics);
    if (spec->interconnect == NULL && spec->devices > 1)
        return psim_fail(err, PSIM_ERR_RANGE, "interconnect",
                         "node \"%s\" has %d devices and nothing between them", spec->name,
                         spec->devices);
    return spec->interconnect == NULL
               ? PSIM_OK
               : psim_values_check(spec->interconnect->parameters, &spec->interconnect_values, err);
}

static enum psim_status add_devices(struct psim_platform *platform, int node,
                                    const struct psim_node_spec *spec, int *devices,
                                    struct psim_error *err)
{
    for (int i = 0; i < spec->devices; i++) {
        const enum psim_status status = psim_platform_add_named(
            platform, spec->device_types[i], node, &devices[i], err, "%s.gpu%d", spec->name, i);

        if (status != PSIM_OK)
            return status;
    }
    return PSIM_OK;
}

static int nic_of(const struct psim_node_spec *spec, int device)
{
    return (int)((long long)device * spec->nics / spec->devices);
}

static enum psim_status add_nics(struct psim_platform *platform, int node,
                                 const struct psim_node_spec *spec, int *nics,
                                 struct psim_error *err)
{
    struct psim_adjacency *graph = platform->adjacency;
    enum psim_status status = PSIM_OK;

    for (int i = 0; status == PSIM_OK && i < spec->nics; i++) {
        status =
            psim_platform_add_named(platform, -1, node, &nics[i], err, "%s.nic%d", spec->name, i);
        if (status != PSIM_OK)
            break;
        graph->passages[nics[i]].is_nic = true;
        platform->vertices[nics[i]].power = spec->nic_power;
        status = psim_platform_add_port(
            platform,
            &(struct psim_port){.vertex = nics[i],
                                .node = graph->nodes_with_nics,
                                .nic = i,
                                .bandwidth_bytes_per_s = spec->nic_bandwidth_bytes_per_s,
                                .latency_s = spec->nic_latency_s},
            err);
    }
    if (spec->nics > 0)
        graph->nodes_with_nics++;
    return status;
}

/* Assigns every device its NIC and lays the ways between them. */
static enum psim_status join_nics(struct psim_platform *platform, const struct psim_node_spec *spec,
                                  const int *devices, const int *attach, const int *nics,
                                  struct psim_error *err)
{
    int joined = -1; /* NICs up to here have a way behind a switch */

    for (int i = 0; spec->nics > 0 && i < spec->devices; i++) {
        const int nic = nic_of(spec, i);
        enum psim_status status;

        platform->adjacency->passages[devices[i]].nic = nics[nic];
        if (attach[i] != devices[i] && nic <= joined)
            continue;
        joined = nic;
        status = psim_platform_join(platform, attach[i], nics[nic], INFINITY, 0.0, err,
                                    "%s.gpu%d.nic%d", spec->name, i, nic);
        if (status != PSIM_OK)
            return status;
    }
    return PSIM_OK;
}

enum psim_status psim_platform_add_node(struct psim_platform *platform, int node,
                                        const struct psim_node_spec *spec, struct psim_error *err)
{
    const int vertices = platform->vertex_count, links = platform->link_count;
    int *devices = NULL, *attach = NULL, *nics = NULL;
    enum psim_status status = check_node(spec, err);

    if (status != PSIM_OK)
        return status;
    devices = psim_alloc((size_t)spec->devices, sizeof *devices);
    attach = psim_alloc((size_t)spec->devices, sizeof *attach);
    nics = psim_alloc((size_t)spec->nics, sizeof *nics);
    if (devices == NULL || attach == NULL || nics == NULL) {
        status = psim_fail(err, PSIM_ERR_NOMEM, "node", "out of memory");
        goto out;
    }
    status = add_devices(platform, node, spec, devices, err);
    if (status != PSIM_OK)
        goto out;
    memcpy(attach, devices, (size_t)spec->devices * sizeof *attach);
    if (spec->interconnect != NULL)
        status = spec->interconnect->expand(platform, spec->name, node, devices, spec->devices,
                                            &spec->interconnect_values, attach, err);
    if (spec->interconnect_power.given)
        psim_platform_set_power(platform, vertices, links, &counted_elsewhere,
                                &spec->interconnect_power);
    if (status == PSIM_OK)
        status = add_nics(platform, node, spec, nics, err);
    if (status == PSIM_OK)
        status = join_nics(platform, spec, devices, attach, nics, err);
out:
    psim_free(devices);
    psim_free(attach);
    psim_free(nics);
    return status;
}

enum psim_status psim_platform_add_network(struct psim_platform *platform,
                                           const struct psim_network_kind *kind,
                                           const struct psim_values *values,
                                           const struct psim_power *power, struct psim_error *err)
{
    const struct psim_adjacency *graph = platform->adjacency;
    const int vertices = platform->vertex_count, links = platform->link_count;
    enum psim_status status = psim_values_check(kind->parameters, values, err);

    if (status != PSIM_OK || graph->port_count == 0)
        return status;
    status = kind->expand(platform, graph->ports, graph->port_count, values, err);
    if (power != NULL && power->given)
        psim_platform_set_power(platform, vertices, links, power, &counted_elsewhere);
    return status;
}

enum psim_status psim_network_add_switches(struct psim_platform *platform, const char *prefix,
                                           int count, int *vertices, struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int i = 0; status == PSIM_OK && i < count; i++)
        status = psim_platform_add_named(platform, -1, -1, &vertices[i], err, "%s%d", prefix, i);
    return status;
}

enum psim_status psim_network_join_port(struct psim_platform *platform,
                                        const struct psim_port *port, int vertex, double latency_s,
                                        struct psim_error *err)
{
    struct psim_passage *passages = platform->adjacency->passages;

    passages[port->vertex].zone = passages[vertex].zone;
    passages[port->vertex].order = passages[vertex].ports++;
    return psim_platform_join(platform, port->vertex, vertex, port->bandwidth_bytes_per_s,
                              port->latency_s + latency_s, err, "%s.port",
                              platform->vertices[port->vertex].name);
}

enum psim_status psim_network_check_links(long long links, struct psim_error *err)
{
    if (links <= NETWORK_LINKS)
        return PSIM_OK;
    return psim_fail(err, PSIM_ERR_RANGE, "network",
                     "would have %lld links between its switches; at most %d are possible", links,
                     NETWORK_LINKS);
}

double psim_network_port_bandwidth(const struct psim_port *ports, int count)
{
    double largest = 0.0;

    for (int i = 0; i < count; i++)
        largest = fmax(largest, ports[i].bandwidth_bytes_per_s);
    return largest;
}

const struct psim_interconnect *psim_interconnect_find(const char *name)
{
    for (int i = 0; psim_interconnect_table[i] != NULL; i++) {
        if (strcmp(psim_interconnect_table[i]->name, name) == 0)
            return psim_interconnect_table[i];
    }
    return NULL;
}

const struct psim_network_kind *psim_network_kind_find(const char *name)
{
    for (int i = 0; psim_network_kind_table[i] != NULL; i++) {
        if (strcmp(psim_network_kind_table[i]->name, name) == 0)
            return psim_network_kind_table[i];
    }
    return NULL;
}

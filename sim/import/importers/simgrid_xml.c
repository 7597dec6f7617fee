/*
 * A SimGrid platform file, version 4 or 4.1: hosts, routers, links, routes, zones, flat clusters.
 *
 * Zones are opened up: hosts and routers of all of them become vertices of one graph, and the way
 * between two zones becomes what lies between their gateways.  Speeds and cores of hosts have no
 * meaning here; a host is the device that its property "device" names, or that of the caller.
 */
#include "sim/import/import_graph.h"
#include "sim/import/name_index.h"
#include "sim/import/simgrid_routes.h"
#include "sim/import/xml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLUSTER_LIMIT 65536

struct network {
    struct psim_import_job *job;
    struct psim_import_graph graph;
    struct psim_name_index vertices, links;
    struct psim_simgrid_route *routes;
    size_t route_count, route_capacity;
};

/* One spelling of a unit in SimGrid's files and in ours. */
struct spelling {
    const char *theirs, *ours;
};

static const struct spelling bandwidths[] = {
    {"", "B/s"},        {"Bps", "B/s"},     {"kBps", "kB/s"},   {"MBps", "MB/s"},
    {"GBps", "GB/s"},   {"TBps", "TB/s"},   {"KiBps", "KiB/s"}, {"MiBps", "MiB/s"},
    {"GiBps", "GiB/s"}, {"TiBps", "TiB/s"}, {"bps", "b/s"},     {"kbps", "kb/s"},
    {"Mbps", "Mb/s"},   {"Gbps", "Gb/s"},   {"Tbps", "Tb/s"},   {NULL, NULL},
};
static const struct spelling times[] = {
    {"", "s"}, {"s", "s"}, {"ms", "ms"}, {"us", "us"}, {"ns", "ns"}, {NULL, NULL},
};

static void cannot(struct network *n, const struct psim_xml_element *element, const char *what)
{
    psim_import_error(n->job, element->at, PSIM_ERR_UNSUPPORTED, NULL, "%s cannot be expressed",
                      what);
}

/* A quantity in SimGrid's spelling; 0 where it is faulty, which is reported. */
static double read_quantity(struct network *n, const struct psim_xml_element *element,
                            const char *name, const char *text, const struct spelling *units,
                            enum psim_dimension dimension)
{
    char quoted[PSIM_QUOTED_BYTES];
    double value;

    for (; units->theirs != NULL; units++) {
        const size_t unit = strlen(units->theirs), length = strlen(text);
        const char *number;

        if (length <= unit || strcmp(text + length - unit, units->theirs) != 0)
            continue;
        number = psim_import_printf(n->job, "%.*s", (int)(length - unit), text);
        if (number == NULL)
            return 0;
        if (!psim_import_is_number(n->job, number, dimension, units->ours, &value))
            continue;
        if (dimension == PSIM_DIMENSION_SECONDS ? value >= 0.0 : value > 0.0)
            return value;
        break;
    }
    psim_text_quote(text, quoted);
    psim_import_error(n->job, element->at, PSIM_ERR_SCHEMA, NULL,
                      dimension == PSIM_DIMENSION_SECONDS
                          ? "%s must be a time such as \"50us\", not %s"
                          : "%s must be a bandwidth such as \"1.25GBps\", not %s",
                      name, quoted);
    return 0;
}

static void refuse_changes(struct network *n, const struct psim_xml_element *element)
{
    static const char *const files[] = {"availability_file", "speed_file", "state_file",
                                        "bandwidth_file", "latency_file"};

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (psim_xml_attribute(element, files[i]) != NULL)
            cannot(n, element, "what changes with time");
    }
}

/* ---- Vertices and links ---- */

static void add_vertex(struct network *n, const struct psim_xml_element *element, const char *name,
                       const char *device)
{
    const int vertex = psim_graph_vertex(&n->graph, name, device, element->at);

    if (vertex >= 0)
        psim_index_add(n->job, &n->vertices, name, vertex, element->at);
}

static const char *device_of(struct network *n, const struct psim_xml_element *host)
{
    const char *device = n->job->input->device;

    for (const struct psim_xml_element *e = host->first; e != NULL; e = e->next) {
        const char *id = psim_xml_attribute(e, "id"), *value = psim_xml_attribute(e, "value");

        if (psim_xml_is(e, "mount"))
            cannot(n, e, "storage");
        else if (psim_xml_is(e, "prop") && id != NULL && strcmp(id, "device") == 0 && value != NULL)
            device = value;
    }
    if (device == NULL)
        psim_import_error(n->job, host->at, PSIM_ERR_SCHEMA, NULL,
                          "the device of this host is not known: name one with --device");
    return device;
}

static void add_host(struct network *n, const struct psim_xml_element *host)
{
    const char *id = psim_xml_required(n->job, host, "id"), *device = device_of(n, host);

    refuse_changes(n, host);
    if (id != NULL && device != NULL)
        add_vertex(n, host, id, device);
}

/* The sharing of a link or of the links of a cluster. */
static enum psim_sharing read_sharing(struct network *n, const struct psim_xml_element *element,
                                      enum psim_sharing otherwise)
{
    const char *policy = psim_xml_attribute(element, "sharing_policy");
    char quoted[PSIM_QUOTED_BYTES];

    if (policy == NULL)
        return otherwise;
    if (strcmp(policy, "SHARED") == 0)
        return PSIM_SHARED;
    if (strcmp(policy, "SPLITDUPLEX") == 0 || strcmp(policy, "FULLDUPLEX") == 0)
        return PSIM_DUPLEX;
    psim_text_quote(policy, quoted);
    if (strcmp(policy, "FATPIPE") == 0)
        psim_import_warn(n->job, element->at,
                         "a FATPIPE link gives each message all of its bandwidth; here messages of "
                         "one direction share it");
    else
        psim_import_error(n->job, element->at, PSIM_ERR_UNSUPPORTED, NULL,
                          "the sharing policy %s cannot be expressed", quoted);
    return PSIM_DUPLEX;
}

static struct psim_import_link read_figures(struct network *n,
                                            const struct psim_xml_element *element,
                                            const char *bandwidth_name, const char *latency_name,
                                            enum psim_sharing sharing)
{
    const char *bandwidth = psim_xml_required(n->job, element, bandwidth_name);
    const char *latency = psim_xml_attribute(element, latency_name);
    struct psim_import_link link = {.from = -1, .to = -1, .at = element->at};

    if (bandwidth != NULL)
        link.bandwidth_bytes_per_s = read_quantity(n, element, bandwidth_name, bandwidth,
                                                   bandwidths, PSIM_DIMENSION_BYTES_PER_S);
    if (latency != NULL)
        link.latency_s =
            read_quantity(n, element, latency_name, latency, times, PSIM_DIMENSION_SECONDS);
    link.sharing = read_sharing(n, element, sharing);
    return link;
}

static void add_link(struct network *n, const struct psim_xml_element *element)
{
    struct psim_import_link link = read_figures(n, element, "bandwidth", "latency", PSIM_SHARED);

    refuse_changes(n, element);
    link.name = psim_xml_required(n->job, element, "id");
    if (link.name != NULL)
        psim_index_add(n->job, &n->links, link.name, (int)n->graph.link_count, element->at);
    psim_graph_link(&n->graph, &link);
}

/* ---- Clusters ---- */

/* The next range of "0-3,7"; false at the end or when an error was reported. */
static bool next_range(struct network *n, const struct psim_xml_element *cluster,
                       const char **radical, long *first, long *last)
{
    const char *text = *radical;
    char *end;

    if (*text == '\0')
        return false;
    *first = *last = strtol(text, &end, 10);
    if (end != text && *end == '-')
        *last = strtol(text = end + 1, &end, 10);
    if (end == text || (*end != '\0' && *end != ',') || *first < 0 || *last < *first ||
        *last - *first >= CLUSTER_LIMIT) {
        psim_import_error(n->job, cluster->at, PSIM_ERR_SCHEMA, NULL,
                          "radical must be ranges such as \"0-3,7\", of at most %d hosts",
                          CLUSTER_LIMIT);
        return false;
    }
    *radical = *end == ',' ? end + 1 : end;
    return true;
}

static void check_cluster(struct network *n, const struct psim_xml_element *cluster)
{
    static const char *const unsupported[] = {"bb_bw", "bb_lat", "limiter_link"};
    const char *topology = psim_xml_attribute(cluster, "topology");

    if (topology != NULL && strcmp(topology, "FLAT") != 0)
        cannot(n, cluster, "a cluster whose topology is not FLAT");
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++) {
        if (psim_xml_attribute(cluster, unsupported[i]) != NULL) {
            cannot(n, cluster, "a cluster with a backbone or limiters, which all messages cross,");
            return;
        }
    }
}

static void add_cluster_host(struct network *n, const struct psim_xml_element *cluster, int router,
                             const struct psim_import_link *figures, long number)
{
    const char *prefix = psim_xml_attribute(cluster, "prefix");
    const char *suffix = psim_xml_attribute(cluster, "suffix");
    const char *name = psim_import_printf(n->job, "%s%ld%s", prefix == NULL ? "" : prefix, number,
                                          suffix == NULL ? "" : suffix);
    struct psim_import_link link = *figures;

    link.from = (int)n->graph.vertex_count;
    link.to = router;
    link.name =
        psim_import_printf(n->job, "%s_link_%ld", psim_xml_attribute(cluster, "id"), number);
    add_vertex(n, cluster, name, device_of(n, cluster));
    if (link.from < (int)n->graph.vertex_count)
        psim_graph_link(&n->graph, &link);
}

/* A star: every host has a link of its own to the cluster's router. */
static void add_cluster(struct network *n, const struct psim_xml_element *cluster)
{
    const char *id = psim_xml_required(n->job, cluster, "id");
    const char *radical = psim_xml_required(n->job, cluster, "radical");
    const char *router_name = psim_xml_attribute(cluster, "router_id");
    const struct psim_import_link figures = read_figures(n, cluster, "bw", "lat", PSIM_DUPLEX);
    const int router = (int)n->graph.vertex_count;
    long first, last, total = 0;

    check_cluster(n, cluster);
    if (id == NULL || radical == NULL)
        return;
    if (router_name == NULL)
        router_name = psim_import_printf(n->job, "%s_router", id);
    add_vertex(n, cluster, router_name, NULL);
    while (psim_import_clean(n->job) && next_range(n, cluster, &radical, &first, &last)) {
        total += last - first + 1;
        if (total > CLUSTER_LIMIT)
            cannot(n, cluster, "a cluster of more than 65536 hosts");
        for (long i = first; psim_import_clean(n->job) && i <= last; i++)
            add_cluster_host(n, cluster, router, &figures, i);
    }
}

/* ---- Routes ---- */

static bool read_hop(struct network *n, const struct psim_xml_element *element,
                     struct psim_hop *hop)
{
    const char *id = psim_xml_required(n->job, element, "id");
    const char *direction = psim_xml_attribute(element, "direction");

    hop->direction = PSIM_HOP_NONE;
    if (direction != NULL && strcmp(direction, "UP") == 0)
        hop->direction = PSIM_HOP_UP;
    else if (direction != NULL && strcmp(direction, "DOWN") == 0)
        hop->direction = PSIM_HOP_DOWN;
    else if (direction != NULL && strcmp(direction, "NONE") != 0)
        psim_import_error(n->job, element->at, PSIM_ERR_SCHEMA, NULL,
                          "direction must be UP, DOWN or NONE, not \"%.40s\"", direction);
    hop->link = id == NULL ? -1 : psim_index_find(n->job, &n->links, id, element->at, "link");
    return hop->link >= 0;
}

static void read_hops(struct network *n, const struct psim_xml_element *element,
                      struct psim_simgrid_route *route)
{
    size_t capacity = 0;

    for (const struct psim_xml_element *e = element->first; e != NULL; e = e->next) {
        struct psim_hop *hops =
            psim_import_grow(n->job, route->hops, route->hop_count, &capacity, sizeof *hops);

        if (hops == NULL)
            return;
        route->hops = hops;
        if (!psim_xml_is(e, "link_ctn"))
            cannot(n, e, "what is not a link of a route");
        else if (read_hop(n, e, &hops[route->hop_count]))
            route->hop_count++;
    }
    if (element->first == NULL)
        cannot(n, element, "a route without links");
}

/* Between hosts or routers, or between the gateways of two zones. */
static void add_route(struct network *n, const struct psim_xml_element *element,
                      const char *from_name, const char *to_name, bool complete)
{
    const char *from = psim_xml_required(n->job, element, from_name);
    const char *to = psim_xml_required(n->job, element, to_name);
    struct psim_simgrid_route *routes =
        psim_import_grow(n->job, n->routes, n->route_count, &n->route_capacity, sizeof *routes);
    struct psim_simgrid_route route = {.complete = complete, .at = element->at};

    if (routes == NULL || from == NULL || to == NULL)
        return;
    n->routes = routes;
    route.from = psim_index_find(n->job, &n->vertices, from, element->at, "host or router");
    route.to = psim_index_find(n->job, &n->vertices, to, element->at, "host or router");
    read_hops(n, element, &route);
    /* A way from a place to itself is not a message's between two devices. */
    if (route.from != route.to && route.hop_count > 0 && psim_import_clean(n->job))
        routes[n->route_count++] = route;
}

/* ---- Zones ---- */

static bool is_zone(const struct psim_xml_element *element)
{
    return psim_xml_is(element, "zone") || psim_xml_is(element, "AS");
}

static bool is_route_of_zones(const struct psim_xml_element *element)
{
    return psim_xml_is(element, "zoneRoute") || psim_xml_is(element, "ASroute");
}

static void check_routing(struct network *n, const struct psim_xml_element *zone)
{
    static const char *const known[] = {"Full", "Floyd", "Dijkstra", "DijkstraCache", "None"};
    const char *routing = psim_xml_required(n->job, zone, "routing");
    size_t i = 0;

    if (routing == NULL)
        return;
    while (i < sizeof known / sizeof known[0] && strcmp(known[i], routing) != 0)
        i++;
    if (i == sizeof known / sizeof known[0])
        psim_import_error(n->job, zone->at, PSIM_ERR_UNSUPPORTED,
                          psim_nearest_name(routing, known, i),
                          "the routing \"%.40s\" cannot be expressed", routing);
    else if (i >= 1 && i <= 3)
        psim_import_warn(n->job, zone->at,
                         "the routing %s takes the fewest links, petrasim the least latency",
                         routing);
}

/* Everything but routes, which may name what comes later. */
static void add_parts(struct network *n, const struct psim_xml_element *zone)
{
    char what[96];

    for (const struct psim_xml_element *e = zone->first; e != NULL; e = e->next) {
        if (is_zone(e)) {
            check_routing(n, e);
            add_parts(n, e);
        } else if (psim_xml_is(e, "host")) {
            add_host(n, e);
        } else if (psim_xml_is(e, "router")) {
            const char *id = psim_xml_required(n->job, e, "id");

            if (id != NULL)
                add_vertex(n, e, id, NULL);
        } else if (psim_xml_is(e, "link")) {
            add_link(n, e);
        } else if (psim_xml_is(e, "cluster")) {
            add_cluster(n, e);
        } else if (!psim_xml_is(e, "route") && !is_route_of_zones(e) && !psim_xml_is(e, "prop") &&
                   !psim_xml_is(e, "config")) {
            snprintf(what, sizeof what, "<%.40s>", e->name);
            cannot(n, e, what);
        }
    }
}

static void add_routes(struct network *n, const struct psim_xml_element *zone)
{
    const char *routing = psim_xml_attribute(zone, "routing");
    const bool full = routing != NULL && strcmp(routing, "Full") == 0;

    for (const struct psim_xml_element *e = zone->first; e != NULL; e = e->next) {
        if (is_zone(e))
            add_routes(n, e);
        else if (psim_xml_is(e, "route"))
            add_route(n, e, "src", "dst", full);
        else if (is_route_of_zones(e))
            add_route(n, e, "gw_src", "gw_dst", false);
    }
}

static void check_root(struct network *n, const struct psim_xml_element *root)
{
    const char *version = psim_xml_attribute(root, "version");

    if (!psim_xml_is(root, "platform"))
        psim_import_error(n->job, root->at, PSIM_ERR_SCHEMA, NULL,
                          "the root must be <platform>, not <%.40s>", root->name);
    else if (version == NULL || (strcmp(version, "4") != 0 && strcmp(version, "4.1") != 0))
        psim_import_error(n->job, root->at, PSIM_ERR_UNSUPPORTED, NULL,
                          "version 4 or 4.1 is expected");
}

static void import(struct psim_import_job *job, struct psim_text *out)
{
    const struct psim_xml_element *root = psim_xml_parse(job);
    struct network n = {
        .job = job,
        .graph = {.job = job,
                  .comment = "From a SimGrid platform file. Speeds of hosts are not carried over; "
                             "latencies and bandwidths are as the file gives them, without the "
                             "correction factors of SimGrid's network models."},
    };

    if (root == NULL)
        return;
    check_root(&n, root);
    if (!psim_import_clean(job))
        return;
    add_parts(&n, root);
    psim_index_sort(job, &n.vertices, "hosts and routers of a platform have names of their own");
    psim_index_sort(job, &n.links, "links of a platform have names of their own");
    add_routes(&n, root);
    if (!psim_import_clean(job))
        return;
    psim_simgrid_settle(&n.graph, n.routes, n.route_count);
    psim_graph_write(&n.graph, out);
}

const struct psim_importer psim_importer_simgrid_xml = {
    .name = "simgrid_xml",
    .summary = "SimGrid platform XML, version 4.1, to a platform",
    .example = "simgrid_xml.xml",
    .import = import,
};

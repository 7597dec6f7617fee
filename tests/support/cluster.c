#include "tests/support/cluster.h"

#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEVICES 16
#define MAX_ITEMS   64

/* Reads a number, or a list with commas, which is kept in `items`. */
static void give(struct psim_value *value, char *text, int items[MAX_ITEMS])
{
    char *next = text;

    value->number = strtod(text, NULL);
    value->flag = value->number != 0.0;
    value->count = (int)strtol(text, NULL, 10);
    if (strchr(text, ',') == NULL)
        return;
    value->items = items;
    do {
        assert_true(value->item_count < MAX_ITEMS);
        items[value->item_count++] = (int)strtol(next, &next, 10);
    } while (*next++ == ',' && *next != '\0');
}

static struct psim_values read_values(const struct psim_parameter *parameters, const char *text,
                                      int items[MAX_ITEMS])
{
    struct psim_values values = psim_values_default(parameters);

    while (text != NULL && *text != '\0') {
        char name[32], number[256];
        int length = 0;

        assert_int_equal(sscanf(text, " %31[^=]=%255[^ ]%n", name, number, &length), 2);
        give(psim_values_give(parameters, &values, name), number, items);
        text += length;
    }
    return values;
}

static enum psim_status add_nodes(struct psim_platform *platform,
                                  const struct test_cluster *cluster, struct psim_error *err)
{
    const int types[MAX_DEVICES] = {0};
    int items[MAX_ITEMS];
    struct psim_node_spec spec = {
        .device_types = types,
        .devices = cluster->devices,
        .nics = cluster->nics,
        .nic_bandwidth_bytes_per_s = cluster->nic_bandwidth_bytes_per_s,
        .nic_latency_s = cluster->nic_latency_s,
    };
    enum psim_status status = PSIM_OK;

    if (cluster->interconnect != NULL) {
        spec.interconnect = psim_interconnect_find(cluster->interconnect);
        assert_non_null(spec.interconnect);
        spec.interconnect_values =
            read_values(spec.interconnect->parameters, cluster->inside, items);
    }
    for (int i = 0; status == PSIM_OK && i < cluster->nodes; i++) {
        char name[16];

        snprintf(name, sizeof name, "node%d", i);
        spec.name = name;
        status = psim_platform_add_node(platform, i, &spec, err);
    }
    return status;
}

static enum psim_status add_network(struct psim_platform *platform,
                                    const struct test_cluster *cluster, struct psim_error *err)
{
    const struct psim_network_kind *kind = psim_network_kind_find(cluster->network);
    struct psim_values values;
    int items[MAX_ITEMS];

    assert_non_null(kind);
    values = read_values(kind->parameters, cluster->between, items);
    return psim_platform_add_network(platform, kind, &values, NULL, err);
}

enum psim_status test_cluster_build(struct psim_platform *platform,
                                    const struct test_cluster *cluster, struct psim_error *err)
{
    static const struct psim_device device = {.name = "gpu", .memory_bytes = INT64_C(1) << 40};
    enum psim_status status = psim_platform_init(platform, "cluster", err);
    int type;

    if (status != PSIM_OK)
        return status;
    status = psim_platform_add_type(platform, "gpu", &device, &type, err);
    if (status == PSIM_OK)
        status = add_nodes(platform, cluster, err);
    if (status == PSIM_OK && cluster->network != NULL)
        status = add_network(platform, cluster, err);
    if (status == PSIM_OK)
        status = psim_platform_finish(platform, 0, err);
    if (status != PSIM_OK)
        psim_platform_release(platform);
    return status;
}

struct psim_platform test_cluster_make(const struct test_cluster *cluster)
{
    struct psim_platform platform;
    struct psim_error err = PSIM_ERROR_INIT;

    if (test_cluster_build(&platform, cluster, &err) != PSIM_OK)
        fail_msg("%s: %s", err.where, err.message);
    return platform;
}

void test_route_text(const struct psim_platform *platform, const struct psim_route *route,
                     char *text, size_t size)
{
    size_t length = 0;

    text[0] = '\0';
    for (int i = 0; i < route->hop_count && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%c%s", i == 0 ? "" : " ",
                                   route->hops[i].forward ? '+' : '-',
                                   platform->links[route->hops[i].link].name);
    assert_true(length < size);
}

struct psim_route test_route(const struct psim_platform *platform, const char *from, const char *to)
{
    struct psim_route route;
    struct psim_error err = PSIM_ERROR_INIT;

    if (psim_platform_route(platform, psim_platform_find_device(platform, from),
                            psim_platform_find_device(platform, to), &route, &err) != PSIM_OK)
        fail_msg("%s: %s", err.where, err.message);
    return route;
}

void test_check_route(const struct psim_platform *platform, const char *from, const char *to,
                      const char *links, double latency_s, double bandwidth_bytes_per_s)
{
    struct psim_route route = test_route(platform, from, to);
    char text[1024];

    test_route_text(platform, &route, text, sizeof text);
    assert_string_equal(text, links);
    check_near(route.latency_s, latency_s, 1e-12);
    check_near(route.bandwidth_bytes_per_s, bandwidth_bytes_per_s, 0.0);
    psim_route_release(&route);
    assert_null(route.hops);
}

/*
 * Energy and money of a row: docs/model.md, "Energy and money".
 *
 * A device that holds a stage draws its busy power while it computes and its idle power otherwise;
 * the platform's other devices idle.  A link, switch or NIC draws its static power all the time and
 * more for every byte that crosses it.  Hosts are not counted.  A node is paid for as a whole as
 * soon as one of its devices holds a stage.
 */
#include "sim/base/memory.h"
#include "sim/plan/study.h"
#include "sim/report/columns.h"

#include <math.h>
#include <string.h>

#define SECONDS_PER_HOUR 3600.0

/* A sum over parts, any of which may be unknown: the first such part is named. */
struct sum {
    double total;
    const char *note; /* "": all parts are known */
};

static void add(struct sum *sum, struct psim_arena *arena, double value, const char *what,
                const char *name)
{
    sum->total += value;
    if (!isnan(value) || sum->note == NULL || sum->note[0] != '\0')
        return;
    sum->note = psim_arena_printf(arena, "%s %s is not known", what, name);
}

static void add_power(struct sum *sum, struct psim_arena *arena, const struct psim_device *device,
                      double busy_fraction)
{
    if (busy_fraction > 0)
        add(sum, arena, device->busy_w * busy_fraction, "the busy power of", device->name);
    if (busy_fraction < 1)
        add(sum, arena, device->idle_w * (1 - busy_fraction), "the idle power of", device->name);
}

/* Mean power of all devices, in watt.  `holds` is by vertex. */
static struct sum mean_power(struct psim_arena *arena, const struct psim_scenario *scenario,
                             const struct psim_program *program,
                             const struct psim_simulation *simulation, const unsigned char *holds)
{
    const struct psim_data_parallel *parallel = &scenario->data_parallel;
    const struct psim_platform *platform = program->platform;
    struct sum sum = {0, ""};

    for (int q = 0; q < parallel->replicas * simulation->stage_count; q++) {
        const int stage = q % simulation->stage_count;
        const int first = psim_study_device(scenario, program, q / simulation->stage_count, stage);

        for (int k = 0; k < parallel->devices_per_stage; k++)
            add_power(&sum, arena, psim_platform_device(platform, first + k),
                      simulation->stages[stage].busy_fraction);
    }
    for (int i = 0; i < platform->device_count; i++) {
        if (!holds[platform->devices[i]])
            add_power(&sum, arena, psim_platform_device(platform, i), 0);
    }
    return sum;
}

/* A connection without a limit stands for no part of the machine, so it draws nothing unless its
 * file says so. */
static struct psim_power power_of(const struct psim_power *power, bool is_a_part)
{
    const struct psim_power unknown = {.static_w = NAN, .joule_per_byte = NAN};

    return power->given || !is_a_part ? *power : unknown;
}

static struct psim_power link_power(const struct psim_link *link)
{
    return power_of(&link->power, !isinf(link->bandwidth_bytes_per_s));
}

static struct psim_power vertex_power(const struct psim_vertex *vertex)
{
    return power_of(&vertex->power, vertex->device_type < 0);
}

/* What all links, switches and NICs draw without traffic, in watt. */
static struct sum static_power(struct psim_arena *arena, const struct psim_platform *platform)
{
    struct sum sum = {0, ""};

    for (int v = 0; v < platform->vertex_count; v++)
        add(&sum, arena, vertex_power(&platform->vertices[v]).static_w, "the static power of",
            platform->vertices[v].name);
    for (int i = 0; i < platform->link_count; i++)
        add(&sum, arena, link_power(&platform->links[i]).static_w, "the static power of",
            platform->links[i].name);
    return sum;
}

/* What all messages of one update of all copies take, in joule.  The devices that share a stage
 * send alike.  The note is NULL when memory is out. */
static struct sum traffic_energy(struct psim_arena *arena, const struct psim_scenario *scenario,
                                 const struct psim_program *program)
{
    const struct psim_platform *platform = program->platform;
    const double alike = (double)scenario->data_parallel.devices_per_stage;
    struct sum sum = {0, ""};
    struct psim_traffic traffic;

    if (psim_program_traffic(program, &traffic, NULL) != PSIM_OK)
        return (struct sum){NAN, NULL};
    for (int i = 0; i < platform->link_count; i++) {
        const double bytes = alike * traffic.link_bytes[i];

        if (bytes > 0)
            add(&sum, arena, bytes * link_power(&platform->links[i]).joule_per_byte,
                "the energy per bit of", platform->links[i].name);
    }
    for (int v = 0; v < platform->vertex_count; v++) {
        const double bytes = alike * traffic.vertex_bytes[v];

        if (bytes > 0)
            add(&sum, arena, bytes * vertex_power(&platform->vertices[v]).joule_per_byte,
                "the energy per bit of", platform->vertices[v].name);
    }
    psim_traffic_release(&traffic);
    return sum;
}

static void add_price(struct sum *sum, struct psim_arena *arena, const struct psim_price *price,
                      const char *name, const char **date)
{
    const bool given = price != NULL && price->given;

    add(sum, arena, given ? price->usd_per_hour : (double)NAN, "the price of", name);
    if (given && (*date[0] == '\0' || strcmp(price->date, *date) < 0))
        *date = price->date;
}

/* Price of an hour of all that must be paid for, in US dollars.  A node without a price of its own
 * costs what its devices cost.  `paid` is by node. */
static struct sum hourly_price(struct psim_arena *arena, const struct psim_platform *platform,
                               const unsigned char *holds, unsigned char *paid, const char **date)
{
    enum { UNUSED, USED, COUNTED };
    struct sum sum = {0, ""};

    for (int v = 0; v < platform->vertex_count; v++) {
        if (holds[v] && platform->vertices[v].node >= 0)
            paid[platform->vertices[v].node] = USED;
    }
    for (int v = 0; v < platform->vertex_count; v++) {
        const struct psim_vertex *vertex = &platform->vertices[v];
        const struct psim_price *price = NULL;

        if (vertex->device_type < 0 ||
            (vertex->node < 0 ? !holds[v] : paid[vertex->node] == UNUSED))
            continue;
        if (vertex->node >= 0)
            price = psim_platform_node_price(platform, vertex->node);
        if (price == NULL || !price->given)
            add_price(&sum, arena, &platform->types[vertex->device_type].device.price,
                      platform->types[vertex->device_type].device.name, date);
        else if (paid[vertex->node] == USED)
            add_price(&sum, arena, price, vertex->name, date);
        if (vertex->node >= 0)
            paid[vertex->node] = COUNTED;
    }
    return sum;
}

/* Marks the vertices of all devices that hold a stage, on every copy. */
static void mark_devices(const struct psim_scenario *scenario, const struct psim_program *program,
                         unsigned char *holds)
{
    const struct psim_data_parallel *parallel = &scenario->data_parallel;
    const int stages = program->shape.stages;

    for (int q = 0; q < parallel->replicas * stages; q++) {
        const int first = psim_study_device(scenario, program, q / stages, q % stages);

        for (int k = 0; k < parallel->devices_per_stage; k++)
            holds[program->platform->devices[first + k]] = 1;
    }
}

static int node_count(const struct psim_platform *platform)
{
    int most = -1;

    for (int v = 0; v < platform->vertex_count; v++)
        most = platform->vertices[v].node > most ? platform->vertices[v].node : most;
    return most + 1;
}

/* What is not known of either; NULL when memory is out. */
static const char *both_notes(struct psim_arena *arena, const char *a, const char *b)
{
    if (a == NULL || b == NULL || a[0] == '\0' || b[0] == '\0')
        return a == NULL || (b != NULL && b[0] == '\0') ? a : b;
    return psim_arena_printf(arena, "%s; %s", a, b);
}

double psim_study_hourly_usd(const struct psim_platform *platform, int devices)
{
    struct psim_arena arena = PSIM_ARENA_INIT;
    unsigned char *holds = psim_alloc((size_t)platform->vertex_count, 1);
    unsigned char *paid = psim_alloc((size_t)node_count(platform), 1);
    double usd_per_hour = NAN;

    if (holds != NULL && paid != NULL) {
        const char *date = "";

        for (int i = 0; i < devices; i++)
            holds[platform->devices[i]] = 1;
        usd_per_hour = hourly_price(&arena, platform, holds, paid, &date).total;
    }
    psim_free(holds);
    psim_free(paid);
    psim_arena_release(&arena);
    return usd_per_hour;
}

static void fill(const struct psim_comparison *comparison, const struct psim_result *row,
                 double usd_per_hour, struct psim_worth *out)
{
    const struct psim_row whole = {
        .comparison = comparison, .result = row, .stage = -1, .footnote = "", .room_mark = ""};
    const double samples = psim_samples_per_update(&whole);
    const double epoch = comparison->epoch_samples > 0 ? (double)comparison->epoch_samples : NAN;
    const double tokens =
        comparison->tokens_per_sample > 0 ? (double)comparison->tokens_per_sample : NAN;

    out->energy_per_update_j = out->energy_devices_per_update_j + out->energy_links_per_update_j;
    out->energy_per_sample_j = out->energy_per_update_j / samples;
    out->energy_per_epoch_j = out->energy_per_sample_j * epoch;
    out->energy_per_token_j = out->energy_per_sample_j / tokens;
    out->cost_per_update_usd = usd_per_hour / SECONDS_PER_HOUR * row->simulation.time_per_update_s;
    out->cost_per_sample_usd = out->cost_per_update_usd / samples;
    out->cost_per_epoch_usd = out->cost_per_sample_usd * epoch;
    out->cost_per_token_usd = out->cost_per_sample_usd / tokens;
    out->time_per_epoch_s = epoch / row->samples_per_s;
    out->token_note =
        comparison->tokens_per_sample > 0 ? "" : "the scenario gives no \"tokens_per_sample\"";
}

/* All figures of a row; `holds` is by vertex, `paid` by node.  Notes are NULL when memory is out.
 */
static struct psim_worth find_worth(struct psim_study *study, int method,
                                    const struct psim_result *row, const unsigned char *holds,
                                    unsigned char *paid)
{
    const struct psim_program *program = &study->programs[method];
    const struct psim_scenario *scenario = study->scenario;
    struct psim_arena *arena = &study->arena;
    const double update_s = row->simulation.time_per_update_s;
    const char *date = "";
    const struct sum devices = mean_power(arena, scenario, program, &row->simulation, holds);
    const struct sum links = static_power(arena, program->platform);
    const struct sum traffic = traffic_energy(arena, scenario, program);
    const struct sum price = hourly_price(arena, program->platform, holds, paid, &date);
    const char *of_links = links.note;
    struct psim_worth worth;

    if (traffic.note == NULL || (of_links != NULL && of_links[0] == '\0'))
        of_links = traffic.note;
    worth = (struct psim_worth){
        .energy_devices_per_update_j = devices.total * update_s,
        .energy_links_per_update_j = links.total * update_s + traffic.total,
        .energy_note = both_notes(arena, devices.note, of_links),
        .cost_note = price.note,
        .price_date = date,
    };

    fill(&study->comparison, row, price.total, &worth);
    return worth;
}

enum psim_status psim_study_worth(struct psim_study *study, int method, struct psim_result *row,
                                  struct psim_error *err)
{
    const struct psim_platform *platform = study->programs[method].platform;
    unsigned char *holds = psim_alloc((size_t)platform->vertex_count, 1);
    unsigned char *paid = psim_alloc((size_t)node_count(platform), 1);
    struct psim_worth worth = {.energy_note = NULL};

    if (holds != NULL && paid != NULL) {
        mark_devices(study->scenario, &study->programs[method], holds);
        worth = find_worth(study, method, row, holds, paid);
    }
    psim_free(holds);
    psim_free(paid);
    if (worth.energy_note == NULL || worth.cost_note == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "comparison", "out of memory");
    if (!isfinite(row->simulation.time_per_update_s))
        worth.energy_note = worth.cost_note = "the time of an update is not known";
    if (worth.cost_note[0] != '\0')
        worth.price_date = "";
    row->worth = worth;
    return PSIM_OK;
}

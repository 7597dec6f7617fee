#include "sim/report/facts.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct psim_fact_writer psim_fact_writer_start(struct psim_arena *arena, struct psim_facts *facts,
                                               int capacity)
{
    struct psim_fact_writer writer = {arena, facts, capacity, false};

    facts->count = 0;
    facts->items = psim_arena_alloc(arena, (size_t)capacity, sizeof *facts->items);
    writer.failed = facts->items == NULL;
    return writer;
}

void psim_fact_add(struct psim_fact_writer *writer, const char *title, const char *text)
{
    if (text == NULL)
        writer->failed = true;
    if (writer->failed)
        return;
    PSIM_ASSERT(writer->facts->count < writer->capacity);
    writer->facts->items[writer->facts->count++] = (struct psim_fact){title, text};
}

const char *psim_fact_text(struct psim_fact_writer *writer, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length >= 0)
        text = psim_arena_alloc(writer->arena, (size_t)length + 1, 1);
    if (text == NULL) {
        writer->failed = true;
        return "";
    }
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

const char *psim_fact_join(struct psim_fact_writer *writer, const char *list, const char *separator,
                           const char *item)
{
    if (list[0] == '\0')
        return item;
    return psim_fact_text(writer, "%s%s%s", list, separator, item);
}

const char *psim_fact_count(struct psim_fact_writer *writer, int64_t count, const char *singular,
                            const char *plural)
{
    return psim_fact_text(writer, "%" PRId64 " %s", count, count == 1 ? singular : plural);
}

/* A quantity with its unit; "" when memory is out. */
static const char *quantity(struct psim_fact_writer *writer, enum psim_quantity kind, double value)
{
    const char *text = psim_quantity_text(writer->arena, kind, value);

    if (text == NULL)
        writer->failed = true;
    return text == NULL ? "" : text;
}

static const char *seconds(struct psim_fact_writer *writer, double value)
{
    return quantity(writer, PSIM_QUANTITY_SECONDS, value);
}

static const char *share(struct psim_fact_writer *writer, double value)
{
    return quantity(writer, PSIM_QUANTITY_SHARE, value);
}

static const char *number(struct psim_fact_writer *writer, double value)
{
    return quantity(writer, PSIM_QUANTITY_NUMBER, value);
}

void psim_facts_of_scenario(struct psim_fact_writer *writer,
                            const struct psim_comparison *comparison)
{
    const int stages =
        comparison->result_count > 0 ? comparison->results[0].simulation.stage_count : 0;
    const bool contended = strcmp(comparison->engine, "simgrid") == 0;

    psim_fact_add(writer, "model",
                  psim_fact_text(writer, "%s in %s, partition %s", comparison->model,
                                 psim_fact_count(writer, stages, "stage", "stages"),
                                 comparison->partition));
    psim_fact_add(
        writer, "batch",
        psim_fact_text(
            writer, "%s%s of %" PRId64 " = %s per update, %s, %s",
            psim_replicas(comparison) == 1
                ? ""
                : psim_fact_text(writer, "%" PRId64 " copies of ", psim_replicas(comparison)),
            psim_fact_count(writer, comparison->accumulation, "micro-batch", "micro-batches"),
            comparison->microbatch,
            psim_fact_count(writer,
                            psim_replicas(comparison) * comparison->accumulation *
                                comparison->microbatch,
                            "sample", "samples"),
            comparison->precision, comparison->optimizer));
    psim_fact_add(
        writer, "platform",
        psim_fact_text(writer, "%s: %d of its %s", comparison->platform,
                       (int)psim_replicas(comparison) * stages *
                           (comparison->devices_per_stage > 1 ? comparison->devices_per_stage : 1),
                       psim_fact_count(writer, comparison->devices, "device", "devices")));
    psim_fact_add(writer, "engine",
                  psim_fact_text(writer, "%s%s%s, petrasim %s, memory accounting \"%s\"",
                                 comparison->engine, contended ? " " : "",
                                 contended ? comparison->simgrid_version : "", comparison->version,
                                 comparison->accounting));
    psim_fact_add(writer, "speed-up", psim_fact_text(writer, "over %s", comparison->baseline));
}

static const char *options_text(struct psim_fact_writer *writer, const struct psim_result *result)
{
    const char *text = "";

    for (int i = 0; i < result->option_count; i++)
        text = psim_fact_join(
            writer, text, ", ",
            psim_fact_text(writer, "%s %s", result->option_names[i], result->option_values[i]));
    return text;
}

static void add_time(struct psim_fact_writer *writer, const struct psim_comparison *comparison,
                     const struct psim_result *result)
{
    const struct psim_simulation *simulation = &result->simulation;

    psim_fact_add(writer, "time",
                  psim_fact_text(writer, "%s per micro-batch, %s per update, %s samples/s, %s x %s",
                                 seconds(writer, simulation->time_per_microbatch_s),
                                 seconds(writer, simulation->time_per_update_s),
                                 number(writer, result->samples_per_s),
                                 quantity(writer, PSIM_QUANTITY_RATIO, result->speedup),
                                 comparison->baseline));
    psim_fact_add(
        writer, "in units",
        psim_fact_text(writer,
                       "%s simulated; closed form %s on these stages without communication, %s on "
                       "equal stages (1 = %s, a stage's mean forward)",
                       number(writer, simulation->time_per_microbatch_s / result->unit_s),
                       number(writer, result->closed_form_s / result->unit_s),
                       number(writer, result->closed_form.time_per_microbatch),
                       seconds(writer, result->unit_s)));
    psim_fact_add(writer, "devices",
                  psim_fact_text(writer, "busy %s, bubble %s, waiting only for a transfer %s",
                                 share(writer, simulation->utilisation_mean),
                                 share(writer, simulation->bubble_fraction),
                                 share(writer, simulation->exposed_communication_fraction)));
    psim_fact_add(writer, "window",
                  psim_fact_text(writer, "%s in %s%s; first gradient of stage 1 after %s",
                                 simulation->window_microbatches < 0
                                     ? "unknown micro-batches"
                                     : psim_fact_count(writer, simulation->window_microbatches,
                                                       "micro-batch", "micro-batches"),
                                 seconds(writer, simulation->window_s),
                                 simulation->steady ? "" : ", not exactly periodic",
                                 seconds(writer, simulation->start_up_s)));
}

/* Walks the categories from the most bytes down, equal ones in their order: the one behind
 * `after` (-1: the first), or -1 when the rest are empty. */
static int next_category(const int64_t *bytes, int after)
{
    int best = -1;

    for (int i = 0; i < PSIM_MEMORY_CATEGORIES; i++) {
        const bool later =
            after < 0 || bytes[i] < bytes[after] || (bytes[i] == bytes[after] && i > after);

        if (bytes[i] > 0 && later && (best < 0 || bytes[i] > bytes[best]))
            best = i;
    }
    return best;
}

int psim_tightest_stage(const struct psim_simulation *simulation)
{
    int tightest = -1;
    int64_t least = 0;

    for (int i = 0; i < simulation->stage_count; i++) {
        const struct psim_memory_peak *peak = &simulation->stages[i].memory;
        const int64_t room = peak->capacity_bytes - peak->reserved_bytes;

        if (peak->capacity_bytes < 0 || peak->reserved_bytes < 0)
            continue;
        if (tightest < 0 || room < least) {
            tightest = i;
            least = room;
        }
    }
    return tightest;
}

static void add_verdict(struct psim_fact_writer *writer, enum psim_quantity kind,
                        const struct psim_result *result)
{
    const int stage = psim_tightest_stage(&result->simulation);
    const struct psim_memory_peak *peak;
    int64_t room;

    if (stage < 0)
        return;
    peak = &result->simulation.stages[stage].memory;
    room = peak->capacity_bytes - peak->reserved_bytes;
    psim_fact_add(writer, result->fits ? "fits" : "does not fit",
                  psim_fact_text(writer, "%s of %s reserved on stage %d (%s), the tightest; %s %s",
                                 quantity(writer, kind, (double)peak->reserved_bytes),
                                 quantity(writer, kind, (double)peak->capacity_bytes), stage + 1,
                                 result->device_names[stage], room < 0 ? "over by" : "margin",
                                 quantity(writer, kind, fabs((double)room))));
}

static void add_memory(struct psim_fact_writer *writer, const struct psim_comparison *comparison,
                       const struct psim_result *result)
{
    const enum psim_quantity kind = psim_memory_quantity(comparison);
    const struct psim_memory_peak *peak;
    const char *parts = "";

    add_verdict(writer, kind, result);
    if (result->peak_bytes_max < 0 || result->worst_stage < 0) {
        psim_fact_add(
            writer, "memory",
            psim_fact_text(writer, "%s on all devices",
                           quantity(writer, kind, psim_count_value(result->peak_bytes_sum))));
        return;
    }
    peak = &result->simulation.stages[result->worst_stage].memory;
    psim_fact_add(writer, "memory",
                  psim_fact_text(writer, "peak %s on stage %d (%s), the worst; %s on all devices",
                                 quantity(writer, kind, (double)result->peak_bytes_max),
                                 result->worst_stage + 1, result->device_names[result->worst_stage],
                                 quantity(writer, kind, psim_count_value(result->peak_bytes_sum))));
    for (int i = next_category(peak->by_category, -1); i >= 0;
         i = next_category(peak->by_category, i))
        parts =
            psim_fact_join(writer, parts, ", ",
                           psim_fact_text(writer, "%s %s", psim_memory_category_names[i],
                                          quantity(writer, kind, (double)peak->by_category[i])));
    psim_fact_add(writer, "at the peak",
                  psim_fact_text(writer, "%s; at %s", parts, seconds(writer, peak->at_s)));
}

/* All of it; where that is not known, why, and the part that is. */
static const char *energy_text(struct psim_fact_writer *writer, const struct psim_worth *worth)
{
    const enum psim_quantity energy = PSIM_QUANTITY_ENERGY;
    const double devices_j = worth->energy_devices_per_update_j,
                 links_j = worth->energy_links_per_update_j;

    if (worth->energy_note[0] == '\0')
        return psim_fact_text(writer, "%s per update (devices %s, links %s), %s per sample",
                              quantity(writer, energy, worth->energy_per_update_j),
                              quantity(writer, energy, devices_j),
                              quantity(writer, energy, links_j),
                              quantity(writer, energy, worth->energy_per_sample_j));
    if (isfinite(devices_j) || links_j > 0)
        return psim_fact_text(writer, "unknown: %s; %s alone %s per update", worth->energy_note,
                              isfinite(devices_j) ? "devices" : "links",
                              quantity(writer, energy, isfinite(devices_j) ? devices_j : links_j));
    return psim_fact_text(writer, "unknown: %s", worth->energy_note);
}

static void add_worth(struct psim_fact_writer *writer, const struct psim_comparison *comparison,
                      const struct psim_worth *worth)
{
    const enum psim_quantity energy = PSIM_QUANTITY_ENERGY, money = PSIM_QUANTITY_MONEY;

    psim_fact_add(writer, "energy", energy_text(writer, worth));
    psim_fact_add(writer, "cost",
                  worth->cost_note[0] != '\0'
                      ? psim_fact_text(writer, "unknown: %s", worth->cost_note)
                      : psim_fact_text(writer, "%s per update, %s per sample; prices of %s",
                                       quantity(writer, money, worth->cost_per_update_usd),
                                       quantity(writer, money, worth->cost_per_sample_usd),
                                       worth->price_date));
    if (comparison->epoch_samples > 0)
        psim_fact_add(writer, "epoch",
                      psim_fact_text(writer, "%" PRId64 " samples: time %s, energy %s, cost %s",
                                     comparison->epoch_samples,
                                     seconds(writer, worth->time_per_epoch_s),
                                     quantity(writer, energy, worth->energy_per_epoch_j),
                                     quantity(writer, money, worth->cost_per_epoch_usd)));
    if (comparison->tokens_per_sample > 0)
        psim_fact_add(writer, "token",
                      psim_fact_text(writer, "%" PRId64 " a sample: energy %s, cost %s per token",
                                     comparison->tokens_per_sample,
                                     quantity(writer, energy, worth->energy_per_token_j),
                                     quantity(writer, money, worth->cost_per_token_usd)));
}

void psim_facts_of_method(struct psim_fact_writer *writer, const struct psim_comparison *comparison,
                          const struct psim_result *result)
{
    const struct psim_simulation *simulation = &result->simulation;

    psim_fact_add(writer, "method", result->method);
    psim_fact_add(writer, "model", result->model);
    if (result->option_count > 0)
        psim_fact_add(writer, "options", options_text(writer, result));
    add_time(writer, comparison, result);
    add_memory(writer, comparison, result);
    psim_fact_add(
        writer, "sent",
        psim_fact_text(
            writer, "%s forward, %s backward per micro-batch (%s and %s streams)",
            quantity(writer, PSIM_QUANTITY_TRAFFIC, simulation->bytes_forward_per_microbatch),
            quantity(writer, PSIM_QUANTITY_TRAFFIC, simulation->bytes_backward_per_microbatch),
            number(writer, simulation->communication_forward),
            number(writer, simulation->communication_backward)));
    psim_fact_add(
        writer, "work",
        psim_fact_text(writer, "%s per micro-batch, extra %s",
                       quantity(writer, PSIM_QUANTITY_FLOP, simulation->flop_per_microbatch),
                       share(writer, simulation->flop_extra_fraction)));
    add_worth(writer, comparison, &result->worth);
}

void psim_facts_of_origin(struct psim_fact_writer *writer, const struct psim_comparison *comparison)
{
    const char *text = "";

    for (int tag = 0; tag < PSIM_TAGS; tag++) {
        double least = INFINITY, most = -INFINITY;

        for (int i = 0; i < comparison->result_count; i++) {
            least = fmin(least, comparison->results[i].tag_share[tag]);
            most = fmax(most, comparison->results[i].tag_share[tag]);
        }
        if (!(most > 0.0))
            continue;
        text = psim_fact_join(
            writer, text, ", ",
            fabs(most - least) < 0.005
                ? psim_fact_text(writer, "%s %.0f %%", psim_tag_names[tag], 100.0 * most)
                : psim_fact_text(writer, "%s %.0f to %.0f %%", psim_tag_names[tag], 100.0 * least,
                                 100.0 * most));
    }
    psim_fact_add(writer, "figures",
                  text[0] == '\0' ? "origin unknown"
                                  : psim_fact_text(writer, "%s of the compute time", text));
}

/* Results before `index` that name the same bottleneck. */
static bool is_named_before(const struct psim_comparison *comparison, int index)
{
    for (int i = 0; i < index; i++) {
        if (strcmp(comparison->results[i].bottleneck, comparison->results[index].bottleneck) == 0)
            return true;
    }
    return false;
}

void psim_facts_of_bottleneck(struct psim_fact_writer *writer,
                              const struct psim_comparison *comparison)
{
    for (int i = 0; i < comparison->result_count; i++) {
        const char *bottleneck = comparison->results[i].bottleneck;
        const char *labels = "";

        if (is_named_before(comparison, i))
            continue;
        for (int j = i; j < comparison->result_count; j++) {
            if (strcmp(comparison->results[j].bottleneck, bottleneck) == 0)
                labels = psim_fact_join(writer, labels, "; ", comparison->results[j].label);
        }
        psim_fact_add(writer, "bottleneck", psim_fact_text(writer, "%s: %s", bottleneck, labels));
    }
}

#include "sim/base/memory.h"
#include "sim/report/columns.h"
#include "sim/report/format.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The result/1 document: every figure, null where it is not known, never a missing key.
 *
 * Jansson's calls accept the NULL that an earlier one returned and answer with a failure, so the
 * tree is built without looking back: `put` and `push` remember the first failure in the writer.
 */

#define RESULT_KIND "result/1"

struct writer {
    bool failed;
};

static void put(struct writer *writer, json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0)
        writer->failed = true;
}

static void push(struct writer *writer, json_t *array, json_t *value)
{
    if (json_array_append_new(array, value) != 0)
        writer->failed = true;
}

static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *count(int64_t value)
{
    return value < 0 ? json_null() : json_integer((json_int_t)value);
}

/* File names need not be UTF-8, which Jansson refuses: other bytes become "?". */
static json_t *text(const char *value)
{
    const size_t length = value == NULL ? 0 : strlen(value);
    json_t *string = value == NULL ? json_null() : json_stringn(value, length);
    char *plain;

    if (string != NULL)
        return string;
    plain = psim_alloc(length + 1, 1);
    if (plain == NULL)
        return NULL;
    for (size_t i = 0; i < length; i++)
        plain[i] = (unsigned char)value[i] < 0x80 ? value[i] : '?';
    string = json_stringn(plain, length);
    psim_free(plain);
    return string;
}

static json_t *text_or_null(const char *value)
{
    return value[0] == '\0' ? json_null() : text(value);
}

/* An option as a scenario spells it: a bare boolean, a bare number, or a word. */
static json_t *option(const char *value)
{
    const size_t digits = strspn(value, "0123456789");

    if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        return json_boolean(value[0] == 't');
    if (digits > 0 && digits <= 18 && value[digits] == '\0')
        return json_integer((json_int_t)strtoll(value, NULL, 10));
    return text(value);
}

static json_t *texts(struct writer *writer, const char *const *items, int item_count)
{
    json_t *array = json_array();

    for (int i = 0; i < item_count; i++)
        push(writer, array, text(items[i]));
    return array;
}

static json_t *categories(struct writer *writer, const struct psim_memory_peak *peak)
{
    json_t *object = json_object();

    for (int i = 0; i < PSIM_MEMORY_CATEGORIES; i++)
        put(writer, object, psim_memory_category_names[i],
            count(peak->bytes < 0 ? -1 : peak->by_category[i]));
    return object;
}

/* Read from a JSON integer, so it fits one. */
static json_t *seed(const struct psim_comparison *comparison)
{
    return json_integer((json_int_t)comparison->seed);
}

static json_t *provenance(struct writer *writer, const struct psim_comparison *comparison)
{
    json_t *object = json_object();

    put(writer, object, "version", text(comparison->version));
    put(writer, object, "simgrid", text(comparison->simgrid_version));
    put(writer, object, "inputs_sha256", text(comparison->inputs_sha256));
    put(writer, object, "seed", seed(comparison));
    put(writer, object, "engine", text(comparison->engine));
    return object;
}

static json_t *scenario(struct writer *writer, const struct psim_comparison *comparison)
{
    json_t *outer = json_object();
    json_t *object = json_object();

    put(writer, object, "file", text(psim_report_file_name(comparison)));
    put(writer, object, "model", text(comparison->model));
    put(writer, object, "platform", text(comparison->platform));
    put(writer, object, "devices", count(comparison->devices));
    put(writer, object, "microbatch", count(comparison->microbatch));
    put(writer, object, "accumulation", count(comparison->accumulation));
    put(writer, object, "replicas", count(psim_replicas(comparison)));
    put(writer, object, "devices_per_stage",
        count(comparison->devices_per_stage > 1 ? comparison->devices_per_stage : 1));
    put(writer, object, "collective", text(comparison->collective));
    put(writer, object, "epoch_samples",
        comparison->epoch_samples > 0 ? count(comparison->epoch_samples) : json_null());
    put(writer, object, "tokens_per_sample",
        comparison->tokens_per_sample > 0 ? count(comparison->tokens_per_sample) : json_null());
    put(writer, object, "precision", text(comparison->precision));
    put(writer, object, "optimizer", text(comparison->optimizer));
    put(writer, object, "partition", text(comparison->partition));
    put(writer, object, "placement",
        texts(writer, comparison->placement, comparison->placement_count));
    put(writer, object, "accounting", text(comparison->accounting));
    put(writer, object, "memory_check", text(comparison->memory_check));
    put(writer, object, "baseline", text(comparison->baseline));
    put(writer, object, "engine", text(comparison->engine));
    put(writer, object, "seed", seed(comparison));
    put(writer, outer, "resolved", object);
    return outer;
}

static json_t *memory(struct writer *writer, const struct psim_result *result)
{
    static const struct psim_memory_peak unknown = {
        .bytes = -1, .at_s = (double)NAN, .reserved_bytes = -1, .capacity_bytes = -1};
    const bool known = result->peak_bytes_max >= 0 && result->worst_stage >= 0;
    const struct psim_memory_peak *peak =
        known ? &result->simulation.stages[result->worst_stage].memory : &unknown;
    json_t *object = json_object();

    put(writer, object, "peak_bytes_max", count(result->peak_bytes_max));
    put(writer, object, "peak_bytes_sum", count(result->peak_bytes_sum));
    put(writer, object, "worst_device",
        text(known ? result->device_names[result->worst_stage] : NULL));
    put(writer, object, "worst_stage", count(known ? result->worst_stage + 1 : -1));
    put(writer, object, "at_s", real(peak->at_s));
    put(writer, object, "by_category_at_peak", categories(writer, peak));
    put(writer, object, "reserved_bytes", count(peak->reserved_bytes));
    put(writer, object, "capacity_bytes", count(peak->capacity_bytes));
    put(writer, object, "fits", json_boolean(result->fits));
    return object;
}

static json_t *stage(struct writer *writer, const struct psim_result *result, int index)
{
    const struct psim_stage_result *figures = &result->simulation.stages[index];
    json_t *object = json_object();

    put(writer, object, "stage", json_integer(index + 1));
    put(writer, object, "name", text(result->stage_names[index]));
    put(writer, object, "device", text(result->device_names[index]));
    put(writer, object, "device_type", text(result->device_types[index]));
    put(writer, object, "forward_s", real(figures->forward_s));
    put(writer, object, "backward_s", real(figures->backward_s));
    put(writer, object, "update_s", real(figures->update_s));
    put(writer, object, "busy_fraction", real(figures->busy_fraction));
    put(writer, object, "exposed_fraction", real(figures->exposed_fraction));
    put(writer, object, "staleness_microbatches", count(figures->staleness_microbatches));
    put(writer, object, "parameter_versions", count(figures->parameter_versions));
    put(writer, object, "held_microbatches", count(figures->held_microbatches));
    put(writer, object, "carried_microbatches", count(figures->carried_microbatches));
    put(writer, object, "memory_peak_bytes", count(figures->memory.bytes));
    put(writer, object, "memory_peak_at_s", real(figures->memory.at_s));
    put(writer, object, "memory_by_category_at_peak", categories(writer, &figures->memory));
    put(writer, object, "memory_reserved_bytes", count(figures->memory.reserved_bytes));
    put(writer, object, "memory_capacity_bytes", count(figures->memory.capacity_bytes));
    return object;
}

static json_t *stages(struct writer *writer, const struct psim_result *result)
{
    json_t *array = json_array();

    for (int i = 0; i < result->simulation.stage_count; i++)
        push(writer, array, stage(writer, result, i));
    return array;
}

static json_t *closed_form(struct writer *writer, const struct psim_result *result)
{
    const struct psim_closed_form *claim = &result->closed_form;
    json_t *object = json_object();

    put(writer, object, "time_per_microbatch_units", real(claim->time_per_microbatch));
    put(writer, object, "time_per_microbatch_s", real(result->closed_form_s));
    put(writer, object, "flop_units", real(claim->flop_units));
    put(writer, object, "activation_copies", text_or_null(psim_activation_copies(result)));
    put(writer, object, "parameter_copies", text_or_null(claim->parameter_copies));
    put(writer, object, "communication_forward", real(claim->communication_forward));
    put(writer, object, "communication_backward", real(claim->communication_backward));
    return object;
}

static json_t *simulated_units(struct writer *writer, const struct psim_result *result)
{
    const struct psim_simulation *simulation = &result->simulation;
    json_t *object = json_object();

    put(writer, object, "time_per_microbatch",
        real(simulation->time_per_microbatch_s / result->unit_s));
    put(writer, object, "flop", real(simulation->flop_units));
    put(writer, object, "communication_forward", real(simulation->communication_forward));
    put(writer, object, "communication_backward", real(simulation->communication_backward));
    return object;
}

static json_t *options(struct writer *writer, const struct psim_result *result)
{
    json_t *object = json_object();

    for (int i = 0; i < result->option_count; i++)
        put(writer, object, result->option_names[i], option(result->option_values[i]));
    return object;
}

/* A run of so many updates from a cold start; null where the steady state was measured. */
static json_t *fixed_run(struct writer *writer, const struct psim_simulation *simulation)
{
    const bool failed = simulation->failure >= 0;
    json_t *object;

    if (simulation->updates == 0)
        return json_null();
    object = json_object();
    put(writer, object, "updates", count(simulation->updates));
    put(writer, object, "updates_done", count(simulation->updates_done));
    put(writer, object, "failed", json_boolean(failed));
    put(writer, object, "failed_at_s", real(failed ? simulation->failed_at_s : NAN));
    put(writer, object, "lost_microbatches", count(simulation->lost_microbatches));
    put(writer, object, "lost_s", real(failed ? simulation->lost_s : NAN));
    return object;
}

static json_t *tags(struct writer *writer, const struct psim_result *result)
{
    json_t *object = json_object();

    for (int i = 0; i < PSIM_TAGS; i++)
        put(writer, object, psim_tag_names[i], real(result->tag_share[i]));
    return object;
}

static void put_measures(struct writer *writer, json_t *object, const struct psim_result *result,
                         const char *baseline)
{
    const struct psim_simulation *simulation = &result->simulation;
    json_t *speedup = json_object();

    put(writer, speedup, baseline, real(result->speedup));
    put(writer, object, "time_per_microbatch_s", real(simulation->time_per_microbatch_s));
    put(writer, object, "time_per_update_s", real(simulation->time_per_update_s));
    put(writer, object, "samples_per_s", real(result->samples_per_s));
    put(writer, object, "speedup_vs", speedup);
    put(writer, object, "utilisation_mean", real(simulation->utilisation_mean));
    put(writer, object, "bubble_fraction", real(simulation->bubble_fraction));
    put(writer, object, "exposed_communication_fraction",
        real(simulation->exposed_communication_fraction));
    put(writer, object, "flop_per_microbatch", real(simulation->flop_per_microbatch));
    put(writer, object, "flop_extra_fraction", real(simulation->flop_extra_fraction));
    put(writer, object, "bytes_forward_per_microbatch",
        real(simulation->bytes_forward_per_microbatch));
    put(writer, object, "bytes_backward_per_microbatch",
        real(simulation->bytes_backward_per_microbatch));
}

static void put_worth(struct writer *writer, json_t *object, const struct psim_worth *worth)
{
    put(writer, object, "energy_per_update_j", real(worth->energy_per_update_j));
    put(writer, object, "energy_per_sample_j", real(worth->energy_per_sample_j));
    put(writer, object, "energy_per_epoch_j", real(worth->energy_per_epoch_j));
    put(writer, object, "energy_per_token_j", real(worth->energy_per_token_j));
    put(writer, object, "energy_devices_per_update_j", real(worth->energy_devices_per_update_j));
    put(writer, object, "energy_links_per_update_j", real(worth->energy_links_per_update_j));
    put(writer, object, "energy_note", text(worth->energy_note));
    put(writer, object, "cost_per_update_usd", real(worth->cost_per_update_usd));
    put(writer, object, "cost_per_sample_usd", real(worth->cost_per_sample_usd));
    put(writer, object, "cost_per_epoch_usd", real(worth->cost_per_epoch_usd));
    put(writer, object, "cost_per_token_usd", real(worth->cost_per_token_usd));
    put(writer, object, "cost_note", text(worth->cost_note));
    put(writer, object, "price_date", text_or_null(worth->price_date));
    put(writer, object, "token_note", text(worth->token_note));
    put(writer, object, "time_per_epoch_s", real(worth->time_per_epoch_s));
}

static json_t *result_object(struct writer *writer, const struct psim_result *result,
                             const char *baseline)
{
    const struct psim_simulation *simulation = &result->simulation;
    json_t *object = json_object();

    put(writer, object, "method", text(result->method));
    put(writer, object, "label", text(result->label));
    put(writer, object, "model", text(result->model));
    put(writer, object, "options", options(writer, result));
    put_measures(writer, object, result, baseline);
    put(writer, object, "memory", memory(writer, result));
    put(writer, object, "stages", stages(writer, result));
    put(writer, object, "closed_form", closed_form(writer, result));
    put(writer, object, "simulated_units", simulated_units(writer, result));
    put(writer, object, "window_s", real(simulation->window_s));
    put(writer, object, "window_microbatches", count(simulation->window_microbatches));
    put(writer, object, "steady", json_boolean(simulation->steady));
    put(writer, object, "start_up_s", real(simulation->start_up_s));
    put(writer, object, "operations", count(simulation->operations));
    put(writer, object, "run", fixed_run(writer, simulation));
    put(writer, object, "bottleneck", text(result->bottleneck));
    put(writer, object, "note", text(result->note));
    put(writer, object, "tags", tags(writer, result));
    put_worth(writer, object, &result->worth);
    return object;
}

static json_t *root_object(struct writer *writer, const struct psim_comparison *comparison)
{
    json_t *root = json_object();
    json_t *results = json_array();

    put(writer, root, "petrasim", json_string(RESULT_KIND));
    put(writer, root, "provenance", provenance(writer, comparison));
    put(writer, root, "scenario", scenario(writer, comparison));
    for (int i = 0; i < comparison->result_count; i++)
        push(writer, results, result_object(writer, &comparison->results[i], comparison->baseline));
    put(writer, root, "results", results);
    put(writer, root, "assumptions",
        texts(writer, comparison->assumptions, comparison->assumption_count));
    put(writer, root, "notes", texts(writer, comparison->notes, comparison->note_count));
    return root;
}

static int append_chunk(const char *bytes, size_t length, void *data)
{
    struct psim_text *out = data;

    psim_text_append(out, bytes, length);
    return out->failed ? -1 : 0;
}

static bool starts_number(char byte)
{
    return byte == '-' || (byte >= '0' && byte <= '9');
}

/* Length of the string or number that starts at `at`; 1 for anything else. */
static size_t token_length(const char *at)
{
    size_t length = 1;

    if (starts_number(*at))
        return strspn(at, "+-.0123456789eE");
    if (*at != '"')
        return 1;
    while (at[length] != '"')
        length += at[length] == '\\' ? 2 : 1;
    return length + 1;
}

/* Jansson writes reals with 17 digits or, in later versions, in a shortest form of its own; the
 * fewest digits that read back make the bytes the same with all of them. */
static void append_shortened(struct psim_text *out, const char *dump)
{
    for (size_t length; *dump != '\0'; dump += length) {
        char number[PSIM_NUMBER_BYTES];

        length = token_length(dump);
        if (!starts_number(*dump) || strcspn(dump, ".eE") >= length) {
            psim_text_append(out, dump, length);
            continue;
        }
        psim_number_exact(strtod(dump, NULL), number);
        psim_text_printf(out, strpbrk(number, ".e") == NULL ? "%s.0" : "%s", number);
    }
}

enum psim_status psim_render_json(const struct psim_comparison *comparison, enum psim_view view,
                                  struct psim_text *out, struct psim_error *err)
{
    struct writer writer = {false};
    struct psim_text dump = PSIM_TEXT_INIT;
    json_t *root = root_object(&writer, comparison);
    enum psim_status status = PSIM_OK;

    (void)view;
    if (root == NULL || writer.failed ||
        json_dump_callback(root, append_chunk, &dump,
                           JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(17)) != 0) {
        status = psim_fail(err, PSIM_ERR_NOMEM, "report", "no memory for the JSON document");
        goto out;
    }
    append_shortened(out, dump.data);
    psim_text_append(out, "\n", 1);
out:
    psim_text_release(&dump);
    json_decref(root);
    return status;
}

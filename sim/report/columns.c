#include "sim/report/columns.h"

#include <math.h>
#include <string.h>

/* Columns of the comparison: one row per method. */

double psim_count_value(int64_t count)
{
    return count < 0 ? (double)NAN : (double)count;
}

int64_t psim_replicas(const struct psim_comparison *comparison)
{
    return comparison->replicas > 1 ? comparison->replicas : 1;
}

double psim_samples_per_update(const struct psim_row *row)
{
    const struct psim_result *result = row->result;

    return (double)psim_replicas(row->comparison) * (double)row->comparison->microbatch *
           (result->updates_every_microbatch ? 1.0 : (double)result->accumulation);
}

/* Methods write the plural whatever the count. */
const char *psim_activation_copies(const struct psim_result *result)
{
    const char *copies = result->closed_form.activation_copies;

    return strcmp(copies, "1 inputs") == 0 ? "1 input" : copies;
}

#define SIMULATION row->result->simulation

PSIM_COLUMN_TEXT(method, row->result->method)
PSIM_COLUMN_TEXT(label, row->result->label)
PSIM_COLUMN_TEXT(model, row->result->model)
PSIM_COLUMN_TEXT(baseline, row->comparison->baseline)
PSIM_COLUMN_TEXT(activation_copies, psim_activation_copies(row->result))
PSIM_COLUMN_TEXT(parameter_copies, row->result->closed_form.parameter_copies)
PSIM_COLUMN_TEXT(fits, row->result->fits ? "true" : "false")
PSIM_COLUMN_TEXT(worst_device, row->result->worst_stage < 0
                                   ? ""
                                   : row->result->device_names[row->result->worst_stage])
PSIM_COLUMN_TEXT(bottleneck, row->result->bottleneck)
PSIM_COLUMN_TEXT(note, row->result->note)
PSIM_COLUMN_VALUE(microbatch, psim_count_value(row->comparison->microbatch))
PSIM_COLUMN_VALUE(microbatch_s, SIMULATION.time_per_microbatch_s)
PSIM_COLUMN_VALUE(update_s, SIMULATION.time_per_update_s)
PSIM_COLUMN_VALUE(samples_per_s, row->result->samples_per_s)
PSIM_COLUMN_VALUE(speedup, row->result->speedup)
PSIM_COLUMN_VALUE(units, SIMULATION.time_per_microbatch_s / row->result->unit_s)
PSIM_COLUMN_VALUE(units_claimed, row->result->closed_form.time_per_microbatch)
PSIM_COLUMN_VALUE(units_of_stages, row->result->closed_form_s / row->result->unit_s)
PSIM_COLUMN_VALUE(stages_s, row->result->closed_form_s)
PSIM_COLUMN_VALUE(utilisation, SIMULATION.utilisation_mean)
PSIM_COLUMN_VALUE(bubble, SIMULATION.bubble_fraction)
PSIM_COLUMN_VALUE(exposed, SIMULATION.exposed_communication_fraction)
PSIM_COLUMN_VALUE(peak_max, psim_count_value(row->result->peak_bytes_max))
PSIM_COLUMN_VALUE(peak_sum, psim_count_value(row->result->peak_bytes_sum))
PSIM_COLUMN_VALUE(bytes_forward, SIMULATION.bytes_forward_per_microbatch)
PSIM_COLUMN_VALUE(bytes_backward, SIMULATION.bytes_backward_per_microbatch)
PSIM_COLUMN_VALUE(streams_forward, SIMULATION.communication_forward)
PSIM_COLUMN_VALUE(streams_backward, SIMULATION.communication_backward)
PSIM_COLUMN_VALUE(flop, SIMULATION.flop_per_microbatch)
PSIM_COLUMN_VALUE(flop_extra, SIMULATION.flop_extra_fraction)
PSIM_COLUMN_VALUE(start_up, SIMULATION.start_up_s)
PSIM_COLUMN_VALUE(update_j, row->result->worth.energy_per_update_j)
PSIM_COLUMN_VALUE(sample_j, row->result->worth.energy_per_sample_j)
PSIM_COLUMN_VALUE(epoch_j, row->result->worth.energy_per_epoch_j)
PSIM_COLUMN_VALUE(token_j, row->result->worth.energy_per_token_j)
PSIM_COLUMN_VALUE(devices_j, row->result->worth.energy_devices_per_update_j)
PSIM_COLUMN_VALUE(links_j, row->result->worth.energy_links_per_update_j)
PSIM_COLUMN_VALUE(token_usd, row->result->worth.cost_per_token_usd)
PSIM_COLUMN_VALUE(update_usd, row->result->worth.cost_per_update_usd)
PSIM_COLUMN_VALUE(sample_usd, row->result->worth.cost_per_sample_usd)
PSIM_COLUMN_VALUE(epoch_usd, row->result->worth.cost_per_epoch_usd)
PSIM_COLUMN_VALUE(epoch_s, row->result->worth.time_per_epoch_s)
PSIM_COLUMN_TEXT(price_date, row->result->worth.price_date)

/* The most over the stages, or not known. */
#define STAGE_MAXIMUM(name, member)                                                                \
    static double name(const struct psim_row *row)                                                 \
    {                                                                                              \
        int64_t most = -1;                                                                         \
                                                                                                   \
        for (int i = 0; i < SIMULATION.stage_count; i++) {                                         \
            if (SIMULATION.stages[i].member > most)                                                \
                most = SIMULATION.stages[i].member;                                                \
        }                                                                                          \
        return psim_count_value(most);                                                             \
    }

STAGE_MAXIMUM(versions, parameter_versions)
STAGE_MAXIMUM(staleness, staleness_microbatches)

/* Bytes of the kept inputs and graphs, whatever they are called, when the worst device peaks. */
static double kept(const struct psim_row *row)
{
    const struct psim_memory_peak *peak;

    if (row->result->peak_bytes_max < 0 || row->result->worst_stage < 0)
        return (double)NAN;
    peak = &SIMULATION.stages[row->result->worst_stage].memory;
    return (double)peak->by_category[PSIM_MEMORY_ACTIVATIONS] +
           (double)peak->by_category[PSIM_MEMORY_INPUTS] +
           (double)peak->by_category[PSIM_MEMORY_RECOMPUTE];
}

#define TIME   PSIM_PANEL_FIRST
#define MEMORY PSIM_PANEL_SECOND
#define WORTH  PSIM_PANEL_THIRD
#define HIDE   PSIM_COLUMN_HIDE_ZERO

/* clang-format off */
static const struct psim_column columns[] = {
    {"method", "", "", "", PSIM_QUANTITY_TEXT, 0, 0, method, NULL},
    {"label", "", "method", "", PSIM_QUANTITY_TEXT, PSIM_PANEL_ALL, PSIM_COLUMN_MARK_FOOTNOTE,
     label, NULL},
    {"model", "", "net", "", PSIM_QUANTITY_TEXT, PSIM_PANEL_ALL, PSIM_COLUMN_HIDE_SAME,
     model, NULL},
    {"microbatch_samples", "", "", "", PSIM_QUANTITY_COUNT, 0, 0, NULL, microbatch},
    {"samples_per_update", "", "", "", PSIM_QUANTITY_COUNT, 0, 0, NULL, psim_samples_per_update},
    {"time_per_microbatch_s", "time per", "micro-batch", "", PSIM_QUANTITY_SECONDS, TIME, 0,
     NULL, microbatch_s},
    {"time_per_update_s", "time per", "update",
     "one optimizer step, with fill and drain where the method flushes", PSIM_QUANTITY_SECONDS,
     TIME, 0, NULL, update_s},
    {"samples_per_s", "", "samples_per s", "", PSIM_QUANTITY_NUMBER, TIME, 0,
     NULL, samples_per_s},
    {"speedup", "", "speed-_up", "", PSIM_QUANTITY_RATIO, TIME, 0, NULL, speedup},
    {"speedup_baseline", "", "", "", PSIM_QUANTITY_TEXT, 0, 0, baseline, NULL},
    {"time_per_microbatch_units", "", "simulated_units",
     "time per micro-batch, 1 is the mean forward of a stage", PSIM_QUANTITY_RATIO, TIME, 0,
     NULL, units},
    {"closed_form_stages_units", "closed form", "these_stages",
     "in the same units, without communication", PSIM_QUANTITY_RATIO, TIME, 0,
     NULL, units_of_stages},
    {"closed_form_units", "closed form", "equal_stages",
     "the method's claim, with forward 1, backward 2 and no communication", PSIM_QUANTITY_RATIO,
     TIME, 0, NULL, units_claimed},
    {"closed_form_stages_s", "", "", "", PSIM_QUANTITY_SECONDS, 0, 0, NULL, stages_s},
    {"utilisation_mean", "", "", "", PSIM_QUANTITY_SHARE, 0, 0, NULL, utilisation},
    {"bubble_fraction", "", "bubble", "share of the devices' time without computing",
     PSIM_QUANTITY_SHARE, TIME, 0, NULL, bubble},
    {"exposed_communication_fraction", "", "exposed_comm.",
     "share of the devices' time spent waiting only for a transfer", PSIM_QUANTITY_SHARE, TIME, 0,
     NULL, exposed},
    {"memory_peak_bytes_max", "peak memory", "worst_device", "", PSIM_QUANTITY_MEMORY, MEMORY,
     PSIM_COLUMN_MARK_ROOM, NULL, peak_max},
    {"memory_peak_bytes_sum", "peak memory", "all_devices", "", PSIM_QUANTITY_MEMORY, MEMORY, 0,
     NULL, peak_sum},
    {"memory_worst_device", "", "", "", PSIM_QUANTITY_TEXT, 0, 0, worst_device, NULL},
    {"fits", "", "", "", PSIM_QUANTITY_TEXT, 0, 0, fits, NULL},
    {"memory_kept_bytes_at_peak", "", "kept at_the peak",
     "activations, buffered inputs and recompute workspace on the worst device when it peaks",
     PSIM_QUANTITY_MEMORY, MEMORY, PSIM_COLUMN_CSV_LAST, NULL, kept},
    {"activation_copies", "", "kept_(claim)",
     "closed form at the first stage of equal stages, all of them reversible where the method is, "
     "per input or full graph (FG) of a stage",
     PSIM_QUANTITY_TEXT, MEMORY, 0, activation_copies, NULL},
    {"parameter_versions_max", "", "parameter_copies",
     "most over the stages, the current one included", PSIM_QUANTITY_COUNT, MEMORY, 0,
     NULL, versions},
    {"parameter_copies_claimed", "", "", "", PSIM_QUANTITY_TEXT, 0, 0, parameter_copies, NULL},
    {"staleness_microbatches_max", "", "staleness",
     "micro-batches between a forward and its backward, most over the stages",
     PSIM_QUANTITY_COUNT, MEMORY, 0, NULL, staleness},
    {"bytes_forward_per_microbatch", "sent per micro-batch", "forward", "",
     PSIM_QUANTITY_TRAFFIC, MEMORY, 0, NULL, bytes_forward},
    {"bytes_backward_per_microbatch", "sent per micro-batch", "backward", "",
     PSIM_QUANTITY_TRAFFIC, MEMORY, 0, NULL, bytes_backward},
    {"communication_forward_streams", "", "", "", PSIM_QUANTITY_NUMBER, 0, 0,
     NULL, streams_forward},
    {"communication_backward_streams", "", "", "", PSIM_QUANTITY_NUMBER, 0, 0,
     NULL, streams_backward},
    {"flop_per_microbatch", "", "", "", PSIM_QUANTITY_FLOP, 0, 0, NULL, flop},
    {"flop_extra_fraction", "", "extra_FLOP", PSIM_EXTRA_LEGEND,
     PSIM_QUANTITY_SHARE, MEMORY, 0, NULL, flop_extra},
    {"start_up_s", "", "", "", PSIM_QUANTITY_SECONDS, 0, 0, NULL, start_up},
    {"bottleneck", "", "", "", PSIM_QUANTITY_TEXT, 0, 0, bottleneck, NULL},
    {"note", "", "", "", PSIM_QUANTITY_TEXT, 0, 0, note, NULL},
    {"energy_per_update_j", "energy per", "update",
     "of the platform's devices, busy and idle, and of its links, switches and NICs",
     PSIM_QUANTITY_ENERGY, WORTH, HIDE, NULL, update_j},
    {"energy_per_sample_j", "energy per", "sample", "", PSIM_QUANTITY_ENERGY, WORTH, HIDE,
     NULL, sample_j},
    {"energy_per_token_j", "energy per", "token", "", PSIM_QUANTITY_ENERGY, WORTH,
     HIDE | PSIM_COLUMN_CSV_LAST, NULL, token_j},
    {"energy_devices_per_update_j", "in an update", "devices",
     "the part of the devices in an update's energy", PSIM_QUANTITY_ENERGY, WORTH,
     HIDE | PSIM_COLUMN_CSV_LAST, NULL, devices_j},
    {"energy_links_per_update_j", "in an update", "links",
     "the part of links, switches and NICs", PSIM_QUANTITY_ENERGY, WORTH,
     HIDE | PSIM_COLUMN_CSV_LAST, NULL, links_j},
    {"cost_per_update_usd", "cost per", "update",
     "of the nodes that hold a stage, each as a whole", PSIM_QUANTITY_MONEY, WORTH, HIDE,
     NULL, update_usd},
    {"cost_per_sample_usd", "cost per", "sample", "", PSIM_QUANTITY_MONEY, WORTH, HIDE,
     NULL, sample_usd},
    {"cost_per_token_usd", "cost per", "token", "", PSIM_QUANTITY_MONEY, WORTH,
     HIDE | PSIM_COLUMN_CSV_LAST, NULL, token_usd},
    {"time_per_epoch_s", "per epoch", "time", "", PSIM_QUANTITY_SECONDS, WORTH, HIDE,
     NULL, epoch_s},
    {"energy_per_epoch_j", "per epoch", "energy", "", PSIM_QUANTITY_ENERGY, WORTH, HIDE,
     NULL, epoch_j},
    {"cost_per_epoch_usd", "per epoch", "cost", "", PSIM_QUANTITY_MONEY, WORTH, HIDE,
     NULL, epoch_usd},
    {"price_date", "", "", "", PSIM_QUANTITY_TEXT, 0, 0, price_date, NULL},
};
/* clang-format on */

const struct psim_column_set psim_compare_columns = {
    columns,
    (int)(sizeof columns / sizeof columns[0]),
    {"Time", "Memory, traffic and work", "Energy and money"}};

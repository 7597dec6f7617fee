/**
 * @file tests/unit/report_sample.h
 * A comparison made by hand: a row with everything known, one with nothing known and a label that
 * needs escaping everywhere, one that does not fit.
 */
#ifndef PSIM_TESTS_UNIT_REPORT_SAMPLE_H
#define PSIM_TESTS_UNIT_REPORT_SAMPLE_H

#include "sim/program/result.h"

#include <math.h>

#define GIB    INT64_C(1073741824)
#define STAGES 2
#define ROWS   3

static const char *const option_names[] = {"accumulation", "overlap", "stash_parameters"};
static const char *const option_values[] = {"8", "ideal", "false"};
static const char *const devices[] = {"node0.gpu0", "node0.gpu1"};
static const char *const device_types[] = {"A100-SXM4-80GB", "A100-SXM4-80GB"};
static const char *const stage_names[] = {"stem", "layer1..head"};
static const char *const assumptions[] = {"kernel launch 5 us", "no other job on the network"};
static const char *const notes[] = {"2 surplus devices idle"};

static struct psim_stage_result known_stages[STAGES] = {
    {.forward_s = 0.0123,
     .backward_s = 0.0371,
     .update_s = 0.0004,
     .busy_fraction = 0.75,
     .exposed_fraction = 0.0125,
     .staleness_microbatches = 2,
     .parameter_versions = 1,
     .held_microbatches = 3,
     .carried_microbatches = 2,
     .memory =
         {.bytes = 14 * GIB,
          .at_s = 1.5,
          .by_category = {[PSIM_MEMORY_PARAMETERS] = 2 * GIB, [PSIM_MEMORY_ACTIVATIONS] = 12 * GIB},
          .reserved_bytes = 15 * GIB,
          .capacity_bytes = 80 * GIB}},
    {.forward_s = 0.01,
     .backward_s = 0.02,
     .update_s = 0.0,
     .busy_fraction = 1.0,
     .exposed_fraction = 0.0,
     .staleness_microbatches = 0,
     .parameter_versions = 1,
     .held_microbatches = 1,
     .carried_microbatches = 0,
     .memory = {.bytes = 3 * GIB / 2,
                .at_s = 0.1 + 0.2,
                .by_category = {[PSIM_MEMORY_PARAMETERS] = GIB, [PSIM_MEMORY_GRADIENTS] = GIB / 2},
                .reserved_bytes = 2 * GIB,
                .capacity_bytes = 80 * GIB}},
};

#define UNKNOWN_STAGE                                                                              \
    {                                                                                              \
        .forward_s = NAN, .backward_s = NAN, .update_s = NAN, .busy_fraction = NAN,                \
        .exposed_fraction = NAN, .staleness_microbatches = -1, .parameter_versions = -1,           \
        .held_microbatches = -1, .carried_microbatches = -1,                                       \
        .memory = {.bytes = -1, .at_s = NAN, .reserved_bytes = -1, .capacity_bytes = -1},          \
    }

static struct psim_stage_result unknown_stages[STAGES] = {UNKNOWN_STAGE, UNKNOWN_STAGE};

static struct psim_stage_result misfit_stages[STAGES];
static const char *const mixed_types[] = {"A100-SXM4-80GB", "V100-SXM2-16GB"};

static struct psim_result known_row(void)
{
    return (struct psim_result){
        .method = "petra",
        .label = "petra",
        .model = "revnet50",
        .option_names = option_names,
        .option_values = option_values,
        .option_count = 3,
        .accumulation = 8,
        .simulation = {.time_per_microbatch_s = 0.0495,
                       .time_per_update_s = 0.396,
                       .window_s = 0.396,
                       .window_microbatches = 8,
                       .start_up_s = 0.1234,
                       .steady = true,
                       .utilisation_mean = 0.875,
                       .bubble_fraction = 0.125,
                       .exposed_communication_fraction = 0.00625,
                       .flop_per_microbatch = 1.234e12,
                       .flop_extra_fraction = 1.0 / 3.0,
                       .flop_units = 7.0,
                       .bytes_forward_per_microbatch = 102760448.0,
                       .bytes_backward_per_microbatch = 205520896.0,
                       .communication_forward = 2.0,
                       .communication_backward = 4.0,
                       .operations = 4096,
                       .stage_count = STAGES,
                       .stages = known_stages},
        .device_names = devices,
        .device_types = device_types,
        .stage_names = stage_names,
        .samples_per_s = 1292.929292929293,
        .speedup = 3.0,
        .closed_form = {.time_per_microbatch = 3.0,
                        .flop_units = 7.0,
                        .communication_forward = 2.0,
                        .communication_backward = 4.0,
                        .activation_copies = "0",
                        .parameter_copies = "1"},
        .closed_form_s = 0.0491,
        .unit_s = 0.01115,
        .worst_stage = 0,
        .peak_bytes_max = 14 * GIB,
        .peak_bytes_sum = 31 * GIB / 2,
        .fits = true,
        .bottleneck = "stage 1 compute",
        .note = "",
        .tag_share = {0.25, 0.5, 0.0, 0.25},
        .worth = {.energy_per_update_j = 512.0,
                  .energy_devices_per_update_j = 500.0,
                  .energy_links_per_update_j = 12.0,
                  .energy_per_token_j = 0.0078125,
                  .cost_per_token_usd = 4.196e-8,
                  .token_note = "",
                  .energy_per_sample_j = 1.0,
                  .energy_per_epoch_j = 1.28e6,
                  .cost_per_update_usd = 0.00275,
                  .cost_per_sample_usd = 5.371e-6,
                  .cost_per_epoch_usd = 6.875,
                  .time_per_epoch_s = 990.0,
                  .energy_note = "",
                  .cost_note = "",
                  .price_date = "2026-11-09"},
    };
}

static struct psim_result unknown_row(void)
{
    struct psim_result row = known_row();

    row.method = "gpipe";
    row.label = "g,\"pipe\" & 100% #1|_x_ <b>";
    row.option_count = 0;
    row.simulation = (struct psim_simulation){.time_per_microbatch_s = NAN,
                                              .time_per_update_s = INFINITY,
                                              .window_s = NAN,
                                              .window_microbatches = -1,
                                              .start_up_s = NAN,
                                              .utilisation_mean = NAN,
                                              .bubble_fraction = NAN,
                                              .exposed_communication_fraction = NAN,
                                              .flop_per_microbatch = NAN,
                                              .flop_extra_fraction = NAN,
                                              .flop_units = NAN,
                                              .bytes_forward_per_microbatch = NAN,
                                              .bytes_backward_per_microbatch = NAN,
                                              .communication_forward = NAN,
                                              .communication_backward = NAN,
                                              .operations = 0,
                                              .stage_count = STAGES,
                                              .stages = unknown_stages};
    row.samples_per_s = NAN;
    row.speedup = NAN;
    row.closed_form = (struct psim_closed_form){NAN, NAN, NAN, NAN, "", ""};
    row.closed_form_s = NAN;
    row.unit_s = NAN;
    row.worst_stage = -1;
    row.peak_bytes_max = -1;
    row.peak_bytes_sum = -1;
    row.bottleneck = "unknown";
    row.worth = (struct psim_worth){NAN, NAN, NAN, NAN,        NAN,        NAN,         NAN, NAN,
                                    NAN, NAN, NAN, "no power", "no price", "no tokens", ""};
    return row;
}

/* The stage with the highest peak fits; the one on the smaller device does not. */
static struct psim_result misfit_row(void)
{
    struct psim_result row = known_row();

    row.method = "pipedream";
    row.label = "pipedream";
    row.model = "resnet50";
    row.updates_every_microbatch = true;
    row.simulation.time_per_microbatch_s = 0.1485;
    row.simulation.time_per_update_s = 0.1485;
    row.simulation.steady = false;
    row.simulation.flop_extra_fraction = 0.0;
    row.simulation.bubble_fraction = 1e-17; /* rounding noise */
    row.samples_per_s = 430.976430976431;
    row.speedup = 1.0;
    misfit_stages[0] = known_stages[0];
    misfit_stages[1] = known_stages[1];
    misfit_stages[0].memory.bytes = 70 * GIB;
    misfit_stages[0].memory.by_category[PSIM_MEMORY_ACTIVATIONS] = 68 * GIB;
    misfit_stages[0].memory.reserved_bytes = 75 * GIB;
    misfit_stages[1].memory.bytes = 18 * GIB;
    misfit_stages[1].memory.by_category[PSIM_MEMORY_PARAMETERS] = 35 * GIB / 2;
    misfit_stages[1].memory.reserved_bytes = 20 * GIB;
    misfit_stages[1].memory.capacity_bytes = 16 * GIB;
    row.simulation.stages = misfit_stages;
    row.device_types = mixed_types;
    row.peak_bytes_max = 70 * GIB;
    row.peak_bytes_sum = 88 * GIB;
    row.fits = false;
    row.note = "updates after every micro-batch";
    return row;
}

static struct psim_result rows[ROWS];

static struct psim_comparison sample(void)
{
    rows[0] = known_row();
    rows[1] = unknown_row();
    rows[2] = misfit_row();
    return (struct psim_comparison){
        .version = "0.1.0",
        .simgrid_version = "3.32",
        .inputs_sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        .engine = "simgrid",
        .seed = 7,
        .scenario_file = "scenarios/table1/sample.json",
        .model = "revnet50",
        .platform = "18x-a100",
        .precision = "fp32",
        .optimizer = "sgd_momentum",
        .partition = "balanced",
        .accounting = "full",
        .memory_check = "note",
        .microbatch = 64,
        .accumulation = 8,
        .epoch_samples = 1280000,
        .tokens_per_sample = 128,
        .placement = devices,
        .placement_count = STAGES,
        .devices = 4,
        .baseline = "pipedream",
        .results = rows,
        .result_count = ROWS,
        .assumptions = assumptions,
        .assumption_count = 2,
        .notes = notes,
        .note_count = 1,
    };
}

#endif

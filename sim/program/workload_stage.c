/*
 * Units added up to a stage: times, FLOP and bytes.
 *
 * Amounts are summed as doubles, which hold every count that passes the limit exactly.
 */
#include "sim/program/workload_parts.h"

#include <math.h>
#include <string.h>

/* So that 2^20 micro-batches of it still are an int64_t. */
#define AMOUNT_MAX     0x1p42
#define PAPER_ELEMENT  4 /* the paper's account is in fp32 */
#define BUFFER_ELEMENT 4 /* running statistics stay in fp32 */

/* Bytes as an integer; remembers that one was too large. */
static int64_t to_bytes(double amount, bool *too_large)
{
    if (!(amount <= AMOUNT_MAX)) {
        *too_large = true;
        return 0;
    }
    return (int64_t)amount;
}

/* Sums and maxima over the blocks of a stage, per sample. */
struct block_sums {
    double parameters, buffers, kept, index_bytes;
    double largest_kept, largest_index_bytes; /* of the block with the largest graph */
    double largest_output, largest_layer;     /* elements of one layer: written; read and written */
    bool reversible, downsampling;
};

static struct block_sums sum_blocks(const struct psim_block *blocks, int count, int element)
{
    struct block_sums sums = {.reversible = true};

    for (int i = 0; i < count; i++) {
        const struct psim_block *block = &blocks[i];
        const double kept = (double)block->kept_elements;
        const double index_bytes = (double)block->kept_index_bytes;

        sums.parameters += (double)block->parameters;
        sums.buffers += (double)block->buffers;
        sums.kept += kept - (i > 0 ? (double)block->shared_elements : 0.0);
        sums.index_bytes += index_bytes;
        if (kept * element + index_bytes > sums.largest_kept * element + sums.largest_index_bytes) {
            sums.largest_kept = kept;
            sums.largest_index_bytes = index_bytes;
        }
        sums.reversible = sums.reversible && block->reversible;
        sums.downsampling = sums.downsampling || block->downsampling;
        for (int k = 0; k < block->layer_count; k++) {
            const double in = (double)block->layers[k].in_elements;
            const double out = (double)block->layers[k].out_elements;

            sums.largest_output = fmax(sums.largest_output, out);
            sums.largest_layer = fmax(sums.largest_layer, in + out);
        }
    }
    return sums;
}

/* Elements of its own input that a block keeps: what its first layer needs again. */
static double kept_input(const struct psim_block *block)
{
    const struct psim_layer *first = &block->layers[0];

    switch (first->kind) {
    case PSIM_LAYER_CONV2D:
    case PSIM_LAYER_LINEAR:
    case PSIM_LAYER_BATCH_NORM:
        return (double)first->kept_elements;
    default:
        return 0.0;
    }
}

/*
 * The account of arXiv:2406.02052 table 3, as its code computes it: one stream of the input, both
 * of them where the stage changes the shape.
 */
static void fill_paper(struct psim_stage *out, const struct psim_block *first,
                       const struct block_sums *sums, double batch, bool *too_large)
{
    const double input =
        batch * (double)(sums->downsampling ? first->input_elements : first->stream_elements);

    out->paper_model_bytes =
        to_bytes(PAPER_ELEMENT * (sums->parameters + sums->buffers + input), too_large);
    out->paper_input_bytes = to_bytes(PAPER_ELEMENT * input, too_large);
    out->paper_parameter_bytes = to_bytes(PAPER_ELEMENT * sums->parameters, too_large);
    out->paper_always_buffers = sums->downsampling;
}

static void fill_network(const struct psim_cut *cut, struct psim_stage *out, bool *too_large)
{
    const struct psim_block *first = &cut->model->network->blocks[out->first_block];
    const struct psim_block *last = first + out->block_count - 1;
    const enum psim_precision precision = cut->options->precision;
    const int element = psim_element_bytes(precision);
    const double batch = (double)cut->options->microbatch;
    const struct block_sums sums = sum_blocks(first, out->block_count, element);
    const double graph = batch * (sums.kept * element + sums.index_bytes);
    const double largest = batch * (sums.largest_kept * element + sums.largest_index_bytes);
    const int states =
        psim_master_bytes(precision) + psim_optimizer_state_bytes(cut->options->optimizer);

    out->reversible = sums.reversible;
    out->input_bytes = to_bytes(batch * element * (double)first->input_elements, too_large);
    out->output_bytes = to_bytes(batch * element * (double)last->output_elements, too_large);
    out->parameter_bytes = to_bytes(sums.parameters * element, too_large);
    out->gradient_bytes = out->parameter_bytes;
    out->optimizer_bytes = to_bytes(sums.parameters * states, too_large);
    out->buffer_bytes = to_bytes(sums.buffers * BUFFER_ELEMENT, too_large);
    out->graph_bytes = to_bytes(graph, too_large);
    out->recompute_graph_bytes = to_bytes(sums.reversible ? largest : graph, too_large);
    out->graph_input_bytes = to_bytes(batch * element * kept_input(first), too_large);
    out->forward_work_bytes = to_bytes(batch * element * 2.0 * sums.largest_output, too_large);
    out->backward_work_bytes = to_bytes(batch * element * sums.largest_layer, too_large);
    fill_paper(out, first, &sums, batch, too_large);
}

static void fill_given(const struct psim_cut *cut, struct psim_stage *out, bool *too_large)
{
    const struct psim_given_stage *given = &cut->model->given[out->first_block];
    const int next = out->first_block + out->block_count;
    const enum psim_precision precision = cut->options->precision;
    const double states =
        psim_master_bytes(precision) + psim_optimizer_state_bytes(cut->options->optimizer);
    double parameters = 0.0, graph = 0.0, largest_graph = 0.0;

    out->reversible = true;
    for (int i = 0; i < out->block_count; i++) {
        const double unit_graph = (double)given[i].graph_bytes;

        parameters += (double)given[i].parameter_bytes;
        graph += unit_graph;
        largest_graph = fmax(largest_graph, unit_graph);
        out->reversible = out->reversible && given[i].reversible;
    }
    out->input_bytes = to_bytes((double)given->input_bytes, too_large);
    if (next < cut->units)
        out->output_bytes = to_bytes((double)cut->model->given[next].input_bytes, too_large);
    out->parameter_bytes = to_bytes(parameters, too_large);
    out->gradient_bytes = out->parameter_bytes;
    out->optimizer_bytes = to_bytes(parameters * states / psim_element_bytes(precision), too_large);
    out->graph_bytes = to_bytes(graph, too_large);
    out->recompute_graph_bytes = to_bytes(out->reversible ? largest_graph : graph, too_large);
}

static void sum_costs(const struct psim_cut *cut, int stage, struct psim_stage *out)
{
    for (int unit = cut->bounds[stage]; unit < cut->bounds[stage + 1]; unit++) {
        const struct psim_unit_cost *cost = psim_cut_cost(cut, stage, unit);

        out->forward_s += cost->forward_s;
        out->reconstruct_s += cost->reconstruct_s;
        out->backward_input_s += cost->backward_input_s;
        out->backward_weight_s += cost->backward_weight_s;
        out->update_s += cost->update_s;
        out->forward_flop += cost->forward_flop;
        out->backward_flop += cost->backward_flop;
    }
    out->reconstruct_flop = out->forward_flop; /* one more evaluation of the same layers */
}

static const char *unit_name(const struct psim_cut *cut, int unit)
{
    return cut->model->network != NULL ? cut->model->network->blocks[unit].name
                                       : cut->model->given[unit].name;
}

enum psim_status psim_stage_fill(const struct psim_cut *cut, int stage, struct psim_arena *arena,
                                 struct psim_stage *out, struct psim_error *err)
{
    const int first = cut->bounds[stage], last = cut->bounds[stage + 1] - 1;
    const struct psim_device *device = cut->columns[cut->slot_columns[stage]];
    struct psim_stage filled = {.first_block = first,
                                .block_count = last - first + 1,
                                .device = psim_cut_device(cut, stage),
                                .workspace_bytes = device->reserve_workspace_bytes,
                                .context_bytes = device->reserve_context_bytes,
                                .fragmentation = device->reserve_fragmentation,
                                .memory_bytes = device->memory_bytes};
    bool too_large = false;

    filled.name = first == last ? psim_arena_printf(arena, "%s", unit_name(cut, first))
                                : psim_arena_printf(arena, "%s..%s", unit_name(cut, first),
                                                    unit_name(cut, last));
    if (filled.name == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "model", "%s", psim_status_text(PSIM_ERR_NOMEM));
    sum_costs(cut, stage, &filled);
    if (cut->model->network != NULL)
        fill_network(cut, &filled, &too_large);
    else
        fill_given(cut, &filled, &too_large);
    if (too_large)
        return psim_fail(err, PSIM_ERR_RANGE, "microbatch",
                         "stage \"%s\" needs more than 4 TiB of one kind per micro-batch",
                         filled.name);
    *out = filled;
    return PSIM_OK;
}

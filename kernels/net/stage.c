/*
 * A stage: one program of all its blocks for passes with one graph, and, where a reversible stage
 * has several blocks, one program for each of them, since its backward goes block by block.
 */
#include "kernels/net/passes.h"
#include "sim/base/random.h"

#include <string.h>

const char *const pk_pass_names[] = {"forward",         "forward_graph",  "inference",
                                     "inverse",         "backward_graph", "backward_input",
                                     "backward_output", "backward_naive", NULL};

struct unit {
    struct pk_program program;
    struct pk_plan plans[PK_PLANS];
};

struct pk_stage {
    struct pk_context *context;
    enum pk_statistics statistics;
    struct unit whole;
    struct unit *blocks; /**< [block_count]; NULL: `whole` is the one block */
    int block_count;
    bool reversible, input_is_data;
    struct pk_stage_sizes sizes;
};

static size_t message_bytes(const struct pk_program *program, const int values[2])
{
    size_t bytes = 0;

    for (int i = 0; i < 2; i++)
        if (values[i] >= 0)
            bytes += program->values[values[i]].bytes;
    return bytes;
}

/* Sets of running statistics. */
static int set_count(const struct pk_stage *stage)
{
    return stage->statistics == PK_STATISTICS_CODE ? 2 : 1;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static struct unit *reversible_block(struct pk_stage *stage, int index)
{
    return stage->blocks == NULL ? &stage->whole : &stage->blocks[index];
}

static enum psim_status make_plans(struct pk_stage *stage, struct unit *unit, bool reversible,
                                   struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int i = 0; i < PK_PLANS && status == PSIM_OK; i++) {
        const enum pk_plan_kind kind = (enum pk_plan_kind)i;

        if (!pk_plan_inverts(kind) || reversible)
            status = pk_plan_make(stage->context, &unit->program, kind, &unit->plans[i], err);
    }
    return status;
}

static void release_unit(struct unit *unit)
{
    for (int i = 0; i < PK_PLANS; i++)
        pk_plan_release(&unit->plans[i]);
    pk_program_release(&unit->program);
}

/* Blocks [first, first + count) as one program. */
static enum psim_status build(struct unit *unit, const struct pk_stage_spec *spec, int first,
                              int count, const struct pk_shape *input, const struct unit *before,
                              bool *reversible, struct psim_error *err)
{
    struct pk_program *p = &unit->program;
    struct pk_block_build state = {.streams = input->streams};

    pk_program_init(p, spec, input, before == NULL ? 0 : before->program.parameter_count,
                    before == NULL ? 0 : before->program.statistics_count, err);
    for (int i = 0; i < 2; i++)
        state.x[i] = p->in[i];
    *reversible = count > 0;
    for (int i = first; i < first + count && p->status == PSIM_OK; i++) {
        pk_program_block(p, &spec->blocks[i], &state);
        *reversible = *reversible && state.reversible;
    }
    pk_program_finish(p, &state);
    return p->status;
}

/* The blocks of a reversible stage, each by itself. */
static enum psim_status build_blocks(struct pk_stage *stage, const struct pk_stage_spec *spec,
                                     struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    stage->blocks = psim_alloc((size_t)spec->block_count, sizeof(*stage->blocks));
    if (stage->blocks == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "stage", "%s", psim_status_text(PSIM_ERR_NOMEM));
    for (int i = 0; i < spec->block_count && status == PSIM_OK; i++) {
        const struct unit *before = i == 0 ? NULL : &stage->blocks[i - 1];
        bool reversible;

        stage->block_count = i + 1;
        status = build(&stage->blocks[i], spec, i, 1,
                       before == NULL ? &spec->input : &before->program.output, before, &reversible,
                       err);
        if (status == PSIM_OK)
            status = make_plans(stage, &stage->blocks[i], true, err);
    }
    return status;
}

/*
 * Workspace of the passes that go block by block: input and its gradient of the block at hand, and
 * those of the block after it, each [input, gradient]; then what the plans need.
 */
static size_t slots_bytes(const struct pk_stage *stage)
{
    return stage->block_count > 1 ? 4 * pk_padded(stage->sizes.input_bytes) : 0;
}

static void measure_reversible(struct pk_stage *stage)
{
    struct pk_stage_sizes *s = &stage->sizes;
    const size_t slots = slots_bytes(stage);
    size_t inverse = 0, output = 0, naive = 0, output_graph = 0, naive_graph = 0;

    for (int i = 0; i < stage->block_count; i++) {
        const struct pk_plan *plans = reversible_block(stage, i)->plans;

        inverse = larger(inverse, plans[PK_PLAN_INVERSE].work_bytes);
        output = larger(output, larger(plans[PK_PLAN_INVERSE_GRAPH].work_bytes,
                                       plans[PK_PLAN_BACKWARD_INVERTED].work_bytes));
        output_graph = larger(output_graph, plans[PK_PLAN_INVERSE_GRAPH].graph_bytes);
        naive = larger(naive, larger(plans[PK_PLAN_INVERSE].work_bytes,
                                     larger(pk_padded(s->output_bytes) +
                                                plans[PK_PLAN_FORWARD_GRAPH].work_bytes,
                                            plans[PK_PLAN_BACKWARD].work_bytes)));
        naive_graph = larger(naive_graph, plans[PK_PLAN_FORWARD_GRAPH].graph_bytes);
    }
    s->workspace_bytes[PK_INVERSE] = slots + inverse;
    s->workspace_bytes[PK_BACKWARD_OUTPUT] = slots + output;
    s->workspace_bytes[PK_BACKWARD_NAIVE] = slots + naive;
    s->graph_bytes[PK_BACKWARD_OUTPUT] = output_graph;
    s->graph_bytes[PK_BACKWARD_NAIVE] = naive_graph;
}

static void measure(struct pk_stage *stage)
{
    const struct pk_program *p = &stage->whole.program;
    const struct pk_plan *plans = stage->whole.plans;
    struct pk_stage_sizes *s = &stage->sizes;
    const size_t graph = plans[PK_PLAN_FORWARD_GRAPH].graph_bytes;

    s->parameters = (int64_t)p->parameter_count;
    s->parameter_bytes = s->gradient_bytes = s->velocity_bytes = sizeof(float) * p->parameter_count;
    s->statistics_bytes = sizeof(float) * p->statistics_count * (size_t)set_count(stage);
    s->input_bytes = message_bytes(p, p->in);
    s->output_bytes = message_bytes(p, p->out);
    for (int i = 0; i < 2; i++)
        if (p->in[i] >= 0 && p->values[p->in[i]].kept) {
            s->kept_input[i] = true;
            s->kept_input_bytes += p->values[p->in[i]].bytes;
        }
    s->workspace_bytes[PK_FORWARD] = plans[PK_PLAN_FORWARD].work_bytes;
    s->workspace_bytes[PK_FORWARD_GRAPH] = plans[PK_PLAN_FORWARD_GRAPH].work_bytes;
    s->workspace_bytes[PK_INFERENCE] = plans[PK_PLAN_INFERENCE].work_bytes;
    s->workspace_bytes[PK_BACKWARD_GRAPH] = plans[PK_PLAN_BACKWARD].work_bytes;
    s->workspace_bytes[PK_BACKWARD_INPUT] =
        larger(pk_padded(s->output_bytes) + plans[PK_PLAN_FORWARD_GRAPH].work_bytes,
               plans[PK_PLAN_BACKWARD].work_bytes);
    s->graph_bytes[PK_FORWARD_GRAPH] = s->graph_bytes[PK_BACKWARD_GRAPH] =
        s->graph_bytes[PK_BACKWARD_INPUT] = graph;
    if (p->loss) {
        const struct pk_node *loss = &p->nodes[p->node_count - 1];

        s->loss_rows = (size_t)loss->rows;
    }
    if (stage->reversible)
        measure_reversible(stage);
}

static enum psim_status check_spec(const struct pk_stage_spec *spec, struct psim_error *err)
{
    if (spec->block_count < 1)
        return psim_fail(err, PSIM_ERR_RANGE, "blocks", "a stage needs at least one block");
    if (spec->microbatch < 1)
        return psim_fail(err, PSIM_ERR_RANGE, "microbatch", "must be at least 1, not %d",
                         spec->microbatch);
    if (spec->input.streams != 1 && spec->input.streams != 2)
        return psim_fail(err, PSIM_ERR_RANGE, "input", "has 1 or 2 streams, not %d",
                         spec->input.streams);
    return PSIM_OK;
}

enum psim_status pk_stage_new(struct pk_context *context, const struct pk_stage_spec *spec,
                              struct pk_stage **stage, struct psim_error *err)
{
    struct pk_stage_spec filled = *spec;
    enum psim_status status = check_spec(spec, err);
    struct pk_stage *made;

    if (status != PSIM_OK)
        return status;
    made = psim_alloc(1, sizeof(*made));
    if (made == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "stage", "%s", psim_status_text(PSIM_ERR_NOMEM));
    filled.epsilon = spec->epsilon > 0 ? spec->epsilon : 1e-5F;
    filled.momentum = spec->momentum > 0 ? spec->momentum : 0.1F;
    made->context = context;
    made->statistics = spec->statistics;
    made->input_is_data = spec->input_is_data;
    made->block_count = 1;
    status = build(&made->whole, &filled, 0, spec->block_count, &spec->input, NULL,
                   &made->reversible, err);
    made->reversible = made->reversible && !spec->input_is_data;
    if (status == PSIM_OK)
        status = make_plans(made, &made->whole, made->reversible && spec->block_count == 1, err);
    if (status == PSIM_OK && made->reversible && spec->block_count > 1)
        status = build_blocks(made, &filled, err);
    if (status == PSIM_OK) {
        measure(made);
        *stage = made;
    } else {
        pk_stage_free(made);
    }
    return status;
}

void pk_stage_free(struct pk_stage *stage)
{
    if (stage == NULL)
        return;
    for (int i = 0; stage->blocks != NULL && i < stage->block_count; i++)
        release_unit(&stage->blocks[i]);
    psim_free(stage->blocks);
    release_unit(&stage->whole);
    psim_free(stage);
}

const struct pk_stage_sizes *pk_stage_sizes(const struct pk_stage *stage)
{
    return &stage->sizes;
}

struct pk_shape pk_stage_output(const struct pk_stage *stage)
{
    return stage->whole.program.output;
}

bool pk_stage_is_reversible(const struct pk_stage *stage)
{
    return stage->reversible;
}

const struct pk_tensor *pk_stage_tensors(const struct pk_stage *stage, int *count)
{
    *count = stage->whole.program.tensor_count;
    return stage->whole.program.tensors;
}

const struct pk_tensor *pk_stage_norms(const struct pk_stage *stage, int *count)
{
    *count = stage->whole.program.norm_count;
    return stage->whole.program.norms;
}

/* What a pass reads and writes. */
enum operand {
    IN = 1,
    OUT = 2,
    DOUT = 4,
    DIN = 8,
    GRAPH = 16,
    GRADIENTS = 32,
    STATISTICS = 64,
    LABELS = 128,
    INVERTS = 256
};

static const int operands[PK_PASSES] = {
    [PK_FORWARD] = IN | OUT | LABELS,
    [PK_FORWARD_GRAPH] = IN | OUT | LABELS | GRAPH,
    [PK_INFERENCE] = IN | OUT | LABELS | STATISTICS,
    [PK_INVERSE] = IN | OUT | INVERTS,
    [PK_BACKWARD_GRAPH] = IN | DOUT | DIN | GRAPH | GRADIENTS,
    [PK_BACKWARD_INPUT] = IN | DOUT | DIN | GRAPH | GRADIENTS | LABELS,
    [PK_BACKWARD_OUTPUT] = IN | OUT | DOUT | DIN | GRAPH | GRADIENTS | INVERTS,
    [PK_BACKWARD_NAIVE] = IN | OUT | DOUT | DIN | GRAPH | GRADIENTS | INVERTS,
};

static enum psim_status check_call(const struct pk_stage *stage, enum pk_pass pass,
                                   const struct pk_stage_call *call, struct psim_error *err)
{
    const struct pk_stage_sizes *s = &stage->sizes;
    const int needs = operands[pass];
    const struct {
        bool needed;
        const void *operand;
        const char *name;
    } all[] = {
        {s->parameter_bytes > 0, call->parameters, "parameters"},
        {(needs & IN) != 0, call->in, "in"},
        {(needs & OUT) && s->output_bytes > 0, call->out, "out"},
        {(needs & DOUT) && s->output_bytes > 0, call->dout, "dout"},
        {(needs & DIN) && !stage->input_is_data, call->din, "din"},
        {(needs & GRAPH) && s->graph_bytes[pass] > 0, call->graph, "graph"},
        {(needs & GRADIENTS) && s->gradient_bytes > 0, call->gradients, "gradients"},
        {(needs & STATISTICS) && s->statistics_bytes > 0, call->statistics, "statistics"},
        {(needs & LABELS) && s->loss_rows > 0, call->labels, "labels"},
        {s->workspace_bytes[pass] > 0, call->workspace, "workspace"},
    };

    if ((needs & INVERTS) && !stage->reversible)
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, pk_pass_names[pass],
                         "the stage cannot be inverted");
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (all[i].needed && all[i].operand == NULL)
            return psim_fail(err, PSIM_ERR_RANGE, all[i].name, "is needed by the pass \"%s\"",
                             pk_pass_names[pass]);
    return PSIM_OK;
}

/* One block's messages. */
struct messages {
    char *in, *out, *din;
    const char *dout;
};

static void set_message(struct pk_run *run, int area, const struct pk_program *program,
                        const int values[2], char *start)
{
    for (int i = 0; i < 2; i++) {
        run->areas[area + i] = start;
        if (start != NULL && values[i] >= 0)
            start += program->values[values[i]].bytes;
    }
}

/* Runs one plan of a unit; `set` is the set of running statistics that it updates, -1 for none. */
static enum psim_status run_plan(struct pk_stage *stage, const struct unit *unit,
                                 enum pk_plan_kind kind, const struct pk_stage_call *call,
                                 const struct messages *messages, void *work, int set,
                                 struct psim_error *err)
{
    const struct pk_program *p = &unit->program;
    struct pk_run run = {.context = stage->context,
                         .program = p,
                         .parameters = call->parameters,
                         .gradients = call->gradients,
                         .inversion = kind == PK_PLAN_INVERSE,
                         .labels = call->labels,
                         .loss = call->loss,
                         .predicted = call->predicted};

    if (set >= 0 && call->statistics != NULL)
        run.running = call->statistics + (size_t)set * stage->whole.program.statistics_count;
    run.areas[PK_AREA_WORK] = work;
    run.areas[PK_AREA_GRAPH] = call->graph;
    set_message(&run, PK_AREA_IN, p, p->in, messages->in);
    set_message(&run, PK_AREA_OUT, p, p->out, messages->out);
    set_message(&run, PK_AREA_DIN, p, p->in, messages->din);
    /* Only read: no plan has a step that writes there. */
    set_message(&run, PK_AREA_DOUT, p, p->out, (char *)(uintptr_t)messages->dout);
    return pk_plan_run(&unit->plans[kind], &run, err);
}

/* Forward with graph, its output thrown away, then backward. */
static enum psim_status recompute(struct pk_stage *stage, const struct unit *unit,
                                  const struct pk_stage_call *call, const struct messages *messages,
                                  char *work, int set, struct psim_error *err)
{
    struct messages forward = *messages;
    const size_t out = pk_padded(message_bytes(&unit->program, unit->program.out));
    enum psim_status status;

    forward.out = work;
    status = run_plan(stage, unit, PK_PLAN_FORWARD_GRAPH, call, &forward,
                      work == NULL ? NULL : work + out, set, err);
    if (status == PSIM_OK)
        status = run_plan(stage, unit, PK_PLAN_BACKWARD, call, messages, work, -1, err);
    return status;
}

/* One block of a pass that inverts. */
static enum psim_status invert(struct pk_stage *stage, const struct unit *unit, enum pk_pass pass,
                               const struct pk_stage_call *call, const struct messages *messages,
                               char *work, struct psim_error *err)
{
    const bool code = stage->statistics == PK_STATISTICS_CODE;
    const int rebuilt = code ? 1 : 0;
    enum psim_status status;

    if (pass == PK_BACKWARD_OUTPUT) {
        status = run_plan(stage, unit, PK_PLAN_INVERSE_GRAPH, call, messages, work, rebuilt, err);
        if (status == PSIM_OK)
            status =
                run_plan(stage, unit, PK_PLAN_BACKWARD_INVERTED, call, messages, work, -1, err);
        return status;
    }
    status = run_plan(stage, unit, PK_PLAN_INVERSE, call, messages, work,
                      code && pass == PK_BACKWARD_NAIVE ? 1 : -1, err);
    if (status == PSIM_OK && pass == PK_BACKWARD_NAIVE)
        status = recompute(stage, unit, call, messages, work, rebuilt, err);
    return status;
}

/* From the last block to the first; between blocks the messages lie in the workspace. */
static enum psim_status run_inverting(struct pk_stage *stage, enum pk_pass pass,
                                      const struct pk_stage_call *call, struct psim_error *err)
{
    const size_t slot = pk_padded(stage->sizes.input_bytes);
    char *work = call->workspace;
    char *plans = work == NULL ? NULL : work + slots_bytes(stage);
    struct messages messages = {.out = (char *)call->out, .dout = (const char *)call->dout};
    enum psim_status status = PSIM_OK;

    for (int i = stage->block_count - 1; i >= 0 && status == PSIM_OK; i--) {
        char *own = work == NULL ? NULL : work + (size_t)(i % 2) * 2 * slot;

        messages.in = i == 0 ? call->in : own;
        messages.din = i == 0 ? (char *)call->din : own + slot;
        status = invert(stage, reversible_block(stage, i), pass, call, &messages, plans, err);
        messages.out = messages.in;
        messages.dout = messages.din;
    }
    return status;
}

enum psim_status pk_stage_run(struct pk_stage *stage, enum pk_pass pass,
                              const struct pk_stage_call *call, struct psim_error *err)
{
    const bool code = stage->statistics == PK_STATISTICS_CODE;
    const struct messages messages = {call->in, (char *)call->out, (char *)call->din,
                                      (const char *)call->dout};
    const struct unit *whole = &stage->whole;
    const enum psim_status status = check_call(stage, pass, call, err);

    if (status != PSIM_OK)
        return status;
    switch (pass) {
    case PK_FORWARD:
        return run_plan(stage, whole, PK_PLAN_FORWARD, call, &messages, call->workspace,
                        code ? 0 : -1, err);
    case PK_FORWARD_GRAPH:
        return run_plan(stage, whole, PK_PLAN_FORWARD_GRAPH, call, &messages, call->workspace, 0,
                        err);
    case PK_INFERENCE:
        return run_plan(stage, whole, PK_PLAN_INFERENCE, call, &messages, call->workspace, 0, err);
    case PK_BACKWARD_GRAPH:
        return run_plan(stage, whole, PK_PLAN_BACKWARD, call, &messages, call->workspace, -1, err);
    case PK_BACKWARD_INPUT:
        return recompute(stage, whole, call, &messages, call->workspace, code ? 1 : 0, err);
    case PK_INVERSE:
    case PK_BACKWARD_OUTPUT:
    case PK_BACKWARD_NAIVE:
        return run_inverting(stage, pass, call, err);
    case PK_PASSES:
        break;
    }
    psim_bug("no such pass");
}

static void fill_tensor(const struct pk_tensor *tensor, uint64_t seed, bool zero, float *values)
{
    const uint64_t what = (uint64_t)tensor->ordinal << 32 | (uint64_t)tensor->index;

    for (size_t i = 0; i < tensor->count; i++) {
        uint64_t bits[2];

        if (tensor->initial == PK_INITIAL_UNIFORM) {
            psim_random_bits(seed, i, what, bits);
            values[i] = (float)((2 * psim_random_unit(bits[0]) - 1) * (double)tensor->bound);
        } else {
            values[i] = tensor->initial == PK_INITIAL_ONE && !zero ? 1 : 0;
        }
    }
}

void pk_stage_initial(const struct pk_stage *stage, uint64_t seed, bool zero_last_norm,
                      float *parameters, float *statistics)
{
    const struct pk_program *p = &stage->whole.program;

    for (int i = 0; i < p->tensor_count; i++)
        fill_tensor(&p->tensors[i], seed, zero_last_norm && p->tensors[i].last_norm,
                    parameters + p->tensors[i].offset);
    for (int k = 0; k < set_count(stage) && statistics != NULL; k++)
        for (int i = 0; i < p->norm_count; i++) {
            float *start = statistics + (size_t)k * p->statistics_count + p->norms[i].offset;

            for (size_t c = 0; c < p->norms[i].count; c++)
                start[c] = c < p->norms[i].count / 2 ? 0 : 1;
        }
}

enum psim_status pk_stage_update(struct pk_stage *stage, const struct pk_stage_update *update,
                                 struct psim_error *err)
{
    const struct pk_tensor *tensors = stage->whole.program.tensors;
    const int count = stage->whole.program.tensor_count;
    const struct pk_workspace none = {NULL, 0};
    enum psim_status status = PSIM_OK;

    /* Neighbours that decay alike are one run. */
    for (int i = 0, end; i < count && status == PSIM_OK; i = end) {
        struct pk_sgd op = {.rate = update->rate,
                            .momentum = update->momentum,
                            .weight_decay = tensors[i].decay ? update->weight_decay : 0,
                            .gradient_scale = update->gradient_scale,
                            .nesterov = update->nesterov,
                            .gradient = update->gradients + tensors[i].offset,
                            .weight = update->parameters + tensors[i].offset};

        for (end = i; end < count && tensors[end].decay == tensors[i].decay; end++)
            op.count += tensors[end].count;
        if (update->velocity != NULL)
            op.velocity = update->velocity + tensors[i].offset;
        status = pk_sgd(stage->context, &op, &none, err);
    }
    return status;
}

/*
 * From a program to the steps of one pass.
 *
 * Forward: node by node; a value lies in the message or the graph where it belongs there, else in a
 * block of the workspace that lives from the step that makes it to the last that reads it.
 *
 * Inversion: the couplings y = base + f from the last to the first, each with base and y exchanged
 * and the sign turned; within one, f's nodes run forward.
 *
 * Backward: node by node from the end.  A gradient that only passes through a sum is not copied: it
 * stays a reference to where it lies until a second contribution makes a block of its own.
 */
#include "kernels/net/passes.h"

#include <string.h>

struct block {
    size_t bytes, offset;
    int first, last; /**< steps */
    int users;       /**< values whose gradient it is */
};

struct maker {
    struct pk_context *context;
    const struct pk_program *program;
    struct pk_plan *plan;
    struct psim_error *err;
    enum psim_status status;
    bool graph, inference, inverted;
    int step_capacity;
    struct block *blocks;
    int block_count, block_capacity;
    /* By value. */
    struct pk_ref *places, *gradients;
    int *uses;
    size_t *graph_offsets;
};

static void fail_memory(struct maker *m)
{
    if (m->status == PSIM_OK)
        m->status =
            psim_fail(m->err, PSIM_ERR_NOMEM, "stage", "%s", psim_status_text(PSIM_ERR_NOMEM));
}

static bool grow(struct maker *m, void **array, int count, int *capacity, size_t size)
{
    if (m->status == PSIM_OK && !psim_grow(array, count, capacity, size))
        fail_memory(m);
    return m->status == PSIM_OK;
}

static void push(struct maker *m, const struct pk_step *step)
{
    if (grow(m, (void **)&m->plan->steps, m->plan->step_count, &m->step_capacity, sizeof(*step)))
        m->plan->steps[m->plan->step_count++] = *step;
}

static struct pk_ref new_block(struct maker *m, size_t bytes)
{
    struct pk_ref ref = {PK_AREA_NONE, 0};

    if (grow(m, (void **)&m->blocks, m->block_count, &m->block_capacity, sizeof(*m->blocks))) {
        m->blocks[m->block_count] = (struct block){.bytes = bytes, .first = -1, .last = -1};
        ref = (struct pk_ref){PK_AREA_WORK, (size_t)m->block_count++};
    }
    return ref;
}

static bool same(struct pk_ref a, struct pk_ref b)
{
    return a.area == b.area && a.offset == b.offset;
}

static bool in_graph(const struct maker *m, const struct pk_value *value)
{
    return value->kept && value->input < 0 && !(m->inverted && value->output >= 0);
}

/* What the graph holds, one tensor after the other. */
static void lay_graph(struct maker *m)
{
    size_t at = 0;

    for (int i = 0; i < m->program->value_count; i++) {
        m->graph_offsets[i] = at;
        if (in_graph(m, &m->program->values[i]))
            at += pk_padded(m->program->values[i].bytes);
    }
    m->plan->graph_bytes = m->graph ? at : 0;
}

/* Where a value lies; decided when it is first asked for. */
static struct pk_ref place(struct maker *m, int index)
{
    const struct pk_value *value;
    struct pk_ref *ref;

    if (index < 0)
        return (struct pk_ref){PK_AREA_NONE, 0};
    value = &m->program->values[index];
    ref = &m->places[index];
    if (ref->area != PK_AREA_NONE)
        return *ref;
    if (m->inverted && value->output >= 0)
        *ref = (struct pk_ref){PK_AREA_OUT + value->output, 0};
    else if (value->input >= 0)
        *ref = (struct pk_ref){PK_AREA_IN + value->input, 0};
    else if (m->graph && value->kept)
        *ref = (struct pk_ref){PK_AREA_GRAPH, m->graph_offsets[index]};
    else if (value->output >= 0)
        *ref = (struct pk_ref){PK_AREA_OUT + value->output, 0};
    else
        *ref = new_block(m, value->bytes);
    return *ref;
}

static void count_uses(struct maker *m)
{
    for (int i = 0; i < m->program->node_count; i++) {
        const struct pk_node *node = &m->program->nodes[i];
        const int operands[3] = {node->x[0], node->x[1], node->base};

        for (int k = 0; k < 3; k++)
            if (operands[k] >= 0)
                m->uses[operands[k]]++;
    }
}

/* Lets the result of an operation that may work in place take over its operand's block. */
static void take_over(struct maker *m, const struct pk_node *node)
{
    const bool able =
        node->kind == PK_NODE_NORM || node->kind == PK_NODE_RELU || node->kind == PK_NODE_ADD;
    const struct pk_ref x = place(m, node->x[0]);
    const struct pk_value *y = node->y[0] < 0 ? NULL : &m->program->values[node->y[0]];

    if (able && y != NULL && x.area == PK_AREA_WORK && m->uses[node->x[0]] == 1 && y->output < 0 &&
        y->input < 0 && !(m->graph && y->kept) && m->places[node->y[0]].area == PK_AREA_NONE)
        m->places[node->y[0]] = x;
}

static struct pk_ref place_aux(struct maker *m, const struct pk_node *node, int index)
{
    /* Only what a backward reads, or what the operation cannot do without. */
    const bool needed = node->kind == PK_NODE_NORM || node->kind == PK_NODE_LAYER_NORM ||
                        node->kind == PK_NODE_ATTENTION;

    if (!m->graph && (!needed || (m->inference && node->kind == PK_NODE_NORM)))
        return (struct pk_ref){PK_AREA_NONE, 0};
    return place(m, node->aux[index]);
}

static void forward_node(struct maker *m, const struct pk_node *node, bool turned)
{
    struct pk_step step = {.kind = m->inference && node->kind == PK_NODE_NORM ? PK_STEP_INFER
                                                                              : PK_STEP_FORWARD,
                           .node = node,
                           .sign = turned ? -1.0F : 1.0F};

    if (!turned)
        take_over(m, node);
    for (int i = 0; i < 2; i++) {
        step.x[i] = place(m, node->x[i]);
        step.aux[i] = place_aux(m, node, i);
        step.y[i] = place(m, node->y[i]);
    }
    step.base = place(m, node->base);
    if (turned) {
        const struct pk_ref base = step.base;

        step.base = step.y[0];
        step.y[0] = base;
    }
    push(m, &step);
    for (int i = 0; i < 2; i++)
        if (node->x[i] >= 0)
            m->uses[node->x[i]]--;
}

static void copy(struct maker *m, struct pk_ref from, struct pk_ref to, size_t bytes)
{
    push(m, &(struct pk_step){.kind = PK_STEP_COPY, .x = {from}, .y = {to}, .bytes = bytes});
}

static void make_forward(struct maker *m)
{
    const struct pk_program *p = m->program;

    for (int i = 0; i < p->node_count; i++)
        forward_node(m, &p->nodes[i], false);
    for (int i = 0; i < 2; i++) {
        const struct pk_ref out = {PK_AREA_OUT + i, 0};

        if (p->out[i] >= 0 && !same(place(m, p->out[i]), out))
            copy(m, place(m, p->out[i]), out, p->values[p->out[i]].bytes);
    }
}

static void make_inverse(struct maker *m)
{
    const struct pk_program *p = m->program;
    int end = p->node_count - 1;

    while (end >= 0) {
        int first = end;

        while (first > 0 && !p->nodes[first - 1].coupling)
            first--;
        for (int i = first; i <= end; i++)
            forward_node(m, &p->nodes[i], i == end);
        end = first - 1;
    }
    for (int i = 0; i < 2; i++) {
        const struct pk_ref in = {PK_AREA_IN + i, 0};

        if (p->in[i] >= 0 && !same(place(m, p->in[i]), in))
            copy(m, place(m, p->in[i]), in, p->values[p->in[i]].bytes);
    }
}

static void use(struct maker *m, struct pk_ref ref, int change)
{
    if (ref.area == PK_AREA_WORK)
        m->blocks[ref.offset].users += change;
}

/* Nobody else's, so it may be written to. */
static bool is_own(const struct maker *m, struct pk_ref ref)
{
    return ref.area == PK_AREA_DIN || ref.area == PK_AREA_DIN + 1 ||
           (ref.area == PK_AREA_WORK && m->blocks[ref.offset].users == 1);
}

static struct pk_ref new_gradient(struct maker *m, int value)
{
    const int input = m->program->values[value].input;

    return input >= 0 ? (struct pk_ref){PK_AREA_DIN + input, 0}
                      : new_block(m, m->program->values[value].bytes);
}

static void set_gradient(struct maker *m, int value, struct pk_ref ref)
{
    use(m, ref, 1);
    use(m, m->gradients[value], -1);
    m->gradients[value] = ref;
}

static void sum(struct maker *m, int value, struct pk_ref a, struct pk_ref b, struct pk_ref y)
{
    push(m,
         &(struct pk_step){
             .kind = PK_STEP_SUM, .x = {a, b}, .y = {y}, .bytes = m->program->values[value].bytes});
}

/* Adds to a value's gradient what lies elsewhere already. */
static void contribute(struct maker *m, int value, struct pk_ref ref)
{
    const struct pk_ref old = m->gradients[value];
    struct pk_ref y = old;

    if (!m->program->values[value].gradient || m->status != PSIM_OK)
        return;
    if (old.area == PK_AREA_NONE) {
        set_gradient(m, value, ref);
        return;
    }
    if (!is_own(m, old))
        y = new_gradient(m, value);
    sum(m, value, old, ref, y);
    set_gradient(m, value, y);
}

enum ability { WRITES = 0, IN_PLACE = 1, ACCUMULATES = 2 };

/* One step that writes the gradient of node->x[part], in the way its operation can. */
static void differentiate(struct maker *m, struct pk_step step, int part, int ability)
{
    const int value = step.node->x[part];
    const struct pk_ref old = m->gradients[value];
    struct pk_ref dx;

    if (m->status != PSIM_OK)
        return;
    step.part = part;
    if ((ability & ACCUMULATES) && old.area != PK_AREA_NONE && is_own(m, old)) {
        step.accumulate = true;
        step.dx = old;
        push(m, &step);
        return;
    }
    if ((ability & IN_PLACE) && old.area == PK_AREA_NONE && is_own(m, step.dy[0]) &&
        m->program->values[value].input < 0)
        dx = step.dy[0];
    else if (old.area != PK_AREA_NONE && is_own(m, old))
        dx = new_block(m, m->program->values[value].bytes);
    else
        dx = new_gradient(m, value);
    step.dx = dx;
    push(m, &step);
    if (old.area == PK_AREA_NONE) {
        set_gradient(m, value, dx);
    } else if (m->status == PSIM_OK) {
        const struct pk_ref y = is_own(m, old) ? old : dx;

        sum(m, value, old, dx, y);
        set_gradient(m, value, y);
    }
}

static int ability_of(enum pk_node_kind kind)
{
    switch (kind) {
    case PK_NODE_CONV:
    case PK_NODE_LINEAR:
    case PK_NODE_SPLIT:
    case PK_NODE_JOIN:
        return ACCUMULATES;
    case PK_NODE_RELU:
        return ACCUMULATES | IN_PLACE;
    case PK_NODE_NORM:
    case PK_NODE_LAYER_NORM:
    case PK_NODE_GELU:
        return IN_PLACE;
    case PK_NODE_ADD:
    case PK_NODE_POOL:
    case PK_NODE_AVERAGE:
    case PK_NODE_ATTENTION:
    case PK_NODE_EMBEDDING:
    case PK_NODE_LOSS:
        break;
    }
    return WRITES;
}

static void backward_node(struct maker *m, const struct pk_node *node)
{
    const struct pk_value *values = m->program->values;
    const bool norm = node->kind == PK_NODE_NORM || node->kind == PK_NODE_LAYER_NORM;
    struct pk_step step = {.node = node};

    if (m->status != PSIM_OK)
        return;
    if (node->kind == PK_NODE_LOSS) {
        contribute(m, node->x[0], place(m, node->aux[0]));
        return;
    }
    for (int i = 0; i < 2; i++) {
        if (node->y[i] >= 0)
            step.dy[i] = m->gradients[node->y[i]];
        step.aux[i] = place(m, node->aux[i]);
    }
    if (step.dy[0].area == PK_AREA_NONE)
        return;
    if (node->base >= 0)
        contribute(m, node->base, step.dy[0]);
    if (node->kind == PK_NODE_ADD) {
        contribute(m, node->x[0], step.dy[0]);
    } else {
        const bool reads_y = node->kind == PK_NODE_RELU;

        if (values[node->x[0]].kept)
            step.x[0] = place(m, node->x[0]);
        if (reads_y)
            step.y[0] = place(m, node->y[0]);
        if (node->weight != PK_NO_OFFSET && !norm) {
            step.kind = PK_STEP_WEIGHT;
            push(m, &step);
        }
        step.kind = PK_STEP_DATA;
        for (int i = 0; i < 2; i++)
            if (node->x[i] >= 0 && values[node->x[i]].gradient)
                differentiate(m, step, i, ability_of(node->kind));
        if (norm && !values[node->x[0]].gradient)
            push(m, &step); /* dx is not needed; the parameters' gradients are */
    }
    for (int i = 0; i < 2; i++)
        if (node->y[i] >= 0)
            use(m, m->gradients[node->y[i]], -1);
}

static void make_backward(struct maker *m)
{
    const struct pk_program *p = m->program;

    for (int i = 0; i < 2; i++)
        if (p->out[i] >= 0)
            contribute(m, p->out[i], (struct pk_ref){PK_AREA_DOUT + i, 0});
    for (int i = p->node_count - 1; i >= 0; i--)
        backward_node(m, &p->nodes[i]);
    for (int i = 0; i < 2; i++) {
        const int value = p->in[i];
        const struct pk_ref din = {PK_AREA_DIN + i, 0};

        if (value < 0 || !p->values[value].gradient || m->status != PSIM_OK)
            continue;
        if (m->gradients[value].area == PK_AREA_NONE)
            push(m, &(struct pk_step){
                        .kind = PK_STEP_CLEAR, .y = {din}, .bytes = p->values[value].bytes});
        else if (!same(m->gradients[value], din))
            copy(m, m->gradients[value], din, p->values[value].bytes);
    }
}

#define STEP_REFS 11

/* All operands of a step. */
static void refs_of(struct pk_step *step, struct pk_ref *refs[STEP_REFS])
{
    struct pk_ref *const all[STEP_REFS] = {&step->x[0],  &step->x[1],   &step->y[0],   &step->y[1],
                                           &step->base,  &step->aux[0], &step->aux[1], &step->dy[0],
                                           &step->dy[1], &step->dx,     &step->work};

    memcpy(refs, all, sizeof(all));
}

/* From which step to which each block lives; a step's own scratch is a block too. */
static void find_lives(struct maker *m)
{
    struct pk_ref *refs[STEP_REFS];

    for (int i = 0; i < m->plan->step_count; i++) {
        struct pk_step *step = &m->plan->steps[i];

        step->work_bytes = pk_step_workspace(m->context, m->program, step);
        if (step->work_bytes > 0)
            step->work = new_block(m, step->work_bytes);
        refs_of(step, refs);
        for (int k = 0; k < STEP_REFS && m->status == PSIM_OK; k++)
            if (refs[k]->area == PK_AREA_WORK) {
                struct block *block = &m->blocks[refs[k]->offset];

                block->first = block->first < 0 ? i : block->first;
                block->last = i;
            }
    }
}

/* Lowest place at which a block meets none of those already placed that live at the same time;
 * `placed` is in the order of offsets. */
static size_t lowest_place(const struct maker *m, const int *placed, int count,
                           const struct block *block)
{
    size_t at = 0;

    for (int i = 0; i < count; i++) {
        const struct block *other = &m->blocks[placed[i]];

        if (other->last < block->first || block->last < other->first)
            continue;
        if (at + block->bytes <= other->offset)
            break;
        if (other->offset + pk_padded(other->bytes) > at)
            at = other->offset + pk_padded(other->bytes);
    }
    return at;
}

/* The largest first, each as low as it fits. */
static void pack(struct maker *m)
{
    int *placed = psim_alloc((size_t)m->block_count + 1, sizeof(*placed));
    struct pk_ref *refs[STEP_REFS];

    if (placed == NULL) {
        fail_memory(m);
        return;
    }
    for (int n = 0; n < m->block_count; n++) {
        int best = -1, at = n;
        struct block *block;

        for (int i = 0; i < m->block_count; i++)
            if (m->blocks[i].users >= 0 && (best < 0 || m->blocks[i].bytes > m->blocks[best].bytes))
                best = i;
        block = &m->blocks[best];
        block->users = -1; /* placed */
        block->offset = lowest_place(m, placed, n, block);
        while (at > 0 && m->blocks[placed[at - 1]].offset > block->offset) {
            placed[at] = placed[at - 1];
            at--;
        }
        placed[at] = best;
        if (block->offset + pk_padded(block->bytes) > m->plan->work_bytes)
            m->plan->work_bytes = block->offset + pk_padded(block->bytes);
    }
    for (int i = 0; i < m->plan->step_count; i++) {
        refs_of(&m->plan->steps[i], refs);
        for (int k = 0; k < STEP_REFS; k++)
            if (refs[k]->area == PK_AREA_WORK)
                refs[k]->offset = m->blocks[refs[k]->offset].offset;
    }
    psim_free(placed);
}

enum psim_status pk_plan_make(struct pk_context *context, const struct pk_program *program,
                              enum pk_plan_kind kind, struct pk_plan *plan, struct psim_error *err)
{
    const size_t count = (size_t)program->value_count;
    struct maker m = {.context = context,
                      .program = program,
                      .plan = plan,
                      .err = err,
                      .graph = kind == PK_PLAN_FORWARD_GRAPH || kind >= PK_PLAN_INVERSE_GRAPH,
                      .inference = kind == PK_PLAN_INFERENCE,
                      .inverted = pk_plan_inverts(kind),
                      .places = psim_alloc(count, sizeof(*m.places)),
                      .gradients = psim_alloc(count, sizeof(*m.gradients)),
                      .uses = psim_alloc(count, sizeof(*m.uses)),
                      .graph_offsets = psim_alloc(count, sizeof(*m.graph_offsets))};

    *plan = (struct pk_plan){NULL, 0, 0, 0};
    if (m.places == NULL || m.gradients == NULL || m.uses == NULL || m.graph_offsets == NULL) {
        fail_memory(&m);
        goto out;
    }
    lay_graph(&m);
    count_uses(&m);
    if (kind == PK_PLAN_BACKWARD || kind == PK_PLAN_BACKWARD_INVERTED)
        make_backward(&m);
    else if (m.inverted)
        make_inverse(&m);
    else
        make_forward(&m);
    if (m.status == PSIM_OK) {
        for (int i = 0; i < m.block_count; i++)
            m.blocks[i].users = 0;
        find_lives(&m);
    }
    if (m.status == PSIM_OK)
        pack(&m);
out:
    psim_free(m.places);
    psim_free(m.gradients);
    psim_free(m.uses);
    psim_free(m.graph_offsets);
    psim_free(m.blocks);
    return m.status;
}

void pk_plan_release(struct pk_plan *plan)
{
    psim_free(plan->steps);
    *plan = (struct pk_plan){NULL, 0, 0, 0};
}

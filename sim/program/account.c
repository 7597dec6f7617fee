#include "sim/program/account.h"

#include "sim/base/memory.h"

#include <math.h>
#include <string.h>

/* Two changes closer than this are one moment: events that are simultaneous in exact arithmetic
 * differ by rounding, by other amounts in the two engines. */
#define SAME_MOMENT 1e-11

static void settle(struct psim_account *account, int stage)
{
    struct psim_account_stage *s = &account->stages[stage];

    if (!s->dirty)
        return;
    s->dirty = false;
    if (s->total > s->peak_total) {
        s->peak_total = s->total;
        s->peak_s = s->changed_s;
        memcpy(s->peak, s->level, sizeof s->peak);
    }
    if (account->observer != NULL && stage < account->program->shape.stages)
        account->observer(account->observer_user, stage, s->changed_s, s->level);
}

static void change(struct psim_account *account, int stage, enum psim_memory_category category,
                   int64_t bytes, double now_s)
{
    struct psim_account_stage *s = &account->stages[stage];

    if (bytes == 0)
        return;
    if (now_s - s->changed_s > SAME_MOMENT * now_s) {
        settle(account, stage);
        s->changed_s = now_s;
    }
    s->level[category] += bytes;
    s->total += bytes;
    s->dirty = true;
    PSIM_ASSERT(s->level[category] >= 0);
}

enum psim_status psim_account_init(struct psim_account *account, const struct psim_program *program,
                                   struct psim_error *err)
{
    const int stages = program->lanes * program->shape.stages;
    struct psim_account_stage *list = psim_alloc((size_t)stages, sizeof *list);

    if (list == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "account", "out of memory for %d stages", stages);
    *account = (struct psim_account){.program = program, .stages = list};
    for (int j = 0; j < stages && program->accounting == PSIM_ACCOUNTING_FULL; j++) {
        const struct psim_stage *s = &program->places[j];

        change(account, j, PSIM_MEMORY_PARAMETERS, s->parameter_bytes + s->buffer_bytes, 0);
        change(account, j, PSIM_MEMORY_GRADIENTS, s->gradient_bytes, 0);
        change(account, j, PSIM_MEMORY_OPTIMIZER_STATE, s->optimizer_bytes, 0);
        change(account, j, PSIM_MEMORY_WORKSPACE, s->workspace_bytes, 0);
        change(account, j, PSIM_MEMORY_CONTEXT, s->context_bytes, 0);
    }
    return PSIM_OK;
}

void psim_account_release(struct psim_account *account)
{
    psim_free(account->stages);
    account->stages = NULL;
}

static bool full(const struct psim_account *account)
{
    return account->program->accounting == PSIM_ACCOUNTING_FULL;
}

/* Message that `stage` receives: direction 0 from the stage before, 1 from the stage after. */
static int64_t received_bytes(const struct psim_program *program, int stage, int direction)
{
    return direction == 0 ? program->hops[stage - 1].bytes[0] : program->hops[stage].bytes[1];
}

static int64_t sent_bytes(const struct psim_program *program, int stage, int direction)
{
    return direction == 0 ? program->hops[stage].bytes[0] : program->hops[stage - 1].bytes[1];
}

static bool has_next(const struct psim_program *program, int stage)
{
    return psim_program_stage(program, stage) + 1 < program->shape.stages;
}

void psim_account_receive(struct psim_account *account, int stage, int direction, double now_s)
{
    if (full(account))
        change(account, stage, PSIM_MEMORY_COMMUNICATION,
               received_bytes(account->program, stage, direction), now_s);
}

void psim_account_sent(struct psim_account *account, int stage, int direction, double now_s)
{
    if (full(account))
        change(account, stage, PSIM_MEMORY_COMMUNICATION,
               -sent_bytes(account->program, stage, direction), now_s);
}

static enum psim_keep kept(const struct psim_program *program, int stage, int64_t microbatch)
{
    const int local = psim_program_stage(program, stage);

    return program->method->keep(&program->shape, local, program->reversible[local], microbatch);
}

/* Layer outputs on their way through a forward; with a kept graph they are part of it. */
static int64_t forward_work(const struct psim_program *program, int stage, int64_t microbatch)
{
    if (kept(program, stage, microbatch) == PSIM_KEEP_GRAPH)
        return 0;
    return program->places[stage].forward_work_bytes;
}

/* A rebuilt graph; its first operand is not counted again: it is the buffered input, or the
 * rebuilt one that leaves with the gradient. */
static int64_t rebuilt_bytes(const struct psim_program *program, int stage)
{
    const struct psim_stage *s = &program->places[stage];

    return s->recompute_graph_bytes - s->graph_input_bytes;
}

/* The first stage's input comes from the data loader and exists from the start of its forward.  A
 * graph holds its own input only from the end of the forward: until then the receive buffer does.
 */
static void forward_start(struct psim_account *account, int stage, int64_t microbatch, double now_s)
{
    const struct psim_program *program = account->program;
    const struct psim_stage *s = &program->places[stage];
    const int64_t arrived = psim_program_stage(program, stage) == 0 ? 0 : s->input_bytes;

    switch (kept(program, stage, microbatch)) {
    case PSIM_KEEP_GRAPH:
        change(account, stage, PSIM_MEMORY_ACTIVATIONS, s->graph_bytes - s->graph_input_bytes,
               now_s);
        if (arrived == 0)
            change(account, stage, PSIM_MEMORY_COMMUNICATION, s->input_bytes, now_s);
        break;
    case PSIM_KEEP_INPUT:
        change(account, stage, PSIM_MEMORY_INPUTS, s->input_bytes, now_s);
        change(account, stage, PSIM_MEMORY_COMMUNICATION, -arrived, now_s);
        break;
    case PSIM_KEEP_NOTHING:
        change(account, stage, PSIM_MEMORY_COMMUNICATION, s->input_bytes - arrived, now_s);
        break;
    }
    change(account, stage, PSIM_MEMORY_ACTIVATIONS, forward_work(program, stage, microbatch),
           now_s);
    if (has_next(program, stage))
        change(account, stage, PSIM_MEMORY_COMMUNICATION, sent_bytes(program, stage, 0), now_s);
}

static void forward_end(struct psim_account *account, int stage, int64_t microbatch, double now_s)
{
    const struct psim_stage *s = &account->program->places[stage];
    const enum psim_keep keep = kept(account->program, stage, microbatch);

    change(account, stage, PSIM_MEMORY_ACTIVATIONS,
           -forward_work(account->program, stage, microbatch), now_s);
    if (keep == PSIM_KEEP_GRAPH)
        change(account, stage, PSIM_MEMORY_ACTIVATIONS, s->graph_input_bytes, now_s);
    if (keep != PSIM_KEEP_INPUT)
        change(account, stage, PSIM_MEMORY_COMMUNICATION, -s->input_bytes, now_s);
}

static void backward_start(struct psim_account *account, int stage, double now_s)
{
    const struct psim_program *program = account->program;
    const struct psim_stage *s = &program->places[stage];

    change(account, stage, PSIM_MEMORY_ACTIVATIONS, s->backward_work_bytes, now_s);
    if (psim_program_stage(program, stage) > 0)
        change(account, stage, PSIM_MEMORY_COMMUNICATION, sent_bytes(program, stage, 1), now_s);
}

static void backward_end(struct psim_account *account, int stage, int64_t microbatch, double now_s)
{
    const struct psim_program *program = account->program;
    const struct psim_stage *s = &program->places[stage];
    const enum psim_keep keep = kept(program, stage, microbatch);

    change(account, stage, PSIM_MEMORY_ACTIVATIONS, -s->backward_work_bytes, now_s);
    if (keep == PSIM_KEEP_GRAPH)
        change(account, stage, PSIM_MEMORY_ACTIVATIONS, -s->graph_bytes, now_s);
    else
        change(account, stage, PSIM_MEMORY_RECOMPUTE, -rebuilt_bytes(program, stage), now_s);
    if (keep == PSIM_KEEP_INPUT)
        change(account, stage, PSIM_MEMORY_INPUTS, -s->input_bytes, now_s);
    if (has_next(program, stage))
        change(account, stage, PSIM_MEMORY_COMMUNICATION, -received_bytes(program, stage, 1),
               now_s);
}

static void update_start(struct psim_account *account, int stage, double now_s)
{
    struct psim_account_stage *s = &account->stages[stage];

    change(account, stage, PSIM_MEMORY_OPTIMIZER_TRANSIENT,
           account->program->places[stage].optimizer_transient_bytes, now_s);
    if (s->total > s->update_total) {
        s->update_total = s->total;
        s->update_s = now_s;
    }
}

void psim_account_start(struct psim_account *account, int stage, const struct psim_action *action,
                        double now_s)
{
    if (!full(account))
        return;
    if (action->passes & PSIM_FORWARD)
        forward_start(account, stage, action->microbatch, now_s);
    if (action->passes & PSIM_RECONSTRUCT)
        change(account, stage, PSIM_MEMORY_RECOMPUTE, rebuilt_bytes(account->program, stage),
               now_s);
    if (action->passes & PSIM_BACKWARD)
        backward_start(account, stage, now_s);
    if (action->passes & PSIM_UPDATE)
        update_start(account, stage, now_s);
}

void psim_account_end(struct psim_account *account, int stage, const struct psim_action *action,
                      double now_s)
{
    if (!full(account))
        return;
    if (action->passes & PSIM_FORWARD)
        forward_end(account, stage, action->microbatch, now_s);
    if (action->passes & PSIM_BACKWARD)
        backward_end(account, stage, action->microbatch, now_s);
    if (action->passes & PSIM_UPDATE)
        change(account, stage, PSIM_MEMORY_OPTIMIZER_TRANSIENT,
               -account->program->places[stage].optimizer_transient_bytes, now_s);
}

void psim_account_stash(struct psim_account *account, int stage, int versions, double now_s)
{
    if (full(account))
        change(account, stage, PSIM_MEMORY_PARAMETER_VERSIONS,
               versions * account->program->places[stage].parameter_bytes, now_s);
}

/* PETRA Table 3 (docs/model.md eq. 20): model, and what is carried from round to round. */
static void finish_paper(const struct psim_account *account, int stage, int64_t carried,
                         int64_t versions, struct psim_memory_peak *out)
{
    const struct psim_program *program = account->program;
    const struct psim_stage *s = &program->places[stage];
    const bool buffers_all = program->method->keep(&program->shape, 0, true, 0) == PSIM_KEEP_INPUT;

    if (!program->method->paper_memory || program->workload->given) {
        out->bytes = -1;
        return;
    }
    out->by_category[PSIM_MEMORY_PARAMETERS] = s->paper_model_bytes;
    if (buffers_all || s->paper_always_buffers)
        out->by_category[PSIM_MEMORY_INPUTS] = carried * s->paper_input_bytes;
    if (program->stash)
        out->by_category[PSIM_MEMORY_PARAMETER_VERSIONS] =
            (versions - 1) * s->paper_parameter_bytes;
    for (int c = 0; c < PSIM_MEMORY_CATEGORIES; c++)
        out->bytes += out->by_category[c];
    out->reserved_bytes = out->bytes;
}

void psim_account_finish(struct psim_account *account, int stage, double now_s, int64_t carried,
                         int64_t versions, struct psim_memory_peak *out)
{
    const struct psim_stage *s = &account->program->places[stage];
    const struct psim_account_stage *a = &account->stages[stage];
    struct psim_memory_peak peak = {.at_s = now_s, .capacity_bytes = s->memory_bytes};

    if (!full(account)) {
        finish_paper(account, stage, carried, versions, &peak);
    } else {
        /* An endless run is stopped in the middle of a moment; what is open then has not lasted. */
        if (account->program->method->flushes || a->peak_total == 0 ||
            now_s - a->changed_s > SAME_MOMENT * now_s)
            settle(account, stage);
        peak.bytes = a->peak_total;
        peak.at_s = a->peak_s;
        memcpy(peak.by_category, a->peak, sizeof peak.by_category);
        peak.update_bytes = a->update_total;
        peak.update_at_s = a->update_s;
        peak.reserved_bytes =
            peak.bytes +
            (int64_t)ceil(s->fragmentation *
                          (double)(peak.bytes - peak.by_category[PSIM_MEMORY_CONTEXT]));
    }
    *out = peak;
}

/* A program from its input through one block after the other to its messages. */
#include "kernels/net/nodes.h"
#include "sim/base/text.h"

#include <string.h>

#define KINDS_MAX 64

void pk_program_init(struct pk_program *program, const struct pk_stage_spec *spec,
                     const struct pk_shape *input, size_t parameters, size_t statistics,
                     struct psim_error *err)
{
    *program = (struct pk_program){.arena = PSIM_ARENA_INIT,
                                   .err = err,
                                   .n = spec->microbatch,
                                   .epsilon = spec->epsilon,
                                   .momentum = spec->momentum,
                                   .parameter_count = parameters,
                                   .statistics_count = statistics,
                                   .in = {PK_NO_VALUE, PK_NO_VALUE},
                                   .out = {PK_NO_VALUE, PK_NO_VALUE},
                                   .input = *input};
    for (int i = 0; i < input->streams; i++) {
        program->in[i] =
            pk_program_value(program, input->channels, input->height, input->width, input->tokens);
        if (program->in[i] >= 0) {
            program->values[program->in[i]].input = i;
            program->values[program->in[i]].gradient = !spec->input_is_data;
        }
    }
}

void pk_program_release(struct pk_program *program)
{
    psim_free(program->values);
    psim_free(program->nodes);
    psim_free(program->tensors);
    psim_free(program->norms);
    psim_arena_release(&program->arena);
}

const char *pk_block_kind_name(int index)
{
    return pk_block_kind_table[index] == NULL ? NULL : pk_block_kind_table[index]->name;
}

static const struct pk_block_kind *find_kind(struct pk_program *program, const char *name)
{
    const char *names[KINDS_MAX];
    const char *nearest;
    int count = 0;

    for (; pk_block_kind_table[count] != NULL && count < KINDS_MAX; count++) {
        names[count] = pk_block_kind_table[count]->name;
        if (strcmp(names[count], name) == 0)
            return pk_block_kind_table[count];
    }
    nearest = psim_nearest_name(name, names, (size_t)count);
    pk_program_fail(program, PSIM_ERR_NOTFOUND, "kind", "no block is called \"%s\"%s%s%s", name,
                    nearest == NULL ? "" : "; did you mean \"", nearest == NULL ? "" : nearest,
                    nearest == NULL ? "" : "\"?");
    return NULL;
}

void pk_program_block(struct pk_program *program, const struct pk_block_spec *spec,
                      struct pk_block_build *state)
{
    const struct pk_block_kind *kind;

    program->block = psim_arena_text(&program->arena, spec->name, strlen(spec->name));
    program->ordinal = spec->ordinal;
    program->tensor_index = 0;
    program->inversion_counts = false;
    if (program->block == NULL)
        pk_program_fail(program, PSIM_ERR_NOMEM, "memory", "%s", psim_status_text(PSIM_ERR_NOMEM));
    if (program->loss)
        pk_program_fail(program, PSIM_ERR_RANGE, "kind", "nothing may follow the loss");
    kind = find_kind(program, spec->kind);
    if (kind == NULL || program->status != PSIM_OK)
        return;
    state->program = program;
    state->spec = spec;
    state->reversible = false;
    kind->build(state);
}

/* A value may be what leaves on both streams; `output` then is the first of them. */
void pk_program_finish(struct pk_program *program, const struct pk_block_build *state)
{
    if (program->status != PSIM_OK || program->loss)
        return;
    for (int i = state->streams - 1; i >= 0; i--) {
        program->out[i] = state->x[i];
        program->values[state->x[i]].output = i;
    }
    program->output = *pk_program_shape(program, state->x[0]);
    program->output.streams = state->streams;
}

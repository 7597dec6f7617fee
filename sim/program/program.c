#include "sim/program/program.h"

#include "sim/base/memory.h"
#include "sim/program/program_parts.h"

#include <math.h>

const char *const psim_memory_category_names[PSIM_MEMORY_CATEGORIES] = {
#define PSIM_MEMORY_TEXT(name, text) text,
    PSIM_MEMORY_CATEGORY_MAP(PSIM_MEMORY_TEXT)
#undef PSIM_MEMORY_TEXT
};

double psim_program_duration(const struct psim_program *program, int stage, unsigned passes)
{
    const struct psim_stage *s = &program->places[stage];
    double duration = 0;

    if (passes & PSIM_FORWARD)
        duration += s->forward_s;
    if (passes & PSIM_RECONSTRUCT)
        duration += s->reconstruct_s;
    if (passes & PSIM_REFORWARD)
        duration += s->forward_s;
    if (passes & PSIM_BACKWARD)
        duration += s->backward_input_s + s->backward_weight_s;
    if (passes & PSIM_UPDATE)
        duration += s->update_s;
    return duration;
}

double psim_passes_units(unsigned passes)
{
    double units = 0;

    if (passes & PSIM_FORWARD)
        units += 1;
    if (passes & PSIM_RECONSTRUCT)
        units += 1;
    if (passes & PSIM_REFORWARD)
        units += 1;
    if (passes & PSIM_BACKWARD)
        units += 2;
    return units;
}

double psim_program_flop(const struct psim_program *program, int stage, unsigned passes)
{
    const struct psim_stage *s = &program->places[stage];
    double flop = 0;

    if (passes & PSIM_FORWARD)
        flop += s->forward_flop;
    if (passes & PSIM_RECONSTRUCT)
        flop += s->reconstruct_flop;
    if (passes & PSIM_REFORWARD)
        flop += s->forward_flop;
    if (passes & PSIM_BACKWARD)
        flop += s->backward_flop;
    return flop;
}

void psim_program_times(const struct psim_program *program, struct psim_stage_times *times)
{
    for (int j = 0; j < program->shape.stages; j++) {
        const struct psim_stage *s = &program->workload->stages[j];

        times[j] = (struct psim_stage_times){
            .forward = s->forward_s,
            .reconstruct = s->reconstruct_s,
            .backward = s->backward_input_s + s->backward_weight_s,
            .update = s->update_s,
            .concurrency_gain =
                psim_platform_device(program->platform, s->device)->concurrency_gain,
            .reversible = s->reversible,
        };
    }
}

enum psim_status psim_program_build_hops(const struct psim_program *program, int places,
                                         const struct psim_stage *list, struct psim_hop *hops,
                                         struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int q = 0; q + 1 < places && status == PSIM_OK; q++) {
        struct psim_hop *hop = &hops[q];
        const int64_t activation = list[q + 1].input_bytes;

        if ((q + 1) % program->shape.stages == 0)
            continue;
        hop->bytes[0] = activation;
        hop->bytes[1] = program->method->sends_activation_back ? 2 * activation : activation;
        status = psim_platform_route(program->platform, list[q].device, list[q + 1].device,
                                     &hop->route[0], err);
        if (status == PSIM_OK)
            status = psim_platform_route(program->platform, list[q + 1].device, list[q].device,
                                         &hop->route[1], err);
    }
    return status;
}

static enum psim_status check_method(const struct psim_program *program, struct psim_error *err)
{
    struct psim_network_traits traits = {
        .name = program->workload->model_name,
        .stages = program->shape.stages,
        .reversible_blocks = program->workload->reversible_blocks,
    };

    for (int j = 0; j < program->shape.stages; j++)
        traits.reversible_stages += program->reversible[j] ? 1 : 0;
    if (program->method->check == NULL)
        return PSIM_OK;
    return program->method->check(&program->shape, &traits, err);
}

enum psim_status psim_program_build(const struct psim_method *method,
                                    const struct psim_shape *shape,
                                    const struct psim_workload *workload,
                                    const struct psim_platform *platform,
                                    enum psim_accounting accounting, struct psim_program *out,
                                    struct psim_error *err)
{
    const int stages = workload->stage_count;
    struct psim_program program = {
        .method = method,
        .shape = *shape,
        .platform = platform,
        .workload = workload,
        .accounting = accounting,
    };
    enum psim_status status = PSIM_OK;

    program.shape.stages = stages;
    program.shape.streams = workload->reversible_blocks > 0 ? 2 : 1;
    program.lanes = program.replicas = 1;
    program.hops = psim_alloc((size_t)stages, sizeof *program.hops);
    program.places = psim_alloc((size_t)stages, sizeof *program.places);
    program.reversible = psim_alloc((size_t)stages, sizeof *program.reversible);
    if (program.hops == NULL || program.reversible == NULL || program.places == NULL) {
        status =
            psim_fail(err, PSIM_ERR_NOMEM, method->name, "out of memory for %d stages", stages);
        goto out;
    }
    for (int j = 0; j < stages; j++) {
        program.places[j] = workload->stages[j];
        program.reversible[j] = workload->stages[j].reversible;
    }
    program.shape.reversible = program.reversible;
    program.stash = method->stashes_parameters(&program.shape);
    program.overlap =
        method->overlap == NULL ? PSIM_OVERLAP_IDEAL : method->overlap(&program.shape);
    status = check_method(&program, err);
    if (status == PSIM_OK)
        status = psim_program_build_hops(&program, stages, program.places, program.hops, err);
out:
    if (status == PSIM_OK)
        *out = program;
    else
        psim_program_release(&program);
    return status;
}

void psim_program_release(struct psim_program *program)
{
    psim_program_release_flows(program->sync_flows, psim_program_sync_count(program));
    psim_program_release_hops(program->hops, program->lanes * program->shape.stages);
    psim_free(program->sync_first);
    psim_free(program->sync_choices);
    psim_free(program->places);
    psim_free(program->reversible);
    psim_traffic_release(&program->unfolded);
    *program = (struct psim_program){0};
}

void psim_simulation_release(struct psim_simulation *simulation)
{
    psim_free(simulation->stages);
    simulation->stages = NULL;
}

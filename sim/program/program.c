#include "sim/program/program.h"

#include "sim/base/memory.h"

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

/* Ways between the neighbours of every lane. */
static enum psim_status build_hops(const struct psim_program *program, int places,
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
        status = build_hops(&program, stages, program.places, program.hops, err);
out:
    if (status == PSIM_OK)
        *out = program;
    else
        psim_program_release(&program);
    return status;
}

static void release_hops(struct psim_hop *hops, int places)
{
    for (int q = 0; hops != NULL && q < places; q++) {
        psim_route_release(&hops[q].route[0]);
        psim_route_release(&hops[q].route[1]);
    }
    psim_free(hops);
}

static void release_flows(struct psim_sync_flow *flows, int count)
{
    for (int i = 0; flows != NULL && i < count; i++)
        psim_route_release(&flows[i].route);
    psim_free(flows);
}

void psim_program_release(struct psim_program *program)
{
    if (program->sync_first != NULL)
        release_flows(program->sync_flows,
                      program->sync_first[program->shape.stages * program->sync_phases]);
    release_hops(program->hops, program->lanes * program->shape.stages);
    psim_free(program->sync_first);
    psim_free(program->places);
    psim_free(program->reversible);
    *program = (struct psim_program){0};
}

/* What is being built for a replicated program. */
struct replica_parts {
    struct psim_stage *places;
    struct psim_hop *hops;
    struct psim_sync_flow *flows;
    int *first;
    int lanes, phases, count, capacity;
    int *nodes; /* [replicas], of the stage at hand */
};

static enum psim_status add_flow(const struct psim_program *program, struct replica_parts *parts,
                                 int from, int to, const struct psim_collective_flow *flow,
                                 struct psim_error *err)
{
    enum psim_status status;

    if (parts->count == parts->capacity) {
        const int capacity = parts->capacity == 0 ? 64 : 2 * parts->capacity;
        struct psim_sync_flow *flows = psim_realloc(parts->flows, (size_t)capacity, sizeof *flows);

        if (flows == NULL)
            return psim_fail(err, PSIM_ERR_NOMEM, "data_parallel", "out of memory");
        parts->flows = flows;
        parts->capacity = capacity;
    }
    parts->flows[parts->count] = (struct psim_sync_flow){
        .from_device = from, .to_device = to, .bytes = flow->bytes, .messages = flow->messages};
    status =
        psim_platform_route(program->platform, from, to, &parts->flows[parts->count].route, err);
    if (status == PSIM_OK)
        parts->count++;
    return status;
}

/* Flows of one stage in one phase: all of them, or those that touch the first copy. */
static enum psim_status add_phase(const struct psim_program *program,
                                  const struct psim_replication *replication,
                                  const struct psim_group *group, int stage, int phase,
                                  struct replica_parts *parts, struct psim_error *err)
{
    const int stages = program->shape.stages;
    const double bytes = (double)program->places[stage].gradient_bytes;
    enum psim_status status = PSIM_OK;

    for (int r = 0; r < group->ranks && status == PSIM_OK; r++) {
        struct psim_collective_flow flows[PSIM_COLLECTIVE_FLOWS];
        const int count =
            replication->collective->flows(PSIM_ALL_REDUCE, group, bytes, phase, r, flows);

        for (int i = 0; i < count && status == PSIM_OK; i++) {
            if (flows[i].to < 0)
                return psim_fail(err, PSIM_ERR_MODEL, "collective",
                                 "%s reduces in the switch, which a training step cannot do yet",
                                 replication->collective->name);
            if (parts->lanes == 1 && r != 0 && flows[i].to != 0)
                continue;
            status = add_flow(program, parts, replication->devices[r * stages + stage],
                              replication->devices[flows[i].to * stages + stage], &flows[i], err);
        }
    }
    return status;
}

static enum psim_status add_stage_flows(const struct psim_program *program,
                                        const struct psim_replication *replication, int stage,
                                        struct replica_parts *parts, struct psim_error *err)
{
    const struct psim_platform *platform = program->platform;
    const struct psim_group group = {.ranks = replication->replicas, .node = parts->nodes};
    enum psim_status status = PSIM_OK;

    for (int r = 0; r < replication->replicas; r++) {
        const int device = replication->devices[r * program->shape.stages + stage];

        parts->nodes[r] = platform->vertices[platform->devices[device]].node;
    }
    if (!replication->collective->applies(PSIM_ALL_REDUCE, &group))
        return psim_fail(err, PSIM_ERR_MODEL, "collective", "%s does not do this all-reduce",
                         replication->collective->name);
    if (stage == 0) {
        parts->phases = replication->collective->phases(PSIM_ALL_REDUCE, &group);
        parts->first = psim_alloc((size_t)program->shape.stages * (size_t)parts->phases + 1,
                                  sizeof *parts->first);
        if (parts->first == NULL)
            return psim_fail(err, PSIM_ERR_NOMEM, "data_parallel", "out of memory");
    }
    for (int p = 0; p < parts->phases && status == PSIM_OK; p++) {
        status = add_phase(program, replication, &group, stage, p, parts, err);
        parts->first[stage * parts->phases + p + 1] = parts->count;
    }
    return status;
}

enum psim_status psim_program_replicate(struct psim_program *program,
                                        const struct psim_replication *replication,
                                        struct psim_error *err)
{
    const int stages = program->shape.stages;
    const int lanes = replication->folded ? 1 : replication->replicas;
    const int places = lanes * stages;
    struct replica_parts parts = {.lanes = lanes};
    enum psim_status status = PSIM_OK;

    parts.places = psim_alloc((size_t)places, sizeof *parts.places);
    parts.hops = psim_alloc((size_t)places, sizeof *parts.hops);
    parts.nodes = psim_alloc((size_t)replication->replicas, sizeof *parts.nodes);
    if (parts.places == NULL || parts.hops == NULL || parts.nodes == NULL) {
        status = psim_fail(err, PSIM_ERR_NOMEM, "data_parallel", "out of memory");
        goto out;
    }
    for (int q = 0; q < places; q++) {
        parts.places[q] = program->places[q % stages];
        parts.places[q].device = replication->devices[q];
    }
    status = build_hops(program, places, parts.places, parts.hops, err);
    for (int j = 0; j < stages && status == PSIM_OK && replication->replicas > 1; j++)
        status = add_stage_flows(program, replication, j, &parts, err);
out:
    psim_free(parts.nodes);
    if (status != PSIM_OK) {
        release_hops(parts.hops, parts.hops == NULL ? 0 : places);
        release_flows(parts.flows, parts.count);
        psim_free(parts.first);
        psim_free(parts.places);
        return status;
    }
    release_hops(program->hops, program->lanes * stages);
    psim_free(program->places);
    program->hops = parts.hops;
    program->places = parts.places;
    program->lanes = lanes;
    program->replicas = replication->replicas;
    program->sync_flows = parts.flows;
    program->sync_first = parts.first;
    program->sync_phases = parts.phases;
    return PSIM_OK;
}

void psim_simulation_release(struct psim_simulation *simulation)
{
    psim_free(simulation->stages);
    simulation->stages = NULL;
}

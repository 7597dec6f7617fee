/* Copies of a pipeline: their places, their ways, and the messages of their all-reduces. */
#include "sim/base/memory.h"
#include "sim/program/program_parts.h"

void psim_program_release_hops(struct psim_hop *hops, int places)
{
    for (int q = 0; hops != NULL && q < places; q++) {
        psim_route_release(&hops[q].route[0]);
        psim_route_release(&hops[q].route[1]);
    }
    psim_free(hops);
}

void psim_program_release_flows(struct psim_sync_flow *flows, int count)
{
    for (int i = 0; flows != NULL && i < count; i++)
        psim_route_release(&flows[i].route);
    psim_free(flows);
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

/* Flows of one stage in one phase: all of them, or those that the first copy sends. */
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
            if (parts->lanes == 1 && r != 0)
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

static void release_parts(struct replica_parts *parts, int stages)
{
    psim_program_release_hops(parts->hops, parts->hops == NULL ? 0 : parts->lanes * stages);
    psim_program_release_flows(parts->flows, parts->count);
    psim_free(parts->first);
    psim_free(parts->places);
    *parts = (struct replica_parts){0};
}

static enum psim_status build_parts(const struct psim_program *program,
                                    const struct psim_replication *replication, int lanes,
                                    struct replica_parts *out, struct psim_error *err)
{
    const int stages = program->shape.stages;
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
    status = psim_program_build_hops(program, places, parts.places, parts.hops, err);
    for (int j = 0; j < stages && status == PSIM_OK && replication->replicas > 1; j++)
        status = add_stage_flows(program, replication, j, &parts, err);
out:
    psim_free(parts.nodes);
    parts.nodes = NULL;
    if (status != PSIM_OK)
        release_parts(&parts, stages);
    else
        *out = parts;
    return status;
}

/* The program with these copies; it borrows the parts. */
static struct psim_program with_parts(const struct psim_program *program, int replicas,
                                      const struct replica_parts *parts)
{
    struct psim_program out = *program;

    out.hops = parts->hops;
    out.places = parts->places;
    out.lanes = parts->lanes;
    out.replicas = replicas;
    out.sync_flows = parts->flows;
    out.sync_first = parts->first;
    out.sync_phases = parts->phases;
    return out;
}

/* Leaves of all copies the first, over the links that stand for every copy's. */
static enum psim_status fold_parts(const struct psim_program *program,
                                   const struct psim_replication *replication, const int *image,
                                   struct replica_parts *parts, struct psim_error *err)
{
    const struct psim_platform *platform = program->platform;
    enum psim_status status;

    release_parts(parts, program->shape.stages);
    status = build_parts(program, replication, 1, parts, err);
    if (status != PSIM_OK)
        return status;
    for (int j = 0; j + 1 < program->shape.stages; j++) {
        psim_route_fold(platform, image, &parts->hops[j].route[0]);
        psim_route_fold(platform, image, &parts->hops[j].route[1]);
    }
    for (int f = 0; f < parts->count; f++)
        psim_route_fold(platform, image, &parts->flows[f].route);
    return PSIM_OK;
}

enum psim_status psim_program_replicate(struct psim_program *program,
                                        const struct psim_replication *replication,
                                        struct psim_error *err)
{
    const int stages = program->shape.stages;
    struct replica_parts parts = {0};
    struct psim_program all;
    int *image = NULL;
    enum psim_status status = build_parts(program, replication, replication->replicas, &parts, err);

    if (status != PSIM_OK)
        return status;
    all = with_parts(program, replication->replicas, &parts);
    if (replication->folded && replication->replicas > 1)
        status = psim_program_fold(&all, replication->devices, &image, err);
    if (status == PSIM_OK && image != NULL)
        status = fold_parts(program, replication, image, &parts, err);
    psim_free(image);
    if (status != PSIM_OK) {
        release_parts(&parts, stages);
        return status;
    }
    psim_program_release_hops(program->hops, program->lanes * stages);
    psim_free(program->places);
    *program = with_parts(program, replication->replicas, &parts);
    return PSIM_OK;
}

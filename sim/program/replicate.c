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

/* What is being built for a replicated program; flows come part by part. */
struct replica_parts {
    struct psim_stage *places;
    struct psim_hop *hops;
    struct psim_sync_flow *flows;
    int *first;
    struct psim_collective_choice *choices;
    struct psim_traffic unfolded; /* empty until they fold */
    int lanes, phases, count, capacity;
    int *nodes; /* [replicas], of the stage at hand */
};

static enum psim_status no_memory(struct psim_error *err)
{
    return psim_fail(err, PSIM_ERR_NOMEM, "data_parallel", "out of memory");
}

/* One stage's all-reduce. */
struct reduction {
    const struct psim_program *program;
    const struct psim_replication *replication;
    const struct psim_collective_choice *choice;
    struct psim_group group;
    struct psim_collective_terms terms;
    double bytes;
    int stage, phase;
};

static int device_of(const struct reduction *r, int rank)
{
    return r->replication->devices[rank * r->program->shape.stages + r->stage];
}

/* Adds a message whose route is known; takes the route over. */
static enum psim_status push_flow(struct replica_parts *parts, const struct reduction *r,
                                  struct psim_route *route, double bytes, int latencies,
                                  struct psim_error *err)
{
    if (parts->count == parts->capacity) {
        const int capacity = parts->capacity == 0 ? 64 : 2 * parts->capacity;
        struct psim_sync_flow *flows = psim_realloc(parts->flows, (size_t)capacity, sizeof *flows);

        if (flows == NULL) {
            psim_route_release(route);
            return no_memory(err);
        }
        parts->flows = flows;
        parts->capacity = capacity;
    }
    parts->flows[parts->count] =
        (struct psim_sync_flow){.route = *route,
                                .bytes = bytes,
                                .latency_s = latencies * route->latency_s,
                                .part = r->stage * parts->phases + r->phase};
    if (r->terms.measured) {
        parts->flows[parts->count].bytes = bytes * r->terms.byte_factor;
        parts->flows[parts->count].latency_s = r->phase == 0 ? r->terms.base_s : 0;
    }
    parts->count++;
    return PSIM_OK;
}

/* To the switch, which sends as much back: a message crosses two links, of which each of the two
 * flows sees one. */
static enum psim_status add_switch_flows(struct replica_parts *parts, const struct reduction *r,
                                         int rank, const struct psim_collective_flow *flow,
                                         struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int towards = 1; towards >= 0 && status == PSIM_OK; towards--) {
        struct psim_route route;

        status = psim_platform_switch_route(r->program->platform, device_of(r, rank), towards == 1,
                                            &route, err);
        if (status == PSIM_OK)
            status = push_flow(parts, r, &route, flow->bytes, 2 * flow->messages, err);
    }
    return status;
}

static enum psim_status add_flow(struct replica_parts *parts, const struct reduction *r, int rank,
                                 const struct psim_collective_flow *flow, struct psim_error *err)
{
    struct psim_route route;
    enum psim_status status;

    if (flow->to == PSIM_IN_SWITCH)
        return add_switch_flows(parts, r, rank, flow, err);
    status = psim_platform_route(r->program->platform, device_of(r, rank), device_of(r, flow->to),
                                 &route, err);
    if (status != PSIM_OK)
        return status;
    return push_flow(parts, r, &route, flow->bytes, flow->messages, err);
}

static enum psim_status add_phase(struct replica_parts *parts, const struct reduction *r,
                                  struct psim_error *err)
{
    enum psim_status status = PSIM_OK;

    for (int rank = 0; rank < r->group.ranks && status == PSIM_OK; rank++) {
        struct psim_collective_flow flows[PSIM_COLLECTIVE_FLOWS];
        const int count = r->choice->algorithm->flows(PSIM_ALL_REDUCE, &r->group, r->bytes,
                                                      r->phase, rank, flows);

        for (int i = 0; i < count && status == PSIM_OK; i++)
            status = add_flow(parts, r, rank, &flows[i], err);
    }
    return status;
}

/* The reduction of a stage; its group's nodes are in parts->nodes until the next one. */
static struct reduction reduction_of(const struct psim_program *program,
                                     const struct psim_replication *replication,
                                     const struct replica_parts *parts, int stage)
{
    const struct psim_platform *platform = program->platform;
    struct reduction r = {.program = program,
                          .replication = replication,
                          .choice = &parts->choices[stage],
                          .group = {.ranks = replication->replicas, .node = parts->nodes},
                          .bytes = (double)program->places[stage].gradient_bytes,
                          .stage = stage};

    for (int rank = 0; rank < replication->replicas; rank++)
        parts->nodes[rank] = platform->vertices[platform->devices[device_of(&r, rank)]].node;
    r.group.in_switch = r.choice->in_switch;
    return r;
}

/* Settles every stage's algorithm, and with it the number of phases. */
static enum psim_status choose(const struct psim_program *program,
                               const struct psim_replication *replication,
                               struct replica_parts *parts, struct psim_error *err)
{
    const int stages = program->shape.stages;

    parts->choices = psim_alloc((size_t)stages, sizeof *parts->choices);
    if (parts->choices == NULL)
        return no_memory(err);
    for (int j = 0; j < stages; j++) {
        struct reduction r = reduction_of(program, replication, parts, j);
        int phases;

        parts->choices[j] = psim_protocol_choose(replication->protocol, PSIM_ALL_REDUCE, &r.group,
                                                 replication->collective);
        r.group.in_switch = r.choice->in_switch;
        if (!r.choice->algorithm->applies(PSIM_ALL_REDUCE, &r.group))
            return psim_fail(err, PSIM_ERR_MODEL, "collective", "%s does not do this all-reduce",
                             r.choice->algorithm->name);
        phases = r.choice->algorithm->phases(PSIM_ALL_REDUCE, &r.group);
        parts->phases = phases > parts->phases ? phases : parts->phases;
    }
    parts->first = psim_alloc((size_t)stages * (size_t)parts->phases + 1, sizeof *parts->first);
    return parts->first == NULL ? no_memory(err) : PSIM_OK;
}

static enum psim_status add_stage_flows(const struct psim_program *program,
                                        const struct psim_replication *replication, int stage,
                                        struct replica_parts *parts, struct psim_error *err)
{
    struct reduction r = reduction_of(program, replication, parts, stage);
    const int phases = r.choice->algorithm->phases(PSIM_ALL_REDUCE, &r.group);
    enum psim_status status = PSIM_OK;

    r.terms = psim_collective_choice_terms(r.choice, r.group.ranks, r.bytes);
    for (r.phase = 0; r.phase < parts->phases && status == PSIM_OK; r.phase++) {
        if (r.phase < phases)
            status = add_phase(parts, &r, err);
        parts->first[stage * parts->phases + r.phase + 1] = parts->count;
    }
    return status;
}

static void release_parts(struct replica_parts *parts, int stages)
{
    psim_program_release_hops(parts->hops, parts->hops == NULL ? 0 : parts->lanes * stages);
    psim_program_release_flows(parts->flows, parts->count);
    psim_free(parts->first);
    psim_free(parts->places);
    psim_free(parts->choices);
    psim_traffic_release(&parts->unfolded);
    *parts = (struct replica_parts){0};
}

static enum psim_status build_parts(const struct psim_program *program,
                                    const struct psim_replication *replication,
                                    struct replica_parts *out, struct psim_error *err)
{
    const int stages = program->shape.stages;
    const int places = replication->replicas * stages;
    struct replica_parts parts = {.lanes = replication->replicas};
    enum psim_status status = PSIM_OK;

    parts.places = psim_alloc((size_t)places, sizeof *parts.places);
    parts.hops = psim_alloc((size_t)places, sizeof *parts.hops);
    parts.nodes = psim_alloc((size_t)replication->replicas, sizeof *parts.nodes);
    if (parts.places == NULL || parts.hops == NULL || parts.nodes == NULL) {
        status = no_memory(err);
        goto out;
    }
    for (int q = 0; q < places; q++) {
        parts.places[q] = program->places[q % stages];
        parts.places[q].device = replication->devices[q];
    }
    status = psim_program_build_hops(program, places, parts.places, parts.hops, err);
    if (status == PSIM_OK && replication->replicas > 1)
        status = choose(program, replication, &parts, err);
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
static struct psim_program with_parts(const struct psim_program *program,
                                      const struct psim_replication *replication,
                                      const struct replica_parts *parts)
{
    struct psim_program out = *program;

    out.hops = parts->hops;
    out.places = parts->places;
    out.lanes = parts->lanes;
    out.replicas = replication->replicas;
    out.sync_flows = parts->flows;
    out.sync_first = parts->first;
    out.sync_phases = parts->phases;
    out.sync_choices = parts->choices;
    out.sync_not_before = replication->not_before;
    out.unfolded = parts->unfolded;
    return out;
}

/* Closes the ranks of the copies that stay. */
static void keep_copies(struct replica_parts *parts, int stages, const bool *stays)
{
    int kept = 0;

    for (int r = 0; r < parts->lanes; r++) {
        for (int j = 0; j < stages; j++) {
            struct psim_hop *hop = &parts->hops[r * stages + j];

            if (!stays[r]) {
                psim_route_release(&hop->route[0]);
                psim_route_release(&hop->route[1]);
                continue;
            }
            parts->hops[kept * stages + j] = *hop;
            parts->places[kept * stages + j] = parts->places[r * stages + j];
        }
        kept += stays[r] ? 1 : 0;
    }
    parts->lanes = kept;
}

static void keep_flows(struct replica_parts *parts, int stages, const bool *stays)
{
    int kept = 0;

    for (int part = 0, i = 0; part < stages * parts->phases; part++) {
        for (; i < parts->first[part + 1]; i++) {
            if (stays[i])
                parts->flows[kept++] = parts->flows[i];
            else
                psim_route_release(&parts->flows[i].route);
        }
        parts->first[part + 1] = kept;
    }
    parts->count = kept;
}

/* Leaves one copy of each kind, after counting what all of them send. */
static enum psim_status fold_parts(const struct psim_program *program,
                                   const struct psim_replication *replication,
                                   struct replica_parts *parts, struct psim_error *err)
{
    const int stages = program->shape.stages;
    struct psim_program all = with_parts(program, replication, parts);
    bool *copies = psim_alloc((size_t)parts->lanes, sizeof *copies);
    bool *flows = psim_alloc((size_t)parts->count, sizeof *flows);
    enum psim_status status = copies == NULL || flows == NULL ? no_memory(err) : PSIM_OK;

    if (status == PSIM_OK)
        status = psim_program_traffic(&all, &parts->unfolded, err);
    if (status == PSIM_OK)
        status = psim_program_fold(&all, copies, flows, err);
    if (status == PSIM_OK) {
        keep_copies(parts, stages, copies);
        keep_flows(parts, stages, flows);
    }
    psim_free(copies);
    psim_free(flows);
    return status;
}

enum psim_status psim_program_replicate(struct psim_program *program,
                                        const struct psim_replication *replication,
                                        struct psim_error *err)
{
    const int stages = program->shape.stages;
    struct replica_parts parts = {0};
    enum psim_status status = build_parts(program, replication, &parts, err);

    if (status != PSIM_OK)
        return status;
    if (replication->folded && replication->replicas > 1)
        status = fold_parts(program, replication, &parts, err);
    if (status != PSIM_OK) {
        release_parts(&parts, stages);
        return status;
    }
    psim_program_release_hops(program->hops, program->lanes * stages);
    psim_free(program->places);
    *program = with_parts(program, replication, &parts);
    return PSIM_OK;
}

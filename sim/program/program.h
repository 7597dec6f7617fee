/**
 * @file sim/program/program.h
 * A method on stages, as what an engine runs: durations, messages, memory rules.
 *
 * Built from a workload and a method; read by sim/engine.  The order of work is not unrolled: the
 * method's step() generates it, so memory does not grow with the micro-batches simulated.  A
 * program borrows its workload, platform and method, which must outlive it.
 *
 * Does not know: engines, contention, JSON.
 */
#ifndef PSIM_PROGRAM_PROGRAM_H
#define PSIM_PROGRAM_PROGRAM_H

#include "sim/collective/protocol.h"
#include "sim/method/method.h"
#include "sim/platform/conditions.h"
#include "sim/platform/platform.h"
#include "sim/program/result.h"
#include "sim/program/workload.h"

/** Way between a stage and the next one; index 0 is forward, 1 is backward. */
struct psim_hop {
    struct psim_route route[2];
    int64_t bytes[2]; /**< message per micro-batch */
};

/** Data parallelism: copies of the pipeline whose gradients are summed before each update. */
struct psim_replication {
    int replicas;    /**< R >= 1 */
    bool folded;     /**< simulate one copy of each kind, where that is proved to be the same */
    bool not_before; /**< no all-reduce starts before the gradients of every stage are there */
    const struct psim_collective *collective; /**< of the gradients; NULL: psim_protocol_choose's */
    const struct psim_protocol *protocol;     /**< measured curves; NULL: none */
    const int *devices;                       /**< [R][stages], platform devices */
};

/** A message of the gradients' all-reduce. */
struct psim_sync_flow {
    struct psim_route route;
    double bytes;
    double latency_s; /**< before its bytes move: of all rounds, or the measured base latency */
    int part;         /**< stage * sync_phases + phase */
};

/** Bytes that one update sends, of all copies, those too that are not simulated.  Owned. */
struct psim_traffic {
    double *link_bytes;   /**< [platform links]: that cross it, both ways together */
    double *vertex_bytes; /**< [platform vertices]: that arrive there, on their way or at its end */
};

struct psim_program {
    const struct psim_method *method;
    struct psim_shape shape;
    const struct psim_platform *platform;
    const struct psim_workload *workload;
    enum psim_accounting accounting;
    bool stash;                /**< the backward reads its forward's parameters */
    enum psim_overlap overlap; /**< how two actions of one step share a device */
    /** Set by the caller after building; borrowed; NULL: everything runs as its data sheet says. */
    const struct psim_conditions *conditions;
    /** Set by the caller after building: times that the stretch may double in which a steady state
     *  is sought; 0: as many as there are. */
    int looks;
    struct psim_hop *hops; /**< [lanes][stages]; the last of a lane leads nowhere */
    /** Stages of all lanes that are simulated, lane by lane: place = lane * stages + stage.  A lane
     *  is a copy, or stands for several that are alike; lane 0 is or stands for copy 0. */
    struct psim_stage *places; /**< [lanes][stages] */
    int lanes, replicas;
    struct psim_sync_flow
        *sync_flows; /**< of stage s in phase p: from sync_first[s * phases + p] */
    int *sync_first; /**< [stages * sync_phases + 1] */
    int sync_phases; /**< of the stage that has most */
    struct psim_collective_choice *sync_choices; /**< [stages]; NULL: one copy */
    bool sync_not_before; /**< no all-reduce starts before every stage has its gradients */
    bool *reversible;     /**< [stages]; shape.reversible points here */
    /** Counted before copies were folded, whose routes no longer tell; empty where none was. */
    struct psim_traffic unfolded;
};

/**
 * @param[in] shape  accumulation and options as read; stages and reversible are filled in here
 * @return PSIM_OK; PSIM_ERR_NOTFOUND when neighbouring stages cannot reach each other;
 *         PSIM_ERR_MODEL when the method refuses the network; PSIM_ERR_NOMEM
 */
enum psim_status psim_program_build(const struct psim_method *method,
                                    const struct psim_shape *shape,
                                    const struct psim_workload *workload,
                                    const struct psim_platform *platform,
                                    enum psim_accounting accounting, struct psim_program *out,
                                    struct psim_error *err) PSIM_CHECKED;
void psim_program_release(struct psim_program *program);

/**
 * Makes the program one of R copies of its pipeline.
 * @return PSIM_OK; PSIM_ERR_MODEL when the algorithm does not do this group; PSIM_ERR_NOTFOUND
 *         when devices cannot reach each other or have no switch that could reduce; PSIM_ERR_NOMEM.
 * On failure the program is as it was.
 */
enum psim_status psim_program_replicate(struct psim_program *program,
                                        const struct psim_replication *replication,
                                        struct psim_error *err) PSIM_CHECKED;

/**
 * What one update sends over every link and into every host, switch and NIC.
 * @param[out] out  release with psim_traffic_release; untouched on failure
 * @return PSIM_OK; PSIM_ERR_NOMEM
 */
enum psim_status psim_program_traffic(const struct psim_program *program, struct psim_traffic *out,
                                      struct psim_error *err) PSIM_CHECKED;
void psim_traffic_release(struct psim_traffic *traffic);

/** Stage of a place. */
static inline int psim_program_stage(const struct psim_program *program, int place)
{
    return program->lanes == 1 ? place : place % program->shape.stages;
}

/** Messages of all all-reduces of an update. */
static inline int psim_program_sync_count(const struct psim_program *program)
{
    return program->sync_first == NULL
               ? 0
               : program->sync_first[program->shape.stages * program->sync_phases];
}

/** Type of the device of a lane's stage. */
static inline int psim_program_device_type(const struct psim_program *program, int lane, int stage)
{
    const struct psim_platform *platform = program->platform;
    const int place = lane * program->shape.stages + stage;

    return platform->vertices[platform->devices[program->places[place].device]].device_type;
}

/** Seconds that the passes of one action take at a place on an idle device. */
double psim_program_duration(const struct psim_program *program, int stage, unsigned passes);

/** Units of one stage's forward that the passes count as: forward and evaluations 1, backward 2. */
double psim_passes_units(unsigned passes);

/** FLOP of the passes at `stage`; NaN with given costs; an update counts nothing. */
double psim_program_flop(const struct psim_program *program, int stage, unsigned passes);

/** Fills the times that a closed form is computed from, [stages]. */
void psim_program_times(const struct psim_program *program, struct psim_stage_times *times);

#endif

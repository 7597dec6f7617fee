/**
 * @file kernels/net/passes.h
 * Inside of kernels/net: one pass of a program as a list of steps with every operand placed.
 *
 * passes.c makes the list, decides what lies where, and packs what is short-lived into one
 * workspace; steps.c runs it.
 */
#ifndef PK_NET_PASSES_H
#define PK_NET_PASSES_H

#include "kernels/net/nodes.h"

enum pk_area {
    PK_AREA_NONE,
    PK_AREA_WORK,
    PK_AREA_GRAPH,
    PK_AREA_IN, /**< two each, by stream */
    PK_AREA_OUT = PK_AREA_IN + 2,
    PK_AREA_DIN = PK_AREA_OUT + 2,
    PK_AREA_DOUT = PK_AREA_DIN + 2,
    PK_AREAS = PK_AREA_DOUT + 2
};

struct pk_ref {
    int area;
    size_t offset; /**< bytes; while a plan is made, the number of a block in PK_AREA_WORK */
};

enum pk_step_kind {
    PK_STEP_FORWARD,
    PK_STEP_INFER,  /**< a norm with running statistics */
    PK_STEP_WEIGHT, /**< gradient of weights */
    PK_STEP_DATA,   /**< gradient of the operand `part`; norms: and of their parameters */
    PK_STEP_COPY,   /**< x[0] -> y[0] */
    PK_STEP_SUM,    /**< y[0] = x[0] + x[1] */
    PK_STEP_CLEAR,  /**< y[0] = 0 */
};

struct pk_step {
    enum pk_step_kind kind;
    const struct pk_node *node;
    struct pk_ref x[2], y[2], base, aux[2], dy[2], dx;
    int part;
    float sign; /**< of f in base + sign f */
    bool accumulate;
    size_t bytes; /**< of a copy, sum or clearing */
    struct pk_ref work;
    size_t work_bytes;
};

enum pk_plan_kind {
    PK_PLAN_FORWARD,
    PK_PLAN_FORWARD_GRAPH,
    PK_PLAN_INFERENCE,
    PK_PLAN_INVERSE,
    PK_PLAN_INVERSE_GRAPH,
    PK_PLAN_BACKWARD,          /**< from the graph of FORWARD_GRAPH */
    PK_PLAN_BACKWARD_INVERTED, /**< from that of INVERSE_GRAPH */
    PK_PLANS
};

struct pk_plan {
    struct pk_step *steps;
    int step_count;
    size_t work_bytes, graph_bytes;
};

/** Where the areas are for one run. */
struct pk_run {
    struct pk_context *context;
    const struct pk_program *program;
    char *areas[PK_AREAS];
    const float *parameters;
    float *gradients;
    float *running; /**< NULL: not updated */
    bool inversion; /**< only nodes whose inversion counts update */
    const int32_t *labels;
    float *loss;
    int32_t *predicted;
};

/** Whether only reversible blocks have a plan of this kind. */
static inline bool pk_plan_inverts(enum pk_plan_kind kind)
{
    return kind == PK_PLAN_INVERSE || kind == PK_PLAN_INVERSE_GRAPH ||
           kind == PK_PLAN_BACKWARD_INVERTED;
}

/**
 * Plans one pass of a whole program, for the workspaces that the backend of `context` asks.
 *
 * @param[in]  program  finished; must outlive the plan, whose steps point to its nodes
 * @param[out] plan     overwritten; released with pk_plan_release, also after a failure
 * @return PSIM_OK or PSIM_ERR_NOMEM
 */
enum psim_status pk_plan_make(struct pk_context *context, const struct pk_program *program,
                              enum pk_plan_kind kind, struct pk_plan *plan,
                              struct psim_error *err) PSIM_CHECKED;
void pk_plan_release(struct pk_plan *plan);

/** Queues all steps of a plan; `run` names every area that they touch.
 *  @return PSIM_OK, or what the first step that fails returns (pk_X, copy and clear of pk.h) */
enum psim_status pk_plan_run(const struct pk_plan *plan, const struct pk_run *run,
                             struct psim_error *err) PSIM_CHECKED;

/** Bytes of scratch that one step's operation asks of the backend; of several, the most. */
size_t pk_step_workspace(struct pk_context *context, const struct pk_program *program,
                         const struct pk_step *step);

#endif

/**
 * @file sim/method/common.h
 * What several methods share: options, whole-batch orders, closed-form terms.
 *
 * Called by the files of sim/method/methods only.
 */
#ifndef PSIM_METHOD_COMMON_H
#define PSIM_METHOD_COMMON_H

#include "sim/method/method.h"

extern const struct psim_option psim_option_accumulation;
extern const struct psim_option psim_option_overlap;
extern const struct psim_option psim_option_stash_parameters;

/** One step with one action. */
void psim_step_single(struct psim_step *out, int64_t microbatch, unsigned passes);

/** Step of a chain that runs one micro-batch at a time: forward, backward half, ..., update. */
bool psim_chain_step(const struct psim_shape *shape, int64_t index, unsigned backward,
                     struct psim_step *out);

/** No method-specific stash: the backward reads the current parameters. */
bool psim_stashes_never(const struct psim_shape *shape);

/** The whole graph is kept. */
enum psim_keep psim_keep_graph(const struct psim_shape *shape, int stage, bool reversible,
                               int64_t microbatch);

/** Sum over stages of forward + backward. */
double psim_times_sum(const struct psim_shape *shape, const struct psim_stage_times *times);

/**
 * How much longer than the last backward a flushed step lasts: the backwards end from the last
 * stage to the first, each stage updates after its own.
 * @param[in] rebuilds  the backward half begins with one more evaluation
 */
double psim_times_update_tail(const struct psim_shape *shape, const struct psim_stage_times *times,
                              bool rebuilds);

/** True when all stages take the same times, to rounding. */
bool psim_times_uniform(const struct psim_shape *shape, const struct psim_stage_times *times);

/** Fills the communication claim: every stream each way, twice backward when the activation
 *  travels back with the gradient. */
void psim_closed_communication(const struct psim_shape *shape, bool sends_activation_back,
                               struct psim_closed_form *out);

/** FLOP units of one micro-batch: forward 1 and backward 2 on every stage, plus `extra`. */
double psim_closed_flop(const struct psim_shape *shape, double extra);

/** Writes "17 FG", "0", ... */
void psim_closed_copies(char text[24], int64_t count, const char *unit);

/** PSIM_ERR_MODEL unless the net has a reversible block. */
enum psim_status psim_check_reversible(const struct psim_shape *shape,
                                       const struct psim_network_traits *traits,
                                       struct psim_error *err);

/** The shared option's value, by position in psim_round_options. */
enum psim_overlap psim_rounds_overlap(const struct psim_shape *shape);

/*
 * Round methods (docs/model.md section "Rounds"): options[0] is accumulation, options[1] overlap,
 * options[2], where there is one, stash_parameters.
 */

/** options[2] of the methods that have psim_option_stash_parameters there. */
bool psim_rounds_stashes(const struct psim_shape *shape);

/** Graph at the last stage, whose backward follows its forward at once; `otherwise` elsewhere. */
enum psim_keep psim_rounds_keep(const struct psim_shape *shape, int stage,
                                enum psim_keep otherwise);

/** Versions at the first stage, the current one included: 1 + ceil(2 (J - 1) / k) when stashed. */
int64_t psim_rounds_versions(const struct psim_shape *shape, bool stashed);

/** Rounds between a micro-batch's forward and its backward: 2 (J - 1 - stage). */
int64_t psim_rounds_delay(const struct psim_shape *shape, int stage);

/**
 * Step `index` of a stage: round t is the forward of micro-batch t and, once t >= delay, the
 * backward of t - delay; every k-th backward is followed by an update.  The last stage, and every
 * stage with overlap serial, runs the halves one after the other.
 * @param[in] backward  passes of the backward half of a stage that is not the last
 */
bool psim_rounds_step(const struct psim_shape *shape, int stage, int64_t index, unsigned backward,
                      struct psim_step *out);

/**
 * Time per micro-batch of a round pipeline without communication (docs/model.md eq. 12).
 * @param[in] rebuild  R_j / what the backward half does beside the backward itself: 0 nothing,
 *                     1 one evaluation, 2 inversion and a second forward on reversible stages
 */
double psim_rounds_time(const struct psim_shape *shape, const struct psim_stage_times *times,
                        int rebuild);

#endif

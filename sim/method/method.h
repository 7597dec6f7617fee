/**
 * @file sim/method/method.h
 * A training method: the order of passes at each stage, and what it keeps between them.
 *
 * One method is one file of this folder, which defines
 * `const struct psim_method psim_method_<file name>`; the table is generated from the file names.
 * A method declares only the order of computation, what is kept, which parameters the backward
 * reads and when an update is due.  Sends, receives, memory events, staleness and parameter
 * versions follow from that and are derived by sim/program for all methods alike.
 *
 * Stages are counted from 0 here (the papers count from 1).  Functions are pure and thread-safe.
 * Does not know: networks, devices, seconds other than those handed to closed_form.
 */
#ifndef PSIM_METHOD_METHOD_H
#define PSIM_METHOD_METHOD_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/** Passes of one action, run back to back on one stream, in this order. */
enum psim_pass {
    PSIM_FORWARD = 1 << 0, /**< sends the stage's output */
    PSIM_RECONSTRUCT =
        1 << 1,              /**< one evaluation of the residual function, which rebuilds the input
                                  (reversible stage) or the graph (recompute from a kept input) */
    PSIM_REFORWARD = 1 << 2, /**< a second evaluation, by methods that invert first and build the
                                  graph afterwards */
    PSIM_BACKWARD = 1 << 3,  /**< input and weight gradients; sends the gradient */
    PSIM_UPDATE = 1 << 4,    /**< optimizer step with what was accumulated; microbatch is -1 */
};

/** Work on one stream of one stage. */
struct psim_action {
    int64_t microbatch;
    unsigned passes; /**< enum psim_pass, or-ed */
};

/** Actions that may run side by side; the stage's next step starts once all of them are done. */
struct psim_step {
    int count; /**< 1 or 2 */
    struct psim_action actions[2];
};

/** What the forward of a micro-batch leaves for its backward. */
enum psim_keep { PSIM_KEEP_NOTHING, PSIM_KEEP_INPUT, PSIM_KEEP_GRAPH };

/** How two actions of one step share a device. */
enum psim_overlap { PSIM_OVERLAP_IDEAL, PSIM_OVERLAP_SHARED, PSIM_OVERLAP_SERIAL };

enum psim_option_kind { PSIM_OPTION_CHOICE, PSIM_OPTION_BOOL, PSIM_OPTION_COUNT };

/** One option of a method, as files spell it. */
struct psim_option {
    const char *name;
    enum psim_option_kind kind;
    const char *const *choices; /**< CHOICE: NULL-ended; the value is the index */
    int64_t minimum, maximum;   /**< COUNT */
    int64_t fallback; /**< value when the file does not say; PSIM_FROM_BATCH: the batch's */
    const char *help;
};

/** The option defaults to batch.accumulation. */
#define PSIM_FROM_BATCH     INT64_C(-1)
#define PSIM_METHOD_OPTIONS 8

/** What a method is asked about. */
struct psim_shape {
    int stages;                           /**< J >= 1 */
    int64_t accumulation;                 /**< micro-batches per optimizer step, >= 1 */
    int64_t options[PSIM_METHOD_OPTIONS]; /**< in the order of the method's table */
    const bool *reversible;               /**< [stages]; NULL: none is */
    int streams;                          /**< of the net: 2 if it is reversible, else 1 */
};

/** What the network looks like to a method, for check(). */
struct psim_network_traits {
    const char *name;
    int stages;
    int reversible_stages;
    int reversible_blocks;
};

/** Times of one stage for one micro-batch, in any one unit. */
struct psim_stage_times {
    double forward, reconstruct, backward, update;
    double concurrency_gain; /**< g of the stage's device, in [0, 1] */
    bool reversible;
};

/** What the source of a method claims; NaN where it claims nothing. */
struct psim_closed_form {
    double time_per_microbatch; /**< in the unit of the times handed in */
    double flop_units;          /**< per micro-batch, one forward of one stage = 1, backward = 2 */
    double communication_forward; /**< streams of one boundary activation per micro-batch */
    double communication_backward;
    char activation_copies[24]; /**< at the first stage: "17 FG", "0" */
    char parameter_copies[24];  /**< at the first stage: "1", "18" */
};

struct psim_method {
    const char *name;                         /**< as written in a scenario */
    const char *summary;                      /**< one line for `list methods` */
    const char *source;                       /**< doi or arXiv number + place */
    const struct psim_option *const *options; /**< NULL-ended; at most PSIM_METHOD_OPTIONS */
    /** true: all stages wait for the slowest at the end of an optimizer step, one step is
     *  simulated; false: endless, the steady state is measured. */
    bool flushes;
    /** true: one update a micro-batch whatever the accumulation (PipeDream). */
    bool updates_every_microbatch;
    /** true: the backward message also carries the activation (both streams). */
    bool sends_activation_back;
    /** Can it run on this network?  NULL: on any. */
    enum psim_status (*check)(const struct psim_shape *, const struct psim_network_traits *,
                              struct psim_error *);
    /** Step `index` of a stage; false after the last one of a flushed step. */
    bool (*step)(const struct psim_shape *, int stage, int64_t index, struct psim_step *);
    enum psim_keep (*keep)(const struct psim_shape *, int stage, bool reversible,
                           int64_t microbatch);
    /** true: the backward reads the parameters that its micro-batch's forward read. */
    bool (*stashes_parameters)(const struct psim_shape *);
    enum psim_overlap (*overlap)(const struct psim_shape *); /**< NULL: one action a step */
    /** `times` has shape->stages entries. */
    void (*closed_form)(const struct psim_shape *, const struct psim_stage_times *times,
                        struct psim_closed_form *);
    /** Does the published memory formula (PETRA Table 3) cover this method? */
    bool paper_memory;
};

/** All methods, by name; NULL at the end. */
extern const struct psim_method *const psim_method_table[];

/** NULL when there is none of that name. */
const struct psim_method *psim_method_find(const char *name);

/** Sets accumulation and every option of the method to its default; the rest is left as it is. */
void psim_method_defaults(const struct psim_method *method, int64_t accumulation,
                          struct psim_shape *shape);

/** Sets the accumulation of a shape, and the method's option of that name where it has one. */
void psim_method_set_accumulation(const struct psim_method *method, int64_t accumulation,
                                  struct psim_shape *shape);

/** Value of an option by its name; PSIM_BUG if the method has no such option. */
int64_t psim_method_option(const struct psim_method *method, const struct psim_shape *shape,
                           const char *name);

#endif

/**
 * @file tests/support/pipeline.h
 * Pipelines made in a test: stages with given times on a chain of links of their own.
 */
#ifndef PSIM_TESTS_SUPPORT_PIPELINE_H
#define PSIM_TESTS_SUPPORT_PIPELINE_H

#include "sim/engine/engine.h"

/** What a test says of a pipeline; arrays are [stages]. */
struct test_stage {
    double forward, reconstruct, backward, update;
    int64_t message; /**< bytes received in the forward direction */
    bool reversible;
};

struct test_pipeline {
    struct psim_platform platform;
    struct psim_workload workload;
    double gain;
    const struct psim_conditions *conditions; /**< borrowed; NULL: none */
};

/** Stages on a chain; every neighbour pair has its own duplex link. */
void test_pipeline_init(struct test_pipeline *pipeline, const struct test_stage *stages, int count,
                        double bandwidth_bytes_per_s, double latency_s, double gain);

/** f = 1, r = 1, b = 2, no update time, no messages to speak of: bytes take no time. */
void test_pipeline_unit(struct test_pipeline *pipeline, int stages, bool reversible);

/** The same workload on a platform of the caller's (taken over), stage j on device placement[j]. */
void test_pipeline_place(struct test_pipeline *pipeline, struct psim_platform *platform,
                         const int *placement);

void test_pipeline_release(struct test_pipeline *pipeline);

/** Shape of a method with its default options and this accumulation. */
struct psim_shape test_shape(const struct psim_method *method, int64_t accumulation);

/** Sets an option by name: a choice or number as text. */
void test_set(const struct psim_method *method, struct psim_shape *shape, const char *option,
              const char *value);

/** Runs and fails the test on any error; in a child if the engine needs one. */
struct psim_simulation test_run(const struct test_pipeline *pipeline,
                                const struct psim_method *method, const struct psim_shape *shape,
                                const struct psim_engine *engine);

/** One action or transfer as observed. */
struct test_event {
    int stage;       /**< or hop */
    int direction;   /**< transfers: 0 forward, 1 back; actions: -1 */
    unsigned passes; /**< actions */
    int64_t microbatch;
    double start_s, end_s;
};

struct test_log {
    int count, capacity;
    struct test_event events[];
};

/** Runs with every action and transfer logged; release with test_log_free. */
struct test_log *test_run_logged(const struct test_pipeline *pipeline,
                                 const struct psim_method *method, const struct psim_shape *shape,
                                 const struct psim_engine *engine, int capacity);
void test_log_free(struct test_log *log);

/** The first event with this description; fails the test when there is none.
 *  passes 0: a transfer. */
const struct test_event *test_log_find(const struct test_log *log, int stage, int direction,
                                       unsigned passes, int64_t microbatch);

#endif

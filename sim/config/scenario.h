/**
 * @file sim/config/scenario.h
 * A scenario as typed data: everything a comparison needs, checked.
 *
 * Filled by psim_scenario_read from a scenario/1 file and the platform, device and model files
 * that it names; read by sim/cli, which hands its parts to sim/program.  A scenario owns
 * everything it points to.
 */
#ifndef PSIM_CONFIG_SCENARIO_H
#define PSIM_CONFIG_SCENARIO_H

#include "sim/base/diagnostics.h"
#include "sim/collective/protocol.h"
#include "sim/method/method.h"
#include "sim/model/spec.h"
#include "sim/platform/conditions.h"
#include "sim/platform/platform.h"

/** Where the catalogues lie: platforms/devices and platforms/clusters under this folder. */
struct psim_catalogue {
    const char *root; /**< the project's `platforms` folder */
};

struct psim_scenario_method {
    const struct psim_method *method;
    const char *label;                       /**< unique */
    struct psim_shape shape;                 /**< stages is 0 until the partition is known */
    const struct psim_workload_model *model; /**< the entry's own, else the scenario's */
    struct psim_position position;           /**< of the entry, for faults found later */
    const char *path;                        /**< ".methods[3]" */
};

enum psim_engine_kind { PSIM_ENGINE_SIMGRID, PSIM_ENGINE_REPLAY };
extern const char *const psim_engine_names[]; /* "simgrid", "replay", NULL */

/** Copies of the pipeline whose gradients are summed before each update. */
struct psim_data_parallel {
    int replicas;           /**< 1: none */
    int devices_per_stage;  /**< a stage is spread evenly over so many neighbouring devices: its
                                 messages, gradients and memory are divided by it */
    bool stages_first;      /**< copy after copy, else stage after stage */
    bool fold;              /**< simulate one copy of each kind */
    bool overlap;           /**< a stage's all-reduce waits for its own gradients alone */
    const char *collective; /**< algorithm of the gradients' all-reduce; NULL: automatic */
};

struct psim_scenario {
    struct psim_arena arena;
    const char *file;
    const struct psim_workload_model *model;
    struct psim_platform platform;
    const char *platform_file;
    struct psim_scenario_method *methods;
    int method_count;
    struct psim_workload_options
        workload; /**< micro-batch, precision, optimizer, partition, placement */
    int64_t accumulation;
    int64_t epoch_samples;     /**< samples of one epoch; 0: not given */
    int64_t tokens_per_sample; /**< 0: not given */
    enum psim_engine_kind engine;
    enum psim_accounting accounting;
    const char *baseline; /**< a label; resolved: never NULL */
    uint64_t seed;
    const struct psim_conditions *conditions; /**< NULL: none */
    struct psim_data_parallel data_parallel;
    struct psim_protocol protocol; /**< measured collectives of the platform; none with one copy */
    bool memory_fail;              /**< "memory_check": "fail" */
    char inputs_sha256[65];        /**< over all files read, in the order of reading */
    /* Positions of keys that later checks may have to point at. */
    struct psim_position platform_position, partition_position, placement_position;
    struct psim_model_entry *model_entries; /**< private to sim/config */
};

/**
 * Reads and checks a scenario and every file it names.  All faults are reported, not the first.
 *
 * @param[in]     file  path; "-" is not special
 * @param[in]     catalogue  for `catalogue` devices; NULL: none
 * @param[out]    out   untouched unless the call succeeds; release with psim_scenario_release
 * @param[in,out] list  receives errors and warnings
 * @return PSIM_OK, or the status of the first error
 */
enum psim_status psim_scenario_read(const char *file, const struct psim_catalogue *catalogue,
                                    struct psim_scenario *out,
                                    struct psim_diagnostics *list) PSIM_CHECKED;
void psim_scenario_release(struct psim_scenario *scenario);

/** Reads a platform/1 file and the devices it names. */
enum psim_status psim_platform_read(const char *file, const struct psim_catalogue *catalogue,
                                    struct psim_platform *out,
                                    struct psim_diagnostics *list) PSIM_CHECKED;

/** Reads a device/1 file; texts go to the arena. */
enum psim_status psim_device_read(const char *file, struct psim_arena *arena,
                                  struct psim_device *out,
                                  struct psim_diagnostics *list) PSIM_CHECKED;

/** Reads a model/1 file. */
enum psim_status psim_network_read(const char *file, struct psim_network *out,
                                   struct psim_diagnostics *list) PSIM_CHECKED;

/** Reads a collectives/1 file; curves and texts go to the arena. */
enum psim_status psim_collectives_read(const char *file, struct psim_arena *arena,
                                       struct psim_protocol *out,
                                       struct psim_diagnostics *list) PSIM_CHECKED;

/** The curves of all collectives/1 files of the catalogue that name a platform; there may be none.
 *  They and their texts go to the arena. */
enum psim_status psim_catalogue_find_collectives(const struct psim_catalogue *catalogue,
                                                 const char *platform, struct psim_arena *arena,
                                                 struct psim_protocol *out,
                                                 struct psim_diagnostics *list) PSIM_CHECKED;

/** Reads any of the kinds, whatever its first key says it is, and only checks it.
 *  @param[out] kind  "scenario", "platform", ...; static text */
enum psim_status psim_file_check(const char *file, const struct psim_catalogue *catalogue,
                                 const char **kind, struct psim_diagnostics *list) PSIM_CHECKED;

/** Finds a catalogue device by name or alias (case matters not); PSIM_ERR_NOTFOUND names the
 *  nearest. The text *file goes to the arena. */
enum psim_status psim_catalogue_find_device(const struct psim_catalogue *catalogue,
                                            const char *name, struct psim_arena *arena,
                                            const char **file, struct psim_error *err) PSIM_CHECKED;

/** Sorted names of the entries of a catalogue folder ("devices" or "clusters"), file names without
 *  ".json"; NULL-ended; in the arena. */
enum psim_status psim_catalogue_list(const struct psim_catalogue *catalogue, const char *folder,
                                     struct psim_arena *arena, const char *const **names,
                                     int *count, struct psim_error *err) PSIM_CHECKED;

#endif

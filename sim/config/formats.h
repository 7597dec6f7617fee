/**
 * @file sim/config/formats.h
 * One function for each kind of file: from the root of its document to a typed struct.
 *
 * Private to sim/config.  Each takes the root that psim_reader_open returned, reports every fault
 * through the reader, and returns true when the struct was filled; when false there is nothing to
 * release.  Texts and arrays lie in the reader's arena.
 */
#ifndef PSIM_CONFIG_FORMATS_H
#define PSIM_CONFIG_FORMATS_H

#include "sim/config/axes.h"
#include "sim/config/reader.h"
#include "sim/config/scenario.h"

bool psim_read_device(struct psim_reader *reader, const struct psim_node *root,
                      struct psim_device *out);

/**
 * Finds a catalogue device as psim_catalogue_find_device does.
 * @param[out] nearest  the name or alias that may be meant, in the arena, or NULL
 * @return PSIM_OK; PSIM_ERR_NOTFOUND; PSIM_ERR_IO; PSIM_ERR_NOMEM
 */
enum psim_status psim_catalogue_search_device(const struct psim_catalogue *catalogue,
                                              const char *name, struct psim_arena *arena,
                                              const char **file, const char **nearest) PSIM_CHECKED;

/** The device of a catalogue entry that a text node names; NULL when an error was reported. */
const struct psim_device *psim_read_catalogue_device(struct psim_reader *reader,
                                                     const struct psim_node *name);

/** The device of a file that a text node names; NULL when an error was reported. */
const struct psim_device *psim_read_device_file(struct psim_reader *reader,
                                                const struct psim_node *path);

/** The power of a link, switch, NIC or short form; leaves *out as it was when an error was
 * reported. */
void psim_read_power(struct psim_reader *reader, const struct psim_node *object,
                     struct psim_power *out);

/** The price of a device or node; leaves *out as it was when an error was reported. */
void psim_read_price(struct psim_reader *reader, const struct psim_node *object,
                     struct psim_price *out);

/** With reader->arena NULL, texts go to the platform's own arena. */
bool psim_read_platform(struct psim_reader *reader, const struct psim_node *root,
                        struct psim_platform *out);

bool psim_read_network(struct psim_reader *reader, const struct psim_node *root,
                       struct psim_network *out);

bool psim_read_collectives(struct psim_reader *reader, const struct psim_node *root,
                           struct psim_protocol *out);

/** The curves of the catalogue's files that name a platform, read as inputs of the file at hand;
 *  none without a catalogue.  A fault is reported, as one of `node` where a file has it. */
void psim_read_catalogue_collectives(struct psim_reader *reader, const struct psim_node *node,
                                     const char *platform, struct psim_protocol *out);

bool psim_read_scenario(struct psim_reader *reader, const struct psim_node *root,
                        struct psim_scenario *out);

/** What a sweep/1 file says, and every value of it tried; the sweep is to be released even when
 *  something was wrong with it. */
void psim_read_sweep(struct psim_reader *reader, const struct psim_node *root,
                     struct psim_sweep *out);

/** "input": [channels, height, width].  @return false when an error was reported */
bool psim_read_input(struct psim_reader *reader, const struct psim_node *list, int out[3]);

/** A model that a scenario or one of its methods names, and the network that it may own. */
struct psim_model_entry {
    struct psim_model_entry *next;
    const struct psim_node *root; /**< of the file, NULL for a catalogue name and given stages */
    struct psim_workload_model model;
    struct psim_network network; /**< to be released when model.network points to it */
};

/**
 * The model of a scenario or of one of its methods: a catalogue name, a file, or given stages.
 * It is an entry of scenario->model_entries, which own the networks.
 * @return NULL when an error was reported
 */
const struct psim_workload_model *psim_read_model(struct psim_reader *reader,
                                                  const struct psim_node *node,
                                                  struct psim_scenario *scenario);

/** True when a text node names a network of the catalogue; else an error was reported. */
bool psim_read_known_network(struct psim_reader *reader, const struct psim_node *node);

/** A network of the catalogue as an entry of scenario->model_entries; NULL when an error was
 *  reported, at `node`. */
const struct psim_workload_model *
psim_read_catalogue_network(struct psim_reader *reader, const struct psim_node *node,
                            struct psim_scenario *scenario, const char *name, const int input[3],
                            int classes, const struct psim_network_scale *scale);

struct psim_goal;
bool psim_read_goal(struct psim_reader *reader, const struct psim_node *root,
                    struct psim_goal *out);

/** The platform that a text node names, by a path or a name of the catalogue.
 *  @return its file; NULL when it could not be had, and an error was reported */
const char *psim_read_platform_named(struct psim_reader *reader, const struct psim_node *node,
                                     struct psim_platform *out);

/** The list of methods; batch.accumulation must be known.  Labels are unique afterwards. */
void psim_read_methods(struct psim_reader *reader, const struct psim_node *list,
                       struct psim_scenario *scenario);

/** "data_parallel" of a scenario whose platform and placement were read; it sets the placement. */
void psim_read_data_parallel(struct psim_reader *reader, const struct psim_node *object,
                             struct psim_scenario *scenario);

/** "conditions" of a scenario on a platform that was read; NULL when memory is out. */
const struct psim_conditions *psim_read_conditions(struct psim_reader *reader,
                                                   const struct psim_node *object,
                                                   const struct psim_platform *platform,
                                                   uint64_t seed);

/** The device of a stage, an index into the platform's devices. */
int psim_scenario_device(const struct psim_scenario *scenario, int stage);

/** What can be checked of a scenario without simulating it.  Platform, partition and placement must
 *  be sound; methods that are not are left out.
 *  @param[in] root  for the places of what is wrong */
void psim_check_scenario(struct psim_reader *reader, const struct psim_node *root,
                         const struct psim_scenario *scenario);

#endif

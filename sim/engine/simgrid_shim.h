/**
 * @file sim/engine/simgrid_shim.h
 * The one door to SimGrid: platform building, timers and flows, without actors.
 *
 * Called by simgrid.c, flows.c and fabric.c, in a process that runs one simulation and ends:
 * SimGrid's state is once per process.  Nothing here throws; what SimGrid refuses by aborting ends
 * the process.
 * Links are built without latency, so that flows share them equally (docs/model.md eq. 2).
 */
#ifndef PSIM_ENGINE_SIMGRID_SHIM_H
#define PSIM_ENGINE_SIMGRID_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Called at the simulated moment at which something that was started ends. */
typedef void psim_shim_complete(void *user, uint64_t token);

/** Opens the engine with an empty platform; false (with a text) when SimGrid refuses. */
bool psim_shim_open(psim_shim_complete *complete, void *user, const char **why);

/** Host with one core of `speed` work per second; returns its number, from 0. */
int psim_shim_add_host(const char *name, double speed);

/** Link without latency; `duplex`: each direction has the whole bandwidth. */
int psim_shim_add_link(const char *name, double bandwidth_bytes_per_s, bool duplex);

/** One-way route; `forward[i]` is the direction in which link i is crossed. */
void psim_shim_add_route(int from, int to, const int *links, const bool *forward, int count);

/**
 * A one-way route between two hosts of its own, for messages that need no host to run on; returns
 * the number of the sending one, the receiving one's is one more.  These hosts lie in zones of a
 * bounded size, so that any number of ways takes memory in proportion.
 */
int psim_shim_add_way(const int *links, const bool *forward, int count);

/** No hosts and links after this. */
void psim_shim_seal(void);

/** Seconds since the start. */
double psim_shim_now(void);

/** Completes after `delay_s` > 0. */
void psim_shim_timer(double delay_s, uint64_t token);

/** A message: `latency_s`, then a flow of `bytes` > 0 over the route. */
void psim_shim_flow(int from, int to, double latency_s, uint64_t bytes, uint64_t token);

/** A link's bandwidth from now on, for flows under way too; each direction's if it is duplex. */
void psim_shim_set_bandwidth(int link, double bandwidth_bytes_per_s);

/** Runs until nothing is left or psim_shim_stop was called; false (with a text) on an exception. */
bool psim_shim_run(const char **why);

/** No further completion is reported. */
void psim_shim_stop(void);

/** "3.32"; needs no open engine. */
const char *psim_shim_version(void);

#ifdef __cplusplus
}
#endif

#endif

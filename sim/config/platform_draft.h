/**
 * @file sim/config/platform_draft.h
 * A platform while its file is being read: names taken so far and where they lead.
 *
 * Private to sim/config; shared by read_platform.c (free graphs, the whole), read_nodes.c (short
 * forms) and read_parameters.c (topologies of short forms).
 */
#ifndef PSIM_CONFIG_PLATFORM_DRAFT_H
#define PSIM_CONFIG_PLATFORM_DRAFT_H

#include "sim/config/name_set.h"
#include "sim/config/reader.h"
#include "sim/platform/platform.h"

#define PSIM_PLATFORM_DEVICES 65536 /* limit of one platform */

/** Values of names that are no vertex: of a link, and of a vertex that could not be built. */
enum { PSIM_NAME_FAULTY = -1, PSIM_NAME_LINK = -2 };

struct psim_platform_draft {
    struct psim_reader *reader;
    struct psim_platform *platform;
    struct psim_name_set types;      /**< alias -> type, or PSIM_NAME_FAULTY */
    struct psim_name_set names;      /**< of vertices and links */
    const struct psim_node *network; /**< NULL: none */
    int nodes;                       /**< instances expanded so far */
    int nodes_with_nics;
};

/** The type of a device alias, an index or PSIM_NAME_FAULTY; an unknown one is reported. */
int psim_draft_type(struct psim_platform_draft *draft, const struct psim_node *alias);

/** Takes a name; reports, at a node, one that is already taken. @return true when it was free */
bool psim_draft_take_name(struct psim_platform_draft *draft, const struct psim_node *at,
                          const char *name, int value);

/** Expands the list under "nodes". */
void psim_draft_read_nodes(struct psim_platform_draft *draft, const struct psim_node *list);

/** Reads "network" and adds it between the NICs of the nodes, which have been read. */
void psim_draft_read_network(struct psim_platform_draft *draft);

/** The index of an object's "kind" in a NULL-ended list of names; -1 when a fault was reported. */
int psim_read_kind(struct psim_reader *reader, const struct psim_node *object,
                   const char *const *names);

/** Reads the keys of a kind beside "kind" itself, each into the value of its parameter, and the
 *  power that every kind may give, which stays as it is where there is none. */
void psim_read_parameters(struct psim_reader *reader, const struct psim_node *object,
                          const struct psim_parameter *parameters, struct psim_values *values,
                          struct psim_power *power);

#endif

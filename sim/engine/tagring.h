/**
 * @file sim/engine/tagring.h
 * Entries of the micro-batches in flight at one place, found by micro-batch in constant time.
 *
 * A table of a power-of-two size, indexed by the micro-batch number modulo the size; it doubles
 * when two live entries meet, so its size follows the spread of what is in flight.
 */
#ifndef PSIM_ENGINE_TAGRING_H
#define PSIM_ENGINE_TAGRING_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Most actions of one micro-batch at one stage: forward, recompute, backward, ... */
#define PSIM_ENTRY_ACTIONS 6

struct psim_entry {
    int64_t microbatch; /**< -1: the slot is free */
    int64_t version;    /**< parameters that the forward read */
    int64_t backwards;  /**< backwards that the stage had ended when the forward's step began */
    bool arrived;       /**< message: it is there; held micro-batch: its forward has ended */
    /* Held micro-batch: the passes of each of its actions that has ended. */
    uint8_t action_count, actions[PSIM_ENTRY_ACTIONS];
};

struct psim_tagring {
    struct psim_entry *slots;
    uint32_t mask;
    int64_t count;
};

/** false when memory is out. */
bool psim_tagring_init(struct psim_tagring *ring) PSIM_CHECKED;
void psim_tagring_release(struct psim_tagring *ring);

/** Adds an entry that must not be there yet; NULL when memory is out.  The pointer is valid until
 *  the next insert. */
struct psim_entry *psim_tagring_insert(struct psim_tagring *ring, int64_t microbatch);

/** NULL when the micro-batch is not there. */
static inline struct psim_entry *psim_tagring_find(const struct psim_tagring *ring,
                                                   int64_t microbatch)
{
    struct psim_entry *slot = &ring->slots[(uint64_t)microbatch & ring->mask];

    return slot->microbatch == microbatch ? slot : NULL;
}

static inline void psim_tagring_remove(struct psim_tagring *ring, struct psim_entry *tag)
{
    tag->microbatch = -1;
    ring->count--;
}

#endif

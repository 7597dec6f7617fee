#include "sim/engine/tagring.h"

#include "sim/base/memory.h"

#define FIRST_SIZE 8

static struct psim_entry *new_slots(uint32_t size)
{
    struct psim_entry *slots = psim_alloc(size, sizeof *slots);

    for (uint32_t i = 0; slots != NULL && i < size; i++)
        slots[i].microbatch = -1;
    return slots;
}

bool psim_tagring_init(struct psim_tagring *ring)
{
    *ring = (struct psim_tagring){.slots = new_slots(FIRST_SIZE), .mask = FIRST_SIZE - 1};
    return ring->slots != NULL;
}

void psim_tagring_release(struct psim_tagring *ring)
{
    psim_free(ring->slots);
    ring->slots = NULL;
}

/* Moves everything to a table of twice the size; entries that differ modulo n differ modulo 2n. */
static bool grow(struct psim_tagring *ring)
{
    const uint32_t size = ring->mask + 1;
    struct psim_entry *slots = new_slots(2 * size);

    if (slots == NULL)
        return false;
    for (uint32_t i = 0; i < size; i++) {
        const struct psim_entry *tag = &ring->slots[i];

        if (tag->microbatch >= 0)
            slots[(uint64_t)tag->microbatch & (2 * size - 1)] = *tag;
    }
    psim_free(ring->slots);
    ring->slots = slots;
    ring->mask = 2 * size - 1;
    return true;
}

struct psim_entry *psim_tagring_insert(struct psim_tagring *ring, int64_t microbatch)
{
    struct psim_entry *slot = &ring->slots[(uint64_t)microbatch & ring->mask];

    while (slot->microbatch >= 0) {
        PSIM_ASSERT(slot->microbatch != microbatch);
        if (!grow(ring))
            return NULL;
        slot = &ring->slots[(uint64_t)microbatch & ring->mask];
    }
    *slot = (struct psim_entry){.microbatch = microbatch};
    ring->count++;
    return slot;
}

#include "sim/config/name_set.h"

#include "sim/base/memory.h"

#include <stdint.h>
#include <string.h>

/* FNV-1a, 64 bits (Fowler, Noll, Vo; RFC 9923). */
static uint64_t hash(const char *name)
{
    uint64_t value = UINT64_C(14695981039346656037);

    for (; *name != '\0'; name++)
        value = (value ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return value;
}

/* The slot that holds the name or is free for it; there is always a free one. */
static struct psim_name_entry *slot_of(struct psim_name_entry *slots, size_t capacity,
                                       const char *name)
{
    size_t at = (size_t)hash(name) & (capacity - 1);

    while (slots[at].name != NULL && strcmp(slots[at].name, name) != 0)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

const struct psim_name_entry *psim_name_set_find(const struct psim_name_set *set, const char *name)
{
    const struct psim_name_entry *slot;

    if (set->capacity == 0)
        return NULL;
    slot = slot_of(set->slots, set->capacity, name);
    return slot->name == NULL ? NULL : slot;
}

static enum psim_status grow(struct psim_name_set *set)
{
    const size_t capacity = set->capacity == 0 ? 64 : 2 * set->capacity;
    struct psim_name_entry *slots = psim_alloc(capacity, sizeof *slots);

    if (slots == NULL)
        return PSIM_ERR_NOMEM;
    for (size_t i = 0; i < set->capacity; i++) {
        if (set->slots[i].name != NULL)
            *slot_of(slots, capacity, set->slots[i].name) = set->slots[i];
    }
    psim_free(set->slots);
    set->slots = slots;
    set->capacity = capacity;
    return PSIM_OK;
}

enum psim_status psim_name_set_add(struct psim_name_set *set, const char *name, int value)
{
    /* At most half full, so that a search ends soon. */
    const enum psim_status status = 2 * set->count >= set->capacity ? grow(set) : PSIM_OK;

    if (status != PSIM_OK)
        return status;
    *slot_of(set->slots, set->capacity, name) = (struct psim_name_entry){name, value};
    set->count++;
    return PSIM_OK;
}

void psim_name_set_release(struct psim_name_set *set)
{
    psim_free(set->slots);
    *set = (struct psim_name_set)PSIM_NAME_SET_INIT;
}

/**
 * @file sim/base/memory.h
 * Checked allocation, with a switch that makes the n-th allocation fail (tests).
 *
 * Called by every folder instead of malloc.  Sizes are counted in elements and
 * multiplied with an overflow check.  Not thread-safe while the failure switch
 * is armed.
 */
#ifndef PSIM_BASE_MEMORY_H
#define PSIM_BASE_MEMORY_H

#include "sim/base/status.h"

#include <stdbool.h>
#include <stddef.h>

/** `count` zeroed elements; NULL when memory is out or the product overflows; count 0 gives 1. */
void *psim_alloc(size_t count, size_t size);

/** As realloc, in elements; new bytes are not zeroed; the old block survives a failure. */
void *psim_realloc(void *block, size_t count, size_t size);

/**
 * Makes room for one more element of an array: twice the capacity where there is none.
 *
 * @param[in,out] array     of elements of `size` bytes, NULL at first; new ones are not zeroed
 * @param[in]     count     elements in use, in [0, *capacity]
 * @param[in,out] capacity  elements that fit, below 2^30
 * @return false when memory is out: all is then as it was
 */
bool psim_grow(void **array, int count, int *capacity, size_t size);

/** NULL is allowed. */
void psim_free(void *block);

/** Makes the n-th allocation from now fail (1 = the next); 0 disarms. */
void psim_alloc_fail_at(unsigned long n);

/**
 * Memory that lives and dies together: many allocations, one release.
 * Start from PSIM_ARENA_INIT.  Pointers stay valid until psim_arena_release.
 */
struct psim_arena {
    struct psim_arena_chunk *head;
};

#define PSIM_ARENA_INIT                                                                            \
    {                                                                                              \
        NULL                                                                                       \
    }

/** `count` zeroed elements aligned for any type; NULL when memory is out. */
void *psim_arena_alloc(struct psim_arena *arena, size_t count, size_t size);

/** Copy of `length` bytes of text with a terminating zero; NULL when memory is out. */
char *psim_arena_text(struct psim_arena *arena, const char *text, size_t length);

/** printf into the arena; NULL when memory is out. */
char *psim_arena_printf(struct psim_arena *arena, const char *format, ...) PSIM_PRINTF(2, 3);

/** Frees everything and leaves the arena empty and usable. */
void psim_arena_release(struct psim_arena *arena);

#endif

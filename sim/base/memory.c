#include "sim/base/memory.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ARENA_CHUNK_BYTES ((size_t)16384)

struct psim_arena_chunk {
    struct psim_arena_chunk *next;
    size_t used, capacity;
    max_align_t data[];
};

static unsigned long fail_at;

/* True when this allocation is the one that a test wants to fail. */
static int must_fail(void)
{
    return fail_at > 0 && --fail_at == 0;
}

void psim_alloc_fail_at(unsigned long n)
{
    fail_at = n;
}

void *psim_alloc(size_t count, size_t size)
{
    if (must_fail())
        return NULL;
    return calloc(count == 0 ? 1 : count, size == 0 ? 1 : size);
}

void *psim_realloc(void *block, size_t count, size_t size)
{
    if (must_fail() || (size > 0 && count > SIZE_MAX / size))
        return NULL;
    return realloc(block, count * size == 0 ? 1 : count * size);
}

bool psim_grow(void **array, int count, int *capacity, size_t size)
{
    const int wanted = *capacity == 0 ? 16 : 2 * *capacity;
    void *grown;

    if (count < *capacity)
        return true;
    grown = psim_realloc(*array, (size_t)wanted, size);
    if (grown == NULL)
        return false;
    *array = grown;
    *capacity = wanted;
    return true;
}

void psim_free(void *block)
{
    free(block);
}

void *psim_arena_alloc(struct psim_arena *arena, size_t count, size_t size)
{
    const size_t unit = sizeof(max_align_t);
    struct psim_arena_chunk *chunk = arena->head;
    size_t bytes;
    void *result;

    if (size > 0 && count > (SIZE_MAX / 2) / size)
        return NULL;
    bytes = (count * size + unit - 1) / unit * unit;
    if (bytes == 0)
        bytes = unit;
    if (chunk == NULL || chunk->capacity - chunk->used < bytes) {
        const size_t capacity = bytes > ARENA_CHUNK_BYTES ? bytes : ARENA_CHUNK_BYTES;

        chunk = psim_alloc(1, sizeof *chunk + capacity);
        if (chunk == NULL)
            return NULL;
        chunk->capacity = capacity;
        chunk->next = arena->head;
        arena->head = chunk;
    }
    result = (char *)chunk->data + chunk->used;
    chunk->used += bytes;
    return result;
}

char *psim_arena_text(struct psim_arena *arena, const char *text, size_t length)
{
    char *copy = psim_arena_alloc(arena, length + 1, 1);

    if (copy != NULL)
        memcpy(copy, text, length);
    return copy;
}

char *psim_arena_printf(struct psim_arena *arena, const char *format, ...)
{
    va_list arguments;
    char *text = NULL;
    int length;

    va_start(arguments, format);
    length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0)
        return NULL;
    text = psim_arena_alloc(arena, (size_t)length + 1, 1);
    if (text == NULL)
        return NULL;
    va_start(arguments, format);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return text;
}

void psim_arena_release(struct psim_arena *arena)
{
    struct psim_arena_chunk *chunk = arena->head;

    while (chunk != NULL) {
        struct psim_arena_chunk *next = chunk->next;

        psim_free(chunk);
        chunk = next;
    }
    arena->head = NULL;
}

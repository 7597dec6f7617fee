#include "kernels/host/host.h"

#include "sim/base/memory.h"

#include <stdio.h>
#include <string.h>

/* psim_alloc so that tests can make any allocation fail; its block is found again through the
 * pointer that stands just before the aligned one. */
enum psim_status pk_host_allocate(struct pk_context *context, size_t bytes, void **block,
                                  struct psim_error *err)
{
    const size_t extra = PK_ALIGNMENT + sizeof(void *);
    char *raw = bytes <= SIZE_MAX - extra ? psim_alloc(1, bytes + extra) : NULL;
    char *aligned;

    if (raw == NULL)
        return psim_fail(err, PSIM_ERR_NOMEM, "memory",
                         "out of memory: %zu bytes asked, %lld in use", bytes,
                         (long long)context->account.now_total_bytes);
    aligned = raw + sizeof(void *);
    aligned += (PK_ALIGNMENT - (uintptr_t)aligned % PK_ALIGNMENT) % PK_ALIGNMENT;
    memcpy(aligned - sizeof(void *), &raw, sizeof(raw));
    *block = aligned;
    return PSIM_OK;
}

void pk_host_release(struct pk_context *context, void *block)
{
    void *raw;

    (void)context;
    memcpy(&raw, (char *)block - sizeof(void *), sizeof(raw));
    psim_free(raw);
}

enum psim_status pk_host_copy(struct pk_context *context, void *target, const void *source,
                              size_t bytes, struct psim_error *err)
{
    (void)context;
    (void)err;
    if (bytes > 0)
        memcpy(target, source, bytes);
    return PSIM_OK;
}

enum psim_status pk_host_clear(struct pk_context *context, void *target, size_t bytes,
                               struct psim_error *err)
{
    (void)context;
    (void)err;
    if (bytes > 0)
        memset(target, 0, bytes);
    return PSIM_OK;
}

enum psim_status pk_host_wait(struct pk_context *context, struct psim_error *err)
{
    (void)context;
    (void)err;
    return PSIM_OK;
}

void pk_host_processor(char *name, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[256];

    snprintf(name, size, "host");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        const char *colon = strchr(line, ':');

        if (strncmp(line, "model name", 10) == 0 && colon != NULL) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(name, size, "%s", colon + 2);
            break;
        }
    }
    if (file != NULL)
        fclose(file);
}

/* Opening a backend, counting its memory, and the way from pk_X to the backend's own run_X. */
#include "kernels/check.h"

#include <string.h>

const char *const pk_math_names[] = {"fp32", "tf32", "bf16", NULL};

bool pk_find_math(const char *name, enum pk_math *math)
{
    for (int i = 0; i < PK_MATHS; i++)
        if (strcmp(pk_math_names[i], name) == 0) {
            *math = (enum pk_math)i;
            return true;
        }
    return false;
}

const char *const pk_category_names[] = {"parameters", "parameter_versions",
                                         "gradients",  "optimizer_state",
                                         "statistics", "graph",
                                         "inputs",     "messages",
                                         "workspace",  "data",
                                         NULL};

static const struct pk_backend *find_backend(const char *name, char *names, size_t size)
{
    for (int i = 0; pk_backend_table[i] != NULL; i++) {
        if (strcmp(pk_backend_table[i]->name, name) == 0)
            return pk_backend_table[i];
        if (strlen(names) + strlen(pk_backend_table[i]->name) + 3 <= size) {
            strcat(names, i == 0 ? "" : ", ");
            strcat(names, pk_backend_table[i]->name);
        }
    }
    return NULL;
}

enum psim_status pk_context_open(const char *name, const struct pk_options *options,
                                 struct pk_context **context, struct psim_error *err)
{
    char names[128] = "";
    const struct pk_backend *backend = find_backend(name, names, sizeof(names));
    struct pk_context *made = NULL;
    enum psim_status status;

    if (backend == NULL)
        return psim_fail(err, PSIM_ERR_NOTFOUND, "backend", "no backend \"%s\"; there are %s", name,
                         names);
    if (backend->absent != NULL)
        return psim_fail(err, PSIM_ERR_UNSUPPORTED, "backend", "\"%s\" is not in this build: %s",
                         name, backend->absent);
    if (options->device < 0 || options->threads < 0 || (int)options->math < 0 ||
        options->math >= PK_MATHS)
        return psim_fail(err, PSIM_ERR_RANGE, "options",
                         "device and threads must not be negative, math one of the listed");
    status = backend->open(options, &made, err);
    if (status != PSIM_OK)
        return status;
    made->backend = backend;
    made->options = *options;
    *context = made;
    return PSIM_OK;
}

void pk_context_close(struct pk_context *context)
{
    if (context != NULL)
        context->backend->close(context);
}

enum psim_status pk_allocate(struct pk_context *context, enum pk_category category, size_t bytes,
                             void **block, struct psim_error *err)
{
    struct pk_account *account = &context->account;
    void *made = NULL;
    enum psim_status status = PSIM_OK;

    if (bytes > 0)
        status = context->backend->allocate(context, bytes, &made, err);
    if (status != PSIM_OK)
        return status;
    account->now_bytes[category] += (int64_t)bytes;
    account->now_total_bytes += (int64_t)bytes;
    if (account->now_total_bytes > account->peak_total_bytes) {
        account->peak_total_bytes = account->now_total_bytes;
        memcpy(account->peak_bytes, account->now_bytes, sizeof(account->peak_bytes));
    }
    *block = made;
    return PSIM_OK;
}

void pk_release(struct pk_context *context, enum pk_category category, size_t bytes, void *block)
{
    if (block == NULL)
        return;
    context->backend->release(context, block);
    context->account.now_bytes[category] -= (int64_t)bytes;
    context->account.now_total_bytes -= (int64_t)bytes;
}

/* One operation: checked, and not called where there is nothing to do, so that no backend need
 * know what that means.  `bytes` trusts what `check` has found. */
#define PK_DEFINE(kind, type)                                                                      \
    static size_t kind##_bytes(const struct pk_context *context, const struct type *op,            \
                               const struct pk_check *check)                                       \
    {                                                                                              \
        const struct pk_operations *table = context->backend->operations;                          \
        if (check->status != PSIM_OK || check->empty || table->workspace_##kind == NULL)           \
            return 0;                                                                              \
        return table->workspace_##kind(context, op);                                               \
    }                                                                                              \
    size_t pk_##kind##_workspace(const struct pk_context *context, const struct type *op)          \
    {                                                                                              \
        struct pk_check check = {.operation = #kind};                                              \
        pk_check_##kind(&check, op);                                                               \
        return kind##_bytes(context, op, &check);                                                  \
    }                                                                                              \
    enum psim_status pk_##kind(struct pk_context *context, const struct type *op,                  \
                               const struct pk_workspace *workspace, struct psim_error *err)       \
    {                                                                                              \
        const struct pk_operations *table = context->backend->operations;                          \
        struct pk_check check = {.operation = #kind, .pointers = true, .err = err};                \
        if (table->run_##kind == NULL)                                                             \
            return psim_fail(err, PSIM_ERR_UNSUPPORTED, #kind, "backend \"%s\" does not have it",  \
                             context->backend->name);                                              \
        pk_check_##kind(&check, op);                                                               \
        pk_check_workspace(&check, workspace, kind##_bytes(context, op, &check));                  \
        if (check.status != PSIM_OK || check.empty)                                                \
            return check.status;                                                                   \
        return table->run_##kind(context, op, workspace, err);                                     \
    }
PK_OPERATION_MAP(PK_DEFINE)
#undef PK_DEFINE

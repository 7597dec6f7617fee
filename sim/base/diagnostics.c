#include "sim/base/diagnostics.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void lost(struct psim_diagnostics *list)
{
    list->out_of_memory = true;
    list->status = PSIM_ERR_NOMEM;
    if (list->errors == 0)
        list->errors = 1;
}

static const char *keep(struct psim_diagnostics *list, const char *text)
{
    return text == NULL ? NULL : psim_arena_text(&list->arena, text, strlen(text));
}

static bool make_room(struct psim_diagnostics *list)
{
    struct psim_diagnostic *items;
    size_t capacity;

    if (list->count < list->capacity)
        return true;
    capacity = list->capacity == 0 ? 16 : 2 * list->capacity;
    items = psim_realloc(list->items, capacity, sizeof *items);
    if (items == NULL)
        return false;
    list->items = items;
    list->capacity = capacity;
    return true;
}

void psim_diagnose(struct psim_diagnostics *list, enum psim_status status, struct psim_position at,
                   const char *path, const char *suggestion, const char *format, ...)
{
    struct psim_diagnostic item = {
        .severity = status == PSIM_OK ? PSIM_SEVERITY_WARNING : PSIM_SEVERITY_ERROR,
        .at = at,
    };
    char message[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    item.at.file = keep(list, at.file == NULL ? "" : at.file);
    item.path = keep(list, path == NULL ? "" : path);
    item.message = keep(list, message);
    item.suggestion = keep(list, suggestion);
    if (!make_room(list) || item.at.file == NULL || item.path == NULL || item.message == NULL) {
        lost(list);
        return;
    }
    if (item.severity == PSIM_SEVERITY_ERROR) {
        if (list->errors == 0)
            list->status = status;
        list->errors++;
    }
    list->items[list->count++] = item;
}

const char *psim_diagnostic_line(struct psim_diagnostics *list, size_t index)
{
    const struct psim_diagnostic *item = &list->items[index];
    const char *severity = item->severity == PSIM_SEVERITY_ERROR ? "error" : "warning";
    const char *place, *hint;

    if (item->at.line > 0)
        place = psim_arena_printf(&list->arena, "%s:%d:%d: ", item->at.file, item->at.line,
                                  item->at.column);
    else
        place = psim_arena_printf(&list->arena, "%s%s", item->at.file,
                                  item->at.file[0] == '\0' ? "" : ": ");
    hint = item->suggestion == NULL
               ? ""
               : psim_arena_printf(&list->arena, " (did you mean \"%s\"?)", item->suggestion);
    if (place == NULL || hint == NULL)
        return NULL;
    return psim_arena_printf(&list->arena, "%s%s: %s%s%s%s", place, severity, item->path,
                             item->path[0] == '\0' ? "" : ": ", item->message, hint);
}

void psim_diagnostics_release(struct psim_diagnostics *list)
{
    psim_arena_release(&list->arena);
    psim_free(list->items);
    *list = (struct psim_diagnostics)PSIM_DIAGNOSTICS_INIT;
}

#include "sim/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *psim_status_text(enum psim_status status)
{
    switch (status) {
#define PSIM_STATUS_CASE(name, value, text)                                                        \
    case PSIM_##name:                                                                              \
        return text;
        PSIM_STATUS_MAP(PSIM_STATUS_CASE)
#undef PSIM_STATUS_CASE
    }
    return "unknown status";
}

enum psim_status psim_fail(struct psim_error *err, enum psim_status status, const char *where,
                           const char *format, ...)
{
    if (err != NULL && err->status == PSIM_OK) {
        va_list arguments;

        err->status = status;
        snprintf(err->where, sizeof err->where, "%s", where);
        va_start(arguments, format);
        vsnprintf(err->message, sizeof err->message, format, arguments);
        va_end(arguments);
    }
    return status;
}

void psim_bug_at(const char *file, int line, const char *what)
{
    fprintf(stderr, "petrasim: bug at %s:%d: %s\n", file, line, what);
    abort();
}

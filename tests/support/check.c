#include "tests/support/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool psim_near(double got, double want, double tolerance)
{
    return got == want || fabs(got - want) <= tolerance * fmax(fabs(got), fabs(want));
}

void psim_check_near_at(const char *file, int line, const char *what, double got, double want,
                        double tolerance)
{
    if (psim_near(got, want, tolerance))
        return;
    print_error("%s:%d: %s is %.17g, expected %.17g within %g\n", file, line, what, got, want,
                tolerance);
    _fail(file, line);
}

void psim_check_contains_at(const char *file, int line, const char *text, const char *part)
{
    if (text != NULL && strstr(text, part) != NULL)
        return;
    print_error("%s:%d: no \"%s\" in:\n%s\n", file, line, part, text == NULL ? "(null)" : text);
    _fail(file, line);
}

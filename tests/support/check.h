/**
 * @file tests/support/check.h
 * Assertions that a NaN cannot pass, for use beside cmocka's.
 *
 * cmocka 1.1.5's own float asserts accept NaN and are not used here.
 */
#ifndef PSIM_TESTS_SUPPORT_CHECK_H
#define PSIM_TESTS_SUPPORT_CHECK_H

/* cmocka.h needs these four first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>

/** |got - want| <= tolerance * max(|got|, |want|); false for NaN, true for equal infinities. */
bool psim_near(double got, double want, double tolerance);

void psim_check_near_at(const char *file, int line, const char *what, double got, double want,
                        double tolerance);

#define check_near(got, want, tolerance)                                                           \
    psim_check_near_at(__FILE__, __LINE__, #got, (got), (want), (tolerance))

/** Fails unless `text` contains `part`; prints both. */
void psim_check_contains_at(const char *file, int line, const char *text, const char *part);

#define check_contains(text, part) psim_check_contains_at(__FILE__, __LINE__, (text), (part))

#endif

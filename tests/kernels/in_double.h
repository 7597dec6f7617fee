/**
 * @file tests/kernels/in_double.h
 * Compiles the reference operations in double throughout.
 *
 * Included before anything else, by the compiler's command line, in the sources of kernels/ref and
 * in gradient_test.c: a central difference needs more digits than float has, and the code that is
 * differentiated should be ref's own.  What both need of the system comes first and keeps its
 * float.
 */
#ifndef PSIM_TESTS_KERNELS_IN_DOUBLE_H
#define PSIM_TESTS_KERNELS_IN_DOUBLE_H

#include "tests/support/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __clang__ /* which warns of hidden keywords: here that is the point */
#pragma clang diagnostic ignored "-Wkeyword-macro"
#endif
#define float double

#endif

/**
 * @file sim/cli/picture.h
 * Pictures by gnuplot, which need not be there.
 */
#ifndef PSIM_CLI_PICTURE_H
#define PSIM_CLI_PICTURE_H

#include "sim/cli/cli.h"

/** True for a name that ends in .svg or .png; says what is wrong with any other. */
bool psim_picture_is_named(const char *path);

/**
 * Draws a picture, whole or not at all, and says what went wrong.
 * @param[in] size    "width,height" in pixels
 * @param[in] script  of gnuplot, without terminal and output
 * @return LACKING without gnuplot
 */
enum psim_exit psim_picture_draw(const char *path, const char *size,
                                 const struct psim_text *script);

#endif

/**
 * @file sim/report/display.h
 * Columns that UTF-8 text takes on a terminal, whatever the locale.
 */
#ifndef PSIM_REPORT_DISPLAY_H
#define PSIM_REPORT_DISPLAY_H

#include <stddef.h>

/**
 * Two for East Asian wide and full-width characters and pictographs, none for marks that combine
 * with the character before them, one for all else, a byte that is not UTF-8 included.
 */
int psim_display_width(const char *text, size_t length);

#endif

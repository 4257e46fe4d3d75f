/*
 * A table of text whose columns are as wide as their longest cells.
 */
#ifndef CALIBRAX_PROGRAMS_COLUMNS_H
#define CALIBRAX_PROGRAMS_COLUMNS_H

#include "calibrax/base/arena.h"
#include "programs/common/terminal.h"

typedef struct columns columns;

/* Heads and side of each column: 'l' or 'r'.  All texts must outlive the table.  @param arena  as
 * of opt_run: it never returns NULL */
columns *columns_begin(cbx_arena *arena, const char *const *heads, const char *sides);
/* The next cell, row by row.  Printed as it is: control characters are the caller's to take out. */
void columns_put(columns *c, paint how, const char *text);
void columns_printf(columns *c, paint how, const char *fmt, ...) CBX_PRINTF(3, 4);
/* Six significant digits; "-" for NaN. */
void columns_number(columns *c, paint how, double v);
/* On standard output, each line behind the indent. */
void columns_print(const columns *c, const char *indent);

#endif

/*
 * What a terminal gets and a pipe does not: colour, bars, and as many columns as it has.
 */
#ifndef CALIBRAX_PROGRAMS_TERMINAL_H
#define CALIBRAX_PROGRAMS_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

#include "calibrax/base/api.h"

/* Columns of the terminal on standard output; 0 if it is no terminal. */
size_t terminal_width(void);

/* Meanings, not colours; they differ in lightness, too, and are never the only sign of a
 * meaning. */
typedef enum paint { PAINT_PLAIN, PAINT_GOOD, PAINT_BAD, PAINT_FAINT, PAINT_STRONG, PAINT_COUNT } paint;

/* Standard output is a terminal, TERM is not dumb, and NO_COLOR (no-color.org) is not set. */
bool terminal_has_colour(void);
/* What begins a paint, and what ends it; "" without colour. */
const char *paint_begin(paint p);
const char *paint_end(paint p);
/* Text of files on standard output: control characters as \xNN, and blanks up to a width. */
void print_plain(const char *s, int width);
/* As printf, in a paint, which begins behind empty lines and ends before the end of a line. */
void print_painted(paint p, const char *fmt, ...) CBX_PRINTF(2, 3);
/* GOOD for exit status 0, STRONG for 3 (undecided), BAD for any other. */
paint paint_of_status(int status);
/* A report in lines: the word before the first colon in the paint of the exit status, lines that
 * begin with "note:" faint. */
void print_report(const char *text, int status);
/* A table in lines whose first one names the columns: that one faint. */
void print_table_text(const char *text);
/* JSON lines: the keys of their objects faint. */
void print_json_lines(const char *text);

/* Standard output is a terminal that shows UTF-8. */
bool terminal_has_bars(void);
/* A line of one bar a value, from the least (lowest) to the greatest, as many of the last ones as
 * fit; a value that is no number is a blank. */
void print_bars(const double *values, size_t n);

#endif

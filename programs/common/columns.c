/*
 * Cells are kept until the widths are known.
 */
#include "programs/common/columns.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/list.h"

typedef struct cell {
    const char *text;
    paint how;
} cell;

struct columns {
    cbx_arena *arena;
    const char *const *heads;
    const char *sides;
    size_t n, *widths; /* of columns */
    CBX_LIST(cell) cells;
};

columns *columns_begin(cbx_arena *arena, const char *const *heads, const char *sides)
{
    columns *c = cbx_arena_alloc(arena, sizeof *c);

    *c = (columns){ .arena = arena, .heads = heads, .sides = sides, .n = strlen(sides) };
    c->widths = cbx_arena_calloc(arena, c->n, sizeof *c->widths);
    return c;
}

void columns_put(columns *c, paint how, const char *text)
{
    (void)cbx_list_push(CBX_IN_ARENA(c->arena), &c->cells, (cell){ text, how });
}

void columns_printf(columns *c, paint how, const char *fmt, ...)
{
    char line[512];
    va_list args;

    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    columns_put(c, how, cbx_arena_strdup(c->arena, line));
}

void columns_number(columns *c, paint how, double v)
{
    if (isnan(v))
        columns_put(c, how, "-");
    else
        columns_printf(c, how, "%.6g", v);
}

/* Characters, not bytes: UTF-8 continues with 10xxxxxx. */
static size_t width_of(const char *s)
{
    size_t n = 0;

    for (; *s; s++) n += ((unsigned char)*s & 0xC0) != 0x80;
    return n;
}

/* Nothing follows the last text of a line. */
static void print_cell(const columns *c, size_t k, const char *text, paint how)
{
    const int space = (int)(c->widths[k] - width_of(text));
    bool right = c->sides[k] == 'r';

    if (right) printf("%*s", space, "");
    if (*text && how != PAINT_PLAIN) fputs(paint_begin(how), stdout);
    fputs(text, stdout);
    if (*text && how != PAINT_PLAIN) fputs(paint_end(how), stdout);
    if (k + 1 < c->n) printf("%*s", right ? 2 : space + 2, "");
}

void columns_print(const columns *c, const char *indent)
{
    for (size_t k = 0; k < c->n; k++) c->widths[k] = width_of(c->heads[k]);
    for (size_t i = 0; i < c->cells.n; i++) {
        const size_t w = width_of(c->cells.items[i].text);
        if (w > c->widths[i % c->n]) c->widths[i % c->n] = w;
    }
    fputs(indent, stdout);
    for (size_t k = 0; k < c->n; k++) print_cell(c, k, c->heads[k], PAINT_FAINT);
    for (size_t i = 0; i < c->cells.n; i++) {
        if (i % c->n == 0) {
            putchar('\n');
            fputs(indent, stdout);
        }
        print_cell(c, i % c->n, c->cells.items[i].text, c->cells.items[i].how);
    }
    putchar('\n');
}

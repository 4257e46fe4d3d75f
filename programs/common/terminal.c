/*
 * Colour and bars, for terminals only.
 */
#include "programs/common/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "calibrax/base/api.h"

size_t terminal_width(void)
{
    struct winsize w;

    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0) return 0;
    return w.ws_col;
}

bool terminal_has_colour(void)
{
    const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

    return isatty(STDOUT_FILENO) && !(no && *no) && !(term && !strcmp(term, "dumb"));
}

const char *paint_begin(paint p)
{
    static const char *const codes[PAINT_COUNT] = { "", "\033[32m", "\033[1;31m", "\033[2m", "\033[1m" };

    return terminal_has_colour() ? codes[p] : "";
}

const char *paint_end(paint p) { return p != PAINT_PLAIN && terminal_has_colour() ? "\033[0m" : ""; }

bool terminal_has_bars(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    if (!isatty(STDOUT_FILENO)) return false;
    for (size_t i = 0; i < CBX_LEN(names); i++) {
        const char *text = getenv(names[i]);
        if (text && *text) return strstr(text, "UTF-8") || strstr(text, "utf8");
    }
    return false;
}

void print_bars(const double *values, size_t n)
{
    static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    size_t width = terminal_width() ? terminal_width() : 80, first = n > width ? n - width : 0;
    double least = INFINITY, most = -INFINITY;

    for (size_t i = first; i < n; i++) {
        if (!isfinite(values[i])) continue;
        least = fmin(least, values[i]);
        most = fmax(most, values[i]);
    }
    for (size_t i = first; i < n; i++) {
        double share = most > least ? (values[i] - least) / (most - least) : 0.5;
        fputs(isfinite(values[i]) ? bars[(size_t)(share * 7 + 0.5)] : " ", stdout);
    }
    putchar('\n');
}

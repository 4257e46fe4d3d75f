/*
 * Colour and bars, for terminals only.
 */
#include "programs/common/terminal.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "calibrax/base/text.h"
#include "programs/common/options.h"

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

    return p != PAINT_PLAIN && terminal_has_colour() ? codes[p] : "";
}

const char *paint_end(paint p) { return p != PAINT_PLAIN && terminal_has_colour() ? "\033[0m" : ""; }

void print_plain(const char *s, int width)
{
    SCOPED_TEXT(text, cbx_allocator_default());
    cbx_text_put_plain(&text, s);
    printf("%-*s", width, cbx_text_str(&text));
}

void print_painted(paint p, const char *fmt, ...)
{
    size_t n = strlen(fmt);
    bool ends_line = n && fmt[n - 1] == '\n';
    char *text = NULL;
    int len = -1;
    va_list args;

    va_start(args, fmt);
    if (terminal_has_colour())
        len = vasprintf(&text, fmt, args);
    else
        vprintf(fmt, args);
    va_end(args);
    if (len < 0) return; /* it is printed, or there is no memory for a line */
    n = strspn(text, "\n");
    printf("%.*s%s%.*s%s%s", (int)n, text, paint_begin(p), len - (int)n - ends_line, text + n, paint_end(p),
           ends_line ? "\n" : "");
    free(text);
}

paint paint_of_status(int status) { return status == 0 ? PAINT_GOOD : status == 3 ? PAINT_STRONG : PAINT_BAD; }

/* One line without its end, from `text` on; what comes after it. */
static const char *put_line(const char *text, size_t painted, paint how)
{
    size_t n = strcspn(text, "\n");

    if (painted > n) painted = n;
    printf("%s%.*s%s%.*s", paint_begin(how), (int)painted, text, paint_end(how), (int)(n - painted), text + painted);
    return text + n;
}

void print_report(const char *text, int status)
{
    static const char note[] = "note:";

    for (const char *at = text; *at;) {
        if (at == text) {
            at = put_line(at, strcspn(at, ":\n"), paint_of_status(status));
            if (opt_hint(text)) printf(" (--%s)", opt_hint(text));
        } else
            at = put_line(at, SIZE_MAX, strncmp(at, note, sizeof note - 1) ? PAINT_PLAIN : PAINT_FAINT);
        if (*at) putchar(*at++);
    }
}

void print_table_text(const char *text)
{
    const char *rest = put_line(text, SIZE_MAX, PAINT_FAINT);

    fputs(rest, stdout);
}

/* Past the quote that ends a string of JSON; `at` is behind the one that begins it. */
static const char *string_end(const char *at)
{
    for (; *at && *at != '"'; at++) at += *at == '\\' && at[1];
    return *at ? at + 1 : at;
}

void print_json_lines(const char *text)
{
    for (const char *at = text; *at;) {
        const char *end = *at == '"' ? string_end(at + 1) : at + strcspn(at, "\"");
        paint how = *at == '"' && *end == ':' ? PAINT_FAINT : PAINT_PLAIN;
        fputs(paint_begin(how), stdout);
        fwrite(at, 1, (size_t)(end - at), stdout);
        fputs(paint_end(how), stdout);
        at = end;
    }
}

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
    double minimum = INFINITY, maximum = -INFINITY;

    for (size_t i = first; i < n; i++) {
        if (!isfinite(values[i])) continue;
        minimum = fmin(minimum, values[i]);
        maximum = fmax(maximum, values[i]);
    }
    for (size_t i = first; i < n; i++) {
        double share = maximum > minimum ? (values[i] - minimum) / (maximum - minimum) : 0.5;
        fputs(isfinite(values[i]) ? bars[(size_t)(share * 7 + 0.5)] : " ", stdout);
    }
    putchar('\n');
}

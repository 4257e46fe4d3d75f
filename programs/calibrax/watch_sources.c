/*
 * Where `calibrax watch` takes values from: lines; a process and a store have files of their own.
 */
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "programs/calibrax/watch.h"

#define LONGEST_LINE ((size_t)1 << 20)

bool watch_over(const watcher *w)
{
    return *w->stop || (w->length >= 0 && 1e-9 * (double)(cbx_clock_ns() - w->start_ns) >= w->length);
}

void watch_rest(const watcher *w)
{
    const struct timespec tick = { 0, 10000000 };
    uint64_t start = cbx_clock_ns();

    while (!watch_over(w) && 1e-9 * (double)(cbx_clock_ns() - start) < w->a->interval) nanosleep(&tick, NULL);
}

/* --- lines on standard input --- */

static bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* What C's printf writes of a number that is not finite, and JSON has no word for. */
static bool read_word(const char *line, size_t len, double *value)
{
    char word[16], *end;

    while (len > 0 && is_blank(*line)) line++, len--;
    if (len == 0 || len >= sizeof word || memchr(line, 0, len)) return false;
    memcpy(word, line, len);
    word[len] = 0;
    *value = strtod(word, &end);
    return !*end && !isfinite(*value);
}

/* Takes what an object has of the metrics, the first one last. */
static bool take_members(watcher *w, const cbx_json *object)
{
    bool found = false;

    for (size_t i = w->nmetrics; i-- > 0;) {
        if (!cbx_json_has(object, w->metrics[i].name)) continue;
        watch_take(w, i, cbx_json_get_double(object, w->metrics[i].name, NAN));
        found = true;
    }
    return found;
}

/* A number, which is of the first metric, or an object with some of them. */
static void take_value(watcher *w, const char *line, size_t len)
{
    cbx_json *json = NULL;
    double value;
    bool found = false;

    if (cbx_json_parse(line, len, "standard input", &json, NULL)) {
        found = read_word(line, len, &value);
        if (found) watch_take(w, 0, value);
    } else if (cbx_json_typeof(json) == CBX_JSON_INT || cbx_json_typeof(json) == CBX_JSON_DOUBLE) {
        found = true;
        watch_take(w, 0, cbx_json_double_value(json));
    } else if (cbx_json_typeof(json) == CBX_JSON_OBJECT) {
        found = take_members(w, json);
    }
    cbx_json_unref(json);
    if (!found && w->bad_lines++ == 0)
        opt_fail(w->run->program, "a line without '%s' is passed over: '%.*s'", w->metrics[0].name,
                 (int)(len < 60 ? len : 60), line);
}

int watch_values(watcher *w) { return watch_lines(w, take_value); }

/* A line that says something. */
static void take_line(watcher *w, void (*take)(watcher *w, const char *line, size_t len), const char *line, size_t len)
{
    while (len > 0 && is_blank(line[len - 1])) len--;
    if (len > 0) take(w, line, len);
}

/* Whole lines of the buffer; what is left moves to its front.  Returns how much that is. */
static size_t take_lines(watcher *w, void (*take)(watcher *w, const char *line, size_t len), char *buffer, size_t len)
{
    char *from = buffer, *end;

    while ((end = memchr(from, '\n', len - (size_t)(from - buffer)))) {
        take_line(w, take, from, (size_t)(end - from));
        from = end + 1;
    }
    len -= (size_t)(from - buffer);
    memmove(buffer, from, len);
    return len;
}

int watch_lines(watcher *w, void (*take)(watcher *w, const char *line, size_t len))
{
    char *buffer = cbx_arena_alloc(w->run->arena, LONGEST_LINE);
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    size_t len = 0;

    if (!buffer) return opt_fail(w->run->program, "out of memory");
    while (!*w->stop) {
        ssize_t n;
        int ready = poll(&in, 1, 50);
        if (ready <= 0) {
            if (watch_over(w)) break;
            continue;
        }
        n = read(STDIN_FILENO, buffer + len, LONGEST_LINE - len);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return opt_fail(w->run->program, "cannot read standard input: %s", strerror(errno));
        if (n == 0) break;
        len = take_lines(w, take, buffer, len + (size_t)n);
        if (len == LONGEST_LINE) return opt_fail(w->run->program, "a line of standard input is longer than 1 MiB");
    }
    if (len) take_line(w, take, buffer, len);
    return EXIT_PASS;
}

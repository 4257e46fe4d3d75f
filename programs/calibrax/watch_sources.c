/*
 * Where `calibrax watch` takes values from: lines, a store; a process has a file of its own.
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
#include "programs/calibrax/select.h"
#include "programs/calibrax/watch.h"

#define LONGEST_LINE ((size_t)1 << 20)

bool watch_over(const watcher *w)
{
    return *w->stop || (w->a->length >= 0 && 1e-9 * (double)(cbx_clock_ns() - w->start_ns) >= w->a->length);
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

/* A number, or an object with the metric: as a member, or as {"name": metric, "value": x}. */
/* @param others  set if it has one of those that rules are about, which are taken */
static bool read_value(watcher *w, const char *line, size_t len, double *value, bool *others)
{
    cbx_json *json = NULL;
    bool found = false;

    *others = false;

    if (cbx_json_parse(line, len, "standard input", &json, NULL)) return read_word(line, len, value);
    switch (cbx_json_typeof(json)) {
    case CBX_JSON_INT:
    case CBX_JSON_DOUBLE:
        *value = cbx_json_double_value(json);
        found = true;
        break;
    case CBX_JSON_OBJECT:
        found = cbx_json_has(json, w->a->metric);
        *value = cbx_json_get_double(json, w->a->metric, NAN);
        for (size_t i = 0; i < w->nothers; i++) {
            if (!cbx_json_has(json, w->others[i])) continue;
            *others = true;
            watch_take_other(w, w->others[i], cbx_json_get_double(json, w->others[i], NAN));
        }
        break;
    default: break;
    }
    cbx_json_unref(json);
    return found;
}

static void take_value(watcher *w, const char *line, size_t len)
{
    double value;
    bool others;

    if (read_value(w, line, len, &value, &others))
        watch_take(w, value);
    else if (!others && w->bad_lines++ == 0)
        opt_fail(w->run->program, "a line without '%s' is passed over: '%.*s'", w->a->metric,
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

/* --- a store --- */

/* What was taken of a store: the one series, and the runs whose value was, as a table that is at most half full. */
typedef struct place {
    const char *series; /* NULL: none yet */
    const char **ids;
    size_t nids, room;     /* a power of 2 */
    cbx_same_machine said; /* of its machines */
} place;

/* Where the id is, or would be: FNV-1a, and on from there. */
static const char **find_id(const char **ids, size_t room, const char *id)
{
    uint64_t hash = 14695981039346656037u;

    for (const char *c = id; *c; c++) hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    while (ids[hash & (room - 1)] && strcmp(ids[hash & (room - 1)], id)) hash++;
    return &ids[hash & (room - 1)];
}

static bool make_room(cbx_arena *arena, place *at)
{
    size_t room = at->room ? 2 * at->room : 64;
    const char **ids;

    if (at->room > 2 * at->nids) return true;
    ids = cbx_arena_calloc(arena, room, sizeof *ids);
    for (size_t i = 0; ids && i < at->room; i++)
        if (at->ids[i]) *find_id(ids, room, at->ids[i]) = at->ids[i];
    if (ids) at->ids = ids;
    if (ids) at->room = room;
    return ids != NULL;
}

static const char *name_of(cbx_arena *arena, const cbx_trend_series *s)
{
    const cbx_point p = { s->point, s->scenario, s->tags, s->ntags, NULL, 0 };
    return point_key(arena, &p, NULL);
}

static int need_series(watcher *w, const cbx_trend *trend, place *at)
{
    const char *name = name_of(w->run->arena, &trend->series[0]);

    if (!name) return opt_fail(w->run->program, "out of memory");
    if (!at->series) at->series = name;
    if (trend->count == 1 && !strcmp(at->series, name)) return EXIT_PASS;
    return opt_fail(w->run->program,
                    "watch: several series have a metric '%s': choose one with --point, --scenario or --tag",
                    w->a->metric);
}

/* A run counts when it is first seen there, however old it says it is: one that was measured elsewhere may come late. */
static int take_point(watcher *w, place *at, const cbx_trend_point *p)
{
    const char **slot;

    if (!make_room(w->run->arena, at)) return opt_fail(w->run->program, "out of memory");
    slot = find_id(at->ids, at->room, p->run_id);
    if (*slot) return EXIT_PASS;
    *slot = cbx_arena_strdup(w->run->arena, p->run_id);
    if (!*slot) return opt_fail(w->run->program, "out of memory");
    at->nids++;
    watch_take(w, p->value);
    return EXIT_PASS;
}

static int take_new(watcher *w, cbx_store *store, place *at)
{
    const watch_args *a = w->a;
    const select_args select = { .metric = a->metric,
                                 .point = a->point,
                                 .scenario = a->scenario,
                                 .branch = a->branch,
                                 .machine = a->machine,
                                 .tags = a->tags };
    cbx_store_query query;
    cbx_err err = CBX_ERR_INIT;
    int status = select_query(w->run, &select, &query);
    cbx_trend trend;

    if (status) return status;
    if (cbx_store_trend(store, &query, &trend, &err)) return opt_fail(w->run->program, "%s", err.message);
    if (trend.count) status = need_series(w, &trend, at);
    if (!status && trend.count)
        status = select_check_machines(w->run, &trend.series[0], a->metric, a->allow_machines, &at->said);
    if (!status && trend.count) status = select_check_units(w->run, store, &trend.series[0], a->metric);
    for (size_t i = 0; !status && trend.count && i < trend.series[0].npoints && !*w->stop; i++)
        status = take_point(w, at, &trend.series[0].points[i]);
    cbx_trend_clear(&trend);
    return status;
}

int watch_store(watcher *w)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_store *store = NULL;
    place at = { .series = NULL };
    int status;

    if (cbx_store_open(w->run->ctx, w->a->data, NULL, &store, &err))
        return opt_fail(w->run->program, "%s", err.message);
    while (!(status = take_new(w, store, &at)) && !watch_over(w)) watch_rest(w);
    cbx_store_close(store);
    return status;
}

/* Events are kept as text, so that a long trace costs no more than its file. */
#include "calibrax/profiling/tracing.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json.h"
#include "calibrax/base/list.h"

#define MAX_DEPTH 256 /* open spans of a track; deeper ones are counted, not timed */

typedef struct track {
    uint32_t process, track;
    size_t depth;
    uint64_t began[MAX_DEPTH];
} track;

struct cbx_timeline {
    cbx_allocator al;
    pthread_mutex_t lock;
    cbx_text events, notes; /* without the brackets */
    CBX_LIST(track) tracks;
    size_t nevents;
    uint64_t last_ns;
    cbx_err fault;
};

cbx_status cbx_timeline_create(cbx_ctx *ctx, const char *process, cbx_timeline **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_timeline *t = cbx_mem_zalloc(al, sizeof *t);

    if (!t) return cbx_fail_nomem(err, "a trace");
    t->al = *al;
    pthread_mutex_init(&t->lock, NULL);
    cbx_text_init(&t->events, al);
    cbx_text_init(&t->notes, al);
    if (process) cbx_timeline_name(t, NULL, process, true);
    *out = t;
    return CBX_OK;
}

void cbx_timeline_free(cbx_timeline *t)
{
    if (!t) return;
    cbx_text_clear(&t->events);
    cbx_text_clear(&t->notes);
    cbx_list_clear(&t->al, &t->tracks);
    pthread_mutex_destroy(&t->lock);
    cbx_mem_free(&t->al, t, sizeof *t);
}

/* --- text of an event; the lock is held --- */

static void put_text(cbx_text *out, const char *s)
{
    cbx_json_write_string(s ? s : "", s ? strlen(s) : 0, CBX_JSON_COMPACT, out);
}

static cbx_timeline_at place(const cbx_timeline_at *at)
{
    cbx_timeline_at a = at ? *at : (cbx_timeline_at){ 0 };
    if (!a.time_ns) a.time_ns = cbx_clock_ns();
    if (!a.track) a.track = (uint32_t)gettid();
    if (!a.process) a.process = (uint32_t)getpid();
    return a;
}

static void put_us(cbx_text *out, const char *key, uint64_t ns)
{
    cbx_text_printf(out, ",\"%s\":%llu.%03u", key, (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

/* {"ph":"B","pid":1,"tid":2,"ts":3.000,"name":"x","cat":"y" and no closing brace */
static void open_event(cbx_timeline *t, char phase, const cbx_timeline_at *a, const char *name, const char *category)
{
    cbx_text *out = &t->events;

    cbx_text_puts(out, t->nevents++ ? ",\n" : "\n");
    cbx_text_printf(out, "{\"ph\":\"%c\",\"pid\":%u,\"tid\":%u", phase, a->process, a->track);
    if (phase != 'M') put_us(out, "ts", a->time_ns);
    if (name) {
        cbx_text_puts(out, ",\"name\":");
        put_text(out, name);
    }
    if (category) {
        cbx_text_puts(out, ",\"cat\":");
        put_text(out, category);
    }
    if (phase != 'M' && a->time_ns > t->last_ns) t->last_ns = a->time_ns;
}

static void close_event(cbx_timeline *t, const cbx_timeline_arg *args, size_t nargs)
{
    cbx_text *out = &t->events;
    bool first = true;

    for (size_t i = 0; i < nargs; i++) {
        char number[CBX_FORMAT_SIZE];
        if (!args[i].text && !isfinite(args[i].number)) continue;
        cbx_text_puts(out, first ? ",\"args\":{" : ",");
        first = false;
        put_text(out, args[i].key);
        cbx_text_putc(out, ':');
        if (args[i].text)
            put_text(out, args[i].text);
        else
            cbx_text_puts(out, cbx_format_double(args[i].number, number));
    }
    cbx_text_puts(out, first ? "}" : "}}");
}

static void note_fault(cbx_timeline *t, cbx_status st, const char *what, const cbx_timeline_at *a)
{
    if (!t->fault.status) cbx_fail(&t->fault, st, "track %u: %s", a->track, what);
}

/* --- spans --- */

static track *find_track(cbx_timeline *t, const cbx_timeline_at *a)
{
    for (size_t i = 0; i < t->tracks.n; i++) {
        if (t->tracks.items[i].track == a->track && t->tracks.items[i].process == a->process)
            return &t->tracks.items[i];
    }
    return NULL;
}

static track *need_track(cbx_timeline *t, const cbx_timeline_at *a)
{
    track *found = find_track(t, a);

    if (found) return found;
    if (t->tracks.n == CBX_TIMELINE_MAX_TRACKS)
        note_fault(t, CBX_EOVERFLOW, "there are too many tracks with spans", a);
    else if (cbx_list_push(&t->al, &t->tracks, (track){ .process = a->process, .track = a->track }))
        return &t->tracks.items[t->tracks.n - 1];
    else
        note_fault(t, CBX_ENOMEM, "out of memory", a);
    return NULL;
}

static void put_event(cbx_timeline *t, char phase, const char *name, const char *category, const cbx_timeline_at *at,
                      uint64_t duration_ns, const cbx_timeline_arg *args, size_t nargs)
{
    if (!t) return;
    cbx_timeline_at a = place(at);
    pthread_mutex_lock(&t->lock);
    track *on = phase == 'B' ? need_track(t, &a) : NULL;
    if (on && on->depth < MAX_DEPTH) on->began[on->depth] = a.time_ns;
    if (on) on->depth++;
    if (on || phase != 'B') {
        open_event(t, phase, &a, name, category);
        if (phase == 'X') put_us(&t->events, "dur", duration_ns);
        if (phase == 'X' && a.time_ns + duration_ns > t->last_ns) t->last_ns = a.time_ns + duration_ns;
        if (phase == 'i') cbx_text_puts(&t->events, ",\"s\":\"t\"");
        close_event(t, args, nargs);
    }
    pthread_mutex_unlock(&t->lock);
}

void cbx_timeline_begin(cbx_timeline *t, const char *name, const char *category, const cbx_timeline_at *at,
                        const cbx_timeline_arg *args, size_t nargs)
{
    put_event(t, 'B', name ? name : "", category ? category : "", at, 0, args, nargs);
}

void cbx_timeline_end(cbx_timeline *t, const cbx_timeline_at *at)
{
    if (!t) return;
    cbx_timeline_at a = place(at);
    pthread_mutex_lock(&t->lock);
    track *on = find_track(t, &a);
    if (!on || on->depth == 0) {
        note_fault(t, CBX_EINVAL, "a span was closed while none was open", &a);
    } else if (on->depth <= MAX_DEPTH && a.time_ns < on->began[on->depth - 1]) {
        note_fault(t, CBX_EINVAL, "a span ends before it begins", &a);
    } else {
        on->depth--;
        open_event(t, 'E', &a, NULL, NULL);
        close_event(t, NULL, 0);
    }
    pthread_mutex_unlock(&t->lock);
}

void cbx_timeline_span(cbx_timeline *t, const char *name, const char *category, const cbx_timeline_at *at,
                       uint64_t duration_ns, const cbx_timeline_arg *args, size_t nargs)
{
    put_event(t, 'X', name ? name : "", category ? category : "", at, duration_ns, args, nargs);
}

void cbx_timeline_instant(cbx_timeline *t, const char *name, const char *category, const cbx_timeline_at *at,
                          const cbx_timeline_arg *args, size_t nargs)
{
    put_event(t, 'i', name ? name : "", category ? category : "", at, 0, args, nargs);
}

void cbx_timeline_counter(cbx_timeline *t, const char *name, const cbx_timeline_at *at, const cbx_timeline_arg *values,
                          size_t nvalues)
{
    bool any = false;

    for (size_t i = 0; i < nvalues; i++) any = any || values[i].text || isfinite(values[i].number);
    if (any) put_event(t, 'C', name ? name : "", NULL, at, 0, values, nvalues);
}

void cbx_timeline_name(cbx_timeline *t, const cbx_timeline_at *at, const char *name, bool process)
{
    put_event(t, 'M', process ? "process_name" : "thread_name", NULL, at, 0,
              &(cbx_timeline_arg){ "name", name ? name : "", 0 }, 1);
}

void cbx_timeline_note(cbx_timeline *t, const char *key, const char *value)
{
    if (!t) return;
    pthread_mutex_lock(&t->lock);
    if (t->notes.len) cbx_text_putc(&t->notes, ',');
    put_text(&t->notes, key);
    cbx_text_putc(&t->notes, ':');
    put_text(&t->notes, value);
    pthread_mutex_unlock(&t->lock);
}

size_t cbx_timeline_events(const cbx_timeline *t) { return t ? t->nevents : 0; }

/* --- the file --- */

cbx_status cbx_timeline_write(cbx_ctx *ctx, cbx_timeline *t, const char *path, cbx_err *err)
{
    if (!t) return cbx_fail(err, CBX_EINVAL, "no trace to write to '%s'", path);
    CBX_SCOPED(cbx_text, out, cbx_ctx_allocator(ctx));
    pthread_mutex_lock(&t->lock);
    cbx_status st = t->fault.status ? cbx_fail(err, t->fault.status, "%s", t->fault.message)
                                    : cbx_text_check(&t->events, err);
    if (!st) st = cbx_text_check(&t->notes, err);
    if (!st) {
        bool any = t->nevents > 0;
        cbx_text_puts(&out, "{\"traceEvents\":[");
        cbx_text_add(&out, t->events.data, t->events.len);
        for (size_t i = 0; i < t->tracks.n; i++) {
            for (size_t d = t->tracks.items[i].depth; d > 0; d--) {
                cbx_text_printf(&out, "%s{\"ph\":\"E\",\"pid\":%u,\"tid\":%u", any ? ",\n" : "\n",
                                t->tracks.items[i].process, t->tracks.items[i].track);
                put_us(&out, "ts", t->last_ns);
                cbx_text_putc(&out, '}');
            }
        }
        cbx_text_puts(&out, "\n],\"displayTimeUnit\":\"ns\",\"otherData\":{");
        cbx_text_add(&out, t->notes.data, t->notes.len);
        cbx_text_puts(&out, "}}\n");
    }
    pthread_mutex_unlock(&t->lock);
    if (!st) st = cbx_text_check(&out, err);
    return st ? st : cbx_file_write_atomic(ctx, path, out.data, out.len, err);
}

/*
 * Traces of profilers: the Trace Event Format (jax.profiler's *.trace.json.gz and
 * perfetto_trace.json.gz, torch.profiler's export_chrome_trace) and XPlane (*.xplane.pb of
 * jax.profiler and XLA).
 *
 * A process or device of the trace is a scenario.  A kernel, that is a name of spans, is a point:
 * time of a call with its samples (spans inside included), time of its own, calls, and its share of
 * the time that the lanes of the process were busy.  A lane, that is a thread or stream, is a point
 * "(gaps)": what passed between one outermost span and the next.
 *
 * Sources: "Trace Event Format", the Catapult project; xplane.proto of openxla/xla (field numbers).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/list.h"
#include "calibrax/storage/importers/importer.h"

#define KERNELS_MAX 100 /* of a process: those that took longest; the others become one point */
#define SAMPLES_MAX 1000
#define LATEST_PS   4e18 /* 46 days */

/* Times are integers, so that a span that ends where the next begins does not contain it. */
typedef struct span {
    size_t lane, name, order; /* in the file */
    int64_t start_ps, end_ps; /* since the first span of the file */
} span;

typedef struct open_span {
    const char *name;
    double start_us;
} open_span;

typedef struct lane {
    size_t process;
    const char *name;         /* NULL: unknown */
    CBX_LIST(open_span) open; /* spans that have begun, the innermost last */
} lane;

/* A name in a process. */
typedef struct kernel {
    size_t process, name, calls;
    double total_ps, own_ps; /* exact up to hours */
    cbx__samples samples;
} kernel;

typedef struct trace {
    cbx__import_job *job;
    cbx_allocator al;
    cbx_names processes, lanes_by_key, names, kernels_by_key;
    CBX_LIST(const char *) titles; /* of processes; NULL: the key */
    CBX_LIST(lane) lanes;
    CBX_LIST(span) spans;
    CBX_LIST(kernel) kernels; /* all of them in the arena of the job */
    double origin_ns;         /* of the first span */
    size_t frames;            /* of Python, left out */
} trace;

static void no_memory(trace *t) { cbx__import_fail(t->job, CBX_ENOMEM, "out of memory for the spans of a trace"); }

static size_t process_of(trace *t, const char *key)
{
    size_t at = cbx_names_add(&t->processes, key);

    if (at == t->titles.n && !cbx_list_push(&t->al, &t->titles, NULL)) at = CBX_NO_NAME;
    if (at == CBX_NO_NAME) no_memory(t);
    return at;
}

static size_t lane_of(trace *t, size_t process, const char *key)
{
    if (process == CBX_NO_NAME) return CBX_NO_NAME;
    const char *text = cbx__import_printf(t->job, "%zu %s", process, key);
    size_t at = text ? cbx_names_add(&t->lanes_by_key, text) : CBX_NO_NAME;
    if (at == t->lanes.n && !cbx_list_push(&t->al, &t->lanes, (lane){ .process = process })) at = CBX_NO_NAME;
    if (at == CBX_NO_NAME) no_memory(t);
    return at;
}

/* start_ns is any integer part of the time, for example since 1970, to which more_ps are added. */
static void add_span(trace *t, size_t at, const char *name, double start_ns, double more_ps, double duration_ps)
{
    if (at == CBX_NO_NAME || cbx__import_failed(t->job)) return;
    if (!t->spans.n) t->origin_ns = start_ns;
    double start_ps = 1e3 * (start_ns - t->origin_ns) + more_ps;
    if (!(fabs(start_ps) < LATEST_PS) || !(duration_ps >= 0 && duration_ps < LATEST_PS)) {
        cbx__import_note(
            t->job, name,
            "a span without a time, with a negative one, or more than 23 days from the first was left out");
        return;
    }
    if (*name == '$') { /* jax.profiler marks frames of Python so */
        t->frames++;
        return;
    }
    size_t number = cbx_names_add(&t->names, name);
    if (number == CBX_NO_NAME ||
        !cbx_list_push(&t->al, &t->spans,
                       (span){ at, number, t->spans.n, llround(start_ps), llround(start_ps + duration_ps) }))
        no_memory(t);
}

/* --- Trace Event Format --- */

/* Files have microseconds with up to three decimals. */
static void add_span_us(trace *t, size_t at, const char *name, double start_us, double duration_us)
{
    add_span(t, at, name, 1e3 * start_us, 0, 1e3 * round(1e3 * duration_us));
}

/* A process or thread id as text: a number or a string. */
static const char *id_text(trace *t, const cbx_json *event, const char *key)
{
    const cbx_json *v = cbx_json_get(event, key);
    const char *text = cbx_json_string_value(v);

    if (text || !v) return text ? text : "";
    return cbx__import_printf(t->job, "%lld", (long long)cbx_json_int_value(v));
}

/* Names of processes and threads. */
static void read_metadata(trace *t, const cbx_json *event, const char *kind)
{
    const char *title = cbx_json_get_string(cbx_json_get(event, "args"), "name", NULL);

    if (!title || (strcmp(kind, "process_name") && strcmp(kind, "thread_name"))) return;
    size_t process = process_of(t, id_text(t, event, "pid"));
    if (process == CBX_NO_NAME) return;
    title = cbx__import_strndup(t->job, title, strlen(title));
    if (*kind == 'p') {
        t->titles.items[process] = title;
        return;
    }
    size_t at = lane_of(t, process, id_text(t, event, "tid"));
    if (at != CBX_NO_NAME) t->lanes.items[at].name = title;
}

/* B begins a span, E ends the last one of its lane. */
static void read_edge(trace *t, char phase, size_t at, const char *name, double time_us)
{
    lane *l = &t->lanes.items[at];

    if (phase == 'B') {
        if (!cbx_list_push(&t->al, &l->open, (open_span){ name, time_us })) no_memory(t);
    } else if (!l->open.n) {
        cbx__import_note(t->job, name, "the end of a span without its beginning was left out");
    } else {
        const open_span *innermost = &l->open.items[--l->open.n];
        add_span_us(t, at, innermost->name, innermost->start_us, time_us - innermost->start_us);
    }
}

static void read_events(trace *t, const cbx_json *events)
{
    const cbx_json *event;

    for (size_t i = 0; cbx__import_element(t->job, events, "traceEvents", i, &event); i++) {
        const char *phase = cbx_json_get_string(event, "ph", ""), *name = cbx_json_get_string(event, "name", "");
        size_t at;
        if (*phase == 'M') read_metadata(t, event, name);
        if (!strchr("XBE", *phase) || !*phase || phase[1]) continue;
        at = lane_of(t, process_of(t, id_text(t, event, "pid")), id_text(t, event, "tid"));
        if (*phase == 'X')
            add_span_us(t, at, name, cbx__import_number(t->job, event, "ts"), cbx__import_number(t->job, event, "dur"));
        else if (at != CBX_NO_NAME)
            read_edge(t, *phase, at, name, cbx__import_number(t->job, event, "ts"));
    }
    for (size_t i = 0; i < t->lanes.n; i++)
        for (size_t k = t->lanes.items[i].open.n; k-- > 0;)
            cbx__import_note(t->job, t->lanes.items[i].open.items[k].name, "a span that does not end was left out");
}

/* --- XPlane, in the wire format of Protocol Buffers --- */

/* What is left of a message. */
typedef struct message {
    const unsigned char *at, *end;
    bool bad;
} message;

typedef struct field {
    unsigned number;
    uint64_t value; /* of a number */
    message bytes;  /* of a text or a message; at NULL: a number */
} field;

static uint64_t read_varint(message *m)
{
    uint64_t value = 0;

    for (unsigned shift = 0; m->at < m->end && shift < 64; shift += 7) {
        unsigned char byte = *m->at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    m->bad = true;
    return 0;
}

/* The next field; false: the end, or the message is malformed. */
static bool next_field(message *m, field *f)
{
    uint64_t length;

    if (m->at == m->end || m->bad) return false;
    uint64_t key = read_varint(m);
    *f = (field){ .number = (unsigned)(key >> 3) };
    switch (key & 7) {
    case 0: f->value = read_varint(m); break;
    case 1:
    case 5: /* numbers of 8 and 4 bytes, which no field that is read here has */
        length = (key & 7) == 1 ? 8 : 4;
        if ((uint64_t)(m->end - m->at) < length) m->bad = true;
        if (!m->bad) m->at += length;
        break;
    case 2:
        length = read_varint(m);
        if ((uint64_t)(m->end - m->at) < length) m->bad = true;
        if (m->bad) return false;
        f->bytes = (message){ m->at, m->at + length, false };
        m->at += length;
        break;
    default: m->bad = true;
    }
    return !m->bad && f->number;
}

static const char *text_of(trace *t, const message *m)
{
    return m->at ? cbx__import_strndup(t->job, (const char *)m->at, (size_t)(m->end - m->at)) : NULL;
}

/* XEventMetadata by id: its display name, else its name. */
typedef struct metadata {
    uint64_t id;
    const char *name;
} metadata;

typedef CBX_LIST(metadata) metadata_list;

static void read_event_metadata(trace *t, message entry, metadata_list *list)
{
    metadata found = { 0, "" };
    field f, g;

    while (next_field(&entry, &f)) { /* an entry of a map: the key is 1, the value 2 */
        message value = f.bytes;
        if (f.number == 1) found.id = f.value;
        if (f.number != 2 || !value.at) continue;
        while (next_field(&value, &g)) {
            const char *text = g.number == 2 || g.number == 4 ? text_of(t, &g.bytes) : NULL;
            if (text && *text && (g.number == 4 || !*found.name)) found.name = text;
        }
        entry.bad |= value.bad;
    }
    if (entry.bad) cbx__import_fail(t->job, CBX_EFORMAT, "the name of a kernel is damaged");
    if (!cbx_list_push(&t->al, list, found)) no_memory(t);
}

CBX_BY(compare_metadata, metadata, id)

static void read_event(trace *t, message event, size_t at, uint64_t line_ns, const metadata_list *names)
{
    uint64_t offset_ps = 0, duration_ps = 0;
    metadata key = { 0, NULL }, *found;
    field f;

    while (next_field(&event, &f)) {
        if (f.number == 1) key.id = f.value;
        if (f.number == 2) offset_ps = f.value;
        if (f.number == 3) duration_ps = f.value;
    }
    if (event.bad) cbx__import_fail(t->job, CBX_EFORMAT, "a span is damaged");
    found = names->n ? bsearch(&key, names->items, names->n, sizeof key, compare_metadata) : NULL;
    add_span(t, at, found ? found->name : cbx__import_printf(t->job, "kernel %llu", (unsigned long long)key.id),
             (double)line_ns, (double)offset_ps, (double)duration_ps);
}

static void read_line(trace *t, message line_message, size_t process, const metadata_list *names)
{
    message rest = line_message;
    const char *title = NULL;
    uint64_t id = 0, start_ns = 0;
    field f;

    while (next_field(&rest, &f)) {
        if (f.number == 1) id = f.value;
        if (f.number == 2 || (f.number == 11 && f.bytes.at < f.bytes.end)) title = text_of(t, &f.bytes);
        if (f.number == 3) start_ns = f.value;
    }
    if (rest.bad) {
        cbx__import_fail(t->job, CBX_EFORMAT, "a lane is damaged");
        return;
    }
    size_t at = lane_of(t, process, cbx__import_printf(t->job, "%llu", (unsigned long long)id));
    if (at == CBX_NO_NAME) return;
    t->lanes.items[at].name = title;
    for (rest = line_message; next_field(&rest, &f);)
        if (f.number == 4 && f.bytes.at) read_event(t, f.bytes, at, start_ns, names);
}

static void read_plane(trace *t, message plane, size_t number)
{
    message rest = plane;
    metadata_list names = { 0 };
    size_t process = process_of(t, cbx__import_printf(t->job, "plane %zu", number));
    field f;

    while (next_field(&rest, &f)) {
        if (f.number == 2 && process != CBX_NO_NAME) t->titles.items[process] = text_of(t, &f.bytes);
        if (f.number == 4 && f.bytes.at) read_event_metadata(t, f.bytes, &names);
    }
    if (rest.bad) cbx__import_fail(t->job, CBX_EFORMAT, "plane %zu is damaged", number);
    if (names.n) qsort(names.items, names.n, sizeof *names.items, compare_metadata);
    for (rest = plane; next_field(&rest, &f) && !cbx__import_failed(t->job);)
        if (f.number == 3 && f.bytes.at) read_line(t, f.bytes, process, &names);
    cbx_list_clear(&t->al, &names);
}

/* XSpace: planes are field 1; 2 to 4 are errors, warnings and host names. */
static bool is_space(const cbx__import_source *src)
{
    message m = { (const unsigned char *)src->text, (const unsigned char *)src->text + src->len, false };
    size_t planes = 0;
    field f;

    while (next_field(&m, &f)) {
        if (f.number > 4 || !f.bytes.at) return false;
        planes += f.number == 1;
    }
    return !m.bad && planes;
}

static void read_space(trace *t, const cbx__import_source *src)
{
    message m = { (const unsigned char *)src->text, (const unsigned char *)src->text + src->len, false };
    size_t planes = 0;
    field f;

    while (next_field(&m, &f) && !cbx__import_failed(t->job))
        if (f.number == 1 && f.bytes.at) read_plane(t, f.bytes, planes++);
    if (m.bad) cbx__import_fail(t->job, CBX_EFORMAT, "the trace is cut off or damaged");
}

/* --- kernels and gaps --- */

static int compare_spans(const void *a, const void *b)
{
    const span *x = a, *y = b;

    if (x->lane != y->lane) return x->lane < y->lane ? -1 : 1;
    if (x->start_ps != y->start_ps) return x->start_ps < y->start_ps ? -1 : 1;
    if (x->end_ps != y->end_ps) return x->end_ps > y->end_ps ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

static kernel *kernel_of(trace *t, const span *s)
{
    char key[64];
    size_t process = t->lanes.items[s->lane].process, at;

    snprintf(key, sizeof key, "%zu %zu", process, s->name);
    at = cbx_names_add(&t->kernels_by_key, key);
    if (at == t->kernels.n && !cbx_list_push(&t->al, &t->kernels, (kernel){ .process = process, .name = s->name }))
        at = CBX_NO_NAME;
    if (at == CBX_NO_NAME) no_memory(t);
    return at == CBX_NO_NAME ? NULL : &t->kernels.items[at];
}

static double seconds(double ps) { return 1e-12 * ps; }

/* Time of its own: that of a span less that of the spans directly inside. */
static void add_up(trace *t)
{
    CBX_LIST(size_t) inside = { 0 }; /* the spans around the one at hand, outermost first */

    for (size_t i = 0; i < t->spans.n && !cbx__import_failed(t->job); i++) {
        const span *s = &t->spans.items[i];
        kernel *k = kernel_of(t, s);
        if (!k) break;
        while (inside.n) {
            const span *outer = &t->spans.items[inside.items[inside.n - 1]];
            if (outer->lane == s->lane && s->start_ps < outer->end_ps) break;
            inside.n--;
        }
        k->calls++;
        k->total_ps += (double)(s->end_ps - s->start_ps);
        k->own_ps += (double)(s->end_ps - s->start_ps);
        if (k->samples.n < SAMPLES_MAX)
            cbx__import_sample(t->job, &k->samples, seconds((double)(s->end_ps - s->start_ps)));
        if (inside.n) {
            const span *outer = &t->spans.items[inside.items[inside.n - 1]];
            kernel_of(t, outer)->own_ps -= (double)((s->end_ps < outer->end_ps ? s->end_ps : outer->end_ps) -
                                                    s->start_ps);
        }
        if (!cbx_list_push(&t->al, &inside, i)) no_memory(t);
    }
    cbx_list_clear(&t->al, &inside);
    for (size_t i = 0; i < t->kernels.n; i++) /* spans that overlap are counted in both */
        if (t->kernels.items[i].own_ps < 0) t->kernels.items[i].own_ps = 0;
}

static const cbx__import_def total = CBX__DEF("total_time", "s", LOWER, SECONDARY),
                             own = CBX__DEF("self_time", "s", LOWER, SECONDARY),
                             calls = CBX__DEF("calls", "1", INFO, SECONDARY),
                             share = CBX__DEF("share", "1", INFO, SECONDARY),
                             gaps = CBX__DEF("gaps", "1", INFO, SECONDARY),
                             gap_time = CBX__DEF("gap_time", "s", LOWER, SECONDARY),
                             longest = CBX__DEF("longest_gap", "s", LOWER, SECONDARY),
                             busy = CBX__DEF("busy_share", "1", HIGHER, SECONDARY);

static const char *title_of(const trace *t, size_t process)
{
    const char *title = t->titles.items[process];

    return title && *title ? title : t->processes.list[process];
}

/* The longest first. */
static int compare_kernels(const void *a, const void *b)
{
    const kernel *x = a, *y = b;

    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    return (x->own_ps < y->own_ps) - (x->own_ps > y->own_ps);
}

static void write_kernel(trace *t, const kernel *k, const char *name, double all_ps)
{
    cbx__import_point_begin(t->job, name, title_of(t, k->process));
    if (k->samples.n) cbx__import_metric_samples(t->job, &cbx__import_time, &k->samples);
    cbx__import_metric(t->job, &total, cbx_metric_of(seconds(k->total_ps)));
    cbx__import_metric(t->job, &own, cbx_metric_of(seconds(k->own_ps)));
    cbx__import_metric(t->job, &calls, cbx_metric_of((double)k->calls));
    if (all_ps > 0) cbx__import_metric(t->job, &share, cbx_metric_of(k->own_ps / all_ps));
    cbx__import_point_end(t->job);
}

static void write_kernels(trace *t)
{
    for (size_t i = 0, end; i < t->kernels.n; i = end) {
        kernel rest = { .process = t->kernels.items[i].process };
        double all_ps = 0;
        for (end = i; end < t->kernels.n && t->kernels.items[end].process == rest.process; end++)
            all_ps += t->kernels.items[end].own_ps;
        for (size_t k = i; k < end; k++) {
            const kernel *one = &t->kernels.items[k];
            if (k - i < KERNELS_MAX) {
                write_kernel(t, one, t->names.list[one->name], all_ps);
                continue;
            }
            rest.calls += one->calls;
            rest.total_ps += one->total_ps;
            rest.own_ps += one->own_ps;
        }
        if (rest.calls) write_kernel(t, &rest, "(others)", all_ps);
    }
}

/* Spans of a lane are next to each other, by time. */
static void write_gaps(trace *t)
{
    for (size_t i = 0, end; i < t->spans.n; i = end) {
        const lane *l = &t->lanes.items[t->spans.items[i].lane];
        int64_t first_ps = t->spans.items[i].start_ps, until_ps = first_ps, longest_ps = 0;
        double between_ps = 0;
        size_t n = 0;
        for (end = i; end < t->spans.n && t->spans.items[end].lane == t->spans.items[i].lane; end++) {
            const span *s = &t->spans.items[end];
            int64_t gap_ps = s->start_ps - until_ps;
            if (gap_ps > 0) {
                n++;
                between_ps += (double)gap_ps;
                if (gap_ps > longest_ps) longest_ps = gap_ps;
            }
            if (s->end_ps > until_ps) until_ps = s->end_ps;
        }
        cbx__import_point_begin(t->job, "(gaps)", title_of(t, l->process));
        cbx__import_tag(t->job, "lane", l->name && *l->name ? l->name : t->lanes_by_key.list[t->spans.items[i].lane]);
        cbx__import_metric(t->job, &gaps, cbx_metric_of((double)n));
        cbx__import_metric(t->job, &gap_time, cbx_metric_of(seconds(between_ps)));
        cbx__import_metric(t->job, &longest, cbx_metric_of(seconds((double)longest_ps)));
        if (until_ps > first_ps)
            cbx__import_metric(t->job, &busy, cbx_metric_of(1 - between_ps / (double)(until_ps - first_ps)));
        cbx__import_point_end(t->job);
    }
}

static const cbx_json *events_of(const cbx_json *json)
{
    return cbx_json_typeof(json) == CBX_JSON_ARRAY ? json : cbx_json_get(json, "traceEvents");
}

static int detect(const cbx__import_source *src)
{
    const cbx_json *events = events_of(src->json);

    if (src->json) return cbx_json_get_string(cbx_json_at(events, 0), "ph", NULL) ? 95 : 0;
    return is_space(src) ? 90 : 0;
}

static void read_trace(cbx__import_job *job)
{
    const cbx__import_source *src = cbx__import_source_of(job);
    trace t = { .job = job, .al = cbx__import_allocator(job) };

    cbx_names_init(&t.processes, &t.al);
    cbx_names_init(&t.lanes_by_key, &t.al);
    cbx_names_init(&t.names, &t.al);
    cbx_names_init(&t.kernels_by_key, &t.al);
    if (src->json)
        read_events(&t, events_of(src->json));
    else
        read_space(&t, src);
    if (!cbx__import_failed(job) && t.spans.n) {
        qsort(t.spans.items, t.spans.n, sizeof *t.spans.items, compare_spans);
        add_up(&t);
        if (t.kernels.n) qsort(t.kernels.items, t.kernels.n, sizeof *t.kernels.items, compare_kernels);
        if (!cbx__import_failed(job)) write_kernels(&t), write_gaps(&t);
    }
    if (t.frames) cbx__import_note(job, "$", "%zu frames of Python were left out", t.frames);
}

const cbx__importer cbx__importer_trace = {
    .name = "trace",
    .summary = "traces of jax.profiler, XLA and torch.profiler: Trace Event Format, XPlane",
    .detect = detect,
    .read = read_trace,
    .takes_text = true,
};

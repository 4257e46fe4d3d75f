/* A trace of a profiler: its kernels, the gaps of its lanes, its devices.  They are the points of a
 * run that was imported from a trace, or in the metadata of one that refers to a trace
 * (profiling/trace_link.h, with the kernels that `calibrax run --trace-dir` adds). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/hash_table.h"
#include "calibrax/site/page_view.h"

#define ROWS_A_PAGE 100 /* of each table */
#define MAX_FILES   20

typedef struct kernel {
    const char *name, *device;
    double share, own_s, calls, total_s; /* NaN: unknown */
    const cbx_point *point;              /* with its samples; NULL: the run has none */
} kernel;

typedef struct lane {
    const char *name, *device;
    double busy, gaps, gap_s, longest_s;
} lane;

typedef struct trace {
    kernel *kernels;
    lane *lanes;
    size_t nkernels, nlanes;
    bool longest_only;    /* other kernels were left out */
    const cbx_json *link; /* to files of the trace; NULL: the run was imported */
    cbx_names devices;    /* in the order in which they appear; in the arena */
    size_t page, from;    /* the tables have the rows from this one on */
} trace;

/* "device:GPU:0" of XLA's "/device:GPU:0", which is not a path. */
static const char *device_of(const char *process)
{
    return !strncmp(process, "/device:", 8) || !strncmp(process, "/host:", 6) ? process + 1 : process;
}

static double value_of(const cbx_point *p, const char *metric)
{
    const cbx_metric *m = cbx_point_metric(p, metric);

    return m ? m->value : NAN;
}

/* The points of an imported run, in their order: device by device, the longest kernel first. */
static void read_points(cbx__view *v, const cbx_run *run, trace *t)
{
    size_t n = cbx_run_npoints(run);

    t->kernels = cbx__view_alloc(v, n, sizeof *t->kernels);
    t->lanes = cbx__view_alloc(v, n, sizeof *t->lanes);
    for (size_t i = 0; t->kernels && t->lanes && i < n; i++) {
        const cbx_point *p = cbx_run_point(run, i);
        const char *name = cbx_point_tag(p, "lane"), *device = device_of(p->scenario);
        if (name && !strcmp(p->name, "(gaps)"))
            t->lanes[t->nlanes++] = (lane){ name,
                                            device,
                                            value_of(p, "busy_share"),
                                            value_of(p, "gaps"),
                                            value_of(p, "gap_time"),
                                            value_of(p, "longest_gap") };
        else if (cbx_point_metric(p, "self_time"))
            t->kernels[t->nkernels++] = (kernel){ p->name,
                                                  device,
                                                  value_of(p, "share"),
                                                  value_of(p, "self_time"),
                                                  value_of(p, "calls"),
                                                  value_of(p, "total_time"),
                                                  p };
    }
}

static double number(const cbx_json *o, const char *key) { return cbx_json_get_double(o, key, NAN); }

static void read_link(cbx__view *v, const cbx_json *link, trace *t)
{
    const cbx_json *kernels = cbx_json_get(link, "kernels"), *gaps = cbx_json_get(link, "gaps");

    t->link = link;
    t->longest_only = true;
    t->kernels = cbx__view_alloc(v, cbx_json_length(kernels), sizeof *t->kernels);
    t->lanes = cbx__view_alloc(v, cbx_json_length(gaps), sizeof *t->lanes);
    for (size_t i = 0; t->kernels && i < cbx_json_length(kernels); i++) {
        const cbx_json *o = cbx_json_at(kernels, i);
        const char *name = cbx_json_get_string(o, "name", NULL);
        if (name)
            t->kernels[t->nkernels++] = (kernel){ name,
                                                  device_of(cbx_json_get_string(o, "process", "")),
                                                  number(o, "share"),
                                                  number(o, "self_s"),
                                                  number(o, "calls"),
                                                  number(o, "total_s"),
                                                  NULL };
    }
    for (size_t i = 0; t->lanes && i < cbx_json_length(gaps); i++) {
        const cbx_json *o = cbx_json_at(gaps, i);
        const char *name = cbx_json_get_string(o, "lane", NULL);
        if (name)
            t->lanes[t->nlanes++] = (lane){ name,
                                            device_of(cbx_json_get_string(o, "process", "")),
                                            number(o, "busy_share"),
                                            number(o, "gaps"),
                                            number(o, "gap_s"),
                                            number(o, "longest_s") };
    }
}

static trace trace_of(cbx__view *v, const cbx_run *run)
{
    const cbx_json *metadata = cbx_run_metadata(run);
    trace t = { 0 };

    if (!strcmp(cbx_json_get_string(metadata, "import_format", ""), "trace"))
        read_points(v, run, &t);
    else
        read_link(v, cbx_json_get(metadata, "trace_link"), &t);
    return t;
}

/* @return false: out of memory */
static bool find_devices(cbx__view *v, trace *t)
{
    const cbx_allocator al = cbx_arena_allocator(v->arena);
    size_t at = 0;

    cbx_names_init(&t->devices, &al);
    for (size_t i = 0; at != CBX_NO_NAME && i < t->nkernels; i++) at = cbx_names_add(&t->devices, t->kernels[i].device);
    for (size_t i = 0; at != CBX_NO_NAME && i < t->nlanes; i++) at = cbx_names_add(&t->devices, t->lanes[i].device);
    return at != CBX_NO_NAME;
}

static const char *count_words(cbx__view *v, const trace *t)
{
    return cbx__view_text(v, "%zu kernel%s, %zu lane%s", t->nkernels, t->nkernels == 1 ? "" : "s", t->nlanes,
                          t->nlanes == 1 ? "" : "s");
}

void cbx__view_fact_trace(cbx__view *v, const cbx_run *run)
{
    trace t = trace_of(v, run);

    if (t.nkernels || t.nlanes)
        cbx__view_fact_link(v, "Trace", cbx__view_to(v, "trace", "id", cbx_run_id(run)), count_words(v, &t));
}

/* --- cells --- */

static void put_seconds(cbx__view *v, double s)
{
    cbx__view_cell_number(v, s, isfinite(s) ? cbx__view_value(v, s, NAN, NAN, "s") : "");
}

static void put_number(cbx__view *v, double n)
{
    cbx__view_cell_number(v, n, isfinite(n) ? cbx__view_text(v, "%.15g", n) : "");
}

/* A share as text, and before it as a bar, which screen readers ignore. */
static void put_share(cbx__view *v, double share)
{
    double part = !(share > 0) ? 0 : share < 1 ? share : 1;

    cbx__view_cell_number(v, share, "");
    if (v->document || !isfinite(share)) return;
    cbx_text_printf(v->out,
                    "<svg class=bar viewBox=\"0 0 100 1\" preserveAspectRatio=none aria-hidden=true>"
                    "<path d=\"M0 0h%.1fv1H0z\"/></svg><span>",
                    100 * part);
    if (share > 0 && share < 0.0005)
        cbx_text_puts(v->out, "&lt; 0.1 %</span>");
    else
        cbx_text_printf(v->out, "%.1f %%</span>", 100 * share);
}

/* The name of a kernel or lane, and below it its device where there are several. */
static void put_name(cbx__view *v, const char *href, const char *name, const char *device, bool several)
{
    if (v->document) {
        cbx__view_cell(v, name);
        cbx__view_cell(v, device);
        return;
    }
    cbx__view_cell_open(v);
    cbx_text_puts(v->out, "<span class=long>");
    cbx__view_link(v, href, name);
    cbx_text_puts(v->out, "</span>");
    if (!several) return;
    cbx_text_puts(v->out, "<small>");
    cbx__view_words(v, device);
    cbx_text_puts(v->out, "</small>");
}

/* --- tables --- */

/* Whether a table of n rows has some on this page; a document has all tables, and so does the first
 * page, where a note replaces those that are empty. */
static bool is_here(const cbx__view *v, const trace *t, size_t n) { return v->document || !t->from || t->from < n; }

static bool is_on_page(const trace *t, size_t i, size_t n) { return i < n && i < t->from + ROWS_A_PAGE; }

/* Columns from the first one on in JSON; on the page the device is below the name. */
static void begin_table(cbx__view *v, const char *name, const char *label, const cbx__column *columns, size_t n)
{
    cbx__column *shown = cbx__view_alloc(v, n, sizeof *shown);

    if (shown && !v->document) {
        shown[0] = columns[0];
        memcpy(shown + 1, columns + 2, (n - 2) * sizeof *shown);
    }
    cbx__view_table(v, name, label, v->document || !shown ? columns : shown, v->document || !shown ? n : n - 1);
}

static void put_kernels(cbx__view *v, const cbx_run *run, const trace *t)
{
    static const cbx__column columns[] = { { "Kernel", "kernel", NULL },  { "Device", "device", NULL },
                                           { "Share", "share", "n" },     { "Own time", "self_s", "n" },
                                           { "Calls", "calls", "n" },     { "Total time", "total_s", "n" },
                                           { "Mean call", "mean_s", "n" } };

    if (!is_here(v, t, t->nkernels)) return;
    cbx__view_section(v, t->longest_only ? "Longest kernels" : "Kernels");
    if (!t->nkernels) cbx__view_note(v, "The trace has no kernel.");
    if (!t->nkernels && !v->document) return;
    begin_table(v, "kernels", "kernels", columns, CBX_LEN(columns));
    for (size_t i = t->from; is_on_page(t, i, t->nkernels); i++) {
        const kernel *k = &t->kernels[i];
        cbx__view_row(v, NULL);
        put_name(v, k->point ? cbx__view_to_point(v, cbx_run_id(run), k->point) : NULL, k->name, k->device,
                 t->devices.n > 1);
        put_share(v, k->share);
        put_seconds(v, k->own_s);
        put_number(v, k->calls);
        put_seconds(v, k->total_s);
        put_seconds(v, k->calls > 0 ? k->total_s / k->calls : NAN);
    }
    cbx__view_table_end(v);
}

/* The longest gap first. */
static int by_gap(const void *a, const void *b)
{
    const lane *x = a, *y = b;
    double gx = isnan(x->longest_s) ? -1 : x->longest_s, gy = isnan(y->longest_s) ? -1 : y->longest_s;

    if (gx != gy) return gx > gy ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void put_lanes(cbx__view *v, const trace *t)
{
    static const cbx__column columns[] = { { "Lane", "lane", NULL },         { "Device", "device", NULL },
                                           { "Busy", "busy_share", "n" },    { "Gaps", "gaps", "n" },
                                           { "Time in gaps", "gap_s", "n" }, { "Longest gap", "longest_gap_s", "n" } };

    if (!is_here(v, t, t->nlanes)) return;
    cbx__view_section(v, "Gaps of the lanes");
    if (!t->nlanes) cbx__view_note(v, "The trace has no lane.");
    if (!t->nlanes && !v->document) return;
    if (t->nlanes) qsort(t->lanes, t->nlanes, sizeof *t->lanes, by_gap);
    begin_table(v, "lanes", "gaps of the lanes", columns, CBX_LEN(columns));
    for (size_t i = t->from; is_on_page(t, i, t->nlanes); i++) {
        const lane *l = &t->lanes[i];
        cbx__view_row(v, NULL);
        put_name(v, NULL, l->name, l->device, t->devices.n > 1);
        put_share(v, l->busy);
        put_number(v, l->gaps);
        put_seconds(v, l->gap_s);
        put_seconds(v, l->longest_s);
    }
    cbx__view_table_end(v);
}

static void put_devices(cbx__view *v, const trace *t)
{
    static const cbx__column columns[] = { { "Device", "device", NULL },
                                           { "Own time", "self_s", "n" },
                                           { "Kernels", "kernels", "n" },
                                           { "Lanes", "lanes", "n" } };
    struct sum {
        double own_s;
        size_t kernels, lanes;
    } *sums = cbx__view_alloc(v, t->devices.n, sizeof *sums);

    if (!sums || !is_here(v, t, t->devices.n)) return;
    for (size_t i = 0; i < t->nkernels; i++) {
        const kernel *k = &t->kernels[i];
        struct sum *sum = &sums[cbx_names_find(&t->devices, k->device)];
        sum->kernels++;
        if (k->share > 0 && t->longest_only) /* of all its kernels */
            sum->own_s = k->own_s / k->share;
        else if (isfinite(k->own_s))
            sum->own_s += k->own_s;
    }
    for (size_t i = 0; i < t->nlanes; i++) sums[cbx_names_find(&t->devices, t->lanes[i].device)].lanes++;
    cbx__view_table(v, "devices", "devices", columns, CBX_LEN(columns));
    for (size_t i = t->from; is_on_page(t, i, t->devices.n); i++) {
        cbx__view_row(v, NULL);
        cbx__view_cell(v, *t->devices.list[i] ? t->devices.list[i] : "(without a name)");
        put_seconds(v, sums[i].own_s);
        cbx__view_cell_count(v, sums[i].kernels);
        cbx__view_cell_count(v, sums[i].lanes);
    }
    cbx__view_table_end(v);
}

/* --- where it comes from --- */

/* Folders and files may name hosts and users: published pages are without them. */
static void put_files(cbx__view *v, const cbx_json *link)
{
    const cbx_json *files = cbx_json_get(link, "files");

    if (!link || v->site->link) return;
    cbx__view_fact(v, "Folder", cbx_json_get_string(link, "trace_dir", NULL));
    for (size_t i = 0; i < cbx_json_length(files) && (v->document || i < MAX_FILES); i++)
        cbx__view_fact(v, i ? cbx__view_text(v, "File %zu", i + 1) : "File",
                       cbx_json_get_string(cbx_json_at(files, i), "file", NULL));
}

/* A reference of the Python package may be kept with another run than the one that was traced. */
static cbx_status put_run(cbx__view *v, const cbx_run *run, const cbx_json *link, cbx_err *err)
{
    const char *traced = cbx_json_get_string(link, "run_id", cbx_run_id(run));
    bool found = false;
    cbx_status st = CBX_OK;

    cbx__view_fact_link(v, "Run", cbx__view_to_run(v, cbx_run_id(run)), cbx_run_id(run));
    if (!strcmp(traced, cbx_run_id(run))) return CBX_OK;
    st = cbx_store_has_run(v->store, traced, &found, err);
    if (!st) cbx__view_fact_link(v, "Traced run", found ? cbx__view_to_run(v, traced) : NULL, traced);
    return st == CBX_ENOMEM ? st : CBX_OK;
}

cbx_status cbx__view_trace(cbx__view *v, cbx_err *err)
{
    cbx_run *run = NULL;
    cbx_status st = cbx__view_load(v, "id", false, &run, err);
    trace t;
    size_t rows;

    if (st) return st;
    t = trace_of(v, run);
    if (v->out->status) {
        st = cbx_fail_nomem(err, "a trace");
        goto done;
    }
    if (!t.nkernels && !t.nlanes) {
        st = cbx_fail(err, CBX_ENOENT, "run '%.200s' has no kernels of a trace", cbx_run_id(run));
        goto done;
    }
    if (!find_devices(v, &t)) {
        st = cbx_fail_nomem(err, "a page");
        goto done;
    }
    rows = t.nkernels > t.nlanes ? t.nkernels : t.nlanes; /* no device is without one of these */
    t.page = cbx__view_page(v, ROWS_A_PAGE, rows);
    t.from = (t.page - 1) * ROWS_A_PAGE;
    cbx__view_begin(v, "", cbx__view_text(v, "Trace of run %s", cbx_run_id(run)));
    cbx__view_facts(v);
    st = put_run(v, run, t.link, err);
    cbx__view_fact(v, "Time", cbx__view_time(v, cbx_run_timestamp_us(run)));
    cbx__view_fact(v, "Content", count_words(v, &t));
    put_files(v, t.link);
    cbx__view_facts_end(v);
    put_devices(v, &t);
    cbx__view_note(v, "Own time is without the spans inside; shares are of the own time of a device.");
    put_kernels(v, run, &t);
    put_lanes(v, &t);
    cbx__view_pager(v, t.page, ROWS_A_PAGE, rows, "the trace");
done:
    cbx_run_free(run);
    return st;
}

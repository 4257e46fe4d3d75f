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

/* A trace has two lists. */
enum { KERNELS, LANES, NLISTS };

/* What an entry of a list has: a kernel its share, own time, calls and total time, a lane the share
 * that it is busy, gaps, the time in them and the longest one. */
static const struct {
    const char *list, *name;          /* the list, and the member with the name, in a link */
    const char *metrics[4], *keys[4]; /* of the values: in a point, in a link */
    size_t count;                     /* the one that is not a time; the first is a share */
} forms[NLISTS] = {
    { "kernels",
      "name",
      { "share", "self_time", "calls", "total_time" },
      { "share", "self_s", "calls", "total_s" },
      2 },
    { "gaps",
      "lane",
      { "busy_share", "gaps", "gap_time", "longest_gap" },
      { "busy_share", "gaps", "gap_s", "longest_s" },
      1 },
};

typedef struct entry {
    const char *name, *device;
    double v[4];            /* NaN: unknown */
    const cbx_point *point; /* of a kernel, with its samples; NULL: the run has none */
} entry;

typedef struct trace {
    entry *entries[NLISTS];
    size_t n[NLISTS];
    bool longest_only;    /* other kernels were left out */
    const cbx_json *link; /* to files of the trace; NULL: the run was imported */
    cbx_names devices;    /* in the order in which they appear; in the arena */
    cbx__paging rows;     /* of each table */
} trace;

/* "device:GPU:0" of XLA's "/device:GPU:0", which is not a path. */
static const char *device_of(const char *process)
{
    return !strncmp(process, "/device:", 8) || !strncmp(process, "/host:", 6) ? process + 1 : process;
}

/* The points of an imported run, in their order: device by device, the longest kernel first. */
static void read_points(cbx__view *v, const cbx_run *run, trace *t)
{
    size_t n = cbx_run_npoints(run);

    for (int k = 0; k < NLISTS; k++) t->entries[k] = cbx__view_alloc(v, n, sizeof **t->entries);
    for (size_t i = 0; t->entries[KERNELS] && t->entries[LANES] && i < n; i++) {
        const cbx_point *p = cbx_run_point(run, i);
        const char *lane = cbx_point_tag(p, "lane");
        int k = lane && !strcmp(p->name, "(gaps)") ? LANES : KERNELS;
        entry *e = &t->entries[k][t->n[k]];
        if (k == KERNELS && !cbx_point_metric(p, "self_time")) continue;
        *e = (entry){ k == KERNELS ? p->name : lane, device_of(p->scenario), { 0 }, k == KERNELS ? p : NULL };
        for (size_t m = 0; m < CBX_LEN(e->v); m++) {
            const cbx_metric *metric = cbx_point_metric(p, forms[k].metrics[m]);
            e->v[m] = metric ? metric->value : NAN;
        }
        t->n[k]++;
    }
}

static void read_link(cbx__view *v, const cbx_json *link, trace *t)
{
    t->link = link;
    t->longest_only = true;
    for (int k = 0; k < NLISTS; k++) {
        const cbx_json *list = cbx_json_get(link, forms[k].list);
        t->entries[k] = cbx__view_alloc(v, cbx_json_length(list), sizeof **t->entries);
        for (size_t i = 0; t->entries[k] && i < cbx_json_length(list); i++) {
            const cbx_json *o = cbx_json_at(list, i);
            entry *e = &t->entries[k][t->n[k]];
            e->name = cbx_json_get_string(o, forms[k].name, NULL);
            if (!e->name) continue;
            e->device = device_of(cbx_json_get_string(o, "process", ""));
            for (size_t m = 0; m < CBX_LEN(e->v); m++) e->v[m] = cbx_json_get_double(o, forms[k].keys[m], NAN);
            t->n[k]++;
        }
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

static const char *count_words(cbx__view *v, const trace *t)
{
    return cbx__view_text(v, "%zu kernel%s, %zu lane%s", t->n[KERNELS], t->n[KERNELS] == 1 ? "" : "s", t->n[LANES],
                          t->n[LANES] == 1 ? "" : "s");
}

void cbx__view_fact_trace(cbx__view *v, const cbx_run *run)
{
    trace t = trace_of(v, run);

    if (t.n[KERNELS] || t.n[LANES])
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
    } else {
        cbx__view_cell_open(v);
        cbx_text_puts(v->out, "<span class=long>");
        cbx__view_link(v, href, name);
        cbx_text_puts(v->out, several ? "</span><small>" : "</span>");
        if (several) cbx__view_words(v, device);
        if (several) cbx_text_puts(v->out, "</small>");
    }
    cbx__view_cell(v, device);
}

/* --- tables --- */

/* Whether a table of n rows has some on this page; a document has all tables, and so does the first
 * page, where a note replaces those that are empty. */
static bool is_here(const cbx__view *v, const trace *t, size_t n)
{
    return v->document || !t->rows.from || t->rows.from < n;
}

/* The longest gap first. */
static int by_gap(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    double gx = isnan(x->v[3]) ? -1 : x->v[3], gy = isnan(y->v[3]) ? -1 : y->v[3];

    if (gx != gy) return gx > gy ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* A list; on the page the device is below the name. */
static void put_list(cbx__view *v, const cbx_run *run, const trace *t, int k)
{
    static const cbx__column of_kernels[] = { { "Kernel", "kernel", NULL },  { NULL, "device", NULL },
                                              { "Share", "share", "n" },     { "Own time", "self_s", "n" },
                                              { "Calls", "calls", "n" },     { "Total time", "total_s", "n" },
                                              { "Mean call", "mean_s", "n" } },
                             of_lanes[] = { { "Lane", "lane", NULL },         { NULL, "device", NULL },
                                            { "Busy", "busy_share", "n" },    { "Gaps", "gaps", "n" },
                                            { "Time in gaps", "gap_s", "n" }, { "Longest gap", "longest_gap_s", "n" } };

    if (!is_here(v, t, t->n[k])) return;
    cbx__view_section(v, k == LANES ? "Gaps of the lanes" : t->longest_only ? "Longest kernels" : "Kernels");
    if (!t->n[k]) cbx__view_note(v, k == KERNELS ? "The trace has no kernel." : "The trace has no lane.");
    if (!t->n[k] && !v->document) return;
    if (k == LANES && t->n[k]) qsort(t->entries[k], t->n[k], sizeof **t->entries, by_gap);
    if (k == KERNELS)
        cbx__view_table(v, "kernels", "kernels", of_kernels, CBX_LEN(of_kernels));
    else
        cbx__view_table(v, "lanes", "gaps of the lanes", of_lanes, CBX_LEN(of_lanes));
    for (size_t i = t->rows.from; i < t->n[k] && i < t->rows.to; i++) {
        const entry *e = &t->entries[k][i];
        cbx__view_row(v, NULL);
        put_name(v, e->point ? cbx__view_to_point(v, cbx_run_id(run), e->point) : NULL, e->name, e->device,
                 t->devices.n > 1);
        put_share(v, e->v[0]);
        for (size_t m = 1; m < CBX_LEN(e->v); m++) (m == forms[k].count ? put_number : put_seconds)(v, e->v[m]);
        if (k == KERNELS) put_seconds(v, e->v[2] > 0 ? e->v[3] / e->v[2] : NAN);
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
        size_t n[NLISTS];
    } *sums = cbx__view_alloc(v, t->devices.n, sizeof *sums);

    if (!sums || !is_here(v, t, t->devices.n)) return;
    for (int k = 0; k < NLISTS; k++)
        for (size_t i = 0; i < t->n[k]; i++) {
            const entry *e = &t->entries[k][i];
            struct sum *sum = &sums[cbx_names_find(&t->devices, e->device)];
            sum->n[k]++;
            if (k == LANES) continue;
            if (e->v[0] > 0 && t->longest_only) /* of all its kernels */
                sum->own_s = e->v[1] / e->v[0];
            else if (isfinite(e->v[1]))
                sum->own_s += e->v[1];
        }
    cbx__view_table(v, "devices", "devices", columns, CBX_LEN(columns));
    for (size_t i = t->rows.from; i < t->devices.n && i < t->rows.from + ROWS_A_PAGE; i++) {
        cbx__view_row(v, NULL);
        cbx__view_cell(v, *t->devices.list[i] ? t->devices.list[i] : "(without a name)");
        put_seconds(v, sums[i].own_s);
        for (int k = 0; k < NLISTS; k++) cbx__view_cell_count(v, sums[i].n[k]);
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

cbx_status cbx__view_trace(cbx__view *v, cbx_err *err)
{
    CBX_OWNED(cbx_run) *run = NULL;
    cbx_status st = cbx__view_load(v, "id", &run, err);
    size_t at = 0;

    if (st) return st;
    trace t = trace_of(v, run);
    cbx_names_init(&t.devices, CBX_IN_ARENA(v->arena));
    for (int k = 0; k < NLISTS; k++)
        for (size_t i = 0; at != CBX_NO_NAME && i < t.n[k]; i++) at = cbx_names_add(&t.devices, t.entries[k][i].device);
    if (v->out->status || at == CBX_NO_NAME) return cbx_fail_nomem(err, "a trace");
    if (!t.devices.n) return cbx_fail(err, CBX_ENOENT, "run '%.200s' has no kernels of a trace", cbx_run_id(run));
    /* no device is without one of these */
    t.rows = cbx__view_page(v, ROWS_A_PAGE, t.n[KERNELS] > t.n[LANES] ? t.n[KERNELS] : t.n[LANES]);
    cbx__view_begin(v, "", cbx__view_text(v, "Trace of run %s", cbx_run_id(run)));
    cbx__view_facts(v);
    cbx__view_fact_link(v, "Run", cbx__view_to_run(v, cbx_run_id(run)), cbx_run_id(run));
    /* A reference of the Python package may be kept with another run than the one that was
     * traced. */
    const char *traced = cbx_json_get_string(t.link, "run_id", cbx_run_id(run));
    bool found = false;
    if (strcmp(traced, cbx_run_id(run)) != 0 && cbx__view_got(v, cbx_store_has_run(v->store, traced, &found, NULL)))
        cbx__view_fact_link(v, "Traced run", found ? cbx__view_to_run(v, traced) : NULL, traced);
    cbx__view_fact(v, "Time", cbx__view_time(v, cbx_run_timestamp_us(run)));
    cbx__view_fact(v, "Content", count_words(v, &t));
    put_files(v, t.link);
    cbx__view_facts_end(v);
    put_devices(v, &t);
    cbx__view_note(v, "Own time is without the spans inside; shares are of the own time of a device.");
    put_list(v, run, &t, KERNELS);
    put_list(v, run, &t, LANES);
    cbx__view_pager(v, &t.rows, "the trace");
    return CBX_OK;
}

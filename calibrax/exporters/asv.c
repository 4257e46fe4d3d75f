/*
 * A folder that `asv publish` builds a site from (airspeed velocity: results 2, benchmarks 2, machine 1).
 *
 *     asv.conf.json
 *     results/benchmarks.json
 *     results/<machine>/machine.json
 *     results/<machine>/<commit>-calibrax.json
 *
 * A benchmark is one metric of one point: "scenario.point.metric".  Tags that differ among its points are its parameters; all
 * runs of one commit on one machine become one result: the median of their values, and all their samples.  Times are in
 * seconds, sizes in bytes, everything else in its own unit.  asv takes every rise for a regression, whatever the direction.
 * What is a benchmark is asv_benchmarks.c; the files are here.
 */
#include "calibrax/exporters/asv.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/statistics/estimate.h"

enum { COMMIT_SHORT = 8 };

/* --- JSON --- */

/* Python's repr of a text. */
static cbx_json *repr(cbx_export_job *job, const char *value)
{
    cbx_text out;
    cbx_json *v;

    if (!value) return cbx_json_new_string("None");
    cbx_text_init(&out, cbx_ctx_allocator(job->ctx));
    cbx_text_putc(&out, '\'');
    for (; *value; value++) {
        if (*value == '\'' || *value == '\\') cbx_text_putc(&out, '\\');
        if (*value == '\n')
            cbx_text_puts(&out, "\\n");
        else
            cbx_text_putc(&out, *value);
    }
    cbx_text_putc(&out, '\'');
    v = out.status ? NULL : cbx_json_new_string(cbx_text_str(&out));
    cbx_text_clear(&out);
    return v;
}

/* The value if all went well, else NULL. */
static cbx_json *if_whole(cbx_json *v, bool whole)
{
    if (whole) return v;
    cbx_json_unref(v);
    return NULL;
}

static cbx_json *params_json(cbx_export_job *job, const cbx__asv_benchmark *b)
{
    cbx_json *all = cbx_json_new_array();
    bool ok = all != NULL;

    for (size_t k = 0; k < b->nparams; k++) {
        cbx_json *values = cbx_json_new_array();
        for (size_t i = 0; ok && i < b->params[k].values.n; i++)
            ok = cbx_json_push(values, repr(job, b->params[k].values.items[i]));
        ok &= cbx_json_push(all, values);
    }
    return if_whole(all, ok);
}

static cbx_json *benchmark_json(cbx_export_job *job, const cbx__asv_benchmark *b)
{
    cbx_json *o = cbx_json_new_object(), *names = cbx_json_new_array();
    bool ok = true;

    for (size_t k = 0; k < b->nparams; k++) ok &= cbx_json_push(names, cbx_json_new_string(b->params[k].key));
    ok &= cbx_json_set_string(o, "code", "");
    ok &= cbx_json_set_string(o, "name", b->name);
    ok &= cbx_json_set(o, "param_names", names);
    ok &= cbx_json_set(o, "params", params_json(job, b));
    ok &= cbx_json_set_double(o, "timeout", 60);
    ok &= cbx_json_set_string(o, "type", b->type);
    ok &= cbx_json_set_string(o, "unit", b->unit);
    ok &= cbx_json_set_string(o, "version", b->version);
    return if_whole(o, ok);
}

/* Takes the document; NULL: out of memory. */
static cbx_status put_document(cbx_export_job *job, const char *name, cbx_json *document, cbx_err *err)
{
    cbx_text text;
    cbx_status st;

    if (!document || !name) {
        cbx_json_unref(document);
        return cbx__asv_no_memory(err);
    }
    cbx_text_init(&text, cbx_ctx_allocator(job->ctx));
    cbx_json_write(document, CBX_JSON_INDENT2 | CBX_JSON_ASCII | CBX_JSON_NONFINITE_BARE, &text);
    cbx_text_putc(&text, '\n');
    st = cbx__export_file(job, name, &text, err);
    cbx_text_clear(&text);
    cbx_json_unref(document);
    return st;
}

static cbx_status put_benchmarks(cbx__asv_site *s, cbx_err *err)
{
    cbx_json *o = cbx_json_new_object();
    bool ok = true;

    for (size_t i = 0; i < s->n; i++) ok &= cbx_json_set(o, s->list[i].name, benchmark_json(s->job, &s->list[i]));
    ok &= cbx_json_set_int(o, "version", 2);
    return put_document(s->job, "results/benchmarks.json", if_whole(o, ok), err);
}

static cbx_status put_config(cbx__asv_site *s, cbx_err *err)
{
    cbx_json *o = cbx_json_new_object(), *branches = cbx_json_new_array();
    cbx__asv_texts names = { 0 };

    for (size_t r = 0; r < s->nruns; r++)
        if (cbx_run_branch(s->runs[r]) && !cbx__asv_add_text(s->job->arena, &names, cbx_run_branch(s->runs[r]))) {
            cbx_json_unref(branches);
            cbx_json_unref(o);
            return cbx__asv_no_memory(err);
        }
    for (size_t i = 0; i < names.n; i++) cbx_json_push(branches, cbx_json_new_string(names.items[i]));
    if (!names.n) cbx_json_push(branches, cbx_json_new_string("HEAD"));
    cbx_json_set_int(o, "version", 1);
    cbx_json_set_string(o, "project", "calibrax");
    cbx_json_set_string(o, "repo", s->job->opts.repo ? s->job->opts.repo : ".");
    cbx_json_set(o, "branches", branches);
    cbx_json_set_string(o, "environment_type", "existing");
    cbx_json_set_string(o, "results_dir", "results");
    cbx_json_set_string(o, "html_dir", "html");
    return put_document(s->job, "asv.conf.json", o, err);
}

/* --- results --- */

/* What was seen of one benchmark in one place: values of runs, and their samples. */
typedef struct heap {
    double *values, *samples;
    size_t nvalues, value_room, nsamples, sample_room;
} heap;

static bool push(cbx_arena *arena, double **list, size_t *n, size_t *room, double v)
{
    double *more = cbx__asv_grown(arena, *list, *n, room, sizeof *more);

    if (!more) return false;
    *list = more;
    more[(*n)++] = v;
    return true;
}

static bool pile(cbx_arena *arena, heap *h, const cbx_metric *m, const cbx__asv_benchmark *b)
{
    if (!push(arena, &h->values, &h->nvalues, &h->value_room, m->value * b->times / b->per)) return false;
    for (size_t i = 0; i < m->nsamples; i++)
        if (!push(arena, &h->samples, &h->nsamples, &h->sample_room, m->samples[i] * b->times / b->per)) return false;
    return true;
}

static const char *machine_of(const cbx_run *run)
{
    return cbx_json_get_string(cbx_run_environment(run), "machine", "unknown");
}

static bool belongs(const cbx_run *run, const char *machine, const char *commit)
{
    return !strcmp(machine_of(run), machine) && !strcmp(cbx_run_commit(run), commit);
}

/* Members of a row by their place in `columns`. */
enum {
    RESULT,
    PARAMS,
    VERSION,
    STARTED_AT,
    DURATION,
    CI_A,
    CI_B,
    Q_25,
    Q_75,
    NUMBER,
    REPEAT,
    SAMPLES,
    PROFILE,
    NCOLUMNS
};
static const char *const columns[NCOLUMNS] = { "result",     "params",        "version",       "started_at",
                                               "duration",   "stats_ci_99_a", "stats_ci_99_b", "stats_q_25",
                                               "stats_q_75", "stats_number",  "stats_repeat",  "samples",
                                               "profile" };

static void push_nulls(cbx_json *row[NCOLUMNS])
{
    static const int each[] = { RESULT, CI_A, CI_B, Q_25, Q_75, NUMBER, REPEAT, SAMPLES };

    for (size_t i = 0; i < CBX_LEN(each); i++) cbx_json_push_null(row[each[i]]);
}

/* The interval is asv's: 99 % of the median, where there are samples enough for one. */
static cbx_status push_stats(cbx_ctx *ctx, cbx_json *row[NCOLUMNS], const heap *h, cbx_err *err)
{
    cbx_interval ci = { .level = 0 };
    cbx_summary s;
    cbx_status st = cbx_stat_summary(ctx, h->samples, h->nsamples, &s, err);
    cbx_json *samples;

    if (!st) st = cbx_stat_median_interval(ctx, h->samples, h->nsamples, 0.99, &ci, err);
    if (st) return st;
    cbx_json_push(row[CI_A], cbx_json_new_double(ci.level > 0 ? ci.lower : -INFINITY));
    cbx_json_push(row[CI_B], cbx_json_new_double(ci.level > 0 ? ci.upper : INFINITY));
    cbx_json_push(row[Q_25], cbx_json_new_double(s.p25));
    cbx_json_push(row[Q_75], cbx_json_new_double(s.p75));
    cbx_json_push(row[NUMBER], cbx_json_new_int(1));
    cbx_json_push(row[REPEAT], cbx_json_new_int((int64_t)h->nsamples));
    samples = cbx_json_new_array();
    for (size_t i = 0; i < h->nsamples; i++) cbx_json_push(samples, cbx_json_new_double(h->samples[i]));
    return cbx_json_push(row[SAMPLES], samples) ? CBX_OK : cbx__asv_no_memory(err);
}

static bool all_finite(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i])) return false;
    return true;
}

static cbx_status push_place(cbx_ctx *ctx, cbx_json *row[NCOLUMNS], const heap *h, cbx_err *err)
{
    static const int stats[] = { CI_A, CI_B, Q_25, Q_75, NUMBER, REPEAT, SAMPLES };
    double value = NAN;
    cbx_status st = CBX_OK;

    if (!h->nvalues) {
        push_nulls(row);
        return CBX_OK;
    }
    if (all_finite(h->values, h->nvalues)) st = cbx_stat_median(ctx, h->values, h->nvalues, &value, err);
    if (st) return st;
    cbx_json_push(row[RESULT], cbx_json_new_double(value));
    if (h->nsamples && all_finite(h->samples, h->nsamples)) return push_stats(ctx, row, h, err);
    for (size_t i = 0; i < CBX_LEN(stats); i++) cbx_json_push_null(row[stats[i]]);
    return CBX_OK;
}

/* One row of "results"; *out NULL: the runs have nothing of this benchmark. */
static cbx_status make_row(cbx__asv_site *s, const cbx__asv_benchmark *b, const char *machine, const char *commit,
                           cbx_json **out, cbx_err *err)
{
    cbx_arena *arena = s->job->arena;
    heap *heaps = cbx_arena_calloc(arena, b->combinations, sizeof *heaps);
    cbx_json *row[NCOLUMNS] = { NULL }, *array;
    int64_t started = INT64_MAX;
    bool ok = heaps != NULL;
    cbx_status st = CBX_OK;

    *out = NULL;
    for (size_t r = 0; ok && r < s->nruns; r++)
        for (size_t i = 0; ok && belongs(s->runs[r], machine, commit) && i < cbx_run_npoints(s->runs[r]); i++) {
            const cbx_point *p = cbx_run_point(s->runs[r], i);
            if (!cbx__asv_is_of(b, p)) continue;
            ok = pile(arena, &heaps[cbx__asv_place_of(b, p)], cbx_point_metric(p, b->metric), b);
            if (cbx_run_timestamp_us(s->runs[r]) < started) started = cbx_run_timestamp_us(s->runs[r]);
        }
    if (!ok) return cbx__asv_no_memory(err);
    if (started == INT64_MAX) return CBX_OK;
    array = cbx_json_new_array();
    for (int i = 0; i < NCOLUMNS; i++)
        row[i] = i == PARAMS                     ? params_json(s->job, b)
                 : i == VERSION                  ? cbx_json_new_string(b->version)
                 : i == STARTED_AT               ? cbx_json_new_int(started / 1000)
                 : i == DURATION || i == PROFILE ? NULL
                                                 : cbx_json_new_array();
    for (size_t i = 0; !st && i < b->combinations; i++) st = push_place(s->job->ctx, row, &heaps[i], err);
    for (int i = 0; i <= SAMPLES; i++) ok &= i == DURATION ? cbx_json_push_null(array) : cbx_json_push(array, row[i]);
    *out = if_whole(array, ok && !st);
    return st ? st : *out ? CBX_OK : cbx__asv_no_memory(err);
}

/* What asv tells machines apart by: facts of the hardware, and no host name. */
static cbx_json *machine_json(const cbx_run *run)
{
    const cbx_json *hardware = cbx_json_get(cbx_run_environment(run), "hardware");
    cbx_json *o = cbx_json_new_object();
    int64_t threads = cbx_json_get_int(hardware, "cpu_count", 0),
            memory = cbx_json_get_int(hardware, "memory_bytes", 0);
    char count[24] = "", ram[24] = "";

    if (threads > 0) snprintf(count, sizeof count, "%lld", (long long)threads);
    if (memory > 0) snprintf(ram, sizeof ram, "%lld", (long long)(memory / 1024));
    cbx_json_set_string(o, "machine", machine_of(run));
    cbx_json_set_string(o, "os", cbx_json_get_string(hardware, "os", ""));
    cbx_json_set_string(o, "arch", cbx_json_get_string(hardware, "arch", ""));
    cbx_json_set_string(o, "cpu", cbx_json_get_string(hardware, "cpu_model", ""));
    cbx_json_set_string(o, "num_cpu", count);
    cbx_json_set_string(o, "ram", ram);
    return o;
}

/* Commits whose beginnings are the same need all of it. */
static bool short_will_do(const cbx__asv_site *s, const char *machine, const char *commit)
{
    for (size_t r = 0; r < s->nruns; r++)
        if (!strcmp(machine_of(s->runs[r]), machine) && strcmp(cbx_run_commit(s->runs[r]), commit) &&
            !strncmp(cbx_run_commit(s->runs[r]), commit, COMMIT_SHORT))
            return false;
    return true;
}

static cbx_status put_results(cbx__asv_site *s, const cbx_run *run, const char *folder, cbx_err *err)
{
    const char *machine = machine_of(run), *commit = cbx_run_commit(run);
    const char *safe = cbx__export_safe_name(s->job->arena, commit), *name = NULL;
    cbx_json *o = cbx_json_new_object(), *results = cbx_json_new_object(), *names = cbx_json_new_array(), *row;
    cbx_status st = CBX_OK;

    if (safe)
        name = cbx_arena_printf(s->job->arena, "results/%s/%.*s-calibrax.json", folder,
                                short_will_do(s, machine, commit) ? COMMIT_SHORT : 1000, safe);
    for (int i = 0; i <= SAMPLES; i++) cbx_json_push(names, cbx_json_new_string(columns[i]));
    for (size_t i = 0; !st && i < s->n; i++) {
        st = make_row(s, &s->list[i], machine, commit, &row, err);
        if (!st && row) cbx_json_set(results, s->list[i].name, row);
    }
    cbx_json_set_string(o, "commit_hash", commit);
    cbx_json_set_string(o, "env_name", "calibrax");
    cbx_json_set_int(o, "date", cbx_run_timestamp_us(run) / 1000);
    cbx_json_set(o, "params", machine_json(run));
    cbx_json_set_string(o, "python", "");
    cbx_json_set(o, "requirements", cbx_json_new_object());
    cbx_json_set(o, "env_vars", cbx_json_new_object());
    cbx_json_set(o, "result_columns", names);
    cbx_json_set(o, "results", results);
    cbx_json_set(o, "durations", cbx_json_new_object());
    cbx_json_set_int(o, "version", 2);
    if (!st) return put_document(s->job, name, o, err);
    cbx_json_unref(o);
    return st;
}

static bool is_first(const cbx__asv_site *s, size_t at, bool of_commit)
{
    for (size_t r = 0; r < at; r++)
        if (!strcmp(machine_of(s->runs[r]), machine_of(s->runs[at])) &&
            (!of_commit || !strcmp(cbx_run_commit(s->runs[r]), cbx_run_commit(s->runs[at]))))
            return false;
    return true;
}

static cbx_status put_run(cbx__asv_site *s, size_t r, cbx_err *err)
{
    const char *folder = cbx__export_safe_name(s->job->arena, machine_of(s->runs[r])), *name;
    cbx_json *machine;
    cbx_status st = CBX_OK;

    if (!folder) return cbx__asv_no_memory(err);
    if (is_first(s, r, false)) {
        name = cbx_arena_printf(s->job->arena, "results/%s/machine.json", folder);
        machine = machine_json(s->runs[r]);
        cbx_json_set_int(machine, "version", 1);
        st = put_document(s->job, name, machine, err);
    }
    if (!st && is_first(s, r, true)) st = put_results(s, s->runs[r], folder, err);
    return st;
}

static cbx_status asv_runs(cbx_export_job *job, const cbx_run *const *runs, size_t nruns, cbx_err *err)
{
    cbx__asv_site s = { .job = job, .runs = runs, .nruns = nruns };
    cbx_status st = CBX_OK;

    for (size_t r = 0; r < nruns; r++)
        if (!cbx_run_commit(runs[r]) || !*cbx_run_commit(runs[r]))
            return cbx_fail(err, CBX_EINVAL, "run '%s' has no commit, and asv files results by commit",
                            cbx_run_id(runs[r]));
    st = cbx__asv_find_benchmarks(&s, err);
    if (!st) st = put_benchmarks(&s, err);
    if (!st) st = put_config(&s, err);
    for (size_t r = 0; !st && r < nruns; r++) st = put_run(&s, r, err);
    return st;
}

const cbx_exporter cbx__export_asv = { sizeof(cbx_exporter),
                                       CBX_EXPORTER_ABI,
                                       "asv",
                                       "a folder that 'asv publish' builds a site from",
                                       asv_runs,
                                       NULL,
                                       true };

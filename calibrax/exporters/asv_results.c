/*
 * The results of one commit on one machine, as asv keeps them: the median of its runs' values, and all their samples.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/exporters/asv.h"
#include "calibrax/statistics/estimate.h"

/* What was seen of one benchmark in one place: values of runs, and their samples. */
typedef struct heap {
    double *values, *samples;
    size_t nvalues, value_room, nsamples, sample_room;
} heap;

/* What the runs of a commit have of one benchmark. */
typedef struct result {
    size_t benchmark;
    heap *heaps; /* one a combination */
    int64_t started;
} result;

typedef struct results {
    cbx__asv_site *s;
    const cbx_allocator *al;
    result *list;
    size_t n, room;
    uint32_t *number; /* of each benchmark: 1 + place in the list; 0: none */
} results;

static bool push(const cbx_allocator *al, double **list, size_t *n, size_t *room, double v)
{
    if (*n == *room) {
        size_t wanted = *room ? 2 * *room : 4;
        double *more = cbx_mem_resize(al, *list, *room * sizeof *more, wanted * sizeof *more);
        if (!more) return false;
        *list = more;
        *room = wanted;
    }
    (*list)[(*n)++] = v;
    return true;
}

static bool pile(const cbx_allocator *al, heap *h, const cbx_metric *m, const cbx__asv_benchmark *b)
{
    if (!push(al, &h->values, &h->nvalues, &h->value_room, m->value * b->times / b->per)) return false;
    for (size_t i = 0; i < m->nsamples; i++)
        if (!push(al, &h->samples, &h->nsamples, &h->sample_room, m->samples[i] * b->times / b->per)) return false;
    return true;
}

static result *result_of(results *r, const cbx__asv_benchmark *b)
{
    size_t benchmark = (size_t)(b - r->s->list), wanted = r->room ? 2 * r->room : 16;
    result *more;

    if (r->number[benchmark]) return &r->list[r->number[benchmark] - 1];
    if (r->n == r->room) {
        more = cbx_mem_resize(r->al, r->list, r->room * sizeof *more, wanted * sizeof *more);
        if (!more) return NULL;
        r->list = more;
        r->room = wanted;
    }
    more = &r->list[r->n];
    *more = (result){ benchmark, cbx_mem_calloc(r->al, b->combinations, sizeof *more->heaps), INT64_MAX };
    if (!more->heaps) return NULL;
    r->number[benchmark] = (uint32_t)++r->n;
    return more;
}

static bool pile_metric(results *r, const cbx_run *run, const cbx_point *p, const cbx_named_metric *m)
{
    const cbx__asv_benchmark *b;
    result *to;

    if (!cbx__asv_benchmark_of(r->s, p, m->name, &b)) return false;
    if (!b) return true;
    to = result_of(r, b);
    if (!to || !pile(r->al, &to->heaps[cbx__asv_place_of(r->s, b, p)], &m->metric, b)) return false;
    if (cbx_run_timestamp_us(run) < to->started) to->started = cbx_run_timestamp_us(run);
    return true;
}

static bool pile_run(results *r, const cbx_run *run)
{
    for (size_t i = 0; i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        for (size_t k = 0; k < p->nmetrics; k++)
            if (!pile_metric(r, run, p, &p->metrics[k])) return false;
    }
    return true;
}

static void heap_clear(const cbx_allocator *al, heap *h)
{
    cbx_mem_free(al, h->values, h->value_room * sizeof *h->values);
    cbx_mem_free(al, h->samples, h->sample_room * sizeof *h->samples);
    *h = (heap){ 0 };
}

static void results_clear(results *r)
{
    for (size_t i = 0; i < r->n; i++) {
        size_t combinations = r->s->list[r->list[i].benchmark].combinations;
        for (size_t k = 0; k < combinations; k++) heap_clear(r->al, &r->list[i].heaps[k]);
        cbx_mem_free(r->al, r->list[i].heaps, combinations * sizeof(heap));
    }
    cbx_mem_free(r->al, r->list, r->room * sizeof *r->list);
    cbx_mem_free(r->al, r->number, r->s->n * sizeof *r->number);
}

/* --- rows --- */

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
    return cbx_json_push(row[SAMPLES], samples) ? CBX_OK : cbx_fail_nomem(err, NULL);
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

static cbx_json *column_json(const results *r, const result *of, int column)
{
    const cbx__asv_benchmark *b = &r->s->list[of->benchmark];

    switch (column) {
    case PARAMS: return cbx__asv_params_json(r->s->job, b);
    case VERSION: return cbx_json_new_string(b->version);
    case STARTED_AT: return cbx_json_new_int(of->started / 1000);
    default: return cbx_json_new_array();
    }
}

/* One row of "results". */
static cbx_status make_row(const results *r, const result *of, cbx_json **out, cbx_err *err)
{
    cbx_json *row[NCOLUMNS] = { NULL }, *array = cbx_json_new_array();
    bool ok = array != NULL;
    cbx_status st = CBX_OK;

    for (int i = 0; i <= SAMPLES; i++) row[i] = i == DURATION ? NULL : column_json(r, of, i);
    for (size_t i = 0; !st && i < r->s->list[of->benchmark].combinations; i++)
        st = push_place(r->s->job->ctx, row, &of->heaps[i], err);
    for (int i = 0; i <= SAMPLES; i++) ok &= i == DURATION ? cbx_json_push_null(array) : cbx_json_push(array, row[i]);
    if (!st && !ok) st = cbx_fail_nomem(err, NULL);
    if (st)
        cbx_json_unref(array);
    else
        *out = array;
    return st;
}

static int by_benchmark(const void *a, const void *b)
{
    const result *x = a, *y = b;

    return (x->benchmark > y->benchmark) - (x->benchmark < y->benchmark);
}

static cbx_status put_rows(results *r, cbx__export_stream *out, cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (r->n) qsort(r->list, r->n, sizeof *r->list, by_benchmark);
    cbx_text_putc(&out->text, '{');
    for (size_t i = 0; !st && i < r->n; i++) {
        cbx_json *row = NULL;
        st = make_row(r, &r->list[i], &row, err);
        if (st) break;
        cbx__asv_put_key(out, i == 0, 2, r->s->list[r->list[i].benchmark].name);
        cbx__asv_put(out, 2, row);
        cbx_json_unref(row);
        st = cbx__export_stream_pour(out, err);
    }
    cbx_text_puts(&out->text, r->n ? "\n  }" : "}");
    return st;
}

/* --- the file --- */

static cbx_json *head_json(const cbx__asv_commit *c, const cbx_run *first)
{
    cbx_json *o = cbx_json_new_object(), *names = cbx_json_new_array();

    for (int i = 0; i <= SAMPLES; i++) cbx_json_push(names, cbx_json_new_string(columns[i]));
    cbx_json_set_string(o, "commit_hash", c->hash);
    cbx_json_set_string(o, "env_name", "calibrax");
    cbx_json_set_int(o, "date", cbx_run_timestamp_us(first) / 1000);
    cbx_json_set(o, "params", cbx__asv_machine_json(first));
    cbx_json_set_string(o, "python", "");
    cbx_json_set(o, "requirements", cbx_json_new_object());
    cbx_json_set(o, "env_vars", cbx_json_new_object());
    cbx_json_set(o, "result_columns", names);
    cbx_json_set(o, "results", cbx_json_new_object());
    cbx_json_set(o, "durations", cbx_json_new_object());
    if (cbx_json_set_int(o, "version", 2)) return o;
    cbx_json_unref(o);
    return NULL;
}

static cbx_status put_members(results *r, const cbx_json *head, cbx__export_stream *out, cbx_err *err)
{
    const char *key;
    cbx_json *value;
    cbx_status st = CBX_OK;

    cbx_text_putc(&out->text, '{');
    for (size_t i = 0; !st && cbx_json_member(head, i, &key, &value); i++) {
        cbx__asv_put_key(out, i == 0, 1, key);
        if (strcmp(key, "results") == 0)
            st = put_rows(r, out, err);
        else
            cbx__asv_put(out, 1, value);
    }
    cbx_text_puts(&out->text, "\n}\n");
    return st;
}

/* Commits whose beginnings are the same need all of it. */
static const char *name_of(cbx__asv_site *s, const cbx__asv_commit *c, const char *folder)
{
    const char *safe = cbx__export_safe_name(s->job->arena, c->hash);
    int digits = s->alike[c->alike] == 1 ? CBX__ASV_COMMIT : 1000;

    return safe ? cbx_arena_printf(s->job->arena, "results/%s/%.*s-calibrax.json", folder, digits, safe) : NULL;
}

static cbx_status put_file(results *r, const cbx__asv_commit *c, const cbx_run *first, const char *folder, cbx_err *err)
{
    const char *name = name_of(r->s, c, folder);
    cbx_json *head = head_json(c, first);
    cbx__export_stream out;
    cbx_status st = name && head ? CBX_OK : cbx_fail_nomem(err, NULL);

    if (!st) {
        st = cbx__export_stream_begin(r->s->job, name, &out, err);
        if (!st) st = put_members(r, head, &out, err);
        st = cbx__export_stream_end(&out, st, err);
    }
    cbx_json_unref(head);
    return st;
}

cbx_status cbx__asv_put_results(cbx__asv_site *s, const cbx__asv_commit *c, const cbx_run *first, const char *folder,
                                cbx_err *err)
{
    results r = { .s = s, .al = cbx_ctx_allocator(s->job->ctx) };
    cbx_status st = CBX_OK;

    r.number = cbx_mem_calloc(r.al, s->n, sizeof *r.number);
    if ((s->n && !r.number) || !pile_run(&r, first)) st = cbx_fail_nomem(err, NULL);
    for (size_t i = 1; !st && i < c->nruns; i++) {
        cbx_run *run = NULL;
        st = s->runs->load(s->runs->user, s->order[c->first + i], &run, err);
        if (!st && !pile_run(&r, run)) st = cbx_fail_nomem(err, NULL);
        cbx_run_free(run);
    }
    if (!st) st = put_file(&r, c, first, folder, err);
    results_clear(&r);
    return st;
}

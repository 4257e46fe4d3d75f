/*
 * The results of one commit on one machine, as asv keeps them: the median of its runs' values, and all their samples.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/exporters/asv.h"
#include "calibrax/statistics/estimate.h"

/* What the runs have of one benchmark in one place: their values and samples. */
typedef struct heap {
    CBX_LIST(double) values, samples;
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
    CBX_LIST(result) list;
    uint32_t *number; /* of each benchmark: 1 + place in the list; 0: none */
} results;

static result *result_of(results *r, const cbx__asv_benchmark *b)
{
    size_t benchmark = (size_t)(b - r->s->list);
    result new = { .benchmark = benchmark, .started = INT64_MAX };

    if (r->number[benchmark]) return &r->list.items[r->number[benchmark] - 1];
    if (!cbx_list_reserve(r->al, &r->list, r->list.n + 1)) return NULL;
    new.heaps = cbx_mem_calloc(r->al, b->combinations, sizeof *new.heaps);
    if (!new.heaps) return NULL;
    r->list.items[r->list.n++] = new;
    r->number[benchmark] = (uint32_t)r->list.n;
    return &r->list.items[r->list.n - 1];
}

/* Adds a run; false: out of memory. */
static bool add_run(results *r, const cbx_run *run)
{
    for (size_t i = 0; i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        for (size_t k = 0; k < p->nmetrics; k++) {
            const cbx_metric *m = &p->metrics[k].metric;
            const cbx__asv_benchmark *b;
            result *to;
            heap *h;
            if (!cbx__asv_benchmark_of(r->s, p, p->metrics[k].name, &b)) return false;
            if (!b) continue;
            to = result_of(r, b);
            if (!to) return false;
            h = &to->heaps[cbx__asv_place_of(r->s, b, p)];
            if (!cbx_list_push(r->al, &h->values, m->value * b->times / b->per)) return false;
            for (size_t j = 0; j < m->nsamples; j++)
                if (!cbx_list_push(r->al, &h->samples, m->samples[j] * b->times / b->per)) return false;
            if (cbx_run_timestamp_us(run) < to->started) to->started = cbx_run_timestamp_us(run);
        }
    }
    return true;
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

static bool all_finite(const double *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(v[i])) return false;
    return true;
}

/* One combination: the median of the runs, and, where all samples are finite, their quartiles and asv's interval: 99 % of
 * the median, where there are samples enough for one. */
static cbx_status push_place(cbx_ctx *ctx, cbx_json *row[NCOLUMNS], const heap *h, cbx_err *err)
{
    static const int stats[] = { CI_A, CI_B, Q_25, Q_75, NUMBER, REPEAT, SAMPLES };
    cbx_interval ci = { .level = 0 };
    double value = NAN;
    cbx_summary s;
    cbx_json *samples;
    cbx_status st = CBX_OK;

    if (h->values.n && all_finite(h->values.items, h->values.n))
        st = cbx_stat_median(ctx, h->values.items, h->values.n, &value, err);
    if (st) return st;
    if (h->values.n)
        cbx_json_push_double(row[RESULT], value);
    else
        cbx_json_push_null(row[RESULT]);
    if (!h->samples.n || !all_finite(h->samples.items, h->samples.n)) {
        for (size_t i = 0; i < CBX_LEN(stats); i++) cbx_json_push_null(row[stats[i]]);
        return CBX_OK;
    }
    st = cbx_stat_summary(ctx, h->samples.items, h->samples.n, &s, err);
    if (!st) st = cbx_stat_median_interval(ctx, h->samples.items, h->samples.n, 0.99, &ci, err);
    if (st) return st;
    cbx_json_push_double(row[CI_A], ci.level > 0 ? ci.lower : -INFINITY);
    cbx_json_push_double(row[CI_B], ci.level > 0 ? ci.upper : INFINITY);
    cbx_json_push_double(row[Q_25], s.p25);
    cbx_json_push_double(row[Q_75], s.p75);
    cbx_json_push_int(row[NUMBER], 1);
    cbx_json_push_int(row[REPEAT], (int64_t)h->samples.n);
    samples = cbx_json_push_array(row[SAMPLES]);
    for (size_t i = 0; i < h->samples.n; i++) cbx_json_push_double(samples, h->samples.items[i]);
    return CBX_OK;
}

/* One row of "results". */
static cbx_status make_row(const results *r, const result *of, cbx_json **out, cbx_err *err)
{
    const cbx__asv_benchmark *b = &r->s->list[of->benchmark];
    cbx_json *row[NCOLUMNS] = { NULL }, *array = cbx_json_new_array();
    cbx_status st = CBX_OK;

    for (int i = 0; i <= SAMPLES; i++) {
        if (i == PARAMS)
            cbx_json_push(array, cbx__asv_params_json(r->s->job, b));
        else if (i == VERSION)
            cbx_json_push_string(array, b->version);
        else if (i == STARTED_AT)
            cbx_json_push_int(array, of->started / 1000);
        else if (i == DURATION)
            cbx_json_push_null(array);
        else
            row[i] = cbx_json_push_array(array);
    }
    for (size_t i = 0; !st && i < b->combinations; i++) st = push_place(r->s->job->ctx, row, &of->heaps[i], err);
    if (!st) st = cbx_json_check(array, err);
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

    if (r->list.n) qsort(r->list.items, r->list.n, sizeof *r->list.items, by_benchmark);
    cbx_text_putc(&out->text, '{');
    for (size_t i = 0; !st && i < r->list.n; i++) {
        cbx_json *row = NULL;
        st = make_row(r, &r->list.items[i], &row, err);
        if (st) break;
        cbx__asv_put_key(out, i == 0, 2, r->s->list[r->list.items[i].benchmark].name);
        cbx__asv_put(out, 2, row);
        cbx_json_unref(row);
        st = cbx__export_stream_pour(out, err);
    }
    cbx_text_puts(&out->text, r->list.n ? "\n  }" : "}");
    return st;
}

/* --- the file --- */

static cbx_status put_file(results *r, const cbx__asv_commit *c, const cbx_run *first, const char *folder, cbx_err *err)
{
    cbx_arena *arena = r->s->job->arena;
    const char *safe = cbx__export_safe_name(arena, c->hash), *name;
    int digits = r->s->alike[c->alike] == 1 ? CBX__ASV_COMMIT : 1000; /* hashes that begin alike are written whole */
    cbx_json *o = cbx_json_new_object(), *names;

    cbx_json_set_string(o, "commit_hash", c->hash);
    cbx_json_set_string(o, "env_name", "calibrax");
    cbx_json_set_int(o, "date", cbx_run_timestamp_us(first) / 1000);
    cbx_json_set(o, "params", cbx__asv_machine_json(first));
    cbx_json_set_string(o, "python", "");
    cbx_json_set_object(o, "requirements");
    cbx_json_set_object(o, "env_vars");
    names = cbx_json_set_array(o, "result_columns");
    for (int i = 0; i <= SAMPLES; i++) cbx_json_push_string(names, columns[i]);
    cbx_json_set_object(o, "results");
    cbx_json_set_object(o, "durations");
    cbx_json_set_int(o, "version", 2);
    cbx_json *head = cbx_json_finish(o);
    cbx__export_stream out;
    cbx_status st;

    name = safe ? cbx_arena_printf(arena, "results/%s/%.*s-calibrax.json", folder, digits, safe) : NULL;
    st = name && head ? CBX_OK : cbx_fail_nomem(err, NULL);
    if (!st) {
        st = cbx__export_stream_begin(r->s->job, name, &out, err);
        if (!st) {
            const char *key;
            cbx_json *value;
            cbx_text_putc(&out.text, '{');
            for (size_t i = 0; !st && cbx_json_member(head, i, &key, &value); i++) {
                cbx__asv_put_key(&out, i == 0, 1, key);
                if (strcmp(key, "results") == 0)
                    st = put_rows(r, &out, err);
                else
                    cbx__asv_put(&out, 1, value);
            }
            cbx_text_puts(&out.text, "\n}\n");
        }
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
    if ((s->n && !r.number) || !add_run(&r, first)) st = cbx_fail_nomem(err, NULL);
    for (size_t i = 1; !st && i < c->nruns; i++) {
        cbx_run *run = NULL;
        st = s->runs->load(s->runs->user, s->order[c->first + i], &run, err);
        if (!st && !add_run(&r, run)) st = cbx_fail_nomem(err, NULL);
        cbx_run_free(run);
    }
    if (!st) st = put_file(&r, c, first, folder, err);
    for (size_t i = 0; i < r.list.n; i++) {
        result *of = &r.list.items[i];
        size_t combinations = r.s->list[of->benchmark].combinations;
        for (size_t k = 0; k < combinations; k++) {
            cbx_list_clear(r.al, &of->heaps[k].values);
            cbx_list_clear(r.al, &of->heaps[k].samples);
        }
        cbx_mem_free(r.al, of->heaps, combinations * sizeof(heap));
    }
    cbx_list_clear(r.al, &r.list);
    cbx_mem_free(r.al, r.number, r.s->n * sizeof *r.number);
    return st;
}

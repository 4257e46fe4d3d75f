/*
 * Trends: the values of series in the order of their runs.
 *
 * Workload: one series of 10,000 runs out of 10^6 values.  Runs are read once and in order; a
 * series comes in a few chunks whose values only look their run up.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/storage/store_internal.h"

/* Where a value belongs: the place of its run, and its own in the run's file. */
typedef struct placed {
    uint32_t at, k;
    double value, lower, upper;
} placed;

typedef struct collector {
    const cbx_allocator *al; /* of the growing arrays */
    cbx_arena *arena, *kept; /* of the runs' texts; of the series that is made */
    cbx_trend_fn take;
    void *user;
    cbx_trend_series last; /* that was taken */
    size_t ntaken;
    cbx_trend_point *runs; /* in order, without values */
    cbx__rid *rids;        /* by rid */
    size_t nruns, runs_capacity, rids_capacity, near;
    placed *values; /* of the series that is being read */
    size_t nvalues, values_capacity;
    size_t limit;
    bool singly; /* a series gives way to the next one */
} collector;

/* --- runs --- */

static bool take_run(collector *c, cbx__select *q)
{
    static const cbx_trend_point none = { 0 };
    cbx_arena *arena = c->arena;
    const cbx_trend_point *before;
    cbx_trend_point *p;

    if (!cbx_grow(c->al, &c->runs, &c->runs_capacity, c->nruns + 1, sizeof *c->runs)) return false;
    if (!cbx_grow(c->al, &c->rids, &c->rids_capacity, c->nruns + 1, sizeof *c->rids)) return false;
    before = c->nruns ? &c->runs[c->nruns - 1] : &none;
    p = &c->runs[c->nruns];
    *p = none;
    p->timestamp_us = cbx__select_int(q, 2);
    c->rids[c->nruns] = (cbx__rid){ (uint32_t)cbx__select_int(q, 0), (uint32_t)c->nruns };
    c->nruns++;
    return cbx__keep_text(arena, cbx__select_text(q, 1), before->run_id, &p->run_id) &&
           cbx__keep_text(arena, cbx__select_text(q, 3), before->commit, &p->commit) &&
           cbx__keep_text(arena, cbx__select_text(q, 4), before->branch, &p->branch) &&
           cbx__keep_text(arena, cbx__select_text(q, 5), before->machine, &p->machine);
}

static int by_time(const cbx_trend_point *x, const cbx_trend_point *y)
{
    if (x->timestamp_us != y->timestamp_us) return x->timestamp_us < y->timestamp_us ? -1 : 1;
    return strcmp(x->run_id, y->run_id);
}

static int by_time_of_run(const void *a, const void *b, void *runs)
{
    const cbx_trend_point *of = runs;

    return by_time(&of[((const cbx__rid *)a)->at], &of[((const cbx__rid *)b)->at]);
}

/* They mostly come in order, as they were measured: SQLite would look each up by the index of
 * times. */
static cbx_status sort_runs(collector *c, cbx_err *err)
{
    cbx_trend_point *sorted;
    size_t i = 1;

    while (i < c->nruns && by_time(&c->runs[i - 1], &c->runs[i]) < 0) i++;
    if (i >= c->nruns) {
        cbx__rids_sort(c->rids, c->nruns);
        return CBX_OK;
    }
    sorted = cbx_mem_calloc(c->al, c->runs_capacity, sizeof *sorted);
    if (!sorted) return cbx_fail_nomem(err, "the store");
    qsort_r(c->rids, c->nruns, sizeof *c->rids, by_time_of_run, c->runs);
    for (i = 0; i < c->nruns; i++) {
        sorted[i] = c->runs[c->rids[i].at];
        c->rids[i].at = (uint32_t)i;
    }
    cbx_mem_free(c->al, c->runs, c->runs_capacity * sizeof *sorted);
    c->runs = sorted;
    cbx__rids_sort(c->rids, c->nruns);
    return CBX_OK;
}

static cbx_status read_runs(collector *c, cbx__index *ix, const cbx_store_query *w, cbx_err *err)
{
    cbx__select *select = NULL;
    cbx__sql q;
    cbx_status st;

    cbx__sql_init(&q, c->arena, "SELECT rid, id, time, commit_, branch, machine FROM run r WHERE");
    cbx__sql_where_run(&q, w);
    st = cbx__sql_open(&q, ix, &select, err);
    while (!st && cbx__select_next(select))
        if (!take_run(c, select)) st = cbx_fail_nomem(err, "the store");
    st = cbx__select_end(select, st, err);
    return st ? st : sort_runs(c, err);
}

/* --- series --- */

static cbx_status take_value(void *user, const cbx__index_value *v, cbx_err *err)
{
    collector *c = user;
    const cbx__rid *run = cbx__rids_find(c->rids, c->nruns, v->rid, &c->near);

    if (!run) return CBX_OK;
    if (!cbx_grow(c->al, &c->values, &c->values_capacity, c->nvalues + 1, sizeof *c->values))
        return cbx_fail_nomem(err, "the store");
    c->values[c->nvalues++] = (placed){ run->at, v->k, v->value, v->lower, v->upper };
    return CBX_OK;
}

static int by_place(const void *a, const void *b)
{
    const placed *x = a, *y = b;

    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->k > y->k) - (x->k < y->k);
}

static bool in_order(const placed *v, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (by_place(&v[i - 1], &v[i]) > 0) return false;
    return true;
}

/* The newest of the values read, as points. */
static bool make_points(collector *c, cbx_trend_series *s)
{
    size_t skip = c->limit && c->nvalues > c->limit ? c->nvalues - c->limit : 0;
    cbx_trend_point *points = cbx_arena_calloc(c->kept, c->nvalues - skip, sizeof *points);

    if (!points) return false;
    if (!in_order(c->values, c->nvalues)) qsort(c->values, c->nvalues, sizeof *c->values, by_place);
    for (size_t i = skip; i < c->nvalues; i++) {
        const placed *v = &c->values[i];
        points[i - skip] = c->runs[v->at];
        points[i - skip].value = v->value;
        points[i - skip].lower = v->lower;
        points[i - skip].upper = v->upper;
    }
    s->points = points;
    s->npoints = c->nvalues - skip;
    return true;
}

static cbx_status make_series(collector *c, cbx__select *q, cbx_trend_series *s, cbx_err *err)
{
    cbx_arena *arena = c->kept;

    s->metric = cbx_arena_strdup(arena, cbx__select_text(q, 1));
    s->point = cbx_arena_strdup(arena, cbx__select_text(q, 2));
    s->scenario = cbx_arena_strdup(arena, cbx__select_text(q, 3));
    if (!s->metric || !s->point || !s->scenario || !make_points(c, s)) return cbx_fail_nomem(err, "the store");
    return cbx__tags_parse(arena, cbx__select_text(q, 4), &s->tags, &s->ntags, err);
}

/* A series without a value in a run of the query is left out. */
static cbx_status take_series(collector *c, cbx__select *q, cbx__select *values, cbx_err *err)
{
    cbx_status st;

    c->nvalues = c->near = 0;
    st = cbx__values_each(values, cbx__select_int(q, 0), take_value, c, err);
    if (st || c->nvalues == 0) return st;
    if (c->singly) cbx_arena_clear(c->kept);
    c->last = (cbx_trend_series){ 0 };
    st = make_series(c, q, &c->last, err);
    c->ntaken++;
    return st ? st : c->take(c->user, &c->last, err);
}

static cbx_status read_series(collector *c, cbx__index *ix, const cbx_store_query *w, cbx_err *err)
{
    cbx__select *select = NULL, *values = NULL;
    cbx__sql q;
    cbx_status st;

    cbx__sql_init(&q, c->arena, "SELECT sid, metric, point, scenario, tags FROM series s WHERE 1");
    cbx__sql_where_series(&q, w);
    cbx_text_puts(&q.text, " ORDER BY point, scenario, tags, metric, sid");
    if (w->series_first || w->series_limit)
        cbx_text_printf(&q.text, " LIMIT %lld OFFSET %zu", w->series_limit ? (long long)w->series_limit : -1LL,
                        w->series_first);
    st = cbx__sql_open(&q, ix, &select, err);
    if (!st) st = cbx__values_open(ix, &values, err);
    while (!st && cbx__select_next(select)) st = take_series(c, select, values, err);
    cbx__select_close(values, NULL);
    return cbx__select_end(select, st, err);
}

/* The runs, then their series: all to check, unless that is NULL, and then all to fn. */
static cbx_status collect(cbx_store *s, const cbx_store_query *query, collector *c, cbx_trend_fn check, cbx_trend_fn fn,
                          cbx_err *err)
{
    static const cbx_store_query all_runs = { 0 };
    const cbx_store_query *w = query ? query : &all_runs;
    cbx__index *ix = NULL;
    cbx_status st = cbx__store_index(s, &ix, err);

    c->limit = w->limit;
    if (!st) st = read_runs(c, ix, w, err);
    if (!st && c->nruns && (c->take = check)) st = read_series(c, ix, w, err);
    c->take = fn;
    if (!st && c->ntaken == 1)
        st = fn(c->user, &c->last, err);
    else if (!st && c->nruns)
        st = read_series(c, ix, w, err);
    cbx_mem_free(c->al, c->runs, c->runs_capacity * sizeof *c->runs);
    cbx_mem_free(c->al, c->rids, c->rids_capacity * sizeof *c->rids);
    cbx_mem_free(c->al, c->values, c->values_capacity * sizeof *c->values);
    return st;
}

typedef struct whole {
    cbx_trend *out;
    CBX_LIST(cbx_trend_series) series;
} whole;

static cbx_status keep_series(void *user, const cbx_trend_series *s, cbx_err *err)
{
    whole *w = user;
    const cbx_allocator al = cbx_arena_allocator(&w->out->arena);

    return cbx_list_push(&al, &w->series, *s) ? CBX_OK : cbx_fail_nomem(err, "the store");
}

cbx_status cbx_store_trend(cbx_store *s, const cbx_store_query *query, cbx_trend *out, cbx_err *err)
{
    whole w = { .out = out };
    collector c = { cbx_ctx_allocator(s->ctx), &out->arena, &out->arena, .user = &w };
    cbx_status st;

    *out = (cbx_trend){ 0 };
    cbx_arena_init(&out->arena, c.al);
    st = collect(s, query, &c, NULL, keep_series, err);
    out->series = w.series.items;
    out->count = st ? 0 : w.series.n;
    return st;
}

void cbx_trend_clear(cbx_trend *trend)
{
    if (trend->arena.al.resize) cbx_arena_clear(&trend->arena);
    *trend = (cbx_trend){ 0 };
}

cbx_status cbx_store_trend_each(cbx_store *s, const cbx_store_query *query, cbx_trend_fn check, cbx_trend_fn fn,
                                void *user, cbx_err *err)
{
    cbx_arena runs, one;
    collector c = { cbx_ctx_allocator(s->ctx), &runs, &one, .user = user, .singly = true };
    cbx_status st;

    cbx_arena_init(&runs, c.al);
    cbx_arena_init(&one, c.al);
    st = collect(s, query, &c, check, fn, err);
    cbx_arena_clear(&one);
    cbx_arena_clear(&runs);
    return st;
}

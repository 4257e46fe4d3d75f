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
    const cbx_allocator *al; /* of the growing array */
    cbx_arena *arena, *kept; /* of the runs; of the series that is made */
    cbx_trend_fn take;
    void *user;
    cbx_trend_series last; /* that was taken */
    size_t ntaken;
    cbx__runs runs; /* in order; their rids by rid */
    size_t near;
    CBX_LIST(placed) values; /* of the series that is being read */
    size_t limit;
    bool singly; /* a series gives way to the next one */
} collector;

/* --- runs --- */

static int by_time(const cbx_store_entry *x, const cbx_store_entry *y)
{
    if (x->timestamp_us != y->timestamp_us) return x->timestamp_us < y->timestamp_us ? -1 : 1;
    return strcmp(x->id, y->id);
}

static int by_time_of_run(const void *a, const void *b, void *runs)
{
    const cbx_store_entry *of = runs;

    return by_time(&of[((const cbx__rid *)a)->at], &of[((const cbx__rid *)b)->at]);
}

/* They mostly come in order, as they were measured: SQLite would look each up by the index of
 * times. */
static cbx_status read_runs(collector *c, cbx__index *ix, const cbx_store_query *w, cbx_err *err)
{
    cbx_status st = cbx__runs_read(ix, w, "", c->arena, &c->runs, err);
    cbx_store_entry *runs = c->runs.list.items;
    cbx__rid *rids = c->runs.rids.items;
    size_t n = c->runs.list.n, i = 1;

    if (st) return st;
    while (i < n && by_time(&runs[i - 1], &runs[i]) < 0) i++;
    if (i < n) {
        c->runs.list.items = cbx_arena_calloc(c->arena, n, sizeof *runs);
        if (!c->runs.list.items) return cbx_fail_nomem(err, "the store");
        qsort_r(rids, n, sizeof *rids, by_time_of_run, runs);
        for (i = 0; i < n; i++) {
            c->runs.list.items[i] = runs[rids[i].at];
            rids[i].at = (uint32_t)i;
        }
    }
    cbx__rids_sort(rids, n);
    return CBX_OK;
}

/* --- series --- */

static cbx_status take_value(void *user, const cbx__index_value *v, cbx_err *err)
{
    collector *c = user;
    const cbx__rid *run = cbx__rids_find(c->runs.rids.items, c->runs.rids.n, v->rid, &c->near);

    if (!run || cbx_list_push(c->al, &c->values, (placed){ run->at, v->k, v->value, v->lower, v->upper }))
        return CBX_OK;
    return cbx_fail_nomem(err, "the store");
}

static int by_place(const void *a, const void *b)
{
    const placed *x = a, *y = b;

    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return (x->k > y->k) - (x->k < y->k);
}

/* Of the newest of the values read. */
static cbx_status make_series(collector *c, cbx__select *q, cbx_trend_series *s, cbx_err *err)
{
    placed *values = c->values.items;
    size_t n = c->values.n, next = 1, skip = c->limit && n > c->limit ? n - c->limit : 0;
    cbx_trend_point *points = cbx_arena_calloc(c->kept, n - skip, sizeof *points);

    *s = (cbx_trend_series){ .metric = cbx_arena_strdup(c->kept, cbx__select_text(q, 1)),
                             .point = cbx_arena_strdup(c->kept, cbx__select_text(q, 2)),
                             .scenario = cbx_arena_strdup(c->kept, cbx__select_text(q, 3)),
                             .points = points,
                             .npoints = n - skip };
    if (!s->metric || !s->point || !s->scenario || !points) return cbx_fail_nomem(err, "the store");
    while (next < n && by_place(&values[next - 1], &values[next]) <= 0) next++;
    if (next < n) qsort(values, n, sizeof *values, by_place);
    for (size_t i = skip; i < n; i++) {
        const cbx_store_entry *run = &c->runs.list.items[values[i].at];
        points[i - skip] = (cbx_trend_point){ run->id,           run->commit,     run->branch,     run->machine,
                                              run->timestamp_us, values[i].value, values[i].lower, values[i].upper };
    }
    return cbx__tags_parse(c->kept, cbx__select_text(q, 4), &s->tags, &s->ntags, err);
}

/* A series without a value in a run of the query is left out. */
static cbx_status take_series(collector *c, cbx__select *q, cbx__select *values, cbx_err *err)
{
    cbx_status st;

    c->values.n = c->near = 0;
    st = cbx__values_each(values, cbx__select_int(q, 0), take_value, c, err);
    if (st || c->values.n == 0) return st;
    if (c->singly) cbx_arena_clear(c->kept);
    st = make_series(c, q, &c->last, err);
    c->ntaken++;
    return st ? st : c->take(c->user, &c->last, err);
}

static cbx_status read_series(collector *c, cbx__index *ix, const cbx_store_query *w, cbx_err *err)
{
    cbx__select select = { 0 }, values = cbx__values_select(ix);
    cbx__sql q;
    cbx_status st;

    cbx__sql_init(&q, c->arena, "SELECT sid, metric, point, scenario, tags FROM series s WHERE 1");
    cbx__sql_where_series(&q, w);
    cbx_text_printf(&q.text, " ORDER BY point, scenario, tags, metric, sid LIMIT %lld OFFSET %zu",
                    w->series_limit ? (long long)w->series_limit : -1LL, w->series_first);
    st = cbx__sql_open(&q, ix, &select, err);
    while (!st && cbx__select_next(&select)) st = take_series(c, &select, &values, err);
    cbx__select_end(&values, CBX_OK, NULL);
    return cbx__select_end(&select, st, err);
}

/* The runs, then their series: all to check, unless that is NULL, and then all to fn. */
static cbx_status collect(cbx_store *s, const cbx_store_query *query, collector *c, cbx_trend_fn check, cbx_trend_fn fn,
                          cbx_err *err)
{
    const cbx_store_query *w = query ? query : &cbx__any_run;
    cbx_status st = cbx__store_index(s, err);

    c->limit = w->limit;
    if (!st) st = read_runs(c, s->index, w, err);
    if (!st && c->runs.list.n && (c->take = check)) st = read_series(c, s->index, w, err);
    c->take = fn;
    if (!st && c->ntaken == 1)
        st = fn(c->user, &c->last, err);
    else if (!st && c->runs.list.n)
        st = read_series(c, s->index, w, err);
    cbx_list_clear(c->al, &c->values);
    return st;
}

typedef struct whole {
    cbx_trend *out;
    CBX_LIST(cbx_trend_series) series;
} whole;

static cbx_status keep_series(void *user, const cbx_trend_series *s, cbx_err *err)
{
    whole *w = user;

    return cbx_list_push(CBX_IN_ARENA(&w->out->arena), &w->series, *s) ? CBX_OK : cbx_fail_nomem(err, "the store");
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
    CBX_SCOPED(cbx_arena, runs, cbx_ctx_allocator(s->ctx));
    CBX_SCOPED(cbx_arena, one, cbx_ctx_allocator(s->ctx));
    collector c = { cbx_ctx_allocator(s->ctx), &runs, &one, .user = user, .singly = true };

    return collect(s, query, &c, check, fn, err);
}

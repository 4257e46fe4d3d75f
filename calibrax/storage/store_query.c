/* What a store answers: lists of runs, trends, definitions of metrics. */
#include <string.h>

#include "calibrax/storage/store_parts.h"
#include "calibrax/storage/store_scan.h"

/* --- a query as SQL: conditions and, in the same order, what their ? stand for --- */

#define BINDS_MOST 64

typedef struct bind {
    const char *text; /* NULL: number */
    int64_t number;
} bind;

typedef struct sql {
    cbx_text text;
    cbx_arena *arena;
    bind binds[BINDS_MOST];
    size_t nbinds;
    bool too_many;
} sql;

static void sql_init(sql *q, cbx_arena *arena)
{
    memset(q, 0, sizeof *q);
    q->arena = arena;
    cbx_text_init(&q->text, &arena->al);
}

static void add_bind(sql *q, bind b)
{
    if (q->nbinds == BINDS_MOST)
        q->too_many = true;
    else
        q->binds[q->nbinds++] = b;
}

static void where_text(sql *q, const char *condition, const char *value)
{
    if (!value) return;
    cbx_text_puts(&q->text, condition);
    add_bind(q, (bind){ value, 0 });
}

static void where_time(sql *q, const char *condition, int64_t us)
{
    if (!us) return;
    cbx_text_puts(&q->text, condition);
    add_bind(q, (bind){ NULL, us });
}

static void where_run(sql *q, const cbx_store_query *w)
{
    cbx_text_puts(&q->text, " r.problem IS NULL");
    where_text(q, " AND r.branch = ?", w->branch);
    if (w->commit) {
        where_text(q, " AND substr(r.commit_, 1, length(?)) = ", w->commit);
        where_text(q, "?", w->commit);
    }
    if (w->machine && strcmp(w->machine, "-") == 0) {
        cbx_text_puts(&q->text, " AND r.machine IS NULL");
    } else if (w->machine) {
        where_text(q, " AND substr(r.machine, 1, length(?)) = ", w->machine);
        where_text(q, "?", w->machine);
    }
    where_time(q, " AND r.time >= ?", w->since_us);
    where_time(q, " AND r.time < ?", w->until_us);
}

static bool asks_series(const cbx_store_query *w) { return w->point || w->scenario || w->metric || w->ntags; }

static void where_series(sql *q, const cbx_store_query *w)
{
    where_text(q, " AND s.point = ?", w->point);
    where_text(q, " AND s.scenario = ?", w->scenario);
    where_text(q, " AND s.metric = ?", w->metric);
    for (size_t i = 0; i < w->ntags; i++) {
        const char *item = cbx_arena_printf(q->arena, "\x1e%s\x1f%s\x1e", w->tags[i].key, w->tags[i].value);
        if (!item) q->text.status = CBX_ENOMEM;
        where_text(q, " AND instr(char(30) || s.tags, ?) > 0", item);
    }
}

static cbx_status sql_open(sql *q, cbx__index *ix, cbx__select **out, cbx_err *err)
{
    cbx_status st = cbx_text_check(&q->text, err);

    if (!st && q->too_many) st = cbx_fail(err, CBX_EINVAL, "a query has too many conditions: at most %d", BINDS_MOST);
    if (!st) st = cbx__select_open(ix, cbx_text_str(&q->text), out, err);
    for (size_t i = 0; !st && i < q->nbinds; i++) {
        if (q->binds[i].text)
            cbx__select_bind_text(*out, q->binds[i].text);
        else
            cbx__select_bind_int(*out, q->binds[i].number);
    }
    cbx_text_clear(&q->text);
    return st;
}

/* --- a growing array in an arena --- */

static void *grown(cbx_arena *arena, void *items, size_t n, size_t *room, size_t size)
{
    size_t wanted = *room ? 2 * *room : 64;
    char *more;

    if (n < *room) return items;
    more = cbx_arena_calloc(arena, wanted, size);
    if (!more) return NULL;
    if (n) memcpy(more, items, n * size);
    *room = wanted;
    return more;
}

/* Text in the arena, the same pointer for the same text as the row before: most rows of a list share theirs. */
static bool keep_text(cbx_arena *arena, const char *text, const char *before, const char **out)
{
    *out = text && before && strcmp(text, before) == 0 ? before : cbx_arena_strdup(arena, text);
    return *out || !text;
}

/* --- runs --- */

static bool take_entry(cbx__select *q, cbx_arena *arena, const cbx_store_entry *before, cbx_store_entry *e)
{
    e->timestamp_us = cbx__select_int(q, 1);
    e->npoints = (size_t)cbx__select_int(q, 5);
    e->bytes = (uint64_t)cbx__select_int(q, 6);
    return keep_text(arena, cbx__select_text(q, 0), NULL, &e->id) &&
           keep_text(arena, cbx__select_text(q, 2), before->commit, &e->commit) &&
           keep_text(arena, cbx__select_text(q, 3), before->branch, &e->branch) &&
           keep_text(arena, cbx__select_text(q, 4), before->machine, &e->machine);
}

static cbx_status take_entries(cbx__select *q, cbx_store_list *out, cbx_err *err)
{
    cbx_store_entry *entries = NULL;
    cbx_store_entry none = { 0 };
    size_t n = 0, room = 0;
    cbx_status st = CBX_OK;

    while (!st && cbx__select_next(q)) {
        entries = grown(&out->arena, entries, n, &room, sizeof *entries);
        if (!entries || !take_entry(q, &out->arena, n ? &entries[n - 1] : &none, &entries[n]))
            st = cbx__store_no_memory(err);
        n++;
    }
    out->entries = entries;
    out->count = st ? 0 : n;
    return st;
}

cbx_status cbx_store_query_runs(cbx_store *s, const cbx_store_query *query, cbx_store_list *out, cbx_err *err)
{
    static const cbx_store_query all = { 0 };
    const cbx_store_query *w = query ? query : &all;
    cbx__index *ix = NULL;
    cbx__select *select = NULL;
    sql q;
    cbx_status st;

    *out = (cbx_store_list){ 0 };
    cbx_arena_init(&out->arena, cbx_ctx_allocator(s->ctx));
    st = cbx__store_index(s, &ix, err);
    if (st) return st;
    sql_init(&q, &out->arena);
    cbx_text_puts(&q.text, "SELECT id, time, commit_, branch, machine, npoints, size FROM run r WHERE");
    where_run(&q, w);
    if (asks_series(w)) {
        cbx_text_puts(&q.text, " AND r.rid IN (SELECT v.rid FROM value v JOIN series s ON s.sid = v.sid WHERE 1");
        where_series(&q, w);
        cbx_text_puts(&q.text, ")");
    }
    cbx_text_puts(&q.text, " ORDER BY time DESC, id DESC");
    if (w->limit) cbx_text_printf(&q.text, " LIMIT %zu", w->limit);
    st = sql_open(&q, ix, &select, err);
    if (!st) st = take_entries(select, out, err);
    if (!st)
        st = cbx__select_close(select, err);
    else
        cbx__select_close(select, NULL);
    return st;
}

void cbx_store_list_clear(cbx_store_list *list)
{
    if (list->arena.al.resize) cbx_arena_clear(&list->arena);
    *list = (cbx_store_list){ 0 };
}

/* --- trends --- */

typedef struct collector {
    cbx_trend *out;
    cbx_trend_series *series;
    size_t nseries, series_room;
    cbx_trend_point *points; /* of the series that is being read */
    size_t npoints, points_room;
    int64_t sid;
    size_t limit;
} collector;

/* Hands the points read so far to their series, the newest ones only. */
static void finish_series(collector *c)
{
    cbx_trend_series *s = c->nseries ? &c->series[c->nseries - 1] : NULL;
    size_t skip = c->limit && c->npoints > c->limit ? c->npoints - c->limit : 0;

    if (!s) return;
    s->points = c->points + skip;
    s->npoints = c->npoints - skip;
    c->points = NULL;
    c->npoints = c->points_room = 0;
}

static cbx_status start_series(collector *c, cbx__select *q, cbx_err *err)
{
    cbx_arena *arena = &c->out->arena;
    cbx_trend_series *s;

    finish_series(c);
    c->series = grown(arena, c->series, c->nseries, &c->series_room, sizeof *c->series);
    if (!c->series) return cbx__store_no_memory(err);
    s = &c->series[c->nseries++];
    s->metric = cbx_arena_strdup(arena, cbx__select_text(q, 1));
    s->point = cbx_arena_strdup(arena, cbx__select_text(q, 2));
    s->scenario = cbx_arena_strdup(arena, cbx__select_text(q, 3));
    if (!s->metric || !s->point || !s->scenario) return cbx__store_no_memory(err);
    return cbx__tags_parse(arena, cbx__select_text(q, 4), &s->tags, &s->ntags, err);
}

static cbx_status take_point(collector *c, cbx__select *q, cbx_err *err)
{
    static const cbx_trend_point none = { 0 };
    cbx_arena *arena = &c->out->arena;
    const cbx_trend_point *before;
    cbx_trend_point *p;

    c->points = grown(arena, c->points, c->npoints, &c->points_room, sizeof *c->points);
    if (!c->points) return cbx__store_no_memory(err);
    before = c->npoints ? &c->points[c->npoints - 1] : &none;
    p = &c->points[c->npoints++];
    p->timestamp_us = cbx__select_int(q, 6);
    p->value = cbx__select_double(q, 10);
    p->lower = cbx__select_double(q, 11);
    p->upper = cbx__select_double(q, 12);
    if (keep_text(arena, cbx__select_text(q, 5), before->run_id, &p->run_id) &&
        keep_text(arena, cbx__select_text(q, 7), before->commit, &p->commit) &&
        keep_text(arena, cbx__select_text(q, 8), before->branch, &p->branch) &&
        keep_text(arena, cbx__select_text(q, 9), before->machine, &p->machine))
        return CBX_OK;
    return cbx__store_no_memory(err);
}

static cbx_status collect(cbx__select *q, const cbx_store_query *w, cbx_trend *out, cbx_err *err)
{
    collector c = { .out = out, .limit = w->limit };
    cbx_status st = CBX_OK;

    while (!st && cbx__select_next(q)) {
        int64_t sid = cbx__select_int(q, 0);
        if (!c.nseries || sid != c.sid) st = start_series(&c, q, err);
        c.sid = sid;
        if (!st) st = take_point(&c, q, err);
    }
    finish_series(&c);
    out->series = c.series;
    out->count = st ? 0 : c.nseries;
    return st;
}

cbx_status cbx_store_trend(cbx_store *s, const cbx_store_query *query, cbx_trend *out, cbx_err *err)
{
    static const cbx_store_query all = { 0 };
    const cbx_store_query *w = query ? query : &all;
    cbx__index *ix = NULL;
    cbx__select *select = NULL;
    sql q;
    cbx_status st;

    *out = (cbx_trend){ 0 };
    cbx_arena_init(&out->arena, cbx_ctx_allocator(s->ctx));
    st = cbx__store_index(s, &ix, err);
    if (st) return st;
    sql_init(&q, &out->arena);
    cbx_text_puts(&q.text, "SELECT s.sid, s.metric, s.point, s.scenario, s.tags, r.id, r.time, r.commit_, r.branch,"
                           " r.machine, v.v, v.lower, v.upper FROM series s JOIN value v ON v.sid = s.sid"
                           " JOIN run r ON r.rid = v.rid WHERE");
    where_run(&q, w);
    where_series(&q, w);
    cbx_text_puts(&q.text, " ORDER BY s.point, s.scenario, s.tags, s.metric, s.sid, r.time, r.id, v.k");
    st = sql_open(&q, ix, &select, err);
    if (!st) st = collect(select, w, out, err);
    if (!st)
        st = cbx__select_close(select, err);
    else
        cbx__select_close(select, NULL);
    return st;
}

void cbx_trend_clear(cbx_trend *trend)
{
    if (trend->arena.al.resize) cbx_arena_clear(&trend->arena);
    *trend = (cbx_trend){ 0 };
}

/* --- definitions --- */

static cbx_status def_of_runs(cbx_store *s, const char *metric, cbx_arena *arena, cbx_metric_def *out, bool *found,
                              cbx_err *err)
{
    static const char newest[] = "SELECT d.unit, d.direction, d.grp, d.priority, d.description FROM def d"
                                 " JOIN run_def USING(did) JOIN run r USING(rid) WHERE d.metric = ?"
                                 " ORDER BY r.time DESC, r.id DESC LIMIT 1";
    cbx__index *ix = NULL;
    cbx__select *q = NULL;
    cbx_status st = cbx__store_index(s, &ix, err);

    if (!st) st = cbx__select_open(ix, newest, &q, err);
    if (st) return st;
    cbx__select_bind_text(q, metric);
    *found = cbx__select_next(q);
    if (*found) {
        *out = (cbx_metric_def){ .name = cbx_arena_strdup(arena, metric),
                                 .unit = cbx_arena_strdup(arena, cbx__select_text(q, 0)),
                                 .direction = (cbx_direction)cbx__select_int(q, 1),
                                 .group = cbx_arena_strdup(arena, cbx__select_text(q, 2)),
                                 .priority = (cbx_priority)cbx__select_int(q, 3),
                                 .description = cbx_arena_strdup(arena, cbx__select_text(q, 4)) };
        if (!out->name || !out->unit || !out->group || !out->description) st = cbx__store_no_memory(err);
    }
    if (st)
        cbx__select_close(q, NULL);
    else
        st = cbx__select_close(q, err);
    return st;
}

/* config.json holds definitions in the form of a run's: it is read as a run that has nothing else. */
static cbx_status def_of_config(cbx_store *s, const char *metric, cbx_arena *arena, cbx_metric_def *out, bool *found,
                                cbx_err *err)
{
    cbx_run *run = NULL;
    const cbx_metric_def *def;
    cbx_status st;

    if (!cbx_path_exists(s->config)) return CBX_OK;
    st = cbx_run_defs_read(s->ctx, s->config, &run, err);
    if (st) return st;
    def = cbx_run_find_metric_def(run, metric);
    *found = def != NULL;
    if (def) {
        *out = (cbx_metric_def){ cbx_arena_strdup(arena, def->name),
                                 cbx_arena_strdup(arena, def->unit),
                                 def->direction,
                                 cbx_arena_strdup(arena, def->group),
                                 def->priority,
                                 cbx_arena_strdup(arena, def->description) };
        if (!out->name || !out->unit || !out->group || !out->description) st = cbx__store_no_memory(err);
    }
    cbx_run_free(run);
    return st;
}

cbx_status cbx_store_metric_def(cbx_store *s, const char *metric, cbx_arena *arena, cbx_metric_def *out, cbx_err *err)
{
    bool found = false;
    cbx_status st = def_of_runs(s, metric, arena, out, &found, err);

    if (!st && !found) st = def_of_config(s, metric, arena, out, &found, err);
    if (!st && !found)
        return cbx_fail(err, CBX_ENOENT, "no run of the store '%s' defines the metric '%s'", s->root, metric);
    return st;
}

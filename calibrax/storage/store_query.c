/* What a store answers: lists of runs, definitions of metrics; store_trend.c has trends. */
#include <string.h>

#include "calibrax/storage/store_internal.h"

/* --- a query as SQL --- */

void cbx__sql_init(cbx__sql *q, cbx_arena *arena, const char *select)
{
    memset(q, 0, sizeof *q);
    q->arena = arena;
    cbx_text_init(&q->text, &arena->al);
    cbx_text_puts(&q->text, select);
}

static void add_bind(cbx__sql *q, const char *text, int64_t number)
{
    if (q->nbinds == CBX__BINDS_MAX) {
        q->too_many = true;
        return;
    }
    q->binds[q->nbinds].text = text;
    q->binds[q->nbinds++].number = number;
}

static void where_text(cbx__sql *q, const char *condition, const char *value)
{
    if (!value) return;
    cbx_text_puts(&q->text, condition);
    add_bind(q, value, 0);
}

static void where_time(cbx__sql *q, const char *condition, int64_t us)
{
    if (!us) return;
    cbx_text_puts(&q->text, condition);
    add_bind(q, NULL, us);
}

void cbx__sql_where_run(cbx__sql *q, const cbx_store_query *w)
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
    where_text(q,
               " AND instr(lower(r.id || char(10) || ifnull(r.commit_, '') || char(10) || ifnull(r.branch, '') ||"
               " char(10) || ifnull(r.machine, '')), lower(?)) > 0",
               w->run_text);
}

bool cbx__sql_asks_series(const cbx_store_query *w)
{
    return w->point || w->scenario || w->metric || w->ntags || w->series_text;
}

void cbx__sql_where_series(cbx__sql *q, const cbx_store_query *w)
{
    where_text(q, " AND s.point = ?", w->point);
    where_text(q, " AND s.scenario = ?", w->scenario);
    where_text(q, " AND s.metric = ?", w->metric);
    for (size_t i = 0; i < w->ntags; i++) {
        const char *item = cbx__tags_text(q->arena, &w->tags[i], 1);
        if (item) item = cbx_arena_printf(q->arena, "\x1e%s", item);
        if (!item) q->text.status = CBX_ENOMEM;
        where_text(q, " AND instr(char(30) || s.tags, ?) > 0", item);
    }
    where_text(q,
               " AND instr(lower(s.point || char(10) || s.scenario || char(10) || s.metric || char(10) ||"
               " replace(s.tags, char(31), '=')), lower(?)) > 0",
               w->series_text);
}

cbx_status cbx__sql_open(cbx__sql *q, cbx__index *ix, cbx__select **out, cbx_err *err)
{
    cbx_status st = cbx_text_check(&q->text, err);

    if (!st && q->too_many)
        st = cbx_fail(err, CBX_EINVAL, "a query has too many conditions: at most %d", CBX__BINDS_MAX);
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

bool cbx__keep_text(cbx_arena *arena, const char *text, const char *before, const char **out)
{
    *out = text && before && strcmp(text, before) == 0 ? before : cbx_arena_strdup(arena, text);
    return *out || !text;
}

/* --- runs --- */

typedef struct entries {
    cbx_store_entry *items;
    cbx__rid *rids; /* of each, and where it is */
    size_t n, capacity, rids_capacity;
} entries;

static bool take_entry(cbx__select *q, cbx_arena *arena, entries *all)
{
    static const cbx_store_entry none = { 0 };
    const cbx_allocator al = cbx_arena_allocator(arena);
    const cbx_store_entry *before;
    cbx_store_entry *e;

    if (!cbx_grow(&al, &all->items, &all->capacity, all->n + 1, sizeof *all->items) ||
        !cbx_grow(&al, &all->rids, &all->rids_capacity, all->n + 1, sizeof *all->rids))
        return false;
    before = all->n ? &all->items[all->n - 1] : &none;
    e = &all->items[all->n];
    *e = none;
    e->timestamp_us = cbx__select_int(q, 1);
    e->npoints = (size_t)cbx__select_int(q, 5);
    e->bytes = (uint64_t)cbx__select_int(q, 6);
    all->rids[all->n] = (cbx__rid){ (uint32_t)cbx__select_int(q, 7), (uint32_t)all->n };
    all->n++;
    return cbx__keep_text(arena, cbx__select_text(q, 0), NULL, &e->id) &&
           cbx__keep_text(arena, cbx__select_text(q, 2), before->commit, &e->commit) &&
           cbx__keep_text(arena, cbx__select_text(q, 3), before->branch, &e->branch) &&
           cbx__keep_text(arena, cbx__select_text(q, 4), before->machine, &e->machine);
}

static cbx_status read_entries(cbx__index *ix, const cbx_store_query *w, cbx_arena *arena, entries *all, cbx_err *err)
{
    cbx__select *select = NULL;
    cbx__sql q;
    cbx_status st;

    *all = (entries){ 0 };
    cbx__sql_init(&q, arena, "SELECT id, time, commit_, branch, machine, npoints, size, rid FROM run r WHERE");
    cbx__sql_where_run(&q, w);
    cbx_text_puts(&q.text, " ORDER BY time DESC, id DESC");
    if (w->limit && !cbx__sql_asks_series(w)) cbx_text_printf(&q.text, " LIMIT %zu", w->limit);
    st = cbx__sql_open(&q, ix, &select, err);
    while (!st && cbx__select_next(select))
        if (!take_entry(select, arena, all)) st = cbx_fail_nomem(err, "the store");
    return cbx__select_end(select, st, err);
}

/* Runs that have a value of some series. */
typedef struct marks {
    const cbx__rid *rids;
    bool *marked;
    size_t n, near;
} marks;

static cbx_status mark(void *user, const cbx__index_value *v, cbx_err *err)
{
    marks *m = user;
    const cbx__rid *found = cbx__rids_find(m->rids, m->n, v->rid, &m->near);

    (void)err;
    if (found) m->marked[found->at] = true;
    return CBX_OK;
}

static cbx_status mark_series(cbx__index *ix, const cbx_store_query *w, cbx_arena *arena, marks *m, cbx_err *err)
{
    cbx__select *series = NULL, *values = NULL;
    cbx__sql q;
    cbx_status st;

    cbx__sql_init(&q, arena, "SELECT sid FROM series s WHERE 1");
    cbx__sql_where_series(&q, w);
    st = cbx__sql_open(&q, ix, &series, err);
    if (!st) st = cbx__values_open(ix, &values, err);
    while (!st && cbx__select_next(series)) st = cbx__values_each(values, cbx__select_int(series, 0), mark, m, err);
    cbx__select_close(values, NULL);
    return cbx__select_end(series, st, err);
}

static cbx_status keep_marked(cbx__index *ix, const cbx_store_query *w, cbx_arena *arena, entries *all, cbx_err *err)
{
    marks m = { .rids = all->rids, .marked = cbx_arena_calloc(arena, all->n, 1), .n = all->n };
    size_t kept = 0;
    cbx_status st;

    if (!m.marked) return cbx_fail_nomem(err, "the store");
    cbx__rids_sort(all->rids, all->n);
    st = mark_series(ix, w, arena, &m, err);
    for (size_t i = 0; !st && i < all->n && !(w->limit && kept == w->limit); i++)
        if (m.marked[i]) all->items[kept++] = all->items[i];
    all->n = kept;
    return st;
}

cbx_status cbx_store_query_runs(cbx_store *s, const cbx_store_query *query, cbx_store_list *out, cbx_err *err)
{
    static const cbx_store_query nothing = { 0 };
    const cbx_store_query *w = query ? query : &nothing;
    cbx__index *ix = NULL;
    entries all;
    cbx_status st;

    *out = (cbx_store_list){ 0 };
    cbx_arena_init(&out->arena, cbx_ctx_allocator(s->ctx));
    st = cbx__store_index(s, &ix, err);
    if (st) return st;
    st = read_entries(ix, w, &out->arena, &all, err);
    if (!st && cbx__sql_asks_series(w)) st = keep_marked(ix, w, &out->arena, &all, err);
    if (st) return st;
    out->entries = all.items;
    out->count = all.n;
    return CBX_OK;
}

cbx_status cbx_store_has_run(cbx_store *s, const char *id, bool *out, cbx_err *err)
{
    cbx__index *ix = NULL;
    int64_t found = 0;
    cbx_status st = cbx__store_index(s, &ix, err);

    if (!st) st = cbx__index_number(ix, "SELECT 1 FROM run WHERE id = ?", id, &found, err);
    if (!st) *out = found;
    return st;
}

cbx_status cbx_store_count_series(cbx_store *s, const cbx_store_query *query, size_t *out, cbx_err *err)
{
    static const cbx_store_query all = { 0 };
    cbx__index *ix = NULL;
    cbx__select *select = NULL;
    cbx_arena arena;
    cbx__sql q;
    cbx_status st = cbx__store_index(s, &ix, err);

    if (st) return st;
    cbx_arena_init(&arena, cbx_ctx_allocator(s->ctx));
    cbx__sql_init(&q, &arena, "SELECT COUNT(*) FROM series s WHERE 1");
    cbx__sql_where_series(&q, query ? query : &all);
    st = cbx__sql_open(&q, ix, &select, err);
    if (!st && cbx__select_next(select)) *out = (size_t)cbx__select_int(select, 0);
    st = cbx__select_end(select, st, err);
    cbx_arena_clear(&arena);
    return st;
}

static cbx_status read_names(cbx_store *s, const char *sql, size_t limit, cbx_arena *arena, const char *const **names,
                             size_t *count, cbx_err *err)
{
    const cbx_allocator al = cbx_arena_allocator(arena);
    CBX_LIST(const char *) all = { 0 };
    cbx__index *ix = NULL;
    cbx__select *select = NULL;
    cbx_status st = cbx__store_last_look(s, &ix, err);

    if (!st) st = cbx__select_open(ix, sql, &select, err);
    if (st) return st;
    cbx__select_bind_int(select, (int64_t)limit);
    while (!st && cbx__select_next(select)) {
        const char *name = cbx_arena_strdup(arena, cbx__select_text(select, 0));
        if (!name || !cbx_list_push(&al, &all, name)) st = cbx_fail_nomem(err, "the names in a store");
    }
    *names = all.items;
    *count = st ? 0 : all.n;
    return cbx__select_end(select, st, err);
}

/* One step of the index for each different name, however many series share it. */
#define EACH_NAME(column)                                                                                              \
    "WITH RECURSIVE name(x) AS (SELECT min(" column ") FROM series UNION ALL"                                          \
    " SELECT (SELECT min(" column ") FROM series WHERE " column " > x) FROM name WHERE x IS NOT NULL)"                 \
    " SELECT x FROM name WHERE x IS NOT NULL LIMIT ?"

cbx_status cbx_store_metric_names(cbx_store *s, size_t limit, cbx_arena *arena, const char *const **names,
                                  size_t *count, cbx_err *err)
{
    return read_names(s, EACH_NAME("metric"), limit, arena, names, count, err);
}

cbx_status cbx_store_point_names(cbx_store *s, size_t limit, cbx_arena *arena, const char *const **names, size_t *count,
                                 cbx_err *err)
{
    return read_names(s, EACH_NAME("point"), limit, arena, names, count, err);
}

void cbx_store_list_clear(cbx_store_list *list)
{
    if (list->arena.al.resize) cbx_arena_clear(&list->arena);
    *list = (cbx_store_list){ 0 };
}

/* --- definitions --- */

static cbx_status keep_def(cbx_arena *arena, const cbx_metric_def *def, cbx_metric_def *out, cbx_err *err)
{
    *out = (cbx_metric_def){ cbx_arena_strdup(arena, def->name),
                             cbx_arena_strdup(arena, def->unit),
                             def->direction,
                             cbx_arena_strdup(arena, def->group),
                             def->priority,
                             cbx_arena_strdup(arena, def->description) };
    return out->name && out->unit && out->group && out->description ? CBX_OK : cbx_fail_nomem(err, "the store");
}

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
        const cbx_metric_def def = { metric,
                                     cbx__select_text(q, 0),
                                     (cbx_direction)cbx__select_int(q, 1),
                                     cbx__select_text(q, 2),
                                     (cbx_priority)cbx__select_int(q, 3),
                                     cbx__select_text(q, 4) };
        st = keep_def(arena, &def, out, err);
    }
    return cbx__select_end(q, st, err);
}

cbx_status cbx_store_metric_is_mixed(cbx_store *s, const char *metric, bool *mixed, cbx_err *err)
{
    static const char kinds[] = "SELECT COUNT(*) FROM (SELECT DISTINCT unit, direction FROM def WHERE metric = ?)";
    cbx__index *ix = NULL;
    int64_t n = 0;
    cbx_status st = cbx__store_last_look(s, &ix, err);

    if (!st) st = cbx__index_number(ix, kinds, metric, &n, err);
    if (!st) *mixed = n > 1;
    return st;
}

/* config.json holds definitions in the form of a run's: it is read as a run that has nothing
 * else. */
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
    if (def) st = keep_def(arena, def, out, err);
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

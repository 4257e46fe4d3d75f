/* What a store answers: lists of runs, definitions of metrics; store_trend.c has trends. */
#include <stdio.h>
#include <string.h>

#include "calibrax/storage/store_internal.h"

/* --- a query as SQL --- */

const cbx_store_query cbx__any_run = { 0 };

void cbx__sql_init(cbx__sql *q, cbx_arena *arena, const char *select)
{
    memset(q, 0, sizeof *q);
    q->arena = arena;
    cbx_text_init(&q->text, &arena->al);
    cbx_text_puts(&q->text, select);
}

static void where_text(cbx__sql *q, const char *condition, const char *value)
{
    if (!value) return;
    cbx_text_puts(&q->text, condition);
    if (q->nbinds < CBX__BINDS_MAX) q->binds[q->nbinds] = value;
    q->nbinds++;
}

void cbx__sql_where_run(cbx__sql *q, const cbx_store_query *w)
{
    bool unnamed = w->machine && strcmp(w->machine, "-") == 0;

    cbx_text_puts(&q->text, " r.problem IS NULL");
    where_text(q, " AND r.branch = ?", w->branch);
    where_text(q, " AND instr(r.commit_, ?) = 1", w->commit);
    where_text(q, " AND instr(r.machine, ?) = 1", unnamed ? NULL : w->machine);
    if (unnamed) cbx_text_puts(&q->text, " AND r.machine IS NULL");
    if (w->since_us) cbx_text_printf(&q->text, " AND r.time >= %lld", (long long)w->since_us);
    if (w->until_us) cbx_text_printf(&q->text, " AND r.time < %lld", (long long)w->until_us);
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

cbx_status cbx__sql_open(cbx__sql *q, cbx__index *ix, cbx__select *out, cbx_err *err)
{
    cbx_status st = cbx_text_check(&q->text, err);

    if (!st && q->nbinds > CBX__BINDS_MAX)
        st = cbx_fail(err, CBX_EINVAL, "a query has too many conditions: at most %d", CBX__BINDS_MAX);
    if (!st) {
        *out = cbx__select_of(ix, cbx_text_str(&q->text));
        cbx__bind_text_list(out, q->binds, q->nbinds);
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

static bool take_run(cbx__select *q, cbx_arena *arena, cbx__runs *all)
{
    static const cbx_store_entry none = { 0 };
    const cbx_store_entry *before = all->list.n ? &all->list.items[all->list.n - 1] : &none;
    cbx_store_entry e = { .timestamp_us = cbx__select_int(q, 1),
                          .npoints = (size_t)cbx__select_int(q, 5),
                          .bytes = (uint64_t)cbx__select_int(q, 6) };
    cbx__rid rid = { (uint32_t)cbx__select_int(q, 7), (uint32_t)all->list.n };

    return cbx__keep_text(arena, cbx__select_text(q, 0), NULL, &e.id) &&
           cbx__keep_text(arena, cbx__select_text(q, 2), before->commit, &e.commit) &&
           cbx__keep_text(arena, cbx__select_text(q, 3), before->branch, &e.branch) &&
           cbx__keep_text(arena, cbx__select_text(q, 4), before->machine, &e.machine) &&
           cbx_list_push(CBX_IN_ARENA(arena), &all->list, e) && cbx_list_push(CBX_IN_ARENA(arena), &all->rids, rid);
}

cbx_status cbx__runs_read(cbx__index *ix, const cbx_store_query *w, const char *order, cbx_arena *arena, cbx__runs *out,
                          cbx_err *err)
{
    cbx__select select = { 0 };
    cbx__sql q;
    cbx_status st;

    cbx__sql_init(&q, arena, "SELECT id, time, commit_, branch, machine, npoints, size, rid FROM run r WHERE");
    cbx__sql_where_run(&q, w);
    cbx_text_puts(&q.text, order);
    st = cbx__sql_open(&q, ix, &select, err);
    while (!st && cbx__select_next(&select))
        if (!take_run(&select, arena, out)) st = cbx_fail_nomem(err, "the store");
    return cbx__select_end(&select, st, err);
}

/* Runs that have a value of some series. */
typedef struct marks {
    const cbx__runs *all;
    bool *marked;
    size_t near;
} marks;

static cbx_status mark(void *user, const cbx__index_value *v, cbx_err *err)
{
    marks *m = user;
    const cbx__rid *found = cbx__rids_find(m->all->rids.items, m->all->rids.n, v->rid, &m->near);

    (void)err;
    if (found) m->marked[found->at] = true;
    return CBX_OK;
}

static cbx_status keep_marked(cbx__index *ix, const cbx_store_query *w, cbx_arena *arena, cbx__runs *all, cbx_err *err)
{
    marks m = { .all = all, .marked = cbx_arena_calloc(arena, all->list.n, 1) };
    cbx__select series = { 0 }, values = cbx__values_select(ix);
    size_t n = all->list.n;
    cbx__sql q;
    cbx_status st;

    cbx__rids_sort(all->rids.items, all->rids.n);
    cbx__sql_init(&q, arena, "SELECT sid FROM series s WHERE 1");
    cbx__sql_where_series(&q, w);
    st = cbx__sql_open(&q, ix, &series, err);
    if (!m.marked) st = cbx_fail_nomem(err, "the store");
    while (!st && cbx__select_next(&series)) st = cbx__values_each(&values, cbx__select_int(&series, 0), mark, &m, err);
    cbx__select_end(&values, CBX_OK, NULL);
    st = cbx__select_end(&series, st, err);
    all->list.n = 0;
    for (size_t i = 0; !st && i < n && !(w->limit && all->list.n == w->limit); i++)
        if (m.marked[i]) all->list.items[all->list.n++] = all->list.items[i];
    return st;
}

cbx_status cbx_store_query_runs(cbx_store *s, const cbx_store_query *query, cbx_store_list *out, cbx_err *err)
{
    const cbx_store_query *w = query ? query : &cbx__any_run;
    cbx__runs all = { 0 };
    char order[64];
    cbx_status st;

    *out = (cbx_store_list){ 0 };
    cbx_arena_init(&out->arena, cbx_ctx_allocator(s->ctx));
    st = cbx__store_index(s, err);
    snprintf(order, sizeof order, " ORDER BY time DESC, id DESC LIMIT %lld",
             w->limit && !cbx__sql_asks_series(w) ? (long long)w->limit : -1LL);
    if (!st) st = cbx__runs_read(s->index, w, order, &out->arena, &all, err);
    if (!st && cbx__sql_asks_series(w)) st = keep_marked(s->index, w, &out->arena, &all, err);
    if (st) return st;
    out->entries = all.list.items;
    out->count = all.list.n;
    return CBX_OK;
}

cbx_status cbx_store_has_run(cbx_store *s, const char *id, bool *out, cbx_err *err)
{
    int64_t found = 0;
    cbx_status st = cbx__store_index(s, err);

    if (!st) st = cbx__index_number(s->index, "SELECT 1 FROM run WHERE id = ?", id, &found, err);
    if (!st) *out = found;
    return st;
}

cbx_status cbx_store_count_series(cbx_store *s, const cbx_store_query *query, size_t *out, cbx_err *err)
{
    cbx__select select = { 0 };
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(s->ctx));
    cbx__sql q;
    cbx_status st = cbx__store_index(s, err);

    if (st) return st;
    cbx__sql_init(&q, &arena, "SELECT COUNT(*) FROM series s WHERE 1");
    cbx__sql_where_series(&q, query ? query : &cbx__any_run);
    st = cbx__sql_open(&q, s->index, &select, err);
    if (!st && cbx__select_next(&select)) *out = (size_t)cbx__select_int(&select, 0);
    return cbx__select_end(&select, st, err);
}

static cbx_status read_names(cbx_store *s, const char *sql, size_t limit, cbx_arena *arena, const char *const **names,
                             size_t *count, cbx_err *err)
{
    CBX_LIST(const char *) all = { 0 };
    cbx_status st = cbx__store_last_look(s, err);

    if (st) return st;
    cbx__select select = cbx__select_of(s->index, sql);
    cbx__bind_ints(&select, (int64_t)limit);
    while (!st && cbx__select_next(&select)) {
        const char *name = cbx_arena_strdup(arena, cbx__select_text(&select, 0));
        if (!name || !cbx_list_push(CBX_IN_ARENA(arena), &all, name)) st = cbx_fail_nomem(err, "the names in a store");
    }
    *names = all.items;
    *count = st ? 0 : all.n;
    return cbx__select_end(&select, st, err);
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

/* Whether there is one that is a copy in the arena. */
static bool keep_def(cbx_arena *arena, const cbx_metric_def *def, cbx_metric_def *out)
{
    *out = (cbx_metric_def){ cbx_arena_strdup(arena, def->name),
                             cbx_arena_strdup(arena, def->unit),
                             def->direction,
                             cbx_arena_strdup(arena, def->group),
                             def->priority,
                             cbx_arena_strdup(arena, def->description) };
    return out->name && out->unit && out->group && out->description;
}

cbx_status cbx_store_metric_is_mixed(cbx_store *s, const char *metric, bool *mixed, cbx_err *err)
{
    static const char kinds[] = "SELECT COUNT(*) FROM (SELECT DISTINCT unit, direction FROM def WHERE metric = ?)";
    int64_t n = 0;
    cbx_status st = cbx__store_last_look(s, err);

    if (!st) st = cbx__index_number(s->index, kinds, metric, &n, err);
    if (!st) *mixed = n > 1;
    return st;
}

/* config.json holds definitions in the form of a run's: it is read as a run that has nothing
 * else. */
cbx_status cbx_store_metric_def(cbx_store *s, const char *metric, cbx_arena *arena, cbx_metric_def *out, cbx_err *err)
{
    static const char newest[] = "SELECT d.unit, d.direction, d.grp, d.priority, d.description FROM def d"
                                 " JOIN run_def USING(did) JOIN run r USING(rid) WHERE d.metric = ?"
                                 " ORDER BY r.time DESC, r.id DESC LIMIT 1";
    CBX_OWNED(cbx_run) *config = NULL;
    bool found, kept = true;
    cbx_status st = cbx__store_index(s, err);

    if (st) return st;
    cbx__select q = cbx__select_of(s->index, newest);
    cbx__bind_texts(&q, metric);
    found = cbx__select_next(&q);
    if (found) {
        const cbx_metric_def def = { metric,
                                     cbx__select_text(&q, 0),
                                     (cbx_direction)cbx__select_int(&q, 1),
                                     cbx__select_text(&q, 2),
                                     (cbx_priority)cbx__select_int(&q, 3),
                                     cbx__select_text(&q, 4) };
        kept = keep_def(arena, &def, out);
    }
    st = cbx__select_end(&q, CBX_OK, err);
    if (!st && !found && cbx_path_exists(s->config)) {
        st = cbx_run_defs_read(s->ctx, s->config, &config, err);
        const cbx_metric_def *def = st ? NULL : cbx_run_find_metric_def(config, metric);
        found = def;
        kept = !def || keep_def(arena, def, out);
    }
    if (st || !kept) return st ? st : cbx_fail_nomem(err, "the store");
    if (!found) return cbx_fail(err, CBX_ENOENT, "no run of the store '%s' defines the metric '%s'", s->root, metric);
    return CBX_OK;
}

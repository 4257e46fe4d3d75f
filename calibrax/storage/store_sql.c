/* Queries as SQL, and lists that grow as rows are read. */
#include "calibrax/storage/store_internal.h"

#include <string.h>

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
}

bool cbx__sql_asks_series(const cbx_store_query *w) { return w->point || w->scenario || w->metric || w->ntags; }

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

/* --- a growing array in an arena --- */

void *cbx__grown(cbx_arena *arena, void *items, size_t n, size_t *capacity, size_t size)
{
    size_t wanted = *capacity ? 2 * *capacity : 64;
    char *more;

    if (n < *capacity) return items;
    more = cbx_arena_calloc(arena, wanted, size);
    if (!more) return NULL;
    if (n) memcpy(more, items, n * size);
    *capacity = wanted;
    return more;
}

bool cbx__keep_text(cbx_arena *arena, const char *text, const char *before, const char **out)
{
    *out = text && before && strcmp(text, before) == 0 ? before : cbx_arena_strdup(arena, text);
    return *out || !text;
}

/*
 * What a run file holds, as rows of the index.
 */
#include "calibrax/base/idioms.h"
#include "calibrax/storage/store_internal.h"

#include <string.h>

enum { PUT_RUN, FILL_RUN, DROP_RUN, COUNT_STALE, PUT_SERIES, FIND_SERIES, PUT_DEF, FIND_DEF, PUT_RUN_DEF };
static const char *const put_sql[CBX__NPUTS] = {
    [PUT_RUN] =
        "INSERT INTO run(hash, problem, id, time, commit_, branch, machine, npoints, name, size, ino, mtime, ctime)"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
    [FILL_RUN] = "UPDATE run SET hash = ?, problem = ?, id = ?, time = ?, commit_ = ?, branch = ?, machine = ?,"
                 " npoints = ? WHERE rid = ?",
    [DROP_RUN] = "DELETE FROM run WHERE rid = ?",
    [COUNT_STALE] = "UPDATE stale SET n = n + 1",
    [PUT_SERIES] = "INSERT INTO series(metric, point, scenario, tags) VALUES(?,?,?,?)",
    [FIND_SERIES] = "SELECT sid FROM series WHERE metric = ? AND point = ? AND scenario = ? AND tags = ?",
    [PUT_DEF] = "INSERT INTO def(metric, unit, direction, grp, priority, description) VALUES(?,?,?,?,?,?)",
    [FIND_DEF] = "SELECT did FROM def WHERE metric = ? AND unit = ? AND direction = ? AND grp = ? AND priority = ?"
                 " AND description = ?",
    [PUT_RUN_DEF] = "INSERT INTO run_def VALUES(?,?)",
};

/* Runs of one benchmark hold the same series in the same order: the last file's i-th is asked
 * before the database. */
typedef struct memo {
    const char *metric, *point, *scenario, *tags;
    int64_t sid;
} memo;

void cbx__putter_init(cbx__putter *p, cbx__index *ix)
{
    *p = (cbx__putter){ .ix = ix };
    cbx_arena_init(&p->texts, cbx_ctx_allocator(ix->ctx));
    cbx__gatherer_init(&p->values, ix);
    for (int i = 0; i < CBX__NPUTS; i++) p->sql[i] = cbx__select_of(ix, put_sql[i]);
}

void cbx__putter_clear(cbx__putter *p)
{
    for (int i = 0; i < CBX__NPUTS; i++) cbx__select_end(&p->sql[i], CBX_OK, NULL);
    cbx__gatherer_clear(&p->values);
    cbx_arena_clear(&p->texts);
}

static void bind_series(cbx__select *s, const void *what)
{
    const cbx__scan_value *v = what;

    cbx__bind_texts(s, v->metric, v->point, v->scenario, v->tags);
}

static void bind_def(cbx__select *s, const void *what)
{
    const cbx_metric_def *d = what;

    cbx__bind_texts(s, d->name, d->unit);
    cbx__bind_ints(s, d->direction);
    cbx__bind_texts(s, d->group);
    cbx__bind_ints(s, d->priority);
    cbx__bind_texts(s, d->description);
}

static cbx_status remember(cbx__putter *p, size_t i, const cbx__scan_value *v, int64_t sid, cbx_err *err)
{
    memo m = { cbx_arena_strdup(&p->texts, v->metric), cbx_arena_strdup(&p->texts, v->point),
               cbx_arena_strdup(&p->texts, v->scenario), cbx_arena_strdup(&p->texts, v->tags), sid };

    if (!m.metric || !m.point || !m.scenario || !m.tags) return cbx_fail_nomem(err, "the series of a store");
    p->last[i] = m;
    p->renewed++;
    return CBX_OK;
}

/* A file with another number of series starts a new memo, and so does one that is out of step for
 * long. */
static cbx_status start_memo(cbx__putter *p, size_t n, cbx_err *err)
{
    static const memo none = { "", "", "", "", 0 };

    if (n == p->nlast && p->renewed <= 8 * n) return CBX_OK;
    cbx_arena_clear(&p->texts);
    p->last = cbx_arena_calloc(&p->texts, n, sizeof *p->last);
    p->nlast = p->last ? n : 0;
    p->renewed = 0;
    for (size_t i = 0; i < p->nlast; i++) p->last[i] = none;
    return p->last ? CBX_OK : cbx_fail_nomem(err, "the series of a store");
}

static cbx_status put_value(cbx__putter *p, int64_t rid, size_t first, size_t i, const cbx__scan_value *v, cbx_err *err)
{
    const cbx__index_value value = { (uint32_t)rid, (uint32_t)(first + i), v->value, v->lower, v->upper };
    int64_t sid = 0;
    cbx_status st = CBX_OK;

    if (strcmp(p->last[i].metric, v->metric) == 0 && strcmp(p->last[i].point, v->point) == 0 &&
        strcmp(p->last[i].scenario, v->scenario) == 0 && strcmp(p->last[i].tags, v->tags) == 0) {
        sid = p->last[i].sid;
    } else {
        st = cbx__select_find_or_put(&p->sql[FIND_SERIES], &p->sql[PUT_SERIES], bind_series, v, &sid, err);
        if (!st) st = remember(p, i, v, sid, err);
    }
    return st ? st : cbx__gatherer_add(&p->values, sid, &value, err);
}

/* What is known at the end of a file; before that it is empty. */
static void bind_content(cbx__select *s, const cbx__scan_file *f)
{
    static const cbx__scan_file none = { 0 };
    const cbx__scan_file *known = f->whole ? f : &none;

    cbx__bind_texts(s, known->hash, known->problem, known->id);
    cbx__bind_ints(s, known->timestamp_us);
    cbx__bind_texts(s, known->commit, known->branch, known->machine);
    cbx__bind_ints(s, (int64_t)known->npoints);
}

/* The row of a file, or of a part of it.  The values of the first parts of a file that is no run
 * are left behind, as those of a run that was forgotten. */
static cbx_status put_row(cbx__putter *p, const cbx__scan_file *f, cbx_err *err)
{
    cbx__select *put = &p->sql[PUT_RUN], *fill = &p->sql[FILL_RUN], *drop = &p->sql[DROP_RUN];
    cbx_status st = CBX_OK;

    if (f->first && !f->problem) {
        if (!f->whole) return CBX_OK;
        bind_content(fill, f);
        cbx__bind_ints(fill, p->rid);
        return cbx__select_put(fill, err);
    }
    if (f->first) {
        cbx__bind_ints(drop, p->rid);
        st = cbx__select_put(drop, err);
        if (!st) st = cbx__select_put(&p->sql[COUNT_STALE], err);
        if (st) return st;
    }
    bind_content(put, f);
    cbx__bind_texts(put, f->name);
    cbx__bind_ints(put, f->stamp.size, f->stamp.ino, f->stamp.mtime_ns, f->stamp.ctime_ns);
    st = cbx__select_put(put, err);
    p->rid = cbx__index_last_row(p->ix);
    if (!st && p->rid > UINT32_MAX)
        st = cbx_fail(err, CBX_EIO, "the index of the store has no more numbers for runs; it may be deleted");
    return st;
}

cbx_status cbx__put_file(void *putter, const cbx__scan_file *f, cbx_err *err)
{
    cbx__putter *p = putter;
    cbx_status st = put_row(p, f, err);

    p->left -= f->whole; /* a large one comes in parts */
    if (!st) st = start_memo(p, f->nvalues, err);
    for (size_t i = 0; !st && i < f->nvalues; i++) st = put_value(p, p->rid, f->first, i, &f->values[i], err);
    for (size_t i = 0; !st && f->whole && i < f->ndefs; i++) {
        int64_t did = 0;
        st = cbx__select_find_or_put(&p->sql[FIND_DEF], &p->sql[PUT_DEF], bind_def, &f->defs[i], &did, err);
        cbx__bind_ints(&p->sql[PUT_RUN_DEF], p->rid, did);
        if (!st) st = cbx__select_put(&p->sql[PUT_RUN_DEF], err);
    }
    return st ? st : cbx__gatherer_pause(&p->values, err);
}

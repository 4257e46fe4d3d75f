/*
 * What a run file holds, as rows of the index.
 */
#include "calibrax/base/idioms.h"
#include "calibrax/storage/store_internal.h"

#include <string.h>

enum { PUT_RUN, FILL_RUN, DROP_RUN, COUNT_STALE, PUT_SERIES, FIND_SERIES, PUT_DEF, FIND_DEF, PUT_RUN_DEF, NPUTS };
static const char *const put_sql[NPUTS] = {
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

struct cbx__putter {
    cbx__index *ix;
    cbx__select *sql[NPUTS];
    cbx__gatherer *values;
    cbx_arena texts;
    memo *last;
    size_t nlast, renewed;
    int64_t rid; /* of the file that comes in parts */
};

cbx_status cbx__putter_create(cbx__index *ix, cbx__putter **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(cbx__index_ctx(ix));
    cbx__putter *p = cbx_mem_zalloc(al, sizeof *p);
    cbx_status st;

    if (!p) return cbx_fail_nomem(err, "the index of a store");
    p->ix = ix;
    cbx_arena_init(&p->texts, al);
    st = cbx__gatherer_create(ix, &p->values, err);
    for (int i = 0; !st && i < NPUTS; i++) st = cbx__select_open(ix, put_sql[i], &p->sql[i], err);
    return CBX_FINISH(st, *out = p, cbx__putter_free(p));
}

cbx_status cbx__putter_finish(cbx__putter *p, cbx_err *err) { return cbx__gatherer_flush(p->values, err); }

void cbx__putter_free(cbx__putter *p)
{
    if (!p) return;
    for (int i = 0; i < NPUTS; i++) cbx__select_close(p->sql[i], NULL);
    cbx__gatherer_free(p->values);
    cbx_arena_clear(&p->texts);
    cbx_mem_free(cbx_ctx_allocator(cbx__index_ctx(p->ix)), p, sizeof *p);
}

static void bind_series(cbx__select *s, const void *what)
{
    const cbx__scan_value *v = what;

    cbx__select_bind_text(s, v->metric);
    cbx__select_bind_text(s, v->point);
    cbx__select_bind_text(s, v->scenario);
    cbx__select_bind_text(s, v->tags);
}

static void bind_def(cbx__select *s, const void *what)
{
    const cbx_metric_def *d = what;

    cbx__select_bind_text(s, d->name);
    cbx__select_bind_text(s, d->unit);
    cbx__select_bind_int(s, d->direction);
    cbx__select_bind_text(s, d->group);
    cbx__select_bind_int(s, d->priority);
    cbx__select_bind_text(s, d->description);
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
        st = cbx__select_find_or_put(p->sql[FIND_SERIES], p->sql[PUT_SERIES], bind_series, v, &sid, err);
        if (!st) st = remember(p, i, v, sid, err);
    }
    return st ? st : cbx__gatherer_add(p->values, sid, &value, err);
}

static cbx_status put_def(cbx__putter *p, int64_t rid, const cbx_metric_def *d, cbx_err *err)
{
    int64_t did = 0;
    cbx_status st = cbx__select_find_or_put(p->sql[FIND_DEF], p->sql[PUT_DEF], bind_def, d, &did, err);

    if (st) return st;
    cbx__select_bind_int(p->sql[PUT_RUN_DEF], rid);
    cbx__select_bind_int(p->sql[PUT_RUN_DEF], did);
    return cbx__select_put(p->sql[PUT_RUN_DEF], err);
}

/* What is known at the end of a file; before that it is empty. */
static void bind_content(cbx__select *s, const cbx__scan_file *f)
{
    static const cbx__scan_file none = { 0 };
    const cbx__scan_file *known = f->whole ? f : &none;
    const char *const texts[] = { known->hash, known->problem, known->id };
    const char *const more[] = { known->commit, known->branch, known->machine };

    for (int i = 0; i < 3; i++) cbx__select_bind_text(s, texts[i]);
    cbx__select_bind_int(s, known->timestamp_us);
    for (int i = 0; i < 3; i++) cbx__select_bind_text(s, more[i]);
    cbx__select_bind_int(s, (int64_t)known->npoints);
}

static cbx_status put_run(cbx__putter *p, const cbx__scan_file *f, int64_t *rid, cbx_err *err)
{
    cbx__select *s = p->sql[PUT_RUN];
    const int64_t stamps[] = { f->stamp.size, f->stamp.ino, f->stamp.mtime_ns, f->stamp.ctime_ns };
    cbx_status st;

    bind_content(s, f);
    cbx__select_bind_text(s, f->name);
    for (int i = 0; i < 4; i++) cbx__select_bind_int(s, stamps[i]);
    st = cbx__select_put(s, err);
    *rid = cbx__index_last_row(p->ix);
    if (!st && *rid > UINT32_MAX)
        st = cbx_fail(err, CBX_EIO, "the index of the store has no more numbers for runs; it may be deleted");
    return st;
}

/* The values of its first parts are left behind, as those of a run that was forgotten. */
static cbx_status drop_run(cbx__putter *p, int64_t rid, cbx_err *err)
{
    cbx_status st;

    cbx__select_bind_int(p->sql[DROP_RUN], rid);
    st = cbx__select_put(p->sql[DROP_RUN], err);
    return st ? st : cbx__select_put(p->sql[COUNT_STALE], err);
}

/* The row of a file, or of a part of it. */
static cbx_status put_row(cbx__putter *p, const cbx__scan_file *f, int64_t *rid, cbx_err *err)
{
    cbx__select *s = p->sql[FILL_RUN];
    bool further = f->first > 0;
    cbx_status st = further && f->problem ? drop_run(p, p->rid, err) : CBX_OK;

    *rid = p->rid;
    if (!st && (!further || f->problem)) return put_run(p, f, rid, err);
    if (st || !f->whole) return st;
    bind_content(s, f);
    cbx__select_bind_int(s, p->rid);
    return cbx__select_put(s, err);
}

cbx_status cbx__put_file(cbx__putter *p, const cbx__scan_file *f, cbx_err *err)
{
    int64_t rid = 0;
    cbx_status st = put_row(p, f, &rid, err);

    p->rid = rid;
    if (!st) st = start_memo(p, f->nvalues, err);
    for (size_t i = 0; !st && i < f->nvalues; i++) st = put_value(p, rid, f->first, i, &f->values[i], err);
    for (size_t i = 0; !st && f->whole && i < f->ndefs; i++) st = put_def(p, rid, &f->defs[i], err);
    return st ? st : cbx__gatherer_pause(p->values, err);
}

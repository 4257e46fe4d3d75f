/*
 * Points as asv's benchmarks: names, units, parameters.
 */
#include "calibrax/exporters/asv.h"

#include <stdlib.h>
#include <string.h>

#include "calibrax/base/hash.h"

enum { MOST_COMBINATIONS = 1000000 };

cbx_status cbx__asv_no_memory(cbx_err *err) { return cbx_fail(err, CBX_ENOMEM, "out of memory for asv's files"); }

void *cbx__asv_grown(cbx_arena *arena, void *items, size_t n, size_t *room, size_t size)
{
    void *more;

    if (n < *room) return items;
    more = cbx_arena_calloc(arena, *room ? 2 * *room : 16, size);
    if (!more) return NULL;
    if (n) memcpy(more, items, n * size);
    *room = *room ? 2 * *room : 16;
    return more;
}

static bool same_text(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

bool cbx__asv_add_text(cbx_arena *arena, cbx__asv_texts *l, const char *s)
{
    const char **items;

    for (size_t i = 0; i < l->n; i++)
        if (same_text(l->items[i], s)) return true;
    items = cbx__asv_grown(arena, l->items, l->n, &l->room, sizeof *items);
    if (!items) return false;
    l->items = items;
    l->items[l->n++] = s;
    return true;
}

/* --- units --- */

static const struct {
    const char *unit, *type, *asv_unit;
    double times, per;
} units[] = {
    { "s", "time", "seconds", 1, 1 },           { "sec", "time", "seconds", 1, 1 },
    { "seconds", "time", "seconds", 1, 1 },     { "ms", "time", "seconds", 1, 1e3 },
    { "us", "time", "seconds", 1, 1e6 },        { "\302\265s", "time", "seconds", 1, 1e6 },
    { "\316\274s", "time", "seconds", 1, 1e6 }, { "ns", "time", "seconds", 1, 1e9 },
    { "min", "time", "seconds", 60, 1 },        { "B", "memory", "bytes", 1, 1 },
    { "bytes", "memory", "bytes", 1, 1 },       { "kB", "memory", "bytes", 1e3, 1 },
    { "KB", "memory", "bytes", 1e3, 1 },        { "MB", "memory", "bytes", 1e6, 1 },
    { "GB", "memory", "bytes", 1e9, 1 },        { "KiB", "memory", "bytes", 1024, 1 },
    { "MiB", "memory", "bytes", 1048576, 1 },   { "GiB", "memory", "bytes", 1073741824, 1 },
};

static void set_unit(cbx__asv_benchmark *b, const char *unit)
{
    b->type = "track";
    b->unit = unit;
    b->times = b->per = 1;
    for (size_t i = 0; i < CBX_LEN(units); i++)
        if (!strcmp(units[i].unit, unit)) {
            b->type = units[i].type;
            b->unit = units[i].asv_unit;
            b->times = units[i].times;
            b->per = units[i].per;
        }
}

/* --- benchmarks --- */

static bool wanted(const cbx_export_opts *o, const char *metric)
{
    for (size_t i = 0; i < o->nmetrics; i++)
        if (!strcmp(o->metrics[i], metric)) return true;
    return !o->nmetrics;
}

bool cbx__asv_is_of(const cbx__asv_benchmark *b, const cbx_point *p)
{
    return !strcmp(b->scenario, p->scenario) && !strcmp(b->point, p->name) && cbx_point_metric(p, b->metric);
}

/* The name that asv shows; dots part it, so those within its parts are replaced, and what then is not unique gets a hash. */
static const char *name_of(cbx__asv_site *s, const cbx__asv_benchmark *b)
{
    char *name = cbx_arena_printf(s->job->arena, "%s.%s.%s", b->scenario, b->point, b->metric), hash[CBX_HASH_SIZE];
    size_t ends[] = { strlen(b->scenario), strlen(b->scenario) + 1 + strlen(b->point) };

    if (!name) return NULL;
    cbx_hash_bytes(name, strlen(name), hash);
    for (size_t i = 0; name[i]; i++) {
        bool dot = name[i] == '.' && i != ends[0] && i != ends[1];
        if (dot || name[i] == '/' || name[i] == '\\' || (unsigned char)name[i] < ' ') name[i] = '_';
    }
    for (size_t i = 0; i < s->n; i++)
        if (!strcmp(s->list[i].name, name)) return cbx_arena_printf(s->job->arena, "%s-%.8s", name, hash);
    return name;
}

static cbx_status add_benchmark(cbx__asv_site *s, const cbx_run *run, const cbx_point *p, const char *metric,
                                cbx_err *err)
{
    const cbx_metric_def *def = cbx_run_find_metric_def(run, metric);
    cbx__asv_benchmark b = { .scenario = p->scenario, .point = p->name, .metric = metric }, *list;
    const char *text;
    char *version;

    for (size_t i = 0; i < s->n; i++)
        if (cbx__asv_is_of(&s->list[i], p) && !strcmp(s->list[i].metric, metric)) return CBX_OK;
    set_unit(&b, def ? def->unit : "");
    b.name = name_of(s, &b);
    text = b.name ? cbx_arena_printf(s->job->arena, "%s %s", b.name, b.unit) : NULL;
    version = text ? cbx_arena_alloc(s->job->arena, CBX_HASH_SIZE) : NULL;
    list = version ? cbx__asv_grown(s->job->arena, s->list, s->n, &s->room, sizeof *list) : NULL;
    if (!list) return cbx__asv_no_memory(err);
    cbx_hash_bytes(text, strlen(text), version);
    b.version = version;
    s->list = list;
    s->list[s->n++] = b;
    return CBX_OK;
}

/* A unit that changes between runs would join what cannot be joined. */
static cbx_status check_unit(const cbx__asv_benchmark *b, const cbx_run *run, cbx_err *err)
{
    const cbx_metric_def *def = cbx_run_find_metric_def(run, b->metric);
    cbx__asv_benchmark now = *b;

    set_unit(&now, def ? def->unit : "");
    if (!strcmp(now.unit, b->unit) && now.times == b->times && now.per == b->per) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "run '%s' has '%s' in another unit than the runs before it: export them apart",
                    cbx_run_id(run), b->metric);
}

/* --- parameters --- */

static int by_value(const void *pa, const void *pb)
{
    const char *a = *(const char *const *)pa, *b = *(const char *const *)pb;
    char *ea, *eb;
    double x, y;

    if (!a || !b) return (a != NULL) - (b != NULL);
    x = strtod(a, &ea);
    y = strtod(b, &eb);
    if (*a && *b && !*ea && !*eb && x != y) return x < y ? -1 : 1;
    return strcmp(a, b);
}

/* Keys of all tags, then for each its values; those with one value only are no parameters. */
static cbx_status find_parameters(cbx__asv_site *s, cbx__asv_benchmark *b, cbx_err *err)
{
    cbx__asv_texts keys = { 0 };
    cbx_arena *arena = s->job->arena;

    for (size_t r = 0; r < s->nruns; r++)
        for (size_t i = 0; i < cbx_run_npoints(s->runs[r]); i++) {
            const cbx_point *p = cbx_run_point(s->runs[r], i);
            for (size_t k = 0; cbx__asv_is_of(b, p) && k < p->ntags; k++)
                if (!cbx__asv_add_text(arena, &keys, p->tags[k].key)) return cbx__asv_no_memory(err);
        }
    if (keys.n) qsort(keys.items, keys.n, sizeof *keys.items, by_value);
    b->params = cbx_arena_calloc(arena, keys.n, sizeof *b->params);
    if (!b->params) return cbx__asv_no_memory(err);
    b->combinations = 1;
    for (size_t k = 0; k < keys.n; k++) {
        cbx__asv_parameter q = { .key = keys.items[k] };
        for (size_t r = 0; r < s->nruns; r++)
            for (size_t i = 0; i < cbx_run_npoints(s->runs[r]); i++) {
                const cbx_point *p = cbx_run_point(s->runs[r], i);
                if (cbx__asv_is_of(b, p) && !cbx__asv_add_text(arena, &q.values, cbx_point_tag(p, q.key)))
                    return cbx__asv_no_memory(err);
            }
        if (q.values.n < 2) continue;
        qsort(q.values.items, q.values.n, sizeof *q.values.items, by_value);
        if (b->combinations > MOST_COMBINATIONS / q.values.n)
            return cbx_fail(err, CBX_EOVERFLOW,
                            "the tags of '%s' have more than %d combinations: choose fewer metrics or runs", b->name,
                            MOST_COMBINATIONS);
        b->combinations *= q.values.n;
        b->params[b->nparams++] = q;
    }
    return CBX_OK;
}

size_t cbx__asv_place_of(const cbx__asv_benchmark *b, const cbx_point *p)
{
    size_t place = 0;

    for (size_t k = 0; k < b->nparams; k++) {
        const cbx__asv_texts *v = &b->params[k].values;
        size_t i = 0;
        while (i + 1 < v->n && !same_text(v->items[i], cbx_point_tag(p, b->params[k].key))) i++;
        place = place * v->n + i;
    }
    return place;
}

cbx_status cbx__asv_find_benchmarks(cbx__asv_site *s, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t r = 0; !st && r < s->nruns; r++)
        for (size_t i = 0; !st && i < cbx_run_npoints(s->runs[r]); i++) {
            const cbx_point *p = cbx_run_point(s->runs[r], i);
            for (size_t k = 0; !st && k < p->nmetrics; k++)
                if (wanted(&s->job->opts, p->metrics[k].name))
                    st = add_benchmark(s, s->runs[r], p, p->metrics[k].name, err);
        }
    for (size_t i = 0; !st && i < s->n; i++) {
        st = find_parameters(s, &s->list[i], err);
        for (size_t r = 0; !st && r < s->nruns; r++)
            for (size_t k = 0; !st && k < cbx_run_npoints(s->runs[r]); k++)
                if (cbx__asv_is_of(&s->list[i], cbx_run_point(s->runs[r], k)))
                    st = check_unit(&s->list[i], s->runs[r], err);
    }
    return st;
}

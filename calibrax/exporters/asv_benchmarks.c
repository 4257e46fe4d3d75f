/*
 * Points as asv's benchmarks: names, units, parameters; runs by their commits.
 *
 * Workload: 500,000 values of 10,000 runs, most of which are of benchmarks that are known by then.
 */
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/hash.h"
#include "calibrax/exporters/asv.h"

enum { MAX_COMBINATIONS = 1000000 };

void cbx__asv_init(cbx__asv_site *s, cbx_export_job *job, const cbx_export_source *runs)
{
    cbx_names *const words[] = { &s->keys, &s->names, &s->values, &s->branches, &s->commit_keys, &s->beginnings };
    const cbx_allocator *al = cbx_ctx_allocator(job->ctx);

    *s = (cbx__asv_site){ .job = job, .runs = runs };
    cbx_arena_init(&s->arena, al);
    s->al = cbx_arena_allocator(&s->arena);
    cbx_text_init(&s->key, al);
    for (size_t i = 0; i < CBX_LEN(words); i++) cbx_names_init(words[i], al);
}

void cbx__asv_clear(cbx__asv_site *s)
{
    cbx_names *const words[] = { &s->keys, &s->names, &s->values, &s->branches, &s->commit_keys, &s->beginnings };

    for (size_t i = 0; i < CBX_LEN(words); i++) cbx_names_clear(words[i]);
    cbx_arena_clear(&s->arena);
    cbx_text_clear(&s->key);
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

/* Of the scenario, the point and the metric, until the next one; NULL: out of memory. */
static const char *key_of(cbx__asv_site *s, const cbx_point *p, const char *metric)
{
    cbx_text_reset(&s->key);
    cbx_text_puts(&s->key, p->scenario);
    cbx_text_putc(&s->key, '\x1f');
    cbx_text_puts(&s->key, p->name);
    cbx_text_putc(&s->key, '\x1f');
    cbx_text_puts(&s->key, metric);
    return s->key.status ? NULL : cbx_text_str(&s->key);
}

/* The name that asv shows; dots part it, so those within its parts are replaced, and what then is not unique gets a hash. */
static const char *name_of(cbx__asv_site *s, const cbx__asv_benchmark *b)
{
    char *name = cbx_arena_printf(&s->arena, "%s.%s.%s", b->scenario, b->point, b->metric), hash[CBX_HASH_SIZE];
    size_t ends[] = { strlen(b->scenario), strlen(b->scenario) + 1 + strlen(b->point) }, before = s->names.n, at;

    if (!name) return NULL;
    cbx_hash_bytes(name, strlen(name), hash);
    for (size_t i = 0; name[i]; i++) {
        bool dot = name[i] == '.' && i != ends[0] && i != ends[1];
        if (dot || name[i] == '/' || name[i] == '\\' || (unsigned char)name[i] < ' ') name[i] = '_';
    }
    at = cbx_names_add(&s->names, name);
    if (at == CBX_NO_NAME || at == before) return at == before ? name : NULL;
    name = cbx_arena_printf(&s->arena, "%s-%.8s", name, hash);
    return name && cbx_names_add(&s->names, name) != CBX_NO_NAME ? name : NULL;
}

static bool begin_benchmark(cbx__asv_site *s, const cbx_point *p, const char *metric, const char *unit)
{
    cbx__asv_benchmark *b;
    const char *text;
    char *version;

    if (!cbx_grow(&s->al, &s->list, &s->capacity, s->n + 1, sizeof *s->list)) return false;
    b = &s->list[s->n];
    *b = (cbx__asv_benchmark){ .scenario = cbx_arena_strdup(&s->arena, p->scenario),
                               .point = cbx_arena_strdup(&s->arena, p->name),
                               .metric = cbx_arena_strdup(&s->arena, metric),
                               .given = cbx_arena_strdup(&s->arena, unit) };
    if (!b->scenario || !b->point || !b->metric || !b->given) return false;
    set_unit(b, b->given);
    b->name = name_of(s, b);
    text = b->name ? cbx_arena_printf(&s->arena, "%s %s", b->name, b->unit) : NULL;
    version = text ? cbx_arena_alloc(&s->arena, CBX_HASH_SIZE) : NULL;
    if (!version) return false;
    cbx_hash_bytes(text, strlen(text), version);
    b->version = version;
    s->n++;
    return true;
}

bool cbx__asv_benchmark_of(cbx__asv_site *s, const cbx_point *p, const char *metric, const cbx__asv_benchmark **out)
{
    bool asked = wanted(&s->job->opts, metric);
    const char *key = asked ? key_of(s, p, metric) : NULL;
    size_t at = key ? cbx_names_find(&s->keys, key) : CBX_NO_NAME;

    *out = at == CBX_NO_NAME ? NULL : &s->list[at];
    return key || !asked;
}

/* A unit that changes between runs would join what cannot be joined. */
static cbx_status check_unit(const cbx__asv_benchmark *b, const cbx_run *run, const char *unit, cbx_err *err)
{
    cbx__asv_benchmark now = *b;

    if (!strcmp(b->given, unit)) return CBX_OK;
    set_unit(&now, unit);
    if (!strcmp(now.unit, b->unit) && now.times == b->times && now.per == b->per) return CBX_OK;
    return cbx_fail(err, CBX_EINVAL, "run '%s' has '%s' in another unit than the runs before it: export them apart",
                    cbx_run_id(run), b->metric);
}

/* --- parameters --- */

/* Where a number is among those seen, or belongs. */
static size_t place_among(const cbx__asv_parameter *q, uint32_t number)
{
    size_t low = 0, high = q->seen.n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (q->seen.items[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Adds the tags of a point to the parameters of its benchmark. */
static bool see_tags(cbx__asv_site *s, cbx__asv_benchmark *b, const cbx_point *p)
{
    b->npoints++;
    for (size_t i = 0; i < p->ntags; i++) {
        size_t number = cbx_names_add(&s->values, p->tags[i].value), k = 0, at;
        cbx__asv_parameter *q;
        if (number == CBX_NO_NAME) return false;
        while (k < b->nparams && strcmp(b->params[k].key, p->tags[i].key)) k++;
        if (k == b->nparams) {
            const char *key = cbx_arena_strdup(&s->arena, p->tags[i].key);
            if (!key || !cbx_grow(&s->al, &b->params, &b->capacity, k + 1, sizeof *b->params)) return false;
            b->params[b->nparams++] = (cbx__asv_parameter){ .key = key };
        }
        q = &b->params[k];
        q->npoints++;
        at = place_among(q, (uint32_t)number);
        if (at < q->seen.n && q->seen.items[at] == number) continue;
        if (!cbx_list_push(&s->al, &q->seen, (uint32_t)number)) return false;
        memmove(q->seen.items + at + 1, q->seen.items + at, (q->seen.n - 1 - at) * sizeof *q->seen.items);
        q->seen.items[at] = (uint32_t)number;
    }
    return true;
}

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

/* The values of a tag in order, and the place of each. */
static bool order_values(cbx__asv_site *s, const cbx__asv_benchmark *b, cbx__asv_parameter *q)
{
    cbx_arena *arena = &s->arena;
    bool holes = q->npoints < b->npoints;

    q->nvalues = q->seen.n + holes;
    q->values = cbx_arena_calloc(arena, q->nvalues, sizeof *q->values);
    q->places = cbx_arena_calloc(arena, q->seen.n + 1, sizeof *q->places);
    if (!q->values || !q->places) return false;
    for (size_t i = 0; i < q->seen.n; i++) q->values[i] = s->values.list[q->seen.items[i]];
    if (q->nvalues) qsort(q->values, q->nvalues, sizeof *q->values, by_value);
    for (size_t i = 0; i < q->nvalues; i++) {
        const char *value = q->values[i];
        size_t number = value ? cbx_names_find(&s->values, value) : 0;
        q->places[value ? place_among(q, (uint32_t)number) : q->seen.n] = i;
    }
    return true;
}

static int by_key(const void *a, const void *b)
{
    const cbx__asv_parameter *x = a, *y = b;

    return by_value(&x->key, &y->key);
}

/* Tags with one value only are no parameters. */
static cbx_status choose_parameters(cbx__asv_site *s, cbx__asv_benchmark *b, cbx_err *err)
{
    size_t n = 0;

    if (b->nparams) qsort(b->params, b->nparams, sizeof *b->params, by_key);
    b->combinations = 1;
    for (size_t k = 0; k < b->nparams; k++) {
        cbx__asv_parameter *q = &b->params[k];
        if (q->seen.n + (q->npoints < b->npoints) < 2) continue;
        if (!order_values(s, b, q)) return cbx_fail_nomem(err, NULL);
        if (b->combinations > MAX_COMBINATIONS / q->nvalues)
            return cbx_fail(err, CBX_EOVERFLOW,
                            "the tags of '%s' have more than %d combinations: choose fewer metrics or runs", b->name,
                            MAX_COMBINATIONS);
        b->combinations *= q->nvalues;
        b->params[n++] = *q;
    }
    b->nparams = n;
    return CBX_OK;
}

size_t cbx__asv_place_of(const cbx__asv_site *s, const cbx__asv_benchmark *b, const cbx_point *p)
{
    size_t place = 0;

    for (size_t k = 0; k < b->nparams; k++) {
        const cbx__asv_parameter *q = &b->params[k];
        const char *value = cbx_point_tag(p, q->key);
        size_t at = value ? place_among(q, (uint32_t)cbx_names_find(&s->values, value)) : q->seen.n;
        place = place * q->nvalues + q->places[at];
    }
    return place;
}

/* --- commits --- */

const char *cbx__asv_machine_of(const cbx_run *run)
{
    return cbx_json_get_string(cbx_run_environment(run), "machine", "unknown");
}

static bool begin_commit(cbx__asv_site *s, const cbx_run *run)
{
    const char *machine = cbx__asv_machine_of(run), *hash = cbx_run_commit(run);
    const char *beginning = cbx_arena_printf(s->job->arena, "%s\x1f%.*s", machine, CBX__ASV_COMMIT, hash);
    size_t before = s->beginnings.n, at = beginning ? cbx_names_add(&s->beginnings, beginning) : CBX_NO_NAME;
    cbx__asv_commit c = { .machine = cbx_arena_strdup(&s->arena, machine),
                          .hash = cbx_arena_strdup(&s->arena, hash),
                          .alike = at };

    if (at == CBX_NO_NAME || !c.machine || !c.hash) return false;
    if (!cbx_grow(&s->al, &s->commits, &s->commits_capacity, s->ncommits + 1, sizeof c)) return false;
    if (!cbx_grow(&s->al, &s->alike, &s->alike_capacity, at + 1, sizeof *s->alike)) return false;
    s->alike[at] = at == before ? 1 : s->alike[at] + 1;
    s->commits[s->ncommits++] = c;
    return true;
}

static bool file_run(cbx__asv_site *s, const cbx_run *run, size_t number)
{
    const char *branch = cbx_run_branch(run);
    const char *key = cbx_arena_printf(s->job->arena, "%s\x1f%s", cbx__asv_machine_of(run), cbx_run_commit(run));
    size_t at = key ? cbx_names_add(&s->commit_keys, key) : CBX_NO_NAME;

    if (at == CBX_NO_NAME || (at == s->ncommits && !begin_commit(s, run))) return false;
    s->commits[at].nruns++;
    s->commit_of[number] = (uint32_t)at;
    return !branch || cbx_names_add(&s->branches, branch) != CBX_NO_NAME;
}

/* Runs by commit, each commit's in their order. */
static bool order_runs(cbx__asv_site *s)
{
    size_t before = 0;

    s->order = cbx_arena_calloc(&s->arena, s->runs->count, sizeof *s->order);
    if (!s->order) return false;
    for (size_t i = 0; i < s->ncommits; i++) {
        s->commits[i].first = before;
        before += s->commits[i].nruns;
        s->commits[i].nruns = 0;
    }
    for (size_t i = 0; i < s->runs->count; i++) {
        cbx__asv_commit *c = &s->commits[s->commit_of[i]];
        s->order[c->first + c->nruns++] = (uint32_t)i;
    }
    return true;
}

/* --- all runs --- */

static cbx_status take_value(cbx__asv_site *s, const cbx_run *run, const cbx_point *p, const char *metric, cbx_err *err)
{
    const cbx_metric_def *def = cbx_run_find_metric_def(run, metric);
    const char *key = key_of(s, p, metric), *unit = def ? def->unit : "";
    size_t at = key ? cbx_names_add(&s->keys, key) : CBX_NO_NAME;
    cbx_status st;

    if (at == CBX_NO_NAME || (at == s->n && !begin_benchmark(s, p, metric, unit))) return cbx_fail_nomem(err, NULL);
    st = check_unit(&s->list[at], run, unit, err);
    return st || see_tags(s, &s->list[at], p) ? st : cbx_fail_nomem(err, NULL);
}

static cbx_status take_run(cbx__asv_site *s, const cbx_run *run, size_t number, cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (!cbx_run_commit(run) || !*cbx_run_commit(run))
        return cbx_fail(err, CBX_EINVAL, "run '%s' has no commit, and asv files results by commit", cbx_run_id(run));
    if (!file_run(s, run, number)) return cbx_fail_nomem(err, NULL);
    for (size_t i = 0; !st && i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        for (size_t k = 0; !st && k < p->nmetrics; k++)
            if (wanted(&s->job->opts, p->metrics[k].name)) st = take_value(s, run, p, p->metrics[k].name, err);
    }
    return st;
}

cbx_status cbx__asv_find(cbx__asv_site *s, cbx_err *err)
{
    cbx_status st = CBX_OK;

    s->commit_of = cbx_arena_calloc(&s->arena, s->runs->count, sizeof *s->commit_of);
    if (!s->commit_of) return cbx_fail_nomem(err, NULL);
    for (size_t i = 0; !st && i < s->runs->count; i++) {
        cbx_run *run = NULL;
        st = s->runs->load(s->runs->user, i, &run, err);
        if (!st) st = take_run(s, run, i, err);
        cbx_run_free(run);
        cbx_arena_clear(s->job->arena);
    }
    for (size_t i = 0; !st && i < s->n; i++) st = choose_parameters(s, &s->list[i], err);
    return st || order_runs(s) ? st : cbx_fail_nomem(err, NULL);
}

/*
 * A folder that `asv publish` builds a site from (airspeed velocity: results 2, benchmarks 2,
 * machine 1).
 *
 *     asv.conf.json
 *     results/benchmarks.json
 *     results/<machine>/machine.json
 *     results/<machine>/<commit>-calibrax.json
 *
 * A benchmark is one metric of one point: "scenario.point.metric".  Tags that differ among its
 * points are its parameters; all runs of one commit on one machine become one result: the median of
 * their values, and all their samples.  Times are in seconds, sizes in bytes, everything else in
 * its own unit.  asv takes every rise for a regression, whatever the direction.
 *
 * Runs come one at a time, twice: first for what is written of all of them together, then commit by
 * commit for their values.  Workload: 500,000 values of 10,000 runs, most of which are of
 * benchmarks that are known by then.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/hash.h"
#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/together.h"
#include "calibrax/exporters/job.h"
#include "calibrax/exporters/units.h"
#include "calibrax/statistics/estimate.h"

#define COMMIT_DIGITS 8 /* that a file's name has of a commit */
enum { MAX_COMBINATIONS = 1000000 };

/* A tag of the points of a benchmark. */
typedef struct parameter {
    const char *key;
    cbx_table index; /* from the numbers of its values to their places in `seen` */
    CBX_LIST(uint32_t) seen;
    size_t npoints;
    /* when all are known */
    const char **values; /* in the order they are shown; NULL: a point without the tag */
    size_t nvalues;
    size_t *places; /* of each number seen, then of a point without the tag */
} parameter;

typedef struct benchmark {
    const char *scenario, *point, *metric, *name;
    const char *unit;       /* as asv shows it */
    const cbx__unit *given; /* that the metric has */
    char version[CBX_HASH_SIZE];
    CBX_LIST(parameter) params;
    size_t npoints, combinations;
} benchmark;

/* Runs of one commit on one machine. */
typedef struct commit {
    const char *machine, *hash;
    CBX_LIST(size_t) runs;
    size_t beginning; /* number of the beginning of its hash, among those of its machine */
} commit;

typedef struct site {
    cbx_export_job *job;
    const cbx_export_source *runs;
    cbx_arena arena;
    cbx_allocator al;              /* over the arena */
    cbx_names keys, names, values; /* of benchmarks; of tags */
    cbx_names branches, commit_keys, beginnings, machines;
    CBX_LIST(benchmark) list; /* by number of the key */
    CBX_LIST(commit) commits; /* by number of the key */
    CBX_LIST(size_t) alike;   /* commits of each beginning */
} site;

static const char *machine_of(const cbx_run *run)
{
    return cbx_json_get_string(cbx_run_environment(run), "machine", "unknown");
}

/* --- units --- */

static const char *const types[] = {
    [CBX__UNIT_OTHER] = "track", [CBX__UNIT_TIME] = "time", [CBX__UNIT_SIZE] = "memory"
};

/* The unit that asv gets values in. */
static const char *unit_of(const char *word)
{
    static const char *const names[] = { [CBX__UNIT_TIME] = "seconds", [CBX__UNIT_SIZE] = "bytes" };
    const cbx__unit *u = cbx__unit_find(word);

    return u->kind == CBX__UNIT_OTHER ? word : names[u->kind];
}

/* --- benchmarks --- */

/* NULL: out of memory. */
static const char *key_of(site *s, const cbx_point *p, const char *metric)
{
    return cbx_arena_printf(s->job->arena, "%s\x1f%s\x1f%s", p->scenario, p->name, metric);
}

/* The name that asv shows; dots part it, so those within its parts are replaced, and what then is
 * not unique gets a hash. */
static const char *name_of(site *s, const benchmark *b)
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

static bool begin_benchmark(site *s, const cbx_point *p, const char *metric, const char *unit)
{
    benchmark b = { .scenario = cbx_arena_strdup(&s->arena, p->scenario),
                    .point = cbx_arena_strdup(&s->arena, p->name),
                    .metric = cbx_arena_strdup(&s->arena, metric) };
    const char *text = cbx_arena_strdup(&s->arena, unit);

    if (!b.scenario || !b.point || !b.metric || !text) return false;
    b.given = cbx__unit_find(text);
    b.unit = unit_of(text);
    b.name = name_of(s, &b);
    text = b.name ? cbx_arena_printf(s->job->arena, "%s %s", b.name, b.unit) : NULL;
    if (!text) return false;
    cbx_hash_bytes(text, strlen(text), b.version);
    return cbx_list_push(&s->al, &s->list, b);
}

/* --- parameters --- */

/* Place of a value's number among those seen; NULL: it is not among them. */
static const size_t *place_of_value(const parameter *q, size_t number)
{
    return number == CBX_NO_NAME ? NULL : cbx_table_find(&q->index, number + 1, NULL, NULL, NULL);
}

/* Adds the tags of a point to the parameters of its benchmark. */
static bool see_tags(site *s, benchmark *b, const cbx_point *p)
{
    b->npoints++;
    for (size_t i = 0; i < p->ntags; i++) {
        size_t number = cbx_names_add(&s->values, p->tags[i].value), k = 0;
        parameter *q;
        if (number == CBX_NO_NAME) return false;
        while (k < b->params.n && strcmp(b->params.items[k].key, p->tags[i].key)) k++;
        if (k == b->params.n) {
            parameter new = { .key = cbx_arena_strdup(&s->arena, p->tags[i].key) };
            cbx_table_init(&new.index, &s->al);
            if (!new.key || !cbx_list_push(&s->al, &b->params, new)) return false;
        }
        q = &b->params.items[k];
        q->npoints++;
        if (place_of_value(q, number)) continue;
        if (!cbx_table_add(&q->index, number + 1, q->seen.n) || !cbx_list_push(&s->al, &q->seen, (uint32_t)number))
            return false;
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

static int by_key(const void *a, const void *b)
{
    const parameter *x = a, *y = b;

    return by_value(&x->key, &y->key);
}

/* The tags with more than one value, the values of each in order, and their places. */
static cbx_status choose_parameters(site *s, benchmark *b, cbx_err *err)
{
    size_t n = 0;

    if (b->params.n) qsort(b->params.items, b->params.n, sizeof *b->params.items, by_key);
    b->combinations = 1;
    for (size_t k = 0; k < b->params.n; k++) {
        parameter *q = &b->params.items[k];
        q->nvalues = q->seen.n + (q->npoints < b->npoints);
        if (q->nvalues < 2) continue;
        if (!cbx_arena_arrays(&s->arena, CBX_ARRAY(q->values, q->nvalues), CBX_ARRAY(q->places, q->seen.n + 1)))
            return cbx_fail_nomem(err, NULL);
        for (size_t i = 0; i < q->seen.n; i++) q->values[i] = s->values.list[q->seen.items[i]];
        qsort(q->values, q->nvalues, sizeof *q->values, by_value);
        for (size_t i = 0; i < q->nvalues; i++) {
            const char *value = q->values[i];
            q->places[value ? *place_of_value(q, cbx_names_find(&s->values, value)) : q->seen.n] = i;
        }
        if (b->combinations > MAX_COMBINATIONS / q->nvalues)
            return cbx_fail(err, CBX_EOVERFLOW,
                            "the tags of '%s' have more than %d combinations: choose fewer metrics or runs", b->name,
                            MAX_COMBINATIONS);
        b->combinations *= q->nvalues;
        b->params.items[n++] = *q;
    }
    b->params.n = n;
    return CBX_OK;
}

/* Place of a point among the combinations of parameters, the last one fastest. */
static size_t place_of(const site *s, const benchmark *b, const cbx_point *p)
{
    size_t place = 0;

    for (size_t k = 0; k < b->params.n; k++) {
        const parameter *q = &b->params.items[k];
        const char *value = cbx_point_tag(p, q->key);
        const size_t *known = value ? place_of_value(q, cbx_names_find(&s->values, value)) : NULL;
        place = place * q->nvalues + q->places[known ? *known : q->seen.n];
    }
    return place;
}

/* --- commits --- */

/* Counts a run to its commit.  false: out of memory. */
static bool file_run(site *s, const cbx_run *run, size_t number)
{
    const char *machine = machine_of(run), *hash = cbx_run_commit(run), *branch = cbx_run_branch(run);
    const char *key = cbx_arena_printf(s->job->arena, "%s\x1f%s", machine, hash);
    size_t at = key ? cbx_names_add(&s->commit_keys, key) : CBX_NO_NAME;

    if (at == CBX_NO_NAME) return false;
    if (at == s->commits.n) {
        const char *beginning = cbx_arena_printf(s->job->arena, "%s\x1f%.*s", machine, COMMIT_DIGITS, hash);
        const commit c = { .machine = cbx_arena_strdup(&s->arena, machine),
                           .hash = cbx_arena_strdup(&s->arena, hash),
                           .beginning = beginning ? cbx_names_add(&s->beginnings, beginning) : CBX_NO_NAME };
        if (c.beginning == CBX_NO_NAME || !c.machine || !c.hash || !cbx_list_push(&s->al, &s->commits, c)) return false;
        if (c.beginning == s->alike.n && !cbx_list_push(&s->al, &s->alike, (size_t)0)) return false;
        s->alike.items[c.beginning]++;
    }
    if (!cbx_list_push(&s->al, &s->commits.items[at].runs, number)) return false;
    return !branch || cbx_names_add(&s->branches, branch) != CBX_NO_NAME;
}

/* --- all runs --- */

/* A unit that changes between runs would join what cannot be joined. */
static cbx_status take_value(site *s, const cbx_run *run, const cbx_point *p, const char *metric, cbx_err *err)
{
    const cbx_metric_def *def = cbx_run_find_metric_def(run, metric);
    const char *key = key_of(s, p, metric), *unit = def ? def->unit : "";
    size_t at = key ? cbx_names_add(&s->keys, key) : CBX_NO_NAME;

    if (at == CBX_NO_NAME || (at == s->list.n && !begin_benchmark(s, p, metric, unit)))
        return cbx_fail_nomem(err, NULL);
    benchmark *b = &s->list.items[at];
    const cbx__unit *now = cbx__unit_find(unit);
    if (strcmp(unit_of(unit), b->unit) != 0 || now->times != b->given->times || now->per != b->given->per)
        return cbx_fail(err, CBX_EINVAL, "run '%s' has '%s' in another unit than earlier runs: export them separately",
                        cbx_run_id(run), b->metric);
    return see_tags(s, b, p) ? CBX_OK : cbx_fail_nomem(err, NULL);
}

static cbx_status read_all(site *s, cbx_err *err)
{
    cbx_status st = CBX_OK;

    for (size_t i = 0; !st && i < s->runs->count; i++) {
        CBX_OWNED(cbx_run) *run = NULL;
        st = s->runs->load(s->runs->user, i, &run, err);
        if (!st && (!cbx_run_commit(run) || !*cbx_run_commit(run)))
            st = cbx_fail(err, CBX_EINVAL, "run '%s' has no commit, and asv stores results by commit", cbx_run_id(run));
        if (!st && !file_run(s, run, i)) st = cbx_fail_nomem(err, NULL);
        for (size_t j = 0; !st && j < cbx_run_npoints(run); j++) {
            const cbx_point *p = cbx_run_point(run, j);
            for (size_t k = 0; !st && k < p->nmetrics; k++)
                if (cbx__export_wants(s->job, p->metrics[k].name)) st = take_value(s, run, p, p->metrics[k].name, err);
        }
        cbx_arena_clear(s->job->arena);
    }
    for (size_t i = 0; !st && i < s->list.n; i++) st = choose_parameters(s, &s->list.items[i], err);
    return st;
}

/* --- what the files share --- */

/* Python's repr of a text. */
static cbx_json *repr(cbx_export_job *job, const char *value)
{
    if (!value) return cbx_json_new_string("None");
    CBX_SCOPED(cbx_text, out, cbx_ctx_allocator(job->ctx));
    cbx_text_putc(&out, '\'');
    for (; *value; value++) {
        if (*value == '\'' || *value == '\\') cbx_text_putc(&out, '\\');
        if (*value == '\n')
            cbx_text_puts(&out, "\\n");
        else
            cbx_text_putc(&out, *value);
    }
    cbx_text_putc(&out, '\'');
    return out.status ? NULL : cbx_json_new_string(cbx_text_str(&out));
}

static cbx_json *params_json(cbx_export_job *job, const benchmark *b)
{
    cbx_json *all = cbx_json_new_array();

    for (size_t k = 0; k < b->params.n; k++) {
        const parameter *q = &b->params.items[k];
        cbx_json *values = cbx_json_push_array(all);
        for (size_t i = 0; i < q->nvalues; i++) cbx_json_push(values, repr(job, q->values[i]));
    }
    return all;
}

/* What asv distinguishes machines by: facts of the hardware, and no host name. */
static cbx_json *machine_json(const cbx_run *run)
{
    const cbx_json *hardware = cbx_json_get(cbx_run_environment(run), "hardware");
    int64_t threads = cbx_json_get_int(hardware, "cpu_count", 0),
            memory = cbx_json_get_int(hardware, "memory_bytes", 0);
    char count[24] = "", ram[24] = "";

    if (threads > 0) snprintf(count, sizeof count, "%lld", (long long)threads);
    if (memory > 0) snprintf(ram, sizeof ram, "%lld", (long long)(memory / 1024));
    return cbx_json_object(J_TEXT("machine", machine_of(run)), J_TEXT("os", cbx_json_get_string(hardware, "os", "")),
                           J_TEXT("arch", cbx_json_get_string(hardware, "arch", "")),
                           J_TEXT("cpu", cbx_json_get_string(hardware, "cpu_model", "")), J_TEXT("num_cpu", count),
                           J_TEXT("ram", ram));
}

enum { FORM = CBX_JSON_INDENT2 | CBX_JSON_ASCII | CBX_JSON_NONFINITE_BARE };

static cbx_status begin_document(site *s, const char *name, cbx__export_stream *out, cbx_err *err)
{
    cbx_status st = cbx__export_stream_begin(s->job, name, out, err);

    out->w.flags = FORM;
    cbx_json_writer_begin(&out->w, NULL, '{');
    return st;
}

/* Takes the document; NULL: out of memory. */
static cbx_status put_document(site *s, const char *name, cbx_json *document, cbx_err *err)
{
    cbx_status st = name ? cbx_json_check(document, err) : cbx_fail_nomem(err, NULL);

    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(s->job->ctx));
    cbx_json_write(document, FORM, &text);
    cbx_text_putc(&text, '\n');
    if (!st) st = cbx__export_file(s->job, name, &text, err);
    cbx_json_unref(document);
    return st;
}

static cbx_status put_benchmarks(site *s, cbx_err *err)
{
    cbx__export_stream out;
    cbx_status st = begin_document(s, "results/benchmarks.json", &out, err);

    for (size_t i = 0; i < s->list.n; i++) {
        const benchmark *b = &s->list.items[i];
        cbx_json *o = cbx_json_object(J_TEXT("code", ""), J_TEXT("name", b->name)),
                 *names = cbx_json_set_array(o, "param_names");
        for (size_t k = 0; k < b->params.n; k++) cbx_json_push_string(names, b->params.items[k].key);
        cbx_json_put(o, J_JSON("params", params_json(s->job, b)), J_NUMBER("timeout", 60),
                     J_TEXT("type", types[b->given->kind]), J_TEXT("unit", b->unit), J_TEXT("version", b->version));
        cbx__export_stream_add(&out, b->name, o);
    }
    cbx__export_stream_add(&out, "version", cbx_json_new_int(2));
    return cbx__export_stream_end(&out, st, err);
}

static cbx_status put_configuration(site *s, cbx_err *err)
{
    static const char *const head[] = { "HEAD" };

    return put_document(
        s, "asv.conf.json",
        cbx_json_object(J_INT("version", 1), J_TEXT("project", "calibrax"),
                        J_TEXT("repo", s->job->opts.repo ? s->job->opts.repo : "."),
                        J_TEXTS("branches", s->branches.n ? s->branches.list : head, s->branches.n ? s->branches.n : 1),
                        J_TEXT("environment_type", "existing"), J_TEXT("results_dir", "results"),
                        J_TEXT("html_dir", "html")),
        err);
}

/* --- the results of one commit on one machine --- */

/* What the runs of a commit have of one benchmark and one combination of parameters: their values
 * and samples. */
typedef struct heap {
    CBX_LIST(double) values, samples;
    cbx_interval kept; /* of the last value, where asv itself made it; else level 0 */
} heap;

typedef struct result {
    heap *heaps; /* one a combination; NULL: none of the runs has the benchmark */
    int64_t started;
} result;

/* Adds a run to the results of all benchmarks; false: out of memory. */
static bool add_run(site *s, const cbx_run *run, result *results)
{
    const cbx_allocator al = cbx_arena_allocator(s->job->arena);
    const char *source = cbx_json_get_string(cbx_run_metadata(run), "import_format", "");
    double level = strcmp(source, "asv") ? 0 : 0.99;

    for (size_t i = 0; i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        for (size_t k = 0; k < p->nmetrics; k++) {
            const cbx_metric *m = &p->metrics[k].metric;
            if (!cbx__export_wants(s->job, p->metrics[k].name)) continue;
            const char *key = key_of(s, p, p->metrics[k].name);
            if (!key) return false;
            const size_t at = cbx_names_find(&s->keys, key);
            if (at == CBX_NO_NAME) continue; /* the run was replaced since it was read first */
            const benchmark *b = &s->list.items[at];
            const double times = b->given->times, per = b->given->per;
            result *to = &results[at];
            if (!to->heaps) {
                to->heaps = cbx_arena_calloc(s->job->arena, b->combinations, sizeof *to->heaps);
                to->started = INT64_MAX;
            }
            if (!to->heaps) return false;
            heap *h = &to->heaps[place_of(s, b, p)];
            if (!cbx_list_push(&al, &h->values, m->value * times / per)) return false;
            h->kept = (cbx_interval){ .lower = m->lower * times / per,
                                      .upper = m->upper * times / per,
                                      .level = isnan(m->lower) || isnan(m->upper) ? 0 : level };
            for (size_t j = 0; j < m->nsamples; j++)
                if (!cbx_list_push(&al, &h->samples, m->samples[j] * times / per)) return false;
            if (cbx_run_timestamp_us(run) < to->started) to->started = cbx_run_timestamp_us(run);
        }
    }
    return true;
}

/* Members of a row by their place in `columns`. */
enum { RESULT, PARAMS, VERSION, STARTED_AT, DURATION, CI_A, CI_B, Q_25, Q_75, NUMBER, REPEAT, SAMPLES, NCOLUMNS };
static const char *const columns[NCOLUMNS] = {
    "result",        "params",     "version",    "started_at",   "duration",     "stats_ci_99_a",
    "stats_ci_99_b", "stats_q_25", "stats_q_75", "stats_number", "stats_repeat", "samples",
};

/* One combination: the median of the runs, and, where all samples are finite, their quartiles and
 * asv's interval: 99 % of the median, where there are samples enough for one.  A single value that
 * asv itself made keeps its interval. */
static cbx_status push_place(cbx_ctx *ctx, cbx_json *row[NCOLUMNS], const heap *h, cbx_err *err)
{
    cbx_interval ci = { .level = 0 };
    double value = NAN;
    cbx_summary s;
    cbx_status st = CBX_OK;

    if (h->values.n && cbx__all_finite(h->values.items, h->values.n))
        st = cbx_stat_median(ctx, h->values.items, h->values.n, &value, err);
    if (st) return st;
    if (h->values.n)
        cbx_json_push_double(row[RESULT], value);
    else
        cbx_json_push_null(row[RESULT]);
    if (!h->samples.n || !cbx__all_finite(h->samples.items, h->samples.n)) {
        for (int i = CI_A; i <= SAMPLES; i++) cbx_json_push_null(row[i]);
        return CBX_OK;
    }
    st = cbx_stat_summary(ctx, h->samples.items, h->samples.n, &s, err);
    if (!st) st = cbx_stat_median_interval(ctx, h->samples.items, h->samples.n, 0.99, &ci, err);
    if (st) return st;
    if (h->values.n == 1 && h->kept.level > 0) ci = h->kept;
    cbx_json_push_double(row[CI_A], ci.level > 0 ? ci.lower : -INFINITY);
    cbx_json_push_double(row[CI_B], ci.level > 0 ? ci.upper : INFINITY);
    cbx_json_push_double(row[Q_25], s.p25);
    cbx_json_push_double(row[Q_75], s.p75);
    cbx_json_push_int(row[NUMBER], 1);
    cbx_json_push_int(row[REPEAT], (int64_t)h->samples.n);
    cbx_json *samples = cbx_json_push_array(row[SAMPLES]);
    for (size_t i = 0; i < h->samples.n; i++) cbx_json_push_double(samples, h->samples.items[i]);
    return CBX_OK;
}

/* One row of "results". */
static cbx_status add_row(site *s, const benchmark *b, const result *of, cbx__export_stream *out, cbx_err *err)
{
    cbx_json *row[NCOLUMNS] = { NULL }, *array = cbx_json_new_array();
    cbx_status st = CBX_OK;

    for (int i = 0; i < NCOLUMNS; i++) {
        if (i == PARAMS)
            cbx_json_push(array, params_json(s->job, b));
        else if (i == VERSION)
            cbx_json_push_string(array, b->version);
        else if (i == STARTED_AT)
            cbx_json_push_int(array, of->started / 1000);
        else if (i == DURATION)
            cbx_json_push_null(array);
        else
            row[i] = cbx_json_push_array(array);
    }
    for (size_t i = 0; !st && i < b->combinations; i++) st = push_place(s->job->ctx, row, &of->heaps[i], err);
    cbx__export_stream_add(out, b->name, array);
    return st;
}

static cbx_status put_file(site *s, const commit *c, const cbx_run *first, const result *results, const char *folder,
                           cbx_err *err)
{
    const char *safe = cbx__export_safe_name(s->job->arena, c->hash), *name;
    int digits = s->alike.items[c->beginning] == 1 ? COMMIT_DIGITS : 1000; /* what begins alike is written whole */
    cbx__export_stream out;

    name = safe ? cbx_arena_printf(s->job->arena, "results/%s/%.*s-calibrax.json", folder, digits, safe) : NULL;
    if (!name) return cbx_fail_nomem(err, NULL);
    cbx_json *names = cbx_json_new_array();
    for (int i = 0; i < NCOLUMNS; i++) cbx_json_push_string(names, columns[i]);
    cbx_status st = begin_document(s, name, &out, err);
    cbx_json_writer_add_string(&out.w, "commit_hash", c->hash);
    cbx_json_writer_add_string(&out.w, "env_name", "calibrax");
    cbx__export_stream_add(&out, "date", cbx_json_new_int(cbx_run_timestamp_us(first) / 1000));
    cbx__export_stream_add(&out, "params", machine_json(first));
    cbx_json_writer_add_string(&out.w, "python", "");
    cbx__export_stream_add(&out, "requirements", cbx_json_new_object());
    cbx__export_stream_add(&out, "env_vars", cbx_json_new_object());
    cbx__export_stream_add(&out, "result_columns", names);
    cbx_json_writer_begin(&out.w, "results", '{');
    for (size_t i = 0; !st && i < s->list.n; i++)
        if (results[i].heaps) st = add_row(s, &s->list.items[i], &results[i], &out, err);
    cbx_json_writer_end(&out.w);
    cbx__export_stream_add(&out, "durations", cbx_json_new_object());
    cbx__export_stream_add(&out, "version", cbx_json_new_int(2));
    return cbx__export_stream_end(&out, st, err);
}

static cbx_status put_commit(site *s, const commit *c, cbx_err *err)
{
    result *results = cbx_arena_calloc(s->job->arena, s->list.n, sizeof *results);
    const char *folder = cbx__export_safe_name(s->job->arena, c->machine);
    CBX_OWNED(cbx_run) *first = NULL;
    cbx_status st = results && folder ? CBX_OK : cbx_fail_nomem(err, NULL);

    for (size_t i = 0; !st && i < c->runs.n; i++) {
        CBX_OWNED(cbx_run) *run = NULL;
        st = s->runs->load(s->runs->user, c->runs.items[i], &run, err);
        if (!st && !add_run(s, run, results)) st = cbx_fail_nomem(err, NULL);
        if (!st && !first) first = cbx_run_ref(run);
    }
    size_t nmachines = s->machines.n;
    if (!st && cbx_names_add(&s->machines, c->machine) == CBX_NO_NAME) st = cbx_fail_nomem(err, NULL);
    if (!st && nmachines < s->machines.n) { /* its file has not been written */
        cbx_json *machine = machine_json(first);
        cbx_json_set_int(machine, "version", 1);
        st = put_document(s, cbx_arena_printf(s->job->arena, "results/%s/machine.json", folder), machine, err);
    }
    if (!st) st = put_file(s, c, first, results, folder, err);
    cbx_arena_clear(s->job->arena);
    return st;
}

static cbx_status asv_runs(cbx_export_job *job, const cbx_export_source *runs, cbx_err *err)
{
    site s = { .job = job, .runs = runs };
    cbx_names *const words[] = {
        &s.keys, &s.names, &s.values, &s.branches, &s.commit_keys, &s.beginnings, &s.machines
    };
    cbx_status st;

    cbx_arena_init(&s.arena, cbx_ctx_allocator(job->ctx));
    s.al = cbx_arena_allocator(&s.arena);
    for (size_t i = 0; i < CBX_LEN(words); i++) cbx_names_init(words[i], cbx_ctx_allocator(job->ctx));
    st = read_all(&s, err);
    if (!st) st = put_benchmarks(&s, err);
    if (!st) st = put_configuration(&s, err);
    for (size_t i = 0; !st && i < s.commits.n; i++) st = put_commit(&s, &s.commits.items[i], err);
    for (size_t i = 0; i < CBX_LEN(words); i++) cbx_names_clear(words[i]);
    cbx_arena_clear(&s.arena);
    return st;
}

CBX__EXPORTER(asv, .name = "asv", .summary = "a folder that 'asv publish' builds a site from",
              .export_together = asv_runs);

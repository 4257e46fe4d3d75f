/* Rows of two tables matched by key, made into two runs for the verdict engine, and what it finds.
 * O(k log k) for k rows. */
#include "calibrax/perf/gate/gate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/list.h"
#include "calibrax/core/owned.h"

#define MIN_RATIO 1.10
#define P95_RATIO 1.25
/* Changes below these do not count, however large they are in per cent. */
#define MIN_COMPILE_S 0.1
#define MIN_MEMORY_MB 8
#define MIN_ERROR     0.05

#define MAX_TAGS     40
#define MAX_AHEAD_US 86400000000LL /* clocks set by hand differ by less */

typedef struct gate_key {
    const char *key; /* with or without the machine */
    const cbx_row *row, *match;
    size_t order;
} gate_key;

typedef struct gate_table {
    gate_key *all; /* by key; one each */
    size_t n;
} gate_table;

typedef struct gate {
    cbx_ctx *ctx;
    const cbx_row_gate_opts *opts;
    cbx_arena arena;
    gate_table base, now;
    cbx_row_gate_facts facts;
    bool machines_apart; /* no key in both, but there would be if machines did not count */
} gate;

/* "" where the row does not name it. */
static const char *machine_of(const cbx_row *row) { return row->machine ? row->machine : ""; }

/* --- rows that belong together --- */

static cbx_status no_memory(cbx_err *err) { return cbx_fail_nomem(err, "a gate"); }

static int by_key(const void *a, const void *b)
{
    const gate_key *x = a, *y = b;
    int c = strcmp(x->key, y->key);

    if (!c) c = (int)cbx_row_is_attempt(x->row) - (int)cbx_row_is_attempt(y->row);
    if (!c) c = strcmp(x->row->run_id, y->row->run_id);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

static const char *name_of(gate *g, const cbx_row *r)
{
    return cbx_arena_printf(&g->arena, "%.60s %.60s %.60s", r->case_name,
                            r->point_label ? r->point_label : r->point_json, r->baseline);
}

/* Which of two rows is newer follows from their ids only if both are times in UTC, and none is
 * ahead of the clock. */
static cbx_status check_time(gate *g, const cbx_row *r, cbx_err *err)
{
    const char *zone = strstr(r->run_id, "+0000");
    const char *time = zone ? cbx_arena_printf(&g->arena, "%.*sZ", (int)(zone - r->run_id), r->run_id) : "";
    int64_t us;

    if (!time) return no_memory(err);
    if (cbx_time_parse_iso(time, &us, NULL))
        return cbx_fail(err, CBX_EINVAL, "the run id '%s' of '%s' does not begin with a time in UTC", r->run_id,
                        name_of(g, r));
    if (us > cbx_time_now_us() + MAX_AHEAD_US)
        return cbx_fail(err, CBX_EINVAL, "run '%s' of '%s' is in the future: correct its time, or remove it", r->run_id,
                        name_of(g, r));
    return CBX_OK;
}

static cbx_status make_table(gate *g, const cbx_rows *rows, bool with_machine, gate_table *t, cbx_err *err)
{
    size_t kept = 0;
    cbx_status st = CBX_OK;

    *t = (gate_table){ .all = cbx_arena_calloc(&g->arena, rows->count, sizeof *t->all) };
    if (!t->all) return no_memory(err);
    for (size_t i = 0; i < rows->count; i++) {
        cbx_row named = rows->rows[i];
        if (cbx_row_is_limit(&rows->rows[i])) continue; /* the machine's, not ours */
        st = check_time(g, &rows->rows[i], err);
        if (st) return st;
        if (!with_machine) named.machine = NULL;
        t->all[t->n] = (gate_key){ cbx_row_key(&g->arena, &named), &rows->rows[i], NULL, i };
        if (!t->all[t->n++].key) return no_memory(err);
    }
    qsort(t->all, t->n, sizeof *t->all, by_key);
    for (size_t i = 0; i < t->n; i++) { /* the last of equal ones is the newest attempt */
        const gate_key *k = &t->all[i];
        if (i + 1 == t->n || strcmp(k->key, k[1].key) != 0) {
            if (cbx_row_is_attempt(k->row) && strcmp(k->row->status, "env_failed") != 0) t->all[kept++] = *k;
        } else if (!strcmp(k->row->run_id, k[1].row->run_id)) {
            return cbx_fail(err, CBX_EINVAL, "'%s' is listed twice for run %s: keep one of the two rows",
                            name_of(g, k->row), k->row->run_id);
        }
    }
    t->n = kept;
    return CBX_OK;
}

static size_t match_keys(gate_table *base, gate_table *now)
{
    size_t both = 0, j = 0;

    for (size_t i = 0; i < base->n; i++) {
        while (j < now->n && strcmp(now->all[j].key, base->all[i].key) < 0) j++;
        if (j == now->n || strcmp(now->all[j].key, base->all[i].key) != 0) continue;
        base->all[i].match = now->all[j].row;
        now->all[j].match = base->all[i].row;
        both++;
    }
    return both;
}

static bool has_machine(const gate_table *t, const char *machine)
{
    for (size_t i = 0; i < t->n; i++)
        if (!strcmp(machine_of(t->all[i].row), machine)) return true;
    return false;
}

static cbx_status match_tables(gate *g, const cbx_rows *base, const cbx_rows *now, cbx_err *err)
{
    bool with = !g->opts->allow_machines;
    cbx_status st = make_table(g, base, with, &g->base, err);

    if (!st) st = make_table(g, now, with, &g->now, err);
    if (st) return st;
    g->facts.nbaseline = g->base.n;
    g->facts.ncurrent = g->now.n;
    g->facts.nboth = match_keys(&g->base, &g->now);
    for (size_t i = 0; i < g->now.n && !g->opts->allow_older; i++) {
        const cbx_row *r = g->now.all[i].row, *before = g->now.all[i].match;
        if (before && strcmp(r->run_id, before->run_id) < 0)
            return cbx_fail(
                err, CBX_EINVAL,
                "'%s' under test is older than the baseline's (%s, baseline %s); measure it again, or allow "
                "older rows",
                name_of(g, r), r->run_id, before->run_id);
    }
    if (with && g->facts.nboth) {
        /* Baseline keys of machines that have nothing in the current table are not missing: there
         * was no measurement. */
        const char *last = NULL;
        bool known = false;
        size_t kept = 0;
        for (size_t i = 0; i < g->base.n; i++) {
            const char *machine = machine_of(g->base.all[i].row);
            if (!last || strcmp(last, machine) != 0) known = has_machine(&g->now, machine);
            last = machine;
            if (known)
                g->base.all[kept++] = g->base.all[i];
            else
                g->facts.other_machines++;
        }
        g->base.n = kept;
    }
    if (!with || g->facts.nboth || !g->base.n || !g->now.n) return CBX_OK;
    st = make_table(g, base, false, &g->base,
                    err); /* the engine refuses what only machines keep apart, and names them */
    if (!st) st = make_table(g, now, false, &g->now, err);
    if (!st) g->machines_apart = match_keys(&g->base, &g->now) > 0;
    return st;
}

/* --- what of a pair is compared: by launches where both rows have them --- */

typedef enum metric_id {
    OK,
    TIME,
    TIME_MIN,
    TIME_P95,
    COMPILE,
    COMPILE_WARM,
    MEMORY,
    DEVICE_MEMORY,
    ERROR,
    NMETRICS
} metric_id;

static const cbx_metric_def metric_defs[NMETRICS] = {
    [OK] = { "ok", "", CBX_DIRECTION_HIGHER, "outcome", CBX_PRIORITY_PRIMARY, "1: the row came out good" },
    [TIME] = { "time", "s", CBX_DIRECTION_LOWER, "time", CBX_PRIORITY_PRIMARY, "median of launch medians" },
    [TIME_MIN] = { "time_min", "s", CBX_DIRECTION_LOWER, "time", CBX_PRIORITY_SECONDARY, "least epoch" },
    [TIME_P95] = { "time_p95", "s", CBX_DIRECTION_LOWER, "time", CBX_PRIORITY_SECONDARY, "95th percentile of epochs" },
    [COMPILE] = { "compile_time", "s", CBX_DIRECTION_LOWER, "time", CBX_PRIORITY_SECONDARY, "cold" },
    [COMPILE_WARM] = { "compile_time_warm", "s", CBX_DIRECTION_LOWER, "time", CBX_PRIORITY_SECONDARY,
                       "with a cache that is filled" },
    [MEMORY] = { "memory", "MB", CBX_DIRECTION_LOWER, "memory", CBX_PRIORITY_SECONDARY,
                 "growth of the worker, 10^6 bytes" },
    [DEVICE_MEMORY] = { "device_memory", "MB", CBX_DIRECTION_LOWER, "memory", CBX_PRIORITY_SECONDARY, "peak" },
    [ERROR] = { "error_to_tolerance", "", CBX_DIRECTION_LOWER, "fidelity", CBX_PRIORITY_SECONDARY,
                "largest error over its bound" },
};

/* The launches' values of a metric; NULL with *n 0 where the row does not hold it. */
static const double *launches_of(const cbx_row *row, metric_id id, size_t *n)
{
    const cbx_row_metric *metric = id == COMPILE         ? &row->compile
                                   : id == COMPILE_WARM  ? &row->compile_warm
                                   : id == MEMORY        ? &row->memory
                                   : id == DEVICE_MEMORY ? &row->device_memory
                                   : id == ERROR         ? &row->error
                                                         : NULL;

    *n = id == TIME ? row->nlaunches : metric ? metric->nlaunches : 0;
    return id == TIME ? row->launch_medians_s : metric ? metric->launches : NULL;
}

/* A row whose answer is wrong, was not compared with the oracle although its counterpart's was, or
 * is not a number, is not good. */
static bool passed(const cbx_row *row, const cbx_row *other)
{
    if (!cbx_row_is_good(row)) return false;
    if (!row->fidelity_status) return !other || !other->fidelity_status;
    return !strcmp(row->fidelity_status, "ok") && !row->mismatched && (row->checks || !other || !other->checks) &&
           (isnan(row->rel_to_tol) ? !other || isnan(other->rel_to_tol) : row->rel_to_tol >= 0 && row->rel_to_tol <= 1);
}

/* Whether the metric of `row` is laid before the engine; one that only this row has is then dropped
 * or new. */
static bool has_finding(const gate *g, const cbx_row *row, const cbx_row *other, metric_id id, double value)
{
    const bool launches = row->nlaunches && other->nlaunches;

    if (!passed(row, other) || !passed(other, row)) return false;
    if (id == TIME) return launches || isnan(row->min_s) || isnan(other->min_s);
    if (id == TIME_MIN && launches && isnan(g->opts->min_ratio)) return false;
    if (id == TIME_P95 && launches && isnan(g->opts->p95_ratio)) return false;
    return !isnan(value);
}

static size_t metrics_of(const gate *g, const cbx_row *row, const cbx_row *other, cbx_named_metric *out)
{
    size_t n = 0;

    out[n++] = (cbx_named_metric){ metric_defs[OK].name, cbx_metric_of(passed(row, other)) };
    if (!other) return n;
    /* of rows that do not hold their launches: what is kept instead, the same on both sides */
    const bool increase = isfinite(row->host_rss_increase_mb) && isfinite(other->host_rss_increase_mb);
    const double kept_memory = increase ? row->host_rss_increase_mb : row->host_rss_mb;
    bool launched[NMETRICS];
    for (int id = OK; id < NMETRICS; id++) {
        size_t mine, theirs;
        launches_of(row, (metric_id)id, &mine);
        launches_of(other, (metric_id)id, &theirs);
        launched[id] = mine && theirs;
    }
    const double values[NMETRICS] = { /* NaN where the row has none */
                                      [TIME] = row->median_s,
                                      [TIME_MIN] = row->min_s,
                                      [TIME_P95] = row->p95_s,
                                      [COMPILE] = row->compile_s,
                                      [COMPILE_WARM] = row->compile_warm.over.value,
                                      [MEMORY] = launched[MEMORY] ? row->memory.over.value : kept_memory,
                                      [DEVICE_MEMORY] = launched[DEVICE_MEMORY] ? row->device_memory.over.value
                                                                                : row->peak_hbm_mb,
                                      [ERROR] = launched[ERROR] ? row->error.over.value : row->rel_to_tol
    };
    for (int id = TIME; id < NMETRICS; id++) {
        if (!has_finding(g, row, other, (metric_id)id, values[id])) continue;
        out[n] = (cbx_named_metric){ metric_defs[id].name, cbx_metric_of(values[id]) };
        /* time is by launches or not at all; the others by launches where both sides have them */
        if (id == TIME ? row->nlaunches > 0 : launched[id])
            out[n].metric.samples = launches_of(row, (metric_id)id, &out[n].metric.nsamples);
        n++;
    }
    return n;
}

/* --- names --- */

/* Tags of a point: baseline, variant, machine, and its parameters, so that a query can name
 * "m=512"; the rest of a key are name and scenario.  false: out of memory, or a point that is not
 * JSON. */
static bool tag_point(cbx_arena *arena, const cbx_row *row, bool several_machines, cbx_tag tags[MAX_TAGS], size_t *n)
{
    cbx_json *point = NULL, *value;
    const char *key;
    bool ok = true;

    *n = 0;
    tags[(*n)++] = (cbx_tag){ "baseline", row->baseline };
    if (row->variant && strcmp(row->variant, "default") != 0) tags[(*n)++] = (cbx_tag){ "variant", row->variant };
    if (several_machines) tags[(*n)++] = (cbx_tag){ "machine", machine_of(row) };
    if (cbx_json_parse(row->point_json, strlen(row->point_json), "point", &point, NULL)) return false;
    CBX_SCOPED(cbx_text, text, &arena->al);
    for (size_t i = 0; ok && *n < MAX_TAGS && cbx_json_member(point, i, &key, &value); i++) {
        const char *word = cbx_json_string_value(value);
        const bool taken = !strcmp(key, "baseline") || !strcmp(key, "variant") || !strcmp(key, "machine");
        cbx_text_reset(&text);
        if (word)
            cbx_text_puts(&text, word);
        else
            cbx_json_write(value, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING | CBX_JSON_SORT_KEYS, &text);
        key = cbx_arena_printf(arena, "%s%s", taken ? "param." : "", key);
        tags[*n] = (cbx_tag){ key, cbx_arena_strdup(arena, cbx_text_str(&text)) };
        ok = key && tags[(*n)++].value && !text.status;
    }
    cbx_json_unref(point);
    return ok;
}

/* --- runs --- */

CBX_BY(by_order, gate_key, order)

/* The newest run, in a form that is safe as a name: without its time zone, which is UTC always. */
static const char *name_run(gate *g, const gate_table *t, const char *word)
{
    const char *newest = NULL, *zone;

    for (size_t i = 0; i < t->n; i++)
        if (!newest || strcmp(t->all[i].row->run_id, newest) > 0) newest = t->all[i].row->run_id;
    if (!newest) return word;
    zone = strstr(newest, "+0000");
    char *name = zone ? cbx_arena_printf(&g->arena, "%.*s%s", (int)(zone - newest), newest, zone + 5)
                      : cbx_arena_strdup(&g->arena, newest);
    return name && !cbx_name_is_safe(name) ? word : name;
}

/* The machines of the rows that met, sorted, as the text of the run's environment: equal texts are
 * the same machines.  Nothing is set where no row names its machine. */
static cbx_status set_machines(gate *g, const gate_table *t, cbx_run_builder *b, cbx_err *err)
{
    const char **list = cbx_arena_calloc(&g->arena, t->n, sizeof *list);
    size_t n = 0;
    bool named = false;

    if (!list) return no_memory(err);
    for (size_t i = 0; i < t->n; i++) {
        const char *machine = machine_of(t->all[i].row);
        size_t k = 0;
        named = named || *machine;
        if (!*machine || (!t->all[i].match && g->facts.nboth)) continue;
        while (k < n && strcmp(list[k], machine) != 0) k++;
        if (k == n) list[n++] = machine;
    }
    if (!named) return CBX_OK;
    qsort(list, n, sizeof *list, cbx_compare_texts);
    CBX_SCOPED(cbx_text, text, &g->arena.al);
    for (size_t i = 0; i < n; i++) cbx_text_printf(&text, "%s%.12s", i ? "+" : "", list[i]);
    cbx_json *machines = n && !text.status ? cbx_json_new_string(cbx_text_str(&text)) : NULL;
    return cbx_run_builder_set_environment(b, "machine", machines, err);
}

static cbx_status make_run(gate *g, gate_table *t, const char *word, bool several, cbx_run **out, cbx_err *err)
{
    cbx_run_opts opts = CBX_RUN_OPTS_INIT;
    CBX_OWNED(cbx_run_builder) *b = NULL;
    const char *name = name_run(g, t, word);
    cbx_status st = name ? CBX_OK : no_memory(err);

    opts.no_vcs = opts.no_machine = opts.no_versions = true;
    if (!st) st = cbx_run_builder_create(g->ctx, &opts, &b, err);
    if (!st) st = cbx_run_builder_set_id(b, name, err);
    if (!st) st = set_machines(g, t, b, err);
    for (int i = 0; !st && i < NMETRICS; i++) st = cbx_run_builder_add_metric_def(b, &metric_defs[i], err);
    qsort(t->all, t->n, sizeof *t->all, by_order); /* findings in the order of the rows */
    for (size_t i = 0; !st && i < t->n; i++) {
        const gate_key *k = &t->all[i];
        cbx_named_metric metrics[NMETRICS];
        cbx_tag tags[MAX_TAGS];
        cbx_point p = { k->row->case_name, k->row->platform, .tags = tags };
        CBX_SCOPED(cbx_arena, scratch, cbx_ctx_allocator(g->ctx));
        if (!tag_point(&scratch, k->row, several, tags, &p.ntags)) return no_memory(err);
        p.metrics = metrics;
        p.nmetrics = metrics_of(g, k->row, k->match, metrics);
        st = cbx_run_builder_add_point(b, &p, err);
    }
    if (!st) st = cbx_run_builder_freeze(b, out, err);
    return st;
}

/* --- facts --- */

static void list_names(const gate_table *t, char *out, size_t size)
{
    size_t used = 0;

    for (size_t i = 0; i < t->n && i < 3; i++) {
        const cbx_row *r = t->all[i].row;
        used += (size_t)snprintf(out + used, size - used, "%s'%.40s %.40s %.40s'", i ? ", " : "", r->case_name,
                                 r->point_label ? r->point_label : r->point_json, r->baseline);
        if (used >= size) return;
    }
    if (t->n > 3) snprintf(out + used, size - used, " and %zu more", t->n - 3);
}

static void describe_apart(gate *g)
{
    char base[220] = "nothing that was measured", now[220] = "nothing that was measured";

    if (g->facts.nboth || g->machines_apart) return;
    if (g->base.n) list_names(&g->base, base, sizeof base);
    if (g->now.n) list_names(&g->now, now, sizeof now);
    snprintf(g->facts.apart, sizeof g->facts.apart, "no key is in both: the baseline has %s; under test is %s", base,
             now);
}

/* A table against itself: it proves nothing, which the engine reports. */
static bool all_the_same(const gate *g)
{
    for (size_t i = 0; i < g->now.n; i++)
        if (!g->now.all[i].match || strcmp(g->now.all[i].match->run_id, g->now.all[i].row->run_id) != 0) return false;
    return g->facts.nboth > 0;
}

static bool several_machines(const gate *g)
{
    if (g->opts->allow_machines || !g->facts.nboth) return false;
    for (size_t i = 1; i < g->now.n; i++)
        if (strcmp(machine_of(g->now.all[i].row), machine_of(g->now.all[0].row)) != 0) return true;
    for (size_t i = 0; i < g->base.n && g->now.n; i++)
        if (strcmp(machine_of(g->base.all[i].row), machine_of(g->now.all[0].row)) != 0) return true;
    return false;
}

/* --- the whole --- */

static cbx_status judge(gate *g, const cbx_run *now, const cbx_run *base, cbx_regression **out, cbx_err *err)
{
    const cbx_row_gate_opts *o = g->opts;
    double min = isnan(o->min_ratio) ? MIN_RATIO : o->min_ratio, p95 = isnan(o->p95_ratio) ? P95_RATIO : o->p95_ratio;
    const cbx_regression_rule rules[] = {
        { "ok", 0, 0.5 },
        { "time", o->threshold, 0 },
        { "time_min", min - 1, 0 },
        { "time_p95", p95 - 1, 0 },
        { "compile_time*", o->compile, MIN_COMPILE_S },
        { "*memory", o->memory, MIN_MEMORY_MB },
        { "error_to_tolerance", o->fidelity, MIN_ERROR },
    };
    cbx_regression_opts opts = CBX_REGRESSION_OPTS_INIT;

    opts.rules = rules;
    opts.nrules = CBX_LEN(rules);
    opts.level = o->level;
    opts.margin = o->margin;
    opts.allow_dropped = o->allow_dropped;
    opts.allow_machines = o->allow_machines;
    opts.undecided_passes = o->undecided_passes;
    opts.allow_same = !g->facts.same_rows; /* one run that both tables hold is not both tables */
    return cbx_regression_create(g->ctx, now, base, &opts, out, err);
}

cbx_status cbx_row_gate(cbx_ctx *ctx, const cbx_rows *baseline, const cbx_rows *current, const cbx_row_gate_opts *opts,
                        cbx_regression **out, cbx_row_gate_facts *facts, cbx_err *err)
{
    cbx_row_gate_opts defaults = CBX_ROW_GATE_OPTS_INIT;
    gate g = { .ctx = ctx, .opts = opts ? opts : &defaults };
    CBX_OWNED(cbx_run) *base = NULL, *now = NULL;
    const cbx_row_gate_opts *o = g.opts;

    if (o->struct_size != sizeof *o) return cbx_fail(err, CBX_EINVAL, "cbx_row_gate_opts of another version");
    if (!(o->threshold >= 0) || !(o->margin >= 0) || !(o->memory >= 0) || !(o->compile >= 0) || !(o->fidelity >= 0))
        return cbx_fail(err, CBX_EINVAL, "a threshold of the gate is negative or not a number");
    if (o->min_ratio < 1 || o->p95_ratio < 1)
        return cbx_fail(err, CBX_EINVAL, "a ratio of the gate is below 1: 1.10 means ten per cent slower");
    cbx_arena_init(&g.arena, cbx_ctx_allocator(ctx));
    cbx_status st = match_tables(&g, baseline, current, err);
    bool several = !st && several_machines(&g);
    if (!st) st = make_run(&g, &g.base, "baseline", several, &base, err);
    if (!st) st = make_run(&g, &g.now, "current", several, &now, err);
    if (!st) g.facts.same_rows = all_the_same(&g);
    if (!st) st = judge(&g, now, base, out, err);
    if (!st && facts) {
        describe_apart(&g);
        *facts = g.facts;
    }
    cbx_arena_clear(&g.arena);
    return st;
}

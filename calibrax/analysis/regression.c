/* A run against a baseline: keys of both by their hash, each judged; O(k) for k keys, but for the
 * correction of their p. */
#include "calibrax/analysis/regression.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/regression_internal.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/list.h"
#include "calibrax/base/options.h"
#include "calibrax/core/point_index.h"

/* --- keys: found by their hash, compared as they are in the run, so that a key costs no text ---
 */

/* One metric of one point of a run. */
typedef struct keyed {
    const cbx_point *point;
    const cbx_named_metric *metric;
    struct keyed *other; /* of the same key in the other run */
    uint32_t count;      /* how often the key is in the run; 0: not its first place */
} keyed;

/* In the order of the run, found by the hash of point and metric. */
typedef struct keys {
    CBX_LIST(keyed) all;
    cbx_table table;
} keys;

static bool is_key(const void *user, size_t value, const void *key)
{
    const keyed *a = &((const keys *)user)->all.items[value], *b = key;

    return !strcmp(a->metric->name, b->metric->name) && cbx_point_same(a->point, b->point, NULL);
}

static keyed *find_key(const keys *k, const keyed *key)
{
    const size_t *at = cbx_table_find(&k->table, cbx_hash_text(cbx_point_hash(key->point, NULL), key->metric->name),
                                      is_key, k, key);
    return at ? &k->all.items[*at] : NULL;
}

/* The first of equal keys has their number, the others 0. */
static cbx_status collect_keys(const cbx_allocator *al, const cbx_run *run, keys *k, cbx_err *err)
{
    for (size_t i = 0; i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        for (size_t j = 0; j < p->nmetrics; j++) {
            keyed key = { p, &p->metrics[j], NULL, 1 }, *first = find_key(k, &key);
            if (first) {
                first->count++;
                key.count = 0;
            }
            if (!cbx_list_push(al, &k->all, key) ||
                (!first &&
                 !cbx_table_add(&k->table, cbx_hash_text(cbx_point_hash(p, NULL), key.metric->name), k->all.n - 1)))
                return cbx_fail(err, CBX_ENOMEM, "out of memory for the keys of '%s'", cbx_run_id(run));
        }
    }
    return CBX_OK;
}

/* --- one finding --- */

typedef struct sides {
    cbx_ctx *ctx;
    const cbx_run *run, *baseline;
    const cbx_regression_opts *opts;
    cbx_regression *r;
    cbx__whitney *counts;
} sides;

static bool is_info(const cbx_metric_def *def) { return def && def->direction == CBX_DIRECTION_INFO; }

/* What is wrong with the numbers of one side; CBX_OUTCOME_COUNT: nothing. */
static cbx_outcome outcome_of_numbers(const sides *s, const cbx_metric_def *def, const cbx_metric *m, bool is_now)
{
    static const cbx_outcome outcomes[][2] = {
        [CBX_METRIC_SOUND] = { CBX_OUTCOME_COUNT, CBX_OUTCOME_COUNT },
        [CBX_METRIC_NOT_FINITE] = { CBX_OUTCOME_NAN_BASELINE, CBX_OUTCOME_NAN_NOW },
        [CBX_METRIC_NOT_A_TIME] = { CBX_OUTCOME_TIME_BASELINE, CBX_OUTCOME_TIME_NOW },
        [CBX_METRIC_BAD_BOUNDS] = { CBX_OUTCOME_BOUNDS_BASELINE, CBX_OUTCOME_BOUNDS_NOW },
        [CBX_METRIC_OUTSIDE_SAMPLES] = { CBX_OUTCOME_VALUE_BASELINE, CBX_OUTCOME_VALUE_NOW },
    };
    cbx_metric bare = *m;

    if (s->opts->values_only) bare.lower = bare.upper = NAN; /* compared by values whatever the bounds */
    return outcomes[cbx_metric_check(&bare, def)][is_now];
}

/* The outcome where numbers cannot be compared; CBX_OUTCOME_COUNT: they can. */
static cbx_outcome outcome_before(const sides *s, const keyed *now, const keyed *base, const cbx_metric_def *dn,
                                  const cbx_metric_def *db)
{
    cbx_outcome o;

    if ((now && now->count > 1) || (base && base->count > 1)) return CBX_OUTCOME_DUPLICATE;
    if (dn && db && !(dn->direction == db->direction && !strcmp(dn->unit ? dn->unit : "", db->unit ? db->unit : "")))
        return CBX_OUTCOME_DEFINITIONS_DIFFER;
    if (!now) return is_info(db) ? CBX_OUTCOME_INFO : CBX_OUTCOME_DROPPED;
    if (base && !dn) return db ? CBX_OUTCOME_NO_DEFINITION_NOW : CBX_OUTCOME_NO_DEFINITION;
    if (base && !db) return CBX_OUTCOME_NO_DEFINITION_BASELINE;
    if (is_info(dn)) return CBX_OUTCOME_INFO;
    o = outcome_of_numbers(s, dn, &now->metric->metric, true);
    if (o != CBX_OUTCOME_COUNT) return o;
    return base ? outcome_of_numbers(s, db, &base->metric->metric, false) : CBX_OUTCOME_NEW;
}

/* --- names --- */

/* A text that many findings share; NULL: out of memory. */
static const char *word(cbx_regression *r, const char *text)
{
    size_t at = cbx_names_add(&r->words, text);
    return at == CBX_NO_NAME ? NULL : r->words.list[at];
}

/* "a=1,b=2", by key whatever the order in the run. */
static const char *tags_text(cbx_regression *r, const cbx_point *p)
{
    const cbx_allocator *al = &r->arena.al;

    if (!p->ntags) return "";
    cbx_tag *sorted = cbx_mem_calloc(al, p->ntags, sizeof(*sorted));
    if (!sorted) return NULL;
    memcpy(sorted, p->tags, p->ntags * sizeof(*sorted));
    qsort(sorted, p->ntags, sizeof(*sorted), cbx_tag_compare);
    CBX_SCOPED(cbx_text, text, al);
    for (size_t i = 0; i < p->ntags; i++)
        cbx_text_printf(&text, "%s%s=%s", i ? "," : "", sorted[i].key, sorted[i].value);
    const char *whole = text.status ? NULL : word(r, cbx_text_str(&text));
    cbx_mem_free(al, sorted, p->ntags * sizeof(*sorted));
    return whole;
}

/* The metric is the end of the key. */
static bool name_finding(cbx_regression *r, const keyed *e, cbx_finding *f)
{
    const cbx_finding *last = r->nfindings && r->named == e->point ? &r->findings[r->nfindings - 1] : NULL;

    f->point = last ? last->point : cbx_arena_strdup(&r->arena, e->point->name);
    f->scenario = last ? last->scenario : word(r, e->point->scenario);
    f->tags = last ? last->tags : tags_text(r, e->point);
    r->named = e->point;
    if (!f->point || !f->scenario || !f->tags) return false;
    f->tag_list = e->point->tags;
    f->ntags = e->point->ntags;
    f->key = cbx_arena_printf(&r->arena, "%s@%s{%s}:%s", f->point, f->scenario, f->tags, e->metric->name);
    if (f->key) f->metric = f->key + strlen(f->key) - strlen(e->metric->name);
    return f->key;
}

/* A run's own, else that of opts->defs. */
static const cbx_metric_def *definition_of(const sides *s, const cbx_run *run, const char *name)
{
    const cbx_metric_def *own = cbx_run_find_metric_def(run, name);

    return own || !s->opts->defs ? own : cbx_run_find_metric_def(s->opts->defs, name);
}

static cbx_status find_out(const sides *s, const keyed *now, const keyed *base, cbx_finding *f, cbx_err *err)
{
    const keyed *any = now ? now : base;
    const char *name = any->metric->name;
    const cbx_metric_def *dn = definition_of(s, s->run, name), *db = definition_of(s, s->baseline, name);
    const cbx_metric_def *def = dn ? dn : db;

    *f = (cbx_finding){ .direction = def ? def->direction : CBX_DIRECTION_INFO,
                        .priority = db   ? db->priority
                                    : dn ? dn->priority
                                         : CBX_PRIORITY_SECONDARY,
                        .baseline = base ? base->metric->metric.value : NAN,
                        .current = now ? now->metric->metric.value : NAN,
                        .change = NAN,
                        .threshold = NAN,
                        .margin = NAN,
                        .interval = { NAN, NAN, NAN, 0 },
                        .spread = NAN,
                        .p = NAN,
                        .p_holm = NAN };
    if (def) f->unit = word(s->r, def->unit ? def->unit : "");
    if (!name_finding(s->r, any, f) || (def && !f->unit))
        return cbx_fail(err, CBX_ENOMEM, "out of memory for the finding on '%s'", name);
    f->outcome = outcome_before(s, now, base, dn, db);
    if (f->outcome != CBX_OUTCOME_COUNT) return CBX_OK;
    return cbx__regression_judge(s->ctx, s->opts, s->counts, &now->metric->metric, &base->metric->metric, f, err);
}

/* Findings on each key of the run once, then on what only the baseline has. */
static cbx_status find_all(const sides *s, keys *now, const keys *base, cbx_err *err)
{
    cbx_regression *r = s->r;
    size_t n = 0;
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < now->all.n; i++) {
        keyed *e = &now->all.items[i];
        if (!e->count) continue;
        n++;
        e->other = find_key(base, e);
        if (e->other) e->other->other = e;
    }
    for (size_t i = 0; i < base->all.n; i++) n += base->all.items[i].count && !base->all.items[i].other;
    r->findings = cbx_arena_calloc(&r->arena, n, sizeof(*r->findings));
    if (!r->findings) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu findings", n);
    for (size_t i = 0; !st && i < now->all.n + base->all.n; i++) {
        const bool is_now = i < now->all.n;
        const keyed *e = is_now ? &now->all.items[i] : &base->all.items[i - now->all.n];
        if (!e->count || (!is_now && e->other)) continue;
        st = find_out(s, is_now ? e : NULL, is_now ? e->other : e, &r->findings[r->nfindings], err);
        if (!st) r->nfindings++;
    }
    return st;
}

/* --- the whole --- */

static bool usable(double x) { return isnan(x) || (x >= 0 && isfinite(x)); }

static cbx_status check_opts(const cbx_regression_opts *o, cbx_err *err)
{
    cbx_status st = cbx_check_level("level", o->level, err);

    if (st) return st;
    if (isnan(o->threshold) || !usable(o->threshold) || !usable(o->primary_threshold) ||
        !usable(o->secondary_threshold))
        return cbx_fail(err, CBX_EINVAL, "a threshold is negative, infinite or not a number");
    if (!usable(o->margin)) return cbx_fail(err, CBX_EINVAL, "the margin is negative or infinite");
    if (isnan(o->minimum) || !usable(o->minimum))
        return cbx_fail(err, CBX_EINVAL, "the minimum change is negative, infinite or not a number");
    for (size_t i = 0; i < o->nrules; i++) {
        const cbx_regression_rule *r = &o->rules[i];
        if (!r->metric) return cbx_fail(err, CBX_EINVAL, "rule %zu names no metric", i + 1);
        if (!usable(r->threshold) || !usable(r->minimum))
            return cbx_fail(err, CBX_EINVAL, "the rule for '%s' has a negative or infinite threshold", r->metric);
    }
    return CBX_OK;
}

/* The name of a run's machine; NULL: not known, as with an empty name. */
static const char *machine_of(const cbx_run *run)
{
    const cbx_json *v = cbx_json_get(cbx_run_environment(run), "machine");
    const char *s = cbx_json_string_value(v);

    return !s && v ? "unnamed" : s && *s ? s : NULL;
}

static cbx_status compare_machines(const sides *s, cbx_err *err)
{
    cbx_regression *r = s->r;
    const char *a = machine_of(s->run), *b = machine_of(s->baseline);
    const char *remedy = s->opts->allow_machines ? "compared as requested"
                                                 : "allow other machines to compare them anyway";

    r->label = "";
    r->machines = CBX_MACHINE_SAME;
    if (!strcmp(r->run_id, r->baseline_id) && !s->opts->allow_same) { /* what is compared with itself never differs */
        r->refused = CBX_GATE_REASON_SAME_RUN;
        r->label = cbx_arena_printf(&r->arena, "run '%s' is its own baseline; measure again, or name another run",
                                    r->run_id);
        return r->label ? CBX_OK : cbx_fail_nomem(err, "the name of a run");
    }
    r->machines = cbx_run_same_machine(s->run, s->baseline);
    if (r->machines == CBX_MACHINE_UNKNOWN)
        r->label = cbx_arena_printf(&r->arena, "%s its machine; %s",
                                    !a && !b ? "neither the run nor the baseline names"
                                    : !a     ? "the run does not name"
                                             : "the baseline does not name",
                                    remedy);
    else if (r->machines == CBX_MACHINE_OTHER)
        r->label = cbx_arena_printf(&r->arena, "measured on different machines (%s, baseline %s); %s",
                                    a ? a : "unnamed", b ? b : "unnamed", remedy);
    if (!r->label) return cbx_fail_nomem(err, "the machines' names");
    if (r->machines != CBX_MACHINE_SAME && !s->opts->allow_machines)
        r->refused = r->machines == CBX_MACHINE_OTHER ? CBX_GATE_REASON_OTHER_MACHINE : CBX_GATE_REASON_UNKNOWN_MACHINE;
    return CBX_OK;
}

static cbx_status compare(const sides *s, cbx_err *err)
{
    cbx_regression *r = s->r;
    keys now = { .all = { 0 } }, base = { .all = { 0 } };

    r->run_id = cbx_arena_strdup(&r->arena, cbx_run_id(s->run));
    r->baseline_id = cbx_arena_strdup(&r->arena, cbx_run_id(s->baseline));
    if (!r->run_id || !r->baseline_id) return cbx_fail_nomem(err, "the names of runs");
    cbx_status st = compare_machines(s, err);
    if (st || r->refused) return st;
    cbx_table_init(&now.table, &r->arena.al);
    cbx_table_init(&base.table, &r->arena.al);
    st = collect_keys(&r->arena.al, s->run, &now, err);
    if (!st) st = collect_keys(&r->arena.al, s->baseline, &base, err);
    if (!st) st = find_all(s, &now, &base, err);
    r->nkeys_run = now.all.n;
    r->nkeys_baseline = base.all.n;
    cbx_list_clear(&r->arena.al, &now.all);
    cbx_list_clear(&r->arena.al, &base.all);
    cbx_table_clear(&now.table);
    cbx_table_clear(&base.table);
    if (!st) st = cbx__regression_correct(s->ctx, s->opts->level, r->findings, r->nfindings, err);
    for (size_t i = 0; !st && !s->opts->no_sentences && i < r->nfindings; i++)
        if (!cbx__regression_report(&r->arena, &r->findings[i])) st = cbx_fail_nomem(err, "sentences");
    /* the first rule that matches no metric, so that a misspelt threshold is not ignored */
    for (size_t k = 0; !st && !r->idle_rule && r->nfindings && k < s->opts->nrules; k++) {
        const char *pattern = s->opts->rules[k].metric;
        size_t i = 0;
        while (i < r->nfindings && fnmatch(pattern, r->findings[i].metric, 0) != 0) i++;
        if (i < r->nfindings) continue;
        r->idle_rule = cbx_arena_strdup(&r->arena, pattern);
        if (!r->idle_rule) st = cbx_fail_nomem(err, "a pattern");
    }
    return st;
}

cbx_status cbx_regression_create(cbx_ctx *ctx, const cbx_run *run, const cbx_run *baseline,
                                 const cbx_regression_opts *opts, cbx_regression **out, cbx_err *err)
{
    cbx__whitney counts = { 0 };
    cbx_regression_opts o = CBX_REGRESSION_OPTS_INIT;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_regression_opts", err);

    if (!st) st = check_opts(&o, err);
    if (st) return st;
    cbx_regression *r = CBX_ARENA_OBJECT(cbx_regression, cbx_ctx_allocator(ctx));
    if (!r) return cbx_fail(err, CBX_ENOMEM, "out of memory for a comparison");
    r->allow_dropped = o.allow_dropped;
    r->undecided_passes = o.undecided_passes;
    cbx_names_init(&r->words, CBX_IN_ARENA(&r->arena));
    st = compare(&(sides){ ctx, run, baseline, &o, r, &counts }, err);
    cbx__whitney_clear(&counts);
    return CBX_FINISH(st, *out = r, cbx_regression_free(r));
}

void cbx_regression_free(cbx_regression *r)
{
    if (r) cbx_arena_end(&r->arena);
}

size_t cbx_regression_nfindings(const cbx_regression *r) { return r->nfindings; }

const cbx_finding *cbx_regression_finding(const cbx_regression *r, size_t i)
{
    return i < r->nfindings ? &r->findings[i] : NULL;
}

const char *cbx_regression_run_id(const cbx_regression *r) { return r->run_id; }
const char *cbx_regression_baseline_id(const cbx_regression *r) { return r->baseline_id; }
cbx_same_machine cbx_regression_machines(const cbx_regression *r) { return r->machines; }
const char *cbx_regression_label(const cbx_regression *r) { return r->label; }
const char *cbx_regression_idle_rule(const cbx_regression *r) { return r->idle_rule; }

/*
 * A run against a baseline: keys of both sorted once, matched by bisection, each judged; O(k log k) for k keys.
 */
#include "calibrax/analysis/regression.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/analysis/regression_parts.h"

typedef struct keys {
    cbx__keyed *all;     /* in the order of the run */
    cbx__keyed **sorted; /* by id, then order */
    size_t n;
} keys;

/* --- keys --- */

static int by_tag(const void *a, const void *b) { return strcmp(((const cbx_tag *)a)->key, ((const cbx_tag *)b)->key); }

static void put_part(cbx_text *t, const char *s) { cbx_text_printf(t, "%zu:%s", strlen(s), s); }

/* tags: for people; id: without doubt, without the metric */
static cbx_status write_tags(cbx_arena *arena, const cbx_point *p, cbx_text *id, const char **tags)
{
    cbx_tag *sorted = cbx_arena_calloc(arena, p->ntags + 1, sizeof(*sorted));
    char *text = cbx_arena_strdup(arena, "");

    if (!sorted || !text) return CBX_ENOMEM;
    for (size_t i = 0; i < p->ntags; i++) sorted[i] = p->tags[i];
    qsort(sorted, p->ntags, sizeof(*sorted), by_tag);
    cbx_text_reset(id);
    put_part(id, p->name);
    put_part(id, p->scenario);
    for (size_t i = 0; i < p->ntags; i++) {
        put_part(id, sorted[i].key);
        put_part(id, sorted[i].value);
        text = cbx_arena_printf(arena, "%s%s%s=%s", text, i ? "," : "", sorted[i].key, sorted[i].value);
        if (!text) return CBX_ENOMEM;
    }
    cbx_text_putc(id, '|');
    *tags = text;
    return id->status;
}

static int by_id(const void *a, const void *b)
{
    const cbx__keyed *x = *(cbx__keyed *const *)a, *y = *(cbx__keyed *const *)b;
    int c = strcmp(x->id, y->id);
    return c ? c : (x->order > y->order) - (x->order < y->order);
}

/* The first of equal ids carries their number, the others 0. */
static void count_equal(keys *k)
{
    for (size_t i = 0, j; i < k->n; i = j) {
        for (j = i; j < k->n && !strcmp(k->sorted[i]->id, k->sorted[j]->id); j++) k->sorted[j]->count = 0;
        k->sorted[i]->count = j - i;
    }
}

static cbx_status fill_keys(cbx_arena *arena, const cbx_run *run, cbx_text *id, keys *k)
{
    size_t at = 0;

    for (size_t i = 0; i < cbx_run_npoints(run); i++) {
        const cbx_point *p = cbx_run_point(run, i);
        const char *tags, *head;
        if (!p->nmetrics) continue;
        if (write_tags(arena, p, id, &tags)) return CBX_ENOMEM;
        head = cbx_arena_strdup(arena, cbx_text_str(id));
        if (!head) return CBX_ENOMEM;
        for (size_t j = 0; j < p->nmetrics; j++, at++) {
            cbx__keyed *e = &k->all[at];
            *e = (cbx__keyed){
                cbx_arena_printf(arena, "%s%s", head, p->metrics[j].name), p, &p->metrics[j], tags, at, 0, NULL
            };
            if (!e->id) return CBX_ENOMEM;
            k->sorted[at] = e;
        }
    }
    return CBX_OK;
}

static cbx_status make_keys(cbx_arena *arena, const cbx_run *run, keys *k, cbx_err *err)
{
    cbx_text id;
    cbx_status st;

    k->n = 0;
    for (size_t i = 0; i < cbx_run_npoints(run); i++) k->n += cbx_run_point(run, i)->nmetrics;
    k->all = cbx_arena_calloc(arena, k->n, sizeof(*k->all));
    k->sorted = cbx_arena_calloc(arena, k->n, sizeof(*k->sorted));
    if (!k->all || !k->sorted) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu keys", k->n);
    cbx_text_init(&id, &arena->al);
    st = fill_keys(arena, run, &id, k);
    cbx_text_clear(&id);
    if (st) return cbx_fail(err, CBX_ENOMEM, "out of memory for the keys of '%s'", cbx_run_id(run));
    qsort(k->sorted, k->n, sizeof(*k->sorted), by_id);
    count_equal(k);
    return CBX_OK;
}

/* The first of equal ids has the lowest order, so bisection for the leftmost. */
static cbx__keyed *find(const keys *k, const char *id)
{
    size_t lo = 0, hi = k->n;

    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (strcmp(k->sorted[mid]->id, id) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < k->n && !strcmp(k->sorted[lo]->id, id) ? k->sorted[lo] : NULL;
}

/* --- one finding --- */

typedef struct sides {
    cbx_ctx *ctx;
    const cbx_run *run, *baseline;
    const cbx_regression_opts *opts;
    cbx_regression *r;
    cbx__whitney *counts;
} sides;

static bool same_meaning(const cbx_metric_def *a, const cbx_metric_def *b)
{
    return a->direction == b->direction && !strcmp(a->unit ? a->unit : "", b->unit ? b->unit : "");
}

static bool finite_metric(const cbx_metric *m)
{
    if (!isfinite(m->value)) return false;
    for (size_t i = 0; m->samples && i < m->nsamples; i++)
        if (!isfinite(m->samples[i])) return false;
    return true;
}

/* No bounds, or a lower and an upper one with the value between; an infinite one says that nothing is known on that side. */
static bool possible_bounds(const cbx_metric *m)
{
    return (isnan(m->lower) && isnan(m->upper)) || (m->lower <= m->value && m->value <= m->upper);
}

static bool is_info(const cbx_metric_def *def) { return def && def->direction == CBX_DIRECTION_INFO; }

/* Of a key in both runs. */
static cbx_outcome outcome_of_definitions(const cbx_metric_def *now, const cbx_metric_def *base)
{
    if (!now && !base) return CBX_OUTCOME_NO_DEFINITION;
    if (!now) return CBX_OUTCOME_NO_DEFINITION_NOW;
    if (!base) return CBX_OUTCOME_NO_DEFINITION_BASELINE;
    return is_info(now) ? CBX_OUTCOME_INFO : CBX_OUTCOME_COUNT;
}

/* Of a duration, also one per something ("ns/op"): less is better, and less than nothing is a clock that jumped. */
static bool is_duration(const cbx_metric_def *def)
{
    static const char *const units[] = { "s",     "sec",          "second",       "seconds",    "ms",
                                         "us",    "\xc2\xb5s",    "\xce\xbcs",    "ns",         "ps",
                                         "min",   "minute",       "minutes",      "h",          "hour",
                                         "hours", "milliseconds", "microseconds", "nanoseconds" };
    size_t len;

    if (!def || def->direction != CBX_DIRECTION_LOWER || !def->unit) return false;
    len = strcspn(def->unit, "/");
    for (size_t i = 0; i < CBX_LEN(units); i++)
        if (strlen(units[i]) == len && !strncmp(def->unit, units[i], len)) return true;
    return false;
}

static bool is_negative(const cbx_metric *m)
{
    if (m->value < 0) return true;
    for (size_t i = 0; i < m->nsamples; i++)
        if (m->samples[i] < 0) return true;
    return false;
}

/* What is wrong with the numbers of one side; CBX_OUTCOME_COUNT: nothing. */
static cbx_outcome outcome_of_numbers(const sides *s, const cbx_metric_def *def, const cbx_metric *m, bool is_now)
{
    if (!finite_metric(m)) return is_now ? CBX_OUTCOME_NAN_NOW : CBX_OUTCOME_NAN_BASELINE;
    if (is_duration(def) && is_negative(m)) return is_now ? CBX_OUTCOME_NEGATIVE_NOW : CBX_OUTCOME_NEGATIVE_BASELINE;
    if (!s->opts->values_only && !possible_bounds(m))
        return is_now ? CBX_OUTCOME_BOUNDS_NOW : CBX_OUTCOME_BOUNDS_BASELINE;
    return CBX_OUTCOME_COUNT;
}

/* What can be said before numbers are compared; CBX_OUTCOME_COUNT: nothing stands in the way. */
static cbx_outcome outcome_before(const sides *s, const cbx__keyed *now, const cbx__keyed *base,
                                  const cbx_metric_def *dn, const cbx_metric_def *db)
{
    cbx_outcome o = CBX_OUTCOME_COUNT;

    if ((now && now->count > 1) || (base && base->count > 1)) return CBX_OUTCOME_DUPLICATE;
    if (dn && db && !same_meaning(dn, db)) return CBX_OUTCOME_DEFINITIONS_DIFFER;
    if (!now) return is_info(db) ? CBX_OUTCOME_INFO : CBX_OUTCOME_DROPPED;
    if (base) o = outcome_of_definitions(dn, db);
    if (!base && is_info(dn)) return CBX_OUTCOME_INFO;
    if (o != CBX_OUTCOME_COUNT) return o;
    o = outcome_of_numbers(s, dn, &now->metric->metric, true);
    if (o != CBX_OUTCOME_COUNT) return o;
    return base ? outcome_of_numbers(s, db, &base->metric->metric, false) : CBX_OUTCOME_NEW;
}

static bool name_finding(cbx_arena *arena, const cbx__keyed *e, cbx_finding *f)
{
    f->point = cbx_arena_strdup(arena, e->point->name);
    f->scenario = cbx_arena_strdup(arena, e->point->scenario);
    f->metric = cbx_arena_strdup(arena, e->metric->name);
    f->tags = cbx_arena_strdup(arena, e->tags);
    f->key = cbx_arena_printf(arena, "%s@%s{%s}:%s", e->point->name, e->point->scenario, e->tags, e->metric->name);
    return f->point && f->scenario && f->metric && f->tags && f->key;
}

/* A run's own, else the one given beside. */
static const cbx_metric_def *definition_of(const sides *s, const cbx_run *run, const char *name)
{
    const cbx_metric_def *own = cbx_run_find_metric_def(run, name);

    return own || !s->opts->defs ? own : cbx_run_find_metric_def(s->opts->defs, name);
}

static cbx_status find_out(const sides *s, const cbx__keyed *now, const cbx__keyed *base, cbx_finding *f, cbx_err *err)
{
    const cbx__keyed *any = now ? now : base;
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
                        .p = NAN,
                        .p_holm = NAN };
    if (def) f->unit = cbx_arena_strdup(&s->r->arena, def->unit ? def->unit : "");
    if (!name_finding(&s->r->arena, any, f) || (def && !f->unit))
        return cbx_fail(err, CBX_ENOMEM, "out of memory for the finding on '%s'", name);
    f->outcome = outcome_before(s, now, base, dn, db);
    if (f->outcome != CBX_OUTCOME_COUNT) return CBX_OK;
    return cbx__regression_judge(s->ctx, s->opts, s->counts, &now->metric->metric, &base->metric->metric, f, err);
}

static cbx_status find_all(const sides *s, keys *now, keys *base, cbx_err *err)
{
    cbx_regression *r = s->r;
    cbx_status st = CBX_OK;

    r->findings = cbx_arena_calloc(&r->arena, now->n + base->n, sizeof(*r->findings));
    if (!r->findings) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu findings", now->n + base->n);
    for (size_t i = 0; !st && i < now->n; i++) {
        cbx__keyed *e = &now->all[i];
        if (!e->count) continue;
        e->match = find(base, e->id);
        if (e->match) e->match->match = e;
        st = find_out(s, e, e->match, &r->findings[r->nfindings], err);
        if (!st) r->nfindings++;
    }
    for (size_t i = 0; !st && i < base->n; i++) {
        if (!base->all[i].count || base->all[i].match) continue;
        st = find_out(s, NULL, &base->all[i], &r->findings[r->nfindings], err);
        if (!st) r->nfindings++;
    }
    if (!st) st = cbx__regression_correct(s->ctx, s->opts->level, r->findings, r->nfindings, err);
    for (size_t i = 0; !st && i < r->nfindings; i++)
        if (!cbx__regression_say(&r->arena, &r->findings[i]))
            st = cbx_fail(err, CBX_ENOMEM, "out of memory for sentences");
    return st;
}

/* The first rule that fits no metric, so that a misspelt threshold is not passed over. */
static cbx_status find_idle_rule(const sides *s, cbx_err *err)
{
    cbx_regression *r = s->r;

    for (size_t k = 0; r->nfindings && k < s->opts->nrules; k++) {
        const char *pattern = s->opts->rules[k].metric;
        size_t i = 0;
        while (i < r->nfindings && fnmatch(pattern, r->findings[i].metric, 0) != 0) i++;
        if (i < r->nfindings) continue;
        r->idle_rule = cbx_arena_strdup(&r->arena, pattern);
        return r->idle_rule ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory for a pattern");
    }
    return CBX_OK;
}

/* --- the whole --- */

static bool usable(double x) { return isnan(x) || (x >= 0 && isfinite(x)); }

static cbx_status check_opts(const cbx_regression_opts *o, cbx_err *err)
{
    if (o->struct_size != sizeof(*o))
        return cbx_fail(err, CBX_EINVAL, "options of another version: %u bytes", o->struct_size);
    if (!(o->level > 0 && o->level < 1)) return cbx_fail(err, CBX_EINVAL, "level %g is not between 0 and 1", o->level);
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

/* NULL: none, and an empty name is none. */
static const cbx_json *machine_of(const cbx_run *run)
{
    const cbx_json *v = cbx_json_get(cbx_run_environment(run), "machine");
    const char *s = cbx_json_string_value(v);

    return s && !*s ? NULL : v;
}

static const char *machine_text(const cbx_json *v)
{
    const char *s = cbx_json_string_value(v);
    return s ? s : "unnamed";
}

static cbx_status compare_machines(const sides *s, cbx_err *err)
{
    cbx_regression *r = s->r;
    const cbx_json *a = machine_of(s->run), *b = machine_of(s->baseline);
    const char *remedy = s->opts->allow_machines ? "compared as asked" : "allow other machines to compare all the same";

    r->label = "";
    r->machines = cbx_run_same_machine(s->run, s->baseline);
    if (r->machines == CBX_MACHINE_UNKNOWN) {
        r->label = cbx_arena_printf(&r->arena, "%s its machine; %s",
                                    !a && !b ? "neither the run nor the baseline says"
                                    : !a     ? "the run does not say"
                                             : "the baseline does not say",
                                    remedy);
    } else if (r->machines == CBX_MACHINE_OTHER) {
        r->label = cbx_arena_printf(&r->arena, "measured on different machines (%s, baseline %s); %s", machine_text(a),
                                    machine_text(b), remedy);
    }
    if (!r->label) return cbx_fail(err, CBX_ENOMEM, "out of memory for the machines' names");
    if (r->machines != CBX_MACHINE_SAME && !s->opts->allow_machines)
        r->refused = r->machines == CBX_MACHINE_OTHER ? CBX_GATE_REASON_OTHER_MACHINE : CBX_GATE_REASON_UNKNOWN_MACHINE;
    return CBX_OK;
}

/* What is compared with itself never differs. */
static cbx_status compare_ids(const sides *s, cbx_err *err)
{
    cbx_regression *r = s->r;

    if (strcmp(r->run_id, r->baseline_id) != 0 || s->opts->allow_same) return compare_machines(s, err);
    r->machines = CBX_MACHINE_SAME;
    r->refused = CBX_GATE_REASON_SAME_RUN;
    r->label = cbx_arena_printf(
        &r->arena, "run '%s' is its own baseline, which proves nothing; measure anew, or name another run", r->run_id);
    return r->label ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory for the name of a run");
}

static cbx_status compare(const sides *s, cbx_err *err)
{
    cbx_regression *r = s->r;
    cbx_arena scratch;
    keys now, base;
    cbx_status st;

    cbx_arena_init(&scratch, &r->al);
    r->run_id = cbx_arena_strdup(&r->arena, cbx_run_id(s->run));
    r->baseline_id = cbx_arena_strdup(&r->arena, cbx_run_id(s->baseline));
    st = r->run_id && r->baseline_id ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory for the names of runs");
    if (!st) st = compare_ids(s, err);
    if (!st && !r->refused) {
        st = make_keys(&scratch, s->run, &now, err);
        if (!st) st = make_keys(&scratch, s->baseline, &base, err);
        if (!st) st = find_all(s, &now, &base, err);
        if (!st) st = find_idle_rule(s, err);
        if (!st) r->nkeys_run = now.n, r->nkeys_baseline = base.n;
    }
    cbx_arena_clear(&scratch);
    return st;
}

cbx_status cbx_regression_create(cbx_ctx *ctx, const cbx_run *run, const cbx_run *baseline,
                                 const cbx_regression_opts *opts, cbx_regression **out, cbx_err *err)
{
    cbx_regression_opts defaults = CBX_REGRESSION_OPTS_INIT;
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx__whitney counts = { 0 };
    cbx_regression *r;
    cbx_status st;

    if (!opts) opts = &defaults;
    st = check_opts(opts, err);
    if (st) return st;
    r = cbx_mem_zalloc(al, sizeof(*r));
    if (!r) return cbx_fail(err, CBX_ENOMEM, "out of memory for a comparison");
    r->al = *al;
    r->allow_dropped = opts->allow_dropped;
    r->undecided_passes = opts->undecided_passes;
    cbx_arena_init(&r->arena, al);
    st = compare(&(sides){ ctx, run, baseline, opts, r, &counts }, err);
    cbx__whitney_clear(ctx, &counts);
    if (st) {
        cbx_regression_free(r);
        return st;
    }
    *out = r;
    return CBX_OK;
}

void cbx_regression_free(cbx_regression *r)
{
    cbx_allocator al;

    if (!r) return;
    al = r->al;
    cbx_arena_clear(&r->arena);
    cbx_mem_free(&al, r, sizeof(*r));
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

/* Rows that belong together, made into two runs for the engine, and what it finds. */
#include "calibrax/perf/gate/gate_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIN_RATIO 1.10
#define P95_RATIO 1.25
/* Changes below these do not count, however large they are in per cent. */
#define LEAST_COMPILE_S 0.1
#define LEAST_MEMORY_MB 8
#define LEAST_ERROR     0.05

/* --- names --- */

/* Parameters as tags, so that "m=512" can be asked for; the rest of a key are name and scenario. */
typedef struct names {
    cbx_tag tags[40];
    size_t n;
} names;

static bool put_tag(names *t, const char *key, const char *value)
{
    if (!value) return false;
    if (t->n < CBX_LEN(t->tags)) t->tags[t->n++] = (cbx_tag){ key, value };
    return true;
}

static bool put_params(cbx_arena *arena, const cbx_row *row, names *t)
{
    cbx_json *point = NULL, *value;
    const char *key;
    bool ok = true;
    cbx_text text;

    if (cbx_json_parse(row->point_json, strlen(row->point_json), "point", &point, NULL)) return false;
    cbx_text_init(&text, &arena->al);
    for (size_t i = 0; ok && cbx_json_member(point, i, &key, &value); i++) {
        const char *word = cbx_json_string_value(value);
        cbx_text_reset(&text);
        if (word)
            cbx_text_puts(&text, word);
        else
            cbx_json_write(value, CBX_JSON_COMPACT | CBX_JSON_NONFINITE_STRING | CBX_JSON_SORT_KEYS, &text);
        key = cbx_arena_strdup(arena, key);
        if (key && (!strcmp(key, "baseline") || !strcmp(key, "variant") || !strcmp(key, "machine")))
            key = cbx_arena_printf(arena, "param.%s", key);
        ok = key && !text.status && put_tag(t, key, cbx_arena_strdup(arena, cbx_text_str(&text)));
    }
    cbx_text_clear(&text);
    cbx_json_unref(point);
    return ok;
}

static bool name_point(cbx_arena *arena, const cbx_row *row, bool several_machines, names *t)
{
    t->n = 0;
    put_tag(t, "baseline", row->baseline);
    if (row->variant && strcmp(row->variant, "default") != 0) put_tag(t, "variant", row->variant);
    if (several_machines) put_tag(t, "machine", cbx__gate_machine(row));
    return put_params(arena, row, t);
}

/* --- runs --- */

static int by_order(const void *a, const void *b)
{
    const cbx__gate_key *x = a, *y = b;
    return (x->order > y->order) - (x->order < y->order);
}

/* The newest run, in a form that is safe as a name: without its time zone, which is UTC always. */
static const char *name_run(cbx__gate *g, const cbx__gate_table *t, const char *word)
{
    const char *newest = NULL, *zone;
    char *name;

    for (size_t i = 0; i < t->n; i++)
        if (!newest || strcmp(t->all[i].row->run_id, newest) > 0) newest = t->all[i].row->run_id;
    if (!newest) return word;
    zone = strstr(newest, "+0000");
    name = zone ? cbx_arena_printf(&g->arena, "%.*s%s", (int)(zone - newest), newest, zone + 5)
                : cbx_arena_strdup(&g->arena, newest);
    return name && !cbx_name_is_safe(name) ? word : name;
}

/* All machines of the rows that met, sorted, as one text: equal texts are the same machines.  NULL: no row says its own. */
static cbx_json *machines_json(cbx__gate *g, const cbx__gate_table *t)
{
    const char **list = cbx_arena_calloc(&g->arena, t->n, sizeof *list);
    size_t n = 0;
    cbx_text text;
    cbx_json *out;

    if (!list) return NULL;
    for (size_t i = 0; i < t->n; i++) {
        const char *machine = cbx__gate_machine(t->all[i].row);
        size_t k = 0;
        if (!*machine || (!t->all[i].match && g->facts.nboth)) continue;
        while (k < n && strcmp(list[k], machine) != 0) k++;
        if (k == n) list[n++] = machine;
    }
    cbx_text_init(&text, &g->arena.al);
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && strcmp(list[k], list[k - 1]) < 0; k--) {
            const char *swap = list[k];
            list[k] = list[k - 1];
            list[k - 1] = swap;
        }
    for (size_t i = 0; i < n; i++) cbx_text_printf(&text, "%s%.12s", i ? "+" : "", list[i]);
    out = n && !text.status ? cbx_json_new_string(cbx_text_str(&text)) : NULL;
    cbx_text_clear(&text);
    return out;
}

static bool says_machine(const cbx__gate_table *t)
{
    for (size_t i = 0; i < t->n; i++)
        if (*cbx__gate_machine(t->all[i].row)) return true;
    return false;
}

static cbx_status put_points(cbx__gate *g, const cbx__gate_table *t, bool several, cbx_run_builder *b, cbx_err *err)
{
    cbx_arena scratch;
    cbx_status st = CBX_OK;

    cbx_arena_init(&scratch, cbx_ctx_allocator(g->ctx));
    for (size_t i = 0; !st && i < t->n; i++) {
        const cbx__gate_key *k = &t->all[i];
        cbx_named_metric metrics[CBX__GATE_METRICS];
        names tags;
        cbx_point p = { k->row->case_name, k->row->platform };
        if (!name_point(&scratch, k->row, several, &tags)) {
            st = cbx__gate_no_memory(err);
            break;
        }
        p.tags = tags.tags;
        p.ntags = tags.n;
        p.metrics = metrics;
        p.nmetrics = cbx__gate_metrics(g, k->row, k->match, metrics);
        st = cbx_run_builder_add_point(b, &p, err);
        cbx_arena_clear(&scratch);
    }
    cbx_arena_clear(&scratch);
    return st;
}

static cbx_status make_run(cbx__gate *g, cbx__gate_table *t, const char *word, bool several, cbx_run **out,
                           cbx_err *err)
{
    cbx_run_opts opts = CBX_RUN_OPTS_INIT;
    cbx_run_builder *b = NULL;
    const char *name = name_run(g, t, word);
    cbx_status st = name ? CBX_OK : cbx__gate_no_memory(err);

    opts.no_vcs = opts.no_machine = opts.no_versions = true;
    if (!st) st = cbx_run_builder_create(g->ctx, &opts, &b, err);
    if (!st) st = cbx_run_builder_set_id(b, name, err);
    if (!st && says_machine(t)) st = cbx_run_builder_set_environment(b, "machine", machines_json(g, t), err);
    for (int i = 0; !st && i < CBX__GATE_METRICS; i++) st = cbx_run_builder_add_metric_def(b, &cbx__gate_defs[i], err);
    qsort(t->all, t->n, sizeof *t->all, by_order); /* findings in the order of the rows */
    if (!st) st = put_points(g, t, several, b, err);
    if (!st) st = cbx_run_builder_freeze(b, out, err);
    cbx_run_builder_free(b);
    return st;
}

/* --- facts --- */

static void list_names(const cbx__gate_table *t, char *out, size_t size)
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

static void tell_apart(cbx__gate *g)
{
    char base[220] = "nothing that was measured", now[220] = "nothing that was measured";

    if (g->facts.nboth || g->machines_apart) return;
    if (g->base.n) list_names(&g->base, base, sizeof base);
    if (g->now.n) list_names(&g->now, now, sizeof now);
    snprintf(g->facts.apart, sizeof g->facts.apart, "no key stands in both: the baseline has %s; under test is %s",
             base, now);
}

/* A table against itself: it proves nothing, and the engine says so. */
static bool all_the_same(const cbx__gate *g)
{
    for (size_t i = 0; i < g->now.n; i++)
        if (!g->now.all[i].match || strcmp(g->now.all[i].match->run_id, g->now.all[i].row->run_id) != 0) return false;
    return g->facts.nboth > 0;
}

static bool several_machines(const cbx__gate *g)
{
    if (g->opts->allow_machines || !g->facts.nboth) return false;
    for (size_t i = 1; i < g->now.n; i++)
        if (strcmp(cbx__gate_machine(g->now.all[i].row), cbx__gate_machine(g->now.all[0].row)) != 0) return true;
    for (size_t i = 0; i < g->base.n && g->now.n; i++)
        if (strcmp(cbx__gate_machine(g->base.all[i].row), cbx__gate_machine(g->now.all[0].row)) != 0) return true;
    return false;
}

/* --- the whole --- */

static cbx_status check_opts(const cbx_row_gate_opts *o, cbx_err *err)
{
    if (o->struct_size != sizeof *o) return cbx_fail(err, CBX_EINVAL, "cbx_row_gate_opts of another version");
    if (!(o->threshold >= 0) || !(o->margin >= 0) || !(o->memory >= 0) || !(o->compile >= 0) || !(o->fidelity >= 0))
        return cbx_fail(err, CBX_EINVAL, "a threshold of the gate is negative or not a number");
    if (o->min_ratio < 1 || o->p95_ratio < 1)
        return cbx_fail(err, CBX_EINVAL, "a ratio of the gate is below 1: 1.10 means ten per cent slower");
    return CBX_OK;
}

static cbx_status judge(cbx__gate *g, const cbx_run *now, const cbx_run *base, cbx_regression **out, cbx_err *err)
{
    const cbx_row_gate_opts *o = g->opts;
    double min = isnan(o->min_ratio) ? MIN_RATIO : o->min_ratio, p95 = isnan(o->p95_ratio) ? P95_RATIO : o->p95_ratio;
    const cbx_regression_rule rules[] = {
        { "ok", 0, 0.5 },
        { "time", o->threshold, 0 },
        { "time_min", min - 1, 0 },
        { "time_p95", p95 - 1, 0 },
        { "compile_time*", o->compile, LEAST_COMPILE_S },
        { "*memory", o->memory, LEAST_MEMORY_MB },
        { "error_to_tolerance", o->fidelity, LEAST_ERROR },
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
    cbx__gate g = { .ctx = ctx, .opts = opts ? opts : &defaults };
    cbx_run *base = NULL, *now = NULL;
    bool several;
    cbx_status st = check_opts(g.opts, err);

    if (st) return st;
    cbx_arena_init(&g.arena, cbx_ctx_allocator(ctx));
    st = cbx__gate_match(&g, baseline, current, err);
    several = !st && several_machines(&g);
    if (!st) st = make_run(&g, &g.base, "baseline", several, &base, err);
    if (!st) st = make_run(&g, &g.now, "current", several, &now, err);
    if (!st) g.facts.same_rows = all_the_same(&g);
    if (!st) st = judge(&g, now, base, out, err);
    if (!st && facts) {
        tell_apart(&g);
        *facts = g.facts;
    }
    cbx_run_free(base);
    cbx_run_free(now);
    cbx_arena_clear(&g.arena);
    return st;
}

/**
 * Comparisons of equals drawn from recorded launches, judged by the engines that judge rows and
 * gates; see proof.h.
 */
#include "calibrax/perf/gate/proof.h"

#include <math.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/rng.h"
#include "calibrax/base/together.h"
#include "calibrax/perf/gate/gate.h"
#include "calibrax/perf/sweep/estimates.h"
#include "calibrax/perf/sweep/run_table.h"
#include "calibrax/statistics/interval.h"

#define LEVEL     0.95
#define CASE_NAME "equals"

/* Streams of the seed, one a kind of question. */
enum { STREAM_ROWS = 1, STREAM_GATES, STREAM_ROW_TABLES, STREAM_GATE_TABLES, STREAM_POWER };

/* What draws share. */
typedef struct lab {
    cbx_ctx *ctx;
    cbx_proof_opts o;
    const cbx_proof_pool *pools;
    size_t npools;
    cbx_rng rng;
    cbx_arena arena; /* of the whole question */
    size_t *order;   /* a permutation of the largest pool */
    cbx_row *base, *now;
    double *left, *right; /* `rows` times the larger of pairs and launches */
} lab;

cbx_proof_rate cbx_proof_rate_of(size_t hits, size_t trials)
{
    cbx_proof_rate r = { hits, trials, 0, 1 };
    cbx_interval iv;

    if (cbx_stat_proportion_interval(hits, trials, LEVEL, &iv, NULL)) return r;
    r.lower = iv.lower;
    r.upper = iv.upper;
    return r;
}

/* --- checks --- */

static bool all_good(const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(x[i]) || !(x[i] > 0)) return false;
    return true;
}

/* One row of a table: a key that all tables have in common. */
static bool name_row(lab *l, cbx_row *row, const char *run_id, size_t i)
{
    cbx_row_init(row);
    row->run_id = run_id;
    row->case_name = CASE_NAME;
    row->platform = "cpu";
    row->framework = "native";
    row->machine = "this one";
    row->status = "ok";
    row->point_json = "{}";
    row->baseline = cbx_arena_printf(&l->arena, "row-%zu", i);
    return row->baseline != NULL;
}

static cbx_status lab_open(lab *l, cbx_ctx *ctx, const cbx_proof_pool *pools, size_t npools, const cbx_proof_opts *opts,
                           size_t max_order, cbx_err *err)
{
    *l = (lab){ .ctx = ctx, .pools = pools, .npools = npools };
    cbx_arena_init(&l->arena, cbx_ctx_allocator(ctx));
    if (opts && opts->struct_size != sizeof *opts)
        return cbx_fail(err, CBX_EINVAL, "cbx_proof_opts of another version");
    if (opts) l->o = *opts;
    if (!l->o.comparisons) l->o.comparisons = 2000;
    if (!l->o.tables) l->o.tables = 1000;
    if (!l->o.rows) l->o.rows = 50;
    if (!l->o.pairs) l->o.pairs = 11;
    if (!l->o.launches) l->o.launches = 25;
    if (!npools) return cbx_fail(err, CBX_EINVAL, "no recorded launches to draw from");
    const size_t needed = l->o.pairs > l->o.launches ? l->o.pairs : l->o.launches, width = l->o.rows * needed;
    for (size_t i = 0; i < npools; i++) {
        const cbx_proof_pool *p = &pools[i];
        if (p->rounds < needed)
            return cbx_fail(err, CBX_EINVAL, "'%s' has %zu rounds; %zu are needed", p->name, p->rounds, needed);
        if (!all_good(p->first, p->rounds) || !all_good(p->second, p->rounds))
            return cbx_fail(err, CBX_EDOM, "'%s' has a launch median that is not finite and > 0", p->name);
        if (2 * pools[i].rounds > max_order) max_order = 2 * pools[i].rounds;
    }
    bool ok = cbx_arena_arrays(&l->arena, CBX_ARRAY(l->order, max_order), CBX_ARRAY(l->base, l->o.rows),
                               CBX_ARRAY(l->now, l->o.rows), CBX_ARRAY(l->left, width), CBX_ARRAY(l->right, width));
    for (size_t i = 0; ok && i < l->o.rows; i++)
        ok = name_row(l, &l->base[i], "20000101T000000.000000+0000__nosha", i) &&
             name_row(l, &l->now[i], "20000102T000000.000000+0000__nosha", i);
    return ok ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory for a table of %zu rows", l->o.rows);
}

/* --- draws --- */

static double launch_at(const cbx_proof_pool *p, size_t i)
{
    return i < p->rounds ? p->first[i] : p->second[i - p->rounds];
}

static void draw_some(lab *l, const double *from, size_t n, double *out)
{
    cbx_rng_permutation(&l->rng, n, l->order);
    for (size_t i = 0; i < l->o.launches; i++) out[i] = from[l->order[i]];
}

/* --- the engines --- */

static cbx_status judge_pair(lab *l, const cbx_proof_pool *p, size_t row, cbx_err *err)
{
    double *mine = l->left + row * l->o.pairs, *theirs = l->right + row * l->o.pairs;

    cbx_rng_permutation(&l->rng, p->rounds, l->order);
    for (size_t i = 0; i < l->o.pairs; i++) {
        bool swap = cbx_rng_below(&l->rng, 2) == 1;
        double a = p->first[l->order[i]], b = p->second[l->order[i]];
        mine[i] = swap ? b : a;
        theirs[i] = swap ? a : b;
    }
    l->now[row].paired_vs = "twin";
    return cbx__row_pair(l->ctx, mine, theirs, l->o.pairs, LEVEL, &l->now[row], err);
}

static bool is_different(const char *verdict)
{
    return verdict && (!strcmp(verdict, "faster") || !strcmp(verdict, "slower"));
}

static void fill_side(cbx_row *row, double *launches, size_t n)
{
    double sorted[1024];
    size_t m = n < CBX_LEN(sorted) ? n : CBX_LEN(sorted);

    memcpy(sorted, launches, m * sizeof *sorted);
    cbx_stat_sort(sorted, m);
    row->has_metrics = true;
    row->launch_medians_s = launches;
    row->nlaunches = n;
    row->min_s = sorted[0];
    row->median_s = cbx_stat_quantile_sorted(sorted, m, 0.5);
}

static void fill_gate_row(lab *l, size_t row)
{
    size_t n = l->o.launches;
    fill_side(&l->base[row], l->left + row * n, n);
    fill_side(&l->now[row], l->right + row * n, n);
}

/* Lays the first n rows before the gate.  @param outcome  NULL, or that of row 0's time; @param any
 * true if any time is not as it was */
static cbx_status ask_gate(lab *l, size_t n, cbx_outcome *outcome, bool *any, cbx_err *err)
{
    cbx_rows base = { .rows = l->base, .count = n }, now = { .rows = l->now, .count = n };
    cbx_regression *r = NULL;
    size_t seen = 0;
    cbx_status st = cbx_row_gate(l->ctx, &base, &now, NULL, &r, NULL, err);

    if (st) return st;
    *any = false;
    for (size_t i = 0; i < cbx_regression_nfindings(r); i++) {
        const cbx_finding *f = cbx_regression_finding(r, i);
        if (strcmp(f->metric, "time") != 0) continue;
        seen += f->basis == CBX_BASIS_SAMPLES;
        *any = *any || f->outcome == CBX_OUTCOME_REGRESSED || f->outcome == CBX_OUTCOME_IMPROVED;
        if (outcome && strstr(f->tags, "row-0")) *outcome = f->outcome;
    }
    cbx_regression_free(r);
    /* a gate that looked at nothing raises no alarm either */
    return seen == n ? CBX_OK : cbx_fail(err, CBX_EINVAL, "the gate judged %zu of %zu rows by their launches", seen, n);
}

/* --- questions --- */

static const cbx_proof_pool *pool_at(const lab *l, size_t i) { return &l->pools[i % l->npools]; }

static void draw_gate_row(lab *l, size_t row, size_t pool)
{
    const cbx_proof_pool *p = pool_at(l, pool);
    double *base = l->left + row * l->o.launches, *now = l->right + row * l->o.launches;

    cbx_rng_permutation(&l->rng, 2 * p->rounds, l->order);
    for (size_t i = 0; i < l->o.launches; i++) {
        base[i] = launch_at(p, l->order[i]);
        now[i] = launch_at(p, l->order[l->o.launches + i]);
    }
    fill_gate_row(l, row);
}

/* Comparison or table number i; alarm: something in it is called different. */
typedef cbx_status question(lab *l, size_t i, bool *alarm, cbx_err *err);

static cbx_status single_row(lab *l, size_t i, bool *alarm, cbx_err *err)
{
    const cbx_status st = judge_pair(l, pool_at(l, i), 0, err);
    *alarm = is_different(l->now[0].verdict);
    return st;
}

static cbx_status single_gate(lab *l, size_t i, bool *alarm, cbx_err *err)
{
    draw_gate_row(l, 0, i);
    return ask_gate(l, 1, NULL, alarm, err);
}

static cbx_status row_table(lab *l, size_t i, bool *alarm, cbx_err *err)
{
    cbx_status st = CBX_OK;

    (void)i;
    *alarm = false;
    for (size_t r = 0; r < l->o.rows && !st; r++) st = judge_pair(l, pool_at(l, r), r, err);
    CBX_SCOPED(cbx_arena, scratch, cbx_ctx_allocator(l->ctx));
    if (!st) st = cbx__table_correct(CASE_NAME, l->now, l->o.rows, &scratch, err);
    for (size_t r = 0; r < l->o.rows && !st; r++) *alarm = *alarm || is_different(l->now[r].verdict_holm);
    return st;
}

static cbx_status gate_table(lab *l, size_t i, bool *alarm, cbx_err *err)
{
    (void)i;
    for (size_t r = 0; r < l->o.rows; r++) draw_gate_row(l, r, r);
    return ask_gate(l, l->o.rows, NULL, alarm, err);
}

/* @param hits, trials  by pool, of a question about a single one; NULL: not counted */
static cbx_status ask(lab *l, question *q, uint64_t stream, size_t n, size_t *hits, size_t *trials, cbx_proof_rate *out,
                      cbx_err *err)
{
    size_t all = 0;

    l->rng = cbx_rng_make(l->o.seed, stream);
    for (size_t i = 0; i < n; i++) {
        bool alarm = false;
        const cbx_status st = q(l, i, &alarm, err);
        if (st) return st;
        all += alarm;
        if (hits) hits[i % l->npools] += alarm;
        if (trials) trials[i % l->npools]++;
    }
    *out = cbx_proof_rate_of(all, n);
    return CBX_OK;
}

cbx_status cbx_proof_equals(cbx_ctx *ctx, const cbx_proof_pool *pools, size_t npools, const cbx_proof_opts *opts,
                            cbx_proof_alarms *out, cbx_proof_rate *by_pool, cbx_err *err)
{
    cbx_proof_alarms found;
    size_t *hits = NULL, *trials = NULL;
    lab l;
    cbx_status st = lab_open(&l, ctx, pools, npools, opts, 0, err);

    if (!st) {
        hits = cbx_arena_calloc(&l.arena, 2 * npools, sizeof *hits);
        trials = hits + npools;
        if (!hits) st = cbx_fail(err, CBX_ENOMEM, "out of memory for the counts of %zu pools", npools);
    }
    if (!st) st = ask(&l, single_row, STREAM_ROWS, l.o.comparisons, hits, trials, &found.rows, err);
    if (!st) st = ask(&l, single_gate, STREAM_GATES, l.o.comparisons, hits, trials, &found.gates, err);
    if (!st) st = ask(&l, row_table, STREAM_ROW_TABLES, l.o.tables, NULL, NULL, &found.row_tables, err);
    if (!st) st = ask(&l, gate_table, STREAM_GATE_TABLES, l.o.tables, NULL, NULL, &found.gate_tables, err);
    if (!st) *out = found;
    for (size_t i = 0; !st && by_pool && i < npools; i++) by_pool[i] = cbx_proof_rate_of(hits[i], trials[i]);
    cbx_arena_clear(&l.arena);
    return st;
}

cbx_status cbx_proof_power(cbx_ctx *ctx, const double *base, const double *slow, size_t n, const cbx_proof_pool *pools,
                           size_t npools, const cbx_proof_opts *opts, cbx_proof_rate *out, cbx_err *err)
{
    size_t hits = 0;
    lab l;
    cbx_status st = lab_open(&l, ctx, pools, npools, opts, n, err);

    if (!st && n < l.o.launches)
        st = cbx_fail(err, CBX_EINVAL, "%zu launches with and without a slow-down; %zu are needed", n, l.o.launches);
    else if (!st && (!all_good(base, n) || !all_good(slow, n)))
        st = cbx_fail(err, CBX_EDOM, "a launch median is not finite and > 0");
    l.rng = cbx_rng_make(l.o.seed, STREAM_POWER);
    for (size_t i = 0; i < l.o.tables && !st; i++) {
        cbx_outcome outcome = CBX_OUTCOME_UNDECIDED;
        bool any;
        draw_some(&l, base, n, l.left);
        draw_some(&l, slow, n, l.right);
        fill_gate_row(&l, 0);
        for (size_t r = 1; r < l.o.rows; r++) draw_gate_row(&l, r, r);
        st = ask_gate(&l, l.o.rows, &outcome, &any, err);
        hits += outcome == CBX_OUTCOME_REGRESSED;
    }
    if (!st) *out = cbx_proof_rate_of(hits, l.o.tables);
    cbx_arena_clear(&l.arena);
    return st;
}

void cbx_proof_simulate(uint64_t seed, uint64_t stream, double median_s, double cv, size_t n, double *out)
{
    cbx_rng rng = cbx_rng_make(seed, stream);
    double sigma = sqrt(log1p(cv * cv));

    for (size_t i = 0; i < n; i++) out[i] = median_s * exp(sigma * cbx_rng_normal(&rng));
}

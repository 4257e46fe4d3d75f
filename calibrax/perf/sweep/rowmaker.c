/**
 * Rows from attempts: pools the epochs, takes intervals over launches, pairs rounds with the
 * reference, fills the row record.
 *
 * Two ratios to the case's reference (its strongest good variant on the same platform): v1's
 * minimum over minimum, and the paired one, the median over rounds of (launch median / reference's
 * launch median) with its order-statistic interval and verdict.
 */
#include <math.h>
#include <string.h>

#include "calibrax/perf/sweep/estimates.h"
#include "calibrax/perf/sweep/pairing.h"
#include "calibrax/perf/sweep/stopping.h"
#include "calibrax/statistics/estimate.h"

/* --- numbers over the launches of one attempt --- */

#define NUMBER(member) offsetof(cbx_launch_record, member)

static double max_over(const cbx__attempt *a, size_t number, double *scratch)
{
    size_t n = cbx__attempt_numbers(a, number, 1e-6, true, scratch);
    double m = NAN;
    for (size_t i = 0; i < n; i++) m = fmax(m, scratch[i]);
    return m;
}

/* Of user and system together; CPU times are known of all launches, or of none. */
static double cpu_over(cbx_ctx *ctx, const cbx__attempt *a, double *user, double *system)
{
    size_t n = cbx__attempt_numbers(a, NUMBER(cpu_user_s), 1, true, user);
    double m = NAN;

    if (cbx__attempt_numbers(a, NUMBER(cpu_system_s), 1, true, system) != n || !n) return NAN;
    for (size_t i = 0; i < n; i++) user[i] += system[i];
    return cbx_stat_median(ctx, user, n, &m, NULL) ? NAN : m;
}

/* --- blocks of the row --- */

static cbx_status put_times(cbx_ctx *ctx, cbx__point *p, const cbx__attempt *a, cbx_row *row, cbx_err *err)
{
    cbx_summary sum;
    cbx_interval iv;
    cbx__times t;
    cbx_status st = cbx__attempt_times(&p->arena, a, &t, err);

    if (!st) st = cbx_stat_summary(ctx, t.epochs, t.nepochs, &sum, err);
    if (!st) st = cbx_stat_median_interval(ctx, t.medians, t.launches, cbx__stopping_level(p, a), &iv, err);
    if (st) return st;
    row->n = t.nepochs;
    row->min_s = sum.min;
    row->mean_s = sum.mean;
    row->p95_s = sum.p95;
    row->p99_s = sum.p99;
    row->iqr_s = sum.p75 - sum.p25;
    row->median_s = iv.value;
    row->steady = cbx__row_interval(&iv, &row->steady_reason);
    row->launch_medians_s = t.medians;
    row->nlaunches = t.launches;
    return CBX_OK;
}

static double output_elements(const cbx__session *s, const cbx__point *p)
{
    const cbx_case_ops *c = s->opts->case_ops;
    cbx_array_desc out[CBX_CASE_MAX_ARRAYS];
    double total = 0;

    c->outputs(p->params, out);
    for (size_t i = 0; i < c->noutputs; i++) {
        size_t n = 0;
        if (!cbx_array_desc_count(&out[i], &n, NULL)) total += (double)n;
    }
    return total;
}

/* A rate is so much work over the time: where the time ends, it begins. */
static cbx_row_interval rate(double work, const cbx_row *row)
{
    const cbx_row_interval *t = &row->steady;
    bool known = isfinite(t->lower) && isfinite(t->upper) && t->lower > 0;

    return (cbx_row_interval){ work / row->median_s, known ? work / t->upper : NAN, known ? work / t->lower : NAN,
                               t->level };
}

static void put_rates(const cbx__session *s, const cbx__point *p, const cbx__attempt *a, cbx_row *row)
{
    cbx_work work;
    double bound = cbx__attempt_bound(s, p, a, &work);

    if (s->opts->case_ops->noutputs) row->throughput_elem_per_s = output_elements(s, p) / row->min_s;
    if (!a->baseline->work) return;
    row->gmac_per_s = 1e-9 * work.macs / row->median_s;
    row->gflop = rate(1e-9 * work.flop, row);
    row->gbyte = rate(1e-9 * work.bytes, row);
    row->gflop_per_s = row->gflop.value;
    row->gbyte_per_s = row->gbyte.value;
    row->bound_s = bound;
    row->roofline = rate(bound, row);
    row->roofline_share = row->roofline.value;
    if (work.bytes > 0) row->flop_per_byte = work.flop / work.bytes;
    if (!isnan(bound)) row->bound_by = cbx__attempt_bound_by(s, p, a);
}

static cbx_status put_metrics(cbx_ctx *ctx, const cbx__session *s, cbx__point *p, const cbx__attempt *a, cbx_row *row,
                              cbx_err *err)
{
    double *scratch = cbx_arena_calloc(&p->arena, 2 * a->nlaunches + 1, sizeof(double));
    cbx_status st;

    if (!scratch) return cbx_fail(err, CBX_ENOMEM, "out of memory for the numbers of a row");
    st = put_times(ctx, p, a, row, err);
    if (st) return st;
    row->has_metrics = true;
    row->cpu_s = cpu_over(ctx, a, scratch, scratch + a->nlaunches);
    row->host_rss_mb = max_over(a, NUMBER(hwm_bytes), scratch);
    row->host_rss_increase_mb = max_over(a, NUMBER(hwm_increase_bytes), scratch);
    row->peak_hbm_mb = max_over(a, NUMBER(device_peak_bytes), scratch);
    put_rates(s, p, a, row);
    row->caches = s->opts->cold_cache ? "cold" : "warm";
    return cbx__estimates_put(ctx, &p->arena, a, row, err);
}

/* The worst of all checks: one wrong output in any launch is a wrong baseline. */
static void put_fidelity(const cbx__session *s, const cbx__attempt *a, cbx_row *row)
{
    bool ok = true;

    for (const cbx__launch *l = a->first; l; l = l->next) {
        const cbx_fidelity *f = &l->record.fidelity;
        if (!f->checked) continue;
        ok = ok && f->ok;
        row->rel_to_tol = fmax(row->rel_to_tol, f->rel_to_tol);
        row->max_abs = fmax(row->max_abs, f->max_abs);
        row->max_rel = fmax(row->max_rel, f->max_rel);
        if (f->mismatched > row->mismatched) row->mismatched = f->mismatched;
        row->checks += f->checks;
    }
    if (a->baseline->limit) return;
    if (row->checks == 0 && ok) {
        if (row->has_metrics && s->opts->case_ops->noutputs) row->fidelity_status = "inconclusive";
        return;
    }
    row->fidelity_status = ok ? "ok" : "failed";
    row->oracle_kind = "fp64_full";
}

static void put_failure(const cbx__attempt *a, cbx_row *row)
{
    bool has_own = a->failure == CBX_FAILURE_INTERPRETER_MISSING || a->failure == CBX_FAILURE_MODULE_MISSING ||
                   a->failure == CBX_FAILURE_IMPORT_FAILED || a->failure == CBX_FAILURE_SKIPPED_BY_CONFIG;

    if (!a->failure) return;
    row->failure_reason = cbx_failure_reason(a->failure);
    row->failure_message = a->message[0] ? a->message : NULL;
    row->failure_remedy = has_own && a->remedy ? a->remedy : cbx_failure_remedy(a->failure);
    if (row->failure_remedy && !row->failure_remedy[0]) row->failure_remedy = NULL;
}

/* --- ratios --- */

/* What an attempt is compared with: its twin's original, or the strongest good variant of the
 * case's reference; NULL: nothing. */
static const cbx__attempt *rival_of(const cbx__session *s, const cbx__point *p, const cbx__attempt *a)
{
    const cbx_baseline_ops *reference = s->opts->twins ? a->baseline : s->opts->case_ops->baselines[0];

    for (size_t i = 0; i < p->plan.count; i++) {
        const cbx__attempt *r = &p->plan.attempts[i];
        if (!r->good || r->baseline != reference || r->platform != a->platform) continue;
        if (s->opts->twins ? strcmp(r->variant, "twin") != 0 : r->strongest) return r;
    }
    return NULL;
}

/* Of a claim made after looks.  The two one-sided tests of equivalence are each a half of a
 * two-sided one. */
static double looked_p(const cbx__point *p, const cbx__attempt *a, const cbx_row *row)
{
    bool one_sided = !strcmp(row->verdict, "equivalent");
    return cbx_looks_p(&p->looks, a->look, fmin(1, row->paired_p * (one_sided ? 2 : 1)));
}

static cbx_status put_paired(cbx_ctx *ctx, cbx__point *p, const cbx__attempt *a, const cbx__attempt *rival,
                             cbx_row *row, cbx_err *err)
{
    double *mine = cbx_arena_calloc(&p->arena, 2 * (a->nlaunches + 1), sizeof(double));
    size_t n;
    cbx_status st;

    if (!mine) return cbx_fail(err, CBX_ENOMEM, "out of memory for paired launches");
    n = cbx__pair_rounds(a, rival, mine, mine + a->nlaunches + 1);
    if (n == 0) return CBX_OK;
    row->paired_vs = rival->baseline->name;
    st = cbx__row_pair(ctx, mine, mine + a->nlaunches + 1, n, cbx__stopping_level(p, a), row, err);
    if (!st && p->looks.count) row->paired_p = looked_p(p, a, row);
    return st;
}

static cbx_status put_ratio(cbx_ctx *ctx, const cbx__session *s, cbx__point *p, const cbx__attempt *a, cbx_row *row,
                            cbx_err *err)
{
    const cbx__attempt *rival = a->good && (s->opts->twins || !a->baseline->limit) ? rival_of(s, p, a) : NULL;

    if (!rival) return CBX_OK;
    row->ratio_vs = rival->baseline->name;
    row->ratio_value = a->min_s / rival->min_s;
    return rival == a ? CBX_OK : put_paired(ctx, p, a, rival, row, err);
}

/* --- the limit --- */

/* The first good limit of the point, on a's platform. */
static const cbx__attempt *limit_of(const cbx__point *p, const cbx__attempt *a)
{
    for (size_t i = 0; i < p->plan.count; i++) {
        const cbx__attempt *l = &p->plan.attempts[i];
        if (l->baseline->limit && l->good && l->strongest && l->platform == a->platform) return l;
    }
    return NULL;
}

static cbx_status put_limit(cbx_ctx *ctx, cbx__point *p, const cbx__attempt *a, cbx_row *row, cbx_err *err)
{
    const cbx__attempt *limit = a->good ? limit_of(p, a) : NULL;
    double *shares, *theirs;
    size_t n;

    if (a->baseline->limit) row->role = "limit";
    if (!limit || a->baseline->limit) return CBX_OK;
    shares = cbx_arena_calloc(&p->arena, 2 * (a->nlaunches + 1), sizeof(double));
    if (!shares) return cbx_fail(err, CBX_ENOMEM, "out of memory for shares of a limit");
    theirs = shares + a->nlaunches + 1;
    n = cbx__pair_rounds(a, limit, shares, theirs);
    for (size_t i = 0; i < n; i++) shares[i] = theirs[i] / shares[i];
    if (n == 0) return CBX_OK;
    row->limit_vs = limit->baseline->name;
    return cbx_stat_median(ctx, shares, n, &row->limit_share, err);
}

/* --- the row --- */

/* Metrics go with answers that came, right or wrong, and with times that were refused; not with
 * crashes. */
static bool shows_metrics(const cbx__attempt *a)
{
    return !isnan(a->median_s) &&
           (a->good || a->failure == CBX_FAILURE_FIDELITY || a->failure == CBX_FAILURE_FASTER_THAN_ROOF ||
            a->failure == CBX_FAILURE_CLOCKS_DISAGREE);
}

static cbx_status make_row(cbx_ctx *ctx, const cbx__session *s, cbx__point *p, const cbx__attempt *a, cbx_rows *rows,
                           cbx_err *err)
{
    cbx_json *provenance = NULL, *json = NULL;
    cbx_row row;
    cbx_status st;

    cbx_row_init(&row);
    row.run_id = s->run_id;
    row.case_name = s->opts->case_ops->name;
    row.baseline = a->baseline->name;
    row.platform = a->platform;
    row.framework = a->baseline->provider;
    row.status = cbx_failure_row_status(a->failure);
    row.variant = a->variant;
    row.strongest = a->strongest;
    row.point_json = p->json;
    row.point_label = p->label;
    row.machine = s->machine_id[0] ? s->machine_id : NULL;
    row.representative = p->representative;
    st = shows_metrics(a) ? put_metrics(ctx, s, p, a, &row, err) : CBX_OK;
    if (st) return st;
    put_fidelity(s, a, &row);
    put_failure(a, &row);
    st = cbx__estimates_put_error(ctx, &p->arena, a, &row, err);
    if (!st) st = put_ratio(ctx, s, p, a, &row, err);
    if (!st) st = put_limit(ctx, p, a, &row, err);
    if (st) return st;
    provenance = cbx__provenance_make(s, p, a);
    if (provenance) {
        cbx_json *shares = cbx__estimates_layout(&p->arena, a);
        if (shares) cbx_json_set(provenance, "layout_share", shares);
    }
    row.provenance = provenance;
    json = provenance ? cbx_row_to_json(&row) : NULL;
    st = json ? cbx_rows_add_json(rows, json, "measured row", err)
              : cbx_fail(err, CBX_ENOMEM, "out of memory for a row");
    cbx_json_unref(json);
    cbx_json_unref(provenance);
    return st;
}

/* Causes that have nothing to do with the variant: one row is enough. */
static bool same_for_all_variants(cbx_failure f)
{
    return f == CBX_FAILURE_MODULE_MISSING || f == CBX_FAILURE_INTERPRETER_MISSING || f == CBX_FAILURE_IMPORT_FAILED ||
           f == CBX_FAILURE_WORKER_MISSING || f == CBX_FAILURE_HOST_UNSUPPORTED || f == CBX_FAILURE_BACKEND_UNAVAILABLE;
}

static bool is_repeated(const cbx__plan *plan, size_t i)
{
    const cbx__attempt *a = &plan->attempts[i], *before = i ? &plan->attempts[i - 1] : NULL;
    return before && same_for_all_variants(a->failure) && before->failure == a->failure &&
           before->baseline == a->baseline && before->platform == a->platform;
}

cbx_status cbx__rows_make(cbx_ctx *ctx, cbx__session *s, cbx__point *p, cbx_rows *rows, cbx_text *raw, cbx_err *err)
{
    for (size_t i = 0; i < p->plan.count; i++) {
        const cbx__attempt *a = &p->plan.attempts[i];
        cbx_status st = is_repeated(&p->plan, i) ? CBX_OK
                        : a->kept                ? cbx_rows_add_json(rows, a->kept->json, "kept row", err)
                                                 : make_row(ctx, s, p, a, rows, err);
        if (st) return st;
        for (const cbx__launch *l = a->first; l; l = l->next) cbx__raw_line(s, p, a, l, raw);
    }
    return cbx_text_check(raw, err);
}

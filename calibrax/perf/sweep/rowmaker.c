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

/* --- blocks of the row --- */

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
    const cbx_case_ops *c = s->opts->case_ops;
    cbx_array_desc out[CBX_CASE_MAX_ARRAYS];
    double elements = 0;
    cbx_work work;

    c->outputs(p->params, out);
    for (size_t i = 0, n; i < c->noutputs; i++)
        if (!cbx_array_desc_count(&out[i], &n, NULL)) elements += (double)n;
    if (c->noutputs) row->throughput_elem_per_s = elements / row->min_s;
    if (!a->baseline->work) return;
    row->bound_s = cbx__attempt_bound(s, p, a, &work, &row->bound_by);
    row->gmac_per_s = 1e-9 * work.macs / row->median_s;
    row->gflop = rate(1e-9 * work.flop, row);
    row->gbyte = rate(1e-9 * work.bytes, row);
    row->gflop_per_s = row->gflop.value;
    row->gbyte_per_s = row->gbyte.value;
    row->roofline = rate(row->bound_s, row);
    row->roofline_share = row->roofline.value;
    if (work.bytes > 0) row->flop_per_byte = work.flop / work.bytes;
}

/* Of answers that came, right or wrong, and of times that were refused; not of crashes. */
static cbx_status put_metrics(cbx_ctx *ctx, const cbx__session *s, cbx__point *p, const cbx__attempt *a, cbx_row *row,
                              cbx_err *err)
{
    cbx_summary sum;
    cbx_interval iv;
    cbx__times t;

    if (isnan(a->median_s) ||
        !(a->good || a->failure == CBX_FAILURE_FIDELITY || a->failure == CBX_FAILURE_FASTER_THAN_ROOF ||
          a->failure == CBX_FAILURE_CLOCKS_DISAGREE))
        return CBX_OK;
    double *user = cbx_arena_calloc(&p->arena, 2 * a->nlaunches + 1, sizeof(double));
    if (!user) return cbx_fail(err, CBX_ENOMEM, "out of memory for the numbers of a row");
    double *system = user + a->nlaunches;
    cbx_status st = cbx__attempt_times(&p->arena, a, &t, err);
    if (!st) st = cbx_stat_summary(ctx, t.epochs, t.nepochs, &sum, err);
    if (!st) st = cbx_stat_median_interval(ctx, t.medians, t.launches, cbx__stopping_level(p, a), &iv, err);
    if (st) return st;
    row->has_metrics = true;
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
    /* of user and system together; CPU times are known of all launches, or of none */
    const size_t n = cbx__attempt_numbers(a, NUMBER(cpu_user_s), 1, true, user);
    const bool cpu = n && cbx__attempt_numbers(a, NUMBER(cpu_system_s), 1, true, system) == n;
    for (size_t i = 0; cpu && i < n; i++) user[i] += system[i];
    if (cpu && cbx_stat_median(ctx, user, n, &row->cpu_s, NULL)) row->cpu_s = NAN;
    row->host_rss_mb = max_over(a, NUMBER(hwm_bytes), user);
    row->host_rss_increase_mb = max_over(a, NUMBER(hwm_increase_bytes), user);
    row->peak_hbm_mb = max_over(a, NUMBER(device_peak_bytes), user);
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

/* --- ratios --- */

/* What an attempt is compared with: its twin's original, or the strongest good variant of the
 * case's reference; or the first good limit.  NULL: nothing. */
static const cbx__attempt *rival_of(const cbx__session *s, const cbx__point *p, const cbx__attempt *a, bool limit)
{
    const cbx_baseline_ops *reference = s->opts->twins ? a->baseline : s->opts->case_ops->baselines[0];

    for (const cbx__attempt *r = p->plan.attempts; r < p->plan.attempts + p->plan.count; r++) {
        if (!r->good || r->platform != a->platform) continue;
        if (limit ? r->baseline->limit && r->strongest
                  : r->baseline == reference && (s->opts->twins ? strcmp(r->variant, "twin") != 0 : r->strongest))
            return r;
    }
    return NULL;
}

static cbx_status put_ratio(cbx_ctx *ctx, const cbx__session *s, cbx__point *p, const cbx__attempt *a, cbx_row *row,
                            cbx_err *err)
{
    const cbx__attempt *rival = a->good && (s->opts->twins || !a->baseline->limit) ? rival_of(s, p, a, false) : NULL;

    if (!rival) return CBX_OK;
    row->ratio_vs = rival->baseline->name;
    row->ratio_value = a->min_s / rival->min_s;
    if (rival == a) return CBX_OK;
    double *mine = cbx_arena_calloc(&p->arena, 2 * (a->nlaunches + 1), sizeof(double));
    if (!mine) return cbx_fail(err, CBX_ENOMEM, "out of memory for paired launches");
    double *theirs = mine + a->nlaunches + 1;
    const size_t n = cbx__pair_rounds(a, rival, mine, theirs);
    if (n == 0) return CBX_OK;
    row->paired_vs = rival->baseline->name;
    const cbx_status st = cbx__row_pair(ctx, mine, theirs, n, cbx__stopping_level(p, a), row, err);
    if (!st && p->looks.count) {
        /* of a claim made after looks; the two one-sided tests of equivalence are each a half of a
         * two-sided one */
        const bool one_sided = !strcmp(row->verdict, "equivalent");
        row->paired_p = cbx_looks_p(&p->looks, a->look, fmin(1, row->paired_p * (one_sided ? 2 : 1)));
    }
    return st;
}

/* --- the limit --- */

static cbx_status put_limit(cbx_ctx *ctx, const cbx__session *s, cbx__point *p, const cbx__attempt *a, cbx_row *row,
                            cbx_err *err)
{
    const cbx__attempt *limit = a->good ? rival_of(s, p, a, true) : NULL;

    if (a->baseline->limit) row->role = "limit";
    if (!limit || a->baseline->limit) return CBX_OK;
    double *shares = cbx_arena_calloc(&p->arena, 2 * (a->nlaunches + 1), sizeof(double));
    if (!shares) return cbx_fail(err, CBX_ENOMEM, "out of memory for shares of a limit");
    double *theirs = shares + a->nlaunches + 1;
    const size_t n = cbx__pair_rounds(a, limit, shares, theirs);
    for (size_t i = 0; i < n; i++) shares[i] = theirs[i] / shares[i];
    if (n == 0) return CBX_OK;
    row->limit_vs = limit->baseline->name;
    return cbx_stat_median(ctx, shares, n, &row->limit_share, err);
}

/* --- the row --- */

static bool comes_from_environment(cbx_failure f)
{
    return f == CBX_FAILURE_INTERPRETER_MISSING || f == CBX_FAILURE_MODULE_MISSING || f == CBX_FAILURE_IMPORT_FAILED;
}

static cbx_status make_row(cbx_ctx *ctx, const cbx__session *s, cbx__point *p, const cbx__attempt *a, cbx_rows *rows,
                           cbx_err *err)
{
    cbx_row row;

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
    cbx_status st = put_metrics(ctx, s, p, a, &row, err);
    if (st) return st;
    put_fidelity(s, a, &row);
    if (a->failure) {
        const bool has_own = comes_from_environment(a->failure) || a->failure == CBX_FAILURE_SKIPPED_BY_CONFIG;
        row.failure_reason = cbx_failure_reason(a->failure);
        row.failure_message = a->message[0] ? a->message : NULL;
        row.failure_remedy = has_own && a->remedy ? a->remedy : cbx_failure_remedy(a->failure);
        if (!row.failure_remedy[0]) row.failure_remedy = NULL;
    }
    st = cbx__estimates_put_error(ctx, &p->arena, a, &row, err);
    if (!st) st = put_ratio(ctx, s, p, a, &row, err);
    if (!st) st = put_limit(ctx, s, p, a, &row, err);
    if (st) return st;
    cbx_json *provenance = cbx__provenance_make(s, p, a), *shares = cbx__estimates_layout(&p->arena, a);
    if (shares) cbx_json_set(provenance, "layout_share", shares);
    row.provenance = provenance;
    cbx_json *json = provenance ? cbx_row_to_json(&row) : NULL;
    st = json ? cbx_rows_add_json(rows, json, "measured row", err)
              : cbx_fail(err, CBX_ENOMEM, "out of memory for a row");
    cbx_json_unref(json);
    cbx_json_unref(provenance);
    return st;
}

cbx_status cbx__rows_make(cbx_ctx *ctx, cbx__session *s, cbx__point *p, cbx_rows *rows, cbx_text *raw, cbx_err *err)
{
    for (const cbx__attempt *a = p->plan.attempts; a < p->plan.attempts + p->plan.count; a++) {
        const cbx__attempt *before = a > p->plan.attempts ? a - 1 : NULL;
        const cbx_failure f = a->failure;
        /* causes that have nothing to do with the variant: one row is enough */
        const bool for_all = comes_from_environment(f) || f == CBX_FAILURE_WORKER_MISSING ||
                             f == CBX_FAILURE_HOST_UNSUPPORTED || f == CBX_FAILURE_BACKEND_UNAVAILABLE;
        const bool repeated = before && for_all && before->failure == f && before->baseline == a->baseline &&
                              before->platform == a->platform;
        const cbx_status st = repeated  ? CBX_OK
                              : a->kept ? cbx_rows_add_json(rows, a->kept->json, "kept row", err)
                                        : make_row(ctx, s, p, a, rows, err);
        if (st) return st;
        for (const cbx__launch *l = a->first; l; l = l->next) cbx__raw_line(s, p, a, l, raw);
    }
    return cbx_text_check(raw, err);
}

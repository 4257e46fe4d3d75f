/* Two worktrees, launches in turns, one verdict. */
#include "calibrax/ci/compare.h"

#include <math.h>

#include "calibrax/base/json_put.h"
#include "calibrax/base/options.h"
#include "calibrax/base/rng.h"
#include "calibrax/ci/shell.h"
#include "calibrax/perf/schedule/claim.h"
#include "calibrax/statistics/multiplicity.h"

#define LAUNCHES     25
#define MIN_LAUNCHES 6
#define LAYOUT_BYTES 4096 /* a page: alignments repeat beyond it */

typedef struct job {
    cbx_ctx *ctx;
    const cbx_compare_opts *opts;
    cbx_arena *arena;
    cbx__shell sh;
    cbx_rng rng;
    const char *hash[2], *tree[2];
    size_t launches;
    double *values[2];
    cbx_claim *claim;
} job;

static const char *name_of(const job *j, int side) { return side ? j->opts->b : j->opts->a; }

static void report(const job *j, const char *words, size_t done)
{
    if (j->opts->progress) j->opts->progress(j->opts->user, words, done, 2 * j->launches);
}

/* --- worktrees --- */

static cbx_status prepare(job *j, int side, cbx_err *err)
{
    cbx__shell_job build = {
        .command = j->opts->build, .commit = j->hash[side], .timeout_s = j->opts->build_timeout_s, .claim = j->claim
    };
    const char *name = cbx_arena_printf(j->arena, "%c-%.12s", side ? 'b' : 'a', j->hash[side]);
    cbx__shell_end end;
    cbx_status st;

    if (!name) return cbx_fail_nomem(err, "a comparison of revisions");
    st = cbx__worktree_add(&j->sh, name, j->hash[side], &j->tree[side], err);
    if (st || !j->opts->build) return st;
    report(j, cbx_arena_printf(j->arena, "building %s", name_of(j, side)), 0);
    build.dir = j->tree[side];
    st = cbx__shell_run(&j->sh, &build, &end, err);
    if (st || !end.failure) return st;
    return cbx_fail(err, CBX_ECHILD, "the build of '%s' failed: %.300s", name_of(j, side), end.message);
}

/* --- launches --- */

static cbx_status launch(job *j, int side, double *value, cbx_err *err)
{
    cbx__shell_job bench = { .command = j->opts->bench,
                             .dir = j->tree[side],
                             .commit = j->hash[side],
                             .timeout_s = j->opts->bench_timeout_s,
                             .claim = j->claim };
    cbx__shell_end end;
    cbx_status st;

    bench.env_pad_bytes = (size_t)cbx_rng_below(&j->rng, LAYOUT_BYTES);
    bench.stack_pad_bytes = (size_t)cbx_rng_below(&j->rng, LAYOUT_BYTES);
    st = cbx__shell_measure(&j->sh, &bench, j->opts->metric, value, &end, err);
    if (st) return st;
    if (*end.message)
        return cbx_fail(err, CBX_ECHILD, "the benchmark of '%s' failed: %.300s", name_of(j, side), end.message);
    if (*value > 0 && isfinite(*value)) return CBX_OK;
    return cbx_fail(err, CBX_EDOM, "the benchmark of '%s' returned %g: a cost must be above 0", name_of(j, side),
                    *value);
}

/* --- the verdict --- */

static cbx_status decide(job *j, cbx_compare_result *out, cbx_err *err)
{
    double level = j->opts->level > 0 ? j->opts->level : 0.95;
    double margin = isnan(j->opts->margin) ? CBX_VERDICT_MARGIN : j->opts->margin;
    double *q = cbx_arena_calloc(j->arena, j->launches, sizeof *q);
    cbx_compare_result r = { .rounds = j->launches };
    size_t below = 0, above = 0;
    cbx_status st = q ? CBX_OK : cbx_fail_nomem(err, "a comparison of revisions");

    for (int side = 0; !st && side < 2; side++) {
        r.hash[side] = j->hash[side];
        r.values[side] = j->values[side];
        st = cbx_stat_median_interval(j->ctx, j->values[side], j->launches, level, &r.median[side], err);
    }
    if (!st) st = cbx_stat_paired_ratio(j->ctx, j->values[1], j->values[0], j->launches, level, &r.ratio, err);
    if (st) return st;
    for (size_t i = 0; i < j->launches; i++) {
        q[i] = j->values[1][i] / j->values[0][i];
        below += q[i] < 1;
        above += q[i] > 1;
    }
    r.verdict = cbx_verdict_of_ratio(&r.ratio, margin);
    r.p = r.verdict == CBX_VERDICT_EQUIVALENT ? cbx_stat_equivalence_p(q, j->launches, 1 / (1 + margin), 1 + margin)
                                              : cbx_stat_sign_test_p(below, above);
    *out = r;
    return CBX_OK;
}

static void report_note(void *user, const char *text) { report(user, text, 0); }

static cbx_status check_opts(job *j, cbx_err *err)
{
    const cbx_compare_opts *o = j->opts;

    if (!o->a || !o->b) return cbx_fail(err, CBX_EINVAL, "a comparison needs two revisions");
    if (!o->bench) return cbx_fail(err, CBX_EINVAL, "a comparison of revisions needs a command to measure");
    if (o->metric && !*o->metric) return cbx_fail(err, CBX_EINVAL, "the metric has no name");
    if (o->level < 0 || o->level >= 1) return cbx_fail(err, CBX_EINVAL, "level %g is not between 0 and 1", o->level);
    if (o->margin < 0) return cbx_fail(err, CBX_EINVAL, "the margin is negative");
    j->launches = o->launches ? o->launches : LAUNCHES;
    if (j->launches < MIN_LAUNCHES)
        return cbx_fail(err, CBX_EINVAL, "too few launches to decide: at least %d, got %zu", MIN_LAUNCHES, j->launches);
    return CBX_OK;
}

cbx_status cbx_revisions_compare(cbx_ctx *ctx, const cbx_compare_opts *opts, cbx_arena *arena, cbx_compare_result *out,
                                 cbx_err *err)
{
    cbx_compare_opts own = CBX_COMPARE_OPTS_INIT;
    job j = { .ctx = ctx, .opts = &own, .arena = arena };
    cbx_status st = cbx_take_options(&own, sizeof own, opts, "cbx_compare_opts", err);

    if (!st) st = check_opts(&j, err);
    if (!st) st = cbx__shell_open(ctx, own.repository, own.scratch, own.stop, arena, &j.sh, err);
    for (int side = 0; !st && side < 2; side++)
        st = cbx__repository_resolve(&j.sh, name_of(&j, side), "a comparison of revisions", &j.hash[side], err);
    if (!st) st = cbx__mirror_make(&j.sh, err);
    if (!st) {
        /* A build disturbs the launches of other measurements, and theirs would disturb ours: the
         * cores are held for both. */
        const cbx_claim_opts o = { sizeof o, j.opts->lock_wait_s, j.opts->stop, report_note, &j };
        st = cbx_claim_take(j.ctx, &o, &j.claim, err);
    }
    for (int side = 0; !st && side < 2; side++) st = prepare(&j, side, err);
    j.rng = cbx_rng_make(own.seed, 0);
    for (int side = 0; !st && side < 2; side++) {
        double warm;
        j.values[side] = cbx_arena_calloc(j.arena, j.launches, sizeof(double));
        st = j.values[side] ? launch(&j, side, &warm, err) : cbx_fail_nomem(err, "a comparison of revisions");
    }
    for (size_t k = 0; !st && k < 2 * j.launches; k++) { /* A B, B A, A B ... */
        int side = (int)((k + k / 2) % 2);
        st = launch(&j, side, &j.values[side][k / 2], err);
        if (!st) report(&j, name_of(&j, side), k + 1);
    }
    cbx_claim_release(j.claim);
    if (!st) st = decide(&j, out, err);
    cbx__shell_close(&j.sh);
    return st;
}

/* --- JSON --- */

static cbx_json *side_json(const char *rev, const cbx_compare_result *r, int side)
{
    return cbx_json_object(J_TEXT("revision", rev), J_TEXT("commit", r->hash[side]),
                           J_INTERVAL("median", r->median[side]), J_NUMBERS("values", r->values[side], r->rounds));
}

cbx_json *cbx_compare_json(const cbx_compare_opts *opts, const cbx_compare_result *r)
{
    return cbx_json_finish(cbx_json_document("nperf-compare", J_TEXT("metric", opts->metric ? opts->metric : "wall_s"),
                                             J_JSON("a", side_json(opts->a, r, 0)),
                                             J_JSON("b", side_json(opts->b, r, 1)), J_INTERVAL("ratio", r->ratio),
                                             J_NUMBER("p", r->p), J_TEXT("verdict", cbx_verdict_name(r->verdict))));
}

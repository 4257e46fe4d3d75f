/*
 * Bootstrap intervals of metrics: the engine of statistics/bootstrap.h draws places, the metric is
 * computed of the items there.
 */
#include "calibrax/metrics/bootstrap.h"

#include <string.h>

#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
#include "calibrax/metrics/internal.h"
#include "calibrax/statistics/bootstrap.h"

enum { BCA_ITEMS = 500 };

typedef struct resample {
    cbx_ctx *ctx;
    const cbx_metric_function *m;
    size_t nin;
    cbx_array *const *in;
    const cbx_metric_options *options;
    bool apart;   /* the second operand has places of its own */
    cbx_err *err; /* the first failure of a call */
} resample;

static cbx_array *places(cbx_ctx *ctx, const double *x, size_t n)
{
    return cbx_astype(ctx, cbx__vector(ctx, n, x), CBX_I64);
}

/* Called with the places that were drawn. */
static double metric_at(const double *x, size_t n, const double *y, size_t m, void *user)
{
    const resample *r = user;
    cbx_metric_options o = r->options ? *r->options : (cbx_metric_options){ 0 };
    cbx_array *in[CBX_METRIC_MAX_OPERANDS];
    const cbx_array *at[2];
    cbx_scope scope;
    double v = NAN;

    if (r->err->status) return NAN;
    cbx_scope_open(r->ctx, &scope);
    at[0] = places(r->ctx, x, n);
    at[1] = y ? places(r->ctx, y, m) : at[0];
    for (size_t i = 0; i < r->nin; i++) in[i] = cbx__operand_at(r->ctx, r->m, i, r->in[i], at);
    if (o.mask) o.mask = cbx_take(r->ctx, o.mask, at[0], 0);
    if (o.weights) o.weights = cbx_take(r->ctx, o.weights, at[0], 0);
    const cbx_array *result = cbx_metric_apply(r->ctx, r->m, r->nin, in, &o);
    const size_t count = cbx_array_is_failed(result) ? 1 : cbx_array_count(result);
    if (count == 1) v = cbx__metric_element(result, 0);
    cbx_scope_close(&scope, r->err);
    if (count != 1)
        cbx_fail(r->err, CBX_ESHAPE, "%s: an interval is that of one number, and the result has %zu", r->m->name,
                 count);
    return v;
}

static bool draws_apart(const cbx_metric_function *m, size_t nin, cbx_array *const *in)
{
    const cbx_operand_kind kind = m->operands[0].kind;

    if (nin < 2 || !in[0] || !in[1] || m->operands[1].kind != kind) return false;
    if (cbx_metric_operand_items(m, 1) != CBX_ITEMS_SECOND) return false;
    if (m->shapes == CBX_SHAPES_ROWS) return true;
    return (kind == CBX_OPERAND_SAMPLE && m->shapes == CBX_SHAPES_FREE) ||
           (kind == CBX_OPERAND_POINTS && cbx_array_dim(in[0], 0) != cbx_array_dim(in[1], 0));
}

/*
 * Whether there is something to draw from; n: the numbers of items of the first operand and of the
 * second one.
 */
static cbx_status check_items(resample *r, size_t n[2], cbx_err *err)
{
    const cbx_metric_function *m = r->m;
    const cbx_metric_options *o = r->options;

    if (r->nin == 0 || r->nin > cbx_metric_operands(m))
        return cbx_fail(err, CBX_EINVAL, "%s takes %zu operand%s, not %zu", m->name, cbx_metric_operands(m),
                        cbx__plural(cbx_metric_operands(m)), r->nin);
    if (!cbx__metric_has_items(m))
        return cbx_fail(err, CBX_EINVAL, "%s: is not a metric of items: there is nothing to draw for an interval",
                        m->name);
    for (size_t i = 0; i < r->nin; i++) {
        if (!r->in[i] && !m->operands[i].optional)
            return cbx_fail(err, CBX_EINVAL, "%s: '%s' is missing", m->name, m->operands[i].name);
        if (r->in[i] && cbx__operand_is_single(m, i, r->in[i]))
            return cbx_fail(err, CBX_EINVAL, "%s: '%s' is a single item: there is nothing to draw from", m->name,
                            m->operands[i].name);
    }
    r->apart = draws_apart(m, r->nin, r->in);
    for (size_t k = 0; k < 2; k++) {
        const cbx_array *x = r->in[r->apart ? k : 0];
        n[k] = x && cbx_array_ndim(x) ? cbx_array_dim(x, 0) : 0;
    }
    for (size_t i = 0; i < r->nin; i++) {
        const size_t items = n[cbx_metric_operand_items(m, i) == CBX_ITEMS_SECOND];
        if (!cbx__operand_fits(m, i, r->in[i], n))
            return cbx_fail(err, CBX_ESHAPE, "%s: for an interval '%s' must have %zu item%s, not %zu", m->name,
                            m->operands[i].name, items, cbx__plural(items),
                            cbx_array_ndim(r->in[i]) ? cbx_array_dim(r->in[i], 0) : 1);
    }
    for (int k = 0; o && k < 2; k++) {
        const cbx_array *x = k ? o->weights : o->mask;
        if (x && (r->apart || cbx_array_ndim(x) == 0 || cbx_array_dim(x, 0) != n[0]))
            return cbx_fail(err, CBX_EUNSUPPORTED, "%s: for an interval the %s must have a number for each item",
                            m->name, k ? "weights" : "mask");
    }
    return CBX_OK;
}

cbx_status cbx_metric_bootstrap(cbx_ctx *ctx, const cbx_metric_function *m, size_t nin, cbx_array *const *in,
                                const cbx_metric_options *options, const cbx_metric_bootstrap_opts *opts,
                                cbx_interval *out, cbx_err *err)
{
    const cbx_metric_bootstrap_opts defaults = CBX_METRIC_BOOTSTRAP_OPTS_INIT, *o = opts ? opts : &defaults;
    cbx_boot_opts boot = CBX_BOOT_OPTS_INIT;
    cbx_err failed = CBX_ERR_INIT, why = CBX_ERR_INIT;
    resample r = { ctx, m, nin, in, options, false, &failed };
    size_t n[2] = { 0 };
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    double *at[2] = { NULL, NULL };
    cbx_status st;

    if (o->struct_size != sizeof *o) return cbx_fail(err, CBX_EINVAL, "%s: options of another version", m->name);
    if (options && options->reduction)
        return cbx_fail(err, CBX_EINVAL, "%s: takes no reduction: an interval is that of a mean", m->name);
    st = check_items(&r, n, err);
    if (st) return st;
    if (!r.apart) n[1] = 0; /* it has the places of the first one */
    for (size_t k = 0; k < 1 + (size_t)r.apart; k++) {
        at[k] = cbx_arena_calloc(&arena, n[k], sizeof *at[k]);
        if (!at[k]) return cbx_fail_nomem(err, "the places of a bootstrap");
        for (size_t i = 0; i < n[k]; i++) at[k][i] = (double)i;
    }
    boot.fn = metric_at;
    boot.user = &r;
    boot.threads = 1;
    boot.level = o->level;
    boot.resamples = o->resamples;
    boot.seed = o->seed;
    boot.method = n[0] + n[1] <= BCA_ITEMS ? CBX_BOOT_BCA : CBX_BOOT_PERCENTILE;
    st = cbx_stat_bootstrap(ctx, at[0], n[0], at[1], n[1], &boot, out, &why);
    if (st) cbx_fail(err, st, "%s: %s", m->name, why.message);
    if (!st && !failed.status) {
        if (out->lower < m->low) out->lower = m->low;
        if (out->upper > m->high) out->upper = m->high;
    }
    if (failed.status && err) *err = failed;
    return failed.status ? failed.status : st;
}

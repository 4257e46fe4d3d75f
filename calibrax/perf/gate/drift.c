/* The manifest of what cases compute, and its comparison. */
#include "calibrax/perf/gate/drift.h"

#include <math.h>
#include <string.h>

#include "calibrax/base/json_put.h"
#include "calibrax/core/owned.h"
#include "calibrax/core/record.h"
#include "calibrax/perf/launch/check.h"

#define MAX_STEPS ((double)(1 << 25))
#define TOLERANCE 1e-3

/* --- digests --- */

static void add_digest(cbx_json *list, const cbx_array *a)
{
    cbx_json *o = cbx_json_push_object(list), *shape = cbx_json_set_array(o, "shape");
    int64_t finite = 0, nan = 0, infinite = 0;
    double l1 = 0, l2_squared = 0, largest = 0;

    for (size_t i = 0; i < cbx_array_count(a); i++) {
        double v = cbx__element_value(cbx_array_data(a), cbx_array_dtype(a), (ptrdiff_t)i);
        nan += isnan(v);
        infinite += isinf(v) != 0;
        if (!isfinite(v)) continue;
        finite++;
        l1 += fabs(v);
        l2_squared += v * v;
        largest = fmax(largest, fabs(v));
    }
    for (int i = 0; i < cbx_array_ndim(a); i++) cbx_json_push_int(shape, (int64_t)cbx_array_dim(a, i));
    cbx_json_put(o, J_TEXT("dtype", cbx_dtype_name(cbx_array_dtype(a))), J_INT("finite", finite), J_INT("nan", nan),
                 J_INT("infinite", infinite), J_NUMBER("l1", l1), J_NUMBER("l2_squared", l2_squared),
                 J_NUMBER("largest", largest));
}

/* --- one baseline at one point --- */

typedef struct bench {
    const cbx_case_ops *c;
    cbx_params *point;
    cbx_array *in[CBX_CASE_MAX_ARRAYS], *out[CBX_CASE_MAX_ARRAYS];
} bench;

/* The digests of an honest native baseline; nothing of one that cannot run on this machine. */
static cbx_status digest_baseline(cbx_ctx *ctx, const bench *b, const cbx_baseline_ops *ops, cbx_json *all,
                                  cbx_err *err)
{
    const char *reason = NULL;
    void *plan = NULL;

    if (!ops->prepare || ops->mutant_reason || ops->limit || (ops->supports && !ops->supports(b->point, &reason)))
        return CBX_OK;
    cbx_status st = ops->prepare(ctx, b->point, &plan, err);
    if (st) return st == CBX_EUNAVAILABLE || st == CBX_EUNSUPPORTED ? CBX_OK : st;
    for (size_t i = 0; i < b->c->noutputs; i++) memset(cbx_array_data_mut(b->out[i]), 0, cbx_array_bytes(b->out[i]));
    ops->bind(plan, b->in, b->out);
    ops->run(plan);
    if (ops->collect) ops->collect(plan);
    if (ops->finish) ops->finish(plan);
    cbx_json *list = cbx_json_set_array(all, ops->name);
    for (size_t i = 0; i < b->c->noutputs; i++) add_digest(list, b->out[i]);
    return CBX_OK;
}

static cbx_status digest_point(cbx_ctx *ctx, const cbx_case_ops *c, size_t point, cbx_json *points, cbx_err *err)
{
    cbx_array_desc outputs[CBX_CASE_MAX_ARRAYS];
    cbx_json *all = cbx_json_new_object();
    double steps = 1;
    bench b = { .c = c };
    cbx_status st = cbx_case_point(ctx, c, c->points[point], c->name, &b.point, err);

    if (!st) st = c->make_inputs(ctx, b.point, b.in, err);
    if (!st) c->outputs(b.point, outputs);
    for (size_t i = 0; !st && i < c->noutputs; i++) st = cbx_array_create(ctx, &outputs[i], &b.out[i], err);
    for (size_t i = 0; !st && i < c->nparams; i++)
        if (c->params[i].kind == CBX_PARAM_INT && strcmp(c->params[i].name, "seed") != 0)
            steps *= (double)cbx_params_int(b.point, c->params[i].name);
    for (size_t i = 0; !st && steps <= MAX_STEPS && i < c->nbaselines; i++)
        st = digest_baseline(ctx, &b, c->baselines[i], all, err);
    if (!st && (cbx_json_length(all) || cbx_json_check(all, NULL)))
        cbx_json_set(points, cbx_params_json(b.point), all);
    else
        cbx_json_unref(all);
    for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) {
        cbx_array_free(b.in[i]);
        cbx_array_free(b.out[i]);
    }
    cbx_params_free(b.point);
    return st;
}

/* --- the manifest --- */

/* "m:int,algebra:real|log -> (A, B) -> (C)" */
static void put_signature(const cbx_case_ops *c, cbx_text *t)
{
    for (size_t i = 0; i < c->nparams; i++) {
        cbx_text_printf(t, "%s%s:", i ? "," : "", c->params[i].name);
        if (c->params[i].kind == CBX_PARAM_INT) cbx_text_puts(t, "int");
        for (size_t k = 0; c->params[i].kind == CBX_PARAM_WORD && c->params[i].words[k]; k++)
            cbx_text_printf(t, "%s%s", k ? "|" : "", c->params[i].words[k]);
    }
    for (int side = 0; side < 2; side++) {
        const char *const *names = side ? c->output_names : c->input_names;
        size_t n = side ? c->noutputs : c->ninputs;
        cbx_text_puts(t, " -> (");
        for (size_t i = 0; i < n; i++) cbx_text_printf(t, "%s%s", i ? ", " : "", names[i]);
        cbx_text_puts(t, ")");
    }
}

cbx_status cbx_drift_manifest(cbx_ctx *ctx, const cbx_case_list *list, const char *const *names, size_t count,
                              cbx_json **out, cbx_err *err)
{
    cbx_json *root = cbx_json_new_document("nperf-drift");
    size_t n = count ? count : list->count;
    cbx_status st = CBX_OK;

    CBX_SCOPED(cbx_text, signature, cbx_ctx_allocator(ctx));
    cbx_json *cases = cbx_json_set_object(root, "cases");
    for (size_t i = 0; !st && i < n; i++) {
        const cbx_case_ops *c = count ? cbx_case_find(list, names[i]) : list->cases[i];
        if (!c) {
            st = cbx_fail(err, CBX_ENOENT, "unknown case '%s'; 'nperf list' shows the cases", names[i]);
            break;
        }
        cbx_text_reset(&signature);
        put_signature(c, &signature);
        cbx_json *one = cbx_json_set_object(cases, c->name), *points;
        cbx_json_set_string(one, "signature", cbx_text_str(&signature));
        points = cbx_json_set_object(one, "points");
        for (size_t k = 0; !st && k < c->npoints; k++) st = digest_point(ctx, c, k, points, err);
    }
    if (!st) st = cbx_text_check(&signature, err);
    if (!st) st = cbx_json_check(root, err);
    return CBX_FINISH(st, *out = root, cbx_json_unref(root));
}

/* --- comparison --- */

/* Where something differs; NULL: does not apply. */
typedef struct place {
    const char *case_name, *point, *baseline;
    int output; /* -1: none */
} place;

static void put_value(const cbx_json *v, cbx_text *out)
{
    if (cbx_json_typeof(v) == CBX_JSON_STRING)
        cbx_text_printf(out, "'%s'", cbx_json_string_value(v));
    else if (cbx_json_typeof(v) == CBX_JSON_DOUBLE)
        cbx_text_printf(out, "%.9g", cbx_json_double_value(v));
    else
        cbx_json_write(v, CBX_JSON_COMPACT, out);
}

/* "semiring_matmul {...} stream, output 0: l1 is 3, was 2"; what NULL: `words` alone. */
static void find(cbx_json *findings, const place *p, const char *what, const cbx_json *is, const cbx_json *was,
                 const char *words)
{
    cbx_json *o = cbx_json_push_object(findings);

    CBX_SCOPED(cbx_text, sentence, cbx_allocator_default());
    cbx_text_puts(&sentence, p->case_name);
    if (p->point) cbx_text_printf(&sentence, " %s", p->point);
    if (p->baseline) cbx_text_printf(&sentence, " %s", p->baseline);
    if (p->output >= 0) cbx_text_printf(&sentence, ", output %d", p->output);
    cbx_text_printf(&sentence, ": %s%s", what ? what : words, what ? " is " : "");
    if (what) {
        put_value(is, &sentence);
        cbx_text_puts(&sentence, ", was ");
        put_value(was, &sentence);
    }
    cbx_json_put(o, J_TEXT("case", p->case_name), J_TEXT("point", p->point), J_TEXT("baseline", p->baseline),
                 p->output >= 0 ? J_INT("output", p->output) : J_NULL("output"),
                 J_TEXT("what", what ? what : "presence"), J_COPY("is", is), J_COPY("was", was),
                 J_JSON("sentence", sentence.status ? NULL : cbx_json_new_string(cbx_text_str(&sentence))));
}

static void compare_output(cbx_json *findings, const place *p, const cbx_json *kept, const cbx_json *now)
{
    static const char *const exact[] = { "dtype", "shape", "finite", "nan", "infinite" };
    static const char *const sums[] = { "l1", "l2_squared", "largest" };

    for (size_t i = 0; i < CBX_LEN(exact); i++) {
        const cbx_json *was = cbx_json_get(kept, exact[i]), *is = cbx_json_get(now, exact[i]);
        if (!cbx_json_equal(was, is)) find(findings, p, exact[i], is, was, NULL);
    }
    for (size_t i = 0; i < CBX_LEN(sums); i++) {
        double a = cbx_json_get_double(kept, sums[i], NAN), b = cbx_json_get_double(now, sums[i], NAN);
        if (a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= TOLERANCE * fmax(fabs(a), fabs(b))) continue;
        find(findings, p, sums[i], cbx_json_get(now, sums[i]), cbx_json_get(kept, sums[i]), NULL);
    }
}

static void compare_point(cbx_json *findings, const char *name, const char *point, const cbx_json *kept,
                          const cbx_json *now)
{
    const char *baseline;
    cbx_json *was;

    for (size_t i = 0; cbx_json_member(kept, i, &baseline, &was); i++) {
        const cbx_json *is = cbx_json_get(now, baseline);
        place p = { name, point, baseline, -1 };
        if (!is) {
            find(findings, &p, NULL, NULL, NULL, "is in the manifest and cannot be run now");
            continue;
        }
        CBX_OWNED(cbx_json) *now_count = cbx_json_new_int((int64_t)cbx_json_length(is)),
                            *kept_count = cbx_json_new_int((int64_t)cbx_json_length(was));
        if (cbx_json_length(is) != cbx_json_length(was))
            find(findings, &p, "the number of outputs", now_count, kept_count, NULL);
        for (size_t k = 0; k < cbx_json_length(is) && k < cbx_json_length(was); k++) {
            p.output = (int)k;
            compare_output(findings, &p, cbx_json_at(was, k), cbx_json_at(is, k));
        }
    }
}

cbx_status cbx_drift_compare(const cbx_json *kept, const char *what, const cbx_json *now, bool all, cbx_json **out,
                             cbx_err *err)
{
    const cbx_json *now_cases = cbx_json_get(now, "cases");
    cbx_json *cases = NULL, *root, *findings, *v;
    const char *name, *schema = NULL;
    cbx_status st = cbx_json_need_string(kept, "schema", what, &schema, err);

    if (!st && strcmp(schema, "nperf-drift") != 0)
        st = cbx_fail(err, CBX_EFORMAT, "'%s' is not a manifest of nperf drift: its schema is '%s'", what, schema);
    if (!st && cbx_json_get_int(kept, "version", 0) != 1)
        st = cbx_fail(err, CBX_EVERSION, "'%s' is a manifest of another version; update it", what);
    if (!st) st = cbx_json_need_object(kept, "cases", what, &cases, err);
    if (st) return st;
    findings = cbx_json_new_array();
    for (size_t i = 0; cbx_json_member(now_cases, i, &name, &v); i++) {
        const cbx_json *before = cbx_json_get(cases, name);
        const cbx_json *was = cbx_json_get(before, "signature"), *is = cbx_json_get(v, "signature");
        const cbx_json *points = cbx_json_get(before, "points");
        const place p = { name, NULL, NULL, -1 };
        const char *point;
        cbx_json *digests;
        if (before && !cbx_json_equal(was, is)) find(findings, &p, "the signature", is, was, NULL);
        for (size_t k = 0; cbx_json_member(points, k, &point, &digests); k++)
            compare_point(findings, name, point, digests, cbx_json_get(cbx_json_get(v, "points"), point));
    }
    /* A case that one side alone has: nothing of it was compared. */
    for (size_t i = 0; cbx_json_member(now_cases, i, &name, &v); i++) {
        const place p = { name, NULL, NULL, -1 };
        if (!cbx_json_has(cases, name)) find(findings, &p, NULL, NULL, NULL, "is not in the manifest");
    }
    for (size_t i = 0; all && cbx_json_member(cases, i, &name, &v); i++) {
        const place p = { name, NULL, NULL, -1 };
        if (!cbx_json_has(now_cases, name))
            find(findings, &p, NULL, NULL, NULL, "is in the manifest, and there is no such case now");
    }
    root = cbx_json_document("nperf-drift-findings", J_INT("drifted", cbx_json_length(findings)),
                             J_JSON("findings", findings));
    st = cbx_json_check(root, err);
    return CBX_FINISH(st, *out = root, cbx_json_unref(root));
}

/* The manifest of what cases compute, and its comparison. */
#include "calibrax/perf/gate/drift.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/array/array.h"

#define MOST_STEPS ((double)(1 << 25))
#define TOLERANCE  1e-3

/* --- digests --- */

/* Magnitude for complex numbers. */
static double value_at(const void *data, cbx_dtype dtype, size_t i)
{
    switch (dtype) {
    case CBX_F32: return ((const float *)data)[i];
    case CBX_F64: return ((const double *)data)[i];
    case CBX_I8: return ((const int8_t *)data)[i];
    case CBX_I16: return ((const int16_t *)data)[i];
    case CBX_I32: return ((const int32_t *)data)[i];
    case CBX_I64: return (double)((const int64_t *)data)[i];
    case CBX_U16: return ((const uint16_t *)data)[i];
    case CBX_U32: return ((const uint32_t *)data)[i];
    case CBX_U64: return (double)((const uint64_t *)data)[i];
    case CBX_C64: return hypot(((const float *)data)[2 * i], ((const float *)data)[2 * i + 1]);
    case CBX_C128: return hypot(((const double *)data)[2 * i], ((const double *)data)[2 * i + 1]);
    default: return ((const uint8_t *)data)[i]; /* bool, u8 */
    }
}

typedef struct digest {
    uint64_t finite, nan, infinite;
    double l1, l2_squared, largest;
} digest;

static digest digest_of(const cbx_array *a)
{
    digest d = { 0 };

    for (size_t i = 0; i < cbx_array_count(a); i++) {
        double v = value_at(cbx_array_data(a), cbx_array_dtype(a), i);
        d.nan += isnan(v);
        d.infinite += isinf(v);
        if (!isfinite(v)) continue;
        d.finite++;
        d.l1 += fabs(v);
        d.l2_squared += v * v;
        d.largest = fmax(d.largest, fabs(v));
    }
    return d;
}

static cbx_json *digest_json(const cbx_array *a)
{
    cbx_json *o = cbx_json_new_object(), *shape = cbx_json_new_array();
    digest d = digest_of(a);
    bool ok = o && shape;

    for (int i = 0; ok && i < cbx_array_ndim(a); i++)
        ok = cbx_json_push(shape, cbx_json_new_int((int64_t)cbx_array_dim(a, i)));
    ok = o && cbx_json_set(o, "shape", shape) && ok;
    ok = ok && cbx_json_set_string(o, "dtype", cbx_dtype_name(cbx_array_dtype(a))) &&
         cbx_json_set_int(o, "finite", (int64_t)d.finite) && cbx_json_set_int(o, "nan", (int64_t)d.nan) &&
         cbx_json_set_int(o, "infinite", (int64_t)d.infinite) && cbx_json_set_double(o, "l1", d.l1) &&
         cbx_json_set_double(o, "l2_squared", d.l2_squared) && cbx_json_set_double(o, "largest", d.largest);
    if (ok) return o;
    cbx_json_unref(o);
    return NULL;
}

/* --- one baseline at one point --- */

typedef struct bench {
    const cbx_case_ops *c;
    cbx_params *point;
    cbx_array *in[CBX_CASE_MAX_ARRAYS], *out[CBX_CASE_MAX_ARRAYS];
} bench;

static void bench_close(bench *b)
{
    for (size_t i = 0; i < CBX_CASE_MAX_ARRAYS; i++) {
        cbx_array_free(b->in[i]);
        cbx_array_free(b->out[i]);
    }
    cbx_params_free(b->point);
}

static cbx_status bench_open(cbx_ctx *ctx, const cbx_case_ops *c, size_t point, bench *b, cbx_err *err)
{
    cbx_array_desc outputs[CBX_CASE_MAX_ARRAYS];
    cbx_status st;

    *b = (bench){ .c = c };
    st = cbx_case_point(ctx, c, c->points[point], c->name, &b->point, err);
    if (!st) st = c->make_inputs(ctx, b->point, b->in, err);
    if (st) return st;
    c->outputs(b->point, outputs);
    for (size_t i = 0; !st && i < c->noutputs; i++) st = cbx_array_create(ctx, &outputs[i], &b->out[i], err);
    return st;
}

/* CBX_EUNAVAILABLE and CBX_EUNSUPPORTED: not on this machine, and *out stays NULL. */
static cbx_status run_baseline(cbx_ctx *ctx, const bench *b, const cbx_baseline_ops *ops, cbx_json **out, cbx_err *err)
{
    void *plan = NULL;
    bool ok;
    cbx_status st = ops->prepare(ctx, b->point, &plan, err);

    if (st) return st;
    for (size_t i = 0; i < b->c->noutputs; i++) memset(cbx_array_data_mut(b->out[i]), 0, cbx_array_bytes(b->out[i]));
    ops->bind(plan, b->in, b->out);
    ops->run(plan);
    if (ops->collect) ops->collect(plan);
    if (ops->finish) ops->finish(plan);
    *out = cbx_json_new_array();
    ok = *out != NULL;
    for (size_t i = 0; ok && i < b->c->noutputs; i++) {
        cbx_json *one = digest_json(b->out[i]);
        ok = one && cbx_json_push(*out, one);
    }
    return ok ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "no memory for a digest");
}

static bool is_wanted(const bench *b, const cbx_baseline_ops *ops)
{
    const char *reason = NULL;
    return ops->prepare && !ops->mutant_reason && !ops->limit && (!ops->supports || ops->supports(b->point, &reason));
}

static double steps_of(const bench *b)
{
    double steps = 1;
    for (size_t i = 0; i < b->c->nparams; i++)
        if (b->c->params[i].kind == CBX_PARAM_INT && strcmp(b->c->params[i].name, "seed") != 0)
            steps *= (double)cbx_params_int(b->point, b->c->params[i].name);
    return steps;
}

static cbx_status digest_point(cbx_ctx *ctx, const cbx_case_ops *c, size_t point, cbx_json *points, cbx_err *err)
{
    cbx_json *all = cbx_json_new_object();
    bench b;
    cbx_status st = bench_open(ctx, c, point, &b, err);

    if (!st && !all) st = cbx_fail(err, CBX_ENOMEM, "no memory for a manifest");
    for (size_t i = 0; !st && steps_of(&b) <= MOST_STEPS && i < c->nbaselines; i++) {
        cbx_json *one = NULL;
        if (!is_wanted(&b, c->baselines[i])) continue;
        st = run_baseline(ctx, &b, c->baselines[i], &one, err);
        if (st == CBX_EUNAVAILABLE || st == CBX_EUNSUPPORTED)
            st = CBX_OK;
        else if (!st && !cbx_json_set(all, c->baselines[i]->name, one))
            st = cbx_fail(err, CBX_ENOMEM, "no memory for a manifest");
        else if (st)
            cbx_json_unref(one);
    }
    if (!st && cbx_json_length(all))
        st = cbx_json_set(points, cbx_params_json(b.point), all) ? CBX_OK : CBX_ENOMEM;
    else
        cbx_json_unref(all);
    bench_close(&b);
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

static cbx_status add_case(cbx_ctx *ctx, const cbx_case_ops *c, cbx_json *cases, cbx_err *err)
{
    cbx_json *one = cbx_json_new_object(), *points = cbx_json_new_object();
    cbx_text signature;
    cbx_status st = CBX_OK;
    bool ok;

    cbx_text_init(&signature, cbx_ctx_allocator(ctx));
    put_signature(c, &signature);
    for (size_t i = 0; points && !st && i < c->npoints; i++) st = digest_point(ctx, c, i, points, err);
    ok = one && !signature.status && cbx_json_set_string(one, "signature", cbx_text_str(&signature));
    ok = one && cbx_json_set(one, "points", points) && ok;
    ok = one && cbx_json_set(cases, c->name, one) && ok;
    cbx_text_clear(&signature);
    return st || ok ? st : cbx_fail(err, CBX_ENOMEM, "no memory for a manifest");
}

cbx_status cbx_drift_manifest(cbx_ctx *ctx, const cbx_case_list *list, const char *const *names, size_t count,
                              cbx_json **out, cbx_err *err)
{
    cbx_json *root = cbx_json_new_object(), *cases = cbx_json_new_object();
    size_t n = count ? count : list->count;
    cbx_status st = root && cases ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "no memory for a manifest");

    for (size_t i = 0; !st && i < n; i++) {
        const cbx_case_ops *c = count ? cbx_case_find(list, names[i]) : list->cases[i];
        st = c ? add_case(ctx, c, cases, err)
               : cbx_fail(err, CBX_ENOENT, "unknown case '%s'; 'nperf list' shows the cases", names[i]);
    }
    if (!st && !(cbx_json_set_string(root, "schema", "nperf-drift") && cbx_json_set_int(root, "version", 1) &&
                 cbx_json_set(root, "cases", cbx_json_ref(cases))))
        st = cbx_fail(err, CBX_ENOMEM, "no memory for a manifest");
    cbx_json_unref(cases);
    if (st)
        cbx_json_unref(root);
    else
        *out = root;
    return st;
}

/* --- comparison --- */

/* Where something differs; what is NULL is not told. */
typedef struct place {
    const char *case_name, *point, *baseline;
    int output; /* -1: none */
} place;

typedef struct comparison {
    cbx_json *findings;
    bool failed; /* memory was out */
} comparison;

static bool near(double a, double b)
{
    return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= TOLERANCE * fmax(fabs(a), fabs(b));
}

static bool set_value(cbx_json *o, const char *key, const cbx_json *v)
{
    return v ? cbx_json_set(o, key, cbx_json_copy(v)) : cbx_json_set_null(o, key);
}

static void put_value(const cbx_json *v, cbx_text *out)
{
    if (cbx_json_typeof(v) == CBX_JSON_STRING)
        cbx_text_printf(out, "'%s'", cbx_json_string_value(v));
    else if (cbx_json_typeof(v) == CBX_JSON_DOUBLE)
        cbx_text_printf(out, "%.9g", cbx_json_double_value(v));
    else
        cbx_json_write(v, CBX_JSON_COMPACT, out);
}

/* "semiring_matmul {...} stream, output 0: l1 is 3, was 2"; what NULL: `words` alone say it. */
static void put_sentence(const place *p, const char *what, const cbx_json *is, const cbx_json *was, const char *words,
                         cbx_text *out)
{
    cbx_text_puts(out, p->case_name);
    if (p->point) cbx_text_printf(out, " %s", p->point);
    if (p->baseline) cbx_text_printf(out, " %s", p->baseline);
    if (p->output >= 0) cbx_text_printf(out, ", output %d", p->output);
    cbx_text_puts(out, ": ");
    if (!what) {
        cbx_text_puts(out, words);
        return;
    }
    cbx_text_printf(out, "%s is ", what);
    put_value(is, out);
    cbx_text_puts(out, ", was ");
    put_value(was, out);
}

/* Lends is and was. */
static void find(comparison *c, const place *p, const char *what, const cbx_json *is, const cbx_json *was,
                 const char *words)
{
    cbx_json *o = cbx_json_new_object();
    cbx_text sentence;
    bool ok;

    cbx_text_init(&sentence, cbx_allocator_default());
    put_sentence(p, what, is, was, words, &sentence);
    ok = o && !sentence.status && cbx_json_set_string(o, "case", p->case_name) &&
         cbx_json_set_string(o, "point", p->point) && cbx_json_set_string(o, "baseline", p->baseline) &&
         (p->output >= 0 ? cbx_json_set_int(o, "output", p->output) : cbx_json_set_null(o, "output")) &&
         cbx_json_set_string(o, "what", what ? what : "presence") && set_value(o, "is", is) &&
         set_value(o, "was", was) && cbx_json_set_string(o, "sentence", cbx_text_str(&sentence)) &&
         cbx_json_push(c->findings, cbx_json_ref(o));
    if (!ok) c->failed = true;
    cbx_text_clear(&sentence);
    cbx_json_unref(o);
}

static void compare_output(comparison *c, const place *p, const cbx_json *kept, const cbx_json *now)
{
    static const char *const exact[] = { "dtype", "shape", "finite", "nan", "infinite" };
    static const char *const sums[] = { "l1", "l2_squared", "largest" };

    for (size_t i = 0; i < CBX_LEN(exact); i++) {
        const cbx_json *was = cbx_json_get(kept, exact[i]), *is = cbx_json_get(now, exact[i]);
        if (!cbx_json_equal(was, is)) find(c, p, exact[i], is, was, NULL);
    }
    for (size_t i = 0; i < CBX_LEN(sums); i++) {
        double a = cbx_json_get_double(kept, sums[i], NAN), b = cbx_json_get_double(now, sums[i], NAN);
        if (!near(a, b)) find(c, p, sums[i], cbx_json_get(now, sums[i]), cbx_json_get(kept, sums[i]), NULL);
    }
}

static void compare_count(comparison *c, const place *p, size_t is, size_t was)
{
    cbx_json *a = cbx_json_new_int((int64_t)is), *b = cbx_json_new_int((int64_t)was);

    if (!a || !b)
        c->failed = true;
    else if (is != was)
        find(c, p, "the number of outputs", a, b, NULL);
    cbx_json_unref(a);
    cbx_json_unref(b);
}

static void compare_point(comparison *c, const char *name, const char *point, const cbx_json *kept, const cbx_json *now)
{
    const char *baseline;
    cbx_json *was;

    for (size_t i = 0; cbx_json_member(kept, i, &baseline, &was); i++) {
        const cbx_json *is = cbx_json_get(now, baseline);
        place p = { name, point, baseline, -1 };
        if (!is) {
            find(c, &p, NULL, NULL, NULL, "is in the manifest and cannot be run now");
            continue;
        }
        compare_count(c, &p, cbx_json_length(is), cbx_json_length(was));
        for (size_t k = 0; k < cbx_json_length(is) && k < cbx_json_length(was); k++) {
            p.output = (int)k;
            compare_output(c, &p, cbx_json_at(was, k), cbx_json_at(is, k));
        }
    }
}

static void compare_case(comparison *c, const char *name, const cbx_json *kept, const cbx_json *now)
{
    const cbx_json *was = cbx_json_get(kept, "signature"), *is = cbx_json_get(now, "signature");
    const cbx_json *points = cbx_json_get(kept, "points");
    const place p = { name, NULL, NULL, -1 };
    const char *point;
    cbx_json *v;

    if (!cbx_json_equal(was, is)) find(c, &p, "the signature", is, was, NULL);
    for (size_t i = 0; cbx_json_member(points, i, &point, &v); i++)
        compare_point(c, name, point, v, cbx_json_get(cbx_json_get(now, "points"), point));
}

/* A case that one side alone has: nothing of it was compared. */
static void compare_names(comparison *c, const cbx_json *kept, const cbx_json *now, bool all)
{
    const char *name;
    cbx_json *v;

    for (size_t i = 0; cbx_json_member(now, i, &name, &v); i++) {
        const place p = { name, NULL, NULL, -1 };
        if (!cbx_json_has(kept, name)) find(c, &p, NULL, NULL, NULL, "is not in the manifest");
    }
    for (size_t i = 0; all && cbx_json_member(kept, i, &name, &v); i++) {
        const place p = { name, NULL, NULL, -1 };
        if (!cbx_json_has(now, name))
            find(c, &p, NULL, NULL, NULL, "is in the manifest, and there is no such case now");
    }
}

static cbx_status check_manifest(const cbx_json *kept, const char *what, cbx_json **cases, cbx_err *err)
{
    const char *schema = NULL;
    cbx_status st = cbx_json_need_string(kept, "schema", what, &schema, err);

    if (!st && strcmp(schema, "nperf-drift") != 0)
        st = cbx_fail(err, CBX_EFORMAT, "'%s' is no manifest of nperf drift: its schema is '%s'", what, schema);
    if (!st && cbx_json_get_int(kept, "version", 0) != 1)
        st = cbx_fail(err, CBX_EVERSION, "'%s' is a manifest of another version; update it", what);
    return st ? st : cbx_json_need_object(kept, "cases", what, cases, err);
}

cbx_status cbx_drift_compare(const cbx_json *kept, const char *what, const cbx_json *now, bool all, cbx_json **out,
                             cbx_err *err)
{
    const cbx_json *now_cases = cbx_json_get(now, "cases");
    comparison c = { .findings = NULL };
    cbx_json *cases = NULL, *root, *v;
    const char *name;
    cbx_status st = check_manifest(kept, what, &cases, err);

    if (st) return st;
    root = cbx_json_new_object();
    c.findings = cbx_json_new_array();
    c.failed = !root || !c.findings;
    for (size_t i = 0; !c.failed && cbx_json_member(now_cases, i, &name, &v); i++)
        if (cbx_json_has(cases, name)) compare_case(&c, name, cbx_json_get(cases, name), v);
    if (!c.failed) compare_names(&c, cases, now_cases, all);
    if (!c.failed && cbx_json_set_string(root, "schema", "nperf-drift-findings") &&
        cbx_json_set_int(root, "version", 1) &&
        cbx_json_set_int(root, "drifted", (int64_t)cbx_json_length(c.findings)) &&
        cbx_json_set(root, "findings", cbx_json_ref(c.findings))) {
        cbx_json_unref(c.findings);
        *out = root;
        return CBX_OK;
    }
    cbx_json_unref(c.findings);
    cbx_json_unref(root);
    return cbx_fail(err, CBX_ENOMEM, "no memory for what drifted");
}

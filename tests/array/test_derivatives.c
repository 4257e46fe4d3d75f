/*
 * Derivatives of every primitive, by one table: jvp against central differences of the fourth order
 * (1e-7 of the scale), transposes by <ct, J t> = <J^T ct, t> (1e-12), second derivatives as jvp of
 * grad against differences of gradients, and batches against loops over them.  A primitive that has
 * a derivative and no row here is a failure.  Of complex numbers <a, b> is Re(sum a b).
 */
#include "derivative_rows.h"

#include "fail_alloc.h"

#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/rules.h"
#include "calibrax/array/semiring.h"
#include "calibrax/array/trace/derive.h"

/* ---- numbers ---- */

static size_t numbers(const cbx_array *a, double v[NUMBERS])
{
    cbx_err err = CBX_ERR_INIT;
    CHECK(!cbx_array_is_failed(a), "an array");
    CHECK(cbx_array_bytes(a) <= NUMBERS * sizeof *v, "numbers of a result");
    CHECK_OK(cbx_array_read(a, v, cbx_array_bytes(a), &err), &err, "read");
    return cbx_array_bytes(a) / sizeof *v;
}

static double largest(const cbx_array *a)
{
    double v[NUMBERS], m = 0;
    const size_t n = numbers(a, v);
    for (size_t i = 0; i < n; i++) m = worse(fabs(v[i]), m);
    return m;
}
static double distance(cbx_ctx *c, const cbx_array *a, const cbx_array *b)
{
    CHECK(cbx_array_desc_equal(cbx_array_get_desc(a), cbx_array_get_desc(b)), "results of one shape and dtype");
    return cbx_array_count(a) ? largest(cbx_subtract(c, a, b)) : 0;
}
/* Re(sum a b) */
static double pairing(const cbx_array *a, const cbx_array *b)
{
    double x[NUMBERS], y[NUMBERS], sum = 0;
    const size_t n = numbers(a, x);
    const bool is_complex = cbx_dtype_kind(cbx_array_dtype(a)) == CBX_KIND_COMPLEX;

    CHECK_INT(numbers(b, y), n, "numbers that are paired");
    for (size_t i = 0; i < n; i++) sum += is_complex && i % 2 ? -x[i] * y[i] : x[i] * y[i];
    return sum;
}

/* ---- what is checked of a row ---- */

typedef struct point {
    cbx_ctx *c;
    const row *r;
    cbx_fn f;
    size_t nin, nout;
    cbx_rng rng;
    cbx_array *x[OPERANDS], *t[OPERANDS], *ct[RESULTS];
} point;

static operand moving(const row *r, size_t k)
{
    for (size_t i = 0;; i++)
        if (operand_moves(&r->in[i]) && k-- == 0) return r->in[i];
}

static void call(cbx_ctx *c, const cbx_fn *f, cbx_array *const *in, cbx_array **out, const char *what)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn_call(c, f, f->nin, in, f->nout, out);
    if (cbx_ctx_pending(c, &err)) fail_msg("%s: %s", what, err.message);
}

static point point_of(cbx_ctx *c, const row *r, uint64_t seed)
{
    point p = { .c = c, .r = r, .f = derivative_fn(r), .nin = row_moving(r), .rng = cbx_rng_make(seed, 1) };
    cbx_array *y[RESULTS];

    p.nout = p.f.nout;
    for (size_t i = 0; i < p.nin; i++) {
        operand of = moving(r, i);
        p.x[i] = derivative_draw(c, &of, &p.rng);
        of.low = -1, of.high = 1;
        p.t[i] = derivative_draw(c, &of, &p.rng);
    }
    call(c, &p.f, p.x, y, p.f.name);
    for (size_t i = 0; i < p.nout; i++) {
        operand of = { cbx_array_dtype(y[i]), -1, 1, { 0 } };
        memcpy(of.shape, cbx_array_get_desc(y[i])->shape, (size_t)cbx_array_ndim(y[i]) * sizeof *of.shape);
        p.ct[i] = derivative_draw(c, &of, &p.rng);
    }
    return p;
}

/* x + h t of all operands */
static void moved(const point *p, double h, cbx_array **x)
{
    for (size_t i = 0; i < p->nin; i++) x[i] = cbx_add(p->c, p->x[i], cbx_multiply_scalar(p->c, p->t[i], h));
}

/* Derivatives of n results of f along t by differences: f(x) must take the operands alone. */
static void differences(const point *p, const cbx_fn *f, cbx_array **d)
{
    enum { STEPS = 4 };
    static const double at[STEPS] = { -2, -1, 1, 2 }, weight[STEPS] = { 1.0 / 12, -8.0 / 12, 8.0 / 12, -1.0 / 12 };
    const double h = 2e-4;
    cbx_array *x[OPERANDS], *y[OPERANDS];

    for (int s = 0; s < STEPS; s++) {
        moved(p, at[s] * h, x);
        call(p->c, f, x, y, f->name);
        for (size_t i = 0; i < f->nout; i++) {
            cbx_array *part = cbx_multiply_scalar(p->c, y[i], weight[s] / h);
            d[i] = s ? cbx_add(p->c, d[i], part) : part;
        }
    }
}

/* The largest error of n derivatives over their scale: their own, and 1. */
static double against_differences(const point *p, const cbx_fn *f, cbx_array *const *dy, size_t n)
{
    cbx_array *d[OPERANDS];
    double error = 0;

    differences(p, f, d);
    for (size_t i = 0; i < n; i++) error = worse(distance(p->c, dy[i], d[i]) / (1 + largest(d[i])), error);
    return error;
}

static cbx_fn *made(cbx_status st, cbx_fn *f, const cbx_err *err, const char *what)
{
    CHECK_OK(st, err, what);
    return f;
}
#define MADE(f, make) (made(make, f, &err, #make))

static double jvp_error(const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *j = NULL;
    cbx_array *in[2 * OPERANDS], *out[2 * RESULTS];

    MADE(j, cbx_jvp(p->c, &p->f, 0, NULL, &j, &err));
    memcpy(in, p->x, p->nin * sizeof *in);
    memcpy(in + p->nin, p->t, p->nin * sizeof *in);
    call(p->c, j, in, out, "jvp");
    cbx_fn_free(j);
    return against_differences(p, &p->f, out + p->nout, p->nout);
}

static cbx_status paired(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user);

/* The gradient of <ct, f> along t against differences: of what has no forward mode. */
static double grad_error(const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    const cbx_fn *f = CBX_FN(paired, (void *)(uintptr_t)p, p->nin, 1);
    cbx_fn *g = NULL;
    cbx_array *out[OPERANDS], *d[1];
    double along = 0;

    MADE(g, cbx_grad(p->c, f, p->nin, NULL, &g, &err));
    call(p->c, g, p->x, out, "grad");
    cbx_fn_free(g);
    for (size_t i = 0; i < p->nin; i++) along += pairing(out[i], p->t[i]);
    differences(p, f, d);
    return fabs(along - at(d[0], 0)) / (1 + fabs(along));
}

/* |<ct, J t> - <J^T ct, t>| over the sum of what both are sums of */
static double transpose_error(const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *j = NULL, *v = NULL;
    cbx_array *in[2 * OPERANDS], *out[2 * RESULTS], *back[RESULTS + OPERANDS];
    double forward = 0, backward = 0, scale = 1;

    MADE(j, cbx_jvp(p->c, &p->f, 0, NULL, &j, &err));
    MADE(v, cbx_vjp(p->c, &p->f, 0, NULL, &v, &err));
    memcpy(in, p->x, p->nin * sizeof *in);
    memcpy(in + p->nin, p->t, p->nin * sizeof *in);
    call(p->c, j, in, out, "jvp");
    memcpy(in + p->nin, p->ct, p->nout * sizeof *in);
    call(p->c, v, in, back, "vjp");
    for (size_t i = 0; i < p->nout; i++) {
        forward += pairing(p->ct[i], out[p->nout + i]);
        scale += largest(out[p->nout + i]);
    }
    for (size_t i = 0; i < p->nin; i++) {
        CHECK(cbx_array_desc_equal(cbx_array_get_desc(back[p->nout + i]), cbx_array_get_desc(p->x[i])),
              "a cotangent like its operand");
        backward += pairing(back[p->nout + i], p->t[i]);
        scale += largest(back[p->nout + i]);
    }
    cbx_fn_free(j);
    cbx_fn_free(v);
    return fabs(forward - backward) / scale;
}

/* Re(sum ct f(x)), where ct are what the point says */
static cbx_status paired(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const point *p = user;
    cbx_array *y[RESULTS];

    (void)nout;
    cbx_fn_call(c, &p->f, nin, in, p->nout, y);
    out[0] = NULL;
    for (size_t i = 0; i < p->nout; i++) {
        cbx_array *part = cbx_sum(c, cbx_real(c, cbx_multiply(c, y[i], p->ct[i])), NULL);
        out[0] = out[0] ? cbx_add(c, out[0], part) : part;
    }
    return CBX_OK;
}

static double second_error(const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    const cbx_fn *f = CBX_FN(paired, (void *)(uintptr_t)p, p->nin, 1);
    cbx_fn *g = NULL, *h = NULL;
    cbx_array *in[2 * OPERANDS], *out[2 * OPERANDS];
    double error;

    MADE(g, cbx_grad(p->c, f, p->nin, NULL, &g, &err));
    MADE(h, cbx_jvp(p->c, g, 0, NULL, &h, &err));
    memcpy(in, p->x, p->nin * sizeof *in);
    memcpy(in + p->nin, p->t, p->nin * sizeof *in);
    call(p->c, h, in, out, "jvp of grad");
    error = against_differences(p, g, out + p->nin, p->nin);
    cbx_fn_free(g);
    cbx_fn_free(h);
    return error;
}

/* f over a batch of which operands are mapped (a bit each) against one element of it after
 * the other. */
static double batch_error(const point *p, const cbx_fn *f, cbx_array *const *in, unsigned mapped, uint64_t seed)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *v = NULL;
    cbx_array *one[BATCH][2 * OPERANDS], *all[2 * OPERANDS], *y[BATCH][2 * OPERANDS], *batch[2 * OPERANDS];
    int axes[2 * OPERANDS];
    double error = 0;

    for (size_t i = 0; i < f->nin; i++) {
        const cbx_array *stack[BATCH];
        const bool is_mapped = mapped >> i & 1;
        for (size_t b = 0; b < BATCH; b++) {
            /* near enough to the point to stay in the domain */
            cbx_rng rng = cbx_rng_make(seed + 7 * b, i);
            operand of = { cbx_array_dtype(in[i]), -1, 1, { 0 } };
            memcpy(of.shape, cbx_array_get_desc(in[i])->shape, (size_t)cbx_array_ndim(in[i]) * sizeof *of.shape);
            one[b][i] = is_mapped && b
                            ? cbx_add(p->c, in[i], cbx_multiply_scalar(p->c, derivative_draw(p->c, &of, &rng), 1e-3))
                            : in[i];
            stack[b] = one[b][i];
        }
        axes[i] = is_mapped ? 0 : CBX_NOT_MAPPED;
        all[i] = is_mapped ? cbx_stack(p->c, BATCH, stack, 0) : in[i];
    }
    MADE(v, cbx_vmap(p->c, f, axes, NULL, &v, &err));
    call(p->c, v, all, batch, "vmap");
    cbx_fn_free(v);
    for (size_t b = 0; b < BATCH; b++) {
        call(p->c, f, one[b], y[b], "an element of a batch");
        for (size_t i = 0; i < f->nout; i++) {
            const double d = distance(p->c, cbx_index(p->c, batch[i], 0, (ptrdiff_t)b), y[b][i]);
            error = worse(d / (1 + largest(y[b][i])), error);
        }
    }
    return error;
}

static double batch_of_jvp_error(const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *j = NULL;
    cbx_array *in[2 * OPERANDS];
    double error;

    MADE(j, cbx_jvp(p->c, &p->f, 0, NULL, &j, &err));
    memcpy(in, p->x, p->nin * sizeof *in);
    memcpy(in + p->nin, p->t, p->nin * sizeof *in);
    error = batch_error(p, j, in, ~0u, 100);
    error = worse(batch_error(p, j, in, ~0u << p->nin, 200), error); /* tangents alone, as of a Jacobian */
    cbx_fn_free(j);
    return error;
}

static double batch_of_grad_error(const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *g = NULL;
    double error;

    MADE(g, cbx_grad(p->c, CBX_FN(paired, (void *)(uintptr_t)p, p->nin, 1), p->nin, NULL, &g, &err));
    error = batch_error(p, g, p->x, ~0u, 300);
    cbx_fn_free(g);
    return error;
}

/* sum over a batch of three equal points */
static cbx_status summed_batch(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *v = NULL;
    const cbx_status st = cbx_vmap(c, user, NULL, NULL, &v, &err);

    (void)nout;
    if (st) return st;
    cbx_fn_call(c, v, nin, in, 1, out);
    out[0] = cbx_sum(c, out[0], NULL);
    cbx_fn_free(v);
    return CBX_OK;
}

/* The gradient of a sum over a batch is the stack of gradients. */
static double grad_of_batch_error(const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    const cbx_fn *f = CBX_FN(paired, (void *)(uintptr_t)p, p->nin, 1);
    cbx_fn *g = NULL, *s = NULL;
    cbx_array *one[OPERANDS], *all[OPERANDS], *stack[OPERANDS];
    double error = 0;

    MADE(g, cbx_grad(p->c, f, p->nin, NULL, &g, &err));
    MADE(s, cbx_grad(p->c, CBX_FN(summed_batch, (void *)(uintptr_t)f, p->nin, 1), p->nin, NULL, &s, &err));
    for (size_t i = 0; i < p->nin; i++)
        stack[i] = cbx_stack(p->c, 2, (const cbx_array *const[]){ p->x[i], p->x[i] }, 0);
    call(p->c, g, p->x, one, "grad");
    call(p->c, s, stack, all, "grad of vmap");
    for (size_t i = 0; i < p->nin; i++)
        for (int b = 0; b < 2; b++)
            error = worse(distance(p->c, cbx_index(p->c, all[i], 0, b), one[i]) / (1 + largest(one[i])), error);
    cbx_fn_free(g);
    cbx_fn_free(s);
    return error;
}

/* ---- the tests ---- */

static bool has_primitive(cbx_ctx *c, const point *p)
{
    cbx_err err = CBX_ERR_INIT;
    cbx_array_desc d[OPERANDS];
    cbx__traced g = { 0 };
    bool found = false;

    for (size_t i = 0; i < p->nin; i++) d[i] = *cbx_array_get_desc(p->x[i]);
    CHECK_OK(cbx__trace_fn(c, &p->f, d, &g, &err), &err, "trace");
    for (size_t k = 0; k < g.graph->nodes.n; k++) found |= g.graph->nodes.items[k].prim == p->r->prim;
    cbx__traced_clear(&g);
    return found;
}

TEST(primitives_have_derivatives)
{
    cbx_ctx *c = context();
    int bad = 0;

    derivative_open_graph(c);

    for (size_t k = 0; k < derivative_row_count; k++) {
        const row *r = &derivative_rows[k];
        char why[96];
        cbx_scope scope;
        snprintf(why, sizeof why, "%s%s%s", cbx_prim_name(r->prim), r->label ? ", " : "", r->label ? r->label : "");
        cbx_scope_open(c, &scope);
        const point p = point_of(c, r, 17 + k);
        const struct {
            double (*error)(const point *p);
            const char *what;
            double bound;
            unsigned not ; /* flags that it is left out for */
        } checks[] = {
            { jvp_error, "jvp against differences", 1e-7, REVERSE_ONLY | IMPLICIT },
            { grad_error, "grad against differences", 1e-7, FORWARD_ONLY | IMPLICIT },
            { transpose_error, "vjp against jvp", 1e-12, FORWARD_ONLY | REVERSE_ONLY },
            { second_error, "jvp of grad against differences", 1e-7, FORWARD_ONLY | IMPLICIT },
            { batch_of_jvp_error, "vmap of jvp", 1e-12, REVERSE_ONLY },
            { batch_of_grad_error, "vmap of grad", 1e-11, FORWARD_ONLY },
            { grad_of_batch_error, "grad of vmap", 1e-12, FORWARD_ONLY },
        };
        CHECK(has_primitive(c, &p), why);
        for (size_t i = 0; i < CBX_LEN(checks); i++) {
            if (checks[i].not &r->flags) continue;
            const double error = checks[i].error(&p);
            if (error <= checks[i].bound) continue;
            print_error("%s: %s is off by %.3g\n", why, checks[i].what, error);
            bad++;
        }
        for (size_t i = 0; p.nin > 1 && i < p.nin; i++) { /* one operand mapped */
            const double error = batch_error(&p, &p.f, p.x, 1u << i, 400);
            if (error <= 1e-12) continue;
            print_error("%s: vmap in operand %zu alone is off by %.3g\n", why, i, error);
            bad++;
        }
        cbx_scope_close(&scope, NULL);
    }
    cbx_ell_free(derivative_graph);
    cbx_ctx_free(c);
    CHECK_INT(bad, 0, "derivatives that are wrong");
}

TEST(every_derivative_has_a_row)
{
    static const struct {
        cbx_prim prim;
        const char *name, *jvp;
    } rules[] = {
#define RULE(name, run, cost, jvp, transpose, batch) { CBX_PRIM_##name, #name, #jvp },
        CBX__RULES_MAP(RULE)
#undef RULE
    };
    int missing = 0;

    for (size_t i = 0; i < CBX_LEN(rules); i++) {
        bool found = !strcmp(rules[i].jvp, "zero") || !strcmp(rules[i].jvp, "source") ||
                     rules[i].prim == CBX_PRIM_HOST_CALL; /* none, or refused: test_host_call.c */
        /* what grad records of it for a moment has the row of CUSTOM_VJP */
        const cbx_prim of = rules[i].prim == CBX_PRIM_CUSTOM_VJP_MAP ? CBX_PRIM_CUSTOM_VJP : rules[i].prim;
        for (size_t k = 0; !found && k < derivative_row_count; k++) found = derivative_rows[k].prim == of;
        if (!found) print_error("%s has a derivative and no row\n", rules[i].name);
        missing += !found;
    }
    CHECK_INT(missing, 0, "primitives without a row");
}

/* Squares, but traced as something else: what a wrong rule looks like from outside. */
FN(lies)
{
    UNUSED;
    out[0] = cbx_multiply(c, in[0], in[0]);
    if (cbx_array_is_abstract(in[0])) out[0] = cbx_multiply_scalar(c, out[0], 1 + 1e-5);
    return CBX_OK;
}

TEST(a_wrong_rule_is_seen)
{
    static const row wrong = { .prim = CBX_PRIM_MUL, .label = "lies", .f = lies, .in = { REAL(1, 2, 3, 2) } };
    cbx_ctx *c = context();
    cbx_scope scope;

    cbx_scope_open(c, &scope);
    const point p = point_of(c, &wrong, 3);
    CHECK_GT(jvp_error(&p), 1e-7, "differences see a factor that is off by 1e-5");
    CHECK_GT(second_error(&p) + jvp_error(&p), 1e-7, "second ones, too");
    cbx_scope_close(&scope, NULL);
    cbx_ctx_free(c);
}

/* ---- algebras given by functions ---- */

static void start(void *user, size_t n, void *state)
{
    (void)user;
    memset(state, 0, n * sizeof(double));
}
static void step(void *user, size_t n, const void *a, const void *b, void *state)
{
    (void)user;
    for (size_t j = 0; j < n; j++) ((double *)state)[j] += fabs(*(const double *)a - ((const double *)b)[j]);
}
static void finish(void *user, size_t n, const void *state, void *c)
{
    (void)user;
    memcpy(c, state, n * sizeof(double));
}
FN(sum_of_distances)
{
    UNUSED;
    out[0] = cbx_semiring_matmul(c, in[0], in[1], user);
    out[1] = cbx_ell_matmul(c, derivative_graph, in[2], in[3], user);
    out[2] = cbx_semiring_conv(c, cbx_expand_dims(c, in[0], 0), cbx_expand_dims(c, in[1], 0), user, NULL);
    return CBX_OK;
}

TEST(algebras_by_functions)
{
    static const cbx_semiring_functions f = { CBX_F64, sizeof(double), NULL, start, step, finish, NULL };
    static const operand of[] = { REAL(-2, 2, 3, 4), REAL(-2, 2, 4, 2), REAL(-2, 2, 4, 3), REAL(-2, 2, 5, 2) };
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_semiring city;
    cbx_rng rng = cbx_rng_make(2, 2);
    cbx_fn *j = NULL, *mapped = NULL;
    cbx_array *out[2 * RESULTS], *batch[RESULTS];
    cbx_array_desc d[4];
    cbx_scope scope;

    derivative_open_graph(c);
    CHECK_OK(cbx_semiring_define("city_block", &f, &city, &err), &err, "algebra");
    cbx_scope_open(c, &scope);
    const cbx_fn *g = CBX_FN(sum_of_distances, &city, 4, 3);
    point p = { .c = c, .f = *g, .nin = 4, .nout = 3 };
    for (int i = 0; i < 4; i++) {
        p.x[i] = derivative_draw(c, &of[i], &rng);
        d[i] = *cbx_array_get_desc(p.x[i]);
    }
    call(c, g, p.x, out, "eager");
    MADE(mapped, cbx_vmap(c, g, (const int[]){ 0, CBX_NOT_MAPPED, CBX_NOT_MAPPED, 1 }, NULL, &mapped, &err));
    cbx_array *twice[4] = { cbx_stack(c, 2, (const cbx_array *const[]){ p.x[0], p.x[0] }, 0), p.x[1], p.x[2],
                            cbx_stack(c, 2, (const cbx_array *const[]){ p.x[3], p.x[3] }, 1) };
    call(c, mapped, twice, batch, "a batch");
    for (int i = 0; i < 3; i++)
        for (int b = 0; b < 2; b++)
            CHECK(distance(c, cbx_index(c, batch[i], 0, b), out[i]) == 0, "each element as alone");
    CHECK_LE(batch_error(&p, g, p.x, 0xf, 1), 0, "all operands over a batch");
    CHECK_OK(cbx_scope_close(&scope, &err), &err, "no failure");
    cbx_array_desc results[3];
    CHECK_OK(cbx_fn_infer(c, g, 4, d, 3, results, &err), &err, "shapes alone");
    CHECK_INT(results[1].shape[0], 4, "rows of the graph");

    cbx_scope_open(c, &scope);
    cbx_array *in[8];
    for (int i = 0; i < 8; i++) in[i] = derivative_draw(c, &of[i % 4], &rng);
    MADE(j, cbx_jvp(c, g, 0, NULL, &j, &err));
    cbx_fn_call(c, j, 8, in, 6, out);
    CHECK_STATUS(cbx_scope_close(&scope, &err), CBX_EUNSUPPORTED, "no derivative");
    CHECK(strstr(err.message, "city_block"), err.message);
    cbx_fn_free(j);
    cbx_fn_free(mapped);
    cbx_ell_free(derivative_graph);
    cbx_ctx_free(c);
}

/* ---- no memory ---- */

/* The sum of the results' real parts. */
FN(total_of)
{
    const cbx_fn f = derivative_fn(user);
    cbx_array *y[RESULTS];

    (void)nout;
    cbx_fn_call(c, &f, nin, in, f.nout, y);
    out[0] = number(c, 0);
    for (size_t i = 0; i < f.nout; i++) out[0] = cbx_add(c, out[0], cbx_sum(c, cbx_real(c, y[i]), NULL));
    return CBX_OK;
}

static cbx_status second_derivative(cbx_ctx *c, void *user)
{
    const row *r = user;
    cbx_err err = CBX_ERR_INIT;
    cbx_rng rng = cbx_rng_make(4, 1);
    cbx_fn *h = NULL;
    cbx_array *in[OPERANDS + 1], *out;
    cbx_scope scope;
    cbx_status st, closed;

    cbx_scope_open(c, &scope);
    for (size_t i = 0; i < row_operands(r); i++) in[i] = derivative_draw(c, &r->in[i], &rng);
    in[row_operands(r)] = in[0];
    st = cbx_hessian_vector(c, CBX_FN(total_of, user, row_moving(r), 1), 0, &h, &err);
    if (!st) st = cbx_fn_call(c, h, h->nin, in, 1, &out);
    cbx_fn_free(h);
    closed = cbx_scope_close(&scope, &err);
    return st ? st : closed;
}

TEST(memory_may_run_out)
{
    static const char *const labels[] = { "maximum by the formula", "folded by functions", "functions, padding",
                                          "full tall", "complete" };
    cbx_ctx *c = context();

    derivative_open_graph(c);
    for (size_t i = 0; i < CBX_LEN(labels); i++)
        for (size_t k = 0; k < derivative_row_count; k++) {
            const row *r = &derivative_rows[k];
            if (!r->label || strcmp(r->label, labels[i]) != 0) continue;
            CHECK_GT(cbx_test_fail_each(second_derivative, (void *)(uintptr_t)r, r->label), 100, "allocations");
        }
    cbx_ell_free(derivative_graph);
    cbx_ctx_free(c);
}

TESTS(.seconds = 300)

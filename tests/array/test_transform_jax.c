/*
 * Transforms and control flow against JAX: the functions of
 * scripts/fixtures/make_transform_cases.py, written for our arrays, must give what JAX gave
 * (fixtures/transforms.h) in values, shapes and dtypes.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>

#include "calibrax/array/ell.h"
#include "calibrax/array/transform.h"
#include "fixtures/transforms.h"

#define FN(name)                                                                                                       \
    static cbx_status name(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
#define UNUSED (void)nin, (void)nout, (void)user

/* Element i is ((7 i + seed) % 11) / 8 - 0.5. */
static cbx_array *ramp_of(cbx_ctx *c, int ndim, const size_t *shape, int seed)
{
    double v[256];
    cbx_array_desc d = { .dtype = CBX_F64, .ndim = ndim };
    size_t n = 1;

    for (int i = 0; i < ndim; i++) n *= d.shape[i] = shape[i];
    CHECK(n <= CBX_LEN(v), "capacity for a ramp");
    for (size_t i = 0; i < n; i++) v[i] = (double)((7 * i + (size_t)seed) % 11) / 8 - 0.5;
    return cbx_asarray(c, &d, v);
}
#define RAMP(c, seed, ...)                                                                                             \
    ramp_of(c, (int)(sizeof((size_t[]){ __VA_ARGS__ }) / sizeof(size_t)), (const size_t[]){ __VA_ARGS__ }, seed)

static cbx_array *number(cbx_ctx *c, double v) { return cbx_full(c, 0, NULL, CBX_F64, cbx_float(v)); }
static cbx_array *whole(cbx_ctx *c, int64_t v) { return cbx_full(c, 0, NULL, CBX_I64, cbx_int(v)); }

/* ---- the functions ---- */

FN(decay)
{
    UNUSED;
    out[0] = cbx_add(c, cbx_multiply_scalar(c, in[0], 0.5), in[1]);
    out[1] = cbx_multiply(c, in[0], in[1]);
    return CBX_OK;
}

FN(layer)
{
    UNUSED;
    out[0] = cbx_add(c, cbx_multiply_scalar(c, cbx_tanh(c, in[0]), 0.9), in[2]);
    out[1] = cbx_add(c, in[1], in[3]);
    out[2] = cbx_sum(c, cbx_square(c, out[0]), NULL);
    out[3] = out[0];
    return CBX_OK;
}

FN(logistic)
{
    UNUSED;
    cbx_array *one = cbx_ones_like(c, in[0]);
    out[0] = cbx_multiply_scalar(c, cbx_multiply(c, in[0], cbx_subtract(c, one, in[0])), 2.75);
    out[1] = in[0];
    return CBX_OK;
}

FN(newton)
{
    const cbx_array *a = user;
    (void)nin, (void)nout;
    out[0] = cbx_multiply_scalar(c, cbx_add(c, in[1], cbx_divide(c, a, in[1])), 0.5);
    return CBX_OK;
}

FN(horner)
{
    UNUSED;
    out[0] = cbx_add(c, cbx_multiply(c, in[1], whole(c, 2)), cbx_multiply(c, in[0], in[0]));
    return CBX_OK;
}

FN(not_one)
{
    UNUSED;
    out[0] = cbx_not_equal(c, in[0], whole(c, 1));
    return CBX_OK;
}

FN(collatz_step)
{
    UNUSED;
    cbx_array *one = whole(c, 1), *two = whole(c, 2);
    cbx_array *even = cbx_logical_not(c, cbx_remainder(c, in[0], two));
    out[0] = cbx_where(c, even, cbx_floor_divide(c, in[0], two), cbx_add(c, cbx_multiply(c, in[0], whole(c, 3)), one));
    out[1] = cbx_add(c, in[1], one);
    return CBX_OK;
}

FN(collatz)
{
    UNUSED;
    return cbx_while_loop(c, CBX_FN(not_one, NULL, 2, 1), CBX_FN(collatz_step, NULL, 2, 2), 2,
                          (cbx_array *const[]){ in[0], whole(c, 0) }, out);
}

FN(square_root)
{
    UNUSED;
    out[0] = cbx_sqrt(c, in[0]);
    return CBX_OK;
}
FN(negated)
{
    UNUSED;
    out[0] = cbx_negative(c, in[0]);
    return CBX_OK;
}
FN(squared)
{
    UNUSED;
    out[0] = cbx_square(c, in[0]);
    return CBX_OK;
}
FN(one_more)
{
    UNUSED;
    out[0] = cbx_add_scalar(c, in[0], 1);
    return CBX_OK;
}
FN(one_less)
{
    UNUSED;
    out[0] = cbx_subtract_scalar(c, in[0], 1);
    return CBX_OK;
}

FN(root)
{
    UNUSED;
    return cbx_cond(c, cbx_greater_scalar(c, in[0], 0), CBX_FN(square_root, NULL, 1, 1), CBX_FN(negated, NULL, 1, 1), 1,
                    in, out);
}

FN(dot)
{
    UNUSED;
    out[0] = cbx_sum(c, cbx_multiply(c, in[0], in[1]), NULL);
    return CBX_OK;
}
FN(outer)
{
    UNUSED;
    out[0] = cbx_outer(c, in[0], in[1]);
    return CBX_OK;
}
FN(distance)
{
    UNUSED;
    out[0] = cbx_sum(c, cbx_square(c, cbx_subtract(c, in[0], in[1])), NULL);
    return CBX_OK;
}
FN(walk)
{
    UNUSED;
    return cbx_scan(c, CBX_FN(decay, NULL, 2, 2), 1, (cbx_array *const[]){ number(c, 2) }, 1, in, CBX_LENGTH_OF_XS,
                    false, out);
}
FN(halve)
{
    UNUSED;
    out[0] = cbx_add(c, cbx_multiply_scalar(c, in[1], 0.5), in[0]);
    return CBX_OK;
}
FN(below_ten)
{
    UNUSED;
    out[0] = cbx_less_scalar(c, in[0], 10);
    return CBX_OK;
}
FN(twice)
{
    UNUSED;
    out[0] = cbx_add_scalar(c, cbx_multiply_scalar(c, in[0], 2), 1);
    out[1] = cbx_add(c, in[1], whole(c, 1));
    return CBX_OK;
}

/* Everything at once.  The same lines run eagerly, under jit, vmap and scan, and for their
 * shapes. */
FN(smooth)
{
    UNUSED;
    cbx_array *x = in[0], *y = in[1], *walked[2], *ends[2];
    cbx_array *sum = cbx_sum(c, x, NULL);

    cbx_scan(c, CBX_FN(decay, NULL, 2, 2), 1, &sum, 1, &x, CBX_LENGTH_OF_XS, false, walked);
    cbx_fori_loop(c, 0, 3, CBX_FN(halve, NULL, 2, 1), 1, &y, &y);
    cbx_cond(c, cbx_greater_scalar(c, walked[0], 0), CBX_FN(one_more, NULL, 1, 1), CBX_FN(one_less, NULL, 1, 1), 1, &y,
             &y);
    cbx_while_loop(c, CBX_FN(below_ten, NULL, 2, 1), CBX_FN(twice, NULL, 2, 2), 2,
                   (cbx_array *const[]){ cbx_square(c, walked[0]), whole(c, 0) }, ends);
    out[0] = cbx_add(c, cbx_sum(c, walked[1], NULL), y);
    out[1] = ends[1];
    return CBX_OK;
}
/* Operands the other way round: the carry of a scan comes first. */
FN(smooth_turned) { return smooth(c, nin, (cbx_array *const[]){ in[1], in[0] }, nout, out, user); }

/* ---- what was kept ---- */

static size_t compared;

/* Results of name, all of them, in order. */
static void same_as_jax(const char *name, size_t n, cbx_array *const *out)
{
    size_t seen = 0;

    for (size_t k = 0; k < CBX_LEN(jax_results); k++) {
        const struct jax_result *want = &jax_results[k];
        char text[160];
        if (strcmp(want->name, name) != 0) continue;
        CHECK(seen < n, name);
        const cbx_array *r = out[seen++];
        CHECK(!cbx_array_is_failed(r) && !cbx_array_is_abstract(r), name);
        if (!cbx_array_desc_equal(&want->desc, cbx_array_get_desc(r)))
            fail_msg("%s: result %d is %s", name, want->result,
                     cbx_array_desc_text(cbx_array_get_desc(r), text, sizeof text));
        double v[64];
        cbx_ctx *c = NULL;
        cbx_err err = CBX_ERR_INIT;
        CHECK_OK(cbx_ctx_create(NULL, &c, &err), &err, name);
        CHECK_OK(cbx_array_read(cbx_astype(c, r, CBX_F64), v, cbx_array_count(r) * sizeof *v, &err), &err, name);
        cbx_ctx_free(c);
        /* a few roundings of values near 1, tanh within 2 ulp; chains of ten float32 roundings */
        double tol = want->desc.dtype == CBX_F32 ? 2e-6 : 1e-14;
        for (size_t i = 0; i < cbx_array_count(r); i++)
            if (!(fabs(v[i] - want->v[i]) <= tol * fmax(1, fabs(want->v[i]))))
                fail_msg("%s: result %d, element %zu is %.17g, not %.17g", name, want->result, i, v[i], want->v[i]);
        compared++;
    }
    CHECK_INT(seen, n, name);
}

static cbx_ctx *context(void)
{
    cbx_ctx *c = cbx_test_context();
    return c;
}

static void done(cbx_ctx *c)
{
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_ctx_pending(c, &err), &err, "nothing failed");
    cbx_ctx_free(c);
}

TEST(scans)
{
    cbx_ctx *c = context();
    cbx_array *two = number(c, 2), *x = RAMP(c, 3, 7), *none = RAMP(c, 0, 0), *out[4];
    const int32_t k[] = { 0, 1, 2, 3 }, one = 1;

    cbx_scan(c, CBX_FN(decay, NULL, 2, 2), 1, &two, 1, &x, CBX_LENGTH_OF_XS, false, out);
    same_as_jax("scan", 2, out);
    cbx_scan(c, CBX_FN(decay, NULL, 2, 2), 1, &two, 1, &x, 7, true, out);
    same_as_jax("scan_reverse", 2, out);
    cbx_array *const init[] = { RAMP(c, 2, 3), cbx_asarray(c, &(cbx_array_desc){ .dtype = CBX_I32 }, &one) };
    cbx_array *const xs[] = { RAMP(c, 5, 4, 3), cbx_asarray(c, &(cbx_array_desc){ CBX_I32, 1, { 4 } }, k) };
    cbx_scan(c, CBX_FN(layer, NULL, 4, 4), 2, init, 2, xs, CBX_LENGTH_OF_XS, false, out);
    same_as_jax("scan_pairs", 4, out);
    cbx_array *start = cbx_full(c, 0, NULL, CBX_F32, cbx_float(0.3));
    cbx_scan(c, CBX_FN(logistic, NULL, 1, 2), 1, &start, 0, NULL, 9, false, out);
    same_as_jax("scan_length", 2, out);
    cbx_scan(c, CBX_FN(decay, NULL, 2, 2), 1, &two, 1, &none, CBX_LENGTH_OF_XS, false, out);
    same_as_jax("scan_empty", 2, out);
    done(c);
}

TEST(loops)
{
    cbx_ctx *c = context();
    cbx_array *ones = cbx_ones(c, 1, (const size_t[]){ 3 }, CBX_F64), *one = whole(c, 1), *out[2];
    cbx_array *start = whole(c, 27);

    cbx_fori_loop(c, 0, 6, CBX_FN(newton, cbx_add_scalar(c, RAMP(c, 8, 3), 1), 2, 1), 1, &ones, out);
    same_as_jax("fori", 1, out);
    cbx_fori_loop(c, -3, 4, CBX_FN(horner, NULL, 2, 1), 1, &one, out);
    same_as_jax("fori_index", 1, out);
    cbx_fori_loop(c, 4, -3, CBX_FN(horner, NULL, 2, 1), 1, &one, out);
    same_as_jax("fori_nothing", 1, out);
    cbx_fn_call(c, CBX_FN(collatz, NULL, 1, 2), 1, &start, 2, out);
    same_as_jax("while", 2, out);
    done(c);
}

TEST(branches)
{
    static const int indices[] = { -3, 0, 1, 2, 7 };
    const cbx_fn *const three[] = { CBX_FN(one_more, NULL, 1, 1), CBX_FN(squared, NULL, 1, 1),
                                    CBX_FN(negated, NULL, 1, 1) };
    cbx_ctx *c = context();
    cbx_array *x = number(c, 2), *out[1];

    cbx_fn_call(c, CBX_FN(root, NULL, 1, 1), 1, &x, 1, out);
    same_as_jax("cond_yes", 1, out);
    x = number(c, -2);
    cbx_fn_call(c, CBX_FN(root, NULL, 1, 1), 1, &x, 1, out);
    same_as_jax("cond_no", 1, out);
    x = RAMP(c, 3, 7);
    for (size_t i = 0; i < CBX_LEN(indices); i++) {
        char name[32];
        snprintf(name, sizeof name, "switch %d", indices[i]);
        cbx_switch(c, whole(c, indices[i]), 3, three, 1, &x, out);
        same_as_jax(name, 1, out);
    }
    cbx_switch(c, cbx_full(c, 0, NULL, CBX_U64, (cbx_scalar){ CBX_U64, { .u = UINT64_MAX } }), 3, three, 1, &x, out);
    same_as_jax("switch 7", 1, out);
    done(c);
}

/* vmap(f, in_axes, out_axis) of operands that are there, against a name. */
static void batch(cbx_ctx *c, const char *name, const cbx_fn *f, const int *in_axes, const int *out_axes,
                  cbx_array *const *in)
{
    cbx_fn *mapped = NULL;
    cbx_err err = CBX_ERR_INIT;
    cbx_array *out[2];

    CHECK_OK(cbx_vmap(c, f, in_axes, out_axes, &mapped, &err), &err, name);
    CHECK_STATUS(cbx_fn_call(c, mapped, f->nin, in, f->nout, out), CBX_OK, name);
    same_as_jax(name, f->nout, out);
    cbx_fn_free(mapped);
}

TEST(batches)
{
    static const int none = CBX_NOT_MAPPED, places[] = { 0, 1, 2, -1, -3 };
    cbx_ctx *c = context();
    cbx_array *a = RAMP(c, 1, 4, 3), *b = RAMP(c, 2, 2);
    cbx_fn *inner = NULL;
    cbx_err err = CBX_ERR_INIT;

    batch(c, "vmap 0 None", CBX_FN(dot, NULL, 2, 1), (const int[]){ 0, none }, NULL,
          (cbx_array *const[]){ a, RAMP(c, 2, 3) });
    batch(c, "vmap 1 0", CBX_FN(dot, NULL, 2, 1), (const int[]){ 1, 0 }, NULL,
          (cbx_array *const[]){ RAMP(c, 1, 3, 4), RAMP(c, 2, 4, 3) });
    batch(c, "vmap -1 1", CBX_FN(dot, NULL, 2, 1), (const int[]){ -1, 1 }, NULL,
          (cbx_array *const[]){ RAMP(c, 1, 3, 2, 4), RAMP(c, 2, 3, 4, 2) });
    for (size_t i = 0; i < CBX_LEN(places); i++) {
        char name[32];
        snprintf(name, sizeof name, "vmap out %d", places[i]);
        batch(c, name, CBX_FN(outer, NULL, 2, 1), (const int[]){ 0, none }, &places[i], (cbx_array *const[]){ a, b });
    }
    batch(c, "vmap empty", CBX_FN(outer, NULL, 2, 1), (const int[]){ 0, none }, &places[1],
          (cbx_array *const[]){ RAMP(c, 1, 0, 3), b });
    CHECK_OK(cbx_vmap(c, CBX_FN(distance, NULL, 2, 1), (const int[]){ none, 0 }, NULL, &inner, &err), &err, "inner");
    batch(c, "vmap vmap", inner, (const int[]){ 0, none }, NULL, (cbx_array *const[]){ a, RAMP(c, 2, 5, 3) });
    cbx_fn_free(inner);
    a = cbx_arange_int(c, 1, 9, 1, CBX_I64);
    batch(c, "vmap while", CBX_FN(collatz, NULL, 1, 2), NULL, NULL, &a);
    a = RAMP(c, 3, 7);
    batch(c, "vmap cond", CBX_FN(root, NULL, 1, 1), NULL, NULL, &a);
    a = RAMP(c, 1, 5, 7);
    batch(c, "vmap scan", CBX_FN(walk, NULL, 1, 2), NULL, NULL, &a);
    done(c);
}

TEST(one_function_everywhere)
{
    const cbx_fn *f = CBX_FN(smooth, NULL, 2, 2);
    cbx_ctx *c = context();
    cbx_array *in[] = { RAMP(c, 3, 7), number(c, 0.25) }, *many = RAMP(c, 1, 5, 7), *carry = RAMP(c, 4, 7), *out[2];
    cbx_fn *fast = NULL, *mapped = NULL;
    cbx_array_desc d[2];
    cbx_err err = CBX_ERR_INIT;

    CHECK_STATUS(cbx_fn_call(c, f, 2, in, 2, out), CBX_OK, "eagerly");
    same_as_jax("smooth", 2, out);
    CHECK_OK(cbx_jit(c, f, &fast, &err), &err, "jit");
    CHECK_STATUS(cbx_fn_call(c, fast, 2, in, 2, out), CBX_OK, "compiled");
    same_as_jax("smooth", 2, out);
    batch(c, "smooth vmap", f, (const int[]){ 0, CBX_NOT_MAPPED }, NULL, (cbx_array *const[]){ many, in[1] });
    batch(c, "smooth vmap", fast, (const int[]){ 0, CBX_NOT_MAPPED }, NULL, (cbx_array *const[]){ many, in[1] });
    cbx_scan(c, CBX_FN(smooth_turned, NULL, 2, 2), 1, &in[1], 1, &many, CBX_LENGTH_OF_XS, false, out);
    same_as_jax("smooth scan", 2, out);
    const cbx_array_desc of_in[2] = { { CBX_F64, 1, { 7 } }, { .dtype = CBX_F64 } };
    CHECK_OK(cbx_fn_infer(c, f, 2, of_in, 2, d, &err), &err, "for its shapes");
    for (int i = 0; i < 2; i++)
        CHECK(cbx_array_desc_equal(&d[i], &(cbx_array_desc){ .dtype = i ? CBX_I64 : CBX_F64 }), "shapes");
    cbx_fn_free(fast);

    CHECK_OK(cbx_vmap(c, CBX_FN(decay, NULL, 2, 2), NULL, NULL, &mapped, &err), &err, "a batch");
    cbx_scan(c, mapped, 1, &carry, 1, &many, CBX_LENGTH_OF_XS, false, out);
    same_as_jax("scan vmap", 2, out);
    cbx_fn_free(mapped);
    done(c);
}

/* ---- derivatives that are not those of the operations ---- */

FN(log1pexp)
{
    UNUSED;
    out[0] = cbx_log(c, cbx_add_scalar(c, cbx_exp(c, in[0]), 1));
    return CBX_OK;
}
FN(log1pexp_jvp) /* user: the function that has this rule */
{
    (void)nin, (void)nout;
    cbx_array *one = cbx_ones_like(c, in[0]), *d = cbx_divide(c, one, cbx_add_scalar(c, cbx_exp(c, in[0]), 1));
    cbx_fn_call(c, *(cbx_fn **)user, 1, in, 1, out);
    out[1] = cbx_multiply(c, in[1], cbx_subtract(c, one, d));
    return CBX_OK;
}
FN(clipped)
{
    UNUSED;
    out[0] = cbx_multiply(c, in[0], cbx_sin(c, in[1]));
    return CBX_OK;
}
FN(clipped_fwd)
{
    (void)nin, (void)nout;
    cbx_fn_call(c, *(cbx_fn **)user, 2, in, 1, out);
    out[1] = in[0];
    out[2] = in[1];
    return CBX_OK;
}
FN(clipped_bwd)
{
    UNUSED;
    out[0] = cbx_multiply(c, in[2], cbx_sin(c, in[1]));
    out[1] = cbx_clip(c, cbx_multiply(c, cbx_multiply(c, in[2], in[0]), cbx_cos(c, in[1])), number(c, -0.5),
                      number(c, 0.5));
    return CBX_OK;
}
FN(summed)
{
    (void)nout;
    cbx_array *y = NULL;
    const cbx_status st = cbx_fn_call(c, user, nin, in, 1, &y);
    out[0] = cbx_sum(c, y, NULL);
    return st;
}
FN(step_log1pexp)
{
    (void)nin, (void)nout;
    return cbx_fn_call(c, user, 1, (cbx_array *const[]){ cbx_multiply(c, in[0], in[1]) }, 1, out);
}
FN(step_tanh)
{
    UNUSED;
    out[0] = cbx_tanh(c, cbx_add(c, cbx_multiply(c, in[0], in[1]), in[0]));
    return CBX_OK;
}
FN(steps) /* of a scan whose first carry is 1 */
{
    (void)nin, (void)nout;
    return cbx_scan(c, user, 1, (cbx_array *const[]){ number(c, 1) }, 1, in, CBX_LENGTH_OF_XS, false, out);
}
FN(saved_steps) /* the same, of which every third carry is kept */
{
    (void)nin, (void)nout;
    return cbx_scan_checkpointed(c, user, 1, (cbx_array *const[]){ number(c, 1) }, 1, in, CBX_LENGTH_OF_XS, false, 3,
                                 out);
}
FN(stopped)
{
    UNUSED;
    out[0] = cbx_sum(c, cbx_multiply(c, cbx_sin(c, in[0]), cbx_stop_gradient(c, cbx_square(c, in[0]))), NULL);
    return CBX_OK;
}

/* The transform, called and freed, against a name. */
static void taken(cbx_ctx *c, const char *name, cbx_status st, cbx_fn **made, const cbx_err *err, cbx_array *const *in)
{
    cbx_array *out[4];
    cbx_fn *f = *made;

    CHECK_OK(st, err, name);
    CHECK_STATUS(cbx_fn_call(c, f, f->nin, in, f->nout, out), CBX_OK, name);
    same_as_jax(name, f->nout, out);
    cbx_fn_free(f);
}
#define TAKEN(name, made, in) taken(c, name, made, &d, &err, in)

TEST(own_derivatives)
{
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *f = NULL, *g = NULL, *k = NULL, *v = NULL, *d = NULL, *all = NULL;
    cbx_array *x = RAMP(c, 3, 7), *big = cbx_multiply_scalar(c, x, 100), *four = cbx_slice(c, x, 0, 0, 4, 1), *out[2];
    cbx_array *a = cbx_add_scalar(c, x, 1), *p = number(c, 0.75);

    CHECK_OK(cbx_custom_jvp(c, CBX_FN(log1pexp, NULL, 1, 1), CBX_FN(log1pexp_jvp, &f, 2, 2), &f, &err), &err, "jvp");
    cbx_status st = cbx_jvp(c, f, 0, NULL, &d, &err);
    CHECK_OK(st, &err, "jvp");
    CHECK_STATUS(cbx_fn_call(c, d, 2, (cbx_array *const[]){ big, x }, 2, out), CBX_OK, "jvp");
    same_as_jax("custom_jvp", 2, out);
    cbx_fn_free(d);
    CHECK_OK(cbx_grad(c, f, 0, NULL, &d, &err), &err, "grad");
    batch(c, "custom_jvp grad", d, NULL, NULL, &big);
    CHECK_OK(cbx_grad(c, d, 0, NULL, &v, &err), &err, "grad of grad");
    batch(c, "custom_jvp second", v, NULL, NULL, &x);
    cbx_fn_free(v);
    cbx_fn_free(d);
    const cbx_fn *step = CBX_FN(step_log1pexp, f, 2, 1);
    TAKEN("custom_jvp scan", cbx_grad(c, CBX_FN(steps, (void *)(uintptr_t)step, 1, 1), 0, NULL, &d, &err), &x);

    st = cbx_custom_vjp(c, CBX_FN(clipped, NULL, 2, 1), CBX_FN(clipped_fwd, &g, 2, 3), CBX_FN(clipped_bwd, NULL, 3, 2),
                        &g, &err);
    CHECK_OK(st, &err, "vjp");
    TAKEN("custom_vjp grad", cbx_grad(c, CBX_FN(summed, g, 2, 1), 2, NULL, &d, &err), ((cbx_array *[]){ a, x }));
    CHECK_OK(cbx_vmap(c, g, (const int[]){ CBX_NOT_MAPPED, 0 }, NULL, &v, &err), &err, "vmap");
    TAKEN("custom_vjp batch", cbx_grad(c, CBX_FN(summed, v, 2, 1), 2, NULL, &d, &err), ((cbx_array *[]){ p, x }));
    cbx_fn_free(v);
    TAKEN("custom_vjp jacrev", cbx_jacrev(c, g, 1, &d, &err), ((cbx_array *[]){ cbx_add_scalar(c, four, 1), four }));
    TAKEN("custom_vjp scan", cbx_grad(c, CBX_FN(steps, g, 1, 1), 0, NULL, &d, &err), &x);

    const cbx_fn *walk = CBX_FN(steps, (void *)(uintptr_t)CBX_FN(step_tanh, NULL, 2, 1), 1, 1);
    CHECK_OK(cbx_checkpoint(c, CBX_FN(step_tanh, NULL, 2, 1), &k, &err), &err, "checkpoint");
    TAKEN("checkpoint", cbx_grad(c, CBX_FN(steps, k, 1, 1), 0, NULL, &d, &err), &x);
    TAKEN("checkpoint", cbx_grad(c, CBX_FN(saved_steps, walk->user, 1, 1), 0, NULL, &d, &err), &x);
    CHECK_OK(cbx_checkpoint(c, walk, &all, &err), &err, "checkpoint");
    TAKEN("checkpoint hessian", cbx_hessian(c, all, 0, &d, &err), &four);
    TAKEN("stop_gradient", cbx_grad(c, CBX_FN(stopped, NULL, 1, 1), 0, NULL, &d, &err), &x);
    cbx_fn_free(all);
    cbx_fn_free(k);
    cbx_fn_free(g);
    cbx_fn_free(f);
    done(c);
}

/* ---- functions of the user with formulas: s / sqrt(q) of sums s of terms a b + sin a, and q of
 * their squares, from 1 ---- */

typedef double sums[2];

static void moments_start(void *user, size_t n, void *state)
{
    (void)user;
    for (size_t j = 0; j < n; j++) ((sums *)state)[j][0] = 0, ((sums *)state)[j][1] = 1;
}
static void moments_update(void *user, size_t n, const void *t, void *state)
{
    const double *x = t;
    (void)user;
    for (size_t j = 0; j < n; j++) ((sums *)state)[j][0] += x[j], ((sums *)state)[j][1] += x[j] * x[j];
}
static void moments_step(void *user, size_t n, const void *a, const void *b, void *state)
{
    const double x = *(const double *)a, *y = b;
    for (size_t j = 0; j < n; j++) moments_update(user, 1, &(double){ x * y[j] + sin(x) }, (sums *)state + j);
}
static void moments_finish(void *user, size_t n, const void *state, void *c)
{
    const sums *x = state;
    (void)user;
    for (size_t j = 0; j < n; j++) ((double *)c)[j] = x[j][0] / sqrt(x[j][1]);
}
FN(combined)
{
    UNUSED;
    out[0] = cbx_add(c, cbx_multiply(c, in[0], in[1]), cbx_sin(c, in[0]));
    return CBX_OK;
}
FN(updated)
{
    UNUSED;
    out[0] = cbx_add(c, in[0], in[2]);
    out[1] = cbx_add(c, in[1], cbx_square(c, in[2]));
    return CBX_OK;
}
FN(finished)
{
    UNUSED;
    out[0] = cbx_divide(c, in[0], cbx_sqrt(c, in[1]));
    return CBX_OK;
}
FN(product)
{
    UNUSED;
    out[0] = cbx_sum(c, cbx_sin(c, cbx_semiring_matmul(c, in[0], in[1], user)), NULL);
    return CBX_OK;
}

static void message(void *user, const cbx_ell_edge *e, void *m)
{
    const double r = *(const double *)e->x_row, k = *(const double *)e->x_col;
    (void)user;
    *(double *)m = sin(r * k) + k * k;
}
FN(message_formula)
{
    UNUSED;
    out[0] = cbx_add(c, cbx_sin(c, cbx_multiply(c, in[0], in[1])), cbx_square(c, in[1]));
    return CBX_OK;
}
typedef struct edges {
    cbx_ell *graph;
    const cbx_semiring *s;
} edges;
/* of all rows that have edges */
FN(over_edges)
{
    static const cbx_ell_edge_functions f = {
        .struct_size = sizeof f, .d_out = 1, .message = message, .formula = message_formula
    };
    static const int64_t some[] = { 0, 1, 3 };
    const edges *e = user;
    (void)nin, (void)nout;
    cbx_array *x = cbx_expand_dims(c, in[0], 1), *rows = cbx_asarray(c, &(cbx_array_desc){ CBX_I64, 1, { 3 } }, some);
    x = cbx_ell_edge_aggregate(c, e->graph, cbx_slice(c, x, 0, 0, 4, 1), x, NULL, &f, e->s);
    out[0] = cbx_sum(c, cbx_cos(c, cbx_take(c, x, rows, 0)), NULL);
    return CBX_OK;
}

TEST(functions_with_formulas)
{
    static const double none[] = { 0, 1 };
    static const cbx_semiring_formulas formulas = { sizeof formulas, 2, none, combined, updated, finished };
    static const cbx_semiring_functions f = { CBX_F64,      sizeof(sums),   NULL,           moments_start,
                                              moments_step, moments_finish, moments_update, &formulas };
    static const int64_t start[] = { 0, 3, 5, 5, 8 };
    static const int32_t columns[] = { 4, 0, 2, 2, 1, 0, 3, 2 };
    cbx_ctx *c = context();
    cbx_err err = CBX_ERR_INIT;
    cbx_fn *d = NULL, *g = NULL;
    cbx_semiring moments;
    edges e;
    cbx_array *const ab[] = { RAMP(c, 1, 2, 3), RAMP(c, 4, 3, 2) }, *x = RAMP(c, 2, 5);

    x = cbx_add(c, x, cbx_multiply_scalar(c, cbx_arange_int(c, 0, 5, 1, CBX_F64), 0.0625));
    CHECK_OK(cbx_semiring_define("moments", &f, &moments, &err), &err, "algebra");
    CHECK_OK(cbx_ell_from_csr(c, 4, 5, start, columns, &e.graph, &err), &err, "graph");
    const struct {
        const char *name;
        const cbx_semiring *s;
    } folds[] = { { "edges sum hessian", cbx_semiring_find("real") },
                  { "edges maximum hessian", cbx_semiring_find("tropical_max_plus") },
                  { "edges algebra hessian", &moments } };
    TAKEN("algebra hessian", cbx_hessian(c, CBX_FN(product, &moments, 2, 1), 0, &d, &err), ab);
    CHECK_OK(cbx_grad(c, CBX_FN(product, &moments, 2, 1), 0, NULL, &g, &err), &err, "grad");
    TAKEN("algebra mixed", cbx_jacfwd(c, g, 1, &d, &err), ab);
    cbx_fn_free(g);
    for (size_t i = 0; i < CBX_LEN(folds); i++) {
        e.s = folds[i].s;
        TAKEN(folds[i].name, cbx_hessian(c, CBX_FN(over_edges, &e, 1, 1), 0, &d, &err), &x);
    }
    cbx_ell_free(e.graph);
    done(c);
}

TEST(nothing_was_left_out)
{
    CHECK_INT(compared, CBX_LEN(jax_results) + 1 + 2 + 2 + 1, "each result, some of them twice");
}

TESTS(.seconds = 600)

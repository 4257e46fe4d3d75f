/*
 * What the tests of transforms share: arrays to work on, functions that do simple things, and one
 * call of every operation.
 */
#ifndef CALIBRAX_TESTS_ARRAY_TRANSFORM_SUPPORT_H
#define CALIBRAX_TESTS_ARRAY_TRANSFORM_SUPPORT_H

#include "check.h"

#include <math.h>

#include "calibrax/array/ops.h"
#include "calibrax/array/transform.h"

#define FN(name)                                                                                                       \
    static inline cbx_status name(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out,          \
                                  void *user)
#define UNUSED (void)c, (void)nin, (void)in, (void)nout, (void)out, (void)user

static inline cbx_ctx *context(void)
{
    cbx_ctx *ctx = NULL;
    CHECK_OK(cbx_ctx_create(NULL, &ctx, NULL), (&(cbx_err){ 0 }), "context");
    return ctx;
}

static inline cbx_array *number(cbx_ctx *c, double v) { return cbx_full(c, 0, NULL, CBX_F64, cbx_float(v)); }
static inline cbx_array *line(cbx_ctx *c, size_t n) { return cbx_arange_int(c, 0, (int64_t)n, 1, CBX_F64); }
static inline cbx_array *of_shape(cbx_ctx *c, size_t n, size_t m)
{
    return cbx_ones(c, 2, (const size_t[]){ n, m }, CBX_F64);
}

static inline double at(const cbx_array *x, size_t i)
{
    double v[64];
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_array_read(x, v, cbx_array_bytes(x), &err), &err, "read");
    return v[i];
}

/* ---- functions ---- */

#define PLAIN(f, nin, nout) CBX_FN(f, NULL, nin, nout)

FN(identity)
{
    UNUSED;
    for (size_t i = 0; i < nout; i++) out[i] = in[i];
    return CBX_OK;
}
FN(cube)
{
    UNUSED;
    out[0] = cbx_multiply(c, in[0], cbx_multiply(c, in[0], in[0]));
    return CBX_OK;
}
FN(narrows)
{
    UNUSED;
    out[0] = cbx_astype(c, in[nin - 1], CBX_F32);
    return CBX_OK;
}
FN(always)
{
    UNUSED;
    out[0] = cbx_ones(c, 0, NULL, CBX_BOOL);
    return CBX_OK;
}
FN(add)
{
    UNUSED;
    out[0] = cbx_add(c, in[0], in[1]);
    return CBX_OK;
}
FN(wanders)
{
    UNUSED;
    cbx_array *x = in[nin - 1];
    out[0] = cbx_add_scalar(c, cbx_multiply(c, cbx_add(c, x, x), cbx_full_like(c, x, cbx_float(0.5))), 1);
    return CBX_OK;
}
FN(below)
{
    UNUSED;
    out[0] = cbx_less_scalar(c, cbx_max(c, in[0], NULL), *(const double *)user);
    return CBX_OK;
}
FN(add_captured)
{
    UNUSED;
    out[0] = cbx_add(c, in[nin - 1], user);
    return CBX_OK;
}

static inline cbx_array *abstract(cbx_ctx *c, cbx_array_desc d)
{
    cbx_array *a = NULL;
    cbx_err err = CBX_ERR_INIT;
    CHECK_OK(cbx_array_create_abstract(c, &d, &a, &err), &err, "abstract");
    return cbx_scope_hold(c, a);
}

static inline void is_abstract(const cbx_array *r, cbx_array_desc d, const char *why)
{
    CHECK(!cbx_array_is_failed(r) && cbx_array_is_abstract(r), why);
    CHECK(cbx_array_desc_equal(cbx_array_get_desc(r), &d), why);
}

/* Every operation once; x is float64 (3,). */
static inline cbx_status every_operation(cbx_ctx *c, cbx_array *x, cbx_array **r, cbx_err *err)
{
    const double limit = 5;
    const cbx_fn *step = PLAIN(wanders, 1, 1);
    cbx_array *rows = cbx_stack(c, 2, (const cbx_array *const[]){ x, x }, 0), *sum = cbx_sum(c, x, NULL);
    cbx_fn *fast = NULL, *mapped = NULL;
    cbx_status st = cbx_jit(c, step, &fast, err);

    if (!st) st = cbx_vmap(c, fast, (const int[]){ 1 }, (const int[]){ 1 }, &mapped, err);
    if (!st) {
        cbx_fn_call(c, mapped, 1, &rows, 1, &r[0]);
        cbx_scan(c, PLAIN(add, 2, 1), 1, &x, 1, &rows, CBX_LENGTH_OF_XS, false, &r[1]);
        cbx_fori_loop(c, 0, 3, CBX_FN(wanders, NULL, 2, 1), 1, &x, &r[2]);
        cbx_while_loop(c, CBX_FN(below, (void *)(uintptr_t)&limit, 1, 1), fast, 1, &x, &r[3]);
        cbx_cond(c, sum, step, PLAIN(identity, 1, 1), 1, &x, &r[4]);
        st = cbx_ctx_pending(c, err);
    }
    cbx_fn_free(fast);
    cbx_fn_free(mapped);
    return st;
}

#endif

/* Transforms: functions made of functions.  A batched one lines its operands up and lets the backend run the batch. */
#include "calibrax/array/transform.h"

#include <stdio.h>
#include <string.h>

#include "calibrax/array/fn_internal.h"
#include "calibrax/array/ops_internal.h"

cbx_status cbx_jit(cbx_ctx *ctx, const cbx_fn *f, cbx_fn **out, cbx_err *err)
{
    const cbx_backend *b = cbx_ctx_backend(ctx);
    cbx_status st = cbx__fn_check("jit", f, err);

    if (st) return st;
    return b->jit ? b->jit(b, ctx, f, out, err) : cbx_fn_keep(ctx, f, out, err);
}

/* ---- gradients ---- */

static cbx_status grad_check(const char *what, const cbx_fn *f, size_t n, const size_t *argnums, cbx_err *err)
{
    cbx_status st = cbx__fn_check(what, f, err);

    if (st) return st;
    if (f->nout != 1)
        return cbx_fail(err, CBX_EINVAL, "'%s' of '%s', which gives %zu results: it must give one, a scalar", what,
                        f->name, f->nout);
    for (size_t i = 0; i < n; i++)
        if (argnums[i] >= f->nin)
            return cbx_fail(err, CBX_EINVAL, "'%s' in operand %zu of '%s', which takes %zu: they count from 0", what,
                            argnums[i], f->name, f->nin);
    return CBX_OK;
}

static cbx_status no_gradient(const cbx_backend *b, const char *what, cbx_err *err)
{
    return cbx_fail(err, CBX_EUNSUPPORTED,
                    "backend '%s' has no '%s': give the context one that differentiates (cbx_ctx_set_backend)", b->name,
                    what);
}

cbx_status cbx_grad(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, cbx_fn **out, cbx_err *err)
{
    static const size_t first = 0;
    const cbx_backend *b = cbx_ctx_backend(ctx);
    cbx_status st;

    if (n == 0) {
        n = 1;
        argnums = &first;
    }
    st = grad_check("grad", f, n, argnums, err);
    if (st) return st;
    return b->grad ? b->grad(b, ctx, f, n, argnums, out, err) : no_gradient(b, "grad", err);
}

cbx_status cbx_value_and_grad(cbx_ctx *ctx, const cbx_fn *f, size_t n, const size_t *argnums, cbx_fn **out,
                              cbx_err *err)
{
    static const size_t first = 0;
    const cbx_backend *b = cbx_ctx_backend(ctx);
    cbx_status st;

    if (n == 0) {
        n = 1;
        argnums = &first;
    }
    st = grad_check("value_and_grad", f, n, argnums, err);
    if (st) return st;
    return b->value_and_grad ? b->value_and_grad(b, ctx, f, n, argnums, out, err)
                             : no_gradient(b, "value_and_grad", err);
}

/* ---- batches ---- */

typedef struct batched {
    cbx_fn *f;
    cbx_allocator al;
    size_t bytes;
    char name[64];
    int axes[]; /* of f->nin operands, of f->nout results */
} batched;

static void batched_free(void *user)
{
    batched *v = user;
    cbx_allocator al;

    if (!v) return;
    cbx_fn_free(v->f);
    al = v->al;
    cbx_mem_free(&al, v, v->bytes);
}

/* Mapped operands with the batch on axis 0; false, with a failure recorded, if they do not make one batch. */
static bool line_up(cbx_ctx *ctx, const batched *v, cbx_array *const *in, cbx_array **moved, bool *mapped,
                    size_t *length)
{
    char a[160], b[160];
    size_t first = SIZE_MAX;

    for (size_t i = 0; i < v->f->nin; i++) {
        const cbx_array_desc *d = &in[i]->desc;
        int axis = v->axes[i];
        moved[i] = in[i];
        mapped[i] = axis != CBX_NOT_MAPPED;
        if (!mapped[i]) continue;
        if (axis < -d->ndim || axis >= d->ndim) {
            cbx__refuse(ctx, CBX_EINVAL, "'%s' maps axis %d of operand %zu, which is %s", v->name, axis, i,
                        cbx_array_desc_text(d, a, sizeof a));
            return false;
        }
        if (axis < 0) axis += d->ndim;
        if (first == SIZE_MAX) {
            first = i;
            *length = d->shape[axis];
        }
        if (d->shape[axis] != *length) {
            cbx__refuse(ctx, CBX_ESHAPE, "'%s' maps axis %d of %s and axis %d of %s: mapped axes must be equally long",
                        v->name, v->axes[first], cbx_array_desc_text(&in[first]->desc, a, sizeof a), v->axes[i],
                        cbx_array_desc_text(d, b, sizeof b));
            return false;
        }
        moved[i] = cbx_moveaxis(ctx, in[i], axis, 0);
        if (cbx_array_is_failed(moved[i])) return false;
    }
    return true;
}

static cbx_array *put_axis(cbx_ctx *ctx, const batched *v, size_t i, cbx_array *r)
{
    int axis = v->axes[v->f->nin + i];
    char text[160];

    if (cbx_array_is_failed(r) || (axis >= -r->desc.ndim && axis < r->desc.ndim)) return cbx_moveaxis(ctx, r, 0, axis);
    return cbx__refuse(ctx, CBX_EINVAL, "'%s' puts the batch on axis %d of result %zu, which is %s", v->name, axis, i,
                       cbx_array_desc_text(&r->desc, text, sizeof text));
}

static cbx_status call_batched(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    const batched *v = user;
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    cbx_array **moved = cbx_mem_calloc(al, nin + 1, sizeof(cbx_array *));
    bool *mapped = cbx_mem_calloc(al, nin + 1, sizeof *mapped);
    cbx_vmap_call call = { ctx, v->f, 0, moved, mapped };
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = CBX_OK;

    if (!moved || !mapped) {
        cbx__refuse(ctx, CBX_ENOMEM, "no memory for the operands of '%s'", v->name);
    } else if (line_up(ctx, v, in, moved, mapped, &call.length)) {
        CBX__CARRY_OUT(st, vmap, cbx__any_abstract(nin, moved), cbx__vmap_shapes, &call, out, &err);
        cbx__settle(ctx, st, &err, nout, out);
        for (size_t i = 0; i < nout; i++) out[i] = put_axis(ctx, v, i, out[i]);
    }
    cbx_mem_free(al, moved, (nin + 1) * sizeof(cbx_array *));
    cbx_mem_free(al, mapped, (nin + 1) * sizeof *mapped);
    return CBX_OK;
}

static cbx_status axes_check(const cbx_fn *f, const int *in_axes, const int *out_axes, cbx_err *err)
{
    bool any = false;

    for (size_t i = 0; i < f->nin; i++) any |= !in_axes || in_axes[i] != CBX_NOT_MAPPED;
    if (!any) return cbx_fail(err, CBX_EINVAL, "'vmap' of '%s' maps no operand: one must have an axis", f->name);
    for (size_t i = 0; out_axes && i < f->nout; i++)
        if (out_axes[i] == CBX_NOT_MAPPED)
            return cbx_fail(err, CBX_EINVAL, "'vmap' of '%s' has no axis for result %zu: all results are stacked",
                            f->name, i);
    return CBX_OK;
}

cbx_status cbx_vmap(cbx_ctx *ctx, const cbx_fn *f, const int *in_axes, const int *out_axes, cbx_fn **out, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    batched *v = NULL;
    size_t bytes;
    cbx_status st = cbx__fn_check("vmap", f, err);

    if (!st) st = axes_check(f, in_axes, out_axes, err);
    if (st) return st;
    bytes = sizeof *v + (f->nin + f->nout) * sizeof *v->axes;
    v = cbx_mem_zalloc(al, bytes);
    if (!v) return cbx_fail(err, CBX_ENOMEM, "no memory for 'vmap' of '%s'", f->name);
    v->al = *al;
    v->bytes = bytes;
    if (in_axes) memcpy(v->axes, in_axes, f->nin * sizeof *in_axes);
    if (out_axes) memcpy(v->axes + f->nin, out_axes, f->nout * sizeof *out_axes);
    snprintf(v->name, sizeof v->name, "vmap(%s)", f->name);
    st = cbx_fn_keep(ctx, f, &v->f, err);
    if (!st)
        st = cbx_fn_create(ctx, &(cbx_fn){ v->name, call_batched, v, f->nin, f->nout, NULL }, batched_free, out, err);
    if (st) batched_free(v);
    return st;
}

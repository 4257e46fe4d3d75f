/*
 * A case file of Python functions as a case: its functions find the file by way of the point
 * (cbx_params_user).
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/rng.h"
#include "calibrax/perf/case/declared_internal.h"

#define STREAM_INPUTS 0
#define STREAM_TURNS  1024 /* and above: a stream for each group of a turn */

static const cbx_declared *declared_of(const cbx_params *point) { return cbx_params_user(point); }

const cbx_param_def *cbx__declared_param(const cbx_declared *d, const char *name, size_t len)
{
    for (size_t i = 0; i < d->ops.nparams; i++)
        if (strlen(d->params[i].name) == len && !strncmp(d->params[i].name, name, len)) return &d->params[i];
    return NULL;
}

static bool value_of(const void *point, const char *name, size_t len, double *out)
{
    const cbx_param_def *p = cbx__declared_param(declared_of(point), name, len);

    if (!p || p->kind != CBX_PARAM_INT) return false;
    *out = (double)cbx_params_int(point, p->name);
    return true;
}

/* dtype and shape at a point.  @return CBX_EINVAL: an extent that is negative, not an integer, or
 * too large */
static cbx_status shape_at(const cbx__declared_array *a, const cbx_params *point, cbx_array_desc *out, cbx_err *err)
{
    cbx_array_desc d = { .dtype = a->dtype, .ndim = a->ndim };
    size_t count;

    for (int i = 0; i < a->ndim; i++) {
        double v = 0;
        const cbx_status st = cbx__expression_value(a->shape[i], value_of, point, &v, err);
        if (st) return st;
        if (!(v >= 0 && v <= INT32_MAX) || v != floor(v))
            return cbx_fail(err, CBX_EINVAL, "array '%s': extent '%s' must be an integer from 0 to 2^31, got %g at %s",
                            a->name, a->shape[i], v, cbx_params_json(point));
        d.shape[i] = (size_t)v;
    }
    if (cbx_array_desc_count(&d, &count, NULL) || count > ((size_t)1 << 34))
        return cbx_fail(err, CBX_EINVAL, "array '%s' is too large at %s", a->name, cbx_params_json(point));
    *out = d;
    return CBX_OK;
}

static uint64_t seed_of(const cbx_params *point)
{
    const cbx_param_def *p = cbx__declared_param(declared_of(point), "seed", 4);
    return p && p->kind == CBX_PARAM_INT ? (uint64_t)cbx_params_int(point, "seed") : 0;
}

static void label(const cbx_params *point, char *buf, size_t size)
{
    const cbx_declared *d = declared_of(point);
    size_t at = 0;

    buf[0] = 0;
    for (const cbx_param_def *p = d->params; p < d->params + d->ops.nparams && at + 1 < size; p++) {
        const char *comma = at ? ", " : "";
        int n;
        if (!strcmp(p->name, "seed")) continue;
        if (p->kind == CBX_PARAM_INT)
            n = snprintf(buf + at, size - at, "%s%s=%lld", comma, p->name, (long long)cbx_params_int(point, p->name));
        else
            n = snprintf(buf + at, size - at, "%s%s", comma, cbx_params_word(point, p->name));
        if (n > 0) at += (size_t)n < size - at ? (size_t)n : size - at - 1;
    }
    if (!at) snprintf(buf, size, "%s", d->ops.name);
}

/* Shapes hold: check_point has seen them. */
static void outputs(const cbx_params *point, cbx_array_desc *out)
{
    const cbx_declared *d = declared_of(point);

    for (size_t i = 0; i < d->ops.noutputs; i++) {
        memset(&out[i], 0, sizeof out[i]);
        (void)shape_at(&d->outputs[i], point, &out[i], NULL);
    }
}

/* Shapes exist, and the axes of a group have one length. */
static cbx_status check_point(const cbx_params *point, cbx_err *err)
{
    const cbx_declared *d = declared_of(point);
    const size_t n = d->ops.ninputs;
    cbx_array_desc desc[2 * CBX_CASE_MAX_ARRAYS];
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < n + d->ops.noutputs && !st; i++)
        st = shape_at(i < n ? &d->inputs[i] : &d->outputs[i - n], point, &desc[i], err);
    for (size_t g = 0; g < d->ngroups && !st; g++) {
        size_t length = SIZE_MAX;
        for (size_t i = 0; i < n + d->ops.noutputs; i++) {
            const int axis = i < n ? d->groups[g].input_axis[i] : d->groups[g].output_axis[i - n];
            if (axis < 0) continue;
            if (length != SIZE_MAX && desc[i].shape[axis] != length)
                return cbx_fail(err, CBX_EINVAL,
                                "permute[%zu]: axes of %zu and %zu elements cannot be permuted together", g, length,
                                desc[i].shape[axis]);
            length = desc[i].shape[axis];
        }
    }
    return st;
}

/* --- inputs --- */

static double draw(const cbx__declared_array *a, size_t i, cbx_rng *rng)
{
    switch (a->fill) {
    case CBX__FILL_NORMAL: return a->low + a->high * cbx_rng_normal(rng);
    case CBX__FILL_UNIFORM: return a->low + (a->high - a->low) * cbx_rng_uniform(rng);
    case CBX__FILL_INTEGERS: return a->low + (double)cbx_rng_below(rng, (uint64_t)(a->high - a->low) + 1);
    case CBX__FILL_COUNT: return a->low + (double)i;
    default: return a->low;
    }
}

static void store(cbx_dtype t, void *data, size_t i, double v)
{
    switch (t) {
    case CBX_BOOL: ((uint8_t *)data)[i] = v != 0; break;
    case CBX_I8: ((int8_t *)data)[i] = (int8_t)v; break;
    case CBX_I16: ((int16_t *)data)[i] = (int16_t)v; break;
    case CBX_I32: ((int32_t *)data)[i] = (int32_t)v; break;
    case CBX_I64: ((int64_t *)data)[i] = (int64_t)v; break;
    case CBX_U8: ((uint8_t *)data)[i] = (uint8_t)v; break;
    case CBX_U16: ((uint16_t *)data)[i] = (uint16_t)v; break;
    case CBX_U32: ((uint32_t *)data)[i] = (uint32_t)v; break;
    case CBX_U64: ((uint64_t *)data)[i] = (uint64_t)v; break;
    case CBX_F32: ((float *)data)[i] = (float)v; break;
    default: ((double *)data)[i] = v;
    }
}

/* Moves the n arrays that were made to out, or, after a failure, frees them; returns st. */
static cbx_status give(cbx_status st, cbx_array **made, size_t n, cbx_array **out)
{
    for (size_t i = 0; i < n; i++)
        if (st)
            cbx_array_free(made[i]);
        else
            out[i] = made[i];
    return st;
}

static cbx_status make_inputs(cbx_ctx *ctx, const cbx_params *point, cbx_array **in, cbx_err *err)
{
    const cbx_declared *d = declared_of(point);
    cbx_array *a[CBX_CASE_MAX_ARRAYS] = { NULL };
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < d->ops.ninputs && !st; i++) {
        cbx_rng rng = cbx_rng_make(seed_of(point), STREAM_INPUTS + i); /* an input does not depend on those before it */
        cbx_array_desc desc;
        st = shape_at(&d->inputs[i], point, &desc, err);
        if (!st) st = cbx_array_create(ctx, &desc, &a[i], err);
        if (st) break;
        void *data = cbx_array_data_mut(a[i]);
        for (size_t k = 0; k < cbx_array_count(a[i]); k++) store(desc.dtype, data, k, draw(&d->inputs[i], k, &rng));
    }
    return give(st, a, d->ops.ninputs, in);
}

/* --- turns: every group's axes are permuted by one permutation --- */

/* A copy of an array, permuted by each group that it is in; `which` is its number among the inputs
 * or outputs. */
static cbx_status turned(cbx_ctx *ctx, const cbx_params *point, uint64_t r, bool input, size_t which,
                         const cbx_array *a, cbx_array **out, cbx_err *err)
{
    const cbx_declared *d = declared_of(point);
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    cbx_array *made = NULL, *next = NULL;
    cbx_status st = cbx_array_create(ctx, cbx_array_get_desc(a), &made, err);

    if (!st && cbx_array_bytes(a)) memcpy(cbx_array_data_mut(made), cbx_array_data(a), cbx_array_bytes(a));
    for (size_t g = 0; g < d->ngroups && !st; g++) {
        const int axis = input ? d->groups[g].input_axis[which] : d->groups[g].output_axis[which];
        if (axis < 0) continue;
        const size_t n = cbx_array_dim(made, axis);
        cbx_rng rng = cbx_rng_make(seed_of(point), STREAM_TURNS + CBX__DECLARED_MAX_GROUPS * r + g);
        size_t *order = cbx_arena_calloc(&arena, n, sizeof *order);
        st = order ? cbx_array_create(ctx, cbx_array_get_desc(made), &next, err) : cbx_fail_nomem(err, "a permutation");
        if (st) break;
        if (n) cbx_rng_permutation(&rng, n, order);
        /* out[..., i, ...] = a[..., order[i], ...] along the axis. */
        const cbx_array_desc *desc = cbx_array_get_desc(made);
        size_t outer = 1, block = cbx_dtype_size(desc->dtype);
        const char *from = cbx_array_data(made);
        char *to = cbx_array_data_mut(next);
        for (int i = 0; i < axis; i++) outer *= desc->shape[i];
        for (int i = axis + 1; i < desc->ndim; i++) block *= desc->shape[i];
        for (size_t o = 0; o < outer; o++)
            for (size_t i = 0; i < n && block; i++)
                memcpy(to + (o * n + i) * block, from + (o * n + order[i]) * block, block);
        cbx_array_free(made);
        made = next;
    }
    return CBX_FINISH(st, *out = made, cbx_array_free(made));
}

static cbx_status rotate_inputs(cbx_ctx *ctx, const cbx_params *point, uint64_t r, cbx_array *const *in,
                                cbx_array **rotated, cbx_err *err)
{
    const cbx_declared *d = declared_of(point);
    cbx_array *a[CBX_CASE_MAX_ARRAYS] = { NULL };
    cbx_status st = CBX_OK;

    for (size_t i = 0; i < d->ops.ninputs && !st; i++) st = turned(ctx, point, r, true, i, in[i], &a[i], err);
    return give(st, a, d->ops.ninputs, rotated);
}

static cbx_status rotate_output(cbx_ctx *ctx, const cbx_params *point, uint64_t r, size_t output, const cbx_array *a,
                                cbx_array **rotated, cbx_err *err)
{
    return turned(ctx, point, r, false, output, a, rotated, err);
}

/* --- work: the file's formulas; without them, the bytes that every algorithm must read and write
 * --- */

static double value_or(const char *formula, const cbx_params *point, double otherwise)
{
    double v = 0;
    return formula && !cbx__expression_value(formula, value_of, point, &v, NULL) && v >= 0 && isfinite(v) ? v
                                                                                                          : otherwise;
}

static void work(const cbx_params *point, cbx_work *out)
{
    const cbx_declared *d = declared_of(point);
    const double flop = value_or(d->flop, point, 0);
    double bytes = 0;

    for (size_t i = 0; i < d->ops.ninputs + d->ops.noutputs; i++) {
        const cbx__declared_array *a = i < d->ops.ninputs ? &d->inputs[i] : &d->outputs[i - d->ops.ninputs];
        cbx_array_desc desc;
        size_t count = 0;
        if (shape_at(a, point, &desc, NULL) || cbx_array_desc_count(&desc, &count, NULL)) continue;
        bytes += (double)count * (double)cbx_dtype_size(desc.dtype);
    }
    bytes = value_or(d->bytes, point, bytes);
    /* pipe_ops: as if all of it came in pairs: a bound that no machine beats */
    *out = (cbx_work){ value_or(d->macs, point, flop / 2), flop, bytes, CBX_PIPE_FMA, flop / 2, bytes };
}

void cbx__declared_fill_ops(cbx_declared *d)
{
    cbx_case_ops *c = &d->ops;

    c->struct_size = sizeof *c;
    c->abi = CBX_CASE_ABI;
    c->user = d;
    c->label = label;
    c->outputs = outputs;
    c->make_inputs = make_inputs;
    c->check_point = check_point;
    if (d->ngroups) {
        c->rotate_inputs = rotate_inputs;
        c->rotate_output = rotate_output;
    }
    for (size_t i = 0; i < c->nbaselines; i++) d->baselines[i].work = work;
}

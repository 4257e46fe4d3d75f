/*
 * Fuzz entry of the array engine: bytes are a program of array functions over a few small arrays of
 * any dtype, shape and layout.  It is run by every witness of a list, and step by step
 *
 *   - all witnesses give the same bits (views as they come, dense copies of everything, other
 *     backends),
 *   - shape and dtype are those that a run on abstract operands gives,
 *   - a naive evaluator (naive.h), which shares no code with the engine, gives the same elements,
 *   - a failed step gives a status and a sentence and leaves the context as it was, in one more run
 *     with an allocation that fails, too, and nothing leaks.
 *
 * A step with a failed result adds no value; the program goes on.  A new backend is one line in
 * `witnesses`; a new function is one line in `ops`, at its end (corpora name functions by number).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/sets.h"
#include "fuzz.h"
#include "naive_ops.h"

#define STEPS_MOST    16
#define INPUTS_MOST   4
#define VALUES_MOST   (INPUTS_MOST + STEPS_MOST)
#define ELEMENTS_MOST 512
#define ATTRS         4
#define STEP_BYTES    8 /* function, three operands, four attributes */

/* ---- functions ---- */

typedef cbx_array *(*call)(cbx_ctx *c, cbx_array *const *in, const int *a);
#define FN(name, expr)                                                                                                 \
    static cbx_array *do_##name(cbx_ctx *c, cbx_array *const *in, const int *a)                                        \
    {                                                                                                                  \
        (void)a;                                                                                                       \
        (void)in;                                                                                                      \
        return expr;                                                                                                   \
    }
#define U(v)         ((unsigned)(v))
#define AX(k)        naive_axis_of(a[k])
#define ONE(name)    FN(name, cbx_##name(c, in[0]))
#define TWO(name)    FN(name, cbx_##name(c, in[0], in[1]))
#define AXIS(name)   FN(name, cbx_##name(c, in[0], AX(0)))
#define REDUCE(name) FN(name, cbx_##name(c, in[0], axes(a, &(cbx_axes){ 0 })))

static const cbx_axes *axes(const int *a, cbx_axes *to)
{
    const unsigned how = U(a[0]) % 4;

    to->n = how == 3 ? 0 : (int)how;
    to->keep = a[3] & 1;
    to->axis[0] = AX(1);
    to->axis[1] = AX(2);
    return how == 0 ? NULL : to;
}

/* clang-format off */
#define ONE_LIST(X) \
    X(negative) X(abs) X(sign) X(bitwise_invert) X(floor) X(ceil) X(trunc) X(rint) X(sqrt) X(isnan) X(isinf) \
    X(isfinite) X(square) X(logical_not) X(real) X(imag) X(conj) X(copy) X(signbit) X(flatten) X(nonzero) \
    X(unique) X(exp) X(log) X(sin) X(atan) X(tanh) X(erf) X(deg2rad) X(matrix_transpose) X(zeros_like)
#define TWO_LIST(X) \
    X(add) X(subtract) X(multiply) X(divide) X(floor_divide) X(remainder) X(maximum) X(minimum) X(copysign) \
    X(equal) X(not_equal) X(less) X(less_equal) X(greater) X(greater_equal) X(bitwise_and) X(bitwise_or) \
    X(bitwise_xor) X(bitwise_left_shift) X(bitwise_right_shift) X(pow) X(logical_and) X(logical_or) \
    X(logical_xor) X(matrix_product) X(atan2) X(hypot) X(logaddexp) X(nextafter)
#define AXIS_LIST(X) \
    X(expand_dims) X(squeeze) X(flip) X(cumulative_sum) X(cumulative_prod) X(cumulative_max) X(cumulative_min) \
    X(diff)
#define REDUCE_LIST(X) \
    X(sum) X(prod) X(max) X(min) X(mean) X(any) X(all) X(count_nonzero) X(argmax) X(argmin) X(nansum) X(nanmean) \
    X(nanmax) X(nanmin) X(median)
/* clang-format on */
ONE_LIST(ONE)
TWO_LIST(TWO)
AXIS_LIST(AXIS)
REDUCE_LIST(REDUCE)
FN(astype, cbx_astype(c, in[0], (cbx_dtype)(U(a[0]) % CBX_DTYPE_COUNT)))
FN(where, cbx_where(c, in[0], in[1], in[2]))
FN(clip, cbx_clip(c, in[0], in[1], in[2]))
FN(swapaxes, cbx_swapaxes(c, in[0], AX(0), AX(1)))
FN(moveaxis, cbx_moveaxis(c, in[0], AX(0), AX(1)))
FN(slice, cbx_slice(c, in[0], AX(0), a[1] == 127 ? CBX_OPEN : a[1] % 6, a[2] == 127 ? CBX_OPEN : a[2] % 6, a[3] % 4))
FN(index, cbx_index(c, in[0], AX(0), a[1] % 5))
FN(roll, cbx_roll(c, in[0], a[0], AX(1)))
FN(concat, cbx_concat(c, 2, (const cbx_array *const[]){ in[0], in[1] }, AX(0)))
FN(stack, cbx_stack(c, 2, (const cbx_array *const[]){ in[0], in[1] }, AX(0)))
FN(tile, cbx_tile(c, in[0], (int)(U(a[0]) % 3), (const size_t[]){ U(a[1]) % 3, U(a[2]) % 3 }))
FN(repeat, cbx_repeat(c, in[0], U(a[0]) % 4, AX(1)))
FN(tril, cbx_tril(c, in[0], a[0] % 4))
FN(triu, cbx_triu(c, in[0], a[0] % 4))
FN(take, cbx_take(c, in[0], in[1], AX(0)))
FN(take_along_axis, cbx_take_along_axis(c, in[0], in[1], AX(0)))
FN(scatter, cbx_scatter(c, in[0], in[1], in[2], AX(0), (cbx_scatter_mode)(U(a[1]) % 5)))
FN(segment_sum, cbx_segment_sum(c, in[0], in[1], U(a[0]) % 5))
FN(nonzero_size, cbx_nonzero_size(c, in[0], U(a[0]) % 6, a[1]))
FN(sort, cbx_sort(c, in[0], AX(0), a[1] & 1))
FN(argsort, cbx_argsort(c, in[0], AX(0), a[1] & 1))
static cbx_array *line(cbx_ctx *c, const cbx_array *x) { return cbx_sort(c, cbx_flatten(c, x), 0, false); }
FN(searchsorted, cbx_searchsorted(c, line(c, in[0]), in[1], a[0] & 1))
FN(digitize, cbx_digitize(c, in[0], a[0] & 1 ? cbx_flip(c, line(c, in[1]), 0) : line(c, in[1])))
FN(bincount, cbx_bincount(c, cbx_remainder(c, in[0], cbx_weak(c, in[0], cbx_int(40))), NULL, U(a[0]) % 6))
FN(histogram, cbx_histogram(c, in[0], line(c, in[1]), NULL))
FN(var, cbx_var(c, in[0], axes(a, &(cbx_axes){ 0 }), a[3] & 2 ? 1 : 0))
FN(std, cbx_std(c, in[0], axes(a, &(cbx_axes){ 0 }), 0))
FN(nanstd, cbx_nanstd(c, in[0], axes(a, &(cbx_axes){ 0 }), 0))
FN(percentile, cbx_percentile(c, in[0], 100.0 * (U(a[2]) % 9) / 8, axes(a, &(cbx_axes){ 0 })))
FN(round, cbx_round(c, in[0], a[0] % 4))
FN(vecdot, cbx_vecdot(c, in[0], in[1], AX(0)))
FN(outer,
   cbx_array_count(in[0]) * cbx_array_count(in[1]) > ELEMENTS_MOST ? cbx_copy(c, NULL) : cbx_outer(c, in[0], in[1]))

static cbx_array *do_reshape(cbx_ctx *c, cbx_array *const *in, const int *a)
{
    const int last = cbx_array_ndim(in[0]) - 1;
    const ptrdiff_t shapes[4][2] = { { -1 },
                                     { last < 0 ? 1 : (ptrdiff_t)cbx_array_dim(in[0], last), -1 },
                                     { 2, -1 },
                                     { (ptrdiff_t)(U(a[1]) % 5), (ptrdiff_t)(U(a[2]) % 5) } };
    return cbx_reshape(c, in[0], U(a[0]) % 4 == 0 ? 1 : 2, shapes[U(a[0]) % 4]);
}

static cbx_array *do_permute_dims(cbx_ctx *c, cbx_array *const *in, const int *a)
{
    int order[CBX_MAX_RANK];
    const int n = cbx_array_ndim(in[0]);

    for (int i = 0; i < n; i++) order[i] = (int)((U(i) + U(a[1]) % 8) % U(n)) - (a[2] & 1 ? n : 0);
    return cbx_permute_dims(c, in[0], a[0] & 1 ? NULL : order);
}

static cbx_array *do_broadcast_to(cbx_ctx *c, cbx_array *const *in, const int *a)
{
    const cbx_array_desc *d = cbx_array_get_desc(in[0]);
    const int lead = (int)(U(a[0]) % 2);
    size_t shape[CBX_MAX_RANK] = { U(a[1]) % 3 };

    if (d->ndim + lead > CBX_MAX_RANK) return cbx_copy(c, NULL);
    for (int i = 0; i < d->ndim; i++) shape[i + lead] = d->shape[i] == 1 ? U(a[2]) % 4 : d->shape[i];
    if (a[3] % 8 == 7 && d->ndim) shape[lead]++;
    return cbx_broadcast_to(c, in[0], d->ndim + lead, shape);
}

static cbx_array *do_pad(cbx_ctx *c, cbx_array *const *in, const int *a)
{
    size_t before[CBX_MAX_RANK], after[CBX_MAX_RANK];

    for (int i = 0; i < CBX_MAX_RANK; i++) {
        before[i] = U(a[0]) % 3;
        after[i] = U(a[1]) % 3;
    }
    return cbx_pad(c, in[0], before, after, cbx_int(U(a[2]) % 2));
}

#define ROW(name) { #name, do_##name },
static const struct {
    const char *name;
    call fn;
} ops[] = { ONE_LIST(ROW) TWO_LIST(ROW) AXIS_LIST(ROW) REDUCE_LIST(ROW) ROW(astype) ROW(where) ROW(clip) ROW(swapaxes)
                ROW(moveaxis) ROW(slice) ROW(index) ROW(roll) ROW(concat) ROW(stack) ROW(tile) ROW(repeat) ROW(tril)
                    ROW(triu) ROW(take) ROW(take_along_axis) ROW(scatter) ROW(segment_sum) ROW(nonzero_size) ROW(sort)
                        ROW(argsort) ROW(searchsorted) ROW(digitize) ROW(bincount) ROW(histogram) ROW(var) ROW(std)
                            ROW(nanstd) ROW(percentile) ROW(round) ROW(vecdot) ROW(outer) ROW(reshape) ROW(permute_dims)
                                ROW(broadcast_to) ROW(pad) };

/* ---- programs ---- */

typedef struct operand {
    cbx_array_desc desc;
    int layout; /* 0 rows first, 1 columns first, 2 every second element, 3 backwards, 4 one row for all */
    int fill, seed;
} operand;

typedef struct step {
    size_t op;
    unsigned in[3];
    int a[ATTRS];
} step;

typedef struct program {
    operand inputs[INPUTS_MOST];
    step steps[STEPS_MOST];
    size_t ninputs, nsteps, fail_at;
} program;

typedef struct reader {
    const uint8_t *at, *end;
} reader;

static unsigned next(reader *r) { return r->at < r->end ? *r->at++ : 0; }

static void read_program(reader *r, program *p)
{
    unsigned head = next(r);

    memset(p, 0, sizeof *p);
    p->ninputs = 1 + head % INPUTS_MOST;
    p->fail_at = head / INPUTS_MOST;
    for (size_t i = 0; i < p->ninputs; i++) {
        operand *o = &p->inputs[i];
        unsigned form;
        o->desc.dtype = (cbx_dtype)(next(r) % CBX_DTYPE_COUNT);
        form = next(r);
        o->desc.ndim = (int)(form % 4);
        o->layout = (int)(form / 4 % 5);
        for (int k = 0; k < o->desc.ndim; k++) o->desc.shape[k] = next(r) % 5;
        o->fill = (int)(next(r) % 3);
        o->seed = (int)next(r);
    }
    for (; r->at < r->end && p->nsteps < STEPS_MOST; p->nsteps++) {
        step *s = &p->steps[p->nsteps];
        s->op = next(r) % CBX_LEN(ops);
        for (int k = 0; k < 3; k++) s->in[k] = next(r);
        for (int k = 0; k < ATTRS; k++) s->a[k] = (int8_t)next(r);
    }
}

/* ---- operands ---- */

/* Element i of an operand: small whole numbers, small numbers with fractions, or what is
 * awkward. */
static num element_of(const operand *o, size_t i)
{
    static const double awkward[] = { 0.0, -0.0, NAN, INFINITY, -INFINITY, 1e300, -1e-300, 0x1p-1074, 0x1p63, -0x1p31 };
    static const wide whole[] = { 0,     1,     -1,         127,           -128,      255,
                                  32768, 65535, 2147483647, -2147483648LL, INT64_MAX, INT64_MIN };
    const size_t k = i * (size_t)(1 + o->seed % 7) + (size_t)o->seed;
    num x = { (wide)(k % 4), (double)(k % 4), (double)(k % 3) };

    if (o->fill == 1) x = (num){ (wide)(k % 11) - 5, (double)(k % 23) / 4 - 2.5, (double)(k % 5) - 2 };
    if (o->fill == 2) x = (num){ whole[k % 12], awkward[k % 10], awkward[k * 3 % 10] };
    return naive_fit(x, o->desc.dtype);
}

static void store(void *to, num x, cbx_dtype t)
{
    switch (t) {
    case CBX_F32: *(float *)to = (float)x.re; break;
    case CBX_F64: *(double *)to = x.re; break;
    case CBX_C64: memcpy(to, (float[2]){ (float)x.re, (float)x.im }, 8); break;
    case CBX_C128: memcpy(to, (double[2]){ x.re, x.im }, 16); break;
    default: {
        const uint64_t bits = (uint64_t)x.i; /* little-endian: the low bytes are the number */
        memcpy(to, &bits, naive_bytes(t));
    }
    }
}

static num load(const void *from, cbx_dtype t)
{
    uint64_t bits = 0;
    num x = { 0, 0, 0 };
    const float *f = from;
    const double *d = from;

    switch (t) {
    case CBX_F32: x.re = (double)*f; break;
    case CBX_F64: x.re = *d; break;
    case CBX_C64: return (num){ 0, (double)f[0], (double)f[1] };
    case CBX_C128: return (num){ 0, d[0], d[1] };
    default: memcpy(&bits, from, naive_bytes(t)); x = naive_fit((num){ (wide)bits, 0, 0 }, t);
    }
    return x;
}

static void release(void *user) { free(user); }

static void lay_out(const operand *o, ptrdiff_t *strides, ptrdiff_t *first, size_t *room)
{
    const cbx_array_desc *d = &o->desc;
    ptrdiff_t by = o->layout == 2 ? 2 : 1;

    *first = 0;
    for (int i = d->ndim - 1; i >= 0; i--) {
        const int axis = o->layout == 1 ? d->ndim - 1 - i : i;
        strides[axis] = by;
        by *= (ptrdiff_t)d->shape[axis];
        if (o->layout == 3 && d->shape[axis]) {
            *first += strides[axis] * ((ptrdiff_t)d->shape[axis] - 1);
            strides[axis] = -strides[axis];
        }
    }
    if (o->layout == 4 && d->ndim) strides[0] = 0;
    *room = (size_t)by + 1;
}

static cbx_array *make_input(cbx_ctx *ctx, const operand *o)
{
    const size_t size = naive_bytes(o->desc.dtype);
    ptrdiff_t strides[CBX_MAX_RANK] = { 0 }, first;
    size_t room, index[CBX_MAX_RANK] = { 0 };
    nv shape = { .ndim = o->desc.ndim, .n = 1 };
    cbx_array *a = NULL;
    char *data;

    lay_out(o, strides, &first, &room);
    data = calloc(room, size);
    for (int i = 0; i < o->desc.ndim; i++) shape.n *= shape.shape[i] = o->desc.shape[i];
    for (size_t i = 0; data && i < shape.n; i++) {
        ptrdiff_t at = first;
        naive_index_of(&shape, i, index);
        for (int k = 0; k < o->desc.ndim; k++) at += (ptrdiff_t)index[k] * strides[k];
        if (o->layout != 4 || index[0] == 0) store(data + at * (ptrdiff_t)size, element_of(o, i), o->desc.dtype);
    }
    if (!data || cbx_array_wrap(ctx, &o->desc, strides, data + first * (ptrdiff_t)size, release, data, &a, NULL))
        free(data);
    return a;
}

/* ---- witnesses ---- */

typedef struct counter {
    size_t live, calls, fail_at;
} counter;

static void *counted(void *user, void *ptr, size_t old_size, size_t new_size)
{
    counter *c = user;
    void *p;

    if (new_size == 0) {
        free(ptr);
        c->live -= old_size;
        return NULL;
    }
    if (++c->calls == c->fail_at) return NULL;
    p = realloc(ptr, new_size);
    if (p) c->live += new_size - old_size;
    return p;
}

typedef enum form { AS_GIVEN, DENSE, ABSTRACT } form;

typedef struct witness {
    const char *name;
    const cbx_backend *(*backend)(void);
    form form;
    bool fails; /* one allocation, that the program names */
} witness;

/* The first is compared with the naive evaluator, the others with the first. */
static const witness witnesses[] = {
    { "views", cbx_backend_reference, AS_GIVEN, false },
    { "dense copies", cbx_backend_reference, DENSE, false },
    { "abstract operands", cbx_backend_reference, ABSTRACT, false },
    { "a failing allocation", cbx_backend_reference, AS_GIVEN, true },
};
#define WITNESSES (sizeof witnesses / sizeof *witnesses)

typedef struct run {
    const witness *w;
    counter memory;
    cbx_ctx *ctx;
    cbx_array *values[VALUES_MOST];
    size_t nvalues;
    cbx_status status; /* of the last step */
    cbx_array *result; /* of the last step; NULL: failed */
} run;

static const char *doing = "the inputs";

static void broken(const run *r, const char *what)
{
    fprintf(stderr, "fuzz_ops: %s, %s: %s\n", r ? r->w->name : "all", doing, what);
    abort();
}

static cbx_array *as_form(run *r, cbx_array *a)
{
    cbx_array *b = NULL;
    cbx_scope scope;

    if (r->w->form == AS_GIVEN) return a;
    if (r->w->form == ABSTRACT) {
        if (cbx_array_create_abstract(r->ctx, cbx_array_get_desc(a), &b, NULL)) broken(r, "no abstract array");
    } else {
        cbx_scope_open(r->ctx, &scope);
        b = cbx_copy(r->ctx, a);
        if (cbx_scope_close_keep(&scope, 1, &b, NULL)) broken(r, "no copy");
    }
    cbx_array_free(a);
    return b;
}

static bool start(run *r, const witness *w, const program *p)
{
    cbx_ctx_opts opts = CBX_CTX_OPTS_INIT;

    *r = (run){ .w = w };
    opts.allocator = (cbx_allocator){ counted, &r->memory };
    if (cbx_ctx_create(&opts, &r->ctx, NULL) || cbx_ctx_set_backend(r->ctx, w->backend(), NULL)) return false;
    for (size_t i = 0; i < p->ninputs; i++) {
        cbx_array *a = make_input(r->ctx, &p->inputs[i]);
        if (!a) broken(r, "an input was refused");
        r->values[r->nvalues++] = as_form(r, a);
    }
    if (w->fails && p->fail_at) r->memory.fail_at = r->memory.calls + p->fail_at;
    return true;
}

static void finish(run *r)
{
    for (size_t i = 0; i < r->nvalues; i++) cbx_array_free(r->values[i]);
    cbx_array_free(r->result);
    cbx_ctx_free(r->ctx);
    if (r->memory.live) broken(r, "memory is left over");
}

/* A context is fine if it still adds. */
static void check_usable(run *r)
{
    cbx_scope scope;
    cbx_array *x;
    double sum = 0;
    const size_t fail_at = r->memory.fail_at, calls = r->memory.calls;

    r->memory.fail_at = 0;
    cbx_scope_open(r->ctx, &scope);
    x = cbx_full(r->ctx, 0, NULL, CBX_F64, cbx_float(1.5));
    x = cbx_add(r->ctx, x, x);
    if (!cbx_array_is_failed(x)) (void)cbx_array_read(x, &sum, sizeof sum, NULL);
    if (cbx_scope_close(&scope, NULL) != CBX_OK || sum != 3) broken(r, "the context is no longer usable");
    r->memory.fail_at = fail_at > calls ? fail_at + (r->memory.calls - calls) : 0;
}

static void do_step(run *r, const step *s)
{
    cbx_array *in[3], *out;
    cbx_err err = CBX_ERR_INIT;
    cbx_scope scope;

    for (int k = 0; k < 3; k++) in[k] = r->values[s->in[k] % r->nvalues];
    cbx_array_free(r->result);
    r->result = NULL;
    cbx_scope_open(r->ctx, &scope);
    out = ops[s->op].fn(r->ctx, in, s->a);
    if (cbx_array_is_failed(out) && !cbx_ctx_pending(r->ctx, NULL)) broken(r, "a failure without a reason");
    r->status = cbx_scope_close_keep(&scope, 1, &out, &err);
    if (!r->status) r->result = out;
    if (r->status && (!err.message[0] || strchr(err.message, '\n'))) broken(r, "a failure without one sentence");
    if (r->status) check_usable(r);
    if (r->result && cbx_array_is_abstract(r->result) && r->w->form != ABSTRACT) broken(r, "a result without data");
}

/* ---- comparing ---- */

static bool same_number(double x, double y) { return (isnan(x) && isnan(y)) || (x == y && !signbit(x) == !signbit(y)); }

static bool near_number(double x, double y, double tol, bool zeros)
{
    if (same_number(x, y) || (zeros && x == 0 && y == 0)) return true;
    return tol != 0 && (fabs(x - y) <= tol || isnan(tol) || isinf(tol));
}

static nv *numbers_of(const run *r, const cbx_array *a)
{
    const cbx_array_desc *d = cbx_array_get_desc(a);
    const size_t size = naive_bytes(d->dtype);
    nv *x = naive_new(d->dtype, d->ndim, d->shape);
    char *data = malloc(cbx_array_bytes(a) + 1);

    if (!data || cbx_array_read(a, data, cbx_array_bytes(a), NULL)) broken(r, "the result cannot be read");
    for (size_t i = 0; i < x->n; i++) x->e[i] = load(data + i * size, d->dtype);
    free(data);
    return x;
}

static void compare_elements(const run *r, const nv *want, const nv *got, const char *with)
{
    char what[300];

    for (size_t i = 0; i < got->n; i++) {
        const double tol = want->tol ? want->tol[i] : 0;
        const bool floats = naive_is_float(got->t) || naive_is_complex(got->t);
        if (floats ? near_number(got->e[i].re, want->e[i].re, tol, want->zeros) : got->e[i].i == want->e[i].i)
            if (!naive_is_complex(got->t) || near_number(got->e[i].im, want->e[i].im, tol, want->zeros)) continue;
        snprintf(what, sizeof what, "element %zu of %zu %s is %lld (%.17g, %.17g), by %s %lld (%.17g, %.17g)", i,
                 got->n, cbx_dtype_name(got->t), (long long)got->e[i].i, got->e[i].re, got->e[i].im, with,
                 (long long)want->e[i].i, want->e[i].re, want->e[i].im);
        broken(r, what);
    }
}

static void check_naively(const run *r, const step *s)
{
    naive_fn fn = naive_find(ops[s->op].name);
    nv *in[3], *want = NULL;
    cbx_array_desc d;
    cbx_status st;

    if (!fn) return;
    for (int k = 0; k < 3; k++) in[k] = numbers_of(r, r->values[s->in[k] % r->nvalues]);
    st = fn(in, s->a, &want);
    if (st == NAIVE_SKIP) return;
    if (strcmp(ops[s->op].name, "outer") == 0 && in[0]->n * in[1]->n > ELEMENTS_MOST) return;
    if (st && !r->status) broken(r, "succeeds, where the documents promise a failure");
    if (!st && r->status) broken(r, "fails, where the documents promise a result");
    if (st) return;
    d = (cbx_array_desc){ .dtype = want->t, .ndim = want->ndim };
    memcpy(d.shape, want->shape, sizeof d.shape);
    if (!cbx_array_desc_equal(&d, cbx_array_get_desc(r->result))) {
        char what[400], mine[160], theirs[160];
        snprintf(what, sizeof what, "gives %s, the documents promise %s",
                 cbx_array_desc_text(cbx_array_get_desc(r->result), mine, sizeof mine),
                 cbx_array_desc_text(&d, theirs, sizeof theirs));
        broken(r, what);
    }
    compare_elements(r, want, numbers_of(r, r->result), "the naive evaluator");
}

/* Functions whose shape or failure only data can tell. */
static bool needs_data(const char *name)
{
    static const char *const names[] = { "nonzero", "unique", "digitize", "bincount", "histogram" };

    for (size_t i = 0; i < CBX_LEN(names); i++)
        if (strcmp(name, names[i]) == 0) return true;
    return false;
}

static void check_abstract(const run *first, const run *r, const char *name)
{
    if (needs_data(name) || first->status == CBX_EDOM || first->status == CBX_EINDEX) return;
    if (r->status != first->status) broken(r, "another status than with data");
    if (!r->status && !cbx_array_desc_equal(cbx_array_get_desc(first->result), cbx_array_get_desc(r->result)))
        broken(r, "another shape or dtype than with data");
}

static void check_same(const run *first, const run *r)
{
    if (r->status != first->status) broken(r, "another status than the first witness");
    if (r->status) return;
    if (!cbx_array_desc_equal(cbx_array_get_desc(first->result), cbx_array_get_desc(r->result)))
        broken(r, "another shape or dtype than the first witness");
    compare_elements(r, numbers_of(first, first->result), numbers_of(r, r->result), "the first witness");
}

/* Every run keeps a result of its own form, so that the programs stay in step. */
static void keep_result(run *r, const run *first)
{
    cbx_array *a = r->result;

    if (first->status || cbx_array_count(first->result) > ELEMENTS_MOST ||
        cbx_array_ndim(first->result) > CBX_MAX_RANK - 2 || r->nvalues == VALUES_MOST)
        return;
    if (r->w->form == ABSTRACT && r->status) a = cbx_array_ref(first->result); /* the shape is only known with data */
    if (r->w->fails && r->status) a = cbx_array_ref(first->result);
    if (a == r->result) r->result = NULL;
    r->values[r->nvalues++] = as_form(r, a);
}

FUZZ_ENTRY(.most = 300)
{
    reader bytes = { data, data + size };
    run runs[WITNESSES];
    program p;

    read_program(&bytes, &p);
    for (size_t w = 0; w < WITNESSES; w++)
        if (!start(&runs[w], &witnesses[w], &p)) broken(&runs[w], "it does not start");
    for (size_t i = 0; i < p.nsteps; i++) {
        doing = ops[p.steps[i].op].name;
        for (size_t w = 0; w < WITNESSES; w++) do_step(&runs[w], &p.steps[i]);
        check_naively(&runs[0], &p.steps[i]);
        for (size_t w = 1; w < WITNESSES; w++) {
            if (witnesses[w].form == ABSTRACT)
                check_abstract(&runs[0], &runs[w], doing);
            else if (!witnesses[w].fails || runs[w].status != CBX_ENOMEM)
                check_same(&runs[0], &runs[w]);
        }
        for (size_t w = WITNESSES; w-- > 0;) keep_result(&runs[w], &runs[0]);
        naive_forget();
    }
    doing = "the end";
    for (size_t w = WITNESSES; w-- > 0;) finish(&runs[w]);
    return 0;
}

/*
 * Array functions against NumPy: every case of fixtures/numpy.bin, written by scripts/fixtures/make_array_cases.py, which
 * says what the file holds.  The table below joins its names to functions.
 */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "calibrax/array/ops.h"
#include "fail_alloc.h"

enum { BITS, ZEROS, ULP, NEAR, ERROR };
#define POOLS_MOST 8
#define ATTRS_MOST 12

typedef struct reader {
    const unsigned char *at, *end;
} reader;

typedef struct one_case {
    int name, mode, nin, nattr;
    int32_t attr[ATTRS_MOST];
    cbx_array *in[3];
} one_case;

typedef struct suite {
    cbx_ctx *ctx;
    unsigned char *bytes, promote[13 * 13 + 13 * 4];
    size_t size;
    const unsigned char *pool[POOLS_MOST][CBX_DTYPE_COUNT];
    size_t length[POOLS_MOST][CBX_DTYPE_COUNT];
    char names[256][32];
    int count;
    reader cases;
    uint32_t total;
} suite;

static uint64_t get(reader *r, int bytes)
{
    uint64_t v = 0;

    CHECK(r->end - r->at >= bytes, "the file of cases is whole");
    for (int i = 0; i < bytes; i++) v |= (uint64_t)*r->at++ << 8 * i;
    return v;
}

static const unsigned char *skip_bytes(reader *r, size_t n)
{
    const unsigned char *here = r->at;
    CHECK((size_t)(r->end - r->at) >= n, "the file of cases is whole");
    r->at += n;
    return here;
}

static unsigned char *slurp(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    unsigned char *bytes = NULL;

    if (!f) fail_msg("cannot open '%s'", path);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    bytes = malloc(*size);
    CHECK_INT(fread(bytes, 1, *size, f), *size, "the whole file");
    fclose(f);
    return bytes;
}

static void load(suite *s)
{
    char path[1024];
    reader r;
    cbx_err err = CBX_ERR_INIT;

    snprintf(path, sizeof path, "%s/tests/array/fixtures/numpy.bin", getenv("CALIBRAX_SOURCE_ROOT"));
    s->bytes = slurp(path, &s->size);
    r = (reader){ s->bytes, s->bytes + s->size };
    CHECK(memcmp(skip_bytes(&r, 8), "CBXARR1\n", 8) == 0, "a file of array cases");
    memcpy(s->promote, skip_bytes(&r, sizeof s->promote), sizeof s->promote);
    int pools = (int)get(&r, 2);
    CHECK(pools <= POOLS_MOST, "room for the pools");
    for (int k = 0; k < pools; k++)
        for (int t = 0; t < CBX_DTYPE_COUNT; t++) {
            s->length[k][t] = get(&r, 2);
            s->pool[k][t] = skip_bytes(&r, s->length[k][t] * cbx_dtype_size((cbx_dtype)t));
        }
    s->count = (int)get(&r, 2);
    CHECK(s->count <= 256, "room for the names");
    for (int i = 0; i < s->count; i++) {
        size_t n = get(&r, 1);
        memcpy(s->names[i], skip_bytes(&r, n), n);
        s->names[i][n] = 0;
    }
    s->total = (uint32_t)get(&r, 4);
    s->cases = r;
    CHECK_OK(cbx_ctx_create(NULL, &s->ctx, &err), &err, "context");
}

static void unload(suite *s)
{
    cbx_ctx_free(s->ctx);
    free(s->bytes);
}

/* ---- operands in the layouts of the file ---- */

static void release(void *user) { free(user); }

/* Steps of the layout in elements, the first element's place, and the elements that the memory must hold. */
static size_t lay_out(const cbx_array_desc *d, int layout, ptrdiff_t *strides, ptrdiff_t *first)
{
    ptrdiff_t step = layout == 2 ? 2 : 1;

    *first = 0;
    for (int i = d->ndim - 1; i >= 0; i--) {
        int axis = layout == 1 ? d->ndim - 1 - i : i;
        strides[axis] = step;
        step *= (ptrdiff_t)d->shape[axis];
        if (layout == 3 && d->shape[axis]) {
            *first += strides[axis] * ((ptrdiff_t)d->shape[axis] - 1);
            strides[axis] = -strides[axis];
        }
    }
    if (layout == 4) strides[0] = 0;
    return (size_t)step;
}

static cbx_array *read_operand(suite *s, reader *r)
{
    cbx_array_desc d = { .dtype = (cbx_dtype)get(r, 1) };
    int pool = (int)get(r, 1), layout = (int)get(r, 1);
    ptrdiff_t strides[CBX_MAX_RANK] = { 0 }, first;
    size_t seed, index[CBX_MAX_RANK] = { 0 }, size = cbx_dtype_size(d.dtype), count = 1, room;
    cbx_array *a = NULL;
    unsigned char *data;

    d.ndim = (int)get(r, 1);
    seed = get(r, 2);
    for (int i = 0; i < d.ndim; i++) {
        d.shape[i] = get(r, 2);
        count *= d.shape[i];
    }
    room = lay_out(&d, layout, strides, &first);
    data = calloc(room + 1, size);
    for (size_t i = 0; i < count; i++) {
        ptrdiff_t at = first;
        for (int k = 0; k < d.ndim; k++) at += (ptrdiff_t)index[k] * strides[k];
        if (layout != 4 || index[0] == 0)
            memcpy(data + at * (ptrdiff_t)size,
                   s->pool[pool][d.dtype] + (31 * seed + i * (1 + seed % 5)) % s->length[pool][d.dtype] * size, size);
        for (int k = d.ndim - 1; k >= 0 && ++index[k] == d.shape[k]; k--) index[k] = 0;
    }
    CHECK_OK(cbx_array_wrap(s->ctx, &d, strides, data + first * (ptrdiff_t)size, release, data, &a, NULL),
             (&(cbx_err){ 0 }), "operand");
    return cbx_scope_hold(s->ctx, a);
}

/* ---- the functions ---- */

typedef cbx_array *(*call)(cbx_ctx *c, const one_case *k);
#define FN(name, expr)                                                                                                 \
    static cbx_array *do_##name(cbx_ctx *c, const one_case *k)                                                         \
    {                                                                                                                  \
        cbx_array *const *in = k->in;                                                                                  \
        const int32_t *a = k->attr;                                                                                    \
        (void)a;                                                                                                       \
        (void)in;                                                                                                      \
        return expr;                                                                                                   \
    }
#define UNARY(name, prim) FN(name, cbx_##name(c, in[0]))
#define BINARY(name, prim)                                                                                             \
    FN(name, cbx_##name(c, in[0], in[1]))                                                                              \
    FN(name##_scalar, cbx_##name##_scalar(c, in[0], a[0] / 4.0))
#define REDUCE(name) FN(name, cbx_##name(c, in[0], axes(k, 0, &(cbx_axes){ 0 })))
#define AXIS(name)   FN(name, cbx_##name(c, in[0], a[0]))
#define LIST(X)                                                                                                        \
    X(copy)                                                                                                            \
    X(flatten)                                                                                                         \
    X(square)                                                                                                          \
    X(deg2rad)                                                                                                         \
    X(rad2deg)                                                                                                         \
    X(logical_not)                                                                                                     \
    X(real)                                                                                                            \
    X(imag)                                                                                                            \
    X(conj)                                                                                                            \
    X(nonzero)                                                                                                         \
    X(unique)
#define REDUCE_LIST(X)                                                                                                 \
    X(sum)                                                                                                             \
    X(prod)                                                                                                            \
    X(max)                                                                                                             \
    X(min)                                                                                                             \
    X(mean)                                                                                                            \
    X(any)                                                                                                             \
    X(all)                                                                                                             \
    X(count_nonzero)                                                                                                   \
    X(argmax)                                                                                                          \
    X(argmin)                                                                                                          \
    X(nansum)                                                                                                          \
    X(nanmean)                                                                                                         \
    X(nanmax)                                                                                                          \
    X(nanmin)                                                                                                          \
    X(median)
#define AXIS_LIST(X)                                                                                                   \
    X(flip)                                                                                                            \
    X(expand_dims)                                                                                                     \
    X(squeeze)                                                                                                         \
    X(diff)                                                                                                            \
    X(cumulative_sum)                                                                                                  \
    X(cumulative_prod)                                                                                                 \
    X(cumulative_max)                                                                                                  \
    X(cumulative_min)                                                                                                  \
    X(round)                                                                                                           \
    X(tril)                                                                                                            \
    X(triu)
#define PAIR_LIST(X) X(logical_and) X(logical_or) X(logical_xor) X(outer)

/* Attributes from first on: keep, then axes; -99: all. */
static const cbx_axes *axes(const one_case *k, int first, cbx_axes *to)
{
    if (k->attr[first + 1] == -99) return NULL;
    to->keep = k->attr[first] != 0;
    to->n = k->nattr - first - 1;
    for (int i = 0; i < to->n; i++) to->axis[i] = k->attr[first + 1 + i];
    return to;
}

#define ONE(name) FN(name, cbx_##name(c, in[0]))
#define TWO(name) FN(name, cbx_##name(c, in[0], in[1]))
CBX_UNARY_FLOAT_MAP(UNARY)
CBX_UNARY_KEEP_MAP(UNARY)
CBX_UNARY_ROUND_MAP(UNARY)
CBX_BINARY_MAP(BINARY)
LIST(ONE)
REDUCE_LIST(REDUCE)
AXIS_LIST(AXIS)
PAIR_LIST(TWO)
FN(var, cbx_var(c, in[0], axes(k, 0, &(cbx_axes){ 0 }), 0))
FN(std, cbx_std(c, in[0], axes(k, 0, &(cbx_axes){ 0 }), 0))
FN(nanstd, cbx_nanstd(c, in[0], axes(k, 0, &(cbx_axes){ 0 }), 0))
FN(percentile, cbx_percentile(c, in[0], a[0] / 100.0, axes(k, 1, &(cbx_axes){ 0 })))
FN(astype, cbx_astype(c, in[0], (cbx_dtype)a[0]))
FN(matmul, cbx_matrix_product(c, in[0], in[1]))
FN(where, cbx_where(c, in[0], in[1], in[2]))
FN(clip, cbx_clip(c, in[0], in[1], in[2]))
FN(permute_dims, cbx_permute_dims(c, in[0], a))
FN(roll, cbx_roll(c, in[0], a[0], a[1]))
FN(repeat, cbx_repeat(c, in[0], (size_t)a[0], a[1]))
FN(slice, cbx_slice(c, in[0], a[0], a[1], a[2], a[3]))
FN(moveaxis, cbx_moveaxis(c, in[0], a[0], a[1]))
FN(swapaxes, cbx_swapaxes(c, in[0], a[0], a[1]))
FN(concat, cbx_concat(c, 2, (const cbx_array *const[]){ in[0], in[1] }, a[0]))
FN(stack, cbx_stack(c, 2, (const cbx_array *const[]){ in[0], in[1] }, a[0]))
FN(sort, cbx_sort(c, in[0], a[0], false))
FN(argsort, cbx_argsort(c, in[0], a[0], false))
FN(searchsorted, cbx_searchsorted(c, cbx_sort(c, in[0], 0, false), in[1], a[0] != 0))
FN(digitize, cbx_digitize(c, in[0], a[0] ? cbx_flip(c, cbx_sort(c, in[1], 0, false), 0) : cbx_sort(c, in[1], 0, false)))
FN(bincount, cbx_bincount(c, in[0], NULL, (size_t)a[0]))
FN(bincount_weights, cbx_bincount(c, in[0], in[1], (size_t)a[0]))
FN(histogram, cbx_histogram(c, in[0], cbx_sort(c, in[1], 0, false), NULL))
FN(arange_int, cbx_arange_int(c, a[0], a[1], a[2], (cbx_dtype)a[3]))
FN(arange, cbx_arange(c, a[0] / 8.0, a[1] / 8.0, a[2] / 8.0, (cbx_dtype)a[3]))
FN(linspace, cbx_linspace(c, a[0] / 7.0, a[1] / 7.0, (size_t)a[2], a[3] != 0, (cbx_dtype)a[4]))
FN(logspace, cbx_logspace(c, a[0] / 7.0, a[1] / 7.0, (size_t)a[2], CBX_F64))
FN(eye, cbx_eye(c, (size_t)a[0], (size_t)a[1], a[2], (cbx_dtype)a[3]))

/* Indices of the fixture wrap at the axis, as the generator's do. */
static cbx_array *wrapped(cbx_ctx *c, const one_case *k)
{
    int axis = k->attr[0] < 0 ? k->attr[0] + cbx_array_ndim(k->in[0]) : k->attr[0];
    return cbx_remainder(c, k->in[1], cbx_weak(c, k->in[1], cbx_int((int64_t)cbx_array_dim(k->in[0], axis))));
}
FN(take, cbx_take(c, in[0], wrapped(c, k), a[0]))
FN(take_along_axis, cbx_take_along_axis(c, in[0], wrapped(c, k), a[0]))

static cbx_unique_parts parts_of(cbx_ctx *c, const one_case *k)
{
    cbx_unique_parts p;
    cbx_unique_all(c, k->in[0], &p);
    return p;
}
FN(unique_counts, parts_of(c, k).counts)
FN(unique_inverse, parts_of(c, k).inverse)
FN(unique_index, parts_of(c, k).indices)

static cbx_array *do_reshape(cbx_ctx *c, const one_case *k)
{
    ptrdiff_t shape[ATTRS_MOST];
    for (int i = 0; i < k->nattr; i++) shape[i] = k->attr[i];
    return cbx_reshape(c, k->in[0], k->nattr, shape);
}
static cbx_array *do_broadcast_to(cbx_ctx *c, const one_case *k)
{
    size_t shape[ATTRS_MOST];
    for (int i = 0; i < k->nattr; i++) shape[i] = (size_t)k->attr[i];
    return cbx_broadcast_to(c, k->in[0], k->nattr, shape);
}
static cbx_array *do_tile(cbx_ctx *c, const one_case *k)
{
    size_t times[ATTRS_MOST];
    for (int i = 0; i < k->nattr; i++) times[i] = (size_t)k->attr[i];
    return cbx_tile(c, k->in[0], k->nattr, times);
}
static cbx_array *do_pad(cbx_ctx *c, const one_case *k)
{
    size_t before[CBX_MAX_RANK], after[CBX_MAX_RANK];
    for (int i = 0; i < CBX_MAX_RANK; i++) {
        before[i] = (size_t)k->attr[0];
        after[i] = (size_t)k->attr[1];
    }
    return cbx_pad(c, k->in[0], before, after, cbx_int(0));
}
static cbx_array *do_tensordot(cbx_ctx *c, const one_case *k)
{
    int n = k->attr[0], of_a[CBX_MAX_RANK], of_b[CBX_MAX_RANK];
    for (int i = 0; i < n; i++) {
        of_a[i] = cbx_array_ndim(k->in[0]) - n + i;
        of_b[i] = i;
    }
    return cbx_tensordot(c, k->in[0], k->in[1], n, of_a, of_b);
}

#define ROW2(name, prim) { #name, do_##name },
#define ROWS(name, prim) ROW2(name, ){ #name "_scalar", do_##name##_scalar },
#define ROW(name)        { #name, do_##name },
static const struct {
    const char *name;
    call fn;
} functions[] = { CBX_UNARY_FLOAT_MAP(ROW2) CBX_UNARY_KEEP_MAP(ROW2) CBX_UNARY_ROUND_MAP(ROW2) CBX_BINARY_MAP(ROWS)
                      LIST(ROW) REDUCE_LIST(ROW) AXIS_LIST(ROW) PAIR_LIST(ROW) ROW(matmul) ROW(var) ROW(std) ROW(nanstd)
                          ROW(percentile) ROW(astype) ROW(where) ROW(clip) ROW(permute_dims) ROW(roll) ROW(repeat)
                              ROW(slice) ROW(moveaxis) ROW(swapaxes) ROW(concat) ROW(stack) ROW(sort) ROW(argsort)
                                  ROW(searchsorted) ROW(digitize) ROW(bincount) ROW(bincount_weights) ROW(histogram)
                                      ROW(arange_int) ROW(arange) ROW(linspace) ROW(logspace) ROW(eye) ROW(take)
                                          ROW(take_along_axis) ROW(unique_counts) ROW(unique_inverse) ROW(unique_index)
                                              ROW(reshape) ROW(broadcast_to) ROW(tile) ROW(pad) ROW(tensordot) };

static call find(const char *name)
{
    for (size_t i = 0; i < CBX_LEN(functions); i++)
        if (strcmp(functions[i].name, name) == 0) return functions[i].fn;
    fail_msg("no function '%s' in the table", name);
    return NULL;
}

/* ---- comparing ---- */

static double real_at(cbx_dtype t, const void *data, size_t i)
{
    switch (t) {
    case CBX_F32:
    case CBX_C64: return ((const float *)data)[i];
    case CBX_F64:
    case CBX_C128: return ((const double *)data)[i];
    case CBX_I64: return (double)((const int64_t *)data)[i];
    case CBX_U64: return (double)((const uint64_t *)data)[i];
    default: return nan("");
    }
}

static uint64_t hash_of(const cbx_array *x, unsigned char *data, bool zeros)
{
    size_t bytes = cbx_array_bytes(x);
    cbx_dtype t = cbx_array_dtype(x);
    uint64_t h = 0xCBF29CE484222325u;
    bool single = t == CBX_F32 || t == CBX_C64;

    if (t >= CBX_F32)
        for (size_t i = 0; i < bytes / (single ? 4 : 8); i++) {
            double v = real_at(single ? CBX_F32 : CBX_F64, data, i);
            if (!isnan(v) && !(zeros && v == 0)) continue;
            v = isnan(v) ? (double)NAN : 0.0;
            if (single)
                ((float *)(void *)data)[i] = (float)v;
            else
                ((double *)(void *)data)[i] = v;
        }
    for (size_t i = 0; i < bytes; i++) h = (h ^ data[i]) * 0x100000001B3u;
    return h;
}

/* Distance in units of the last place of the wanted number. */
static bool near_enough(cbx_dtype t, double got, double want, int mode, double tol)
{
    double unit;

    if (isnan(want) || isnan(got)) return isnan(want) && isnan(got);
    if (got == want) return true;
    if (isinf(want) || isinf(got)) return false;
    if (mode == NEAR) return fabs(got - want) <= tol + 4e-16 * fabs(want) * (t == CBX_F32 || t == CBX_C64 ? 1e9 : 16);
    unit = t == CBX_F32 ? (double)(nextafterf(fabsf((float)want), INFINITY) - fabsf((float)want))
                        : nextafter(fabs(want), INFINITY) - fabs(want);
    return fabs(got - want) <= tol * unit;
}

typedef struct verdict {
    unsigned wrong;
    char first[600];
} verdict;

static void complain(verdict *v, const suite *s, const one_case *k, uint32_t number, const char *what,
                     const cbx_array *r)
{
    char text[160], *to = v->first;
    size_t left = sizeof v->first;
    int n;

    if (v->wrong++ && !getenv("CBX_TEST_ALL")) return;
    n = snprintf(to, left, "case %u: %s(", number, s->names[k->name]);
    for (int i = 0; i < k->nin && (size_t)n < left; i++)
        n += snprintf(to + n, left - (size_t)n, "%s%s", i ? ", " : "",
                      cbx_array_desc_text(cbx_array_get_desc(k->in[i]), text, sizeof text));
    for (int i = 0; i < k->nattr && (size_t)n < left; i++)
        n += snprintf(to + n, left - (size_t)n, "; %d", (int)k->attr[i]);
    if ((size_t)n < left)
        snprintf(to + n, left - (size_t)n, "): %s%s%s", what, r ? ", ours is " : "",
                 r ? cbx_array_desc_text(cbx_array_get_desc(r), text, sizeof text) : "");
    if (getenv("CBX_TEST_ALL")) fprintf(stderr, "# %s\n", v->first);
}

static void compare(const suite *s, reader *r, const one_case *k, uint32_t number, const cbx_array *got, cbx_status st,
                    const char *message, verdict *v)
{
    cbx_array_desc d = { .dtype = CBX_BOOL };
    unsigned char *data;
    size_t count = 0, parts;
    const unsigned char *want;
    double tol;

    if (k->mode == ERROR) {
        if (!st) complain(v, s, k, number, "NumPy refuses it", got);
        return;
    }
    d.dtype = (cbx_dtype)get(r, 1);
    d.ndim = (int)get(r, 1);
    for (int i = 0; i < d.ndim; i++) d.shape[i] = get(r, 2);
    (void)cbx_array_desc_count(&d, &count, NULL);
    parts = count * (d.dtype == CBX_C64 || d.dtype == CBX_C128 ? 2 : 1);
    if (k->mode == BITS || k->mode == ZEROS) {
        uint64_t hash = get(r, 8);
        if (st || !cbx_array_desc_equal(&d, cbx_array_get_desc(got))) {
            complain(v, s, k, number, st ? message : cbx_array_desc_text(&d, (char[160]){ 0 }, 160), st ? NULL : got);
            return;
        }
        data = calloc(1, cbx_array_bytes(got) + 1);
        CHECK_OK(cbx_array_read(got, data, cbx_array_bytes(got), NULL), (&(cbx_err){ 0 }), "read");
        if (hash_of(got, data, k->mode == ZEROS) != hash) complain(v, s, k, number, "other bits", got);
        free(data);
        return;
    }
    tol = 0;
    memcpy(&tol, skip_bytes(r, 8), 8);
    want = skip_bytes(r, count * cbx_dtype_size(d.dtype));
    if (st || !cbx_array_desc_equal(&d, cbx_array_get_desc(got))) {
        complain(v, s, k, number, st ? message : cbx_array_desc_text(&d, (char[160]){ 0 }, 160), st ? NULL : got);
        return;
    }
    data = calloc(2, cbx_array_bytes(got) + 1);
    CHECK_OK(cbx_array_read(got, data, cbx_array_bytes(got), NULL), (&(cbx_err){ 0 }), "read");
    memcpy(data + cbx_array_bytes(got), want, cbx_array_bytes(got)); /* aligned, as the file is not */
    for (size_t i = 0; i < parts; i++) {
        double g = real_at(d.dtype, data, i), w = real_at(d.dtype, data + cbx_array_bytes(got), i);
        if (!near_enough(d.dtype, g, w, k->mode, tol)) {
            char what[120];
            snprintf(what, sizeof what, "element %zu is %.17g, NumPy's %.17g", i, g, w);
            complain(v, s, k, number, what, NULL);
            break;
        }
    }
    free(data);
}

/* Past what a case says of its result. */
static void skip_result(reader *r, int mode)
{
    size_t count = 1, size;
    int ndim;

    if (mode == ERROR) return;
    size = cbx_dtype_size((cbx_dtype)get(r, 1));
    ndim = (int)get(r, 1);
    for (int i = 0; i < ndim; i++) count *= get(r, 2);
    skip_bytes(r, mode == BITS || mode == ZEROS ? 8 : 8 + count * size);
}

/* One in spoil cases is changed before it is compared (0: none). */
static verdict run(suite *s, uint32_t spoil)
{
    reader r = s->cases;
    verdict v = { 0 };
    call fns[256];

    for (int i = 0; i < s->count; i++) fns[i] = find(s->names[i]);
    for (uint32_t i = 0; i < s->total; i++) {
        one_case k = {
            .name = (int)get(&r, 2), .mode = (int)get(&r, 1), .nin = (int)get(&r, 1), .nattr = (int)get(&r, 1)
        };
        cbx_err err = CBX_ERR_INIT;
        cbx_scope scope;
        cbx_array *got;
        cbx_status st;
        for (int j = 0; j < k.nattr; j++) k.attr[j] = (int32_t)get(&r, 4);
        cbx_scope_open(s->ctx, &scope);
        for (int j = 0; j < k.nin; j++) k.in[j] = read_operand(s, &r);
        got = fns[k.name](s->ctx, &k);
        st = cbx_ctx_pending(s->ctx, &err);
        if (spoil && i % spoil == 0 && !st && cbx_array_count(got) && cbx_array_dtype(got) == CBX_F64)
            got = cbx_add(s->ctx, got, cbx_weak(s->ctx, got, cbx_float(1.5)));
        compare(s, &r, &k, i, got, st, err.message, &v);
        cbx_scope_close(&scope, NULL);
    }
    CHECK(r.at == r.end, "every byte was read");
    return v;
}

static void functions_agree_with_numpy(void **state)
{
    (void)state;
    suite s = { 0 };
    verdict v;

    load(&s);
    v = run(&s, 0);
    if (v.wrong) fail_msg("%u of %u cases differ; %s", v.wrong, s.total, v.first);
    CHECK(s.total >= 20000, "as many cases as were promised");
    unload(&s);
}

static void the_comparison_can_fail(void **state)
{
    (void)state;
    suite s = { 0 };

    load(&s);
    CHECK(run(&s, 50).wrong > 20, "spoiled results are seen");
    unload(&s);
}

/* One case in a context whose allocations fail in turn; its operands live in another. */
typedef struct torture {
    call fn;
    one_case *k;
} torture;

static cbx_status run_one(cbx_ctx *ctx, void *user)
{
    torture *t = user;
    cbx_scope scope;
    cbx_err err = CBX_ERR_INIT;

    cbx_scope_open(ctx, &scope);
    t->fn(ctx, t->k);
    return cbx_scope_close(&scope, &err);
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    suite s = { 0 };
    reader r;
    int seen[256] = { 0 };
    size_t failures = 0;

    load(&s);
    r = s.cases;
    for (uint32_t i = 0; i < s.total; i++) {
        one_case k = {
            .name = (int)get(&r, 2), .mode = (int)get(&r, 1), .nin = (int)get(&r, 1), .nattr = (int)get(&r, 1)
        };
        cbx_scope scope;
        for (int j = 0; j < k.nattr; j++) k.attr[j] = (int32_t)get(&r, 4);
        cbx_scope_open(s.ctx, &scope);
        for (int j = 0; j < k.nin; j++) k.in[j] = read_operand(&s, &r);
        skip_result(&r, k.mode);
        /* the first of a name is often a scalar: take some later ones, too */
        if (k.mode != ERROR && seen[k.name]++ % 60 == 0)
            failures += cbx_test_fail_each(run_one, &(torture){ find(s.names[k.name]), &k }, s.names[k.name]);
        cbx_scope_close(&scope, NULL);
    }
    CHECK(failures > 1000, "allocations were made to fail");
    unload(&s);
}

static void promotion_is_numpys(void **state)
{
    (void)state;
    suite s = { 0 };
    char why[64];

    load(&s);
    for (int a = 0; a < CBX_DTYPE_COUNT; a++) {
        for (int b = 0; b < CBX_DTYPE_COUNT; b++) {
            snprintf(why, sizeof why, "%s with %s", cbx_dtype_name((cbx_dtype)a), cbx_dtype_name((cbx_dtype)b));
            CHECK_STR(cbx_dtype_name(cbx_dtype_promote((cbx_dtype)a, (cbx_dtype)b)),
                      cbx_dtype_name((cbx_dtype)s.promote[a * 13 + b]), why);
        }
        for (int k = 0; k < 4; k++) {
            snprintf(why, sizeof why, "%s with a scalar of kind %d", cbx_dtype_name((cbx_dtype)a), k);
            CHECK_STR(cbx_dtype_name(cbx_dtype_promote_weak((cbx_dtype)a, (cbx_kind)k)),
                      cbx_dtype_name((cbx_dtype)s.promote[169 + a * 4 + k]), why);
        }
    }
    CHECK_INT(cbx_dtype_promote((cbx_dtype)99, CBX_I8), CBX_DTYPE_COUNT, "no dtype");
    unload(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promotion_is_numpys),
        cmocka_unit_test(functions_agree_with_numpy),
        cmocka_unit_test(the_comparison_can_fail),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

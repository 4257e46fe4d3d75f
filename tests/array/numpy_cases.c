/* See numpy_cases.h. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail_alloc.h"
#include "numpy_cases.h"

enum { BITS, ZEROS, ULP, NEAR, ERROR };

typedef struct reader {
    const unsigned char *at, *end;
} reader;

struct numpy_suite {
    cbx_ctx *ctx;
    unsigned char *bytes, promote[13 * 13 + 13 * 4];
    size_t size;
    const unsigned char *pool[NUMPY_POOLS_MOST][CBX_DTYPE_COUNT];
    size_t length[NUMPY_POOLS_MOST][CBX_DTYPE_COUNT];
    char names[NUMPY_NAMES_MOST][32];
    numpy_fn fns[NUMPY_NAMES_MOST];
    int count;
    reader cases;
    uint32_t total;
};

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

static void load(numpy_suite *s, const char *file)
{
    char path[1024];
    reader r;
    cbx_err err = CBX_ERR_INIT;

    snprintf(path, sizeof path, "%s/tests/array/fixtures/%s", getenv("CALIBRAX_SOURCE_ROOT"), file);
    s->bytes = slurp(path, &s->size);
    r = (reader){ s->bytes, s->bytes + s->size };
    CHECK(memcmp(skip_bytes(&r, 8), "CBXARR1\n", 8) == 0, "a file of array cases");
    memcpy(s->promote, skip_bytes(&r, sizeof s->promote), sizeof s->promote);
    int pools = (int)get(&r, 2);
    CHECK(pools <= NUMPY_POOLS_MOST, "room for the pools");
    for (int k = 0; k < pools; k++)
        for (int t = 0; t < CBX_DTYPE_COUNT; t++) {
            s->length[k][t] = get(&r, 2);
            s->pool[k][t] = skip_bytes(&r, s->length[k][t] * cbx_dtype_size((cbx_dtype)t));
        }
    s->count = (int)get(&r, 2);
    CHECK(s->count <= NUMPY_NAMES_MOST, "room for the names");
    for (int i = 0; i < s->count; i++) {
        size_t n = get(&r, 1);
        memcpy(s->names[i], skip_bytes(&r, n), n);
        s->names[i][n] = 0;
    }
    s->total = (uint32_t)get(&r, 4);
    s->cases = r;
    CHECK_OK(cbx_ctx_create(NULL, &s->ctx, &err), &err, "context");
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

static cbx_array *read_operand(numpy_suite *s, reader *r)
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

static numpy_fn find(const numpy_function *functions, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(functions[i].name, name) == 0) return functions[i].fn;
    fail_msg("no function '%s' in the table", name);
    return NULL;
}

numpy_suite *numpy_open(const char *file, const numpy_function *functions, size_t count)
{
    numpy_suite *s = calloc(1, sizeof *s);

    load(s, file);
    for (int i = 0; i < s->count; i++) s->fns[i] = find(functions, count, s->names[i]);
    return s;
}

void numpy_close(numpy_suite *s)
{
    cbx_ctx_free(s->ctx);
    free(s->bytes);
    free(s);
}

const unsigned char *numpy_promotion(const numpy_suite *s) { return s->promote; }

/* Attributes from first on: keep, then axes; -99: all. */
const cbx_axes *numpy_axes(const numpy_case *k, int first, cbx_axes *to)
{
    if (k->attr[first + 1] == -99) return NULL;
    to->keep = k->attr[first] != 0;
    to->n = k->nattr - first - 1;
    for (int i = 0; i < to->n; i++) to->axis[i] = k->attr[first + 1 + i];
    return to;
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

static void complain(verdict *v, const numpy_suite *s, const numpy_case *k, uint32_t number, const char *what,
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

static void compare(const numpy_suite *s, reader *r, const numpy_case *k, uint32_t number, const cbx_array *got,
                    cbx_status st, const char *message, verdict *v)
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
static verdict run(numpy_suite *s, uint32_t spoil)
{
    reader r = s->cases;
    verdict v = { 0 };

    for (uint32_t i = 0; i < s->total; i++) {
        numpy_case k = {
            .name = (int)get(&r, 2), .mode = (int)get(&r, 1), .nin = (int)get(&r, 1), .nattr = (int)get(&r, 1)
        };
        cbx_err err = CBX_ERR_INIT;
        cbx_scope scope;
        cbx_array *got;
        cbx_status st;
        for (int j = 0; j < k.nattr; j++) k.attr[j] = (int32_t)get(&r, 4);
        cbx_scope_open(s->ctx, &scope);
        for (int j = 0; j < k.nin; j++) k.in[j] = read_operand(s, &r);
        got = s->fns[k.name](s->ctx, &k);
        st = cbx_ctx_pending(s->ctx, &err);
        if (spoil && i % spoil == 0 && !st && cbx_array_count(got) && cbx_array_dtype(got) == CBX_F64)
            got = cbx_add(s->ctx, got, cbx_weak(s->ctx, got, cbx_float(1.5)));
        compare(s, &r, &k, i, got, st, err.message, &v);
        cbx_scope_close(&scope, NULL);
    }
    CHECK(r.at == r.end, "every byte was read");
    return v;
}

void numpy_agrees(numpy_suite *s, unsigned least)
{
    verdict v = run(s, 0);

    if (v.wrong) fail_msg("%u of %u cases differ; %s", v.wrong, s->total, v.first);
    CHECK(s->total >= least, "as many cases as were promised");
}

unsigned numpy_spoiled(numpy_suite *s, unsigned spoil) { return run(s, spoil).wrong; }

/* One case in a context whose allocations fail in turn; its operands live in another. */
typedef struct torture {
    numpy_fn fn;
    numpy_case *k;
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

size_t numpy_torture(numpy_suite *s)
{
    int seen[NUMPY_NAMES_MOST] = { 0 };
    size_t failures = 0;
    reader r = s->cases;

    for (uint32_t i = 0; i < s->total; i++) {
        numpy_case k = {
            .name = (int)get(&r, 2), .mode = (int)get(&r, 1), .nin = (int)get(&r, 1), .nattr = (int)get(&r, 1)
        };
        cbx_scope scope;
        for (int j = 0; j < k.nattr; j++) k.attr[j] = (int32_t)get(&r, 4);
        cbx_scope_open(s->ctx, &scope);
        for (int j = 0; j < k.nin; j++) k.in[j] = read_operand(s, &r);
        skip_result(&r, k.mode);
        /* the first of a name is often a scalar: take some later ones, too */
        if (k.mode != ERROR && seen[k.name]++ % 60 == 0)
            failures += cbx_test_fail_each(run_one, &(torture){ s->fns[k.name], &k }, s->names[k.name]);
        cbx_scope_close(&scope, NULL);
    }
    return failures;
}

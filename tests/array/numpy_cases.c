/* See numpy_cases.h. */
#include "case_file.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail_alloc.h"
#include "numpy_cases.h"

enum { BITS, ZEROS, ULP, NEAR, ERROR };

struct numpy_suite {
    cbx_ctx *ctx;
    unsigned char *bytes, promote[13 * 13 + 13 * 4];
    const unsigned char *pool[NUMPY_POOLS_MAX][CBX_DTYPE_COUNT];
    size_t length[NUMPY_POOLS_MAX][CBX_DTYPE_COUNT];
    char names[NUMPY_NAMES_MAX][32];
    numpy_fn fns[NUMPY_NAMES_MAX];
    int count;
    case_reader cases;
    uint32_t total;
};

static void load(numpy_suite *s, const char *file)
{
    case_reader r;
    cbx_err err = CBX_ERR_INIT;

    s->bytes = case_file_open(file, "CBXARR1\n", &r);
    memcpy(s->promote, case_skip(&r, sizeof s->promote), sizeof s->promote);
    int pools = (int)case_get(&r, 2);
    CHECK(pools <= NUMPY_POOLS_MAX, "capacity for the pools");
    for (int k = 0; k < pools; k++)
        for (int t = 0; t < CBX_DTYPE_COUNT; t++) {
            s->length[k][t] = case_get(&r, 2);
            s->pool[k][t] = case_skip(&r, s->length[k][t] * cbx_dtype_size((cbx_dtype)t));
        }
    s->count = (int)case_get(&r, 2);
    CHECK(s->count <= NUMPY_NAMES_MAX, "capacity for the names");
    for (int i = 0; i < s->count; i++) {
        size_t n = case_get(&r, 1);
        memcpy(s->names[i], case_skip(&r, n), n);
        s->names[i][n] = 0;
    }
    s->total = (uint32_t)case_get(&r, 4);
    s->cases = r;
    CHECK_OK(cbx_ctx_create(NULL, &s->ctx, &err), &err, "context");
}

/* ---- operands in the layouts of the file ---- */

/* Numbers of a pool, from a seed on. */
typedef struct drawn {
    const unsigned char *pool;
    size_t length, size, seed;
} drawn;

static const void *draw(const void *user, size_t i)
{
    const drawn *d = user;

    return d->pool + (31 * d->seed + i * (1 + d->seed % 5)) % d->length * d->size;
}

static cbx_array *read_operand(numpy_suite *s, case_reader *r)
{
    cbx_array_desc d = { .dtype = (cbx_dtype)case_get(r, 1) };
    int pool = (int)case_get(r, 1), layout = (int)case_get(r, 1);
    drawn from = { s->pool[pool][d.dtype], s->length[pool][d.dtype], cbx_dtype_size(d.dtype), 0 };

    d.ndim = (int)case_get(r, 1);
    from.seed = case_get(r, 2);
    for (int i = 0; i < d.ndim; i++) d.shape[i] = case_get(r, 2);
    return case_operand(s->ctx, &d, layout, draw, &from);
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

static uint64_t hash_of(const cbx_array *x, unsigned char *data, bool zeros)
{
    size_t bytes = cbx_array_bytes(x);
    cbx_dtype t = cbx_array_dtype(x);
    uint64_t h = 0xCBF29CE484222325u;
    bool single = t == CBX_F32 || t == CBX_C64;

    if (t >= CBX_F32)
        for (size_t i = 0; i < bytes / (single ? 4 : 8); i++) {
            double v = case_number_at(single ? CBX_F32 : CBX_F64, data, i);
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

static void compare(const numpy_suite *s, case_reader *r, const numpy_case *k, uint32_t number, const cbx_array *got,
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
    d.dtype = (cbx_dtype)case_get(r, 1);
    d.ndim = (int)case_get(r, 1);
    for (int i = 0; i < d.ndim; i++) d.shape[i] = case_get(r, 2);
    (void)cbx_array_desc_count(&d, &count, NULL);
    parts = count * (d.dtype == CBX_C64 || d.dtype == CBX_C128 ? 2 : 1);
    if (k->mode == BITS || k->mode == ZEROS) {
        uint64_t hash = case_get(r, 8);
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
    memcpy(&tol, case_skip(r, 8), 8);
    want = case_skip(r, count * cbx_dtype_size(d.dtype));
    if (st || !cbx_array_desc_equal(&d, cbx_array_get_desc(got))) {
        complain(v, s, k, number, st ? message : cbx_array_desc_text(&d, (char[160]){ 0 }, 160), st ? NULL : got);
        return;
    }
    data = calloc(2, cbx_array_bytes(got) + 1);
    CHECK_OK(cbx_array_read(got, data, cbx_array_bytes(got), NULL), (&(cbx_err){ 0 }), "read");
    memcpy(data + cbx_array_bytes(got), want, cbx_array_bytes(got)); /* aligned, as the file is not */
    for (size_t i = 0; i < parts; i++) {
        double g = case_number_at(d.dtype, data, i), w = case_number_at(d.dtype, data + cbx_array_bytes(got), i);
        if (!near_enough(d.dtype, g, w, k->mode, tol)) {
            char what[120];
            snprintf(what, sizeof what, "element %zu is %.17g, NumPy's %.17g", i, g, w);
            complain(v, s, k, number, what, NULL);
            break;
        }
    }
    free(data);
}

/* Past the result of a case. */
static void skip_result(case_reader *r, int mode)
{
    size_t count = 1, size;
    int ndim;

    if (mode == ERROR) return;
    size = cbx_dtype_size((cbx_dtype)case_get(r, 1));
    ndim = (int)case_get(r, 1);
    for (int i = 0; i < ndim; i++) count *= case_get(r, 2);
    case_skip(r, mode == BITS || mode == ZEROS ? 8 : 8 + count * size);
}

/* One in spoil cases is changed before it is compared (0: none). */
static verdict run(numpy_suite *s, uint32_t spoil)
{
    case_reader r = s->cases;
    verdict v = { 0 };

    for (uint32_t i = 0; i < s->total; i++) {
        numpy_case k = { .name = (int)case_get(&r, 2),
                         .mode = (int)case_get(&r, 1),
                         .nin = (int)case_get(&r, 1),
                         .nattr = (int)case_get(&r, 1) };
        cbx_err err = CBX_ERR_INIT;
        cbx_scope scope;
        cbx_array *got;
        cbx_status st;
        for (int j = 0; j < k.nattr; j++) k.attr[j] = (int32_t)case_get(&r, 4);
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

void numpy_agrees(numpy_suite *s, unsigned min)
{
    verdict v = run(s, 0);

    if (v.wrong) fail_msg("%u of %u cases differ; %s", v.wrong, s->total, v.first);
    CHECK(s->total >= min, "as many cases as were promised");
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
    int seen[NUMPY_NAMES_MAX] = { 0 };
    size_t failures = 0;
    case_reader r = s->cases;

    for (uint32_t i = 0; i < s->total; i++) {
        numpy_case k = { .name = (int)case_get(&r, 2),
                         .mode = (int)case_get(&r, 1),
                         .nin = (int)case_get(&r, 1),
                         .nattr = (int)case_get(&r, 1) };
        cbx_scope scope;
        for (int j = 0; j < k.nattr; j++) k.attr[j] = (int32_t)case_get(&r, 4);
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

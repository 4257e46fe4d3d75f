/* Files of cases: reading, comparing, torturing. */
#include "cases.h"

#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail_alloc.h"

enum { NEAR, REFUSED, UNDEFINED };

typedef struct reader {
    const unsigned char *at, *end;
} reader;

typedef struct result {
    double tol;
    cbx_array_desc desc;
    const unsigned char *data;
} result;

static uint64_t get(reader *r, int bytes)
{
    uint64_t v = 0;

    CHECK(r->end - r->at >= bytes, "the file of cases is whole");
    for (int i = 0; i < bytes; i++) v |= (uint64_t)*r->at++ << 8 * i;
    return v;
}

static double get_f64(reader *r)
{
    uint64_t bits = get(r, 8);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

static const unsigned char *get_array(reader *r, cbx_array_desc *d)
{
    const unsigned char *data;
    size_t bytes;

    *d = (cbx_array_desc){ .dtype = (cbx_dtype)get(r, 1) };
    d->ndim = (int)get(r, 1);
    bytes = cbx_dtype_size(d->dtype);
    for (int i = 0; i < d->ndim; i++) bytes *= d->shape[i] = get(r, 2);
    data = r->at;
    CHECK((size_t)(r->end - r->at) >= bytes, "the file of cases is whole");
    r->at += bytes;
    return data;
}

static void release(void *user) { free(user); }

/* The operand with strides by its layout. */
static const cbx_array *get_operand(reader *r, cbx_ctx *ctx)
{
    int layout = (int)get(r, 1);
    cbx_array_desc d;
    const unsigned char *from = get_array(r, &d);
    ptrdiff_t strides[CBX_MAX_RANK] = { 0 }, step = layout == 2 ? 2 : 1, first = 0;
    size_t index[CBX_MAX_RANK] = { 0 }, size = cbx_dtype_size(d.dtype), count = 1;
    unsigned char *data;
    cbx_array *a = NULL;

    for (int i = d.ndim - 1; i >= 0; i--) {
        int axis = layout == 1 ? d.ndim - 1 - i : i;
        strides[axis] = step;
        step *= (ptrdiff_t)d.shape[axis];
        count *= d.shape[axis];
        if (layout == 3 && d.shape[axis]) {
            first += strides[axis] * ((ptrdiff_t)d.shape[axis] - 1);
            strides[axis] = -strides[axis];
        }
    }
    data = calloc((size_t)step + 1, size);
    for (size_t i = 0; i < count; i++) {
        ptrdiff_t at = first;
        for (int k = 0; k < d.ndim; k++) at += (ptrdiff_t)index[k] * strides[k];
        memcpy(data + at * (ptrdiff_t)size, from + i * size, size);
        for (int k = d.ndim - 1; k >= 0 && ++index[k] == d.shape[k]; k--) index[k] = 0;
    }
    CHECK_OK(cbx_array_wrap(ctx, &d, strides, data + first * (ptrdiff_t)size, release, data, &a, NULL),
             (&(cbx_err){ 0 }), "operand");
    return cbx_scope_hold(ctx, a);
}

static array_case get_case(reader *r, cbx_ctx *ctx, result *want)
{
    array_case k = { 0 };
    size_t n = get(r, 1);

    CHECK(n < sizeof k.name, "room for the name");
    for (size_t i = 0; i < n; i++) k.name[i] = (char)get(r, 1);
    k.mode = (int)get(r, 1);
    k.nattr = (int)get(r, 1);
    CHECK(k.nattr <= CASE_ATTRS, "room for the attributes");
    for (int i = 0; i < k.nattr; i++) k.attr[i] = get_f64(r);
    k.nin = (int)get(r, 1);
    k.nout = (int)get(r, 1);
    for (int i = 0; i < k.nin; i++) k.in[i] = get_operand(r, ctx);
    for (int i = 0; i < k.nout; i++) {
        want[i].tol = get_f64(r);
        want[i].data = get_array(r, &want[i].desc);
    }
    return k;
}

static double number_at(cbx_dtype t, const void *data, size_t i)
{
    switch (t) {
    case CBX_F32:
    case CBX_C64: return ((const float *)data)[i];
    case CBX_F64:
    case CBX_C128: return ((const double *)data)[i];
    case CBX_I32: return ((const int32_t *)data)[i];
    case CBX_I64: return (double)((const int64_t *)data)[i];
    case CBX_U64: return (double)((const uint64_t *)data)[i];
    default: return ((const uint8_t *)data)[i];
    }
}

/* NULL, or what differs: written to text. */
static const char *difference(const cbx_array *got, const result *want, char text[700])
{
    size_t bytes = cbx_array_bytes(got);
    bool pairs = want->desc.dtype == CBX_C64 || want->desc.dtype == CBX_C128;
    char a[160], b[160];
    unsigned char *data;
    const char *bad = NULL;

    if (!cbx_array_desc_equal(cbx_array_get_desc(got), &want->desc)) {
        snprintf(text, 700, "ours is %s, NumPy's %s", cbx_array_desc_text(cbx_array_get_desc(got), a, sizeof a),
                 cbx_array_desc_text(&want->desc, b, sizeof b));
        return text;
    }
    data = calloc(2, bytes + 1);
    CHECK_OK(cbx_array_read(got, data, bytes, NULL), (&(cbx_err){ 0 }), "read");
    memcpy(data + bytes, want->data, bytes); /* aligned, as the file is not */
    for (size_t i = 0; i < cbx_array_count(got) << pairs && !bad; i++) {
        double g = number_at(want->desc.dtype, data, i), w = number_at(want->desc.dtype, data + bytes, i);
        bool same = isnan(w) ? !isfinite(g) : g == w || fabs(g - w) <= want->tol;
        if (same) continue;
        snprintf(text, 700, "number %zu is %.17g, NumPy's %.17g, tolerance %.3g", i, g, w, want->tol);
        bad = text;
    }
    free(data);
    return bad;
}

/* What is wrong with a case; NULL: nothing. */
static const char *judge(cbx_ctx *ctx, const array_case *k, cbx_array *const *out, const result *want, char text[700])
{
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_ctx_pending(ctx, &err);

    if (k->mode != NEAR) {
        if (st == CBX_EDOM || (k->mode == REFUSED && st)) return NULL;
        return snprintf(text, 700, "NumPy refuses it, ours says '%s'", cbx_status_name(st)), text;
    }
    if (st) return snprintf(text, 700, "%s", err.message), text;
    for (int i = 0; i < k->nout; i++)
        if (difference(out[i], &want[i], text)) return text;
    return NULL;
}

static case_fn find(const case_row *rows, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0) return rows[i].fn;
    fail_msg("no function '%s' in the table", name);
    return NULL;
}

typedef struct bytes {
    unsigned char *data;
    reader at;
    size_t cases;
} bytes;

static bytes slurp(const char *file)
{
    char path[1024];
    bytes b = { 0 };
    long size;
    FILE *fp;

    snprintf(path, sizeof path, "%s/tests/array/fixtures/%s", getenv("CALIBRAX_SOURCE_ROOT"), file);
    fp = fopen(path, "rb");
    if (!fp) fail_msg("cannot open '%s'", path);
    fseek(fp, 0, SEEK_END);
    size = ftell(fp);
    rewind(fp);
    b.data = malloc((size_t)size);
    CHECK_INT(fread(b.data, 1, (size_t)size, fp), size, "the whole file");
    fclose(fp);
    b.at = (reader){ b.data, b.data + size };
    CHECK(size > 12 && memcmp(b.data, "CBXCASE\n", 8) == 0, "a file of cases");
    b.at.at += 8;
    b.cases = get(&b.at, 4);
    return b;
}

static cbx_array *spoiled(cbx_ctx *c, cbx_array *x)
{
    return cbx_multiply(
        c, x, cbx_weak(c, x, cbx_dtype_kind(cbx_array_dtype(x)) > CBX_KIND_INT ? cbx_float(1.01) : cbx_int(2)));
}

/* Number of cases that are wrong; the first one is told in text. */
static size_t run(const char *file, const case_row *rows, size_t nrows, bool spoil, size_t *cases, char text[900])
{
    bytes b = slurp(file);
    cbx_ctx *ctx = NULL;
    size_t wrong = 0;

    CHECK_OK(cbx_ctx_create(NULL, &ctx, NULL), (&(cbx_err){ 0 }), "context");
    for (size_t i = 0; i < b.cases; i++) {
        result want[CASE_RESULTS];
        cbx_array *out[CASE_RESULTS] = { 0 };
        char what[700];
        cbx_scope scope;
        cbx_scope_open(ctx, &scope);
        array_case k = get_case(&b.at, ctx, want);
        find(rows, nrows, k.name)(ctx, &k, out);
        if (spoil && k.mode == NEAR && !cbx_array_is_failed(out[0])) out[0] = spoiled(ctx, out[0]);
        if (judge(ctx, &k, out, want, what)) {
            if (wrong++ == 0 || getenv("CBX_TEST_ALL")) {
                int n = snprintf(text, 900, "case %zu: %s(", i, k.name);
                for (int j = 0; j < k.nin; j++)
                    n += snprintf(text + n, 900 - (size_t)n, "%s%s", j ? ", " : "",
                                  cbx_array_desc_text(cbx_array_get_desc(k.in[j]), (char[80]){ 0 }, 80));
                for (int j = 0; j < k.nattr; j++) n += snprintf(text + n, 900 - (size_t)n, "; %g", k.attr[j]);
                snprintf(text + n, 900 - (size_t)n, "): %s", what);
                if (getenv("CBX_TEST_ALL") && !spoil) fprintf(stderr, "# %s\n", text);
            }
        }
        cbx_scope_close(&scope, NULL);
    }
    CHECK(b.at.at == b.at.end, "every byte was read");
    *cases = b.cases;
    cbx_ctx_free(ctx);
    free(b.data);
    return wrong;
}

void cases_agree(const char *file, const case_row *rows, size_t nrows, size_t least)
{
    char text[900];
    size_t cases, wrong = run(file, rows, nrows, false, &cases, text);

    if (wrong) fail_msg("%zu of %zu cases differ; %s", wrong, cases, text);
    CHECK(cases >= least, "as many cases as were promised");
}

void cases_can_fail(const char *file, const case_row *rows, size_t nrows)
{
    char text[900];
    size_t cases, wrong = run(file, rows, nrows, true, &cases, text);

    CHECK_GT(wrong, cases / 2, "spoiled results are seen");
}

typedef struct torture {
    case_fn fn;
    const array_case *k;
} torture;

static cbx_status run_one(cbx_ctx *ctx, void *user)
{
    const torture *t = user;
    cbx_array *out[CASE_RESULTS] = { 0 };
    cbx_scope scope;

    cbx_scope_open(ctx, &scope);
    t->fn(ctx, t->k, out);
    return cbx_scope_close(&scope, NULL);
}

void cases_survive(const char *file, const case_row *rows, size_t nrows)
{
    bytes b = slurp(file);
    cbx_ctx *ctx = NULL;
    size_t failures = 0;
    int *seen = calloc(nrows, sizeof *seen);

    CHECK_OK(cbx_ctx_create(NULL, &ctx, NULL), (&(cbx_err){ 0 }), "context");
    for (size_t i = 0; i < b.cases; i++) {
        result want[CASE_RESULTS];
        cbx_scope scope;
        cbx_scope_open(ctx, &scope);
        array_case k = get_case(&b.at, ctx, want);
        case_fn fn = find(rows, nrows, k.name);
        size_t row = 0;
        while (rows[row].fn != fn) row++;
        /* operands live in another context than the one that fails; the first cases of a name are often empty */
        if (k.mode == NEAR && seen[row]++ % 16 == 0 && seen[row] < 100)
            failures += cbx_test_fail_each(run_one, &(torture){ fn, &k }, k.name);
        cbx_scope_close(&scope, NULL);
    }
    for (size_t i = 0; i < nrows; i++) CHECK(seen[i], rows[i].name);
    CHECK_GT(failures, 300, "allocations were made to fail");
    cbx_ctx_free(ctx);
    free(seen);
    free(b.data);
}

const cbx_axes *case_axes(const array_case *k, int first, bool keep, cbx_axes *to)
{
    if (k->nattr == first && !keep) return NULL;
    *to = (cbx_axes){ .n = k->nattr - first, .keep = keep };
    for (int i = 0; i < to->n; i++) to->axis[i] = (int)k->attr[first + i];
    if (to->n == 0) { /* all of them, kept */
        to->n = cbx_array_ndim(k->in[0]);
        for (int i = 0; i < to->n; i++) to->axis[i] = i;
    }
    return to;
}

/* Files of cases: reading, comparing, torturing. */
#include "cases.h"

#include "case_file.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "fail_alloc.h"

enum { NEAR, REFUSED, UNDEFINED };

typedef struct result {
    double tol;
    cbx_array_desc desc;
    const unsigned char *data;
} result;

static const unsigned char *get_array(case_reader *r, cbx_array_desc *d)
{
    size_t bytes;

    *d = (cbx_array_desc){ .dtype = (cbx_dtype)case_get(r, 1) };
    d->ndim = (int)case_get(r, 1);
    bytes = cbx_dtype_size(d->dtype);
    for (int i = 0; i < d->ndim; i++) bytes *= d->shape[i] = case_get(r, 2);
    return case_skip(r, bytes);
}

typedef struct packed {
    const unsigned char *data;
    size_t size;
} packed;

static const void *element(const void *user, size_t i)
{
    const packed *p = user;

    return p->data + i * p->size;
}

static const cbx_array *get_operand(case_reader *r, cbx_ctx *ctx)
{
    int layout = (int)case_get(r, 1);
    cbx_array_desc d;
    packed p = { .data = get_array(r, &d) };

    p.size = cbx_dtype_size(d.dtype);
    return case_operand(ctx, &d, layout, element, &p);
}

static array_case get_case(case_reader *r, cbx_ctx *ctx, result *want)
{
    array_case k = { 0 };
    size_t n = case_get(r, 1);

    CHECK(n < sizeof k.name, "capacity for the name");
    for (size_t i = 0; i < n; i++) k.name[i] = (char)case_get(r, 1);
    k.mode = (int)case_get(r, 1);
    k.nattr = (int)case_get(r, 1);
    CHECK(k.nattr <= CASE_ATTRS, "capacity for the attributes");
    for (int i = 0; i < k.nattr; i++) k.attr[i] = case_get_f64(r);
    k.nin = (int)case_get(r, 1);
    k.nout = (int)case_get(r, 1);
    for (int i = 0; i < k.nin; i++) k.in[i] = get_operand(r, ctx);
    for (int i = 0; i < k.nout; i++) {
        want[i].tol = case_get_f64(r);
        want[i].data = get_array(r, &want[i].desc);
    }
    return k;
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
        double g = case_number_at(want->desc.dtype, data, i), w = case_number_at(want->desc.dtype, data + bytes, i);
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
        if (st == CBX_EDOM || st == CBX_EINDEX || (k->mode == REFUSED && st)) return NULL;
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
    case_reader at;
    size_t cases;
} bytes;

static bytes slurp(const char *file)
{
    bytes b = { 0 };

    b.data = case_file_open(file, "CBXCASE\n", &b.at);
    b.cases = case_get(&b.at, 4);
    return b;
}

static cbx_array *spoiled(cbx_ctx *c, cbx_array *x)
{
    return cbx_multiply(
        c, x, cbx_weak(c, x, cbx_dtype_kind(cbx_array_dtype(x)) > CBX_KIND_INT ? cbx_float(1.01) : cbx_int(2)));
}

/* Number of cases that are wrong; the first one is described in text. */
static size_t run(const char *file, const case_row *rows, size_t nrows, bool spoil, size_t *cases, char text[900])
{
    bytes b = slurp(file);
    cbx_ctx *ctx = cbx_test_context();
    size_t wrong = 0;

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

void cases_agree(const char *file, const case_row *rows, size_t nrows, size_t min)
{
    char text[900];
    size_t cases, wrong = run(file, rows, nrows, false, &cases, text);

    if (wrong) fail_msg("%zu of %zu cases differ; %s", wrong, cases, text);
    CHECK(cases >= min, "as many cases as were promised");
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
    cbx_ctx *ctx = cbx_test_context();
    size_t failures = 0;
    int *seen = calloc(nrows, sizeof *seen);

    for (size_t i = 0; i < b.cases; i++) {
        result want[CASE_RESULTS];
        cbx_scope scope;
        cbx_scope_open(ctx, &scope);
        array_case k = get_case(&b.at, ctx, want);
        case_fn fn = find(rows, nrows, k.name);
        size_t row = 0;
        while (rows[row].fn != fn) row++;
        /* operands live in another context than the one that fails; the first cases of a name are
         * often empty */
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

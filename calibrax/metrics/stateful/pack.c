/*
 * States as bytes: "cbxstate", version, name, parameters, 1 if a function made its features (else
 * 0), number of updates, then what is kept.  Numbers are little-endian of 64 bits, a text is its
 * length and its bytes, an array the length of an NPY file and the file. Version 3: metrics of
 * labels keep the counts of each class, not those of pairs; earlier ones are refused.
 */
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/io/npy.h"
#include "calibrax/metrics/stateful/state_internal.h"

static const char magic[8] = { 'c', 'b', 'x', 's', 't', 'a', 't', 'e' };
enum { VERSION = 3 };

/* ---- writing ---- */

static void put_number(cbx_text *t, uint64_t v)
{
    char b[8];
    for (int i = 0; i < 8; i++) b[i] = (char)(v >> (8 * i) & 0xff);
    cbx_text_add(t, b, sizeof b);
}

static void put_double(cbx_text *t, double x)
{
    uint64_t v;
    memcpy(&v, &x, sizeof v);
    put_number(t, v);
}

static cbx_status put_array(cbx_ctx *ctx, cbx_text *t, const cbx_array *a, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    size_t head = 0;
    char *file;
    cbx_status st = cbx_npy_make_header(cbx_array_get_desc(a), NULL, 0, &head, err);
    const size_t size = head + cbx_array_bytes(a);

    if (st) return st;
    if (!(file = cbx_mem_alloc(al, size))) return cbx_fail_nomem(err, "an array of a state");
    st = cbx_npy_make_header(cbx_array_get_desc(a), file, head, NULL, err);
    if (!st) st = cbx_array_read(a, file + head, size - head, err);
    put_number(t, size);
    cbx_text_add(t, file, size);
    cbx_mem_free(al, file, size);
    return st;
}

/* Arrays of one batch: which of them there are, then these. */
static cbx_status put_batch(cbx_ctx *ctx, cbx_text *t, const cbx__batch *b, cbx_err *err)
{
    cbx_status st = CBX_OK;
    uint64_t which = 0;

    for (size_t i = 0; i < CBX_LEN(b->in); i++) which |= (uint64_t)(b->in[i] != NULL) << i;
    put_number(t, which);
    for (size_t i = 0; i < CBX_LEN(b->in) && !st; i++)
        if (b->in[i]) st = put_array(ctx, t, b->in[i], err);
    return st;
}

cbx_status cbx_metric_state_pack(cbx_ctx *ctx, const cbx_metric_state *s, cbx_text *out, cbx_err *err)
{
    const cbx_metric_function *m = s->b.metric;
    const size_t parameters = cbx_metric_parameters(m), length = strlen(m->name);
    cbx_status st = CBX_OK;

    cbx_text_add(out, magic, sizeof magic);
    put_number(out, VERSION);
    put_number(out, length);
    cbx_text_add(out, m->name, length);
    put_number(out, parameters);
    for (size_t i = 0; i < parameters; i++) put_double(out, s->b.parameters[i]);
    put_number(out, s->mapped);
    put_number(out, s->updates);
    put_number(out, s->sum ? 2 : s->batches.n);
    if (s->sum) {
        st = put_array(ctx, out, s->sum, err);
        if (!st) st = put_array(ctx, out, s->rest, err);
    }
    for (size_t i = 0; i < s->batches.n && !st; i++) st = put_batch(ctx, out, &s->batches.items[i], err);
    return st ? st : cbx_text_check(out, err);
}

/* ---- reading ---- */

typedef struct reader {
    const unsigned char *at;
    size_t left;
} reader;

static cbx_status cut(cbx_err *err) { return cbx_fail(err, CBX_EFORMAT, "the bytes of a metric's state are cut off"); }

static cbx_status get_number(reader *r, uint64_t *out, cbx_err *err)
{
    *out = 0;
    if (r->left < 8) return cut(err);
    for (int i = 0; i < 8; i++) *out |= (uint64_t)r->at[i] << (8 * i);
    r->at += 8;
    r->left -= 8;
    return CBX_OK;
}

/* A length, and where so many bytes begin. */
static cbx_status get_bytes(reader *r, const void **out, size_t *n, cbx_err *err)
{
    uint64_t length;
    cbx_status st = get_number(r, &length, err);

    *out = r->at;
    *n = 0;
    if (st) return st;
    if (length > r->left) return cut(err);
    *n = (size_t)length;
    r->at += length;
    r->left -= (size_t)length;
    return CBX_OK;
}

static cbx_status get_array(cbx_ctx *ctx, reader *r, cbx_array **out, cbx_err *err)
{
    const void *file;
    size_t n;
    cbx_status st = get_bytes(r, &file, &n, err);

    return st ? st : cbx_npy_decode(ctx, file, n, out, err);
}

/* The metric and its parameters: an empty state of them. */
static cbx_status get_metric(cbx_ctx *ctx, const cbx_metric_function *m, reader *r, const cbx_fn *function,
                             cbx_metric_state **out, cbx_err *err)
{
    double parameters[CBX_METRIC_MAX_PARAMETERS];
    const void *text;
    char name[128];
    uint64_t version, count, v, mapped = 0;
    size_t n;
    cbx_status st;

    if (r->left < sizeof magic || memcmp(r->at, magic, sizeof magic) != 0)
        return cbx_fail(err, CBX_EFORMAT, "these bytes are not a state of a metric");
    r->at += sizeof magic;
    r->left -= sizeof magic;
    st = get_number(r, &version, err);
    if (st) return st;
    if (version != VERSION)
        return cbx_fail(err, CBX_EVERSION, "a metric's state of version %llu: this release reads version %d",
                        (unsigned long long)version, VERSION);
    st = get_bytes(r, &text, &n, err);
    if (st) return st;
    if (n >= sizeof name || memchr(text, 0, n)) return cbx_fail(err, CBX_EFORMAT, "a state's metric has no name");
    memcpy(name, text, n);
    name[n] = '\0';
    if (!m)
        st = cbx_metric_find(ctx, name, &m, err);
    else if (strcmp(name, m->name) != 0)
        st = cbx_fail(err, CBX_EINVAL, "%s: these bytes are a state of %s", m->name, name);
    if (!st) st = get_number(r, &count, err);
    if (!st && count != cbx_metric_parameters(m))
        st = cbx_fail(err, CBX_EINVAL, "%s: a state has %llu parameters, the metric has %zu", name,
                      (unsigned long long)count, cbx_metric_parameters(m));
    for (size_t i = 0; !st && i < count; i++) {
        st = get_number(r, &v, err);
        memcpy(&parameters[i], &v, sizeof v);
        if (!st && isnan(parameters[i])) st = cbx_fail(err, CBX_EINVAL, "%s: a parameter of a state is NaN", name);
    }
    if (!st) st = get_number(r, &mapped, err);
    if (!st && mapped > (m->flags & CBX_METRIC_FEATURES ? 1 : 0))
        st = cbx_fail(err, CBX_EFORMAT, "%s: a state has a function of number %llu", name, (unsigned long long)mapped);
    if (st) return st;
    st = cbx_metric_state_create(ctx, m, &(cbx_metric_options){ .parameters = parameters, .function = function }, out,
                                 err);
    if (st) return st;
    (*out)->mapped |= mapped;
    return CBX_OK;
}

/* Sum and rest, of one shape but for parts that are merged: their rest is a number. */
static cbx_status get_sums(cbx_ctx *ctx, reader *r, cbx_metric_state *s, cbx_err *err)
{
    const cbx_array_desc *a, *b;
    cbx_status st = get_array(ctx, r, &s->sum, err);

    if (!st) st = get_array(ctx, r, &s->rest, err);
    if (st) return st;
    a = cbx_array_get_desc(s->sum);
    b = cbx_array_get_desc(s->rest);
    if (a->dtype != CBX_F64 || b->dtype != CBX_F64 ||
        (s->b.metric->merge ? b->ndim > 0 : !cbx_array_desc_equal(a, b)) ||
        (s->b.metric->items && (a->ndim != 1 || a->shape[0] != 2)))
        return cbx_fail(err, CBX_EFORMAT, "%s: the sums of a state have shapes that do not fit", s->b.metric->name);
    return CBX_OK;
}

/* Operands go through the checks of an update; those that a function made are not made again. */
static cbx_status get_batch(cbx_ctx *ctx, reader *r, cbx_metric_state *s, cbx_err *err)
{
    const cbx_fn *function = s->b.function;
    cbx__batch b = { { NULL } };
    cbx_metric_options o = { 0 };
    uint64_t which;
    size_t nin = s->b.metric->flags & CBX_METRIC_APART ? cbx_metric_operands(s->b.metric) : 0;
    cbx_status st = get_number(r, &which, err);

    for (size_t i = 0; i < CBX_LEN(b.in) && !st; i++) {
        if (!(which >> i & 1)) continue;
        st = get_array(ctx, r, &b.in[i], err);
        if (i < CBX_METRIC_MAX_OPERANDS && nin < i + 1) nin = i + 1;
    }
    o.weights = b.in[CBX_METRIC_MAX_OPERANDS];
    if (s->b.metric->flags & CBX_METRIC_FEATURES) s->b.function = NULL;
    if (!st) st = cbx_metric_state_update(ctx, s, nin, b.in, &o, err);
    s->b.function = function;
    for (size_t i = 0; i < CBX_LEN(b.in); i++) cbx_array_free(b.in[i]);
    return st;
}

cbx_status cbx_metric_state_unpack(cbx_ctx *ctx, const cbx_metric_function *m, const void *bytes, size_t size,
                                   const cbx_fn *function, cbx_metric_state **out, cbx_err *err)
{
    reader r = { bytes, size };
    cbx_metric_state *s = NULL;
    uint64_t updates = 0, n = 0;
    cbx_status st = get_metric(ctx, m, &r, function, &s, err);

    if (!st) st = get_number(&r, &updates, err);
    if (!st) st = get_number(&r, &n, err);
    if (!st && (updates > SIZE_MAX || (n && !updates)))
        st = cbx_fail(err, CBX_EFORMAT, "a state has %llu updates", (unsigned long long)updates);
    if (!st && cbx__state_keeps_all(s)) {
        for (uint64_t i = 0; i < n && !st; i++) st = get_batch(ctx, &r, s, err);
    } else if (!st && n == 2) {
        st = get_sums(ctx, &r, s, err);
    } else if (!st && n != 0) {
        st = cbx_fail(err, CBX_EFORMAT, "a state of sums has %llu arrays, not 2", (unsigned long long)n);
    }
    if (!st && r.left) st = cbx_fail(err, CBX_EFORMAT, "%zu bytes follow a metric's state", r.left);
    if (st) {
        cbx_metric_state_free(s);
        return st;
    }
    s->updates = (size_t)updates;
    s->lost = s->mapped && !s->function;
    *out = s;
    return CBX_OK;
}

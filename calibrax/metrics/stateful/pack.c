/*
 * States as bytes: "cbxstate", version, name, parameters, 1 if a function made its features (else
 * 0), number of updates, then what is kept.  Numbers are little-endian of 64 bits, a text is its
 * length and its bytes, an array the length of an NPY file and the file. Version 3: metrics of
 * labels keep the counts of each class, not those of pairs; earlier ones are refused.
 */
#include <string.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/io/npy.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/idioms.h"
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

void cbx__put_bytes(cbx_text *t, const void *bytes, size_t n)
{
    put_number(t, n);
    cbx_text_add(t, bytes, n);
}

static cbx_status put_array(cbx_ctx *ctx, cbx_text *t, const cbx_array *a, cbx_err *err)
{
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    size_t head = 0;
    char *file;
    cbx_status st = cbx_npy_make_header(cbx_array_get_desc(a), NULL, 0, &head, err);
    const size_t size = head + cbx_array_bytes(a);

    if (st) return st;
    if (!(file = cbx_arena_alloc(&arena, size))) return cbx_fail_nomem(err, "an array of a state");
    st = cbx_npy_make_header(cbx_array_get_desc(a), file, head, NULL, err);
    if (!st) st = cbx_array_read(a, file + head, size - head, err);
    cbx__put_bytes(t, file, size);
    return st;
}

cbx_status cbx_metric_state_pack(cbx_ctx *ctx, const cbx_metric_state *s, cbx_text *out, cbx_err *err)
{
    const cbx_metric_function *m = s->b.metric;
    const size_t parameters = cbx_metric_parameters(m);
    cbx_status st = CBX_OK;

    cbx_text_add(out, magic, sizeof magic);
    put_number(out, VERSION);
    cbx__put_bytes(out, m->name, strlen(m->name));
    put_number(out, parameters);
    for (size_t i = 0; i < parameters; i++) {
        uint64_t v;
        memcpy(&v, &s->b.parameters[i], sizeof v);
        put_number(out, v);
    }
    put_number(out, s->mapped);
    put_number(out, s->updates);
    put_number(out, s->sum ? 2 : s->batches.n);
    if (s->sum) {
        st = put_array(ctx, out, s->sum, err);
        if (!st) st = put_array(ctx, out, s->rest, err);
    }
    for (size_t k = 0; k < s->batches.n && !st; k++) { /* of each which arrays there are, then these */
        cbx_array *const *in = s->batches.items[k].in;
        uint64_t which = 0;
        for (size_t i = 0; i < CBX_LEN(s->batches.items->in); i++) which |= (uint64_t)(in[i] != NULL) << i;
        put_number(out, which);
        for (size_t i = 0; i < CBX_LEN(s->batches.items->in) && !st; i++)
            if (in[i]) st = put_array(ctx, out, in[i], err);
    }
    return st ? st : cbx_text_check(out, err);
}

/* ---- reading ---- */

static void take(cbx__reader *r, size_t n)
{
    if (!r->status && r->left < n) r->status = cbx_fail(r->err, CBX_EFORMAT, "the bytes of %s are cut off", r->what);
    if (r->status) return;
    r->at += n;
    r->left -= n;
}

static uint64_t get_number(cbx__reader *r)
{
    uint64_t v = 0;

    take(r, 8);
    for (int i = 0; i < 8 && !r->status; i++) v |= (uint64_t)r->at[i - 8] << (8 * i);
    return v;
}

const void *cbx__get_bytes(cbx__reader *r, size_t *n)
{
    const uint64_t length = get_number(r);
    const void *bytes = r->at;

    take(r, (size_t)length);
    *n = r->status ? 0 : (size_t)length;
    return bytes;
}

/* NULL after a failure. */
static cbx_array *get_array(cbx_ctx *ctx, cbx__reader *r)
{
    size_t n;
    const void *file = cbx__get_bytes(r, &n);
    cbx_array *out = NULL;

    if (!r->status) r->status = cbx_npy_decode(ctx, file, n, &out, r->err);
    return out;
}

/* The metric and its parameters: an empty state of them. */
static cbx_status get_metric(cbx_ctx *ctx, const cbx_metric_function *m, cbx__reader *r, const cbx_fn *function,
                             cbx_metric_state **out)
{
    double parameters[CBX_METRIC_MAX_PARAMETERS];
    uint64_t version, count, v, mapped;
    const void *text;
    char name[128];
    size_t n;

    if (r->left < sizeof magic || memcmp(r->at, magic, sizeof magic) != 0)
        return cbx_fail(r->err, CBX_EFORMAT, "these bytes are not a state of a metric");
    take(r, sizeof magic);
    version = get_number(r);
    if (!r->status && version != VERSION)
        return cbx_fail(r->err, CBX_EVERSION, "a metric's state of version %llu: this release reads version %d",
                        (unsigned long long)version, VERSION);
    text = cbx__get_bytes(r, &n);
    if (r->status) return r->status;
    if (n >= sizeof name || memchr(text, 0, n)) return cbx_fail(r->err, CBX_EFORMAT, "a state's metric has no name");
    memcpy(name, text, n);
    name[n] = '\0';
    if (!m)
        r->status = cbx_metric_find(ctx, name, &m, r->err);
    else if (strcmp(name, m->name) != 0)
        return cbx_fail(r->err, CBX_EINVAL, "%s: these bytes are a state of %s", m->name, name);
    count = get_number(r);
    if (!r->status && count != cbx_metric_parameters(m))
        return cbx_fail(r->err, CBX_EINVAL, "%s: a state has %llu parameters, the metric has %zu", name,
                        (unsigned long long)count, cbx_metric_parameters(m));
    for (size_t i = 0; i < count; i++) {
        v = get_number(r);
        memcpy(&parameters[i], &v, sizeof v);
        if (isnan(parameters[i])) return cbx_fail(r->err, CBX_EINVAL, "%s: a parameter of a state is NaN", name);
    }
    mapped = get_number(r);
    if (r->status) return r->status;
    if (mapped > (m->flags & CBX_METRIC_FEATURES ? 1 : 0))
        return cbx_fail(r->err, CBX_EFORMAT, "%s: a state has a function of number %llu", name,
                        (unsigned long long)mapped);
    r->status = cbx_metric_state_create(ctx, m, &(cbx_metric_options){ .parameters = parameters, .function = function },
                                        out, r->err);
    if (!r->status) (*out)->mapped |= mapped;
    return r->status;
}

/* Sum and rest, of one shape but for parts that are merged: their rest is a number. */
static cbx_status get_sums(cbx_ctx *ctx, cbx__reader *r, cbx_metric_state *s)
{
    const cbx_array_desc *a, *b;

    s->sum = get_array(ctx, r);
    s->rest = get_array(ctx, r);
    if (r->status) return r->status;
    a = cbx_array_get_desc(s->sum);
    b = cbx_array_get_desc(s->rest);
    if (a->dtype != CBX_F64 || b->dtype != CBX_F64 ||
        (s->b.metric->merge ? b->ndim > 0 : !cbx_array_desc_equal(a, b)) ||
        (s->b.metric->items && (a->ndim != 1 || a->shape[0] != 2)))
        return cbx_fail(r->err, CBX_EFORMAT, "%s: the sums of a state have shapes that do not fit", s->b.metric->name);
    return CBX_OK;
}

/* Operands go through the checks of an update; those that a function made are not made again. */
static cbx_status get_batch(cbx_ctx *ctx, cbx__reader *r, cbx_metric_state *s)
{
    const cbx_fn *function = s->b.function;
    cbx__batch b = { { NULL } };
    cbx_metric_options o = { 0 };
    size_t nin = s->b.metric->flags & CBX_METRIC_APART ? cbx_metric_operands(s->b.metric) : 0;
    const uint64_t which = get_number(r);

    for (size_t i = 0; i < CBX_LEN(b.in); i++) {
        if (!(which >> i & 1)) continue;
        b.in[i] = get_array(ctx, r);
        if (i < CBX_METRIC_MAX_OPERANDS && nin < i + 1) nin = i + 1;
    }
    o.weights = b.in[CBX_METRIC_MAX_OPERANDS];
    if (s->b.metric->flags & CBX_METRIC_FEATURES) s->b.function = NULL;
    if (!r->status) r->status = cbx_metric_state_update(ctx, s, nin, b.in, &o, r->err);
    s->b.function = function;
    for (size_t i = 0; i < CBX_LEN(b.in); i++) cbx_array_free(b.in[i]);
    return r->status;
}

cbx_status cbx_metric_state_unpack(cbx_ctx *ctx, const cbx_metric_function *m, const void *bytes, size_t size,
                                   const cbx_fn *function, cbx_metric_state **out, cbx_err *err)
{
    cbx__reader r = { bytes, size, "a metric's state", err, CBX_OK };
    cbx_metric_state *s = NULL;
    cbx_status st = get_metric(ctx, m, &r, function, &s);

    if (st) return st;
    const uint64_t updates = get_number(&r), n = get_number(&r);
    st = r.status;
    if (updates > SIZE_MAX || (n && !updates))
        st = cbx_fail(err, CBX_EFORMAT, "a state has %llu updates", (unsigned long long)updates);
    else if (cbx__state_keeps_all(s))
        for (uint64_t i = 0; i < n && !st; i++) st = get_batch(ctx, &r, s);
    else if (n == 2)
        st = get_sums(ctx, &r, s);
    else if (n != 0)
        st = cbx_fail(err, CBX_EFORMAT, "a state of sums has %llu arrays, not 2", (unsigned long long)n);
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

/*
 * Calls of an array function by signature.  A signature keeps its first call, and of its later ones the median of the last few.
 */
#include "calibrax/profiling/compilation.h"
#include "calibrax/array/backend.h"
#include "calibrax/base/options.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/array/transform.h"
#include "calibrax/base/clock.h"

enum { LATER = 31 }; /* calls kept, the newest in the place of the oldest */

typedef struct signature {
    size_t first_desc; /* of nin in the list of descriptions */
    char *text;        /* of a book: what the caller calls it */
    uint64_t calls;
    double first_s, later_s[LATER];
} signature;

struct cbx_compilation {
    cbx_allocator al;
    cbx_fn face, *inner;
    uint64_t (*clock_ns)(void);
    signature *seen;
    cbx_array_desc *descs; /* nin for each signature */
    size_t count, room;
    uint64_t calls;
};

const char *cbx_compile_level_name(cbx_compile_level h)
{
    static const char *const names[] = { "poor", "moderate", "good", "excellent" };
    return (unsigned)h < CBX_LEN(names) ? names[h] : "?";
}

/* --- signatures --- */

static bool matches(const cbx_compilation *c, const signature *s, cbx_array *const *in)
{
    for (size_t i = 0; i < c->face.nin; i++) {
        if (!cbx_array_desc_equal(&c->descs[s->first_desc + i], cbx_array_get_desc(in[i]))) return false;
    }
    return true;
}

static bool reserve(cbx_compilation *c)
{
    size_t room = c->room ? 2 * c->room : 8, per = c->face.nin ? c->face.nin : 1;
    signature *seen;
    cbx_array_desc *descs;

    if (c->count < c->room) return true;
    seen = cbx_mem_resize(&c->al, c->seen, c->room * sizeof *seen, room * sizeof *seen);
    if (!seen) return false;
    c->seen = seen;
    descs = cbx_mem_resize(&c->al, c->descs, c->room * per * sizeof *descs, room * per * sizeof *descs);
    if (!descs) { /* as it was, so that both have one size */
        seen = cbx_mem_resize(&c->al, c->seen, room * sizeof *seen, c->room * sizeof *seen);
        if (seen || !c->room) c->seen = seen;
        return false;
    }
    c->descs = descs;
    c->room = room;
    return true;
}

/* One more, without calls; NULL: no memory. */
static signature *add(cbx_compilation *c)
{
    if (!reserve(c)) return NULL;
    c->seen[c->count] = (signature){ .first_desc = c->count * c->face.nin };
    return &c->seen[c->count++];
}

/* NULL: no memory. */
static signature *find(cbx_compilation *c, cbx_array *const *in)
{
    signature *s;

    for (size_t i = 0; i < c->count; i++) {
        if (matches(c, &c->seen[i], in)) return &c->seen[i];
    }
    s = add(c);
    for (size_t i = 0; s && i < c->face.nin; i++) c->descs[s->first_desc + i] = *cbx_array_get_desc(in[i]);
    return s;
}

static signature *find_text(cbx_compilation *c, const char *text)
{
    size_t bytes = strlen(text) + 1;
    signature *s;
    char *copy;

    for (size_t i = 0; i < c->count; i++) {
        if (strcmp(c->seen[i].text, text) == 0) return &c->seen[i];
    }
    copy = cbx_mem_alloc(&c->al, bytes);
    s = copy ? add(c) : NULL;
    if (s)
        s->text = memcpy(copy, text, bytes);
    else
        cbx_mem_free(&c->al, copy, bytes);
    return s;
}

static void record(signature *s, double seconds)
{
    if (s->calls == 0)
        s->first_s = seconds;
    else
        s->later_s[(s->calls - 1) % LATER] = seconds;
    s->calls++;
}

static uint64_t now(const cbx_compilation *c) { return c->clock_ns ? c->clock_ns() : cbx_clock_ns(); }

static cbx_status call_watched(cbx_ctx *ctx, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    cbx_compilation *c = user;
    const cbx_backend *b = cbx_ctx_backend(ctx);
    cbx_err err = CBX_ERR_INIT;
    uint64_t start;
    signature *s;
    cbx_status st;

    for (size_t i = 0; i < nin; i++) {
        if (cbx_array_is_abstract(in[i])) return cbx_fn_call(ctx, c->inner, nin, in, nout, out);
    }
    s = find(c, in);
    if (!s) return CBX_ENOMEM;
    start = now(c);
    st = cbx_fn_call(ctx, c->inner, nin, in, nout, out);
    if (!st && b->sync) st = b->sync(b, ctx, &err);
    if (!st) {
        record(s, 1e-9 * (double)(now(c) - start));
        c->calls++;
    }
    return st;
}

/* --- life --- */

cbx_status cbx_compilation_watch(cbx_ctx *ctx, const cbx_fn *f, const cbx_compilation_opts *opts, cbx_compilation **out,
                                 cbx_err *err)
{
    cbx_compilation_opts o = CBX_COMPILATION_OPTS_INIT;
    cbx_compilation *c;
    cbx_status st;

    st = cbx_take_options(&o, sizeof o, opts, "cbx_compilation_opts", err);
    if (st) return st;
    if (!f || !f->call) return cbx_fail(err, CBX_EINVAL, "no function to watch");
    c = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *c);
    if (!c) return cbx_fail_nomem(err, f->name);
    c->al = *cbx_ctx_allocator(ctx);
    c->clock_ns = o.clock_ns;
    st = o.as_it_is ? cbx_fn_keep(ctx, f, &c->inner, err) : cbx_jit(ctx, f, &c->inner, err);
    if (st) {
        cbx_compilation_free(c);
        return st;
    }
    c->face = (cbx_fn){ c->inner->name, call_watched, c, f->nin, f->nout, NULL };
    *out = c;
    return CBX_OK;
}

const cbx_fn *cbx_compilation_fn(const cbx_compilation *c) { return &c->face; }

cbx_status cbx_compilation_open(cbx_ctx *ctx, cbx_compilation **out, cbx_err *err)
{
    cbx_compilation *c = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *c);

    if (!c) return cbx_fail_nomem(err, "a book of calls");
    c->al = *cbx_ctx_allocator(ctx);
    *out = c;
    return CBX_OK;
}

cbx_status cbx_compilation_record(cbx_compilation *c, const char *signature_text, double seconds, cbx_err *err)
{
    signature *s;

    if (c->inner) return cbx_fail(err, CBX_EINVAL, "this watches a function: its calls are recorded by themselves");
    if (!(isfinite(seconds) && seconds >= 0))
        return cbx_fail(err, CBX_EDOM, "a call took %g s: say 0 or more", seconds);
    s = find_text(c, signature_text);
    if (!s) return cbx_fail_nomem(err, "a signature");
    record(s, seconds);
    c->calls++;
    return CBX_OK;
}

static void forget(cbx_compilation *c)
{
    for (size_t i = 0; i < c->count; i++) {
        if (c->seen[i].text) cbx_mem_free(&c->al, c->seen[i].text, strlen(c->seen[i].text) + 1);
    }
    c->count = 0;
}

void cbx_compilation_reset(cbx_compilation *c)
{
    forget(c);
    c->calls = 0;
}

void cbx_compilation_free(cbx_compilation *c)
{
    cbx_allocator al;
    size_t per;

    if (!c) return;
    al = c->al;
    per = c->face.nin ? c->face.nin : 1;
    forget(c);
    cbx_fn_free(c->inner);
    cbx_mem_free(&al, c->seen, c->room * sizeof *c->seen);
    cbx_mem_free(&al, c->descs, c->room * per * sizeof *c->descs);
    cbx_mem_free(&al, c, sizeof *c);
}

/* --- report --- */

static double steady_of(const signature *s)
{
    double x[LATER];
    size_t n = s->calls - 1 < LATER ? (size_t)s->calls - 1 : LATER;

    memcpy(x, s->later_s, n * sizeof *x);
    cbx_stat_sort(x, n);
    return cbx_stat_quantile_sorted(x, n, 0.5);
}

bool cbx_compilation_signature(const cbx_compilation *c, size_t i, cbx_compiled_signature *out)
{
    const signature *s = &c->seen[i];

    if (i >= c->count) return false;
    *out = (cbx_compiled_signature){ s->text, s->calls, s->calls ? s->first_s : NAN, NAN, NAN };
    if (s->calls > 1) out->steady_s = steady_of(s);
    out->compile_s = s->calls > 1 ? fmax(0, s->first_s - out->steady_s) : NAN;
    return true;
}

static void advise(cbx_compilation_report *r, const char *fmt, ...) CBX_PRINTF(2, 3);
static void advise(cbx_compilation_report *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(r->advice[r->nadvice++], sizeof r->advice[0], fmt, args);
    va_end(args);
}

static void judge(cbx_compilation_report *r)
{
    double compile = isnan(r->mean_compile_s) ? 0 : r->mean_compile_s;

    if (!r->calls) return;
    r->health = fmin(1, 0.5 * r->hit_rate + 0.5 * fmax(0, 1 - compile / 10));
    r->level = r->health > 0.8   ? CBX_COMPILE_EXCELLENT
               : r->health > 0.6 ? CBX_COMPILE_GOOD
               : r->health > 0.4 ? CBX_COMPILE_MODERATE
                                 : CBX_COMPILE_POOR;
    if (r->hit_rate < 0.5)
        advise(r, "%.0f %% of calls met a new signature: keep shapes and dtypes fixed, or pad to a few sizes",
               100 * (1 - r->hit_rate));
    else if (r->hit_rate < 0.8)
        advise(r, "%.0f %% of calls met a new signature: fewer different shapes would help", 100 * (1 - r->hit_rate));
    if (compile > 5)
        advise(r, "compiling takes %.1f s on average: compile smaller functions, or keep a cache on disk", compile);
    else if (compile > 2)
        advise(r, "compiling takes %.1f s on average: a cache on disk would help", compile);
}

void cbx_compilation_see(const cbx_compilation *c, cbx_compilation_report *out)
{
    cbx_compilation_report r = { .calls = c->calls, .signatures = c->count, .hit_rate = NAN, .health = NAN };
    double first = 0, steady = 0;

    for (size_t i = 0; i < c->count; i++) {
        cbx_compiled_signature s = { 0 };
        (void)cbx_compilation_signature(c, i, &s);
        r.misses += s.calls > 0;
        if (s.calls < 2) continue;
        first += s.first_s;
        steady += s.steady_s;
        r.total_compile_s += s.compile_s;
        r.max_compile_s = fmax(r.max_compile_s, s.compile_s);
        r.known++;
    }
    r.hits = r.calls - r.misses;
    if (r.calls) r.hit_rate = (double)r.hits / (double)r.calls;
    r.first_s = r.known ? first / (double)r.known : NAN;
    r.steady_s = r.known ? steady / (double)r.known : NAN;
    r.mean_compile_s = r.known ? r.total_compile_s / (double)r.known : NAN;
    if (!r.known) r.max_compile_s = r.total_compile_s = NAN;
    judge(&r);
    *out = r;
}

/*
 * Calls by signature.  A signature keeps its first call, and of its later ones the last 31, of
 * which the median is reported.
 */
#include "calibrax/profiling/compilation.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/idioms.h"
#include "calibrax/base/list.h"
#include "calibrax/statistics/estimate.h"

enum { LATER = 31 }; /* calls kept, the newest in the place of the oldest */

typedef struct signature {
    char *text;
    uint64_t calls;
    double first_s, later_s[LATER];
} signature;

struct cbx_compilation {
    cbx_allocator al;
    CBX_LIST(signature) list;
    uint64_t calls;
};

const char *cbx_compile_level_name(cbx_compile_level h)
{
    static const char *const names[] = { "poor", "moderate", "good", "excellent" };
    return CBX_WORD(names, h);
}

cbx_status cbx_compilation_open(cbx_ctx *ctx, cbx_compilation **out, cbx_err *err)
{
    cbx_compilation *c = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *c);

    if (!c) return cbx_fail_nomem(err, "a record of calls");
    c->al = *cbx_ctx_allocator(ctx);
    *out = c;
    return CBX_OK;
}

cbx_status cbx_compilation_record(cbx_compilation *c, const char *text, double seconds, cbx_err *err)
{
    size_t i = 0;

    if (!(isfinite(seconds) && seconds >= 0))
        return cbx_fail(err, CBX_EDOM, "the time of a call must be at least 0 s, got %g", seconds);
    while (i < c->list.n && strcmp(c->list.items[i].text, text) != 0) i++;
    if (i == c->list.n) {
        char *copy = cbx_mem_strdup(&c->al, text);
        if (!copy || !cbx_list_push(&c->al, &c->list, (signature){ .text = copy })) {
            cbx_mem_strfree(&c->al, copy);
            return cbx_fail_nomem(err, "a signature");
        }
    }
    signature *s = &c->list.items[i];
    if (s->calls == 0)
        s->first_s = seconds;
    else
        s->later_s[(s->calls - 1) % LATER] = seconds;
    s->calls++;
    c->calls++;
    return CBX_OK;
}

void cbx_compilation_reset(cbx_compilation *c)
{
    for (size_t i = 0; i < c->list.n; i++) cbx_mem_strfree(&c->al, c->list.items[i].text);
    c->list.n = 0;
    c->calls = 0;
}

void cbx_compilation_free(cbx_compilation *c)
{
    if (!c) return;
    cbx_compilation_reset(c);
    cbx_list_clear(&c->al, &c->list);
    cbx_mem_free(&c->al, c, sizeof *c);
}

/* --- report --- */

bool cbx_compilation_signature(const cbx_compilation *c, size_t i, cbx_compiled_signature *out)
{
    const signature *s = &c->list.items[i];
    double x[LATER];

    if (i >= c->list.n) return false;
    *out = (cbx_compiled_signature){ s->text, s->calls, s->first_s, NAN, NAN };
    if (s->calls < 2) return true;
    size_t n = s->calls - 1 < LATER ? (size_t)s->calls - 1 : LATER;
    memcpy(x, s->later_s, n * sizeof *x);
    cbx_stat_sort(x, n);
    out->steady_s = cbx_stat_quantile_sorted(x, n, 0.5);
    out->compile_s = fmax(0, s->first_s - out->steady_s);
    return true;
}

#define ADVISE(r, ...) snprintf((r)->advice[(r)->nadvice++], sizeof(r)->advice[0], __VA_ARGS__)

void cbx_compilation_see(const cbx_compilation *c, cbx_compilation_report *out)
{
    cbx_compilation_report r = { .calls = c->calls, .signatures = c->list.n, .hit_rate = NAN, .health = NAN };
    double first = 0, steady = 0;

    for (size_t i = 0; i < c->list.n; i++) {
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
    double compile = isnan(r.mean_compile_s) ? 0 : r.mean_compile_s;
    if (r.calls) {
        r.health = fmin(1, 0.5 * r.hit_rate + 0.5 * fmax(0, 1 - compile / 10));
        r.level = r.health > 0.8   ? CBX_COMPILE_EXCELLENT
                  : r.health > 0.6 ? CBX_COMPILE_GOOD
                  : r.health > 0.4 ? CBX_COMPILE_MODERATE
                                   : CBX_COMPILE_POOR;
        if (r.hit_rate < 0.5)
            ADVISE(&r, "%.0f %% of calls met a new signature: keep shapes and dtypes fixed, or pad to a few sizes",
                   100 * (1 - r.hit_rate));
        else if (r.hit_rate < 0.8)
            ADVISE(&r, "%.0f %% of calls met a new signature: fewer different shapes would help",
                   100 * (1 - r.hit_rate));
        if (compile > 5)
            ADVISE(&r, "compiling takes %.1f s on average: compile smaller functions, or keep a cache on disk",
                   compile);
        else if (compile > 2)
            ADVISE(&r, "compiling takes %.1f s on average: a cache on disk would help", compile);
    }
    *out = r;
}

/*
 * Compile times with a cache that an earlier process has filled.
 *
 * The launches of the rounds compile with nothing kept: cold.  After them each attempt whose
 * framework can keep what it compiled gets a folder for it, one launch that fills the folder, and
 * some that find it filled; they compile, are checked, and end.
 */
#include <math.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/temporary.h"
#include "calibrax/perf/sweep/session.h"

#define WARM_LAUNCHES 7 /* what an interval of two sides at 95 % together needs */

static bool budget_is_spent(const cbx__point *p) { return 1e-9 * (double)(cbx_clock_ns() - p->began_ns) >= p->share_s; }

/* One launch that only compiles.  @param ns  NaN: it failed, or did not report it */
static cbx_status compile_once(cbx_ctx *ctx, const cbx__session *s, const cbx__point *p, const cbx_workload *w,
                               const cbx__attempt *a, const char *folder, double *ns, cbx_err *err)
{
    cbx_launch_record *r = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *r);
    cbx_launch_opts o;

    if (!r) return cbx_fail(err, CBX_ENOMEM, "out of memory for a launch record");
    cbx__point_launch_opts(s, p, a, a->first, &o);
    o.compile_only = true;
    o.cold = false;
    o.jit_cache = folder;
    o.energy = NULL;
    const cbx_status st = cbx_launch_run(ctx, w, a->baseline, &o, r, err);
    *ns = !st && !r->failure ? r->compile_ns : NAN;
    cbx_launch_record_clear(r);
    cbx_mem_free(cbx_ctx_allocator(ctx), r, sizeof *r);
    return st == CBX_ENOMEM ? st : CBX_OK;
}

static cbx_status warm_attempt(cbx_ctx *ctx, cbx__session *s, cbx__point *p, const cbx_workload *w, cbx__attempt *a,
                               size_t n, cbx_err *err)
{
    char folder[CBX__TEMPORARY_SIZE];
    cbx_status st = CBX_OK;
    double ns = NAN;

    a->warm_ns = cbx_arena_calloc(&p->arena, n, sizeof *a->warm_ns);
    if (!a->warm_ns) return cbx_fail(err, CBX_ENOMEM, "out of memory for compile times");
    a->warm_reason = "no scratch folder could be made for a cache";
    if (cbx__temporary_make("cache", folder, NULL)) return CBX_OK;
    a->warm_reason = "the launches that should have found it filled failed";
    for (size_t i = 0; i <= n && !st && !cbx__session_stopped(s); i++) {
        const char *const *names;
        size_t files = 0;
        st = compile_once(ctx, s, p, w, a, folder, &ns, err);
        if (i && isfinite(ns)) a->warm_ns[a->nwarm++] = ns;
        if (st || !isfinite(ns)) break;
        /* a folder that is still empty was no cache: what is compiled next is compiled as cold as
         * before */
        if (i == 0) st = cbx_dir_list(ctx, folder, NULL, &p->arena, &names, &files, err);
        if (i || files) continue;
        a->warm_reason = "the framework left nothing in the folder of its cache";
        break;
    }
    cbx__temporary_remove(folder);
    return st == CBX_ENOMEM ? st : CBX_OK;
}

cbx_status cbx__point_warm(cbx_ctx *ctx, cbx__session *s, cbx__point *p, const cbx_workload *w, cbx_err *err)
{
    const int asked = s->opts->warm_compiles;
    const size_t n = asked >= 0 ? (size_t)asked : s->opts->quick || !p->representative ? 0 : WARM_LAUNCHES;
    const char *why = asked == 0       ? "left out on request"
                      : s->opts->quick ? "not measured by a quick run"
                                       : "measured at the representative point; ask for warm compiles to measure it at "
                                         "every point";
    cbx_status st = CBX_OK;

    for (cbx__attempt *a = p->plan.attempts; a < p->plan.attempts + p->plan.count && !st; a++) {
        const cbx_provider_ops *provider = cbx_provider_find(a->baseline->provider);
        if (!provider || !provider->cache_folder || a->failure || a->idle || !a->first) continue;
        a->warm_reason = why;
        if (n && budget_is_spent(p))
            a->warm_reason = "the budget was spent before it was measured";
        else if (n && !s->opts->in_process && !cbx__session_stopped(s))
            st = warm_attempt(ctx, s, p, w, a, n, err);
    }
    return st;
}

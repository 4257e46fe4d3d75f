/* A window for each pipeline; its state follows from the window at each reading. */
#include "calibrax/monitoring/health.h"

#include <stdio.h>

#include "calibrax/base/hash_table.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/options.h"

static const char *const state_names[] = { "unknown", "healthy", "degraded", "critical" };

const char *cbx_health_state_name(cbx_health_state s) { return CBX_WORD(state_names, s); }

typedef struct pipeline {
    cbx_window *window;
    double baseline_s;
    uint64_t executions;
    unsigned exceeded; /* limits, a bit each */
} pipeline;

struct cbx_health {
    cbx_arena arena;
    cbx_ctx *ctx;
    cbx_health_opts opts;
    cbx_names names;
    CBX_LIST(pipeline) list; /* by the number of their name */
};

static cbx_status read_opts(const cbx_health_opts *in, cbx_health_opts *o, cbx_err *err)
{
    cbx_status st = cbx_take_options(o, sizeof *o, in, "cbx_health_opts", err);

    if (!st) st = cbx_check_range("window", (double)o->window, 1, CBX_WINDOW_MAX, err);
    if (!st) st = cbx_check_range("min_executions", (double)o->min_executions, 1, (double)o->window, err);
    if (st) return st;
    if (!(o->degraded_rate >= 0 && o->degraded_rate <= o->critical_rate && o->critical_rate < 1))
        return cbx_fail(err, CBX_EINVAL, "the failure rates must be 0 <= degraded <= critical < 1, got %g and %g",
                        o->degraded_rate, o->critical_rate);
    if (!(o->hysteresis >= 0 && o->hysteresis < 1))
        return cbx_fail(err, CBX_EINVAL, "'hysteresis' must be at least 0 and less than 1, got %g", o->hysteresis);
    if (!(o->degraded_slow >= 1 && o->degraded_slow <= o->critical_slow))
        return cbx_fail(err, CBX_EINVAL, "the slow factors must be 1 <= degraded <= critical, got %g and %g",
                        o->degraded_slow, o->critical_slow);
    return CBX_OK;
}

cbx_status cbx_health_create(cbx_ctx *ctx, const cbx_health_opts *opts, cbx_health **out, cbx_err *err)
{
    cbx_health_opts own = CBX_HEALTH_OPTS_INIT;
    cbx_status st = read_opts(opts, &own, err);
    cbx_health *h;

    if (st) return st;
    h = CBX_ARENA_OBJECT(cbx_health, cbx_ctx_allocator(ctx));
    if (!h) return cbx_fail_nomem(err, "the health of pipelines");
    h->ctx = ctx;
    h->opts = own;
    cbx_names_init(&h->names, CBX_IN_ARENA(&h->arena));
    *out = h;
    return CBX_OK;
}

void cbx_health_free(cbx_health *h)
{
    if (!h) return;
    for (size_t i = 0; i < h->list.n; i++) cbx_window_free(h->list.items[i].window);
    cbx_arena_end(&h->arena);
}

/* Made by its first mention. */
static cbx_status need_pipeline(cbx_health *h, const char *name, pipeline **out, cbx_err *err)
{
    pipeline p = { .baseline_s = NAN };
    cbx_status st;

    if (!name || !*name) return cbx_fail(err, CBX_EINVAL, "a pipeline without a name");
    size_t at = cbx_names_find(&h->names, name);
    if (at == CBX_NO_NAME) {
        at = h->list.n;
        if (!cbx_list_reserve(CBX_IN_ARENA(&h->arena), &h->list, at + 1)) return cbx_fail_nomem(err, name);
        st = cbx_window_create(h->ctx, h->opts.window, h->opts.age_ns, &p.window, err);
        if (st) return st;
        if (cbx_names_add(&h->names, name) == CBX_NO_NAME) {
            cbx_window_free(p.window);
            return cbx_fail_nomem(err, name);
        }
        h->list.items[h->list.n++] = p;
    }
    *out = &h->list.items[at];
    return CBX_OK;
}

cbx_status cbx_health_set_baseline(cbx_health *h, const char *name, double seconds, cbx_err *err)
{
    pipeline *p = NULL;

    if (!(isfinite(seconds) && seconds > 0))
        return cbx_fail(err, CBX_EDOM, "a baseline must be above 0 s, got %g", seconds);
    cbx_status st = need_pipeline(h, name, &p, err);
    if (!st) p->baseline_s = seconds;
    return st;
}

size_t cbx_health_count(const cbx_health *h) { return h->list.n; }

/* The worst limit that is exceeded.  A limit that was exceeded stays so until the value is the
 * hysteresis below it. */
static void rate(const cbx_health_opts *o, pipeline *p, cbx_health_report *r)
{
    const cbx_window_facts *w = &r->window;
    const struct {
        cbx_health_state state;
        const char *what, *unit;
        double value, limit, scale;
    } limits[] = {
        { CBX_HEALTH_CRITICAL, "failures", " %", w->failure_rate, o->critical_rate, 100 },
        { CBX_HEALTH_CRITICAL, "p95 of the duration", " s", w->p95, o->critical_slow * p->baseline_s, 1 },
        { CBX_HEALTH_DEGRADED, "failures", " %", w->failure_rate, o->degraded_rate, 100 },
        { CBX_HEALTH_DEGRADED, "mean duration", " s", w->mean, o->degraded_slow * p->baseline_s, 1 },
    };
    unsigned exceeded = 0;

    r->state = CBX_HEALTH_HEALTHY;
    for (size_t i = 0; i < CBX_LEN(limits); i++) {
        const double limit = limits[i].limit * (p->exceeded >> i & 1 ? 1 - o->hysteresis : 1);
        if (!(limits[i].value > limit)) continue;
        exceeded |= 1u << i;
        if (limits[i].state <= r->state) continue;
        r->state = limits[i].state;
        snprintf(r->reason, sizeof r->reason, "%s %.4g%s, above %.4g%s", limits[i].what,
                 limits[i].scale * limits[i].value, limits[i].unit, limits[i].scale * limit, limits[i].unit);
    }
    p->exceeded = exceeded;
}

void cbx_health_read(cbx_health *h, size_t i, uint64_t now_ns, cbx_health_report *out)
{
    pipeline *p = &h->list.items[i];

    *out = (cbx_health_report){ .pipeline = h->names.list[i],
                                .baseline_s = p->baseline_s,
                                .executions = p->executions };
    cbx_window_read(p->window, now_ns, &out->window);
    if (out->window.count >= h->opts.min_executions) {
        rate(&h->opts, p, out);
        return;
    }
    p->exceeded = 0;
    snprintf(out->reason, sizeof out->reason, "%zu of %zu required executions", out->window.count,
             h->opts.min_executions);
}

cbx_status cbx_health_record(cbx_health *h, const char *name, double seconds, bool success, uint64_t now_ns,
                             cbx_err *err)
{
    pipeline *p = NULL;
    cbx_status st = need_pipeline(h, name, &p, err);

    if (st) return st;
    p->executions++;
    cbx_window_add(p->window, seconds, !success || seconds < 0, now_ns);
    if (h->opts.hysteresis > 0) { /* a limit may be exceeded between two readings */
        cbx_health_report r;
        cbx_health_read(h, (size_t)(p - h->list.items), now_ns, &r);
    }
    return CBX_OK;
}

cbx_health_state cbx_health_overall(cbx_health *h, uint64_t now_ns)
{
    cbx_health_state worst = CBX_HEALTH_UNKNOWN;

    for (size_t i = 0; i < h->list.n; i++) {
        cbx_health_report r;
        cbx_health_read(h, i, now_ns, &r);
        if (r.state > worst) worst = r.state;
    }
    return worst;
}

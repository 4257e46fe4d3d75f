/*
 * Slices of the GPU's probe made into roofs; see gpu_roofs.h.
 */
#include "calibrax/profiling/gpu_roofs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/options.h"

static const char *const level_names[CBX_GPU_LEVELS] = { "L2", "memory" };

const char *cbx_gpu_level_name(int level) { return (unsigned)level < CBX_GPU_LEVELS ? level_names[level] : "?"; }

/* --- taking --- */

typedef struct session {
    cbx_ctx *ctx;
    cbx_gpu *watch; /* NULL: no NVML */
    cbx_gpu_roofs *out;
    cbx_status st; /* of what the probe calls back */
    cbx_err err;
} session;

/* fmin and fmax pass over a NaN, which is how all of these begin. */
static void look(void *user)
{
    session *s = user;
    cbx_gpu_roofs *o = s->out;
    cbx_gpu_reading r;

    if (!s->watch || cbx_gpu_read(s->watch, &r, NULL)) return;
    o->looks++;
    o->sm_mhz_least = fmin(o->sm_mhz_least, r.sm_mhz);
    o->sm_mhz_most = fmax(o->sm_mhz_most, r.sm_mhz);
    o->memory_mhz = fmin(o->memory_mhz, r.memory_mhz);
    o->temperature_c = fmax(o->temperature_c, r.temperature_c);
    o->power_w = fmax(o->power_w, r.power_w);
    o->power_limit_w = fmax(o->power_limit_w, r.power_limit_w);
    o->throttle |= r.throttle;
}

static cbx_gpu_figure *figure_of(cbx_gpu_roofs *o, const cbx_cuda_slices *s)
{
    const int level = strcmp(s->is_rate ? "" : s->level, level_names[CBX_GPU_MEMORY]) == 0 ? CBX_GPU_MEMORY
                                                                                           : CBX_GPU_L2;
    return s->is_rate ? &o->rate[s->rate] : &o->traffic[level][s->traffic];
}

/* Where one thing is measured in two ways, the faster counts. */
static void take(void *user, const cbx_cuda_slices *s)
{
    session *t = user;
    cbx_gpu_figure *f = figure_of(t->out, s), now = { .slices = s->n };

    if (s->n == 0) {
        if (f->best == 0) snprintf(f->why, sizeof f->why, "%s", s->why);
        return;
    }
    for (size_t i = 0; i < s->n; i++) now.best = fmax(now.best, s->per_s[i]);
    if (now.best <= f->best || t->st) return;
    t->st = cbx_stat_median_interval(t->ctx, s->per_s, s->n, 0.95, &now.median, &t->err);
    snprintf(now.by, sizeof now.by, "%s", s->by);
    if (!t->st) *f = now;
    if (!s->is_rate && s->level_bytes) t->out->l2_bytes = s->level_bytes;
}

/* Rates of matrix units that only mma.sync has measured where the device has more than that. */
static void mark_least(cbx_gpu_roofs *o, const char *no_cublas)
{
    for (int r = 0; r < CBX_CUDA_RATE_COUNT; r++) {
        cbx_gpu_figure *f = &o->rate[r];
        if (o->capability_major < 9 || strncmp(f->by, "mma.sync", 8) != 0 || !no_cublas) continue;
        if (r == CBX_CUDA_RATE_F64_TILE) continue; /* has no other instruction */
        f->is_least = true;
        snprintf(f->why, sizeof f->why, "capability %d.%d has faster instructions, which cuBLAS would show: %.150s",
                 o->capability_major, o->capability_minor, no_cublas);
    }
}

static void open_watch(session *s, cbx_cuda *g, const char *library)
{
    char address[32];
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = cbx_cuda_pci_address(g, address, &err);

    if (!st) st = cbx_gpu_open_at(s->ctx, address, library, &s->watch, &err);
    if (st) snprintf(s->out->unwatched, sizeof s->out->unwatched, "%s", err.message);
}

static cbx_gpu_roofs of_device(const cbx_cuda *g)
{
    const cbx_device *d = cbx_cuda_device(g);
    cbx_gpu_roofs o = { .index = d->index,
                        .capability_major = d->capability_major,
                        .capability_minor = d->capability_minor,
                        .multiprocessors = cbx_cuda_multiprocessors(g),
                        .memory_bytes = d->memory_total_bytes,
                        .sm_mhz_least = NAN,
                        .sm_mhz_most = NAN,
                        .memory_mhz = NAN,
                        .temperature_c = NAN,
                        .power_w = NAN,
                        .power_limit_w = NAN };

    snprintf(o.name, sizeof o.name, "%s", d->name);
    return o;
}

cbx_status cbx_gpu_roofs_measure(cbx_ctx *ctx, const cbx_gpu_roofs_opts *opts, cbx_gpu_roofs *out, cbx_err *err)
{
    cbx_gpu_roofs_opts o = CBX_GPU_ROOFS_OPTS_INIT;
    cbx_cuda *g = NULL;
    cbx_gpu_roofs roofs;
    session s = { .ctx = ctx, .out = &roofs, .err = CBX_ERR_INIT };
    const char *why;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_gpu_roofs_opts", err);

    if (!st) st = cbx_cuda_open(ctx, &o.cuda, &g, err);
    if (st) return st;
    roofs = of_device(g);
    open_watch(&s, g, o.nvml);
    o.probe.user = &s;
    o.probe.busy = look;
    o.probe.take = take;
    st = cbx_cuda_probe(g, &o.probe, err);
    if (!st && s.st) st = cbx_fail(err, s.st, "%s", s.err.message);
    if (!st) {
        mark_least(&roofs, cbx_cuda_has_cublas(g, &why) ? NULL : why);
        roofs.measured_us = cbx_time_now_us();
        *out = roofs;
    }
    cbx_gpu_close(s.watch);
    cbx_cuda_close(g);
    return st;
}

/* --- roofs --- */

static cbx_status fastest(const cbx_gpu_roofs *g, const char *type, const cbx_gpu_figure **out, cbx_err *err)
{
    const cbx_gpu_figure *f = NULL;

    for (int r = 0; r < CBX_CUDA_RATE_COUNT; r++)
        if (!strcmp(cbx_cuda_rate_type((cbx_cuda_rate)r), type) && (!f || g->rate[r].best > f->best)) f = &g->rate[r];
    if (!f)
        return cbx_fail(err, CBX_EINVAL, "no roofs of '%s': say float64, float32, float16, bfloat16, tfloat32 or int8",
                        type);
    if (!(f->best > 0)) return cbx_fail(err, CBX_EUNAVAILABLE, "no roof of '%s': %s", type, f->why);
    *out = f;
    return CBX_OK;
}

cbx_status cbx_roofs_of_gpu(const cbx_gpu_roofs *g, const char *type, cbx_roofs *out, cbx_err *err)
{
    cbx_roofs r = { .measured = true };
    const cbx_gpu_figure *f = NULL;
    cbx_status st = fastest(g, type, &f, err);

    if (st) return st;
    r.flop_per_s = f->best;
    for (int l = 0; l < CBX_GPU_LEVELS; l++) {
        const double rate = fmax(g->traffic[l][CBX_CUDA_READ].best, g->traffic[l][CBX_CUDA_COPY].best);
        if (!(rate > 0)) continue;
        cbx_roof_level *to = &r.level[r.nlevels++];
        snprintf(to->name, sizeof to->name, "%s", level_names[l]);
        to->bytes = l == CBX_GPU_L2 ? (double)g->l2_bytes : INFINITY;
        to->bytes_per_s = rate;
    }
    *out = r;
    return CBX_OK;
}

/* --- JSON --- */

static void put_figure(cbx_json *v, const cbx_gpu_figure *f, const char *unit)
{
    cbx_json_set_bool(v, "measured", f->best > 0);
    if (f->best > 0) {
        cbx_json_set_double(v, unit, f->best);
        cbx_json_set_double(v, "median", f->median.value);
        cbx_json_set_double(v, "lower", f->median.lower);
        cbx_json_set_double(v, "upper", f->median.upper);
        cbx_json_set_double(v, "level", f->median.level);
        cbx_json_set_int(v, "slices", (int64_t)f->slices);
        cbx_json_set_string(v, "by", f->by);
    }
    if (f->is_least) cbx_json_set_bool(v, "is_least", true);
    if (f->why[0]) cbx_json_set_string(v, "why", f->why);
}

static void put_rates(cbx_json *list, const cbx_gpu_roofs *g)
{
    for (int r = 0; r < CBX_CUDA_RATE_COUNT; r++) {
        cbx_json *v = cbx_json_push_object(list);
        put_figure(v, &g->rate[r], "flop_per_s");
        cbx_json_set_string(v, "type", cbx_cuda_rate_type((cbx_cuda_rate)r));
        cbx_json_set_string(v, "unit", cbx_cuda_rate_unit((cbx_cuda_rate)r));
    }
}

static void put_levels(cbx_json *list, const cbx_gpu_roofs *g)
{
    for (int l = 0; l < CBX_GPU_LEVELS; l++) {
        cbx_json *v = cbx_json_push_object(list);
        cbx_json_set_string(v, "name", level_names[l]);
        cbx_json_set_int(v, "bytes", l == CBX_GPU_L2 ? (int64_t)g->l2_bytes : (int64_t)g->memory_bytes);
        for (int k = 0; k < CBX_CUDA_TRAFFICS; k++)
            put_figure(cbx_json_set_object(v, cbx_cuda_traffic_name((cbx_cuda_traffic)k)), &g->traffic[l][k],
                       "bytes_per_s");
    }
}

static void put_health(cbx_json *v, const cbx_gpu_roofs *g)
{
    cbx_json *reasons;
    const char *words;
    uint64_t bit;

    cbx_json_set_int(v, "looks", (int64_t)g->looks);
    if (g->unwatched[0]) cbx_json_set_string(v, "why", g->unwatched);
    cbx_json_set_double(v, "sm_mhz_least", g->sm_mhz_least);
    cbx_json_set_double(v, "sm_mhz_most", g->sm_mhz_most);
    cbx_json_set_double(v, "memory_mhz", g->memory_mhz);
    cbx_json_set_double(v, "temperature_c", g->temperature_c);
    cbx_json_set_double(v, "power_w", g->power_w);
    cbx_json_set_double(v, "power_limit_w", g->power_limit_w);
    reasons = cbx_json_set_array(v, "throttle");
    for (size_t i = 0; (words = cbx_gpu_throttle_at(i, &bit)); i++)
        if (g->throttle & bit) cbx_json_push_string(reasons, words);
    cbx_json_set_bool(v, "slowed", cbx_gpu_is_slowed(g->throttle));
}

/* What a run's metadata.roofs holds. */
static void put_plain_roofs(cbx_json *v, const cbx_gpu_roofs *g)
{
    cbx_json *rates = cbx_json_set_object(v, "flop_per_s"), *levels = cbx_json_set_object(v, "bytes_per_s");
    char name[64];

    for (int r = 0; r < CBX_CUDA_RATE_COUNT; r++) {
        snprintf(name, sizeof name, "%s, %s", cbx_cuda_rate_type((cbx_cuda_rate)r),
                 cbx_cuda_rate_unit((cbx_cuda_rate)r));
        if (g->rate[r].best > 0) cbx_json_set_double(rates, name, g->rate[r].best);
    }
    for (int l = 0; l < CBX_GPU_LEVELS; l++) {
        const double rate = fmax(g->traffic[l][CBX_CUDA_READ].best, g->traffic[l][CBX_CUDA_COPY].best);
        if (rate > 0) cbx_json_set_double(levels, level_names[l], rate);
    }
}

cbx_json *cbx_gpu_roofs_to_json(const cbx_gpu_roofs *g)
{
    cbx_json *v = cbx_json_new_object();

    cbx_json_set_string(v, "name", g->name);
    cbx_json_set_int(v, "index", g->index);
    cbx_json_set_double(v, "compute_capability", g->capability_major + g->capability_minor / 10.0);
    cbx_json_set_int(v, "multiprocessors", g->multiprocessors);
    cbx_json_set_int(v, "memory_bytes", (int64_t)g->memory_bytes);
    put_rates(cbx_json_set_array(v, "rates"), g);
    put_levels(cbx_json_set_array(v, "levels"), g);
    put_health(cbx_json_set_object(v, "meanwhile"), g);
    put_plain_roofs(cbx_json_set_object(v, "roofs"), g);
    cbx_json_set_int(v, "measured_us", g->measured_us);
    return v;
}

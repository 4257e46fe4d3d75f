/* Roofs of a GPU from slices of its probe. */
#include "calibrax/profiling/gpu_roofs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calibrax/base/clock.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/options.h"

static const char *const level_names[CBX_GPU_LEVELS] = { "L2", "memory" };

const char *cbx_gpu_level_name(int level) { return (unsigned)level < CBX_GPU_LEVELS ? level_names[level] : "?"; }

/* --- taking --- */

typedef struct session {
    cbx_ctx *ctx;
    cbx_gpu *watch; /* NULL: no NVML */
    cbx_gpu_roofs *out;
    cbx_status st; /* of the callbacks */
    cbx_err err;
} session;

/* fmin and fmax ignore NaN, with which all of these begin. */
static void read_device(void *user)
{
    session *s = user;
    cbx_gpu_roofs *o = s->out;
    cbx_gpu_reading r;

    if (!s->watch || cbx_gpu_read(s->watch, &r, NULL)) return;
    o->looks++;
    o->sm_mhz_min = fmin(o->sm_mhz_min, r.sm_mhz);
    o->sm_mhz_max = fmax(o->sm_mhz_max, r.sm_mhz);
    o->memory_mhz = fmin(o->memory_mhz, r.memory_mhz);
    o->temperature_c = fmax(o->temperature_c, r.temperature_c);
    o->power_w = fmax(o->power_w, r.power_w);
    o->power_limit_w = fmax(o->power_limit_w, r.power_limit_w);
    o->throttle |= r.throttle;
}

/* Where one thing is measured in two ways, the faster counts. */
static void take(void *user, const cbx_cuda_slices *s)
{
    session *t = user;
    const int level = !s->is_rate && !strcmp(s->level, level_names[CBX_GPU_MEMORY]) ? CBX_GPU_MEMORY : CBX_GPU_L2;
    cbx_gpu_figure *f = s->is_rate ? &t->out->rate[s->rate] : &t->out->traffic[level][s->traffic];
    cbx_gpu_figure now = { .slices = s->n };

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
static void mark_lower_bounds(cbx_gpu_roofs *o, const char *no_cublas)
{
    for (int r = 0; r < CBX_CUDA_RATE_COUNT; r++) {
        cbx_gpu_figure *f = &o->rate[r];
        if (o->capability_major < 9 || strncmp(f->by, "mma.sync", 8) != 0 || !no_cublas) continue;
        if (r == CBX_CUDA_RATE_F64_TILE) continue; /* has no other instruction */
        f->is_lower_bound = true;
        snprintf(f->why, sizeof f->why, "capability %d.%d has faster instructions, which cuBLAS would show: %.150s",
                 o->capability_major, o->capability_minor, no_cublas);
    }
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
    const cbx_device *d = cbx_cuda_device(g);
    cbx_err unwatched = CBX_ERR_INIT;
    char address[32];
    roofs = (cbx_gpu_roofs){ .index = d->index,
                             .capability_major = d->capability_major,
                             .capability_minor = d->capability_minor,
                             .multiprocessors = cbx_cuda_multiprocessors(g),
                             .memory_bytes = d->memory_total_bytes,
                             .sm_mhz_min = NAN,
                             .sm_mhz_max = NAN,
                             .memory_mhz = NAN,
                             .temperature_c = NAN,
                             .power_w = NAN,
                             .power_limit_w = NAN };
    snprintf(roofs.name, sizeof roofs.name, "%s", d->name);
    st = cbx_cuda_pci_address(g, address, &unwatched);
    if (!st) st = cbx_gpu_open_at(ctx, address, o.nvml, &s.watch, &unwatched);
    if (st) snprintf(roofs.unwatched, sizeof roofs.unwatched, "%s", unwatched.message);
    o.probe.user = &s;
    o.probe.busy = read_device;
    o.probe.take = take;
    st = cbx_cuda_probe(g, &o.probe, err);
    if (!st && s.st) st = cbx_fail(err, s.st, "%s", s.err.message);
    if (!st) {
        mark_lower_bounds(&roofs, cbx_cuda_has_cublas(g, &why) ? NULL : why);
        roofs.measured_us = cbx_time_now_us();
        *out = roofs;
    }
    cbx_gpu_close(s.watch);
    cbx_cuda_close(g);
    return st;
}

/* --- JSON --- */

static void put_figure(cbx_json *v, const cbx_gpu_figure *f, const char *unit)
{
    cbx_json_put(v, J_BOOL("measured", f->best > 0));
    if (f->best > 0)
        cbx_json_put(v, J_NUMBER(unit, f->best), J_NUMBER("median", f->median.value),
                     J_NUMBER("lower", f->median.lower), J_NUMBER("upper", f->median.upper),
                     J_NUMBER("level", f->median.level), J_INT("slices", f->slices), J_TEXT("by", f->by));
    if (f->is_lower_bound) cbx_json_put(v, J_BOOL("is_least", true));
    cbx_json_put(v, J_GIVEN("why", f->why[0] ? f->why : NULL));
}

static void put_health(cbx_json *v, const cbx_gpu_roofs *g)
{
    const char *words;
    uint64_t bit;

    cbx_json_put(v, J_INT("looks", g->looks), J_GIVEN("why", g->unwatched[0] ? g->unwatched : NULL),
                 J_NUMBER("sm_mhz_least", g->sm_mhz_min), J_NUMBER("sm_mhz_most", g->sm_mhz_max),
                 J_NUMBER("memory_mhz", g->memory_mhz), J_NUMBER("temperature_c", g->temperature_c),
                 J_NUMBER("power_w", g->power_w), J_NUMBER("power_limit_w", g->power_limit_w));
    cbx_json *reasons = cbx_json_set_array(v, "throttle");
    for (size_t i = 0; (words = cbx_gpu_throttle_at(i, &bit)); i++)
        if (g->throttle & bit) cbx_json_push_string(reasons, words);
    cbx_json_set_bool(v, "slowed", cbx_gpu_is_slowed(g->throttle));
}

cbx_json *cbx_gpu_roofs_to_json(const cbx_gpu_roofs *g)
{
    cbx_json *v = cbx_json_object(J_TEXT("name", g->name), J_INT("index", g->index),
                                  J_NUMBER("compute_capability", g->capability_major + g->capability_minor / 10.0),
                                  J_INT("multiprocessors", g->multiprocessors), J_INT("memory_bytes", g->memory_bytes));
    cbx_json *list, *one, *rates = cbx_json_new_object(), *levels = cbx_json_new_object();
    char name[64];

    list = cbx_json_set_array(v, "rates");
    for (cbx_cuda_rate r = 0; r < CBX_CUDA_RATE_COUNT; r++) {
        one = cbx_json_push_object(list);
        put_figure(one, &g->rate[r], "flop_per_s");
        cbx_json_put(one, J_TEXT("type", cbx_cuda_rate_type(r)), J_TEXT("unit", cbx_cuda_rate_unit(r)));
    }
    list = cbx_json_set_array(v, "levels");
    for (int l = 0; l < CBX_GPU_LEVELS; l++) {
        one = cbx_json_push_object(list);
        cbx_json_put(one, J_TEXT("name", level_names[l]),
                     J_INT("bytes", l == CBX_GPU_L2 ? g->l2_bytes : g->memory_bytes));
        for (cbx_cuda_traffic k = 0; k < CBX_CUDA_TRAFFICS; k++)
            put_figure(cbx_json_set_object(one, cbx_cuda_traffic_name(k)), &g->traffic[l][k], "bytes_per_s");
    }
    put_health(cbx_json_set_object(v, "meanwhile"), g);
    for (cbx_cuda_rate r = 0; r < CBX_CUDA_RATE_COUNT; r++) {
        snprintf(name, sizeof name, "%s, %s", cbx_cuda_rate_type(r), cbx_cuda_rate_unit(r));
        if (g->rate[r].best > 0) cbx_json_set_double(rates, name, g->rate[r].best);
    }
    for (int l = 0; l < CBX_GPU_LEVELS; l++) {
        const double rate = fmax(g->traffic[l][CBX_CUDA_READ].best, g->traffic[l][CBX_CUDA_COPY].best);
        if (rate > 0) cbx_json_set_double(levels, level_names[l], rate);
    }
    cbx_json_put(v, /* roofs: for a run's metadata.roofs */
                 J_JSON("roofs", cbx_json_object(J_JSON("flop_per_s", rates), J_JSON("bytes_per_s", levels))),
                 J_INT("measured_us", g->measured_us));
    return v;
}

/*
 * What calibrax profile measures beside time: functions of a shared object, their work (--flops), functions of arrays (--shapes), first
 * calls (--compile), and a line for codecarbon's file (--emissions).
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/dtype.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/transform.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/rng.h"
#include "calibrax/base/version.h"
#include "calibrax/core/machine.h"
#include "programs/calibrax/profile.h"
#include "programs/common/stop.h"

/* --- a shared object --- */

static void *symbol(void *handle, const char *name, const char *suffix)
{
    char full[256];
    int n = snprintf(full, sizeof full, "%s%s", name, suffix);
    return n > 0 && (size_t)n < sizeof full ? dlsym(handle, full) : NULL;
}

cbx_status profile_plugin_load(const profile_args *a, profile_plugin *p, cbx_err *err)
{
    char path[4096];

    /* a bare name is a file here, not one of the loader's folders */
    snprintf(path, sizeof path, "%s%s", strchr(a->plugin, '/') ? "" : "./", a->plugin);
    *p = (profile_plugin){ .handle = dlopen(path, RTLD_NOW | RTLD_LOCAL) };
    if (!p->handle) return cbx_fail(err, CBX_EUNAVAILABLE, "cannot load '%s': %s", a->plugin, dlerror());
    p->run = (cbx_timed_fn)symbol(p->handle, a->function, "");
    p->array_run = (cbx_array_fn)symbol(p->handle, a->function, "");
    if (!p->run) {
        dlclose(p->handle);
        p->handle = NULL;
        return cbx_fail(err, CBX_ENOENT, "'%s' has no function '%s'", a->plugin, a->function);
    }
    p->setup = (void *(*)(void))symbol(p->handle, a->function, "_setup");
    p->setup_size = (void *(*)(size_t))symbol(p->handle, a->function, "_setup_size");
    p->teardown = (void (*)(void *))symbol(p->handle, a->function, "_teardown");
    p->work = (void (*)(void *, double *, double *))symbol(p->handle, a->function, "_work");
    return CBX_OK;
}

void profile_plugin_start(profile_plugin *p)
{
    if (p->setup) p->state = p->setup();
}

void profile_plugin_close(profile_plugin *p, bool started)
{
    if (started && p->teardown) p->teardown(p->state);
    if (p->handle) dlclose(p->handle);
}

/* --- roofs --- */

static cbx_status roofs_of_core(const opt_run *run, const char *type, cbx_roofs *out, cbx_err *err)
{
    cbx_machine *m = cbx_arena_calloc(run->arena, 1, sizeof *m);
    cbx_probe probe;
    cbx_status st = m ? cbx_machine_read(run->ctx, NULL, m, err) : cbx_fail(err, CBX_ENOMEM, "out of memory");

    if (!st) st = cbx_probe_get(run->ctx, m->id, false, &probe, err);
    return st ? st : cbx_roofs_of_type(&probe, type, 1, out, err);
}

static cbx_status see_work(const opt_run *run, const profile_args *a, profile_facts *f, const cbx_flops *w,
                           const char *type, size_t last_axis, cbx_err *err)
{
    cbx_roofs roofs;
    cbx_status st = a->roofline ? roofs_of_core(run, type, &roofs, err) : CBX_OK;

    if (!st && !profile_see_work(f, w, profile_fact_value(f, "call_time"), a->roofline ? &roofs : NULL, last_axis))
        st = cbx_fail(err, CBX_ENOMEM, "out of memory");
    return st;
}

cbx_status profile_work(const opt_run *run, const profile_args *a, const profile_plugin *p, profile_facts *f,
                        cbx_err *err)
{
    cbx_flops_opts o = CBX_FLOPS_OPTS_INIT;
    cbx_flops w;
    cbx_status st;

    o.declared_flop = o.declared_bytes = NAN;
    if (p->work) {
        o.has_declared = true;
        p->work(p->state, &o.declared_flop, &o.declared_bytes);
    }
    st = cbx_flops_of_calls(run->ctx, p->run, p->state, &o, &w, err);
    return st ? st : see_work(run, a, f, &w, a->dtype ? a->dtype : "float64", 0, err);
}

/* --- functions of arrays --- */

/* "float32:512x512"; "float64:" is a number. */
static cbx_status parse_shape(const char *text, cbx_array_desc *d, cbx_err *err)
{
    const char *colon = strchr(text, ':');
    char name[32], *end;
    size_t count;

    if (!colon || (size_t)(colon - text) >= sizeof name)
        return cbx_fail(err, CBX_EINVAL, "'--shapes' must list shapes such as float32:512x512, got '%s'", text);
    snprintf(name, sizeof name, "%.*s", (int)(colon - text), text);
    *d = (cbx_array_desc){ .ndim = 0 };
    if (cbx_dtype_parse(name, &d->dtype, err)) return CBX_EINVAL;
    for (const char *at = colon + 1; *at; at = *end ? end + 1 : end) {
        unsigned long long n = strtoull(at, &end, 10);
        if (end == at || (*end && *end != 'x') || *at == '-' || (*end && !end[1]) || d->ndim == CBX_MAX_RANK)
            return cbx_fail(err, CBX_EINVAL, "'--shapes' must list shapes such as float32:512x512, got '%s'", text);
        d->shape[d->ndim++] = (size_t)n;
    }
    return cbx_array_desc_count(d, &count, err);
}

/* Numbers from 1 to 9, the same in each run. */
static cbx_status make_operand(const opt_run *run, const cbx_array_desc *d, uint64_t seed, cbx_array **out,
                               cbx_err *err)
{
    cbx_array_desc wide = *d;
    cbx_array *x = NULL, *cast;
    cbx_scope scope;
    cbx_rng rng;
    cbx_status st;
    double *v;

    wide.dtype = CBX_F64;
    st = cbx_array_create(run->ctx, &wide, &x, err);
    if (st) return st;
    rng = cbx_rng_make(seed, 0);
    v = cbx_array_data_mut(x);
    for (size_t i = 0; i < cbx_array_count(x); i++) v[i] = 1 + 8 * cbx_rng_uniform(&rng);
    cbx_scope_open(run->ctx, &scope);
    cast = cbx_astype(run->ctx, x, d->dtype);
    st = cbx_scope_close_keep(&scope, 1, &cast, err);
    cbx_array_free(x);
    if (!st) *out = cast;
    return st;
}

/* What a timed call needs; a failure is kept, since timed calls cannot report it. */
typedef struct array_call {
    cbx_ctx *ctx;
    const cbx_fn *f;
    cbx_array **in, **out;
    cbx_status st;
    cbx_err err;
} array_call;

static void call_array(void *user)
{
    array_call *c = user;
    const cbx_backend *b = cbx_ctx_backend(c->ctx);

    if (c->st) return;
    c->st = cbx_fn_run(c->ctx, c->f, c->f->nin, c->in, c->f->nout, c->out, &c->err);
    if (!c->st && b->sync) c->st = b->sync(b, c->ctx, &c->err);
    for (size_t i = 0; i < c->f->nout && !c->st; i++) cbx_array_free(c->out[i]);
}

static cbx_status time_array(const opt_run *run, const profile_args *a, const cbx_fn *f, array_call *call,
                             profile_facts *facts, cbx_err *err)
{
    cbx_timing_opts o = CBX_TIMING_OPTS_INIT;
    cbx_resource_opts watching = CBX_RESOURCE_OPTS_INIT;
    cbx_resource_monitor *m = NULL;
    cbx_resource_report r;
    cbx_call_timing t = { 0 };
    cbx_fn *fast = NULL;
    cbx_status st = cbx_jit(run->ctx, f, &fast, err);

    if (st) return st;
    call->f = fast;
    watching.interval_s = 0.25;
    o.warmup = a->warmup;
    if (a->iterations) o.samples = a->iterations;
    if (a->sample_ms > 0) o.sample_s = 1e-3 * a->sample_ms;
    st = cbx_resource_monitor_start(run->ctx, &watching, &m, err);
    if (!st) st = cbx_time_calls(run->ctx, call_array, call, &o, &t, err);
    if (m) cbx_resource_monitor_stop(m, &r, NULL);
    if (call->st) st = cbx_fail(err, call->st, "%s", call->err.message);
    if (!st && !profile_see_function(facts, &t, &r)) st = cbx_fail(err, CBX_ENOMEM, "out of memory");
    cbx_call_timing_clear(&t);
    cbx_resource_monitor_free(m);
    cbx_fn_free(fast);
    return st;
}

static size_t last_axis(const cbx_array *x) { return cbx_array_ndim(x) ? cbx_array_dim(x, cbx_array_ndim(x) - 1) : 0; }

static cbx_status with_operands(const opt_run *run, const profile_args *a, const cbx_fn *f, cbx_array **in,
                                profile_facts *facts, cbx_err *err)
{
    array_call call = { .ctx = run->ctx, .in = in, .err = CBX_ERR_INIT };
    const char *type = cbx_dtype_size(cbx_array_dtype(in[0])) >= 8 ? "float64" : "float32"; /* whatever computes it */
    cbx_flops w;
    cbx_status st;

    call.out = cbx_arena_calloc(run->arena, f->nout + 1, sizeof *call.out);
    if (!call.out) return cbx_fail(err, CBX_ENOMEM, "out of memory");
    st = time_array(run, a, f, &call, facts, err);
    if (!st) st = cbx_flops_of_fn_with(run->ctx, f, f->nin, in, &w, err);
    return st ? st : see_work(run, a, facts, &w, a->dtype ? a->dtype : type, last_axis(in[0]), err);
}

cbx_status profile_array_function(const opt_run *run, const profile_args *a, profile_facts *facts, cbx_err *err)
{
    const size_t n = a->shapes.count;
    cbx_array **in = cbx_arena_calloc(run->arena, n + 1, sizeof *in);
    profile_plugin p = { 0 };
    bool started = false;
    cbx_status st = in ? profile_plugin_load(a, &p, err) : cbx_fail(err, CBX_ENOMEM, "out of memory");

    for (size_t i = 0; i < n && !st; i++) {
        cbx_array_desc d;
        st = parse_shape(a->shapes.items[i], &d, err);
        if (!st) st = make_operand(run, &d, i, &in[i], err);
    }
    if (!st) {
        profile_plugin_start(&p);
        started = true;
        const cbx_fn f = { a->function, p.array_run, p.state, n, a->results, NULL };
        st = with_operands(run, a, &f, in, facts, err);
    }
    for (size_t i = 0; in && i < n; i++) cbx_array_free(in[i]);
    profile_plugin_close(&p, started);
    return st;
}

/* --- first calls --- */

typedef struct launching {
    const opt_run *run;
    const profile_args *a;
    const char *const *argv;
} launching;

static bool is_stopped(void) { return *stop_catch() != 0; }

/* This program again, which profiles the function: nothing of the shared object was there before. */
static cbx_status launch_function(void *user, cbx_launch_times *out, cbx_err *err)
{
    const launching *l = user;
    const profile_args *a = l->a;
    char warmup[32], samples[32], ms[32];
    const char *argv[] = { "/proc/self/exe", "profile",     "--json",   "--plugin", a->plugin,
                           "--function",     a->function,   "--warmup", warmup,     "--iterations",
                           samples,          "--sample-ms", ms,         NULL };
    cbx_launch_program p = { l->run->ctx, argv, a->function };

    snprintf(warmup, sizeof warmup, "%zu", a->warmup);
    snprintf(samples, sizeof samples, "%zu", a->iterations ? a->iterations : 5);
    snprintf(ms, sizeof ms, "%.9g", a->sample_ms > 0 ? a->sample_ms : 1);
    return is_stopped() ? cbx_fail(err, CBX_EINTERRUPTED, "interrupted") : cbx_launch_program_run(&p, out, err);
}

static cbx_status launch_command(void *user, cbx_launch_times *out, cbx_err *err)
{
    const launching *l = user;
    cbx_profile_opts o = CBX_PROFILE_OPTS_INIT;
    cbx_profile p = { 0 };
    cbx_status st;

    o.argv = l->argv;
    o.runs = 1;
    o.show_output = l->a->show_output;
    o.ignore_failure = l->a->ignore_failure;
    o.stop = stop_catch();
    st = is_stopped() ? cbx_fail(err, CBX_EINTERRUPTED, "interrupted") : cbx_profile_command(l->run->ctx, &o, &p, err);
    if (!st) *out = (cbx_launch_times){ p.runs[0].wall_s, 0 };
    cbx_profile_clear(&p);
    return st;
}

cbx_status profile_compile(const opt_run *run, const profile_args *a, profile_facts *f, cbx_err *err)
{
    const char **argv = cbx_arena_calloc(run->arena, run->words->count + 1, sizeof *argv);
    launching l = { run, a, argv };
    cbx_launches_opts o = CBX_LAUNCHES_OPTS_INIT;
    cbx_launches_report r = { 0 };
    cbx_status st;

    if (!argv) return cbx_fail(err, CBX_ENOMEM, "out of memory");
    if (run->words->count) memcpy(argv, run->words->items, run->words->count * sizeof *argv);
    if (a->launches) o.launches = a->launches;
    o.cache_env = a->cache_env;
    st = cbx_launches_measure(run->ctx, a->plugin ? launch_function : launch_command, &l, &o, &r, err);
    if (!st && !profile_see_launches(f, &r, !a->plugin)) st = cbx_fail(err, CBX_ENOMEM, "out of memory");
    cbx_launches_report_clear(&r);
    return st;
}

/* --- emissions --- */

#define J_PER_KWH 3.6e6

static double kwh(double joules) { return joules / J_PER_KWH; }

static cbx_emissions line_of(const cbx_energy_report *e, const cbx_carbon_intensity *grid, const char *timestamp,
                             const char *run_id, const cbx_machine *m)
{
    cbx_emissions x = cbx_emissions_empty();

    x.timestamp = timestamp;
    x.project_name = "calibrax";
    x.run_id = run_id;
    x.duration = e->duration_s;
    x.emissions = cbx_carbon_kg(e->total_j, grid->g_per_kwh, 1);
    x.emissions_rate = x.emissions / e->duration_s;
    x.cpu_power = e->cpu_j / e->duration_s;
    x.gpu_power = e->gpu_j / e->duration_s;
    x.ram_power = e->dram_j / e->duration_s;
    x.cpu_energy = kwh(e->cpu_j);
    x.gpu_energy = kwh(e->gpu_j);
    x.ram_energy = kwh(e->dram_j);
    x.energy_consumed = kwh(e->total_j);
    x.country_iso_code = grid->country;
    x.country_name = grid->name;
    if (grid->region) { /* the name is the region's */
        const cbx_carbon_intensity *whole = NULL;
        x.region = grid->name;
        x.country_name = cbx_carbon_find(grid->country, &whole, NULL) ? grid->country : whole->name;
    }
    x.os = "Linux";
    x.cpu_count = m->threads;
    x.cpu_model = m->model_name;
    x.ram_total_size = (double)m->memory_bytes / 1e9;
    x.tracking_mode = "machine";
    x.on_cloud = "N";
    x.pue = 1;
    return x;
}

cbx_status profile_see_emissions(const opt_run *run, const char *path, const cbx_emissions **lines, size_t *n,
                                 cbx_err *err)
{
    cbx_status st = cbx_file_check_writable(run->ctx, path, err);

    return st || !cbx_path_exists(path) ? st : cbx_emissions_read(run->ctx, path, run->arena, lines, n, err);
}

cbx_status profile_add_emissions(const opt_run *run, const profile_args *a, const cbx_emissions *before, size_t n,
                                 const cbx_energy_report *e, const cbx_carbon_intensity *grid, const char *run_id,
                                 cbx_err *err)
{
    cbx_emissions *all;
    char timestamp[CBX_TIME_SIZE];
    cbx_machine m;
    cbx_status st;

    if (isnan(e->total_j))
        return cbx_fail(err, CBX_EUNAVAILABLE, "no line for '%.200s', since no energy could be measured: %s",
                        a->emissions, e->cpu_why[0] ? e->cpu_why : e->gpu_why);
    st = cbx_machine_read(run->ctx, NULL, &m, err);
    if (st) return st;
    all = cbx_arena_calloc(run->arena, n + 1, sizeof *all);
    if (!all) return cbx_fail(err, CBX_ENOMEM, "out of memory for %zu lines of emissions", n + 1);
    if (n) memcpy(all, before, n * sizeof *all);
    cbx_time_format_iso(cbx_time_now_us(), timestamp);
    timestamp[strlen("2026-02-20T11:34:24")] = '\0'; /* as codecarbon has it */
    all[n] = line_of(e, grid, timestamp, run_id, &m);
    return cbx_emissions_write(run->ctx, a->emissions, all, n + 1, err);
}

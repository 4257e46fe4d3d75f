/*
 * calibrax profile: the time and resources that a command, or a function of a shared object or a
 * Python module, uses.
 *
 * A function NAME is `void NAME(void *state)`; state comes from `void *NAME_setup(void)` and goes
 * to `void NAME_teardown(void *state)` where the shared object has them; of a Python module it is
 * any callable.
 * profile_facts.c makes rows of what was measured; profile_sizes.c is the order of growth over
 * sizes.
 */
#include "programs/calibrax/profile.h"

#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/dtype.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/transform.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/rng.h"
#include "calibrax/core/machine.h"
#include "calibrax/profiling/python_call.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"
#include "programs/common/stop.h"

#define AT(member) offsetof(profile_args, member)

static const opt_spec profile_options[] = {
    OPT("warmup", 'w', COUNT, warmup, "N", "1", "untimed runs or calls before the timed ones"),
    OPT("iterations", 'n', POSITIVE, iterations, "N", "10 runs; 30 samples of a C function, 10 of a Python one",
        "number of timed runs or samples"),
    OPT("sample-ms", 0, ABOVE, sample_ms, "MS", "10; 1 for a function",
        "time between two samples of a command's resources; minimum length of a timed window of a function"),
    OPT_SWITCH("show-output", 0, show_output, "show the output of the command"),
    OPT_SWITCH("ignore-failure", 'i', ignore_failure, "accept runs of a command whose exit status is not 0"),
    OPT("gpu", 0, INT, gpu, "N", "none",
        "sample this NVIDIA GPU: memory, utilization, clock, power, temperature, and why it was throttled"),
    OPT("gpu-index", 0, INT, gpu, "N", NULL, NULL),
    OPT("trace", 0, STRING, trace, "FILE", NULL, "write a trace that ui.perfetto.dev opens"),
    OPT("data", 0, STRING, data, "STORE", NULL, "keep the result as a run in this store, which is created if missing"),
    OPT("name", 0, STRING, name, "NAME", "the command's or function's", "name of the point in that run"),
    OPT_SWITCH("json", 0, json, "print one JSON document"),
    OPT_HEADING("A function instead of a command", NULL),
    OPT("plugin", 0, STRING, plugin, "FILE", NULL, "shared object with the function"),
    OPT("module", 0, STRING, module, "MODULE", NULL,
        "Python module with the function: its dotted name, or the path of its file; it runs in a separate interpreter"),
    OPT("python", 0, STRING, python, "PROGRAM", "python3", "with --module: the Python interpreter"),
    OPT("function", 0, STRING, function, "NAME", NULL,
        "of --plugin: void NAME(void *state), with NAME_setup and NAME_teardown if they exist; of --module: called "
        "without arguments"),
    OPT_SWITCH(
        "flops", 0, flops,
        "count the operations of the function: by hardware counters, else by `void NAME_work(void *state, double "
        "*flop, double *bytes)`; with --shapes by tracing; with --module by XLA, if the interpreter has jax"),
    OPT_SWITCH("roofline", 0, roofline, "with --flops: compare with the measured roofline of one core of this machine"),
    OPT("dtype", 0, CHOICE, dtype, "TYPE", "float64",
        "with --roofline: type of the arithmetic: float64, float32, float16, bfloat16 or int8",
        "float64 float32 float16 bfloat16 int8"),
    OPT_SWITCH("memory", 0, memory, "measure the peak memory of a call, and the memory that it does not free"),
    OPT("shapes", 0, LIST, shapes, "TYPE:AxB,...", NULL,
        "the function takes arrays (calibrax/array/fn.h), and receives operands of these types and shapes"),
    OPT("results", 0, POSITIVE, results, "N", "1", "with --shapes: number of arrays that it returns, at most 64"),
    OPT_SWITCH("graph", 0, graph,
               "with --shapes: show the operations of the function and the steps that they are compiled to, with their "
               "work, bytes, memory and predicted time, and the time of each stage of compiling"),
    OPT_HEADING("Growth and first calls", NULL),
    OPT("sizes", 0, LIST, sizes, "N,...", NULL,
        "measure at these sizes and fit the order of growth: {} in a command is replaced by the size, a function "
        "receives it by `void *NAME_setup_size(size_t size)`; exit status 3 if the order is undecided"),
    OPT_SWITCH("compile", 0, compile, "measure by how much the first call takes longer than later ones, over launches"),
    OPT("launches", 0, POSITIVE, launches, "N", "10", "with --compile: number of launches of each kind"),
    OPT("cache-env", 0, STRING, cache_env, "NAME", NULL,
        "with --compile: environment variable that names the folder of compiled code; compares launches with an empty "
        "and with a filled folder"),
    OPT_HEADING("Energy and emissions", NULL),
    OPT_SWITCH("energy", 0, energy, "measure the energy of processors, memory and, with --gpu, the device"),
    OPT("country", 0, STRING, country, "CODE", NULL,
        "with --energy: also estimate carbon dioxide, by the mean carbon intensity of the country's grid"),
    OPT("region", 0, STRING, region, "CODE", "the whole country",
        "with --energy: use a part of the country: a state of the USA, a province of Canada or China, or a bidding "
        "zone of Sweden or Norway, by its code, such as US-CA or SE3, or with --country by its name"),
    OPT("intensity", 0, NUMBER, intensity, "G", "the yearly mean of the grid",
        "with --energy: also estimate carbon dioxide, by this carbon intensity, in g/kWh"),
    OPT("emissions", 0, STRING, emissions, "FILE", NULL,
        "append a line to this codecarbon file (emissions.csv), created if missing; if no energy was measured, nothing "
        "is written and the exit status is 2"),
};
static const opt_rule profile_rules[] = {
    { "", OPT_NEEDS, "@ plugin module" },
    { "plugin", OPT_EXCLUDES, "module @" },
    { "module", OPT_EXCLUDES, "@ roofline memory shapes sizes compile" },
    { "plugin,module", OPT_NEEDS, "function" },
    { "function", OPT_NEEDS, "plugin module" },
    { "python", OPT_NEEDS, "module" },
    { "flops", OPT_NEEDS, "plugin module" },
    { "roofline", OPT_NEEDS, "flops shapes" },
    { "dtype", OPT_NEEDS, "roofline" },
    { "memory", OPT_NEEDS, "plugin" },
    { "memory", OPT_EXCLUDES, "shapes sizes compile" },
    { "shapes", OPT_NEEDS, "plugin" },
    { "results,graph", OPT_NEEDS, "shapes" },
    { "name", OPT_NEEDS, "data" },
    { "ignore-failure", OPT_EXCLUDES, "plugin module" },
    { "sizes", OPT_EXCLUDES, "compile flops shapes energy trace gpu" },
    { "compile", OPT_EXCLUDES, "flops shapes energy trace gpu" },
    { "shapes", OPT_EXCLUDES, "energy trace gpu" },
    { "launches,cache-env", OPT_NEEDS, "compile" },
    { "compile", OPT_NEEDS, "plugin cache-env" },
    { "country,region,intensity", OPT_NEEDS, "energy" },
    { "emissions", OPT_NEEDS, "country region intensity" },
};

static const profile_args profile_defaults = { .warmup = 1, .gpu = -1, .dtype = -1, .results = 1, .intensity = NAN };

/* What is open while it measures. */
typedef struct session {
    const opt_run *run;
    const profile_args *a;
    profile_facts *facts;
    cbx_gpu *gpu;
    cbx_energy_meter *energy;
    cbx_timeline *trace;
    const cbx_carbon_intensity *grid; /* NULL: not asked for */
    cbx_carbon_intensity given;       /* by --intensity */
    cbx_energy_report used;
    const cbx_emissions *before; /* lines of --emissions */
    size_t nbefore;
    const char *faults[3]; /* sentences: what of trace, store and emissions could not be written */
    size_t nfaults;
} session;

static void see_energy(session *s, double runs)
{
    if (!s->energy) return;
    cbx_energy_meter_report(s->energy, &s->used);
    if (!s->gpu) s->used.gpu_why[0] = '\0'; /* not asked for */
    profile_see_energy(s->facts, &s->used, runs, s->grid);
}

static size_t calls_of(const cbx_call_timing *t) { return t->warmup_calls + t->nsamples * t->calls_per_sample; }

/* --- a command --- */

cbx_profile_opts profile_command_opts(const opt_run *run)
{
    const profile_args *a = run->args;
    cbx_profile_opts o = CBX_PROFILE_OPTS_INIT;

    o.argv = run->words->items;
    o.warmup = a->warmup;
    if (a->iterations) o.runs = a->iterations;
    o.show_output = a->show_output;
    o.ignore_failure = a->ignore_failure;
    o.stop = stop_catch();
    return o;
}

static cbx_status measure_command(session *s)
{
    cbx_profile_opts o = profile_command_opts(s->run);
    CLEARED(cbx_profile) p = { 0 };

    o.interval_s = 1e-3 * s->a->sample_ms;
    o.gpu = s->gpu;
    o.energy = s->energy;
    o.trace = s->trace;
    cbx_status st = cbx_profile_command(s->run->ctx, &o, &p, s->run->err);
    if (!st) profile_see_command(s->facts, &p);
    if (!st) see_energy(s, (double)(o.warmup + o.runs));
    return st;
}

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

/* --- a function --- */

cbx_timing_opts profile_timing_opts(const profile_args *a)
{
    cbx_timing_opts o = CBX_TIMING_OPTS_INIT;

    o.warmup = a->warmup;
    if (a->iterations) o.samples = a->iterations;
    if (a->sample_ms > 0) o.sample_s = 1e-3 * a->sample_ms;
    return o;
}

static cbx_status time_calls(session *s, cbx_timed_fn call, void *state)
{
    const cbx_timing_opts o = profile_timing_opts(s->a);
    const cbx_timeline_at track = { 0, 1, 0 };
    cbx_resource_opts watching = CBX_RESOURCE_OPTS_INIT;
    cbx_resource_monitor *m = NULL;
    cbx_resource_report r;
    CLEARED(cbx_call_timing) t = { 0 };

    watching.interval_s = s->gpu ? 0.1 : 0.25; /* NVML renews what it reports about every 0.1 s */
    watching.device = s->gpu ? cbx_gpu_sample : NULL;
    watching.device_user = s->gpu;
    cbx_status st = cbx_resource_monitor_start(s->run->ctx, &watching, &m, s->run->err);
    if (st) return st;
    cbx_timeline_begin(s->trace, s->a->function, "timing", &track, NULL, 0);
    st = cbx_time_calls(s->run->ctx, call, state, &o, &t, s->run->err);
    cbx_timeline_end(s->trace, &track);
    cbx_resource_monitor_stop(m, &r, NULL);
    if (!st) profile_see_function(s->facts, &t, &r);
    if (!st) see_energy(s, (double)calls_of(&t));
    cbx_resource_monitor_free(m);
    return st;
}

/* Under the roofs of a core, if they are asked for. */
static cbx_status see_work(const session *s, const cbx_flops *w, const char *type, size_t last_axis)
{
    const opt_run *run = s->run;
    cbx_roofs roofs;
    cbx_probe probe;
    cbx_machine m;
    cbx_status st = CBX_OK;

    if (s->a->roofline) {
        st = cbx_machine_read(run->ctx, NULL, &m, run->err);
        if (!st) st = cbx_probe_get(run->ctx, m.id, false, &probe, run->err);
        if (!st)
            st = cbx_roofs_of_type(&probe, s->a->dtype >= 0 ? cbx_roofs_type_at((size_t)s->a->dtype) : type, 1, &roofs,
                                   run->err);
    }
    if (!st)
        profile_see_work(s->facts, w, profile_fact_value(s->facts, "call_time"), s->a->roofline ? &roofs : NULL,
                         last_axis);
    return st;
}

static cbx_status measure_function(session *s)
{
    cbx_flops_opts o = CBX_FLOPS_OPTS_INIT;
    profile_plugin p = { 0 };
    cbx_memory_of_call m;
    cbx_flops w;
    cbx_status st = profile_plugin_load(s->a, &p, s->run->err);

    if (st) return st;
    if (p.setup) p.state = p.setup();
    st = time_calls(s, p.run, p.state);
    if (!st && s->a->memory) {
        st = cbx_memory_measure(s->run->ctx, p.run, p.state, &m, s->run->err);
        if (!st) profile_see_memory(s->facts, &m);
    }
    if (!st && s->a->flops) {
        o.declared_flop = o.declared_bytes = NAN;
        o.has_declared = p.work != NULL;
        if (p.work) p.work(p.state, &o.declared_flop, &o.declared_bytes);
        st = cbx_flops_of_calls(s->run->ctx, p.run, p.state, &o, &w, s->run->err);
        if (!st) st = see_work(s, &w, "float64", 0);
    }
    if (p.teardown) p.teardown(p.state);
    dlclose(p.handle);
    return st;
}

/* --- a function of Python --- */

static cbx_status measure_module(session *s)
{
    const profile_args *a = s->a;
    profile_facts *f = s->facts;
    cbx_python_call_opts o = CBX_PYTHON_CALL_OPTS_INIT;
    CLEARED(cbx_python_call) c = { .work = { 0 } };

    o.python = a->python;
    o.module = a->module;
    o.function = a->function;
    o.warmup = a->warmup;
    if (a->iterations) o.samples = a->iterations;
    if (a->sample_ms > 0) o.sample_s = 1e-3 * a->sample_ms;
    o.flops = a->flops;
    o.show_output = a->show_output;
    o.gpu = s->gpu;
    o.energy = s->energy;
    o.trace = s->trace;
    o.stop = stop_catch();
    cbx_status st = cbx_python_call_measure(s->run->ctx, &o, &c, s->run->err);
    if (st) return st;
    cbx_resource_report r = c.process.runs[0].resources;
    r.hwm_bytes = (uint64_t)(1048576.0 * c.process.runs[0].max_rss_mb); /* the interpreter's mark, not this program's */
    profile_see_function(f, &c.timing, &r);
    if (a->flops) profile_see_work(f, &c.work, c.timing.steady.value, NULL, 0);
    if (c.has_compiled) /* what XLA made of the function, beside the count of its operations */
        profile_remark(f, "compiled by XLA: %zu instructions, %zu fusions with %.0f %% of the operations; score %.2f",
                       c.compiled.instructions, c.compiled.fusions, 100 * c.compiled.fused_ratio, c.compiled.score);
    for (size_t i = 0; c.has_compiled && i < c.compiled.nadvice; i++)
        profile_remark(f, "compiled: %s", c.compiled.advice[i]);
    see_energy(s, (double)calls_of(&c.timing));
    return CBX_OK;
}

/* --- a function of arrays: timed compiled, its work by trace --- */

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

    wide.dtype = CBX_F64;
    cbx_status st = cbx_array_create(run->ctx, &wide, &x, err);
    if (st) return st;
    cbx_rng rng = cbx_rng_make(seed, 0);
    double *v = cbx_array_data_mut(x);
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

static cbx_status measure_arrays(session *s)
{
    const opt_run *run = s->run;
    const size_t n = s->a->shapes.count;
    cbx_array **in = cbx_arena_calloc(run->arena, n, sizeof *in);
    cbx_array_desc *d = cbx_arena_calloc(run->arena, n, sizeof *d);
    array_call call = { .ctx = run->ctx, .in = in, .err = CBX_ERR_INIT };
    profile_plugin p = { 0 };
    cbx_fn *fast = NULL;
    cbx_flops w;
    cbx_status st = profile_plugin_load(s->a, &p, run->err);

    if (st) return st;
    for (size_t i = 0; i < n && !st; i++) {
        st = parse_shape(s->a->shapes.items[i], &d[i], run->err);
        if (!st) st = make_operand(run, &d[i], i, &in[i], run->err);
    }
    if (!st) {
        if (p.setup) p.state = p.setup();
        const cbx_fn f = { s->a->function, p.array_run, p.state, n, s->a->results, NULL };
        const size_t ndim = cbx_array_ndim(in[0]);
        const bool wide = cbx_dtype_size(cbx_array_dtype(in[0])) >= 8; /* whatever computes it */

        call.out = cbx_arena_calloc(run->arena, f.nout, sizeof *call.out);
        st = cbx_jit(run->ctx, &f, &fast, run->err);
        call.f = fast;
        if (!st) st = time_calls(s, call_array, &call);
        if (call.st) st = cbx_fail(run->err, call.st, "%s", call.err.message);
        if (!st && s->a->graph) st = profile_see_graph(s->facts, &f, fast, d);
        cbx_fn_free(fast);
        if (!st) st = cbx_flops_of_fn_with(run->ctx, &f, n, in, &w, run->err);
        if (!st) st = see_work(s, &w, wide ? "float64" : "float32", ndim ? cbx_array_dim(in[0], ndim - 1) : 0);
        if (p.teardown) p.teardown(p.state);
    }
    for (size_t i = 0; i < n; i++) cbx_array_free(in[i]);
    dlclose(p.handle);
    return st;
}

/* --- first calls --- */

/* Of a function by this program again, which profiles it: nothing of the shared object was there
 * before. */
static cbx_status measure_launches(session *s)
{
    const opt_run *run = s->run;
    const profile_args *a = s->a;
    cbx_cold_warm_opts o = CBX_COLD_WARM_OPTS_INIT;
    const cbx_launch_times *cold, *warm;
    char self[4096] = "";
    const char *warmup = cbx_arena_printf(run->arena, "%zu", a->warmup);
    const char *samples = cbx_arena_printf(run->arena, "%zu", a->iterations ? a->iterations : 5);
    const char *sample_ms = cbx_arena_printf(run->arena, "%.9g", a->sample_ms > 0 ? a->sample_ms : 1);
    const char *argv[] = { self,       "profile", "--json",       "--plugin", a->plugin,     "--function", a->function,
                           "--warmup", warmup,    "--iterations", samples,    "--sample-ms", sample_ms,    NULL };

    if (a->plugin && readlink("/proc/self/exe", self, sizeof self - 1) < 0)
        return cbx_fail(run->err, CBX_EIO, "cannot find this program again: %s", strerror(errno));
    o.argv = a->plugin ? argv : run->words->items;
    o.name = a->plugin ? a->function : run->words->items[0];
    o.profiles = a->plugin != NULL;
    if (a->launches) o.launches = a->launches;
    o.cache_env = a->cache_env;
    o.show_output = a->show_output && !a->plugin;
    o.ignore_failure = a->ignore_failure;
    o.stop = stop_catch();
    cbx_status st = cbx_cold_warm_measure(run->ctx, &o, run->arena, &cold, &warm, run->err);
    if (!st) profile_see_launches(s->facts, cold, warm, o.launches);
    return st;
}

/* --- emissions --- */

#define J_PER_KWH 3.6e6

static double kwh(double joules) { return joules / J_PER_KWH; }

/* Writes the lines that the file had and one more. */
static cbx_status add_emissions(const session *s, const char *run_id)
{
    const opt_run *run = s->run;
    const cbx_energy_report *e = &s->used;
    const cbx_carbon_intensity *grid = s->grid;
    cbx_emissions *all = cbx_arena_calloc(run->arena, s->nbefore + 1, sizeof *all), x = cbx_emissions_empty();
    char timestamp[CBX_TIME_SIZE];
    cbx_machine m;

    if (isnan(e->total_j))
        return cbx_fail(run->err, CBX_EUNAVAILABLE, "no line for '%.200s', since no energy could be measured: %s",
                        s->a->emissions, e->cpu_why[0] ? e->cpu_why : e->gpu_why);
    cbx_status st = cbx_machine_read(run->ctx, NULL, &m, run->err);
    if (st) return st;
    cbx_time_format_iso(cbx_time_now_us(), timestamp);
    timestamp[strlen("2026-02-20T11:34:24")] = '\0'; /* as codecarbon has it */
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
    x.cpu_count = m.threads;
    x.cpu_model = m.model_name;
    x.ram_total_size = (double)m.memory_bytes / 1e9;
    x.tracking_mode = "machine";
    x.on_cloud = "N";
    x.pue = 1;
    if (s->nbefore) memcpy(all, s->before, s->nbefore * sizeof *all);
    all[s->nbefore] = x;
    return cbx_emissions_write(run->ctx, s->a->emissions, all, s->nbefore + 1, run->err);
}

/* --- all --- */

static void note_fault(session *s, cbx_status st)
{
    if (st) s->faults[s->nfaults++] = cbx_arena_strdup(s->run->arena, s->run->err->message);
}

static int show(const session *s, const char *id)
{
    const opt_run *run = s->run;
    int status = EXIT_PASS;
    cbx_json *o;

    if (s->a->json) {
        o = profile_json(s->facts);
        cbx_json_put(o, J_TEXT("run", id[0] ? id : NULL), J_TEXTS("faults", s->faults, s->nfaults));
        status = print_json(run, o);
    } else {
        profile_print(s->facts);
        if (id[0]) fprintf(stderr, "kept as run %s in %s\n", id, s->a->data);
    }
    for (size_t i = 0; i < s->nfaults; i++) status = opt_fail(run, "%s", s->faults[i]);
    return status;
}

static int run_profile(const opt_run *run)
{
    const profile_args *a = run->args;
    profile_facts *f = cbx_arena_calloc(run->arena, 1, sizeof *f);
    session s = { .run = run, .a = a, .facts = f };
    cbx_energy_opts e = CBX_ENERGY_OPTS_INIT;
    cbx_ctx *ctx = run->ctx;
    char id[64] = "";
    cbx_status st = CBX_OK;

    /* What the table of options cannot say. */
    if (a->results > 64) return opt_fail(run, "'--results' must be at most 64, got %zu", a->results);
    if (a->sizes.count && a->sizes.count < 4)
        return opt_fail(run, "'--sizes' needs four sizes or more to fit an order, got %zu", a->sizes.count);
    f->run = run;
    f->kind = a->compile ? "launches" : a->function ? "function" : "command";
    f->subject = a->function ? a->function : run->words->count ? run->words->items[0] : "";
    for (size_t i = 1; !a->function && i < run->words->count; i++)
        f->subject = cbx_arena_printf(run->arena, "%s %s", f->subject, run->words->items[i]);
    if (a->sizes.count) return profile_sizes(run, f->subject);
    if (a->data && keep_prepare(run, a->data)) return EXIT_ERROR;
    if (a->gpu >= 0) st = cbx_gpu_open(ctx, (unsigned)a->gpu, NULL, &s.gpu, run->err);
    if (!st && a->trace) st = cbx_file_check_writable(ctx, a->trace, run->err);
    if (!st && a->trace) st = cbx_timeline_create(ctx, f->subject, &s.trace, run->err);
    e.gpu = s.gpu;
    if (!st && a->region)
        st = cbx_carbon_find_region(a->country, a->region, &s.grid, run->err);
    else if (!st && a->country)
        st = cbx_carbon_find(a->country, &s.grid, run->err);
    if (!isnan(a->intensity)) {
        s.given = s.grid ? *s.grid : (cbx_carbon_intensity){ .country = "", .name = "" };
        s.given.g_per_kwh = a->intensity;
        s.given.source = NULL;
        s.grid = &s.given;
    }
    /* the lines that the file holds, before anything is measured; none if it is missing but can
     * be made */
    if (!st && a->emissions) st = cbx_file_check_writable(ctx, a->emissions, run->err);
    if (!st && a->emissions && cbx_path_exists(a->emissions))
        st = cbx_emissions_read(ctx, a->emissions, run->arena, &s.before, &s.nbefore, run->err);
    if (!st && a->energy) st = cbx_energy_meter_start(ctx, &e, &s.energy, run->err);
    if (!st)
        st = a->compile        ? measure_launches(&s)
             : a->shapes.count ? measure_arrays(&s)
             : a->module       ? measure_module(&s)
             : a->plugin       ? measure_function(&s)
                               : measure_command(&s);
    if (!st && f->failed) st = cbx_fail_nomem(run->err, "the results");
    if (!st) { /* what is to be kept, each by itself, since a full disk must not cost what was measured */
        const char *name = a->name ? a->name : a->function ? a->function : cbx_path_base(run->words->items[0]);
        cbx_status traced = s.trace ? cbx_timeline_write(ctx, s.trace, a->trace, run->err) : CBX_OK;
        profile_see_gpu(f, s.gpu);
        note_fault(&s, traced);
        f->trace = traced ? NULL : a->trace;
        if (a->data) note_fault(&s, profile_keep(f, a->data, name, id));
        if (a->emissions) note_fault(&s, add_emissions(&s, id));
    }
    cbx_energy_meter_free(s.energy);
    cbx_timeline_free(s.trace);
    cbx_gpu_close(s.gpu);
    return st ? opt_check(run, st) : show(&s, id);
}

const opt_command profile_command = {
    .name = "profile",
    .synopsis =
        "[OPTION]... (-- COMMAND [ARGUMENT]... | --plugin FILE --function NAME | --module MODULE --function NAME)",
    .summary = "measure the time and resources that a command or a function uses",
    .description =
        "Measures wall and CPU time, memory, page faults, context switches, input and output of the whole process tree "
        "of a command over several runs, or the time of a call of a C or Python function, with intervals. A value that "
        "cannot be measured on this machine is left out, with the reason. The exit status is also 2 if a command "
        "fails, if a call is too short to measure, or if a requested store, trace or emissions file cannot be written, "
        "for example because there is no sensor; the measured values are printed in any case.",
    OPT_OPTIONS_RULES(profile),
    .defaults = &profile_defaults,
    .flags = OPT_TAKES_WORDS,
    .word = "COMMAND",
};

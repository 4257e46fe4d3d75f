/*
 * calibrax profile: the time and resources that a command, or a function of a shared object or a Python module, uses.
 *
 * A function NAME is `void NAME(void *state)`; state comes from `void *NAME_setup(void)` and goes to `void NAME_teardown(void *state)`
 * where the shared object has them; of a Python module it is any callable.
 * profile_facts.c makes rows of what was measured; profile_work.c and profile_sizes.c have the other measurements.
 */
#include "programs/calibrax/profile.h"

#include <math.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "calibrax/profiling/python_call.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/select.h"
#include "programs/common/output.h"
#include "programs/common/stop.h"

#define AT(member) offsetof(profile_args, member)

static const opt_spec profile_options[] = {
    { "warmup", 'w', OPT_COUNT, AT(warmup), "N", "1", "runs or calls before, which do not count" },
    { "iterations", 'n', OPT_POSITIVE, AT(iterations), "N", "10 runs; 30 samples of a C function, 10 of a Python one",
      "number of runs or samples that count" },
    { "sample-ms", 0, OPT_ABOVE, AT(sample_ms), "MS", "10; 1 for a function",
      "time between two samples of a command; minimum length of a timed window of a function" },
    { "show-output", 0, OPT_FLAG, AT(show_output), NULL, NULL, "show the output of the command" },
    { "ignore-failure", 'i', OPT_FLAG, AT(ignore_failure), NULL, NULL,
      "count runs of a command with an exit status other than 0, too" },
    { "gpu", 0, OPT_INT, AT(gpu), "N", "none",
      "watch this device of NVIDIA: its memory, use, clock, power, temperature, and why it was slowed down" },
    { "gpu-index", 0, OPT_INT, AT(gpu), "N", NULL, NULL },
    { "trace", 0, OPT_STRING, AT(trace), "FILE", NULL, "write a trace that ui.perfetto.dev opens" },
    { "data", 0, OPT_STRING, AT(data), "STORE", NULL,
      "keep the result as a run of this store, which is made if missing" },
    { "name", 0, OPT_STRING, AT(name), "NAME", "the command's or function's", "name of the point in that run" },
    { "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print one JSON document" },
    { "A function instead of a command", 0, OPT_GROUP, 0, NULL, NULL, NULL },
    { "plugin", 0, OPT_STRING, AT(plugin), "FILE", NULL, "shared object with the function" },
    { "module", 0, OPT_STRING, AT(module), "MODULE", NULL,
      "Python module with the function, by its dotted name or the path of its file; it runs in an interpreter of its "
      "own" },
    { "python", 0, OPT_STRING, AT(python), "PROGRAM", "python3", "with --module: the interpreter" },
    { "function", 0, OPT_STRING, AT(function), "NAME", NULL,
      "of --plugin: void NAME(void *state), with NAME_setup and NAME_teardown if they exist; of --module: called "
      "without arguments" },
    { "flops", 0, OPT_FLAG, AT(flops), NULL, NULL,
      "count its operations: by hardware, else as `void NAME_work(void *state, double *flop, double *bytes)` computes "
      "them; with --shapes by trace; with --module by XLA, where the interpreter has jax" },
    { "roofline", 0, OPT_FLAG, AT(roofline), NULL, NULL,
      "with --flops: its place under the measured roofs of a core of this machine" },
    { "dtype", 0, OPT_STRING, AT(dtype), "TYPE", "float64",
      "with --roofline: type of the arithmetic: float64, float32, float16, bfloat16 or int8",
      "float64 float32 float16 bfloat16 int8" },
    { "memory", 0, OPT_FLAG, AT(memory), NULL, NULL, "the peak memory of a call, and what it keeps" },
    { "shapes", 0, OPT_LIST, AT(shapes), "TYPE:AxB,...", NULL,
      "the function is one of arrays (calibrax/array/fn.h) and gets operands of these types and shapes" },
    { "results", 0, OPT_POSITIVE, AT(results), "N", "1", "with --shapes: how many arrays it returns, at most 64" },
    { "Growth and first calls", 0, OPT_GROUP, 0, NULL, NULL, NULL },
    { "sizes", 0, OPT_LIST, AT(sizes), "N,...", NULL,
      "measure at these sizes and fit the order of growth: the command has its size at {}, the function from `void "
      "*NAME_setup_size(size_t size)`; exit status 3 where the sizes do not decide" },
    { "compile", 0, OPT_FLAG, AT(compile), NULL, NULL,
      "measure the cost of the first call beyond later ones, over launches" },
    { "launches", 0, OPT_POSITIVE, AT(launches), "N", "10", "with --compile: number of launches of each kind" },
    { "cache-env", 0, OPT_STRING, AT(cache_env), "NAME", NULL,
      "with --compile: variable that names the folder of compiled code; launches with an empty and with a filled one" },
    { "Energy and emissions", 0, OPT_GROUP, 0, NULL, NULL, NULL },
    { "energy", 0, OPT_FLAG, AT(energy), NULL, NULL,
      "measure the energy of processors, memory and, with --gpu, the device" },
    { "country", 0, OPT_STRING, AT(country), "CODE", NULL,
      "with --energy: carbon dioxide, too, by the mean of the country's grid" },
    { "region", 0, OPT_STRING, AT(region), "CODE", "the whole country",
      "with --energy: of a part of the country: a state of the USA, a province of Canada or China, a bidding zone of "
      "Sweden or Norway; its code, such as US-CA or SE3, or with --country its name" },
    { "intensity", 0, OPT_NUMBER, AT(intensity), "G", "the grid's yearly mean",
      "with --energy: carbon dioxide by this intensity of the grid, in g/kWh" },
    { "emissions", 0, OPT_STRING, AT(emissions), "FILE", NULL,
      "add a line to this file of codecarbon (emissions.csv), made if missing; without measured energy there is no "
      "line, and the exit status is 2" },
};
static const opt_rule profile_rules[] = {
    { "", OPT_NEEDS, "@ plugin module" },
    { "plugin", OPT_EXCLUDES, "module @" },
    { "module", OPT_EXCLUDES, "@ roofline memory shapes sizes compile" },
    { "plugin", OPT_NEEDS, "function" },
    { "module", OPT_NEEDS, "function" },
    { "function", OPT_NEEDS, "plugin module" },
    { "python", OPT_NEEDS, "module" },
    { "flops", OPT_NEEDS, "plugin module" },
    { "roofline", OPT_NEEDS, "flops shapes" },
    { "dtype", OPT_NEEDS, "roofline" },
    { "memory", OPT_NEEDS, "plugin" },
    { "memory", OPT_EXCLUDES, "shapes sizes compile" },
    { "shapes", OPT_NEEDS, "plugin" },
    { "results", OPT_NEEDS, "shapes" },
    { "name", OPT_NEEDS, "data" },
    { "ignore-failure", OPT_EXCLUDES, "plugin module" },
    { "sizes", OPT_EXCLUDES, "compile flops shapes energy trace gpu" },
    { "compile", OPT_EXCLUDES, "flops shapes energy trace gpu" },
    { "shapes", OPT_EXCLUDES, "energy trace gpu" },
    { "launches", OPT_NEEDS, "compile" },
    { "cache-env", OPT_NEEDS, "compile" },
    { "compile", OPT_NEEDS, "plugin cache-env" },
    { "country", OPT_NEEDS, "energy" },
    { "region", OPT_NEEDS, "energy" },
    { "intensity", OPT_NEEDS, "energy" },
    { "emissions", OPT_NEEDS, "country region intensity" },
};

static const profile_args profile_defaults = { .warmup = 1, .gpu = -1, .results = 1, .intensity = NAN };

/* What is open while it measures; closed by close_session. */
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

static cbx_status find_grid(session *s, cbx_err *err)
{
    const profile_args *a = s->a;
    cbx_status st = a->region    ? cbx_carbon_find_region(a->country, a->region, &s->grid, err)
                    : a->country ? cbx_carbon_find(a->country, &s->grid, err)
                                 : CBX_OK;

    if (st || isnan(a->intensity)) return st;
    s->given = s->grid ? *s->grid : (cbx_carbon_intensity){ .country = "", .name = "" };
    s->given.g_per_kwh = a->intensity;
    s->given.source = NULL;
    s->grid = &s->given;
    return CBX_OK;
}

static cbx_status see_energy(session *s, double runs, cbx_err *err)
{
    cbx_energy_report *report = &s->used;

    if (!s->energy) return CBX_OK;
    cbx_energy_meter_report(s->energy, report);
    if (!s->gpu) report->gpu_why[0] = '\0'; /* not asked for */
    return profile_see_energy(s->facts, report, runs, s->grid) ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory");
}

/* --- a command --- */

static cbx_status measure_command(session *s, cbx_err *err)
{
    const opt_list *words = s->run->words;
    const char **argv = cbx_arena_calloc(s->run->arena, words->count + 1, sizeof *argv);
    cbx_profile_opts o = CBX_PROFILE_OPTS_INIT;
    cbx_profile p = { 0 };
    cbx_status st;

    if (!argv) return cbx_fail(err, CBX_ENOMEM, "out of memory");
    memcpy(argv, words->items, words->count * sizeof *argv);
    o.argv = argv;
    o.warmup = s->a->warmup;
    if (s->a->iterations) o.runs = s->a->iterations;
    o.interval_s = 1e-3 * s->a->sample_ms;
    o.show_output = s->a->show_output;
    o.ignore_failure = s->a->ignore_failure;
    o.gpu = s->gpu;
    o.energy = s->energy;
    o.trace = s->trace;
    o.stop = stop_catch();
    st = cbx_profile_command(s->run->ctx, &o, &p, err);
    if (!st && !profile_see_command(s->facts, &p)) st = cbx_fail(err, CBX_ENOMEM, "out of memory");
    if (!st) st = see_energy(s, (double)(o.warmup + o.runs), err);
    cbx_profile_clear(&p);
    return st;
}

/* --- a function --- */

static cbx_status time_function(session *s, const profile_plugin *p, cbx_err *err)
{
    cbx_timing_opts o = CBX_TIMING_OPTS_INIT;
    cbx_resource_opts watching = CBX_RESOURCE_OPTS_INIT;
    cbx_resource_monitor *m = NULL;
    cbx_resource_report r;
    cbx_call_timing t = { 0 };
    const cbx_timeline_at track = { 0, 1, 0 };
    cbx_status st;

    o.warmup = s->a->warmup;
    if (s->a->iterations) o.samples = s->a->iterations;
    if (s->a->sample_ms > 0) o.sample_s = 1e-3 * s->a->sample_ms;
    watching.interval_s = s->gpu ? 0.1 : 0.25; /* NVML renews what it tells about every 0.1 s */
    watching.device = s->gpu ? cbx_gpu_sample : NULL;
    watching.device_user = s->gpu;
    st = cbx_resource_monitor_start(s->run->ctx, &watching, &m, err);
    if (st) return st;
    cbx_timeline_begin(s->trace, s->a->function, "timing", &track, NULL, 0);
    st = cbx_time_calls(s->run->ctx, p->run, p->state, &o, &t, err);
    cbx_timeline_end(s->trace, &track);
    cbx_resource_monitor_stop(m, &r, NULL);
    if (!st && !profile_see_function(s->facts, &t, &r)) st = cbx_fail(err, CBX_ENOMEM, "out of memory");
    if (!st) st = see_energy(s, (double)(t.warmup_calls + t.nsamples * t.calls_per_sample), err);
    cbx_call_timing_clear(&t);
    cbx_resource_monitor_free(m);
    return st;
}

static cbx_status measure_function(session *s, cbx_err *err)
{
    profile_plugin p = { 0 };
    cbx_status st = profile_plugin_load(s->a, &p, err);

    if (st) return st;
    profile_plugin_start(&p);
    st = time_function(s, &p, err);
    if (!st && s->a->memory) {
        cbx_memory_of_call m;
        st = cbx_memory_measure(s->run->ctx, p.run, p.state, &m, err);

        if (!st) profile_see_memory(s->facts, &m);
    }
    if (!st && s->a->flops) st = profile_work(s->run, s->a, &p, s->facts, err);
    profile_plugin_close(&p, true);
    return st;
}

/* --- a function of Python --- */

static cbx_status see_call(const profile_args *a, const cbx_python_call *c, profile_facts *f, cbx_err *err)
{
    const cbx_profile_run *run = &c->process.runs[0];
    cbx_resource_report r = run->resources;

    r.hwm_bytes = (uint64_t)(1048576.0 * run->max_rss_mb); /* the interpreter's mark, not this program's */
    if (!profile_see_function(f, &c->timing, &r)) return cbx_fail(err, CBX_ENOMEM, "out of memory");
    if (a->flops && !profile_see_work(f, &c->work, c->timing.steady.value, NULL, 0))
        return cbx_fail(err, CBX_ENOMEM, "out of memory");
    if (c->has_compiled) {
        /* What XLA made of the function, beside the count of its operations. */
        profile_remark(f, "compiled by XLA: %zu instructions, %zu fusions with %.0f %% of the operations; score %.2f",
                       c->compiled.instructions, c->compiled.fusions, 100 * c->compiled.fused_ratio, c->compiled.score);
        for (size_t i = 0; i < c->compiled.nadvice; i++) profile_remark(f, "compiled: %s", c->compiled.advice[i]);
    }
    return CBX_OK;
}

static cbx_status measure_module(const opt_run *run, const profile_args *a, cbx_gpu *gpu, cbx_energy_meter *energy,
                                 cbx_timeline *trace, profile_facts *f, double *calls, cbx_err *err)
{
    cbx_python_call_opts o = CBX_PYTHON_CALL_OPTS_INIT;
    cbx_python_call c = { .work = { 0 } };
    cbx_status st;

    o.python = a->python;
    o.module = a->module;
    o.function = a->function;
    o.warmup = a->warmup;
    if (a->iterations) o.samples = a->iterations;
    if (a->sample_ms > 0) o.sample_s = 1e-3 * a->sample_ms;
    o.flops = a->flops;
    o.show_output = a->show_output;
    o.gpu = gpu;
    o.energy = energy;
    o.trace = trace;
    o.stop = stop_catch();
    st = cbx_python_call_measure(run->ctx, &o, &c, err);
    if (!st) st = see_call(a, &c, f, err);
    *calls = (double)(c.timing.warmup_calls + c.timing.nsamples * c.timing.calls_per_sample);
    cbx_python_call_clear(&c);
    return st;
}

/* --- all --- */

static const char *joined(cbx_arena *arena, const opt_list *words)
{
    const char *all = words->count ? words->items[0] : "";
    for (size_t i = 1; i < words->count && all; i++) all = cbx_arena_printf(arena, "%s %s", all, words->items[i]);
    return all;
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static bool is_type(const char *name)
{
    for (size_t i = 0; cbx_roofs_type_at(i); i++)
        if (!strcmp(cbx_roofs_type_at(i), name)) return true;
    return false;
}

static void note_fault(session *s, cbx_status st, const cbx_err *err)
{
    const char *sentence = st ? cbx_arena_strdup(s->run->arena, err->message) : NULL;

    if (st) s->faults[s->nfaults++] = sentence ? sentence : "out of memory";
}

/* Writes what is to be kept; each by itself, since a full disk must not cost what was measured. */
static void conclude(session *s, const char *name, char id[64])
{
    cbx_err err = CBX_ERR_INIT;
    cbx_status st = s->trace ? cbx_timeline_write(s->run->ctx, s->trace, s->a->trace, &err) : CBX_OK;

    note_fault(s, st, &err);
    s->facts->trace = st ? NULL : s->a->trace;
    if (s->a->data) note_fault(s, profile_keep(s->run, s->facts, s->a->data, name, id, &err), &err);
    if (s->a->emissions)
        note_fault(s, profile_add_emissions(s->run, s->a, s->before, s->nbefore, &s->used, s->grid, id, &err), &err);
}

static int show(const session *s, const char *id)
{
    const opt_run *run = s->run;
    int status = EXIT_PASS;
    cbx_json *o;

    if (s->a->json) {
        o = profile_json(s->facts);
        if (o) cbx_json_set_string(o, "run", id[0] ? id : NULL);
        if (o) cbx_json_set(o, "faults", sentences_json(s->faults, s->nfaults));
        status = print_json(run->program, o);
    } else {
        profile_print(s->facts);
        if (id[0]) fprintf(stderr, "kept as run %s in %s\n", id, s->a->data);
    }
    for (size_t i = 0; i < s->nfaults; i++) status = opt_fail(run->program, "%s", s->faults[i]);
    return status;
}

static cbx_status measure(session *s, cbx_err *err)
{
    if (s->a->compile) return profile_compile(s->run, s->a, s->facts, err);
    if (s->a->shapes.count) return profile_array_function(s->run, s->a, s->facts, err);
    if (s->a->module) {
        double calls = 1;
        cbx_status st = measure_module(s->run, s->a, s->gpu, s->energy, s->trace, s->facts, &calls, err);
        return st ? st : see_energy(s, calls, err);
    }
    return s->a->plugin ? measure_function(s, err) : measure_command(s, err);
}

static int run_profile(const opt_run *run)
{
    const profile_args *a = run->args;
    profile_facts *f = cbx_arena_calloc(run->arena, 1, sizeof *f);
    session s = { .run = run, .a = a, .facts = f };
    char id[64] = "";
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;
    /* What the table of options cannot say. */
    if (a->dtype && !is_type(a->dtype))
        return opt_fail(run->program, "'--dtype' must be float64, float32, float16, bfloat16 or int8, got '%s'",
                        a->dtype);
    if (a->results > 64) return opt_fail(run->program, "'--results' must be at most 64, got %zu", a->results);
    if (a->sizes.count && a->sizes.count < 4)
        return opt_fail(run->program, "'--sizes' needs four sizes or more to fit an order, got %zu", a->sizes.count);
    if (!f) return opt_fail(run->program, "out of memory");
    f->arena = run->arena;
    f->ctx = run->ctx;
    f->kind = a->compile ? "launches" : a->function ? "function" : "command";
    f->subject = a->function ? a->function : joined(run->arena, run->words);
    if (!f->subject) return opt_fail(run->program, "out of memory");
    if (a->sizes.count) return profile_sizes(run, a, f->subject);
    if (a->data && keep_prepare(run, a->data)) return EXIT_ERROR;
    cbx_energy_opts e = CBX_ENERGY_OPTS_INIT;
    cbx_ctx *ctx = s.run->ctx;
    st = CBX_OK;

    if (s.a->gpu >= 0) st = cbx_gpu_open(ctx, (unsigned)s.a->gpu, NULL, &s.gpu, &err);
    if (!st && s.a->trace) st = cbx_file_check_writable(ctx, s.a->trace, &err);
    if (!st && s.a->trace) st = cbx_timeline_create(ctx, s.facts->subject, &s.trace, &err);
    e.gpu = s.gpu;
    if (!st) st = find_grid(&s, &err);
    if (!st && s.a->emissions) st = profile_see_emissions(s.run, s.a->emissions, &s.before, &s.nbefore, &err);
    if (!st && s.a->energy) st = cbx_energy_meter_start(ctx, &e, &s.energy, &err);
    if (!st) st = measure(&s, &err);
    if (!st) profile_see_gpu(f, s.gpu);
    if (!st) conclude(&s, a->name ? a->name : a->function ? a->function : last_part(run->words->items[0]), id);
    cbx_energy_meter_free(s.energy);
    cbx_timeline_free(s.trace);
    cbx_gpu_close(s.gpu);
    if (st == CBX_EINTERRUPTED) return EXIT_STOPPED;
    return st ? opt_fail(run->program, "%s", err.message) : show(&s, id);
}

const opt_command profile_command = {
    .name = "profile",
    .synopsis =
        "[OPTION]... (-- COMMAND [ARGUMENT]... | --plugin FILE --function NAME | --module MODULE --function NAME)",
    .summary = "measure the time and resources that a command or a function uses",
    .description =
        "Measures wall and processor time, memory, page faults, context switches, input and output of a command's "
        "whole process tree over several runs, or the time of a call of a C or Python function, with intervals. A "
        "value that cannot be measured here is missing, with the reason. Exit status 2 also when a command fails, when "
        "a call is too short to measure, or when the store, the trace or the emissions that were asked for cannot be "
        "written, also for want of a sensor: what was measured is printed all the same.",
    OPT_OPTIONS(profile),
    .defaults = &profile_defaults,
    .flags = OPT_TAKES_WORDS,
    .run = run_profile,
    OPT_RULES(profile),
    .word = "COMMAND",
};

/*
 * calibrax profile: what a command, or a C function of a shared object, takes.
 *
 * A function NAME is `void NAME(void *state)`; state comes from `void *NAME_setup(void)` and goes to `void NAME_teardown(void *state)`
 * where the shared object has them (profile_plugin.c); of a Python module it is any callable (profile_module.c).  What is asked beside has
 * files of its own: profile_work.c, profile_sizes.c, profile_compile.c, profile_emissions.c.
 */
#include "programs/calibrax/profile.h"

#include <math.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "programs/calibrax/calibrax.h"
#include "programs/calibrax/keep.h"
#include "programs/common/output.h"
#include "programs/common/stop.h"

#define AT(member) offsetof(profile_args, member)

static const opt_spec profile_options[] = {
    { "warmup", 'w', OPT_COUNT, AT(warmup), "N", "1", "runs or calls before, which do not count" },
    { "iterations", 'n', OPT_POSITIVE, AT(iterations), "N", "10 runs; 30 samples of a C function, 10 of a Python one",
      "how many count" },
    { "sample-ms", 0, OPT_NUMBER, AT(sample_ms), "MS", "10; 1 for a function",
      "time between looks at a command; least length of a timed window of a function" },
    { "plugin", 0, OPT_STRING, AT(plugin), "FILE", NULL, "shared object with the function, instead of a command" },
    { "module", 0, OPT_STRING, AT(module), "MODULE", NULL,
      "Python module with the function, by its dotted name or the path of its file, instead of a command; it runs in "
      "an interpreter of its own" },
    { "python", 0, OPT_STRING, AT(python), "PROGRAM", "python3", "with --module: the interpreter" },
    { "function", 0, OPT_STRING, AT(function), "NAME", NULL,
      "of --plugin: void NAME(void *state); NAME_setup and NAME_teardown are used if they are there; of --module: it "
      "is called without arguments" },
    { "flops", 0, OPT_FLAG, AT(flops), NULL, NULL,
      "the function's operations: counted by hardware, else as `void NAME_work(void *state, double *flop, double "
      "*bytes)` "
      "says; with --shapes by trace; with --module as XLA tells them, where the interpreter has jax" },
    { "roofline", 0, OPT_FLAG, AT(roofline), NULL, NULL,
      "with --flops: its place under the measured roofs of a core of this machine" },
    { "dtype", 0, OPT_STRING, AT(dtype), "TYPE", "float64",
      "with --roofline: of the arithmetic: float64, float32, float16, bfloat16 or int8" },
    { "memory", 0, OPT_FLAG, AT(memory), NULL, NULL,
      "what a call of the function takes at its peak, and what it keeps" },
    { "shapes", 0, OPT_LIST, AT(shapes), "TYPE:AxB,...", NULL,
      "the function is one of arrays (calibrax/array/fn.h) and gets operands of these types and shapes" },
    { "results", 0, OPT_POSITIVE, AT(results), "N", "1", "with --shapes: how many arrays it gives" },
    { "sizes", 0, OPT_LIST, AT(sizes), "N,...", NULL,
      "measure at these sizes and tell the order of growth: the command has its size at {}, the function from `void "
      "*NAME_setup_size(size_t size)`; exit status 3 where the sizes do not decide" },
    { "compile", 0, OPT_FLAG, AT(compile), NULL, NULL, "what the first call costs beyond later ones, over launches" },
    { "launches", 0, OPT_POSITIVE, AT(launches), "N", "10", "with --compile: how many of each kind" },
    { "cache-env", 0, OPT_STRING, AT(cache_env), "NAME", NULL,
      "with --compile: variable that names the folder of compiled code; launches with an empty and with a filled one" },
    { "energy", 0, OPT_FLAG, AT(energy), NULL, NULL, "of processors, memory and, with --gpu, the device" },
    { "country", 0, OPT_STRING, AT(country), "CODE", NULL,
      "with --energy: carbon dioxide, too, by the mean of its grid" },
    { "region", 0, OPT_STRING, AT(region), "CODE", "the whole country",
      "with --energy: of a part of the country: a state of the USA, a province of Canada or China, a bidding zone of "
      "Sweden or Norway; its code, such as US-CA or SE3, or with --country its name" },
    { "intensity", 0, OPT_NUMBER, AT(intensity), "G", "the grid's yearly mean",
      "with --energy: carbon dioxide by this intensity of the grid, in g/kWh" },
    { "emissions", 0, OPT_STRING, AT(emissions), "FILE", NULL,
      "with --country, --region or --intensity: add a line to this file of codecarbon (emissions.csv), made if "
      "missing; without energy to tell there is no line, and the exit status is 2" },
    { "gpu", 0, OPT_INT, AT(gpu), "N", "none",
      "watch this device of NVIDIA: its memory, use, clock, power, temperature, and why it was slowed down" },
    { "gpu-index", 0, OPT_INT, AT(gpu), "N", NULL, "the same as --gpu" },
    { "trace", 0, OPT_STRING, AT(trace), "FILE", NULL, "write a trace that ui.perfetto.dev opens" },
    { "data", 0, OPT_STRING, AT(data), "STORE", NULL,
      "keep the result as a run of this store, which is made if missing" },
    { "name", 0, OPT_STRING, AT(name), "NAME", "the command's or function's", "of the point in that run" },
    { "show-output", 0, OPT_FLAG, AT(show_output), NULL, NULL, "let the command print" },
    { "ignore-failure", 'i', OPT_FLAG, AT(ignore_failure), NULL, NULL,
      "an exit status other than 0 is a run all the same" },
    { "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print one JSON document" },
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

static cbx_status open_session(session *s, cbx_err *err)
{
    cbx_energy_opts e = CBX_ENERGY_OPTS_INIT;
    cbx_ctx *ctx = s->run->ctx;
    cbx_status st = CBX_OK;

    if (s->a->gpu >= 0) st = cbx_gpu_open(ctx, (unsigned)s->a->gpu, NULL, &s->gpu, err);
    if (!st && s->a->trace) st = cbx_file_check_writable(ctx, s->a->trace, err);
    if (!st && s->a->trace) st = cbx_timeline_create(ctx, s->facts->subject, &s->trace, err);
    e.gpu = s->gpu;
    if (!st) st = find_grid(s, err);
    if (!st && s->a->emissions) st = profile_see_emissions(s->run, s->a->emissions, &s->before, &s->nbefore, err);
    if (!st && s->a->energy) st = cbx_energy_meter_start(ctx, &e, &s->energy, err);
    return st;
}

static void close_session(session *s)
{
    cbx_energy_meter_free(s->energy);
    cbx_timeline_free(s->trace);
    cbx_gpu_close(s->gpu);
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

static cbx_status see_memory(session *s, const profile_plugin *p, cbx_err *err)
{
    cbx_memory_of_call m;
    cbx_status st = cbx_memory_measure(s->run->ctx, p->run, p->state, &m, err);

    if (!st) profile_see_memory(s->facts, &m);
    return st;
}

static cbx_status measure_function(session *s, cbx_err *err)
{
    profile_plugin p = { 0 };
    cbx_status st = profile_plugin_load(s->a, &p, err);

    if (st) return st;
    profile_plugin_start(&p);
    st = time_function(s, &p, err);
    if (!st && s->a->memory) st = see_memory(s, &p, err);
    if (!st && s->a->flops) st = profile_work(s->run, s->a, &p, s->facts, err);
    profile_plugin_close(&p, true);
    return st;
}

/* --- a function of Python --- */

static cbx_status measure_module(session *s, cbx_err *err)
{
    double calls = 1;
    cbx_status st = profile_module(s->run, s->a, s->gpu, s->energy, s->trace, s->facts, &calls, err);

    return st ? st : see_energy(s, calls, err);
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

/* Options that ask for something else than the usual, and what each needs. */
static int check_modes(const opt_run *run, const profile_args *a)
{
    const struct {
        bool wrong;
        const char *sentence;
    } rules[] = {
        { a->flops && !a->plugin && !a->module, "--flops: needs --plugin or --module, and --function" },
        { a->module && (a->roofline || a->memory || a->shapes.count || a->sizes.count || a->compile),
          "--module goes without --roofline, --memory, --shapes, --sizes and --compile" },
        { a->python && !a->module, "--python: needs --module" },
        { a->emissions && !a->country && !a->region && isnan(a->intensity),
          "--emissions: needs --country, --region or --intensity" },
        { a->memory && (!a->plugin || a->shapes.count || a->sizes.count || a->compile),
          "--memory: needs --plugin and --function, and goes without --shapes, --sizes and --compile" },
        { a->shapes.count && !a->plugin, "--shapes: needs --plugin and --function" },
        { a->plugin && a->module, "--plugin and --module exclude each other" },
        { a->roofline && !a->flops && !a->shapes.count, "--roofline: needs --flops" },
        { a->dtype && !a->roofline, "--dtype: needs --roofline" },
        { a->dtype && !is_type(a->dtype), "--dtype: say float64, float32, float16, bfloat16 or int8" },
        { a->shapes.count && (a->results < 1 || a->results > 64), "--results: say 1 to 64" },
        { a->results != 1 && !a->shapes.count, "--results: needs --shapes" },
        { a->name && !a->data, "--name: needs --data" },
        { a->ignore_failure && (a->plugin || a->module), "--ignore-failure is of commands" },
        { a->sizes.count && a->compile, "--sizes and --compile exclude each other" },
        { (a->sizes.count || a->compile) && (a->flops || a->shapes.count),
          "--sizes and --compile go without --flops and --shapes" },
        { (a->sizes.count || a->compile || a->shapes.count) && (a->energy || a->trace || a->gpu >= 0),
          "--energy, --gpu and --trace go without --sizes, --compile and --shapes" },
        { a->sizes.count && a->sizes.count < 4, "--sizes: at least four are needed to tell an order" },
        { (a->launches || a->cache_env) && !a->compile, "--launches and --cache-env: need --compile" },
        { a->compile && !a->plugin && !a->cache_env,
          "--compile of a command: needs --cache-env, the variable that names the folder of its cache" },
    };
    for (size_t i = 0; i < CBX_LEN(rules); i++) {
        if (rules[i].wrong) return opt_fail(run->program, "%s", rules[i].sentence);
    }
    return EXIT_PASS;
}

static int check_args(const opt_run *run, const profile_args *a)
{
    bool of_function = a->plugin || a->module;

    if (of_function != (a->function != NULL))
        return opt_fail(run->program, "%s and --function go together", a->module ? "--module" : "--plugin");
    if ((a->country || a->region || !isnan(a->intensity)) && !a->energy)
        return opt_fail(run->program, "%s: needs --energy",
                        a->country  ? "--country"
                        : a->region ? "--region"
                                    : "--intensity");
    if (of_function && run->words->count)
        return opt_fail(run->program, "a command and %s exclude each other", a->module ? "--module" : "--plugin");
    if (!of_function && !run->words->count)
        return opt_fail(run->program,
                        "nothing to profile: say '%s profile -- COMMAND', --plugin and --function, or --module and "
                        "--function",
                        run->program->name);
    if (check_modes(run, a)) return EXIT_ERROR;
    if (!(a->sample_ms >= 0)) return opt_fail(run->program, "--sample-ms: say more than 0");
    return EXIT_PASS;
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
    if (s->a->module) return measure_module(s, err);
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

    if (check_args(run, a)) return EXIT_ERROR;
    if (!f) return opt_fail(run->program, "out of memory");
    f->arena = run->arena;
    f->ctx = run->ctx;
    f->kind = a->compile ? "launches" : a->function ? "function" : "command";
    f->subject = a->function ? a->function : joined(run->arena, run->words);
    if (!f->subject) return opt_fail(run->program, "out of memory");
    if (a->sizes.count) return profile_sizes(run, a, f->subject);
    if (a->data && keep_prepare(run, a->data)) return EXIT_ERROR;
    st = open_session(&s, &err);
    if (!st) st = measure(&s, &err);
    if (!st) profile_see_gpu(f, s.gpu);
    if (!st) conclude(&s, a->name ? a->name : a->function ? a->function : last_part(run->words->items[0]), id);
    close_session(&s);
    if (st == CBX_EINTERRUPTED) return EXIT_STOPPED;
    return st ? opt_fail(run->program, "%s", err.message) : show(&s, id);
}

const opt_command profile_command = {
    "profile",
    "[OPTION]... (-- COMMAND [ARGUMENT]... | --plugin FILE --function NAME | --module MODULE --function NAME)",
    "what a command or a function takes: time, memory, CPU, faults, switches, I/O, energy",
    "Runs a command some times, watches all its processes, and tells the median of each quantity over the runs with an "
    "interval "
    "of its own. With --plugin and --function it times a C function instead, in this very process: as many calls a "
    "window as the "
    "clock needs, its cost taken off; with --module a Python function, in an interpreter that is started for it. Exit "
    "status 2 when a run fails, when a call is too short to be told from none, or when the store, the trace or "
    "the emissions that were asked for cannot be written, for want of a sensor, too: what was measured is printed all "
    "the same.",
    profile_options,
    CBX_LEN(profile_options),
    sizeof(profile_args),
    &profile_defaults,
    OPT_TAKES_WORDS,
    run_profile,
};

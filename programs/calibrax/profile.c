/*
 * calibrax profile: what a command, or a C function of a shared object, takes.
 *
 * A function NAME is `void NAME(void *state)`; state comes from `void *NAME_setup(void)` and goes to `void NAME_teardown(void *state)`
 * where the shared object has them.
 */
#include "programs/calibrax/profile.h"

#include <dlfcn.h>
#include <math.h>
#include <string.h>

#include "calibrax/base/file.h"
#include "programs/calibrax/calibrax.h"
#include "programs/common/output.h"
#include "programs/common/stop.h"

typedef struct profile_args {
    size_t warmup, iterations;
    double sample_ms;
    const char *trace, *data, *name, *plugin, *function, *country;
    int gpu;
    bool energy, json, show_output, ignore_failure;
} profile_args;

#define AT(member) offsetof(profile_args, member)

static const opt_spec profile_options[] = {
    { "warmup", 'w', OPT_COUNT, AT(warmup), "N", "1", "runs or calls before, which do not count" },
    { "iterations", 'n', OPT_COUNT, AT(iterations), "N", "10 runs, 30 samples of a function", "how many count" },
    { "sample-ms", 0, OPT_NUMBER, AT(sample_ms), "MS", "10; 1 for a function",
      "time between looks at a command; least length of a timed window of a function" },
    { "plugin", 0, OPT_STRING, AT(plugin), "FILE", NULL, "shared object with the function, instead of a command" },
    { "function", 0, OPT_STRING, AT(function), "NAME", NULL,
      "void NAME(void *state); NAME_setup and NAME_teardown are used if they are there" },
    { "energy", 0, OPT_FLAG, AT(energy), NULL, NULL, "of processors, memory and, with --gpu, the device" },
    { "country", 0, OPT_STRING, AT(country), "CODE", NULL,
      "with --energy: carbon dioxide, too, by the mean of its grid" },
    { "gpu", 0, OPT_INT, AT(gpu), "N", "none", "watch this device of NVIDIA" },
    { "trace", 0, OPT_STRING, AT(trace), "FILE", NULL, "write a trace that ui.perfetto.dev opens" },
    { "data", 0, OPT_STRING, AT(data), "STORE", NULL,
      "keep the result as a run of this store, which is made if missing" },
    { "name", 0, OPT_STRING, AT(name), "NAME", "the command's or function's", "of the point in that run" },
    { "show-output", 0, OPT_FLAG, AT(show_output), NULL, NULL, "let the command print" },
    { "ignore-failure", 'i', OPT_FLAG, AT(ignore_failure), NULL, NULL,
      "an exit status other than 0 is a run all the same" },
    { "json", 0, OPT_FLAG, AT(json), NULL, NULL, "print one JSON document" },
};

static const profile_args profile_defaults = { .warmup = 1, .gpu = -1 };

/* What is open while it measures; closed by close_session. */
typedef struct session {
    const opt_run *run;
    const profile_args *a;
    profile_facts *facts;
    cbx_gpu *gpu;
    cbx_energy_meter *energy;
    cbx_timeline *trace;
    const cbx_carbon_intensity *grid; /* NULL: not asked for */
} session;

static cbx_status open_session(session *s, cbx_err *err)
{
    cbx_energy_opts e = CBX_ENERGY_OPTS_INIT;
    cbx_ctx *ctx = s->run->ctx;
    cbx_status st = CBX_OK;

    if (s->a->gpu >= 0) st = cbx_gpu_open(ctx, (unsigned)s->a->gpu, NULL, &s->gpu, err);
    if (!st && s->a->trace) st = cbx_file_check_writable(ctx, s->a->trace, err);
    if (!st && s->a->trace) st = cbx_timeline_create(ctx, s->facts->subject, &s->trace, err);
    e.gpu = s->gpu;
    if (!st && s->a->country) st = cbx_carbon_find(s->a->country, &s->grid, err);
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
    cbx_energy_report report;

    if (!s->energy) return CBX_OK;
    cbx_energy_meter_report(s->energy, &report);
    if (!s->gpu) report.gpu_why[0] = '\0'; /* not asked for */
    return profile_see_energy(s->facts, &report, runs, s->grid) ? CBX_OK : cbx_fail(err, CBX_ENOMEM, "out of memory");
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

typedef struct plugin {
    void *handle, *state;
    cbx_timed_fn run;
    void (*teardown)(void *);
} plugin;

static void *symbol(void *handle, const char *name, const char *suffix)
{
    char full[256];
    int n = snprintf(full, sizeof full, "%s%s", name, suffix);
    return n > 0 && (size_t)n < sizeof full ? dlsym(handle, full) : NULL;
}

static cbx_status open_plugin(const profile_args *a, plugin *p, cbx_err *err)
{
    void *(*setup)(void);
    char path[4096];

    /* a bare name is a file here, not one of the loader's folders */
    snprintf(path, sizeof path, "%s%s", strchr(a->plugin, '/') ? "" : "./", a->plugin);
    p->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!p->handle) return cbx_fail(err, CBX_EUNAVAILABLE, "cannot load '%s': %s", a->plugin, dlerror());
    p->run = (cbx_timed_fn)symbol(p->handle, a->function, "");
    if (!p->run) return cbx_fail(err, CBX_ENOENT, "'%s' has no function '%s'", a->plugin, a->function);
    setup = (void *(*)(void))symbol(p->handle, a->function, "_setup");
    p->teardown = (void (*)(void *))symbol(p->handle, a->function, "_teardown");
    if (setup) p->state = setup();
    return CBX_OK;
}

static cbx_status time_function(session *s, const plugin *p, cbx_err *err)
{
    cbx_timing_opts o = CBX_TIMING_OPTS_INIT;
    cbx_resource_monitor *m = NULL;
    cbx_resource_report r;
    cbx_call_timing t = { 0 };
    const cbx_timeline_at track = { 0, 1, 0 };
    cbx_status st;

    o.warmup = s->a->warmup;
    if (s->a->iterations) o.samples = s->a->iterations;
    if (s->a->sample_ms > 0) o.sample_s = 1e-3 * s->a->sample_ms;
    st = cbx_resource_monitor_start(s->run->ctx, &(cbx_resource_opts){ sizeof(cbx_resource_opts), .interval_s = 0.25 },
                                    &m, err);
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
    plugin p = { 0 };
    cbx_status st = open_plugin(s->a, &p, err);

    if (!st) st = time_function(s, &p, err);
    if (p.teardown) p.teardown(p.state);
    if (p.handle) dlclose(p.handle);
    return st;
}

/* --- both --- */

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

static int check_args(const opt_run *run, const profile_args *a)
{
    if (!a->plugin != !a->function) return opt_fail(run->program, "--plugin and --function go together");
    if (a->country && !a->energy) return opt_fail(run->program, "--country: needs --energy");
    if (a->plugin && run->words->count) return opt_fail(run->program, "a command and --plugin exclude each other");
    if (!a->plugin && !run->words->count)
        return opt_fail(run->program, "nothing to profile: say '%s profile -- COMMAND', or --plugin and --function",
                        run->program->name);
    if (!(a->sample_ms >= 0)) return opt_fail(run->program, "--sample-ms: say more than 0");
    return EXIT_PASS;
}

static cbx_status conclude(session *s, const char *name, char id[64], cbx_err *err)
{
    cbx_status st = CBX_OK;

    if (s->trace) st = cbx_timeline_write(s->run->ctx, s->trace, s->a->trace, err);
    if (!st && s->a->data) st = profile_keep(s->facts, s->a->data, name, id, err);
    return st;
}

static int show(const opt_run *run, const profile_args *a, const profile_facts *f, const char *id)
{
    cbx_json *o;

    if (!a->json) {
        profile_print(f);
        if (id[0]) fprintf(stderr, "kept as run %s in %s\n", id, a->data);
        return EXIT_PASS;
    }
    o = profile_json(f);
    if (o) cbx_json_set_string(o, "run", id[0] ? id : NULL);
    return print_json(run->program, o);
}

static int run_profile(const opt_run *run)
{
    const profile_args *a = run->args;
    profile_facts *f = cbx_arena_calloc(run->arena, 1, sizeof *f);
    session s = { run, a, f, NULL, NULL, NULL, NULL };
    char id[64] = "";
    cbx_err err = CBX_ERR_INIT;
    cbx_status st;

    if (check_args(run, a)) return EXIT_ERROR;
    if (!f) return opt_fail(run->program, "out of memory");
    f->arena = run->arena;
    f->ctx = run->ctx;
    f->kind = a->plugin ? "function" : "command";
    f->subject = a->plugin ? a->function : joined(run->arena, run->words);
    if (!f->subject) return opt_fail(run->program, "out of memory");
    st = open_session(&s, &err);
    if (!st) st = a->plugin ? measure_function(&s, &err) : measure_command(&s, &err);
    if (!st) st = conclude(&s, a->name ? a->name : a->plugin ? a->function : last_part(run->words->items[0]), id, &err);
    close_session(&s);
    if (st == CBX_EINTERRUPTED) return EXIT_STOPPED;
    return st ? opt_fail(run->program, "%s", err.message) : show(run, a, f, id);
}

const opt_command profile_command = {
    "profile",
    "[OPTION]... -- COMMAND [ARGUMENT]...",
    "what a command or a C function takes: time, memory, CPU, faults, switches, I/O, energy",
    "Runs a command some times, watches all its processes, and tells the median of each quantity over the runs with an "
    "interval "
    "of its own. With --plugin and --function it times a C function instead, in this very process: as many calls a "
    "window as the "
    "clock needs, its cost taken off. Exit status 2 when a run fails, or when a call is too short to be told from "
    "none.",
    profile_options,
    CBX_LEN(profile_options),
    sizeof(profile_args),
    &profile_defaults,
    OPT_TAKES_WORDS,
    run_profile,
};

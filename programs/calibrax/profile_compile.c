/*
 * calibrax profile --compile: what the first call costs beyond later ones, over launches, with a cold and a warm cache.
 */
#include <stdio.h>
#include <string.h>

#include "programs/calibrax/profile.h"
#include "programs/common/stop.h"

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

/* Launches with cold and with warm caches of compiled code; see cold_warm.h. */
#include "calibrax/perf/sweep/cold_warm.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/options.h"
#include "calibrax/base/process.h"
#include "calibrax/base/temporary.h"
#include "calibrax/core/owned.h"

#define MAX_OUTPUT ((size_t)16 << 20)
#define NO_LIMIT_S 1e9

static double value_of(const cbx_json *document, const char *metric)
{
    return cbx_json_get_double(cbx_json_get(cbx_json_get(document, "metrics"), metric), "value", NAN);
}

static cbx_status launch(cbx_ctx *ctx, const cbx_cold_warm_opts *o, const char *folder, cbx_launch_times *out,
                         cbx_err *err)
{
    const cbx_env_setting env = { o->cache_env, folder };
    cbx_command_opts how = { .struct_size = sizeof how,
                             .timeout_s = NO_LIMIT_S,
                             .stop = o->stop,
                             .program = o->argv,
                             .show_output = o->show_output,
                             .env = &env,
                             .nenv = o->cache_env != NULL };
    cbx_command_record r = { 0 };
    CBX_OWNED(cbx_json) *document = NULL;
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(ctx));
    cbx_status st = o->profiles ? cbx__memory_file("launch", &how.output, err) : CBX_OK;

    if (!st) st = cbx_command_run(ctx, o->name, &how, &r, err);
    if (!st && r.failure == CBX_FAILURE_INTERRUPTED)
        st = cbx_fail(err, CBX_EINTERRUPTED, "interrupted");
    else if (!st && r.failure && !(o->ignore_failure && (r.exit_code > 0 || r.term_signal)))
        st = cbx_fail(err, CBX_ECHILD, "a launch of '%s' failed: %s%s%s", o->name, r.message,
                      r.last_words[0] ? ": " : "", r.last_words);
    *out = (cbx_launch_times){ 1e-9 * r.wall_ns, 0 };
    if (!st && o->profiles) st = cbx__memory_file_text(how.output, o->name, MAX_OUTPUT, &text, err);
    if (text.data) st = cbx_json_parse(text.data, text.len, o->name, &document, err);
    if (document) *out = (cbx_launch_times){ value_of(document, "first_call"), value_of(document, "call_time") };
    if (document && !(out->first_s >= 0 && out->steady_s >= 0))
        st = cbx_fail(err, CBX_EFORMAT, "a launch of '%s' did not report the times of its calls", o->name);
    if (how.output) close(how.output);
    return st;
}

static cbx_status launch_all(cbx_ctx *ctx, const cbx_cold_warm_opts *o, bool warm, cbx_launch_times *out, cbx_err *err)
{
    char folder[CBX__TEMPORARY_SIZE] = "";
    cbx_launch_times filling;
    cbx_status st = CBX_OK;

    for (size_t i = 0; !st && i < o->launches + warm; i++) { /* the first warm one fills the folder */
        if (o->cache_env && !folder[0]) st = cbx__temporary_make("cache", folder, err);
        if (!st) st = launch(ctx, o, folder, warm && i == 0 ? &filling : &out[i - warm], err);
        if (warm) continue;
        cbx__temporary_remove(folder);
        folder[0] = '\0';
    }
    cbx__temporary_remove(folder);
    return st;
}

cbx_status cbx_cold_warm_measure(cbx_ctx *ctx, const cbx_cold_warm_opts *opts, cbx_arena *arena,
                                 const cbx_launch_times **cold, const cbx_launch_times **warm, cbx_err *err)
{
    cbx_cold_warm_opts o = CBX_COLD_WARM_OPTS_INIT;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_cold_warm_opts", err);

    if (!st) st = cbx_check_range("launches", (double)o.launches, 1, 4096, err);
    if (!st && o.cache_env && (!*o.cache_env || strchr(o.cache_env, '=')))
        st = cbx_fail(err, CBX_EINVAL, "'%s' cannot name a variable", o.cache_env);
    if (st) return st;
    cbx_launch_times *times = cbx_arena_calloc(arena, 2 * o.launches, sizeof *times);
    if (!times) return cbx_fail_nomem(err, "the times of launches");
    st = launch_all(ctx, &o, false, times, err);
    if (!st && o.cache_env) st = launch_all(ctx, &o, true, times + o.launches, err);
    if (st) return st;
    *cold = times;
    *warm = o.cache_env ? times + o.launches : NULL;
    return CBX_OK;
}

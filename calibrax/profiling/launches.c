/* First and later calls over launches, with cold and warm caches of compiled code. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/json.h"
#include "calibrax/base/options.h"
#include "calibrax/base/process.h"
#include "calibrax/base/temporary.h"
#include "calibrax/profiling/compilation.h"

typedef struct series {
    cbx_ctx *ctx;
    cbx_launch_fn measure;
    void *user;
    cbx_launches_opts o;
} series;

static cbx_status launch(const series *s, cbx_launch_times *out, cbx_err *err)
{
    cbx_status st = s->measure(s->user, out, err);

    if (!st && !(isfinite(out->first_s) && out->first_s >= 0 && isfinite(out->steady_s) && out->steady_s >= 0))
        st = cbx_fail(err, CBX_EDOM, "the times of a launch must be at least 0 s, got %g s and %g s", out->first_s,
                      out->steady_s);
    return st;
}

/* --- caches --- */

typedef struct cache {
    const char *variable;
    char path[CBX__TEMPORARY_SIZE];
    char *before; /* the variable's value; NULL: unset */
} cache;

static cbx_status cache_begin(cache *c, const char *variable, cbx_err *err)
{
    const char *held = getenv(variable);

    *c = (cache){ .variable = variable };
    cbx_status st = cbx__temporary_make("cache", c->path, err);
    if (st) return st;
    c->before = held ? strdup(held) : NULL;
    if (setenv(variable, c->path, 1) == 0) return CBX_OK;
    cbx__temporary_remove(c->path);
    free(c->before);
    return cbx_fail(err, CBX_EINVAL, "'%s' cannot name a variable", variable);
}

static void cache_end(cache *c)
{
    if (c->before)
        setenv(c->variable, c->before, 1);
    else
        unsetenv(c->variable);
    free(c->before);
    cbx__temporary_remove(c->path);
}

static cbx_status measure_cold(const series *s, cbx_launches *l, cbx_err *err)
{
    cbx_status st = CBX_OK;
    cache c;

    for (l->n = 0; !st && l->n < s->o.launches; l->n += !st) {
        if (s->o.cache_env) st = cache_begin(&c, s->o.cache_env, err);
        if (st) break;
        st = launch(s, &l->times[l->n], err);
        if (s->o.cache_env) cache_end(&c);
    }
    return st;
}

static cbx_status measure_warm(const series *s, cbx_launches *l, cbx_err *err)
{
    cbx_launch_times filling;
    cache c;
    cbx_status st = cache_begin(&c, s->o.cache_env, err);

    if (st) return st;
    st = launch(s, &filling, err);
    for (l->n = 0; !st && l->n < s->o.launches; l->n += !st) st = launch(s, &l->times[l->n], err);
    cache_end(&c);
    return st;
}

/* --- estimates --- */

static cbx_status estimate(const series *s, cbx_launches *l, cbx_err *err)
{
    const cbx_allocator *al = cbx_ctx_allocator(s->ctx);
    double *x = cbx_mem_calloc(al, 3 * l->n + 1, sizeof *x);
    cbx_interval *to[] = { &l->first, &l->steady, &l->compile };
    cbx_status st = CBX_OK;

    if (!x) return cbx_fail_nomem(err, "the times of launches");
    for (size_t i = 0; i < l->n; i++) {
        x[i] = l->times[i].first_s;
        x[l->n + i] = l->times[i].steady_s;
        x[2 * l->n + i] = fmax(0, l->times[i].first_s - l->times[i].steady_s);
    }
    for (size_t k = 0; k < 3 && !st; k++)
        st = cbx_stat_median_interval(s->ctx, x + k * l->n, l->n, s->o.level, to[k], err);
    cbx_mem_free(al, x, (3 * l->n + 1) * sizeof *x);
    return st;
}

cbx_status cbx_launches_measure(cbx_ctx *ctx, cbx_launch_fn measure, void *user, const cbx_launches_opts *opts,
                                cbx_launches_report *out, cbx_err *err)
{
    series s = { ctx, measure, user, CBX_LAUNCHES_OPTS_INIT };
    cbx_launches_report r = { .saved_s = NAN, .al = *cbx_ctx_allocator(ctx) };

    if (!measure) return cbx_fail(err, CBX_EINVAL, "nothing to launch");
    cbx_status st = cbx_take_options(&s.o, sizeof s.o, opts, "cbx_launches_opts", err);
    if (!st) st = cbx_check_range("launches", (double)s.o.launches, 1, 4096, err);
    if (!st) st = cbx_check_level("level", s.o.level, err);
    if (st) return st;
    r.cold.times = cbx_mem_calloc(&r.al, 2 * s.o.launches, sizeof *r.cold.times);
    if (!r.cold.times) return cbx_fail_nomem(err, "the times of launches");
    r.warm.times = r.cold.times + s.o.launches;
    st = measure_cold(&s, &r.cold, err);
    if (!st) st = estimate(&s, &r.cold, err);
    if (!st && s.o.cache_env) st = measure_warm(&s, &r.warm, err);
    if (!st && s.o.cache_env) st = estimate(&s, &r.warm, err);
    if (st) {
        cbx_mem_free(&r.al, r.cold.times, 2 * s.o.launches * sizeof *r.cold.times);
        return st;
    }
    if (r.warm.n) r.saved_s = r.cold.compile.value - r.warm.compile.value;
    *out = r;
    return CBX_OK;
}

void cbx_launches_report_clear(cbx_launches_report *r)
{
    if (!r || !r->cold.times) return;
    cbx_mem_free(&r->al, r->cold.times, 2 * r->cold.n * sizeof *r->cold.times);
    r->cold.times = r->warm.times = NULL;
    r->cold.n = r->warm.n = 0;
}

/* --- a program --- */

#define MAX_OUTPUT ((size_t)16 << 20)

static double value_of(const cbx_json *document, const char *metric)
{
    return cbx_json_get_double(cbx_json_get(cbx_json_get(document, "metrics"), metric), "value", NAN);
}

cbx_status cbx__launch_times_read(const char *text, size_t len, const char *name, cbx_launch_times *out, cbx_err *err)
{
    cbx_json *v = NULL;
    cbx_status st = cbx_json_parse(text, len, name, &v, err);

    if (st) return st;
    if (strcmp(cbx_json_get_string(v, "schema", ""), "calibrax-profile") == 0)
        *out = (cbx_launch_times){ value_of(v, "first_call"), value_of(v, "call_time") };
    else
        st = cbx_fail(err, CBX_EFORMAT, "the output of '%s' is not of schema calibrax-profile", name);
    cbx_json_unref(v);
    return st;
}

cbx_status cbx_launch_program_run(void *user, cbx_launch_times *out, cbx_err *err)
{
    const cbx_launch_program *l = user;
    const cbx_allocator *al = cbx_ctx_allocator(l->ctx);
    const char *name = l->name ? l->name : l->argv[0];
    cbx__process_opts o = CBX__PROCESS_OPTS_INIT;
    cbx__process p;
    char words[256], *text = NULL;
    size_t len = 0;

    cbx__process_init(&p);
    cbx_status st = cbx__memory_file("launch", &o.output, err);
    if (st) return st;
    o.argv = l->argv;
    o.errors = CBX__FD_TAIL;
    o.name = l->name;
    st = cbx__process_start(&o, &p, err);
    while (!st && !cbx__process_wait(&p, 100000000)) cbx__process_drain(&p);
    cbx__process_finish(&p);
    int code = cbx__process_exit_status(&p);
    cbx__process_last_words(&p, words, sizeof words);
    if (!st && code == 130)
        st = cbx_fail(err, CBX_EINTERRUPTED, "interrupted");
    else if (!st && code > 128)
        st = cbx_fail(err, CBX_ECHILD, "a launch of '%s' was killed by signal %d (%s)", name, code - 128,
                      strsignal(code - 128));
    else if (!st && code != 0)
        st = cbx_fail(err, CBX_ECHILD, "a launch of '%s' ended with status %d: %s", name, code, words);
    if (!st) st = cbx__memory_file_read(al, o.output, name, MAX_OUTPUT, &text, &len, err);
    if (!st) st = cbx__launch_times_read(text, len, name, out, err);
    if (text) cbx_mem_free(al, text, len + 1);
    close(o.output);
    return st;
}

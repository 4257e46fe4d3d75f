/* workers/python/call.py as a monitored process, and its answer. */
#include "calibrax/profiling/python_call.h"
#include "calibrax/array/trace/cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calibrax/base/file_text.h"
#include "calibrax/base/idioms.h"
#include "calibrax/base/options.h"
#include "calibrax/base/programs.h"
#include "calibrax/base/temporary.h"
#include "calibrax/core/owned.h"
#include "calibrax/profiling/timing_internal.h"

#define MAX_ANSWER     ((size_t)256 << 20)
#define ANSWER_SCHEMA  "calibrax-call-answer"
#define ANSWER_VERSION 1

/* --- the answer --- */

static double positive(const cbx_json *o, const char *key)
{
    double x = cbx_json_get_double(o, key, NAN);
    return isfinite(x) && x >= 0 ? x : NAN;
}

static cbx_status take_timing(cbx_ctx *ctx, const cbx_json *o, double level, cbx_call_timing *t, cbx_err *err)
{
    static const double percentiles[] = { 50, 90, 99 };
    cbx_json *list;
    int64_t calls;
    cbx_status st = cbx_json_need_array(o, "samples_s", "answer", &list, err);

    if (!st) st = cbx_json_need_int(o, "calls_per_sample", "answer", &calls, err);
    if (!st && calls < 1) st = cbx_fail(err, CBX_EFORMAT, "the answer of 'call.py' has no calls");
    if (st) return st;
    t->nsamples = cbx_json_length(list);
    if (!t->nsamples) return cbx_fail(err, CBX_EFORMAT, "the answer of 'call.py' has no samples");
    t->samples = cbx_mem_calloc(&t->al, t->nsamples, sizeof *t->samples);
    if (!t->samples) return cbx_fail_nomem(err, "samples");
    for (size_t i = 0; i < t->nsamples; i++) {
        t->samples[i] = cbx_json_double_value(cbx_json_at(list, i));
        if (!(isfinite(t->samples[i]) && t->samples[i] > 0))
            return cbx_fail(err, CBX_EFORMAT, "sample %zu of 'call.py' must be above 0 s: its clock cannot be used", i);
    }
    t->calls_per_sample = (uint64_t)calls;
    t->warmup_calls = (uint64_t)cbx_json_get_int(o, "warmup_calls", 0);
    t->compile_s = NAN;
    t->first_call_s = positive(o, "first_call_s");
    t->empty_call_ns = 1e9 * positive(o, "empty_call_s");
    t->clock_step_ns = 1e9 * positive(o, "clock_step_s");
    t->wall_s = positive(o, "wall_s");
    return cbx__timing_estimate(ctx, level, percentiles, CBX_LEN(percentiles), t, err);
}

static cbx_status take_work(cbx_ctx *ctx, const cbx_json *o, cbx_python_call *c, cbx_err *err)
{
    const char *why = cbx_json_get_string(o, "why", ""), *hlo = cbx_json_get_string(o, "hlo", NULL);
    cbx_flops *w = &c->work;

    *w = (cbx_flops){ .flop = positive(o, "flop"),
                      .bytes = positive(o, "bytes"),
                      .transcendental = positive(o, "transcendental"),
                      .int_op = NAN,
                      .bytes_least = NAN }; /* words:ok */
    w->source = isnan(w->flop) ? CBX_FLOPS_NONE : CBX_FLOPS_XLA;
    snprintf(w->why, sizeof w->why, "%s", why);
    if (!hlo) return CBX_OK;
    cbx_status st = cbx_hlo_read(ctx, hlo, strlen(hlo), "HLO of XLA", &c->compiled, err);
    c->has_compiled = !st;
    if (!st && (c->compiled.loops || c->compiled.custom_calls)) w->flags |= CBX_COST_LOWER_BOUND;
    return st;
}

cbx_status cbx__python_answer_read(cbx_ctx *ctx, const cbx_python_call_opts *o, const char *text, size_t len,
                                   cbx_python_call *c, cbx_err *err)
{
    CBX_OWNED(cbx_json) *answer = NULL;
    cbx_status st = cbx_json_parse(text, len, "answer of 'call.py'", &answer, err);

    if (st) return st;
    const char *failure = cbx_json_get_string(answer, "failure", NULL);
    if (strcmp(cbx_json_get_string(answer, "schema", ""), ANSWER_SCHEMA) ||
        cbx_json_get_int(answer, "version", 0) != ANSWER_VERSION)
        return cbx_fail(err, CBX_EFORMAT, "'call.py' did not answer with '%s' of version %d", ANSWER_SCHEMA,
                        ANSWER_VERSION);
    if (failure) return cbx_fail(err, CBX_ECHILD, "%s", failure[0] ? failure : "the function failed without a reason");
    st = take_timing(ctx, answer, o->level, &c->timing, err);
    return st || !o->flops ? st : take_work(ctx, cbx_json_get(answer, "work"), c, err);
}

/* --- the process --- */

static cbx_status read_answer(cbx_ctx *ctx, const cbx_python_call_opts *o, const char *path, cbx_python_call *c,
                              cbx_err *err)
{
    CBX_SCOPED(cbx_text, text, cbx_ctx_allocator(ctx));
    cbx_status st = access(path, F_OK) == 0 ? cbx__file_text(ctx, path, MAX_ANSWER, &text, err) : CBX_OK;

    if (st) return st;
    if (o->stop && *o->stop) return cbx_fail(err, CBX_EINTERRUPTED, "stopped while '%s' ran", o->function);
    if (!text.len)
        return cbx_fail(err, CBX_ECHILD, "the interpreter of '%s' ended with status %d and without an answer",
                        o->function, c->process.runs[0].exit_status);
    return cbx__python_answer_read(ctx, o, text.data, text.len, c, err);
}

cbx_status cbx_python_call_measure(cbx_ctx *ctx, const cbx_python_call_opts *opts, cbx_python_call *out, cbx_err *err)
{
    cbx_python_call c = { .timing = { .al = *cbx_ctx_allocator(ctx) } };
    CBX_SCOPED(cbx_arena, arena, cbx_ctx_allocator(ctx));
    char folder[CBX__TEMPORARY_SIZE], path[CBX__TEMPORARY_SIZE + 16], warmup[32], samples[32], sample_s[32];
    const char *script;
    cbx_python_call_opts o = CBX_PYTHON_CALL_OPTS_INIT;
    cbx_profile_opts p = CBX_PROFILE_OPTS_INIT;
    cbx_status st = cbx_take_options(&o, sizeof o, opts, "cbx_python_call_opts", err);

    if (!st && (!o.module || !*o.module)) st = cbx_fail(err, CBX_EINVAL, "'module' must name a Python module");
    if (!st && (!o.function || !*o.function))
        st = cbx_fail(err, CBX_EINVAL, "'function' must name a function of '%s'", o.module);
    if (!st) st = cbx_check_range("samples", (double)o.samples, 1, 1 << 20, err);
    if (!st) st = cbx_check_range("sample_s", o.sample_s, 0, 3600, err);
    if (!st) st = cbx_check_level("level", o.level, err);
    if (!st) st = cbx__tool_find(CBX__TOOL_PYTHON_CALL, &arena, &script, err);
    if (!st) st = cbx__temporary_make("call", folder, err);
    if (st) return st;
    snprintf(path, sizeof path, "%s/answer.json", folder);
    snprintf(warmup, sizeof warmup, "%llu", (unsigned long long)o.warmup);
    snprintf(samples, sizeof samples, "%zu", o.samples);
    snprintf(sample_s, sizeof sample_s, "%.9g", o.sample_s);
    p.argv = (const char *[]){ o.python ? o.python : "python3",
                               script,
                               path,
                               o.module,
                               o.function,
                               warmup,
                               samples,
                               sample_s,
                               o.flops ? "1" : "0",
                               NULL };
    p.warmup = 0;
    p.runs = 1;
    p.ignore_failure = true; /* the answer has the failure */
    p.show_output = o.show_output;
    p.gpu = o.gpu;
    p.energy = o.energy;
    p.trace = o.trace;
    p.stop = o.stop;
    st = cbx_profile_command(ctx, &p, &c.process, err);
    if (!st) st = read_answer(ctx, &o, path, &c, err);
    cbx__temporary_remove(folder);
    return CBX_FINISH(st, *out = c, cbx_python_call_clear(&c));
}

void cbx_python_call_clear(cbx_python_call *c)
{
    if (!c) return;
    cbx_call_timing_clear(&c->timing);
    cbx_profile_clear(&c->process);
}

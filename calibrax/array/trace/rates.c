/*
 * Predicted times: what this machine takes for functions, sums and calls, measured on compiled
 * functions and kept beside the probe, and the roofline of a step by it.
 */
#include <math.h>
#include <string.h>

#include "calibrax/array/backend.h"
#include "calibrax/array/fn_internal.h"
#include "calibrax/array/ops.h"
#include "calibrax/array/trace/cost.h"
#include "calibrax/array/transform.h"
#include "calibrax/base/clock.h"
#include "calibrax/base/file.h"
#include "calibrax/base/json_put.h"
#include "calibrax/base/version.h"
#include "calibrax/core/machine.h"

/* ---- measuring ---- */

enum { SHORT = 256, LONG = 1280, STEPS = 2000, CALLS = 16, TURNS = 40 };

/* What is compiled and timed. */
typedef struct subject {
    cbx_prim prim;
    size_t nin;
    cbx_dtype dtype;
    cbx_array_fn code;
} subject;

static CBX__CODE(c, operation)
{
    out[0] = cbx_apply(c, *(const cbx_prim *)user, nin, (const cbx_array *const *)in, NULL);
    return CBX_OK;
}

static CBX__CODE(c, sum_of_squares)
{
    out[0] = cbx_sum(c, cbx_multiply(c, in[0], in[0]), NULL);
    return CBX_OK;
}

enum { OPERATIONS = 100 };

static CBX__CODE(c, operations) /* x <- 0.9 x + y, again and again */
{
    out[0] = in[0];
    for (int i = 0; i < OPERATIONS / 2; i++) out[0] = cbx_add(c, cbx_multiply_scalar(c, out[0], 0.9), in[1]);
    return CBX_OK;
}

static CBX__CODE(c, next) /* (i, s): s 0.5 + 1 */
{
    out[0] = cbx_add_scalar(c, cbx_multiply_scalar(c, in[1], 0.5), 1);
    return CBX_OK;
}

static CBX__CODE(c, loop) { return cbx_fori_loop(c, 0, STEPS, CBX_FN(next, NULL, 2, 1), 1, in, out); }

/* The shortest time of a call on n elements between 0.2 and 0.8, of acosh 1 more. */
static cbx_status time_call(cbx_ctx *ctx, const subject *s, size_t n, double *out, cbx_err *err)
{
    const cbx_fn plain = { "rates", s->code, (void *)(uintptr_t)&s->prim, s->nin, 1, NULL };
    const double low = s->prim == CBX_PRIM_ACOSH ? 1.2 : 0.2;
    cbx_fn *f = NULL;
    cbx_array *in[2], *r;
    cbx_scope scope, call;
    cbx_status st = cbx_jit(ctx, &plain, &f, err);

    if (st) return st;
    *out = INFINITY;
    cbx_scope_open(ctx, &scope);
    in[0] = in[1] = cbx_astype(ctx, cbx_linspace(ctx, low, low + 0.6, n, true, CBX_F64), s->dtype);
    if (s->code == loop) in[0] = cbx_index(ctx, in[0], 0, 0);
    for (int turn = 0; !cbx_ctx_pending(ctx, NULL) && turn < TURNS; turn++) {
        const uint64_t start = cbx_clock_ns();
        for (int i = 0; i < CALLS; i++) {
            cbx_scope_open(ctx, &call);
            (void)cbx_fn_call(ctx, f, s->nin, in, 1, &r);
            (void)cbx_scope_close(&call, NULL);
        }
        if (turn > 0) *out = fmin(*out, 1e-9 * (double)(cbx_clock_ns() - start) / CALLS);
    }
    st = cbx_scope_close(&scope, err);
    cbx_fn_free(f);
    return st;
}

/* Of one more element. */
static cbx_status time_element(cbx_ctx *ctx, const subject *s, double *out, cbx_err *err)
{
    double few = 0, many = 0;
    cbx_status st = time_call(ctx, s, SHORT, &few, err);

    if (!st) st = time_call(ctx, s, LONG, &many, err);
    if (!st) *out = fmax(many - few, 0) / (LONG - SHORT);
    return st;
}

/* Divisions, and what counts as a function, of one or two real operands. */
static bool is_measured(cbx_prim p, cbx_dtype t, size_t *nin)
{
    const cbx_array_desc d = { t, 1, { 1 } };
    const cbx_attrs attrs = { 0 };
    const cbx_prim_info *info = cbx_prim_get_info(p);

    if (!info || info->kind != CBX_CLASS_MAP) return false;
    for (*nin = 1; *nin <= 2; ++*nin) {
        cbx_array_desc result;
        const cbx_array_desc *in[2] = { &d, &d };
        if (cbx_prim_infer(p, *nin, in, &attrs, &result, NULL)) continue;
        return result.dtype == t &&
               (p == CBX_PRIM_DIV || cbx_cost_of_op(&(cbx_op){ p, *nin, in, &attrs, 1, &result }).transcendental);
    }
    return false;
}

static cbx_status measure(cbx_ctx *ctx, cbx_cost_rates *out, cbx_err *err)
{
    static const cbx_dtype dtypes[2] = { CBX_F32, CBX_F64 };
    const subject loops = { .nin = 1, .dtype = CBX_F64, .code = loop };
    cbx_status st = CBX_OK;
    double steps = 0;

    for (int k = 0; !st && k < 2; k++) {
        for (int p = 0; !st && p < CBX_PRIM_LIMIT; p++) {
            subject s = { .prim = (cbx_prim)p, .dtype = dtypes[k], .code = operation };
            if (is_measured(s.prim, s.dtype, &s.nin)) st = time_element(ctx, &s, &out->function_s[p][k], err);
        }
        const subject sum = { .nin = 1, .dtype = dtypes[k], .code = sum_of_squares };
        const subject many = { .nin = 2, .dtype = dtypes[k], .code = operations };
        if (!st) st = time_element(ctx, &many, &out->op_s[k], err);
        out->op_s[k] /= OPERATIONS;
        if (!st) st = time_element(ctx, &sum, &out->sum_s[k], err);
        out->sum_s[k] = fmax(out->sum_s[k] - out->op_s[k], 0);
    }
    const subject one = { .prim = CBX_PRIM_NEG, .nin = 1, .dtype = CBX_F64, .code = operation };
    if (!st) st = time_call(ctx, &one, 1, &out->call_s, err);
    if (!st) st = time_call(ctx, &loops, 1, &steps, err);
    out->chain_s = fmax(steps - out->call_s, 0) / (2 * STEPS);
    return st;
}

/* ---- the file ---- */

#define SCHEMA  "calibrax.cost_rates"
#define VERSION 2

static void get_pair(const cbx_json *v, const char *name, double missing, double pair[2])
{
    const cbx_json *both = cbx_json_get(v, name);
    pair[0] = cbx_json_get_double(both, "f32", missing);
    pair[1] = cbx_json_get_double(both, "f64", missing);
}

static bool from_json(const cbx_json *v, cbx_cost_rates *out)
{
    const cbx_json *functions = cbx_json_get(v, "function_s");

    if (strcmp(cbx_json_get_string(v, "schema", ""), SCHEMA) != 0 || cbx_json_get_int(v, "version", 0) != VERSION ||
        strcmp(cbx_json_get_string(v, "revision", ""), cbx_revision()) != 0 ||
        strcmp(cbx_json_get_string(v, "build", ""), cbx_build()) != 0)
        return false;
    out->call_s = cbx_json_get_double(v, "call_s", NAN);
    out->chain_s = cbx_json_get_double(v, "chain_s", NAN);
    get_pair(v, "op_s", NAN, out->op_s);
    get_pair(v, "sum_s", NAN, out->sum_s);
    bool good = out->call_s >= 0 && out->chain_s >= 0;
    for (size_t k = 0; k < 2; k++) good &= out->op_s[k] > 0 && out->sum_s[k] >= 0;
    for (int p = 0; p < CBX_PRIM_LIMIT; p++) {
        get_pair(cbx_prim_get_info((cbx_prim)p) ? functions : NULL, cbx_prim_name((cbx_prim)p), 0, out->function_s[p]);
        good &= out->function_s[p][0] >= 0 && out->function_s[p][1] >= 0;
    }
    return good && out->function_s[CBX_PRIM_EXP][1] > 0;
}

static cbx_json *pair_json(const double pair[2])
{
    return cbx_json_object(J_NUMBER("f32", pair[0]), J_NUMBER("f64", pair[1]));
}

static cbx_json *to_json(const cbx_cost_rates *r)
{
    cbx_json *functions = cbx_json_new_object();

    for (int p = 0; p < CBX_PRIM_LIMIT; p++)
        if (r->function_s[p][0] + r->function_s[p][1] != 0)
            cbx_json_put(functions, J_JSON(cbx_prim_name((cbx_prim)p), pair_json(r->function_s[p])));
    return cbx_json_finish(cbx_json_object(
        J_TEXT("schema", SCHEMA), J_INT("version", VERSION), J_TEXT("revision", cbx_revision()),
        J_TEXT("build", cbx_build()), J_NUMBER("call_s", r->call_s), J_NUMBER("chain_s", r->chain_s),
        J_JSON("op_s", pair_json(r->op_s)), J_JSON("sum_s", pair_json(r->sum_s)), J_JSON("function_s", functions)));
}

static void save(cbx_ctx *ctx, const char *path, const cbx_cost_rates *r)
{
    cbx_json *v = to_json(r);
    cbx_text text;

    cbx_text_init(&text, cbx_ctx_allocator(ctx));
    if (v) cbx_json_write(v, CBX_JSON_INDENT2, &text);
    if (v && text.status == CBX_OK) cbx_file_write_atomic(ctx, path, text.data, text.len, NULL);
    cbx_text_clear(&text);
    cbx_json_unref(v);
}

/* In a context of its own: the caller's scopes, failures and backend are out of it. */
static cbx_status measure_apart(cbx_cost_rates *out, cbx_err *err)
{
    cbx_ctx *own = NULL;
    cbx_status st = cbx_ctx_create(NULL, &own, err);

    if (!st) st = cbx_ctx_set_backend(own, cbx_backend_jit(), err);
    if (!st) st = measure(own, out, err);
    cbx_ctx_free(own);
    return st;
}

cbx_status cbx_cost_rates_get(cbx_ctx *ctx, bool refresh, cbx_cost_rates *out, cbx_err *err)
{
    cbx_cost_rates *r = cbx_mem_zalloc(cbx_ctx_allocator(ctx), sizeof *r);
    const char *folder = NULL, *path = NULL;
    cbx_json *v = NULL;
    cbx_machine m;
    cbx_arena arena;
    cbx_status st = r ? cbx_machine_read(ctx, NULL, &m, err) : cbx_fail_nomem(err, "the rates of a machine");

    cbx_arena_init(&arena, cbx_ctx_allocator(ctx));
    if (!st) st = cbx_probe_get(ctx, m.id, refresh, &r->probe, err);
    if (!st && cbx_cache_dir(ctx, "probe", &arena, &folder, NULL) == CBX_OK) {
        const char *name = cbx_arena_printf(&arena, "%s.rates.json", m.id);
        path = name ? cbx_path_join(&arena, folder, name) : NULL;
    }
    if (!st && (!path || refresh || cbx_json_read(ctx, path, &v, NULL) || !from_json(v, r))) {
        st = measure_apart(r, err);
        if (!st && path) save(ctx, path, r);
    }
    if (!st) *out = *r;
    cbx_json_unref(v);
    cbx_arena_clear(&arena);
    cbx_mem_free(cbx_ctx_allocator(ctx), r, sizeof *r);
    return st;
}

/* ---- predicting ---- */

/* At the rates of the nearest level that holds them; in memory results may go past the caches. */
static double bytes_seconds(const cbx_cost_step *s, const cbx_probe *probe)
{
    const double read = (double)s->work.bytes_read, written = (double)s->work.bytes_written;
    const double more = fmax(read - written, 0); /* than what is written: read alone */
    const cbx_level_rate *l = NULL;

    for (int i = 0; i < probe->nlevels; i++) {
        l = &probe->level[i];
        if (l->bytes > 0 && (double)l->bytes >= read + written) break;
    }
    if (!l || !(l->read_bytes_per_s > 0) || !(l->copy_bytes_per_s > 0)) return 0;
    if (s->is_streamed && l->bytes == 0) {
        const double rate = fmax(l->copy_bytes_per_s, l->triad_stream_bytes_per_s);
        return (read + written) / rate;
    }
    return more / l->read_bytes_per_s + (read + written - more) / l->copy_bytes_per_s;
}

static double functions_seconds(const cbx_cost_step *s, const cbx_cost_rates *r)
{
    const double exp_s = r->function_s[CBX_PRIM_EXP][s->is_f64];
    double sum = 0;
    uint64_t rest = s->work.transcendental;

    for (size_t i = 0; i < s->nfunctions; i++) {
        const double each = r->function_s[s->functions[i].prim][s->is_f64];
        sum += (double)s->functions[i].n * (each > 0 ? each : exp_s);
        if (s->functions[i].prim != CBX_PRIM_DIV) rest -= s->functions[i].n < rest ? s->functions[i].n : rest;
    }
    return sum + (double)rest * exp_s;
}

double cbx_cost_step_seconds(const cbx_cost_step *step, const cbx_cost_rates *r)
{
    const cbx_cost *w = &step->work;
    uint64_t apart = step->sums; /* operations with a time of their own */

    for (size_t i = 0; i < step->nfunctions; i++)
        if (step->functions[i].prim == CBX_PRIM_DIV) apart += step->functions[i].n;
    const double flop = (double)(w->flop > apart ? w->flop - apart : 0);
    const double arithmetic = step->is_kernel
                                  ? ((double)w->int_op + flop) * r->op_s[step->is_f64] + functions_seconds(step, r) +
                                        (double)step->sums * r->sum_s[step->is_f64]
                                  : cbx_probe_bound_seconds(&r->probe, CBX_PIPE_FMA, step->is_f64, flop / 2, 0, 0) +
                                        cbx_probe_bound_seconds(&r->probe, CBX_PIPE_ADD, step->is_f64,
                                                                (double)w->int_op, 0, 0) +
                                        functions_seconds(step, r);
    const double s = fmax(arithmetic, bytes_seconds(step, &r->probe)) / (step->threads > 1 ? step->threads : 1);

    return fmax(s, (double)step->chain * r->chain_s) + CBX_COST_STEP_S;
}

double cbx_cost_program_seconds(const cbx_cost_program *p, const cbx_cost_rates *r)
{
    double sum = fmax(r->call_s - CBX_COST_STEP_S, 0);
    for (size_t i = 0; i < p->nsteps; i++) sum += cbx_cost_step_seconds(&p->steps[i], r);
    return sum;
}

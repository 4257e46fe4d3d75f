/*
 * Case array_qmap: what a scattering geometry gives at each pixel of an n-by-n detector in
 * transmission, compiled: seven maps of float64 from the pixels' positions.
 *
 *     v = row - beam row, h = column - beam column                       [pixel]
 *     phi = -atan2(v, h), a = atan(hypot(v, h) pitch / distance)         [rad]
 *     q = k0 sin(a), qx = q cos(phi), qy = q sin(phi)                    [1/A]
 *     results: phi in degrees, a, q, qx, qy, h, v
 *
 * Positions are operands, as for detectors of several modules; in another order of rows and columns
 * the maps are in that order, too.
 */
#include <math.h>
#include <string.h>

#include "calibrax/array/transform.h"
#include "suites/common/arrays.h"
#include "suites/common/bounds.h"
#include "suites/common/engine.h"
#include "suites/common/params.h"
#include "suites/common/plan.h"
#include "suites/common/rotation.h"
#include "suites/suites.h"

enum { ROW, COLUMN, GEOMETRY, INPUTS };
enum { PHI, TTH, Q, QX, QY, X, Y, MAPS };

#define MEASURES 5 /* beam row, beam column [pixel], pitch, distance [mm], k0 [1/A] */
#define DEGREES  57.29577951308232

typedef struct point {
    size_t n;
    uint64_t seed;
} point;

static const cbx_param_def params[] = { CBX__SUITE_COUNT("n", 1, 4096, "rows and columns of pixels"), CBX__SUITE_SEED };

static point read_point(const cbx_params *p) { return (point){ cbx__suite_count(p, "n"), cbx__suite_seed(p) }; }

static const char *const points[] = { "{\"n\":64,\"seed\":0}", "{\"n\":1024,\"seed\":0}", "{\"n\":2048,\"seed\":0}" };
#define REPRESENTATIVE 1

CBX__SUITE_LABEL(point, read_point, "%zux%zu pixels", p.n, p.n)

static void outputs(const cbx_params *given, cbx_array_desc *out)
{
    const point p = read_point(given);
    for (size_t i = 0; i < MAPS; i++) out[i] = (cbx_array_desc){ CBX_F64, 2, { p.n, p.n } };
}

static void work(const cbx_params *given, cbx_work *out)
{
    const double n = (double)read_point(given).n, bytes = 8 * (MAPS * n * n + 2 * n + MEASURES);
    /* two arcs, a root, three sines: 8 steps each at the fewest */
    *out = (cbx_work){ n * n, 40 * n * n, bytes, CBX_PIPE_FMA, 40 * n * n, bytes };
}

/* --- inputs, and the same pixels in another order --- */

static cbx_status make_inputs(cbx_ctx *ctx, const cbx_params *given, cbx_array **in, cbx_err *err)
{
    const point p = read_point(given);
    const double n = (double)p.n, geometry[MEASURES] = { 0.52 * n + 0.3, 0.47 * n + 0.1, 0.075, 5000, 5.2 };
    const cbx_array_desc d[INPUTS] = { { CBX_F64, 1, { p.n } }, { CBX_F64, 1, { p.n } }, { CBX_F64, 1, { MEASURES } } };
    cbx_rng rng = cbx_rng_make(p.seed, CBX__SUITE_STREAM_INPUTS);
    cbx_status st = cbx__suite_arrays(ctx, d, INPUTS, in, err);

    if (st) return st;
    for (size_t k = ROW; k <= COLUMN; k++) {
        double *at = cbx_array_data_mut(in[k]);
        for (size_t i = 0; i < p.n; i++) at[i] = (double)i + 0.01 * cbx_rng_normal(&rng);
    }
    memcpy(cbx_array_data_mut(in[GEOMETRY]), geometry, sizeof geometry);
    return CBX_OK;
}

static const cbx__suite_axes axes[] = { [ROW] = { 0, -1 }, [COLUMN] = { -1, 0 }, [GEOMETRY] = { -1, -1 } };

CBX__SUITE_ROTATIONS(point, read_point, axes, INPUTS, 0, 1, { p.seed, r, p.n, p.n, NULL })

/* --- the answer --- */

/* v and h are rounded once, functions err by 4 ulp; an angle turns by 2 u at most where v and h err
 * by u each. */
static void solve(const double *g, double row, double column, double *answer, double *bound)
{
    const double u = 0x1p-53, v = row - g[0], h = column - g[1];
    const long double phi = -atan2l(v, h), a = atanl(hypotl(v, h) * g[2] / g[3]), q = g[4] * sinl(a);
    const long double maps[MAPS] = { phi * DEGREES, a, q, q * cosl(phi), q * sinl(phi), h, v };
    const double along = (double)q * u * (24 + 8 * (double)fabsl(phi));

    for (size_t i = 0; i < MAPS; i++) answer[i] = (double)maps[i];
    bound[PHI] = DEGREES * u * (10 * (double)fabsl(phi) + 2);
    bound[TTH] = 16 * u * (double)a;
    bound[Q] = 24 * u * (double)q;
    bound[QX] = bound[QY] = along;
    bound[X] = bound[Y] = 0;
}

static cbx_status oracle(cbx_ctx *ctx, const cbx_params *given, cbx_array *const *in, cbx_array **answer,
                         cbx_array **bound, cbx_err *err)
{
    const point p = read_point(given);
    const double *row = cbx_array_data(in[ROW]), *column = cbx_array_data(in[COLUMN]),
                 *g = cbx_array_data(in[GEOMETRY]);
    cbx_array *made[2 * MAPS] = { NULL };
    cbx_array_desc d[2 * MAPS];
    double one[MAPS], may[MAPS];

    outputs(given, d);
    outputs(given, d + MAPS);
    const cbx_status st = cbx__suite_arrays(ctx, d, 2 * MAPS, made, err);
    if (st) return st;
    for (size_t i = 0; i < p.n * p.n; i++) {
        solve(g, row[i / p.n], column[i % p.n], one, may);
        for (size_t m = 0; m < MAPS; m++) {
            ((double *)cbx_array_data_mut(made[m]))[i] = one[m];
            ((double *)cbx_array_data_mut(made[MAPS + m]))[i] = may[m];
        }
    }
    memcpy(answer, made, MAPS * sizeof *made);
    memcpy(bound, made + MAPS, MAPS * sizeof *made);
    return CBX_OK;
}

/* --- the engine's baselines --- */

static cbx_status maps(cbx_ctx *c, size_t nin, cbx_array *const *in, size_t nout, cbx_array **out, void *user)
{
    cbx_array *g[MEASURES];

    (void)nin, (void)nout, (void)user;
    for (int i = 0; i < MEASURES; i++) g[i] = cbx_index(c, in[GEOMETRY], 0, i);
    cbx_array *v = cbx_subtract(c, cbx_expand_dims(c, in[ROW], 1), g[0]);
    cbx_array *h = cbx_subtract(c, cbx_expand_dims(c, in[COLUMN], 0), g[1]);
    cbx_array *phi = cbx_negative(c, cbx_atan2(c, v, h));
    cbx_array *r = cbx_multiply(c, cbx_hypot(c, v, h), g[2]);
    cbx_array *both[2];
    const cbx_array *const vh[2] = { v, h };

    out[PHI] = cbx_rad2deg(c, phi);
    out[TTH] = cbx_atan(c, cbx_divide(c, r, g[3]));
    out[Q] = cbx_multiply(c, g[4], cbx_sin(c, out[TTH]));
    out[QX] = cbx_multiply(c, out[Q], cbx_cos(c, phi));
    out[QY] = cbx_multiply(c, out[Q], cbx_sin(c, phi));
    cbx_broadcast_arrays(c, 2, vh, both);
    out[X] = cbx_copy(c, both[1]);
    out[Y] = cbx_copy(c, both[0]);
    return CBX_OK;
}

typedef struct plan {
    cbx__suite_engine call; /* first */
    cbx_fn *fn;             /* NULL: operation by operation */
    cbx_array *results[MAPS], *out[MAPS];
} plan;

static void finish(void *p)
{
    if (p) cbx_fn_free(((plan *)p)->fn);
    cbx__suite_engine_finish(p);
}

static cbx_status create(cbx_ctx *ctx, const cbx_backend *b, void **out, cbx_err *err)
{
    void *made = NULL;
    cbx_status st = cbx__suite_engine_create(ctx, b, INPUTS, sizeof(plan), &made, err);

    if (!st && !b) st = cbx_jit(((plan *)made)->call.ctx, CBX_FN(maps, NULL, INPUTS, MAPS), &((plan *)made)->fn, err);
    if (st)
        finish(made);
    else
        *out = made;
    return st;
}

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *given, void **out, cbx_err *err)
{
    (void)given;
    return create(ctx, NULL, out, err);
}

static cbx_status prepare_reference(cbx_ctx *ctx, const cbx_params *given, void **out, cbx_err *err)
{
    (void)given;
    return create(ctx, cbx_backend_reference(), out, err);
}

static void bind(void *p, cbx_array *const *in, cbx_array *const *out)
{
    cbx__suite_engine_bind(p, in, out);
    memcpy(((plan *)p)->out, out, MAPS * sizeof *out);
}

static void run(void *p)
{
    plan *s = p;
    const cbx_fn plain = { "maps", maps, NULL, INPUTS, MAPS, NULL };

    cbx__suite_engine_begin(&s->call);
    (void)cbx_fn_call(s->call.ctx, s->fn ? s->fn : &plain, INPUTS, s->call.in, MAPS, s->results);
    s->call.result = s->results[0];
}

static void collect(void *p)
{
    plan *s = p;

    if (!s->call.result || cbx_array_is_failed(s->call.result)) return; /* what is poisoned stays so */
    for (size_t i = 0; i < MAPS; i++)
        (void)cbx_array_read(s->results[i], cbx_array_data_mut(s->out[i]), cbx_array_bytes(s->out[i]), NULL);
}

/* --- planted faults --- */

static void collect_rounded(void *p)
{
    plan *s = p;

    collect(p);
    for (size_t i = 0; i < MAPS; i++)
        cbx__suite_round(CBX_F64, cbx_array_data(s->out[i]), cbx_array_count(s->out[i]), 24,
                         cbx_array_data_mut(s->out[i]));
}

/* Rows and columns of the detector exchanged. */
static void run_exchanged(void *p)
{
    plan *s = p;
    cbx_array *row = s->call.in[ROW];

    s->call.in[ROW] = s->call.in[COLUMN];
    s->call.in[COLUMN] = row;
    run(p);
    s->call.in[COLUMN] = s->call.in[ROW];
    s->call.in[ROW] = row;
}

static void run_stale(void *p) { cbx__suite_engine_stale(p, run); }

CBX__SUITE_SUPPORTS(has_order, point, read_point, p.n > 2)

#define ENGINE(name_, summary_, prepare_, run_, collect_, ...)                                                         \
    CBX__SUITE_ENTRY CBX__SUITE_BASELINE(name_, "native", summary_, .work = work, .prepare = prepare_, .bind = bind,   \
                                         .run = run_, .finish = finish, .collect = collect_, __VA_ARGS__)

/* In the order they are shown; the ratio reference first, mutants last.
 * workers/python/cases/array_qmap.py runs those of other frameworks. */
static const cbx_baseline_ops *const baselines[] = {
    ENGINE("compiled", "compiled by cbx_jit: a scope and new results each call", prepare, run, collect),
    ENGINE("reference", "operation by operation on the reference backend", prepare_reference, run, collect),
    CBX__SUITE_ENTRY CBX__SUITE_BASELINE("numpy", "numpy", "the same formulas, new results each call", .work = work),
    CBX__SUITE_ENTRY CBX__SUITE_BASELINE("jax", "jax", "the same formulas, compiled", .work = work),
    ENGINE("mutant-f32", "maps of 24 bits", prepare, run, collect_rounded,
           .mutant_reason = "rounds each map to float32"),
    ENGINE("mutant-exchanged", "rows and columns exchanged", prepare, run_exchanged, collect,
           .mutant_reason = "takes rows for columns", .supports = has_order),
    ENGINE("mutant-stale", "answers from memory", prepare, run_stale, collect,
           .mutant_reason = "gives the first call's answer forever", .supports = has_order),
};

static const char *const input_names[] = { "row", "column", "geometry" };
static const char *const output_names[] = { "phi", "tth", "q", "qx", "qy", "x", "y" };

const cbx_case_ops cbx_array_qmap_case = CBX__SUITE_CASE_WITHOUT_SERIES(
    "array_qmap", "maps of scattering vectors over a detector's pixels, seven results of a compiled function",
    .make_inputs = make_inputs, .oracle = oracle, .rotate_inputs = rotate_inputs, .rotate_output = rotate_output);

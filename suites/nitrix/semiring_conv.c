/* Case semiring_conv: a 2-D convolution over six algebras, channels last, after nitrix's
 * semiring_conv:
 *
 *   y[b,i,j,o] = fold over the window (u,v) and the channels c of combine(x[b, i s + u d - top, j s
 *   + v d - left, c], w[u,v,c,o])
 *
 * with stride s and dilation d; the kernel is not flipped.  Padding "valid" has none; "same" gives
 * ceil(in / s) places, and of what has to be added, max((out - 1) s + (k - 1) d + 1 - in, 0), the
 * smaller half goes before; "explicit" has pad places on each side.  A place outside x holds the
 * algebra's identity: 0 for real, euclidean and boolean, -inf for log and max-plus, +inf for
 * min-plus; so it adds nothing, but for euclidean, which has no such value and adds w^2.
 *
 * Images of a batch and channels of the result change places in a rotation.  The oracle folds each
 * element's terms in long double. */
#include <math.h>
#include <string.h>

#include "calibrax/array/semiring.h"
#include "suites/common/arrays.h"
#include "suites/common/engine.h"
#include "suites/common/oracle.h"
#include "suites/common/params.h"
#include "suites/common/plan.h"
#include "suites/common/rotation.h"
#include "suites/common/rows.h"
#include "suites/common/work.h"
#include "suites/suites.h"

#define MAX_EXTENT  4096
#define MAX_CHANNEL 1024
#define MAX_KERNEL  15
#define MAX_STEP    4

enum { X, W, INPUTS };

static const char *const paddings[] = { "same", "valid", "explicit", NULL };

static const cbx_param_def params[] = {
    CBX__SUITE_COUNT("batch", 1, MAX_EXTENT, "images"),
    CBX__SUITE_COUNT("height", 1, MAX_EXTENT, "rows of an image"),
    CBX__SUITE_COUNT("width", 1, MAX_EXTENT, "columns of an image"),
    CBX__SUITE_COUNT("c_in", 1, MAX_CHANNEL, "channels of an image"),
    CBX__SUITE_COUNT("c_out", 1, MAX_CHANNEL, "channels of the result"),
    CBX__SUITE_COUNT("kernel", 1, MAX_KERNEL, "rows and columns of the kernel"),
    CBX__SUITE_COUNT_OR("stride", 1, MAX_STEP, "1", "places from one window to the next"),
    CBX__SUITE_COUNT_OR("dilation", 1, MAX_STEP, "1", "places from one element of a window to the next"),
    CBX__SUITE_WORD("padding", paddings, "same",
                    "same: as many places as x; valid: windows inside x only; explicit: as 'pad' says"),
    CBX__SUITE_COUNT_OR("pad", 0, MAX_KERNEL, "0", "places before and behind each axis, of padding 'explicit'"),
    CBX__SUITE_WORD("algebra", cbx__suite_algebras, NULL, "which combine and update"),
    CBX__SUITE_WORD_FROM("dtype", cbx__suite_floats_and_bool, cbx__suite_fitting_dtype,
                         "of x, w and y; f32, and bool for boolean, if absent"),
    CBX__SUITE_SEED,
};

/* One axis of the image. */
typedef struct axis {
    size_t in, out, before;
} axis;

typedef struct point {
    const cbx_semiring *semiring;
    cbx_dtype dtype;
    axis rows, columns;
    size_t batch, c_in, c_out, kernel, stride, dilation, terms, size;
    uint64_t seed;
} point;

/* @param pad  places on either side, unless same */
static axis axis_of(size_t in, const point *p, bool same, size_t pad)
{
    const size_t span = (p->kernel - 1) * p->dilation + 1;
    axis a = { .in = in };

    if (!same) {
        a.out = in + 2 * pad >= span ? (in + 2 * pad - span) / p->stride + 1 : 0;
        a.before = pad;
        return a;
    }
    a.out = (in + p->stride - 1) / p->stride;
    size_t needed = (a.out - 1) * p->stride + span;
    a.before = needed > in ? (needed - in) / 2 : 0;
    return a;
}

static point read_point(const cbx_params *given)
{
    const bool same = strcmp(cbx_params_word(given, "padding"), "same") == 0,
               explicit = strcmp(cbx_params_word(given, "padding"), "explicit") == 0;
    const size_t pad = explicit ? cbx__suite_count(given, "pad") : 0;
    point p = { .semiring = cbx__suite_algebra(given),
                .dtype = cbx__suite_dtype(given),
                .batch = cbx__suite_count(given, "batch"),
                .c_in = cbx__suite_count(given, "c_in"),
                .c_out = cbx__suite_count(given, "c_out"),
                .kernel = cbx__suite_count(given, "kernel"),
                .stride = cbx__suite_count(given, "stride"),
                .dilation = cbx__suite_count(given, "dilation"),
                .seed = cbx__suite_seed(given) };

    p.rows = axis_of(cbx__suite_count(given, "height"), &p, same, pad);
    p.columns = axis_of(cbx__suite_count(given, "width"), &p, same, pad);
    p.terms = p.kernel * p.kernel * p.c_in;
    p.size = cbx_dtype_size(p.dtype);
    return p;
}

static cbx_status check_point(const cbx_params *given, cbx_err *err)
{
    const point p = read_point(given);
    if (p.rows.out == 0 || p.columns.out == 0)
        return cbx_fail(err, CBX_EINVAL,
                        "kernel %zu with dilation %zu does not fit into height and width with padding '%s': "
                        "use padding 'same', or a larger image",
                        p.kernel, p.dilation, cbx_params_word(given, "padding"));
    return cbx__suite_check_algebra(given, err);
}

#define POINT(b, s, i, o, kernel, stride, dilation, padding, algebra, dtype)                                           \
    "{\"batch\":" #b ",\"height\":" #s ",\"width\":" #s ",\"c_in\":" #i ",\"c_out\":" #o ",\"kernel\":" #kernel        \
    ",\"stride\":" #stride ",\"dilation\":" #dilation ",\"padding\":\"" padding "\",\"pad\":0,\"algebra\":\"" algebra  \
    "\",\"dtype\":\"" dtype "\",\"seed\":0}"
#define SAME(b, s, i, o, algebra, dtype) POINT(b, s, i, o, 3, 1, 1, "same", algebra, dtype)
#define REPRESENTATIVE                   0

static const char *const points[] = {
    SAME(1, 64, 32, 32, "real", "f32"),
    SAME(1, 64, 32, 32, "log", "f32"),
    SAME(1, 64, 32, 32, "tropical_max_plus", "f32"),
    SAME(1, 64, 32, 32, "tropical_min_plus", "f32"),
    SAME(1, 64, 32, 32, "euclidean", "f32"),
    SAME(1, 64, 32, 32, "boolean", "bool"),
    SAME(4, 32, 16, 32, "real", "f64"),
    SAME(4, 32, 16, 32, "log", "f64"),
    POINT(4, 32, 16, 32, 3, 2, 1, "same", "real", "f32"),
    POINT(4, 32, 16, 32, 3, 1, 2, "valid", "tropical_max_plus", "f32"),
    "{\"batch\":2,\"height\":31,\"width\":17,\"c_in\":16,\"c_out\":32,\"kernel\":5,\"stride\":2,\"dilation\":1,"
    "\"padding\":\"explicit\",\"pad\":3,\"algebra\":\"log\",\"dtype\":\"f32\",\"seed\":0}",
    POINT(2, 29, 5, 7, 4, 3, 2, "same", "euclidean", "f32"), /* odd: uneven padding, tails */
    POINT(2, 9, 3, 8, 3, 1, 1, "same", "real", "f32"),       /* all overhead */
};

#define BATCH(b) SAME(b, 16, 32, 32, "real", "f32"), SAME(b, 16, 32, 32, "log", "f32")

static const char *const series[] = { BATCH(1), BATCH(2), BATCH(4), BATCH(8), BATCH(16) };

/* Every term counts, those of the padding too, as in a product with patches; the roof is that of
 * the inner terms alone. */
static void work(const cbx_params *given, cbx_work *out)
{
    const point p = read_point(given);
    const cbx_algebra g = p.semiring->id;
    const cbx_pipe pipe = g == CBX_ALGEBRA_EUCLIDEAN ? CBX_PIPE_FMA /* as norms less products */
                                                     : cbx__suite_step_of(g).pipe;
    const double places = (double)p.batch * (double)p.rows.out * (double)p.columns.out;
    const double macs = places * (double)p.terms * (double)p.c_out;
    const double x = (double)p.batch * (double)p.rows.in * (double)p.columns.in * (double)p.c_in;
    const double bytes = (double)p.size *
                         ((p.stride == 1 ? x : 0) + (double)p.terms * (double)p.c_out + places * (double)p.c_out);

    /* at least, windows that lie inside: half of the terms of an axis are there even in the
     * corners */
    *out = g == CBX_ALGEBRA_BOOLEAN ? cbx__suite_lazy_work(macs, places * (double)p.c_out)
                                    : cbx__suite_work(macs, 2 * macs, bytes, pipe, macs / 4);
}

/* --- inputs and their rotation --- */

static cbx_status make_inputs(cbx_ctx *ctx, const cbx_params *given, cbx_array **in, cbx_err *err)
{
    const point p = read_point(given);
    const cbx_array_desc descs[] = { { p.dtype, 4, { p.batch, p.rows.in, p.columns.in, p.c_in } },
                                     { p.dtype, 4, { p.kernel, p.kernel, p.c_in, p.c_out } } };
    return cbx__suite_inputs(ctx, descs, INPUTS, p.seed, cbx__suite_bool_density(p.terms), in, err);
}

/* Images, and channels of the result. */
static const cbx__suite_axes axes[INPUTS] = { [X] = { 0, -1 }, [W] = { -1, 3 } };

CBX__SUITE_ROTATIONS(point, read_point, axes, INPUTS, 0, 3, { p.seed, r, p.batch, p.c_out, NULL })

/* --- the oracle --- */

/* Element of x at a place that may be outside. */
static double pixel(const point *p, const double *x, size_t image, long row, long column, size_t channel)
{
    if (row < 0 || column < 0 || row >= (long)p->rows.in || column >= (long)p->columns.in) return p->semiring->identity;
    return x[((image * p->rows.in + (size_t)row) * p->columns.in + (size_t)column) * p->c_in + channel];
}

static void solve(const point *p, const cbx__suite_problem *q)
{
    const size_t places = p->rows.out * p->columns.out;
    double *terms = q->scratch, *w = terms + p->terms;

    /* w by output channel, so that a channel's operands are adjacent. */
    for (size_t t = 0; t < p->terms; t++)
        for (size_t o = 0; o < p->c_out; o++) w[o * p->terms + t] = q->in[W][t * p->c_out + o];
    for (size_t at = 0; at < p->batch * places; at++) {
        size_t image = at / places;
        size_t i = at % places / p->columns.out;
        size_t j = at % p->columns.out;
        /* All terms' left operands for one place of the result. */
        for (size_t t = 0; t < p->terms; t++) {
            const size_t channel = t % p->c_in, v = t / p->c_in % p->kernel, u = t / p->c_in / p->kernel;
            const long row = (long)(i * p->stride + u * p->dilation) - (long)p->rows.before;
            const long column = (long)(j * p->stride + v * p->dilation) - (long)p->columns.before;
            terms[t] = pixel(p, q->in[X], image, row, column, channel);
        }
        for (size_t o = 0; o < p->c_out; o++)
            cbx__suite_problem_fold(q, at * p->c_out + o, p->semiring, p->dtype, p->terms, terms, w + o * p->terms);
    }
}

CBX__SUITE_ORACLE(cbx_semiring_conv_case, point, read_point, (1 + p.c_out) * p.terms, solve)

/* --- the native baseline: the window's elements, then a row of output channels --- */

static size_t window_bytes(const point *p) { return (p->terms * p->size + 63) / 64 * 64; }

static size_t spare_bytes(const point *p)
{
    const size_t places = p->batch * p->rows.out * p->columns.out;
    return (p->terms > places ? p->terms : places) * p->c_out * p->size;
}

/* Scratch: elements of a window, pointers to rows of w, a row of sums.  Mutants have memory for a
 * copy of the kernel or the result. */
CBX__SUITE_PREPARE(prepare, cbx_semiring_conv_case, point, read_point,
                   window_bytes(&p) + p.terms * sizeof(void *) + p.c_out * p.size, spare_bytes(&p))

static void fill_identity(const point *p, char *to)
{
    for (size_t c = 0; c < p->c_in; c++) {
        if (p->dtype == CBX_F32)
            ((float *)(void *)to)[c] = (float)p->semiring->identity;
        else if (p->dtype == CBX_F64)
            ((double *)(void *)to)[c] = p->semiring->identity;
        else
            to[c] = 0;
    }
}

/* Copies the window at (i, j), channel rows as they lie, identities outside. */
static void copy_window(const point *p, const char *image, size_t i, size_t j, char *to)
{
    for (size_t u = 0; u < p->kernel; u++) {
        const long row = (long)(i * p->stride + u * p->dilation) - (long)p->rows.before;
        for (size_t v = 0; v < p->kernel; v++, to += p->c_in * p->size) {
            const long column = (long)(j * p->stride + v * p->dilation) - (long)p->columns.before;
            const bool inside = row >= 0 && column >= 0 && row < (long)p->rows.in && column < (long)p->columns.in;
            if (inside)
                memcpy(to, image + ((size_t)row * p->columns.in + (size_t)column) * p->c_in * p->size,
                       p->c_in * p->size);
            else
                fill_identity(p, to);
        }
    }
}

static void run(void *plan)
{
    const cbx__suite_plan *s = plan;
    const point *p = s->point;
    const char *x = s->in[X], *w = s->in[W];
    char *window = s->scratch, *out = s->out[0];
    const void **b = (const void **)(void *)(window + window_bytes(p));
    const cbx__suite_terms t = { p->terms, p->c_out, window, b };
    cbx__suite_row_fn *row = cbx__suite_row(p->semiring->id, p->dtype);

    for (size_t e = 0; e < p->terms; e++) b[e] = w + e * p->c_out * p->size;
    for (size_t image = 0; image < p->batch; image++) {
        const char *from = x + image * p->rows.in * p->columns.in * p->c_in * p->size;
        for (size_t i = 0; i < p->rows.out; i++) {
            for (size_t j = 0; j < p->columns.out; j++, out += p->c_out * p->size) {
                copy_window(p, from, i, j, window);
                row(&t, out, b + p->terms);
            }
        }
    }
}

/* --- the toolkit's own convolution (calibrax/array/semiring.h), called as user code calls it, on
 * all threads that the worker is given --- */

typedef struct engine {
    cbx__suite_engine call; /* first */
    const cbx_semiring *semiring;
    cbx_conv_options options;
} engine;

static cbx_status prepare_engine(cbx_ctx *ctx, const cbx_params *given, void **plan, cbx_err *err)
{
    const cbx_status st = cbx__suite_engine_create(ctx, NULL, 2, sizeof(engine), plan, err);

    if (st) return st;
    engine *e = *plan;
    e->semiring = cbx__suite_algebra(given);
    const char *padding = cbx_params_word(given, "padding");
    cbx_conv_options o = CBX_CONV_INIT;

    o.padding = !strcmp(padding, "same")    ? CBX_CONV_SAME
                : !strcmp(padding, "valid") ? CBX_CONV_VALID
                                            : CBX_CONV_EXPLICIT;
    for (int i = 0; i < 2; i++) {
        o.stride[i] = cbx__suite_count(given, "stride");
        o.dilation[i] = cbx__suite_count(given, "dilation");
        o.low[i] = o.high[i] = o.padding == CBX_CONV_EXPLICIT ? cbx__suite_count(given, "pad") : 0;
    }
    e->options = o;
    return CBX_OK;
}

static void run_engine(void *plan)
{
    engine *e = plan;

    cbx__suite_engine_begin(&e->call);
    e->call.result = cbx_semiring_conv(e->call.ctx, e->call.in[0], e->call.in[1], e->semiring, &e->options);
}

/* --- planted faults --- */

/* The kernel turned by half a turn, as in convolution proper. */
static void run_flipped(void *plan)
{
    cbx__suite_plan *s = plan;
    const point *p = s->point;
    const size_t taps = p->kernel * p->kernel, bytes = p->c_in * p->c_out * p->size;
    const char *w = s->in[W];
    char *turned = s->spare;

    for (size_t t = 0; t < taps; t++) memcpy(turned + t * bytes, w + (taps - 1 - t) * bytes, bytes);
    cbx__suite_run_with(s, run, W, turned);
}

/* The padding holds 0 whatever the algebra: x is padded before, as a library without algebras does
 * it. */
static void run_zero_padding(void *plan)
{
    cbx__suite_plan *s = plan;
    point *p = s->point;
    const cbx_semiring *right = p->semiring;
    cbx_semiring wrong = *right;

    wrong.identity = 0;
    p->semiring = &wrong;
    run(plan);
    p->semiring = right;
}

static void run_shifted(void *plan)
{
    cbx__suite_plan *s = plan;
    point *p = s->point;
    const point right = *p;

    p->columns.before += 1; /* windows begin one place too far left */
    run(plan);
    *p = right;
}

static void run_tf32(void *plan) { cbx__suite_run_rounded(plan, run, W, 11); }

static void run_stale(void *plan) { cbx__suite_run_stale(plan, run); }

CBX__SUITE_SUPPORTS(has_window, point, read_point, p.kernel > 1)
CBX__SUITE_SUPPORTS(has_padding, point, read_point, p.semiring->identity != 0 && p.rows.before + p.columns.before > 0)
CBX__SUITE_SUPPORTS(is_float, point, read_point, p.dtype != CBX_BOOL)
CBX__SUITE_SUPPORTS(turns, point, read_point, p.batch > 2 || p.c_out > 2)

/* --- the table --- */

/* A library's convolution has no other algebra. */
CBX__SUITE_SUPPORTS(is_real, point, read_point, p.semiring->id == CBX_ALGEBRA_REAL)

#define PATCH_LIMIT 1e9

static bool patches_fit(const cbx_params *given, const char **reason)
{
    const point p = read_point(given);
    const double terms = (double)p.batch * (double)p.rows.out * (double)p.columns.out * (double)p.terms;
    if (terms * (double)p.c_out * (double)p.size <= PATCH_LIMIT) return true;
    *reason = "its temporary of a term for each element of the result is above 1 GB";
    return false;
}

#define FOREIGN(name, provider, summary, supports_)                                                                    \
    CBX__SUITE_ENTRY CBX__SUITE_BASELINE(name, provider, summary, .work = work, .supports = supports_)
#define MUTANT(name, summary, reason, supports_, run_)                                                                 \
    CBX__SUITE_ENTRY CBX__SUITE_MUTANT(name, summary, reason, prepare, run_, .supports = supports_, .work = work)

/* In the order they are shown; the ratio reference first, mutants last. */
static const cbx_baseline_ops *const baselines[] = {
    CBX__SUITE_ENTRY CBX__SUITE_NATIVE("direct", "plain loops: a window at a time, a row of output channels", prepare,
                                       run, .work = work),
    CBX__SUITE_ENTRY CBX__SUITE_BASELINE(
        "calibrax", "native", "the tiled product on x in place; log and boolean on windows of a block of places",
        .work = work, .prepare = prepare_engine, .bind = cbx__suite_engine_bind, .run = run_engine,
        .finish = cbx__suite_engine_finish, .collect = cbx__suite_engine_collect),
    FOREIGN("numpy", "numpy", "patches by strides, then a product or a reduction", patches_fit),
    FOREIGN("jax-patches", "jax", "patches by gather, then reduce; compiled", patches_fit),
    FOREIGN("jax-conv", "jax", "lax.conv_general_dilated at the highest precision", is_real),
    FOREIGN("torch-patches", "torch", "patches by strides, then reduce", patches_fit),
    FOREIGN("torch-conv", "torch", "torch.nn.functional.conv2d", is_real),
    MUTANT("mutant-flipped", "the kernel turned round", "flips the kernel, as convolution proper does", has_window,
           run_flipped),
    MUTANT("mutant-zero-padding", "zeros outside", "pads with 0 in the place of the algebra's identity", has_padding,
           run_zero_padding),
    MUTANT("mutant-shift", "windows one place off", "begins each window one column too far left", has_window,
           run_shifted),
    MUTANT("mutant-tf32", "kernel of 11 bits", "rounds w to the 11 bits of TF32, then sums in full", is_float,
           run_tf32),
    MUTANT("mutant-stale", "answers from memory", "gives the first call's answer forever", turns, run_stale),
};

static const char *const input_names[] = { "x", "w" };
static const char *const output_names[] = { "y" };

CBX__SUITE_LABEL(point, read_point, "%zux%zux%zu, %zu to %zu, %zux%zu/%zu/%zu %s (%s, %s)", p.batch, p.rows.in,
                 p.columns.in, p.c_in, p.c_out, p.kernel, p.kernel, p.stride, p.dilation,
                 cbx_params_word(given, "padding"), p.semiring->name, cbx_params_word(given, "dtype"))

CBX__SUITE_OUTPUT(point, read_point, { p.dtype, 4, { p.batch, p.rows.out, p.columns.out, p.c_out } })

const cbx_case_ops cbx_semiring_conv_case = CBX__SUITE_CASE(
    "semiring_conv", "2-D convolution over six algebras, channels last", .check_point = check_point);

/*
 * Aggregation over edges by a function of an edge, and its derivative.
 *
 * A thread holds one message at a time and folds it into the row of the result (by functions: into that row's states).  Backward, messages' cotangents go to x_row and attr by
 * rows, to x_col by the transposed graph, so that each element of a result is added up by one thread, in one order.
 */
#include <math.h>
#include <string.h>

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/kernels/semiring_isa.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/ops_internal.h"
#include "calibrax/base/pool.h"

enum { X_ROW, X_COL, ATTR, OPERANDS };

/* One aggregation under way. */
typedef struct fold {
    const cbx_ell *g;
    const cbx_ell_edge_functions *f;
    const cbx_semiring *s;
    cbx_dtype dtype;
    size_t size, lanes[OPERANDS]; /* bytes of an element; elements of a row of each operand */
    const char *x[OPERANDS];      /* NULL: not given */
    char *out;                    /* rows-by-d_out */
    uint32_t *first;              /* of a maximum or minimum: the place it comes from; NULL: not asked for */
    const char *h;                /* backward: cotangent of out */
    char *d[OPERANDS];
    const char *t[OPERANDS]; /* forward: tangents of the operands */
    char *t_out;             /* and of out */
    char *message;           /* d_out elements for each thread */
    char *states;            /* and states_bytes, by functions */
    size_t states_bytes;
    struct {
        void (*f32)(size_t n, float *acc, const float *row);
        void (*f64)(size_t n, double *acc, const double *row);
    } into; /* a message into a row of the result */
    int threads;
} fold;

#define NOWHERE UINT32_MAX

static cbx_ell_edge edge_of(const fold *s, size_t row, size_t col, uint32_t place)
{
    return (cbx_ell_edge){ .row = row,
                           .col = col,
                           .place = place - row * s->g->width,
                           .x_row = s->x[X_ROW] ? s->x[X_ROW] + row * s->lanes[X_ROW] * s->size : NULL,
                           .x_col = s->x[X_COL] + col * s->lanes[X_COL] * s->size,
                           .attr = s->x[ATTR] ? s->x[ATTR] + place * s->lanes[ATTR] * s->size : NULL };
}

/* What folds messages; algebras given by functions do it by their own. */
static cbx__messages messages_of(const fold *s)
{
    return s->s->functions ? CBX__MESSAGES_NONE : cbx__traits_of[s->s->id].messages;
}

static uint32_t place_of(const cbx_ell *g, size_t e) { return g->place ? g->place[e] : (uint32_t)e; }

static size_t this_thread(void)
{
#if defined(_OPENMP)
    return (size_t)omp_get_thread_num();
#else
    return 0;
#endif
}

static char *message_of(const fold *s) { return s->message + this_thread() * s->f->d_out * s->size; }

/* Asks for features of the column of an edge some edges ahead. */
static void announce(const fold *s, size_t e)
{
    enum { AHEAD = 8, MAX_BYTES = 512 };
    const size_t bytes = s->lanes[X_COL] * s->size;

    if (e + AHEAD >= s->g->edges) return;
    const char *row = s->x[X_COL] + (size_t)s->g->index[e + AHEAD] * bytes;
    for (size_t l = 0; l < bytes && l < MAX_BYTES; l += 64) __builtin_prefetch(row + l);
}

#define FOLD(T, SFX)                                                                                                   \
    static void fold_first_##SFX(const fold *s, const T *m, uint32_t place, T *acc, uint32_t *first)                   \
    {                                                                                                                  \
        const bool is_min = messages_of(s) == CBX__MESSAGES_MIN;                                                       \
        for (size_t o = 0; o < s->f->d_out; o++) {                                                                     \
            if (isnan(m[o]) ? isnan(acc[o]) : !(is_min ? m[o] < acc[o] : m[o] > acc[o])) continue;                     \
            acc[o] = m[o];                                                                                             \
            first[o] = place;                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void fold_row_##SFX(const fold *s, size_t i)                                                                \
    {                                                                                                                  \
        const size_t d = s->f->d_out;                                                                                  \
        T *acc = (T *)(void *)s->out + i * d, *m = (T *)(void *)message_of(s);                                         \
        uint32_t *first = s->first ? s->first + i * d : NULL;                                                          \
        for (size_t o = 0; o < d; o++) acc[o] = (T)s->s->identity;                                                     \
        for (size_t o = 0; first && o < d; o++) first[o] = NOWHERE;                                                    \
        for (size_t e = s->g->start[i]; e < s->g->start[i + 1]; e++) {                                                 \
            const cbx_ell_edge edge = edge_of(s, i, (size_t)s->g->index[e], place_of(s->g, e));                        \
            announce(s, e);                                                                                            \
            s->f->message(s->f->user, &edge, m);                                                                       \
            if (first)                                                                                                 \
                fold_first_##SFX(s, m, place_of(s->g, e), acc, first);                                                 \
            else                                                                                                       \
                s->into.SFX(d, acc, m);                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    /* the cotangent of one message: that of the sum, or where the optimum comes from it */                            \
    static const void *cotangent_##SFX(const fold *s, size_t i, uint32_t place)                                        \
    {                                                                                                                  \
        const size_t d = s->f->d_out;                                                                                  \
        const T *h = (const T *)(const void *)s->h + i * d;                                                            \
        T *m = (T *)(void *)message_of(s);                                                                             \
        if (!s->first) return h;                                                                                       \
        for (size_t o = 0; o < d; o++) m[o] = s->first[i * d + o] == place ? h[o] : 0;                                 \
        return m;                                                                                                      \
    }
FOLD(float, f32)
FOLD(double, f64)

/* Tangents of a row's messages, added up; of an optimum the one that it comes from. */
#define JVP(T, SFX)                                                                                                    \
    static void jvp_row_##SFX(const fold *s, size_t i)                                                                 \
    {                                                                                                                  \
        const size_t d = s->f->d_out;                                                                                  \
        T *sum = (T *)(void *)s->t_out + i * d, *t = (T *)(void *)message_of(s);                                       \
        for (size_t o = 0; o < d; o++) sum[o] = 0;                                                                     \
        for (size_t e = s->g->start[i]; e < s->g->start[i + 1]; e++) {                                                 \
            const uint32_t place = place_of(s->g, e);                                                                  \
            jvp_edge(s, i, (size_t)s->g->index[e], place, t);                                                          \
            for (size_t o = 0; o < d; o++) sum[o] += !s->first || s->first[i * d + o] == place ? t[o] : 0;             \
        }                                                                                                              \
    }

static void jvp_edge(const fold *s, size_t row, size_t col, uint32_t place, void *t)
{
    const cbx_ell_edge edge = edge_of(s, row, col, place);
    const size_t at[OPERANDS] = { row, col, place };
    const void *tangent[OPERANDS];

    for (int r = 0; r < OPERANDS; r++) tangent[r] = s->t[r] ? s->t[r] + at[r] * s->lanes[r] * s->size : NULL;
    s->f->jvp(s->f->user, &edge, tangent[X_ROW], tangent[X_COL], tangent[ATTR], t);
}

JVP(float, f32)
JVP(double, f64)

static void jvp_row(const fold *s, size_t i)
{
    if (s->dtype == CBX_F32)
        jvp_row_f32(s, i);
    else
        jvp_row_f64(s, i);
}

static const void *cotangent(const fold *s, size_t i, uint32_t place)
{
    return s->dtype == CBX_F32 ? cotangent_f32(s, i, place) : cotangent_f64(s, i, place);
}

static void fold_row(const fold *s, size_t i)
{
    if (s->s->functions) {
        /* Over an algebra given by functions. */
        const cbx_semiring_functions *a = s->s->functions;
        const size_t d = s->f->d_out;
        char *states = s->states + this_thread() * s->states_bytes, *m = message_of(s);

        a->start(a->user, d, states);
        for (size_t e = s->g->start[i]; e < s->g->start[i + 1]; e++) {
            const cbx_ell_edge edge = edge_of(s, i, (size_t)s->g->index[e], place_of(s->g, e));
            announce(s, e);
            s->f->message(s->f->user, &edge, m);
            a->update(a->user, d, m, states);
        }
        a->finish(a->user, d, states, s->out + i * d * s->size);
    } else if (s->dtype == CBX_F32)
        fold_row_f32(s, i);
    else
        fold_row_f64(s, i);
}

static void vjp_row(const fold *s, size_t i)
{
    char *row = s->d[X_ROW] ? s->d[X_ROW] + i * s->lanes[X_ROW] * s->size : NULL;

    for (size_t e = s->g->start[i]; e < s->g->start[i + 1]; e++) {
        const uint32_t place = place_of(s->g, e);
        const cbx_ell_edge edge = edge_of(s, i, (size_t)s->g->index[e], place);
        s->f->vjp(s->f->user, &edge, cotangent(s, i, place), row, NULL,
                  s->d[ATTR] ? s->d[ATTR] + place * s->lanes[ATTR] * s->size : NULL);
    }
}

static void vjp_col(const fold *s, size_t j)
{
    char *col = s->d[X_COL] + j * s->lanes[X_COL] * s->size;

    for (size_t e = s->g->t_start[j]; e < s->g->t_start[j + 1]; e++) {
        const size_t i = (size_t)s->g->t_index[e];
        const cbx_ell_edge edge = edge_of(s, i, j, s->g->t_place[e]);
        s->f->vjp(s->f->user, &edge, cotangent(s, i, s->g->t_place[e]), NULL, col, NULL);
    }
}

typedef struct task {
    const fold *s;
    void (*go)(const fold *s, size_t i);
} task;

static void some(const void *job, size_t from, size_t to)
{
    const task *t = job;
    for (size_t i = from; i < to; i++) t->go(t->s, i);
}

static void each_row(const fold *s, void (*go)(const fold *s, size_t i))
{
    const cbx__ell_rows rows = { .count = s->g->rows, .start = s->g->start };
    const task t = { s, go };
    cbx__ell_share(&rows, s->threads, some, &t);
}

/* --- arrays --- */

typedef enum direction { FOLD_ONLY, BACKWARD, FORWARD } direction;

static bool check(cbx_ctx *ctx, const char *name, const cbx_ell_edge_functions *f, const cbx_semiring *s, direction way)
{
    static const char *const words[] = { "message", "message and vjp", "message and jvp" };

    if (!f || f->struct_size != sizeof *f || !f->message || (way == BACKWARD && !f->vjp) ||
        (way == FORWARD && !f->jvp)) {
        cbx__refuse(ctx, CBX_EINVAL, "'%s' needs functions of an edge: %s, with struct_size %zu", name, words[way],
                    sizeof *f);
        return false;
    }
    if (s && s->functions && way == FOLD_ONLY && s->functions->update) return true;
    if (s && !s->functions && cbx__traits_of[s->id].messages != CBX__MESSAGES_NONE) return true;
    if (s && s->functions)
        cbx__refuse(ctx, CBX_EINVAL,
                    way == FOLD_ONLY ? "'%s' over '%s' cannot fold messages: define 'update' in its functions"
                                     : "'%s' over '%s', defined by functions, has no derivative",
                    name, s->name);
    else
        cbx__refuse(ctx, CBX_EINVAL,
                    "'%s' folds by the sum, maximum or minimum of an algebra (real, tropical), not of '%s'", name,
                    s ? s->name : "no algebra");
    return false;
}

static bool take_operand(cbx_ctx *ctx, const char *name, const cbx_array *x, int role, fold *s)
{
    static const char *const words[] = { "x_row", "x_col", "attr" };
    const int ndim = role == ATTR ? 3 : 2;
    const size_t shape[] = { role == X_COL ? s->g->cols : s->g->rows, role == ATTR ? s->g->width : 0, 0 };
    size_t wanted[] = { shape[0], shape[1], 0 };

    if (!x) return true;
    s->lanes[role] = x->desc.ndim == ndim ? x->desc.shape[ndim - 1] : 0;
    wanted[ndim - 1] = s->lanes[role];
    s->x[role] = cbx__ell_operand(ctx, name, words[role], x, s->dtype, ndim, wanted);
    return s->x[role] != NULL;
}

/* Operands, the result and a message for each thread; false with a failure recorded. */
static bool open_fold(cbx_ctx *ctx, const char *name, const cbx_array *const in[OPERANDS], fold *s, cbx_array **out)
{
    const size_t shape[] = { s->g->rows, s->f->d_out };

    if (cbx__unusable(ctx, name, 1, &in[X_COL])) return false;
    s->dtype = in[X_COL]->desc.dtype;
    s->size = cbx_dtype_size(s->dtype);
    s->threads = (double)s->g->edges * (double)s->f->d_out < 1e5 ? 1 : cbx__omp_threads();
    if (s->dtype != CBX_F32 && s->dtype != CBX_F64) {
        cbx__refuse(ctx, CBX_EDTYPE, "'%s' takes float32 or float64, not %s", name, cbx_dtype_name(s->dtype));
        return false;
    }
    if (s->s->functions && s->dtype != s->s->functions->dtype) {
        cbx__refuse(ctx, CBX_EDTYPE, "'%s' over '%s' takes %s, not %s: convert with 'astype'", name, s->s->name,
                    cbx_dtype_name(s->s->functions->dtype), cbx_dtype_name(s->dtype));
        return false;
    }
    const cbx__fold *rows = cbx__fold_get(cbx_isa_best());
    const cbx__messages m = messages_of(s);

    s->into.f32 = m == CBX__MESSAGES_ADD ? rows->add_f32 : m == CBX__MESSAGES_MIN ? rows->min_f32 : rows->max_f32;
    s->into.f64 = m == CBX__MESSAGES_ADD ? rows->add_f64 : m == CBX__MESSAGES_MIN ? rows->min_f64 : rows->max_f64;
    for (int r = 0; r < OPERANDS; r++)
        if (!take_operand(ctx, name, in[r], r, s)) return false;
    *out = cbx__ell_result(ctx, s->dtype, 2, shape);
    if (cbx_array_is_failed(*out)) return false;
    s->out = (*out)->data;
    /* Space for a message of each thread, and for the states of a row. */
    const size_t threads = (size_t)s->threads;
    cbx_array *space = cbx__ell_result(ctx, s->dtype, 2, (const size_t[]){ threads, s->f->d_out }), *states;

    if (cbx_array_is_failed(space)) return false;
    s->message = space->data;
    if (!s->s->functions) return true;
    s->states_bytes = (s->f->d_out * s->s->functions->state_bytes + 63) / 64 * 64;
    states = cbx__ell_result(ctx, CBX_U8, 2, (const size_t[]){ threads, s->states_bytes });
    if (cbx_array_is_failed(states)) return false;
    s->states = states->data;
    return true;
}

cbx_array *cbx_ell_edge_aggregate(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *x_row, const cbx_array *x_col,
                                  const cbx_array *attr, const cbx_ell_edge_functions *f, const cbx_semiring *s)
{
    const cbx_array *const in[OPERANDS] = { x_row, x_col, attr };
    const size_t mark = cbx__mark(ctx);
    cbx_array *out = NULL;

    if (!check(ctx, "ell_edge_aggregate", f, s, FOLD_ONLY)) return cbx__array_failed();
    fold k = { .g = g, .f = f, .s = s };
    if (!open_fold(ctx, "ell_edge_aggregate", in, &k, &out)) return cbx__tidy(ctx, mark, cbx__array_failed());
    each_row(&k, fold_row);
    return cbx__tidy(ctx, mark, out);
}

/* Zeros like each operand that is given; false with a failure recorded. */
static bool open_results(cbx_ctx *ctx, const cbx_array *const in[OPERANDS], fold *s, cbx_array *d[OPERANDS])
{
    for (int r = 0; r < OPERANDS; r++) {
        if (!in[r]) continue;
        d[r] = cbx__ell_result(ctx, s->dtype, in[r]->desc.ndim, in[r]->desc.shape);
        if (cbx_array_is_failed(d[r])) return false;
        s->d[r] = d[r]->data;
        memset(s->d[r], 0, cbx_array_bytes(d[r]));
    }
    return true;
}

/* Where each element of an optimum comes from; false with a failure recorded. */
static bool find_first(cbx_ctx *ctx, fold *s)
{
    const size_t shape[] = { s->g->rows, s->f->d_out };
    cbx_array *first;

    if (messages_of(s) == CBX__MESSAGES_ADD) return true;
    first = cbx__ell_result(ctx, CBX_I32, 2, shape);
    if (cbx_array_is_failed(first)) return false;
    s->first = first->data;
    each_row(s, fold_row);
    return true;
}

static bool vjp_steps(cbx_ctx *ctx, const cbx_array *const in[OPERANDS], const cbx_array *h, fold *s,
                      cbx_array *d[OPERANDS])
{
    const size_t shape[] = { s->g->rows, s->f->d_out };
    cbx_array *out = NULL;

    if (!open_fold(ctx, "ell_edge_aggregate_vjp", in, s, &out)) return false;
    s->h = cbx__ell_operand(ctx, "ell_edge_aggregate_vjp", "the cotangent", h, s->dtype, 2, shape);
    if (!s->h || !open_results(ctx, in, s, d) || !find_first(ctx, s)) return false;
    if (in[X_ROW] || in[ATTR]) each_row(s, vjp_row);
    const cbx__ell_rows cols = { .count = s->g->cols, .start = s->g->t_start };
    const task t = { s, vjp_col };
    cbx__ell_share(&cols, s->threads, some, &t);
    return true;
}

void cbx_ell_edge_aggregate_vjp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *x_row, const cbx_array *x_col,
                                const cbx_array *attr, const cbx_ell_edge_functions *f, const cbx_semiring *s,
                                const cbx_array *h, cbx_array *d[3])
{
    const cbx_array *const in[OPERANDS] = { x_row, x_col, attr };
    const size_t mark = cbx__mark(ctx);
    cbx_array *kept[OPERANDS];
    bool done = false;

    for (int r = 0; r < OPERANDS; r++) d[r] = in[r] ? cbx__array_failed() : NULL;
    if (!check(ctx, "ell_edge_aggregate_vjp", f, s, BACKWARD)) return;
    fold k = { .g = g, .f = f, .s = s };
    done = vjp_steps(ctx, in, h, &k, d);
    for (int r = 0; r < OPERANDS; r++) kept[r] = done && d[r] ? d[r] : cbx__array_failed();
    cbx__tidy_list(ctx, mark, OPERANDS, kept);
    for (int r = 0; r < OPERANDS; r++) d[r] = in[r] ? kept[r] : NULL;
}

/* Tangents of the shapes of the operands, where there are such. */
static bool take_tangents(cbx_ctx *ctx, const cbx_array *const in[OPERANDS], const cbx_array *const t[OPERANDS],
                          fold *s)
{
    static const char *const words[] = { "the tangent of x_row", "the tangent of x_col", "the tangent of attr" };

    for (int r = 0; r < OPERANDS; r++) {
        if (!in[r] && !t[r]) continue;
        if (!in[r] || !t[r]) {
            cbx__refuse(ctx, CBX_EINVAL, "'ell_edge_aggregate_jvp' has %s without %s: pass both, or neither",
                        t[r] ? words[r] : words[r] + strlen("the tangent of "),
                        t[r] ? words[r] + strlen("the tangent of ") : words[r]);
            return false;
        }
        s->t[r] = cbx__ell_operand(ctx, "ell_edge_aggregate_jvp", words[r], t[r], s->dtype, in[r]->desc.ndim,
                                   in[r]->desc.shape);
        if (!s->t[r]) return false;
    }
    return true;
}

cbx_array *cbx_ell_edge_aggregate_jvp(cbx_ctx *ctx, const cbx_ell *g, const cbx_array *x_row, const cbx_array *x_col,
                                      const cbx_array *attr, const cbx_ell_edge_functions *f, const cbx_semiring *s,
                                      const cbx_array *t_row, const cbx_array *t_col, const cbx_array *t_attr)
{
    const cbx_array *const in[OPERANDS] = { x_row, x_col, attr }, *const t[OPERANDS] = { t_row, t_col, t_attr };
    const size_t mark = cbx__mark(ctx);
    cbx_array *out = NULL, *tangent;

    if (!check(ctx, "ell_edge_aggregate_jvp", f, s, FORWARD)) return cbx__array_failed();
    fold k = { .g = g, .f = f, .s = s };
    if (!open_fold(ctx, "ell_edge_aggregate_jvp", in, &k, &out) || !take_tangents(ctx, in, t, &k) ||
        !find_first(ctx, &k))
        return cbx__tidy(ctx, mark, cbx__array_failed());
    tangent = cbx__ell_result(ctx, k.dtype, 2, out->desc.shape);
    if (cbx_array_is_failed(tangent)) return cbx__tidy(ctx, mark, tangent);
    k.t_out = tangent->data;
    each_row(&k, jvp_row);
    return cbx__tidy(ctx, mark, tangent);
}

/*
 * Aggregation over edges by a function of an edge, and its derivative.
 *
 * A thread holds one message at a time and folds it into the row of the result (by functions: into
 * that row's states).  Backward, messages' cotangents go to x_row and attr by rows, to x_col by the
 * transposed graph, so that each element of a result is added up by one thread, in one order.
 */
#include <math.h>

#include "calibrax/array/ell_internal.h"
#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/kernels/semiring_kernel.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/reference/reference.h"
#include "calibrax/base/pool.h"

enum { X_ROW = CBX__X_ROW, X_COL = CBX__X_COL, ATTR = CBX__ATTR, OPERANDS = CBX__EDGE_OPERANDS };

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

static char *message_of(const fold *s) { return s->message + cbx__omp_thread() * s->f->d_out * s->size; }

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
        char *states = s->states + cbx__omp_thread() * s->states_bytes, *m = message_of(s);

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

/* --- operations --- */

/* Operands of a call by role, and what each thread needs; the last operands (h, tangents) follow in
 * their order. */
typedef struct memory {
    const cbx_call *call;
    int role[OPERANDS]; /* of the first n operands */
    size_t n;
    cbx__scratch scratch, first;
    fold s;
} memory;

static void memory_init(memory *m, const cbx_call *call)
{
    *m = (memory){ .call = call };
    cbx__scratch_init(&m->scratch, call->ctx);
    cbx__scratch_init(&m->first, call->ctx);
}

static void memory_clear(memory *m)
{
    cbx__scratch_clear(&m->first);
    cbx__scratch_clear(&m->scratch);
}

static cbx_status get_memory(memory *m, cbx_array **out, cbx_err *err)
{
    const cbx_call *call = m->call;
    fold *s = &m->s;
    const cbx__fold *rows = cbx__fold_get(cbx_isa_best());
    cbx_status st;

    *s = (fold){ .g = cbx__ell_of(call->attrs), .f = cbx__ell_edge_of(call->attrs), .s = cbx__algebra_of(call->attrs) };
    s->dtype = call->results->dtype;
    s->size = cbx_dtype_size(s->dtype);
    s->threads = (double)s->g->edges * (double)s->f->d_out < 1e5 ? 1 : cbx__omp_threads();
    cbx__ref_zero(call->nout, out);
    for (int r = 0; r < OPERANDS; r++) {
        if (!(call->attrs->axis >> r & 1)) continue;
        const cbx_array_desc *d = &call->in[m->n]->desc;
        s->x[r] = cbx__ref_elements(call->in[m->n]);
        s->lanes[r] = d->shape[d->ndim - 1];
        m->role[m->n++] = r;
    }
    const cbx__messages how = messages_of(s);
    s->into.f32 = how == CBX__MESSAGES_ADD ? rows->add_f32 : how == CBX__MESSAGES_MIN ? rows->min_f32 : rows->max_f32;
    s->into.f64 = how == CBX__MESSAGES_ADD ? rows->add_f64 : how == CBX__MESSAGES_MIN ? rows->min_f64 : rows->max_f64;
    s->states_bytes = s->s->functions ? (s->f->d_out * s->s->functions->state_bytes + 63) / 64 * 64 : 0;
    /* Space for the states of a row of each thread, and for a message. */
    st = cbx__scratch_get(&m->scratch, (size_t)s->threads * (s->states_bytes + s->f->d_out * s->size) + 1, err);
    s->states = m->scratch.data;
    if (!st) s->message = s->states + (size_t)s->threads * s->states_bytes;
    return st;
}

CBX__RUN(ell_edge)
{
    CBX_SCOPED(memory, m, call);
    const cbx_status st = get_memory(&m, out, err);

    m.s.out = out[0]->data;
    if (!st) each_row(&m.s, fold_row);
    return st;
}

/* Of an optimum where each element comes from; the aggregation itself goes to a place of
 * its own. */
static cbx_status find_first(memory *m, cbx_err *err)
{
    const size_t n = m->s.g->rows * m->s.f->d_out;
    cbx_status st;

    if (messages_of(&m->s) == CBX__MESSAGES_ADD) return CBX_OK;
    st = cbx__scratch_get(&m->first, n * (m->s.size + sizeof *m->s.first) + 1, err);
    if (st) return st;
    m->s.out = m->first.data;
    m->s.first = (uint32_t *)(void *)(m->s.out + n * m->s.size);
    each_row(&m->s, fold_row);
    return CBX_OK;
}

CBX__RUN(ell_edge_vjp)
{
    CBX_SCOPED(memory, m, call);
    cbx_status st = get_memory(&m, out, err);

    if (!st && !m.s.f->vjp)
        st = cbx_fail(err, CBX_EUNSUPPORTED,
                      "the functions of an edge of 'ell_edge' have no 'vjp', which reverse mode needs");
    if (!st) st = find_first(&m, err);
    if (st) return st;
    const cbx__ell_rows cols = { .count = m.s.g->cols, .start = m.s.g->t_start };
    const task t = { &m.s, vjp_col };
    m.s.h = cbx__ref_elements(call->in[m.n]);
    for (size_t i = 0; i < m.n; i++) m.s.d[m.role[i]] = out[m.role[i]]->data;
    if (m.s.x[X_ROW] || m.s.x[ATTR]) each_row(&m.s, vjp_row);
    cbx__ell_share(&cols, m.s.threads, some, &t);
    return CBX_OK;
}

CBX__RUN(ell_edge_jvp)
{
    CBX_SCOPED(memory, m, call);
    cbx_status st = get_memory(&m, out, err);

    if (!st && !m.s.f->jvp)
        st = cbx_fail(err, CBX_EUNSUPPORTED,
                      "the functions of an edge of 'ell_edge' have no 'jvp', which forward mode needs");
    if (!st) st = find_first(&m, err);
    if (st) return st;
    for (size_t i = 0; i < m.n; i++) m.s.t[m.role[i]] = cbx__ref_elements(call->in[m.n + i]);
    m.s.t_out = out[0]->data;
    each_row(&m.s, jvp_row);
    return CBX_OK;
}

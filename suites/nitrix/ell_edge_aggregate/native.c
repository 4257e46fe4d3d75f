/* The two declared algorithms, plain: loops that a compiler vectorises by itself, one thread,
 * nothing else.
 *
 *   once       h = x W^T (n by d_out), then out[i] = reduce over neighbours of weight *
 *              h[neighbour]
 *   per-edge   for each edge m = W x[neighbour] again, out[i] = reduce of weight * m: the form of a
 *              function of an edge that is mapped over all edges; it needs no h, and k times the
 *              products */
#include <math.h>
#include <string.h>

#include "suites/common/plan.h"
#include "suites/nitrix/ell_edge_aggregate/aggregate.h"

/* W^T, h and one message, all from scratch. */
#define LOOPS(T, SFX)                                                                                                  \
    static void turn_w_##SFX(const cbx__ea_point *p, const T *restrict W, T *restrict WT)                              \
    {                                                                                                                  \
        for (size_t o = 0; o < p->d_out; o++)                                                                          \
            for (size_t q = 0; q < p->d_in; q++) WT[q * p->d_out + o] = W[o * p->d_in + q];                            \
    }                                                                                                                  \
    /* out[o] = sum over q of x[q] W[o,q] */                                                                           \
    static void project_##SFX(const cbx__ea_point *p, const T *restrict x, const T *restrict WT, T *restrict out)      \
    {                                                                                                                  \
        const size_t d = p->d_out;                                                                                     \
        for (size_t o = 0; o < d; o++) out[o] = 0;                                                                     \
        for (size_t q = 0; q < p->d_in; q++)                                                                           \
            for (size_t o = 0; o < d; o++) out[o] += x[q] * WT[q * d + o];                                             \
    }                                                                                                                  \
    static void reduce_##SFX(const cbx__ea_point *p, T weight, const T *restrict message, T *restrict out)             \
    {                                                                                                                  \
        const size_t d = p->d_out;                                                                                     \
        if (p->max) {                                                                                                  \
            for (size_t o = 0; o < d; o++) {                                                                           \
                const T m = weight * message[o];                                                                       \
                out[o] = m > out[o] ? m : out[o];                                                                      \
            }                                                                                                          \
        } else {                                                                                                       \
            for (size_t o = 0; o < d; o++) out[o] += weight * message[o];                                              \
        }                                                                                                              \
    }                                                                                                                  \
    static void aggregate_##SFX(const cbx__suite_plan *s, bool once)                                                   \
    {                                                                                                                  \
        const cbx__ea_point *p = s->point;                                                                             \
        const size_t d = p->d_out;                                                                                     \
        const T *x = s->in[CBX__EA_X], *weights = s->in[CBX__EA_GRAPH + CBX__ELL_WEIGHTS];                             \
        const int32_t *indices = s->in[CBX__EA_GRAPH + CBX__ELL_INDICES],                                              \
                      *degree = s->in[CBX__EA_GRAPH + CBX__ELL_DEGREE];                                                \
        T *WT = s->scratch, *h = WT + p->d_in * d, *out = s->out[0];                                                   \
        turn_w_##SFX(p, s->in[CBX__EA_W], WT);                                                                         \
        for (size_t i = 0; once && i < p->n; i++) project_##SFX(p, x + i * p->d_in, WT, h + i * d);                    \
        for (size_t i = 0; i < p->n; i++) {                                                                            \
            for (size_t o = 0; o < d; o++) out[i * d + o] = p->max ? (T)-INFINITY : 0;                                 \
            for (size_t e = 0; e < (size_t)degree[i]; e++) {                                                           \
                const size_t j = (size_t)indices[i * p->k + e];                                                        \
                if (!once) project_##SFX(p, x + j * p->d_in, WT, h);                                                   \
                reduce_##SFX(p, weights[i * p->k + e], once ? h + j *d : h, out + i * d);                              \
            }                                                                                                          \
        }                                                                                                              \
    }
LOOPS(float, f32)
LOOPS(double, f64)

static void aggregate(void *plan, bool once)
{
    const cbx__suite_plan *s = plan;
    (((const cbx__ea_point *)s->point)->dtype == CBX_F32 ? aggregate_f32 : aggregate_f64)(s, once);
}

void cbx__ea_run_once(void *plan) { aggregate(plan, true); }
static void run_per_edge(void *plan) { aggregate(plan, false); }

CBX__SUITE_PREPARE(prepare_once, cbx_ell_edge_aggregate_case, cbx__ea_point, cbx__ea_read,
                   (p.d_in + p.n) * p.d_out * cbx_dtype_size(p.dtype), 0)
CBX__SUITE_PREPARE(prepare_per_edge, cbx_ell_edge_aggregate_case, cbx__ea_point, cbx__ea_read,
                   (p.d_in + 1) * p.d_out * cbx_dtype_size(p.dtype), 0)

const cbx_baseline_ops cbx__ea_once = CBX__SUITE_NATIVE(
    "once", "plain loops: every vertex projected once, then aggregated", prepare_once, cbx__ea_run_once,
    .work = cbx__ea_work_once_stored);
const cbx_baseline_ops cbx__ea_per_edge = CBX__SUITE_NATIVE(
    "per-edge", "plain loops: projects again for each edge, k times the products", prepare_per_edge, run_per_edge,
    .work = cbx__ea_work_per_edge,
    .slow_reason = "k times the products of once: 1.07 G multiply-adds instead of 84 M at 16384 x 16, 64 to 64");

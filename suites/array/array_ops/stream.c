/*
 * Plain loops with ordinary stores into memory that is there already: what a function costs without
 * an engine around it.
 *
 * Only for functions that such a loop does at the speed of memory.  Sums run in 16 lanes, so that a
 * compiler may keep them in vector registers without reordering anything by itself.
 */
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "suites/array/array_ops/ops.h"
#include "suites/suites.h"

#define LANES 16

typedef void loop(const cbx__suite_plan *s, size_t n);

#define LOOPS(T, SFX)                                                                                                  \
    static void add_##SFX(const cbx__suite_plan *s, size_t n)                                                          \
    {                                                                                                                  \
        const T *x = s->in[0], *y = s->in[1];                                                                          \
        T *out = s->out[0];                                                                                            \
        for (size_t i = 0; i < n; i++) out[i] = x[i] + y[i];                                                           \
    }                                                                                                                  \
    static void where_##SFX(const cbx__suite_plan *s, size_t n)                                                        \
    {                                                                                                                  \
        const T *x = s->in[0], *y = s->in[1];                                                                          \
        const uint8_t *z = s->in[2];                                                                                   \
        T *out = s->out[0];                                                                                            \
        for (size_t i = 0; i < n; i++) out[i] = z[i] ? x[i] : y[i];                                                    \
    }                                                                                                                  \
    static void take_##SFX(const cbx__suite_plan *s, size_t n)                                                         \
    {                                                                                                                  \
        const T *x = s->in[0];                                                                                         \
        const int64_t *y = s->in[1];                                                                                   \
        T *out = s->out[0];                                                                                            \
        for (size_t i = 0; i < n; i++) out[i] = x[y[i]];                                                               \
    }                                                                                                                  \
    static void sum_##SFX(const cbx__suite_plan *s, size_t n)                                                          \
    {                                                                                                                  \
        const T *x = s->in[0];                                                                                         \
        T lane[LANES] = { 0 }, total = 0;                                                                              \
        size_t i = 0;                                                                                                  \
        for (; i + LANES <= n; i += LANES)                                                                             \
            for (size_t k = 0; k < LANES; k++) lane[k] += x[i + k];                                                    \
        for (; i < n; i++) lane[i % LANES] += x[i];                                                                    \
        for (size_t k = 0; k < LANES; k++) total += lane[k];                                                           \
        *(T *)s->out[0] = total;                                                                                       \
    }                                                                                                                  \
    static void max_##SFX(const cbx__suite_plan *s, size_t n)                                                          \
    {                                                                                                                  \
        const T *x = s->in[0];                                                                                         \
        T lane[LANES];                                                                                                 \
        size_t i = 0;                                                                                                  \
        for (size_t k = 0; k < LANES; k++) lane[k] = x[0];                                                             \
        for (; i + LANES <= n; i += LANES)                                                                             \
            for (size_t k = 0; k < LANES; k++) lane[k] = x[i + k] > lane[k] ? x[i + k] : lane[k];                      \
        for (; i < n; i++) lane[0] = x[i] > lane[0] ? x[i] : lane[0];                                                  \
        for (size_t k = 1; k < LANES; k++) lane[0] = lane[k] > lane[0] ? lane[k] : lane[0];                            \
        *(T *)s->out[0] = lane[0];                                                                                     \
    }
LOOPS(double, f64)
LOOPS(float, f32)
LOOPS(int64_t, i64)

static void bincount(const cbx__suite_plan *s, size_t n)
{
    const int64_t *x = s->in[0];
    int64_t *out = s->out[0];

    memset(out, 0, CBX__AO_BINS * sizeof *out);
    for (size_t i = 0; i < n; i++) out[x[i]]++;
}

/* name; f64, f32, i64 */
static const struct {
    const char *name;
    loop *by_dtype[3];
} loops[] = {
    { "add", { add_f64, add_f32, add_i64 } },     { "where", { where_f64, where_f32, where_i64 } },
    { "take", { take_f64, take_f32, take_i64 } }, { "sum", { sum_f64, sum_f32, sum_i64 } },
    { "max", { max_f64, max_f32, max_i64 } },     { "bincount", { NULL, NULL, bincount } },
};

static loop *find_loop(const cbx__ao_point *p)
{
    for (size_t i = 0; i < CBX_LEN(loops); i++)
        if (strcmp(loops[i].name, p->op->name) == 0)
            return loops[i].by_dtype[p->dtype == CBX_F64 ? 0 : p->dtype == CBX_F32 ? 1 : 2];
    return NULL;
}

CBX__SUITE_SUPPORTS(supports, cbx__ao_point, cbx__ao_read, find_loop(&p) != NULL)
CBX__SUITE_PREPARE(prepare, cbx_array_ops_case, cbx__ao_point, cbx__ao_read, 0, 0)

static void run(void *plan)
{
    const cbx__suite_plan *s = plan;
    const cbx__ao_point *p = s->point;
    find_loop(p)(s, p->n);
}

const cbx_baseline_ops cbx__ao_stream = CBX__SUITE_NATIVE(
    "stream", "a plain loop with ordinary stores into memory that is there already", prepare, run, .supports = supports,
    .work = cbx__ao_work);

/* --- the limit of what reads its operands from memory and writes a result there --- */

#define LINE 8
#define FAR  524288 /* elements whose stores go around the caches */

CBX__SUITE_SUPPORTS(has_limit, cbx__ao_point, cbx__ao_read,
                    p.dtype == CBX_F64 && p.op->result == CBX__AO_EACH && p.op->in[0] == CBX__AO_NUMBERS &&
                        (p.op->in[1] == CBX__AO_NUMBERS || p.op->in[1] == CBX__AO_NONE) && p.op->in[2] == CBX__AO_NONE)

static void add_near(const double *x, const double *y, double *out, size_t n)
{
    for (size_t i = 0; i < n; i++) out[i] = x[i] + y[i];
}

/* out at a line's begin; n in lines. */
#ifdef __x86_64__
__attribute__((target("avx512f"))) static void add_lines_avx512(const double *x, const double *y, double *out, size_t n)
{
    for (size_t i = 0; i < n; i += LINE)
        _mm512_stream_pd(out + i, _mm512_add_pd(_mm512_loadu_pd(x + i), _mm512_loadu_pd(y + i)));
}

static void add_lines(const double *x, const double *y, double *out, size_t n)
{
    if (__builtin_cpu_supports("avx512f")) {
        add_lines_avx512(x, y, out, n);
        return;
    }
    for (size_t i = 0; i < n; i += 2) _mm_stream_pd(out + i, _mm_add_pd(_mm_loadu_pd(x + i), _mm_loadu_pd(y + i)));
}
#else
#define add_lines add_near
#endif

static void run_memory(void *plan)
{
    const cbx__suite_plan *s = plan;
    const cbx__ao_point *p = s->point;
    const double *x = s->in[0], *y = p->op->in[1] == CBX__AO_NONE ? x : s->in[1];
    const size_t far = p->n < FAR ? 0 : p->n - p->n % LINE; /* arrays begin at a line */

    add_lines(x, y, s->out[0], far);
    add_near(x + far, y + far, (double *)s->out[0] + far, p->n - far);
}

static void memory_work(const cbx_params *params, cbx_work *out)
{
    cbx__ao_work(params, out);
    out->flop = out->pipe_ops = out->macs;
    out->pipe = CBX_PIPE_ADD;
}

const cbx_baseline_ops cbx__ao_memory = CBX__SUITE_NATIVE(
    "memory", "reads the operands and writes as large a result, around the caches where it is large", prepare,
    run_memory, .supports = has_limit, .work = memory_work,
    .limit = "reads the operands, adds them, and writes the sum");

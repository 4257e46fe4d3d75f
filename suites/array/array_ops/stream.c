/*
 * Plain loops with ordinary stores into memory that is there already: what a function costs without an engine around it.
 *
 * Only for functions that such a loop does at the speed of memory.  Sums run in 16 lanes, so that a compiler may keep
 * them in vector registers without reordering anything by itself.
 */
#include <string.h>

#include "suites/array/array_ops/ops.h"

#define LANES 16

typedef struct operands {
    size_t n;
    const void *x, *y, *z;
    void *out;
} operands;

typedef void (*loop)(const operands *o);

#define LOOPS(T, SFX)                                                                                                  \
    static void add_##SFX(const operands *o)                                                                           \
    {                                                                                                                  \
        const T *x = o->x, *y = o->y;                                                                                  \
        T *out = o->out;                                                                                               \
        for (size_t i = 0; i < o->n; i++) out[i] = x[i] + y[i];                                                        \
    }                                                                                                                  \
    static void where_##SFX(const operands *o)                                                                         \
    {                                                                                                                  \
        const T *x = o->x, *y = o->y;                                                                                  \
        const uint8_t *z = o->z;                                                                                       \
        T *out = o->out;                                                                                               \
        for (size_t i = 0; i < o->n; i++) out[i] = z[i] ? x[i] : y[i];                                                 \
    }                                                                                                                  \
    static void take_##SFX(const operands *o)                                                                          \
    {                                                                                                                  \
        const T *x = o->x;                                                                                             \
        const int64_t *y = o->y;                                                                                       \
        T *out = o->out;                                                                                               \
        for (size_t i = 0; i < o->n; i++) out[i] = x[y[i]];                                                            \
    }                                                                                                                  \
    static void sum_##SFX(const operands *o)                                                                           \
    {                                                                                                                  \
        const T *x = o->x;                                                                                             \
        T lane[LANES] = { 0 }, total = 0;                                                                              \
        size_t i = 0;                                                                                                  \
        for (; i + LANES <= o->n; i += LANES)                                                                          \
            for (size_t k = 0; k < LANES; k++) lane[k] += x[i + k];                                                    \
        for (; i < o->n; i++) lane[i % LANES] += x[i];                                                                 \
        for (size_t k = 0; k < LANES; k++) total += lane[k];                                                           \
        *(T *)o->out = total;                                                                                          \
    }                                                                                                                  \
    static void max_##SFX(const operands *o)                                                                           \
    {                                                                                                                  \
        const T *x = o->x;                                                                                             \
        T lane[LANES];                                                                                                 \
        size_t i = 0;                                                                                                  \
        for (size_t k = 0; k < LANES; k++) lane[k] = x[0];                                                             \
        for (; i + LANES <= o->n; i += LANES)                                                                          \
            for (size_t k = 0; k < LANES; k++) lane[k] = x[i + k] > lane[k] ? x[i + k] : lane[k];                      \
        for (; i < o->n; i++) lane[0] = x[i] > lane[0] ? x[i] : lane[0];                                               \
        for (size_t k = 1; k < LANES; k++) lane[0] = lane[k] > lane[0] ? lane[k] : lane[0];                            \
        *(T *)o->out = lane[0];                                                                                        \
    }
LOOPS(double, f64)
LOOPS(float, f32)
LOOPS(int64_t, i64)

static void bincount(const operands *o)
{
    const int64_t *x = o->x;
    int64_t *out = o->out;

    memset(out, 0, CBX__AO_BINS * sizeof *out);
    for (size_t i = 0; i < o->n; i++) out[x[i]]++;
}

/* name; f64, f32, i64 */
static const struct {
    const char *name;
    loop by_dtype[3];
} loops[] = {
    { "add", { add_f64, add_f32, add_i64 } },     { "where", { where_f64, where_f32, where_i64 } },
    { "take", { take_f64, take_f32, take_i64 } }, { "sum", { sum_f64, sum_f32, sum_i64 } },
    { "max", { max_f64, max_f32, max_i64 } },     { "bincount", { NULL, NULL, bincount } },
};

typedef struct plan {
    cbx_allocator al;
    loop run;
    operands o;
} plan;

static loop find_loop(const cbx__ao_point *p)
{
    for (size_t i = 0; i < CBX_LEN(loops); i++)
        if (strcmp(loops[i].name, p->op->name) == 0)
            return loops[i].by_dtype[p->dtype == CBX_F64 ? 0 : p->dtype == CBX_F32 ? 1 : 2];
    return NULL;
}

static bool supports(const cbx_params *params, const char **reason)
{
    const cbx__ao_point p = cbx__ao_read(params);
    *reason = NULL;
    return find_loop(&p) != NULL;
}

static cbx_status prepare(cbx_ctx *ctx, const cbx_params *params, void **out, cbx_err *err)
{
    const cbx__ao_point point = cbx__ao_read(params);
    const cbx_allocator *al = cbx_ctx_allocator(ctx);
    plan *p = cbx_mem_zalloc(al, sizeof *p);

    if (!p) return cbx_fail(err, CBX_ENOMEM, "out of memory for a plan");
    p->al = *al;
    p->run = find_loop(&point);
    p->o.n = point.n;
    *out = p;
    return CBX_OK;
}

static void bind(void *to, cbx_array *const *in, cbx_array *const *out)
{
    plan *p = to;
    p->o.x = cbx_array_data(in[0]);
    p->o.y = cbx_array_data(in[1]);
    p->o.z = cbx_array_data(in[2]);
    p->o.out = cbx_array_data_mut(out[0]);
}

static void run(void *of)
{
    const plan *p = of;
    p->run(&p->o);
}

static void finish(void *of)
{
    plan *p = of;
    cbx_allocator al;

    if (!p) return;
    al = p->al;
    cbx_mem_free(&al, p, sizeof *p);
}

const cbx_baseline_ops cbx__ao_stream = {
    .struct_size = sizeof(cbx_baseline_ops),
    .abi = CBX_CASE_ABI,
    .name = "stream",
    .provider = "native",
    .summary = "a plain loop with ordinary stores into memory that is there already",
    .supports = supports,
    .work = cbx__ao_work,
    .prepare = prepare,
    .bind = bind,
    .run = run,
    .finish = finish,
};

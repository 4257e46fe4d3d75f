/* ELL products of one instruction set: built once for each with other compiler flags (meson.build).
 *
 * What limits them is the gather of rows of B: k rows of d elements for each row of C.  So a row of
 * C never leaves the registers, a neighbour's row is read by whole vectors, once, and each row is
 * asked for some edges ahead, between the arithmetic of others: all at once they would wait for
 * each other. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "calibrax/array/kernels/ell_isa.h"
#include "calibrax/array/kernels/float_type.h"
#include "calibrax/array/kernels/isa_name.h"
#include "calibrax/array/kernels/minmax.h"
#include "calibrax/array/kernels/semiring.h"
#include "calibrax/array/kernels/traits.h"
#include "calibrax/array/kernels/vmath.h"

#define NV         8 /* vectors of a row of C that are in registers at a time */
#define WATCHES    4 /* of a row; vectors take them in turn, so that they do not wait for each other */
#define SOFTMAX_NV 4 /* vectors of a row of which the softmax is taken */
#define WIDTHS     9 /* less than a vector, and 1 to NV of them */
/* Edges ahead that rows of B are asked for, into the first-level cache; into the second-level one,
 * where B is larger than that. */
#define AHEAD     8
#define FAR_AHEAD 16
#define NEAR      ((size_t)2 << 20)

/* How far before its turn an edge of a row is asked for: some edges; a whole row, where there is
 * padding behind a short one. */
static size_t ahead_of(const cbx_ell_product *p, size_t first, size_t n, size_t edges, bool far)
{
    const size_t some = far ? FAR_AHEAD : AHEAD, by = !p->start && n < p->width && n < 4 * some ? p->width : some;
    return edges - first >= n + by ? by : 0;
}

/* The steps that a row does (algebra.h), and which of them an algebra takes: as a rule, and of
 * weighted messages. */
typedef enum step {
#define CBX_ELL_STEP(name, watched, term, update) STEP_##name,
#include "calibrax/array/kernels/algebra.h"
    STEP_XOR, /* the gather alone */
    STEP_LOG
} step;
static const step steps_of[CBX_ALGEBRA_COUNT][2] = {
#define CBX_ALGEBRA_STEPS(id, usual, by_fma, careful, nan, row, weighted)                                              \
    [CBX_ALGEBRA_##id] = { STEP_##row, STEP_##weighted },
#include "calibrax/array/kernels/algebra.h"
};

#define WATCH      OF(WATCH_F32, WATCH_F64)
#define HAS_SEEN   OF(HAS_SEEN_F32, HAS_SEEN_F64)
#define WATCH_TYPE OF(WATCH_TYPE_F32, WATCH_TYPE_F64)

#define SFX f32
#include "calibrax/array/kernels/ell_float.h"
#include "calibrax/array/kernels/ell_softmax.h"
/* derivatives behind the products */
#include "calibrax/array/kernels/ell_grad.h"
#undef SFX
#define SFX f64
#include "calibrax/array/kernels/ell_float.h"
#include "calibrax/array/kernels/ell_softmax.h"
/* derivatives behind the products */
#include "calibrax/array/kernels/ell_grad.h"

/* --- boolean: bytes, any but 0 is true --- */

static void bool_row(const cbx_ell_product *p, size_t i)
{
    const size_t first = cbx__ell_first(p, i), n = cbx__ell_degree(p, i), d = p->d;
    const uint8_t *values = p->values, *dense = p->b;
    uint8_t *restrict c = (uint8_t *)p->c + i * p->ldc;

    memset(c, 0, d);
    for (size_t e = first; e < first + n; e++) {
        const uint8_t *b = dense + (size_t)p->index[e] * p->ldb;
        if (!values[p->place ? p->place[e] : e]) continue;
        for (size_t j = 0; j < d; j++) c[j] |= b[j];
    }
    for (size_t j = 0; j < d; j++) c[j] = c[j] != 0;
}

static void bool_rows(const void *job, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) bool_row(job, i);
}

static void rows_bool(const cbx_ell_product *p, bool gather, int threads)
{
    const cbx__ell_rows rows = cbx__ell_rows_of(p);

    (void)gather;
    cbx__ell_share(&rows, threads, bool_rows, p);
}

const cbx__ell_kernel PASTE(cbx__ell_, ISA_NAME)[CBX__KERNELS] = {
    [CBX__KERNEL_F32] = { rows_f32, softmax_f32, grad_f32 },
    [CBX__KERNEL_F64] = { rows_f64, softmax_f64, grad_f64 },
    [CBX__KERNEL_BOOL] = { .product = rows_bool },
};

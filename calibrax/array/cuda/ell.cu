/* Products of a sparse matrix in ELL form, softmax of its rows, and the probe that gathers what a
 * product gathers. */
#include "calibrax/array/cuda/device.h"

/* What a product does with an edge's weight and its neighbour's element. */
enum {
    ELL_FMA,
    ELL_SQUARE,
    ELL_MAX,
    ELL_MIN,
    ELL_MAX_SCALED,
    ELL_MIN_SCALED,
    ELL_LOG,
    ELL_GATHER
};

DEVICE float xor_f32(float x, float y) { return cbx_vm_float_f32(cbx_vm_bits_f32(x) ^ cbx_vm_bits_f32(y)); }
DEVICE double xor_f64(double x, double y) { return cbx_vm_float_f64(cbx_vm_bits_f64(x) ^ cbx_vm_bits_f64(y)); }

/* Columns of a thread, by form and type. */
enum { one_f32 = 1, one_f64 = 1, wide_f32 = 4, wide_f64 = 2 };
#define WIDE OF(FORM)

#define SFX  f32
#define FORM one
#include "calibrax/array/cuda/ell_rows.h"
#undef FORM
#define FORM wide
#include "calibrax/array/cuda/ell_rows.h"
#undef FORM
/* and softmax */
#include "calibrax/array/cuda/softmax.h"
#undef SFX

#define SFX  f64
#define FORM one
#include "calibrax/array/cuda/ell_rows.h"
#undef FORM
#define FORM wide
#include "calibrax/array/cuda/ell_rows.h"
/* and softmax */
#include "calibrax/array/cuda/softmax.h"

/* Booleans are bytes, any but 0 is true; a thread stops at its first true term. */
KERNEL(cbx_ell_or_bool_one, cbx__cuda_ell, CBX__CUDA_BLOCK, 2)
{
    const int lanes = 1 << a.lanes_log;
    const int64_t group = BLOCK * (CBX__CUDA_BLOCK >> a.lanes_log) + (THREAD >> a.lanes_log);
    const int64_t row = group / a.parts, col = group % a.parts * lanes + (THREAD & (lanes - 1));
    if (row >= a.rows || col >= a.d) return;
    const int64_t first = a.start ? (int64_t)a.start[row] : row * a.width;
    const int n = a.start ? (int)(a.start[row + 1] - a.start[row]) : a.degree ? a.degree[row] : (int)a.width;
    int found = 0;

    for (int e = 0; e < n && !found; e++) {
        const int64_t edge = first + e;
        if (!((const uint8_t *)a.values)[a.place ? (int64_t)a.place[edge] : edge]) continue;
        found = ((const uint8_t *)a.b)[(int64_t)a.index[edge] * a.ldb + col] != 0;
    }
    ((uint8_t *)a.c)[row * a.ldc + col] = (uint8_t)found;
}

/* Squared distances of one instruction set: built once for each with other compiler flags
 * (meson.build).
 *
 * Eight points go together, so that the sum of each keeps the order of the tree of sums (fold.h)
 * and the eight sums are a vector. */
#include "calibrax/array/kernels/distances.h"

#include "calibrax/array/kernels/fold.h"
#include "calibrax/array/kernels/isa_name.h"

#define N     CBX__DISTANCES_TOGETHER
#define LANES 8 /* interleaved sums of a leaf */

#pragma GCC diagnostic ignored "-Wpsabi" /* eights wider than a register pass between inline functions alone */
typedef double eight __attribute__((vector_size(8 * N), aligned(8), may_alias));

INLINE eight square(double x, const double *y)
{
    const eight e = x - *(const eight *)y;
    return e * e;
}

/* Fewer than LANES coordinates more: in order. */
INLINE eight add_in_order(eight sum, const double *x, const double *y, size_t d)
{
    for (size_t k = 0; k < d; k++) sum += square(x[k], y + k * N);
    return sum;
}

/* LANES to CBX__LEAF coordinates. */
INLINE eight leaf(const double *x, const double *y, size_t d)
{
    eight s[LANES];
    size_t k = LANES;

    _Pragma("GCC unroll 8") for (size_t i = 0; i < LANES; i++) s[i] = square(x[i], y + i * N);
    for (; k + LANES <= d; k += LANES)
        _Pragma("GCC unroll 8") for (size_t i = 0; i < LANES; i++) s[i] += square(x[k + i], y + (k + i) * N);
    s[0] = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
    return add_in_order(s[0], x + k, y + k * N, d - k);
}

static void tree(const double *x, const double *y, size_t d, double *sum)
{
    const size_t half = d / 2 - d / 2 % LANES;
    double right[N];

    if (d <= CBX__LEAF) {
        *(eight *)sum = leaf(x, y, d);
        return;
    }
    tree(x, y, half, sum);
    tree(x + half, y + half * N, d - half, right);
    for (size_t j = 0; j < N; j++) sum[j] += right[j];
}

void PASTE(cbx__distances_, ISA_NAME)(const double *x, const double *y, size_t d, size_t groups, double *out)
{
    for (size_t g = 0; g < groups; g++, y += d * N, out += N) {
        if (d < LANES)
            *(eight *)out = add_in_order((eight){ 0 }, x, y, d);
        else if (d <= CBX__LEAF)
            *(eight *)out = leaf(x, y, d);
        else
            tree(x, y, d, out);
    }
}

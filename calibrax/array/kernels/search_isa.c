/* Bisection of one instruction set: built once for each with other compiler flags (meson.build).
 *
 * The steps of a bisection depend on the number of edges alone, so sixteen keys go through them
 * together, without a branch that data decides: their loads overlap, and become gathers where the
 * machine has them. */
#include "calibrax/array/kernels/search.h"

#include "calibrax/array/kernels/isa_name.h"

#define TOGETHER 16

INLINE void search_some(const uint64_t *edges, size_t n, const uint64_t *x, bool right, int64_t *out)
{
    uint64_t low[TOGETHER] = { 0 };

    for (size_t half; n > 1; n -= half) {
        half = n / 2;
        for (size_t l = 0; l < TOGETHER; l++) {
            const uint64_t edge = edges[low[l] + half - 1];
            low[l] += (right ? edge <= x[l] : edge < x[l]) ? half : 0;
        }
    }
    for (size_t l = 0; l < TOGETHER; l++) {
        const uint64_t edge = edges[low[l]];
        out[l] = (int64_t)(low[l] + (right ? edge <= x[l] : edge < x[l]));
    }
}

INLINE void search_all(const uint64_t *edges, size_t n, const uint64_t *x, size_t m, bool right, int64_t *out)
{
    uint64_t last[TOGETHER];
    int64_t found[TOGETHER];
    size_t i = 0;

    for (; i + TOGETHER <= m; i += TOGETHER) search_some(edges, n, x + i, right, out + i);
    if (i == m) return;
    for (size_t l = 0; l < TOGETHER; l++) last[l] = x[i + l < m ? i + l : i];
    search_some(edges, n, last, right, found);
    for (size_t l = 0; i + l < m; l++) out[i + l] = found[l];
}

void PASTE(cbx__search_, ISA_NAME)(const uint64_t *edges, size_t n, const uint64_t *x, size_t m, bool right,
                                   int64_t *out)
{
    if (n == 0)
        for (size_t i = 0; i < m; i++) out[i] = 0;
    else if (right)
        search_all(edges, n, x, m, true, out);
    else
        search_all(edges, n, x, m, false, out);
}

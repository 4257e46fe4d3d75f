/* Quicksort of 64-bit keys of one instruction set: built once for each with other compiler flags
 * (meson.build).
 *
 * Partition and the sorting of few are what differs: sort_avx512.h moves eight keys at a time,
 * sort_scalar.h one without a branch. Pivots are the median of 64 scattered keys (9 of few); many
 * equal ones are taken out; after 2 log2(n) levels a heap finishes. Source: Hoare, Comput. J. 5
 * (1962) 10-16; Musser, Softw. Pract. Exp. 27 (1997) 983-993; Bramas, IJACSA 8 (2017) 337-344. */
#include "calibrax/array/kernels/sort.h"

#include <string.h>

#include "calibrax/array/kernels/isa_name.h"

#define SAMPLE     64
#define SAMPLE_MIN 2048 /* fewer keys are not worth a large sample */
#define SIGN       ((uint64_t)1 << 63)

static inline uint64_t low_of(uint64_t a, uint64_t b) { return a < b ? a : b; }
static inline uint64_t high_of(uint64_t a, uint64_t b) { return a > b ? a : b; }

#ifndef SORT_BODY
#define SORT_BODY "calibrax/array/kernels/sort_scalar.h"
#endif
#include SORT_BODY

/* --- elements and keys --- */

static void keys_of(cbx_dtype wide, bool descending, size_t n, const void *values, uint64_t *keys)
{
    const uint64_t *v = values, flip = descending ? UINT64_MAX : 0;

    if (wide == CBX_F64)
        for (size_t i = 0; i < n; i++) {
            const uint64_t bits = v[i], sign = (uint64_t)((int64_t)bits >> 63);
            const uint64_t key = (bits << 1) > (uint64_t)0x7FF << 53 ? UINT64_MAX : bits ^ (sign | SIGN);
            keys[i] = key ^ flip;
        }
    else
        for (size_t i = 0; i < n; i++) keys[i] = v[i] ^ (wide == CBX_I64 ? SIGN : 0) ^ flip;
}

static void values_of(cbx_dtype wide, bool descending, size_t n, uint64_t *keys)
{
    const uint64_t flip = descending ? UINT64_MAX : 0;

    if (wide == CBX_F64)
        for (size_t i = 0; i < n; i++) {
            const uint64_t key = keys[i] ^ flip, sign = (uint64_t)((int64_t)key >> 63);
            keys[i] = key ^ (~sign | SIGN);
        }
    else if (wide == CBX_I64 || descending)
        for (size_t i = 0; i < n; i++) keys[i] ^= (wide == CBX_I64 ? SIGN : 0) ^ flip;
}

/* --- pivots --- */

static inline uint64_t median3(uint64_t a, uint64_t b, uint64_t c)
{
    return high_of(low_of(a, b), low_of(high_of(a, b), c));
}

/* crowded: the pivot is met more than once even in a sample. */
static uint64_t choose_pivot(const uint64_t *a, size_t n, uint64_t *seed, bool *crowded)
{
    uint64_t s[SAMPLE];
    const size_t step = n / 9;

    if (n < SAMPLE_MIN) {
        *crowded = false;
        for (size_t i = 0; i < 3; i++) s[i] = median3(a[step * 3 * i], a[step * (3 * i + 1)], a[step * (3 * i + 2)]);
        return median3(s[0], s[1], s[2]);
    }
    for (size_t i = 0; i < SAMPLE; i++) { /* Knuth's linear congruential generator (MMIX) */
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        s[i] = a[(size_t)(((unsigned __int128)*seed * n) >> 64)];
    }
    sort_small(s, SAMPLE);
    *crowded = s[SAMPLE / 2 - 1] == s[SAMPLE / 2 + 1];
    return s[SAMPLE / 2];
}

/* --- in the worst case --- */

static void sift(uint64_t *a, size_t i, size_t n)
{
    const uint64_t x = a[i];

    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && a[child + 1] > a[child]) child++;
        if (a[child] <= x) break;
        a[i] = a[child];
    }
    a[i] = x;
}

static void heap_sort(uint64_t *a, size_t n)
{
    for (size_t i = n / 2; i-- > 0;) sift(a, i, n);
    for (size_t end = n; end-- > 1;) {
        const uint64_t top = a[0];
        a[0] = a[end];
        a[end] = top;
        sift(a, 0, end);
    }
}

static int levels(size_t n)
{
    int k = 2;

    for (; n > 1; n /= 2) k += 2;
    return k;
}

/* --- sorting --- */

typedef struct job {
    cbx_dtype wide;
    bool descending;
    uint64_t *work, seed;
} job;

static void finish(const job *j, uint64_t *a, size_t n) { values_of(j->wide, j->descending, n, a); }

/* Keys in [0, below) are less than the pivot, in [below, above) equal or, if not looked at, none,
 * from there the rest. */
static void split(uint64_t *a, size_t n, job *j, size_t *below, size_t *above)
{
    bool crowded;
    const uint64_t pivot = choose_pivot(a, n, &j->seed, &crowded);

    *below = *above = partition(a, n, pivot, j->work);
    if (crowded || *below == 0)
        *above += pivot == UINT64_MAX ? n - *below : partition(a + *below, n - *below, pivot + 1, j->work);
}

static void sort_range(uint64_t *a, size_t n, int depth, job *j)
{
    size_t below, above;

    for (; n > FEW && depth > 0; depth--) {
        split(a, n, j, &below, &above);
        finish(j, a + below, above - below);
        if (below < n - above) { /* the smaller part first, the larger one in this loop */
            sort_range(a, below, depth - 1, j);
            a += above;
            n -= above;
        } else {
            sort_range(a + above, n - above, depth - 1, j);
            n = below;
        }
    }
    if (n <= FEW)
        sort_small(a, n);
    else
        heap_sort(a, n);
    finish(j, a, n);
}

static void sort(cbx_dtype wide, bool descending, size_t n, uint64_t *keys, uint64_t *work)
{
    job j = { wide, descending, work, n };

    sort_range(keys, n, levels(n), &j);
}

/* --- selecting --- */

static uint64_t min_of(const uint64_t *a, size_t n)
{
    uint64_t t = UINT64_MAX;

    for (size_t i = 0; i < n; i++) t = low_of(a[i], t);
    return t;
}

static uint64_t max_of(const uint64_t *a, size_t n)
{
    uint64_t t = 0;

    for (size_t i = 0; i < n; i++) t = high_of(a[i], t);
    return t;
}

/* Ranks count from `first`, that of the least key here. */
static void select_range(uint64_t *a, size_t first, size_t n, size_t m, const size_t *rank, uint64_t *out, int depth,
                         job *j)
{
    while (m > 0) {
        size_t below, above, left = 0, right;
        if (rank[m - 1] == first + n - 1) {
            out[--m] = max_of(a, n);
            continue;
        }
        if (rank[0] == first) {
            *out++ = min_of(a, n);
            rank++;
            m--;
            continue;
        }
        if (n <= FEW || depth-- <= 0) {
            if (n <= FEW)
                sort_small(a, n);
            else
                heap_sort(a, n);
            for (size_t i = 0; i < m; i++) out[i] = a[rank[i] - first];
            return;
        }
        split(a, n, j, &below, &above);
        while (left < m && rank[left] < first + below) left++;
        for (right = left; right < m && rank[right] < first + above; right++) out[right] = a[below];
        select_range(a, first, below, left, rank, out, depth, j);
        a += above;
        first += above;
        n -= above;
        out += right;
        rank += right;
        m -= right;
    }
}

static void select_ranks(uint64_t *keys, size_t n, size_t nranks, const size_t *rank, uint64_t *out, uint64_t *work)
{
    job j = { .work = work, .seed = n };

    select_range(keys, 0, n, nranks, rank, out, levels(n), &j);
}

const cbx__sort PASTE(cbx__sort_, ISA_NAME) = { work_words, keys_of, sort, select_ranks, values_of };

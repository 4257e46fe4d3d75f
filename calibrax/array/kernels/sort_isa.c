/* Quicksort of keys of one instruction set: built once for each with other compiler flags
 * (meson.build).
 *
 * Partition and the sorting of few are what differs: sort_avx512.h moves 64 bytes at a time,
 * sort_scalar.h a key without a branch. Pivots are the median of 64 scattered keys (9 of few); many
 * equal ones are taken out; after 2 log2(n) levels a heap finishes. Source: Hoare, Comput. J. 5
 * (1962) 10-16; Musser, Softw. Pract. Exp. 27 (1997) 983-993; Bramas, IJACSA 8 (2017) 337-344. */
#include "calibrax/array/kernels/sort.h"

#include <string.h>

#include "calibrax/array/kernels/isa_name.h"

#define SAMPLE     64
#define SAMPLE_MIN 2048 /* fewer keys are not worth a large sample */

#ifndef SORT_BODY
#define SORT_BODY "calibrax/array/kernels/sort_scalar.h"
#endif

static int levels(size_t n)
{
    int k = 2;

    for (; n > 1; n /= 2) k += 2;
    return k;
}

/* What depends on the width of keys. */
#define OF_32(narrow, wide) narrow
#define OF_64(narrow, wide) wide
#define OF(narrow, wide)    PASTE(OF_, KEY_BITS)(narrow, wide)
#define NAME(name)          PASTE(name##_, KEY_BITS)
#define KEY                 OF(uint32_t, uint64_t)
#define SIGNED_KEY          OF(int32_t, int64_t)
#define HIGHEST             OF(UINT32_MAX, UINT64_MAX)
#define KEY_FLOAT           OF(CBX_F32, CBX_F64)
#define KEY_INT             OF(CBX_I32, CBX_I64)
#define EXPONENT_BITS       OF(9, 12) /* of the float with its sign */
#define SIGN                ((KEY)1 << (KEY_BITS - 1))
#define INFINITE            ((HIGHEST >> 1 & ~(HIGHEST >> EXPONENT_BITS)) << 1) /* bits of infinity without a sign, times 2 */

#define KEY_BITS 32
#include "calibrax/array/kernels/sort_quick.h"
#undef KEY_BITS
#define KEY_BITS 64
#include "calibrax/array/kernels/sort_quick.h"

static size_t work_words(size_t n) { return n ? WORK(n) : 0; }

/* --- selecting --- */

static uint64_t min_of(const uint64_t *a, size_t n)
{
    uint64_t t = UINT64_MAX;

    for (size_t i = 0; i < n; i++) t = low_of_64(a[i], t);
    return t;
}

static uint64_t max_of(const uint64_t *a, size_t n)
{
    uint64_t t = 0;

    for (size_t i = 0; i < n; i++) t = high_of_64(a[i], t);
    return t;
}

/* Ranks count from `first`, that of the lowest key here. */
static void select_range(uint64_t *a, size_t first, size_t n, size_t m, const size_t *rank, uint64_t *out, int depth,
                         job_64 *j)
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
        if (n <= FEW_64 || depth-- <= 0) {
            if (n <= FEW_64)
                sort_small_64(a, n);
            else
                heap_sort_64(a, n);
            for (size_t i = 0; i < m; i++) out[i] = a[rank[i] - first];
            return;
        }
        split_64(a, n, j, &below, &above);
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
    job_64 j = { .work = work, .seed = n };

    select_range(keys, 0, n, nranks, rank, out, levels(n), &j);
}

/* --- places in order --- */

#define COUNTED_BITS 11 /* many keys that differ in no more bits are counted */

/* A count of each value of the bits from low on, above the lowest key; then each place goes behind
 * those of lesser values. */
static void count_places(const uint64_t *keys, size_t n, uint64_t lowest, int low, uint64_t *at)
{
    enum { VALUES = 1 << COUNTED_BITS };
    size_t next[VALUES] = { 0 }, sum = 0;

    for (size_t i = 0; i < n; i++) next[(keys[i] - lowest) >> low & (VALUES - 1)]++;
    for (size_t v = 0; v < VALUES; v++) {
        const size_t count = next[v];
        next[v] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n; i++) at[next[(keys[i] - lowest) >> low & (VALUES - 1)]++] = i;
}

/* Into order: n keys whose places are the low bits of at (all: every place, not yet written).
 * The highest bits of what keys are above the lowest one are sorted with the place behind them, as
 * many as 64 bits hold; runs that these leave equal follow by the other bits. */
static void order_places(const uint64_t *keys, size_t n, bool all, int place_bits, uint64_t *at, uint64_t *work)
{
    const uint64_t mask = ((uint64_t)1 << place_bits) - 1;
    job_64 j = { .wide = CBX_U64, .work = work };
    uint64_t differ = 0, lowest = UINT64_MAX;
    int low = 0, high = 0, drop;

    for (size_t i = 0; i < n; i++) lowest = low_of_64(keys[all ? i : at[i] & mask], lowest);
    for (size_t i = 0; i < n; i++) differ |= keys[all ? i : at[i] & mask] - lowest;
    if (differ) {
        low = __builtin_ctzll(differ);
        high = 64 - __builtin_clzll(differ);
    }
    if (all && high - low <= COUNTED_BITS && n >> COUNTED_BITS >= 8) {
        count_places(keys, n, lowest, low, at);
        return;
    }
    drop = high + place_bits - 64 > low ? high + place_bits - 64 : low;
    for (size_t i = 0; i < n; i++) {
        const uint64_t place = all ? i : at[i] & mask;
        at[i] = (keys[place] - lowest) >> drop << place_bits | place;
    }
    if (differ) sort_range_64(at, n, levels(n), &j);
    for (size_t first = 0, end; drop > low && first < n; first = end) {
        for (end = first + 1; end < n && (at[end] ^ at[first]) <= mask; end++) continue;
        if (end > first + 1) order_places(keys, end - first, false, place_bits, at + first, work);
    }
}

static void places_of(const uint64_t *keys, size_t n, uint64_t *at, uint64_t *work)
{
    int place_bits = 1;

    while ((n - 1) >> place_bits) place_bits++;
    order_places(keys, n, true, place_bits, at, work);
    for (size_t i = 0; i < n; i++) at[i] &= ((uint64_t)1 << place_bits) - 1;
}

const cbx__sort PASTE(cbx__sort_, ISA_NAME) = {
    work_words, keys_of_64, sort_64, select_ranks, values_of_64, places_of, keys_of_32, sort_32,
};

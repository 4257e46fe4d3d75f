/* Quicksort of keys of one width, included by sort_isa.c once a width with KEY_BITS defined.
 *
 * Partition and the sorting of few are in SORT_BODY, which defines FEW and WORK, the words of
 * work for n keys, too. */
#include SORT_BODY

enum { NAME(FEW) = FEW };

static inline KEY NAME(low_of)(KEY a, KEY b) { return a < b ? a : b; }
static inline KEY NAME(high_of)(KEY a, KEY b) { return a > b ? a : b; }

/* --- elements and keys --- */

static void NAME(keys_of)(cbx_dtype wide, bool descending, bool one_zero, size_t n, const void *values, KEY *keys)
{
    const KEY *v = values, flip = descending ? HIGHEST : 0, zero = one_zero ? SIGN : 0;

    if (wide == KEY_FLOAT)
        for (size_t i = 0; i < n; i++) {
            const KEY bits = v[i] == zero ? 0 : v[i], sign = (KEY)((SIGNED_KEY)bits >> (KEY_BITS - 1));
            const KEY key = (KEY)(bits << 1) > INFINITE ? HIGHEST : bits ^ (sign | SIGN);
            keys[i] = key ^ flip;
        }
    else
        for (size_t i = 0; i < n; i++) keys[i] = v[i] ^ (wide == KEY_INT ? SIGN : 0) ^ flip;
}

static void NAME(values_of)(cbx_dtype wide, bool descending, size_t n, KEY *keys)
{
    const KEY flip = descending ? HIGHEST : 0;

    if (wide == KEY_FLOAT)
        for (size_t i = 0; i < n; i++) {
            const KEY key = keys[i] ^ flip, sign = (KEY)((SIGNED_KEY)key >> (KEY_BITS - 1));
            keys[i] = key ^ (~sign | SIGN);
        }
    else if (wide == KEY_INT || descending)
        for (size_t i = 0; i < n; i++) keys[i] ^= (wide == KEY_INT ? SIGN : 0) ^ flip;
}

/* --- pivots --- */

static inline KEY NAME(median3)(KEY a, KEY b, KEY c)
{
    return NAME(high_of)(NAME(low_of)(a, b), NAME(low_of)(NAME(high_of)(a, b), c));
}

/* crowded: the pivot is met more than once even in a sample. */
static KEY NAME(choose_pivot)(const KEY *a, size_t n, uint64_t *seed, bool *crowded)
{
    KEY s[SAMPLE];
    const size_t step = n / 9;

    if (n < SAMPLE_MIN) {
        *crowded = false;
        for (size_t i = 0; i < 3; i++)
            s[i] = NAME(median3)(a[step * 3 * i], a[step * (3 * i + 1)], a[step * (3 * i + 2)]);
        return NAME(median3)(s[0], s[1], s[2]);
    }
    for (size_t i = 0; i < SAMPLE; i++) { /* Knuth's linear congruential generator (MMIX) */
        *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        s[i] = a[(size_t)(((unsigned __int128)*seed * n) >> 64)];
    }
    NAME(sort_small)(s, SAMPLE);
    *crowded = s[SAMPLE / 2 - 1] == s[SAMPLE / 2 + 1];
    return s[SAMPLE / 2];
}

/* --- in the worst case --- */

static void NAME(sift)(KEY *a, size_t i, size_t n)
{
    const KEY x = a[i];

    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && a[child + 1] > a[child]) child++;
        if (a[child] <= x) break;
        a[i] = a[child];
    }
    a[i] = x;
}

static void NAME(heap_sort)(KEY *a, size_t n)
{
    for (size_t i = n / 2; i-- > 0;) NAME(sift)(a, i, n);
    for (size_t end = n; end-- > 1;) {
        const KEY top = a[0];
        a[0] = a[end];
        a[end] = top;
        NAME(sift)(a, 0, end);
    }
}

/* --- sorting --- */

typedef struct NAME(job) {
    cbx_dtype wide;
    bool descending;
    KEY *work;
    uint64_t seed;
} NAME(job);

static void NAME(finish)(const NAME(job) * j, KEY *a, size_t n) { NAME(values_of)(j->wide, j->descending, n, a); }

/* Keys in [0, below) are less than the pivot, in [below, above) equal or, if not looked at, none,
 * from there the rest. */
static void NAME(split)(KEY *a, size_t n, NAME(job) * j, size_t *below, size_t *above)
{
    bool crowded;
    const KEY pivot = NAME(choose_pivot)(a, n, &j->seed, &crowded);

    *below = *above = NAME(partition)(a, n, pivot, j->work);
    if (crowded || *below == 0)
        *above += pivot == HIGHEST ? n - *below : NAME(partition)(a + *below, n - *below, pivot + 1, j->work);
}

static void NAME(sort_range)(KEY *a, size_t n, int depth, NAME(job) * j)
{
    size_t below, above;

    for (; n > FEW && depth > 0; depth--) {
        NAME(split)(a, n, j, &below, &above);
        NAME(finish)(j, a + below, above - below);
        if (below < n - above) { /* the smaller part first, the larger one in this loop */
            NAME(sort_range)(a, below, depth - 1, j);
            a += above;
            n -= above;
        } else {
            NAME(sort_range)(a + above, n - above, depth - 1, j);
            n = below;
        }
    }
    if (n <= FEW)
        NAME(sort_small)(a, n);
    else
        NAME(heap_sort)(a, n);
    NAME(finish)(j, a, n);
}

static void NAME(sort)(cbx_dtype wide, bool descending, size_t n, KEY *keys, KEY *work)
{
    NAME(job) j = { wide, descending, work, n };

    NAME(sort_range)(keys, n, levels(n), &j);
}

/* Partition and the sorting of few keys, one at a time: included by sort_quick.h once a width. */
#define FEW 24

#define WORK(n) (n)

/* Keys below the pivot to the front, the others behind them by way of work; returns how many are
 * below. */
static size_t NAME(partition)(KEY *a, size_t n, KEY pivot, KEY *work)
{
    size_t below = 0, above = 0;

    for (size_t i = 0; i < n; i++) { /* both stores, one counts: no branch to guess */
        const KEY x = a[i];
        a[below] = x;
        work[above] = x;
        below += x < pivot;
        above += x >= pivot;
    }
    memcpy(a + below, work, above * sizeof *a);
    return below;
}

static void NAME(sort_small)(KEY *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const KEY x = a[i];
        size_t k = i;
        for (; k > 0 && a[k - 1] > x; k--) a[k] = a[k - 1];
        a[k] = x;
    }
}

/* Search in a sorted array, which counts its comparisons. */
#include "search.h"

unsigned long comparisons;

size_t search(const double *a, size_t n, double x)
{
    size_t low = 0;

    while (n > 0) {
        size_t half = n / 2;
        comparisons++;
        if (a[low + half] < x) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

/* Looks up every element of a sorted array and prints what a lookup costs. */
#define _POSIX_C_SOURCE 200809L
#include "search.h"

#include <stdio.h>
#include <time.h>

enum { N = 4096, LOOKUPS = 20000 };

static double now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

int main(void)
{
    static double a[N];
    size_t wrong = 0;
    double start;

    for (size_t i = 0; i < N; i++) a[i] = (double)i;
    start = now_ns();
    for (size_t i = 0; i < LOOKUPS; i++) {
        size_t wanted = i * 2654435761u % N;
        wrong += search(a, N, (double)wanted) != wanted;
    }
    printf("ns_per_lookup: %.3f\ncomparisons: %lu\n", (now_ns() - start) / LOOKUPS, comparisons);
    return wrong != 0;
}

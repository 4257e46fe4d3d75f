/* Search in a sorted array. */
#ifndef SEARCH_H
#define SEARCH_H

#include <stddef.h>

/* Comparisons made so far. */
extern unsigned long comparisons;

/* Index of the first element of a sorted array that is not less than x; n if all are less. */
size_t search(const double *a, size_t n, double x);

#endif

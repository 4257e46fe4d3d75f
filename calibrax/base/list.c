/* Growing arrays, and the orders that arrays are most often sorted by. */
#include "calibrax/base/list.h"

#include <math.h>
#include <string.h>

#define FIRST_CAPACITY 8

bool cbx_grow(const cbx_allocator *al, void *items, size_t *capacity, size_t wanted, size_t size)
{
    size_t larger = *capacity < SIZE_MAX / 2 ? 2 * *capacity : SIZE_MAX, bytes;
    void *old, *grown;

    if (wanted <= *capacity) return true;
    if (larger < FIRST_CAPACITY) larger = FIRST_CAPACITY;
    if (larger < wanted) larger = wanted;
    if (__builtin_mul_overflow(larger, size, &bytes)) return false;
    memcpy(&old, items, sizeof old); /* the pointer may be of any type */
    grown = cbx_mem_resize(al, old, *capacity * size, bytes);
    if (!grown) return false;
    memcpy(items, &grown, sizeof grown);
    *capacity = larger;
    return true;
}

int cbx_compare_texts(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

int cbx_compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
}

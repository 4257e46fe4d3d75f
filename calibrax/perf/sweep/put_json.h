/*
 * Members that may be missing, and lists of numbers, for the records of rows and launches.  Out of memory leaves a member out; the record says so
 * when it is written.
 */
#ifndef CALIBRAX_PERF_SWEEP_PUT_JSON_H
#define CALIBRAX_PERF_SWEEP_PUT_JSON_H

#include "calibrax/base/json.h"

/* Adds a child and says whether that worked, also when the child could not be made. */
static inline bool cbx__json_put(cbx_json *object, const char *key, cbx_json *child)
{
    return child && cbx_json_set(object, key, child);
}

/* A child that may be unknown. */
static inline bool cbx__json_put_or_null(cbx_json *object, const char *key, cbx_json *child)
{
    return child ? cbx_json_set(object, key, child) : cbx_json_set_null(object, key);
}

static inline cbx_json *cbx__json_ints(const int *x, size_t n)
{
    cbx_json *a = cbx_json_new_array();
    for (size_t i = 0; a && i < n; i++) cbx_json_push(a, cbx_json_new_int(x[i]));
    return a;
}

static inline cbx_json *cbx__json_doubles(const double *x, size_t n)
{
    cbx_json *a = cbx_json_new_array();
    for (size_t i = 0; a && i < n; i++) cbx_json_push(a, cbx_json_new_double(x[i]));
    return a;
}

#endif

/*
 * Array functions evaluated naively: element by element, by multi-index, on lists of exact numbers.
 *
 * Written from docs/reference/arrays.md, sharing no code with the library but the names of dtypes
 * and statuses.  Memory comes from one list that naive_forget empties.
 */
#ifndef CALIBRAX_TESTS_FUZZ_NAIVE_H
#define CALIBRAX_TESTS_FUZZ_NAIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calibrax/array/array.h"

__extension__ typedef __int128 wide;
__extension__ typedef unsigned __int128 wide_bits;

/** A whole number or bool in i; a float in re; a complex number in re, im. */
typedef struct num {
    wide i;
    double re, im;
} num;

typedef struct nv {
    cbx_dtype t;
    int ndim;
    size_t shape[CBX_MAX_RANK];
    size_t n;
    num *e;      /* row-major */
    double *tol; /* how far each element may be away (each part of it); NULL: not at all */
    bool zeros;  /* the sign of zeros is free */
} nv;

/** Results are made by these; the caller of an evaluator gets the status that the documents
 * promise. */
nv *naive_new(cbx_dtype t, int ndim, const size_t *shape);
void naive_forget(void);
/** The same elements in another dtype. */
nv *naive_cast(const nv *x, cbx_dtype t);
num naive_convert(num x, cbx_dtype from, cbx_dtype to);
cbx_dtype naive_promote(cbx_dtype a, cbx_dtype b);
bool naive_is_float(cbx_dtype t);
bool naive_is_complex(cbx_dtype t);
bool naive_is_unsigned(cbx_dtype t);
bool naive_is_whole(cbx_dtype t); /* bool is none */
size_t naive_bytes(cbx_dtype t);
/** Towards what the dtype can hold: wraps whole numbers, rounds floats. */
num naive_fit(num x, cbx_dtype t);
/** Row-major number of a multi-index, and back. */
size_t naive_at(const nv *x, const size_t *index);
void naive_index_of(const nv *x, size_t at, size_t *index);
/** -1, 0, 1; NaN above everything and equal to itself. */
int naive_order(num a, num b, cbx_dtype t);
bool naive_truth(num x, cbx_dtype t);
bool naive_nan(num x, cbx_dtype t);

/** Evaluates a function of the fuzzed program by name; a: its small attributes, as fuzz_ops.c
 * reads them. */
typedef cbx_status (*naive_fn)(nv *const *in, const int *a, nv **out);
/** NULL: no evaluator for it. */
naive_fn naive_find(const char *name);

#endif

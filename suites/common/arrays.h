/* Making, filling and permuting the arrays of a case. */
#ifndef SUITES_COMMON_ARRAYS_H
#define SUITES_COMMON_ARRAYS_H

#include "calibrax/array/array.h"
#include "calibrax/base/arena.h"
#include "calibrax/base/rng.h"

/* Streams of a point's seed: inputs are drawn from the first, rotations from
 * CBX__SUITE_STREAM_ROTATIONS on, CBX__SUITE_ROTATION_STREAMS each. */
#define CBX__SUITE_STREAM_INPUTS    0
#define CBX__SUITE_STREAM_ROTATIONS 16
#define CBX__SUITE_ROTATION_STREAMS 2

/* All n arrays, or none. */
cbx_status cbx__suite_arrays(cbx_ctx *ctx, const cbx_array_desc *descs, size_t n, cbx_array **out, cbx_err *err);
/* Frees n arrays and writes NULL over them; NULL members are fine. */
void cbx__suite_arrays_free(cbx_array **a, size_t n);
/* Moves the n arrays that were made to out, or, after a failure, frees them.  @return st */
cbx_status cbx__suite_arrays_give(cbx_status st, cbx_array **made, size_t n, cbx_array **out);
/* A copy, row-major. */
cbx_status cbx__suite_copy(cbx_ctx *ctx, const cbx_array *a, cbx_array **out, cbx_err *err);

/* scale times standard normal draws, in double, rounded to the dtype (f32 or f64). */
void cbx__suite_fill_normal(cbx_array *a, double scale, cbx_rng *rng);
/* Standard normal draws, or booleans that are true with probability `density`. */
void cbx__suite_fill(cbx_array *a, double density, cbx_rng *rng);
/* n new arrays filled so, one after the other, from the seed's stream of inputs. */
cbx_status cbx__suite_inputs(cbx_ctx *ctx, const cbx_array_desc *descs, size_t n, uint64_t seed, double density,
                             cbx_array **out, cbx_err *err);
/* Densities of two boolean operands alike so that half of the results over k terms are true: sqrt(1
 * - 2^(-1/k)). */
double cbx__suite_bool_density(size_t k);

/* The random permutation number `which` of rotation r. */
cbx_status cbx__suite_order(cbx_arena *arena, uint64_t seed, uint64_t r, uint64_t which, size_t count, size_t **out,
                            cbx_err *err);
/* A new array with out[..., i, ...] = a[..., order[i], ...] along an axis; order NULL: a copy. */
cbx_status cbx__suite_take(cbx_ctx *ctx, const cbx_array *a, int axis, const size_t *order, cbx_array **out,
                           cbx_err *err);

/* Elements of an f32, f64, i32, i64 or bool array as doubles; out has space for all. */
void cbx__suite_widen(const cbx_array *a, double *out);

#endif

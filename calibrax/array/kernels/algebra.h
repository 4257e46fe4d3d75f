/* The list of the built-in algebras: one file each in algebras/, one line each below.
 *
 * Not a header that is read once: a file that needs something of every algebra defines the macro of
 * that part and includes this; every other part is then nothing.  The parts are described in
 * algebras/README.md.  Constants, descriptors (semiring.h), the tiles of every instruction set,
 * definitions and derivatives are made so.  The order of lines is that of the constants of
 * cbx_algebra. */
/* id, fields of cbx_semiring */
#if !defined(CBX_ALGEBRA)
#define CBX_ALGEBRA(...)
#endif
/* id, fields of cbx__traits */
#if !defined(CBX_ALGEBRA_TRAITS)
#define CBX_ALGEBRA_TRAITS(...)
#endif
/* id, term, update, finish, merge: the definition on scalars */
#if !defined(CBX_ALGEBRA_DEFINE)
#define CBX_ALGEBRA_DEFINE(...)
#endif
/* id; steps of a tile: usual, by fma, careful; what makes a NaN; steps of an ELL row: usual,
 * weighted */
#if !defined(CBX_ALGEBRA_STEPS)
#define CBX_ALGEBRA_STEPS(...)
#endif
/* id, kernel's merge with D, array operation that merges */
#if !defined(CBX_ALGEBRA_MERGE)
#define CBX_ALGEBRA_MERGE(...)
#endif
/* id, term, its derivative by a, its derivative by b */
#if !defined(CBX_ALGEBRA_GRADIENTS)
#define CBX_ALGEBRA_GRADIENTS(...)
#endif
/* name, term, update */
#if !defined(CBX_TILE_STEP)
#define CBX_TILE_STEP(...)
#endif
/* name, of a vector, of a scalar */
#if !defined(CBX_TILE_FINISH)
#define CBX_TILE_FINISH(...)
#endif
/* name, watched, term, update */
#if !defined(CBX_ELL_STEP)
#define CBX_ELL_STEP(...)
#endif
/* name, of a scalar */
#if !defined(CBX_ELL_FINISH)
#define CBX_ELL_FINISH(...)
#endif

/* clang-format off */
#include "calibrax/array/kernels/algebras/real.h"
#include "calibrax/array/kernels/algebras/log.h"
#include "calibrax/array/kernels/algebras/max_plus.h"
#include "calibrax/array/kernels/algebras/min_plus.h"
#include "calibrax/array/kernels/algebras/euclidean.h"
#include "calibrax/array/kernels/algebras/boolean.h"
/* clang-format on */
#if defined(CBX_ALGEBRA_ON_TRIAL)
#include CBX_ALGEBRA_ON_TRIAL
#endif

#undef CBX_ALGEBRA
#undef CBX_ALGEBRA_TRAITS
#undef CBX_ALGEBRA_DEFINE
#undef CBX_ALGEBRA_STEPS
#undef CBX_ALGEBRA_MERGE
#undef CBX_ALGEBRA_GRADIENTS
#undef CBX_TILE_STEP
#undef CBX_TILE_FINISH
#undef CBX_ELL_STEP
#undef CBX_ELL_FINISH

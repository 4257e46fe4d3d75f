/* The definition of the algebras on one float type; included by define.h. */

/* combine */
static inline T NAME(term)(cbx_algebra g, T a, T b)
{
#define CBX_ALGEBRA_DEFINE(id, term, update, finish, merge)                                                            \
    if (g == CBX_ALGEBRA_##id) return term;
#include "calibrax/array/kernels/algebra.h"
    return a + b;
}

/* update; log comes here with the largest term, the sum of exp comes after it */
static inline T NAME(update)(cbx_algebra g, T acc, T t)
{
#define CBX_ALGEBRA_DEFINE(id, term, update, finish, merge)                                                            \
    if (g == CBX_ALGEBRA_##id) return update;
#include "calibrax/array/kernels/algebra.h"
    return acc + t;
}

/* finalize; of log what is known then is not a fold yet */
static inline T NAME(finish)(cbx_algebra g, T acc)
{
#define CBX_ALGEBRA_DEFINE(id, term, update, finish, merge)                                                            \
    if (g == CBX_ALGEBRA_##id) return finish;
#include "calibrax/array/kernels/algebra.h"
    return acc;
}

/* update of what is finalized */
static inline T NAME(merge)(cbx_algebra g, T x, T y)
{
    const T hi = x > y ? x : y, lo = x > y ? y : x;

    (void)hi, (void)lo;
#define CBX_ALGEBRA_DEFINE(id, term, update, finish, merge)                                                            \
    if (g == CBX_ALGEBRA_##id) return merge;
#include "calibrax/array/kernels/algebra.h"
    return x + y;
}

/* Terms and their partial derivatives of one float type, as the files of algebra.h define them;
 * included once a type where g is a constant wherever these are inlined.  Expects SMALLEST. */

/* x, made in any case, so that no branch prevents vectors. */
INLINE T NAME(unless)(bool nothing, T x) { return nothing ? 0 : x; }
#define UNLESS(nothing, x) NAME(unless)(nothing, x)

INLINE T NAME(plain_term)(cbx_algebra g, T a, T b)
{
#define CBX_ALGEBRA_GRADIENTS(id, term, of_a, of_b)                                                                    \
    if (g == CBX_ALGEBRA_##id) return term;
#include "calibrax/array/kernels/algebra.h"
    return 0;
}

INLINE T NAME(slope)(cbx_algebra g, T a, T b, T c, bool by_b)
{
    (void)c;
#define CBX_ALGEBRA_GRADIENTS(id, term, of_a, of_b)                                                                    \
    if (g == CBX_ALGEBRA_##id) return by_b ? of_b : of_a;
#include "calibrax/array/kernels/algebra.h"
    return 0;
}
#undef UNLESS

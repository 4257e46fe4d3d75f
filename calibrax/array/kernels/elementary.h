/* Inside a file that is built for each instruction set: the vector functions of both float types,
 * and loops of them.
 *
 * A loop works in blocks: the vector function over the whole block, then the C library for each
 * element outside of the function's domain.  So a value depends on its own operands alone, and
 * neither on its place nor on the length.  The result may lie where an operand does, with its step:
 * then a block goes by a buffer, since the second pass reads operands again. */
#ifndef CALIBRAX_ARRAY_KERNELS_ELEMENTARY_H
#define CALIBRAX_ARRAY_KERNELS_ELEMENTARY_H

#include <float.h>
#include <math.h>

#include "calibrax/array/kernels/elementary_exp.h"
#include "calibrax/array/kernels/elementary_poly.h"
#include "calibrax/array/kernels/loops.h"
#include "calibrax/array/kernels/vmath.h"

#include "calibrax/array/kernels/float_type.h"

/* What depends on a float type besides float_type.h; U: the unsigned integer of its bits. */
#define U           OF(uint32_t, uint64_t)
#define F(name)     NAME(name)
#define K(f64, f32) OF(f32, f64)
#define MANTISSA    OF(23, 52)
#define BIAS        OF(127u, 1023u)
#define BITS        NAME(cbx_vm_bits)
#define FROM_BITS   NAME(cbx_vm_float)
#define EXPONENT(u)                                                                                                    \
    (OF((float)((int32_t)((u) >> 23) - 127),                                                                           \
        cbx_vm_float_f64((u) >> 52 | 0x4330000000000000u) - (4503599627370496.0 + 1023.0)))
#define FMA      OF(__builtin_fmaf, __builtin_fma)
#define FABS     OF(__builtin_fabsf, __builtin_fabs)
#define COPYSIGN OF(__builtin_copysignf, __builtin_copysign)
#define RINT     OF(__builtin_rintf, __builtin_rint)
#define TRUNC    OF(__builtin_truncf, __builtin_trunc)
#define LARGEST  OF(FLT_MAX, DBL_MAX)

#define SFX f64
#include "calibrax/array/kernels/elementary_float.h"
#undef SFX
#define SFX f32
#include "calibrax/array/kernels/elementary_float.h"
#undef SFX

/* They are names of primitives, too. */
#undef FMA
#undef COPYSIGN
#undef RINT
#undef TRUNC
#undef SQRT
#undef EXP
#undef LOG1P

/* Elements of a block, and of what its length is rounded up to. */
#define CBX__BLOCK 256
#define CBX__WHOLE 16

/* clang-format off */
/* n elements of an operand as a dense run, with whole vectors: where they lie, or in buf, padded
 * with ones. */
#define CBX__DENSE(T, D) \
    static inline const T *dense_##D(size_t n, const char *p, ptrdiff_t step, T *buf) \
    { \
        if (step == (ptrdiff_t)sizeof(T) && n % CBX__WHOLE == 0) return (const T *)p; \
        if (step == (ptrdiff_t)(2 * sizeof(T))) \
            for (size_t i = 0; i < n; i++) buf[i] = ((const T *)p)[2 * i]; \
        else \
            for (size_t i = 0; i < n; i++, p += step) buf[i] = *(const T *)p; \
        for (size_t i = n; i % CBX__WHOLE; i++) buf[i] = 1; \
        return buf; \
    }
CBX__DENSE(float, f32)
CBX__DENSE(double, f64)

/* What computes a block: the second of two words of CBX__OWN_<function>, or else the loop. */
#define CBX__WHOLE_BLOCK(...)         CBX__SECOND(__VA_ARGS__, )
#define CBX__SECOND(first, second, ...) second
#define CBX__OWN_exp_f64 ~, exp_all_f64(whole, x, y);

/* A loop of one function: fast where inside is true, exact elsewhere.  B(...) is there with a
 * second operand; AT(i) are the elements of the operands, x and z. */
#define CBX__VECTOR(fn, T, D, fast, inside, exact, B, AT) \
    static void fn(size_t n, char *const *p, const ptrdiff_t *s) \
    { \
        T a_buf[CBX__BLOCK], B(b_buf[CBX__BLOCK],) o_buf[CBX__BLOCK]; \
        char *o = p[0]; \
        const char *a = p[1] B(, *b = p[2]); \
        for (size_t m; n > 0; \
             n -= m, o += s[0] * (ptrdiff_t)m, a += s[1] * (ptrdiff_t)m B(, b += s[2] * (ptrdiff_t)m)) { \
            m = n < CBX__BLOCK ? n : CBX__BLOCK; \
            const size_t whole = (m + CBX__WHOLE - 1) / CBX__WHOLE * CBX__WHOLE; \
            const T *restrict x = dense_##D(m, a, s[1], a_buf) B(, *restrict z = dense_##D(m, b, s[2], b_buf)); \
            const bool direct = s[0] == (ptrdiff_t)sizeof(T) && whole == m && o != a B(&& o != b); \
            T *restrict y = direct ? (T *)o : o_buf; \
            int rare = 0; \
            CBX__WHOLE_BLOCK(CBX__OWN_##fast, for (size_t i = 0; i < whole / CBX__WHOLE * CBX__WHOLE; i++) { \
                y[i] = fast(AT(i)); \
                rare |= !inside(AT(i)); \
            }) \
            for (size_t i = 0; rare && i < m; i++) \
                if (!inside(AT(i))) y[i] = exact(AT(i)); \
            for (size_t i = 0; !direct && i < m; i++) *(T *)(o + (ptrdiff_t)i * s[0]) = y[i]; \
        } \
    }
#define CBX__ABSENT(...)
#define CBX__PRESENT(...) __VA_ARGS__
#define CBX__ONE_AT(i)    x[i]
#define CBX__TWO_AT(i)    x[i], z[i]
#define CBX__VECTOR1(fn, T, D, fast, inside, exact) CBX__VECTOR(fn, T, D, fast, inside, exact, CBX__ABSENT, CBX__ONE_AT)
#define CBX__VECTOR2(fn, T, D, fast, inside, exact) CBX__VECTOR(fn, T, D, fast, inside, exact, CBX__PRESENT, CBX__TWO_AT)
/* clang-format on */

#endif

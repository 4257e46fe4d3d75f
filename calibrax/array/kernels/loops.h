/* Inside the library: inner loops over elements, macros that make them, and the lists of element
 * types they are made for.
 *
 * A loop has branches for contiguous runs, single elements and every second element (x[::2]), which
 * compilers vectorise, and one for any strides. */
#ifndef CALIBRAX_ARRAY_KERNELS_LOOPS_H
#define CALIBRAX_ARRAY_KERNELS_LOOPS_H

#include <complex.h>
#include <stdint.h>

#include "calibrax/array/internal.h"
#include "calibrax/array/kernels/copy.h"
#include "calibrax/array/primitive.h"
#include "calibrax/base/cpu.h"

/** Loops of an instruction set; NULL where a primitive has none for a dtype. */
typedef struct cbx__loops {
    cbx__loop (*unary)(cbx_prim p, cbx_dtype t);
    cbx__loop (*binary)(cbx_prim p, cbx_dtype t); /* and ternary: of the dtype of the last operand */
    cbx__loop (*cast)(cbx_dtype from, cbx_dtype to);
} cbx__loops;
#define CBX__LOOPS_DECLARE(id, name, cpus)                                                                             \
    cbx__loop cbx__unary_##name(cbx_prim p, cbx_dtype t);                                                              \
    cbx__loop cbx__binary_##name(cbx_prim p, cbx_dtype t);                                                             \
    cbx__loop cbx__cast_##name(cbx_dtype from, cbx_dtype to);
CBX_ISA_MAP(CBX__LOOPS_DECLARE)
#undef CBX__LOOPS_DECLARE

/** Of the widest instruction set of this machine. */
const cbx__loops *cbx__loops_get(void);
/** Elements of a dtype as those of another, or as they are; NULL of complex numbers to
 * real ones. */
cbx__loop cbx__move_loop(cbx_dtype from, cbx_dtype to);

typedef float _Complex cbx__c64;
typedef double _Complex cbx__c128;

/* CMPLX of C11, which clang's headers lack beside glibc's: no arithmetic, so that infinities and -0
 * stay. */
static inline cbx__c64 cbx__make_c64(float re, float im) { return __builtin_complex(re, im); }
static inline cbx__c128 cbx__make_c128(double re, double im) { return __builtin_complex(re, im); }

/* X(dtype, C type, argument passed through) */
#define CBX__SIGNED(X, a)    X(I8, int8_t, a) X(I16, int16_t, a) X(I32, int32_t, a) X(I64, int64_t, a)
#define CBX__UNSIGNED(X, a)  X(U8, uint8_t, a) X(U16, uint16_t, a) X(U32, uint32_t, a) X(U64, uint64_t, a)
#define CBX__INTS(X, a)      CBX__SIGNED(X, a) CBX__UNSIGNED(X, a)
#define CBX__FLOATS(X, a)    X(F32, float, a) X(F64, double, a)
#define CBX__COMPLEXES(X, a) X(C64, cbx__c64, a) X(C128, cbx__c128, a)

/* clang-format off */
#define CBX__LOOP1(fn, R, T, expr) \
    static void fn(size_t n, char *const *p, const ptrdiff_t *s) \
    { \
        if (s[0] == (ptrdiff_t)sizeof(R) && s[1] == (ptrdiff_t)sizeof(T)) { \
            R *o = (R *)p[0]; \
            const T *a = (const T *)p[1]; \
            for (size_t i = 0; i < n; i++) { const T x = a[i]; (void)x; o[i] = (R)(expr); } \
            return; \
        } \
        if (s[0] == (ptrdiff_t)sizeof(R) && s[1] == (ptrdiff_t)(2 * sizeof(T))) { \
            R *o = (R *)p[0]; \
            const T *a = (const T *)p[1]; \
            for (size_t i = 0; i < n; i++) { const T x = a[2 * i]; (void)x; o[i] = (R)(expr); } \
            return; \
        } \
        char *o = p[0]; \
        const char *a = p[1]; \
        _Pragma("GCC unroll 4") \
        for (; n > 0; n--, o += s[0], a += s[1]) { const T x = *(const T *)a; (void)x; *(R *)o = (R)(expr); } \
    }

/* Operands that lie together, are one element each (step 0), or are every second element, have
 * loops of their own. */
#define CBX__LOOP2_STEPS(step_a, step_b, R, T, expr) \
        if (s[0] == (ptrdiff_t)sizeof(R) && s[1] == step_a * (ptrdiff_t)sizeof(T) && s[2] == step_b * (ptrdiff_t)sizeof(T)) { \
            R *o = (R *)p[0]; \
            const T *a = (const T *)p[1], *b = (const T *)p[2], one_a = step_a ? 0 : *a, one_b = step_b ? 0 : *b; \
            for (size_t i = 0; i < n; i++) { \
                const T x = step_a ? a[step_a * i] : one_a, y = step_b ? b[step_b * i] : one_b; \
                o[i] = (R)(expr); \
            } \
            return; \
        }
#define CBX__LOOP2(fn, R, T, expr) \
    static void fn(size_t n, char *const *p, const ptrdiff_t *s) \
    { \
        CBX__LOOP2_STEPS(1, 1, R, T, expr) \
        CBX__LOOP2_STEPS(1, 0, R, T, expr) \
        CBX__LOOP2_STEPS(0, 1, R, T, expr) \
        CBX__LOOP2_STEPS(2, 2, R, T, expr) \
        CBX__LOOP2_STEPS(2, 0, R, T, expr) \
        CBX__LOOP2_STEPS(0, 2, R, T, expr) \
        char *o = p[0]; \
        const char *a = p[1], *b = p[2]; \
        for (; n > 0; n--, o += s[0], a += s[1], b += s[2]) { \
            const T x = *(const T *)a, y = *(const T *)b; \
            *(R *)o = (R)(expr); \
        } \
    }

#ifdef __clang__
#define CBX__INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define CBX__INDEPENDENT _Pragma("GCC ivdep")
#endif
/* The last two operands lie together, or are one element each (a scalar branch, bounds).  The
 * result lies apart from the operands or is one of them, which needs no check. */
#define CBX__LOOP3(fn, R, T1, T, expr) \
    static void fn(size_t n, char *const *p, const ptrdiff_t *s) \
    { \
        const ptrdiff_t size = sizeof(T); \
        if (s[0] == (ptrdiff_t)sizeof(R) && s[1] == (ptrdiff_t)sizeof(T1) && (s[2] == size || s[2] == 0) && \
            (s[3] == size || s[3] == 0)) { \
            R *o = (R *)p[0]; \
            const T1 *a = (const T1 *)p[1]; \
            const T *b = (const T *)p[2], *c = (const T *)p[3]; \
            if (s[2] && s[3]) { \
                CBX__INDEPENDENT for (size_t i = 0; i < n; i++) { const T1 x = a[i]; const T y = b[i], z = c[i]; o[i] = (R)(expr); } \
            } else if (s[2]) { \
                const T z = *c; \
                CBX__INDEPENDENT for (size_t i = 0; i < n; i++) { const T1 x = a[i]; const T y = b[i]; o[i] = (R)(expr); } \
            } else if (s[3]) { \
                const T y = *b; \
                CBX__INDEPENDENT for (size_t i = 0; i < n; i++) { const T1 x = a[i]; const T z = c[i]; o[i] = (R)(expr); } \
            } else if (n > 0) { \
                const T y = *b, z = *c; \
                for (size_t i = 0; i < n; i++) { const T1 x = a[i]; o[i] = (R)(expr); } \
            } \
            return; \
        } \
        if (s[0] == (ptrdiff_t)sizeof(R) && s[1] == 2 * (ptrdiff_t)sizeof(T1) && s[2] == 0 && s[3] == 0 && n > 0) { \
            R *o = (R *)p[0]; \
            const T1 *a = (const T1 *)p[1]; \
            const T y = *(const T *)p[2], z = *(const T *)p[3]; \
            for (size_t i = 0; i < n; i++) { const T1 x = a[2 * i]; o[i] = (R)(expr); } \
            return; \
        } \
        char *o = p[0]; \
        const char *a = p[1], *b = p[2], *c = p[3]; \
        for (; n > 0; n--, o += s[0], a += s[1], b += s[2], c += s[3]) { \
            const T1 x = *(const T1 *)a; \
            const T y = *(const T *)b, z = *(const T *)c; \
            *(R *)o = (R)(expr); \
        } \
    }
/* clang-format on */

#endif

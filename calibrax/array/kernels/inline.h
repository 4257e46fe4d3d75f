/* Functions that become part of their callers, and loops that become straight lines, in any
 * build. */
#ifndef CALIBRAX_ARRAY_KERNELS_INLINE_H
#define CALIBRAX_ARRAY_KERNELS_INLINE_H

#define INLINE static inline __attribute__((always_inline, unused))

/* Before a loop whose number of turns the compiler knows. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 64")
#endif

#endif

/**
 * Instruction sets that kernels are compiled for, and which of them this machine runs.
 *
 * Each has one row here and one file, isa/<name>.h: compiler flags, the CPU's test, vectors, tiles and blocks of cache.  Every family of
 * kernels, the tests and the build file follow the rows.
 */
#ifndef CALIBRAX_ARRAY_KERNELS_ISA_H
#define CALIBRAX_ARRAY_KERNELS_ISA_H

#include <stdbool.h>

#include "calibrax/base/api.h"

CBX_BEGIN_DECLS

/* Constant, name, and the CPUs that it is built for (Meson's names of families in capitals, or ANY); narrow ones first.  The build file
 * reads these rows: one a line. */
#define CBX_ISA_MAP(X)                                                                                                 \
    X(PLAIN, plain, ANY)                                                                                               \
    X(AVX2, avx2, X86_64)                                                                                              \
    X(AVX512, avx512, X86_64)

#define CBX_ISA_CONSTANT(id, name, cpus) CBX_ISA_##id,
typedef enum cbx_isa { CBX_ISA_MAP(CBX_ISA_CONSTANT) CBX_ISA_COUNT } cbx_isa;
#undef CBX_ISA_CONSTANT

/* CBX_ISA_ON_<cpus>(text): the text where this is built for such CPUs, nothing elsewhere; for tables of what is built.  A test that builds
 * the kernels once more may do with the plain ones. */
#define CBX_ISA_ON_ANY(...) __VA_ARGS__
#if defined(__x86_64__) && !defined(CBX_ISA_PLAIN_ALONE)
#define CBX_ISA_ON_X86_64(...) __VA_ARGS__
#else
#define CBX_ISA_ON_X86_64(...)
#endif
#if defined(__aarch64__)
#define CBX_ISA_ON_AARCH64(...) __VA_ARGS__
#else
#define CBX_ISA_ON_AARCH64(...)
#endif

/** "plain" (on ARM that is NEON), "avx2", "avx512" */
CBX_API const char *cbx_isa_name(cbx_isa isa);
/** Compiled in, this CPU and its operating system can run it, and it is not wider than the variable CALIBRAX_ISA names: plain, avx2 or
 * avx512, read once a process; anything else there is as if it were not set. */
CBX_API bool cbx_isa_available(cbx_isa isa);
/** The widest available one. */
CBX_API cbx_isa cbx_isa_best(void);

CBX_END_DECLS
#endif

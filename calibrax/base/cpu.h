/**
 * The CPU's instruction sets: which of them kernels are compiled for, and which of them this
 * machine runs.
 *
 * Each has one row here, a line RUNS_... in cpu.c, and one file,
 * calibrax/array/kernels/isa/<name>.h: compiler flags, vectors, tiles and blocks of cache.  Every
 * family of kernels, the tests and the build file follow the rows.
 */
#ifndef CALIBRAX_BASE_CPU_H
#define CALIBRAX_BASE_CPU_H

#include <stdbool.h>

#include "calibrax/base/api.h"

CBX_BEGIN_DECLS

/* Constant, name, and the CPUs that it is built for (Meson's names of families in capitals, or
 * ANY); narrow ones first.  The build file reads these rows: one a line. */
#define CBX_ISA_MAP(X)                                                                                                 \
    X(PLAIN, plain, ANY)                                                                                               \
    X(AVX2, avx2, X86_64)                                                                                              \
    X(AVX512, avx512, X86_64)

#define CBX_ISA_CONSTANT(id, name, cpus) CBX_ISA_##id,
typedef enum cbx_isa { CBX_ISA_MAP(CBX_ISA_CONSTANT) CBX_ISA_COUNT } cbx_isa;
#undef CBX_ISA_CONSTANT

/* CBX_ISA_ON_<cpus>(text): the text where this is built for such CPUs, nothing elsewhere; for
 * tables of what is built.  A test that builds the kernels again may do with the plain ones. */
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

/** "plain" (on ARM that is NEON), "avx2" (with FMA), "avx512" (with F, BW, DQ and VL); "?" for
 * another number. */
CBX_API const char *cbx_isa_name(cbx_isa isa);
/**
 * True if it is compiled in, this CPU and its operating system run it, and it is not wider than the
 * environment variable CALIBRAX_ISA names: plain, avx2 or avx512, read once a process.  Any other
 * value is ignored here; a context that reads its settings from the environment is not created with
 * it.
 */
CBX_API bool cbx_isa_available(cbx_isa isa);
/** The widest available one: the one that a dispatch takes. */
CBX_API cbx_isa cbx_isa_best(void);
/** The widest one that this CPU and its operating system run, whatever CALIBRAX_ISA allows: to
 * describe the machine. */
CBX_API cbx_isa cbx_isa_of_cpu(void);

CBX_END_DECLS
#endif

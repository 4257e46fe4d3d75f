/*
 * Inside a file that is built once for each instruction set: its name, pasted to what it exports, how wide a vector is, and
 * values that the compiler is not to see through.
 */
#ifndef CALIBRAX_ARRAY_KERNELS_ISA_NAME_H
#define CALIBRAX_ARRAY_KERNELS_ISA_NAME_H

#if defined(__AVX512F__)
#define ISA_NAME     avx512
#define VECTOR_BYTES 64
#elif defined(__AVX2__)
#define ISA_NAME     avx2
#define VECTOR_BYTES 32
#else
#define ISA_NAME     plain
#define VECTOR_BYTES 16
#endif

/* A vector in its register that the compiler knows nothing of from here on. */
#if defined(__AVX512F__)
#define OPAQUE(x) __asm__("" : "+v"(x))
#elif defined(__x86_64__)
#define OPAQUE(x) __asm__("" : "+x"(x))
#elif defined(__aarch64__)
#define OPAQUE(x) __asm__("" : "+w"(x))
#else
#define OPAQUE(x) __asm__("" : "+m"(x))
#endif
/* The same for an address. */
#define OPAQUE_ADDRESS(x) __asm__("" : "+r"(x))

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

#endif

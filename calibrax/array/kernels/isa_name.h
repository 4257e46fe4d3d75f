/*
 * Inside a file that is built once for each instruction set: its name, pasted to what it exports, and how wide a vector is.
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

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

#endif

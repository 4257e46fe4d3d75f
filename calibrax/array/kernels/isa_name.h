/* Inside a file that is built once for each instruction set: the macros of isa/<name>.h, its name
 * to paste to what is exported, and values that the compiler is not to see through.  The build
 * passes -DISA_NAME=<name> and -DISA_FILE. */
#ifndef CALIBRAX_ARRAY_KERNELS_ISA_NAME_H
#define CALIBRAX_ARRAY_KERNELS_ISA_NAME_H

#include "calibrax/array/kernels/inline.h"

#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)

#include ISA_FILE

/* A vector in its register that is opaque to the compiler from here on. */
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

#endif

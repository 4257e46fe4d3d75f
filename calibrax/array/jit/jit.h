/*
 * Inside the library: the backend that compiles.
 */
#ifndef CALIBRAX_ARRAY_JIT_JIT_H
#define CALIBRAX_ARRAY_JIT_JIT_H

#include "calibrax/array/backend.h"

/** Operations are those of the reference backend; graphs are compiled, by LLVM where it is
 * installed. */
extern const cbx_backend cbx__jit_backend;

#endif

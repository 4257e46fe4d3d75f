/*
 * NumPy's answers (tests/array/fixtures/gpu.bin, made by scripts/fixtures/make_gpu_cases.py)
 * against a device's, played or real.
 */
#ifndef TESTS_ARRAY_CUDA_FOREIGN_H
#define TESTS_ARRAY_CUDA_FOREIGN_H

#include "calibrax/array/cuda/cuda.h"

/* Every case, and again with spoiled answers, which must be seen. */
void foreign_agrees(cbx_cuda *g);
void foreign_can_fail(cbx_cuda *g);

#endif

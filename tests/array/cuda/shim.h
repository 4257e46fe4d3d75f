/*
 * The device side of the library that plays NVIDIA's driver: kernels by name, and their launch on
 * this CPU.
 */
#ifndef TESTS_ARRAY_CUDA_SHIM_DEVICE_H
#define TESTS_ARRAY_CUDA_SHIM_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "calibrax/array/cuda/args.h"

typedef struct cuda_shim_kernel {
    const char *name;
    void (*run)(const void *args);
} cuda_shim_kernel;

extern const cuda_shim_kernel cuda_shim_kernels[CBX__CUDA_KERNELS];

/* Runs all blocks, one after the other. */
void cuda_shim_launch(const cuda_shim_kernel *k, int64_t blocks, int threads, const void *args);
/* Fibers run in order of their numbers, or from the last to the first. */
void cuda_shim_turn(bool round);

#endif

/*
 * The library that plays NVIDIA's driver (driver.c), loaded by path, with what a test says to it
 * (shim_control.h).
 */
#ifndef TESTS_ARRAY_CUDA_PLAYED_H
#define TESTS_ARRAY_CUDA_PLAYED_H

#include "calibrax/array/cuda/cuda.h"

typedef struct played_calls {
    void (*spoil)(const char *call, int number, int after);
    void (*sticky)(int on);
    int (*open)(void);
    int (*launches)(void);
    int (*math)(void);
    void (*drop)(const char *kernel);
    void (*version)(int version);
    void (*capability)(int major);
    void (*processors)(int n);
    void (*turn)(int round);
    void (*tick)(double ms, double more);
} played_calls;

extern played_calls shim;
extern char played_driver[4096];

/* A group's first function. */
int played_begin(void **state);
/* The played driver, and cuBLAS if asked for; images are files that it does not look into. */
cbx_cuda_opts played_options(bool blas);
cbx_ctx *played_ctx(void);

typedef struct played_device {
    cbx_ctx *ctx;
    cbx_cuda *g;
} played_device;

/* processors: 1 makes every product take large tiles, 1000 small ones; turned: threads of a block
 * run from the last to the first */
played_device played_open(bool blas, int processors, int turned);
/* All must be given back. */
void played_close(played_device *d);

#endif

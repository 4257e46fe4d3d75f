/* Inside program*.c: one run of a program, on a device if there is one. */
#ifndef CALIBRAX_ARRAY_JIT_PROGRAM_GPU_H
#define CALIBRAX_ARRAY_JIT_PROGRAM_GPU_H

#include "calibrax/array/jit/gpu_memory.h"
#include "calibrax/array/jit/program.h"

/** Values of a run: each is an array on the CPU, one on the device, or both; without a device it
 * may also lie at its place. */
typedef struct cbx__run {
    cbx_ctx *ctx;
    cbx__program *p;
    const cbx__gpu_nests *nests; /* NULL: nothing runs on a device */
    cbx_array **env, **there;    /* of each value; NULL: not there */
    bool stays;                  /* an operand or constant is on the device: results stay there */
    int threads;                 /* at most so many */
    char *work, *scratch;        /* of places; of the nest that runs */
} cbx__run;

/** The nests of a program on a device, made at the first call. */
cbx_status cbx__program_nests(cbx_ctx *ctx, cbx__program *p, cbx__gpu *gpu, const cbx__gpu_nests **out, cbx_err *err);
/** Operands and constants that are on the device leave env for there. */
cbx_status cbx__gpu_begin(cbx__run *r, cbx_err *err);
/** A value becomes an array on the CPU. */
cbx_status cbx__gpu_fetch(const cbx__run *r, cbx__vid v, cbx_err *err);
/** A value becomes an array on the device; a constant once for all runs. */
cbx_status cbx__gpu_send(const cbx__run *r, cbx__vid v, cbx_err *err);
/** A step that is a nest on the device, if it is. @param done  false: it is to be run on the CPU,
 *                                                             and what it reads is there */
cbx_status cbx__gpu_step(const cbx__run *r, const cbx__step *step, bool *done, cbx_err *err);
/** Frees what is on the device of a value. */
void cbx__gpu_drop(const cbx__run *r, cbx__vid v);

#endif

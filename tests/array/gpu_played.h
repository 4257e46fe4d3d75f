/*
 * Devices for the tests of compiled functions on GPUs: one that this CPU plays, and the real one.
 *
 * The played device has memory of its own, which the host cannot reach but by its calls, runs the
 * functions of nests as compiled for this CPU, thread by thread from the last to the first, and
 * hands out no memory that was not paid back: gpu_played_open counts it.
 */
#ifndef CALIBRAX_TESTS_ARRAY_GPU_PLAYED_H
#define CALIBRAX_TESTS_ARRAY_GPU_PLAYED_H

#include "calibrax/array/jit/emitter.h"
#include "calibrax/array/jit/gpu_memory.h"

/* Its code is made by LLVM: gpu_needs_llvm. */
cbx__gpu *gpu_played(void);
size_t gpu_played_launches(void);
size_t gpu_played_uploads(void);
/* Bytes, calls, modules. */
size_t gpu_played_downloaded(void);
size_t gpu_played_waits(void);
size_t gpu_played_loads(void);
size_t gpu_played_unloads(void);
/* Bytes of its memory; 0: as many as there are. */
void gpu_played_total(size_t bytes);
/* Blocks of memory and modules that were not given back. */
size_t gpu_played_open(void);
/* The device call number `after` from now on fails; SIZE_MAX: none does.  Returns whether an
 * earlier one was still to come. */
bool gpu_played_fail(size_t after);

/* Skips the test with the reason where there is no LLVM. */
void gpu_needs_llvm(void);

/*
 * GPU 0; skips the test with the reason where there is none.  With CALIBRAX_TEST_GPU=record it is
 * none, and functions are compiled but not run: the cache has them then for a machine that has a
 * GPU and no LLVM (scripts/gpu_bundle.sh).
 */
cbx__gpu *gpu_real(void);
bool gpu_records(const cbx__gpu *gpu);

/* A kernel as a nest of two dimensions; sites: one for each stream. */
cbx__nest gpu_nest_of(const cbx__kernel *k, int64_t m, int64_t n, char *const *p, const int64_t *outer,
                      const int64_t *inner, cbx__site *sites);
/* Kernels as nests of two dimensions on a device; what it does not take, and what left the domain
 * of a formula, is interpreted. */
const cbx__emitter *gpu_emitter(cbx__gpu *gpu);
/* Kernels that the device has run for gpu_emitter, and those that it has not. */
size_t gpu_emitter_ran(void), gpu_emitter_left(void);

#endif

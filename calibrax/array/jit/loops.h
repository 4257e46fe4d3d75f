/*
 * Inside the compiler: how nests run.
 */
#ifndef CALIBRAX_ARRAY_JIT_LOOPS_H
#define CALIBRAX_ARRAY_JIT_LOOPS_H

#include <signal.h>

#include "calibrax/array/jit/emitter.h"
#include "calibrax/array/jit/nest.h"

enum {
    CBX__MAX_STREAMS = 128, /* of a kernel */
    CBX__MAX_PACKED = 4     /* of them those whose elements are packed */
};

/** A nest with its code and the memory of one run. */
typedef struct cbx__nest_call {
    const cbx__nest *nest;
    cbx__kernel_fn fn;
    const void *self;
    char *at[CBX__MAX_STREAMS]; /* first element of each stream, of a count the first number; of a fold's tile unused */
    char **results;             /* first element of each fold's result */
    /* of each stream: NULL, or an array of rank 1 with gaps, whose elements are packed before the
     * kernel, which is over one dimension and folds nothing, reads them; NULL: of no stream */
    const cbx_array *const *packed;
    char *scratch;                     /* cbx__nest_scratch bytes, aligned to 64 */
    int threads;                       /* at most so many */
    const volatile sig_atomic_t *stop; /* not 0: a scan ends before its next steps; NULL: it does not */
} cbx__nest_call;

/** Bytes that a run with so many threads needs. */
size_t cbx__nest_scratch(const cbx__nest *n, int threads);
/** Of so many threads those that a run is divided over. */
int cbx__nest_threads(const cbx__nest *n, int threads);
/** The same bits for any number of threads.  @return false if the flag stopped it: results are
 * incomplete */
bool cbx__nest_run(const cbx__nest_call *c);

#endif

/*
 * Inside the compiler: a graph as loop nests in memory, for text that runs without the library.
 */
#ifndef CALIBRAX_ARRAY_JIT_AOT_H
#define CALIBRAX_ARRAY_JIT_AOT_H

#include "calibrax/array/jit/nest.h"

/** Where a value lies. */
typedef enum cbx__aot_kind {
    CBX__AOT_NOWHERE,
    CBX__AOT_IN,
    CBX__AOT_OUT,
    CBX__AOT_CONSTANT,
    CBX__AOT_WORK
} cbx__aot_kind;

typedef struct cbx__aot_place {
    cbx__aot_kind kind;
    size_t at; /* number of the operand or result; bytes into the workspace */
} cbx__aot_place;

typedef struct cbx__aot {
    const cbx__graph *graph;
    const char *name;
    size_t n;
    cbx__nest *nests;       /* in order; their kernels are for cbx__kernel_clear */
    cbx__aot_place *places; /* of each value */
    size_t work_bytes;
} cbx__aot;

/** aot_header.c: the function without its body, constant arrays, and the header. */
void cbx__aot_put_signature(const cbx__aot *a, cbx_text *out);
void cbx__aot_put_constants(const cbx__aot *a, cbx_text *out);
void cbx__aot_put_header(const cbx__aot *a, cbx_text *out);
/** aot_text.c: the source. */
void cbx__aot_put_source(const cbx__aot *a, const cbx__kernel *const *kernels, cbx_text *out);

#endif

/*
 * Inside the compiler: emitters, each of which turns kernels into code.
 */
#ifndef CALIBRAX_ARRAY_JIT_EMITTER_H
#define CALIBRAX_ARRAY_JIT_EMITTER_H

#include "calibrax/array/jit/kernel.h"
#include "calibrax/base/ctx.h"

/** Code of some kernels, shared by counting; safe to run from several threads. */
typedef struct cbx__code {
    size_t n;
    cbx__kernel_fn *fn; /* of each kernel */
    const void **self;  /* for each fn */
    size_t bytes;       /* of machine code; 0: not compiled */
    bool from_cache;    /* loaded from the disk cache */
    void (*release)(struct cbx__code *c);
} cbx__code;

typedef struct cbx__emitter {
    const char *name; /* "llvm", "interpreter" */
    /** Kernels are finished ones; they need not live on.  @return CBX_OK; CBX_EUNAVAILABLE (a
     * library is missing);
     *  CBX_ENOMEM */
    cbx_status (*compile)(cbx_ctx *ctx, size_t n, const cbx__kernel *const *kernels, cbx__code **out, cbx_err *err);
} cbx__emitter;

extern const cbx__emitter cbx__emitter_llvm, cbx__emitter_interpreter;

static inline void cbx__code_free(cbx__code *c)
{
    if (c) c->release(c);
}

#endif
